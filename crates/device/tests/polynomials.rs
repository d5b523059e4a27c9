//! Polynomials, levels and scales: the device's residues equal the engine's.

mod common;

use common::{Bench, assert_same, in_both_orders, insecure, roomy, with_budget};
use rlwe::ckks::{Polynomial, PolynomialBasis};

const LEVELS: usize = 5;

#[test]
fn polynomials_have_the_residues_of_the_cpu() {
    let bench = Bench::new(insecure(8, LEVELS, 40.0, Some(2)));
    let polynomials = [
        (vec![0.5, -1.0, 0.0, 0.25], PolynomialBasis::Monomial),
        (vec![0.125], PolynomialBasis::Monomial),
        (vec![0.0, 2.0], PolynomialBasis::Monomial),
        ((0..24).map(|i| 1.0 / f64::from(i + 1)).collect(), PolynomialBasis::Chebyshev),
        ((0..20).map(|i| f64::from(i % 2) / 7.0).collect(), PolynomialBasis::Chebyshev),
    ];
    for device in in_both_orders() {
        let evaluator = bench.on(&device);
        for level in [LEVELS, LEVELS - 1] {
            let a = bench.ciphertext(level, 1);
            let x = evaluator.parameters().send(&a).unwrap();
            for (coefficients, basis) in &polynomials {
                let polynomial = Polynomial::new(coefficients, *basis).unwrap();
                if polynomial.depth() > level {
                    continue;
                }
                let expected = bench.host.polynomial(&a, &polynomial).unwrap();
                let found = evaluator.polynomial(&x, &polynomial).unwrap();
                assert_same(&found, &expected, &format!("{basis:?}, level {level}"));
            }
        }
    }
}

#[test]
fn weighted_sums_have_the_residues_of_the_cpu() {
    let bench = Bench::new(insecure(8, LEVELS, 40.0, Some(2)));
    let (weights, offsets) = ([0.5, -1.0, 0.0, 2.5, 1e-3, -7.0], [0.25, -1.0]);
    for device in in_both_orders() {
        let evaluator = bench.on(&device);
        for level in 1..=LEVELS {
            let terms = [1, 2, 3].map(|seed| bench.ciphertext(level, seed));
            let sent = terms.each_ref().map(|a| evaluator.parameters().send(a).unwrap());
            let terms = terms.each_ref();
            let expected = bench.host.weighted_sums(&terms, &weights, &offsets).unwrap();
            let found = evaluator.weighted_sums(&sent.each_ref(), &weights, &offsets).unwrap();
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                assert_same(found, expected, &format!("level {level}"));
            }
        }
    }
}

#[test]
fn polynomials_take_no_more_memory_than_is_said_before() {
    let bench = Bench::new(insecure(10, LEVELS, 40.0, Some(2)));
    let coefficients: Vec<f64> = (0..24).map(|i| 1.0 / f64::from(i + 1)).collect();
    let polynomial = Polynomial::new(&coefficients, PolynomialBasis::Chebyshev).unwrap();
    let a = bench.ciphertext(LEVELS, 1);
    // With its tables and the key there, what is left is the polynomial's.
    let device = roomy();
    let evaluator = bench.on(&device);
    let x = evaluator.parameters().send(&a).unwrap();
    evaluator.polynomial(&x, &polynomial).unwrap();
    let needed = evaluator.parameters().polynomial_bytes(a.estimate(), &polynomial).unwrap();
    let tight = with_budget(device.memory().used + needed);
    let evaluator = bench.on(&tight);
    let x = evaluator.parameters().send(&a).unwrap();
    let expected = bench.host.polynomial(&a, &polynomial).unwrap();
    assert_same(&evaluator.polynomial(&x, &polynomial).unwrap(), &expected, "tight");
}

#[test]
fn ciphertexts_come_to_every_lower_level_and_scale() {
    for scale_bits in [30.0, 40.0, 50.0] {
        let bench = Bench::new(insecure(8, LEVELS, scale_bits, None));
        let evaluator = bench.on(&in_both_orders()[0]);
        let (a, b) = (bench.ciphertext(LEVELS, 1), bench.ciphertext(LEVELS, 2));
        let product = bench.host.multiply_lazily(&a, &b).unwrap();
        for a in [&a, &product] {
            let x = evaluator.parameters().send(a).unwrap();
            for level in 0..=LEVELS {
                for scale in [a.scale(), bench.parameters.scale(level).unwrap()] {
                    let expected = bench.host.align(a, level, scale);
                    let found = evaluator.align(&x, level, scale);
                    match (found, expected) {
                        (Ok(found), Ok(expected)) => {
                            assert_same(&found, &expected, &format!("to level {level}"));
                        }
                        (Err(device::Error::Engine(found)), Err(expected)) => {
                            assert_eq!(found, expected);
                        }
                        (found, expected) => {
                            panic!("{:?}, {:?}", found.map(|_| ()), expected.map(|_| ()));
                        }
                    }
                }
            }
        }
    }
}
