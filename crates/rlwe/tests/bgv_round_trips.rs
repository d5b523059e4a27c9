//! Objects of BGV that come back from bytes are those that went, and do what they did.

use rlwe::bgv::{Ciphertext, Evaluator, Parameters, ParametersLiteral, Plaintext};
use rlwe::bytes::ReadLimits;
use rlwe::keys::{EvaluationKeys, EvaluationKeysRequest, PublicKey, SecretKey};
use rlwe::{Error, SecretDistribution};

/// Bytes of an object beside its polynomials, at most.
const OVERHEAD: usize = 200;

fn tiny() -> ParametersLiteral {
    ParametersLiteral { log_n: Some(6), levels: 2, insecure: true, ..Default::default() }
}

fn everything_comes_back(literal: ParametersLiteral) {
    let made = Parameters::new(literal).unwrap();
    let limits = ReadLimits { insecure: !made.is_secure(), ..ReadLimits::default() };
    let parameters = Parameters::from_bytes(&made.to_bytes(), &limits).unwrap();
    assert_eq!(parameters, made);
    assert_eq!(parameters.to_string(), made.to_string());
    assert_eq!(parameters.to_bytes(), made.to_bytes());
    assert_eq!(parameters.failure_bits(), made.failure_bits());
    let top = parameters.max_level();

    let original = SecretKey::generate(&made).unwrap();
    let secret = SecretKey::from_bytes(&parameters, &original.to_bytes()).unwrap();
    assert_eq!(secret.to_bytes(), original.to_bytes());
    let public = original.public_key().unwrap();
    let public = PublicKey::from_bytes(&parameters, &public.to_bytes()).unwrap();

    let x: Vec<i64> = (0..parameters.n() as i64).map(|i| (i * i) % 201 - 100).collect();
    let encoded = parameters.encode(&x, top).unwrap();
    assert!(encoded.to_bytes().len() <= 4 * parameters.n() + OVERHEAD);
    let plaintext = Plaintext::from_bytes(&parameters, &encoded.to_bytes()).unwrap();
    assert_eq!(plaintext, encoded);
    assert_eq!(plaintext.decode(), x);

    let fresh = original.encrypt_integers(&plaintext).unwrap();
    assert!(fresh.to_bytes().len() <= fresh.nbytes() / 2 + OVERHEAD);
    let a = Ciphertext::from_bytes(&parameters, &fresh.to_bytes()).unwrap();
    assert_eq!(a, fresh);
    let b = public.encrypt_integers(&plaintext).unwrap();
    assert_eq!(Ciphertext::from_bytes(&parameters, &b.to_bytes()).unwrap(), b);
    assert_eq!(secret.decrypt_integers(&b).unwrap(), x);

    let request = EvaluationKeysRequest {
        relinearisation_level: Some(top),
        rotations: vec![(1, top), (-3, 0)],
        conjugation_level: Some(1),
        automorphisms: Vec::new(),
        ..EvaluationKeysRequest::default()
    };
    let keys = original.evaluation_keys(&request).unwrap();
    let bytes = keys.to_bytes();
    assert!(bytes.len() <= keys.nbytes() / 2 + 2 * OVERHEAD);
    let read = EvaluationKeys::from_bytes(&parameters, &bytes).unwrap();
    let (before, after) = (Evaluator::new(keys), Evaluator::new(read));
    let operations: [&dyn Fn(&Evaluator) -> Ciphertext; 6] = [
        &|e| e.multiply_lazily(&a, &b).unwrap(),
        &|e| e.multiply(&a, &b).unwrap(),
        &|e| e.switch_down(&e.square(&a).unwrap()).unwrap(),
        &|e| e.rotate(&a, 1).unwrap(),
        &|e| e.swap_rows(&e.switch_to(&a, 1, Some(5)).unwrap()).unwrap(),
        &|e| e.switch_to(&a, 0, None).unwrap(),
    ];
    for operation in operations {
        let result = operation(&after);
        assert_eq!(result, operation(&before));
        let back = Ciphertext::from_bytes(&parameters, &result.to_bytes()).unwrap();
        assert_eq!(back, result);
        assert_eq!(
            secret.decrypt_integers(&back).unwrap(),
            original.decrypt_integers(&result).unwrap()
        );
    }
}

#[test]
fn everything_comes_back_in_a_tiny_ring() {
    everything_comes_back(tiny());
}

#[test]
fn everything_comes_back_in_a_sparse_tiny_ring_of_a_large_modulus() {
    everything_comes_back(ParametersLiteral {
        plaintext_modulus: Some(1_073_738_753),
        secret: SecretDistribution::FixedWeight(9),
        digits: Some(3),
        ..tiny()
    });
}

#[test]
fn everything_comes_back_at_128_bits() {
    everything_comes_back(ParametersLiteral { levels: 2, ..Default::default() });
}

#[test]
fn objects_of_other_parameters_or_schemes_are_refused() {
    let parameters = Parameters::new(tiny()).unwrap();
    let modulus = ParametersLiteral { plaintext_modulus: Some(7681), ..tiny() };
    let other = Parameters::new(modulus).unwrap();
    let secret = SecretKey::generate(&parameters).unwrap();
    let plaintext = parameters.encode(&vec![1; parameters.slots()], 1).unwrap();
    let ciphertext = secret.encrypt_integers(&plaintext).unwrap();
    let refusals = [
        SecretKey::from_bytes(&other, &secret.to_bytes()).err(),
        Ciphertext::from_bytes(&other, &ciphertext.to_bytes()).err(),
        Plaintext::from_bytes(&other, &plaintext.to_bytes()).err(),
    ];
    for refusal in refusals {
        assert!(matches!(refusal, Some(Error::ParametersMismatch { .. })), "{refusal:?}");
    }
    let refusals = [
        rlwe::ckks::Parameters::from_bytes(&parameters.to_bytes(), &ReadLimits::default()).err(),
        Ciphertext::from_bytes(&parameters, &plaintext.to_bytes()).err(),
    ];
    for refusal in refusals {
        assert!(matches!(refusal, Some(Error::MalformedBytes { .. })), "{refusal:?}");
    }
}
