//! Operations on ciphertexts.

use pyo3::prelude::*;
use rlwe::Error;
use rlwe::ckks::{self, Complex64, Encoding};

use crate::arrays::Numbers;
use crate::ckks::bootstrapping::Bootstrapping;
use crate::ckks::ciphertext::Ciphertext;
use crate::ckks::keys::EvaluationKeys;
use crate::ckks::linear_transform::LinearTransform;
use crate::ckks::plaintext::{Coefficients, Plaintext};
use crate::ckks::polynomial::Basis;
use crate::ckks::rotated_products::RotatedProducts;
use crate::duration::Work;
use crate::numbers::{Number, Real};
use crate::{engine, errors};

/// Runs operations with the evaluation keys that it is given; it cannot decrypt.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct Evaluator(ckks::Evaluator);

operations! {
    Evaluator -> Ciphertext;

    /// a + b; of one level and scale.
    add(a: Ciphertext, b: Ciphertext) as Pass;

    /// a - b; of one level and scale.
    sub(a: Ciphertext, b: Ciphertext) as Pass;

    /// The negative of every number.
    negate(ciphertext: Ciphertext) as Pass;

    /// Every number times the imaginary unit, without error or change of scale.
    multiply_imaginary(ciphertext: Ciphertext) as Pass;

    /// ciphertext + plaintext; of one level and scale.
    add_plain(ciphertext: Ciphertext, plaintext: Plaintext) as Pass;

    /// ciphertext - plaintext; of one level and scale.
    sub_plain(ciphertext: Ciphertext, plaintext: Plaintext) as Pass;

    /// a * b, relinearised, not rescaled; of one level.
    multiply(a: Ciphertext, b: Ciphertext) as Switch;

    /// a * b of degree 2, neither relinearised nor rescaled; of one level.
    multiply_lazily(a: Ciphertext, b: Ciphertext) as Pass;

    /// The same numbers at degree 1.
    relinearize(ciphertext: Ciphertext) as Switch;

    /// The same numbers at degree 1 and one level down, in one division.
    relinearize_and_rescale(ciphertext: Ciphertext) as Switch;

    /// ciphertext * plaintext, not rescaled; of one level.
    multiply_plain(ciphertext: Ciphertext, plaintext: Plaintext) as Pass;

    /// Every number times one integer; exact, the scale unchanged.
    multiply_integer(ciphertext: Ciphertext; value: i64) as Pass;

    /// Every number plus one value.
    add_scalar(ciphertext: Ciphertext; value: Complex64) as Pass;

    /// The square of every number, relinearised, not rescaled.
    square(ciphertext: Ciphertext) as Switch;

    /// The same numbers one level down, the scale divided by the level's rescale factor.
    rescale(ciphertext: Ciphertext) as Transform;

    /// Slot i receives slot i + steps, cyclically.
    rotate(ciphertext: Ciphertext; steps: i64) as Switch;

    /// The complex conjugate of every number.
    conjugate(ciphertext: Ciphertext) as Switch;

    /// The image under X -> X^element: a rotation, a conjugation or both.
    automorphism(ciphertext: Ciphertext; element: usize) as Switch;
}

hoisting!(Evaluator, Ciphertext);
products!(
    Evaluator,
    Ciphertext,
    RotatedProducts,
    switch_product_and_rescale,
    "`switch_product` and `rescale` in one division."
);

#[pymethods]
impl Evaluator {
    #[new]
    fn new(keys: Bound<'_, EvaluationKeys>) -> Self {
        Self(ckks::Evaluator::new(keys.get().snapshot()))
    }

    /// Every number times one value, not rescaled. The value is encoded at `scale`, by
    /// default that after which a rescale lands on the canonical scale.
    #[pyo3(signature = (ciphertext, value, scale=None))]
    fn multiply_scalar(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
        value: Number<Complex64>,
        scale: Option<Real>,
    ) -> PyResult<Ciphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Pass.on(a.nbytes()), || {
            self.0.multiply_scalar(a, value.0, scale.map(|x| x.0))
        })
        .map(Ciphertext)
    }

    /// The same numbers at a lower level, the scale unchanged.
    fn drop_level(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
        level: Number<usize>,
    ) -> PyResult<Ciphertext> {
        let a = &ciphertext.get().0;
        engine::run(py, || self.0.drop_level(a, level.0)).map(Ciphertext)
    }

    /// The same numbers at a lower level and at `scale`, by default the canonical scale
    /// there; no level beyond those given up is consumed.
    #[pyo3(signature = (ciphertext, level, scale=None))]
    fn align(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
        level: Number<usize>,
        scale: Option<Real>,
    ) -> PyResult<Ciphertext> {
        let a = &ciphertext.get().0;
        let scale = scale.map_or_else(|| a.parameters().scale(level.0), |scale| Ok(scale.0));
        engine::run(py, || self.0.align(a, level.0, scale?)).map(Ciphertext)
    }

    /// The linear transform, not rescaled.
    fn linear_transform(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
        transform: Bound<'_, LinearTransform>,
    ) -> PyResult<Ciphertext> {
        let (a, transform) = (&ciphertext.get().0, &transform.get().0);
        engine::run(py, || self.0.linear_transform(a, transform)).map(Ciphertext)
    }

    /// Sums of linear transforms, which share rotations by the same baby steps and giant steps.
    ///
    /// Args:
    ///     ciphertexts: Of one level.
    ///     sums: For each sum its terms: the place of the ciphertext that is transformed, and the
    ///         transform.
    fn linear_transform_sums(
        &self,
        py: Python<'_>,
        ciphertexts: Vec<Bound<'_, Ciphertext>>,
        sums: Vec<Vec<(Number<usize>, Bound<'_, LinearTransform>)>>,
    ) -> PyResult<Vec<Ciphertext>> {
        let ciphertexts: Vec<_> = ciphertexts.iter().map(|a| &a.get().0).collect();
        let sums: Vec<Vec<_>> = (sums.iter())
            .map(|terms| terms.iter().map(|(place, each)| (place.0, &each.get().0)).collect())
            .collect();
        let sums: Vec<&ckks::TransformTerms<'_>> = sums.iter().map(Vec::as_slice).collect();
        let made = engine::run(py, || self.0.linear_transform_sums(&ciphertexts, &sums))?;
        Ok(made.into_iter().map(Ciphertext).collect())
    }

    /// A polynomial of every number, at the canonical scale of the level reached.
    ///
    /// Args:
    ///     ciphertext: For "chebyshev" of real numbers in [-1, 1].
    ///     coefficients: That of degree 0 first.
    ///     basis: "monomial" or "chebyshev".
    fn polynomial(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
        coefficients: Vec<Real>,
        basis: Basis,
    ) -> PyResult<Ciphertext> {
        let a = &ciphertext.get().0;
        let coefficients: Vec<f64> = coefficients.into_iter().map(|x| x.0).collect();
        let evaluate = || self.0.polynomial(a, &ckks::Polynomial::new(&coefficients, basis.0)?);
        engine::run(py, evaluate).map(Ciphertext)
    }

    /// Sums of real multiples of ciphertexts, one level down at the canonical scale.
    ///
    /// Args:
    ///     ciphertexts: Of one level.
    ///     weights: Those of the first sum, one for each ciphertext, then those of the next.
    ///     offsets: What is added to every number, one for each sum.
    fn weighted_sums(
        &self,
        py: Python<'_>,
        ciphertexts: Vec<Bound<'_, Ciphertext>>,
        weights: Numbers<f64>,
        offsets: Numbers<f64>,
    ) -> PyResult<Vec<Ciphertext>> {
        let terms: Vec<_> = ciphertexts.iter().map(|a| &a.get().0).collect();
        let sums = engine::run(py, || self.0.weighted_sums(&terms, &weights.0, &offsets.0))?;
        Ok(sums.into_iter().map(Ciphertext).collect())
    }

    /// The sum of ciphertexts, each times the plaintext with its coefficients.
    ///
    /// Args:
    ///     ciphertexts: Of one level.
    ///     coefficients: Of each plaintext, as of `Parameters.encode_coefficients`.
    ///     level: As of it.
    ///     scale: As of it.
    ///     bound: As of it.
    #[pyo3(signature = (ciphertexts, coefficients, *, level, scale, bound))]
    fn sum_of_encoded_products(
        &self,
        py: Python<'_>,
        ciphertexts: Vec<Bound<'_, Ciphertext>>,
        coefficients: Vec<Coefficients<'_>>,
        level: Number<usize>,
        scale: Real,
        bound: Real,
    ) -> PyResult<Ciphertext> {
        let encoding = Encoding { level: level.0, scale: Some(scale.0), bound: Some(bound.0) };
        if ciphertexts.len() != coefficients.len() {
            let (expected, got) = (ciphertexts.len(), coefficients.len());
            let reason = format!("expected coefficients for {expected} ciphertexts, got {got}");
            let operation = "add up products with plaintexts";
            return Err(errors::refusal(py, &Error::InvalidArgument { operation, reason }));
        }
        let pairs = ciphertexts.iter().zip(&coefficients);
        let terms: Vec<_> = pairs
            .map(|(a, coefficients)| Ok((&a.get().0, coefficients.integers()?)))
            .collect::<PyResult<_>>()?;
        engine::run(py, || self.0.sum_of_encoded_products(&terms, encoding)).map(Ciphertext)
    }

    /// Slot i receives the sum of slots i, i + stride, ..., i + (length - 1) stride.
    fn inner_sum(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
        length: Number<usize>,
        stride: Number<i64>,
    ) -> PyResult<Ciphertext> {
        let a = &ciphertext.get().0;
        engine::run(py, || self.0.inner_sum(a, length.0, stride.0)).map(Ciphertext)
    }

    /// `switch_product_and_rescale` at each of several rotations.
    fn switch_products_and_rescale(
        &self,
        py: Python<'_>,
        products: Bound<'_, RotatedProducts>,
        ts: Vec<Number<usize>>,
    ) -> PyResult<Vec<Ciphertext>> {
        let products = &products.get().0;
        let ts: Vec<usize> = ts.into_iter().map(|t| t.0).collect();
        let switched = engine::run(py, || self.0.switch_products_and_rescale(products, &ts))?;
        Ok(switched.into_iter().map(Ciphertext).collect())
    }

    /// The same numbers at the level of a refreshed ciphertext, however low the level was.
    ///
    /// Raises:
    ///     LevelExhaustedError: The level is below the one that refreshing begins at.
    ///     ValueOutOfRangeError: By the bound of the ciphertext a number may exceed that of the
    ///         parameters.
    ///     MissingKeyError: A key of `SecretKey.bootstrapping_keys` is missing.
    fn bootstrap(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
        bootstrapping: Bound<'_, Bootstrapping>,
    ) -> PyResult<Ciphertext> {
        let (a, bootstrapping) = (&ciphertext.get().0, &bootstrapping.get().0);
        engine::run(py, || self.0.bootstrap(a, bootstrapping)).map(Ciphertext)
    }

    /// `bootstrap` of two ciphertexts of real numbers at once, for less than one after the other.
    ///
    /// Raises:
    ///     LevelExhaustedError: A level is below the one that refreshing begins at.
    ///     ValueOutOfRangeError: By its bound a number of either may exceed that of the parameters.
    ///     ScaleMismatchError: At the level that refreshing begins at they have different scales.
    ///     MissingKeyError: A key of `SecretKey.bootstrapping_keys` is missing.
    fn bootstrap_pair(
        &self,
        py: Python<'_>,
        left: Bound<'_, Ciphertext>,
        right: Bound<'_, Ciphertext>,
        bootstrapping: Bound<'_, Bootstrapping>,
    ) -> PyResult<(Ciphertext, Ciphertext)> {
        let (a, b, bootstrapping) = (&left.get().0, &right.get().0, &bootstrapping.get().0);
        let [a, b] = engine::run(py, || self.0.bootstrap_pair(a, b, bootstrapping))?;
        Ok((Ciphertext(a), Ciphertext(b)))
    }

    fn __repr__(&self) -> String {
        format!("Evaluator({:?})", self.0.keys())
    }
}
