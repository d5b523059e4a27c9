/* Sums of limbs times constants. */
#include "arithmetic.h"

typedef struct {
    const Prime *primes;
    Word *to;
    const Row *rows;
    /* For each term where its limbs are. */
    const Word *const *terms;
    /* For each term a constant for each row, in Montgomery form. */
    const Word *constants;
    Word count, row_count, log_n;
} Combination;

/* The sums of all terms' limbs times their constants. */
KERNEL(combine, Combination) {
    const Row row = a.rows[BLOCK_ROW];
    const Prime prime = a.primes[row.prime];
    Quad *const to = (Quad *)(a.to + ((Wide)row.to << LOG_N));
    EACH_THREAD {
        const Word at = BLOCK_COLUMN * THREADS + thread;
        if (at < 1u << LOG_N >> 2) {
            Quad total = {{0, 0, 0, 0}};
            for (Word start = 0; start < a.count; start += LAZY_TERMS) {
                const Word end = a.count - start < LAZY_TERMS ? a.count : start + LAZY_TERMS;
                Wide sums[4] = {0, 0, 0, 0};
                for (Word term = start; term < end; term++) {
                    const Word constant = a.constants[term * a.row_count + BLOCK_ROW];
                    const Quad x = ((const Quad *)(a.terms[term] + ((Wide)row.second << LOG_N)))[at];
                    UNROLLED for (Word i = 0; i < 4; i++) sums[i] += (Wide)x.word[i] * constant;
                }
                UNROLLED for (Word i = 0; i < 4; i++) {
                    total.word[i] =
                        add_residues(total.word[i], reduce(sums[i], prime), prime.q);
                }
            }
            to[at] = total;
        }
    }
}
