//! The canonical embedding: between vectors of slots and polynomial coefficients.

use std::f64::consts::PI;
use std::fmt;
use std::sync::{Arc, OnceLock};

use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftPlanner};

use super::wiped::Wiped;
use crate::{Error, Result};

const MAX_LOG_N: u32 = 17;

/// Moves between slots and the coefficients of a real polynomial of degree below N.
///
/// With zeta = exp(i pi / N), slot j of a polynomial m is m(zeta^(5^j)), for j
/// below N/2 (Cheon, Kim, Kim and Song, "Homomorphic Encryption for Arithmetic of
/// Approximate Numbers", ASIACRYPT 2017, section 3.2, with the order of slots
/// along the powers of 5 after Cheon, Han, Kim, Kim and Song, EUROCRYPT 2018). Products of polynomials modulo X^N + 1 are then products of
/// slots, and X -> X^(5^k) rotates the slots left by k.
///
/// Modulo 2N the powers of 5 are the numbers 4k + 1, and zeta^(N/2) = i, so
///
/// ```text
/// m(zeta^(4k+1)) = sum over j < N/2 of (a_j + i a_(j+N/2)) zeta^j exp(2 pi i jk / (N/2))
/// ```
///
/// is one complex Fourier transform of size N/2 on folded and twisted
/// coefficients. Fewer slots, n of them, stand for the vector that repeats them
/// N/2n times: a polynomial in X^(N/2n), computed at size n alone.
///
/// A polynomial and its slots agree to a relative error, in the Euclidean norm, of
/// about 2^-53 log2(N) in either direction: some 50 bits of a vector's largest
/// value, whatever the scale.
///
/// It serves all threads. Tables for each number of slots are made at
/// its first use.
///
/// # Examples
///
/// ```
/// use rlwe::ring::embedding::Embedding;
///
/// let embedding = Embedding::new(12)?;
/// let coefficients = embedding.embed_real(&[1.0, -0.5, 0.25, 3.0])?;
/// assert_eq!(coefficients.len(), 1 << 12);
/// let slots = embedding.project(&coefficients, 4)?;
/// assert!((slots[3].re - 3.0).abs() < 1e-12);
/// # Ok::<(), rlwe::Error>(())
/// ```
pub struct Embedding {
    log_n: u32,
    /// Entry s serves 2^s slots.
    transforms: Vec<OnceLock<Transform>>,
}

impl fmt::Debug for Embedding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Embedding").field("log_n", &self.log_n).finish_non_exhaustive()
    }
}

impl Embedding {
    /// The embedding of polynomials of degree below 2^`log_n`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidParameters`] unless `log_n` is between 1 and 17.
    pub fn new(log_n: u32) -> Result<Self> {
        if !(1..=MAX_LOG_N).contains(&log_n) {
            return Err(Error::InvalidParameters(format!(
                "log2 of the ring degree is {log_n}, expected 1 to {MAX_LOG_N}"
            )));
        }
        Ok(Self { log_n, transforms: (0..log_n).map(|_| OnceLock::new()).collect() })
    }

    /// N, the number of coefficients.
    pub fn degree(&self) -> usize {
        1 << self.log_n
    }

    /// Slots to coefficients: the real polynomial whose slots are `values`,
    /// repeated to fill N/2.
    ///
    /// The N coefficients are unscaled and not rounded. With n values only every
    /// (N/2n)-th is other than zero.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] unless the number of values is a power of two
    /// from 1 to N/2; [`Error::NotFinite`] if one is NaN or infinite.
    ///
    /// # Examples
    ///
    /// ```
    /// use rlwe::ring::embedding::Embedding;
    /// use rustfft::num_complex::Complex64;
    ///
    /// // X^(N/2) is the imaginary unit in every slot.
    /// let coefficients = Embedding::new(3)?.embed(&[Complex64::I])?;
    /// assert_eq!(*coefficients, [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn embed(&self, values: &[Complex64]) -> Result<Wiped<f64>> {
        Ok(self.spread(&self.embed_each(values, |value| value)?))
    }

    /// [`embed`](Self::embed) for values without an imaginary part.
    ///
    /// # Errors
    ///
    /// Those of [`embed`](Self::embed).
    ///
    /// # Examples
    ///
    /// ```
    /// use rlwe::ring::embedding::Embedding;
    ///
    /// let coefficients = Embedding::new(2)?.embed_real(&[2.5])?;
    /// assert_eq!(*coefficients, [2.5, 0.0, 0.0, 0.0]);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn embed_real(&self, values: &[f64]) -> Result<Wiped<f64>> {
        Ok(self.spread(&self.embed_each(values, |value| Complex64::new(value, 0.0))?))
    }

    /// Coefficients of a polynomial in a power of X, those between them zero.
    fn spread(&self, coefficients: &[f64]) -> Wiped<f64> {
        let mut all = Wiped::new(0.0, self.degree());
        let stride = self.degree() / coefficients.len();
        for (place, &coefficient) in all.iter_mut().step_by(stride).zip(coefficients) {
            *place = coefficient;
        }
        all
    }

    /// The coefficients that [`embed`](Self::embed) makes other than zero, two for each value, and
    /// of values that `complex` makes complex numbers of.
    pub(crate) fn embed_each<T: Copy>(
        &self,
        values: &[T],
        complex: impl Fn(T) -> Complex64,
    ) -> Result<Wiped<f64>> {
        let slots = values.len();
        let transform = self.transform("encode", slots)?;
        if let Some(index) = values.iter().position(|&value| !complex(value).is_finite()) {
            return Err(Error::NotFinite { operation: "encode", index });
        }
        let mut points = Wiped::new(Complex64::ZERO, slots);
        for (&value, &place) in values.iter().zip(&transform.places) {
            points[place as usize] = complex(value);
        }
        process(&*transform.to_coefficients, &mut points);

        let mut coefficients = Wiped::new(0.0, 2 * slots);
        let (low, high) = coefficients.split_at_mut(slots);
        let share = 1.0 / slots as f64;
        let outputs = low.iter_mut().zip(high);
        for ((point, twist), (low, high)) in points.iter().zip(&transform.twists).zip(outputs) {
            let folded = point * twist.conj();
            *low = folded.re * share;
            *high = folded.im * share;
        }
        Ok(coefficients)
    }

    /// Coefficients to slots: the values of the polynomial at its first `slots`
    /// slots.
    ///
    /// With fewer than N/2 slots only the coefficients that [`embed`](Self::embed)
    /// fills are read, which averages each value over its repetitions.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] unless there are N coefficients and `slots` is a
    /// power of two from 1 to N/2; [`Error::NotFinite`] if a coefficient is NaN or
    /// infinite.
    ///
    /// # Examples
    ///
    /// ```
    /// use rlwe::ring::embedding::Embedding;
    ///
    /// // The constant 3 + 2 X^(N/2).
    /// let slots = Embedding::new(2)?.project(&[3.0, 0.0, 2.0, 0.0], 1)?;
    /// assert_eq!((slots[0].re, slots[0].im), (3.0, 2.0));
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn project(&self, coefficients: &[f64], slots: usize) -> Result<Vec<Complex64>> {
        self.project_each(coefficients, slots, |value| value)
    }

    /// [`project`](Self::project) with a map of every value.
    pub(crate) fn project_each<T>(
        &self,
        coefficients: &[f64],
        slots: usize,
        map: impl Fn(Complex64) -> T,
    ) -> Result<Vec<T>> {
        let transform = self.transform("decode", slots)?;
        if coefficients.len() != self.degree() {
            return Err(Error::InvalidArgument {
                operation: "decode",
                reason: format!(
                    "expected {} coefficients, got {}",
                    self.degree(),
                    coefficients.len()
                ),
            });
        }
        if let Some(index) = coefficients.iter().position(|coefficient| !coefficient.is_finite()) {
            return Err(Error::NotFinite { operation: "decode", index });
        }
        let (low, high) = coefficients.split_at(self.degree() / 2);
        let stride = low.len() / slots;
        let inputs = low.iter().step_by(stride).zip(high.iter().step_by(stride));
        let mut points = Wiped::new(Complex64::ZERO, slots);
        for ((point, (&low, &high)), twist) in points.iter_mut().zip(inputs).zip(&transform.twists)
        {
            *point = Complex64::new(low, high) * twist;
        }
        process(&*transform.to_slots, &mut points);
        let slots = transform.places.iter().map(|&place| map(points[place as usize]));
        Ok(system_memory::collected(slots))
    }

    fn transform(&self, operation: &'static str, slots: usize) -> Result<&Transform> {
        let tables =
            slots.checked_ilog2().and_then(|log_slots| self.transforms.get(log_slots as usize));
        match tables {
            Some(tables) if slots.is_power_of_two() => {
                Ok(tables.get_or_init(|| Transform::new(slots)))
            }
            _ => Err(Error::InvalidArgument {
                operation,
                reason: format!(
                    "the number of slots must be a power of two from 1 to {}, got {slots}",
                    self.degree() / 2
                ),
            }),
        }
    }
}

/// A Fourier transform in place, whose scratch memory is wiped.
fn process(transform: &dyn Fft<f64>, points: &mut [Complex64]) {
    let mut scratch = Wiped::new(Complex64::ZERO, transform.get_inplace_scratch_len());
    transform.process_with_scratch(points, &mut scratch);
}

/// What depends on the number of slots alone.
struct Transform {
    to_slots: Arc<dyn Fft<f64>>,
    to_coefficients: Arc<dyn Fft<f64>>,
    /// Powers of exp(i pi / 2n).
    twists: Vec<Complex64>,
    /// Slot j stands at (5^j - 1) / 4 of the Fourier transform.
    places: Vec<u32>,
}

/// Bytes of its tables by slot, at most.
const TABLES: usize = 8 * size_of::<Complex64>();

impl Transform {
    fn new(slots: usize) -> Self {
        system_memory::require(slots * TABLES);
        let mut planner = FftPlanner::new();
        let step = PI / (2 * slots) as f64;
        let order = 4 * slots;
        let powers = std::iter::successors(Some(1), |power| Some(power * 5 % order));
        Self {
            to_slots: planner.plan_fft_inverse(slots),
            to_coefficients: planner.plan_fft_forward(slots),
            twists: (0..slots).map(|j| Complex64::cis(j as f64 * step)).collect(),
            places: powers.take(slots).map(|power| (power / 4) as u32).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::schoolbook::negacyclic_product;
    use crate::sampling::Generator;

    /// Values in the square of side 2 about 0, the same for the same seed.
    fn random_values(seed: u8, count: usize) -> Vec<Complex64> {
        let bits = |generator: &mut Generator| {
            let seed = generator.public_seed().0;
            i64::from_le_bytes(seed[..8].try_into().expect("eight bytes")) as f64 / 2f64.powi(63)
        };
        let mut generator = Generator::deterministic([seed; 32]);
        (0..count).map(|_| Complex64::new(bits(&mut generator), bits(&mut generator))).collect()
    }

    fn random_coefficients(seed: u8, count: usize) -> Vec<f64> {
        random_values(seed, count).iter().map(|value| value.re).collect()
    }

    fn relative_error(actual: &[Complex64], expected: &[Complex64]) -> f64 {
        assert_eq!(actual.len(), expected.len());
        let norm: f64 = expected.iter().map(Complex64::norm_sqr).sum();
        let error: f64 = actual.iter().zip(expected).map(|(a, e)| (a - e).norm_sqr()).sum();
        (error / norm).sqrt()
    }

    fn power_of_five(exponent: usize, n: usize) -> usize {
        (0..exponent).fold(1, |power, _| power * 5 % (2 * n))
    }

    /// Slot j as the sum of a_k zeta^(5^j k).
    fn slots_by_definition(coefficients: &[f64], slots: usize) -> Vec<Complex64> {
        let n = coefficients.len();
        let slot = |j| {
            let root = power_of_five(j, n);
            let angle = |k: usize| PI * (root * k % (2 * n)) as f64 / n as f64;
            coefficients.iter().enumerate().map(|(k, a)| a * Complex64::cis(angle(k))).sum()
        };
        (0..slots).map(slot).collect()
    }

    /// X -> X^power.
    fn automorphism(coefficients: &[f64], power: usize) -> Vec<f64> {
        let n = coefficients.len();
        let mut image = vec![0.0; n];
        for (j, &a) in coefficients.iter().enumerate() {
            let exponent = j * power % (2 * n);
            image[exponent % n] = if exponent < n { a } else { -a };
        }
        image
    }

    #[test]
    fn embedding_has_the_values_it_was_given() -> Result<()> {
        for log_n in 1..=9 {
            let embedding = Embedding::new(log_n)?;
            for log_slots in 0..log_n {
                let values = random_values(log_n as u8, 1 << log_slots);
                let coefficients = embedding.embed(&values)?;
                let repeated: Vec<_> =
                    values.iter().copied().cycle().take(embedding.degree() / 2).collect();
                let actual = slots_by_definition(&coefficients, repeated.len());
                assert!(relative_error(&actual, &repeated) < 1e-14, "{log_n} {log_slots}");
            }
        }
        Ok(())
    }

    #[test]
    fn projection_evaluates_at_the_powers_of_five() -> Result<()> {
        for log_n in 1..=9 {
            let embedding = Embedding::new(log_n)?;
            let n = embedding.degree();
            let full = random_coefficients(log_n as u8, n);
            for log_slots in 0..log_n {
                let slots = 1 << log_slots;
                let actual = embedding.project(&full, slots)?;
                let all = slots_by_definition(&full, n / 2);
                let average: Vec<Complex64> = (0..slots)
                    .map(|j| all.iter().skip(j).step_by(slots).sum::<Complex64>())
                    .map(|sum| sum * (slots as f64 / (n / 2) as f64))
                    .collect();
                assert!(relative_error(&actual, &average) < 1e-13, "{log_n} {log_slots}");
            }
        }
        Ok(())
    }

    #[test]
    fn a_round_trip_keeps_fifty_bits_at_every_number_of_slots() -> Result<()> {
        for log_n in [15, 16, 17] {
            let embedding = Embedding::new(log_n)?;
            for log_slots in 0..log_n {
                let values = random_values(log_slots as u8, 1 << log_slots);
                let returned = embedding.project(&embedding.embed(&values)?, values.len())?;
                let bound = 2f64.powi(-53) * f64::from(log_slots + 2);
                let error = relative_error(&returned, &values);
                assert!(error < bound, "{log_n} {log_slots}: {error:e}");
            }
        }
        Ok(())
    }

    #[test]
    fn one_direction_keeps_fifty_bits_in_a_large_ring() -> Result<()> {
        let embedding = Embedding::new(16)?;
        let values = random_values(1, 1 << 15);
        let coefficients = embedding.embed(&values)?;
        for j in [0, 1, 2, 1000, (1 << 15) - 1] {
            let root = power_of_five(j, 1 << 16);
            let angle = |k: usize| PI * (root * k % (2 << 16)) as f64 / f64::from(1 << 16);
            let value: Complex64 =
                coefficients.iter().enumerate().map(|(k, a)| a * Complex64::cis(angle(k))).sum();
            assert!((value - values[j]).norm() < 1e-13);
        }
        Ok(())
    }

    #[test]
    fn real_values_embed_as_complex_ones() -> Result<()> {
        let embedding = Embedding::new(8)?;
        for log_slots in 0..8 {
            let values = random_coefficients(log_slots, 1 << log_slots);
            let complex: Vec<_> = values.iter().map(|&value| Complex64::from(value)).collect();
            assert_eq!(embedding.embed_real(&values)?, embedding.embed(&complex)?);
        }
        Ok(())
    }

    #[test]
    fn products_of_polynomials_are_products_of_slots() -> Result<()> {
        let embedding = Embedding::new(8)?;
        for log_slots in 0..8 {
            for seed in 0..4 {
                let a = random_values(2 * seed, 1 << log_slots);
                let b = random_values(2 * seed + 1, 1 << log_slots);
                let product = negacyclic_product(&embedding.embed(&a)?, &embedding.embed(&b)?);
                let expected: Vec<_> = a.iter().zip(&b).map(|(a, b)| a * b).collect();
                let actual = embedding.project(&product, a.len())?;
                assert!(relative_error(&actual, &expected) < 1e-13);
            }
        }
        Ok(())
    }

    #[test]
    fn powers_of_five_rotate_left() -> Result<()> {
        let embedding = Embedding::new(8)?;
        for log_slots in 0..8 {
            let values = random_values(log_slots, 1 << log_slots);
            let coefficients = embedding.embed(&values)?;
            for k in [0, 1, 2, 5, 64, 127] {
                let image = automorphism(&coefficients, power_of_five(k, 256));
                let mut expected = values.clone();
                expected.rotate_left(k % values.len());
                let actual = embedding.project(&image, values.len())?;
                assert!(relative_error(&actual, &expected) < 1e-13, "{log_slots} {k}");
            }
            let conjugated = automorphism(&coefficients, 511);
            let expected: Vec<_> = values.iter().map(Complex64::conj).collect();
            assert!(
                relative_error(&embedding.project(&conjugated, values.len())?, &expected) < 1e-13
            );
        }
        Ok(())
    }

    #[test]
    fn wrong_sizes_and_values_are_refused() -> Result<()> {
        assert!(matches!(Embedding::new(0), Err(Error::InvalidParameters(_))));
        assert!(matches!(Embedding::new(18), Err(Error::InvalidParameters(_))));
        let embedding = Embedding::new(4)?;
        for slots in [0, 3, 16, 1 << 20] {
            let refusal = embedding.embed_real(&vec![0.0; slots]);
            assert!(matches!(refusal, Err(Error::InvalidArgument { .. })), "{slots}");
            let refusal = embedding.project(&[0.0; 16], slots);
            assert!(matches!(refusal, Err(Error::InvalidArgument { .. })), "{slots}");
        }
        assert!(matches!(embedding.project(&[0.0; 8], 8), Err(Error::InvalidArgument { .. })));
        assert_eq!(
            embedding.embed_real(&[0.0, f64::NAN]),
            Err(Error::NotFinite { operation: "encode", index: 1 })
        );
        let mut coefficients = [0.0; 16];
        coefficients[5] = f64::INFINITY;
        assert_eq!(
            embedding.project(&coefficients, 8),
            Err(Error::NotFinite { operation: "decode", index: 5 })
        );
        Ok(())
    }

    #[test]
    fn one_embedding_serves_many_threads() -> Result<()> {
        let embedding = Embedding::new(10)?;
        let values = random_values(1, 512);
        let expected = embedding.embed(&values)?;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(embedding.embed(&values).as_ref(), Ok(&expected)));
            }
        });
        Ok(())
    }
}
