//! Every operation of BGV at every level, against integers modulo t: results are equal, and
//! measured noise stays under the ciphertext's own bound.

use rlwe::Error;
use rlwe::bgv::{
    Ciphertext, Diagonals, Evaluator, LinearTransform, Parameters, ParametersLiteral, Split,
};
use rlwe::keys::{EvaluationKeysRequest, SecretKey};

/// Integers modulo t, the same on every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 20
    }
}

const DIAGONALS: [i64; 7] = [-1, 0, 1, 2, 4, 5, 7];
const BABY_STEPS: [Option<usize>; 4] = [None, Some(1), Some(4), Some(8)];

/// Bounds may be this much too careful for what an operation makes of fresh ciphertexts, in bits.
const SLACK_BITS: f64 = 24.0;

struct Bench {
    parameters: Parameters,
    secret: SecretKey,
    evaluator: Evaluator,
}

impl Bench {
    fn new(literal: ParametersLiteral) -> Self {
        let parameters = Parameters::new(literal).unwrap();
        let secret = SecretKey::generate(&parameters).unwrap();
        let (top, slots) = (parameters.max_level(), parameters.slots());
        let splits = BABY_STEPS.map(|steps| Split::choose(&DIAGONALS, slots, steps));
        let transforms = splits.iter().flat_map(Split::rotations);
        let moves = [1, 2, -1, slots as i64 / 2].into_iter().chain(transforms);
        let request = EvaluationKeysRequest {
            relinearisation_level: Some(top),
            rotations: moves.map(|k| (k, top)).collect(),
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

    fn vector(&self, seed: u64) -> Vec<i64> {
        let mut numbers = Numbers(seed);
        (0..self.parameters.n()).map(|_| self.centred(i128::from(numbers.next()))).collect()
    }

    fn encrypt(&self, values: &[i64], level: usize) -> Ciphertext {
        self.secret.encrypt_integers(&self.parameters.encode(values, level).unwrap()).unwrap()
    }

    /// A ciphertext whose factor is not that of its level: far from it where noise allows.
    fn worn(&self, values: &[i64], level: usize) -> Ciphertext {
        let fresh = self.encrypt(values, level);
        let t = u64::from(self.parameters.plaintext_modulus());
        let times = |by: u64| Some((u64::from(fresh.estimate().factor()) * by % t) as u32);
        match self.evaluator.switch_to(&fresh, level, times(t / 3)) {
            Ok(far) if far.estimate().budget_bits() > 24.0 => far,
            _ => self.evaluator.switch_to(&fresh, level, times(3)).unwrap(),
        }
    }

    /// The values are right, and noise is under its bound.
    fn check(&self, name: &str, ciphertext: &Ciphertext, expected: &[i64]) {
        let values = self.secret.decrypt_integers(ciphertext).unwrap();
        assert!(values == expected, "{name} at level {}", ciphertext.level());
        let measured = self.secret.measure_noise(ciphertext).unwrap();
        let bound = ciphertext.estimate().noise();
        assert!(
            measured.canonical_bits <= bound.canonical_bits
                && measured.length_bits <= bound.length_bits
                && measured.coefficient_bits <= bound.coefficient_bits,
            "{name} at level {}: {measured:?}, bounded by {bound:?}",
            ciphertext.level()
        );
        assert!(
            measured.canonical_bits + SLACK_BITS >= bound.canonical_bits
                && measured.length_bits + SLACK_BITS >= bound.length_bits
                && measured.coefficient_bits + SLACK_BITS >= bound.coefficient_bits,
            "{name} at level {}: {measured:?}, bounded by only {bound:?}",
            ciphertext.level()
        );
    }

    fn map(&self, x: &[i64], y: &[i64], f: impl Fn(i128, i128) -> i128) -> Vec<i64> {
        x.iter().zip(y).map(|(&x, &y)| self.centred(f(x.into(), y.into()))).collect()
    }

    fn rotated(&self, x: &[i64], k: i64) -> Vec<i64> {
        let slots = self.parameters.slots();
        let rows = x.chunks_exact(slots);
        let at = |i: usize| (i as i64 + k).rem_euclid(slots as i64) as usize;
        rows.flat_map(|row| (0..slots).map(move |i| row[at(i)])).collect()
    }

    fn linear(&self, level: usize) {
        let (x, y) = (self.vector(level as u64 + 5), self.vector(level as u64 + 55));
        let e = &self.evaluator;
        let plain = self.parameters.encode(&y, level).unwrap();
        assert_eq!(plain.decode(), y);
        let public = self.secret.public_key().unwrap().encrypt_integers(&plain).unwrap();
        self.check("encrypt under the public key", &public, &y);
        let b = self.encrypt(&y, level);
        self.check("encrypt", &b, &y);
        let (sums, differences) = (self.map(&x, &y, |x, y| x + y), self.map(&x, &y, |x, y| x - y));
        for a in [self.encrypt(&x, level), self.worn(&x, level)] {
            self.check("add", &e.add(&a, &b).unwrap(), &sums);
            self.check("add", &e.add(&b, &a).unwrap(), &sums);
            self.check("subtract", &e.sub(&a, &b).unwrap(), &differences);
            self.check("negate", &e.negate(&a).unwrap(), &self.map(&x, &y, |x, _| -x));
            self.check("add a plaintext", &e.add_plain(&a, &plain).unwrap(), &sums);
            self.check("subtract a plaintext", &e.sub_plain(&a, &plain).unwrap(), &differences);
            let c = self.centred(0x1234_5678_9abc);
            let with_c = self.map(&x, &y, |x, _| x + i128::from(c));
            self.check("add a scalar", &e.add_scalar(&a, c).unwrap(), &with_c);
            let triple = self.map(&x, &y, |x, _| -3 * x);
            self.check("multiply by a scalar", &e.multiply_scalar(&a, -3).unwrap(), &triple);
            let zero = e.multiply_scalar(&a, 0).unwrap();
            assert!(self.secret.decrypt_integers(&zero).unwrap().iter().all(|&x| x == 0));
        }
    }

    fn moves(&self, level: usize) {
        let x = self.vector(level as u64 + 6);
        let e = &self.evaluator;
        let slots = self.parameters.slots() as i64;
        for a in [self.encrypt(&x, level), self.worn(&x, level)] {
            for k in [0, 1, -1, slots / 2, slots + 2] {
                self.check("rotate", &e.rotate(&a, k).unwrap(), &self.rotated(&x, k));
            }
            for (k, c) in [1, 0, 2].into_iter().zip(e.rotate_hoisted(&a, &[1, 0, 2]).unwrap()) {
                self.check("rotate hoisted", &c, &self.rotated(&x, k));
            }
            for (added, subtracted) in
                [(&[0, 1, 2][..], &[-1][..]), (&[1], &[0]), (&[], &[2, slots + 1, 0])]
            {
                let sum = e.rotate_sum(&a, added, subtracted).unwrap();
                let signed = added.iter().map(|k| (1, k)).chain(subtracted.iter().map(|k| (-1, k)));
                let expected = signed.fold(vec![0; x.len()], |sum, (sign, &k)| {
                    self.map(&sum, &self.rotated(&x, k), |sum, x| sum + sign * x)
                });
                self.check("sum rotations", &sum, &expected);
                let one_by_one = added.len() + subtracted.len();
                let rotated = e.rotate(&a, 1).unwrap();
                let noise = |c: &Ciphertext| c.estimate().noise().coefficient_bits;
                let bits = noise(&rotated) + (one_by_one as f64).log2();
                assert!(noise(&sum) <= bits, "no more noise than one by one");
            }
            let (first, second) = x.split_at(slots as usize);
            let swapped = [second, first].concat();
            self.check("swap rows", &e.swap_rows(&a).unwrap(), &swapped);
        }
    }

    fn products(&self, level: usize) {
        let (x, y) = (self.vector(level as u64 + 7), self.vector(level as u64 + 77));
        let e = &self.evaluator;
        let (a, b) = (self.worn(&x, level), self.encrypt(&y, level));
        let products = self.map(&x, &y, |x, y| x * y);
        if a.estimate().multiply_lazily(b.estimate()).is_err() {
            let refused = e.multiply_lazily(&a, &b);
            assert!(matches!(refused, Err(Error::NoiseExhausted { .. })), "{refused:?}");
            return;
        }
        let lazy = e.multiply_lazily(&a, &b).unwrap();
        self.check("multiply lazily", &lazy, &products);
        self.check("relinearise", &e.relinearize(&lazy).unwrap(), &products);
        let product = e.multiply(&a, &b).unwrap();
        self.check("multiply", &product, &products);
        let tripled = self.map(&x, &y, |x, y| x * y + y);
        self.check("add at degree 2", &e.add(&lazy, &b).unwrap(), &tripled);
        self.check("add at degree 2", &e.add(&b, &lazy).unwrap(), &tripled);
        self.check("square", &e.square(&b).unwrap(), &self.map(&y, &y, |x, y| x * y));
        let plain = self.parameters.encode(&y, level).unwrap();
        self.check("multiply by a plaintext", &e.multiply_plain(&a, &plain).unwrap(), &products);
        let row = &y[..self.parameters.slots()];
        let both = self.parameters.encode(row, level).unwrap();
        let rows = self.map(&x, &[row, row].concat(), |x, y| x * y);
        self.check("multiply by one row", &e.multiply_plain(&a, &both).unwrap(), &rows);
        if level > 0 {
            for product in [&lazy, &product] {
                let switched = e.relinearize_and_switch(product).unwrap();
                assert_eq!((switched.level(), switched.degree()), (level - 1, 1));
                self.check("relinearise and switch", &switched, &products);
            }
        }
        for factor in [None, Some(1), Some(12)] {
            for lower in 0..=level {
                for product in [&lazy, &product] {
                    let Ok(expected) = product.estimate().switch_to(lower, factor) else {
                        let refused = e.switch_to(product, lower, factor);
                        assert!(matches!(refused, Err(Error::NoiseExhausted { .. })));
                        continue;
                    };
                    let switched = e.switch_to(product, lower, factor).unwrap();
                    assert_eq!(*switched.estimate(), expected);
                    assert!(factor.is_none_or(|factor| expected.factor() == factor));
                    self.check("switch a product", &switched, &products);
                }
                let switched = e.switch_to(&b, lower, factor).unwrap();
                assert_eq!(switched.level(), lower);
                self.check("switch", &switched, &y);
            }
        }
        let down = e.switch_down(&product).unwrap();
        self.check("switch down", &down, &products);
        let (matched, with) = e.match_levels(&b, &down).unwrap();
        assert_eq!(matched.level(), down.level());
        self.check(
            "match levels",
            &e.sub(&with, &matched).unwrap(),
            &self.map(&x, &y, |x, y| x * y - y),
        );
    }

    fn transforms(&self, level: usize) {
        let x = self.vector(level as u64 + 8);
        let diagonals: Diagonals =
            DIAGONALS.into_iter().map(|d| (d, self.vector((d + 100) as u64))).collect();
        let terms: Vec<(&Vec<i64>, Vec<i64>)> =
            diagonals.iter().map(|(d, v)| (v, self.rotated(&x, *d))).collect();
        let sum = |i: usize| -> i128 {
            terms.iter().map(|(v, r)| i128::from(v[i]) * i128::from(r[i])).sum()
        };
        let expected: Vec<i64> = (0..x.len()).map(|i| self.centred(sum(i))).collect();
        let a = self.worn(&x, level);
        for baby_steps in BABY_STEPS {
            let transform =
                LinearTransform::new(&self.parameters, &diagonals, level, baby_steps).unwrap();
            assert_eq!(transform.diagonals(), diagonals.len());
            let transformed = self.evaluator.linear_transform(&a, &transform);
            if a.estimate().linear_transform(&transform).is_err() {
                assert!(matches!(transformed, Err(Error::NoiseExhausted { .. })));
                continue;
            }
            self.check("linear transform", &transformed.unwrap(), &expected);
        }
    }

    fn every_level(&self) {
        for level in 0..=self.parameters.max_level() {
            self.linear(level);
            self.moves(level);
            self.products(level);
            self.transforms(level);
        }
        let bottom = self.encrypt(&self.vector(1), 0);
        let refused = self.evaluator.relinearize_and_switch(&bottom);
        assert!(matches!(refused, Err(Error::LevelExhausted { .. })), "{refused:?}");
    }

    /// The length of what is random is bounded to within a bit.
    fn lengths(&self) {
        let top = self.parameters.max_level();
        let plaintext = self.parameters.encode(&self.vector(2), top).unwrap();
        let public = self.secret.public_key().unwrap();
        let fresh = self.secret.encrypt_integers(&plaintext).unwrap();
        let square = self.evaluator.square(&fresh).unwrap();
        for ciphertext in [
            public.encrypt_integers(&plaintext).unwrap(),
            self.evaluator.rotate(&fresh, 1).unwrap(),
            self.evaluator.switch_to(&square, 0, None).unwrap(),
            fresh,
        ] {
            let measured = self.secret.measure_noise(&ciphertext).unwrap().length_bits;
            let bound = ciphertext.estimate().noise().length_bits;
            assert!(measured <= bound && bound < measured + 1.0, "{measured} of {bound}");
        }
    }

    /// As many squarings in a row as there are levels, switched down after each.
    fn squarings(&self) {
        let mut x = self.vector(3);
        let mut a = self.encrypt(&x, self.parameters.max_level());
        for _ in 0..self.parameters.max_level() {
            a = self.evaluator.square(&a).unwrap();
            a = self.evaluator.switch_down(&a).unwrap();
            x = self.map(&x, &x, |x, y| x * y);
            self.check("square in a row", &a, &x);
        }
    }
}

fn small(log_n: u32, levels: usize, plaintext_modulus: u32) -> ParametersLiteral {
    let plaintext_modulus = Some(plaintext_modulus);
    ParametersLiteral {
        log_n: Some(log_n),
        levels,
        plaintext_modulus,
        insecure: true,
        ..Default::default()
    }
}

fn secure(log_n: u32, levels: usize) -> ParametersLiteral {
    ParametersLiteral { log_n: Some(log_n), levels, ..Default::default() }
}

#[test]
fn a_switch_keeps_its_factor_where_primes_are_dropped_and_takes_the_customary_one_where_asked() {
    let literal = ParametersLiteral { levels: 2, ..ParametersLiteral::default() };
    let parameters = Parameters::new(literal).unwrap();
    let (top, below) = (parameters.fresh(2).unwrap(), parameters.fresh(1).unwrap());
    assert_ne!(top.factor(), below.factor());
    let dropped = top.switch_to(1, None).unwrap();
    assert_eq!((dropped.factor(), dropped.noise()), (top.factor(), top.noise()));
    let customary = top.relinearize_and_switch().unwrap();
    assert_eq!((customary.level(), customary.factor()), (1, below.factor()));
    assert!(
        customary.add(&below).unwrap().budget_bits() > dropped.add(&below).unwrap().budget_bits()
    );
    let product = top.multiply(&top).unwrap().switch_to(1, None).unwrap();
    assert_eq!(product.factor(), below.factor());
}

#[test]
fn the_default_modulus_in_a_small_ring() {
    let bench = Bench::new(small(8, 4, 65537));
    bench.every_level();
    bench.squarings();
}

#[test]
fn the_smallest_ring_and_modulus() {
    let bench = Bench::new(small(5, 3, 193));
    bench.every_level();
    bench.squarings();
}

#[test]
fn a_modulus_of_30_bits_and_one_digit() {
    let bench = Bench::new(ParametersLiteral { digits: Some(1), ..small(9, 3, 1_073_738_753) });
    bench.every_level();
    bench.squarings();
}

#[test]
fn ring_of_degree_2_13_at_128_bits() {
    let bench = Bench::new(secure(13, 2));
    assert!(bench.parameters.is_secure());
    bench.lengths();
    bench.every_level();
    bench.squarings();
}

#[test]
fn ring_of_degree_2_14_at_128_bits() {
    let bench = Bench::new(secure(14, 5));
    assert!(bench.parameters.is_secure());
    bench.lengths();
    bench.every_level();
    bench.squarings();
}

#[test]
fn exhausted_noise_is_refused_before_a_number_is_wrong() {
    let bench = Bench::new(small(8, 2, 65537));
    let e = &bench.evaluator;
    let mut x = bench.vector(9);
    let mut a = bench.encrypt(&x, 2);
    let refusal = loop {
        match e.square(&a) {
            Ok(square) => a = square,
            Err(refusal) => break refusal,
        }
        x = bench.map(&x, &x, |x, y| x * y);
        bench.check("square without switching", &a, &x);
    };
    assert!(matches!(refusal, Error::NoiseExhausted { .. }), "{refusal}");
    assert!(refusal.to_string().contains("switch the modulus down earlier"), "{refusal}");
    let mut sum = bench.encrypt(&x, 0);
    let mut doubled = x.clone();
    let refusal = loop {
        match e.add(&sum, &sum) {
            Ok(next) => sum = next,
            Err(refusal) => break refusal,
        }
        doubled = bench.map(&doubled, &doubled, |x, y| x + y);
        assert_eq!(bench.secret.decrypt_integers(&sum).unwrap(), doubled);
    };
    assert!(matches!(refusal, Error::NoiseExhausted { .. }), "{refusal}");
    let huge = small(8, 0, 1_073_738_753);
    let cramped = ParametersLiteral { level_bits: Some(20.0), base_bits: Some(30.0), ..huge };
    let cramped = Parameters::new(cramped).unwrap();
    assert!(matches!(cramped.fresh(0), Err(Error::NoiseExhausted { .. })));
    let secret = SecretKey::generate(&cramped).unwrap();
    let plaintext = cramped.encode(&vec![1; cramped.slots()], 0).unwrap();
    let refused = secret.encrypt_integers(&plaintext);
    assert!(matches!(refused, Err(Error::NoiseExhausted { .. })));
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let bench = Bench::new(small(8, 2, 65537));
    let other = Bench::new(small(8, 2, 65537));
    let narrow = Bench::new(small(8, 2, 7681));
    let x = bench.vector(4);
    let (a, low) = (bench.encrypt(&x, 2), bench.encrypt(&x, 1));
    let e = &bench.evaluator;
    let foreign = narrow.encrypt(&narrow.vector(4), 2);
    assert!(matches!(e.add(&a, &low), Err(Error::LevelMismatch { .. })));
    assert!(matches!(e.multiply(&a, &low), Err(Error::LevelMismatch { .. })));
    assert!(matches!(e.add(&a, &other.encrypt(&x, 2)), Err(Error::KeyMismatch { .. })));
    assert!(matches!(other.secret.decrypt_integers(&a), Err(Error::KeyMismatch { .. })));
    assert!(matches!(e.negate(&foreign), Err(Error::ParametersMismatch { .. })));
    assert!(matches!(
        bench.secret.decrypt_integers(&foreign),
        Err(Error::ParametersMismatch { .. })
    ));
    assert!(matches!(e.rotate(&a, 77), Err(Error::MissingKey { .. })));
    assert!(matches!(e.rotate_sum(&a, &[0, 77], &[]), Err(Error::MissingKey { .. })));
    for (added, subtracted) in [(&[1, 1][..], &[][..]), (&[1], &[1]), (&[0], &[]), (&[], &[])] {
        let refused = e.rotate_sum(&a, added, subtracted);
        assert!(matches!(refused, Err(Error::InvalidArgument { .. })), "{refused:?}");
    }
    let lazy = e.multiply_lazily(&a, &a).unwrap();
    assert!(matches!(e.rotate(&lazy, 1), Err(Error::DegreeMismatch { .. })));
    assert!(matches!(e.rotate_sum(&lazy, &[0, 1], &[]), Err(Error::DegreeMismatch { .. })));
    assert!(matches!(e.swap_rows(&lazy), Err(Error::DegreeMismatch { .. })));
    assert!(matches!(e.multiply(&lazy, &a), Err(Error::DegreeMismatch { .. })));
    assert!(matches!(e.switch_to(&low, 2, None), Err(Error::LevelExhausted { .. })));
    for factor in [0, 65537, u32::MAX] {
        let refused = e.switch_to(&a, 1, Some(factor));
        assert!(matches!(refused, Err(Error::InvalidArgument { .. })), "{refused:?}");
    }
    assert!(matches!(e.add_scalar(&a, 40_000), Err(Error::IntegerOutOfRange { .. })));
    assert!(matches!(e.multiply_scalar(&a, i64::MIN), Err(Error::IntegerOutOfRange { .. })));
    let encode = |values: &[i64], level| bench.parameters.encode(values, level);
    assert!(matches!(encode(&x[..3], 0), Err(Error::SlotMismatch { .. })));
    assert!(matches!(encode(&x, 3), Err(Error::LevelMismatch { .. })));
    for value in [32_769, -32_769, i64::MAX, i64::MIN] {
        let refused = encode(&vec![value; bench.parameters.slots()], 0);
        assert!(matches!(refused, Err(Error::IntegerOutOfRange { .. })), "{refused:?}");
    }
    let keyless = Evaluator::new(rlwe::keys::EvaluationKeys::none(&bench.secret));
    assert!(matches!(keyless.multiply(&a, &a), Err(Error::MissingKey { .. })));
    assert!(matches!(keyless.swap_rows(&a), Err(Error::MissingKey { .. })));
    let transform =
        |diagonals: Diagonals| LinearTransform::new(&bench.parameters, &diagonals, 1, None);
    assert!(matches!(transform(Diagonals::new()), Err(Error::InvalidArgument { .. })));
    let twice = [(1, x.clone()), (129, x.clone())].into();
    assert!(matches!(transform(twice), Err(Error::InvalidArgument { .. })));
    assert!(matches!(transform([(1, x[..5].to_vec())].into()), Err(Error::SlotMismatch { .. })));
    let right = transform([(1, x.clone())].into()).unwrap();
    assert!(matches!(e.linear_transform(&a, &right), Err(Error::LevelMismatch { .. })));
    assert!(matches!(e.linear_transform(&lazy, &right), Err(Error::DegreeMismatch { .. })));
}

#[test]
fn keys_of_ckks_are_refused() {
    let literal = rlwe::ckks::ParametersLiteral::default();
    let parameters = rlwe::ckks::Parameters::new(literal).unwrap();
    let secret = SecretKey::generate(&parameters).unwrap();
    let evaluator = Evaluator::new(rlwe::keys::EvaluationKeys::none(&secret));
    let a = Bench::new(secure(12, 0)).encrypt(&[1; 4096], 0);
    assert!(matches!(evaluator.negate(&a), Err(Error::ParametersMismatch { .. })));
}

#[test]
fn parameters_are_the_smallest_that_do() {
    for (levels, smallest) in [(0, 12), (1, 12), (3, 13), (8, 14), (14, 15)] {
        let parameters =
            Parameters::new(ParametersLiteral { levels, ..Default::default() }).unwrap();
        assert_eq!(parameters.log_n(), smallest, "{levels} levels");
        assert!(parameters.is_secure());
        assert_eq!(parameters.plaintext_modulus(), 65537);
        let smaller = Parameters::new(secure(smallest - 1, levels));
        assert!(matches!(smaller, Err(Error::InsecureParameters(_))), "{smaller:?}");
        let insecure = ParametersLiteral { insecure: true, ..secure(smallest - 1, levels) };
        let insecure = Parameters::new(insecure).unwrap();
        assert!(insecure.to_string().ends_with("INSECURE"), "{insecure}");
    }
    let large = Parameters::new(secure(16, 1)).unwrap();
    assert_eq!(large.plaintext_modulus(), 786_433);
    let t = large.plaintext_modulus();
    assert!(!large.chain().q_primes.contains(&t));
    for levels in [200, usize::MAX] {
        let refused = Parameters::new(ParametersLiteral { levels, ..Default::default() });
        assert!(matches!(refused, Err(Error::InsecureParameters(_))), "{refused:?}");
    }
}

#[test]
fn requests_out_of_range_are_refused() {
    let valid = small(8, 1, 65537);
    for wrong in [
        ParametersLiteral { plaintext_modulus: Some(65536), ..valid.clone() },
        ParametersLiteral { plaintext_modulus: Some(65539), ..valid.clone() },
        ParametersLiteral { plaintext_modulus: Some(512 * 3 + 1), ..valid.clone() },
        ParametersLiteral { plaintext_modulus: Some(0), ..valid.clone() },
        ParametersLiteral { plaintext_modulus: Some(1), ..valid.clone() },
        ParametersLiteral { plaintext_modulus: Some(2_013_265_921), ..valid.clone() },
        ParametersLiteral { plaintext_modulus: Some(786_433), log_n: Some(17), ..valid.clone() },
        ParametersLiteral { level_bits: Some(19.0), ..valid.clone() },
        ParametersLiteral { level_bits: Some(f64::NAN), ..valid.clone() },
        ParametersLiteral { base_bits: Some(20.0), ..valid.clone() },
        ParametersLiteral { base_bits: Some(f64::INFINITY), ..valid.clone() },
        ParametersLiteral { log_n: Some(4), ..valid.clone() },
        ParametersLiteral { log_n: Some(40), ..valid.clone() },
        ParametersLiteral { digits: Some(0), ..valid.clone() },
    ] {
        let t = wrong.plaintext_modulus;
        let refused = Parameters::new(wrong);
        // 3 * 2^18 + 1 does for the largest ring.
        let fits = t == Some(786_433);
        assert_eq!(refused.is_ok(), fits, "{refused:?}");
        assert!(fits || matches!(refused, Err(Error::InvalidParameters(_))), "{refused:?}");
    }
}
