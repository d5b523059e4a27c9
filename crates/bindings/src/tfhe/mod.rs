//! Bits.

pub mod crossing;
pub mod keys;
pub mod parameters;
pub mod program;
