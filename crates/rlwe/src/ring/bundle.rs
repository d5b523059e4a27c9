//! Several polynomials side by side in memory.

use std::ops::Range;

use rayon::prelude::*;

use super::buffers;
use super::poly::{Basis, Poly};
use crate::Result;
use crate::parallel::{self, Source};

/// Residues of one polynomial that stand together.
pub(crate) const TILE: usize = 64;

/// Polynomials over one basis, interleaved tile by tile within each limb.
///
/// Inner products read as many polynomials at once as there are terms. Apart, their
/// limbs lie a power of two of bytes from one another and evict each other from the
/// few ways of a cache; together they are one stream.
///
/// Residues of polynomials in X^(N / words) stand N / words times in a row, and are stored once.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Bundle {
    basis: Basis,
    n: usize,
    /// Of a limb: N, or where residues repeat fewer.
    words: usize,
    count: usize,
    data: Vec<u32>,
}

impl Bundle {
    /// Interleaves `polys`, all over `basis`, in a ring of degree `n`.
    pub(crate) fn new(n: usize, basis: &Basis, polys: &[Poly]) -> Self {
        let mut bundle = Self::unwritten(n, basis, polys.len());
        bundle.set(0, polys);
        bundle
    }

    /// As many polynomials as `limbs` writes the words of, one after the other, for the position of
    /// each prime, in memory that [`Self::follow_each`] fits in: until then the system has not lent
    /// the rest.
    pub(crate) fn with_room(
        n: usize,
        basis: &Basis,
        count: usize,
        limbs: impl Fn(usize, &mut [u32]) -> Result<()>,
    ) -> Result<Self> {
        let data = buffers::take_empty(2 * n * count * basis.len());
        let mut bundle = Self { basis: basis.clone(), n, words: n, count, data };
        let tile = bundle.tile();
        let mut made = buffers::take(n * count);
        for position in basis.iter() {
            limbs(position, &mut made)?;
            for start in (0..n).step_by(tile) {
                let tiles = made.chunks_exact(n).map(|limb| &limb[start..start + tile]);
                tiles.for_each(|tile| bundle.data.extend_from_slice(tile));
            }
        }
        buffers::give(made);
        Ok(bundle)
    }

    /// Puts another polynomial behind each, of which `limbs` writes the words as it does for
    /// [`Self::with_room`].
    ///
    /// What lies behind all that is held so far is written in the order of memory, which the system
    /// lends meanwhile, and the rest from its end on, where no tile is overwritten before it moved.
    pub(crate) fn follow_each(&mut self, limbs: impl Fn(usize, &mut [u32])) {
        debug_assert_eq!(self.words, self.n, "residues that repeat have no polynomials between");
        let (n, count, tile) = (self.n, self.count, self.tile());
        let words = n * count;
        let positions: Vec<usize> = self.basis.iter().collect();
        self.reserve(2 * words * positions.len());
        let mut made = buffers::take(words);
        let place = |number: usize| number % count * n + number / count * tile;
        let behind = positions.len().div_ceil(2);
        self.data.resize(2 * words * behind, 0);
        for (index, &position) in positions.iter().enumerate().skip(behind) {
            limbs(position, &mut made);
            for number in 0..words / tile {
                let from = index * words + number * tile;
                self.data.extend_from_within(from..from + tile);
                self.data.extend_from_slice(&made[place(number)..][..tile]);
            }
        }
        for (index, &position) in positions.iter().enumerate().take(behind).rev() {
            limbs(position, &mut made);
            for number in (0..words / tile).rev() {
                let from = index * words + number * tile;
                self.data.copy_within(from..from + tile, 2 * from);
                let to = &mut self.data[2 * from + tile..][..tile];
                to.copy_from_slice(&made[place(number)..][..tile]);
            }
        }
        buffers::give(made);
        self.count = 2 * count;
    }

    /// Moves to memory for so many words, where there is less.
    fn reserve(&mut self, words: usize) {
        if self.data.capacity() < words {
            let mut larger = buffers::take_empty(words);
            larger.extend_from_slice(&self.data);
            self.data = larger;
        }
    }

    /// `count` polynomials of any content, to be overwritten.
    pub(crate) fn unwritten(n: usize, basis: &Basis, count: usize) -> Self {
        Self::repeating((n, n), basis, count)
    }

    /// [`Self::unwritten`] of residues that repeat, `words` of each limb.
    pub(crate) fn repeating((n, words): (usize, usize), basis: &Basis, count: usize) -> Self {
        let data = buffers::take(words * count * basis.len());
        Self { basis: basis.clone(), n, words, count, data }
    }

    /// Overwrites as many polynomials as are given, from number `first` on.
    pub(crate) fn set(&mut self, first: usize, polys: &[Poly]) {
        let (tile, count) = (self.tile(), self.count);
        self.par_limbs_mut().shared().for_each(|(position, limb)| {
            let limbs: Vec<&[u32]> = polys.iter().map(|poly| poly.limb(position)).collect();
            interleave(&limbs, first, (tile, count), limb);
        });
    }

    /// Overwrites `polys` polynomials, from number `first` on, limb by limb as these are made, in
    /// memory that is still cached when they are put where they belong.
    ///
    /// `make` is given a position, the number of a polynomial counted from `first`, and the words
    /// of a limb, which it writes.
    pub(crate) fn write(
        &mut self,
        first: usize,
        polys: usize,
        make: impl Fn(usize, usize, &mut [u32]) -> Result<()> + Sync,
    ) -> Result<()> {
        let (words, tile, count) = (self.words, self.tile(), self.count);
        self.par_limbs_mut().shared().try_for_each(|(position, limb)| {
            let mut made = buffers::take(words * polys);
            for (number, words) in made.chunks_exact_mut(words).enumerate() {
                make(position, number, words)?;
            }
            let limbs: Vec<&[u32]> = made.chunks_exact(words).collect();
            interleave(&limbs, first, (tile, count), limb);
            buffers::give(made);
            Ok(())
        })
    }

    /// Limbs of all polynomials to be worked on in parallel, each beside the position of its prime.
    fn par_limbs_mut(
        &mut self,
    ) -> Source<impl IndexedParallelIterator<Item = (usize, &mut [u32])>> {
        let limbs = parallel::chunks_mut(&mut self.data, (self.words * self.count).max(1));
        parallel::over(self.basis.iter().collect::<Vec<usize>>()).zip(limbs)
    }

    pub(crate) fn basis(&self) -> &Basis {
        &self.basis
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Words of one polynomial that stand together: those of a tile of residues, or one that
    /// several tiles repeat.
    fn tile(&self) -> usize {
        (TILE.min(self.n) * self.words / self.n).max(1)
    }

    /// The words of all polynomials modulo the prime at `position`, which must be in the basis.
    pub(crate) fn limb(&self, position: usize) -> &[u32] {
        let index = self.basis.find(position).expect("a prime of the basis");
        let length = self.words * self.count;
        &self.data[index * length..(index + 1) * length]
    }

    /// Residues `span`, which are whole tiles, of all polynomials modulo the prime at `position`:
    /// where they repeat written to `to`, which has room for all.
    pub(crate) fn residues<'a>(
        &'a self,
        position: usize,
        span: Range<usize>,
        to: &'a mut [u32],
    ) -> &'a [u32] {
        let (limb, count) = (self.limb(position), self.count);
        if self.words == self.n {
            return &limb[span.start * count..span.end * count];
        }
        let to = &mut to[..span.len() * count];
        let (tile, stored) = (TILE.min(self.n), self.tile());
        let starts = span.step_by(tile);
        for (start, to) in starts.zip(to.chunks_exact_mut((tile * count).max(1))) {
            let first = start * self.words / self.n / stored * stored;
            repeat_each(&limb[first * count..][..stored * count], to);
        }
        to
    }

    /// A copy of one polynomial.
    pub(crate) fn get(&self, index: usize) -> Poly {
        let (tile, times) = (self.tile(), self.n / self.words);
        let mut poly = Poly::unwritten(self.n, self.basis.clone());
        for (position, limb) in poly.limbs_mut() {
            let tiles = self.limb(position).chunks_exact(tile).skip(index).step_by(self.count);
            for (to, from) in limb.chunks_exact_mut(tile * times).zip(tiles) {
                repeat_each(from, to);
            }
        }
        poly
    }

    /// Bytes in memory.
    pub(crate) fn nbytes(&self) -> usize {
        self.data.len() * 4
    }

    /// Gives the memory back to the system, where nothing of its length will be asked for again.
    pub(crate) fn release(mut self) {
        drop(std::mem::take(&mut self.data));
    }
}

/// Puts limbs of polynomials, from number `first` of `count` on, where their tiles stand among
/// those of all: in the order of these, as memory is written fastest.
fn interleave(limbs: &[&[u32]], first: usize, (tile, count): (usize, usize), to: &mut [u32]) {
    for (index, tiles) in to.chunks_exact_mut(tile * count).enumerate() {
        for (to, limb) in tiles.chunks_exact_mut(tile).skip(first).zip(limbs) {
            to.copy_from_slice(&limb[index * tile..][..tile]);
        }
    }
}

/// Each word as often as it takes to fill `to`. The usual numbers of times are known when this is
/// compiled, so that whole vectors are stored.
fn repeat_each(words: &[u32], to: &mut [u32]) {
    match to.len() / words.len() {
        1 => to.copy_from_slice(words),
        2 => repeat_each_times::<2>(words, to),
        4 => repeat_each_times::<4>(words, to),
        8 => repeat_each_times::<8>(words, to),
        16 => repeat_each_times::<16>(words, to),
        32 => repeat_each_times::<32>(words, to),
        TILE => repeat_each_times::<TILE>(words, to),
        times => {
            to.chunks_exact_mut(times).zip(words).for_each(|(to, &word)| to.fill(word));
        }
    }
}

fn repeat_each_times<const TIMES: usize>(words: &[u32], to: &mut [u32]) {
    for (to, &word) in to.as_chunks_mut::<TIMES>().0.iter_mut().zip(words) {
        *to = [word; TIMES];
    }
}

impl Clone for Bundle {
    fn clone(&self) -> Self {
        let mut data = buffers::take(self.data.len());
        data.copy_from_slice(&self.data);
        let (basis, n, words, count) = (self.basis.clone(), self.n, self.words, self.count);
        Self { basis, n, words, count, data }
    }
}

/// A bundle holds no secret: keys and diagonals are those of an evaluator.
impl Drop for Bundle {
    fn drop(&mut self) {
        buffers::give(std::mem::take(&mut self.data));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 4 * TILE;

    fn polys(basis: &Basis, first: u32, count: u32) -> Vec<Poly> {
        (first..first + count)
            .map(|number| {
                let mut poly = Poly::unwritten(N, basis.clone());
                for (position, limb) in poly.limbs_mut() {
                    let words = 1000 * (position as u32 + 10 * number)..;
                    limb.iter_mut().zip(words).for_each(|(word, value)| *word = value);
                }
                poly
            })
            .collect()
    }

    fn copied(polys: &[Poly], position: usize, words: &mut [u32]) {
        for (words, poly) in words.chunks_exact_mut(N).zip(polys) {
            words.copy_from_slice(poly.limb(position));
        }
    }

    #[test]
    fn polynomials_that_follow_each_stand_between() {
        for (limbs, count) in [(1, 1), (2, 1), (3, 2), (4, 3), (5, 3)] {
            let basis = Basis::new(0..limbs);
            let (before, after) = (polys(&basis, 0, count), polys(&basis, count, count));
            let expected: Vec<Poly> =
                before.iter().zip(&after).flat_map(|(a, b)| [a.clone(), b.clone()]).collect();
            let mut read = Bundle::with_room(N, &basis, before.len(), |position, words| {
                copied(&before, position, words);
                Ok(())
            })
            .unwrap();
            let mut made = Bundle::new(N, &basis, &before);
            assert_eq!(read, made);
            let place = read.data.as_ptr();
            for bundle in [&mut read, &mut made] {
                bundle.follow_each(|position, words| copied(&after, position, words));
                assert_eq!(*bundle, Bundle::new(N, &basis, &expected));
            }
            assert_eq!(read.data.as_ptr(), place);
        }
    }
}
