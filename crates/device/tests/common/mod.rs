//! What tests of a device share.
#![allow(dead_code, reason = "not every test uses all of it")]

use device::launch::Order;
use device::{Device, Evaluator, Parameters};
use rlwe::ckks::{self, Complex64, Encoding, ParametersLiteral};
use rlwe::keys::{EvaluationKeysRequest, SecretKey};

/// More memory than a test uses.
const BUDGET: u64 = 1 << 34;

/// Names the device that tests run on: the software device unless it is "cuda", which is the first
/// GPU.
const VARIABLE: &str = "CLOAKWORK_TEST_DEVICE";

fn on_gpu() -> bool {
    std::env::var(VARIABLE).is_ok_and(|name| name == "cuda")
}

/// A device of which so many bytes may be used.
pub fn with_budget(bytes: u64) -> Device {
    if on_gpu() { Device::cuda(0, Some(bytes)).unwrap() } else { Device::software(bytes) }
}

/// A device with enough memory.
pub fn roomy() -> Device {
    with_budget(BUDGET)
}

/// Devices that run blocks and threads in each order: where both give what the CPU does, no thread
/// depends on what others do between two barriers. A GPU has its own order.
pub fn in_both_orders() -> Vec<Device> {
    if on_gpu() {
        return vec![roomy()];
    }
    [Order::Rising, Order::Falling].map(|order| Device::software_in_order(BUDGET, order)).to_vec()
}

/// Numbers below `bound`, the same on every run.
pub fn numbers(seed: u64, bound: u32, count: usize) -> Vec<u32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xd1b5_4a32_d192_ed03;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((state >> 32) * u64::from(bound)) >> 32) as u32
    };
    (0..count).map(|_| next()).collect()
}

/// The key of this rotation serves half the levels, and has fewer primes than the others.
const LOW: i64 = 7;
/// Rotations that a bench has keys for.
pub const ROTATIONS: [i64; 4] = [1, 0, -3, LOW];

/// A set with its keys, and the engine of the CPU.
pub struct Bench {
    pub secret: SecretKey,
    pub host: ckks::Evaluator,
    pub parameters: ckks::Parameters,
    pub keys: rlwe::keys::EvaluationKeys,
}

impl Bench {
    /// With keys for [`ROTATIONS`].
    pub fn new(literal: ParametersLiteral) -> Self {
        Self::with_rotations(literal, |parameters| {
            let top = parameters.max_level();
            ROTATIONS.map(|k| (k, if k == LOW { top / 2 } else { top })).to_vec()
        })
    }

    /// With keys for rotations, each with its level.
    pub fn with_rotations(
        literal: ParametersLiteral,
        rotations: impl Fn(&ckks::Parameters) -> Vec<(i64, usize)>,
    ) -> Self {
        let parameters = ckks::Parameters::new(literal).unwrap();
        let secret = SecretKey::generate(&parameters).unwrap();
        let top = parameters.max_level();
        let request = EvaluationKeysRequest {
            relinearisation_level: Some(top),
            rotations: rotations(&parameters),
            conjugation_level: Some(top),
            ..EvaluationKeysRequest::default()
        };
        let keys = secret.evaluation_keys(&request).unwrap();
        Self { secret, host: ckks::Evaluator::new(keys.clone()), parameters, keys }
    }

    pub fn plaintext(&self, level: usize, seed: u32) -> ckks::Plaintext {
        let slots = self.parameters.slots();
        let value = |i: usize| Complex64::from_polar(0.9, f64::from(seed) + i as f64);
        let values: Vec<Complex64> = (0..slots).map(value).collect();
        self.parameters.encode(&values, Encoding::at(level).within(1.0)).unwrap()
    }

    pub fn ciphertext(&self, level: usize, seed: u32) -> ckks::Ciphertext {
        self.secret.encrypt(&self.plaintext(level, seed)).unwrap()
    }

    pub fn on(&self, device: &Device) -> Evaluator {
        let parameters = Parameters::new(device, &self.parameters).unwrap();
        Evaluator::new(&parameters, self.keys.clone()).unwrap()
    }
}

/// Refuses a ciphertext that differs from the CPU's in any residue or in its estimate.
pub fn assert_same(found: &device::Ciphertext, expected: &ckks::Ciphertext, what: &str) {
    assert_eq!(found.estimate(), expected.estimate(), "{what}");
    assert!(found.fetch().unwrap().words() == expected.words(), "{what}: other residues");
}

/// A set for tests.
pub fn insecure(
    log_n: u32,
    levels: usize,
    scale_bits: f64,
    digits: Option<usize>,
) -> ParametersLiteral {
    let log_n = Some(log_n);
    ParametersLiteral { log_n, levels, scale_bits, digits, insecure: true, ..Default::default() }
}
