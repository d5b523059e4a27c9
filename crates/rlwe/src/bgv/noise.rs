//! Bounds on noise, from parameters alone.
//!
//! The noise of a ciphertext is the polynomial v of [`crate::bgv`], message included. It is
//! bounded in the canonical embedding, whose norm is the largest absolute value of v at a root
//! of X^N + 1: a product is bounded by the product of the bounds, whatever the factors have to
//! do with each other, and a coefficient by the norm (Gentry, Halevi, Smart 2012, "Homomorphic
//! evaluation of the AES circuit"; Costache and Smart 2016, "Which ring based somewhat
//! homomorphic encryption scheme is best?"). What an encryption, a rounding or a key switch adds
//! is a sum of many independent terms, in the embedding close to Gaussian or to a product of two
//! Gaussians (Mono, Marcolla, Land, Güneysu, Aaraj 2023, "Finding and evaluating parameters for
//! BGV"), and exceeds its bound with a chance below 2^-40. For these the coefficients are bounded
//! too, by less than the norm: what is decrypted or switched down needs no more.

use std::f64::consts::LN_2;

use super::parameters::Parameters;
use crate::deviation::{self, ERROR_DEVIATION, product_tail};
use crate::literal::SecretDistribution;

/// Any value among those of one polynomial exceeds its bound with a chance of 2^-so many.
const FAILURE_BITS: f64 = 40.0;

/// Bounds on a polynomial, as log2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Of the largest absolute value at a root of X^N + 1.
    pub canonical_bits: f64,
    /// Of the largest absolute coefficient.
    pub coefficient_bits: f64,
}

impl Noise {
    /// Of a coefficient below 1 nothing is gained.
    pub(crate) fn new(canonical_bits: f64, coefficient_bits: f64) -> Self {
        let canonical_bits = canonical_bits.max(0.0);
        Self { canonical_bits, coefficient_bits: coefficient_bits.clamp(0.0, canonical_bits) }
    }

    /// Of the sum of two.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self::new(
            sum_bits(self.canonical_bits, other.canonical_bits),
            sum_bits(self.coefficient_bits, other.coefficient_bits),
        )
    }

    /// Of the product of two.
    pub(crate) fn times(self, other: Self) -> Self {
        self.embedded_times(other.canonical_bits)
    }

    /// Of the product with a polynomial of which the norm is known.
    pub(crate) fn embedded_times(self, norm_bits: f64) -> Self {
        let bits = self.canonical_bits + norm_bits;
        Self::new(bits, bits)
    }

    /// Of a multiple by 2^`bits`.
    pub(crate) fn scaled(self, bits: f64) -> Self {
        Self::new(self.canonical_bits + bits, self.coefficient_bits + bits)
    }
}

/// log2(2^a + 2^b).
fn sum_bits(a: f64, b: f64) -> f64 {
    let (small, large) = (a.min(b), a.max(b));
    if small == f64::NEG_INFINITY { large } else { large + (small - large).exp2().ln_1p() / LN_2 }
}

/// The exponent of the chance that one of N values exceeds its bound.
fn exponent(n: f64) -> f64 {
    n.ln() + FAILURE_BITS * LN_2
}

/// t times a polynomial of Gaussian coefficients.
fn gaussian(n: usize, t: f64, deviation: f64) -> Noise {
    let n = n as f64;
    let (complex, real) = (exponent(n).sqrt(), (2.0 * exponent(n)).sqrt());
    Noise::new((t * deviation * n.sqrt() * complex).log2(), (t * deviation * real).log2())
}

/// t times a sum of products of two polynomials, of this deviation in a coefficient.
fn product(n: usize, t: f64, deviation: f64) -> Noise {
    let n = n as f64;
    let coefficient = t * deviation * product_tail(exponent(n));
    Noise::new((coefficient * n.sqrt()).log2(), coefficient.log2())
}

/// log2 of the norm that rounding leaves a ciphertext with, however small its noise was.
pub(crate) fn floor_bits(log_n: u32, modulus: u32, secret: SecretDistribution) -> f64 {
    let n = 1 << log_n;
    product(n, f64::from(modulus), deviation::rounding_in(n, secret)).canonical_bits
}

impl Parameters {
    fn t_real(&self) -> f64 {
        f64::from(self.plaintext_modulus())
    }

    fn noise_of_products(&self, deviation: f64) -> Noise {
        product(self.n(), self.t_real(), deviation)
    }

    /// Of a message, whichever it is.
    pub(crate) fn message_noise(&self) -> Noise {
        let coefficient = (self.t_real() / 2.0).log2();
        Noise::new(coefficient + f64::from(self.log_n()), coefficient)
    }

    /// Of an encryption under the secret key.
    pub(crate) fn encryption_noise(&self) -> Noise {
        self.message_noise().plus(gaussian(self.n(), self.t_real(), ERROR_DEVIATION))
    }

    /// Of an encryption under the public key.
    pub(crate) fn public_encryption_noise(&self) -> Noise {
        let deviation = deviation::public_encryption(self.lattice());
        self.message_noise().plus(self.noise_of_products(deviation))
    }

    /// What a division with rounding adds to a ciphertext of `degree`.
    pub(crate) fn rounding_noise(&self, degree: usize) -> Noise {
        self.noise_of_products(match degree {
            1 => deviation::rounding(self.lattice()),
            _ => deviation::rounding_of_square(self.lattice()),
        })
    }

    /// What key switching at a level adds, the rounding of its division left out.
    pub(crate) fn key_switching_noise(&self, level: usize) -> Noise {
        self.noise_of_products(deviation::key_switching(self.lattice(), level))
    }

    /// What key switching at a level adds.
    pub(crate) fn rotation_noise(&self, level: usize) -> Noise {
        self.key_switching_noise(level).plus(self.rounding_noise(1))
    }
}
