//! Every operation at every level, against complex double precision: the error of the
//! values stays under the ciphertext's own estimate.

use rlwe::Error;
use rlwe::ckks::{
    BabySteps, Ciphertext, Complex64, Diagonals, Encoding, Evaluator, Flooding, LinearTransform,
    Parameters, ParametersLiteral, Plaintext, Polynomial, PolynomialBasis, SparseDiagonals, Split,
    TransformTerms, inner_sum_rotations,
};
use rlwe::keys::{EvaluationKeysRequest, SecretKey};

/// Uniform numbers in [-1, 1), the same on every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Complex numbers in the unit disc.
    fn vector(&mut self, length: usize) -> Vec<Complex64> {
        (0..length)
            .map(|_| Complex64::new(self.next(), self.next()) * std::f64::consts::FRAC_1_SQRT_2)
            .collect()
    }
}

/// Estimates may be this much too careful, in bits.
const SLACK_BITS: f64 = 9.0;

const DIAGONALS: [i64; 7] = [-1, 0, 1, 2, 4, 5, 7];
const BABY_STEPS: [Option<usize>; 4] = [None, Some(1), Some(4), Some(8)];

/// Of many diagonals: baby rotations are divided, as there are fewer than giant ones.
const FEW_BABY_STEPS: usize = 4;

fn many_diagonals(slots: usize) -> Vec<i64> {
    (0..slots.min(64) as i64).collect()
}

/// The Galois element of a rotation by 2 after a conjugation: -5^2 mod 2N.
fn conjugate_rotation(parameters: &Parameters) -> usize {
    2 * parameters.n() - 25
}

struct Bench {
    parameters: Parameters,
    secret: SecretKey,
    evaluator: Evaluator,
    slots: usize,
}

const SUM_LENGTH: usize = 5;
const SUM_STRIDE: i64 = 3;

impl Bench {
    fn new(literal: ParametersLiteral, sparsity: usize) -> Self {
        let parameters = Parameters::new(literal).unwrap();
        let secret = SecretKey::generate(&parameters).unwrap();
        let top = parameters.max_level();
        let slots = parameters.slots() / sparsity;
        let rotations = inner_sum_rotations(SUM_LENGTH, SUM_STRIDE);
        let half = slots as i64 / 2;
        let splits = BABY_STEPS.map(|steps| Split::choose(&DIAGONALS, slots, steps));
        let many = Split::choose(&many_diagonals(slots), slots, Some(FEW_BABY_STEPS));
        let transforms = splits.iter().chain([&many]).flat_map(Split::rotations);
        let moves = rotations.into_iter().chain([1, 2, -1, half]).chain(transforms);
        let request = EvaluationKeysRequest {
            relinearisation_level: Some(top),
            rotations: moves.map(|k| (k.rem_euclid(slots as i64), top)).collect(),
            conjugation_level: Some(top),
            automorphisms: vec![(conjugate_rotation(&parameters), top)],
            ..Default::default()
        };
        let evaluator = Evaluator::new(secret.evaluation_keys(&request).unwrap());
        Self { parameters, secret, evaluator, slots }
    }

    fn encrypt(&self, values: &[Complex64], level: usize) -> Ciphertext {
        let encoding = Encoding::at(level).within(1.0);
        self.secret.encrypt(&self.parameters.encode(values, encoding).unwrap()).unwrap()
    }

    /// The values are right within the estimate, and the estimate is not idle.
    fn check(&self, name: &str, ciphertext: &Ciphertext, expected: &[Complex64]) {
        let values =
            self.secret.decrypt(ciphertext, ciphertext.estimate()).unwrap().decode().unwrap();
        assert_eq!(values.len(), expected.len(), "{name}");
        let error = values.iter().zip(expected).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        let (level, precision) = (ciphertext.level(), ciphertext.precision());
        let measured = -error.log2();
        assert!(
            measured >= precision,
            "{name} at level {level}: {measured:.2} bits, estimated {precision:.2}"
        );
        assert!(
            measured <= precision + SLACK_BITS,
            "{name} at level {level}: {measured:.2} bits, estimated only {precision:.2}"
        );
        let largest = expected.iter().map(|x| x.norm()).fold(0.0, f64::max);
        assert!(largest <= ciphertext.estimate().bound() * (1.0 + 1e-9), "{name}: bound");
    }

    /// Products of canonical ciphertexts are canonical again after rescaling.
    fn check_canonical(&self, ciphertext: &Ciphertext) {
        let canonical = self.parameters.scale(ciphertext.level()).unwrap();
        let ratio = ciphertext.scale() / canonical;
        assert!((ratio - 1.0).abs() < 1e-14, "scale off by {ratio}");
    }

    fn linear(&self, level: usize) {
        let numbers = &mut Numbers(level as u64 + 5);
        let (x, y) = (numbers.vector(self.slots), numbers.vector(self.slots));
        let (a, b) = (self.encrypt(&x, level), self.encrypt(&y, level));
        let e = &self.evaluator;
        let map = |f: &dyn Fn(Complex64, Complex64) -> Complex64| -> Vec<Complex64> {
            x.iter().zip(&y).map(|(x, y)| f(*x, *y)).collect()
        };
        self.check("encrypt", &a, &x);
        let encoding = Encoding::at(level).within(1.0);
        let plain = self.parameters.encode(&y, encoding).unwrap();
        let public = self.secret.public_key().unwrap().encrypt(&plain).unwrap();
        self.check("encrypt under the public key", &public, &y);
        self.check("add", &e.add(&a, &b).unwrap(), &map(&|x, y| x + y));
        self.check("subtract", &e.sub(&a, &b).unwrap(), &map(&|x, y| x - y));
        self.check("negate", &e.negate(&a).unwrap(), &map(&|x, _| -x));
        let i = Complex64::new(0.0, 1.0);
        self.check("multiply by i", &e.multiply_imaginary(&a).unwrap(), &map(&|x, _| i * x));
        self.check("add a plaintext", &e.add_plain(&a, &plain).unwrap(), &map(&|x, y| x + y));
        self.check("subtract a plaintext", &e.sub_plain(&a, &plain).unwrap(), &map(&|x, y| x - y));
        let c = Complex64::new(0.3, -1.2);
        self.check("add a scalar", &e.add_scalar(&a, c).unwrap(), &map(&|x, _| x + c));
        let r = Complex64::new(-0.7, 0.0);
        self.check("add a real scalar", &e.add_scalar(&a, r).unwrap(), &map(&|x, _| x + r));
        let triple = e.multiply_integer(&a, -3).unwrap();
        self.check("multiply by an integer", &triple, &map(&|x, _| x * -3.0));
    }

    fn moves(&self, level: usize) {
        let x = Numbers(level as u64 + 6).vector(self.slots);
        let a = self.encrypt(&x, level);
        let e = &self.evaluator;
        let n = self.slots as i64;
        let rotated = |k: i64| -> Vec<Complex64> {
            (0..n).map(|i| x[(i + k).rem_euclid(n) as usize]).collect()
        };
        for k in [0, 1, -1, n / 2, n + 2] {
            self.check("rotate", &e.rotate(&a, k).unwrap(), &rotated(k));
        }
        for (k, c) in [1, 0, 2].into_iter().zip(e.rotate_hoisted(&a, &[1, 0, 2]).unwrap()) {
            self.check("rotate hoisted", &c, &rotated(k));
        }
        let conjugates: Vec<_> = x.iter().map(|x| x.conj()).collect();
        self.check("conjugate", &e.conjugate(&a).unwrap(), &conjugates);
        let both: Vec<_> = rotated(2).iter().map(|x| x.conj()).collect();
        let moved = e.automorphism(&a, conjugate_rotation(&self.parameters)).unwrap();
        self.check("apply an automorphism", &moved, &both);
        let sums: Vec<Complex64> = (0..n)
            .map(|i| (0..SUM_LENGTH as i64).map(|k| x[((i + k * SUM_STRIDE) % n) as usize]).sum())
            .collect();
        self.check("sum slots", &e.inner_sum(&a, SUM_LENGTH, SUM_STRIDE).unwrap(), &sums);
    }

    fn products(&self, level: usize) {
        let numbers = &mut Numbers(level as u64 + 7);
        let (x, y) = (numbers.vector(self.slots), numbers.vector(self.slots));
        let (a, b) = (self.encrypt(&x, level), self.encrypt(&y, level));
        let e = &self.evaluator;
        let products: Vec<_> = x.iter().zip(&y).map(|(x, y)| x * y).collect();
        let product = e.multiply(&a, &b).unwrap();
        self.check("multiply", &product, &products);
        let rescaled = e.rescale(&product).unwrap();
        self.check("multiply and rescale", &rescaled, &products);
        self.check_canonical(&rescaled);
        let lazy = e.multiply_lazily(&a, &b).unwrap();
        self.check("multiply lazily", &lazy, &products);
        self.check("rescale at degree 2", &e.rescale(&lazy).unwrap(), &products);
        self.check("relinearise", &e.relinearize(&lazy).unwrap(), &products);
        for product in [&lazy, &product] {
            let rescaled = e.relinearize_and_rescale(product).unwrap();
            self.check("relinearise and rescale", &rescaled, &products);
            self.check_canonical(&rescaled);
        }
        let squares: Vec<_> = x.iter().map(|x| x * x).collect();
        self.check("square", &e.rescale(&e.square(&a).unwrap()).unwrap(), &squares);
        let scale = self.parameters.matching_scale(level, a.scale()).unwrap();
        let encoding = Encoding { level, scale: Some(scale), bound: Some(1.0) };
        let plain = self.parameters.encode(&y, encoding).unwrap();
        let rescaled = e.rescale(&e.multiply_plain(&a, &plain).unwrap()).unwrap();
        self.check("multiply by a plaintext", &rescaled, &products);
        self.check_canonical(&rescaled);
        for c in [Complex64::new(0.4, -1.5), Complex64::new(-0.6, 0.0)] {
            let scaled: Vec<_> = x.iter().map(|x| x * c).collect();
            let rescaled = e.rescale(&e.multiply_scalar(&a, c, None).unwrap()).unwrap();
            self.check("multiply by a scalar", &rescaled, &scaled);
            self.check_canonical(&rescaled);
        }
        for lower in 0..level {
            let aligned = e.align(&a, lower, self.parameters.scale(lower).unwrap()).unwrap();
            self.check("align", &aligned, &x);
            assert_eq!(aligned.level(), lower);
            self.check("drop a level", &e.drop_level(&a, lower).unwrap(), &x);
        }
    }

    fn transforms(&self, level: usize) {
        let numbers = &mut Numbers(level as u64 + 8);
        let x = numbers.vector(self.slots);
        let a = self.encrypt(&x, level);
        let n = self.slots as i64;
        // The values of most repeat themselves, and such are encoded by shorter transforms.
        let repeats = [1, 2, 4, 8, 1, 2, self.slots].map(|times: usize| times.min(self.slots));
        let diagonals: Diagonals = (DIAGONALS.into_iter().zip(repeats))
            .map(|(d, times)| (d, numbers.vector(self.slots / times).repeat(times)))
            .collect();
        let expected: Vec<Complex64> = (0..n)
            .map(|i| {
                let terms = diagonals.iter();
                terms.map(|(d, v)| v[i as usize] * x[(i + d).rem_euclid(n) as usize]).sum()
            })
            .collect();
        for width in BABY_STEPS {
            let encoding = Encoding { level, scale: None, bound: None };
            let transform = LinearTransform::new(
                &self.parameters,
                &diagonals,
                self.slots,
                encoding,
                BabySteps { width, shared_by: 1 },
            )
            .unwrap();
            assert_eq!(transform.diagonals(), diagonals.len());
            let transformed = self.evaluator.linear_transform(&a, &transform).unwrap();
            self.check("linear transform", &transformed, &expected);
            let rescaled = self.evaluator.rescale(&transformed).unwrap();
            self.check("linear transform and rescale", &rescaled, &expected);
            self.check_canonical(&rescaled);
            let streamed = LinearTransform::streamed(
                &self.parameters,
                &diagonals,
                self.slots,
                encoding,
                BabySteps { width, shared_by: 1 },
            )
            .unwrap();
            assert_eq!(streamed.rotations(), transform.rotations());
            assert_eq!(streamed.diagonals(), transform.diagonals());
            let streamed = self.evaluator.linear_transform(&a, &streamed).unwrap();
            assert_eq!(streamed, transformed);
        }
    }

    fn sparse_transforms(&self, level: usize) {
        let numbers = &mut Numbers(level as u64 + 10);
        let x = numbers.vector(self.slots);
        let a = self.encrypt(&x, level);
        // A prime number of them: no diagonal is the same as another, or repeats itself.
        let weights: Vec<f64> = (0..97).map(|_| numbers.next()).collect();
        let indices = many_diagonals(self.slots);
        let counts = vec![self.slots / 2; indices.len()];
        let targets: Vec<u32> =
            indices.iter().flat_map(|_| (0..self.slots as u32).step_by(2)).collect();
        let places: Vec<u32> = (0..targets.len() as u32).map(|element| element % 97).collect();
        let mut dense = Diagonals::new();
        for ((index, targets), places) in indices
            .iter()
            .zip(targets.chunks_exact(self.slots / 2))
            .zip(places.chunks_exact(self.slots / 2))
        {
            let values = dense.entry(*index).or_insert(vec![Complex64::ZERO; self.slots]);
            for (&target, &place) in targets.iter().zip(places) {
                values[target as usize] = weights[place as usize].into();
            }
        }
        let sparse = SparseDiagonals::new(self.slots, &indices, &counts, targets, places, weights);
        let sparse = sparse.unwrap();
        let expected: Vec<Complex64> = (0..self.slots)
            .map(|i| dense.iter().map(|(d, v)| v[i] * x[(i + *d as usize) % self.slots]).sum())
            .collect();
        let (encoding, slots) = (Encoding { level, scale: None, bound: None }, self.slots);
        type Constructor = fn(
            &Parameters,
            SparseDiagonals,
            usize,
            Encoding,
            BabySteps,
        ) -> rlwe::Result<LinearTransform>;
        let baby_steps = BabySteps::below(FEW_BABY_STEPS);
        let make = |constructor: Constructor| {
            constructor(&self.parameters, sparse.clone(), slots, encoding, baby_steps).unwrap()
        };
        let transform = make(LinearTransform::of_sparse);
        let own = self.parameters.limbs(level).unwrap();
        assert_eq!(transform.nbytes(), indices.len() * own * (2 * self.slots).max(32) * 4);
        assert_eq!(transform.encoded_nbytes(), transform.nbytes());
        let transformed = self.evaluator.linear_transform(&a, &transform).unwrap();
        self.check("sparse linear transform", &transformed, &expected);
        let streamed = make(LinearTransform::streamed_sparse);
        assert_eq!(streamed.encoded_nbytes(), transform.nbytes());
        assert_eq!(self.evaluator.linear_transform(&a, &streamed).unwrap(), transformed);
        let of_dense =
            LinearTransform::new(&self.parameters, &dense, slots, encoding, baby_steps).unwrap();
        assert_eq!(self.evaluator.linear_transform(&a, &of_dense).unwrap(), transformed);
    }

    /// Transforms of one ciphertext, together, have the residues that each has by itself.
    fn transforms_together(&self, level: usize) {
        let numbers = &mut Numbers(level as u64 + 11);
        let a = self.encrypt(&numbers.vector(self.slots), level);
        let encoding = Encoding { level, scale: None, bound: None };
        type Constructor = fn(
            &Parameters,
            &Diagonals,
            usize,
            Encoding,
            BabySteps,
        ) -> rlwe::Result<LinearTransform>;
        let mut transform = |constructor: Constructor, indices: &[i64], width, shared_by| {
            let vectors = indices.iter().map(|&d| (d, numbers.vector(self.slots)));
            let (diagonals, steps) = (vectors.collect(), BabySteps { width, shared_by });
            constructor(&self.parameters, &diagonals, self.slots, encoding, steps).unwrap()
        };
        let many = many_diagonals(self.slots);
        let few = Some(FEW_BABY_STEPS);
        let transforms = [
            transform(LinearTransform::new, &DIAGONALS, few, 3),
            transform(LinearTransform::new, &many, few, 2),
            transform(LinearTransform::streamed, &DIAGONALS, few, 3),
            transform(LinearTransform::streamed, &DIAGONALS, Some(8), 1),
            transform(LinearTransform::streamed, &many, few, 2),
            transform(LinearTransform::new, &DIAGONALS, few, 3),
        ];
        let alone: Vec<Ciphertext> = (transforms.iter())
            .map(|each| self.evaluator.linear_transform(&a, each).unwrap())
            .collect();
        let terms: Vec<_> = transforms.iter().map(|each| [(0, each)]).collect();
        let terms: Vec<&TransformTerms<'_>> = terms.iter().map(|term| &term[..]).collect();
        assert_eq!(self.evaluator.linear_transform_sums(&[&a], &terms).unwrap(), alone);
        assert_eq!(self.evaluator.linear_transform_sums(&[&a], &[]).unwrap(), []);
        for refused in [vec![], vec![(1, &transforms[0])]] {
            let made = self.evaluator.linear_transform_sums(&[&a], &[&refused]);
            assert!(matches!(made, Err(Error::InvalidArgument { .. })));
        }
    }

    /// Sums of transforms that are divided sooner and later, of giant steps in common and not.
    fn sums_of_transforms(&self, level: usize) {
        let numbers = &mut Numbers(level as u64 + 13);
        let vectors: Vec<_> = (0..2).map(|_| numbers.vector(self.slots)).collect();
        let encrypted: Vec<_> = vectors.iter().map(|each| self.encrypt(each, level)).collect();
        let encoding = Encoding { level, scale: None, bound: None };
        let many = many_diagonals(self.slots);
        let indices = [&DIAGONALS[..], &many, &many, &DIAGONALS];
        let diagonals: Vec<Diagonals> = (indices.iter())
            .map(|each| each.iter().map(|&d| (d, numbers.vector(self.slots))).collect())
            .collect();
        let steps = BabySteps::below(FEW_BABY_STEPS);
        let transforms: Vec<LinearTransform> = (diagonals.iter().enumerate())
            .map(|(index, each)| {
                let make = [LinearTransform::new, LinearTransform::streamed][index % 2];
                make(&self.parameters, each, self.slots, encoding, steps).unwrap()
            })
            .collect();
        let sums = [[(0, 0), (1, 1)], [(0, 2), (1, 3)]];
        let terms = sums.map(|terms| terms.map(|(place, index)| (place, &transforms[index])));
        let ciphertexts: Vec<&Ciphertext> = encrypted.iter().collect();
        let made =
            self.evaluator.linear_transform_sums(&ciphertexts, &[&terms[0], &terms[1]]).unwrap();
        for (made, terms) in made.iter().zip(sums) {
            let apart = terms.map(|(place, index)| {
                self.evaluator.linear_transform(&encrypted[place], &transforms[index]).unwrap()
            });
            let added = self.evaluator.add(&apart[0], &apart[1]).unwrap();
            assert_eq!(made.estimate(), added.estimate());
            let number = |slot: usize| {
                let of_term = |(place, index): (usize, usize)| -> Complex64 {
                    let (x, slots) = (&vectors[place], self.slots as i64);
                    let each = diagonals[index].iter();
                    each.map(|(d, v)| v[slot] * x[(slot as i64 + d).rem_euclid(slots) as usize])
                        .sum()
                };
                terms.map(of_term).iter().sum()
            };
            self.check("sum of transforms", made, &(0..self.slots).map(number).collect::<Vec<_>>());
        }
    }

    fn polynomials(&self, level: usize) {
        let x = Numbers(level as u64 + 9).vector(self.slots);
        let x: Vec<Complex64> = x.iter().map(|x| Complex64::new(x.re, 0.0)).collect();
        let a = self.encrypt(&x, level);
        for basis in [PolynomialBasis::Chebyshev, PolynomialBasis::Monomial] {
            let coefficients = [0.3, -0.5, 0.1, 0.7, -0.2, 0.4, 0.05, -0.6];
            let polynomial = Polynomial::new(&coefficients, basis).unwrap();
            let result = self.evaluator.polynomial(&a, &polynomial);
            if level < polynomial.depth() {
                assert!(matches!(result, Err(Error::LevelExhausted { .. })), "{result:?}");
                continue;
            }
            let expected: Vec<_> = x.iter().map(|&x| polynomial.evaluate(x)).collect();
            let result = result.unwrap();
            self.check("evaluate a polynomial", &result, &expected);
            self.check_canonical(&result);
        }
    }

    fn every_level(&self) {
        for level in 0..=self.parameters.max_level() {
            self.linear(level);
            self.moves(level);
            self.polynomials(level);
            if level > 0 {
                self.products(level);
                self.transforms(level);
                self.sparse_transforms(level);
                self.transforms_together(level);
                self.sums_of_transforms(level);
            }
        }
        let bottom = self.encrypt(&Numbers(1).vector(self.slots), 0);
        let refused = self.evaluator.rescale(&bottom);
        assert!(matches!(refused, Err(Error::LevelExhausted { .. })), "{refused:?}");
    }
}

fn small(log_n: u32, levels: usize, scale_bits: f64) -> ParametersLiteral {
    let insecure = true;
    ParametersLiteral { log_n: Some(log_n), levels, scale_bits, insecure, ..Default::default() }
}

#[test]
fn scale_of_30_bits_in_a_small_ring() {
    Bench::new(small(8, 6, 30.0), 1).every_level();
}

#[test]
fn scale_of_45_bits_in_a_small_ring() {
    Bench::new(small(10, 5, 45.0), 1).every_level();
}

#[test]
fn scale_of_25_bits_and_one_digit() {
    let literal = ParametersLiteral { digits: Some(1), ..small(9, 4, 25.0) };
    Bench::new(literal, 1).every_level();
}

#[test]
fn sparse_packing() {
    Bench::new(small(9, 3, 40.0), 8).every_level();
}

#[test]
fn ring_of_degree_2_15_at_128_bits() {
    let literal = ParametersLiteral {
        log_n: Some(15),
        levels: 8,
        scale_bits: 40.0,
        ..ParametersLiteral::default()
    };
    let bench = Bench::new(literal, 1);
    assert!(bench.parameters.is_secure());
    bench.every_level();
}

#[test]
fn flooding_costs_what_it_says() {
    let bench = Bench::new(small(9, 1, 58.0), 1);
    let x = Numbers(3).vector(bench.slots);
    let a = bench.encrypt(&x, 1);
    for (statistical_bits, decryptions) in [(10, 1), (10, 1 << 20), (40, 1), (60, 1 << 30)] {
        let flooding = Flooding { statistical_bits, decryptions };
        let flooded = bench.secret.decrypt_flooded(&a, a.estimate(), flooding).unwrap();
        let values = flooded.decode().unwrap();
        let error = values.iter().zip(&x).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        assert!(-error.log2() >= flooded.precision(), "{} bits", -error.log2());
        assert!(-error.log2() <= flooded.precision() + 7.0, "{} bits", -error.log2());
        assert_eq!(flooded.precision(), a.estimate().flooded(flooding).unwrap().precision());
        // The formula of the paper, rounded up to a power of two and widened by the sampler.
        let bits = f64::from(statistical_bits) + (24.0 * 512.0 * decryptions as f64).log2();
        let lost = a.precision() - flooded.precision();
        assert!((0.8..2.0).contains(&(lost - bits / 2.0)), "lost {lost} of {}", bits / 2.0);
    }
    for (statistical_bits, decryptions) in [(0, 1), (40, 0), (200, 1), (60, u64::MAX)] {
        let flooding = Flooding { statistical_bits, decryptions };
        let refused = bench.secret.decrypt_flooded(&a, a.estimate(), flooding);
        assert!(matches!(refused, Err(Error::InvalidArgument { .. })));
    }
}

#[test]
fn what_a_ciphertext_says_of_itself_is_not_believed() {
    let bench = Bench::new(small(9, 2, 40.0), 1);
    let x = Numbers(3).vector(bench.slots);
    let (a, low) = (bench.encrypt(&x, 2), bench.encrypt(&x, 1));
    let e = &bench.evaluator;
    let own = bench.parameters.estimate(bench.slots, Encoding::at(2).within(1.0)).unwrap();
    let own = own.encrypted().unwrap();
    let decrypt = |ciphertext| bench.secret.decrypt(ciphertext, &own).map(|x| x.precision());
    assert_eq!(decrypt(&a), Ok(a.precision()));
    // A sum that claims to be fresh has the precision of neither.
    let bounded = a.with_bound(0.0).unwrap();
    assert_eq!(decrypt(&bounded), Ok(own.precision()));
    for other in [&low, &e.multiply_lazily(&a, &a).unwrap(), &bench.encrypt(&x[..4], 2)] {
        let refused = decrypt(other);
        assert!(matches!(refused, Err(Error::EstimateMismatch { .. })), "{refused:?}");
    }
    let wide = own.multiply_integer(i64::MAX).multiply_integer(i64::MAX);
    let refused = bench.secret.decrypt(&a, &wide);
    assert!(matches!(refused, Err(Error::BoundOverflow { .. })));
    let other = Bench::new(small(9, 1, 40.0), 1).encrypt(&x, 1);
    let refused = bench.secret.decrypt(&a, other.estimate());
    assert!(matches!(refused, Err(Error::ParametersMismatch { .. })));
}

#[test]
fn encryption_asks_for_a_bound() {
    let bench = Bench::new(small(6, 0, 30.0), 1);
    let public = bench.secret.public_key().unwrap();
    let undeclared = bench.parameters.encode_real(&[2.75], Encoding::at(0)).unwrap();
    for refused in [bench.secret.encrypt(&undeclared), public.encrypt(&undeclared)] {
        assert!(matches!(refused, Err(Error::InvalidArgument { .. })), "{refused:?}");
    }
    let declared = bench.parameters.encode_real(&[2.75], Encoding::at(0).within(4.0)).unwrap();
    assert_eq!(bench.secret.encrypt(&declared).unwrap().estimate().bound(), 4.0);
    let stored = Plaintext::from_bytes(&bench.parameters, &undeclared.to_bytes()).unwrap();
    assert!(bench.secret.encrypt(&stored).is_err());
}

/// Products that were never rescaled: beyond what 128 bits hold, and still far below the modulus.
#[test]
fn products_of_any_scale_decrypt() {
    let bench = Bench::new(small(8, 8, 60.0), 1);
    let e = &bench.evaluator;
    for value in [1.0, 0.5, -1.0, -0.73] {
        let x = vec![Complex64::new(value, 0.0); bench.slots];
        let a = bench.encrypt(&x, 8);
        let square = e.square(&a).unwrap();
        let cube = e.multiply(&square, &a).unwrap();
        for (power, product) in [(2, square), (3, cube)] {
            let decrypted = bench.secret.decrypt(&product, product.estimate()).unwrap();
            let error = (decrypted.decode().unwrap()[3] - x[3].powi(power)).norm();
            assert!(-error.log2() >= product.precision(), "{value}: {error:e}");
            let flooding = Flooding { statistical_bits: 20, decryptions: 1 };
            let flooded = bench.secret.decrypt_flooded(&product, product.estimate(), flooding);
            let flooded = flooded.unwrap();
            let error = (flooded.decode().unwrap()[3] - x[3].powi(power)).norm();
            assert!(-error.log2() >= flooded.precision(), "{value}: {error:e}");
            assert!(flooded.precision() > 10.0, "{}", flooded.precision());
        }
        // Another key's result is not small.
        let other = SecretKey::generate(&bench.parameters).unwrap();
        let a = bench.encrypt(&x, 8);
        assert!(other.decrypt(&a, a.estimate()).is_err());
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let bench = Bench::new(small(8, 2, 40.0), 1);
    let other = Bench::new(small(8, 2, 40.0), 1);
    let narrow = Bench::new(small(8, 2, 35.0), 1);
    let x = Numbers(4).vector(bench.slots);
    let (a, low) = (bench.encrypt(&x, 2), bench.encrypt(&x, 1));
    let e = &bench.evaluator;
    assert!(matches!(e.add(&a, &low), Err(Error::LevelMismatch { .. })));
    assert!(matches!(e.add(&a, &other.encrypt(&x, 2)), Err(Error::KeyMismatch { .. })));
    assert!(matches!(other.secret.decrypt(&a, a.estimate()), Err(Error::KeyMismatch { .. })));
    assert!(matches!(e.negate(&narrow.encrypt(&x, 2)), Err(Error::ParametersMismatch { .. })));
    let product = e.multiply(&a, &a).unwrap();
    assert!(matches!(e.add(&a, &product), Err(Error::ScaleMismatch { .. })));
    assert!(matches!(e.multiply(&product, &product), Err(Error::ScaleOutOfRange { .. })));
    assert!(matches!(e.rotate(&a, 77), Err(Error::MissingKey { .. })));
    let sparse = bench.encrypt(&x[..4], 2);
    assert!(matches!(e.add(&a, &sparse), Err(Error::SlotMismatch { .. })));
    let lazy = e.multiply_lazily(&a, &a).unwrap();
    assert!(matches!(e.rotate(&lazy, 1), Err(Error::DegreeMismatch { .. })));
    assert!(matches!(e.automorphism(&a, 4), Err(Error::InvalidArgument { .. })));
    assert!(matches!(e.automorphism(&a, 513), Err(Error::InvalidArgument { .. })));
    assert!(matches!(e.inner_sum(&a, 0, 1), Err(Error::InvalidArgument { .. })));
    let encode = |values: &[Complex64], bound| {
        bench.parameters.encode(values, Encoding { level: 2, scale: None, bound })
    };
    assert!(matches!(encode(&x[..3], None), Err(Error::SlotMismatch { .. })));
    assert!(matches!(encode(&[], None), Err(Error::SlotMismatch { .. })));
    let nan = [Complex64::new(f64::NAN, 0.0)];
    assert!(matches!(encode(&nan, None), Err(Error::NotFinite { index: 0, .. })));
    let two = [Complex64::new(2.0, 0.0)];
    assert!(matches!(encode(&two, Some(1.0)), Err(Error::ValueOutOfRange { .. })));
    assert!(matches!(
        bench.parameters.encode(&two, Encoding::at(3)),
        Err(Error::LevelMismatch { .. })
    ));
}

#[test]
fn values_that_may_outgrow_the_modulus_are_refused() {
    let bench = Bench::new(small(8, 1, 40.0), 1);
    let e = &bench.evaluator;
    // All equal: one coefficient holds them all, and wraps unseen by the others.
    let ones = vec![Complex64::new(1.0, 0.0); bench.slots];
    let refused = |result: Result<_, Error>| matches!(result, Err(Error::BoundOverflow { .. }));
    for (times, fits) in [(200, true), (300, false), (1 << 30, false)] {
        let grown = e.multiply_integer(&bench.encrypt(&ones, 0), times).unwrap();
        assert_eq!(bench.secret.decrypt(&grown, grown.estimate()).is_ok(), fits, "{times}");
        assert!(fits || refused(bench.secret.decrypt(&grown, grown.estimate()).map(|_| ())));
        let product = e.square(&bench.encrypt(&ones, 1)).unwrap();
        let grown = e.multiply_integer(&product, times).unwrap();
        assert_eq!(e.rescale(&grown).is_ok(), fits, "{times}");
        let grown = e.multiply_integer(&bench.encrypt(&ones, 1), times).unwrap();
        let scale = bench.parameters.scale(0).unwrap();
        assert_eq!(e.align(&grown, 0, scale).is_ok(), fits, "{times}");
    }
}

#[test]
fn a_bound_that_is_known_to_be_tighter_counts() {
    let bench = Bench::new(small(8, 1, 40.0), 1);
    let e = &bench.evaluator;
    let ones = vec![Complex64::new(1.0, 0.0); bench.slots];
    let a = bench.encrypt(&ones, 1);
    let grown = e.multiply_integer(&a, 300).unwrap();
    let shrunk = e.multiply_scalar(&grown, Complex64::new(0.01, 0.0), None).unwrap();
    let tight = shrunk.with_bound(3.0).unwrap();
    assert_eq!(tight.with_bound(4.0).unwrap(), tight);
    assert_eq!((tight.estimate().bound(), tight.precision()), (3.0, shrunk.precision()));
    assert!(
        e.square(&a).unwrap().precision()
            < e.square(&a.with_bound(0.5).unwrap()).unwrap().precision()
    );
    for bound in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(a.with_bound(bound), Err(Error::InvalidArgument { .. })), "{bound}");
    }
}

#[test]
fn decoding_is_right_or_refused_however_large_the_scale() {
    let parameters = Parameters::new(small(8, 4, 60.0)).unwrap();
    for tenths in -20..20 {
        let value = f64::from(tenths) / 10.0;
        for bits in [100.0f64, 118.0, 119.0, 120.0, 121.0, 150.0] {
            let encoding = Encoding { level: 4, scale: Some(bits.exp2()), bound: None };
            let plaintext = parameters.encode_real(&[value], encoding).unwrap();
            match plaintext.decode_real() {
                Ok(values) => assert!((values[0] - value).abs() < 1e-9, "{value} at 2^{bits}"),
                Err(refusal) => {
                    assert_eq!(refusal, Error::DecryptionOverflow);
                    assert!(value.abs() * bits.exp2() > 2f64.powi(118), "{value} at 2^{bits}");
                }
            }
        }
    }
}

#[test]
fn values_beyond_the_modulus_are_not_encoded() {
    let parameters = Parameters::new(small(8, 2, 40.0)).unwrap();
    for level in 0..=1 {
        let most =
            (parameters.log_q(level).unwrap() - 2.0).exp2() / parameters.scale(level).unwrap();
        for value in [0.99 * most, -0.99 * most] {
            let plaintext = parameters.encode_real(&[value], Encoding::at(level)).unwrap();
            assert!((plaintext.decode_real().unwrap()[0] / value - 1.0).abs() < 1e-9);
        }
        for value in [1.01 * most, -1.01 * most, 4.0 * most, 1e9 * most] {
            let refused = parameters.encode_real(&[value; 4], Encoding::at(level));
            assert!(matches!(refused, Err(Error::ValueOutOfRange { .. })), "{refused:?}");
        }
    }
}

#[test]
fn primes_may_join_without_any_that_leave() {
    let bench = Bench::new(small(8, 6, 40.0), 1);
    let (parameters, e) = (&bench.parameters, &bench.evaluator);
    let x = Numbers(11).vector(bench.slots);
    let joined = (3..6).filter(|&level| !parameters.chain().joining(level + 1).is_empty());
    let levels: Vec<usize> = joined.collect();
    assert!(!levels.is_empty());
    for level in levels {
        let a = bench.encrypt(&x, level + 1);
        let aligned = e.align(&a, level, 2f64.powi(112)).unwrap();
        let values = bench.secret.decrypt(&aligned, aligned.estimate()).unwrap().decode().unwrap();
        let error = values.iter().zip(&x).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        assert!(error < (-aligned.precision()).exp2(), "level {level}: {error:e}");
    }
}

#[test]
fn scales_within_tolerance_align_at_their_level() {
    let bench = Bench::new(small(8, 2, 40.0), 1);
    let x = Numbers(12).vector(bench.slots);
    let a = bench.encrypt(&x, 1);
    let near = a.scale() * (1.0 + 1e-14);
    let aligned = bench.evaluator.align(&a, 1, near).unwrap();
    assert_eq!((aligned.level(), aligned.scale()), (1, near));
    bench.check("align", &aligned, &x);
    let refused = bench.evaluator.align(&a, 1, a.scale() * 1.001);
    assert!(matches!(refused, Err(Error::ScaleMismatch { .. })), "{refused:?}");
}

#[test]
fn any_indices_are_split() {
    for slots in [0, 1, 8, usize::MAX] {
        for width in [None, Some(0), Some(3), Some(usize::MAX)] {
            let split = Split::choose(&[i64::MIN, -1, 0, 5, i64::MAX], slots, width);
            let steps = split.baby_steps.iter().chain(&split.giant_steps);
            assert!(steps.into_iter().all(|&k| (0..slots.max(1) as i128).contains(&k.into())));
        }
    }
    assert_eq!(Split::choose(&[1, 5], 8, Some(usize::MAX)).giant_steps, [0]);
}

#[test]
fn precision_at_a_scale_of_40_bits_and_128_bit_security() {
    for log_n in [13, 14, 15] {
        let literal =
            ParametersLiteral { log_n: Some(log_n), levels: 1, ..ParametersLiteral::default() };
        let parameters = Parameters::new(literal).unwrap();
        assert!(parameters.is_secure());
        let secret = SecretKey::generate(&parameters).unwrap();
        let slots = parameters.slots();
        let mut numbers = Numbers(u64::from(log_n));
        let x: Vec<f64> = (0..slots).map(|_| numbers.next()).collect();
        let diagonals: Vec<Vec<f64>> =
            (0..64).map(|_| (0..slots).map(|_| numbers.next()).collect()).collect();
        let bits = |ciphertext: &Ciphertext, expected: &dyn Fn(usize) -> f64| {
            let values =
                secret.decrypt(ciphertext, ciphertext.estimate()).unwrap().decode_real().unwrap();
            let errors = values.iter().enumerate().map(|(i, value)| (value - expected(i)).abs());
            -errors.fold(0.0, f64::max).log2()
        };
        let plaintext = parameters.encode_real(&x, Encoding::at(1).within(1.0)).unwrap();
        let a = secret.encrypt(&plaintext).unwrap();
        assert!(bits(&a, &|i| x[i]) >= 25.0);

        let complex = |v: &Vec<f64>| v.iter().map(|&x| Complex64::new(x, 0.0)).collect();
        let matrix: Diagonals = (0..).zip(diagonals.iter().map(complex)).collect();
        let transform = LinearTransform::new(
            &parameters,
            &matrix,
            slots,
            Encoding::at(1),
            BabySteps::default(),
        )
        .unwrap();
        let request = EvaluationKeysRequest {
            rotations: transform.rotations().into_iter().map(|k| (k, 1)).collect(),
            ..EvaluationKeysRequest::default()
        };
        let evaluator = Evaluator::new(secret.evaluation_keys(&request).unwrap());
        let b = evaluator.rescale(&evaluator.linear_transform(&a, &transform).unwrap()).unwrap();
        let row = |i: usize| {
            let terms = diagonals.iter().enumerate();
            terms.map(|(d, diagonal)| diagonal[i] * x[(i + d) % slots]).sum()
        };
        assert!(bits(&b, &row) >= 22.0);
    }
}
