/* The dispatches that a function keeps, one for each kind of tensors that came.
 *
 *     x f32 4 x 100 at 0x..40, y likewise, apart    kind 1: kept
 *     x f32 4 x 100 at 0x..80, y likewise, apart    kind 1: found, launched with these addresses
 *     x f32 4 x 100 at 0x..84                       kind 2, if a variant asks for more than 4
 *     y = x                                         kind 3: y lies in x
 *
 * A table of KEPT_LIMIT slots that is read without a lock: a reader counts itself in `readers`
 * while it looks, and in the `users` of what it found until it has launched. Who puts something in
 * holds the lock. What has to go is taken out of its slot and freed once no reader was under way
 * since, who might still find it, and no user is left; until then it stands in a list. So a child
 * of fork, in which a reader of the parent is counted for ever, frees at the end only.
 *
 * A dispatch with a workspace belongs to one stream, whose order is all that keeps two launches
 * apart; one that went into a graph stays, since the graph has its addresses.
 */
#include "api/function_internal.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { WAITS_LIMIT = 100 };
#define WORKSPACES_LIMIT_BYTES (INT64_C(1) << 30)
#define HASH_FACTOR            UINT64_C(0x9e3779b97f4a7c15)

static void *const stream_per_thread = (void *)2; /* CU_STREAM_PER_THREAD */

/* ---- kinds ---- */
uint64_t *api_tensor_words(const croft_tensor *tensor, uint64_t *words) {
    if (tensor == NULL || tensor->rank < 0 || tensor->rank > CROFT_OUTPUT_AXES ||
        (tensor->rank > 0 && tensor->shape == NULL))
        return NULL;
    const int rank = tensor->rank;
    *words++ = (uint64_t)tensor->dtype_code | (uint64_t)tensor->dtype_bits << 8 |
               (uint64_t)tensor->dtype_lanes << 16 | (uint64_t)rank << 32 |
               (uint64_t)(tensor->strides != NULL) << 40;
    *words++ = (uint64_t)(uint32_t)tensor->device_type | (uint64_t)(uint32_t)tensor->device_id
                                                             << 32;
    for (int d = 0; d < rank; d++)
        *words++ = (uint64_t)tensor->shape[d];
    for (int d = 0; d < rank && tensor->strides != NULL; d++)
        *words++ = (uint64_t)tensor->strides[d];
    return words;
}

uint64_t api_words_hash(const uint64_t *words, int count) {
    uint64_t hash = 0;
    for (int i = 0; i < count; i++)
        hash = (hash + words[i]) * HASH_FACTOR;
    return hash ^ hash >> 32;
}

bool api_kind_read(const croft_tensor *const *tensors, int count, void *stream, api_kind *kind) {
    uint64_t *words = kind->words;
    for (int i = 0; i < count; i++) {
        words = api_tensor_words(tensors[i], words);
        if (words == NULL)
            return false;
        kind->addresses[i] = tensors[i]->data != NULL
                                 ? (uint64_t)(uintptr_t)tensors[i]->data + tensors[i]->byte_offset
                                 : 0;
    }
    kind->word_count = (int)(words - kind->words);
    kind->hash = api_words_hash(kind->words, kind->word_count);
    kind->stream = stream;
    return true;
}

/* Threads that name the same stream mean two. */
static uint64_t thread_of(const void *stream) {
    return stream == stream_per_thread ? (uint64_t)(uintptr_t)pthread_self() : 0;
}

static bool is_kind(const api_kept *kept, const api_kind *kind) {
    return kept->hash == kind->hash && kept->word_count == kind->word_count &&
           memcmp(kept->words, kind->words, sizeof *kept->words * (size_t)kept->word_count) == 0 &&
           (!kept->of_stream ||
            (kept->stream == kind->stream && kept->thread == thread_of(kind->stream))) &&
           api_places_same(kept->dispatch, kind->addresses);
}

static int first_slot(uint64_t hash) {
    return (int)(hash % API_KEPT_LIMIT);
}

api_kept *api_kept_find(croft_function *function, const api_kind *kind) {
    api_table *table = &function->table;
    api_kept *found = NULL;
    atomic_fetch_add(&table->readers, 1);
    for (int i = 0; i < API_KEPT_LIMIT && found == NULL; i++) {
        int slot = (first_slot(kind->hash) + i) % API_KEPT_LIMIT;
        if (atomic_load_explicit(&table->hashes[slot], memory_order_relaxed) != kind->hash)
            continue;
        api_kept *kept = atomic_load(&table->slots[slot]);
        if (kept != NULL && is_kind(kept, kind))
            found = kept;
    }
    if (found != NULL)
        atomic_fetch_add(&found->users, 1);
    atomic_fetch_sub(&table->readers, 1);
    if (found == NULL)
        return NULL;
    int64_t now = atomic_load_explicit(&table->clock, memory_order_relaxed) + 1;
    atomic_store_explicit(&table->clock, now, memory_order_relaxed);
    atomic_store_explicit(&found->used_at, now, memory_order_relaxed);
    return found;
}

void api_kept_leave(api_kept *kept) {
    atomic_fetch_sub(&kept->users, 1);
}

/* ---- keeping ---- */
static size_t size_of(int word_count) {
    return sizeof(api_kept) + sizeof(uint64_t) * (size_t)word_count;
}

static void free_kept(api_kept *kept) {
    base_allocator allocator = kept->dispatch->kernel->context->allocator;
    size_t size = size_of(kept->word_count);
    croft_dispatch_free(kept->dispatch);
    api_release(allocator, kept, size);
}

api_kept *api_kept_new(croft_dispatch *dispatch, const api_kind *kind) {
    const croft_context *context = dispatch->kernel->context;
    api_kept *kept = api_allocate(context->allocator, size_of(kind->word_count));
    if (kept == NULL)
        return NULL;
    kept->dispatch = dispatch;
    kept->hash = kind->hash;
    kept->word_count = kind->word_count;
    memcpy(kept->words, kind->words, sizeof *kept->words * (size_t)kind->word_count);
    kept->bytes = dispatch->group_workspace_bytes;
    for (int i = 0; i < dispatch->workspace_count; i++)
        kept->bytes += dispatch->workspace_bytes[i];
    kept->of_stream = (dispatch->workspace_count > 0 || dispatch->launch.workspace != NULL) &&
                      context->device->vtable->memory != RUNTIME_MEMORY_CPU;
    kept->stream = kind->stream;
    kept->thread = thread_of(kind->stream);
    atomic_store(&kept->users, 1);
    return kept;
}

void api_kept_capture(api_kept *kept, void *stream) {
    runtime_device *device = kept->dispatch->kernel->context->device;
    if (kept->of_stream && stream != NULL && device->vtable->captures != NULL &&
        !atomic_load(&kept->captured) && device->vtable->captures(device, stream))
        atomic_store(&kept->captured, true);
}

/* Whether, since the call began, there was a moment without readers. */
static bool readers_are_gone(api_table *table) {
    for (int i = 0; i < WAITS_LIMIT; i++) {
        if (atomic_load(&table->readers) == 0)
            return true;
        sched_yield();
    }
    return false;
}

/* Frees what left its slot, as far as nobody can have it. */
static void collect(api_table *table) {
    if (table->leaving == NULL || !readers_are_gone(table))
        return;
    for (api_kept **at = &table->leaving; *at != NULL;) {
        api_kept *kept = *at;
        if (atomic_load(&kept->users) != 0 || atomic_load(&kept->captured)) {
            at = &kept->next;
            continue;
        }
        *at = kept->next;
        free_kept(kept);
    }
}

/* The slot used least recently whose dispatch may go, of those with workspaces only where so asked;
 * -1: there is none. */
static int oldest(api_table *table, bool with_workspace) {
    int found = -1;
    int64_t least = INT64_MAX;
    for (int i = 0; i < API_KEPT_LIMIT; i++) {
        const api_kept *kept = atomic_load(&table->slots[i]);
        if (kept == NULL || atomic_load(&kept->captured) || (with_workspace && kept->bytes == 0))
            continue;
        int64_t used_at = atomic_load_explicit(&kept->used_at, memory_order_relaxed);
        if (used_at < least) {
            least = used_at;
            found = i;
        }
    }
    return found;
}

static int empty_slot(api_table *table, uint64_t hash) {
    for (int i = 0; i < API_KEPT_LIMIT; i++) {
        int slot = (first_slot(hash) + i) % API_KEPT_LIMIT;
        if (atomic_load(&table->slots[slot]) == NULL)
            return slot;
    }
    return -1;
}

/* What was in the slot leaves it. */
static void put(api_table *table, int slot, api_kept *kept) {
    api_kept *before = atomic_load(&table->slots[slot]);
    atomic_store(&table->slots[slot], kept);
    atomic_store_explicit(&table->hashes[slot], kept != NULL ? kept->hash : 0,
                          memory_order_relaxed);
    table->bytes += (kept != NULL ? kept->bytes : 0) - (before != NULL ? before->bytes : 0);
    if (before == NULL)
        return;
    before->next = table->leaving;
    table->leaving = before;
}

void api_kept_put(croft_function *function, api_kept *kept) {
    api_table *table = &function->table;
    runtime_lock_take(&table->lock);
    atomic_store_explicit(&kept->used_at, atomic_fetch_add(&table->clock, 1) + 1,
                          memory_order_relaxed);
    for (int slot = 0;
         kept->bytes > 0 && slot >= 0 && table->bytes + kept->bytes > WORKSPACES_LIMIT_BYTES;) {
        slot = oldest(table, true);
        if (slot >= 0)
            put(table, slot, NULL);
    }
    int slot = empty_slot(table, kept->hash);
    slot = slot >= 0 ? slot : oldest(table, false);
    if (slot >= 0) {
        put(table, slot, kept);
    } else { /* all are in graphs */
        kept->next = table->leaving;
        table->leaving = kept;
    }
    collect(table);
    runtime_lock_give(&table->lock);
}

void api_table_free(croft_function *function) {
    api_table *table = &function->table;
    for (int i = 0; i < API_KEPT_LIMIT; i++) {
        api_kept *kept = atomic_load(&table->slots[i]);
        if (kept != NULL)
            free_kept(kept);
    }
    for (api_kept *kept = table->leaving, *next; kept != NULL; kept = next) {
        next = kept->next;
        free_kept(kept);
    }
}
