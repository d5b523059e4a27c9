//! Bootstrap programs on encrypted bits.
//!
//! A *signal* of a program is an LWE ciphertext of a bit: its phase is 0 for 0 and the
//! signal's *encoding* for 1, a torus number of which 2^32 are one turn. Weighted sums of signals
//! are nearly free. A *bootstrap* looks up its input's phase in tables and gives fresh signals.
//! A [`Program`] is a list of both; [`EvaluationKey::run`] runs it on several threads.
//!
//! The lattice arithmetic is that of the crate `tfhe`; what is here is its use: parameter
//! sets and their noise, several tables in one bootstrap, several bootstraps at once through
//! one read of the key, and the order of a program's work.
//!
//! ```
//! use tfhe_eval::{Parameters, Program, ProgramArrays, SecretKey};
//! const QUARTER: u32 = 1 << 30;
//! // The AND of two bits: at 2/4 of a turn and nowhere else -1/8 + 1/8 becomes 1/8 + 1/8.
//! let and = Program::new(ProgramArrays {
//!     inputs: 2,
//!     kinds: vec![1],
//!     term_starts: vec![0, 2],
//!     term_signals: vec![0, 1],
//!     term_weights: vec![1, 1],
//!     constants: vec![0],
//!     message_bits: vec![2],
//!     output_starts: vec![0, 1],
//!     tables: vec![(QUARTER / 2).wrapping_neg(); 2],
//!     output_constants: vec![QUARTER / 2],
//!     output_signals: vec![2],
//! })?;
//! let secret = SecretKey::generate(Parameters::named("space4")?)?;
//! let inputs = secret.encrypt(&[1, 1], &[QUARTER; 2])?;
//! let outputs = secret.evaluation_key()?.run(&and, &inputs, 1, |_, _| true)?;
//! assert_eq!(secret.decrypt(&outputs, &[QUARTER])?, [1]);
//! # Ok::<(), tfhe_eval::Error>(())
//! ```
#![forbid(unsafe_code)]

mod bootstrap;
mod bytes;
mod encryption;
mod error;
mod evaluator;
mod failure;
mod keys;
pub mod noise;
mod parameters;
mod program;
mod public_key;
mod randomness;
mod schedule;
mod tables;
mod timing;

pub use encryption::Ciphertexts;
pub use error::{Error, Result};
pub use evaluator::BootstrapTime;
pub use failure::{Failure, Variances};
pub use keys::{EvaluationKey, SecretKey};
pub use parameters::{MAX_TABLES_LOG, Parameters};
pub use program::{Program, ProgramArrays};
pub use public_key::PublicKey;
pub use schedule::Costs;
pub use timing::{Seconds, seconds};
