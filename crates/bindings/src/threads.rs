//! The threads that the engine runs on.

use std::sync::{Arc, Mutex, PoisonError};
use std::{env, process, thread};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use rlwe::{Error, Result};

use crate::errors;
use crate::numbers::Number;

const VARIABLE: &str = "CLOAKWORK_THREADS";
const MAX_THREADS: usize = 1024;

struct Owned {
    pool: Arc<ThreadPool>,
    process: u32,
}

/// Locked only by holders of the interpreter lock, so never at the moment of a fork.
static POOL: Mutex<Option<Owned>> = Mutex::new(None);

/// Run the engine on n threads from now on; operations under way end on theirs.
#[pyfunction]
pub fn set_threads(py: Python<'_>, n: Number<usize>) -> PyResult<()> {
    let made = build(n.0).map_err(|error| errors::refusal(py, &error))?;
    let before = POOL.lock().unwrap_or_else(PoisonError::into_inner).replace(made);
    forget_if_inherited(before);
    Ok(())
}

/// How many threads the engine runs on: by default CLOAKWORK_THREADS or all cores.
#[pyfunction]
pub fn threads(py: Python<'_>) -> PyResult<usize> {
    Ok(pool(py)?.current_num_threads())
}

/// The pool of this process.
pub fn pool(py: Python<'_>) -> PyResult<Arc<ThreadPool>> {
    let pool = current(&mut POOL.lock().unwrap_or_else(PoisonError::into_inner));
    // Unlocked by now: making an exception may run Python, and other threads with it.
    pool.map_err(|error| errors::refusal(py, &error))
}

fn current(owned: &mut Option<Owned>) -> Result<Arc<ThreadPool>> {
    if let Some(made) = owned.as_ref().filter(|made| made.process == process::id()) {
        return Ok(Arc::clone(&made.pool));
    }
    let n = match &owned {
        Some(parents) => parents.pool.current_num_threads(),
        None => default_threads()?,
    };
    let made = build(n)?;
    let pool = Arc::clone(&made.pool);
    forget_if_inherited(owned.replace(made));
    Ok(pool)
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
    let builder = ThreadPoolBuilder::new().num_threads(n).thread_name(|i| format!("cloakwork-{i}"));
    let pool = builder.build().map_err(|error| refused(error.to_string()))?;
    Ok(Owned { pool: Arc::new(pool), process: process::id() })
}

fn default_threads() -> Result<usize> {
    match env::var(VARIABLE) {
        Ok(asked) if !asked.trim().is_empty() => asked
            .trim()
            .parse()
            .map_err(|_| refused(format!("{VARIABLE} is {asked:?}, expected a number"))),
        _ => Ok(thread::available_parallelism().map_or(1, |n| n.get().min(MAX_THREADS))),
    }
}

fn refused(reason: String) -> Error {
    Error::InvalidArgument { operation: "set the number of threads", reason }
}
