/* Guarded outputs: what a checked run writes into, so that a store to a wrong place shows.
 *
 *     [guard bytes][ the array, prefilled ][guard bytes]
 *
 * The prefill is a NaN for floats and a fixed pattern of bytes for the others. After the run the
 * guards must be whole, and elements that the reference did not write must hold the prefill still.
 */
#ifndef SIM_GUARD_H
#define SIM_GUARD_H

#include "sim/reference.h"

typedef struct sim_guard {
    void *data; /* the array, aligned to 64 bytes; in the arena */
    int64_t size_bytes;
    int64_t guard_bytes; /* on each side */
} sim_guard;

/* An array of size_bytes; at least guard_bytes around it (rounded up to 64). Not prefilled. */
sim_guard sim_guard_create(base_arena *arena, int64_t size_bytes, int64_t guard_bytes);

/* Bytes of the guards that changed. *first (may be NULL): the lowest of them, counted from the
 * first byte of the array: negative in front of it, size_bytes and more behind it. */
int64_t sim_guard_damage(const sim_guard *guard, int64_t *first);

/* Gives every element of the tensor the prefill of its type. */
void sim_prefill(const sim_tensor *tensor);

/* Elements that the reference did not write and that differ from the prefill. *first (may be NULL):
 * the flat index of the first, -1 when there is none. For outputs that began prefilled. */
int64_t sim_prefill_damage(const sim_reference_tensor *expected, const sim_tensor *got,
                           int64_t *first);

#endif
