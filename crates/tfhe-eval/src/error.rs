//! What can go wrong, one case each.

/// A refusal. The message says what was attempted, what was expected, what came.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument is not one that the operation can take.
    #[error("cannot {operation}: {reason}")]
    InvalidArgument { operation: &'static str, reason: String },

    /// A bootstrap program breaks a rule of its form.
    #[error("cannot take a bootstrap program: {reason}")]
    InvalidProgram { reason: String },

    /// Two objects were made under different parameters.
    #[error("cannot {operation}: expected parameters {expected}, got {actual}")]
    ParametersMismatch { operation: &'static str, expected: &'static str, actual: &'static str },

    /// Two objects belong to different secret keys.
    #[error("cannot {operation}: the objects belong to different secret keys")]
    KeyMismatch { operation: &'static str },

    /// Bytes that are no object of this version and kind.
    #[error("cannot read {kind}: {reason}")]
    MalformedBytes { kind: &'static str, reason: String },

    /// A run was cancelled before it had finished.
    #[error("cannot finish a run: it was cancelled after {made} of {total} bootstraps")]
    Cancelled { made: usize, total: usize },

    /// A check inside the evaluator did not hold.
    #[error("cannot finish a run: a thread failed: {reason}; please report what was called")]
    Fault { reason: String },

    /// The operating system gave no random bytes.
    #[error("cannot draw random bytes: {0}")]
    Randomness(String),

    /// The processor lacks instructions.
    #[error(
        "cannot draw random numbers for bits: expected a processor with {instructions}, got one \
         without; use another machine"
    )]
    Processor { instructions: &'static str },

    /// The operating system gave no memory.
    #[error(transparent)]
    OutOfMemory(#[from] system_memory::Refused),
}

/// What the operations of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

impl From<envelope::Malformed> for Error {
    fn from(malformed: envelope::Malformed) -> Self {
        let envelope::Malformed { kind, reason } = malformed;
        Self::MalformedBytes { kind, reason }
    }
}
