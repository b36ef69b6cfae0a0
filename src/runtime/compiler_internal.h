/* The parts of the system C compiler's use.
 *
 *     compiler.c            finds it, makes its arguments and the program's key, uses the cache
 *     compiler_directory.c  the private directory of one compilation
 *     compiler_process.c    starts it, reads what it prints, ends it when it takes too long
 */
#ifndef RUNTIME_COMPILER_INTERNAL_H
#define RUNTIME_COMPILER_INTERNAL_H

#include "runtime/compiler.h"

/* The private directory, and the two files in it that are known by name. */
typedef struct compiler_directory {
    char path[PATH_MAX];
    char source[PATH_MAX + 16];
    char library[PATH_MAX + 16];
} compiler_directory;

/* ---- compiler_directory.c ---- */
/* Makes the directory (0700) and writes the source. RUNTIME_SYSTEM_FAILED: no directory for
 * temporary files can be used; the report says why. */
runtime_status compiler_directory_make(const runtime_compiler_config *config, const char *source,
                                       size_t length, compiler_directory *made,
                                       runtime_report *report);
void compiler_directory_remove(const compiler_directory *made);

/* ---- compiler_process.c ---- */
enum { COMPILER_PATH_LIMIT = PATH_MAX + 32 };

/* The directories, separated by colons, in which a compiler looks for what it starts (assembler,
 * linker): its own and those of the system. */
void compiler_path_list(const char *compiler, char directories[COMPILER_PATH_LIMIT]);
/* Runs arguments[0], whose output goes into the report. RUNTIME_OK: the library is there. */
runtime_status compiler_run(const char *const *arguments, const compiler_directory *directory,
                            int limit_s, runtime_report *report);

#endif
