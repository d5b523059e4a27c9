//! Which powers and products evaluate a polynomial, decided without ciphertexts.

use std::collections::BTreeSet;

use super::PolynomialBasis;

/// How to evaluate a polynomial: first powers of the input, then a tree of blocks.
///
/// "Power n" is x^n, or the Chebyshev polynomial T_n. It stands `depth(n)` levels
/// below the input.
#[derive(Debug)]
pub(super) struct Plan {
    /// Powers from 2 on, rising: each is made from smaller ones by [`halves`].
    pub(super) powers: Vec<usize>,
    pub(super) root: Block,
}

/// constant + sum of coefficient * power + sum of quotient * power.
///
/// The products of a block stand at one level and one scale, so that their sum is
/// relinearised once.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) constant: f64,
    pub(super) terms: Vec<(usize, f64)>,
    /// Each quotient stands one level above this block.
    pub(super) products: Vec<(usize, Block)>,
    /// The sum of absolute coefficients of the polynomial that the block amounts to.
    pub(super) norm: f64,
}

/// Levels that a polynomial of this degree takes, its coefficients included.
pub(super) fn depth(degree: usize) -> usize {
    ceil_log2(degree + 1)
}

/// Levels between the input and power n, n at least 1.
pub(super) fn power_depth(n: usize) -> usize {
    ceil_log2(n)
}

fn ceil_log2(n: usize) -> usize {
    n.next_power_of_two().ilog2() as usize
}

/// The powers whose product gives power n, at least 2: the largest power of two below n,
/// and the rest. For odd n the rest and the difference are odd too, so that odd polynomials
/// take no even powers but those of two.
pub(super) fn halves(n: usize) -> (usize, usize) {
    let high = n.next_power_of_two() / 2;
    (high, n - high)
}

impl Plan {
    /// The plan of least depth with the fewest key switches, and then the fewest
    /// products, of those that leave blocks of degree below a power of two unsplit.
    ///
    /// Splitting is baby-step giant-step by powers of two (Bossuat, Mouchet,
    /// Troncoso-Pastoriza, Hubaux 2021, section 3; Han and Ki 2020): p = q X + r for the
    /// largest power X of two up to the degree, then r the same way at the same depth, and
    /// q one level earlier. `coefficients` end in one that is not zero, or are one alone.
    pub(super) fn new(coefficients: &[f64], basis: PolynomialBasis) -> Self {
        let depth = depth(coefficients.len() - 1);
        let mut best = Self::of_width(coefficients, basis, depth, 2);
        for log_width in 2..=depth {
            let plan = Self::of_width(coefficients, basis, depth, 1 << log_width);
            let cost = |plan: &Self| (plan.key_switches(), plan.products());
            if cost(&plan) < cost(&best) {
                best = plan;
            }
        }
        best
    }

    fn of_width(coefficients: &[f64], basis: PolynomialBasis, depth: usize, width: usize) -> Self {
        let root = Block::new(coefficients, basis, depth, width);
        let mut wanted = BTreeSet::new();
        root.collect_powers(&mut wanted);
        let mut powers = Vec::new();
        while let Some(n) = wanted.pop_last().filter(|&n| n > 1) {
            let (high, low) = halves(n);
            wanted.extend([high, low]);
            if basis == PolynomialBasis::Chebyshev && high > low {
                wanted.insert(high - low);
            }
            powers.push(n);
        }
        powers.reverse();
        Self { powers, root }
    }

    /// Relinearisations: one for each power, and one for each block with products.
    pub(super) fn key_switches(&self) -> usize {
        self.powers.len() + self.root.sum(&|block| usize::from(!block.products.is_empty()))
    }

    /// Products of two ciphertexts.
    pub(super) fn products(&self) -> usize {
        self.powers.len() + self.root.sum(&|block| block.products.len())
    }
}

impl Block {
    /// A block that ends `depth` levels below the input; the degree is below 2^depth.
    fn new(coefficients: &[f64], basis: PolynomialBasis, depth: usize, width: usize) -> Self {
        let norm = coefficients.iter().map(|c| c.abs()).sum();
        let mut block = Self { norm, ..Self::default() };
        let mut rest = coefficients.to_vec();
        loop {
            let degree = rest.len() - 1;
            if degree < width && (degree <= 1 || power_depth(degree) < depth) {
                break;
            }
            let giant = 1 << degree.ilog2();
            let quotient = divide(&mut rest, giant, basis);
            match quotient[..] {
                [coefficient] => block.terms.push((giant, coefficient)),
                _ => block.products.push((giant, Self::new(&quotient, basis, depth - 1, width))),
            }
        }
        block.constant = rest[0];
        let terms = rest.iter().copied().enumerate().skip(1);
        block.terms.extend(terms.filter(|&(_, coefficient)| coefficient != 0.0));
        block
    }

    fn collect_powers(&self, powers: &mut BTreeSet<usize>) {
        powers.extend(self.terms.iter().map(|&(n, _)| n));
        for (n, quotient) in &self.products {
            powers.insert(*n);
            quotient.collect_powers(powers);
        }
    }

    fn sum(&self, count: &impl Fn(&Self) -> usize) -> usize {
        let quotients = self.products.iter().map(|(_, quotient)| quotient.sum(count));
        count(self) + quotients.sum::<usize>()
    }
}

/// Leaves in `p`, of degree at least `giant` and below twice that, the remainder by power
/// `giant`, and returns the quotient.
fn divide(p: &mut Vec<f64>, giant: usize, basis: PolynomialBasis) -> Vec<f64> {
    let mut quotient = p.split_off(giant);
    if basis == PolynomialBasis::Chebyshev {
        // 2 T_giant T_j = T_(giant + j) + T_(giant - j).
        for (j, coefficient) in quotient.iter_mut().enumerate().skip(1) {
            p[giant - j] -= *coefficient;
            *coefficient *= 2.0;
        }
    }
    trim(p);
    quotient
}

/// Drops zeros at the end, but for one alone.
pub(super) fn trim(coefficients: &mut Vec<f64>) {
    let degree = coefficients.iter().rposition(|&c| c != 0.0).unwrap_or(0);
    coefficients.truncate(degree + 1);
}
