/* Arena: a list of chunks, bump allocation inside the newest.
 *
 *     chunks -> | older | size | text ... module ... | next -> free ... |
 *                  v
 *               | NULL  | size | full                                   |
 *
 * Chunks double from 16 KiB to 1 MiB; a larger request gets a chunk of its own size. What is left
 * of a chunk when the next is made is not used again. Memory comes zeroed.
 */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

enum { ARENA_ALIGN = 16, ARENA_CHUNK_MIN = 16384, ARENA_CHUNK_MAX = 1 << 20 };

struct base_arena_chunk {
    base_arena_chunk *older;
    size_t size;
};

static void *default_resize(void *context, void *memory, size_t old_size, size_t new_size) {
    (void)context;
    (void)old_size;
    if (new_size == 0) {
        free(memory);
        return NULL;
    }
    return realloc(memory, new_size);
}

base_allocator base_allocator_default(void) {
    return (base_allocator){.resize = default_resize, .context = NULL};
}

void base_arena_init(base_arena *arena, base_allocator allocator, jmp_buf *exhausted) {
    *arena = (base_arena){.allocator = allocator, .exhausted = exhausted};
}

void base_arena_free(base_arena *arena) {
    base_arena_chunk *chunk = arena->chunks;
    while (chunk != NULL) {
        base_arena_chunk *older = chunk->older;
        arena->allocator.resize(arena->allocator.context, chunk, chunk->size, 0);
        chunk = older;
    }
    arena->chunks = NULL;
    arena->next = NULL;
    arena->left = 0;
}

static void arena_add_chunk(base_arena *arena, size_t size) {
    size_t header = (sizeof(base_arena_chunk) + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    size_t last = arena->chunks != NULL ? arena->chunks->size : 0;
    size_t total = last * 2 < ARENA_CHUNK_MIN ? ARENA_CHUNK_MIN : last * 2;
    if (total > ARENA_CHUNK_MAX)
        total = ARENA_CHUNK_MAX;
    if (size > SIZE_MAX - header)
        longjmp(*arena->exhausted, 1);
    if (total < size + header)
        total = size + header;
    base_arena_chunk *chunk = arena->allocator.resize(arena->allocator.context, NULL, 0, total);
    if (chunk == NULL)
        longjmp(*arena->exhausted, 1);
    chunk->older = arena->chunks;
    chunk->size = total;
    arena->chunks = chunk;
    arena->next = (char *)chunk + header;
    arena->left = total - header;
}

void *base_arena_alloc(base_arena *arena, size_t size) {
    if (size > SIZE_MAX - ARENA_ALIGN)
        longjmp(*arena->exhausted, 1);
    size = (size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    if (size > arena->left)
        arena_add_chunk(arena, size);
    void *memory = arena->next;
    arena->next += size;
    arena->left -= size;
    memset(memory, 0, size);
    return memory;
}

void *base_arena_grow(base_arena *arena, void *array, int64_t count, int64_t *capacity,
                      int64_t needed, size_t element_size) {
    if (needed <= *capacity)
        return array;
    int64_t larger = *capacity * 2 > 8 ? *capacity * 2 : 8;
    if (larger < needed)
        larger = needed;
    if ((uint64_t)larger > SIZE_MAX / element_size)
        longjmp(*arena->exhausted, 1);
    void *copy = base_arena_alloc(arena, (size_t)larger * element_size);
    if (count > 0)
        memcpy(copy, array, (size_t)count * element_size);
    *capacity = larger;
    return copy;
}

char *base_arena_copy(base_arena *arena, const char *text, size_t length) {
    char *copy = base_arena_alloc(arena, length + 1);
    if (length > 0)
        memcpy(copy, text, length);
    return copy;
}
