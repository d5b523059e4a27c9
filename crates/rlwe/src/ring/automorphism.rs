//! Automorphisms X -> X^g in the evaluation domain.

use super::lanes;

/// The permutation of evaluation points that X -> X^g causes.
///
/// Position i of a transform holds the value at psi^(2 rev(i) + 1), rev being
/// bit reversal. The image under X -> X^g holds there the old value at exponent
/// g (2 rev(i) + 1). Since bit reversal turns low bits into high bits, an aligned
/// block of W positions goes to one aligned block of W positions: the move is a
/// copy of blocks with one of W affine patterns inside each.
///
/// Blocks are listed by where they come from: reading in order and writing out of
/// order is the faster way round, since many limbs are read for one that is written.
#[derive(Debug, Clone)]
pub(crate) struct Automorphism {
    /// For each block: the block it goes to, and the number of its pattern.
    pub(crate) moves: Vec<(u32, u32)>,
    /// W patterns of W lanes: lane i comes from lane `patterns[p * W + i]`.
    pub(crate) patterns: Vec<u32>,
}

fn reverse(x: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { x.reverse_bits() >> (usize::BITS - bits) }
}

impl Automorphism {
    /// The automorphism X -> X^g of ring degree 2^log_n, g odd.
    pub(crate) fn new(log_n: u32, g: usize) -> Self {
        let width = lanes::width();
        let log_width = width.trailing_zeros();
        let block_bits = log_n - log_width;
        let blocks = 1usize << block_bits;
        let mut moves = system_memory::filled((0, 0), blocks);
        for block in 0..blocks {
            let image = g * reverse(block, block_bits) + (g - 1) / 2;
            let source = reverse(image % blocks, block_bits);
            moves[source] = (block as u32, ((image >> block_bits) % width) as u32);
        }
        let patterns = (0..width)
            .flat_map(|shift| {
                (0..width).map(move |lane| {
                    let image = (g * reverse(lane, log_width) + shift) % width;
                    reverse(image, log_width) as u32
                })
            })
            .collect();
        Self { moves, patterns }
    }
}

/// The Galois element of a left rotation by k slots: 5^k mod 2N.
pub fn rotation_element(log_n: u32, k: i64) -> usize {
    let slots = 1i64 << (log_n - 1);
    let mask = (2usize << log_n) - 1;
    let mut exponent = k.rem_euclid(slots);
    let (mut base, mut element) = (5usize, 1usize);
    while exponent > 0 {
        if exponent & 1 == 1 {
            element = element.wrapping_mul(base) & mask;
        }
        base = base.wrapping_mul(base) & mask;
        exponent >>= 1;
    }
    element
}

/// The Galois element of complex conjugation: -1 mod 2N.
pub fn conjugation_element(log_n: u32) -> usize {
    (2usize << log_n) - 1
}

/// g^-1 mod 2N for odd g.
pub(crate) fn inverse_element(log_n: u32, g: usize) -> usize {
    let mask = (2usize << log_n) - 1;
    let mut inverse = 1usize;
    for _ in 0..5 {
        inverse = inverse.wrapping_mul(2usize.wrapping_sub(g.wrapping_mul(inverse)));
    }
    inverse & mask
}
