/* Arrays of the command: memory with guards, and elements of every type.
 *
 *     memory | slack to 64 | guard 0xa5.. | data | guard 0xa5.. |
 *
 * The memory comes zeroed from calloc, so the pages of a large array are not touched before use.
 */
#include "array.h"

#include "base/checked.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GUARD_BYTE = 0xa5, ELEMENT_BYTES_LIMIT = 8 };

bool cli_shape_count(int rank, const int64_t *extent, int64_t *count) {
    int64_t bytes = ELEMENT_BYTES_LIMIT;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (extent[i] < 0)
            return false;
        if (extent[i] == 0)
            empty = true;
        else if (!base_checked_mul(bytes, extent[i], &bytes))
            return false;
    }
    *count = empty ? 0 : bytes / ELEMENT_BYTES_LIMIT;
    return true;
}

static void print_shape(base_text *out, int rank, const int64_t *extent) {
    base_text_string(out, "[");
    for (int i = 0; i < rank; i++)
        base_text_format(out, "%s%lld", i > 0 ? ", " : "", (long long)extent[i]);
    base_text_string(out, "]");
}

static bool refuse_shape(base_dtype dtype, int rank, const int64_t *extent, const char *what,
                         base_diagnostics *diagnostics) {
    base_text shape;
    base_text_init(&shape, diagnostics->arena);
    base_text_string(&shape, base_dtype_name(dtype));
    print_shape(&shape, rank, extent);
    base_diagnostic *finding = base_diagnostics_add(diagnostics, "array-shape", (base_location){0},
                                                    "%s: the shape is too large", what);
    finding->found = shape.bytes;
    finding->expected = "extents from 0 up whose product, in bytes, fits 63 bits";
    return false;
}

/* More than the machine has would be promised by the system and then kill the process. */
static bool memory_is_there(int64_t bytes) {
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages <= 0 || page_bytes <= 0 || bytes / page_bytes <= pages;
}

bool cli_array_create(cli_array *array, base_dtype dtype, int rank, const int64_t *extent,
                      int64_t guard_bytes, const char *what, base_diagnostics *diagnostics) {
    *array = (cli_array){0};
    cli_array made = {.dtype = dtype, .rank = rank};
    if (!cli_shape_count(rank, extent, &made.count))
        return refuse_shape(dtype, rank, extent, what, diagnostics);
    for (int i = 0; i < rank; i++)
        made.extent[i] = extent[i];
    made.size_bytes = made.count * base_dtype_size(dtype);
    made.guard_bytes = (guard_bytes + CLI_ARRAY_ALIGN - 1) / CLI_ARRAY_ALIGN * CLI_ARRAY_ALIGN;
    int64_t total = 2 * made.guard_bytes + 2 * CLI_ARRAY_ALIGN;
    if (!base_checked_add(made.size_bytes, total, &total))
        return refuse_shape(dtype, rank, extent, what, diagnostics);
    made.memory = memory_is_there(total) ? calloc(1, (size_t)total) : NULL;
    if (made.memory == NULL) {
        base_diagnostic *finding =
            base_diagnostics_add(diagnostics, "array-memory", (base_location){0},
                                 "%s: not enough memory for the array", what);
        finding->found = base_diagnostics_text(diagnostics, "%lld bytes wanted", (long long)total);
        return false;
    }
    uintptr_t first = (uintptr_t)made.memory + (uintptr_t)made.guard_bytes;
    made.data = (char *)made.memory + made.guard_bytes + (-first & (CLI_ARRAY_ALIGN - 1));
    memset((char *)made.data - made.guard_bytes, GUARD_BYTE, (size_t)made.guard_bytes);
    memset((char *)made.data + made.size_bytes, GUARD_BYTE, (size_t)made.guard_bytes);
    *array = made;
    return true;
}

bool cli_array_move(cli_array *array, int64_t elements, int64_t guard_bytes, const char *what,
                    base_diagnostics *diagnostics) {
    cli_array moved;
    int64_t past = elements * base_dtype_size(array->dtype);
    if (!cli_array_create(&moved, array->dtype, array->rank, array->extent, guard_bytes + 2 * past,
                          what, diagnostics))
        return false;
    moved.data = (char *)moved.data + past;
    moved.guard_bytes =
        (guard_bytes + CLI_ARRAY_ALIGN - 1) / CLI_ARRAY_ALIGN * CLI_ARRAY_ALIGN + past;
    memset((char *)moved.data - moved.guard_bytes, GUARD_BYTE, (size_t)moved.guard_bytes);
    memcpy(moved.data, array->data, (size_t)array->size_bytes);
    memset((char *)moved.data + moved.size_bytes, GUARD_BYTE, (size_t)moved.guard_bytes);
    cli_array_free(array);
    *array = moved;
    return true;
}

void cli_array_free(cli_array *array) {
    free(array->memory);
    *array = (cli_array){0};
}

void cli_array_fill_unwritten(cli_array *array) {
    memset(array->data, 0xff, (size_t)array->size_bytes);
}

bool cli_array_guards_intact(const cli_array *array) {
    const unsigned char *before = (const unsigned char *)array->data - array->guard_bytes;
    const unsigned char *after = (const unsigned char *)array->data + array->size_bytes;
    for (int64_t i = 0; i < array->guard_bytes; i++) {
        if (before[i] != GUARD_BYTE || after[i] != GUARD_BYTE)
            return false;
    }
    return true;
}

/* ---- elements ---- */

int64_t cli_array_get_integer(const cli_array *array, int64_t index) {
    switch (array->dtype) {
    case BASE_I64:
    case BASE_INDEX:
        return ((const int64_t *)array->data)[index];
    case BASE_I32:
        return ((const int32_t *)array->data)[index];
    case BASE_U32:
        return ((const uint32_t *)array->data)[index];
    case BASE_I8:
        return ((const int8_t *)array->data)[index];
    case BASE_U8:
    case BASE_BOOL:
        return ((const uint8_t *)array->data)[index];
    case BASE_F32:
    case BASE_F16:
    case BASE_BF16:
    case BASE_F64:
        break;
    }
    return 0;
}

double cli_array_get(const cli_array *array, int64_t index) {
    switch (array->dtype) {
    case BASE_F32:
        return (double)((const float *)array->data)[index];
    case BASE_F16:
        return base_f16_to_double(((const uint16_t *)array->data)[index]);
    case BASE_BF16:
        return base_bf16_to_double(((const uint16_t *)array->data)[index]);
    case BASE_F64:
        return ((const double *)array->data)[index];
    case BASE_I64:
    case BASE_INDEX:
    case BASE_I32:
    case BASE_U32:
    case BASE_I8:
    case BASE_U8:
    case BASE_BOOL:
        break;
    }
    return (double)cli_array_get_integer(array, index);
}

void cli_array_set_integer(cli_array *array, int64_t index, int64_t value) {
    switch (array->dtype) {
    case BASE_I64:
    case BASE_INDEX:
        ((int64_t *)array->data)[index] = value;
        return;
    case BASE_I32:
        ((int32_t *)array->data)[index] = (int32_t)value;
        return;
    case BASE_U32:
        ((uint32_t *)array->data)[index] = (uint32_t)value;
        return;
    case BASE_I8:
        ((int8_t *)array->data)[index] = (int8_t)value;
        return;
    case BASE_U8:
    case BASE_BOOL:
        ((uint8_t *)array->data)[index] = (uint8_t)value;
        return;
    case BASE_F32:
    case BASE_F16:
    case BASE_BF16:
    case BASE_F64:
        cli_array_set(array, index, (double)value);
        return;
    }
}

void cli_array_set(cli_array *array, int64_t index, double value) {
    switch (array->dtype) {
    case BASE_F32:
        ((float *)array->data)[index] = (float)value;
        return;
    case BASE_F16:
        ((uint16_t *)array->data)[index] = base_f16_from_double(value);
        return;
    case BASE_BF16:
        ((uint16_t *)array->data)[index] = base_bf16_from_double(value);
        return;
    case BASE_F64:
        ((double *)array->data)[index] = value;
        return;
    case BASE_I64:
    case BASE_INDEX:
    case BASE_I32:
    case BASE_U32:
    case BASE_I8:
    case BASE_U8:
    case BASE_BOOL:
        cli_array_set_integer(array, index, (int64_t)value);
        return;
    }
}

/* ---- text ---- */

void cli_array_print_element(base_text *out, const cli_array *array, int64_t index) {
    if (!base_dtype_is_float(array->dtype)) {
        base_text_format(out, "%lld", (long long)cli_array_get_integer(array, index));
        return;
    }
    double value = cli_array_get(array, index), shorter = value;
    for (int digits = 0; digits < 17 && isfinite(value); digits++) {
        char text[40];
        snprintf(text, sizeof text, "%.*e", digits, value);
        if (base_number_parse(text, strlen(text), &shorter) &&
            base_float_round(array->dtype, shorter) == value)
            break;
    }
    base_text_double(out, shorter);
}

void cli_array_print_type(base_text *out, const cli_array *array) {
    base_text_string(out, base_dtype_name(array->dtype));
    print_shape(out, array->rank, array->extent);
}

/* ---- JSON ---- */

void cli_array_facts_json(base_json *json, const cli_array *array) {
    base_json_string(json, "dtype", base_dtype_name(array->dtype));
    base_json_array(json, "shape");
    for (int i = 0; i < array->rank; i++)
        base_json_integer(json, NULL, array->extent[i]);
    base_json_close(json);
    base_json_array(json, "strides");
    for (int i = 0; i < array->rank; i++) {
        int64_t stride = 1;
        for (int k = i + 1; k < array->rank; k++)
            stride *= array->extent[k] > 0 ? array->extent[k] : 1;
        base_json_integer(json, NULL, stride);
    }
    base_json_close(json);
    base_json_integer(json, "elements", array->count);
    base_json_integer(json, "bytes", array->size_bytes);
}

void cli_array_values_json(base_json *json, const cli_array *array) {
    base_json_array(json, "values");
    for (int64_t i = 0; i < array->count && i < CLI_VALUES_LIMIT; i++) {
        base_text text;
        base_text_init(&text, json->out->arena);
        cli_array_print_element(&text, array, i);
        if (base_dtype_is_float(array->dtype) && !isfinite(cli_array_get(array, i)))
            base_json_string(json, NULL, text.bytes);
        else
            base_json_digits(json, NULL, text.bytes);
    }
    base_json_close(json);
}
