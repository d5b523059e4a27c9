use zeroize::Zeroizing;

use super::Generator;

/// The standard deviation of encryption errors before rounding.
pub const SIGMA: f64 = 3.2;

/// The largest absolute value that [`gaussian`] returns.
pub const GAUSSIAN_BOUND: i8 = THRESHOLDS.len() as i8;

const LANES: usize = 32;
const BLOCK: usize = 32 * LANES;

/// Entry k is 2^63 P(|x| <= k) = 2^63 erf((k + 1/2) / (SIGMA sqrt 2)), rounded to
/// the nearest integer; the next entry would be 2^63 itself.
pub(super) const THRESHOLDS: [u64; 29] = [
    0x0fe49b67dc8159c6,
    0x2e2d1c3c52a898ee,
    0x485d35a2bfb73e55,
    0x5ceb732e1722d4e3,
    0x6b90978ed137b379,
    0x750918a6261b9ef9,
    0x7a9838194645678e,
    0x7d8e6d64fa05b5b3,
    0x7efd15671e083d30,
    0x7f9e04e86b3032cd,
    0x7fde2288855d8680,
    0x7ff551b61e4379ea,
    0x7ffceda7e45f8f31,
    0x7fff31ecd05c47a9,
    0x7fffced014618980,
    0x7ffff54fdd5bdbf5,
    0x7ffffde2f40fc52c,
    0x7fffff9eabf0edbd,
    0x7ffffff013b1364f,
    0x7ffffffda1a45e49,
    0x7fffffffae0214e1,
    0x7ffffffff5ec6bf4,
    0x7ffffffffedfec2a,
    0x7fffffffffe2c526,
    0x7ffffffffffd4e43,
    0x7fffffffffffc640,
    0x7ffffffffffffb9c,
    0x7fffffffffffffb2,
    0x7ffffffffffffffb,
];

/// Draws `n` independent errors: a normal variable of mean 0 and deviation
/// [`SIGMA`] = 3.2, rounded to the nearest integer, in constant time.
///
/// Rounding brings the deviation to 3.213. Each error takes 64 random bits, one
/// for the sign and 63 that are compared with every entry of a table of the
/// cumulative distribution (algorithm Frodo.Sample of the FrodoKEM specification,
/// 2021, with a wider word). The table ends where 63 bits do, at [`GAUSSIAN_BOUND`] = 29, or 9.2 deviations: the tail beyond weighs
/// 2^-64.8, and cut and rounding of the table together put one error at a
/// statistical distance of 2^-60.4 from the rounded normal.
///
/// # Examples
///
/// ```
/// use rlwe::sampling::{GAUSSIAN_BOUND, Generator, gaussian};
///
/// let errors = gaussian(&mut Generator::from_os()?, 1 << 12);
/// assert!(errors.iter().all(|e| e.abs() <= GAUSSIAN_BOUND));
/// # Ok::<(), rlwe::Error>(())
/// ```
pub fn gaussian(generator: &mut Generator, n: usize) -> Zeroizing<Vec<i8>> {
    let mut errors = Zeroizing::new(system_memory::filled(0, n));
    let mut draws = Zeroizing::new([0; BLOCK]);
    for block in errors.chunks_mut(BLOCK) {
        generator.fill(&mut *draws);
        pulp::Arch::new().dispatch(|| {
            invert_distribution(&mut draws);
            for (error, &draw) in block.iter_mut().zip(&*draws) {
                *error = draw as i8;
            }
        });
    }
    errors
}

/// Turns uniform words into errors, as two's complement.
#[inline(always)]
fn invert_distribution(words: &mut [u64; BLOCK]) {
    let (lanes, _) = words.as_chunks_mut::<LANES>();
    for words in lanes {
        let mut magnitudes = [0; LANES];
        for threshold in THRESHOLDS {
            for (magnitude, word) in magnitudes.iter_mut().zip(&*words) {
                // The top bit is set exactly when the upper 63 bits reach the threshold.
                *magnitude += (threshold - 1).wrapping_sub(*word >> 1) >> 63;
            }
        }
        for (word, magnitude) in words.iter_mut().zip(magnitudes) {
            let sign = (*word & 1).wrapping_neg();
            *word = (magnitude ^ sign).wrapping_sub(sign);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use crate::sampling::chi_square;
    use crate::sampling::moments::moments;

    /// P(|x| <= k) by Simpson's rule on the density.
    fn central_mass(k: usize) -> f64 {
        let end = k as f64 + 0.5;
        let intervals = 4000;
        let step = end / intervals as f64;
        let density = |i: usize| (-(i as f64 * step).powi(2) / (2.0 * SIGMA * SIGMA)).exp();
        let weight = |i: usize| match i {
            0 => 1.0,
            _ if i == intervals => 1.0,
            _ if i % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let sum: f64 = (0..=intervals).map(|i| weight(i) * density(i)).sum();
        2.0 * sum * step / 3.0 / (SIGMA * (2.0 * PI).sqrt())
    }

    #[test]
    fn the_table_is_the_cumulative_distribution() {
        for (k, &threshold) in THRESHOLDS.iter().enumerate() {
            let difference = threshold as f64 / 2f64.powi(63) - central_mass(k);
            assert!(difference.abs() < 1e-13, "entry {k} is off by {difference:e}");
        }
        assert!(THRESHOLDS.is_sorted());
    }

    #[test]
    fn the_scan_counts_the_thresholds_reached() {
        let mut words = [0; BLOCK];
        let edges: Vec<u64> =
            THRESHOLDS.iter().flat_map(|&t| [t - 1, t]).chain([0, (1 << 63) - 1]).collect();
        for (pair, &position) in words.as_chunks_mut::<2>().0.iter_mut().zip(&edges) {
            *pair = [position << 1, position << 1 | 1];
        }
        invert_distribution(&mut words);
        for (pair, &position) in words.as_chunks::<2>().0.iter().zip(&edges) {
            let magnitude = THRESHOLDS.iter().filter(|&&t| position >= t).count() as i64;
            assert_eq!(pair.map(|word| word as i64), [magnitude, -magnitude]);
        }
    }

    #[test]
    fn errors_follow_the_rounded_normal_distribution() {
        let errors = gaussian(&mut Generator::deterministic([8; 32]), 1 << 20);
        // Cells for -12 to 12 and one for each tail, so that every cell expects enough.
        let last = 12;
        let mut observed = vec![0; 2 * last + 3];
        for &error in errors.iter() {
            let cell = isize::from(error).clamp(-13, 13) + 13;
            observed[cell as usize] += 1;
        }
        let probability = |magnitude: usize| match magnitude {
            0 => central_mass(0),
            _ if magnitude > last => (1.0 - central_mass(last)) / 2.0,
            _ => (central_mass(magnitude) - central_mass(magnitude - 1)) / 2.0,
        };
        let expected: Vec<f64> =
            (0..observed.len()).map(|cell| probability(cell.abs_diff(last + 1))).collect();
        assert!(chi_square::excess(&observed, &expected) < 5.0, "{observed:?}");
    }

    #[test]
    fn errors_have_the_moments_and_tail_of_the_distribution() {
        let n = 1 << 20;
        let errors = gaussian(&mut Generator::deterministic([9; 32]), n);
        let (mean, deviation, kurtosis) = moments(errors.iter().map(|&e| f64::from(e)));
        let exact = (SIGMA * SIGMA + 1.0 / 12.0).sqrt();
        assert!(mean.abs() < 5.0 * exact / (n as f64).sqrt());
        assert!((deviation / exact - 1.0).abs() < 5.0 / (2.0 * n as f64).sqrt());
        assert!((kurtosis - 3.0).abs() < 0.03);
        let largest = errors.iter().map(|e| e.unsigned_abs()).max().unwrap_or(0);
        assert!((14..=21).contains(&largest), "{largest}");
    }
}
