/* Lowering: calls of functions (functions.def) and casts.
 *
 *     exp(t)            EXP of t in f32            f16(t)          CAST
 *     sum(t, axis=1)    REDUCE over axis 1         where(c, a, 0)  SELECT; 0 takes a's type
 */
#include "base/nearest.h"
#include "text/lower_internal.h"

#include <math.h>
#include <string.h>

typedef enum function_kind {
    MATH,
    ABS,
    EXTREME,
    REDUCE,
    WHERE,
    PAD,
    ARANGE,
    CONVERT
} function_kind;

typedef struct function_row {
    const char *text;
    function_kind kind;
    int code;
    int least, most;
    const char *usage;
} function_row;

static const function_row functions[] = {
#define FUNCTION(text, kind, code, least, most, usage) {text, kind, code, least, most, usage},
#include "text/functions.def"
#undef FUNCTION
};
enum { FUNCTION_COUNT = sizeof functions / sizeof functions[0] };

/* Names that are known elsewhere, and what to write here. */
static const struct {
    const char *text, *hint;
} foreign_functions[] = {
    {"mean", "write `sum(t) / N`"},
    {"clamp", "write `minimum(maximum(t, low), high)`"},
    {"clip", "write `minimum(maximum(t, low), high)`"},
    {"relu", "write `maximum(t, 0.0)`"},
    {"select", "write `where(condition, a, b)`"},
    {"pow", "write `x * x`, or `exp2(b * log2(a))`"},
    {"float", "a cast is written `f32(t)`"},
    {"int", "a cast is written `i32(t)`"},
    {"len", "the sizes of the signature are values: write `N`"},
    {"range", "a loop is written `for k in 0..N { ... }`, an index tile `arange(N)`"},
    {"fabs", "write `abs(t)`"},
    {"amax", "write `max(t)`"},
};

/* Words of the language that come later. */
static const char *const later_functions[] = {"dot",    "scan",    "cumsum", "argmax",
                                              "argmin", "welford", "max_sum"};

static const function_row *find_function(const char *name) {
    for (int i = 0; i < FUNCTION_COUNT; i++)
        if (strcmp(functions[i].text, name) == 0)
            return &functions[i];
    return NULL;
}

bool lower_is_function(const text_name *name) {
    base_dtype dtype;
    return find_function(name->text) != NULL ||
           (base_dtype_from_name(name->text, (size_t)name->length, &dtype) && dtype != BASE_INDEX &&
            dtype != BASE_F64); /* `index` is free as a name */
}

static lower_value reject(lowerer *l, const char *slug, base_location at, const char *message,
                          lower_value found, const char *hint) {
    base_diagnostic *item = lower_report(l, slug, at, "%s", message);
    item->found = lower_describe(l, found);
    item->hint = hint;
    return lower_poison();
}

/* ---- unknown functions ---- */

static lower_value report_unknown(lowerer *l, const text_expression *node) {
    const char *name = node->name->text;
    for (size_t i = 0; i < sizeof later_functions / sizeof later_functions[0]; i++) {
        if (strcmp(later_functions[i], name) == 0) {
            lower_report(l, "unsupported-function", node->location, "`%s` is not supported yet",
                         name);
            return lower_poison();
        }
    }
    base_diagnostic *item =
        lower_report(l, "unknown-function", node->location, "unknown function `%s`", name);
    item->found = name;
    item->expected = "a function or a type of the language; a kernel cannot be called";
    for (size_t i = 0; i < sizeof foreign_functions / sizeof foreign_functions[0]; i++)
        if (strcmp(foreign_functions[i].text, name) == 0)
            item->hint = foreign_functions[i].hint;
    const char *names[FUNCTION_COUNT + BASE_DTYPE_COUNT];
    int count = 0;
    for (int i = 0; i < FUNCTION_COUNT; i++)
        names[count++] = functions[i].text;
    for (int i = 0; i < BASE_DTYPE_COUNT; i++)
        names[count++] = base_dtype_name((base_dtype)i);
    const char *near = base_nearest_name(name, names, count);
    if (item->hint == NULL && near != NULL)
        item->hint = lower_text(l, "did you mean `%s`?", near);
    else if (item->hint == NULL)
        item->hint = "docs/language.md lists the functions";
    return lower_poison();
}

/* ---- casts ---- */

static lower_value cast_literal(lowerer *l, lower_value literal, base_dtype dtype,
                                base_location at) {
    if (dtype == BASE_BOOL) {
        l->builder.location = at;
        return lower_typed(ir_build_constant(
            &l->builder, (ir_constant){.dtype = BASE_BOOL, .integer = literal.real != 0}));
    }
    if (!base_dtype_is_float(dtype) && !literal.is_integer && !literal.open)
        literal.real = isnan(literal.real) ? 0 : trunc(literal.real);
    ir_value *constant = lower_literal(l, literal, dtype, at);
    return constant != NULL ? lower_typed(constant) : lower_poison();
}

static lower_value lower_cast_call(lowerer *l, const text_expression *node, base_dtype dtype) {
    if (node->count != 1 || node->arguments[0].keyword != NULL) {
        lower_report(l, "argument-count", node->location, "a cast takes one value")->expected =
            lower_text(l, "%s(t)", node->name->text);
        return lower_poison();
    }
    lower_value value = lower_expression(l, node->arguments[0].value);
    if (value.kind == LOWER_POISON)
        return value;
    if (value.kind == LOWER_LITERAL)
        return cast_literal(l, value, dtype, node->location);
    return lower_typed(lower_cast(l, value.value, dtype, node->location));
}

/* ---- elementwise functions ---- */

static lower_value lower_math(lowerer *l, const text_expression *node, const function_row *row,
                              lower_value a) {
    if (a.kind == LOWER_LITERAL) {
        ir_value *constant = lower_literal(l, a, BASE_F32, node->location);
        if (constant == NULL)
            return lower_poison();
        a = lower_typed(constant);
    }
    if (!base_dtype_is_float(lower_dtype(a)))
        return reject(l, "type-mismatch", node->location,
                      lower_text(l, "`%s` needs a float", row->text), a,
                      lower_text(l, "write `%s(f32(...))`", row->text));
    ir_value *operand = lower_cast(l, a.value, BASE_F32, node->location);
    return lower_table_op(l, (ir_opcode)row->code, node->location, 1, &operand, BASE_F32);
}

static lower_value lower_abs(lowerer *l, const text_expression *node, lower_value a) {
    if (a.kind == LOWER_LITERAL && a.open)
        return a;
    if (a.kind == LOWER_LITERAL)
        return a.is_integer && a.integer < 0
                   ? lower_fold_unary(l, TEXT_OPERATOR_NEG, a, node->location)
               : a.is_integer ? a
                              : lower_real(fabs(a.real));
    base_dtype dtype = lower_dtype(a);
    bool keeps = dtype == BASE_F16 || dtype == BASE_BF16;
    ir_value *operand =
        keeps ? a.value : lower_cast(l, a.value, lower_compute_dtype(dtype), node->location);
    return lower_table_op(l, IR_ABS, node->location, 1, &operand, operand->type.dtype);
}

static bool is_open(lower_value a, lower_value b) {
    return a.kind == LOWER_LITERAL && b.kind == LOWER_LITERAL && (a.open || b.open);
}

static lower_value lower_extreme(lowerer *l, const text_expression *node, const function_row *row,
                                 lower_value a, lower_value b) {
    base_location at = node->location;
    if (is_open(a, b))
        return lower_open(a, b);
    if (!lower_unify(l, LOWER_MIX_KEEP, lower_text(l, "`%s`", row->text), at, &a, &b))
        return lower_poison();
    base_dtype dtype = lower_dtype(a);
    bool narrow = dtype == BASE_I8 || dtype == BASE_U8 || dtype == BASE_BOOL;
    ir_value *operands[2] = {a.value, b.value};
    for (int i = 0; i < 2 && narrow; i++)
        operands[i] = lower_cast(l, operands[i], BASE_I32, at);
    lower_value result =
        lower_table_op(l, (ir_opcode)row->code, at, 2, operands, operands[0]->type.dtype);
    if (narrow && dtype != BASE_BOOL && result.kind == LOWER_TYPED) /* one of the two: it fits */
        return lower_typed(lower_cast(l, result.value, dtype, at));
    return result;
}

static lower_value lower_where(lowerer *l, const text_expression *node, const lower_value *values) {
    lower_value condition = values[0];
    lower_value a = values[1];
    lower_value b = values[2];
    if (condition.kind != LOWER_TYPED || lower_dtype(condition) != BASE_BOOL)
        return reject(l, "type-mismatch", node->arguments[0].location,
                      "the condition of `where` is not bool", condition, "write `x != 0`");
    if (is_open(a, b))
        return lower_open(a, b);
    if (!lower_unify(l, LOWER_MIX_KEEP, "`where`", node->location, &a, &b))
        return lower_poison();
    ir_value *operands[3] = {condition.value, a.value, b.value};
    return lower_table_op(l, IR_SELECT, node->location, 3, operands, lower_dtype(a));
}

/* ---- tiles ---- */

static lower_value lower_pad(lowerer *l, const text_expression *node, lower_value tile,
                             lower_value value) {
    if (!lower_is_tile(tile))
        return reject(l, "pad-scalar", node->location, "`pad` needs a tile", tile, NULL);
    if (lower_is_tile(value))
        return reject(l, "pad-value", node->arguments[1].location,
                      "the value of `pad` is not a scalar", value, NULL);
    if (!lower_unify(l, LOWER_MIX_KEEP, "`pad`", node->location, &tile, &value))
        return lower_poison();
    ir_type type = tile.value->type;
    bool full = true;
    for (int i = 0; i < type.rank; i++) {
        full = full && type.domain[i] == NULL;
        type.domain[i] = NULL;
    }
    if (full)
        return tile;
    l->builder.location = node->location;
    ir_value *operands[2] = {tile.value, value.value};
    return lower_typed(ir_build_op(&l->builder, IR_PAD, 2, operands, 1, &type, 0)->results[0]);
}

static lower_value lower_arange(lowerer *l, const text_expression *node, lower_value count) {
    layout_extents *pool = &l->module->extents;
    const layout_extent *extent = NULL;
    if (count.kind == LOWER_LITERAL && count.is_integer && !count.open)
        extent = layout_extent_constant(pool, count.integer);
    else if (count.kind == LOWER_TYPED)
        extent = lower_formula(l, count.value);
    if (extent == NULL)
        return reject(l, "size-formula", node->arguments[0].location,
                      "the length of `arange` is not a size formula", count,
                      "sizes, consts and integers joined by + - * // % minimum maximum");
    if (extent->kind == LAYOUT_EXTENT_CONSTANT && extent->value < 0)
        return reject(l, "negative-size", node->arguments[0].location,
                      "the length of `arange` is negative", count, NULL);
    if (!range_extent_not_negative(&l->range, extent))
        extent =
            layout_extent_binary(pool, LAYOUT_EXTENT_MAX, extent, layout_extent_constant(pool, 0));
    if (!lower_check_extent(l, extent, node->arguments[0].location))
        return lower_poison();
    ir_type type = ir_type_scalar(BASE_INDEX);
    type.rank = 1;
    type.extent[0] = lower_extent(l, extent);
    l->builder.location = node->location;
    ir_op *op = ir_build_op(&l->builder, IR_ARANGE, 0, NULL, 1, &type, 0);
    op->attributes.extent = extent;
    return lower_typed(op->results[0]);
}

/* ---- reductions ---- */

typedef struct reduce_options {
    int axis; /* -1: not given */
    ir_nan nan;
    ir_order order;
    ir_zero zero;
} reduce_options;

static bool read_axis(lowerer *l, const text_call_argument *argument, const ir_type *type,
                      reduce_options *options) {
    lower_value axis = lower_expression(l, argument->value);
    if (axis.kind == LOWER_POISON)
        return false;
    bool fine = axis.kind == LOWER_LITERAL && axis.is_integer && axis.integer >= 0 &&
                axis.integer < type->rank;
    if (fine) {
        options->axis = (int)axis.integer;
        return true;
    }
    base_diagnostic *item =
        lower_report(l, "axis-range", argument->value->location, "there is no such axis");
    item->found = lower_describe(l, axis);
    item->expected = lower_text(l, "an axis from 0 to %d", type->rank - 1);
    item->hint = "axes are those of the tile, counted from 0: a point index drops its dimension";
    return false;
}

static bool read_policy(lowerer *l, const text_call_argument *argument, reduce_options *options) {
    static const struct {
        const char *keyword, *value;
        int choice;
    } rows[] = {
        {"order", "tree", IR_ORDER_TREE},       {"order", "left", IR_ORDER_LEFT},
        {"order", "right", IR_ORDER_RIGHT},     {"order", "canonical", IR_ORDER_CANONICAL},
        {"nan", "propagate", IR_NAN_PROPAGATE}, {"nan", "ignore", IR_NAN_IGNORE},
        {"zero", "relaxed", IR_ZERO_RELAXED},   {"zero", "strict", IR_ZERO_STRICT},
    };
    const char *keyword = argument->keyword->text;
    const text_expression *value = argument->value;
    const char *word = value->kind == TEXT_EXPRESSION_NAME ? value->name->text : "";
    const char *expected = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].keyword, keyword) != 0)
            continue;
        expected =
            expected == NULL ? rows[i].value : lower_text(l, "%s, %s", expected, rows[i].value);
        if (strcmp(rows[i].value, word) != 0)
            continue;
        if (strcmp(keyword, "order") == 0)
            options->order = (ir_order)rows[i].choice;
        else if (strcmp(keyword, "nan") == 0)
            options->nan = (ir_nan)rows[i].choice;
        else
            options->zero = (ir_zero)rows[i].choice;
        return true;
    }
    if (expected == NULL) {
        lower_report(l, "unknown-keyword", argument->location, "a reduction has no keyword `%s`",
                     keyword)
            ->expected = "axis, order, nan or zero";
        return false;
    }
    base_diagnostic *item = lower_report(l, "reduction-policy", value->location,
                                         "this is not a value of `%s`", keyword);
    item->expected = expected;
    return false;
}

static bool read_options(lowerer *l, const text_expression *node, const ir_type *type,
                         reduce_options *options) {
    for (int i = 0; i < node->count; i++) {
        const text_call_argument *argument = &node->arguments[i];
        if (argument->keyword == NULL)
            continue;
        bool axis = strcmp(argument->keyword->text, "axis") == 0;
        if (axis ? !read_axis(l, argument, type, options) : !read_policy(l, argument, options))
            return false;
    }
    if (options->axis >= 0 || type->rank == 1)
        return true;
    base_diagnostic *item =
        lower_report(l, "axis-missing", node->location, "which axis is reduced?");
    item->found = lower_text(l, "a tile with %d axes", type->rank);
    item->expected = "`axis=`, which only a tile with one axis can do without";
    item->hint = lower_text(l, "write `%s(t, axis=%d)`", node->name->text, type->rank - 1);
    return false;
}

static bool check_reducible(lowerer *l, const text_expression *node, ir_monoid monoid,
                            lower_value tile) {
    bool logical = monoid == IR_MONOID_ANY || monoid == IR_MONOID_ALL;
    bool is_bool = lower_dtype(tile) == BASE_BOOL;
    bool ordered = monoid == IR_MONOID_MAX || monoid == IR_MONOID_MIN;
    if (logical && !is_bool) {
        reject(l, "type-mismatch", node->location,
               lower_text(l, "`%s` needs bool", node->name->text), tile,
               lower_text(l, "write `%s(t != 0)`", node->name->text));
        return false;
    }
    if (ordered && is_bool) {
        reject(l, "type-mismatch", node->location,
               lower_text(l, "`%s` needs numbers", node->name->text), tile,
               "write `any(t)` or `all(t)`");
        return false;
    }
    return true;
}

static lower_value lower_reduce(lowerer *l, const text_expression *node, const function_row *row,
                                lower_value tile) {
    if (!lower_is_tile(tile)) {
        base_diagnostic *item =
            lower_report(l, "reduce-scalar", node->location, "`%s` reduces a tile", row->text);
        item->found = lower_describe(l, tile);
        item->expected = "a tile";
        item->hint = "this is one value already";
        return lower_poison();
    }
    reduce_options options = {.axis = -1, .nan = IR_NAN_PROPAGATE};
    ir_type type = tile.value->type;
    ir_monoid monoid = (ir_monoid)row->code;
    if (!check_reducible(l, node, monoid, tile) || !read_options(l, node, &type, &options))
        return lower_poison();
    int axis = options.axis >= 0 ? options.axis : 0;
    base_dtype dtype = ir_monoid_result(monoid, type.dtype);
    if (type.rank == 1) {
        type = ir_type_scalar(dtype);
    } else {
        type.dtype = dtype;
        type.extent[axis] = layout_extent_constant(&l->module->extents, 1);
        type.domain[axis] = NULL;
    }
    l->builder.location = node->location;
    ir_op *op = ir_build_op(&l->builder, IR_REDUCE, 1, &tile.value, 1, &type, 0);
    op->attributes.axis = axis;
    op->attributes.monoid = monoid;
    op->attributes.nan = options.nan;
    if (base_dtype_is_float(ir_monoid_state(monoid, tile.value->type.dtype)))
        op->attributes.zero = options.zero;
    if (ir_reduce_needs_order(op)) /* else every order gives one result */
        op->attributes.order = options.order;
    return lower_typed(op->results[0]);
}

/* ---- calls ---- */

static bool check_count(lowerer *l, const text_expression *node, const function_row *row) {
    int positional = 0;
    for (int i = 0; i < node->count; i++) {
        const text_call_argument *argument = &node->arguments[i];
        if (argument->keyword == NULL && i > positional) {
            lower_report(l, "argument-order", argument->location, "a value stands after a keyword");
            return false;
        }
        if (argument->keyword == NULL) {
            positional++;
        } else if (row->kind != REDUCE) {
            lower_report(l, "unknown-keyword", argument->location, "`%s` has no keyword `%s`",
                         row->text, argument->keyword->text)
                ->expected = row->usage;
            return false;
        }
    }
    if (positional >= row->least && positional <= row->most)
        return true;
    bool second = positional == 2;
    base_diagnostic *item =
        lower_report(l, "argument-count", node->location, "`%s` takes %d value%s", row->text,
                     row->least, row->least == 1 ? "" : "s");
    item->found = lower_text(l, "%d", positional);
    item->expected = row->usage;
    item->hint = row->kind == CONVERT ? "the second is the layout that t gets"
                 : row->least == 1    ? "one tile or scalar stands between the parentheses"
                                      : "values stand between the parentheses, separated by commas";
    if (second && row->kind == REDUCE) {
        bool extreme = row->code == IR_MONOID_MAX || row->code == IR_MONOID_MIN;
        item->hint = extreme ? lower_text(l, "of two values: `%simum(a, b)`", row->text)
                             : "the axis is a keyword: `axis=1`";
    }
    return false;
}

static lower_value call_function(lowerer *l, const text_expression *node, const function_row *row,
                                 const lower_value *values) {
    switch (row->kind) {
    case MATH:
        return lower_math(l, node, row, values[0]);
    case ABS:
        return lower_abs(l, node, values[0]);
    case EXTREME:
        return lower_extreme(l, node, row, values[0], values[1]);
    case REDUCE:
        return lower_reduce(l, node, row, values[0]);
    case WHERE:
        return lower_where(l, node, values);
    case PAD:
        return lower_pad(l, node, values[0], values[1]);
    case ARANGE: {
        lower_value tile = lower_arange(l, node, values[0]);
        return node->count == 2 ? lower_fix_owner(l, tile, node->arguments[1].value) : tile;
    }
    case CONVERT:
        return lower_convert(l, node, values[0]);
    }
    return lower_poison();
}

lower_value lower_call(lowerer *l, const text_expression *node) {
    base_dtype dtype;
    if (base_dtype_from_name(node->name->text, (size_t)node->name->length, &dtype) &&
        dtype != BASE_F64)
        return lower_cast_call(l, node, dtype);
    int index = text_kernel_find_parameter(l->kernel, node->name);
    if (index >= 0 && l->kernel->parameters[index].kind == TEXT_PARAMETER_DTYPE)
        return lower_cast_call(l, node, l->bindings->dtypes[l->kernel->parameters[index].ordinal]);
    if (index >= 0 && l->kernel->parameters[index].kind == TEXT_PARAMETER_BROKEN)
        return lower_poison();
    const function_row *row = find_function(node->name->text);
    if (row == NULL)
        return report_unknown(l, node);
    if (!check_count(l, node, row))
        return lower_poison();
    lower_value values[3] = {lower_poison(), lower_poison(), lower_poison()};
    bool poisoned = false;
    bool fixes = row->kind == ARANGE || row->kind == CONVERT;
    for (int i = 0; i < (fixes ? 1 : row->most); i++) {
        values[i] = lower_expression(l, node->arguments[i].value);
        poisoned = poisoned || values[i].kind == LOWER_POISON;
    }
    return poisoned ? lower_poison() : call_function(l, node, row, values);
}
