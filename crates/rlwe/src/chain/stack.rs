//! Levels of sizes of their own above those of one scale.
//!
//! The levels of a computation share one scale, and terminals come and go below them. A circuit
//! that runs at the top of the chain and always in the same way, as bootstrapping does, asks
//! each of its levels for a modulus of another size. Such a level holds all primes of the
//! level below and one to four more, near one another and of the size asked for: nothing joins.
//!
//! ```text
//!   level 5   t t f f f f f  c c d d     55 bits leave
//!   level 4   t t f f f f f  c c         60 bits leave
//!   level 3   t t f f f f f              as in `pattern`
//! ```

use super::moduli::Moduli;
use super::pool::{Bits, Fit, PrimePool, bits};
use super::{Built, Chain, ChainRequest, Level, MAX_LOG_Q};
use crate::error::{Error, Result};
use crate::ring::primes::WORD_BITS;

/// The least and the most that rescaling from an upper level may divide by, in bits.
pub(crate) const RESCALE_BITS: std::ops::RangeInclusive<f64> = 20.0..=100.0;
/// How far a modulus may miss its size.
const TOLERANCE_BITS: f64 = 0.25;

impl Chain {
    /// The chain of `request` with further levels on top: rescaling from each divides by about
    /// so many bits, the lowest first. [`ChainRequest::levels`] and its scale are of the levels
    /// below; digits and the largest modulus are of the whole chain.
    ///
    /// The scale of an upper level is the one whose square its rescaling takes to the scale
    /// below: with S below and a division by r it is `sqrt(S r)`. A run of levels of r bits
    /// comes near r bits within a few.
    ///
    /// # Errors
    ///
    /// Those of [`Chain::new`]; [`Error::InvalidParameters`] for a size from 20 to 100 bits
    /// out of range.
    ///
    /// ```
    /// use rlwe::chain::{Chain, ChainRequest};
    /// let request = ChainRequest {
    ///     log_n: 13,
    ///     levels: 2,
    ///     scale_bits: 40.0,
    ///     headroom_bits: 10.0,
    ///     digits: Some(2),
    ///     max_log_qp: None,
    ///     word_bits: 30,
    ///     avoided: None,
    /// };
    /// let chain = Chain::stacked(&request, &[58.0, 58.0, 50.0])?;
    /// assert_eq!(chain.max_level(), 5);
    /// let top = chain.levels[5].log_q - chain.levels[4].log_q;
    /// assert!((top - 50.0).abs() < 0.25);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn stacked(request: &ChainRequest, rescale_bits: &[f64]) -> Result<Self> {
        request.check()?;
        if let Some(bits) = rescale_bits.iter().find(|bits| !RESCALE_BITS.contains(bits)) {
            return Err(Error::InvalidParameters(format!(
                "a level must divide by {} to {} bits, got {bits}",
                RESCALE_BITS.start(),
                RESCALE_BITS.end()
            )));
        }
        let log_q = request.least_log_q() + rescale_bits.iter().sum::<f64>();
        if log_q > MAX_LOG_Q {
            return Err(Error::InvalidParameters(format!(
                "the levels make a modulus of {log_q:.0} bits, and {MAX_LOG_Q} is the most; ask for fewer"
            )));
        }
        let mut pool = PrimePool::new(request.log_n, request.avoided);
        let mut moduli = Moduli::find(request, &pool).ok_or_else(|| request.too_few_primes())?;
        pool.take(&moduli.chosen);
        for &bits in rescale_bits {
            moduli.stack(&mut pool, bits).ok_or_else(|| request.too_few_primes())?;
        }
        match request.with_digits(&mut pool, moduli)? {
            Built::Fits(chain) => Ok(chain),
            Built::TooLarge { needed } => Err(Error::InsecureParameters(format!(
                "the levels need a modulus of {needed:.1} bits with the key-switching primes, and log_n = {} allows {}; ask for fewer or smaller levels",
                request.log_n,
                request.max_log_qp.unwrap_or(f64::INFINITY)
            ))),
        }
    }
}

impl Moduli {
    /// Adds a level from which rescaling divides by `rescale_bits`; nothing where no free primes
    /// come near.
    fn stack(&mut self, pool: &mut PrimePool, rescale_bits: f64) -> Option<()> {
        let below = self.levels.last()?;
        let words = (rescale_bits / f64::from(WORD_BITS)).ceil() as usize;
        let primes = pool.sum_near(words, bits(rescale_bits), Fit::Nearest)?;
        let size = primes.iter().map(|&i| pool.size(i)).sum::<Bits>();
        if (size - bits(rescale_bits)).abs() > bits(TOLERANCE_BITS) {
            return None;
        }
        pool.take(&primes);
        self.chosen.extend(&primes);
        let scale = (below.scale * pool.product(&primes) as f64).sqrt();
        let log_q = self.chosen.iter().map(|&i| f64::from(pool.prime(i)).log2()).sum();
        self.levels.push(Level { primes: (0..self.chosen.len()).collect(), scale, log_q });
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(log_n: u32) -> ChainRequest {
        ChainRequest {
            log_n,
            levels: 3,
            scale_bits: 40.0,
            headroom_bits: 14.0,
            digits: Some(3),
            max_log_qp: None,
            avoided: None,
            word_bits: WORD_BITS,
        }
    }

    #[test]
    fn upper_levels_have_the_sizes_asked_for() {
        let sizes = [59.8, 59.8, 59.8, 50.0, 45.0, 30.0, 80.0];
        for log_n in [7, 12, 16] {
            let chain = Chain::stacked(&request(log_n), &sizes).unwrap();
            assert_eq!(chain.check(log_n), Ok(()));
            assert_eq!(chain.max_level(), 3 + sizes.len());
            for (index, bits) in sizes.iter().enumerate() {
                let [below, above] = [3 + index, 4 + index].map(|level| &chain.levels[level]);
                assert!((above.log_q - below.log_q - bits).abs() < TOLERANCE_BITS);
                assert!(below.primes.iter().all(|prime| above.primes.contains(prime)));
                let rescaled = 2.0 * above.scale.log2() - (above.log_q - below.log_q);
                assert!((rescaled - below.scale.log2()).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn without_upper_levels_the_chain_is_that_of_the_request() {
        assert_eq!(Chain::stacked(&request(9), &[]).unwrap(), Chain::new(&request(9)).unwrap());
    }

    #[test]
    fn sizes_out_of_range_and_chains_too_large_are_refused() {
        for wrong in [0.0, 19.9, 101.0, f64::NAN, f64::INFINITY] {
            let refused = Chain::stacked(&request(9), &[wrong]);
            assert!(matches!(refused, Err(Error::InvalidParameters(_))), "{wrong}");
        }
        let refused = Chain::stacked(&request(9), &[60.0; 100]);
        assert!(matches!(refused, Err(Error::InvalidParameters(_))));
        let limited = ChainRequest { max_log_qp: Some(430.0), ..request(14) };
        let refused = Chain::stacked(&limited, &[59.0; 6]);
        assert!(matches!(refused, Err(Error::InsecureParameters(_))));
    }
}
