//! How far a refreshed ciphertext is from the one that it was made from.
//!
//! Butterflies are unitary up to a factor, so that an error that is spread evenly over slots stays
//! so, and grows or falls by that factor: bounds by sums of absolute values, as other operations
//! take them, would be off by the square root of the slots twice. Every rounding, key switch and
//! encoded diagonal of both transforms adds an independent error, counted here where it arises and
//! followed to the end. In EvalMod errors are followed to first order through every product, for
//! each overflow by itself ([`Traced`]); what is taken is the mean square over the overflows
//! as often as they occur.
//!
//! Beside noise there is what the circuit does to values themselves: the sine of an angle instead
//! of the angle, at most [`BootstrappingParameters::sine_error`], and the polynomial instead of the
//! cosine, an eighth of that.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::f64::consts::TAU;

use super::fourier::Factor;
use super::parameters::{BootstrappingParameters, Packing};
use super::reduction::{reduce, within_the_circuit};
use crate::ckks::combination::{Alignment, Combination};
use crate::ckks::encoding::Encoding;
use crate::ckks::estimate::{DOUBLE_DEVIATION, Estimate, encoding_deviation};
use crate::ckks::linear_transform::LinearTransform;
use crate::ckks::polynomial::{Arithmetic, OnEstimates};
use crate::core::noise::ERROR_DEVIATION;
use crate::{Error, Result};

/// The errors of a bootstrapping of canonical scale, as deviations of a slot.
#[derive(Clone, Debug)]
pub(super) struct Noise {
    /// Of everything that is random.
    deviation: f64,
    /// What a value at the bound is off by itself.
    misfit: f64,
}

/// What the errors of a bootstrapping are made of, whatever is in the slots.
pub(super) struct Causes {
    /// Of transforms and of raising the modulus, whatever the message.
    circuit: f64,
    /// Of encoding and of doubles, for a message at the bound.
    message: f64,
    /// Of the reduction of one part.
    reduced: f64,
    /// What a part at the bound is off by being a sine.
    sine: f64,
}

/// A transform: its matrix, and how it is encoded.
type Stages<'a> = (&'a [Factor], &'a [LinearTransform]);

/// Root of a sum of squares.
fn root_of_squares(terms: impl IntoIterator<Item = f64>) -> f64 {
    terms.into_iter().map(|x| x * x).sum::<f64>().sqrt()
}

impl Causes {
    pub(super) fn new(
        parameters: &BootstrappingParameters,
        slots: usize,
        down: Stages<'_>,
        up: Stages<'_>,
    ) -> Result<Self> {
        let literal = parameters.literal();
        let (base, base_scale) = (parameters.base(), parameters.base_scale());
        let weight = literal.sparse_weight as f64;
        let ckks = parameters.parameters();
        let repeated = (ckks.slots() / slots) as f64;

        // Coefficients of level 0 hold two parts of a value each.
        let part = std::f64::consts::SQRT_2 / base_scale;
        let (down_rounded, down_encoded) = transform_errors(down, 1.0)?;
        let raised = root_of_squares([raising_errors(parameters, repeated)]) * part;

        // Of t = m / q0 + I, in units of q0: its overflows are what encoded diagonals multiply.
        let overflow = std::f64::consts::SQRT_2 * ((weight + 1.0) / 12.0).sqrt();
        let (rounded, encoded) = transform_errors(up, -1.0)?;
        let half_scale = parameters.reduction_scale()? / 2.0;
        let in_slots = (2.0 * slots as f64).sqrt() * parameters.range();
        let level = parameters.reduction_level();
        let conjugated = ckks.rounding_deviation(1).hypot(ckks.key_switching_deviation(level));
        let up_error = root_of_squares([
            rounded * in_slots / half_scale,
            encoded * overflow,
            conjugated * in_slots / (2.0 * half_scale),
        ]);
        let modulus = base / base_scale;
        Ok(Self {
            circuit: root_of_squares([down_rounded * part, raised, up_error * modulus]),
            message: root_of_squares([down_encoded, DOUBLE_DEVIATION]) * literal.bound,
            reduced: reduction_deviation(parameters, slots)? * modulus / TAU,
            sine: parameters.sine_error(),
        })
    }

    /// Of ciphertexts of their own.
    pub(super) fn of(&self, packing: Packing) -> Noise {
        match packing {
            Packing::Complex => self.noise(std::f64::consts::SQRT_2, 1.0),
            Packing::Real => self.noise(1.0, 1.0),
            // Both parts may be at the bound.
            Packing::Coefficients => {
                let noise = self.noise(std::f64::consts::SQRT_2, std::f64::consts::SQRT_2);
                Noise { misfit: std::f64::consts::SQRT_2 * self.sine * 1.125, ..noise }
            }
        }
    }

    /// Of one of two real vectors that are refreshed as one complex one, larger than each.
    pub(super) fn of_pair(&self) -> Noise {
        self.noise(1.0, std::f64::consts::SQRT_2)
    }

    /// Of so many parts, as the root of their number, of a message so many times the bound.
    fn noise(&self, parts: f64, message: f64) -> Noise {
        Noise {
            deviation: root_of_squares([
                self.circuit,
                self.message * message,
                self.reduced * parts,
            ]),
            // The polynomial adds an eighth in each part, the cube of a part no more than that of
            // both.
            misfit: self.sine * (1.0 + parts / 8.0),
        }
    }
}

impl Noise {
    /// What is known of `estimate`, at the level and scale of a refreshed ciphertext, after the
    /// circuit, where values in coefficients had a scale smaller by `ratio` than the canonical one.
    pub(super) fn refreshed(&self, estimate: &Estimate, ratio: f64) -> Estimate {
        let random = estimate.deviation.hypot(self.deviation * ratio);
        estimate.with(random + self.misfit * ratio, estimate.bound)
    }
}

/// The error of the transforms of one direction: the coefficient deviation at the end from
/// roundings and key switches, and the part of the values that encoding the diagonals is wrong by.
///
/// A butterfly multiplies errors by the square root of 2, to the power of `direction`. What giant
/// steps add is divided by the rescaling, and nothing beside its rounding.
fn transform_errors((factors, transforms): Stages<'_>, direction: f64) -> Result<(f64, f64)> {
    let (mut rounded, mut encoded) = (0.0f64, 0.0f64);
    for (factor, transform) in factors.iter().zip(transforms) {
        let parameters = transform.parameters();
        let level = transform.level();
        let spread = (direction * factor.butterflies as f64 / 2.0).exp2();
        let gain = transform.scale() / parameters.rescale_factor(level)? * spread;
        let switched = rounded.hypot(transform.baby_deviation());
        rounded = (switched * gain).hypot(parameters.rounding_deviation(1));
        let slot_error = encoding_deviation() * (2.0 * transform.slots() as f64).sqrt();
        let diagonals = (transform.diagonals() as f64).sqrt();
        encoded = encoded.hypot(slot_error / transform.scale() * diagonals / spread);
    }
    Ok((rounded, encoded))
}

/// The coefficient deviation from the sparse secret, the way back and the trace.
fn raising_errors(parameters: &BootstrappingParameters, repeated: f64) -> f64 {
    let ckks = parameters.parameters();
    let n = ckks.n() as f64;
    let weight = parameters.literal().sparse_weight as f64;
    let base_bits = parameters.base().log2();
    let special_bits = ckks.encapsulation_bits() - base_bits;
    let to_sparse = ERROR_DEVIATION * (n / 12.0).sqrt() * (base_bits - special_bits).exp2();
    let sparse_rounding = ((1.0 + weight) / 12.0).sqrt();
    let level = ckks.max_level();
    let switched = ckks.rounding_deviation(1).hypot(ckks.key_switching_deviation(level));
    // Step s of the trace adds its error 2^-s times, in units of the sum: together 1/3 of a square.
    let trace = if repeated > 1.0 { switched / 3f64.sqrt() } else { 0.0 };
    root_of_squares([to_sparse, sparse_rounding, switched, trace])
}

/// The deviation of the sine that EvalMod gives, its argument being exact.
fn reduction_deviation(parameters: &BootstrappingParameters, slots: usize) -> Result<f64> {
    let ckks = parameters.parameters();
    let level = parameters.reduction_level();
    let encoding = Encoding { level, scale: None, bound: None };
    let estimate = ckks.plaintext_estimate(slots, encoding, 1.0, "bootstrap")?;
    let estimate = within_the_circuit(&estimate, level, parameters.reduction_scale()?);

    let most = parameters.most_overflows() as i32;
    let overflows: Vec<f64> = (-most..=most).map(f64::from).collect();
    let variance = (parameters.literal().sparse_weight as f64 + 1.0) / 12.0;
    let weights: Vec<f64> = overflows.iter().map(|i| (-i * i / (2.0 * variance)).exp()).collect();
    let values = overflows.iter().map(|i| i / parameters.range()).collect();
    let value = Traced { estimate, values, errors: BTreeMap::new() };
    let sine = reduce(&OnTraces::default(), &value, parameters, parameters.base_scale())?;

    let square = |index: usize| sine.errors.values().map(|error| error[index].powi(2)).sum::<f64>();
    let total: f64 = weights.iter().sum();
    let mean = weights.iter().enumerate().map(|(index, weight)| weight * square(index));
    Ok((mean.sum::<f64>() / total).sqrt())
}

/// Values of some slots, and what each error made on the way has become in them.
#[derive(Clone)]
struct Traced {
    estimate: Estimate,
    values: Vec<f64>,
    /// By the number of the error: deviations with a sign, so that an error that comes along two
    /// ways adds up or cancels as it does.
    errors: BTreeMap<usize, Vec<f64>>,
}

/// Follows errors to first order.
#[derive(Default)]
struct OnTraces {
    errors: Cell<usize>,
}

impl OnTraces {
    /// The value with an independent error of this deviation more.
    fn with_error(&self, mut value: Traced, deviation: f64) -> Traced {
        let number = self.errors.get();
        self.errors.set(number + 1);
        let error = vec![deviation; value.values.len()];
        value.errors.insert(number, error);
        value
    }

    /// With the rounding of a division.
    fn rounded(&self, value: Traced) -> Traced {
        let Estimate { parameters, degree, .. } = &value.estimate;
        let deviation = value.estimate.in_slots(parameters.rounding_deviation(*degree));
        self.with_error(value, deviation)
    }
}

impl Traced {
    fn scale(&mut self, factor: f64) {
        let errors = self.errors.values_mut().flatten();
        self.values.iter_mut().chain(errors).for_each(|x| *x *= factor);
    }

    fn add(&mut self, other: &Self) {
        self.values.iter_mut().zip(&other.values).for_each(|(x, y)| *x += y);
        for (&number, error) in &other.errors {
            let sum = self.errors.entry(number).or_insert_with(|| vec![0.0; error.len()]);
            sum.iter_mut().zip(error).for_each(|(x, y)| *x += y);
        }
    }

    /// Slot by slot.
    fn times(mut self, factors: &[f64]) -> Self {
        self.values.iter_mut().zip(factors).for_each(|(x, y)| *x *= y);
        for error in self.errors.values_mut() {
            error.iter_mut().zip(factors).for_each(|(x, y)| *x *= y);
        }
        self
    }
}

impl Arithmetic for OnTraces {
    type Value = Traced;
    type Error = Error;

    fn estimate<'a>(&self, a: &'a Traced) -> &'a Estimate {
        &a.estimate
    }

    fn multiply_lazily(&self, a: &Traced, b: &Traced) -> Result<Traced> {
        let estimate = a.estimate.multiply_lazily(&b.estimate)?;
        let values = a.values.iter().zip(&b.values).map(|(x, y)| x * y).collect();
        let mut product = a.clone().times(&b.values);
        product.add(&b.clone().times(&a.values));
        Ok(Traced { estimate, values, ..product })
    }

    fn double(&self, a: &mut Traced) -> Result<()> {
        a.scale(2.0);
        OnEstimates.double(&mut a.estimate)
    }

    fn add_real(&self, a: &mut Traced, value: f64) -> Result<()> {
        a.values.iter_mut().for_each(|x| *x += value);
        OnEstimates.add_real(&mut a.estimate, value)
    }

    fn add_assign(&self, a: &mut Traced, b: &Traced) -> Result<()> {
        a.add(b);
        OnEstimates.add_assign(&mut a.estimate, &b.estimate)
    }

    fn relinearize_and_rescale_to(&self, a: &Traced, scale: f64) -> Result<Traced> {
        let estimate = a.estimate.relinearize_and_rescale_to(scale)?;
        let Estimate { parameters, level, .. } = &a.estimate;
        let switched = a.estimate.in_slots(parameters.key_switching_deviation(*level));
        let switched = self.with_error(a.clone(), switched);
        Ok(self.rounded(Traced { estimate, ..switched }))
    }

    fn align(&self, a: &Traced, level: usize, scale: f64) -> Result<Traced> {
        match a.estimate.alignment(level, scale)? {
            Alignment::Drop(estimate) | Alignment::Read(estimate) => {
                Ok(Traced { estimate, ..a.clone() })
            }
            Alignment::Combine(_) => self.combine(&[(1.0, a)], level, scale),
        }
    }

    fn combine(&self, terms: &[(f64, &Traced)], level: usize, scale: f64) -> Result<Traced> {
        let estimates: Vec<_> = terms.iter().map(|&(c, a)| (c, &a.estimate)).collect();
        let combination = Combination::new(&estimates, level, scale, "bootstrap")?;
        let (coefficient, first) = terms[0];
        let mut sum = first.clone();
        sum.scale(coefficient);
        for &(coefficient, term) in &terms[1..] {
            let mut term = term.clone();
            term.scale(coefficient);
            sum.add(&term);
        }
        sum.estimate = combination.estimate;
        let exact = combination.start == *sum.estimate.parameters.level_basis(level);
        Ok(if exact { sum } else { self.rounded(sum) })
    }

    fn bound(&self, a: &mut Traced, bound: f64) {
        OnEstimates.bound(&mut a.estimate, bound);
    }
}
