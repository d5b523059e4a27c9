//! Bootstrapping.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rlwe::bytes::ReadLimits;
use rlwe::ckks::{self, BootstrappingLiteral};

use crate::ckks::parameters::Parameters;
use crate::numbers::{Number, Real};
use crate::{bytes, engine, errors};

/// Parameters whose chain has the levels of a bootstrapping on top of those of a program.
///
/// Args:
///     log_n: log2 of the ring degree. For 15, 16 and 17 there are secure sets, of which the other
///         arguments change a part; for others the set of 16 is changed, which is insecure there.
///     levels: The levels that a refreshed ciphertext has for a program.
///     scale_bits: log2 of their scale.
///     base_bits: log2 of the modulus of level 0.
///     bound: No slot may exceed this in absolute value where a ciphertext is refreshed.
///     ratio_bits: log2 of the modulus of level 0 over a message at the bound.
///     slots_to_coefficients: Factors of that transform, a level each.
///     coefficients_to_slots: Factors of that transform, a level each.
///     transform_bits: What each level of CoeffsToSlots divides by, in bits.
///     reduction_bits: What each level of EvalMod divides by, in bits.
///     double_angles: Double angles of the cosine, a level each.
///     digits: Key-switching digits.
///     sparse_weight: The weight of the sparse secret under which the modulus is raised.
///     insecure: Whether less than 128-bit security is allowed.
///
/// Raises:
///     InvalidParametersError: They contradict each other or lie outside the range.
///     InsecureParametersError: They, or the sparse secret, fall short of 128-bit security.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BootstrappingParameters(pub ckks::BootstrappingParameters);

#[pymethods]
impl BootstrappingParameters {
    #[new]
    #[pyo3(signature = (log_n, *, levels=None, scale_bits=None, base_bits=None, bound=None, ratio_bits=None, slots_to_coefficients=None, coefficients_to_slots=None, transform_bits=None, reduction_bits=None, double_angles=None, digits=None, sparse_weight=None, insecure=false))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        log_n: Number<u32>,
        levels: Option<Number<usize>>,
        scale_bits: Option<Real>,
        base_bits: Option<Real>,
        bound: Option<Real>,
        ratio_bits: Option<Real>,
        slots_to_coefficients: Option<Number<usize>>,
        coefficients_to_slots: Option<Number<usize>>,
        transform_bits: Option<Real>,
        reduction_bits: Option<Real>,
        double_angles: Option<Number<u32>>,
        digits: Option<Number<usize>>,
        sparse_weight: Option<Number<usize>>,
        insecure: bool,
    ) -> PyResult<Self> {
        let real = |given: Option<Real>, other: f64| given.map_or(other, |x| x.0);
        let whole = |given: Option<Number<usize>>, other: usize| given.map_or(other, |x| x.0);
        let make = || {
            let set = BootstrappingLiteral::of_ring(log_n.0).or_else(|refusal| {
                let changed = BootstrappingLiteral { log_n: log_n.0, ..Default::default() };
                if insecure { Ok(changed) } else { Err(refusal) }
            })?;
            ckks::BootstrappingParameters::new(BootstrappingLiteral {
                log_n: log_n.0,
                levels: whole(levels, set.levels),
                scale_bits: real(scale_bits, set.scale_bits),
                base_bits: real(base_bits, set.base_bits),
                bound: real(bound, set.bound),
                ratio_bits: real(ratio_bits, set.ratio_bits),
                slots_to_coefficients: whole(slots_to_coefficients, set.slots_to_coefficients),
                coefficients_to_slots: whole(coefficients_to_slots, set.coefficients_to_slots),
                transform_bits: real(transform_bits, set.transform_bits),
                reduction_bits: real(reduction_bits, set.reduction_bits),
                double_angles: double_angles.map_or(set.double_angles, |x| x.0),
                digits: digits.map(|x| x.0).or(set.digits),
                sparse_weight: whole(sparse_weight, set.sparse_weight),
                insecure,
            })
        };
        engine::run(py, make).map(Self)
    }

    /// The parameters of keys and ciphertexts.
    #[getter]
    fn parameters(&self) -> Parameters {
        Parameters(self.0.parameters().clone())
    }

    /// The least level of a ciphertext of a full vector that is to be refreshed.
    #[getter]
    fn input_level(&self) -> usize {
        self.0.input_level()
    }

    /// The level of a refreshed ciphertext.
    #[getter]
    fn output_level(&self) -> usize {
        self.0.output_level()
    }

    /// What a program can use up of the modulus between two refreshings, in bits.
    #[getter]
    fn bits_left(&self) -> f64 {
        self.0.bits_left()
    }

    /// No slot may exceed this in absolute value where a ciphertext is refreshed.
    #[getter]
    fn bound(&self) -> f64 {
        self.0.literal().bound
    }

    /// A refreshing goes wrong by an overflow with a chance below 2^-so many.
    #[getter]
    fn failure_bits(&self) -> f64 {
        self.0.failure_bits()
    }

    /// The products that the modular reduction of a vector relinearises.
    #[getter]
    fn reduction_products(&self) -> usize {
        self.0.reduction_products()
    }

    /// The weight of the sparse secret under which the modulus is raised.
    #[getter]
    fn sparse_weight(&self) -> usize {
        self.0.literal().sparse_weight
    }

    /// Read what `to_bytes` wrote, if it is accepted.
    ///
    /// Args:
    ///     data: The bytes.
    ///     insecure: Whether less than 128-bit security is accepted; bytes do not decide that.
    ///     max_log_n: log2 of the largest ring degree that is accepted; by default 16.
    ///
    /// Raises:
    ///     MalformedBytesError: They are no parameters.
    ///     InsecureParametersError: They fall short of 128-bit security.
    ///     InvalidParametersError: The ring is larger than what is accepted.
    #[staticmethod]
    #[pyo3(signature = (data, *, insecure=false, max_log_n=Number(16)))]
    fn from_bytes(
        py: Python<'_>,
        data: &[u8],
        insecure: bool,
        max_log_n: Number<u32>,
    ) -> PyResult<Self> {
        let limits = ReadLimits { insecure, max_log_n: max_log_n.0 };
        engine::run(py, || ckks::BootstrappingParameters::from_bytes(data, &limits)).map(Self)
    }

    /// These parameters as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let data = engine::run(py, || Ok(self.0.to_bytes()))?;
        bytes::to_python(py, &data)
    }

    fn __repr__(&self) -> String {
        format!("BootstrappingParameters({})", self.0)
    }
}

/// What is in the slots, by its name.
pub struct Packing(ckks::Packing);

impl<'a, 'py> FromPyObject<'a, 'py> for Packing {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match object.extract()? {
            "complex" => Ok(Self(ckks::Packing::Complex)),
            "real" => Ok(Self(ckks::Packing::Real)),
            "coefficients" => Ok(Self(ckks::Packing::Coefficients)),
            other => Err(errors::exception(
                object.py(),
                "InvalidArgumentError",
                format!(
                    "cannot make a bootstrapping: expected packing 'complex', 'real' or 'coefficients', got {other:?}"
                ),
            )),
        }
    }
}

/// The circuit that refreshes ciphertexts of a number of slots, its transforms encoded.
///
/// Args:
///     parameters: The parameters.
///     slots: The slots of the ciphertexts.
///     packing: "complex", or "real" where imaginary parts are to be dropped: half the work of
///         EvalMod; or "coefficients" for numbers that are there and come out in slots.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct Bootstrapping(pub ckks::Bootstrapping);

#[pymethods]
impl Bootstrapping {
    #[new]
    #[pyo3(signature = (parameters, *, slots, packing))]
    fn new(
        py: Python<'_>,
        parameters: Bound<'_, BootstrappingParameters>,
        slots: Number<usize>,
        packing: Packing,
    ) -> PyResult<Self> {
        let parameters = &parameters.get().0;
        engine::run(py, || ckks::Bootstrapping::new(parameters, slots.0, packing.0)).map(Self)
    }

    /// The same circuit with its diagonals encoded whenever it is applied: slower, and a part of
    /// the memory. Enough to ask for keys and for estimates.
    #[staticmethod]
    #[pyo3(signature = (parameters, *, slots, packing))]
    fn streamed(
        py: Python<'_>,
        parameters: Bound<'_, BootstrappingParameters>,
        slots: Number<usize>,
        packing: Packing,
    ) -> PyResult<Self> {
        let parameters = &parameters.get().0;
        engine::run(py, || ckks::Bootstrapping::streamed(parameters, slots.0, packing.0)).map(Self)
    }

    /// The slots of the ciphertexts that it refreshes.
    #[getter]
    fn slots(&self) -> usize {
        self.0.slots()
    }

    /// The least level of a ciphertext that is to be refreshed.
    #[getter]
    fn input_level(&self) -> usize {
        self.0.input_level()
    }

    /// The level of a relinearisation key and of the key for conjugation that it needs.
    #[getter]
    fn reduction_level(&self) -> usize {
        self.0.parameters().reduction_level()
    }

    /// Rotations that it needs keys for, with the level of each.
    fn rotations(&self) -> BTreeMap<i64, usize> {
        let mut levels = BTreeMap::new();
        for (rotation, level) in self.0.keys().rotations {
            let highest = levels.entry(rotation).or_insert(level);
            *highest = level.max(*highest);
        }
        levels
    }

    /// For each transform in order its level, its diagonals, and the rotations that it takes.
    fn transforms(&self) -> Vec<(usize, usize, usize)> {
        let of =
            |each: &ckks::LinearTransform| (each.level(), each.diagonals(), each.rotations().len());
        self.0.transforms().map(of).collect()
    }

    /// Bytes of the diagonals where they are encoded ahead.
    #[getter]
    fn encoded_nbytes(&self) -> usize {
        self.0.transforms().map(ckks::LinearTransform::encoded_nbytes).sum()
    }

    /// Bytes of the diagonals on a device, which has every word of every one.
    #[getter]
    fn whole_nbytes(&self) -> usize {
        self.0.transforms().map(ckks::LinearTransform::whole_nbytes).sum()
    }

    /// Bytes in memory.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.nbytes()
    }

    fn __repr__(&self) -> String {
        format!("Bootstrapping({})", self.0)
    }
}
