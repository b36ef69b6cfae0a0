/* Diagnostics as data: what is wrong, where, what was found, what was expected, and a hint.
 *
 *     examples/bad.croft:3:9: error: unknown name `z` [unknown-name]
 *      3 |     t = z[row, :]
 *        |         ^
 *       found: z
 *       expected: a parameter or a name defined above
 *       hint: parameters are x, y
 */
#ifndef BASE_DIAGNOSTIC_H
#define BASE_DIAGNOSTIC_H

#include "base/text.h"

enum { BASE_DIAGNOSTIC_LIMIT = 20 };

/* A text that locations point into. Lives at least as long as the diagnostics and IR made from it.
 */
typedef struct base_source {
    const char *name; /* file name as the user gave it, or "<string>" */
    const char *text;
    size_t length; /* bytes; the text may hold NUL bytes */
} base_source;

/* line and column are 1-based, column and length in bytes; line 0 = no location. */
typedef struct base_location {
    const base_source *source;
    int32_t line;
    int32_t column;
    int32_t length;
} base_location;

/* Of `length` bytes of a source from byte `at` on, as far as they are of one line. */
base_location base_location_at(const base_source *source, size_t at, size_t length);

typedef struct base_diagnostic {
    const char *slug; /* stable kebab-case id, static string */
    base_location location;
    const char *message;
    const char *found;    /* NULL when there is none */
    const char *expected; /* NULL when there is none */
    const char *hint;     /* NULL when there is none */
} base_diagnostic;

typedef struct base_diagnostics {
    base_arena *arena;
    base_diagnostic items[BASE_DIAGNOSTIC_LIMIT];
    int count;
    int64_t dropped; /* findings past the limit */
} base_diagnostics;

void base_diagnostics_init(base_diagnostics *diagnostics, base_arena *arena);

/* Adds a finding and returns it so that found, expected and hint can be set (texts of the arena or
 * static). Past the limit the finding is counted and a scratch record returned. */
base_diagnostic *base_diagnostics_add(base_diagnostics *diagnostics, const char *slug,
                                      base_location location, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Formats into the diagnostics' arena: for found, expected, hint. */
const char *base_diagnostics_text(base_diagnostics *diagnostics, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Human form, source line clipped to 200 columns around the caret; control bytes and invalid UTF-8
 * shown as escapes. */
void base_diagnostic_render(base_text *out, const base_diagnostic *diagnostic);
void base_diagnostics_render(base_text *out, const base_diagnostics *diagnostics);

#endif
