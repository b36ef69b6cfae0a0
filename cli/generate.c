/* Generated inputs: see the header for the grammar and the generator.
 *
 *     "randn:4x8:3:bf16" -> form randn, shape {4, 8}, arguments {"3"}, bf16
 *
 * A spec is split at its colons, its form looked up in a table, its arguments read for the form and
 * type, and then every element is set by the form's function of its index.
 */
#include "generate.h"

#include "base/checked.h"
#include "base/hash.h"

#include <math.h>
#include <string.h>

enum { FIELD_LIMIT = 8, SPECIAL_KINDS = 12 };

typedef struct field {
    const char *text;
    size_t length;
} field;

typedef struct form form;

typedef struct generator {
    const char *spec;
    const char *name;
    base_diagnostics *diagnostics;
    const form *form;
    field fields[FIELD_LIMIT]; /* form, shape, arguments */
    int field_count;
    base_dtype dtype;
    cli_array *array;
    uint64_t key;
    double low, high;       /* the two numbers of randn and uniform */
    int64_t first_integer;  /* randint */
    uint64_t integer_count; /* randint */
    cli_array constants;    /* const: the values in turn */
} generator;

typedef enum form_types { TYPES_ALL, TYPES_FLOAT } form_types;

struct form {
    const char *name;
    int least_arguments, most_arguments;
    form_types types;
    base_dtype dtype; /* where neither spec nor parameter gives one */
    bool (*prepare)(generator *g);
    void (*set)(generator *g, int64_t index);
};

/* What a float type can hold; magnitudes are 10^low .. 10^high. */
typedef struct float_range {
    double largest, smallest_subnormal;
    double magnitude_low, magnitude_high;
} float_range;

static float_range range_of(base_dtype dtype) {
    switch (dtype) {
    case BASE_F16:
        return (float_range){65504.0, 0x1p-24, -7.0, 4.778};
    case BASE_BF16:
        return (float_range){0x1.fep127, 0x1p-133, -30.0, 30.0};
    case BASE_F32:
        return (float_range){0x1.fffffep127, 0x1p-149, -30.0, 30.0};
    case BASE_F64:
    case BASE_I64:
    case BASE_I32:
    case BASE_U32:
    case BASE_I8:
    case BASE_U8:
    case BASE_BOOL:
    case BASE_INDEX:
        break;
    }
    return (float_range){0x1.fffffffffffffp1023, 0x1p-1074, -30.0, 30.0};
}

/* ---- random numbers by position ---- */

static uint64_t mix(uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

/* Draw 0, 1, 2 or 3 of an element. */
static uint64_t draw(const generator *g, int64_t index, int number) {
    uint64_t position = (uint64_t)index * 4 + (uint64_t)number + 1;
    return mix(g->key + position * UINT64_C(0x9e3779b97f4a7c15));
}

/* In [0, 1), 53 bits. */
static double draw_unit(const generator *g, int64_t index, int number) {
    return (double)(draw(g, index, number) >> 11) * 0x1p-53;
}

static double draw_normal(const generator *g, int64_t index) {
    double radius = sqrt(-2.0 * log(1.0 - draw_unit(g, index, 0)));
    return radius * cos(6.283185307179586 * draw_unit(g, index, 1));
}

/* A whole number below `count`; 0 stands for 2^64. */
static uint64_t draw_below(const generator *g, int64_t index, int number, uint64_t count) {
    __extension__ typedef unsigned __int128 wide;
    uint64_t bits = draw(g, index, number);
    return count == 0 ? bits : (uint64_t)((wide)bits * count >> 64);
}

static double draw_sign(const generator *g, int64_t index) {
    return (draw(g, index, 2) & 1) != 0 ? -1.0 : 1.0;
}

static double draw_magnitude(const generator *g, int64_t index) {
    float_range range = range_of(g->dtype);
    double exponent =
        range.magnitude_low + (range.magnitude_high - range.magnitude_low) * draw_unit(g, index, 0);
    return draw_sign(g, index) * pow(10.0, exponent);
}

/* ---- findings ---- */

static bool refuse(generator *g, const char *slug, const char *message, const char *found,
                   const char *expected) {
    base_diagnostic *finding = base_diagnostics_add(g->diagnostics, slug, (base_location){0},
                                                    "%s=%.100s: %s", g->name, g->spec, message);
    finding->found = found;
    finding->expected = expected;
    return false;
}

static const char *quote(generator *g, field f) {
    return base_diagnostics_text(g->diagnostics, "`%.*s`", f.length < 60 ? (int)f.length : 60,
                                 f.text);
}

static bool refuse_argument(generator *g, field argument, const char *expected) {
    return refuse(g, "generate-argument", "an argument cannot be used", quote(g, argument),
                  expected);
}

/* ---- numbers ---- */

static bool parse_integer(field f, int64_t *value) {
    bool negative = f.length > 0 && f.text[0] == '-';
    size_t start = negative ? 1 : 0;
    *value = 0;
    for (size_t i = start; i < f.length; i++) {
        if (f.text[i] < '0' || f.text[i] > '9')
            return false;
        int64_t digit = negative ? -(f.text[i] - '0') : f.text[i] - '0';
        if (!base_checked_mul(*value, 10, value) || !base_checked_add(*value, digit, value))
            return false;
    }
    return f.length > start;
}

static bool parse_shape(generator *g, int *rank, int64_t extent[CLI_RANK_LIMIT]) {
    field shape = g->fields[1];
    const char *next = shape.text, *end = shape.text + shape.length;
    *rank = 0;
    while (shape.length > 0) {
        const char *cross = memchr(next, 'x', (size_t)(end - next));
        field digits = {next, (size_t)((cross != NULL ? cross : end) - next)};
        if (*rank == CLI_RANK_LIMIT)
            return refuse(g, "generate-shape", "the shape has too many axes", quote(g, shape),
                          "at most 4 axes");
        if (!parse_integer(digits, &extent[*rank]) || extent[*rank] < 0)
            return refuse(g, "generate-shape", "the shape is not one", quote(g, shape),
                          "extents from 0 up, such as 4x8");
        (*rank)++;
        if (cross == NULL)
            break;
        next = cross + 1;
    }
    return true;
}

/* One value of the array's type into an array of it. */
static bool parse_element(generator *g, field f, cli_array *array, int64_t index) {
    double value;
    int64_t integer;
    if (base_dtype_is_float(g->dtype)) {
        if (!base_number_parse(f.text, f.length, &value))
            return refuse_argument(g, f, "a number");
        cli_array_set(array, index, value);
        return true;
    }
    if (!parse_integer(f, &integer) || !base_dtype_holds(g->dtype, integer))
        return refuse_argument(g, f,
                               base_diagnostics_text(g->diagnostics, "a whole number that %s holds",
                                                     base_dtype_name(g->dtype)));
    cli_array_set_integer(array, index, integer);
    return true;
}

/* ---- the forms ---- */

static bool prepare_nothing(generator *g) {
    (void)g;
    return true;
}

static void set_zero(generator *g, int64_t index) {
    cli_array_set_integer(g->array, index, 0);
}

static void set_one(generator *g, int64_t index) {
    cli_array_set_integer(g->array, index, 1);
}

static bool prepare_const(generator *g) {
    field list = g->fields[2];
    int64_t count = 1;
    for (size_t i = 0; i < list.length; i++)
        count += list.text[i] == ',';
    if (!cli_array_create(&g->constants, g->dtype, 1, &count, 0, g->name, g->diagnostics))
        return false;
    const char *next = list.text, *end = list.text + list.length;
    for (int64_t i = 0; i < count; i++) {
        const char *comma = memchr(next, ',', (size_t)(end - next));
        field value = {next, (size_t)((comma != NULL ? comma : end) - next)};
        if (!parse_element(g, value, &g->constants, i))
            return false;
        next = comma != NULL ? comma + 1 : end;
    }
    return true;
}

static void set_const(generator *g, int64_t index) {
    size_t bytes = (size_t)base_dtype_size(g->dtype);
    memcpy((char *)g->array->data + (size_t)index * bytes,
           (const char *)g->constants.data + (size_t)(index % g->constants.count) * bytes, bytes);
}

static bool prepare_arange(generator *g) {
    int64_t last = g->array->count > 0 ? g->array->count - 1 : 0;
    if (base_dtype_is_float(g->dtype) || base_dtype_holds(g->dtype, last))
        return true;
    return refuse(g, "generate-dtype", "the type does not hold the last number",
                  base_diagnostics_text(g->diagnostics, "%lld in %s", (long long)last,
                                        base_dtype_name(g->dtype)),
                  "a wider type, or fewer elements");
}

static void set_arange(generator *g, int64_t index) {
    cli_array_set_integer(g->array, index, index);
}

/* Up to two numbers into low and high, which hold the defaults. */
static bool prepare_pair(generator *g, double low, double high) {
    double *targets[2] = {&g->low, &g->high};
    g->low = low;
    g->high = high;
    for (int i = 2; i < g->field_count; i++) {
        if (!base_number_parse(g->fields[i].text, g->fields[i].length, targets[i - 2]) ||
            !isfinite(*targets[i - 2]))
            return refuse_argument(g, g->fields[i],
                                   "a finite number, or at the end a type such as f16");
    }
    return true;
}

static bool prepare_randn(generator *g) {
    return prepare_pair(g, 0.0, 1.0);
}

static void set_randn(generator *g, int64_t index) {
    cli_array_set(g->array, index, g->low + g->high * draw_normal(g, index));
}

static bool prepare_uniform(generator *g) {
    if (!prepare_pair(g, 0.0, 1.0))
        return false;
    return g->low < g->high || refuse_argument(g, g->fields[g->field_count - 1], "LOW < HIGH");
}

static void set_uniform(generator *g, int64_t index) {
    double unit = draw_unit(g, index, 0);
    cli_array_set(g->array, index, g->low * (1.0 - unit) + g->high * unit);
}

static bool prepare_randint(generator *g) {
    int64_t low, high;
    if (!parse_integer(g->fields[2], &low))
        return refuse_argument(g, g->fields[2], "a whole number");
    if (!parse_integer(g->fields[3], &high) || high <= low)
        return refuse_argument(g, g->fields[3], "a whole number above LOW");
    bool held = base_dtype_is_float(g->dtype) ||
                (base_dtype_holds(g->dtype, low) && base_dtype_holds(g->dtype, high - 1));
    g->first_integer = low;
    g->integer_count = (uint64_t)high - (uint64_t)low;
    return held || refuse(g, "generate-argument", "the type does not hold the range",
                          base_dtype_name(g->dtype), "a range inside the type, or a wider type");
}

static void set_randint(generator *g, int64_t index) {
    uint64_t offset = draw_below(g, index, 0, g->integer_count);
    cli_array_set_integer(g->array, index, (int64_t)((uint64_t)g->first_integer + offset));
}

static void set_magnitudes(generator *g, int64_t index) {
    cli_array_set(g->array, index, draw_magnitude(g, index));
}

static double special_value(generator *g, uint64_t kind, int64_t index, int64_t row,
                            int64_t width) {
    int64_t column = index - row * width;
    uint64_t chosen = draw_below(g, row, 3, (uint64_t)width);
    bool here = (uint64_t)column == chosen;
    bool next = (uint64_t)column == (chosen + 1) % (uint64_t)width;
    float_range range = range_of(g->dtype);
    double unit = draw_unit(g, index, 0), sign = draw_sign(g, index);
    switch (kind) {
    case 1:
        return here ? NAN : draw_normal(g, index);
    case 2:
        return here ? INFINITY : draw_normal(g, index);
    case 3:
        return here ? -INFINITY : draw_normal(g, index);
    case 4:
        return here ? INFINITY : next ? -INFINITY : draw_normal(g, index);
    case 5:
        return -INFINITY;
    case 6:
        return draw_normal(g, row * width);
    case 7:
        return sign * 0.0;
    case 8:
        return sign * range.smallest_subnormal * floor(1.0 + 100.0 * unit);
    case 9:
        return sign * range.largest;
    case 10:
        return draw_magnitude(g, index);
    default: /* 0, and what is mixed into it */
        return draw_normal(g, index);
    }
}

static void set_special(generator *g, int64_t index) {
    int rank = g->array->rank;
    int64_t width = rank > 0 ? g->array->extent[rank - 1] : 1;
    int64_t row = index / width;
    uint64_t kind = (uint64_t)row % SPECIAL_KINDS;
    if (kind == SPECIAL_KINDS - 1)
        kind = draw_below(g, index, 3, SPECIAL_KINDS - 1);
    cli_array_set(g->array, index, special_value(g, kind, index, row, width));
}

static const form forms[] = {
    {"zeros", 0, 0, TYPES_ALL, BASE_F32, prepare_nothing, set_zero},
    {"ones", 0, 0, TYPES_ALL, BASE_F32, prepare_nothing, set_one},
    {"const", 1, 1, TYPES_ALL, BASE_F32, prepare_const, set_const},
    {"arange", 0, 0, TYPES_ALL, BASE_F32, prepare_arange, set_arange},
    {"randn", 0, 2, TYPES_FLOAT, BASE_F32, prepare_randn, set_randn},
    {"uniform", 0, 2, TYPES_FLOAT, BASE_F32, prepare_uniform, set_uniform},
    {"randint", 2, 2, TYPES_ALL, BASE_I64, prepare_randint, set_randint},
    {"magnitudes", 0, 0, TYPES_FLOAT, BASE_F32, prepare_nothing, set_magnitudes},
    {"special", 0, 0, TYPES_FLOAT, BASE_F32, prepare_nothing, set_special},
};

static const char form_list[] =
    "zeros, ones, const, arange, randn, uniform, randint, magnitudes or special";

/* ---- the spec ---- */

static bool split(generator *g) {
    const char *next = g->spec;
    for (;;) {
        size_t length = strcspn(next, ":");
        if (g->field_count == FIELD_LIMIT)
            return refuse(g, "generate-argument", "too many arguments", "more than 7 colons",
                          "FORM:SHAPE, at most two arguments, and a type");
        g->fields[g->field_count++] = (field){next, length};
        if (next[length] == '\0')
            break;
        next += length + 1;
    }
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strlen(forms[i].name) == g->fields[0].length &&
            memcmp(forms[i].name, g->fields[0].text, g->fields[0].length) == 0)
            g->form = &forms[i];
    }
    if (g->form == NULL)
        return refuse(g, "generate-form", "unknown form of generated input", quote(g, g->fields[0]),
                      form_list);
    return g->field_count > 1 || refuse(g, "generate-shape", "there is no shape", "no `:`",
                                        "a shape, such as 4x8, after a colon");
}

/* The type is the last field when that names one; it is then taken off. */
static bool choose_dtype(generator *g, const base_dtype *wanted) {
    field last = g->fields[g->field_count - 1];
    g->dtype = wanted != NULL ? *wanted : g->form->dtype;
    if (g->field_count > 2 && base_dtype_from_name(last.text, last.length, &g->dtype))
        g->field_count--;
    if (g->dtype == BASE_INDEX)
        return refuse(g, "generate-dtype", "no array has this type", "index", "i64");
    if (g->form->types == TYPES_FLOAT && !base_dtype_is_float(g->dtype))
        return refuse(g, "generate-dtype", "the form needs a type of floats",
                      base_dtype_name(g->dtype), "f32, f16 or bf16; for whole numbers, randint");
    return true;
}

static bool check_argument_count(generator *g) {
    int count = g->field_count - 2;
    if (count >= g->form->least_arguments && count <= g->form->most_arguments)
        return true;
    return refuse(g, "generate-argument", "wrong number of arguments after the shape",
                  base_diagnostics_text(g->diagnostics, "%d", count),
                  base_diagnostics_text(g->diagnostics, "%d to %d, then a type at most",
                                        g->form->least_arguments, g->form->most_arguments));
}

static bool fill(generator *g, const base_dtype *wanted) {
    int rank;
    int64_t extent[CLI_RANK_LIMIT];
    if (!split(g) || !choose_dtype(g, wanted) || !check_argument_count(g) ||
        !parse_shape(g, &rank, extent) ||
        !cli_array_create(g->array, g->dtype, rank, extent, 0, g->name, g->diagnostics) ||
        !g->form->prepare(g))
        return false;
    for (int64_t i = 0; i < g->array->count; i++)
        g->form->set(g, i);
    return true;
}

bool cli_generate_is_spec(const char *text) {
    size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyz"), length = strlen(text);
    bool file = length >= 4 && strcmp(text + length - 4, ".npy") == 0;
    return word > 0 && text[word] == ':' && strchr(text, '/') == NULL && !file;
}

bool cli_generate(const char *spec, const char *name, uint64_t seed, const base_dtype *wanted,
                  cli_array *array, base_diagnostics *diagnostics) {
    uint64_t stream = base_hash_bytes(BASE_HASH_START, name, strlen(name));
    generator g = {.spec = spec,
                   .name = name,
                   .diagnostics = diagnostics,
                   .array = array,
                   .key = mix(seed + mix(stream))};
    *array = (cli_array){0};
    bool filled = fill(&g, wanted);
    cli_array_free(&g.constants);
    if (!filled)
        cli_array_free(array);
    return filled;
}
