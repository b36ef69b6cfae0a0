/* An example, compiled and loaded for one problem: see croft_kernel.h. */
#include "croft_kernel.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

char *bench_text_read(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    enum { LIMIT = 1 << 16 };
    char *text = calloc(LIMIT + 1, 1);
    *length = text != NULL ? fread(text, 1, LIMIT, file) : 0;
    fclose(file);
    return text;
}

char *bench_example_read(const char *name, size_t *length) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.croft", CROFT_EXAMPLES, name);
    return bench_text_read(path, length);
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int bench_example_names(char *names[BENCH_EXAMPLES]) {
    DIR *folder = opendir(CROFT_EXAMPLES);
    int count = 0;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        char *dot = strstr(entry->d_name, ".croft");
        if (dot != NULL && dot[6] == '\0' && count < BENCH_EXAMPLES) {
            *dot = '\0';
            names[count++] = strdup(entry->d_name);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    qsort(names, (size_t)count, sizeof *names, compare_names);
    return count;
}

static text_argument argument_of(const bench_problem *problem, const bench_parameter *parameter) {
    text_argument argument = {.name = parameter->name,
                              .kind = TEXT_ARGUMENT_TENSOR,
                              .dtype = BASE_F32,
                              .rank = 1,
                              .extent = {problem->rows}};
    switch (parameter->role) {
    case BENCH_X:
    case BENCH_RESIDUAL:
    case BENCH_TILE:
        argument.rank = 2;
        argument.extent[1] = problem->width;
        break;
    case BENCH_WEIGHT:
    case BENCH_BIAS:
        argument.extent[0] = problem->width;
        break;
    case BENCH_LABEL:
        argument.dtype = BASE_I32;
        break;
    case BENCH_ROW:
    case BENCH_ROLES:
        break;
    }
    return argument;
}

bool bench_kernel_compile(bench_kernel *kernel, const bench_problem *problem, compile_stage stage,
                          FILE *errors) {
    memset(kernel, 0, sizeof *kernel);
    const bench_operator *row_operator = problem->row_operator;
    size_t length = 0;
    kernel->text = bench_example_read(row_operator->name, &length);
    if (kernel->text == NULL) {
        fprintf(errors, "%s: cannot read the example\n", row_operator->name);
        return false;
    }
    kernel->source = (base_source){row_operator->name, kernel->text, length};
    text_argument arguments[BENCH_PARAMETERS];
    int count = 0;
    while (count < BENCH_PARAMETERS && row_operator->parameters[count].name != NULL) {
        arguments[count] = argument_of(problem, &row_operator->parameters[count]);
        count++;
    }
    compile_request request = {.source = &kernel->source,
                               .arguments = arguments,
                               .argument_count = count,
                               .machine = machine_host(),
                               .stage = stage};
    compile_run(&request, &kernel->compiled);
    if (kernel->compiled.status != COMPILE_OK) {
        base_text rendered;
        base_text_init(&rendered, &kernel->compiled.arena);
        base_diagnostics_render(&rendered, &kernel->compiled.diagnostics);
        fprintf(errors, "%s: %s\n", row_operator->name, rendered.bytes);
    }
    return kernel->compiled.status == COMPILE_OK;
}

/* Sizes, then each tensor's strides (all dense), then the scalars' bits. */
static void pack_words(bench_kernel *kernel, const bench_problem *problem) {
    const ir_module *module = kernel->compiled.tile;
    const text_bindings *bindings = &kernel->compiled.bindings;
    int64_t *words = kernel->words;
    int64_t count = 0;
    for (int i = 0; i < bindings->size_count; i++) {
        words[count++] = bindings->sizes[i];
    }
    int tensor = 0;
    for (int i = 0; i < module->parameter_count; i++) {
        const ir_parameter *parameter = &module->parameters[i];
        if (!parameter->is_tensor) {
            continue;
        }
        kernel->pointers[tensor] = problem->arrays[problem->row_operator->parameters[tensor].role];
        tensor++;
        if (parameter->value->type.rank == 2) {
            words[count++] = problem->width;
        }
        words[count++] = 1;
    }
    for (int i = 0; i < module->parameter_count; i++) {
        const ir_parameter *parameter = &module->parameters[i];
        if (parameter->is_tensor) {
            continue;
        }
        float real = (float)parameter->initial.real;
        if (parameter->dtype == BASE_F32) {
            memcpy(&words[count], &real, sizeof real);
        } else {
            words[count] = parameter->initial.integer & 0xffffffff;
        }
        count++;
    }
    kernel->launch = (runtime_launch){.pointers = kernel->pointers,
                                      .words = words,
                                      .work_ns = (double)(problem->rows * problem->width)};
}

bool bench_kernel_load(bench_kernel *kernel, runtime_device *device, FILE *errors) {
    machine_flags flags;
    machine_flags_split(machine_host(), &flags);
    runtime_artifact artifact = {.text = kernel->compiled.source_text,
                                 .length = strlen(kernel->compiled.source_text),
                                 .entry = kernel->compiled.entry,
                                 .flags = flags.list};
    runtime_report report;
    kernel->device = device;
    if (device->vtable->load(device, &artifact, &kernel->module, &report) != RUNTIME_OK) {
        fprintf(errors, "%s: %s\n", kernel->source.name, report.text);
        return false;
    }
    return true;
}

bool bench_kernel_open(bench_kernel *kernel, runtime_device *device, const bench_problem *problem,
                       FILE *errors) {
    if (!bench_kernel_compile(kernel, problem, COMPILE_TO_SOURCE, errors) ||
        !bench_kernel_load(kernel, device, errors)) {
        return false;
    }
    pack_words(kernel, problem);
    return true;
}

void bench_kernel_close(bench_kernel *kernel) {
    if (kernel->device != NULL) {
        kernel->device->vtable->unload(kernel->device, kernel->module);
    }
    if (kernel->text != NULL) {
        compile_free(&kernel->compiled);
    }
    free(kernel->text);
    memset(kernel, 0, sizeof *kernel);
}

void bench_kernel_run(void *state) {
    const bench_kernel *kernel = state;
    runtime_report report;
    if (kernel->device->vtable->launch(kernel->device, kernel->module, &kernel->launch, &report) !=
        RUNTIME_OK) {
        fprintf(stderr, "launch failed: %s\n", report.text);
        exit(1);
    }
}
