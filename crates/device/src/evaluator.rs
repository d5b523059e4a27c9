//! Arithmetic on ciphertexts of a device.

use std::sync::Arc;

use rlwe::ckks::Estimate;
use rlwe::keys::EvaluationKeys;
use rlwe::tables::{conjugation_element, rotation_element};

use crate::ciphertext::{Ciphertext, Plaintext};
use crate::decomposition::{Decomposition, decomposition_limbs, switching_limbs};
use crate::division::Division;
use crate::keys::{Keys, Purpose, SwitchingKey};
use crate::launch::{Buffer, Operation, Residues, pointwise, tensor};
use crate::level::Level;
use crate::parameters::Parameters;
use crate::{Error, Result};

/// Runs operations with evaluation keys on a device. It holds no secret and cannot decrypt.
///
/// Each operation is that of [`rlwe::ckks::Evaluator`] of the same name, and has the same residues.
/// It asks for the memory it works in, and its key's, before it runs: where that is more than the
/// device's budget has left, keys that were used longest ago make room, and then it is refused.
///
/// ```
/// use device::{Device, Evaluator, Parameters};
/// use rlwe::ckks::{self, Encoding, ParametersLiteral};
/// use rlwe::keys::{EvaluationKeysRequest, SecretKey};
///
/// let parameters = ckks::Parameters::new(ParametersLiteral { levels: 1, ..Default::default() })?;
/// let secret = SecretKey::generate(&parameters)?;
/// let request = EvaluationKeysRequest { relinearisation_level: Some(1), ..Default::default() };
/// let keys = secret.evaluation_keys(&request)?;
/// # #[cfg(feature = "software")] {
/// let on_device = Parameters::new(&Device::software(1 << 30), &parameters)?;
/// let evaluator = Evaluator::new(&on_device, keys)?;
/// let x = secret.encrypt(&parameters.encode_real(&[3.0, 0.5], Encoding::at(1).within(3.0))?)?;
/// let x = on_device.send(&x)?;
/// let square = evaluator.rescale(&evaluator.multiply(&x, &x)?)?.fetch()?;
/// let values = secret.decrypt(&square, square.estimate())?.decode_real()?;
/// assert!((values[0] - 9.0).abs() < 1e-6 && (values[1] - 0.25).abs() < 1e-6);
/// # }
/// # Ok::<(), device::Error>(())
/// ```
#[derive(Debug)]
pub struct Evaluator {
    parameters: Parameters,
    keys: Keys,
}

impl Evaluator {
    /// An evaluator with these keys, which go to the device when they are first used.
    ///
    /// # Errors
    /// [`Error::Engine`] for keys of other parameters.
    pub fn new(parameters: &Parameters, keys: EvaluationKeys) -> Result<Self> {
        if **parameters.host() != *keys.parameters() {
            let operation = "make an evaluator";
            return Err(Error::Engine(rlwe::Error::ParametersMismatch { operation }));
        }
        Ok(Self { parameters: parameters.clone(), keys: Keys::new(keys) })
    }

    /// The evaluator that has further keys of the same secret key; those on the device stay there.
    ///
    /// # Errors
    /// [`Error::Engine`] for keys of other parameters or of another secret key.
    pub fn extended(&self, keys: EvaluationKeys) -> Result<Self> {
        Ok(Self { parameters: self.parameters.clone(), keys: self.keys.extended(keys)? })
    }

    /// Refuses what needs more memory than the device can give, before it runs; keys make room.
    ///
    /// # Errors
    /// [`Error::MemoryBudget`].
    pub fn require(&self, bytes: u64, operation: &'static str) -> Result<()> {
        self.keys.require(self.parameters.device(), bytes, operation)
    }

    /// Its parameters on the device.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The ring on the device.
    pub(crate) fn ring(&self) -> &Residues {
        self.parameters.residues()
    }

    pub(crate) fn check(&self, a: &Ciphertext, operation: &'static str) -> Result<()> {
        self.parameters.check_same(a.estimate.parameters(), operation)?;
        if a.key == self.keys.host().id() {
            return Ok(());
        }
        Err(Error::Engine(rlwe::Error::KeyMismatch { operation }))
    }

    /// The level's tables, once the operation's memory is known to be there.
    pub(crate) fn prepared(
        &self,
        a: &Ciphertext,
        limbs: impl Fn(&Level) -> usize,
        operation: &'static str,
    ) -> Result<&Level> {
        let level = self.parameters.level(a.estimate.level())?;
        self.require(self.ring().limb_bytes(limbs(level)), operation)?;
        Ok(level)
    }

    /// Makes room for so many bytes and the largest of some keys.
    pub(crate) fn reserve(
        &self,
        purposes: &[Purpose],
        a: &Ciphertext,
        working: u64,
        operation: &'static str,
    ) -> Result<()> {
        self.keys.reserve(&self.parameters, purposes, a.estimate.level(), working, operation)
    }

    /// A key for the level of a ciphertext. Besides it so many bytes stay free, if that can be.
    pub(crate) fn key(
        &self,
        purpose: Purpose,
        a: &Ciphertext,
        working: u64,
        operation: &'static str,
    ) -> Result<Arc<SwitchingKey>> {
        self.key_at(purpose, a.estimate.level(), working, operation)
    }

    /// A key for a level.
    pub(crate) fn key_at(
        &self,
        purpose: Purpose,
        level: usize,
        working: u64,
        operation: &'static str,
    ) -> Result<Arc<SwitchingKey>> {
        self.keys.get(&self.parameters, purpose, level, working, operation)
    }

    /// Its keys as the engine of the CPU has them.
    pub(crate) fn host_keys(&self) -> &EvaluationKeys {
        self.keys.host()
    }

    fn unwritten(&self, limbs: usize, operation: &'static str) -> Result<Buffer> {
        Buffer::unwritten(self.parameters.device(), self.ring().words(limbs), operation)
    }

    /// a + b.
    ///
    /// # Errors
    /// [`Error::Engine`] where the CPU refuses too, [`Error::MemoryBudget`],
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`]; so every operation.
    pub fn add(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.combined(a, b, Operation::Add, "add")
    }

    /// a - b, for b of the degree of a or below it.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn sub(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.combined(a, b, Operation::Subtract, "subtract")
    }

    fn combined(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        kind: Operation,
        operation: &'static str,
    ) -> Result<Ciphertext> {
        self.check(a, operation)?;
        self.check(b, operation)?;
        let estimate = a.estimate.add(&b.estimate)?;
        if a.polys() < b.polys() {
            if kind == Operation::Add {
                return self.combined(b, a, kind, operation);
            }
            let (expected, actual) = (a.estimate.degree(), b.estimate.degree());
            return Err(Error::Engine(rlwe::Error::DegreeMismatch { operation, expected, actual }));
        }
        let level = self.prepared(a, |level| a.polys() * level.limbs, operation)?;
        let (ring, rows) = (self.ring(), &level.pairs[b.polys() - 1]);
        if a.polys() > b.polys() {
            let mut sum = a.polys.duplicate(operation)?;
            pointwise(ring, kind, &mut sum, None, &b.polys, rows)?;
            return Ok(a.with(estimate, sum));
        }
        let mut sum = self.unwritten(a.polys() * level.limbs, operation)?;
        pointwise(ring, kind, &mut sum, Some(&a.polys), &b.polys, rows)?;
        Ok(a.with(estimate, sum))
    }

    /// a + b for a plaintext b of the same level and scale.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn add_plain(&self, a: &Ciphertext, b: &Plaintext) -> Result<Ciphertext> {
        self.combined_with_plain(a, b, Operation::Add, "add a plaintext")
    }

    /// a - b for a plaintext b of the same level and scale.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn sub_plain(&self, a: &Ciphertext, b: &Plaintext) -> Result<Ciphertext> {
        self.combined_with_plain(a, b, Operation::Subtract, "subtract a plaintext")
    }

    fn combined_with_plain(
        &self,
        a: &Ciphertext,
        b: &Plaintext,
        kind: Operation,
        operation: &'static str,
    ) -> Result<Ciphertext> {
        self.check(a, operation)?;
        let estimate = a.estimate.add_plain(&b.estimate)?;
        let level = self.prepared(a, |level| a.polys() * level.limbs, operation)?;
        let mut result = a.polys.duplicate(operation)?;
        pointwise(self.ring(), kind, &mut result, None, &b.poly, &level.with_plaintext[0])?;
        Ok(a.with(estimate, result))
    }

    /// a * b for a plaintext b of the same level, not rescaled.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn multiply_plain(&self, a: &Ciphertext, b: &Plaintext) -> Result<Ciphertext> {
        let operation = "multiply by a plaintext";
        self.check(a, operation)?;
        let estimate = a.estimate.multiply_plain(&b.estimate)?;
        let level = self.prepared(a, |level| a.polys() * level.limbs, operation)?;
        let mut product = self.unwritten(a.polys() * level.limbs, operation)?;
        let (ring, rows) = (self.ring(), &level.with_plaintext[a.polys() - 1]);
        pointwise(ring, Operation::Multiply, &mut product, Some(&a.polys), &b.poly, rows)?;
        Ok(a.with(estimate, product))
    }

    /// a * b, relinearised, not rescaled.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn multiply(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.relinearize(&self.multiply_lazily(a, b)?)
    }

    /// a * b of degree 2, neither relinearised nor rescaled.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn multiply_lazily(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        let operation = "multiply";
        self.check(a, operation)?;
        self.check(b, operation)?;
        let estimate = a.estimate.multiply_lazily(&b.estimate)?;
        let level = self.prepared(a, |level| 3 * level.limbs, operation)?;
        let mut product = self.unwritten(3 * level.limbs, operation)?;
        let ring = self.ring();
        tensor(ring, &mut product, &a.polys, &b.polys, &level.positions)?;
        Ok(a.with(estimate, product))
    }

    /// Brings a ciphertext of degree 2 back to degree 1; one of degree 1 is returned as it is.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn relinearize(&self, a: &Ciphertext) -> Result<Ciphertext> {
        let operation = "relinearise";
        self.check(a, operation)?;
        if a.estimate.degree() == 1 {
            return Ok(a.clone());
        }
        let level = self.parameters.level(a.estimate.level())?;
        let estimate = a.estimate.relinearize();
        self.relinearized(a, level, &level.division_by_special, estimate, operation)
    }

    /// Relinearises a ciphertext of degree 2 and rescales it, in one division; one of degree 1 is
    /// rescaled.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn relinearize_and_rescale(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.finished(a, a.estimate.relinearize_and_rescale()?)
    }

    /// [`Self::relinearize_and_rescale`] to `scale`, which is what the scale of a comes to.
    pub(crate) fn relinearize_and_rescale_to(
        &self,
        a: &Ciphertext,
        scale: f64,
    ) -> Result<Ciphertext> {
        self.finished(a, a.estimate.relinearize_and_rescale_to(scale)?)
    }

    fn finished(&self, a: &Ciphertext, estimate: Estimate) -> Result<Ciphertext> {
        let operation = "rescale";
        if a.estimate.degree() == 1 {
            return self.divided(a, estimate, operation);
        }
        self.check(a, operation)?;
        let level = self.parameters.level(a.estimate.level())?;
        let division = level.rescale_from_extended.as_ref();
        let division = division.expect("a level that can be rescaled, as the estimate was");
        self.relinearized(a, level, division, estimate, operation)
    }

    fn relinearized(
        &self,
        a: &Ciphertext,
        level: &Level,
        division: &Division,
        estimate: Estimate,
        operation: &'static str,
    ) -> Result<Ciphertext> {
        let limbs = switching_limbs(level, division);
        let (purpose, working) = (Purpose::Relinearisation, self.ring().limb_bytes(limbs));
        self.reserve(&[purpose], a, working, operation)?;
        let key = self.key(purpose, a, working, operation)?;
        let decomposition = Decomposition::new(&self.parameters, level, &a.polys, 2, operation)?;
        let mut sums = decomposition.relinearised(&key, operation)?;
        drop(decomposition);
        let (ring, rows) = (self.ring(), &level.pairs_in_extended);
        pointwise(ring, Operation::Add, &mut sums, None, &a.polys, rows)?;
        Ok(a.with(estimate, division.apply(ring, &sums, 2, operation)?))
    }

    /// Divides by the modulus of one level.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn rescale(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.divided(a, a.estimate.rescale()?, "rescale")
    }

    fn divided(
        &self,
        a: &Ciphertext,
        estimate: Estimate,
        operation: &'static str,
    ) -> Result<Ciphertext> {
        self.check(a, operation)?;
        let ring = self.ring();
        let level = self.parameters.level(a.estimate.level())?;
        let division = level.rescale.as_ref();
        let division = division.expect("a level that can be rescaled, as the estimate was");
        let bytes = ring.limb_bytes(division.limbs(a.polys()));
        self.require(bytes, operation)?;
        Ok(a.with(estimate, division.apply(ring, &a.polys, a.polys(), operation)?))
    }

    /// Rotates to the left: slot i of the result is slot i + k of a, cyclically.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn rotate(&self, a: &Ciphertext, k: i64) -> Result<Ciphertext> {
        let mut rotated = self.rotate_hoisted(a, &[k])?;
        Ok(rotated.remove(0))
    }

    /// Rotations of one ciphertext, which share the decomposition of key switching (hoisting).
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn rotate_hoisted(&self, a: &Ciphertext, ks: &[i64]) -> Result<Vec<Ciphertext>> {
        let operation = "rotate";
        self.check(a, operation)?;
        let slots = a.estimate.slots() as i64;
        let log_n = self.ring().log_n();
        let moves = ks.iter().map(|k| {
            let k = k.rem_euclid(slots);
            (k != 0).then(|| (Purpose::Rotation(k), rotation_element(log_n, k)))
        });
        let estimates = ks.iter().map(|&k| a.estimate.rotate(k)).collect::<rlwe::Result<_>>()?;
        self.moved(a, moves.collect(), estimates, operation)
    }

    /// The complex conjugate of every slot.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn conjugate(&self, a: &Ciphertext) -> Result<Ciphertext> {
        let operation = "conjugate";
        self.check(a, operation)?;
        let element = conjugation_element(self.ring().log_n());
        let moves = vec![Some((Purpose::Conjugation, element))];
        let mut moved = self.moved(a, moves, vec![a.estimate.conjugate()?], operation)?;
        Ok(moved.remove(0))
    }

    /// The images of a under automorphisms; a itself where there is none.
    pub(crate) fn moved(
        &self,
        a: &Ciphertext,
        moves: Vec<Option<(Purpose, usize)>>,
        estimates: Vec<Estimate>,
        operation: &'static str,
    ) -> Result<Vec<Ciphertext>> {
        if moves.iter().all(Option::is_none) {
            return Ok(moves.iter().map(|_| a.clone()).collect());
        }
        let level = self.parameters.level(a.estimate.level())?;
        let division = &level.division_by_special;
        let step = switching_limbs(level, division) - decomposition_limbs(level);
        let purposes: Vec<Purpose> = moves.iter().flatten().map(|&(purpose, _)| purpose).collect();
        let results = (purposes.len() - 1) * 2 * level.limbs;
        let working = self.ring().limb_bytes(decomposition_limbs(level) + step + results);
        self.reserve(&purposes, a, working, operation)?;
        let decomposition = Decomposition::new(&self.parameters, level, &a.polys, 1, operation)?;
        let mut results = purposes.len();
        let image = |(moving, estimate): (Option<(Purpose, usize)>, Estimate)| {
            let Some((purpose, element)) = moving else { return Ok(a.clone()) };
            results -= 1;
            let limbs = step + results * 2 * level.limbs;
            let working = self.ring().limb_bytes(limbs);
            let key = self.key(purpose, a, working, operation)?;
            let sums = decomposition.rotated(&key, element, operation)?;
            let polys = division.apply(self.ring(), &sums, 2, operation)?;
            Ok(a.with(estimate, polys))
        };
        moves.into_iter().zip(estimates).map(image).collect()
    }
}
