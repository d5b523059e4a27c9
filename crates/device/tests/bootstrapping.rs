//! Bootstrapping: the device's residues equal the engine's.

mod common;

use common::{assert_same, in_both_orders, roomy, with_budget};
use device::{Device, Evaluator, Parameters};
use rlwe::ckks::{
    self, Bootstrapping, BootstrappingLiteral, BootstrappingParameters, Complex64, Encoding,
    Packing,
};
use rlwe::keys::{EvaluationKeys, SecretKey};

struct Bench {
    parameters: BootstrappingParameters,
    circuit: Bootstrapping,
    secret: SecretKey,
    keys: EvaluationKeys,
    host: ckks::Evaluator,
}

impl Bench {
    fn new(slots: usize, packing: Packing) -> Self {
        let literal = BootstrappingLiteral { log_n: 8, insecure: true, ..Default::default() };
        Self::of(literal, slots, packing)
    }

    fn of(literal: BootstrappingLiteral, slots: usize, packing: Packing) -> Self {
        let parameters = BootstrappingParameters::new(literal).unwrap();
        let circuit = Bootstrapping::new(&parameters, slots, packing).unwrap();
        let secret = SecretKey::generate(parameters.parameters()).unwrap();
        let keys = secret.evaluation_keys(&circuit.keys()).unwrap();
        let host = ckks::Evaluator::new(keys.clone());
        Self { parameters, circuit, secret, keys, host }
    }

    fn spent(&self, level: usize, seed: f64) -> ckks::Ciphertext {
        let value = |i: usize| match self.circuit.packing() {
            Packing::Real => Complex64::new((seed + i as f64).cos(), 0.0),
            Packing::Complex | Packing::Coefficients => Complex64::from_polar(0.9, seed + i as f64),
        };
        let values: Vec<Complex64> = (0..self.circuit.slots()).map(value).collect();
        let plaintext =
            self.parameters.parameters().encode(&values, Encoding::at(level).within(1.0));
        self.secret.encrypt(&plaintext.unwrap()).unwrap()
    }

    fn on(&self, device: &Device) -> Evaluator {
        let parameters = Parameters::new(device, self.parameters.parameters()).unwrap();
        Evaluator::new(&parameters, self.keys.clone()).unwrap()
    }
}

#[test]
fn a_refreshed_ciphertext_has_the_residues_of_the_cpu() {
    for (slots, packing) in [(128, Packing::Complex), (128, Packing::Real), (4, Packing::Real)] {
        let bench = Bench::new(slots, packing);
        for device in in_both_orders() {
            let evaluator = bench.on(&device);
            let parameters = evaluator.parameters();
            let circuits = [
                parameters.send_bootstrapping(&bench.circuit).unwrap(),
                parameters.stream_bootstrapping(&bench.circuit).unwrap(),
            ];
            for level in [bench.circuit.input_level(), bench.circuit.input_level() + 1] {
                let a = bench.spent(level, 1.0);
                let expected = bench.host.bootstrap(&a, &bench.circuit).unwrap();
                let sent = parameters.send(&a).unwrap();
                for circuit in &circuits {
                    let found = evaluator.bootstrap(&sent, circuit).unwrap();
                    assert_same(&found, &expected, &format!("{slots} slots, level {level}"));
                }
            }
        }
    }
}

#[test]
fn a_refreshed_pair_has_the_residues_of_the_cpu() {
    let bench = Bench::new(16, Packing::Real);
    let evaluator = bench.on(&in_both_orders()[0]);
    let circuit = evaluator.parameters().send_bootstrapping(&bench.circuit).unwrap();
    let level = bench.circuit.input_level();
    let pair = [bench.spent(level, 1.0), bench.spent(level + 1, 2.0)];
    let expected = bench.host.bootstrap_pair(&pair[0], &pair[1], &bench.circuit).unwrap();
    let [a, b] = pair.each_ref().map(|each| evaluator.parameters().send(each).unwrap());
    let found = evaluator.bootstrap_pair(&a, &b, &circuit).unwrap();
    for (found, expected) in found.iter().zip(&expected) {
        assert_same(found, expected, "a pair");
    }
}

#[test]
fn a_bootstrapping_takes_no_more_memory_than_is_said_before() {
    let bench = Bench::new(128, Packing::Complex);
    let a = bench.spent(bench.circuit.input_level(), 1.0);
    let device = roomy();
    let evaluator = bench.on(&device);
    let parameters = evaluator.parameters();
    let circuit = parameters.stream_bootstrapping(&bench.circuit).unwrap();
    let sent = parameters.send(&a).unwrap();
    let expected = evaluator.bootstrap(&sent, &circuit).unwrap().fetch().unwrap();
    let needed = parameters.bootstrapping_bytes(a.estimate(), &bench.circuit).unwrap();
    // Less than all keys take together, which make room for each other.
    let keys = bench.keys.expanded_nbytes() as u64;
    let tight = with_budget(device.memory().used + needed - keys / 2);
    let evaluator = bench.on(&tight);
    let circuit = evaluator.parameters().stream_bootstrapping(&bench.circuit).unwrap();
    let sent = evaluator.parameters().send(&a).unwrap();
    assert_same(&evaluator.bootstrap(&sent, &circuit).unwrap(), &expected, "tight");
}

#[test]
fn what_the_cpu_refuses_the_device_refuses() {
    let bench = Bench::new(128, Packing::Real);
    let evaluator = bench.on(&roomy());
    let circuit = evaluator.parameters().send_bootstrapping(&bench.circuit).unwrap();
    let a = bench.spent(bench.circuit.input_level() - 1, 1.0);
    let sent = evaluator.parameters().send(&a).unwrap();
    let expected = bench.host.bootstrap(&a, &bench.circuit).unwrap_err();
    match evaluator.bootstrap(&sent, &circuit) {
        Err(device::Error::Engine(found)) => assert_eq!(found, expected),
        other => panic!("{:?}", other.map(|_| ())),
    }
}

#[test]
#[ignore = "a secure set takes gigabytes and minutes on the software device"]
fn a_secure_set_has_the_residues_of_the_cpu() {
    let literal = BootstrappingLiteral { log_n: 16, ..Default::default() };
    let bench = Bench::of(literal, 1 << 15, Packing::Complex);
    let evaluator = bench.on(&roomy());
    let circuit = evaluator.parameters().stream_bootstrapping(&bench.circuit).unwrap();
    let a = bench.spent(bench.circuit.input_level(), 1.0);
    let expected = bench.host.bootstrap(&a, &bench.circuit).unwrap();
    let sent = evaluator.parameters().send(&a).unwrap();
    assert_same(&evaluator.bootstrap(&sent, &circuit).unwrap(), &expected, "2^15 slots");
}
