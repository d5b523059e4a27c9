//! Word primes that have a number-theoretic transform.

use std::ops::Range;

/// Every residue lives in a word below 2^30: two of them add, and a lazy
/// butterfly quadruples one, without leaving 32 bits.
pub const WORD_BITS: u32 = 30;

/// Whether `n` is prime, without error for every 64-bit number.
///
/// Miller-Rabin to fixed bases: 2, 7 and 61 decide below 4,759,123,141 (Jaeschke,
/// "On strong pseudoprimes to several bases", Math. Comp. 61, 1993, section 4);
/// the first twelve primes decide below 3.1 * 10^23 (Sorenson and Webster,
/// "Strong pseudoprimes to twelve prime bases", Math. Comp. 86, 2017, theorem 1).
///
/// ```
/// use rlwe::ring::primes::is_prime;
/// assert!(is_prime(786_433));
/// assert!(!is_prime(3_215_031_751)); // a strong pseudoprime to bases 2, 3, 5 and 7
/// ```
pub fn is_prime(n: u64) -> bool {
    const FIRST_PRIMES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    const SMALL_BASES: [u64; 3] = [2, 7, 61];
    const SMALL_BASES_DECIDE_BELOW: u64 = 4_759_123_141;

    if n < 2 {
        return false;
    }
    for p in FIRST_PRIMES {
        if n.is_multiple_of(p) {
            return n == p;
        }
    }
    let twos = (n - 1).trailing_zeros();
    let odd_part = (n - 1) >> twos;
    let passes = |base: u64| {
        if base.is_multiple_of(n) {
            return true;
        }
        let mut x = power_mod(base % n, odd_part, n);
        if x == 1 || x == n - 1 {
            return true;
        }
        for _ in 1..twos {
            x = product_mod(x, x, n);
            if x == n - 1 {
                return true;
            }
        }
        false
    };
    if n < SMALL_BASES_DECIDE_BELOW {
        SMALL_BASES.into_iter().all(passes)
    } else {
        FIRST_PRIMES.into_iter().all(passes)
    }
}

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

fn product_mod(a: u64, b: u64, n: u64) -> u64 {
    if n <= u64::from(u32::MAX) {
        a * b % n
    } else {
        (u128::from(a) * u128::from(b) % u128::from(n)) as u64
    }
}

fn power_mod(base: u64, mut exponent: u64, n: u64) -> u64 {
    let (mut square, mut power) = (base, 1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = product_mod(power, square, n);
        }
        square = product_mod(square, square, n);
        exponent >>= 1;
    }
    power
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
