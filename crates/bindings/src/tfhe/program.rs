//! Bootstrap programs.

use pyo3::prelude::*;
use tfhe_eval::{Costs, Program, ProgramArrays, Variances};

use crate::arrays::Numbers;
use crate::numbers::{Number, Real};
use crate::{engine, errors};

/// What a run on encrypted bits does, checked once: flat arrays as in
/// `cloakwork.programs.bootstraps`, without the bits and encodings of inputs and outputs.
///
/// Args:
///     inputs: How many signals go in; they are numbered first, then every node's outputs.
///     kinds: uint8 by node, 0 for a weighted sum, 1 for a bootstrap of one.
///     term_starts: uint32 by node and one more, where its terms start.
///     term_signals: uint32 by term, an earlier signal.
///     term_weights: int32 by term.
///     constants: uint32 by node, added to the sum; 2^32 are one turn.
///     message_bits: uint8 by node, m of a bootstrap with a message space of 2^m; else 0.
///     output_starts: uint32 by node and one more, where its outputs start.
///     tables: uint32, for each output of each bootstrap 2^(m-1) torus numbers.
///     output_constants: uint32 by output, added to the table's number; 0 for a sum.
///     output_signals: uint32, what leaves.
///
/// Raises:
///     InvalidProgramError: They break a rule of the form.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BootstrapProgram(pub Program);

#[pymethods]
impl BootstrapProgram {
    #[new]
    #[pyo3(signature = (*, inputs, kinds, term_starts, term_signals, term_weights, constants, message_bits, output_starts, tables, output_constants, output_signals))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        py: Python<'_>,
        inputs: Number<usize>,
        kinds: Numbers<u8>,
        term_starts: Numbers<u32>,
        term_signals: Numbers<u32>,
        term_weights: Numbers<i32>,
        constants: Numbers<u32>,
        message_bits: Numbers<u8>,
        output_starts: Numbers<u32>,
        tables: Numbers<u32>,
        output_constants: Numbers<u32>,
        output_signals: Numbers<u32>,
    ) -> PyResult<Self> {
        let arrays = ProgramArrays {
            inputs: inputs.0,
            kinds: kinds.0,
            term_starts: term_starts.0,
            term_signals: term_signals.0,
            term_weights: term_weights.0,
            constants: constants.0,
            message_bits: message_bits.0,
            output_starts: output_starts.0,
            tables: tables.0,
            output_constants: output_constants.0,
            output_signals: output_signals.0,
        };
        let program = py.detach(|| Program::new(arrays));
        program.map(Self).map_err(|error| errors::boolean_refusal(py, &error))
    }

    /// How many signals go in.
    #[getter]
    fn inputs(&self) -> usize {
        self.0.inputs()
    }

    /// How many signals leave.
    #[getter]
    fn outputs(&self) -> usize {
        self.0.outputs()
    }

    /// How many bootstraps a run makes: those that an output depends on.
    #[getter]
    fn bootstraps(&self) -> usize {
        self.0.bootstraps()
    }

    /// The most bootstraps one after another.
    #[getter]
    fn depth(&self) -> usize {
        self.0.depth()
    }

    /// The most LWE ciphertexts that a run on one thread holds at once.
    fn peak_signals(&self, py: Python<'_>) -> usize {
        py.detach(|| self.0.peak_signals())
    }

    /// Seconds of a run on so many threads by these costs: every node begins as soon as its operands
    /// are there and a thread is free, those first from which the longest path leads to an output.
    ///
    /// Args:
    ///     bootstrap_seconds: Of a bootstrap with 1, 2 and 4 tables.
    ///     term_seconds: Of each term of a sum.
    ///     threads: 1 or more.
    ///
    /// Raises:
    ///     InvalidArgumentError: There are no threads, or costs are missing or no numbers from 0 up.
    #[pyo3(signature = (*, bootstrap_seconds, term_seconds, threads))]
    fn data_flow_seconds(
        &self,
        py: Python<'_>,
        bootstrap_seconds: Vec<Real>,
        term_seconds: Real,
        threads: Number<usize>,
    ) -> PyResult<f64> {
        let bootstrap = bootstrap_seconds.into_iter().map(|x| x.0).collect();
        let costs = Costs { bootstrap, term: term_seconds.0 };
        engine::run_boolean(py, || self.0.data_flow_seconds(&costs, threads.0))
    }

    /// log2 of the probabilities that a run goes wrong: the greatest of any bootstrap or output, and
    /// their sum.
    ///
    /// Args:
    ///     output_encodings: uint32 by output, the phase of a 1.
    ///     input_variance: Of each input, as it was encrypted, in turns squared.
    ///     bootstrap_variance: Of each output of a bootstrap.
    ///     switch_variance: What the key switch into a bootstrap of 1, 2 and 4 tables adds.
    #[pyo3(signature = (output_encodings, *, input_variance, bootstrap_variance, switch_variance))]
    fn log2_failure(
        &self,
        py: Python<'_>,
        output_encodings: Numbers<u32>,
        input_variance: Real,
        bootstrap_variance: Real,
        switch_variance: Vec<Real>,
    ) -> PyResult<(f64, f64)> {
        let variances = Variances {
            input: input_variance.0,
            bootstrap: bootstrap_variance.0,
            switch: switch_variance.into_iter().map(|x| x.0).collect(),
        };
        let found = engine::run_boolean(py, || self.0.failure(&variances, &output_encodings.0))?;
        Ok((found.worst, found.total))
    }

    fn __repr__(&self) -> String {
        format!("Bootstrap{:?}", self.0)
    }
}
