//! Ciphertexts and plaintexts.

use envelope::Reader;

use super::kind::{CIPHERTEXT, PLAINTEXT, ROTATED_PRODUCTS, open_under, seal};
use super::{reader, residues};
use crate::Result;
use crate::ckks::{Ciphertext, Estimate, Parameters, Plaintext, RotatedProducts};
use crate::core::keys::KeyId;
use crate::ring::poly::SecretPoly;

/// Level, slots, scale, deviation and bound.
const ESTIMATE_LENGTH: usize = 4 + 4 + 8 + 8 + 8;

/// The least numbers that an estimate can have may come out a little smaller on another machine.
const FLOOR_TOLERANCE: f64 = 1e-9;

fn write_estimate(bytes: &mut Vec<u8>, estimate: &Estimate) {
    bytes.extend_from_slice(&(estimate.level as u32).to_le_bytes());
    bytes.extend_from_slice(&(estimate.slots as u32).to_le_bytes());
    bytes.extend_from_slice(&estimate.scale.to_le_bytes());
    bytes.extend_from_slice(&estimate.deviation.to_le_bytes());
    bytes.extend_from_slice(&estimate.bound.to_le_bytes());
}

/// What an object says of itself. Anything that no object can be is refused, as a value without
/// an error; anything else may be a lie.
fn read_estimate(reader: &mut Reader<'_>, parameters: &Parameters) -> Result<Estimate> {
    let level = reader::level(reader, parameters)?;
    let slots = reader::slots(reader, parameters)?;
    let scale = reader::scale(reader, parameters, level)?;
    let deviation = reader.magnitude("a finite deviation")?;
    let bound = reader.magnitude("a finite bound")?;
    let parameters = parameters.clone();
    let estimate = Estimate { parameters, level, scale, slots, degree: 0, deviation, bound };
    let floor = estimate.floor();
    if deviation.min(bound) < floor * (1.0 - FLOOR_TOLERANCE) {
        let reason = format!(
            "expected a deviation and a bound of at least {floor:e}, which rounding leaves, got {deviation:e} and {bound:e}"
        );
        return Err(reader.malformed(reason).into());
    }
    Ok(estimate)
}

impl Ciphertext {
    /// Its bytes: half of [`Self::nbytes`] and a little while it is fresh from a secret key,
    /// as much and a little later.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Of a fresh ciphertext the seed stands for the second polynomial.
        let stored = if self.seed.is_some() { &self.polys[..1] } else { &self.polys };
        let seed = self.seed.as_ref().map_or(&[][..], |seed| &seed.0);
        let polys: usize =
            stored.iter().map(|poly| residues::length(self.parameters(), &poly.basis)).sum();
        let length = size_of::<KeyId>() + ESTIMATE_LENGTH + 1 + 1 + seed.len() + polys;
        seal(CIPHERTEXT, self.parameters(), length, |bytes| {
            bytes.extend_from_slice(&self.key);
            write_estimate(bytes, &self.estimate);
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
    /// use rlwe::ckks::{Ciphertext, Encoding, Parameters, ParametersLiteral};
    /// use rlwe::keys::SecretKey;
    /// let parameters = Parameters::new(ParametersLiteral::default())?;
    /// let secret = SecretKey::generate(&parameters)?;
    /// let fresh = secret.encrypt(&parameters.encode_real(&[0.5], Encoding::at(0).within(1.0))?)?;
    /// let bytes = fresh.to_bytes();
    /// assert!(bytes.len() < fresh.nbytes() / 2 + 200);
    /// assert_eq!(Ciphertext::from_bytes(&parameters, &bytes)?, fresh);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn from_bytes(parameters: &Parameters, bytes: &[u8]) -> Result<Self> {
        let mut reader = open_under(CIPHERTEXT, parameters, bytes)?;
        let key = reader.array()?;
        let estimate = read_estimate(&mut reader, parameters)?;
        let [count] = reader.array()?;
        let is_fresh = reader.flag("a seed")?;
        let level = estimate.level;
        let (seed, polys) = residues::polys(&mut reader, parameters, level, count, is_fresh)?;
        reader.end()?;
        let estimate = Estimate { degree: polys.len() - 1, ..estimate };
        Ok(Self { estimate, key, polys: polys.into(), seed })
    }
}

impl RotatedProducts {
    /// Their bytes: as many as in memory, and a little.
    pub fn to_bytes(&self) -> Vec<u8> {
        let length =
            size_of::<KeyId>() + ESTIMATE_LENGTH + residues::products_length(&self.products);
        seal(ROTATED_PRODUCTS, self.parameters(), length, |bytes| {
            bytes.extend_from_slice(&self.key);
            write_estimate(bytes, &self.estimate);
            residues::write_products(bytes, &self.products);
        })
    }

    /// The products that [`Self::to_bytes`] stored.
    ///
    /// # Errors
    /// [`MalformedBytes`](crate::Error::MalformedBytes),
    /// [`ParametersMismatch`](crate::Error::ParametersMismatch).
    pub fn from_bytes(parameters: &Parameters, bytes: &[u8]) -> Result<Self> {
        let mut reader = open_under(ROTATED_PRODUCTS, parameters, bytes)?;
        let key = reader.array()?;
        let estimate = read_estimate(&mut reader, parameters)?;
        if estimate.slots != parameters.slots() {
            let (expected, slots) = (parameters.slots(), estimate.slots);
            let reason = format!("expected products of {expected} slots, got {slots}");
            return Err(reader.malformed(reason).into());
        }
        let products = residues::products(&mut reader, parameters, estimate.level)?;
        reader.end()?;
        let estimate = Estimate { degree: 2, ..estimate };
        Ok(Self { estimate, key, products: products.into() })
    }
}

impl Plaintext {
    /// Its bytes, from which anyone can read the values.
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = ESTIMATE_LENGTH + 1 + residues::length(self.parameters(), &self.poly().basis);
        seal(PLAINTEXT, self.parameters(), length, |bytes| {
            write_estimate(bytes, &self.estimate);
            bytes.push(u8::from(self.declares_bound));
            residues::write(bytes, self.poly());
        })
    }

    /// The plaintext that [`Self::to_bytes`] stored.
    ///
    /// # Errors
    /// [`MalformedBytes`](crate::Error::MalformedBytes),
    /// [`ParametersMismatch`](crate::Error::ParametersMismatch).
    ///
    /// ```
    /// use rlwe::ckks::{Encoding, Parameters, ParametersLiteral, Plaintext};
    /// let parameters = Parameters::new(ParametersLiteral::default())?;
    /// let plaintext = parameters.encode_real(&[0.5, -1.0], Encoding::at(0))?;
    /// assert_eq!(Plaintext::from_bytes(&parameters, &plaintext.to_bytes())?, plaintext);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn from_bytes(parameters: &Parameters, bytes: &[u8]) -> Result<Self> {
        let mut reader = open_under(PLAINTEXT, parameters, bytes)?;
        let estimate = read_estimate(&mut reader, parameters)?;
        let declares_bound = reader.flag("a declared bound")?;
        let basis = parameters.level_basis(estimate.level);
        let poly = SecretPoly(residues::poly(&mut reader, parameters, basis)?);
        reader.end()?;
        Ok(Self { estimate, declares_bound, poly })
    }
}
