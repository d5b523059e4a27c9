//! Sums of products of ciphertexts, for all rotations of one side at once.

use std::fmt;
use std::sync::Arc;

use rayon::prelude::*;

use super::ciphertext::Ciphertext;
use super::estimate::Estimate;
use super::evaluator::Evaluator;
use super::parameters::Parameters;
use crate::core::keys::KeyId;
use crate::core::rotated_products::{UnswitchedProducts, check_pairs, check_runs};
use crate::ring::division::Division;
use crate::ring::poly::Poly;
use crate::{Error, Result, parallel};

/// P_t, the sum over j of left_j, rotated to the left by t steps, times right_j, for every t.
///
/// Each is four polynomials of which no key was switched yet: they can be added, and one by one
/// switched to ciphertexts. Cloning shares them.
#[derive(Debug, Clone)]
pub struct RotatedProducts {
    pub(crate) estimate: Estimate,
    pub(crate) key: KeyId,
    pub(crate) products: Arc<UnswitchedProducts>,
}

impl RotatedProducts {
    /// What is known of each product: level, scale, precision, bound.
    pub fn estimate(&self) -> &Estimate {
        &self.estimate
    }

    /// Their parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.estimate.parameters
    }

    /// How many times what they are switched to can be rescaled.
    pub fn level(&self) -> usize {
        self.estimate.level
    }

    /// The product of the scales of both sides.
    pub fn scale(&self) -> f64 {
        self.estimate.scale
    }

    /// Slots that the left side is rotated by from one product to the next.
    pub fn step(&self) -> usize {
        self.products.step()
    }

    /// How many products there are: slots divided by the step.
    pub fn count(&self) -> usize {
        self.products.count()
    }

    /// Which secret key they belong to: a random public label.
    pub fn key_id(&self) -> [u8; 16] {
        self.key
    }

    /// Bytes in memory.
    pub fn nbytes(&self) -> usize {
        self.products.nbytes()
    }

    /// Bytes of one of the products: of four polynomials.
    pub fn product_nbytes(&self) -> usize {
        self.nbytes() / self.count()
    }
}

impl fmt::Display for RotatedProducts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} products by {} slots, {}", self.count(), self.step(), self.estimate)
    }
}

impl Evaluator {
    /// For every t below slots / `step` the sum over j of left_j, rotated to the left by t `step`
    /// slots, times right_j; no keys are needed, none is switched.
    ///
    /// It takes as many multiplications of residues as 4 `slots` / `step` products of a ciphertext
    /// for each pair, in the order of a product of matrices, which is by far the fastest.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a step that is no power of two up to the slots, and for lists
    /// that are empty or not as long as one another; [`Error::LevelMismatch`];
    /// [`Error::ScaleMismatch`] within a side; [`Error::SlotMismatch`] unless the packing is full;
    /// [`Error::DegreeMismatch`]; [`Error::ScaleOutOfRange`] when the products do not fit the
    /// modulus; [`Error::KeyMismatch`], [`Error::ParametersMismatch`].
    ///
    /// ```
    /// use rlwe::ckks::{Encoding, Evaluator, Parameters, ParametersLiteral};
    /// use rlwe::keys::{EvaluationKeysRequest, SecretKey};
    ///
    /// let parameters = Parameters::new(ParametersLiteral { levels: 1, ..Default::default() })?;
    /// let secret = SecretKey::generate(&parameters)?;
    /// let step = parameters.slots() / 2;
    /// let rotations = vec![(step as i64, 1)];
    /// let request = EvaluationKeysRequest {
    ///     rotated_products: rotations.clone(), rotations, ..Default::default()
    /// };
    /// let evaluator = Evaluator::new(secret.evaluation_keys(&request)?);
    /// let encrypt = |values: &[f64]| {
    ///     let all: Vec<f64> = (0..parameters.slots()).map(|slot| values[slot / step]).collect();
    ///     secret.encrypt(&parameters.encode_real(&all, Encoding::at(1).within(4.0))?)
    /// };
    /// let (a, b) = (encrypt(&[1.0, 2.0])?, encrypt(&[3.0, 4.0])?);
    /// let (c, d) = (encrypt(&[0.5, 1.0])?, encrypt(&[2.0, 3.0])?);
    ///
    /// let products = evaluator.rotated_products(&[&a, &b], &[&c, &d], step)?;
    /// let sum = evaluator.switch_product_and_rescale(&products, 1)?;
    /// let values = secret.decrypt(&sum, sum.estimate())?.decode_real()?;
    /// // 2.0 * 0.5 + 4.0 * 2.0 in the first half, 1.0 * 1.0 + 3.0 * 3.0 in the second.
    /// assert!((values[0] - 9.0).abs() < 1e-4 && (values[step] - 10.0).abs() < 1e-4);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn rotated_products(
        &self,
        left: &[&Ciphertext],
        right: &[&Ciphertext],
        step: usize,
    ) -> Result<RotatedProducts> {
        let operation = "multiply rotated";
        for a in left.iter().chain(right) {
            self.check(a, operation)?;
        }
        self.parameters().check_step(step, operation)?;
        let [lefts, rights] = [left, right]
            .map(|side| -> Vec<&Estimate> { side.iter().map(|a| a.estimate()).collect() });
        let estimate = Estimate::rotated_products(&lefts, &rights)?;
        let [left, right] =
            [left, right].map(|side| -> Vec<&[Poly]> { side.iter().map(|a| &*a.polys).collect() });
        let products =
            UnswitchedProducts::new(self.parameters().ring(), &left, &right, step).into();
        Ok(RotatedProducts { estimate, key: self.keys.id, products })
    }

    /// For every t below d = slots / `step` the sum over runs of d ciphertexts, and over r, of
    /// left_(r-t), with r - t modulo d, rotated to the left by t `step` slots, times right_r.
    ///
    /// Where a run holds the diagonals of matrices, left_r[h] = A[h, h + r] and
    /// right_r[h] = B[h + r, h] in rows of `step` slots, the products are those of A B:
    /// C[h + t, h]. They cost what [`Self::rotated_products`] costs.
    ///
    /// # Errors
    /// Those of [`Self::rotated_products`]; [`Error::InvalidArgument`] for lists that are not of
    /// runs of d.
    pub fn diagonal_products(
        &self,
        left: &[&Ciphertext],
        right: &[&Ciphertext],
        step: usize,
    ) -> Result<RotatedProducts> {
        let operation = "multiply diagonals";
        for a in left.iter().chain(right) {
            self.check(a, operation)?;
        }
        self.parameters().check_step(step, operation)?;
        check_runs(left.len(), self.parameters().slots() / step, operation)?;
        let [lefts, rights] = [left, right]
            .map(|side| -> Vec<&Estimate> { side.iter().map(|a| a.estimate()).collect() });
        let estimate = Estimate::diagonal_products(&lefts, &rights)?;
        let [left, right] =
            [left, right].map(|side| -> Vec<&[Poly]> { side.iter().map(|a| &*a.polys).collect() });
        let ring = self.parameters().ring();
        let products = UnswitchedProducts::of_diagonals(ring, &left, &right, step).into();
        Ok(RotatedProducts { estimate, key: self.keys.id, products })
    }

    fn check_products(&self, a: &RotatedProducts, operation: &'static str) -> Result<()> {
        self.parameters().check_same(a.parameters(), operation)?;
        if a.key == self.keys.id { Ok(()) } else { Err(Error::KeyMismatch { operation }) }
    }

    /// The products of both lists, one after the other.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for another step, [`Error::LevelMismatch`],
    /// [`Error::ScaleMismatch`], [`Error::KeyMismatch`], [`Error::ParametersMismatch`].
    pub fn add_rotated_products(
        &self,
        a: &RotatedProducts,
        b: &RotatedProducts,
    ) -> Result<RotatedProducts> {
        let operation = "add rotated products";
        self.check_products(a, operation)?;
        self.check_products(b, operation)?;
        if a.step() != b.step() {
            let reason = format!("expected products by {} slots, got {}", a.step(), b.step());
            return Err(Error::InvalidArgument { operation, reason });
        }
        let estimate = a.estimate.add_rotated_products(&b.estimate)?;
        let mut products = Arc::clone(&a.products);
        Arc::make_mut(&mut products).add(self.parameters().ring(), &b.products);
        Ok(RotatedProducts { estimate, products, ..*a })
    }

    /// The product at a rotation by t steps, as a ciphertext, not rescaled: two decompositions and
    /// one division, by the Galois key and the product key of that rotation; by the
    /// relinearisation key for t = 0.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a t that is not below [`RotatedProducts::count`],
    /// [`Error::MissingKey`], [`Error::KeyMismatch`], [`Error::ParametersMismatch`].
    pub fn switch_product(&self, products: &RotatedProducts, t: usize) -> Result<Ciphertext> {
        let division = |level| self.parameters().division_by_special(level);
        self.switched_product(products, t, Estimate::switch_product, division)
    }

    /// [`Self::switch_product`] and [`Self::rescale`] in one division.
    ///
    /// # Errors
    /// Those of [`Self::switch_product`] and [`Self::rescale`].
    pub fn switch_product_and_rescale(
        &self,
        products: &RotatedProducts,
        t: usize,
    ) -> Result<Ciphertext> {
        let division = |level| self.parameters().rescale_from_extended(level);
        self.switched_product(products, t, Estimate::switch_product_and_rescale, division)
    }

    /// [`Self::switch_product_and_rescale`] at each of several rotations: each is one thread's, but
    /// for those that would leave threads without one.
    ///
    /// # Errors
    /// Those of [`Self::switch_product_and_rescale`].
    pub fn switch_products_and_rescale(
        &self,
        products: &RotatedProducts,
        rotations: &[usize],
    ) -> Result<Vec<Ciphertext>> {
        let switched = |&t: &usize| self.switch_product_and_rescale(products, t);
        let (apart, shared) =
            rotations.split_at(rotations.len() - rotations.len() % parallel::threads());
        let apart = parallel::over(apart).shared();
        let mut made: Vec<Ciphertext> =
            apart.map(|t| parallel::on_this_thread(|| switched(t))).collect::<Result<_>>()?;
        for t in shared {
            made.push(switched(t)?);
        }
        Ok(made)
    }

    fn switched_product<'a>(
        &'a self,
        products: &RotatedProducts,
        t: usize,
        switched: impl Fn(&Estimate) -> Result<Estimate>,
        division: impl Fn(usize) -> &'a Division,
    ) -> Result<Ciphertext> {
        let operation = "switch a product";
        self.check_products(products, operation)?;
        products.products.check_rotation(t, operation)?;
        let level = products.level();
        let keys = self.keys.product_keys((t * products.step()) as i64, level, operation)?;
        let estimate = switched(&products.estimate)?;
        let polys = products.products.get(self.parameters().ring(), t);
        let polys = self.keys.switch_product(level, polys, &keys, division(level));
        Ok(Ciphertext { estimate, key: products.key, polys: polys.into(), seed: None })
    }
}

/// A number of 20 bits after the first a little above `x` and all that differ in rounding alone.
fn coarsened(x: f64) -> f64 {
    // Sums are often powers of two but for rounding: these do not stand near an edge.
    const OFF_EDGE: f64 = 1.0 + 1.0 / (1u64 << 30) as f64;
    const LOW_BITS: u64 = (1 << 32) - 1;
    f64::from_bits(((x * OFF_EDGE).to_bits() | LOW_BITS) + 1)
}

impl Estimate {
    /// What [`Evaluator::rotated_products`] gives for ciphertexts like these.
    ///
    /// The errors of different terms count as independent, as they are of different ciphertexts:
    /// their squares add up. A ciphertext that comes several times in a list errs by more.
    ///
    /// # Errors
    /// Those of [`Evaluator::rotated_products`].
    pub fn rotated_products(left: &[&Self], right: &[&Self]) -> Result<Self> {
        let operation = "multiply rotated";
        check_pairs(left.len(), right.len(), operation)?;
        let (first, other) = (left[0], right[0]);
        let full = first.parameters.slots();
        if first.slots != full {
            return Err(Error::SlotMismatch { operation, expected: full, actual: first.slots });
        }
        let scale = first.scale * other.scale;
        first.parameters.check_scale(first.level, scale, operation)?;
        // The deviation of one side's values, read at the scale of its first.
        let deviation = |of: &Self, as_first: &Self| -> Result<f64> {
            first.check_operand(of, operation)?;
            of.check_degree(1, operation)?;
            Ok(of.deviation + of.scale_error(as_first.scale, operation)?)
        };
        let (mut square, mut bound) = (0.0, 0.0);
        for (a, b) in left.iter().zip(right) {
            let (x, y) = (deviation(a, first)?, deviation(b, other)?);
            // Both sides may hold one and the same ciphertext, whose errors add up.
            let error = x * b.bound + y * a.bound + x * y;
            square += error * error;
            bound += a.bound * b.bound;
        }
        let product = Self { scale, degree: 2, ..first.clone() };
        Ok(product.with(f64::sqrt(square), bound))
    }

    /// What [`Evaluator::diagonal_products`] gives: every left ciphertext meets every right one of
    /// its run, and counts as the worst of them.
    ///
    /// # Errors
    /// Those of [`Evaluator::diagonal_products`] but for runs, steps and keys.
    pub fn diagonal_products(left: &[&Self], right: &[&Self]) -> Result<Self> {
        let operation = "multiply diagonals";
        check_pairs(left.len(), right.len(), operation)?;
        let first = left[0];
        let (mut deviation, mut bound) = (0.0f64, 0.0f64);
        for a in left {
            first.check_operand(a, operation)?;
            a.check_degree(1, operation)?;
            deviation = deviation.max(a.deviation + a.scale_error(first.scale, operation)?);
            bound = bound.max(a.bound);
        }
        let worst = first.with(deviation, bound);
        Self::rotated_products(&vec![&worst; left.len()], right)
    }

    /// What [`Evaluator::add_rotated_products`] gives: the errors count as independent.
    ///
    /// # Errors
    /// Those of [`Evaluator::add_rotated_products`] but for steps and keys;
    /// [`Error::DegreeMismatch`] for what is no estimate of products.
    pub fn add_rotated_products(&self, other: &Self) -> Result<Self> {
        let operation = "add rotated products";
        self.check_degree(2, operation)?;
        other.check_degree(2, operation)?;
        self.check_operand(other, operation)?;
        let deviation = other.deviation + other.scale_error(self.scale, operation)?;
        Ok(self.with(self.deviation.hypot(deviation), self.bound + other.bound))
    }

    /// What [`Evaluator::switch_product`] gives.
    ///
    /// # Errors
    /// [`Error::DegreeMismatch`] for what is no estimate of products.
    pub fn switch_product(&self) -> Result<Self> {
        self.check_degree(2, "switch a product")?;
        let rounding = self.parameters.rounding_deviation(1);
        let switching = self.product_switching_deviation();
        let whole = self.in_any_order();
        Ok(Self { degree: 1, ..whole.with_coefficient_error(switching.hypot(rounding)) })
    }

    /// What [`Evaluator::switch_product_and_rescale`] gives.
    ///
    /// # Errors
    /// Those of [`Self::switch_product`] and [`Self::rescale`].
    pub fn switch_product_and_rescale(&self) -> Result<Self> {
        self.check_degree(2, "switch a product")?;
        let scale = self.rescaled_scale()?;
        let whole = self.in_any_order();
        let switched = whole.with_coefficient_error(self.product_switching_deviation());
        Self { degree: 1, ..switched }.rescaled_to(scale)
    }

    /// With numbers that are the same in whichever order and parts the terms were summed.
    ///
    /// Sums of products are the same residues in any order; of these numbers the last bits are not.
    fn in_any_order(&self) -> Self {
        self.with(coarsened(self.deviation), coarsened(self.bound))
    }

    /// That of two key switches.
    fn product_switching_deviation(&self) -> f64 {
        let once = self.parameters.key_switching_deviation(self.level);
        once.hypot(once)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ckks::{Encoding, ParametersLiteral};
    use crate::core::key_switching::counts::DECOMPOSITIONS;
    use crate::keys::{EvaluationKeysRequest, SecretKey};
    use crate::parallel::on_this_thread;
    use crate::ring::division::counts::DIVISIONS;

    #[test]
    fn a_switch_takes_two_decompositions_and_one_division() {
        let literal = ParametersLiteral {
            log_n: Some(6),
            levels: 1,
            digits: Some(2),
            insecure: true,
            ..ParametersLiteral::default()
        };
        let parameters = Parameters::new(literal).unwrap();
        let secret = SecretKey::generate(&parameters).unwrap();
        let rotations = vec![(0, 1), (16, 1)];
        let request = EvaluationKeysRequest {
            rotated_products: rotations.clone(),
            rotations,
            ..Default::default()
        };
        let evaluator = Evaluator::new(secret.evaluation_keys(&request).unwrap());
        let encoding = Encoding::at(1).within(1.0);
        let x = parameters.encode_real(&[0.5; 32], encoding).unwrap();
        let x = secret.encrypt(&x).unwrap();
        let counts = || [DECOMPOSITIONS.get(), DIVISIONS.get()];
        let count = |work: &dyn Fn()| {
            let before = counts();
            on_this_thread(work);
            let after = counts();
            [after[0] - before[0], after[1] - before[1]]
        };
        let products = evaluator.rotated_products(&[&x; 9], &[&x; 9], 16).unwrap();
        let products_alone = || drop(evaluator.rotated_products(&[&x; 9], &[&x; 9], 16).unwrap());
        assert_eq!(count(&products_alone), [0, 0]);
        for (t, decompositions) in [(0, 1), (1, 2)] {
            let whole = || drop(evaluator.switch_product(&products, t).unwrap());
            assert_eq!(count(&whole), [decompositions, 1]);
            let fused = || drop(evaluator.switch_product_and_rescale(&products, t).unwrap());
            assert_eq!(count(&fused), [decompositions, 1]);
        }
    }
}
