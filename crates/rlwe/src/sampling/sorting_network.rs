/// Sorts `keys`, a power of two of them, in ascending order by comparisons whose
/// places depend on the length alone.
///
/// Bitonic sorting: Batcher, "Sorting networks and their applications", AFIPS
/// 1968, "Bitonic sorters". It makes n log2(n) (log2(n) + 1) / 4 comparisons, each a
/// minimum and a maximum without a branch.
pub(super) fn sort(keys: &mut [u64]) {
    pulp::Arch::new().dispatch(|| sort_here(keys));
}

#[inline(always)]
fn sort_here(keys: &mut [u64]) {
    let mut run = 2;
    while run <= keys.len() {
        let mut stride = run / 2;
        while stride > 0 {
            for (index, bitonic) in keys.chunks_exact_mut(run).enumerate() {
                for pair in bitonic.chunks_exact_mut(2 * stride) {
                    let (left, right) = pair.split_at_mut(stride);
                    if index % 2 == 0 {
                        order(left, right);
                    } else {
                        order(right, left);
                    }
                }
            }
            stride /= 2;
        }
        run *= 2;
    }
}

#[inline(always)]
fn order(low: &mut [u64], high: &mut [u64]) {
    for (low, high) in low.iter_mut().zip(high) {
        (*low, *high) = ((*low).min(*high), (*low).max(*high));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampling::Generator;

    #[test]
    fn every_zero_one_input_is_sorted() {
        // Knuth's 0-1 principle: a network that sorts these sorts everything.
        for log_len in 0..=4 {
            let len = 1 << log_len;
            for pattern in 0..1u64 << len {
                let mut keys: Vec<u64> = (0..len).map(|i| pattern >> i & 1).collect();
                sort(&mut keys);
                assert!(keys.is_sorted(), "{pattern:b} at length {len}");
            }
        }
    }

    #[test]
    fn long_inputs_come_out_as_the_library_sorts_them() {
        let mut keys = vec![0; 1 << 12];
        Generator::deterministic([3; 32]).fill(&mut keys);
        let mut expected = keys.clone();
        expected.sort_unstable();
        sort(&mut keys);
        assert_eq!(keys, expected);
    }
}
