//! Memory of limbs, kept for the next polynomial.
//!
//! A fresh allocation of a megabyte costs a page fault for every four kilobytes,
//! as much time as a transform of what is in them.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Words kept at most: 512 MiB.
const MAX_KEPT: usize = 128 << 20;

#[derive(Default)]
struct Kept {
    by_length: BTreeMap<usize, Vec<Vec<u32>>>,
    words: usize,
}

static KEPT: Mutex<Kept> = Mutex::new(Kept { by_length: BTreeMap::new(), words: 0 });

/// `length` words of any content.
pub(crate) fn take(length: usize) -> Vec<u32> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    match kept.by_length.get_mut(&length).and_then(Vec::pop) {
        Some(words) => {
            kept.words -= length;
            words
        }
        None => {
            drop(kept);
            vec![0; length]
        }
    }
}

/// Keeps `words` for a later [`take`]. They must hold no secret.
///
/// Where there is no room, the length that most is kept of gives way: results that pile up do
/// not drive out the few buffers that every operation works in.
pub(crate) fn give(words: Vec<u32>) {
    let length = words.len();
    if length == 0 || length > MAX_KEPT {
        return;
    }
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let mut forgotten = Vec::new();
    kept.words += length;
    kept.by_length.entry(length).or_default().push(words);
    while kept.words > MAX_KEPT {
        let most =
            kept.by_length.iter_mut().max_by_key(|(length, buffers)| *length * buffers.len());
        let Some(buffer) = most.and_then(|(_, buffers)| buffers.pop()) else { break };
        kept.words -= buffer.len();
        forgotten.push(buffer);
    }
    // Memory is given back to the system outside the lock.
    drop(kept);
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
        (0..2 * MAX_KEPT / length).for_each(|_| give(vec![0; length]));
        assert!(KEPT.lock().unwrap_or_else(PoisonError::into_inner).words <= MAX_KEPT);
        (0..MAX_KEPT / length).for_each(|_| drop(take(length)));
    }
}
