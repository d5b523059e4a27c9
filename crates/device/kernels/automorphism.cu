/* Automorphisms X -> X^g of values. */
#include "arithmetic.h"

/* Where the value at a position goes under X -> X^g, for the inverse of g modulo 2^(log_n + 1):
 * position i holds the value at psi^(2 rev(i) + 1). Neighbours within an aligned block of a power of
 * two go to one such block, so that threads side by side write side by side. */
FUNCTION Word image_of(Word position, Word inverse, Word log_n) {
    const Word exponent = 2 * (reversed_bits(position) >> (32 - log_n)) + 1;
    const Word image = exponent * inverse & ((2u << log_n) - 1);
    return reversed_bits(image >> 1) >> (32 - log_n);
}

typedef struct {
    Word *to;
    const Word *from;
    const Row *rows;
    Word inverse, log_n;
} Permutation;

/* The images of limbs under an automorphism. */
KERNEL(permute, Permutation) {
    const Row row = a.rows[BLOCK_ROW];
    const Word *const from = a.from + ((Wide)row.first << LOG_N);
    Word *const to = a.to + ((Wide)row.to << LOG_N);
    EACH_THREAD {
        const Word at = BLOCK_COLUMN * THREADS + thread;
        if (at < 1u << LOG_N) to[image_of(at, a.inverse, LOG_N)] = from[at];
    }
}
