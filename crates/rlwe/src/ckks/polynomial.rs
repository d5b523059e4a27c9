//! Polynomials of ciphertexts.

mod plan;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::Complex64;
use super::ciphertext::Ciphertext;
use super::evaluator::Evaluator;
use crate::{Error, Result, parallel};
use plan::{Block, Plan};

/// How far above 1 the bound of a ciphertext may stand where Chebyshev polynomials ask for
/// values in [-1, 1]: bounds are products of doubles.
const BOUND_SLACK: f64 = 1e-9;

const EVALUATE: &str = "evaluate a polynomial";

/// What the coefficients of a polynomial multiply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PolynomialBasis {
    /// 1, x, x^2, ...: for complex values of any size, good up to small degrees.
    Monomial,
    /// T_0, T_1, T_2, ..., with T_n(cos t) = cos(n t): for real values in [-1, 1], good at
    /// every degree.
    Chebyshev,
}

/// A polynomial with real coefficients.
///
/// ```
/// use rlwe::ckks::{Encoding, Evaluator, Polynomial, PolynomialBasis};
/// use rlwe::keys::{EvaluationKeysRequest, SecretKey};
/// use rlwe::{Parameters, ParametersLiteral};
///
/// // 1 - 2 x + 3 x^3.
/// let polynomial = Polynomial::new(&[1.0, -2.0, 0.0, 3.0], PolynomialBasis::Monomial)?;
/// assert_eq!(polynomial.evaluate(2.0.into()).re, 21.0);
///
/// let levels = polynomial.depth();
/// let parameters = Parameters::new(ParametersLiteral { levels, ..Default::default() })?;
/// let secret = SecretKey::generate(&parameters)?;
/// let request = EvaluationKeysRequest { relinearisation_level: Some(levels), ..Default::default() };
/// let evaluator = Evaluator::new(secret.evaluation_keys(&request)?);
///
/// let x = secret.encrypt(&parameters.encode_real(&[2.0, 0.5], Encoding::at(levels))?)?;
/// let values = secret.decrypt(&evaluator.polynomial(&x, &polynomial)?)?.decode_real()?;
/// assert!((values[0] - 21.0).abs() < 1e-4 && (values[1] - 0.375).abs() < 1e-4);
/// # Ok::<(), rlwe::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Polynomial {
    /// From that of degree 0 on; the last is not zero, unless it is the only one.
    coefficients: Vec<f64>,
    basis: PolynomialBasis,
}

impl Polynomial {
    /// The highest degree: twelve levels.
    pub const MAX_DEGREE: usize = 4095;

    /// The polynomial of these coefficients, that of degree 0 first. Zeros at the end do not
    /// count to the degree.
    ///
    /// # Errors
    /// [`Error::NotFinite`]; [`Error::InvalidArgument`] without coefficients or for a degree
    /// above [`Self::MAX_DEGREE`].
    pub fn new(coefficients: &[f64], basis: PolynomialBasis) -> Result<Self> {
        let operation = "make a polynomial";
        if let Some(index) = coefficients.iter().position(|c| !c.is_finite()) {
            return Err(Error::NotFinite { operation, index });
        }
        let mut coefficients = coefficients.to_vec();
        plan::trim(&mut coefficients);
        let reason = match coefficients.len() {
            0 => "there are no coefficients".to_string(),
            n if n - 1 > Self::MAX_DEGREE => {
                format!("degree {} exceeds {}", n - 1, Self::MAX_DEGREE)
            }
            _ => return Ok(Self { coefficients, basis }),
        };
        Err(Error::InvalidArgument { operation, reason })
    }

    /// The coefficients, that of degree 0 first, without zeros at the end.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// What the coefficients multiply.
    pub fn basis(&self) -> PolynomialBasis {
        self.basis
    }

    /// The degree; that of the zero polynomial counts as 0.
    pub fn degree(&self) -> usize {
        self.coefficients.len() - 1
    }

    /// The levels that [`Evaluator::polynomial`] takes: ceil(log2(degree + 1)).
    pub fn depth(&self) -> usize {
        plan::depth(self.degree())
    }

    /// The key switches of [`Evaluator::polynomial`], which are most of its cost.
    pub fn key_switches(&self) -> usize {
        Plan::new(&self.coefficients, self.basis).key_switches()
    }

    /// The value at x, in the clear, by the rules of Horner and of Clenshaw (1955).
    pub fn evaluate(&self, x: Complex64) -> Complex64 {
        let zero = Complex64::new(0.0, 0.0);
        let downwards = self.coefficients.iter().rev();
        match self.basis {
            PolynomialBasis::Monomial => downwards.fold(zero, |sum, c| sum * x + c),
            PolynomialBasis::Chebyshev => {
                let (b0, b1) =
                    downwards.fold((zero, zero), |(b1, b2), c| (x * b1 * 2.0 - b2 + c, b1));
                b0 - x * b1
            }
        }
    }
}

impl Evaluator {
    /// The polynomial of every slot, [`Polynomial::depth`] levels lower, at the canonical
    /// scale of the level reached.
    ///
    /// Baby-step giant-step, with the scale of every part chosen so that the sums are of
    /// equal scales and the result's is canonical (Bossuat, Mouchet, Troncoso-Pastoriza,
    /// Hubaux 2021, section 3). The scale of a should be canonical or near: its deviation
    /// grows with the powers of a. Degree d takes at most `2 sqrt(d + 1)` key switches,
    /// fewer where the polynomial is even or sparse.
    ///
    /// In the Chebyshev basis the slots must be real numbers in [-1, 1]; the result is not
    /// bounded by anything otherwise.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`], [`Error::MissingKey`] without a relinearisation key for the
    /// level, [`Error::ValueOutOfRange`] in the Chebyshev basis when the bound of a exceeds 1
    /// or when a coefficient is too large to be scaled, [`Error::DegreeMismatch`],
    /// [`Error::ScaleOutOfRange`], [`Error::KeyMismatch`], [`Error::ParametersMismatch`].
    pub fn polynomial(&self, a: &Ciphertext, polynomial: &Polynomial) -> Result<Ciphertext> {
        self.check(a, EVALUATE)?;
        a.check_degree(1, EVALUATE)?;
        let depth = polynomial.depth();
        let Some(level) = a.level.checked_sub(depth) else {
            let (needed, available) = (depth, a.level);
            return Err(Error::LevelExhausted { operation: EVALUATE, needed, available });
        };
        let value = a.estimate.bound;
        if polynomial.basis == PolynomialBasis::Chebyshev && value > 1.0 + BOUND_SLACK {
            return Err(Error::ValueOutOfRange { operation: EVALUATE, value, bound: 1.0 });
        }
        let scale = self.parameters().scale(level)?;
        let plan = Plan::new(&polynomial.coefficients, polynomial.basis);
        parallel::in_pool(|| {
            let mut powers = Powers::new(self, a, polynomial.basis);
            for &n in &plan.powers {
                powers.make(n)?;
            }
            powers.block(&plan.root, level, scale)
        })
    }
}

/// Powers of one ciphertext, and what is made of them.
struct Powers<'a> {
    evaluator: &'a Evaluator,
    basis: PolynomialBasis,
    /// The level of the first power.
    top: usize,
    /// By power and level: at the level where a power was made, and at lower ones where it
    /// was needed.
    known: BTreeMap<(usize, usize), Ciphertext>,
}

impl<'a> Powers<'a> {
    fn new(evaluator: &'a Evaluator, a: &Ciphertext, basis: PolynomialBasis) -> Self {
        let known = BTreeMap::from([((1, a.level), a.clone())]);
        Self { evaluator, basis, top: a.level, known }
    }

    /// The level at which power n is made.
    fn level(&self, n: usize) -> usize {
        self.top - plan::power_depth(n)
    }

    /// Makes power n, at least 2, from smaller ones.
    fn make(&mut self, n: usize) -> Result<()> {
        let (high, low) = plan::halves(n);
        let evaluator = self.evaluator;
        let level = self.level(n);
        let above = level + 1;
        self.lower(high, above)?;
        self.lower(low, above)?;
        let factors = [&self.known[&(high, above)], &self.known[&(low, above)]];
        let mut product = evaluator.multiply_lazily(factors[0], factors[1])?;
        if self.basis == PolynomialBasis::Chebyshev {
            // T_(h + l) = 2 T_h T_l - T_(h - l).
            let ring = evaluator.parameters().ring();
            product.polys_mut().iter_mut().for_each(|poly| ring.scale(poly, |_| 2));
            product.estimate = product.estimate.scale(2.0);
            if high == low {
                evaluator.add_real(&mut product, -1.0, EVALUATE)?;
            } else {
                self.add_combination(&mut product, &[(high - low, -1.0)])?;
            }
        }
        let scale = product.scale / evaluator.parameters().rescale_factor(above)?;
        let mut power = evaluator.relinearize_and_rescale_to(&product, scale)?;
        if self.basis == PolynomialBasis::Chebyshev {
            power.estimate.bound = 1.0;
        }
        self.known.insert((n, level), power);
        Ok(())
    }

    /// Sees to it that power n is known at `level`: at its own scale where primes just need
    /// to be dropped for it, otherwise at the canonical one.
    fn lower(&mut self, n: usize, level: usize) -> Result<()> {
        if self.known.contains_key(&(n, level)) {
            return Ok(());
        }
        let parameters = self.evaluator.parameters();
        let power = &self.known[&(n, self.level(n))];
        let (from, to) = (parameters.level_basis(power.level), parameters.level_basis(level));
        let scale = if to.is_subset(from) { power.scale } else { parameters.scale(level)? };
        let power = self.evaluator.align(power, level, scale)?;
        self.known.insert((n, level), power);
        Ok(())
    }

    /// The sum of coefficient * power, of at least one term, at `level` and `scale`, taken
    /// from powers at a higher level or, where the scale is that of products, at this one.
    fn combination(
        &mut self,
        terms: &[(usize, f64)],
        from: usize,
        level: usize,
        scale: f64,
    ) -> Result<Ciphertext> {
        for &(n, _) in terms {
            self.lower(n, from)?;
        }
        let terms: Vec<_> = terms.iter().map(|&(n, c)| (c, &self.known[&(n, from)])).collect();
        self.evaluator.linear_combination(&terms, level, scale, EVALUATE)
    }

    /// [`Self::combination`] added to products, at their level and scale.
    fn add_combination(&mut self, products: &mut Ciphertext, terms: &[(usize, f64)]) -> Result<()> {
        let level = products.level;
        let all_there = terms.iter().all(|&(n, _)| self.known.contains_key(&(n, level)));
        let from = if all_there { level } else { self.lowest_level(terms) };
        let sum = self.combination(terms, from, level, products.scale)?;
        self.evaluator.add_assign(products, &sum)
    }

    /// The highest level at which all powers of `terms` can stand.
    fn lowest_level(&self, terms: &[(usize, f64)]) -> usize {
        terms.iter().map(|&(n, _)| self.level(n)).fold(self.top, usize::min)
    }

    /// The value of a block, at `level` and `scale`.
    fn block(&mut self, block: &Block, level: usize, scale: f64) -> Result<Ciphertext> {
        let evaluator = self.evaluator;
        let mut value = if let Some((first, others)) = block.products.split_first() {
            let above = level + 1;
            let product_scale = scale * evaluator.parameters().rescale_factor(above)?;
            let mut sum = self.product(first, above, product_scale)?;
            for other in others {
                evaluator.add_assign(&mut sum, &self.product(other, above, product_scale)?)?;
            }
            if !block.terms.is_empty() {
                self.add_combination(&mut sum, &block.terms)?;
            }
            evaluator.add_real(&mut sum, block.constant, EVALUATE)?;
            evaluator.relinearize_and_rescale_to(&sum, scale)?
        } else {
            let terms = if block.terms.is_empty() { &[(1, 0.0)][..] } else { &block.terms };
            let mut sum = self.combination(terms, self.lowest_level(terms), level, scale)?;
            evaluator.add_real(&mut sum, block.constant, EVALUATE)?;
            sum
        };
        if self.basis == PolynomialBasis::Chebyshev {
            value.estimate.bound = value.estimate.bound.min(block.norm);
        }
        Ok(value)
    }

    /// A power times its quotient, of degree 2.
    fn product(
        &mut self,
        (n, quotient): &(usize, Block),
        level: usize,
        scale: f64,
    ) -> Result<Ciphertext> {
        self.lower(*n, level)?;
        let quotient_scale = scale / self.known[&(*n, level)].scale;
        let quotient = self.block(quotient, level, quotient_scale)?;
        self.evaluator.multiply_lazily(&quotient, &self.known[&(*n, level)])
    }
}
