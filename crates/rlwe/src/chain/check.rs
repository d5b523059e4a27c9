//! Chains that were not made here: nothing of them is believed.

use std::collections::BTreeSet;

use super::pool::SMALLEST_BITS;
use super::{
    Chain, MAX_HEADROOM_BITS, MAX_LOG_N, MAX_LOG_Q, MAX_SCALE_BITS, MIN_HEADROOM_BITS, MIN_LOG_N,
    MIN_SCALE_BITS, MIN_WORD_BITS, log2_product,
};
use crate::ring::primes::{WORD_BITS, is_prime};
use crate::{Error, Result};

/// Levels of the longest chain: 4096 bits by 20.
const MAX_LEVELS: usize = 256;
/// Primes that leave or join in one rescaling; chains that are made here have half as many.
const MAX_MOVING: usize = 8;
/// How far scales may lie from 20 to 60 bits, and moduli above what was asked of them.
pub(super) const SLACK_BITS: f64 = 8.0;
/// How far log P stays above the largest digit: an error of deviation 3.2 per digit,
/// divided by 2^4, is below the rounding of the division itself.
pub(crate) const MARGIN_BITS: f64 = 4.0;
/// How near a scale comes to what the level above makes of it, as a part of itself.
const SCALE_TOLERANCE: f64 = 1.0 / (1u64 << 40) as f64;

/// Refuses nominal sizes that no chain can be asked for.
pub(crate) fn check_nominal_bits(scale_bits: f64, headroom_bits: f64) -> Result<()> {
    check_range("scale_bits", scale_bits, MIN_SCALE_BITS, MAX_SCALE_BITS)?;
    check_range("headroom_bits", headroom_bits, MIN_HEADROOM_BITS, MAX_HEADROOM_BITS)
}

pub(super) fn check_word_bits(word_bits: u32) -> Result<()> {
    if (MIN_WORD_BITS..=WORD_BITS).contains(&word_bits) {
        return Ok(());
    }
    Err(Error::InvalidParameters(format!(
        "word_bits must lie between {MIN_WORD_BITS} and {WORD_BITS}, got {word_bits}"
    )))
}

pub(super) fn check_log_n(log_n: u32) -> Result<()> {
    if (MIN_LOG_N..=MAX_LOG_N).contains(&log_n) {
        return Ok(());
    }
    Err(Error::InvalidParameters(format!(
        "log_n must lie between {MIN_LOG_N} and {MAX_LOG_N}, got {log_n}"
    )))
}

fn check_range(name: &str, bits: f64, least: f64, most: f64) -> Result<()> {
    if (least..=most).contains(&bits) {
        return Ok(());
    }
    Err(Error::InvalidParameters(format!("{name} must lie between {least} and {most}, got {bits}")))
}

impl Chain {
    /// Whether this is a chain that operations in degree 2^`log_n` are right with, or what is
    /// wrong with it. Security is another question.
    pub(crate) fn check(&self, log_n: u32) -> std::result::Result<(), String> {
        self.check_primes(log_n)?;
        self.check_levels()?;
        self.check_scales()?;
        self.check_digits()
    }

    fn check_primes(&self, log_n: u32) -> std::result::Result<(), String> {
        let (log_q, log_p) = (self.log_q(), self.log_p());
        if log_q.max(log_p) > MAX_LOG_Q + SLACK_BITS * f64::from(WORD_BITS) {
            return Err(format!("expected a modulus of at most {MAX_LOG_Q} bits, got {log_q:.0}"));
        }
        let mut seen = BTreeSet::new();
        for &prime in self.q_primes.iter().chain(&self.p_primes) {
            let is_word = (1 << SMALLEST_BITS..1 << WORD_BITS).contains(&prime);
            if !is_word || prime % (2 << log_n) != 1 || !is_prime(u64::from(prime)) {
                return Err(format!(
                    "expected primes from 2^{SMALLEST_BITS} to 2^{WORD_BITS} that are 1 modulo 2^{}, got {prime}",
                    log_n + 1
                ));
            }
            if !seen.insert(prime) {
                return Err(format!("the prime {prime} is there twice"));
            }
        }
        Ok(())
    }

    /// Levels rise from one prime or more to all of them.
    fn check_levels(&self) -> std::result::Result<(), String> {
        if !(1..=MAX_LEVELS).contains(&self.levels.len()) {
            return Err(format!("expected 1 to {MAX_LEVELS} levels, got {}", self.levels.len()));
        }
        let mut below = 0.0;
        for (number, level) in self.levels.iter().enumerate() {
            if !level.primes.is_sorted_by(|a, b| a < b)
                || level.primes.last().is_some_and(|&last| last >= self.q_primes.len())
            {
                return Err(format!(
                    "the primes of level {number} are not among those of the chain"
                ));
            }
            if level.log_q <= below {
                return Err(format!(
                    "the modulus of level {number} is no larger than the one below"
                ));
            }
            below = level.log_q;
        }
        let top = &self.levels[self.max_level()];
        if top.primes.len() != self.q_primes.len() {
            return Err("the top level lacks a prime of the chain".into());
        }
        Ok(())
    }

    /// Each scale is what the one above becomes by a product and a rescaling, and fits its level.
    fn check_scales(&self) -> std::result::Result<(), String> {
        let sizes = MIN_SCALE_BITS - SLACK_BITS..=MAX_SCALE_BITS + SLACK_BITS;
        for (number, level) in self.levels.iter().enumerate() {
            let bits = level.scale.log2();
            if !sizes.contains(&bits) || bits + 1.0 >= level.log_q {
                return Err(format!("a scale of {:e} does not fit level {number}", level.scale));
            }
        }
        for level in 1..self.levels.len() {
            let (leaving, joining) = (self.leaving(level), self.joining(level));
            if leaving.len().max(joining.len()) > MAX_MOVING {
                return Err(format!(
                    "more than {MAX_MOVING} primes leave or join at level {level}"
                ));
            }
            let product = |moving: Vec<usize>| -> f64 {
                moving.into_iter().map(|p| f64::from(self.q_primes[p])).product()
            };
            let expected = self.levels[level].scale.powi(2) * product(joining) / product(leaving);
            let actual = self.levels[level - 1].scale;
            if (actual / expected - 1.0).abs() > SCALE_TOLERANCE {
                return Err(format!(
                    "expected a scale of {expected:e} at level {}, got {actual:e}",
                    level - 1
                ));
            }
        }
        Ok(())
    }

    /// Every prime is in a digit, and the key-switching primes exceed each digit.
    fn check_digits(&self) -> std::result::Result<(), String> {
        let members: BTreeSet<usize> = self.digits.iter().flatten().copied().collect();
        let count: usize = self.digits.iter().map(Vec::len).sum();
        let all = 0..self.q_primes.len();
        if self.digits.iter().any(Vec::is_empty)
            || count != all.len()
            || !members.into_iter().eq(all)
        {
            return Err("expected every prime in one digit, got one in none or in several".into());
        }
        for (number, digit) in self.digits.iter().enumerate() {
            let primes: Vec<u32> = digit.iter().map(|&p| self.q_primes[p]).collect();
            let (size, log_p) = (log2_product(&primes), self.log_p());
            if log_p < size + MARGIN_BITS - 1e-4 {
                return Err(format!(
                    "the key-switching primes have {log_p:.1} bits, too few for the {size:.1} of digit {number}"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::ChainRequest;

    fn chain() -> Chain {
        let request = ChainRequest {
            log_n: 6,
            levels: 3,
            scale_bits: 40.0,
            headroom_bits: 10.0,
            digits: Some(2),
            max_log_qp: None,
            avoided: None,
            word_bits: WORD_BITS,
        };
        Chain::new(&request).unwrap()
    }

    #[test]
    fn every_number_is_checked() {
        assert_eq!(chain().check(6), Ok(()));
        type Damage = fn(&mut Chain);
        let cases: [(&str, Damage); 14] = [
            ("1 modulo 2^7", |c| c.q_primes[0] += 2),
            ("1 modulo 2^7", |c| c.p_primes[0] = 641),
            ("1 modulo 2^7", |c| c.q_primes[1] = 0),
            ("is there twice", |c| c.p_primes[0] = c.q_primes[0]),
            ("1 to 256 levels", |c| c.levels.clear()),
            ("level 1 are not among", |c| c.levels[1].primes.push(1000)),
            ("level 2 are not among", |c| c.levels[2].primes.swap(0, 1)),
            ("level 1 is no larger", |c| c.levels.swap(0, 1)),
            ("lacks a prime", |c| c.levels[3].primes.truncate(1)),
            ("expected a scale of", |c| c.levels[1].scale *= 1.0 + 1e-9),
            ("does not fit level 3", |c| c.levels[3].scale = f64::NAN),
            ("every prime in one digit", |c| c.digits[0].truncate(1)),
            ("every prime in one digit", |c| c.digits.push(Vec::new())),
            ("too few for", |c| c.p_primes.truncate(1)),
        ];
        for (expected, damage) in cases {
            let mut damaged = chain();
            damage(&mut damaged);
            let refusal = damaged.check(6).unwrap_err();
            assert!(refusal.contains(expected), "{expected}: {refusal}");
        }
        assert!(chain().check(12).is_err());
    }
}
