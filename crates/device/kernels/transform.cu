/* Number-theoretic transforms of limbs, coefficients to values and back.
 *
 * Position i of a transform holds the value at psi^(2 rev(i) + 1), rev being bit reversal, and
 * twiddle i is psi^rev(i). A polynomial of 2^log_n coefficients is a matrix of 2^log_rows rows, one
 * after the other in memory. The first log_rows stages of the transform go down the columns, the
 * others along the rows: two kernels, each of which reads a limb once and writes it once.
 *
 * A block takes a tile of the matrix, 2^log_tile residues, as passes of up to four stages that each
 * thread does in registers, and exchanges them in shared memory between the passes.
 */
#include "arithmetic.h"

#define MOST_STAGES 4
#define MOST_RADIX (1 << MOST_STAGES)

typedef struct {
    const Prime *primes;
    const Twiddle *twiddles;
    Word *to;
    const Word *from;
    const Row *rows;
    Word log_n;
} Transform;

/* log2 of the rows of the matrix, and of the residues of a block's tile: LOG_TILE of
 * `src/launch/transform.rs`. */
#define LOG_ROWS (LOG_N / 2)
#define LOG_TILE (LOG_N < 12 ? LOG_N : 12)
/* Threads of a block: THREADS of `src/launch/engine.rs`. */
#define TRANSFORM_THREADS 256

/* A block's tile: `count` transforms side by side of 2^log_length residues each. */
typedef struct {
    Word log_length, log_count;
    /* log2 of the distance between neighbours of one transform, within the tile. */
    Word log_step;
    /* Stages of the whole transform that lie before those of the tile. */
    Word first_stage;
    /* The row of the matrix that the tile begins with, where it is made of rows. */
    Word first_row;
    /* Where the tile lies in the limb: 2^log_width neighbours at a time, and how far apart. */
    Word offset, log_width, log_distance;
} Tile;

/* Rows of the matrix; a tile of them is one piece of the limb. */
FUNCTION Tile tile_of_rows(const Transform a, Word number) {
    Tile tile;
    tile.log_length = LOG_N - LOG_ROWS;
    tile.log_count = LOG_TILE - tile.log_length;
    tile.log_step = 0;
    tile.first_stage = LOG_ROWS;
    tile.first_row = number << tile.log_count;
    tile.offset = number << LOG_TILE;
    tile.log_width = LOG_TILE;
    tile.log_distance = 0;
    return tile;
}

/* Columns of the matrix, a few neighbours. */
FUNCTION Tile tile_of_columns(const Transform a, Word number) {
    Tile tile;
    tile.log_length = LOG_ROWS;
    tile.log_count = LOG_TILE - LOG_ROWS;
    tile.log_step = tile.log_count;
    tile.first_stage = 0;
    tile.first_row = 0;
    tile.offset = number << tile.log_count;
    tile.log_width = tile.log_count;
    tile.log_distance = LOG_N - LOG_ROWS;
    return tile;
}

/* How far from the tile's beginning in the limb a place of it lies. Of places that have no bit in
 * common the distances add up; so they do in shared memory. */
FUNCTION Word in_limb(Tile tile, Word place) {
    const Word mask = (1u << tile.log_width) - 1;
    return (place >> tile.log_width << tile.log_distance) + (place & mask);
}

/* Where a place of the tile lies in shared memory: neighbours at 16 places fall to all its banks. */
FUNCTION Word in_shared(Word place) { return place + (place >> 4); }

/* The passes that a tile's stages take, and the stages of the first of some passes that are left. */
FUNCTION Word passes_of(Word stages) { return (stages + MOST_STAGES - 1) / MOST_STAGES; }
FUNCTION Word stages_of(Word stages, Word passes) { return (stages + passes - 1) / passes; }

/* What one thread transforms in a pass: the place of the first residue and log2 of the distance to
 * the next, in whose bits the first place has none; the transform's block of residues that they belong
 * to, among all of their stage. */
typedef struct {
    Word place, log_distance, block;
} Group;

/* Group `number` of the pass that does `stages` stages after the first `done` ones of the tile. */
FUNCTION Group group_of(Tile tile, Word number, Word done, Word stages) {
    const Word log_groups = tile.log_length - stages;
    const Word log_inner = log_groups - done;
    Word transform, member;
    if (tile.log_step == 0) {
        transform = number >> log_groups;
        member = number & ((1u << log_groups) - 1);
    } else {
        transform = number & ((1u << tile.log_count) - 1);
        member = number >> tile.log_count;
    }
    const Word inner = member & ((1u << log_inner) - 1), outer = member >> log_inner;
    const Word residue = (outer << (log_inner + stages)) + inner;
    Group group;
    if (tile.log_step == 0) {
        group.place = (transform << tile.log_length) + residue;
        group.block = ((tile.first_row + transform) << done) + outer;
    } else {
        group.place = (residue << tile.log_step) + transform;
        group.block = outer;
    }
    group.log_distance = log_inner + tile.log_step;
    return group;
}

/* Two roots of unity, which a GPU reads at once. */
typedef struct ALIGNED(16) {
    Twiddle twiddle[2];
} TwiddlePair;

/* `count` roots of unity, a power of two, from a multiple of as many on. */
FUNCTION void read_twiddles(Twiddle *to, const Twiddle *from, const Word count) {
    if (count == 1) to[0] = from[0];
    UNROLLED for (Word i = 0; i < MOST_RADIX / 4; i++) {
        if (2 * i + 1 >= count) break;
        const TwiddlePair pair = ((const TwiddlePair *)from)[i];
        to[2 * i] = pair.twiddle[0];
        to[2 * i + 1] = pair.twiddle[1];
    }
}

/* Butterflies of Cooley and Tukey (1965) in the lazy form of Harvey (2014): residues stay below
 * 4 q. */
FUNCTION void forward_stages(Word *x, const Twiddle *twiddles, Word stage, Word block, Word q,
                             const Word stages) {
    UNROLLED for (Word done = 0; done < MOST_STAGES; done++) {
        if (done >= stages) break;
        const Word half = 1u << (stages - 1 - done);
        Twiddle row[MOST_RADIX / 2];
        read_twiddles(row, twiddles + (1u << (stage + done)) + (block << done), 1u << done);
        UNROLLED for (Word outer = 0; outer < MOST_RADIX / 2; outer++) {
            if (outer >= 1u << done) break;
            const Twiddle twiddle = row[outer];
            UNROLLED for (Word inner = 0; inner < MOST_RADIX / 2; inner++) {
                if (inner >= half) break;
                const Word at = 2 * half * outer + inner;
                const Word left = fold(x[at], 2 * q);
                const Word right = multiply_lazily(x[at + half], twiddle, q);
                x[at] = left + right;
                x[at + half] = left - right + 2 * q;
            }
        }
    }
}

/* Butterflies of Gentleman and Sande (1966), last stage first: residues stay below 2 q. The inverse
 * of twiddle m + i is the negative of twiddle 2 m - 1 - i, m being a power of two above i. */
FUNCTION void inverse_stages(Word *x, const Twiddle *twiddles, Word stage, Word block, Word q,
                             const Word stages) {
    UNROLLED for (Word left_over = MOST_STAGES; left_over > 0; left_over--) {
        if (left_over > stages) continue;
        const Word done = left_over - 1;
        const Word half = 1u << (stages - 1 - done);
        Twiddle row[MOST_RADIX / 2];
        read_twiddles(row, twiddles + (2u << (stage + done)) - ((block + 1) << done), 1u << done);
        UNROLLED for (Word outer = 0; outer < MOST_RADIX / 2; outer++) {
            if (outer >= 1u << done) break;
            const Twiddle twiddle = row[(1u << done) - 1 - outer];
            UNROLLED for (Word inner = 0; inner < MOST_RADIX / 2; inner++) {
                if (inner >= half) break;
                const Word at = 2 * half * outer + inner;
                const Word left = x[at], right = x[at + half];
                x[at] = fold(left + right, 2 * q);
                x[at + half] = multiply_lazily(right - left + 2 * q, twiddle, q);
            }
        }
    }
}

/* The residues of a group, from a limb or from shared memory. */
FUNCTION void read_group(Word *x, Tile tile, Group group, const Word *from, const Word of_limb,
                         const Word *shared, const Word stages) {
    const Word *const first = from + tile.offset + in_limb(tile, group.place);
    const Word *const first_shared = shared + in_shared(group.place);
    UNROLLED for (Word i = 0; i < MOST_RADIX; i++) {
        if (i >= 1u << stages) break;
        const Word place = i << group.log_distance;
        x[i] = of_limb ? first[in_limb(tile, place)] : first_shared[in_shared(place)];
    }
}

/* The residues of a group, to a limb or to shared memory. */
FUNCTION void write_group(const Word *x, Tile tile, Group group, Word *to, const Word of_limb,
                          Word *shared, const Word stages) {
    Word *const first = to + tile.offset + in_limb(tile, group.place);
    Word *const first_shared = shared + in_shared(group.place);
    UNROLLED for (Word i = 0; i < MOST_RADIX; i++) {
        if (i >= 1u << stages) break;
        const Word place = i << group.log_distance;
        if (of_limb) {
            first[in_limb(tile, place)] = x[i];
        } else {
            first_shared[in_shared(place)] = x[i];
        }
    }
}

/* One pass of a thread's groups. The residues come from a limb or from shared memory, and go to one
 * or the other. */
FUNCTION void forward_pass(Tile tile, const Twiddle *twiddles, Word q, const Word *from,
                           const Word from_limb, Word *to, const Word to_limb, Word *shared,
                           Word done, const Word stages, Word thread) {
    Word x[MOST_RADIX];
    const Word groups = 1u << (tile.log_count + tile.log_length - stages);
    for (Word number = thread; number < groups; number += TRANSFORM_THREADS) {
        const Group group = group_of(tile, number, done, stages);
        read_group(x, tile, group, from, from_limb, shared, stages);
        forward_stages(x, twiddles, tile.first_stage + done, group.block, q, stages);
        write_group(x, tile, group, to, to_limb, shared, stages);
    }
}

FUNCTION void inverse_pass(Tile tile, const Twiddle *twiddles, Word q, const Word *from,
                           const Word from_limb, Word *to, const Word to_limb, Word *shared,
                           Word done, const Word stages, Word thread) {
    Word x[MOST_RADIX];
    const Word groups = 1u << (tile.log_count + tile.log_length - stages);
    for (Word number = thread; number < groups; number += TRANSFORM_THREADS) {
        const Group group = group_of(tile, number, done, stages);
        read_group(x, tile, group, from, from_limb, shared, stages);
        inverse_stages(x, twiddles, tile.first_stage + done, group.block, q, stages);
        if (tile.first_stage + done == 0) {
            /* The last stage of all is followed by nothing that would reduce. */
            UNROLLED for (Word i = 0; i < MOST_RADIX; i++) {
                if (i < 1u << stages) x[i] = fold(x[i], q);
            }
        }
        write_group(x, tile, group, to, to_limb, shared, stages);
    }
}

/* Registers hold what a pass works on as long as the number of its stages is a constant. */
#define WITH_STAGES(pass, stages, ...)                                                             \
    switch (stages) {                                                                              \
    case 1: pass(__VA_ARGS__, 1, thread); break;                                                   \
    case 2: pass(__VA_ARGS__, 2, thread); break;                                                   \
    case 3: pass(__VA_ARGS__, 3, thread); break;                                                   \
    default: pass(__VA_ARGS__, 4, thread); break;                                                  \
    }

KERNEL(forward_columns, Transform) {
    SHARED(shared);
    const Row row = a.rows[BLOCK_ROW];
    const Tile tile = tile_of_columns(a, BLOCK_COLUMN);
    const Twiddle *const twiddles = a.twiddles + ((Wide)row.prime << LOG_N);
    const Word q = a.primes[row.prime].q;
    const Word *const from = a.from + ((Wide)row.first << LOG_N);
    Word *const to = a.to + ((Wide)row.to << LOG_N);
    const Word passes = passes_of(tile.log_length);
    Word done = 0;
    UNROLLED for (Word left = passes; left > 0; left--) {
        const Word stages = stages_of(tile.log_length - done, left);
        EACH_THREAD {
            WITH_STAGES(forward_pass, stages, tile, twiddles, q, from, left == passes, to,
                        left == 1, shared, done)
        }
        BARRIER;
        done += stages;
    }
}

KERNEL(forward_rows, Transform) {
    SHARED(shared);
    const Row row = a.rows[BLOCK_ROW];
    const Tile tile = tile_of_rows(a, BLOCK_COLUMN);
    const Twiddle *const twiddles = a.twiddles + ((Wide)row.prime << LOG_N);
    const Word q = a.primes[row.prime].q;
    Word *const to = a.to + ((Wide)row.to << LOG_N);
    const Word passes = passes_of(tile.log_length);
    Word done = 0;
    UNROLLED for (Word left = passes; left > 0; left--) {
        const Word stages = stages_of(tile.log_length - done, left);
        EACH_THREAD {
            WITH_STAGES(forward_pass, stages, tile, twiddles, q, to, left == passes, to, 0, shared,
                        done)
        }
        BARRIER;
        done += stages;
    }
    /* Neighbouring threads hold residues that lie far apart now: they go out in order. */
    EACH_THREAD {
        for (Word place = thread; place < 1u << LOG_TILE; place += TRANSFORM_THREADS) {
            to[tile.offset + place] = fold_twice(shared[in_shared(place)], q);
        }
    }
}

KERNEL(inverse_rows, Transform) {
    SHARED(shared);
    const Row row = a.rows[BLOCK_ROW];
    const Tile tile = tile_of_rows(a, BLOCK_COLUMN);
    const Twiddle *const twiddles = a.twiddles + ((Wide)row.prime << LOG_N);
    const Word q = a.primes[row.prime].q;
    const Word *const from = a.from + ((Wide)row.first << LOG_N);
    Word *const to = a.to + ((Wide)row.to << LOG_N);
    EACH_THREAD {
        for (Word place = thread; place < 1u << LOG_TILE; place += TRANSFORM_THREADS) {
            shared[in_shared(place)] = from[tile.offset + place];
        }
    }
    BARRIER;
    Word before = tile.log_length;
    UNROLLED for (Word left = passes_of(tile.log_length); left > 0; left--) {
        const Word stages = stages_of(before, left);
        before -= stages;
        EACH_THREAD {
            WITH_STAGES(inverse_pass, stages, tile, twiddles, q, to, 0, to, left == 1, shared,
                        before)
        }
        BARRIER;
    }
}

KERNEL(inverse_columns, Transform) {
    SHARED(shared);
    const Row row = a.rows[BLOCK_ROW];
    const Tile tile = tile_of_columns(a, BLOCK_COLUMN);
    const Twiddle *const twiddles = a.twiddles + ((Wide)row.prime << LOG_N);
    const Word q = a.primes[row.prime].q;
    Word *const to = a.to + ((Wide)row.to << LOG_N);
    const Word passes = passes_of(tile.log_length);
    Word before = tile.log_length;
    UNROLLED for (Word left = passes; left > 0; left--) {
        const Word stages = stages_of(before, left);
        before -= stages;
        EACH_THREAD {
            WITH_STAGES(inverse_pass, stages, tile, twiddles, q, to, left == passes, to, left == 1,
                        shared, before)
        }
        BARRIER;
    }
}
