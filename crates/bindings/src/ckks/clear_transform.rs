//! Linear transforms of numbers in the clear.

use numpy::PyArray1;
use pyo3::prelude::*;
use rlwe::ckks::{ClearDiagonals, Patterns};

use crate::arrays::{BorrowedIndices, BorrowedNumbers, Indices, Numbers};
use crate::ckks::linear_transform::DiagonalPatterns;
use crate::duration::Work;
use crate::engine;
use crate::numbers::Number;

/// The sum of products of diagonals with vectors in the clear, elements as `SparseDiagonals` has
/// them.
///
/// Args:
///     slots: The slots of a vector.
///     rotations: By how much each diagonal's vector is rotated, as int64.
///     counts: How many elements each diagonal has, as int64.
///     targets: The slot that each element goes to, as uint16 or uint32.
///     places: For each element the place of its weight, as uint16 or uint32; None where each has
///         a weight of its own.
///     weights: The weights, as float64; None where every one is 1.
///     vectors: Vectors one after another, as float64.
///     of: For each diagonal the number of its vector, as int64.
///     patterns: Where elements stand, counted from their targets; None where each stands there
///         alone.
///     pattern_of: For each element the number of its pattern, as uint16 or uint32; None where
///         all have the first.
#[pyfunction]
#[pyo3(signature = (slots, rotations, counts, targets, places, weights, vectors, of, patterns = None, pattern_of = None))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub fn clear_transform<'py>(
    py: Python<'py>,
    slots: Number<usize>,
    rotations: Numbers<i64>,
    counts: Numbers<i64>,
    targets: BorrowedIndices<'py>,
    places: Option<BorrowedIndices<'py>>,
    weights: Option<BorrowedNumbers<'py>>,
    vectors: BorrowedNumbers<'py>,
    of: Numbers<i64>,
    patterns: Option<Bound<'py, DiagonalPatterns>>,
    pattern_of: Option<Indices>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let lists = Lists {
        slots: slots.0,
        rotations: &rotations.0,
        // A negative count is more than there can be elements, and a negative number of a vector
        // more than there can be vectors.
        counts: &counts.0.iter().map(|&count| count as usize).collect::<Vec<_>>(),
        of: &of.0.iter().map(|&number| number as usize).collect::<Vec<_>>(),
        weights: weights.as_ref().map(|weights| weights.0.as_slice()).transpose()?,
        vectors: vectors.0.as_slice()?,
        patterns: patterns.as_ref().map(|patterns| &*patterns.get().0),
        pattern_of: pattern_of.as_ref().map(|of| &of.0[..]),
    };
    match (&targets, &places) {
        (BorrowedIndices::Short(targets), None) => {
            lists.applied(py, targets.as_slice()?, None::<&[u16]>)
        }
        (BorrowedIndices::Long(targets), None) => {
            lists.applied(py, targets.as_slice()?, None::<&[u16]>)
        }
        (BorrowedIndices::Short(targets), Some(BorrowedIndices::Short(places))) => {
            lists.applied(py, targets.as_slice()?, Some(places.as_slice()?))
        }
        (BorrowedIndices::Short(targets), Some(BorrowedIndices::Long(places))) => {
            lists.applied(py, targets.as_slice()?, Some(places.as_slice()?))
        }
        (BorrowedIndices::Long(targets), Some(BorrowedIndices::Short(places))) => {
            lists.applied(py, targets.as_slice()?, Some(places.as_slice()?))
        }
        (BorrowedIndices::Long(targets), Some(BorrowedIndices::Long(places))) => {
            lists.applied(py, targets.as_slice()?, Some(places.as_slice()?))
        }
    }
}

/// All but the lists that may be of short words or of long ones.
struct Lists<'a> {
    slots: usize,
    rotations: &'a [i64],
    counts: &'a [usize],
    of: &'a [usize],
    weights: Option<&'a [f64]>,
    vectors: &'a [f64],
    patterns: Option<&'a Patterns>,
    pattern_of: Option<&'a [u32]>,
}

impl Lists<'_> {
    fn applied<'py, T, P>(
        self,
        py: Python<'py>,
        targets: &[T],
        places: Option<&[P]>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>>
    where
        T: Copy + Into<u32> + Sync,
        P: Copy + Into<u32> + Sync,
    {
        let Self { slots, rotations, counts, of, weights, vectors, patterns, pattern_of } = self;
        let diagonals = ClearDiagonals {
            slots,
            rotations,
            counts,
            targets,
            places,
            weights,
            patterns,
            pattern_of,
        };
        // Each diagonal goes over a vector of eight bytes a slot, at most.
        let work = Work::Pass.on(8 * slots * counts.len());
        let sums = engine::run_about(py, work, || diagonals.applied(vectors, of))?;
        Ok(PyArray1::from_vec(py, sums))
    }
}
