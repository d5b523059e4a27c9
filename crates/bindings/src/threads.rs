//! The threads that the engine runs on.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{env, process, thread};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use rlwe::{Error, Result, parallel};

use crate::errors;
use crate::numbers::Number;

const VARIABLE: &str = "CLOAKWORK_THREADS";
const MAX_THREADS: usize = 1024;
/// Work that takes no longer is done before other threads have begun to share it.
const SHORTEST: Duration = Duration::from_micros(50);
/// Threads share what takes longer, whoever else has work for them: others may be done long before.
const SHORT: Duration = Duration::from_millis(3);

/// What the engine runs on.
pub struct Threads {
    pool: ThreadPool,
    /// Held by whoever is the thread of an engine that has one.
    turn: Mutex<()>,
    /// How many callers wait for work of theirs.
    callers: AtomicUsize,
}

impl Threads {
    /// Runs `work` of the lattice engine. That of one thread is the caller's own, as the switch
    /// to another takes longer than small operations do.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        if self.pool.current_num_threads() > 1 {
            let _caller = Caller::among(&self.callers);
            return self.pool.install(work);
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        parallel::on_this_thread(work)
    }

    /// Runs `work` of the lattice engine that takes about so long on one thread.
    ///
    /// Where it is short, callers that are many enough do theirs side by side, each on its own
    /// thread, up to the threads of the engine: those that share an operation wait for one another.
    pub fn run_about<T: Send>(&self, duration: Duration, work: impl FnOnce() -> T + Send) -> T {
        let threads = self.pool.current_num_threads();
        if threads == 1 || duration > SHORT {
            return self.run(work);
        }
        let caller = Caller::among(&self.callers);
        let shares = duration > SHORTEST && 2 * caller.others < threads;
        if shares || caller.others >= threads {
            return self.pool.install(work);
        }
        parallel::on_this_thread(work)
    }

    /// Runs `work` that knows of no threads but those of a pool.
    pub fn run_in_pool<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.pool.install(work)
    }
}

/// Counts as a caller until it is dropped, even when its work panics.
struct Caller<'a> {
    callers: &'a AtomicUsize,
    /// Callers before it that wait, too.
    others: usize,
}

impl<'a> Caller<'a> {
    fn among(callers: &'a AtomicUsize) -> Self {
        Self { callers, others: callers.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        self.callers.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Owned {
    threads: Arc<Threads>,
    process: u32,
}

/// Locked only by threads attached to the interpreter, so never at the moment of a fork: that waits
/// for all of them, with an interpreter lock and without.
static OWNED: Mutex<Option<Owned>> = Mutex::new(None);

/// Run the engine on n threads from now on; operations under way end on theirs.
#[pyfunction]
pub fn set_threads(py: Python<'_>, n: Number<usize>) -> PyResult<()> {
    let made = build(n.0).map_err(|error| errors::refusal(py, &error))?;
    let before = OWNED.lock().unwrap_or_else(PoisonError::into_inner).replace(made);
    forget_if_inherited(before);
    Ok(())
}

/// How many threads the engine runs on: by default CLOAKWORK_THREADS or all cores.
#[pyfunction]
pub fn threads(py: Python<'_>) -> PyResult<usize> {
    Ok(current(py)?.pool.current_num_threads())
}

/// Those of this process.
pub fn current(py: Python<'_>) -> PyResult<Arc<Threads>> {
    let threads = of_process(&mut OWNED.lock().unwrap_or_else(PoisonError::into_inner));
    // Unlocked by now: making an exception may run Python, and other threads with it.
    threads.map_err(|error| errors::refusal(py, &error))
}

fn of_process(owned: &mut Option<Owned>) -> Result<Arc<Threads>> {
    if let Some(made) = owned.as_ref().filter(|made| made.process == process::id()) {
        return Ok(Arc::clone(&made.threads));
    }
    let n = match &owned {
        Some(parents) => parents.threads.pool.current_num_threads(),
        None => default_threads()?,
    };
    let made = build(n)?;
    let threads = Arc::clone(&made.threads);
    forget_if_inherited(owned.replace(made));
    Ok(threads)
}

/// A forked process has the parent's pool without its threads: nothing there may be touched.
fn forget_if_inherited(owned: Option<Owned>) {
    if owned.as_ref().is_some_and(|owned| owned.process != process::id()) {
        std::mem::forget(owned);
    }
}

fn build(n: usize) -> Result<Owned> {
    if !(1..=MAX_THREADS).contains(&n) {
        return Err(refused(format!("expected 1 to {MAX_THREADS} threads, got {n}")));
    }
    system_memory::try_require_threads(n)?;
    let builder = ThreadPoolBuilder::new().num_threads(n).thread_name(|i| format!("cloakwork-{i}"));
    let pool = builder.build().map_err(|error| refused(error.to_string()))?;
    let (turn, callers) = (Mutex::new(()), AtomicUsize::new(0));
    let threads = Arc::new(Threads { pool, turn, callers });
    Ok(Owned { threads, process: process::id() })
}

fn default_threads() -> Result<usize> {
    match env::var(VARIABLE) {
        Ok(asked) if !asked.trim().is_empty() => asked
            .trim()
            .parse()
            .ok()
            .filter(|n| (1..=MAX_THREADS).contains(n))
            .ok_or_else(|| {
                let expected = format!("a number from 1 to {MAX_THREADS}");
                refused(format!("expected {VARIABLE} to be {expected}, got {asked:?}; unset it for one thread per core"))
            }),
        _ => Ok(thread::available_parallelism().map_or(1, |n| n.get().min(MAX_THREADS))),
    }
}

fn refused(reason: String) -> Error {
    Error::InvalidArgument { operation: "set the number of threads", reason }
}
