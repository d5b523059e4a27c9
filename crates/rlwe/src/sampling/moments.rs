//! What samples look like.

/// Mean, standard deviation and kurtosis.
pub(super) fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64, f64) {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let power = |p| values.clone().map(|x| (x - mean).powi(p)).sum::<f64>() / count;
    (mean, power(2).sqrt(), power(4) / power(2).powi(2))
}
