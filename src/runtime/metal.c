/* The device `metal`: see the header.
 *
 *     pool; command buffer; encoder
 *       a launch: pipeline, buffers, then for each part words, groups
 *     end, commit, wait                       with a queue of the caller's: without waiting
 *
 * Metal is an Objective-C framework, and this is C: objects are pointers, and a message is a call
 * of the function that the receiver's class has for a selector, which the runtime of the language
 * tells (class_getMethodImplementation), with that function's own types. Both libraries are opened
 * when a device is made. Objects whose message begins with `new`, `alloc` or `Copy` are ours to
 * release; all others belong to a pool around each call.
 *
 * Buffers are shared with the processor, so a pointer is the address of their contents, and any
 * address within one is an argument: its buffer, and an offset. Dispatches of one encoder run one
 * after the other. A launch is cut where its workspaces would pass 256 MiB together.
 *
 * NOT YET RUN ON APPLE HARDWARE. Where a build has no Metal there is no device; tests give
 * RUNTIME_METAL_SYMBOLS and pretend its functions (test/metal/fake_metal.c). docs/targets.md has
 * each call. */
#include "runtime/metal.h"

#if defined(__APPLE__) || defined(RUNTIME_METAL_SYMBOLS)

#include "base/checked.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SIMD = 32, BUFFERS_MAX = 31, WORDS_MAX = 510, FAMILY_M1 = 1007, FAMILY_M4 = 1009 };
enum { OPTIONS_SHARED = 0, MATH_SAFE = 0, COMMAND_ERROR = 5, ALIGNMENT = 16 };
#define WORKSPACE_LIMIT_BYTES (INT64_C(256) << 20)
#define GROUPS_LIMIT          INT64_C(2147483647)

typedef void *object; /* NULL answers NULL, as nil does */
typedef void *selector;
typedef void method_function(void);

typedef struct metal_size {
    unsigned long width, height, depth;
} metal_size;

typedef struct metal_library {
    void *objc, *metal; /* handles */
    object (*class_named)(const char *name);
    object (*class_of)(object receiver);
    selector (*selector_named)(const char *name);
    method_function *(*method)(object class, selector name);
    bool (*responds)(object class, selector name);
    void *(*pool_push)(void);
    void (*pool_pop)(void *pool);
    object (*all_devices)(void);
} metal_library;

typedef struct metal_buffer {
    struct metal_buffer *next;
    object handle;
    char *address;
    int64_t bytes;
} metal_buffer;

typedef struct metal_device {
    runtime_device device;
    base_allocator allocator;
    metal_library library;
    object handle, queue;
    char name[128];
    runtime_metal_facts facts;
    pthread_mutex_t lock; /* of the buffers */
    metal_buffer *buffers;
} metal_device;

typedef struct metal_code {
    object pipeline;
    int threads;
    int64_t scratch_bytes;
} metal_code;

struct runtime_module {
    int pointer_count, word_count, count;
    metal_code launches[]; /* so many */
};

/* ---- messages ---- */

static method_function *find_method(const metal_library *l, object receiver, const char *name,
                                    selector *found) {
    *found = l->selector_named(name);
    return l->method(l->class_of(receiver), *found);
}

/* Declares `call`, the receiver's method as a function of `types`, and `name`, its selector. */
#define METHOD(result, l, receiver, text, types)                                                   \
    selector name;                                                                                 \
    result(*call) types = (result(*) types)find_method(l, receiver, text, &name)

static object send(const metal_library *l, object receiver, const char *text) {
    if (receiver == NULL)
        return NULL;
    METHOD(object, l, receiver, text, (object, selector));
    return call(receiver, name);
}

static void send_void(const metal_library *l, object receiver, const char *text) {
    if (receiver == NULL)
        return;
    METHOD(void, l, receiver, text, (object, selector));
    call(receiver, name);
}

static unsigned long ask_number(const metal_library *l, object receiver, const char *text) {
    METHOD(unsigned long, l, receiver, text, (object, selector));
    return call(receiver, name);
}

static object send_number(const metal_library *l, object receiver, const char *text,
                          unsigned long number) {
    METHOD(object, l, receiver, text, (object, selector, unsigned long));
    return call(receiver, name, number);
}

static object send_object(const metal_library *l, object receiver, const char *text,
                          object argument) {
    METHOD(object, l, receiver, text, (object, selector, object));
    return call(receiver, name, argument);
}

static object string_of(const metal_library *l, const char *text) {
    object class = l->class_named("NSString");
    METHOD(object, l, class, "stringWithUTF8String:", (object, selector, const char *));
    return call(class, name, text);
}

/* Of an NSString, or of an NSError; lives as long as the pool. */
static const char *text_of(const metal_library *l, object string) {
    if (string == NULL)
        return "without a reason";
    METHOD(const char *, l, string, "UTF8String", (object, selector));
    return call(string, name);
}

static const char *reason_of(const metal_library *l, object error) {
    return text_of(l, send(l, error, "localizedDescription"));
}

static bool understands(const metal_library *l, object receiver, const char *text) {
    return l->responds(l->class_of(receiver), l->selector_named(text));
}

/* ---- opening ---- */

static bool open_function(void *library, const char *symbol, void *function,
                          runtime_report *report) {
    void *address = dlsym(library, symbol);
    if (address == NULL)
        runtime_report_set(report, RUNTIME_NO_DEVICE, "Metal has no function `%s`", symbol);
    else
        memcpy(function, &address, sizeof address);
    return address != NULL;
}

static bool open_library(metal_library *l, runtime_report *report) {
#if defined(RUNTIME_METAL_SYMBOLS)
    const char *metal = NULL, *objc = NULL;
#else
    const char *metal = "/System/Library/Frameworks/Metal.framework/Metal";
    const char *objc = "/usr/lib/libobjc.A.dylib";
#endif
    l->metal = dlopen(metal, RTLD_NOW | RTLD_LOCAL);
    l->objc = dlopen(objc, RTLD_NOW | RTLD_LOCAL);
    if (l->metal == NULL || l->objc == NULL) {
        const char *why = dlerror();
        runtime_report_set(report, RUNTIME_NO_DEVICE, "Metal cannot be opened: %s",
                           why != NULL ? why : "no reason is given");
        return false;
    }
    return open_function(l->objc, "objc_getClass", &l->class_named, report) &&
           open_function(l->objc, "object_getClass", &l->class_of, report) &&
           open_function(l->objc, "sel_registerName", &l->selector_named, report) &&
           open_function(l->objc, "class_getMethodImplementation", &l->method, report) &&
           open_function(l->objc, "class_respondsToSelector", &l->responds, report) &&
           open_function(l->objc, "objc_autoreleasePoolPush", &l->pool_push, report) &&
           open_function(l->objc, "objc_autoreleasePoolPop", &l->pool_pop, report) &&
           open_function(l->metal, "MTLCopyAllDevices", &l->all_devices, report);
}

static bool supports_family(const metal_library *l, object device, long family) {
    METHOD(bool, l, device, "supportsFamily:", (object, selector, long));
    return call(device, name, family);
}

static runtime_status take_device(metal_device *metal, int index, runtime_report *report) {
    const metal_library *l = &metal->library;
    object all = l->all_devices();
    unsigned long count = all != NULL ? ask_number(l, all, "count") : 0;
    if (index < 0 || (unsigned long)index >= count) {
        send_void(l, all, "release");
        return runtime_report_set(report, RUNTIME_NO_DEVICE, "Metal has %lu devices, and no %d",
                                  count, index);
    }
    metal->handle = send(l, send_number(l, all, "objectAtIndex:", (unsigned long)index), "retain");
    send_void(l, all, "release");
    strncpy(metal->name, text_of(l, send(l, metal->handle, "name")), sizeof metal->name - 1);
    if (!supports_family(l, metal->handle, FAMILY_M1))
        return runtime_report_set(report, RUNTIME_NO_DEVICE,
                                  "%s is not used: it is older than an Apple M1", metal->name);
    metal->facts = (runtime_metal_facts){
        .name = metal->name, .machine = supports_family(l, metal->handle, FAMILY_M4) ? "m4" : "m1"};
    metal->queue = send(l, metal->handle, "newCommandQueue");
    return metal->queue != NULL ? RUNTIME_OK
                                : runtime_report_set(report, RUNTIME_NO_DEVICE,
                                                     "%s gives no command queue", metal->name);
}

/* ---- load ---- */

/* As the text's pragmas say, for compilers that do not know them. */
static object compile_options(const metal_library *l) {
    object options = send(l, l->class_named("MTLCompileOptions"), "new");
    if (understands(l, options, "setMathMode:")) {
        METHOD(void, l, options, "setMathMode:", (object, selector, long));
        call(options, name, MATH_SAFE);
    } else {
        METHOD(void, l, options, "setFastMathEnabled:", (object, selector, bool));
        call(options, name, false);
    }
    return options;
}

static object compile_text(const metal_device *metal, const char *text, runtime_report *report) {
    const metal_library *l = &metal->library;
    object options = compile_options(l), error = NULL;
    METHOD(object, l, metal->handle,
           "newLibraryWithSource:options:error:", (object, selector, object, object, object *));
    object library = call(metal->handle, name, string_of(l, text), options, &error);
    send_void(l, options, "release");
    if (library == NULL)
        runtime_report_set(report, RUNTIME_COMPILE_FAILED, "%s", reason_of(l, error));
    return library;
}

static runtime_status check_pipeline(const metal_device *metal, const metal_code *code,
                                     runtime_report *report) {
    const metal_library *l = &metal->library;
    unsigned long threads = ask_number(l, code->pipeline, "maxTotalThreadsPerThreadgroup");
    unsigned long simd = ask_number(l, code->pipeline, "threadExecutionWidth");
    unsigned long scratch = ask_number(l, metal->handle, "maxThreadgroupMemoryLength");
    if ((unsigned long)code->threads > threads)
        return runtime_report_set(report, RUNTIME_OUT_OF_RESOURCES,
                                  "threads of a group: required %d, available %lu", code->threads,
                                  threads);
    if ((unsigned long)code->scratch_bytes > scratch)
        return runtime_report_set(report, RUNTIME_OUT_OF_RESOURCES,
                                  "threadgroup memory: required %lld bytes, available %lu",
                                  (long long)code->scratch_bytes, scratch);
    if (simd != SIMD)
        return runtime_report_set(report, RUNTIME_LOAD_FAILED,
                                  "a SIMD group has %lu threads and not %d", simd, SIMD);
    return RUNTIME_OK;
}

static runtime_status make_pipeline(const metal_device *metal, object library, const char *entry,
                                    metal_code *code, runtime_report *report) {
    const metal_library *l = &metal->library;
    object function = send_object(l, library, "newFunctionWithName:", string_of(l, entry));
    object error = NULL;
    if (function == NULL)
        return runtime_report_set(report, RUNTIME_LOAD_FAILED, "the text has no kernel `%s`",
                                  entry);
    METHOD(object, l, metal->handle,
           "newComputePipelineStateWithFunction:error:", (object, selector, object, object *));
    code->pipeline = call(metal->handle, name, function, &error);
    send_void(l, function, "release");
    if (code->pipeline == NULL)
        return runtime_report_set(report, RUNTIME_LOAD_FAILED, "%s", reason_of(l, error));
    return check_pipeline(metal, code, report);
}

static size_t module_bytes(int launches) {
    return sizeof(runtime_module) + (size_t)launches * sizeof(metal_code);
}

static void metal_unload(runtime_device *device, runtime_module *module) {
    const metal_device *metal = (metal_device *)device;
    if (module == NULL)
        return;
    for (int i = 0; i < module->count; i++)
        send_void(&metal->library, module->launches[i].pipeline, "release");
    metal->allocator.resize(metal->allocator.context, module, module_bytes(module->count), 0);
}

static runtime_status make_pipelines(const metal_device *metal, const runtime_artifact *artifact,
                                     runtime_module *module, runtime_report *report) {
    object library = compile_text(metal, artifact->text, report);
    runtime_status status = library != NULL ? RUNTIME_OK : RUNTIME_COMPILE_FAILED;
    for (int i = 0; i < module->count && status == RUNTIME_OK; i++) {
        const runtime_entry *behind = i > 0 ? &artifact->behind[i - 1] : NULL;
        module->launches[i].threads = i > 0 ? behind->threads : artifact->threads;
        module->launches[i].scratch_bytes = i > 0 ? behind->scratch_bytes : artifact->scratch_bytes;
        status = make_pipeline(metal, library, i > 0 ? behind->name : artifact->entry,
                               &module->launches[i], report);
    }
    send_void(&metal->library, library, "release");
    return status;
}

static runtime_status metal_load(runtime_device *device, const runtime_artifact *artifact,
                                 runtime_module **module, runtime_report *report) {
    metal_device *metal = (metal_device *)device;
    int count = 1 + artifact->behind_count;
    *module = NULL;
    report->from_cache = false;
    if (artifact->pointer_count + 2 > BUFFERS_MAX || artifact->word_count > WORDS_MAX)
        return runtime_report_set(report, RUNTIME_OUT_OF_RESOURCES,
                                  "buffers and words: required %d and %d, available %d and %d",
                                  artifact->pointer_count + 2, artifact->word_count, BUFFERS_MAX,
                                  WORDS_MAX);
    runtime_module *made =
        metal->allocator.resize(metal->allocator.context, NULL, 0, module_bytes(count));
    if (made == NULL)
        return runtime_report_set(report, RUNTIME_NO_MEMORY, "no memory for a module");
    memset(made, 0, module_bytes(count));
    made->pointer_count = artifact->pointer_count;
    made->word_count = artifact->word_count;
    made->count = count;
    void *pool = metal->library.pool_push();
    runtime_status status = make_pipelines(metal, artifact, made, report);
    metal->library.pool_pop(pool);
    if (status == RUNTIME_OK) {
        runtime_report_set(report, RUNTIME_OK, "%s", "");
        *module = made;
    } else {
        metal_unload(device, made);
    }
    return status;
}

/* ---- memory ---- */

static object new_buffer(const metal_device *metal, int64_t bytes) {
    METHOD(object, &metal->library, metal->handle,
           "newBufferWithLength:options:", (object, selector, unsigned long, unsigned long));
    return call(metal->handle, name, bytes > 0 ? (unsigned long)bytes : 1, OPTIONS_SHARED);
}

static runtime_status metal_allocate(runtime_device *device, int64_t bytes, void **memory,
                                     runtime_report *report) {
    metal_device *metal = (metal_device *)device;
    const metal_library *l = &metal->library;
    metal_buffer *made = metal->allocator.resize(metal->allocator.context, NULL, 0, sizeof *made);
    object handle = bytes >= 0 && made != NULL ? new_buffer(metal, bytes) : NULL;
    *memory = NULL;
    if (handle == NULL) {
        if (made != NULL)
            metal->allocator.resize(metal->allocator.context, made, sizeof *made, 0);
        return runtime_report_set(report, RUNTIME_NO_MEMORY, "no buffer of %lld bytes",
                                  (long long)bytes);
    }
    *made = (metal_buffer){
        .handle = handle, .address = send(l, handle, "contents"), .bytes = bytes > 0 ? bytes : 1};
    pthread_mutex_lock(&metal->lock);
    made->next = metal->buffers;
    metal->buffers = made;
    pthread_mutex_unlock(&metal->lock);
    *memory = made->address;
    return RUNTIME_OK;
}

static void metal_release(runtime_device *device, void *memory) {
    metal_device *metal = (metal_device *)device;
    metal_buffer *found = NULL;
    pthread_mutex_lock(&metal->lock);
    for (metal_buffer **at = &metal->buffers; *at != NULL && found == NULL;) {
        if ((*at)->address == memory) {
            found = *at;
            *at = found->next;
        } else {
            at = &(*at)->next;
        }
    }
    pthread_mutex_unlock(&metal->lock);
    if (found == NULL)
        return;
    send_void(&metal->library, found->handle, "release");
    metal->allocator.resize(metal->allocator.context, found, sizeof *found, 0);
}

static runtime_status metal_copy(runtime_device *device, void *to, const void *from, int64_t bytes,
                                 runtime_report *report) {
    (void)device, (void)report;
    memcpy(to, from, (size_t)bytes);
    return RUNTIME_OK;
}

/* The buffer in which an address lies; NULL: none. One past the end is in it too. */
static object buffer_of(metal_device *metal, const void *address, unsigned long *offset) {
    object handle = NULL;
    pthread_mutex_lock(&metal->lock);
    for (const metal_buffer *b = metal->buffers; b != NULL && handle == NULL; b = b->next) {
        uintptr_t past = (uintptr_t)address - (uintptr_t)b->address;
        if (past > (uintptr_t)b->bytes)
            continue;
        handle = b->handle;
        *offset = past;
    }
    pthread_mutex_unlock(&metal->lock);
    return handle;
}

/* ---- launch ---- */

typedef struct metal_encoding {
    metal_device *metal;
    const runtime_module *module;
    const runtime_launch *launch;
    object encoder;
} metal_encoding;

static void set_pipeline(const metal_encoding *e, object pipeline) {
    METHOD(void, &e->metal->library, e->encoder,
           "setComputePipelineState:", (object, selector, object));
    call(e->encoder, name, pipeline);
}

static void set_buffer(const metal_encoding *e, object buffer, unsigned long offset,
                       unsigned long index) {
    METHOD(void, &e->metal->library, e->encoder,
           "setBuffer:offset:atIndex:", (object, selector, object, unsigned long, unsigned long));
    call(e->encoder, name, buffer, offset, index);
}

static void set_words(const metal_encoding *e, int64_t first) {
    int64_t words[WORDS_MAX + 1];
    size_t count = (size_t)e->module->word_count;
    if (count > 0)
        memcpy(words, e->launch->words, count * sizeof words[0]);
    words[count] = first;
    METHOD(void, &e->metal->library, e->encoder, "setBytes:length:atIndex:",
           (object, selector, const void *, unsigned long, unsigned long));
    call(e->encoder, name, words, (count + 1) * sizeof words[0],
         (unsigned long)e->module->pointer_count + 1);
}

static void set_scratch(const metal_encoding *e, int64_t bytes) {
    METHOD(void, &e->metal->library, e->encoder,
           "setThreadgroupMemoryLength:atIndex:", (object, selector, unsigned long, unsigned long));
    call(e->encoder, name, (unsigned long)(bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, 0);
}

static void start_groups(const metal_encoding *e, int64_t groups, int threads) {
    METHOD(void, &e->metal->library, e->encoder, "dispatchThreadgroups:threadsPerThreadgroup:",
           (object, selector, metal_size, metal_size));
    call(e->encoder, name, (metal_size){(unsigned long)groups, 1, 1},
         (metal_size){(unsigned long)threads, 1, 1});
}

static runtime_status set_tensors(const metal_encoding *e, runtime_report *report) {
    for (int i = 0; i < e->module->pointer_count; i++) {
        unsigned long offset = 0;
        object buffer = buffer_of(e->metal, e->launch->pointers[i], &offset);
        if (buffer == NULL)
            return runtime_report_set(report, RUNTIME_SYSTEM_FAILED,
                                      "argument %d does not lie in a buffer of this device", i);
        set_buffer(e, buffer, offset, (unsigned long)i);
    }
    return RUNTIME_OK;
}

/* How many groups go at a time, at least one. */
static int64_t groups_at_a_time(runtime_size size) {
    int64_t limit = GROUPS_LIMIT;
    if (size.workspace_bytes > 0)
        limit = WORKSPACE_LIMIT_BYTES / size.workspace_bytes;
    limit = limit < 1 ? 1 : limit > GROUPS_LIMIT ? GROUPS_LIMIT : limit;
    return size.groups < limit ? size.groups : limit;
}

/* The command buffer keeps the workspace until it has ended. */
static runtime_status encode_launch(const metal_encoding *e, const metal_code *code,
                                    runtime_size size, runtime_report *report) {
    const metal_library *l = &e->metal->library;
    int64_t step = groups_at_a_time(size), bytes;
    if (size.groups < 0 || size.workspace_bytes < 0 ||
        !base_checked_mul(step, size.workspace_bytes, &bytes))
        return runtime_report_set(report, RUNTIME_NO_MEMORY,
                                  "a size of the kernel does not fit 64 bits");
    if (size.groups == 0)
        return RUNTIME_OK;
    object workspace = bytes > 0 ? new_buffer(e->metal, bytes) : NULL;
    if (bytes > 0 && workspace == NULL)
        return runtime_report_set(report, RUNTIME_NO_MEMORY, "no workspace of %lld bytes",
                                  (long long)bytes);
    set_pipeline(e, code->pipeline);
    runtime_status status = set_tensors(e, report);
    set_buffer(e, workspace, 0, (unsigned long)e->module->pointer_count);
    if (code->scratch_bytes > 0)
        set_scratch(e, code->scratch_bytes);
    for (int64_t first = 0; first < size.groups && status == RUNTIME_OK; first += step) {
        set_words(e, first);
        start_groups(e, size.groups - first < step ? size.groups - first : step, code->threads);
    }
    send_void(l, workspace, "release");
    return status;
}

static runtime_status run_commands(metal_encoding *e, runtime_report *report) {
    const metal_library *l = &e->metal->library;
    const runtime_launch *launch = e->launch;
    object queue = launch->stream != NULL ? launch->stream : e->metal->queue;
    object commands = send(l, queue, "commandBuffer");
    runtime_status status = RUNTIME_OK;
    e->encoder = send(l, commands, "computeCommandEncoder");
    if (e->encoder == NULL)
        return runtime_report_set(report, RUNTIME_SYSTEM_FAILED, "the queue gives no encoder");
    for (int i = 0; i < e->module->count && status == RUNTIME_OK; i++)
        status = encode_launch(e, &e->module->launches[i],
                               i > 0 ? launch->behind[i - 1]
                                     : (runtime_size){launch->groups, launch->workspace_bytes},
                               report);
    send_void(l, e->encoder, "endEncoding");
    if (status != RUNTIME_OK)
        return status; /* what was not committed does not run */
    send_void(l, commands, "commit");
    if (launch->stream != NULL)
        return RUNTIME_OK;
    send_void(l, commands, "waitUntilCompleted");
    if (ask_number(l, commands, "status") == COMMAND_ERROR)
        return runtime_report_set(report, RUNTIME_SYSTEM_FAILED, "the launch failed: %s",
                                  reason_of(l, send(l, commands, "error")));
    return RUNTIME_OK;
}

static runtime_status metal_launch(runtime_device *device, runtime_module *module,
                                   const runtime_launch *launch, runtime_report *report) {
    metal_device *metal = (metal_device *)device;
    metal_encoding encoding = {.metal = metal, .module = module, .launch = launch};
    void *pool = metal->library.pool_push();
    runtime_status status = run_commands(&encoding, report);
    metal->library.pool_pop(pool);
    return status;
}

/* ---- the device ---- */

/* Metal tells neither registers nor what spills. */
static bool metal_facts(const runtime_device *device, const runtime_module *module, int launch,
                        runtime_facts *facts) {
    (void)device, (void)module, (void)launch, (void)facts;
    return false;
}

static void metal_destroy(runtime_device *device) {
    metal_device *metal = (metal_device *)device;
    if (metal == NULL)
        return;
    while (metal->buffers != NULL)
        metal_release(device, metal->buffers->address);
    if (metal->library.class_of != NULL) {
        send_void(&metal->library, metal->queue, "release");
        send_void(&metal->library, metal->handle, "release");
    }
    pthread_mutex_destroy(&metal->lock);
    metal->allocator.resize(metal->allocator.context, metal, sizeof *metal, 0);
}

static const runtime_device_vtable metal_vtable = {
    .name = "metal",
    .memory = RUNTIME_MEMORY_METAL,
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
    metal_device *metal = allocator.resize(allocator.context, NULL, 0, sizeof *metal);
    *device = NULL;
    if (metal == NULL)
        return runtime_report_set(report, RUNTIME_NO_MEMORY, "no memory for a device");
    *metal = (metal_device){.device.vtable = &metal_vtable, .allocator = allocator};
    pthread_mutex_init(&metal->lock, NULL);
    runtime_status status = RUNTIME_NO_DEVICE;
    if (open_library(&metal->library, report)) {
        void *pool = metal->library.pool_push();
        status = take_device(metal, index, report);
        metal->library.pool_pop(pool);
    }
    if (status == RUNTIME_OK)
        *device = &metal->device;
    else
        metal_destroy(&metal->device);
    return status;
}

const runtime_metal_facts *runtime_metal_facts_of(const runtime_device *device) {
    return &((const metal_device *)device)->facts;
}

#else

runtime_status runtime_metal_create(base_allocator allocator, int index, runtime_device **device,
                                    runtime_report *report) {
    (void)allocator, (void)index;
    *device = NULL;
    return runtime_report_set(report, RUNTIME_NO_DEVICE,
                              "this build has no runtime for Metal: `croft emit` writes its text");
}

const runtime_metal_facts *runtime_metal_facts_of(const runtime_device *device) {
    (void)device;
    return NULL;
}

#endif
