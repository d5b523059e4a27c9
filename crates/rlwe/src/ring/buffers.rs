//! Memory of limbs, cached for the next polynomial.
//!
//! A fresh allocation of a megabyte costs a page fault for every four kilobytes,
//! as much time as a transform of what is in them.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

use super::WORD_BYTES;

/// Bytes cached at most where nothing is known of the machine, and at least where something is.
const LEAST_CACHED: u64 = 512 << 20;
/// The part of the machine's memory that is cached at most: a bootstrapping at N = 2^16 works in
/// about a gigabyte.
const PART_CACHED: u64 = 16;

/// Words cached at most.
static MAX_CACHED: LazyLock<AtomicUsize> = LazyLock::new(|| {
    let part = machine_bytes().unwrap_or(0) / PART_CACHED;
    let words = part.max(LEAST_CACHED) / WORD_BYTES as u64;
    AtomicUsize::new(usize::try_from(words).unwrap_or(usize::MAX))
});

/// The bytes of polynomials that are no longer in use which are cached for others at most: by
/// default 512 MiB, or a sixteenth of the machine's memory where that is more.
pub fn cached_bytes() -> usize {
    MAX_CACHED.load(Ordering::Relaxed).saturating_mul(WORD_BYTES)
}

/// Caches so many [bytes](cached_bytes) from now on; operations take longer where these are few.
///
/// ```
/// let before = rlwe::cached_bytes();
/// rlwe::set_cached_bytes(1 << 20);
/// assert_eq!(rlwe::cached_bytes(), 1 << 20);
/// rlwe::set_cached_bytes(before);
/// ```
pub fn set_cached_bytes(bytes: usize) {
    MAX_CACHED.store(bytes / WORD_BYTES, Ordering::Relaxed);
    let most = MAX_CACHED.load(Ordering::Relaxed);
    drop(CACHE.lock().unwrap_or_else(PoisonError::into_inner).excess(most));
}

/// The memory of the machine, where its system says so.
fn machine_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// How much longer a buffer may be than what is asked for, as a part of that. The diagonals of one
/// giant step are seldom as many as those of the next.
const PART_SPARE: usize = 8;

struct Kept {
    by_capacity: BTreeMap<usize, Buffers>,
    words: usize,
    /// How many buffers were asked for so far.
    asked: u64,
}

/// Those of one capacity.
#[derive(Default)]
struct Buffers {
    kept: Vec<Vec<u32>>,
    /// The number of the last that was asked for.
    asked: u64,
}

impl Kept {
    /// The shortest buffer of at least so many words, unless it is much longer.
    fn fitting(&mut self, length: usize) -> Option<Vec<u32>> {
        self.asked += 1;
        let mut sizes = self.by_capacity.range_mut(length..=length + length / PART_SPARE);
        let found = sizes.find_map(|(_, buffers)| Some((buffers.kept.pop()?, buffers)));
        let Some((words, buffers)) = found else {
            self.by_capacity.entry(length).or_default().asked = self.asked;
            return None;
        };
        buffers.asked = self.asked;
        self.words -= words.capacity();
        Some(words)
    }

    fn keep(&mut self, words: Vec<u32>) {
        self.words += words.capacity();
        let buffers = self.by_capacity.entry(words.capacity()).or_default();
        buffers.kept.push(words);
    }

    /// The buffers beyond so many words: of the size that was asked for longest ago.
    fn excess(&mut self, most_words: usize) -> Vec<Vec<u32>> {
        let mut forgotten = Vec::new();
        while self.words > most_words {
            let oldest = (self.by_capacity.values_mut())
                .filter(|buffers| !buffers.kept.is_empty())
                .min_by_key(|buffers| buffers.asked);
            let Some(buffer) = oldest.and_then(|buffers| buffers.kept.pop()) else { break };
            self.words -= buffer.capacity();
            forgotten.push(buffer);
        }
        forgotten
    }
}

static CACHE: Mutex<Kept> = Mutex::new(Kept { by_capacity: BTreeMap::new(), words: 0, asked: 0 });

/// A cached buffer for `length` words.
fn cached(length: usize) -> Option<Vec<u32>> {
    CACHE.lock().unwrap_or_else(PoisonError::into_inner).fitting(length)
}

/// `length` words of any content.
pub(crate) fn take(length: usize) -> Vec<u32> {
    let Some(mut words) = cached(length) else { return system_memory::filled(0, length) };
    // Within its capacity.
    words.resize(length, 0);
    words
}

/// Memory for `length` words, of which there are none yet; what is not cached is lent by the
/// system as it is written.
pub(crate) fn take_empty(length: usize) -> Vec<u32> {
    let Some(mut words) = cached(length) else { return system_memory::reserved(length) };
    words.clear();
    words
}

/// Keeps `words` for a later [`take`]. They must hold no secret, and come from here: what others
/// allocate would fill the cache.
///
/// Where the cache is full, the size is freed that was asked for longest ago: neither results that
/// pile up nor what other levels worked in drive out the buffers that every operation works in.
pub(crate) fn give(words: Vec<u32>) {
    let capacity = words.capacity();
    let most = MAX_CACHED.load(Ordering::Relaxed);
    if capacity == 0 || capacity > most {
        return;
    }
    let mut cached = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    cached.keep(words);
    let forgotten = cached.excess(most);
    // Memory is given back to the system outside the lock.
    drop(cached);
    drop(forgotten);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cached_words() -> usize {
        cached_bytes() / WORD_BYTES
    }

    #[test]
    fn memory_is_bounded() {
        // Tests beside this one may take what it gives.
        let length = 1_000_003;
        assert_eq!(take(length).len(), length);
        (0..2 * cached_words() / length).for_each(|_| give(vec![0; length]));
        assert!(CACHE.lock().unwrap_or_else(PoisonError::into_inner).words <= cached_words());
        (0..cached_words() / length).for_each(|_| drop(take(length)));
    }

    fn nothing() -> Kept {
        Kept { by_capacity: BTreeMap::new(), words: 0, asked: 0 }
    }

    #[test]
    fn memory_comes_back_for_what_is_little_shorter() {
        let mut cache = nothing();
        cache.keep(vec![7; 900]);
        assert!(cache.fitting(901).is_none());
        assert!(cache.fitting(450).is_none());
        let mut words = cache.fitting(801).unwrap();
        assert_eq!((cache.words, words.capacity(), words[0]), (0, 900, 7));
        words.truncate(801);
        cache.keep(words);
        assert_eq!(cache.words, 900);
        assert_eq!(cache.fitting(900).unwrap().capacity(), 900);
    }

    #[test]
    fn what_was_asked_for_longest_ago_goes_first() {
        let mut cache = nothing();
        for length in [100, 200, 400] {
            assert!(cache.fitting(length).is_none());
            cache.keep(vec![0; length]);
        }
        let again = cache.fitting(100).unwrap();
        cache.keep(again);
        let lengths = |forgotten: Vec<Vec<u32>>| -> Vec<usize> {
            forgotten.iter().map(Vec::capacity).collect()
        };
        assert_eq!(lengths(cache.excess(700)), []);
        assert_eq!(lengths(cache.excess(500)), [200]);
        assert_eq!(lengths(cache.excess(99)), [400, 100]);
        assert_eq!(cache.words, 0);
    }
}
