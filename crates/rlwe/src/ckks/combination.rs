//! Linear combinations of ciphertexts with real coefficients.

use super::ciphertext::Ciphertext;
use super::estimate::Estimate;
use super::evaluator::Evaluator;
use super::parameters::Parameters;
use crate::ring::division::Division;
use crate::ring::modulus::Modulus;
use crate::ring::poly::{Basis, Poly};
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
    factors: Vec<f64>,
    /// The primes that the sum is taken over.
    start: Basis,
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
    let kept = from.iter().filter(|&p| to.contains(p));
    Ok((Basis::new(kept.chain(leaving[..enough].iter().copied())), gain))
}

impl Evaluator {
    /// The sum of real multiples of ciphertexts of one level and degree, brought to `level`,
    /// not above theirs, and to `scale` there. There is at least one.
    pub(crate) fn linear_combination(
        &self,
        terms: &[(f64, &Ciphertext)],
        level: usize,
        scale: f64,
        operation: &'static str,
    ) -> Result<Ciphertext> {
        let estimates: Vec<_> = terms.iter().map(|&(c, a)| (c, &a.estimate)).collect();
        let combination = Combination::new(&estimates, level, scale, operation)?;
        let operands: Vec<&Ciphertext> = terms.iter().map(|&(_, a)| a).collect();
        Ok(self.combined(combination, &operands))
    }

    /// The sum that a combination of these operands' estimates describes.
    pub(crate) fn combined(&self, combination: Combination, terms: &[&Ciphertext]) -> Ciphertext {
        let Combination { factors, start, estimate } = combination;
        let ring = self.parameters().ring();
        let to = self.parameters().level_basis(estimate.level);
        let sum = |index: usize| {
            let mut sum = ring.zero(&start);
            for (&factor, a) in factors.iter().zip(terms) {
                ring.add_scaled(&mut sum, &a.polys[index], |q| residue(q, factor));
            }
            sum
        };
        let mut polys: Vec<Poly> = (0..terms[0].polys.len()).map(sum).collect();
        if start != *to {
            let division = Division::new(ring, &start, to);
            polys = polys.iter().map(|poly| division.apply(ring, poly)).collect();
        }
        terms[0].with(estimate, polys)
    }

    /// Adds `value` to every slot.
    pub(crate) fn add_real(
        &self,
        a: &mut Ciphertext,
        value: f64,
        operation: &'static str,
    ) -> Result<()> {
        let (constant, estimate) = a.estimate.add_real(value, operation)?;
        self.parameters().ring().add_constant(&mut a.polys_mut()[0], |q| residue(q, constant));
        a.estimate = estimate;
        a.seed = None;
        Ok(())
    }
}

/// The integer nearest to value * scale.
pub(super) fn integer(value: f64, scale: f64, operation: &'static str) -> Result<f64> {
    let integer = (value * scale).round();
    if integer.is_finite() {
        return Ok(integer);
    }
    Err(Error::ValueOutOfRange { operation, value, bound: f64::MAX / scale })
}

/// The residue of an integer of any size.
fn residue(q: Modulus, integer: f64) -> u32 {
    let shift = (integer.abs().max(1.0).log2() as i32 - 61).max(0);
    let mantissa = (integer / f64::from(shift).exp2()) as i64;
    let residue = q.mul(q.reduce(mantissa.unsigned_abs()), q.pow(2, shift as u64));
    if mantissa < 0 { q.sub(0, residue) } else { residue }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ckks::{Complex64, Encoding, ParametersLiteral};
    use crate::core::keys::{EvaluationKeys, SecretKey};

    #[test]
    fn real_scalars_agree_with_plaintexts_and_overflow_is_refused() {
        let literal = ParametersLiteral {
            log_n: Some(8),
            levels: 2,
            insecure: true,
            ..ParametersLiteral::default()
        };
        let parameters = Parameters::new(literal).unwrap();
        let secret = SecretKey::generate(&parameters).unwrap();
        let evaluator = Evaluator::new(EvaluationKeys::none(&secret));
        let values = [0.75, -0.5, 0.25, 1.0];
        let plaintext = parameters.encode_real(&values, Encoding::at(2).within(1.0)).unwrap();
        let a = secret.encrypt(&plaintext).unwrap();
        for factor in [0.0, 1.0, -3.25, 1e-6, 0.1] {
            let scalar = Complex64::new(factor, 0.0);
            let sum = evaluator.add_scalar(&a, scalar).unwrap();
            let product = evaluator.multiply_scalar(&a, scalar, None).unwrap();
            let product = evaluator.rescale(&product).unwrap();
            assert_eq!((product.level(), product.slots()), (1, 4));
            let scale = product.scale() / parameters.scale(1).unwrap();
            assert!((scale - 1.0).abs() < 1e-14);
            let sums = secret.decrypt(&sum, sum.estimate()).unwrap().decode_real().unwrap();
            let products = secret.decrypt(&product, product.estimate()).unwrap().decode_real().unwrap();
            for ((x, y), z) in values.iter().zip(sums).zip(products) {
                assert!((x + factor - y).abs() < (-sum.precision()).exp2());
                assert!((x * factor - z).abs() < (-product.precision()).exp2());
            }
        }
        let refused = |result| matches!(result, Err(Error::ValueOutOfRange { .. }));
        for huge in [f64::MAX, parameters.log_q(2).unwrap().exp2()] {
            for huge in [Complex64::new(-huge, 0.0), Complex64::new(0.0, huge)] {
                assert!(refused(evaluator.add_scalar(&a, huge)));
                assert!(refused(evaluator.multiply_scalar(&a, huge, None)));
            }
        }
        let nan = Complex64::new(f64::NAN, 0.0);
        assert!(matches!(evaluator.add_scalar(&a, nan), Err(Error::NotFinite { .. })));
    }

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
