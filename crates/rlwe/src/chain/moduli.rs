//! The search for the primes of all levels: patterns in sizes first, then real primes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use crate::ring::primes::WORD_BITS;

use super::check::SLACK_BITS;
use super::pattern::{Demand, MAX_TERMINALS, Pattern};
use super::pool::{BIT, Bits, Fit, PrimePool, bits, to_f64};
use super::{ChainRequest, Level, MAX_SCALE_BITS};

/// A chain with a scale further away is not taken at all.
const SCALE_LIMIT: Bits = BIT;
/// How far apart the sizes are that terminals are tried at.
const TERMINAL_SPACING: Bits = BIT;
/// Patterns whose terminals are varied in smaller steps than those they were tried at.
const PATTERNS_REFINED: usize = 32;
/// Patterns that are tried on real primes, cheapest first.
const PATTERNS_TRIED: usize = 32;
/// Patterns repeat: a few levels show which terminals will do for many.
const LEVELS_RANKED: usize = 16;
/// A top scale may lie so far from the others: below them it costs precision, above
/// them only headroom.
const LIFT: (Bits, Bits) = (-BIT, 5 * BIT);
const NO_LIFT: (Bits, Bits) = (0, 0);
/// How far the scale of level 0 may lie above the others where words are shorter than the engine's:
/// one word may leave for a scale of more, and nothing is lost by it.
const GROUND: Bits = 10 * BIT;

/// What is demanded of patterns, in turn: ever less, and worth ever less effort.
struct Attempt {
    slack: Bits,
    lift: (Bits, Bits),
    supply: Supply,
    /// A chain whose scales lie this near is taken at once.
    goal: Bits,
}

/// Which sizes full primes are said to have.
enum Supply {
    /// Such that every size is there several times over.
    Ample,
    /// Such that most will be found.
    Scarce,
}

const ATTEMPTS: [Attempt; 7] = {
    use Supply::{Ample, Scarce};
    const fn attempt(slack: Bits, lift: (Bits, Bits), supply: Supply, goal: Bits) -> Attempt {
        Attempt { slack, lift, supply, goal }
    }
    [
        attempt(BIT / 50, NO_LIFT, Ample, BIT / 20),
        attempt(BIT / 50, NO_LIFT, Scarce, BIT / 20),
        attempt(BIT / 50, LIFT, Ample, BIT / 20),
        attempt(BIT / 50, LIFT, Scarce, BIT / 20),
        attempt(BIT / 8, LIFT, Scarce, BIT / 8),
        attempt(BIT / 3, LIFT, Scarce, BIT / 4),
        attempt(BIT, LIFT, Scarce, BIT),
    ]
};

/// The primes of the top level and the levels made of them.
#[derive(Clone)]
pub(super) struct Moduli {
    /// Positions in the pool: terminals, then full primes.
    pub(super) chosen: Vec<usize>,
    pub(super) levels: Vec<Level>,
    /// How far the worst scale lies from the one aimed at.
    deviation: Bits,
}

/// Searches that are remembered; one is about a kilobyte.
const SEARCHES_KEPT: usize = 1024;

impl Moduli {
    /// The primes and levels in the fewest limbs whose scales come near enough; where
    /// none do, those whose scales come nearest. A planner asks for the same again and again, and
    /// a search takes tens of milliseconds: so they are remembered.
    pub(super) fn find(request: &ChainRequest, pool: &PrimePool) -> Option<Self> {
        static KNOWN: Mutex<BTreeMap<[u64; 6], Option<Moduli>>> = Mutex::new(BTreeMap::new());
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let key = [
            request.log_n.into(),
            request.levels as u64,
            request.scale_bits.to_bits(),
            request.headroom_bits.to_bits(),
            request.avoided.unwrap_or(0).into(),
            request.word_bits.into(),
        ];
        if let Some(found) = known().get(&key) {
            return found.clone();
        }
        let found = Self::search(request, pool);
        let mut known = known();
        if known.len() == SEARCHES_KEPT {
            known.clear();
        }
        known.insert(key, found.clone());
        found
    }

    fn search(request: &ChainRequest, pool: &PrimePool) -> Option<Self> {
        let choices = terminal_choices(pool, bits(request.scale_bits));
        let mut nearest: Option<Self> = None;
        for attempt in ATTEMPTS {
            let good_enough = |nearest: &Option<Self>| {
                nearest.as_ref().is_some_and(|n| n.deviation <= attempt.goal)
            };
            if good_enough(&nearest) {
                return nearest;
            }
            let Some(demand) = demand(request, pool, &attempt) else { continue };
            for (pattern, terminals) in cheapest_patterns(&demand, request.levels, pool, &choices) {
                let bound = nearest.as_ref().map_or(SCALE_LIMIT, |best| best.deviation);
                let found = Self::realise(pool.clone(), &demand, bound, &pattern, terminals);
                nearest = found.or(nearest);
                if good_enough(&nearest) {
                    return nearest;
                }
            }
        }
        nearest
    }

    /// Finds primes for a pattern from the top down, each level making up for where the
    /// scale of the one above has gone; nothing if a scale goes `bound` away from the demand.
    fn realise(
        mut pool: PrimePool,
        demand: &Demand,
        bound: Bits,
        pattern: &Pattern,
        terminals: Vec<usize>,
    ) -> Option<Self> {
        let rungs = &pattern.rungs;
        let mut scale = to_f64(demand.scale + pattern.lift).exp2();
        let mut deviation = 0;
        pool.take(&terminals);
        let members = |mask: usize| -> Vec<usize> {
            (0..terminals.len()).filter(|i| mask >> i & 1 == 1).collect()
        };
        let in_pool = |mask: usize| -> Vec<usize> {
            members(mask).into_iter().map(|i| terminals[i]).collect()
        };
        let mut scales = vec![scale];
        let mut dropped: Vec<Vec<usize>> = Vec::new();
        for (level, pair) in rungs.windows(2).enumerate().rev() {
            let [below, above] = pair else { continue };
            let aim = demand.scale + if level == 0 { pattern.ground } else { 0 };
            let mut leaving = in_pool(above.terminals & !below.terminals);
            let joining = in_pool(below.terminals & !above.terminals);
            let wanted =
                bits(2.0 * scale.log2()) - aim + pool.total(&joining) - pool.total(&leaving);
            let fulls = pool.sum_near(above.fulls, wanted, Fit::Nearest)?;
            pool.take(&fulls);
            leaving.extend(&fulls);
            dropped.push(fulls);
            scale = scale * scale * (pool.product(&joining) as f64 / pool.product(&leaving) as f64);
            scales.push(scale);
            deviation = deviation.max((bits(scale.log2()) - aim).abs());
            if deviation >= bound {
                return None;
            }
        }
        let ground = rungs.first()?;
        let missing = demand.base + pattern.ground - pool.total(&in_pool(ground.terminals));
        dropped.push(pool.sum_near(ground.fulls, missing, Fit::NotBelow)?);
        scales.reverse();
        dropped.reverse();

        let mut chosen = terminals.clone();
        let mut levels = Vec::with_capacity(rungs.len());
        for ((rung, fulls), &scale) in rungs.iter().zip(&dropped).zip(&scales) {
            chosen.extend(fulls);
            let mut primes = members(rung.terminals);
            primes.extend(terminals.len()..chosen.len());
            let log_q = primes.iter().map(|&i| f64::from(pool.prime(chosen[i])).log2()).sum();
            levels.push(Level { primes, scale, log_q });
        }
        Some(Self { chosen, levels, deviation })
    }
}

/// The patterns to try on real primes, with their terminals.
fn cheapest_patterns(
    demand: &Demand,
    levels: usize,
    pool: &PrimePool,
    choices: &BTreeSet<Vec<usize>>,
) -> Vec<(Pattern, Vec<usize>)> {
    let plan = |terminals: &[usize], levels: usize| {
        let sizes: Vec<Bits> = terminals.iter().map(|&i| pool.size(i)).collect();
        demand.pattern(&sizes, levels)
    };
    let levels_ranked = levels.min(LEVELS_RANKED);
    let cost = |terminals: &[usize]| plan(terminals, levels_ranked).map(|pattern| pattern.cost);
    let mut known: BTreeMap<Vec<usize>, Option<i64>> =
        choices.iter().map(|terminals| (terminals.clone(), cost(terminals))).collect();
    let ranking = |known: &BTreeMap<Vec<usize>, Option<i64>>| {
        let mut sets: Vec<(i64, Vec<usize>)> =
            known.iter().filter_map(|(set, cost)| Some(((*cost)?, set.clone()))).collect();
        sets.sort_unstable();
        sets
    };
    for step in [BIT / 2, BIT / 4, BIT / 8] {
        for (_, set) in ranking(&known).into_iter().take(PATTERNS_REFINED) {
            for moved in neighbours(pool, &set, step) {
                known.entry(moved).or_insert_with_key(|moved| cost(moved));
            }
        }
    }
    let mut patterns: Vec<(Pattern, Vec<usize>)> = ranking(&known)
        .into_iter()
        .take(PATTERNS_TRIED)
        .filter_map(|(_, set)| Some((plan(&set, levels)?, set)))
        .collect();
    patterns.sort_by_key(|(pattern, _)| pattern.cost);
    patterns
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

fn demand(request: &ChainRequest, pool: &PrimePool, attempt: &Attempt) -> Option<Demand> {
    let sizes = pool.sizes();
    let limbs = request.least_log_q() as usize / (request.word_bits as usize - 1) + 2;
    let largest = sizes.get(sizes.len().checked_sub(limbs)?..)?;
    let (per_bit, most) = match attempt.supply {
        Supply::Ample => (24, *largest.first()?),
        Supply::Scarce => (12, largest.iter().sum::<Bits>() / limbs as Bits),
    };
    let below = |bound: Bits| sizes.partition_point(|&size| size < bound);
    // Where so many limbs are needed that most are small, no size is there as often.
    let is_supplied = |size: Bits| below(size + BIT) - below(size) >= per_bit;
    let least =
        sizes.iter().copied().find(|&size| is_supplied(size)).filter(|&least| least <= most)?;
    // No word prime has quite all bits, so scales of just one or two words may be missed a little.
    let (asked, word) = (bits(request.scale_bits), Bits::from(request.word_bits) * BIT);
    let whole_words = (asked + word - 1) / word;
    let highest = bits(MAX_SCALE_BITS + SLACK_BITS - 1.0) - asked;
    Some(Demand {
        scale: asked.min(whole_words * most),
        base: bits(request.scale_bits + request.headroom_bits),
        full: least..=most,
        smallest: *sizes.first()?,
        slack: attempt.slack,
        lift: attempt.lift.0..=attempt.lift.1,
        ground: if request.word_bits < WORD_BITS { GROUND.min(highest) } else { 0 },
    })
}

/// Sets of primes: sizes on a grid, and such as make the others sum to the
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
