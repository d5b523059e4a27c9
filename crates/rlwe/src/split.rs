//! How the diagonals of a linear transform are taken apart into rotations.

use std::collections::BTreeSet;

/// How diagonals are split into baby and giant steps.
///
/// A diagonal may be counted from 0 up or from minus the slots up, as its index says: those of a
/// transpose are multiples of one number to both sides of 0, and modulo the slots are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Baby rotations, zero among them if used.
    pub baby_steps: Vec<i64>,
    /// Giant rotations in `0..slots`, zero among them if used.
    pub giant_steps: Vec<i64>,
    slots: i64,
    width: i64,
}

impl Split {
    /// Diagonals `d = g + b` with `b` in `0..width`, g a multiple of `width`.
    fn of_width(indices: &[i64], slots: i64, width: i64) -> Self {
        let empty = Self { baby_steps: Vec::new(), giant_steps: Vec::new(), slots, width };
        let (giants, babies): (BTreeSet<i64>, BTreeSet<i64>) =
            indices.iter().map(|&index| empty.steps(index)).unzip();
        Self {
            baby_steps: babies.into_iter().collect(),
            giant_steps: giants.into_iter().collect(),
            ..empty
        }
    }

    /// The giant and the baby step of a diagonal.
    pub(crate) fn steps(&self, index: i64) -> (i64, i64) {
        // In 128 bits, as slots may be as many as an i64 counts.
        let (slots, index) = (i128::from(self.slots), i128::from(index % self.slots));
        let baby = index.rem_euclid(i128::from(self.width));
        ((index - baby).rem_euclid(slots) as i64, baby as i64)
    }

    /// The cheapest split of `indices`, which count modulo `slots`, or that of a given width.
    ///
    /// A giant step costs about three baby steps: it has a decomposition and a division.
    pub fn choose(indices: &[i64], slots: usize, width: Option<usize>) -> Self {
        let slots = i64::try_from(slots).unwrap_or(i64::MAX).max(1);
        if let Some(width) = width {
            let width = i64::try_from(width).unwrap_or(i64::MAX);
            return Self::of_width(indices, slots, width.clamp(1, slots));
        }
        let widths = (0..=slots.ilog2()).map(|bits| 1i64 << bits);
        let splits = widths.map(|width| Self::of_width(indices, slots, width));
        let cost = |split: &Self| {
            let moving = |steps: &[i64]| steps.iter().filter(|&&step| step != 0).count();
            moving(&split.baby_steps) + GIANT_COST * moving(&split.giant_steps)
        };
        splits.min_by_key(cost).unwrap_or_else(|| Self::of_width(indices, slots, 1))
    }

    /// The rotations that need a Galois key.
    pub fn rotations(&self) -> Vec<i64> {
        let steps: BTreeSet<i64> =
            self.baby_steps.iter().chain(&self.giant_steps).copied().filter(|&k| k != 0).collect();
        steps.into_iter().collect()
    }
}

/// What a giant step costs, in baby steps.
const GIANT_COST: usize = 3;
