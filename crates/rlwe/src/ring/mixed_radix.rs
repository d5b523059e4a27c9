//! Numbers from their residues modulo several primes.

use super::modulus::Modulus;

/// Mixed-radix digits over a few primes: x = d_0 + d_1 q_0 + d_2 q_0 q_1 + ... (Garner 1959).
///
/// Further primes may follow those that the digits belong to, for residues of x.
pub(crate) struct MixedRadix {
    primes: Vec<RadixPrime>,
}

struct RadixPrime {
    modulus: Modulus,
    /// The products of none, one, two ... of the digits' primes before it modulo this one, in
    /// Montgomery form.
    prefixes: Vec<u32>,
    /// The inverse of the product of all of them, in Montgomery form.
    inverse: u32,
}

impl MixedRadix {
    /// Digits for the first `exact` of `moduli`, all different.
    pub(crate) fn new(moduli: &[Modulus], exact: usize) -> Self {
        let prime = |(k, &modulus): (usize, &Modulus)| {
            let mut prefixes = vec![1];
            for before in &moduli[..k.min(exact)] {
                let last = prefixes[prefixes.len() - 1];
                prefixes.push(modulus.mul(last, before.q % modulus.q));
            }
            let inverse = modulus.to_montgomery(modulus.inv(prefixes[prefixes.len() - 1]));
            let prefixes = prefixes.into_iter().map(|x| modulus.to_montgomery(x)).collect();
            RadixPrime { modulus, prefixes, inverse }
        };
        Self { primes: moduli.iter().enumerate().map(prime).collect() }
    }

    /// Fills `digits` from as many residues, in constant time.
    pub(crate) fn digits(&self, residues: &[u32], digits: &mut [u32]) {
        for k in 0..digits.len() {
            let (q, known) = self.residue(k, &digits[..k]);
            digits[k] = q.mul_montgomery(q.sub(residues[k], known), self.primes[k].inverse);
        }
    }

    /// The number with `digits` modulo prime number `k`, and that prime.
    pub(crate) fn residue(&self, k: usize, digits: &[u32]) -> (Modulus, u32) {
        let RadixPrime { modulus, prefixes, .. } = &self.primes[k];
        let products =
            digits.iter().zip(prefixes).map(|(&digit, &x)| modulus.mul_montgomery(digit, x));
        (*modulus, products.fold(0, |sum, product| modulus.add(sum, product)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_for_their_number() {
        let moduli = [12289, 40961, 65537, 786_433].map(Modulus::new);
        let radix = MixedRadix::new(&moduli, 3);
        let whole: u64 = 12289 * 40961 * 65537;
        for x in [0, 1, 12288, 12289, 999_999_999, whole / 2, whole - 1] {
            let mut digits = [0; 3];
            radix.digits(&moduli.map(|q| q.reduce(x)), &mut digits);
            let [a, b, c] = digits.map(u64::from);
            assert_eq!(a + 12289 * (b + 40961 * c), x);
            assert_eq!(radix.residue(3, &digits).1, moduli[3].reduce(x));
        }
    }
}
