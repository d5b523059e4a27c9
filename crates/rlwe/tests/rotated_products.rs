//! Rotated products of CKKS and BGV, against sums of products in the clear.

use rlwe::keys::{EvaluationKeys, EvaluationKeysRequest, SecretKey};
use rlwe::{Error, bgv, ckks};

/// Numbers in 0..1, the same on every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// All keys for products by multiples of `step`.
fn request(slots: usize, step: usize, level: usize) -> EvaluationKeysRequest {
    let rotations: Vec<(i64, usize)> =
        (0..slots).step_by(step).map(|rotation| (rotation as i64, level)).collect();
    EvaluationKeysRequest { rotated_products: rotations.clone(), rotations, ..Default::default() }
}

mod approximate {
    use super::*;
    use ckks::{
        Ciphertext, Complex64, Encoding, Estimate, Evaluator, Parameters, ParametersLiteral,
    };

    struct Bench {
        parameters: Parameters,
        secret: SecretKey,
        evaluator: Evaluator,
        step: usize,
    }

    fn literal() -> ParametersLiteral {
        ParametersLiteral {
            log_n: Some(6),
            levels: 2,
            insecure: true,
            ..ParametersLiteral::default()
        }
    }

    impl Bench {
        fn new(literal: ParametersLiteral, step: usize) -> Self {
            let parameters = Parameters::new(literal).unwrap();
            let secret = SecretKey::generate(&parameters).unwrap();
            let request = request(parameters.slots(), step, parameters.max_level());
            let evaluator = Evaluator::new(secret.evaluation_keys(&request).unwrap());
            Self { parameters, secret, evaluator, step }
        }

        fn vectors(&self, count: usize, seed: u64) -> Vec<Vec<Complex64>> {
            let mut numbers = Numbers(seed);
            let mut part = || (2.0 * numbers.next() - 1.0) * std::f64::consts::FRAC_1_SQRT_2;
            let mut vector =
                || (0..self.parameters.slots()).map(|_| Complex64::new(part(), part())).collect();
            (0..count).map(|_| vector()).collect()
        }

        fn encrypt(&self, values: &[Complex64], level: usize) -> Ciphertext {
            let encoding = Encoding::at(level).within(1.0);
            self.secret.encrypt(&self.parameters.encode(values, encoding).unwrap()).unwrap()
        }

        fn encrypt_all(&self, vectors: &[Vec<Complex64>], level: usize) -> Vec<Ciphertext> {
            vectors.iter().map(|values| self.encrypt(values, level)).collect()
        }

        fn expected(
            &self,
            left: &[Vec<Complex64>],
            right: &[Vec<Complex64>],
            t: usize,
        ) -> Vec<Complex64> {
            let slots = self.parameters.slots();
            let at = |slot: usize| {
                let rotated = (slot + t * self.step) % slots;
                left.iter().zip(right).map(|(u, v)| u[rotated] * v[slot]).sum()
            };
            (0..slots).map(at).collect()
        }

        /// The root mean square of the error, which the estimate is not far from.
        fn check(&self, ciphertext: &Ciphertext, expected: &[Complex64]) -> (f64, f64) {
            let decrypted = self.secret.decrypt(ciphertext, ciphertext.estimate()).unwrap();
            let values = decrypted.decode().unwrap();
            let squares = values.iter().zip(expected).map(|(x, y)| (x - y).norm_sqr());
            let largest = squares.clone().fold(0.0, f64::max).sqrt();
            assert!(largest <= (-ciphertext.precision()).exp2(), "{largest:e}, {ciphertext}");
            let most = expected.iter().map(|x| x.norm()).fold(0.0, f64::max);
            assert!(most <= ciphertext.estimate().bound());
            (squares.sum::<f64>() / values.len() as f64, ciphertext.estimate().deviation())
        }

        /// Every product is right, and errors as the estimate says.
        fn check_products(&self, terms: usize, level: usize) {
            let (left, right) = (self.vectors(terms, 1), self.vectors(terms, 2));
            let [u, v] = [&left, &right].map(|side| self.encrypt_all(side, level));
            let [u, v] = [&u, &v].map(|side| side.iter().collect::<Vec<_>>());
            let e = &self.evaluator;
            let products = e.rotated_products(&u, &v, self.step).unwrap();
            assert_eq!(products.count() * products.step(), self.parameters.slots());
            assert_eq!(products.level(), level);
            assert_eq!(products.scale(), u[0].scale() * v[0].scale());

            let fresh =
                self.parameters.estimate(self.parameters.slots(), Encoding::at(level).within(1.0));
            let fresh = fresh.unwrap().encrypted().unwrap();
            let all = vec![&fresh; terms];
            let estimate = Estimate::rotated_products(&all, &all).unwrap();
            assert_eq!(*products.estimate(), estimate);

            let bytes = products.to_bytes();
            assert!(bytes.len() < products.nbytes() + 200);
            let again = ckks::RotatedProducts::from_bytes(&self.parameters, &bytes).unwrap();
            assert_eq!(again.to_bytes(), bytes);
            assert_eq!(again.estimate(), products.estimate());

            let (mut squares, mut estimated) = (Vec::new(), 0.0);
            for t in 0..products.count() {
                let expected = self.expected(&left, &right, t);
                let whole = e.switch_product(&products, t).unwrap();
                assert_eq!(*whole.estimate(), estimate.switch_product().unwrap());
                let (square, deviation) = self.check(&whole, &expected);
                squares.push(square);
                estimated = deviation;
                if level > 0 {
                    let rescaled = e.switch_product_and_rescale(&products, t).unwrap();
                    assert_eq!(rescaled.level(), level - 1);
                    let fused = estimate.switch_product_and_rescale().unwrap();
                    assert_eq!(*rescaled.estimate(), fused);
                    self.check(&rescaled, &expected);
                    self.check(&e.rescale(&whole).unwrap(), &expected);
                }
            }
            let measured = (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
            assert!(measured <= estimated, "{terms} terms: {measured:e}, estimated {estimated:e}");
            assert!(estimated <= 8.0 * measured, "{terms} terms: {measured:e}, {estimated:e}");
        }
    }

    #[test]
    fn every_step_and_level_is_right() {
        for step in [32, 16, 4, 1] {
            let bench = Bench::new(literal(), step);
            for level in 1..=2 {
                bench.check_products(3, level);
            }
        }
    }

    #[test]
    fn errors_of_many_terms_are_as_estimated() {
        let words = ParametersLiteral { word_bits: 24, scale_bits: 36.0, ..literal() };
        let bench = Bench::new(words, 8);
        assert_eq!(bench.parameters.word_bits(), 24);
        for terms in [1, 2, 30, 300] {
            bench.check_products(terms, 2);
        }
    }

    #[test]
    fn three_short_words_hold_one_product_at_128_bits() {
        let literal = ParametersLiteral {
            log_n: Some(12),
            levels: 1,
            scale_bits: 28.0,
            headroom_bits: 15.0,
            word_bits: 24,
            ..ParametersLiteral::default()
        };
        let bench = Bench::new(literal, 1024);
        assert!(bench.parameters.is_secure());
        assert_eq!((bench.parameters.limbs(1).unwrap(), bench.parameters.key_limbs()), (3, 4));
        bench.check_products(20, 1);
    }

    #[test]
    fn shares_of_a_sum_add_up() {
        let bench = Bench::new(literal(), 8);
        let (left, right) = (bench.vectors(7, 1), bench.vectors(7, 2));
        let [u, v] = [&left, &right].map(|side| bench.encrypt_all(side, 2));
        let [u, v] = [&u, &v].map(|side| side.iter().collect::<Vec<_>>());
        let e = &bench.evaluator;
        let first = e.rotated_products(&u[..3], &v[..3], 8).unwrap();
        let second = e.rotated_products(&u[3..], &v[3..], 8).unwrap();
        let sum = e.add_rotated_products(&first, &second).unwrap();
        let whole = e.rotated_products(&u, &v, 8).unwrap();
        let ratio = sum.estimate().deviation() / whole.estimate().deviation();
        assert!((ratio - 1.0).abs() < 1e-12);
        for t in 0..4 {
            let product = e.switch_product(&sum, t).unwrap();
            bench.check(&product, &bench.expected(&left, &right, t));
            assert_eq!(product, e.switch_product(&whole, t).unwrap());
            let rescaled = e.switch_product_and_rescale(&sum, t).unwrap();
            assert_eq!(rescaled, e.switch_product_and_rescale(&whole, t).unwrap());
            let alone = e.switch_product(&first, t).unwrap();
            bench.check(&alone, &bench.expected(&left[..3], &right[..3], t));
        }
    }

    #[test]
    fn what_is_no_product_is_refused() {
        let bench = Bench::new(literal(), 8);
        let e = &bench.evaluator;
        let values = bench.vectors(1, 1).remove(0);
        let [a, low] = [2, 1].map(|level| bench.encrypt(&values, level));
        let products = |left: &[&Ciphertext], right: &[&Ciphertext], step| {
            e.rotated_products(left, right, step).map(|_| ())
        };
        let invalid = |result| matches!(result, Err(Error::InvalidArgument { .. }));
        assert!(invalid(products(&[], &[], 8)));
        assert!(invalid(products(&[&a, &a], &[&a], 8)));
        for step in [0, 3, 64, usize::MAX] {
            assert!(invalid(products(&[&a], &[&a], step)), "{step}");
        }
        let mixed = products(&[&a, &low], &[&a, &a], 8);
        assert!(matches!(mixed, Err(Error::LevelMismatch { .. })));
        assert!(matches!(products(&[&a], &[&low], 8), Err(Error::LevelMismatch { .. })));
        let square = e.multiply_lazily(&a, &a).unwrap();
        assert!(matches!(products(&[&square], &[&a], 8), Err(Error::DegreeMismatch { .. })));
        let scaled = e.multiply_scalar(&a, Complex64::new(0.5, 0.0), Some(2.0)).unwrap();
        let scales = products(&[&a, &scaled], &[&a, &a], 8);
        assert!(matches!(scales, Err(Error::ScaleMismatch { .. })));
        let sparse = bench.encrypt(&values[..4], 2);
        assert!(matches!(products(&[&sparse], &[&sparse], 8), Err(Error::SlotMismatch { .. })));
        let other = Bench::new(literal(), 8);
        let strange = other.encrypt(&values, 2);
        assert!(matches!(products(&[&a], &[&strange], 8), Err(Error::KeyMismatch { .. })));

        let of_a = e.rotated_products(&[&a], &[&a], 8).unwrap();
        assert!(matches!(e.switch_product(&of_a, 4), Err(Error::InvalidArgument { .. })));
        let of_other = other.evaluator.rotated_products(&[&strange], &[&strange], 8).unwrap();
        assert!(matches!(e.switch_product(&of_other, 0), Err(Error::KeyMismatch { .. })));
        let sum = e.add_rotated_products(&of_a, &of_other);
        assert!(matches!(sum, Err(Error::KeyMismatch { .. })));
        let wider = e.rotated_products(&[&a], &[&a], 16).unwrap();
        let sum = e.add_rotated_products(&of_a, &wider);
        assert!(matches!(sum, Err(Error::InvalidArgument { .. })));
        let ground = bench.encrypt(&values, 0);
        let grounded = e.rotated_products(&[&ground], &[&ground], 8);
        assert!(matches!(grounded, Err(Error::ScaleOutOfRange { .. })));
    }

    #[test]
    fn keys_that_are_missing_are_named() {
        let bench = Bench::new(literal(), 8);
        let values = bench.vectors(1, 1).remove(0);
        let a = bench.encrypt(&values, 2);
        let with = |request: &EvaluationKeysRequest, t: usize| {
            let evaluator = Evaluator::new(bench.secret.evaluation_keys(request).unwrap());
            let products = evaluator.rotated_products(&[&a], &[&a], 8).unwrap();
            match evaluator.switch_product(&products, t) {
                Err(Error::MissingKey { key, level: 2, .. }) => Some(key),
                result => result.map(|_| None).unwrap(),
            }
        };
        let none = EvaluationKeysRequest::default();
        assert_eq!(with(&none, 0).unwrap(), "relinearisation key");
        assert_eq!(with(&none, 1).unwrap(), "Galois key for a rotation by 8");
        let rotations = EvaluationKeysRequest { rotations: vec![(8, 2)], ..none.clone() };
        assert_eq!(with(&rotations, 1).unwrap(), "product key for a rotation by 8");
        let low = EvaluationKeysRequest { rotated_products: vec![(8, 1)], ..rotations.clone() };
        assert_eq!(with(&low, 1).unwrap(), "product key for a rotation by 8");
        let right = EvaluationKeysRequest { rotated_products: vec![(8, 2)], ..rotations };
        assert_eq!(with(&right, 1), None);
        let relinearisation =
            EvaluationKeysRequest { rotated_products: vec![(0, 2)], ..none.clone() };
        assert_eq!(with(&relinearisation, 0), None);

        let mut keys = bench.secret.evaluation_keys(&low).unwrap();
        assert_eq!(keys.rotated_products().into_iter().collect::<Vec<_>>(), [(8, 1)]);
        keys.extend(bench.secret.evaluation_keys(&right).unwrap()).unwrap();
        keys.extend(bench.secret.evaluation_keys(&relinearisation).unwrap()).unwrap();
        keys.extend(bench.secret.evaluation_keys(&low).unwrap()).unwrap();
        assert_eq!(keys.rotated_products().into_iter().collect::<Vec<_>>(), [(0, 2), (8, 2)]);
        let bytes = keys.to_bytes();
        assert!(bytes.len() <= keys.nbytes() / 2 + 400);
        let read = EvaluationKeys::from_bytes(&bench.parameters, &bytes).unwrap();
        assert_eq!((read.rotated_products(), read.to_bytes()), (keys.rotated_products(), bytes));
        let (before, after) = (Evaluator::new(keys), Evaluator::new(read));
        let products = before.rotated_products(&[&a], &[&a], 8).unwrap();
        for t in 0..2 {
            let [x, y] = [&before, &after].map(|e| e.switch_product(&products, t).unwrap());
            assert_eq!(x, y);
        }
    }
}

mod exact {
    use super::*;
    use bgv::{Ciphertext, Estimate, Evaluator, Parameters, ParametersLiteral};

    struct Bench {
        parameters: Parameters,
        secret: SecretKey,
        evaluator: Evaluator,
        step: usize,
    }

    fn literal() -> ParametersLiteral {
        ParametersLiteral {
            log_n: Some(6),
            levels: 2,
            level_bits: Some(50.0),
            // Near enough to what is measured to be compared with it.
            failure_bits: Some(40.0),
            insecure: true,
            ..ParametersLiteral::default()
        }
    }

    impl Bench {
        fn new(literal: ParametersLiteral, step: usize) -> Self {
            let parameters = Parameters::new(literal).unwrap();
            let secret = SecretKey::generate(&parameters).unwrap();
            let request = request(parameters.slots(), step, parameters.max_level());
            let evaluator = Evaluator::new(secret.evaluation_keys(&request).unwrap());
            Self { parameters, secret, evaluator, step }
        }

        fn modulus(&self) -> i128 {
            i128::from(self.parameters.plaintext_modulus())
        }

        fn vectors(&self, count: usize, seed: u64) -> Vec<Vec<i64>> {
            let mut numbers = Numbers(seed);
            let t = self.modulus() as f64;
            let mut vector = || {
                let value = |_| ((numbers.next() - 0.5) * (t - 1.0)).round() as i64;
                (0..self.parameters.n()).map(value).collect()
            };
            (0..count).map(|_| vector()).collect()
        }

        fn encrypt_all(&self, vectors: &[Vec<i64>], level: usize) -> Vec<Ciphertext> {
            let encode = |values| self.parameters.encode(values, level).unwrap();
            let encrypt = |values| self.secret.encrypt_integers(&encode(values)).unwrap();
            vectors.iter().map(|values| encrypt(values)).collect()
        }

        fn expected(&self, left: &[Vec<i64>], right: &[Vec<i64>], t: usize) -> Vec<i64> {
            let slots = self.parameters.slots();
            let at = |place: usize| {
                let rotated = place / slots * slots + (place + t * self.step) % slots;
                let products = left.iter().zip(right).map(|(u, v)| (u[rotated], v[place]));
                let sum: i128 = products.map(|(x, y)| i128::from(x) * i128::from(y)).sum();
                let residue = sum.rem_euclid(self.modulus());
                let centred =
                    if residue > self.modulus() / 2 { residue - self.modulus() } else { residue };
                centred as i64
            };
            (0..self.parameters.n()).map(at).collect()
        }

        /// Every product is right; its noise is under its bound, and within so many bits of it.
        fn check_products(&self, terms: usize, slack_bits: f64) {
            let level = self.parameters.max_level();
            let (left, right) = (self.vectors(terms, 1), self.vectors(terms, 2));
            let [u, v] = [&left, &right].map(|side| self.encrypt_all(side, level));
            let [u, v] = [&u, &v].map(|side| side.iter().collect::<Vec<_>>());
            let e = &self.evaluator;
            let products = e.rotated_products(&u, &v, self.step).unwrap();
            let bytes = products.to_bytes();
            let again = bgv::RotatedProducts::from_bytes(&self.parameters, &bytes).unwrap();
            assert_eq!(again.to_bytes(), bytes);
            assert_eq!(again.estimate(), products.estimate());
            assert_eq!(products.count() * products.step(), self.parameters.slots());
            let fresh = self.parameters.fresh(level).unwrap();
            let all = vec![&fresh; terms];
            let estimate = Estimate::rotated_products(&all, &all).unwrap();
            assert_eq!(*products.estimate(), estimate);
            let (mut loudest, mut bound) = (f64::NEG_INFINITY, 0.0);
            for t in 0..products.count() {
                let expected = self.expected(&left, &right, t);
                let whole = e.switch_product(&products, t).unwrap();
                assert_eq!(*whole.estimate(), estimate.switch_product().unwrap());
                assert_eq!(self.secret.decrypt_integers(&whole).unwrap(), expected);
                let measured = self.secret.measure_noise(&whole).unwrap();
                let noise = whole.estimate().noise();
                assert!(measured.canonical_bits <= noise.canonical_bits);
                assert!(measured.length_bits <= noise.length_bits);
                assert!(measured.coefficient_bits <= noise.coefficient_bits);
                loudest = loudest.max(measured.coefficient_bits);
                bound = noise.coefficient_bits;
                let lower = e.switch_product_and_modulus(&products, t).unwrap();
                assert_eq!(lower.level(), level - 1);
                assert_eq!(*lower.estimate(), estimate.switch_product_and_modulus().unwrap());
                assert_eq!(self.secret.decrypt_integers(&lower).unwrap(), expected);
            }
            assert!(
                bound <= loudest + slack_bits,
                "{terms} terms: {loudest:.1} of {bound:.1} bits"
            );
        }
    }

    #[test]
    fn every_step_is_exact() {
        for step in [32, 16, 4, 1] {
            Bench::new(literal(), step).check_products(3, 4.0);
        }
    }

    #[test]
    fn noise_of_many_terms_is_near_its_bound() {
        // In smaller rings the length of an error is less certain.
        let bench = Bench::new(ParametersLiteral { log_n: Some(8), ..literal() }, 32);
        for terms in [1, 10, 100] {
            bench.check_products(terms, 3.0);
        }
    }

    #[test]
    fn large_plaintext_moduli_and_short_words_are_exact() {
        for (plaintext_modulus, levels) in [(786_433, 2), (469_762_049, 2)] {
            let literal = ParametersLiteral {
                plaintext_modulus: Some(plaintext_modulus),
                level_bits: Some(60.0),
                word_bits: 24,
                levels,
                ..literal()
            };
            let bench = Bench::new(literal, 8);
            assert!(bench.parameters.word_bits() <= 24);
            bench.check_products(20, 4.0);
        }
    }

    #[test]
    fn messages_may_be_the_worst() {
        let bench = Bench::new(literal(), 8);
        let most = (bench.modulus() / 2) as i64;
        // A constant polynomial of the largest coefficient, in all slots.
        let worst = vec![vec![most; bench.parameters.n()]; 50];
        let u = bench.encrypt_all(&worst, 2);
        let u: Vec<&Ciphertext> = u.iter().collect();
        let e = &bench.evaluator;
        let products = e.rotated_products(&u, &u, 8).unwrap();
        for t in 0..4 {
            let product = e.switch_product(&products, t).unwrap();
            let expected = bench.expected(&worst, &worst, t);
            assert_eq!(bench.secret.decrypt_integers(&product).unwrap(), expected);
            let measured = bench.secret.measure_noise(&product).unwrap();
            assert!(measured.coefficient_bits <= product.estimate().noise().coefficient_bits);
        }
        // What operations have made may err alike in every term.
        let sums: Vec<Ciphertext> = u.iter().map(|a| e.add(a, a).unwrap()).collect();
        let sums: Vec<&Ciphertext> = sums.iter().collect();
        let negated = e.negate(u[0]).unwrap();
        let repeated = [vec![u[0]; 50], [vec![&negated], u[..49].to_vec()].concat()];
        for side in [sums, repeated[0].clone(), repeated[1].clone()] {
            let products = e.rotated_products(&side, &side, 8).unwrap();
            let once = side[0].estimate().noise().times(side[0].estimate().noise());
            let found = products.estimate().noise().coefficient_bits - once.coefficient_bits;
            assert!((found - 50f64.log2()).abs() < 1e-9);
        }
    }

    #[test]
    fn shares_of_a_sum_add_up_and_unlike_factors_are_refused() {
        let bench = Bench::new(literal(), 8);
        let (left, right) = (bench.vectors(4, 1), bench.vectors(4, 2));
        let [u, v] = [&left, &right].map(|side| bench.encrypt_all(side, 2));
        let [u, v] = [&u, &v].map(|side| side.iter().collect::<Vec<_>>());
        let e = &bench.evaluator;
        let first = e.rotated_products(&u[..1], &v[..1], 8).unwrap();
        let second = e.rotated_products(&u[1..], &v[1..], 8).unwrap();
        let sum = e.add_rotated_products(&first, &second).unwrap();
        let product = e.switch_product(&sum, 3).unwrap();
        let expected = bench.expected(&left, &right, 3);
        assert_eq!(bench.secret.decrypt_integers(&product).unwrap(), expected);

        let other = e.switch_to(u[0], 2, Some(7)).unwrap();
        let unlike = e.rotated_products(&[u[0], &other], &v[..2], 8);
        assert!(matches!(unlike, Err(Error::InvalidArgument { .. })));
        let scaled = e.rotated_products(&[&other], &v[..1], 8).unwrap();
        let unlike = e.add_rotated_products(&scaled, &first);
        assert!(matches!(unlike, Err(Error::InvalidArgument { .. })));
        let exhausted = literal();
        let small =
            Bench::new(ParametersLiteral { level_bits: Some(20.0), levels: 1, ..exhausted }, 8);
        let noisy = small.encrypt_all(&small.vectors(1, 1), 1);
        let refused = small.evaluator.rotated_products(&[&noisy[0]], &[&noisy[0]], 8);
        assert!(matches!(refused, Err(Error::NoiseExhausted { .. })));
    }
}
