/* Arrays of the command: whole arrays in memory, C order, owned.
 *
 *     f32[2, 3]  ->  dtype BASE_F32, rank 2, extent {2, 3}, count 6, size_bytes 24
 *
 * An array may stand between two guard zones, which tell whether somebody wrote past its ends. It
 * has no strides and is never a view: those are the library's.
 */
#ifndef CLI_ARRAY_H
#define CLI_ARRAY_H

#include "base/diagnostic.h"
#include "base/dtype.h"
#include "base/json.h"

enum { CLI_RANK_LIMIT = 4, CLI_ARRAY_ALIGN = 64 };

typedef struct cli_array {
    base_dtype dtype;
    int rank;
    int64_t extent[CLI_RANK_LIMIT];
    int64_t count;      /* elements */
    int64_t size_bytes; /* of the elements, without guards */
    void *data;   /* aligned to CLI_ARRAY_ALIGN unless moved; not NULL, even with no elements */
    void *memory; /* what is freed */
    int64_t guard_bytes;
} cli_array;

/* The product of the extents, 0 when one is 0. False when an extent is negative or when the product
 * of those that are not 0, in bytes of the largest element, passes 64 bits. */
bool cli_shape_count(int rank, const int64_t *extent, int64_t *count);

/* Makes an array of zeros with guard zones of at least `guard_bytes` (0: none) on both sides.
 * `what` names it in diagnostics (array-shape, array-memory). On failure *array is zeroed. Freed
 * with cli_array_free. */
bool cli_array_create(cli_array *array, base_dtype dtype, int rank, const int64_t *extent,
                      int64_t guard_bytes, const char *what, base_diagnostics *diagnostics);

/* The same array begins so many elements past an aligned address, with guard zones of at least
 * `guard_bytes`. False with a finding (array-shape, array-memory), and then as it was. */
bool cli_array_move(cli_array *array, int64_t elements, int64_t guard_bytes, const char *what,
                    base_diagnostics *diagnostics);

/* Also of a zeroed array; leaves it zeroed. */
void cli_array_free(cli_array *array);

/* Sets every bit of the elements: NaN in floats, and no legal bool. What is left so after a launch
 * was not written. */
void cli_array_fill_unwritten(cli_array *array);

/* Whether the guard zones are as they were made. True when there are none. */
bool cli_array_guards_intact(const cli_array *array);

/* One element, by its index in C order. Integers past 2^53 are rounded by the double form. The
 * integer form is for integer types and bool. */
double cli_array_get(const cli_array *array, int64_t index);
int64_t cli_array_get_integer(const cli_array *array, int64_t index);

/* Floats are rounded once, to nearest even. For other types the value must be one of the type
 * (base_dtype_holds). */
void cli_array_set(cli_array *array, int64_t index, double value);
void cli_array_set_integer(cli_array *array, int64_t index, int64_t value);

/* The shortest decimal text that reads back as the element: `0.1` for the f32 nearest to it. */
void cli_array_print_element(base_text *out, const cli_array *array, int64_t index);

enum { CLI_VALUES_LIMIT = 1000 }; /* elements that are shown of an array */
/* Members dtype, shape, strides (in elements), elements, bytes. */
void cli_array_facts_json(base_json *json, const cli_array *array);
/* The member `values`: the first elements in C order; "inf", "-inf", "nan" are texts. */
void cli_array_values_json(base_json *json, const cli_array *array);

/* `f32[2, 3]` */
void cli_array_print_type(base_text *out, const cli_array *array);

#endif
