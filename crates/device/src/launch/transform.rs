//! Transforms of limbs.

use super::buffer::Buffer;
use super::engine::{Grid, Kernel, THREADS};
use super::residues::Residues;
use super::table::Rows;
use crate::Result;

/// log2 of the residues that a block works on: `LOG_TILE` of the kernels.
const LOG_TILE: u32 = 12;

/// `Transform` of `kernels/transform.cu`.
#[repr(C)]
struct Arguments {
    primes: u64,
    twiddles: u64,
    to: u64,
    from: u64,
    rows: u64,
    log_n: u32,
}

/// Coefficients to values: limbs of `from`, or of `to` itself, into those of `to`.
///
/// # Errors
/// [`Error::DifferentDevices`](crate::Error::DifferentDevices),
/// [`Error::DeviceLost`](crate::Error::DeviceLost).
pub fn forward(ring: &Residues, to: &mut Buffer, from: Option<&Buffer>, rows: &Rows) -> Result<()> {
    run(ring, to, from, rows, [Kernel::ForwardColumns, Kernel::ForwardRows], "transform")
}

/// Values to coefficients times N: limbs of `from`, or of `to` itself, into those of `to`.
///
/// # Errors
/// As [`forward`].
pub fn inverse(ring: &Residues, to: &mut Buffer, from: Option<&Buffer>, rows: &Rows) -> Result<()> {
    run(ring, to, from, rows, [Kernel::InverseRows, Kernel::InverseColumns], "transform back")
}

/// The first kernel takes limbs from one buffer to the other, the second works in place.
fn run(
    ring: &Residues,
    to: &mut Buffer,
    from: Option<&Buffer>,
    rows: &Rows,
    kernels: [Kernel; 2],
    operation: &'static str,
) -> Result<()> {
    let source = from.unwrap_or(to);
    source.check_device(ring.device(), operation)?;
    to.check_device(ring.device(), operation)?;
    assert!(rows.primes() <= ring.count(), "primes of the ring");
    assert!(
        rows.to() <= ring.limbs(to) && rows.first() <= ring.limbs(source),
        "limbs of the buffers"
    );
    let log_n = ring.log_n();
    let log_tile = log_n.min(LOG_TILE);
    let tile = 1usize << log_tile;
    let arguments = Arguments {
        primes: ring.primes(),
        twiddles: ring.twiddles(),
        to: to.address_to_write(),
        from: source.address(),
        rows: rows.address(),
        log_n,
    };
    let grid = Grid {
        columns: ring.n() / tile,
        rows: rows.len(),
        threads: THREADS,
        // One word for each 16 keeps neighbours apart: `in_shared` of the kernels.
        shared: tile + tile / 16,
    };
    for kernel in kernels {
        // SAFETY: the rows name primes of the ring and limbs of both buffers, as was checked; a
        // block's tile lies within a limb, and its part of shared memory within `shared`.
        unsafe { ring.launch(kernel, grid, &arguments)? };
    }
    Ok(())
}
