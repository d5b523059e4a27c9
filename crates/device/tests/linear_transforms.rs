//! Linear transforms at every level: the device's residues equal the engine's.

mod common;

use common::{Bench, assert_same, in_both_orders, insecure, roomy, with_budget};
use device::Error;
use rlwe::ckks::{BabySteps, Complex64, Diagonals, Encoding, LinearTransform, ParametersLiteral};

const INDICES: [i64; 9] = [-1, 0, 1, 2, 4, 5, 7, 11, 13];
/// Four baby steps at the most: several giant steps, that by 0 among them.
const BABY_STEPS: usize = 4;

fn diagonals(slots: usize) -> Diagonals {
    let diagonal = |index: i64| {
        let value = |i: usize| Complex64::from_polar(0.5, (index * 3 + i as i64) as f64);
        (index, (0..slots).map(value).collect())
    };
    INDICES.into_iter().map(diagonal).collect()
}

/// A set with keys for a transform at every level.
fn bench(literal: ParametersLiteral) -> Bench {
    Bench::with_rotations(literal, |parameters| {
        let top = parameters.max_level();
        let split = rlwe::ckks::Split::choose(&INDICES, parameters.slots(), Some(BABY_STEPS));
        split.rotations().into_iter().map(|rotation| (rotation, top)).collect()
    })
}

fn transform(bench: &Bench, level: usize) -> LinearTransform {
    let (parameters, slots) = (&bench.parameters, bench.parameters.slots());
    let encoding = Encoding { level, scale: Some(2f64.powi(25)), bound: Some(1.0) };
    LinearTransform::new(
        parameters,
        &diagonals(slots),
        slots,
        encoding,
        BabySteps::below(BABY_STEPS),
    )
    .unwrap()
}

#[test]
fn transforms_have_the_residues_of_the_cpu_at_every_level() {
    for literal in [insecure(8, 4, 40.0, Some(2)), insecure(10, 2, 40.0, Some(1))] {
        let bench = bench(literal);
        let levels = 1..=bench.parameters.max_level();
        let both = in_both_orders();
        for (device, level) in
            both.iter().flat_map(|device| levels.clone().map(move |l| (device, l)))
        {
            let evaluator = bench.on(device);
            let (a, transform) = (bench.ciphertext(level, 1), transform(&bench, level));
            let x = evaluator.parameters().send(&a).unwrap();
            let expected = bench.host.linear_transform(&a, &transform).unwrap();
            let kept = evaluator.parameters().send_transform(&transform).unwrap();
            let found = evaluator.linear_transform(&x, &kept).unwrap();
            assert_same(&found, &expected, &format!("kept, level {level}"));
            let streamed = evaluator.parameters().stream_transform(&transform).unwrap();
            let found = evaluator.linear_transform(&x, &streamed).unwrap();
            assert_same(&found, &expected, &format!("streamed, level {level}"));
        }
    }
}

#[test]
fn transforms_whose_baby_rotations_are_divided_have_the_residues_of_the_cpu() {
    // Giant steps alone, and so many diagonals that divisions cost less than limbs of P.
    let indices: Vec<i64> = (-3..61).collect();
    for (literal, baby_steps) in
        [(insecure(8, 3, 40.0, Some(1)), 1), (insecure(8, 3, 40.0, Some(1)), 8)]
    {
        let bench = Bench::with_rotations(literal, |parameters| {
            let split = rlwe::ckks::Split::choose(&indices, parameters.slots(), Some(baby_steps));
            split.rotations().into_iter().map(|rotation| (rotation, 3)).collect()
        });
        let slots = bench.parameters.slots();
        let value = |index: i64, i: usize| Complex64::from_polar(0.1, (index + i as i64) as f64);
        let diagonals: Diagonals = indices
            .iter()
            .map(|&index| (index, (0..slots).map(|i| value(index, i)).collect()))
            .collect();
        for (device, level) in in_both_orders().iter().zip([3, 2]) {
            let encoding = Encoding { level, scale: Some(2f64.powi(25)), bound: Some(1.0) };
            let (parameters, baby_steps) = (&bench.parameters, BabySteps::below(baby_steps));
            let transform =
                LinearTransform::new(parameters, &diagonals, slots, encoding, baby_steps).unwrap();
            assert!(transform.divides_baby_rotations());
            let a = bench.ciphertext(level, 1);
            let evaluator = bench.on(device);
            let x = evaluator.parameters().send(&a).unwrap();
            let expected = bench.host.linear_transform(&a, &transform).unwrap();
            let kept = evaluator.parameters().send_transform(&transform).unwrap();
            assert_same(&evaluator.linear_transform(&x, &kept).unwrap(), &expected, "kept");
            let streamed = evaluator.parameters().stream_transform(&transform).unwrap();
            assert_same(&evaluator.linear_transform(&x, &streamed).unwrap(), &expected, "streamed");
        }
    }
}

#[test]
fn more_diagonals_than_one_lazy_sum_holds_are_added_up() {
    let literal = insecure(8, 2, 40.0, None);
    let indices: Vec<i64> = (0..30).collect();
    let bench = Bench::with_rotations(literal, |_| indices.iter().map(|&k| (k, 2)).collect());
    let slots = bench.parameters.slots();
    let value = |index: i64, i: usize| Complex64::from_polar(0.3, (index + i as i64) as f64);
    let diagonals: Diagonals = indices
        .iter()
        .map(|&index| (index, (0..slots).map(|i| value(index, i)).collect()))
        .collect();
    let encoding = Encoding::at(2).within(1.0);
    let transform =
        LinearTransform::new(&bench.parameters, &diagonals, slots, encoding, BabySteps::below(32))
            .unwrap();
    let a = bench.ciphertext(2, 1);
    let evaluator = bench.on(&roomy());
    let x = evaluator.parameters().send(&a).unwrap();
    let sent = evaluator.parameters().send_transform(&transform).unwrap();
    let expected = bench.host.linear_transform(&a, &transform).unwrap();
    assert_same(&evaluator.linear_transform(&x, &sent).unwrap(), &expected, "30 diagonals");
}

#[test]
fn transforms_run_in_the_memory_that_they_ask_for_and_are_refused_with_less() {
    let bench = bench(insecure(8, 3, 40.0, Some(2)));
    let (a, transform) = (bench.ciphertext(3, 1), transform(&bench, 3));
    let expected = bench.host.linear_transform(&a, &transform).unwrap();
    let key = bench.parameters.evaluation_key_bytes(3).unwrap() as u64;
    // The least budget that is not refused, to the size of a key.
    let mut refused = 0;
    for budget in (1..).map(|keys| keys * key) {
        let device = with_budget(budget);
        let Ok(parameters) = device::Parameters::new(&device, &bench.parameters) else { continue };
        let evaluator = device::Evaluator::new(&parameters, bench.keys.clone()).unwrap();
        let Ok(x) = parameters.send(&a) else { continue };
        let streamed = parameters.stream_transform(&transform).unwrap();
        match evaluator.linear_transform(&x, &streamed) {
            Ok(found) => {
                assert_same(&found, &expected, "the least memory");
                assert!(device.memory().used <= budget);
                break;
            }
            // It is refused before it runs: by its own name.
            Err(Error::MemoryBudget { operation, .. }) => {
                assert!(["apply a linear transform", "store an index table"].contains(&operation));
                refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused > 0);
}
