//! Linear transforms on a device: baby-step giant-step, double-hoisted, as [`rlwe`] has them.

use std::sync::Arc;

use rlwe::ckks;
use rlwe::tables::rotation_element;

use crate::Result;
use crate::ciphertext::Ciphertext;
use crate::decomposition::{Decomposition, decomposition_limbs, product_limbs};
use crate::evaluator::Evaluator;
use crate::keys::{Purpose, SwitchingKey};
use crate::launch::{Buffer, Operation, Table, place, pointwise, sum_diagonals};
use crate::level::Level;
use crate::parameters::Parameters;

const APPLY: &str = "apply a linear transform";

/// A linear transform whose diagonals are on a device, or go there giant step by giant step.
#[derive(Debug)]
pub struct LinearTransform {
    host: ckks::LinearTransform,
    /// One entry for each giant step, where they are on the device.
    giants: Vec<Giant>,
}

/// The diagonals of one giant step.
#[derive(Debug)]
struct Giant {
    /// For each diagonal the number of its baby step.
    babies: Table,
    diagonals: Buffer,
}

/// A giant step's diagonals that are there, or were sent for one use.
enum Present<'a> {
    Kept(&'a Giant),
    Sent(Giant),
}

impl Present<'_> {
    fn giant(&self) -> &Giant {
        match self {
            Self::Kept(giant) => giant,
            Self::Sent(giant) => giant,
        }
    }
}

impl Parameters {
    /// Sends the diagonals of a linear transform to the device.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) for one of other parameters,
    /// [`Error::MemoryBudget`](crate::Error::MemoryBudget),
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory),
    /// [`Error::DeviceLost`](crate::Error::DeviceLost).
    pub fn send_transform(&self, transform: &ckks::LinearTransform) -> Result<LinearTransform> {
        let operation = "send a linear transform to the device";
        let empty = self.stream_transform(transform)?;
        let level = self.level(transform.level())?;
        let limbs = transform.diagonals() * level.extended;
        self.device().require(self.residues().limb_bytes(limbs), operation)?;
        let steps = 0..transform.split().giant_steps.len();
        let giants = steps.map(|index| empty.sent(self, index, operation));
        Ok(LinearTransform { giants: giants.collect::<Result<_>>()?, ..empty })
    }

    /// A linear transform whose diagonals are sent to the device giant step by giant step, whenever
    /// it is applied: slower, for one that does not fit.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) for one of other parameters.
    pub fn stream_transform(&self, transform: &ckks::LinearTransform) -> Result<LinearTransform> {
        self.check_same(transform.parameters(), "send a linear transform to the device")?;
        Ok(LinearTransform { host: transform.clone(), giants: Vec::new() })
    }
}

impl LinearTransform {
    /// The diagonals of a giant step.
    fn giant(
        &self,
        parameters: &Parameters,
        index: usize,
        operation: &'static str,
    ) -> Result<Present<'_>> {
        match self.giants.get(index) {
            Some(giant) => Ok(Present::Kept(giant)),
            None => Ok(Present::Sent(self.sent(parameters, index, operation)?)),
        }
    }

    fn sent(
        &self,
        parameters: &Parameters,
        index: usize,
        operation: &'static str,
    ) -> Result<Giant> {
        let ckks::DiagonalWords { babies, words } = self.host.giant_words(index)?;
        let babies: Vec<u32> = babies.into_iter().map(|baby| baby as u32).collect();
        let device = parameters.device();
        Ok(Giant {
            babies: Table::new(device, &babies)?,
            diagonals: Buffer::copied(device, &words, operation)?,
        })
    }

    /// Diagonals that are sent at once at most, whenever the transform is applied.
    fn streamed_diagonals(&self) -> usize {
        let kept = !self.giants.is_empty();
        if kept { 0 } else { self.host.diagonals().min(self.host.split().baby_steps.len()) }
    }
}

impl Evaluator {
    /// Applies a linear transform; not rescaled. Every baby rotation is on the device at once.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn linear_transform(
        &self,
        a: &Ciphertext,
        transform: &LinearTransform,
    ) -> Result<Ciphertext> {
        self.check(a, APPLY)?;
        let estimate = a.estimate.linear_transform(&transform.host)?;
        let level = self.parameters().level(a.estimate.level())?;
        let (ring, split) = (self.ring(), transform.host.split());
        let rotations = split.rotations();
        let purposes: Vec<Purpose> = rotations.into_iter().map(Purpose::Rotation).collect();
        let babies = split.baby_steps.len() * product_limbs(level);
        let besides = ring.limb_bytes(limbs_besides_babies(level, transform));
        self.reserve(&purposes, a, ring.limb_bytes(babies) + besides, APPLY)?;

        let keys = |step| self.key(Purpose::Rotation(step), a, besides, APPLY);
        let babies = self.baby_rotations(a, level, &split.baby_steps, keys)?;
        let mut total = None;
        for (index, &step) in split.giant_steps.iter().enumerate() {
            let giant = transform.giant(self.parameters(), index, APPLY)?;
            let sums = self.sums_of_diagonals(level, giant.giant(), &babies)?;
            total = Some(self.with_giant_step(level, sums, step, keys, total)?);
        }
        let total = total.expect("a transform has diagonals");
        Ok(a.with(estimate, level.division_by_special.apply(ring, &total, 2, APPLY)?))
    }

    /// P times every baby rotation of a ciphertext, modulo Q P, one after the other.
    fn baby_rotations(
        &self,
        a: &Ciphertext,
        level: &Level,
        steps: &[i64],
        keys: impl Fn(i64) -> Result<Arc<SwitchingKey>>,
    ) -> Result<Buffer> {
        let (parameters, ring) = (self.parameters(), self.ring());
        let limbs = product_limbs(level);
        let words = ring.words(steps.len() * limbs);
        let mut rotations = Buffer::unwritten(ring.device(), words, APPLY)?;
        let decomposition = Decomposition::new(parameters, level, &a.polys, 1, APPLY)?;
        for (index, &step) in steps.iter().enumerate() {
            let start = index * limbs;
            match step {
                0 => place(ring, &mut rotations, start, &a.polys, &level.placed_in_extended)?,
                _ => {
                    let key = keys(step)?;
                    let element = rotation_element(ring.log_n(), step);
                    decomposition.write_rotated(&key, element, &mut rotations, start)?;
                }
            }
        }
        Ok(rotations)
    }

    /// A giant step's diagonals times the baby rotations, summed: two polynomials.
    fn sums_of_diagonals(
        &self,
        level: &Level,
        giant: &Giant,
        rotations: &Buffer,
    ) -> Result<[Buffer; 2]> {
        let ring = self.ring();
        let sum = || Buffer::unwritten(ring.device(), ring.words(level.extended), APPLY);
        let [mut first, mut second] = [sum()?, sum()?];
        let positions = &level.extended_positions;
        let (diagonals, babies) = (&giant.diagonals, &giant.babies);
        sum_diagonals(ring, [&mut first, &mut second], diagonals, rotations, positions, babies)?;
        Ok([first, second])
    }

    /// The giant rotation of sums added to the total of those before it, modulo Q P.
    fn with_giant_step(
        &self,
        level: &Level,
        [first, second]: [Buffer; 2],
        step: i64,
        keys: impl Fn(i64) -> Result<Arc<SwitchingKey>>,
        total: Option<Buffer>,
    ) -> Result<Buffer> {
        let (parameters, ring) = (self.parameters(), self.ring());
        let rotated = if step == 0 {
            let words = ring.words(product_limbs(level));
            let mut both = Buffer::unwritten(ring.device(), words, APPLY)?;
            place(ring, &mut both, 0, &first, &level.halves[0])?;
            place(ring, &mut both, 0, &second, &level.halves[1])?;
            both
        } else {
            let second = level.division_by_special.apply(ring, &second, 1, APPLY)?;
            let key = keys(step)?;
            let decomposition = Decomposition::new(parameters, level, &second, 0, APPLY)?;
            decomposition.moved_with(&key, &first, rotation_element(ring.log_n(), step), APPLY)?
        };
        let Some(mut total) = total else { return Ok(rotated) };
        pointwise(ring, Operation::Add, &mut total, None, &rotated, &level.extended_pairs)?;
        Ok(total)
    }
}

/// Limbs that a transform works on beside its baby rotations, at the most at once.
fn limbs_besides_babies(level: &Level, transform: &LinearTransform) -> usize {
    let diagonals = transform.streamed_diagonals() * level.extended;
    // The sums of a giant step, their rotation, and the total of those before.
    let giant = 3 * product_limbs(level);
    let divided = level.division_by_special.limbs(2);
    diagonals + giant + divided + decomposition_limbs(level)
}
