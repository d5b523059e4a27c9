//! What real multiples, and sums of them, do to level, scale, precision and bounds.

use rustfft::num_complex::Complex64;

use super::encoding::Encoding;
use super::estimate::{DOUBLE_DEVIATION, Estimate};
use super::parameters::Parameters;
use crate::ring::modulus::Modulus;
use crate::ring::poly::Basis;
use crate::{Error, Result};

/// An integer factor of this size stands for a real one to the precision of a double's half.
const EXACT_FACTOR: f64 = (1u64 << 45) as f64;

/// A sum of real multiples of ciphertexts of one level and degree, brought to another level, not
/// above theirs, and to a scale there.
///
/// Every coefficient becomes an integer: itself times the ratio of scales, rounded. Where
/// that ratio is large and the lower level has no primes of its own, the sum is taken
/// over the primes of the lower level and there is no more to it. Otherwise it is taken
/// over leaving primes too, which make the ratio large, and divided by them.
pub(crate) struct Combination {
    /// By term: what its polynomials are multiplied by.
    pub(crate) factors: Vec<f64>,
    /// The primes that the sum is taken over.
    pub(crate) start: Basis,
    pub(crate) estimate: Estimate,
}

impl Combination {
    /// Of at least one term.
    pub(crate) fn new(
        terms: &[(f64, &Estimate)],
        level: usize,
        scale: f64,
        operation: &'static str,
    ) -> Result<Self> {
        let (_, first) = terms[0];
        let parameters = &first.parameters;
        parameters.check_scale(level, scale, operation)?;
        let largest = terms.iter().map(|(_, a)| a.scale).fold(0.0, f64::max);
        let (start, gain) = starting_basis(parameters, first.level, level, scale / largest)?;
        // A larger multiple of any coefficient but 0 wraps around the modulus.
        let most = parameters.largest_coefficient(level)?;
        let mut misfit = 0.0;
        let mut factors = Vec::with_capacity(terms.len());
        for &(coefficient, a) in terms {
            let ratio = scale / a.scale * gain;
            let factor = integer(coefficient, ratio, operation)?;
            if factor.abs() / gain >= most {
                let bound = most * a.scale / scale;
                return Err(Error::ValueOutOfRange { operation, value: coefficient, bound });
            }
            misfit += (factor / ratio - coefficient).abs() * a.bound;
            factors.push(factor);
        }
        let mut estimate = Estimate::weighted_sum(terms, level, scale).with_error(misfit);
        parameters.check_headroom(level, scale, estimate.bound, operation)?;
        if start != *parameters.level_basis(level) {
            let rounding = parameters.rounding_deviation(first.degree);
            estimate = estimate.with_coefficient_error(rounding);
        }
        Ok(Self { factors, start, estimate })
    }
}

/// The primes to work over on the way from one level to another, and what dividing by
/// those that leave takes from the scale, when it is to grow by `ratio`.
fn starting_basis(
    parameters: &Parameters,
    from: usize,
    to: usize,
    ratio: f64,
) -> Result<(Basis, f64)> {
    let ring = parameters.ring();
    let target_scale = parameters.scale(to)?;
    let (from, to) = (parameters.level_basis(from), parameters.level_basis(to));
    let size = |p: usize| f64::from(ring.modulus(p).q);
    let joining: f64 = to.difference(from).iter().map(size).product();
    // Without a division, factors as large as a plaintext's scale do; with one, larger
    // ones cost nothing.
    let direct = ratio >= EXACT_FACTOR.min(target_scale / 2.0);
    if direct && to.is_subset(from) {
        return Ok((to.clone(), 1.0));
    }
    let mut leaving: Vec<usize> = from.difference(to).iter().collect();
    leaving.sort_by_key(|&p| std::cmp::Reverse(ring.modulus(p).q));
    let mut gain = 1.0 / joining;
    let enough = leaving
        .iter()
        .take_while(|&&p| {
            let short = ratio * gain < EXACT_FACTOR;
            gain *= if short { size(p) } else { 1.0 };
            short
        })
        .count();
    let staying = from.iter().filter(|&p| to.contains(p));
    Ok((Basis::new(staying.chain(leaving[..enough].iter().copied())), gain))
}

/// How a ciphertext comes to another level or scale.
pub(crate) enum Alignment {
    /// Its polynomials lose primes; its scale stays.
    Drop(Estimate),
    /// Its polynomials stay; its scale is read as another that is nearly the same.
    Read(Estimate),
    Combine(Combination),
}

/// How a product with one value is made.
pub(crate) enum ScalarFactor {
    Real(Combination),
    /// By a plaintext of this scale.
    Complex(f64),
}

impl Estimate {
    /// A sum with one value in every slot.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::ScaleOutOfRange`], [`Error::ValueOutOfRange`] for a value
    /// that overflows at the scale.
    pub fn add_scalar(&self, value: Complex64) -> Result<Self> {
        let operation = "add a scalar";
        if let Some(value) = real(value) {
            self.parameters.check_scale(self.level, self.scale, operation)?;
            return Ok(self.add_real(value, operation)?.1);
        }
        self.add_plain(&self.constant(value, self.scale, operation)?)
    }

    /// The plaintext of one value in every slot.
    fn constant(&self, value: Complex64, scale: f64, operation: &'static str) -> Result<Self> {
        if !(value.re.is_finite() && value.im.is_finite()) {
            return Err(Error::NotFinite { operation: "encode", index: 0 });
        }
        let encoding = Encoding { level: self.level, scale: Some(scale), bound: None };
        self.parameters.plaintext_estimate(self.slots, encoding, value.norm(), operation)
    }

    /// What is added to the constant coefficient for a real value in every slot, and the sum.
    pub(crate) fn add_real(&self, value: f64, operation: &'static str) -> Result<(f64, Self)> {
        let constant = integer(value, self.scale, operation)?;
        let most = self.parameters.largest_coefficient(self.level)?;
        if constant.abs() >= most {
            let bound = most / self.scale;
            return Err(Error::ValueOutOfRange { operation, value, bound });
        }
        let misfit = (constant / self.scale - value).abs();
        let (deviation, bound) = (value.abs() * DOUBLE_DEVIATION, value.abs());
        let sum = self.with(self.deviation + deviation, self.bound + bound).with_error(misfit);
        Ok((constant, sum))
    }

    /// A product with one value, encoded at `scale`; where that is `None`, at the scale that
    /// rescaling turns into the canonical one of the level below.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::ScaleOutOfRange`], [`Error::ValueOutOfRange`] for a value
    /// that overflows at the scale, [`Error::LevelExhausted`] without `scale` at level 0.
    pub fn multiply_scalar(&self, value: Complex64, scale: Option<f64>) -> Result<Self> {
        let operation = "multiply by a scalar";
        match self.scalar_factor(value, scale)? {
            ScalarFactor::Real(combination) => Ok(combination.estimate),
            ScalarFactor::Complex(scale) => {
                self.multiply_plain(&self.constant(value, scale, operation)?)
            }
        }
    }

    /// How a product with one value is made.
    pub(crate) fn scalar_factor(
        &self,
        value: Complex64,
        scale: Option<f64>,
    ) -> Result<ScalarFactor> {
        let operation = "multiply by a scalar";
        let scale = match scale {
            Some(scale) => scale,
            None => self.parameters.matching_scale(self.level, self.scale)?,
        };
        let Some(value) = real(value) else { return Ok(ScalarFactor::Complex(scale)) };
        self.parameters.check_scale(self.level, scale, operation)?;
        let terms = [(value, self)];
        let combination = Combination::new(&terms, self.level, self.scale * scale, operation)?;
        Ok(ScalarFactor::Real(combination))
    }

    /// Brought to a lower level, the scale unchanged.
    ///
    /// # Errors
    /// As [`Self::align`].
    pub fn drop_level(&self, level: usize) -> Result<Self> {
        self.align(level, self.scale)
    }

    /// Brought to a lower level and to `scale` there.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] when `level` is above this one, [`Error::ScaleMismatch`] when it
    /// is the same and `scale` is another within what additions allow,
    /// [`Error::ScaleOutOfRange`] when the scale does not fit there, [`Error::BoundOverflow`] when
    /// values may not.
    pub fn align(&self, level: usize, scale: f64) -> Result<Self> {
        Ok(match self.alignment(level, scale)? {
            Alignment::Drop(estimate) | Alignment::Read(estimate) => estimate,
            Alignment::Combine(combination) => combination.estimate,
        })
    }

    /// How [`Self::align`] goes about it.
    pub(crate) fn alignment(&self, level: usize, scale: f64) -> Result<Alignment> {
        let operation = "drop a level";
        if level > self.level {
            let (needed, available) = (level, self.level);
            return Err(Error::LevelExhausted { operation, needed, available });
        }
        let parameters = &self.parameters;
        parameters.check_scale(level, scale, operation)?;
        let (from, to) = (parameters.level_basis(self.level), parameters.level_basis(level));
        if to.is_subset(from) && scale == self.scale {
            return Ok(Alignment::Drop(Self { level, ..self.clone() }));
        }
        if level == self.level {
            let slack = self.scale_error(scale, operation)?;
            return Ok(Alignment::Read(Self { scale, ..self.with_error(slack) }));
        }
        Ok(Alignment::Combine(Combination::new(&[(1.0, self)], level, scale, operation)?))
    }
}

/// The value where it is a real number.
fn real(value: Complex64) -> Option<f64> {
    (value.im == 0.0 && value.re.is_finite()).then_some(value.re)
}

/// The integer nearest to value * scale.
fn integer(value: f64, scale: f64, operation: &'static str) -> Result<f64> {
    let integer = (value * scale).round();
    if integer.is_finite() {
        return Ok(integer);
    }
    Err(Error::ValueOutOfRange { operation, value, bound: f64::MAX / scale })
}

/// The residue of an integer of any size.
pub(crate) fn residue(q: Modulus, integer: f64) -> u32 {
    let shift = (integer.abs().max(1.0).log2() as i32 - 61).max(0);
    let mantissa = (integer / f64::from(shift).exp2()) as i64;
    let residue = q.mul(q.reduce(mantissa.unsigned_abs()), q.pow(2, shift as u64));
    if mantissa < 0 { q.sub(0, residue) } else { residue }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residues_of_large_integers_are_exact() {
        let q = Modulus::new(1_073_479_681);
        for (mantissa, shift) in [(0i64, 0), (1, 0), (-5, 3), (0x1f_ffff_ffff_ffff, 7), (-3, 900)] {
            let expected = (i128::from(mantissa)).rem_euclid(i128::from(q.q)) as u32;
            let expected = q.mul(expected, q.pow(2, shift));
            assert_eq!(residue(q, mantissa as f64 * (shift as f64).exp2()), expected);
        }
    }
}
