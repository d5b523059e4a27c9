//! Objects that come back from bytes are those that went, and do what they did.

use rlwe::bytes::ReadLimits;
use rlwe::ckks::{Ciphertext, Encoding, Evaluator, Parameters, ParametersLiteral, Plaintext};
use rlwe::keys::{EvaluationKeys, EvaluationKeysRequest, PublicKey, SecretKey};
use rlwe::{Error, SecretDistribution};

fn tiny() -> ParametersLiteral {
    ParametersLiteral {
        log_n: Some(6),
        levels: 2,
        scale_bits: 35.0,
        insecure: true,
        ..ParametersLiteral::default()
    }
}

fn secure() -> ParametersLiteral {
    ParametersLiteral { log_n: Some(13), levels: 2, scale_bits: 35.0, ..Default::default() }
}

/// Bytes of an object beside its polynomials, at most.
const OVERHEAD: usize = 200;

fn values(slots: usize) -> Vec<f64> {
    (0..slots).map(|i| (i as f64 * 0.7).sin()).collect()
}

fn assert_near(actual: &[f64], expected: impl IntoIterator<Item = f64>) {
    for (actual, expected) in actual.iter().zip(expected) {
        assert!((actual - expected).abs() < 1e-5, "{actual} {expected}");
    }
}

fn everything_comes_back(literal: ParametersLiteral) {
    let made = Parameters::new(literal).unwrap();
    let limits = ReadLimits { insecure: !made.is_secure(), ..ReadLimits::default() };
    let parameters = Parameters::from_bytes(&made.to_bytes(), &limits).unwrap();
    assert_eq!(parameters.chain(), made.chain());
    assert_eq!(parameters.to_string(), made.to_string());
    assert_eq!(parameters.to_bytes(), made.to_bytes());
    let (n, top) = (parameters.n(), parameters.max_level());

    let original = SecretKey::generate(&made).unwrap();
    let stored = original.to_bytes();
    assert_eq!(stored.capacity(), stored.len());
    assert!(stored.len() <= n / 4 + OVERHEAD);
    let secret = SecretKey::from_bytes(&parameters, &stored).unwrap();
    assert_eq!(secret.to_bytes(), stored);

    let x = values(parameters.slots());
    let encoding = Encoding::at(top).within(1.0);
    let encoded = parameters.encode_real(&x, encoding).unwrap();
    let plaintext = Plaintext::from_bytes(&parameters, &encoded.to_bytes()).unwrap();
    assert_eq!(plaintext, encoded);

    let fresh = original.encrypt(&plaintext).unwrap();
    assert!(fresh.to_bytes().len() <= fresh.nbytes() / 2 + OVERHEAD);
    let a = Ciphertext::from_bytes(&parameters, &fresh.to_bytes()).unwrap();
    assert_eq!(a, fresh);
    assert_near(
        &secret.decrypt(&a, a.estimate()).unwrap().decode_real().unwrap(),
        x.iter().copied(),
    );

    let key = original.public_key().unwrap().to_bytes();
    assert!(key.len() <= parameters.key_limbs() * n * 4 + OVERHEAD);
    let public = PublicKey::from_bytes(&parameters, &key).unwrap();
    assert_eq!(public.to_bytes(), key);
    let b = public.encrypt(&plaintext).unwrap();
    assert_eq!(b.to_bytes().len() / b.nbytes(), 1);
    assert_near(
        &secret.decrypt(&b, b.estimate()).unwrap().decode_real().unwrap(),
        x.iter().copied(),
    );

    let request = EvaluationKeysRequest {
        relinearisation_level: Some(top),
        rotations: vec![(1, top), (-3, 0)],
        conjugation_level: Some(1),
        automorphisms: vec![(3, 1)],
        ..Default::default()
    };
    let keys = original.evaluation_keys(&request).unwrap();
    let bytes = keys.to_bytes();
    assert!(bytes.len() >= keys.nbytes() / 2);
    assert!(bytes.len() <= keys.nbytes() / 2 + 2 * OVERHEAD);
    let read = EvaluationKeys::from_bytes(&parameters, &bytes).unwrap();
    assert_eq!(read.to_bytes(), bytes);
    assert_eq!(read.rotations(), keys.rotations());
    assert_eq!(read.relinearisation_level(), keys.relinearisation_level());
    assert_eq!(read.conjugation_level(), keys.conjugation_level());
    assert_eq!(2 * read.nbytes(), keys.nbytes());
    let mut expanded = read.clone();
    expanded.expand();
    assert_eq!((expanded.nbytes(), read.expanded_nbytes()), (keys.nbytes(), keys.nbytes()));
    expanded.keep_seeds();
    assert_eq!(expanded.nbytes(), read.nbytes());
    assert_eq!(expanded.to_bytes(), bytes);

    let mut joined = EvaluationKeys::none(&original);
    read.split().into_iter().for_each(|key| joined.extend(key).unwrap());
    assert_eq!((joined.to_bytes(), read.split().len()), (bytes.clone(), 5));

    // Keys for products and conjugation, then of rotations the one that is used more.
    let halves: usize =
        [top, 1, 0].iter().map(|&level| parameters.evaluation_key_bytes(level).unwrap() / 2).sum();
    let mut partly = read.clone();
    partly.expand_within(halves, &[(1, 1), (-3, 2)].into());
    assert_eq!(partly.nbytes(), read.nbytes() + halves);
    assert_eq!((partly.to_bytes(), 2 * read.nbytes()), (bytes, keys.nbytes()));
    partly.expand_within(0, &[].into());
    assert_eq!(partly.nbytes(), read.nbytes());
    partly.expand_within(halves, &[(1, 1), (-3, 2)].into());

    // Of keys that were read the uniform halves are expanded whenever they are used.
    let (before, after) = (Evaluator::new(keys), Evaluator::new(read));
    let partly = Evaluator::new(partly);
    let operations: [&dyn Fn(&Evaluator) -> Ciphertext; 8] = [
        &|e| e.multiply_lazily(&a, &b).unwrap(),
        &|e| e.multiply(&a, &b).unwrap(),
        &|e| e.rescale(&e.square(&a).unwrap()).unwrap(),
        &|e| e.rotate(&a, 1).unwrap(),
        &|e| e.rotate(&e.drop_level(&a, 0).unwrap(), -3).unwrap(),
        &|e| e.conjugate(&e.drop_level(&a, 1).unwrap()).unwrap(),
        &|e| e.negate(&e.add_plain(&a, &plaintext).unwrap()).unwrap(),
        &|e| e.multiply_integer(&e.sub(&a, &b).unwrap(), -7).unwrap(),
    ];
    for operation in operations {
        let result = operation(&after);
        assert_eq!(result, operation(&before));
        assert_eq!(result, operation(&partly));
        assert_eq!(Ciphertext::from_bytes(&parameters, &result.to_bytes()).unwrap(), result);
        secret.decrypt(&result, result.estimate()).unwrap().decode().unwrap();
    }
    let product = after.multiply(&a, &b).unwrap();
    let product = secret.decrypt(&product, product.estimate()).unwrap();
    assert_near(&product.decode_real().unwrap(), x.iter().map(|x| x * x));
    let rotated = after.rotate(&a, 1).unwrap();
    let rotated = secret.decrypt(&rotated, rotated.estimate()).unwrap();
    assert_near(&rotated.decode_real().unwrap(), x.iter().skip(1).copied());
}

#[test]
fn everything_comes_back_in_a_tiny_ring() {
    everything_comes_back(tiny());
}

#[test]
fn everything_comes_back_in_a_sparse_tiny_ring() {
    let secret = SecretDistribution::FixedWeight(9);
    everything_comes_back(ParametersLiteral { secret, digits: Some(3), ..tiny() });
}

#[test]
fn everything_comes_back_at_128_bits() {
    everything_comes_back(secure());
}

#[test]
fn objects_of_other_parameters_are_refused() {
    let parameters = Parameters::new(tiny()).unwrap();
    let other = Parameters::new(ParametersLiteral { levels: 3, ..tiny() }).unwrap();
    let secret = SecretKey::generate(&parameters).unwrap();
    let plaintext = parameters.encode_real(&[0.5], Encoding::at(1).within(1.0)).unwrap();
    let ciphertext = secret.encrypt(&plaintext).unwrap();
    let public = secret.public_key().unwrap();
    let keys = EvaluationKeys::none(&secret);
    let refusals = [
        SecretKey::from_bytes(&other, &secret.to_bytes()).err(),
        PublicKey::from_bytes(&other, &public.to_bytes()).err(),
        EvaluationKeys::from_bytes(&other, &keys.to_bytes()).err(),
        Ciphertext::from_bytes(&other, &ciphertext.to_bytes()).err(),
        Plaintext::from_bytes(&other, &plaintext.to_bytes()).err(),
    ];
    for refusal in refusals {
        assert!(matches!(refusal, Some(Error::ParametersMismatch { .. })), "{refusal:?}");
    }
}
