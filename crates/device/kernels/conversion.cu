/* Conversion of residues from one set of primes to another (Halevi, Polyakov, Shoup 2018).
 *
 * With D the product of the sources q_k, D_k = D / q_k and y_k = x D_k^-1 mod q_k, x is congruent to
 * the sum of y_k D_k less v D, v being the sum of y_k / q_k, rounded, which is computed in fixed
 * point. Each y_k is made signed by subtracting floor(q_k / 2).
 */
#include "arithmetic.h"

typedef struct {
    const Prime *primes;
    Word *to;
    const Word *from;
    /* For each source its prime and its limb. */
    const Row *sources;
    /* For each target its prime and its limb. */
    const Row *targets;
    /* For each source its factor in Montgomery form, its half and its reciprocal. */
    const Word *factors;
    const Word *halves;
    const Word *reciprocals;
    /* For each target a weight for each source and one for v, in Montgomery form, centred. */
    const Word *weights;
    /* For each target what its sums start at. */
    const Word *offsets;
    Word source_count, target_count;
    /* Targets that one row of blocks converts to, and rows of blocks for each polynomial. */
    Word targets_of_row, rows_of_poly;
    /* Limbs between one polynomial and the next. */
    Word from_stride, to_stride;
    Word shift;
    Word log_n;
} Conversion;

KERNEL(convert, Conversion) {
    SHARED(shared);
    const Word poly = BLOCK_ROW / a.rows_of_poly;
    const Word first = BLOCK_ROW % a.rows_of_poly * a.targets_of_row;
    const Word rest = a.target_count - first;
    const Word end = first + (rest < a.targets_of_row ? rest : a.targets_of_row);
    const Word *const from = a.from + ((Wide)(poly * a.from_stride) << a.log_n);
    Word *const to = a.to + ((Wide)(poly * a.to_stride) << a.log_n);
    const Word terms = a.source_count + 1;
    /* Each thread leaves its own column of scaled sources, and reads no other. */
    EACH_THREAD {
        const Word at = BLOCK_COLUMN * THREADS + thread;
        Wide sum = (Wide)1 << (a.shift - 1);
        for (Word k = 0; k < a.source_count; k++) {
            const Row source = a.sources[k];
            const Word x = from[((Wide)source.first << a.log_n) + at];
            const Word y = multiply_montgomery(x, a.factors[k], a.primes[source.prime]);
            sum += (Wide)y * a.reciprocals[k];
            shared[k * THREADS + thread] = y - a.halves[k];
        }
        shared[a.source_count * THREADS + thread] = (Word)(sum >> a.shift);
    }
    BARRIER;
    EACH_THREAD {
        const Word at = BLOCK_COLUMN * THREADS + thread;
        for (Word target = first; target < end; target++) {
            const Row row = a.targets[target];
            const Prime prime = a.primes[row.prime];
            const Word *const weights = a.weights + target * terms;
            Word total = 0;
            Wide sum = a.offsets[target];
            for (Word start = 0; start < terms; start += LAZY_SIGNED_TERMS) {
                const Word stop =
                    terms - start < LAZY_SIGNED_TERMS ? terms : start + LAZY_SIGNED_TERMS;
                for (Word k = start; k < stop; k++) {
                    const SignedWord y = (SignedWord)shared[k * THREADS + thread];
                    sum += (Wide)((SignedWide)y * (SignedWord)weights[k]);
                }
                total = add_residues(total, reduce_signed(sum, prime), prime.q);
                sum = 0;
            }
            to[((Wide)row.to << a.log_n) + at] = total;
        }
    }
}
