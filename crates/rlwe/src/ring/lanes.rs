//! Vectors of residues, chosen at run time: AVX-512, AVX2 or plain words.
//!
//! A lane vector `V` holds `WIDTH` residues of 32 bits. Products are 64 bits
//! wide, so they live in two wide vectors `W`: the even lanes and the odd lanes.

use bytemuck::Pod;
#[cfg(target_arch = "x86_64")]
use pulp::cast;
#[cfg(target_arch = "x86_64")]
use pulp::x86::{V3, V4};

use super::modulus::Modulus;

/// The operations that the kernels are written in.
pub(crate) trait Lanes: Copy + Send + Sync {
    /// `WIDTH` residues.
    type V: Pod + Send + Sync;
    /// `WIDTH / 2` products.
    type W: Copy;
    const WIDTH: usize;

    fn splat(self, x: u32) -> Self::V;
    fn splat_wide(self, x: u64) -> Self::W;
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// The odd lanes, moved to the even ones.
    fn odd(self, a: Self::V) -> Self::V;
    /// Products of the even lanes.
    fn mul_even(self, a: Self::V, b: Self::V) -> Self::W;
    /// Products of the even lanes as signed numbers.
    fn mul_even_signed(self, a: Self::V, b: Self::V) -> Self::W;
    fn add_wide(self, a: Self::W, b: Self::W) -> Self::W;
    fn sub_wide(self, a: Self::W, b: Self::W) -> Self::W;
    fn shift_right(self, a: Self::W, bits: u32) -> Self::W;
    /// The low halves of wide lanes, as the even lanes of a vector.
    fn low(self, a: Self::W) -> Self::V;
    /// A vector whose even lanes are the low halves of `even`, and odd lanes those of `odd`.
    fn merge_low(self, even: Self::W, odd: Self::W) -> Self::V;
    /// A vector whose even lanes are the high halves of `even`, and odd lanes those of `odd`.
    fn merge_high(self, even: Self::W, odd: Self::W) -> Self::V;
    /// Lane i of the result is lane `pattern[i]` of `a`.
    fn permute(self, a: Self::V, pattern: Self::V) -> Self::V;

    #[inline(always)]
    fn vectors(self, words: &[u32]) -> &[Self::V] {
        bytemuck::cast_slice(words)
    }

    #[inline(always)]
    fn vectors_mut(self, words: &mut [u32]) -> &mut [Self::V] {
        bytemuck::cast_slice_mut(words)
    }

    /// Brings x in `[0, 2 bound)` to `[0, bound)`.
    #[inline(always)]
    fn fold(self, x: Self::V, bound: Self::V) -> Self::V {
        self.min(x, self.sub(x, bound))
    }
}

/// A sum of products in every lane.
#[derive(Clone, Copy)]
pub(crate) struct Sum<L: Lanes> {
    even: L::W,
    odd: L::W,
}

impl<L: Lanes> Sum<L> {
    #[inline(always)]
    pub(crate) fn zero(lanes: L) -> Self {
        Self::starting_at(lanes, 0)
    }

    /// Adds a * b lane by lane, `a_odd` being `odd(a)`.
    #[inline(always)]
    pub(crate) fn add_product(self, lanes: L, a: L::V, a_odd: L::V, b: L::V, b_odd: L::V) -> Self {
        Self {
            even: lanes.add_wide(self.even, lanes.mul_even(a, b)),
            odd: lanes.add_wide(self.odd, lanes.mul_even(a_odd, b_odd)),
        }
    }

    /// A sum that starts at `x` in every lane.
    #[inline(always)]
    pub(crate) fn starting_at(lanes: L, x: u64) -> Self {
        Self { even: lanes.splat_wide(x), odd: lanes.splat_wide(x) }
    }

    /// Adds a * b lane by lane as signed numbers, `a_odd` being `odd(a)` and b the same in
    /// every lane.
    #[inline(always)]
    pub(crate) fn add_signed_product(self, lanes: L, a: L::V, a_odd: L::V, b: L::V) -> Self {
        Self {
            even: lanes.add_wide(self.even, lanes.mul_even_signed(a, b)),
            odd: lanes.add_wide(self.odd, lanes.mul_even_signed(a_odd, b)),
        }
    }

    /// Each lane shifted right, for sums whose shifted lanes fit a word.
    #[inline(always)]
    pub(crate) fn shift_right(self, lanes: L, half: u64, bits: u32) -> L::V {
        let half = lanes.splat_wide(half);
        let even = lanes.shift_right(lanes.add_wide(self.even, half), bits);
        let odd = lanes.shift_right(lanes.add_wide(self.odd, half), bits);
        lanes.merge_low(even, odd)
    }
}

/// A modulus spread over lanes, for Montgomery and Barrett reductions.
#[derive(Clone, Copy)]
pub(crate) struct LaneModulus<L: Lanes> {
    pub(crate) q: L::V,
    twice_q: L::V,
    q_inv: L::V,
    barrett: L::V,
    bits: u32,
}

impl<L: Lanes> LaneModulus<L> {
    #[inline(always)]
    pub(crate) fn new(lanes: L, modulus: Modulus) -> Self {
        Self {
            q: lanes.splat(modulus.q),
            twice_q: lanes.splat(2 * modulus.q),
            q_inv: lanes.splat(modulus.q_inv),
            barrett: lanes.splat(modulus.barrett),
            bits: modulus.bits,
        }
    }

    /// sum / 2^32 mod q, for a sum below 3 q 2^32.
    #[inline(always)]
    pub(crate) fn montgomery(self, lanes: L, sum: Sum<L>) -> L::V {
        // The difference lies in (-q, 3q): adding q makes it a residue below 4q.
        self.fold_twice(lanes, lanes.add(self.montgomery_difference(lanes, sum), self.q))
    }

    /// sum / 2^32 mod q, for a signed sum between -q 2^32 and q 2^32.
    #[inline(always)]
    pub(crate) fn montgomery_signed(self, lanes: L, sum: Sum<L>) -> L::V {
        // The difference lies in (-2q, q).
        self.fold_twice(lanes, lanes.add(self.montgomery_difference(lanes, sum), self.twice_q))
    }

    /// Brings x below 4q below q.
    #[inline(always)]
    fn fold_twice(self, lanes: L, x: L::V) -> L::V {
        lanes.fold(lanes.fold(x, self.twice_q), self.q)
    }

    /// A number congruent to sum / 2^32, below the sum's upper half by less than q.
    #[inline(always)]
    fn montgomery_difference(self, lanes: L, sum: Sum<L>) -> L::V {
        let quotient =
            |wide| lanes.mul_even(lanes.low(lanes.mul_even(lanes.low(wide), self.q_inv)), self.q);
        let even = lanes.sub_wide(sum.even, quotient(sum.even));
        let odd = lanes.sub_wide(sum.odd, quotient(sum.odd));
        lanes.merge_high(even, odd)
    }

    /// sum mod q, for a sum of at most two products of residues modulo q.
    #[inline(always)]
    pub(crate) fn barrett(self, lanes: L, sum: Sum<L>) -> L::V {
        let quotient = |wide| {
            let top = lanes.low(lanes.shift_right(wide, self.bits - 1));
            let quotient = lanes.shift_right(lanes.mul_even(top, self.barrett), self.bits + 1);
            lanes.mul_even(lanes.low(quotient), self.q)
        };
        let even = lanes.sub_wide(sum.even, quotient(sum.even));
        let odd = lanes.sub_wide(sum.odd, quotient(sum.odd));
        // The quotient falls short by at most 3.
        self.fold_twice(lanes, lanes.merge_low(even, odd))
    }

    #[inline(always)]
    pub(crate) fn add(self, lanes: L, a: L::V, b: L::V) -> L::V {
        lanes.fold(lanes.add(a, b), self.q)
    }

    #[inline(always)]
    pub(crate) fn sub(self, lanes: L, a: L::V, b: L::V) -> L::V {
        let difference = lanes.sub(a, b);
        lanes.min(difference, lanes.add(difference, self.q))
    }

    /// a * b / 2^32 mod q.
    #[inline(always)]
    pub(crate) fn mul_montgomery(self, lanes: L, a: L::V, b: L::V) -> L::V {
        self.montgomery(
            lanes,
            Sum::zero(lanes).add_product(lanes, a, lanes.odd(a), b, lanes.odd(b)),
        )
    }
}

/// A computation over lanes, compiled once for every instruction set.
pub(crate) trait Kernel {
    /// Must be `#[inline(always)]`: it inherits the instruction set of its caller.
    fn run<L: Lanes>(self, lanes: L);
}

/// Runs `kernel` on the widest lanes of this machine.
#[inline]
pub(crate) fn dispatch<K: Kernel>(kernel: K) {
    match pulp::Arch::new() {
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V4(simd) => simd.vectorize(OnLanes { kernel, lanes: simd }),
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V3(simd) => simd.vectorize(OnLanes { kernel, lanes: simd }),
        _ => kernel.run(Words),
    }
}

/// A kernel with its lanes: a closure in its place may be compiled apart, without their
/// instructions.
#[cfg(target_arch = "x86_64")]
struct OnLanes<K, L> {
    kernel: K,
    lanes: L,
}

#[cfg(target_arch = "x86_64")]
impl<K: Kernel, L: Lanes> pulp::NullaryFnOnce for OnLanes<K, L> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.kernel.run(self.lanes);
    }
}

/// The width of the lanes that [`dispatch`] chooses on this machine.
pub(crate) fn width() -> usize {
    match pulp::Arch::new() {
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V4(_) => <V4 as Lanes>::WIDTH,
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V3(_) => <V3 as Lanes>::WIDTH,
        _ => Words::WIDTH,
    }
}

#[cfg(target_arch = "x86_64")]
impl Lanes for V4 {
    type V = pulp::u32x16;
    type W = pulp::u64x8;
    const WIDTH: usize = 16;

    #[inline(always)]
    fn splat(self, x: u32) -> Self::V {
        self.splat_u32x16(x)
    }
    #[inline(always)]
    fn splat_wide(self, x: u64) -> Self::W {
        self.splat_u64x8(x)
    }
    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        self.wrapping_add_u32x16(a, b)
    }
    #[inline(always)]
    fn sub(self, a: Self::V, b: Self::V) -> Self::V {
        self.wrapping_sub_u32x16(a, b)
    }
    #[inline(always)]
    fn min(self, a: Self::V, b: Self::V) -> Self::V {
        cast(self.avx512f._mm512_min_epu32(cast(a), cast(b)))
    }
    #[inline(always)]
    fn odd(self, a: Self::V) -> Self::V {
        cast(self.avx512f._mm512_srli_epi64::<32>(cast(a)))
    }
    #[inline(always)]
    fn mul_even(self, a: Self::V, b: Self::V) -> Self::W {
        cast(self.avx512f._mm512_mul_epu32(cast(a), cast(b)))
    }
    #[inline(always)]
    fn mul_even_signed(self, a: Self::V, b: Self::V) -> Self::W {
        cast(self.avx512f._mm512_mul_epi32(cast(a), cast(b)))
    }
    #[inline(always)]
    fn add_wide(self, a: Self::W, b: Self::W) -> Self::W {
        self.wrapping_add_u64x8(a, b)
    }
    #[inline(always)]
    fn sub_wide(self, a: Self::W, b: Self::W) -> Self::W {
        self.wrapping_sub_u64x8(a, b)
    }
    #[inline(always)]
    fn shift_right(self, a: Self::W, bits: u32) -> Self::W {
        self.shr_u64x8(a, pulp::u64x2(u64::from(bits), 0))
    }
    #[inline(always)]
    fn low(self, a: Self::W) -> Self::V {
        cast(a)
    }
    #[inline(always)]
    fn merge_low(self, even: Self::W, odd: Self::W) -> Self::V {
        let odd = self.avx512f._mm512_slli_epi64::<32>(cast(odd));
        cast(self.avx512f._mm512_mask_blend_epi32(0xaaaa, cast(even), odd))
    }
    #[inline(always)]
    fn merge_high(self, even: Self::W, odd: Self::W) -> Self::V {
        let even = self.avx512f._mm512_srli_epi64::<32>(cast(even));
        cast(self.avx512f._mm512_mask_blend_epi32(0xaaaa, even, cast(odd)))
    }
    #[inline(always)]
    fn permute(self, a: Self::V, pattern: Self::V) -> Self::V {
        cast(self.avx512f._mm512_permutexvar_epi32(cast(pattern), cast(a)))
    }
}

#[cfg(target_arch = "x86_64")]
impl Lanes for V3 {
    type V = pulp::u32x8;
    type W = pulp::u64x4;
    const WIDTH: usize = 8;

    #[inline(always)]
    fn splat(self, x: u32) -> Self::V {
        self.splat_u32x8(x)
    }
    #[inline(always)]
    fn splat_wide(self, x: u64) -> Self::W {
        self.splat_u64x4(x)
    }
    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        self.wrapping_add_u32x8(a, b)
    }
    #[inline(always)]
    fn sub(self, a: Self::V, b: Self::V) -> Self::V {
        self.wrapping_sub_u32x8(a, b)
    }
    #[inline(always)]
    fn min(self, a: Self::V, b: Self::V) -> Self::V {
        cast(self.avx2._mm256_min_epu32(cast(a), cast(b)))
    }
    #[inline(always)]
    fn odd(self, a: Self::V) -> Self::V {
        cast(self.avx2._mm256_srli_epi64::<32>(cast(a)))
    }
    #[inline(always)]
    fn mul_even(self, a: Self::V, b: Self::V) -> Self::W {
        cast(self.avx2._mm256_mul_epu32(cast(a), cast(b)))
    }
    #[inline(always)]
    fn mul_even_signed(self, a: Self::V, b: Self::V) -> Self::W {
        cast(self.avx2._mm256_mul_epi32(cast(a), cast(b)))
    }
    #[inline(always)]
    fn add_wide(self, a: Self::W, b: Self::W) -> Self::W {
        self.wrapping_add_u64x4(a, b)
    }
    #[inline(always)]
    fn sub_wide(self, a: Self::W, b: Self::W) -> Self::W {
        self.wrapping_sub_u64x4(a, b)
    }
    #[inline(always)]
    fn shift_right(self, a: Self::W, bits: u32) -> Self::W {
        self.shr_u64x4(a, pulp::u64x2(u64::from(bits), 0))
    }
    #[inline(always)]
    fn low(self, a: Self::W) -> Self::V {
        cast(a)
    }
    #[inline(always)]
    fn merge_low(self, even: Self::W, odd: Self::W) -> Self::V {
        let odd = self.avx2._mm256_slli_epi64::<32>(cast(odd));
        cast(self.avx2._mm256_blend_epi32::<0b1010_1010>(cast(even), odd))
    }
    #[inline(always)]
    fn merge_high(self, even: Self::W, odd: Self::W) -> Self::V {
        let even = self.avx2._mm256_srli_epi64::<32>(cast(even));
        cast(self.avx2._mm256_blend_epi32::<0b1010_1010>(even, cast(odd)))
    }
    #[inline(always)]
    fn permute(self, a: Self::V, pattern: Self::V) -> Self::V {
        cast(self.avx2._mm256_permutevar8x32_epi32(cast(a), cast(pattern)))
    }
}

/// Plain words, two at a time, for machines without wider lanes.
#[derive(Clone, Copy)]
pub(crate) struct Words;

impl Lanes for Words {
    type V = [u32; 2];
    type W = u64;
    const WIDTH: usize = 2;

    #[inline(always)]
    fn splat(self, x: u32) -> Self::V {
        [x; 2]
    }
    #[inline(always)]
    fn splat_wide(self, x: u64) -> Self::W {
        x
    }
    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        [a[0].wrapping_add(b[0]), a[1].wrapping_add(b[1])]
    }
    #[inline(always)]
    fn sub(self, a: Self::V, b: Self::V) -> Self::V {
        [a[0].wrapping_sub(b[0]), a[1].wrapping_sub(b[1])]
    }
    #[inline(always)]
    fn min(self, a: Self::V, b: Self::V) -> Self::V {
        [a[0].min(b[0]), a[1].min(b[1])]
    }
    #[inline(always)]
    fn odd(self, a: Self::V) -> Self::V {
        [a[1], 0]
    }
    #[inline(always)]
    fn mul_even(self, a: Self::V, b: Self::V) -> Self::W {
        u64::from(a[0]) * u64::from(b[0])
    }
    #[inline(always)]
    fn mul_even_signed(self, a: Self::V, b: Self::V) -> Self::W {
        (i64::from(a[0] as i32) * i64::from(b[0] as i32)) as u64
    }
    #[inline(always)]
    fn add_wide(self, a: Self::W, b: Self::W) -> Self::W {
        a.wrapping_add(b)
    }
    #[inline(always)]
    fn sub_wide(self, a: Self::W, b: Self::W) -> Self::W {
        a.wrapping_sub(b)
    }
    #[inline(always)]
    fn shift_right(self, a: Self::W, bits: u32) -> Self::W {
        a >> bits
    }
    #[inline(always)]
    fn low(self, a: Self::W) -> Self::V {
        [a as u32, 0]
    }
    #[inline(always)]
    fn merge_low(self, even: Self::W, odd: Self::W) -> Self::V {
        [even as u32, odd as u32]
    }
    #[inline(always)]
    fn merge_high(self, even: Self::W, odd: Self::W) -> Self::V {
        [(even >> 32) as u32, (odd >> 32) as u32]
    }
    #[inline(always)]
    fn permute(self, a: Self::V, pattern: Self::V) -> Self::V {
        [a[(pattern[0] & 1) as usize], a[(pattern[1] & 1) as usize]]
    }
}
