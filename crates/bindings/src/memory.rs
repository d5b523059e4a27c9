//! The memory that the engine keeps for later.

use pyo3::prelude::*;

use crate::numbers::Number;

/// Bytes of polynomials that the lattice engine caches at most when they are no longer in use.
#[pyfunction]
pub fn cached_bytes() -> usize {
    rlwe::cached_bytes()
}

/// Cache so many bytes at most from now on.
#[pyfunction]
pub fn set_cached_bytes(n: Number<usize>) {
    rlwe::set_cached_bytes(n.0);
}
