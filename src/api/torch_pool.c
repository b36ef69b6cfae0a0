/* The functions that PyTorch is given: it hands over nothing of ours, so which operator is called
 * can only be told by which function is.
 *
 *     torch_library_impl(library, "softmax", place_03)   ->   place_03(stack)   ->   operators[3]
 *
 * Both digits of a place are octal.
 */
#include "api/torch_internal.h"

/* The library's only state that is no object's. */
static _Atomic(croft_torch_operator *) operators[API_TORCH_OPERATORS_LIMIT];

#define ROW(X, row) X(row, 0) X(row, 1) X(row, 2) X(row, 3) X(row, 4) X(row, 5) X(row, 6) X(row, 7)
#define PLACES(X)   ROW(X, 0) ROW(X, 1) ROW(X, 2) ROW(X, 3) ROW(X, 4) ROW(X, 5) ROW(X, 6) ROW(X, 7)

#define X(row, column)                                                                             \
    static void place_##row##column(uint64_t *stack, uint64_t inputs, uint64_t outputs) {          \
        api_torch_call(stack, inputs, outputs, row * 8 + column);                                  \
    }
PLACES(X)
#undef X

croft_torch_operator *api_torch_pool_operator(int place) {
    return atomic_load_explicit(&operators[place], memory_order_acquire);
}

int api_torch_pool_take(croft_torch_operator *one) {
    for (int i = 0; i < API_TORCH_OPERATORS_LIMIT; i++) {
        croft_torch_operator *nobody = NULL;
        if (atomic_compare_exchange_strong(&operators[i], &nobody, one))
            return i;
    }
    return -1;
}

void api_torch_pool_give(int place) {
    atomic_store(&operators[place], NULL);
}

/* No table of addresses: the loader would have to fill it in. */
croft_torch_function *api_torch_pool_function(int place) {
    switch (place) {
#define X(row, column)                                                                             \
    case row * 8 + column:                                                                         \
        return place_##row##column;
        PLACES(X)
#undef X
    }
    return NULL;
}
