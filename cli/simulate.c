/* run --target sim: the thread IR lane by lane, what it does wrong printed.
 *
 *     croft run --target sim softmax.croft x=randn:4x1009 y=-    what the compiler made of a kernel
 *     croft run --target sim k.ir x=randn:4x1009 y=-             an IR text, right or wrong
 *
 * An IR text is run as it stands, verified or not, and findings point at its own lines. Its outputs
 * are compared with the program that it implements, where the text records one and --check is
 * given.
 */
#include "simulate.h"

#include "answer.h"
#include "hash.h"
#include "inputs.h"
#include "job.h"
#include "npy.h"
#include "output.h"
#include "run_json.h"
#include "variant.h"
#include "workspace.h"

#include "sim/thread.h"
#include "text/ir_parse.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD_BYTES = 4096 };

/* ---- a launch ---- */

static int64_t scalar_bits(const ir_constant *constant) {
    int64_t word = 0;
    float real = (float)constant->real;
    if (constant->dtype == BASE_F32) {
        memcpy(&word, &real, sizeof real);
        return word;
    }
    if (constant->dtype == BASE_F16)
        return base_f16_from_double(constant->real);
    if (constant->dtype == BASE_BF16)
        return base_bf16_from_double(constant->real);
    int64_t size = base_dtype_size(constant->dtype);
    return size == 8 ? constant->integer : constant->integer & (((int64_t)1 << (8 * size)) - 1);
}

int64_t cli_launch_pack(const ir_module *module, const int64_t *sizes, cli_array *const *arrays,
                        const ir_constant *scalars, void **pointers, int64_t *words) {
    int64_t count = module->extents.symbol_count;
    int pointer = 0;
    memcpy(words, sizes, (size_t)count * sizeof *words);
    for (int i = 0; i < module->parameter_count; i++) {
        const cli_array *array = arrays[i];
        if (array == NULL)
            continue;
        int64_t stride = 1;
        for (int k = array->rank - 1; k >= 0; k--) {
            words[count + k] = stride;
            stride *= array->extent[k] > 0 ? array->extent[k] : 1;
        }
        count += array->rank;
        pointers[pointer++] = array->data;
    }
    for (int i = 0; i < module->parameter_count; i++)
        if (arrays[i] == NULL)
            words[count++] = scalar_bits(&scalars[i]);
    return count;
}

static int run_guarded(const cli_options *options, base_arena *arena, const ir_module *module,
                       void *const *pointers, const int64_t *words) {
    jmp_buf exhausted;
    arena->exhausted = &exhausted;
    if (setjmp(exhausted) != 0)
        return cli_refuse(options, CLI_EXIT_SYSTEM, "out-of-memory", NULL,
                          "out of memory in the simulator");
    sim_options how = {.last_group = -1, .checked = options->check, .watch = true};
    base_diagnostics findings;
    base_diagnostics_init(&findings, arena);
    sim_status status = sim_thread_run(arena, module, pointers, words, &how, &findings);
    cli_say_findings(options, &findings);
    switch (status) {
    case SIM_OK:
        return CLI_EXIT_OK;
    case SIM_FOUND:
        return CLI_EXIT_CHECK_FAILED;
    case SIM_REFUSED:
        break;
    }
    return CLI_EXIT_DIAGNOSTICS;
}

int cli_simulate(const cli_options *options, const ir_module *module, const int64_t *sizes,
                 cli_array *const *arrays, const ir_constant *scalars) {
    void *pointers[CLI_ARGUMENT_LIMIT];
    int64_t *words = calloc(CLI_WORDS_LIMIT, sizeof *words);
    if (words == NULL)
        return CLI_EXIT_SYSTEM;
    base_arena arena;
    base_arena_init(&arena, base_allocator_default(), NULL);
    cli_launch_pack(module, sizes, arrays, scalars, pointers, words);
    int status = run_guarded(options, &arena, module, pointers, words);
    base_arena_free(&arena);
    free(words);
    return status;
}

/* One launch after the other, whatever one is found to do wrong. */
static int simulate_launches(cli_job *job, const cli_workspace *workspace,
                             const ir_constant *scalars) {
    const compile_result *compiled = &job->compiled;
    int status = CLI_EXIT_OK;
    for (int i = 0; i < compiled->launch_count; i++) {
        int one = cli_simulate(job->options, compiled->launches[i].module, compiled->bindings.sizes,
                               workspace->arrays, scalars);
        if (one != CLI_EXIT_OK && one != CLI_EXIT_CHECK_FAILED)
            return one;
        status = one != CLI_EXIT_OK ? one : status;
    }
    cli_workspace_add_faults(workspace, job);
    return cli_workspace_is_intact(job->options, workspace) ? status : CLI_EXIT_CHECK_FAILED;
}

int cli_simulate_job(cli_job *job, cli_array *const *arrays, const ir_constant *scalars) {
    void *pointers[CLI_ARGUMENT_LIMIT];
    int64_t *words = calloc(CLI_WORDS_LIMIT, sizeof *words);
    if (words == NULL)
        return CLI_EXIT_SYSTEM;
    cli_workspace workspace;
    int status = cli_workspace_open(&workspace, job, arrays);
    if (status == CLI_EXIT_OK) {
        cli_launch_pack(workspace.module, job->compiled.bindings.sizes, workspace.arrays, scalars,
                        pointers, words);
        status = cli_variant_choose(job, pointers, words);
    }
    free(words);
    if (status == CLI_EXIT_OK && job->options->check && !job->options->json &&
        job->compiled.log.erased > 0)
        printf("layouts: the kernel's own are erased on %s; --machine sm_90 keeps them\n",
               job->machine->name);
    if (status == CLI_EXIT_OK)
        status = simulate_launches(job, &workspace, scalars);
    cli_workspace_close(&workspace);
    return status;
}

/* ---- an IR text ---- */

typedef struct text_run {
    const cli_options *options;
    base_arena arena;
    base_diagnostics diagnostics;
    base_source source;
    ir_module *module;
    cli_inputs inputs;
    cli_array before[CLI_ARGUMENT_LIMIT]; /* with --check: the tensors as they were */
} text_run;

bool cli_is_ir_text(const char *path) {
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".ir") == 0;
}

/* Outputs get their memory, and with --check a copy of every tensor is kept. */
static bool make_arrays(text_run *run) {
    for (int i = 0; i < run->module->parameter_count; i++) {
        const ir_parameter *parameter = &run->module->parameters[i];
        sim_tensor *tensor = &run->inputs.tensors[i];
        cli_array *array = &run->inputs.arrays[i];
        if (!parameter->is_tensor)
            continue;
        cli_array made;
        if (!cli_array_create(&made, parameter->dtype, tensor->rank, tensor->extent, GUARD_BYTES,
                              parameter->name, &run->diagnostics))
            return false;
        if (array->memory == NULL)
            cli_array_fill_unwritten(&made);
        else
            memcpy(made.data, array->data, (size_t)array->size_bytes);
        run->before[i] = *array;
        *array = made;
        tensor->data = run->before[i].data;
        for (int64_t d = tensor->rank - 1, stride = 1; d >= 0; d--) {
            tensor->stride[d] = stride;
            stride *= tensor->extent[d] > 0 ? tensor->extent[d] : 1;
        }
    }
    return true;
}

static bool check_output(text_run *run, const sim_reference *reference, int i) {
    const ir_parameter *parameter = &run->module->parameters[i];
    sim_tensor got = run->inputs.tensors[i];
    got.data = run->inputs.arrays[i].data;
    cli_run_check check = {.name = parameter->name,
                           .array = &run->inputs.arrays[i],
                           .result =
                               sim_compare(&reference->tensors[i], &got, run->options->tolerance),
                           .guards = cli_array_guards_intact(&run->inputs.arrays[i])};
    check.good = check.result.failed == 0 && check.guards;
    cli_say_check(run->options, &check);
    return check.good;
}

/* Against the tile program that the text says it implements. */
static int check_outputs(text_run *run) {
    const ir_module *implemented = run->module->implements;
    if (implemented == NULL)
        return cli_refuse(run->options, CLI_EXIT_USAGE, "program-not-recorded", NULL,
                          "nothing to check: the text records no program that it implements");
    sim_reference reference;
    int status = CLI_EXIT_OK;
    sim_reference_run(&run->arena, implemented, NULL, run->inputs.sizes, run->inputs.tensors,
                      run->inputs.scalars, &reference);
    for (int i = 0; i < run->module->parameter_count; i++)
        if (run->module->parameters[i].is_tensor && run->module->parameters[i].mode != IR_IN &&
            !check_output(run, &reference, i))
            status = CLI_EXIT_CHECK_FAILED;
    return status;
}

static void print_hashes(const text_run *run) {
    const char *names[CLI_ARGUMENT_LIMIT];
    const cli_array *arrays[CLI_ARGUMENT_LIMIT];
    for (int i = 0; i < run->module->parameter_count; i++) {
        const ir_parameter *parameter = &run->module->parameters[i];
        bool is_output = parameter->is_tensor && parameter->mode != IR_IN;
        names[i] = parameter->name;
        arrays[i] = is_output ? &run->inputs.arrays[i] : NULL;
    }
    cli_print_hashes(names, arrays, run->module->parameter_count);
}

static int write_outputs(text_run *run) {
    for (int i = 0; i < run->module->parameter_count; i++) {
        const char *path = run->inputs.output_path[i];
        cli_output output = {0};
        if (path == NULL)
            continue;
        if (strcmp(path, "-") == 0)
            cli_print_array(run->options, run->module->parameters[i].name, &run->inputs.arrays[i]);
        else if (!cli_npy_stage(&output, path, &run->inputs.arrays[i], &run->diagnostics) ||
                 !cli_output_commit(&output, &run->diagnostics))
            return CLI_EXIT_SYSTEM;
    }
    if (run->options->hash && !run->options->json)
        print_hashes(run);
    return CLI_EXIT_OK;
}

static void say_run(const text_run *run) {
    cli_run_report report = {.options = run->options,
                             .target = "sim",
                             .module = run->module,
                             .parameter_count = run->module->parameter_count,
                             .faults = -1,
                             .sizes = run->inputs.sizes};
    for (int i = 0; i < run->module->parameter_count; i++) {
        report.arrays[i] = run->module->parameters[i].is_tensor ? &run->inputs.arrays[i] : NULL;
        report.paths[i] = run->inputs.output_path[i];
    }
    cli_say_run(&report);
}

static int run_module(text_run *run) {
    cli_array *arrays[CLI_ARGUMENT_LIMIT] = {NULL};
    if (!make_arrays(run))
        return CLI_EXIT_SYSTEM;
    for (int i = 0; i < run->module->parameter_count; i++)
        arrays[i] = run->module->parameters[i].is_tensor ? &run->inputs.arrays[i] : NULL;
    cli_run_open_lists(run->options);
    int status =
        cli_simulate(run->options, run->module, run->inputs.sizes, arrays, run->inputs.scalars);
    if (status != CLI_EXIT_OK && status != CLI_EXIT_CHECK_FAILED)
        return status;
    int checked = run->options->check ? check_outputs(run) : CLI_EXIT_OK;
    int written = write_outputs(run);
    if (written == CLI_EXIT_OK && checked != CLI_EXIT_USAGE)
        say_run(run);
    return written != CLI_EXIT_OK ? written : checked != CLI_EXIT_OK ? checked : status;
}

static int run_text(text_run *run) {
    jmp_buf exhausted;
    run->arena.exhausted = &exhausted;
    if (setjmp(exhausted) != 0)
        return cli_out_of_memory(run->options);
    if (!cli_read_file(&run->arena, run->options->file, &run->source, &run->diagnostics))
        return CLI_EXIT_SYSTEM;
    run->module = text_ir_parse_in_place(&run->arena, &run->source, &run->diagnostics);
    if (run->module == NULL || run->diagnostics.count > 0 ||
        !cli_inputs_read(&run->inputs, run->module, run->options, &run->diagnostics))
        return CLI_EXIT_DIAGNOSTICS;
    return run_module(run);
}

int cli_simulate_file(const cli_options *options) {
    if (options->count_faults)
        return cli_refuse(options, CLI_EXIT_USAGE, "option-use", NULL,
                          "--count-faults: an IR text is run as it stands");
    text_run *run = calloc(1, sizeof *run);
    if (run == NULL)
        return CLI_EXIT_SYSTEM;
    run->options = options;
    base_arena_init(&run->arena, base_allocator_default(), NULL);
    base_diagnostics_init(&run->diagnostics, &run->arena);
    int status = run_text(run);
    cli_say_findings(options, &run->diagnostics);
    cli_inputs_free(&run->inputs);
    for (int i = 0; i < CLI_ARGUMENT_LIMIT; i++)
        cli_array_free(&run->before[i]);
    base_arena_free(&run->arena);
    free(run);
    return status;
}
