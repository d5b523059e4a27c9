//! Bits.

pub mod keys;
pub mod parameters;
pub mod program;
