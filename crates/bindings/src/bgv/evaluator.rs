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

operations! {
    BgvEvaluator -> BgvCiphertext;

    /// a + b; of one level. Unequal correction factors are aligned at some cost in noise.
    add(a: BgvCiphertext, b: BgvCiphertext) as Pass;

    /// a - b; as `add`.
    sub(a: BgvCiphertext, b: BgvCiphertext) as Pass;

    /// The negative of every integer.
    negate(ciphertext: BgvCiphertext) as Pass;

    /// ciphertext + plaintext; of one level.
    add_plain(ciphertext: BgvCiphertext, plaintext: BgvPlaintext) as Pass;

    /// ciphertext - plaintext; of one level.
    sub_plain(ciphertext: BgvCiphertext, plaintext: BgvPlaintext) as Pass;

    /// Every integer plus one value.
    add_scalar(ciphertext: BgvCiphertext; value: i64) as Pass;

    /// a * b, relinearised, at their level; see `switch_down`.
    multiply(a: BgvCiphertext, b: BgvCiphertext) as Switch;

    /// a * b of degree 2, at their level.
    multiply_lazily(a: BgvCiphertext, b: BgvCiphertext) as Pass;

    /// The square of every integer, relinearised.
    square(ciphertext: BgvCiphertext) as Switch;

    /// The same integers at degree 1.
    relinearize(ciphertext: BgvCiphertext) as Switch;

    /// The same integers at degree 1 and one level down, in one division.
    relinearize_and_switch(ciphertext: BgvCiphertext) as Switch;

    /// ciphertext * plaintext; of one level.
    multiply_plain(ciphertext: BgvCiphertext, plaintext: BgvPlaintext) as Pass;

    /// Every integer times one value.
    multiply_scalar(ciphertext: BgvCiphertext; value: i64) as Pass;

    /// The same integers as far down as pays, which after a product is where its noise falls.
    switch_down(ciphertext: BgvCiphertext) as Transform;

    /// In each row, slot i receives slot i + steps, cyclically.
    rotate(ciphertext: BgvCiphertext; steps: i64) as Switch;

    /// Each row where the other was.
    swap_rows(ciphertext: BgvCiphertext) as Switch;
}

hoisting!(BgvEvaluator, BgvCiphertext);
products!(
    BgvEvaluator,
    BgvCiphertext,
    BgvRotatedProducts,
    switch_product_and_modulus,
    "`switch_product`, one level down in the same division."
);

#[pymethods]
impl BgvEvaluator {
    #[new]
    fn new(keys: Bound<'_, BgvEvaluationKeys>) -> Self {
        Self(bgv::Evaluator::new(keys.get().snapshot()))
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

    fn __repr__(&self) -> String {
        format!("BgvEvaluator({:?})", self.0.keys())
    }
}
