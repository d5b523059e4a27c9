//! The primes a chain may draw from, and sums of their sizes.

use std::sync::{Arc, OnceLock};

use super::MAX_LOG_N;
use crate::ring::primes::{WORD_BITS, ntt_primes};

/// A size in bits, in units of 2^-20 bit. Planning in integers gives the same chain
/// on every machine, whatever the last digit of its logarithm.
pub(super) type Bits = i64;
pub(super) const BIT: Bits = 1 << 20;

pub(super) fn bits(x: f64) -> Bits {
    (x * BIT as f64).round() as Bits
}

pub(super) fn to_f64(size: Bits) -> f64 {
    size as f64 / BIT as f64
}

/// Smaller primes would save nothing: a residue takes a word whatever its size.
pub(super) const SMALLEST_BITS: u32 = 14;
/// A small ring has millions of word primes; this many numbers of each bit length are looked at.
const LOG_CANDIDATES_PER_OCTAVE: u32 = 12;
/// How many first primes are tried when a sum of several is to be matched.
const FIRST_TRIED: usize = 32;

/// Whether a sum of sizes may fall short of its target.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Fit {
    Nearest,
    NotBelow,
}

/// Primes in rising order, and their sizes.
struct Primes {
    primes: Vec<u32>,
    sizes: Vec<Bits>,
}

impl Primes {
    fn new(primes: impl Iterator<Item = u32>) -> Arc<Self> {
        let primes: Vec<u32> = primes.collect();
        let sizes = primes.iter().map(|&p| bits(f64::from(p).log2())).collect();
        Arc::new(Self { primes, sizes })
    }

    /// The word primes of a ring, found once in the life of a process.
    fn of_ring(log_n: u32) -> &'static Arc<Self> {
        static KNOWN: [OnceLock<Arc<Primes>>; MAX_LOG_N as usize + 1] =
            [const { OnceLock::new() }; MAX_LOG_N as usize + 1];
        KNOWN[log_n as usize].get_or_init(|| {
            Self::new((SMALLEST_BITS..WORD_BITS).flat_map(|octave| {
                // A prime that is 1 modulo a larger power of two is 1 modulo 2N too.
                let thinned = log_n.max(octave - LOG_CANDIDATES_PER_OCTAVE - 1);
                ntt_primes(thinned, 1 << octave..2 << octave).map(|p| p as u32)
            }))
        })
    }
}

/// Word primes that are 1 modulo 2N, in rising order, and which of them are in use.
#[derive(Clone)]
pub(super) struct PrimePool {
    known: Arc<Primes>,
    taken: Vec<bool>,
}

impl PrimePool {
    /// All of them but the `avoided` one.
    pub(super) fn new(log_n: u32, avoided: Option<u32>) -> Self {
        let all = Primes::of_ring(log_n);
        Self::of(match avoided {
            None => Arc::clone(all),
            Some(avoided) => Primes::new(all.primes.iter().copied().filter(|&p| p != avoided)),
        })
    }

    fn of(known: Arc<Primes>) -> Self {
        let taken = vec![false; known.primes.len()];
        Self { known, taken }
    }

    /// Those below 2^`word_bits`, each at the index that it has here; all are free.
    pub(super) fn below(&self, word_bits: u32) -> Self {
        let count = self.known.primes.partition_point(|&p| p >> word_bits == 0);
        if count == self.known.primes.len() {
            return Self::of(Arc::clone(&self.known));
        }
        Self::of(Primes::new(self.known.primes[..count].iter().copied()))
    }

    pub(super) fn prime(&self, index: usize) -> u32 {
        self.known.primes[index]
    }

    pub(super) fn size(&self, index: usize) -> Bits {
        self.known.sizes[index]
    }

    pub(super) fn sizes(&self) -> &[Bits] {
        &self.known.sizes
    }

    pub(super) fn total(&self, indices: &[usize]) -> Bits {
        indices.iter().map(|&i| self.known.sizes[i]).sum()
    }

    /// The product of at most four primes.
    pub(super) fn product(&self, indices: &[usize]) -> u128 {
        indices.iter().map(|&i| u128::from(self.known.primes[i])).product()
    }

    pub(super) fn take(&mut self, indices: &[usize]) {
        for &i in indices {
            self.taken[i] = true;
        }
    }

    fn release(&mut self, index: usize) {
        self.taken[index] = false;
    }

    /// As few of the largest free primes as reach `target` together.
    pub(super) fn largest_exceeding(&self, target: Bits) -> Option<Vec<usize>> {
        let mut indices = Vec::new();
        let mut sum = 0;
        for i in (0..self.known.sizes.len()).rev().filter(|&i| !self.taken[i]) {
            indices.push(i);
            sum += self.known.sizes[i];
            if sum >= target {
                return Some(indices);
            }
        }
        None
    }

    /// The free prime nearest to a size and not among `except`.
    pub(super) fn nearest(&self, size: Bits, except: &[usize]) -> Option<usize> {
        self.around(size, except.len() + 1)
            .filter(|i| !except.contains(i))
            .min_by_key(|&i| (self.known.sizes[i] - size).abs())
    }

    /// `count` free primes of about equal size whose sizes sum near `target`.
    ///
    /// All but two are the nearest to their share; the last two are the best of a
    /// window of pairs, so the sum is far closer than any one prime would be.
    pub(super) fn sum_near(&mut self, count: usize, target: Bits, fit: Fit) -> Option<Vec<usize>> {
        let miss = |sum: Bits| match fit {
            Fit::NotBelow if sum < target => None,
            _ => Some((sum - target).abs()),
        };
        if count == 0 {
            return miss(0).map(|_| Vec::new());
        }
        if count == 1 {
            return self
                .around(target, 1)
                .filter_map(|i| miss(self.known.sizes[i]).map(|m| (m, i)))
                .min()
                .map(|(_, i)| vec![i]);
        }
        let share = target / count as Bits;
        let firsts: Vec<usize> = match count {
            2 => self.around(share, FIRST_TRIED).collect(),
            _ => self.nearest(share, &[]).into_iter().collect(),
        };
        let mut best: Option<(Bits, Vec<usize>)> = None;
        for first in firsts {
            self.take(&[first]);
            let rest = self.sum_near(count - 1, target - self.known.sizes[first], fit);
            self.release(first);
            let Some(mut chosen) = rest else { continue };
            chosen.push(first);
            let sum = chosen.iter().map(|&i| self.known.sizes[i]).sum();
            let Some(m) = miss(sum) else { continue };
            if best.as_ref().is_none_or(|(least, _)| m < *least) {
                best = Some((m, chosen));
            }
        }
        best.map(|(_, chosen)| chosen)
    }

    /// Up to `each_side` free primes above a size and as many below it.
    fn around(&self, size: Bits, each_side: usize) -> impl Iterator<Item = usize> {
        let split = self.known.sizes.partition_point(|&s| s < size);
        let above = (split..self.known.sizes.len()).filter(|&i| !self.taken[i]).take(each_side);
        let below = (0..split).rev().filter(|&i| !self.taken[i]).take(each_side);
        above.chain(below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_rise_and_have_a_transform() {
        for log_n in [5, 10, 13, 16, 17] {
            let pool = PrimePool::new(log_n, None);
            assert!(pool.known.primes.is_sorted());
            assert!(pool.known.primes.iter().all(|p| p % (2 << log_n) == 1 && p >> WORD_BITS == 0));
            assert!(pool.known.primes.len() > 400, "{log_n}: {}", pool.known.primes.len());
        }
    }

    #[test]
    fn sums_come_near_and_take_only_free_primes() {
        let mut pool = PrimePool::new(15, None);
        for count in 1..=4 {
            let target = count as Bits * bits(28.3);
            let chosen = pool.sum_near(count, target, Fit::NotBelow).unwrap();
            let sum: Bits = chosen.iter().map(|&i| pool.size(i)).sum();
            assert_eq!(chosen.len(), count);
            assert!(sum >= target && sum - target < bits(0.01));
            pool.take(&chosen);
            let again = pool.sum_near(count, target, Fit::Nearest).unwrap();
            assert!(again.iter().all(|i| !chosen.contains(i)));
        }
        assert_eq!(pool.sum_near(1, 31 * BIT, Fit::NotBelow), None);
        assert_eq!(pool.largest_exceeding(Bits::MAX), None);
    }
}
