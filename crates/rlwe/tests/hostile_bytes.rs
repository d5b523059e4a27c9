//! Bytes that no one made: refused by name, without a panic, in little memory.
//!
//! After a change of the format or of what the small parameters compile to, the corpus is
//! made anew by `UPDATE_CORPUS=1 cargo test -p rlwe --test hostile_bytes`.

#[path = "../fuzz/bodies.rs"]
mod bodies;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use bodies::{TARGETS, Target, attack, parameters, secret};
use peak_alloc::PeakAlloc;
use rlwe::bgv;
use rlwe::ckks::{Encoding, Evaluator};
use rlwe::keys::{EvaluationKeys, EvaluationKeysRequest, SecretKey};
use rlwe::{Error, Parameters, ParametersLiteral, SecretDistribution};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Memory is counted for the process, so that one test at a time may run.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

const MUTATIONS: u64 = 4000;
/// Whatever parses is compiled, which takes some hundredths of a second.
const MUTATIONS_OF_PARAMETERS: u64 = 100;
const HEADER: usize = 48;

/// What reading and using an object may take beside a multiple of its bytes.
const MEMORY_BASE: usize = 4 << 20;
const MEMORY_FACTOR: usize = 64;

type File = (String, Vec<u8>);

fn folder(target: &Target) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target.name)
}

fn corpus(target: &Target) -> Vec<File> {
    static UPDATE: Once = Once::new();
    if std::env::var_os("UPDATE_CORPUS").is_some() {
        UPDATE.call_once(|| TARGETS.iter().for_each(write_corpus));
    }
    let mut files: Vec<File> = std::fs::read_dir(folder(target))
        .expect("a corpus folder")
        .map(|entry| {
            let path = entry.expect("a file").path();
            (path.display().to_string(), std::fs::read(path).expect("a readable file"))
        })
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

fn write_corpus(target: &Target) {
    std::fs::create_dir_all(folder(target)).expect("a corpus folder");
    for (name, bytes) in made(target.name) {
        std::fs::write(folder(target).join(name), bytes).expect("a writable folder");
    }
}

/// Objects of every shape.
fn made(target: &str) -> Vec<(&'static str, Vec<u8>)> {
    let (parameters, secret) = (parameters(), secret());
    let encoding = |level| Encoding::at(level).within(1.0);
    let full: Vec<f64> = (0..parameters.slots()).map(|i| i as f64 / 16.0).collect();
    let dense = parameters.encode_real(&full, encoding(2)).unwrap();
    let sparse = parameters.encode_real(&[0.5], encoding(0)).unwrap();
    let public = secret.public_key().unwrap();
    let keys = |request| secret.evaluation_keys(&request).unwrap();
    let relinearisation =
        EvaluationKeysRequest { relinearisation_level: Some(2), ..Default::default() };
    match target {
        "parameters" => {
            let literal = ParametersLiteral {
                digits: None,
                secret: SecretDistribution::FixedWeight(8),
                levels: 0,
                ..parameters.literal().clone()
            };
            let sparse = Parameters::new(literal).unwrap();
            vec![("ternary", parameters.to_bytes()), ("sparse", sparse.to_bytes())]
        }
        "secret_key" => vec![("key", secret.to_bytes().to_vec())],
        "public_key" => vec![("key", public.to_bytes())],
        "evaluation_keys" => {
            let every = EvaluationKeysRequest {
                relinearisation_level: Some(1),
                rotations: vec![(1, 0), (5, 2)],
                conjugation_level: Some(1),
                ..Default::default()
            };
            vec![
                ("none", EvaluationKeys::none(secret).to_bytes()),
                ("relinearisation", keys(relinearisation).to_bytes()),
                ("every", keys(every).to_bytes()),
            ]
        }
        "ciphertext" => {
            let fresh = secret.encrypt(&dense).unwrap();
            let evaluator = Evaluator::new(keys(relinearisation));
            let square = evaluator.multiply_lazily(&fresh, &fresh).unwrap();
            vec![
                ("fresh", fresh.to_bytes()),
                ("sparse", secret.encrypt(&sparse).unwrap().to_bytes()),
                ("public", public.encrypt(&dense).unwrap().to_bytes()),
                ("square", square.to_bytes()),
                ("rescaled", evaluator.rescale(&square).unwrap().to_bytes()),
            ]
        }
        "plaintext" => vec![("dense", dense.to_bytes()), ("sparse", sparse.to_bytes())],
        _ => made_of_bgv(target),
    }
}

fn made_of_bgv(target: &str) -> Vec<(&'static str, Vec<u8>)> {
    let (parameters, secret) = (bodies::bgv::parameters(), bodies::bgv::secret());
    let row: Vec<i64> = (0..parameters.slots() as i64).map(|i| i * i * i - 7).collect();
    let plaintext = parameters.encode(&row, 2).unwrap();
    match target {
        "bgv_parameters" => {
            let literal = bgv::ParametersLiteral {
                log_n: Some(6),
                base_bits: Some(70.0),
                secret: SecretDistribution::FixedWeight(8),
                insecure: true,
                ..Default::default()
            };
            let sparse = bgv::Parameters::new(literal).unwrap();
            vec![("ternary", parameters.to_bytes()), ("sparse", sparse.to_bytes())]
        }
        "bgv_ciphertext" => {
            let fresh = secret.encrypt_integers(&plaintext).unwrap();
            let public = secret.public_key().unwrap().encrypt_integers(&plaintext).unwrap();
            let evaluator = bgv::Evaluator::new(EvaluationKeys::none(secret));
            let square = evaluator.multiply_lazily(&fresh, &fresh).unwrap();
            vec![
                ("fresh", fresh.to_bytes()),
                ("public", public.to_bytes()),
                ("square", square.to_bytes()),
                ("switched", evaluator.switch_to(&square, 0, Some(3)).unwrap().to_bytes()),
            ]
        }
        "bgv_plaintext" => vec![("row", plaintext.to_bytes())],
        _ => unreachable!("no such target"),
    }
}

/// An endless choice, the same on every run.
struct Choice(u64);

impl Choice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58476d1ce4e5b9) >> 16
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// Damages `bytes` in one of many ways; `other` is spliced in.
    fn damage(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        const EXTREMES: [u64; 8] =
            [0, 1, 1 << 31, u32::MAX as u64, 1 << 60, u64::MAX, 0x7ff0 << 48, 0x7ff8 << 48];
        let at = self.below(bytes.len());
        match self.below(9) {
            0 => bytes.truncate(at),
            1 => bytes.extend((0..=self.below(64)).map(|i| i as u8)),
            2 => {
                let extreme = EXTREMES[self.below(EXTREMES.len())].to_le_bytes();
                let width = [1, 4, 8][self.below(3)].min(bytes.len() - at);
                bytes[at..at + width].copy_from_slice(&extreme[..width]);
            }
            3 => {
                bytes.truncate(at);
                bytes.extend_from_slice(&other[self.below(other.len())..]);
            }
            4 => {
                let width = self.below(64).min(bytes.len() - at);
                let to = self.below(bytes.len() - width);
                bytes.copy_within(at..at + width, to);
            }
            5 => bytes.drain(at..(at + self.below(40)).min(bytes.len())).for_each(drop),
            6 if !bytes.is_empty() => bytes[at] = self.next() as u8,
            _ if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
            _ => {}
        }
    }
}

/// Where the numbers stand that everything else depends on.
const FIELDS: usize = HEADER + 72;

fn damaged(choice: &mut Choice, files: &[File], others: &[File]) -> Vec<u8> {
    let mut bytes = files[choice.below(files.len())].1.clone();
    let other = &others[choice.below(others.len())].1;
    for _ in 0..=choice.below(3) {
        if choice.below(2) == 0 && bytes.len() > FIELDS {
            let residues = bytes.split_off(FIELDS);
            choice.damage(&mut bytes, other);
            bytes.extend(residues);
        } else {
            choice.damage(&mut bytes, other);
        }
    }
    bytes
}

fn withstands(name: &str, mutations: u64) {
    let _turn = alone();
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    let files = corpus(target);
    let others: Vec<File> = TARGETS.iter().flat_map(corpus).collect();
    for (path, bytes) in &files {
        // Tables that are made once are made here, so that they are not counted below.
        (target.body)(bytes).unwrap_or_else(|refusal| panic!("{path}: {refusal}"));
    }
    let choice = &mut Choice(1);
    for number in 0..mutations {
        let bytes = damaged(choice, &files, &others);
        if others.iter().any(|(_, whole)| *whole == bytes) {
            continue;
        }
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            attack(name, &bytes);
            (target.body)(&bytes)
        }));
        let used = MEMORY.peak_usage() - before;
        let refused = matches!(outcome, Ok(Err(Error::MalformedBytes { .. })));
        assert!(refused, "{name}, mutation {number}: {outcome:?} for {bytes:02x?}");
        let allowed = MEMORY_BASE + MEMORY_FACTOR * bytes.len();
        assert!(used <= allowed, "{name}, mutation {number}: {used} bytes for {bytes:02x?}");
    }
}

#[test]
fn parameters_withstand_damage() {
    withstands("parameters", MUTATIONS_OF_PARAMETERS);
}

#[test]
fn secret_keys_withstand_damage() {
    withstands("secret_key", MUTATIONS);
}

#[test]
fn public_keys_withstand_damage() {
    withstands("public_key", MUTATIONS);
}

#[test]
fn evaluation_keys_withstand_damage() {
    withstands("evaluation_keys", MUTATIONS);
}

#[test]
fn ciphertexts_withstand_damage() {
    withstands("ciphertext", MUTATIONS);
}

#[test]
fn plaintexts_withstand_damage() {
    withstands("plaintext", MUTATIONS);
}

#[test]
fn bgv_parameters_withstand_damage() {
    withstands("bgv_parameters", MUTATIONS_OF_PARAMETERS);
}

#[test]
fn bgv_ciphertexts_withstand_damage() {
    withstands("bgv_ciphertext", MUTATIONS);
}

#[test]
fn bgv_plaintexts_withstand_damage() {
    withstands("bgv_plaintext", MUTATIONS);
}

/// A file of the corpus with `field` written over the body from `at`, under a right header.
fn with_field(name: &str, file: &str, at: usize, field: &[u8]) -> (&'static Target, Vec<u8>) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    let mut bytes = std::fs::read(folder(target).join(file)).expect("a readable file");
    bytes[HEADER + at..HEADER + at + field.len()].copy_from_slice(field);
    (target, target.sealed(&bytes[HEADER..]))
}

#[test]
fn every_field_is_checked() {
    let _turn = alone();
    TARGETS.iter().for_each(|target| drop(corpus(target)));
    let (nan, negative) = (f64::NAN.to_le_bytes(), (-1.0f64).to_le_bytes());
    let (most, words) = (u32::MAX.to_le_bytes(), |x: u32| x.to_le_bytes());
    let cases: &[(&str, &str, usize, &[u8], &str)] = &[
        ("parameters", "ternary", 0, &words(4), "expected log_n between 5 and 17, got 4"),
        ("parameters", "ternary", 0, &words(18), "expected log_n between 5 and 17, got 18"),
        ("parameters", "ternary", 28, &words(2), "no secret distribution 2"),
        ("parameters", "ternary", 32, &words(1), "no secret distribution 0 of weight 1"),
        ("parameters", "sparse", 32, &words(33), "of weight 33 in degree 32"),
        ("parameters", "ternary", 36, &[2], "expected 0 or 1 for the leave to be insecure, got 2"),
        ("parameters", "ternary", 4, &words(1), "the request compiles to"),
        ("secret_key", "key", 16, &[0b1100], "expected coefficients of -1, 0 and 1"),
        ("public_key", "key", 48, &most, "expected residues below"),
        ("evaluation_keys", "every", 16, &[7], "0 or 1 for a relinearisation key, got 7"),
        ("evaluation_keys", "every", 17, &words(3), "a level of at most 2, got 3"),
        ("evaluation_keys", "relinearisation", 53, &most, "expected residues below"),
        ("evaluation_keys", "none", 17, &most, "expected 4 more bytes, got 0"),
        ("ciphertext", "fresh", 16, &most, "a level of at most 2"),
        ("ciphertext", "sparse", 16, &words(2), "more bytes, got"),
        ("ciphertext", "fresh", 20, &words(0), "a power of two of at most 16 slots, got 0"),
        ("ciphertext", "fresh", 20, &words(12), "a power of two of at most 16 slots, got 12"),
        ("ciphertext", "fresh", 20, &words(32), "a power of two of at most 16 slots, got 32"),
        ("ciphertext", "fresh", 24, &nan, "a scale of NaN does not fit"),
        ("ciphertext", "fresh", 24, &1e300f64.to_le_bytes(), "a scale of 1e300 does not fit"),
        ("ciphertext", "fresh", 32, &nan, "a finite deviation of at least 0, got NaN"),
        ("ciphertext", "fresh", 40, &negative, "a finite bound of at least 0, got -1e0"),
        ("ciphertext", "fresh", 48, &[3], "expected 2 polynomials, got 3"),
        ("ciphertext", "public", 48, &[1], "expected 2 or 3 polynomials, got 1"),
        ("ciphertext", "public", 49, &[2], "expected 0 or 1 for a seed, got 2"),
        ("ciphertext", "fresh", 82, &most, "expected residues below"),
        ("plaintext", "dense", 8, &negative, "a scale of -1e0 does not fit"),
        ("plaintext", "dense", 32, &most, "expected residues below"),
        ("bgv_parameters", "ternary", 28, &words(7938), "a prime below 2^30 that is 1 modulo 64"),
        ("bgv_parameters", "ternary", 28, &words(12289), "the request compiles to"),
        ("bgv_ciphertext", "fresh", 16, &most, "a level of at most 2"),
        ("bgv_ciphertext", "fresh", 20, &words(0), "a factor in 1..7937, got 0"),
        ("bgv_ciphertext", "fresh", 20, &words(7937), "a factor in 1..7937, got 7937"),
        ("bgv_ciphertext", "fresh", 24, &nan, "finite noise of at least 0, got NaN"),
        ("bgv_ciphertext", "fresh", 32, &1e9f64.to_le_bytes(), "exceeds its norm"),
        ("bgv_ciphertext", "fresh", 32, &nan, "finite noise of at least 0, got NaN"),
        ("bgv_ciphertext", "fresh", 40, &1e9f64.to_le_bytes(), "exceeds its length"),
        ("bgv_ciphertext", "fresh", 40, &negative, "finite noise of at least 0, got -1e0"),
        ("bgv_ciphertext", "fresh", 48, &[3], "expected 2 polynomials, got 3"),
        ("bgv_ciphertext", "public", 48, &[1], "expected 2 or 3 polynomials, got 1"),
        ("bgv_ciphertext", "public", 49, &[2], "expected 0 or 1 for a seed, got 2"),
        ("bgv_ciphertext", "public", 50, &most, "expected residues below"),
        ("bgv_plaintext", "row", 0, &most, "a level of at most 2"),
        ("bgv_plaintext", "row", 4, &words(7937), "expected residues below 7937, got 7937"),
    ];
    for (name, file, at, field, expected) in cases {
        let (target, bytes) = with_field(name, file, *at, field);
        let refusal = (target.body)(&bytes).expect_err(expected).to_string();
        assert!(refusal.contains(expected), "{name} {file} {at}: {refusal}");
    }
}

#[test]
fn nothing_follows_the_last_field() {
    let _turn = alone();
    for target in &TARGETS {
        for (path, bytes) in corpus(target) {
            let body = [&bytes[HEADER..], &[0; 3]].concat();
            let refusal = (target.body)(&target.sealed(&body)).expect_err("an end").to_string();
            assert!(refusal.contains("expected the end, got 3 more bytes"), "{path}: {refusal}");
        }
    }
}

#[test]
fn galois_elements_are_odd_and_rise() {
    let _turn = alone();
    let target = &TARGETS[3];
    corpus(target);
    let request = EvaluationKeysRequest { rotations: vec![(1, 0), (2, 0)], ..Default::default() };
    let bytes = secret().evaluation_keys(&request).unwrap().to_bytes();
    let body = &bytes[HEADER..];
    let key = (body.len() - 21) / 2;
    let cases = [(21, 1), (21, 6), (21, 64), (21, 65), (21 + key, 5), (21 + key, 3)];
    for (at, element) in cases {
        let mut body = body.to_vec();
        body[at..at + 4].copy_from_slice(&u32::to_le_bytes(element));
        let refusal = (target.body)(&target.sealed(&body)).expect_err("an element").to_string();
        assert!(refusal.contains(&format!("got {element}")), "{refusal}");
    }
}

#[test]
fn absurd_parameters_are_refused_at_once() {
    let _turn = alone();
    let target = &TARGETS[0];
    corpus(target);
    let huge = f64::MAX.to_le_bytes();
    let cases: [(usize, &[u8]); 5] =
        [(4, &u32::MAX.to_le_bytes()), (8, &huge), (16, &huge), (8, &[0; 8]), (24, &[255; 4])];
    for (at, field) in cases {
        let (target, bytes) = with_field(target.name, "ternary", at, field);
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let refusal = Parameters::from_bytes(&bytes);
        assert!(matches!(refusal, Err(Error::InvalidParameters(_))), "{refusal:?}");
        assert!(MEMORY.peak_usage() - before < MEMORY_BASE, "{} at {at}", target.name);
    }
}

#[test]
fn a_sparse_secret_must_have_its_weight() {
    let _turn = alone();
    let secret = SecretDistribution::FixedWeight(8);
    let literal = ParametersLiteral { secret, ..parameters().literal().clone() };
    let sparse = Parameters::new(literal).unwrap();
    let right = SecretKey::generate(&sparse).unwrap().to_bytes();
    assert!(SecretKey::from_bytes(&sparse, &right).is_ok());
    let other = SecretKey::from_bytes(&sparse, &bodies::secret().to_bytes());
    assert!(matches!(other, Err(Error::ParametersMismatch { .. })), "{other:?}");
    let heavier = ParametersLiteral {
        secret: SecretDistribution::FixedWeight(9),
        ..sparse.literal().clone()
    };
    let heavier = Parameters::new(heavier).unwrap();
    let heavier = SecretKey::generate(&heavier).unwrap().to_bytes();
    let wrong = TARGETS[1].sealed_under(&sparse, &heavier[HEADER..]);
    let refusal = SecretKey::from_bytes(&sparse, &wrong).unwrap_err().to_string();
    assert!(refusal.contains("expected 8 nonzero coefficients, got 9"), "{refusal}");
}

#[test]
fn headers_say_what_was_expected_and_what_came() {
    let _turn = alone();
    let cases: &[(usize, &[u8], &str)] = &[
        (0, b"PK\x03\x04", "do not begin as those of Cloakwork do"),
        (4, &[2], "expected format version 3, got 2"),
        (6, &[6], "expected a ciphertext, got a plaintext"),
        (6, &[9, 9], "expected a ciphertext, got an object of unknown kind 2313"),
        (8, &[0; 16], "the checksum is wrong"),
        (24, &(1u64 << 60).to_le_bytes(), "expected a body of 1152921504606846976 bytes, got"),
        (32, &[0; 16], "the checksum is wrong"),
        (HEADER + 100, &[255], "the checksum is wrong"),
    ];
    let target = &TARGETS[4];
    let whole = &corpus(target)[0].1;
    for (at, field, expected) in cases {
        let mut bytes = whole.clone();
        bytes[*at..at + field.len()].copy_from_slice(field);
        let refusal = (target.body)(&bytes).expect_err(expected).to_string();
        assert!(refusal.contains(expected), "{refusal}");
    }
    for length in 0..whole.len() {
        let refusal = (target.body)(&whole[..length]);
        assert!(matches!(refusal, Err(Error::MalformedBytes { .. })), "{length}: {refusal:?}");
    }
}
