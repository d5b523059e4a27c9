//! A key that encrypts bits and does nothing else.
//!
//! With s the LWE secret, k polynomials of N coefficients, the key is a matrix A of k by k
//! uniform polynomials and t = A s + e (module learning with errors; Langlois and Stehlé 2015, and
//! with it Bos et al. 2018, "CRYSTALS - Kyber", section 2, here over the torus). A bit is
//! encrypted with an ephemeral secret r as
//!
//! ```text
//!   u = A^T r + e1        v = t r + e2 + phase        v - u s = phase + e r - e1 s + e2
//! ```
//!
//! of which the constant coefficient is an LWE ciphertext like any that leaves a bootstrap. Each
//! bit has an ephemeral secret of its own, so that noises of different inputs are uncorrelated: each
//! coefficient of r is the difference of two random bits, which has mean 0, and whose secret is no
//! easier to find than one of random bits, as either bits can be added by whoever wants to.
//! A, e, e1 and e2 are as in the evaluation key.

use std::fmt;

use tfhe::core_crypto::algorithms::polynomial_algorithms::polynomial_karatsuba_wrapping_mul;
use tfhe::core_crypto::commons::math::random::{RandomGenerator, Seed};
use tfhe::core_crypto::prelude::{
    ContiguousEntityContainer, DefaultRandomGenerator, Gaussian, GlweCiphertext,
    GlweCiphertextCount, GlweCiphertextList, GlweCiphertextListOwned, GlweSecretKey, LweCiphertext,
    MonomialDegree, PlaintextList, Polynomial, SeededGlweCiphertextList,
    decompress_seeded_glwe_ciphertext_list, encrypt_seeded_glwe_ciphertext_list,
    extract_lwe_sample_from_glwe_ciphertext,
};
use zeroize::Zeroizing;

use crate::encryption::{Ciphertexts, Lwe, check_bits, rounded};
use crate::keys::{KeyId, SecretKey};
use crate::parameters::{KEY_MODULUS, Parameters};
use crate::{Result, randomness};

const ENCRYPT: &str = "encrypt bits under a public key";

/// The key with which others encrypt bits for the owner of a secret key.
///
/// ```
/// use tfhe_eval::{Parameters, PublicKey, SecretKey};
/// let secret = SecretKey::generate(Parameters::named("space4")?)?;
/// let sent = secret.public_key()?.to_bytes();
/// let public = PublicKey::from_bytes(&sent)?;
/// let encrypted = public.encrypt(&[1, 0], &[1 << 30; 2])?;
/// assert_eq!(secret.decrypt(&encrypted, &[1 << 30; 2])?, [1, 0]);
/// # Ok::<(), tfhe_eval::Error>(())
/// ```
#[derive(Clone)]
pub struct PublicKey {
    pub(crate) parameters: Parameters,
    pub(crate) id: KeyId,
    /// What the matrix is expanded from.
    pub(crate) seed: Seed,
    /// t, one polynomial after another.
    pub(crate) bodies: Vec<u64>,
    /// A row of the matrix and its t, k times.
    rows: GlweCiphertextListOwned<u64>,
}

impl SecretKey {
    /// A fresh public key.
    ///
    /// # Errors
    /// [`Error::Randomness`](crate::Error::Randomness) when the operating system gives none.
    pub fn public_key(&self) -> Result<PublicKey> {
        let parameters = self.parameters;
        let (count, size) = (parameters.large_polynomials(), parameters.polynomial_size());
        let seed = randomness::seed()?;
        let mut bodies = vec![0; parameters.lwe_dimension()];
        encrypt_seeded_glwe_ciphertext_list(
            &GlweSecretKey::from_container(self.large.as_slice(), size),
            &mut SeededGlweCiphertextList::from_container(
                bodies.as_mut_slice(),
                count.to_glwe_size(),
                size,
                seed.into(),
                KEY_MODULUS,
            ),
            &PlaintextList::from_container(vec![0; parameters.lwe_dimension()]),
            Gaussian::from_dispersion_parameter(parameters.large_noise(), 0.0),
            &mut randomness::noise_seeder()?,
        );
        Ok(PublicKey::expand(parameters, self.id, seed, bodies))
    }
}

impl PublicKey {
    pub(crate) fn expand(parameters: Parameters, id: KeyId, seed: Seed, bodies: Vec<u64>) -> Self {
        let (count, size) = (parameters.large_polynomials(), parameters.polynomial_size());
        let seeded = SeededGlweCiphertextList::from_container(
            bodies.as_slice(),
            count.to_glwe_size(),
            size,
            seed.into(),
            KEY_MODULUS,
        );
        let mut rows = GlweCiphertextList::new(
            0,
            count.to_glwe_size(),
            size,
            GlweCiphertextCount(count.0),
            KEY_MODULUS,
        );
        decompress_seeded_glwe_ciphertext_list::<_, _, _, DefaultRandomGenerator>(
            &mut rows, &seeded,
        );
        Self { parameters, id, seed, bodies, rows }
    }

    /// The parameters of the key.
    pub fn parameters(&self) -> Parameters {
        self.parameters
    }

    /// The label of the secret key.
    pub fn label(&self) -> [u8; 16] {
        self.id
    }

    /// Bytes in memory.
    pub fn nbytes(&self) -> usize {
        size_of_val(self.bodies.as_slice()) + size_of_val(self.rows.as_ref())
    }

    /// Encrypts each bit, 0 or 1, in its encoding, with fresh randomness; with a little more noise
    /// than the secret key does, [`public_variance`](crate::noise::public_variance).
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) when there are not as many
    /// encodings as bits, or a bit is neither 0 nor 1;
    /// [`Error::Randomness`](crate::Error::Randomness).
    pub fn encrypt(&self, bits: &[u8], encodings: &[u32]) -> Result<Ciphertexts> {
        check_bits(ENCRYPT, bits, encodings)?;
        let mut generator = randomness::secret_numbers()?;
        let encrypt = |(&bit, &encoding): (&u8, &u32)| {
            self.encrypt_phase(&mut generator, u64::from(u32::from(bit) * encoding) << 32)
        };
        let lwes = bits.iter().zip(encodings).map(encrypt).collect();
        Ok(Ciphertexts { parameters: self.parameters, id: self.id, lwes })
    }

    fn encrypt_phase(
        &self,
        generator: &mut RandomGenerator<DefaultRandomGenerator>,
        phase: u64,
    ) -> Lwe {
        let (count, size) =
            (self.parameters.large_polynomials(), self.parameters.polynomial_size());
        let ephemeral = self.ephemeral(generator);
        let noise = self.parameters.large_noise().0;
        let mut glwe = GlweCiphertext::new(0, count.to_glwe_size(), size, KEY_MODULUS);
        generator.unsigned_torus_slice_wrapping_add_random_gaussian_assign(
            glwe.as_mut(),
            0.0,
            noise,
        );
        let mut product = Polynomial::new(0, size);
        for (row, secret) in self.rows.iter().zip(ephemeral.chunks_exact(size.0)) {
            let secret = Polynomial::from_container(secret);
            // The last polynomials are t and v, the others A and u.
            let polynomials = glwe.as_mut().chunks_exact_mut(size.0);
            for (sum, factor) in polynomials.zip(row.as_ref().chunks_exact(size.0)) {
                let factor = Polynomial::from_container(factor);
                polynomial_karatsuba_wrapping_mul(&mut product, &factor, &secret);
                for (sum, &x) in sum.iter_mut().zip(product.as_ref()) {
                    *sum = sum.wrapping_add(x);
                }
            }
        }
        let mut fine =
            LweCiphertext::from_container(vec![0; self.parameters.lwe_length()], KEY_MODULUS);
        extract_lwe_sample_from_glwe_ciphertext(&glwe, &mut fine, MonomialDegree(0));
        let body = fine.get_mut_body().data;
        *body = body.wrapping_add(phase);
        rounded(fine.as_ref())
    }

    /// For each polynomial of the secret one of differences of random bits.
    fn ephemeral(
        &self,
        generator: &mut RandomGenerator<DefaultRandomGenerator>,
    ) -> Zeroizing<Vec<u64>> {
        let mut bits = Zeroizing::new(vec![0u64; 2 * self.parameters.lwe_dimension()]);
        generator.fill_slice_with_random_uniform_binary(&mut bits);
        let (plus, minus) = bits.split_at(self.parameters.lwe_dimension());
        let mut differences = Zeroizing::new(vec![0; plus.len()]);
        for ((difference, plus), minus) in differences.iter_mut().zip(plus).zip(minus) {
            *difference = plus.wrapping_sub(*minus);
        }
        differences
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({}, {} bytes)", self.parameters.name(), self.nbytes())
    }
}
