/* The parts of an operator of PyTorch.
 *
 *     torch.c        making operators, and finding the function that a call needs
 *     torch_call.c   a call: tensors read, outputs made, the function called
 *     torch_pool.c   the functions that PyTorch is given, one for each operator
 */
#ifndef API_TORCH_INTERNAL_H
#define API_TORCH_INTERNAL_H

#include "api/function_internal.h"

#include "croft_torch.h"

enum {
    API_TORCH_OPERATORS_LIMIT = 64,
    API_TORCH_NUMBERS_LIMIT = 16,  /* of a kernel */
    API_TORCH_FUNCTIONS_LIMIT = 16 /* that an operator keeps */
};

/* A scalar or a constant of the schema. */
typedef struct api_torch_number {
    const char *name;
    bool is_real;
} api_torch_number;

/* Which function: the device, and the numbers that are given, as their bits. */
typedef struct api_torch_choice {
    int32_t device_type, device_id;
    uint32_t given; /* bit i: number i is */
    uint64_t words[API_TORCH_NUMBERS_LIMIT];
} api_torch_choice;

struct croft_torch_operator {
    base_allocator allocator;
    base_arena arena; /* of the slots */
    croft_torch torch;
    croft_torch_source source;
    api_slot *slots; /* in the order of the list */
    int slot_count, read_count;
    int order[API_PARAMETERS_LIMIT]; /* by place in the schema: the slot */
    api_torch_number numbers[API_TORCH_NUMBERS_LIMIT];
    int number_count;
    int place; /* in the pool; -1: none */
    struct {
        api_torch_choice choice;
        croft_function *function;
    } kept[API_TORCH_FUNCTIONS_LIMIT];
    _Atomic int kept_count; /* what stands before it does not change */
    runtime_lock lock;      /* of adding */
};

/* NULL: there is none, and why. */
croft_function *api_torch_function(croft_torch_operator *one, const api_torch_choice *choice,
                                   const char **why);

/* A call of the operator at a place of the pool, with PyTorch's stack: what lies on it is its own
 * from here on. */
void api_torch_call(uint64_t *stack, uint64_t input_count, uint64_t output_count, int place);

/* A new tensor on a device of DLPack's type; 0 where all is well. */
int32_t api_torch_create(const croft_torch *torch, const croft_output *output, int32_t device_type,
                         int32_t device_id, void **handle);

/* Takes a function of the pool; -1: all are taken. */
int api_torch_pool_take(croft_torch_operator *one);
void api_torch_pool_give(int place);
croft_torch_operator *api_torch_pool_operator(int place);
croft_torch_function *api_torch_pool_function(int place);

#endif
