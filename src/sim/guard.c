/* Guards and prefill: byte patterns that no kernel writes by chance. */
#include "sim/guard.h"

#include "sim/tensor.h"

#include <string.h>

enum { GUARD_ALIGN = 64, GUARD_BYTE = 0xc5 };

static int64_t round_up(int64_t bytes) {
    return (bytes + GUARD_ALIGN - 1) / GUARD_ALIGN * GUARD_ALIGN;
}

sim_guard sim_guard_create(base_arena *arena, int64_t size_bytes, int64_t guard_bytes) {
    int64_t around = round_up(guard_bytes);
    size_t total = (size_t)size_bytes + 2 * (size_t)around + GUARD_ALIGN;
    unsigned char *memory = base_arena_alloc(arena, total);
    memory += (GUARD_ALIGN - (uintptr_t)memory % GUARD_ALIGN) % GUARD_ALIGN;
    memset(memory, GUARD_BYTE, (size_t)around);
    memset(memory + around + size_bytes, GUARD_BYTE, (size_t)around);
    return (sim_guard){.data = memory + around, .size_bytes = size_bytes, .guard_bytes = around};
}

int64_t sim_guard_damage(const sim_guard *guard, int64_t *first) {
    const unsigned char *data = guard->data;
    int64_t damage = 0;
    for (int64_t i = -guard->guard_bytes; i < guard->size_bytes + guard->guard_bytes; i++) {
        if (i == 0)
            i = guard->size_bytes;
        if (i >= guard->size_bytes + guard->guard_bytes || data[i] == GUARD_BYTE)
            continue;
        if (damage++ == 0 && first != NULL)
            *first = i;
    }
    return damage;
}

/* Every byte of every element: 0xff for floats (a quiet NaN in each of their types), 1 for bool,
 * which has no other bytes than 0 and 1. */
static int prefill_byte(base_dtype dtype) {
    if (dtype == BASE_BOOL)
        return 1;
    return base_dtype_is_float(dtype) ? 0xff : 0xa5;
}

static unsigned char *element(const sim_tensor *tensor, int64_t flat) {
    return (unsigned char *)tensor->data +
           sim_tensor_offset(tensor, flat) * base_dtype_size(tensor->dtype);
}

void sim_prefill(const sim_tensor *tensor) {
    int64_t count = sim_tensor_count(tensor);
    for (int64_t i = 0; i < count; i++)
        memset(element(tensor, i), prefill_byte(tensor->dtype),
               (size_t)base_dtype_size(tensor->dtype));
}

static bool holds_prefill(const sim_tensor *tensor, int64_t flat) {
    const unsigned char *bytes = element(tensor, flat);
    for (int64_t i = 0; i < base_dtype_size(tensor->dtype); i++)
        if (bytes[i] != prefill_byte(tensor->dtype))
            return false;
    return true;
}

int64_t sim_prefill_damage(const sim_reference_tensor *expected, const sim_tensor *got,
                           int64_t *first) {
    int64_t damage = 0;
    if (first != NULL)
        *first = -1;
    for (int64_t i = 0; i < expected->count; i++) {
        if (expected->written[i] || holds_prefill(got, i))
            continue;
        if (damage++ == 0 && first != NULL)
            *first = i;
    }
    return damage;
}
