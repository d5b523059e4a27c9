//! Several polynomials side by side in memory.

use rayon::prelude::*;

use super::poly::{Basis, Poly};
use crate::parallel;

/// Residues of one polynomial that stand together.
pub(crate) const TILE: usize = 64;

/// Polynomials over one basis, interleaved tile by tile within each limb.
///
/// Inner products read as many polynomials at once as there are terms. Apart, their
/// limbs lie a power of two of bytes from one another and evict each other from the
/// few ways of a cache; together they are one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bundle {
    basis: Basis,
    n: usize,
    count: usize,
    data: Vec<u32>,
}

impl Bundle {
    /// Interleaves `polys`, all over `basis`, in a ring of degree `n`.
    pub(crate) fn new(n: usize, basis: &Basis, polys: &[Poly]) -> Self {
        let count = polys.len();
        let tile = TILE.min(n);
        let mut data = vec![0; n * count * basis.len()];
        let limbs = parallel::chunks_mut(&mut data, (n * count).max(1));
        limbs.zip(parallel::over(basis.positions())).shared().for_each(|(limb, &position)| {
            for (index, poly) in polys.iter().enumerate() {
                let tiles = poly.limb(usize::from(position)).chunks_exact(tile);
                for (to, from) in limb.chunks_exact_mut(tile).skip(index).step_by(count).zip(tiles)
                {
                    to.copy_from_slice(from);
                }
            }
        });
        Self { basis: basis.clone(), n, count, data }
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
}
