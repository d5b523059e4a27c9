//! A token of the instructions of [`pulp::x86::V4`] and of dot products of 16-bit integers.
//!
//! Whoever holds one is on a machine that has them. Within [`Vnni::vectorize`] the compiler makes
//! one instruction, `vpdpwssd`, of a sum of products in pairs and its addition.
//!
//! This crate is apart as the macro of pulp writes code that calls itself unsafe: a call of a
//! function that is compiled for a machine's own instructions, behind a check that it has them.

#![cfg(target_arch = "x86_64")]

pulp::simd_type!({
    /// AVX-512 with `avx512vnni`.
    #[allow(missing_docs)]
    pub struct Vnni {
        pub sse: f!("sse"),
        pub sse2: f!("sse2"),
        pub fxsr: f!("fxsr"),
        pub sse3: f!("sse3"),
        pub ssse3: f!("ssse3"),
        pub sse4_1: f!("sse4.1"),
        pub sse4_2: f!("sse4.2"),
        pub popcnt: f!("popcnt"),
        pub avx: f!("avx"),
        pub avx2: f!("avx2"),
        pub bmi1: f!("bmi1"),
        pub bmi2: f!("bmi2"),
        pub fma: f!("fma"),
        pub lzcnt: f!("lzcnt"),
        pub avx512f: f!("avx512f"),
        pub avx512bw: f!("avx512bw"),
        pub avx512cd: f!("avx512cd"),
        pub avx512dq: f!("avx512dq"),
        pub avx512vl: f!("avx512vl"),
        pub avx512vnni: f!("avx512vnni"),
    }
});
