//! Exact products of matrices of residues, in 16-bit integers, on machines with their dot products.
//!
//! There one instruction multiplies and adds four times as many 16-bit integers as doubles. A
//! residue below 2^24, centred, is cut into halves x = 2^12 u + l, both from -2^11 to 2^11, and
//! three products of integers make one (Karatsuba and Ofman 1962): u u', l l' and
//! (u + l)(u' + l'), whose sum less the two others is the sum of u l' + l u'.
//!
//! Sums are held in 32 bits over [`DEPTH`] = 2^8 terms. Those of u u' and of l l' are at most
//! 2^8 2^22 = 2^30 in magnitude. Those of (u + l)(u' + l') may wrap, and so may the differences:
//! the sum of u l' + l u' is what it should be, modulo 2^32, and at least -2^31; it is less than
//! 2^31, as u l' = 2^22 asks for u = l' = 2^11 or both -2^11, and l never is 2^11 and u = -2^11
//! has l > 0. So every sum is exact.
//!
//! The three are put together in 64 bits, to the sum of the products itself: with h = (q - 1) / 2
//! below 2^23, it stays below terms h^2 < 2^46 terms in magnitude. Nothing is reduced before
//! [`MOST_TERMS`] = 2^15 are summed, so that four such sums may be added.

use std::arch::x86_64::_MM_HINT_T1;

use pulp::x86::V4;
use pulp::{NullaryFnOnce, Simd};

use super::modulus::Modulus;
use super::tiles::{DEPTH, MOST_ROWS, Operand, Panel, Sums, in_blocks};

/// Residues below 2 to this are cut into halves that have products in 16 bits.
pub(super) const MOST_BITS: u32 = 24;
/// Upper half, lower half, sum of both.
pub(super) const PARTS: usize = 3;
/// Rows and columns of a tile.
pub(super) const TILE: (usize, usize) = (ROWS, COLUMNS);
/// Doubles that one place of an operand takes in all its terms: four integers are as long as one.
pub(super) const DOUBLES_OF_A_PLACE: usize = DEPTH / 4;
/// Terms after which sums are to be reduced.
pub(super) const MOST_TERMS: usize = 1 << 15;

const ROWS: usize = 8;
const COLUMNS: usize = 2 * LANES;
/// Sums in a vector.
const LANES: usize = 16;
const VECTORS: usize = COLUMNS / LANES;
const HALF_BITS: u32 = 12;
/// Terms that one word holds.
const PAIR: usize = 2;
const PAIRS: usize = DEPTH / PAIR;
/// Pairs that are packed side by side, so that what is written is longer than a line of the cache.
const PAIRS_AT_ONCE: usize = 4;
const TERMS_AT_ONCE: usize = PAIR * PAIRS_AT_ONCE;

type Words = <V4 as Simd>::i32s;
type Longs = <V4 as Simd>::i64s;
/// The sums of a tile, of one part.
type TileOfWords = [[Words; VECTORS]; ROWS];

/// Packs residues of one or more terms, in each term as many for each product, from place `start`
/// of each product on. What lacks of a pair is zero.
///
/// A line of the cache is read whole: the polynomials of all terms begin at one place of their
/// pages, so that no second line of each would stay in the first-level cache.
pub(super) struct Pack<'a> {
    pub(super) simd: V4,
    pub(super) modulus: Modulus,
    pub(super) panel: &'a mut Panel,
    pub(super) start: usize,
    pub(super) terms: &'a [Operand<'a>],
}

impl NullaryFnOnce for Pack<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        match self.panel.tile {
            ROWS => self.pack::<ROWS>(),
            _ => self.pack::<COLUMNS>(),
        }
    }
}

impl Pack<'_> {
    #[inline(always)]
    fn pack<const TILE: usize>(self) {
        let Self { simd, modulus, panel, start, terms } = self;
        let each = terms[0].len() / panel.products;
        let plane = 2 * panel.plane;
        let words: &mut [u32] = bytemuck::cast_slice_mut(panel.doubles.get_mut());
        let mut groups = terms.chunks(TERMS_AT_ONCE).enumerate().peekable();
        while let Some((group, terms)) = groups.next() {
            let pair = group * PAIRS_AT_ONCE;
            let next = groups.peek().map_or(&[][..], |(_, terms)| terms);
            for (product, operand) in words.chunks_exact_mut(PARTS * plane).enumerate() {
                let mut done = 0;
                while done < each {
                    let place = start + done;
                    let count = (LANES - place % LANES).min(each - done);
                    for term in next {
                        term.parts().for_each(|part| fetch(simd, &part[product * each + done..]));
                    }
                    for (pair, terms) in (pair..).zip(terms.chunks(PAIR)) {
                        let mut residues = [[0; LANES]; PAIR];
                        for (residues, term) in residues.iter_mut().zip(terms) {
                            *residues = term.residues(modulus, product * each + done, count);
                        }
                        let to = |place: usize| (place / TILE * PAIRS + pair) * TILE + place % TILE;
                        for (part, words) in packed(modulus.q, &residues).iter().enumerate() {
                            let operand = &mut operand[part * plane..][..plane];
                            if count == LANES {
                                // No tile is smaller.
                                let pieces = words.as_chunks::<ROWS>().0.iter().enumerate();
                                for (index, words) in pieces {
                                    operand[to(place + index * ROWS)..][..ROWS]
                                        .copy_from_slice(words);
                                }
                            } else {
                                for (place, &word) in (place..).zip(&words[..count]) {
                                    operand[to(place)] = word;
                                }
                            }
                        }
                    }
                    done += count;
                }
            }
        }
    }
}

/// Upper halves, lower halves and their sums of the residues of two terms, two to a word.
#[inline(always)]
fn packed(q: u32, residues: &[[u32; LANES]; PAIR]) -> [[u32; LANES]; PARTS] {
    let mut words = [[0; LANES]; PARTS];
    for place in 0..LANES {
        let one = halves(q, residues[0][place]);
        let other = halves(q, residues[1][place]);
        for part in 0..PARTS {
            words[part][place] = one[part] as u32 & 0xffff | (other[part] as u32) << 16;
        }
    }
    words
}

/// Upper half, lower half and their sum of a residue below `q`, centred.
#[inline(always)]
fn halves(q: u32, x: u32) -> [i32; PARTS] {
    let x = x as i32 - if x > q / 2 { q as i32 } else { 0 };
    let upper = (x + (1 << (HALF_BITS - 1))) >> HALF_BITS;
    let lower = x - (upper << HALF_BITS);
    [upper, lower, upper + lower]
}

/// Adds to every product's sums the products of its first `terms` packed terms.
pub(super) struct AddProducts<'a> {
    pub(super) simd: V4,
    pub(super) left: &'a Panel,
    pub(super) right: &'a Panel,
    pub(super) terms: usize,
    pub(super) sums: &'a mut Sums,
}

impl NullaryFnOnce for AddProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { simd, left, right, terms, sums } = self;
        add_products(simd, left, right, terms, sums);
    }
}

#[inline(always)]
fn add_products(simd: V4, left: &Panel, right: &Panel, terms: usize, sums: &mut Sums) {
    let pairs = terms.div_ceil(PAIR);
    let row_tiles = sums.row_tiles;
    let lefts = left.doubles.get().chunks_exact(PARTS * left.plane);
    let rights = right.doubles.get().chunks_exact(PARTS * right.plane);
    let of_products = sums.doubles.get_mut().chunks_exact_mut(sums.plane);
    for ((lefts, rights), sums) in lefts.zip(rights).zip(of_products) {
        let lefts: [&[[i32; ROWS]]; PARTS] = [0, 1, 2].map(|part| {
            bytemuck::cast_slice::<f64, i32>(&lefts[part * left.plane..][..left.plane])
                .as_chunks::<ROWS>()
                .0
        });
        let rights: [&[[Words; VECTORS]]; PARTS] = [0, 1, 2].map(|part| {
            bytemuck::cast_slice::<f64, Words>(&rights[part * right.plane..][..right.plane])
                .as_chunks::<VECTORS>()
                .0
        });
        let sums = bytemuck::cast_slice_mut::<f64, Longs>(sums);
        let length = ROWS * VECTORS * 2;
        let (columns, rows) = (rights[0].len() / PAIRS, lefts[0].len() / PAIRS);
        for (column, row) in in_blocks(columns, rows, MOST_ROWS / ROWS) {
            let sums = &mut sums[(column * row_tiles + row) * length..][..length];
            // They are on their way while the products are made.
            sums.chunks(1).for_each(|line| fetch(simd, line));
            let mut parts = [[[simd.splat_i32s(0); VECTORS]; ROWS]; PARTS];
            for (part, totals) in parts.iter_mut().enumerate() {
                let left = &lefts[part][row * PAIRS..][..pairs];
                let right = &rights[part][column * PAIRS..][..pairs];
                *totals = tile(simd, left, right);
            }
            add_parts(simd, &parts, sums);
        }
    }
}

/// Asks for the line of the cache in which these numbers begin, into the second-level cache: in
/// the first the lines that are at work now would have to leave.
#[inline(always)]
fn fetch<T>(simd: V4, numbers: &[T]) {
    simd.sse._mm_prefetch::<_MM_HINT_T1>(numbers.as_ptr().cast());
}

/// Products of one part of a row and a column of tiles, summed.
#[inline(always)]
fn tile(simd: V4, left: &[[i32; ROWS]], right: &[[Words; VECTORS]]) -> TileOfWords {
    let mut totals = [[simd.splat_i32s(0); VECTORS]; ROWS];
    for (x, y) in left.iter().zip(right) {
        for row in 0..ROWS {
            let x = simd.splat_i32s(x[row]);
            for vector in 0..VECTORS {
                let products =
                    simd.avx512bw._mm512_madd_epi16(pulp::cast(x), pulp::cast(y[vector]));
                totals[row][vector] = simd.add_i32s(totals[row][vector], pulp::cast(products));
            }
        }
    }
    totals
}

/// Adds 2^24 times the sums of the upper halves, 2^12 times the middle, and those of the lower.
#[inline(always)]
fn add_parts(simd: V4, parts: &[TileOfWords; PARTS], sums: &mut [Longs]) {
    let [uppers, lowers, boths] = parts.each_ref().map(|part| part.as_flattened());
    let words = uppers.iter().zip(lowers).zip(boths);
    for (((&upper, &lower), &both), sums) in words.zip(sums.as_chunks_mut::<2>().0) {
        let middle = simd.sub_i32s(simd.sub_i32s(both, upper), lower);
        let upper = shifted::<{ 2 * HALF_BITS }>(simd, upper);
        let middle = shifted::<HALF_BITS>(simd, middle);
        let lower = shifted::<0>(simd, lower);
        for (half, sum) in sums.iter_mut().enumerate() {
            let add = |x: Longs, y: Longs| -> Longs {
                pulp::cast(simd.avx512f._mm512_add_epi64(pulp::cast(x), pulp::cast(y)))
            };
            *sum = add(*sum, add(upper[half], add(middle[half], lower[half])));
        }
    }
}

/// The words times 2 to `SHIFT` in 64 bits, the first eight and the others.
#[inline(always)]
fn shifted<const SHIFT: u32>(simd: V4, words: Words) -> [Longs; 2] {
    let words = pulp::cast(words);
    let first = simd.avx512f._mm512_castsi512_si256(words);
    let second = simd.avx512f._mm512_extracti64x4_epi64::<1>(words);
    [
        simd.shl_const_i64x8::<SHIFT>(simd.convert_i32x8_to_i64x8(pulp::cast(first))),
        simd.shl_const_i64x8::<SHIFT>(simd.convert_i32x8_to_i64x8(pulp::cast(second))),
    ]
}
