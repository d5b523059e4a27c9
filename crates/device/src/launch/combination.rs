//! Sums of limbs times constants.

use super::buffer::Buffer;
use super::engine::{Grid, Kernel};
use super::residues::Residues;
use super::table::{Rows, Table};
use crate::Result;

/// `Combination` of `kernels/combination.cu`.
#[repr(C)]
struct Arguments {
    primes: u64,
    to: u64,
    rows: u64,
    terms: u64,
    constants: u64,
    count: u32,
    row_count: u32,
    log_n: u32,
}

/// The sums of all terms times their constants into limbs of `to`. Each row has a limb of every term
/// as its second operand; `constants` has one for each row of the first term, then of the next, in
/// Montgomery form.
///
/// # Errors
/// As [`Buffer::unwritten`], and [`Error::DifferentDevices`](crate::Error::DifferentDevices).
pub fn combine(
    ring: &Residues,
    to: &mut Buffer,
    terms: &[&Buffer],
    rows: &Rows,
    constants: &[u32],
) -> Result<()> {
    for buffer in std::iter::once(&*to).chain(terms.iter().copied()) {
        buffer.check_device(ring.device(), "combine polynomials")?;
    }
    assert_eq!(constants.len(), terms.len() * rows.len(), "a constant for each row of each term");
    assert!(rows.primes() <= ring.count(), "primes of the ring");
    assert!(
        rows.to() <= ring.limbs(to) && terms.iter().all(|term| rows.second() <= ring.limbs(term)),
        "limbs of the buffers"
    );
    let halves = |term: &&Buffer| [term.address() as u32, (term.address() >> 32) as u32];
    let addresses = terms.iter().flat_map(halves);
    let words: Vec<u32> = addresses.chain(constants.iter().copied()).collect();
    let table = Table::new(ring.device(), &words)?;
    let address_bytes = (terms.len() * size_of::<u64>()) as u64;
    let arguments = Arguments {
        primes: ring.primes(),
        to: to.address_to_write(),
        rows: rows.address(),
        terms: table.address(),
        constants: table.address() + address_bytes,
        count: terms.len() as u32,
        row_count: rows.len() as u32,
        log_n: ring.log_n(),
    };
    let grid = Grid::covering_quads(ring.n(), rows.len());
    // SAFETY: the table has the address of every term and a constant for every row of it; the rows
    // name primes of the ring and limbs of `to` and of every term, as was checked.
    unsafe { ring.launch(Kernel::Combine, grid, &arguments) }
}
