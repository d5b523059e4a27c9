/* Operations on the residues of limbs, each by itself, four at a time. */
#include "arithmetic.h"

typedef struct {
    const Prime *primes;
    Word *to;
    const Word *first;
    const Word *second;
    const Row *rows;
    /* A constant c for each row, in Montgomery form unless said otherwise, where there is one. */
    const Word *constants;
    Word n;
} Pointwise;

/* A kernel that fills z from x and y, its thread's residues of both operands. */
#define POINTWISE(name, result)                                                                    \
    KERNEL(name, Pointwise) {                                                                      \
        const Row row = a.rows[BLOCK_ROW];                                                         \
        const Prime prime = a.primes[row.prime];                                                   \
        const Quad *const first = (const Quad *)(a.first + (Wide)row.first * a.n);                 \
        const Quad *const second = (const Quad *)(a.second + (Wide)row.second * a.n);              \
        Quad *const to = (Quad *)(a.to + (Wide)row.to * a.n);                                      \
        EACH_THREAD {                                                                              \
            const Word at = BLOCK_COLUMN * THREADS + thread;                                       \
            if (at < a.n / 4) {                                                                    \
                const Quad xs = first[at], ys = second[at];                                        \
                Quad zs;                                                                           \
                UNROLLED for (Word i = 0; i < 4; i++) {                                            \
                    const Word x = xs.word[i], y = ys.word[i];                                     \
                    zs.word[i] = result;                                                           \
                }                                                                                  \
                to[at] = zs;                                                                       \
            }                                                                                      \
        }                                                                                          \
    }

/* x + y. */
POINTWISE(add, add_residues(x, y, prime.q))

/* x - y. */
POINTWISE(subtract, subtract_residues(x, y, prime.q))

/* x y. */
POINTWISE(multiply, reduce_barrett((Wide)x * y, prime))

/* x y, y in Montgomery form. */
POINTWISE(multiply_by_montgomery, multiply_montgomery(x, y, prime))

/* x + c y for the constant c of the row. */
POINTWISE(add_scaled,
          add_residues(x, multiply_montgomery(y, a.constants[BLOCK_ROW], prime), prime.q))

/* c y. */
POINTWISE(scale, ((void)x, multiply_montgomery(y, a.constants[BLOCK_ROW], prime)))

/* c y in the first half of a limb and -c y in the second: for c^2 = -1, y times the imaginary unit. */
POINTWISE(scale_by_imaginary,
          ((void)x, at < a.n / 8 ? multiply_montgomery(y, a.constants[BLOCK_ROW], prime)
                                 : subtract_residues(
                                       0, multiply_montgomery(y, a.constants[BLOCK_ROW], prime),
                                       prime.q)))

/* x + c, c as it is. */
POINTWISE(add_constant, ((void)y, add_residues(x, a.constants[BLOCK_ROW], prime.q)))

typedef struct {
    const Prime *primes;
    /* Two polynomials each, of `limbs` limbs. */
    const Word *first;
    const Word *second;
    /* Three polynomials. */
    Word *to;
    /* Which prime each limb has. */
    const Word *positions;
    Word limbs, n;
} Tensor;

/* (x0 + x1 Y)(y0 + y1 Y) as three coefficients of Y. */
KERNEL(tensor, Tensor) {
    const Prime prime = a.primes[a.positions[BLOCK_ROW]];
    const Wide poly = (Wide)a.limbs * a.n, limb = (Wide)BLOCK_ROW * a.n;
    EACH_THREAD {
        const Word at = BLOCK_COLUMN * THREADS + thread;
        if (at < a.n) {
            const Word x0 = a.first[limb + at], x1 = a.first[poly + limb + at];
            const Word y0 = a.second[limb + at], y1 = a.second[poly + limb + at];
            a.to[limb + at] = reduce_barrett((Wide)x0 * y0, prime);
            a.to[poly + limb + at] = reduce_barrett((Wide)x0 * y1 + (Wide)x1 * y0, prime);
            a.to[2 * poly + limb + at] = reduce_barrett((Wide)x1 * y1, prime);
        }
    }
}
