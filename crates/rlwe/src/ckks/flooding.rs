//! Noise for results that others see.

use super::estimate::Estimate;
use crate::sampling::MAX_LOG2_SIGMA;
use crate::{Error, Result};

/// The constant of Li, Micciancio, Schultz and Sorrell.
const KL_CONSTANT: f64 = 24.0;

/// The sampler's probabilities are right to 2^-57, relatively.
const SAMPLER_BITS: f64 = 57.0;

/// The deviation of a flood of `log2_sigma`, times 2^-`log2_sigma`: see
/// [`wide_gaussian`](crate::sampling::wide_gaussian).
const FLOOD_DEVIATION: f64 = 1.855;

/// How well decryptions for others hide the noise that reveals the secret key, and how many there
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

    /// log2 of the unit that coefficients are rounded to before a flood of `log2_sigma`, which is
    /// the widest that can be drawn.
    pub(crate) fn log2_unit(log2_sigma: u32) -> u32 {
        log2_sigma.saturating_sub(MAX_LOG2_SIGMA)
    }
}

fn refused<T>(reason: String) -> Result<T> {
    Err(Error::InvalidArgument { operation: "decrypt for others", reason })
}

impl Estimate {
    /// The result of a flooded decryption: its [`Self::precision`] is what is left.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for no statistical bits or no decryptions, for more of both than
    /// the sampler of noise is exact for, and when nothing would be left.
    ///
    /// ```
    /// use rlwe::ckks::{Encoding, Flooding, Parameters, ParametersLiteral};
    /// let parameters = Parameters::new(ParametersLiteral { scale_bits: 60.0, ..Default::default() })?;
    /// let estimate = parameters.estimate(parameters.slots(), Encoding::at(0).within(1.0))?;
    /// let flooding = Flooding { statistical_bits: 40, decryptions: 1 };
    /// let flooded = estimate.encrypted()?.flooded(flooding)?;
    /// assert!((16.0..17.0).contains(&flooded.precision()), "{}", flooded.precision());
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn flooded(&self, flooding: Flooding) -> Result<Self> {
        let log2_sigma = flooding.log2_sigma(self.parameters.n(), self.in_coefficients())?;
        self.check_flood(log2_sigma)?;
        Ok(self.with_flood(log2_sigma))
    }

    /// Refuses a flood that is wider than the modulus: nothing would be left.
    pub(crate) fn check_flood(&self, log2_sigma: u32) -> Result<()> {
        let modulus_bits = self.parameters.log_q(self.level)?;
        if f64::from(log2_sigma) < modulus_bits {
            return Ok(());
        }
        refused(format!(
            "flooding by 2^{log2_sigma} leaves nothing of a result modulo 2^{modulus_bits:.1}; ask for fewer statistical bits or decryptions"
        ))
    }

    /// With a flood of this width in every coefficient.
    pub(crate) fn with_flood(&self, log2_sigma: u32) -> Self {
        self.with_coefficient_error(FLOOD_DEVIATION * f64::from(log2_sigma).exp2())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ckks::{Ciphertext, Encoding, Parameters, ParametersLiteral};
    use crate::core::keys::SecretKey;
    use crate::sampling::{Generator, ternary};

    /// Two ciphertexts of one message, and the adversary who knows the noise of both: the best
    /// that there can be at telling from one decryption which of them it is of.
    struct Game {
        secret: SecretKey,
        ciphertexts: [Ciphertext; 2],
        /// The middle between both phases, and the direction from the first to the second.
        middle: Vec<f64>,
        direction: Vec<f64>,
    }

    impl Game {
        fn new(log_n: u32) -> Self {
            let literal = ParametersLiteral {
                log_n: Some(log_n),
                scale_bits: 50.0,
                ..ParametersLiteral::default()
            };
            let parameters = Parameters::new(literal).unwrap();
            let secret = SecretKey::generate(&parameters).unwrap();
            let message = vec![0.5; parameters.slots()];
            let message = parameters.encode_real(&message, Encoding::at(0).within(1.0)).unwrap();
            let ciphertexts = [(); 2].map(|()| secret.encrypt(&message).unwrap());
            let [first, second] = ciphertexts.each_ref().map(|ciphertext| {
                secret.coefficients_of(ciphertext, ciphertext.estimate()).unwrap().values(1.0)
            });
            let middle = first.iter().zip(&*second).map(|(a, b)| (a + b) / 2.0).collect();
            let direction = first.iter().zip(&*second).map(|(a, b)| b - a).collect();
            Self { secret, ciphertexts, middle, direction }
        }

        /// By how much more often than not the adversary is right.
        ///
        /// Each time the ciphertext claims another bound, so that its noise is drawn anew.
        fn advantage(&self, decryptions: usize, flood: impl Fn(&Ciphertext) -> Vec<f64>) -> f64 {
            let mut generator = Generator::from_os().unwrap();
            let coins = ternary(&mut generator, decryptions);
            let right = coins.iter().enumerate().filter(|&(number, &coin)| {
                let world = usize::from(coin > 0);
                let mut ciphertext = self.ciphertexts[world].clone();
                ciphertext.estimate.bound *= 1.0 + number as f64 * f64::EPSILON;
                let seen = flood(&ciphertext);
                let places = seen.iter().zip(&self.middle).zip(&self.direction);
                let towards: f64 =
                    places.map(|((x, middle), direction)| (x - middle) * direction).sum();
                world == usize::from(towards > 0.0)
            });
            2.0 * right.count() as f64 / decryptions as f64 - 1.0
        }

        /// With as much noise as `flooding` asks for.
        fn now(&self, flooding: Flooding, ciphertext: &Ciphertext) -> Vec<f64> {
            let estimate = ciphertext.estimate();
            let flooded = self.secret.decrypt_flooded(ciphertext, estimate, flooding).unwrap();
            flooded.coefficients().iter().map(|x| x * estimate.scale()).collect()
        }

        /// With noise that exceeds that of one coefficient by so many bits.
        fn by_one_coefficient(&self, flood_bits: f64, ciphertext: &Ciphertext) -> Vec<f64> {
            let estimate = ciphertext.estimate();
            let log2_sigma = (estimate.in_coefficients().log2() + flood_bits).ceil() as u32;
            let mut coefficients = self.secret.coefficients_of(ciphertext, estimate).unwrap();
            coefficients.flood(&mut Generator::from_os().unwrap(), log2_sigma).unwrap();
            coefficients.values(1.0).to_vec()
        }
    }

    /// The adversary's guesses are a coin's within four deviations under the flood that is asked
    /// for, and not under one that counts from a single coefficient.
    fn play(log_n: u32, decryptions: usize) {
        let game = Game::new(log_n);
        let flooding = Flooding { statistical_bits: 12, decryptions: decryptions as u64 };
        let chance = 4.0 / (decryptions as f64).sqrt();
        let advantage = game.advantage(decryptions, |c| game.now(flooding, c));
        let stated = (-(12.0 / 2.0 + 1.7f64)).exp2();
        assert!(advantage < stated + chance, "{advantage}");
        let seen = game.advantage(decryptions, |c| game.by_one_coefficient(12.0 / 2.0, c));
        assert!(seen > chance.max(0.1), "{seen}");
    }

    #[test]
    fn the_same_ciphertext_gets_the_same_noise_and_no_other_does() {
        let Game { secret, ciphertexts: [first, second], .. } = Game::new(12);
        let noise = |ciphertext: &Ciphertext, statistical_bits| {
            let flooding = Flooding { statistical_bits, decryptions: 1 };
            let estimate = first.estimate();
            let flooded = secret.decrypt_flooded(ciphertext, estimate, flooding).unwrap();
            let exact = secret.decrypt(ciphertext, estimate).unwrap();
            let pairs = flooded.coefficients().iter().zip(exact.coefficients());
            pairs.map(|(a, b)| a - b).collect::<Vec<f64>>()
        };
        let correlation = |a: &[f64], b: &[f64]| {
            let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            product(a, b) / (product(a, a) * product(b, b)).sqrt()
        };
        let once = noise(&first, 20);
        assert_eq!(once, noise(&first, 20));
        let mut claims = first.clone();
        claims.estimate.bound *= 1.0 + f64::EPSILON;
        // Other bytes, or another width: neither the noise nor a multiple of it.
        for other in [noise(&second, 20), noise(&claims, 20), noise(&first, 30)] {
            let limit = 6.0 / (once.len() as f64).sqrt();
            assert!(correlation(&once, &other).abs() < limit);
        }
        let stored = SecretKey::from_bytes(secret.parameters(), &secret.to_bytes()).unwrap();
        let flooding = Flooding { statistical_bits: 20, decryptions: 1 };
        let [mine, its] = [&secret, &stored]
            .map(|key| key.decrypt_flooded(&first, first.estimate(), flooding).unwrap());
        assert_eq!(mine.coefficients(), its.coefficients());
    }

    #[test]
    fn a_distinguisher_sees_nothing_of_flooded_noise() {
        play(12, 1000);
    }

    #[test]
    #[ignore = "10,000 decryptions of a ring of degree 2^13 take half a minute"]
    fn a_distinguisher_of_10000_decryptions_stays_below_the_stated_advantage() {
        play(13, 10_000);
    }
}
