//! Many sums of real multiples of the same ciphertexts, one level down.

use super::ciphertext::Ciphertext;
use super::combination::{Combination, residue};
use super::estimate::Estimate;
use super::evaluator::Evaluator;
use crate::ring::division::Division;
use crate::ring::modulus::Modulus;
use crate::ring::poly::Poly;
use crate::ring::weighted_sums::{Weights, weighted_sums};
use crate::{Error, Result};

const OPERATION: &str = "take weighted sums";

/// The multiples that each sum is made of.
struct Sums<'a> {
    /// By sum, as many for each as there are terms.
    weights: &'a [f64],
    terms: usize,
}

impl<'a> Sums<'a> {
    fn new(terms: usize, weights: &'a [f64], offsets: &[f64]) -> Result<Self> {
        if terms == 0 || offsets.is_empty() || weights.len() != terms * offsets.len() {
            let reason = format!(
                "expected a weight for each of {terms} ciphertexts and {} sums, one or more of \
                 both, got {}",
                offsets.len(),
                weights.len()
            );
            return Err(Error::InvalidArgument { operation: OPERATION, reason });
        }
        if let Some(index) = weights.iter().chain(offsets).position(|x| !x.is_finite()) {
            return Err(Error::NotFinite { operation: OPERATION, index });
        }
        Ok(Self { weights, terms })
    }

    /// Each sum without its offset.
    fn combinations(&self, terms: &[&Estimate]) -> Result<Vec<Combination>> {
        let first = terms[0];
        for term in terms {
            first.check_operand(term, OPERATION)?;
            term.check_degree(1, OPERATION)?;
        }
        let Some(level) = first.level.checked_sub(1) else {
            return Err(Error::LevelExhausted { operation: OPERATION, needed: 1, available: 0 });
        };
        let scale = first.parameters.scale(level)?;
        let of_sum = |weights: &[f64]| {
            let terms: Vec<_> = weights.iter().copied().zip(terms.iter().copied()).collect();
            Combination::new(&terms, level, scale, OPERATION)
        };
        self.weights.chunks_exact(self.terms).map(of_sum).collect()
    }
}

impl Estimate {
    /// What [`Evaluator::weighted_sums`] gives for ciphertexts like these.
    ///
    /// # Errors
    /// Those of [`Evaluator::weighted_sums`] but for keys.
    pub fn weighted_sums(terms: &[&Self], weights: &[f64], offsets: &[f64]) -> Result<Vec<Self>> {
        let sums = Sums::new(terms.len(), weights, offsets)?;
        let combinations = sums.combinations(terms)?.into_iter().zip(offsets);
        combinations.map(|(sum, &offset)| Ok(sum.estimate.add_real(offset, OPERATION)?.1)).collect()
    }
}

impl Evaluator {
    /// For each sum, over all ciphertexts, of real multiples of them and an offset: a ciphertext
    /// one level down, at the canonical scale there.
    ///
    /// All sums together are one product of matrices modulo each prime, and one division each.
    ///
    /// `weights` has those of the first sum first, `offsets` one for each sum.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] unless there are as many weights as sums and ciphertexts ask for;
    /// [`Error::NotFinite`]; [`Error::LevelExhausted`] at level 0; [`Error::ValueOutOfRange`] for a
    /// weight or an offset that overflows; [`Error::BoundOverflow`] where a sum may;
    /// [`Error::LevelMismatch`], [`Error::SlotMismatch`], [`Error::DegreeMismatch`],
    /// [`Error::ScaleOutOfRange`], [`Error::KeyMismatch`], [`Error::ParametersMismatch`].
    ///
    /// ```
    /// use rlwe::ckks::{Encoding, Evaluator, Parameters, ParametersLiteral};
    /// use rlwe::keys::{EvaluationKeys, SecretKey};
    ///
    /// let parameters = Parameters::new(ParametersLiteral { levels: 1, ..Default::default() })?;
    /// let secret = SecretKey::generate(&parameters)?;
    /// let evaluator = Evaluator::new(EvaluationKeys::none(&secret));
    /// let encrypt =
    ///     |x: f64| secret.encrypt(&parameters.encode_real(&[x], Encoding::at(1).within(4.0))?);
    /// let (a, b) = (encrypt(3.0)?, encrypt(-1.0)?);
    ///
    /// let sums = evaluator.weighted_sums(&[&a, &b], &[0.5, 1.0, -2.0, 0.0], &[0.0, 7.0])?;
    /// let read = |sum| secret.decrypt(sum, sum.estimate())?.decode_real();
    /// assert!((read(&sums[0])?[0] - 0.5).abs() < 1e-4);
    /// assert!((read(&sums[1])?[0] - 1.0).abs() < 1e-4);
    /// # Ok::<(), rlwe::Error>(())
    /// ```
    pub fn weighted_sums(
        &self,
        terms: &[&Ciphertext],
        weights: &[f64],
        offsets: &[f64],
    ) -> Result<Vec<Ciphertext>> {
        for term in terms {
            self.check(term, OPERATION)?;
        }
        let sums = Sums::new(terms.len(), weights, offsets)?;
        let estimates: Vec<&Estimate> = terms.iter().map(|term| term.estimate()).collect();
        let combinations = sums.combinations(&estimates)?;
        let polys: Vec<&[Poly]> = terms.iter().map(|term| &*term.polys).collect();
        let ring = self.parameters().ring();
        // Where primes are left out depends on scales and levels, which all sums share.
        let start = &combinations[0].start;
        let weights = Weights {
            sums: offsets.len(),
            terms: terms.len(),
            residue: &|q: Modulus, sum: usize, term: usize| {
                residue(q, combinations[sum].factors[term])
            },
        };
        let made = weighted_sums(ring, start, &weights, &polys);
        let to = self.parameters().level_basis(combinations[0].estimate.level);
        let division = (start != to).then(|| Division::new(ring, start, to));
        let mut results = Vec::with_capacity(made.len());
        for ((polys, combination), &offset) in made.into_iter().zip(&combinations).zip(offsets) {
            let polys: Vec<Poly> = match &division {
                Some(division) => polys.iter().map(|poly| division.apply(ring, poly)).collect(),
                None => polys,
            };
            let mut sum = terms[0].with(combination.estimate.clone(), polys);
            self.add_real(&mut sum, offset, OPERATION)?;
            results.push(sum);
        }
        Ok(results)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ckks::{Encoding, Parameters, ParametersLiteral};
    use crate::core::keys::{EvaluationKeys, SecretKey};

    fn parameters(word_bits: u32) -> Parameters {
        let literal = ParametersLiteral {
            log_n: Some(9),
            levels: 2,
            word_bits,
            insecure: true,
            ..ParametersLiteral::default()
        };
        Parameters::new(literal).unwrap()
    }

    #[test]
    fn sums_are_right_within_their_estimates() {
        for word_bits in [24, 30] {
            let parameters = parameters(word_bits);
            let secret = SecretKey::generate(&parameters).unwrap();
            let evaluator = Evaluator::new(EvaluationKeys::none(&secret));
            let value = |slot: usize, term: usize| ((slot * 7 + term * 31) as f64).sin();
            let (count, sums) = (300, 11);
            let terms: Vec<Ciphertext> = (0..count)
                .map(|term| {
                    let values: Vec<f64> = (0..256).map(|slot| value(slot, term)).collect();
                    let encoding = Encoding::at(2).within(1.0);
                    secret.encrypt(&parameters.encode_real(&values, encoding).unwrap()).unwrap()
                })
                .collect();
            let terms: Vec<&Ciphertext> = terms.iter().collect();
            let weights: Vec<f64> =
                (0..sums * count).map(|index| (index as f64 * 0.37).cos()).collect();
            let offsets: Vec<f64> = (0..sums).map(|sum| sum as f64 - 3.0).collect();
            let found = evaluator.weighted_sums(&terms, &weights, &offsets).unwrap();
            let estimates: Vec<&Estimate> = terms.iter().map(|term| term.estimate()).collect();
            let estimated = Estimate::weighted_sums(&estimates, &weights, &offsets).unwrap();
            for (sum, (found, estimate)) in found.iter().zip(&estimated).enumerate() {
                assert_eq!(found.level(), 1);
                assert_eq!(found.scale(), parameters.scale(1).unwrap());
                assert_eq!(found.precision(), estimate.precision());
                let values = secret.decrypt(found, estimate).unwrap().decode_real().unwrap();
                for (slot, found) in values.iter().enumerate() {
                    let products =
                        (0..count).map(|term| weights[sum * count + term] * value(slot, term));
                    let expected = products.sum::<f64>() + offsets[sum];
                    assert!((found - expected).abs() < (-estimate.precision()).exp2());
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let parameters = parameters(24);
        let secret = SecretKey::generate(&parameters).unwrap();
        let evaluator = Evaluator::new(EvaluationKeys::none(&secret));
        let at = |level: usize| {
            let plaintext = parameters.encode_real(&[1.0], Encoding::at(level).within(1.0));
            secret.encrypt(&plaintext.unwrap()).unwrap()
        };
        let (a, low, bottom) = (at(2), at(1), at(0));
        let sums = |terms: &[&Ciphertext], weights: &[f64], offsets: &[f64]| {
            evaluator.weighted_sums(terms, weights, offsets).unwrap_err()
        };
        assert!(matches!(sums(&[], &[], &[0.0]), Error::InvalidArgument { .. }));
        assert!(matches!(sums(&[&a], &[1.0], &[]), Error::InvalidArgument { .. }));
        assert!(matches!(sums(&[&a], &[1.0, 2.0], &[0.0]), Error::InvalidArgument { .. }));
        assert!(matches!(sums(&[&a], &[f64::NAN], &[0.0]), Error::NotFinite { .. }));
        assert!(matches!(sums(&[&a], &[1.0], &[f64::INFINITY]), Error::NotFinite { .. }));
        assert!(matches!(sums(&[&a, &low], &[1.0; 2], &[0.0]), Error::LevelMismatch { .. }));
        assert!(matches!(sums(&[&bottom], &[1.0], &[0.0]), Error::LevelExhausted { .. }));
        let huge = parameters.log_q(2).unwrap().exp2();
        assert!(matches!(sums(&[&a], &[huge], &[0.0]), Error::ValueOutOfRange { .. }));
        assert!(matches!(sums(&[&a], &[1.0], &[huge]), Error::ValueOutOfRange { .. }));
        let other = SecretKey::generate(&parameters).unwrap();
        let plaintext = parameters.encode_real(&[1.0], Encoding::at(2).within(1.0)).unwrap();
        let foreign = other.encrypt(&plaintext).unwrap();
        assert!(matches!(sums(&[&a, &foreign], &[1.0; 2], &[0.0]), Error::KeyMismatch { .. }));
    }
}
