//! The diagonals of linear transforms as numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use rustfft::num_complex::Complex64;

use super::encoding::Encoding;
use super::estimate::Estimate;
use super::parameters::Parameters;
use super::patterns::Patterns;
use super::plaintext::{Slot, check_values, once};
use super::rounding::RoundedCoefficients;
use crate::ring::wiped::Wiped;
use crate::{Error, Result};

const OPERATION: &str = "make a linear transform";

/// Diagonals by their index; each of as many entries as there are slots.
pub type Diagonals = BTreeMap<i64, Vec<Complex64>>;

/// Real diagonals by the slots in which they are not zero, and of a few different numbers: the
/// weights of a convolution, say, each of which stands in many slots.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseDiagonals {
    slots: usize,
    /// Where the elements of each diagonal are.
    spans: BTreeMap<i64, Range<usize>>,
    elements: Arc<Elements>,
}

#[derive(Debug, Clone, PartialEq)]
struct Elements {
    targets: Vec<u32>,
    /// For each element the place of its number among `numbers`.
    places: Vec<u32>,
    numbers: Vec<f64>,
    /// Where elements stand, counted from their targets; None where each stands there alone.
    patterns: Option<Arc<Patterns>>,
    /// For each element the number of its pattern; None where all have the first.
    pattern_of: Option<Vec<u32>>,
}

impl SparseDiagonals {
    /// Element k of diagonal d is `numbers[places[k]]` in slot `targets[k]`, or in those that its
    /// pattern says; the first diagonal has the first `counts[0]` elements, and so on.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an index that comes twice, counts and patterns that are not
    /// of the elements, and targets and places that do not exist; [`Error::NotFinite`].
    ///
    /// ```
    /// use rlwe::ckks::SparseDiagonals;
    /// let (targets, places, numbers) = (vec![0, 3, 1], vec![0, 1, 0], vec![0.5, -1.0]);
    /// let (indices, counts) = (&[0, 2], &[2, 1]);
    /// let made = SparseDiagonals::new(4, indices, counts, targets, places, numbers)?;
    /// assert_eq!(made.len(), 2);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn new(
        slots: usize,
        indices: &[i64],
        counts: &[usize],
        targets: Vec<u32>,
        places: Vec<u32>,
        numbers: Vec<f64>,
    ) -> Result<Self> {
        let refuse = |reason: &str| {
            Err(Error::InvalidArgument { operation: OPERATION, reason: reason.into() })
        };
        if indices.len() != counts.len() || targets.len() != places.len() {
            return refuse("there are not as many counts as diagonals, or places as targets");
        }
        let mut spans = BTreeMap::new();
        let mut end = 0usize;
        for (&index, &count) in indices.iter().zip(counts) {
            let start = end;
            end = end.saturating_add(count);
            if spans.insert(index, start..end).is_some() {
                return refuse("a diagonal is given twice");
            }
        }
        if end != targets.len() {
            return refuse("the counts do not add up to the elements");
        }
        if targets.iter().any(|&target| target as usize >= slots) {
            return refuse("an element stands in a slot that does not exist");
        }
        if places.iter().any(|&place| place as usize >= numbers.len()) {
            return refuse("an element has a number that does not exist");
        }
        if let Some(index) = numbers.iter().position(|number| !number.is_finite()) {
            return Err(Error::NotFinite { operation: OPERATION, index });
        }
        let elements = Elements { targets, places, numbers, patterns: None, pattern_of: None };
        Ok(Self { slots, spans, elements: Arc::new(elements) })
    }

    /// The same elements, each in all slots of its pattern, the first where none are given.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for patterns that are not of the elements or of more slots.
    pub fn standing(self, patterns: Arc<Patterns>, of: Option<Vec<u32>>) -> Result<Self> {
        let Self { slots, spans, elements } = self;
        if !patterns.fit(of.as_deref(), elements.targets.len(), slots) {
            let reason = "patterns are not of its elements, or of more slots".into();
            return Err(Error::InvalidArgument { operation: OPERATION, reason });
        }
        let elements = Arc::unwrap_or_clone(elements);
        let elements = Elements { patterns: Some(patterns), pattern_of: of, ..elements };
        Ok(Self { slots, spans, elements: Arc::new(elements) })
    }

    /// The number of diagonals.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Slots after which all diagonals repeat themselves.
    ///
    /// ```
    /// use rlwe::ckks::SparseDiagonals;
    /// let numbers = vec![0.5, -1.0];
    /// let made = SparseDiagonals::new(4, &[0], &[2], vec![1, 3], vec![0, 0], numbers)?;
    /// assert_eq!(made.period(), 2);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn period(&self) -> usize {
        let mut longest = 1;
        for &index in self.spans.keys() {
            longest = longest.max(once(&self.filled(index, 0)).len());
            if longest == self.slots {
                break;
            }
        }
        longest
    }

    /// Every slot of a diagonal that is rotated to the right.
    fn filled(&self, index: i64, step: usize) -> Wiped<f64> {
        let mut values = Wiped::new(0.0, self.slots);
        for (slot, value) in self.elements.within(self.spans[&index].clone(), self.slots) {
            values[(slot + step) % self.slots] += value;
        }
        values
    }

    /// Whether there are no diagonals.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }
}

impl Elements {
    /// Every slot that some elements stand in, of so many slots, and the number there.
    fn within(&self, span: Range<usize>, slots: usize) -> impl Iterator<Item = (usize, f64)> {
        span.flat_map(move |element| {
            let number = self.numbers[self.places[element] as usize];
            let target = self.targets[element] as usize;
            self.steps(element).iter().map(move |&step| {
                let slot = target + step as usize;
                (if slot < slots { slot } else { slot - slots }, number)
            })
        })
    }

    /// Whether some elements are the same as others.
    fn are_same(&self, first: Range<usize>, second: Range<usize>) -> bool {
        let are_same = |of: &[u32]| of[first.clone()] == of[second.clone()];
        let number = |element| self.numbers[self.places[element] as usize];
        first.clone().map(number).eq(second.clone().map(number))
            && are_same(&self.targets)
            && self.pattern_of.as_deref().is_none_or(are_same)
    }

    fn steps(&self, element: usize) -> &[u32] {
        let number = self.pattern_of.as_ref().map_or(0, |of| of[element] as usize);
        self.patterns.as_ref().map_or(&[0], |patterns| patterns.steps(number))
    }

    /// Bytes in memory; patterns are shared.
    fn nbytes(&self) -> usize {
        let patterns = self.pattern_of.as_ref().map_or(0, Vec::len);
        4 * (self.targets.len() + self.places.len() + patterns) + 8 * self.numbers.len()
    }
}

/// What the diagonals of a transform are given as.
#[derive(Clone)]
pub(super) enum Numbers {
    Dense(Diagonals),
    Sparse(SparseDiagonals),
}

impl Numbers {
    pub(super) fn copied(diagonals: &Diagonals) -> Self {
        let copy =
            |(&index, values): (&i64, &Vec<Complex64>)| (index, system_memory::copied(values));
        Self::Dense(diagonals.iter().map(copy).collect())
    }

    /// The same diagonals with indices between minus and plus `slots`, lengths checked.
    pub(super) fn reduced(self, slots: usize) -> Result<Self> {
        match self {
            Self::Dense(diagonals) => {
                if let Some(values) = diagonals.values().find(|values| values.len() != slots) {
                    let (expected, actual) = (slots, values.len());
                    return Err(Error::SlotMismatch { operation: OPERATION, expected, actual });
                }
                Ok(Self::Dense(reduced_indices(diagonals, slots)?))
            }
            Self::Sparse(diagonals) => {
                let (expected, actual) = (slots, diagonals.slots);
                if expected != actual {
                    return Err(Error::SlotMismatch { operation: OPERATION, expected, actual });
                }
                let spans = reduced_indices(diagonals.spans, slots)?;
                Ok(Self::Sparse(SparseDiagonals { spans, ..diagonals }))
            }
        }
    }

    pub(super) fn indices(&self) -> Vec<i64> {
        match self {
            Self::Dense(diagonals) => diagonals.keys().copied().collect(),
            Self::Sparse(diagonals) => diagonals.spans.keys().copied().collect(),
        }
    }

    /// The largest absolute value, after checking that the bound of the encoding holds.
    pub(super) fn largest(&self, encoding: Encoding) -> Result<f64> {
        let bound = encoding.bound;
        match self {
            Self::Dense(diagonals) => {
                let mut each = diagonals.values().map(|values| check_values(values, bound));
                each.try_fold(0.0, |largest, value| Ok(f64::max(largest, value?)))
            }
            Self::Sparse(diagonals) => check_values(&diagonals.elements.numbers, bound),
        }
    }

    /// The largest sums of absolute values and of their squares over a row.
    pub(super) fn row_sums(&self, slots: usize) -> (f64, f64) {
        let (mut sums, mut squares) =
            (system_memory::filled(0.0f64, slots), system_memory::filled(0.0f64, slots));
        match self {
            Self::Dense(diagonals) => {
                for diagonal in diagonals.values() {
                    for ((value, sum), square) in diagonal.iter().zip(&mut sums).zip(&mut squares) {
                        *sum += value.magnitude();
                        *square += value.norm_sqr();
                    }
                }
            }
            Self::Sparse(diagonals) => {
                let elements = &diagonals.elements;
                for (slot, value) in elements.within(0..elements.targets.len(), slots) {
                    sums[slot] += value.abs();
                    squares[slot] += value * value;
                }
            }
        }
        let largest = |rows: &[f64]| rows.iter().copied().fold(0.0, f64::max);
        (largest(&sums), largest(&squares))
    }

    /// A diagonal that is rotated to the right by a giant step.
    pub(super) fn values(&self, index: i64, step: usize) -> Values {
        match self {
            Self::Dense(diagonals) => {
                let mut values = system_memory::copied(once(&diagonals[&index]));
                let step = step % values.len();
                values.rotate_right(step);
                Values::Complex(values)
            }
            Self::Sparse(diagonals) => {
                let values = diagonals.filled(index, step);
                Values::Real(Wiped::collect(once(&values).iter().copied()))
            }
        }
    }

    /// Of some diagonals those that differ from one another, and for each its place among these.
    pub(super) fn different(&self, indices: &[i64]) -> (Vec<i64>, Vec<usize>) {
        let mut found: Vec<i64> = Vec::new();
        let mut place = |&index: &i64| {
            found.iter().position(|&other| self.are_same(index, other)).unwrap_or_else(|| {
                found.push(index);
                found.len() - 1
            })
        };
        let places = indices.iter().map(&mut place).collect();
        (found, places)
    }

    /// Whether two diagonals are given as the same numbers.
    fn are_same(&self, first: i64, second: i64) -> bool {
        match self {
            Self::Dense(diagonals) => diagonals[&first] == diagonals[&second],
            Self::Sparse(diagonals) => {
                let [first, second] = [first, second].map(|index| diagonals.spans[&index].clone());
                diagonals.elements.are_same(first, second)
            }
        }
    }

    /// Bytes in memory.
    pub(super) fn nbytes(&self) -> usize {
        match self {
            Self::Dense(diagonals) => diagonals.values().map(|each| size_of_val(&each[..])).sum(),
            Self::Sparse(diagonals) => diagonals.elements.nbytes(),
        }
    }
}

/// The numbers of a diagonal, once where they repeat themselves.
pub(super) enum Values {
    Complex(Vec<Complex64>),
    Real(Wiped<f64>),
}

impl Values {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Complex(values) => values.len(),
            Self::Real(values) => values.len(),
        }
    }

    /// The coefficients, as few as there are but for zeros.
    pub(super) fn rounded(
        &self,
        parameters: &Parameters,
        estimate: &Estimate,
    ) -> Result<RoundedCoefficients> {
        match self {
            Self::Complex(values) => parameters.rounded(values, estimate),
            Self::Real(values) => parameters.rounded(values, estimate),
        }
    }
}

/// Indices brought between minus and plus `slots`, no two the same rotation.
fn reduced_indices<T>(diagonals: BTreeMap<i64, T>, slots: usize) -> Result<BTreeMap<i64, T>> {
    let refuse = |reason| Err(Error::InvalidArgument { operation: OPERATION, reason });
    if diagonals.is_empty() {
        return refuse("there are no diagonals".to_string());
    }
    let mut reduced = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (index, values) in diagonals {
        if !seen.insert(index.rem_euclid(slots as i64)) {
            return refuse(format!("diagonal {index} is given twice, modulo {slots} slots"));
        }
        reduced.insert(index % slots as i64, values);
    }
    Ok(reduced)
}
