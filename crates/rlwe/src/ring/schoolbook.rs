//! What tests compare with.

/// The product of two polynomials modulo X^N + 1.
pub(crate) fn negacyclic_product(a: &[f64], b: &[f64]) -> Vec<f64> {
    let n = a.len();
    let mut product = vec![0.0; n];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            let sign = if i + j < n { 1.0 } else { -1.0 };
            product[(i + j) % n] += sign * x * y;
        }
    }
    product
}
