//! How large a modulus a ring may carry at 128-bit security.

/// The least ring degree of the table, as log2.
pub const MIN_SECURE_LOG_N: u32 = 12;
/// The largest ring degree of the table, as log2.
pub const MAX_SECURE_LOG_N: u32 = 17;

const MAX_LOG_QP: [f64; 6] = [106.0, 214.0, 430.0, 868.0, 1747.0, 3523.0];

/// The largest modulus that a ring of degree 2^`log_n` may carry, key-switching
/// primes included, in bits; `None` for a ring outside the table.
///
/// 128 bits against classical attacks, for a uniform ternary secret and a Gaussian
/// error of standard deviation 3.2: "Security Guidelines for Implementing
/// Homomorphic Encryption", eprint 2024/463, the table of largest moduli
/// for ternary secrets.
///
/// ```
/// assert_eq!(rlwe::security::max_log_qp(14), Some(430.0));
/// assert_eq!(rlwe::security::max_log_qp(9), None);
/// ```
pub fn max_log_qp(log_n: u32) -> Option<f64> {
    let row = log_n.checked_sub(MIN_SECURE_LOG_N)?;
    MAX_LOG_QP.get(row as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_its_six_rows() {
        let rows: Vec<_> = (0..40).filter_map(|n| max_log_qp(n).map(|bits| (n, bits))).collect();
        assert_eq!(rows.first(), Some(&(MIN_SECURE_LOG_N, 106.0)));
        assert_eq!(rows.last(), Some(&(MAX_SECURE_LOG_N, 3523.0)));
        assert_eq!(rows.len(), 6);
    }
}
