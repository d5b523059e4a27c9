/* Residues modulo primes below 2^30; results are below the prime unless said otherwise. */
#ifndef CLOAKWORK_ARITHMETIC_H
#define CLOAKWORK_ARITHMETIC_H

#include "device.h"

/* Products of residues that may be summed before one reduction: twelve stay below 3 q 2^32. */
#define LAZY_TERMS 12
/* The same of signed products: a factor below 2^29 times one below q / 2, sixteen times, stays below
 * q 2^32. */
#define LAZY_SIGNED_TERMS 16

/* A prime with the constants of its reductions. */
typedef struct ALIGNED(16) {
    Word q;
    /* q^-1 mod 2^32 (Montgomery 1985). */
    Word q_inverse;
    /* floor(2^(2 bits) / q) (Barrett 1986). */
    Word barrett;
    Word bits;
} Prime;

/* A root of unity w beside floor(2^32 w / q), by which products with it are reduced (Shoup). */
typedef struct ALIGNED(8) {
    Word w, quotient;
} Twiddle;

/* Brings x below 2 bound below the bound. */
FUNCTION Word fold(Word x, Word bound) {
    const Word less = x - bound;
    return x < less ? x : less;
}

/* Brings x below 4 q below q. */
FUNCTION Word fold_twice(Word x, Word q) { return fold(fold(x, 2 * q), q); }

FUNCTION Word add_residues(Word x, Word y, Word q) { return fold(x + y, q); }

FUNCTION Word subtract_residues(Word x, Word y, Word q) {
    const Word difference = x - y, raised = difference + q;
    return difference < raised ? difference : raised;
}

/* sum / 2^32, for a sum below 3 q 2^32. */
FUNCTION Word reduce(Wide sum, Prime prime) {
    const Word quotient = (Word)sum * prime.q_inverse;
    return fold_twice((Word)(sum >> 32) - high_product(quotient, prime.q) + prime.q, prime.q);
}

/* sum / 2^32, for a sum between -q 2^32 and q 2^32 as the bits of a signed number. */
FUNCTION Word reduce_signed(Wide sum, Prime prime) {
    const Word quotient = (Word)sum * prime.q_inverse;
    return fold_twice((Word)(sum >> 32) - high_product(quotient, prime.q) + 2 * prime.q, prime.q);
}

/* x y / 2^32: the product with a y in Montgomery form. */
FUNCTION Word multiply_montgomery(Word x, Word y, Prime prime) { return reduce((Wide)x * y, prime); }

/* sum mod q, for a sum of at most two products of residues. */
FUNCTION Word reduce_barrett(Wide sum, Prime prime) {
    const Word top = (Word)(sum >> (prime.bits - 1));
    const Word quotient = (Word)((Wide)top * prime.barrett >> (prime.bits + 1));
    return fold_twice((Word)sum - quotient * prime.q, prime.q);
}

/* x w, below 2 q, for any x. */
FUNCTION Word multiply_lazily(Word x, Twiddle twiddle, Word q) {
    return x * twiddle.w - high_product(x, twiddle.quotient) * q;
}

#endif
