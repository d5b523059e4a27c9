//! Key switching on a device: ModUp, the gadget product, and what is left to ModDown.

use crate::Result;
use crate::division::Division;
use crate::keys::SwitchingKey;
use crate::launch::{Buffer, InnerProductTables, convert, forward, inner_product, inverse};
use crate::level::{Level, SwitchingTables};
use crate::parameters::Parameters;

/// The gadget decomposition of one polynomial of a ciphertext: its digits, each extended to the
/// primes that are not its own.
pub(crate) struct Decomposition<'a> {
    parameters: &'a Parameters,
    level: &'a Level,
    /// The polynomials that the one decomposed is among.
    polys: &'a Buffer,
    extensions: Buffer,
}

/// Limbs that ModUp works on at a level.
pub(crate) fn decomposition_limbs(level: &Level) -> usize {
    level.limbs + level.extensions
}

/// Limbs of a gadget product at a level.
pub(crate) fn product_limbs(level: &Level) -> usize {
    2 * level.extended
}

/// Limbs that a key switch works on, its result among them.
pub(crate) fn switching_limbs(level: &Level, division: &Division) -> usize {
    decomposition_limbs(level) + product_limbs(level) + division.limbs(2)
}

impl<'a> Decomposition<'a> {
    /// ModUp of polynomial number `poly`, 0 to 2, of some.
    pub(crate) fn new(
        parameters: &'a Parameters,
        level: &'a Level,
        polys: &'a Buffer,
        poly: usize,
        operation: &'static str,
    ) -> Result<Self> {
        let (ring, device) = (parameters.residues(), parameters.device());
        let mut coefficients = Buffer::unwritten(device, ring.words(level.limbs), operation)?;
        inverse(ring, &mut coefficients, Some(polys), &level.coefficients[poly])?;
        let mut extensions = Buffer::unwritten(device, ring.words(level.extensions), operation)?;
        for digit in &level.digits {
            convert(ring, &mut extensions, 0, &coefficients, 0, 1, digit)?;
        }
        forward(ring, &mut extensions, None, &level.extension_rows)?;
        Ok(Self { parameters, level, polys, extensions })
    }

    /// The gadget product of polynomial 1 with polynomial 0 added, and X -> X^`element` applied to
    /// it: P times the image of the ciphertext.
    pub(crate) fn rotated(
        &self,
        key: &SwitchingKey,
        element: usize,
        operation: &'static str,
    ) -> Result<Buffer> {
        let mut image = self.unwritten_product(operation)?;
        self.write_rotated(key, element, &mut image, 0)?;
        Ok(image)
    }

    /// [`Self::rotated`] into limbs `start` of a buffer and those that follow.
    pub(crate) fn write_rotated(
        &self,
        key: &SwitchingKey,
        element: usize,
        to: &mut Buffer,
        start: usize,
    ) -> Result<()> {
        let tables = key.tables(self.parameters, self.level)?;
        self.product(key, &tables.rotation, &tables, (self.polys, element), (to, start))
    }

    /// The gadget product of polynomial 2.
    pub(crate) fn relinearised(
        &self,
        key: &SwitchingKey,
        operation: &'static str,
    ) -> Result<Buffer> {
        let tables = key.tables(self.parameters, self.level)?;
        let mut sums = self.unwritten_product(operation)?;
        self.product(key, &tables.relinearisation, &tables, (self.polys, 1), (&mut sums, 0))?;
        Ok(sums)
    }

    /// The gadget product of polynomial 0 with `addend`, over all primes, added to its first, and
    /// X -> X^`element` applied to both.
    pub(crate) fn moved_with(
        &self,
        key: &SwitchingKey,
        addend: &Buffer,
        element: usize,
        operation: &'static str,
    ) -> Result<Buffer> {
        let tables = key.tables(self.parameters, self.level)?;
        let mut image = self.unwritten_product(operation)?;
        self.product(key, &tables.giant, &tables, (addend, element), (&mut image, 0))?;
        Ok(image)
    }

    /// [`Self::moved_with`] with P times an `addend` over the level's primes.
    pub(crate) fn moved_with_divided(
        &self,
        key: &SwitchingKey,
        addend: &Buffer,
        element: usize,
        operation: &'static str,
    ) -> Result<Buffer> {
        let tables = key.tables(self.parameters, self.level)?;
        let mut image = self.unwritten_product(operation)?;
        self.product(key, &tables.divided_giant, &tables, (addend, element), (&mut image, 0))?;
        Ok(image)
    }

    fn unwritten_product(&self, operation: &'static str) -> Result<Buffer> {
        let ring = self.parameters.residues();
        Buffer::unwritten(ring.device(), ring.words(product_limbs(self.level)), operation)
    }

    fn product(
        &self,
        key: &SwitchingKey,
        limbs: &InnerProductTables,
        tables: &SwitchingTables,
        (addend, element): (&Buffer, usize),
        (to, start): (&mut Buffer, usize),
    ) -> Result<()> {
        inner_product(
            self.parameters.residues(),
            to,
            start,
            [self.polys, &self.extensions],
            &key.halves,
            key.positions.len(),
            &tables.places,
            addend,
            limbs,
            element,
        )
    }
}
