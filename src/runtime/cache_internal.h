/* The parts of the cache of compiled programs.
 *
 *     cache.c            the directory, complaints, locks, finding and keeping
 *     cache_entry.c      one file: writing it, reading it, checking it
 *     cache_directory.c  all files: listing, removing
 *
 * An entry: 16 bytes `croft program 1`, the lengths of key and program (8 bytes each, as the
 * machine has them), key, program, and the FNV-1a of all that.
 */
#ifndef RUNTIME_CACHE_INTERNAL_H
#define RUNTIME_CACHE_INTERNAL_H

#include "runtime/cache.h"

#include "runtime/lock.h"

#include <limits.h>
#include <sys/stat.h>

struct runtime_cache {
    base_allocator allocator;
    int64_t limit_bytes;
    runtime_lock lock; /* of what follows */
    bool complained, told;
    char complaint[PATH_MAX + 256];
    char directory[PATH_MAX];
};

enum { CACHE_NAME_LIMIT = 40 };

/* ---- cache.c ---- */
/* The directory, open; with `make` it is made where it is missing. -1: there is none, or *why (room
 * for a complaint) says what is wrong with it; else *why is "". */
int cache_directory_open(const runtime_cache *cache, bool make, char why[PATH_MAX + 256]);
/* Kept until it is asked for, if it is the first. */
void cache_complain(runtime_cache *cache, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- cache_entry.c ---- */
uint64_t cache_key_hash(const runtime_cache_key *key);
void cache_entry_name(uint64_t hash, char name[CACHE_NAME_LIMIT]);
/* Opens a file of the directory that may be an entry; -1: there is none. */
int cache_entry_open(int directory, const char *name, struct stat *status);
/* Why it is not whole, or NULL. `key`: also whether it is that key's, where *same says so; NULL:
 * any. The hash of the key that it has comes back in *hash. */
typedef struct cache_checked {
    runtime_cache_found program;
    bool same;
    uint64_t hash;
} cache_checked;
const char *cache_entry_check(int file, const struct stat *status, const runtime_cache_key *key,
                              cache_checked *checked);
/* The first bytes of its key; "" where there are none. */
void cache_entry_read_key(int file, char key[RUNTIME_CACHE_HEAD_LIMIT + 1]);
/* Bytes of the file that would be written. */
int64_t cache_entry_size(const runtime_cache_key *key, size_t size);
/* 0, or the errno of what failed: then there is nothing under the name. */
int cache_entry_write(int directory, const char *name, const runtime_cache_key *key,
                      const void *program, size_t size);

/* ---- cache_directory.c ---- */
/* Removes as runtime_cache_collect does, but reads no file; a failure is passed over. */
void cache_directory_shrink(int directory, int64_t limit_bytes, runtime_cache_removed *removed);

#endif
