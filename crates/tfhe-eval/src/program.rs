//! Bootstrap programs: what a run does, checked once.

use std::fmt;
use std::ops::Range;

use crate::parameters::MAX_TABLES_LOG;
use crate::tables::Tables;
use crate::{Error, Result};

const LINEAR: u8 = 0;
const BOOTSTRAP: u8 = 1;
const SIGN: u8 = 2;
/// What the noise of a sign may come to, in turns: see [`ProgramArrays`].
const SIGN_MARGIN: f64 = 0.1118;
/// Far above the message space of any parameter set.
const MAX_MESSAGE_BITS: u8 = 8;
/// Outputs of one bootstrap.
const MAX_OUTPUTS: usize = 8;
/// Inputs: ciphertexts of some kilobytes each, of which no machine would hold more.
const MAX_INPUTS: usize = 1 << 20;
/// Terms of one sum.
const MAX_TERMS: usize = 1 << 14;
/// What a term is multiplied by: more would outgrow the noise of the finest encoding.
const MAX_WEIGHT: u32 = 1 << 16;
/// Terms of a sum when linear nodes in it are written out, one for each path to a source: six times
/// what a block of AES takes.
const MAX_WRITTEN_OUT: u64 = 1 << 20;
/// What a sum multiplies sources by, added up: noise has outgrown everything long before.
const MAX_TOTAL_WEIGHT: u64 = 1 << 32;

/// A program as flat arrays.
///
/// Signals are numbered: the inputs, then the outputs of every node in the nodes' order. A
/// node takes a weighted sum of earlier signals and a constant. A linear node gives the sum.
/// A bootstrap, whose sum has phase v / 2^m turns but for noise, with m its `message_bits`,
/// gives for each of its outputs j the table's f_j(v) plus the output's constant, where
/// f_j(v + 2^(m-1)) = -f_j(v). It has eight outputs at most, and four tables of which none is
/// a rotation of another. Constants and tables are torus numbers: 2^32 are one turn.
///
/// A sign is a bootstrap with m = 1 whose sum may lie up to an eighth of a turn to either side of
/// its message, for what is left of the bits below. It is not to miss its message where a sign
/// before it, whose bit is among those, was near its own end and has chosen either: with noises x
/// and y of one deviation of both, x beyond d / 2 and y beyond 1 / 8 - d / 4, the least of
/// x^2 + y^2 over all d is 1 / 80. The margin is the root of that.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramArrays {
    /// How many signals go in.
    pub inputs: usize,
    /// By node: 0 for linear, 1 for a bootstrap, 2 for a sign.
    pub kinds: Vec<u8>,
    /// By node and one more: where its terms start.
    pub term_starts: Vec<u32>,
    /// By term: the signal.
    pub term_signals: Vec<u32>,
    /// By term: what the signal is multiplied by.
    pub term_weights: Vec<i32>,
    /// By node: what is added to the sum.
    pub constants: Vec<u32>,
    /// By node: m; 0 for linear.
    pub message_bits: Vec<u8>,
    /// By node and one more: where its outputs start; a linear node has one.
    pub output_starts: Vec<u32>,
    /// For each bootstrap, for each of its outputs: 2^(m-1) torus numbers.
    pub tables: Vec<u32>,
    /// By output of a node: what is added to the table's number; 0 for linear.
    pub output_constants: Vec<u32>,
    /// What leaves.
    pub output_signals: Vec<u32>,
}

/// A program that keeps the rules of its form.
pub struct Program {
    arrays: ProgramArrays,
    /// By node and one more: where its tables start.
    table_starts: Vec<usize>,
}

impl Program {
    /// Checks every number.
    ///
    /// # Errors
    /// [`Error::InvalidProgram`], which says what is wrong where.
    pub fn new(arrays: ProgramArrays) -> Result<Self> {
        check_lengths(&arrays)?;
        check_sums(&arrays)?;
        let mut table_starts = vec![0];
        for node in 0..arrays.kinds.len() {
            let size = check_node(&arrays, node).map_err(|reason| refused(node, reason))?;
            let end = table_starts[node] + size;
            if end > arrays.tables.len() {
                let reason = format!("expected tables up to {end}, got {}", arrays.tables.len());
                return Err(refused(node, reason));
            }
            check_tables(&arrays, node, table_starts[node]..end)
                .map_err(|reason| refused(node, reason))?;
            table_starts.push(end);
        }
        check_length("tables", arrays.tables.len(), table_starts[arrays.kinds.len()])?;
        let signals = arrays.inputs + arrays.output_constants.len();
        if let Some(signal) = arrays.output_signals.iter().find(|&&s| s as usize >= signals) {
            let reason = format!("expected outputs below signal {signals}, got {signal}");
            return Err(Error::InvalidProgram { reason });
        }
        Ok(Self { arrays, table_starts })
    }

    /// How many signals go in.
    pub fn inputs(&self) -> usize {
        self.arrays.inputs
    }

    /// How many signals leave.
    pub fn outputs(&self) -> usize {
        self.arrays.output_signals.len()
    }

    /// The largest m of a bootstrap, 0 when there is none.
    pub fn message_bits(&self) -> u32 {
        self.arrays.message_bits.iter().copied().max().unwrap_or(0).into()
    }

    /// log2 of the most tables of a bootstrap, rounded up; none without bootstraps.
    pub(crate) fn most_tables_log(&self) -> Option<usize> {
        let bootstraps = (0..self.nodes()).filter(|&node| self.is_bootstrap(node));
        bootstraps.map(|node| self.tables(node).layout().count_log() as usize).max()
    }

    pub(crate) fn nodes(&self) -> usize {
        self.arrays.kinds.len()
    }

    pub(crate) fn signals(&self) -> usize {
        self.arrays.inputs + self.arrays.output_constants.len()
    }

    pub(crate) fn output_signals(&self) -> &[u32] {
        &self.arrays.output_signals
    }

    pub(crate) fn is_bootstrap(&self, node: usize) -> bool {
        self.arrays.kinds[node] != LINEAR
    }

    /// What the noise of the sum into a bootstrap may come to, in turns.
    pub(crate) fn margin(&self, node: usize) -> f64 {
        match self.arrays.kinds[node] {
            SIGN => SIGN_MARGIN,
            _ => 0.5 / f64::from(1 << self.arrays.message_bits[node]),
        }
    }

    /// The signals that a node sums up, each with its weight.
    pub(crate) fn terms(&self, node: usize) -> impl Iterator<Item = (usize, i32)> {
        let terms = range(&self.arrays.term_starts, node);
        let signals = self.arrays.term_signals[terms.clone()].iter();
        signals.map(|&signal| signal as usize).zip(self.arrays.term_weights[terms].iter().copied())
    }

    pub(crate) fn constant(&self, node: usize) -> u32 {
        self.arrays.constants[node]
    }

    /// The signals that a node makes.
    pub(crate) fn made(&self, node: usize) -> Range<usize> {
        let outputs = range(&self.arrays.output_starts, node);
        self.arrays.inputs + outputs.start..self.arrays.inputs + outputs.end
    }

    /// What is added to each output of a node.
    pub(crate) fn output_constants(&self, node: usize) -> &[u32] {
        &self.arrays.output_constants[range(&self.arrays.output_starts, node)]
    }

    /// The tables of a bootstrap.
    pub(crate) fn tables(&self, node: usize) -> Tables<'_> {
        let values = &self.arrays.tables[self.table_starts[node]..self.table_starts[node + 1]];
        Tables { message_bits: self.arrays.message_bits[node].into(), values }
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (inputs, outputs, nodes) = (self.inputs(), self.outputs(), self.nodes());
        write!(f, "Program({inputs} inputs, {nodes} nodes, {outputs} outputs)")
    }
}

/// Lengths, and starts that begin at 0, never fall and end at the end.
fn check_lengths(arrays: &ProgramArrays) -> Result<()> {
    let nodes = arrays.kinds.len();
    if arrays.inputs > MAX_INPUTS {
        let reason = format!("expected at most {MAX_INPUTS} inputs, got {}", arrays.inputs);
        return Err(Error::InvalidProgram { reason });
    }
    check_length("constants", arrays.constants.len(), nodes)?;
    check_length("message_bits", arrays.message_bits.len(), nodes)?;
    check_length("term_weights", arrays.term_weights.len(), arrays.term_signals.len())?;
    check_starts("term_starts", &arrays.term_starts, nodes, arrays.term_signals.len())?;
    check_starts("output_starts", &arrays.output_starts, nodes, arrays.output_constants.len())
}

fn check_length(name: &str, actual: usize, expected: usize) -> Result<()> {
    if actual == expected {
        return Ok(());
    }
    let reason = format!("expected {expected} numbers in {name}, got {actual}");
    Err(Error::InvalidProgram { reason })
}

fn check_starts(name: &str, starts: &[u32], nodes: usize, end: usize) -> Result<()> {
    check_length(name, starts.len(), nodes + 1)?;
    if starts[0] == 0 && starts.is_sorted() && starts[nodes] as usize == end {
        return Ok(());
    }
    let reason = format!("expected {name} to rise from 0 to {end}");
    Err(Error::InvalidProgram { reason })
}

/// Sums that a run, or the analysis of its noise, could not be made of.
fn check_sums(arrays: &ProgramArrays) -> Result<()> {
    let signals = arrays.inputs + arrays.output_constants.len();
    // By signal, for sources 1: the terms when its sum is written out, and their weights.
    let mut written_out = vec![1u64; signals];
    let mut weights = vec![1u64; signals];
    for node in 0..arrays.kinds.len() {
        let terms = range(&arrays.term_starts, node);
        if terms.len() > MAX_TERMS {
            let reason = format!("expected up to {MAX_TERMS} terms, got {}", terms.len());
            return Err(refused(node, reason));
        }
        let (mut terms_in_all, mut weight_in_all) = (1u64, 0u64);
        for term in terms {
            let (signal, weight) = (arrays.term_signals[term], arrays.term_weights[term]);
            if weight.unsigned_abs() > MAX_WEIGHT {
                let reason = format!("expected weights up to {MAX_WEIGHT}, got {weight}");
                return Err(refused(node, reason));
            }
            // Signals that there are not are refused with the node.
            let at = signal as usize;
            let (Some(terms), Some(own)) = (written_out.get(at), weights.get(at)) else { continue };
            let weight = own.saturating_mul(u64::from(weight.unsigned_abs()));
            terms_in_all = terms_in_all.saturating_add(*terms);
            weight_in_all = weight_in_all.saturating_add(weight);
        }
        if terms_in_all > MAX_WRITTEN_OUT || weight_in_all > MAX_TOTAL_WEIGHT {
            let reason = format!(
                "the sum, with linear nodes written out, has {terms_in_all} terms of weight \
                 {weight_in_all}; expected up to {MAX_WRITTEN_OUT} of weight {MAX_TOTAL_WEIGHT}"
            );
            return Err(refused(node, reason));
        }
        if arrays.kinds[node] == LINEAR
            && let Some(&made) = arrays.output_starts.get(node)
            && let Some(place) = written_out.get_mut(arrays.inputs + made as usize)
        {
            *place = terms_in_all;
            weights[arrays.inputs + made as usize] = weight_in_all;
        }
    }
    Ok(())
}

/// How many numbers the tables of a node have, or what is wrong with it.
fn check_node(arrays: &ProgramArrays, node: usize) -> std::result::Result<usize, String> {
    let outputs = range(&arrays.output_starts, node);
    let earlier = arrays.inputs + outputs.start;
    let signals = &arrays.term_signals[range(&arrays.term_starts, node)];
    if let Some(signal) = signals.iter().find(|&&signal| signal as usize >= earlier) {
        return Err(format!("expected signals below {earlier}, got {signal}"));
    }
    let message_bits = arrays.message_bits[node];
    match arrays.kinds[node] {
        LINEAR if outputs.len() != 1 => {
            Err(format!("expected one output of a linear node, got {}", outputs.len()))
        }
        LINEAR if message_bits != 0 || arrays.output_constants[outputs.start] != 0 => {
            Err("expected a message_bits and an output constant of 0 for a linear node".into())
        }
        LINEAR => Ok(0),
        BOOTSTRAP if !(1..=MAX_MESSAGE_BITS).contains(&message_bits) => {
            Err(format!("expected a message_bits from 1 to {MAX_MESSAGE_BITS}, got {message_bits}"))
        }
        SIGN if message_bits != 1 => {
            Err(format!("expected a message_bits of 1 for a sign, got {message_bits}"))
        }
        BOOTSTRAP | SIGN if !(1..=MAX_OUTPUTS).contains(&outputs.len()) => Err(format!(
            "expected 1 to {MAX_OUTPUTS} outputs of a bootstrap, got {}",
            outputs.len()
        )),
        BOOTSTRAP | SIGN => Ok(outputs.len() << (message_bits - 1)),
        kind => Err(format!("expected kind {LINEAR}, {BOOTSTRAP} or {SIGN}, got {kind}")),
    }
}

/// What is wrong with the tables of a node.
fn check_tables(
    arrays: &ProgramArrays,
    node: usize,
    numbers: Range<usize>,
) -> std::result::Result<(), String> {
    if numbers.is_empty() {
        return Ok(());
    }
    let tables =
        Tables { message_bits: arrays.message_bits[node].into(), values: &arrays.tables[numbers] };
    let (count, most) = (tables.layout().tables.len(), 1 << MAX_TABLES_LOG);
    if count > most {
        return Err(format!("expected up to {most} tables that no rotation gives, got {count}"));
    }
    Ok(())
}

fn refused(node: usize, reason: String) -> Error {
    Error::InvalidProgram { reason: format!("in node {node}, {reason}") }
}

fn range(starts: &[u32], node: usize) -> Range<usize> {
    starts[node] as usize..starts[node + 1] as usize
}
