/* The hot loops of a frozen biLM: a recurrent layer over some time steps, and the products of the char CNN.
   One file for all processors; what a processor can do is asked when the program runs.
   The readable twin is elmo_torch/nn/lstmp.py. */

#include "lstmp.h"

#include <string.h>

/* What the layer hands on of some rows of a step: its hidden state, with the input added if residual. */
static void write_outputs(const struct layer *layer, const struct tile *tile, struct share rows, int offset) {
    const ptrdiff_t width = layer->input.width, start = (offset + rows.start) * width;
    const ptrdiff_t numbers = (rows.end - rows.start) * width;
    const float *x = tile->inputs + start, *hidden = tile->hidden + rows.start * width;
    float *y = tile->outputs + start;
    if (layer->residual)
        for (ptrdiff_t n = 0; n < numbers; n++) y[n] = hidden[n] + x[n];
    else
        memcpy(y, hidden, sizeof(float) * numbers);
}

/* ---- float32 on vectors of 4, whatever the processor calls them */

typedef float vector_4 __attribute__((vector_size(16)));

INLINE vector_4 smaller(vector_4 a, vector_4 b) {
    for (int n = 0; n < 4; n++) a[n] = a[n] < b[n] ? a[n] : b[n];
    return a;
}

INLINE vector_4 larger(vector_4 a, vector_4 b) {
    for (int n = 0; n < 4; n++) a[n] = a[n] > b[n] ? a[n] : b[n];
    return a;
}

/* 2^x for x <= 64, to 2e-7 of its value: a polynomial for the fraction, the exponent's bits for the rest.
   Adding 1.5 * 2^23 rounds to an integer. */
#define POLYNOMIAL(r, splat) \
    ((((((splat(1.5316464e-4f) * r + splat(1.3395827e-3f)) * r + splat(9.6180173e-3f)) * r + \
        splat(5.5503324e-2f)) * r + splat(2.4022652e-1f)) * r + splat(6.9314718e-1f)) * r + splat(1.0f))
#define NAME(x) generic_##x
#define TARGET
#define vf vector_4
#define LANES 4
#if defined(__aarch64__)
#define ROWS 6
#else
#define ROWS 3
#endif
#define SPLAT(x) ((vector_4){x, x, x, x})
#define MIN smaller
#define MAX larger
#define RECIPROCAL(x) (SPLAT(1.0f) / (x))
typedef int32_t whole_4 __attribute__((vector_size(16)));
INLINE vector_4 generic_power(vector_4 x) {
    x = larger(x, SPLAT(-126.0f));
    vector_4 n = x + SPLAT(12582912.0f), r = x - (n - SPLAT(12582912.0f));
    return (vector_4)((whole_4)POLYNOMIAL(r, SPLAT) + ((whole_4)n << 23));
}
#define POWER generic_power
#include "float32.h"

#if defined(__x86_64__)
#include <immintrin.h>

/* ---- float32 on vectors of 8 */

#define NAME(x) avx2_##x
#define TARGET __attribute__((target("avx2,fma")))
#define vf __m256
#define LANES 8
#define ROWS 3
#define SPLAT _mm256_set1_ps
#define MIN _mm256_min_ps
#define MAX _mm256_max_ps
#define RECIPROCAL(x) (SPLAT(1.0f) / (x))
TARGET INLINE __m256 avx2_power(__m256 x) {
    x = MAX(x, SPLAT(-126.0f));
    __m256 n = x + SPLAT(12582912.0f), r = x - (n - SPLAT(12582912.0f));
    return (__m256)_mm256_add_epi32((__m256i)POLYNOMIAL(r, SPLAT), _mm256_slli_epi32((__m256i)n, 23));
}
#define POWER avx2_power
#include "float32.h"

/* ---- float32 on vectors of 16 */

#define NAME(x) avx512_##x
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,fma")))
#define vf __m512
#define LANES 16
#define ROWS 6
#define SPLAT _mm512_set1_ps
#define MIN _mm512_min_ps
#define MAX _mm512_max_ps
/* An estimate of 14 bits and one step of Newton's method. */
TARGET INLINE __m512 avx512_reciprocal(__m512 x) {
    __m512 y = _mm512_rcp14_ps(x);
    return y * (SPLAT(2.0f) - x * y);
}
#define RECIPROCAL avx512_reciprocal
TARGET INLINE __m512 avx512_power(__m512 x) {
    __m512 r = _mm512_reduce_ps(x, 8); /* less the nearest integer */
    return _mm512_scalef_ps(POLYNOMIAL(r, SPLAT), x - r);
}
#define POWER avx512_power
#include "float32.h"

#if defined(__linux__) && !defined(ELMO_WITHOUT_TILES)
#include <sys/syscall.h>
#include <unistd.h>
#include "tiles.h"
#define HAS_TILES

enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 }; /* arch_prctl: the kernel grants tile registers on demand */

static int has_tiles(void) {
    unsigned a = 7, b, c = 0, d;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    const int tile = d >> 24 & 1, int8 = d >> 25 & 1, bf16 = d >> 22 & 1;
    return tile && int8 && bf16 && __builtin_cpu_supports("avx512bf16") &&
           syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

AMX static void run_fixed(const struct layer *layer, const struct tile *tile, int part) { run_on_tiles(FIXED, layer, tile, part); }
AMX static void run_bf16(const struct layer *layer, const struct tile *tile, int part) { run_on_tiles(BF16, layer, tile, part); }
AMX static void run_int8(const struct layer *layer, const struct tile *tile, int part) { run_on_tiles(INT8, layer, tile, part); }

#define MULTIPLY(name, method) \
    AMX static void name(const struct product *by, const float *x, int rows, int pool, float *y, char *scratch) { \
        multiply_on_tiles(method, by, x, rows, pool, y, scratch); \
    }
MULTIPLY(multiply_fixed, FIXED)
MULTIPLY(multiply_bf16, BF16)
MULTIPLY(multiply_int8, INT8)
#endif
#endif

/* ---- what Python calls */

#define PUBLIC __attribute__((visibility("default")))

PUBLIC int elmo_can(int method) {
    if (method == GENERIC) return 1;
#if defined(__x86_64__)
    const int avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    if (method == AVX2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (method == AVX512) return avx512;
#if defined(HAS_TILES)
    if (method == FIXED || method == BF16 || method == INT8) return avx512 && has_tiles();
#endif
#endif
    return 0;
}

/* Subnormal numbers cost hundreds of cycles each and mean nothing here: on x86 they count as zero meanwhile. */
#if defined(__x86_64__)
enum { SUBNORMALS_ARE_ZERO = 0x8040 };
#define GUARDED(work) do { unsigned before = _mm_getcsr(); _mm_setcsr(before | SUBNORMALS_ARE_ZERO); work; _mm_setcsr(before); } while (0)
#else
#define GUARDED(work) work
#endif

/* Runs one part of a layer over a tile, and returns when all parts are done; the state is brought up to date. The method must be one that `elmo_can`;
   those on tiles need a projection. */
PUBLIC void elmo_run_layer(int method, const struct layer *layer, const struct tile *tile, int part) {
    switch (method) {
        case GENERIC: GUARDED(generic_run(layer, tile, part)); break;
#if defined(__x86_64__)
        case AVX2: GUARDED(avx2_run(layer, tile, part)); break;
        case AVX512: GUARDED(avx512_run(layer, tile, part)); break;
#endif
#if defined(HAS_TILES)
        case FIXED: GUARDED(run_fixed(layer, tile, part)); break;
        case BF16: GUARDED(run_bf16(layer, tile, part)); break;
        case INT8: GUARDED(run_int8(layer, tile, part)); break;
#endif
    }
}

/* y[row / pool] = the largest over `pool` rows in succession of x[row] W^T + bias; methods on tiles only. */
PUBLIC void elmo_multiply(int method, const struct product *by, const float *x, int rows, int pool, float *y,
                          char *scratch) {
#if defined(HAS_TILES)
    switch (method) {
        case FIXED: multiply_fixed(by, x, rows, pool, y, scratch); break;
        case BF16: multiply_bf16(by, x, rows, pool, y, scratch); break;
        case INT8: multiply_int8(by, x, rows, pool, y, scratch); break;
    }
#else
    (void)method, (void)by, (void)x, (void)rows, (void)pool, (void)y, (void)scratch;
#endif
}
