//! Random circuits in small rings: every value on the way is right, its noise under its bound,
//! its estimate the one foretold; what estimates refuse is refused.

use rlwe::bgv::{
    Ciphertext, Diagonals, Estimate, Evaluator, LinearTransform, Parameters, ParametersLiteral,
};
use rlwe::keys::{EvaluationKeysRequest, SecretKey};
use rlwe::{Error, Result, SecretDistribution};

/// An endless choice, the same on every run.
struct Choice(u64);

impl Choice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58476d1ce4e5b9) >> 20
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

const OPERATIONS: usize = 16;
const ROTATIONS: [i64; 3] = [1, 3, -2];

struct Bench {
    parameters: Parameters,
    secret: SecretKey,
    evaluator: Evaluator,
}

/// A ciphertext and what it holds.
#[derive(Clone)]
struct Value {
    ciphertext: Ciphertext,
    slots: Vec<i64>,
}

/// What an operation gave, was foretold to give, and should hold.
type Outcome = (Result<Ciphertext>, Result<Estimate>, Vec<i64>);

impl Bench {
    fn new(literal: ParametersLiteral) -> Self {
        let literal = ParametersLiteral { insecure: true, ..literal };
        let parameters = Parameters::new(literal).unwrap();
        let secret = SecretKey::generate(&parameters).unwrap();
        let top = parameters.max_level();
        let request = EvaluationKeysRequest {
            relinearisation_level: Some(top),
            rotations: ROTATIONS.map(|k| (k, top)).to_vec(),
            conjugation_level: Some(top),
            automorphisms: Vec::new(),
            ..EvaluationKeysRequest::default()
        };
        let evaluator = Evaluator::new(secret.evaluation_keys(&request).unwrap());
        Self { parameters, secret, evaluator }
    }

    fn centred(&self, x: i128) -> i64 {
        let t = i128::from(self.parameters.plaintext_modulus());
        let residue = x.rem_euclid(t);
        (if residue > t / 2 { residue - t } else { residue }) as i64
    }

    /// Random, equal, or extreme slots.
    fn slots(&self, choice: &mut Choice) -> Vec<i64> {
        let half = i64::from(self.parameters.plaintext_modulus() / 2);
        let (shape, equal) = (choice.below(4), self.centred(i128::from(choice.next())));
        let mut slot = |i: usize| match shape {
            0 => equal,
            1 => half - (i as i64 & 1) * 2 * half,
            _ => self.centred(i128::from(choice.next())),
        };
        (0..self.parameters.n()).map(&mut slot).collect()
    }

    fn fresh(&self, choice: &mut Choice) -> Value {
        let level = choice.below(self.parameters.max_level() + 1);
        let slots = self.slots(choice);
        let plaintext = self.parameters.encode(&slots, level).unwrap();
        let ciphertext = match choice.below(4) {
            0 => self.secret.public_key().unwrap().encrypt_integers(&plaintext),
            _ => self.secret.encrypt_integers(&plaintext),
        };
        Value { ciphertext: ciphertext.unwrap(), slots }
    }

    fn zip(&self, x: &[i64], y: &[i64], f: impl Fn(i128, i128) -> i128) -> Vec<i64> {
        x.iter().zip(y).map(|(&x, &y)| self.centred(f(x.into(), y.into()))).collect()
    }

    fn rotated(&self, x: &[i64], k: i64) -> Vec<i64> {
        let n = self.parameters.slots();
        let at = |i: usize| (i as i64 + k).rem_euclid(n as i64) as usize;
        x.chunks_exact(n).flat_map(|row| (0..n).map(move |i| row[at(i)])).collect()
    }

    /// A random operation on values of one level.
    fn operate(&self, a: &Value, b: &Value, choice: &mut Choice) -> Outcome {
        let e = &self.evaluator;
        let (x, y) = (&a.ciphertext, &b.ciphertext);
        let (f, g) = (x.estimate(), y.estimate());
        let level = x.level();
        let encode = |slots: &[i64]| self.parameters.encode(slots, level).unwrap();
        match choice.below(16) {
            0 => (e.add(x, y), f.add(g), self.zip(&a.slots, &b.slots, |x, y| x + y)),
            1 => (e.sub(x, y), f.add(g), self.zip(&a.slots, &b.slots, |x, y| x - y)),
            2 => (e.negate(x), Ok(f.clone()), self.zip(&a.slots, &a.slots, |x, _| -x)),
            3 | 4 => (e.multiply(x, y), f.multiply(g), self.zip(&a.slots, &b.slots, |x, y| x * y)),
            5 => {
                let products = self.zip(&a.slots, &b.slots, |x, y| x * y);
                (e.multiply_lazily(x, y), f.multiply_lazily(g), products)
            }
            6 => {
                let (c, d) = (e.multiply_lazily(x, y), f.multiply_lazily(g));
                let products = self.zip(&a.slots, &b.slots, |x, y| x * y);
                let switched = c.and_then(|c| e.relinearize_and_switch(&c));
                (switched, d.and_then(|d| d.relinearize_and_switch()), products)
            }
            7 => {
                let other = self.slots(choice);
                let sums = self.zip(&a.slots, &other, |x, y| x + y);
                (e.add_plain(x, &encode(&other)), f.add_plain(), sums)
            }
            8 => {
                let other = self.slots(choice);
                let plain = encode(&other);
                let foretold = f.multiply_plain(Some(plain.norm_bits()));
                (e.multiply_plain(x, &plain), foretold, self.zip(&a.slots, &other, |x, y| x * y))
            }
            9 => {
                let c = choice.below(17) as i64 - 8;
                let products = self.zip(&a.slots, &a.slots, |x, _| x * i128::from(c));
                (e.multiply_scalar(x, c), f.multiply_scalar(c), products)
            }
            10 => {
                let k = ROTATIONS[choice.below(ROTATIONS.len())];
                (e.rotate(x, k), f.rotate(), self.rotated(&a.slots, k))
            }
            11 => {
                let (first, second) = a.slots.split_at(self.parameters.slots());
                (e.swap_rows(x), f.rotate(), [second, first].concat())
            }
            12 => {
                let diagonals: Diagonals =
                    [0, 1, 3].into_iter().map(|d| (d, self.slots(choice))).collect();
                let transform =
                    LinearTransform::new(&self.parameters, &diagonals, level, Some(8)).unwrap();
                let terms: Vec<_> =
                    diagonals.iter().map(|(d, v)| (v, self.rotated(&a.slots, *d))).collect();
                let sum = |i: usize| -> i128 {
                    terms.iter().map(|(v, r)| i128::from(v[i]) * i128::from(r[i])).sum()
                };
                let expected = (0..a.slots.len()).map(|i| self.centred(sum(i))).collect();
                (e.linear_transform(x, &transform), f.linear_transform(&transform), expected)
            }
            13 => {
                let lower = choice.below(level + 1);
                let t = self.parameters.plaintext_modulus() as usize;
                let factor = (choice.below(2) == 0).then(|| 1 + choice.below(t - 1) as u32);
                let switched = e.switch_to(x, lower, factor);
                (switched, f.switch_to(lower, factor), a.slots.clone())
            }
            14 => {
                let k = ROTATIONS[choice.below(ROTATIONS.len())];
                let expected = self.zip(&a.slots, &self.rotated(&a.slots, k), |x, y| x - y);
                (e.rotate_sum(x, &[0], &[k]), f.rotate_sum(2, 1), expected)
            }
            _ => (e.switch_down(x), f.switch_down(), a.slots.clone()),
        }
    }

    fn check(&self, value: &Value) {
        let Value { ciphertext, slots } = value;
        assert!(self.secret.decrypt_integers(ciphertext).unwrap() == *slots, "{ciphertext}");
        let measured = self.secret.measure_noise(ciphertext).unwrap();
        let bound = ciphertext.estimate().noise();
        assert!(
            measured.canonical_bits <= bound.canonical_bits
                && measured.length_bits <= bound.length_bits
                && measured.coefficient_bits <= bound.coefficient_bits,
            "{ciphertext}: {measured:?}, bounded by {bound:?}"
        );
    }

    /// Runs a circuit; how many operations were refused.
    fn run(&self, seed: u64) -> usize {
        let choice = &mut Choice(seed);
        let mut values: Vec<Value> = (0..3).map(|_| self.fresh(choice)).collect();
        values.iter().for_each(|value| self.check(value));
        let mut refused = 0;
        for _ in 0..OPERATIONS {
            let pick = |choice: &mut Choice| values[choice.below(values.len())].clone();
            let (mut a, mut b) = (pick(choice), pick(choice));
            match self.evaluator.match_levels(&a.ciphertext, &b.ciphertext) {
                Ok((x, y)) => (a.ciphertext, b.ciphertext) = (x, y),
                Err(refusal) => {
                    assert!(matches!(refusal, Error::NoiseExhausted { .. }), "{refusal}");
                    continue;
                }
            }
            let (made, foretold, slots) = self.operate(&a, &b, choice);
            match (made, foretold) {
                (Ok(ciphertext), Ok(foretold)) => {
                    assert_eq!(*ciphertext.estimate(), foretold);
                    let value = Value { ciphertext, slots };
                    self.check(&value);
                    values.push(value);
                }
                (Err(made), Err(foretold)) => {
                    assert_eq!(std::mem::discriminant(&made), std::mem::discriminant(&foretold));
                    let expected = matches!(
                        made,
                        Error::NoiseExhausted { .. }
                            | Error::DegreeMismatch { .. }
                            | Error::LevelExhausted { .. }
                    );
                    assert!(expected, "{made}");
                    refused += 1;
                }
                (made, foretold) => panic!("{made:?}, foretold {foretold:?}"),
            }
        }
        refused
    }
}

fn benches() -> Vec<Bench> {
    let literal = |log_n, levels, plaintext_modulus| ParametersLiteral {
        log_n: Some(log_n),
        levels,
        plaintext_modulus: Some(plaintext_modulus),
        ..ParametersLiteral::default()
    };
    [
        literal(5, 3, 193),
        literal(6, 5, 65537),
        ParametersLiteral { digits: Some(1), ..literal(7, 2, 1_073_738_753) },
        ParametersLiteral { base_bits: Some(80.0), ..literal(6, 2, 257) },
        ParametersLiteral { level_bits: Some(58.0), ..literal(8, 4, 65537) },
        ParametersLiteral { secret: SecretDistribution::FixedWeight(12), ..literal(5, 4, 7937) },
    ]
    .map(Bench::new)
    .into()
}

fn run(circuits: u64) {
    let benches = benches();
    let refused: usize =
        (0..circuits).map(|seed| benches[(seed % benches.len() as u64) as usize].run(seed)).sum();
    let operations = circuits as usize * OPERATIONS;
    assert!(refused > operations / 50, "only {refused} of {operations} were refused");
    assert!(refused < operations / 2, "{refused} of {operations} were refused");
}

#[test]
fn noise_stays_under_its_bound_in_600_circuits() {
    run(600);
}

#[test]
#[ignore = "a minute"]
fn noise_stays_under_its_bound_in_10_000_circuits() {
    run(10_000);
}
