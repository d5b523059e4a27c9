//! Bits in and out.

use std::fmt;
use std::sync::Arc;

use tfhe::core_crypto::prelude::{
    Gaussian, LweSecretKey, Plaintext, allocate_and_encrypt_new_lwe_ciphertext,
};

use crate::keys::{KeyId, SecretKey};
use crate::parameters::{KEY_MODULUS, Parameters};
use crate::{Error, Result, randomness};

const ENCRYPT: &str = "encrypt bits";
const DECRYPT: &str = "decrypt bits";
const CONCATENATE: &str = "concatenate ciphertexts";
const SELECT: &str = "select ciphertexts";
const TRIVIAL: &str = "give bits in the clear";

/// An LWE ciphertext: the mask, then the body.
pub(crate) type Lwe = Arc<[u32]>;

/// LWE ciphertexts of one key, in order. Cloning shares them.
#[derive(Clone)]
pub struct Ciphertexts {
    pub(crate) parameters: Parameters,
    pub(crate) id: KeyId,
    pub(crate) lwes: Vec<Lwe>,
}

impl SecretKey {
    /// Encrypts each bit, 0 or 1, in its encoding, with fresh randomness.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there are not as many encodings as bits, or a bit is
    /// neither 0 nor 1; [`Error::Randomness`].
    pub fn encrypt(&self, bits: &[u8], encodings: &[u32]) -> Result<Ciphertexts> {
        check_bits(ENCRYPT, bits, encodings)?;
        let mut generator = randomness::encryption_generator()?;
        let key = LweSecretKey::from_container(self.large.as_slice());
        let noise = Gaussian::from_dispersion_parameter(self.parameters.large_noise(), 0.0);
        let lwes = bits.iter().zip(encodings).map(|(&bit, &encoding)| {
            let phase = Plaintext(u64::from(u32::from(bit) * encoding) << 32);
            let fine = allocate_and_encrypt_new_lwe_ciphertext(
                &key,
                phase,
                noise,
                KEY_MODULUS,
                &mut generator,
            );
            rounded(fine.as_ref())
        });
        Ok(Ciphertexts { parameters: self.parameters, id: self.id, lwes: lwes.collect() })
    }

    /// The bit of each LWE ciphertext: whether its phase is nearer to its encoding than to 0.
    ///
    /// # Errors
    /// [`Error::ParametersMismatch`]; [`Error::KeyMismatch`]; [`Error::InvalidArgument`] when
    /// there are not as many encodings as LWE ciphertexts.
    pub fn decrypt(&self, ciphertexts: &Ciphertexts, encodings: &[u32]) -> Result<Vec<u8>> {
        let bit = |(phase, encoding): (u32, &u32)| {
            u8::from(distance(phase, *encoding) < distance(phase, 0))
        };
        Ok(self.phases(ciphertexts, encodings)?.zip(encodings).map(bit).collect())
    }

    /// The noise of each in turns: from the nearer of 0 and its encoding to its phase.
    ///
    /// Noise reveals the key: it is for whoever holds the key, and for tests.
    ///
    /// # Errors
    /// Those of [`Self::decrypt`].
    pub fn noise(&self, ciphertexts: &Ciphertexts, encodings: &[u32]) -> Result<Vec<f64>> {
        let noise = |(phase, &encoding): (u32, &u32)| {
            let nearer = if distance(phase, encoding) < distance(phase, 0) { encoding } else { 0 };
            f64::from(phase.wrapping_sub(nearer) as i32) / f64::exp2(32.0)
        };
        Ok(self.phases(ciphertexts, encodings)?.zip(encodings).map(noise).collect())
    }

    fn phases(
        &self,
        ciphertexts: &Ciphertexts,
        encodings: &[u32],
    ) -> Result<impl Iterator<Item = u32>> {
        check_owner(DECRYPT, (self.parameters, self.id), ciphertexts)?;
        check_lengths(DECRYPT, ciphertexts.len(), encodings.len())?;
        Ok(ciphertexts.lwes.iter().map(|lwe| self.phase(lwe)))
    }

    fn phase(&self, lwe: &[u32]) -> u32 {
        // The key has no number for the body.
        let masked = lwe.iter().zip(self.large.iter());
        let product = masked.fold(0_u32, |sum, (a, &s)| sum.wrapping_add(a.wrapping_mul(s as u32)));
        lwe[self.large.len()].wrapping_sub(product)
    }
}

impl Ciphertexts {
    /// LWE ciphertexts that came from elsewhere under the key of this label, each a mask and then a
    /// body.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for one that has not as many words as the parameters ask for.
    pub fn from_words(
        parameters: Parameters,
        label: [u8; 16],
        lwes: impl IntoIterator<Item = Vec<u32>>,
    ) -> Result<Self> {
        let lwes: Vec<Lwe> = lwes.into_iter().map(Lwe::from).collect();
        let expected = parameters.lwe_length();
        if let Some(wrong) = lwes.iter().find(|lwe| lwe.len() != expected) {
            let reason =
                format!("expected LWE ciphertexts of {expected} words, got {}", wrong.len());
            return Err(Error::InvalidArgument { operation: "take ciphertexts", reason });
        }
        Ok(Self { parameters, id: label, lwes })
    }

    /// The words of each in order, for what takes them elsewhere: mask and then body.
    pub fn words(&self) -> Vec<u32> {
        self.lwes.iter().flat_map(|lwe| lwe.iter().copied()).collect()
    }

    /// The parameters of the key.
    pub fn parameters(&self) -> Parameters {
        self.parameters
    }

    /// The label of the secret key.
    pub fn label(&self) -> [u8; 16] {
        self.id
    }

    /// How many LWE ciphertexts there are.
    pub fn len(&self) -> usize {
        self.lwes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lwes.is_empty()
    }

    /// Bytes in memory, when none is shared.
    pub fn nbytes(&self) -> usize {
        self.len() * self.parameters.lwe_bytes()
    }

    /// The LWE ciphertexts of these and then of `others`.
    ///
    /// # Errors
    /// [`Error::ParametersMismatch`]; [`Error::KeyMismatch`].
    pub fn concatenate(&self, others: &[&Self]) -> Result<Self> {
        let mut all = self.clone();
        for other in others {
            check_owner(CONCATENATE, (self.parameters, self.id), other)?;
            all.lwes.extend_from_slice(&other.lwes);
        }
        Ok(all)
    }

    /// Bits that hide nothing, for programs that run on these ciphertexts: without noise, of
    /// the same key.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there are not as many encodings as bits, or a bit is
    /// neither 0 nor 1.
    pub fn trivial(&self, bits: &[u8], encodings: &[u32]) -> Result<Self> {
        check_bits(TRIVIAL, bits, encodings)?;
        let length = self.parameters.lwe_bytes() / size_of::<u32>();
        let lwe = |(&bit, &encoding): (&u8, &u32)| -> Lwe {
            let mut lwe = vec![0; length];
            lwe[length - 1] = u32::from(bit) * encoding;
            lwe.into()
        };
        let lwes = bits.iter().zip(encodings).map(lwe).collect();
        Ok(Self { lwes, ..self.clone() })
    }

    /// The LWE ciphertexts in these places, in this order; a place may be given twice.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there is no such place.
    pub fn select(&self, places: &[usize]) -> Result<Self> {
        let lwe = |&place: &usize| {
            self.lwes.get(place).cloned().ok_or_else(|| Error::InvalidArgument {
                operation: SELECT,
                reason: format!("expected places below {}, got {place}", self.len()),
            })
        };
        let lwes = places.iter().map(lwe).collect::<Result<_>>()?;
        Ok(Self { lwes, ..self.clone() })
    }
}

impl fmt::Debug for Ciphertexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ciphertexts({}, {} LWE ciphertexts)", self.parameters.name(), self.len())
    }
}

/// Mask and body, from 2^64 to a turn to 2^32.
pub(crate) fn rounded(fine: &[u64]) -> Lwe {
    fine.iter().map(|&x| (x.wrapping_add(1 << 31) >> 32) as u32).collect()
}

pub(crate) fn check_bits(operation: &'static str, bits: &[u8], encodings: &[u32]) -> Result<()> {
    check_lengths(operation, bits.len(), encodings.len())?;
    match bits.iter().position(|&bit| bit > 1) {
        Some(at) => {
            let reason = format!("expected 0 or 1, got {} in place {at}", bits[at]);
            Err(Error::InvalidArgument { operation, reason })
        }
        None => Ok(()),
    }
}

/// Refuses ciphertexts that are not of the key with these parameters and this label.
pub(crate) fn check_owner(
    operation: &'static str,
    (parameters, id): (Parameters, KeyId),
    ciphertexts: &Ciphertexts,
) -> Result<()> {
    if ciphertexts.parameters != parameters {
        let (expected, actual) = (parameters.name(), ciphertexts.parameters.name());
        return Err(Error::ParametersMismatch { operation, expected, actual });
    }
    if ciphertexts.id != id {
        return Err(Error::KeyMismatch { operation });
    }
    Ok(())
}

fn check_lengths(operation: &'static str, bits: usize, encodings: usize) -> Result<()> {
    if bits == encodings {
        return Ok(());
    }
    let reason = format!("expected an encoding for each of {bits} bits, got {encodings}");
    Err(Error::InvalidArgument { operation, reason })
}

/// How far apart two torus numbers are, in the nearer direction.
fn distance(a: u32, b: u32) -> u32 {
    (a.wrapping_sub(b) as i32).unsigned_abs()
}
