/* Sets of identifiers: what is taken, and what a text mentions. */
#ifndef TARGET_NAMES_INTERNAL_H
#define TARGET_NAMES_INTERNAL_H

#include "base/text.h"

typedef struct target_name {
    const char *text; /* NULL = empty */
    int32_t next;     /* the number to try next when the name is wanted again */
} target_name;

typedef struct target_names {
    base_arena *arena;
    target_name *slots; /* open addressing; a power of two of them */
    int64_t count, capacity;
    bool (*is_reserved)(const char *name); /* not to be given to anything; NULL: none */
} target_names;

void target_names_init(target_names *names, base_arena *arena);
/* The entry of the text, added when new. Valid until the next call. */
target_name *target_names_add(target_names *names, const char *text, size_t length);
bool target_names_has(const target_names *names, const char *text, size_t length);
/* Adds every identifier and number of a text in C that stands in no `//` comment and names no
 * member (`pack.b`). */
void target_names_scan(target_names *names, const char *text);

/* A C identifier like `wanted`, and not reserved, such that it and the names `it_0` ..
 * `it_(slots-1)` (for slots > 1) were free; all of them are taken. */
const char *target_names_take(target_names *names, const char *wanted, int slots);

#endif
