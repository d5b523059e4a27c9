use chacha20::ChaCha20Legacy;
use chacha20::cipher::{KeyIvInit, StreamCipher};

use super::Seed;
use crate::{Error, Result};

const BLOCK: usize = 2048;
/// Words that are looked at together: nearly always, all of them are residues.
const TOGETHER: usize = 16;

/// Expands a public seed into residues that are uniform in [0, `q`).
///
/// Stored keys hold seeds, so this map is part of their format and never changes:
///
/// 1. The keystream is ChaCha20 in Bernstein's original form ("ChaCha, a variant
///    of Salsa20", 2008): 20 rounds; the key is the seed's 32 bytes; state
///    words 12 and 13 are the block counter from 0, low word first; words 14 and
///    15 are `stream`, low word first.
/// 2. The keystream is read as little-endian 32-bit words, in order, none skipped.
/// 3. Of each word the lowest b bits are kept, where b is the bit length of `q` - 1.
/// 4. A result below `q` is the next residue; any other is dropped.
///
/// Limbs take different `stream` numbers and so expand independently, in parallel.
/// The time depends on the seed, which is public.
///
/// # Errors
///
/// [`Error::InvalidArgument`] if `q` is 0.
///
/// # Examples
///
/// ```
/// use rlwe::sampling::{Seed, uniform_residues};
///
/// let mut limb = [0; 4];
/// uniform_residues(&Seed([0; 32]), 0, 1_073_479_681, &mut limb)?;
/// assert!(limb.iter().all(|&residue| residue < 1_073_479_681));
/// # Ok::<(), rlwe::Error>(())
/// ```
pub fn uniform_residues(seed: &Seed, stream: u64, q: u32, out: &mut [u32]) -> Result<()> {
    if q == 0 {
        return Err(Error::InvalidArgument {
            operation: "expand a seed",
            reason: "there are no residues modulo 0".to_owned(),
        });
    }
    let mask = u32::MAX.checked_shr((q - 1).leading_zeros()).unwrap_or(0);
    // Of the two forms of the keystream in the crate, this one has all vector instructions.
    let mut keystream = ChaCha20Legacy::new(&seed.0.into(), &stream.to_le_bytes().into());
    let mut words = [0; BLOCK];
    let mut accepted = 0;
    while accepted < out.len() {
        // No more words than places left, so that accepting needs no check.
        let words = &mut words[..BLOCK.min(out.len() - accepted)];
        keystream.write_keystream(bytemuck::cast_slice_mut(words));
        for words in words.chunks(TOGETHER) {
            accepted += accept(words, mask, q, &mut out[accepted..]);
        }
    }
    Ok(())
}

/// Writes the residues among words to the first places, and tells how many there are.
fn accept(words: &[u32], mask: u32, q: u32, out: &mut [u32]) -> usize {
    let places = &mut out[..words.len()];
    // The highest bit is set wherever a candidate is q or more. Above 2^31 it may be set elsewhere.
    let mut beyond = 0;
    for (place, word) in places.iter_mut().zip(words) {
        *place = u32::from_le(*word) & mask;
        beyond |= (q - 1).wrapping_sub(*place);
    }
    if beyond >> 31 == 0 {
        return places.len();
    }
    let mut accepted = 0;
    for place in 0..places.len() {
        let candidate = places[place];
        places[accepted] = candidate;
        accepted += usize::from(candidate < q);
    }
    accepted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::chi_square;

    const Q: u32 = 1_073_479_681;

    fn expand(seed: u8, stream: u64, q: u32, n: usize) -> Vec<u32> {
        let mut out = vec![0; n];
        uniform_residues(&Seed([seed; 32]), stream, q, &mut out).expect("q is not 0");
        out
    }

    /// The definition, step by step: one block of ChaCha20 at a time.
    fn expand_by_definition(seed: [u8; 32], stream: u64, q: u32, n: usize) -> Vec<u32> {
        let bits = 32 - (q - 1).leading_zeros();
        let words = (0u64..).flat_map(|counter| chacha20_block(seed, counter, stream));
        let kept = words.map(|word| (u64::from(word) & ((1 << bits) - 1)) as u32);
        kept.filter(|&residue| residue < q).take(n).collect()
    }

    fn chacha20_block(key: [u8; 32], counter: u64, nonce: u64) -> [u32; 16] {
        let mut state = [0; 16];
        state[..4].copy_from_slice(&[0x61707865, 0x3320646e, 0x79622d32, 0x6b206574]);
        for (word, bytes) in state[4..12].iter_mut().zip(key.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        state[12..14].copy_from_slice(&[counter as u32, (counter >> 32) as u32]);
        state[14..].copy_from_slice(&[nonce as u32, (nonce >> 32) as u32]);
        let mut mixed = state;
        for _ in 0..10 {
            for [a, b, c, d] in [
                [0, 4, 8, 12],
                [1, 5, 9, 13],
                [2, 6, 10, 14],
                [3, 7, 11, 15],
                [0, 5, 10, 15],
                [1, 6, 11, 12],
                [2, 7, 8, 13],
                [3, 4, 9, 14],
            ] {
                for (x, y, z, turn) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
                    mixed[x] = mixed[x].wrapping_add(mixed[y]);
                    mixed[z] = (mixed[z] ^ mixed[x]).rotate_left(turn);
                }
            }
        }
        std::array::from_fn(|i| mixed[i].wrapping_add(state[i]))
    }

    #[test]
    fn the_expansion_is_the_documented_one() {
        for (stream, q) in [
            (0, Q),
            (1, 12289),
            (u64::MAX - 5, (1 << 31) - 1),
            (1 << 32, 65536),
            (2, (1 << 31) + 1),
            (3, u32::MAX - 4),
        ] {
            let expected = expand_by_definition([9; 32], stream, q, 5000);
            assert_eq!(expand(9, stream, q, 5000), expected, "stream {stream}, modulus {q}");
        }
    }

    #[test]
    fn the_first_residues_are_pinned() {
        let seed = Seed(std::array::from_fn(|i| i as u8));
        let mut out = [0; 8];
        uniform_residues(&seed, 0x0123_4567_89ab_cdef, Q, &mut out).expect("q is not 0");
        assert_eq!(
            out,
            [21099566, 319365872, 139866153, 328254879, 52902844, 482620900, 228519905, 279146625]
        );
    }

    #[test]
    fn the_keystream_of_the_zero_key_is_the_published_one() {
        // First block of test vector 1 of RFC 7539, appendix A.1.
        assert_eq!(expand(0, 0, u32::MAX, 4), [0xade0b876, 0x903df1a0, 0xe56a5d40, 0x28bd8653]);
    }

    #[test]
    fn residues_are_uniform() {
        for q in [2, 17, 12289, Q, (1 << 30) + 1, u32::MAX] {
            let cells = u64::from(q.min(64));
            let mut observed = vec![0; cells as usize];
            for residue in expand(1, 0, q, 200_000) {
                observed[(u64::from(residue) * cells / u64::from(q)) as usize] += 1;
            }
            let expected: Vec<f64> = (0..cells)
                .map(|cell| {
                    let first = (cell * u64::from(q)).div_ceil(cells);
                    let end = ((cell + 1) * u64::from(q)).div_ceil(cells);
                    (end - first) as f64 / f64::from(q)
                })
                .collect();
            assert!(chi_square::excess(&observed, &expected) < 5.0, "modulus {q}");
        }
    }

    #[test]
    fn seeds_and_streams_separate_expansions() {
        let base = expand(1, 0, Q, 64);
        for other in [expand(1, 1, Q, 64), expand(1, 1 << 32, Q, 64), expand(2, 0, Q, 64)] {
            assert!(base.iter().zip(&other).filter(|(a, b)| a == b).count() < 2);
        }
    }

    #[test]
    fn a_shorter_expansion_is_a_prefix() {
        let long = expand(3, 7, 786_433, 10_000);
        for n in [0, 1, 15, 16, 2047, 2049, 9_999] {
            assert_eq!(expand(3, 7, 786_433, n), long[..n]);
        }
    }

    #[test]
    fn the_smallest_moduli_are_served() {
        assert_eq!(expand(1, 0, 1, 3), [0; 3]);
        let refusal = uniform_residues(&Seed([0; 32]), 0, 0, &mut [0; 3]);
        assert!(matches!(refusal, Err(Error::InvalidArgument { .. })));
    }
}
