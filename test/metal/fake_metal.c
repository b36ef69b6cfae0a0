/* Metal and the runtime of Objective-C, pretended: src/runtime/metal.c drives them on any host.
 *
 *     METAL_SHIM_WRONG=1      what a mutant of the shim does wrong (lanes.h): tests must notice
 *
 * An object is a struct that begins with its class; a class has a table of its methods. Callers are
 * watched: a message to what was released, or that its class does not have, a buffer index or a
 * length that Metal refuses, an encoder that is not ended, an object that is never released abort
 * the process, with a line that says so. Text is compiled by clang++ against
 * test/metal/metal_stdlib, once with its spaces of memory and once to be run by lanes.c when its
 * command buffer is committed.
 */
#include "lanes.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COMMAND_LIMIT = 4096, NAME_LIMIT = 300, REASON_LIMIT = 8192 };
enum { BUFFERS_MAX = 31, BYTES_MAX = 4096, POOL_MAX = 65536 };
enum { THREADS_MAX = 1024, MEMORY_MAX = 32 * 1024 };

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

/* ---- objects ---- */

typedef struct fake_class {
    const struct fake_class *meta; /* NULL: it is one itself */
    const char *name;
} fake_class;

typedef struct size {
    unsigned long width, height, depth;
} size;

struct commands;

typedef struct fake {
    const fake_class *class;   /* first */
    int count;                 /* of owners; 0: released */
    char *text;                /* of a string or an error; contents of a buffer */
    unsigned long bytes;       /* of a buffer */
    void *library;             /* of a library, of which its functions have it too */
    char entry[NAME_LIMIT];    /* of a function or a pipeline */
    struct commands *commands; /* of a command buffer, which its encoder has too */
    struct fake *error;
    bool ended, committed;
} fake;

/* What an encoder has been told, at a dispatch. */
typedef struct dispatch {
    fake *pipeline, *buffers[BUFFERS_MAX];
    unsigned long offsets[BUFFERS_MAX];
    char bytes[BYTES_MAX];
    unsigned long byte_count, bytes_index, shared_bytes;
    size groups, threads;
} dispatch;

typedef struct commands {
    dispatch now, *done;
    int count;
} commands;

#define CLASS(name)                                                                                \
    static const fake_class meta_##name = {NULL, "+" #name};                                       \
    static const fake_class class_##name = {&meta_##name, #name};
CLASS(NSString)
CLASS(NSError)
CLASS(NSArray)
CLASS(MTLDevice)
CLASS(MTLCommandQueue)
CLASS(MTLCommandBuffer)
CLASS(MTLComputeCommandEncoder)
CLASS(MTLLibrary)
CLASS(MTLFunction)
CLASS(MTLComputePipelineState)
CLASS(MTLBuffer)
CLASS(MTLCompileOptions)
#undef CLASS

static fake *pool[POOL_MAX];
static int pooled, live;

static void complain(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void complain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("pretended Metal: ");
    vprintf(format, arguments);
    printf("\n");
    fflush(stdout);
    va_end(arguments);
    abort();
}

static fake *make(const fake_class *class) {
    fake *made = calloc(1, sizeof *made);
    if (made == NULL)
        complain("no memory");
    made->class = class;
    made->count = 1;
    live++;
    return made;
}

static fake *retain(fake *f, const void *selector) {
    (void)selector;
    f->count++;
    return f;
}

static void release(fake *f, const void *selector);

static void release_buffers(commands *c) {
    for (int i = 0; i < c->count; i++)
        for (int b = 0; b < BUFFERS_MAX; b++)
            if (c->done[i].buffers[b] != NULL)
                release(c->done[i].buffers[b], NULL);
    free(c->done);
    free(c);
}

/* The struct stays, so that a late message is told. */
static void release(fake *f, const void *selector) {
    (void)selector;
    if (--f->count > 0)
        return;
    live--;
    if (f->class == &class_MTLBuffer || f->class == &class_NSString)
        free(f->text);
    if (f->class == &class_MTLCommandBuffer)
        release_buffers(f->commands);
    if (f->class == &class_MTLComputeCommandEncoder && !f->ended)
        complain("an encoder is released that was not ended");
    if (f->class == &class_MTLLibrary)
        dlclose(f->library);
    if (f->class == &class_MTLDevice && live > 0)
        complain("%d objects outlive their device", live);
}

static fake *in_pool(fake *f) {
    if (pooled == POOL_MAX)
        complain("the pool is full");
    return pool[pooled++] = f;
}

static fake *string(const fake_class *class, const char *text) {
    fake *made = in_pool(make(class));
    made->text = strdup(text);
    return made;
}

static fake *error_of(const char *text) {
    fake *made = in_pool(make(&class_NSError));
    made->error = string(&class_NSString, text);
    return made;
}

/* ---- compiling ---- */

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

static void write_source(FILE *file, const char *source) {
    for (const char *at; (at = strstr(source, memory_attribute)) != NULL;) {
        fwrite(source, 1, (size_t)(at - source), file);
        source = at + strlen(memory_attribute);
    }
    fputs(source, file);
}

/* And what starts each kernel. */
static bool write_text(const char *path, const char *source) {
    static const char kernel[] = "kernel void ";
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return false;
    write_source(file, source);
    fputs("\n#ifndef METAL_STRICT\n", file);
    for (const char *at = source; (at = strstr(at, kernel)) != NULL;) {
        at += strlen(kernel);
        fprintf(file, "METAL_ENTRY(%.*s)\n", (int)strcspn(at, "("), at);
    }
    fputs("#endif\n", file);
    return fclose(file) == 0;
}

/* The compiler's words are the reason. */
static bool run_command(const char *command, char reason[REASON_LIMIT]) {
    size_t length = 0;
    FILE *pipe = popen(command, "r");
    while (pipe != NULL && length + 1 < REASON_LIMIT &&
           fgets(reason + length, (int)(REASON_LIMIT - length), pipe) != NULL)
        length += strlen(reason + length);
    return pipe != NULL && pclose(pipe) == 0;
}

static void *compile(const char *source, char reason[REASON_LIMIT]) {
    char folder[] = "/tmp/croft-metal-XXXXXX", command[COMMAND_LIMIT];
    char text[NAME_LIMIT], code[NAME_LIMIT];
    void *library = NULL;
    strcpy(reason, attributes_are_known(source) ? "" : "an attribute is not known");
    if (reason[0] != '\0')
        return NULL;
    if (mkdtemp(folder) == NULL)
        complain("no folder");
    snprintf(text, sizeof text, "%s/kernel.metal", folder);
    snprintf(code, sizeof code, "%s/kernel.so", folder);
    snprintf(command, sizeof command,
             "(clang++ %s %s -I%s/test/metal %s && clang++ %s %s -I%s/test/metal %s -o %s) 2>&1",
             flags, strict_flags, CROFT_SOURCE_DIR, text, flags, run_flags, CROFT_SOURCE_DIR, text,
             code);
    if (write_text(text, source) && run_command(command, reason) &&
        (library = dlopen(code, RTLD_NOW | RTLD_LOCAL)) == NULL)
        snprintf(reason, REASON_LIMIT, "%s", dlerror());
    unlink(text);
    unlink(code);
    rmdir(folder);
    return library;
}

static void *symbol_of(const fake *f, const char *before) {
    char name[NAME_LIMIT + 32];
    snprintf(name, sizeof name, "%s%s", before, f->entry);
    return dlsym(f->library, name);
}

/* ---- methods ---- */

static fake *string_with(const fake_class *class, const void *selector, const char *text) {
    (void)class, (void)selector;
    return string(&class_NSString, text);
}

static const char *string_text(const fake *f, const void *selector) {
    (void)selector;
    return f->text;
}

static fake *error_text(const fake *f, const void *selector) {
    (void)selector;
    return f->error;
}

static fake *options_new(const fake_class *class, const void *selector) {
    (void)class, (void)selector;
    return make(&class_MTLCompileOptions);
}

static void options_math(fake *f, const void *selector, long mode) {
    (void)selector;
    f->ended = mode == 0;
}

static unsigned long array_count(const fake *f, const void *selector) {
    (void)f, (void)selector;
    return 1;
}

static fake *array_at(const fake *f, const void *selector, unsigned long index) {
    (void)selector;
    if (index > 0)
        complain("an index past the end");
    return f->error;
}

static fake *device_name(const fake *f, const void *selector) {
    (void)f, (void)selector;
    return string(&class_NSString, "threads of this host");
}

static bool device_supports(const fake *f, const void *selector, long family) {
    (void)f, (void)selector;
    return family == 1007;
}

static fake *device_queue(const fake *f, const void *selector) {
    (void)f, (void)selector;
    return make(&class_MTLCommandQueue);
}

static fake *device_buffer(const fake *f, const void *selector, unsigned long bytes,
                           unsigned long options) {
    (void)f, (void)selector;
    if (bytes == 0 || options != 0)
        complain("a buffer of %lu bytes, with options %lu", bytes, options);
    fake *made = make(&class_MTLBuffer);
    made->text = aligned_alloc(256, (bytes + 256) / 256 * 256);
    made->bytes = bytes;
    if (made->text == NULL)
        complain("no memory");
    return made;
}

static fake *device_library(const fake *f, const void *selector, const fake *source,
                            const fake *options, fake **error) {
    char reason[REASON_LIMIT];
    (void)f, (void)selector;
    if (!options->ended)
        complain("a text is compiled with fast arithmetic");
    void *library = compile(source->text, reason);
    if (library == NULL) {
        *error = error_of(reason);
        return NULL;
    }
    fake *made = make(&class_MTLLibrary);
    made->library = library;
    return made;
}

static fake *library_function(const fake *f, const void *selector, const fake *name) {
    fake *made = make(&class_MTLFunction);
    (void)selector;
    made->library = f->library;
    snprintf(made->entry, sizeof made->entry, "%s", name->text);
    if (symbol_of(made, "lanes_of_") != NULL)
        return made;
    release(made, NULL);
    return NULL;
}

static fake *device_pipeline(const fake *f, const void *selector, const fake *function,
                             fake **error) {
    char code[NAME_LIMIT];
    Dl_info info;
    (void)f, (void)selector, (void)error;
    fake *made = make(&class_MTLComputePipelineState);
    /* its own hold of the code: the library is released before it is */
    if (dladdr(symbol_of(function, "lanes_of_"), &info) == 0)
        complain("the function is nowhere");
    snprintf(code, sizeof code, "%s", info.dli_fname);
    made->library = dlopen(code, RTLD_NOW | RTLD_NOLOAD);
    if (made->library == NULL)
        made->library = function->library;
    strcpy(made->entry, function->entry);
    return made;
}

static unsigned long threads_most(const fake *f, const void *selector) {
    (void)f, (void)selector;
    return THREADS_MAX;
}

static unsigned long simd_width(const fake *f, const void *selector) {
    (void)f, (void)selector;
    return 32;
}

static unsigned long memory_most(const fake *f, const void *selector) {
    (void)f, (void)selector;
    return MEMORY_MAX;
}

static char *buffer_contents(const fake *f, const void *selector) {
    (void)selector;
    return f->text;
}

static fake *queue_commands(const fake *f, const void *selector) {
    (void)f, (void)selector;
    fake *made = in_pool(make(&class_MTLCommandBuffer));
    made->commands = calloc(1, sizeof *made->commands);
    if (made->commands == NULL)
        complain("no memory");
    return made;
}

static fake *commands_encoder(const fake *f, const void *selector) {
    (void)selector;
    fake *made = in_pool(make(&class_MTLComputeCommandEncoder));
    made->commands = f->commands;
    return made;
}

static dispatch *told(const fake *encoder) {
    if (encoder->ended)
        complain("an encoder is used behind its end");
    return &encoder->commands->now;
}

static void encoder_pipeline(const fake *f, const void *selector, fake *pipeline) {
    (void)selector;
    told(f)->pipeline = pipeline;
}

static void encoder_buffer(const fake *f, const void *selector, fake *buffer, unsigned long offset,
                           unsigned long index) {
    (void)selector;
    if (index >= BUFFERS_MAX || (buffer != NULL && offset > buffer->bytes))
        complain("buffer %lu, offset %lu", index, offset);
    told(f)->buffers[index] = buffer;
    told(f)->offsets[index] = offset;
}

static void encoder_bytes(const fake *f, const void *selector, const void *bytes,
                          unsigned long length, unsigned long index) {
    (void)selector;
    dispatch *now = told(f);
    if (length > BYTES_MAX || index >= BUFFERS_MAX)
        complain("%lu bytes at index %lu", length, index);
    memcpy(now->bytes, bytes, length);
    now->byte_count = length;
    now->bytes_index = index;
}

static void encoder_memory(const fake *f, const void *selector, unsigned long length,
                           unsigned long index) {
    (void)selector;
    if (length % 16 != 0 || length > MEMORY_MAX || index != 0)
        complain("%lu bytes of threadgroup memory at index %lu", length, index);
    told(f)->shared_bytes = length;
}

static void encoder_groups(const fake *f, const void *selector, size groups, size threads) {
    (void)selector;
    commands *c = f->commands;
    c->now.groups = groups;
    c->now.threads = threads;
    told(f);
    if (groups.width == 0 || groups.height * groups.depth * threads.height * threads.depth != 1 ||
        threads.width == 0 || threads.width > THREADS_MAX)
        complain("%lu groups of %lu threads", groups.width, threads.width);
    c->done = realloc(c->done, (size_t)(c->count + 1) * sizeof *c->done);
    if (c->done == NULL)
        complain("no memory");
    c->done[c->count++] = c->now;
    for (int b = 0; b < BUFFERS_MAX; b++)
        if (c->now.buffers[b] != NULL)
            c->now.buffers[b]->count++;
}

static void encoder_end(fake *f, const void *selector) {
    (void)selector;
    told(f);
    f->ended = true;
}

/* ---- running ---- */

/* The workspace, which is the buffer in front of the words, is unwritten for each group. */
static const char *run_dispatch(const dispatch *d) {
    void *pointers[BUFFERS_MAX] = {NULL}, *address = symbol_of(d->pipeline, "lanes_of_");
    const uint64_t *words = symbol_of(d->pipeline, "lanes_words_of_");
    const char *wrong = getenv("METAL_SHIM_WRONG"), *fault = NULL;
    lanes_entry *entry;
    memcpy(&entry, &address, sizeof entry);
    if (*words != d->byte_count)
        complain("%lu bytes of words, and the kernel has %llu", d->byte_count,
                 (unsigned long long)*words);
    for (unsigned long b = 0; b < d->bytes_index; b++)
        if (d->buffers[b] != NULL)
            pointers[b] = d->buffers[b]->text + d->offsets[b];
    pointers[d->bytes_index] = (void *)(uintptr_t)d->bytes;
    const fake *workspace = d->bytes_index > 0 ? d->buffers[d->bytes_index - 1] : NULL;
    char *shared = aligned_alloc(16, d->shared_bytes + 16);
    lanes_group group = {.threads = (int)d->threads.width,
                         .shared = shared,
                         .shared_bytes = d->shared_bytes,
                         .workspace = workspace != NULL ? workspace->text : NULL,
                         .workspace_bytes = workspace != NULL ? workspace->bytes : 0,
                         .wrong = wrong != NULL ? atoi(wrong) : LANES_RIGHT};
    for (unsigned long g = 0; g < d->groups.width && fault == NULL; g++) {
        lanes_call call = {pointers, d->bytes, shared, {0, 0, (unsigned)g}};
        memset(shared, 0x5a, d->shared_bytes);
        fault = lanes_run(&group, entry, &call);
    }
    free(shared);
    return fault;
}

static void commands_commit(fake *f, const void *selector) {
    (void)selector;
    if (f->committed)
        complain("commands are committed twice");
    f->committed = true;
    for (int i = 0; i < f->commands->count && f->error == NULL; i++) {
        const char *fault = run_dispatch(&f->commands->done[i]);
        if (fault != NULL)
            f->error = error_of(fault);
    }
}

static void commands_wait(const fake *f, const void *selector) {
    (void)selector;
    if (!f->committed)
        complain("commands are waited for that were not committed");
}

static unsigned long commands_status(const fake *f, const void *selector) {
    (void)selector;
    return f->error != NULL ? 5 : 4;
}

/* ---- the functions that the runtime opens ---- */

typedef void method_function(void);

static const struct {
    const char *class, *selector;
    method_function *method;
} methods[] = {
#define METHOD(class, selector, method) {#class, selector, (method_function *)method},
    {"+NSString", "stringWithUTF8String:", (method_function *)string_with},
    {"+MTLCompileOptions", "new", (method_function *)options_new},
    METHOD(NSString, "UTF8String",
           string_text) METHOD(NSError, "localizedDescription",
                               error_text) METHOD(MTLCompileOptions, "setMathMode:", options_math)
        METHOD(NSArray, "count", array_count) METHOD(NSArray, "objectAtIndex:", array_at) METHOD(
            MTLDevice, "name", device_name) METHOD(MTLDevice, "supportsFamily:", device_supports)
            METHOD(MTLDevice, "newCommandQueue",
                   device_queue) METHOD(MTLDevice, "newBufferWithLength:options:", device_buffer)
                METHOD(MTLDevice, "newLibraryWithSource:options:error:", device_library) METHOD(
                    MTLDevice, "newComputePipelineStateWithFunction:error:",
                    device_pipeline) METHOD(MTLDevice, "maxThreadgroupMemoryLength", memory_most)
                    METHOD(MTLLibrary, "newFunctionWithName:", library_function) METHOD(
                        MTLComputePipelineState, "maxTotalThreadsPerThreadgroup",
                        threads_most) METHOD(MTLComputePipelineState, "threadExecutionWidth",
                                             simd_width) METHOD(MTLBuffer, "contents",
                                                                buffer_contents)
                        METHOD(MTLCommandQueue, "commandBuffer", queue_commands) METHOD(
                            MTLCommandBuffer, "computeCommandEncoder",
                            commands_encoder) METHOD(MTLCommandBuffer, "commit", commands_commit)
                            METHOD(MTLCommandBuffer, "waitUntilCompleted", commands_wait) METHOD(
                                MTLCommandBuffer, "status",
                                commands_status) METHOD(MTLCommandBuffer, "error", error_text)
                                METHOD(MTLComputeCommandEncoder,
                                       "setComputePipelineState:", encoder_pipeline)
                                    METHOD(MTLComputeCommandEncoder, "setBuffer:offset:atIndex:",
                                           encoder_buffer) METHOD(MTLComputeCommandEncoder,
                                                                  "setBytes:length:atIndex:",
                                                                  encoder_bytes)
                                        METHOD(
                                            MTLComputeCommandEncoder,
                                            "setThreadgroupMemoryLength:atIndex:", encoder_memory)
                                            METHOD(MTLComputeCommandEncoder,
                                                   "dispatchThreadgroups:threadsPerThreadgroup:",
                                                   encoder_groups)
                                                METHOD(MTLComputeCommandEncoder, "endEncoding",
                                                       encoder_end)
#undef METHOD
};

static method_function *look_up(const fake_class *class, const char *selector) {
    if (class->meta != NULL && strcmp(selector, "release") == 0)
        return (method_function *)release;
    if (class->meta != NULL && strcmp(selector, "retain") == 0)
        return (method_function *)retain;
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (strcmp(methods[i].class, class->name) == 0 &&
            strcmp(methods[i].selector, selector) == 0)
            return methods[i].method;
    return NULL;
}

#pragma GCC visibility push(default)
const fake_class *objc_getClass(const char *name);
const fake_class *object_getClass(const fake *receiver);
const char *sel_registerName(const char *name);
method_function *class_getMethodImplementation(const fake_class *class, const char *selector);
bool class_respondsToSelector(const fake_class *class, const char *selector);
void *objc_autoreleasePoolPush(void);
void objc_autoreleasePoolPop(void *token);
fake *MTLCopyAllDevices(void);
#pragma GCC visibility pop

/* Those that get messages themselves. */
const fake_class *objc_getClass(const char *name) {
    if (strcmp(name, class_NSString.name) == 0)
        return &class_NSString;
    return strcmp(name, class_MTLCompileOptions.name) == 0 ? &class_MTLCompileOptions : NULL;
}

/* Of a class that is its meta class. */
const fake_class *object_getClass(const fake *receiver) {
    bool is_class = receiver->class != NULL && receiver->class->meta == NULL;
    if (!is_class && receiver->count < 1)
        complain("a message to a released %s", receiver->class->name);
    return receiver->class;
}

const char *sel_registerName(const char *name) {
    return name;
}

method_function *class_getMethodImplementation(const fake_class *class, const char *selector) {
    method_function *method = look_up(class, selector);
    if (method == NULL)
        complain("%s does not understand %s", class->name, selector);
    return method;
}

bool class_respondsToSelector(const fake_class *class, const char *selector) {
    return look_up(class, selector) != NULL;
}

void *objc_autoreleasePoolPush(void) {
    return &pool[pooled];
}

void objc_autoreleasePoolPop(void *token) {
    while (&pool[pooled] != token)
        release(pool[--pooled], NULL);
}

/* The array has the device as its own until it is released. */
fake *MTLCopyAllDevices(void) {
    fake *all = make(&class_NSArray);
    all->error = in_pool(make(&class_MTLDevice));
    return all;
}
