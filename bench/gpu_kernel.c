/* Kernels on a CUDA device, and graphs of their launches: see gpu_kernel.h. */
#include "gpu_kernel.h"

#include "plan_arrays.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

bool gpu_open(gpu_system *gpu, FILE *errors) {
    memset(gpu, 0, sizeof *gpu);
    runtime_cuda_config config = {0};
    static runtime_report report;
    if (runtime_cuda_create(base_allocator_default(), &config, &gpu->device, &report) !=
        RUNTIME_OK) {
        fprintf(errors, "no CUDA device: %s\n", report.text);
        return false;
    }
    gpu->facts = runtime_cuda_facts_of(gpu->device);
    const struct {
        const char *name;
        void *slot;
    } rows[] = {{"cuInit", &gpu->initialise},
                {"cuDevicePrimaryCtxRetain", &gpu->context_retain},
                {"cuCtxSetCurrent", &gpu->context_set},
                {"cuStreamCreate", &gpu->stream_create},
                {"cuStreamSynchronize", &gpu->stream_wait},
                {"cuStreamBeginCapture_v2", &gpu->capture_begin},
                {"cuStreamEndCapture", &gpu->capture_end},
                {"cuGraphInstantiateWithFlags", &gpu->graph_make},
                {"cuGraphLaunch", &gpu->graph_launch},
                {"cuEventCreate", &gpu->event_create},
                {"cuEventRecord", &gpu->event_record},
                {"cuEventSynchronize", &gpu->event_wait},
                {"cuEventElapsedTime", &gpu->event_time}};
    gpu->library = dlopen("libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && gpu->library != NULL; i++) {
        void *symbol = dlsym(gpu->library, rows[i].name);
        memcpy(rows[i].slot, &symbol, sizeof symbol);
        if (symbol == NULL) {
            fprintf(errors, "the driver has no %s\n", rows[i].name);
            return false;
        }
    }
    void *context = NULL;
    return gpu->library != NULL && gpu->initialise(0) == 0 &&
           gpu->context_retain(&context, 0) == 0 && gpu->context_set(context) == 0 &&
           gpu->stream_create(&gpu->stream, 1) == 0 && gpu->event_create(&gpu->start, 0) == 0 &&
           gpu->event_create(&gpu->stop, 0) == 0;
}

void gpu_close(gpu_system *gpu) {
    if (gpu->device != NULL)
        gpu->device->vtable->destroy(gpu->device);
}

static char *read_text(const char *path, size_t *length) {
    enum { LIMIT = 1 << 16 };
    FILE *file = fopen(path, "rb");
    char *text = file != NULL ? calloc(LIMIT + 1, 1) : NULL;
    *length = text != NULL ? fread(text, 1, LIMIT, file) : 0;
    if (file != NULL)
        fclose(file);
    return text;
}

static bool compile(gpu_kernel *kernel, const machine *planned, const char *name,
                    const base_source *plan, const text_argument *arguments, int count,
                    FILE *errors) {
    compile_request request = {.source = &kernel->source,
                               .kernel = name,
                               .plan = plan,
                               .arguments = arguments,
                               .argument_count = count,
                               .machine = planned,
                               .stage = COMPILE_TO_SOURCE};
    compile_run(&request, &kernel->compiled);
    if (kernel->compiled.status == COMPILE_OK)
        return true;
    base_text rendered;
    base_text_init(&rendered, &kernel->compiled.arena);
    base_diagnostics_render(&rendered, &kernel->compiled.diagnostics);
    fprintf(errors, "%s: %s\n", kernel->source.name, rendered.bytes);
    return false;
}

/* Memory of what the launches hand on, and their entries. False: there are too many. */
static bool chain_launches(gpu_kernel *kernel, gpu_system *gpu, int *tensors,
                           runtime_report *report) {
    const compile_result *compiled = &kernel->compiled;
    int64_t bytes = 0;
    for (int i = 0; (bytes = bench_handed_on(compiled, i)) >= 0; i++) {
        if (i == GPU_LAUNCHES || *tensors == GPU_TENSORS + GPU_LAUNCHES ||
            gpu->device->vtable->allocate(gpu->device, bytes + 1, &kernel->handed_on[i], report) !=
                RUNTIME_OK)
            return false;
        kernel->pointers[(*tensors)++] = kernel->handed_on[i];
    }
    for (int i = 1; i < compiled->launch_count; i++) {
        const compile_code *code = &compiled->launches[i];
        compile_launch size;
        if (i > GPU_LAUNCHES || !compile_launch_of(compiled, i, kernel->words, &size))
            return false;
        kernel->entries[i - 1] = (runtime_entry){.name = code->entry,
                                                 .threads = code->threads,
                                                 .cluster = code->module->cluster,
                                                 .scratch_bytes = code->scratch_bytes};
        kernel->sizes[i - 1] = (runtime_size){size.groups, size.workspace_bytes};
    }
    return true;
}

bool gpu_kernel_open(gpu_kernel *kernel, gpu_system *gpu, const char *path, const char *name,
                     const base_source *plan, const text_argument *arguments, int count,
                     FILE *errors) {
    memset(kernel, 0, sizeof *kernel);
    const machine *planned = machine_find(gpu->facts->machine);
    size_t length = 0;
    kernel->text = read_text(path, &length);
    if (kernel->text == NULL || planned == NULL) {
        fprintf(errors, "%s: cannot be read, or no machine fits the device\n", path);
        return false;
    }
    kernel->source = (base_source){path, kernel->text, length};
    if (!compile(kernel, planned, name, plan, arguments, count, errors))
        return false;
    int tensors = 0, words = bench_words_pack(&kernel->compiled, kernel->words, &tensors);
    char flag[64];
    snprintf(flag, sizeof flag, "%s", planned->compiler_flags);
    const char *flags[] = {flag, NULL};
    const compile_result *compiled = &kernel->compiled;
    static runtime_report report;
    if (!chain_launches(kernel, gpu, &tensors, &report)) {
        fprintf(errors, "%s: no room for its launches: %s\n", kernel->source.name, report.text);
        return false;
    }
    runtime_artifact artifact = {.text = compiled->source_text,
                                 .length = strlen(compiled->source_text),
                                 .entry = compiled->entry,
                                 .flags = flags,
                                 .threads = compiled->threads,
                                 .pointer_count = tensors,
                                 .word_count = words,
                                 .scratch_bytes = compiled->scratch_bytes,
                                 .behind = kernel->entries,
                                 .behind_count = compiled->launch_count - 1};
    compile_launch launch;
    if (gpu->device->vtable->load(gpu->device, &artifact, &kernel->module, &report) != RUNTIME_OK ||
        !compile_launch_of(compiled, 0, kernel->words, &launch)) {
        fprintf(errors, "%s: %s\n", kernel->source.name, report.text);
        return false;
    }
    kernel->launch = (runtime_launch){.pointers = kernel->pointers,
                                      .words = kernel->words,
                                      .groups = launch.groups,
                                      .workspace_bytes = launch.workspace_bytes,
                                      .behind = kernel->sizes,
                                      .stream = gpu->stream};
    return true;
}

void gpu_kernel_close(gpu_kernel *kernel, gpu_system *gpu) {
    gpu->device->vtable->unload(gpu->device, kernel->module);
    for (int i = 0; i < GPU_LAUNCHES; i++)
        if (kernel->handed_on[i] != NULL)
            gpu->device->vtable->release(gpu->device, kernel->handed_on[i]);
    if (kernel->text != NULL)
        compile_free(&kernel->compiled);
    free(kernel->text);
    memset(kernel, 0, sizeof *kernel);
}

gpu_graph gpu_capture(gpu_system *gpu, gpu_kernel *kernel, int launches) {
    gpu_graph graph = {.launches = launches};
    void *captured = NULL;
    static runtime_report report;
    bool good = gpu->capture_begin(gpu->stream, 2) == 0;
    for (int i = 0; i < launches && good; i++)
        good = gpu->device->vtable->launch(gpu->device, kernel->module, &kernel->launch, &report) ==
               RUNTIME_OK;
    good = gpu->capture_end(gpu->stream, &captured) == 0 && good;
    if (!good || gpu->graph_make(&graph.executable, captured, 0) != 0)
        graph.executable = NULL;
    return graph;
}

double gpu_replay(gpu_system *gpu, const gpu_graph *graph) {
    float milliseconds = 0;
    bool good = gpu->event_record(gpu->start, gpu->stream) == 0 &&
                gpu->graph_launch(graph->executable, gpu->stream) == 0 &&
                gpu->event_record(gpu->stop, gpu->stream) == 0 && gpu->event_wait(gpu->stop) == 0 &&
                gpu->event_time(&milliseconds, gpu->start, gpu->stop) == 0;
    return good ? milliseconds / 1e3 : -1;
}
