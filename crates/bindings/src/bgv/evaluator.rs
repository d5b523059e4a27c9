//! Operations on BGV ciphertexts.

use pyo3::prelude::*;
use rlwe::bgv;

use crate::bgv::ciphertext::BgvCiphertext;
use crate::bgv::keys::BgvEvaluationKeys;
use crate::bgv::linear_transform::BgvLinearTransform;
use crate::bgv::plaintext::BgvPlaintext;
use crate::bgv::rotated_products::BgvRotatedProducts;
use crate::duration::Work;
use crate::engine;
use crate::numbers::Number;

/// Runs operations with the evaluation keys that it is given; it cannot decrypt.
///
/// Every operation raises NoiseExhaustedError before a number can become wrong.
#[pyclass(frozen, module = "cloakwork._native")]
pub struct BgvEvaluator(bgv::Evaluator);

#[pymethods]
impl BgvEvaluator {
    #[new]
    fn new(keys: Bound<'_, BgvEvaluationKeys>) -> Self {
        Self(bgv::Evaluator::new(keys.get().snapshot()))
    }

    /// a + b; of one level. Unequal correction factors are aligned at some cost in noise.
    fn add(
        &self,
        py: Python<'_>,
        a: Bound<'_, BgvCiphertext>,
        b: Bound<'_, BgvCiphertext>,
    ) -> PyResult<BgvCiphertext> {
        let (a, b) = (&a.get().0, &b.get().0);
        engine::run_about(py, Work::Pass.on(a.nbytes()), || self.0.add(a, b)).map(BgvCiphertext)
    }

    /// a - b; as `add`.
    fn sub(
        &self,
        py: Python<'_>,
        a: Bound<'_, BgvCiphertext>,
        b: Bound<'_, BgvCiphertext>,
    ) -> PyResult<BgvCiphertext> {
        let (a, b) = (&a.get().0, &b.get().0);
        engine::run_about(py, Work::Pass.on(a.nbytes()), || self.0.sub(a, b)).map(BgvCiphertext)
    }

    /// The negative of every integer.
    fn negate(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, BgvCiphertext>,
    ) -> PyResult<BgvCiphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Pass.on(a.nbytes()), || self.0.negate(a)).map(BgvCiphertext)
    }

    /// ciphertext + plaintext; of one level.
    fn add_plain(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, BgvCiphertext>,
        plaintext: Bound<'_, BgvPlaintext>,
    ) -> PyResult<BgvCiphertext> {
        let (a, b) = (&ciphertext.get().0, &plaintext.get().0);
        engine::run_about(py, Work::Pass.on(a.nbytes()), || self.0.add_plain(a, b))
            .map(BgvCiphertext)
    }

    /// ciphertext - plaintext; of one level.
    fn sub_plain(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, BgvCiphertext>,
        plaintext: Bound<'_, BgvPlaintext>,
    ) -> PyResult<BgvCiphertext> {
        let (a, b) = (&ciphertext.get().0, &plaintext.get().0);
        engine::run_about(py, Work::Pass.on(a.nbytes()), || self.0.sub_plain(a, b))
            .map(BgvCiphertext)
    }

    /// Every integer plus one value.
    fn add_scalar(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, BgvCiphertext>,
        value: Number<i64>,
    ) -> PyResult<BgvCiphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Pass.on(a.nbytes()), || self.0.add_scalar(a, value.0))
            .map(BgvCiphertext)
    }

    /// a * b, relinearised, at their level; see `switch_down`.
    fn multiply(
        &self,
        py: Python<'_>,
        a: Bound<'_, BgvCiphertext>,
        b: Bound<'_, BgvCiphertext>,
    ) -> PyResult<BgvCiphertext> {
        let (a, b) = (&a.get().0, &b.get().0);
        engine::run_about(py, Work::Switch.on(a.nbytes()), || self.0.multiply(a, b))
            .map(BgvCiphertext)
    }

    /// a * b of degree 2, at their level.
    fn multiply_lazily(
        &self,
        py: Python<'_>,
        a: Bound<'_, BgvCiphertext>,
        b: Bound<'_, BgvCiphertext>,
    ) -> PyResult<BgvCiphertext> {
        let (a, b) = (&a.get().0, &b.get().0);
        engine::run_about(py, Work::Pass.on(a.nbytes()), || self.0.multiply_lazily(a, b))
            .map(BgvCiphertext)
    }

    /// The square of every integer, relinearised.
    fn square(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, BgvCiphertext>,
    ) -> PyResult<BgvCiphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Switch.on(a.nbytes()), || self.0.square(a)).map(BgvCiphertext)
    }

    /// The same integers at degree 1.
    fn relinearize(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, BgvCiphertext>,
    ) -> PyResult<BgvCiphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Switch.on(a.nbytes()), || self.0.relinearize(a))
            .map(BgvCiphertext)
    }

    /// The same integers at degree 1 and one level down, in one division.
    fn relinearize_and_switch(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, BgvCiphertext>,
    ) -> PyResult<BgvCiphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Switch.on(a.nbytes()), || self.0.relinearize_and_switch(a))
            .map(BgvCiphertext)
    }

    /// ciphertext * plaintext; of one level.
    fn multiply_plain(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, BgvCiphertext>,
        plaintext: Bound<'_, BgvPlaintext>,
    ) -> PyResult<BgvCiphertext> {
        let (a, b) = (&ciphertext.get().0, &plaintext.get().0);
        engine::run_about(py, Work::Pass.on(a.nbytes()), || self.0.multiply_plain(a, b))
            .map(BgvCiphertext)
    }

    /// Every integer times one value.
    fn multiply_scalar(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, BgvCiphertext>,
        value: Number<i64>,
    ) -> PyResult<BgvCiphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Pass.on(a.nbytes()), || self.0.multiply_scalar(a, value.0))
            .map(BgvCiphertext)
    }

    /// The same integers at a lower level, and with a correction factor where one is given: that
    /// of another ciphertext, so that adding the two costs no noise.
    #[pyo3(signature = (ciphertext, level, factor=None))]
    fn switch_to(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, BgvCiphertext>,
        level: Number<usize>,
        factor: Option<Number<u32>>,
    ) -> PyResult<BgvCiphertext> {
        let (a, factor) = (&ciphertext.get().0, factor.map(|x| x.0));
        engine::run(py, || self.0.switch_to(a, level.0, factor)).map(BgvCiphertext)
    }

    /// The same integers as far down as pays, which after a product is where its noise falls.
    fn switch_down(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, BgvCiphertext>,
    ) -> PyResult<BgvCiphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Transform.on(a.nbytes()), || self.0.switch_down(a))
            .map(BgvCiphertext)
    }

    /// Both at the level and the correction factor of the lower.
    fn match_levels(
        &self,
        py: Python<'_>,
        a: Bound<'_, BgvCiphertext>,
        b: Bound<'_, BgvCiphertext>,
    ) -> PyResult<(BgvCiphertext, BgvCiphertext)> {
        let (a, b) = (&a.get().0, &b.get().0);
        let (a, b) = engine::run(py, || self.0.match_levels(a, b))?;
        Ok((BgvCiphertext(a), BgvCiphertext(b)))
    }

    /// In each row, slot i receives slot i + steps, cyclically.
    fn rotate(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, BgvCiphertext>,
        steps: Number<i64>,
    ) -> PyResult<BgvCiphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Switch.on(a.nbytes()), || self.0.rotate(a, steps.0))
            .map(BgvCiphertext)
    }

    /// Several rotations of one ciphertext, which share the decomposition (hoisting).
    fn rotate_hoisted(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, BgvCiphertext>,
        steps: Vec<Number<i64>>,
    ) -> PyResult<Vec<BgvCiphertext>> {
        let a = &ciphertext.get().0;
        let steps: Vec<i64> = steps.into_iter().map(|k| k.0).collect();
        let rotated = engine::run_about(py, Work::Switch.on(steps.len() * a.nbytes()), || {
            self.0.rotate_hoisted(a, &steps)
        })?;
        Ok(rotated.into_iter().map(BgvCiphertext).collect())
    }

    /// The sum of rotations by each of `added`, less those by each of `subtracted`; 0 stands for
    /// the ciphertext itself.
    fn rotate_sum(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, BgvCiphertext>,
        added: Vec<Number<i64>>,
        subtracted: Vec<Number<i64>>,
    ) -> PyResult<BgvCiphertext> {
        let a = &ciphertext.get().0;
        let [added, subtracted] =
            [added, subtracted].map(|steps| steps.into_iter().map(|k| k.0).collect::<Vec<i64>>());
        engine::run(py, || self.0.rotate_sum(a, &added, &subtracted)).map(BgvCiphertext)
    }

    /// Each row where the other was.
    fn swap_rows(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, BgvCiphertext>,
    ) -> PyResult<BgvCiphertext> {
        let a = &ciphertext.get().0;
        engine::run_about(py, Work::Switch.on(a.nbytes()), || self.0.swap_rows(a))
            .map(BgvCiphertext)
    }

    /// The linear transform.
    fn linear_transform(
        &self,
        py: Python<'_>,
        ciphertext: Bound<'_, BgvCiphertext>,
        transform: Bound<'_, BgvLinearTransform>,
    ) -> PyResult<BgvCiphertext> {
        let (a, transform) = (&ciphertext.get().0, &transform.get().0);
        engine::run(py, || self.0.linear_transform(a, transform)).map(BgvCiphertext)
    }

    /// For every t below slots of a row / step the sum over j of left[j], rotated by t * step, times
    /// right[j]; no key is switched, none is needed.
    ///
    /// Args:
    ///     left: Ciphertexts of one level and correction factor.
    ///     right: As many, of the same level and correction factor.
    ///     step: A power of two up to the slots of a row.
    fn rotated_products(
        &self,
        py: Python<'_>,
        left: Vec<Bound<'_, BgvCiphertext>>,
        right: Vec<Bound<'_, BgvCiphertext>>,
        step: Number<usize>,
    ) -> PyResult<BgvRotatedProducts> {
        let [left, right] =
            [&left, &right].map(|side| side.iter().map(|a| &a.get().0).collect::<Vec<_>>());
        engine::run(py, || self.0.rotated_products(&left, &right, step.0)).map(BgvRotatedProducts)
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
        left: Vec<Bound<'_, BgvCiphertext>>,
        right: Vec<Bound<'_, BgvCiphertext>>,
        step: Number<usize>,
    ) -> PyResult<BgvRotatedProducts> {
        let [left, right] =
            [&left, &right].map(|side| side.iter().map(|a| &a.get().0).collect::<Vec<_>>());
        engine::run(py, || self.0.diagonal_products(&left, &right, step.0)).map(BgvRotatedProducts)
    }

    /// The products of both pairs of lists, added up.
    fn add_rotated_products(
        &self,
        py: Python<'_>,
        a: Bound<'_, BgvRotatedProducts>,
        b: Bound<'_, BgvRotatedProducts>,
    ) -> PyResult<BgvRotatedProducts> {
        let (a, b) = (&a.get().0, &b.get().0);
        engine::run(py, || self.0.add_rotated_products(a, b)).map(BgvRotatedProducts)
    }

    /// The product at a rotation by t steps as a ciphertext: by the Galois key and the product key
    /// of that rotation, by the relinearisation key for t = 0.
    fn switch_product(
        &self,
        py: Python<'_>,
        products: Bound<'_, BgvRotatedProducts>,
        t: Number<usize>,
    ) -> PyResult<BgvCiphertext> {
        let products = &products.get().0;
        engine::run_about(py, Work::Switch.on(products.product_nbytes()), || {
            self.0.switch_product(products, t.0)
        })
        .map(BgvCiphertext)
    }

    /// `switch_product`, one level down in the same division.
    fn switch_product_and_modulus(
        &self,
        py: Python<'_>,
        products: Bound<'_, BgvRotatedProducts>,
        t: Number<usize>,
    ) -> PyResult<BgvCiphertext> {
        let products = &products.get().0;
        engine::run_about(py, Work::Switch.on(products.product_nbytes()), || {
            self.0.switch_product_and_modulus(products, t.0)
        })
        .map(BgvCiphertext)
    }

    fn __repr__(&self) -> String {
        format!("BgvEvaluator({:?})", self.0.keys())
    }
}
