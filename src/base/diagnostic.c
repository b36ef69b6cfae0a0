/* Diagnostics: collecting and rendering.
 *
 *     ESC [31m in a source line     is shown as \x1b[31m: no input can drive the terminal
 *     a line of 3,000 columns       ...the part around the caret
 *
 * A source line is clipped around the caret. Nothing here sorts, or drops what stands twice.
 */
#include "base/diagnostic.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE_CLIP = 200, LENGTH_CLIP = 4096 };

base_location base_location_at(const base_source *source, size_t at, size_t length) {
    base_location place = {.source = source, .line = 1, .column = 1};
    for (size_t i = 0; i < at && i < source->length; i++) {
        place.column++;
        if (source->text[i] != '\n')
            continue;
        place.line++;
        place.column = 1;
    }
    size_t clipped = 0;
    while (clipped < length && at + clipped < source->length && clipped < LENGTH_CLIP &&
           source->text[at + clipped] != '\n')
        clipped++;
    place.length = (int32_t)clipped;
    return place;
}

void base_diagnostics_init(base_diagnostics *diagnostics, base_arena *arena) {
    memset(diagnostics, 0, sizeof *diagnostics);
    diagnostics->arena = arena;
}

static const char *format_in_arena(base_arena *arena, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = base_arena_alloc(arena, (size_t)(length > 0 ? length : 0) + 1);
    vsnprintf(text, (size_t)(length > 0 ? length : 0) + 1, format, again);
    va_end(again);
    return text;
}

/* The message first: where memory ends in the middle, no finding is left half made. */
base_diagnostic *base_diagnostics_add(base_diagnostics *diagnostics, const char *slug,
                                      base_location location, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    base_diagnostic made = {.slug = slug,
                            .location = location,
                            .message = format_in_arena(diagnostics->arena, format, arguments)};
    va_end(arguments);
    base_diagnostic *item;
    if (diagnostics->count < BASE_DIAGNOSTIC_LIMIT) {
        item = &diagnostics->items[diagnostics->count++];
    } else {
        item = BASE_NEW(diagnostics->arena, base_diagnostic);
        diagnostics->dropped++;
    }
    *item = made;
    return item;
}

const char *base_diagnostics_text(base_diagnostics *diagnostics, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_in_arena(diagnostics->arena, format, arguments);
    va_end(arguments);
    return text;
}

/* Writes bytes that a terminal can show, at most `limit` columns; returns the columns written. */
static int64_t append_visible(base_text *out, const char *bytes, size_t length, int64_t limit) {
    const unsigned char *p = (const unsigned char *)bytes;
    int64_t columns = 0;
    for (size_t i = 0; i < length && columns < limit;) {
        size_t n = base_utf8_length(bytes + i, length - i);
        if (p[i] == '\t') {
            base_text_append(out, " ", 1);
            columns += 1;
            i += 1;
        } else if (n == 0 || p[i] < 0x20 || p[i] == 0x7f ||
                   (n == 2 && p[i] == 0xc2 && p[i + 1] < 0xa0)) {
            base_text_format(out, "\\x%02x", p[i]);
            columns += 4;
            i += 1;
        } else {
            base_text_append(out, bytes + i, n);
            columns += 1;
            i += n;
        }
    }
    return columns;
}

static void append_field(base_text *out, const char *name, const char *value) {
    if (value == NULL)
        return;
    base_text_format(out, "  %s: ", name);
    append_visible(out, value, strlen(value), 400);
    base_text_string(out, "\n");
}

static void append_source_line(base_text *out, base_location at) {
    const char *text = at.source->text;
    const char *end = text + at.source->length;
    const char *line = text;
    for (int32_t i = 1; i < at.line; i++) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        if (next == NULL)
            return;
        line = next + 1;
    }
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    int64_t length = (stop != NULL ? stop : end) - line;
    int64_t caret = at.column > 0 ? at.column - 1 : 0;
    if (caret > length)
        caret = length;
    int64_t from = caret > LINE_CLIP / 2 && length > LINE_CLIP ? caret - LINE_CLIP / 2 : 0;
    base_text_format(out, "%5d | ", (int)at.line);
    int64_t before = from > 0 ? 3 : 0;
    if (from > 0)
        base_text_string(out, "...");
    before += append_visible(out, line + from, (size_t)(caret - from), LINE_CLIP);
    int64_t after = append_visible(out, line + caret, (size_t)(length - caret), LINE_CLIP - before);
    base_text_string(out, "\n      | ");
    for (int64_t i = 0; i < before; i++)
        base_text_append(out, " ", 1);
    int64_t marks = at.length > 1 ? at.length : 1;
    if (marks > after)
        marks = after > 1 ? after : 1;
    for (int64_t i = 0; i < marks; i++)
        base_text_append(out, "^", 1);
    base_text_string(out, "\n");
}

void base_diagnostic_render(base_text *out, const base_diagnostic *diagnostic) {
    base_location at = diagnostic->location;
    if (at.source != NULL) {
        append_visible(out, at.source->name, strlen(at.source->name), 1000);
        if (at.line > 0)
            base_text_format(out, ":%d:%d", (int)at.line, (int)at.column);
        base_text_string(out, ": ");
    }
    base_text_string(out, "error: ");
    append_visible(out, diagnostic->message, strlen(diagnostic->message), 400);
    base_text_format(out, " [%s]\n", diagnostic->slug);
    if (at.source != NULL && at.line > 0)
        append_source_line(out, at);
    append_field(out, "found", diagnostic->found);
    append_field(out, "expected", diagnostic->expected);
    append_field(out, "hint", diagnostic->hint);
}

void base_diagnostics_render(base_text *out, const base_diagnostics *diagnostics) {
    for (int i = 0; i < diagnostics->count; i++)
        base_diagnostic_render(out, &diagnostics->items[i]);
    if (diagnostics->dropped > 0)
        base_text_format(out, "and %lld more\n", (long long)diagnostics->dropped);
}
