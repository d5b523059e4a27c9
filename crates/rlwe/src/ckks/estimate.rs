//! The tracked estimate of how precise a ciphertext is.

use super::ciphertext::Ciphertext;
use crate::deviation;

/// Double-precision transforms are exact to about this much of the largest value.
const DOUBLE_DEVIATION: f64 = 1.0 / (1u64 << 50) as f64;

/// What is known of a vector of slots without decrypting it.
///
/// The error is modelled as an independent complex Gaussian in every slot
/// (Costache, Curtis, Hales, Murphy, Ogilvie, Player 2022: average-case noise in
/// the canonical embedding).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Root mean square of the error of a slot, in units of the values.
    pub deviation: f64,
    /// No slot exceeds this in absolute value.
    pub bound: f64,
}

impl Estimate {
    /// The largest error of any of `slots` slots, as bits below 1: the chance of a larger
    /// one is below 2^-20.
    ///
    /// Errors are mostly products of two Gaussians, one of them the secret's or a digit's
    /// value at the slot.
    pub fn precision(self, slots: usize) -> f64 {
        let exponent = (slots as f64).ln() + 20.0 * std::f64::consts::LN_2;
        -(self.deviation * deviation::product_tail(exponent)).log2()
    }

    /// A value known exactly but for double precision.
    pub(crate) fn exact(bound: f64) -> Self {
        Self { deviation: bound * DOUBLE_DEVIATION, bound }
    }

    /// Finite: what outgrows a double stays at its largest, which promises nothing.
    fn new(deviation: f64, bound: f64) -> Self {
        Self { deviation: deviation.min(f64::MAX), bound: bound.min(f64::MAX) }
    }

    /// With an independent error of `deviation` more.
    pub(crate) fn with_error(self, deviation: f64) -> Self {
        Self::new(self.deviation.hypot(deviation), self.bound)
    }

    pub(crate) fn add(self, other: Self) -> Self {
        Self::new(self.deviation + other.deviation, self.bound + other.bound)
    }

    pub(crate) fn mul(self, other: Self) -> Self {
        let first = self.deviation * other.bound;
        let second = other.deviation * self.bound;
        // Errors of one and the same factor add up, so that a square is covered too.
        let deviation = first + second + self.deviation * other.deviation;
        Self::new(deviation, self.bound * other.bound)
    }

    pub(crate) fn scale(self, factor: f64) -> Self {
        Self::new(self.deviation * factor.abs(), self.bound * factor.abs())
    }
}

/// A coefficient deviation seen in each of `slots` slots at `scale`.
pub(crate) fn in_slots(deviation: f64, slots: usize, scale: f64) -> f64 {
    deviation * (2.0 * slots as f64).sqrt() / scale
}

/// The deviation of a ciphertext's coefficients that its slot error amounts to.
pub(crate) fn in_coefficients(ciphertext: &Ciphertext) -> f64 {
    let slots = ciphertext.slots as f64;
    ciphertext.estimate.deviation * ciphertext.scale / (2.0 * slots).sqrt()
}

/// Coefficient deviation of encoding: every coefficient is rounded.
pub(crate) fn encoding() -> f64 {
    (1.0f64 / 12.0).sqrt()
}
