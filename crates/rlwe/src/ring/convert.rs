//! Conversion of residues from one set of primes to another.

use std::ops::Range;

use rayon::prelude::*;

use super::buffers;
use super::lanes::{Kernel, LaneModulus, Lanes, Sum, dispatch};
use super::modulus::{LAZY_TERMS, Modulus, product};

/// Coefficients converted at once: sixteen scaled sources of a block fit the first-level cache.
const BLOCK: usize = 256;

/// Targets whose sums are kept in registers together.
const TILE: usize = 4;

/// Groups that targets are shared out to: enough for threads, few enough that scaled sources
/// are seldom read again.
const GROUPS: usize = 4;

/// Takes x modulo D, a product of source primes, to x' modulo each target prime.
///
/// With D_k = D / q_k and y_k = x D_k^-1 mod q_k, x = sum y_k D_k - v D for
/// v = round(sum y_k / q_k), so that x' is the centred representative (Halevi,
/// Polyakov, Shoup 2018, section 2.2). v is computed in fixed point with at least
/// 21 fractional bits more than a word prime, an error below `sources * 2^-21`,
/// so x' is congruent to x always and `|x'| <= (1/2 + sources * 2^-21) D`.
///
/// Sources come from unnormalised inverse transforms: the factor N^-1 is part of
/// the scaling that the conversion does anyway.
#[derive(Debug)]
pub(crate) struct Conversion {
    sources: Vec<Modulus>,
    /// What each source is multiplied by, in Montgomery form.
    factors: Vec<u32>,
    /// floor(2^shift / q_k).
    reciprocals: Vec<u32>,
    shift: u32,
    tiles: Vec<Tile>,
}

/// Up to [`TILE`] targets.
#[derive(Debug)]
struct Tile {
    moduli: Vec<Modulus>,
    /// For each source D_k modulo every target, and at last -D modulo every target, in
    /// Montgomery form.
    weights: Vec<u32>,
}

impl Conversion {
    /// From `sources` to `targets` in ring degree 2^log_n; the value is multiplied by
    /// `input` (residues modulo the sources) before and by `output` (modulo the
    /// targets) after centring.
    pub(crate) fn new(
        log_n: u32,
        sources: &[Modulus],
        targets: &[Modulus],
        input: impl Fn(Modulus) -> u32,
        output: impl Fn(Modulus) -> u32,
    ) -> Self {
        let others = |k: usize| {
            sources.iter().enumerate().filter(move |(j, _)| *j != k).map(|(_, source)| source.q)
        };
        let factors = sources
            .iter()
            .enumerate()
            .map(|(k, &q)| {
                let hat = q.mul(product(q, others(k)), q.reduce(1 << log_n));
                q.to_montgomery(q.mul(q.inv(hat), input(q)))
            })
            .collect();
        let smallest = sources.iter().map(|source| source.bits).min().unwrap_or(30);
        // Reciprocals stay below 2^30, and up to 32 terms below 2^63.
        let shift = (smallest - 1 + 30).min(58);
        let reciprocals =
            sources.iter().map(|source| ((1u64 << shift) / u64::from(source.q)) as u32).collect();
        let whole = |p: Modulus| p.sub(0, product(p, sources.iter().map(|source| source.q)));
        let tile = |moduli: &[Modulus]| {
            let scaled = |p: Modulus, x: u32| p.to_montgomery(p.mul(x, output(p)));
            let hats = (0..sources.len())
                .flat_map(|k| moduli.iter().map(move |&p| scaled(p, product(p, others(k)))));
            let weights = hats.chain(moduli.iter().map(|&p| scaled(p, whole(p)))).collect();
            Tile { moduli: moduli.to_vec(), weights }
        };
        let tiles = targets.chunks(TILE).map(tile).collect();
        Self { sources: sources.to_vec(), factors, reciprocals, shift, tiles }
    }

    /// Fills `outputs`, one limb of coefficients for each target, and calls `finish` with the
    /// number of a target and its limb as soon as that is filled, while it is still in cache.
    pub(crate) fn run(
        &self,
        inputs: &[&[u32]],
        mut outputs: Vec<&mut [u32]>,
        finish: impl Fn(usize, &mut [u32]) + Sync,
    ) {
        let Some(n) = inputs.first().map(|input| input.len()) else { return };
        let block = BLOCK.min(n);
        let mut scaled = buffers::take((inputs.len() + 1) * n);
        let rows = scaled.par_chunks_exact_mut((inputs.len() + 1) * block);
        rows.with_min_len(4).enumerate().for_each(|(index, rows)| {
            dispatch(ScaleBlock { conversion: self, inputs, start: index * block, rows, block });
        });
        let size = self.tiles.len().div_ceil(GROUPS);
        let groups = outputs.par_chunks_mut(size * TILE).zip(self.tiles.par_chunks(size));
        groups.enumerate().for_each(|(group, (outputs, tiles))| {
            let scaled = &scaled;
            dispatch(ConvertGroup { scaled, block, terms: inputs.len() + 1, tiles, outputs });
            for (index, output) in outputs.iter_mut().enumerate() {
                finish(group * size * TILE + index, output);
            }
        });
        buffers::give(scaled);
    }
}

/// Writes the y_k of one block of coefficients, and after them v.
struct ScaleBlock<'a> {
    conversion: &'a Conversion,
    inputs: &'a [&'a [u32]],
    start: usize,
    rows: &'a mut [u32],
    block: usize,
}

impl Kernel for ScaleBlock<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let (rows, overflow) = self.rows.split_at_mut(self.inputs.len() * self.block);
        let constants = self.conversion.sources.iter().zip(&self.conversion.factors);
        let limbs = rows.chunks_exact_mut(self.block).zip(self.inputs);
        for ((row, input), (&modulus, &factor)) in limbs.zip(constants) {
            let q = LaneModulus::new(lanes, modulus);
            let factor = lanes.splat(factor);
            let input = lanes.vectors(&input[self.start..self.start + self.block]);
            for (y, &x) in lanes.vectors_mut(row).iter_mut().zip(input) {
                *y = q.mul_montgomery(lanes, x, factor);
            }
        }
        let (rows, length) = (lanes.vectors(rows), self.block / L::WIDTH);
        let shift = self.conversion.shift;
        for (at, v) in lanes.vectors_mut(overflow).iter_mut().enumerate() {
            let mut sum = Sum::zero(lanes);
            for (k, &reciprocal) in self.conversion.reciprocals.iter().enumerate() {
                let y = rows[k * length + at];
                let reciprocal = lanes.splat(reciprocal);
                sum = sum.add_product(lanes, y, lanes.odd(y), reciprocal, reciprocal);
            }
            *v = sum.shift_right(lanes, 1 << (shift - 1), shift);
        }
    }
}

/// Converts every block to the targets of some tiles.
struct ConvertGroup<'a, 'b> {
    scaled: &'a [u32],
    block: usize,
    /// Rows of a block: the scaled sources and v.
    terms: usize,
    tiles: &'a [Tile],
    outputs: &'a mut [&'b mut [u32]],
}

impl Kernel for ConvertGroup<'_, '_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let blocks = self.scaled.chunks_exact(self.terms * self.block);
        for (index, rows) in blocks.map(|rows| lanes.vectors(rows)).enumerate() {
            let span = index * self.block..(index + 1) * self.block;
            for (tile, outputs) in self.tiles.iter().zip(self.outputs.chunks_mut(TILE)) {
                match outputs {
                    [a, b, c, d] => convert_tile(lanes, rows, span.clone(), tile, [a, b, c, d]),
                    [a, b, c] => convert_tile(lanes, rows, span.clone(), tile, [a, b, c]),
                    [a, b] => convert_tile(lanes, rows, span.clone(), tile, [a, b]),
                    [a] => convert_tile(lanes, rows, span.clone(), tile, [a]),
                    _ => (),
                }
            }
        }
    }
}

/// The sums of one block for the T targets of a tile.
#[inline(always)]
fn convert_tile<L: Lanes, const T: usize>(
    lanes: L,
    rows: &[L::V],
    span: Range<usize>,
    tile: &Tile,
    outputs: [&mut &mut [u32]; T],
) {
    let length = span.len() / L::WIDTH;
    let outputs = outputs.map(|output| lanes.vectors_mut(&mut output[span.clone()]));
    let (weights, _) = tile.weights.as_chunks::<T>();
    if L::WIDTH == 16 && length.is_multiple_of(2) {
        convert_vectors::<L, T, 2>(lanes, rows, length, tile, weights, outputs);
    } else {
        convert_vectors::<L, T, 1>(lanes, rows, length, tile, weights, outputs);
    }
}

/// U vectors of T targets side by side: every scaled source is loaded once for all targets,
/// every weight once for all vectors, and the sums stay in registers.
#[inline(always)]
fn convert_vectors<L: Lanes, const T: usize, const U: usize>(
    lanes: L,
    rows: &[L::V],
    length: usize,
    tile: &Tile,
    weights: &[[u32; T]],
    outputs: [&mut [L::V]; T],
) {
    for at in (0..length).step_by(U) {
        let mut totals = [[lanes.splat(0); U]; T];
        for (group, weights) in weights.chunks(LAZY_TERMS).enumerate() {
            let rows = rows[group * LAZY_TERMS * length..].chunks_exact(length);
            let mut sums = [[Sum::zero(lanes); U]; T];
            for (row, weights) in rows.zip(weights) {
                let row = &row[at..at + U];
                let weights = weights.map(|weight| lanes.splat(weight));
                for u in 0..U {
                    let odd = lanes.odd(row[u]);
                    for t in 0..T {
                        sums[t][u] =
                            sums[t][u].add_product(lanes, row[u], odd, weights[t], weights[t]);
                    }
                }
            }
            for t in 0..T {
                let q = LaneModulus::new(lanes, tile.moduli[t]);
                for u in 0..U {
                    let sum = q.montgomery(lanes, sums[t][u]);
                    let total = &mut totals[t][u];
                    *total = if group == 0 { sum } else { q.add(lanes, *total, sum) };
                }
            }
        }
        for t in 0..T {
            outputs[t][at..at + U].copy_from_slice(&totals[t]);
        }
    }
}
