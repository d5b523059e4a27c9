//! Reading numbers of which none is believed before it is checked.

use crate::{Kind, Malformed};

type Result<T> = std::result::Result<T, Malformed>;

/// What is left to read of an object.
#[derive(Debug)]
pub struct Reader<'a> {
    kind: Kind,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(kind: Kind, rest: &'a [u8]) -> Self {
        Self { kind, rest }
    }

    /// The refusal of an object of this kind, for a reason.
    pub fn malformed(&self, reason: impl Into<String>) -> Malformed {
        self.kind.malformed(reason)
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// The next `length` bytes.
    ///
    /// # Errors
    /// [`Malformed`] when there are fewer, as for every method here.
    pub fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            let left = self.rest.len();
            return Err(self.malformed(format!("expected {length} more bytes, got {left}")));
        };
        self.rest = rest;
        Ok(taken)
    }

    /// The next `LENGTH` bytes.
    pub fn array<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH]> {
        let mut array = [0; LENGTH];
        array.copy_from_slice(self.take(LENGTH)?);
        Ok(array)
    }

    /// A number of 16 bits.
    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// A number of 32 bits.
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// A number of 64 bits.
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A number of 128 bits.
    pub fn u128(&mut self) -> Result<u128> {
        Ok(u128::from_le_bytes(self.array()?))
    }

    /// A double, whichever it is.
    pub fn f64(&mut self) -> Result<f64> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    /// Whether `what` is there: 0 or 1.
    pub fn flag(&mut self, what: &str) -> Result<bool> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(self.malformed(format!("expected 0 or 1 for {what}, got {other}"))),
        }
    }

    /// `what`, a finite number that is not negative.
    pub fn magnitude(&mut self, what: &str) -> Result<f64> {
        let x = self.f64()?;
        if !(x.is_finite() && x >= 0.0) {
            return Err(self.malformed(format!("expected {what} of at least 0, got {x:e}")));
        }
        Ok(x)
    }

    /// Refuses what follows the last field.
    pub fn end(self) -> Result<()> {
        match self.rest.len() {
            0 => Ok(()),
            left => Err(self.malformed(format!("expected the end, got {left} more bytes"))),
        }
    }
}
