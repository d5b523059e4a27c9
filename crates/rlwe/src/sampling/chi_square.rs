//! The goodness-of-fit statistic that the sampler tests share.

/// How many standard deviations Pearson's statistic lies above its expectation.
pub(super) fn excess(observed: &[usize], probabilities: &[f64]) -> f64 {
    let total = observed.iter().sum::<usize>() as f64;
    let statistic: f64 = observed
        .iter()
        .zip(probabilities)
        .map(|(&count, probability)| {
            let expected = total * probability;
            (count as f64 - expected).powi(2) / expected
        })
        .sum();
    let freedom = (observed.len() - 1) as f64;
    (statistic - freedom) / (2.0 * freedom).sqrt()
}
