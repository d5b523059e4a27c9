//! Elements of diagonals that stand in many slots: the weight of a convolution stands wherever its
//! tap meets a pixel.

use crate::{Error, Result};

/// Steps of a long pattern.
const LONG: usize = 64;

/// Sets of slots in which elements of diagonals stand, counted from their own, modulo all slots.
#[derive(Debug, Clone, PartialEq)]
pub struct Patterns {
    /// The steps of every pattern.
    steps: Vec<Vec<u32>>,
    /// The same as runs, as long as they are.
    runs: Vec<Vec<Run>>,
}

/// Slots one after another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Run {
    pub(super) start: usize,
    pub(super) len: usize,
}

impl Patterns {
    /// Patterns of as many steps as `sizes` says, those of the first one first.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for sizes that do not add up to the steps, or none.
    ///
    /// ```
    /// let made = rlwe::ckks::Patterns::new(&[0, 1, 4], &[1, 2])?;
    /// assert_eq!(made.len(), 2);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn new(steps: &[u32], sizes: &[usize]) -> Result<Self> {
        let total = sizes.iter().fold(0usize, |sum, &size| sum.saturating_add(size));
        if total != steps.len() || sizes.is_empty() {
            let reason = "the sizes of patterns do not add up to their steps".into();
            return Err(Error::InvalidArgument { operation: "make patterns", reason });
        }
        let mut rest = steps;
        let mut parts: Vec<Vec<u32>> = Vec::with_capacity(sizes.len());
        for &size in sizes {
            let (part, others) = rest.split_at(size);
            parts.push(system_memory::copied(part));
            rest = others;
        }
        let runs = parts.iter().map(|steps| runs(steps)).collect();
        Ok(Self { steps: parts, runs })
    }

    /// How many patterns there are.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there are no patterns.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether so many elements may have these patterns, the first where none are given, in so
    /// many slots.
    pub(super) fn fit(&self, of: Option<&[u32]>, elements: usize, slots: usize) -> bool {
        let are_known = of.is_none_or(|of| {
            of.len() == elements && of.iter().all(|&number| (number as usize) < self.steps.len())
        });
        are_known && self.steps.iter().flatten().all(|&step| (step as usize) < slots)
    }

    /// Whether a pattern has so many steps that elements which share it are worth finding.
    pub(super) fn are_long(&self) -> bool {
        self.steps.iter().map(Vec::len).sum::<usize>() >= LONG * self.len()
    }

    /// After how many slots elements stand again, where that is all that their one pattern says.
    pub(super) fn period(&self, slots: usize) -> Option<usize> {
        let [steps] = &self.steps[..] else { return None };
        let period = slots.checked_div(steps.len())?;
        let all = (0..slots).step_by(period.max(1)).map(|step| step as u32);
        (period.is_power_of_two() && steps.iter().copied().eq(all)).then_some(period)
    }

    /// The steps of a pattern.
    pub(super) fn steps(&self, number: usize) -> &[u32] {
        &self.steps[number]
    }

    /// The runs of a pattern.
    pub(super) fn runs(&self, number: usize) -> &[Run] {
        &self.runs[number]
    }
}

fn runs(steps: &[u32]) -> Vec<Run> {
    let mut found: Vec<Run> = Vec::new();
    for start in steps.iter().map(|&step| step as usize) {
        match found.last_mut() {
            Some(last) if last.start + last.len == start => last.len += 1,
            _ => found.push(Run { start, len: 1 }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_follow_each_other_are_one_run() {
        let patterns = Patterns::new(&[3, 4, 5, 0, 1, 9], &[5, 1]).unwrap();
        let run = |start, len| Run { start, len };
        assert_eq!(patterns.runs(0), [run(3, 3), run(0, 2)]);
        assert_eq!(patterns.runs(1), [run(9, 1)]);
    }

    #[test]
    fn patterns_of_all_copies_have_a_period() {
        let period =
            |steps: &[u32], sizes: &[usize]| Patterns::new(steps, sizes).unwrap().period(8);
        assert_eq!(period(&[0, 4], &[2]), Some(4));
        assert_eq!(period(&[0], &[1]), Some(8));
        for (steps, sizes) in [
            (&[0, 2][..], &[2][..]),
            (&[4, 0], &[2]),
            (&[0, 4], &[1, 1]),
            (&[0, 3, 6], &[3]),
            (&[], &[0]),
        ] {
            assert_eq!(period(steps, sizes), None);
        }
    }

    #[test]
    fn sizes_that_are_not_of_the_steps_are_refused() {
        for sizes in [&[1, 1][..], &[1, usize::MAX], &[]] {
            let made = Patterns::new(&[0, 1, 2], sizes);
            assert!(matches!(made, Err(Error::InvalidArgument { .. })));
        }
    }

    #[test]
    fn elements_have_patterns_that_exist_within_the_slots() {
        let patterns = Patterns::new(&[0, 1, 7], &[1, 2]).unwrap();
        assert!(patterns.fit(Some(&[0, 1]), 2, 8));
        assert!(patterns.fit(None, 2, 8));
        assert!(!patterns.fit(Some(&[0, 1]), 3, 8));
        assert!(!patterns.fit(Some(&[0, 2]), 2, 8));
        assert!(!patterns.fit(None, 2, 7));
    }
}
