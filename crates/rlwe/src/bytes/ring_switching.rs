//! Ring switching keys, their uniform halves as seeds.

use super::kind::{RING_SWITCHING_KEY, open_under, seal};
use super::residues;
use crate::Result;
use crate::core::Parameters;
use crate::core::keys::KeyId;
use crate::core::ring_switching::{ROWS, RingSwitchingKey, check_dimension, every, expand_row};
use crate::sampling::Seed;

impl RingSwitchingKey {
    /// Its bytes: one half of each row, and a little.
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = 2 * size_of::<KeyId>() + 4 + size_of::<Seed>() + self.nbytes() / 2;
        seal(RING_SWITCHING_KEY, &self.parameters, length, |bytes| {
            bytes.extend_from_slice(&self.id);
            bytes.extend_from_slice(&self.target);
            bytes.extend_from_slice(&(self.dimension as u32).to_le_bytes());
            bytes.extend_from_slice(&self.seed.0);
            self.rows.iter().for_each(|[first, _]| residues::write(bytes, first));
        })
    }

    /// The key that [`Self::to_bytes`] stored.
    ///
    /// # Errors
    /// [`MalformedBytes`](crate::Error::MalformedBytes),
    /// [`ParametersMismatch`](crate::Error::ParametersMismatch).
    ///
    /// ```
    /// use rlwe::ckks::{Parameters, ParametersLiteral};
    /// use rlwe::core::ring_switching::RingSwitchingKey;
    /// use rlwe::keys::SecretKey;
    /// let parameters = Parameters::new(ParametersLiteral::default())?;
    /// let secret = SecretKey::generate(&parameters)?;
    /// let key = secret.ring_switching_key(&[1; 2048], [0; 16])?;
    /// let same = RingSwitchingKey::from_bytes(&parameters, &key.to_bytes())?;
    /// assert_eq!(same.to_bytes(), key.to_bytes());
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn from_bytes(parameters: &Parameters, bytes: &[u8]) -> Result<Self> {
        let mut reader = open_under(RING_SWITCHING_KEY, parameters, bytes)?;
        let (id, target) = (reader.array()?, reader.array()?);
        let dimension = reader.u32()? as usize;
        if let Err(refusal) = check_dimension(parameters, dimension) {
            return Err(reader.malformed(refusal.to_string()).into());
        }
        let seed = Seed(reader.array()?);
        let ring = parameters.switching_ring()?;
        let mut rows = Vec::new();
        for index in 0..ROWS {
            let first = residues::poly_of(&mut reader, &ring, &every(&ring))?;
            rows.push([first, expand_row(&ring, &seed, index)?]);
        }
        reader.end()?;
        let parameters = parameters.clone();
        Ok(Self { parameters, id, target, dimension, ring: ring.into(), seed, rows })
    }
}
