//! Memory of limbs, cached for the next polynomial.
//!
//! A fresh allocation of a megabyte costs a page fault for every four kilobytes,
//! as much time as a transform of what is in them.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Bytes cached at most where nothing is known of the machine, and at least where something is.
const LEAST_CACHED: u64 = 512 << 20;
/// The part of the machine's memory that is cached at most: a bootstrapping at N = 2^16 works in
/// about a gigabyte.
const PART_CACHED: u64 = 16;

/// Words cached at most.
static MAX_CACHED: LazyLock<usize> = LazyLock::new(|| {
    let part = machine_bytes().unwrap_or(0) / PART_CACHED;
    usize::try_from(part.max(LEAST_CACHED) / 4).unwrap_or(usize::MAX)
});

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

/// Keeps `words` for a later [`take`]. They must hold no secret.
///
/// Where the cache is full, the length of which most is cached is freed: results that pile up do
/// not drive out the few buffers that every operation works in.
pub(crate) fn give(words: Vec<u32>) {
    let length = words.len();
    if length == 0 || length > *MAX_CACHED {
        return;
    }
    let mut cached = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut forgotten = Vec::new();
    cached.words += length;
    cached.by_length.entry(length).or_default().push(words);
    while cached.words > *MAX_CACHED {
        let most =
            cached.by_length.iter_mut().max_by_key(|(length, buffers)| *length * buffers.len());
        let Some(buffer) = most.and_then(|(_, buffers)| buffers.pop()) else { break };
        cached.words -= buffer.len();
        forgotten.push(buffer);
    }
    // Memory is given back to the system outside the lock.
    drop(cached);
    drop(forgotten);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_and_is_bounded() {
        // A length that no ring has, so that tests beside this one do not take it.
        let length = 1_000_003;
        let mut words = take(length);
        words[7] = 9;
        give(words);
        assert_eq!(take(length)[7], 9);
        (0..2 * *MAX_CACHED / length).for_each(|_| give(vec![0; length]));
        assert!(CACHE.lock().unwrap_or_else(PoisonError::into_inner).words <= *MAX_CACHED);
        (0..*MAX_CACHED / length).for_each(|_| drop(take(length)));
    }
}
