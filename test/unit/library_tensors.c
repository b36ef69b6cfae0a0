/* Tensors at the edges of what they may be: without elements, columns of one matrix, spans and
 * offsets past the address space. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "library_fixture.h"

#define BOX                                                                                        \
    "kernel box(x: in f32[A, B, N], y: out f32[A, B, N]) {\n"                                      \
    "    program a: A, b: B\n"                                                                     \
    "    y[a, b, :] = x[a, b, :] + 1.0\n"                                                          \
    "}\n"

enum { CELLS = 40000, AXES = 3 };

#define FAR (INT64_C(1) << 61)

static croft_context *context;
static croft_kernel *kernel;
static float cells[CELLS], others[CELLS];

typedef struct box {
    int64_t shape[AXES], strides[AXES];
} box;

static croft_tensor tensor_of(const box *b, float *data, bool dense) {
    return (croft_tensor){.data = data,
                          .device_type = CROFT_ON_CPU,
                          .rank = AXES,
                          .dtype_code = CROFT_FLOAT,
                          .dtype_bits = 32,
                          .dtype_lanes = 1,
                          .shape = b->shape,
                          .strides = dense ? NULL : b->strides};
}

/* The slug of the finding; "" where it is prepared. */
static const char *prepare(const croft_tensor *x, const croft_tensor *y,
                           croft_dispatch **dispatch) {
    static char slug[64];
    croft_diagnostics *findings = NULL;
    croft_diagnostic found = {.size = sizeof found};
    const croft_argument arguments[] = {{.name = "x", .tensor = x}, {.name = "y", .tensor = y}};
    croft_status status = croft_prepare(kernel, arguments, 2, NULL, dispatch, &findings);
    slug[0] = '\0';
    if (croft_diagnostics_at(findings, 0, &found) == CROFT_OK)
        snprintf(slug, sizeof slug, "%s", found.slug);
    assert_true((status == CROFT_OK) == (slug[0] == '\0'));
    croft_diagnostics_free(findings);
    return slug;
}

static void tensors_without_elements_have_no_bytes(void **state) {
    (void)state;
    static const box boxes[] = {
        {{0, 3, 4}, {0, 0, 1}},     {{5, 2, 0}, {0, 0, 1}},       {{0, FAR, 4}, {1, FAR, 1}},
        {{3, 0, 4}, {FAR, FAR, 9}}, {{FAR, 0, 4}, {FAR, FAR, 1}},
    };
    for (size_t i = 0; i < sizeof boxes / sizeof boxes[0]; i++)
        for (int dense = 0; dense < 2; dense++)
            for (int null = 0; null < 2; null++) {
                croft_dispatch *dispatch = NULL;
                float *data = null ? NULL : cells;
                const croft_tensor x = tensor_of(&boxes[i], data, dense);
                const croft_tensor y = tensor_of(&boxes[i], data, dense);
                if (boxes[i].strides[2] == 1 || dense)
                    assert_string_equal(prepare(&x, &y, &dispatch), "");
                else
                    assert_string_equal(prepare(&x, &y, &dispatch), "stride-last");
                if (dispatch != NULL) {
                    void *none[] = {NULL, NULL};
                    croft_launch_options moved = {.size = sizeof moved, .data = none};
                    assert_int_equal(croft_launch(dispatch, NULL, NULL), CROFT_OK);
                    assert_int_equal(croft_launch(dispatch, &moved, NULL), CROFT_OK);
                }
                croft_dispatch_free(dispatch);
            }
}

static void elements_need_memory_in_every_launch(void **state) {
    (void)state;
    const box b = {{2, 3, 4}, {12, 4, 1}};
    const croft_tensor x = tensor_of(&b, cells, false), y = tensor_of(&b, others, false);
    void *none[] = {cells, NULL};
    croft_launch_options moved = {.size = sizeof moved, .data = none};
    croft_dispatch *dispatch = NULL;
    assert_string_equal(prepare(&x, &y, &dispatch), "");
    assert_int_equal(croft_launch(dispatch, &moved, NULL), CROFT_MISUSE);
    croft_dispatch_free(dispatch);
}

static void an_offset_stays_in_the_address_space(void **state) {
    (void)state;
    const box b = {{2, 3, 4}, {12, 4, 1}};
    const croft_tensor x = tensor_of(&b, cells, false);
    croft_tensor y = tensor_of(&b, others, false);
    croft_dispatch *dispatch = NULL;
    y.byte_offset = (uint64_t)0 - 16;
    assert_string_equal(prepare(&x, &y, &dispatch), "tensor-range");
    y.byte_offset = (uint64_t)0 - (uint64_t)(uintptr_t)others;
    assert_string_equal(prepare(&x, &y, &dispatch), "tensor-range");
    y.byte_offset = 16;
    assert_string_equal(prepare(&x, &y, &dispatch), "");
    croft_dispatch_free(dispatch);
}

/* ---- overlap ---- */
/* Whether an element of one lies in the same cell as one of the other. */
static bool share_cells(const box *x, const box *y, int64_t apart) {
    static uint8_t taken[CELLS];
    memset(taken, 0, sizeof taken);
    for (int pass = 0; pass < 2; pass++) {
        const box *b = pass == 0 ? x : y;
        for (int64_t i = 0; i < b->shape[0]; i++)
            for (int64_t j = 0; j < b->shape[1]; j++)
                for (int64_t k = 0; k < b->shape[2]; k++) {
                    int64_t cell = i * b->strides[0] + j * b->strides[1] + k * b->strides[2];
                    cell += pass == 0 ? 0 : apart;
                    assert_true(cell >= 0 && cell < CELLS);
                    if (pass == 1 && taken[cell])
                        return true;
                    taken[cell] = 1;
                }
    }
    return false;
}

/* Columns of one matrix, whose rows lie between each other, are not the same bytes; and nothing
 * that shares a byte is taken for columns. */
static void columns_of_one_matrix_lie_apart(void **state) {
    (void)state;
    static const box boxes[] = {
        {{2, 3, 10}, {90, 30, 1}}, {{2, 3, 10}, {120, 30, 1}}, {{1, 6, 10}, {7, 30, 1}},
        {{2, 3, 10}, {60, 20, 1}}, {{6, 1, 10}, {30, 11, 1}},  {{2, 3, 10}, {0, 30, 1}},
        {{2, 3, 1}, {90, 30, 1}},  {{1, 1, 10}, {1, 1, 1}},
    };
    const int count = (int)(sizeof boxes / sizeof boxes[0]);
    int apart_between = 0, sharing = 0;
    for (int a = 0; a < count; a++)
        for (int b = 0; b < count; b++)
            for (int64_t apart = 0; apart < 65; apart += 5) {
                if (memcmp(boxes[a].shape, boxes[b].shape, sizeof boxes[a].shape) != 0 ||
                    boxes[b].strides[0] == 0 || (apart == 0 && a == b))
                    continue;
                croft_dispatch *dispatch = NULL;
                const croft_tensor x = tensor_of(&boxes[a], cells, false);
                const croft_tensor y = tensor_of(&boxes[b], cells + apart, false);
                bool refused = prepare(&x, &y, &dispatch)[0] != '\0';
                bool shared = share_cells(&boxes[a], &boxes[b], apart);
                assert_false(shared && !refused);
                apart_between += !refused;
                sharing += shared;
                croft_dispatch_free(dispatch);
            }
    assert_true(apart_between > 40 && sharing > 40);
}

static void columns_of_one_matrix_are_computed_from_each_other(void **state) {
    (void)state;
    for (int64_t width = 1; width <= 67; width += 11) {
        const box b = {{4, 8, width}, {8 * 2 * width, 2 * width, 1}};
        const croft_tensor x = tensor_of(&b, cells, false);
        const croft_tensor y = tensor_of(&b, cells + width, false);
        croft_dispatch *dispatch = NULL;
        for (int64_t i = 0; i < CELLS; i++)
            cells[i] = (float)i;
        assert_string_equal(prepare(&x, &y, &dispatch), "");
        assert_int_equal(croft_launch(dispatch, NULL, NULL), CROFT_OK);
        for (int64_t i = 0; i < CELLS; i++) {
            bool written = i < 32 * 2 * width && i % (2 * width) >= width;
            assert_true(cells[i] == (written ? (float)(i - width) + 1.0f : (float)i));
        }
        croft_dispatch_free(dispatch);
    }
}

static int begin(void **state) {
    (void)state;
    croft_config config = {.size = sizeof config, .threads = 2};
    return croft_context_create(&config, &context) != CROFT_OK ||
           compile_text(context, BOX, &kernel, NULL) != CROFT_OK;
}

static int finish(void **state) {
    (void)state;
    croft_kernel_free(kernel);
    croft_context_free(context);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_without_elements_have_no_bytes),
        cmocka_unit_test(elements_need_memory_in_every_launch),
        cmocka_unit_test(an_offset_stays_in_the_address_space),
        cmocka_unit_test(columns_of_one_matrix_lie_apart),
        cmocka_unit_test(columns_of_one_matrix_are_computed_from_each_other),
    };
    return cmocka_run_group_tests(tests, begin, finish);
}
