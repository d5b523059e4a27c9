//! Programs on encrypted bits against the same programs on phases without noise.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use tfhe_eval::noise::{bootstrap_variance, fresh_variance, public_variance};
use tfhe_eval::{Ciphertexts, Error, EvaluationKey, Parameters, Program, ProgramArrays, SecretKey};

const HALF: u32 = 1 << 31;
const QUARTER: u32 = 1 << 30;
const EIGHTH: u32 = 1 << 29;
const SIXTEENTH: u32 = 1 << 28;

struct Keys {
    secret: SecretKey,
    evaluation: EvaluationKey,
}

fn keys(name: &str) -> Keys {
    let secret = SecretKey::generate(Parameters::named(name).unwrap()).unwrap();
    let evaluation = secret.evaluation_key().unwrap();
    Keys { secret, evaluation }
}

static SPACE4: LazyLock<Keys> = LazyLock::new(|| keys("space4"));
static SPACE8: LazyLock<Keys> = LazyLock::new(|| keys("space8"));
static SPACE16: LazyLock<Keys> = LazyLock::new(|| keys("space16"));

/// Writes a program node by node; `phases` holds what its signals are without noise.
struct Builder {
    arrays: ProgramArrays,
    phases: Vec<u32>,
}

impl Builder {
    fn new(phases: &[u32]) -> Self {
        let (term_starts, output_starts) = (vec![0], vec![0]);
        let inputs = phases.len();
        let arrays = ProgramArrays { inputs, term_starts, output_starts, ..Default::default() };
        Self { arrays, phases: phases.to_vec() }
    }

    fn add_node(
        &mut self,
        kind: u8,
        terms: &[(usize, i32)],
        constant: u32,
        message_bits: u8,
    ) -> u32 {
        self.arrays.kinds.push(kind);
        self.arrays.message_bits.push(message_bits);
        self.arrays.constants.push(constant);
        self.arrays.term_signals.extend(terms.iter().map(|term| term.0 as u32));
        self.arrays.term_weights.extend(terms.iter().map(|term| term.1));
        self.arrays.term_starts.push(self.arrays.term_signals.len() as u32);
        terms.iter().fold(constant, |sum, &(signal, weight)| {
            sum.wrapping_add(self.phases[signal].wrapping_mul(weight as u32))
        })
    }

    fn end_node(&mut self, outputs: &[u32], constants: &[u32]) -> usize {
        self.arrays.output_constants.extend(constants);
        self.arrays.output_starts.push(self.arrays.output_constants.len() as u32);
        self.phases.extend(outputs);
        self.phases.len() - outputs.len()
    }

    fn linear(&mut self, terms: &[(usize, i32)], constant: u32) -> usize {
        let phase = self.add_node(0, terms, constant, 0);
        self.end_node(&[phase], &[0])
    }

    /// The first output; the others follow it.
    fn bootstrap(
        &mut self,
        terms: &[(usize, i32)],
        constant: u32,
        tables: &[&[u32]],
        constants: &[u32],
    ) -> usize {
        let message_bits = tables[0].len().ilog2() + 1;
        let phase = self.add_node(1, terms, constant, message_bits as u8);
        let (v, half) = ((phase >> (32 - message_bits)) as usize, tables[0].len());
        let outputs: Vec<u32> = tables
            .iter()
            .zip(constants)
            .map(|(table, &constant)| {
                let value = if v < half { table[v] } else { table[v - half].wrapping_neg() };
                value.wrapping_add(constant)
            })
            .collect();
        self.arrays.tables.extend(tables.concat());
        self.end_node(&outputs, constants)
    }

    /// Runs it on what `bits` encrypt and checks that the outputs are the phases expected.
    fn check(mut self, keys: &Keys, bits: &[u8], encodings: &[u32], outputs: &[(usize, u32)]) {
        self.arrays.output_signals = outputs.iter().map(|output| output.0 as u32).collect();
        let inputs = keys.secret.encrypt(bits, encodings).unwrap();
        let program = Program::new(self.arrays).unwrap();
        let found = keys.evaluation.run(&program, &inputs, 2, |_, _| true).unwrap();
        let encodings: Vec<u32> = outputs.iter().map(|output| output.1).collect();
        let decrypted = keys.secret.decrypt(&found, &encodings).unwrap();
        let noise = keys.secret.noise(&found, &encodings).unwrap();
        for (index, &(signal, encoding)) in outputs.iter().enumerate() {
            let phase = self.phases[signal];
            assert!(phase == 0 || phase == encoding, "output {index} has phase {phase:#x}");
            assert_eq!(decrypted[index], u8::from(phase != 0), "output {index} for {bits:?}");
            assert!(noise[index].abs() < 1.0 / 64.0, "output {index}: noise {}", noise[index]);
        }
    }
}

fn phases(bits: &[u8], encodings: &[u32]) -> Vec<u32> {
    bits.iter().zip(encodings).map(|(&bit, &encoding)| u32::from(bit) * encoding).collect()
}

/// All ways to choose bits.
fn choices(count: usize) -> impl Iterator<Item = Vec<u8>> {
    (0..1_u8 << count).map(move |n| (0..count).map(|i| n >> i & 1).collect())
}

fn minus(x: u32) -> u32 {
    x.wrapping_neg()
}

#[test]
fn and_of_a_quarter_bit_and_a_half_bit_is_one_bootstrap() {
    for bits in choices(2) {
        // x in a quarter, y in a half and x again in the encoding that is taken off.
        let bits = [bits[0], bits[1], bits[0], bits[0]];
        let encodings = [QUARTER, HALF, QUARTER, EIGHTH];
        let mut builder = Builder::new(&phases(&bits, &encodings));
        for (same, c) in [(2, QUARTER), (3, EIGHTH)] {
            let product = builder.bootstrap(&[(0, 1), (1, 1)], 0, &[&[0, c]], &[0]);
            let and = builder.linear(&[(same, 1), (product, -1)], 0);
            assert_eq!(builder.phases[and], 2 * c * u32::from(bits[0] & bits[1]));
        }
        let outputs = [(5, HALF), (7, QUARTER)];
        builder.check(&SPACE4, &bits, &encodings, &outputs);
    }
}

#[test]
fn gates_of_two_and_of_three_quarter_bits_land_in_every_encoding() {
    for bits in choices(3) {
        let encodings = [QUARTER; 3];
        let mut builder = Builder::new(&phases(&bits, &encodings));
        let mut outputs = Vec::new();
        let total: u8 = bits.iter().sum();
        for c in [QUARTER, EIGHTH, SIXTEENTH] {
            let (low, high) = ([minus(c), minus(c)], [minus(c), c]);
            let and = builder.bootstrap(&[(0, 1), (1, 1)], 0, &[&low], &[c]);
            let or = builder.bootstrap(&[(0, 1), (1, 1)], 0, &[&high], &[c]);
            let majority = builder.bootstrap(&[(0, 1), (1, 1), (2, 1)], 0, &[&low], &[c]);
            assert_eq!(builder.phases[and] != 0, bits[0] & bits[1] == 1);
            assert_eq!(builder.phases[or] != 0, bits[0] | bits[1] == 1);
            assert_eq!(builder.phases[majority] != 0, total >= 2);
            outputs.extend([and, or, majority].map(|signal| (signal, 2 * c)));
        }
        builder.check(&SPACE4, &bits, &encodings, &outputs);
    }
}

/// One rotation gives g(x)(1 - 2y) and y itself, in encodings of their own.
#[test]
fn two_and_four_tables_share_a_bootstrap() {
    for bits in choices(2) {
        let encodings = [QUARTER, HALF];
        let (e, s) = (EIGHTH, SIXTEENTH);
        let tables = [[minus(e), e], [minus(s), minus(s)], [s, minus(s)], [minus(e), minus(e)]];
        let constants = [e, s, s, e];
        for (keys, count) in [(&SPACE8, 2), (&SPACE16, 3), (&SPACE16, 4)] {
            let mut builder = Builder::new(&phases(&bits, &encodings));
            let tables: Vec<&[u32]> = tables[..count].iter().map(|t| t.as_slice()).collect();
            let first = builder.bootstrap(&[(0, 1), (1, 1)], 0, &tables, &constants[..count]);
            let [x, y] = [bits[0], bits[1]].map(u32::from);
            let all = [(x ^ y) * 2 * e, y * 2 * s, (1 ^ x ^ y) * 2 * s, y * 2 * e];
            assert_eq!(builder.phases[first..], all[..count]);
            let outputs: Vec<_> = (0..count).map(|i| (first + i, 2 * constants[i])).collect();
            builder.check(keys, &bits, &encodings, &outputs);
        }
    }
}

#[test]
fn eight_and_sixteen_messages_are_looked_up() {
    for (keys, count) in [(&SPACE8, 3), (&SPACE16, 4)] {
        let encodings: Vec<u32> = (0..count).rev().map(|i| HALF >> i).collect();
        for bits in choices(count) {
            let mut builder = Builder::new(&phases(&bits, &encodings));
            let terms: Vec<_> = (0..count).map(|i| (i, 1)).collect();
            let mut outputs = Vec::new();
            for pattern in [0b0110_1001_u32, 0b0001_0111, 0b1010_0010] {
                let sign = |v: u32| if pattern >> v & 1 == 1 { EIGHTH } else { minus(EIGHTH) };
                let table: Vec<u32> = (0..1 << (count - 1)).map(sign).collect();
                let output = builder.bootstrap(&terms, 0, &[&table], &[EIGHTH]);
                outputs.push((output, QUARTER));
            }
            builder.check(keys, &bits, &encodings, &outputs);
        }
    }
}

/// One rotation says whether a number reaches each of its values, in the whole message space.
#[test]
fn rotations_of_one_table_share_a_bootstrap_and_cost_no_message_space() {
    for (keys, count) in [(&SPACE4, 2), (&SPACE8, 3), (&SPACE16, 4)] {
        let encodings: Vec<u32> = (0..count).rev().map(|i| HALF >> i).collect();
        let half = 1 << (count - 1);
        let steps: Vec<Vec<u32>> = (0..half)
            .map(|c| (0..half).map(|v| if v + c < half { EIGHTH } else { minus(EIGHTH) }).collect())
            .collect();
        let tables: Vec<&[u32]> = steps.iter().map(Vec::as_slice).collect();
        for bits in choices(count) {
            let mut builder = Builder::new(&phases(&bits, &encodings));
            let terms: Vec<_> = (0..count).map(|i| (i, 1)).collect();
            let first = builder.bootstrap(&terms, 0, &tables, &vec![EIGHTH; half]);
            let outputs: Vec<_> = (0..half).map(|c| (first + c, QUARTER)).collect();
            builder.check(keys, &bits, &encodings, &outputs);
        }
    }
}

/// A linear congruential generator: the same programs in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// Bits in halves and quarters; a node is an exclusive or, a negation, a doubling, or a
/// bootstrap with one table or two.
fn random_program(nodes: usize, bits: &[u8], encodings: &[u32]) -> (Builder, Vec<(usize, u32)>) {
    let mut numbers = Numbers(2026);
    let mut builder = Builder::new(&phases(bits, encodings));
    let (mut halves, mut quarters): (Vec<usize>, Vec<usize>) =
        (0..bits.len()).partition(|&i| encodings[i] == HALF);
    for _ in 0..nodes {
        match numbers.below(8) {
            0 => {
                let (a, b) = (numbers.of(&halves), numbers.of(&halves));
                halves.push(builder.linear(&[(a, 1), (b, 1)], 0));
            }
            1 => {
                let a = numbers.of(&quarters);
                quarters.push(builder.linear(&[(a, -1)], QUARTER));
            }
            2 => {
                let a = numbers.of(&quarters);
                halves.push(builder.linear(&[(a, 2)], 0));
            }
            choice => {
                let (x, y) = (numbers.of(&quarters), numbers.of(&halves));
                let mut table = |c: u32| [0; 2].map(|_| numbers.of(&[c, minus(c)]));
                let (first, second) = (table(QUARTER), table(EIGHTH));
                let terms = [(x, 1), (y, 1)];
                if choice < 6 {
                    quarters.push(builder.bootstrap(&terms, 0, &[&second], &[EIGHTH]));
                } else {
                    let tables: [&[u32]; 2] = [&first, &second];
                    let made = builder.bootstrap(&terms, 0, &tables, &[QUARTER, EIGHTH]);
                    halves.push(made);
                    quarters.push(made + 1);
                }
            }
        }
    }
    let outputs = halves.iter().map(|&s| (s, HALF)).chain(quarters.iter().map(|&s| (s, QUARTER)));
    (builder, outputs.collect())
}

#[test]
fn a_random_program_computes_what_it_says() {
    let bits = [0, 1, 1, 0, 1, 0];
    let encodings = [HALF, HALF, HALF, QUARTER, QUARTER, QUARTER];
    let (builder, outputs) = random_program(50, &bits, &encodings);
    assert!(builder.arrays.kinds.iter().filter(|&&kind| kind == 1).count() > 20);
    builder.check(&SPACE8, &bits, &encodings, &outputs);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let bits = [1, 0, 1, 1];
    let encodings = [HALF, HALF, QUARTER, QUARTER];
    let (mut builder, outputs) = random_program(40, &bits, &encodings);
    builder.arrays.output_signals = outputs.iter().map(|output| output.0 as u32).collect();
    let program = Program::new(builder.arrays).unwrap();
    let inputs = SPACE8.secret.encrypt(&bits, &encodings).unwrap();
    let run = |threads| SPACE8.evaluation.run(&program, &inputs, threads, |_, _| true).unwrap();
    let alone = run(1).to_bytes();
    assert_eq!(alone, run(2).to_bytes());
    assert_eq!(alone, run(5).to_bytes());
}

/// A bootstrap that gives its quarter bit again, as often as asked, one after another.
fn chain(length: usize) -> Program {
    let mut builder = Builder::new(&[0]);
    let mut last = 0;
    for _ in 0..length {
        last = builder.bootstrap(&[(last, 1)], 0, &[&[minus(EIGHTH), EIGHTH]], &[EIGHTH]);
    }
    builder.arrays.output_signals = vec![last as u32];
    Program::new(builder.arrays).unwrap()
}

#[test]
fn the_caller_hears_of_a_run_and_stops_it() {
    let program = chain(20);
    assert_eq!((program.bootstraps(), program.depth()), (20, 20));
    let inputs = SPACE4.secret.encrypt(&[1], &[QUARTER]).unwrap();
    let mut heard = Vec::new();
    let outputs = SPACE4.evaluation.run(&program, &inputs, 1, |made, total| {
        heard.push((made, total));
        true
    });
    assert_eq!(SPACE4.secret.decrypt(&outputs.unwrap(), &[QUARTER]).unwrap(), [1]);
    assert!(heard.is_sorted() && heard.last() == Some(&(20, 20)), "{heard:?}");

    let long = chain(10_000);
    let calls = AtomicUsize::new(0);
    let stopped =
        SPACE4.evaluation.run(&long, &inputs, 2, |_, _| calls.fetch_add(1, Ordering::Relaxed) == 0);
    let Err(Error::Cancelled { made, total: 10_000 }) = stopped else { panic!("{stopped:?}") };
    assert!(made < 1000);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[test]
fn a_program_without_bootstraps_or_outputs_runs() {
    let mut builder = Builder::new(&[QUARTER, 0]);
    let constant = builder.linear(&[], HALF);
    builder.check(&SPACE4, &[1, 0], &[QUARTER; 2], &[(constant, HALF), (0, QUARTER), (1, HALF)]);
    Builder::new(&[]).check(&SPACE4, &[], &[], &[]);
}

#[test]
fn keys_and_parameters_are_not_mixed() {
    let program = chain(1);
    let inputs = SPACE4.secret.encrypt(&[1], &[QUARTER]).unwrap();
    let other = keys("space4");
    let run = |keys: &Keys| keys.evaluation.run(&program, &inputs, 1, |_, _| true).unwrap_err();
    assert!(matches!(run(&other), Error::KeyMismatch { .. }));
    assert!(matches!(run(&SPACE8), Error::ParametersMismatch { .. }));
    let refused = other.secret.decrypt(&inputs, &[QUARTER]).unwrap_err();
    assert!(matches!(refused, Error::KeyMismatch { .. }));
    let foreign = other.secret.encrypt(&[1], &[QUARTER]).unwrap();
    assert!(matches!(inputs.concatenate(&[&foreign]), Err(Error::KeyMismatch { .. })));
    let back = EvaluationKey::from_bytes(&SPACE4.evaluation.to_bytes()).unwrap();
    assert!(back.run(&program, &inputs, 1, |_, _| true).is_ok());
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let Keys { secret, evaluation } = &*SPACE4;
    let is_refused = |error: Error| matches!(error, Error::InvalidArgument { .. });
    assert!(is_refused(secret.encrypt(&[2], &[QUARTER]).unwrap_err()));
    assert!(is_refused(secret.encrypt(&[1, 0], &[QUARTER]).unwrap_err()));
    let inputs = secret.encrypt(&[1, 0], &[QUARTER; 2]).unwrap();
    assert!(is_refused(secret.decrypt(&inputs, &[QUARTER]).unwrap_err()));
    assert!(is_refused(inputs.select(&[0, 2]).unwrap_err()));
    let run = |program: &Program, inputs: &Ciphertexts, threads| {
        evaluation.run(program, inputs, threads, |_, _| true).unwrap_err()
    };
    let one = inputs.select(&[0]).unwrap();
    assert!(is_refused(run(&chain(1), &inputs, 1)));
    assert!(is_refused(run(&chain(1), &one, 0)));
    assert!(is_refused(run(&chain(1), &one, 1 << 20)));
    let mut builder = Builder::new(&[0]);
    builder.bootstrap(&[(0, 1)], 0, &[&[0; 4]], &[0]);
    builder.arrays.output_signals = vec![1];
    assert!(is_refused(run(&Program::new(builder.arrays).unwrap(), &one, 1)));
}

#[test]
fn ciphertexts_are_lists() {
    let secret = &SPACE4.secret;
    let inputs = secret.encrypt(&[1, 0, 1], &[QUARTER; 3]).unwrap();
    let more = inputs.concatenate(&[&inputs.select(&[1, 1]).unwrap()]).unwrap();
    assert_eq!(secret.decrypt(&more, &[QUARTER; 5]).unwrap(), [1, 0, 1, 0, 0]);
    let back = Ciphertexts::from_bytes(&more.to_bytes()).unwrap();
    assert_eq!(secret.decrypt(&back, &[QUARTER; 5]).unwrap(), [1, 0, 1, 0, 0]);
}

#[test]
fn bits_in_the_clear_go_where_encrypted_ones_do() {
    let Keys { secret, evaluation } = &*SPACE4;
    let inputs = secret.encrypt(&[1], &[QUARTER]).unwrap();
    let known = inputs.trivial(&[1, 0], &[QUARTER; 2]).unwrap();
    assert!(secret.noise(&known, &[QUARTER; 2]).unwrap().iter().all(|&noise| noise == 0.0));
    let mut builder = Builder::new(&[QUARTER; 3]);
    let minus_eighth = minus(QUARTER / 2);
    for other in [1, 2] {
        let table = [minus_eighth; 2];
        builder.bootstrap(&[(0, 1), (other, 1)], 0, &[&table], &[QUARTER / 2]);
    }
    builder.arrays.output_signals = vec![3, 4];
    let program = Program::new(builder.arrays).unwrap();
    let together = inputs.concatenate(&[&known]).unwrap();
    let found = evaluation.run(&program, &together, 1, |_, _| true).unwrap();
    assert_eq!(secret.decrypt(&found, &[QUARTER; 2]).unwrap(), [1, 0]);
    for (bits, encodings) in [(&[2][..], &[QUARTER][..]), (&[1], &[])] {
        let error = inputs.trivial(bits, encodings).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument { .. }));
    }
}

#[test]
fn programs_that_break_a_rule_are_refused() {
    let mut builder = Builder::new(&[0, 0]);
    builder.linear(&[(0, 1), (1, -1)], 5);
    builder.bootstrap(&[(2, 1)], 0, &[&[1, 2], &[3, 4]], &[0, 0]);
    builder.arrays.output_signals = vec![3];
    let good = builder.arrays;
    assert!(Program::new(good.clone()).is_ok());
    let breaks: [fn(&mut ProgramArrays); 22] = [
        |p| p.kinds[0] = 2,
        |p| p.kinds[0] = 1,
        |p| p.kinds[1] = 0,
        |p| p.kinds.truncate(1),
        |p| p.term_starts[0] = 1,
        |p| p.term_starts[1] = 4,
        |p| p.term_starts.truncate(2),
        |p| p.term_starts.clear(),
        |p| p.term_signals[0] = 2,
        |p| p.term_signals[2] = 3,
        |p| p.term_weights.truncate(2),
        |p| p.constants.push(0),
        |p| p.message_bits[0] = 1,
        |p| p.message_bits[1] = 0,
        |p| p.message_bits[1] = 200,
        |p| p.output_starts[1] = 0,
        |p| p.output_starts[1] = 2,
        |p| p.tables.truncate(3),
        |p| p.tables.push(0),
        |p| p.output_constants[0] = 1,
        |p| p.output_signals[0] = 5,
        |p| p.inputs = 1 << 40,
    ];
    for (index, harm) in breaks.into_iter().enumerate() {
        let mut bad = good.clone();
        harm(&mut bad);
        let refused = Program::new(bad);
        assert!(matches!(refused, Err(Error::InvalidProgram { .. })), "{index}: {refused:?}");
    }
}

#[test]
fn too_many_outputs_or_tables_are_refused() {
    let step = [1, 1, 1, 1];
    let several = [[1, 1, 1, 1], [1, 2, 3, 4], [1, 3, 2, 4], [1, 4, 2, 3], [2, 4, 1, 3]];
    let repeated = |times| vec![&step[..]; times];
    let different = |times| several[..times].iter().map(|table| &table[..]).collect();
    let cases: [(Vec<&[u32]>, bool); 4] =
        [(repeated(8), true), (repeated(9), false), (different(4), true), (different(5), false)];
    for (tables, legal) in cases {
        let mut builder = Builder::new(&[0]);
        builder.bootstrap(&[(0, 1)], 0, &tables, &vec![0; tables.len()]);
        let made = Program::new(builder.arrays);
        assert_eq!(made.is_ok(), legal, "{made:?}");
        assert!(legal || matches!(made, Err(Error::InvalidProgram { .. })));
    }
}

/// The variance of 400 samples is found to within 7 %, two times in three.
#[test]
fn programs_too_large_to_be_analysed_are_refused() {
    let chain = |weight: i32, nodes: usize| ProgramArrays {
        inputs: 1,
        kinds: vec![0; nodes],
        term_starts: (0..=nodes as u32).collect(),
        term_signals: (0..nodes as u32).collect(),
        term_weights: vec![weight; nodes],
        constants: vec![0; nodes],
        message_bits: vec![0; nodes],
        output_starts: (0..=nodes as u32).collect(),
        output_constants: vec![0; nodes],
        output_signals: vec![nodes as u32],
        ..Default::default()
    };
    let empty =
        ProgramArrays { term_starts: vec![0], output_starts: vec![0], ..Default::default() };
    let wide = |terms: usize| ProgramArrays {
        term_starts: vec![0, terms as u32],
        term_signals: vec![0; terms],
        term_weights: vec![1; terms],
        ..chain(1, 1)
    };
    // A node that adds the one before to itself: every step doubles what it is written out to.
    let doubling = |nodes: usize| ProgramArrays {
        term_starts: (0..=nodes as u32).map(|node| 2 * node).collect(),
        term_signals: (0..nodes as u32).flat_map(|node| [node, node]).collect(),
        term_weights: vec![1; 2 * nodes],
        ..chain(1, nodes)
    };
    let cases = [
        (ProgramArrays { inputs: u32::MAX as usize, ..empty.clone() }, "at most 1048576 inputs"),
        (ProgramArrays { inputs: usize::MAX, ..empty }, "at most 1048576 inputs"),
        (chain(1 << 30, 40), "expected weights up to 65536, got 1073741824"),
        (chain(i32::MIN, 1), "expected weights up to 65536, got -2147483648"),
        (chain(1 << 16, 3), "terms of weight 281474976710656"),
        (wide(20_000), "expected up to 16384 terms, got 20000"),
        (doubling(21), "expected up to 1048576 of weight"),
        (doubling(200), "terms of weight"),
    ];
    for (arrays, expected) in cases {
        let Err(Error::InvalidProgram { reason }) = Program::new(arrays) else {
            panic!("not refused: {expected}")
        };
        assert!(reason.contains(expected), "{reason}");
    }
    for arrays in [chain(1 << 16, 2), wide(16_000), doubling(19)] {
        assert!(Program::new(arrays).is_ok());
    }
}

#[test]
fn a_public_key_encrypts_what_the_secret_key_decrypts_and_programs_take() {
    for keys in [&*SPACE4, &*SPACE8, &*SPACE16] {
        let public = keys.secret.public_key().unwrap();
        assert_eq!(public.label(), keys.secret.label());
        let (bits, encodings) = ([1, 0, 1, 1, 0], [HALF, QUARTER, EIGHTH, QUARTER, HALF]);
        let encrypted = public.encrypt(&bits, &encodings).unwrap();
        assert_eq!(keys.secret.decrypt(&encrypted, &encodings).unwrap(), bits);
        // Of two encryptions nothing is the same.
        let again = public.encrypt(&bits, &encodings).unwrap();
        assert_ne!(again.to_bytes()[64..], encrypted.to_bytes()[64..]);
        let refused = public.encrypt(&[2], &[HALF]);
        assert!(matches!(refused, Err(Error::InvalidArgument { .. })));
        let refused = public.encrypt(&[1], &[]);
        assert!(matches!(refused, Err(Error::InvalidArgument { .. })));
    }
    for bits in choices(2) {
        let encodings = [QUARTER, QUARTER];
        let mut builder = Builder::new(&phases(&bits, &encodings));
        let both = &[minus(EIGHTH), minus(EIGHTH)];
        let and = builder.bootstrap(&[(0, 1), (1, 1)], 0, &[both], &[EIGHTH]);
        builder.arrays.output_signals = vec![and as u32];
        let program = Program::new(builder.arrays).unwrap();
        let inputs = SPACE4.secret.public_key().unwrap().encrypt(&bits, &encodings).unwrap();
        let found = SPACE4.evaluation.run(&program, &inputs, 1, |_, _| true).unwrap();
        let found = SPACE4.secret.decrypt(&found, &[QUARTER]).unwrap();
        assert_eq!(found, [bits[0] & bits[1]]);
    }
}

/// The variance of inputs by a public key stays below what is stated, and their noises are
/// uncorrelated.
#[test]
fn inputs_by_a_public_key_have_the_noise_that_is_stated() {
    const COUNT: usize = 600;
    for keys in [&*SPACE4, &*SPACE8, &*SPACE16] {
        let public = keys.secret.public_key().unwrap();
        let encrypted = public.encrypt(&[0; COUNT], &[HALF; COUNT]).unwrap();
        let noise = keys.secret.noise(&encrypted, &[HALF; COUNT]).unwrap();
        let square = noise.iter().map(|x| x * x).sum::<f64>() / COUNT as f64;
        let stated = public_variance(keys.secret.parameters());
        assert!((0.75..1.25).contains(&(square / stated)), "{square:e} {stated:e}");
        assert!(stated > fresh_variance(keys.secret.parameters()));
        let mean = noise.iter().sum::<f64>() / COUNT as f64;
        assert!(mean.abs() < 5.0 * (stated / COUNT as f64).sqrt(), "{mean:e}");
        let pairs = noise.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / COUNT as f64;
        assert!(pairs.abs() < 5.0 * stated / (COUNT as f64).sqrt(), "{pairs:e} {stated:e}");
    }
}

#[test]
fn a_run_reports_when_each_bootstrap_was_made() {
    let program = chain(5);
    let inputs = SPACE4.secret.encrypt(&[1], &[QUARTER]).unwrap();
    let (_, times) = SPACE4.evaluation.run_timed(&program, &inputs, 2, |_, _| true).unwrap();
    let nodes: Vec<usize> = times.iter().map(|time| time.node).collect();
    assert_eq!(nodes, [0, 1, 2, 3, 4]);
    for pair in times.windows(2) {
        assert!(pair[0].start + pair[0].seconds <= pair[1].start);
    }
    assert!(times.iter().all(|time| time.seconds > 0.0 && time.thread < 2));
}

#[test]
fn signals_have_the_noise_that_is_stated() {
    const SAMPLES: usize = 400;
    for keys in [&SPACE4, &SPACE8, &SPACE16] {
        let parameters = keys.secret.parameters();
        let mut builder = Builder::new(&[0; SAMPLES]);
        for input in 0..SAMPLES {
            let output =
                builder.bootstrap(&[(input, 1)], 0, &[&[minus(EIGHTH), EIGHTH]], &[EIGHTH]);
            builder.arrays.output_signals.push(output as u32);
        }
        let program = Program::new(builder.arrays).unwrap();
        let bits: Vec<u8> = (0..SAMPLES).map(|i| (i % 2) as u8).collect();
        let inputs = keys.secret.encrypt(&bits, &[QUARTER; SAMPLES]).unwrap();
        let outputs = keys.evaluation.run(&program, &inputs, 2, |_, _| true).unwrap();
        assert_eq!(keys.secret.decrypt(&outputs, &[QUARTER; SAMPLES]).unwrap(), bits);
        for (ciphertexts, stated) in
            [(&inputs, fresh_variance(parameters)), (&outputs, bootstrap_variance(parameters))]
        {
            let noise = keys.secret.noise(ciphertexts, &[QUARTER; SAMPLES]).unwrap();
            let measured = noise.iter().map(|x| x * x).sum::<f64>() / SAMPLES as f64;
            let ratio = measured / stated;
            assert!((0.6..1.4).contains(&ratio), "{parameters:?}: {ratio}");
        }
    }
}

#[test]
fn signals_of_one_bootstrap_are_correlated_as_stated() {
    const SAMPLES: usize = 400;
    let keys = &SPACE8;
    let mut builder = Builder::new(&[0; SAMPLES]);
    // The last one is the first one, rotated.
    let tables: [&[u32]; 3] =
        [&[minus(EIGHTH), EIGHTH], &[minus(SIXTEENTH), SIXTEENTH], &[EIGHTH, EIGHTH]];
    for input in 0..SAMPLES {
        let output = builder.bootstrap(&[(input, 1)], 0, &tables, &[EIGHTH, SIXTEENTH, EIGHTH]);
        builder.arrays.output_signals.extend((output as u32)..output as u32 + 3);
    }
    let program = Program::new(builder.arrays).unwrap();
    let inputs = keys.secret.encrypt(&[1; SAMPLES], &[QUARTER; SAMPLES]).unwrap();
    let outputs = keys.evaluation.run(&program, &inputs, 2, |_, _| true).unwrap();
    let encodings = [QUARTER, EIGHTH, QUARTER].repeat(SAMPLES);
    let noise = keys.secret.noise(&outputs, &encodings).unwrap();
    let mean = |i: usize, j: usize| {
        noise.chunks_exact(3).map(|three| three[i] * three[j]).sum::<f64>() / SAMPLES as f64
    };
    let stated = bootstrap_variance(keys.secret.parameters());
    for i in 0..3 {
        let measured = mean(i, i);
        assert!((0.6..1.4).contains(&(measured / stated)), "{i}: {measured:e}, {stated:e}");
    }
    // A correlation is found to within 0.05, two times in three. Far places have next to none.
    for (i, j, within) in [(0, 1, 0.15..0.7), (0, 2, -0.25..0.7), (1, 2, -0.25..0.7)] {
        let correlation = mean(i, j) / (mean(i, i) * mean(j, j)).sqrt();
        assert!(within.contains(&correlation), "{i}, {j}: {correlation}");
    }
}
