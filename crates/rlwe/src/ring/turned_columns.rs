//! Matrices of words whose columns are turned, each by a number of its own.
//!
//! By binary digits of these numbers, two at a time: whole rows are read, and of four of them each
//! column takes its own. One word after the other, as an index says, takes several times as long
//! as all of these passes.

use pulp::Simd;

use super::matrix_product::{Instructions, TileKernel};

/// Binary digits of a pass.
const DIGITS: usize = 2;

/// Matrices, one after the other, as wide as a tile of sums.
#[derive(Debug)]
pub(crate) struct Columns {
    instructions: Instructions,
    words: Vec<u32>,
    /// What a pass writes.
    other: Vec<u32>,
}

impl Columns {
    /// Of any content, so many rows in all.
    pub(crate) fn new(instructions: Instructions, rows: usize) -> Self {
        let (_, tile) = instructions.tile();
        let [words, other] = [(); 2].map(|()| system_memory::filled(0, tile * rows));
        Self { instructions, words, other }
    }

    /// The rows, one after the other.
    pub(crate) fn get_mut(&mut self) -> &mut [u32] {
        &mut self.words
    }

    /// Writes as many columns as there are turns, of each matrix of `rows` rows, a power of two
    /// that no turn reaches: into row `r`, column `c` that of row `r + turns[c]`, modulo `rows`.
    ///
    /// The rows of `to` are `width` wide, and their words from `start` on are written.
    pub(crate) fn turn_into(
        &mut self,
        rows: usize,
        turns: &[u32],
        to: &mut [u32],
        (width, start): (usize, usize),
    ) {
        debug_assert!(rows.is_power_of_two() && turns.iter().all(|&turn| (turn as usize) < rows));
        self.instructions.run(Turn { columns: self, rows, turns, to, width, start });
    }
}

struct Turn<'a> {
    columns: &'a mut Columns,
    rows: usize,
    turns: &'a [u32],
    to: &'a mut [u32],
    width: usize,
    start: usize,
}

impl Turn<'_> {
    #[inline(always)]
    fn all_passes<const TILE: usize>(self) {
        let Self { columns: Columns { words, other, .. }, rows, turns, to, width, start } = self;
        for digit in (0..rows.trailing_zeros()).step_by(DIGITS) {
            let [low, high] = [digit, digit + 1].map(|digit| {
                let mut mask = [0; TILE];
                for (mask, turn) in mask.iter_mut().zip(turns) {
                    *mask = (turn >> digit & 1).wrapping_neg();
                }
                mask
            });
            let sources = words.as_chunks::<TILE>().0.chunks_exact(rows);
            let images = other.as_chunks_mut::<TILE>().0.chunks_exact_mut(rows);
            for (from, image) in sources.zip(images) {
                for (row, to) in image.iter_mut().enumerate() {
                    let [a, b, c, d] = [0, 1, 2, 3].map(
                        #[inline(always)]
                        |steps| &from[(row + (steps << digit)) & (rows - 1)],
                    );
                    for column in 0..TILE {
                        let first = chosen(a[column], b[column], low[column]);
                        let second = chosen(c[column], d[column], low[column]);
                        to[column] = chosen(first, second, high[column]);
                    }
                }
            }
            std::mem::swap(words, other);
        }
        for (row, to) in words.as_chunks::<TILE>().0.iter().zip(to.chunks_exact_mut(width)) {
            let to = &mut to[start..];
            match to.first_chunk_mut() {
                Some(whole) if turns.len() == TILE => *whole = *row,
                _ => to[..turns.len()].copy_from_slice(&row[..turns.len()]),
            }
        }
    }
}

/// `y` where the mask has ones, `x` where it has zeros.
#[inline(always)]
fn chosen(x: u32, y: u32, mask: u32) -> u32 {
    x ^ ((x ^ y) & mask)
}

impl TileKernel for Turn<'_> {
    #[inline(always)]
    fn run<S: Simd, const R: usize, const V: usize>(self, _: S) {
        match self.columns.instructions.tile().1 {
            32 => self.all_passes::<32>(),
            16 => self.all_passes::<16>(),
            8 => self.all_passes::<8>(),
            _ => self.all_passes::<4>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_turned_by_its_own_number() {
        for instructions in Instructions::all() {
            let tile = instructions.tile().1;
            for rows in [1usize, 2, 4, 8, 16, 32, 64, 128] {
                let mut columns = Columns::new(instructions, 2 * rows);
                for (word, number) in columns.get_mut().iter_mut().zip(7..) {
                    *word = number;
                }
                let before = columns.get_mut().to_vec();
                // Beyond the edge of a matrix are none.
                for count in [tile, tile - 1] {
                    let turn = |column: usize| (5 * column + 3) % rows;
                    let turns: Vec<u32> = (0..count).map(|column| turn(column) as u32).collect();
                    let (width, start) = (2 * tile + 1, tile);
                    let mut to = vec![0; 2 * rows * width];
                    columns.get_mut().copy_from_slice(&before);
                    columns.turn_into(rows, &turns, &mut to, (width, start));
                    for (place, &word) in to.iter().enumerate() {
                        let (row, column) = (place / width, (place % width).wrapping_sub(start));
                        let (matrix, row) = (row / rows, row % rows);
                        let expected = if column < count {
                            let source = matrix * rows + (row + turn(column)) % rows;
                            before[source * tile + column]
                        } else {
                            0
                        };
                        assert_eq!(word, expected, "{rows} {row} {column}");
                    }
                }
            }
        }
    }
}
