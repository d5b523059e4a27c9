use std::fmt;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::Seed;
use crate::{Error, Result};

/// A secret source of random words: the ChaCha20 keystream under a 256-bit key.
///
/// It cannot be cloned, since a copy would repeat its secrets; it prints nothing
/// of its state, and key and buffered keystream are wiped when it is dropped.
/// The cipher is Bernstein's original, with a 64-bit block counter and a 64-bit
/// nonce of zero: "ChaCha, a variant of Salsa20", 2008.
///
/// # Examples
///
/// ```
/// use rlwe::sampling::{Generator, ternary};
///
/// let mut generator = Generator::from_os()?;
/// let secret = ternary(&mut generator, 1 << 12);
/// assert!(secret.iter().all(|c| (-1..=1).contains(c)));
/// # Ok::<(), rlwe::Error>(())
/// ```
pub struct Generator {
    keystream: ChaCha20Rng,
}

impl Generator {
    /// A generator keyed by the operating system.
    ///
    /// # Errors
    ///
    /// [`Error::Randomness`] if the operating system has none to give.
    pub fn from_os() -> Result<Self> {
        let mut key = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *key).map_err(|error| Error::Randomness(error.to_string()))?;
        Ok(Self { keystream: ChaCha20Rng::from_seed(*key) })
    }

    /// A generator whose every draw follows from `key`, where a run must
    /// repeat. Secrets drawn from it are as secret as `key`.
    ///
    /// # Examples
    ///
    /// ```
    /// use rlwe::sampling::{Generator, gaussian};
    ///
    /// let draw = || gaussian(&mut Generator::deterministic([7; 32]), 16);
    /// assert_eq!(draw(), draw());
    /// ```
    pub fn deterministic(mut key: [u8; 32]) -> Self {
        let keystream = ChaCha20Rng::from_seed(key);
        key.zeroize();
        Self { keystream }
    }

    /// Draws a public seed: 32 bytes of keystream, which say nothing of the
    /// bytes before or after them.
    ///
    /// # Examples
    ///
    /// ```
    /// use rlwe::sampling::Generator;
    ///
    /// let mut generator = Generator::from_os()?;
    /// assert_ne!(generator.public_seed(), generator.public_seed());
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn public_seed(&mut self) -> Seed {
        let mut bytes = [0; 32];
        self.keystream.fill_bytes(&mut bytes);
        Seed(bytes)
    }

    /// Fills `words` with uniform 64-bit words, the same on every platform.
    pub(super) fn fill(&mut self, words: &mut [u64]) {
        self.keystream.fill_bytes(bytemuck::cast_slice_mut(words));
        for word in words {
            *word = u64::from_le(*word);
        }
    }
}

// The keystream wipes itself; the marker lets callers require it.
impl ZeroizeOnDrop for Generator {}

impl fmt::Debug for Generator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Generator").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operating_system_generators_differ() -> Result<()> {
        assert_ne!(Generator::from_os()?.public_seed(), Generator::from_os()?.public_seed());
        Ok(())
    }

    #[test]
    fn state_is_wiped_on_drop_and_never_printed() {
        fn wipes<T: ZeroizeOnDrop>(_: &T) {}
        let generator = Generator::deterministic([0xab; 32]);
        wipes(&generator);
        wipes(&generator.keystream);
        assert_eq!(format!("{generator:?}"), "Generator { .. }");
    }
}
