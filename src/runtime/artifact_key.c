/* Artifacts as bytes: see the header. */
#include "runtime/artifact_key.h"

#include <string.h>

/* Appends to a key that is only measured while `key` is NULL. */
static void key_add(char *key, size_t *size, const void *bytes, size_t length) {
    if (key != NULL)
        memcpy(key + *size, bytes, length);
    *size += length;
}

static void key_add_entry(char *key, size_t *size, const runtime_entry *entry) {
    int64_t numbers[] = {entry->threads, entry->cluster, entry->scratch_bytes};
    key_add(key, size, numbers, sizeof numbers);
    key_add(key, size, entry->name, strlen(entry->name) + 1);
}

size_t runtime_artifact_key(char *key, const runtime_artifact *artifact) {
    size_t size = 0;
    int64_t numbers[] = {(int64_t)artifact->length, artifact->pointer_count,
                         artifact->word_count,      artifact->allow_spills,
                         artifact->overlaps,        artifact->behind_count};
    runtime_entry first = {.name = artifact->entry,
                           .threads = artifact->threads,
                           .cluster = artifact->cluster,
                           .scratch_bytes = artifact->scratch_bytes};
    key_add(key, &size, numbers, sizeof numbers);
    key_add_entry(key, &size, &first);
    for (int i = 0; i < artifact->behind_count; i++)
        key_add_entry(key, &size, &artifact->behind[i]);
    for (int i = 0; artifact->flags != NULL && artifact->flags[i] != NULL; i++)
        key_add(key, &size, artifact->flags[i], strlen(artifact->flags[i]) + 1);
    key_add(key, &size, "", 1);
    key_add(key, &size, artifact->text, artifact->length);
    return size;
}
