//! The search for the primes of all levels: patterns in sizes first, then real primes.

use std::collections::{BTreeMap, BTreeSet};

use super::pattern::{Demand, MAX_TERMINALS, Pattern, Rung};
use super::pool::{BIT, Bits, Fit, PrimePool, bits};
use super::{ChainRequest, Level};

/// A chain whose scales all lie this near the one asked for is taken at once.
const SCALE_GOAL: Bits = BIT / 20;
/// A chain with a scale further away is not taken at all.
const SCALE_LIMIT: Bits = BIT;
/// How far apart the sizes are that terminals are tried at.
const TERMINAL_SPACING: Bits = BIT;
/// What is tried in turn: how far below the scale asked for to aim, since no word prime
/// divides 2^30 or 2^60 away; and how far terminals alone may miss.
const AIMS_AND_SLACKS: [(Bits, Bits); 6] = [
    (0, BIT / 50),
    (BIT / 25, BIT / 50),
    (0, BIT / 10),
    (BIT / 10, BIT / 50),
    (0, BIT / 3),
    (BIT / 5, BIT / 3),
];
/// Patterns whose terminals are varied in smaller steps than those they were tried at.
const PATTERNS_REFINED: usize = 32;
/// Patterns that are tried on real primes, cheapest first.
const PATTERNS_TRIED: usize = 48;
/// Where so many primes lie within a bit of a size, full primes may be that small.
const FULLS_PER_BIT: usize = 24;

/// The primes of the top level and the levels made of them.
pub(super) struct Moduli {
    /// Positions in the pool: terminals, then full primes.
    pub(super) chosen: Vec<usize>,
    pub(super) levels: Vec<Level>,
    /// How far the worst scale lies from the one asked for.
    deviation: Bits,
}

impl Moduli {
    /// The primes and levels in the fewest limbs whose scales come near enough; where
    /// none do, those whose scales come nearest.
    pub(super) fn find(request: &ChainRequest, pool: &PrimePool) -> Option<Self> {
        let asked = bits(request.scale_bits);
        let mut nearest: Option<Self> = None;
        for (lowered, slack) in AIMS_AND_SLACKS {
            let demand = demand(request, pool, asked - lowered, slack)?;
            for (pattern, terminals) in cheapest_patterns(&demand, pool) {
                let scale = (request.scale_bits - lowered as f64 / BIT as f64).exp2();
                let moduli = Self::realise(pool.clone(), &demand, scale, &pattern.rungs, terminals);
                let Some(mut moduli) = moduli else { continue };
                moduli.deviation = moduli.farthest_from(asked);
                if moduli.deviation <= SCALE_GOAL {
                    return Some(moduli);
                }
                if nearest.as_ref().is_none_or(|best| moduli.deviation < best.deviation) {
                    nearest = Some(moduli);
                }
            }
        }
        nearest.filter(|moduli| moduli.deviation <= SCALE_LIMIT)
    }

    fn farthest_from(&self, scale: Bits) -> Bits {
        let misses = self.levels.iter().map(|level| (bits(level.scale.log2()) - scale).abs());
        misses.max().unwrap_or(0)
    }

    /// Finds primes for a pattern from the top down, each level making up for where the
    /// scale of the one above has gone.
    fn realise(
        mut pool: PrimePool,
        demand: &Demand,
        mut scale: f64,
        rungs: &[Rung],
        terminals: Vec<usize>,
    ) -> Option<Self> {
        pool.take(&terminals);
        let members =
            |mask: usize| (0..terminals.len()).filter(move |i| mask >> i & 1 == 1).collect();
        let in_pool = |mask: usize| -> Vec<usize> {
            let members: Vec<usize> = members(mask);
            members.into_iter().map(|i| terminals[i]).collect()
        };
        let mut scales = vec![scale];
        let mut dropped: Vec<Vec<usize>> = Vec::new();
        for pair in rungs.windows(2).rev() {
            let [below, above] = pair else { continue };
            let mut leaving = in_pool(above.terminals & !below.terminals);
            let joining = in_pool(below.terminals & !above.terminals);
            let wanted = bits(2.0 * scale.log2()) - demand.scale + pool.total(&joining)
                - pool.total(&leaving);
            let fulls = pool.sum_near(above.fulls, wanted, Fit::Nearest)?;
            pool.take(&fulls);
            leaving.extend(&fulls);
            dropped.push(fulls);
            scale = scale * scale * (pool.product(&joining) as f64 / pool.product(&leaving) as f64);
            scales.push(scale);
        }
        let ground = rungs.first()?;
        let missing = demand.base - pool.total(&in_pool(ground.terminals));
        dropped.push(pool.sum_near(ground.fulls, missing, Fit::NotBelow)?);
        scales.reverse();
        dropped.reverse();

        let mut chosen = terminals.clone();
        let mut levels = Vec::with_capacity(rungs.len());
        for ((rung, fulls), &scale) in rungs.iter().zip(&dropped).zip(&scales) {
            chosen.extend(fulls);
            let mut primes: Vec<usize> = members(rung.terminals);
            primes.extend(terminals.len()..chosen.len());
            let log_q = primes.iter().map(|&i| f64::from(pool.prime(chosen[i])).log2()).sum();
            levels.push(Level { primes, scale, log_q });
        }
        Some(Self { chosen, levels, deviation: 0 })
    }
}

/// The patterns to try on real primes, with their terminals.
fn cheapest_patterns(demand: &Demand, pool: &PrimePool) -> Vec<(Pattern, Vec<usize>)> {
    let evaluate = |terminals: &[usize]| {
        let sizes: Vec<Bits> = terminals.iter().map(|&i| pool.size(i)).collect();
        demand.pattern(&sizes)
    };
    let mut known: BTreeMap<Vec<usize>, Option<Pattern>> = terminal_choices(pool, demand.scale)
        .into_iter()
        .map(|terminals| {
            let pattern = evaluate(&terminals);
            (terminals, pattern)
        })
        .collect();
    for step in [BIT / 2, BIT / 4, BIT / 8] {
        let mut found: Vec<_> =
            known.iter().filter_map(|(set, p)| Some((p.as_ref()?.cost, set.clone()))).collect();
        found.sort_unstable();
        for (_, set) in found.into_iter().take(PATTERNS_REFINED) {
            for moved in neighbours(pool, &set, step) {
                known.entry(moved).or_insert_with_key(|moved| evaluate(moved));
            }
        }
    }
    let mut found: Vec<(Pattern, Vec<usize>)> =
        known.into_iter().filter_map(|(set, pattern)| Some((pattern?, set))).collect();
    found.sort_by_key(|(pattern, _)| pattern.cost);
    found.truncate(PATTERNS_TRIED);
    found
}

/// Sets with one terminal larger or smaller by a step.
fn neighbours(pool: &PrimePool, set: &[usize], step: Bits) -> Vec<Vec<usize>> {
    let moves = (0..set.len()).flat_map(|position| [(position, -step), (position, step)]);
    moves
        .filter_map(|(position, change)| {
            let mut moved = set.to_vec();
            let old = moved.remove(position);
            moved.push(pool.nearest(pool.size(old) + change, set)?);
            moved.sort_unstable();
            Some(moved)
        })
        .collect()
}

fn demand(request: &ChainRequest, pool: &PrimePool, scale: Bits, slack: Bits) -> Option<Demand> {
    let sizes = pool.sizes();
    let crowded = |&&size: &&Bits| {
        let within = |bound: Bits| sizes.partition_point(|&s| s < bound);
        within(size + BIT) - within(size) >= FULLS_PER_BIT
    };
    let limbs = request.least_log_q() as usize / 29 + 2;
    let least_full = *sizes.iter().find(crowded)?;
    let largest_in_plenty = *sizes.get(sizes.len().checked_sub(limbs)?)?;
    Some(Demand {
        levels: request.levels,
        scale,
        base: bits(request.scale_bits + request.headroom_bits),
        full: least_full..=largest_in_plenty,
        smallest: *sizes.first()?,
        slack,
    })
}

/// Sets of up to three primes: sizes on a grid, and such as make the others sum to the
/// scale, so that terminals can leave without a full prime.
fn terminal_choices(pool: &PrimePool, scale: Bits) -> BTreeSet<Vec<usize>> {
    let (Some(&smallest), Some(&largest)) = (pool.sizes().first(), pool.sizes().last()) else {
        return BTreeSet::from([Vec::new()]);
    };
    let grid = || (smallest..=largest).step_by(TERMINAL_SPACING as usize);
    let mut choices = BTreeSet::from([Vec::new()]);
    for _ in 0..MAX_TERMINALS {
        let larger: Vec<Vec<usize>> = choices
            .iter()
            .flat_map(|set| {
                let total = pool.total(set);
                let balancing = [scale - total, total - scale];
                grid()
                    .chain(balancing.into_iter().filter(|size| (smallest..=largest).contains(size)))
                    .filter_map(move |size| {
                        let mut larger = set.clone();
                        larger.push(pool.nearest(size, set)?);
                        larger.sort_unstable();
                        Some(larger)
                    })
            })
            .collect();
        choices.extend(larger);
    }
    choices
}
