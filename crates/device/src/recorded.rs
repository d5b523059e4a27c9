//! Programs recorded on a device, and run again on other ciphertexts as a whole.

use std::sync::Arc;

use rlwe::ckks::Estimate;

use crate::Result;
use crate::ciphertext::Ciphertext;
use crate::launch::{self, Buffer, Device};

const OPERATION: &str = "run a recorded program";

/// What is known of a ciphertext besides its residues.
#[derive(Debug)]
struct Known {
    estimate: Estimate,
    key: [u8; 16],
}

impl Known {
    fn of(ciphertext: &Ciphertext) -> Self {
        Self { estimate: ciphertext.estimate.clone(), key: ciphertext.key }
    }

    fn is_of(&self, ciphertext: &Ciphertext) -> bool {
        self.estimate == ciphertext.estimate && self.key == ciphertext.key
    }

    fn with(&self, polys: Buffer) -> Ciphertext {
        let Self { estimate, key } = self;
        Ciphertext { estimate: estimate.clone(), key: *key, polys: Arc::new(polys) }
    }
}

/// The recording of a program that this thread runs on copies of some ciphertexts.
///
/// Many small kernels take a GPU less time than it takes to launch them. A recorded program is
/// launched as a whole.
///
/// ```
/// use device::{Device, Evaluator, Parameters, Recording};
/// use rlwe::ckks::{self, Encoding, ParametersLiteral};
/// use rlwe::keys::{EvaluationKeys, SecretKey};
///
/// let parameters = ckks::Parameters::new(ParametersLiteral { levels: 1, ..Default::default() })?;
/// let secret = SecretKey::generate(&parameters)?;
/// # #[cfg(feature = "software")] {
/// let on_device = Parameters::new(&Device::software(1 << 30), &parameters)?;
/// let evaluator = Evaluator::new(&on_device, EvaluationKeys::none(&secret))?;
/// let encrypt = |value: f64| -> device::Result<_> {
///     let plaintext = parameters.encode_real(&[value], Encoding::at(1).within(3.0))?;
///     on_device.send(&secret.encrypt(&plaintext)?)
/// };
/// let x = encrypt(1.5)?;
/// let mut recording =
///     Recording::begin(on_device.device(), &[&x], 1 << 20)?.expect("no other is made");
/// let doubled = evaluator.add(&recording.inputs()[0], &recording.inputs()[0])?;
/// recording.keep_results(&[&doubled])?;
/// drop(doubled);
/// let (_, recorded) = recording.finish()?;
/// let mut recorded = recorded.expect("additions can be recorded");
/// let doubled = recorded.run(&[&encrypt(-0.5)?])?.expect("it is current")[0].fetch()?;
/// let values = secret.decrypt(&doubled, doubled.estimate())?.decode_real()?;
/// assert!((values[0] + 1.0).abs() < 1e-6);
/// # }
/// # Ok::<(), device::Error>(())
/// ```
#[derive(Debug)]
pub struct Recording {
    inputs: Vec<Ciphertext>,
    results: Vec<Ciphertext>,
    // Dropped last: what the others have goes back to it.
    recording: launch::Recording,
}

impl Recording {
    /// Begins to record what this thread does on a device, in at most so many bytes of its memory.
    /// None while another recording is made there.
    ///
    /// # Errors
    /// [`Error::DifferentDevices`](crate::Error::DifferentDevices) for inputs of several devices,
    /// [`Error::MemoryBudget`](crate::Error::MemoryBudget),
    /// [`Error::DeviceLost`](crate::Error::DeviceLost).
    pub fn begin(device: &Device, inputs: &[&Ciphertext], limit: u64) -> Result<Option<Self>> {
        let Some(recording) = device.record(limit) else { return Ok(None) };
        let polys: Vec<&Buffer> = inputs.iter().map(|input| input.polys.as_ref()).collect();
        let copies = recording.inputs(&polys, OPERATION)?.into_iter();
        let copies = inputs.iter().zip(copies).map(|(input, polys)| Known::of(input).with(polys));
        Ok(Some(Self { inputs: copies.collect(), results: Vec::new(), recording }))
    }

    /// The copies that the program is to run on.
    pub fn inputs(&self) -> &[Ciphertext] {
        &self.inputs
    }

    /// Copies what the program made, which is to be dropped before [`Self::finish`].
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub fn keep_results(&mut self, results: &[&Ciphertext]) -> Result<()> {
        let copied =
            |result: &&Ciphertext| Ok(Known::of(result).with(result.polys.duplicate(OPERATION)?));
        self.results = results.iter().map(copied).collect::<Result<_>>()?;
        Ok(())
    }

    /// The results, and the program to be run again, unless it did what cannot be recorded: sent more
    /// to the device than index tables, fetched something, launched too much, took more memory than
    /// it may, or left ciphertexts that it made, its inputs among them, in use; or unless another
    /// thread used the device.
    ///
    /// # Errors
    /// As [`Self::begin`].
    pub fn finish(self) -> Result<(Vec<Ciphertext>, Option<Recorded>)> {
        let Self { inputs, results, recording } = self;
        let known = |all: &[Ciphertext]| all.iter().map(Known::of).collect::<Vec<_>>();
        let (of_inputs, of_results) = (known(&inputs), known(&results));
        let own = |all: Vec<Ciphertext>| {
            all.into_iter().map(|each| Arc::try_unwrap(each.polys).ok()).collect::<Option<Vec<_>>>()
        };
        let results = own(results).expect("copies that nothing else has");
        let (results, recorded) = match own(inputs) {
            Some(inputs) => recording.finish(inputs, results, OPERATION)?,
            None => (results, None),
        };
        let results = with_polys(&of_results, results);
        let recorded =
            recorded.map(|program| Recorded { program, inputs: of_inputs, results: of_results });
        Ok((results, recorded))
    }
}

fn with_polys(known: &[Known], polys: Vec<Buffer>) -> Vec<Ciphertext> {
    known.iter().zip(polys).map(|(known, polys)| known.with(polys)).collect()
}

/// A program that was recorded.
#[derive(Debug)]
pub struct Recorded {
    program: launch::Recorded,
    inputs: Vec<Known>,
    results: Vec<Known>,
}

impl Recorded {
    /// Bytes that it takes on the device.
    pub fn nbytes(&self) -> u64 {
        self.program.nbytes()
    }

    /// What the program makes of other ciphertexts, of which the same is known as of those that it was
    /// recorded on: level, scale, precision, bound and key. None where something else is, and once
    /// keys or tables that it used have left the device: it has to be recorded anew.
    ///
    /// # Errors
    /// As [`Recording::begin`].
    pub fn run(&mut self, inputs: &[&Ciphertext]) -> Result<Option<Vec<Ciphertext>>> {
        let are_alike = inputs.len() == self.inputs.len()
            && inputs.iter().zip(&self.inputs).all(|(input, known)| known.is_of(input));
        if !are_alike {
            return Ok(None);
        }
        let polys: Vec<&Buffer> = inputs.iter().map(|input| input.polys.as_ref()).collect();
        let made = self.program.run(&polys, OPERATION)?;
        Ok(made.map(|polys| with_polys(&self.results, polys)))
    }
}
