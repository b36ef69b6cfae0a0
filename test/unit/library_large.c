/* Tensors of 2^31 elements and one less and more, over little memory: an address space in which one
 * piece of a megabyte lies again and again, rows 0 elements apart, and rows so far apart that most
 * of what lies between is never touched.
 *
 * tier: check-long (2^31 - 1, 2^31 and 2^31 + 1 elements; the quick run has rows that lie apart,
 * and so have builds with sanitizers, which kernels do not have)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "library_fixture.h"
#include "sanitized.h"

#define EDGE  (INT64_C(1) << 31)
#define PIECE (INT64_C(1) << 20)

static bool long_run;

/* ---- memory ---- */
/* `bytes` of address space with nothing before and behind it that may be touched. */
typedef struct space {
    unsigned char *begin;
    size_t mapped;
} space;

enum { GUARD = 1 << 20 };

static space reserve(int64_t bytes) {
    space s = {.mapped = (size_t)(bytes / PIECE + 1) * (size_t)PIECE + 2 * (size_t)GUARD};
    unsigned char *all =
        mmap(NULL, s.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        fail_msg("no address space of %zu bytes", s.mapped);
    s.begin = all + GUARD;
    return s;
}

static void release(space *s) {
    assert_int_equal(munmap(s->begin - GUARD, s->mapped), 0);
}

/* Pages are there once they are touched. */
static space sparse(int64_t bytes) {
    space s = reserve(bytes);
    assert_int_equal(mprotect(s.begin, s.mapped - 2 * GUARD, PROT_READ | PROT_WRITE), 0);
    return s;
}

/* One piece again and again: what is stored at i is read at i + PIECE too. */
static space repeated(int64_t bytes) {
    space s = reserve(bytes);
    char name[] = "/tmp/croft-large-XXXXXX";
    int file = mkstemp(name);
    assert_true(file >= 0 && unlink(name) == 0 && ftruncate(file, PIECE) == 0);
    for (size_t at = 0; at < s.mapped - 2 * GUARD; at += (size_t)PIECE)
        assert_true(mmap(s.begin + at, (size_t)PIECE, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED);
    close(file);
    return s;
}

/* ---- kernels ---- */
typedef struct session {
    croft_context *context;
    croft_kernel *kernel;
    croft_dispatch *dispatch;
    croft_diagnostics *findings;
} session;

static void open_session(session *s, const char *text) {
    *s = (session){0};
    croft_config config = {.size = sizeof config, .threads = 1};
    assert_int_equal(croft_context_create(&config, &s->context), CROFT_OK);
    if (compile_text(s->context, text, &s->kernel, &s->findings) != CROFT_OK)
        fail_msg("%s", croft_diagnostics_text(s->findings));
}

static void close_session(session *s) {
    croft_diagnostics_free(s->findings);
    croft_dispatch_free(s->dispatch);
    croft_kernel_free(s->kernel);
    croft_context_free(s->context);
}

static croft_tensor tensor_of(void *data, int code, int bits, int rank, const int64_t *shape,
                              const int64_t *strides) {
    return (croft_tensor){.data = data,
                          .device_type = CROFT_ON_CPU,
                          .rank = rank,
                          .dtype_code = (uint8_t)code,
                          .dtype_bits = (uint8_t)bits,
                          .dtype_lanes = 1,
                          .shape = shape,
                          .strides = strides};
}

/* What the launch counts as faults. */
static uint64_t run(session *s, const croft_argument *arguments, int count) {
    uint64_t faults = 0;
    croft_prepare_options options = {.size = sizeof options, .count_faults = 1};
    croft_launch_options launch = {.size = sizeof launch, .faults = &faults};
    if (croft_prepare(s->kernel, arguments, count, &options, &s->dispatch, &s->findings) !=
            CROFT_OK ||
        croft_launch(s->dispatch, &launch, &s->findings) != CROFT_OK)
        fail_msg("%s", croft_diagnostics_text(s->findings));
    return faults;
}

static croft_argument named(const char *name, const croft_tensor *tensor) {
    return (croft_argument){.name = name, .kind = CROFT_ARGUMENT_TENSOR, .tensor = tensor};
}

/* ---- one long row ---- */
#define LONG_ROW(width)                                                                            \
    "kernel long_row(x: in u8[R, " width "], z: out i64[R], late: out i64[R]) {\n"                 \
    "    program row: R\n"                                                                         \
    "    t = x[row, :]\n"                                                                          \
    "    z[row] = sum(i64(t))\n"                                                                   \
    "    late[row] = max(where(t == 255, i64(arange(N)), i64(-1)))\n"                              \
    "}\n"

static unsigned char pattern(int64_t i) {
    return (unsigned char)(i % PIECE * 7 % 256);
}

static void check_row(const char *text, const unsigned char *memory, int64_t width) {
    session s;
    int64_t shape[] = {1, width}, strides[] = {width, 1}, rows[] = {1}, sum = -1, late = -1;
    croft_tensor x = tensor_of((void *)(uintptr_t)memory, CROFT_UINT, 8, 2, shape, strides);
    croft_tensor z = tensor_of(&sum, CROFT_INT, 64, 1, rows, NULL);
    croft_tensor last = tensor_of(&late, CROFT_INT, 64, 1, rows, NULL);
    const croft_argument arguments[] = {named("x", &x), named("z", &z), named("late", &last)};
    int64_t expected = 0, at = width - 1;
    for (int64_t i = 0; i < PIECE; i++)
        expected += pattern(i) * (width / PIECE + (i < width % PIECE));
    while (pattern(at) != 255)
        at--;
    open_session(&s, text);
    run(&s, arguments, 3);
    assert_true(sum == expected);
    assert_true(late == at);
    close_session(&s);
}

static void a_row_may_have_more_elements_than_31_bits_count(void **state) {
    (void)state;
    if (!long_run)
        return;
    space memory = repeated(EDGE + 1);
    for (int64_t i = 0; i < PIECE; i++)
        memory.begin[i] = pattern(i);
    for (int64_t width = EDGE - 1; width <= EDGE + 1; width++)
        check_row(LONG_ROW("dynamic N"), memory.begin, width);
    check_row(LONG_ROW("N"), memory.begin, EDGE + 1);
    release(&memory);
}

/* ---- a long axis of rows that are one ---- */
static void an_axis_of_equal_rows_may_be_longer_than_31_bits_count(void **state) {
    (void)state;
    static const char text[] = "kernel columns(x: in i32[dynamic M, N], z: out i64[N]) {\n"
                               "    program j: N\n"
                               "    z[j] = sum(i64(x[:, j]) * i64(arange(M) % 3))\n"
                               "}\n";
    for (int64_t rows = EDGE - 1; long_run && rows <= EDGE + 1; rows += 2) {
        session s;
        int32_t cells[2] = {5, -7};
        int64_t sums[2] = {0}, shape[] = {rows, 2}, strides[] = {0, 1}, columns[] = {2};
        croft_tensor x = tensor_of(cells, CROFT_INT, 32, 2, shape, strides);
        croft_tensor z = tensor_of(sums, CROFT_INT, 64, 1, columns, NULL);
        const croft_argument arguments[] = {named("x", &x), named("z", &z)};
        int64_t weights = rows / 3 * 3 + (rows % 3 == 2);
        open_session(&s, text);
        run(&s, arguments, 2);
        assert_true(sums[0] == 5 * weights && sums[1] == -7 * weights);
        close_session(&s);
    }
}

/* ---- many programs ---- */
static void there_may_be_more_programs_than_31_bits_count(void **state) {
    (void)state;
    static const char text[] = "kernel each(x: in u8[R, 1], y: out u8[R, 1]) {\n"
                               "    program row: R\n"
                               "    y[row, :] = x[row, :] ^ u8(row % 256)\n"
                               "}\n";
    for (int64_t rows = EDGE - 1; long_run && rows <= EDGE + 1; rows++) {
        session s;
        unsigned char same = 0x5a;
        space memory = repeated(rows);
        int64_t shape[] = {rows, 1}, none[] = {0, 1}, dense[] = {1, 1};
        croft_tensor x = tensor_of(&same, CROFT_UINT, 8, 2, shape, none);
        croft_tensor y = tensor_of(memory.begin, CROFT_UINT, 8, 2, shape, dense);
        const croft_argument arguments[] = {named("x", &x), named("y", &y)};
        open_session(&s, text);
        run(&s, arguments, 2);
        for (int64_t i = 0; i < PIECE; i++)
            assert_int_equal(memory.begin[i], 0x5a ^ (i % 256));
        close_session(&s);
        release(&memory);
    }
}

/* ---- rows that lie far apart ---- */
enum { ROWS = 3, WIDTH = 100 };

static void rows_may_lie_more_than_31_bits_apart(void **state) {
    (void)state;
    for (int64_t apart = EDGE - 1; apart <= EDGE + 1; apart++) {
        session s;
        float near[ROWS * WIDTH], expected[ROWS * WIDTH];
        space in = sparse((ROWS * apart + WIDTH) * 4), out = sparse((ROWS * apart + WIDTH) * 4);
        float *x = (float *)(void *)in.begin, *y = (float *)(void *)out.begin;
        for (int i = 0; i < ROWS * WIDTH; i++)
            x[i / WIDTH * apart + i % WIDTH] = near[i] = (float)(i * 37 % 101) / 16.0f;
        matrix a, b;
        open_session(&s, SOFTMAX);
        for (int far = 0; far < 2; far++) {
            matrix_set(&a, far ? x : near, ROWS, WIDTH, far ? apart : WIDTH);
            matrix_set(&b, far ? y : expected, ROWS, WIDTH, far ? apart : WIDTH);
            const croft_argument arguments[] = {tensor_argument("x", &a), tensor_argument("y", &b)};
            run(&s, arguments, 2);
            croft_dispatch_free(s.dispatch);
            s.dispatch = NULL;
        }
        for (int row = 0; row < ROWS; row++)
            assert_memory_equal(y + row * apart, expected + row * WIDTH, WIDTH * sizeof(float));
        close_session(&s);
        release(&in);
        release(&out);
    }
}

/* ---- gathers ---- */
#define GATHER(width)                                                                              \
    "kernel gather(table: in u8[" width "], index: in i64[K], y: out u8[K]) {\n"                   \
    "    y[:] = table[index[:]]\n"                                                                 \
    "}\n"

static void an_index_may_have_more_than_31_bits(void **state) {
    (void)state;
    static const char *const texts[] = {GATHER("dynamic N"), GATHER("N")};
    int64_t index[] = {0, EDGE - 1, EDGE, EDGE + 1, -1, 2 * EDGE, EDGE / 2, INT64_MIN};
    enum { COUNT = sizeof index / sizeof *index };
    space memory = sparse(EDGE + 1);
    memory.begin[0] = 1, memory.begin[EDGE - 1] = 2, memory.begin[EDGE] = 3;
    memory.begin[EDGE / 2] = 4;
    static const unsigned char expected[] = {1, 2, 3, 0, 0, 0, 4, 0};
    for (int i = 0; i < 2; i++) {
        session s;
        unsigned char taken[COUNT];
        int64_t width[] = {EDGE + 1}, count[] = {COUNT};
        croft_tensor table = tensor_of(memory.begin, CROFT_UINT, 8, 1, width, NULL);
        croft_tensor indices = tensor_of(index, CROFT_INT, 64, 1, count, NULL);
        croft_tensor y = tensor_of(taken, CROFT_UINT, 8, 1, count, NULL);
        const croft_argument arguments[] = {named("table", &table), named("index", &indices),
                                            named("y", &y)};
        open_session(&s, texts[i]);
        assert_true(run(&s, arguments, 3) == 4);
        assert_memory_equal(taken, expected, COUNT);
        close_session(&s);
    }
    release(&memory);
}

/* ---- what 64 bits cannot count ---- */
static void check_refused(const char *text, const int64_t *shape, const int64_t *strides,
                          const char *slug) {
    session s;
    float cell = 0.0f;
    croft_diagnostic one = {.size = sizeof one};
    croft_tensor x = tensor_of(&cell, CROFT_FLOAT, 32, 3, shape, (int64_t[]){0, 0, 1});
    croft_tensor y = tensor_of(&cell, CROFT_FLOAT, 32, 3, shape, strides);
    const croft_argument arguments[] = {named("x", &x), named("y", &y)};
    open_session(&s, text);
    assert_int_equal(croft_prepare(s.kernel, arguments, 2, NULL, &s.dispatch, &s.findings),
                     CROFT_REJECTED);
    assert_int_equal(croft_diagnostics_at(s.findings, 0, &one), CROFT_OK);
    assert_string_equal(one.slug, slug);
    close_session(&s);
}

static void products_of_sizes_past_64_bits_are_refused(void **state) {
    (void)state;
    static const char text[] = "kernel each(x: in f32[A, B, N], y: out f32[A, B, N]) {\n"
                               "    program a: A, b: B\n"
                               "    y[a, b, :] = x[a, b, :]\n"
                               "}\n";
    const int64_t many = INT64_C(1) << 40;
    check_refused(text, (int64_t[]){many, many, 1}, NULL, "size-overflow");
    check_refused(text, (int64_t[]){many, many, 1}, (int64_t[]){many, 1, 1}, "size-overflow");
    check_refused(text, (int64_t[]){many, 4, 1}, (int64_t[]){many, 1, 1}, "tensor-range");
    check_refused(text, (int64_t[]){2, 2, 1}, (int64_t[]){INT64_MAX, 1, 1}, "tensor-range");
}

int main(int argc, char **argv) {
    (void)argv;
    long_run = argc > 1 && !SANITIZED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_may_have_more_elements_than_31_bits_count),
        cmocka_unit_test(an_axis_of_equal_rows_may_be_longer_than_31_bits_count),
        cmocka_unit_test(there_may_be_more_programs_than_31_bits_count),
        cmocka_unit_test(rows_may_lie_more_than_31_bits_apart),
        cmocka_unit_test(an_index_may_have_more_than_31_bits),
        cmocka_unit_test(products_of_sizes_past_64_bits_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
