//! Gaussian noise of any width.

use zeroize::Zeroizing;

use super::Generator;
use crate::{Error, Result};

/// The largest width that [`wide_gaussian`] takes, as a logarithm to base 2.
pub const MAX_LOG2_SIGMA: u32 = 55;

const LANES: usize = 16;
const BLOCK: usize = 32 * LANES;

/// Entry k is 2^126 P(|x| <= k) = 2^126 erf((k + 1/2) / (3.2 sqrt 2)), rounded to the nearest
/// integer, in two halves of 63 bits; the next entry would be 2^126 itself.
const THRESHOLDS: [(u64, u64); 42] = [
    (0x0fe49b67dc8159c5, 0x60a16d129c8ecca5),
    (0x2e2d1c3c52a898ee, 0x395bd6a905ff92eb),
    (0x485d35a2bfb73e55, 0x13de32a7cd5dc68f),
    (0x5ceb732e1722d4e3, 0x13abba75c401a840),
    (0x6b90978ed137b378, 0x556362d5a8dff9b9),
    (0x750918a6261b9ef8, 0x587f29fd1becf41f),
    (0x7a9838194645678d, 0x59ea60fe09a06e42),
    (0x7d8e6d64fa05b5b2, 0x51d42439e4ef6acd),
    (0x7efd15671e083d30, 0x113a2a9bf9241757),
    (0x7f9e04e86b3032cc, 0x63e15e13daefd702),
    (0x7fde2288855d8680, 0x1fca2c0f55c8eb7c),
    (0x7ff551b61e4379e9, 0x5e2fd240919e57f2),
    (0x7ffceda7e45f8f31, 0x3febb5b4a494f2e7),
    (0x7fff31ecd05c47a8, 0x56d3187e4cf5c36f),
    (0x7fffced014618980, 0x3ef4495f181da19b),
    (0x7ffff54fdd5bdbf4, 0x4720ea3f45970ef8),
    (0x7ffffde2f40fc52b, 0x4b1db38dc17e3f23),
    (0x7fffff9eabf0edbd, 0x22f7be16509724b6),
    (0x7ffffff013b1364e, 0x5483c73961b0c04b),
    (0x7ffffffda1a45e48, 0x55240f9260b5bff9),
    (0x7fffffffae0214e0, 0x652fb10024598b8e),
    (0x7ffffffff5ec6bf4, 0x29345e9b6dec1517),
    (0x7ffffffffedfec2a, 0x0fb3a3e3378da2ba),
    (0x7fffffffffe2c525, 0x433e3e7815cc1737),
    (0x7ffffffffffd4e42, 0x79bc19717b417294),
    (0x7fffffffffffc640, 0x0d15965472fe6f2e),
    (0x7ffffffffffffb9b, 0x62df310d1215593f),
    (0x7fffffffffffffb2, 0x2e3ea2e5e131dc24),
    (0x7ffffffffffffffb, 0x10ca9f1e5a7bd5c8),
    (0x7fffffffffffffff, 0x5c836a26b6a22671),
    (0x7fffffffffffffff, 0x7e2a549604fbe873),
    (0x7fffffffffffffff, 0x7fe9f4854fb3c78c),
    (0x7fffffffffffffff, 0x7fff0f876a68b203),
    (0x7fffffffffffffff, 0x7ffff6b2cc62b98f),
    (0x7fffffffffffffff, 0x7fffffac64782b30),
    (0x7fffffffffffffff, 0x7ffffffd55dd5af3),
    (0x7fffffffffffffff, 0x7fffffffec4495c8),
    (0x7fffffffffffffff, 0x7fffffffff7b60bd),
    (0x7fffffffffffffff, 0x7ffffffffffcd702),
    (0x7fffffffffffffff, 0x7fffffffffffee81),
    (0x7fffffffffffffff, 0x7fffffffffffffa8),
    (0x7fffffffffffffff, 0x7ffffffffffffffe),
];

/// Draws `n` independent values near a normal variable of mean 0 and deviation
/// 1.855 2^`log2_sigma`, in constant time: noise that floods what is below it.
///
/// A value is the sum of 2^i x_i for i below `log2_sigma` (one term at least), the x_i independent
/// normal variables of deviation 3.2, rounded. It has variance (3.2^2 + 1/12)
/// (4^`log2_sigma` - 1)/3; for widths 0 and 1 the deviation is 3.213. Up to a
/// relative error of about 2^-57 in each probability, it is the sum of a continuous
/// normal variable of deviation at least 2^`log2_sigma` and a small independent
/// one, taken at the integers (Micciancio and Walter, "Gaussian Sampling over the
/// Integers: Efficient, Generic, Constant-Time", CRYPTO 2017, algorithm SampleI,
/// with the ratio 2, which 3.2 permits); so it hides at least as much as that
/// normal variable would.
///
/// Each x_i takes 127 random bits, one for the sign and 126 that are compared with every entry
/// of a table of the cumulative distribution, as [`gaussian`](super::gaussian) does with 63: cut
/// and rounding of the table put it at a statistical distance of 2^-123 from the rounded normal,
/// so that all the noise that is ever drawn stays near it. Absolute values are at most
/// 42 2^`log2_sigma`. The time grows in proportion to `log2_sigma`.
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
/// assert!(flood.iter().all(|x| x.abs() <= 42 << 30));
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
    let mut noise = Zeroizing::new(system_memory::filled(0i64, n));
    let mut high = Zeroizing::new([0; BLOCK]);
    let mut low = Zeroizing::new([0; BLOCK]);
    for block in noise.chunks_mut(BLOCK) {
        for _ in 0..log2_sigma.max(1) {
            generator.fill(&mut *high);
            generator.fill(&mut *low);
            pulp::Arch::new().dispatch(|| {
                invert_distribution(&mut high, &low);
                for (value, &draw) in block.iter_mut().zip(&*high) {
                    *value = 2 * *value + draw as i64;
                }
            });
        }
    }
    Ok(noise)
}

/// Turns the upper halves of uniform numbers, which hold the sign, into errors, as two's
/// complement.
#[inline(always)]
fn invert_distribution(high: &mut [u64; BLOCK], low: &[u64; BLOCK]) {
    let (high, _) = high.as_chunks_mut::<LANES>();
    let (low, _) = low.as_chunks::<LANES>();
    for (high, low) in high.iter_mut().zip(low) {
        let mut magnitudes = [0; LANES];
        for (upper, lower) in THRESHOLDS {
            for ((magnitude, high), low) in magnitudes.iter_mut().zip(&*high).zip(low) {
                // The top bits of these differences are set exactly when the number is below the
                // threshold.
                let borrow = (low >> 1).wrapping_sub(lower) >> 63;
                let below = (high >> 1).wrapping_sub(upper).wrapping_sub(borrow) >> 63;
                *magnitude += 1 - below;
            }
        }
        for (high, magnitude) in high.iter_mut().zip(magnitudes) {
            let sign = (*high & 1).wrapping_neg();
            *high = (magnitude ^ sign).wrapping_sub(sign);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::SIGMA;
    use crate::sampling::chi_square;
    use crate::sampling::moments::moments;

    #[test]
    fn the_scan_counts_the_thresholds_reached() {
        let (mut high, mut low) = ([0; BLOCK], [0; BLOCK]);
        let below = |&(upper, lower): &(u64, u64)| match lower {
            0 => (upper - 1, (1 << 63) - 1),
            _ => (upper, lower - 1),
        };
        let edges: Vec<(u64, u64)> = THRESHOLDS
            .iter()
            .flat_map(|t| [below(t), *t])
            .chain([(0, 0), ((1 << 63) - 1, (1 << 63) - 1)])
            .collect();
        for (place, &(upper, lower)) in edges.iter().enumerate() {
            (high[2 * place], high[2 * place + 1]) = (upper << 1, upper << 1 | 1);
            (low[2 * place], low[2 * place + 1]) = (lower << 1, lower << 1 | 1);
        }
        invert_distribution(&mut high, &low);
        for (place, edge) in edges.iter().enumerate() {
            let magnitude = THRESHOLDS.iter().filter(|t| edge >= t).count() as i64;
            assert_eq!(high[2 * place] as i64, magnitude, "{edge:?}");
            assert_eq!(high[2 * place + 1] as i64, -magnitude, "{edge:?}");
        }
    }

    /// The narrow table is the wide one's upper half, to its rounding.
    #[test]
    fn both_tables_are_one_distribution() {
        assert!(THRESHOLDS.is_sorted());
        let narrow = crate::sampling::gaussian::THRESHOLDS;
        for (&narrow, &(upper, lower)) in narrow.iter().zip(&THRESHOLDS) {
            assert_eq!(narrow, upper + (lower >> 62));
        }
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
