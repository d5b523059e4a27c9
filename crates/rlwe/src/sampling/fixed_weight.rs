use zeroize::Zeroizing;

use super::{Generator, sorting_network};
use crate::{Error, Result};

// A key is 62 random bits above a 2-bit code, so that sorting keys shuffles codes.
const CODE_BITS: u32 = 2;
const CODE_MASK: u64 = (1 << CODE_BITS) - 1;
const PLUS: u64 = 1;
// No code equals the mask, so padding sorts behind every key.
const PADDING: u64 = u64::MAX;

/// Draws `n` coefficients of which exactly `weight` are -1 or 1 and the rest 0,
/// every such choice equally likely, in constant time.
///
/// The distribution of sparse secrets. A fixed pattern of `weight` random signs
/// followed by zeros is shuffled by sorting it under random 62-bit keys with a
/// sorting network (algorithm FieldOrdering of the Classic McEliece specification,
/// 2022, shuffles so). Should two keys collide, with
/// probability below n^2 2^-63, all are drawn afresh, so the result is exactly
/// uniform; that draws were repeated says nothing about the result.
///
/// # Errors
///
/// [`Error::InvalidArgument`] if `weight` exceeds `n`.
///
/// # Examples
///
/// ```
/// use rlwe::sampling::{Generator, fixed_weight_ternary};
///
/// let secret = fixed_weight_ternary(&mut Generator::from_os()?, 1 << 12, 32)?;
/// assert_eq!(secret.iter().filter(|&&c| c != 0).count(), 32);
/// # Ok::<(), rlwe::Error>(())
/// ```
pub fn fixed_weight_ternary(
    generator: &mut Generator,
    n: usize,
    weight: usize,
) -> Result<Zeroizing<Vec<i8>>> {
    if weight > n {
        return Err(Error::InvalidArgument {
            operation: "draw a sparse secret",
            reason: format!("weight {weight} exceeds the {n} coefficients"),
        });
    }
    let mut keys = Zeroizing::new(system_memory::filled(PADDING, n.next_power_of_two()));
    loop {
        generator.fill(&mut keys[..n]);
        for (index, key) in keys[..n].iter_mut().enumerate() {
            let code = if index < weight { PLUS + (*key & 1) } else { 0 };
            *key = (*key & !CODE_MASK) | code;
        }
        sorting_network::sort(&mut keys);
        if !collide(&keys[..n]) {
            break;
        }
        keys.fill(PADDING);
    }
    let decode = |key: &u64| (key & 1) as i8 - (key >> 1 & 1) as i8;
    Ok(Zeroizing::new(system_memory::collected(keys[..n].iter().map(decode))))
}

fn collide(sorted: &[u64]) -> bool {
    sorted.windows(2).fold(0, |seen, pair| seen | u64::from(pair[0] ^ pair[1] <= CODE_MASK)) != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::chi_square;

    #[test]
    fn the_weight_is_exact_at_every_length() -> Result<()> {
        let mut generator = Generator::deterministic([4; 32]);
        for (n, weight) in [(0, 0), (1, 0), (1, 1), (5, 5), (100, 37), (4096, 192), (1 << 15, 192)]
        {
            let secret = fixed_weight_ternary(&mut generator, n, weight)?;
            assert_eq!(secret.len(), n);
            assert_eq!(secret.iter().map(|c| c.unsigned_abs() as usize).sum::<usize>(), weight);
        }
        Ok(())
    }

    #[test]
    fn too_great_a_weight_is_refused() {
        let refusal = fixed_weight_ternary(&mut Generator::deterministic([5; 32]), 8, 9);
        assert!(matches!(refusal, Err(Error::InvalidArgument { .. })));
    }

    #[test]
    fn every_arrangement_is_equally_likely() -> Result<()> {
        let mut generator = Generator::deterministic([6; 32]);
        let mut arrangements = std::collections::HashMap::new();
        // C(5, 2) places and 2^2 signs.
        let possible = 40;
        for _ in 0..20_000 {
            let secret = fixed_weight_ternary(&mut generator, 5, 2)?;
            *arrangements.entry(secret.to_vec()).or_insert(0) += 1;
        }
        let observed: Vec<usize> = arrangements.into_values().collect();
        assert_eq!(observed.len(), possible);
        assert!(chi_square::excess(&observed, &[1.0 / 40.0; 40]) < 5.0, "{observed:?}");
        Ok(())
    }

    #[test]
    fn places_and_signs_are_uniform_in_a_long_secret() -> Result<()> {
        let mut generator = Generator::deterministic([7; 32]);
        let (n, weight) = (1024, 192);
        let mut places = vec![0; n];
        let mut signs = [0; 2];
        for _ in 0..500 {
            let secret = fixed_weight_ternary(&mut generator, n, weight)?;
            for (index, &c) in secret.iter().enumerate().filter(|(_, c)| **c != 0) {
                places[index] += 1;
                signs[usize::from(c > 0)] += 1;
            }
        }
        assert!(chi_square::excess(&places, &vec![1.0 / n as f64; n]) < 5.0);
        assert!(chi_square::excess(&signs, &[0.5; 2]) < 5.0, "{signs:?}");
        Ok(())
    }

    #[test]
    fn equal_keys_under_different_codes_collide() {
        assert!(collide(&[4, 5]));
        assert!(!collide(&[3, 4]));
        assert!(!collide(&[]));
    }
}
