//! Conversion of residues from one set of primes to another.

use std::ops::Range;

use rayon::prelude::*;

use super::buffers;
use super::lanes::{Kernel, LaneModulus, Lanes, Sum, dispatch};
use super::modulus::{Modulus, product};
use super::poly::Basis;
use crate::parallel;

/// Coefficients converted at once: sixteen scaled sources of a block fit the first-level cache.
const BLOCK: usize = 256;

/// Targets whose sums are kept in registers together.
const TILE: usize = 4;

/// Products that may be summed before one signed Montgomery reduction: a factor below 2^29
/// times one below p / 2 in absolute value, sixteen times, stays below p 2^32.
const LAZY_SIGNED_TERMS: usize = 16;

/// Takes x modulo D, a product of source primes, to x' modulo each target prime.
///
/// With D_k = D / q_k and y_k = x D_k^-1 mod q_k, x = sum y_k D_k - v D for
/// v = round(sum y_k / q_k), so that x' is the centred representative (Halevi,
/// Polyakov, Shoup 2018, section 2.2). v is computed in fixed point: for sources of b
/// bits and more, each quotient is known to 2^(1 - b), so that x' is congruent to x
/// always and `|x'| <= (1/2 + sources * 2^(1 - b)) D`.
///
/// Sources come from unnormalised inverse transforms: the factor N^-1 is part of
/// the scaling that the conversion does anyway.
#[derive(Debug)]
pub(crate) struct Conversion {
    sources: Vec<Modulus>,
    /// What each source is multiplied by, in Montgomery form.
    factors: Vec<u32>,
    /// What is subtracted from each scaled source, to make it signed: floor(q_k / 2).
    halves: Vec<u32>,
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
    /// Montgomery form, centred.
    weights: Vec<u32>,
    /// The sum of halves times weights modulo each target: what sums start at.
    offsets: Vec<u32>,
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
        // Reciprocals stay below 2^30; the sum of quotients and 1/2 stays below 2^64.
        let terms = (sources.len() + 1).next_power_of_two().ilog2();
        let shift = (smallest - 1 + 30).min(58).min(64 - terms);
        let reciprocals =
            sources.iter().map(|source| ((1u64 << shift) / u64::from(source.q)) as u32).collect();
        let halves: Vec<u32> = sources.iter().map(|source| source.q / 2).collect();
        let whole = |p: Modulus| p.sub(0, product(p, sources.iter().map(|source| source.q)));
        let tile = |moduli: &[Modulus]| {
            let scaled = |p: Modulus, x: u32| p.to_montgomery(p.mul(x, output(p)));
            let weight = |p: Modulus, k: usize| scaled(p, product(p, others(k)));
            let offset = |&p: &Modulus| {
                let products =
                    halves.iter().enumerate().map(|(k, &half)| p.mul(half % p.q, weight(p, k)));
                products.fold(0, |sum, product| p.add(sum, product))
            };
            let hats = (0..sources.len()).flat_map(|k| moduli.iter().map(move |&p| (p, k)));
            let hats = hats.map(|(p, k)| centred(p, weight(p, k)));
            let wholes = moduli.iter().map(|&p| centred(p, scaled(p, whole(p))));
            let weights = hats.chain(wholes).collect();
            let offsets = moduli.iter().map(offset).collect();
            Tile { moduli: moduli.to_vec(), weights, offsets }
        };
        let tiles = targets.chunks(TILE).map(tile).collect();
        Self { sources: sources.to_vec(), factors, halves, reciprocals, shift, tiles }
    }

    /// Converts H polynomials, given by a limb for each source. Fills `outputs`, for each target
    /// a limb of each, and calls `finish` with the number of a target and its limbs as soon as
    /// these are filled.
    pub(crate) fn run<const H: usize>(
        &self,
        inputs: [&[&[u32]]; H],
        mut outputs: Vec<[&mut [u32]; H]>,
        finish: impl Fn(usize, [&mut [u32]; H]) + Sync,
    ) {
        let Some(n) = outputs.first().map(|limbs| limbs[0].len()) else { return };
        let block = BLOCK.min(n);
        let blocks = n / block;
        let terms = self.sources.len() + 1;
        let mut scaled = buffers::take(H * terms * n);
        let rows = parallel::chunks_mut(&mut scaled, terms * block);
        rows.with_min_len(4).enumerate().shared().for_each(|(index, rows)| {
            let (inputs, start) = (inputs[index / blocks], index % blocks * block);
            dispatch(ScaleBlock { conversion: self, inputs, start, rows, block });
        });
        // Scaled sources of a large ring do not fit the second-level cache: each thread reads them
        // once, rather than once for every few targets.
        let size = self.tiles.len().div_ceil(parallel::threads());
        let groups = parallel::chunks_mut(&mut outputs, size * TILE)
            .zip(parallel::chunks(&self.tiles, size));
        groups.enumerate().shared().for_each(|(group, (outputs, tiles))| {
            for (poly, scaled) in scaled.chunks_exact(terms * n).enumerate() {
                let outputs = outputs.iter_mut().map(|limbs| &mut *limbs[poly]).collect();
                dispatch(ConvertGroup { scaled, block, terms, tiles, outputs });
            }
            parallel::over(outputs).enumerate().shared().for_each(|(index, limbs)| {
                finish(group * size * TILE + index, limbs.each_mut().map(|limb| &mut **limb));
            });
        });
        buffers::give(scaled);
    }
}

/// The constants of a conversion as plain numbers: see [`Conversion`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversionTable {
    /// Positions of the source primes.
    pub sources: Vec<usize>,
    /// Positions of the target primes.
    pub targets: Vec<usize>,
    /// What each source, from an unnormalised inverse transform, is multiplied by, in Montgomery
    /// form.
    pub factors: Vec<u32>,
    /// What is subtracted from each scaled source, to make it signed.
    pub halves: Vec<u32>,
    /// floor(2^shift / q) for each source q.
    pub reciprocals: Vec<u32>,
    /// The scaled sources times their reciprocals, summed, are rounded and divided by 2^shift.
    pub shift: u32,
    /// For each target a weight for each source, and at last one for that quotient: in Montgomery
    /// form and centred, as the bits of a signed word.
    pub weights: Vec<u32>,
    /// What the sum for each target starts at.
    pub offsets: Vec<u32>,
}

impl Conversion {
    /// Its constants; `sources` and `targets` are what it was made for.
    pub(crate) fn table(&self, sources: &Basis, targets: &Basis) -> ConversionTable {
        let weights = self.tiles.iter().flat_map(|tile| {
            let count = tile.moduli.len();
            (0..count).flat_map(move |t| tile.weights.iter().skip(t).step_by(count))
        });
        ConversionTable {
            sources: sources.iter().collect(),
            targets: targets.iter().collect(),
            factors: self.factors.clone(),
            halves: self.halves.clone(),
            reciprocals: self.reciprocals.clone(),
            shift: self.shift,
            weights: weights.copied().collect(),
            offsets: self.tiles.iter().flat_map(|tile| &tile.offsets).copied().collect(),
        }
    }
}

/// The representative between -q / 2 and q / 2, as the bits of a signed word.
fn centred(q: Modulus, x: u32) -> u32 {
    if x > q.q / 2 { x.wrapping_sub(q.q) } else { x }
}

/// Writes the signed y_k of one block of coefficients, and after them v.
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
        let (rows, length) = (lanes.vectors_mut(rows), self.block / L::WIDTH);
        let constants = self.conversion.reciprocals.iter().zip(&self.conversion.halves);
        let shift = self.conversion.shift;
        for (at, v) in lanes.vectors_mut(overflow).iter_mut().enumerate() {
            let mut sum = Sum::zero(lanes);
            for (k, (&reciprocal, &half)) in constants.clone().enumerate() {
                let y = &mut rows[k * length + at];
                let reciprocal = lanes.splat(reciprocal);
                sum = sum.add_product(lanes, *y, lanes.odd(*y), reciprocal, reciprocal);
                *y = lanes.sub(*y, lanes.splat(half));
            }
            *v = sum.shift_right(lanes, 1 << (shift - 1), shift);
        }
    }
}

/// Converts every block to the targets of some tiles.
struct ConvertGroup<'a> {
    scaled: &'a [u32],
    block: usize,
    /// Rows of a block: the scaled sources and v.
    terms: usize,
    tiles: &'a [Tile],
    outputs: Vec<&'a mut [u32]>,
}

impl Kernel for ConvertGroup<'_> {
    #[inline(always)]
    fn run<L: Lanes>(mut self, lanes: L) {
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
        for (group, weights) in weights.chunks(LAZY_SIGNED_TERMS).enumerate() {
            let rows = rows[group * LAZY_SIGNED_TERMS * length..].chunks_exact(length);
            let mut sums: [_; T] = std::array::from_fn(|t| {
                let start = if group == 0 { tile.offsets[t] } else { 0 };
                [Sum::starting_at(lanes, u64::from(start)); U]
            });
            for (row, weights) in rows.zip(weights) {
                let row = &row[at..at + U];
                let weights = weights.map(|weight| lanes.splat(weight));
                for u in 0..U {
                    let odd = lanes.odd(row[u]);
                    for t in 0..T {
                        sums[t][u] = sums[t][u].add_signed_product(lanes, row[u], odd, weights[t]);
                    }
                }
            }
            for t in 0..T {
                let q = LaneModulus::new(lanes, tile.moduli[t]);
                for u in 0..U {
                    let sum = q.montgomery_signed(lanes, sums[t][u]);
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
#[cfg(test)]
mod tests {
    use num_bigint::BigInt;

    use super::*;
    use crate::ring::lanes::Words;
    use crate::ring::primes::ntt_primes;

    fn large_primes(log_n: u32, count: usize) -> impl Iterator<Item = Modulus> {
        let primes = ntt_primes(log_n, 1 << 29..1 << 30).rev().take(count);
        primes.map(|q| Modulus::new(q as u32))
    }

    /// Small primes among large ones, as chains have them.
    fn primes(log_n: u32, count: usize) -> Vec<Modulus> {
        let small = ntt_primes(log_n, 1 << 17..1 << 24).take(2);
        let small = small.map(|q| Modulus::new(q as u32));
        small.chain(large_primes(log_n, count - 2)).collect()
    }

    /// Residues of `values` as an unnormalised inverse transform leaves them: times N.
    fn limbs(log_n: u32, moduli: &[Modulus], values: &[BigInt]) -> Vec<Vec<u32>> {
        let residue = |q: &Modulus, x: &BigInt| {
            let q_big = BigInt::from(q.q);
            let x = ((x % &q_big) + &q_big) % &q_big;
            q.mul(u32::try_from(x).unwrap(), q.reduce(1 << log_n))
        };
        moduli.iter().map(|q| values.iter().map(|x| residue(q, x)).collect()).collect()
    }

    fn limbs_of(outputs: &mut [Vec<u32>]) -> Vec<[&mut [u32]; 1]> {
        outputs.iter_mut().map(|limb| [limb.as_mut_slice()]).collect()
    }

    fn check(log_n: u32, moduli: &[Modulus], sources: usize) {
        let (sources, targets) = moduli.split_at(sources);
        let whole: BigInt = sources.iter().map(|q| BigInt::from(q.q)).product();
        // Values all over the range, its ends and its middle among them.
        let n = 1usize << log_n;
        let ends = [0i64, 1, -1, 2].map(BigInt::from);
        let half: BigInt = &whole >> 1;
        let near = [&half - 1i32, -&half, &half / 3, -&half / 3];
        let step: BigInt = &whole / (n as i64 - 7) + 1i32;
        let spread = (0..).map(|i| &step * i - &half);
        let values: Vec<BigInt> = ends.into_iter().chain(near).chain(spread).take(n).collect();
        let inputs = limbs(log_n, sources, &values);
        let inputs: Vec<&[u32]> = inputs.iter().map(Vec::as_slice).collect();
        let conversion = Conversion::new(log_n, sources, targets, |_| 1, |_| 1);
        let mut outputs = vec![vec![0; n]; targets.len()];
        conversion.run([&inputs], limbs_of(&mut outputs), |_, _| ());
        for (q, output) in targets.iter().zip(&outputs) {
            for (x, &y) in values.iter().zip(output) {
                let q_big = BigInt::from(q.q);
                let expect = |x: &BigInt| ((x % &q_big) + &q_big) % &q_big;
                // At the very ends of the range either representative is centred.
                let alternatives = [expect(x), expect(&(x + &whole)), expect(&(x - &whole))];
                let inside = (x << 1i32).magnitude() * 65536u32 < whole.magnitude() * 65535u32;
                let allowed = if inside { &alternatives[..1] } else { &alternatives[..] };
                assert!(allowed.contains(&BigInt::from(y)), "{x} mod {}: {y}", q.q);
            }
        }
    }

    #[test]
    fn representatives_are_centred() {
        for (sources, targets) in [(3, 5), (4, 11), (16, 9), (18, 6), (2, 1)] {
            check(8, &primes(8, sources + targets), sources);
        }
        check(5, &primes(5, 7), 3);
        check(12, &primes(12, 13), 6);
    }

    #[test]
    fn any_number_of_large_sources_is_centred() {
        for sources in [1, 31, 32, 63, 64, 127, 128, 140] {
            let moduli: Vec<Modulus> = large_primes(8, sources + 3).collect();
            check(8, &moduli, sources);
        }
    }

    #[test]
    fn no_sources_stand_for_zero() {
        let moduli = primes(8, 5);
        let mut outputs = vec![vec![7; 256]; 5];
        let places = limbs_of(&mut outputs);
        Conversion::new(8, &[], &moduli, |_| 1, |_| 1).run([&[]], places, |_, _| ());
        assert!(outputs.iter().flatten().all(|&x| x == 0));
    }

    #[test]
    fn two_polynomials_are_converted_as_each_alone() {
        let moduli = primes(8, 12);
        let (sources, targets) = moduli.split_at(5);
        let conversion = Conversion::new(8, sources, targets, |_| 1, |_| 1);
        let limbs = |seed: u64| -> Vec<Vec<u32>> {
            let value = |q: &Modulus, i: u64| q.reduce((i + seed).wrapping_mul(seed));
            sources.iter().map(|q| (0..256).map(|i| value(q, i)).collect()).collect()
        };
        let inputs = [limbs(0x9e37_79b9_7f4a_7c15), limbs(0xbf58_476d_1ce4_e5b9)];
        let inputs = inputs.each_ref().map(|limbs| limbs.iter().map(Vec::as_slice).collect());
        let [first, second]: [Vec<&[u32]>; 2] = inputs;
        let mut alone = [vec![vec![0; 256]; 7], vec![vec![0; 256]; 7]];
        conversion.run([&first], limbs_of(&mut alone[0]), |_, _| ());
        conversion.run([&second], limbs_of(&mut alone[1]), |_, _| ());
        let mut both = [vec![vec![0; 256]; 7], vec![vec![0; 256]; 7]];
        let [a, b] = &mut both;
        let places = a.iter_mut().zip(b).map(|(a, b)| [a.as_mut_slice(), b.as_mut_slice()]);
        conversion.run([&first, &second], places.collect(), |_, _| ());
        assert_eq!(both, alone);
        assert_ne!(both[0], both[1]);
    }

    #[test]
    fn lanes_agree() {
        let moduli = primes(8, 12);
        let (sources, targets) = moduli.split_at(5);
        let conversion = Conversion::new(8, sources, targets, |q| q.q - 3, |q| q.q / 7);
        let value =
            |i: usize, q: &Modulus| q.reduce((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let limb = |q: &Modulus| (0..256).map(|i| value(i, q)).collect();
        let inputs: Vec<Vec<u32>> = sources.iter().map(limb).collect();
        let inputs: Vec<&[u32]> = inputs.iter().map(Vec::as_slice).collect();
        let mut wide = vec![vec![0; 256]; targets.len()];
        conversion.run([&inputs], limbs_of(&mut wide), |_, _| ());

        let mut scaled = vec![0; 6 * 256];
        let conversion = &conversion;
        ScaleBlock { conversion, inputs: &inputs, start: 0, rows: &mut scaled, block: 256 }
            .run(Words);
        let mut plain = vec![vec![0; 256]; targets.len()];
        let outputs = plain.iter_mut().map(Vec::as_mut_slice).collect();
        let tiles = &conversion.tiles;
        ConvertGroup { scaled: &scaled, block: 256, terms: 6, tiles, outputs }.run(Words);
        assert_eq!(wide, plain);
    }
}
