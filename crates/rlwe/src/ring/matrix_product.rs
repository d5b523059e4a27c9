//! Exact products of matrices of residues, in doubles.
//!
//! A double holds every whole number up to 2^53, and machines multiply doubles faster than words.
//! Residues are centred, so that their products stay below h^2 in magnitude, where h = (q - 1) / 2.
//! A sum of `terms` of them and of two reduced numbers, below q, is exact as long as
//!
//! ```text
//!   terms h^2 + 3 q <= 2^53:   128 terms at 24 bits, 512 at 23, 2048 at 22, 8192 at 21
//! ```
//!
//! whatever their order, and whether or not a product and a sum are rounded together. Then
//! x - q round(x / q) brings it below q again, in registers: the quotient may be off by one, and
//! the third q above is what keeps its product with q exact.
//!
//! From 27 bits on too few terms would go between two reductions. There residues are cut into
//! halves x = 2^15 x1 + x0, centred too, and three products of half the size make one (Karatsuba
//! and Ofman 1962): x1 y1, x0 y0 and (x1 + x0)(y1 + y0), of which 2^23 terms are exact.
//!
//! Where a machine has dot products of 16-bit integers, residues up to 24 bits are multiplied by
//! those: see [`word_product`].
//!
//! The loops are those of every fast matrix product (Goto and van de Geijn 2008): both operands
//! are packed in the order in which a tile of sums, held in registers, reads them.

#[cfg(target_arch = "x86_64")]
use pulp::x86::{V3, V4};
use pulp::{Scalar, Simd};
#[cfg(target_arch = "x86_64")]
use vnni::Vnni;

use super::modulus::Modulus;
use super::tiles::{DEPTH, MOST_ROWS, Operand, Panel, ROUNDING, Reduction, Sums, Total, in_blocks};
#[cfg(target_arch = "x86_64")]
use super::word_product;

/// Every whole number up to this one is a double.
const EXACT: u64 = 1 << 53;
/// Fewer terms than these between two reductions are slower than three products of halves.
const FEWEST_TERMS: usize = 8;
/// Bits of the lower half of a residue.
const HALF_BITS: u32 = 15;
/// No half, and no sum of two, exceeds 2^15 in magnitude.
const LARGEST_HALF: u64 = 1 << HALF_BITS;
/// Terms that are packed side by side, so that what is written is longer than a line of the cache
/// and what is read stays in few of its ways.
const TERMS_AT_ONCE: usize = 4;
/// How many products of numbers up to `largest` may be added to two numbers below `q`, and the sum
/// reduced, all of it exactly.
pub(crate) fn terms_between_reductions(q: u32, largest: u64) -> usize {
    ((EXACT - 3 * u64::from(q)) / (largest * largest)) as usize
}

/// What the sums are computed with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Instructions {
    /// Of AVX-512 with dot products of 16-bit integers.
    #[cfg(target_arch = "x86_64")]
    Vnni(Vnni, V4),
    #[cfg(target_arch = "x86_64")]
    Avx512(V4),
    #[cfg(target_arch = "x86_64")]
    Avx2(V3),
    Plain,
}

impl Instructions {
    /// The widest of this machine.
    pub(crate) fn widest() -> Self {
        match pulp::Arch::new() {
            #[cfg(target_arch = "x86_64")]
            pulp::Arch::V4(simd) => {
                Vnni::try_new().map_or(Self::Avx512(simd), |vnni| Self::Vnni(vnni, simd))
            }
            #[cfg(target_arch = "x86_64")]
            pulp::Arch::V3(simd) => Self::Avx2(simd),
            _ => Self::Plain,
        }
    }

    /// Rows and columns of the tile of sums that registers hold.
    pub(super) fn tile(self) -> (usize, usize) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(..) => word_product::TILE,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => (8, 16),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => (4, 8),
            Self::Plain => (4, 4),
        }
    }

    /// Runs `kernel` with these instructions, on tiles of R rows and V vectors.
    pub(super) fn run(self, kernel: impl TileKernel) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(_, simd) | Self::Avx512(simd) => {
                simd.vectorize(OnTiles::<_, _, 8, 2> { kernel, simd });
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(simd) => simd.vectorize(OnTiles::<_, _, 4, 2> { kernel, simd }),
            Self::Plain => kernel.run::<Scalar, 4, 4>(Scalar),
        }
    }
}

#[cfg(test)]
impl Instructions {
    /// All that this machine has.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = vec![Self::Plain];
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(V3::try_new().map(Self::Avx2));
            all.extend(V4::try_new().map(Self::Avx512));
            all.extend(
                Vnni::try_new().zip(V4::try_new()).map(|(vnni, simd)| Self::Vnni(vnni, simd)),
            );
        }
        all
    }
}

/// A computation on tiles, compiled once for every instruction set.
pub(super) trait TileKernel {
    /// Must be `#[inline(always)]`: it inherits the instruction set of its caller.
    fn run<S: Simd, const R: usize, const V: usize>(self, simd: S);
}

/// A kernel with its instruction set.
///
/// A closure in its place may be compiled apart, without that set.
#[cfg(target_arch = "x86_64")]
struct OnTiles<K, S, const R: usize, const V: usize> {
    kernel: K,
    simd: S,
}

#[cfg(target_arch = "x86_64")]
impl<K: TileKernel, S: Simd, const R: usize, const V: usize> pulp::NullaryFnOnce
    for OnTiles<K, S, R, V>
{
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.kernel.run::<S, R, V>(self.simd);
    }
}

/// How residues modulo a prime become doubles.
#[derive(Clone, Copy, Debug)]
enum Parts {
    /// One product makes theirs.
    Whole,
    /// Upper half, lower half, sum of both: three products do.
    Halves,
    /// The same in 16-bit integers, whose sums are put together at once.
    #[cfg(target_arch = "x86_64")]
    Words(Vnni, V4),
}

/// Products of matrices modulo a prime, on tiles of this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatrixProduct {
    instructions: Instructions,
    modulus: Modulus,
    parts: Parts,
    terms: usize,
}

impl MatrixProduct {
    pub(crate) fn new(instructions: Instructions, modulus: Modulus) -> Self {
        #[cfg(target_arch = "x86_64")]
        let instructions = match instructions {
            Instructions::Vnni(vnni, simd) if modulus.q < 1 << word_product::MOST_BITS => {
                let (parts, terms) = (Parts::Words(vnni, simd), word_product::MOST_TERMS);
                return Self { instructions, modulus, parts, terms };
            }
            Instructions::Vnni(_, simd) => Instructions::Avx512(simd),
            other => other,
        };
        let half = u64::from(modulus.q / 2);
        let terms = terms_between_reductions(modulus.q, half);
        if terms >= FEWEST_TERMS {
            return Self { instructions, modulus, parts: Parts::Whole, terms };
        }
        let terms = terms_between_reductions(modulus.q, LARGEST_HALF);
        Self { instructions, modulus, parts: Parts::Halves, terms }
    }

    /// Parts of operands that are packed.
    fn planes(self) -> usize {
        match self.parts {
            Parts::Whole => 1,
            Parts::Halves => 3,
            #[cfg(target_arch = "x86_64")]
            Parts::Words(..) => word_product::PARTS,
        }
    }

    /// Parts of sums that are held.
    fn planes_of_sums(self) -> usize {
        match self.parts {
            Parts::Halves => 3,
            _ => 1,
        }
    }

    /// Terms after which sums are to be [reduced](Self::reduce).
    pub(crate) fn most_terms(self) -> usize {
        match self.parts {
            #[cfg(target_arch = "x86_64")]
            Parts::Words(..) => word_product::MOST_TERMS,
            // Each is reduced as it is added to.
            _ => usize::MAX,
        }
    }

    fn panel(self, tile: usize, products: usize, places: usize) -> Panel {
        let doubles = match self.parts {
            #[cfg(target_arch = "x86_64")]
            Parts::Words(..) => word_product::DOUBLES_OF_A_PLACE,
            _ => DEPTH,
        };
        Panel::new(tile, places, doubles, self.planes(), products)
    }

    /// Columns of a tile.
    pub(crate) fn tile_columns(self) -> usize {
        self.instructions.tile().1
    }

    /// Left operands of as many products, not packed yet.
    pub(crate) fn left_panel(self, products: usize, rows: usize) -> Panel {
        self.panel(self.instructions.tile().0, products, rows)
    }

    /// Right operands of as many products, not packed yet.
    pub(crate) fn right_panel(self, products: usize, columns: usize) -> Panel {
        self.panel(self.instructions.tile().1, products, columns)
    }

    /// As many matrices of sums, all of them zero.
    pub(crate) fn sums(self, products: usize, rows: usize, columns: usize) -> Sums {
        Sums::new(self.instructions.tile(), (rows, columns), self.planes_of_sums(), products)
    }

    /// Packs residues of one or more terms, in each term as many for each product, from place
    /// `start` of each product on.
    pub(crate) fn pack(self, panel: &mut Panel, start: usize, terms: &[Operand<'_>]) {
        match self.parts {
            #[cfg(target_arch = "x86_64")]
            Parts::Words(_, simd) => {
                let modulus = self.modulus;
                simd.vectorize(word_product::Pack { simd, modulus, panel, start, terms });
            }
            _ => self.instructions.run(Pack { product: self, panel, start, terms }),
        }
    }

    /// Adds to every product's sums the products of its first `terms` packed terms.
    pub(crate) fn add_products(self, left: &Panel, right: &Panel, terms: usize, sums: &mut Sums) {
        match self.parts {
            #[cfg(target_arch = "x86_64")]
            Parts::Words(vnni, simd) => {
                vnni.vectorize(word_product::AddProducts { simd, left, right, terms, sums });
            }
            _ => {
                let kernel = AddProducts { product: self, left, right, terms, sums };
                self.instructions.run(kernel);
            }
        }
    }

    /// Reduces sums of [`Self::most_terms`], so that as many may be added again.
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "sums of words"))]
    pub(crate) fn reduce(self, sums: &mut Sums) {
        match self.parts {
            #[cfg(target_arch = "x86_64")]
            Parts::Words(..) => {
                let sums = bytemuck::cast_slice_mut::<f64, i64>(sums.doubles.get_mut());
                let reduced = Remainder::new(self.modulus);
                sums.iter_mut().for_each(|sum| *sum = i64::from(reduced.of(*sum)));
            }
            _ => {}
        }
    }

    /// What it is computed with.
    pub(crate) fn instructions(self) -> Instructions {
        self.instructions
    }

    /// The residues of a column of tiles of one product: those of row `r` as row `places[r]` of
    /// `to`, whose rows are as wide as a tile.
    pub(crate) fn residues(
        self,
        sums: &Total<'_>,
        (product, column_tile): (usize, usize),
        places: &[u32],
        to: &mut [u32],
    ) {
        let index = (product, column_tile);
        self.instructions.run(Residues { product: self, sums, index, places, to });
    }
}

struct Pack<'a> {
    product: MatrixProduct,
    panel: &'a mut Panel,
    start: usize,
    terms: &'a [Operand<'a>],
}

impl Pack<'_> {
    /// Writes `number` of every residue to a part.
    #[inline(always)]
    fn write<const TILE: usize>(&mut self, part: usize, number: impl Fn(u32) -> f64) {
        let Self { panel, start, terms, .. } = self;
        let modulus = self.product.modulus;
        let (plane, planes) = (panel.plane, panel.planes);
        let each = terms[0].len() / panel.products;
        for (group, terms) in terms.chunks(TERMS_AT_ONCE).enumerate() {
            let first = group * TERMS_AT_ONCE;
            let operands = panel.doubles.get_mut().chunks_exact_mut(planes * plane);
            for (product, operand) in operands.enumerate() {
                let plane = &mut operand[part * plane..][..plane];
                let mut place = *start;
                while place < *start + each {
                    let column = place % TILE;
                    let columns = (TILE - column).min(*start + each - place);
                    let from = product * each + place - *start;
                    let tile = &mut plane[(place / TILE * DEPTH + first) * TILE..];
                    let tile = tile.as_chunks_mut::<TILE>().0;
                    for (to, term) in tile.iter_mut().zip(terms) {
                        let residues: [u32; TILE] = term.residues(modulus, from, columns);
                        let numbers = residues.map(&number);
                        if columns == TILE {
                            *to = numbers;
                        } else {
                            to[column..][..columns].copy_from_slice(&numbers[..columns]);
                        }
                    }
                    place += columns;
                }
            }
        }
    }

    #[inline(always)]
    fn write_parts<const TILE: usize>(mut self) {
        let q = self.product.modulus.q as i32;
        let centred = |x: u32| x as i32 - if x as i32 > q / 2 { q } else { 0 };
        let upper = |x: i32| (x + (1 << (HALF_BITS - 1))) >> HALF_BITS;
        if let Parts::Halves = self.product.parts {
            let lower = |x: i32| x - (upper(x) << HALF_BITS);
            self.write::<TILE>(0, |x| f64::from(upper(centred(x))));
            self.write::<TILE>(1, |x| f64::from(lower(centred(x))));
            self.write::<TILE>(2, |x| f64::from(upper(centred(x)) + lower(centred(x))));
        } else {
            self.write::<TILE>(0, |x| f64::from(centred(x)));
        }
    }
}

impl TileKernel for Pack<'_> {
    #[inline(always)]
    fn run<S: Simd, const R: usize, const V: usize>(self, _: S) {
        // The tiles of one side are as high as a tile of sums, of the other as wide.
        match self.panel.tile {
            16 => self.write_parts::<16>(),
            8 => self.write_parts::<8>(),
            _ => self.write_parts::<4>(),
        }
    }
}

struct AddProducts<'a> {
    product: MatrixProduct,
    left: &'a Panel,
    right: &'a Panel,
    terms: usize,
    sums: &'a mut Sums,
}

impl TileKernel for AddProducts<'_> {
    #[inline(always)]
    fn run<S: Simd, const R: usize, const V: usize>(self, simd: S) {
        let Self { product, left, right, terms, sums } = self;
        let reduction = Reduction::new(simd, product.modulus.q);
        let row_tiles = sums.row_tiles;
        let length = R * sums.tile_columns;
        let plane = sums.plane;
        let lefts = left.doubles.get().chunks_exact(left.plane);
        let rights = right.doubles.get().chunks_exact(right.plane);
        let sums = sums.doubles.get_mut().chunks_exact_mut(plane);
        for ((left, right), sums) in lefts.zip(rights).zip(sums) {
            let left = left.as_chunks::<R>().0;
            let right = bytemuck::cast_slice::<f64, S::f64s>(right).as_chunks::<V>().0;
            let (columns, rows) = (right.len() / DEPTH, left.len() / DEPTH);
            for (column, row) in in_blocks(columns, rows, MOST_ROWS / R) {
                let sums = &mut sums[(column * row_tiles + row) * length..][..length];
                let sums = bytemuck::cast_slice_mut::<f64, S::f64s>(sums);
                let left = &left[row * DEPTH..][..terms];
                let right = &right[column * DEPTH..][..terms];
                add_tile::<S, R, V>(simd, reduction, product.terms, left, right, sums);
            }
        }
    }
}

/// Adds products to one tile of sums, of R rows of V vectors.
#[inline(always)]
fn add_tile<S: Simd, const R: usize, const V: usize>(
    simd: S,
    reduction: Reduction<S>,
    run: usize,
    left: &[[f64; R]],
    right: &[[S::f64s; V]],
    sums: &mut [S::f64s],
) {
    let mut totals = [[simd.splat_f64s(0.0); V]; R];
    let last = (left.len() - 1) / run;
    for (index, (left, right)) in left.chunks(run).zip(right.chunks(run)).enumerate() {
        for (x, y) in left.iter().zip(right) {
            for row in 0..R {
                let x = simd.splat_f64s(x[row]);
                for vector in 0..V {
                    totals[row][vector] = simd.mul_add_e_f64s(x, y[vector], totals[row][vector]);
                }
            }
        }
        if index < last {
            for total in totals.iter_mut().flatten() {
                *total = reduction.apply(simd, *total);
            }
        }
    }
    // The old sums come last: they are on their way while the products are made.
    for (totals, sums) in totals.iter().zip(sums.as_chunks_mut::<V>().0) {
        for (&total, sum) in totals.iter().zip(sums) {
            *sum = reduction.apply(simd, simd.add_f64s(total, *sum));
        }
    }
}

struct Residues<'a> {
    product: MatrixProduct,
    sums: &'a Total<'a>,
    index: (usize, usize),
    places: &'a [u32],
    to: &'a mut [u32],
}

impl Residues<'_> {
    /// Writes a residue for every place of a row, given where the row begins in a part of a matrix.
    #[inline(always)]
    fn write<const TILE: usize>(self, residues: impl Fn(&Total<'_>, usize) -> [u32; TILE]) {
        let shape = self.sums.plus[0];
        debug_assert_eq!(self.places.len(), shape.rows);
        let (matrix, column_tile) = self.index;
        let start = matrix * shape.planes * shape.plane;
        let to = self.to.as_chunks_mut().0;
        for (row, &place) in self.places.iter().enumerate() {
            to[place as usize] = residues(self.sums, start + shape.place(row, column_tile));
        }
    }

    #[inline(always)]
    fn write_parts<const TILE: usize>(self) {
        let modulus = self.product.modulus;
        let plane = self.sums.plus[0].plane;
        match self.product.parts {
            Parts::Whole => {
                let remainder = Reduced::new(modulus);
                self.write::<TILE>(
                    #[inline(always)]
                    |sums, from| {
                        let sums = sums.at::<f64, TILE>(from);
                        let mut residues = [0; TILE];
                        for (residue, &sum) in residues.iter_mut().zip(&sums) {
                            *residue = remainder.canonical(remainder.of(sum));
                        }
                        residues
                    },
                );
            }
            Parts::Halves => {
                let remainder = Reduced::new(modulus);
                let shift = f64::from(1u32 << HALF_BITS);
                self.write::<TILE>(
                    #[inline(always)]
                    |sums, from| {
                        let part = |part| sums.at::<f64, TILE>(from + part * plane);
                        let [uppers, lowers, boths] = [0, 1, 2].map(part);
                        let mut residues = [0; TILE];
                        let parts = uppers.iter().zip(&lowers).zip(&boths);
                        for (residue, ((upper, lower), both)) in residues.iter_mut().zip(parts) {
                            let middle = shift * upper + (both - upper - lower);
                            let whole = shift * remainder.of(middle) + lower;
                            *residue = remainder.canonical(remainder.of(whole));
                        }
                        residues
                    },
                );
            }
            #[cfg(target_arch = "x86_64")]
            Parts::Words(..) => {
                let remainder = Remainder::new(modulus);
                self.write::<TILE>(
                    #[inline(always)]
                    |sums, from| {
                        let sums = sums.at::<i64, TILE>(from);
                        let mut residues = [0; TILE];
                        for (residue, &sum) in residues.iter_mut().zip(&sums) {
                            *residue = remainder.canonical(remainder.of(sum));
                        }
                        residues
                    },
                );
            }
        }
    }
}

impl TileKernel for Residues<'_> {
    #[inline(always)]
    fn run<S: Simd, const R: usize, const V: usize>(self, _: S) {
        match self.sums.plus[0].tile_columns {
            32 => self.write_parts::<32>(),
            16 => self.write_parts::<16>(),
            8 => self.write_parts::<8>(),
            _ => self.write_parts::<4>(),
        }
    }
}

/// x - q round(x / q) of doubles.
#[derive(Clone, Copy)]
struct Reduced {
    q: f64,
    inverse: f64,
}

impl Reduced {
    fn new(modulus: Modulus) -> Self {
        let q = f64::from(modulus.q);
        Self { q, inverse: 1.0 / q }
    }

    #[inline(always)]
    fn of(self, x: f64) -> f64 {
        x - self.q * ((x * self.inverse + ROUNDING) - ROUNDING)
    }

    /// The residue of what is reduced.
    #[inline(always)]
    fn canonical(self, x: f64) -> u32 {
        (x + if x < 0.0 { self.q } else { 0.0 }) as i32 as u32
    }
}

/// x - q round(x / q) of integers below 2^63.
///
/// Of sums of [`MatrixProduct::most_terms`] products the quotient is below 2^39, far from what a
/// double cannot hold: it is wrong by one only where x / q is next to a half. All that is left is
/// the lower half of a difference, for which lower halves of both are enough.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Remainder {
    q: u32,
    inverse: f64,
}

#[cfg(target_arch = "x86_64")]
impl Remainder {
    fn new(modulus: Modulus) -> Self {
        Self { q: modulus.q, inverse: 1.0 / f64::from(modulus.q) }
    }

    #[inline(always)]
    fn of(self, x: i64) -> i32 {
        // What is added has zeros there, so that the lower half of the sum is the quotient's.
        let quotient = (x as f64 * self.inverse + ROUNDING).to_bits() as u32;
        let multiple = u64::from(quotient) * u64::from(self.q);
        (x as u32).wrapping_sub(multiple as u32) as i32
    }

    /// The residue of what is reduced.
    #[inline(always)]
    fn canonical(self, x: i32) -> u32 {
        (x as u32).wrapping_add(if x < 0 { self.q } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::primes::ntt_primes;

    /// Terms of which sums in 64 bits are not reduced, and may be added four times.
    const LONGEST: usize = 1 << 15;

    /// Matrices of so many rows, `terms` of them.
    struct Matrix {
        width: usize,
        residues: Vec<u32>,
    }

    impl Matrix {
        fn new(terms: usize, width: usize, residue: impl FnMut() -> u32) -> Self {
            let residues = std::iter::repeat_with(residue).take(terms * width).collect();
            Self { width, residues }
        }

        fn terms(&self) -> usize {
            self.residues.len() / self.width
        }

        fn at(&self, term: usize, place: usize) -> u32 {
            self.residues[term * self.width + place]
        }
    }

    fn by_definition(q: Modulus, left: &Matrix, right: &Matrix) -> Vec<u32> {
        let entry = |row, column| {
            let products = (0..left.terms())
                .map(|term| u128::from(left.at(term, row)) * u128::from(right.at(term, column)));
            (products.sum::<u128>() % u128::from(q.q)) as u32
        };
        let rows = 0..left.width;
        rows.flat_map(|row| (0..right.width).map(move |column| (row, column)))
            .map(|(row, column)| entry(row, column))
            .collect()
    }

    fn by_tiles(product: MatrixProduct, left: &Matrix, right: &Matrix) -> Vec<u32> {
        let mut panels = (product.left_panel(1, left.width), product.right_panel(1, right.width));
        let mut sums = product.sums(1, left.width, right.width);
        for start in (0..left.terms()).step_by(DEPTH) {
            let terms = DEPTH.min(left.terms() - start);
            for (panel, matrix) in [(&mut panels.0, left), (&mut panels.1, right)] {
                // In two pieces, as polynomials come.
                let cut = matrix.width / 3;
                for piece in [0..cut, cut..matrix.width] {
                    let rows = matrix.residues.chunks_exact(matrix.width).skip(start).take(terms);
                    let rows: Vec<Operand<'_>> =
                        rows.map(|row| Operand::Plain(&row[piece.clone()])).collect();
                    if !piece.is_empty() {
                        product.pack(panel, piece.start, &rows);
                    }
                }
            }
            product.add_products(&panels.0, &panels.1, terms, &mut sums);
            if (start + terms).is_multiple_of(product.most_terms()) {
                product.reduce(&mut sums);
            }
        }
        let total = Total::of(&sums);
        let mut found = vec![0; left.width * right.width];
        let (width, rows) = (product.tile_columns(), left.width);
        let mut column = vec![0; rows * width];
        let places: Vec<u32> = (0..rows as u32).collect();
        for tile in 0..right.width.div_ceil(width) {
            product.residues(&total, (0, tile), &places, &mut column);
            for (row, from) in column.chunks_exact(width).enumerate() {
                let start = row * right.width + tile * width;
                let count = width.min(right.width - tile * width);
                found[start..start + count].copy_from_slice(&from[..count]);
            }
        }
        found
    }

    fn check(q: Modulus, left: &Matrix, right: &Matrix) {
        let expected = by_definition(q, left, right);
        for instructions in Instructions::all() {
            let product = MatrixProduct::new(instructions, q);
            let found = by_tiles(product, left, right);
            let shape = (left.width, left.terms(), right.width);
            assert!(found == expected, "{shape:?} modulo {}, {product:?}", q.q);
        }
    }

    /// The largest and the smallest prime of so many bits.
    fn primes(bits: u32) -> [Modulus; 2] {
        let mut primes = ntt_primes(6, 1 << (bits - 1)..1 << bits);
        let [smallest, largest] = [primes.next(), primes.next_back()];
        [smallest, largest].map(|q| Modulus::new(q.unwrap() as u32))
    }

    fn random(seed: u64) -> impl FnMut() -> u64 {
        let mut state = seed;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33
        }
    }

    #[test]
    fn the_bound_holds_and_no_more_would() {
        for bits in 14..=30 {
            for q in primes(bits) {
                let product = MatrixProduct::new(Instructions::Plain, q);
                let largest = match product.parts {
                    Parts::Halves => LARGEST_HALF,
                    _ => u64::from(q.q / 2),
                };
                let reached = |terms: u64| terms * largest * largest + 3 * u64::from(q.q);
                let terms = product.terms as u64;
                assert!(reached(terms) <= EXACT && reached(terms + 1) > EXACT);
                assert_eq!(matches!(product.parts, Parts::Whole), bits <= 26, "{bits} bits");
            }
        }
        let counts = [24, 23, 22, 21].map(|bits| {
            let q: u32 = (1 << bits) - 1;
            terms_between_reductions(q, u64::from(q / 2))
        });
        assert_eq!(counts, [128, 512, 2048, 8192]);
    }

    #[test]
    fn extreme_residues_of_either_sign_are_exact() {
        for bits in [14, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30] {
            for q in primes(bits) {
                let bound = MatrixProduct::new(Instructions::Plain, q).terms.min(2 * DEPTH);
                let (plus, minus) = (q.q / 2, q.q / 2 + 1);
                for terms in [1, bound, bound + 1, DEPTH, DEPTH + 1, 3 * DEPTH + 5] {
                    for [x, y] in [[plus, plus], [plus, minus], [minus, minus], [q.q - 1, 1]] {
                        check(q, &Matrix::new(terms, 9, || x), &Matrix::new(terms, 17, || y));
                    }
                }
            }
        }
    }

    #[test]
    fn sums_are_reduced_before_they_outgrow_64_bits() {
        let [_, q] = primes(24);
        for terms in [LONGEST, LONGEST + 1, 4 * LONGEST + 1] {
            for [x, y] in [[q.q / 2, q.q / 2], [q.q / 2, q.q / 2 + 1]] {
                check(q, &Matrix::new(terms, 1, || x), &Matrix::new(terms, 1, || y));
            }
        }
    }

    /// Sums of products of [`LONGEST`] terms, of one left and one right residue.
    fn largest_sums(product: MatrixProduct, x: u32, y: u32) -> Sums {
        let mut panels = (product.left_panel(1, 1), product.right_panel(1, 1));
        product.pack(&mut panels.0, 0, &[Operand::Plain(&[x]); DEPTH]);
        product.pack(&mut panels.1, 0, &[Operand::Plain(&[y]); DEPTH]);
        let mut sums = product.sums(1, 1, 1);
        for _ in 0..LONGEST / DEPTH {
            product.add_products(&panels.0, &panels.1, DEPTH, &mut sums);
        }
        sums
    }

    #[test]
    fn four_of_the_largest_sums_are_added_exactly() {
        for bits in [14, 24, 26, 30] {
            let [_, q] = primes(bits);
            let (plus, minus) = (q.q / 2, q.q / 2 + 1);
            for product in Instructions::all().into_iter().map(|all| MatrixProduct::new(all, q)) {
                let [high, low] = [plus, minus].map(|y| largest_sums(product, plus, y));
                let residue = |plus: Vec<&Sums>, minus: Vec<&Sums>| {
                    let mut to = vec![0; product.tile_columns()];
                    product.residues(&Total { plus, minus }, (0, 0), &[0], &mut to);
                    to[0]
                };
                let once = q.mul(LONGEST as u32 % q.q, q.mul(plus, plus));
                let expected = q.mul(4, once);
                assert_eq!(residue(vec![&high; 4], vec![]), expected, "{product:?}");
                assert_eq!(residue(vec![&high; 2], vec![&low; 2]), expected, "{product:?}");
                let negative = q.sub(0, expected);
                assert_eq!(residue(vec![&low; 4], vec![]), negative, "{product:?}");
                assert_eq!(residue(vec![&low], vec![&high; 3]), negative, "{product:?}");
            }
        }
    }

    #[test]
    fn sums_and_differences_of_operands_are_residues_again() {
        for bits in [20, 24, 30] {
            let [_, q] = primes(bits);
            let corners = [0, 1, q.q / 2, q.q / 2 + 1, q.q - 1];
            let pairs = || corners.into_iter().flat_map(|x| corners.map(|y| (x, y)));
            let [left, right]: [Vec<u32>; 2] =
                [pairs().map(|(x, _)| x).collect(), pairs().map(|(_, y)| y).collect()];
            for instructions in Instructions::all() {
                let product = MatrixProduct::new(instructions, q);
                let width = left.len();
                for (operand, mix) in [
                    (Operand::Sum(&left, &right), Modulus::add as fn(Modulus, u32, u32) -> u32),
                    (Operand::Difference(&left, &right), Modulus::sub),
                ] {
                    let mut panels = (product.left_panel(1, width), product.right_panel(1, 1));
                    product.pack(&mut panels.0, 0, &[operand]);
                    product.pack(&mut panels.1, 0, &[Operand::Plain(&[q.q - 1])]);
                    let mut sums = product.sums(1, width, 1);
                    product.add_products(&panels.0, &panels.1, 1, &mut sums);
                    let places: Vec<u32> = (0..width as u32).collect();
                    let mut found = vec![0; width * product.tile_columns()];
                    product.residues(&Total::of(&sums), (0, 0), &places, &mut found);
                    for ((x, y), found) in pairs().zip(found.chunks(product.tile_columns())) {
                        assert_eq!(found[0], q.sub(0, mix(q, x, y)), "{x} {y} {product:?}");
                    }
                }
            }
        }
    }

    /// Halves of 12 bits that are as large as they become, with all signs.
    #[test]
    fn extreme_halves_are_exact() {
        let [_, q] = primes(24);
        let largest = (q.q / 2) as i32;
        let corners = [largest, 2048 * 4096 - 2048, 2047 * 4096 + 2047, 2047, 2048, 4095];
        let corners = corners.into_iter().flat_map(|x| [x, -x]);
        let residues: Vec<u32> = corners.map(|x| x.rem_euclid(q.q as i32) as u32).collect();
        for terms in [DEPTH, DEPTH + 1] {
            for &x in &residues {
                for &y in &residues {
                    check(q, &Matrix::new(terms, 9, || x), &Matrix::new(terms, 33, || y));
                }
            }
        }
    }

    /// Sums that come to the last number that is exact in every partial sum, and then turn round.
    #[test]
    fn no_order_of_signs_is_inexact() {
        for bits in [24, 25, 26, 30] {
            let [_, q] = primes(bits);
            let (plus, minus) = (q.q / 2, q.q / 2 + 1);
            let mut count = 0;
            let signs = Matrix::new(300, 1, || {
                count += 1;
                if count <= 128 || count % 3 == 0 { plus } else { minus }
            });
            check(q, &signs, &Matrix::new(300, 1, || plus));
            check(q, &Matrix::new(300, 1, || minus), &signs);
        }
    }

    #[test]
    fn a_thousand_shapes_are_exact() {
        let mut random = random(7);
        for index in 0..1000 {
            let bits = 20 + (index % 11) as u32;
            let q = primes(bits)[index % 2];
            let mut up_to = |most: u64| 1 + (random() % most) as usize;
            let (rows, terms, columns) = (up_to(40), up_to(160), up_to(70));
            let mut residue = || match random() % 8 {
                0 => q.q / 2,
                1 => q.q / 2 + 1,
                2 => 0,
                _ => q.reduce(random()),
            };
            let left = Matrix::new(terms, rows, &mut residue);
            check(q, &left, &Matrix::new(terms, columns, &mut residue));
        }
    }
}
