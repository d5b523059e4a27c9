//! What every stored object begins with, and reading what follows.
//!
//! All objects begin with the same 48 bytes, numbers little-endian:
//!
//! ```text
//!   0   4  the magic of a family of objects
//!   4   2  format version
//!   6   2  kind of object
//!   8  16  fingerprint of the parameters
//!  24   8  length of the body
//!  32  16  XXH3 of the body, 128 bits, seeded by 64 bits of that of the 32 bytes before
//!  48      the body
//! ```
//!
//! The checksum finds accidents, not forgeries: whoever reads bytes from a stranger may
//! read any well-formed object. A product of matrices reads gigabytes, and a hash that
//! withstands forgers would take most of the time of reading them. No length is believed
//! before the bytes are there.
#![forbid(unsafe_code)]

mod reader;

use twox_hash::XxHash3_128;

pub use reader::Reader;

const CHECKSUM_AT: usize = 32;
const BODY_AT: usize = 48;

/// Bytes of the header.
pub const HEADER: usize = BODY_AT;

/// Bytes that are no object of the kind that was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {kind}: {reason}")]
pub struct Malformed {
    /// What was expected.
    pub kind: &'static str,
    /// What came.
    pub reason: String,
}

/// A family of objects.
#[derive(Debug)]
pub struct Format {
    /// What all of them begin with.
    pub magic: [u8; 4],
    /// Raised whenever a body changes.
    pub version: u16,
    /// All kinds of objects.
    pub kinds: &'static [Kind],
}

/// A kind of object; number and order of its fields are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// As it is stored.
    pub number: u16,
    /// With its article.
    pub name: &'static str,
}

impl Kind {
    /// Bytes that are no object of this kind, for a reason.
    pub fn malformed(self, reason: impl Into<String>) -> Malformed {
        Malformed { kind: self.name, reason: reason.into() }
    }
}

impl Format {
    /// The bytes of an object whose body, `length` bytes long, `write` appends.
    ///
    /// ```
    /// use envelope::{Format, Kind};
    /// const SHIP: Kind = Kind { number: 1, name: "a ship" };
    /// const SHIPS: Format = Format { magic: *b"SHIP", version: 1, kinds: &[SHIP] };
    /// let bytes = SHIPS.seal(SHIP, [7; 16], 4, |bytes| bytes.extend(1588u32.to_le_bytes()));
    /// let (fingerprint, mut body) = SHIPS.open(SHIP, &bytes)?;
    /// assert_eq!((fingerprint, body.u32()?), ([7; 16], 1588));
    /// body.end()?;
    /// # Ok::<(), envelope::Malformed>(())
    /// ```
    pub fn seal(
        &self,
        kind: Kind,
        fingerprint: [u8; 16],
        length: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Vec<u8> {
        // Of the right size at once: growing would leave copies of a secret behind.
        let mut bytes = system_memory::reserved(BODY_AT + length);
        bytes.extend_from_slice(&self.magic);
        bytes.extend_from_slice(&self.version.to_le_bytes());
        bytes.extend_from_slice(&kind.number.to_le_bytes());
        bytes.extend_from_slice(&fingerprint);
        bytes.extend_from_slice(&(length as u64).to_le_bytes());
        bytes.extend_from_slice(&[0; BODY_AT - CHECKSUM_AT]);
        write(&mut bytes);
        debug_assert_eq!(bytes.len(), BODY_AT + length);
        let checksum = checksum(&bytes);
        bytes[CHECKSUM_AT..BODY_AT].copy_from_slice(&checksum);
        bytes
    }

    /// The fingerprint that an object of `kind` carries, and its body.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn open<'a>(
        &self,
        kind: Kind,
        bytes: &'a [u8],
    ) -> Result<([u8; 16], Reader<'a>), Malformed> {
        let Some((_, body)) = bytes.split_at_checked(BODY_AT) else {
            let length = bytes.len();
            return Err(
                kind.malformed(format!("expected a header of {BODY_AT} bytes, got {length} bytes"))
            );
        };
        let mut header = Reader::new(kind, bytes);
        if header.array()? != self.magic {
            return Err(kind.malformed("the bytes do not begin as those of Cloakwork do"));
        }
        let (expected, version) = (self.version, header.u16()?);
        if version != expected {
            return Err(
                kind.malformed(format!("expected format version {expected}, got {version}"))
            );
        }
        let number = header.u16()?;
        if number != kind.number {
            let known = self.kinds.iter().find(|known| known.number == number);
            let got =
                known.map_or(format!("an object of unknown kind {number}"), |k| k.name.into());
            return Err(kind.malformed(format!("expected {}, got {got}", kind.name)));
        }
        let fingerprint = header.array()?;
        let length = header.u64()?;
        if length != body.len() as u64 {
            let actual = body.len();
            return Err(kind.malformed(format!("expected a body of {length} bytes, got {actual}")));
        }
        if header.array()? != checksum(bytes) {
            return Err(kind.malformed("the checksum is wrong: the bytes were damaged"));
        }
        Ok((fingerprint, Reader::new(kind, body)))
    }
}

/// Of the header before the checksum, and of the body.
fn checksum(bytes: &[u8]) -> [u8; 16] {
    // Seeded, not one after the other: what hashes piece by piece keeps copies of a secret.
    let seed = XxHash3_128::oneshot(&bytes[..CHECKSUM_AT]) as u64;
    XxHash3_128::oneshot_with_seed(seed, &bytes[BODY_AT..]).to_le_bytes()
}
