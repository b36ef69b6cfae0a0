/* Binding: arguments to the names of a signature.
 *
 *     x: in T[R, N] with an f16 array of 4 x 8      T = f16, R = 4, N = 8
 *     y: out f32[R, N] that is to be made           shape 4 x 8
 *
 * In this order, since each step needs the last: which argument is whose, element types, consts,
 * layouts, sizes from bare names, then every dimension is checked or filled in. Findings stand at
 * the parameter's place in the kernel.
 */
#include "text/ast_internal.h"

#include "base/checked.h"
#include "base/nearest.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct binder {
    base_arena *arena;
    const text_kernel *kernel;
    base_diagnostics *diagnostics;
    bool partial;
    text_bindings *bindings;
    const text_argument **of_parameter; /* one per parameter of the kernel; NULL: none given */
    const text_argument **of_size;
    const char **size_source; /* which argument bound it */
    bool *dtype_bound;
    bool sizes_missing; /* an array was reported: what it would have bound is not */
    const char **dtype_source;
    layout_extents pool;
} binder;

static base_diagnostic *report(binder *b, const char *slug, base_location at, const char *message) {
    return base_diagnostics_add(b->diagnostics, slug, at, "%s", message);
}

#define TEXT(...) base_diagnostics_text(b->diagnostics, __VA_ARGS__)

/* ---- which argument is whose ---- */

static const char *list_names(binder *b) {
    base_text names;
    base_text_init(&names, b->arena);
    for (int64_t i = 0; i < b->kernel->parameter_count; i++)
        base_text_format(&names, "%s%s", i > 0 ? ", " : "", b->kernel->parameters[i].name->text);
    for (int64_t i = 0; i < b->kernel->size_count; i++)
        base_text_format(&names, "%s%s", names.length > 0 ? ", " : "",
                         b->kernel->sizes[i].name->text);
    return names.bytes;
}

static void report_unknown(binder *b, const text_argument *argument) {
    int64_t count = b->kernel->parameter_count + b->kernel->size_count;
    const char **names = BASE_NEW_ARRAY(b->arena, const char *, count + 1);
    for (int64_t i = 0; i < b->kernel->parameter_count; i++)
        names[i] = b->kernel->parameters[i].name->text;
    for (int64_t i = 0; i < b->kernel->size_count; i++)
        names[b->kernel->parameter_count + i] = b->kernel->sizes[i].name->text;
    base_diagnostic *item =
        report(b, "unknown-argument", b->kernel->location,
               TEXT("kernel `%s` has no parameter `%s`", b->kernel->name->text, argument->name));
    item->expected = list_names(b);
    const char *near = base_nearest_name(argument->name, names, count);
    if (near != NULL)
        item->hint = TEXT("did you mean `%s`?", near);
}

static const text_argument **find_place(binder *b, const text_argument *argument) {
    for (int64_t i = 0; i < b->kernel->parameter_count; i++)
        if (strcmp(b->kernel->parameters[i].name->text, argument->name) == 0)
            return &b->of_parameter[i];
    for (int64_t i = 0; i < b->kernel->size_count; i++)
        if (strcmp(b->kernel->sizes[i].name->text, argument->name) == 0)
            return &b->of_size[i];
    return NULL;
}

static const char *number_text(binder *b, const text_argument *given) {
    char number[40];
    base_number_print(number, given->number);
    return given->is_integer ? TEXT("%" PRId64, given->integer) : TEXT("%s", number);
}

static const char *describe_argument(binder *b, const text_argument *argument) {
    switch (argument->kind) {
    case TEXT_ARGUMENT_TENSOR:
        return "an array";
    case TEXT_ARGUMENT_NUMBER:
        return "a number";
    case TEXT_ARGUMENT_DTYPE:
        return "an element type";
    case TEXT_ARGUMENT_LAYOUT:
        return TEXT("`%.80s`", argument->layout); /* any text, until it is read as a layout */
    }
    return "";
}

static void check_kind(binder *b, const text_argument **given, int wanted, const char *expected,
                       const text_name *name, base_location at) {
    if (*given == NULL || (int)(*given)->kind == wanted)
        return;
    base_diagnostic *item =
        report(b, "argument-kind", at, TEXT("the argument `%s` is of the wrong kind", name->text));
    item->found = describe_argument(b, *given);
    item->expected = expected;
    *given = NULL;
}

static void place_arguments(binder *b, const text_argument *arguments, int count) {
    for (int i = 0; i < count; i++) {
        const text_argument **place = find_place(b, &arguments[i]);
        if (place == NULL)
            report_unknown(b, &arguments[i]);
        else if (*place != NULL)
            report(b, "repeated-argument", b->kernel->location,
                   TEXT("the argument `%s` is given twice", arguments[i].name));
        else
            *place = &arguments[i];
    }
}

/* Each argument is of its parameter's kind, and none is missing. */
static void check_presence(binder *b) {
    static const struct {
        int kind;
        const char *expected;
    } rows[] = {
        [TEXT_PARAMETER_TENSOR] = {TEXT_ARGUMENT_TENSOR, "an array"},
        [TEXT_PARAMETER_SCALAR] = {TEXT_ARGUMENT_NUMBER, "a number"},
        [TEXT_PARAMETER_DTYPE] = {TEXT_ARGUMENT_DTYPE, "an element type"},
        [TEXT_PARAMETER_CONST] = {TEXT_ARGUMENT_NUMBER, "an integer"},
        [TEXT_PARAMETER_LAYOUT] = {TEXT_ARGUMENT_LAYOUT, "a layout such as bits(1, 0, 2, 3, 4)"},
    };
    for (int64_t i = 0; i < b->kernel->parameter_count; i++) {
        const text_parameter *parameter = &b->kernel->parameters[i];
        if (parameter->kind == TEXT_PARAMETER_BROKEN)
            continue;
        bool given = b->of_parameter[i] != NULL;
        check_kind(b, &b->of_parameter[i], rows[parameter->kind].kind,
                   rows[parameter->kind].expected, parameter->name, parameter->location);
        bool needed =
            parameter->kind == TEXT_PARAMETER_CONST || parameter->kind == TEXT_PARAMETER_LAYOUT
                ? parameter->initial == NULL
                : !b->partial &&
                      (parameter->kind == TEXT_PARAMETER_TENSOR ||
                       (parameter->kind == TEXT_PARAMETER_SCALAR && parameter->initial == NULL));
        if (given || !needed)
            continue;
        b->sizes_missing = b->sizes_missing || parameter->kind == TEXT_PARAMETER_TENSOR;
        base_diagnostic *item =
            report(b, "missing-argument", parameter->location,
                   TEXT("no argument for the parameter `%s`", parameter->name->text));
        bool written = parameter->kind == TEXT_PARAMETER_TENSOR && parameter->mode == IR_OUT;
        item->expected = TEXT("`%s=` %s", parameter->name->text,
                              written ? "an array to write" : rows[parameter->kind].expected);
    }
    for (int64_t i = 0; i < b->kernel->size_count; i++)
        check_kind(b, &b->of_size[i], TEXT_ARGUMENT_NUMBER, "an integer", b->kernel->sizes[i].name,
                   b->kernel->sizes[i].location);
}

/* ---- element types ---- */

static const char *list_choices(binder *b, const text_parameter *parameter) {
    base_text names;
    base_text_init(&names, b->arena);
    for (int i = 0; i < parameter->choice_count; i++)
        base_text_format(&names, "%s%s", i > 0 ? " | " : "",
                         base_dtype_name(parameter->choices[i]));
    return names.bytes;
}

static bool is_choice(const text_parameter *parameter, base_dtype dtype) {
    for (int i = 0; i < parameter->choice_count; i++)
        if (parameter->choices[i] == dtype)
            return true;
    return false;
}

static const text_parameter *dtype_parameter(binder *b, int ordinal) {
    for (int64_t i = 0; i < b->kernel->parameter_count; i++)
        if (b->kernel->parameters[i].kind == TEXT_PARAMETER_DTYPE &&
            b->kernel->parameters[i].ordinal == ordinal)
            return &b->kernel->parameters[i];
    return NULL;
}

/* `source` says that the dtype parameter is `dtype`. */
static void bind_dtype(binder *b, int ordinal, base_dtype dtype, const char *source,
                       base_location at) {
    const text_parameter *parameter = dtype_parameter(b, ordinal);
    if (!is_choice(parameter, dtype)) {
        base_diagnostic *item = report(
            b, "dtype-mismatch", at,
            TEXT("`%s` does not fit the type parameter `%s`", source, parameter->name->text));
        item->found = base_dtype_name(dtype);
        item->expected = list_choices(b, parameter);
        return;
    }
    if (!b->dtype_bound[ordinal]) {
        b->dtype_bound[ordinal] = true;
        b->dtype_source[ordinal] = source;
        b->bindings->dtypes[ordinal] = dtype;
        return;
    }
    if (b->bindings->dtypes[ordinal] == dtype)
        return;
    base_diagnostic *item = report(b, "dtype-conflict", at,
                                   TEXT("`%s` and `%s` differ in the type parameter `%s`",
                                        b->dtype_source[ordinal], source, parameter->name->text));
    item->found =
        TEXT("%s is %s, %s is %s", b->dtype_source[ordinal],
             base_dtype_name(b->bindings->dtypes[ordinal]), source, base_dtype_name(dtype));
    item->expected = "one element type";
}

static void bind_dtypes(binder *b) {
    for (int64_t i = 0; i < b->kernel->parameter_count; i++) {
        const text_parameter *parameter = &b->kernel->parameters[i];
        const text_argument *given = b->of_parameter[i];
        if (parameter->kind != TEXT_PARAMETER_DTYPE)
            continue;
        b->bindings->dtypes[parameter->ordinal] = parameter->choices[0];
        if (given != NULL)
            bind_dtype(b, parameter->ordinal, given->dtype, parameter->name->text,
                       parameter->location);
    }
    for (int64_t i = 0; i < b->kernel->parameter_count; i++) {
        const text_parameter *parameter = &b->kernel->parameters[i];
        const text_argument *given = b->of_parameter[i];
        if (parameter->kind != TEXT_PARAMETER_TENSOR || given == NULL || given->dtype_open)
            continue;
        if (parameter->dtype_parameter >= 0) {
            bind_dtype(b, parameter->dtype_parameter, given->dtype, parameter->name->text,
                       parameter->location);
        } else if (given->dtype != parameter->dtype) {
            base_diagnostic *item =
                report(b, "dtype-mismatch", parameter->location,
                       TEXT("the argument `%s` has the wrong element type", parameter->name->text));
            item->found = base_dtype_name(given->dtype);
            item->expected = base_dtype_name(parameter->dtype);
        }
    }
}

/* ---- scalars and consts ---- */

/* As a literal of the kernel's text: neither past the range nor rounded to 0. */
static bool real_fits(base_dtype dtype, const text_argument *given) {
    double value = given->number, rounded = base_float_round(dtype, value);
    return isinf(rounded) == isinf(value) && (rounded == 0) == (value == 0);
}

static void check_scalar(binder *b, const text_parameter *parameter, const text_argument *given,
                         base_dtype dtype) {
    bool real = base_dtype_is_float(dtype);
    if (real ? real_fits(dtype, given)
             : given->is_integer && base_dtype_holds(dtype, given->integer))
        return;
    base_diagnostic *item =
        report(b, "argument-range", parameter->location,
               TEXT("the argument `%s` does not fit its type", parameter->name->text));
    item->found = number_text(b, given);
    item->expected = dtype == BASE_BOOL ? "bool: 0 or 1" : base_dtype_name(dtype);
}

static void bind_consts(binder *b) {
    for (int64_t i = 0; i < b->kernel->parameter_count; i++) {
        const text_parameter *parameter = &b->kernel->parameters[i];
        const text_argument *given = b->of_parameter[i];
        if (parameter->kind != TEXT_PARAMETER_CONST)
            continue;
        int64_t *value = &b->bindings->consts[parameter->ordinal];
        if (parameter->initial != NULL && parameter->initial->kind != TEXT_EXPRESSION_INTEGER) {
            report(b, "default-value", parameter->initial->location,
                   TEXT("the default of the const `%s` is not an integer", parameter->name->text));
            continue;
        }
        if (parameter->initial != NULL)
            *value = parameter->initial->integer;
        if (given == NULL)
            continue;
        if (given->is_integer)
            *value = given->integer;
        else
            report(b, "argument-range", parameter->location,
                   TEXT("the argument `%s` is not an integer", parameter->name->text))
                ->found = number_text(b, given);
    }
}

/* ---- layouts ---- */

/* An argument's text is a source of its own, so that its faults are shown in it. */
static const base_source *argument_source(binder *b, const text_argument *given) {
    base_source *source = BASE_NEW(b->arena, base_source);
    *source = (base_source){TEXT("argument %s", given->name), given->layout, strlen(given->layout)};
    return source;
}

static void bind_layouts(binder *b) {
    for (int64_t i = 0; i < b->kernel->parameter_count; i++) {
        const text_parameter *parameter = &b->kernel->parameters[i];
        const text_argument *given = b->of_parameter[i];
        if (parameter->kind != TEXT_PARAMETER_LAYOUT)
            continue;
        text_layout *layout = &b->bindings->layouts[parameter->ordinal];
        const base_source *source = b->kernel->file->source;
        const text_expression *initial = parameter->initial;
        if (initial != NULL)
            text_layout_read(b->arena, b->kernel, b->bindings->consts, source,
                             (size_t)(initial->layout - source->text), (size_t)initial->count,
                             layout, b->diagnostics);
        if (given == NULL)
            continue;
        source = argument_source(b, given);
        text_layout_read(b->arena, b->kernel, b->bindings->consts, source, 0, source->length,
                         layout, b->diagnostics);
    }
}

/* ---- sizes ---- */

static void bind_size(binder *b, int size, int64_t value, const char *source, base_location at) {
    const char *name = b->kernel->sizes[size].name->text;
    if (b->bindings->sizes[size] < 0) {
        b->bindings->sizes[size] = value;
        b->size_source[size] = source;
        return;
    }
    if (b->bindings->sizes[size] == value)
        return;
    base_diagnostic *item =
        report(b, "size-mismatch", at,
               TEXT("`%s` and `%s` differ in the size `%s`", b->size_source[size], source, name));
    item->found = TEXT("%s = %" PRId64 " in %s, %" PRId64 " in %s", name, b->bindings->sizes[size],
                       b->size_source[size], value, source);
    item->expected = "one value";
}

static void bind_tensor_sizes(binder *b, const text_parameter *parameter,
                              const text_argument *given) {
    if (given->extent_open)
        return;
    if (given->rank != parameter->rank) {
        base_diagnostic *item =
            report(b, "rank-mismatch", parameter->location,
                   TEXT("the argument `%s` has the wrong rank", parameter->name->text));
        item->found = TEXT("%d dimension%s", given->rank, given->rank == 1 ? "" : "s");
        item->expected = TEXT("%d dimension%s", parameter->rank, parameter->rank == 1 ? "" : "s");
        b->sizes_missing = true;
        return;
    }
    for (int d = 0; d < parameter->rank; d++) {
        const text_dimension *dimension = &parameter->dimensions[d];
        if (dimension->size >= 0)
            bind_size(b, dimension->size, given->extent[d], parameter->name->text,
                      parameter->location);
    }
}

static void bind_sizes(binder *b) {
    for (int64_t s = 0; s < b->kernel->size_count; s++) {
        const text_size *size = &b->kernel->sizes[s];
        const text_argument *given = b->of_size[s];
        b->bindings->size_names[s] = size->name->text;
        b->bindings->sizes[s] = -1;
        if (given == NULL)
            continue;
        if (given->is_integer && given->integer >= 0) {
            bind_size(b, (int)s, given->integer, TEXT("%s=", size->name->text), size->location);
            continue;
        }
        base_diagnostic *item = report(b, "argument-range", size->location,
                                       TEXT("`%s` is not a size", size->name->text));
        item->found = number_text(b, given);
        item->expected = "an integer of 0 or more";
    }
    for (int64_t i = 0; i < b->kernel->parameter_count; i++)
        if (b->kernel->parameters[i].kind == TEXT_PARAMETER_TENSOR && b->of_parameter[i] != NULL)
            bind_tensor_sizes(b, &b->kernel->parameters[i], b->of_parameter[i]);
    for (int64_t s = 0; s < b->kernel->size_count; s++) {
        const text_size *size = &b->kernel->sizes[s];
        bool needed = !b->partial && !b->sizes_missing && b->of_size[s] == NULL;
        if (b->bindings->sizes[s] < 0 && needed) {
            base_diagnostic *item =
                report(b, "unbound-size", size->location,
                       TEXT("no argument says what the size `%s` is", size->name->text));
            item->hint = TEXT("give `%s=` an integer", size->name->text);
        }
    }
}

/* ---- shapes ---- */

static void declare_symbols(binder *b) {
    layout_extents_init(&b->pool, b->arena);
    for (int64_t s = 0; s < b->kernel->size_count; s++) {
        layout_extents_declare(&b->pool, b->bindings->size_names[s]);
        b->pool.symbols[s].known = b->bindings->sizes[s] >= 0;
        b->pool.symbols[s].value = b->bindings->sizes[s];
    }
}

/* Evaluates a dimension: false when it is not known yet or was reported. */
static bool evaluate_dimension(binder *b, const text_parameter *parameter, int d, int64_t *value) {
    const text_dimension *dimension = &parameter->dimensions[d];
    const layout_extent *formula = text_formula_build(&b->pool, b->kernel, b->bindings->consts,
                                                      dimension->formula, b->diagnostics);
    if (formula == NULL)
        return false;
    if (!layout_extent_known(&b->pool, formula, value)) {
        bool all_known = true;
        for (int64_t s = 0; s < b->pool.symbol_count; s++)
            all_known = all_known && b->pool.symbols[s].known;
        if (all_known)
            report(b, "size-overflow", dimension->location, "the size formula overflows 64 bits");
        return false;
    }
    if (*value >= 0)
        return true;
    base_diagnostic *item =
        report(b, "negative-size", dimension->location,
               TEXT("dimension %d of `%s` is negative", d, parameter->name->text));
    item->found = TEXT("%" PRId64, *value);
    return false;
}

static void check_bytes(binder *b, const text_parameter *parameter, const text_argument *shape) {
    int64_t bytes = base_dtype_size(shape->dtype);
    bool empty = false;
    bool fits = true;
    for (int d = 0; d < shape->rank; d++) {
        empty = empty || shape->extent[d] == 0;
        fits = fits && (shape->extent[d] < 0 || base_checked_mul(bytes, shape->extent[d], &bytes));
    }
    if (!fits && !empty)
        report(b, "size-overflow", parameter->location,
               TEXT("`%s` has more bytes than 64 bits can count", parameter->name->text));
}

/* "N // 2 = 4" */
static const char *describe_formula(binder *b, const text_expression *node, int64_t value) {
    base_text text;
    base_text_init(&text, b->arena);
    if (node->kind != TEXT_EXPRESSION_INTEGER) {
        layout_extent_print(
            &text, &b->pool,
            text_formula_build(&b->pool, b->kernel, b->bindings->consts, node, b->diagnostics));
        base_text_string(&text, " = ");
    }
    base_text_format(&text, "%" PRId64, value);
    return text.bytes;
}

/* What the dimension is in the kernel: a formula, or a const that an argument may change. */
static void explain_dimension(binder *b, base_diagnostic *item, const text_expression *formula,
                              int64_t given, int64_t value) {
    int index = formula->kind == TEXT_EXPRESSION_NAME
                    ? text_kernel_find_parameter(b->kernel, formula->name)
                    : -1;
    if (index < 0 || b->kernel->parameters[index].kind != TEXT_PARAMETER_CONST) {
        item->expected = describe_formula(b, formula, value);
        return;
    }
    const char *name = formula->name->text;
    item->expected = TEXT("%s = %" PRId64, name, value);
    item->hint = TEXT("`%s` is a const of the kernel: `%s=%" PRId64 "` gives it this value", name,
                      name, given);
}

static void bind_shape(binder *b, const text_parameter *parameter, const text_argument *given,
                       text_argument *shape) {
    bool open = given == NULL || given->extent_open;
    shape->rank = parameter->rank;
    shape->extent_open = false;
    for (int d = 0; d < parameter->rank; d++) {
        int64_t value = 0;
        bool known = evaluate_dimension(b, parameter, d, &value);
        bool comparable = !open && given->rank == parameter->rank;
        shape->extent[d] = known ? value : comparable ? given->extent[d] : -1;
        shape->extent_open = shape->extent_open || shape->extent[d] < 0;
        if (!known || !comparable || value == given->extent[d] ||
            parameter->dimensions[d].size >= 0) /* a bare name has been compared */
            continue;
        base_diagnostic *item =
            report(b, "size-mismatch", parameter->location,
                   TEXT("dimension %d of `%s` does not agree", d, parameter->name->text));
        item->found = TEXT("%" PRId64, given->extent[d]);
        explain_dimension(b, item, parameter->dimensions[d].formula, given->extent[d], value);
    }
    check_bytes(b, parameter, shape);
}

static void bind_scalar(binder *b, const text_parameter *parameter, const text_argument *given,
                        text_argument *scalar) {
    const text_expression *initial = parameter->initial;
    if (given != NULL) {
        check_scalar(b, parameter, given, scalar->dtype);
        scalar->is_integer = given->is_integer;
        scalar->integer = given->integer;
        scalar->number = given->is_integer ? (double)given->integer : given->number;
    } else if (initial != NULL) {
        scalar->is_integer = initial->kind != TEXT_EXPRESSION_REAL;
        scalar->integer = initial->kind == TEXT_EXPRESSION_INTEGER ? initial->integer
                          : initial->kind == TEXT_EXPRESSION_BOOL  ? initial->boolean
                                                                   : 0;
        scalar->number =
            initial->kind == TEXT_EXPRESSION_REAL ? initial->real : (double)scalar->integer;
    }
}

static void bind_parameters(binder *b) {
    for (int64_t i = 0; i < b->kernel->parameter_count; i++) {
        const text_parameter *parameter = &b->kernel->parameters[i];
        bool tensor = parameter->kind == TEXT_PARAMETER_TENSOR;
        if (!tensor && parameter->kind != TEXT_PARAMETER_SCALAR)
            continue;
        text_argument *bound = &b->bindings->arguments[parameter->ordinal];
        bound->name = parameter->name->text;
        bound->kind = tensor ? TEXT_ARGUMENT_TENSOR : TEXT_ARGUMENT_NUMBER;
        bound->dtype = parameter->dtype_parameter >= 0
                           ? b->bindings->dtypes[parameter->dtype_parameter]
                           : parameter->dtype;
        const text_argument *given = b->of_parameter[i];
        if (tensor && given != NULL && given->home != NULL)
            bound->home = base_arena_copy(b->arena, given->home, strlen(given->home));
        if (tensor)
            bind_shape(b, parameter, b->of_parameter[i], bound);
        else
            bind_scalar(b, parameter, b->of_parameter[i], bound);
    }
}

bool text_kernel_bind(base_arena *arena, const text_kernel *kernel, const text_argument *arguments,
                      int argument_count, bool partial, text_bindings *bindings,
                      base_diagnostics *diagnostics) {
    int64_t before = diagnostics->count + diagnostics->dropped;
    binder b = {.arena = arena,
                .kernel = kernel,
                .diagnostics = diagnostics,
                .partial = partial,
                .bindings = bindings,
                .of_parameter =
                    BASE_NEW_ARRAY(arena, const text_argument *, kernel->parameter_count + 1),
                .of_size = BASE_NEW_ARRAY(arena, const text_argument *, kernel->size_count + 1),
                .size_source = BASE_NEW_ARRAY(arena, const char *, kernel->size_count + 1),
                .dtype_bound = BASE_NEW_ARRAY(arena, bool, kernel->dtype_count + 1),
                .dtype_source = BASE_NEW_ARRAY(arena, const char *, kernel->dtype_count + 1)};
    *bindings =
        (text_bindings){.dtypes = BASE_NEW_ARRAY(arena, base_dtype, kernel->dtype_count + 1),
                        .sizes = BASE_NEW_ARRAY(arena, int64_t, kernel->size_count + 1),
                        .size_names = BASE_NEW_ARRAY(arena, const char *, kernel->size_count + 1),
                        .size_count = (int)kernel->size_count,
                        .consts = BASE_NEW_ARRAY(arena, int64_t, kernel->const_count + 1),
                        .layouts = BASE_NEW_ARRAY(arena, text_layout, kernel->layout_count + 1),
                        .arguments = BASE_NEW_ARRAY(arena, text_argument, kernel->module_count + 1),
                        .argument_count = kernel->module_count};
    place_arguments(&b, arguments, argument_count);
    check_presence(&b);
    bind_dtypes(&b);
    bind_consts(&b);
    bind_layouts(&b);
    bind_sizes(&b);
    declare_symbols(&b);
    bind_parameters(&b);
    return diagnostics->count + diagnostics->dropped == before;
}
