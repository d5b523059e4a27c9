//! Compiles the kernels for the software device, where it is asked for.

fn main() {
    println!("cargo:rerun-if-changed=kernels");
    #[cfg(feature = "software")]
    cc::Build::new()
        .file("kernels/kernels.c")
        .std("c11")
        .opt_level(3)
        .warnings(true)
        .extra_warnings(true)
        .compile("cloakwork_kernels");
}
