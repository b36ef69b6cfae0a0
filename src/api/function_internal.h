/* The parts of a function: a kernel with all its arguments but the tensors.
 *
 *     functions.c        creating, asking for outputs, preparing, calling
 *     function_fold.c    tensors with more axes than their parameters
 *     function_outputs.c what its outputs have to be
 *     function_table.c   the dispatches that it keeps
 *     objects.c          calls with objects of another language
 *     python.c           calls that CPython makes
 */
#ifndef API_FUNCTION_INTERNAL_H
#define API_FUNCTION_INTERNAL_H

#include "api/api_internal.h"

/* A tensor parameter. */
typedef struct api_slot {
    const char *name; /* the kernel's */
    int rank;
    int first_size; /* the size that its first axis is; -1: it is none alone */
    bool is_read, is_written;
} api_slot;

/* Those of a kernel, in the order of the list; their number. */
int api_slots_list(const croft_kernel *kernel, base_arena *arena, api_slot **slots);

enum { API_KEPT_LIMIT = 64 };
enum { API_KIND_WORDS = API_PARAMETERS_LIMIT * (2 + 2 * CROFT_OUTPUT_AXES) };

typedef struct api_kept api_kept;

typedef struct api_table {
    _Atomic(api_kept *) slots[API_KEPT_LIMIT];
    _Atomic uint64_t hashes[API_KEPT_LIMIT]; /* of what stands there */
    _Atomic int64_t readers, clock;
    runtime_lock lock; /* of what follows, and of changes of the slots */
    api_kept *leaving;
    int64_t bytes; /* of workspaces of what is kept */
} api_table;

enum { API_OUTPUTS_LIMIT = 64 };

typedef struct api_answer api_answer;

typedef struct api_outputs {
    _Atomic bool taken;
    api_answer *rows[API_OUTPUTS_LIMIT]; /* by hash of the question; NULL: none is kept */
} api_outputs;

struct croft_function {
    croft_kernel *kernel;
    api_table table;
    api_outputs outputs;
    base_arena arena; /* what follows */
    croft_argument *arguments;
    int argument_count;
    croft_prepare_options options;
    api_slot *slots; /* in the order of the list */
    int slot_count;
    int read_count; /* in and inout; the others are written alone */
};

typedef struct api_folded api_folded;

/* Runs the function on a stream (NULL: the device's own). `around`, which may be NULL, is left
 * while something takes long. */
croft_status api_function_call(croft_function *function, const croft_tensor *const *tensors,
                               int count, void *stream, const croft_objects *around,
                               croft_diagnostics **findings);

/* Whether the launch keeps the calling thread busy for long. */
bool api_worth_leaving(const croft_dispatch *dispatch);

/* Refuses another number of tensors, and NULL where `open` does not allow it: there outputs that
 * are written alone may be missing. CROFT_MISUSE. */
croft_status api_function_check(api_call *call, const croft_function *function,
                                const croft_tensor *const *tensors, int count, bool open);

/* The arguments of the kernel, tensors first; the missing tensors are left out. */
croft_argument *api_function_arguments(api_call *call, const croft_function *function,
                                       const croft_tensor *const *tensors, const api_folded *folded,
                                       int *count);

/* ---- objects.c ---- */
/* Of a reader that is whole. False: it is no tensor, or one whose memory may have other numbers. */
bool api_object_read(const croft_objects *objects, void *object, croft_tensor *tensor);
/* False: the language cannot say which stream. */
bool api_objects_stream(const croft_context *context, const croft_objects *objects, void **stream);

/* ---- function_outputs.c ---- */
void api_outputs_free(croft_function *function);

/* ---- function_fold.c ---- */
/* A tensor as its parameter has to have it, and the axes that became one. */
struct api_folded {
    croft_tensor tensor;
    int64_t shape[IR_MAX_RANK], strides[IR_MAX_RANK]; /* of the tensor, where it was folded */
    const int64_t *leading;                           /* of the caller */
    int leading_count;                                /* 0: none were folded */
};

/* Folds all tensors that are given; those of a missing one stay as they are. */
croft_status api_function_fold(api_call *call, const croft_function *function,
                               const croft_tensor *const *tensors, api_folded *folded);
/* The leading axes of an output that is to be made: those that became its first axis in another
 * tensor. NULL: none. */
const api_folded *api_function_leading(const croft_function *function, const api_folded *folded,
                                       int slot);

/* ---- function_table.c ---- */
/* The tensors of a call: what a dispatch is kept for, and their addresses. Large: not zeroed. */
typedef struct api_kind {
    uint64_t hash;
    void *stream;
    int word_count;
    uint64_t words[API_KIND_WORDS];
    uint64_t addresses[API_PARAMETERS_LIMIT]; /* 0: no memory */
} api_kind;

/* A dispatch that is kept. */
struct api_kept {
    api_kept *next; /* of those that leave */
    croft_dispatch *dispatch;
    _Atomic int64_t users, used_at;
    _Atomic bool captured; /* into a graph */
    bool of_stream;        /* it has a workspace */
    void *stream;
    uint64_t thread; /* of a stream that each thread has its own of */
    int64_t bytes;   /* of its workspaces */
    uint64_t hash;
    int word_count;
    uint64_t words[];
};

/* Writes the words of one tensor (at most API_KIND_WORDS / API_PARAMETERS_LIMIT); those behind
 * them. NULL: no kernel takes it. */
uint64_t *api_tensor_words(const croft_tensor *tensor, uint64_t *words);
uint64_t api_words_hash(const uint64_t *words, int count);
/* False: tensors that no kernel takes. */
bool api_kind_read(const croft_tensor *const *tensors, int count, void *stream, api_kind *kind);
/* NULL: none is kept for this kind. What is found is kept alive until it is left. */
api_kept *api_kept_find(croft_function *function, const api_kind *kind);
void api_kept_leave(api_kept *kept);
/* Of a dispatch that it then owns, with one user; NULL: no memory. */
api_kept *api_kept_new(croft_dispatch *dispatch, const api_kind *kind);
/* Before a launch on this stream: where it is captured, the dispatch stays. */
void api_kept_capture(api_kept *kept, void *stream);
void api_kept_put(croft_function *function, api_kept *kept);
void api_table_free(croft_function *function);

#endif
