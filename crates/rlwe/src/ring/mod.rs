//! Arithmetic in Z_Q[X]/(X^N + 1), with Q a product of word primes.

pub mod primes;
