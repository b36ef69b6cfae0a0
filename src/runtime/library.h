/* Shared libraries that are opened when they are used: a list of names in a list of directories.
 *
 *     {"libcuda.so.1"} in {"", "/usr/local/nvidia/lib64/"} -> the first that the loader takes
 *
 * They stay mapped after they are closed, since drivers keep threads of their own.
 */
#ifndef RUNTIME_LIBRARY_H
#define RUNTIME_LIBRARY_H

#include "runtime/status.h"

#include <limits.h>
#include <stdbool.h>

typedef struct runtime_library_search {
    const char *given;                             /* the only path to try; NULL: the names */
    const char *const *names, *const *directories; /* up to NULL; "" = the loader's own search */
} runtime_library_search;

/* Tries candidate `*next` and those behind it; NULL when none is left. What was tried and why it
 * failed is added to the report. Closed with dlclose. */
void *runtime_library_open(const runtime_library_search *search, int *next, char path[PATH_MAX],
                           runtime_report *report);
/* A function by its name; false, with the name in the report, when it is not there. */
bool runtime_library_function(void *library, const char *symbol, void *function,
                              runtime_report *report);

#endif
