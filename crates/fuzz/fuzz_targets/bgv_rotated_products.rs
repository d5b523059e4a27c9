#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hostile::attack("bgv_rotated_products", bytes));
