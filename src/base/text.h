/* Text: a growing string in an arena, and numbers that print the same in every locale. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/arena.h"

#include <stdbool.h>

typedef struct base_text {
    base_arena *arena;
    char *bytes; /* NUL-terminated; never NULL after the first append */
    int64_t length;
    int64_t capacity;
} base_text;

void base_text_init(base_text *text, base_arena *arena);
void base_text_append(base_text *text, const char *bytes, size_t length);
void base_text_string(base_text *text, const char *string);

/* printf without floating conversions: those depend on the locale (use base_text_double). */
void base_text_format(base_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Shortest decimal text that reads back as the same double; `inf`, `-inf`, `nan`. Always has a '.',
 * an exponent, or is one of those words; whole numbers below a million have no exponent. */
void base_text_double(base_text *text, double value);
void base_number_print(char out[40], double value);
/* The same for a float: the shortest that a float reads back. */
void base_text_float(base_text *text, float value);

/* Reads a whole string as a number; '.' is the point in every locale. Decimal, or hexadecimal float
 * (0x1.8p3). False when the text is not wholly a number. */
bool base_number_parse(const char *text, size_t length, double *value);

/* Bytes of the UTF-8 sequence at `text`, of which `left` >= 1 may be read; 0 when it is not valid.
 */
size_t base_utf8_length(const char *text, size_t left);

#endif
