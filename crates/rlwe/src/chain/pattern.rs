//! Which primes each level holds, planned in sizes alone.
//!
//! A level's modulus is a prefix of the full primes f (as near 30 bits as may be)
//! and a subset of the terminals t. From one level to the next the sizes satisfy
//!
//! ```text
//!   full primes leaving + terminals leaving - terminals joining = scale
//! ```
//!
//! so 30-bit words carry any scale. With two terminals of 20 bits, a scale of 40:
//!
//! ```text
//!   level 3   t t f f f f f
//!   level 2   . . f f f f f    2t leave
//!   level 1   t . f f f        2f leave, t joins
//!   level 0   t t f            2f leave, t joins
//! ```

use std::ops::RangeInclusive;

use super::pool::{BIT, Bits};

/// With three, scales of 33 to 38 bits find no chain in the larger rings.
pub(super) const MAX_TERMINALS: usize = 4;
const SUBSETS: usize = 1 << MAX_TERMINALS;
/// Primes that leave in one rescaling: their product must be exact in 128 bits.
const MAX_LEAVING: usize = 4;

/// What a pattern has to achieve.
pub(super) struct Demand {
    pub(super) scale: Bits,
    /// The least size of level 0.
    pub(super) base: Bits,
    /// The mean sizes that full primes leaving together may be asked to have.
    pub(super) full: RangeInclusive<Bits>,
    /// The least size of any prime.
    pub(super) smallest: Bits,
    /// How far terminals alone may miss the scale, with no full prime to make up for it.
    pub(super) slack: Bits,
    /// How far the scale of the top level may lie above `scale`. Nothing can join there,
    /// so where two primes are too large together and one is too small, its scale must
    /// yield.
    pub(super) lift: RangeInclusive<Bits>,
    /// How far the primes that leave for level 0 may fall short of the scale. What they lack, the
    /// scale of level 0 and its modulus have more: the modulus of the level above is the same.
    pub(super) ground: Bits,
}

/// One level: its terminals as a bit mask, and how many full primes it has more than
/// the level below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rung {
    pub(super) terminals: usize,
    pub(super) fulls: usize,
}

/// The cheapest ladder of levels for given terminals.
pub(super) struct Pattern {
    /// Limbs over all levels, those of the top once more for every level, in units of
    /// 2^-20 limb.
    pub(super) cost: i64,
    /// From level 0 up.
    pub(super) rungs: Vec<Rung>,
    /// By how much the scale of the top level exceeds the others.
    pub(super) lift: Bits,
    /// By how much that of level 0 does.
    pub(super) ground: Bits,
}

/// A rescaling: the subset it starts from, the one it leads to, the full primes it drops.
struct Step {
    above: usize,
    below: usize,
    fulls: usize,
    /// By how much the primes that leave fall short of the scale.
    missed: Bits,
    cost: i64,
}

/// The cheapest pattern that stands at one level on one subset.
#[derive(Clone, Copy)]
struct Footing {
    cost: i64,
    fulls: usize,
    below: usize,
    missed: Bits,
}

impl Demand {
    /// The cheapest pattern of so many levels that has all `terminals` at the top: dynamic programming
    /// over (level, subset of terminals), from the bottom.
    pub(super) fn pattern(&self, terminals: &[Bits], levels: usize) -> Option<Pattern> {
        let everything = (1 << terminals.len().min(MAX_TERMINALS)) - 1;
        let sizes: Vec<Bits> = (0..=everything).map(|subset| total(subset, terminals)).collect();
        let missed_at_top = -2 * self.lift.end()..=-2 * self.lift.start();
        let from_top = self.steps(everything..=everything, &sizes, missed_at_top);
        let may_rise = self.ground > 0;
        if from_top.is_empty() && (levels > 1 || levels == 1 && !may_rise) {
            return None;
        }
        let steps = self.steps(0..=everything, &sizes, 0..=0);
        let top_weight = levels as i64 + 1;
        // A full prime that leaves below some level stands in every level from there up.
        let full_weight = |level: usize| top_weight - level as i64 + top_weight;

        let on_ground = |subset: usize, base: Bits| {
            let size = sizes[subset];
            let missing = (base - size).max(0);
            let fulls = (missing + self.full.end() - 1) / self.full.end();
            let excess = size + fulls * self.smallest.max(missing / fulls.max(1)) - base;
            let limbs = fulls * BIT + excess.max(0) / 4;
            let cost = limbs * full_weight(0) + limbs_of(subset) * BIT;
            Footing { cost, fulls: fulls as usize, below: subset, missed: 0 }
        };
        let to_ground = self.steps_to_ground(everything, levels, &sizes);
        let mut ground = [None; SUBSETS];
        for (subset, footing) in ground.iter_mut().enumerate().take(sizes.len()) {
            *footing = Some(on_ground(subset, self.base));
        }
        let mut ladder = vec![ground];
        for level in 1..=levels {
            let mut here: [Option<Footing>; SUBSETS] = [None; SUBSETS];
            let steps = match &to_ground {
                Some(steps) if level == 1 => steps,
                _ if level == levels => &from_top,
                _ => &steps,
            };
            for step in steps {
                let Some(below) = ladder[level - 1][step.below] else { continue };
                let rise = if level == 1 { self.rise(step.missed) } else { 0 };
                let below = if rise > 0 { on_ground(step.below, self.base + rise) } else { below };
                // What level 0 gains by it is not missed.
                let step_cost = step.cost - rise;
                let cost = below.cost + step_cost + step.fulls as i64 * BIT * full_weight(level);
                if here[step.above].is_none_or(|best| cost < best.cost) {
                    let Step { fulls, below, missed, .. } = *step;
                    here[step.above] = Some(Footing { cost, fulls, below, missed });
                }
            }
            ladder.push(here);
        }

        let mut subset = everything;
        let top = ladder[levels][everything]?;
        let rises = levels == 1 && self.rise(top.missed) > 0;
        let lift = if top.missed.abs() > self.slack && !rises { -top.missed / 2 } else { 0 };
        let cost = top.cost + (limbs_of(everything) * BIT + cost_of_lift(lift)) * top_weight;
        let mut ground = 0;
        let mut rungs = Vec::with_capacity(ladder.len());
        for (level, footings) in ladder.iter().enumerate().rev() {
            let footing = match level {
                0 => on_ground(subset, self.base + ground),
                _ => footings[subset]?,
            };
            if level == 1 {
                ground = self.rise(footing.missed);
            }
            rungs.push(Rung { terminals: subset, fulls: footing.fulls });
            subset = footing.below;
        }
        rungs.reverse();
        Some(Pattern { cost, rungs, lift, ground })
    }

    /// By how much level 0 rises above the scale where what leaves for it falls short by so much.
    fn rise(&self, missed: Bits) -> Bits {
        if self.ground > 0 && missed > self.slack { missed } else { 0 }
    }

    /// The rescalings to level 0, if it may rise.
    fn steps_to_ground(
        &self,
        everything: usize,
        levels: usize,
        sizes: &[Bits],
    ) -> Option<Vec<Step>> {
        if self.ground == 0 {
            return None;
        }
        // That from the top may miss the scale by being too large as well.
        let (first, least) = if levels == 1 { (everything, -2 * self.lift.end()) } else { (0, 0) };
        Some(self.steps(first..=everything, sizes, least..=self.ground))
    }

    /// The rescalings from some subsets, with `leeway` for what leaves to fall short of the scale.
    ///
    /// Thousands of patterns are compared for one chain, and most of the time goes here: hence the
    /// plain loops.
    fn steps(
        &self,
        from: RangeInclusive<usize>,
        sizes: &[Bits],
        leeway: RangeInclusive<Bits>,
    ) -> Vec<Step> {
        let mut steps = Vec::new();
        for above in from {
            for below in 0..sizes.len() {
                let (leaving, joining) = (above & !below, below & !above);
                let wanted = self.scale + sizes[joining] - sizes[leaving];
                // Rescaling works on the primes that move: a tie goes to fewer.
                let terminals_moved = limbs_of(leaving) + limbs_of(joining);
                for fulls in 0..=MAX_LEAVING - leaving.count_ones() as usize {
                    let count = fulls as Bits;
                    let reached = wanted.clamp(count * self.full.start(), count * self.full.end());
                    let missed = wanted - reached;
                    let made_of_terminals = fulls == 0 && missed.abs() <= self.slack;
                    if made_of_terminals || leeway.contains(&missed) {
                        let moved = terminals_moved + count;
                        let cost = limbs_of(above) * BIT + moved * BIT / 16 + missed.abs();
                        steps.push(Step { above, below, fulls, missed, cost });
                    } else if missed < *leeway.start() {
                        break;
                    }
                }
            }
        }
        steps
    }
}

/// A top scale below the others costs precision, one above them only headroom.
fn cost_of_lift(lift: Bits) -> i64 {
    if lift < 0 { -2 * lift } else { lift / 2 }
}

fn total(subset: usize, terminals: &[Bits]) -> Bits {
    terminals.iter().enumerate().filter(|(i, _)| subset >> i & 1 == 1).map(|(_, &size)| size).sum()
}

fn limbs_of(subset: usize) -> i64 {
    i64::from(subset.count_ones())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(scale: i64) -> Demand {
        Demand {
            scale: scale * BIT,
            base: (scale + 10) * BIT,
            full: 28 * BIT..=30 * BIT,
            smallest: 16 * BIT,
            slack: 0,
            lift: 0..=0,
            ground: 0,
        }
    }

    #[test]
    fn two_terminals_of_20_bits_carry_a_scale_of_40_in_full_words() {
        let pattern = demand(40).pattern(&[20 * BIT, 20 * BIT], 9).unwrap();
        let limbs: usize = 2 + pattern.rungs.iter().map(|rung| rung.fulls).sum::<usize>();
        assert_eq!(limbs, (9 * 40 + 50usize).div_ceil(30) + 1);
        for (above, below) in pattern.rungs[1..].iter().zip(&pattern.rungs) {
            let leaving = (above.terminals & !below.terminals).count_ones() as usize;
            let joining = (below.terminals & !above.terminals).count_ones() as usize;
            assert_eq!(30 * above.fulls + 20 * leaving, 40 + 20 * joining);
        }
    }

    #[test]
    fn a_scale_of_one_word_needs_no_terminal() {
        let pattern = demand(30).pattern(&[], 5).unwrap();
        assert!(pattern.rungs[1..].iter().all(|rung| rung.fulls == 1));
        assert_eq!(pattern.rungs[0].fulls, 2);
    }

    #[test]
    fn level_0_rises_where_one_word_leaves_for_less_than_the_scale() {
        let short = Demand { full: 22 * BIT..=24 * BIT, base: 42 * BIT, ..demand(30) };
        assert!(short.pattern(&[], 1).is_none());
        let pattern = Demand { ground: 8 * BIT, ..short }.pattern(&[], 1).unwrap();
        assert_eq!((pattern.ground, pattern.lift), (6 * BIT, 0));
        assert_eq!(pattern.rungs.iter().map(|rung| rung.fulls).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn a_scale_out_of_reach_has_no_pattern() {
        assert!(demand(40).pattern(&[], 3).is_none());
        assert!(demand(40).pattern(&[], 0).is_some());
    }
}
