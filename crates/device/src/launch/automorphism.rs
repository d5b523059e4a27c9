//! Automorphisms of limbs.

use super::buffer::Buffer;
use super::engine::{Grid, Kernel};
use super::residues::Residues;
use super::table::Rows;
use crate::Result;

/// `Permutation` of `kernels/automorphism.cu`.
#[repr(C)]
struct Arguments {
    to: u64,
    from: u64,
    rows: u64,
    inverse: u32,
    log_n: u32,
}

/// The images of limbs of `from` under X -> X^`element`, into limbs of `to`.
///
/// # Errors
/// [`Error::DifferentDevices`](crate::Error::DifferentDevices),
/// [`Error::DeviceLost`](crate::Error::DeviceLost).
pub fn permute(
    ring: &Residues,
    to: &mut Buffer,
    from: &Buffer,
    rows: &Rows,
    element: usize,
) -> Result<()> {
    to.check_device(ring.device(), "apply an automorphism")?;
    from.check_device(ring.device(), "apply an automorphism")?;
    assert!(
        rows.to() <= ring.limbs(to) && rows.first() <= ring.limbs(from),
        "limbs of the buffers"
    );
    let arguments = Arguments {
        to: to.address_to_write(),
        from: from.address(),
        rows: rows.address(),
        inverse: inverse_of(element),
        log_n: ring.log_n(),
    };
    let grid = Grid::covering(ring.n(), rows.len());
    // SAFETY: the rows name limbs of both buffers, as was checked, and an automorphism takes
    // positions of a limb to positions of a limb.
    unsafe { ring.launch(Kernel::Permute, grid, &arguments) }
}

/// The inverse of an odd Galois element modulo 2^32, and so modulo twice every ring degree.
pub(super) fn inverse_of(element: usize) -> u32 {
    let element = element as u32;
    let mut inverse = 1u32;
    for _ in 0..5 {
        inverse = inverse.wrapping_mul(2u32.wrapping_sub(element.wrapping_mul(inverse)));
    }
    inverse
}
