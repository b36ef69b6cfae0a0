/* The six row operators as data: see row_operators.h. */
#include "row_operators.h"

#include "scalar_rows.h"

#include <math.h>
#include <stdlib.h>

static const float *input(const bench_problem *problem, bench_role role) {
    return problem->arrays[role];
}

static void run_sum(const bench_problem *p) {
    scalar_sum(input(p, BENCH_X), p->scalar_output, p->rows, p->width);
}

static void run_softmax(const bench_problem *p) {
    scalar_softmax(input(p, BENCH_X), p->scalar_output, p->rows, p->width);
}

static void run_rmsnorm(const bench_problem *p) {
    scalar_rmsnorm(input(p, BENCH_X), input(p, BENCH_WEIGHT), p->scalar_output, p->rows, p->width,
                   1e-5F);
}

static void run_layernorm(const bench_problem *p) {
    scalar_layernorm(input(p, BENCH_X), input(p, BENCH_WEIGHT), input(p, BENCH_BIAS),
                     p->scalar_output, p->rows, p->width, 1e-5F);
}

static void run_residual_layernorm(const bench_problem *p) {
    scalar_residual_layernorm(input(p, BENCH_X), input(p, BENCH_RESIDUAL), input(p, BENCH_WEIGHT),
                              input(p, BENCH_BIAS), p->scalar_output, p->rows, p->width, 1e-5F);
}

static void run_cross_entropy(const bench_problem *p) {
    scalar_cross_entropy(input(p, BENCH_X), p->arrays[BENCH_LABEL], p->scalar_output, p->rows,
                         p->width, -100);
}

const bench_operator bench_operators[BENCH_OPERATORS] = {
    {"sum", {{"x", BENCH_X}, {"y", BENCH_ROW}}, run_sum},
    {"softmax", {{"x", BENCH_X}, {"y", BENCH_TILE}}, run_softmax},
    {"rmsnorm", {{"x", BENCH_X}, {"w", BENCH_WEIGHT}, {"y", BENCH_TILE}}, run_rmsnorm},
    {"layernorm",
     {{"x", BENCH_X}, {"w", BENCH_WEIGHT}, {"b", BENCH_BIAS}, {"y", BENCH_TILE}},
     run_layernorm},
    {"residual_layernorm",
     {{"x", BENCH_X},
      {"residual", BENCH_RESIDUAL},
      {"w", BENCH_WEIGHT},
      {"b", BENCH_BIAS},
      {"y", BENCH_TILE}},
     run_residual_layernorm},
    {"cross_entropy",
     {{"logits", BENCH_X}, {"label", BENCH_LABEL}, {"loss", BENCH_ROW}},
     run_cross_entropy},
};

static uint64_t random_next(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

void bench_fill_normal(float *values, int64_t count, uint64_t seed) {
    for (int64_t i = 0; i < count; i++) {
        int sum = 0; /* of four 16-bit uniforms: mean 131070, standard deviation 37837 */
        for (uint64_t bits = random_next(&seed), k = 0; k < 4; k++, bits >>= 16) {
            sum += (int)(bits & 0xffff);
        }
        values[i] = (float)(sum - 131070) / 37837.0F;
    }
}

static int64_t role_count(const bench_problem *problem, bench_role role) {
    switch (role) {
    case BENCH_X:
    case BENCH_RESIDUAL:
    case BENCH_TILE:
        return problem->rows * problem->width;
    case BENCH_WEIGHT:
    case BENCH_BIAS:
        return problem->width;
    case BENCH_LABEL:
    case BENCH_ROW:
        return problem->rows;
    case BENCH_ROLES:
        break;
    }
    return 0;
}

static void role_fill(bench_problem *problem, bench_role role, int64_t count) {
    if (role == BENCH_LABEL) {
        int32_t *label = problem->arrays[role];
        uint64_t seed = 7;
        for (int64_t i = 0; i < count; i++) {
            label[i] =
                i % 16 == 15 ? -100 : (int32_t)(random_next(&seed) % (uint64_t)problem->width);
        }
        return;
    }
    float *values = problem->arrays[role];
    if (role == BENCH_TILE || role == BENCH_ROW) {
        for (int64_t i = 0; i < count; i++) {
            values[i] = NAN;
        }
        return;
    }
    bench_fill_normal(values, count, 1 + (uint64_t)role);
}

bench_role bench_output_role(const bench_operator *row_operator) {
    bench_role role = BENCH_TILE;
    for (int i = 0; i < BENCH_PARAMETERS && row_operator->parameters[i].name != NULL; i++) {
        role = row_operator->parameters[i].role;
    }
    return role;
}

bench_problem *bench_problem_make(const bench_operator *row_operator, int64_t rows, int64_t width) {
    bench_problem *problem = calloc(1, sizeof *problem);
    if (problem == NULL) {
        return NULL;
    }
    problem->row_operator = row_operator;
    problem->rows = rows;
    problem->width = width;
    for (int i = 0; i < BENCH_PARAMETERS && row_operator->parameters[i].name != NULL; i++) {
        bench_role role = row_operator->parameters[i].role;
        int64_t count = role_count(problem, role);
        size_t bytes = ((size_t)count * sizeof(float) + 63) / 64 * 64;
        problem->arrays[role] = aligned_alloc(64, bytes > 0 ? bytes : 64);
        if (problem->arrays[role] == NULL) {
            bench_problem_free(problem);
            return NULL;
        }
        role_fill(problem, role, count);
    }
    problem->output_count = role_count(problem, bench_output_role(row_operator));
    problem->scalar_output = calloc((size_t)problem->output_count + 1, sizeof(float));
    if (problem->scalar_output == NULL) {
        bench_problem_free(problem);
        return NULL;
    }
    return problem;
}

void bench_problem_free(bench_problem *problem) {
    if (problem == NULL) {
        return;
    }
    for (int role = 0; role < BENCH_ROLES; role++) {
        free(problem->arrays[role]);
    }
    free(problem->scalar_output);
    free(problem);
}

void bench_scalar_run(void *problem) {
    const bench_problem *p = problem;
    p->row_operator->scalar(p);
}

double bench_difference(const bench_problem *problem) {
    const float *got = problem->arrays[bench_output_role(problem->row_operator)];
    double worst = 0.0;
    for (int64_t i = 0; i < problem->output_count; i++) {
        double a = (double)got[i], b = (double)problem->scalar_output[i];
        if (isnan(a) && isnan(b)) {
            continue;
        }
        double difference = fabs(a - b) / fmax(1.0, fabs(b));
        worst = difference <= worst ? worst : isnan(difference) ? INFINITY : difference;
    }
    return worst;
}
