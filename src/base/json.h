/* JSON: a writer for reports that other programs read.
 *
 *     base_json json = base_json_begin(&text);
 *     base_json_object(&json, NULL);
 *     base_json_string(&json, "name", "bits");             {
 *     base_json_array(&json, "size");                        "name": "bits",
 *     base_json_integer(&json, NULL, 64);                    "size": [64]
 *     base_json_close(&json);                              }
 *     base_json_close(&json);
 *
 * Members of an object stand on lines of their own, numbers of an array on one. Keys are static
 * texts without signs that need escapes; a key is NULL in an array and for the outermost value. It
 * does not read JSON.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/text.h"

enum { BASE_JSON_DEPTH = 16 }; /* containers inside one another */

typedef struct base_json_level {
    bool is_array, filled, broken; /* broken: the last value stands on a line of its own */
} base_json_level;

typedef struct base_json {
    base_text *out;
    int depth;
    base_json_level levels[BASE_JSON_DEPTH + 1];
} base_json;

base_json base_json_begin(base_text *out);

/* For what stands in a container that is opened later: members of an object, or elements of an
 * array, `depth` containers deep. base_json_append puts them there, in the place of the next value
 * of that container; the part has none open. */
base_json base_json_begin_part(base_text *out, int depth, bool is_array);
void base_json_append(base_json *json, const base_json *part);

/* Opens a container; base_json_close closes the innermost one. */
void base_json_object(base_json *json, const char *key);
void base_json_array(base_json *json, const char *key);
void base_json_close(base_json *json);

/* Bytes that are no UTF-8 become U+FFFD. NULL gives null. */
void base_json_string(base_json *json, const char *key, const char *value);
void base_json_integer(base_json *json, const char *key, int64_t value);
/* Infinite values and NaN, which JSON has not, give null. */
void base_json_real(base_json *json, const char *key, double value);
/* The same, but as the texts "inf", "-inf" and "nan". */
void base_json_number(base_json *json, const char *key, double value);
/* 16 hexadecimal digits, as a text. */
void base_json_hash(base_json *json, const char *key, uint64_t value);
/* A number that is written already: digits, point and exponent as JSON has them. */
void base_json_digits(base_json *json, const char *key, const char *digits);
void base_json_bool(base_json *json, const char *key, bool value);
void base_json_null(base_json *json, const char *key);

#endif
