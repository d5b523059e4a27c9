use super::*;
use crate::ckks::Encoding;
use crate::ckks::ParametersLiteral;
use crate::core::keys::{EvaluationKeysRequest, SecretKey};

use PolynomialBasis::{Chebyshev, Monomial};

/// Uniform numbers in [-1, 1), the same on every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn vector(&mut self, length: usize) -> Vec<f64> {
        (0..length).map(|_| self.next()).collect()
    }

    /// Coefficients of every `step`-th degree from `start` on, up to `degree`.
    fn coefficients(&mut self, degree: usize, start: usize, step: usize) -> Vec<f64> {
        let keep = |n: usize| n >= start && (n - start).is_multiple_of(step);
        (0..=degree).map(|n| if keep(n) { self.next() } else { 0.0 }).collect()
    }
}

fn polynomial(coefficients: &[f64], basis: PolynomialBasis) -> Polynomial {
    Polynomial::new(coefficients, basis).unwrap()
}

struct Bench {
    parameters: Parameters,
    secret: SecretKey,
    evaluator: Evaluator,
}

impl Bench {
    fn new(literal: ParametersLiteral) -> Self {
        let parameters = Parameters::new(literal).unwrap();
        let secret = SecretKey::generate(&parameters).unwrap();
        let relinearisation_level = Some(parameters.max_level());
        let request = EvaluationKeysRequest { relinearisation_level, ..Default::default() };
        let evaluator = Evaluator::new(secret.evaluation_keys(&request).unwrap());
        Self { parameters, secret, evaluator }
    }

    fn small(log_n: u32, levels: usize, scale_bits: f64) -> Self {
        Self::new(ParametersLiteral {
            log_n: Some(log_n),
            levels,
            scale_bits,
            headroom_bits: 20.0,
            insecure: true,
            ..Default::default()
        })
    }

    fn encrypt(&self, values: &[f64], level: usize) -> Ciphertext {
        let encoding = Encoding { level, scale: None, bound: Some(1.0) };
        self.secret.encrypt(&self.parameters.encode_real(values, encoding).unwrap()).unwrap()
    }

    /// Evaluates on a ciphertext and in the clear.
    fn check(&self, polynomial: &Polynomial, values: &[f64], level: usize) {
        let what = format!(
            "degree {} {:?} at level {level} of {}",
            polynomial.degree(),
            polynomial.basis(),
            self.parameters
        );
        let result = self.evaluator.polynomial(&self.encrypt(values, level), polynomial).unwrap();
        assert_eq!(result.level(), level - polynomial.depth(), "{what}");
        assert_eq!(result.scale(), self.parameters.scale(result.level()).unwrap(), "{what}");
        let decrypted = self.secret.decrypt(&result, result.estimate()).unwrap().decode().unwrap();
        let error = values
            .iter()
            .zip(decrypted)
            .map(|(&x, y)| (polynomial.evaluate(x.into()) - y).norm())
            .fold(0.0, f64::max);
        assert!(error < (-result.precision()).exp2(), "{what}: {error:e} > {}", result.precision());
        let largest =
            values.iter().map(|&x| polynomial.evaluate(x.into()).norm()).fold(0.0, f64::max);
        assert!(largest <= result.estimate().bound() * (1.0 + 1e-9), "{what}");
        // The slope of T_n grows as n^2, and precision may fall by as much and some more.
        let slope = 3.0 * (polynomial.degree() as f64 + 1.0).log2();
        let log_n = f64::from(self.parameters.log_n());
        let kept = self.parameters.scale_bits().min(50.0) - slope - log_n;
        assert!(result.precision() > kept, "{what}: {} < {kept}", result.precision());
    }
}

fn clear_power(n: usize, basis: PolynomialBasis, x: f64) -> f64 {
    match basis {
        Monomial => x.powi(n as i32),
        Chebyshev => (n as f64 * x.acos()).cos(),
    }
}

/// The value of a block, after checking that everything is there at its depth.
fn follow(block: &Block, plan: &Plan, basis: PolynomialBasis, depth: usize, x: f64) -> f64 {
    let available = |n: usize| {
        let known = n == 1 || plan.powers.contains(&n);
        assert!(known && plan::power_depth(n) < depth, "power {n} at depth {depth}");
        clear_power(n, basis, x)
    };
    let terms: f64 = block.terms.iter().map(|&(n, c)| c * available(n)).sum();
    let products = block.products.iter();
    let products: f64 =
        products.map(|(n, q)| available(*n) * follow(q, plan, basis, depth - 1, x)).sum();
    block.constant + terms + products
}

#[test]
fn plans_amount_to_the_polynomial_at_least_depth() {
    let mut numbers = Numbers(1);
    for basis in [Monomial, Chebyshev] {
        for degree in (0..130).chain([255, 256, 1000, 4095]) {
            for (start, step) in [(0, 1), (0, 2), (1, 2), (degree, 1), (degree % 8, 8)] {
                let coefficients = numbers.coefficients(degree, start, step);
                let polynomial = polynomial(&coefficients, basis);
                let plan = Plan::new(&polynomial.coefficients, basis);
                assert!(1 << polynomial.depth() > polynomial.degree());
                assert!(
                    polynomial.degree() == 0 || polynomial.degree() >> (polynomial.depth() - 1) > 0
                );
                assert!(plan.key_switches().pow(2) <= 4 * (polynomial.degree() + 1));
                let mut known = vec![1];
                for &n in &plan.powers {
                    let (high, low) = plan::halves(n);
                    assert!(known.contains(&high) && known.contains(&low), "power {n}");
                    if basis == Chebyshev && high > low {
                        assert!(known.contains(&(high - low)), "power {n}");
                    }
                    known.push(n);
                }
                let x = numbers.next();
                let value = follow(&plan.root, &plan, basis, polynomial.depth(), x);
                let expected = polynomial.evaluate(x.into()).re;
                let scale: f64 = coefficients.iter().map(|c| c.abs()).sum();
                assert!(
                    (value - expected).abs() < 1e-10 * (1.0 + scale),
                    "degree {degree} {basis:?}"
                );
            }
        }
    }
}

#[test]
fn plans_take_few_key_switches() {
    let mut numbers = Numbers(2);
    let mut cost = |degree, start, step, basis| {
        let polynomial = polynomial(&numbers.coefficients(degree, start, step), basis);
        let plan = Plan::new(&polynomial.coefficients, basis);
        (plan.key_switches(), plan.products())
    };
    for basis in [Monomial, Chebyshev] {
        assert_eq!(cost(1, 0, 1, basis), (0, 0));
        assert_eq!(cost(2, 0, 1, basis), (1, 1));
        assert_eq!(cost(3, 0, 1, basis), (2, 2));
        assert_eq!(cost(7, 0, 1, basis), (4, 5));
        assert_eq!(cost(15, 0, 1, basis), (7, 8));
        assert_eq!(cost(27, 0, 1, basis), (8, 11));
        assert_eq!(cost(27, 1, 2, basis), (8, 11));
        assert_eq!(cost(28, 0, 2, basis), (7, 8));
        assert_eq!(cost(31, 0, 1, basis), (10, 13));
        assert_eq!(cost(63, 0, 1, basis), (15, 18));
        assert_eq!(cost(127, 0, 1, basis), (20, 27));
        assert_eq!(cost(64, 64, 1, basis), (6, 6));
    }
}

#[test]
fn every_degree_agrees_with_the_clear_evaluation() {
    let bench = Bench::small(8, 7, 45.0);
    let mut numbers = Numbers(3);
    for basis in [Monomial, Chebyshev] {
        for degree in (0..=40).chain([63, 64, 127]) {
            let values = numbers.vector(bench.parameters.slots());
            let polynomial = polynomial(&numbers.coefficients(degree, 0, 1), basis);
            bench.check(&polynomial, &values, polynomial.depth().max(degree % 8));
        }
    }
}

#[test]
fn odd_even_and_sparse_polynomials_agree_too() {
    let bench = Bench::small(9, 6, 35.0);
    let mut numbers = Numbers(4);
    for basis in [Monomial, Chebyshev] {
        for degree in [1, 2, 5, 8, 13, 16, 27, 32, 45, 63] {
            for (start, step) in [(degree % 2, 2), (degree, 1), (degree % 4, 4)] {
                let values = numbers.vector(16);
                let polynomial = polynomial(&numbers.coefficients(degree, start, step), basis);
                bench.check(&polynomial, &values, 6);
            }
        }
    }
}

#[test]
fn values_at_the_ends_stay_under_the_estimate_at_every_scale() {
    let mut numbers = Numbers(5);
    for scale_bits in [25.0, 30.0, 40.0, 50.0, 60.0] {
        let bench = Bench::small(10, 5, scale_bits);
        let mut values = numbers.vector(bench.parameters.slots());
        values[0] = 1.0;
        values[1] = -1.0;
        for degree in [3, 15, 27, 31] {
            let coefficients = numbers.coefficients(degree, 0, 1);
            bench.check(&polynomial(&coefficients, Chebyshev), &values, 5);
        }
    }
}

#[test]
fn a_secure_set_evaluates_degree_27() {
    let bench = Bench::new(ParametersLiteral { log_n: Some(14), levels: 5, ..Default::default() });
    assert!(bench.parameters.is_secure());
    let series = chebyshev_series(27, |x| (8.0 * x).sin());
    let polynomial = polynomial(&series, Chebyshev);
    assert_eq!(polynomial.depth(), 5);
    let values = Numbers(6).vector(bench.parameters.slots());
    assert!((polynomial.evaluate(0.3.into()).re - 2.4f64.sin()).abs() < 1e-9);
    bench.check(&polynomial, &values, 5);
}

/// Interpolation at the Chebyshev nodes.
fn chebyshev_series(degree: usize, function: impl Fn(f64) -> f64) -> Vec<f64> {
    let count = degree + 1;
    let angle = |k: usize| std::f64::consts::PI * (k as f64 + 0.5) / count as f64;
    (0..count)
        .map(|n| {
            let weight = if n == 0 { 1.0 } else { 2.0 };
            let sum: f64 =
                (0..count).map(|k| function(angle(k).cos()) * (n as f64 * angle(k)).cos()).sum();
            weight * sum / count as f64
        })
        .collect()
}

#[test]
fn monomials_take_complex_values_of_any_size() {
    let bench = Bench::small(8, 4, 45.0);
    let coefficients = [0.5, -1.0, 0.0, 0.25, 0.0, 0.125, 0.0, -0.01, 0.001];
    let polynomial = polynomial(&coefficients, Monomial);
    let mut numbers = Numbers(7);
    let slots = bench.parameters.slots();
    let values: Vec<_> =
        (0..slots).map(|_| Complex64::new(numbers.next(), numbers.next()) * 2.0).collect();
    let plaintext = bench.parameters.encode(&values, Encoding::at(4).within(3.0)).unwrap();
    let a = bench.secret.encrypt(&plaintext).unwrap();
    let result = bench.evaluator.polynomial(&a, &polynomial).unwrap();
    let decrypted = bench.secret.decrypt(&result, result.estimate()).unwrap().decode().unwrap();
    let tolerance = (-result.precision()).exp2();
    for (&x, y) in values.iter().zip(decrypted) {
        assert!((polynomial.evaluate(x) - y).norm() < tolerance);
    }
}

#[test]
fn refusals_are_typed() {
    assert!(matches!(Polynomial::new(&[], Monomial), Err(Error::InvalidArgument { .. })));
    assert!(matches!(
        Polynomial::new(&[1.0, f64::NAN], Monomial),
        Err(Error::NotFinite { index: 1, .. })
    ));
    let long = vec![1.0; Polynomial::MAX_DEGREE + 2];
    assert!(matches!(Polynomial::new(&long, Chebyshev), Err(Error::InvalidArgument { .. })));
    assert_eq!(polynomial(&[1.0, 2.0, 0.0], Monomial).degree(), 1);
    assert_eq!(polynomial(&[0.0, 0.0], Monomial).coefficients(), [0.0]);

    let bench = Bench::small(8, 3, 40.0);
    let cubic = polynomial(&[0.0, 1.0, 2.0, 3.0], Chebyshev);
    let low = bench.encrypt(&[0.5], 1);
    assert_eq!(
        bench.evaluator.polynomial(&low, &cubic),
        Err(Error::LevelExhausted { operation: EVALUATE, needed: 2, available: 1 })
    );
    let wide = bench.parameters.encode_real(&[1.5], Encoding::at(3).within(1.5)).unwrap();
    let wide = bench.secret.encrypt(&wide).unwrap();
    assert!(matches!(
        bench.evaluator.polynomial(&wide, &cubic),
        Err(Error::ValueOutOfRange { value: 1.5, bound: 1.0, .. })
    ));
    let fine = bench.encrypt(&[0.5], 3);
    let huge = polynomial(&[0.0, 0.0, 0.0, f64::MAX], Chebyshev);
    assert!(matches!(bench.evaluator.polynomial(&fine, &huge), Err(Error::ValueOutOfRange { .. })));
    let square = bench.evaluator.multiply_lazily(&fine, &fine).unwrap();
    assert!(matches!(
        bench.evaluator.polynomial(&square, &cubic),
        Err(Error::DegreeMismatch { .. })
    ));
    let keyless = Evaluator::new(bench.secret.evaluation_keys(&Default::default()).unwrap());
    assert!(matches!(keyless.polynomial(&fine, &cubic), Err(Error::MissingKey { .. })));
}
