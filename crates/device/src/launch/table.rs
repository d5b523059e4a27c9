//! Lists of indices in the memory of a device, which cannot be changed.

use super::buffer::Buffer;
use super::device::Device;
use crate::Result;

/// Words on the device whose largest is known.
#[derive(Debug)]
pub struct Table {
    buffer: Buffer,
    most: u32,
}

impl Table {
    /// A copy of `words`.
    ///
    /// # Errors
    /// As [`Buffer::unwritten`].
    pub fn new(device: &Device, words: &[u32]) -> Result<Self> {
        let buffer = Buffer::table(device, words)?;
        Ok(Self { buffer, most: words.iter().copied().max().unwrap_or(0) })
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.buffer.words()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn most(&self) -> usize {
        self.most as usize
    }

    pub(super) fn address(&self) -> u64 {
        self.buffer.address()
    }
}

/// Which limbs a row of blocks works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The position of their prime in the ring.
    pub prime: u32,
    /// The limb that is written.
    pub to: u32,
    /// The limb of the first operand.
    pub first: u32,
    /// The limb of the second operand, where there is one.
    pub second: u32,
}

/// The limb of an operand that is not there, where a kernel allows that: `ABSENT` of
/// `kernels/device.h`.
pub(crate) const ABSENT: u32 = u32::MAX;

/// Rows on the device, with the number of primes and of limbs that each column needs.
#[derive(Debug)]
pub struct Rows {
    table: Table,
    count: usize,
    needed: [usize; 4],
    /// The same of operands that are there.
    present: [usize; 4],
}

impl Rows {
    /// A copy of `rows`.
    ///
    /// # Errors
    /// As [`Buffer::unwritten`].
    pub fn new(device: &Device, rows: &[Row]) -> Result<Self> {
        let words: Vec<[u32; 4]> =
            rows.iter().map(|row| [row.prime, row.to, row.first, row.second]).collect();
        let needed = |column: usize, counts: &dyn Fn(u32) -> bool| {
            let entries = words.iter().map(|row| row[column]).filter(|&entry| counts(entry));
            entries.max().map_or(0, |most| most as usize + 1)
        };
        Ok(Self {
            table: Table::new(device, words.as_flattened())?,
            count: rows.len(),
            needed: std::array::from_fn(|column| needed(column, &|_| true)),
            present: std::array::from_fn(|column| needed(column, &|entry| entry != ABSENT)),
        })
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn address(&self) -> u64 {
        self.table.address()
    }

    /// The number of primes that the rows need.
    pub(super) fn primes(&self) -> usize {
        self.needed[0]
    }

    /// The number of limbs that they need of what is written.
    pub(super) fn to(&self) -> usize {
        self.needed[1]
    }

    /// The number of limbs that they need of the first operand.
    pub(super) fn first(&self) -> usize {
        self.needed[2]
    }

    /// The number of limbs that they need of the second operand.
    pub(super) fn second(&self) -> usize {
        self.needed[3]
    }

    /// [`Self::first`] for a kernel that looks whether the operand is there.
    pub(super) fn first_if_present(&self) -> usize {
        self.present[2]
    }

    /// [`Self::second`] for a kernel that looks whether the operand is there.
    pub(super) fn second_if_present(&self) -> usize {
        self.present[3]
    }
}
