/* run: a kernel on arrays, checked against the reference when asked.
 *
 *     arguments -> compile -> outputs allocated between guards -> launch -> compare -> files
 *
 * Nothing is written before everything has run, and no file is replaced before all are on disk.
 */
#include "answer.h"
#include "cache.h"
#include "hash.h"
#include "job.h"
#include "launch.h"
#include "npy.h"
#include "output.h"
#include "run_json.h"
#include "simulate.h"
#include "workspace.h"

#include "runtime/cuda.h"
#include "runtime/devices.h"
#include "runtime/metal.h"
#include "runtime/opencl.h"
#include "sim/reference.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD_BYTES = 4096 };

typedef struct run_state {
    cli_job *job;
    const ir_module *module; /* level tile: the parameters */
    int own_count;           /* those of the kernel, of which there are arguments */
    bool reference_only, simulated;
    runtime_device *device;                    /* NULL: the cpu, which is made when it is used */
    cli_argument *tensors[CLI_ARGUMENT_LIMIT]; /* by module parameter; NULL for scalars */
    cli_array before[CLI_ARGUMENT_LIMIT];      /* inout: the input, for the reference */
    ir_constant scalars[CLI_ARGUMENT_LIMIT];
    sim_reference reference;
} run_state;

/* ---- arguments ---- */

static ir_constant scalar_constant(const text_argument *argument, base_dtype dtype) {
    ir_constant constant = {.dtype = dtype, .integer = argument->integer, .real = argument->number};
    if (argument->is_integer)
        constant.real = (double)argument->integer;
    constant.real = base_float_round(dtype, constant.real);
    return constant;
}

static cli_argument *find_argument(cli_job *job, const char *name) {
    for (int i = 0; i < job->argument_count; i++)
        if (strcmp(job->arguments[i].text.name, name) == 0)
            return &job->arguments[i];
    return NULL;
}

/* Makes the outputs, and copies of inout arrays when the reference will need the input. */
static int make_arrays(run_state *run) {
    cli_job *job = run->job;
    const text_bindings *bindings = &job->compiled.bindings;
    for (int i = 0; i < run->own_count; i++) {
        const ir_parameter *parameter = &run->module->parameters[i];
        const text_argument *bound = &bindings->arguments[i];
        if (!parameter->is_tensor) {
            run->scalars[i] = scalar_constant(bound, parameter->dtype);
            continue;
        }
        cli_argument *argument = find_argument(job, parameter->name);
        run->tensors[i] = argument;
        cli_array *array = &argument->array;
        cli_array input = *array;
        bool made = true;
        if (parameter->mode == IR_IN)
            continue;
        if (run->job->options->check || run->reference_only || parameter->mode == IR_OUT)
            made = cli_array_create(array, bound->dtype, bound->rank, bound->extent, GUARD_BYTES,
                                    parameter->name, &job->diagnostics);
        if (made && array->memory != input.memory && parameter->mode == IR_INOUT) {
            memcpy(array->data, input.data, (size_t)input.size_bytes);
            run->before[i] = input;
        } else if (made && job->options->check) {
            cli_array_fill_unwritten(array);
        }
        if (!made) {
            *array = input;
            cli_say_findings(job->options, &job->diagnostics);
            return CLI_EXIT_SYSTEM;
        }
    }
    return CLI_EXIT_OK;
}

/* With --offset: all arrays, moved. */
static int move_arrays(run_state *run) {
    cli_job *job = run->job;
    for (int i = 0; job->options->offset > 0 && i < run->own_count; i++) {
        if (run->tensors[i] == NULL ||
            cli_array_move(&run->tensors[i]->array, job->options->offset, GUARD_BYTES,
                           run->module->parameters[i].name, &job->diagnostics))
            continue;
        cli_say_findings(job->options, &job->diagnostics);
        return CLI_EXIT_SYSTEM;
    }
    return CLI_EXIT_OK;
}

/* ---- devices ---- */

/* The arrays of the parameters, NULL for scalars. */
static void list_arrays(const run_state *run, cli_array *arrays[CLI_ARGUMENT_LIMIT]) {
    for (int i = 0; i < run->own_count; i++)
        arrays[i] = run->tensors[i] != NULL ? &run->tensors[i]->array : NULL;
}

/* A plan whose program spills makes room for one with fewer values in registers. */
static int launch(run_state *run) {
    for (;;) {
        cli_array *arrays[CLI_ARGUMENT_LIMIT];
        list_arrays(run, arrays);
        cli_launch what = {
            .job = run->job, .module = run->module, .arrays = arrays, .scalars = run->scalars};
        int status =
            run->device != NULL ? cli_launch_device(&what, run->device) : cli_launch_cpu(&what);
        if (!what.spilled || status != CLI_EXIT_OK)
            return status;
        status = cli_job_hold_less(run->job);
        run->module = run->job->compiled.tile;
        if (status != CLI_EXIT_OK)
            return status;
    }
}

/* ---- the simulator ---- */

static int launch_sim(run_state *run) {
    cli_array *arrays[CLI_ARGUMENT_LIMIT];
    list_arrays(run, arrays);
    return cli_simulate_job(run->job, arrays, run->scalars);
}

/* ---- the reference ---- */

static sim_tensor as_sim_tensor(const cli_array *array) {
    sim_tensor tensor = {.dtype = array->dtype, .rank = array->rank, .data = array->data};
    int64_t stride = 1;
    for (int k = array->rank - 1; k >= 0; k--) {
        tensor.extent[k] = array->extent[k];
        tensor.stride[k] = stride;
        stride *= array->extent[k] > 0 ? array->extent[k] : 1;
    }
    return tensor;
}

/* `index 9 of dimension 1 of `x` is outside [0, 8), program (3)` */
static void describe_fault(base_text *out, const ir_module *module, const sim_fault *fault) {
    if (fault->last > fault->index)
        base_text_format(out, "indices %lld to %lld of", (long long)fault->index,
                         (long long)fault->last);
    else
        base_text_format(out, "index %lld of", (long long)fault->index);
    base_text_format(out, " dimension %d of `%s` %s outside [0, %lld)", fault->dimension,
                     fault->tensor, fault->last > fault->index ? "are" : "is",
                     (long long)fault->extent);
    for (int i = 0; i < module->program_count; i++)
        base_text_format(out, "%s%lld", i == 0 ? ", program (" : ", ",
                         (long long)fault->program[i]);
    base_text_string(out, module->program_count > 0 ? ")" : "");
}

static const char fault_hint[] =
    "`fill=` among the indices says what is read outside, and that it is meant";

static void print_faults(const base_diagnostics *faults) {
    for (int i = 0; i < faults->count; i++) {
        const base_location *at = &faults->items[i].location;
        fprintf(stderr, "%s:%d: fault: %s\n", at->source != NULL ? at->source->name : "kernel",
                (int)at->line, faults->items[i].message);
    }
    if (faults->dropped > 0)
        fprintf(stderr, "and %lld more\n", (long long)faults->dropped);
    fprintf(stderr, "  hint: %s\n", fault_hint);
}

static int say_faults(const run_state *run) {
    const sim_reference *reference = &run->reference;
    base_diagnostics faults;
    base_diagnostics_init(&faults, &run->job->arena);
    faults.dropped = reference->fault_total;
    for (int i = 0; i < reference->fault_count; i++) {
        const sim_fault *fault = &reference->faults[i];
        base_text text;
        base_text_init(&text, faults.arena);
        describe_fault(&text, run->module, fault);
        base_diagnostics_add(&faults, "index-outside", fault->location, "%s", text.bytes)->hint =
            fault_hint;
        faults.dropped -= fault->last - fault->index + 1;
    }
    if (reference->fault_total == 0)
        return CLI_EXIT_OK;
    if (run->job->options->json)
        cli_say_findings(run->job->options, &faults);
    else
        print_faults(&faults);
    return CLI_EXIT_CHECK_FAILED;
}

static int run_reference(run_state *run) {
    sim_tensor tensors[CLI_ARGUMENT_LIMIT];
    for (int i = 0; i < run->own_count; i++)
        if (run->tensors[i] != NULL)
            tensors[i] = as_sim_tensor(run->before[i].memory != NULL ? &run->before[i]
                                                                     : &run->tensors[i]->array);
    if (run->job->compiled.faults >= 0)
        tensors[run->job->compiled.faults] = cli_workspace_shape(run->job);
    jmp_buf exhausted;
    run->job->arena.exhausted = &exhausted;
    if (setjmp(exhausted) != 0)
        return cli_refuse(run->job->options, CLI_EXIT_SYSTEM, "out-of-memory", NULL,
                          "out of memory in the reference");
    sim_reference_run(&run->job->arena, run->module, run->job->compiled.plan,
                      run->job->compiled.bindings.sizes, tensors, run->scalars, &run->reference);
    return say_faults(run);
}

/* Floating outputs as f64, unrounded; integers in their type. */
static int store_reference(run_state *run) {
    for (int i = 0; i < run->own_count; i++) {
        cli_argument *argument = run->tensors[i];
        if (argument == NULL || argument->mode == IR_IN)
            continue;
        const sim_reference_tensor *from = &run->reference.tensors[i];
        cli_array array = argument->array, wide;
        if (!base_dtype_is_float(array.dtype)) {
            for (int64_t k = 0; k < from->count; k++)
                if (from->written[k])
                    cli_array_set_integer(&array, k, from->integer[k]);
            continue;
        }
        if (!cli_array_create(&wide, BASE_F64, array.rank, array.extent, 0, argument->text.name,
                              &run->job->diagnostics)) {
            cli_say_findings(run->job->options, &run->job->diagnostics);
            return CLI_EXIT_SYSTEM;
        }
        for (int64_t k = 0; k < from->count; k++)
            cli_array_set(&wide, k, from->value[k]);
        cli_array_free(&argument->array);
        argument->array = wide;
    }
    return CLI_EXIT_OK;
}

/* ---- checking ---- */

/* Elements that the kernel does not store and that changed all the same. */
static int64_t count_touched(const run_state *run, int parameter, const sim_tensor *got,
                             int64_t *first) {
    unsigned char prefill[sizeof(int64_t)];
    memset(prefill, 0xff, sizeof prefill); /* cli_array_fill_unwritten */
    sim_tensor before = *got;
    memset(before.stride, 0, sizeof before.stride);
    before.data = prefill;
    if (run->before[parameter].memory != NULL)
        before = as_sim_tensor(&run->before[parameter]);
    return sim_compare_untouched(&run->reference.tensors[parameter], &before, got, first);
}

static bool check_output(run_state *run, int parameter) {
    cli_argument *argument = run->tensors[parameter];
    sim_tensor got = as_sim_tensor(&argument->array);
    cli_run_check check = {.name = argument->text.name,
                           .array = &argument->array,
                           .result = sim_compare(&run->reference.tensors[parameter], &got,
                                                 run->job->options->tolerance),
                           .guards = cli_array_guards_intact(&argument->array)};
    check.touched = count_touched(run, parameter, &got, &check.first_touched);
    check.good = check.result.failed == 0 && check.guards && check.touched == 0;
    cli_say_check(run->job->options, &check);
    return check.good;
}

static bool check_count(const run_state *run) {
    const cli_job *job = run->job;
    if (!job->options->count_faults || job->faults == run->reference.fault_total)
        return true;
    static const char format[] = "%lld faults were counted, and there are %lld";
    char text[100];
    snprintf(text, sizeof text, format, (long long)job->faults,
             (long long)run->reference.fault_total);
    if (job->options->json)
        cli_refuse(job->options, CLI_EXIT_CHECK_FAILED, "faults-miscounted", NULL, "%s", text);
    else
        printf("  %s\n", text);
    return false;
}

static int check_outputs(run_state *run) {
    int status = run_reference(run);
    if (status == CLI_EXIT_SYSTEM)
        return status;
    if (!check_count(run))
        status = CLI_EXIT_CHECK_FAILED;
    for (int i = 0; i < run->own_count; i++)
        if (run->tensors[i] != NULL && run->tensors[i]->mode != IR_IN && !check_output(run, i))
            status = CLI_EXIT_CHECK_FAILED;
    return status;
}

/* ---- outputs ---- */

static bool is_printed(const cli_argument *argument) {
    return argument->output_path != NULL && strcmp(argument->output_path, "-") == 0;
}

/* Devices and pipes first: they can refuse, renaming what is on the disk hardly can. */
static bool commit_outputs(cli_output *outputs, int count, base_diagnostics *diagnostics) {
    bool good = true;
    for (int i = 0; i < count && good; i++)
        if (outputs[i].temporary == NULL)
            good = cli_output_commit(&outputs[i], diagnostics);
    for (int i = 0; i < count && good; i++)
        if (outputs[i].temporary != NULL)
            good = cli_output_commit(&outputs[i], diagnostics);
    for (int i = 0; i < count; i++)
        cli_output_discard(&outputs[i]);
    return good;
}

static void print_hashes(const run_state *run) {
    const char *names[CLI_ARGUMENT_LIMIT];
    const cli_array *arrays[CLI_ARGUMENT_LIMIT];
    for (int i = 0; i < run->own_count; i++) {
        const cli_argument *argument = run->tensors[i];
        names[i] = run->module->parameters[i].name;
        arrays[i] = argument != NULL && argument->mode != IR_IN ? &argument->array : NULL;
    }
    cli_print_hashes(names, arrays, run->own_count);
}

static int write_outputs(run_state *run) {
    cli_output outputs[CLI_ARGUMENT_LIMIT];
    int count = 0, parameters = run->own_count;
    bool good = true;
    for (int i = 0; i < parameters && good; i++) {
        cli_argument *argument = run->tensors[i];
        if (argument != NULL && argument->output_path != NULL && !is_printed(argument))
            good = cli_npy_stage(&outputs[count++], argument->output_path, &argument->array,
                                 &run->job->diagnostics);
    }
    if (good)
        good = commit_outputs(outputs, count, &run->job->diagnostics);
    else
        for (int i = 0; i < count; i++)
            cli_output_discard(&outputs[i]);
    for (int i = 0; i < parameters && good; i++)
        if (run->tensors[i] != NULL && is_printed(run->tensors[i]))
            cli_print_array(run->job->options, run->tensors[i]->text.name, &run->tensors[i]->array);
    if (good && run->job->options->hash && !run->job->options->json)
        print_hashes(run);
    if (!good)
        cli_say_findings(run->job->options, &run->job->diagnostics);
    return good ? CLI_EXIT_OK : CLI_EXIT_SYSTEM;
}

static int write_outputs_guarded(run_state *run) {
    jmp_buf exhausted;
    run->job->arena.exhausted = &exhausted;
    if (setjmp(exhausted) != 0)
        return cli_out_of_memory(run->job->options);
    return write_outputs(run);
}

/* ---- run ---- */

/* Where it was asked for, once everything has run. */
static void print_count(const run_state *run) {
    if (run->job->options->count_faults && !run->job->options->json)
        printf("faults: %lld\n", (long long)run->job->faults);
}

/* Its outputs are written even where it has found faults. */
static int run_by_reference(run_state *run) {
    int faults = run_reference(run);
    run->job->faults = run->reference.fault_total;
    int status = faults == CLI_EXIT_SYSTEM ? faults : store_reference(run);
    if (status == CLI_EXIT_OK)
        status = write_outputs_guarded(run);
    if (status == CLI_EXIT_OK)
        print_count(run);
    return status == CLI_EXIT_OK ? faults : status;
}

/* On a device or the simulator. Outputs are written even where a check has failed. */
static int run_by_code(run_state *run) {
    int found = run->simulated ? launch_sim(run) : launch(run);
    if (found != CLI_EXIT_OK && found != CLI_EXIT_CHECK_FAILED)
        return found;
    int checked = run->job->options->check ? check_outputs(run) : CLI_EXIT_OK;
    if (checked == CLI_EXIT_SYSTEM)
        return checked;
    int status = write_outputs_guarded(run);
    if (status == CLI_EXIT_OK)
        print_count(run);
    if (status == CLI_EXIT_OK)
        status = checked == CLI_EXIT_OK ? found : checked;
    return status;
}

/* NULL where the device has none. */
static const char *device_name(const char *target, const runtime_device *device) {
    if (device == NULL)
        return NULL;
    if (strcmp(target, "metal") == 0)
        return runtime_metal_facts_of(device)->name;
    return strcmp(target, "opencl") == 0 ? runtime_opencl_facts_of(device)->name
                                         : runtime_cuda_facts_of(device)->name;
}

static void say_run(const run_state *run) {
    const cli_job *job = run->job;
    const char *target = job->options->target != NULL ? job->options->target : "cpu";
    cli_run_report report = {.options = job->options,
                             .target = target,
                             .device = device_name(target, run->device),
                             .machine = job->machine,
                             .runs_on = run->reference_only || run->simulated ? NULL : job->runs_on,
                             .plan = job->compiled.plan,
                             .module = run->module,
                             .sizes = job->compiled.bindings.sizes,
                             .erased = job->compiled.log.erased,
                             .parameter_count = run->own_count,
                             .faults = job->options->count_faults ? job->faults : -1};
    for (int i = 0; i < run->own_count; i++) {
        report.arrays[i] = run->tensors[i] != NULL ? &run->tensors[i]->array : NULL;
        report.paths[i] = run->tensors[i] != NULL ? run->tensors[i]->output_path : NULL;
    }
    cli_say_run(&report);
}

static int run_compiled(run_state *run) {
    run->module = run->job->compiled.tile;
    run->own_count = run->job->compiled.own_parameters;
    cli_run_open_lists(run->job->options);
    int status = make_arrays(run);
    if (status == CLI_EXIT_OK)
        status = move_arrays(run);
    if (status != CLI_EXIT_OK)
        return status;
    status = run->reference_only ? run_by_reference(run) : run_by_code(run);
    if (status == CLI_EXIT_OK || status == CLI_EXIT_CHECK_FAILED)
        say_run(run);
    return status;
}

/* What is compiled here runs there. */
static int run_on(const cli_options *options, run_state *run) {
    cli_job job;
    run->job = &job;
    compile_stage stage = run->reference_only ? COMPILE_TO_PLAN
                          : run->simulated    ? COMPILE_TO_THREAD
                                              : COMPILE_TO_SOURCE;
    int status = cli_job_open(&job, options, NULL);
    if (status == CLI_EXIT_OK)
        status = cli_job_arguments(&job);
    if (status == CLI_EXIT_OK)
        status = cli_job_compile(&job, stage, false);
    if (status == CLI_EXIT_OK)
        status = run_compiled(run);
    for (int i = 0; i < CLI_ARGUMENT_LIMIT; i++)
        cli_array_free(&run->before[i]);
    cli_job_close(&job);
    return status;
}

static int run_on_device(const cli_options *options, run_state *run) {
    cli_options own = *options;
    runtime_cache *cache = cli_cache_open(options);
    run->device = cli_device_open(options, cache, &own.runs_on);
    int status = run->device != NULL ? run_on(&own, run) : CLI_EXIT_SYSTEM;
    if (run->device != NULL)
        run->device->vtable->destroy(run->device);
    cli_cache_close(options, cache);
    return status;
}

static bool has_machines(const char *target) {
    bool found = false;
    for (int i = 0; machine_at(i) != NULL; i++)
        found = found || strcmp(machine_at(i)->target, target) == 0;
    return found;
}

int cli_run(const cli_options *options) {
    const char *target = options->target != NULL ? options->target : "cpu";
    run_state run = {.reference_only = strcmp(target, "reference") == 0,
                     .simulated = strcmp(target, "sim") == 0};
    bool device = strcmp(target, "cpu") != 0 && runtime_device_is_known(target);
    if (!run.reference_only && !run.simulated && !device && strcmp(target, "cpu") != 0)
        return cli_refuse(options, CLI_EXIT_USAGE, "unknown-target",
                          "targets are cpu, cuda, opencl, metal, sim, reference",
                          has_machines(target) ? "target %.200s: no device here runs it"
                                               : "unknown target: %.200s",
                          target);
    if (cli_is_ir_text(options->file) && run.simulated)
        return cli_simulate_file(options);
    if (cli_is_ir_text(options->file))
        return cli_refuse(options, CLI_EXIT_USAGE, "kernel-expected", NULL,
                          "IR text runs on `--target sim` only");
    return device ? run_on_device(options, &run) : run_on(options, &run);
}
