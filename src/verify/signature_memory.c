/* Memories of signatures: an open hash table of the cells that were stored. */
#include "verify/signature_memory_internal.h"

#include <string.h>

enum { FIRST_CAPACITY = 1 << 10 };

static uint64_t place_of(int tensor, int64_t cell) {
    enum { TOGETHER = 8 /* neighbours, which are often asked for one after the other */ };
    uint64_t block = (uint64_t)cell / TOGETHER * 8 + (uint64_t)tensor;
    block *= UINT64_C(0x9e3779b97f4a7c15);
    return (block ^ (block >> 29)) * TOGETHER + (uint64_t)cell % TOGETHER;
}

static signature_cell *new_cells(base_arena *arena, int64_t capacity) {
    signature_cell *cells = BASE_NEW_ARRAY(arena, signature_cell, capacity);
    for (int64_t i = 0; i < capacity; i++)
        cells[i].tensor = -1;
    return cells;
}

void signature_memory_start(signature_memory *memory, base_arena *arena, int parameters) {
    if (memory->cells == NULL) {
        *memory = (signature_memory){.arena = arena, .capacity = FIRST_CAPACITY};
        memory->cells = new_cells(arena, FIRST_CAPACITY);
        memory->open = BASE_NEW_ARRAY(arena, bool, parameters + 1);
        memory->doubtful = BASE_NEW_ARRAY(arena, bool, parameters + 1);
        memory->scattered = BASE_NEW_ARRAY(arena, bool, parameters + 1);
    }
    for (int64_t i = 0; i < memory->capacity && memory->count > 0; i++)
        memory->cells[i].tensor = -1;
    memory->count = 0;
    memset(memory->open, 0, sizeof(bool) * (size_t)parameters);
    memset(memory->doubtful, 0, sizeof(bool) * (size_t)parameters);
    memset(memory->scattered, 0, sizeof(bool) * (size_t)parameters);
}

/* Where the cell is, or where it would be. */
static signature_cell *slot_of(const signature_memory *memory, int tensor, int64_t cell) {
    for (uint64_t at = place_of(tensor, cell);; at++) {
        signature_cell *slot = &memory->cells[at & (uint64_t)(memory->capacity - 1)];
        if (slot->tensor < 0 || (slot->tensor == tensor && slot->cell == cell))
            return slot;
    }
}

const signature_cell *signature_memory_find(const signature_memory *memory, int tensor,
                                            int64_t cell) {
    const signature_cell *slot = slot_of(memory, tensor, cell);
    return slot->tensor < 0 ? NULL : slot;
}

static void grow(signature_memory *memory, int64_t capacity) {
    const signature_cell *old = memory->cells;
    int64_t count = memory->capacity;
    memory->capacity = capacity;
    memory->cells = new_cells(memory->arena, memory->capacity);
    for (int64_t i = 0; i < count; i++)
        if (old[i].tensor >= 0)
            *slot_of(memory, old[i].tensor, old[i].cell) = old[i];
}

void signature_memory_reserve(signature_memory *memory, int64_t cells) {
    int64_t capacity = memory->capacity;
    while ((memory->count + cells) * 2 > capacity)
        capacity *= 2;
    if (capacity > memory->capacity)
        grow(memory, capacity);
}

void signature_memory_store(signature_memory *memory, const signature_cell *stored) {
    signature_cell *slot = slot_of(memory, stored->tensor, stored->cell);
    bool again = slot->tensor >= 0;
    bool torn = again && (slot->instance == stored->instance || slot->writer != stored->writer);
    if (!again && ++memory->count * 2 > memory->capacity) {
        grow(memory, memory->capacity * 2);
        slot = slot_of(memory, stored->tensor, stored->cell);
    }
    *slot = *stored;
    slot->torn = torn;
}
