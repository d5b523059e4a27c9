//! Random circuits on ciphertexts, and on estimates alone: the client's account of a program is
//! the evaluator's, field by field, and errors stay within it.

use rlwe::Error;
use rlwe::ckks::{
    BabySteps, Ciphertext, Complex64, Diagonals, Encoding, Estimate, Evaluator, LinearTransform,
    Parameters, ParametersLiteral, Polynomial, PolynomialBasis, Split,
};
use rlwe::keys::{EvaluationKeysRequest, PublicKey, SecretKey};

const DIAGONALS: [i64; 4] = [-3, 0, 1, 4];
const OPERATIONS: usize = 60;

/// The same choices on every run.
struct Choice(u64);

impl Choice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }

    /// In [-1, 1).
    fn number(&mut self) -> f64 {
        self.below(1 << 20) as f64 / f64::from(1 << 19) - 1.0
    }

    fn numbers(&mut self, count: usize) -> Vec<Complex64> {
        (0..count).map(|_| Complex64::new(self.number(), 0.0)).collect()
    }
}

struct Bench {
    parameters: Parameters,
    secret: SecretKey,
    public: PublicKey,
    evaluator: Evaluator,
    slots: usize,
}

/// A ciphertext, what it holds, and the account of how it was made.
struct Value {
    ciphertext: Ciphertext,
    estimate: Estimate,
    exact: Vec<Complex64>,
}

type Made = rlwe::Result<(Ciphertext, Estimate, Vec<Complex64>)>;

impl Bench {
    fn new(literal: ParametersLiteral, sparsity: usize) -> Self {
        let parameters = Parameters::new(literal).unwrap();
        let secret = SecretKey::generate(&parameters).unwrap();
        let (top, slots) = (parameters.max_level(), parameters.slots() / sparsity);
        let steps = Split::choose(&DIAGONALS, slots, None).rotations().into_iter().chain([1, 2]);
        let request = EvaluationKeysRequest {
            relinearisation_level: Some(top),
            rotations: steps.map(|k| (k.rem_euclid(slots as i64), top)).collect(),
            conjugation_level: Some(top),
            ..Default::default()
        };
        let evaluator = Evaluator::new(secret.evaluation_keys(&request).unwrap());
        let public = secret.public_key().unwrap();
        Self { parameters, secret, public, evaluator, slots }
    }

    fn fresh(&self, choice: &mut Choice) -> Value {
        let level = self.parameters.max_level() - choice.below(2);
        let exact = choice.numbers(self.slots);
        let encoding = Encoding::at(level).within(1.0);
        let plaintext = self.parameters.encode(&exact, encoding).unwrap();
        let estimate = self.parameters.estimate(self.slots, encoding).unwrap();
        assert_eq!(*plaintext.estimate(), estimate);
        let (ciphertext, estimate) = match choice.below(2) {
            0 => (self.secret.encrypt(&plaintext).unwrap(), estimate.encrypted().unwrap()),
            _ => (self.public.encrypt(&plaintext).unwrap(), estimate.encrypted_publicly().unwrap()),
        };
        Value { ciphertext, estimate, exact }
    }

    /// One operation on one or two values, on ciphertexts and on estimates.
    fn operate(&self, choice: &mut Choice, x: &Value, y: &Value) -> Made {
        let (e, a, b) = (&self.evaluator, &x.ciphertext, &y.ciphertext);
        let (f, g) = (&x.estimate, &y.estimate);
        let each = |map: &dyn Fn(usize) -> Complex64| -> Vec<Complex64> {
            (0..self.slots).map(map).collect()
        };
        let real = |x: f64| Complex64::new(x, 0.0);
        let constant = choice.numbers(self.slots);
        let number = choice.number();
        match choice.below(22) {
            0 => Ok((e.add(a, b)?, f.add(g)?, each(&|i| x.exact[i] + y.exact[i]))),
            1 => Ok((e.sub(a, b)?, f.add(g)?, each(&|i| x.exact[i] - y.exact[i]))),
            2 => Ok((e.negate(a)?, f.clone(), each(&|i| -x.exact[i]))),
            operation @ (3 | 4) => {
                let encoding = Encoding { scale: Some(f.scale()), ..Encoding::at(f.level()) };
                let plaintext = self.parameters.encode(&constant, encoding)?;
                let estimate = f.add_plain(plaintext.estimate())?;
                Ok(match operation {
                    3 => {
                        (e.add_plain(a, &plaintext)?, estimate, each(&|i| x.exact[i] + constant[i]))
                    }
                    _ => {
                        (e.sub_plain(a, &plaintext)?, estimate, each(&|i| x.exact[i] - constant[i]))
                    }
                })
            }
            5 => {
                let sum = each(&|i| x.exact[i] + number);
                Ok((e.add_scalar(a, real(number))?, f.add_scalar(real(number))?, sum))
            }
            6 => {
                let i = Complex64::new(0.0, number);
                Ok((e.add_scalar(a, i)?, f.add_scalar(i)?, each(&|at| x.exact[at] + i)))
            }
            7 => Ok((e.multiply(a, b)?, f.multiply(g)?, each(&|i| x.exact[i] * y.exact[i]))),
            8 | 9 => {
                let product = each(&|i| x.exact[i] * y.exact[i]);
                Ok((e.multiply_lazily(a, b)?, f.multiply_lazily(g)?, product))
            }
            10 => {
                let scale = Some(self.parameters.matching_scale(f.level(), f.scale())?);
                let encoding = Encoding { level: f.level(), scale, bound: Some(1.0) };
                let plaintext = self.parameters.encode(&constant, encoding)?;
                let expected = self.parameters.estimate(self.slots, encoding)?;
                let product = each(&|i| x.exact[i] * constant[i]);
                Ok((e.multiply_plain(a, &plaintext)?, f.multiply_plain(&expected)?, product))
            }
            11 => {
                let product = each(&|i| x.exact[i] * number);
                let value = real(number);
                Ok((e.multiply_scalar(a, value, None)?, f.multiply_scalar(value, None)?, product))
            }
            12 => {
                let value = Complex64::new(number, 0.5);
                let product = each(&|i| x.exact[i] * value);
                Ok((e.multiply_scalar(a, value, None)?, f.multiply_scalar(value, None)?, product))
            }
            13 => {
                let by = choice.below(9) as i64 - 4;
                let product = each(&|i| x.exact[i] * by as f64);
                Ok((e.multiply_integer(a, by)?, f.multiply_integer(by), product))
            }
            14 | 15 => {
                Ok((e.relinearize_and_rescale(a)?, f.relinearize_and_rescale()?, x.exact.clone()))
            }
            16 => Ok((e.rescale(a)?, f.rescale()?, x.exact.clone())),
            17 => {
                let level = choice.below(f.level() + 1);
                let scale = self.parameters.scale(level)?;
                Ok((e.align(a, level, scale)?, f.align(level, scale)?, x.exact.clone()))
            }
            18 => {
                let k = choice.below(3) as i64;
                let moved = each(&|i| x.exact[(i + k as usize) % self.slots]);
                Ok((e.rotate(a, k)?, f.rotate(k)?, moved))
            }
            19 => match choice.below(2) {
                0 => Ok((e.conjugate(a)?, f.conjugate()?, each(&|i| x.exact[i].conj()))),
                _ => {
                    let sum = each(&|i| (0..3).map(|k| x.exact[(i + k) % self.slots]).sum());
                    Ok((e.inner_sum(a, 3, 1)?, f.inner_sum(3, 1)?, sum))
                }
            },
            20 => {
                let diagonals: Diagonals =
                    DIAGONALS.iter().map(|&d| (d, choice.numbers(self.slots))).collect();
                let (parameters, at) = (&self.parameters, Encoding::at(f.level()));
                let make = [LinearTransform::new, LinearTransform::streamed];
                let [encoded, numbers] = make
                    .map(|make| make(parameters, &diagonals, self.slots, at, BabySteps::default()));
                let transformed = each(&|i| {
                    let place = |d: i64| (i as i64 + d).rem_euclid(self.slots as i64) as usize;
                    diagonals.iter().map(|(&d, values)| values[i] * x.exact[place(d)]).sum()
                });
                Ok((e.linear_transform(a, &encoded?)?, f.linear_transform(&numbers?)?, transformed))
            }
            _ => {
                let coefficients: Vec<f64> = (0..6).map(|_| choice.number() / 4.0).collect();
                let basis = match choice.below(2) == 0 && x.exact.iter().all(|x| x.im == 0.0) {
                    true => PolynomialBasis::Chebyshev,
                    false => PolynomialBasis::Monomial,
                };
                let polynomial = Polynomial::new(&coefficients, basis)?;
                let values = each(&|i| polynomial.evaluate(x.exact[i]));
                Ok((e.polynomial(a, &polynomial)?, f.polynomial(&polynomial)?, values))
            }
        }
    }

    fn check(&self, what: &str, value: &Value) {
        let Value { ciphertext, estimate, exact } = value;
        assert_eq!(ciphertext.estimate(), estimate, "{what}");
        // Noise that fills the modulus is seen.
        let modulus = self.parameters.log_q(estimate.level()).unwrap().exp2();
        let filled = (-estimate.precision()).exp2() * estimate.scale() > modulus / 4.0;
        let decrypted = match self.secret.decrypt(ciphertext, estimate) {
            Err(Error::BoundOverflow { .. }) => return,
            Err(Error::DecryptionOverflow) if filled => return,
            decrypted => decrypted.unwrap().decode().unwrap(),
        };
        let errors = decrypted.iter().zip(exact).map(|(a, b)| (a - b).norm());
        let (error, largest) = (errors.fold(0.0, f64::max), (-estimate.precision()).exp2());
        // Where errors outgrow values, products of errors have heavier tails.
        let holds = estimate.precision() < 0.0 || error <= largest;
        assert!(holds, "{what}: {error:e} > {largest:e}");
        let most = exact.iter().map(|x| x.norm()).fold(0.0, f64::max);
        assert!(most <= estimate.bound() * (1.0 + 1e-9), "{what}: {most} > {}", estimate.bound());
    }

    fn run(&self, seed: u64) -> usize {
        let mut choice = Choice(seed);
        let mut values: Vec<Value> = (0..3).map(|_| self.fresh(&mut choice)).collect();
        let mut made = 0;
        for number in 0..OPERATIONS {
            let (x, y) = (choice.below(values.len()), choice.below(values.len()));
            let state = choice.0;
            let result = self.operate(&mut choice, &values[x], &values[y]);
            let Ok((ciphertext, estimate, exact)) = result else { continue };
            let value = Value { ciphertext, estimate, exact };
            self.check(&format!("seed {seed}, operation {number}, state {state}"), &value);
            made += 1;
            // Sums of equal values, and bounds that are known to be smaller.
            let bound = value.exact.iter().map(|x| x.norm()).fold(0.0, f64::max) * 1.01;
            let tight = match choice.below(4) {
                0 => Value {
                    ciphertext: value.ciphertext.with_bound(bound).unwrap(),
                    estimate: value.estimate.with_bound(bound).unwrap(),
                    exact: value.exact,
                },
                _ => value,
            };
            if values.len() < 8 {
                values.push(tight);
            } else {
                let place = choice.below(values.len());
                values[place] = if choice.below(3) == 0 { self.fresh(&mut choice) } else { tight };
            }
        }
        made
    }
}

#[test]
fn the_account_of_a_program_is_the_evaluators() {
    let literal = |log_n, levels, scale_bits| ParametersLiteral {
        log_n: Some(log_n),
        levels,
        scale_bits,
        insecure: true,
        ..ParametersLiteral::default()
    };
    let benches = [
        Bench::new(literal(7, 6, 40.0), 1),
        Bench::new(literal(8, 5, 45.0), 8),
        Bench::new(ParametersLiteral { digits: Some(1), ..literal(6, 4, 55.0) }, 1),
    ];
    let made: usize =
        benches.iter().map(|bench| (0..12).map(|seed| bench.run(seed)).sum::<usize>()).sum();
    assert!(made > 12 * 3 * OPERATIONS / 4, "{made}");
}
