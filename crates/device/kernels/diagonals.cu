/* What linear transforms add to rotations: sums of diagonals times rotations. */
#include "arithmetic.h"

typedef struct {
    Word *to;
    const Word *from;
    const Row *rows;
    Word n;
} Placement;

/* Limbs of one buffer in another; zeros for those that are not there. */
KERNEL(place, Placement) {
    const Row row = a.rows[BLOCK_ROW];
    Quad *const to = (Quad *)(a.to + (Wide)row.to * a.n);
    EACH_THREAD {
        const Word at = BLOCK_COLUMN * THREADS + thread;
        if (at < a.n / 4) {
            const Quad zeros = {{0, 0, 0, 0}};
            to[at] = row.first == ABSENT
                ? zeros
                : ((const Quad *)(a.from + (Wide)row.first * a.n))[at];
        }
    }
}

typedef struct {
    const Prime *primes;
    /* One polynomial each. */
    Word *first;
    Word *second;
    /* One polynomial for each diagonal, in Montgomery form. */
    const Word *diagonals;
    /* Two polynomials for each rotation. */
    const Word *rotations;
    /* For each limb the position of its prime. */
    const Word *positions;
    /* For each diagonal the rotation that it multiplies. */
    const Word *babies;
    Word count, limbs, log_n;
} DiagonalSums;

/* The sums of diagonals times rotations, both polynomials of these. */
KERNEL(sum_diagonals, DiagonalSums) {
    const Prime prime = a.primes[a.positions[BLOCK_ROW]];
    EACH_THREAD {
        const Word at = BLOCK_COLUMN * THREADS + thread;
        if (at < 1u << LOG_N) {
            Word total0 = 0, total1 = 0;
            for (Word start = 0; start < a.count; start += LAZY_TERMS) {
                const Word end = a.count - start < LAZY_TERMS ? a.count : start + LAZY_TERMS;
                Wide sum0 = 0, sum1 = 0;
                for (Word diagonal = start; diagonal < end; diagonal++) {
                    const Wide limb = (Wide)diagonal * a.limbs + BLOCK_ROW;
                    const Wide rotation = 2 * (Wide)a.babies[diagonal] * a.limbs + BLOCK_ROW;
                    const Wide x = a.diagonals[(limb << LOG_N) + at];
                    sum0 += x * a.rotations[(rotation << LOG_N) + at];
                    sum1 += x * a.rotations[((rotation + a.limbs) << LOG_N) + at];
                }
                total0 = add_residues(total0, reduce(sum0, prime), prime.q);
                total1 = add_residues(total1, reduce(sum1, prime), prime.q);
            }
            a.first[((Wide)BLOCK_ROW << LOG_N) + at] = total0;
            a.second[((Wide)BLOCK_ROW << LOG_N) + at] = total1;
        }
    }
}
