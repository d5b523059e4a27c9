//! Keys of which the bytes are known in advance.

use rlwe::core::Parameters;
use rlwe::keys::SecretKey;

use crate::target;

/// The key of every object in the corpora, under any parameters.
pub fn known_secret(parameters: &Parameters) -> SecretKey {
    let id = *b"the fuzzed key, ";
    // Coefficients 0, -1, 1, -1 in the first byte, and so on.
    let coefficients = [0b00_10_00_01, 0b01_10_10_00, 0b10_00_01_10, 0b00_01_00_10u8];
    let coefficients: Vec<u8> =
        coefficients.iter().copied().cycle().take(parameters.n() / 4).collect();
    let body = [&id[..], &coefficients].concat();
    let bytes = target("secret_key").sealed_as(parameters.fingerprint(), &body);
    SecretKey::from_bytes(parameters, &bytes).expect("a secret key")
}
