//! Measures a device beside the CPU: transforms in bytes a second, and the operations of CKKS.
//!
//! `measure DEVICE [LOG_N [REPETITIONS]]`, with "cuda" or "software" for the device: the ring of the
//! operations has degree 2^LOG_N, by default 16, and the largest modulus that is 128-bit secure.
//! Every figure is the median of the repetitions, by default 50, in the device's own time, after one
//! run that is not counted; every result is compared with the CPU's residues.

use std::env;
use std::process::ExitCode;
use std::time::Instant;

use device::launch::{Buffer, Residues, Row, Rows, forward, inverse};
use device::{Ciphertext, Device, Evaluator, Parameters};
use rlwe::chain::{Chain, ChainRequest};
use rlwe::ckks::{
    self, BabySteps, Bootstrapping, BootstrappingLiteral, BootstrappingParameters, Complex64,
    Diagonals, Encoding, LinearTransform, Packing, ParametersLiteral, Split,
};
use rlwe::keys::{EvaluationKeysRequest, SecretKey};
use rlwe::security::max_log_qp;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Words that transforms are measured on: several times any cache.
const TRANSFORM_WORDS: usize = 1 << 28;
/// The same on a device in software.
const SOFTWARE_WORDS: usize = 1 << 19;
const SCALE_BITS: f64 = 40.0;
const HEADROOM_BITS: f64 = 10.0;
const DIGITS: usize = 3;
/// Rotations that share one decomposition.
const HOISTED: i64 = 32;
/// Diagonals of the linear transform at the most.
const DIAGONALS: usize = 512;

fn main() -> ExitCode {
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let number = |at: usize, default: usize| arguments.get(at).map_or(Ok(default), |x| x.parse());
    let (device, words) = match arguments.first().map(String::as_str) {
        Some("cuda") => (Device::cuda(0, None)?, TRANSFORM_WORDS),
        #[cfg(feature = "software")]
        Some("software") => (Device::software(1 << 34), SOFTWARE_WORDS),
        _ => return Err("expected a device: cuda, or software where it is built in".into()),
    };
    let (log_n, repetitions) = (number(1, 16)? as u32, number(2, 50)?);
    println!("{}, {:.1} GB of memory", device.name(), device.memory().budget as f64 / 1e9);
    measure_copies(&device, words, repetitions)?;
    for log_n in 14..=17 {
        measure_transforms(&device, log_n, words, repetitions)?;
    }
    measure_operations(&device, log_n, repetitions)?;
    measure_bootstrapping(&device, log_n, repetitions)
}

/// The median of what `work` takes on the device, after one run that is not counted.
fn median(
    device: &Device,
    repetitions: usize,
    mut work: impl FnMut() -> device::Result<()>,
) -> Result<f64> {
    device.seconds(&mut work)?;
    let seconds = (0..repetitions).map(|_| device.seconds(&mut work));
    let mut seconds = seconds.collect::<device::Result<Vec<f64>>>()?;
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[repetitions / 2])
}

/// The ceiling: a copy within the device, counting what is read and what is written.
fn measure_copies(device: &Device, words: usize, repetitions: usize) -> Result<()> {
    let buffer = Buffer::copied(device, &vec![0x5eed_5eed; words], "measure copies")?;
    let seconds = median(device, repetitions, || buffer.duplicate("measure copies").map(|_| ()))?;
    println!("copy: {:.0} GB/s", 8.0 * words as f64 / seconds / 1e9);
    Ok(())
}

/// Transforms of many limbs at once, whose floor is two reads and two writes of each word.
fn measure_transforms(device: &Device, log_n: u32, words: usize, repetitions: usize) -> Result<()> {
    let literal = ParametersLiteral {
        log_n: Some(log_n),
        levels: 10,
        scale_bits: SCALE_BITS,
        insecure: true,
        ..ParametersLiteral::default()
    };
    let table = ckks::Parameters::new(literal)?.ring_table();
    let ring = Residues::new(device, log_n, &table.primes)?;
    let (n, limbs) = (ring.n(), (words >> log_n).max(1));
    let prime = |limb: usize| limb % table.primes.len();
    let row = |limb: usize| Row {
        prime: prime(limb) as u32,
        to: limb as u32,
        first: limb as u32,
        second: 0,
    };
    let rows = Rows::new(device, &(0..limbs).map(row).collect::<Vec<Row>>())?;
    let residue = |at: usize| {
        let mixed = (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (mixed % u64::from(table.primes[prime(at / n)].q)) as u32
    };
    let before: Vec<u32> = (0..limbs * n).map(residue).collect();
    let mut data = Buffer::copied(device, &before, "measure transforms")?;
    let floor = 16.0 * (limbs * n) as f64;
    let there = median(device, repetitions, || forward(&ring, &mut data, None, &rows))?;
    let back = median(device, repetitions, || inverse(&ring, &mut data, None, &rows))?;
    // As many transforms back as there: each pair leaves the coefficients times N.
    let expected = |at: usize| {
        let q = u64::from(table.primes[prime(at / n)].q);
        let factor = (0..=repetitions).fold(1, |product, _| product * (n as u64 % q) % q);
        u64::from(before[at]) * factor % q
    };
    let found = data.read()?;
    let right = (0..limbs * n).step_by(9973).all(|at| u64::from(found[at]) == expected(at));
    println!(
        "transforms of 2^{log_n}, {limbs} limbs: forward {:.0} GB/s, inverse {:.0} GB/s, {}",
        floor / there / 1e9,
        floor / back / 1e9,
        if right { "right" } else { "WRONG" },
    );
    Ok(())
}

/// The diagonals of the linear transform.
fn indices(parameters: &ckks::Parameters) -> Vec<i64> {
    (0..DIAGONALS.min(parameters.slots()) as i64).collect()
}

/// Operations at the top level of the largest secure chain.
struct Setting {
    secret: SecretKey,
    host: ckks::Evaluator,
    evaluator: Evaluator,
    repetitions: usize,
}

impl Setting {
    fn new(device: &Device, log_n: u32, repetitions: usize) -> Result<Self> {
        let request = ChainRequest {
            log_n,
            levels: 0,
            scale_bits: SCALE_BITS,
            headroom_bits: HEADROOM_BITS,
            digits: Some(DIGITS),
            max_log_qp: max_log_qp(log_n),
            avoided: None,
            word_bits: 30,
        };
        // Rings too small to be secure are there to try the program on.
        let levels =
            if request.max_log_qp.is_some() { Chain::max_levels(&request).ok() } else { None };
        let literal = ParametersLiteral {
            log_n: Some(log_n),
            levels: levels.filter(|&levels| levels > 0).unwrap_or(4),
            scale_bits: SCALE_BITS,
            headroom_bits: HEADROOM_BITS,
            digits: Some(DIGITS),
            insecure: true,
            ..ParametersLiteral::default()
        };
        let parameters = ckks::Parameters::new(literal)?;
        println!("{parameters}");
        let (secret, top) = (SecretKey::generate(&parameters)?, parameters.max_level());
        let split = Split::choose(&indices(&parameters), parameters.slots(), None);
        let keys = secret.evaluation_keys(&EvaluationKeysRequest {
            relinearisation_level: Some(top),
            rotations: (1..=HOISTED).chain(split.rotations()).map(|k| (k, top)).collect(),
            ..EvaluationKeysRequest::default()
        })?;
        let host = ckks::Evaluator::new(keys.clone());
        let evaluator = Evaluator::new(&Parameters::new(device, &parameters)?, keys)?;
        Ok(Self { secret, host, evaluator, repetitions })
    }

    fn plaintext(&self, phase: f64) -> Result<ckks::Plaintext> {
        let parameters = self.evaluator.parameters().host();
        let value = |i: usize| Complex64::from_polar(0.9, phase + i as f64);
        let values: Vec<Complex64> = (0..parameters.slots()).map(value).collect();
        Ok(parameters.encode(&values, Encoding::at(parameters.max_level()).within(1.0))?)
    }

    fn transform(&self) -> Result<LinearTransform> {
        let parameters = self.evaluator.parameters().host();
        let slots = parameters.slots();
        let diagonal = |index: i64| {
            let value = |i: usize| Complex64::from_polar(1.0 / 1024.0, (index + i as i64) as f64);
            (index, (0..slots).map(value).collect())
        };
        let diagonals: Diagonals = indices(parameters).into_iter().map(diagonal).collect();
        let encoding = Encoding::at(parameters.max_level()).within(1.0);
        Ok(LinearTransform::new(parameters, &diagonals, slots, encoding, BabySteps::default())?)
    }

    fn compare(
        &self,
        name: &str,
        on_device: impl Fn() -> device::Result<Vec<Ciphertext>>,
        on_host: impl Fn() -> rlwe::Result<Vec<ckks::Ciphertext>>,
    ) -> Result<()> {
        compare(&self.evaluator, self.repetitions, name, on_device, on_host)
    }
}

/// Times an operation on the device and once on the CPU, and compares what they give.
fn compare(
    evaluator: &Evaluator,
    repetitions: usize,
    name: &str,
    on_device: impl Fn() -> device::Result<Vec<Ciphertext>>,
    on_host: impl Fn() -> rlwe::Result<Vec<ckks::Ciphertext>>,
) -> Result<()> {
    let device = evaluator.parameters().device();
    let seconds = median(device, repetitions, || on_device().map(|_| ()))?;
    let start = Instant::now();
    let expected = on_host()?;
    let cpu = start.elapsed().as_secs_f64();
    let found = on_device()?;
    let mut right = found.len() == expected.len();
    for (found, expected) in found.iter().zip(&expected) {
        right &= found.fetch()?.words() == expected.words();
    }
    let verdict = if right { "equal" } else { "DIFFERENT" };
    println!("{name}: {:.4} ms, CPU {:.1} ms, {verdict}", 1e3 * seconds, 1e3 * cpu);
    Ok(())
}

fn measure_operations(device: &Device, log_n: u32, repetitions: usize) -> Result<()> {
    let setting = Setting::new(device, log_n, repetitions)?;
    let (on_device, host) = (&setting.evaluator, &setting.host);
    let a = setting.secret.encrypt(&setting.plaintext(0.0)?)?;
    let b = setting.secret.encrypt(&setting.plaintext(1.0)?)?;
    let plaintext = setting.plaintext(2.0)?;
    let parameters = on_device.parameters();
    let (x, y) = (parameters.send(&a)?, parameters.send(&b)?);
    let z = parameters.send_plaintext(&plaintext)?;
    let one = |ciphertext| vec![ciphertext];
    setting.compare(
        "add",
        || on_device.add(&x, &y).map(one),
        || host.add(&a, &b).map(|c| vec![c]),
    )?;
    setting.compare(
        "multiply by a plaintext",
        || on_device.multiply_plain(&x, &z).map(one),
        || host.multiply_plain(&a, &plaintext).map(|c| vec![c]),
    )?;
    setting.compare(
        "rescale",
        || on_device.rescale(&x).map(one),
        || host.rescale(&a).map(|c| vec![c]),
    )?;
    setting.compare(
        "multiply, relinearise and rescale",
        || on_device.relinearize_and_rescale(&on_device.multiply_lazily(&x, &y)?).map(one),
        || host.relinearize_and_rescale(&host.multiply_lazily(&a, &b)?).map(|c| vec![c]),
    )?;
    setting.compare(
        "rotate",
        || on_device.rotate(&x, 1).map(one),
        || host.rotate(&a, 1).map(|c| vec![c]),
    )?;
    let ks: Vec<i64> = (1..=HOISTED).collect();
    setting.compare(
        "32 hoisted rotations",
        || on_device.rotate_hoisted(&x, &ks),
        || host.rotate_hoisted(&a, &ks),
    )?;
    let transform = setting.transform()?;
    let sent = parameters.send_transform(&transform)?;
    setting.compare(
        &format!("linear transform, {} diagonals", transform.diagonals()),
        || on_device.linear_transform(&x, &sent).map(one),
        || host.linear_transform(&a, &transform).map(|c| vec![c]),
    )
}

/// All slots of the ring's own set refreshed, complex numbers in each.
fn measure_bootstrapping(device: &Device, log_n: u32, repetitions: usize) -> Result<()> {
    let literal = BootstrappingLiteral::of_ring(log_n).unwrap_or(BootstrappingLiteral {
        log_n,
        insecure: true,
        ..Default::default()
    });
    let set = BootstrappingParameters::new(literal)?;
    println!("{set}");
    let parameters = set.parameters();
    let circuit = Bootstrapping::new(&set, parameters.slots(), Packing::Complex)?;
    let secret = SecretKey::generate(parameters)?;
    let keys = secret.evaluation_keys(&circuit.keys())?;
    let host = ckks::Evaluator::new(keys.clone());
    let on_device = Evaluator::new(&Parameters::new(device, parameters)?, keys)?;
    let values: Vec<Complex64> =
        (0..parameters.slots()).map(|i| Complex64::from_polar(0.9, i as f64)).collect();
    let spent = Encoding::at(circuit.input_level()).within(1.0);
    let a = secret.encrypt(&parameters.encode(&values, spent)?)?;
    let x = on_device.parameters().send(&a)?;
    let sent = on_device.parameters().send_bootstrapping(&circuit)?;
    compare(
        &on_device,
        repetitions,
        &format!("bootstrap, {} slots", parameters.slots()),
        || on_device.bootstrap(&x, &sent).map(|c| vec![c]),
        || host.bootstrap(&a, &circuit).map(|c| vec![c]),
    )
}
