/* The system C compiler: find it, start it, load what it made.
 *
 *     source text -> PRIVATE/kernel.c -> cc -> PRIVATE/kernel.so -> dlopen -> PRIVATE removed
 *     key of the text -> the cache --------> PRIVATE/kernel.so -> dlopen -> PRIVATE removed
 *
 * PRIVATE is a fresh directory of mode 0700. It also is the compiler's TMPDIR, so nothing of a
 * killed compiler stays. The library never reads the environment: a PATH comes in the config.
 */
#ifndef RUNTIME_COMPILER_H
#define RUNTIME_COMPILER_H

#include "runtime/cache.h"

#include <limits.h>
#include <stddef.h>

/* Also how long a process waits for another that compiles the same program. */
enum { RUNTIME_COMPILER_DEFAULT_S = 600 };

/* The texts belong to the caller and are read during each call. Zeroed = search in /usr/local/bin
 * and /usr/bin, temporary files in /tmp, no extra flags. */
typedef struct runtime_compiler_config {
    /* A path, or a bare name to look for; only this compiler is then tried. NULL: cc, gcc, clang,
     * the first of them that is found. */
    const char *compiler;
    /* The directories to look in, as in PATH; entries that are not absolute are passed over. NULL
     * (PATH unset): /usr/local/bin and /usr/bin. */
    const char *path;
    /* Tried first; then /tmp, /dev/shm, /var/tmp. A directory that is not writable, has too little
     * space or forbids execution is passed over. NULL: none. */
    const char *temporary_directory;
    /* Flags put after all others, NULL-terminated. NULL: none. */
    const char *const *extra_flags;
    /* A compiler that has not ended after so many seconds is killed. 0: the default. */
    int time_limit_s;
    /* Where programs are kept, and looked for before a compiler is started; NULL: nowhere. With
     * extra flags it is not used: they may name files, and a key does not say what is in those. */
    runtime_cache *cache;
} runtime_compiler_config;

/* Writes the absolute path of the compiler. RUNTIME_NO_COMPILER: the report says where it looked.
 */
runtime_status runtime_compiler_find(const runtime_compiler_config *config, char path[PATH_MAX],
                                     runtime_report *report);

/* Compiles C text into a shared object and loads it (RTLD_NOW, RTLD_LOCAL). `flags` are those of
 * the target, such as -mavx2, NULL-terminated; NULL: none. Floating arithmetic keeps its meaning:
 * contraction off, NaN, infinities and signed zeros as written; errno and traps are not kept.
 * A program of the cache is loaded without starting the compiler. The compiler must exist even
 * then, as its file is part of the key. The report says from_cache, and has no warnings.
 * On success *library is to be closed with runtime_library_close. On failure nothing is loaded;
 * in either case no file stays behind. The calling process needs no special signal set-up. */
runtime_status runtime_compiler_build(const runtime_compiler_config *config, const char *source,
                                      size_t length, const char *const *flags, void **library,
                                      runtime_report *report);

/* The address of a function of the library, NULL when it has none of that name. */
void *runtime_library_symbol(void *library, const char *name);

/* Nothing of the library may be running. NULL is allowed. */
void runtime_library_close(void *library);

#endif
