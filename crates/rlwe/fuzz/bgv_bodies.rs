//! What is done with hostile bytes of BGV.

use std::sync::OnceLock;

use rlwe::bgv::{Ciphertext, Evaluator, Parameters, ParametersLiteral, Plaintext};
use rlwe::keys::{EvaluationKeysRequest, SecretKey};
use rlwe::{Error, Result};

use super::{MAX_LEVELS, MAX_LOG_N, secret_under};

/// The smallest ring, with two digits for every key.
pub fn parameters() -> &'static Parameters {
    static PARAMETERS: OnceLock<Parameters> = OnceLock::new();
    PARAMETERS.get_or_init(|| {
        let literal = ParametersLiteral {
            log_n: Some(5),
            levels: 2,
            plaintext_modulus: Some(7937),
            digits: Some(2),
            insecure: true,
            ..ParametersLiteral::default()
        };
        Parameters::new(literal).expect("a small ring")
    })
}

pub fn lattice() -> &'static rlwe::Parameters {
    parameters().lattice()
}

/// The key of every ciphertext in the corpus.
pub fn secret() -> &'static SecretKey {
    static SECRET: OnceLock<SecretKey> = OnceLock::new();
    SECRET.get_or_init(|| secret_under(lattice()))
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
        let keys = secret().evaluation_keys(&request).expect("evaluation keys");
        Evaluator::new(keys).expect("keys of BGV")
    })
}

pub fn read_parameters(bytes: &[u8]) -> Result<()> {
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
    assert_eq!(Parameters::new(literal)?, parameters);
    let row = vec![1; parameters.slots()];
    assert_eq!(
        parameters.encode(&row, parameters.max_level())?.decode(),
        [&row[..], &row].concat()
    );
    Ok(())
}

/// Noise says what may be done; whatever a result decrypts to, it decrypts or is refused.
pub fn ciphertext(bytes: &[u8]) -> Result<()> {
    let ciphertext = Ciphertext::from_bytes(parameters(), bytes)?;
    assert_eq!(ciphertext.to_bytes(), bytes);
    assert!(ciphertext.nbytes() <= 2 * bytes.len());
    let e = evaluator();
    let results = [
        e.add(&ciphertext, &ciphertext),
        e.relinearize(&ciphertext).and_then(|reduced| e.rotate(&reduced, 1)),
        e.relinearize_and_switch(&ciphertext),
        e.multiply(&ciphertext, &ciphertext),
        e.switch_down(&ciphertext),
        e.switch_to(&ciphertext, 0, Some(5)),
        e.multiply_scalar(&ciphertext, -7),
    ];
    for result in results.into_iter().flatten() {
        let _ = secret().decrypt_integers(&result);
    }
    match secret().decrypt_integers(&ciphertext) {
        Ok(_) | Err(Error::DecryptionOverflow | Error::NoiseExhausted { .. }) => Ok(()),
        Err(refusal) => Err(refusal),
    }
}

pub fn plaintext(bytes: &[u8]) -> Result<()> {
    let plaintext = Plaintext::from_bytes(parameters(), bytes)?;
    assert_eq!(plaintext.to_bytes(), bytes);
    let ciphertext = secret().encrypt_integers(&plaintext)?;
    let _ = evaluator().multiply_plain(&ciphertext, &plaintext);
    let _ = evaluator().add_plain(&ciphertext, &plaintext);
    assert_eq!(secret().decrypt_integers(&ciphertext)?, plaintext.decode());
    Ok(())
}
