//! Keys that take a polynomial from one secret to another, and what their seeds expand to.

use std::ops::Deref;

use rayon::prelude::*;

use crate::Result;
use crate::core::parameters::{Digit, Parameters};
use crate::ring::buffers;
use crate::ring::bundle::{Bundle, TILE};
use crate::ring::poly::{Basis, Poly, Ring};
use crate::sampling::{self, Seed};

/// Takes a polynomial from one secret to another: for every digit an encryption of
/// the first secret times P under the second.
#[derive(Clone, PartialEq)]
pub struct SwitchingKey {
    pub(crate) level: usize,
    pub(crate) seed: Seed,
    /// The numbers of the digits of the chain that have primes at the level.
    pub(crate) digits: Vec<usize>,
    pub(crate) halves: Halves,
}

/// The halves of a key for each of its digits, held divided, in Montgomery form. The second ones
/// are uniform, and what the seed expands to.
#[derive(Clone, PartialEq)]
pub(crate) enum Halves {
    /// First and second half of each digit.
    Both(Bundle),
    /// The first halves; the second ones are expanded whenever the key is used.
    First(Bundle),
}

/// Both halves of a key for each of its digits, tile by tile, modulo one prime.
pub(crate) enum KeyLimb<'a> {
    Held(&'a [u32]),
    Expanded(Vec<u32>),
}

impl Deref for KeyLimb<'_> {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        match self {
            Self::Held(limb) => limb,
            Self::Expanded(limb) => limb,
        }
    }
}

impl Drop for KeyLimb<'_> {
    fn drop(&mut self) {
        if let Self::Expanded(limb) = self {
            buffers::give(std::mem::take(limb));
        }
    }
}

impl Parameters {
    /// Bytes in memory of one evaluation key for a level and those below.
    ///
    /// # Errors
    /// [`Error::LevelMismatch`] for a level that the chain does not have.
    pub fn evaluation_key_bytes(&self, level: usize) -> Result<usize> {
        self.check_level(level, "size an evaluation key")?;
        Ok(self.key_bytes(level))
    }

    /// [`Self::evaluation_key_bytes`] of a level that the chain has.
    pub(crate) fn key_bytes(&self, level: usize) -> usize {
        let basis = self.key_basis(level);
        let polys = 2 * key_digits(self, &basis).count();
        polys * basis.len() * self.n() * size_of::<u32>()
    }
}

/// Every prime of the parameters.
pub(crate) fn every_prime(parameters: &Parameters) -> Basis {
    parameters.key_basis(parameters.max_level())
}

/// The digits that have primes in `basis`: number and own primes.
pub(crate) fn key_digits(
    parameters: &Parameters,
    basis: &Basis,
) -> impl Iterator<Item = (usize, Basis)> {
    parameters.chain().digits.iter().enumerate().filter_map(|(index, members)| {
        let own = Basis::new(members.iter().copied().filter(|&p| basis.contains(p)));
        (own.len() > 0).then_some((index, own))
    })
}

/// The uniform half number `index` of a key, expanded from its seed.
pub(crate) fn expand_half(
    parameters: &Parameters,
    seed: &Seed,
    index: usize,
    basis: &Basis,
) -> Result<Poly> {
    let ring = parameters.ring();
    let mut half = ring.unwritten(basis);
    let primes = ring.primes.len();
    half.par_limbs_mut().shared().try_for_each(|(position, limb)| {
        let stream = (index * primes + position) as u64;
        sampling::uniform_residues(seed, stream, ring.modulus(position).q, limb)
    })?;
    Ok(half)
}

/// The uniform halves of `digits` modulo the prime at `position`, one after the other.
fn expand_limbs(ring: &Ring, seed: &Seed, digits: &[usize], position: usize, limbs: &mut [u32]) {
    let (primes, q) = (ring.primes.len(), ring.modulus(position).q);
    for (index, limb) in digits.iter().zip(limbs.chunks_exact_mut(ring.n())) {
        sampling::uniform_residues(seed, (index * primes + position) as u64, q, limb)
            .expect("the modulus is a prime of the ring");
    }
}

impl SwitchingKey {
    /// The highest level that the key serves.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Where each of `digits` stands among those of the key.
    pub(crate) fn places(&self, digits: &[Digit]) -> Vec<usize> {
        let place = |digit: &Digit| self.digits.iter().position(|&index| index == digit.index);
        digits.iter().filter_map(place).collect()
    }

    /// Bytes in memory.
    pub fn nbytes(&self) -> usize {
        match &self.halves {
            Halves::Both(halves) | Halves::First(halves) => halves.nbytes(),
        }
    }

    /// The first half of a digit, by its place.
    pub(crate) fn first_half(&self, place: usize) -> Poly {
        match &self.halves {
            Halves::Both(halves) => halves.get(2 * place),
            Halves::First(halves) => halves.get(place),
        }
    }

    /// The second half of a digit, by its place.
    pub(crate) fn second_half(&self, parameters: &Parameters, place: usize) -> Result<Poly> {
        match &self.halves {
            Halves::Both(halves) => Ok(halves.get(2 * place + 1)),
            Halves::First(halves) => {
                expand_half(parameters, &self.seed, self.digits[place], halves.basis())
            }
        }
    }

    /// Both halves of every digit modulo the prime at `position`, which the key must have.
    pub(crate) fn limb(&self, ring: &Ring, position: usize) -> KeyLimb<'_> {
        let firsts = match &self.halves {
            Halves::Both(halves) => return KeyLimb::Held(halves.limb(position)),
            Halves::First(halves) => halves.limb(position),
        };
        let (count, tile) = (self.digits.len(), TILE.min(ring.n()));
        let mut limb = buffers::take(2 * firsts.len());
        let mut seconds = buffers::take(firsts.len());
        expand_limbs(ring, &self.seed, &self.digits, position, &mut seconds);
        for (place, second) in seconds.chunks_exact(ring.n()).enumerate() {
            let pairs = limb.chunks_exact_mut(2 * tile).skip(place).step_by(count);
            let firsts = firsts.chunks_exact(tile).skip(place).step_by(count);
            for ((pair, first), second) in pairs.zip(firsts).zip(second.chunks_exact(tile)) {
                pair[..tile].copy_from_slice(first);
                pair[tile..].copy_from_slice(second);
            }
        }
        buffers::give(seconds);
        KeyLimb::Expanded(limb)
    }

    /// Forgets the second halves, which are then expanded whenever the key is used.
    pub(super) fn keep_seed(&mut self, parameters: &Parameters) {
        if matches!(self.halves, Halves::Both(_)) {
            let firsts: Vec<Poly> =
                (0..self.digits.len()).map(|place| self.first_half(place)).collect();
            let basis = parameters.key_basis(self.level);
            let firsts = Halves::First(Bundle::new(parameters.n(), &basis, &firsts));
            if let Halves::Both(before) = std::mem::replace(&mut self.halves, firsts) {
                before.release();
            }
        }
    }

    /// Expands the second halves, so that using the key takes no expansion.
    pub(super) fn expand(&mut self, parameters: &Parameters) {
        if let Halves::First(held) = &mut self.halves {
            held.follow_each(|position, limbs| {
                expand_limbs(parameters.ring(), &self.seed, &self.digits, position, limbs);
            });
            let nothing = Bundle::unwritten(parameters.n(), held.basis(), 0);
            self.halves = Halves::Both(std::mem::replace(held, nothing));
        }
    }
}
