//! Parameters of BGV.

use std::fmt;

use super::noise;
use crate::bgv::slots::SlotEncoder;
use crate::chain::{
    MAX_HEADROOM_BITS, MAX_LOG_N, MAX_SCALE_BITS, MIN_HEADROOM_BITS, MIN_LOG_N, MIN_SCALE_BITS,
};
use crate::literal::SecretDistribution;
use crate::ring::modulus::Modulus;
use crate::ring::primes::ntt_primes;
use crate::security::{MAX_SECURE_LOG_N, MIN_SECURE_LOG_N};
use crate::{Error, Result};

/// The plaintext modulus of every ring up to [`MAX_LOG_N_OF_DEFAULT`] that asks for no other.
const DEFAULT_MODULUS: u32 = 65537;
const MAX_LOG_N_OF_DEFAULT: u32 = 15;

/// What a level has beyond the noise that rounding leaves, in bits: a product of two rounded
/// ciphertexts, a few of them added or rotated, is rounded again one level below.
const LEVEL_MARGIN_BITS: f64 = 4.0;

/// The part of a modulus that noise must stay below.
pub(crate) const CAPACITY: f64 = 7.0 / 16.0;

/// What a person asks of BGV parameters.
///
/// ```
/// use rlwe::bgv::{Parameters, ParametersLiteral};
/// let literal = ParametersLiteral { levels: 3, ..ParametersLiteral::default() };
/// let parameters = Parameters::new(literal)?;
/// assert_eq!((parameters.plaintext_modulus(), parameters.max_level()), (65537, 3));
/// assert!(parameters.is_secure());
/// # Ok::<(), rlwe::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParametersLiteral {
    /// The ring degree as log2, 5 to 17; `None` takes the smallest secure one that fits.
    pub log_n: Option<u32>,
    /// How often the modulus can be switched: with `level_bits` left out, products in a row.
    pub levels: usize,
    /// A prime that is 1 modulo 2N, below 2^30; `None` takes 65537 up to N = 2^15 and the
    /// smallest such prime beyond.
    pub plaintext_modulus: Option<u32>,
    /// What each level adds to the modulus, 20 to 60 bits; `None` takes what a product needs.
    pub level_bits: Option<f64>,
    /// The modulus of level 0, from 2 to 60 bits more than `level_bits`; `None` takes 2 more.
    pub base_bits: Option<f64>,
    /// The key-switching digits, at most; `None` takes the number with the cheapest rotation.
    pub digits: Option<usize>,
    /// How secret keys are drawn.
    pub secret: SecretDistribution,
    /// Allows parameters that the security table does not cover.
    pub insecure: bool,
}

/// A compiled BGV parameter set, shared by reference. Cloning is cheap.
#[derive(Clone, PartialEq, Eq)]
pub struct Parameters(crate::Parameters);

impl Parameters {
    /// Compiles `literal`.
    ///
    /// # Errors
    /// [`Error::InvalidParameters`] for a request out of range, and
    /// [`Error::InsecureParameters`] for one that is not 128-bit secure and does not
    /// say that it may be insecure.
    pub fn new(literal: ParametersLiteral) -> Result<Self> {
        if let Some(log_n) = literal.log_n {
            return crate::Parameters::new(literal.in_ring(log_n)?).map(Self);
        }
        let mut refusal = None;
        for log_n in MIN_SECURE_LOG_N..=MAX_SECURE_LOG_N {
            let request = crate::ParametersLiteral { insecure: false, ..literal.in_ring(log_n)? };
            if log_n < MAX_SECURE_LOG_N && !request.may_fit(log_n) {
                continue;
            }
            let insecure = literal.insecure;
            match request.chain() {
                Ok(_) => {
                    let request = crate::ParametersLiteral { insecure, ..request };
                    return crate::Parameters::new(request).map(Self);
                }
                Err(Error::InsecureParameters(why)) => refusal = Some(why),
                Err(refusal) => return Err(refusal),
            }
        }
        let why = refusal.unwrap_or_else(|| "no ring of the security table fits".into());
        Err(Error::InsecureParameters(why))
    }

    /// The parameters that keys were made under, as those of BGV.
    ///
    /// # Errors
    /// [`Error::InvalidParameters`] for those of CKKS.
    pub fn of(lattice: &crate::Parameters) -> Result<Self> {
        if lattice.slot_encoder().is_some() {
            return Ok(Self(lattice.clone()));
        }
        let reason = "these are of CKKS and have no plaintext modulus; make them for BGV";
        Err(Error::InvalidParameters(reason.into()))
    }

    /// Ring, chain and keys, as CKKS has them too: what secret keys are generated under.
    ///
    /// ```
    /// use rlwe::bgv::{Parameters, ParametersLiteral};
    /// use rlwe::keys::SecretKey;
    /// let parameters = Parameters::new(ParametersLiteral::default())?;
    /// let secret = SecretKey::generate(parameters.lattice())?;
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn lattice(&self) -> &crate::Parameters {
        &self.0
    }

    /// t: arithmetic is exact modulo it.
    pub fn plaintext_modulus(&self) -> u32 {
        self.t().q
    }

    /// log2 of the ring degree.
    pub fn log_n(&self) -> u32 {
        self.0.log_n()
    }

    /// The ring degree.
    pub fn n(&self) -> usize {
        self.0.n()
    }

    /// Slots of one of both rows, N / 2: rotations are cyclic over them.
    pub fn slots(&self) -> usize {
        self.0.slots()
    }

    /// The highest level: how often the modulus of a fresh ciphertext can be switched.
    pub fn max_level(&self) -> usize {
        self.0.max_level()
    }

    /// What each level adds to the modulus, in bits, about.
    pub fn level_bits(&self) -> f64 {
        self.0.literal().scale_bits
    }

    /// Whether the set is 128-bit secure by the table of [`crate::security`].
    pub fn is_secure(&self) -> bool {
        self.0.is_secure()
    }

    /// log2 of the modulus of a level.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`] for a level that there is not.
    pub fn log_q(&self, level: usize) -> Result<f64> {
        self.0.log_q(level)
    }

    /// log2 of what noise must stay below at a level: seven sixteenths of the modulus. Half would
    /// do to decrypt; the rest is kept clear to notice what is wrong, as in one of the
    /// coefficients it is but for a chance of 7/8 to the power of their number.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`] for a level that there is not.
    pub fn capacity_bits(&self, level: usize) -> Result<f64> {
        Ok(self.log_q(level)? + CAPACITY.log2())
    }

    pub(crate) fn t(&self) -> Modulus {
        self.slot_encoder().modulus()
    }

    pub(crate) fn slot_encoder(&self) -> &SlotEncoder {
        self.0.slot_encoder().expect("parameters of BGV have a plaintext modulus")
    }

    /// Refuses objects of other parameters.
    pub(crate) fn check_same(&self, other: &Self, operation: &'static str) -> Result<()> {
        self.0.check_same(&other.0, operation)
    }
}

impl ParametersLiteral {
    /// The request of ring, chain and keys in degree 2^`log_n`.
    fn in_ring(&self, log_n: u32) -> Result<crate::ParametersLiteral> {
        if !(MIN_LOG_N..=MAX_LOG_N).contains(&log_n) {
            return Err(Error::InvalidParameters(format!(
                "log_n must lie between {MIN_LOG_N} and {MAX_LOG_N}, got {log_n}"
            )));
        }
        let modulus = self.plaintext_modulus.unwrap_or_else(|| default_modulus(log_n));
        let level_bits = self.level_bits.unwrap_or_else(|| {
            let needed = noise::floor_bits(log_n, modulus, self.secret) + LEVEL_MARGIN_BITS;
            needed.ceil().clamp(MIN_SCALE_BITS, MAX_SCALE_BITS)
        });
        let base_bits = self.base_bits.unwrap_or(level_bits + MIN_HEADROOM_BITS);
        check_bits("level_bits", level_bits, MIN_SCALE_BITS, MAX_SCALE_BITS)?;
        let [least, most] = [MIN_HEADROOM_BITS, MAX_HEADROOM_BITS].map(|bits| level_bits + bits);
        check_bits("base_bits", base_bits, least, most)?;
        Ok(crate::ParametersLiteral {
            log_n: Some(log_n),
            levels: self.levels,
            scale_bits: level_bits,
            headroom_bits: base_bits - level_bits,
            digits: self.digits,
            plaintext_modulus: Some(modulus),
            secret: self.secret,
            insecure: self.insecure,
        })
    }
}

fn check_bits(name: &str, bits: f64, least: f64, most: f64) -> Result<()> {
    if (least..=most).contains(&bits) {
        return Ok(());
    }
    let reason = format!("{name} must lie between {least} and {most}, got {bits}");
    Err(Error::InvalidParameters(reason))
}

fn default_modulus(log_n: u32) -> u32 {
    if log_n <= MAX_LOG_N_OF_DEFAULT {
        return DEFAULT_MODULUS;
    }
    ntt_primes(log_n, 0..1 << 30).next().map_or(DEFAULT_MODULUS, |prime| prime as u32)
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Parameters({self})")
    }
}
