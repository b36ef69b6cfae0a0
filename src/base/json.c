/* JSON: commas, lines and escapes.
 *
 *     {"owners": {"thread": [0, 1, 2], "slot": [0, 0, 0]}}
 *
 * Each open container remembers whether it holds something, which decides the comma, and whether
 * its last value began a line, which decides where its bracket closes.
 */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

base_json base_json_begin(base_text *out) {
    return (base_json){.out = out};
}

base_json base_json_begin_part(base_text *out, int depth, bool is_array) {
    base_json json = {.out = out, .depth = depth};
    json.levels[depth].is_array = is_array;
    return json;
}

/* The first value of a part brings no comma. */
void base_json_append(base_json *json, const base_json *part) {
    const base_json_level *from = &part->levels[part->depth];
    base_json_level *level = &json->levels[json->depth];
    if (!from->filled)
        return;
    if (level->filled)
        base_text_string(json->out, from->broken ? "," : ", ");
    base_text_string(json->out, part->out->bytes);
    level->filled = true;
    level->broken = from->broken;
}

static void new_line(base_json *json, int depth) {
    base_text_string(json->out, "\n");
    for (int i = 0; i < depth; i++)
        base_text_string(json->out, "  ");
}

/* Everything before a value: comma, line, key. */
static void begin_value(base_json *json, const char *key, bool is_container) {
    base_json_level *level = &json->levels[json->depth];
    if (json->depth == 0)
        return;
    if (level->filled)
        base_text_string(json->out, ",");
    bool broken = !level->is_array || is_container;
    if (broken)
        new_line(json, json->depth);
    else if (level->filled)
        base_text_string(json->out, " ");
    level->filled = true;
    level->broken = broken;
    if (key != NULL)
        base_text_format(json->out, "\"%s\": ", key);
}

static void open_container(base_json *json, const char *key, bool is_array) {
    begin_value(json, key, true);
    base_text_string(json->out, is_array ? "[" : "{");
    json->levels[++json->depth] = (base_json_level){.is_array = is_array};
}

void base_json_object(base_json *json, const char *key) {
    open_container(json, key, false);
}

void base_json_array(base_json *json, const char *key) {
    open_container(json, key, true);
}

void base_json_close(base_json *json) {
    base_json_level level = json->levels[json->depth--];
    if (level.broken)
        new_line(json, json->depth);
    base_text_string(json->out, level.is_array ? "]" : "}");
    if (json->depth == 0)
        base_text_string(json->out, "\n");
}

static void append_escaped(base_text *out, const char *value) {
    size_t length = strlen(value);
    for (size_t i = 0; i < length;) {
        unsigned char c = (unsigned char)value[i];
        size_t bytes = base_utf8_length(value + i, length - i);
        if (c == '"' || c == '\\')
            base_text_format(out, "\\%c", c);
        else if (c == '\n')
            base_text_string(out, "\\n");
        else if (bytes == 0)
            base_text_string(out, "\\ufffd");
        else if (c < 0x20 || c == 0x7f)
            base_text_format(out, "\\u%04x", c);
        else
            base_text_append(out, value + i, bytes);
        i += bytes > 0 ? bytes : 1;
    }
}

void base_json_string(base_json *json, const char *key, const char *value) {
    if (value == NULL) {
        base_json_null(json, key);
        return;
    }
    begin_value(json, key, false);
    base_text_string(json->out, "\"");
    append_escaped(json->out, value);
    base_text_string(json->out, "\"");
}

void base_json_integer(base_json *json, const char *key, int64_t value) {
    begin_value(json, key, false);
    base_text_format(json->out, "%" PRId64, value);
}

void base_json_real(base_json *json, const char *key, double value) {
    if (!isfinite(value)) {
        base_json_null(json, key);
        return;
    }
    begin_value(json, key, false);
    base_text_double(json->out, value);
}

void base_json_number(base_json *json, const char *key, double value) {
    if (isfinite(value))
        base_json_real(json, key, value);
    else
        base_json_string(json, key, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

void base_json_hash(base_json *json, const char *key, uint64_t value) {
    begin_value(json, key, false);
    base_text_format(json->out, "\"%016" PRIx64 "\"", value);
}

void base_json_digits(base_json *json, const char *key, const char *digits) {
    begin_value(json, key, false);
    base_text_string(json->out, digits);
}

void base_json_bool(base_json *json, const char *key, bool value) {
    begin_value(json, key, false);
    base_text_string(json->out, value ? "true" : "false");
}

void base_json_null(base_json *json, const char *key) {
    begin_value(json, key, false);
    base_text_string(json->out, "null");
}
