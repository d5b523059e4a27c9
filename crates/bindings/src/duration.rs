//! About how long operations on ciphertexts take on one thread, by the bytes of a ciphertext.

use std::time::Duration;

/// What an operation does with a ciphertext: the picoseconds that it takes for a byte.
///
/// Measured on one thread of a Xeon of 2023, at N = 2^12 to 2^14; others take up to twice as long.
#[derive(Clone, Copy)]
pub enum Work {
    /// Goes over its residues once or twice.
    Pass = 120,
    /// Transforms every residue once or twice, or hashes it.
    Transform = 1100,
    /// Switches its key.
    Switch = 4500,
}

impl Work {
    /// On a ciphertext of so many bytes.
    pub fn on(self, bytes: usize) -> Duration {
        Duration::from_nanos(bytes as u64 * self as u64 / 1000)
    }
}
