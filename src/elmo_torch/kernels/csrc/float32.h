/* One LSTMP layer in float32, for one instruction set. Included once for each set, with these defined:
   NAME(x), TARGET, vf (a vector of LANES floats), LANES, ROWS, SPLAT, MIN, MAX, RECIPROCAL, POWER.
   ROWS x 4 sums and 4 weights have to fit into the vector registers. */

typedef float NAME(vu) __attribute__((vector_size(4 * LANES), aligned(4), may_alias)); /* anywhere */

/* exp(-scale * x), bounded so that three of them can be multiplied. */
TARGET INLINE vf NAME(decay)(vf x, float scale) {
    return POWER(MIN(x * SPLAT(-1.44269504f * scale), SPLAT(40.0f)));
}

/* The elementwise part of a step; the memory is brought up to date, the output returned.
   Sigmoids and tanhs are brought to one denominator: sigmoid(x) = 1 / (1 + e^-x),
   tanh(x) = (1 - e^-2x) / (1 + e^-2x). */
TARGET INLINE vf NAME(cell)(vf i, vf f, vf g, vf o, float *memory, float clip) {
    const vf one = SPLAT(1.0f);
    vf forget = one + NAME(decay)(f, 1), eg = NAME(decay)(g, 2);
    vf input = (one + NAME(decay)(i, 1)) * (one + eg);
    vf c = (*(NAME(vu) *)memory * input + (one - eg) * forget) * RECIPROCAL(input * forget);
    c = MIN(MAX(c, SPLAT(-clip)), SPLAT(clip));
    *(NAME(vu) *)memory = c;
    vf ec = NAME(decay)(c, 2);
    return (one - ec) * RECIPROCAL((one + NAME(decay)(o, 1)) * (one + ec));
}

/* sums[r][q] += a[r][k] * w[k][q] over k < depth; `fetch`: ask for the weights one block further on. */
TARGET INLINE void NAME(multiply)(int rows, vf sums[ROWS][4], const float *a, ptrdiff_t pitch,
                                  const float *w, int depth, ptrdiff_t fetch) {
    for (int k = 0; k < depth; k++, w += 4 * LANES) {
        if (fetch)
            for (int at = 0; at < 4 * LANES; at += 16) __builtin_prefetch(w + fetch + at, 0, 2);
        vf w0 = *(NAME(vu) *)w, w1 = *(NAME(vu) *)(w + LANES);
        vf w2 = *(NAME(vu) *)(w + 2 * LANES), w3 = *(NAME(vu) *)(w + 3 * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            vf x = SPLAT(a[r * pitch + k]);
            sums[r][0] += x * w0;
            sums[r][1] += x * w1;
            sums[r][2] += x * w2;
            sums[r][3] += x * w3;
        }
    }
}

/* What is computed of a layer: the input's share of the gates, a step, or its projection. */
enum NAME(job) { NAME(SHARE), NAME(STEP), NAME(PROJECTION) };

struct NAME(run) {
    const struct layer *layer;
    const struct tile *tile;
    float *shares; /* (blocks, rows of the tile, 4 * LANES) */
    float *wide;   /* outputs before the projection, laid out as the memory */
};

/* One block of 4 * LANES columns for `rows` rows from `row` on. */
TARGET INLINE void NAME(block)(int job, const struct NAME(run) *run, int block, int rows, int row,
                               int offset, int fetch) {
    const struct layer *layer = run->layer;
    const struct tile *tile = run->tile;
    const int columns = 4 * LANES, width = layer->input.width, cells = layer->hidden.columns / 4;
    float *share = run->shares + ((ptrdiff_t)block * tile->rows + offset + row) * columns;
    const float *bias = layer->input.bias + block * columns;
    const int shared = job == NAME(STEP) && ahead_of_steps(tile);
    vf sums[ROWS][4];
    for (int r = 0; r < rows; r++)
        for (int q = 0; q < 4; q++)
            if (job == NAME(PROJECTION)) sums[r][q] = SPLAT(0.0f);
            else sums[r][q] = *(NAME(vu) *)((shared ? share + r * columns : bias) + q * LANES);

    if (job != NAME(PROJECTION) && !shared)
        NAME(multiply)(rows, sums, tile->inputs + (ptrdiff_t)(offset + row) * width, width,
                       (const float *)layer->input.weights + (ptrdiff_t)block * width * columns,
                       width, fetch ? width * columns : 0);
    if (job == NAME(STEP))
        NAME(multiply)(rows, sums, tile->hidden + (ptrdiff_t)row * width, width,
                       (const float *)layer->hidden.weights + (ptrdiff_t)block * width * columns,
                       width, fetch ? width * columns : 0);
    if (job == NAME(PROJECTION))
        for (int chunk = 0; chunk < cells / LANES; chunk++)
            NAME(multiply)(rows, sums, run->wide + ((ptrdiff_t)chunk * tile->batch + row) * LANES, LANES,
                           (const float *)layer->projection.weights +
                               ((ptrdiff_t)block * cells + chunk * LANES) * columns,
                           LANES, fetch ? cells * columns : 0);

    for (int r = 0; r < rows; r++) {
        if (job == NAME(SHARE)) {
            for (int q = 0; q < 4; q++) *(NAME(vu) *)(share + r * columns + q * LANES) = sums[r][q];
        } else if (job == NAME(STEP)) {
            ptrdiff_t at = ((ptrdiff_t)block * tile->batch + row + r) * LANES;
            *(NAME(vu) *)(run->wide + at) = NAME(cell)(sums[r][0], sums[r][1], sums[r][2], sums[r][3],
                                                       tile->memory + at, layer->cell_clip);
        } else {
            const vf clip = SPLAT(layer->proj_clip);
            float *hidden = tile->hidden + (ptrdiff_t)(row + r) * width + block * columns;
            for (int q = 0; q < 4; q++)
                *(NAME(vu) *)(hidden + q * LANES) = MIN(MAX(sums[r][q], -clip), clip);
        }
    }
}

/* One job of the layer, for `rows` rows: block by block, so that a block's weights stay in the cache. */
TARGET static void NAME(blocks)(int job, const struct NAME(run) *run, int rows, int offset, int part) {
    const struct layer *layer = run->layer;
    const int columns = job == NAME(PROJECTION) ? layer->projection.columns : layer->hidden.columns;
    const int groups = (rows + ROWS - 1) / ROWS;
    const struct share own = share_of(run->tile, part, columns / (4 * LANES));
    for (int block = own.start; block < own.end; block++)
        for (int group = 0; group < groups; group++) {
            const int row = (int)((long)rows * group / groups);
            const int end = (int)((long)rows * (group + 1) / groups);
            const int fetch = group == 0 && groups > 1;
            switch (end - row) { /* the number of rows has to be known when this is compiled */
            case 1: NAME(block)(job, run, block, 1, row, offset, fetch); break;
            case 2: NAME(block)(job, run, block, 2, row, offset, fetch); break;
            case 3: NAME(block)(job, run, block, 3, row, offset, fetch); break;
#if ROWS > 3
            case 4: NAME(block)(job, run, block, 4, row, offset, fetch); break;
            case 5: NAME(block)(job, run, block, 5, row, offset, fetch); break;
            case 6: NAME(block)(job, run, block, 6, row, offset, fetch); break;
#endif
            }
        }
}

TARGET static void NAME(run)(const struct layer *layer, const struct tile *tile, int part) {
    const int width = layer->input.width, cells = layer->hidden.columns / 4;
    char *scratch = tile->scratch;
    struct NAME(run) run = {.layer = layer, .tile = tile};
    run.wide = (float *)take(&scratch, sizeof(float) * cells * tile->batch);
    run.shares = (float *)scratch;
    if (ahead_of_steps(tile)) NAME(blocks)(NAME(SHARE), &run, tile->rows, 0, part);
    for (int s = 0; s < tile->steps; s++) {
        const int step = tile->reverse ? tile->steps - 1 - s : s;
        const int rows = tile->batch_sizes[step], offset = tile->offsets[step];
        const struct share own = share_of(tile, part, rows);
        NAME(blocks)(NAME(STEP), &run, rows, offset, part);
        meet(tile);
        if (layer->projection.weights)
            NAME(blocks)(NAME(PROJECTION), &run, rows, offset, part);
        else
            for (int row = own.start; row < own.end; row++)
                for (int cell = 0; cell < cells; cell++)
                    tile->hidden[(ptrdiff_t)row * width + cell] =
                        run.wide[((ptrdiff_t)(cell / LANES) * tile->batch + row) * LANES + cell % LANES];
        meet(tile);
        write_outputs(layer, tile, own, offset);
    }
    meet(tile);
}

#undef NAME
#undef TARGET
#undef vf
#undef LANES
#undef ROWS
#undef SPLAT
#undef MIN
#undef MAX
#undef RECIPROCAL
#undef POWER
