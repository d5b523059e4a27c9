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

/// Weight of the sparse secrets of [`max_log_q_sparse`].
pub const SPARSE_WEIGHT: usize = 32;

/// From which ring on, as log2 of its degree, a modulus of so many bits is secure.
const MAX_LOG_Q_SPARSE: [(u32, f64); 2] = [(15, 96.0), (16, 121.0)];

/// The largest modulus, in bits, under which anything may be encrypted for a secret of `weight`
/// coefficients -1 and 1 in a ring of degree 2^`log_n`; `None` outside the table.
///
/// For the second secret of sparse-secret encapsulation, which stands for one key switch at the
/// bottom of the chain: 128 bits against classical attacks, hybrid ones included, by the
/// parameter sets of Bossuat, Troncoso-Pastoriza and Hubaux (eprint 2022/024): weight 32 at
/// N = 2^15 under 96 bits (their set N15QP880H16384H32) and at N = 2^16 under 121 bits
/// (N16QP1767H32768H32). A larger ring is no weaker: whoever breaks it breaks the smaller one by
/// adding coefficients that are zero. Heavier secrets are refused, as the table does not have
/// them, and lighter ones because they are weaker.
///
/// ```
/// assert_eq!(rlwe::security::max_log_q_sparse(16, 32), Some(121.0));
/// assert_eq!(rlwe::security::max_log_q_sparse(16, 16), None);
/// assert_eq!(rlwe::security::max_log_q_sparse(14, 32), None);
/// ```
pub fn max_log_q_sparse(log_n: u32, weight: usize) -> Option<f64> {
    let rows = MAX_LOG_Q_SPARSE.iter().rev();
    let row = rows.copied().find(|&(least, _)| least <= log_n && log_n <= MAX_SECURE_LOG_N)?;
    (weight == SPARSE_WEIGHT).then_some(row.1)
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

    #[test]
    fn sparse_secrets_have_rows_from_the_sets_of_encapsulation() {
        let row = |log_n| max_log_q_sparse(log_n, SPARSE_WEIGHT);
        assert_eq!(
            [14, 15, 16, 17, 18].map(row),
            [None, Some(96.0), Some(121.0), Some(121.0), None]
        );
        assert!([0, 31, 33, 192].iter().all(|&weight| max_log_q_sparse(16, weight).is_none()));
    }
}
