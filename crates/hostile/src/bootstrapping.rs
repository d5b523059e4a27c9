//! Bootstrapping.

use std::sync::OnceLock;

use rlwe::bytes::ReadLimits;
use rlwe::ckks::{
    Bootstrapping, BootstrappingLiteral, BootstrappingParameters, Ciphertext, Encoding, Evaluator,
    Packing,
};
use rlwe::keys::{EvaluationKeys, SecretKey};

use crate::Outcome;
use crate::keys::known_secret;

const SLOTS: usize = 4;

/// A small ring with a circuit and something to refresh.
struct Bench {
    parameters: BootstrappingParameters,
    bootstrapping: Bootstrapping,
    secret: SecretKey,
    spent: Ciphertext,
}

fn small() -> &'static Bench {
    static BENCH: OnceLock<Bench> = OnceLock::new();
    BENCH.get_or_init(|| {
        let literal =
            BootstrappingLiteral { log_n: 7, levels: 1, insecure: true, ..Default::default() };
        let parameters = BootstrappingParameters::new(literal).expect("a small ring");
        let bootstrapping =
            Bootstrapping::new(&parameters, SLOTS, Packing::Real).expect("a circuit");
        let secret = known_secret(parameters.parameters());
        let encoding = Encoding::at(bootstrapping.input_level()).within(1.0);
        let plaintext = parameters.parameters().encode_real(&[0.5; SLOTS], encoding);
        let spent = secret.encrypt(&plaintext.expect("a plaintext")).expect("a ciphertext");
        Bench { parameters, bootstrapping, secret, spent }
    })
}

pub fn fingerprint() -> [u8; 16] {
    small().parameters.parameters().fingerprint()
}

/// The parameters of the small ring.
pub fn parameters() -> Vec<u8> {
    small().parameters.to_bytes()
}

/// What patches of keys begin from.
pub fn keys() -> &'static [Vec<u8>] {
    static KEYS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let Bench { bootstrapping, secret, .. } = small();
        vec![secret.evaluation_keys(&bootstrapping.keys()).expect("keys").to_bytes()]
    })
}

pub fn read_parameters(bytes: &[u8]) -> Outcome {
    let limits = ReadLimits { insecure: true, max_log_n: 8 };
    let parameters = BootstrappingParameters::from_bytes(bytes, &limits)?;
    assert_eq!(parameters.to_bytes(), bytes);
    let bootstrapping = Bootstrapping::streamed(&parameters, SLOTS, Packing::Complex)?;
    let encoding = Encoding::at(bootstrapping.input_level()).within(parameters.literal().bound);
    let spent = parameters.parameters().estimate(SLOTS, encoding)?.encrypted()?;
    assert!(spent.bootstrap(&bootstrapping)?.precision().is_finite());
    Ok(())
}

pub fn evaluation_keys(bytes: &[u8]) -> Outcome {
    let Bench { parameters, bootstrapping, secret, spent } = small();
    let keys = EvaluationKeys::from_bytes(parameters.parameters(), bytes)?;
    assert_eq!(keys.to_bytes(), bytes);
    let refreshed = Evaluator::new(keys).bootstrap(spent, bootstrapping)?;
    // Whatever the keys were, it decrypts or is refused.
    let _ = secret.decrypt(&refreshed, refreshed.estimate());
    Ok(())
}
