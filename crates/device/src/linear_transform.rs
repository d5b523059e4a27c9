//! Linear transforms on a device: baby-step giant-step, as [`rlwe`] has them: double-hoisted, or of
//! many diagonals with baby rotations that are divided by P.

use std::sync::Arc;

use rlwe::ckks;
use rlwe::tables::rotation_element;

use crate::Result;
use crate::ciphertext::Ciphertext;
use crate::decomposition::{Decomposition, decomposition_limbs, product_limbs};
use crate::evaluator::Evaluator;
use crate::keys::{Purpose, SwitchingKey};
use crate::launch::{Buffer, Operation, Rows, Table, place, pointwise, sum_diagonals};
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
        let limbs = transform.diagonals() * limbs_of_products(level, transform);
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

    /// Whether its diagonals are on the device.
    pub fn is_on_device(&self) -> bool {
        !self.giants.is_empty()
    }

    /// Diagonals that are sent at once at most, whenever the transform is applied.
    fn streamed_diagonals(&self) -> usize {
        if self.is_on_device() {
            0
        } else {
            self.host.diagonals().min(self.host.split().baby_steps.len())
        }
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
        let total = self.transformed(a, transform)?;
        let division = &self.parameters().level(a.estimate.level())?.division_by_special;
        Ok(a.with(estimate, division.apply(self.ring(), &total, 2, APPLY)?))
    }

    /// P times the transform of a ciphertext at the transform's level, modulo Q P, held divided.
    pub(crate) fn transformed(
        &self,
        a: &Ciphertext,
        transform: &LinearTransform,
    ) -> Result<Buffer> {
        let level = self.parameters().level(a.estimate.level())?;
        let (ring, split) = (self.ring(), transform.host.split());
        let rotations = split.rotations();
        let purposes: Vec<Purpose> = rotations.into_iter().map(Purpose::Rotation).collect();
        let babies = 2 * split.baby_steps.len() * limbs_of_products(level, &transform.host);
        let streamed = transform.streamed_diagonals() * limbs_of_products(level, &transform.host);
        let besides = ring.limb_bytes(limbs_besides_babies(level, streamed));
        self.reserve(&purposes, a, ring.limb_bytes(babies) + besides, APPLY)?;

        let keys = |step| self.key(Purpose::Rotation(step), a, besides, APPLY);
        let divided = transform.host.divides_baby_rotations();
        let (babies, primes) = if divided {
            (self.divided_baby_rotations(a, level, &split.baby_steps, keys)?, &level.positions)
        } else {
            (self.baby_rotations(a, level, &split.baby_steps, keys)?, &level.extended_positions)
        };
        let mut total = None;
        for (index, &step) in split.giant_steps.iter().enumerate() {
            let giant = transform.giant(self.parameters(), index, APPLY)?;
            let sums = self.sums_of_diagonals(primes, giant.giant(), &babies)?;
            let rotated = if divided {
                self.divided_giant_step(level, sums, step, keys)?
            } else {
                self.giant_step(level, sums, step, keys)?
            };
            total = Some(match total {
                None => rotated,
                Some(mut total) => {
                    let (rows, add) = (&level.extended_pairs, Operation::Add);
                    pointwise(ring, add, &mut total, None, &rotated, rows)?;
                    total
                }
            });
        }
        Ok(total.expect("a transform has diagonals"))
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

    /// Every baby rotation of a ciphertext, modulo Q, one after the other.
    fn divided_baby_rotations(
        &self,
        a: &Ciphertext,
        level: &Level,
        steps: &[i64],
        keys: impl Fn(i64) -> Result<Arc<SwitchingKey>>,
    ) -> Result<Buffer> {
        let (parameters, ring) = (self.parameters(), self.ring());
        let (limbs, both) = (2 * level.limbs, &level.pairs[1]);
        let words = ring.words(steps.len() * limbs);
        let mut rotations = Buffer::unwritten(ring.device(), words, APPLY)?;
        let decomposition = Decomposition::new(parameters, level, &a.polys, 1, APPLY)?;
        for (index, &step) in steps.iter().enumerate() {
            let start = index * limbs;
            if step == 0 {
                place(ring, &mut rotations, start, &a.polys, both)?;
                continue;
            }
            let element = rotation_element(ring.log_n(), step);
            let key = keys(step)?;
            let rotated = decomposition.rotated(&key, element, APPLY)?;
            let rotated = level.division_by_special.apply(ring, &rotated, 2, APPLY)?;
            place(ring, &mut rotations, start, &rotated, both)?;
        }
        Ok(rotations)
    }

    /// A giant step's diagonals times the baby rotations, summed over these primes: two polynomials.
    fn sums_of_diagonals(
        &self,
        positions: &Table,
        giant: &Giant,
        rotations: &Buffer,
    ) -> Result<[Buffer; 2]> {
        let ring = self.ring();
        let sum = || Buffer::unwritten(ring.device(), ring.words(positions.len()), APPLY);
        let [mut first, mut second] = [sum()?, sum()?];
        let (diagonals, babies) = (&giant.diagonals, &giant.babies);
        sum_diagonals(ring, [&mut first, &mut second], diagonals, rotations, positions, babies)?;
        Ok([first, second])
    }

    /// The giant rotation of sums, modulo Q P.
    fn giant_step(
        &self,
        level: &Level,
        [first, second]: [Buffer; 2],
        step: i64,
        keys: impl Fn(i64) -> Result<Arc<SwitchingKey>>,
    ) -> Result<Buffer> {
        let (parameters, ring) = (self.parameters(), self.ring());
        if step == 0 {
            return self.beside(level, [&first, &second], &level.halves);
        }
        let second = level.division_by_special.apply(ring, &second, 1, APPLY)?;
        let decomposition = Decomposition::new(parameters, level, &second, 0, APPLY)?;
        let element = rotation_element(ring.log_n(), step);
        let key = keys(step)?;
        decomposition.moved_with(&key, &first, element, APPLY)
    }

    /// P times the giant rotation of sums over the level's primes, modulo Q P.
    fn divided_giant_step(
        &self,
        level: &Level,
        [first, second]: [Buffer; 2],
        step: i64,
        keys: impl Fn(i64) -> Result<Arc<SwitchingKey>>,
    ) -> Result<Buffer> {
        if step == 0 {
            return self.beside(level, [&first, &second], &level.placed_halves);
        }
        let decomposition = Decomposition::new(self.parameters(), level, &second, 0, APPLY)?;
        let element = rotation_element(self.ring().log_n(), step);
        let key = keys(step)?;
        decomposition.moved_with_divided(&key, &first, element, APPLY)
    }

    /// Two polynomials beside each other, over all primes.
    fn beside(&self, level: &Level, halves: [&Buffer; 2], rows: &[Rows; 2]) -> Result<Buffer> {
        let ring = self.ring();
        let mut both = Buffer::unwritten(ring.device(), ring.words(product_limbs(level)), APPLY)?;
        for (half, rows) in halves.into_iter().zip(rows) {
            place(ring, &mut both, 0, half, rows)?;
        }
        Ok(both)
    }
}

/// Limbs of a diagonal of a transform, and of each polynomial of its baby rotations.
pub(crate) fn limbs_of_products(level: &Level, transform: &ckks::LinearTransform) -> usize {
    if transform.divides_baby_rotations() { level.limbs } else { level.extended }
}

/// Limbs that a transform works on beside its baby rotations, at the most at once, when it sends so
/// many at once.
pub(crate) fn limbs_besides_babies(level: &Level, streamed_limbs: usize) -> usize {
    // The sums of a giant step, their rotation, and the total of those before.
    let giant = 3 * product_limbs(level);
    let divisions = [Some(&level.division_by_special), level.rescale_from_extended.as_ref()];
    let divided = divisions.into_iter().flatten().map(|each| each.limbs(2)).max().unwrap_or(0);
    streamed_limbs + giant + divided + decomposition_limbs(level)
}
