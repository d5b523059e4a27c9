//! Loops that the threads of a pool share, or that one thread keeps to itself.
//!
//! Handing work to a thread of a pool and waiting for it takes about 10 microseconds, as much as
//! a sum of two ciphertexts of a small ring. Where there is one thread to work on, the caller's
//! own does as well: within [`on_this_thread`] no loop of this crate enters a pool.

use std::cell::Cell;

use rayon::iter::plumbing::{
    Consumer, Folder, Producer, ProducerCallback, UnindexedConsumer, bridge,
};
use rayon::prelude::*;

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` with all its loops on the calling thread; the result is the same.
///
/// ```
/// use rlwe::ckks::{Parameters, ParametersLiteral};
/// use rlwe::parallel;
/// let literal = ParametersLiteral { levels: 1, ..Default::default() };
/// let parameters = parallel::on_this_thread(|| Parameters::new(literal))?;
/// assert_eq!(parameters.max_level(), 1);
/// # Ok::<(), rlwe::Error>(())
/// ```
pub fn on_this_thread<T>(work: impl FnOnce() -> T) -> T {
    /// Put back even when `work` panics.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    let _before = Before(ALONE.replace(true));
    work()
}

/// How many threads share a loop.
pub(crate) fn threads() -> usize {
    if ALONE.get() { 1 } else { rayon::current_num_threads() }
}

/// Runs `work` in the pool, which spares each of its loops from entering it.
pub(crate) fn in_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if ALONE.get() { work() } else { rayon::scope(|_| work()) }
}

/// What a loop goes over; [`Source::shared`] makes it a loop.
///
/// Rayon's own entries, `into_par_iter` and the like, are disallowed in this crate: a loop of
/// theirs would enter a pool in spite of [`on_this_thread`].
pub(crate) struct Source<I>(I);

/// All items of a vector or a slice.
#[expect(clippy::disallowed_methods, reason = "the one entry")]
pub(crate) fn over<T>(items: T) -> Source<T::Iter>
where
    T: IntoParallelIterator<Iter: IndexedParallelIterator>,
{
    Source(items.into_par_iter())
}

/// Pieces of a slice, `size` items each.
#[expect(clippy::disallowed_methods, reason = "the one entry")]
pub(crate) fn chunks<T: Sync>(
    items: &[T],
    size: usize,
) -> Source<impl IndexedParallelIterator<Item = &[T]>> {
    Source(items.par_chunks(size))
}

/// Pieces of a slice, `size` items each.
#[expect(clippy::disallowed_methods, reason = "the one entry")]
pub(crate) fn chunks_mut<T: Send>(
    items: &mut [T],
    size: usize,
) -> Source<impl IndexedParallelIterator<Item = &mut [T]>> {
    Source(items.par_chunks_mut(size))
}

impl<I: IndexedParallelIterator> Source<I> {
    /// Both sides' items in pairs.
    pub(crate) fn zip<J: IndexedParallelIterator>(
        self,
        other: Source<J>,
    ) -> Source<impl IndexedParallelIterator<Item = (I::Item, J::Item)>> {
        Source(self.0.zip(other.0))
    }

    /// Each item beside its number.
    pub(crate) fn enumerate(self) -> Source<impl IndexedParallelIterator<Item = (usize, I::Item)>> {
        Source(self.0.enumerate())
    }

    /// At least so many items are one thread's.
    pub(crate) fn with_min_len(
        self,
        least: usize,
    ) -> Source<impl IndexedParallelIterator<Item = I::Item>> {
        Source(self.0.with_min_len(least))
    }

    /// The loop.
    pub(crate) fn shared(self) -> Loop<I> {
        Loop(self.0)
    }
}

/// Made by [`Source::shared`].
pub(crate) struct Loop<I>(I);

impl<I: IndexedParallelIterator> ParallelIterator for Loop<I> {
    type Item = I::Item;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        if ALONE.get() { self.0.with_producer(Alone(consumer)) } else { bridge(self.0, consumer) }
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// Takes all items to one consumer, which is never split.
struct Alone<C>(C);

impl<T, C: Consumer<T>> ProducerCallback<T> for Alone<C> {
    type Output = C::Result;

    fn callback<P: Producer<Item = T>>(self, producer: P) -> C::Result {
        producer.fold_with(self.0.into_folder()).complete()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::thread;

    use super::*;

    #[test]
    fn a_loop_of_one_thread_runs_on_the_calling_one_in_order() {
        let ran: Vec<_> = on_this_thread(|| {
            let numbers = over(0..100).shared();
            numbers.map(|i| (i, thread::current().id())).collect()
        });
        assert!(ran.into_iter().eq((0..100).map(|i| (i, thread::current().id()))));
        assert_eq!(on_this_thread(threads), 1);
        assert_eq!(on_this_thread(|| in_pool(|| thread::current().id())), thread::current().id());
    }

    #[test]
    fn loops_are_shared_again_afterwards() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let failed = pool.install(|| catch_unwind(|| on_this_thread(|| panic!("on purpose"))));
        assert!(failed.is_err());
        assert_eq!(pool.broadcast(|_| threads()), [3; 3]);
        on_this_thread(|| on_this_thread(|| assert_eq!(threads(), 1)));
        assert_eq!(pool.install(|| over(0..7).shared().sum::<i32>()), 21);
    }
}
