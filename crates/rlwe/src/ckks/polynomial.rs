//! Polynomials of ciphertexts.

mod plan;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::result::Result as Outcome;

use super::Complex64;
use super::ciphertext::Ciphertext;
use super::combination::Combination;
use super::estimate::Estimate;
use super::evaluator::Evaluator;
use super::parameters::Parameters;
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
/// use rlwe::ckks::{Encoding, Evaluator, Parameters, ParametersLiteral, Polynomial, PolynomialBasis};
/// use rlwe::keys::{EvaluationKeysRequest, SecretKey};
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
/// let x = secret.encrypt(&parameters.encode_real(&[2.0, 0.5], Encoding::at(levels).within(2.0))?)?;
/// let y = evaluator.polynomial(&x, &polynomial)?;
/// let values = secret.decrypt(&y, y.estimate())?.decode_real()?;
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
        let (level, scale) = a.estimate.polynomial_target(polynomial)?;
        parallel::in_pool(|| Powers::evaluate(self, a, polynomial, level, scale))
    }
}

impl Estimate {
    /// What [`Evaluator::polynomial`] gives.
    ///
    /// # Errors
    /// Those of [`Evaluator::polynomial`] but for keys.
    pub fn polynomial(&self, polynomial: &Polynomial) -> Result<Self> {
        let (level, scale) = self.polynomial_target(polynomial)?;
        Powers::evaluate(&OnEstimates, self, polynomial, level, scale)
    }

    /// The level and scale that a polynomial ends at.
    fn polynomial_target(&self, polynomial: &Polynomial) -> Result<(usize, f64)> {
        self.check_degree(1, EVALUATE)?;
        let depth = polynomial.depth();
        let Some(level) = self.level.checked_sub(depth) else {
            let (needed, available) = (depth, self.level);
            return Err(Error::LevelExhausted { operation: EVALUATE, needed, available });
        };
        let value = self.bound;
        if polynomial.basis == PolynomialBasis::Chebyshev && value > 1.0 + BOUND_SLACK {
            return Err(Error::ValueOutOfRange { operation: EVALUATE, value, bound: 1.0 });
        }
        Ok((level, self.parameters.scale(level)?))
    }
}

/// What the evaluation of a polynomial asks of that which it is evaluated on: ciphertexts here or
/// on another device, or estimates of them.
pub trait Arithmetic {
    /// What is computed with.
    type Value: Clone;
    /// What an operation may fail with.
    type Error: From<Error>;

    /// Level, scale, precision and bound of a value.
    fn estimate<'a>(&self, a: &'a Self::Value) -> &'a Estimate;
    /// a * b, of degree 2.
    fn multiply_lazily(
        &self,
        a: &Self::Value,
        b: &Self::Value,
    ) -> Outcome<Self::Value, Self::Error>;
    /// a *= 2.
    fn double(&self, a: &mut Self::Value) -> Outcome<(), Self::Error>;
    /// Adds a number to every slot.
    fn add_real(&self, a: &mut Self::Value, value: f64) -> Outcome<(), Self::Error>;
    /// a += b, for b of the degree of a or below it.
    fn add_assign(&self, a: &mut Self::Value, b: &Self::Value) -> Outcome<(), Self::Error>;
    /// Relinearises and rescales to `scale`, which is what the scale of a comes to.
    fn relinearize_and_rescale_to(
        &self,
        a: &Self::Value,
        scale: f64,
    ) -> Outcome<Self::Value, Self::Error>;
    /// Brings a to a lower level and to `scale` there.
    fn align(&self, a: &Self::Value, level: usize, scale: f64)
    -> Outcome<Self::Value, Self::Error>;
    /// The sum of real multiples of values of one level and degree, at a level and scale.
    fn combine(
        &self,
        terms: &[(f64, &Self::Value)],
        level: usize,
        scale: f64,
    ) -> Outcome<Self::Value, Self::Error>;
    /// Where the bound is known to be smaller.
    fn bound(&self, a: &mut Self::Value, bound: f64);
}

/// The polynomial of every slot by any arithmetic: what [`Evaluator::polynomial`] does.
///
/// # Errors
/// Those of [`Evaluator::polynomial`], and what the arithmetic fails with.
pub fn evaluate_polynomial<A: Arithmetic>(
    arithmetic: &A,
    value: &A::Value,
    polynomial: &Polynomial,
) -> Outcome<A::Value, A::Error> {
    let (level, scale) = arithmetic.estimate(value).polynomial_target(polynomial)?;
    evaluate_to(arithmetic, value, polynomial, level, scale)
}

impl Arithmetic for Evaluator {
    type Value = Ciphertext;
    type Error = Error;

    fn estimate<'a>(&self, a: &'a Ciphertext) -> &'a Estimate {
        &a.estimate
    }

    fn multiply_lazily(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext> {
        self.multiply_lazily(a, b)
    }

    fn double(&self, a: &mut Ciphertext) -> Result<()> {
        let ring = self.parameters().ring();
        a.polys_mut().iter_mut().for_each(|poly| ring.scale(poly, |_| 2));
        a.estimate = a.estimate.doubled();
        Ok(())
    }

    fn add_real(&self, a: &mut Ciphertext, value: f64) -> Result<()> {
        self.add_real(a, value, EVALUATE)
    }

    fn add_assign(&self, a: &mut Ciphertext, b: &Ciphertext) -> Result<()> {
        self.add_assign(a, b)
    }

    fn relinearize_and_rescale_to(&self, a: &Ciphertext, scale: f64) -> Result<Ciphertext> {
        self.relinearize_and_rescale_to(a, scale)
    }

    fn align(&self, a: &Ciphertext, level: usize, scale: f64) -> Result<Ciphertext> {
        self.align(a, level, scale)
    }

    fn combine(
        &self,
        terms: &[(f64, &Ciphertext)],
        level: usize,
        scale: f64,
    ) -> Result<Ciphertext> {
        self.linear_combination(terms, level, scale, EVALUATE)
    }

    fn bound(&self, a: &mut Ciphertext, bound: f64) {
        a.estimate = a.estimate.bounded(bound);
    }
}

/// The arithmetic of estimates alone.
#[derive(Debug, Clone, Copy)]
pub struct OnEstimates;

impl Arithmetic for OnEstimates {
    type Value = Estimate;
    type Error = Error;

    fn estimate<'a>(&self, a: &'a Estimate) -> &'a Estimate {
        a
    }

    fn multiply_lazily(&self, a: &Estimate, b: &Estimate) -> Result<Estimate> {
        a.multiply_lazily(b)
    }

    fn double(&self, a: &mut Estimate) -> Result<()> {
        *a = a.doubled();
        Ok(())
    }

    fn add_real(&self, a: &mut Estimate, value: f64) -> Result<()> {
        *a = a.add_real(value, EVALUATE)?.1;
        Ok(())
    }

    fn add_assign(&self, a: &mut Estimate, b: &Estimate) -> Result<()> {
        *a = a.sum(b, "add")?;
        Ok(())
    }

    fn relinearize_and_rescale_to(&self, a: &Estimate, scale: f64) -> Result<Estimate> {
        a.relinearize_and_rescale_to(scale)
    }

    fn align(&self, a: &Estimate, level: usize, scale: f64) -> Result<Estimate> {
        a.align(level, scale)
    }

    fn combine(&self, terms: &[(f64, &Estimate)], level: usize, scale: f64) -> Result<Estimate> {
        Ok(Combination::new(terms, level, scale, EVALUATE)?.estimate)
    }

    fn bound(&self, a: &mut Estimate, bound: f64) {
        *a = a.bounded(bound);
    }
}

/// A polynomial of a value, at `level` and `scale`.
pub(super) fn evaluate_to<A: Arithmetic>(
    arithmetic: &A,
    value: &A::Value,
    polynomial: &Polynomial,
    level: usize,
    scale: f64,
) -> Outcome<A::Value, A::Error> {
    Powers::evaluate(arithmetic, value, polynomial, level, scale)
}

/// Powers of one value, and what is made of them.
struct Powers<'a, A: Arithmetic> {
    arithmetic: &'a A,
    parameters: Parameters,
    basis: PolynomialBasis,
    /// The level of the first power.
    top: usize,
    /// By power and level: at the level where a power was made, and at lower ones where it
    /// was needed.
    known: BTreeMap<(usize, usize), A::Value>,
}

impl<'a, A: Arithmetic> Powers<'a, A> {
    fn evaluate(
        arithmetic: &'a A,
        value: &A::Value,
        polynomial: &Polynomial,
        level: usize,
        scale: f64,
    ) -> Outcome<A::Value, A::Error> {
        let plan = Plan::new(&polynomial.coefficients, polynomial.basis);
        let estimate = arithmetic.estimate(value);
        let (parameters, top) = (estimate.parameters.clone(), estimate.level);
        let known = BTreeMap::from([((1, top), value.clone())]);
        let basis = polynomial.basis;
        let mut powers = Self { arithmetic, parameters, basis, top, known };
        for &n in &plan.powers {
            powers.make(n)?;
        }
        powers.block(&plan.root, level, scale)
    }

    /// The level at which power n is made.
    fn level(&self, n: usize) -> usize {
        self.top - plan::power_depth(n)
    }

    /// Makes power n, at least 2, from smaller ones.
    fn make(&mut self, n: usize) -> Outcome<(), A::Error> {
        let (high, low) = plan::halves(n);
        let arithmetic = self.arithmetic;
        let level = self.level(n);
        let above = level + 1;
        self.lower(high, above)?;
        self.lower(low, above)?;
        let factors = [&self.known[&(high, above)], &self.known[&(low, above)]];
        let mut product = arithmetic.multiply_lazily(factors[0], factors[1])?;
        if self.basis == PolynomialBasis::Chebyshev {
            // T_(h + l) = 2 T_h T_l - T_(h - l).
            arithmetic.double(&mut product)?;
            if high == low {
                arithmetic.add_real(&mut product, -1.0)?;
            } else {
                self.add_combination(&mut product, &[(high - low, -1.0)])?;
            }
        }
        let scale = arithmetic.estimate(&product).rescaled_scale()?;
        let mut power = arithmetic.relinearize_and_rescale_to(&product, scale)?;
        if self.basis == PolynomialBasis::Chebyshev {
            arithmetic.bound(&mut power, 1.0);
        }
        self.known.insert((n, level), power);
        Ok(())
    }

    /// Sees to it that power n is known at `level`: at its own scale where primes just need
    /// to be dropped for it, otherwise at the canonical one.
    fn lower(&mut self, n: usize, level: usize) -> Outcome<(), A::Error> {
        if self.known.contains_key(&(n, level)) {
            return Ok(());
        }
        let parameters = &self.parameters;
        let power = &self.known[&(n, self.level(n))];
        let estimate = self.arithmetic.estimate(power);
        let (from, to) = (parameters.level_basis(estimate.level), parameters.level_basis(level));
        let scale = if to.is_subset(from) { estimate.scale } else { parameters.scale(level)? };
        let power = self.arithmetic.align(power, level, scale)?;
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
    ) -> Outcome<A::Value, A::Error> {
        for &(n, _) in terms {
            self.lower(n, from)?;
        }
        let terms: Vec<_> = terms.iter().map(|&(n, c)| (c, &self.known[&(n, from)])).collect();
        self.arithmetic.combine(&terms, level, scale)
    }

    /// [`Self::combination`] added to products, at their level and scale.
    fn add_combination(
        &mut self,
        products: &mut A::Value,
        terms: &[(usize, f64)],
    ) -> Outcome<(), A::Error> {
        let &Estimate { level, scale, .. } = self.arithmetic.estimate(products);
        let all_there = terms.iter().all(|&(n, _)| self.known.contains_key(&(n, level)));
        let from = if all_there { level } else { self.lowest_level(terms) };
        let sum = self.combination(terms, from, level, scale)?;
        self.arithmetic.add_assign(products, &sum)
    }

    /// The highest level at which all powers of `terms` can stand.
    fn lowest_level(&self, terms: &[(usize, f64)]) -> usize {
        terms.iter().map(|&(n, _)| self.level(n)).fold(self.top, usize::min)
    }

    /// The value of a block, at `level` and `scale`.
    fn block(&mut self, block: &Block, level: usize, scale: f64) -> Outcome<A::Value, A::Error> {
        let arithmetic = self.arithmetic;
        let mut value = if let Some((first, others)) = block.products.split_first() {
            let above = level + 1;
            let product_scale = scale * self.parameters.rescale_factor(above)?;
            let mut sum = self.product(first, above, product_scale)?;
            for other in others {
                arithmetic.add_assign(&mut sum, &self.product(other, above, product_scale)?)?;
            }
            if !block.terms.is_empty() {
                self.add_combination(&mut sum, &block.terms)?;
            }
            arithmetic.add_real(&mut sum, block.constant)?;
            arithmetic.relinearize_and_rescale_to(&sum, scale)?
        } else {
            let terms = if block.terms.is_empty() { &[(1, 0.0)][..] } else { &block.terms };
            let mut sum = self.combination(terms, self.lowest_level(terms), level, scale)?;
            arithmetic.add_real(&mut sum, block.constant)?;
            sum
        };
        if self.basis == PolynomialBasis::Chebyshev {
            arithmetic.bound(&mut value, block.norm);
        }
        Ok(value)
    }

    /// A power times its quotient, of degree 2.
    fn product(
        &mut self,
        (n, quotient): &(usize, Block),
        level: usize,
        scale: f64,
    ) -> Outcome<A::Value, A::Error> {
        self.lower(*n, level)?;
        let quotient_scale = scale / self.arithmetic.estimate(&self.known[&(*n, level)]).scale;
        let quotient = self.block(quotient, level, quotient_scale)?;
        self.arithmetic.multiply_lazily(&quotient, &self.known[&(*n, level)])
    }
}
