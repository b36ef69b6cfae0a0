/* The dictionary of a .npy file: a bounded reader of the few Python literals that may stand there.
 *
 *     '{' { string ':' value ',' } '}' spaces        each of the three keys exactly once
 *     descr: string    fortran_order: True | False    shape: '(' integers ')'
 *
 * It keeps a position in the text and never goes past its length; the text may hold any bytes. No
 * escapes in strings: NumPy writes none for these types.
 */
#include "npy_header.h"

#include "base/checked.h"

#include <string.h>

enum { DESCR_LIMIT = 16, NPY_ALIGN = 64, NPY_PREFIX_BYTES = 10 };

typedef struct reader {
    const char *text;
    size_t length;
    size_t at;
    const char *path;
    base_diagnostics *diagnostics;
    bool u2_is_bf16;
    bool fortran_order;
    char descr[DESCR_LIMIT];
    cli_npy_header header;
} reader;

static const struct {
    const char *name; /* without the byte order */
    base_dtype dtype;
} dtype_names[] = {
    {"f4", BASE_F32}, {"f2", BASE_F16}, {"V2", BASE_BF16}, {"f8", BASE_F64}, {"i8", BASE_I64},
    {"i4", BASE_I32}, {"u4", BASE_U32}, {"i1", BASE_I8},   {"u1", BASE_U8},  {"b1", BASE_BOOL},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char dtype_list[] = "one of <f4 <f2 <f8 <i8 <i4 <u4 |i1 |u1 |b1, and <V2 for bf16";

/* ---- findings ---- */

static base_diagnostic *find_fault(reader *r, const char *slug, const char *message) {
    return base_diagnostics_add(r->diagnostics, slug, (base_location){0}, "%s: %s", r->path,
                                message);
}

static bool is_plain(char c) {
    return c >= ' ' && c <= '~';
}

/* What stands at the position, for people. */
static const char *describe_position(reader *r) {
    if (r->at >= r->length)
        return "the end of the header";
    size_t shown = 0;
    while (shown < 24 && r->at + shown < r->length && is_plain(r->text[r->at + shown]))
        shown++;
    if (shown == 0)
        return base_diagnostics_text(r->diagnostics, "byte 0x%02x at position %zu of the header",
                                     (unsigned char)r->text[r->at], r->at);
    return base_diagnostics_text(r->diagnostics, "`%.*s` at position %zu of the header", (int)shown,
                                 r->text + r->at, r->at);
}

static bool refuse_here(reader *r, const char *expected) {
    base_diagnostic *finding =
        find_fault(r, "npy-header", "the header is not the dictionary of a .npy file");
    finding->found = describe_position(r);
    finding->expected = expected;
    return false;
}

/* ---- literals ---- */

static void skip_spaces(reader *r) {
    while (r->at < r->length && strchr(" \t\r\n", r->text[r->at]) != NULL && r->text[r->at] != '\0')
        r->at++;
}

static bool take(reader *r, char c) {
    skip_spaces(r);
    if (r->at >= r->length || r->text[r->at] != c)
        return false;
    r->at++;
    return true;
}

static bool take_word(reader *r, const char *word) {
    size_t length = strlen(word);
    skip_spaces(r);
    if (r->length - r->at < length || memcmp(r->text + r->at, word, length) != 0)
        return false;
    r->at += length;
    return true;
}

/* A string in either quotes, cut to fit `out`: nothing legal is longer. */
static bool read_string(reader *r, char out[DESCR_LIMIT]) {
    skip_spaces(r);
    if (r->at >= r->length || (r->text[r->at] != '\'' && r->text[r->at] != '"'))
        return refuse_here(r, "a string in quotes");
    char quote = r->text[r->at++];
    size_t used = 0;
    for (; r->at < r->length && r->text[r->at] != quote; r->at++) {
        if (!is_plain(r->text[r->at]) || r->text[r->at] == '\\')
            return refuse_here(r, "plain characters in a string");
        if (used < DESCR_LIMIT - 1)
            out[used++] = r->text[r->at];
    }
    out[used] = '\0';
    if (r->at >= r->length)
        return refuse_here(r, "the end of a string");
    r->at++;
    return true;
}

/* ---- the three values ---- */

static bool refuse_dtype(reader *r, const char *found, const char *hint) {
    base_diagnostic *finding =
        find_fault(r, "npy-dtype", "this element type is not among those of croft");
    finding->found = found;
    finding->expected = dtype_list;
    finding->hint = hint;
    return false;
}

static bool read_descr(reader *r) {
    skip_spaces(r);
    if (r->at < r->length && r->text[r->at] == '[')
        return refuse_dtype(r, "a structured type", NULL);
    return read_string(r, r->descr);
}

static bool read_fortran_order(reader *r) {
    r->fortran_order = take_word(r, "True");
    return r->fortran_order || take_word(r, "False") || refuse_here(r, "True or False");
}

static bool refuse_shape(reader *r, const char *found, const char *expected) {
    base_diagnostic *finding = find_fault(r, "npy-shape", "the shape cannot be used");
    finding->found = found;
    finding->expected = expected;
    return false;
}

/* Digits, with the `L` that Python 2 wrote. */
static bool read_extent(reader *r, int64_t *extent) {
    skip_spaces(r);
    if (r->at < r->length && r->text[r->at] == '-')
        return refuse_shape(r, describe_position(r), "extents from 0 up");
    size_t start = r->at;
    *extent = 0;
    for (; r->at < r->length && r->text[r->at] >= '0' && r->text[r->at] <= '9'; r->at++) {
        if (!base_checked_mul(*extent, 10, extent) ||
            !base_checked_add(*extent, r->text[r->at] - '0', extent)) {
            r->at = start;
            return refuse_shape(r, describe_position(r), "extents that fit 64 bits");
        }
    }
    if (r->at == start)
        return refuse_here(r, "a tuple of integers");
    if (r->at < r->length && r->text[r->at] == 'L')
        r->at++;
    return true;
}

static bool read_shape(reader *r) {
    bool comma = true;
    r->header.rank = 0;
    if (!take(r, '('))
        return refuse_here(r, "a tuple of integers");
    while (!take(r, ')')) {
        int64_t extent;
        if (!comma)
            return refuse_here(r, "`,` or `)`");
        if (!read_extent(r, &extent))
            return false;
        if (r->header.rank == CLI_RANK_LIMIT)
            return refuse_shape(r, "more than 4 axes", "at most 4 axes");
        r->header.extent[r->header.rank++] = extent;
        comma = take(r, ',');
    }
    if (r->header.rank == 1 && !comma)
        return refuse_shape(r, "an integer in parentheses", "a tuple, such as (3,)");
    return true;
}

static const struct {
    const char *name;
    bool (*read)(reader *r);
} keys[] = {{"descr", read_descr}, {"fortran_order", read_fortran_order}, {"shape", read_shape}};

/* ---- the dictionary ---- */

static bool read_entry(reader *r, bool seen[COUNT(keys)]) {
    char name[DESCR_LIMIT];
    size_t start = r->at;
    if (!read_string(r, name))
        return false;
    for (size_t i = 0; i < COUNT(keys); i++) {
        if (strcmp(name, keys[i].name) != 0 || seen[i])
            continue;
        seen[i] = true;
        return (take(r, ':') || refuse_here(r, "`:`")) && keys[i].read(r);
    }
    r->at = start;
    return refuse_here(r, "the keys descr, fortran_order and shape, each once");
}

static bool read_dictionary(reader *r) {
    bool seen[COUNT(keys)] = {false}, comma = true;
    if (!take(r, '{'))
        return refuse_here(r, "`{`");
    while (!take(r, '}')) {
        if (!comma)
            return refuse_here(r, "`,` or `}`");
        skip_spaces(r);
        if (!read_entry(r, seen))
            return false;
        comma = take(r, ',');
    }
    for (size_t i = 0; i < COUNT(keys); i++) {
        if (seen[i])
            continue;
        base_diagnostic *finding = find_fault(r, "npy-header", "the header lacks a key");
        finding->found = base_diagnostics_text(r->diagnostics, "no key `%s`", keys[i].name);
        finding->expected = "the keys descr, fortran_order and shape";
        return false;
    }
    skip_spaces(r);
    return r->at == r->length || refuse_here(r, "nothing after the dictionary");
}

/* ---- meaning ---- */

static bool resolve_dtype(reader *r) {
    const char *found = base_diagnostics_text(r->diagnostics, "`%s`", r->descr);
    char order = r->descr[0];
    const char *name = order != '\0' ? r->descr + 1 : "";
    if (strchr(r->descr, 'O') != NULL)
        return refuse_dtype(r, base_diagnostics_text(r->diagnostics, "Python objects, %s", found),
                            NULL);
    if (strcmp(name, "u2") == 0 && !r->u2_is_bf16)
        return refuse_dtype(r, found, "u2 is read as bf16 where a bf16 array is wanted");
    if (strcmp(name, "u2") == 0)
        name = "V2";
    for (size_t i = 0; i < COUNT(dtype_names); i++) {
        if (strcmp(name, dtype_names[i].name) != 0)
            continue;
        r->header.dtype = dtype_names[i].dtype;
        bool orderless = name[1] == '1' || name[0] == 'V';
        if (order == '<' || (order == '|' && orderless))
            return true;
        if (order != '>')
            break;
        base_diagnostic *finding =
            find_fault(r, "npy-byte-order", "the file is big endian, croft reads little endian");
        finding->found = found;
        finding->expected = base_diagnostics_text(r->diagnostics, "`<%s`", name);
        finding->hint = "array.astype(array.dtype.newbyteorder('<'))";
        return false;
    }
    return refuse_dtype(r, found, NULL);
}

/* Both orders are the same when at most one axis is longer than 1, or nothing is there. */
static bool resolve_order(reader *r) {
    int long_axes = 0;
    bool empty = false;
    for (int i = 0; i < r->header.rank; i++) {
        long_axes += r->header.extent[i] > 1;
        empty = empty || r->header.extent[i] == 0;
    }
    if (!r->fortran_order || long_axes <= 1 || empty)
        return true;
    base_diagnostic *finding =
        find_fault(r, "npy-order", "the file is in Fortran order, croft reads C order");
    finding->found = "'fortran_order': True";
    finding->expected = "'fortran_order': False";
    finding->hint = "numpy.ascontiguousarray(array)";
    return false;
}

bool cli_npy_header_parse(const char *text, size_t length, bool u2_is_bf16, const char *path,
                          cli_npy_header *header, base_diagnostics *diagnostics) {
    reader r = {.text = text,
                .length = length,
                .path = path,
                .diagnostics = diagnostics,
                .u2_is_bf16 = u2_is_bf16};
    if (!read_dictionary(&r) || !resolve_dtype(&r) || !resolve_order(&r))
        return false;
    *header = r.header;
    return true;
}

void cli_npy_header_print(base_text *out, const cli_array *array) {
    base_text dictionary;
    base_text_init(&dictionary, out->arena);
    for (size_t i = 0; i < COUNT(dtype_names); i++) {
        if (dtype_names[i].dtype == array->dtype)
            base_text_format(&dictionary, "{'descr': '%c%s', ",
                             base_dtype_size(array->dtype) == 1 ? '|' : '<', dtype_names[i].name);
    }
    base_text_string(&dictionary, "'fortran_order': False, 'shape': (");
    for (int i = 0; i < array->rank; i++)
        base_text_format(&dictionary, "%s%lld", i > 0 ? ", " : "", (long long)array->extent[i]);
    base_text_string(&dictionary, array->rank == 1 ? ",), }" : "), }");
    while ((NPY_PREFIX_BYTES + dictionary.length + 1) % NPY_ALIGN != 0)
        base_text_string(&dictionary, " ");
    base_text_string(&dictionary, "\n");
    const char prefix[NPY_PREFIX_BYTES] = {(char)0x93,
                                           'N',
                                           'U',
                                           'M',
                                           'P',
                                           'Y',
                                           1,
                                           0,
                                           (char)(dictionary.length & 0xff),
                                           (char)(dictionary.length >> 8)};
    base_text_append(out, prefix, sizeof prefix);
    base_text_append(out, dictionary.bytes, (size_t)dictionary.length);
}
