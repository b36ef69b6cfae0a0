/* The device `metal` for tests, in place of src/runtime/metal.c: clang++ compiles text against
 * test/metal/metal_stdlib, and its threads run on this host (lanes.c).
 *
 *     METAL_SHIM_WRONG=1      what a mutant of the shim does wrong (lanes.h): tests must notice
 *
 * A text is first looked at with its spaces of memory, then compiled without. All of memory is the
 * process's. */
#include "runtime/metal.h"

#include "lanes.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMMAND_LIMIT = 4096, NAME_LIMIT = 300, LAUNCHES_MAX = 64, BUFFERS_MAX = 31 };
enum { SIMD_THREADS = 1024, SCRATCH_LIMIT = 32 * 1024 };

/* Attributes that emitted text may have; clang passes over others. */
static const char *const attributes[] = {"max_total_threads_per_threadgroup(",
                                         "buffer(",
                                         "threadgroup(0)]]",
                                         "simdgroup_index_in_threadgroup]]",
                                         "thread_index_in_simdgroup]]",
                                         "threadgroup_position_in_grid]]",
                                         NULL};

/* Warnings that are errors are what MSL refuses, or means otherwise. */
static const char flags[] =
    "-x c++ -std=c++17 -nostdinc -nostdinc++ -fno-lax-vector-conversions -ffp-contract=off "
    "-Wall -Wextra -Werror -Wdouble-promotion -Wno-unknown-attributes -Wno-unknown-pragmas "
    "-Wno-unused -Wno-unused-parameter -Wno-keyword-macro -Wno-tautological-compare "
    "-Wno-self-assign";
static const char strict_flags[] = "-fsyntax-only -DMETAL_STRICT";
static const char run_flags[] =
    "-O1 -fPIC -shared -fno-exceptions -fno-rtti -fsanitize=thread "
    "-mllvm -tsan-instrument-func-entry-exit=0 -nostdlib "
    "-fsanitize=signed-integer-overflow,shift,integer-divide-by-zero,float-cast-overflow "
    "-fsanitize-trap=all";

typedef struct launch_code {
    lanes_entry *entry;
    int threads;
    int64_t scratch_bytes;
} launch_code;

struct runtime_module {
    void *library;
    launch_code launches[LAUNCHES_MAX];
    int count, pointer_count, word_count;
};

static const runtime_metal_facts facts = {.name = "threads of this host", .machine = "m4"};

/* ---- load ---- */

static bool attributes_are_known(const char *text) {
    for (const char *at = strstr(text, "[["); at != NULL; at = strstr(at + 2, "[[")) {
        bool known = false;
        for (int i = 0; attributes[i] != NULL; i++)
            known = known || strncmp(at + 2, attributes[i], strlen(attributes[i])) == 0;
        if (!known)
            return false;
    }
    return true;
}

/* Which is a macro of metal_stdlib by its other meaning. */
static const char memory_attribute[] = "[[threadgroup(0)]]";

static bool write_text(const char *path, const runtime_artifact *artifact) {
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return false;
    const char *rest = artifact->text;
    for (const char *at; (at = strstr(rest, memory_attribute)) != NULL;) {
        fwrite(rest, 1, (size_t)(at - rest), file);
        rest = at + strlen(memory_attribute);
    }
    fputs(rest, file);
    fprintf(file, "\n#ifndef METAL_STRICT\nMETAL_ENTRY(%s)\n", artifact->entry);
    for (int i = 0; i < artifact->behind_count; i++)
        fprintf(file, "METAL_ENTRY(%s)\n", artifact->behind[i].name);
    fputs("#endif\n", file);
    return fclose(file) == 0;
}

/* The compiler's words are the report. */
static bool run_command(const char *command, runtime_report *report) {
    char line[512];
    FILE *pipe = popen(command, "r");
    if (pipe == NULL)
        return false;
    while (fgets(line, sizeof line, pipe) != NULL)
        runtime_report_add(report, "%s", line);
    return pclose(pipe) == 0;
}

static runtime_status compile(const char *folder, const runtime_artifact *artifact, void **library,
                              runtime_report *report) {
    char text[NAME_LIMIT], code[NAME_LIMIT], command[COMMAND_LIMIT];
    snprintf(text, sizeof text, "%s/kernel.metal", folder);
    snprintf(code, sizeof code, "%s/kernel.so", folder);
    if (!write_text(text, artifact))
        return runtime_report_set(report, RUNTIME_SYSTEM_FAILED, "cannot write %s", text);
    runtime_report_set(report, RUNTIME_COMPILE_FAILED, "%s", "");
    snprintf(command, sizeof command,
             "(clang++ %s %s -I%s/test/metal %s && clang++ %s %s -I%s/test/metal %s -o %s) 2>&1",
             flags, strict_flags, CROFT_SOURCE_DIR, text, flags, run_flags, CROFT_SOURCE_DIR, text,
             code);
    bool compiled = run_command(command, report);
    if (compiled)
        *library = dlopen(code, RTLD_NOW | RTLD_LOCAL);
    if (compiled && *library == NULL)
        runtime_report_set(report, RUNTIME_LOAD_FAILED, "%s", dlerror());
    unlink(text);
    unlink(code);
    return *library != NULL ? RUNTIME_OK : report->status;
}

static runtime_status find_entry(runtime_module *module, const char *name, int threads,
                                 int64_t scratch_bytes, runtime_report *report) {
    char symbol[NAME_LIMIT];
    launch_code *code = &module->launches[module->count++];
    snprintf(symbol, sizeof symbol, "lanes_of_%s", name);
    void *address = dlsym(module->library, symbol);
    snprintf(symbol, sizeof symbol, "lanes_words_of_%s", name);
    const uint64_t *words = dlsym(module->library, symbol);
    if (address == NULL || words == NULL)
        return runtime_report_set(report, RUNTIME_LOAD_FAILED, "no kernel `%s`", name);
    if (*words != 8 * (uint64_t)(module->word_count + 1))
        return runtime_report_set(report, RUNTIME_LOAD_FAILED, "%llu bytes of words",
                                  (unsigned long long)*words);
    memcpy(&code->entry, &address, sizeof address);
    code->threads = threads;
    code->scratch_bytes = scratch_bytes;
    return RUNTIME_OK;
}

static void metal_unload(runtime_device *device, runtime_module *module) {
    (void)device;
    if (module != NULL && module->library != NULL)
        dlclose(module->library);
    free(module);
}

static runtime_status check_limits(const runtime_artifact *artifact, runtime_report *report) {
    int threads = artifact->threads;
    int64_t scratch = artifact->scratch_bytes;
    for (int i = 0; i < artifact->behind_count; i++) {
        threads = artifact->behind[i].threads > threads ? artifact->behind[i].threads : threads;
        scratch = artifact->behind[i].scratch_bytes > scratch ? artifact->behind[i].scratch_bytes
                                                              : scratch;
    }
    if (threads > SIMD_THREADS || scratch > SCRATCH_LIMIT ||
        artifact->behind_count >= LAUNCHES_MAX || artifact->pointer_count + 2 > BUFFERS_MAX)
        return runtime_report_set(report, RUNTIME_OUT_OF_RESOURCES,
                                  "required: %d threads, %lld bytes of threadgroup memory, %d "
                                  "buffers; available: %d, %d, %d",
                                  threads, (long long)scratch, artifact->pointer_count + 2,
                                  SIMD_THREADS, SCRATCH_LIMIT, BUFFERS_MAX);
    if (!attributes_are_known(artifact->text))
        return runtime_report_set(report, RUNTIME_COMPILE_FAILED, "an attribute is not known");
    return RUNTIME_OK;
}

static runtime_status metal_load(runtime_device *device, const runtime_artifact *artifact,
                                 runtime_module **module, runtime_report *report) {
    char folder[] = "/tmp/croft-metal-XXXXXX";
    *module = NULL;
    report->from_cache = false;
    runtime_status status = check_limits(artifact, report);
    if (status != RUNTIME_OK)
        return status;
    runtime_module *made = calloc(1, sizeof *made);
    if (made == NULL || mkdtemp(folder) == NULL) {
        free(made);
        return runtime_report_set(report, RUNTIME_SYSTEM_FAILED, "no folder, or no memory");
    }
    made->pointer_count = artifact->pointer_count;
    made->word_count = artifact->word_count;
    status = compile(folder, artifact, &made->library, report);
    rmdir(folder);
    if (status == RUNTIME_OK)
        status =
            find_entry(made, artifact->entry, artifact->threads, artifact->scratch_bytes, report);
    for (int i = 0; i < artifact->behind_count && status == RUNTIME_OK; i++)
        status = find_entry(made, artifact->behind[i].name, artifact->behind[i].threads,
                            artifact->behind[i].scratch_bytes, report);
    if (status == RUNTIME_OK) {
        runtime_report_set(report, RUNTIME_OK, "%s", "");
        *module = made;
    } else {
        metal_unload(device, made);
    }
    return status;
}

/* ---- launch ---- */

static int wrong_of_mutant(void) {
    const char *wrong = getenv("METAL_SHIM_WRONG");
    return wrong != NULL ? atoi(wrong) : LANES_RIGHT;
}

/* The memory of a group is of the bytes that were asked for, and no longer. */
static const char *run_launch(const runtime_module *module, const launch_code *code,
                              const runtime_launch *launch, runtime_size size) {
    void *pointers[BUFFERS_MAX];
    int64_t words[512];
    size_t scratch = (size_t)code->scratch_bytes, bytes = (size_t)size.workspace_bytes;
    char *shared = aligned_alloc(16, scratch + 16), *workspace = aligned_alloc(256, bytes + 256);
    const char *fault = shared == NULL || workspace == NULL ? "no memory" : NULL;
    memcpy(pointers, launch->pointers, sizeof *pointers * (size_t)module->pointer_count);
    memcpy(words, launch->words, sizeof *words * (size_t)module->word_count);
    pointers[module->pointer_count] = workspace;
    pointers[module->pointer_count + 1] = words;
    lanes_group group = {code->threads, shared,        scratch,
                         workspace,     (size_t)bytes, wrong_of_mutant()};
    for (int64_t first = 0; first < size.groups && fault == NULL; first++) {
        memset(shared, 0x5a, scratch);
        memset(workspace, 0x5a, bytes);
        words[module->word_count] = first; /* each group is the first of a launch of its own */
        lanes_call call = {pointers, words, shared, {0, 0, 0}};
        fault = lanes_run(&group, code->entry, &call);
    }
    free(shared);
    free(workspace);
    return fault;
}

static runtime_status metal_launch(runtime_device *device, runtime_module *module,
                                   const runtime_launch *launch, runtime_report *report) {
    (void)device;
    for (int i = 0; i < module->count; i++) {
        runtime_size size =
            i > 0 ? launch->behind[i - 1] : (runtime_size){launch->groups, launch->workspace_bytes};
        const char *fault = run_launch(module, &module->launches[i], launch, size);
        if (fault != NULL)
            return runtime_report_set(report, RUNTIME_SYSTEM_FAILED, "%s", fault);
    }
    return RUNTIME_OK;
}

/* ---- memory ---- */

static runtime_status metal_allocate(runtime_device *device, int64_t bytes, void **memory,
                                     runtime_report *report) {
    (void)device;
    *memory = aligned_alloc(256, ((size_t)bytes + 256) / 256 * 256);
    return *memory != NULL ? RUNTIME_OK
                           : runtime_report_set(report, RUNTIME_NO_MEMORY, "no memory");
}

static void metal_release(runtime_device *device, void *memory) {
    (void)device;
    free(memory);
}

static runtime_status metal_copy(runtime_device *device, void *to, const void *from, int64_t bytes,
                                 runtime_report *report) {
    (void)device, (void)report;
    memcpy(to, from, (size_t)bytes);
    return RUNTIME_OK;
}

/* ---- the device ---- */

/* Nothing is known of the text. */
static bool metal_facts(const runtime_device *device, const runtime_module *module, int launch,
                        runtime_facts *told) {
    (void)device, (void)module, (void)launch, (void)told;
    return false;
}

static void metal_destroy(runtime_device *device) {
    (void)device;
}

static const runtime_device_vtable vtable = {
    .name = "metal",
    .memory = RUNTIME_MEMORY_CPU,
    .load = metal_load,
    .unload = metal_unload,
    .launch = metal_launch,
    .facts = metal_facts,
    .allocate = metal_allocate,
    .release = metal_release,
    .copy_in = metal_copy,
    .copy_out = metal_copy,
    .destroy = metal_destroy,
};

runtime_status runtime_metal_create(base_allocator allocator, int index, runtime_device **device,
                                    runtime_report *report) {
    static runtime_device made = {.vtable = &vtable};
    (void)allocator, (void)report, (void)index;
    *device = &made;
    return RUNTIME_OK;
}

const runtime_metal_facts *runtime_metal_facts_of(const runtime_device *device) {
    (void)device;
    return &facts;
}
