//! Bootstrapping on a device: the circuit of [`rlwe`], step by step the same residues.

use rlwe::ckks::{self, BootstrappingArithmetic, Estimate};
use rlwe::tables::{conjugation_element, rotation_element};

use crate::Result;
use crate::ciphertext::Ciphertext;
use crate::evaluator::Evaluator;
use crate::keys::Purpose;
use crate::launch::{Buffer, Operation, pointwise};
use crate::linear_transform::LinearTransform;
use crate::parameters::Parameters;
use crate::raising::{BOOTSTRAP, Raising};

/// The circuit that refreshes ciphertexts of a number of slots, its transforms on a device.
#[derive(Debug)]
pub struct Bootstrapping {
    host: ckks::Bootstrapping,
    transforms: Vec<LinearTransform>,
    raising: Raising,
}

impl Parameters {
    /// Sends the transforms of a bootstrapping to the device.
    ///
    /// # Errors
    /// As [`Self::send_transform`].
    pub fn send_bootstrapping(&self, host: &ckks::Bootstrapping) -> Result<Bootstrapping> {
        self.bootstrapping(host, Self::send_transform)
    }

    /// A bootstrapping whose diagonals are sent to the device giant step by giant step, whenever
    /// they are used: slower, for one that does not fit.
    ///
    /// # Errors
    /// As [`Self::stream_transform`].
    pub fn stream_bootstrapping(&self, host: &ckks::Bootstrapping) -> Result<Bootstrapping> {
        self.bootstrapping(host, Self::stream_transform)
    }

    fn bootstrapping(
        &self,
        host: &ckks::Bootstrapping,
        sent: fn(&Self, &ckks::LinearTransform) -> Result<LinearTransform>,
    ) -> Result<Bootstrapping> {
        let transforms = host.transforms().map(|transform| sent(self, transform));
        Ok(Bootstrapping {
            host: host.clone(),
            transforms: transforms.collect::<Result<_>>()?,
            raising: Raising::new(self, host.raised_level())?,
        })
    }
}

impl Evaluator {
    /// The same values at the output level of the parameters: what
    /// [`rlwe::ckks::Evaluator::bootstrap`] does.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn bootstrap(&self, a: &Ciphertext, circuit: &Bootstrapping) -> Result<Ciphertext> {
        self.check(a, BOOTSTRAP)?;
        ckks::bootstrap(self, a, circuit)
    }

    /// [`Self::bootstrap`] of two ciphertexts of real numbers at once: what
    /// [`rlwe::ckks::Evaluator::bootstrap_pair`] does.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn bootstrap_pair(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        circuit: &Bootstrapping,
    ) -> Result<[Ciphertext; 2]> {
        self.check(a, BOOTSTRAP)?;
        self.check(b, BOOTSTRAP)?;
        ckks::bootstrap_pair(self, a, b, circuit)
    }

    fn combine_parts(&self, a: &mut Ciphertext, b: &Ciphertext, kind: Operation) -> Result<()> {
        let level = self.prepared(a, |level| a.polys() * level.limbs, BOOTSTRAP)?;
        let (ring, rows) = (self.ring(), &level.pairs[a.polys() - 1]);
        let mut result = Buffer::unwritten(ring.device(), a.polys.words(), BOOTSTRAP)?;
        pointwise(ring, kind, &mut result, Some(&a.polys), &b.polys, rows)?;
        *a = a.with(a.estimate.clone(), result);
        Ok(())
    }
}

impl BootstrappingArithmetic for Evaluator {
    type Circuit = Bootstrapping;

    fn bootstrapping<'a>(&self, circuit: &'a Bootstrapping) -> &'a ckks::Bootstrapping {
        &circuit.host
    }

    fn known_as(&self, a: Ciphertext, estimate: Estimate) -> Ciphertext {
        Ciphertext { estimate, ..a }
    }

    fn transform_and_rescale(
        &self,
        a: &Ciphertext,
        circuit: &Bootstrapping,
        index: usize,
        estimate: Estimate,
    ) -> Result<Ciphertext> {
        let total = self.transformed(a, &circuit.transforms[index])?;
        let level = self.parameters().level(a.estimate.level())?;
        let division = level.rescale_from_extended.as_ref();
        let division = division.expect("a transform of a bootstrapping stands above level 0");
        Ok(a.with(estimate, division.apply(self.ring(), &total, 2, BOOTSTRAP)?))
    }

    fn raise(
        &self,
        a: &Ciphertext,
        circuit: &Bootstrapping,
        estimate: Estimate,
    ) -> Result<Ciphertext> {
        let polys = self.raised(a, &circuit.raising)?;
        Ok(a.with(estimate, polys))
    }

    fn add_rotated(&self, a: &Ciphertext, rotation: i64, estimate: Estimate) -> Result<Ciphertext> {
        let element = rotation_element(self.ring().log_n(), rotation);
        let mut moved = self.moved(
            a,
            vec![Some((Purpose::Rotation(rotation), element))],
            vec![estimate],
            BOOTSTRAP,
        )?;
        let mut sum = moved.remove(0);
        self.add_part(&mut sum, a)?;
        Ok(sum)
    }

    fn conjugate(&self, a: &Ciphertext) -> Result<Ciphertext> {
        let element = conjugation_element(self.ring().log_n());
        let moves = vec![Some((Purpose::Conjugation, element))];
        let mut moved = self.moved(a, moves, vec![a.estimate.clone()], BOOTSTRAP)?;
        Ok(moved.remove(0))
    }

    fn multiply_imaginary(&self, a: &mut Ciphertext) -> Result<()> {
        *a = Self::multiply_imaginary(self, a)?;
        Ok(())
    }

    fn add_part(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<()> {
        self.combine_parts(a, b, Operation::Add)
    }

    fn subtract_part(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<()> {
        self.combine_parts(a, b, Operation::Subtract)
    }
}
