//! Many sums of real multiples of the same ciphertexts.

use rlwe::ckks::Estimate;

use crate::Result;
use crate::ciphertext::Ciphertext;
use crate::evaluator::Evaluator;

const OPERATION: &str = "take weighted sums";

impl Evaluator {
    /// For each sum, over all ciphertexts, of real multiples of them and an offset: a ciphertext
    /// one level down, at the canonical scale there.
    ///
    /// `weights` has those of the first sum first, `offsets` one for each sum.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn weighted_sums(
        &self,
        terms: &[&Ciphertext],
        weights: &[f64],
        offsets: &[f64],
    ) -> Result<Vec<Ciphertext>> {
        for term in terms {
            self.check(term, OPERATION)?;
        }
        let estimates: Vec<&Estimate> = terms.iter().map(|term| &term.estimate).collect();
        let made = Estimate::weighted_sums(&estimates, weights, offsets)?;
        let sums = weights.chunks_exact(terms.len()).zip(offsets).zip(&made);
        let sum = |((weights, &offset), made): ((&[f64], &f64), &Estimate)| {
            let terms: Vec<_> = weights.iter().copied().zip(terms.iter().copied()).collect();
            let sum = self.linear_combination(&terms, made.level(), made.scale(), OPERATION)?;
            self.with_real(&sum, offset, OPERATION)
        };
        sums.map(sum).collect()
    }
}
