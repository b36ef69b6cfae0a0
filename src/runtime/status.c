/* Reports: bounded formatting into the caller's memory. */
#include "runtime/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

runtime_status runtime_report_set(runtime_report *report, runtime_status status, const char *format,
                                  ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(report->text, sizeof report->text, format, arguments);
    va_end(arguments);
    report->status = status;
    report->spilled = false;
    return status;
}

void runtime_report_add(runtime_report *report, const char *format, ...) {
    size_t used = strlen(report->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(report->text + used, sizeof report->text - used, format, arguments);
    va_end(arguments);
}
