/* What the caller hands over. All widths are padded with zeros to multiples of 64, and all arrays
   start at multiples of 64 bytes. The Python side (compiled.py, layouts.py) builds these. */
#ifndef ELMO_LSTMP_H
#define ELMO_LSTMP_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

/* How to compute: three kinds of vectors for float32; tile registers for float32 in three digits, and less. */
enum method { GENERIC, AVX2, AVX512, FIXED, BF16, INT8 };

/* y = x W^T + bias. Weights lie in blocks of columns, in the order of use (see layouts.py). */
struct product {
    int32_t width, columns; /* of x, of y */
    const void *weights;
    const float *scales; /* one for each column; not with float32 vectors and bfloat16 */
    const float *bias;   /* NULL: none */
};

/* One direction of one recurrent layer. Columns of `input` and `hidden` are gates: blocks of cells,
   in each the input, forget, candidate and output gates of these cells. */
struct layer {
    struct product input, hidden, projection; /* projection.weights NULL: none */
    float cell_clip, proj_clip;               /* infinity: off */
    int32_t residual;
};

/* Threads that run one layer together: each takes its share of every block and row, then they meet. */
struct team {
    int32_t parts, arrived, round; /* the latter two 0 at first */
};

/* Some time steps of a batch whose sentences are sorted, longest first: step s reads the rows
   offsets[s] .. offsets[s] + batch_sizes[s] of the inputs and the first batch_sizes[s] rows of the state. */
struct tile {
    int32_t batch, rows, steps, reverse;
    const int32_t *batch_sizes, *offsets;
    const float *inputs; /* (rows, width) */
    float *outputs;      /* (rows, width) */
    float *hidden;       /* (batch, width) */
    float *memory;       /* (cells / LANES, batch, LANES) */
    char *scratch;
    struct team *team;
};

/* A part's share of `count` things: from `start` to before `end`. */
struct share {
    int start, end;
};

static inline struct share share_of(const struct tile *tile, int part, int count) {
    const int parts = tile->team->parts;
    struct share share = {(int)((int64_t)count * part / parts), (int)((int64_t)count * (part + 1) / parts)};
    return share;
}

/* With several steps in a tile the input's share of the gates is computed for all of them at once. */
static inline int ahead_of_steps(const struct tile *tile) { return tile->steps > 1; }

/* Carves 64-byte aligned arrays out of the scratch space. */
static inline char *take(char **scratch, size_t bytes) {
    char *start = *scratch;
    *scratch += (bytes + 63) / 64 * 64;
    return start;
}

/* Returns when all parts of the team have come here. */
static inline void meet(const struct tile *tile) {
    struct team *team = tile->team;
    if (team->parts == 1) return;
    const int32_t round = __atomic_load_n(&team->round, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&team->arrived, 1, __ATOMIC_ACQ_REL) == team->parts) {
        __atomic_store_n(&team->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&team->round, round + 1, __ATOMIC_RELEASE);
        return;
    }
    for (int turn = 0; __atomic_load_n(&team->round, __ATOMIC_ACQUIRE) == round; turn++)
        if (turn > 4096) sched_yield(); /* the others may need this core */
}

#define INLINE static inline __attribute__((always_inline))

#endif
