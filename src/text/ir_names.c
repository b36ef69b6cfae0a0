/* Name tables: open addressing over hashes of texts, grown by doubling; entries keep their order.
 */
#include "text/ir_names.h"

#include "base/hash.h"

#include <string.h>

static int64_t *names_bucket(const text_ir_names *names, const char *text, size_t length) {
    uint64_t at = base_hash_bytes(BASE_HASH_START, text, length);
    for (;; at++) {
        int64_t *bucket = &names->buckets[at & (uint64_t)(names->bucket_count - 1)];
        if (*bucket == 0)
            return bucket;
        const text_ir_name *entry = &names->entries[*bucket - 1];
        if (entry->length == length && memcmp(entry->text, text, length) == 0)
            return bucket;
    }
}

int64_t text_ir_names_find(const text_ir_names *names, const char *text, size_t length) {
    if (names->count == 0)
        return -1;
    int64_t *bucket = names_bucket(names, text, length);
    return *bucket == 0 ? -1 : names->entries[*bucket - 1].item;
}

bool text_ir_names_add(base_arena *arena, text_ir_names *names, const char *text, size_t length,
                       int64_t item) {
    if (2 * (names->count + 1) > names->bucket_count) {
        names->bucket_count = names->bucket_count == 0 ? 32 : 2 * names->bucket_count;
        names->buckets = BASE_NEW_ARRAY(arena, int64_t, names->bucket_count);
        for (int64_t i = 0; i < names->count; i++)
            *names_bucket(names, names->entries[i].text, names->entries[i].length) = i + 1;
    }
    int64_t *bucket = names_bucket(names, text, length);
    if (*bucket != 0)
        return false;
    text_ir_name entry = {.text = text, .length = length, .item = item};
    BASE_PUSH(arena, names->entries, names->count, names->capacity, entry);
    *bucket = names->count;
    return true;
}
