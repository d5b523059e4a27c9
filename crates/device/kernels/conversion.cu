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
    /* Rows of blocks for each polynomial. */
    Word rows_of_poly;
    /* Limbs between one polynomial and the next. */
    Word from_stride, to_stride;
    Word shift;
    Word log_n;
} Conversion;

/* Targets that one row of blocks converts to. */
#define TARGETS 8

/* Two neighbouring positions, which a thread works on. */
typedef struct ALIGNED(8) {
    Word word[2];
} Pair;

KERNEL(convert, Conversion) {
    SHARED(shared);
    const Word poly = BLOCK_ROW / a.rows_of_poly;
    const Word first = BLOCK_ROW % a.rows_of_poly * TARGETS;
    const Word count = a.target_count - first < TARGETS ? a.target_count - first : TARGETS;
    const Pair *const from = (const Pair *)(a.from + ((Wide)(poly * a.from_stride) << LOG_N));
    Pair *const to = (Pair *)(a.to + ((Wide)(poly * a.to_stride) << LOG_N));
    const Word terms = a.source_count + 1;
    /* For each term a weight of every target, then the scaled sources of every thread. */
    Word *const weights = shared;
    Pair *const scaled = (Pair *)(shared + TARGETS * terms);
    EACH_THREAD {
        for (Word i = thread; i < TARGETS * terms; i += THREADS) {
            const Word target = i % TARGETS, term = i / TARGETS;
            weights[i] = target < count ? a.weights[(first + target) * terms + term] : 0;
        }
        /* Each thread leaves its own column of scaled sources, and reads no other. */
        const Word at = BLOCK_COLUMN * THREADS + thread;
        const Wide half = (Wide)1 << (a.shift - 1);
        Wide sums[2] = {half, half};
        for (Word k = 0; k < a.source_count; k++) {
            const Row source = a.sources[k];
            const Pair x = from[((Wide)source.first << LOG_N >> 1) + at];
            Pair y;
            UNROLLED for (Word i = 0; i < 2; i++) {
                y.word[i] = multiply_montgomery(x.word[i], a.factors[k], a.primes[source.prime]);
                sums[i] += (Wide)y.word[i] * a.reciprocals[k];
                y.word[i] -= a.halves[k];
            }
            scaled[k * THREADS + thread] = y;
        }
        const Pair multiple = {{(Word)(sums[0] >> a.shift), (Word)(sums[1] >> a.shift)}};
        scaled[a.source_count * THREADS + thread] = multiple;
    }
    BARRIER;
    EACH_THREAD {
        const Word at = BLOCK_COLUMN * THREADS + thread;
        Pair totals[TARGETS];
        Wide sums[TARGETS][2];
        UNROLLED for (Word target = 0; target < TARGETS; target++) {
            const Pair zeros = {{0, 0}};
            totals[target] = zeros;
            sums[target][0] = sums[target][1] = target < count ? a.offsets[first + target] : 0;
        }
        for (Word start = 0; start < terms; start += LAZY_SIGNED_TERMS) {
            const Word stop = terms - start < LAZY_SIGNED_TERMS ? terms : start + LAZY_SIGNED_TERMS;
            for (Word k = start; k < stop; k++) {
                const Pair y = scaled[k * THREADS + thread];
                UNROLLED for (Word target = 0; target < TARGETS; target++) {
                    const SignedWide weight = (SignedWord)weights[k * TARGETS + target];
                    UNROLLED for (Word i = 0; i < 2; i++) {
                        sums[target][i] += (Wide)((SignedWord)y.word[i] * weight);
                    }
                }
            }
            UNROLLED for (Word target = 0; target < TARGETS; target++) {
                if (target >= count) break;
                const Prime prime = a.primes[a.targets[first + target].prime];
                UNROLLED for (Word i = 0; i < 2; i++) {
                    const Word sum = reduce_signed(sums[target][i], prime);
                    totals[target].word[i] = add_residues(totals[target].word[i], sum, prime.q);
                    sums[target][i] = 0;
                }
            }
        }
        UNROLLED for (Word target = 0; target < TARGETS; target++) {
            if (target >= count) break;
            to[((Wide)a.targets[first + target].to << LOG_N >> 1) + at] = totals[target];
        }
    }
}
