//! Compares the times of what works on secrets: those of one secret with those of random ones.
//!
//! Prints the largest t of Welch's tests for every function, and ends with 1 where one is 4.5 or
//! more. `timing 100` takes a hundredth of the runs.
#![forbid(unsafe_code)]

use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use rlwe::ckks::{Ciphertext, Encoding, Parameters, ParametersLiteral};
use rlwe::keys::SecretKey;
use rlwe::parallel::on_this_thread;
use rlwe::sampling::{Generator, fixed_weight_ternary, gaussian, ternary};
use welch::Comparison;

mod welch;

type Outcome<T> = Result<T, Box<dyn Error>>;

const BATCH: usize = 512;
/// Random secrets whose making takes longer than the work on them.
const POOL: usize = 64;
const LARGEST_T: f64 = 4.5;

const LOG_N: u32 = 10;
const N: usize = 1 << LOG_N;
const WEIGHT: usize = 32;

/// What is random in a run.
type Draw = [u8; 33];

fn main() -> Outcome<ExitCode> {
    let fewer = std::env::args().nth(1).map_or(Ok(1), |text| text.parse::<usize>())?;
    on_this_thread(|| compare_all(fewer.max(1)))
}

fn compare_all(fewer: usize) -> Outcome<ExitCode> {
    let mut all_pass = true;
    let mut tell = |name: &str, runs: usize, t: f64| {
        println!("{name:22} t = {t:4.2} in {runs} runs");
        all_pass &= t < LARGEST_T;
    };
    let (many, few) = (10_000_000 / fewer, 1_000_000 / fewer);
    tell("ternary sampling", many, of_generator(many, |generator| ternary(generator, N))?);
    tell("Gaussian sampling", many, of_generator(many, |generator| gaussian(generator, N))?);
    let sparse = |generator: &mut Generator| fixed_weight_ternary(generator, N / 4, WEIGHT);
    tell("fixed-weight sampling", many, of_generator(many, sparse)?);
    let literal =
        ParametersLiteral { log_n: Some(LOG_N), insecure: true, ..ParametersLiteral::default() };
    let parameters = Parameters::new(literal)?;
    tell("secret key reading", few, of_reading(few, &parameters)?);
    tell("decryption", few, of_decryption(few, &parameters)?);
    tell("decoding", few, of_decoding(few, &parameters)?);
    Ok(ExitCode::from(u8::from(!all_pass)))
}

/// The largest t of a sampler, from one state and from random ones.
fn of_generator<T>(runs: usize, sample: impl Fn(&mut Generator) -> T) -> Outcome<f64> {
    let mut fixed = [0; 32];
    getrandom::fill(&mut fixed)?;
    let prepare = |class: usize, draw: &Draw| {
        let mut key = fixed;
        for (byte, drawn) in key.iter_mut().zip(draw) {
            *byte = if class == 0 { *byte } else { *drawn };
        }
        Ok(Generator::deterministic(key))
    };
    compare(runs, prepare, sample)
}

fn of_reading(runs: usize, parameters: &Parameters) -> Outcome<f64> {
    let secrets = Secrets::new(|| Ok(SecretKey::generate(parameters)?.to_bytes()))?;
    compare(
        runs,
        |class, draw| Ok(secrets.pick(class, draw).clone()),
        |bytes| SecretKey::from_bytes(parameters, bytes),
    )
}

fn of_decryption(runs: usize, parameters: &Parameters) -> Outcome<f64> {
    let secrets = Secrets::new(|| {
        let secret = SecretKey::generate(parameters)?;
        Ok((secret.to_bytes(), encryption(parameters, &secret)?.to_bytes()))
    })?;
    compare(
        runs,
        |class, draw| {
            let (secret, ciphertext) = secrets.pick(class, draw);
            let secret = SecretKey::from_bytes(parameters, secret)?;
            Ok((secret, Ciphertext::from_bytes(parameters, ciphertext)?))
        },
        |(secret, ciphertext)| secret.decrypt(ciphertext, ciphertext.estimate()),
    )
}

fn of_decoding(runs: usize, parameters: &Parameters) -> Outcome<f64> {
    let secret = SecretKey::generate(parameters)?;
    let secrets = Secrets::new(|| encryption(parameters, &secret))?;
    compare(
        runs,
        |class, draw| {
            let ciphertext = secrets.pick(class, draw);
            Ok(secret.decrypt(ciphertext, ciphertext.estimate())?)
        },
        |decrypted| decrypted.decode_real(),
    )
}

/// Random values from 0 to 1 in all slots, encrypted.
fn encryption(parameters: &Parameters, secret: &SecretKey) -> Outcome<Ciphertext> {
    let mut bytes = [0_u8; N / 2];
    getrandom::fill(&mut bytes)?;
    let values = bytes.map(|byte| f64::from(byte) / 255.0);
    Ok(secret.encrypt(&parameters.encode_real(&values, Encoding::at(0).within(1.0))?)?)
}

/// One secret, and random ones.
struct Secrets<T> {
    one: T,
    random: Vec<T>,
}

impl<T> Secrets<T> {
    fn new(make: impl Fn() -> Outcome<T>) -> Outcome<Self> {
        Ok(Self { one: make()?, random: (0..POOL).map(|_| make()).collect::<Outcome<_>>()? })
    }

    fn pick(&self, class: usize, draw: &Draw) -> &T {
        if class == 0 { &self.one } else { &self.random[usize::from(draw[0]) % POOL] }
    }
}

/// The largest t of some work on inputs of class 0, one secret, and of class 1, random ones.
///
/// The classes come in a random order. Inputs of both are made in the same way, each in memory of
/// its own, before any of a batch is timed.
fn compare<I, O>(
    runs: usize,
    prepare: impl Fn(usize, &Draw) -> Outcome<I>,
    work: impl Fn(&mut I) -> O,
) -> Outcome<f64> {
    let mut draws = vec![[0; size_of::<Draw>()]; BATCH];
    let mut comparison: Option<Comparison> = None;
    for _ in 0..=runs.div_ceil(BATCH) {
        getrandom::fill(draws.as_flattened_mut())?;
        let classes: Vec<usize> = draws.iter().map(|draw| usize::from(draw[32] & 1)).collect();
        let inputs = classes.iter().zip(&draws).map(|(&class, draw)| prepare(class, draw));
        let mut inputs = inputs.collect::<Outcome<Vec<I>>>()?;
        let times: Vec<u32> = inputs.iter_mut().map(|input| timed(input, &work)).collect();
        match &mut comparison {
            None => comparison = Some(Comparison::new(times)),
            Some(comparison) => {
                for (class, time) in classes.into_iter().zip(times) {
                    comparison.push(class, time);
                }
            }
        }
    }
    Ok(comparison.map_or(0.0, |comparison| comparison.largest_t()))
}

/// The nanoseconds of some work; what it makes is dropped after them.
fn timed<I, O>(input: &mut I, work: impl Fn(&mut I) -> O) -> u32 {
    let start = Instant::now();
    let made = black_box(work(black_box(input)));
    let taken = start.elapsed();
    drop(made);
    u32::try_from(taken.as_nanos()).unwrap_or(u32::MAX)
}
