/* The pretended implementation of fake_opencl.h. */
#include "fake_opencl.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#ifdef FAKE_VENDOR
#define FUNCTION __attribute__((visibility("hidden")))
#else
#define FUNCTION EXPORT
#endif

EXPORT fake_opencl_state fake_opencl;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const void *table[128]; /* filled below */

/* Every object begins with where its functions are. */
typedef struct object {
    const void *functions;
    int number;
} object;

typedef struct memory_object {
    object head;
    void *context;
    struct memory_object *whole;
    size_t offset, bytes;
    int references;
    char *data; /* NULL: workspaces of tests are large */
} memory_object;

typedef struct kernel_object {
    object head;
    pthread_t setter; /* who set argument 0 last */
    fake_launch arguments;
} kernel_object;

static object platform = {table, 0}, devices[2] = {{table, 0}, {table, 1}};
static object own_context = {table, 1}, caller_context = {table, 2};
static object own_queue = {table, 1}, caller_queue = {table, 2};
static object program = {table, 0};

/* ---- what launches do ---- */

static void copy_elements(const fake_launch *launch, int64_t more) {
    float *to = (float *)(void *)((memory_object *)launch->memories[1])->data;
    const float *from = (const float *)(void *)((memory_object *)launch->memories[0])->data;
    int64_t count = launch->words[0] * launch->words[1];
    for (int64_t i = 0; i < count; i++)
        to[i] = from[i];
    for (int64_t i = 0; i < more; i++)
        to[count + i] = 7.0f;
}

static void copy(const fake_launch *launch) {
    copy_elements(launch, 0);
}

static void overrun(const fake_launch *launch) {
    copy_elements(launch, 1);
}

static void unsteady(const fake_launch *launch) {
    copy_elements(launch, 0);
    if (fake_opencl.launch_count % 3 == 0)
        ((float *)(void *)((memory_object *)launch->memories[1])->data)[1] = 7.0f;
}

/* ---- the state ---- */

static const fake_device good = {.kind = 2,
                                 .memory_bytes = UINT64_C(1) << 34,
                                 .allocation_bytes = UINT64_C(1) << 32,
                                 .scratch_bytes = 32768,
                                 .single_config = 0xff,
                                 .available = 1,
                                 .compiler = 1,
                                 .little_endian = 1,
                                 .address_bits = 64,
                                 .processors = 4,
                                 .alignment_bits = 1024,
                                 .threads = 256,
                                 .argument_bytes = 1024,
                                 .name = "Pretended processor",
                                 .version = "OpenCL 3.0 pretended",
                                 .language = "OpenCL C 1.2 pretended",
                                 .profile = "FULL_PROFILE"};

EXPORT void fake_opencl_reset(void);

EXPORT __attribute__((constructor)) void fake_opencl_reset(void) {
    const char *word = getenv("FAKE_OPENCL");
    word = word != NULL ? word : "";
    fake_opencl = (fake_opencl_state){.caller_context = &caller_context,
                                      .caller_queue = &caller_queue,
                                      .caller_device = &devices[0],
                                      .platform_count = strcmp(word, "none") != 0,
                                      .device_count = strcmp(word, "empty") == 0 ? 0 : 2,
                                      .devices = {good, good},
                                      .log = "",
                                      .kernel_threads = 256,
                                      .kernel_group = 64,
                                      .kernel_scratch = 512,
                                      .kernel_arguments = 4};
    fake_opencl.devices[1].kind = 4;
    fake_opencl.devices[1].name = "Pretended graphics";
    if (strcmp(word, "lacking") == 0) {
        fake_opencl.devices[0].single_config = 0x7e;
        fake_opencl.devices[1].compiler = 0;
        fake_opencl.devices[1].language = "OpenCL C 1.1 ";
    }
    fake_opencl.kernel = strcmp(word, "copy") == 0       ? copy
                         : strcmp(word, "overrun") == 0  ? overrun
                         : strcmp(word, "unsteady") == 0 ? unsteady
                                                         : NULL;
    fake_opencl.reads_text = getenv("FAKE_OPENCL") != NULL;
    fake_opencl.lost = strcmp(word, "lost") == 0;
}

static void rule(int holds, const char *what) {
    if (holds)
        return;
    pthread_mutex_lock(&lock);
    fake_opencl.broken_rules++;
    fake_opencl.broken = what;
    pthread_mutex_unlock(&lock);
}

/* Counts a call; the error it is to give. */
static int called(const char *name) {
    pthread_mutex_lock(&lock);
    int fails = ++fake_opencl.calls == fake_opencl.fail_at;
    if (fails)
        fake_opencl.failed = name;
    pthread_mutex_unlock(&lock);
    return fails ? fake_opencl.fail_with : 0;
}

static void add(int *counter, int number) {
    pthread_mutex_lock(&lock);
    *counter += number;
    int good_number = *counter >= 0;
    pthread_mutex_unlock(&lock);
    rule(good_number, "given back more often than taken");
}

#define CALL(name)                                                                                 \
    do {                                                                                           \
        int error_ = called(name);                                                                 \
        if (error_ != 0)                                                                           \
            return error_;                                                                         \
    } while (0)
#define CALL_FOR_OBJECT(name, error)                                                               \
    do {                                                                                           \
        *(error) = called(name);                                                                   \
        if (*(error) != 0)                                                                         \
            return NULL;                                                                           \
    } while (0)

static int give(const void *bytes, size_t length, size_t size, void *value, size_t *full) {
    if (full != NULL)
        *full = length;
    if (value != NULL && size < length)
        return -30;
    if (value != NULL)
        memcpy(value, bytes, length);
    return 0;
}

static int give_text(const char *text, size_t size, void *value, size_t *full) {
    return give(text, strlen(text) + 1, size, value, full);
}

/* ---- platforms and devices ---- */

static int list_platforms(const char *name, uint32_t limit, void **platforms, uint32_t *count) {
    CALL(name);
    *count = (uint32_t)fake_opencl.platform_count;
    if (fake_opencl.platform_count == 0)
        return -1001;
    if (limit > 0)
        platforms[0] = &platform;
    return 0;
}

FUNCTION int clGetPlatformIDs(uint32_t limit, void **platforms, uint32_t *count) {
#ifdef FAKE_VENDOR
    rule(0, "the table's clGetPlatformIDs is the loader's");
#endif
    return list_platforms("clGetPlatformIDs", limit, platforms, count);
}

FUNCTION int clGetPlatformInfo(void *asked, uint32_t what, size_t size, void *value, size_t *full) {
    CALL("clGetPlatformInfo");
    rule(asked == &platform, "an unknown platform");
    return give_text(what == 0x0902 ? "Pretending" : "OpenCL 3.0 pretended", size, value, full);
}

FUNCTION int clGetDeviceIDs(void *of, uint64_t kinds, uint32_t limit, void **found,
                            uint32_t *count) {
    CALL("clGetDeviceIDs");
    rule(of == &platform && kinds == 0xFFFFFFFF, "an unknown platform");
    *count = (uint32_t)fake_opencl.device_count;
    for (uint32_t i = 0; i < *count && i < limit; i++)
        found[i] = &devices[i];
    return *count > 0 ? 0 : -1;
}

FUNCTION int clGetDeviceInfo(void *device, uint32_t what, size_t size, void *value, size_t *full) {
    CALL("clGetDeviceInfo");
    rule(device == &devices[0] || device == &devices[1], "an unknown device");
    const fake_device *d = &fake_opencl.devices[((object *)device)->number];
    const size_t sizes[3] = {d->threads, d->threads, d->threads};
    void *its_platform = &platform;
    switch (what) {
    case 0x1000:
        return give(&d->kind, sizeof d->kind, size, value, full);
    case 0x1002:
        return give(&d->processors, sizeof d->processors, size, value, full);
    case 0x1004:
        return give(&d->threads, sizeof d->threads, size, value, full);
    case 0x1005:
        return give(sizes, sizeof sizes, size, value, full);
    case 0x100D:
        return give(&d->address_bits, sizeof d->address_bits, size, value, full);
    case 0x1010:
        return give(&d->allocation_bytes, sizeof d->allocation_bytes, size, value, full);
    case 0x1017:
        return give(&d->argument_bytes, sizeof d->argument_bytes, size, value, full);
    case 0x1019:
        return give(&d->alignment_bits, sizeof d->alignment_bits, size, value, full);
    case 0x101B:
        return give(&d->single_config, sizeof d->single_config, size, value, full);
    case 0x101F:
        return give(&d->memory_bytes, sizeof d->memory_bytes, size, value, full);
    case 0x1023:
        return give(&d->scratch_bytes, sizeof d->scratch_bytes, size, value, full);
    case 0x1026:
        return give(&d->little_endian, sizeof d->little_endian, size, value, full);
    case 0x1027:
        return give(&d->available, sizeof d->available, size, value, full);
    case 0x1028:
        return give(&d->compiler, sizeof d->compiler, size, value, full);
    case 0x102B:
        return give_text(d->name, size, value, full);
    case 0x102D:
        return give_text("7.5", size, value, full);
    case 0x102E:
        return give_text(d->profile, size, value, full);
    case 0x102F:
        return give_text(d->version, size, value, full);
    case 0x1031:
        return give(&its_platform, sizeof its_platform, size, value, full);
    case 0x103D:
        return give_text(d->language, size, value, full);
    default:
        return -30;
    }
}

/* ---- contexts and queues ---- */

FUNCTION void *clCreateContext(const intptr_t *properties, uint32_t count, void *const *of,
                               void *notify, void *state, int *error) {
    CALL_FOR_OBJECT("clCreateContext", error);
    rule(properties[0] == 0x1084 && properties[1] == (intptr_t)&platform && properties[2] == 0,
         "not the platform");
    rule(count == 1 && (of[0] == &devices[0] || of[0] == &devices[1]) && notify == NULL &&
             state == NULL,
         "an unknown device");
    add(&fake_opencl.live_contexts, 1);
    return &own_context;
}

FUNCTION int clReleaseContext(void *context) {
    rule(context == &own_context, "a context that is not its own");
    add(&fake_opencl.live_contexts, -1);
    CALL("clReleaseContext");
    return 0;
}

FUNCTION void *clCreateCommandQueue(void *context, void *device, uint64_t properties, int *error) {
    CALL_FOR_OBJECT("clCreateCommandQueue", error);
    rule(context == &own_context || (context == &caller_context && device == &devices[0]),
         "an unknown context");
    rule(properties == 0, "a queue that keeps no order");
    add(&fake_opencl.live_queues, 1);
    return &own_queue;
}

FUNCTION int clReleaseCommandQueue(void *queue) {
    rule(queue == &own_queue, "a queue that is not its own");
    add(&fake_opencl.live_queues, -1);
    CALL("clReleaseCommandQueue");
    return 0;
}

FUNCTION int clFlush(void *queue) {
    CALL("clFlush");
    rule(queue == &caller_queue, "its own queue needs no flush");
    add(&fake_opencl.flushes, 1);
    return 0;
}

/* ---- memory ---- */

static memory_object *new_memory(void *context, memory_object *whole, size_t offset, size_t bytes) {
    memory_object *memory = calloc(1, sizeof *memory);
    if (memory == NULL)
        return NULL;
    *memory = (memory_object){.head = {table, 0},
                              .context = context,
                              .whole = whole,
                              .offset = offset,
                              .bytes = bytes,
                              .references = 1};
    if (whole != NULL)
        memory->data = whole->data + offset;
    else if (bytes < ((size_t)1 << 20))
        memory->data = calloc(1, bytes);
    return memory;
}

FUNCTION void *clCreateBuffer(void *context, uint64_t flags, size_t bytes, void *host, int *error) {
    CALL_FOR_OBJECT("clCreateBuffer", error);
    rule(context == &own_context || context == &caller_context, "an unknown context");
    rule(flags == 1 && bytes > 0 && host == NULL, "not memory of the device");
    add(&fake_opencl.live_memories, 1);
    pthread_mutex_lock(&lock);
    fake_opencl.live_bytes += (int64_t)bytes;
    if (fake_opencl.live_bytes > fake_opencl.bytes_peak)
        fake_opencl.bytes_peak = fake_opencl.live_bytes;
    pthread_mutex_unlock(&lock);
    return new_memory(context, NULL, 0, bytes);
}

FUNCTION void *clCreateSubBuffer(void *buffer, uint64_t flags, uint32_t kind, const void *region,
                                 int *error) {
    CALL_FOR_OBJECT("clCreateSubBuffer", error);
    memory_object *whole = buffer;
    const size_t *origin = region;
    rule(whole->whole == NULL && flags == 0 && kind == 0x1220, "a part of a part");
    rule(origin[1] > 0 && origin[0] + origin[1] <= whole->bytes, "a part outside");
    rule(origin[0] % 128 == 0, "a part that is not aligned");
    add(&fake_opencl.live_memories, 1);
    return new_memory(whole->context, whole, origin[0], origin[1]);
}

FUNCTION int clRetainMemObject(void *memory) {
    CALL("clRetainMemObject");
    pthread_mutex_lock(&lock);
    ((memory_object *)memory)->references++;
    pthread_mutex_unlock(&lock);
    return 0;
}

FUNCTION int clReleaseMemObject(void *released) {
    memory_object *memory = released;
    pthread_mutex_lock(&lock);
    int last = --memory->references == 0;
    if (last && memory->whole == NULL)
        fake_opencl.live_bytes -= (int64_t)memory->bytes;
    pthread_mutex_unlock(&lock);
    if (last) {
        if (memory->whole == NULL)
            free(memory->data);
        free(memory);
        add(&fake_opencl.live_memories, -1);
    }
    CALL("clReleaseMemObject");
    return 0;
}

FUNCTION int clGetMemObjectInfo(void *asked, uint32_t what, size_t size, void *value,
                                size_t *full) {
    CALL("clGetMemObjectInfo");
    const memory_object *memory = asked;
    void *host = fake_opencl.host;
    const uint64_t flags = host != NULL ? 1 | 8 : 1;
    switch (what) {
    case 0x1101:
        return give(&flags, sizeof flags, size, value, full);
    case 0x1102:
        return give(&memory->bytes, sizeof memory->bytes, size, value, full);
    case 0x1103:
        return give(&host, sizeof host, size, value, full);
    case 0x1106:
        return give(&memory->context, sizeof memory->context, size, value, full);
    case 0x1107:
        return give(&memory->whole, sizeof memory->whole, size, value, full);
    case 0x1108:
        return give(&memory->offset, sizeof memory->offset, size, value, full);
    default:
        return -30;
    }
}

FUNCTION int clEnqueueWriteBuffer(void *queue, void *memory, uint32_t blocking, size_t offset,
                                  size_t bytes, const void *from, uint32_t count,
                                  void *const *events, void **event) {
    CALL("clEnqueueWriteBuffer");
    rule(queue == &own_queue && blocking == 1 && count == 0 && events == NULL && event == NULL,
         "a copy that is not waited for");
    rule(offset + bytes <= ((memory_object *)memory)->bytes, "a copy past the end");
    memcpy(((memory_object *)memory)->data + offset, from, bytes);
    add(&fake_opencl.copies, 1);
    return 0;
}

FUNCTION int clEnqueueReadBuffer(void *queue, void *memory, uint32_t blocking, size_t offset,
                                 size_t bytes, void *to, uint32_t count, void *const *events,
                                 void **event) {
    CALL("clEnqueueReadBuffer");
    rule(queue == &own_queue && blocking == 1 && count == 0 && events == NULL && event == NULL,
         "a copy that is not waited for");
    rule(offset + bytes <= ((memory_object *)memory)->bytes, "a copy past the end");
    memcpy(to, ((memory_object *)memory)->data + offset, bytes);
    add(&fake_opencl.copies, 1);
    return 0;
}

/* ---- programs and kernels ---- */

FUNCTION void *clCreateProgramWithSource(void *context, uint32_t count, const char **texts,
                                         const size_t *lengths, int *error) {
    CALL_FOR_OBJECT("clCreateProgramWithSource", error);
    rule(context == &own_context || context == &caller_context, "an unknown context");
    rule(count == 1 && lengths != NULL, "a text stands alone");
    pthread_mutex_lock(&lock);
    snprintf(fake_opencl.text, sizeof fake_opencl.text, "%.*s", (int)lengths[0], texts[0]);
    const char *group = strstr(texts[0], "reqd_work_group_size(");
    if (fake_opencl.reads_text && group != NULL)
        fake_opencl.kernel_group = strtoul(strchr(group, '(') + 1, NULL, 10);
    pthread_mutex_unlock(&lock);
    add(&fake_opencl.live_programs, 1);
    return &program;
}

FUNCTION int clReleaseProgram(void *released) {
    rule(released == &program, "an unknown program");
    add(&fake_opencl.live_programs, -1);
    CALL("clReleaseProgram");
    return 0;
}

FUNCTION int clBuildProgram(void *built, uint32_t count, void *const *of, const char *options,
                            void *notify, void *state) {
    CALL("clBuildProgram");
    rule(built == &program && count == 1 && of != NULL && notify == NULL && state == NULL,
         "an unknown program");
    pthread_mutex_lock(&lock);
    snprintf(fake_opencl.options, sizeof fake_opencl.options, "%s", options);
    fake_opencl.builds++;
    pthread_mutex_unlock(&lock);
    return fake_opencl.build_error;
}

FUNCTION int clGetProgramBuildInfo(void *asked, void *device, uint32_t what, size_t size,
                                   void *value, size_t *full) {
    CALL("clGetProgramBuildInfo");
    rule(asked == &program && device != NULL && what == 0x1183, "not the log");
    return give_text(fake_opencl.log, size, value, full);
}

FUNCTION void *clCreateKernel(void *of, const char *name, int *error) {
    CALL_FOR_OBJECT("clCreateKernel", error);
    rule(of == &program, "an unknown program");
    *error =
        fake_opencl.kernel_name != NULL && strcmp(fake_opencl.kernel_name, name) != 0 ? -46 : 0;
    if (*error != 0)
        return NULL;
    kernel_object *kernel = calloc(1, sizeof *kernel);
    if (kernel == NULL)
        return NULL;
    kernel->head.functions = table;
    add(&fake_opencl.live_kernels, 1);
    return kernel;
}

FUNCTION int clReleaseKernel(void *kernel) {
    free(kernel);
    add(&fake_opencl.live_kernels, -1);
    CALL("clReleaseKernel");
    return 0;
}

FUNCTION int clGetKernelInfo(void *kernel, uint32_t what, size_t size, void *value, size_t *full) {
    CALL("clGetKernelInfo");
    rule(kernel != NULL && what == 0x1191, "not the number of arguments");
    return give(&fake_opencl.kernel_arguments, sizeof fake_opencl.kernel_arguments, size, value,
                full);
}

FUNCTION int clGetKernelWorkGroupInfo(void *kernel, void *device, uint32_t what, size_t size,
                                      void *value, size_t *full) {
    CALL("clGetKernelWorkGroupInfo");
    rule(kernel != NULL && device != NULL, "an unknown kernel");
    const size_t group[3] = {fake_opencl.kernel_group, 1, 1};
    const uint64_t private = 48;
    switch (what) {
    case 0x11B0:
        return give(&fake_opencl.kernel_threads, sizeof fake_opencl.kernel_threads, size, value,
                    full);
    case 0x11B1:
        return give(group, sizeof group, size, value, full);
    case 0x11B2:
        return give(&fake_opencl.kernel_scratch, sizeof fake_opencl.kernel_scratch, size, value,
                    full);
    case 0x11B4:
        return give(&private, sizeof private, size, value, full);
    default:
        return -30;
    }
}

FUNCTION int clSetKernelArg(void *set, uint32_t index, size_t size, const void *value) {
    CALL("clSetKernelArg");
    kernel_object *kernel = set;
    fake_launch *arguments = &kernel->arguments;
    if (index == 0) {
        kernel->setter = pthread_self();
        sched_yield(); /* so that another thread that may set arguments now does */
    }
    rule(pthread_equal(kernel->setter, pthread_self()), "arguments of two threads");
    if (index >= fake_opencl.kernel_arguments || index >= FAKE_ARGUMENT_LIMIT)
        return -49;
    if (index + 1 < fake_opencl.kernel_arguments) {
        rule(size == sizeof(void *), "no buffer");
        memcpy(&arguments->memories[index], value, sizeof(void *));
    } else {
        arguments->word_bytes = size;
        memcpy(arguments->words, value,
               size < sizeof arguments->words ? size : sizeof arguments->words);
    }
    arguments->argument_count = (int)index + 1;
    return 0;
}

/* ---- launches ---- */

static int share_bytes(const memory_object *a, const memory_object *b) {
    const memory_object *a_whole = a->whole != NULL ? a->whole : a;
    const memory_object *b_whole = b->whole != NULL ? b->whole : b;
    return a != b && a_whole == b_whole && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

/* Reading through both would be defined, but nobody knows here what a kernel does. */
static void check_memories(const fake_launch *launch) {
    for (int i = 0; i < launch->argument_count; i++)
        for (int j = 0; j < i; j++)
            rule(launch->memories[i] == NULL || launch->memories[j] == NULL ||
                     !share_bytes(launch->memories[i], launch->memories[j]),
                 "a launch on two handles of the same bytes");
}

FUNCTION int clEnqueueNDRangeKernel(void *queue, void *launched, uint32_t dimensions,
                                    const size_t *offset, const size_t *items, const size_t *group,
                                    uint32_t count, void *const *events, void **event) {
    CALL("clEnqueueNDRangeKernel");
    kernel_object *kernel = launched;
    rule(queue == &own_queue || queue == &caller_queue, "an unknown queue");
    rule(dimensions == 1 && offset == NULL && group != NULL && items[0] % group[0] == 0,
         "groups are left over");
    rule(pthread_equal(kernel->setter, pthread_self()), "arguments of another thread");
    rule(count <= 1 && event != NULL, "nobody can wait for it");
    fake_launch launch = kernel->arguments;
    launch.items = items[0];
    launch.group = group[0];
    check_memories(&launch);
    launch.queue = queue;
    launch.kernel = kernel;
    launch.waits_for = count == 1 ? ((object *)events[0])->number : -1;
    object *made = calloc(1, sizeof *made);
    if (made == NULL)
        return -6;
    pthread_mutex_lock(&lock);
    *made = (object){table, fake_opencl.launch_count};
    if (fake_opencl.launch_count < FAKE_LAUNCH_LIMIT)
        fake_opencl.launches[fake_opencl.launch_count] = launch;
    fake_opencl.launch_count++;
    pthread_mutex_unlock(&lock);
    add(&fake_opencl.live_events, 1);
    if (fake_opencl.kernel != NULL)
        fake_opencl.kernel(&launch);
    *event = made;
    return 0;
}

FUNCTION int clWaitForEvents(uint32_t count, void *const *events) {
    CALL("clWaitForEvents");
    rule(count == 1 && events[0] != NULL, "not the last event");
    add(&fake_opencl.waits, 1);
    return fake_opencl.lost ? -14 : 0;
}

FUNCTION int clReleaseEvent(void *event) {
    free(event);
    add(&fake_opencl.live_events, -1);
    CALL("clReleaseEvent");
    return 0;
}

/* ---- as a vendor's library ---- */

#ifdef FAKE_VENDOR
static int vendor_platforms(uint32_t limit, void **platforms, uint32_t *count) {
    return list_platforms("clIcdGetPlatformIDsKHR", limit, platforms, count);
}

EXPORT void *clGetExtensionFunctionAddress(const char *name) {
    int (*function)(uint32_t, void **, uint32_t *) = vendor_platforms;
    void *address;
    memcpy(&address, &function, sizeof address);
    return strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? address : NULL;
}

/* The places of cl_khr_icd, written here once more. */
static const struct {
    int place;
    void (*function)(void);
} places[] = {
#define PLACE(number, name)                                                                        \
    { number, (void (*)(void))(name) }
    PLACE(0, clGetPlatformIDs),
    PLACE(1, clGetPlatformInfo),
    PLACE(2, clGetDeviceIDs),
    PLACE(3, clGetDeviceInfo),
    PLACE(4, clCreateContext),
    PLACE(7, clReleaseContext),
    PLACE(9, clCreateCommandQueue),
    PLACE(11, clReleaseCommandQueue),
    PLACE(14, clCreateBuffer),
    PLACE(17, clRetainMemObject),
    PLACE(18, clReleaseMemObject),
    PLACE(20, clGetMemObjectInfo),
    PLACE(26, clCreateProgramWithSource),
    PLACE(29, clReleaseProgram),
    PLACE(30, clBuildProgram),
    PLACE(33, clGetProgramBuildInfo),
    PLACE(34, clCreateKernel),
    PLACE(37, clReleaseKernel),
    PLACE(38, clSetKernelArg),
    PLACE(39, clGetKernelInfo),
    PLACE(40, clGetKernelWorkGroupInfo),
    PLACE(41, clWaitForEvents),
    PLACE(44, clReleaseEvent),
    PLACE(46, clFlush),
    PLACE(48, clEnqueueReadBuffer),
    PLACE(49, clEnqueueWriteBuffer),
    PLACE(59, clEnqueueNDRangeKernel),
    PLACE(82, clCreateSubBuffer),
};

static __attribute__((constructor)) void fill_table(void) {
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        memcpy(&table[places[i].place], &places[i].function, sizeof(void *));
}
#endif
