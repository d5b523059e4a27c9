//! The errors of the engine.

/// A refusal: what was expected, what came, and what to do.
///
/// The public interface never panics; whatever a caller passes, the answer is a
/// value or one of these.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The parameters contradict each other or lie outside the supported range.
    #[error("cannot make parameters: {0}")]
    InvalidParameters(String),
    /// The parameters fall short of 128-bit security.
    #[error("cannot make parameters: {0}")]
    InsecureParameters(String),
    /// An operation needs more levels than the ciphertext has left.
    #[error(
        "cannot {operation}: needs {needed} level(s), the ciphertext has {available}; make parameters with more levels"
    )]
    LevelExhausted { operation: &'static str, needed: usize, available: usize },
    /// Two operands, or an operand and a key, stand at different levels.
    #[error(
        "cannot {operation}: expected level {expected}, got level {actual}; drop the higher one first"
    )]
    LevelMismatch { operation: &'static str, expected: usize, actual: usize },
    /// Two operands carry different scales.
    #[error("cannot {operation}: expected scale 2^{:.6}, got 2^{:.6}; rescale or re-encode one of them", expected.log2(), actual.log2())]
    ScaleMismatch { operation: &'static str, expected: f64, actual: f64 },
    /// The scale is not positive and finite, or does not fit the modulus.
    #[error("cannot {operation}: scale 2^{:.3} does not fit a modulus of {modulus_bits:.1} bits", scale.log2())]
    ScaleOutOfRange { operation: &'static str, scale: f64, modulus_bits: f64 },
    /// A number of slots or values does not fit.
    #[error("cannot {operation}: expected {expected} slots, got {actual}")]
    SlotMismatch { operation: &'static str, expected: usize, actual: usize },
    /// A value exceeds the bound that was promised for it.
    #[error(
        "cannot {operation}: value {value:e} exceeds the bound {bound:e}; raise the bound or scale the data"
    )]
    ValueOutOfRange { operation: &'static str, value: f64, bound: f64 },
    /// By the bounds of what they were made from, values may wrap around the modulus, where
    /// nothing could distinguish them from right ones.
    #[error(
        "cannot {operation}: by the bounds of the inputs a value may reach {bound:.4e}, and the modulus holds {capacity:.4e}; give the inputs tighter bounds (bound= of encrypt or of the session), scale them down, or make parameters with more headroom"
    )]
    BoundOverflow { operation: &'static str, bound: f64, capacity: f64 },
    /// By the bound on the noise of what it was made from, a result may be a wrong one.
    #[error(
        "cannot {operation}: noise may reach 2^{noise_bits:.1}, and the modulus holds 2^{capacity_bits:.1}; switch the modulus down earlier, or make parameters with more or larger levels"
    )]
    NoiseExhausted { operation: &'static str, noise_bits: f64, capacity_bits: f64 },
    /// A whole number does not lie in the range of the plaintext modulus.
    #[error(
        "cannot {operation}: {value} is beyond {bound}, half the plaintext modulus; use a larger plaintext modulus"
    )]
    IntegerOutOfRange { operation: &'static str, value: i64, bound: i64 },
    /// A value is NaN or infinite.
    #[error("cannot {operation}: value number {index} is not finite")]
    NotFinite { operation: &'static str, index: usize },
    /// A ciphertext is not what an estimate is of.
    #[error(
        "cannot decrypt: expected a ciphertext of {what} {expected:e} by the estimate, got {actual:e}; make the estimate by the operations that made the ciphertext"
    )]
    EstimateMismatch { what: &'static str, expected: f64, actual: f64 },
    /// Two objects were made under different parameters.
    #[error("cannot {operation}: the operands were made under different parameters")]
    ParametersMismatch { operation: &'static str },
    /// Two objects belong to different secret keys.
    #[error("cannot {operation}: the operands belong to different secret keys")]
    KeyMismatch { operation: &'static str },
    /// The evaluation keys lack one that the operation needs.
    #[error(
        "cannot {operation}: no {key} at level {level} or above; generate it with the evaluation keys"
    )]
    MissingKey { operation: &'static str, key: String, level: usize },
    /// A ciphertext has the wrong number of components for the operation.
    #[error(
        "cannot {operation}: expected a ciphertext of degree {expected}, got degree {actual}; relinearise first"
    )]
    DegreeMismatch { operation: &'static str, expected: usize, actual: usize },
    /// The decrypted polynomial fills the modulus: the message overflowed, or the key is wrong.
    #[error(
        "cannot decrypt: the result fills the modulus; a value overflowed its headroom or the secret key is not the one of this ciphertext"
    )]
    DecryptionOverflow,
    /// An argument is not one the operation can take.
    #[error("cannot {operation}: {reason}")]
    InvalidArgument { operation: &'static str, reason: String },
    /// Bytes that are no object of this version and kind.
    #[error("cannot read {kind}: {reason}")]
    MalformedBytes { kind: &'static str, reason: String },
    /// The operating system gave no random bytes.
    #[error("cannot draw randomness from the operating system: {0}")]
    Randomness(String),
    /// The operating system gave no memory.
    #[error(transparent)]
    OutOfMemory(#[from] system_memory::Refused),
}

/// The result of an engine operation.
pub type Result<T> = std::result::Result<T, Error>;

impl From<envelope::Malformed> for Error {
    fn from(malformed: envelope::Malformed) -> Self {
        let envelope::Malformed { kind, reason } = malformed;
        Self::MalformedBytes { kind, reason }
    }
}
