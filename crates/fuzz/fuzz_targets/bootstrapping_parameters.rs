#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hostile::attack("bootstrapping_parameters", bytes));
