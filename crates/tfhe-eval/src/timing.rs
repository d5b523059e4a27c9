//! What operations take on this machine: seconds of a processor, however busy it is.

use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};

use crate::bootstrap::{Bootstrapper, MAX_BATCH, Task};
use crate::encryption::Lwe;
use crate::keys::SecretKey;
use crate::parameters::{MAX_TABLES_LOG, Parameters};
use crate::tables::Tables;
use crate::{Error, Result};

const QUARTER: u32 = 1 << 30;
/// Sums that are timed together: one takes less than it takes to ask for the time.
const SUMS: usize = 1000;

/// The medians of several measurements, on one thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Seconds {
    /// Of one of four bootstraps that are made together, with 1, 2 and 4 tables.
    pub bootstrap: Vec<f64>,
    /// Of a bootstrap that is made alone, with 1, 2 and 4 tables.
    pub lone_bootstrap: Vec<f64>,
    /// Of the sum of two LWE ciphertexts.
    pub linear: f64,
    /// Of one of four ordinary gates that are made together, each a sum of two bits and a
    /// bootstrap with one table.
    pub gate: f64,
}

/// Measures under a fresh key, every time anew for each of `repetitions`.
///
/// # Errors
/// [`Error::InvalidArgument`] for no repetition; [`Error::Randomness`].
pub fn seconds(parameters: Parameters, repetitions: usize) -> Result<Seconds> {
    if repetitions == 0 {
        let reason = "expected at least one repetition, got 0".into();
        return Err(Error::InvalidArgument { operation: "measure bootstraps", reason });
    }
    let secret = SecretKey::generate(parameters)?;
    let key = secret.evaluation_key()?;
    let mut bootstrapper = Bootstrapper::new(&key);
    let bits = secret.encrypt(&[0, 1], &[QUARTER; 2])?.lwes;
    // No two of these tables are rotations of one another.
    let values: Vec<u32> = (1..=2 << MAX_TABLES_LOG).map(|n| n * (QUARTER >> 4)).collect();
    let tasks = |count: usize, tables: usize| -> Vec<Task<'_>> {
        let tables = Tables { message_bits: 2, values: &values[..2 * tables] };
        (0..count).map(|_| Task { lwe: bits[0].to_vec(), tables }).collect()
    };
    let mut bootstraps = |count: usize| -> Vec<f64> {
        let theta = 0..=MAX_TABLES_LOG;
        theta
            .map(|log| {
                let tasks = tasks(count, 1 << log);
                median(repetitions, || drop(bootstrapper.run(&tasks))) / count as f64
            })
            .collect()
    };
    let (bootstrap, lone_bootstrap) = (bootstraps(MAX_BATCH), bootstraps(1));
    let linear = median(repetitions, || {
        for _ in 0..SUMS {
            drop(black_box(sum(black_box(&bits))));
        }
    });
    let gate = median(repetitions, || {
        let mut gates = tasks(MAX_BATCH, 1);
        gates.iter_mut().for_each(|gate| gate.lwe = sum(&bits));
        bootstrapper.run(&gates);
    });
    Ok(Seconds {
        bootstrap,
        lone_bootstrap,
        linear: linear / SUMS as f64,
        gate: gate / MAX_BATCH as f64,
    })
}

fn sum(bits: &[Lwe]) -> Vec<u32> {
    bits[0].iter().zip(&*bits[1]).map(|(x, y)| x.wrapping_add(*y)).collect()
}

/// The median of several times of this thread alone: what others take meanwhile is not counted.
fn median(repetitions: usize, mut work: impl FnMut()) -> f64 {
    let mut seconds: Vec<f64> = (0..repetitions)
        .map(|_| {
            let start = thread_seconds();
            work();
            thread_seconds() - start
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds[repetitions / 2]
}

fn thread_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_taken() {
        let measured = seconds(Parameters::named("space4").unwrap(), 1).unwrap();
        assert_eq!((measured.bootstrap.len(), measured.lone_bootstrap.len()), (3, 3));
        let all = measured.bootstrap.iter().chain(&measured.lone_bootstrap);
        assert!(all.chain([&measured.linear, &measured.gate]).all(|&seconds| seconds > 0.0));
        assert!(seconds(Parameters::named("space4").unwrap(), 0).is_err());
    }
}
