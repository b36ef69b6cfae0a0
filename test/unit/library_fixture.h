/* What tests of the library share: contexts, tensors and arguments in a line each. */
#ifndef LIBRARY_FIXTURE_H
#define LIBRARY_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "croft.h"

#define SOFTMAX                                                                                    \
    "kernel softmax(x: in f32[R, N], y: out f32[R, N]) {\n"                                        \
    "    program row: R\n"                                                                         \
    "    t = x[row, :]\n"                                                                          \
    "    e = exp(t - max(t))\n"                                                                    \
    "    y[row, :] = e / sum(e)\n"                                                                 \
    "}\n"

#define SCALE                                                                                      \
    "kernel scale(x: in f32[R, N], y: out f32[R, N], a: f32 = 2.0) {\n"                            \
    "    program row: R\n"                                                                         \
    "    y[row, :] = x[row, :] * a\n"                                                              \
    "}\n"

/* A matrix of floats whose rows lie `step` apart. */
typedef struct matrix {
    int64_t shape[2], strides[2];
    croft_tensor tensor;
} matrix;

static inline void matrix_set(matrix *m, float *data, int64_t rows, int64_t width, int64_t step) {
    *m = (matrix){.shape = {rows, width}, .strides = {step, 1}};
    m->tensor = (croft_tensor){.data = data,
                               .device_type = CROFT_ON_CPU,
                               .rank = 2,
                               .dtype_code = CROFT_FLOAT,
                               .dtype_bits = 32,
                               .dtype_lanes = 1,
                               .shape = m->shape,
                               .strides = m->strides};
}

static inline croft_argument tensor_argument(const char *name, const matrix *m) {
    return (croft_argument){.name = name, .kind = CROFT_ARGUMENT_TENSOR, .tensor = &m->tensor};
}

static inline croft_status compile_text(croft_context *context, const char *text,
                                        croft_kernel **kernel, croft_diagnostics **findings) {
    croft_source source = {.size = sizeof source, .text = text, .name = "test.croft"};
    return croft_compile(context, &source, kernel, findings);
}

/* By a plan of this setting; NULL: any. */
static inline croft_status prepare_pair_set(croft_kernel *kernel, const matrix *x, const matrix *y,
                                            const char *set, croft_dispatch **dispatch,
                                            croft_diagnostics **findings) {
    const croft_argument arguments[] = {tensor_argument("x", x), tensor_argument("y", y)};
    const croft_prepare_options options = {.size = sizeof options, .plan_set = set};
    return croft_prepare(kernel, arguments, 2, &options, dispatch, findings);
}

static inline croft_status prepare_pair(croft_kernel *kernel, const matrix *x, const matrix *y,
                                        croft_dispatch **dispatch, croft_diagnostics **findings) {
    return prepare_pair_set(kernel, x, y, NULL, dispatch, findings);
}

/* Counts what is asked for and what is held. */
typedef struct meter {
    int64_t asked, failing; /* number of the request that fails; 0: none */
    int64_t held;           /* bytes */
} meter;

static inline void *metered(void *context, void *memory, size_t old_size, size_t new_size) {
    meter *m = context;
    if (new_size == 0) {
        m->held -= (int64_t)old_size;
        free(memory);
        return NULL;
    }
    if (++m->asked == m->failing)
        return NULL;
    void *moved = realloc(memory, new_size);
    if (moved != NULL)
        m->held += (int64_t)new_size - (int64_t)old_size;
    return moved;
}

#endif
