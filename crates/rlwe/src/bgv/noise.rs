//! Bounds on noise, from the ring alone.
//!
//! The noise of a ciphertext is the polynomial v of [`crate::bgv`], message included. It is
//! bounded in the canonical embedding, whose norm is the largest absolute value of v at a root
//! of X^N + 1: a product is bounded by the product of the bounds, whatever the factors have to
//! do with each other (Gentry, Halevi, Smart 2012, "Homomorphic evaluation of the AES circuit";
//! Costache and Smart 2016, "Which ring based somewhat homomorphic encryption scheme is best?").
//!
//! Its length, the root of the sum of its squared coefficients, is the root mean square of v over
//! these roots, and so at most the norm. A product is at most as long as one factor is times the
//! norm of the other. A coefficient of a product is the inner product of one factor with the
//! other's coefficients in another order, signs aside, and by Cauchy and Schwarz at most the
//! product of the lengths: what is decrypted needs no more.
//!
//! What an encryption, a rounding or a key switch adds is a sum of many independent terms, in the
//! embedding close to Gaussian or to a product of two Gaussians (Mono, Marcolla, Land, Güneysu,
//! Aaraj 2023, "Finding and evaluating parameters for BGV"), and exceeds each of its three bounds
//! with a chance below 2^-`failure_bits`, which a parameter set states and which may be asked for.

use std::f64::consts::LN_2;

use crate::core::SecretDistribution;
use crate::core::noise::{self, ERROR_DEVIATION, product_tail};
use crate::{Error, Result};

/// Taken where nothing is asked for.
pub const FAILURE_BITS: u32 = 128;
/// With fewer an evaluator that tries many ciphertexts would meet a failure by chance.
pub const LEAST_FAILURE_BITS: u32 = 40;
/// With these a failure is as unlikely as that the key is guessed.
pub const MOST_FAILURE_BITS: u32 = 128;

/// The part of a modulus that noise must stay below.
pub(crate) const CAPACITY: f64 = 7.0 / 16.0;

/// By how many bits of noise a division has to be better than dropping primes, to be preferred.
/// A rotated fresh ciphertext has less than one more than a rounded one.
const DROPPED: f64 = 1.5;

/// How much noisier a ciphertext may become to have the canonical factor of its level: sums of
/// unlike factors cost each side about half the bits of t.
pub const CANONICAL_FACTOR_BITS: f64 = 4.0;

/// By how many bits digits stay below the key-switching primes, as a rule.
const TYPICAL_DIGIT_MARGIN: f64 = 5.0;

/// Bits of the key-switching primes, of which there is at least one of about a word.
const LEAST_SPECIAL_BITS: f64 = 28.0;

/// Chains have fewer levels.
const MOST_SWITCHES: usize = 1 << 12;

/// Whether dropping primes, which leaves `dropped`, is about as quiet as a division.
pub(super) fn dropping_is_as_quiet(dropped: Noise, divided: Noise) -> bool {
    dropped.length_bits <= divided.length_bits + DROPPED
}

pub(super) fn check_failure_bits(failure_bits: f64) -> Result<()> {
    let (least, most) = (LEAST_FAILURE_BITS, MOST_FAILURE_BITS);
    if (f64::from(least)..=f64::from(most)).contains(&failure_bits) {
        return Ok(());
    }
    let reason = format!("failure_bits must lie between {least} and {most}, got {failure_bits}");
    Err(Error::InvalidParameters(reason))
}

/// Bounds on a polynomial, as log2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Of the largest absolute value at a root of X^N + 1.
    pub canonical_bits: f64,
    /// Of the length: the root of the sum of all squared coefficients.
    pub length_bits: f64,
    /// Of the largest absolute coefficient.
    pub coefficient_bits: f64,
}

impl Noise {
    /// Each is a bound of the next. Of one below 1 nothing is gained.
    pub(crate) fn new(canonical_bits: f64, length_bits: f64, coefficient_bits: f64) -> Self {
        let canonical_bits = canonical_bits.max(0.0);
        let length_bits = length_bits.max(0.0).min(canonical_bits);
        let coefficient_bits = coefficient_bits.max(0.0).min(length_bits);
        Self { canonical_bits, length_bits, coefficient_bits }
    }

    /// Of the sum of two.
    pub fn plus(self, other: Self) -> Self {
        Self::new(
            sum_bits(self.canonical_bits, other.canonical_bits),
            sum_bits(self.length_bits, other.length_bits),
            sum_bits(self.coefficient_bits, other.coefficient_bits),
        )
    }

    /// Of the product of two.
    pub fn times(self, other: Self) -> Self {
        let stretched = |one: Self, by: Self| one.length_bits + by.canonical_bits;
        Self::new(
            self.canonical_bits + other.canonical_bits,
            stretched(self, other).min(stretched(other, self)),
            self.length_bits + other.length_bits,
        )
    }

    /// Of one of two, whichever it is.
    pub(crate) fn or(self, other: Self) -> Self {
        Self::new(
            self.canonical_bits.max(other.canonical_bits),
            self.length_bits.max(other.length_bits),
            self.coefficient_bits.max(other.coefficient_bits),
        )
    }

    /// log2 of the modulus that holds it.
    pub fn needed_bits(self) -> f64 {
        self.coefficient_bits - CAPACITY.log2()
    }

    /// Of a multiple by 2^`bits`.
    pub fn scaled(self, bits: f64) -> Self {
        let [canonical, length, coefficient] =
            [self.canonical_bits, self.length_bits, self.coefficient_bits].map(|x| x + bits);
        Self::new(canonical, length, coefficient)
    }
}

/// log2(2^a + 2^b).
fn sum_bits(a: f64, b: f64) -> f64 {
    let (small, large) = (a.min(b), a.max(b));
    // Of infinities that are equal the difference is no number.
    if small == large { large + 1.0 } else { large + (small - large).exp2().ln_1p() / LN_2 }
}

/// What each operation adds to the noise in a ring, whatever the chain of moduli.
///
/// ```
/// use rlwe::SecretDistribution::Ternary;
/// use rlwe::bgv::NoiseModel;
/// let model = NoiseModel::new(13, 65537, Ternary, 40.0)?;
/// assert!(model.encryption().coefficient_bits < model.rounding(1).coefficient_bits);
/// let surer = NoiseModel::new(13, 65537, Ternary, 128.0)?;
/// let costs = surer.rounding(1).coefficient_bits - model.rounding(1).coefficient_bits;
/// assert!((1.0..1.5).contains(&costs));
/// # Ok::<(), rlwe::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseModel {
    n: usize,
    /// The plaintext modulus.
    t: f64,
    secret: SecretDistribution,
    failure_bits: f64,
}

impl NoiseModel {
    /// The model of a ring of degree 2^`log_n`, below 2^32, and a plaintext modulus, of which each
    /// bound fails with a chance below 2^-`failure_bits`.
    ///
    /// # Errors
    /// [`Error::InvalidParameters`] for `failure_bits` out of range, 40 to 128, or `log_n` beyond 31.
    pub fn new(
        log_n: u32,
        plaintext_modulus: u32,
        secret: SecretDistribution,
        failure_bits: f64,
    ) -> Result<Self> {
        check_failure_bits(failure_bits)?;
        if log_n > 31 {
            let reason = format!("log_n must be at most 31, got {log_n}");
            return Err(Error::InvalidParameters(reason));
        }
        Ok(Self { n: 1 << log_n, t: f64::from(plaintext_modulus), secret, failure_bits })
    }

    /// Each bound fails with a chance below 2^-so many.
    pub fn failure_bits(&self) -> f64 {
        self.failure_bits
    }

    /// Of a message, whichever it is.
    pub fn message(&self) -> Noise {
        let (coefficient, log_n) = ((self.t / 2.0).log2(), (self.n as f64).log2());
        Noise::new(coefficient + log_n, coefficient + log_n / 2.0, coefficient)
    }

    /// Of a message of which the norm is known, as log2.
    pub fn message_within(&self, norm_bits: f64) -> Noise {
        let any = self.message();
        let norm_bits = norm_bits.min(any.canonical_bits);
        Noise::new(norm_bits, any.length_bits, any.coefficient_bits)
    }

    /// Of an encryption under the secret key.
    pub fn encryption(&self) -> Noise {
        self.message().plus(self.gaussian(ERROR_DEVIATION))
    }

    /// Of an encryption under a public key, of which the key-switching primes have so many bits.
    pub fn public_encryption(&self, special_bits: f64) -> Noise {
        let deviation = noise::public_encryption(self.n, self.secret, special_bits);
        self.message().plus(self.product(deviation))
    }

    /// Of an encryption under a public key, as a rule: the rounding of its division, and next to
    /// nothing that depends on the key-switching primes.
    pub fn typical_public_encryption(&self) -> Noise {
        self.public_encryption(LEAST_SPECIAL_BITS)
    }

    /// What a division with rounding adds to a ciphertext of `degree`, 1 or 2.
    pub fn rounding(&self, degree: usize) -> Noise {
        self.product(match degree {
            1 => noise::rounding(self.n, self.secret),
            _ => noise::rounding_of_square(self.n, self.secret),
        })
    }

    /// What key switching adds, the rounding of its division left out, when each digit exceeds the
    /// product of the key-switching primes by so many bits, a negative number.
    pub fn key_switching(&self, digit_bits: &[f64]) -> Noise {
        self.product(noise::key_switching(self.n, digit_bits))
    }

    /// What a rotation or a relinearisation adds, as a rule, where digits are not known yet: two
    /// of them, each 5 bits below the key-switching primes, and the rounding of the division.
    pub fn rotation(&self) -> Noise {
        self.key_switching(&[-TYPICAL_DIGIT_MARGIN; 2]).plus(self.rounding(1))
    }

    /// What the switch of a rotated product adds, as a rule, as [`Self::rotation`]: two key switches
    /// and one rounding.
    pub fn product_switching(&self) -> Noise {
        self.rotation().plus(self.key_switching(&[-TYPICAL_DIGIT_MARGIN; 2]))
    }

    /// Of a message whose slots hold different numbers, as a rule: its coefficients are like
    /// random ones, of deviation t / sqrt(12), and so close to a Gaussian at every root.
    pub fn mask(&self) -> Noise {
        let any = self.message();
        let n = self.n as f64;
        let canonical = self.t * (n / 12.0).sqrt() * self.exponent(n).sqrt();
        Noise::new(canonical.log2(), any.length_bits, any.coefficient_bits)
    }

    /// log2 of the plaintext modulus.
    pub fn modulus_bits(&self) -> f64 {
        self.t.log2()
    }

    /// After a switch to a modulus smaller by so many bits, by the quieter of two: a division by
    /// the primes that leave, or dropping them.
    pub fn switched(&self, noise: Noise, bits: f64) -> Noise {
        let divided = self.divided(noise, bits);
        let worth = bits > 0.0 && !dropping_is_as_quiet(noise, divided);
        if worth { divided } else { noise }
    }

    /// After a division by primes of so many bits, and rounding.
    pub fn divided(&self, noise: Noise, bits: f64) -> Noise {
        noise.scaled(-bits).plus(self.rounding(1))
    }

    /// Of a sum of so many products of ciphertexts of these noises, the key-switching primes having
    /// so many bits.
    ///
    /// Messages may be the worst in every term, and of what operations have made nothing better is
    /// known: they add up. The errors of encryptions are independent, where no ciphertext comes
    /// twice on one side: of what they take part in the squares add up.
    ///
    /// ```
    /// use rlwe::SecretDistribution::Ternary;
    /// use rlwe::bgv::NoiseModel;
    /// let model = NoiseModel::new(13, 65537, Ternary, 40.0)?;
    /// let (fresh, rounded) = (model.encryption(), model.rounding(1));
    /// let one = fresh.times(fresh).coefficient_bits;
    /// assert!(model.products(fresh, fresh, 4096, 30.0).coefficient_bits < one + 8.0);
    /// let one = rounded.times(rounded).coefficient_bits;
    /// assert_eq!(model.products(rounded, rounded, 4096, 30.0).coefficient_bits, one + 12.0);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn products(&self, left: Noise, right: Noise, terms: usize, special_bits: f64) -> Noise {
        let errors = [left, right].map(|noise| self.encryption_error(noise, special_bits));
        let [Some(left), Some(right)] = errors else {
            return Self::worst_products(left, right, terms);
        };
        let bits = (terms as f64).log2();
        let messages = self.message().times(self.message()).scaled(bits);
        let error_of = |of: Noise, by: Noise| self.times_error(of, by);
        let mixed = error_of(self.message(), left).plus(error_of(self.message(), right));
        // Half a bit more, as both sides may hold one ciphertext, whose error is then squared.
        let of_errors = error_of(left, right).scaled(0.5);
        messages.plus(mixed.plus(of_errors).scaled(bits / 2.0))
    }

    /// Of a sum of so many products that may have everything to do with each other.
    pub fn worst_products(left: Noise, right: Noise, terms: usize) -> Noise {
        left.times(right).scaled((terms as f64).log2())
    }

    /// [`Self::products`] where the key-switching primes are not known yet.
    pub fn typical_products(&self, left: Noise, right: Noise, terms: usize) -> Noise {
        self.products(left, right, terms, LEAST_SPECIAL_BITS)
    }

    /// The error of a noise that is that of an encryption.
    fn encryption_error(&self, noise: Noise, special_bits: f64) -> Option<Noise> {
        if noise == self.encryption() {
            return Some(self.gaussian(ERROR_DEVIATION));
        }
        let deviation = noise::public_encryption(self.n, self.secret, special_bits);
        (noise == self.public_encryption(special_bits)).then(|| self.product(deviation))
    }

    /// Of a polynomial times an error that is independent of it: a coefficient is a sum of the
    /// error's, weighted by those of the polynomial.
    fn times_error(&self, of: Noise, error: Noise) -> Noise {
        let product = of.times(error);
        // At a root an error is complex, a coefficient of it is real.
        let spread = error.canonical_bits - (self.n as f64).log2() / 2.0 + 0.5;
        let coefficient = of.length_bits + error.coefficient_bits.max(spread);
        Noise::new(product.canonical_bits, product.length_bits, coefficient)
    }

    /// How many switches by so many bits each leave most headroom for a product: as far as the
    /// length of the noise falls by half of what the modulus does.
    ///
    /// ```
    /// use rlwe::SecretDistribution::Ternary;
    /// use rlwe::bgv::NoiseModel;
    /// let model = NoiseModel::new(12, 65537, Ternary, 40.0)?;
    /// let product = model.rounding(1).times(model.rounding(1));
    /// assert_eq!((model.switches(product, 15.0), model.switches(model.encryption(), 15.0)), (2, 0));
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn switches(&self, noise: Noise, bits: f64) -> usize {
        let mut noise = noise;
        let mut count = 0;
        loop {
            let below = self.switched(noise, bits);
            // Noise does not fall for ever, but `bits` may be 0.
            let gains = 2.0 * (noise.length_bits - below.length_bits) >= bits && bits > 0.0;
            if !gains || count == MOST_SWITCHES {
                return count;
            }
            (noise, count) = (below, count + 1);
        }
    }

    /// The exponent of the chance that one of so many values exceeds its bound.
    fn exponent(&self, values: f64) -> f64 {
        values.ln() + self.failure_bits * LN_2
    }

    /// t times a polynomial of Gaussian coefficients.
    ///
    /// The length by Laurent and Massart 2000, "Adaptive estimation of a quadratic functional by
    /// model selection", Lemma 1.
    fn gaussian(&self, deviation: f64) -> Noise {
        let n = self.n as f64;
        let (complex, real) = (self.exponent(n).sqrt(), (2.0 * self.exponent(n)).sqrt());
        let part = self.exponent(1.0) / n;
        let length = (1.0 + 2.0 * part.sqrt() + 2.0 * part).sqrt();
        let coefficient = self.t * deviation;
        let typical = coefficient * n.sqrt();
        Noise::new(
            (typical * complex).log2(),
            (typical * length).log2(),
            (coefficient * real).log2(),
        )
    }

    /// t times a sum of products of two polynomials, of this deviation in a coefficient.
    ///
    /// The squared length is a mean over the n = N / 2 pairs of conjugate roots. At each stands
    /// what is close to the product of two exponential variables of mean 1: its variance is 3, and
    /// it exceeds z with a chance of about exp(-2 sqrt(z)). Their mean exceeds 1 by a where all of
    /// them do a little, with a chance of about exp(-n a^2 / 6), or where one does alone, with a
    /// chance of about n exp(-2 sqrt(n a)). Both are let be 2^-`failure_bits`, added, and doubled
    /// to be on the safe side; in small rings the largest coefficient says more.
    fn product(&self, deviation: f64) -> Noise {
        let n = self.n as f64;
        let coefficient = self.t * deviation * product_tail(self.exponent(n));
        let (roots, typical) = (n / 2.0, self.t * deviation * n.sqrt());
        let together = (6.0 * self.exponent(1.0) / roots).sqrt();
        let alone = self.exponent(roots).powi(2) / (4.0 * roots);
        let length = typical * (1.0 + 2.0 * (together + alone)).sqrt();
        Noise::new((coefficient * n.sqrt()).log2(), length.log2(), coefficient.log2())
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use crate::ring::schoolbook::negacyclic_product;

    /// The bounds of a polynomial, as near as they can be.
    fn exact(coefficients: &[f64]) -> Noise {
        let n = coefficients.len() as f64;
        let at = |root: usize| {
            let angle = |i: usize| PI * ((2 * root + 1) * i) as f64 / n;
            let part = |of: fn(f64) -> f64| -> f64 {
                coefficients.iter().enumerate().map(|(i, x)| x * of(angle(i))).sum()
            };
            part(f64::cos).hypot(part(f64::sin))
        };
        let canonical = (0..coefficients.len() / 2).map(at).fold(0.0, f64::max);
        let length = coefficients.iter().map(|x| x * x).sum::<f64>().sqrt();
        let coefficient = coefficients.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        Noise::new(canonical.log2(), length.log2(), coefficient.log2())
    }

    /// a(1 / X), with which the first coefficient of a product with a is the squared length of a.
    fn matched(a: &[f64]) -> Vec<f64> {
        let n = a.len();
        (0..n).map(|i| if i == 0 { a[0] } else { -a[n - i] }).collect()
    }

    fn within(found: Noise, bound: Noise) -> bool {
        const SAME: f64 = 1e-9;
        found.canonical_bits <= bound.canonical_bits + SAME
            && found.length_bits <= bound.length_bits + SAME
            && found.coefficient_bits <= bound.coefficient_bits + SAME
    }

    /// Worst cases, and one like noise.
    fn polynomials(n: usize, most: f64) -> Vec<Vec<f64>> {
        let mut state = 1u32;
        let mut any = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (most * f64::from(state as i32) * 0.5f64.powi(31)).round()
        };
        let like_noise: Vec<f64> = (0..n).map(&mut any).collect();
        let extreme = like_noise.iter().map(|x| most * x.signum()).collect();
        let alternating = (0..n).map(|i| most - 2.0 * most * (i % 2) as f64).collect();
        let mut single = vec![0.0; n];
        single[n / 3] = most;
        vec![vec![most; n], alternating, single, extreme, like_noise]
    }

    #[test]
    fn no_product_sum_or_multiple_exceeds_its_bounds() {
        for n in [32, 64, 256] {
            for a in polynomials(n, 32_768.0) {
                let others = polynomials(n, 1000.0).into_iter().chain([matched(&a)]);
                for b in others {
                    let (of_a, of_b) = (exact(&a), exact(&b));
                    assert!(within(exact(&negacyclic_product(&a, &b)), of_a.times(of_b)));
                    let sum: Vec<f64> = a.iter().zip(&b).map(|(x, y)| x + y).collect();
                    assert!(within(exact(&sum), of_a.plus(of_b)));
                    let multiple: Vec<f64> = a.iter().map(|x| -5.0 * x).collect();
                    assert!(within(exact(&multiple), of_a.scaled(5f64.log2())));
                }
            }
        }
    }

    #[test]
    fn no_product_has_a_smaller_bound_of_its_coefficients() {
        for a in polynomials(64, 300.0) {
            let (of_a, of_b) = (exact(&a), exact(&matched(&a)));
            let found = exact(&negacyclic_product(&a, &matched(&a)));
            let bound = of_a.times(of_b);
            assert!((found.coefficient_bits - bound.coefficient_bits).abs() < 1e-9);
            assert!((found.canonical_bits - bound.canonical_bits).abs() < 1e-9);
        }
    }

    #[test]
    fn sums_and_products_without_end_stay_without_end() {
        let endless = Noise::new(f64::INFINITY, f64::INFINITY, 5.0);
        assert_eq!(endless.plus(endless).canonical_bits, f64::INFINITY);
        assert_eq!(endless.times(endless).coefficient_bits, f64::INFINITY);
        assert_eq!(endless.scaled(f64::NEG_INFINITY), Noise::new(0.0, 0.0, 0.0));
    }
}
