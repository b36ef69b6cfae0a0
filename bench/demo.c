/*
 * The demonstration: six row operators on four shapes, each compiled from examples/, checked
 * against the FP64 reference and timed against plain C in the same run.
 *
 *     softmax              64x4096    0.143 ms    13.2x    5.9e-08    9.5e-07  ok
 *
 * Ends with 1 when an output is outside its bound. Gates are bench/rows.c's business.
 */
#include "croft_kernel.h"
#include "measure.h"
#include "row_operators.h"

#include "runtime/cpu.h"
#include "sim/reference.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPES = 4, ROUNDS = 5 };

static const int64_t shapes[SHAPES][2] = {{1, 127}, {17, 257}, {128, 1024}, {64, 4096}};

/* The parameters of the module as the reference wants them. */
static void describe(const bench_kernel *kernel, const bench_problem *problem, sim_tensor *tensors,
                     ir_constant *scalars) {
    const ir_module *module = kernel->compiled.tile;
    int tensor = 0;
    for (int i = 0; i < module->parameter_count; i++) {
        const ir_parameter *parameter = &module->parameters[i];
        if (!parameter->is_tensor) {
            scalars[i] = parameter->initial;
            continue;
        }
        int rank = parameter->value->type.rank;
        bench_role role = problem->row_operator->parameters[tensor++].role;
        bool by_row = role == BENCH_ROW || role == BENCH_LABEL;
        tensors[i] = (sim_tensor){.dtype = parameter->dtype,
                                  .rank = rank,
                                  .extent = {rank == 2 || by_row ? problem->rows : problem->width},
                                  .stride = {rank == 2 ? problem->width : 1},
                                  .data = problem->arrays[role]};
        if (rank == 2) {
            tensors[i].extent[1] = problem->width;
            tensors[i].stride[1] = 1;
        }
    }
}

/* Compares what the kernel wrote with the reference; false when memory ran out. */
static bool check(const bench_kernel *kernel, const bench_problem *problem,
                  sim_comparison *comparison) {
    enum { PARAMETERS = 16 };
    base_arena arena;
    jmp_buf exhausted;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    if (setjmp(exhausted) != 0) {
        base_arena_free(&arena);
        return false;
    }
    const ir_module *module = kernel->compiled.tile;
    sim_tensor tensors[PARAMETERS] = {0};
    ir_constant scalars[PARAMETERS] = {0};
    describe(kernel, problem, tensors, scalars);
    sim_reference reference;
    sim_reference_run(&arena, module, kernel->compiled.plan, kernel->compiled.bindings.sizes,
                      tensors, scalars, &reference);
    int output = 0;
    for (int i = 0; i < module->parameter_count; i++) {
        if (module->parameters[i].is_tensor && module->parameters[i].mode == IR_OUT) {
            output = i;
        }
    }
    *comparison = sim_compare(&reference.tensors[output], &tensors[output], 0.0);
    base_arena_free(&arena);
    return true;
}

static bool show(runtime_device *device, const bench_operator *row_operator, int64_t rows,
                 int64_t width) {
    bench_problem *problem = bench_problem_make(row_operator, rows, width);
    bench_kernel kernel;
    sim_comparison comparison;
    if (problem == NULL) {
        return false;
    }
    bool good = bench_kernel_open(&kernel, device, problem, stdout);
    if (good) {
        bench_kernel_run(&kernel);
        good = check(&kernel, problem, &comparison);
    }
    if (good) {
        good = comparison.failed == 0;
        bench_pair pair =
            bench_compare(bench_kernel_run, &kernel, bench_scalar_run, problem, ROUNDS, 0.002);
        printf("%-20s %4d x %-4d %11.4f ms %8.1fx %12.1e %10.1e  %s\n", row_operator->name,
               (int)rows, (int)width, pair.a_s * 1e3, pair.ratio, comparison.largest_error,
               comparison.its_bound, good ? "ok" : "OUTSIDE ITS BOUND");
    }
    bench_kernel_close(&kernel);
    bench_problem_free(problem);
    return good;
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    runtime_cpu_config config = {.compiler = {.path = getenv("PATH")}};
    runtime_device *device = runtime_cpu_create(base_allocator_default(), &config);
    if (device == NULL) {
        fprintf(stderr, "out of memory\n");
        return 1;
    }
    bool good = true;
    printf("machine %s\n\n", machine_host()->name);
    printf("%-20s %-11s %14s %9s %12s %10s\n", "operator", "shape", "time", "plain C", "error",
           "bound");
    for (int i = 0; i < BENCH_OPERATORS; i++) {
        for (int s = 0; s < SHAPES; s++) {
            good = show(device, &bench_operators[i], shapes[s][0], shapes[s][1]) && good;
        }
    }
    device->vtable->destroy(device);
    return good ? 0 : 1;
}
