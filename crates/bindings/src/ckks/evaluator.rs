//! Operations on ciphertexts.

use pyo3::prelude::*;
use rlwe::ckks::{self, Complex64};

use crate::arrays::Numbers;
use crate::ckks::bootstrapping::Bootstrapping;
use crate::ckks::ciphertext::Ciphertext;
use crate::ckks::keys::EvaluationKeys;
use crate::ckks::linear_transform::LinearTransform;
use crate::ckks::plaintext::Plaintext;
use crate::ckks::polynomial::Basis;
use crate::ckks::rotated_products::RotatedProducts;
use crate::duration::Work;
use crate::engine;
use crate::numbers::{Number, Real};

/// Runs operations with the evaluation keys that it is given; it cannot decrypt.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct Evaluator(ckks::Evaluator);

#[pymethods]
impl Evaluator {
    #[new]
    fn new(keys: Bound<'_, EvaluationKeys>) -> Self {
        Self(ckks::Evaluator::new(keys.get().snapshot()))
    }

    /// a + b; of one level and scale.
    fn add(
        &self,
        py: Python<'_>,
        a: Bound<'_, Ciphertext>,
        b: Bound<'_, Ciphertext>,
    ) -> PyResult<Ciphertext> {
        let (a, b) = (&a.get().0, &b.get().0);
        engine::run_about(py, Work::Pass.on(a.nbytes()), || self.0.add(a, b)).map(Ciphertext)
    }

    /// a - b; of one level and scale.
    fn sub(
        &self,
        py: Python<'_>,
        a: Bound<'_, Ciphertext>,
        b: Bound<'_, Ciphertext>,
    ) -> PyResult<Ciphertext> {
        let (a, b) = (&a.get().0, &b.get().0);
        engine::run_about(py, Work::Pass.on(a.nbytes()), || self.0.sub(a, b)).map(Ciphertext)
    }

    /// The negative of every number.
    fn negate(&self, py: Python<'_>, ciphertext: Bound<'_, Ciphertext>) -> PyResult<Ciphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Pass.on(a.nbytes()), || self.0.negate(a)).map(Ciphertext)
    }

    /// Every number times the imaginary unit, without error or change of scale.
    fn multiply_imaginary(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
    ) -> PyResult<Ciphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Pass.on(a.nbytes()), || self.0.multiply_imaginary(a))
            .map(Ciphertext)
    }

    /// ciphertext + plaintext; of one level and scale.
    fn add_plain(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
        plaintext: Bound<'_, Plaintext>,
    ) -> PyResult<Ciphertext> {
        let (a, b) = (&ciphertext.get().0, &plaintext.get().0);
        engine::run_about(py, Work::Pass.on(a.nbytes()), || self.0.add_plain(a, b)).map(Ciphertext)
    }

    /// ciphertext - plaintext; of one level and scale.
    fn sub_plain(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
        plaintext: Bound<'_, Plaintext>,
    ) -> PyResult<Ciphertext> {
        let (a, b) = (&ciphertext.get().0, &plaintext.get().0);
        engine::run_about(py, Work::Pass.on(a.nbytes()), || self.0.sub_plain(a, b)).map(Ciphertext)
    }

    /// a * b, relinearised, not rescaled; of one level.
    fn multiply(
        &self,
        py: Python<'_>,
        a: Bound<'_, Ciphertext>,
        b: Bound<'_, Ciphertext>,
    ) -> PyResult<Ciphertext> {
        let (a, b) = (&a.get().0, &b.get().0);
        engine::run_about(py, Work::Switch.on(a.nbytes()), || self.0.multiply(a, b)).map(Ciphertext)
    }

    /// a * b of degree 2, neither relinearised nor rescaled; of one level.
    fn multiply_lazily(
        &self,
        py: Python<'_>,
        a: Bound<'_, Ciphertext>,
        b: Bound<'_, Ciphertext>,
    ) -> PyResult<Ciphertext> {
        let (a, b) = (&a.get().0, &b.get().0);
        engine::run_about(py, Work::Pass.on(a.nbytes()), || self.0.multiply_lazily(a, b))
            .map(Ciphertext)
    }

    /// The same numbers at degree 1.
    fn relinearize(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
    ) -> PyResult<Ciphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Switch.on(a.nbytes()), || self.0.relinearize(a)).map(Ciphertext)
    }

    /// The same numbers at degree 1 and one level down, in one division.
    fn relinearize_and_rescale(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
    ) -> PyResult<Ciphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Switch.on(a.nbytes()), || self.0.relinearize_and_rescale(a))
            .map(Ciphertext)
    }

    /// ciphertext * plaintext, not rescaled; of one level.
    fn multiply_plain(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
        plaintext: Bound<'_, Plaintext>,
    ) -> PyResult<Ciphertext> {
        let (a, b) = (&ciphertext.get().0, &plaintext.get().0);
        engine::run_about(py, Work::Pass.on(a.nbytes()), || self.0.multiply_plain(a, b))
            .map(Ciphertext)
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

    /// Every number times one integer; exact, the scale unchanged.
    fn multiply_integer(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
        value: Number<i64>,
    ) -> PyResult<Ciphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Pass.on(a.nbytes()), || self.0.multiply_integer(a, value.0))
            .map(Ciphertext)
    }

    /// Every number plus one value.
    fn add_scalar(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
        value: Number<Complex64>,
    ) -> PyResult<Ciphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Pass.on(a.nbytes()), || self.0.add_scalar(a, value.0))
            .map(Ciphertext)
    }

    /// The square of every number, relinearised, not rescaled.
    fn square(&self, py: Python<'_>, ciphertext: Bound<'_, Ciphertext>) -> PyResult<Ciphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Switch.on(a.nbytes()), || self.0.square(a)).map(Ciphertext)
    }

    /// The same numbers one level down, the scale divided by the level's rescale factor.
    fn rescale(&self, py: Python<'_>, ciphertext: Bound<'_, Ciphertext>) -> PyResult<Ciphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Transform.on(a.nbytes()), || self.0.rescale(a)).map(Ciphertext)
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

    /// Slot i receives slot i + steps, cyclically.
    fn rotate(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
        steps: Number<i64>,
    ) -> PyResult<Ciphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Switch.on(a.nbytes()), || self.0.rotate(a, steps.0))
            .map(Ciphertext)
    }

    /// Several rotations of one ciphertext, which share the decomposition (hoisting).
    fn rotate_hoisted(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
        steps: Vec<Number<i64>>,
    ) -> PyResult<Vec<Ciphertext>> {
        let a = &ciphertext.get().0;
        let steps: Vec<i64> = steps.into_iter().map(|k| k.0).collect();
        let rotated = engine::run_about(py, Work::Switch.on(steps.len() * a.nbytes()), || {
            self.0.rotate_hoisted(a, &steps)
        })?;
        Ok(rotated.into_iter().map(Ciphertext).collect())
    }

    /// The complex conjugate of every number.
    fn conjugate(&self, py: Python<'_>, ciphertext: Bound<'_, Ciphertext>) -> PyResult<Ciphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Switch.on(a.nbytes()), || self.0.conjugate(a)).map(Ciphertext)
    }

    /// The image under X -> X^element: a rotation, a conjugation or both.
    fn automorphism(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
        element: Number<usize>,
    ) -> PyResult<Ciphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Switch.on(a.nbytes()), || self.0.automorphism(a, element.0))
            .map(Ciphertext)
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

    /// Several linear transforms, which share rotations by the same baby steps.
    fn linear_transforms(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, Ciphertext>,
        transforms: Vec<Bound<'_, LinearTransform>>,
    ) -> PyResult<Vec<Ciphertext>> {
        let a = &ciphertext.get().0;
        let transforms: Vec<_> = transforms.iter().map(|each| &each.get().0).collect();
        let made = engine::run(py, || self.0.linear_transforms(a, &transforms))?;
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

    /// For every t below slots / step the sum over j of left[j], rotated by t * step, times
    /// right[j]; no key is switched, none is needed.
    ///
    /// Args:
    ///     left: Ciphertexts of one level and scale.
    ///     right: As many, of the same level and scale.
    ///     step: A power of two up to the slots.
    fn rotated_products(
        &self,
        py: Python<'_>,
        left: Vec<Bound<'_, Ciphertext>>,
        right: Vec<Bound<'_, Ciphertext>>,
        step: Number<usize>,
    ) -> PyResult<RotatedProducts> {
        let [left, right] =
            [&left, &right].map(|side| side.iter().map(|a| &a.get().0).collect::<Vec<_>>());
        engine::run(py, || self.0.rotated_products(&left, &right, step.0)).map(RotatedProducts)
    }

    /// For every t below d = slots / step the sum over runs of d, and over r, of
    /// left[(r - t) % d], rotated by t * step, times right[r]: products of diagonals of matrices.
    ///
    /// Args:
    ///     left: Ciphertexts as for `rotated_products`, a multiple of d.
    ///     right: As many.
    ///     step: A power of two up to the slots.
    fn diagonal_products(
        &self,
        py: Python<'_>,
        left: Vec<Bound<'_, Ciphertext>>,
        right: Vec<Bound<'_, Ciphertext>>,
        step: Number<usize>,
    ) -> PyResult<RotatedProducts> {
        let [left, right] =
            [&left, &right].map(|side| side.iter().map(|a| &a.get().0).collect::<Vec<_>>());
        engine::run(py, || self.0.diagonal_products(&left, &right, step.0)).map(RotatedProducts)
    }

    /// The products of both pairs of lists, added up.
    fn add_rotated_products(
        &self,
        py: Python<'_>,
        a: Bound<'_, RotatedProducts>,
        b: Bound<'_, RotatedProducts>,
    ) -> PyResult<RotatedProducts> {
        let (a, b) = (&a.get().0, &b.get().0);
        engine::run(py, || self.0.add_rotated_products(a, b)).map(RotatedProducts)
    }

    /// The product at a rotation by t steps as a ciphertext: by the Galois key and the product key
    /// of that rotation, by the relinearisation key for t = 0.
    fn switch_product(
        &self,
        py: Python<'_>,
        products: Bound<'_, RotatedProducts>,
        t: Number<usize>,
    ) -> PyResult<Ciphertext> {
        let products = &products.get().0;
        engine::run_about(py, Work::Switch.on(products.product_nbytes()), || {
            self.0.switch_product(products, t.0)
        })
        .map(Ciphertext)
    }

    /// `switch_product` and `rescale` in one division.
    fn switch_product_and_rescale(
        &self,
        py: Python<'_>,
        products: Bound<'_, RotatedProducts>,
        t: Number<usize>,
    ) -> PyResult<Ciphertext> {
        let products = &products.get().0;
        engine::run_about(py, Work::Switch.on(products.product_nbytes()), || {
            self.0.switch_product_and_rescale(products, t.0)
        })
        .map(Ciphertext)
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
