//! Key-switching digits: how the primes of the top level are split, and what it costs.

use std::ops::Range;

use super::check::MARGIN_BITS;
use super::moduli::Moduli;
use super::pool::{BIT, Bits, Fit, PrimePool};
use super::{Built, Chain, ChainRequest, log2_product};
use crate::error::{Error, Result};

const MARGIN: Bits = MARGIN_BITS as Bits * BIT;

impl ChainRequest {
    /// Splits the primes into digits and adds the key-switching primes for them.
    pub(super) fn with_digits(&self, pool: &mut PrimePool, moduli: Moduli) -> Result<Built> {
        let sizes: Vec<Bits> = moduli.chosen.iter().map(|&i| pool.size(i)).collect();
        let q_primes: Vec<u32> = moduli.chosen.iter().map(|&i| pool.prime(i)).collect();
        let counts = match self.digits {
            None => 1..=sizes.len(),
            Some(digits) if digits <= sizes.len() => digits..=digits,
            Some(digits) => {
                return Err(Error::InvalidParameters(format!(
                    "digits must be at most {}, the primes of the top level, got {digits}",
                    sizes.len()
                )));
            }
        };
        let log_q = log2_product(&q_primes);
        let mut needed = f64::INFINITY;
        let mut best: Option<(f64, Vec<Range<usize>>, Vec<u32>)> = None;
        for count in counts {
            let runs = split(&sizes, count);
            let largest = runs.iter().map(|run| sizes[run.clone()].iter().sum::<Bits>()).max();
            let target = largest.unwrap_or(0) + MARGIN;
            let Some(mut special) = pool.largest_exceeding(target) else { continue };
            let log_qp_with = |special: &[usize]| {
                log_q + log2_product(&special.iter().map(|&i| pool.prime(i)).collect::<Vec<_>>())
            };
            let mut log_qp = log_qp_with(&special);
            if log_qp > self.budget() {
                let Some(smaller) = pool.clone().sum_near(special.len(), target, Fit::NotBelow)
                else {
                    continue;
                };
                log_qp = log_qp_with(&smaller);
                special = smaller;
            }
            needed = needed.min(log_qp);
            let cost = rotation_cost(&runs, special.len());
            if log_qp <= self.budget() && best.as_ref().is_none_or(|(least, ..)| cost < *least) {
                let p_primes = special.iter().map(|&i| pool.prime(i)).collect();
                best = Some((cost, runs, p_primes));
            }
        }
        if needed.is_infinite() {
            return Err(self.too_few_primes());
        }
        Ok(match best {
            None => Built::TooLarge { needed },
            Some((_, runs, p_primes)) => Built::Fits(Chain {
                q_primes,
                p_primes,
                levels: moduli.levels,
                digits: runs.into_iter().map(Iterator::collect).collect(),
            }),
        })
    }
}

/// Splits primes in order into at most `count` runs so that the largest is least.
///
/// The runs fill from the front, so lower levels, which keep the front of the full
/// primes, need fewer digits.
pub(super) fn split(sizes: &[Bits], count: usize) -> Vec<Range<usize>> {
    let largest = sizes.iter().copied().max().unwrap_or(0);
    let (mut low, mut high) = (largest, sizes.iter().sum::<Bits>().max(largest));
    while low < high {
        let middle = low + (high - low) / 2;
        if runs_up_to(sizes, middle).len() <= count {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    runs_up_to(sizes, high)
}

fn runs_up_to(sizes: &[Bits], cap: Bits) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let (mut start, mut size) = (0, 0);
    for (i, &next) in sizes.iter().enumerate() {
        if i > start && size + next > cap {
            runs.push(start..i);
            (start, size) = (i, 0);
        }
        size += next;
    }
    runs.push(start..sizes.len());
    runs
}

/// The modelled cost of one rotation at the top level, in forward transforms of one limb.
///
/// Transforms: each of the L limbs back once, each digit forward to the L + K limbs
/// it is not made of, and in the division by P two times K back and L forward. A
/// multiply-accumulate over one limb costs a tenth of a transform in a basis
/// conversion and, with its loads of key, about a third in the inner product.
pub(super) fn rotation_cost(digits: &[Range<usize>], special_primes: usize) -> f64 {
    let limbs: usize = digits.iter().map(ExactSizeIterator::len).sum();
    let extended = limbs + special_primes;
    let raised: usize = digits.iter().map(|digit| extended - digit.len()).sum();
    let transforms = limbs + raised + 2 * special_primes + 2 * limbs;
    let converted: usize = digits.iter().map(|digit| digit.len() * (extended - digit.len())).sum();
    let conversions = converted + 2 * special_primes * limbs;
    let products = 2 * digits.len() * extended;
    transforms as f64 + 0.1 * conversions as f64 + 0.35 * products as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_cover_all_primes_and_the_largest_is_least() {
        let sizes: Vec<Bits> = [20, 22, 30, 30, 29, 30, 30, 28, 30].map(|b| b * BIT).to_vec();
        for count in 1..=sizes.len() {
            let runs = split(&sizes, count);
            assert!(runs.len() <= count);
            assert_eq!(
                runs.clone().into_iter().flatten().collect::<Vec<_>>(),
                [0, 1, 2, 3, 4, 5, 6, 7, 8]
            );
        }
        let widest = |count| -> Bits {
            split(&sizes, count).into_iter().map(|r| sizes[r].iter().sum()).max().unwrap()
        };
        assert_eq!(widest(1), 249 * BIT);
        assert_eq!(widest(3), 89 * BIT);
        assert_eq!(widest(9), 30 * BIT);
    }

    #[test]
    fn many_digits_cost_products_and_few_cost_special_primes() {
        let cost = |count: usize, special| rotation_cost(&split(&[30 * BIT; 20], count), special);
        assert!(cost(2, 11) < cost(1, 21));
        assert!(cost(2, 11) < cost(20, 2));
    }
}
