//! The modulus chain: which primes every level holds, and its scale.
//!
//! A level is a set of word primes. Rescaling from level l to level l - 1 multiplies
//! by the primes that join, J, and divides by those that leave, D:
//!
//! ```text
//!   x' = round(x * prod J / prod D)        scale' = scale^2 * prod J / prod D
//! ```
//!
//! Most primes are as near 30 bits as may be; up to four smaller ones, the
//! terminals, come and go so that every level's scale stays where it was asked,
//! between 2^20 and 2^60. The same aim in the literature: BitPacker (ASPLOS 2024),
//! Cheddar (2024), Grafting (eprint 2024/1014).

mod check;
mod digits;
mod moduli;
mod pattern;
mod pool;
mod stack;

use crate::error::{Error, Result};
use crate::security::{MAX_SECURE_LOG_N, max_log_qp};

pub(crate) use check::{MARGIN_BITS, check_nominal_bits};
use moduli::Moduli;
use pool::PrimePool;
pub(crate) use stack::RESCALE_BITS;

/// The least and largest ring degree, as log2.
pub const MIN_LOG_N: u32 = 5;
/// The largest ring degree, as log2.
pub const MAX_LOG_N: u32 = 17;
/// The least scale, in bits.
pub const MIN_SCALE_BITS: f64 = 20.0;
/// The largest scale, in bits.
pub const MAX_SCALE_BITS: f64 = 60.0;
/// The least headroom of level 0 over the scale, in bits.
pub const MIN_HEADROOM_BITS: f64 = 2.0;
/// The least of the bits that words may be held to.
pub const MIN_WORD_BITS: u32 = 20;
/// The largest headroom of level 0 over the scale, in bits.
pub const MAX_HEADROOM_BITS: f64 = 60.0;

/// No chain is longer, however insecure: the word primes of the largest ring end here.
const MAX_LOG_Q: f64 = 4096.0;

/// What a modulus chain is asked for.
///
/// ```
/// use rlwe::chain::{Chain, ChainRequest};
/// let request = ChainRequest {
///     log_n: 14,
///     levels: 6,
///     scale_bits: 40.0,
///     headroom_bits: 10.0,
///     digits: None,
///     max_log_qp: Some(430.0),
///     avoided: None,
///     word_bits: 30,
/// };
/// let chain = Chain::new(&request)?;
/// assert_eq!(chain.levels.len(), 7);
/// assert!(chain.log_qp() <= 430.0);
/// # Ok::<(), rlwe::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChainRequest {
    /// The ring degree as log2, 5 to 17.
    pub log_n: u32,
    /// The rescalings from the top level down to level 0.
    pub levels: usize,
    /// log2 of the scale, 20 to 60.
    pub scale_bits: f64,
    /// What the modulus of level 0 has beyond the scale, in bits, 2 to 60.
    pub headroom_bits: f64,
    /// The key-switching digits at the top level, at most; `None` takes the number for which a
    /// rotation is modelled cheapest among those that fit.
    pub digits: Option<usize>,
    /// The largest modulus allowed, key-switching primes included, in bits; `None` sets
    /// no limit.
    pub max_log_qp: Option<f64>,
    /// A prime that stays out of the chain: the plaintext modulus of BGV.
    pub avoided: Option<u32>,
    /// The primes of all levels are below 2^`word_bits`, 20 to 30; key-switching primes may be
    /// larger. Products of matrices take shorter words: see [`Chain::word_bits`].
    pub word_bits: u32,
}

/// The primes of one level and its scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Positions in [`Chain::q_primes`], rising.
    pub primes: Vec<usize>,
    /// The level's scale: what a product of two values at the scale above becomes by
    /// rescaling, to the rounding of `f64`.
    pub scale: f64,
    /// log2 of the level's modulus.
    pub log_q: f64,
}

/// A modulus chain: the primes of every level, their scales and the key-switching primes.
///
/// Below the top, scales lie within 0.05 bits of the request for rings up to 2^15, and
/// from 34 bits up for 2^16; within 0.2 bits where a scale is just one or two words of
/// 30 bits. The largest rings have few word primes: scales below 34 bits lie within
/// 0.13 bits there, and below 23 bits may be refused. Nothing can join at the top, so
/// its scale is missed where no set of primes has the right size: by at most one bit
/// down and five up, and by a quarter of a bit at most from 42 bits. Every scale is recorded as it is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Chain {
    /// The primes of the top level, which include those of every other level:
    /// terminals first, then full primes, of which each level holds a prefix.
    pub q_primes: Vec<u32>,
    /// The primes that key switching multiplies the modulus by, none of them in `q_primes`.
    pub p_primes: Vec<u32>,
    /// From level 0 to the top.
    pub levels: Vec<Level>,
    /// A partition of the positions in `q_primes`; the key-switching primes exceed
    /// each part by at least 4 bits.
    pub digits: Vec<Vec<usize>>,
}

impl Chain {
    /// Builds the chain that holds the request in the fewest limbs.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidParameters`] for a request out of range or a ring with too few
    /// word primes; [`Error::InsecureParameters`] for a chain larger than
    /// `max_log_qp`, with the bits it needs and the smallest ring that would do.
    pub fn new(request: &ChainRequest) -> Result<Self> {
        request.check()?;
        match request.build()? {
            Built::Fits(chain) => Ok(chain),
            Built::TooLarge { needed } => Err(request.too_large(needed)),
        }
    }

    /// The largest number of levels that fits the request, whose `levels` is ignored.
    ///
    /// With `digits: None` the key-switching digits may become many and small to make
    /// headroom; ask for a number of digits to bound the cost of a rotation.
    ///
    /// # Errors
    ///
    /// As [`Chain::new`]; [`Error::InsecureParameters`] if not even level 0 fits, and
    /// [`Error::InvalidParameters`] if `max_log_qp` sets no limit.
    ///
    /// ```
    /// use rlwe::chain::{Chain, ChainRequest};
    /// let request = ChainRequest {
    ///     log_n: 14,
    ///     levels: 0,
    ///     scale_bits: 40.0,
    ///     headroom_bits: 10.0,
    ///     digits: Some(3),
    ///     max_log_qp: Some(430.0),
    ///     avoided: None,
    ///     word_bits: 30,
    /// };
    /// assert_eq!(Chain::max_levels(&request)?, 6);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn max_levels(request: &ChainRequest) -> Result<usize> {
        let Some(budget) = request.max_log_qp else {
            return Err(Error::InvalidParameters(
                "the largest number of levels needs a largest modulus; set max_log_qp".into(),
            ));
        };
        let empty = ChainRequest { levels: 0, ..*request };
        empty.check()?;
        // P exceeds the largest digit, which is at least log Q over their number.
        let budget_of_q = match request.digits {
            Some(digits) => budget * digits as f64 / (digits as f64 + 1.0),
            None => budget,
        };
        let headroom = budget_of_q.min(MAX_LOG_Q) - empty.least_log_q();
        let at_most = (headroom / request.scale_bits).max(0.0) as usize;
        for levels in (0..=at_most).rev() {
            if let Ok(Built::Fits(_)) = (ChainRequest { levels, ..*request }).build() {
                return Ok(levels);
            }
        }
        Self::new(&empty).map(|_| 0)
    }

    /// The largest level, from which as many rescalings lead down to level 0.
    pub fn max_level(&self) -> usize {
        self.levels.len().saturating_sub(1)
    }

    /// Bits of the largest prime of any level: rotated products are fastest up to 24, need three
    /// times the work from 27 on, and are exact whatever it is.
    pub fn word_bits(&self) -> u32 {
        self.q_primes.iter().map(|&p| u32::BITS - p.leading_zeros()).max().unwrap_or(0)
    }

    /// log2 of the modulus of the top level.
    pub fn log_q(&self) -> f64 {
        log2_product(&self.q_primes)
    }

    /// log2 of the product of the key-switching primes.
    pub fn log_p(&self) -> f64 {
        log2_product(&self.p_primes)
    }

    /// log2 of the largest modulus in use, which is the one that security depends on.
    pub fn log_qp(&self) -> f64 {
        self.log_q() + self.log_p()
    }

    /// Positions of the primes that leave in rescaling from `level` to the level below;
    /// none for level 0 and for levels above the top.
    pub fn leaving(&self, level: usize) -> Vec<usize> {
        self.moved(level, level.wrapping_sub(1))
    }

    /// Positions of the primes that join in rescaling from `level` to the level below;
    /// none for level 0 and for levels above the top.
    pub fn joining(&self, level: usize) -> Vec<usize> {
        self.moved(level.wrapping_sub(1), level)
    }

    fn moved(&self, from: usize, to: usize) -> Vec<usize> {
        match (self.levels.get(from), self.levels.get(to)) {
            (Some(from), Some(to)) => {
                from.primes.iter().copied().filter(|i| !to.primes.contains(i)).collect()
            }
            _ => Vec::new(),
        }
    }
}

enum Built {
    Fits(Chain),
    TooLarge { needed: f64 },
}

impl ChainRequest {
    pub(crate) fn check(&self) -> Result<()> {
        let invalid = |what: String| Err(Error::InvalidParameters(what));
        check::check_log_n(self.log_n)?;
        check_nominal_bits(self.scale_bits, self.headroom_bits)?;
        check::check_word_bits(self.word_bits)?;
        if self.digits == Some(0) {
            return invalid("digits must be at least 1, got 0".into());
        }
        if self.max_log_qp.is_some_and(f64::is_nan) {
            return invalid("max_log_qp must be a number, got NaN".into());
        }
        Ok(())
    }

    fn least_log_q(&self) -> f64 {
        self.scale_bits + self.headroom_bits + self.levels as f64 * self.scale_bits
    }

    /// Whether the modulus may fit, going by its least size.
    pub(crate) fn may_fit(&self) -> bool {
        self.least_log_q() <= self.budget()
    }

    fn budget(&self) -> f64 {
        self.max_log_qp.unwrap_or(f64::INFINITY)
    }

    fn build(&self) -> Result<Built> {
        let least = self.least_log_q();
        if least > MAX_LOG_Q {
            return match self.max_log_qp {
                Some(_) => Ok(Built::TooLarge { needed: least }),
                None => Err(Error::InvalidParameters(format!(
                    "{} levels of {} bits make a modulus of {least:.0} bits, and {MAX_LOG_Q} is the most; ask for fewer levels",
                    self.levels, self.scale_bits
                ))),
            };
        }
        let mut pool = PrimePool::new(self.log_n, self.avoided);
        let words = pool.below(self.word_bits);
        let moduli = Moduli::find(self, &words).ok_or_else(|| self.too_few_primes())?;
        pool.take(&moduli.chosen);
        self.with_digits(&mut pool, moduli)
    }

    fn too_few_primes(&self) -> Error {
        Error::InvalidParameters(format!(
            "log_n = {} has too few word primes for {} levels of {} bits; ask for fewer levels or another scale",
            self.log_n, self.levels, self.scale_bits
        ))
    }

    fn too_large(&self, needed: f64) -> Error {
        let larger = (self.log_n + 1..=MAX_SECURE_LOG_N).find(|&log_n| {
            let request = ChainRequest { log_n, max_log_qp: max_log_qp(log_n), ..*self };
            request.may_fit() && matches!(request.build(), Ok(Built::Fits(_)))
        });
        let advice = match larger {
            Some(log_n) => format!("log_n = {log_n} would do"),
            None => "no larger ring would do, ask for fewer levels or a smaller scale".into(),
        };
        Error::InsecureParameters(format!(
            "{} levels of {} bits need a modulus of {needed:.1} bits with the key-switching primes, and log_n = {} allows {}; {advice}",
            self.levels,
            self.scale_bits,
            self.log_n,
            self.budget()
        ))
    }
}

fn log2_product(primes: &[u32]) -> f64 {
    primes.iter().map(|&p| f64::from(p).log2()).sum()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use num_bigint::BigInt;
    use num_rational::BigRational;
    use rayon::prelude::*;

    use super::*;
    use crate::parallel;
    use crate::ring::primes::WORD_BITS;

    fn request(log_n: u32, levels: usize, scale_bits: f64) -> ChainRequest {
        let (digits, max_log_qp, avoided) = (None, None, None);
        ChainRequest {
            log_n,
            levels,
            scale_bits,
            headroom_bits: 10.0,
            digits,
            max_log_qp,
            avoided,
            word_bits: WORD_BITS,
        }
    }

    fn product(chain: &Chain, positions: &[usize]) -> BigInt {
        positions.iter().map(|&i| BigInt::from(chain.q_primes[i])).product()
    }

    fn exact(x: f64) -> BigRational {
        BigRational::from_float(x).unwrap()
    }

    /// How far the scales below the top lie from the one asked for, in bits.
    fn deviation(chain: &Chain, scale_bits: f64) -> f64 {
        let below = &chain.levels[..chain.max_level().max(1)];
        below.iter().map(|level| (level.scale.log2() - scale_bits).abs()).fold(0.0, f64::max)
    }

    fn check_chain(chain: &Chain, request: &ChainRequest) {
        let all: BTreeSet<u32> = chain.q_primes.iter().chain(&chain.p_primes).copied().collect();
        assert_eq!(all.len(), chain.q_primes.len() + chain.p_primes.len(), "primes repeat");
        for &p in &all {
            assert!(p < 1 << 30 && p % (2 << request.log_n) == 1);
            assert!(crate::ring::primes::is_prime(u64::from(p)));
        }
        assert_eq!(chain.levels.len(), request.levels + 1);
        let top = &chain.levels[request.levels];
        assert!(top.primes.iter().copied().eq(0..chain.q_primes.len()));
        let least_q_0 = request.scale_bits + request.headroom_bits;
        assert!(chain.levels[0].log_q >= least_q_0 - 1e-4);
        for level in &chain.levels {
            assert!(level.primes.is_sorted_by(|a, b| a < b));
            let primes: Vec<u32> = level.primes.iter().map(|&i| chain.q_primes[i]).collect();
            assert!((level.log_q - log2_product(&primes)).abs() < 1e-9);
        }
        assert!(chain.digits.iter().flatten().copied().eq(0..chain.q_primes.len()));
        for digit in &chain.digits {
            let digit: Vec<u32> = digit.iter().map(|&i| chain.q_primes[i]).collect();
            assert!(chain.log_p() >= log2_product(&digit) + 4.0 - 1e-4);
        }
    }

    fn check_scales(chain: &Chain) {
        for level in 1..chain.levels.len() {
            let (leaving, joining) = (chain.leaving(level), chain.joining(level));
            assert!(!leaving.is_empty());
            let square = exact(chain.levels[level].scale) * exact(chain.levels[level].scale);
            let expected =
                square * product(chain, &joining) / BigRational::from(product(chain, &leaving));
            let error = (exact(chain.levels[level - 1].scale) - &expected) / expected;
            assert!(error < exact(2f64.powi(-50)) && error > exact(-2f64.powi(-50)));
        }
    }

    /// How far scales below the top may lie from the request, in bits; `None` where a
    /// request may find no chain. These are the bounds reached, rounded up.
    fn scale_bound(log_n: u32, scale_bits: f64) -> Option<f64> {
        let whole_words = scale_bits == 30.0 || scale_bits == 60.0;
        match log_n {
            ..=14 => Some(0.0502),
            15 if whole_words => Some(0.1),
            15 => Some(0.05),
            _ if scale_bits < 23.0 => None,
            _ if whole_words => Some(0.2),
            _ if scale_bits < 34.0 => Some(0.13),
            _ => Some(0.05),
        }
    }

    #[test]
    fn scales_and_limbs_stay_near_the_ideal() {
        let cases: Vec<(u32, usize, f64)> = (13..=16)
            .flat_map(|log_n| (20..=60).map(move |scale| (log_n, f64::from(scale))))
            .flat_map(|(log_n, scale)| {
                let log_q = max_log_qp(log_n).unwrap() * 0.75;
                let most = ((log_q - 10.0) / scale) as usize - 1;
                [(log_n, most / 3, scale), (log_n, most, scale)]
            })
            .collect();
        let rows: Vec<(u32, usize, f64, Result<Chain>)> = parallel::over(cases)
            .shared()
            .map(|(log_n, levels, scale)| {
                (log_n, levels, scale, Chain::new(&request(log_n, levels, scale)))
            })
            .collect();
        for (log_n, levels, scale, chain) in rows {
            let case = format!("log_n {log_n}, {levels} levels of {scale} bits");
            let bound = scale_bound(log_n, scale);
            let chain = match (chain, bound) {
                (Err(Error::InvalidParameters(_)), None) => continue,
                (chain, _) => chain.unwrap(),
            };
            check_chain(&chain, &request(log_n, levels, scale));
            check_scales(&chain);
            let deviation = deviation(&chain, scale);
            assert!(deviation <= bound.unwrap_or(1.0), "{case}: scales {deviation} bits off");
            let lift = chain.levels[levels].scale.log2() - scale;
            assert!((-1.0..=5.0).contains(&lift), "{case}: top scale {lift} bits off");
            assert!(log_n > 14 || lift < 2.2, "{case}: top scale {lift} bits off");
            assert!(scale < 42.0 || lift.abs() < 0.25, "{case}: top scale {lift} bits off");
            let spare = chain.q_primes.len() - (chain.log_q() / 30.0).ceil() as usize;
            let allowed = match log_n {
                ..=14 => 2,
                15 => 3,
                _ if scale < 42.0 => 7,
                _ => 3,
            };
            assert!(spare <= allowed, "{case}: {spare} limbs to spare");
        }
    }

    #[test]
    fn one_product_fits_three_short_words() {
        let asked = ChainRequest {
            headroom_bits: 11.0,
            word_bits: 24,
            max_log_qp: max_log_qp(12),
            ..request(12, 1, 30.0)
        };
        let chain = Chain::new(&asked).unwrap();
        check_chain(&chain, &asked);
        check_scales(&chain);
        assert_eq!((chain.q_primes.len(), chain.p_primes.len()), (3, 1));
        assert_eq!((chain.word_bits(), chain.digits.len()), (24, 3));
        assert!(chain.log_qp() < 102.0);
        assert!((chain.levels[1].scale.log2() - 30.0).abs() < 0.05);
        assert!((chain.levels[0].scale.log2() - 36.0).abs() < 0.05);
        // Level 0 has the headroom beyond its own scale.
        assert!(chain.levels[0].log_q >= chain.levels[0].scale.log2() + 10.9);
    }

    #[test]
    fn short_words_carry_any_scale() {
        let words: [(u32, &[u32]); 3] = [(12, &[22, 24, 26, 28]), (13, &[24, 28]), (14, &[24, 26])];
        for (log_n, words) in words {
            for &word_bits in words {
                for (levels, scale_bits) in [(1, 28.0), (1, 48.0), (2, 36.0), (3, 30.0), (4, 40.0)]
                {
                    let asked = ChainRequest { word_bits, ..request(log_n, levels, scale_bits) };
                    let chain = Chain::new(&asked).unwrap();
                    let case = format!("{asked:?}");
                    check_chain(&chain, &asked);
                    check_scales(&chain);
                    assert!(chain.word_bits() <= word_bits, "{case}");
                    let limbs = chain.q_primes.len() as f64;
                    let least = (chain.log_q() / f64::from(word_bits)).ceil();
                    assert!(limbs <= least + 2.0, "{case}: {limbs} limbs for {least}");
                    for level in &chain.levels[1..levels] {
                        assert!((level.scale.log2() - scale_bits).abs() < 0.5, "{case}");
                    }
                    let rise = chain.levels[0].scale.log2() - scale_bits;
                    assert!((-0.5..=10.25).contains(&rise), "{case}: {rise} bits");
                }
            }
        }
        for word_bits in [0, 19, 31, u32::MAX] {
            let refused = Chain::new(&ChainRequest { word_bits, ..request(12, 1, 30.0) });
            assert!(matches!(refused, Err(Error::InvalidParameters(_))));
        }
    }

    #[test]
    fn short_words_too_few_for_so_many_levels_are_refused() {
        for levels in [58, 59, 60, 70, 100] {
            let asked =
                ChainRequest { word_bits: 24, headroom_bits: 2.0, ..request(14, levels, 20.0) };
            match Chain::new(&asked) {
                Ok(chain) => check_chain(&chain, &asked),
                Err(Error::InvalidParameters(why)) => {
                    assert!(why.contains("too few word primes"), "{why}")
                }
                Err(other) => panic!("{other}"),
            }
        }
    }

    #[test]
    fn full_budgets_are_met() {
        for (log_n, scale_bits, digits) in
            [(12, 30.0, None), (13, 35.0, Some(2)), (14, 40.0, Some(3)), (15, 45.5, Some(4))]
        {
            let max_log_qp = max_log_qp(log_n);
            let asked = ChainRequest { digits, max_log_qp, ..request(log_n, 0, scale_bits) };
            let levels = Chain::max_levels(&asked).unwrap();
            let fits = ChainRequest { levels, ..asked };
            let chain = Chain::new(&fits).unwrap();
            check_chain(&chain, &fits);
            check_scales(&chain);
            assert!(chain.log_qp() <= max_log_qp.unwrap());
            assert!(digits.is_none_or(|digits| chain.digits.len() <= digits));
            let too_many = Chain::new(&ChainRequest { levels: levels + 1, ..asked });
            assert!(matches!(too_many, Err(Error::InsecureParameters(_))));
        }
    }

    #[test]
    fn a_refusal_says_what_would_do() {
        let asked = ChainRequest { max_log_qp: max_log_qp(14), ..request(14, 12, 40.0) };
        let Err(Error::InsecureParameters(why)) = Chain::new(&asked) else { panic!() };
        assert!(why.starts_with("12 levels of 40 bits need a modulus of 5"), "{why}");
        assert!(why.ends_with("and log_n = 14 allows 430; log_n = 15 would do"), "{why}");
        let level_0 = ChainRequest { max_log_qp: Some(60.0), ..request(14, 0, 40.0) };
        assert!(matches!(Chain::max_levels(&level_0), Err(Error::InsecureParameters(_))));
        let unlimited = request(14, 0, 40.0);
        assert!(matches!(Chain::max_levels(&unlimited), Err(Error::InvalidParameters(_))));
    }

    #[test]
    fn small_rings_have_chains() {
        for log_n in MIN_LOG_N..=11 {
            for (levels, scale_bits) in [(0, 20.0), (3, 25.5), (8, 40.0), (4, 60.0)] {
                let asked = request(log_n, levels, scale_bits);
                let chain = Chain::new(&asked).unwrap();
                check_chain(&chain, &asked);
                check_scales(&chain);
                assert!(deviation(&chain, scale_bits) <= scale_bound(log_n, scale_bits).unwrap());
                assert_eq!(chain, Chain::new(&asked).unwrap());
            }
        }
    }

    #[test]
    fn a_prime_to_be_avoided_is_in_no_chain() {
        let asked = request(5, 3, 40.0);
        let chain = Chain::new(&asked).unwrap();
        for &prime in chain.q_primes.iter().chain(&chain.p_primes) {
            let asked = ChainRequest { avoided: Some(prime), ..asked };
            let other = Chain::new(&asked).unwrap();
            assert!(!other.q_primes.contains(&prime) && !other.p_primes.contains(&prime));
            check_chain(&other, &asked);
        }
    }

    #[test]
    fn nothing_moves_at_level_0_or_above_the_top() {
        let chain = Chain::new(&request(12, 2, 30.0)).unwrap();
        for level in [0, 3, usize::MAX] {
            assert!(chain.leaving(level).is_empty() && chain.joining(level).is_empty());
        }
        assert_eq!(chain.leaving(2).len(), 1 + chain.joining(2).len());
    }
}
