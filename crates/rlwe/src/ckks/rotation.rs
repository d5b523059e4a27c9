//! Rotations, conjugation and inner sums.

use super::ciphertext::Ciphertext;
use super::estimate::Estimate;
use super::evaluator::Evaluator;
use crate::core::keys::check_element;
use crate::ring::automorphism::conjugation_element;
use crate::ring::poly::Poly;
use crate::{Error, Result};

impl Evaluator {
    /// Rotates to the left: slot i of the result is slot i + k of a, cyclically.
    ///
    /// # Errors
    /// [`Error::MissingKey`], [`Error::DegreeMismatch`], [`Error::KeyMismatch`],
    /// [`Error::ParametersMismatch`].
    pub fn rotate(&self, a: &Ciphertext, k: i64) -> Result<Ciphertext> {
        let mut rotated = self.rotate_hoisted(a, &[k])?;
        Ok(rotated.remove(0))
    }

    /// Rotations of one ciphertext, which share the decomposition of key switching
    /// (hoisting: Halevi and Shoup 2018): each further one costs about a third of a rotation.
    ///
    /// # Errors
    /// As [`Self::rotate`].
    pub fn rotate_hoisted(&self, a: &Ciphertext, ks: &[i64]) -> Result<Vec<Ciphertext>> {
        let operation = "rotate";
        self.check(a, operation)?;
        a.check_degree(1, operation)?;
        let slots = a.slots() as i64;
        let ks: Vec<i64> = ks.iter().map(|k| k.rem_euclid(slots)).collect();
        let steps = self.keys.steps(&ks, a.level(), operation)?;
        let rotated = self.keys.rotate_hoisted(&a.polys, a.level(), &steps);
        let each = rotated.into_iter();
        Ok(each
            .map(|polys| polys.map_or_else(|| a.clone(), |polys| self.switched(a, polys)))
            .collect())
    }

    /// The complex conjugate of every slot.
    ///
    /// # Errors
    /// As [`Self::rotate`].
    pub fn conjugate(&self, a: &Ciphertext) -> Result<Ciphertext> {
        let element = conjugation_element(self.parameters().log_n());
        self.moved(a, element, "conjugate", || "Galois key for conjugation".to_string())
    }

    /// The image under X -> X^element: what slot i holds moves to where the automorphism takes
    /// it, a rotation, a conjugation or both.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless `element` is odd and below 2N, and those of
    /// [`Self::rotate`].
    pub fn automorphism(&self, a: &Ciphertext, element: usize) -> Result<Ciphertext> {
        let operation = "apply an automorphism";
        check_element(self.parameters().log_n(), element, operation)?;
        self.moved(a, element, operation, || format!("Galois key for X -> X^{element}"))
    }

    fn moved(
        &self,
        a: &Ciphertext,
        element: usize,
        operation: &'static str,
        name: impl FnOnce() -> String,
    ) -> Result<Ciphertext> {
        self.check(a, operation)?;
        a.check_degree(1, operation)?;
        if element == 1 {
            return Ok(a.clone());
        }
        let key = self.keys.galois_key(element, a.level(), operation, name)?;
        let polys = self.keys.apply_automorphism(&a.polys, a.level(), (element, key));
        Ok(self.switched(a, polys))
    }

    /// a with the polynomials that switching its key has given it.
    fn switched(&self, a: &Ciphertext, polys: [Poly; 2]) -> Ciphertext {
        a.with(a.estimate.switched(), polys)
    }

    /// Slot i of the result is the sum of slots i, i + stride, ..., i + (length - 1) stride
    /// of a, cyclically, in about log2(length) rotations: those of [`inner_sum_rotations`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a length of zero, and those of [`Self::rotate`].
    pub fn inner_sum(&self, a: &Ciphertext, length: usize, stride: i64) -> Result<Ciphertext> {
        self.check(a, "sum slots")?;
        let (mut add, mut rotate) = (
            |a: &Ciphertext, b: &Ciphertext| self.add(a, b),
            |a: &Ciphertext, k| self.rotate(a, k),
        );
        inner_sum(a, length, stride, &mut add, &mut rotate)
    }
}

impl Estimate {
    /// What [`Evaluator::inner_sum`] gives.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a length of zero, and those of [`Self::rotate`].
    pub fn inner_sum(&self, length: usize, stride: i64) -> Result<Self> {
        let (mut add, mut rotate) = (|a: &Self, b: &Self| a.add(b), |a: &Self, k| a.rotate(k));
        inner_sum(self, length, stride, &mut add, &mut rotate)
    }
}

type Add<'a, T> = &'a mut dyn FnMut(&T, &T) -> Result<T>;
type Rotate<'a, T> = &'a mut dyn FnMut(&T, i64) -> Result<T>;

/// The sum of `length` rotations, of whatever can be rotated and added.
fn inner_sum<T: Clone>(
    a: &T,
    length: usize,
    stride: i64,
    add: Add<'_, T>,
    rotate: Rotate<'_, T>,
) -> Result<T> {
    if length == 0 {
        let reason = "the length is zero".to_string();
        return Err(Error::InvalidArgument { operation: "sum slots", reason });
    }
    // Rotations count modulo the slots, a power of two, so that wrapping is exact.
    // The sum over a prefix of the length's bits doubles with each bit that follows, and
    // gains one term where that bit is set.
    let mut sum = a.clone();
    let mut summed = 1i64;
    for bit in (0..length.ilog2()).rev() {
        sum = add(&sum, &rotate(&sum, summed.wrapping_mul(stride))?)?;
        summed = summed.wrapping_mul(2);
        if length >> bit & 1 == 1 {
            sum = add(a, &rotate(&sum, stride)?)?;
            summed = summed.wrapping_add(1);
        }
    }
    Ok(sum)
}

/// The rotations that [`Evaluator::inner_sum`] takes, with repeats.
pub fn inner_sum_rotations(length: usize, stride: i64) -> Vec<i64> {
    let mut rotations = Vec::new();
    let mut summed = 1i64;
    for bit in (0..length.checked_ilog2().unwrap_or(0)).rev() {
        rotations.push(summed.wrapping_mul(stride));
        summed = summed.wrapping_mul(2);
        if length >> bit & 1 == 1 {
            rotations.push(stride);
            summed = summed.wrapping_add(1);
        }
    }
    rotations
}
