//! Modulus switching.

use super::ciphertext::Ciphertext;
use super::estimate::Switch;
use super::evaluator::Evaluator;
use crate::Result;
use crate::ring::division::Division;
use crate::ring::poly::Poly;

impl Evaluator {
    /// Brings a to a lower level, and to a correction factor where one is given: that of another
    /// ciphertext, so that adding the two costs no noise. The message is unchanged; see
    /// [`super::Estimate::switch_to`] for noise and factor.
    ///
    /// # Errors
    /// [`LevelExhausted`](crate::Error::LevelExhausted) when `level` is above that of `a`,
    /// [`InvalidArgument`](crate::Error::InvalidArgument) for a factor that is not in `1..t`,
    /// [`NoiseExhausted`](crate::Error::NoiseExhausted),
    /// [`KeyMismatch`](crate::Error::KeyMismatch),
    /// [`ParametersMismatch`](crate::Error::ParametersMismatch).
    pub fn switch_to(
        &self,
        a: &Ciphertext,
        level: usize,
        factor: Option<u32>,
    ) -> Result<Ciphertext> {
        self.check(a, "switch the modulus")?;
        Ok(self.switched(a, a.estimate.switching(level, factor)?))
    }

    pub(crate) fn switched(&self, a: &Ciphertext, switch: Switch) -> Ciphertext {
        let level = switch.estimate.level;
        if !switch.divides && level == a.level() && switch.multiplier == 1 {
            return a.clone();
        }
        let lattice = self.parameters();
        let (ring, to) = (lattice.ring(), lattice.level_basis(level));
        if !switch.divides {
            let restricted = a.polys.iter().map(|poly| {
                let mut poly = poly.restrict(to);
                self.multiply_by_integer(&mut poly, switch.multiplier);
                poly
            });
            // A seed expands to each prime by itself, so that it outlives those that are dropped.
            let seed = if switch.multiplier == 1 { a.seed } else { None };
            let polys: Vec<Poly> = restricted.collect();
            return Ciphertext { seed, ..a.with(switch.estimate, polys) };
        }
        let several;
        let division = if level + 1 == a.level() {
            lattice.rescale(a.level())
        } else {
            several = Division::new(ring, lattice.level_basis(a.level()), to);
            &several
        };
        let divided = a.polys.iter().map(|poly| {
            let mut poly = poly.clone();
            self.multiply_by_integer(&mut poly, switch.multiplier);
            division.apply(ring, &poly)
        });
        let polys: Vec<Poly> = divided.collect();
        a.with(switch.estimate, polys)
    }

    /// Switches as far down as pays: to the level where most headroom is left for a product of the
    /// result with its like. After a product this brings noise near what rounding leaves; where
    /// nothing is gained a stays as it is.
    ///
    /// # Errors
    /// As [`Self::switch_to`].
    pub fn switch_down(&self, a: &Ciphertext) -> Result<Ciphertext> {
        self.check(a, "switch the modulus")?;
        self.switch_to(a, a.estimate.switch_down()?.level, None)
    }

    /// Brings the higher of two ciphertexts to the level and correction factor of the lower, so
    /// that they can be added and multiplied.
    ///
    /// # Errors
    /// As [`Self::switch_to`].
    pub fn match_levels(&self, a: &Ciphertext, b: &Ciphertext) -> Result<(Ciphertext, Ciphertext)> {
        let below =
            |a: &Ciphertext, b: &Ciphertext| self.switch_to(a, b.level(), Some(b.estimate.factor));
        match a.level().cmp(&b.level()) {
            std::cmp::Ordering::Less => Ok((a.clone(), below(b, a)?)),
            std::cmp::Ordering::Equal => Ok((a.clone(), b.clone())),
            std::cmp::Ordering::Greater => Ok((below(a, b)?, b.clone())),
        }
    }
}
