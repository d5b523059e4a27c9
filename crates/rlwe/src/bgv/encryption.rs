//! Encryption, decryption and the measurement of noise.

use rayon::prelude::*;
use zeroize::Zeroizing;

use super::ciphertext::Ciphertext;
use super::noise::CAPACITY;
use super::parameters::Parameters;
use super::plaintext::Plaintext;
use crate::core::keys::{PublicKey, SecretKey};
use crate::parallel;
use crate::ring::centring::Centring;
use crate::ring::modulus::Modulus;
use crate::ring::wiped::Wiped;
use crate::{Error, Result};

/// Coefficients put together at once.
const BLOCK: usize = 1024;

/// The noise that a ciphertext has, as log2: for tests of the bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredNoise {
    /// The largest absolute value at a root of X^N + 1, the message included.
    pub canonical_bits: f64,
    /// The root of the sum of all squared coefficients, the message included.
    pub length_bits: f64,
    /// The largest absolute coefficient, the message included.
    pub coefficient_bits: f64,
}

/// The polynomial v of a ciphertext.
struct Phase {
    /// Modulo t.
    residues: Zeroizing<Vec<u32>>,
    /// As parts of 2^`modulus_bits`.
    reals: Zeroizing<Vec<f64>>,
    modulus_bits: f64,
}

impl SecretKey {
    /// Encrypts integers; the ciphertext takes half the bytes while it is fresh.
    ///
    /// # Errors
    /// [`Error::ParametersMismatch`], [`Error::NoiseExhausted`] when the modulus of the level is
    /// too small for any ciphertext, [`Error::Randomness`].
    pub fn encrypt_integers(&self, plaintext: &Plaintext) -> Result<Ciphertext> {
        let operation = "encrypt";
        let parameters = &plaintext.parameters;
        self.parameters.check_same(parameters, operation)?;
        let estimate = parameters.fresh(plaintext.level)?;
        let (mut polys, seed) = self.encrypt_zero(plaintext.level, operation)?;
        parameters.add_message(&mut polys[0], plaintext, estimate.factor);
        Ok(Ciphertext { estimate, key: self.id, polys: polys.into(), seed: Some(seed) })
    }

    /// Decrypts: the first row of integers in (-t / 2, t / 2) and then the second.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`], [`Error::ParametersMismatch`], [`Error::NoiseExhausted`] when by
    /// its estimate the result may be wrong, [`Error::DecryptionOverflow`] when it is, which is
    /// that the estimate was a lie.
    pub fn decrypt_integers(&self, ciphertext: &Ciphertext) -> Result<Vec<i64>> {
        let mut phase = self.integer_phase(ciphertext)?;
        let parameters = ciphertext.parameters();
        let t = parameters.t();
        let inverse = t.to_montgomery(t.inv(ciphertext.estimate.factor));
        phase.residues.iter_mut().for_each(|x| *x = t.mul_montgomery(*x, inverse));
        Ok(parameters.slot_encoder().project(&phase.residues))
    }

    /// The noise of a ciphertext, which reveals the secret key: it is for tests.
    ///
    /// # Errors
    /// As [`Self::decrypt_integers`].
    pub fn measure_noise(&self, ciphertext: &Ciphertext) -> Result<MeasuredNoise> {
        let Phase { reals, modulus_bits, .. } = self.integer_phase(ciphertext)?;
        let bits = |parts: f64| parts.log2() + modulus_bits;
        let slots = ciphertext.parameters().embedding().project(&reals, self.parameters.slots())?;
        let canonical = slots.iter().map(|x| x.norm()).fold(0.0, f64::max);
        let coefficient = reals.iter().map(|x| x.abs()).fold(0.0, f64::max);
        let length = reals.iter().map(|x| x * x).sum::<f64>().sqrt();
        Ok(MeasuredNoise {
            canonical_bits: bits(canonical),
            length_bits: bits(length),
            coefficient_bits: bits(coefficient),
        })
    }

    /// v, from as many of the largest primes as its bound needs.
    fn integer_phase(&self, ciphertext: &Ciphertext) -> Result<Phase> {
        let operation = "decrypt";
        let parameters = ciphertext.parameters();
        self.parameters.check_same(parameters, operation)?;
        if self.id != ciphertext.key {
            return Err(Error::KeyMismatch { operation });
        }
        ciphertext.estimate.check(operation)?;
        let ring = self.parameters.ring();
        let phase = self.phase(&ciphertext.polys);
        let mut positions: Vec<usize> = phase.0.basis.iter().collect();
        positions.sort_by_key(|&p| std::cmp::Reverse(ring.modulus(p).q));
        let mut modulus_bits = 0.0;
        let needed = ciphertext.estimate.noise.coefficient_bits - CAPACITY.log2();
        let enough = positions.iter().position(|&p| {
            modulus_bits += f64::from(ring.modulus(p).q).log2();
            modulus_bits >= needed
        });
        positions.truncate(enough.map_or(positions.len(), |last| last + 1));
        let limbs: Vec<Zeroizing<Vec<u32>>> = parallel::over(&positions)
            .shared()
            .map(|&p| {
                let mut limb = Zeroizing::new(system_memory::copied(phase.0.limb(p)));
                ring.primes[p].inverse(&mut limb);
                parameters.scale_by_modulus(ring.modulus(p), &mut limb);
                limb
            })
            .collect();
        let moduli: Vec<Modulus> = positions.iter().map(|&p| ring.modulus(p)).collect();
        let centring = Centring::new(&moduli, &[parameters.t()]);
        let mut residues = Zeroizing::new(system_memory::filled(0, ring.n()));
        let mut reals = Zeroizing::new(system_memory::filled(0.0, ring.n()));
        let blocks = parallel::chunks_mut(&mut residues, BLOCK)
            .zip(parallel::chunks_mut(&mut reals, BLOCK))
            .enumerate();
        blocks.shared().for_each(|(block, (residues, reals))| {
            let mut digits = Wiped::new(0, moduli.len());
            let mut sources = Wiped::new(0, moduli.len());
            for (i, (residue, real)) in residues.iter_mut().zip(reals).enumerate() {
                let limbs = limbs.iter().map(|limb| limb[block * BLOCK + i]);
                sources.iter_mut().zip(limbs).for_each(|(source, x)| *source = x);
                let sign = centring.read(&sources, &mut digits);
                *residue = centring.residue(0, sign, &digits).1;
                *real = centring.part(sign, &digits);
            }
        });
        if reals.iter().any(|x| x.abs() >= CAPACITY) {
            return Err(Error::DecryptionOverflow);
        }
        Ok(Phase { residues, reals, modulus_bits })
    }
}

impl PublicKey {
    /// Encrypts integers.
    ///
    /// # Errors
    /// [`Error::ParametersMismatch`], [`Error::NoiseExhausted`] when the modulus of the level is
    /// too small for any ciphertext, [`Error::Randomness`].
    pub fn encrypt_integers(&self, plaintext: &Plaintext) -> Result<Ciphertext> {
        let operation = "encrypt";
        let parameters: &Parameters = &plaintext.parameters;
        self.parameters.check_same(parameters, operation)?;
        let estimate = parameters.fresh_public(plaintext.level)?;
        let mut polys = self.encrypt_zero(plaintext.level, operation)?;
        parameters.add_message(&mut polys[0], plaintext, estimate.factor);
        Ok(Ciphertext { estimate, key: self.id, polys: polys.into(), seed: None })
    }
}
