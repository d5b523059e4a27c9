//! How often raising a modulus makes a coefficient overflow it.
//!
//! A ciphertext (c0, c1) of level 0 under a secret s of weight h, read over the integers with
//! coefficients in [-q0/2, q0/2), encrypts c0 + c1 s = m + q0 I. Let T = c1 s / q0. As c0 is
//! m - c1 s modulo q0, centred, I is T less m / q0 rounded to an integer, up to its sign, so that
//! |I| > K only where |T| >= K + 1/2 - |m| / q0.
//!
//! A coefficient of T is the sum of h coefficients of c1 / q0 with signs. Those of c1 are modelled
//! as independent and uniform, which they are after a key switch up to the hardness that
//! encryption rests on. Then, by Chernoff's bound with the moment generating function
//! sinh(x/2) / (x/2) of a uniform number,
//!
//! ```text
//!   P(|T_i| >= t) <= 2 min over x > 0 of exp(-x t) (sinh(x/2) / (x/2))^h
//! ```
//!
//! and 2 n coefficients are at most 2 n times as likely to leave the range as one. For h = 32 no
//! |I| exceeds 16, whatever is drawn; 15 is left with a chance below 2^-128 a ciphertext of
//! N = 2^16. For h = 40 and N = 2^15 19 is left with one below 2^-178. (Irwin-Hall sums are exact
//! where this is a bound; they and h + 1 terms are in eprint 2022/024, equation 1.)

/// A bootstrapping goes wrong by an overflow with a chance below 2^-so many.
pub const OVERFLOW_FAILURE_BITS: f64 = 128.0;

/// Chernoff's bound on the chance that a sum of `terms` uniform numbers in [-1/2, 1/2) reaches
/// `threshold` in absolute value, as log2.
fn log2_tail(terms: usize, threshold: f64) -> f64 {
    let terms = terms as f64;
    if threshold > terms / 2.0 {
        return f64::NEG_INFINITY;
    }
    // ln(sinh(x/2) / (x/2)), without overflow.
    let cumulant = |x: f64| x / 2.0 + (-(-x).exp_m1()).ln() - x.ln();
    let exponent = |x: f64| terms * cumulant(x) - x * threshold;
    // Any x gives a bound: powers of 2^(1/8) come near the best.
    let points = (-40..=80).map(|step| exponent((f64::from(step) / 8.0).exp2()));
    let least = points.fold(0.0, f64::min);
    1.0 + least / std::f64::consts::LN_2
}

/// The chance that any of `coefficients` overflows more than `most` times, as log2: at most this.
pub(super) fn log2_failure(weight: usize, coefficients: usize, most: usize, part: f64) -> f64 {
    (coefficients as f64).log2() + log2_tail(weight, most as f64 + 0.5 - part)
}

/// The least number of overflows that a coefficient exceeds with a chance below
/// 2^-[`OVERFLOW_FAILURE_BITS`] in any of `coefficients`, messages being up to a `part` of the modulus.
pub(super) fn most_overflows(weight: usize, coefficients: usize, part: f64) -> usize {
    let enough =
        |&most: &usize| log2_failure(weight, coefficients, most, part) <= -OVERFLOW_FAILURE_BITS;
    // Half the weight and one is never exceeded.
    (1..=weight / 2 + 1).find(enough).unwrap_or(weight / 2 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Irwin-Hall tail, by its alternating sum: exact where few terms are left.
    fn exact(terms: usize, threshold: f64) -> f64 {
        let reach = terms as f64 / 2.0 - threshold;
        let mut sum = 0.0;
        let mut choose = 1.0;
        for i in 0..=reach.floor() as usize {
            let sign = if i.is_multiple_of(2) { 1.0 } else { -1.0 };
            sum += sign * choose * (reach - i as f64).powi(terms as i32);
            choose *= (terms - i) as f64 / (i + 1) as f64;
        }
        let factorial: f64 = (1..=terms).map(|i| (i as f64).log2()).sum();
        1.0 + sum.log2() - factorial
    }

    #[test]
    fn the_bound_holds_and_is_near_the_exact_tail() {
        for threshold in [11.5, 12.5, 13.5, 14.5, 15.5] {
            let (bound, exact) = (log2_tail(32, threshold), exact(32, threshold));
            assert!(bound >= exact && bound < exact + 5.0, "{threshold}: {bound} {exact}");
        }
        assert_eq!(log2_tail(32, 16.01), f64::NEG_INFINITY);
    }

    #[test]
    fn overflows_are_bounded_by_ring_and_weight() {
        let part = 2f64.powi(-10);
        assert_eq!(most_overflows(40, 1 << 15, part), 19);
        assert_eq!(most_overflows(32, 1 << 16, part), 15);
        // No more ever come.
        assert_eq!(most_overflows(32, 1 << 17, part), 16);
        assert!(log2_failure(40, 1 << 15, 19, part) < -178.0);
        assert!(log2_failure(40, 1 << 15, 18, part) > -128.0);
        assert!(log2_failure(32, 1 << 16, 15, part) < -128.0);
        assert!(log2_failure(32, 1 << 16, 14, part) > -128.0);
        assert_eq!(log2_failure(32, 1 << 17, 16, part), f64::NEG_INFINITY);
        assert!(most_overflows(64, 1 << 16, 0.001) > 16);
        assert_eq!(most_overflows(1, 1 << 16, 0.001), 1);
    }
}
