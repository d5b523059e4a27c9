//! Polynomials: a word for each residue, prime by prime.

use envelope::Reader;

use crate::Result;
use crate::core::Parameters;
use crate::core::keys::expand_half;
use crate::core::rotated_products::UnswitchedProducts;
use crate::ring::bundle::Bundle;
use crate::ring::poly::{Basis, Poly, Ring};
use crate::sampling::Seed;

const WORD: usize = size_of::<u32>();

/// Bytes of a polynomial over `basis`.
pub(super) fn length(parameters: &Parameters, basis: &Basis) -> usize {
    basis.len() * parameters.n() * WORD
}

pub(super) fn write(bytes: &mut Vec<u8>, poly: &Poly) {
    write_words(bytes, poly.words());
}

fn write_words(bytes: &mut Vec<u8>, words: &[u32]) {
    let start = bytes.len();
    bytes.resize(start + words.len() * WORD, 0);
    let (places, _) = bytes[start..].as_chunks_mut();
    for (place, word) in places.iter_mut().zip(words) {
        *place = word.to_le_bytes();
    }
}

/// Reads residues modulo the prime at `position`.
fn read_limb(
    reader: &Reader<'_>,
    ring: &Ring,
    position: usize,
    bytes: &[u8],
    limb: &mut [u32],
) -> Result<()> {
    let (words, _) = bytes.as_chunks();
    let mut largest = 0;
    for (residue, &word) in limb.iter_mut().zip(words) {
        *residue = u32::from_le_bytes(word);
        largest = largest.max(*residue);
    }
    let q = ring.modulus(position).q;
    if largest < q {
        return Ok(());
    }
    let reason = format!("expected residues below {q}, got {largest}");
    Err(reader.malformed(reason).into())
}

/// A polynomial over `basis`.
pub(super) fn poly(
    reader: &mut Reader<'_>,
    parameters: &Parameters,
    basis: &Basis,
) -> Result<Poly> {
    poly_of(reader, parameters.ring(), basis)
}

/// A polynomial of a ring over `basis`.
pub(super) fn poly_of(reader: &mut Reader<'_>, ring: &Ring, basis: &Basis) -> Result<Poly> {
    let bytes = reader.take(basis.len() * ring.n() * WORD)?;
    let mut poly = ring.unwritten(basis);
    let limbs = poly.limbs_mut().zip(bytes.chunks_exact(ring.n() * WORD));
    for ((position, limb), bytes) in limbs {
        read_limb(reader, ring, position, bytes, limb)?;
    }
    Ok(poly)
}

/// Polynomials over `basis`, one after the other, with room for as many more.
pub(super) fn bundle(
    reader: &mut Reader<'_>,
    parameters: &Parameters,
    basis: &Basis,
    count: usize,
) -> Result<Bundle> {
    let (ring, n) = (parameters.ring(), parameters.n());
    let (of_poly, of_limb) = (length(parameters, basis), n * WORD);
    let bytes = reader.take(count * of_poly)?;
    Bundle::with_room(n, basis, count, |position, limbs| {
        let start = basis.find(position).expect("a prime of the basis") * of_limb;
        let polys = limbs.chunks_exact_mut(n).zip(bytes.chunks_exact(of_poly));
        for (limb, poly) in polys {
            read_limb(reader, ring, position, &poly[start..start + of_limb], limb)?;
        }
        Ok(())
    })
}

/// Bytes of the step of rotated products, and of their residues.
pub(super) fn products_length(products: &UnswitchedProducts) -> usize {
    size_of::<u32>() + products.nbytes()
}

pub(super) fn write_products(bytes: &mut Vec<u8>, products: &UnswitchedProducts) {
    bytes.extend_from_slice(&(products.step() as u32).to_le_bytes());
    products.limbs().for_each(|(_, limb)| write_words(bytes, limb));
}

/// Rotated products at `level`.
pub(super) fn products(
    reader: &mut Reader<'_>,
    parameters: &Parameters,
    level: usize,
) -> Result<UnswitchedProducts> {
    let step = reader.u32()? as usize;
    if !step.is_power_of_two() || step > parameters.slots() {
        let most = parameters.slots();
        let reason = format!("expected a step that is a power of two up to {most}, got {step}");
        return Err(reader.malformed(reason).into());
    }
    let (ring, basis) = (parameters.ring(), parameters.level_basis(level));
    let bytes = reader.take(UnswitchedProducts::residues(ring, basis, step) * WORD)?;
    let mut products = UnswitchedProducts::unwritten(ring, basis, step);
    let of_limb = bytes.len() / basis.len();
    for ((position, limb), bytes) in products.limbs_mut().zip(bytes.chunks_exact(of_limb)) {
        read_limb(reader, ring, position, bytes, limb)?;
    }
    Ok(products)
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
