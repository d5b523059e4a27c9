use crate::{Error, Result};

/// A public seed: 256 bits from which anyone expands the uniform half of a key
/// or of a fresh ciphertext.
///
/// It holds nothing secret, so it may be copied, compared, printed and stored.
///
/// # Examples
///
/// ```
/// use rlwe::sampling::Seed;
///
/// let seed = Seed::from_os()?;
/// let stored: [u8; 32] = seed.0;
/// assert_eq!(Seed(stored), seed);
/// # Ok::<(), rlwe::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seed(pub [u8; 32]);

impl Seed {
    /// Draws a seed from the operating system.
    ///
    /// # Errors
    ///
    /// [`Error::Randomness`] if the operating system has none to give.
    pub fn from_os() -> Result<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| Error::Randomness(error.to_string()))?;
        Ok(Self(bytes))
    }
}
