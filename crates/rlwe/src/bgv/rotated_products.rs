//! Sums of products of ciphertexts, for all rotations of one side at once.

use std::fmt;
use std::sync::Arc;

use rayon::prelude::*;

use super::ciphertext::Ciphertext;
use super::estimate::Estimate;
use super::evaluator::Evaluator;
use super::noise::{Noise, NoiseModel};
use super::parameters::Parameters;
use crate::core::keys::KeyId;
use crate::core::rotated_products::{UnswitchedProducts, check_pairs, check_runs, has_repeats};
use crate::ring::division::Division;
use crate::ring::poly::Poly;
use crate::{Error, Result};

/// P_t, the sum over j of left_j, both rows rotated to the left by t steps, times right_j, for
/// every t.
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
    /// What is known of each product: level, correction factor, noise.
    pub fn estimate(&self) -> &Estimate {
        &self.estimate
    }

    /// Their parameters.
    pub fn parameters(&self) -> &Parameters {
        self.estimate.parameters()
    }

    /// How often the modulus of what they are switched to can be switched.
    pub fn level(&self) -> usize {
        self.estimate.level()
    }

    /// Slots that the left side is rotated by from one product to the next.
    pub fn step(&self) -> usize {
        self.products.step()
    }

    /// How many products there are: slots of a row divided by the step.
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
    /// For every t below slots / `step` the sum over j of left_j, both rows rotated to the left by
    /// t `step` slots, times right_j; no keys are needed, none is switched.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a step that is no power of two up to the slots of a row, for
    /// lists that are empty or not as long as one another, and for unlike correction factors within
    /// a side; [`Error::LevelMismatch`], [`Error::DegreeMismatch`], [`Error::NoiseExhausted`],
    /// [`Error::KeyMismatch`], [`Error::ParametersMismatch`].
    ///
    /// ```
    /// use rlwe::bgv::{Evaluator, Parameters, ParametersLiteral};
    /// use rlwe::keys::{EvaluationKeysRequest, SecretKey};
    ///
    /// let literal = ParametersLiteral { levels: 1, ..Default::default() };
    /// let parameters = Parameters::new(literal)?;
    /// let secret = SecretKey::generate(&parameters)?;
    /// let step = parameters.slots() / 2;
    /// let rotations = vec![(step as i64, 1)];
    /// let request = EvaluationKeysRequest {
    ///     rotated_products: rotations.clone(), rotations, ..Default::default()
    /// };
    /// let evaluator = Evaluator::new(secret.evaluation_keys(&request)?);
    /// let encrypt = |values: &[i64]| {
    ///     let all: Vec<i64> = (0..parameters.slots()).map(|slot| values[slot / step]).collect();
    ///     secret.encrypt_integers(&parameters.encode(&all, 1)?)
    /// };
    /// let (a, b) = (encrypt(&[1, 2])?, encrypt(&[3, 4])?);
    /// let (c, d) = (encrypt(&[5, 6])?, encrypt(&[7, 8])?);
    ///
    /// let products = evaluator.rotated_products(&[&a, &b], &[&c, &d], step)?;
    /// let values = secret.decrypt_integers(&evaluator.switch_product(&products, 1)?)?;
    /// // 2 * 5 + 4 * 7 in the first half, 1 * 6 + 3 * 8 in the second.
    /// assert_eq!((values[0], values[step]), (38, 30));
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
        let mut estimate = Estimate::rotated_products(&lefts, &rights)?;
        let [left, right] =
            [left, right].map(|side| -> Vec<&[Poly]> { side.iter().map(|a| &*a.polys).collect() });
        let ring = self.parameters().ring();
        if has_repeats(ring, &left) || has_repeats(ring, &right) {
            estimate = Estimate::repeated_products(&lefts, &rights)?;
        }
        let products = UnswitchedProducts::new(ring, &left, &right, step).into();
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
        let mut estimate = Estimate::rotated_products(&lefts, &rights)?;
        let [left, right] =
            [left, right].map(|side| -> Vec<&[Poly]> { side.iter().map(|a| &*a.polys).collect() });
        let ring = self.parameters().ring();
        if has_repeats(ring, &left) || has_repeats(ring, &right) {
            estimate = Estimate::repeated_products(&lefts, &rights)?;
        }
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
    /// [`Error::InvalidArgument`] for another step or correction factor,
    /// [`Error::LevelMismatch`], [`Error::NoiseExhausted`], [`Error::KeyMismatch`],
    /// [`Error::ParametersMismatch`].
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

    /// The product at a rotation by t steps, as a ciphertext, its modulus as it was: two
    /// decompositions and one division, by the Galois key and the product key of that rotation; by
    /// the relinearisation key for t = 0.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a t that is not below [`RotatedProducts::count`],
    /// [`Error::MissingKey`], [`Error::NoiseExhausted`], [`Error::KeyMismatch`],
    /// [`Error::ParametersMismatch`].
    pub fn switch_product(&self, products: &RotatedProducts, t: usize) -> Result<Ciphertext> {
        let division = |level| self.parameters().division_by_special(level);
        self.switched_product(products, t, Estimate::switch_product, division)
    }

    /// [`Self::switch_product`], one level down in the same division.
    ///
    /// # Errors
    /// Those of [`Self::switch_product`]; [`Error::LevelExhausted`] at level 0.
    pub fn switch_product_and_modulus(
        &self,
        products: &RotatedProducts,
        t: usize,
    ) -> Result<Ciphertext> {
        let division = |level| self.parameters().rescale_from_extended(level);
        self.switched_product(products, t, Estimate::switch_product_and_modulus, division)
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
        let ring = self.parameters().ring();
        let mut polys = products.products.get(ring, t);
        // Both sides are divided by t, their product is to be once.
        for poly in &mut polys {
            poly.par_limbs_mut().shared().for_each(|(position, limb)| {
                products.parameters().scale_by_modulus(ring.modulus(position), limb);
            });
        }
        let polys = self.keys.switch_product(level, polys, &keys, division(level));
        Ok(Ciphertext { estimate, key: products.key, polys: polys.into(), seed: None })
    }
}

impl Estimate {
    /// What [`Evaluator::rotated_products`] gives for ciphertexts like these, none of which comes
    /// twice on one side: see [`super::NoiseModel::products`] for their noise.
    ///
    /// # Errors
    /// Those of [`Evaluator::rotated_products`].
    pub fn rotated_products(left: &[&Self], right: &[&Self]) -> Result<Self> {
        Self::products(left, right, |parameters, left, right, terms| {
            parameters.noise_model().products(left, right, terms, parameters.special_bits())
        })
    }

    /// The same where a ciphertext comes several times: errors add up as messages do.
    fn repeated_products(left: &[&Self], right: &[&Self]) -> Result<Self> {
        Self::products(left, right, |_, left, right, terms| {
            NoiseModel::worst_products(left, right, terms)
        })
    }

    fn products(
        left: &[&Self],
        right: &[&Self],
        noise: impl Fn(&Parameters, Noise, Noise, usize) -> Noise,
    ) -> Result<Self> {
        let operation = "multiply rotated";
        check_pairs(left.len(), right.len(), operation)?;
        let [one, other] = [left, right].map(|side| side[0]);
        for (side, first) in [(left, one), (right, other)] {
            for a in side {
                one.check_term(a, first.factor, operation)?;
            }
        }
        let loudest = |side: &[&Self]| {
            let noises = side.iter().map(|a| a.noise);
            noises.reduce(Noise::or).expect("at least one ciphertext")
        };
        let noise = noise(&one.parameters, loudest(left), loudest(right), left.len());
        let factor = one.parameters.t().mul(one.factor, other.factor);
        Self { degree: 2, factor, noise, ..one.clone() }.checked(operation)
    }

    fn check_term(&self, other: &Self, factor: u32, operation: &'static str) -> Result<()> {
        self.parameters.check_same(&other.parameters, operation)?;
        self.check_level(other.level, operation)?;
        other.check_degree_1(operation)?;
        check_factor(factor, other.factor, operation)
    }

    /// What [`Evaluator::add_rotated_products`] gives.
    ///
    /// # Errors
    /// Those of [`Evaluator::add_rotated_products`] but for steps and keys;
    /// [`Error::DegreeMismatch`] for what is no estimate of products.
    pub fn add_rotated_products(&self, other: &Self) -> Result<Self> {
        let operation = "add rotated products";
        self.parameters.check_same(&other.parameters, operation)?;
        self.check_products(operation)?;
        other.check_products(operation)?;
        self.check_level(other.level, operation)?;
        check_factor(self.factor, other.factor, operation)?;
        self.with_noise(self.noise.plus(other.noise)).checked(operation)
    }

    /// What [`Evaluator::switch_product`] gives.
    ///
    /// # Errors
    /// [`Error::DegreeMismatch`] for what is no estimate of products, [`Error::NoiseExhausted`].
    pub fn switch_product(&self) -> Result<Self> {
        let operation = "switch a product";
        let switched = self.product_switched(operation)?;
        switched.with_noise(switched.noise.plus(self.model().rounding(1))).checked(operation)
    }

    /// What [`Evaluator::switch_product_and_modulus`] gives.
    ///
    /// # Errors
    /// Those of [`Self::switch_product`]; [`Error::LevelExhausted`] at level 0.
    pub fn switch_product_and_modulus(&self) -> Result<Self> {
        let operation = "switch the modulus";
        let below = self.level_below(operation)?;
        self.product_switched(operation)?.divided(below, 1).checked(operation)
    }

    /// After two key switches, the rounding of their division left out.
    fn product_switched(&self, operation: &'static str) -> Result<Self> {
        self.check_products(operation)?;
        let once = self.key_switching_noise();
        let noise = self.noise.plus(once).plus(once);
        Self { degree: 1, ..self.with_noise(noise) }.checked(operation)
    }

    fn check_products(&self, operation: &'static str) -> Result<()> {
        if self.degree == 2 {
            return Ok(());
        }
        Err(Error::DegreeMismatch { operation, expected: 2, actual: self.degree })
    }
}

fn check_factor(expected: u32, actual: u32, operation: &'static str) -> Result<()> {
    if expected == actual {
        return Ok(());
    }
    let reason = format!(
        "expected one correction factor throughout, got {expected} and {actual}; switch one of the ciphertexts to the factor of the other"
    );
    Err(Error::InvalidArgument { operation, reason })
}
