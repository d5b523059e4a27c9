//! Every operation of CKKS at every level of a set: the device's residues equal the engine's.

mod common;

use common::{Bench, ROTATIONS, assert_same, in_both_orders, insecure, roomy, with_budget};
use device::{Error, Evaluator, Parameters};
use rlwe::ckks::{self, Complex64, Encoding, ParametersLiteral};

/// Every operation at one level.
fn check_level(bench: &Bench, evaluator: &Evaluator, level: usize) {
    let (host, parameters) = (&bench.host, evaluator.parameters());
    let (a, b) = (bench.ciphertext(level, 1), bench.ciphertext(level, 2));
    let plaintext = bench.plaintext(level, 3);
    let [x, y] = [&a, &b].map(|ciphertext| parameters.send(ciphertext).unwrap());
    let z = parameters.send_plaintext(&plaintext).unwrap();
    let same = |found: device::Result<device::Ciphertext>,
                expected: rlwe::Result<ckks::Ciphertext>,
                what: &str| {
        assert_same(&found.unwrap(), &expected.unwrap(), &format!("{what} at level {level}"));
    };
    same(evaluator.add(&x, &y), host.add(&a, &b), "add");
    same(evaluator.sub(&x, &y), host.sub(&a, &b), "sub");
    same(evaluator.add_plain(&x, &z), host.add_plain(&a, &plaintext), "add_plain");
    same(evaluator.sub_plain(&x, &z), host.sub_plain(&a, &plaintext), "sub_plain");
    same(evaluator.negate(&x), host.negate(&a), "negate");
    same(evaluator.multiply_imaginary(&x), host.multiply_imaginary(&a), "multiply_imaginary");
    let half = Complex64::new(-0.5, 0.0);
    same(evaluator.add_real(&x, half.re), host.add_scalar(&a, half), "add_real");
    for factor in [0, -3, 1 << 40] {
        let (found, expected) =
            (evaluator.multiply_integer(&x, factor), host.multiply_integer(&a, factor));
        same(found, expected, "multiply_integer");
    }
    for (k, rotated) in ROTATIONS.iter().zip(evaluator_rotations(evaluator, &x, level)) {
        assert_same(&rotated, &host.rotate(&a, *k).unwrap(), &format!("hoisted by {k}"));
    }
    same(evaluator.rotate(&x, -3), host.rotate(&a, -3), "rotate");
    same(evaluator.conjugate(&x), host.conjugate(&a), "conjugate");
    if level == 0 {
        assert!(matches!(
            evaluator.rescale(&x),
            Err(Error::Engine(rlwe::Error::LevelExhausted { .. }))
        ));
        return;
    }
    same(evaluator.multiply(&x, &y), host.multiply(&a, &b), "multiply");
    same(evaluator.multiply_plain(&x, &z), host.multiply_plain(&a, &plaintext), "multiply_plain");
    let (found, expected) =
        (evaluator.multiply_real(&x, half.re, None), host.multiply_scalar(&a, half, None));
    same(found, expected, "multiply_real");
    let product = host.multiply_lazily(&a, &b).unwrap();
    let sent = evaluator.multiply_lazily(&x, &y).unwrap();
    assert_same(&sent, &product, "multiply_lazily");
    same(
        evaluator.relinearize_and_rescale(&sent),
        host.relinearize_and_rescale(&product),
        "relinearize_and_rescale",
    );
    same(evaluator.rescale(&sent), host.rescale(&product), "rescale of degree 2");
    let (lazy_sum, sum) = (evaluator.add(&sent, &sent), host.add(&product, &product));
    same(lazy_sum, sum, "add of degree 2");
    let (multiple, expected) =
        (evaluator.multiply_plain(&x, &z).unwrap(), host.multiply_plain(&a, &plaintext).unwrap());
    same(evaluator.rescale(&multiple), host.rescale(&expected), "rescale");
}

/// The hoisted rotations that there are keys for at a level.
fn evaluator_rotations(
    evaluator: &Evaluator,
    x: &device::Ciphertext,
    level: usize,
) -> Vec<device::Ciphertext> {
    match evaluator.rotate_hoisted(x, &ROTATIONS) {
        Ok(rotated) => rotated,
        Err(error) => {
            let missing = matches!(error, Error::Engine(rlwe::Error::MissingKey { .. }));
            assert!(missing && level > evaluator.parameters().host().max_level() / 2, "{error}");
            evaluator.rotate_hoisted(x, &ROTATIONS[..3]).unwrap()
        }
    }
}

fn check_set(literal: ParametersLiteral) {
    let bench = Bench::new(literal);
    for device in in_both_orders() {
        let evaluator = bench.on(&device);
        (0..=bench.parameters.max_level()).for_each(|level| check_level(&bench, &evaluator, level));
    }
}

#[test]
fn every_operation_has_the_residues_of_the_cpu_at_every_level() {
    check_set(insecure(8, 6, 40.0, None));
    check_set(insecure(10, 4, 50.0, Some(1)));
    check_set(insecure(11, 5, 33.0, Some(5)));
    check_set(insecure(5, 3, 45.0, Some(2)));
}

#[test]
fn many_primes_and_digits_take_more_than_one_lazy_sum() {
    // More digits than products that one sum holds, and more sources than one conversion's sum.
    check_set(insecure(8, 20, 30.0, Some(14)));
    check_set(insecure(8, 20, 40.0, Some(1)));
}

#[test]
#[ignore = "slow: a secure ring"]
fn a_secure_set_has_the_residues_of_the_cpu() {
    check_set(ParametersLiteral { levels: 6, scale_bits: 40.0, ..Default::default() });
}

#[test]
fn sparse_packings_rotate_within_their_slots() {
    let bench = Bench::new(insecure(8, 2, 40.0, None));
    let evaluator = bench.on(&roomy());
    let values: Vec<f64> = (0..16).map(f64::from).collect();
    let plaintext = bench.parameters.encode_real(&values, Encoding::at(2).within(16.0)).unwrap();
    let a = bench.secret.encrypt(&plaintext).unwrap();
    let x = evaluator.parameters().send(&a).unwrap();
    for k in [1, 17, 16] {
        assert_same(
            &evaluator.rotate(&x, k).unwrap(),
            &bench.host.rotate(&a, k).unwrap(),
            "sparse",
        );
    }
}

#[test]
fn keys_that_do_not_fit_together_take_turns() {
    let bench = Bench::new(insecure(8, 3, 40.0, None));
    let a = bench.ciphertext(3, 1);
    let whole = roomy();
    let evaluator = bench.on(&whole);
    let x = evaluator.parameters().send(&a).unwrap();
    let expected: Vec<_> = evaluator.rotate_hoisted(&x, &[1, -3, 0]).unwrap();
    evaluator.conjugate(&x).unwrap();
    let all_keys = 3 * bench.parameters.evaluation_key_bytes(3).unwrap() as u64;
    // Room for all but one of the three keys, while the same work is done.
    let tight = with_budget(whole.memory().used + all_keys * 2 / 3);
    let evaluator = bench.on(&tight);
    let x = evaluator.parameters().send(&a).unwrap();
    for _ in 0..2 {
        for (found, expected) in
            evaluator.rotate_hoisted(&x, &[1, -3, 0]).unwrap().iter().zip(&expected)
        {
            assert!(found.fetch().unwrap() == expected.fetch().unwrap(), "other residues");
        }
        evaluator.conjugate(&x).unwrap();
        assert!(tight.memory().used <= tight.memory().budget);
    }
}

#[test]
fn what_does_not_fit_is_refused_before_it_runs() {
    let bench = Bench::new(insecure(8, 3, 40.0, None));
    let roomy = roomy();
    let parameters = Parameters::new(&roomy, &bench.parameters).unwrap();
    let a = bench.ciphertext(3, 1);
    let _x = parameters.send(&a).unwrap();
    let small = with_budget(roomy.memory().used + 100_000);
    let evaluator = bench.on(&small);
    let x = evaluator.parameters().send(&a).unwrap();
    // The level's own tables are made before the question, and stay.
    evaluator.add(&x, &x).unwrap();
    let used = small.memory().used;
    let refused = evaluator.rotate(&x, 1).unwrap_err();
    let Error::MemoryBudget { operation, needed, available, budget } = refused else {
        panic!("{refused}");
    };
    assert_eq!((operation, budget), ("rotate", small.memory().budget));
    assert!(needed > available && available == budget - used);
    assert_eq!(small.memory().used, used);
}

#[test]
fn operands_of_others_are_refused() {
    let (bench, other) =
        (Bench::new(insecure(6, 2, 40.0, None)), Bench::new(insecure(6, 2, 40.0, None)));
    let evaluator = bench.on(&roomy());
    let foreign = evaluator.parameters().send(&other.ciphertext(2, 1)).unwrap();
    let refused = evaluator.add(&foreign, &foreign).unwrap_err();
    assert!(matches!(refused, Error::Engine(rlwe::Error::KeyMismatch { .. })));
    let elsewhere = Bench::new(insecure(7, 2, 40.0, None));
    let refused = evaluator.parameters().send(&elsewhere.ciphertext(2, 1)).unwrap_err();
    assert!(matches!(refused, Error::Engine(rlwe::Error::ParametersMismatch { .. })));
    let (a, b) = (bench.ciphertext(2, 1), bench.on(&roomy()));
    let (x, y) = (evaluator.parameters().send(&a).unwrap(), b.parameters().send(&a).unwrap());
    assert!(matches!(evaluator.add(&x, &y).unwrap_err(), Error::DifferentDevices { .. }));
    let high = evaluator.parameters().send(&bench.ciphertext(1, 1)).unwrap();
    let refused = evaluator.add(&x, &high).unwrap_err();
    assert!(matches!(refused, Error::Engine(rlwe::Error::LevelMismatch { .. })));
}
