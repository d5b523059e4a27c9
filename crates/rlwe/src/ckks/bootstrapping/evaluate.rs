//! Bootstrapping of ciphertexts.

use super::circuit::{BootstrappingArithmetic, bootstrap, bootstrap_pair};
use super::parameters::Packing;
use super::refresh::Bootstrapping;
use crate::ckks::ciphertext::Ciphertext;
use crate::ckks::estimate::Estimate;
use crate::ckks::evaluator::Evaluator;
use crate::core::key_switching::Step;
use crate::ring::automorphism::conjugation_element;
use crate::{Error, Result, parallel};

const BOOTSTRAP: &str = "bootstrap";

/// How far the bound of a ciphertext may stand above the one that is declared: both are products
/// of doubles.
const BOUND_SLACK: f64 = 1e-9;

impl Evaluator {
    /// The same values at [`output_level`](super::BootstrappingParameters::output_level), however low the level was.
    ///
    /// The level of a must be at least [`Bootstrapping::input_level`]; what it has beyond
    /// that is given up. Precision is that of [`Estimate::bootstrap`]. Of [`Packing::Coefficients`]
    /// the bound of a is that of its coefficients times the root of their number. A coefficient overflows with
    /// a chance below 2^-[`failure_bits`](super::BootstrappingParameters::failure_bits), and then every slot is wrong.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] below the input level, [`Error::ValueOutOfRange`] for values that
    /// may exceed the bound of the parameters, [`Error::SlotMismatch`] for another number of slots,
    /// [`Error::MissingKey`], [`Error::DegreeMismatch`], [`Error::KeyMismatch`],
    /// [`Error::ParametersMismatch`].
    pub fn bootstrap(&self, a: &Ciphertext, bootstrapping: &Bootstrapping) -> Result<Ciphertext> {
        self.check(a, BOOTSTRAP)?;
        parallel::in_pool(|| bootstrap(self, a, bootstrapping))
    }

    /// [`Self::bootstrap`] of two ciphertexts of real numbers at once: all but EvalMod is done once,
    /// for a + i b, and no part of what is refreshed is noise alone.
    ///
    /// Each may be as large as the bound, as SlotsToCoeffs makes coefficients of a and of b, which are
    /// reduced one by one: |a + i b| may be larger by the square root of 2. Imaginary parts, which are
    /// noise, go over into the other; precision is that of [`Estimate::bootstrap_pair`]. Both are
    /// wrong together with the chance with which one is.
    ///
    /// # Errors
    /// Those of [`Self::bootstrap`], [`Error::ScaleMismatch`], and [`Error::InvalidArgument`] for
    /// [`Packing::Coefficients`].
    pub fn bootstrap_pair(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        bootstrapping: &Bootstrapping,
    ) -> Result<[Ciphertext; 2]> {
        self.check(a, BOOTSTRAP)?;
        self.check(b, BOOTSTRAP)?;
        parallel::in_pool(|| bootstrap_pair(self, a, b, bootstrapping))
    }
}

impl BootstrappingArithmetic for Evaluator {
    type Circuit = Bootstrapping;

    fn bootstrapping<'a>(&self, circuit: &'a Bootstrapping) -> &'a Bootstrapping {
        circuit
    }

    fn known_as(&self, a: Ciphertext, estimate: Estimate) -> Ciphertext {
        Ciphertext { estimate, seed: None, ..a }
    }

    fn transform_and_rescale(
        &self,
        a: &Ciphertext,
        circuit: &Bootstrapping,
        index: usize,
        estimate: Estimate,
    ) -> Result<Ciphertext> {
        let transform = circuit.transform(index);
        let total = self.transformed(a, transform)?;
        let division = self.parameters().rescale_from_extended(transform.level());
        let polys = division.apply_to_all(self.parameters().ring(), total.each_ref());
        Ok(a.with(estimate, polys))
    }

    fn raise(&self, a: &Ciphertext, _: &Bootstrapping, estimate: Estimate) -> Result<Ciphertext> {
        let encapsulation = self.keys.encapsulation(BOOTSTRAP)?;
        let polys = encapsulation.raise(self.parameters(), estimate.level, &a.polys);
        Ok(a.with(estimate, polys))
    }

    fn add_rotated(&self, a: &Ciphertext, rotation: i64, estimate: Estimate) -> Result<Ciphertext> {
        let step = self.keys.steps(&[rotation], a.level(), BOOTSTRAP)?[0];
        let added: [Step<'_>; 2] = [None, step];
        Ok(a.with(estimate, self.keys.rotate_sum(&a.polys, a.level(), &added, &[])))
    }

    fn conjugate(&self, a: &Ciphertext) -> Result<Ciphertext> {
        let element = conjugation_element(self.parameters().log_n());
        let name = || "Galois key for conjugation".to_string();
        let key = self.keys.galois_key(element, a.level(), BOOTSTRAP, name)?;
        let polys = self.keys.apply_automorphism(&a.polys, a.level(), (element, key));
        Ok(a.with(a.estimate.clone(), polys))
    }

    fn multiply_imaginary(&self, a: &mut Ciphertext) -> Result<()> {
        let ring = self.parameters().ring();
        a.polys_mut().iter_mut().for_each(|poly| ring.mul_imaginary(poly));
        Ok(())
    }

    fn add_part(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<()> {
        let ring = self.parameters().ring();
        a.polys_mut().iter_mut().zip(&*b.polys).for_each(|(x, y)| ring.add(x, y));
        Ok(())
    }

    fn subtract_part(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<()> {
        let ring = self.parameters().ring();
        a.polys_mut().iter_mut().zip(&*b.polys).for_each(|(x, y)| ring.sub(x, y));
        Ok(())
    }
}

impl Estimate {
    /// What [`Evaluator::bootstrap`] gives.
    ///
    /// # Errors
    /// Those of [`Evaluator::bootstrap`] but for keys.
    pub fn bootstrap(&self, bootstrapping: &Bootstrapping) -> Result<Self> {
        let (refreshed, ratio) = self.at_the_output(bootstrapping)?;
        Ok(bootstrapping.noise.refreshed(&refreshed, ratio))
    }

    /// What [`Evaluator::bootstrap_pair`] gives.
    ///
    /// The real part of one error meets the imaginary part of the other. Where errors of both came
    /// by real factors from independent complex ones, as in computations of real numbers, that is at
    /// most the root of both squares (Cauchy and Schwarz), however the two depend on each other.
    ///
    /// # Errors
    /// Those of [`Evaluator::bootstrap_pair`] but for keys.
    pub fn bootstrap_pair(&self, other: &Self, bootstrapping: &Bootstrapping) -> Result<[Self; 2]> {
        if bootstrapping.packing == Packing::Coefficients {
            let reason = "two vectors are refreshed at once where they are in slots".to_string();
            return Err(Error::InvalidArgument { operation: BOOTSTRAP, reason });
        }
        let (first, ratio) = self.at_the_output(bootstrapping)?;
        let (second, _) = other.at_the_output(bootstrapping)?;
        let misread = second.scale_error(first.scale, BOOTSTRAP)?;
        let deviation = first.deviation.hypot(second.deviation);
        let of = |each: &Self, misread: f64| {
            let joined = each.with(deviation + misread, each.bound);
            bootstrapping.pair_noise.refreshed(&Self { scale: first.scale, ..joined }, ratio)
        };
        Ok([of(&first, 0.0), of(&second, misread)])
    }

    /// The same values at the level of a refreshed ciphertext, and by how much a value in
    /// coefficients has a smaller scale than the canonical one.
    fn at_the_output(&self, bootstrapping: &Bootstrapping) -> Result<(Self, f64)> {
        let Bootstrapping { parameters, slots, packing, .. } = bootstrapping;
        self.parameters.check_same(parameters.parameters(), BOOTSTRAP)?;
        self.check_degree(1, BOOTSTRAP)?;
        if self.slots != *slots {
            let (expected, actual) = (*slots, self.slots);
            return Err(Error::SlotMismatch { operation: BOOTSTRAP, expected, actual });
        }
        let level = bootstrapping.input_level();
        if self.level < level {
            let (needed, available) = (level, self.level);
            return Err(Error::LevelExhausted { operation: BOOTSTRAP, needed, available });
        }
        let lowered = if self.level > level {
            self.align(level, self.parameters.scale(level)?)?
        } else {
            self.clone()
        };
        let base_scale = lowered.scale * bootstrapping.down_gain()?;
        let ratio = parameters.base_scale() / base_scale;
        let mut bound = parameters.literal().bound * ratio;
        let lowered = match packing {
            Packing::Coefficients => {
                bound *= std::f64::consts::SQRT_2;
                lowered.of_coefficients()
            }
            Packing::Complex | Packing::Real => lowered,
        };
        if lowered.bound > bound * (1.0 + BOUND_SLACK) {
            let value = lowered.bound;
            return Err(Error::ValueOutOfRange { operation: BOOTSTRAP, value, bound });
        }
        let level = parameters.output_level();
        let scale = self.parameters.scale(level)? * base_scale / bootstrapping.message_scale()?;
        Ok((Self { level, scale, ..lowered }, ratio))
    }

    /// The same of slots that hold two coefficients of these values each: a slot of a polynomial
    /// has in the mean the squares of all of them.
    fn of_coefficients(&self) -> Self {
        let root = (self.slots as f64).sqrt();
        Self { deviation: self.deviation / root, bound: self.bound / root, ..self.clone() }
    }
}
