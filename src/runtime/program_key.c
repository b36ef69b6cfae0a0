/* Lines of a key: see the header. */
#include "runtime/program_key.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

/* The version of what a program and its caller agree on: its functions, their arguments, and what
 * the cache keeps beside it. To be raised by one when that changes while the source text of kernels
 * stays the same, or programs that were kept before would be called wrongly. */
enum { PROGRAM_INTERFACE = 1 };

void runtime_key_add(runtime_key *key, const char *format, ...) {
    size_t room = sizeof key->bytes - key->used;
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(key->bytes + key->used, room, format, arguments);
    va_end(arguments);
    if (written < 0 || (size_t)written >= room)
        key->full = true;
    else
        key->used += (size_t)written;
}

bool runtime_key_add_file(runtime_key *key, const char *what, const char *path) {
    char real[PATH_MAX];
    struct stat status;
    size_t begin = key->used;
    if (realpath(path, real) == NULL || stat(real, &status) != 0)
        return false;
    runtime_key_add(key,
                    "%s %s device %llu inode %llu size %lld modified %lld.%09ld changed "
                    "%lld.%09ld\n",
                    what, real, (unsigned long long)status.st_dev,
                    (unsigned long long)status.st_ino, (long long)status.st_size,
                    (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                    (long long)status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
    /* The compiler and what it starts may be one file: a line that is there already is dropped. */
    if (!key->full && strstr(key->bytes, key->bytes + begin) != key->bytes + begin) {
        key->used = begin;
        key->bytes[begin] = '\0';
    }
    return true;
}

bool runtime_key_end(runtime_key *key) {
    struct utsname system;
    if (uname(&system) != 0)
        return false;
    runtime_key_add(key, "interface %d, %s, pointers of %zu bytes\ntext\n", PROGRAM_INTERFACE,
                    system.machine, sizeof(void *));
    return !key->full;
}
