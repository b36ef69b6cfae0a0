/* The parts of a function: a kernel with all its arguments but the tensors.
 *
 *     functions.c        creating, asking for outputs, preparing, calling
 *     function_fold.c    tensors with more axes than their parameters
 *     objects.c          calls with objects of another language
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

struct croft_function {
    croft_kernel *kernel;
    base_arena arena; /* what follows */
    croft_argument *arguments;
    int argument_count;
    croft_prepare_options options;
    api_slot *slots; /* in the order of the list */
    int slot_count;
    int read_count; /* in and inout; the others are written alone */
};

/* Refuses another number of tensors, and NULL where `open` does not allow it: there outputs that
 * are written alone may be missing. CROFT_MISUSE. */
croft_status api_function_check(api_call *call, const croft_function *function,
                                const croft_tensor *const *tensors, int count, bool open);

/* ---- function_fold.c ---- */
/* A tensor as its parameter has to have it, and the axes that became one. */
typedef struct api_folded {
    croft_tensor tensor;
    int64_t shape[IR_MAX_RANK], strides[IR_MAX_RANK]; /* of the tensor, where it was folded */
    const int64_t *leading;                           /* of the caller */
    int leading_count;                                /* 0: none were folded */
} api_folded;

/* Folds all tensors that are given; those of a missing one stay as they are. */
croft_status api_function_fold(api_call *call, const croft_function *function,
                               const croft_tensor *const *tensors, api_folded *folded);
/* The leading axes of an output that is to be made: those that became its first axis in another
 * tensor. NULL: none. */
const api_folded *api_function_leading(const croft_function *function, const api_folded *folded,
                                       int slot);

#endif
