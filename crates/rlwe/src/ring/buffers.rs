//! Memory of limbs, kept for the next polynomial.
//!
//! A fresh allocation of a megabyte costs a page fault for every four kilobytes,
//! as much time as a transform of what is in them.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Words kept at most: 256 MiB.
const MAX_KEPT: usize = 64 << 20;

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
pub(crate) fn give(words: Vec<u32>) {
    let length = words.len();
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if length > 0 && kept.words + length <= MAX_KEPT {
        kept.words += length;
        kept.by_length.entry(length).or_default().push(words);
    }
}
