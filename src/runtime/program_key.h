/* The head of a program's key in the cache: what made it, as lines.
 *
 *     runtime_key key = {0};
 *     runtime_key_add(&key, "compiled by %s\n", path);
 *     runtime_key_add_file(&key, "file", path)        file /usr/bin/gcc device 65024 inode 1337 ...
 *     runtime_key_add_build(&key, "library", path)    library build 65be0db342ad51a0...
 *     runtime_key_end(&key)                           text
 */
#ifndef RUNTIME_PROGRAM_KEY_H
#define RUNTIME_PROGRAM_KEY_H

#include <stdbool.h>
#include <stddef.h>

enum { RUNTIME_KEY_LIMIT = 8192 };

typedef struct runtime_key {
    char bytes[RUNTIME_KEY_LIMIT]; /* NUL-terminated */
    size_t used;
    bool full; /* not all of it is there */
} runtime_key;

void runtime_key_add(runtime_key *key, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A file that has part in what is made: its path with links followed, device, inode, length, times
 * of modification and change. A file that is replaced has another inode, one that is overwritten
 * another time of change. Each line stands once. False where there is no such file. */
bool runtime_key_add_file(runtime_key *key, const char *what, const char *path);
/* A file that is the same wherever it lies: the build ID that its linker left in it (ELF, 64 bits,
 * as this machine counts bytes). Where it has none, as runtime_key_add_file. */
bool runtime_key_add_build(runtime_key *key, const char *what, const char *path);
/* Adds the last lines: the machine, and the version of what programs and their callers agree on.
 * False: the lines do not fit, and the program has no key. */
bool runtime_key_end(runtime_key *key);

#endif
