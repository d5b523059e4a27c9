//! BGV.

use std::sync::OnceLock;

use rlwe::bgv::{
    Ciphertext, Diagonals, Evaluator, LinearTransform, Parameters, ParametersLiteral, Plaintext,
    RotatedProducts, Split,
};
use rlwe::bytes::ReadLimits;
use rlwe::keys::{EvaluationKeys, EvaluationKeysRequest, SecretKey};
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
}

impl Bench {
    fn new(literal: ParametersLiteral) -> Self {
        let parameters = Parameters::new(literal).expect("a small ring");
        let secret = known_secret(&parameters);
        let request = Self::every_key(&parameters);
        let evaluator = Evaluator::new(secret.evaluation_keys(&request).expect("keys"));
        let row = vec![3; parameters.slots()];
        let diagonals: Diagonals = DIAGONALS.iter().map(|&d| (d, row.clone())).collect();
        let top = parameters.max_level();
        let transform = LinearTransform::new(&parameters, &diagonals, top, Some(4));
        Self { parameters, secret, evaluator, transform: transform.expect("a transform") }
    }

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

    fn encrypted(&self, level: usize) -> Ciphertext {
        let row = vec![5; self.parameters.slots()];
        let plaintext = self.parameters.encode(&row, level).expect("a plaintext");
        self.secret.encrypt_integers(&plaintext).expect("a ciphertext")
    }

    /// Noise says what may be done; whatever a result decrypts to, it decrypts or is refused.
    fn decrypt(&self, ciphertext: &Ciphertext) -> Result<()> {
        match self.secret.decrypt_integers(ciphertext) {
            Ok(_) | Err(Error::DecryptionOverflow | Error::NoiseExhausted { .. }) => Ok(()),
            Err(refusal) => Err(refusal),
        }
    }

    /// Every operation that takes a key.
    fn use_keys(&self, e: &Evaluator, x: &Ciphertext) {
        let results = [
            e.multiply(x, x),
            e.multiply_lazily(x, x).and_then(|y| e.relinearize_and_switch(&y)),
            e.rotate(x, 1),
            e.rotate_sum(x, &[0, 1], &[2]),
            e.swap_rows(x),
            e.linear_transform(x, &self.transform),
        ];
        for result in results.into_iter().flatten() {
            let _ = self.decrypt(&result);
        }
        for rotated in e.rotate_hoisted(x, &[2, 1, 0]).into_iter().flatten() {
            let _ = self.decrypt(&rotated);
        }
        let step = self.parameters.slots() / 2;
        if let Ok(products) = e.rotated_products(&[x, x], &[x, x], step) {
            self.switch_products(e, &products);
        }
    }

    fn switch_products(&self, e: &Evaluator, products: &RotatedProducts) {
        for t in 0..products.count() {
            let switched =
                [e.switch_product(products, t), e.switch_product_and_modulus(products, t)];
            switched.iter().flatten().for_each(|result| drop(self.decrypt(result)));
        }
    }

    fn rotated_products(&self, bytes: &[u8]) -> Outcome {
        let products = RotatedProducts::from_bytes(&self.parameters, bytes)?;
        assert_eq!(products.to_bytes(), bytes);
        assert!(products.nbytes() <= bytes.len());
        let e = &self.evaluator;
        self.switch_products(e, &products);
        let sum = e.add_rotated_products(&products, &products)?;
        self.switch_products(e, &sum);
        Ok(())
    }

    fn evaluation_keys(&self, bytes: &[u8]) -> Outcome {
        let keys = EvaluationKeys::from_bytes(&self.parameters, bytes)?;
        assert_eq!(keys.to_bytes(), bytes);
        let evaluator = Evaluator::new(keys);
        self.use_keys(&evaluator, &self.encrypted(self.parameters.max_level()));
        Ok(())
    }

    fn ciphertext(&self, bytes: &[u8]) -> Outcome {
        let ciphertext = Ciphertext::from_bytes(&self.parameters, bytes)?;
        assert_eq!(ciphertext.to_bytes(), bytes);
        assert!(ciphertext.nbytes() <= 2 * bytes.len());
        let e = &self.evaluator;
        let results = [
            e.add(&ciphertext, &ciphertext),
            e.relinearize_and_switch(&ciphertext),
            e.switch_down(&ciphertext),
            e.switch_to(&ciphertext, 0, Some(5)),
            e.multiply_scalar(&ciphertext, -7),
        ];
        for result in results.into_iter().flatten() {
            let _ = self.decrypt(&result);
        }
        if let Ok(reduced) = e.relinearize(&ciphertext) {
            self.use_keys(e, &reduced);
        }
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
            plaintext_modulus: Some(7937),
            digits: Some(2),
            // Those of the files of the corpus.
            failure_bits: Some(40.0),
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
            levels: 2,
            digits: Some(2),
            // Those of the files of the corpus.
            failure_bits: Some(40.0),
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

pub fn read_parameters(bytes: &[u8]) -> Outcome {
    let limits = ReadLimits { insecure: true, max_log_n: 8 };
    let parameters = Parameters::from_bytes(bytes, &limits)?;
    assert_eq!(parameters.to_bytes(), bytes);
    let secure = Parameters::from_bytes(bytes, &ReadLimits::default());
    assert!(matches!(secure, Err(Error::InsecureParameters(_))), "N is at most 2^8");
    let top = parameters.max_level();
    let row = vec![1; parameters.slots()];
    let x = parameters.encode(&row, top)?;
    assert_eq!(x.decode(), [&row[..], &row].concat());
    let secret = SecretKey::generate(&parameters)?;
    let keys = EvaluationKeysRequest { relinearisation_level: Some(top), ..Default::default() };
    let evaluator = Evaluator::new(secret.evaluation_keys(&keys)?);
    if let Ok(x) = secret.encrypt_integers(&x) {
        assert_eq!(secret.decrypt_integers(&x)?, [&row[..], &row].concat());
        for y in [evaluator.square(&x), evaluator.switch_to(&x, 0, None)].into_iter().flatten() {
            assert_eq!(secret.decrypt_integers(&y)?, [&row[..], &row].concat());
        }
    }
    Ok(())
}

pub fn rotated_products(bytes: &[u8]) -> Outcome {
    small().rotated_products(bytes)
}

pub fn small_ciphertext(bytes: &[u8]) -> Outcome {
    small().ciphertext(bytes)
}

pub fn small_evaluation_keys(bytes: &[u8]) -> Outcome {
    small().evaluation_keys(bytes)
}

pub fn large_evaluation_keys(bytes: &[u8]) -> Outcome {
    large().evaluation_keys(bytes)
}

pub fn plaintext(bytes: &[u8]) -> Outcome {
    let bench = small();
    let plaintext = Plaintext::from_bytes(&bench.parameters, bytes)?;
    assert_eq!(plaintext.to_bytes(), bytes);
    let ciphertext = bench.secret.encrypt_integers(&plaintext)?;
    let _ = bench.evaluator.multiply_plain(&ciphertext, &plaintext);
    let _ = bench.evaluator.add_plain(&ciphertext, &plaintext);
    assert_eq!(bench.secret.decrypt_integers(&ciphertext)?, plaintext.decode());
    Ok(())
}
