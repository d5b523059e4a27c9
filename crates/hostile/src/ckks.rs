//! CKKS.

use std::sync::OnceLock;

use rlwe::bytes::ReadLimits;
use rlwe::ckks::{
    BabySteps, Ciphertext, Diagonals, Encoding, Evaluator, LinearTransform, Parameters,
    ParametersLiteral, Plaintext, Polynomial, PolynomialBasis, RotatedProducts, Split,
};
use rlwe::ckks::{Complex64, Flooding};
use rlwe::keys::{EvaluationKeys, EvaluationKeysRequest, PublicKey, SecretKey};
use rlwe::{Error, Result};

use crate::Outcome;
use crate::keys::known_secret;

const DIAGONALS: [i64; 4] = [0, 1, 5, -2];

/// A ring with a key, and keys to use on what was read.
pub struct Bench {
    pub parameters: Parameters,
    pub secret: SecretKey,
    evaluator: Evaluator,
    transform: LinearTransform,
    polynomials: [Polynomial; 2],
}

impl Bench {
    fn new(literal: ParametersLiteral) -> Self {
        let parameters = Parameters::new(literal).expect("a small ring");
        let secret = known_secret(&parameters);
        let request = Self::every_key(&parameters);
        let evaluator = Evaluator::new(secret.evaluation_keys(&request).expect("keys"));
        let slots = parameters.slots();
        let diagonals: Diagonals =
            DIAGONALS.iter().map(|&d| (d, vec![Complex64::new(0.25, 0.0); slots])).collect();
        let top = parameters.max_level();
        let transform = LinearTransform::new(
            &parameters,
            &diagonals,
            slots,
            Encoding::at(top),
            BabySteps::below(4),
        );
        let coefficients = [0.1, 0.5, 0.0, -0.25];
        let polynomials = [PolynomialBasis::Monomial, PolynomialBasis::Chebyshev]
            .map(|basis| Polynomial::new(&coefficients, basis).expect("a polynomial"));
        Self {
            parameters,
            secret,
            evaluator,
            transform: transform.expect("a transform"),
            polynomials,
        }
    }

    /// All that operations here ask for.
    fn every_key(parameters: &Parameters) -> EvaluationKeysRequest {
        let (top, slots) = (parameters.max_level(), parameters.slots());
        let steps = Split::choose(&DIAGONALS, slots, Some(4)).rotations().into_iter();
        EvaluationKeysRequest {
            relinearisation_level: Some(top),
            rotations: steps.chain([1, 2, slots as i64 / 2]).map(|k| (k, top)).collect(),
            conjugation_level: Some(top),
            rotated_products: vec![(slots as i64 / 2, top)],
            ..Default::default()
        }
    }

    /// Something to encrypt at a level.
    fn message(&self, level: usize) -> Plaintext {
        let values = vec![0.5; self.parameters.slots()];
        let encoding = Encoding::at(level).within(1.0);
        self.parameters.encode_real(&values, encoding).expect("a plaintext")
    }

    fn encrypted(&self, level: usize) -> Ciphertext {
        self.secret.encrypt(&self.message(level)).expect("a ciphertext")
    }

    /// Whatever a ciphertext says of itself, it decrypts or is refused.
    fn decrypt(&self, ciphertext: &Ciphertext) -> Result<()> {
        match self.secret.decrypt(ciphertext, ciphertext.estimate()) {
            Ok(decrypted) => drop(decrypted.decode()?),
            Err(Error::DecryptionOverflow | Error::BoundOverflow { .. }) => (),
            Err(refusal) => return Err(refusal),
        }
        Ok(())
    }

    /// Every operation that takes a key.
    fn use_keys(&self, evaluator: &Evaluator, x: &Ciphertext) {
        let results = [
            evaluator.square(x),
            evaluator.multiply_lazily(x, x).and_then(|y| evaluator.relinearize_and_rescale(&y)),
            evaluator.rotate(x, 1),
            evaluator.conjugate(x),
            evaluator.inner_sum(x, 4, 1),
            evaluator.linear_transform(x, &self.transform),
            evaluator.polynomial(x, &self.polynomials[0]),
            evaluator.polynomial(x, &self.polynomials[1]),
        ];
        for result in results.into_iter().flatten() {
            let _ = self.decrypt(&result);
        }
        for rotated in evaluator.rotate_hoisted(x, &[2, 1, 0]).into_iter().flatten() {
            let _ = self.decrypt(&rotated);
        }
        let step = self.parameters.slots() / 2;
        if let Ok(products) = evaluator.rotated_products(&[x, x], &[x, x], step) {
            self.switch_products(evaluator, &products);
        }
    }

    fn switch_products(&self, evaluator: &Evaluator, products: &RotatedProducts) {
        for t in 0..products.count() {
            let switched = [
                evaluator.switch_product(products, t),
                evaluator.switch_product_and_rescale(products, t),
            ];
            switched.iter().flatten().for_each(|result| drop(self.decrypt(result)));
        }
    }

    fn rotated_products(&self, bytes: &[u8]) -> Outcome {
        let products = RotatedProducts::from_bytes(&self.parameters, bytes)?;
        assert_eq!(products.to_bytes(), bytes);
        assert!(products.nbytes() <= bytes.len());
        let e = &self.evaluator;
        let sum = e.add_rotated_products(&products, &products)?;
        self.switch_products(e, &products);
        self.switch_products(e, &sum);
        Ok(())
    }

    fn evaluation_keys(&self, bytes: &[u8]) -> Outcome {
        let keys = EvaluationKeys::from_bytes(&self.parameters, bytes)?;
        assert_eq!(keys.to_bytes(), bytes);
        let rotations = keys.rotations();
        let evaluator = Evaluator::new(keys);
        self.use_keys(&evaluator, &self.encrypted(self.parameters.max_level()));
        for (rotation, level) in rotations {
            let rotated = evaluator.rotate(&self.encrypted(level), rotation)?;
            let _ = self.secret.decrypt(&rotated, rotated.estimate());
        }
        Ok(())
    }

    fn ciphertext(&self, bytes: &[u8]) -> Outcome {
        let ciphertext = Ciphertext::from_bytes(&self.parameters, bytes)?;
        assert_eq!(ciphertext.to_bytes(), bytes);
        assert!(ciphertext.nbytes() <= 2 * bytes.len());
        assert!(ciphertext.precision().is_finite());
        let e = &self.evaluator;
        let sum = e.add(&ciphertext, &ciphertext)?;
        let reduced = e.relinearize(&sum)?;
        let _ = e.rescale(&reduced);
        let _ = e.multiply(&ciphertext, &reduced);
        let _ = e.drop_level(&ciphertext, 0);
        self.use_keys(e, &reduced);
        self.decrypt(&ciphertext)?;
        Ok(())
    }
}

/// The smallest ring, with two digits for every key.
pub fn small() -> &'static Bench {
    static BENCH: OnceLock<Bench> = OnceLock::new();
    BENCH.get_or_init(|| {
        Bench::new(ParametersLiteral {
            log_n: Some(5),
            levels: 2,
            scale_bits: 30.0,
            headroom_bits: 12.0,
            digits: Some(2),
            insecure: true,
            ..ParametersLiteral::default()
        })
    })
}

/// A ring in which blocks, tiles and lanes of four vectors are filled more than once.
pub fn large() -> &'static Bench {
    static BENCH: OnceLock<Bench> = OnceLock::new();
    BENCH.get_or_init(|| {
        Bench::new(ParametersLiteral {
            log_n: Some(11),
            levels: 3,
            scale_bits: 45.0,
            digits: Some(2),
            insecure: true,
            ..ParametersLiteral::default()
        })
    })
}

pub fn small_fingerprint() -> [u8; 16] {
    small().parameters.fingerprint()
}

pub fn large_fingerprint() -> [u8; 16] {
    large().parameters.fingerprint()
}

/// What patches of keys in the larger ring begin from.
pub fn large_keys() -> &'static [Vec<u8>] {
    static KEYS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let bench = large();
        let request = Bench::every_key(&bench.parameters);
        vec![bench.secret.evaluation_keys(&request).expect("keys").to_bytes()]
    })
}

/// What patches of ciphertexts in the larger ring begin from.
pub fn large_ciphertexts() -> &'static [Vec<u8>] {
    static CIPHERTEXTS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    CIPHERTEXTS.get_or_init(|| {
        let bench = large();
        let fresh = bench.encrypted(3);
        let square = bench.evaluator.multiply_lazily(&fresh, &fresh).expect("a product");
        vec![fresh.to_bytes(), square.to_bytes(), bench.encrypted(1).to_bytes()]
    })
}

pub fn read_parameters(bytes: &[u8]) -> Outcome {
    let limits = ReadLimits { insecure: true, max_log_n: 8 };
    let parameters = Parameters::from_bytes(bytes, &limits)?;
    assert_eq!(parameters.to_bytes(), bytes);
    let secure = Parameters::from_bytes(bytes, &ReadLimits::default());
    assert!(matches!(secure, Err(Error::InsecureParameters(_))), "N is at most 2^8");
    let top = parameters.max_level();
    let secret = SecretKey::generate(&parameters)?;
    let values = vec![0.5; parameters.slots()];
    let x = parameters.encode_real(&values, Encoding::at(top).within(1.0))?;
    x.decode()?;
    let request = EvaluationKeysRequest {
        relinearisation_level: Some(top),
        rotations: vec![(1, top)],
        ..Default::default()
    };
    let evaluator = Evaluator::new(secret.evaluation_keys(&request)?);
    let x = secret.encrypt(&x)?;
    let y = evaluator.rotate(&evaluator.square(&x).unwrap_or_else(|_| x.clone()), 1)?;
    let mut y = y;
    while y.level() > 0 {
        let Ok(lower) = evaluator.rescale(&y) else { break };
        y = lower;
    }
    match secret.decrypt(&y, y.estimate()) {
        Ok(decrypted) => drop(decrypted.decode()?),
        Err(Error::BoundOverflow { .. } | Error::DecryptionOverflow) => (),
        Err(refusal) => return Err(refusal.into()),
    }
    Ok(())
}

pub fn secret_key(bytes: &[u8]) -> Outcome {
    let bench = small();
    let secret = SecretKey::from_bytes(&bench.parameters, bytes)?;
    assert_eq!(*secret.to_bytes(), bytes);
    let x = secret.encrypt(&bench.message(1))?;
    let values = secret.decrypt(&x, x.estimate())?.decode_real()?;
    assert!((values[0] - 0.5).abs() < 1e-3, "{values:?}");
    Ok(())
}

pub fn public_key(bytes: &[u8]) -> Outcome {
    let bench = small();
    let public = PublicKey::from_bytes(&bench.parameters, bytes)?;
    assert_eq!(public.to_bytes(), bytes);
    bench.decrypt(&public.encrypt(&bench.message(2))?)?;
    Ok(())
}

pub fn small_evaluation_keys(bytes: &[u8]) -> Outcome {
    small().evaluation_keys(bytes)
}

pub fn large_evaluation_keys(bytes: &[u8]) -> Outcome {
    large().evaluation_keys(bytes)
}

pub fn small_ciphertext(bytes: &[u8]) -> Outcome {
    let bench = small();
    bench.ciphertext(bytes)?;
    let ciphertext = Ciphertext::from_bytes(&bench.parameters, bytes)?;
    let flooding = Flooding { statistical_bits: 10, decryptions: 1 };
    let _ = bench.secret.decrypt_flooded(&ciphertext, ciphertext.estimate(), flooding);
    Ok(())
}

pub fn rotated_products(bytes: &[u8]) -> Outcome {
    small().rotated_products(bytes)
}

pub fn large_ciphertext(bytes: &[u8]) -> Outcome {
    large().ciphertext(bytes)
}

pub fn plaintext(bytes: &[u8]) -> Outcome {
    let bench = small();
    let plaintext = Plaintext::from_bytes(&bench.parameters, bytes)?;
    assert_eq!(plaintext.to_bytes(), bytes);
    let _ = bench.secret.encrypt(&plaintext);
    let ciphertext = bench.encrypted(plaintext.level());
    let _ = bench.evaluator.multiply_plain(&ciphertext, &plaintext);
    let _ = bench.evaluator.add_plain(&ciphertext, &plaintext);
    plaintext.decode()?;
    Ok(())
}
