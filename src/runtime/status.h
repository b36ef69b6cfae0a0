/* What every runtime call answers: a status, and a report for people.
 *
 * A report is plain memory of the caller, so a failure can be told even when no memory is left.
 * Resource trouble is a status here; bad input was refused before the runtime is reached.
 */
#ifndef RUNTIME_STATUS_H
#define RUNTIME_STATUS_H

#include <stdbool.h>

typedef enum runtime_status {
    RUNTIME_OK,
    RUNTIME_NO_COMPILER,    /* none found, or the one named cannot be executed */
    RUNTIME_COMPILE_FAILED, /* it ran and failed, or was killed */
    RUNTIME_LOAD_FAILED,    /* the result cannot be loaded, or lacks a function */
    RUNTIME_NO_MEMORY,
    RUNTIME_NO_DEVICE,        /* no driver, or no device behind it */
    RUNTIME_OUT_OF_RESOURCES, /* threads, scratch or registers: the report has required and
                                 available; nothing was cached or launched */
    RUNTIME_SYSTEM_FAILED,    /* no usable temporary directory, no process, a write that failed */
} runtime_status;

enum { RUNTIME_REPORT_LIMIT = 16384 };

/* The text is always NUL-terminated and cut at the limit. On failure it gives the reason; on
 * success it holds what the compiler printed (warnings), mostly nothing. */
typedef struct runtime_report {
    runtime_status status;
    bool from_cache; /* of a load: the program was not compiled now (cache.h) */
    bool spilled;    /* of a load that failed: its registers spill, another plan may fit */
    char text[RUNTIME_REPORT_LIMIT];
} runtime_report;

/* Sets status and text; returns the status. */
runtime_status runtime_report_set(runtime_report *report, runtime_status status, const char *format,
                                  ...) __attribute__((format(printf, 3, 4)));

/* Adds to the text, up to the limit. */
void runtime_report_add(runtime_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
