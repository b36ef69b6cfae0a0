/* Compiled programs, kept on disk from process to process.
 *
 *     DIR/HASH.program       the key, the program and a checksum; HASH is the key's, in 16 digits
 *     DIR/HASH-NUMBER.new    one that is being written; it gets its name when it is whole
 *     DIR/lock               its byte number HASH is locked by whoever compiles that program
 *
 *     find -> nothing -> lock -> find again -> nothing -> compile -> keep -> unlock
 *
 * A key says everything that the program depends on, and whole keys are compared. Two keys with the
 * same hash share a file name: the program that is kept last replaces the other's, and neither key
 * is ever given the program of the other. An entry that is cut short or changed is not found, and
 * the next one that is kept under its name replaces it.
 *
 * The directory holds code that will be executed. Where it is missing it is made, and its parent
 * too, for its owner alone (0700). A directory that is a symbolic link, belongs to another user or
 * is writable for others is not used at all. That is no failure: nothing is found and nothing is
 * kept, and runtime_cache_complaint says why.
 *
 * Files are written under another name, renamed when they are whole, and never changed then. So
 * several processes may use one directory, and one that is killed leaves at most a .new, which is
 * removed when it is an hour old. Where all entries together exceed the limit, those are removed
 * that were used least recently; each use sets the time of modification of its file. To the cache a
 * program is nothing but bytes.
 */
#ifndef RUNTIME_CACHE_H
#define RUNTIME_CACHE_H

#include "runtime/status.h"

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RUNTIME_CACHE_DEFAULT_BYTES = 256 << 20 };

/* Read during create. */
typedef struct runtime_cache_config {
    /* NULL: `croft` in `cache_home`, or in `.cache` of `home`, the first of them that is absolute.
     * "", or nothing of all that: programs are not kept, which is complained of where something
     * was given that cannot be. */
    const char *directory;
    const char *cache_home, *home;
    int64_t limit_bytes; /* of all entries; 0: RUNTIME_CACHE_DEFAULT_BYTES */
} runtime_cache_config;

/* May be used by several threads at once. */
typedef struct runtime_cache runtime_cache;

/* Touches no file. RUNTIME_OK with *cache NULL: programs are not kept. RUNTIME_NO_MEMORY. */
runtime_status runtime_cache_create(base_allocator allocator, const runtime_cache_config *config,
                                    runtime_cache **cache);
/* NULL is allowed. */
void runtime_cache_destroy(runtime_cache *cache);
const char *runtime_cache_directory(const runtime_cache *cache);
int64_t runtime_cache_limit(const runtime_cache *cache);

/* True once, when something has stood in the way: the text says what. */
bool runtime_cache_complaint(runtime_cache *cache, runtime_report *report);

/* What the program depends on: both parts count, one after the other. */
typedef struct runtime_cache_key {
    const char *head; /* lines for people; the first one names what made the program */
    const char *text; /* bytes */
    size_t text_length;
} runtime_cache_key;

/* A file of which `size` bytes from `offset` on are the program. */
typedef struct runtime_cache_found {
    int file;
    int64_t offset, size;
} runtime_cache_found;

/* Looks for the program of a key; checks it whole, and marks it as used now. The caller closes the
 * file. False: there is none. */
bool runtime_cache_find(runtime_cache *cache, const runtime_cache_key *key,
                        runtime_cache_found *found);

/* Keeps a program, whole or not at all, and removes others until the limit is met again. One that
 * is larger than the limit alone is not kept. */
void runtime_cache_keep(runtime_cache *cache, const runtime_cache_key *key, const void *program,
                        size_t size);

/* Waits, for `limit_s` seconds at most, until nobody else compiles the program of this key. Returns
 * what runtime_cache_unlock takes, even where no lock could be had: then two may compile the same.
 * The lock of a process that ends is free. */
int runtime_cache_lock(runtime_cache *cache, const runtime_cache_key *key, int limit_s);
void runtime_cache_unlock(int lock);

/* ---- the whole directory ---- */
enum { RUNTIME_CACHE_HEAD_LIMIT = 4096, RUNTIME_CACHE_NAME_LIMIT = 40 };

typedef struct runtime_cache_entry {
    char name[RUNTIME_CACHE_NAME_LIMIT]; /* of its file */
    int64_t bytes;                       /* of its file */
    int64_t used_s;                      /* since 1970 */
    const char *fault;                   /* NULL: none */
    const char *key; /* its first bytes, as many as there are of RUNTIME_CACHE_HEAD_LIMIT, and
                          NUL; "" when they cannot be read */
} runtime_cache_entry;

typedef void runtime_cache_visit(void *state, const runtime_cache_entry *entry);

/* Every entry, in the directory's order; whole files are only read with `check`. No directory is as
 * good as an empty one. RUNTIME_SYSTEM_FAILED: it cannot be used; the report says why. */
runtime_status runtime_cache_each(runtime_cache *cache, bool check, runtime_cache_visit *visit,
                                  void *state, runtime_report *report);

typedef struct runtime_cache_removed {
    int64_t damaged, unused, unfinished; /* entries, of which the last were never whole */
    int64_t bytes;
    int error; /* the first errno with which a file stayed; 0: none */
} runtime_cache_removed;

/* Removes what is damaged, what was left unfinished an hour ago, and what was used least recently
 * until at most `limit_bytes` are left; a time that is not yet is the longest ago. As above; also
 * RUNTIME_SYSTEM_FAILED: something that should go stays. */
runtime_status runtime_cache_collect(runtime_cache *cache, int64_t limit_bytes,
                                     runtime_cache_removed *removed, runtime_report *report);

#endif
