//! Operations on residues against whole numbers.

mod common;

use common::{numbers, roomy, with_budget};
use device::launch::{
    Buffer, ConstantOperation, Operation, Residues, Row, Rows, Table, combine, forward, permute,
    pointwise, tensor, with_constants,
};
use rlwe::ring::primes::ntt_primes;
use rlwe::tables::{PrimeTable, conjugation_element, rotation_element};

const LOG_N: u32 = 11;
const N: usize = 1 << LOG_N;

/// The largest prime, a small one and one between, without roots: no test transforms.
fn primes() -> Vec<PrimeTable> {
    let all: Vec<u64> = ntt_primes(LOG_N, 1 << 17..1 << 30).collect();
    let chosen = [all[all.len() - 1], all[0], all[all.len() / 2]];
    chosen.map(|q| PrimeTable { q: q as u32, root: 1 }).to_vec()
}

/// Residues for each prime, the largest and zero among them.
fn residues(seed: u64, primes: &[PrimeTable]) -> Vec<u32> {
    let limb = |(index, prime): (usize, &PrimeTable)| {
        let mut limb = numbers(seed + index as u64, prime.q, N);
        limb[..4].copy_from_slice(&[0, 0, prime.q - 1, prime.q - 1]);
        limb[seed as usize % 4] = prime.q - 1;
        limb
    };
    primes.iter().enumerate().flat_map(limb).collect()
}

fn check(kind: Operation, expected: impl Fn(u128, u128, u128) -> u128) {
    let (device, primes) = (roomy(), primes());
    let ring = Residues::new(&device, LOG_N, &primes).unwrap();
    let (x, y) = (residues(1, &primes), residues(7, &primes));
    let sent = [&x, &y].map(|words| Buffer::copied(&device, words, "test").unwrap());
    let rows: Vec<Row> =
        (0..3).map(|limb| Row { prime: limb, to: limb, first: limb, second: limb }).collect();
    let rows = Rows::new(&device, &rows).unwrap();
    let mut result = Buffer::unwritten(&device, 3 * N, "test").unwrap();
    pointwise(&ring, kind, &mut result, Some(&sent[0]), &sent[1], &rows).unwrap();
    let mut in_place = sent[0].duplicate("test").unwrap();
    pointwise(&ring, kind, &mut in_place, None, &sent[1], &rows).unwrap();
    let found = result.read().unwrap();
    assert_eq!(in_place.read().unwrap(), found);
    for (at, (&x, &y)) in x.iter().zip(&y).enumerate() {
        let q = u128::from(primes[at / N].q);
        assert_eq!(u128::from(found[at]), expected(x.into(), y.into(), q), "{kind:?} {x} {y} {q}");
    }
}

/// 2^-32 modulo q.
fn inverse_radix(q: u128) -> u128 {
    (0..32).fold(1, |x, _| if x % 2 == 0 { x / 2 } else { x.div_ceil(2) + q / 2 })
}

#[test]
fn residues_are_added_subtracted_and_multiplied() {
    check(Operation::Add, |x, y, q| (x + y) % q);
    check(Operation::Subtract, |x, y, q| (x + q - y) % q);
    check(Operation::Multiply, |x, y, q| x * y % q);
    check(Operation::MultiplyByMontgomery, |x, y, q| x * y % q * inverse_radix(q) % q);
}

#[test]
fn limbs_are_combined_with_constants() {
    use ConstantOperation::{AddConstant, AddScaled, Scale, ScaleByImaginary};
    let (device, primes) = (roomy(), primes());
    let ring = Residues::new(&device, LOG_N, &primes).unwrap();
    let (x, y) = (residues(1, &primes), residues(7, &primes));
    let second = Buffer::copied(&device, &y, "test").unwrap();
    let constants: Vec<u32> = primes.iter().map(|prime| prime.q - 2).collect();
    let table = Table::new(&device, &constants).unwrap();
    let rows: Vec<Row> =
        (0..3).map(|limb| Row { prime: limb, to: limb, first: limb, second: limb }).collect();
    let rows = Rows::new(&device, &rows).unwrap();
    for operation in [AddConstant, AddScaled, Scale, ScaleByImaginary] {
        let mut result = Buffer::copied(&device, &x, "test").unwrap();
        let operand = (operation != AddConstant).then_some(&second);
        with_constants(&ring, operation, &mut result, operand, &rows, &table).unwrap();
        for (at, found) in result.read().unwrap().into_iter().enumerate() {
            let (q, constant) = (u128::from(primes[at / N].q), u128::from(constants[at / N]));
            let (x, y) = (u128::from(x[at]), u128::from(y[at]));
            let product = y * constant % q * inverse_radix(q);
            let expected = match operation {
                AddConstant => x + constant,
                AddScaled => x + product,
                Scale => product,
                ScaleByImaginary if at % N < N / 2 => product,
                ScaleByImaginary => q - product % q,
            };
            assert_eq!(u128::from(found), expected % q, "{operation:?}");
        }
    }
}

#[test]
fn products_of_pairs_have_three_coefficients() {
    let (device, primes) = (roomy(), primes());
    let ring = Residues::new(&device, LOG_N, &primes).unwrap();
    let pairs = [1, 21].map(|seed| {
        let pair = [residues(seed, &primes), residues(seed + 10, &primes)];
        (Buffer::copied(&device, &pair.concat(), "test").unwrap(), pair)
    });
    let positions = Table::new(&device, &[0, 1, 2]).unwrap();
    let mut product = Buffer::unwritten(&device, 9 * N, "test").unwrap();
    tensor(&ring, &mut product, &pairs[0].0, &pairs[1].0, &positions).unwrap();
    let found = product.read().unwrap();
    for at in 0..3 * N {
        let q = u64::from(primes[at / N].q);
        let [[x0, x1], [y0, y1]] =
            [&pairs[0].1, &pairs[1].1].map(|pair| [pair[0][at], pair[1][at]].map(u64::from));
        let expected = [x0 * y0 % q, (x0 * y1 + x1 * y0) % q, x1 * y1 % q];
        assert_eq!([0, 1, 2].map(|poly| u64::from(found[poly * 3 * N + at])), expected);
    }
}

#[test]
fn automorphisms_move_values_to_other_points() {
    let device = roomy();
    for log_n in [5, 8, 11] {
        let n = 1usize << log_n;
        let ring = Residues::new(&device, log_n, &[]).unwrap();
        let values = numbers(3, 1 << 30, 2 * n);
        let from = Buffer::copied(&device, &values, "test").unwrap();
        let mut to = Buffer::unwritten(&device, 2 * n, "test").unwrap();
        let rows = [(0, 1), (1, 0)].map(|(to, first)| Row { prime: 0, to, first, second: 0 });
        let rows = Rows::new(&device, &rows).unwrap();
        let elements = [1, 3, -2].map(|k| rotation_element(log_n, k));
        for element in elements.into_iter().chain([conjugation_element(log_n)]) {
            permute(&ring, &mut to, &from, &rows, element).unwrap();
            let found = to.read().unwrap();
            let reversed = |i: usize| i.reverse_bits() >> (usize::BITS - log_n);
            for i in 0..n {
                // Position i of the image has the old value at the exponent times the element.
                let exponent = (2 * reversed(i) + 1) * element % (2 * n);
                let source = reversed(exponent / 2);
                assert_eq!((found[n + i], found[i]), (values[source], values[n + source]));
            }
        }
    }
}

/// A ring, three limbs of each of two buffers, and one row.
fn refused(row: Row, run: impl Fn(&Residues, &mut Buffer, &Buffer, &Rows)) {
    let device = roomy();
    let ring = Residues::new(&device, LOG_N, &primes()).unwrap();
    let mut to = Buffer::copied(&device, &vec![0; 3 * N], "test").unwrap();
    let from = to.duplicate("test").unwrap();
    run(&ring, &mut to, &from, &Rows::new(&device, &[row]).unwrap());
}

#[test]
#[should_panic(expected = "limbs of the buffers")]
fn no_kernel_writes_beyond_its_buffer() {
    refused(Row { prime: 0, to: 3, first: 0, second: 0 }, |ring, to, from, rows| {
        pointwise(ring, Operation::Add, to, None, from, rows).unwrap();
    });
}

#[test]
#[should_panic(expected = "limbs of the buffers")]
fn no_kernel_reads_limbs_that_are_marked_absent_unless_it_looks() {
    refused(Row { prime: 0, to: 0, first: u32::MAX, second: 0 }, |ring, to, from, rows| {
        permute(ring, to, from, rows, 5).unwrap();
    });
}

#[test]
#[should_panic(expected = "primes of the ring")]
fn no_kernel_takes_primes_that_the_ring_does_not_have() {
    refused(Row { prime: 3, to: 0, first: 0, second: 0 }, |ring, to, from, rows| {
        forward(ring, to, Some(from), rows).unwrap();
    });
}

/// Sums are reduced after twelve terms: as many, one more, and extreme ones.
#[test]
fn multiples_are_summed() {
    let (device, primes) = (roomy(), primes());
    let ring = Residues::new(&device, LOG_N, &primes).unwrap();
    let rows: Vec<Row> =
        (0..3).map(|limb| Row { prime: limb, to: limb, first: limb, second: limb }).collect();
    let rows = Rows::new(&device, &rows).unwrap();
    for count in [1, 2, 12, 13, 30] {
        let terms: Vec<Vec<u32>> =
            (0..count as u64).map(|seed| residues(10 + seed, &primes)).collect();
        let constant = |term: usize, limb: usize| match term % 3 {
            0 => primes[limb].q - 1,
            _ => numbers((term * 3 + limb) as u64, primes[limb].q, 1)[0],
        };
        let constants: Vec<u32> =
            (0..count).flat_map(|term| (0..3).map(move |limb| constant(term, limb))).collect();
        let sent: Vec<Buffer> =
            terms.iter().map(|term| Buffer::copied(&device, term, "test").unwrap()).collect();
        let mut sum = Buffer::unwritten(&device, 3 * N, "test").unwrap();
        combine(&ring, &mut sum, &sent.iter().collect::<Vec<_>>(), &rows, &constants).unwrap();
        for (at, found) in sum.read().unwrap().into_iter().enumerate() {
            let q = u128::from(primes[at / N].q);
            let product = |term: usize| {
                u128::from(terms[term][at]) * u128::from(constants[3 * term + at / N])
            };
            let whole: u128 = (0..count).map(product).sum();
            assert_eq!(u128::from(found), whole % q * inverse_radix(q) % q, "{count} terms");
        }
    }
}

/// What was given back is used again where the length is the same, and goes where it is in the way.
#[test]
fn memory_that_was_given_back_stays_within_the_budget() {
    let device = with_budget(1000 * 4);
    let half = Buffer::copied(&device, &[7; 500], "test").unwrap();
    drop(half);
    assert_eq!(device.memory().used, 0);
    let again = Buffer::copied(&device, &[8; 500], "test").unwrap();
    assert_eq!(again.read().unwrap(), [8; 500]);
    drop(again);
    let most = Buffer::copied(&device, &[9; 900], "test").unwrap();
    assert_eq!((most.read().unwrap(), device.memory().used), (vec![9; 900], 3600));
    assert!(Buffer::unwritten(&device, 101, "test").is_err());
}
