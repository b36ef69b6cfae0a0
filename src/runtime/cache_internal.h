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

enum { CACHE_COMPLAINT_LIMIT = PATH_MAX + 256 };

struct runtime_cache {
    base_allocator allocator;
    int64_t limit_bytes;
    runtime_lock lock; /* of what follows */
    bool complained, told;
    char complaint[CACHE_COMPLAINT_LIMIT];
    char directory[PATH_MAX];
};

/* ---- cache.c ---- */
/* Opens the directory; with `make` it is made where it is missing. -1: it cannot be used, and `why`
 * says what is wrong with it, or it is missing, and `why` is "". */
int cache_directory_open(const runtime_cache *cache, bool make, char why[CACHE_COMPLAINT_LIMIT]);
/* Notes what went wrong, for runtime_cache_complaint; of several complaints the first is kept. */
void cache_complain(runtime_cache *cache, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- cache_entry.c ---- */
uint64_t cache_key_hash(const runtime_cache_key *key);
void cache_entry_name(uint64_t hash, char name[RUNTIME_CACHE_NAME_LIMIT]);
/* Opens a file of the directory that may be an entry; -1: there is none. */
int cache_entry_open(int directory, const char *name, struct stat *status);
typedef struct cache_checked {
    runtime_cache_found program;
    bool same;     /* its key is the one that was asked for */
    uint64_t hash; /* of its key */
} cache_checked;
/* Reads a file to its end. NULL: it is whole, and `checked` is filled; else what is wrong with it.
 * `key` may be NULL: no key is asked for. */
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
/* Removes as runtime_cache_collect does, but does not read files and so leaves damaged ones. What
 * cannot be removed is left. */
void cache_directory_shrink(int directory, int64_t limit_bytes, runtime_cache_removed *removed);

#endif
