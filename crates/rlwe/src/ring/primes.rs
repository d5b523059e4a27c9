//! Word primes that have a number-theoretic transform.

use std::ops::Range;

pub use tfhe_ntt::prime::is_prime64 as is_prime;

/// Every residue lives in a word below 2^30: two of them add, and a lazy
/// butterfly quadruples one, without leaving 32 bits.
pub const WORD_BITS: u32 = 30;

/// The primes in `range` that are 1 modulo 2N, N = 2^`log_n`, in rising order;
/// `.rev()` lists them from the top.
///
/// ```
/// use rlwe::ring::primes::ntt_primes;
/// assert_eq!(ntt_primes(16, 0..1 << 24).next(), Some(786_433));
/// assert_eq!(ntt_primes(13, 0..1 << 30).next_back(), Some(1_073_692_673));
/// ```
pub fn ntt_primes(log_n: u32, range: Range<u64>) -> impl DoubleEndedIterator<Item = u64> {
    let shift = log_n.saturating_add(1);
    let first_multiple_from = |bound: u64| match 1u64.checked_shl(shift) {
        Some(two_n) => bound.saturating_sub(1).div_ceil(two_n),
        None => 1,
    };
    let multiples = first_multiple_from(range.start).max(1)..first_multiple_from(range.end);
    multiples.map(move |k| (k << shift) + 1).filter(|&n| is_prime(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_prime_by_division(n: u64) -> bool {
        n >= 2 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
    }

    #[test]
    fn agrees_with_trial_division() {
        for n in (0..20_000).chain((1 << 30) - 500..(1 << 30) + 500) {
            assert_eq!(is_prime(n), is_prime_by_division(n), "{n}");
        }
    }

    #[test]
    fn strong_pseudoprimes_are_composite() {
        // Least strong pseudoprimes to the first k primes, OEIS A014233.
        for n in [
            2047,
            1_373_653,
            25_326_001,
            3_215_031_751,
            2_152_302_898_747,
            3_474_749_660_383,
            341_550_071_728_321,
            3_825_123_056_546_413_051,
            4_759_123_141, // the least to bases 2, 7 and 61
        ] {
            assert!(!is_prime(n), "{n}");
        }
        assert!(is_prime(u64::MAX - 58));
        assert!(!is_prime(u64::MAX));
        assert!(is_prime((1 << 61) - 1));
    }

    #[test]
    fn ranges_hold_exactly_their_primes() {
        let found: Vec<u64> = ntt_primes(4, 97..1000).collect();
        let expected: Vec<u64> =
            (97..1000).filter(|&n| n % 32 == 1 && is_prime_by_division(n)).collect();
        assert_eq!(found, expected);
        assert_eq!(found[0], 97);
        assert_eq!(ntt_primes(4, 0..97).next(), None);
        assert_eq!(ntt_primes(4, 0..98).next(), Some(97));
    }

    #[test]
    fn no_ring_is_too_large_to_ask_about() {
        for log_n in [30, 62, 63, 64, u32::MAX] {
            assert_eq!(ntt_primes(log_n, 0..1 << 30).next(), None);
        }
        assert!(ntt_primes(62, 0..u64::MAX).all(|p| p % (1 << 63) == 1));
    }
}
