/* What the kernels are written in: a part of C that CUDA's compiler takes for a GPU, and any C
 * compiler for the software device.
 *
 * A kernel works on a grid of blocks: `BLOCK_COLUMN` and `BLOCK_ROW` say which. Within a block it
 * goes by phases. A phase is the body of `EACH_THREAD`, which knows its `thread`; between two phases
 * stands a `BARRIER`. What one phase leaves to the next lies in shared memory, as a GPU runs all
 * threads at once, and the software device one after the other, phase by phase, in either order:
 * where both orders have one result, no thread of a phase reads what another has written in it.
 */
#ifndef CLOAKWORK_DEVICE_H
#define CLOAKWORK_DEVICE_H

typedef unsigned int Word;
typedef unsigned long long Wide;
typedef int SignedWord;
typedef long long SignedWide;

/* log2 of the ring degree. A GPU's compiler is given it, and the kernels are compiled for each ring
 * by itself: all that follows from it is a constant then. Else it is the kernel's argument. */
#ifndef LOG_N
#define LOG_N a.log_n
#endif

#ifdef __CUDACC__

#define FUNCTION static __device__ __forceinline__
#define ALIGNED(bytes) __align__(bytes)
#define UNROLLED _Pragma("unroll")
/* No block has more threads, THREADS of `src/launch/engine.rs`: more registers are left for each. */
#define KERNEL(name, Arguments)                                                                    \
    extern "C" __global__ void __launch_bounds__(256) name(const Arguments a)
#define EACH_THREAD for (Word thread = threadIdx.x, once = 1; once != 0; once = 0)
#define BARRIER __syncthreads()
#define SHARED(name) extern __shared__ Word name[]
#define BLOCK_COLUMN blockIdx.x
#define BLOCK_ROW blockIdx.y
#define THREADS blockDim.x

/* The high word of a product. */
FUNCTION Word high_product(Word x, Word y) { return __umulhi(x, y); }

/* The bits of x in the opposite order. */
FUNCTION Word reversed_bits(Word x) { return __brev(x); }

#else

#define FUNCTION static inline
#define ALIGNED(bytes)
#define UNROLLED
#define EACH_THREAD                                                                                \
    for (Word number = 0, thread = block.reversed ? block.threads - 1 : 0; number < block.threads; \
         number++, thread = block.reversed ? thread - 1 : thread + 1)
#define BARRIER ((void)0)
#define SHARED(name) Word *const name = block.shared
#define BLOCK_COLUMN block.column
#define BLOCK_ROW block.row
#define THREADS block.threads

typedef struct {
    Word column, row, threads;
    /* Whether blocks and threads run last first. */
    Word reversed;
    Word *shared;
} Block;

/* A function that runs a kernel's blocks one after the other, and the kernel's body. */
#define KERNEL(name, Arguments)                                                                    \
    static void name##_block(const Arguments a, const Block block);                                \
    void cloakwork_##name(const void *arguments, Word columns, Word rows, Word threads,            \
                          Word reversed, Word *shared) {                                           \
        const Arguments a = *(const Arguments *)arguments;                                         \
        for (Word number = 0; number < columns * rows; number++) {                                 \
            const Word at = reversed ? columns * rows - 1 - number : number;                       \
            const Block block = {at % columns, at / columns, threads, reversed, shared};           \
            name##_block(a, block);                                                                \
        }                                                                                          \
    }                                                                                              \
    static void name##_block(const Arguments a, const Block block)

FUNCTION Word high_product(Word x, Word y) { return (Word)((Wide)x * y >> 32); }

FUNCTION Word reversed_bits(Word x) {
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    x = (x >> 8 & 0x00ff00ffu) | (x & 0x00ff00ffu) << 8;
    return x >> 16 | x << 16;
}

#endif

/* Four residues, which a GPU moves at once. */
typedef struct ALIGNED(16) {
    Word word[4];
} Quad;

/* The limb of an operand that is not there. */
#define ABSENT 0xffffffffu

/* Which limbs a row of blocks works on: the number of their prime, and where they stand in the
 * buffers of a kernel. */
typedef struct ALIGNED(16) {
    Word prime, to, first, second;
} Row;

#endif
