/* The library's objects, and how its calls meet the rooms below.
 *
 *     context   device, machines, allocator
 *     kernel    text, syntax, variants          lock: variants are looked for and made under it
 *     variant   what was compiled for some types, sizes and conditions, loaded into the device
 *     dispatch  a variant and the arguments of one launch
 *
 * A call that needs an arena has an api_call; where memory ends the arena unwinds to it, and the
 * call answers CROFT_OUT_OF_MEMORY. Nothing is locked while that can happen.
 */
#ifndef API_API_INTERNAL_H
#define API_API_INTERNAL_H

#include "croft.h"

#include "compile/compile.h"
#include "runtime/condition.h"
#include "runtime/devices.h"
#include "runtime/lock.h"

#include <fenv.h>

enum { API_PARAMETERS_LIMIT = 128 };

struct croft_context {
    base_allocator allocator;
    base_arena texts; /* of the config */
    jmp_buf exhausted;
    runtime_cache *cache; /* NULL: programs are not kept on disk */
    runtime_device *device;
    const machine *machine; /* whose plans are made */
    const machine *runs_on; /* whose source is written */
    int device_index;       /* of the config: the device's number for tensors */
};

typedef struct api_variant api_variant;

struct croft_kernel {
    croft_context *context;
    base_arena arena; /* text and names */
    jmp_buf exhausted;
    base_source source;
    const char *name; /* that was asked for, or NULL */
    compile_result syntax;
    runtime_lock lock;
    api_variant *variants; /* the newest first */
    int64_t compiled, from_cache, variant_count;
};

/* What a variant depends on, besides the arguments. */
typedef struct api_choice {
    bool strict, count_faults;
    const char *plan, *set; /* NULL: none */
} api_choice;

struct api_variant {
    api_variant *next;
    api_choice choice; /* texts of its own */
    base_source plan;
    planner_options planning;
    compile_request request;
    compile_result compiled;
    bool *holds; /* by condition of the compilation: whether the program assumes it */
    runtime_module *module;
    bool borrowed;             /* the module is another variant's */
    _Atomic(char *) plan_text; /* NULL: nobody has asked yet */
};

/* Where a tensor of a dispatch may lie. */
typedef struct api_place {
    int parameter;
    int64_t bytes;   /* 0: it has no elements */
    uint64_t needed; /* the bits of its address that have to be 0 */
    /* As much of its alignment as any condition could tell: up to `told`, a power of two, of which
     * and of the address when this was prepared `begins` is the lowest bit. */
    uint64_t told, begins;
} api_place;

/* An output and another tensor, by number of their places. */
typedef struct api_pair {
    int output, other;
    bool one; /* the output lies in it; else they share nothing */
} api_pair;

struct croft_dispatch {
    croft_kernel *kernel;
    const api_variant *variant;
    int parameter_count, pointer_count;
    runtime_tensor tensors[API_PARAMETERS_LIMIT]; /* by parameter; of scalars nothing */
    bool read[API_PARAMETERS_LIMIT], written[API_PARAMETERS_LIMIT];
    void *memory[API_PARAMETERS_LIMIT]; /* by parameter: what a launch is given */
    void *parts[API_PARAMETERS_LIMIT]; /* of buffers, by parameter: what the device was asked for */
    void *pointers[API_PARAMETERS_LIMIT]; /* of tensors, those of the workspace last */
    int own_pointers;                     /* of the caller */
    api_place *places;                    /* of these; NULL: where memory is a handle */
    api_pair *pairs;
    int pair_count, pair_capacity;
    int64_t *words;
    runtime_size *sizes; /* of the launches behind the first */
    runtime_launch launch;
    void **workspace; /* memory of the device, by tensor behind the kernel's own */
    int64_t *workspace_bytes;
    int workspace_count;
    int64_t group_workspace_bytes; /* of launch.workspace */
    uint64_t
        *counts; /* where faults are counted in memory of a device: theirs, copied. NULL else */
    runtime_lock lock; /* launches that share a workspace */
};

/* ---- findings.c ---- */
/* A call of the library while it runs. */
typedef struct api_call {
    base_allocator allocator;
    base_arena arena;
    jmp_buf exhausted;
    base_diagnostics diagnostics;
    croft_diagnostics **findings; /* of the caller; NULL: nobody asks */
    fenv_t floating;              /* of the caller: it may round otherwise, or trap */
} api_call;

/* Before setjmp(call->exhausted). Until the end arithmetic is as at the start of a program. */
void api_call_begin(api_call *call, base_allocator allocator, croft_diagnostics **findings);
/* Hands the findings to the caller, frees the arena, and gives the caller's arithmetic back. The
 * status. */
croft_status api_call_end(api_call *call, croft_status status);
/* A number as a text that lives as long as the call. */
const char *api_number_text(api_call *call, int64_t number);
/* Adds a finding about the argument `name`; found and expected may be NULL. CROFT_REJECTED. */
croft_status api_refuse(api_call *call, const char *slug, const char *name, const char *message,
                        const char *found, const char *expected);
/* Adds a finding of what no caller can mean. CROFT_MISUSE. */
croft_status api_misuse(api_call *call, const char *message);
/* The same where no call has begun; `allocator` is that of an object that was given, or NULL. */
croft_status api_misuse_early(const base_allocator *allocator, croft_diagnostics **findings,
                              const char *message);
/* The status of a compilation, whose findings are handed to the caller at once. Does not unwind. */
croft_status api_compiled_status(api_call *call, const compile_result *compiled);
/* The same without a call. */
croft_status api_report_status(base_allocator allocator, croft_diagnostics **findings,
                               const runtime_report *report, runtime_status status);
/* The status of a call of the runtime, whose report is handed to the caller as a finding where it
 * failed. Does not unwind. */
croft_status api_runtime_status(api_call *call, const runtime_report *report,
                                runtime_status status);
/* A list of one finding; NULL when memory is short. */
croft_diagnostics *api_findings_of(base_allocator allocator, const char *slug, const char *message);

/* ---- arguments.c ---- */
/* The arguments as the front end knows them, in the call's arena. */
croft_status api_arguments_read(api_call *call, const croft_argument *arguments, int count,
                                text_argument **texts);

/* The numbers of an element type that a kernel may have. */
void api_dtype_code(base_dtype dtype, uint8_t *code, uint8_t *bits);

/* ---- tensors.c ---- */
/* Fills the tensors of the dispatch, by parameter of the bindings. Refuses strides, addresses and
 * alignments that no launch can have. */
croft_status api_tensors_read(api_call *call, const croft_kernel *kernel,
                              const text_bindings *bindings, const croft_argument *arguments,
                              int count, croft_dispatch *dispatch);
/* The bytes between the beginning of its first element and the end of its last one; 0 where there
 * are no elements, or more than 63 bits can count. */
int64_t api_tensor_bytes(const runtime_tensor *tensor);
/* Refuses a tensor whose elements are not aligned to their size. */
croft_status api_tensor_check_alignment(api_call *call, const char *name,
                                        const runtime_tensor *tensor);

/* ---- overlap.c ---- */
/* Finds the outputs that lie in an input, and notes its name as their home: in the bindings, and in
 * the arguments, from which the variant is compiled. */
void api_homes_find(const croft_dispatch *dispatch, text_bindings *bindings,
                    text_argument *arguments, int count);
/* Whether two tensors share bytes. */
bool api_tensors_meet(const runtime_tensor *a, const runtime_tensor *b);
/* Whether a launch has to ask how these two tensors of a dispatch lie: the first is written, both
 * have elements, and it is not asked the other way round. */
bool api_pair_matters(const croft_dispatch *dispatch, int output, int other);
/* Whether such an output lies in the other. */
bool api_pair_is_one(const croft_dispatch *dispatch, int output, int other);
/* Refuses outputs that share bytes with another tensor, unless that is their home. */
croft_status api_overlaps_check(api_call *call, const croft_dispatch *dispatch);

/* ---- places.c ---- */
/* Of a dispatch whose tensors and variant are known. CROFT_OUT_OF_MEMORY. */
croft_status api_places_make(croft_dispatch *dispatch);
void api_places_free(croft_dispatch *dispatch);
/* Whether a launch with these addresses of its own tensors is certainly right. */
bool api_places_hold(const croft_dispatch *dispatch, const uint64_t *addresses);
/* Whether a preparation with these addresses, and tensors otherwise the same, gives the same. */
bool api_places_same(const croft_dispatch *dispatch, const uint64_t *addresses);

/* ---- launch.c ---- */
/* Launches; `faults` may be NULL. */
croft_status api_dispatch_run(croft_dispatch *dispatch, const runtime_launch *launch,
                              uint64_t *faults, croft_diagnostics **findings);
/* The same with other addresses of its own tensors, of which api_places_hold. */
croft_status api_dispatch_run_at(croft_dispatch *dispatch, const uint64_t *addresses, void *stream,
                                 uint64_t *faults, croft_diagnostics **findings);

/* ---- memory.c ---- */
/* Where memory is a handle: finds where tensor number `parameter` lies, and refuses what launches
 * cannot use, what lies past the end and what cannot be a part. Otherwise, and for no bytes,
 * nothing. */
croft_status api_memory_place(api_call *call, croft_dispatch *dispatch, const char *name,
                              void *data, uint64_t byte_offset, int parameter);
/* Once it is placed: the memory that a launch is given for parameter number `parameter`. */
croft_status api_memory_take(api_call *call, croft_dispatch *dispatch, const croft_tensor *given,
                             int64_t bytes, int parameter);
/* The parts of a dispatch. */
void api_memory_release(croft_dispatch *dispatch);

/* ---- launch_arguments.c ---- */
/* The module whose parameters a launch has: those of the kernel, and behind them the tensors that
 * its launches hand on. */
const ir_module *api_dispatch_module(const croft_dispatch *dispatch);
/* Fills words, pointers and sizes, once all tensors have memory. */
croft_status api_launch_pack(api_call *call, croft_dispatch *dispatch,
                             const text_bindings *bindings);
void api_launch_release(croft_dispatch *dispatch);

/* ---- workspace.c ---- */
/* Makes the tensors behind the kernel's own. What there is after a failure is freed with all. */
croft_status api_workspace_make(api_call *call, croft_dispatch *dispatch,
                                const text_bindings *bindings);
/* What groups of a launch need, once its arguments are packed: no launch has to take it then. */
croft_status api_group_workspace_make(api_call *call, croft_dispatch *dispatch);
/* Both. */
void api_workspace_free(croft_dispatch *dispatch);
/* Adds the faults of all programs of the launch that has just run; nothing on failure. */
runtime_status api_faults_add(const croft_dispatch *dispatch, uint64_t *faults,
                              runtime_report *report);

/* ---- relocate.c ---- */
/* Gives a copy of a dispatch the addresses that its tensors have now. Refuses what the dispatch
 * would not have been prepared for. */
croft_status api_dispatch_relocate(api_call *call, croft_dispatch *moved, void *const *data);

/* ---- variant.c ---- */
/* The kernel's variant for these arguments, which is made where there is none. */
croft_status api_variant_take(api_call *call, croft_kernel *kernel, const text_bindings *bindings,
                              const text_argument *arguments, int count, const api_choice *choice,
                              const runtime_tensor *tensors, const api_variant **variant);
void api_variants_free(croft_kernel *kernel);

/* ---- context.c ---- */
/* Structs of the caller begin with their size, as the header that it was compiled with has them; an
 * older one is shorter than ours, a newer one longer. */
/* Copies the fields that both know; the others of `known` keep their values. NULL is a struct
 * without fields. False: a size that no struct with pointers has. */
bool api_struct_read(const void *given, void *known, size_t known_size);
/* Copies the other way, but leaves the caller's size. False: as above, or NULL. */
bool api_struct_write(const void *known, size_t known_size, void *given);
/* Zeroed, or NULL. */
void *api_allocate(base_allocator allocator, size_t size);
void api_release(base_allocator allocator, void *memory, size_t size);

#endif
