//! Sums of linear transforms of several ciphertexts.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::ciphertext::Ciphertext;
use super::estimate::Estimate;
use super::evaluator::Evaluator;
use super::linear_transform::{APPLY, LinearTransform};
use crate::core::bsgs::Hoisting;
use crate::ring::poly::Poly;
use crate::{Error, Result};

/// A sum of linear transforms: the place of the ciphertext that each transforms, and the transform.
pub type TransformTerms<'a> = [(usize, &'a LinearTransform)];

/// What a sum of transforms is before it is rotated by giant steps.
struct GiantSums {
    estimate: Estimate,
    hoisting: Hoisting,
    by_step: BTreeMap<i64, [Poly; 2]>,
    /// Terms to come.
    left: usize,
}

impl Evaluator {
    /// For each sum the [linear transforms](Self::linear_transform) of ciphertexts, by their
    /// places, added up.
    ///
    /// The same as one by one, by less work: transforms of one ciphertext that have the same baby
    /// steps share the rotations by them, and those of one sum are added up before they are rotated
    /// by giant steps and divided.
    ///
    /// # Errors
    /// As [`Self::linear_transform`] and [`Self::add`]; [`Error::InvalidArgument`] for a sum
    /// without terms or of a ciphertext that is not there.
    pub fn linear_transform_sums(
        &self,
        ciphertexts: &[&Ciphertext],
        sums: &[&TransformTerms<'_>],
    ) -> Result<Vec<Ciphertext>> {
        ciphertexts.iter().try_for_each(|each| self.check(each, APPLY))?;
        let mut begun: Vec<GiantSums> =
            sums.iter().map(|terms| begin(ciphertexts, terms)).collect::<Result<_>>()?;
        let mut made: Vec<Option<Ciphertext>> = sums.iter().map(|_| None).collect();
        for (place, a) in ciphertexts.iter().enumerate() {
            let mut left: Vec<(usize, &LinearTransform)> = (sums.iter().enumerate())
                .flat_map(|(sum, terms)| terms.iter().map(move |&(of, each)| (sum, of, each)))
                .filter_map(|(sum, of, each)| (of == place).then_some((sum, each)))
                .collect();
            while let Some(&(_, first)) = left.first() {
                let (alike, others): (Vec<_>, Vec<_>) =
                    left.into_iter().partition(|(_, each)| each.shares_babies_with(first));
                left = others;
                let babies = match &alike[..] {
                    [_] => None,
                    _ => Some(self.rotated_by_babies(a, first)?),
                };
                for (sum, transform) in alike {
                    let rotated = self.giant_sums(a, transform, babies.as_ref())?;
                    self.add_giant_sums(&mut begun[sum], transform, rotated);
                    if begun[sum].left == 0 {
                        made[sum] = Some(self.finished(a, &mut begun[sum])?);
                    }
                }
            }
        }
        Ok(made.into_iter().flatten().collect())
    }

    /// Adds the giant sums of one more transform.
    fn add_giant_sums(
        &self,
        sum: &mut GiantSums,
        transform: &LinearTransform,
        mut rotated: Vec<[Poly; 2]>,
    ) {
        let (parameters, level) = (self.parameters(), transform.level());
        let by_special = |polys: &mut [Poly; 2]| {
            polys.iter_mut().for_each(|poly| *poly = parameters.multiply_by_special(level, poly));
        };
        // Modulo Q P where any of them is.
        match (sum.hoisting, transform.hoisting()) {
            (Hoisting::Single, Hoisting::Double) => {
                sum.by_step.values_mut().for_each(by_special);
                sum.hoisting = Hoisting::Double;
            }
            (Hoisting::Double, Hoisting::Single) => rotated.iter_mut().for_each(by_special),
            _ => {}
        }
        for (&step, polys) in transform.split().giant_steps.iter().zip(rotated) {
            match sum.by_step.entry(step) {
                Entry::Vacant(entry) => {
                    entry.insert(polys);
                }
                Entry::Occupied(mut entry) => {
                    let pairs = entry.get_mut().iter_mut().zip(&polys);
                    pairs.for_each(|(total, poly)| parameters.ring().add(total, poly));
                }
            }
        }
        sum.left -= 1;
    }

    /// A sum whose terms are all there, rotated by giant steps and divided by P.
    fn finished(&self, a: &Ciphertext, sum: &mut GiantSums) -> Result<Ciphertext> {
        let (steps, sums): (Vec<i64>, Vec<[Poly; 2]>) =
            std::mem::take(&mut sum.by_step).into_iter().unzip();
        let keys = self.keys.steps(&steps, a.level(), APPLY)?;
        let total = self.keys.giant_steps(a.level(), sums, &keys, sum.hoisting);
        Ok(self.divided_by_special(a, sum.estimate.clone(), &total))
    }
}

/// A sum of which no term is there yet.
fn begin(ciphertexts: &[&Ciphertext], terms: &TransformTerms<'_>) -> Result<GiantSums> {
    let mut total: Option<Estimate> = None;
    for &(place, transform) in terms {
        let Some(a) = ciphertexts.get(place) else {
            let reason = format!("ciphertext {place} is not one of {}", ciphertexts.len());
            return Err(Error::InvalidArgument { operation: APPLY, reason });
        };
        let transformed = a.estimate.linear_transform(transform)?;
        total = Some(match total {
            None => transformed,
            Some(sum) => sum.sum(&transformed, APPLY)?,
        });
    }
    let Some(estimate) = total else {
        let reason = "expected one transform or more in each sum, got none".to_string();
        return Err(Error::InvalidArgument { operation: APPLY, reason });
    };
    let hoisting = terms[0].1.hoisting();
    Ok(GiantSums { estimate, hoisting, by_step: BTreeMap::new(), left: terms.len() })
}
