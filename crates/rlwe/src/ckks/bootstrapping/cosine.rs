//! The polynomial that takes multiples of a modulus away.
//!
//! With t = m / q0 + I for an integer I, sin(2 pi t) = sin(2 pi m / q0), which is 2 pi m / q0 but
//! for its cube. As a cosine, sin(2 pi t) = cos(2 pi (t - 1/4)), it comes out of
//!
//! ```text
//!   cos(2 pi (t - 1/4) / 2^r)      and r times      cos(2 x) = 2 cos(x)^2 - 1
//! ```
//!
//! (Han, Ki 2020, section 4), the first as a Chebyshev polynomial in u = (t - 1/4) / range on
//! [-1, 1]. That is even: only every second coefficient is not zero, which halves the products.
//! For r = 2 the degree stays below 64 up to a range of 18, so that polynomial and double angles
//! take eight levels: r = 3 would save products and cost a level.

use crate::ckks::polynomial::{Polynomial, PolynomialBasis};
use crate::{Error, Result};

/// Points at which the cosine is looked at: far more than its degree, so that nothing is aliased.
const POINTS: usize = 512;

/// Where a series is not cut off by then, the function or the precision is out of reach.
const MAX_DEGREE: usize = POINTS / 2 - 32;

/// cos(`width` u) on [-1, 1], off by less than `error` there: the polynomial of least degree.
///
/// # Errors
/// [`Error::InvalidParameters`] where none comes so near in double precision.
pub(super) fn cosine(width: f64, error: f64) -> Result<Polynomial> {
    let coefficients = chebyshev_coefficients(|u| (width * u).cos());
    // What is cut off is at most the sum of its coefficients.
    let mut rest = 0.0;
    let cut = coefficients.iter().rposition(|coefficient| {
        rest += coefficient.abs();
        rest > error
    });
    let degree = cut.unwrap_or(0);
    if degree > MAX_DEGREE {
        return Err(Error::InvalidParameters(format!(
            "no polynomial comes within 2^{:.1} of a cosine of {width:.0}; lower ratio_bits or the weight of the sparse secret, or take more double angles",
            error.log2()
        )));
    }
    Polynomial::new(&coefficients[..=degree], PolynomialBasis::Chebyshev)
}

/// The first Chebyshev coefficients of an even function, every second of which is zero.
fn chebyshev_coefficients(function: impl Fn(f64) -> f64) -> Vec<f64> {
    let turn = std::f64::consts::PI / (2 * POINTS) as f64;
    let samples: Vec<f64> =
        (0..POINTS).map(|j| function((turn * (2 * j + 1) as f64).cos())).collect();
    let coefficient = |degree: usize| -> f64 {
        if !degree.is_multiple_of(2) {
            return 0.0;
        }
        // Angles are reduced as whole numbers, which is exact.
        let cosine = |j: usize| (turn * (degree * (2 * j + 1) % (4 * POINTS)) as f64).cos();
        let sum: f64 = samples.iter().enumerate().map(|(j, y)| y * cosine(j)).sum();
        sum * if degree == 0 { 1.0 } else { 2.0 } / POINTS as f64
    };
    (0..POINTS / 2).map(coefficient).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cosine_is_as_near_as_asked_and_even() {
        for (width, error) in [(3.0, 1e-10), (22.4, 1e-13), (45.0, 1e-6)] {
            let polynomial = cosine(width, error).unwrap();
            for i in 0..=2000 {
                let u = f64::from(i) / 1000.0 - 1.0;
                let off = polynomial.evaluate(u.into()).re - (width * u).cos();
                assert!(off.abs() < error + 1e-14, "{width} at {u}: {off:e}");
            }
            assert!(polynomial.coefficients().iter().skip(1).step_by(2).all(|&c| c == 0.0));
        }
    }

    #[test]
    fn what_double_precision_cannot_reach_is_refused() {
        for (width, error) in [(22.4, 1e-17), (1e4, 1e-6)] {
            assert!(matches!(cosine(width, error), Err(Error::InvalidParameters(_))));
        }
    }

    #[test]
    fn eight_levels_suffice_with_two_double_angles() {
        let width = 2.0 * std::f64::consts::PI * 14.27 / 4.0;
        let polynomial = cosine(width, 2f64.powi(-44)).unwrap();
        assert_eq!(polynomial.depth(), 6);
        assert!(polynomial.degree() <= 56 && polynomial.key_switches() <= 12, "{polynomial:?}");
    }
}
