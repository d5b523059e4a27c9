//! Where and how values are encoded.

/// Where and how to encode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Encoding {
    /// The level of the ciphertexts that the plaintext will meet.
    pub level: usize,
    /// The scale; the level's canonical one where `None`.
    pub scale: Option<f64>,
    /// A public bound on the absolute values, which encryption asks for: evaluators see it. For
    /// plaintext operands `None` takes the largest of the values.
    pub bound: Option<f64>,
}

impl Encoding {
    /// At the canonical scale of `level`, for a plaintext operand: the bound is the largest of its
    /// values.
    pub fn at(level: usize) -> Self {
        Self { level, scale: None, bound: None }
    }

    /// With a public bound on the absolute values: for what is to be encrypted.
    pub fn within(self, bound: f64) -> Self {
        Self { bound: Some(bound), ..self }
    }
}
