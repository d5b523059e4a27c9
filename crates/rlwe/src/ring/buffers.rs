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
    drop(CACHE.lock().unwrap_or_else(PoisonError::into_inner).excess());
}

/// The memory of the machine, where its system says so.
fn machine_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[derive(Default)]
struct Kept {
    by_length: BTreeMap<usize, Vec<Vec<u32>>>,
    words: usize,
}

impl Kept {
    /// The buffers beyond the limit: of the length of which most is cached.
    fn excess(&mut self) -> Vec<Vec<u32>> {
        let most_words = MAX_CACHED.load(Ordering::Relaxed);
        let mut forgotten = Vec::new();
        while self.words > most_words {
            let most =
                self.by_length.iter_mut().max_by_key(|(length, buffers)| *length * buffers.len());
            let Some(buffer) = most.and_then(|(_, buffers)| buffers.pop()) else { break };
            self.words -= buffer.len();
            forgotten.push(buffer);
        }
        forgotten
    }
}

static CACHE: Mutex<Kept> = Mutex::new(Kept { by_length: BTreeMap::new(), words: 0 });

/// `length` words of any content.
pub(crate) fn take(length: usize) -> Vec<u32> {
    let mut cached = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    match cached.by_length.get_mut(&length).and_then(Vec::pop) {
        Some(words) => {
            cached.words -= length;
            words
        }
        None => {
            drop(cached);
            vec![0; length]
        }
    }
}

/// Keeps `words` for a later [`take`], unless their memory has room for more, which would not be
/// counted. They must hold no secret.
///
/// Where the cache is full, the length of which most is cached is freed: results that pile up do
/// not drive out the few buffers that every operation works in.
pub(crate) fn give(words: Vec<u32>) {
    let length = words.len();
    let most = MAX_CACHED.load(Ordering::Relaxed);
    if length == 0 || length > most || length < words.capacity() {
        return;
    }
    let mut cached = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    cached.words += length;
    cached.by_length.entry(length).or_default().push(words);
    let forgotten = cached.excess();
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
    fn memory_comes_back_and_is_bounded() {
        // A length that no ring has, so that tests beside this one do not take it.
        let length = 1_000_003;
        let mut words = take(length);
        words[7] = 9;
        give(words);
        assert_eq!(take(length)[7], 9);
        (0..2 * cached_words() / length).for_each(|_| give(vec![0; length]));
        assert!(CACHE.lock().unwrap_or_else(PoisonError::into_inner).words <= cached_words());
        (0..cached_words() / length).for_each(|_| drop(take(length)));
    }
}
