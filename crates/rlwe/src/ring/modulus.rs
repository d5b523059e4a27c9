//! One word prime and its precomputed constants.

/// A prime q below 2^30 with the constants of its reductions.
///
/// 30 bits leave headroom for lazy sums: twelve products of a residue below 2^30
/// with a residue modulo q stay below `3 q 2^32`, which [`Modulus::q_inv`] brings
/// back to `[0, q)` in one Montgomery step and two conditional subtractions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modulus {
    /// The prime itself.
    pub q: u32,
    /// q^-1 mod 2^32, for Montgomery reduction (Montgomery 1985).
    pub q_inv: u32,
    /// 2^32 mod q.
    pub r: u32,
    /// floor(2^(2b) / q) with b the bit length of q, for Barrett reduction (Barrett 1986).
    pub barrett: u32,
    /// The bit length of q.
    pub bits: u32,
}

/// Products that may be summed before one Montgomery reduction.
pub const LAZY_TERMS: usize = 12;

impl Modulus {
    /// Constants of the odd prime `q`, 2 < q < 2^30.
    pub(crate) fn new(q: u32) -> Self {
        debug_assert!(q > 2 && q < 1 << 30 && q % 2 == 1);
        let mut q_inv = 1u32;
        // Newton's iteration doubles the number of right bits.
        for _ in 0..5 {
            q_inv = q_inv.wrapping_mul(2u32.wrapping_sub(q.wrapping_mul(q_inv)));
        }
        let bits = 32 - q.leading_zeros();
        Self {
            q,
            q_inv,
            r: ((1u64 << 32) % u64::from(q)) as u32,
            barrett: ((1u64 << (2 * bits)) / u64::from(q)) as u32,
            bits,
        }
    }

    /// a * b mod q.
    pub fn mul(self, a: u32, b: u32) -> u32 {
        (u64::from(a) * u64::from(b) % u64::from(self.q)) as u32
    }

    /// a * b / 2^32 mod q in constant time, for a below 2^32 and b below q.
    pub fn mul_montgomery(self, a: u32, b: u32) -> u32 {
        let product = u64::from(a) * u64::from(b);
        let quotient = (product as u32).wrapping_mul(self.q_inv);
        let multiple = u64::from(quotient) * u64::from(self.q);
        let difference = ((product >> 32) as u32).wrapping_sub((multiple >> 32) as u32);
        difference.min(difference.wrapping_add(self.q))
    }

    /// a + b mod q, for a, b below q.
    pub fn add(self, a: u32, b: u32) -> u32 {
        let s = a + b;
        s.min(s.wrapping_sub(self.q))
    }

    /// a - b mod q, for a, b below q.
    pub fn sub(self, a: u32, b: u32) -> u32 {
        let d = a.wrapping_sub(b);
        d.min(d.wrapping_add(self.q))
    }

    /// a^e mod q.
    pub fn pow(self, a: u32, mut e: u64) -> u32 {
        let (mut base, mut power) = (a % self.q, 1);
        while e > 0 {
            if e & 1 == 1 {
                power = self.mul(power, base);
            }
            base = self.mul(base, base);
            e >>= 1;
        }
        power
    }

    /// a^-1 mod q, for a not divisible by q.
    pub fn inv(self, a: u32) -> u32 {
        self.pow(a, u64::from(self.q) - 2)
    }

    /// The residue of a u64.
    pub fn reduce(self, a: u64) -> u32 {
        (a % u64::from(self.q)) as u32
    }

    /// a * 2^32 mod q: the form in which a constant multiplies under Montgomery reduction.
    pub fn to_montgomery(self, a: u32) -> u32 {
        self.mul(a, self.r)
    }
}

/// The product of `factors` modulo `modulus`.
pub(crate) fn product(modulus: Modulus, factors: impl IntoIterator<Item = u32>) -> u32 {
    factors.into_iter().fold(1, |product, factor| modulus.mul(product, factor % modulus.q))
}
