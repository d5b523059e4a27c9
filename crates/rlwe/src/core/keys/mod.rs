//! Secret, public and switching keys.

mod evaluation;
mod rekeying;
mod secret;
mod switching;

pub(crate) use evaluation::{EncapsulationKeys, ProductKeys, check_element};
pub use evaluation::{EvaluationKeys, EvaluationKeysRequest};
pub use rekeying::RekeyingKey;
pub(crate) use secret::KeyId;
pub use secret::{PublicKey, SecretKey};
pub use switching::SwitchingKey;
pub(crate) use switching::{Halves, KeyLimb, every_prime, expand_half, key_digits};
