//! Operands and sums of products of matrices of residues, tile by tile as they are read.

use std::ops::{AddAssign, SubAssign};

use pulp::Simd;

use super::WORD_BYTES;
use super::buffers;
use super::modulus::Modulus;

/// Added to a double below 2^51 and taken off again, it rounds to a whole number.
pub(super) const ROUNDING: f64 = 3.0 * (1u64 << 51) as f64;
/// Terms that are packed together: those of a column of tiles stay in the first-level cache.
pub(crate) const DEPTH: usize = 256;
/// Rows that are worked on together: what is packed of them stays in the second-level cache.
pub(super) const MOST_ROWS: usize = 512;
/// Packed doubles begin at a line of the cache, as no load is to cross one.
const LINE_BYTES: usize = 64;
const WORDS_OF_DOUBLE: usize = size_of::<f64>() / WORD_BYTES;

/// Doubles that begin at a line of the cache, in memory that is cached for others.
#[derive(Debug)]
pub(super) struct Aligned {
    memory: Vec<u32>,
    start: usize,
    words: usize,
}

impl Aligned {
    /// So many of any content.
    fn new(length: usize) -> Self {
        let words = length * WORDS_OF_DOUBLE;
        let memory = buffers::take(words + LINE_BYTES / WORD_BYTES);
        let start = memory.as_ptr().align_offset(LINE_BYTES);
        Self { memory, start, words }
    }

    pub(super) fn get(&self) -> &[f64] {
        bytemuck::cast_slice(&self.memory[self.start..][..self.words])
    }

    pub(super) fn get_mut(&mut self) -> &mut [f64] {
        bytemuck::cast_slice_mut(&mut self.memory[self.start..][..self.words])
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        buffers::give(std::mem::take(&mut self.memory));
    }
}

/// Residues of one term, some for each of several products: as they are, or of two the sum or the
/// difference.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand<'a> {
    Plain(&'a [u32]),
    Sum(&'a [u32], &'a [u32]),
    Difference(&'a [u32], &'a [u32]),
}

impl Operand<'_> {
    pub(super) fn len(self) -> usize {
        let (Self::Plain(x) | Self::Sum(x, _) | Self::Difference(x, _)) = self;
        x.len()
    }

    /// What it is computed from.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn parts(&self) -> impl Iterator<Item = &[u32]> {
        let (x, y) = match *self {
            Self::Plain(x) => (x, None),
            Self::Sum(x, y) | Self::Difference(x, y) => (x, Some(y)),
        };
        std::iter::once(x).chain(y)
    }

    /// The residues from number `from` on, so many of them, and zeros.
    #[inline(always)]
    pub(super) fn residues<const TILE: usize>(
        self,
        modulus: Modulus,
        from: usize,
        count: usize,
    ) -> [u32; TILE] {
        match self {
            Self::Plain(x) => tile(x, from, count),
            Self::Sum(x, y) => {
                let (mut sums, others): ([u32; TILE], [u32; TILE]) =
                    (tile(x, from, count), tile(y, from, count));
                for (sum, &other) in sums.iter_mut().zip(&others) {
                    *sum = modulus.add(*sum, other);
                }
                sums
            }
            Self::Difference(x, y) => {
                let (mut differences, others): ([u32; TILE], [u32; TILE]) =
                    (tile(x, from, count), tile(y, from, count));
                for (difference, &other) in differences.iter_mut().zip(&others) {
                    *difference = modulus.sub(*difference, other);
                }
                differences
            }
        }
    }
}

#[inline(always)]
fn tile<const TILE: usize>(residues: &[u32], from: usize, count: usize) -> [u32; TILE] {
    let residues = &residues[from..];
    match residues.first_chunk() {
        Some(whole) if count == TILE => *whole,
        _ => {
            let mut tile = [0; TILE];
            tile[..count].copy_from_slice(&residues[..count]);
            tile
        }
    }
}

/// The operands on one side of several products, of up to [`DEPTH`] terms, packed: product by
/// product, part by part of the residues, tile by tile, term by term.
#[derive(Debug)]
pub(crate) struct Panel {
    pub(super) tile: usize,
    pub(super) products: usize,
    /// Doubles of one part of one operand.
    pub(super) plane: usize,
    pub(super) planes: usize,
    pub(super) doubles: Aligned,
}

impl Panel {
    /// Operands of as many products, of so many places, each of them so many doubles long, of any
    /// content: what is never packed meets only sums that are never read.
    pub(super) fn new(
        tile: usize,
        places: usize,
        length: usize,
        planes: usize,
        products: usize,
    ) -> Self {
        let plane = places.div_ceil(tile) * tile * length;
        Self { tile, products, plane, planes, doubles: Aligned::new(products * planes * plane) }
    }
}

/// Tiles of sums by their columns and rows, all columns of a few rows first.
pub(super) fn in_blocks(
    columns: usize,
    rows: usize,
    rows_at_once: usize,
) -> impl Iterator<Item = (usize, usize)> {
    (0..rows).step_by(rows_at_once).flat_map(move |first| {
        let block = first..rows.min(first + rows_at_once);
        (0..columns).flat_map(move |column| block.clone().map(move |row| (column, row)))
    })
}

/// Sums of several products: product by product, part by part, tile by tile, those of one column of
/// tiles after one another, as they are computed.
#[derive(Debug)]
pub(crate) struct Sums {
    pub(super) rows: usize,
    pub(super) tile_rows: usize,
    pub(super) tile_columns: usize,
    pub(super) row_tiles: usize,
    /// Doubles of one part of one product.
    pub(super) plane: usize,
    pub(super) planes: usize,
    pub(super) doubles: Aligned,
}

impl Sums {
    /// As many matrices of sums, all of them zero.
    pub(super) fn new(
        (tile_rows, tile_columns): (usize, usize),
        (rows, columns): (usize, usize),
        planes: usize,
        products: usize,
    ) -> Self {
        let row_tiles = rows.div_ceil(tile_rows);
        let plane = row_tiles * tile_rows * columns.div_ceil(tile_columns) * tile_columns;
        let mut doubles = Aligned::new(products * planes * plane);
        doubles.get_mut().fill(0.0);
        Self { rows, tile_rows, tile_columns, row_tiles, plane, planes, doubles }
    }

    /// The doubles of a row of tiles' one row begin here, within a part.
    pub(super) fn place(&self, row: usize, column_tile: usize) -> usize {
        let tile = column_tile * self.row_tiles + row / self.tile_rows;
        (tile * self.tile_rows + row % self.tile_rows) * self.tile_columns
    }
}

/// Sums less other sums, four at most in all, of one shape.
#[derive(Clone, Debug)]
pub(crate) struct Total<'a> {
    pub(super) plus: Vec<&'a Sums>,
    pub(super) minus: Vec<&'a Sums>,
}

impl<'a> Total<'a> {
    /// These alone.
    pub(crate) fn of(sums: &'a Sums) -> Self {
        Self { plus: vec![sums], minus: vec![] }
    }

    /// The sums that begin at a place of all matrices.
    #[inline(always)]
    pub(super) fn at<T, const TILE: usize>(&self, from: usize) -> [T; TILE]
    where
        T: bytemuck::Pod + AddAssign + SubAssign,
    {
        let tile = |sums: &Sums| -> [T; TILE] {
            let sums = bytemuck::cast_slice(&sums.doubles.get()[from..][..TILE]);
            *sums.first_chunk().expect("a row of a tile")
        };
        let (first, others) = self.plus.split_first().expect("sums");
        let mut total = tile(first);
        for &sums in others {
            for (total, &sum) in total.iter_mut().zip(&tile(sums)) {
                *total += sum;
            }
        }
        for &sums in &self.minus {
            for (total, &sum) in total.iter_mut().zip(&tile(sums)) {
                *total -= sum;
            }
        }
        total
    }
}

/// x - q round(x / q).
#[derive(Clone, Copy)]
pub(super) struct Reduction<S: Simd> {
    q: S::f64s,
    inverse: S::f64s,
    rounding: S::f64s,
}

impl<S: Simd> Reduction<S> {
    #[inline(always)]
    pub(super) fn new(simd: S, q: u32) -> Self {
        Self {
            q: simd.splat_f64s(f64::from(q)),
            inverse: simd.splat_f64s(1.0 / f64::from(q)),
            rounding: simd.splat_f64s(ROUNDING),
        }
    }

    #[inline(always)]
    pub(super) fn apply(self, simd: S, x: S::f64s) -> S::f64s {
        let shifted = simd.mul_add_e_f64s(x, self.inverse, self.rounding);
        let quotient = simd.sub_f64s(shifted, self.rounding);
        simd.negate_mul_add_e_f64s(self.q, quotient, x)
    }
}
