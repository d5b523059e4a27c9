//! Parameters as a person writes them, and the chain they make.

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

/// What a person asks of a parameter set; [`ParametersLiteral::chain`] makes it concrete.
///
/// ```
/// use rlwe::ParametersLiteral;
/// let literal = ParametersLiteral { levels: 5, scale_bits: 40.0, ..Default::default() };
/// let (log_n, chain) = literal.chain()?;
/// assert_eq!((log_n, chain.max_level()), (14, 5));
/// # Ok::<(), rlwe::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ParametersLiteral {
    /// The ring degree as log2, 5 to 17; `None` takes the smallest secure one that fits.
    pub log_n: Option<u32>,
    /// The rescalings from the top level down to level 0.
    pub levels: usize,
    /// log2 of the scale, 20 to 60.
    pub scale_bits: f64,
    /// What the modulus of level 0 has beyond the scale, in bits, 2 to 60: messages up to
    /// about 2^(headroom_bits - 2) in magnitude decrypt.
    pub headroom_bits: f64,
    /// The key-switching digits, at most; `None` takes the number with the cheapest rotation.
    pub digits: Option<usize>,
    /// The modulus of BGV's numbers, a prime that is 1 modulo 2N; `None` for CKKS.
    pub plaintext_modulus: Option<u32>,
    /// How secret keys are drawn.
    pub secret: SecretDistribution,
    /// Allows parameters that the security table does not cover.
    pub insecure: bool,
}

impl Default for ParametersLiteral {
    /// A scale of 40 bits with 10 bits of headroom, no levels, and all else for the best.
    fn default() -> Self {
        Self {
            log_n: None,
            levels: 0,
            scale_bits: 40.0,
            headroom_bits: 10.0,
            digits: None,
            plaintext_modulus: None,
            secret: SecretDistribution::Ternary,
            insecure: false,
        }
    }
}

impl ParametersLiteral {
    /// The ring degree, as log2, and the modulus chain that this literal asks for.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidParameters`] for a request out of range, and
    /// [`Error::InsecureParameters`] for one that falls short of 128-bit security and
    /// does not say `insecure`, with the smallest ring that would do.
    pub fn chain(&self) -> Result<(u32, Chain)> {
        let Some(log_n) = self.log_n else {
            return self.smallest_secure_chain();
        };
        self.check_weight(log_n)?;
        let request = self.request(log_n);
        request.check()?;
        if !self.insecure {
            self.check_covered(log_n)?;
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

    /// Whether the security table covers `chain`, made from this literal, in a ring of
    /// degree 2^`log_n`: 128 bits or more against classical attacks.
    pub fn is_secure(&self, log_n: u32, chain: &Chain) -> bool {
        self.secret.is_covered(log_n)
            && max_log_qp(log_n).is_some_and(|largest| chain.log_qp() <= largest)
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
            match self.check_weight(log_n).and_then(|()| Chain::new(&request)) {
                Ok(chain) => return Ok((log_n, chain)),
                Err(error) => refusal = Some(error),
            }
        }
        match refusal {
            Some(error) => Err(error),
            None => self.check_covered(MAX_SECURE_LOG_N).and_then(|()| {
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
            avoided: self.plaintext_modulus,
        }
    }

    fn check_weight(&self, log_n: u32) -> Result<()> {
        match self.secret {
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

    fn check_covered(&self, log_n: u32) -> Result<()> {
        if max_log_qp(log_n).is_none() {
            return Err(Error::InsecureParameters(format!(
                "log_n = {log_n} lies outside the security table, which goes from {MIN_SECURE_LOG_N} to {MAX_SECURE_LOG_N}; leave log_n out, or set insecure"
            )));
        }
        if !self.secret.is_covered(log_n) {
            return Err(Error::InsecureParameters(format!(
                "the security table does not cover a {} at log_n = {log_n}; use a uniform ternary secret, or set insecure",
                self.secret
            )));
        }
        Ok(())
    }
}

impl fmt::Display for ParametersLiteral {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.insecure {
            write!(f, "INSECURE ")?;
        }
        write!(f, "parameters(")?;
        if let Some(log_n) = self.log_n {
            write!(f, "log_n {log_n}, ")?;
        }
        write!(
            f,
            "{} levels, scale {} bits, headroom {} bits, ",
            self.levels, self.scale_bits, self.headroom_bits
        )?;
        if let Some(digits) = self.digits {
            write!(f, "{digits} digits, ")?;
        }
        write!(f, "{})", self.secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(log_n: Option<u32>, levels: usize) -> ParametersLiteral {
        ParametersLiteral { log_n, levels, ..Default::default() }
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
            let insecure =
                ParametersLiteral { insecure: true, ..literal(Some(13), levels.max(1000)) };
            assert!(matches!(insecure.chain(), Err(Error::InvalidParameters(_))));
        }
    }

    #[test]
    fn an_insecure_set_must_say_so_and_is_printed_so() {
        let small = literal(Some(8), 3);
        assert!(matches!(small.chain(), Err(Error::InsecureParameters(_))));
        let insecure = ParametersLiteral { insecure: true, ..small.clone() };
        let (log_n, chain) = insecure.chain().unwrap();
        assert_eq!(log_n, 8);
        assert!(!insecure.is_secure(log_n, &chain));
        assert!(insecure.to_string().starts_with("INSECURE"));
        assert!(!small.to_string().contains("INSECURE"));
        assert_eq!(
            small.to_string(),
            "parameters(log_n 8, 3 levels, scale 40 bits, headroom 10 bits, uniform ternary secret)"
        );
    }

    #[test]
    fn a_sparse_secret_must_say_insecure() {
        let sparse = ParametersLiteral {
            secret: SecretDistribution::FixedWeight(192),
            ..literal(Some(14), 4)
        };
        assert!(matches!(sparse.chain(), Err(Error::InsecureParameters(_))));
        let unringed = ParametersLiteral { log_n: None, ..sparse.clone() };
        assert!(matches!(unringed.chain(), Err(Error::InsecureParameters(_))));
        let insecure = ParametersLiteral { insecure: true, ..sparse };
        let (log_n, chain) = insecure.chain().unwrap();
        assert!(!insecure.is_secure(log_n, &chain));
        let dense = ParametersLiteral {
            secret: SecretDistribution::FixedWeight(11_000),
            ..literal(Some(14), 4)
        };
        assert!(dense.chain().is_ok());
    }

    #[test]
    fn requests_out_of_range_are_refused() {
        let valid = ParametersLiteral { insecure: true, ..literal(Some(13), 2) };
        assert!(valid.chain().is_ok());
        for wrong in [
            ParametersLiteral { log_n: Some(4), ..valid.clone() },
            ParametersLiteral { log_n: Some(18), ..valid.clone() },
            ParametersLiteral { log_n: Some(u32::MAX), ..valid.clone() },
            ParametersLiteral { scale_bits: 19.9, ..valid.clone() },
            ParametersLiteral { scale_bits: f64::NAN, ..valid.clone() },
            ParametersLiteral { scale_bits: f64::INFINITY, log_n: None, ..valid.clone() },
            ParametersLiteral { headroom_bits: 1.0, ..valid.clone() },
            ParametersLiteral { headroom_bits: f64::NAN, ..valid.clone() },
            ParametersLiteral { digits: Some(0), ..valid.clone() },
            ParametersLiteral { digits: Some(1000), ..valid.clone() },
            ParametersLiteral { secret: SecretDistribution::FixedWeight(0), ..valid.clone() },
            ParametersLiteral { secret: SecretDistribution::FixedWeight(8193), ..valid.clone() },
        ] {
            let error = wrong.chain().unwrap_err();
            assert!(matches!(error, Error::InvalidParameters(_)), "{wrong}: {error}");
        }
    }
}
