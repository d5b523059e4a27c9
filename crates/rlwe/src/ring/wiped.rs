//! Memory of messages.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::hint::black_box;
use std::ops::{Deref, DerefMut};

/// Bytes from which on wiped memory is worth keeping: the system gives fresh memory page by page.
const LEAST_KEPT: usize = 1 << 16;
/// Bytes beyond which wiped memory goes back to the system.
const MOST_KEPT: usize = 1 << 22;
/// Arrays of one type that a thread keeps.
const KEPT: usize = 4;

thread_local! {
    /// Wiped arrays by the type of their numbers.
    static ARRAYS: RefCell<HashMap<TypeId, Box<dyn Any>>> = RefCell::default();
}

/// What `work` does with the wiped arrays of this thread; nothing while the thread ends.
fn with_kept<T: 'static, R>(work: impl FnOnce(&mut Vec<Vec<T>>) -> R) -> Option<R> {
    let found = ARRAYS.try_with(|arrays| {
        let mut arrays = arrays.borrow_mut();
        let kept =
            arrays.entry(TypeId::of::<T>()).or_insert_with(|| Box::new(Vec::<Vec<T>>::new()));
        kept.downcast_mut().map(work)
    });
    found.ok().flatten()
}

/// Numbers that are wiped when dropped; then their thread keeps the memory for others to come, a
/// few arrays, or the system gets it back.
///
/// They are overwritten with the default by ordinary stores, which [`black_box`] then reads, so
/// that the compiler leaves them in: one pass at the speed of memory.
#[derive(PartialEq)]
pub struct Wiped<T: Copy + Default + 'static>(Vec<T>);

impl<T: Copy + Default + 'static> Wiped<T> {
    pub(crate) fn new(value: T, length: usize) -> Self {
        let kept = with_kept(|arrays: &mut Vec<Vec<T>>| {
            let fits = |array: &Vec<T>| array.capacity() == length;
            arrays.iter().position(fits).map(|place| arrays.swap_remove(place))
        });
        let Some(mut array) = kept.flatten() else {
            return Self(system_memory::filled(value, length));
        };
        array.clear();
        array.resize(length, value);
        Self(array)
    }

    /// The numbers, one by one; their count is known, so that no copy stays behind.
    pub(crate) fn collect(numbers: impl ExactSizeIterator<Item = T>) -> Self {
        Self(system_memory::collected(numbers))
    }
}

/// Overwrites `memory`, whatever happens to it afterwards.
pub(crate) fn wipe<T: Copy + Default>(memory: &mut [T]) {
    memory.fill(T::default());
    black_box(memory);
}

impl<T: Copy + Default + 'static> Drop for Wiped<T> {
    fn drop(&mut self) {
        wipe(&mut self.0);
        let array = std::mem::take(&mut self.0);
        if (LEAST_KEPT..=MOST_KEPT).contains(&size_of_val(&array[..])) {
            with_kept(|arrays| {
                // Those that nobody takes go first.
                if arrays.len() == KEPT {
                    arrays.remove(0);
                }
                arrays.push(array);
            });
        }
    }
}

impl<T: Copy + Default + 'static> Deref for Wiped<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Copy + Default + 'static> DerefMut for Wiped<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

/// Tells nothing of the numbers.
impl<T: Copy + Default + 'static> fmt::Debug for Wiped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wiped({} numbers)", self.0.len())
    }
}
