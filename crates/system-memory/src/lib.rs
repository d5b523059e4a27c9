//! Memory that the system may refuse.
//!
//! Rust ends the process where a vector gets no memory. What may be large is therefore asked for
//! here: where it is refused, the engine unwinds with [`Refused`] and no message, and whoever
//! called it makes an error of that. What is small gets its memory from what every large vector
//! leaves over.
#![forbid(unsafe_code)]

use std::any::Any;
use std::panic::resume_unwind;

/// Bytes from which on a vector is large.
const LARGE: usize = 1 << 16;
/// Bytes that are free beside every large vector, for all that is small. So few come from the
/// allocator's own memory, without a call of the system.
const SPARE: usize = 1 << 19;

/// Bytes of a thread's stack, and of the one that it reports an overflow on.
const THREAD: usize = (2 << 20) + (1 << 16);

/// So many bytes the allocator maps anew, as stacks are, and takes nothing that was freed before:
/// its threshold never rises above 32 MiB.
pub const MAPPED: usize = 33 << 20;

/// The system gave no memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot compute: expected {bytes} bytes of memory, and the system gives no more to this \
     process; free memory, raise the limit of the process, or compute less at once"
)]
pub struct Refused {
    /// What was asked for.
    pub bytes: usize,
}

impl Refused {
    /// What the engine has unwound with, if it was this.
    pub fn caught(payload: &(dyn Any + Send)) -> Option<Self> {
        payload.downcast_ref().copied()
    }
}

/// Memory for `length` numbers.
///
/// # Errors
/// [`Refused`].
pub fn try_reserved<T>(length: usize) -> Result<Vec<T>, Refused> {
    let bytes = length.saturating_mul(size_of::<T>());
    let mut all = Vec::new();
    all.try_reserve_exact(length).map_err(|_| Refused { bytes })?;
    if bytes >= LARGE {
        Vec::<u8>::new().try_reserve_exact(SPARE).map_err(|_| Refused { bytes })?;
    }
    Ok(all)
}

/// Whether there are so many bytes, for code that asks the system by itself.
///
/// # Errors
/// [`Refused`].
pub fn try_require(bytes: usize) -> Result<(), Refused> {
    let bytes = bytes.max(LARGE);
    try_reserved::<u8>(bytes).map(drop)
}

/// Whether there is memory for the stacks of so many threads of Rust's.
///
/// # Errors
/// [`Refused`].
pub fn try_require_threads(count: usize) -> Result<(), Refused> {
    try_require(count.saturating_mul(THREAD).max(MAPPED))
}

/// Memory for `length` numbers; unwinds where there is none.
///
/// ```
/// let refused = std::panic::catch_unwind(|| system_memory::reserved::<u64>(usize::MAX / 16));
/// assert!(system_memory::Refused::caught(&*refused.unwrap_err()).is_some());
/// ```
pub fn reserved<T>(length: usize) -> Vec<T> {
    try_reserved(length).unwrap_or_else(|refused| unwind(refused))
}

/// `length` times a value; unwinds where there is no memory.
pub fn filled<T: Clone>(value: T, length: usize) -> Vec<T> {
    let mut all = reserved(length);
    all.resize(length, value);
    all
}

/// A copy; unwinds where there is no memory for it.
pub fn copied<T: Copy>(numbers: &[T]) -> Vec<T> {
    let mut all = reserved(numbers.len());
    all.extend_from_slice(numbers);
    all
}

/// What an iterator gives, whose length is known; unwinds where there is no memory for it.
pub fn collected<T>(numbers: impl ExactSizeIterator<Item = T>) -> Vec<T> {
    let mut all = reserved(numbers.len());
    all.extend(numbers);
    all
}

/// Unwinds where there are not so many bytes, for code that asks the system by itself.
pub fn require(bytes: usize) {
    try_require(bytes).unwrap_or_else(|refused| unwind(refused));
}

/// No panic: nothing is written to standard error.
fn unwind(refused: Refused) -> ! {
    resume_unwind(Box::new(refused))
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    const ALL: usize = isize::MAX as usize;

    #[test]
    fn what_the_system_lacks_unwinds_with_its_bytes() {
        let bytes = |work: fn()| {
            let payload = catch_unwind(work).unwrap_err();
            Refused::caught(&*payload).map(|refused| refused.bytes)
        };
        assert_eq!(bytes(|| drop(reserved::<u8>(ALL))), Some(ALL));
        assert_eq!(bytes(|| drop(filled(1u32, ALL / 4))), Some(ALL / 4 * 4));
        assert_eq!(bytes(|| drop(reserved::<u64>(ALL))), Some(usize::MAX));
        assert_eq!(bytes(|| require(ALL)), Some(ALL));
        assert_eq!(bytes(|| panic!("another reason")), None);
    }

    #[test]
    fn what_there_is_has_its_length_and_no_more() {
        assert_eq!(filled(7u32, 3), [7; 3]);
        assert_eq!(copied(&[1u8, 2]), [1, 2]);
        assert_eq!(collected([1, 2].iter()), [&1, &2]);
        assert_eq!(reserved::<u32>(100_000).capacity(), 100_000);
        require(0);
    }
}
