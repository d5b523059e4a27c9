//! Compiles the kernels for a GPU that need not be there, and prints what the compiler says of each:
//! registers, shared memory, spills.
//! `cargo run --release -p device --example kernels -- sm_90 [LOG_N]`, by default for N = 2^16.

use std::env;

use device::launch::compile;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let architecture = env::args().nth(1).unwrap_or_else(|| "sm_90".to_string());
    let log_n = env::args().nth(2).map_or(Ok(16), |log_n| log_n.parse())?;
    let image = compile(&architecture, log_n)?;
    println!("{} bytes of machine code for {architecture}\n{}", image.code.len(), image.log);
    Ok(())
}
