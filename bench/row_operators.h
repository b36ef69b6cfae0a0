/*
 * The six row operators as data: the parameters of each example, where their arrays come from, and
 * the scalar baseline of the same function.
 *
 *     problem = bench_problem_make(&bench_operators[1], 64, 4096)
 *     bench_scalar_run(problem)                      softmax into problem->scalar_output
 */
#ifndef BENCH_ROW_OPERATORS_H
#define BENCH_ROW_OPERATORS_H

#include <stdbool.h>
#include <stdint.h>

enum { BENCH_OPERATORS = 6, BENCH_PARAMETERS = 5 };

/* What an array is: its shape, element type and contents. */
typedef enum bench_role {
    BENCH_X,        /* f32[rows, width], normal */
    BENCH_RESIDUAL, /* f32[rows, width], normal */
    BENCH_WEIGHT,   /* f32[width], normal */
    BENCH_BIAS,     /* f32[width], normal */
    BENCH_LABEL,    /* i32[rows], in the row, every 16th ignored (-100) */
    BENCH_TILE,     /* output f32[rows, width] */
    BENCH_ROW,      /* output f32[rows] */
    BENCH_ROLES
} bench_role;

typedef struct bench_parameter {
    const char *name; /* as in the example's kernel; NULL past the last */
    bench_role role;
} bench_parameter;

typedef struct bench_problem bench_problem;

typedef struct bench_operator {
    const char *name; /* of the kernel and, with .croft, of its file */
    bench_parameter parameters[BENCH_PARAMETERS];
    void (*scalar)(const bench_problem *problem);
} bench_operator;

struct bench_problem {
    const bench_operator *row_operator;
    int64_t rows, width;
    void *arrays[BENCH_ROLES]; /* by role; the output is Croft's */
    float *scalar_output;      /* as large as the output */
    int64_t output_count;
};

extern const bench_operator bench_operators[BENCH_OPERATORS];

/* Arrays filled from a fixed seed, outputs with NaN. NULL when memory is short. */
bench_problem *bench_problem_make(const bench_operator *row_operator, int64_t rows, int64_t width);
void bench_problem_free(bench_problem *problem);

bench_role bench_output_role(const bench_operator *row_operator);

/* A bench_arm; the state is a bench_problem. */
void bench_scalar_run(void *problem);

/* The largest difference of the two outputs, relative to max(1, |scalar's|); inf where one is NaN
 * alone. */
double bench_difference(const bench_problem *problem);

/* Fills count floats from a fixed seed with values that look normal. */
void bench_fill_normal(float *values, int64_t count, uint64_t seed);

#endif
