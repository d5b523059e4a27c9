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
        let polys = parallel::in_pool(|| {
            let parts = self.parts(self.lowered(a, bootstrapping)?, bootstrapping)?;
            match bootstrapping.packing {
                Packing::Complex => self.rejoined(&parts, bootstrapping),
                Packing::Real => self.reduced(&parts.real(self), bootstrapping),
            }
        })?;
        Ok(a.with(estimate, polys))
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
    /// Those of [`Self::bootstrap`], and [`Error::ScaleMismatch`].
    pub fn bootstrap_pair(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        bootstrapping: &Bootstrapping,
    ) -> Result<[Ciphertext; 2]> {
        self.check(a, BOOTSTRAP)?;
        self.check(b, BOOTSTRAP)?;
        let [first, second] = a.estimate.bootstrap_pair(&b.estimate, bootstrapping)?;
        let [real, imaginary] = parallel::in_pool(|| self.refreshed_pair(a, b, bootstrapping))?;
        Ok([a.with(first, real), b.with(second, imaginary)])
    }

    fn refreshed_pair(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        bootstrapping: &Bootstrapping,
    ) -> Result<[Vec<Poly>; 2]> {
        let lowered = [self.lowered(a, bootstrapping)?, self.lowered(b, bootstrapping)?];
        let parts = self.parts(self.joined(&lowered), bootstrapping)?;
        let real = self.reduced(&parts.real(self), bootstrapping)?;
        Ok([real, self.reduced(&parts.imaginary(self), bootstrapping)?])
    }

    /// At the level that the circuit begins at.
    fn lowered(&self, a: &Ciphertext, bootstrapping: &Bootstrapping) -> Result<Ciphertext> {
        let level = bootstrapping.input_level();
        if a.level() == level {
            return Ok(a.clone());
        }
        self.align(a, level, a.parameters().scale(level)?)
    }

    /// a + i b, of one level and scale.
    fn joined(&self, [a, b]: &[Ciphertext; 2]) -> Ciphertext {
        let ring = self.parameters().ring();
        let mut polys = b.polys.to_vec();
        for (sum, x) in polys.iter_mut().zip(&*a.polys) {
            ring.mul_imaginary(sum);
            ring.add(sum, x);
        }
        a.with(a.estimate.clone(), polys)
    }

    /// All up to EvalMod.
    fn parts(&self, a: Ciphertext, bootstrapping: &Bootstrapping) -> Result<Parts> {
        let mut value = a;
        for transform in &bootstrapping.slots_to_coefficients {
            value = self.transform_and_rescale(&value, transform)?;
        }
        value = self.raised(&value, bootstrapping)?;
        for transform in &bootstrapping.coefficients_to_slots {
            value = self.transform_and_rescale(&value, transform)?;
        }
        let parameters = &bootstrapping.parameters;
        let level = parameters.reduction_level();
        let estimate = within_the_circuit(&value.estimate, level, parameters.reduction_scale()?);
        let conjugate = self.conjugated(&value)?;
        Ok(Parts { value: value.with(estimate, value.polys.clone()), conjugate })
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

    /// EvalMod.
    fn reduced(&self, part: &Ciphertext, bootstrapping: &Bootstrapping) -> Result<Vec<Poly>> {
        Ok(reduce(self, part, &bootstrapping.parameters)?.polys.to_vec())
    }

    /// EvalMod of both parts of every slot, put together.
    fn rejoined(&self, parts: &Parts, bootstrapping: &Bootstrapping) -> Result<Vec<Poly>> {
        let ring = self.parameters().ring();
        let mut polys = self.reduced(&parts.real(self), bootstrapping)?;
        let imaginary = self.reduced(&parts.imaginary(self), bootstrapping)?;
        for (sum, mut x) in polys.iter_mut().zip(imaginary) {
            ring.mul_imaginary(&mut x);
            ring.add(sum, &x);
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

/// Half of a value and of its conjugate: of every slot m + q0 I the two parts.
struct Parts {
    value: Ciphertext,
    conjugate: [Poly; 2],
}

impl Parts {
    /// x + conj x.
    fn real(&self, evaluator: &Evaluator) -> Ciphertext {
        let ring = evaluator.parameters().ring();
        let mut polys = self.value.polys.to_vec();
        polys.iter_mut().zip(&self.conjugate).for_each(|(x, y)| ring.add(x, y));
        self.value.with(self.value.estimate.clone(), polys)
    }

    /// (x - conj x) / i = i (conj x - x).
    fn imaginary(&self, evaluator: &Evaluator) -> Ciphertext {
        let ring = evaluator.parameters().ring();
        let mut polys = self.conjugate.to_vec();
        for (x, y) in polys.iter_mut().zip(&*self.value.polys) {
            ring.sub(x, y);
            ring.mul_imaginary(x);
        }
        self.value.with(self.value.estimate.clone(), polys)
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
        Ok((Self { level, scale, ..lowered }, ratio))
    }
}
