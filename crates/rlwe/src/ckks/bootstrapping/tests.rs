use super::*;
use crate::ckks::{Ciphertext, Complex64, Encoding, Evaluator};
use crate::core::keys::SecretKey;
use crate::{Error, Result};

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
            Packing::Complex => {
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
        let bootstrapping = Bootstrapping::new(&parameters, slots, packing).unwrap();
        let secret = SecretKey::generate(parameters.parameters()).unwrap();
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

    /// The worst error of a refreshed ciphertext, in bits, after it was held against the estimate.
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
        measured
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
            let least = bench.bootstrapping.slots_to_coefficients.len();
            for level in [least, least + 2] {
                let measured = bench.check(&numbers.vector(slots, packing), level);
                let spent = bench.encrypt(&vec![Complex64::ONE; slots], level, 1.0);
                let estimate = spent.estimate().bootstrap(&bench.bootstrapping).unwrap();
                let slack = measured - estimate.precision();
                // The worst of a few slots is no worst case.
                assert!(slots < 16 || slack < SLACK_BITS, "{slots} slots: {slack:.1} bits off");
            }
        }
    }
}
