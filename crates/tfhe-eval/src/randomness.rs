//! Randomness of the operating system.
//!
//! Keys, masks and noise come from the AES counter generators of the crate `tfhe`, each with
//! a seed of 128 bits from the operating system's generator (on Linux `getrandom`).

use tfhe::core_crypto::commons::generators::DeterministicSeeder;
use tfhe::core_crypto::commons::math::random::{RandomGenerator, Seed};
use tfhe::core_crypto::prelude::{
    DefaultRandomGenerator, EncryptionRandomGenerator, SecretRandomGenerator,
};

use crate::{Error, Result};

pub(crate) fn bytes() -> Result<[u8; 16]> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::Randomness(error.to_string()))?;
    Ok(bytes)
}

pub(crate) fn seed() -> Result<Seed> {
    Ok(Seed(u128::from_le_bytes(bytes()?)))
}

/// Refuses processors that lack what the generators are made of.
pub(crate) fn require_processor() -> Result<()> {
    #[cfg(target_arch = "x86_64")]
    require("AES-NI", is_x86_feature_detected!("aes"))?;
    #[cfg(target_arch = "aarch64")]
    require("AES instructions", std::arch::is_aarch64_feature_detected!("aes"))?;
    Ok(())
}

fn require(instructions: &'static str, found: bool) -> Result<()> {
    if found { Ok(()) } else { Err(Error::Processor { instructions }) }
}

/// Draws secret keys.
pub(crate) fn secret_generator() -> Result<SecretRandomGenerator<DefaultRandomGenerator>> {
    require_processor()?;
    Ok(SecretRandomGenerator::new(seed()?))
}

/// Draws the secrets and errors of an encryption.
pub(crate) fn secret_numbers() -> Result<RandomGenerator<DefaultRandomGenerator>> {
    require_processor()?;
    Ok(RandomGenerator::new(seed()?))
}

/// Seeds generators of noise.
pub(crate) fn noise_seeder() -> Result<DeterministicSeeder<DefaultRandomGenerator>> {
    require_processor()?;
    Ok(DeterministicSeeder::new(seed()?))
}

/// Draws masks, which are public, and noise, which is not, from seeds of their own.
pub(crate) fn encryption_generator() -> Result<EncryptionRandomGenerator<DefaultRandomGenerator>> {
    require_processor()?;
    Ok(EncryptionRandomGenerator::new(seed()?, &mut noise_seeder()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_without_instructions_is_refused_by_their_name() {
        let refused = require("AES-NI", false).unwrap_err();
        assert_eq!(refused, Error::Processor { instructions: "AES-NI" });
        assert!(refused.to_string().contains("expected a processor with AES-NI"), "{refused}");
        assert_eq!(require("AES-NI", true), Ok(()));
    }
}
