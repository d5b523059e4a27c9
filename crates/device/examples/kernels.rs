//! Compiles the kernels for a GPU that need not be there, and prints what the compiler says of each:
//! registers, shared memory, spills. `cargo run --release -p device --example kernels -- sm_90`.

use std::env;

use device::launch::compile;

fn main() -> device::Result<()> {
    let architecture = env::args().nth(1).unwrap_or_else(|| "sm_90".to_string());
    let image = compile(&architecture)?;
    println!("{} bytes of machine code for {architecture}\n{}", image.code.len(), image.log);
    Ok(())
}
