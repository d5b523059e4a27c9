//! Noise for results that others see.

use super::estimate::Estimate;
use crate::{Error, Result};

/// The constant of Li, Micciancio, Schultz and Sorrell.
const KL_CONSTANT: f64 = 24.0;

/// The sampler's probabilities are right to 2^-57, relatively.
const SAMPLER_BITS: f64 = 57.0;

/// The deviation of a flood of `log2_sigma`, times 2^-`log2_sigma`: see
/// [`wide_gaussian`](crate::sampling::wide_gaussian).
const FLOOD_DEVIATION: f64 = 1.855;

/// How well decryptions for others hide the noise that tells of the secret key, and how many there
/// may be of them under one key.
///
/// Of a ciphertext and its decryption anyone can compute the noise, and from that the secret key
/// (Li and Micciancio 2021). So Gaussian noise is added to each of the N coefficients, of deviation
///
/// ```text
///   sigma = sqrt(24 N decryptions) 2^(statistical_bits / 2) own
/// ```
///
/// with `own` the coefficient deviation of the noise that the ciphertext has by its estimate (Li,
/// Micciancio, Schultz, Sorrell 2022, "Securing approximate homomorphic encryption using
/// differential privacy", section 4.4). Why this is enough: of two ciphertexts of one message the
/// noises, e and e', are two vectors of N coefficients. Adding the flood makes of them Gaussians
/// of one covariance, whose Kullback-Leibler divergence is that of their centres,
///
/// ```text
///   |e - e'|^2 / (2 sigma^2)      with  |e - e'|^2  about  2 N own^2,
/// ```
///
/// the sum over all coefficients, N of them: a flood that is 2^f times one coefficient's noise
/// hides half of log2 N bits less than f would say. Divergences of decryptions add up, whatever an
/// adversary asks for next, so that all of them together have at most 2^-`statistical_bits` / 24.
/// Were all noise twice what the estimate says, which covers the modelling and the chance, it
/// would be 2^-`statistical_bits` / 6. By Pinsker's inequality the advantage of any distinguisher
/// is at most the root of half the divergence: below 2^-(`statistical_bits` / 2 + 1.7).
///
/// The flood is the integer near a Gaussian, to a relative 2^-57 in each probability. That adds at
/// most 2^-57 times the root of N `decryptions` to the advantage; where that is more than the bound
/// above, it is refused.
///
/// For 40 bits, N = 2^15 and one decryption, the flood exceeds the own noise by 29.8 bits, for
/// 10,000 decryptions by 36.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flooding {
    /// The divergence is below 2^-so many.
    pub statistical_bits: u32,
    /// Decryptions for others under one key, at most: each ciphertext is one.
    pub decryptions: u64,
}

/// Coefficients are rounded to units of which the flood has about this many bits.
const FLOOD_BITS: u32 = 50;

impl Flooding {
    /// log2 of the deviation that is added to each of `n` coefficients at least, whose own noise
    /// has deviation `own`.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for no statistical bits or no decryptions, and for more of both
    /// than the sampler is exact for.
    pub(crate) fn log2_sigma(&self, n: usize, own: f64) -> Result<u32> {
        let Self { statistical_bits, decryptions } = *self;
        if statistical_bits == 0 || decryptions == 0 {
            return refused(format!(
                "expected 1 statistical bit and 1 decryption or more, got {statistical_bits} and {decryptions}"
            ));
        }
        let bits = f64::from(statistical_bits);
        let noises = (n as f64).log2() + (decryptions as f64).log2();
        if bits + noises > 2.0 * (SAMPLER_BITS - 2.0) {
            return refused(format!(
                "the noise sampler is not exact enough for {statistical_bits} statistical bits and {decryptions} decryptions; ask for fewer of either"
            ));
        }
        // Rounded coefficients are off by one at least.
        let log2_sigma = (KL_CONSTANT.log2() + noises + bits) / 2.0 + own.max(1.0).log2();
        Ok(log2_sigma.ceil() as u32)
    }

    /// log2 of the unit that coefficients are rounded to before a flood of `log2_sigma`.
    pub(crate) fn log2_unit(log2_sigma: u32) -> u32 {
        log2_sigma.saturating_sub(FLOOD_BITS)
    }
}

fn refused<T>(reason: String) -> Result<T> {
    Err(Error::InvalidArgument { operation: "decrypt for others", reason })
}

impl Estimate {
    /// The result of a flooded decryption: its [`Self::precision`] is what is left.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for no statistical bits or no decryptions, and for more of both
    /// than the sampler of noise is exact for.
    ///
    /// ```
    /// use rlwe::ckks::{Encoding, Flooding, Parameters, ParametersLiteral};
    /// let parameters = Parameters::new(ParametersLiteral { scale_bits: 60.0, ..Default::default() })?;
    /// let estimate = parameters.estimate(parameters.slots(), Encoding::at(0).within(1.0))?;
    /// let flooding = Flooding { statistical_bits: 40, decryptions: 1 };
    /// let flooded = estimate.encrypted()?.flooded(flooding)?;
    /// assert!((19.0..21.0).contains(&flooded.precision()));
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn flooded(&self, flooding: Flooding) -> Result<Self> {
        let own = self.in_coefficients();
        Ok(self.with_flood(flooding.log2_sigma(self.parameters.n(), own)?))
    }

    /// With a flood of this width in every coefficient.
    pub(crate) fn with_flood(&self, log2_sigma: u32) -> Self {
        self.with_coefficient_error(FLOOD_DEVIATION * f64::from(log2_sigma).exp2())
    }
}
