//! Plaintexts: vectors of numbers as scaled polynomials.

use std::fmt;

use rayon::prelude::*;
use rustfft::num_complex::Complex64;
use zeroize::Zeroizing;

use super::estimate::{self, Estimate};
use crate::parallel::Shared;
use crate::parameters::Parameters;
use crate::ring::mixed_radix::MixedRadix;
use crate::ring::modulus::Modulus;
use crate::ring::poly::{Basis, Poly, Ring};
use crate::{Error, Result};

/// Numbers in slots, encoded at a level and a scale.
#[derive(Clone, PartialEq)]
pub struct Plaintext {
    pub(crate) parameters: Parameters,
    pub(crate) level: usize,
    pub(crate) scale: f64,
    pub(crate) slots: usize,
    pub(crate) estimate: Estimate,
    pub(crate) poly: Poly,
}

/// Where and how to encode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Encoding {
    /// The level of the ciphertexts that the plaintext will meet.
    pub level: usize,
    /// The scale; the level's canonical one where `None`.
    pub scale: Option<f64>,
    /// A public bound on the absolute values; the largest of them where `None`, which
    /// tells the evaluator that largest value: give a bound for private data.
    pub bound: Option<f64>,
}

impl Encoding {
    /// At the canonical scale of `level`, the bound taken from the values.
    pub fn at(level: usize) -> Self {
        Self { level, scale: None, bound: None }
    }
}

impl Parameters {
    /// Encodes complex numbers, one a slot; their count is a power of two up to N / 2.
    ///
    /// Fewer than N / 2 values are a sparse packing: they stand for themselves
    /// repeated. The error is that of rounding every coefficient to an integer, plus that
    /// of double precision (about 2^-50 of the largest value), so that scales beyond about
    /// 2^50 gain nothing for values near 1.
    ///
    /// # Errors
    /// [`Error::SlotMismatch`], [`Error::NotFinite`], [`Error::ValueOutOfRange`] when a value
    /// exceeds the bound or, at this scale, a quarter of the modulus,
    /// [`Error::ScaleOutOfRange`] when values near 1 would, [`Error::LevelMismatch`].
    ///
    /// ```
    /// use rlwe::ckks::Encoding;
    /// use rlwe::{Parameters, ParametersLiteral};
    /// let literal = ParametersLiteral { levels: 1, scale_bits: 40.0, ..Default::default() };
    /// let parameters = Parameters::new(literal)?;
    /// let plaintext = parameters.encode_real(&[0.5, -1.0], Encoding::at(1))?;
    /// assert!((plaintext.decode()?[1].re + 1.0).abs() < 1e-9);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn encode(&self, values: &[Complex64], encoding: Encoding) -> Result<Plaintext> {
        let basis = self.basis(encoding.level, "encode")?.clone();
        self.encode_over(values, encoding, &basis)
    }

    /// [`Self::encode`] for real numbers.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn encode_real(&self, values: &[f64], encoding: Encoding) -> Result<Plaintext> {
        let values: Vec<Complex64> = values.iter().map(|&x| Complex64::new(x, 0.0)).collect();
        self.encode(&values, encoding)
    }

    /// Encodes over a basis other than that of the level.
    pub(crate) fn encode_over(
        &self,
        values: &[Complex64],
        encoding: Encoding,
        basis: &Basis,
    ) -> Result<Plaintext> {
        let slots = values.len();
        self.check_slots(slots, "encode")?;
        let scale = match encoding.scale {
            Some(scale) => scale,
            None => self.scale(encoding.level)?,
        };
        let bound = check_values(values, encoding.bound)?;
        self.check_scale(encoding.level, scale, "encode")?;
        let coefficients = self.encoder().embed(values)?;
        let rounded = super::rounding::scale_and_round(&coefficients, scale)?;
        let most = self.largest_coefficient(encoding.level)?;
        if rounded.magnitude() >= most {
            let value = values.iter().map(magnitude).fold(0.0, f64::max);
            let bound = most / scale;
            return Err(Error::ValueOutOfRange { operation: "encode", value, bound });
        }
        let ring = self.ring();
        let mut poly = ring.unwritten(basis);
        poly.par_limbs_mut().shared().try_for_each(|(position, limb)| {
            let prime = &ring.primes[position];
            rounded.residues(prime.modulus.q, limb)?;
            prime.forward(limb);
            Ok(())
        })?;
        let error = estimate::in_slots(estimate::encoding(), slots, scale);
        Ok(Plaintext {
            parameters: self.clone(),
            level: encoding.level,
            scale,
            slots,
            estimate: Estimate::exact(bound).with_error(error),
            poly,
        })
    }

    /// Refuses a number of slots that is no power of two up to N / 2.
    pub(crate) fn check_slots(&self, slots: usize, operation: &'static str) -> Result<()> {
        if slots.is_power_of_two() && slots <= self.slots() {
            return Ok(());
        }
        let expected = slots.checked_next_power_of_two().unwrap_or(usize::MAX).min(self.slots());
        Err(Error::SlotMismatch { operation, expected, actual: slots })
    }

    /// Refuses a scale that is no positive number or leaves no room for values near 1.
    pub(crate) fn check_scale(
        &self,
        level: usize,
        scale: f64,
        operation: &'static str,
    ) -> Result<()> {
        let modulus_bits = self.log_q(level)?;
        if scale.is_finite() && scale >= 1.0 && scale.log2() + 1.0 < modulus_bits {
            return Ok(());
        }
        Err(Error::ScaleOutOfRange { operation, scale, modulus_bits })
    }

    /// What coefficients at `level` must stay below: beyond half the modulus they would wrap
    /// around it, and another half is what decoding keeps clear to notice those that do.
    pub(crate) fn largest_coefficient(&self, level: usize) -> Result<f64> {
        Ok((self.log_q(level)? - 2.0).exp2())
    }

    /// Refuses values that may wrap around the modulus of `level` at `scale`.
    ///
    /// Sums, products and rotations are right modulo the modulus whatever wraps; divisions and
    /// decryption are not, and call this.
    pub(crate) fn check_room(
        &self,
        level: usize,
        scale: f64,
        bound: f64,
        operation: &'static str,
    ) -> Result<()> {
        let capacity = self.largest_coefficient(level)? / scale;
        if bound < capacity {
            return Ok(());
        }
        Err(Error::BoundOverflow { operation, bound, capacity })
    }

    /// The scale of a plaintext that takes a ciphertext of `scale` at `level`, multiplied and
    /// rescaled, to the canonical scale of the level below.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] at level 0.
    pub fn matching_scale(&self, level: usize, scale: f64) -> Result<f64> {
        let factor = self.rescale_factor(level)?;
        Ok(self.scale(level - 1)? * factor / scale)
    }
}

/// The absolute value; that of a real number, which most are, without a root.
pub(crate) fn magnitude(value: &Complex64) -> f64 {
    if value.im == 0.0 { value.re.abs() } else { value.norm() }
}

/// The bound of the values, after checking that it holds.
pub(crate) fn check_values(values: &[Complex64], bound: Option<f64>) -> Result<f64> {
    let operation = "encode";
    if let Some(index) = values.iter().position(|x| !(x.re.is_finite() && x.im.is_finite())) {
        return Err(Error::NotFinite { operation, index });
    }
    let largest = values.iter().map(magnitude).fold(0.0, f64::max);
    let bound = bound.unwrap_or(largest);
    if largest > bound || !bound.is_finite() {
        return Err(Error::ValueOutOfRange { operation, value: largest, bound });
    }
    Ok(bound)
}

impl Plaintext {
    /// The level that it is encoded at.
    pub fn level(&self) -> usize {
        self.level
    }

    /// The factor between coefficients and values.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// The number of values.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The public bound on the absolute values.
    pub fn bound(&self) -> f64 {
        self.estimate.bound
    }

    /// The values.
    ///
    /// # Errors
    /// [`Error::DecryptionOverflow`] when the coefficients fill the modulus.
    pub fn decode(&self) -> Result<Vec<Complex64>> {
        let coefficients = reconstruct(self.parameters.ring(), &self.poly)?;
        let scaled: Vec<f64> = coefficients.iter().map(|&x| x as f64 / self.scale).collect();
        self.parameters.encoder().project(&scaled, self.slots)
    }

    /// The real parts of the values.
    ///
    /// # Errors
    /// As [`Self::decode`].
    pub fn decode_real(&self) -> Result<Vec<f64>> {
        Ok(self.decode()?.into_iter().map(|x| x.re).collect())
    }
}

/// Tells nothing of the values.
impl fmt::Debug for Plaintext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plaintext({self})")
    }
}

impl fmt::Display for Plaintext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "level {} of {}, scale 2^{:.3}, {} slots, N = 2^{}, {}",
            self.level,
            self.parameters.max_level(),
            self.scale.log2(),
            self.slots,
            self.parameters.log_n(),
            self.parameters.security(),
        )
    }
}

/// Bits of modulus that are reconstructed exactly; further primes only confirm.
const EXACT_BITS: f64 = 120.0;

/// Primes that are used for them at most, the largest first.
const MAX_EXACT: usize = 7;

/// The centred coefficients of `poly`, which must be small beside the modulus.
///
/// Residues modulo primes of about 120 bits together give the coefficient (mixed
/// radix, Garner 1959); one more prime, or room at the top, must agree. All is wiped from
/// memory: of a decryption it gives the secret key away, beside the ciphertext.
pub(crate) fn reconstruct(ring: &Ring, poly: &Poly) -> Result<Zeroizing<Vec<i128>>> {
    let mut positions: Vec<usize> = poly.basis.iter().collect();
    positions.sort_by_key(|&p| std::cmp::Reverse(ring.modulus(p).q));
    let mut bits = 0.0;
    let exact = positions
        .iter()
        .take_while(|&&p| {
            bits += f64::from(ring.modulus(p).q).log2();
            bits < EXACT_BITS
        })
        .count()
        .min(MAX_EXACT);
    positions.truncate(exact + 1);
    let limb = |&p: &usize| Zeroizing::new(poly.limb(p).to_vec());
    let mut limbs: Vec<Zeroizing<Vec<u32>>> = positions.iter().map(limb).collect();
    let each = limbs.par_iter_mut().zip(&positions).shared();
    each.for_each(|(limb, &p)| ring.primes[p].inverse(limb));
    let moduli: Vec<Modulus> = positions.iter().map(|&p| ring.modulus(p)).collect();
    let centring = Centring::new(&moduli, exact);
    let mut coefficients = Zeroizing::new(vec![0; ring.n()]);
    let places = coefficients.par_iter_mut().with_min_len(1024).enumerate();
    places.shared().try_for_each(|(i, coefficient)| {
        let mut residues = [0; MAX_EXACT + 1];
        residues.iter_mut().zip(&limbs).for_each(|(residue, limb)| *residue = limb[i]);
        *coefficient = centring.centred(&residues).ok_or(Error::DecryptionOverflow)?;
        Ok(())
    })?;
    Ok(coefficients)
}

/// Whole numbers from their residues, the last of which may be a witness.
struct Centring {
    radix: MixedRadix,
    /// For each exact prime the product of those before it.
    weights: Vec<i128>,
    /// The product of the exact primes.
    modulus: i128,
    has_witness: bool,
}

impl Centring {
    fn new(moduli: &[Modulus], exact: usize) -> Self {
        let mut modulus = 1;
        let mut weights = Vec::with_capacity(exact);
        for q in &moduli[..exact] {
            weights.push(modulus);
            modulus *= i128::from(q.q);
        }
        let radix = MixedRadix::new(moduli, exact);
        Self { radix, weights, modulus, has_witness: moduli.len() > exact }
    }

    /// The centred value, unless it fills the modulus or the witness contradicts it.
    ///
    /// Without a branch on the residues but for that refusal.
    fn centred(&self, residues: &[u32]) -> Option<i128> {
        let mut digits = [0u32; MAX_EXACT];
        let digits = &mut digits[..self.weights.len()];
        self.radix.digits(residues, digits);
        let weighted = digits.iter().zip(&self.weights);
        let x: i128 = weighted.map(|(&digit, weight)| weight * i128::from(digit)).sum();
        let wraps = u32::from(2 * x > self.modulus);
        let centred = x - i128::from(wraps) * self.modulus;
        let agrees = if self.has_witness {
            let (q, known) = self.radix.residue(digits.len(), digits);
            let modulus = (self.modulus % i128::from(q.q)) as u32;
            residues[digits.len()] == q.sub(known, wraps * modulus)
        } else {
            4 * centred.abs() < self.modulus
        };
        agrees.then_some(centred)
    }
}
