//! Bits.

use std::sync::OnceLock;

use tfhe_eval::{
    Ciphertexts, EvaluationKey, Parameters, Program, ProgramArrays, PublicKey, SecretKey, Variances,
};

use crate::{Outcome, Refusal};

const QUARTER: u32 = 1 << 30;
const EIGHTH: u32 = QUARTER / 2;
/// Programs with more bootstraps are read by the same code and take too long to be run often.
const MOST_BOOTSTRAPS: usize = 3;
const MOST_INPUTS: usize = 16;

struct Bench {
    key: EvaluationKey,
    and: Program,
}

/// What runs programs; made when first needed, as it takes a while.
fn bench() -> &'static Bench {
    static BENCH: OnceLock<Bench> = OnceLock::new();
    BENCH.get_or_init(|| {
        let key = secret().evaluation_key().expect("a key");
        Bench { key, and: Program::new(and()).expect("a program") }
    })
}

pub fn secret() -> &'static SecretKey {
    static SECRET: OnceLock<SecretKey> = OnceLock::new();
    SECRET.get_or_init(|| {
        let parameters = Parameters::named("space4").expect("a set");
        SecretKey::generate(parameters).expect("a key")
    })
}

/// The AND of two bits.
pub fn and() -> ProgramArrays {
    ProgramArrays {
        inputs: 2,
        kinds: vec![1],
        term_starts: vec![0, 2],
        term_signals: vec![0, 1],
        term_weights: vec![1, 1],
        constants: vec![0],
        message_bits: vec![2],
        output_starts: vec![0, 1],
        tables: vec![EIGHTH.wrapping_neg(); 2],
        output_constants: vec![EIGHTH],
        output_signals: vec![2],
    }
}

/// That of the first parameter set, read off an object under it.
pub fn fingerprint() -> [u8; 16] {
    let none = secret().encrypt(&[], &[]).expect("no ciphertexts");
    let bytes = none.to_bytes();
    std::array::from_fn(|i| bytes[8 + i])
}

/// What patches of an evaluation key begin from.
pub fn evaluation_keys() -> &'static [Vec<u8>] {
    static KEYS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    KEYS.get_or_init(|| vec![bench().key.to_bytes()])
}

pub fn secret_key(bytes: &[u8]) -> Outcome {
    let secret = SecretKey::from_bytes(bytes)?;
    assert_eq!(*secret.to_bytes(), bytes);
    let encrypted = secret.encrypt(&[0, 1], &[QUARTER; 2])?;
    assert_eq!(secret.decrypt(&encrypted, &[QUARTER; 2])?, [0, 1]);
    Ok(())
}

pub fn public_key(bytes: &[u8]) -> Outcome {
    let public = PublicKey::from_bytes(bytes)?;
    assert_eq!(public.to_bytes(), bytes);
    let encrypted = public.encrypt(&[1], &[QUARTER])?;
    let _ = secret().decrypt(&encrypted, &[QUARTER]);
    Ok(())
}

pub fn ciphertexts(bytes: &[u8]) -> Outcome {
    let read = Ciphertexts::from_bytes(bytes)?;
    assert_eq!(read.to_bytes(), bytes);
    assert!(read.nbytes() <= bytes.len());
    let _ = secret().decrypt(&read, &vec![QUARTER; read.len()]);
    let bench = bench();
    if let Ok(two) = read.select(&[0, read.len() / 2]) {
        let _ = bench.key.run(&bench.and, &two, 1, |_, _| true);
    }
    Ok(())
}

pub fn evaluation_key(bytes: &[u8]) -> Outcome {
    let key = EvaluationKey::from_bytes(bytes)?;
    assert_eq!(key.to_bytes(), bytes);
    let bench = bench();
    let inputs = secret().encrypt(&[1, 1], &[QUARTER; 2])?;
    if let Ok(outputs) = key.run(&bench.and, &inputs, 1, |_, _| true) {
        secret().decrypt(&outputs, &[QUARTER])?;
    }
    Ok(())
}

/// A program as bytes: 4 for the number of inputs, then for each of ten arrays a length, 2 bytes,
/// and its numbers, 4 bytes each or as many as they need.
pub fn program(bytes: &[u8]) -> Outcome {
    let arrays = read_arrays(bytes).ok_or_else(|| Refusal::Malformed("arrays".into()))?;
    let outputs = arrays.output_signals.len();
    let program = Program::new(arrays)?;
    let variances = Variances { input: 1e-17, bootstrap: 1e-9, switch: vec![1e-5; 3] };
    let failure = program.failure(&variances, &vec![QUARTER; outputs])?;
    assert!(failure.worst <= failure.total);
    if program.inputs() > MOST_INPUTS || program.bootstraps() > MOST_BOOTSTRAPS || outputs > 64 {
        return Ok(());
    }
    let bench = bench();
    let (bits, encodings) = (vec![1; program.inputs()], vec![QUARTER; program.inputs()]);
    let inputs = secret().encrypt(&bits, &encodings)?;
    if program.message_bits() <= bench.key.parameters().max_message_bits() {
        assert_eq!(bench.key.run(&program, &inputs, 2, |_, _| true)?.len(), outputs);
    }
    Ok(())
}

/// [`program`]'s bytes of a program.
pub fn written(arrays: &ProgramArrays) -> Vec<u8> {
    let mut bytes = (arrays.inputs as u32).to_le_bytes().to_vec();
    let mut write = |numbers: Vec<u32>, size: usize| {
        bytes.extend((numbers.len() as u16).to_le_bytes());
        numbers.iter().for_each(|x| bytes.extend(&x.to_le_bytes()[..size]));
    };
    let wide = |numbers: &[u8]| numbers.iter().map(|&x| u32::from(x)).collect();
    write(wide(&arrays.kinds), 1);
    write(arrays.term_starts.clone(), 4);
    write(arrays.term_signals.clone(), 4);
    write(arrays.term_weights.iter().map(|&x| x as u32).collect(), 4);
    write(arrays.constants.clone(), 4);
    write(wide(&arrays.message_bits), 1);
    write(arrays.output_starts.clone(), 4);
    write(arrays.tables.clone(), 4);
    write(arrays.output_constants.clone(), 4);
    write(arrays.output_signals.clone(), 4);
    bytes
}

fn read_arrays(bytes: &[u8]) -> Option<ProgramArrays> {
    let (inputs, mut rest) = bytes.split_first_chunk()?;
    let mut read = |size: usize| -> Option<Vec<u32>> {
        let (length, after) = rest.split_first_chunk()?;
        let length = usize::from(u16::from_le_bytes(*length));
        let (numbers, after) = after.split_at_checked(length * size)?;
        rest = after;
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |x, &b| x << 8 | u32::from(b));
        Some(numbers.chunks_exact(size).map(number).collect())
    };
    let narrow = |numbers: Vec<u32>| numbers.into_iter().map(|x| x as u8).collect();
    let arrays = ProgramArrays {
        inputs: u32::from_le_bytes(*inputs) as usize,
        kinds: narrow(read(1)?),
        term_starts: read(4)?,
        term_signals: read(4)?,
        term_weights: read(4)?.into_iter().map(|x| x as i32).collect(),
        constants: read(4)?,
        message_bits: narrow(read(1)?),
        output_starts: read(4)?,
        tables: read(4)?,
        output_constants: read(4)?,
        output_signals: read(4)?,
    };
    rest.is_empty().then_some(arrays)
}
