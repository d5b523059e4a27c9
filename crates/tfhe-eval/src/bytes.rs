//! Keys and ciphertexts to bytes and back.
//!
//! All begin with the 48 bytes that the crate `envelope` describes: the magic is "CLWB", the
//! version 3, the kinds are 1 secret key, 2 evaluation key, 3 ciphertexts, 4 public key, and the
//! fingerprint is that of the parameter set. A body is 16 bytes that label the secret key, then
//!
//! ```text
//!   of a secret key: the small key and the large one, 8 numbers a byte
//!   of an evaluation key: for bootstrap and switch the seed, 16 bytes, and the bodies
//!   of ciphertexts: mask and body of each LWE ciphertext
//!   of a public key: the seed and the bodies
//! ```
//!
//! The length of a body follows from kind and parameter set, but for the number of ciphertexts.
//! Reading never panics and takes no more memory than the same object made honestly. There are no
//! parameters in the bytes: whatever a stranger sends belongs to a set that is known here.

use envelope::{Format, HEADER, Kind, Reader};
use tfhe::core_crypto::commons::math::random::Seed;
use zeroize::Zeroizing;

use crate::Result;
use crate::encryption::Ciphertexts;
use crate::keys::{EvaluationKey, KeyId, SecretKey, SeededKey};
use crate::parameters::Parameters;
use crate::public_key::PublicKey;
use crate::randomness;

const SECRET_KEY: Kind = Kind { number: 1, name: "a key for bits" };
const EVALUATION_KEY: Kind = Kind { number: 2, name: "an evaluation key for bits" };
const CIPHERTEXTS: Kind = Kind { number: 3, name: "encrypted bits" };
const PUBLIC_KEY: Kind = Kind { number: 4, name: "a public key for bits" };
const FORMAT: Format = Format {
    magic: *b"CLWB",
    version: 3,
    kinds: &[SECRET_KEY, EVALUATION_KEY, CIPHERTEXTS, PUBLIC_KEY],
};

const LABEL: usize = size_of::<KeyId>();
const SEED: usize = size_of::<u128>();

impl SecretKey {
    /// The secret itself as bytes, unprotected; wiped from memory when dropped.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let (small, large) = (self.small.len().div_ceil(8), self.large.len().div_ceil(8));
        let length = LABEL + small + large;
        Zeroizing::new(seal(SECRET_KEY, self.parameters, length, |bytes| {
            bytes.extend_from_slice(&self.id);
            let packed = |eight: &[u32]| eight.iter().rev().fold(0, |byte, &x| byte << 1 | x as u8);
            bytes.extend(self.small.chunks(8).map(packed));
            let packed = |eight: &[u64]| eight.iter().rev().fold(0, |byte, &x| byte << 1 | x as u8);
            bytes.extend(self.large.chunks(8).map(packed));
        }))
    }

    /// The key that [`Self::to_bytes`] stored.
    ///
    /// # Errors
    /// [`Error::MalformedBytes`](crate::Error::MalformedBytes).
    ///
    /// ```
    /// use tfhe_eval::{Parameters, SecretKey};
    /// let secret = SecretKey::generate(Parameters::named("space4")?)?;
    /// let same = SecretKey::from_bytes(&secret.to_bytes())?;
    /// let encrypted = secret.encrypt(&[1, 0], &[1 << 30; 2])?;
    /// assert_eq!(same.decrypt(&encrypted, &[1 << 30; 2])?, [1, 0]);
    /// # Ok::<(), tfhe_eval::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (parameters, mut reader) = open(SECRET_KEY, bytes)?;
        let id = reader.array()?;
        let (small, large) = (parameters.small_dimension().0, parameters.lwe_dimension());
        let small_bits = bits(&mut reader, small)?;
        let large_bits = bits(&mut reader, large)?;
        reader.end()?;
        let bit = |bytes: &[u8], at: usize| bytes[at / 8] >> (at % 8) & 1;
        Ok(Self {
            parameters,
            id,
            small: Zeroizing::new((0..small).map(|at| bit(small_bits, at).into()).collect()),
            large: Zeroizing::new((0..large).map(|at| bit(large_bits, at).into()).collect()),
        })
    }
}

/// So many numbers, 8 a byte, and no more.
fn bits<'a>(reader: &mut Reader<'a>, count: usize) -> Result<&'a [u8]> {
    let bytes = reader.take(count.div_ceil(8))?;
    if !count.is_multiple_of(8) && bytes[count / 8] >> (count % 8) != 0 {
        return Err(reader.malformed("a key is longer than it may be").into());
    }
    Ok(bytes)
}

impl EvaluationKey {
    /// This key without its masks, which follow from the seeds.
    pub fn to_bytes(&self) -> Vec<u8> {
        let key = &*self.0;
        seal(EVALUATION_KEY, key.parameters, evaluation_key_length(key.parameters), |bytes| {
            bytes.extend_from_slice(&key.id);
            bytes.extend_from_slice(&key.seeded.bootstrap_seed.0.to_le_bytes());
            bytes.extend(key.seeded.bootstrap.iter().flat_map(|x| x.to_le_bytes()));
            bytes.extend_from_slice(&key.seeded.switch_seed.0.to_le_bytes());
            bytes.extend(key.seeded.switch.iter().flat_map(|x| x.to_le_bytes()));
        })
    }

    /// The key that [`Self::to_bytes`] stored, its masks made again.
    ///
    /// # Errors
    /// [`Error::MalformedBytes`](crate::Error::MalformedBytes).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (parameters, mut reader) = open(EVALUATION_KEY, bytes)?;
        let id = reader.array()?;
        let bootstrap_seed = Seed(reader.u128()?);
        let bootstrap = long_words(&mut reader, SeededKey::bootstrap_length(parameters))?;
        let switch_seed = Seed(reader.u128()?);
        let switch =
            system_memory::collected(words(&mut reader, SeededKey::switch_length(parameters))?);
        reader.end()?;
        randomness::require_processor()?;
        let seeded = SeededKey { bootstrap_seed, bootstrap, switch_seed, switch };
        Ok(Self::expand(parameters, id, seeded))
    }
}

impl PublicKey {
    /// This key without its matrix, which follows from the seed.
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = LABEL + SEED + size_of_val(self.bodies.as_slice());
        seal(PUBLIC_KEY, self.parameters, length, |bytes| {
            bytes.extend_from_slice(&self.id);
            bytes.extend_from_slice(&self.seed.0.to_le_bytes());
            bytes.extend(self.bodies.iter().flat_map(|x| x.to_le_bytes()));
        })
    }

    /// The key that [`Self::to_bytes`] stored.
    ///
    /// # Errors
    /// [`Error::MalformedBytes`](crate::Error::MalformedBytes).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (parameters, mut reader) = open(PUBLIC_KEY, bytes)?;
        let id = reader.array()?;
        let seed = Seed(reader.u128()?);
        let bodies = long_words(&mut reader, parameters.lwe_dimension())?;
        reader.end()?;
        randomness::require_processor()?;
        Ok(Self::expand(parameters, id, seed, bodies))
    }
}

impl Ciphertexts {
    /// Mask and body of each LWE ciphertext.
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = LABEL + self.nbytes();
        seal(CIPHERTEXTS, self.parameters, length, |bytes| {
            bytes.extend_from_slice(&self.id);
            for lwe in &self.lwes {
                bytes.extend(lwe.iter().flat_map(|x| x.to_le_bytes()));
            }
        })
    }

    /// The ciphertexts that [`Self::to_bytes`] stored.
    ///
    /// # Errors
    /// [`Error::MalformedBytes`](crate::Error::MalformedBytes).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (parameters, mut reader) = open(CIPHERTEXTS, bytes)?;
        let id = reader.array()?;
        let mut lwes = Vec::new();
        while reader.left() > 0 {
            lwes.push(words(&mut reader, parameters.lwe_length())?.collect());
        }
        Ok(Self { parameters, id, lwes })
    }
}

impl Parameters {
    /// Bytes of an evaluation key as [`EvaluationKey::to_bytes`] stores it.
    pub fn evaluation_key_bytes(&self) -> usize {
        HEADER + evaluation_key_length(*self)
    }
}

fn evaluation_key_length(parameters: Parameters) -> usize {
    let bootstrap = SeededKey::bootstrap_length(parameters) * size_of::<u64>();
    let switch = SeededKey::switch_length(parameters) * size_of::<u32>();
    LABEL + SEED + bootstrap + SEED + switch
}

/// The bytes of an object whose body, `length` bytes long, `write` appends.
fn seal(
    kind: Kind,
    parameters: Parameters,
    length: usize,
    write: impl FnOnce(&mut Vec<u8>),
) -> Vec<u8> {
    FORMAT.seal(kind, parameters.fingerprint(), length, write)
}

/// The parameters of an object, and its body.
fn open(kind: Kind, bytes: &[u8]) -> Result<(Parameters, Reader<'_>)> {
    let (fingerprint, reader) = FORMAT.open(kind, bytes)?;
    let parameters = Parameters::with_fingerprint(fingerprint)
        .ok_or_else(|| kind.malformed("this version does not know the parameter set"))?;
    Ok((parameters, reader))
}

fn words<'a>(
    reader: &mut Reader<'a>,
    count: usize,
) -> Result<impl ExactSizeIterator<Item = u32> + use<'a>> {
    let bytes = reader.take(count * size_of::<u32>())?;
    Ok(bytes.as_chunks().0.iter().map(|&x| u32::from_le_bytes(x)))
}

fn long_words(reader: &mut Reader<'_>, count: usize) -> Result<Vec<u64>> {
    let bytes = reader.take(count * size_of::<u64>())?;
    Ok(system_memory::collected(bytes.as_chunks().0.iter().map(|&x| u64::from_le_bytes(x))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_bit_by_bit() {
        for parameters in Parameters::all() {
            let secret = SecretKey::generate(parameters).unwrap();
            let same = SecretKey::from_bytes(&secret.to_bytes()).unwrap();
            assert_eq!((&same.small, &same.large), (&secret.small, &secret.large));
            assert_eq!((same.parameters, same.id), (secret.parameters, secret.id));
            let public = secret.public_key().unwrap();
            let bytes = public.to_bytes();
            assert_eq!(PublicKey::from_bytes(&bytes).unwrap().to_bytes(), bytes);
        }
    }

    #[test]
    fn an_evaluation_key_comes_back() {
        let secret = SecretKey::generate(Parameters::named("space4").unwrap()).unwrap();
        let key = secret.evaluation_key().unwrap();
        let bytes = key.to_bytes();
        assert_eq!(bytes.len(), key.parameters().evaluation_key_bytes());
        let same = EvaluationKey::from_bytes(&bytes).unwrap();
        assert!(same.0.bootstrap == key.0.bootstrap && same.0.switch == key.0.switch);
    }
}
