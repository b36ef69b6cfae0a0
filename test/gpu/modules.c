/* Thread modules written by hand (test/hazard) on a CUDA device: the simulator's bytes, a hundred
 * times. Clusters and pipelines are among them, which no example has.
 *
 *     gpu_modules test/hazard/a.ir ...     ok a, not ok a: why, or skip a: why for each
 *
 * Tensors are f32 of known extents; scalars take their defaults.
 */
#include "base/diagnostic.h"
#include "runtime/cuda.h"
#include "sim/thread.h"
#include "target/target.h"
#include "text/ir_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSOR_LIMIT = 8, ELEMENT_LIMIT = 4096, WORD_LIMIT = 64, LAUNCHES = 100 };

typedef struct modules_test {
    runtime_device *device;
    const runtime_device_vtable *vtable;
    runtime_report report;
    const machine *machine;
    float first[TENSOR_LIMIT][ELEMENT_LIMIT], expected[TENSOR_LIMIT][ELEMENT_LIMIT];
    float got[TENSOR_LIMIT][ELEMENT_LIMIT];
    void *memory[TENSOR_LIMIT];
    int64_t words[WORD_LIMIT];
    int tensors, word_count;
    char why[RUNTIME_REPORT_LIMIT + 64];
    const char *skipped;
} modules_test;

static bool fail(modules_test *t, const char *what, const char *more) {
    snprintf(t->why, sizeof t->why, "%s: %s", what, more);
    return false;
}

/* The words of one tensor; false when it is not of the kind that is known here. */
static bool add_tensor(modules_test *t, const ir_module *module, const ir_parameter *parameter) {
    const ir_type *type = &parameter->value->type;
    int64_t count = 1, extent = 0;
    if (parameter->dtype != BASE_F32 || t->tensors == TENSOR_LIMIT ||
        t->word_count + type->rank > WORD_LIMIT)
        return false;
    for (int k = type->rank - 1; k >= 0; k--) {
        t->words[t->word_count + k] = count;
        if (!layout_extent_known(&module->extents, type->extent[k], &extent) || extent < 1 ||
            extent > ELEMENT_LIMIT)
            return false;
        count *= extent;
    }
    t->word_count += type->rank;
    t->tensors++;
    return count <= ELEMENT_LIMIT;
}

static bool make_words(modules_test *t, const ir_module *module) {
    t->tensors = t->word_count = 0;
    bool good = module->extents.symbol_count == 0;
    for (int i = 0; i < module->parameter_count && good; i++)
        if (module->parameters[i].is_tensor)
            good = add_tensor(t, module, &module->parameters[i]);
    for (int i = 0; i < module->parameter_count && good; i++) {
        if (module->parameters[i].is_tensor)
            continue;
        good = !base_dtype_is_float(module->parameters[i].dtype) && t->word_count < WORD_LIMIT;
        if (good)
            t->words[t->word_count++] = module->parameters[i].initial.integer;
    }
    return good;
}

static void make_inputs(modules_test *t) {
    uint64_t state = 7;
    for (int i = 0; i < TENSOR_LIMIT; i++) {
        for (int e = 0; e < ELEMENT_LIMIT; e++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            t->first[i][e] = (float)((int)(state >> 40) % 1000 - 1500) * 0.125f;
        }
    }
    memcpy(t->expected, t->first, sizeof t->first);
}

static bool simulate(modules_test *t, base_arena *arena, const ir_module *module) {
    void *pointers[TENSOR_LIMIT];
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, arena);
    for (int i = 0; i < TENSOR_LIMIT; i++)
        pointers[i] = t->expected[i];
    sim_options options = {.last_group = -1, .watch = true};
    return sim_thread_run(arena, module, pointers, t->words, &options, &diagnostics) == SIM_OK ||
           fail(t, "the simulator", "has findings");
}

static bool launch_once(modules_test *t, runtime_module *loaded, const runtime_launch *launch) {
    bool good = true;
    for (int i = 0; i < t->tensors && good; i++)
        good = t->vtable->copy_in(t->device, t->memory[i], t->first[i], sizeof t->first[i],
                                  &t->report) == RUNTIME_OK;
    good = good && t->vtable->launch(t->device, loaded, launch, &t->report) == RUNTIME_OK;
    for (int i = 0; i < t->tensors && good; i++)
        good = t->vtable->copy_out(t->device, t->got[i], t->memory[i], sizeof t->got[i],
                                   &t->report) == RUNTIME_OK;
    if (!good)
        return fail(t, "the device", t->report.text);
    for (int i = 0; i < t->tensors; i++)
        if (memcmp(t->got[i], t->expected[i], sizeof t->got[i]) != 0)
            return fail(t, "the bytes differ", "from those of the simulator");
    return true;
}

static bool run_on_device(modules_test *t, base_arena *arena, const ir_module *module) {
    const char *const flags[] = {t->machine->compiler_flags, NULL};
    target_source source = target_emit(target_find("cuda"), arena, module, t->machine);
    runtime_launch launch = {.pointers = t->memory, .words = t->words};
    if (!layout_extent_evaluate(module->groups, NULL, &launch.groups) ||
        (source.workspace != NULL &&
         !layout_extent_evaluate(source.workspace, NULL, &launch.workspace_bytes)))
        return fail(t, "the sizes", "are not known");
    runtime_artifact artifact = {.text = source.text,
                                 .length = strlen(source.text),
                                 .entry = source.entry,
                                 .flags = flags,
                                 .threads = source.threads,
                                 .cluster = module->cluster,
                                 .pointer_count = t->tensors,
                                 .word_count = t->word_count,
                                 .scratch_bytes = source.scratch_bytes};
    runtime_module *loaded = NULL;
    if (t->vtable->load(t->device, &artifact, &loaded, &t->report) != RUNTIME_OK)
        return fail(t, "loading", t->report.text);
    bool good = true;
    for (int i = 0; i < LAUNCHES && good; i++)
        good = launch_once(t, loaded, &launch);
    t->vtable->unload(t->device, loaded);
    return good;
}

typedef struct support_state {
    modules_test *t;
    const ir_module *module;
} support_state;

static bool ask_support(void *state, ir_op *op) {
    support_state *s = state;
    s->t->skipped = target_find("cuda")->supports(s->module, op, s->t->machine);
    return s->t->skipped == NULL;
}

static bool check(modules_test *t, base_arena *arena, const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = base_arena_alloc(arena, 1 << 16);
    size_t length = file != NULL ? fread(text, 1, (1 << 16) - 1, file) : 0;
    if (file != NULL)
        fclose(file);
    base_source *source = BASE_NEW(arena, base_source);
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, arena);
    *source = (base_source){.name = path, .text = text, .length = length};
    ir_module *module = text_ir_parse(arena, source, &diagnostics);
    t->skipped = NULL;
    if (module == NULL)
        return fail(t, "the text", "is no module");
    support_state support = {.t = t, .module = module};
    ir_region_walk(&module->body, ask_support, &support);
    if (t->skipped == NULL && !make_words(t, module))
        t->skipped = "its parameters are not f32 tensors of known extents";
    if (t->skipped != NULL)
        return true;
    make_inputs(t);
    return simulate(t, arena, module) && run_on_device(t, arena, module);
}

static bool check_file(modules_test *t, const char *path) {
    base_arena arena;
    jmp_buf exhausted;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    int length = (int)strcspn(name, ".");
    volatile bool good = false;
    if (setjmp(exhausted) == 0)
        good = check(t, &arena, path);
    else
        fail(t, "memory", "ran out");
    if (!good)
        printf("not ok %.*s: %s\n", length, name, t->why);
    else if (t->skipped != NULL)
        printf("skip %.*s: %s\n", length, name, t->skipped);
    else
        printf("ok %.*s\n", length, name);
    fflush(stdout);
    base_arena_free(&arena);
    return good;
}

int main(int argc, char **argv) {
    static modules_test t;
    runtime_cuda_config config = {.driver = getenv("CROFT_CUDA_DRIVER"),
                                  .nvrtc = getenv("CROFT_NVRTC")};
    bool good =
        runtime_cuda_create(base_allocator_default(), &config, &t.device, &t.report) == RUNTIME_OK;
    if (!good) {
        printf("not ok the_device_opens: %s\n", t.report.text);
        return 1;
    }
    t.vtable = t.device->vtable;
    const char *name = runtime_cuda_facts_of(t.device)->machine;
    t.machine = machine_find(name != NULL ? name : "");
    for (int i = 0; i < TENSOR_LIMIT && good; i++)
        good =
            t.vtable->allocate(t.device, sizeof t.first[i], &t.memory[i], &t.report) == RUNTIME_OK;
    if (!good || t.machine == NULL)
        printf("not ok memory_is_given: %s\n", t.report.text);
    good = good && t.machine != NULL;
    bool all = good;
    for (int i = 1; i < argc && good; i++)
        all = check_file(&t, argv[i]) && all;
    for (int i = 0; i < TENSOR_LIMIT; i++)
        t.vtable->release(t.device, t.memory[i]);
    t.vtable->destroy(t.device);
    return !all;
}
