//! What is done with hostile bytes: read them, and if they are an object, store and use it.
//!
//! Both the fuzz targets and the ordinary tests run these, so everything here is seen to
//! hold without a fuzzer too. The header is built by hand after the description of the
//! format in `rlwe::bytes`, which is thereby tested.

#[path = "bgv_bodies.rs"]
pub mod bgv;

use std::sync::OnceLock;

use rlwe::ckks::{Ciphertext, Encoding, Evaluator, Plaintext};
use rlwe::keys::{EvaluationKeys, EvaluationKeysRequest, PublicKey, SecretKey};
use rlwe::{Parameters, ParametersLiteral, Result};
use sha2::{Digest, Sha256};

const HEADER: usize = 48;

/// Larger rings are read by the same code and take too long to be tried often.
const MAX_LOG_N: u32 = 8;
const MAX_LEVELS: usize = 16;

pub struct Target {
    /// Also the folder of its corpus.
    pub name: &'static str,
    kind: u16,
    parameters: fn() -> &'static Parameters,
    pub body: fn(&[u8]) -> Result<()>,
}

pub const TARGETS: [Target; 9] = [
    Target { name: "parameters", kind: 1, parameters, body: read_parameters },
    Target { name: "secret_key", kind: 2, parameters, body: secret_key },
    Target { name: "public_key", kind: 3, parameters, body: public_key },
    Target { name: "evaluation_keys", kind: 4, parameters, body: evaluation_keys },
    Target { name: "ciphertext", kind: 5, parameters, body: ciphertext },
    Target { name: "plaintext", kind: 6, parameters, body: plaintext },
    Target {
        name: "bgv_parameters",
        kind: 7,
        parameters: bgv::lattice,
        body: bgv::read_parameters,
    },
    Target { name: "bgv_ciphertext", kind: 8, parameters: bgv::lattice, body: bgv::ciphertext },
    Target { name: "bgv_plaintext", kind: 9, parameters: bgv::lattice, body: bgv::plaintext },
];

/// Runs the body of a target on `bytes`, and on the same bytes with a right header.
pub fn attack(name: &str, bytes: &[u8]) {
    for target in TARGETS.iter().filter(|target| target.name == name) {
        let _ = (target.body)(bytes);
        let _ = (target.body)(&target.sealed(bytes.get(HEADER..).unwrap_or(bytes)));
    }
}

impl Target {
    /// `body` under a header that fits it.
    pub fn sealed(&self, body: &[u8]) -> Vec<u8> {
        self.sealed_under((self.parameters)(), body)
    }

    /// `body` under a header that fits it and `parameters`.
    pub fn sealed_under(&self, parameters: &Parameters, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(b"CLWK");
        bytes.extend(3u16.to_le_bytes());
        bytes.extend(self.kind.to_le_bytes());
        bytes.extend(parameters.fingerprint());
        bytes.extend((body.len() as u64).to_le_bytes());
        let checksum = Sha256::new().chain_update(&bytes).chain_update(body).finalize();
        bytes.extend(&checksum[..16]);
        bytes.extend(body);
        bytes
    }
}

/// The smallest ring, with two digits for every key.
pub fn parameters() -> &'static Parameters {
    static PARAMETERS: OnceLock<Parameters> = OnceLock::new();
    PARAMETERS.get_or_init(|| {
        let literal = ParametersLiteral {
            log_n: Some(5),
            levels: 2,
            scale_bits: 30.0,
            headroom_bits: 12.0,
            digits: Some(2),
            insecure: true,
            ..ParametersLiteral::default()
        };
        Parameters::new(literal).expect("a small ring")
    })
}

/// The key of every object in the corpus, of which the bytes are known in advance.
pub fn secret() -> &'static SecretKey {
    static SECRET: OnceLock<SecretKey> = OnceLock::new();
    SECRET.get_or_init(|| secret_under(parameters()))
}

/// The same key under any parameters of the smallest ring.
fn secret_under(parameters: &Parameters) -> SecretKey {
    let id = *b"the fuzzed key, ";
    // Coefficients 0, -1, 1, -1 in the first byte, and so on.
    let coefficients = [0b00_10_00_01, 0b01_10_10_00, 0b10_00_01_10, 0b00_01_00_10];
    let body = [&id[..], &coefficients, &coefficients].concat();
    let bytes = TARGETS[1].sealed_under(parameters, &body);
    SecretKey::from_bytes(parameters, &bytes).expect("a secret key")
}

fn evaluator() -> &'static Evaluator {
    static EVALUATOR: OnceLock<Evaluator> = OnceLock::new();
    EVALUATOR.get_or_init(|| {
        let request = EvaluationKeysRequest {
            relinearisation_level: Some(2),
            rotations: vec![(1, 2)],
            conjugation_level: Some(1),
            ..Default::default()
        };
        Evaluator::new(secret().evaluation_keys(&request).expect("evaluation keys"))
    })
}

/// Something to encrypt at a level.
fn message(parameters: &Parameters, level: usize) -> Plaintext {
    let encoding = Encoding { bound: Some(1.0), ..Encoding::at(level) };
    parameters.encode_real(&vec![0.5; parameters.slots()], encoding).expect("a plaintext")
}

fn read_parameters(bytes: &[u8]) -> Result<()> {
    let literal = ParametersLiteral::from_bytes(bytes)?;
    if literal.log_n > Some(MAX_LOG_N) || literal.levels > MAX_LEVELS {
        return Ok(());
    }
    let parameters = match Parameters::from_bytes(bytes) {
        Ok(parameters) => parameters,
        // Another request may be as good, but only its own fingerprint belongs to it.
        Err(refusal) => {
            if let Ok(parameters) = Parameters::new(literal) {
                assert_eq!(Parameters::from_bytes(&parameters.to_bytes())?, parameters);
            }
            return Err(refusal);
        }
    };
    assert_eq!(parameters.to_bytes(), bytes);
    assert_eq!(*parameters.literal(), literal);
    message(&parameters, parameters.max_level()).decode()?;
    Ok(())
}

fn secret_key(bytes: &[u8]) -> Result<()> {
    let secret = SecretKey::from_bytes(parameters(), bytes)?;
    assert_eq!(*secret.to_bytes(), bytes);
    let values = secret.decrypt(&secret.encrypt(&message(parameters(), 1))?)?.decode_real()?;
    assert!((values[0] - 0.5).abs() < 1e-3, "{values:?}");
    Ok(())
}

fn public_key(bytes: &[u8]) -> Result<()> {
    let public = PublicKey::from_bytes(parameters(), bytes)?;
    assert_eq!(public.to_bytes(), bytes);
    let ciphertext = public.encrypt(&message(parameters(), 2))?;
    secret().decrypt(&ciphertext)?.decode()?;
    Ok(())
}

fn evaluation_keys(bytes: &[u8]) -> Result<()> {
    let keys = EvaluationKeys::from_bytes(parameters(), bytes)?;
    assert_eq!(keys.to_bytes(), bytes);
    let levels = keys.rotations();
    let relinearisation = keys.relinearisation_level();
    let evaluator = Evaluator::new(keys);
    if let Some(level) = relinearisation {
        let x = secret().encrypt(&message(parameters(), level.max(1)))?;
        evaluator.square(&x)?;
    }
    for (rotation, level) in levels {
        let x = secret().encrypt(&message(parameters(), level))?;
        let _ = secret().decrypt(&evaluator.rotate(&x, rotation)?);
    }
    Ok(())
}

fn ciphertext(bytes: &[u8]) -> Result<()> {
    let ciphertext = Ciphertext::from_bytes(parameters(), bytes)?;
    assert_eq!(ciphertext.to_bytes(), bytes);
    assert!(ciphertext.nbytes() <= 2 * bytes.len());
    let sum = evaluator().add(&ciphertext, &ciphertext)?;
    let reduced = evaluator().relinearize(&sum)?;
    let _ = evaluator().rotate(&reduced, 1);
    let _ = evaluator().rescale(&reduced);
    let _ = evaluator().multiply(&ciphertext, &reduced);
    let _ = evaluator().drop_level(&ciphertext, 0);
    secret().decrypt(&ciphertext)?.decode()?;
    Ok(())
}

fn plaintext(bytes: &[u8]) -> Result<()> {
    let plaintext = Plaintext::from_bytes(parameters(), bytes)?;
    assert_eq!(plaintext.to_bytes(), bytes);
    let ciphertext = secret().encrypt(&plaintext)?;
    let _ = evaluator().multiply_plain(&ciphertext, &plaintext);
    let _ = evaluator().add_plain(&ciphertext, &plaintext);
    plaintext.decode()?;
    Ok(())
}
