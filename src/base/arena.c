/* Arena: a list of chunks, bump allocation inside the newest.
 *
 *     chunks -> | older | size | text ... module ... | next -> free ... |
 *                  v
 *               | NULL  | size | full                                   |
 *
 * What is given back, chunk by chunk, becomes spare and is taken before new memory is.
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

static void free_chunks(base_arena *arena, base_arena_chunk *chunk) {
    while (chunk != NULL) {
        base_arena_chunk *older = chunk->older;
        arena->allocator.resize(arena->allocator.context, chunk, chunk->size, 0);
        chunk = older;
    }
}

void base_arena_free(base_arena *arena) {
    free_chunks(arena, arena->chunks);
    free_chunks(arena, arena->spare);
    arena->chunks = arena->spare = NULL;
    arena->next = NULL;
    arena->left = 0;
}

/* The first spare chunk of the size, taken out of the list; NULL: there is none. */
static base_arena_chunk *arena_take_spare(base_arena *arena, size_t total) {
    base_arena_chunk **place = &arena->spare;
    while (*place != NULL && (*place)->size < total)
        place = &(*place)->older;
    base_arena_chunk *chunk = *place;
    if (chunk != NULL)
        *place = chunk->older;
    return chunk;
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
    base_arena_chunk *chunk = arena_take_spare(arena, size + header);
    if (chunk == NULL) {
        chunk = arena->allocator.resize(arena->allocator.context, NULL, 0, total);
        if (chunk == NULL)
            longjmp(*arena->exhausted, 1);
        chunk->size = total;
    }
    chunk->older = arena->chunks;
    arena->chunks = chunk;
    arena->next = (char *)chunk + header;
    arena->left = chunk->size - header;
}

base_arena_mark base_arena_here(const base_arena *arena) {
    return (base_arena_mark){arena->chunks, arena->next, arena->left};
}

void base_arena_return(base_arena *arena, base_arena_mark mark) {
    while (arena->chunks != mark.chunks) {
        base_arena_chunk *chunk = arena->chunks;
        arena->chunks = chunk->older;
        chunk->older = arena->spare;
        arena->spare = chunk;
    }
    arena->next = mark.next;
    arena->left = mark.left;
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
