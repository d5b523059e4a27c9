//! Sums of diagonals times rotations.

use super::buffer::Buffer;
use super::engine::{Grid, Kernel};
use super::residues::Residues;
use super::table::{Rows, Table};
use crate::Result;

/// `Placement` of `kernels/diagonals.cu`.
#[repr(C)]
struct Placement {
    to: u64,
    from: u64,
    rows: u64,
    n: u32,
}

/// Copies limbs of `from` to limbs of `to`, counted from `start` on, which are zero where the rows'
/// first operand is not there.
///
/// # Errors
/// [`Error::DifferentDevices`](crate::Error::DifferentDevices),
/// [`Error::DeviceLost`](crate::Error::DeviceLost).
pub fn place(
    ring: &Residues,
    to: &mut Buffer,
    start: usize,
    from: &Buffer,
    rows: &Rows,
) -> Result<()> {
    to.check_device(ring.device(), "copy limbs")?;
    from.check_device(ring.device(), "copy limbs")?;
    assert!(
        start + rows.to() <= ring.limbs(to) && rows.first_if_present() <= ring.limbs(from),
        "limbs of the buffers"
    );
    let arguments = Placement {
        to: to.address_to_write() + ring.limb_bytes(start),
        from: from.address(),
        rows: rows.address(),
        n: ring.n() as u32,
    };
    let grid = Grid::covering_quads(ring.n(), rows.len());
    // SAFETY: the rows name limbs of both buffers, as was checked.
    unsafe { ring.launch(Kernel::Place, grid, &arguments) }
}

/// `DiagonalSums` of `kernels/diagonals.cu`.
#[repr(C)]
struct DiagonalSums {
    primes: u64,
    first: u64,
    second: u64,
    diagonals: u64,
    rotations: u64,
    positions: u64,
    babies: u64,
    count: u32,
    limbs: u32,
    log_n: u32,
}

/// The sums of diagonals, in Montgomery form, times rotations, over primes at `positions`: the first
/// polynomials of the rotations into `first`, the second into `second`. Diagonal number i multiplies
/// rotation number `babies[i]`.
///
/// # Errors
/// As [`place`].
pub fn sum_diagonals(
    ring: &Residues,
    [first, second]: [&mut Buffer; 2],
    diagonals: &Buffer,
    rotations: &Buffer,
    positions: &Table,
    babies: &Table,
) -> Result<()> {
    for buffer in [&*first, &*second, diagonals, rotations] {
        buffer.check_device(ring.device(), "apply a linear transform")?;
    }
    let limbs = positions.len();
    assert!(positions.most() < ring.count(), "primes of the ring");
    assert!(
        limbs <= ring.limbs(first)
            && limbs <= ring.limbs(second)
            && babies.len() * limbs <= ring.limbs(diagonals)
            && (babies.is_empty() || 2 * (babies.most() + 1) * limbs <= ring.limbs(rotations)),
        "limbs of the buffers"
    );
    let arguments = DiagonalSums {
        primes: ring.primes(),
        first: first.address_to_write(),
        second: second.address_to_write(),
        diagonals: diagonals.address(),
        rotations: rotations.address(),
        positions: positions.address(),
        babies: babies.address(),
        count: babies.len() as u32,
        limbs: limbs as u32,
        log_n: ring.log_n(),
    };
    let grid = Grid::covering(ring.n(), limbs);
    // SAFETY: there is a polynomial of as many limbs as positions for each diagonal, two for each
    // rotation that they multiply, and one for each result; the positions are primes of the ring, as
    // was checked.
    unsafe { ring.launch(Kernel::SumDiagonals, grid, &arguments) }
}
