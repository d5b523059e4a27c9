//! Recorded programs: what they make of other ciphertexts equals what the CPU does.

mod common;

use std::thread;

use common::{Bench, assert_same, in_both_orders, insecure, roomy, with_budget};
use device::{Ciphertext, Device, Evaluator, Plaintext, Recorded, Recording};
use rlwe::ckks::{self, Encoding, LinearTransform, Polynomial, PolynomialBasis};

const ENOUGH: u64 = 1 << 30;
const LEVEL: usize = 3;

fn bench() -> Bench {
    Bench::new(insecure(8, LEVEL, 40.0, Some(2)))
}

/// What a program needs besides its inputs, there and on the CPU.
struct Program<'a> {
    bench: &'a Bench,
    evaluator: Evaluator,
    plaintext: (ckks::Plaintext, Plaintext),
    transform: (LinearTransform, device::LinearTransform),
}

impl<'a> Program<'a> {
    fn new(bench: &'a Bench, device: &Device) -> Self {
        let evaluator = bench.on(device);
        let parameters = evaluator.parameters();
        let plaintext = bench.plaintext(LEVEL, 9);
        let sent = parameters.send_plaintext(&plaintext).unwrap();
        let slots = bench.parameters.slots();
        let diagonals = [0, 1].map(|index| (index, vec![ckks::Complex64::new(0.3, 0.1); slots]));
        let encoding = Encoding { level: 2, scale: Some(2f64.powi(25)), bound: Some(1.0) };
        let transform = LinearTransform::new(
            &bench.parameters,
            &diagonals.into_iter().collect(),
            slots,
            encoding,
            ckks::BabySteps::below(8),
        );
        let transform = transform.unwrap();
        let there = parameters.send_transform(&transform).unwrap();
        Self { bench, plaintext: (plaintext, sent), transform: (transform, there), evaluator }
    }

    fn send(&self, a: &ckks::Ciphertext) -> Ciphertext {
        self.evaluator.parameters().send(a).unwrap()
    }

    /// Operations of every kind but bootstrapping.
    fn on_device(&self, a: &Ciphertext, b: &Ciphertext) -> Vec<Ciphertext> {
        let on = &self.evaluator;
        let sum = on.add_plain(&on.sub(a, b).unwrap(), &self.plaintext.1).unwrap();
        let product = on.relinearize_and_rescale(&on.multiply_lazily(&sum, b).unwrap()).unwrap();
        let moved = on.rotate_hoisted(&product, &[1, 0, -3]).unwrap();
        let sums = on.weighted_sums(&[&moved[0], &moved[2]], &[0.5, -2.0, 3.0, 0.25], &[0.0, 1.0]);
        let mut made = sums.unwrap();
        made.push(on.conjugate(&on.multiply_imaginary(&moved[1]).unwrap()).unwrap());
        made.push(on.linear_transform(&product, &self.transform.1).unwrap());
        made.push(on.polynomial(&on.negate(a).unwrap(), &cubic()).unwrap());
        made.push(on.multiply_plain(b, &self.plaintext.1).unwrap());
        made
    }

    fn on_cpu(&self, a: &ckks::Ciphertext, b: &ckks::Ciphertext) -> Vec<ckks::Ciphertext> {
        let on = &self.bench.host;
        let sum = on.add_plain(&on.sub(a, b).unwrap(), &self.plaintext.0).unwrap();
        let product = on.relinearize_and_rescale(&on.multiply_lazily(&sum, b).unwrap()).unwrap();
        let moved = on.rotate_hoisted(&product, &[1, 0, -3]).unwrap();
        let sums = on.weighted_sums(&[&moved[0], &moved[2]], &[0.5, -2.0, 3.0, 0.25], &[0.0, 1.0]);
        let mut made = sums.unwrap();
        made.push(on.conjugate(&on.multiply_imaginary(&moved[1]).unwrap()).unwrap());
        made.push(on.linear_transform(&product, &self.transform.0).unwrap());
        made.push(on.polynomial(&on.negate(a).unwrap(), &cubic()).unwrap());
        made.push(on.multiply_plain(b, &self.plaintext.0).unwrap());
        made
    }

    fn ciphertexts(&self, seed: u32) -> [ckks::Ciphertext; 2] {
        [seed, seed + 1].map(|seed| self.bench.ciphertext(LEVEL, seed))
    }

    /// A recording after a run that has sent the keys.
    fn recorded(&self) -> Recorded {
        let inputs = self.ciphertexts(1);
        let [a, b] = [&inputs[0], &inputs[1]].map(|each| self.send(each));
        drop(self.on_device(&a, &b));
        let (results, recorded) = self.record(&a, &b, ENOUGH);
        self.assert_results(&results, &inputs);
        recorded.expect("a program whose keys are there")
    }

    fn record(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        limit: u64,
    ) -> (Vec<Ciphertext>, Option<Recorded>) {
        let device = self.evaluator.parameters().device();
        let mut recording = Recording::begin(device, &[a, b], limit).unwrap().unwrap();
        let made = self.on_device(&recording.inputs()[0], &recording.inputs()[1]);
        recording.keep_results(&made.iter().collect::<Vec<_>>()).unwrap();
        drop(made);
        recording.finish().unwrap()
    }

    fn run(
        &self,
        recorded: &mut Recorded,
        inputs: &[ckks::Ciphertext; 2],
    ) -> Option<Vec<Ciphertext>> {
        let [a, b] = [&inputs[0], &inputs[1]].map(|each| self.send(each));
        recorded.run(&[&a, &b]).unwrap()
    }

    fn assert_results(&self, found: &[Ciphertext], inputs: &[ckks::Ciphertext; 2]) {
        let expected = self.on_cpu(&inputs[0], &inputs[1]);
        assert_eq!(found.len(), expected.len());
        for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_same(found, expected, &format!("result {index}"));
        }
    }
}

fn cubic() -> Polynomial {
    Polynomial::new(&[0.5, -0.25, 0.125, 0.0625], PolynomialBasis::Chebyshev).unwrap()
}

#[test]
fn a_recorded_program_makes_of_other_ciphertexts_what_the_cpu_does() {
    let bench = bench();
    for device in in_both_orders() {
        let program = Program::new(&bench, &device);
        let mut recorded = program.recorded();
        let mut earlier: Vec<(Vec<Ciphertext>, [ckks::Ciphertext; 2])> = Vec::new();
        for seed in [3, 5, 7] {
            let inputs = program.ciphertexts(seed);
            let found = program.run(&mut recorded, &inputs).expect("nothing has left");
            program.assert_results(&found, &inputs);
            // What runs one by one has memory of its own.
            let [a, b] = [&inputs[1], &inputs[0]].map(|each| program.send(each));
            let apart = program.on_device(&a, &b);
            program.assert_results(&apart, &program_inputs(&inputs));
            earlier.push((found, inputs));
        }
        for (found, inputs) in &earlier {
            program.assert_results(found, inputs);
        }
    }
}

fn program_inputs(inputs: &[ckks::Ciphertext; 2]) -> [ckks::Ciphertext; 2] {
    [inputs[1].clone(), inputs[0].clone()]
}

#[test]
fn index_tables_of_every_length_stay_as_they_are() {
    // Of some numbers of limbs and terms a table has as many words as a step before has left.
    for level in 1..=6 {
        let bench = Bench::new(insecure(6, level, 40.0, Some(1)));
        let device = roomy();
        let evaluator = bench.on(&device);
        let [a, b] = [1, 2].map(|seed| bench.ciphertext(level, seed));
        let [x, y] = [&a, &b].map(|each| evaluator.parameters().send(each).unwrap());
        for count in 1..=40 {
            let weights: Vec<f64> = (0..3 * count).map(|i| f64::from(i).sin()).collect();
            let sums = |x: &Ciphertext| {
                let terms = vec![x; count as usize];
                evaluator.weighted_sums(&terms, &weights, &[0.5, 0.0, 0.25]).unwrap()
            };
            drop(sums(&x));
            let mut recording = Recording::begin(&device, &[&x], ENOUGH).unwrap().unwrap();
            let made = sums(&recording.inputs()[0]);
            recording.keep_results(&made.iter().collect::<Vec<_>>()).unwrap();
            drop(made);
            let mut recorded = recording.finish().unwrap().1.expect("sums can be recorded");
            let terms = vec![&b; count as usize];
            let expected = bench.host.weighted_sums(&terms, &weights, &[0.5, 0.0, 0.25]).unwrap();
            for _ in 0..2 {
                let found = recorded.run(&[&y]).unwrap().unwrap();
                for (found, expected) in found.iter().zip(&expected) {
                    assert_same(found, expected, &format!("level {level}, {count} terms"));
                }
            }
        }
    }
}

#[test]
fn its_memory_goes_back() {
    let (bench, device) = (bench(), roomy());
    let program = Program::new(&bench, &device);
    drop(program.recorded());
    let before = device.memory().used;
    let recorded = program.recorded();
    assert!(device.memory().used > before);
    drop(recorded);
    assert_eq!(device.memory().used, before);
}

#[test]
fn two_programs_are_recorded_side_by_side() {
    let (bench, device) = (bench(), roomy());
    let program = Program::new(&bench, &device);
    let [mut first, mut second] = [program.recorded(), program.recorded()];
    for seed in [3, 5] {
        let inputs = program.ciphertexts(seed);
        let found = [&mut first, &mut second].map(|each| program.run(each, &inputs).unwrap());
        found.iter().for_each(|found| program.assert_results(found, &inputs));
    }
}

#[test]
fn what_sends_keys_is_not_recorded() {
    let (bench, device) = (bench(), roomy());
    let program = Program::new(&bench, &device);
    let inputs = program.ciphertexts(1);
    let [a, b] = [&inputs[0], &inputs[1]].map(|each| program.send(each));
    let (results, recorded) = program.record(&a, &b, ENOUGH);
    program.assert_results(&results, &inputs);
    assert!(recorded.is_none());
    assert!(program.record(&a, &b, ENOUGH).1.is_some(), "now they are there");
}

#[test]
fn what_takes_more_memory_than_it_may_is_not_recorded() {
    let (bench, device) = (bench(), roomy());
    let program = Program::new(&bench, &device);
    drop(program.recorded());
    let inputs = program.ciphertexts(1);
    let [a, b] = [&inputs[0], &inputs[1]].map(|each| program.send(each));
    let before = device.memory().used;
    let (results, recorded) = program.record(&a, &b, 1 << 14);
    program.assert_results(&results, &inputs);
    assert!(recorded.is_none());
    drop(results);
    assert_eq!(device.memory().used, before);
}

#[test]
fn what_was_refused_takes_no_more_memory_than_step_by_step() {
    let (bench, device) = (bench(), roomy());
    let program = Program::new(&bench, &device);
    let inputs = program.ciphertexts(1);
    let [a, b] = [&inputs[0], &inputs[1]].map(|each| program.send(each));
    drop(program.on_device(&a, &b));
    let used = device.memory().used;
    let made = program.on_device(&a, &b);
    let results = device.memory().used - used;
    drop(made);
    let mut recording = Recording::begin(&device, &[&a, &b], 0).unwrap().unwrap();
    let made = program.on_device(&recording.inputs()[0], &recording.inputs()[1]);
    let of_inputs = (a.nbytes() + b.nbytes()) as u64;
    assert_eq!(device.memory().used, used + of_inputs + results);
    recording.keep_results(&made.iter().collect::<Vec<_>>()).unwrap();
    drop((made, recording.finish().unwrap()));
    assert_eq!(device.memory().used, used);
}

#[test]
fn keys_that_leave_while_it_is_recorded_make_it_impossible() {
    let (bench, device) = (bench(), with_budget(1 << 26));
    let program = Program::new(&bench, &device);
    drop(program.recorded());
    let inputs = program.ciphertexts(1);
    let [a, b] = [&inputs[0], &inputs[1]].map(|each| program.send(each));
    let mut recording = Recording::begin(&device, &[&a, &b], ENOUGH).unwrap().unwrap();
    let made = program.on_device(&recording.inputs()[0], &recording.inputs()[1]);
    recording.keep_results(&made.iter().collect::<Vec<_>>()).unwrap();
    drop(made);
    let free = device.memory().budget - device.memory().used;
    program.evaluator.require(free + 1, "make room").unwrap();
    let (results, recorded) = recording.finish().unwrap();
    program.assert_results(&results, &inputs);
    assert!(recorded.is_none());
}

#[test]
fn what_leaves_a_ciphertext_in_use_is_not_recorded() {
    let (bench, device) = (bench(), roomy());
    let program = Program::new(&bench, &device);
    drop(program.recorded());
    let [a, b] = program.ciphertexts(1);
    let (x, y) = (program.send(&a), program.send(&b));
    let begin = || Recording::begin(&device, &[&x, &y], ENOUGH).unwrap().unwrap();
    let expected = bench.host.add(&a, &b).unwrap();
    let sum = |recording: &Recording| {
        program.evaluator.add(&recording.inputs()[0], &recording.inputs()[1]).unwrap()
    };

    let mut recording = begin();
    let made = sum(&recording);
    recording.keep_results(&[&made]).unwrap();
    let (results, recorded) = recording.finish().unwrap();
    assert!(recorded.is_none(), "a result is");
    assert_same(&made, &expected, "the program's");
    assert_same(&results[0], &expected, "its copy");

    let mut recording = begin();
    let input = recording.inputs()[0].clone();
    let made = sum(&recording);
    recording.keep_results(&[&made]).unwrap();
    drop(made);
    let (results, recorded) = recording.finish().unwrap();
    assert!(recorded.is_none(), "an input is");
    assert_same(&input, &a, "the input");
    assert_same(&results[0], &expected, "the result");
}

#[test]
fn what_runs_a_recorded_program_is_not_recorded() {
    let (bench, device) = (bench(), roomy());
    let program = Program::new(&bench, &device);
    let mut recorded = program.recorded();
    let inputs = program.ciphertexts(1);
    let [a, b] = [&inputs[0], &inputs[1]].map(|each| program.send(each));
    let mut recording = Recording::begin(&device, &[&a, &b], ENOUGH).unwrap().unwrap();
    let given: Vec<&Ciphertext> = recording.inputs().iter().collect();
    let made = recorded.run(&given).unwrap().unwrap();
    recording.keep_results(&made.iter().collect::<Vec<_>>()).unwrap();
    drop(made);
    let (results, again) = recording.finish().unwrap();
    program.assert_results(&results, &inputs);
    assert!(again.is_none());
}

#[test]
fn what_the_host_reads_on_the_way_is_not_recorded() {
    let (bench, device) = (bench(), roomy());
    let program = Program::new(&bench, &device);
    let [a, b] = program.ciphertexts(1);
    let (x, y) = (program.send(&a), program.send(&b));
    let mut recording = Recording::begin(&device, &[&x, &y], ENOUGH).unwrap().unwrap();
    let made = program.evaluator.add(&recording.inputs()[0], &recording.inputs()[1]).unwrap();
    let fetched = made.fetch().unwrap();
    recording.keep_results(&[&made]).unwrap();
    drop(made);
    let (results, recorded) = recording.finish().unwrap();
    assert!(recorded.is_none());
    assert_same(&results[0], &fetched, "the result");
}

#[test]
fn a_recording_whose_keys_have_left_does_nothing() {
    let (bench, device) = (bench(), with_budget(1 << 26));
    let program = Program::new(&bench, &device);
    let mut recorded = program.recorded();
    let inputs = program.ciphertexts(3);
    assert!(program.run(&mut recorded, &inputs).is_some());
    let free = device.memory().budget - device.memory().used;
    program.evaluator.require(free + 1, "make room").unwrap();
    assert!(program.run(&mut recorded, &inputs).is_none());
    let mut anew = program.recorded();
    program.assert_results(&program.run(&mut anew, &inputs).unwrap(), &inputs);
    assert!(program.run(&mut recorded, &inputs).is_none(), "for good");
}

#[test]
fn other_ciphertexts_than_it_was_recorded_on_are_told_apart() {
    let (bench, device) = (bench(), roomy());
    let program = Program::new(&bench, &device);
    let mut recorded = program.recorded();
    let [a, b] = program.ciphertexts(3).map(|each| program.send(&each));
    let lower = program.send(&bench.ciphertext(LEVEL - 1, 3));
    assert!(recorded.run(&[&a, &lower]).unwrap().is_none(), "another level");
    let bound = a.with_bound(0.5).unwrap();
    assert!(recorded.run(&[&bound, &b]).unwrap().is_none(), "another bound");
    assert!(recorded.run(&[&a]).unwrap().is_none(), "fewer");
    assert!(recorded.run(&[&a, &b]).unwrap().is_some());
}

#[test]
fn one_recording_is_made_at_a_time() {
    let (bench, device) = (bench(), roomy());
    let x = bench.on(&device).parameters().send(&bench.ciphertext(LEVEL, 1)).unwrap();
    let begin = || Recording::begin(&device, &[&x], ENOUGH).unwrap();
    let first = begin();
    assert!(first.is_some());
    assert!(begin().is_none());
    drop(first);
    assert!(begin().is_some());
}

#[test]
fn what_runs_while_another_thread_uses_the_device_is_not_recorded() {
    let (bench, device) = (bench(), roomy());
    let program = Program::new(&bench, &device);
    drop(program.recorded());
    let [a, b] = program.ciphertexts(1);
    let (x, y) = (program.send(&a), program.send(&b));
    let mut recording = Recording::begin(&device, &[&x, &y], ENOUGH).unwrap().unwrap();
    let on = &program.evaluator;
    let first = on.add(&recording.inputs()[0], &recording.inputs()[1]).unwrap();
    let elsewhere = thread::scope(|scope| {
        scope.spawn(|| on.multiply(&x, &y).unwrap().fetch().unwrap()).join().unwrap()
    });
    let made = on.sub(&first, &recording.inputs()[1]).unwrap();
    recording.keep_results(&[&made]).unwrap();
    drop((first, made));
    let (results, recorded) = recording.finish().unwrap();
    assert!(recorded.is_none());
    assert!(elsewhere.words() == bench.host.multiply(&a, &b).unwrap().words());
    let sum = bench.host.add(&a, &b).unwrap();
    assert_same(&results[0], &bench.host.sub(&sum, &b).unwrap(), "the result");
}
