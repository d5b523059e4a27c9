//! From real coefficients to residues: scaling, rounding, reduction.

use crate::ring::wiped::Wiped;
use crate::{Error, Result};

/// Integers below this in magnitude are reduced in one step; 2^61.
pub(crate) const NARROW_BOUND: f64 = (1u64 << 61) as f64;

/// Rounds each coefficient times `scale` to the nearest integer, ties to even.
///
/// The product is taken in `f64`: exact when `scale` is a power of two, else
/// within a relative 2^-53. The integer nearest to that product is held exactly,
/// however large.
///
/// # Errors
///
/// [`Error::InvalidArgument`] unless `scale` is positive and finite;
/// [`Error::NotFinite`] if a coefficient is NaN or infinite;
/// [`Error::ValueOutOfRange`] if a product overflows `f64`.
///
/// # Examples
///
/// ```
/// use rlwe::ckks::rounding::scale_and_round;
///
/// let rounded = scale_and_round(&[1.25, -3.0], 2.0)?;
/// let mut limb = [0; 2];
/// rounded.residues(17, &mut limb)?;
/// assert_eq!(limb, [2, 11]);
/// # Ok::<(), rlwe::Error>(())
/// ```
pub fn scale_and_round(coefficients: &[f64], scale: f64) -> Result<RoundedCoefficients> {
    const OPERATION: &str = "encode";
    if !(scale > 0.0 && scale.is_finite()) {
        return Err(Error::InvalidArgument {
            operation: OPERATION,
            reason: format!("the scale must be positive and finite, got {scale:e}"),
        });
    }
    let magnitude = pulp::Arch::new().dispatch(|| largest_product(coefficients, scale));
    if !magnitude.is_finite() {
        return Err(match coefficients.iter().position(|coefficient| !coefficient.is_finite()) {
            Some(index) => Error::NotFinite { operation: OPERATION, index },
            None => Error::ValueOutOfRange {
                operation: OPERATION,
                value: largest_product(coefficients, 1.0),
                bound: f64::MAX / scale,
            },
        });
    }
    let integers = if magnitude < NARROW_BOUND {
        let mut narrow = Wiped::new(0, coefficients.len());
        pulp::Arch::new().dispatch(|| round_all(coefficients, scale, &mut narrow));
        Integers::Narrow(narrow)
    } else {
        let wide = coefficients.iter().map(|c| WideInteger::nearest(c * scale));
        Integers::Wide(Wiped::collect(wide))
    };
    Ok(RoundedCoefficients { magnitude, integers })
}

/// The integer coefficients of a plaintext, before reduction modulo any prime. Wiped from memory
/// when dropped.
///
/// Made by [`scale_and_round`].
#[derive(Debug, PartialEq)]
pub struct RoundedCoefficients {
    magnitude: f64,
    integers: Integers,
}

impl RoundedCoefficients {
    /// The coefficients, where all are below [`NARROW_BOUND`] in magnitude.
    pub(crate) fn integers(&self) -> Option<&[i64]> {
        match &self.integers {
            Integers::Narrow(integers) => Some(integers),
            Integers::Wide(_) => None,
        }
    }

    /// The number of coefficients.
    pub fn len(&self) -> usize {
        match &self.integers {
            Integers::Narrow(integers) => integers.len(),
            Integers::Wide(integers) => integers.len(),
        }
    }

    /// Whether there are no coefficients.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The largest absolute value among the scaled coefficients, before rounding:
    /// what the modulus must hold.
    ///
    /// # Examples
    ///
    /// ```
    /// use rlwe::ckks::rounding::scale_and_round;
    ///
    /// let rounded = scale_and_round(&[1.25, -3.0], 2f64.powi(40))?;
    /// assert_eq!(rounded.magnitude(), 3.0 * 2f64.powi(40));
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn magnitude(&self) -> f64 {
        self.magnitude
    }

    /// Writes the coefficients modulo `q`, each in [0, `q`), to `out`.
    ///
    /// Reduction is Montgomery's ("Modular multiplication without trial division",
    /// 1985, function REDC) with radix 2^32: no division, and vectorised where
    /// the integers fit 62 bits.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] unless `q` is odd, above 1 and below 2^31, and
    /// `out` is as long as the coefficients.
    ///
    /// # Examples
    ///
    /// ```
    /// use rlwe::ckks::rounding::scale_and_round;
    ///
    /// let rounded = scale_and_round(&[-1.0], 2f64.powi(100))?;
    /// let mut limb = [0];
    /// rounded.residues(101, &mut limb)?;
    /// assert_eq!(limb, [100]); // By Fermat, 2^100 is 1 modulo 101.
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn residues(&self, q: u32, out: &mut [u32]) -> Result<()> {
        self.reduced(q, 1, out)
    }

    /// [`residues`](Self::residues) in Montgomery form, times 2^32: as right factors of Montgomery
    /// products are, and in no more time.
    pub(crate) fn montgomery_residues(&self, q: u32, out: &mut [u32]) -> Result<()> {
        self.reduced(q, 1 << 32, out)
    }

    /// The coefficients times `factor`, modulo `q`.
    fn reduced(&self, q: u32, factor: u64, out: &mut [u32]) -> Result<()> {
        let refuse = |reason| Err(Error::InvalidArgument { operation: "reduce", reason });
        if q.is_multiple_of(2) || !(3..1 << 31).contains(&q) {
            return refuse(format!("the modulus must be odd, above 1 and below 2^31, got {q}"));
        }
        if out.len() != self.len() {
            return refuse(format!("expected {} places, got {}", self.len(), out.len()));
        }
        let reduction = Reduction::new(q, factor);
        match &self.integers {
            Integers::Narrow(integers) => {
                pulp::Arch::new().dispatch(|| reduction.narrow_all(integers, out));
            }
            Integers::Wide(integers) => reduction.wide_all(integers, out),
        }
        Ok(())
    }
}

/// The coefficients of a plaintext, all below [`NARROW_BOUND`] in magnitude, in little memory.
#[derive(Debug, Clone, Copy)]
pub enum IntegerCoefficients<'a> {
    Narrow(&'a [i32]),
    Wide(&'a [i64]),
}

impl IntegerCoefficients<'_> {
    /// The number of coefficients.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Narrow(integers) => integers.len(),
            Self::Wide(integers) => integers.len(),
        }
    }

    /// The largest absolute value.
    pub(crate) fn magnitude(self) -> f64 {
        match self {
            Self::Narrow(integers) => {
                f64::from(integers.iter().map(|x| x.unsigned_abs()).max().unwrap_or(0))
            }
            Self::Wide(integers) => {
                integers.iter().map(|x| x.unsigned_abs()).max().unwrap_or(0) as f64
            }
        }
    }

    /// Writes them modulo a prime of a ring, in Montgomery form.
    pub(crate) fn montgomery_residues(self, q: u32, out: &mut [u32]) {
        self.reduced(Reduction::new(q, 1 << 32), out);
    }

    /// Writes them modulo a prime of a ring.
    pub(crate) fn residues(self, q: u32, out: &mut [u32]) {
        self.reduced(Reduction::new(q, 1), out);
    }

    fn reduced(self, reduction: Reduction, out: &mut [u32]) {
        pulp::Arch::new().dispatch(|| match self {
            Self::Narrow(integers) => reduction.narrow_all(integers, out),
            Self::Wide(integers) => reduction.narrow_all(integers, out),
        });
    }
}

#[derive(Debug, PartialEq)]
enum Integers {
    /// All below [`NARROW_BOUND`] in magnitude.
    Narrow(Wiped<i64>),
    Wide(Wiped<WideInteger>),
}

/// The integer `mantissa` 2^`exponent`, with |`mantissa`| at most 2^53.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct WideInteger {
    mantissa: i64,
    exponent: u16,
}

impl WideInteger {
    fn nearest(value: f64) -> Self {
        const FRACTION_BITS: u32 = f64::MANTISSA_DIGITS - 1;
        // The weight of the last fraction bit is 2^(biased - UNIT_WEIGHT).
        const UNIT_WEIGHT: u64 = 1023 + FRACTION_BITS as u64;
        let bits = value.abs().to_bits();
        let biased = bits >> FRACTION_BITS;
        if biased <= UNIT_WEIGHT {
            return Self { mantissa: value.round_ties_even() as i64, exponent: 0 };
        }
        let leading = 1 << FRACTION_BITS;
        let mantissa = (bits & (leading - 1) | leading) as i64;
        Self {
            mantissa: if value < 0.0 { -mantissa } else { mantissa },
            exponent: (biased - UNIT_WEIGHT) as u16,
        }
    }
}

/// The largest |coefficient * scale|; not finite if any of them is not.
#[inline(always)]
fn largest_product(coefficients: &[f64], scale: f64) -> f64 {
    // As integers, the bits of absolute values order infinity and NaN on top.
    f64::from_bits(coefficients.iter().fold(0, |most, c| most.max((c * scale).abs().to_bits())))
}

#[inline(always)]
fn round_all(coefficients: &[f64], scale: f64, out: &mut [i64]) {
    for (out, coefficient) in out.iter_mut().zip(coefficients) {
        *out = (coefficient * scale).round_ties_even() as i64;
    }
}

/// The constants of products with a factor modulo one odd modulus below 2^31.
struct Reduction {
    q: u32,
    /// 1/q modulo 2^32.
    inverse: u32,
    /// 2^32 modulo q, which [`redc`](Self::redc) takes back to 1.
    radix: u32,
    /// 2^32 times the factor modulo q, which `redc` takes to the factor.
    one: u32,
    /// 2^63 times the factor modulo q, which `redc` takes to 2^31 times the factor.
    upper: u32,
    /// -2^93 times the factor modulo q, which `redc` takes to -2^61 times the factor.
    offset: u32,
}

impl Reduction {
    fn new(q: u32, factor: u64) -> Self {
        // Newton's iteration: each step doubles the 3 bits that q is its own inverse to.
        let inverse = (0..4)
            .fold(q, |inverse, _| inverse.wrapping_mul(2u32.wrapping_sub(q.wrapping_mul(inverse))));
        let shifted = |exponent: u32, factor: u64| {
            let first = factor % u64::from(q);
            (0..exponent).fold(first, |power, _| power * 2 % u64::from(q)) as u32
        };
        let [one, upper, below] = [32, 63, 93].map(|exponent| shifted(exponent, factor));
        Self { q, inverse, radix: shifted(32, 1), one, upper, offset: q - below }
    }

    /// `value` / 2^32 modulo q, in [0, q), for `value` below q 2^32.
    #[inline(always)]
    fn redc(&self, value: u64) -> u32 {
        let multiple = (value as u32).wrapping_mul(self.inverse);
        let correction = (u64::from(multiple) * u64::from(self.q)) >> 32;
        let difference = ((value >> 32) as u32).wrapping_sub(correction as u32);
        // A negative difference has wrapped to above 2^31, and the sum is then smaller.
        difference.min(difference.wrapping_add(self.q))
    }

    /// `integer` times the factor modulo q, for magnitudes below 2^61.
    #[inline(always)]
    fn narrow(&self, integer: i64) -> u32 {
        let shifted = integer.wrapping_add(1 << 61) as u64;
        let high = (shifted >> 31) as u32;
        let low = shifted as u32 & ((1 << 31) - 1);
        self.redc(
            u64::from(high) * u64::from(self.upper)
                + u64::from(low) * u64::from(self.one)
                + u64::from(self.offset),
        )
    }

    #[inline(always)]
    fn narrow_all<T: Copy + Into<i64>>(&self, integers: &[T], out: &mut [u32]) {
        for (out, &integer) in out.iter_mut().zip(integers) {
            *out = self.narrow(integer.into());
        }
    }

    fn wide_all(&self, integers: &[WideInteger], out: &mut [u32]) {
        let largest = integers.iter().map(|integer| integer.exponent).max().unwrap_or(0);
        let q = u64::from(self.q);
        // Entry e is 2^(32 + e) modulo q, which redc takes back to 2^e.
        let powers: Vec<u64> =
            std::iter::successors(Some(u64::from(self.radix)), |power| Some(power * 2 % q))
                .take(usize::from(largest) + 1)
                .collect();
        for (out, integer) in out.iter_mut().zip(integers) {
            let mantissa = u64::from(self.narrow(integer.mantissa));
            *out = self.redc(mantissa * powers[usize::from(integer.exponent)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::Generator;

    const MODULI: [u32; 7] = [3, 17, 12289, 65537, 1_073_479_681, 2_147_352_577, 2_147_483_647];

    fn random_coefficients(seed: u8, count: usize) -> Vec<f64> {
        let mut generator = Generator::deterministic([seed; 32]);
        let mut draw = || {
            let bytes = generator.public_seed().0;
            i64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as f64 / 2f64.powi(63)
        };
        (0..count).map(|_| draw()).collect()
    }

    fn residues(coefficients: &[f64], scale: f64, q: u32) -> Vec<u32> {
        let rounded = scale_and_round(coefficients, scale).expect("finite values");
        let mut out = vec![0; coefficients.len()];
        rounded.residues(q, &mut out).expect("an odd modulus");
        out
    }

    #[test]
    fn residues_agree_with_wide_integer_division() {
        for bits in [0, 1, 20, 52, 53, 54, 60, 61, 62, 63, 64, 90, 126] {
            let scale = 2f64.powi(bits);
            let coefficients = random_coefficients(bits as u8, 500);
            for q in MODULI {
                let expected: Vec<u32> = coefficients
                    .iter()
                    .map(|c| (c * scale).round_ties_even() as i128)
                    .map(|integer| integer.rem_euclid(i128::from(q)) as u32)
                    .collect();
                assert_eq!(residues(&coefficients, scale, q), expected, "2^{bits} modulo {q}");
                let times_radix = |x: u32| ((u64::from(x) << 32) % u64::from(q)) as u32;
                let expected: Vec<u32> = expected.into_iter().map(times_radix).collect();
                let mut found = vec![0; coefficients.len()];
                let rounded = scale_and_round(&coefficients, scale).expect("finite values");
                rounded.montgomery_residues(q, &mut found).expect("an odd modulus");
                assert_eq!(found, expected, "2^{bits} modulo {q}");
            }
        }
    }

    #[test]
    fn edges_between_representations_are_exact() {
        let mut edges = vec![0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994];
        for exponent in [31, 32, 52, 53, 60, 61, 62, 63, 64, 100] {
            let power = 2f64.powi(exponent);
            for value in [power.next_down(), power, power.next_up()] {
                edges.extend([value, -value]);
            }
        }
        for q in MODULI {
            for &edge in &edges {
                let expected = (edge.round_ties_even() as i128).rem_euclid(i128::from(q)) as u32;
                assert_eq!(residues(&[edge], 1.0, q), [expected], "{edge:e} modulo {q}");
                assert_eq!(residues(&[edge, 1e30], 1.0, q)[0], expected, "{edge:e} modulo {q}");
            }
        }
    }

    #[test]
    fn the_largest_doubles_are_reduced() {
        let q = 1_000_003;
        let power = (0..1023).fold(1u64, |power, _| power * 2 % u64::from(q)) as u32;
        assert_eq!(residues(&[1.0, -1.0], 2f64.powi(1023), q), [power, q - power]);
    }

    #[test]
    fn a_scale_that_is_no_power_of_two_rounds_the_product() {
        let coefficients = random_coefficients(1, 100);
        let scale = 3f64.powi(30);
        let expected: Vec<u32> = coefficients
            .iter()
            .map(|c| ((c * scale).round_ties_even() as i64).rem_euclid(12289) as u32)
            .collect();
        assert_eq!(residues(&coefficients, scale, 12289), expected);
    }

    #[test]
    fn what_cannot_be_rounded_is_refused() {
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let refusal = scale_and_round(&[1.0], scale);
            assert!(matches!(refusal, Err(Error::InvalidArgument { .. })), "{scale}");
        }
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(
                scale_and_round(&[1.0, value], 2.0),
                Err(Error::NotFinite { operation: "encode", index: 1 })
            );
        }
        assert_eq!(
            scale_and_round(&[1.0, -1e300], 1e10),
            Err(Error::ValueOutOfRange {
                operation: "encode",
                value: 1e300,
                bound: f64::MAX / 1e10
            })
        );
    }

    #[test]
    fn what_cannot_be_reduced_is_refused() -> Result<()> {
        let rounded = scale_and_round(&[1.0, 2.0], 4.0)?;
        for q in [0, 1, 2, 1 << 20, (1 << 31) + 1] {
            assert!(matches!(rounded.residues(q, &mut [0; 2]), Err(Error::InvalidArgument { .. })));
        }
        assert!(matches!(rounded.residues(17, &mut [0; 3]), Err(Error::InvalidArgument { .. })));
        let empty = scale_and_round(&[], 4.0)?;
        assert!(empty.is_empty());
        empty.residues(17, &mut [])
    }
}
