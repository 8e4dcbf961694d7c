/* The same layer, and plain products, on the tile registers of AMX: operands of 16 or 8 bits, sums of 32.
   A tile holds 16 rows of 64 bytes; one instruction multiplies 16 rows by 16 columns.

   BF16   operands rounded to bfloat16.
   INT8   weights with a scale for each column, the other operand with a scale for each row.
   FIXED  float32: numbers of 24 bits with such scales, as three digits in base 256. Of the nine products
          of digits the six that matter are summed, exactly, one sum for each place: places 0 (high x
          high) to 2. What is lost is 2^-24 of the largest number in a row or column.

   A narrowed operand is laid out as (width / values, digits, capacity, 64 bytes): `values` numbers of a
   row in 64 bytes. */

#define AMX __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,fma,amx-tile,amx-int8,amx-bf16")))

INLINE int values_each(int method) { return method == BF16 ? 32 : 64; }
INLINE int digits(int method) { return method == FIXED ? 3 : 1; }
INLINE ptrdiff_t operand_bytes(int method, ptrdiff_t numbers) { return numbers * (method == BF16 ? 2 : digits(method)); }

struct operand {
    uint8_t *numbers;
    float *scales; /* one for each row; not with bfloat16 */
    int capacity;   /* rows, a multiple of 16 */
};

AMX static void configure_tiles(void) {
    struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } tiles;
    memset(&tiles, 0, sizeof tiles);
    tiles.palette = 1;
    for (int t = 0; t < 8; t++) {
        tiles.bytes[t] = 64;
        tiles.rows[t] = 16;
    }
    _tile_loadconfig(&tiles);
}

static struct operand take_operand(char **scratch, int method, int rows, int width) {
    struct operand operand;
    operand.capacity = (rows + 31) / 32 * 32;
    operand.numbers = (uint8_t *)take(scratch, operand_bytes(method, (ptrdiff_t)operand.capacity * width));
    operand.scales = (float *)take(scratch, sizeof(float) * operand.capacity);
    return operand;
}

/* Sets the scale of a row whose largest number is `largest`; returns what its numbers are multiplied by. */
AMX INLINE float scale_row(int method, struct operand to, int row, float largest) {
    const float most = method == FIXED ? 8355584.0f : 127.0f; /* 0x7F7F00: no digit passes 127, rounding included */
    to.scales[row] = largest / most;
    return largest > 0 ? most / largest : 0.0f;
}

/* Puts 16 numbers of a row, from column `at` on, into an operand; `factor` as scale_row returned it. */
AMX INLINE void narrow(int method, struct operand to, int row, int at, __m512 x, float factor) {
    const int values = values_each(method);
    const ptrdiff_t digit = (ptrdiff_t)to.capacity * 64;
    uint8_t *place = to.numbers + (ptrdiff_t)(at / values) * digits(method) * digit + (ptrdiff_t)row * 64;
    if (method == BF16) {
        _mm256_storeu_si256((__m256i *)(place + at % values * 2), (__m256i)_mm512_cvtneps_pbh(x));
        return;
    }
    place += at % values;
    __m512i whole = _mm512_cvtps_epi32(x * _mm512_set1_ps(factor));
    if (method == FIXED) { /* the low byte is a digit from -128 to 127; what it lacks goes to the next */
        const __m512i half = _mm512_set1_epi32(128);
        _mm_storeu_si128((__m128i *)(place + 2 * digit), _mm512_cvtepi32_epi8(whole));
        whole = _mm512_srai_epi32(_mm512_add_epi32(whole, half), 8);
        _mm_storeu_si128((__m128i *)(place + digit), _mm512_cvtepi32_epi8(whole));
        whole = _mm512_srai_epi32(_mm512_add_epi32(whole, half), 8);
    }
    _mm_storeu_si128((__m128i *)place, _mm512_cvtepi32_epi8(whole));
}

AMX INLINE void narrow_rows(int method, struct operand to, const float *x, struct share rows, int width) {
    x += (ptrdiff_t)rows.start * width;
    for (int row = rows.start; row < rows.end; row++, x += width) {
        float factor = 1.0f;
        if (method != BF16) {
            __m512 largest = _mm512_setzero_ps();
            for (int at = 0; at < width; at += 16)
                largest = _mm512_max_ps(largest, _mm512_abs_ps(_mm512_loadu_ps(x + at)));
            factor = scale_row(method, to, row, _mm512_reduce_max_ps(largest));
        }
        for (int at = 0; at < width; at += 16) narrow(method, to, row, at, _mm512_loadu_ps(x + at), factor);
    }
}

/* Sums of one block of 64 columns, (places, capacity, 64): whole numbers, or floats of bfloat16 products. */
struct sums {
    int32_t *numbers;
    ptrdiff_t place;
};

static struct sums take_sums(char **scratch, int method, int rows) {
    struct sums sums;
    sums.place = (ptrdiff_t)(rows + 31) / 32 * 32 * 64;
    sums.numbers = (int32_t *)take(scratch, sizeof(int32_t) * sums.place * digits(method));
    return sums;
}

struct fetch { /* cache lines to ask for in each step along the width: the next block, bit by bit */
    const uint8_t *next;
    int lines;
};

AMX INLINE void fetch_lines(struct fetch *fetch) {
    for (int line = 0; line < fetch->lines; line++, fetch->next += 64) _mm_prefetch((const char *)fetch->next, _MM_HINT_T1);
}

/* Numbers of one digit: 32 rows (16, if not tall) by 32 columns in tiles 0 to 3. */
AMX INLINE void sum_pair(int method, int tall, const uint8_t *rows, ptrdiff_t digit, const uint8_t *w, int depth,
                         int32_t *sums, struct fetch *fetch) {
    const uint8_t *second = w + (ptrdiff_t)depth * 1024;
    _tile_zero(0); _tile_zero(1); _tile_zero(2); _tile_zero(3);
#define MULTIPLY(sum, a, b) do { if (method == BF16) _tile_dpbf16ps(sum, a, b); else _tile_dpbssd(sum, a, b); } while (0)
    for (int k = 0; k < depth; k++, rows += digit, w += 1024, second += 1024) {
        fetch_lines(fetch);
        _tile_loadd(6, w, 64);
        _tile_loadd(7, second, 64);
        _tile_loadd(4, rows, 64);
        MULTIPLY(0, 4, 6); MULTIPLY(1, 4, 7);
        if (tall) {
            _tile_loadd(5, rows + 1024, 64);
            MULTIPLY(2, 5, 6); MULTIPLY(3, 5, 7);
        }
    }
#undef MULTIPLY
    _tile_stored(0, sums, 256); _tile_stored(1, sums + 16, 256);
    if (tall) { _tile_stored(2, sums + 16 * 64, 256); _tile_stored(3, sums + 16 * 64 + 16, 256); }
}

/* Numbers of three digits: 32 rows (16, if not tall) by 16 columns; place p in tiles 2 p and 2 p + 1. */
AMX INLINE void sum_digits(int tall, const uint8_t *rows, ptrdiff_t digit, const uint8_t *w, int depth, struct sums sums,
                           int32_t *to, struct fetch *fetch) {
    _tile_zero(0); _tile_zero(1); _tile_zero(2); _tile_zero(3); _tile_zero(4); _tile_zero(5);
#define MULTIPLY(upper, lower, at) do { \
        _tile_loadd(6, rows + (at) * digit, 64); _tile_dpbssd(upper, 6, 7); \
        if (tall) { _tile_loadd(6, rows + (at) * digit + 1024, 64); _tile_dpbssd(lower, 6, 7); } \
    } while (0)
    for (int k = 0; k < depth; k++, rows += 3 * digit, w += 3 * 1024) {
        fetch_lines(fetch);
        _tile_loadd(7, w, 64);
        MULTIPLY(0, 1, 0); MULTIPLY(2, 3, 1); MULTIPLY(4, 5, 2);
        _tile_loadd(7, w + 1024, 64);
        MULTIPLY(2, 3, 0); MULTIPLY(4, 5, 1);
        _tile_loadd(7, w + 2048, 64);
        MULTIPLY(4, 5, 0);
    }
#undef MULTIPLY
    _tile_stored(0, to, 256); _tile_stored(2, to + sums.place, 256); _tile_stored(4, to + 2 * sums.place, 256);
    if (tall) {
        to += 16 * 64;
        _tile_stored(1, to, 256); _tile_stored(3, to + sums.place, 256); _tile_stored(5, to + 2 * sums.place, 256);
    }
}

#define FOR_GROUPS(rows) for (int row = 0; row < (rows); row += 32)

/* One block of a product: some columns for all rows, so that their weights stay close, then the next. */
AMX INLINE void multiply_block(int method, struct operand a, int first, int rows, const struct product *by, int block,
                               struct sums sums) {
    const ptrdiff_t digit = (ptrdiff_t)a.capacity * 64;
    const int depth = by->width / values_each(method), groups = (rows + 31) / 32;
    const int width = method == FIXED ? 16 : 32; /* columns at a time */
    const ptrdiff_t bytes = operand_bytes(method, (ptrdiff_t)64 * by->width);
    const uint8_t *w = (const uint8_t *)by->weights + block * bytes;
    struct fetch fetch = {w + bytes, groups > 1 ? (method == FIXED ? 48 : 32) / groups : 0};
    for (int column = 0; column < 64; column += width, w += bytes / 64 * width)
        FOR_GROUPS(rows) {
            const uint8_t *from = a.numbers + (ptrdiff_t)(first + row) * 64;
            int32_t *to = sums.numbers + row * 64 + column;
            if (method == FIXED) {
                if (rows - row > 16) sum_digits(1, from, digit, w, depth, sums, to, &fetch);
                else sum_digits(0, from, digit, w, depth, sums, to, &fetch);
            } else {
                if (rows - row > 16) sum_pair(method, 1, from, digit, w, depth, to, &fetch);
                else sum_pair(method, 0, from, digit, w, depth, to, &fetch);
            }
        }
}

/* 16 columns of a row of sums as float32; `at`: their place among the sums. */
AMX INLINE __m512 widened(int method, struct sums sums, int at, struct operand a, int row, const struct product *by,
                          int column) {
    const int32_t *from = sums.numbers + at;
    if (method == BF16) return _mm512_load_ps(from);
    __m512 y = _mm512_cvtepi32_ps(_mm512_load_si512(from));
    if (method == FIXED)
        y = (y * _mm512_set1_ps(65536.0f) + _mm512_cvtepi32_ps(_mm512_load_si512(from + sums.place)) * _mm512_set1_ps(256.0f) +
             _mm512_cvtepi32_ps(_mm512_load_si512(from + 2 * sums.place))) * _mm512_set1_ps(65536.0f);
    return y * _mm512_set1_ps(a.scales[row]) * _mm512_loadu_ps(by->scales + column);
}

struct tiles_run {
    const struct layer *layer;
    const struct tile *tile;
    int part;
    struct operand inputs, hidden, wide;
    struct sums x, h;
    float *shares;    /* (blocks, rows of the tile, 64) */
    uint16_t *halves; /* int8: outputs before the projection as float16, laid out as the memory */
    float *largest;   /* int8: (parts, batch, 16), the largest of them so far */
};

/* 16 columns of the input's share of the gates. */
AMX INLINE __m512 input_share(int method, const struct tiles_run *run, int at, int row, int column) {
    const struct product *input = &run->layer->input;
    return widened(method, run->x, at, run->inputs, row, input, column) + _mm512_loadu_ps(input->bias + column);
}

AMX INLINE void share_inputs(int method, const struct tiles_run *run) {
    const struct product *input = &run->layer->input;
    const int rows = run->tile->rows;
    const struct share own = share_of(run->tile, run->part, input->columns / 64);
    for (int block = own.start; block < own.end; block++) {
        multiply_block(method, run->inputs, 0, rows, input, block, run->x);
        float *share = run->shares + (ptrdiff_t)block * rows * 64;
        for (int row = 0; row < rows; row++)
            for (int q = 0; q < 64; q += 16)
                _mm512_store_ps(share + row * 64 + q, input_share(method, run, row * 64 + q, row, block * 64 + q));
    }
}

AMX INLINE void step_cells(int method, const struct tiles_run *run, int rows, int offset) {
    const struct layer *layer = run->layer;
    const struct tile *tile = run->tile;
    const int shared = ahead_of_steps(tile);
    float output_factor = 1.0f;
    if (method == FIXED) /* an output is less than 1; all parts write the same */
        for (int row = 0; row < rows; row++) output_factor = scale_row(method, run->wide, row, 1.0f);
    float *all_largest = run->largest + (ptrdiff_t)run->part * tile->batch * 16;
    if (method == INT8) memset(all_largest, 0, sizeof(float) * 16 * rows);
    const struct share own = share_of(tile, run->part, layer->hidden.columns / 64);
    for (int block = own.start; block < own.end; block++) {
        if (!shared) multiply_block(method, run->inputs, offset, rows, &layer->input, block, run->x);
        multiply_block(method, run->hidden, 0, rows, &layer->hidden, block, run->h);
        const float *share = run->shares + ((ptrdiff_t)block * tile->rows + offset) * 64;
        for (int row = 0; row < rows; row++) {
            __m512 gates[4];
#pragma GCC unroll 4
            for (int q = 0; q < 4; q++) {
                const int at = row * 64 + q * 16, column = block * 64 + q * 16;
                gates[q] = widened(method, run->h, at, run->hidden, row, &layer->hidden, column);
                if (shared) gates[q] += _mm512_load_ps(share + at);
                else gates[q] += input_share(method, run, at, offset + row, column);
            }
            const ptrdiff_t place = ((ptrdiff_t)block * tile->batch + row) * 16;
            __builtin_prefetch(tile->memory + place + tile->batch * 16, 1, 2);
            __m512 output = avx512_cell(gates[0], gates[1], gates[2], gates[3], tile->memory + place, layer->cell_clip);
            if (method != INT8) {
                narrow(method, run->wide, row, block * 16, output, output_factor);
            } else {
                float *largest = all_largest + row * 16;
                _mm512_store_ps(largest, _mm512_max_ps(_mm512_load_ps(largest), _mm512_abs_ps(output)));
                _mm256_store_si256((__m256i *)(run->halves + place), _mm512_cvtps_ph(output, 0));
            }
        }
    }
}

/* int8: the outputs before the projection, now that the largest number of each row is known. */
AMX static void narrow_halves(const struct tiles_run *run, struct share rows) {
    const struct tile *tile = run->tile;
    for (int row = rows.start; row < rows.end; row++) {
        __m512 largest = _mm512_setzero_ps();
        for (int part = 0; part < tile->team->parts; part++)
            largest = _mm512_max_ps(largest, _mm512_load_ps(run->largest + ((ptrdiff_t)part * tile->batch + row) * 16));
        const float factor = scale_row(INT8, run->wide, row, _mm512_reduce_max_ps(largest));
        const uint16_t *half = run->halves + (ptrdiff_t)row * 16;
        for (int block = 0; block < run->layer->hidden.columns / 64; block++, half += (ptrdiff_t)tile->batch * 16)
            narrow(INT8, run->wide, row, block * 16, _mm512_cvtph_ps(_mm256_load_si256((const __m256i *)half)), factor);
    }
}

AMX INLINE void project(int method, const struct tiles_run *run, int rows) {
    const struct product *projection = &run->layer->projection;
    const __m512 clip = _mm512_set1_ps(run->layer->proj_clip);
    const struct share own = share_of(run->tile, run->part, projection->columns / 64);
    for (int block = own.start; block < own.end; block++) {
        multiply_block(method, run->wide, 0, rows, projection, block, run->h);
        for (int row = 0; row < rows; row++)
            for (int q = 0; q < 64; q += 16) {
                __m512 y = widened(method, run->h, row * 64 + q, run->wide, row, projection, block * 64 + q);
                _mm512_storeu_ps(run->tile->hidden + (ptrdiff_t)row * projection->columns + block * 64 + q,
                                 _mm512_min_ps(_mm512_max_ps(y, -clip), clip));
            }
    }
}

AMX INLINE void run_on_tiles(int method, const struct layer *layer, const struct tile *tile, int part) {
    const int width = layer->input.width, cells = layer->hidden.columns / 4, parts = tile->team->parts;
    char *scratch = tile->scratch;
    struct tiles_run run = {.layer = layer, .tile = tile, .part = part};
    run.inputs = take_operand(&scratch, method, tile->rows, width);
    run.hidden = take_operand(&scratch, method, tile->batch, width);
    run.wide = take_operand(&scratch, method, tile->batch, cells);
    for (int of = 0; of < parts; of++) { /* each part has sums of its own */
        struct sums x = take_sums(&scratch, method, tile->rows), h = take_sums(&scratch, method, tile->batch);
        if (of == part) run.x = x, run.h = h;
    }
    run.halves = (uint16_t *)take(&scratch, sizeof(uint16_t) * cells * tile->batch);
    run.largest = (float *)take(&scratch, sizeof(float) * 16 * tile->batch * parts);
    run.shares = (float *)scratch;
    configure_tiles();
    narrow_rows(method, run.inputs, tile->inputs, share_of(tile, part, tile->rows), width);
    meet(tile);
    if (ahead_of_steps(tile)) share_inputs(method, &run);
    for (int s = 0; s < tile->steps; s++) {
        const int step = tile->reverse ? tile->steps - 1 - s : s;
        const int rows = tile->batch_sizes[step], offset = tile->offsets[step];
        const struct share own = share_of(tile, part, rows);
        narrow_rows(method, run.hidden, tile->hidden, own, width);
        meet(tile);
        step_cells(method, &run, rows, offset);
        meet(tile);
        if (method == INT8) {
            narrow_halves(&run, own);
            meet(tile);
        }
        project(method, &run, rows);
        meet(tile);
        write_outputs(layer, tile, own, offset);
    }
    meet(tile);
    _tile_release();
}

enum { PANEL = 128 }; /* rows narrowed at a time by a plain product */

/* y[row / pool] = the largest over `pool` rows in succession of x[row] W^T + bias. */
AMX INLINE void multiply_on_tiles(int method, const struct product *by, const float *x, int num_rows, int pool,
                                  float *y, char *scratch) {
    struct operand a = take_operand(&scratch, method, PANEL, by->width);
    struct sums sums = take_sums(&scratch, method, PANEL);
    configure_tiles();
    for (int start = 0; start < num_rows; start += PANEL) {
        const int rows = num_rows - start < PANEL ? num_rows - start : PANEL;
        narrow_rows(method, a, x + (ptrdiff_t)start * by->width, (struct share){0, rows}, by->width);
        for (int block = 0; block < by->columns / 64; block++) {
            multiply_block(method, a, 0, rows, by, block, sums);
            for (int row = 0; row < rows; row++) {
                float *to = y + (ptrdiff_t)((start + row) / pool) * by->columns + block * 64;
                for (int q = 0; q < 64; q += 16) {
                    __m512 sum = widened(method, sums, row * 64 + q, a, row, by, block * 64 + q) +
                                 _mm512_loadu_ps(by->bias + block * 64 + q);
                    if ((start + row) % pool) sum = _mm512_max_ps(sum, _mm512_loadu_ps(to + q));
                    _mm512_storeu_ps(to + q, sum);
                }
            }
        }
    }
    _tile_release();
}
