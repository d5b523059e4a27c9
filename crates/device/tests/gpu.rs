//! A GPU where there is one; else the errors that say what is missing.

use device::launch::compile;
use device::{Device, Error};
use rlwe::chain::{MAX_LOG_N, MIN_LOG_N};

#[test]
fn a_gpu_starts_or_its_absence_is_named() {
    match Device::cuda(0, None) {
        Ok(device) => {
            assert!(device.memory().budget > 0);
            device.synchronize().unwrap();
        }
        Err(error) => {
            let named = matches!(
                error,
                Error::NoDriver
                    | Error::NoCompiler
                    | Error::NoDevice { .. }
                    | Error::UnsupportedDevice { .. }
            );
            assert!(named, "{error}");
            assert!(error.to_string().contains("run on the CPU"), "{error}");
        }
    }
}

#[test]
fn kernels_compile_for_gpus_where_there_is_a_compiler() {
    for log_n in MIN_LOG_N..=MAX_LOG_N {
        match compile("sm_90", log_n) {
            Ok(image) => {
                assert!(!image.code.is_empty());
                // Registers that did not suffice would lie in local memory, much slower.
                assert!(no_spills(&image.log), "{}", image.log);
                assert_eq!(compile("sm_90", log_n).unwrap(), image);
            }
            Err(error) => assert_eq!(error, Error::NoCompiler),
        }
    }
    match compile("sm_1", 16) {
        Ok(image) => panic!("no such architecture: {image:?}"),
        Err(error) => {
            assert!(matches!(error, Error::NoCompiler | Error::Compilation { .. }), "{error}");
        }
    }
}

fn no_spills(log: &str) -> bool {
    log.lines()
        .filter(|line| line.contains("spill"))
        .all(|line| line.contains(" 0 bytes spill stores") && line.contains(" 0 bytes spill loads"))
}
