//! What both schemes ask of ring and chain, and the chain that this makes.

use std::fmt;

use crate::chain::{Chain, ChainRequest};
use crate::error::{Error, Result};
use crate::security::{MAX_SECURE_LOG_N, MIN_SECURE_LOG_N, max_log_qp};

/// How the coefficients of a secret key are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecretDistribution {
    /// Every coefficient uniform in -1, 0, 1.
    #[default]
    Ternary,
    /// Exactly so many coefficients uniform in -1, 1, the others 0.
    FixedWeight(usize),
}

impl SecretDistribution {
    /// Whether the security table, made for uniform ternary secrets, covers this one in a
    /// ring of degree 2^`log_n`.
    ///
    /// A fixed weight is covered from 2/3 of the degree, where its variance is that of
    /// a uniform ternary secret, to 3/4, where its entropy is still within 2 percent.
    /// Sparser secrets are weaker and denser ones are not in the table.
    ///
    /// ```
    /// use rlwe::SecretDistribution::{FixedWeight, Ternary};
    /// assert!(Ternary.is_covered(14));
    /// assert!(FixedWeight(11_000).is_covered(14));
    /// assert!(!FixedWeight(192).is_covered(14));
    /// ```
    pub fn is_covered(&self, log_n: u32) -> bool {
        match (*self, 1usize.checked_shl(log_n)) {
            (Self::Ternary, _) => true,
            (Self::FixedWeight(weight), Some(n)) => {
                weight >= n.div_ceil(3) * 2 && weight <= n / 4 * 3
            }
            (Self::FixedWeight(_), None) => false,
        }
    }
}

impl fmt::Display for SecretDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ternary => write!(f, "uniform ternary secret"),
            Self::FixedWeight(weight) => write!(f, "secret of weight {weight}"),
        }
    }
}

/// What a scheme asks of ring, chain and secret.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Literal {
    /// The ring degree as log2, 5 to 17; `None` takes the smallest secure one that fits.
    pub(crate) log_n: Option<u32>,
    /// The rescalings from the top level down to level 0.
    pub(crate) levels: usize,
    /// log2 of the scale, 20 to 60.
    pub(crate) scale_bits: f64,
    /// What the modulus of level 0 has beyond the scale, in bits, 2 to 60.
    pub(crate) headroom_bits: f64,
    /// The key-switching digits, at most; `None` takes the number with the cheapest rotation.
    pub(crate) digits: Option<usize>,
    /// A prime that stays out of the chain: the plaintext modulus of BGV.
    pub(crate) avoided: Option<u32>,
    /// Bits of the largest prime of any level, at most.
    pub(crate) word_bits: u32,
    /// How secret keys are drawn.
    pub(crate) secret: SecretDistribution,
    /// Allows parameters that the security table does not cover.
    pub(crate) insecure: bool,
}

/// Whether the security table covers `chain` and `secret` in a ring of degree 2^`log_n`: 128 bits
/// or more against classical attacks.
pub(crate) fn is_secure(log_n: u32, secret: SecretDistribution, chain: &Chain) -> bool {
    secret.is_covered(log_n) && max_log_qp(log_n).is_some_and(|largest| chain.log_qp() <= largest)
}

/// Refuses what [`is_secure`] does not cover.
pub(crate) fn require_secure(log_n: u32, secret: SecretDistribution, chain: &Chain) -> Result<()> {
    check_covered(log_n, secret)?;
    if is_secure(log_n, secret, chain) {
        return Ok(());
    }
    Err(Error::InsecureParameters(format!(
        "a modulus of {:.1} bits, key-switching primes included, is more than the {} bits that are secure at log_n = {log_n}; take other parameters, or set insecure",
        chain.log_qp(),
        max_log_qp(log_n).unwrap_or(0.0),
    )))
}

/// Refuses rings and secrets that the security table does not cover.
fn check_covered(log_n: u32, secret: SecretDistribution) -> Result<()> {
    if max_log_qp(log_n).is_none() {
        return Err(Error::InsecureParameters(format!(
            "log_n = {log_n} lies outside the security table, which goes from {MIN_SECURE_LOG_N} to {MAX_SECURE_LOG_N}; leave log_n out, or set insecure"
        )));
    }
    if !secret.is_covered(log_n) {
        return Err(Error::InsecureParameters(format!(
            "the security table does not cover a {secret} at log_n = {log_n}; use a uniform ternary secret, or set insecure"
        )));
    }
    Ok(())
}

/// Refuses weights that no secret in a ring of degree 2^`log_n` has.
pub(crate) fn check_weight(log_n: u32, secret: SecretDistribution) -> Result<()> {
    match secret {
        SecretDistribution::FixedWeight(weight)
            if weight == 0 || 1usize.checked_shl(log_n).is_some_and(|n| weight > n) =>
        {
            Err(Error::InvalidParameters(format!(
                "the weight of the secret must lie between 1 and 2^{log_n}, got {weight}"
            )))
        }
        _ => Ok(()),
    }
}

impl Literal {
    /// The ring degree, as log2, and the modulus chain that this literal asks for.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidParameters`] for a request out of range, and
    /// [`Error::InsecureParameters`] for one that falls short of 128-bit security and
    /// does not say `insecure`, with the smallest ring that would do.
    pub(crate) fn chain(&self) -> Result<(u32, Chain)> {
        let Some(log_n) = self.log_n else {
            return self.smallest_secure_chain();
        };
        check_weight(log_n, self.secret)?;
        let request = self.request(log_n);
        request.check()?;
        if !self.insecure {
            check_covered(log_n, self.secret)?;
            return Ok((log_n, Chain::new(&request)?));
        }
        // The chain must not depend on whether the ring degree was given or found.
        let limited = ChainRequest { max_log_qp: max_log_qp(log_n), ..request };
        let chain = match Chain::new(&limited) {
            Err(Error::InsecureParameters(_)) => Chain::new(&request)?,
            chain => chain?,
        };
        Ok((log_n, chain))
    }

    /// Whether a ring of degree 2^`log_n` may be secure, going by the least size of the modulus.
    pub(crate) fn may_fit(&self, log_n: u32) -> bool {
        ChainRequest { max_log_qp: max_log_qp(log_n), ..self.request(log_n) }.may_fit()
    }

    fn smallest_secure_chain(&self) -> Result<(u32, Chain)> {
        self.request(MAX_SECURE_LOG_N).check()?;
        let mut refusal = None;
        for log_n in MIN_SECURE_LOG_N..=MAX_SECURE_LOG_N {
            let request = ChainRequest { max_log_qp: max_log_qp(log_n), ..self.request(log_n) };
            let hopeless = log_n < MAX_SECURE_LOG_N && !request.may_fit();
            if hopeless || (!self.insecure && !self.secret.is_covered(log_n)) {
                continue;
            }
            match check_weight(log_n, self.secret).and_then(|()| Chain::new(&request)) {
                Ok(chain) => return Ok((log_n, chain)),
                Err(error) => refusal = Some(error),
            }
        }
        match refusal {
            Some(error) => Err(error),
            None => check_covered(MAX_SECURE_LOG_N, self.secret).and_then(|()| {
                Err(Error::InsecureParameters("no ring of the security table fits".into()))
            }),
        }
    }

    fn request(&self, log_n: u32) -> ChainRequest {
        ChainRequest {
            log_n,
            levels: self.levels,
            scale_bits: self.scale_bits,
            headroom_bits: self.headroom_bits,
            digits: self.digits,
            max_log_qp: if self.insecure { None } else { max_log_qp(log_n) },
            avoided: self.avoided,
            word_bits: self.word_bits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::primes::WORD_BITS;

    fn literal(log_n: Option<u32>, levels: usize) -> Literal {
        Literal {
            log_n,
            levels,
            scale_bits: 40.0,
            headroom_bits: 10.0,
            digits: None,
            avoided: None,
            word_bits: WORD_BITS,
            secret: SecretDistribution::Ternary,
            insecure: false,
        }
    }

    impl Literal {
        fn is_secure(&self, log_n: u32, chain: &Chain) -> bool {
            is_secure(log_n, self.secret, chain)
        }
    }

    #[test]
    fn the_smallest_ring_that_fits_is_found() {
        for (levels, smallest) in [(0, 12), (2, 13), (6, 14), (15, 15), (30, 16), (60, 17)] {
            let (log_n, chain) = literal(None, levels).chain().unwrap();
            assert_eq!(log_n, smallest, "{levels} levels");
            assert!(literal(None, levels).is_secure(log_n, &chain));
            if log_n > MIN_SECURE_LOG_N {
                let smaller = literal(Some(log_n - 1), levels).chain().unwrap_err();
                assert!(
                    matches!(&smaller, Error::InsecureParameters(why)
                        if why.contains(&format!("log_n = {log_n} would do"))),
                    "{smaller}"
                );
            }
        }
    }

    #[test]
    fn no_ring_fits_too_many_levels() {
        for levels in [100, 1_000_000, usize::MAX] {
            for log_n in [None, Some(17), Some(12)] {
                let error = literal(log_n, levels).chain().unwrap_err();
                assert!(matches!(error, Error::InsecureParameters(_)), "{error}");
            }
            let insecure = Literal { insecure: true, ..literal(Some(13), levels.max(1000)) };
            assert!(matches!(insecure.chain(), Err(Error::InvalidParameters(_))));
        }
    }

    #[test]
    fn an_insecure_set_must_say_so() {
        let small = literal(Some(8), 3);
        assert!(matches!(small.chain(), Err(Error::InsecureParameters(_))));
        let insecure = Literal { insecure: true, ..small.clone() };
        let (log_n, chain) = insecure.chain().unwrap();
        assert_eq!(log_n, 8);
        assert!(!insecure.is_secure(log_n, &chain));
        let refused = require_secure(log_n, insecure.secret, &chain);
        assert!(matches!(refused, Err(Error::InsecureParameters(_))));
        let (log_n, chain) = literal(None, 3).chain().unwrap();
        assert!(require_secure(log_n, SecretDistribution::Ternary, &chain).is_ok());
        let large = require_secure(log_n - 1, SecretDistribution::Ternary, &chain);
        assert!(matches!(large, Err(Error::InsecureParameters(_))));
    }

    #[test]
    fn a_sparse_secret_must_say_insecure() {
        let sparse =
            Literal { secret: SecretDistribution::FixedWeight(192), ..literal(Some(14), 4) };
        assert!(matches!(sparse.chain(), Err(Error::InsecureParameters(_))));
        let unringed = Literal { log_n: None, ..sparse.clone() };
        assert!(matches!(unringed.chain(), Err(Error::InsecureParameters(_))));
        let insecure = Literal { insecure: true, ..sparse };
        let (log_n, chain) = insecure.chain().unwrap();
        assert!(!insecure.is_secure(log_n, &chain));
        let dense =
            Literal { secret: SecretDistribution::FixedWeight(11_000), ..literal(Some(14), 4) };
        assert!(dense.chain().is_ok());
    }

    #[test]
    fn requests_out_of_range_are_refused() {
        let valid = Literal { insecure: true, ..literal(Some(13), 2) };
        assert!(valid.chain().is_ok());
        for wrong in [
            Literal { log_n: Some(4), ..valid.clone() },
            Literal { log_n: Some(18), ..valid.clone() },
            Literal { log_n: Some(u32::MAX), ..valid.clone() },
            Literal { scale_bits: 19.9, ..valid.clone() },
            Literal { scale_bits: f64::NAN, ..valid.clone() },
            Literal { scale_bits: f64::INFINITY, log_n: None, ..valid.clone() },
            Literal { headroom_bits: 1.0, ..valid.clone() },
            Literal { headroom_bits: f64::NAN, ..valid.clone() },
            Literal { digits: Some(0), ..valid.clone() },
            Literal { digits: Some(1000), ..valid.clone() },
            Literal { secret: SecretDistribution::FixedWeight(0), ..valid.clone() },
            Literal { secret: SecretDistribution::FixedWeight(8193), ..valid.clone() },
        ] {
            let error = wrong.chain().unwrap_err();
            assert!(matches!(error, Error::InvalidParameters(_)), "{wrong:?}: {error}");
        }
    }
}
