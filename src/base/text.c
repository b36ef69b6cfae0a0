/* Text: appends into an arena; numbers independent of the locale.
 *
 *     0.1, in a locale that writes 0,1      prints "0.1", with the fewest digits that read back
 *     2                                     prints "2.0": a float never looks like an integer
 *
 * The C library does the conversions; only its decimal point is exchanged, both ways.
 */
#include "base/text.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void base_text_init(base_text *text, base_arena *arena) {
    *text = (base_text){.arena = arena};
    base_text_append(text, "", 0);
}

void base_text_append(base_text *text, const char *bytes, size_t length) {
    text->bytes = base_arena_grow(text->arena, text->bytes, text->length, &text->capacity,
                                  text->length + (int64_t)length + 1, 1);
    if (length > 0)
        memcpy(text->bytes + text->length, bytes, length);
    text->length += (int64_t)length;
    text->bytes[text->length] = '\0';
}

void base_text_string(base_text *text, const char *string) {
    base_text_append(text, string, strlen(string));
}

void base_text_format(base_text *text, const char *format, ...) {
    char small[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(small, sizeof small, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    if ((size_t)length < sizeof small) {
        base_text_append(text, small, (size_t)length);
        return;
    }
    char *large = base_arena_alloc(text->arena, (size_t)length + 1);
    va_start(arguments, format);
    vsnprintf(large, (size_t)length + 1, format, arguments);
    va_end(arguments);
    base_text_append(text, large, (size_t)length);
}

/* The locale's decimal point, replaced by '.'. */
static void number_normalise(char *text) {
    const char *point = localeconv()->decimal_point;
    size_t length = strlen(point);
    char *found = length > 0 ? strstr(text, point) : NULL;
    if (found != NULL) {
        *found = '.';
        memmove(found + 1, found + length, strlen(found + length) + 1);
    }
}

bool base_number_parse(const char *text, size_t length, double *value) {
    char copy[512];
    if (length == 0 || length >= 400)
        return false;
    const char *point = localeconv()->decimal_point;
    size_t written = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '.') {
            for (const char *p = point; *p != '\0' && written < sizeof copy - 2; p++)
                copy[written++] = *p;
        } else if (text[i] == '\0' || text[i] == ' ' || text[i] == '\n' || text[i] == '\t') {
            return false;
        } else if (written < sizeof copy - 2) {
            copy[written++] = text[i];
        }
    }
    copy[written] = '\0';
    char *end = NULL;
    *value = strtod(copy, &end);
    return end == copy + written;
}

/* The shortest that reads back the same, as a double or as a float. */
static void number_print(char out[40], double value, bool is_float) {
    if (isnan(value)) {
        strcpy(out, "nan");
        return;
    }
    if (isinf(value)) {
        strcpy(out, value > 0 ? "inf" : "-inf");
        return;
    }
    if (value == rint(value) && fabs(value) < 1e6) { /* 10.0, not 1e+01 */
        snprintf(out, 40, "%.1f", value);
        number_normalise(out);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        double back = 0;
        snprintf(out, 40, "%.*g", digits, value);
        number_normalise(out);
        bool read = base_number_parse(out, strlen(out), &back);
        if (read && (back == value || (is_float && (float)back == (float)value)))
            break;
    }
    if (strpbrk(out, ".e") == NULL)
        strcat(out, ".0");
}

void base_number_print(char out[40], double value) {
    number_print(out, value, false);
}

void base_text_float(base_text *text, float value) {
    char number[40];
    number_print(number, (double)value, true);
    base_text_string(text, number);
}

void base_text_double(base_text *text, double value) {
    char number[40];
    base_number_print(number, value);
    base_text_string(text, number);
}

size_t base_utf8_length(const char *text, size_t left) {
    const unsigned char *p = (const unsigned char *)text;
    size_t need = p[0] < 0x80                   ? 1
                  : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
                  : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
                  : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                                : 0;
    if (need == 0 || need > left)
        return 0;
    for (size_t i = 1; i < need; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if (need == 3 && ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f)))
        return 0;
    if (need == 4 && ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)))
        return 0;
    return need;
}
