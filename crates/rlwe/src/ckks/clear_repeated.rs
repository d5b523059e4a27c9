//! Linear transforms in the clear whose diagonals repeat themselves: the products of a matrix with
//! many rows that lie one after another, as tokens do.

use std::array::from_fn;

use rayon::prelude::*;

use crate::parallel;

/// Slots whose sums stay in a cache from one diagonal to the next.
const TILE: usize = 2048;
/// Shorter periods are written down several times, for loops that are longer.
const ROW: usize = 256;
/// Diagonals that take the memory to the sums once.
const TOGETHER: usize = 4;

/// Diagonals by their weights in the first slots, after which all repeat themselves.
#[derive(Debug)]
pub(super) struct RepeatedDiagonals {
    slots: usize,
    period: usize,
    /// Slots that weights are written down for.
    row: usize,
    /// By how much each diagonal's vector is rotated.
    turns: Vec<usize>,
    /// Of each diagonal a row, and rows of zeros up to a multiple of [`TOGETHER`].
    weights: Vec<f64>,
}

impl RepeatedDiagonals {
    /// Diagonals of zeros, by the rotations of their vectors; slots and period are powers of two.
    pub(super) fn new(slots: usize, period: usize, rotations: &[i64]) -> Self {
        let row = period.max(ROW).min(slots);
        let turns = rotations.iter().map(|turn| turn.rem_euclid(slots as i64) as usize).collect();
        let rows = rotations.len().next_multiple_of(TOGETHER);
        Self { slots, period, row, turns, weights: system_memory::filled(0.0, rows * row) }
    }

    /// Adds to the weight of a diagonal in a slot and all that are periods from it.
    pub(super) fn add(&mut self, diagonal: usize, target: usize, weight: f64) {
        let row = &mut self.weights[diagonal * self.row..][..self.row];
        for each in row[target % self.period..].iter_mut().step_by(self.period) {
            *each += weight;
        }
    }

    /// The sum of each diagonal times one of some vectors, which stand one after another.
    pub(super) fn applied(&self, vectors: &[f64], of: &[usize]) -> Vec<f64> {
        let starts: Vec<usize> = (0..self.slots).step_by(TILE).collect();
        let tiles: Vec<Vec<f64>> = parallel::over(starts)
            .shared()
            .map(|start| {
                let mut sums = system_memory::filled(0.0, TILE.min(self.slots - start));
                for first in (0..self.turns.len()).step_by(TOGETHER) {
                    self.add_to(&mut sums, start, first, vectors, of);
                }
                sums
            })
            .collect();
        tiles.concat()
    }

    /// Adds some diagonals, from the first on, to the sums of slots from `start` on.
    fn add_to(&self, sums: &mut [f64], start: usize, first: usize, vectors: &[f64], of: &[usize]) {
        // Beyond the last diagonal it stands in for those whose weights are zeros.
        let diagonals: [usize; TOGETHER] =
            from_fn(|number| (first + number).min(self.turns.len() - 1));
        let mut done = 0;
        while done < sums.len() {
            let slot = start + done;
            let sources = diagonals.map(|each| (slot + self.turns[each]) & (self.slots - 1));
            let place = slot & (self.row - 1);
            let farthest = sources.iter().fold(0, |most, &source| most.max(source));
            let count = (sums.len() - done).min(self.row - place).min(self.slots - farthest);
            let weights: [&[f64]; TOGETHER] =
                from_fn(|number| &self.weights[(first + number) * self.row + place..][..count]);
            let values: [&[f64]; TOGETHER] = from_fn(|number| {
                &vectors[of[diagonals[number]] * self.slots + sources[number]..][..count]
            });
            for (slot, sum) in sums[done..][..count].iter_mut().enumerate() {
                *sum = (0..TOGETHER)
                    .fold(*sum, |sum, number| sum + weights[number][slot] * values[number][slot]);
            }
            done += count;
        }
    }
}
