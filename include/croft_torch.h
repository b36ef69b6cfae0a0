/* Kernels as operators of PyTorch, which calls them without an interpreter in between.
 *
 *     dlsym(torch, "aoti_torch_get_sizes") and so on  ->  croft_torch
 *     croft_torch_operator_create                     ->  a function for torch_library_impl
 *
 * PyTorch's C interface (torch/csrc/stable/c/shim.h) calls a registered function with a stack of
 * 64-bit words and nothing of the caller's own, so the library has a number of them, one for each
 * operator that there is at a time.
 *
 * libcroft links nothing of PyTorch and looks nothing up: who makes operators is in a process that
 * has it, and says where what is needed lies. The Python package does (python/croft/_shim.py).
 */
#ifndef CROFT_TORCH_H
#define CROFT_TORCH_H

#include "croft.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An element type by PyTorch's number (aoti_torch_dtype_float32() and so on). */
typedef struct croft_torch_dtype {
    int32_t number;
    uint8_t code, bits; /* as in croft_tensor */
} croft_torch_dtype;

/* What PyTorch is asked, and its names for it. `tensor` is an AtenTensorHandle; what returns a
 * number answers 0 where all is well. Any thread calls them, without a lock of an interpreter. */
typedef struct croft_torch {
    size_t size;                                           /* sizeof(croft_torch) */
    int32_t (*layout)(void *tensor, int32_t *layout);      /* aoti_torch_get_layout */
    int32_t (*rank)(void *tensor, int64_t *rank);          /* aoti_torch_get_dim */
    int32_t (*shape)(void *tensor, int64_t **shape);       /* aoti_torch_get_sizes */
    int32_t (*strides)(void *tensor, int64_t **strides);   /* aoti_torch_get_strides */
    int32_t (*dtype)(void *tensor, int32_t *dtype);        /* aoti_torch_get_dtype */
    int32_t (*device_type)(void *tensor, int32_t *type);   /* aoti_torch_get_device_type */
    int32_t (*device_index)(void *tensor, int32_t *index); /* aoti_torch_get_device_index */
    int32_t (*data)(void *tensor, void **data);            /* aoti_torch_get_data_ptr */
    int32_t (*create)(int64_t rank, const int64_t *shape, const int64_t *strides, int32_t dtype,
                      int32_t device_type, int32_t device_index,
                      void **tensor); /* aoti_torch_empty_strided */
    int32_t (*destroy)(void *tensor); /* aoti_torch_delete_tensor_object */
    /* aoti_torch_get_current_cuda_stream; NULL: PyTorch was built without it */
    int32_t (*stream)(int32_t device_index, void **stream);
    bool (*grad_mode)(void); /* aoti_torch_grad_mode_is_enabled */
    /* c10::TensorImpl::requires_grad() const, of what a handle points to */
    bool (*requires_grad)(const void *implementation);
    bool (*is_inference)(const void *tensor);  /* at::native::is_inference */
    void (*count_version)(const void *tensor); /* torch::autograd::impl::bump_version */
    /* Frees the word that a number lies in: torch_delete_stable_ivalue, or operator delete. */
    void (*release)(void *word);
    /* Throws where the first is false, which ends the call: aoti_torch_check. */
    void (*check)(bool good, const char *function, const char *file, uint32_t line,
                  const char *message);
    int32_t strided;                 /* aoti_torch_layout_strided() */
    int32_t cpu_number, cuda_number; /* aoti_torch_device_type_cpu(), ... */
    int32_t dtype_count;
    const croft_torch_dtype *dtypes; /* as long as there are operators; the most likely first */
} croft_torch;

/* An operator that does not exist yet. Its schema in PyTorch has
 *
 *     (the tensors that are read, in the order of the list; in the form that is given outputs those
 *      that are written alone; then scalars and constants, by name, each with `?` and None: `int?`
 *      where its type is an integer or bool or it is a constant, else `float?`)
 *     -> (the tensors that are written alone), or nothing where they are given
 *
 * One operator serves both forms: with outputs to return it makes them, on the first tensor's
 * device. It refuses tensors that ask for a derivative, counts the versions of those that are
 * written, and launches on the current stream of the device. What goes wrong is thrown by `check`,
 * with the text of the findings (of at most 16 KiB), and nothing is written then. */
typedef struct croft_torch_source {
    size_t size;                /* sizeof(croft_torch_source) */
    const croft_torch *torch;   /* copied */
    const croft_kernel *kernel; /* of any device: its parameters are the schema's */
    /* The function for a device and for the numbers that a call has by name (INTEGER or REAL), but
     * those that are None. NULL: there is none, and *why says why until this thread asks again.
     * `keep`: it is not asked for again, and has to live until the operator forgets it; else it has
     * to live until this thread asks again. Any thread asks. */
    croft_function *(*find)(void *context, int32_t device_type, int32_t device_id,
                            const croft_argument *named, int named_count, int keep,
                            const char **why);
    void *context;
} croft_torch_source;

typedef struct croft_torch_operator croft_torch_operator;

/* CROFT_REJECTED: the kernel has a scalar whose type is a parameter, which no schema here can say,
 * or more than 16 numbers (operator-schema). CROFT_OUT_OF_RESOURCES: there are 64 operators. */
CROFT_API croft_status croft_torch_operator_create(const croft_torch_source *source,
                                                   croft_torch_operator **made,
                                                   croft_diagnostics **findings);
/* Before its kernel; PyTorch may not call its function any more, nor be in it. */
CROFT_API void croft_torch_operator_free(croft_torch_operator *one);

/* What torch_library_impl is given: void fn(StableIValue *, uint64_t, uint64_t). */
typedef void croft_torch_function(uint64_t *stack, uint64_t input_count, uint64_t output_count);
CROFT_API croft_torch_function *croft_torch_operator_function(const croft_torch_operator *one);

/* In the child of a fork, where functions of the parent are none. No thread may be in it. */
CROFT_API void croft_torch_operator_forget(croft_torch_operator *one);

#ifdef __cplusplus
}
#endif

#endif
