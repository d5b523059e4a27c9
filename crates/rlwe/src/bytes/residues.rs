//! Polynomials: a word for each residue, prime by prime.

use envelope::Reader;

use crate::Result;
use crate::core::Parameters;
use crate::core::keys::expand_half;
use crate::ring::poly::{Basis, Poly};
use crate::sampling::Seed;

const WORD: usize = size_of::<u32>();

/// Bytes of a polynomial over `basis`.
pub(super) fn length(parameters: &Parameters, basis: &Basis) -> usize {
    basis.len() * parameters.n() * WORD
}

pub(super) fn write(bytes: &mut Vec<u8>, poly: &Poly) {
    let start = bytes.len();
    bytes.resize(start + poly.words().len() * WORD, 0);
    let (places, _) = bytes[start..].as_chunks_mut();
    for (place, word) in places.iter_mut().zip(poly.words()) {
        *place = word.to_le_bytes();
    }
}

/// A polynomial over `basis`.
pub(super) fn poly(
    reader: &mut Reader<'_>,
    parameters: &Parameters,
    basis: &Basis,
) -> Result<Poly> {
    let bytes = reader.take(length(parameters, basis))?;
    let ring = parameters.ring();
    let mut poly = ring.unwritten(basis);
    let limbs = poly.limbs_mut().zip(bytes.chunks_exact(ring.n() * WORD));
    for ((position, limb), bytes) in limbs {
        let (words, _) = bytes.as_chunks();
        let mut largest = 0;
        for (residue, &word) in limb.iter_mut().zip(words) {
            *residue = u32::from_le_bytes(word);
            largest = largest.max(*residue);
        }
        let q = ring.modulus(position).q;
        if largest >= q {
            let reason = format!("expected residues below {q}, got {largest}");
            return Err(reader.malformed(reason).into());
        }
    }
    Ok(poly)
}

/// The `count` polynomials of a ciphertext at `level`, and the seed of the second while it
/// is fresh.
pub(super) fn polys(
    reader: &mut Reader<'_>,
    parameters: &Parameters,
    level: usize,
    count: u8,
    is_fresh: bool,
) -> Result<(Option<Seed>, Vec<Poly>)> {
    let basis = parameters.level_basis(level);
    match (count, is_fresh) {
        (2, true) => {
            let seed = Seed(reader.array()?);
            let first = poly(reader, parameters, basis)?;
            let second = expand_half(parameters, &seed, 0, basis)?;
            Ok((Some(seed), vec![first, second]))
        }
        (2 | 3, false) => {
            let polys = (0..count).map(|_| poly(reader, parameters, basis));
            Ok((None, polys.collect::<Result<_>>()?))
        }
        (_, is_fresh) => {
            let expected = if is_fresh { "2" } else { "2 or 3" };
            let reason = format!("expected {expected} polynomials, got {count}");
            Err(reader.malformed(reason).into())
        }
    }
}
