/* The cache of compiled programs: its directory, who may compile what, finding and keeping.
 *
 *     XDG_CACHE_HOME=/x           ->  /x/croft
 *     HOME=/home/u                ->  /home/u/.cache/croft
 *     HOME=/home/u, which is root's -> a complaint, and everything is compiled
 *
 * The directory is opened and looked at by each call: no file stays open between them. Locks are
 * those of an open file (F_OFD_SETLK), so that threads of one process exclude each other too, one
 * byte of one file for each hash, so that no lock has to be removed.
 */
#include "runtime/cache_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NAMES_LIMIT = 64, WRITTEN_NAME_LIMIT = 64, PAUSE_LEAST_US = 200, PAUSE_MOST_US = 5000 };

/* ---- where it is ---- */
static bool is_given(const char *text) {
    return text != NULL && text[0] != '\0';
}

/* Writes the absolute path of the directory, "" where nothing is kept. Returns why, where the
 * config names a place that cannot be used; else NULL. */
static const char *place(const runtime_cache_config *config, char directory[PATH_MAX]) {
    char here[PATH_MAX] = "";
    int length = 0;
    directory[0] = '\0';
    if (config->directory != NULL) {
        bool absolute = config->directory[0] == '/';
        if (config->directory[0] == '\0')
            return NULL;
        if (!absolute && getcwd(here, sizeof here) == NULL)
            return "the working directory, in which they would be kept, has no name";
        length =
            snprintf(directory, PATH_MAX, "%s%s%s", here, absolute ? "" : "/", config->directory);
    } else if (is_given(config->cache_home) && config->cache_home[0] == '/') {
        length = snprintf(directory, PATH_MAX, "%s/croft", config->cache_home);
    } else if (is_given(config->home) && config->home[0] == '/') {
        length = snprintf(directory, PATH_MAX, "%s/.cache/croft", config->home);
    } else if (is_given(config->cache_home) || is_given(config->home)) {
        return "neither the cache's home nor the user's is an absolute path";
    }
    if (length >= PATH_MAX) {
        directory[0] = '\0';
        return "the name of the directory in which they would be kept is too long";
    }
    while (length > 1 && directory[length - 1] == '/') /* or open would follow a link */
        directory[--length] = '\0';
    return NULL;
}

/* It and its parent (`.cache`), for the owner alone. A home that is not there is not made. 0, or
 * the errno that stood in the way first. */
static int make_directories(const char *directory) {
    char parent[PATH_MAX];
    int error = 0;
    strcpy(parent, directory);
    char *end = strrchr(parent, '/');
    *end = '\0';
    if (end != parent && mkdir(parent, 0700) != 0 && errno != EEXIST)
        error = errno;
    if (mkdir(directory, 0700) != 0 && errno != EEXIST && error == 0)
        error = errno;
    return error;
}

/* Writes what is wrong with an open directory; leaves "" where it may be used. */
static void look_at(const char *path, int directory, char why[CACHE_COMPLAINT_LIMIT]) {
    struct stat status;
    if (fstat(directory, &status) != 0)
        snprintf(why, CACHE_COMPLAINT_LIMIT, "%s: %s", path, strerror(errno));
    else if (status.st_uid != geteuid())
        snprintf(why, CACHE_COMPLAINT_LIMIT, "%s belongs to user %lu and not to this one, %lu",
                 path, (unsigned long)status.st_uid, (unsigned long)geteuid());
    else if ((status.st_mode & S_IWOTH) != 0)
        snprintf(why, CACHE_COMPLAINT_LIMIT, "%s is writable for everybody", path);
    else if ((status.st_mode & S_IWGRP) != 0)
        snprintf(why, CACHE_COMPLAINT_LIMIT, "%s is writable for a group", path);
}

int cache_directory_open(const runtime_cache *cache, bool make, char why[CACHE_COMPLAINT_LIMIT]) {
    const char *path = cache->directory;
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    struct stat status;
    why[0] = '\0';
    if (path[0] == '\0') {
        strcpy(why, cache->complaint);
        return -1;
    }
    int directory = open(path, flags), error = errno;
    if (directory < 0 && error == ENOENT) {
        if (!make)
            return -1;
        int made = make_directories(path);
        directory = open(path, flags);
        error = made != 0 ? made : errno;
    }
    if (directory >= 0) {
        look_at(path, directory, why);
        if (why[0] == '\0')
            return directory;
        close(directory);
        return -1;
    }
    bool link = lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
    snprintf(why, CACHE_COMPLAINT_LIMIT, link ? "%s is a symbolic link" : "%s: %s", path,
             strerror(error));
    return -1;
}

/* As cache_directory_open, for calls that go on without the cache: a complaint is noted. */
static int open_or_complain(runtime_cache *cache, bool make) {
    char why[CACHE_COMPLAINT_LIMIT];
    int directory = cache_directory_open(cache, make, why);
    if (why[0] != '\0')
        cache_complain(cache, "%s", why);
    return directory;
}

/* ---- complaints ---- */
void cache_complain(runtime_cache *cache, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    runtime_lock_take(&cache->lock);
    if (!cache->complained)
        vsnprintf(cache->complaint, sizeof cache->complaint, format, arguments);
    cache->complained = true;
    runtime_lock_give(&cache->lock);
    va_end(arguments);
}

bool runtime_cache_complaint(runtime_cache *cache, runtime_report *report) {
    runtime_lock_take(&cache->lock);
    bool tell = cache->complained && !cache->told;
    if (tell)
        runtime_report_set(report, RUNTIME_SYSTEM_FAILED, "compiled programs are not kept: %s",
                           cache->complaint);
    cache->told = cache->told || tell;
    runtime_lock_give(&cache->lock);
    return tell;
}

/* ---- locks ---- */
static bool set_lock(int file, short type, uint64_t hash) {
    struct flock lock = {.l_type = type,
                         .l_whence = SEEK_SET,
                         /* 62 bits: the end of the lock has to fit off_t too */
                         .l_start = (off_t)(hash >> 2),
                         .l_len = 1};
    return fcntl(file, F_OFD_SETLK, &lock) == 0;
}

static int64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int runtime_cache_lock(runtime_cache *cache, const runtime_cache_key *key, int limit_s) {
    int directory = open_or_complain(cache, true);
    if (directory < 0)
        return -1;
    int file = openat(directory, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    close(directory);
    if (file < 0)
        return -1;
    uint64_t hash = cache_key_hash(key);
    int64_t end_us = now_us() + (int64_t)limit_s * 1000000;
    for (long pause_us = PAUSE_LEAST_US; !set_lock(file, F_WRLCK, hash);) {
        if ((errno != EAGAIN && errno != EACCES && errno != EINTR) || now_us() >= end_us)
            break;
        nanosleep(&(struct timespec){.tv_nsec = pause_us * 1000}, NULL);
        pause_us = 2 * pause_us < PAUSE_MOST_US ? 2 * pause_us : PAUSE_MOST_US;
    }
    return file;
}

/* Unlocks before it closes: closing alone would leave the lock to a child that the host has forked
 * meanwhile, which has the same open file. */
void runtime_cache_unlock(int lock) {
    struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    if (lock < 0)
        return;
    (void)fcntl(lock, F_OFD_SETLK, &all);
    close(lock);
}

/* ---- finding and keeping ---- */
bool runtime_cache_find(runtime_cache *cache, const runtime_cache_key *key,
                        runtime_cache_found *found) {
    char name[RUNTIME_CACHE_NAME_LIMIT];
    struct stat status;
    cache_checked checked;
    int directory = open_or_complain(cache, false);
    if (directory < 0)
        return false;
    cache_entry_name(cache_key_hash(key), name);
    int file = cache_entry_open(directory, name, &status);
    close(directory);
    if (file < 0)
        return false;
    if (cache_entry_check(file, &status, key, &checked) != NULL || !checked.same) {
        close(file);
        return false;
    }
    (void)futimens(file, NULL); /* used now */
    *found = checked.program;
    return true;
}

/* Writes the entry under a name that no other file has; 0 or an errno. */
static int write_new(int directory, const runtime_cache_key *key, const void *program, size_t size,
                     char name[WRITTEN_NAME_LIMIT]) {
    int error = EEXIST;
    for (int i = 0; i < NAMES_LIMIT && error == EEXIST; i++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        unsigned long long number = (unsigned long long)now.tv_sec * 1000000000ull +
                                    (unsigned long long)now.tv_nsec +
                                    ((unsigned long long)getpid() << 40);
        snprintf(name, WRITTEN_NAME_LIMIT, "%016llx-%016llx.new",
                 (unsigned long long)cache_key_hash(key), number);
        error = cache_entry_write(directory, name, key, program, size);
    }
    return error;
}

void runtime_cache_keep(runtime_cache *cache, const runtime_cache_key *key, const void *program,
                        size_t size) {
    char written[WRITTEN_NAME_LIMIT], name[RUNTIME_CACHE_NAME_LIMIT];
    if (cache_entry_size(key, size) > cache->limit_bytes)
        return;
    int directory = open_or_complain(cache, true);
    if (directory < 0)
        return;
    cache_entry_name(cache_key_hash(key), name);
    int error = write_new(directory, key, program, size, written);
    if (error == 0 && renameat(directory, written, directory, name) != 0) {
        error = errno;
        unlinkat(directory, written, 0);
    }
    if (error != 0)
        cache_complain(cache, "cannot write to %s: %s", cache->directory, strerror(error));
    else
        cache_directory_shrink(directory, cache->limit_bytes, &(runtime_cache_removed){0});
    close(directory);
}

/* ---- the object ---- */
runtime_status runtime_cache_create(base_allocator allocator, const runtime_cache_config *config,
                                    runtime_cache **made) {
    char directory[PATH_MAX] = "";
    *made = NULL;
    const char *nowhere = place(config, directory);
    if (nowhere == NULL && directory[0] == '\0')
        return RUNTIME_OK;
    runtime_cache *cache = allocator.resize(allocator.context, NULL, 0, sizeof *cache);
    if (cache == NULL)
        return RUNTIME_NO_MEMORY;
    memset(cache, 0, sizeof *cache);
    cache->allocator = allocator;
    cache->limit_bytes =
        config->limit_bytes > 0 ? config->limit_bytes : RUNTIME_CACHE_DEFAULT_BYTES;
    strcpy(cache->directory, directory);
    if (nowhere != NULL)
        cache_complain(cache, "%s", nowhere);
    *made = cache;
    return RUNTIME_OK;
}

void runtime_cache_destroy(runtime_cache *cache) {
    if (cache == NULL)
        return;
    cache->allocator.resize(cache->allocator.context, cache, sizeof *cache, 0);
}

const char *runtime_cache_directory(const runtime_cache *cache) {
    return cache->directory;
}

int64_t runtime_cache_limit(const runtime_cache *cache) {
    return cache->limit_bytes;
}
