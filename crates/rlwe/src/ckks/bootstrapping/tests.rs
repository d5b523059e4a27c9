use super::*;
use crate::Error;
use crate::ckks::{Ciphertext, Complex64, Encoding, Estimate, Evaluator};
use crate::core::keys::{EvaluationKeys, EvaluationKeysRequest, SecretKey};
use crate::ring::embedding::Embedding;

/// Uniform numbers in [-1, 1), the same on every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Numbers in the unit disc, or on the real line.
    fn vector(&mut self, length: usize, packing: Packing) -> Vec<Complex64> {
        let mut one = || match packing {
            Packing::Complex | Packing::Coefficients => {
                Complex64::new(self.next(), self.next()) * std::f64::consts::FRAC_1_SQRT_2
            }
            Packing::Real => self.next().into(),
        };
        (0..length).map(|_| one()).collect()
    }
}

struct Bench {
    bootstrapping: Bootstrapping,
    secret: SecretKey,
    evaluator: Evaluator,
}

/// Estimates may be this much too careful, in bits.
const SLACK_BITS: f64 = 7.0;

impl Bench {
    fn new(literal: BootstrappingLiteral, slots: usize, packing: Packing) -> Self {
        let parameters = BootstrappingParameters::new(literal).unwrap();
        Self::of(Bootstrapping::new(&parameters, slots, packing).unwrap())
    }

    fn of(bootstrapping: Bootstrapping) -> Self {
        let parameters = bootstrapping.parameters().parameters();
        let secret = SecretKey::generate(parameters).unwrap();
        let evaluator = Evaluator::new(secret.evaluation_keys(&bootstrapping.keys()).unwrap());
        Self { bootstrapping, secret, evaluator }
    }

    fn small(log_n: u32, slots: usize, packing: Packing) -> Self {
        Self::new(small(log_n), slots, packing)
    }

    fn encrypt(&self, values: &[Complex64], level: usize, bound: f64) -> Ciphertext {
        let parameters = self.bootstrapping.parameters().parameters();
        let encoding = Encoding::at(level).within(bound);
        self.secret.encrypt(&parameters.encode(values, encoding).unwrap()).unwrap()
    }

    /// How many bits smaller than its bound the worst error of a refreshed ciphertext is.
    fn check(&self, values: &[Complex64], level: usize) -> f64 {
        let bound = self.bootstrapping.parameters().literal().bound;
        let spent = self.encrypt(values, level, bound);
        let fresh = self.evaluator.bootstrap(&spent, &self.bootstrapping).unwrap();
        let estimate = spent.estimate().bootstrap(&self.bootstrapping).unwrap();
        assert_eq!(*fresh.estimate(), estimate);
        let parameters = self.bootstrapping.parameters();
        assert_eq!(fresh.level(), parameters.output_level());
        let canonical = parameters.parameters().scale(fresh.level()).unwrap();
        assert!((fresh.scale() / canonical - 1.0).abs() < 2f64.powi(-40));
        let decrypted = self.secret.decrypt(&fresh, &estimate).unwrap().decode().unwrap();
        let errors = decrypted.iter().zip(values).map(|(a, b)| (a - b).norm());
        let measured = -errors.fold(0.0, f64::max).log2();
        let precision = fresh.precision();
        assert!(measured >= precision, "{measured:.2} bits, estimated {precision:.2}");
        measured - precision
    }

    /// The same of two real vectors at once, the worse of them.
    fn check_pair(&self, pair: [&[Complex64]; 2], level: usize) -> f64 {
        let bound = self.bootstrapping.parameters().literal().bound;
        let [a, b] = pair.map(|values| self.encrypt(values, level, bound));
        let fresh = self.evaluator.bootstrap_pair(&a, &b, &self.bootstrapping).unwrap();
        let estimates = a.estimate().bootstrap_pair(b.estimate(), &self.bootstrapping).unwrap();
        let level = self.bootstrapping.parameters().output_level();
        let slack = |((fresh, estimate), values): ((&Ciphertext, &Estimate), &[Complex64])| {
            assert_eq!((fresh.estimate(), fresh.level()), (estimate, level));
            let decrypted = self.secret.decrypt(fresh, estimate).unwrap().decode().unwrap();
            let errors = decrypted.iter().zip(values).map(|(x, y)| (x - y).norm());
            let measured = -errors.fold(0.0, f64::max).log2();
            let precision = estimate.precision();
            assert!(measured >= precision, "measured {measured}, estimated {precision}");
            measured - precision
        };
        fresh.iter().zip(&estimates).zip(pair).map(slack).fold(f64::INFINITY, f64::min)
    }

    /// The same of so many pairs, the first at the bound in every slot of both.
    fn check_pairs_often(&self, count: usize) -> f64 {
        let slots = self.bootstrapping.slots;
        let bound = self.bootstrapping.parameters().literal().bound;
        let level = self.bootstrapping.input_level();
        let numbers = &mut Numbers(slots as u64);
        let mut vector = || {
            let values = numbers.vector(slots, Packing::Real);
            values.iter().map(|x| x * bound).collect::<Vec<_>>()
        };
        let at_bound = vec![Complex64::from(bound); slots];
        let at_bound = self.check_pair([&at_bound, &at_bound], level);
        (1..count).map(|_| self.check_pair([&vector(), &vector()], level)).fold(at_bound, f64::min)
    }

    /// The same of so many vectors, the worst of them: one at the bound in every slot, random ones.
    fn check_often(&self, count: usize) -> f64 {
        let Bootstrapping { slots, packing, .. } = self.bootstrapping;
        let bound = self.bootstrapping.parameters().literal().bound;
        let level = self.bootstrapping.input_level();
        let numbers = &mut Numbers(slots as u64);
        let slack = |_| {
            let values = numbers.vector(slots, packing);
            self.check(&values.iter().map(|x| x * bound).collect::<Vec<_>>(), level)
        };
        let at_bound = self.check(&vec![Complex64::from(bound); slots], level);
        (1..count).map(slack).fold(at_bound, f64::min)
    }
}

fn small(log_n: u32) -> BootstrappingLiteral {
    BootstrappingLiteral { log_n, levels: 2, insecure: true, ..Default::default() }
}

#[test]
fn every_number_of_slots_is_refreshed() {
    for packing in [Packing::Complex, Packing::Real] {
        for log_slots in 0..8 {
            let slots = 1 << log_slots;
            let bench = Bench::small(8, slots, packing);
            let numbers = &mut Numbers(log_slots as u64);
            let least = bench.bootstrapping.input_level();
            for level in [least, least + 2] {
                let slack = bench.check(&numbers.vector(slots, packing), level);
                // The worst of a few slots is no worst case.
                assert!(slots < 16 || slack < SLACK_BITS, "{slots} slots: {slack:.1} bits off");
            }
        }
    }
}

#[test]
fn messages_at_the_bound_in_every_slot_are_within_the_estimate() {
    let turns = [1.0, -1.0].map(Complex64::from).into_iter().chain([Complex64::I]);
    for bound in [1.0, 1000.0] {
        // A bound beyond 1 takes its bits from the scale of level 0.
        let literal = BootstrappingLiteral { bound, ..small(8) };
        let bench = Bench::new(literal, 128, Packing::Complex);
        for turn in turns.clone() {
            bench.check(&[turn * bound; 128], 3);
            let alternating =
                |i: usize| if i.is_multiple_of(2) { turn * bound } else { -turn * bound };
            bench.check(&(0..128).map(alternating).collect::<Vec<_>>(), 3);
            let mut single = vec![Complex64::ZERO; 128];
            single[77] = turn * bound;
            bench.check(&single, 3);
        }
    }
}

#[test]
fn a_refreshed_ciphertext_is_refreshed_again_after_its_levels() {
    let bench = Bench::small(8, 128, Packing::Complex);
    let values = Numbers(3).vector(128, Packing::Complex);
    let mut value = bench.encrypt(&values, 3, 1.0);
    let mut expected = values;
    for _ in 0..3 {
        value = bench.evaluator.bootstrap(&value, &bench.bootstrapping).unwrap();
        while value.level() > bench.bootstrapping.input_level() {
            let square = bench.evaluator.multiply_lazily(&value, &value).unwrap();
            value = bench.evaluator.relinearize_and_rescale(&square).unwrap();
            expected.iter_mut().for_each(|x| *x = *x * *x);
        }
        // Products of doubles stay within the bound but for their rounding.
        value = value.with_bound(1.0).unwrap();
    }
    let decrypted = bench.secret.decrypt(&value, value.estimate()).unwrap().decode().unwrap();
    let errors = decrypted.iter().zip(&expected).map(|(a, b)| (a - b).norm());
    assert!(errors.fold(0.0, f64::max) < (-value.precision()).exp2());
}

#[test]
fn imaginary_parts_of_a_real_packing_are_dropped() {
    let bench = Bench::small(8, 32, Packing::Real);
    let values = Numbers(8).vector(32, Packing::Complex);
    let spent = bench.encrypt(&values, 3, 1.0);
    let fresh = bench.evaluator.bootstrap(&spent, &bench.bootstrapping).unwrap();
    let decrypted = bench.secret.decrypt(&fresh, fresh.estimate()).unwrap().decode().unwrap();
    for (actual, expected) in decrypted.iter().zip(&values) {
        assert!((actual - expected.re).norm() < (-fresh.precision()).exp2());
    }
}

#[test]
fn coefficients_come_out_in_slots() {
    for log_slots in 0..8u32 {
        let slots = 1 << log_slots;
        let bench = Bench::small(8, slots, Packing::Coefficients);
        assert_eq!(bench.bootstrapping.input_level(), 0);
        let numbers = &mut Numbers(u64::from(log_slots));
        // Some at the bound, and the others anywhere.
        let edge = |i: usize| if i.is_multiple_of(3) { 1.0 } else { -1.0 };
        let mut of = |i: usize| if i < slots / 2 { edge(i) } else { numbers.next() };
        let coefficients: Vec<f64> = (0..2 * slots).map(&mut of).collect();
        let embedding = Embedding::new(log_slots + 1).unwrap();
        let values = embedding.project(&coefficients, slots).unwrap();
        let count = 2.0 * slots as f64;
        let shift = usize::BITS - log_slots;
        let place = |k: usize| k.reverse_bits().checked_shr(shift).unwrap_or(0);
        for level in [0, 2] {
            // A slot may have the sum of all, and has the root of their number in the mean.
            let spent = bench.encrypt(&values, level, count).with_bound(count.sqrt()).unwrap();
            let fresh = bench.evaluator.bootstrap(&spent, &bench.bootstrapping).unwrap();
            let estimate = spent.estimate().bootstrap(&bench.bootstrapping).unwrap();
            assert_eq!((fresh.estimate(), fresh.level()), (&estimate, 5));
            let canonical = bench.bootstrapping.parameters().parameters().scale(5).unwrap();
            assert!((fresh.scale() / canonical - 1.0).abs() < 2f64.powi(-40));
            let found = bench.secret.decrypt(&fresh, &estimate).unwrap().decode().unwrap();
            let error = |k: usize| {
                let both = Complex64::new(coefficients[k], coefficients[k + slots]);
                (found[place(k)] - both).norm()
            };
            let measured = -(0..slots).map(error).fold(0.0, f64::max).log2();
            let slack = measured - estimate.precision();
            assert!(slack >= 0.0, "{slots} slots: {measured:.2} bits, {slack:.2} too few");
            assert!(slots < 16 || slack < SLACK_BITS, "{slots} slots: {slack:.1} bits off");
        }
    }
}

#[test]
fn coefficients_beyond_the_bound_and_pairs_of_them_are_refused() {
    let bench = Bench::small(8, 128, Packing::Coefficients);
    let values = [Complex64::from(1.0); 128];
    let spent = bench.encrypt(&values, 0, 17.0);
    let refused = bench.evaluator.bootstrap(&spent, &bench.bootstrapping).unwrap_err();
    assert!(matches!(refused, Error::ValueOutOfRange { .. }), "{refused}");
    let spent = bench.encrypt(&values, 0, 1.0);
    let refused = bench.evaluator.bootstrap_pair(&spent, &spent, &bench.bootstrapping);
    assert!(matches!(refused.unwrap_err(), Error::InvalidArgument { .. }));
}

#[test]
fn two_real_vectors_are_refreshed_at_once_in_every_number_of_slots() {
    for log_slots in 0..8 {
        let slots = 1 << log_slots;
        let bench = Bench::small(8, slots, Packing::Real);
        let numbers = &mut Numbers(log_slots as u64);
        let [a, b] = [0; 2].map(|_| numbers.vector(slots, Packing::Real));
        let least = bench.bootstrapping.input_level();
        for level in [least, least + 2] {
            let slack = bench.check_pair([&a, &b], level);
            // The worst of a few slots is no worst case.
            assert!(slots < 16 || slack < SLACK_BITS, "{slots} slots: {slack:.1} bits off");
        }
    }
}

#[test]
fn pairs_at_the_bound_in_every_slot_are_within_the_estimate() {
    for bound in [1.0, 1000.0] {
        let literal = BootstrappingLiteral { bound, ..small(8) };
        let bench = Bench::new(literal, 128, Packing::Real);
        let of = |turn: &dyn Fn(usize) -> f64| -> Vec<Complex64> {
            (0..128).map(|i| (turn(i) * bound).into()).collect()
        };
        let at_bound = of(&|_| 1.0);
        let alternating = of(&|i| if i.is_multiple_of(2) { 1.0 } else { -1.0 });
        let single = of(&|i| f64::from(u8::from(i == 77)));
        for other in [at_bound.clone(), of(&|_| -1.0), alternating, single, of(&|_| 0.0)] {
            bench.check_pair([&at_bound, &other], 3);
            bench.check_pair([&other, &at_bound], 3);
        }
    }
}

#[test]
fn a_pair_of_one_and_the_same_and_of_several_levels_is_refreshed() {
    let bench = Bench::small(8, 128, Packing::Real);
    let values = Numbers(5).vector(128, Packing::Real);
    let [a, b] = [3, 5].map(|level| bench.encrypt(&values, level, 1.0));
    for (left, right) in [(&a, &a), (&a, &b), (&b, &a)] {
        let fresh = bench.evaluator.bootstrap_pair(left, right, &bench.bootstrapping).unwrap();
        for each in fresh {
            let decrypted = bench.secret.decrypt(&each, each.estimate()).unwrap().decode().unwrap();
            let errors = decrypted.iter().zip(&values).map(|(x, y)| (x - y).norm());
            assert!(errors.fold(0.0, f64::max) < (-each.precision()).exp2());
        }
    }
}

#[test]
fn pairs_are_refreshed_again_and_again_within_the_estimate() {
    let bench = Bench::small(8, 128, Packing::Real);
    let numbers = &mut Numbers(4);
    let expected = [0; 2].map(|_| numbers.vector(128, Packing::Real));
    let mut pair = [0, 1].map(|i| bench.encrypt(&expected[i], 3, 1.0));
    for _ in 0..8 {
        pair = bench.evaluator.bootstrap_pair(&pair[0], &pair[1], &bench.bootstrapping).unwrap();
        // Products of doubles stay within the bound but for their rounding.
        pair = pair.map(|each| each.with_bound(1.0).unwrap());
    }
    for (each, expected) in pair.iter().zip(&expected) {
        let decrypted = bench.secret.decrypt(each, each.estimate()).unwrap().decode().unwrap();
        let errors = decrypted.iter().zip(expected).map(|(x, y)| (x - y).norm());
        assert!(errors.fold(0.0, f64::max) < (-each.precision()).exp2());
    }
}

#[test]
fn a_pair_is_refused_where_one_of_it_would_be() {
    let bench = Bench::small(7, 64, Packing::Real);
    let values = vec![Complex64::ONE; 64];
    let spent = bench.encrypt(&values, 3, 1.0);
    let too_large = bench.encrypt(&values, 3, 1.001);
    let too_low = bench.encrypt(&values, 2, 1.0);
    let square = bench.evaluator.multiply_lazily(&spent, &spent).unwrap();
    for (left, right) in [(0, 1), (1, 0)] {
        let refused = |wrong: &Ciphertext| {
            let pair = [&spent, wrong];
            bench.evaluator.bootstrap_pair(pair[left], pair[right], &bench.bootstrapping)
        };
        assert!(matches!(refused(&too_large), Err(Error::ValueOutOfRange { .. })));
        assert!(matches!(refused(&too_low), Err(Error::LevelExhausted { needed: 3, .. })));
        assert!(matches!(refused(&square), Err(Error::DegreeMismatch { .. })));
    }
    let parameters = bench.bootstrapping.parameters().parameters();
    let scale = parameters.scale(3).unwrap() * (1.0 + 2f64.powi(-20));
    let encoding = Encoding { scale: Some(scale), ..Encoding::at(3).within(0.5) };
    let halves = parameters.encode(&[Complex64::from(0.5); 64], encoding).unwrap();
    let other = bench.secret.encrypt(&halves).unwrap();
    let refused = bench.evaluator.bootstrap_pair(&spent, &other, &bench.bootstrapping);
    assert!(matches!(refused, Err(Error::ScaleMismatch { .. })), "{refused:?}");
}

#[test]
fn transforms_that_are_streamed_give_the_same() {
    let bench = Bench::small(7, 64, Packing::Complex);
    let parameters = bench.bootstrapping.parameters();
    let streamed = Bootstrapping::streamed(parameters, 64, Packing::Complex).unwrap();
    assert_eq!(streamed.keys(), bench.bootstrapping.keys());
    let spent = bench.encrypt(&Numbers(2).vector(64, Packing::Complex), 3, 1.0);
    let refreshed = |bootstrapping| bench.evaluator.bootstrap(&spent, bootstrapping).unwrap();
    assert_eq!(refreshed(&streamed), refreshed(&bench.bootstrapping));
}

#[test]
fn what_cannot_be_refreshed_is_refused_by_name() {
    let bench = Bench::small(7, 64, Packing::Complex);
    let values = vec![Complex64::ONE; 64];
    let bootstrap = |a: &Ciphertext| bench.evaluator.bootstrap(a, &bench.bootstrapping);
    let too_large = bench.encrypt(&values, 3, 1.001);
    assert!(matches!(bootstrap(&too_large), Err(Error::ValueOutOfRange { bound, .. })
        if (bound - 1.0).abs() < 1e-9));
    let too_low = bench.encrypt(&values, 2, 1.0);
    assert!(matches!(bootstrap(&too_low), Err(Error::LevelExhausted { needed: 3, .. })));
    let other_slots = bench.encrypt(&values[..32], 3, 1.0);
    assert!(matches!(bootstrap(&other_slots), Err(Error::SlotMismatch { expected: 64, .. })));
    let spent = bench.encrypt(&values, 3, 1.0);
    let square = bench.evaluator.multiply_lazily(&spent, &spent).unwrap();
    assert!(matches!(bootstrap(&square), Err(Error::DegreeMismatch { .. })));
    let other = Bench::new(BootstrappingLiteral { levels: 3, ..small(7) }, 64, Packing::Complex);
    let spent = other.encrypt(&values, 3, 1.0);
    assert!(matches!(bootstrap(&spent), Err(Error::ParametersMismatch { .. })));
}

#[test]
fn every_key_is_needed_and_missed_by_name() {
    let bench = Bench::small(7, 32, Packing::Complex);
    let spent = bench.encrypt(&[Complex64::ONE; 32], 3, 1.0);
    let every = bench.bootstrapping.keys();
    let without_rotation = |index: usize| {
        let mut request = every.clone();
        request.rotations.retain(|(rotation, _)| *rotation != every.rotations[index].0);
        request
    };
    let fewer = (0..every.rotations.len()).map(without_rotation).chain([
        EvaluationKeysRequest { relinearisation_level: None, ..every.clone() },
        EvaluationKeysRequest { conjugation_level: None, ..every.clone() },
        EvaluationKeysRequest { encapsulation_weight: None, ..every.clone() },
    ]);
    for request in fewer {
        let evaluator = Evaluator::new(bench.secret.evaluation_keys(&request).unwrap());
        let refused = evaluator.bootstrap(&spent, &bench.bootstrapping);
        assert!(matches!(refused, Err(Error::MissingKey { .. })), "{request:?}");
    }
}

#[test]
fn keys_return_from_bytes() {
    let bench = Bench::small(7, 64, Packing::Complex);
    let keys = bench.evaluator.keys();
    let bytes = keys.to_bytes();
    let parameters = bench.bootstrapping.parameters().parameters();
    let read = EvaluationKeys::from_bytes(parameters, &bytes).unwrap();
    assert_eq!(read.to_bytes(), bytes);
    assert_eq!(read.encapsulation_weight(), Some(32));
    let spent = bench.encrypt(&[Complex64::I; 64], 3, 1.0);
    let refreshed = Evaluator::new(read).bootstrap(&spent, &bench.bootstrapping).unwrap();
    assert_eq!(refreshed, bench.evaluator.bootstrap(&spent, &bench.bootstrapping).unwrap());
}

#[test]
fn literals_out_of_range_are_refused() {
    let refused = |literal: BootstrappingLiteral| {
        let refusal = BootstrappingParameters::new(literal.clone());
        assert!(matches!(refusal, Err(Error::InvalidParameters(_))), "{literal:?}: {refusal:?}");
    };
    for wrong in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
        refused(BootstrappingLiteral { bound: wrong, ..small(7) });
        refused(BootstrappingLiteral { ratio_bits: wrong, ..small(7) });
        refused(BootstrappingLiteral { reduction_bits: wrong, ..small(7) });
        refused(BootstrappingLiteral { transform_bits: wrong, ..small(7) });
        refused(BootstrappingLiteral { base_bits: wrong, ..small(7) });
    }
    refused(BootstrappingLiteral { slots_to_coefficients: 0, ..small(7) });
    refused(BootstrappingLiteral { coefficients_to_slots: 17, ..small(7) });
    refused(BootstrappingLiteral { double_angles: 9, ..small(7) });
    refused(BootstrappingLiteral { sparse_weight: 0, ..small(7) });
    refused(BootstrappingLiteral { sparse_weight: 129, ..small(7) });
    refused(BootstrappingLiteral { levels: 1000, ..small(7) });
    // More precision than the numbers of the machine have.
    refused(BootstrappingLiteral { ratio_bits: 22.0, base_bits: 62.0, ..small(7) });
    for log_n in [7, 14] {
        let insecure = BootstrappingLiteral { insecure: false, ..small(log_n) };
        let refusal = BootstrappingParameters::new(insecure);
        assert!(matches!(refusal, Err(Error::InsecureParameters(_))), "{log_n}");
    }
}

#[test]
fn the_sets_of_the_rings_are_secure_and_leave_what_they_say() {
    for (log_n, bits) in [(15, 89.0), (16, 380.0), (17, 1590.0)] {
        let literal = BootstrappingLiteral::of_ring(log_n).unwrap();
        let parameters = BootstrappingParameters::new(literal).unwrap();
        assert!(parameters.parameters().is_secure());
        assert!(parameters.bits_left() >= bits, "{log_n}: {}", parameters.bits_left());
        assert!(parameters.failure_bits() >= OVERFLOW_FAILURE_BITS);
    }
    assert!(matches!(BootstrappingLiteral::of_ring(14), Err(Error::InvalidParameters(_))));
}

#[test]
fn a_sparse_secret_that_is_not_in_the_table_is_refused() {
    for literal in [
        BootstrappingLiteral { sparse_weight: 31, ..Default::default() },
        BootstrappingLiteral { base_bits: 62.0, ..Default::default() },
    ] {
        let refusal = BootstrappingParameters::new(literal);
        assert!(matches!(refusal, Err(Error::InsecureParameters(_))), "{refusal:?}");
    }
}

/// The sets of the rings, in a ring that is small; that of sessions too, whose bound is larger.
fn offered() -> impl Iterator<Item = BootstrappingLiteral> {
    let small = |log_n, bound| {
        let set = BootstrappingLiteral::of_ring(log_n).unwrap();
        BootstrappingLiteral { log_n: 8, levels: set.levels.min(3), insecure: true, bound, ..set }
    };
    [(15, 1.0), (16, 1.0), (17, 1.0), (16, 1024.0)]
        .into_iter()
        .map(move |(log_n, bound)| small(log_n, bound))
}

/// Refreshes so often, of every set, in every packing.
fn refresh_often(count: usize) {
    for literal in offered() {
        for (slots, packing) in
            [(128, Packing::Complex), (128, Packing::Real), (16, Packing::Complex)]
        {
            let bench = Bench::new(literal.clone(), slots, packing);
            let mut slack = bench.check_often(count);
            if packing == Packing::Real {
                slack = slack.min(bench.check_pairs_often(count));
            }
            let BootstrappingLiteral { base_bits, bound, .. } = literal;
            report(&format!("q0 of {base_bits} bits, numbers up to {bound}"), slots, slack);
        }
    }
}

/// What was measured, for who runs the slow tests with `--nocapture`.
fn report(set: &str, slots: usize, slack: f64) {
    let ratio = (-slack).exp2();
    println!("{set}, {slots} slots: the worst error is {ratio:.3} of its bound");
}

/// Refreshes so often, of the set of a ring at its full size.
fn refresh_at_full_size(log_n: u32, log_slots: u32, packing: Packing, count: usize) {
    let literal = BootstrappingLiteral::of_ring(log_n).unwrap();
    let parameters = BootstrappingParameters::new(literal).unwrap();
    let bench = Bench::of(Bootstrapping::streamed(&parameters, 1 << log_slots, packing).unwrap());
    report(&format!("N = 2^{log_n}"), 1 << log_slots, bench.check_often(count));
}

/// Refreshes pairs so often, of the set of a ring at its full size.
fn refresh_pairs_at_full_size(log_n: u32, log_slots: u32, count: usize) {
    let literal = BootstrappingLiteral::of_ring(log_n).unwrap();
    let parameters = BootstrappingParameters::new(literal).unwrap();
    let slots = 1 << log_slots;
    let streamed = Bootstrapping::streamed(&parameters, slots, Packing::Real).unwrap();
    let slack = Bench::of(streamed).check_pairs_often(count);
    report(&format!("pairs, N = 2^{log_n}"), slots, slack);
}

#[test]
fn every_set_refreshes_in_a_small_ring() {
    refresh_often(5);
}

#[test]
#[ignore = "slow: a thousand refreshings of each set, two minutes"]
fn every_set_refreshes_a_thousand_times_in_a_small_ring() {
    refresh_often(334);
}

#[test]
#[ignore = "slow: full size, 4 GB"]
fn the_set_of_2_15_refreshes_at_full_size() {
    refresh_at_full_size(15, 14, Packing::Complex, 10);
    refresh_at_full_size(15, 14, Packing::Real, 10);
}

#[test]
#[ignore = "slow: full size, 7 GB"]
fn the_set_of_2_16_refreshes_complex_numbers_at_full_size() {
    refresh_at_full_size(16, 15, Packing::Complex, 10);
}

#[test]
#[ignore = "slow: full size, 7 GB"]
fn the_set_of_2_16_refreshes_real_numbers_at_full_size() {
    refresh_at_full_size(16, 15, Packing::Real, 10);
}

/// Of few slots, as the keys for all of them take 15 GB.
#[test]
#[ignore = "slow: full size, 13 GB"]
fn the_set_of_2_17_refreshes_complex_numbers_at_full_size() {
    refresh_at_full_size(17, 8, Packing::Complex, 10);
}

#[test]
#[ignore = "slow: full size, 13 GB"]
fn the_set_of_2_17_refreshes_real_numbers_at_full_size() {
    refresh_at_full_size(17, 8, Packing::Real, 10);
}

#[test]
#[ignore = "slow: full size, 4 GB"]
fn the_set_of_2_15_refreshes_pairs_at_full_size() {
    refresh_pairs_at_full_size(15, 14, 10);
}

#[test]
#[ignore = "slow: full size, 7 GB"]
fn the_set_of_2_16_refreshes_pairs_at_full_size() {
    refresh_pairs_at_full_size(16, 15, 10);
}

/// Of few slots, as the keys for all of them take 15 GB.
#[test]
#[ignore = "slow: full size, 13 GB"]
fn the_set_of_2_17_refreshes_pairs_at_full_size() {
    refresh_pairs_at_full_size(17, 8, 10);
}
