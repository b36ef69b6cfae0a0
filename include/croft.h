/* croft.h: numeric kernels from short texts, compiled and run inside another program.
 *
 *     croft_context *context;    croft_kernel *kernel;    croft_dispatch *softmax;
 *     croft_context_create(NULL, &context);
 *     croft_compile(context, &(croft_source){sizeof(croft_source), text}, &kernel, &findings);
 *     croft_prepare(kernel, arguments, 2, NULL, &softmax, &findings);
 *     croft_launch(softmax, NULL, &findings);                       as often as wanted
 *     croft_dispatch_free(softmax);  croft_kernel_free(kernel);  croft_context_free(context);
 *
 * Statuses. Every call that can fail says how; nothing here exits, aborts, prints, or reads the
 * environment (croft_config_from_environment is the one that does), and there is no global state
 * but the table of croft_torch.h.
 * What is wrong with a kernel, an argument, a plan or a call comes as findings: croft_diagnostics.
 *
 * Ownership. What a call gives through a `**` belongs to the caller, who frees it with the _free of
 * its kind; NULL is allowed there. On failure it is NULL. Dispatches end before their kernel,
 * kernels before their context. Texts and arrays that a call is given are read during the call; the
 * memory of tensors stays the caller's, and is used by launches until the dispatch ends.
 *
 * Threads. A context and a kernel may be used by several threads at once; so may a dispatch be
 * launched. Freeing is for one thread, when no other uses the object. Findings belong to whoever
 * asked.
 *
 * Growth. Each struct that a caller fills begins with its size: what a newer header adds at the end
 * means, where it is missing or zero, what it meant before.
 */
#ifndef CROFT_H
#define CROFT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CROFT_API __attribute__((visibility("default")))
#else
#define CROFT_API
#endif

#define CROFT_VERSION_MAJOR 0
#define CROFT_VERSION_MINOR 1
#define CROFT_VERSION_PATCH 0
#define CROFT_VERSION                                                                              \
    (CROFT_VERSION_MAJOR * 1000000 + CROFT_VERSION_MINOR * 1000 + CROFT_VERSION_PATCH)

/* `MAJOR.MINOR.PATCH` of the library that is linked, a static string. */
CROFT_API const char *croft_version(void);

/* ---- statuses ---- */
typedef enum croft_status {
    CROFT_OK = 0,
    CROFT_REJECTED,         /* a kernel, an argument, a plan or a layout: the findings say why */
    CROFT_MISUSE,           /* NULL, a size or a number that cannot be meant, another version */
    CROFT_OUT_OF_MEMORY,    /* the allocator gave none; the context can be used on */
    CROFT_NO_COMPILER,      /* none found, or the one named cannot be executed */
    CROFT_COMPILER_FAILED,  /* it ran and failed, or what it made cannot be loaded */
    CROFT_NO_DEVICE,        /* no driver, or no device behind it */
    CROFT_OUT_OF_RESOURCES, /* threads, scratch or registers of a device; operators */
    CROFT_SYSTEM_FAILED     /* no usable temporary directory, no process, a failed write */
} croft_status;

/* `rejected`, `out of memory`, ...: a static string. */
CROFT_API const char *croft_status_name(croft_status status);

/* ---- findings ---- */
/* What was wrong, at most 20 of it. Where memory is short there may be none. */
typedef struct croft_diagnostics croft_diagnostics;

/* One of them. Texts are valid until the findings are freed, and NULL where there is none. */
typedef struct croft_diagnostic {
    size_t size;        /* in: sizeof(croft_diagnostic) */
    const char *slug;   /* a stable word: unknown-name, size-mismatch, ... */
    const char *source; /* the name that the text was given */
    int line, column;   /* from 1, in bytes; line 0: nowhere in a text */
    int length;         /* bytes that it is about */
    const char *message;
    const char *found, *expected, *hint;
} croft_diagnostic;

CROFT_API int croft_diagnostics_count(const croft_diagnostics *findings); /* NULL: 0 */
/* Number `index`, from 0. CROFT_MISUSE where there is none. */
CROFT_API croft_status croft_diagnostics_at(const croft_diagnostics *findings, int index,
                                            croft_diagnostic *diagnostic);
/* All of them with their source lines, for people; "" for NULL. Valid until they are freed. */
CROFT_API const char *croft_diagnostics_text(const croft_diagnostics *findings);
CROFT_API void croft_diagnostics_free(croft_diagnostics *findings);

/* ---- contexts ---- */
/* Memory for everything that the library keeps: resize(context, NULL, 0, n) allocates,
 * resize(context, p, old, 0) frees, else grows or shrinks. NULL: there is none. It is called from
 * every thread that calls the library. Aligned as malloc does. */
typedef void *croft_resize(void *context, void *memory, size_t old_size, size_t new_size);

/* The caller's own threads: calls body(state, i) once for each i in [0, n), on any threads and in
 * any order, and returns when all have returned. Neither it nor croft_resize may throw. */
typedef void croft_parallel_for(void *context, int64_t n, void (*body)(void *state, int64_t index),
                                void *state);

/* Zeroed but for its size, everything is the default. Texts are copied. */
typedef struct croft_config {
    size_t size;          /* sizeof(croft_config) */
    croft_resize *resize; /* NULL: malloc, realloc and free */
    void *resize_context;
    const char *device;  /* `cpu`, `cuda`, `opencl`; NULL: cpu */
    const char *machine; /* whose plans are made, a name of `croft plan --help`; NULL: the device's
                            own */
    /* Threads of the cpu that a launch may use. 1: the caller's alone. 0: as many as there are
     * processors for this process. They are started by the first launch that is worth them, and
     * joined when the context is freed. */
    int threads;
    croft_parallel_for *parallel_for; /* instead of the library's own threads; it is handed at most
                                         `threads` indices at a time */
    void *parallel_context;
    const char *compiler; /* of C: a path, or a name to look for. NULL: cc, gcc, clang */
    const char *path;     /* where to look, as in PATH. NULL: /usr/local/bin and /usr/bin */
    const char *temporary_directory;      /* tried before /tmp, /dev/shm, /var/tmp. NULL: none */
    const char *cuda_driver, *cuda_nvrtc; /* libraries; NULL: their usual names */
    /* The directory in which compiled programs are kept from process to process; it is made, for
     * its owner alone, and not used when it is a link, another user's, or writable for others.
     * NULL: `croft` in `cache_home`, else in `.cache` of `home`. "", or none of the three: programs
     * are kept by their kernels only. */
    const char *cache;
    const char *cache_home, *home;
    int64_t cache_bytes; /* of all that is kept there; 0: 256 MiB */
    /* OpenCL: the loader, or the library of a vendor, which then needs no loader and no .icd file.
     * NULL: libOpenCL.so.1. */
    const char *opencl_library;
    /* cl_context and cl_device_id of the caller, from the same library; they outlive the context.
     * Both or neither. NULL: the first GPU that has what kernels need (docs/targets.md), else the
     * first device that does, and a context of its own (croft_context_opencl). */
    void *opencl_context, *opencl_device;
    int device_index; /* CUDA: the driver's ordinal. OpenCL: of the devices that have what kernels
                         need, GPUs first; 0 beside one of the caller. cpu: 0 */
    /* Where to put why there is no context: what was looked for, what a device lacks, what cannot
     * be meant. They are the caller's to free. NULL: nobody asks. */
    croft_diagnostics **findings;
} croft_config;

/* Sets those that are NULL from PATH, TMPDIR, CROFT_COMPILER, CROFT_CUDA_DRIVER, CROFT_NVRTC,
 * CROFT_OPENCL_LIBRARY, XDG_CACHE_HOME and HOME. The texts are the environment's: create the
 * context before that is changed. */
CROFT_API void croft_config_from_environment(croft_config *config);

typedef struct croft_context croft_context;

/* NULL config: all defaults. No thread and no compiler is started here; the driver of a device is
 * opened. CROFT_MISUSE where the library is another version than the header, or the device or the
 * machine has an unknown name. On failure the config's `findings` say why. */
#define croft_context_create(config, context)                                                      \
    croft_context_create_for(CROFT_VERSION, (config), (context))
CROFT_API croft_status croft_context_create_for(int version, const croft_config *config,
                                                croft_context **context);
CROFT_API void croft_context_free(croft_context *context);

/* What the context does without since it was created or asked last, each told once: programs that
 * are compiled and cannot be kept (slug `no-cache`). NULL findings: nothing. */
CROFT_API croft_status croft_context_findings(croft_context *context, croft_diagnostics **findings);

/* What a context of the device `opencl` works with: those of its config, or its own. */
typedef struct croft_opencl_handles {
    size_t size;         /* in: sizeof(croft_opencl_handles) */
    void *context;       /* cl_context: its buffers can be tensors */
    void *device;        /* cl_device_id */
    void *queue;         /* cl_command_queue, in order; launches without a stream are on it */
    const char *library; /* that was opened, and by whose functions the handles are used */
} croft_opencl_handles;

/* They live until the context is freed. CROFT_MISUSE where it is of another device. */
CROFT_API croft_status croft_context_opencl(const croft_context *context,
                                            croft_opencl_handles *handles);

/* ---- kernels ---- */
typedef struct croft_source {
    size_t size;        /* sizeof(croft_source) */
    const char *text;   /* docs/language.md; copied */
    size_t length;      /* of it; 0: it ends with a NUL */
    const char *name;   /* in findings; NULL: `<string>` */
    const char *kernel; /* NULL: the only one of the text */
} croft_source;

typedef struct croft_kernel croft_kernel;

/* Reads the text and finds what can be wrong without arguments; where a constant or a layout has no
 * default, the body is looked at when it is given. */
CROFT_API croft_status croft_compile(croft_context *context, const croft_source *source,
                                     croft_kernel **kernel, croft_diagnostics **findings);
CROFT_API void croft_kernel_free(croft_kernel *kernel);
CROFT_API const char *croft_kernel_name(const croft_kernel *kernel);

typedef enum croft_parameter_kind {
    CROFT_PARAMETER_TENSOR,
    CROFT_PARAMETER_SCALAR,
    CROFT_PARAMETER_DTYPE,  /* `T: f32 | f16 | bf16` */
    CROFT_PARAMETER_CONST,  /* `BM: const` */
    CROFT_PARAMETER_LAYOUT, /* `L: layout` */
} croft_parameter_kind;

/* A parameter of the list; sizes are not among them. */
typedef struct croft_parameter {
    size_t size; /* in: sizeof(croft_parameter) */
    const char *name;
    croft_parameter_kind kind;
    int is_read, is_written; /* TENSOR */
    /* SCALAR: its type, as in croft_tensor; 0 bits: that of a parameter, or of the argument */
    uint8_t dtype_code, dtype_bits;
} croft_parameter;

/* In the order of the list, from 0. CROFT_MISUSE past the end. Names live as long as the kernel. */
CROFT_API croft_status croft_kernel_parameter(const croft_kernel *kernel, int index,
                                              croft_parameter *parameter);

/* ---- arguments ---- */
/* As DLPack's DLTensor in memory, so that a pointer to one of those may be given.
 * Elements, rows and so on lie `strides` elements apart; any step of rows is fine, 0 in inputs too
 * (a broadcast). The last axis must be dense (stride 1, where it has more than one element), and no
 * stride be negative. */
typedef struct croft_tensor {
    /* NULL only where there are no elements. Of OpenCL it is a cl_mem, of the context's
     * cl_context. */
    void *data;
    /* 1: memory of the process, 3: the same, pinned by CUDA; 2: of a CUDA device; 4: OpenCL. The id
     * is that of the context's device (croft_config.device_index); of the process it is not read.
     */
    int32_t device_type, device_id;
    int32_t rank;           /* at most 4 */
    uint8_t dtype_code;     /* CROFT_INT, ... */
    uint8_t dtype_bits;     /* of an element */
    uint16_t dtype_lanes;   /* 1 */
    const int64_t *shape;   /* elements along each axis */
    const int64_t *strides; /* elements from one index to the next; NULL: dense rows */
    /* Of the first element from `data`. Of OpenCL it has to be a multiple of the device's
     * CL_DEVICE_MEM_BASE_ADDR_ALIGN, or 0. */
    uint64_t byte_offset;
} croft_tensor;

enum { CROFT_INT = 0, CROFT_UINT = 1, CROFT_FLOAT = 2, CROFT_BFLOAT = 4, CROFT_BOOL = 6 };
enum { CROFT_ON_CPU = 1, CROFT_ON_CUDA = 2, CROFT_ON_CUDA_HOST = 3, CROFT_ON_OPENCL = 4 };

typedef enum croft_argument_kind {
    CROFT_ARGUMENT_TENSOR,
    CROFT_ARGUMENT_INTEGER, /* a scalar, a const, or a size (`R`) */
    CROFT_ARGUMENT_REAL,
    CROFT_ARGUMENT_TEXT, /* a type (`bf16`) or a layout (`bits(1, 0, 2, 3, 4)`) */
} croft_argument_kind;

typedef struct croft_argument {
    const char *name;
    croft_argument_kind kind;
    const croft_tensor *tensor;
    int64_t integer;
    double real;
    const char *text;
} croft_argument;

/* ---- dispatches ---- */
/* A kernel that is ready for tensors of given types, shapes and strides. */
typedef struct croft_dispatch croft_dispatch;

typedef struct croft_prepare_options {
    size_t size;          /* sizeof(croft_prepare_options) */
    int strict;           /* 1: one result on every target and for every plan, bit for bit */
    const char *plan;     /* text of a plan, obeyed exactly or refused. NULL: one is made */
    const char *plan_set; /* what is fixed of it: `w=256,v=4` (docs/planning.md). NULL: nothing;
                             not beside a plan */
    /* 1: launches can count the kernel's faults (croft_launch_options.faults). The program is
     * another one then, of one more reduction and one more store a program; without it nothing is
     * counted, and nothing is slower. */
    int count_faults;
} croft_prepare_options;

/* Binds the arguments: each tensor, and what has no default. Takes the variant that the kernel has
 * for them, else compiles one. Nothing is run. Refused are, among others, arguments that disagree
 * about a size, outputs whose bytes overlap with another tensor's, and tensors of the wrong device.
 * An output may be an input, element for element, where the result is that of memory of its own.
 * `options` may be NULL. */
CROFT_API croft_status croft_prepare(croft_kernel *kernel, const croft_argument *arguments,
                                     int argument_count, const croft_prepare_options *options,
                                     croft_dispatch **dispatch, croft_diagnostics **findings);
CROFT_API void croft_dispatch_free(croft_dispatch *dispatch);

typedef struct croft_launch_options {
    size_t size; /* sizeof(croft_launch_options) */
    /* Where the first elements of the tensors lie now, one for each tensor in the order of the
     * list; of OpenCL cl_mem handles, at whose beginning they lie. NULL: where they lay when the
     * dispatch was prepared. Shapes and strides are the same; CROFT_REJECTED where bytes of outputs
     * overlap, elements are not aligned to their size, or the variant asks for an alignment that
     * they do not have: prepare again. */
    void *const *data;
    /* A CUstream or cl_command_queue: the launch is put on it, and the call returns before the
     * outputs are written. CU_STREAM_LEGACY, (void *)1, and CU_STREAM_PER_THREAD, (void *)2, are
     * streams like any other. NULL: the device's own, and the call waits. On a stream of CUDA
     * nothing is allocated, loaded or waited for, so that it may be one that is captured into a
     * graph, by the first launch too; the dispatch then outlives the graph. Launches of one
     * dispatch on several streams have to be ordered by the caller: one that splits rows (few wide
     * ones, docs/planning.md) or keeps values in memory has a workspace that its launches share. */
    void *stream;
    /* NULL, or a word of the caller's to which the launch adds, before it returns, how many gathers
     * without `fill=` had an index outside their tensor (docs/library.md says which are one). It
     * adds without atomics: a word for each thread that launches. CROFT_REJECTED (faults) beside a
     * stream, or where the dispatch was prepared without count_faults; the word is then as it was,
     * as it is after any failure. */
    uint64_t *faults;
} croft_launch_options;

/* Runs it once. Either all is well or nothing was written. `options` and `findings` may be NULL. */
CROFT_API croft_status croft_launch(croft_dispatch *dispatch, const croft_launch_options *options,
                                    croft_diagnostics **findings);

/* How often the kernel compiled a program for a device, how many variants it has, and how often it
 * found the program in the cache instead. */
typedef struct croft_kernel_counts {
    size_t size; /* in: sizeof(croft_kernel_counts) */
    int64_t compiled, variants, from_cache;
} croft_kernel_counts;
CROFT_API croft_status croft_kernel_count(const croft_kernel *kernel, croft_kernel_counts *counts);

/* ---- functions ---- */
/* A kernel with all its arguments but the tensors. It is called with tensors of whatever types,
 * shapes and strides, and keeps a dispatch for each kind of them that came:
 *
 *     croft_function_create(kernel, &eps, 1, NULL, &norm, &findings);
 *     croft_function_call(norm, (const croft_tensor *[]){&x, &w, &y}, 3, NULL, &findings);
 *
 * Tensors are given in the order of the list, one for each tensor parameter: in, out and inout.
 *
 * Leading axes. A tensor may have more axes than its parameter: its leading ones become one, the
 * parameter's first, where their strides allow it (each is that of the axis behind it times the
 * elements along that; axes of one element do not count; all may be 0). So x: in T[R, N] takes
 * [batch, heads, N], and labels: in i64[R] takes [batch, heads]. CROFT_REJECTED (axes-fold): the
 * strides do not allow it, or two tensors whose axes become the same size have other leading ones.
 * croft_prepare takes tensors of exactly the axes that the kernel says.
 *
 * A kind is, of each tensor, its type, device, shape and strides, as much of the alignment of its
 * first element as the variants can tell apart, and which outputs lie in which inputs. 64 kinds are
 * kept; then the one used least recently goes, but none that a graph was captured with. (OpenCL:
 * none is kept, each call prepares.) A call of a kind that is kept allocates nothing. */
typedef struct croft_function croft_function;

/* `arguments` are scalars, sizes, types, constants and layouts; a tensor among them is
 * CROFT_REJECTED (argument-kind). What else is wrong with them is found by the first call. They are
 * copied, as the texts of `options` are, which may be NULL. */
CROFT_API croft_status croft_function_create(croft_kernel *kernel, const croft_argument *arguments,
                                             int argument_count,
                                             const croft_prepare_options *options,
                                             croft_function **function,
                                             croft_diagnostics **findings);
/* Before its kernel. Graphs that its calls were captured into are not launched from then on. */
CROFT_API void croft_function_free(croft_function *function);

enum { CROFT_OUTPUT_AXES = 8 }; /* of a tensor of a function, the folded ones with it */

/* What a tensor that is to be written has to be. */
typedef struct croft_output {
    size_t size; /* in: sizeof(croft_output), of each */
    uint8_t dtype_code, dtype_bits;
    int32_t rank;
    int64_t shape[CROFT_OUTPUT_AXES];
} croft_output;

/* `tensors`: where one that is written alone (out) is to be made, NULL. `outputs` has `count`
 * elements, of which those with a NULL pointer are filled and the others left alone. Leading axes
 * that were folded come back: where the first axis of an output is the size that they became. */
CROFT_API croft_status croft_function_outputs(croft_function *function,
                                              const croft_tensor *const *tensors, int count,
                                              croft_output *outputs, croft_diagnostics **findings);

/* A dispatch for these tensors that is the caller's, for croft_launch and croft_dispatch_free. */
CROFT_API croft_status croft_function_prepare(croft_function *function,
                                              const croft_tensor *const *tensors, int count,
                                              croft_dispatch **dispatch,
                                              croft_diagnostics **findings);

typedef struct croft_call_options {
    size_t size;  /* sizeof(croft_call_options) */
    void *stream; /* as in croft_launch_options; calls on several streams need no order */
} croft_call_options;

/* Finds the dispatch, or prepares one, and launches it. Either all is well or nothing was written.
 * Several threads may call. `options` may be NULL. */
CROFT_API croft_status croft_function_call(croft_function *function,
                                           const croft_tensor *const *tensors, int count,
                                           const croft_call_options *options,
                                           croft_diagnostics **findings);

/* ---- objects of another language ---- */
/* How objects of another language are read as tensors. The names on the right are what this is in
 * Python, where each is a function of the interpreter or of an array library; libcroft knows and
 * links neither. Called on the thread that calls the library, and not behind `leave`. */
typedef struct croft_objects {
    size_t size;                                 /* sizeof(croft_objects) */
    ptrdiff_t (*length)(void *tuple);            /* below 0: failed.        PyTuple_Size */
    void *(*item)(void *tuple, ptrdiff_t index); /* not owned; NULL: failed. PyTuple_GetItem */
    /* 0, and everything is filled, whose shape and strides live as long as the object; else failed.
     * DLPackDLTensorFromPyObjectNoSync of DLPack's exchange table */
    int (*tensor)(void *object, croft_tensor *tensor);
    /* 0, and the stream that the language uses now for this device (a tensor's numbers), else
     * failed. Asked of CUDA and OpenCL only. DLPackCurrentWorkStream. NULL: there is one stream,
     * the default one */
    int (*stream)(int32_t device_type, int32_t device_id, void **stream);
    /* Around work that takes long: the language's other threads may run meanwhile. Both or neither.
     * PyEval_SaveThread, PyEval_RestoreThread */
    void *(*leave)(void);
    void (*enter)(void *state);
} croft_objects;

/* croft_function_call with objects, on the current stream of their device; of CUDA a stream NULL is
 * its legacy default one there, CU_STREAM_LEGACY, for which nobody waits. `inputs`: a tuple of what
 * is read (in, inout), in the order of the list. `outputs`: where one tensor is written alone
 * (out), that object; where several are, a tuple of them; where none is, it is not looked at.
 * CROFT_REJECTED (object): one of the functions above failed, and what the language says of that
 * stays said; or a last axis of one element has another stride than 1, as views have that are
 * computed when they are read. CROFT_MISUSE: a tuple of another length. */
CROFT_API croft_status croft_function_call_objects(croft_function *function,
                                                   const croft_objects *objects, void *inputs,
                                                   void *outputs, croft_diagnostics **findings);
/* croft_launch on the current stream of the dispatch's device, likewise. */
CROFT_API croft_status croft_launch_objects(croft_dispatch *dispatch, const croft_objects *objects,
                                            croft_diagnostics **findings);

/* What a dispatch runs: the text of its plan, as croft_prepare_options.plan takes it, and the
 * program's. They live as long as the dispatch. NULL: there is none, or no memory for it. */
CROFT_API const char *croft_dispatch_plan(const croft_dispatch *dispatch);
CROFT_API const char *croft_dispatch_source(const croft_dispatch *dispatch);

/* ---- layouts ---- */
/* Who owns each element of a tile: a map from positions to indices (docs/layout.md). It does not
 * change once it is made, may be used by several threads, and ends before its context. */
typedef struct croft_layout croft_layout;

/* A number of each holder, from 0. */
typedef struct croft_position {
    int64_t slot;     /* a register of the lane */
    int64_t step;     /* an iteration of a loop */
    int64_t lane;     /* of the subgroup */
    int64_t subgroup; /* of the group */
    int64_t block;    /* a group of the cluster */
    int64_t group;    /* of the grid */
} croft_position;

enum { CROFT_LAYOUT_AXES = 4 };

/* Reads any spelling: `bits(3, 4, 5, 0, 1, 2)`, `digits(lane 8 | slot 4)`, `(32,2):(1,32)`, ...
 * CROFT_REJECTED: a finding with a place in the text, and often a legal text near it as its hint.
 */
CROFT_API croft_status croft_layout_parse(croft_context *context, const char *text,
                                          croft_layout **layout, croft_diagnostics **findings);
CROFT_API void croft_layout_free(croft_layout *layout);

/* The text in a spelling: `identity`, `bits`, `blocked_cyclic`, `digits`, `gf2`, `cute`, `triton`;
 * NULL: the shortest. Writes as much as fits into `room_size` bytes, with a NUL behind it (a
 * room_size of 0 takes none, and room may be NULL); *length, which may be NULL, is that of the
 * whole text without the NUL. CROFT_REJECTED: the layout has no such spelling; "" is written. */
CROFT_API croft_status croft_layout_print(const croft_layout *layout, const char *spelling,
                                          char *room, size_t room_size, size_t *length);

typedef struct croft_layout_extents {
    size_t size;                       /* in: sizeof(croft_layout_extents) */
    int rank;                          /* axes */
    int64_t extent[CROFT_LAYOUT_AXES]; /* elements along each axis; 0: known when a kernel runs */
    croft_position end;  /* the numbers of each holder end here; 0: known when a kernel runs */
    int64_t replication; /* positions that own an element */
} croft_layout_extents;
CROFT_API croft_status croft_layout_measure(const croft_layout *layout,
                                            croft_layout_extents *extents);

/* The index, one number for each axis, that the position owns. *owns is 0 where it owns nothing (it
 * lies past the extents), and index is then not written. CROFT_MISUSE: a number is negative or past
 * its holder's end, or the index has more than 63 bits. */
CROFT_API croft_status croft_layout_logical(const croft_layout *layout,
                                            const croft_position *position, int64_t *index,
                                            int *owns);
/* The position that owns the index; where several do, the first, with the group as the most
 * significant number and then step, slot, block, subgroup, lane. CROFT_MISUSE: the index is not
 * inside the extents. */
CROFT_API croft_status croft_layout_owner(const croft_layout *layout, const int64_t *index,
                                          croft_position *position);
/* 1: the same extents and ends, and at each position the same index or none. NULL: 0. */
CROFT_API int croft_layout_equal(const croft_layout *a, const croft_layout *b);

/* outer(inner(position)): an index of `inner` is the number of a position of `outer`, the lane
 * least significant and then subgroup, block, slot, step, group. Each has one axis that is owned
 * whole, and `inner` as many elements as `outer` positions. CROFT_REJECTED (layout-composition):
 * they are not so, or what comes out has no layout. */
CROFT_API croft_status croft_layout_compose(const croft_layout *outer, const croft_layout *inner,
                                            croft_layout **both, croft_diagnostics **findings);

/* What a conversion from one layout to another takes. */
typedef enum croft_layout_class {
    CROFT_LAYOUT_FORWARD, /* nothing: each value is where it has to be */
    CROFT_LAYOUT_RENAME,  /* other registers of the same lane, alike in all lanes */
    CROFT_LAYOUT_SHUFFLE, /* shuffles inside subgroups */
    CROFT_LAYOUT_SCRATCH, /* memory of the group */
    CROFT_LAYOUT_CLUSTER  /* memory of other groups of the cluster */
} croft_layout_class;

/* CROFT_REJECTED (layout-mismatch): they differ in axes, extents, threads or groups. */
CROFT_API croft_status croft_layout_classify(const croft_layout *from, const croft_layout *to,
                                             croft_layout_class *class_,
                                             croft_diagnostics **findings);

#ifdef __cplusplus
}
#endif

#endif
