//! The secret key and what an evaluator holds.

use std::fmt;
use std::sync::Arc;

use tfhe::core_crypto::commons::math::random::Seed;
use tfhe::core_crypto::prelude::{
    DefaultRandomGenerator, Fft, FourierLweBootstrapKey, FourierLweBootstrapKeyOwned, Gaussian,
    GlweSecretKey, LweBootstrapKeyOwned, LweKeyswitchKey, LweKeyswitchKeyOwned, LweSecretKey,
    SeededLweBootstrapKey, SeededLweKeyswitchKey, generate_binary_glwe_secret_key,
    generate_binary_lwe_secret_key, generate_seeded_lwe_keyswitch_key,
    par_convert_standard_lwe_bootstrap_key_to_fourier, par_decompress_seeded_lwe_bootstrap_key,
    par_decompress_seeded_lwe_keyswitch_key, par_generate_seeded_lwe_bootstrap_key,
};
use zeroize::Zeroizing;

use crate::parameters::{KEY_MODULUS, LWE_MODULUS, Parameters};
use crate::{Result, randomness};

/// Which secret key an object belongs to: a random public label, not derived from the key.
pub(crate) type KeyId = [u8; 16];

/// The key that encrypts and decrypts. Wiped from memory when dropped; never printed.
///
/// The crate `tfhe` works on this memory and keeps no copy, but what it holds meanwhile it
/// does not wipe: the states of its generators and, while an evaluation key is made, products
/// of key bits.
#[derive(Clone)]
pub struct SecretKey {
    pub(crate) parameters: Parameters,
    pub(crate) id: KeyId,
    /// That of an LWE ciphertext after its key switch; each number 0 or 1.
    pub(crate) small: Zeroizing<Vec<u32>>,
    /// That of LWE ciphertexts; each number 0 or 1.
    pub(crate) large: Zeroizing<Vec<u64>>,
}

/// What an evaluator holds; it cannot decrypt. Cloning shares it.
#[derive(Clone)]
pub struct EvaluationKey(pub(crate) Arc<ExpandedKey>);

pub(crate) struct ExpandedKey {
    pub(crate) parameters: Parameters,
    pub(crate) id: KeyId,
    /// What is stored and sent.
    pub(crate) seeded: SeededKey,
    pub(crate) bootstrap: FourierLweBootstrapKeyOwned,
    pub(crate) switch: LweKeyswitchKeyOwned<u32>,
    pub(crate) fft: Fft,
}

/// An evaluation key without its masks, which follow from seeds.
pub(crate) struct SeededKey {
    pub(crate) bootstrap_seed: Seed,
    pub(crate) bootstrap: Vec<u64>,
    pub(crate) switch_seed: Seed,
    pub(crate) switch: Vec<u32>,
}

impl SecretKey {
    /// A fresh key from the operating system's randomness.
    ///
    /// # Errors
    /// [`Error::Randomness`](crate::Error::Randomness) when the operating system gives none.
    pub fn generate(parameters: Parameters) -> Result<Self> {
        let mut generator = randomness::secret_generator()?;
        let mut small = Zeroizing::new(system_memory::filled(0, parameters.small_dimension().0));
        let mut large = Zeroizing::new(system_memory::filled(0, parameters.lwe_dimension()));
        let size = parameters.polynomial_size();
        generate_binary_lwe_secret_key(
            &mut LweSecretKey::from_container(small.as_mut_slice()),
            &mut generator,
        );
        generate_binary_glwe_secret_key(
            &mut GlweSecretKey::from_container(large.as_mut_slice(), size),
            &mut generator,
        );
        Ok(Self { parameters, id: randomness::bytes()?, small, large })
    }

    /// The parameters of the key.
    pub fn parameters(&self) -> Parameters {
        self.parameters
    }

    /// A label, drawn at random with the key, that all that belongs to it carries; public.
    pub fn label(&self) -> [u8; 16] {
        self.id
    }

    /// The numbers of the large key, each 0 or 1, for keys that lead here from another scheme.
    pub fn large_numbers(&self) -> &[u64] {
        &self.large
    }

    /// A fresh evaluation key.
    ///
    /// # Errors
    /// [`Error::Randomness`](crate::Error::Randomness) when the operating system gives none.
    pub fn evaluation_key(&self) -> Result<EvaluationKey> {
        let parameters = self.parameters;
        let mut noise_seeder = randomness::noise_seeder()?;
        let small = LweSecretKey::from_container(self.small.as_slice());
        let size = parameters.polynomial_size();
        let large = GlweSecretKey::from_container(self.large.as_slice(), size);
        let mut seeded = SeededKey {
            bootstrap_seed: randomness::seed()?,
            bootstrap: system_memory::filled(0, SeededKey::bootstrap_length(parameters)),
            switch_seed: randomness::seed()?,
            switch: system_memory::filled(0, SeededKey::switch_length(parameters)),
        };
        par_generate_seeded_lwe_bootstrap_key(
            &small,
            &large,
            &mut SeededLweBootstrapKey::from_container(
                seeded.bootstrap.as_mut_slice(),
                parameters.large_polynomials().to_glwe_size(),
                size,
                parameters.bootstrap_base_log(),
                parameters.bootstrap_levels(),
                seeded.bootstrap_seed.into(),
                KEY_MODULUS,
            ),
            Gaussian::from_dispersion_parameter(parameters.large_noise(), 0.0),
            &mut noise_seeder,
        );
        generate_seeded_lwe_keyswitch_key(
            &large.as_lwe_secret_key(),
            &small,
            &mut SeededLweKeyswitchKey::from_container(
                seeded.switch.as_mut_slice(),
                parameters.switch_base_log(),
                parameters.switch_levels(),
                parameters.small_dimension().to_lwe_size(),
                seeded.switch_seed.into(),
                LWE_MODULUS,
            ),
            Gaussian::from_dispersion_parameter(parameters.small_noise(), 0.0),
            &mut noise_seeder,
        );
        Ok(EvaluationKey::expand(parameters, self.id, seeded))
    }
}

impl SeededKey {
    /// Numbers in the bootstrap key.
    pub(crate) fn bootstrap_length(parameters: Parameters) -> usize {
        parameters.small_dimension().0
            * parameters.bootstrap_levels().0
            * parameters.large_polynomials().to_glwe_size().0
            * parameters.polynomial_size().0
    }

    /// Bytes of the bootstrap key with its masks, and of its transform: half as many numbers, each
    /// twice as long.
    fn masked_bootstrap_bytes(parameters: Parameters) -> usize {
        let rows = parameters.large_polynomials().to_glwe_size().0;
        Self::bootstrap_length(parameters) * rows * size_of::<u64>()
    }

    /// Numbers in the key switching key.
    pub(crate) fn switch_length(parameters: Parameters) -> usize {
        parameters.lwe_dimension() * parameters.switch_levels().0
    }

    /// With its masks, transformed for use.
    fn bootstrap(&self, parameters: Parameters) -> FourierLweBootstrapKeyOwned {
        let glwe_size = parameters.large_polynomials().to_glwe_size();
        let size = parameters.polynomial_size();
        let (base_log, levels) = (parameters.bootstrap_base_log(), parameters.bootstrap_levels());
        let dimension = parameters.small_dimension();
        let seeded = SeededLweBootstrapKey::from_container(
            self.bootstrap.as_slice(),
            glwe_size,
            size,
            base_log,
            levels,
            self.bootstrap_seed.into(),
            KEY_MODULUS,
        );
        system_memory::require(Self::masked_bootstrap_bytes(parameters));
        let mut masked =
            LweBootstrapKeyOwned::new(0, glwe_size, size, base_log, levels, dimension, KEY_MODULUS);
        par_decompress_seeded_lwe_bootstrap_key::<_, _, _, DefaultRandomGenerator>(
            &mut masked,
            &seeded,
        );
        system_memory::require(Self::masked_bootstrap_bytes(parameters));
        let mut transformed =
            FourierLweBootstrapKey::new(dimension, glwe_size, size, base_log, levels);
        par_convert_standard_lwe_bootstrap_key_to_fourier(&masked, &mut transformed);
        transformed
    }

    /// With its masks.
    fn switch(&self, parameters: Parameters) -> LweKeyswitchKeyOwned<u32> {
        let (base_log, levels) = (parameters.switch_base_log(), parameters.switch_levels());
        let seeded = SeededLweKeyswitchKey::from_container(
            self.switch.as_slice(),
            base_log,
            levels,
            parameters.small_dimension().to_lwe_size(),
            self.switch_seed.into(),
            LWE_MODULUS,
        );
        let size = parameters.small_dimension().to_lwe_size().0 * size_of::<u32>();
        system_memory::require(Self::switch_length(parameters) * size);
        let mut masked = LweKeyswitchKey::new(
            0,
            base_log,
            levels,
            seeded.input_key_lwe_dimension(),
            seeded.output_key_lwe_dimension(),
            LWE_MODULUS,
        );
        par_decompress_seeded_lwe_keyswitch_key::<_, _, _, DefaultRandomGenerator>(
            &mut masked,
            &seeded,
        );
        masked
    }
}

impl EvaluationKey {
    pub(crate) fn expand(parameters: Parameters, id: KeyId, seeded: SeededKey) -> Self {
        let (bootstrap, switch) = (seeded.bootstrap(parameters), seeded.switch(parameters));
        let fft = Fft::new(parameters.polynomial_size());
        Self(Arc::new(ExpandedKey { parameters, id, seeded, bootstrap, switch, fft }))
    }

    /// The parameters of the key.
    pub fn parameters(&self) -> Parameters {
        self.0.parameters
    }

    /// The label of the secret key.
    pub fn label(&self) -> [u8; 16] {
        self.0.id
    }

    /// Bytes in memory.
    pub fn nbytes(&self) -> usize {
        let key = &*self.0;
        size_of_val(key.seeded.bootstrap.as_slice())
            + size_of_val(key.seeded.switch.as_slice())
            + size_of_val(key.bootstrap.as_view().data())
            + size_of_val(key.switch.as_ref())
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", self.parameters.name())
    }
}

impl fmt::Debug for EvaluationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EvaluationKey({}, {} bytes)", self.0.parameters.name(), self.nbytes())
    }
}
