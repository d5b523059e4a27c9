//! How large a modulus a ring may carry at 128-bit security.

/// The least ring degree of the table, as log2.
pub const MIN_SECURE_LOG_N: u32 = 12;
/// The largest ring degree of the table, as log2.
pub const MAX_SECURE_LOG_N: u32 = 17;

const MAX_LOG_QP: [f64; 6] = [106.0, 214.0, 430.0, 868.0, 1746.0, 3521.0];

/// The largest modulus that a ring of degree 2^`log_n` may carry, key-switching
/// primes included, in bits; `None` for a ring outside the table.
///
/// 128 bits against classical attacks, for a uniform ternary secret and a Gaussian
/// error of standard deviation 3.2: "Security Guidelines for Implementing
/// Homomorphic Encryption", eprint 2024/463, the table of largest moduli
/// for ternary secrets, which has 1 bit more at 2^16 and 2 at 2^17, where the lattice estimator
/// has come to find less than 128 bits since (docs/security-estimates.md).
///
/// ```
/// assert_eq!(rlwe::security::max_log_qp(14), Some(430.0));
/// assert_eq!(rlwe::security::max_log_qp(9), None);
/// ```
pub fn max_log_qp(log_n: u32) -> Option<f64> {
    let row = log_n.checked_sub(MIN_SECURE_LOG_N)?;
    MAX_LOG_QP.get(row as usize).copied()
}

/// Sparse secrets: from which ring on, as log2 of its degree, a secret of a weight is secure under
/// a modulus of so many bits.
const SPARSE: [(u32, usize, f64); 2] = [(15, 40, 96.0), (16, 32, 121.0)];

fn sparse_row(log_n: u32) -> Option<(u32, usize, f64)> {
    let mut rows = SPARSE.iter().rev().copied();
    rows.find(|&(least, ..)| least <= log_n && log_n <= MAX_SECURE_LOG_N)
}

/// The weight of the sparse secrets of [`max_log_q_sparse`] in a ring of degree 2^`log_n`; `None`
/// outside the table.
///
/// ```
/// assert_eq!([14, 15, 16].map(rlwe::security::sparse_weight), [None, Some(40), Some(32)]);
/// ```
pub fn sparse_weight(log_n: u32) -> Option<usize> {
    sparse_row(log_n).map(|(_, weight, _)| weight)
}

/// The largest modulus, in bits, under which anything may be encrypted for a secret of `weight`
/// coefficients -1 and 1 in a ring of degree 2^`log_n`; `None` outside the table.
///
/// For the second secret of sparse-secret encapsulation, which stands for one key switch at the
/// bottom of the chain: 128 bits against classical attacks, hybrid ones included, by the
/// parameter sets of Bossuat, Troncoso-Pastoriza and Hubaux (eprint 2022/024): weight 32 at
/// N = 2^15 under 96 bits (their set N15QP880H16384H32) and at N = 2^16 under 121 bits
/// (N16QP1767H32768H32). At N = 2^15 weight 40 leaves a margin as well to Meet-LWE (May, CRYPTO
/// 2021), which they do not count. A larger ring is no weaker: whoever breaks it breaks the smaller
/// one by adding coefficients that are zero. Heavier secrets are refused, as the table does not
/// have them, and lighter ones because they are weaker.
///
/// ```
/// assert_eq!(rlwe::security::max_log_q_sparse(16, 32), Some(121.0));
/// assert_eq!(rlwe::security::max_log_q_sparse(15, 32), None);
/// assert_eq!(rlwe::security::max_log_q_sparse(14, 40), None);
/// ```
pub fn max_log_q_sparse(log_n: u32, weight: usize) -> Option<f64> {
    let (_, own, bits) = sparse_row(log_n)?;
    (weight == own).then_some(bits)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn the_table_has_its_six_rows() {
        let rows: Vec<_> = (0..40).filter_map(|n| max_log_qp(n).map(|bits| (n, bits))).collect();
        assert_eq!(rows.first(), Some(&(MIN_SECURE_LOG_N, 106.0)));
        assert_eq!(rows.last(), Some(&(MAX_SECURE_LOG_N, 3521.0)));
        assert_eq!(rows.len(), 6);
    }

    #[test]
    fn sparse_secrets_have_rows_from_the_sets_of_encapsulation() {
        let row = |log_n| max_log_q_sparse(log_n, sparse_weight(log_n).unwrap_or(32));
        assert_eq!(
            [14, 15, 16, 17, 18].map(row),
            [None, Some(96.0), Some(121.0), Some(121.0), None]
        );
        assert_eq!([15, 16, 17].map(sparse_weight), [Some(40), Some(32), Some(32)]);
        assert!([0, 31, 33, 192].iter().all(|&weight| max_log_q_sparse(16, weight).is_none()));
        assert!([32, 39, 41].iter().all(|&weight| max_log_q_sparse(15, weight).is_none()));
    }

    /// The rows of docs/security-estimates.md, by their names: the columns.
    fn estimated() -> HashMap<String, Vec<String>> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/security-estimates.md");
        let file = std::fs::read_to_string(path).unwrap();
        let rows = file.lines().filter(|line| line.starts_with("| "));
        let cells = rows.map(|row| row.split('|').map(|cell| cell.trim().to_owned()).collect());
        cells.map(|cells: Vec<String>| (cells[1].clone(), cells)).collect()
    }

    #[test]
    fn every_ring_is_estimated_at_128_bits() {
        let rows = estimated();
        for (row, bits) in MAX_LOG_QP.iter().enumerate() {
            let log_n = MIN_SECURE_LOG_N as usize + row;
            let cells = &rows[&format!("ring 2^{log_n}")];
            assert_eq!([&cells[2], &cells[5]], ["ternary", "3.2"]);
            assert_eq!(cells[3].parse(), Ok(1u32 << log_n));
            assert!(*bits <= cells[4].parse().unwrap(), "{cells:?}");
            assert!(cells[6].parse::<f64>().unwrap() >= 128.0, "{cells:?}");
        }
    }

    #[test]
    fn every_sparse_secret_is_estimated_at_130_bits() {
        let rows = estimated();
        for (log_n, weight, bits) in SPARSE {
            let cells = &rows[&format!("encapsulation 2^{log_n}")];
            assert_eq!(cells[2], format!("sparse, weight {weight}"));
            assert_eq!(cells[5], "3.2");
            assert_eq!(cells[3].parse(), Ok(1u32 << log_n));
            assert!(bits <= cells[4].parse().unwrap(), "{cells:?}");
            assert!(cells[6].parse::<f64>().unwrap() >= 130.0, "{cells:?}");
            assert!(cells[7].contains("Meet-LWE"), "{cells:?}");
        }
    }
}
