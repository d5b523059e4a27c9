//! Devices, their memory, and the launch of kernels: the one module of the workspace with `unsafe`.
//!
//! Kernels read and write by address, and the driver is a library of C. What keeps that sound stands
//! here: a [`Buffer`] owns its memory and borrows as Rust does, and each kernel has one function
//! that checks, before it launches, that every limb the kernel will touch lies in its buffer. Index
//! tables are kept with their largest entries for that, and cannot be changed. Nothing outside this
//! module names an address.

mod automorphism;
mod buffer;
mod combination;
mod compiler;
mod conversion;
mod cuda;
mod device;
mod diagonals;
mod engine;
mod inner_product;
mod pointwise;
mod recorded;
mod recording;
mod residues;
#[cfg(feature = "software")]
mod software;
mod table;
mod transform;

pub use automorphism::permute;
pub use buffer::Buffer;
pub use combination::combine;
pub use compiler::{Image, compile};
pub use conversion::{ConversionTables, convert};
pub use device::{Device, Memory};
pub use diagonals::{place, sum_diagonals};
pub use inner_product::{Decomposed, InnerProductTables, inner_product};
pub use pointwise::{ConstantOperation, Operation, pointwise, tensor, with_constants};
pub use recorded::{Recorded, Recording};
pub use residues::Residues;
#[cfg(feature = "software")]
pub use software::Order;
pub(crate) use table::ABSENT;
pub use table::{Row, Rows, Table};
pub use transform::{forward, inverse};
