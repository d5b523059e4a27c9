//! The circuit of bootstrapping, on whatever it is computed with: ciphertexts of this engine, those of
//! another device, or sizes alone.

use std::result::Result as Outcome;

use super::parameters::Packing;
use super::reduction::{reduce, within_the_circuit};
use super::refresh::Bootstrapping;
use crate::ckks::estimate::Estimate;
use crate::ckks::polynomial::Arithmetic;

/// What bootstrapping computes with, beside polynomials. Of the results level and scale are told: in
/// the circuit nothing else is known of them.
pub trait BootstrappingArithmetic: Arithmetic {
    /// A circuit with what this arithmetic keeps of it.
    type Circuit;

    /// The circuit itself.
    fn bootstrapping<'a>(&self, circuit: &'a Self::Circuit) -> &'a Bootstrapping;

    /// The same value, of which this is known.
    fn known_as(&self, a: Self::Value, estimate: Estimate) -> Self::Value;

    /// Transform number `index` of [`Bootstrapping::transforms`], rescaled in the same division.
    fn transform_and_rescale(
        &self,
        a: &Self::Value,
        circuit: &Self::Circuit,
        index: usize,
        estimate: Estimate,
    ) -> Outcome<Self::Value, Self::Error>;

    /// m + q0 I of a value of level 0, at the level of the estimate: ModRaise under a sparse secret.
    fn raise(
        &self,
        a: &Self::Value,
        circuit: &Self::Circuit,
        estimate: Estimate,
    ) -> Outcome<Self::Value, Self::Error>;

    /// a and its rotation by `rotation` slots of a full packing, added up.
    fn add_rotated(
        &self,
        a: &Self::Value,
        rotation: i64,
        estimate: Estimate,
    ) -> Outcome<Self::Value, Self::Error>;

    /// The complex conjugate of every slot.
    fn conjugate(&self, a: &Self::Value) -> Outcome<Self::Value, Self::Error>;

    /// a *= i.
    fn multiply_imaginary(&self, a: &mut Self::Value) -> Outcome<(), Self::Error>;

    /// a += b, of which no more is known than of a.
    fn add_part(&self, a: &mut Self::Value, b: &Self::Value) -> Outcome<(), Self::Error>;

    /// a -= b, of which no more is known than of a.
    fn subtract_part(&self, a: &mut Self::Value, b: &Self::Value) -> Outcome<(), Self::Error>;
}

/// [`Evaluator::bootstrap`](crate::ckks::Evaluator::bootstrap) by any arithmetic.
///
/// # Errors
/// Those of [`Estimate::bootstrap`], and what the arithmetic fails with.
pub fn bootstrap<A: BootstrappingArithmetic>(
    arithmetic: &A,
    a: &A::Value,
    circuit: &A::Circuit,
) -> Outcome<A::Value, A::Error> {
    let bootstrapping = arithmetic.bootstrapping(circuit);
    let estimate = arithmetic.estimate(a).bootstrap(bootstrapping)?;
    let parts = parts(arithmetic, lowered(arithmetic, a, bootstrapping)?, circuit)?;
    let real = parts.real(arithmetic)?;
    let message_scale = bootstrapping.message_scale()?;
    let refreshed = match bootstrapping.packing {
        Packing::Real => {
            drop(parts);
            reduce(arithmetic, &real, &bootstrapping.parameters, message_scale)?
        }
        Packing::Complex | Packing::Coefficients => {
            let imaginary = parts.imaginary(arithmetic)?;
            let real = reduce(arithmetic, &real, &bootstrapping.parameters, message_scale)?;
            let mut both =
                reduce(arithmetic, &imaginary, &bootstrapping.parameters, message_scale)?;
            arithmetic.multiply_imaginary(&mut both)?;
            arithmetic.add_part(&mut both, &real)?;
            both
        }
    };
    Ok(arithmetic.known_as(refreshed, estimate))
}

/// [`Evaluator::bootstrap_pair`](crate::ckks::Evaluator::bootstrap_pair) by any arithmetic.
///
/// # Errors
/// Those of [`Estimate::bootstrap_pair`], and what the arithmetic fails with.
pub fn bootstrap_pair<A: BootstrappingArithmetic>(
    arithmetic: &A,
    a: &A::Value,
    b: &A::Value,
    circuit: &A::Circuit,
) -> Outcome<[A::Value; 2], A::Error> {
    let bootstrapping = arithmetic.bootstrapping(circuit);
    let (first, second) = (arithmetic.estimate(a), arithmetic.estimate(b));
    let [first, second] = first.bootstrap_pair(second, bootstrapping)?;
    let mut joined = lowered(arithmetic, b, bootstrapping)?;
    arithmetic.multiply_imaginary(&mut joined)?;
    arithmetic.add_part(&mut joined, &lowered(arithmetic, a, bootstrapping)?)?;
    let parts = parts(arithmetic, joined, circuit)?;
    let (real, imaginary) = (parts.real(arithmetic)?, parts.imaginary(arithmetic)?);
    let message_scale = bootstrapping.message_scale()?;
    let real = reduce(arithmetic, &real, &bootstrapping.parameters, message_scale)?;
    let imaginary = reduce(arithmetic, &imaginary, &bootstrapping.parameters, message_scale)?;
    Ok([arithmetic.known_as(real, first), arithmetic.known_as(imaginary, second)])
}

/// At the level that the circuit begins at.
fn lowered<A: BootstrappingArithmetic>(
    arithmetic: &A,
    a: &A::Value,
    bootstrapping: &Bootstrapping,
) -> Outcome<A::Value, A::Error> {
    let level = bootstrapping.input_level();
    if arithmetic.estimate(a).level() == level {
        return Ok(a.clone());
    }
    arithmetic.align(a, level, bootstrapping.parameters.parameters().scale(level)?)
}

/// All up to EvalMod.
fn parts<A: BootstrappingArithmetic>(
    arithmetic: &A,
    a: A::Value,
    circuit: &A::Circuit,
) -> Outcome<Parts<A::Value>, A::Error> {
    let bootstrapping = arithmetic.bootstrapping(circuit);
    let down = bootstrapping.slots_to_coefficients.len();
    let all = down + bootstrapping.coefficients_to_slots.len();
    let mut value = a;
    for index in 0..down {
        value = transformed(arithmetic, &value, circuit, index)?;
    }
    value = raised(arithmetic, &value, circuit)?;
    for index in down..all {
        value = transformed(arithmetic, &value, circuit, index)?;
    }
    let parameters = &bootstrapping.parameters;
    let (level, scale) = (parameters.reduction_level(), parameters.reduction_scale()?);
    let estimate = within_the_circuit(arithmetic.estimate(&value), level, scale);
    value = arithmetic.known_as(value, estimate);
    let conjugate = arithmetic.conjugate(&value)?;
    Ok(Parts { value, conjugate })
}

fn transformed<A: BootstrappingArithmetic>(
    arithmetic: &A,
    a: &A::Value,
    circuit: &A::Circuit,
    index: usize,
) -> Outcome<A::Value, A::Error> {
    let bootstrapping = arithmetic.bootstrapping(circuit);
    let transform = bootstrapping.transform(index);
    let (level, known) = (transform.level(), arithmetic.estimate(a));
    let factor = bootstrapping.parameters.parameters().rescale_factor(level)?;
    let scale = known.scale() * transform.scale() / factor;
    let estimate = within_the_circuit(known, level - 1, scale);
    arithmetic.transform_and_rescale(a, circuit, index, estimate)
}

/// m + q0 I at the top of the circuit, its repetitions added up, at the scale at which the range of
/// EvalMod is 1.
fn raised<A: BootstrappingArithmetic>(
    arithmetic: &A,
    a: &A::Value,
    circuit: &A::Circuit,
) -> Outcome<A::Value, A::Error> {
    let bootstrapping = arithmetic.bootstrapping(circuit);
    let (parameters, level) = (&bootstrapping.parameters, bootstrapping.raised_level());
    let mut scale = parameters.base() * parameters.range();
    let of = |value: &A::Value, scale| within_the_circuit(arithmetic.estimate(value), level, scale);
    let mut value = arithmetic.raise(a, circuit, of(a, scale))?;
    for rotation in bootstrapping.trace_rotations() {
        scale *= 2.0;
        value = arithmetic.add_rotated(&value, rotation, of(&value, scale))?;
    }
    Ok(value)
}

/// Half of a value and of its conjugate: of every slot m + q0 I the two parts.
struct Parts<V> {
    value: V,
    conjugate: V,
}

impl<V: Clone> Parts<V> {
    /// x + conj x.
    fn real<A: BootstrappingArithmetic<Value = V>>(&self, arithmetic: &A) -> Outcome<V, A::Error> {
        let mut sum = self.value.clone();
        arithmetic.add_part(&mut sum, &self.conjugate)?;
        Ok(sum)
    }

    /// (x - conj x) / i = i (conj x - x).
    fn imaginary<A: BootstrappingArithmetic<Value = V>>(
        self,
        arithmetic: &A,
    ) -> Outcome<V, A::Error> {
        let Self { value, conjugate: mut difference } = self;
        arithmetic.subtract_part(&mut difference, &value)?;
        drop(value);
        arithmetic.multiply_imaginary(&mut difference)?;
        Ok(difference)
    }
}
