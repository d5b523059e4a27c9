//! Arithmetic on ciphertexts.

use rustfft::num_complex::Complex64;

use super::ciphertext::Ciphertext;
use super::combination::{Alignment, Combination, ScalarFactor, residue};
use super::encoding::Encoding;
use super::estimate::Estimate;
use super::plaintext::Plaintext;
use crate::core::Parameters;
use crate::core::keys::EvaluationKeys;
use crate::core::tensor_product::tensor;
use crate::ring::division::Division;
use crate::ring::poly::Poly;
use crate::{Error, Result};

/// Runs operations with evaluation keys. It holds no secret and cannot decrypt.
///
/// ```
/// use rlwe::ckks::{Encoding, Evaluator, Parameters, ParametersLiteral};
/// use rlwe::keys::{EvaluationKeysRequest, SecretKey};
///
/// let literal = ParametersLiteral { levels: 1, scale_bits: 40.0, ..Default::default() };
/// let parameters = Parameters::new(literal)?;
/// let secret = SecretKey::generate(&parameters)?;
/// let request = EvaluationKeysRequest { relinearisation_level: Some(1), ..Default::default() };
/// let evaluator = Evaluator::new(secret.evaluation_keys(&request)?);
///
/// let x = secret.encrypt(&parameters.encode_real(&[3.0, 0.5], Encoding::at(1).within(3.0))?)?;
/// let square = evaluator.rescale(&evaluator.square(&x)?)?;
/// let values = secret.decrypt(&square, square.estimate())?.decode_real()?;
/// assert!((values[0] - 9.0).abs() < 1e-6 && (values[1] - 0.25).abs() < 1e-6);
/// # Ok::<(), rlwe::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Evaluator {
    pub(crate) keys: EvaluationKeys,
}

impl Evaluator {
    /// An evaluator with these keys.
    pub fn new(keys: EvaluationKeys) -> Self {
        Self { keys }
    }

    /// The keys.
    pub fn keys(&self) -> &EvaluationKeys {
        &self.keys
    }

    /// Adds keys.
    ///
    /// # Errors
    /// [`Error::ParametersMismatch`], [`Error::KeyMismatch`].
    pub fn extend_keys(&mut self, keys: EvaluationKeys) -> Result<()> {
        self.keys.extend(keys)
    }

    pub(crate) fn parameters(&self) -> &Parameters {
        &self.keys.parameters
    }

    /// Refuses ciphertexts that are not of this evaluator's key.
    pub(crate) fn check(&self, a: &Ciphertext, operation: &'static str) -> Result<()> {
        self.parameters().check_same(a.parameters(), operation)?;
        if a.key == self.keys.id { Ok(()) } else { Err(Error::KeyMismatch { operation }) }
    }

    fn check_pair(&self, a: &Ciphertext, b: &Ciphertext, operation: &'static str) -> Result<()> {
        self.check(a, operation)?;
        self.check(b, operation)
    }

    /// a + b.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`], [`Error::ScaleMismatch`], [`Error::SlotMismatch`],
    /// [`Error::KeyMismatch`], [`Error::ParametersMismatch`].
    pub fn add(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        let (mut sum, other) =
            if a.degree() >= b.degree() { (a.clone(), b) } else { (b.clone(), a) };
        self.add_assign(&mut sum, other)?;
        Ok(sum)
    }

    /// a += b, for b of the degree of a or below it.
    pub(crate) fn add_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<()> {
        self.check_pair(a, b, "add")?;
        a.estimate = a.estimate.sum(&b.estimate, "add")?;
        for (poly, other) in a.polys_mut().iter_mut().zip(&*b.polys) {
            self.parameters().ring().add(poly, other);
        }
        a.seed = None;
        Ok(())
    }

    /// a - b.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn sub(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.check_pair(a, b, "subtract")?;
        self.add(a, &self.negate(b)?)
    }

    /// -a.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`], [`Error::ParametersMismatch`].
    pub fn negate(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.check(a, "negate")?;
        let mut negated = Ciphertext { seed: None, ..a.clone() };
        negated.polys_mut().iter_mut().for_each(|poly| self.parameters().ring().negate(poly));
        Ok(negated)
    }

    /// i a, exactly: a times X^(N/2), which is the imaginary unit in every slot. No scale changes.
    ///
    /// # Errors
    /// As [`Self::negate`].
    pub fn multiply_imaginary(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.check(a, "multiply by i")?;
        let mut turned = Ciphertext { seed: None, ..a.clone() };
        let ring = self.parameters().ring();
        turned.polys_mut().iter_mut().for_each(|poly| ring.mul_imaginary(poly));
        Ok(turned)
    }

    /// a + b for a plaintext b of the same level and scale.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn add_plain(&self, a: &Ciphertext, b: &Plaintext) -> Result<Ciphertext> {
        self.check(a, "add a plaintext")?;
        let mut sum = a.with(a.estimate.add_plain(&b.estimate)?, a.polys.clone());
        self.parameters().ring().add(&mut sum.polys_mut()[0], b.poly());
        Ok(sum)
    }

    /// a - b for a plaintext b of the same level and scale.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn sub_plain(&self, a: &Ciphertext, b: &Plaintext) -> Result<Ciphertext> {
        self.check(a, "subtract a plaintext")?;
        let mut difference = a.with(a.estimate.add_plain(&b.estimate)?, a.polys.clone());
        self.parameters().ring().sub(&mut difference.polys_mut()[0], b.poly());
        Ok(difference)
    }

    /// a + value in every slot; cheapest for real values.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::ScaleOutOfRange`], [`Error::ValueOutOfRange`] for a value
    /// that overflows at the scale of a, and those of [`Self::negate`].
    pub fn add_scalar(&self, a: &Ciphertext, value: Complex64) -> Result<Ciphertext> {
        let operation = "add a scalar";
        self.check(a, operation)?;
        if value.im == 0.0 && value.re.is_finite() {
            a.parameters().check_scale(a.level(), a.scale(), operation)?;
            let mut sum = a.clone();
            self.add_real(&mut sum, value.re, operation)?;
            return Ok(sum);
        }
        self.add_plain(a, &constant(a, value, a.scale())?)
    }

    /// a * b, relinearised, not rescaled: the scale is the product of both scales.
    ///
    /// # Errors
    /// [`Error::MissingKey`] without a relinearisation key for the level,
    /// [`Error::DegreeMismatch`], [`Error::ScaleOutOfRange`] when the product does not fit
    /// the modulus, and those of [`Self::add`] but for the scales.
    pub fn multiply(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.relinearize(&self.multiply_lazily(a, b)?)
    }

    /// a * b of degree 2, neither relinearised nor rescaled.
    ///
    /// # Errors
    /// As [`Self::multiply`], without the key.
    pub fn multiply_lazily(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.check_pair(a, b, "multiply")?;
        let estimate = a.estimate.multiply_lazily(&b.estimate)?;
        Ok(a.with(estimate, tensor(self.parameters().ring(), &a.polys, &b.polys, |_, _| ())))
    }

    /// a * a, relinearised, not rescaled.
    ///
    /// # Errors
    /// As [`Self::multiply`].
    pub fn square(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.multiply(a, a)
    }

    /// Brings a ciphertext of degree 2 back to degree 1; one of degree 1 is returned as it is.
    ///
    /// # Errors
    /// [`Error::MissingKey`], [`Error::KeyMismatch`], [`Error::ParametersMismatch`].
    pub fn relinearize(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.check(a, "relinearise")?;
        if a.degree() == 1 {
            return Ok(a.clone());
        }
        let division = self.parameters().division_by_special(a.level());
        let polys = self.keys.relinearize(&a.polys, a.level(), division)?;
        Ok(a.with(a.estimate.relinearize(), polys))
    }

    /// Relinearises a ciphertext of degree 2 and rescales it, in one division; one of degree 1
    /// is rescaled.
    ///
    /// # Errors
    /// [`Error::MissingKey`], and those of [`Self::rescale`].
    pub fn relinearize_and_rescale(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.relinearize_and_rescale_to(a, a.estimate.rescaled_scale()?)
    }

    /// Relinearises a ciphertext of degree 2 and rescales it to `scale`, which is its own
    /// divided by [`crate::core::Parameters::rescale_factor`], in one division.
    pub(crate) fn relinearize_and_rescale_to(
        &self,
        a: &Ciphertext,
        scale: f64,
    ) -> Result<Ciphertext> {
        self.check(a, "rescale")?;
        let estimate = a.estimate.relinearize_and_rescale_to(scale)?;
        if a.degree() == 1 {
            return Ok(self.divided(a, estimate));
        }
        let division = self.parameters().rescale_from_extended(a.level());
        Ok(a.with(estimate, self.keys.relinearize(&a.polys, a.level(), division)?))
    }

    /// Every polynomial divided by the modulus of one level.
    fn divided(&self, a: &Ciphertext, estimate: Estimate) -> Ciphertext {
        let division = self.parameters().rescale(a.level());
        let ring = self.parameters().ring();
        let polys: Vec<Poly> = a.polys.iter().map(|poly| division.apply(ring, poly)).collect();
        a.with(estimate, polys)
    }

    /// a * b for a plaintext b of the same level, not rescaled.
    ///
    /// # Errors
    /// [`Error::ScaleOutOfRange`] and those of [`Self::add`] but for the scales.
    pub fn multiply_plain(&self, a: &Ciphertext, b: &Plaintext) -> Result<Ciphertext> {
        self.check(a, "multiply by a plaintext")?;
        let mut product = a.with(a.estimate.multiply_plain(&b.estimate)?, a.polys.clone());
        let ring = self.parameters().ring();
        product.polys_mut().iter_mut().for_each(|poly| ring.mul(poly, b.poly()));
        Ok(product)
    }

    /// a * value, the value encoded at `scale`; where that is `None`, at the scale that
    /// rescaling turns into the canonical one of the level below. Cheapest for real values.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::ScaleOutOfRange`], [`Error::ValueOutOfRange`] for a value
    /// that overflows at the scale, [`Error::LevelExhausted`] without `scale` at level 0, and
    /// those of [`Self::negate`].
    pub fn multiply_scalar(
        &self,
        a: &Ciphertext,
        value: Complex64,
        scale: Option<f64>,
    ) -> Result<Ciphertext> {
        self.check(a, "multiply by a scalar")?;
        match a.estimate.scalar_factor(value, scale)? {
            ScalarFactor::Real(combination) => Ok(self.combined(combination, &[a])),
            ScalarFactor::Complex(scale) => self.multiply_plain(a, &constant(a, value, scale)?),
        }
    }

    /// a * value for an integer: exact, the scale unchanged.
    ///
    /// # Errors
    /// As [`Self::negate`].
    pub fn multiply_integer(&self, a: &Ciphertext, value: i64) -> Result<Ciphertext> {
        self.check(a, "multiply by an integer")?;
        let mut product = a.with(a.estimate.multiply_integer(value), a.polys.clone());
        for poly in product.polys_mut() {
            self.parameters()
                .ring()
                .scale(poly, |q| i128::from(value).rem_euclid(i128::from(q.q)) as u32);
        }
        Ok(product)
    }

    /// Divides by the modulus of one level: the level falls by one, the scale by
    /// [`Parameters::rescale_factor`].
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] at level 0, [`Error::ScaleOutOfRange`] when the scale is too
    /// small to be divided, [`Error::BoundOverflow`] when values may have outgrown the modulus,
    /// and those of [`Self::negate`].
    pub fn rescale(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.check(a, "rescale")?;
        let estimate = a.estimate.rescale()?;
        Ok(self.divided(a, estimate))
    }

    /// Brings a to a lower level, values and scale unchanged.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] when `level` is above that of `a`,
    /// [`Error::ScaleOutOfRange`] when the scale does not fit there, [`Error::BoundOverflow`]
    /// when values may not.
    pub fn drop_level(&self, a: &Ciphertext, level: usize) -> Result<Ciphertext> {
        self.align(a, level, a.scale())
    }

    /// Brings a to a lower level and to `scale` there, values unchanged, so that it can be
    /// added to what has come to that level by rescaling.
    ///
    /// Where the lower level has no primes of its own and the scale is that of `a`, primes
    /// are dropped and nothing is lost. Otherwise a is multiplied by an integer and divided by
    /// the primes that leave: rounding noise, but no level beyond those given up.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] when `level` is above that of `a`,
    /// [`Error::ScaleMismatch`] when it is the same and `scale` is another than that of `a`
    /// within what additions allow, [`Error::ScaleOutOfRange`] when the scale does not fit
    /// there, [`Error::BoundOverflow`] when values may not.
    pub fn align(&self, a: &Ciphertext, level: usize, scale: f64) -> Result<Ciphertext> {
        self.check(a, "drop a level")?;
        Ok(match a.estimate.alignment(level, scale)? {
            Alignment::Drop(estimate) => {
                let to = self.parameters().level_basis(level);
                let polys: Vec<Poly> = a.polys.iter().map(|poly| poly.restrict(to)).collect();
                // A seed expands to each prime by itself, so that it outlives those dropped.
                Ciphertext { seed: a.seed, ..a.with(estimate, polys) }
            }
            Alignment::Read(estimate) => Ciphertext { estimate, ..a.clone() },
            Alignment::Combine(combination) => self.combined(combination, &[a]),
        })
    }

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

/// The plaintext of one value in every slot.
fn constant(a: &Ciphertext, value: Complex64, scale: f64) -> Result<Plaintext> {
    let encoding = Encoding { level: a.level(), scale: Some(scale), bound: None };
    a.parameters().encode_constant(value, a.slots(), encoding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ckks::{Parameters, ParametersLiteral};
    use crate::core::keys::SecretKey;

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
            let products =
                secret.decrypt(&product, product.estimate()).unwrap().decode_real().unwrap();
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
}
