//! Keys, their uniform halves as seeds.

use std::collections::BTreeMap;
use std::sync::Arc;

use envelope::Reader;
use zeroize::Zeroizing;

use super::kind::{EVALUATION_KEYS, PUBLIC_KEY, SECRET_KEY, open_under, seal};
use super::{reader, residues};
use crate::Result;
use crate::core::encapsulation::encapsulation_basis;
use crate::core::keys::{
    EncapsulationKeys, EvaluationKeys, Halves, KeyId, PublicKey, SecretKey, SwitchingKey,
    every_prime, expand_half, key_digits,
};
use crate::core::{Parameters, SecretDistribution};
use crate::sampling::Seed;

const COEFFICIENT_BITS: u32 = 2;
const COEFFICIENTS_PER_BYTE: usize = (u8::BITS / COEFFICIENT_BITS) as usize;

impl SecretKey {
    /// Its bytes, two bits for each coefficient, wiped from memory when dropped. They are as
    /// secret as the key: they are not encrypted.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let length = size_of::<KeyId>() + self.parameters.n() / COEFFICIENTS_PER_BYTE;
        Zeroizing::new(seal(SECRET_KEY, &self.parameters, length, |bytes| {
            bytes.extend_from_slice(&self.id);
            for coefficients in self.coefficients.chunks_exact(COEFFICIENTS_PER_BYTE) {
                let codes = coefficients.iter().map(|&c| (c + 1) as u8);
                bytes.push(codes.rev().fold(0, |byte, code| byte << COEFFICIENT_BITS | code));
            }
        }))
    }

    /// The key that [`Self::to_bytes`] stored, read in constant time.
    ///
    /// # Errors
    /// [`MalformedBytes`](crate::Error::MalformedBytes), also when the coefficients cannot
    /// come from the distribution of `parameters`;
    /// [`ParametersMismatch`](crate::Error::ParametersMismatch).
    ///
    /// ```
    /// use rlwe::ckks::{Encoding, Parameters, ParametersLiteral};
    /// use rlwe::keys::SecretKey;
    /// let parameters = Parameters::new(ParametersLiteral::default())?;
    /// let secret = SecretKey::generate(&parameters)?;
    /// let ciphertext = secret.encrypt(&parameters.encode_real(&[0.5], Encoding::at(0).within(1.0))?)?;
    /// let same = SecretKey::from_bytes(&parameters, &secret.to_bytes())?;
    /// assert!((same.decrypt(&ciphertext, ciphertext.estimate())?.decode_real()?[0] - 0.5).abs() < 1e-6);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn from_bytes(parameters: &Parameters, bytes: &[u8]) -> Result<Self> {
        let mut reader = open_under(SECRET_KEY, parameters, bytes)?;
        let id = reader.array()?;
        let packed = reader.take(parameters.n() / COEFFICIENTS_PER_BYTE)?;
        let mut coefficients = Zeroizing::new(system_memory::reserved(parameters.n()));
        // Set by a code of 3, without a branch on any code.
        let mut invalid = 0;
        for byte in packed {
            for place in 0..COEFFICIENTS_PER_BYTE as u32 {
                let code = byte >> (place * COEFFICIENT_BITS) & 0b11;
                invalid |= code & code >> 1;
                coefficients.push(code as i8 - 1);
            }
        }
        if invalid != 0 {
            let reason = "expected coefficients of -1, 0 and 1, got others";
            return Err(reader.malformed(reason).into());
        }
        if let SecretDistribution::FixedWeight(expected) = parameters.secret() {
            let weight: usize = coefficients.iter().map(|c| usize::from(c.unsigned_abs())).sum();
            if weight != expected {
                let reason = format!("expected {expected} nonzero coefficients, got {weight}");
                return Err(reader.malformed(reason).into());
            }
        }
        reader.end()?;
        Ok(Self::from_coefficients(parameters, id, coefficients))
    }
}

impl PublicKey {
    /// Its bytes: one half and the seed of the other.
    pub fn to_bytes(&self) -> Vec<u8> {
        let first = &self.halves[0];
        let polys = residues::length(&self.parameters, &first.basis);
        let length = size_of::<KeyId>() + size_of::<Seed>() + polys;
        seal(PUBLIC_KEY, &self.parameters, length, |bytes| {
            bytes.extend_from_slice(&self.id);
            bytes.extend_from_slice(&self.seed.0);
            residues::write(bytes, first);
        })
    }

    /// The key that [`Self::to_bytes`] stored.
    ///
    /// # Errors
    /// [`MalformedBytes`](crate::Error::MalformedBytes),
    /// [`ParametersMismatch`](crate::Error::ParametersMismatch).
    ///
    /// ```
    /// use rlwe::ckks::{Encoding, Parameters, ParametersLiteral};
    /// use rlwe::keys::{PublicKey, SecretKey};
    /// let parameters = Parameters::new(ParametersLiteral::default())?;
    /// let secret = SecretKey::generate(&parameters)?;
    /// let sent = secret.public_key()?.to_bytes();
    /// let public = PublicKey::from_bytes(&parameters, &sent)?;
    /// let ciphertext = public.encrypt(&parameters.encode_real(&[0.5], Encoding::at(0).within(1.0))?)?;
    /// assert!((secret.decrypt(&ciphertext, ciphertext.estimate())?.decode_real()?[0] - 0.5).abs() < 1e-6);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn from_bytes(parameters: &Parameters, bytes: &[u8]) -> Result<Self> {
        let mut reader = open_under(PUBLIC_KEY, parameters, bytes)?;
        let id = reader.array()?;
        let seed = Seed(reader.array()?);
        let basis = every_prime(parameters);
        let first = residues::poly(&mut reader, parameters, &basis)?;
        reader.end()?;
        let second = expand_half(parameters, &seed, 0, &basis)?;
        Ok(Self { parameters: parameters.clone(), id, seed, halves: [first, second] })
    }
}

impl EvaluationKeys {
    /// Their bytes: one half of each key, and a little.
    pub fn to_bytes(&self) -> Vec<u8> {
        let relinearisation: usize =
            self.relinearisation.iter().map(|key| switching_length(key)).sum();
        let galois: usize = self.galois.values().map(|key| 4 + switching_length(key)).sum();
        let products: usize = self.products.values().map(|key| 4 + switching_length(key)).sum();
        let encapsulation: usize =
            self.encapsulation.iter().map(|keys| encapsulation_length(keys)).sum();
        let by_element = 4 + galois + 4 + products;
        let length = size_of::<KeyId>() + 1 + relinearisation + by_element + 1 + encapsulation;
        seal(EVALUATION_KEYS, &self.parameters, length, |bytes| {
            bytes.extend_from_slice(&self.id);
            bytes.push(u8::from(self.relinearisation.is_some()));
            if let Some(key) = &self.relinearisation {
                write_switching(bytes, key);
            }
            for keys in [&self.galois, &self.products] {
                bytes.extend_from_slice(&(keys.len() as u32).to_le_bytes());
                for (&element, key) in keys {
                    bytes.extend_from_slice(&(element as u32).to_le_bytes());
                    write_switching(bytes, key);
                }
            }
            bytes.push(u8::from(self.encapsulation.is_some()));
            if let Some(keys) = &self.encapsulation {
                write_encapsulation(bytes, keys);
            }
        })
    }

    /// The keys that [`Self::to_bytes`] stored, their uniform halves as seeds; see
    /// [`Self::expand`].
    ///
    /// # Errors
    /// [`MalformedBytes`](crate::Error::MalformedBytes),
    /// [`ParametersMismatch`](crate::Error::ParametersMismatch).
    ///
    /// ```
    /// use rlwe::ckks::{Parameters, ParametersLiteral};
    /// use rlwe::keys::{EvaluationKeys, EvaluationKeysRequest, SecretKey};
    /// let parameters = Parameters::new(ParametersLiteral::default())?;
    /// let secret = SecretKey::generate(&parameters)?;
    /// let request = EvaluationKeysRequest { rotations: vec![(3, 0)], ..Default::default() };
    /// let keys = secret.evaluation_keys(&request)?;
    /// let bytes = keys.to_bytes();
    /// assert!(bytes.len() < keys.nbytes() / 2 + 200);
    /// let same = EvaluationKeys::from_bytes(&parameters, &bytes)?;
    /// assert_eq!(same.rotations(), keys.rotations());
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn from_bytes(parameters: &Parameters, bytes: &[u8]) -> Result<Self> {
        let mut reader = open_under(EVALUATION_KEYS, parameters, bytes)?;
        let id = reader.array()?;
        let relinearisation = match reader.flag("a relinearisation key")? {
            true => Some(read_switching(&mut reader, parameters)?),
            false => None,
        };
        let galois = read_by_element(&mut reader, parameters)?;
        let products = read_by_element(&mut reader, parameters)?;
        let encapsulation = match reader.flag("encapsulation keys")? {
            true => Some(read_encapsulation(&mut reader, parameters)?),
            false => None,
        };
        reader.end()?;
        Ok(Self {
            parameters: parameters.clone(),
            id,
            relinearisation,
            galois,
            products,
            encapsulation,
        })
    }
}

/// Keys by Galois element, in rising order.
fn read_by_element(
    reader: &mut Reader<'_>,
    parameters: &Parameters,
) -> Result<BTreeMap<usize, Arc<SwitchingKey>>> {
    let mut keys = BTreeMap::new();
    let mut last = 1;
    for _ in 0..reader.u32()? {
        let element = reader.u32()? as usize;
        if element.is_multiple_of(2) || element <= last || element >= 2 * parameters.n() {
            let reason = format!(
                "expected a Galois element that is odd, above {last} and below {}, got {element}",
                2 * parameters.n()
            );
            return Err(reader.malformed(reason).into());
        }
        last = element;
        keys.insert(element, read_switching(reader, parameters)?);
    }
    Ok(keys)
}

fn switching_length(key: &SwitchingKey) -> usize {
    let first = match &key.halves {
        Halves::Both(halves) => halves.nbytes() / 2,
        Halves::First(halves) => halves.nbytes(),
    };
    4 + size_of::<Seed>() + first
}

fn write_switching(bytes: &mut Vec<u8>, key: &SwitchingKey) {
    bytes.extend_from_slice(&(key.level as u32).to_le_bytes());
    bytes.extend_from_slice(&key.seed.0);
    for digit in 0..key.digits.len() {
        residues::write(bytes, &key.first_half(digit));
    }
}

/// The digits are not stored: they follow from the level. Nor are the second halves expanded before
/// they are used.
fn read_switching(reader: &mut Reader<'_>, parameters: &Parameters) -> Result<Arc<SwitchingKey>> {
    let level = reader::level(reader, parameters)?;
    let seed = Seed(reader.array()?);
    let basis = parameters.key_basis(level);
    let digits: Vec<usize> = key_digits(parameters, &basis).map(|(index, _)| index).collect();
    let firsts = residues::bundle(reader, parameters, &basis, digits.len())?;
    let halves = Halves::First(firsts);
    Ok(Arc::new(SwitchingKey { level, seed, digits, halves }))
}

fn encapsulation_length(keys: &EncapsulationKeys) -> usize {
    let half = keys.to_sparse[0].words().len() * 4;
    4 + size_of::<Seed>() + half + switching_length(&keys.from_sparse)
}

fn write_encapsulation(bytes: &mut Vec<u8>, keys: &EncapsulationKeys) {
    bytes.extend_from_slice(&(keys.weight as u32).to_le_bytes());
    bytes.extend_from_slice(&keys.seed.0);
    residues::write(bytes, &keys.to_sparse[0]);
    write_switching(bytes, &keys.from_sparse);
}

fn read_encapsulation(
    reader: &mut Reader<'_>,
    parameters: &Parameters,
) -> Result<Arc<EncapsulationKeys>> {
    let weight = reader.u32()? as usize;
    if let Err(refusal) = parameters.check_encapsulation(weight) {
        return Err(reader.malformed(refusal.to_string()).into());
    }
    let seed = Seed(reader.array()?);
    let basis = encapsulation_basis(parameters);
    let first = residues::poly(reader, parameters, &basis)?;
    let to_sparse = [first, expand_half(parameters, &seed, 0, &basis)?];
    let from_sparse = Arc::unwrap_or_clone(read_switching(reader, parameters)?);
    if from_sparse.level != parameters.max_level() {
        let (expected, actual) = (parameters.max_level(), from_sparse.level);
        let reason =
            format!("expected the key of a sparse secret at level {expected}, got {actual}");
        return Err(reader.malformed(reason).into());
    }
    Ok(Arc::new(EncapsulationKeys { weight, seed, to_sparse, from_sparse }))
}
