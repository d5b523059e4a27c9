//! Keys and ciphertexts to bytes and back.
//!
//! All begin with the same 48 bytes, numbers little-endian:
//!
//! ```text
//!   0   4  "CLWB"
//!   4   2  format version, 1
//!   6   2  kind: 1 secret key, 2 evaluation key, 3 ciphertexts
//!   8  16  fingerprint of the parameter set
//!  24   8  length of the body
//!  32  16  SHA-256 of the 32 bytes before and of the body, its first half
//!  48      the body: 16 bytes that label the secret key, then
//!            of a secret key: the small key and the large one, 8 numbers a byte
//!            of an evaluation key: for bootstrap and switch the seed, 16 bytes, and the bodies
//!            of ciphertexts: mask and body of each signal
//! ```
//!
//! The length of a body follows from kind and parameter set, but for the number of signals.
//! The checksum finds accidents, not forgeries: whoever reads bytes from a stranger may read
//! any well-formed object. Reading never panics and takes no more memory than the same
//! object made honestly.

use sha2::{Digest, Sha256};
use tfhe::core_crypto::commons::math::random::Seed;
use zeroize::Zeroizing;

use crate::encryption::Ciphertexts;
use crate::keys::{EvaluationKey, KeyId, SecretKey, SeededKey};
use crate::parameters::Parameters;
use crate::{Error, Result};

const MAGIC: &[u8; 4] = b"CLWB";
const VERSION: u16 = 1;
const CHECKSUM_AT: usize = 32;
const BODY_AT: usize = 48;
const LABEL: usize = size_of::<KeyId>();
const SEED: usize = size_of::<u128>();

/// What an object is; the numbers are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    SecretKey = 1,
    EvaluationKey = 2,
    Ciphertexts = 3,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::SecretKey => "a key for bits",
            Self::EvaluationKey => "an evaluation key for bits",
            Self::Ciphertexts => "encrypted bits",
        }
    }

    fn malformed(self, reason: impl Into<String>) -> Error {
        Error::MalformedBytes { kind: self.name(), reason: reason.into() }
    }
}

impl SecretKey {
    /// The secret itself as bytes, unprotected; wiped from memory when dropped.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let (small, large) = (self.small.len().div_ceil(8), self.large.len().div_ceil(8));
        let length = LABEL + small + large;
        Zeroizing::new(seal(Kind::SecretKey, self.parameters, length, |bytes| {
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
    /// [`Error::MalformedBytes`].
    ///
    /// ```
    /// use boolean::{Parameters, SecretKey};
    /// let secret = SecretKey::generate(Parameters::named("boxes4")?)?;
    /// let same = SecretKey::from_bytes(&secret.to_bytes())?;
    /// let encrypted = secret.encrypt(&[1, 0], &[1 << 30; 2])?;
    /// assert_eq!(same.decrypt(&encrypted, &[1 << 30; 2])?, [1, 0]);
    /// # Ok::<(), boolean::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (parameters, body) = open(Kind::SecretKey, bytes)?;
        let (small, large) = (parameters.small_dimension().0, parameters.signal_dimension());
        check_length(Kind::SecretKey, body, LABEL + small.div_ceil(8) + large.div_ceil(8))?;
        let (id, keys) = split_array(body);
        let (small_bytes, large_bytes) = keys.split_at(small.div_ceil(8));
        for (bytes, count) in [(small_bytes, small), (large_bytes, large)] {
            if !count.is_multiple_of(8) && bytes[count / 8] >> (count % 8) != 0 {
                return Err(Kind::SecretKey.malformed("a key is longer than it may be"));
            }
        }
        let bit = |bytes: &[u8], at: usize| bytes[at / 8] >> (at % 8) & 1;
        Ok(Self {
            parameters,
            id,
            small: Zeroizing::new((0..small).map(|at| bit(small_bytes, at).into()).collect()),
            large: Zeroizing::new((0..large).map(|at| bit(large_bytes, at).into()).collect()),
        })
    }
}

impl EvaluationKey {
    /// This key without its masks, which follow from the seeds.
    pub fn to_bytes(&self) -> Vec<u8> {
        let key = &*self.0;
        seal(Kind::EvaluationKey, key.parameters, evaluation_key_length(key.parameters), |bytes| {
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
    /// [`Error::MalformedBytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (parameters, body) = open(Kind::EvaluationKey, bytes)?;
        check_length(Kind::EvaluationKey, body, evaluation_key_length(parameters))?;
        let (id, rest) = split_array(body);
        let (bootstrap_seed, rest) = split_array(rest);
        let length = SeededKey::bootstrap_length(parameters) * size_of::<u64>();
        let (bootstrap, rest) = rest.split_at(length);
        let (switch_seed, switch) = split_array(rest);
        let seeded = SeededKey {
            bootstrap_seed: Seed(u128::from_le_bytes(bootstrap_seed)),
            bootstrap: bootstrap.as_chunks().0.iter().map(|&x| u64::from_le_bytes(x)).collect(),
            switch_seed: Seed(u128::from_le_bytes(switch_seed)),
            switch: words(switch).collect(),
        };
        Ok(Self::expand(parameters, id, seeded))
    }
}

impl Ciphertexts {
    /// These signals as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        seal(Kind::Ciphertexts, self.parameters, LABEL + self.nbytes(), |bytes| {
            bytes.extend_from_slice(&self.id);
            for signal in &self.signals {
                bytes.extend(signal.iter().flat_map(|x| x.to_le_bytes()));
            }
        })
    }

    /// The signals that [`Self::to_bytes`] stored.
    ///
    /// # Errors
    /// [`Error::MalformedBytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (parameters, body) = open(Kind::Ciphertexts, bytes)?;
        let length = parameters.signal_bytes();
        let whole = body.len().saturating_sub(LABEL) / length;
        check_length(Kind::Ciphertexts, body, LABEL + whole * length)?;
        let (id, signals) = split_array(body);
        let signals = signals.chunks_exact(length).map(|bytes| words(bytes).collect()).collect();
        Ok(Self { parameters, id, signals })
    }
}

/// Bytes of an evaluation key as [`EvaluationKey::to_bytes`] stores it.
pub(crate) fn evaluation_key_bytes(parameters: Parameters) -> usize {
    BODY_AT + evaluation_key_length(parameters)
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
    // Of the right size at once: growing would leave copies of a secret behind.
    let mut bytes = Vec::with_capacity(BODY_AT + length);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(kind as u16).to_le_bytes());
    bytes.extend_from_slice(&parameters.fingerprint());
    bytes.extend_from_slice(&(length as u64).to_le_bytes());
    bytes.extend_from_slice(&[0; BODY_AT - CHECKSUM_AT]);
    write(&mut bytes);
    debug_assert_eq!(bytes.len(), BODY_AT + length);
    let checksum = checksum(&bytes);
    bytes[CHECKSUM_AT..BODY_AT].copy_from_slice(&checksum);
    bytes
}

/// The parameters of an object, and its body.
fn open(kind: Kind, bytes: &[u8]) -> Result<(Parameters, &[u8])> {
    if bytes.len() < BODY_AT {
        let length = bytes.len();
        return Err(
            kind.malformed(format!("expected a header of {BODY_AT} bytes, got {length} bytes"))
        );
    }
    let (magic, rest) = split_array(bytes);
    if magic != *MAGIC {
        return Err(kind.malformed("the bytes do not begin as those of Cloakwork's bits do"));
    }
    let (version, rest) = split_array(rest);
    let version = u16::from_le_bytes(version);
    if version != VERSION {
        return Err(kind.malformed(format!("expected format version {VERSION}, got {version}")));
    }
    let (number, rest) = split_array(rest);
    let number = u16::from_le_bytes(number);
    if number != kind as u16 {
        return Err(kind.malformed(format!("expected kind {}, got {number}", kind as u16)));
    }
    let (fingerprint, rest) = split_array(rest);
    let (length, rest) = split_array(rest);
    let (stored, body) = split_array(rest);
    let (length, actual) = (u64::from_le_bytes(length), body.len());
    if length != actual as u64 {
        return Err(kind.malformed(format!("expected a body of {length} bytes, got {actual}")));
    }
    if stored != checksum(bytes) {
        return Err(kind.malformed("the checksum is wrong: the bytes were damaged"));
    }
    let parameters = Parameters::with_fingerprint(fingerprint)
        .ok_or_else(|| kind.malformed("this version does not know the parameter set"))?;
    Ok((parameters, body))
}

/// Of the header before the checksum, and of the body.
fn checksum(bytes: &[u8]) -> [u8; 16] {
    let digest = Sha256::new()
        .chain_update(&bytes[..CHECKSUM_AT])
        .chain_update(&bytes[BODY_AT..])
        .finalize();
    std::array::from_fn(|i| digest[i])
}

fn check_length(kind: Kind, body: &[u8], expected: usize) -> Result<()> {
    match body.len() {
        actual if actual == expected => Ok(()),
        actual => Err(kind.malformed(format!("expected {expected} bytes of body, got {actual}"))),
    }
}

/// The first bytes, which the caller knows to be there, and the others.
fn split_array<const LENGTH: usize>(bytes: &[u8]) -> ([u8; LENGTH], &[u8]) {
    let (first, rest) = bytes.split_at(LENGTH);
    let mut array = [0; LENGTH];
    array.copy_from_slice(first);
    (array, rest)
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.as_chunks().0.iter().map(|&x| u32::from_le_bytes(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A linear congruential generator: mutations that are the same in every run.
    struct Numbers(u64);

    impl Numbers {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) as usize % end
        }
    }

    fn mutated(bytes: &[u8], numbers: &mut Numbers) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..=numbers.below(3) {
            // Headers are small and deserve half the damage.
            let end = if numbers.below(2) == 0 { bytes.len() } else { BODY_AT.min(bytes.len()) };
            match numbers.below(4) {
                0 if end > 0 => bytes[numbers.below(end)] ^= 1 << numbers.below(8),
                1 if end > 0 => bytes[numbers.below(end)] = numbers.below(256) as u8,
                2 => bytes.truncate(numbers.below(bytes.len() + 1)),
                _ => bytes.extend((0..numbers.below(70)).map(|_| 0xa5)),
            }
        }
        bytes
    }

    /// Makes length and checksum right again, so that the checks behind them are reached.
    fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
        if bytes.len() >= BODY_AT {
            let length = (bytes.len() - BODY_AT) as u64;
            bytes[24..CHECKSUM_AT].copy_from_slice(&length.to_le_bytes());
            let checksum = checksum(&bytes);
            bytes[CHECKSUM_AT..BODY_AT].copy_from_slice(&checksum);
        }
        bytes
    }

    fn objects() -> (SecretKey, Ciphertexts) {
        let secret = SecretKey::generate(Parameters::named("boxes4").unwrap()).unwrap();
        let ciphertexts = secret.encrypt(&[0, 1], &[1 << 30; 2]).unwrap();
        (secret, ciphertexts)
    }

    #[test]
    fn damage_is_refused_and_forgeries_read_without_panic() {
        let (secret, ciphertexts) = objects();
        let mut numbers = Numbers(7);
        let (mut refused, mut read) = (0, 0);
        for bytes in [secret.to_bytes().to_vec(), ciphertexts.to_bytes()] {
            for _ in 0..4000 {
                let damaged = mutated(&bytes, &mut numbers);
                if damaged != bytes {
                    assert!(SecretKey::from_bytes(&damaged).is_err());
                    assert!(Ciphertexts::from_bytes(&damaged).is_err());
                    assert!(EvaluationKey::from_bytes(&damaged).is_err());
                }
                let forged = resealed(damaged);
                for result in [
                    SecretKey::from_bytes(&forged).map(|_| ()),
                    Ciphertexts::from_bytes(&forged).map(|_| ()),
                    EvaluationKey::from_bytes(&forged).map(|_| ()),
                ] {
                    match result {
                        Ok(()) => read += 1,
                        Err(Error::MalformedBytes { .. }) => refused += 1,
                        Err(other) => panic!("{other}"),
                    }
                }
            }
        }
        assert!(read > 500 && refused > 5000, "{read} {refused}");
    }

    #[test]
    fn an_evaluation_key_of_another_length_is_refused() {
        let key = objects().0.evaluation_key().unwrap();
        let bytes = key.to_bytes();
        assert_eq!(bytes.len(), key.parameters().evaluation_key_bytes());
        for end in [BODY_AT, BODY_AT + 10, BODY_AT + LABEL + SEED, bytes.len() - 1] {
            let short = resealed(bytes[..end].to_vec());
            assert!(matches!(EvaluationKey::from_bytes(&short), Err(Error::MalformedBytes { .. })));
        }
        let same = EvaluationKey::from_bytes(&bytes).unwrap();
        assert!(same.0.bootstrap == key.0.bootstrap && same.0.switch == key.0.switch);
        let mut other = bytes;
        other[BODY_AT + LABEL] ^= 1;
        let other = EvaluationKey::from_bytes(&resealed(other)).unwrap();
        assert!(other.0.bootstrap != key.0.bootstrap && other.0.switch == key.0.switch);
    }

    #[test]
    fn a_key_comes_back_bit_by_bit() {
        for parameters in Parameters::all() {
            let secret = SecretKey::generate(parameters).unwrap();
            let same = SecretKey::from_bytes(&secret.to_bytes()).unwrap();
            assert_eq!((&same.small, &same.large), (&secret.small, &secret.large));
            assert_eq!((same.parameters, same.id), (secret.parameters, secret.id));
        }
    }
}
