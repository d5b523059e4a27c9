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

/// Draws secret keys.
pub(crate) fn secret_generator() -> Result<SecretRandomGenerator<DefaultRandomGenerator>> {
    Ok(SecretRandomGenerator::new(seed()?))
}

/// Draws the secrets and errors of an encryption.
pub(crate) fn secret_numbers() -> Result<RandomGenerator<DefaultRandomGenerator>> {
    Ok(RandomGenerator::new(seed()?))
}

/// Seeds generators of noise.
pub(crate) fn noise_seeder() -> Result<DeterministicSeeder<DefaultRandomGenerator>> {
    Ok(DeterministicSeeder::new(seed()?))
}

/// Draws masks, which are public, and noise, which is not, from seeds of their own.
pub(crate) fn encryption_generator() -> Result<EncryptionRandomGenerator<DefaultRandomGenerator>> {
    Ok(EncryptionRandomGenerator::new(seed()?, &mut noise_seeder()?))
}
