//! Operations on residues, each by itself.

use super::buffer::Buffer;
use super::engine::{Grid, Kernel};
use super::residues::Residues;
use super::table::{Rows, Table};
use crate::Result;

/// What is done with the residues x and y of two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// x + y.
    Add,
    /// x - y.
    Subtract,
    /// x y.
    Multiply,
    /// x y, y in Montgomery form.
    MultiplyByMontgomery,
}

impl Operation {
    fn kernel(self) -> Kernel {
        match self {
            Self::Add => Kernel::Add,
            Self::Subtract => Kernel::Subtract,
            Self::Multiply => Kernel::Multiply,
            Self::MultiplyByMontgomery => Kernel::MultiplyByMontgomery,
        }
    }
}

/// `Pointwise` of `kernels/pointwise.cu`.
#[repr(C)]
struct Arguments {
    primes: u64,
    to: u64,
    first: u64,
    second: u64,
    rows: u64,
    constants: u64,
    n: u32,
}

/// Combines limbs of `first`, or of `to` itself, with limbs of `second` into those of `to`.
///
/// # Errors
/// [`Error::DifferentDevices`](crate::Error::DifferentDevices),
/// [`Error::DeviceLost`](crate::Error::DeviceLost).
pub fn pointwise(
    ring: &Residues,
    operation: Operation,
    to: &mut Buffer,
    first: Option<&Buffer>,
    second: &Buffer,
    rows: &Rows,
) -> Result<()> {
    run(ring, operation.kernel(), to, first, Some(second), rows, None)
}

/// What is done with residues x of the result, y of an operand and a constant c.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConstantOperation {
    /// c y, c in Montgomery form.
    Scale,
    /// c y in the first half of a limb, -c y in the second, c in Montgomery form: for a c whose square
    /// is -1, y times the imaginary unit.
    ScaleByImaginary,
    /// x + c y, c in Montgomery form.
    AddScaled,
    /// x + c.
    AddConstant,
}

impl ConstantOperation {
    fn kernel(self) -> Kernel {
        match self {
            Self::Scale => Kernel::Scale,
            Self::ScaleByImaginary => Kernel::ScaleByImaginary,
            Self::AddScaled => Kernel::AddScaled,
            Self::AddConstant => Kernel::AddConstant,
        }
    }
}

/// Combines limbs of `to` with limbs of `second`, or of `to` itself, and a constant for each row.
///
/// # Errors
/// As [`pointwise`].
pub fn with_constants(
    ring: &Residues,
    operation: ConstantOperation,
    to: &mut Buffer,
    second: Option<&Buffer>,
    rows: &Rows,
    constants: &Table,
) -> Result<()> {
    assert_eq!(constants.len(), rows.len(), "a constant for each row");
    run(ring, operation.kernel(), to, None, second, rows, Some(constants))
}

fn run(
    ring: &Residues,
    kernel: Kernel,
    to: &mut Buffer,
    first: Option<&Buffer>,
    second: Option<&Buffer>,
    rows: &Rows,
    constants: Option<&Table>,
) -> Result<()> {
    let operation = "combine polynomials";
    let (first, second) = (first.unwrap_or(to), second.unwrap_or(to));
    for buffer in [&*to, first, second] {
        buffer.check_device(ring.device(), operation)?;
    }
    assert!(rows.primes() <= ring.count(), "primes of the ring");
    assert!(
        rows.to() <= ring.limbs(to)
            && rows.first() <= ring.limbs(first)
            && rows.second() <= ring.limbs(second),
        "limbs of the buffers"
    );
    let arguments = Arguments {
        primes: ring.primes(),
        to: to.address_to_write(),
        first: first.address(),
        second: second.address(),
        rows: rows.address(),
        constants: constants.map_or(0, Table::address),
        n: ring.n() as u32,
    };
    let grid = Grid::covering_quads(ring.n(), rows.len());
    // SAFETY: the rows name primes of the ring and limbs of the buffers, and each row has a constant
    // where the kernel takes one, as was checked.
    unsafe { ring.launch(kernel, grid, &arguments) }
}

/// `Tensor` of `kernels/pointwise.cu`.
#[repr(C)]
struct TensorArguments {
    primes: u64,
    first: u64,
    second: u64,
    to: u64,
    positions: u64,
    limbs: u32,
    n: u32,
}

/// The three polynomials of a product of two pairs, over primes at `positions`.
///
/// # Errors
/// As [`pointwise`].
pub fn tensor(
    ring: &Residues,
    to: &mut Buffer,
    first: &Buffer,
    second: &Buffer,
    positions: &Table,
) -> Result<()> {
    for buffer in [&*to, first, second] {
        buffer.check_device(ring.device(), "multiply")?;
    }
    let limbs = positions.len();
    assert!(positions.most() < ring.count(), "primes of the ring");
    assert!(
        3 * limbs <= ring.limbs(to)
            && 2 * limbs <= ring.limbs(first)
            && 2 * limbs <= ring.limbs(second),
        "limbs of the buffers"
    );
    let arguments = TensorArguments {
        primes: ring.primes(),
        first: first.address(),
        second: second.address(),
        to: to.address_to_write(),
        positions: positions.address(),
        limbs: limbs as u32,
        n: ring.n() as u32,
    };
    let grid = Grid::covering(ring.n(), limbs);
    // SAFETY: both operands have two polynomials of as many limbs as there are positions, and the
    // result three; the positions are primes of the ring, as was checked.
    unsafe { ring.launch(Kernel::Tensor, grid, &arguments) }
}
