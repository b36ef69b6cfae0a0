/* The parts of the system C compiler: compiler.c starts it and loads what it makes, compiler_key.c
 * says by what its programs are known in the cache. */
#ifndef RUNTIME_COMPILER_INTERNAL_H
#define RUNTIME_COMPILER_INTERNAL_H

#include "runtime/compiler.h"

enum { COMPILER_KEY_LIMIT = 8192 };

/* Everything that a program depends on besides its text, as lines. No process is started: of an
 * executable that is its file. `compiler`: its absolute path; `directories`: where it looks for
 * what it starts, as in PATH. False: the compiler cannot be looked at, or there is too much to
 * say; then programs have no key. */
bool compiler_key_write(char key[COMPILER_KEY_LIMIT], const char *compiler, const char *directories,
                        const char *const *flags, int flag_count);

#endif
