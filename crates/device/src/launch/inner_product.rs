//! Inner products with switching keys.

use super::automorphism::inverse_of;
use super::buffer::Buffer;
use super::device::Device;
use super::engine::{Grid, Kernel};
use super::residues::Residues;
use super::table::{ABSENT, Row, Rows, Table};
use crate::Result;

/// Marks a limb of the polynomial that was decomposed: `OF_WHOLE` of `kernels/inner_product.cu`.
const OF_WHOLE: u32 = 1 << 31;

/// A limb of a digit: of the polynomial that was decomposed, or of the extensions of its digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decomposed {
    /// Modulo a prime of the digit itself.
    Whole(u32),
    /// Modulo any other prime.
    Extension(u32),
}

/// Which limbs an inner product reads and writes.
#[derive(Debug)]
pub struct InnerProductTables {
    rows: Rows,
    digits: Table,
    count: usize,
    wholes: usize,
    extensions: usize,
}

impl InnerProductTables {
    /// One limb of the result after the other: for each the position of its prime, the limb of a
    /// key's halves, the limb of what is added, if it has one, and a limb of every digit.
    ///
    /// # Errors
    /// As [`Buffer::unwritten`].
    pub fn new(
        device: &Device,
        limbs: &[(u32, u32, Option<u32>)],
        digits: &[Vec<Decomposed>],
    ) -> Result<Self> {
        assert_eq!(limbs.len(), digits.len(), "digits for every limb");
        let count = digits.first().map_or(0, Vec::len);
        assert!(digits.iter().all(|digits| digits.len() == count), "as many digits everywhere");
        let row = |(to, &(prime, key, addend)): (usize, &(u32, u32, Option<u32>))| Row {
            prime,
            to: to as u32,
            first: key,
            second: addend.unwrap_or(ABSENT),
        };
        let rows: Vec<Row> = limbs.iter().enumerate().map(row).collect();
        let (mut wholes, mut extensions) = (0, 0);
        let mut marked = |digit: &Decomposed| match *digit {
            Decomposed::Whole(limb) => {
                assert!(limb < OF_WHOLE, "a limb without the mark");
                wholes = wholes.max(limb as usize + 1);
                limb | OF_WHOLE
            }
            Decomposed::Extension(limb) => {
                extensions = extensions.max(limb as usize + 1);
                assert!(limb < OF_WHOLE, "a limb without the mark");
                limb
            }
        };
        let words: Vec<u32> = digits.iter().flatten().map(&mut marked).collect();
        Ok(Self {
            rows: Rows::new(device, &rows)?,
            digits: Table::new(device, &words)?,
            count,
            wholes,
            extensions,
        })
    }

    /// Limbs of each polynomial of the result.
    pub fn limbs(&self) -> usize {
        self.rows.len()
    }
}

/// `InnerProduct` of `kernels/inner_product.cu`.
#[repr(C)]
struct Arguments {
    primes: u64,
    to: u64,
    whole: u64,
    extensions: u64,
    key: u64,
    addend: u64,
    rows: u64,
    digits: u64,
    places: u64,
    limbs: u32,
    count: u32,
    key_limbs: u32,
    inverse: u32,
    log_n: u32,
}

/// Both sums of digits times the halves of a key into `to`, `addend` added to the first, where the
/// tables say so, and X -> X^`element` applied to both.
///
/// The sums are limbs `start` of `to` and those that follow. The key's halves have `key_limbs` limbs
/// each; digit number i of the decomposition is digit number
/// `places[i]` of the key.
///
/// # Errors
/// [`Error::DifferentDevices`](crate::Error::DifferentDevices),
/// [`Error::DeviceLost`](crate::Error::DeviceLost).
#[allow(clippy::too_many_arguments, reason = "the operands of one kernel")]
pub fn inner_product(
    ring: &Residues,
    to: &mut Buffer,
    start: usize,
    [whole, extensions]: [&Buffer; 2],
    key: &Buffer,
    key_limbs: usize,
    places: &Table,
    addend: &Buffer,
    tables: &InnerProductTables,
    element: usize,
) -> Result<()> {
    for buffer in [&*to, whole, extensions, key, addend] {
        buffer.check_device(ring.device(), "switch a key")?;
    }
    assert!(tables.rows.primes() <= ring.count(), "primes of the ring");
    assert_eq!(places.len(), tables.count, "a place for every digit");
    assert!(
        start + 2 * tables.limbs() <= ring.limbs(to)
            && tables.wholes <= ring.limbs(whole)
            && tables.extensions <= ring.limbs(extensions)
            && tables.rows.first() <= key_limbs
            && 2 * (places.most() + 1) * key_limbs <= ring.limbs(key)
            && tables.rows.second_if_present() <= ring.limbs(addend),
        "limbs of the buffers"
    );
    let arguments = Arguments {
        primes: ring.primes(),
        to: to.address_to_write() + ring.limb_bytes(start),
        whole: whole.address(),
        extensions: extensions.address(),
        key: key.address(),
        addend: addend.address(),
        rows: tables.rows.address(),
        digits: tables.digits.address(),
        places: places.address(),
        limbs: tables.limbs() as u32,
        count: tables.count as u32,
        key_limbs: key_limbs as u32,
        inverse: inverse_of(element),
        log_n: ring.log_n(),
    };
    let grid = Grid::covering(ring.n(), tables.limbs());
    // SAFETY: every limb that the tables name lies in its buffer, as was checked, and an
    // automorphism takes positions of a limb to positions of a limb.
    unsafe { ring.launch(Kernel::InnerProduct, grid, &arguments) }
}
