//! Bootstrapping of ciphertexts.

use super::parameters::Packing;
use super::reduction::{reduce, within_the_circuit};
use super::refresh::Bootstrapping;
use crate::ckks::ciphertext::Ciphertext;
use crate::ckks::estimate::Estimate;
use crate::ckks::evaluator::Evaluator;
use crate::ckks::linear_transform::LinearTransform;
use crate::core::key_switching::Step;
use crate::ring::automorphism::conjugation_element;
use crate::ring::poly::Poly;
use crate::{Error, Result, parallel};

const BOOTSTRAP: &str = "bootstrap";

/// How far the bound of a ciphertext may stand above the one that is declared: both are products
/// of doubles.
const BOUND_SLACK: f64 = 1e-9;

impl Evaluator {
    /// The same values at [`output_level`](super::BootstrappingParameters::output_level), however low the level was.
    ///
    /// The level of a must be at least [`Bootstrapping::input_level`]; what it has beyond
    /// that is given up. Precision is that of [`Estimate::bootstrap`]. A coefficient overflows with
    /// a chance below 2^-[`failure_bits`](super::BootstrappingParameters::failure_bits), and then every slot is wrong.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] below the input level, [`Error::ValueOutOfRange`] for values that
    /// may exceed the bound of the parameters, [`Error::SlotMismatch`] for another number of slots,
    /// [`Error::MissingKey`], [`Error::DegreeMismatch`], [`Error::KeyMismatch`],
    /// [`Error::ParametersMismatch`].
    pub fn bootstrap(&self, a: &Ciphertext, bootstrapping: &Bootstrapping) -> Result<Ciphertext> {
        self.check(a, BOOTSTRAP)?;
        let estimate = a.estimate.bootstrap(bootstrapping)?;
        let polys = parallel::in_pool(|| self.refreshed(a, bootstrapping))?;
        Ok(a.with(estimate, polys))
    }

    fn refreshed(&self, a: &Ciphertext, bootstrapping: &Bootstrapping) -> Result<Vec<Poly>> {
        let level = bootstrapping.input_level();
        let mut value = if a.level() > level {
            self.align(a, level, a.parameters().scale(level)?)?
        } else {
            a.clone()
        };
        for transform in &bootstrapping.slots_to_coefficients {
            value = self.transform_and_rescale(&value, transform)?;
        }
        value = self.raised(&value, bootstrapping)?;
        for transform in &bootstrapping.coefficients_to_slots {
            value = self.transform_and_rescale(&value, transform)?;
        }
        self.reduced(&value, bootstrapping)
    }

    /// Transforms and rescales in one division. What is known of the result is its level and scale.
    fn transform_and_rescale(
        &self,
        a: &Ciphertext,
        transform: &LinearTransform,
    ) -> Result<Ciphertext> {
        let level = transform.level();
        let total = self.transformed(a, transform)?;
        let division = self.parameters().rescale_from_extended(level);
        let polys = division.apply_to_all(self.parameters().ring(), total.each_ref());
        let scale = a.scale() * transform.scale() / self.parameters().rescale_factor(level)?;
        Ok(a.with(within_the_circuit(&a.estimate, level - 1, scale), polys))
    }

    /// m + q0 I at the top of the circuit, its repetitions added up, at the scale at which the range
    /// of EvalMod is 1.
    fn raised(&self, a: &Ciphertext, bootstrapping: &Bootstrapping) -> Result<Ciphertext> {
        let parameters = &bootstrapping.parameters;
        let level = bootstrapping.raised_level();
        let encapsulation = self.keys.encapsulation(BOOTSTRAP)?;
        let mut polys = encapsulation.raise(self.parameters(), level, &a.polys);
        let mut scale = parameters.base() * parameters.range();
        for rotation in bootstrapping.trace_rotations() {
            let step = self.keys.steps(&[rotation], level, BOOTSTRAP)?[0];
            let added: [Step<'_>; 2] = [None, step];
            polys = self.keys.rotate_sum(&polys, level, &added, &[]);
            scale *= 2.0;
        }
        Ok(a.with(within_the_circuit(&a.estimate, level, scale), polys))
    }

    /// EvalMod of both parts of every slot.
    fn reduced(&self, a: &Ciphertext, bootstrapping: &Bootstrapping) -> Result<Vec<Poly>> {
        let parameters = &bootstrapping.parameters;
        let ring = self.parameters().ring();
        let level = parameters.reduction_level();
        let estimate = within_the_circuit(&a.estimate, level, parameters.reduction_scale()?);
        let conjugate = self.conjugated(a)?;

        let mut real = a.polys.to_vec();
        real.iter_mut().zip(&conjugate).for_each(|(x, y)| ring.add(x, y));
        let real = reduce(self, &a.with(estimate.clone(), real), parameters)?;
        let mut polys = real.polys.to_vec();
        if bootstrapping.packing == Packing::Complex {
            // (x - conj x) / i = i (conj x - x).
            let mut imaginary = conjugate.to_vec();
            for (x, y) in imaginary.iter_mut().zip(&*a.polys) {
                ring.sub(x, y);
                ring.mul_imaginary(x);
            }
            let imaginary = reduce(self, &a.with(estimate, imaginary), parameters)?;
            for (sum, x) in polys.iter_mut().zip(&*imaginary.polys) {
                let mut x = x.clone();
                ring.mul_imaginary(&mut x);
                ring.add(sum, &x);
            }
        }
        Ok(polys)
    }

    fn conjugated(&self, a: &Ciphertext) -> Result<[Poly; 2]> {
        let element = conjugation_element(self.parameters().log_n());
        let name = || "Galois key for conjugation".to_string();
        let key = self.keys.galois_key(element, a.level(), BOOTSTRAP, name)?;
        Ok(self.keys.apply_automorphism(&a.polys, a.level(), (element, key)))
    }
}

impl Estimate {
    /// What [`Evaluator::bootstrap`] gives.
    ///
    /// # Errors
    /// Those of [`Evaluator::bootstrap`] but for keys.
    pub fn bootstrap(&self, bootstrapping: &Bootstrapping) -> Result<Self> {
        let Bootstrapping { parameters, slots, .. } = bootstrapping;
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
        let bound = parameters.literal().bound * ratio;
        if self.bound > bound * (1.0 + BOUND_SLACK) {
            let value = self.bound;
            return Err(Error::ValueOutOfRange { operation: BOOTSTRAP, value, bound });
        }
        let level = parameters.output_level();
        let scale = self.parameters.scale(level)? / ratio;
        let refreshed = Self { level, scale, ..lowered };
        Ok(bootstrapping.noise.refreshed(&refreshed, ratio))
    }
}
