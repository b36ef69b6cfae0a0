/* What tests of the cache share: a folder of their own, caches in it, keys in a line. */
#ifndef CACHE_FIXTURE_H
#define CACHE_FIXTURE_H

#include "runtime/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Permissions hold for root too from here on, in this process. */
static inline bool obey_permissions(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    return geteuid() != 0 || syscall(SYS_capset, &header, none) == 0;
}

/* Runs `body` in a child; its exit status. */
static inline int in_child(int (*body)(void *context), void *context) {
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(body(context));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

typedef struct scratch {
    char root[256];
    char directory[300]; /* of the cache; not made yet */
} scratch;

static inline void scratch_make(scratch *s) {
    const char *parent = getenv("TMPDIR");
    snprintf(s->root, sizeof s->root, "%s/croft-cache-XXXXXX", parent != NULL ? parent : "/tmp");
    assert_non_null(mkdtemp(s->root));
    snprintf(s->directory, sizeof s->directory, "%s/croft", s->root);
}

/* What a killed process has started may still be writing. */
static inline void scratch_remove(scratch *s) {
    char command[700];
    snprintf(command, sizeof command, "rm -rf '%s' 2>/dev/null || { sleep 1; rm -rf '%s'; }",
             s->root, s->root);
    assert_int_equal(system(command), 0);
}

static inline runtime_cache *cache_of(const char *directory, int64_t limit_bytes) {
    runtime_cache_config config = {.directory = directory, .limit_bytes = limit_bytes};
    runtime_cache *cache = NULL;
    assert_int_equal(runtime_cache_create(base_allocator_default(), &config, &cache), RUNTIME_OK);
    assert_non_null(cache);
    return cache;
}

static inline runtime_cache_key key_of(const char *head, const char *text) {
    return (runtime_cache_key){.head = head, .text = text, .text_length = strlen(text)};
}

/* The program that is found, in memory of the caller; its length, or -1. */
static inline int64_t find_program(runtime_cache *cache, const runtime_cache_key *key, char *room,
                                   size_t size) {
    runtime_cache_found found;
    if (!runtime_cache_find(cache, key, &found))
        return -1;
    assert_true(found.size <= (int64_t)size);
    assert_int_equal(pread(found.file, room, (size_t)found.size, found.offset), found.size);
    close(found.file);
    return found.size;
}

static inline bool is_found(runtime_cache *cache, const runtime_cache_key *key) {
    char room[65536];
    return find_program(cache, key, room, sizeof room) >= 0;
}

/* Files of the directory whose names end so; the last of them. */
static inline int count_files(const char *directory, const char *suffix, char name[NAME_MAX + 1]) {
    int count = 0;
    DIR *names = opendir(directory);
    for (struct dirent *one; names != NULL && (one = readdir(names)) != NULL;) {
        size_t length = strlen(one->d_name), end = strlen(suffix);
        if (length < end || strcmp(one->d_name + length - end, suffix) != 0)
            continue;
        count++;
        if (name != NULL)
            snprintf(name, NAME_MAX + 1, "%s", one->d_name);
    }
    if (names != NULL)
        closedir(names);
    return count;
}

static inline void count_faults(void *state, const runtime_cache_entry *entry) {
    *(int *)state += entry->fault != NULL;
}

/* Entries that are not whole. */
static inline int faults_of(runtime_cache *cache) {
    static runtime_report report;
    int faults = 0;
    assert_int_equal(runtime_cache_each(cache, true, count_faults, &faults, &report), RUNTIME_OK);
    return faults;
}

#endif
