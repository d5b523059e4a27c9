//! Parameters are stored as the primes, levels and digits that they are.
//!
//! ```text
//!   4  log2 of the ring degree
//!   8  how secrets are drawn: 0, 0 ternary; 1, weight of fixed weight
//!  16  scale and headroom that were asked for, in bits, doubles; of bootstrapping the size of
//!      level 0 instead of the headroom
//!  12  of BGV: the plaintext modulus, failure bits, a double
//!  52  of bootstrapping: levels, factors of both transforms, double angles, sparse weight; bound,
//!      ratio, sizes of the levels of CoeffsToSlots and of EvalMod, doubles
//!   8  numbers of primes, of key-switching primes, of levels, of digits, 2 bytes each
//!      primes, then key-switching primes, 4 bytes each
//!      for each prime the number of its digit, 2 bytes
//!      for each level its scale, a double, and a bit for each prime
//! ```

use envelope::{Kind, Reader};

use super::kind::{BGV_PARAMETERS, BOOTSTRAPPING_PARAMETERS, FORMAT, PARAMETERS, seal};
use crate::bgv::{self, Design};
use crate::chain::{Chain, Level, MAX_LOG_N, MIN_LOG_N};
use crate::ckks::{BootstrappingLiteral, BootstrappingParameters};
use crate::core::literal::{check_weight, require_secure};
use crate::core::{self, SecretDistribution};
use crate::{Error, Result, ckks};

const TERNARY: u32 = 0;
const FIXED_WEIGHT: u32 = 1;
const BITS_OF_BYTE: usize = u8::BITS as usize;

/// What whoever reads parameters accepts of them, before anything is computed.
///
/// What reading costs, measured on one core of 2023: secure sets up to N = 2^16 at most 0.07 s and
/// 60 MB, up to 2^17 0.33 s and 240 MB; `insecure` sets, of up to twice 4336 bits, 0.8 s and 540 MB.
///
/// ```
/// use rlwe::bytes::ReadLimits;
/// use rlwe::ckks::{Parameters, ParametersLiteral};
/// use rlwe::Error;
/// let literal = ParametersLiteral { log_n: Some(8), insecure: true, ..Default::default() };
/// let bytes = Parameters::new(literal)?.to_bytes();
/// let refusal = Parameters::from_bytes(&bytes, &ReadLimits::default());
/// assert!(matches!(refusal, Err(Error::InsecureParameters(_))));
/// let limits = ReadLimits { insecure: true, ..ReadLimits::default() };
/// assert!(!Parameters::from_bytes(&bytes, &limits)?.is_secure());
/// # Ok::<(), rlwe::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// Whether less than 128 bits of security are accepted: never because bytes say so.
    pub insecure: bool,
    /// log2 of the largest ring degree.
    pub max_log_n: u32,
}

impl Default for ReadLimits {
    /// Secure sets up to N = 2^16, which every use but the largest fits.
    fn default() -> Self {
        Self { insecure: false, max_log_n: 16 }
    }
}

impl ckks::Parameters {
    /// The bytes of primes, levels and digits.
    pub fn to_bytes(&self) -> Vec<u8> {
        let nominal = [self.scale_bits(), self.headroom_bits()];
        write(PARAMETERS, self, nominal, &[])
    }

    /// The parameters that [`Self::to_bytes`] stored, if `limits` accept them. Every number is
    /// checked; nothing is searched for.
    ///
    /// # Errors
    /// [`MalformedBytes`](Error::MalformedBytes); [`InsecureParameters`](Error::InsecureParameters)
    /// for less than 128 bits of security, unless `limits` say so;
    /// [`InvalidParameters`](Error::InvalidParameters) for a ring that exceeds them.
    ///
    /// ```
    /// use rlwe::bytes::ReadLimits;
    /// use rlwe::ckks::{Parameters, ParametersLiteral};
    /// let parameters = Parameters::new(ParametersLiteral { levels: 1, ..Default::default() })?;
    /// let read = Parameters::from_bytes(&parameters.to_bytes(), &ReadLimits::default())?;
    /// assert_eq!(read, parameters);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8], limits: &ReadLimits) -> Result<Self> {
        let (fingerprint, mut reader) = FORMAT.open(PARAMETERS, bytes)?;
        let ring = read_ring(&mut reader, limits)?;
        let chain = read_chain(reader, &ring, limits)?;
        let RingFields { log_n, secret, nominal } = ring;
        check_fingerprint(PARAMETERS, fingerprint, Self::of_chain(log_n, chain, secret, nominal)?)
    }
}

impl bgv::Parameters {
    /// The bytes of primes, levels and digits.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Design { plaintext_modulus, failure_bits, .. } = self.design();
        let own = [&plaintext_modulus.to_le_bytes()[..], &failure_bits.to_le_bytes()].concat();
        let nominal = [self.level_bits(), self.design().headroom_bits];
        write(BGV_PARAMETERS, self, nominal, &own)
    }

    /// The parameters that [`Self::to_bytes`] stored: see [`ckks::Parameters::from_bytes`].
    ///
    /// # Errors
    /// Those of [`ckks::Parameters::from_bytes`].
    ///
    /// ```
    /// use rlwe::bgv::{Parameters, ParametersLiteral};
    /// use rlwe::bytes::ReadLimits;
    /// let parameters = Parameters::new(ParametersLiteral { levels: 1, ..Default::default() })?;
    /// let read = Parameters::from_bytes(&parameters.to_bytes(), &ReadLimits::default())?;
    /// assert_eq!(read, parameters);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8], limits: &ReadLimits) -> Result<Self> {
        let (fingerprint, mut reader) = FORMAT.open(BGV_PARAMETERS, bytes)?;
        let ring = read_ring(&mut reader, limits)?;
        let (plaintext_modulus, failure_bits) = (reader.u32()?, reader.f64()?);
        let chain = read_chain(reader, &ring, limits)?;
        let RingFields { log_n, secret, nominal: [level_bits, headroom_bits] } = ring;
        let design =
            Design { log_n, secret, plaintext_modulus, failure_bits, level_bits, headroom_bits };
        check_fingerprint(BGV_PARAMETERS, fingerprint, Self::of_chain(chain, design)?)
    }
}

impl BootstrappingParameters {
    /// The bytes of primes, levels and digits, and of what the circuit is.
    pub fn to_bytes(&self) -> Vec<u8> {
        let literal = self.literal();
        let counts = [
            literal.levels as u32,
            literal.slots_to_coefficients as u32,
            literal.coefficients_to_slots as u32,
            literal.double_angles,
            literal.sparse_weight as u32,
        ];
        let sizes =
            [literal.bound, literal.ratio_bits, literal.transform_bits, literal.reduction_bits];
        let own: Vec<u8> = counts
            .iter()
            .flat_map(|count| count.to_le_bytes())
            .chain(sizes.iter().flat_map(|size| size.to_le_bytes()))
            .collect();
        let nominal = [literal.scale_bits, literal.base_bits];
        write(BOOTSTRAPPING_PARAMETERS, self.parameters(), nominal, &own)
    }

    /// The parameters that [`Self::to_bytes`] stored: see [`ckks::Parameters::from_bytes`].
    ///
    /// # Errors
    /// Those of [`ckks::Parameters::from_bytes`].
    ///
    /// ```
    /// use rlwe::bytes::ReadLimits;
    /// use rlwe::ckks::{BootstrappingLiteral, BootstrappingParameters};
    /// let literal = BootstrappingLiteral { log_n: 8, insecure: true, ..Default::default() };
    /// let parameters = BootstrappingParameters::new(literal)?;
    /// let limits = ReadLimits { insecure: true, ..ReadLimits::default() };
    /// let read = BootstrappingParameters::from_bytes(&parameters.to_bytes(), &limits)?;
    /// assert_eq!(read.parameters(), parameters.parameters());
    /// assert_eq!(read.input_level(), parameters.input_level());
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8], limits: &ReadLimits) -> Result<Self> {
        let (fingerprint, mut reader) = FORMAT.open(BOOTSTRAPPING_PARAMETERS, bytes)?;
        let ring = read_ring(&mut reader, limits)?;
        let mut counts = [0; 5];
        for count in &mut counts {
            *count = reader.u32()?;
        }
        let mut sizes = [0.0; 4];
        for size in &mut sizes {
            *size = reader.f64()?;
        }
        let chain = read_chain(reader, &ring, limits)?;
        let [levels, slots_to_coefficients, coefficients_to_slots, double_angles, sparse_weight] =
            counts;
        let [bound, ratio_bits, transform_bits, reduction_bits] = sizes;
        let [scale_bits, base_bits] = ring.nominal;
        let malformed = |reason: String| Error::from(BOOTSTRAPPING_PARAMETERS.malformed(reason));
        if ring.secret != SecretDistribution::Ternary {
            return Err(malformed(format!(
                "expected a uniform ternary secret, got a {}",
                ring.secret
            )));
        }
        let literal = BootstrappingLiteral {
            log_n: ring.log_n,
            levels: levels as usize,
            scale_bits,
            base_bits,
            bound,
            ratio_bits,
            slots_to_coefficients: slots_to_coefficients as usize,
            coefficients_to_slots: coefficients_to_slots as usize,
            transform_bits,
            reduction_bits,
            double_angles,
            digits: Some(chain.digits.len()),
            sparse_weight: sparse_weight as usize,
            insecure: limits.insecure,
        };
        let parameters = Self::of_chain(literal, chain).map_err(|refusal| match refusal {
            Error::InvalidParameters(reason) => malformed(reason),
            other => other,
        })?;
        check_fingerprint_of(
            BOOTSTRAPPING_PARAMETERS,
            fingerprint,
            parameters.parameters().fingerprint(),
        )?;
        Ok(parameters)
    }
}

/// What comes before the fields of a scheme.
struct RingFields {
    log_n: u32,
    secret: SecretDistribution,
    nominal: [f64; 2],
}

fn write(kind: Kind, parameters: &core::Parameters, nominal: [f64; 2], own: &[u8]) -> Vec<u8> {
    let chain = parameters.chain();
    let (distribution, weight) = match parameters.secret() {
        SecretDistribution::Ternary => (TERNARY, 0),
        SecretDistribution::FixedWeight(weight) => (FIXED_WEIGHT, weight as u32),
    };
    let counts =
        [chain.q_primes.len(), chain.p_primes.len(), chain.levels.len(), chain.digits.len()];
    let level_length = 8 + counts[0].div_ceil(BITS_OF_BYTE);
    let length =
        28 + own.len() + 8 + 4 * (counts[0] + counts[1]) + 2 * counts[0] + level_length * counts[2];
    seal(kind, parameters, length, |bytes| {
        for number in [parameters.log_n(), distribution, weight] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        nominal.iter().for_each(|bits| bytes.extend_from_slice(&bits.to_le_bytes()));
        bytes.extend_from_slice(own);
        counts.iter().for_each(|&count| bytes.extend_from_slice(&(count as u16).to_le_bytes()));
        for prime in chain.q_primes.iter().chain(&chain.p_primes) {
            bytes.extend_from_slice(&prime.to_le_bytes());
        }
        for prime in 0..counts[0] {
            let digit = chain.digits.iter().position(|digit| digit.contains(&prime));
            let digit = digit.expect("every prime has a digit");
            bytes.extend_from_slice(&(digit as u16).to_le_bytes());
        }
        for level in &chain.levels {
            bytes.extend_from_slice(&level.scale.to_le_bytes());
            let mut members = vec![0u8; counts[0].div_ceil(BITS_OF_BYTE)];
            for &prime in &level.primes {
                members[prime / BITS_OF_BYTE] |= 1 << (prime % BITS_OF_BYTE);
            }
            bytes.extend_from_slice(&members);
        }
    })
}

fn read_ring(reader: &mut Reader<'_>, limits: &ReadLimits) -> Result<RingFields> {
    let log_n = reader.u32()?;
    if !(MIN_LOG_N..=MAX_LOG_N).contains(&log_n) {
        let reason = format!("expected log_n between {MIN_LOG_N} and {MAX_LOG_N}, got {log_n}");
        return Err(reader.malformed(reason).into());
    }
    if log_n > limits.max_log_n {
        let most = limits.max_log_n;
        let reason = format!(
            "the bytes ask for log_n = {log_n}, and at most {most} is accepted here; allow larger rings if that is meant"
        );
        return Err(Error::InvalidParameters(reason));
    }
    let secret = match (reader.u32()?, reader.u32()?) {
        (TERNARY, 0) => SecretDistribution::Ternary,
        (FIXED_WEIGHT, weight) if check_weight(log_n, fixed(weight)).is_ok() => fixed(weight),
        (distribution, weight) => {
            let reason = format!(
                "there is no secret distribution {distribution} of weight {weight} in degree 2^{log_n}"
            );
            return Err(reader.malformed(reason).into());
        }
    };
    Ok(RingFields { log_n, secret, nominal: [reader.f64()?, reader.f64()?] })
}

fn fixed(weight: u32) -> SecretDistribution {
    SecretDistribution::FixedWeight(weight as usize)
}

/// The chain, which is consistent and secure; the last fields.
fn read_chain(mut reader: Reader<'_>, ring: &RingFields, limits: &ReadLimits) -> Result<Chain> {
    let mut counts = [0; 4];
    for count in &mut counts {
        *count = usize::from(reader.u16()?);
    }
    let [q_count, p_count, level_count, digit_count] = counts;
    let primes = |reader: &mut Reader<'_>, count: usize| -> Result<Vec<u32>> {
        let (words, _) = reader.take(4 * count)?.as_chunks();
        Ok(words.iter().map(|&word| u32::from_le_bytes(word)).collect())
    };
    let (q_primes, p_primes) = (primes(&mut reader, q_count)?, primes(&mut reader, p_count)?);
    let mut digits = vec![Vec::new(); digit_count.min(q_count + 1)];
    for prime in 0..q_count {
        let digit = usize::from(reader.u16()?);
        let Some(members) = digits.get_mut(digit) else {
            let reason = format!("expected a digit below {}, got {digit}", digits.len());
            return Err(reader.malformed(reason).into());
        };
        members.push(prime);
    }
    let mut levels = Vec::new();
    for _ in 0..level_count {
        levels.push(read_level(&mut reader, &q_primes)?);
    }
    let chain = Chain { q_primes, p_primes, levels, digits };
    chain.check(ring.log_n).map_err(|reason| reader.malformed(reason))?;
    reader.end()?;
    match require_secure(ring.log_n, ring.secret, &chain) {
        Err(Error::InsecureParameters(why)) if !limits.insecure => {
            Err(Error::InsecureParameters(format!("the bytes ask for less than 128 bits: {why}")))
        }
        _ => Ok(chain),
    }
}

fn read_level(reader: &mut Reader<'_>, q_primes: &[u32]) -> Result<Level> {
    let scale = reader.f64()?;
    let members = reader.take(q_primes.len().div_ceil(BITS_OF_BYTE))?;
    let is_member = |prime: usize| members[prime / BITS_OF_BYTE] >> (prime % BITS_OF_BYTE) & 1 == 1;
    if (q_primes.len()..members.len() * BITS_OF_BYTE).any(is_member) {
        return Err(reader.malformed("a level holds a prime that there is not").into());
    }
    let primes: Vec<usize> = (0..q_primes.len()).filter(|&prime| is_member(prime)).collect();
    let log_q = primes.iter().map(|&prime| f64::from(q_primes[prime]).log2()).sum();
    Ok(Level { primes, scale, log_q })
}

/// The roots of unity are in the fingerprint, and no other transform may have taken their place.
fn check_fingerprint<T: std::ops::Deref<Target = core::Parameters>>(
    kind: Kind,
    stored: [u8; 16],
    parameters: T,
) -> Result<T> {
    check_fingerprint_of(kind, stored, parameters.fingerprint()).map(|()| parameters)
}

fn check_fingerprint_of(kind: Kind, stored: [u8; 16], made: [u8; 16]) -> Result<()> {
    if stored == made {
        return Ok(());
    }
    let [stored, made] = [stored, made].map(u128::from_be_bytes);
    let reason =
        format!("expected the fingerprint {made:032x} of these numbers, got {stored:032x}");
    Err(kind.malformed(reason).into())
}
