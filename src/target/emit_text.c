/* Lines of the emitted text, and the source lines that they come from.
 *
 *     // softmax.croft:4   m = max(t)
 *     f32x8 m_0 = z;
 *
 * A comment stands once, before the first line that its op writes. While a run is open
 * (emit_runs.c) lines are those of the run's loop; what every register has alike is written before
 * it. */
#include "target/emitter_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *format_text(base_arena *arena, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = base_arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

const char *target_emit_text(const target_emitter *emitter, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_text(emitter->arena, format, arguments);
    va_end(arguments);
    return text;
}

static void append_to(base_text *out, int depth, const char *text) {
    for (int i = 0; i < depth; i++)
        base_text_string(out, "    ");
    base_text_string(out, text);
    base_text_string(out, "\n");
}

enum { COMMENT_COLUMNS = 90 };

/* Source text for a `//` comment: one line, printable, without a `#` comment of its own, and never
 * ending in something that continues the line. */
static const char *comment_text(const target_emitter *emitter, const char *text, size_t length) {
    char clean[COMMENT_COLUMNS + 4];
    size_t written = 0;
    while (length > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        length--;
    }
    for (size_t i = 0; i < length && text[i] != '#' && text[i] != '\n'; i++) {
        if (written == COMMENT_COLUMNS) {
            memcpy(clean + written, "...", 3);
            written += 3;
            break;
        }
        bool printable = text[i] >= 0x20 && text[i] < 0x7f && text[i] != '\\' && text[i] != '?';
        clean[written++] = text[i] == '\t' ? ' ' : printable ? text[i] : '.';
    }
    while (written > 0 && clean[written - 1] == ' ')
        written--;
    return base_arena_copy(emitter->arena, clean, written);
}

static void find_lines(target_emitter *e, const base_source *source) {
    const char *text = source->text, *end = text + source->length;
    e->lines_of = source;
    e->line_count = 0;
    while (text != NULL && text < end) {
        BASE_PUSH(e->arena, e->lines, e->line_count, e->line_capacity, text);
        text = memchr(text, '\n', (size_t)(end - text));
        text = text != NULL ? text + 1 : NULL;
    }
}

/* The source line of the ops that follow, once, before the first line that they write. */
static void append_comment(target_emitter *e) {
    base_location location = e->pending;
    e->pending.line = 0;
    if (location.source == NULL || location.line <= 0 || location.line == e->comment_line)
        return;
    e->comment_line = location.line;
    if (e->lines_of != location.source)
        find_lines(e, location.source);
    const char *end = location.source->text + location.source->length;
    const char *text = location.line <= e->line_count ? e->lines[location.line - 1] : end;
    const char *name = location.source->name;
    append_to(&e->body, e->depth,
              target_emit_text(e, "// %s:%d   %s", comment_text(e, name, strlen(name)),
                               (int)location.line, comment_text(e, text, (size_t)(end - text))));
}

static void append_to_body(target_emitter *e, const char *text) {
    append_comment(e);
    append_to(&e->body, e->depth, text);
}

void target_emit_line(target_emitter *emitter, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_text(emitter->arena, format, arguments);
    va_end(arguments);
    if (emitter->run.open && emitter->run.outside)
        append_to(&emitter->run.before, emitter->depth - 1, text);
    else
        append_to_body(emitter, text);
}

void target_emit_outside(target_emitter *emitter, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_text(emitter->arena, format, arguments);
    va_end(arguments);
    if (emitter->run.open)
        append_to(&emitter->run.before, emitter->depth - 1, text);
    else
        append_to_body(emitter, text);
}
