/* All files of the cache: listing them, and removing what is too much.
 *
 *     limit 100, entries of 40 40 30, used 1 3 2 days ago  ->  40 40; the second is gone
 *
 * No memory is allocated, so that this works when none is left. The directory is read for the 64
 * entries that were used least recently, which are removed in that order until the rest is within
 * the limit. Where that is not enough the directory is read again.
 */
#include "runtime/cache_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OLDEST_LIMIT = 64, UNFINISHED_S = 3600, HASH_DIGITS = 16 };

typedef struct old_entry {
    struct timespec used;
    uint64_t hash;
    int64_t bytes;
} old_entry;

typedef struct old_entries {
    old_entry entries[OLDEST_LIMIT]; /* the oldest first */
    int count;
    int64_t total_bytes; /* of all entries */
} old_entries;

/* ---- names ---- */
/* Whether it is HASH.program, and then its hash. */
static bool is_entry_name(const char *name, uint64_t *hash) {
    char *end = NULL;
    if (strspn(name, "0123456789abcdef") != HASH_DIGITS ||
        strcmp(name + HASH_DIGITS, ".program") != 0)
        return false;
    *hash = strtoull(name, &end, 16);
    return true;
}

static bool is_unfinished_name(const char *name) {
    size_t length = strlen(name);
    return strspn(name, "0123456789abcdef") == HASH_DIGITS && name[HASH_DIGITS] == '-' &&
           strcmp(name + length - 4, ".new") == 0;
}

static DIR *list(int directory) {
    int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *names = again >= 0 ? fdopendir(again) : NULL;
    if (names == NULL && again >= 0)
        close(again);
    return names;
}

/* ---- removing ---- */
/* Whether the file is gone by this call. One that is gone already is no trouble. */
static bool remove_file(int directory, const char *name, runtime_cache_removed *removed) {
    if (unlinkat(directory, name, 0) == 0)
        return true;
    if (errno != ENOENT && removed->error == 0)
        removed->error = errno;
    return false;
}

/* A clock that was set back leaves times that are not yet: they say nothing. */
static bool is_past(const struct timespec *time) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return time->tv_sec < now.tv_sec ||
           (time->tv_sec == now.tv_sec && time->tv_nsec <= now.tv_nsec);
}

static bool is_older(const old_entry *a, const old_entry *b) {
    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec;
    if (a->used.tv_nsec != b->used.tv_nsec)
        return a->used.tv_nsec < b->used.tv_nsec;
    return a->hash < b->hash;
}

static void note(old_entries *oldest, const old_entry *entry) {
    int at = oldest->count;
    while (at > 0 && is_older(entry, &oldest->entries[at - 1]))
        at--;
    if (at == OLDEST_LIMIT)
        return;
    int moved = (oldest->count < OLDEST_LIMIT ? oldest->count : OLDEST_LIMIT - 1) - at;
    memmove(&oldest->entries[at + 1], &oldest->entries[at], sizeof *entry * (size_t)moved);
    oldest->entries[at] = *entry;
    oldest->count += oldest->count < OLDEST_LIMIT;
}

static bool read_oldest(int directory, old_entries *oldest) {
    DIR *names = list(directory);
    *oldest = (old_entries){0};
    if (names == NULL)
        return false;
    for (struct dirent *one; (one = readdir(names)) != NULL;) {
        old_entry entry;
        struct stat status;
        if (!is_entry_name(one->d_name, &entry.hash) ||
            fstatat(directory, one->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        entry.used = is_past(&status.st_mtim) ? status.st_mtim : (struct timespec){0};
        entry.bytes = status.st_size;
        oldest->total_bytes += entry.bytes;
        note(oldest, &entry);
    }
    closedir(names);
    return true;
}

static void remove_unfinished(int directory, runtime_cache_removed *removed) {
    DIR *names = list(directory);
    if (names == NULL)
        return;
    for (struct dirent *one; (one = readdir(names)) != NULL;) {
        struct stat status;
        if (is_unfinished_name(one->d_name) &&
            fstatat(directory, one->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            (status.st_mtim.tv_sec < time(NULL) - UNFINISHED_S || !is_past(&status.st_mtim)) &&
            remove_file(directory, one->d_name, removed)) {
            removed->unfinished++;
            removed->bytes += status.st_size;
        }
    }
    closedir(names);
}

void cache_directory_shrink(int directory, int64_t limit_bytes, runtime_cache_removed *removed) {
    old_entries oldest;
    remove_unfinished(directory, removed);
    for (int64_t gone = 1; gone > 0;) {
        gone = 0;
        if (!read_oldest(directory, &oldest))
            return;
        for (int i = 0; i < oldest.count && oldest.total_bytes > limit_bytes; i++) {
            char name[RUNTIME_CACHE_NAME_LIMIT];
            cache_entry_name(oldest.entries[i].hash, name);
            if (!remove_file(directory, name, removed))
                continue;
            gone++;
            oldest.total_bytes -= oldest.entries[i].bytes;
            removed->unused++;
            removed->bytes += oldest.entries[i].bytes;
        }
        if (oldest.total_bytes <= limit_bytes)
            return;
    }
}

/* ---- for people ---- */
/* The directory, or -1; *status says whether that is a failure. */
static int open_for_report(const runtime_cache *cache, runtime_status *status,
                           runtime_report *report) {
    char why[CACHE_COMPLAINT_LIMIT];
    int directory = cache_directory_open(cache, false, why);
    *status = why[0] != '\0' ? runtime_report_set(report, RUNTIME_SYSTEM_FAILED, "%s", why)
                             : runtime_report_set(report, RUNTIME_OK, "%s", "");
    return directory;
}

static const char *check(int directory, const char *name, uint64_t hash, bool whole,
                         runtime_cache_entry *entry, char key[RUNTIME_CACHE_HEAD_LIMIT + 1]) {
    struct stat status;
    cache_checked checked;
    key[0] = '\0';
    entry->key = key;
    int file = cache_entry_open(directory, name, &status);
    if (file < 0)
        return "cannot be read";
    entry->bytes = status.st_size;
    entry->used_s = status.st_mtim.tv_sec;
    cache_entry_read_key(file, key);
    const char *fault = whole ? cache_entry_check(file, &status, NULL, &checked) : NULL;
    if (whole && fault == NULL && checked.hash != hash)
        fault = "under another key's name";
    close(file);
    return fault;
}

runtime_status runtime_cache_each(runtime_cache *cache, bool whole, runtime_cache_visit *visit,
                                  void *state, runtime_report *report) {
    char key[RUNTIME_CACHE_HEAD_LIMIT + 1];
    runtime_status status;
    uint64_t hash;
    int directory = open_for_report(cache, &status, report);
    if (directory < 0)
        return status;
    DIR *names = list(directory);
    if (names == NULL)
        status = runtime_report_set(report, RUNTIME_SYSTEM_FAILED, "%s: %s", cache->directory,
                                    strerror(errno));
    for (struct dirent *one; names != NULL && (one = readdir(names)) != NULL;) {
        runtime_cache_entry entry = {0};
        if (!is_entry_name(one->d_name, &hash))
            continue;
        snprintf(entry.name, sizeof entry.name, "%.*s", RUNTIME_CACHE_NAME_LIMIT - 1, one->d_name);
        entry.fault = check(directory, one->d_name, hash, whole, &entry, key);
        visit(state, &entry);
    }
    if (names != NULL)
        closedir(names);
    close(directory);
    return status;
}

typedef struct damage {
    int directory;
    runtime_cache_removed *removed;
} damage;

static void remove_damaged(void *state, const runtime_cache_entry *entry) {
    const damage *found = state;
    if (entry->fault == NULL || !remove_file(found->directory, entry->name, found->removed))
        return;
    found->removed->damaged++;
    found->removed->bytes += entry->bytes;
}

runtime_status runtime_cache_collect(runtime_cache *cache, int64_t limit_bytes,
                                     runtime_cache_removed *removed, runtime_report *report) {
    runtime_status status;
    *removed = (runtime_cache_removed){0};
    int directory = open_for_report(cache, &status, report);
    if (directory < 0)
        return status;
    damage found = {.directory = directory, .removed = removed};
    status = runtime_cache_each(cache, true, remove_damaged, &found, report);
    cache_directory_shrink(directory, limit_bytes, removed);
    close(directory);
    if (status == RUNTIME_OK && removed->error != 0)
        status = runtime_report_set(report, RUNTIME_SYSTEM_FAILED, "cannot remove from %s: %s",
                                    cache->directory, strerror(removed->error));
    return status;
}
