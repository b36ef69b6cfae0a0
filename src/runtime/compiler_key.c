/* By what a compiled program is known in the cache, besides its text.
 *
 *     compiled by /usr/bin/cc
 *     interface 1, x86_64, pointers of 8 bytes
 *     file /usr/bin/x86_64-linux-gnu-gcc-12 device 65024 inode 1337 size 1277336 modified ...
 *     as /usr/bin/x86_64-linux-gnu-as device ...          what it may start, or be a script for
 *     flag -std=gnu11 ...
 *     text
 *
 * An executable that is replaced has another inode, one that is overwritten another time of change.
 * What a script or a compiler's driver starts is known by its usual names only.
 */
#include "runtime/compiler_internal.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

/* Of the functions that the emitted text has, and of what they are given: one more whenever they
 * change so that the text alone does not show it. */
enum { PROGRAM_INTERFACE = 1 };

static const char *const started[] = {"as", "ld", "cc", "gcc", "clang"};

typedef struct key_lines {
    char *bytes;
    size_t used;
    bool good;
} key_lines;

__attribute__((format(printf, 2, 3))) static void add(key_lines *lines, const char *format, ...) {
    size_t room = COMPILER_KEY_LIMIT - lines->used;
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(lines->bytes + lines->used, room, format, arguments);
    va_end(arguments);
    if (written < 0 || (size_t)written >= room)
        lines->good = false;
    else
        lines->used += (size_t)written;
}

/* Once. False where there is no such file. */
static bool add_file(key_lines *lines, const char *what, const char *path) {
    char real[PATH_MAX];
    struct stat status;
    size_t begin = lines->used;
    if (realpath(path, real) == NULL || stat(real, &status) != 0)
        return false;
    add(lines, "%s %s device %llu inode %llu size %lld modified %lld.%09ld changed %lld.%09ld\n",
        what, real, (unsigned long long)status.st_dev, (unsigned long long)status.st_ino,
        (long long)status.st_size, (long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
        (long long)status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
    if (lines->good && strstr(lines->bytes, lines->bytes + begin) != lines->bytes + begin) {
        lines->used = begin;
        lines->bytes[begin] = '\0';
    }
    return true;
}

/* In each of the directories, as it is not known which one is taken. */
static void add_started(key_lines *lines, const char *directories) {
    for (const char *entry = directories;; entry++) {
        int length = (int)strcspn(entry, ":");
        for (size_t i = 0; i < sizeof started / sizeof started[0]; i++) {
            char path[PATH_MAX];
            if (snprintf(path, sizeof path, "%.*s/%s", length, entry, started[i]) < PATH_MAX)
                (void)add_file(lines, started[i], path);
        }
        entry += length;
        if (*entry == '\0')
            return;
    }
}

bool compiler_key_write(char key[COMPILER_KEY_LIMIT], const char *compiler, const char *directories,
                        const char *const *flags, int flag_count) {
    key_lines lines = {.bytes = key, .good = true};
    struct utsname system;
    if (uname(&system) != 0)
        return false;
    add(&lines, "compiled by %s\n", compiler);
    add(&lines, "interface %d, %s, pointers of %zu bytes\n", PROGRAM_INTERFACE, system.machine,
        sizeof(void *));
    if (!add_file(&lines, "file", compiler))
        return false;
    add_started(&lines, directories);
    for (int i = 0; i < flag_count; i++)
        add(&lines, "flag %s\n", flags[i]);
    add(&lines, "text\n");
    return lines.good;
}
