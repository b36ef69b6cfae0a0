/* Tables of names in IR and plan text: each name once, with a number. */
#ifndef TEXT_IR_NAMES_H
#define TEXT_IR_NAMES_H

#include "base/arena.h"

#include <stdbool.h>

/* Names of one kind, each with a number: a hash table over texts of the source. */
typedef struct text_ir_name {
    const char *text;
    size_t length;
    int64_t item;
} text_ir_name;

typedef struct text_ir_names {
    text_ir_name *entries;
    int64_t count, capacity;
    int64_t *buckets; /* position + 1, 0 = empty; a power of two of them */
    int64_t bucket_count;
} text_ir_names;

int64_t text_ir_names_find(const text_ir_names *names, const char *text, size_t length); /* or -1 */
/* False when the name is there already. */
bool text_ir_names_add(base_arena *arena, text_ir_names *names, const char *text, size_t length,
                       int64_t item);

#endif
