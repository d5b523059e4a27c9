//! Bytes that no one made: refused by name, without a panic, in little memory.
//!
//! After a change of the format or of what the small parameters compile to, the corpus is
//! made anew by `UPDATE_CORPUS=1 cargo test -p hostile`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use hostile::bgv::small as small_bgv;
use hostile::ckks::small;
use hostile::{HEADER, Refusal, TARGETS, Target, attack, bits, bootstrapping, target};
use peak_alloc::PeakAlloc;
use rlwe::bytes::ReadLimits;
use rlwe::ckks::{Encoding, Evaluator, Parameters, ParametersLiteral};
use rlwe::keys::{EvaluationKeys, EvaluationKeysRequest, SecretKey};
use rlwe::{Error, SecretDistribution, bgv};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Memory is counted for the process, so that one test at a time may run.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Of one target; where whatever parses makes keys or runs bootstraps, fewer.
fn mutations_of(name: &str) -> u64 {
    match name {
        "parameters"
        | "bgv_parameters"
        | "bootstrapping_parameters"
        | "bits_ciphertexts"
        | "bits_public_key"
        | "bits_program" => 400,
        _ => 4000,
    }
}

/// How often as many make ten million runs of all targets, three of each mutation.
const MANY_TIMES: u64 = 72;
const PATCHES: u64 = 30;

/// What reading and using an object may take beside a multiple of its bytes.
const MEMORY_BASE: usize = 1 << 20;
const MEMORY_FACTOR: usize = 64;
/// The tables and keys of a small ring, which are made once its parameters are read.
const RING: usize = 3 << 20;

type File = (String, Vec<u8>);

fn folder(target: &Target) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target.name)
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
    let (parameters, secret) = (&small().parameters, &small().secret);
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
            let sparse = sparse_secrets(8);
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
            let products = EvaluationKeysRequest {
                rotations: vec![(8, 2), (4, 1)],
                rotated_products: vec![(0, 2), (8, 2), (4, 1)],
                ..Default::default()
            };
            vec![
                ("products", keys(products).to_bytes()),
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
        "rotated_products" => {
            let at_top = secret.encrypt(&dense).unwrap();
            let low = secret.encrypt(&parameters.encode_real(&full, encoding(1)).unwrap()).unwrap();
            let evaluator = Evaluator::new(EvaluationKeys::none(secret));
            let two = evaluator.rotated_products(&[&at_top; 3], &[&at_top; 3], 8).unwrap();
            let all = evaluator.rotated_products(&[&low], &[&low], 1).unwrap();
            vec![("two", two.to_bytes()), ("all", all.to_bytes())]
        }
        "plaintext" => vec![("dense", dense.to_bytes()), ("sparse", sparse.to_bytes())],
        "large_evaluation_keys"
        | "large_ciphertext"
        | "large_bgv_evaluation_keys"
        | "bootstrapping_keys"
        | "bits_evaluation_key" => vec![
            ("as_it_is", vec![0]),
            ("a_patch", [&[1][..], &100u32.to_le_bytes(), &[8], &[255; 8]].concat()),
            ("a_level", [&[2][..], &17u32.to_le_bytes(), &[1, 0]].concat()),
        ],
        "bootstrapping_parameters" => vec![("small", bootstrapping::parameters())],
        "bits_secret_key" => vec![("key", bits::secret().to_bytes().to_vec())],
        "bits_public_key" => vec![("key", bits::secret().public_key().unwrap().to_bytes())],
        "bits_ciphertexts" => {
            let two = bits::secret().encrypt(&[0, 1], &[1 << 30; 2]).unwrap();
            let none = two.select(&[]).unwrap();
            vec![("two", two.to_bytes()), ("none", none.to_bytes())]
        }
        "bits_program" => {
            let and = bits::and();
            let linear = tfhe_eval::ProgramArrays {
                kinds: vec![0, 1],
                term_starts: vec![0, 2, 3],
                term_signals: vec![0, 1, 2],
                term_weights: vec![3, -1, 1],
                constants: vec![5, 6],
                message_bits: vec![0, 2],
                output_starts: vec![0, 1, 2],
                output_constants: vec![0, 7],
                output_signals: vec![3, 2],
                ..and.clone()
            };
            vec![("and", bits::written(&and)), ("linear", bits::written(&linear))]
        }
        _ => made_of_bgv(target),
    }
}

/// Parameters of secrets of this weight.
fn sparse_secrets(weight: usize) -> Parameters {
    let literal = ParametersLiteral {
        log_n: Some(5),
        scale_bits: 30.0,
        headroom_bits: 12.0,
        secret: SecretDistribution::FixedWeight(weight),
        insecure: true,
        ..ParametersLiteral::default()
    };
    Parameters::new(literal).unwrap()
}

fn made_of_bgv(target: &str) -> Vec<(&'static str, Vec<u8>)> {
    let (parameters, secret) = (&small_bgv().parameters, &small_bgv().secret);
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
        "bgv_rotated_products" => {
            let fresh = secret.encrypt_integers(&plaintext).unwrap();
            let evaluator = bgv::Evaluator::new(EvaluationKeys::none(secret));
            let products = |step| evaluator.rotated_products(&[&fresh], &[&fresh], step).unwrap();
            vec![("two", products(8).to_bytes()), ("all", products(1).to_bytes())]
        }
        "bgv_plaintext" => vec![("row", plaintext.to_bytes())],
        "bgv_evaluation_keys" => {
            let request = EvaluationKeysRequest {
                relinearisation_level: Some(2),
                rotations: vec![(1, 2), (2, 1)],
                conjugation_level: Some(2),
                rotated_products: vec![(1, 2), (8, 1)],
                ..Default::default()
            };
            let none = EvaluationKeys::none(secret);
            let every = secret.evaluation_keys(&request).unwrap();
            vec![("none", none.to_bytes()), ("every", every.to_bytes())]
        }
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
        match self.below(10) {
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
            6 => {
                let end = (at + self.below(64)).min(bytes.len());
                let stretch = bytes[at..end].repeat(1 << self.below(10));
                bytes.splice(at..at, stretch).for_each(drop);
            }
            7 if !bytes.is_empty() => bytes[at] = self.next() as u8,
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

fn withstands(name: &str, times: u64) {
    let _turn = alone();
    let target = target(name);
    let files = corpus(target);
    let whole = TARGETS.iter().filter(|target| target.is_whole());
    let others: Vec<File> = whole.flat_map(corpus).collect();
    for (path, bytes) in &files {
        // Tables that are made once are made here, so that they are not counted below.
        let used = (target.body)(bytes);
        used.unwrap_or_else(|refusal| panic!("{path}: {refusal:?}"));
    }
    let choice = &mut Choice(1);
    for number in 0..times * mutations_of(name) {
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
        let refused = matches!(outcome, Ok(Err(Refusal::Malformed(_))));
        // A program has no checksum.
        let refused = refused || (name == "bits_program" && outcome.is_ok());
        assert!(refused, "{name}, mutation {number}: {outcome:?} for {bytes:02x?}");
        let more = match name {
            // Running a program begins with a look at whether threads get their stacks.
            "bits_program" => system_memory::MAPPED,
            "parameters" | "bgv_parameters" | "bootstrapping_parameters" => RING,
            _ => 0,
        };
        let allowed = more + MEMORY_BASE + MEMORY_FACTOR * bytes.len();
        assert!(used <= allowed, "{name}, mutation {number}: {used} bytes for {bytes:02x?}");
    }
}

#[test]
fn what_is_read_and_dropped_leaves_no_memory() {
    let _turn = alone();
    for target in TARGETS.iter().filter(|target| target.is_whole()) {
        for (path, bytes) in corpus(target) {
            let read = |times| (0..times).for_each(|_| drop((target.body)(&bytes)));
            // What is made once, and what the threads work in.
            read(20);
            let before = MEMORY.current_usage();
            read(100);
            let left = MEMORY.current_usage().saturating_sub(before);
            assert!(left < 1 << 18, "{path}: {left} bytes after 100 times");
        }
    }
}

/// Objects that are too large to be mutated whole, changed in a few places.
fn withstands_patches(name: &str, patches: u64) {
    let _turn = alone();
    let files = corpus(target(name));
    for (_, bytes) in &files {
        attack(name, bytes);
    }
    let choice = &mut Choice(2);
    for _ in 0..patches {
        attack(name, &damaged(choice, &files, &files));
    }
}

#[test]
#[ignore = "takes a quarter of an hour"]
fn every_target_withstands_much_damage() {
    for target in TARGETS.iter().filter(|target| target.is_whole()) {
        withstands(target.name, MANY_TIMES);
    }
}

#[test]
fn bootstrapping_parameters_withstands_damage() {
    withstands("bootstrapping_parameters", 1);
}

#[test]
fn bootstrapping_keys_withstands_patches() {
    withstands_patches("bootstrapping_keys", PATCHES);
}

#[test]
fn secret_key_withstands_damage() {
    withstands("secret_key", 1);
}

#[test]
fn public_key_withstands_damage() {
    withstands("public_key", 1);
}

#[test]
fn evaluation_keys_withstands_damage() {
    withstands("evaluation_keys", 1);
}

#[test]
fn ciphertext_withstands_damage() {
    withstands("ciphertext", 1);
}

#[test]
fn rotated_products_withstands_damage() {
    withstands("rotated_products", 1);
}

#[test]
fn bgv_rotated_products_withstands_damage() {
    withstands("bgv_rotated_products", 1);
}

#[test]
fn plaintext_withstands_damage() {
    withstands("plaintext", 1);
}

#[test]
fn bgv_ciphertext_withstands_damage() {
    withstands("bgv_ciphertext", 1);
}

#[test]
fn bgv_plaintext_withstands_damage() {
    withstands("bgv_plaintext", 1);
}

#[test]
fn bgv_evaluation_keys_withstands_damage() {
    withstands("bgv_evaluation_keys", 1);
}

#[test]
fn bits_secret_key_withstands_damage() {
    withstands("bits_secret_key", 1);
}

#[test]
fn parameters_withstands_damage() {
    withstands("parameters", 1);
}

#[test]
fn bgv_parameters_withstands_damage() {
    withstands("bgv_parameters", 1);
}

#[test]
fn bits_ciphertexts_withstands_damage() {
    withstands("bits_ciphertexts", 1);
}

#[test]
fn bits_public_key_withstands_damage() {
    withstands("bits_public_key", 1);
}

#[test]
fn bits_program_withstands_damage() {
    withstands("bits_program", 1);
}

#[test]
fn large_evaluation_keys_withstands_patches() {
    withstands_patches("large_evaluation_keys", PATCHES);
}

#[test]
fn large_ciphertext_withstands_patches() {
    withstands_patches("large_ciphertext", PATCHES);
}

#[test]
fn large_bgv_evaluation_keys_withstands_patches() {
    withstands_patches("large_bgv_evaluation_keys", PATCHES);
}

#[test]
fn bits_evaluation_key_withstands_patches() {
    withstands_patches("bits_evaluation_key", PATCHES);
}

/// A file of the corpus with `field` written over the body from `at`, under a right header.
fn with_field(name: &str, file: &str, at: usize, field: &[u8]) -> (&'static Target, Vec<u8>) {
    let target = target(name);
    let mut bytes = std::fs::read(folder(target).join(file)).expect("a readable file");
    bytes[HEADER + at..HEADER + at + field.len()].copy_from_slice(field);
    (target, target.sealed(&bytes[HEADER..]))
}

fn said(refusal: Refusal) -> String {
    match refusal {
        Refusal::Malformed(message) | Refusal::Other(message) => message,
    }
}

#[test]
fn every_field_is_checked() {
    let _turn = alone();
    TARGETS.iter().for_each(|target| drop(corpus(target)));
    let (nan, negative) = (f64::NAN.to_le_bytes(), (-1.0f64).to_le_bytes());
    let (most, words) = (u32::MAX.to_le_bytes(), |x: u32| x.to_le_bytes());
    let counts = |x: u16| x.to_le_bytes();
    let cases: &[(&str, &str, usize, &[u8], &str)] = &[
        ("parameters", "ternary", 0, &words(4), "expected log_n between 5 and 17, got 4"),
        ("parameters", "ternary", 0, &words(18), "expected log_n between 5 and 17, got 18"),
        ("parameters", "ternary", 0, &words(9), "at most 8 is accepted here"),
        ("parameters", "ternary", 4, &words(2), "no secret distribution 2"),
        ("parameters", "ternary", 8, &words(1), "no secret distribution 0 of weight 1"),
        ("parameters", "sparse", 8, &words(33), "of weight 33 in degree 2^5"),
        ("parameters", "ternary", 12, &nan, "scale_bits must lie between 20 and 60, got NaN"),
        ("parameters", "ternary", 20, &negative, "headroom_bits must lie between 2 and 60"),
        ("parameters", "ternary", 28, &counts(0), "is no larger than the one below"),
        ("parameters", "ternary", 28, &counts(u16::MAX), "more bytes, got"),
        ("parameters", "ternary", 32, &counts(0), "expected 1 to 256 levels, got 0"),
        ("parameters", "ternary", 34, &counts(1), "expected a digit below 1, got 1"),
        ("parameters", "ternary", 34, &counts(3), "every prime in one digit"),
        ("parameters", "ternary", 36, &words(0), "that are 1 modulo 2^6, got 0"),
        ("parameters", "ternary", 36, &words(65 * 97), "that are 1 modulo 2^6, got 6305"),
        ("parameters", "ternary", 36, &most, "that are 1 modulo 2^6, got 4294967295"),
        ("secret_key", "key", 16, &[0b1100], "expected coefficients of -1, 0 and 1"),
        ("public_key", "key", 48, &most, "expected residues below"),
        ("evaluation_keys", "every", 16, &[7], "0 or 1 for a relinearisation key, got 7"),
        ("evaluation_keys", "every", 17, &words(3), "a level of at most 2, got 3"),
        ("evaluation_keys", "relinearisation", 53, &most, "expected residues below"),
        ("evaluation_keys", "none", 17, &most, "expected a Galois element that is odd"),
        ("evaluation_keys", "none", 21, &most, "expected 4 more bytes, got 1"),
        ("ciphertext", "fresh", 16, &most, "a level of at most 2"),
        ("ciphertext", "sparse", 16, &words(2), "more bytes, got"),
        ("ciphertext", "fresh", 20, &words(0), "a power of two of at most 16 slots, got 0"),
        ("ciphertext", "fresh", 20, &words(12), "a power of two of at most 16 slots, got 12"),
        ("ciphertext", "fresh", 20, &words(32), "a power of two of at most 16 slots, got 32"),
        ("ciphertext", "fresh", 24, &nan, "a scale of NaN does not fit"),
        ("ciphertext", "fresh", 24, &1e300f64.to_le_bytes(), "a scale of 1e300 does not fit"),
        ("ciphertext", "fresh", 32, &nan, "a finite deviation of at least 0, got NaN"),
        ("ciphertext", "fresh", 32, &[0; 8], "a deviation and a bound of at least"),
        ("ciphertext", "fresh", 40, &[0; 8], "a deviation and a bound of at least"),
        ("ciphertext", "fresh", 32, &1e-12f64.to_le_bytes(), "a deviation and a bound of at least"),
        ("ciphertext", "fresh", 40, &negative, "a finite bound of at least 0, got -1e0"),
        ("ciphertext", "fresh", 48, &[3], "expected 2 polynomials, got 3"),
        ("ciphertext", "public", 48, &[1], "expected 2 or 3 polynomials, got 1"),
        ("ciphertext", "public", 49, &[2], "expected 0 or 1 for a seed, got 2"),
        ("ciphertext", "fresh", 82, &most, "expected residues below"),
        ("rotated_products", "two", 16, &most, "a level of at most 2"),
        ("rotated_products", "two", 20, &words(8), "expected products of 16 slots, got 8"),
        ("rotated_products", "two", 24, &nan, "a scale of NaN does not fit"),
        ("rotated_products", "two", 48, &words(0), "a power of two up to 16, got 0"),
        ("rotated_products", "two", 48, &words(12), "a power of two up to 16, got 12"),
        ("rotated_products", "two", 48, &words(32), "a power of two up to 16, got 32"),
        ("rotated_products", "two", 48, &words(1), "more bytes, got"),
        ("rotated_products", "all", 48, &words(2), "more bytes"),
        ("rotated_products", "two", 52, &most, "expected residues below"),
        ("bgv_rotated_products", "two", 16, &most, "a level of at most 2"),
        ("bgv_rotated_products", "two", 20, &words(7937), "a factor in 1..7937, got 7937"),
        ("bgv_rotated_products", "two", 32, &1e9f64.to_le_bytes(), "exceeds its norm"),
        ("bgv_rotated_products", "two", 48, &words(3), "a power of two up to 16, got 3"),
        ("bgv_rotated_products", "all", 52, &most, "expected residues below"),
        ("plaintext", "dense", 8, &negative, "a scale of -1e0 does not fit"),
        ("plaintext", "dense", 32, &[2], "expected 0 or 1 for a declared bound, got 2"),
        ("plaintext", "dense", 33, &most, "expected residues below"),
        ("bgv_parameters", "ternary", 28, &words(7938), "a prime below 2^30 that is 1 modulo 64"),
        ("bgv_parameters", "ternary", 28, &words(12289), "fingerprint"),
        ("bgv_parameters", "ternary", 32, &39f64.to_le_bytes(), "failure_bits must lie between 40"),
        ("bgv_parameters", "ternary", 32, &nan, "failure_bits must lie between 40"),
        ("bgv_parameters", "ternary", 32, &41f64.to_le_bytes(), "fingerprint"),
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
        let refusal = said((target.body)(&bytes).expect_err(expected));
        assert!(refusal.contains(expected), "{name} {file} {at}: {refusal}");
    }
}

#[test]
fn nothing_follows_the_last_field() {
    let _turn = alone();
    for target in TARGETS.iter().filter(|t| t.is_whole() && t.name != "bits_program") {
        for (path, bytes) in corpus(target) {
            let body = [&bytes[HEADER..], &[0; 3]].concat();
            let refusal = said((target.body)(&target.sealed(&body)).expect_err("an end"));
            assert!(refusal.contains("more bytes"), "{path}: {refusal}");
        }
    }
}

#[test]
fn galois_elements_are_odd_and_rise() {
    let _turn = alone();
    let target = &TARGETS[3];
    corpus(target);
    let both = vec![(1, 0), (2, 0)];
    let requests = [
        EvaluationKeysRequest { rotations: both.clone(), ..Default::default() },
        EvaluationKeysRequest { rotated_products: both, ..Default::default() },
    ];
    // Of two lists of keys, each behind its length, one is empty.
    for (request, first) in requests.into_iter().zip([21, 25]) {
        let bytes = small().secret.evaluation_keys(&request).unwrap().to_bytes();
        let body = &bytes[HEADER..];
        let second = first + (body.len() - 25) / 2;
        let cases = [(first, 1), (first, 6), (first, 64), (first, 65), (second, 5), (second, 3)];
        for (at, element) in cases {
            let mut body = body.to_vec();
            body[at..at + 4].copy_from_slice(&u32::to_le_bytes(element));
            let refusal = said((target.body)(&target.sealed(&body)).expect_err("an element"));
            assert!(refusal.contains(&format!("got {element}")), "{refusal}");
        }
    }
}

/// A file decides neither on security nor on what is computed.
#[test]
fn parameters_are_what_their_reader_accepts() {
    let _turn = alone();
    let literal = ParametersLiteral { log_n: Some(12), insecure: true, ..Default::default() };
    let small = Parameters::new(ParametersLiteral { log_n: Some(11), ..literal.clone() }).unwrap();
    let wide = Parameters::new(ParametersLiteral { levels: 2, ..literal.clone() }).unwrap();
    let secret = SecretDistribution::FixedWeight(64);
    let sparse = Parameters::new(ParametersLiteral { secret, ..literal.clone() }).unwrap();
    let insecure = ReadLimits { insecure: true, ..ReadLimits::default() };
    for parameters in [small, wide, sparse] {
        let bytes = parameters.to_bytes();
        let refused = Parameters::from_bytes(&bytes, &ReadLimits::default());
        assert!(matches!(refused, Err(Error::InsecureParameters(_))), "{refused:?}");
        let accepted = Parameters::from_bytes(&bytes, &insecure).unwrap();
        assert!(!accepted.is_secure() && accepted == parameters);
    }
    // Allowed to be insecure, and not.
    let secure = Parameters::new(literal).unwrap();
    assert!(Parameters::from_bytes(&secure.to_bytes(), &ReadLimits::default()).is_ok());
    let literal = bgv::ParametersLiteral { log_n: Some(8), insecure: true, ..Default::default() };
    let bytes = bgv::Parameters::new(literal).unwrap().to_bytes();
    let refused = bgv::Parameters::from_bytes(&bytes, &ReadLimits::default());
    assert!(matches!(refused, Err(Error::InsecureParameters(_))));

    let limits = ReadLimits { max_log_n: 11, ..ReadLimits::default() };
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let refused = Parameters::from_bytes(&secure.to_bytes(), &limits);
    assert!(matches!(refused, Err(Error::InvalidParameters(_))), "{refused:?}");
    assert!(MEMORY.peak_usage() - before < 1 << 16);
}

#[test]
fn a_sparse_secret_must_have_its_weight() {
    let _turn = alone();
    let (lighter, heavier) = (sparse_secrets(8), sparse_secrets(9));
    let right = SecretKey::generate(&lighter).unwrap().to_bytes();
    assert!(SecretKey::from_bytes(&lighter, &right).is_ok());
    let other = SecretKey::from_bytes(&lighter, &small().secret.to_bytes());
    assert!(matches!(other, Err(Error::ParametersMismatch { .. })), "{other:?}");
    let heavier = SecretKey::generate(&heavier).unwrap().to_bytes();
    let wrong = TARGETS[1].sealed_as(lighter.fingerprint(), &heavier[HEADER..]);
    let refusal = SecretKey::from_bytes(&lighter, &wrong).unwrap_err().to_string();
    assert!(refusal.contains("expected 8 nonzero coefficients, got 9"), "{refusal}");
}

#[test]
fn headers_say_what_was_expected_and_what_came() {
    let _turn = alone();
    let cases: &[(usize, &[u8], &str)] = &[
        (0, b"PK\x03\x04", "do not begin as those of Cloakwork do"),
        (4, &[2], "expected format version 6, got 2"),
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
        let refusal = said((target.body)(&bytes).expect_err(expected));
        assert!(refusal.contains(expected), "{refusal}");
    }
    for length in 0..whole.len() {
        let refusal = (target.body)(&whole[..length]);
        assert!(matches!(refusal, Err(Refusal::Malformed(_))), "{length}: {refusal:?}");
    }
}
