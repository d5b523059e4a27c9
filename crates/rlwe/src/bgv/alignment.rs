//! Multipliers that bring two correction factors together.

use super::slots::centred;
use crate::ring::modulus::Modulus;

/// Multipliers a and b, not 0, with a f1 = b f2 modulo t, such that a v1 + b v2 is small, for
/// noises v1 and v2 given as log2.
///
/// They are a short vector of the lattice of all such pairs, found among the convergents of
/// f1 / f2 (as HElib brings its correction factors together: Halevi and Shoup 2020, "HElib
/// design principles").
pub(super) fn multipliers(t: Modulus, factors: [u32; 2], noise_bits: [f64; 2]) -> [i64; 2] {
    if factors[0] == factors[1] {
        return [1, 1];
    }
    let ratio = t.mul(factors[0], t.inv(factors[1]));
    // b = a ratio modulo t for every row: the extended Euclidean algorithm.
    let mut rows = [[0, i64::from(t.q)], [1, i64::from(ratio)]];
    let mut best = [1, centred(t, ratio)];
    let weight = |[a, b]: [i64; 2]| {
        let bits = |x: i64, noise: f64| (x.unsigned_abs() as f64).log2() + noise;
        bits(a, noise_bits[0]).max(bits(b, noise_bits[1]))
    };
    while rows[1][1] != 0 {
        if weight(rows[1]) < weight(best) {
            best = rows[1];
        }
        let quotient = rows[0][1] / rows[1][1];
        let next = std::array::from_fn(|i| rows[0][i] - quotient * rows[1][i]);
        rows = [rows[1], next];
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multipliers_align_and_are_short() {
        for t in [193, 65537, 1_073_479_681] {
            let t = Modulus::new(t);
            for i in 1..200u32 {
                let factors = [i.wrapping_mul(2_654_435_761), i.wrapping_mul(40_503) + 7];
                let factors = factors.map(|f| 1 + f % (t.q - 1));
                let [a, b] = multipliers(t, factors, [10.0, 10.0]);
                let residue = |x: i64| x.rem_euclid(i64::from(t.q)) as u32;
                assert!(a != 0 && b != 0);
                assert_eq!(t.mul(residue(a), factors[0]), t.mul(residue(b), factors[1]));
                let bound = 2.0 * f64::from(t.q).sqrt();
                assert!((a.abs().max(b.abs()) as f64) < bound, "{a} {b} modulo {}", t.q);
            }
        }
    }

    #[test]
    fn the_noisier_side_is_multiplied_by_less() {
        let t = Modulus::new(65537);
        let [a, b] = multipliers(t, [3, 12345], [40.0, 10.0]);
        assert!(a.abs() == 1 && b.abs() > 1, "{a} {b}");
        assert_eq!(multipliers(t, [5, 5], [40.0, 10.0]), [1, 1]);
        assert_eq!(multipliers(t, [7, 65537 - 7], [10.0, 10.0]), [1, -1]);
        assert_eq!(multipliers(t, [3, 2], [10.0, 10.0]).map(i64::abs), [2, 3]);
    }
}
