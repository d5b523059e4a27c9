//! CKKS: approximate arithmetic on vectors of complex numbers.

pub mod encoder;
pub mod rounding;
