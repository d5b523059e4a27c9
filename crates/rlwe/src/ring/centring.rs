//! Whole numbers between minus and plus half a product of primes, from their residues.

use super::mixed_radix::MixedRadix;
use super::modulus::Modulus;

/// Reads the centred representative of residues modulo several primes, without a branch on them.
///
/// Further primes may follow, modulo which it is then known too.
pub(crate) struct Centring {
    radix: MixedRadix,
    moduli: Vec<Modulus>,
}

/// A centred number: its sign, beside the digits of its magnitude, or if it is negative of 1 less.
#[derive(Clone, Copy)]
pub(crate) struct Sign {
    /// 1 for a negative number, else 0.
    negative: u32,
}

impl Centring {
    pub(crate) fn new(moduli: &[Modulus], further: &[Modulus]) -> Self {
        let radix = MixedRadix::new(&[moduli, further].concat(), moduli.len());
        Self { radix, moduli: moduli.to_vec() }
    }

    /// Fills `digits`, one for each prime, from as many residues.
    pub(crate) fn read(&self, residues: &[u32], digits: &mut [u32]) -> Sign {
        self.radix.digits(residues, digits);
        // Above half the product, of which every digit is half its prime.
        let negative = digits.iter().zip(&self.moduli).fold(0, |beyond, (&digit, q)| {
            let (half, equal) = (q.q / 2, u32::from(digit == q.q / 2));
            u32::from(digit > half) | (equal & beyond)
        });
        // Of what is missing to the product, less 1, the digits are what is missing to each prime.
        for (digit, q) in digits.iter_mut().zip(&self.moduli) {
            let missing = q.q - 1 - *digit;
            *digit = *digit * (1 - negative) + missing * negative;
        }
        Sign { negative }
    }

    /// The number as a part of the product of the primes, between -1/2 and 1/2.
    pub(crate) fn part(&self, sign: Sign, digits: &[u32]) -> f64 {
        let part = digits
            .iter()
            .zip(&self.moduli)
            .fold(0.0, |part, (&digit, q)| (part + f64::from(digit)) / f64::from(q.q));
        (1.0 - 2.0 * f64::from(sign.negative)) * part
    }

    /// The number modulo the further prime of this index, and that prime.
    pub(crate) fn residue(&self, index: usize, sign: Sign, digits: &[u32]) -> (Modulus, u32) {
        let (q, magnitude) = self.radix.residue(digits.len() + index, digits);
        let (plus, minus) = (magnitude, q.sub(0, q.add(magnitude, 1)));
        (q, plus * (1 - sign.negative) + minus * sign.negative)
    }
}

/// Centred numbers divided by a power of two, which is 1 where they fit 128 bits as they are.
pub(crate) struct Shifted {
    /// For each prime the product of those before it, divided.
    weights: Vec<i128>,
    /// log2 of the divisor.
    pub(crate) shift: u32,
}

/// Bits of the largest number after the division.
const MAX_BITS: u32 = 120;

impl Shifted {
    pub(crate) fn new(moduli: &[Modulus]) -> Self {
        let mut products = vec![vec![1u32]];
        for q in moduli {
            let last = &products[products.len() - 1];
            products.push(times(last, q.q));
        }
        let whole = products.pop().map_or(0, |whole| bit_length(&whole));
        let shift = whole.saturating_sub(MAX_BITS);
        let weights = products.iter().map(|product| shifted(product, shift)).collect();
        Self { weights, shift }
    }

    /// The number with these digits: exact without a shift, else too small by less than 2^31 for
    /// each digit.
    pub(crate) fn value(&self, sign: Sign, digits: &[u32]) -> i128 {
        let weighted = digits.iter().zip(&self.weights);
        let magnitude: i128 = weighted.map(|(&digit, weight)| weight * i128::from(digit)).sum();
        let negative = i128::from(sign.negative);
        (1 - 2 * negative) * magnitude - negative
    }

    /// What [`Self::value`] may be off by, after the division.
    pub(crate) fn error(&self) -> f64 {
        if self.shift == 0 { 0.0 } else { 31f64.exp2() * self.weights.len() as f64 }
    }
}

/// A number in words of 32 bits, lowest first, times a word.
fn times(x: &[u32], word: u32) -> Vec<u32> {
    let mut carry = 0;
    let mut product: Vec<u32> = x
        .iter()
        .map(|&digit| {
            carry += u64::from(digit) * u64::from(word);
            let low = carry as u32;
            carry >>= 32;
            low
        })
        .collect();
    product.push(carry as u32);
    product
}

fn bit_length(x: &[u32]) -> u32 {
    let top = x.iter().rposition(|&word| word != 0);
    top.map_or(0, |top| 32 * top as u32 + (32 - x[top].leading_zeros()))
}

/// A number divided by 2^`shift`, rounded down; the quotient has less than 127 bits.
fn shifted(x: &[u32], shift: u32) -> i128 {
    let bit = |at: u32| x.get((at / 32) as usize).map_or(0, |word| word >> (at % 32) & 1);
    (0..127).rev().fold(0, |value, at| value << 1 | i128::from(bit(at + shift)))
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;

    use super::*;
    use crate::ring::primes::ntt_primes;

    fn check(moduli: &[u32], values: impl Iterator<Item = BigInt>) {
        let primes: Vec<Modulus> = moduli.iter().map(|&q| Modulus::new(q)).collect();
        let witness = Modulus::new(1_073_479_681);
        let (centring, shifted) = (Centring::new(&primes, &[witness]), Shifted::new(&primes));
        let whole: BigInt = moduli.iter().map(|&q| BigInt::from(q)).product();
        let residue = |x: &BigInt, q: u32| {
            let q = BigInt::from(q);
            u32::try_from(((x % &q) + &q) % &q).unwrap()
        };
        for x in values {
            let residues: Vec<u32> = moduli.iter().map(|&q| residue(&x, q)).collect();
            let mut digits = vec![0; moduli.len()];
            let sign = centring.read(&residues, &mut digits);
            assert_eq!(centring.residue(0, sign, &digits).1, residue(&x, witness.q));
            let expected = &x / (BigInt::from(1) << shifted.shift);
            let found = BigInt::from(shifted.value(sign, &digits));
            let error = i128::try_from(&found - &expected).unwrap().abs();
            assert!(error as f64 <= shifted.error(), "{x}: {found} for {expected}");
            let part = centring.part(sign, &digits);
            let scaled = i128::try_from((&x << 100) / &whole).unwrap() as f64 / 100f64.exp2();
            // Of a negative number the digits are those of 1 less.
            assert!((part - scaled).abs() < 1e-8, "{part} for {scaled}");
        }
    }

    #[test]
    fn numbers_of_every_size_and_sign_come_back() {
        let words = ntt_primes(10, 1 << 29..1 << 30).take(7).map(|q| q as u32);
        let all: Vec<u32> = words.chain([65537, 12289]).collect();
        for count in 1..=all.len() {
            let moduli = all[..count].to_vec();
            let half = (moduli.iter().map(|&q| BigInt::from(q)).product::<BigInt>() - 1) / 2;
            let sizes = (0..64).map(|bits| &half >> bits);
            let around = [BigInt::from(0), BigInt::from(1)].into_iter().chain(sizes);
            check(&moduli, around.flat_map(|x| [x.clone(), -x]));
        }
    }
}
