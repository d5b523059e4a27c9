//! Sums of products of ciphertexts and plaintexts, which are encoded one after another on the way.

use rayon::prelude::*;

use super::ciphertext::Ciphertext;
use super::encoding::Encoding;
use super::estimate::Estimate;
use super::evaluator::Evaluator;
use super::rounding::IntegerCoefficients;
use crate::ring::kernels;
use crate::{Error, Result};

const OPERATION: &str = "add up products with plaintexts";

impl Evaluator {
    /// The sum of ciphertexts of degree 1, each times the plaintext with its coefficients, all of
    /// one encoding; see [`super::Parameters::coefficients`].
    ///
    /// No more than one limb of a plaintext is in memory, for each thread.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] without a term; those of [`Self::multiply_plain`], [`Self::add`]
    /// and [`super::Parameters::encode_coefficients`].
    pub fn sum_of_encoded_products(
        &self,
        terms: &[(&Ciphertext, IntegerCoefficients<'_>)],
        encoding: Encoding,
    ) -> Result<Ciphertext> {
        let [(first, _), ..] = terms else {
            let reason = "expected one product or more, got none".into();
            return Err(Error::InvalidArgument { operation: OPERATION, reason });
        };
        let estimate = self.estimate_of_terms(terms, encoding)?;
        let ring = self.parameters().ring();
        let basis = self.parameters().level_basis(estimate.level);
        let mut sums = [ring.unwritten(basis), ring.unwritten(basis)];
        let [low, high] = &mut sums;
        let limbs = low.par_limbs_mut().zip(high.par_limbs_mut());
        limbs.shared().for_each(|((position, low), (_, high))| {
            let prime = &ring.primes[position];
            let (mut factor, mut product) = (vec![0; low.len()], vec![0; low.len()]);
            low.fill(0);
            high.fill(0);
            for (a, coefficients) in terms {
                coefficients.montgomery_residues(prime.modulus.q, &mut factor);
                prime.forward(&mut factor);
                for (sum, poly) in [&mut *low, &mut *high].into_iter().zip(&*a.polys) {
                    product.copy_from_slice(poly.limb(position));
                    kernels::mul_montgomery(prime.modulus, &mut product, &factor);
                    kernels::add(prime.modulus, sum, &product);
                }
            }
        });
        Ok(first.with(estimate, sums))
    }

    fn estimate_of_terms(
        &self,
        terms: &[(&Ciphertext, IntegerCoefficients<'_>)],
        encoding: Encoding,
    ) -> Result<Estimate> {
        let parameters = terms[0].0.parameters();
        let plaintext = parameters.estimate(parameters.slots(), encoding)?;
        let products = terms.iter().map(|(a, coefficients)| {
            self.check(a, OPERATION)?;
            a.estimate.check_degree(1, OPERATION)?;
            parameters.check_coefficients(*coefficients, &plaintext)?;
            a.estimate.multiply_plain(&plaintext)
        });
        let mut sum: Option<Estimate> = None;
        for product in products {
            let product = product?;
            sum = Some(match sum {
                Some(sum) => sum.add(&product)?,
                None => product,
            });
        }
        Ok(sum.expect("a term"))
    }
}
