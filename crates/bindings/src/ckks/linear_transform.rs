//! Linear transforms.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyMapping;
use rlwe::ckks::{self, BabySteps, Encoding};

use crate::arrays::{Indices, Numbers, Vector};
use crate::ckks::parameters::Parameters;
use crate::engine;
use crate::numbers::{Number, Real};

/// Sets of slots in which elements of diagonals stand, counted from their own, modulo all slots.
///
/// Args:
///     steps: The steps of every pattern, one after another, as uint16 or uint32.
///     sizes: How many steps each pattern has, as int64.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct DiagonalPatterns(pub Arc<ckks::Patterns>);

#[pymethods]
impl DiagonalPatterns {
    #[new]
    fn new(py: Python<'_>, steps: Indices, sizes: Numbers<i64>) -> PyResult<Self> {
        // A negative size is more than there can be steps.
        let sizes: Vec<usize> = sizes.0.iter().map(|&size| size as usize).collect();
        let made = engine::run(py, || ckks::Patterns::new(&steps.0, &sizes))?;
        Ok(Self(Arc::new(made)))
    }

    fn __repr__(&self) -> String {
        format!("DiagonalPatterns({} patterns)", self.0.len())
    }
}

/// Real diagonals by the slots in which they are not zero, and of few different numbers.
///
/// Element k is `numbers[places[k]]` in slot `targets[k]`, or in those of its pattern; the first diagonal has the first
/// `counts[0]` elements, and so on.
///
/// Args:
///     slots: The slots of the ciphertexts.
///     indices: The rotation of each diagonal, as int64.
///     counts: How many elements each has, as int64.
///     targets: The slot of each element, as uint16 or uint32.
///     places: For each element the place of its number among `numbers`, as uint16 or uint32.
///     numbers: The different numbers, as float64.
///     patterns: Where elements stand, counted from their targets; None where each stands there
///         alone.
///     pattern_of: For each element the number of its pattern, as uint16 or uint32; None where
///         all have the first.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct SparseDiagonals(ckks::SparseDiagonals);

#[pymethods]
impl SparseDiagonals {
    #[new]
    #[pyo3(signature = (slots, indices, counts, targets, places, numbers, patterns = None, pattern_of = None))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        py: Python<'_>,
        slots: Number<usize>,
        indices: Numbers<i64>,
        counts: Numbers<i64>,
        targets: Indices,
        places: Indices,
        numbers: Numbers<f64>,
        patterns: Option<Bound<'_, DiagonalPatterns>>,
        pattern_of: Option<Indices>,
    ) -> PyResult<Self> {
        // A negative count is more than there can be elements.
        let counts: Vec<usize> = counts.0.iter().map(|&count| count as usize).collect();
        let (targets, places) = (targets.0, places.0);
        let (slots, indices, numbers) = (slots.0, indices.0, numbers.0);
        let patterns = patterns.map(|patterns| Arc::clone(&patterns.get().0));
        let make = || {
            let made =
                ckks::SparseDiagonals::new(slots, &indices, &counts, targets, places, numbers)?;
            match patterns {
                Some(patterns) => made.standing(patterns, pattern_of.map(|of| of.0)),
                None => Ok(made),
            }
        };
        engine::run(py, make).map(Self)
    }

    /// Slots after which all diagonals repeat themselves.
    fn period(&self, py: Python<'_>) -> PyResult<usize> {
        engine::run(py, || Ok(self.0.period()))
    }

    fn __repr__(&self) -> String {
        format!("SparseDiagonals({} diagonals)", self.0.len())
    }
}

/// y = the sum over d of diagonals[d] * rotate(x, d), encoded for ciphertexts of one level.
///
/// Args:
///     parameters: The parameters.
///     diagonals: Vectors of `slots` numbers each, by rotation, or `SparseDiagonals`.
///     slots: The slots of the ciphertexts.
///     level: The level of the ciphertexts.
///     scale: The scale of the diagonals; by default that after which a rescale takes a
///         ciphertext from canonical scale to canonical scale.
///     baby_steps: Diagonal d is taken apart as d % baby_steps and the rest; by default so
///         that the work is least.
///     shared_by: Transforms of one ciphertext, this one among them, that are applied together
///         and have the same baby steps.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct LinearTransform(pub ckks::LinearTransform);

/// How the engine makes a transform: encoded ahead or streamed.
type OfDense = fn(
    &ckks::Parameters,
    &ckks::Diagonals,
    usize,
    Encoding,
    BabySteps,
) -> rlwe::Result<ckks::LinearTransform>;
type OfSparse = fn(
    &ckks::Parameters,
    ckks::SparseDiagonals,
    usize,
    Encoding,
    BabySteps,
) -> rlwe::Result<ckks::LinearTransform>;

/// Diagonals, as Python gives them: by rotation, or sparse.
#[derive(FromPyObject)]
enum Diagonals<'py> {
    Sparse(Bound<'py, SparseDiagonals>),
    Dense(Bound<'py, PyMapping>),
}

/// What a transform is made of, but for its diagonals.
struct Arguments<'py> {
    parameters: Bound<'py, Parameters>,
    slots: usize,
    encoding: Encoding,
    baby_steps: BabySteps,
}

impl<'py> Arguments<'py> {
    fn read(
        parameters: Bound<'py, Parameters>,
        slots: Number<usize>,
        level: Number<usize>,
        scale: Option<Real>,
        baby_steps: Option<Number<usize>>,
        shared_by: Number<usize>,
    ) -> Self {
        let baby_steps = BabySteps { width: baby_steps.map(|x| x.0), shared_by: shared_by.0 };
        Self {
            parameters,
            slots: slots.0,
            encoding: Encoding { level: level.0, scale: scale.map(|x| x.0), bound: None },
            baby_steps,
        }
    }

    fn make(
        &self,
        py: Python<'_>,
        diagonals: &Diagonals<'py>,
        dense: OfDense,
        sparse: OfSparse,
    ) -> PyResult<LinearTransform> {
        let parameters = &self.parameters.get().0;
        let (slots, encoding, baby_steps) = (self.slots, self.encoding, self.baby_steps);
        let made = match diagonals {
            Diagonals::Sparse(diagonals) => {
                let diagonals = diagonals.get().0.clone();
                engine::run(py, || sparse(parameters, diagonals, slots, encoding, baby_steps))
            }
            Diagonals::Dense(diagonals) => {
                let vectors: Vec<(Number<i64>, Vector<'_>)> = diagonals.items()?.extract()?;
                let elements = vectors.iter().map(|(d, vector)| Ok((d.0, vector.elements()?)));
                let elements = elements.collect::<PyResult<Vec<_>>>()?;
                engine::run(py, || {
                    let each = elements.iter().map(|(d, values)| (*d, values.to_complex()));
                    dense(parameters, &each.collect(), slots, encoding, baby_steps)
                })
            }
        };
        made.map(LinearTransform)
    }
}

#[pymethods]
impl LinearTransform {
    #[new]
    #[pyo3(signature = (parameters, diagonals, *, slots, level, scale=None, baby_steps=None, shared_by=Number(1)))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        parameters: Bound<'_, Parameters>,
        diagonals: Diagonals<'_>,
        slots: Number<usize>,
        level: Number<usize>,
        scale: Option<Real>,
        baby_steps: Option<Number<usize>>,
        shared_by: Number<usize>,
    ) -> PyResult<Self> {
        let arguments = Arguments::read(parameters, slots, level, scale, baby_steps, shared_by);
        let (dense, sparse) = (ckks::LinearTransform::new, ckks::LinearTransform::of_sparse);
        arguments.make(py, &diagonals, dense, sparse)
    }

    /// The same transform with its diagonals encoded whenever it is applied: slower, and for
    /// transforms too large to be cached encoded.
    #[staticmethod]
    #[pyo3(signature = (parameters, diagonals, *, slots, level, scale=None, baby_steps=None, shared_by=Number(1)))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn streamed(
        py: Python<'_>,
        parameters: Bound<'_, Parameters>,
        diagonals: Diagonals<'_>,
        slots: Number<usize>,
        level: Number<usize>,
        scale: Option<Real>,
        baby_steps: Option<Number<usize>>,
        shared_by: Number<usize>,
    ) -> PyResult<Self> {
        let arguments = Arguments::read(parameters, slots, level, scale, baby_steps, shared_by);
        let dense = ckks::LinearTransform::streamed;
        arguments.make(py, &diagonals, dense, ckks::LinearTransform::streamed_sparse)
    }

    /// The rotations that need a Galois key.
    #[getter]
    fn rotations(&self) -> Vec<i64> {
        self.0.rotations()
    }

    /// The level of the ciphertexts that it transforms.
    #[getter]
    fn level(&self) -> usize {
        self.0.level()
    }

    /// The slots of the ciphertexts that it transforms.
    #[getter]
    fn slots(&self) -> usize {
        self.0.slots()
    }

    /// Bytes in memory.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.nbytes()
    }

    fn __repr__(&self) -> String {
        format!("LinearTransform({})", self.0)
    }
}
