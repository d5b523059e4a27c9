//! Linear transforms of numbers in the clear, by the elements of their diagonals: what ciphertexts
//! are compared with.

use std::ops::Range;

use rayon::prelude::*;

use super::clear_repeated::RepeatedDiagonals;
use super::patterns::Patterns;
use crate::{Error, Result, parallel};

const OPERATION: &str = "transform numbers in the clear";
/// Sums that are added up at the end, for threads to share.
const PARTS: usize = 4;

/// Of a period so small a part is worth more elements by themselves, as they are scattered.
const SPARSE: usize = 4;

/// The elements of diagonals, borrowed from whoever holds them.
///
/// Diagonal k has `counts[k]` elements, those of the first diagonal first. An element adds its
/// weight times a slot of the diagonal's vector to its target: the slot that comes to the target
/// where the vector is rotated by `rotations[k]`. It does so in all slots of its pattern.
#[derive(Debug, Clone, Copy)]
pub struct ClearDiagonals<'a, T, P> {
    /// Of a vector, a power of two.
    pub slots: usize,
    /// By how much each diagonal's vector is rotated.
    pub rotations: &'a [i64],
    /// How many elements each diagonal has.
    pub counts: &'a [usize],
    /// Of every element the slot that it goes to.
    pub targets: &'a [T],
    /// Of every element the place of its weight; None where each has a weight of its own.
    pub places: Option<&'a [P]>,
    /// The weights; None where every one is 1.
    pub weights: Option<&'a [f64]>,
    /// Where elements stand, counted from their targets; None where each stands there alone.
    pub patterns: Option<&'a Patterns>,
    /// For each element the number of its pattern; None where all have the first.
    pub pattern_of: Option<&'a [u32]>,
}

impl<T: Copy + Into<u32> + Sync, P: Copy + Into<u32> + Sync> ClearDiagonals<'_, T, P> {
    /// The sum of all products, of vectors that stand one after another; `of[k]` is the number of
    /// the one that diagonal k belongs to.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for lists that do not go together.
    ///
    /// ```
    /// use rlwe::ckks::ClearDiagonals;
    /// let diagonals = ClearDiagonals {
    ///     slots: 4,
    ///     rotations: &[1, 0],
    ///     counts: &[2, 1],
    ///     targets: &[0u16, 3, 1],
    ///     places: Some(&[1u16, 0, 1]),
    ///     weights: Some(&[2.0, 10.0]),
    ///     patterns: None,
    ///     pattern_of: None,
    /// };
    /// let sums = diagonals.applied(&[1.0, 2.0, 3.0, 4.0], &[0, 0])?;
    /// assert_eq!(sums, [20.0, 20.0, 0.0, 2.0]);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn applied(&self, vectors: &[f64], of: &[usize]) -> Result<Vec<f64>> {
        self.check(vectors, of)?;
        if let Some(period) = self.patterns.and_then(|each| each.period(self.slots))
            && self.targets.len() >= self.counts.len() * period / SPARSE
        {
            return Ok(self.by_rows(period).applied(vectors, of));
        }
        if let Some(patterns) = self.patterns {
            let terms = self.terms(of);
            let groups: Vec<&[Term]> = terms.chunk_by(Term::stands_with).collect();
            return Ok(self.total(groups.len(), |range| {
                let mut sums = system_memory::filled(0.0, self.slots);
                for &terms in &groups[range] {
                    add_terms(&mut sums, vectors, terms, patterns);
                }
                sums
            }));
        }
        Ok(self.total(self.counts.len(), |diagonals| self.sum(diagonals, vectors, of)))
    }

    /// The total of sums over parts of so many things.
    fn total(&self, count: usize, sum: impl Fn(Range<usize>) -> Vec<f64> + Sync) -> Vec<f64> {
        // As many parts on any machine: sums are rounded in the same order.
        let share = count.div_ceil(PARTS).max(1);
        let starts: Vec<usize> = (0..count).step_by(share).collect();
        let parts: Vec<Vec<f64>> = parallel::over(starts)
            .shared()
            .map(|start| sum(start..count.min(start + share)))
            .collect();
        let mut parts = parts.into_iter();
        let mut sums = parts.next().unwrap_or_else(|| system_memory::filled(0.0, self.slots));
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(sum, more)| *sum += more);
        }
        sums
    }

    /// The sum of the products of some diagonals.
    fn sum(&self, diagonals: Range<usize>, vectors: &[f64], of: &[usize]) -> Vec<f64> {
        let Self { slots, rotations, counts, targets, places, weights, .. } = *self;
        let mut sums = system_memory::filled(0.0, slots);
        let mut end = counts[..diagonals.start].iter().sum::<usize>();
        for diagonal in diagonals {
            let span = end..end + counts[diagonal];
            end = span.end;
            let vector = &vectors[of[diagonal] * slots..][..slots];
            let turn = rotations[diagonal].rem_euclid(slots as i64) as usize;
            let moved = targets[span.clone()].iter().map(|&target| {
                let target = target.into() as usize & (slots - 1);
                (target, vector[(target + turn) & (slots - 1)])
            });
            match (places, weights) {
                (Some(places), Some(weights)) => {
                    for ((target, value), &place) in moved.zip(&places[span]) {
                        sums[target] += weights[place.into() as usize] * value;
                    }
                }
                (None, Some(weights)) => {
                    for ((target, value), weight) in moved.zip(&weights[span]) {
                        sums[target] += weight * value;
                    }
                }
                (_, None) => moved.for_each(|(target, value)| sums[target] += value),
            }
        }
        sums
    }

    /// The diagonals with their weights over a period.
    fn by_rows(&self, period: usize) -> RepeatedDiagonals {
        let mut rows = RepeatedDiagonals::new(self.slots, period, self.rotations);
        let mut element = 0;
        for (diagonal, &count) in self.counts.iter().enumerate() {
            for _ in 0..count {
                rows.add(diagonal, self.targets[element].into() as usize, self.weight(element));
                element += 1;
            }
        }
        rows
    }

    /// All elements, those of long patterns side by side that stand in the same slots.
    fn terms(&self, of: &[usize]) -> Vec<Term> {
        let mut terms = Vec::with_capacity(self.targets.len());
        for (diagonal, &count) in self.counts.iter().enumerate() {
            let turn = self.rotations[diagonal].rem_euclid(self.slots as i64) as usize;
            for element in terms.len()..terms.len() + count {
                terms.push(Term {
                    pattern: self.pattern_of.map_or(0, |of| of[element] as usize),
                    target: self.targets[element].into() as usize,
                    vector: of[diagonal] * self.slots,
                    turn,
                    weight: self.weight(element),
                });
            }
        }
        // Of short patterns sorting would take longer than what it saves.
        if self.patterns.is_some_and(Patterns::are_long) {
            terms.sort_by_key(|term| (term.pattern, term.target));
        }
        terms
    }

    fn weight(&self, element: usize) -> f64 {
        let Some(weights) = self.weights else { return 1.0 };
        weights[self.places.map_or(element, |places| places[element].into() as usize)]
    }

    fn check(&self, vectors: &[f64], of: &[usize]) -> Result<()> {
        let refuse = |reason: &str| {
            Err(Error::InvalidArgument { operation: OPERATION, reason: reason.into() })
        };
        let diagonals = self.counts.len();
        if !self.slots.is_power_of_two() {
            return refuse("slots are not a power of two");
        }
        if self.rotations.len() != diagonals || of.len() != diagonals {
            return refuse("there are not as many rotations as diagonals, or vectors of them");
        }
        let total = self.counts.iter().fold(0usize, |sum, &count| sum.saturating_add(count));
        if total != self.targets.len() {
            return refuse("the counts do not add up to the elements");
        }
        if !vectors.len().is_multiple_of(self.slots)
            || of.iter().any(|&number| number >= vectors.len() / self.slots)
        {
            return refuse("a diagonal has a vector that does not exist");
        }
        if self.targets.iter().any(|&target| target.into() as usize >= self.slots) {
            return refuse("an element stands in a slot that does not exist");
        }
        if self.patterns.is_some_and(|each| !each.fit(self.pattern_of, total, self.slots)) {
            return refuse("patterns are not of the elements, or of more slots");
        }
        let known = self.weights.map_or(usize::MAX, <[f64]>::len);
        match self.places {
            None if self.weights.is_some() && known != total => {
                refuse("there are not as many weights as elements")
            }
            Some(places) if places.len() != total => {
                refuse("there are not as many places as elements")
            }
            Some(places) if places.iter().any(|&place| place.into() as usize >= known) => {
                refuse("an element has a weight that does not exist")
            }
            _ => Ok(()),
        }
    }
}

/// An element that stands in the slots of a pattern.
#[derive(Debug, Clone, Copy)]
struct Term {
    pattern: usize,
    /// The slot that the pattern is counted from.
    target: usize,
    /// Where the vector that is multiplied begins.
    vector: usize,
    /// How much further the slots of the vector are.
    turn: usize,
    weight: f64,
}

impl Term {
    fn stands_with(&self, other: &Self) -> bool {
        (self.pattern, self.target) == (other.pattern, other.target)
    }
}

/// Adds terms that stand in the same slots.
fn add_terms(sums: &mut [f64], vectors: &[f64], terms: &[Term], patterns: &Patterns) {
    let (fours, rest) = terms.as_chunks::<4>();
    for run in patterns.runs(terms[0].pattern) {
        let start = (terms[0].target + run.start) & (sums.len() - 1);
        fours.iter().for_each(|terms| add_run(sums, vectors, terms, (start, run.len)));
        rest.iter().for_each(|&term| add_run(sums, vectors, &[term], (start, run.len)));
    }
}

/// Adds terms to as many slots from one on, all modulo the slots; several together take their
/// memory to the sums once.
fn add_run<const N: usize>(
    sums: &mut [f64],
    vectors: &[f64],
    terms: &[Term; N],
    (mut target, mut left): (usize, usize),
) {
    let slots = sums.len();
    while left > 0 {
        let sources = terms.map(|term| (target + term.turn) & (slots - 1));
        let ends = sources.iter().fold(target, |most, &source| most.max(source));
        let count = left.min(slots - ends);
        let values: [&[f64]; N] = std::array::from_fn(|number| {
            &vectors[terms[number].vector + sources[number]..][..count]
        });
        for (slot, sum) in sums[target..][..count].iter_mut().enumerate() {
            *sum = (terms.iter().zip(&values))
                .fold(*sum, |sum, (term, values)| sum + term.weight * values[slot]);
        }
        target = (target + count) & (slots - 1);
        left -= count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagonals<'a>() -> ClearDiagonals<'a, u16, u32> {
        ClearDiagonals {
            slots: 8,
            rotations: &[0, -1, 11],
            counts: &[2, 1, 3],
            targets: &[0, 7, 3, 1, 2, 6],
            places: None,
            weights: Some(&[1.0, -2.0, 0.5, 3.0, 5.0, 7.0]),
            patterns: None,
            pattern_of: None,
        }
    }

    /// Numbers 0 to 7, then 10 to 17.
    fn vectors() -> Vec<f64> {
        (0..8).chain(10..18).map(f64::from).collect()
    }

    #[test]
    fn elements_add_what_rotations_bring_to_them() {
        let found = diagonals().applied(&vectors(), &[0, 1, 0]).unwrap();
        // Slot 6 receives slot 6 + 11 = 1 modulo 8.
        let expected = [0.0, 3.0 * 4.0, 5.0 * 5.0, 0.5 * 12.0, 0.0, 0.0, 7.0 * 1.0, -2.0 * 7.0];
        assert_eq!(found, expected);
    }

    #[test]
    fn weights_are_found_by_place_or_are_ones() {
        let few = ClearDiagonals {
            places: Some(&[1, 1, 0, 0, 1, 0]),
            weights: Some(&[2.0, 3.0]),
            ..diagonals()
        };
        let found = few.applied(&vectors(), &[0, 0, 0]).unwrap();
        assert_eq!(found, [0.0, 8.0, 15.0, 4.0, 0.0, 0.0, 2.0, 21.0]);
        let ones = ClearDiagonals { weights: None, ..diagonals() };
        let found = ones.applied(&vectors(), &[1, 1, 1]).unwrap();
        assert_eq!(found, [10.0, 14.0, 15.0, 12.0, 0.0, 0.0, 11.0, 17.0]);
    }

    #[test]
    fn elements_stand_in_all_slots_of_their_patterns() {
        let patterns = Patterns::new(&[0, 2, 3, 4, 1], &[4, 1]).unwrap();
        let pattern_of = Some(&[0, 1, 0, 1, 1, 0][..]);
        let repeated = ClearDiagonals { patterns: Some(&patterns), pattern_of, ..diagonals() };
        let each = ClearDiagonals {
            counts: &[5, 4, 6],
            targets: &[0, 2, 3, 4, 0, 3, 5, 6, 7, 2, 3, 6, 0, 1, 2],
            weights: Some(&[
                1.0, 1.0, 1.0, 1.0, -2.0, 0.5, 0.5, 0.5, 0.5, 3.0, 5.0, 7.0, 7.0, 7.0, 7.0,
            ]),
            ..diagonals()
        };
        let expected = each.applied(&vectors(), &[0, 1, 0]).unwrap();
        assert_eq!(repeated.applied(&vectors(), &[0, 1, 0]).unwrap(), expected);
    }

    #[test]
    fn diagonals_that_repeat_are_summed_row_by_row() {
        let slots = 4096;
        let steps: Vec<u32> = (0..slots as u32).step_by(4).collect();
        let patterns = Patterns::new(&steps, &[steps.len()]).unwrap();
        let repeated = ClearDiagonals::<u16, u16> {
            slots,
            rotations: &[0, -3, 4095, 17, 2050],
            counts: &[3, 1, 2, 4, 2],
            targets: &[0, 1, 3, 2, 0, 5, 0, 1, 2, 3, 4092, 3],
            places: None,
            weights: Some(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]),
            patterns: Some(&patterns),
            pattern_of: None,
        };
        let vectors: Vec<f64> = (0..2 * slots).map(|slot| (slot % 251) as f64).collect();
        let of = [0, 1, 1, 0, 1];
        let mut expected = vec![0.0; slots];
        let mut element = 0;
        for (diagonal, &count) in repeated.counts.iter().enumerate() {
            for _ in 0..count {
                for &step in &steps {
                    let target = (repeated.targets[element] as usize + step as usize) % slots;
                    let turned = (target as i64 + repeated.rotations[diagonal]) as usize % slots;
                    let value = vectors[of[diagonal] * slots + turned];
                    expected[target] += repeated.weight(element) * value;
                }
                element += 1;
            }
        }
        assert_eq!(repeated.applied(&vectors, &of).unwrap(), expected);
    }

    #[test]
    fn lists_that_do_not_go_together_are_refused() {
        let (vectors, of) = (vectors(), [0, 1, 0]);
        let good = diagonals();
        let patterns = Patterns::new(&[8], &[1]).unwrap();
        for bad in [
            ClearDiagonals { patterns: Some(&patterns), ..good },
            ClearDiagonals { slots: 12, ..good },
            ClearDiagonals { slots: 4, ..good },
            ClearDiagonals { rotations: &[0, 1], ..good },
            ClearDiagonals { counts: &[2, 1, usize::MAX], ..good },
            ClearDiagonals { weights: Some(&[1.0]), ..good },
            ClearDiagonals { places: Some(&[0, 0, 0, 0, 0]), ..good },
            ClearDiagonals { places: Some(&[0, 0, 0, 0, 0, 6]), ..good },
        ] {
            assert!(matches!(bad.applied(&vectors, &of), Err(Error::InvalidArgument { .. })));
        }
        for (vectors, of) in [(&vectors[..8], &of[..]), (&vectors[..9], &of[..]), (&vectors, &[0])]
        {
            assert!(matches!(good.applied(vectors, of), Err(Error::InvalidArgument { .. })));
        }
    }
}
