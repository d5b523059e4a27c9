//! What operations do to noise, levels and correction factors.

use std::fmt;

use super::alignment;
use super::noise::{CANONICAL_FACTOR_BITS, CAPACITY, Noise, NoiseModel, dropping_is_as_quiet};
use super::parameters::Parameters;
use super::slots::centred;
use crate::{Error, Result};

/// What is known of a ciphertext without decrypting it: level, degree, correction factor, noise.
///
/// Operations are refused or let through on this alone, and change it as they change the
/// ciphertext, so that a planner can try a whole program on estimates before anything runs: a
/// program that estimates allow does run, with these very results.
///
/// ```
/// use rlwe::bgv::{Parameters, ParametersLiteral};
/// let parameters = Parameters::new(ParametersLiteral { levels: 2, ..Default::default() })?;
/// let fresh = parameters.fresh(2)?;
/// let square = fresh.multiply(&fresh)?;
/// assert!(square.noise().canonical_bits > 2.0 * fresh.noise().canonical_bits - 1.0);
/// let switched = square.switch_down()?;
/// assert!(switched.level() < 2 && switched.multiply(&switched).is_ok());
/// # Ok::<(), rlwe::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    pub(crate) parameters: Parameters,
    pub(crate) level: usize,
    pub(crate) degree: usize,
    pub(crate) factor: u32,
    pub(crate) noise: Noise,
}

/// How a ciphertext comes to another level or factor.
pub(crate) struct Switch {
    /// What it is multiplied by at first.
    pub(crate) multiplier: i64,
    /// Whether it is then divided by the primes that leave, which are dropped otherwise.
    pub(crate) divides: bool,
    pub(crate) estimate: Estimate,
}

impl Parameters {
    /// A ciphertext that the secret key makes at `level`.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`]; [`Error::NoiseExhausted`] when the modulus of the level is too
    /// small for any.
    pub fn fresh(&self, level: usize) -> Result<Estimate> {
        self.encrypted(level, self.noise_model().encryption())
    }

    /// A ciphertext that a public key makes at `level`.
    ///
    /// # Errors
    /// As [`Self::fresh`].
    pub fn fresh_public(&self, level: usize) -> Result<Estimate> {
        self.encrypted(level, self.noise_model().public_encryption(self.special_bits()))
    }

    fn encrypted(&self, level: usize, noise: Noise) -> Result<Estimate> {
        self.check_level(level, "encrypt")?;
        let (parameters, factor) = (self.clone(), self.level_factor(level));
        Estimate { parameters, level, degree: 1, factor, noise }.checked("encrypt")
    }

    /// The canonical correction factor of a level: that of fresh ciphertexts, and of what
    /// is switched there where that costs little.
    ///
    /// 1 at the highest level, and further down what a product of two that have it is switched
    /// to. So whatever products ciphertexts have gone through, at one level they can be added
    /// (for CKKS and its scales: Kim, Papadimitriou, Polyakov 2022, "Approximate homomorphic
    /// encryption with reduced approximation error", section 4).
    pub(crate) fn level_factor(&self, level: usize) -> u32 {
        let t = self.t();
        (level..self.max_level()).rev().fold(1, |factor, below| {
            t.mul(t.mul(factor, factor), self.switching_factor(below + 1, below))
        })
    }

    /// What a division by the primes that leave between two levels multiplies factors by.
    fn switching_factor(&self, from: usize, to: usize) -> u32 {
        let (lattice, t) = (self, self.t());
        let (from, to) = (lattice.level_basis(from), lattice.level_basis(to));
        let product = |basis: crate::ring::poly::Basis| {
            let primes = basis.iter().map(|position| lattice.ring().modulus(position).q);
            crate::ring::modulus::product(t, primes)
        };
        t.mul(product(to.difference(from)), t.inv(product(from.difference(to))))
    }
}

impl Estimate {
    /// The parameters of the ciphertext.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// How often its modulus can still be switched.
    pub fn level(&self) -> usize {
        self.level
    }

    /// 1, or 2 for a product that was not relinearised.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The correction factor: what the message is multiplied by modulo t.
    pub fn factor(&self) -> u32 {
        self.factor
    }

    /// The bounds of the noise.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// log2 of what a coefficient of the noise must stay below.
    pub fn capacity_bits(&self) -> f64 {
        self.modulus_bits(self.level) + CAPACITY.log2()
    }

    /// Bits between the bound of the noise and the capacity: 0 or more.
    pub fn budget_bits(&self) -> f64 {
        self.capacity_bits() - self.noise.coefficient_bits
    }

    pub(super) fn model(&self) -> &NoiseModel {
        self.parameters.noise_model()
    }

    /// What key switching adds, the rounding of its division left out.
    pub(super) fn key_switching_noise(&self) -> Noise {
        self.model().key_switching(&self.parameters.digit_bits(self.level))
    }

    /// What key switching adds.
    pub(super) fn rotation_noise(&self) -> Noise {
        self.key_switching_noise().plus(self.model().rounding(1))
    }

    fn modulus_bits(&self, level: usize) -> f64 {
        let lattice = &self.parameters;
        lattice.ring().bits(lattice.level_basis(level))
    }

    /// Refuses noise that may make a result wrong.
    pub(crate) fn check(&self, operation: &'static str) -> Result<()> {
        let (noise_bits, capacity_bits) = (self.noise.coefficient_bits, self.capacity_bits());
        if noise_bits <= capacity_bits {
            return Ok(());
        }
        Err(Error::NoiseExhausted { operation, noise_bits, capacity_bits })
    }

    pub(super) fn checked(self, operation: &'static str) -> Result<Self> {
        self.check(operation).map(|()| self)
    }

    pub(super) fn with_noise(&self, noise: Noise) -> Self {
        Self { noise, ..self.clone() }
    }

    pub(super) fn check_level(&self, level: usize, operation: &'static str) -> Result<()> {
        if self.level == level {
            return Ok(());
        }
        Err(Error::LevelMismatch { operation, expected: self.level, actual: level })
    }

    pub(super) fn check_degree_1(&self, operation: &'static str) -> Result<()> {
        if self.degree == 1 {
            return Ok(());
        }
        Err(Error::DegreeMismatch { operation, expected: 1, actual: self.degree })
    }

    /// A sum or difference. Unequal factors cost noise: both sides are multiplied until they
    /// agree, each by about the root of t at most.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`], [`Error::NoiseExhausted`], [`Error::ParametersMismatch`].
    pub fn add(&self, other: &Self) -> Result<Self> {
        Ok(self.aligned(other, "add")?.1)
    }

    /// What both sides of a sum are multiplied by, and the sum.
    pub(crate) fn aligned(
        &self,
        other: &Self,
        operation: &'static str,
    ) -> Result<([i64; 2], Self)> {
        self.parameters.check_same(&other.parameters, operation)?;
        self.check_level(other.level, operation)?;
        let t = self.parameters.t();
        let noises = [self.noise, other.noise];
        let bits = noises.map(|noise| noise.length_bits);
        let multipliers = alignment::multipliers(t, [self.factor, other.factor], bits);
        let [a, b] = [0, 1].map(|i| noises[i].scaled(magnitude_bits(multipliers[i])));
        let sum = Self {
            degree: self.degree.max(other.degree),
            factor: t.mul(self.factor, residue(t.q, multipliers[0])),
            noise: a.plus(b),
            ..self.clone()
        };
        Ok((multipliers, sum.checked(operation)?))
    }

    /// A sum or difference with a plaintext or a scalar.
    ///
    /// # Errors
    /// [`Error::NoiseExhausted`].
    pub fn add_plain(&self) -> Result<Self> {
        let noise = self.noise.plus(self.model().message());
        self.with_noise(noise).checked("add a plaintext")
    }

    /// A product with a plaintext of the norm that [`super::Plaintext::norm_bits`] gives; any
    /// plaintext where it is `None`.
    ///
    /// # Errors
    /// [`Error::NoiseExhausted`]; [`Error::InvalidArgument`] for a norm that is no number.
    pub fn multiply_plain(&self, norm_bits: Option<f64>) -> Result<Self> {
        let operation = "multiply by a plaintext";
        let norm_bits = norm_bits.unwrap_or(f64::INFINITY);
        if norm_bits.is_nan() {
            let reason = "the norm is not a number".to_string();
            return Err(Error::InvalidArgument { operation, reason });
        }
        let message = self.model().message_within(norm_bits);
        self.with_noise(self.noise.times(message)).checked(operation)
    }

    /// A product with an integer.
    ///
    /// # Errors
    /// [`Error::NoiseExhausted`], [`Error::IntegerOutOfRange`].
    pub fn multiply_scalar(&self, value: i64) -> Result<Self> {
        let operation = "multiply by a scalar";
        self.parameters.check_range(value, operation)?;
        self.with_noise(self.noise.scaled(magnitude_bits(value))).checked(operation)
    }

    /// A product of degree 2.
    ///
    /// # Errors
    /// [`Error::DegreeMismatch`], and those of [`Self::add`].
    pub fn multiply_lazily(&self, other: &Self) -> Result<Self> {
        let operation = "multiply";
        self.parameters.check_same(&other.parameters, operation)?;
        self.check_level(other.level, operation)?;
        self.check_degree_1(operation)?;
        other.check_degree_1(operation)?;
        let product = Self {
            degree: 2,
            factor: self.parameters.t().mul(self.factor, other.factor),
            noise: self.noise.times(other.noise),
            ..self.clone()
        };
        product.checked(operation)
    }

    /// A product, relinearised.
    ///
    /// # Errors
    /// As [`Self::multiply_lazily`].
    pub fn multiply(&self, other: &Self) -> Result<Self> {
        self.multiply_lazily(other)?.relinearize()
    }

    /// The same message at degree 1.
    ///
    /// # Errors
    /// [`Error::NoiseExhausted`].
    pub fn relinearize(&self) -> Result<Self> {
        if self.degree == 1 {
            return Ok(self.clone());
        }
        let noise = self.noise.plus(self.rotation_noise());
        Self { degree: 1, ..self.with_noise(noise) }.checked("relinearise")
    }

    /// The same message at degree 1 and one level down, in one division. A ciphertext of degree 1
    /// takes the factor that fresh ones of that level have, if that costs little noise.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] at level 0, [`Error::NoiseExhausted`].
    pub fn relinearize_and_switch(&self) -> Result<Self> {
        let operation = "switch the modulus";
        if self.degree == 1 {
            return Ok(self.switching_below()?.estimate);
        }
        let below = self.level_below(operation)?;
        let switched = self.noise.plus(self.key_switching_noise());
        let whole = self.with_noise(switched).checked(operation)?;
        Self { degree: 1, ..whole }.divided(below, 1).checked(operation)
    }

    pub(super) fn level_below(&self, operation: &'static str) -> Result<usize> {
        let exhausted = Error::LevelExhausted { operation, needed: 1, available: 0 };
        self.level.checked_sub(1).ok_or(exhausted)
    }

    /// A rotation, or the rows swapped.
    ///
    /// # Errors
    /// [`Error::DegreeMismatch`], [`Error::NoiseExhausted`].
    pub fn rotate(&self) -> Result<Self> {
        self.check_degree_1("rotate")?;
        let noise = self.noise.plus(self.rotation_noise());
        self.with_noise(noise).checked("rotate")
    }

    /// A sum of so many rotations of one ciphertext, signs aside, `moving` of them not by 0.
    ///
    /// # Errors
    /// As [`Self::rotate`].
    pub fn rotate_sum(&self, terms: usize, moving: usize) -> Result<Self> {
        self.check_degree_1("sum rotations")?;
        let switching = self.key_switching_noise();
        let noise = self.noise.scaled((terms as f64).log2());
        let noise = noise.plus(switching.scaled((moving as f64).log2()));
        let noise = noise.plus(self.model().rounding(1));
        self.with_noise(noise).checked("sum rotations")
    }

    /// The same message at `level`, not above this one, and with `factor`; where that is `None`,
    /// with its own if primes are dropped, else with the factor that fresh ciphertexts of the
    /// level have, if that costs little noise, and else with the one that comes of itself.
    ///
    /// Primes are dropped where that leaves about as little noise as a division by them, whose
    /// rounding is more than a fresh ciphertext has: dropping keeps the factor. Another factor
    /// costs a multiplication, by half of t at most, and nothing worth mention where there are
    /// primes to divide by.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] for a level above, [`Error::InvalidArgument`] for a factor that
    /// is not in `1..t`, [`Error::NoiseExhausted`].
    pub fn switch_to(&self, level: usize, factor: Option<u32>) -> Result<Self> {
        Ok(self.switching(level, factor)?.estimate)
    }

    /// How [`Self::switch_to`] goes about it.
    pub(crate) fn switching(&self, level: usize, factor: Option<u32>) -> Result<Switch> {
        let operation = "switch the modulus";
        if level > self.level {
            let (needed, available) = (level, self.level);
            return Err(Error::LevelExhausted { operation, needed, available });
        }
        let t = self.parameters.t();
        if factor.is_some_and(|factor| factor == 0 || factor >= t.q) {
            let reason = format!("expected a factor in 1..{}, got {factor:?}", t.q);
            return Err(Error::InvalidArgument { operation, reason });
        }
        if let Some(factor) = factor {
            return self.switching_with(level, |own| centred(t, t.mul(factor, t.inv(own))));
        }
        let quietest = self.switching_with(level, |_| 1)?;
        Ok(if quietest.divides { self.with_canonical_factor(quietest) } else { quietest })
    }

    /// How [`Self::relinearize_and_switch`] goes about it for a ciphertext of degree 1.
    pub(crate) fn switching_below(&self) -> Result<Switch> {
        let below = self.level_below("switch the modulus")?;
        Ok(self.with_canonical_factor(self.switching_with(below, |_| 1)?))
    }

    /// The switch to the same level and its canonical factor, if that costs little more noise than
    /// the quietest.
    fn with_canonical_factor(&self, quietest: Switch) -> Switch {
        let (t, level) = (self.parameters.t(), quietest.estimate.level);
        let canonical = self.parameters.level_factor(level);
        if quietest.estimate.factor == canonical {
            return quietest;
        }
        let most = quietest.estimate.noise.length_bits + CANONICAL_FACTOR_BITS;
        let like = self.switching_with(level, |own| centred(t, t.mul(canonical, t.inv(own))));
        like.ok().filter(|like| like.estimate.noise.length_bits <= most).unwrap_or(quietest)
    }

    /// The quieter switch to a level, multiplied first by what is given for the factor that
    /// results without.
    fn switching_with(&self, level: usize, multiplier: impl Fn(u32) -> i64) -> Result<Switch> {
        let operation = "switch the modulus";
        let t = self.parameters.t();
        let multiplied = |multiplier: i64| {
            let noise = self.noise.scaled(magnitude_bits(multiplier));
            let factor = t.mul(self.factor, residue(t.q, multiplier));
            Self { factor, ..self.with_noise(noise) }.checked(operation)
        };
        let lattice = &self.parameters;
        let (from, to) = (lattice.level_basis(self.level), lattice.level_basis(level));
        let dropped = to.is_subset(from).then(|| {
            let multiplier = multiplier(self.factor);
            let estimate = Self { level, ..multiplied(multiplier)? }.checked(operation)?;
            Ok(Switch { multiplier, divides: false, estimate })
        });
        let divided = (level < self.level).then(|| {
            let multiplier = multiplier(self.divided(level, 1).factor);
            let estimate =
                multiplied(multiplier)?.divided(level, self.degree).checked(operation)?;
            Ok(Switch { multiplier, divides: true, estimate })
        });
        let noise = |switch: &Switch| switch.estimate.noise;
        match (dropped, divided) {
            (Some(Ok(a)), Some(Ok(b))) => {
                Ok(if dropping_is_as_quiet(noise(&a), noise(&b)) { a } else { b })
            }
            (Some(Err(_)), Some(switch)) | (Some(switch), _) | (None, Some(switch)) => switch,
            (None, None) => unreachable!("a level is made of its own primes"),
        }
    }

    /// After a division by the primes that leave between it and a lower level, and rounding.
    pub(super) fn divided(&self, level: usize, degree: usize) -> Self {
        let t = self.parameters.t();
        let ratio = self.parameters.switching_factor(self.level, level);
        let shrunk = self.noise.scaled(self.modulus_bits(level) - self.modulus_bits(self.level));
        let noise = shrunk.plus(self.model().rounding(degree));
        Self { level, factor: t.mul(self.factor, ratio), ..self.with_noise(noise) }
    }

    /// At the level, not above this one, where most headroom is left for its square:
    /// as far down as the length of the noise falls by half of what the modulus does.
    ///
    /// # Errors
    /// [`Error::NoiseExhausted`], where it was before.
    pub fn switch_down(&self) -> Result<Self> {
        self.check("switch the modulus")?;
        let headroom = |switched: &Self| {
            switched.modulus_bits(switched.level) - 2.0 * switched.noise.length_bits
        };
        let below = (0..self.level).filter_map(|level| self.switch_to(level, None).ok());
        // The lowest of levels that are as good.
        let best =
            below.reduce(|best, next| if headroom(&next) > headroom(&best) { next } else { best });
        Ok(best.filter(|best| headroom(best) >= headroom(self)).unwrap_or_else(|| self.clone()))
    }
}

/// log2 of an absolute value.
fn magnitude_bits(x: i64) -> f64 {
    (x.unsigned_abs() as f64).log2()
}

/// The residue of an integer.
pub(crate) fn residue(q: u32, x: i64) -> u32 {
    x.rem_euclid(i64::from(q)) as u32
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "modulo {}, level {} of {}, noise below 2^{:.1} of 2^{:.1}, N = 2^{}, {}",
            self.parameters.plaintext_modulus(),
            self.level,
            self.parameters.max_level(),
            self.noise.coefficient_bits,
            self.capacity_bits(),
            self.parameters.log_n(),
            self.parameters.security(),
        )
    }
}
