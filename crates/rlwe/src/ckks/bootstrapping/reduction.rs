//! EvalMod, of whatever polynomials are evaluated on: ciphertexts, or errors that are followed.

use std::result::Result as Outcome;

use super::parameters::BootstrappingParameters;
use crate::ckks::estimate::Estimate;
use crate::ckks::polynomial::{Arithmetic, evaluate_to};

/// The sine of 2 pi range x, for x up to 1: by the cosine and its double angles. It is read as what
/// had `message_scale` in coefficients.
pub(super) fn reduce<A: Arithmetic>(
    arithmetic: &A,
    x: &A::Value,
    parameters: &BootstrappingParameters,
    message_scale: f64,
) -> Outcome<A::Value, A::Error> {
    let cosine = parameters.cosine();
    let scales = parameters.reduction_scales(message_scale)?;
    let level = parameters.reduction_level() - cosine.depth();
    let mut x = x.clone();
    arithmetic.add_real(&mut x, -0.25 / parameters.range())?;
    arithmetic.bound(&mut x, 1.0);
    let mut value = evaluate_to(arithmetic, &x, cosine, level, scales[0])?;
    for &scale in &scales[1..] {
        arithmetic.bound(&mut value, 1.0);
        let mut square = arithmetic.multiply_lazily(&value, &value)?;
        arithmetic.double(&mut square)?;
        arithmetic.add_real(&mut square, -1.0)?;
        value = arithmetic.relinearize_and_rescale_to(&square, scale)?;
    }
    Ok(value)
}

/// Between the ends of the circuit a ciphertext is known by its level and scale: precision follows
/// from [`super::noise`] for the whole, and values are at most 1 in units of the scale.
pub(super) fn within_the_circuit(estimate: &Estimate, level: usize, scale: f64) -> Estimate {
    Estimate { level, scale, degree: 1, ..estimate.clone() }.with(0.0, 1.0)
}
