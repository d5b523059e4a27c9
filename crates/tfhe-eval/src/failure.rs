//! How likely a program goes wrong: noise followed from the inputs to every bootstrap.

use crate::noise::log2_failure;
use crate::program::Program;
use crate::{Error, Result};

/// What each kind of signal's noise is, in turns squared.
#[derive(Debug, Clone, PartialEq)]
pub struct Variances {
    /// Of an input: as it was encrypted, by a secret or a public key.
    pub input: f64,
    /// Of each output of a bootstrap.
    pub bootstrap: f64,
    /// What the key switch into a bootstrap of 1, 2 and 4 tables adds.
    pub switch: Vec<f64>,
}

/// Probabilities that a program goes wrong, as log2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Failure {
    /// The greatest of any bootstrap or output.
    pub worst: f64,
    /// Their sum: that anything goes wrong.
    pub total: f64,
}

const OPERATION: &str = "bound how often a program fails";

impl Program {
    /// How likely a run goes wrong, when every bootstrap has the noise of `variances` and every
    /// output must differ from 0 in its encoding.
    ///
    /// Every signal is a sum of weights times sources: inputs, whose noises are independent, and
    /// outputs of bootstraps, independent between bootstraps; outputs of one bootstrap may carry
    /// the same noise, so that their weights are added before they are squared. Noise is taken to
    /// be Gaussian.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when there is not an encoding for each output, a variance is no
    /// finite number of 0 or more, or one of the switches that the program needs is missing.
    pub fn failure(&self, variances: &Variances, encodings: &[u32]) -> Result<Failure> {
        self.check_variances(variances, encodings)?;
        let mut sums = Sums::new(self);
        let mut logs = Vec::new();
        for node in (0..self.nodes()).filter(|&node| self.is_bootstrap(node)) {
            let tables = self.tables(node);
            let switch = variances.switch[tables.layout().count_log() as usize];
            let margin = self.margin(node);
            let variance = sums.variance_into(node, variances);
            logs.push(log2_failure(margin, variance + switch));
        }
        for (&signal, &encoding) in self.output_signals().iter().zip(encodings) {
            let margin = f64::from(encoding) / 8589934592.0;
            logs.push(log2_failure(margin, sums.variance_of(signal as usize, variances)));
        }
        let worst = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let parts: f64 = logs.iter().map(|log| (log - worst).exp2()).sum();
        let total = if worst.is_finite() { worst + parts.log2() } else { worst };
        Ok(Failure { worst, total })
    }

    fn check_variances(&self, variances: &Variances, encodings: &[u32]) -> Result<()> {
        let refused = |reason| Err(Error::InvalidArgument { operation: OPERATION, reason });
        if encodings.len() != self.outputs() {
            let (outputs, given) = (self.outputs(), encodings.len());
            return refused(format!(
                "expected an encoding for each of {outputs} outputs, got {given}"
            ));
        }
        let all = variances.switch.iter().chain([&variances.input, &variances.bootstrap]);
        if let Some(wrong) = all.into_iter().find(|x| !(x.is_finite() && **x >= 0.0)) {
            return refused(format!("expected variances of 0 or more, got {wrong}"));
        }
        let most = self.most_tables_log().map_or(0, |log| log + 1);
        if most > variances.switch.len() {
            let given = variances.switch.len();
            return refused(format!("expected {most} variances of switches, got {given}"));
        }
        Ok(())
    }
}

/// Sums written out, one at a time.
struct Sums<'p> {
    program: &'p Program,
    /// By signal: the node that makes it; none for inputs.
    makers: Vec<Option<u32>>,
    /// By source: its weight in the sum at hand, 0 between sums.
    weights: Vec<i64>,
    /// The sources of the sum at hand.
    sources: Vec<usize>,
}

impl<'p> Sums<'p> {
    fn new(program: &'p Program) -> Self {
        let mut makers = vec![None; program.signals()];
        for node in 0..program.nodes() {
            makers[program.made(node)].fill(Some(node as u32));
        }
        Self { program, makers, weights: vec![0; program.signals()], sources: Vec::new() }
    }

    /// Of the sum that a node takes.
    fn variance_into(&mut self, node: usize, variances: &Variances) -> f64 {
        let terms = self.program.terms(node).map(|(signal, weight)| (signal, i64::from(weight)));
        self.variance(terms.collect(), variances)
    }

    fn variance_of(&mut self, signal: usize, variances: &Variances) -> f64 {
        self.variance(vec![(signal, 1)], variances)
    }

    /// What a sum is written out to has been bounded when the program was made.
    fn variance(&mut self, mut terms: Vec<(usize, i64)>, variances: &Variances) -> f64 {
        while let Some((signal, weight)) = terms.pop() {
            match self.makers[signal].map(|node| node as usize) {
                Some(node) if !self.program.is_bootstrap(node) => {
                    let linear = self.program.terms(node);
                    terms.extend(linear.map(|(source, by)| (source, weight * i64::from(by))));
                }
                _ => {
                    self.weights[signal] += weight;
                    self.sources.push(signal);
                }
            }
        }
        // Outputs of one bootstrap stand side by side.
        self.sources.sort_unstable();
        let (mut inputs, mut bootstraps) = (0.0, 0.0);
        let mut together: Option<(u32, f64)> = None;
        for &source in &self.sources {
            // A source that is there twice has its whole weight the first time.
            let weight = std::mem::take(&mut self.weights[source]).unsigned_abs() as f64;
            match (self.makers[source], &mut together) {
                (None, _) => inputs += weight * weight,
                (Some(maker), Some((same, sum))) if maker == *same => *sum += weight,
                (Some(maker), _) => {
                    bootstraps += together.map_or(0.0, |(_, sum)| sum * sum);
                    together = Some((maker, weight));
                }
            }
        }
        bootstraps += together.map_or(0.0, |(_, sum)| sum * sum);
        self.sources.clear();
        inputs * variances.input + bootstraps * variances.bootstrap
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProgramArrays;

    /// Inputs 0 and 1; 2 = 3 x0 - x1; 3 and 4 = outputs of a bootstrap of it; 5 = 2 of the first
    /// less the second, 6 = a bootstrap of that and of x0.
    fn program() -> Program {
        Program::new(ProgramArrays {
            inputs: 2,
            kinds: vec![0, 1, 0, 1],
            term_starts: vec![0, 2, 3, 5, 7],
            term_signals: vec![0, 1, 2, 3, 4, 5, 0],
            term_weights: vec![3, -1, 1, 2, -1, 1, 1],
            constants: vec![0; 4],
            message_bits: vec![0, 2, 0, 3],
            output_starts: vec![0, 1, 3, 4, 5],
            tables: vec![1, 2, 5, 9, 1, 2, 3, 4],
            output_constants: vec![0; 5],
            output_signals: vec![6, 2],
        })
        .unwrap()
    }

    #[test]
    fn noise_is_followed_to_every_bootstrap_and_output() {
        let variances = Variances { input: 1e-7, bootstrap: 1e-6, switch: vec![1e-5, 2e-5] };
        let found = program().failure(&variances, &[1 << 30, 1 << 29]).unwrap();
        let logs = [
            log2_failure(1.0 / 8.0, 10.0 * 1e-7 + 2e-5),
            log2_failure(1.0 / 16.0, 9.0 * 1e-6 + 1e-7 + 1e-5),
            log2_failure(1.0 / 8.0, 1e-6),
            log2_failure(1.0 / 16.0, 10.0 * 1e-7),
        ];
        let worst = logs.iter().copied().fold(f64::MIN, f64::max);
        assert!((found.worst - worst).abs() < 1e-9, "{found:?} {logs:?}");
        let total = logs.iter().map(|log| log.exp2()).sum::<f64>().log2();
        assert!((found.total - total).abs() < 1e-9, "{found:?} {logs:?}");
        // Noisier inputs, as from a public key, fail more often.
        let noisier = Variances { input: 1e-4, ..variances };
        let noisier = program().failure(&noisier, &[1 << 30, 1 << 29]).unwrap();
        assert!(noisier.worst > found.worst);
    }

    #[test]
    fn a_sign_fails_by_its_own_margin() {
        let program = |kind| {
            Program::new(ProgramArrays {
                inputs: 1,
                kinds: vec![kind],
                term_starts: vec![0, 1],
                term_signals: vec![0],
                term_weights: vec![1],
                constants: vec![0],
                message_bits: vec![1],
                output_starts: vec![0, 1],
                tables: vec![7],
                output_constants: vec![0],
                output_signals: vec![1],
            })
            .unwrap()
        };
        let variances = Variances { input: 1e-6, bootstrap: 1e-9, switch: vec![1e-5] };
        let logs = [1, 2].map(|kind| program(kind).failure(&variances, &[1 << 31]).unwrap().worst);
        assert!((logs[0] - log2_failure(0.25, 1.1e-5)).abs() < 1e-9);
        assert!((logs[1] - log2_failure(0.0125_f64.sqrt(), 1.1e-5)).abs() < 1.0);
        let wrong = ProgramArrays {
            inputs: 1,
            kinds: vec![2],
            term_starts: vec![0, 1],
            term_signals: vec![0],
            term_weights: vec![1],
            constants: vec![0],
            message_bits: vec![2],
            output_starts: vec![0, 1],
            tables: vec![7, 8],
            output_constants: vec![0],
            output_signals: vec![1],
        };
        assert!(matches!(Program::new(wrong), Err(Error::InvalidProgram { .. })));
    }

    #[test]
    fn what_does_not_fit_the_program_is_refused() {
        let right = Variances { input: 0.0, bootstrap: 0.0, switch: vec![0.0; 3] };
        let endless = program().failure(&right, &[1 << 30; 2]).unwrap();
        assert_eq!((endless.worst, endless.total), (f64::NEG_INFINITY, f64::NEG_INFINITY));
        assert!(program().failure(&right, &[1 << 30]).is_err());
        for wrong in [
            Variances { input: f64::NAN, ..right.clone() },
            Variances { bootstrap: -1.0, ..right.clone() },
            Variances { switch: vec![0.0], ..right },
        ] {
            let refused = program().failure(&wrong, &[1 << 30; 2]);
            assert!(matches!(refused, Err(Error::InvalidArgument { .. })));
        }
    }

    /// Each node adds one input to the sum before: the sources of all of them together are
    /// millions, and none are stored.
    #[test]
    fn long_sums_take_no_memory_in_their_square() {
        let count = 8000;
        let program = Program::new(ProgramArrays {
            inputs: count,
            kinds: vec![0; count - 1],
            term_starts: (0..count as u32).map(|node| 2 * node).collect(),
            term_signals: (0..count as u32 - 1)
                .flat_map(|node| [if node == 0 { 0 } else { count as u32 + node - 1 }, node + 1])
                .collect(),
            term_weights: vec![1; 2 * (count - 1)],
            constants: vec![0; count - 1],
            message_bits: vec![0; count - 1],
            output_starts: (0..count as u32).collect(),
            tables: Vec::new(),
            output_constants: vec![0; count - 1],
            output_signals: vec![2 * count as u32 - 2],
        })
        .unwrap();
        let variances = Variances { input: 1e-9, bootstrap: 0.0, switch: Vec::new() };
        let found = program.failure(&variances, &[1 << 31]).unwrap();
        assert!((found.worst - log2_failure(0.25, 8000.0 * 1e-9)).abs() < 1e-6);
    }
}
