//! Ciphertexts and plaintexts.

use super::envelope::{Kind, open_under, seal};
use super::residues;
use crate::Result;
use crate::ckks::{Ciphertext, Estimate, Plaintext};
use crate::keys::KeyId;
use crate::parameters::Parameters;

use super::reader::Reader;

/// Level, slots, scale and estimate.
const VALUES_LENGTH: usize = 4 + 4 + 8 + 8 + 8;

/// What ciphertexts and plaintexts say of their values.
struct Values {
    level: usize,
    slots: usize,
    scale: f64,
    estimate: Estimate,
}

impl Values {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&(self.level as u32).to_le_bytes());
        bytes.extend_from_slice(&(self.slots as u32).to_le_bytes());
        bytes.extend_from_slice(&self.scale.to_le_bytes());
        bytes.extend_from_slice(&self.estimate.deviation.to_le_bytes());
        bytes.extend_from_slice(&self.estimate.bound.to_le_bytes());
    }

    fn read(reader: &mut Reader<'_>, parameters: &Parameters) -> Result<Self> {
        let level = reader.level(parameters)?;
        let slots = reader.slots(parameters)?;
        let scale = reader.scale(parameters, level)?;
        let deviation = reader.magnitude("a finite deviation")?;
        let bound = reader.magnitude("a finite bound")?;
        Ok(Self { level, slots, scale, estimate: Estimate { deviation, bound } })
    }
}

impl Ciphertext {
    /// Its bytes: half of [`Self::nbytes`] and a little while it is fresh from a secret key,
    /// as much and a little later.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Of a fresh ciphertext the seed stands for the second polynomial.
        let stored = if self.seed.is_some() { &self.polys[..1] } else { &self.polys };
        let values = Values {
            level: self.level,
            slots: self.slots,
            scale: self.scale,
            estimate: self.estimate,
        };
        let seed = self.seed.as_ref().map_or(&[][..], |seed| &seed.0);
        let polys: usize =
            stored.iter().map(|poly| residues::length(&self.parameters, &poly.basis)).sum();
        let length = size_of::<KeyId>() + VALUES_LENGTH + 1 + 1 + seed.len() + polys;
        seal(Kind::Ciphertext, &self.parameters, length, |bytes| {
            bytes.extend_from_slice(&self.key);
            values.write(bytes);
            bytes.push(self.polys.len() as u8);
            bytes.push(u8::from(self.seed.is_some()));
            bytes.extend_from_slice(seed);
            stored.iter().for_each(|poly| residues::write(bytes, poly));
        })
    }

    /// The ciphertext that [`Self::to_bytes`] stored; the uniform polynomial of a fresh one
    /// is expanded from its seed.
    ///
    /// # Errors
    /// [`MalformedBytes`](crate::Error::MalformedBytes),
    /// [`ParametersMismatch`](crate::Error::ParametersMismatch).
    ///
    /// ```
    /// use rlwe::ckks::{Ciphertext, Encoding};
    /// use rlwe::keys::SecretKey;
    /// use rlwe::{Parameters, ParametersLiteral};
    /// let parameters = Parameters::new(ParametersLiteral::default())?;
    /// let secret = SecretKey::generate(&parameters)?;
    /// let fresh = secret.encrypt(&parameters.encode_real(&[0.5], Encoding::at(0))?)?;
    /// let bytes = fresh.to_bytes();
    /// assert!(bytes.len() < fresh.nbytes() / 2 + 200);
    /// assert_eq!(Ciphertext::from_bytes(&parameters, &bytes)?, fresh);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn from_bytes(parameters: &Parameters, bytes: &[u8]) -> Result<Self> {
        let mut reader = open_under(Kind::Ciphertext, parameters, bytes)?;
        let key = reader.array()?;
        let Values { level, slots, scale, estimate } = Values::read(&mut reader, parameters)?;
        let [count] = reader.array()?;
        let is_fresh = reader.flag("a seed")?;
        let (seed, polys) = reader.polys(parameters, level, count, is_fresh)?;
        reader.end()?;
        let parameters = parameters.clone();
        Ok(Self { parameters, key, level, scale, slots, estimate, polys: polys.into(), seed })
    }
}

impl Plaintext {
    /// Its bytes, from which anyone can read the values.
    pub fn to_bytes(&self) -> Vec<u8> {
        let values = Values {
            level: self.level,
            slots: self.slots,
            scale: self.scale,
            estimate: self.estimate,
        };
        let length = VALUES_LENGTH + residues::length(&self.parameters, &self.poly.basis);
        seal(Kind::Plaintext, &self.parameters, length, |bytes| {
            values.write(bytes);
            residues::write(bytes, &self.poly);
        })
    }

    /// The plaintext that [`Self::to_bytes`] stored.
    ///
    /// # Errors
    /// [`MalformedBytes`](crate::Error::MalformedBytes),
    /// [`ParametersMismatch`](crate::Error::ParametersMismatch).
    ///
    /// ```
    /// use rlwe::ckks::{Encoding, Plaintext};
    /// use rlwe::{Parameters, ParametersLiteral};
    /// let parameters = Parameters::new(ParametersLiteral::default())?;
    /// let plaintext = parameters.encode_real(&[0.5, -1.0], Encoding::at(0))?;
    /// assert_eq!(Plaintext::from_bytes(&parameters, &plaintext.to_bytes())?, plaintext);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn from_bytes(parameters: &Parameters, bytes: &[u8]) -> Result<Self> {
        let mut reader = open_under(Kind::Plaintext, parameters, bytes)?;
        let Values { level, slots, scale, estimate } = Values::read(&mut reader, parameters)?;
        let poly = reader.poly(parameters, parameters.level_basis(level))?;
        reader.end()?;
        Ok(Self { parameters: parameters.clone(), level, scale, slots, estimate, poly })
    }
}
