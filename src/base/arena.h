/* Arena: memory that lives until its owner drops it all at once.
 *
 * Everything a compilation makes lives in one arena; there is no per-object free. Allocation never
 * returns NULL: when the allocator refuses, the arena unwinds with longjmp to `exhausted`, which
 * the owner (compile/) sets with setjmp before the first allocation. Below that point only arenas
 * live, so nothing leaks. An arena without `exhausted` must not be handed to code that allocates.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

/* The caller's memory hook. resize(context, NULL, 0, n) allocates, resize(context, p, old, 0)
 * frees. Returns NULL on failure. */
typedef struct base_allocator {
    void *(*resize)(void *context, void *memory, size_t old_size, size_t new_size);
    void *context;
} base_allocator;

/* malloc, realloc and free. */
base_allocator base_allocator_default(void);

typedef struct base_arena_chunk base_arena_chunk;

typedef struct base_arena {
    base_allocator allocator;
    base_arena_chunk *chunks;
    base_arena_chunk *spare; /* that were given back, for what comes */
    char *next;
    size_t left;
    jmp_buf *exhausted;
} base_arena;

void base_arena_init(base_arena *arena, base_allocator allocator, jmp_buf *exhausted);
void base_arena_free(base_arena *arena);

/* Zeroed memory, aligned to 16 bytes. Unwinds on exhaustion. */
void *base_arena_alloc(base_arena *arena, size_t size);

/* Grows an array in the arena: afterwards *capacity >= needed. The old memory stays in the arena.
 */
void *base_arena_grow(base_arena *arena, void *array, int64_t count, int64_t *capacity,
                      int64_t needed, size_t element_size);

/* Where the arena stands, to give back at once all that is allocated from here on. */
typedef struct base_arena_mark {
    base_arena_chunk *chunks;
    char *next;
    size_t left;
} base_arena_mark;

base_arena_mark base_arena_here(const base_arena *arena);
/* The mark must be of this arena, and what it stands for not have been given back. */
void base_arena_return(base_arena *arena, base_arena_mark mark);

/* A NUL-terminated copy. */
char *base_arena_copy(base_arena *arena, const char *text, size_t length);

#define BASE_NEW(arena, type) ((type *)base_arena_alloc((arena), sizeof(type)))
#define BASE_NEW_ARRAY(arena, type, n)                                                             \
    ((type *)base_arena_alloc((arena), sizeof(type) * (size_t)(n)))

/* Appends to an arena array given by its pointer, count and capacity (int64_t lvalues). The value
 * is computed first: it may itself append to the array, or be an element of it. */
#define BASE_PUSH(arena, array, count, capacity, value)                                            \
    do {                                                                                           \
        const __typeof__(*(array)) base_pushed = (value);                                          \
        (array) =                                                                                  \
            base_arena_grow((arena), (array), (count), &(capacity), (count) + 1, sizeof *(array)); \
        (array)[(count)++] = base_pushed;                                                          \
    } while (0)

#endif
