//! Bootstrapping: a ciphertext whose levels are spent is refreshed without its key.
//!
//! ```text
//!   SlotsToCoeffs   the values become coefficients        levels 3, 2, 1 -> 0
//!   ModRaise        m becomes m + q0 I, I small            level 0 -> top, under a sparse secret
//!   CoeffsToSlots   the coefficients become values        top -> top - 4
//!   EvalMod         (m + q0 I) mod q0, as a sine           8 levels
//! ```
//!
//! Cheon, Han, Kim, Kim, Song 2018; the order with SlotsToCoeffs first, where it works on few
//! primes, and the sine where coefficients are values: one at its bound costs no more precision than
//! another, so that precision holds for every message within the bound declared. The parts:
//! transforms factored as the Fourier transform is ([`fourier`]), on the double-hoisted linear
//! transform (Bossuat, Mouchet, Troncoso-Pastoriza, Hubaux 2021); the modulus raised under a sparse
//! secret (eprint 2022/024; [`crate::core::encapsulation`]); the sine as a cosine with double
//! angles (Han, Ki 2020; [`cosine`]), over a range that overflows leave with a chance below 2^-128
//! ([`overflow`]).

mod circuit;
mod cosine;
mod evaluate;
mod fourier;
mod noise;
mod overflow;
mod parameters;
mod reduction;
mod refresh;
#[cfg(test)]
mod tests;

pub use circuit::{BootstrappingArithmetic, bootstrap, bootstrap_pair};
pub use overflow::OVERFLOW_FAILURE_BITS;
pub use parameters::{BootstrappingLiteral, BootstrappingParameters, Packing};
pub use refresh::Bootstrapping;
