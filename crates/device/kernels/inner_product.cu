/* Inner products of a decomposition's digits with a switching key. */
#include "arithmetic.h"
#include "automorphism.cu"

/* Marks a limb of the polynomial that was decomposed, which is a digit modulo its own primes. */
#define OF_WHOLE 0x80000000u

typedef struct {
    const Prime *primes;
    /* Limbs of two polynomials. */
    Word *to;
    const Word *whole;
    const Word *extensions;
    const Word *key;
    const Word *addend;
    /* For each limb of the result its prime, where it stands in the key's halves, and in `addend`. */
    const Row *rows;
    /* For each limb, for each digit: a limb of `extensions`, or of `whole`, which is marked. */
    const Word *digits;
    /* For each digit, its place among those of the key. */
    const Word *places;
    Word limbs, count;
    /* Limbs of one half of the key. */
    Word key_limbs;
    /* The inverse of the Galois element that is applied to the sums. */
    Word inverse;
    Word log_n;
} InnerProduct;

/* The sums of digits times both halves of the key, `addend` added to the first, an automorphism
 * applied to both. */
KERNEL(inner_product, InnerProduct) {
    const Row row = a.rows[BLOCK_ROW];
    const Prime prime = a.primes[row.prime];
    const Word *const digits = a.digits + BLOCK_ROW * a.count;
    EACH_THREAD {
        const Word at = BLOCK_COLUMN * THREADS + thread;
        if (at < 1u << LOG_N) {
            Word total0 = row.second == ABSENT ? 0 : a.addend[((Wide)row.second << LOG_N) + at];
            Word total1 = 0;
            for (Word start = 0; start < a.count; start += LAZY_TERMS) {
                const Word end = a.count - start < LAZY_TERMS ? a.count : start + LAZY_TERMS;
                Wide sum0 = 0, sum1 = 0;
                for (Word digit = start; digit < end; digit++) {
                    const Word limb = digits[digit];
                    const Word *const from = limb & OF_WHOLE ? a.whole : a.extensions;
                    const Wide x = from[((Wide)(limb & ~OF_WHOLE) << LOG_N) + at];
                    const Wide half = 2 * (Wide)a.places[digit] * a.key_limbs + row.first;
                    sum0 += x * a.key[(half << LOG_N) + at];
                    sum1 += x * a.key[((half + a.key_limbs) << LOG_N) + at];
                }
                total0 = add_residues(total0, reduce(sum0, prime), prime.q);
                total1 = add_residues(total1, reduce(sum1, prime), prime.q);
            }
            const Word image = image_of(at, a.inverse, LOG_N);
            a.to[((Wide)row.to << LOG_N) + image] = total0;
            a.to[((Wide)(row.to + a.limbs) << LOG_N) + image] = total1;
        }
    }
}
