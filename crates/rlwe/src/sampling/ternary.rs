use zeroize::Zeroizing;

use super::Generator;

const BLOCK: usize = 1024;

/// Draws `n` independent coefficients, each -1, 0 or 1 with probability 1/3, in
/// constant time.
///
/// The distribution of secret keys and of the ephemeral secret in public-key
/// encryption. A coefficient is the upper half of the product of 3 and a 64-bit
/// word (Lemire, "Fast Random Integer Generation in an Interval", 2019,
/// the multiplication without the rejection), at a statistical distance below 2^-64 from
/// uniform; n coefficients lie within n 2^-64.
///
/// # Examples
///
/// ```
/// use rlwe::sampling::{Generator, ternary};
///
/// let secret = ternary(&mut Generator::from_os()?, 8);
/// assert_eq!(secret.len(), 8);
/// # Ok::<(), rlwe::Error>(())
/// ```
pub fn ternary(generator: &mut Generator, n: usize) -> Zeroizing<Vec<i8>> {
    let mut coefficients = Zeroizing::new(system_memory::filled(0, n));
    let mut words = Zeroizing::new([0; BLOCK]);
    for block in coefficients.chunks_mut(BLOCK) {
        let words = &mut words[..block.len()];
        generator.fill(words);
        for (coefficient, &word) in block.iter_mut().zip(&*words) {
            *coefficient = ((u128::from(word) * 3) >> 64) as i8 - 1;
        }
    }
    coefficients
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::chi_square;

    #[test]
    fn values_are_uniform_alone_and_in_neighbouring_pairs() {
        let secret = ternary(&mut Generator::deterministic([1; 32]), 300_000);
        let mut singles = [0; 3];
        let mut pairs = [0; 9];
        for &c in secret.iter() {
            singles[(c + 1) as usize] += 1;
        }
        for pair in secret.chunks_exact(2) {
            pairs[(3 * (pair[0] + 1) + pair[1] + 1) as usize] += 1;
        }
        assert!(chi_square::excess(&singles, &[1.0 / 3.0; 3]) < 5.0, "{singles:?}");
        assert!(chi_square::excess(&pairs, &[1.0 / 9.0; 9]) < 5.0, "{pairs:?}");
    }

    #[test]
    fn any_length_is_served() {
        for n in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1] {
            assert_eq!(ternary(&mut Generator::deterministic([2; 32]), n).len(), n);
        }
    }
}
