use zeroize::Zeroizing;

use super::Generator;
use crate::{Error, Result};

/// The standard deviation of encryption errors before rounding.
pub const SIGMA: f64 = 3.2;

/// The largest absolute value that [`gaussian`] returns.
pub const GAUSSIAN_BOUND: i8 = THRESHOLDS.len() as i8;

/// The largest width that [`wide_gaussian`] takes, as a logarithm to base 2.
pub const MAX_LOG2_SIGMA: u32 = 55;

const LANES: usize = 32;
const BLOCK: usize = 32 * LANES;

/// Entry k is 2^63 P(|x| <= k) = 2^63 erf((k + 1/2) / (SIGMA sqrt 2)), rounded to
/// the nearest integer; the next entry would be 2^63 itself.
const THRESHOLDS: [u64; 29] = [
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
    let mut errors = Zeroizing::new(vec![0; n]);
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

/// Draws `n` independent values near a normal variable of mean 0 and deviation
/// 1.855 2^`log2_sigma`, in constant time: noise that floods what is below it.
///
/// A value is the sum of 2^i x_i for i below `log2_sigma` (one term at least) with
/// x_i from [`gaussian`], which has variance (3.2^2 + 1/12) (4^`log2_sigma` - 1)/3;
/// for widths 0 and 1 that is the deviation of [`gaussian`], 3.213. Up to a
/// relative error of about 2^-57 in each probability, it is the sum of a continuous
/// normal variable of deviation at least 2^`log2_sigma` and a small independent
/// one, taken at the integers (Micciancio and Walter, "Gaussian Sampling over the
/// Integers: Efficient, Generic, Constant-Time", CRYPTO 2017, algorithm SampleI,
/// with the ratio 2, which 3.2 permits); so it hides at least as much as that
/// normal variable would. The imprecision of all terms together adds a statistical
/// distance of `log2_sigma` 2^-60.4. Absolute values are at most 29 2^`log2_sigma`.
/// The time grows in proportion to `log2_sigma`.
///
/// # Errors
///
/// [`Error::InvalidArgument`] if `log2_sigma` exceeds [`MAX_LOG2_SIGMA`].
///
/// # Examples
///
/// ```
/// use rlwe::sampling::{Generator, wide_gaussian};
///
/// let flood = wide_gaussian(&mut Generator::from_os()?, 1 << 12, 30)?;
/// assert!(flood.iter().all(|x| x.abs() <= 29 << 30));
/// # Ok::<(), rlwe::Error>(())
/// ```
pub fn wide_gaussian(
    generator: &mut Generator,
    n: usize,
    log2_sigma: u32,
) -> Result<Zeroizing<Vec<i64>>> {
    if log2_sigma > MAX_LOG2_SIGMA {
        return Err(Error::InvalidArgument {
            operation: "draw flooding noise",
            reason: format!("log2_sigma is {log2_sigma}, the most is {MAX_LOG2_SIGMA}"),
        });
    }
    let mut noise = Zeroizing::new(vec![0i64; n]);
    let mut draws = Zeroizing::new([0; BLOCK]);
    for block in noise.chunks_mut(BLOCK) {
        for _ in 0..log2_sigma.max(1) {
            generator.fill(&mut *draws);
            pulp::Arch::new().dispatch(|| {
                invert_distribution(&mut draws);
                for (value, &draw) in block.iter_mut().zip(&*draws) {
                    *value = 2 * *value + draw as i64;
                }
            });
        }
    }
    Ok(noise)
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

    fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64, f64) {
        let count = values.clone().count() as f64;
        let mean = values.clone().sum::<f64>() / count;
        let power = |p| values.clone().map(|x| (x - mean).powi(p)).sum::<f64>() / count;
        (mean, power(2).sqrt(), power(4) / power(2).powi(2))
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

    #[test]
    fn wide_noise_is_as_wide_and_as_normal_as_promised() -> Result<()> {
        let n = 1 << 16;
        let mut generator = Generator::deterministic([10; 32]);
        for log2_sigma in [0, 1, 2, 5, 20, MAX_LOG2_SIGMA] {
            let noise = wide_gaussian(&mut generator, n, log2_sigma)?;
            let (mean, deviation, kurtosis) = moments(noise.iter().map(|&x| x as f64));
            let terms = log2_sigma.max(1) as i32;
            let exact = ((SIGMA * SIGMA + 1.0 / 12.0) * (4f64.powi(terms) - 1.0) / 3.0).sqrt();
            assert!(exact >= 2f64.powi(log2_sigma as i32));
            assert!(mean.abs() < 5.0 * exact / (n as f64).sqrt());
            assert!((deviation / exact - 1.0).abs() < 5.0 / (2.0 * n as f64).sqrt());
            assert!((kurtosis - 3.0).abs() < 0.1, "{kurtosis}");
            let inside = noise.iter().filter(|x| (x.abs() as f64) < exact).count() as f64;
            if log2_sigma >= 5 {
                assert!((inside / n as f64 - 0.6827).abs() < 0.012, "{inside}");
            }
        }
        Ok(())
    }

    #[test]
    fn low_bits_of_wide_noise_are_uniform() -> Result<()> {
        let noise = wide_gaussian(&mut Generator::deterministic([11; 32]), 1 << 16, 30)?;
        let mut observed = [0; 64];
        for &value in noise.iter() {
            observed[(value & 63) as usize] += 1;
        }
        assert!(chi_square::excess(&observed, &[1.0 / 64.0; 64]) < 5.0);
        Ok(())
    }

    #[test]
    fn too_wide_a_noise_is_refused() {
        let refusal = wide_gaussian(&mut Generator::deterministic([12; 32]), 1, MAX_LOG2_SIGMA + 1);
        assert!(matches!(refusal, Err(Error::InvalidArgument { .. })));
    }
}
