//! The key that decrypts, and the one that encrypts and does nothing else.

use std::fmt;

use zeroize::Zeroizing;

use super::switching::{Halves, SwitchingKey, every_prime, expand_half, key_digits};
use crate::Result;
use crate::core::literal::SecretDistribution;
use crate::core::parameters::Parameters;
use crate::ring::bundle::Bundle;
use crate::ring::kernels;
use crate::ring::poly::{Poly, SecretPoly};
use crate::sampling::{self, Generator, Seed};

/// Which secret key an object belongs to: a random public label, not derived from the key.
pub(crate) type KeyId = [u8; 16];

/// The key that decrypts. Wiped from memory when dropped; never printed.
#[derive(Clone)]
pub struct SecretKey {
    pub(crate) parameters: Parameters,
    pub(crate) id: KeyId,
    pub(crate) coefficients: Zeroizing<Vec<i8>>,
    /// Over every prime, in Montgomery form.
    pub(crate) values: SecretPoly,
}

/// A key that encrypts and does nothing else.
#[derive(Clone)]
pub struct PublicKey {
    pub(crate) parameters: Parameters,
    pub(crate) id: KeyId,
    pub(crate) seed: Seed,
    /// Both halves over every prime, held divided, in Montgomery form; the second is expanded
    /// from the seed.
    pub(crate) halves: [Poly; 2],
}

impl SecretKey {
    /// A fresh key from the operating system's randomness.
    ///
    /// # Errors
    /// [`Error::Randomness`] when the operating system gives none.
    pub fn generate(parameters: &Parameters) -> Result<Self> {
        let mut generator = Generator::from_os()?;
        let n = parameters.n();
        let coefficients = match parameters.secret() {
            SecretDistribution::Ternary => sampling::ternary(&mut generator, n),
            SecretDistribution::FixedWeight(weight) => {
                sampling::fixed_weight_ternary(&mut generator, n, weight)?
            }
        };
        let label = generator.public_seed().0;
        let id = std::array::from_fn(|i| label[i]);
        Ok(Self::from_coefficients(parameters, id, coefficients))
    }

    pub(crate) fn from_coefficients(
        parameters: &Parameters,
        id: KeyId,
        coefficients: Zeroizing<Vec<i8>>,
    ) -> Self {
        let ring = parameters.ring();
        let mut values = SecretPoly(ring.small(&every_prime(parameters), &coefficients));
        ring.to_montgomery(&mut values.0);
        Self { parameters: parameters.clone(), id, coefficients, values }
    }

    /// The parameters of the key.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Which secret key this is: a random public label, not derived from the key.
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// A fresh public key.
    ///
    /// # Errors
    /// [`Error::Randomness`] when the operating system gives none.
    pub fn public_key(&self) -> Result<PublicKey> {
        let mut generator = Generator::from_os()?;
        let seed = generator.public_seed();
        let half = expand_half(&self.parameters, &seed, 0, &every_prime(&self.parameters))?;
        let first = self.encryption_of_zero(&mut generator, &self.values, &half);
        Ok(PublicKey {
            parameters: self.parameters.clone(),
            id: self.id,
            seed,
            halves: [first, half],
        })
    }

    /// e - half * secret for an e held divided, in Montgomery form as `half` and `secret` are.
    fn encryption_of_zero(
        &self,
        generator: &mut Generator,
        secret: &SecretPoly,
        half: &Poly,
    ) -> Poly {
        let ring = self.parameters.ring();
        let error = sampling::gaussian(generator, ring.n());
        let mut error = SecretPoly(ring.small(&half.basis, &error));
        ring.to_montgomery(&mut error.0);
        self.parameters.premultiply_by_inverse(&mut error.0);
        let mut mask = SecretPoly(half.clone());
        ring.mul_montgomery(&mut mask.0, &secret.0);
        ring.sub(&mut error.0, &mask.0);
        error.0.clone()
    }

    pub(in crate::core) fn switching_key(
        &self,
        from: &SecretPoly,
        to: &SecretPoly,
        level: usize,
    ) -> Result<SwitchingKey> {
        let ring = self.parameters.ring();
        let mut generator = Generator::from_os()?;
        let seed = generator.public_seed();
        let basis = self.parameters.key_basis(level);
        let mut digits = Vec::new();
        let mut halves = Vec::new();
        for (index, own) in key_digits(&self.parameters, &basis) {
            let half = expand_half(&self.parameters, &seed, index, &basis)?;
            let mut first = self.encryption_of_zero(&mut generator, to, &half);
            for (position, limb) in first.limbs_mut().filter(|(p, _)| own.contains(*p)) {
                kernels::add(ring.modulus(position), limb, from.0.limb(position));
            }
            digits.push(index);
            halves.extend([first, half]);
        }
        let halves = Halves::Both(Bundle::new(ring.n(), &basis, &halves));
        Ok(SwitchingKey { level, seed, digits, halves })
    }
}

impl PublicKey {
    /// Which secret key it belongs to: a random public label, not derived from the key.
    pub fn id(&self) -> [u8; 16] {
        self.id
    }

    /// The parameters of the key.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey({})", self.parameters)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.parameters)
    }
}
