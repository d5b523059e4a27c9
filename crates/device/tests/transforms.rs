//! Transforms against those of the CPU, word by word, in every ring.

mod common;

use common::{in_both_orders, numbers};
use device::Device;
use device::launch::{Buffer, Residues, Row, Rows, forward, inverse};
use rlwe::ring::primes::ntt_primes;
use rlwe::tables::PrimeTable;
use tfhe_ntt::prime32::Plan;

/// A large prime, a small one, and their transforms on the CPU.
fn primes(log_n: u32) -> Vec<(PrimeTable, Plan)> {
    let large = ntt_primes(log_n, 1 << 29..1 << 30).next_back();
    let small = ntt_primes(log_n, 1 << 18..1 << 30).next();
    let prime = |q: u64| {
        let plan = Plan::try_new(1 << log_n, q as u32).unwrap();
        let mut x = vec![0; 1 << log_n];
        x[1] = 1;
        plan.fwd(&mut x);
        (PrimeTable { q: q as u32, root: x[0] }, plan)
    };
    large.into_iter().chain(small).map(prime).collect()
}

fn row(prime: u32, to: u32, first: u32) -> Row {
    Row { prime, to, first, second: 0 }
}

fn check(device: &Device, log_n: u32) {
    let n = 1usize << log_n;
    let primes = primes(log_n);
    let tables: Vec<PrimeTable> = primes.iter().map(|(table, _)| *table).collect();
    let ring = Residues::new(device, log_n, &tables).unwrap();
    // Two limbs of the first prime and one of the second, the largest residues among them.
    let of_limbs = [0usize, 1, 0];
    let mut limbs: Vec<Vec<u32>> = of_limbs
        .iter()
        .enumerate()
        .map(|(seed, &prime)| numbers(seed as u64, tables[prime].q, n))
        .collect();
    limbs[2].fill(tables[0].q - 1);
    let sent = Buffer::copied(device, &limbs.concat(), "test").unwrap();
    // To other places than they come from.
    let rows = [row(0, 2, 0), row(1, 0, 1), row(0, 1, 2)];
    let rows = Rows::new(device, &rows).unwrap();
    for (limb, &prime) in limbs.iter_mut().zip(&of_limbs) {
        primes[prime].1.fwd(limb);
    }
    let expected = [&limbs[1][..], &limbs[2], &limbs[0]].concat();
    let mut values = Buffer::unwritten(device, 3 * n, "test").unwrap();
    forward(&ring, &mut values, Some(&sent), &rows).unwrap();
    assert!(values.read().unwrap() == expected, "forward, 2^{log_n}");

    // Back in place: the coefficients times N, as the CPU leaves them.
    let rows = [row(1, 0, 0), row(0, 1, 1), row(0, 2, 2)];
    let rows = Rows::new(device, &rows).unwrap();
    inverse(&ring, &mut values, None, &rows).unwrap();
    for (limb, &prime) in limbs.iter_mut().zip(&of_limbs) {
        primes[prime].1.inv(limb);
    }
    let expected = [&limbs[1][..], &limbs[2], &limbs[0]].concat();
    assert!(values.read().unwrap() == expected, "inverse, 2^{log_n}");
}

#[test]
fn transforms_equal_those_of_the_cpu_in_every_ring() {
    for device in in_both_orders() {
        (5..=17).for_each(|log_n| check(&device, log_n));
    }
}
