//! Memory of messages.

use std::fmt;
use std::hint::black_box;
use std::ops::{Deref, DerefMut};

/// Numbers that are wiped when dropped; their memory goes back to the system.
///
/// They are overwritten with the default by ordinary stores, which [`black_box`] then reads, so
/// that the compiler leaves them in: one pass at the speed of memory.
#[derive(PartialEq)]
pub struct Wiped<T: Copy + Default>(Vec<T>);

impl<T: Copy + Default> Wiped<T> {
    pub(crate) fn new(value: T, length: usize) -> Self {
        Self(vec![value; length])
    }

    /// The numbers, one by one; their count is known, so that no copy stays behind.
    pub(crate) fn collect(numbers: impl ExactSizeIterator<Item = T>) -> Self {
        let mut all = Self(Vec::with_capacity(numbers.len()));
        all.0.extend(numbers);
        all
    }
}

/// Overwrites `memory`, whatever happens to it afterwards.
pub(crate) fn wipe<T: Copy + Default>(memory: &mut [T]) {
    memory.fill(T::default());
    black_box(memory);
}

impl<T: Copy + Default> Drop for Wiped<T> {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

impl<T: Copy + Default> Deref for Wiped<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Copy + Default> DerefMut for Wiped<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

/// Tells nothing of the numbers.
impl<T: Copy + Default> fmt::Debug for Wiped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wiped({} numbers)", self.0.len())
    }
}
