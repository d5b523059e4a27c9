//! What parameters may be.

use pyo3::prelude::*;

use crate::numbers::Number;

/// The largest modulus that a ring of degree 2^log_n may have at 128-bit security, key-switching
/// primes included, in bits; None for a ring outside the table.
#[pyfunction]
pub fn max_log_qp(log_n: Number<u32>) -> Option<f64> {
    rlwe::security::max_log_qp(log_n.0)
}
