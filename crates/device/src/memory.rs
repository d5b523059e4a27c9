//! What operations work in, before anything runs.

use std::cell::Cell;
use std::rc::Rc;

use rlwe::ckks::{
    self, Arithmetic, BootstrappingArithmetic, Estimate, OnEstimates, Polynomial,
    evaluate_polynomial,
};

use crate::decomposition::switching_limbs;
use crate::division::MOST_POLYS;
use crate::linear_transform::{limbs_besides_babies, limbs_of_products};
use crate::parameters::Parameters;
use crate::raising::raising_limbs;
use crate::{Error, Result};

/// Polynomials that a combination makes of each of its own at most: the sum, the remainder of its
/// division, and the quotient.
const COMBINATION: usize = 3;

impl Parameters {
    /// The most bytes that an operation on ciphertexts of a level works in, its result among them:
    /// each but linear transforms and polynomials, and without keys. Rotations made together have
    /// further results.
    ///
    /// # Errors
    /// [`Error::Engine`] for a level that the chain does not have, and what sending its tables fails
    /// with.
    pub fn working_bytes(&self, level: usize) -> Result<u64> {
        let level = self.level(level)?;
        let divisions = [Some(&level.division_by_special), level.rescale_from_extended.as_ref()];
        let switching = divisions.into_iter().flatten().map(|each| switching_limbs(level, each));
        let combination = COMBINATION * MOST_POLYS * level.limbs;
        let limbs = switching.fold(combination, usize::max);
        Ok(self.residues().limb_bytes(limbs))
    }

    /// Bytes that a linear transform of so many baby steps works in at a level, when at most so many
    /// of its diagonals are sent at once. Each diagonal has `limbs` limbs.
    ///
    /// # Errors
    /// As [`Self::working_bytes`].
    pub fn transform_working_bytes(
        &self,
        level: usize,
        baby_steps: usize,
        streamed_diagonals: usize,
        limbs: usize,
    ) -> Result<u64> {
        let level = self.level(level)?;
        let besides = limbs_besides_babies(level, streamed_diagonals * limbs);
        Ok(self.residues().limb_bytes(2 * baby_steps * limbs + besides))
    }

    /// Bytes that a polynomial of a ciphertext works in: its powers, and what is made of them.
    ///
    /// # Errors
    /// [`Error::Engine`] where the CPU refuses too, and as [`Self::working_bytes`].
    pub fn polynomial_bytes(&self, a: &Estimate, polynomial: &Polynomial) -> Result<u64> {
        self.counted(a, |counting, value| {
            evaluate_polynomial(counting, value, polynomial)?;
            Ok(())
        })
    }

    /// Bytes that a bootstrapping works in, diagonals that are sent when they are used among them.
    ///
    /// # Errors
    /// As [`Self::polynomial_bytes`].
    pub fn bootstrapping_bytes(&self, a: &Estimate, circuit: &ckks::Bootstrapping) -> Result<u64> {
        self.counted(a, |counting, value| {
            ckks::bootstrap(counting, value, circuit)?;
            Ok(())
        })
    }

    /// Bytes that a bootstrapping of two at once works in; see [`Self::bootstrapping_bytes`].
    ///
    /// # Errors
    /// As [`Self::polynomial_bytes`].
    pub fn bootstrapping_pair_bytes(
        &self,
        a: &Estimate,
        circuit: &ckks::Bootstrapping,
    ) -> Result<u64> {
        self.counted(a, |counting, value| {
            let other = counting.held(a.clone(), 0)?;
            ckks::bootstrap_pair(counting, value, &other, circuit)?;
            Ok(())
        })
    }

    /// The most bytes that something with a value takes at once.
    fn counted(
        &self,
        a: &Estimate,
        run: impl FnOnce(&Counting<'_>, &Counted) -> Result<()>,
    ) -> Result<u64> {
        let counting = Counting { parameters: self, live: Rc::default(), most: Rc::default() };
        let value = counting.held(a.clone(), 0)?;
        run(&counting, &value)?;
        Ok(counting.most.get())
    }
}

/// The arithmetic of polynomials and bootstrapping on values of which nothing is there but their
/// sizes.
struct Counting<'a> {
    parameters: &'a Parameters,
    live: Rc<Cell<u64>>,
    most: Rc<Cell<u64>>,
}

/// A value that takes memory until its last copy is dropped.
#[derive(Clone)]
struct Counted {
    estimate: Estimate,
    _held: Rc<Held>,
}

struct Held {
    bytes: u64,
    live: Rc<Cell<u64>>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.live.set(self.live.get() - self.bytes);
    }
}

impl Counting<'_> {
    /// A value that an operation makes which works in so many bytes.
    fn held(&self, estimate: Estimate, working: u64) -> Result<Counted> {
        let limbs = (estimate.degree() + 1) * self.parameters.level(estimate.level())?.limbs;
        let bytes = self.parameters.residues().limb_bytes(limbs);
        self.live.set(self.live.get() + bytes);
        self.most.set(self.most.get().max(self.live.get() + working));
        Ok(Counted { estimate, _held: Rc::new(Held { bytes, live: Rc::clone(&self.live) }) })
    }

    /// What an operation on values of this estimate makes.
    fn made(&self, from: &Estimate, made: rlwe::Result<Estimate>) -> Result<Counted> {
        self.held(made?, self.parameters.working_bytes(from.level())?)
    }
}

impl Arithmetic for Counting<'_> {
    type Value = Counted;
    type Error = Error;

    fn estimate<'a>(&self, a: &'a Counted) -> &'a Estimate {
        &a.estimate
    }

    fn multiply_lazily(&self, a: &Counted, b: &Counted) -> Result<Counted> {
        self.made(&a.estimate, OnEstimates.multiply_lazily(&a.estimate, &b.estimate))
    }

    fn double(&self, a: &mut Counted) -> Result<()> {
        *a = self.made(&a.estimate, Ok(a.estimate.doubled()))?;
        Ok(())
    }

    fn add_real(&self, a: &mut Counted, value: f64) -> Result<()> {
        let mut sum = a.estimate.clone();
        let made = OnEstimates.add_real(&mut sum, value);
        *a = self.made(&a.estimate, made.map(|()| sum))?;
        Ok(())
    }

    fn add_assign(&self, a: &mut Counted, b: &Counted) -> Result<()> {
        let mut sum = a.estimate.clone();
        let made = OnEstimates.add_assign(&mut sum, &b.estimate);
        *a = self.made(&a.estimate, made.map(|()| sum))?;
        Ok(())
    }

    fn relinearize_and_rescale_to(&self, a: &Counted, scale: f64) -> Result<Counted> {
        self.made(&a.estimate, OnEstimates.relinearize_and_rescale_to(&a.estimate, scale))
    }

    fn align(&self, a: &Counted, level: usize, scale: f64) -> Result<Counted> {
        self.made(&a.estimate, OnEstimates.align(&a.estimate, level, scale))
    }

    fn combine(&self, terms: &[(f64, &Counted)], level: usize, scale: f64) -> Result<Counted> {
        let estimates: Vec<_> = terms.iter().map(|&(factor, a)| (factor, &a.estimate)).collect();
        let first = &terms[0].1.estimate;
        self.made(first, OnEstimates.combine(&estimates, level, scale))
    }

    fn bound(&self, a: &mut Counted, bound: f64) {
        OnEstimates.bound(&mut a.estimate, bound);
    }
}

impl BootstrappingArithmetic for Counting<'_> {
    type Circuit = ckks::Bootstrapping;

    fn bootstrapping<'a>(&self, circuit: &'a ckks::Bootstrapping) -> &'a ckks::Bootstrapping {
        circuit
    }

    fn known_as(&self, a: Counted, estimate: Estimate) -> Counted {
        Counted { estimate, ..a }
    }

    fn transform_and_rescale(
        &self,
        _: &Counted,
        circuit: &ckks::Bootstrapping,
        index: usize,
        estimate: Estimate,
    ) -> Result<Counted> {
        let transform = circuit.transforms().nth(index).expect("a transform of the circuit");
        let level = self.parameters.level(transform.level())?;
        let babies = transform.split().baby_steps.len();
        let streamed = babies.min(transform.diagonals());
        let limbs = limbs_of_products(level, transform);
        let working =
            self.parameters.transform_working_bytes(transform.level(), babies, streamed, limbs)?;
        self.held(estimate, working)
    }

    fn raise(&self, _: &Counted, _: &ckks::Bootstrapping, estimate: Estimate) -> Result<Counted> {
        let limbs = raising_limbs(self.parameters, estimate.level())?;
        self.held(estimate, self.parameters.residues().limb_bytes(limbs))
    }

    fn add_rotated(&self, a: &Counted, _: i64, estimate: Estimate) -> Result<Counted> {
        let rotated = self.made(&a.estimate, Ok(estimate.clone()))?;
        self.made(&rotated.estimate, Ok(estimate))
    }

    fn conjugate(&self, a: &Counted) -> Result<Counted> {
        self.made(&a.estimate, Ok(a.estimate.clone()))
    }

    fn multiply_imaginary(&self, a: &mut Counted) -> Result<()> {
        *a = self.made(&a.estimate, Ok(a.estimate.clone()))?;
        Ok(())
    }

    fn add_part(&self, a: &mut Counted, _: &Counted) -> Result<()> {
        *a = self.made(&a.estimate, Ok(a.estimate.clone()))?;
        Ok(())
    }

    fn subtract_part(&self, a: &mut Counted, b: &Counted) -> Result<()> {
        self.add_part(a, b)
    }
}
