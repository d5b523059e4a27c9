//! Several polynomials side by side in memory.

use rayon::prelude::*;

use super::buffers;
use super::poly::{Basis, Poly, SHORTEST};
use crate::Result;
use crate::parallel::{self, Source};

/// Residues of one polynomial that stand together.
pub(crate) const TILE: usize = 64;

/// Polynomials over one basis, interleaved tile by tile within each limb.
///
/// Inner products read as many polynomials at once as there are terms. Apart, their
/// limbs lie a power of two of bytes from one another and evict each other from the
/// few ways of a cache; together they are one stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Bundle {
    basis: Basis,
    n: usize,
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

    /// Interleaves `polys` in memory that has room for `room` of them: a [`Self::refill`] up to
    /// these takes no other, and until then the system has not lent the rest.
    pub(crate) fn with_room(n: usize, basis: &Basis, polys: &[Poly], room: usize) -> Self {
        let data = buffers::take_empty(n * room * basis.len());
        let mut bundle = Self { basis: basis.clone(), n, count: 0, data };
        bundle.refill(polys);
        bundle
    }

    /// Holds `polys`, over the same basis, in place of those so far.
    pub(crate) fn refill(&mut self, polys: &[Poly]) {
        self.count = polys.len();
        self.data.resize(self.n * self.count * self.basis.len(), 0);
        self.set(0, polys);
    }

    /// `count` polynomials of any content, to be overwritten.
    pub(crate) fn unwritten(n: usize, basis: &Basis, count: usize) -> Self {
        let data = buffers::take(n * count * basis.len());
        Self { basis: basis.clone(), n, count, data }
    }

    /// The fewest words of a limb that [`Self::write`] takes.
    pub(crate) fn least_words(n: usize) -> usize {
        (n / TILE).max(SHORTEST)
    }

    /// Overwrites as many polynomials as are given, from number `first` on.
    pub(crate) fn set(&mut self, first: usize, polys: &[Poly]) {
        let (n, count) = (self.n, self.count);
        self.par_limbs_mut().shared().for_each(|(position, limb)| {
            let limbs: Vec<&[u32]> = polys.iter().map(|poly| poly.limb(position)).collect();
            interleave(&limbs, first, (n, count), limb);
        });
    }

    /// Overwrites `polys` polynomials, from number `first` on, limb by limb as these are made, in
    /// memory that is still cached when they are put where they belong.
    ///
    /// `make` is given a position, the number of a polynomial counted from `first`, and N words,
    /// of which it writes the first few and says how many: a power of two, no fewer than
    /// [`Self::least_words`]. Each of them stands N / words times in a row.
    pub(crate) fn write(
        &mut self,
        first: usize,
        polys: usize,
        make: impl Fn(usize, usize, &mut [u32]) -> Result<usize> + Sync,
    ) -> Result<()> {
        let (n, count) = (self.n, self.count);
        self.par_limbs_mut().shared().try_for_each(|(position, limb)| {
            let mut made = buffers::take(n * polys);
            let mut limbs = Vec::with_capacity(polys);
            for (number, words) in made.chunks_exact_mut(n).enumerate() {
                let written = make(position, number, words)?;
                limbs.push(&words[..written]);
            }
            interleave(&limbs, first, (n, count), limb);
            buffers::give(made);
            Ok(())
        })
    }

    /// Limbs of all polynomials to be worked on in parallel, each beside the position of its prime.
    fn par_limbs_mut(
        &mut self,
    ) -> Source<impl IndexedParallelIterator<Item = (usize, &mut [u32])>> {
        let limbs = parallel::chunks_mut(&mut self.data, (self.n * self.count).max(1));
        parallel::over(self.basis.iter().collect::<Vec<usize>>()).zip(limbs)
    }

    pub(crate) fn basis(&self) -> &Basis {
        &self.basis
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// All polynomials modulo the prime at `position`, which must be in the basis.
    pub(crate) fn limb(&self, position: usize) -> &[u32] {
        let index = self.basis.find(position).expect("a prime of the basis");
        let length = self.n * self.count;
        &self.data[index * length..(index + 1) * length]
    }

    /// A copy of one polynomial.
    pub(crate) fn get(&self, index: usize) -> Poly {
        let tile = TILE.min(self.n);
        let mut poly = Poly::unwritten(self.n, self.basis.clone());
        for (position, limb) in poly.limbs_mut() {
            let tiles = self.limb(position).chunks_exact(tile).skip(index).step_by(self.count);
            for (to, from) in limb.chunks_exact_mut(tile).zip(tiles) {
                to.copy_from_slice(from);
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
/// N `count` words: in the order of these, as memory is written fastest.
fn interleave(limbs: &[&[u32]], first: usize, (n, count): (usize, usize), to: &mut [u32]) {
    let tile = TILE.min(n);
    for (index, tiles) in to.chunks_exact_mut(tile * count).enumerate() {
        for (to, limb) in tiles.chunks_exact_mut(tile).skip(first).zip(limbs) {
            let words = tile * limb.len() / n;
            repeat_each(&limb[index * words..][..words], to);
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
        Self { basis: self.basis.clone(), n: self.n, count: self.count, data }
    }
}

/// A bundle holds no secret: keys and diagonals are those of an evaluator.
impl Drop for Bundle {
    fn drop(&mut self) {
        buffers::give(std::mem::take(&mut self.data));
    }
}
