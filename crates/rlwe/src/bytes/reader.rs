//! Reading numbers of which none is believed before it is checked.

use super::envelope::Kind;
use crate::parameters::Parameters;
use crate::{Error, Result};

/// What is left to read of an object.
pub(super) struct Reader<'a> {
    kind: Kind,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(kind: Kind, rest: &'a [u8]) -> Self {
        Self { kind, rest }
    }

    pub(super) fn malformed(&self, reason: impl Into<String>) -> Error {
        self.kind.malformed(reason)
    }

    /// The next `length` bytes.
    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            let left = self.rest.len();
            return Err(self.malformed(format!("expected {length} more bytes, got {left}")));
        };
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn array<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH]> {
        let mut array = [0; LENGTH];
        array.copy_from_slice(self.take(LENGTH)?);
        Ok(array)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn f64(&mut self) -> Result<f64> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    /// Whether `what` is there.
    pub(super) fn flag(&mut self, what: &str) -> Result<bool> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(self.malformed(format!("expected 0 or 1 for {what}, got {other}"))),
        }
    }

    pub(super) fn level(&mut self, parameters: &Parameters) -> Result<usize> {
        let (level, highest) = (self.u32()? as usize, parameters.max_level());
        if level > highest {
            let reason = format!("expected a level of at most {highest}, got {level}");
            return Err(self.malformed(reason));
        }
        Ok(level)
    }

    pub(super) fn slots(&mut self, parameters: &Parameters) -> Result<usize> {
        let (slots, most) = (self.u32()? as usize, parameters.slots());
        if !slots.is_power_of_two() || slots > most {
            let reason = format!("expected a power of two of at most {most} slots, got {slots}");
            return Err(self.malformed(reason));
        }
        Ok(slots)
    }

    /// A scale that values near 1 may have at `level`.
    pub(super) fn scale(&mut self, parameters: &Parameters, level: usize) -> Result<f64> {
        let scale = self.f64()?;
        let fits = parameters.check_scale(level, scale, "read a scale");
        fits.map_err(|_| self.malformed(format!("a scale of {scale:e} does not fit its level")))?;
        Ok(scale)
    }

    /// `what`, a finite number that is not negative.
    pub(super) fn magnitude(&mut self, what: &str) -> Result<f64> {
        let x = self.f64()?;
        if !(x.is_finite() && x >= 0.0) {
            return Err(self.malformed(format!("expected {what} of at least 0, got {x:e}")));
        }
        Ok(x)
    }

    /// Refuses what follows the last field.
    pub(super) fn end(self) -> Result<()> {
        match self.rest.len() {
            0 => Ok(()),
            left => Err(self.malformed(format!("expected the end, got {left} more bytes"))),
        }
    }
}
