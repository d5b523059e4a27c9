//! A key that takes ciphertexts of one secret key to another.

use std::fmt;

use super::evaluation::EvaluationKeys;
use super::secret::SecretKey;
use crate::core::parameters::Parameters;
use crate::ring::poly::{Poly, SecretPoly};
use crate::{Error, Result};

/// Takes ciphertexts of one secret key to another: an encryption of the first, and of its square,
/// under the second. It decrypts nothing by itself. With the second secret key it gives the first,
/// and not the other way round.
#[derive(Clone)]
pub struct RekeyingKey {
    /// Of the second secret key. In place of the relinearisation keys, which take its square to it,
    /// are those that take the first secret key to it, and the square of the first.
    pub(crate) keys: [EvaluationKeys; 2],
}

/// Bytes of the length of the first of both keys.
const LENGTH: usize = size_of::<u64>();

impl SecretKey {
    /// A key that takes ciphertexts of this secret key to `to`, at every level.
    ///
    /// # Errors
    /// [`ParametersMismatch`](crate::Error::ParametersMismatch) for secret keys of other parameters, [`Randomness`](crate::Error::Randomness).
    ///
    /// ```
    /// use rlwe::ckks::{Encoding, Parameters, ParametersLiteral};
    /// use rlwe::keys::SecretKey;
    /// let parameters = Parameters::new(ParametersLiteral::default())?;
    /// let (old, new) = (SecretKey::generate(&parameters)?, SecretKey::generate(&parameters)?);
    /// let stored = old.encrypt(&parameters.encode_real(&[0.5], Encoding::at(0).within(1.0))?)?;
    /// let moved = old.rekeying_key(&new)?.rekey(&stored)?;
    /// assert!((new.decrypt(&moved, moved.estimate())?.decode_real()?[0] - 0.5).abs() < 1e-5);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn rekeying_key(&self, to: &Self) -> Result<RekeyingKey> {
        self.parameters.check_same(&to.parameters, "make a rekeying key")?;
        let mut square = self.values.clone();
        self.parameters.ring().mul_montgomery(&mut square.0, &self.values.0);
        let keys = |from: &SecretPoly| -> Result<EvaluationKeys> {
            let key = to.switching_key(from, &to.values, self.parameters.max_level())?;
            Ok(EvaluationKeys { relinearisation: Some(key.into()), ..EvaluationKeys::none(to) })
        };
        Ok(RekeyingKey { keys: [keys(&self.values)?, keys(&square)?] })
    }
}

impl RekeyingKey {
    /// Which secret key ciphertexts are taken to: a random public label.
    pub fn id(&self) -> [u8; 16] {
        self.keys[0].id
    }

    /// Bytes in memory.
    pub fn nbytes(&self) -> usize {
        self.keys.iter().map(EvaluationKeys::nbytes).sum()
    }

    pub(crate) fn parameters(&self) -> &Parameters {
        &self.keys[0].parameters
    }

    /// Its bytes: those of both keys.
    pub fn to_bytes(&self) -> Vec<u8> {
        let [first, second] = self.keys.each_ref().map(EvaluationKeys::to_bytes);
        [&(first.len() as u64).to_le_bytes()[..], &first, &second].concat()
    }

    /// The key that [`Self::to_bytes`] stored.
    ///
    /// # Errors
    /// [`MalformedBytes`](crate::Error::MalformedBytes),
    /// [`ParametersMismatch`](crate::Error::ParametersMismatch),
    /// [`KeyMismatch`](crate::Error::KeyMismatch) for keys of two secret keys,
    /// [`MissingKey`](crate::Error::MissingKey) for others than such keys at the top level.
    pub fn from_bytes(parameters: &Parameters, bytes: &[u8]) -> Result<Self> {
        let operation = "read a rekeying key";
        let (length, keys) = bytes.split_at(LENGTH.min(bytes.len()));
        let length = length.try_into().map_or(u64::MAX, u64::from_le_bytes);
        let length = usize::try_from(length).map_or(keys.len(), |length| length.min(keys.len()));
        let (first, second) = keys.split_at(length);
        let read = |bytes: &[u8]| -> Result<EvaluationKeys> {
            let mut keys = EvaluationKeys::from_bytes(parameters, bytes)?;
            keys.relinearisation_key(parameters.max_level(), operation)?;
            keys.expand();
            Ok(keys)
        };
        let keys = [read(first)?, read(second)?];
        if keys[0].id != keys[1].id {
            return Err(Error::KeyMismatch { operation });
        }
        Ok(Self { keys })
    }

    /// The polynomials of a ciphertext under the second secret key.
    pub(crate) fn switched(&self, polys: &[Poly], level: usize) -> Result<[Poly; 2]> {
        let parameters = self.parameters();
        let division = parameters.division_by_special(level);
        let nothing = parameters.ring().zero(&polys[0].basis);
        let mut switched = [polys[0].clone(), nothing];
        for (keys, poly) in self.keys.iter().zip(&polys[1..]) {
            let [first, second] = switched;
            switched = keys.relinearize(&[first, second, poly.clone()], level, division)?;
        }
        Ok(switched)
    }
}

impl fmt::Debug for RekeyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RekeyingKey({})", self.parameters())
    }
}
