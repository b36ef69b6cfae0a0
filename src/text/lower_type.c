/* Lowering: the implicit conversions, and the shape that operands have together.
 *
 *     f16 tile * f32 scalar      the tile is cast to f32
 *     sum(t) / N                 the size is cast to f32: it converts exactly, or is an error
 *     i32 + f32                  an error that proposes a cast
 *
 * Operands agree when each is a scalar or has the one rank, each extent equal or 1, and each domain
 * the same or full.
 */
#include "text/lower_internal.h"

#include <string.h>

enum { EXACT_FLOAT_LIMIT = 1 << 24 };

/* ---- types ---- */

base_dtype lower_compute_dtype(base_dtype dtype) {
    switch (dtype) {
    case BASE_F32:
    case BASE_F16:
    case BASE_BF16:
        return BASE_F32;
    case BASE_I32:
    case BASE_I8:
    case BASE_U8:
    case BASE_BOOL:
        return BASE_I32;
    case BASE_I64:
    case BASE_U32:
    case BASE_INDEX:
    case BASE_F64:
        return dtype;
    }
    return dtype;
}

ir_value *lower_cast(lowerer *l, ir_value *value, base_dtype dtype, base_location at) {
    if (value->type.dtype == dtype)
        return value;
    l->builder.location = at;
    if (value->type.rank == 0 && !base_dtype_is_float(dtype) &&
        !base_dtype_is_float(value->type.dtype)) /* rounding=zero, as in a new op */
        return lower_shared_op(l, IR_CAST, dtype, 1, &value);
    return ir_build_cast(&l->builder, value, dtype, IR_ROUND_ZERO);
}

/* An index value as f32; NULL when it may lose bits. */
static ir_value *index_to_float(lowerer *l, ir_value *value, base_location at) {
    if (range_within(&l->range, value, EXACT_FLOAT_LIMIT))
        return lower_cast(l, value, BASE_F32, at);
    base_diagnostic *item = lower_report(l, "inexact-index", at,
                                         "an index value beside floats may not convert exactly");
    item->found = "it is not known to stay within 2^24";
    item->hint = "write `f32(...)` around it if rounding is meant";
    return NULL;
}

static ir_value *convert(lowerer *l, lower_value value, base_dtype dtype, base_location at) {
    if (value.kind == LOWER_LITERAL)
        return lower_literal(l, value, dtype, at);
    if (value.value->type.dtype == BASE_INDEX && base_dtype_is_float(dtype))
        return index_to_float(l, value.value, at);
    return lower_cast(l, value.value, dtype, at);
}

/* ---- one dtype for two operands ---- */

static bool unify_literal(lower_mix mix, base_dtype other, base_dtype *common) {
    if (mix == LOWER_MIX_KEEP || (mix == LOWER_MIX_BITS && other == BASE_BOOL))
        *common = other;
    else
        *common = lower_compute_dtype(other);
    return true;
}

static bool is_pair(base_dtype a, base_dtype b, base_dtype x, base_dtype y) {
    return (a == x && b == y) || (a == y && b == x);
}

static bool unify_typed(lower_mix mix, base_dtype a, base_dtype b, base_dtype *common) {
    if (a == b && (mix == LOWER_MIX_KEEP || (a == BASE_BOOL && mix != LOWER_MIX_COMPUTE))) {
        *common = a;
        return true;
    }
    if (mix == LOWER_MIX_BITS && (a == BASE_BOOL || b == BASE_BOOL))
        return false;
    a = lower_compute_dtype(a);
    b = lower_compute_dtype(b);
    *common = a;
    if (a == b)
        return true;
    if (a != BASE_INDEX && b != BASE_INDEX) {
        *common = BASE_I64;
        return mix == LOWER_MIX_COMPARE && is_pair(a, b, BASE_I64, BASE_I32);
    }
    base_dtype other = a == BASE_INDEX ? b : a;
    *common = base_dtype_is_float(other) ? other : BASE_INDEX;
    return true;
}

static const char *propose_cast(lowerer *l, lower_mix mix, base_dtype a, base_dtype b) {
    if (mix == LOWER_MIX_BITS && (a == BASE_BOOL || b == BASE_BOOL))
        return "comparisons bind looser than `&`, `|` and `^`: write `(a > 0) & (b > 0)`";
    base_dtype x = lower_compute_dtype(a);
    base_dtype y = lower_compute_dtype(b);
    if (base_dtype_is_float(x) || base_dtype_is_float(y))
        return lower_text(l, "write `f32(...)` around the %s",
                          base_dtype_name(base_dtype_is_float(x) ? b : a));
    return lower_text(l, "write `%s(...)` around the %s, or `%s(...)` around the %s",
                      base_dtype_name(x), base_dtype_name(b), base_dtype_name(y),
                      base_dtype_name(a));
}

static bool both_literal(lowerer *l, lower_value *a, lower_value *b, base_location at) {
    base_dtype first = lower_literal_default(*a);
    base_dtype second = lower_literal_default(*b);
    base_dtype common = first == second                           ? first
                        : first == BASE_F32 || second == BASE_F32 ? BASE_F32
                                                                  : BASE_I64;
    ir_value *x = lower_literal(l, *a, common, at);
    ir_value *y = lower_literal(l, *b, common, at);
    *a = lower_typed(x);
    *b = lower_typed(y);
    return x != NULL && y != NULL;
}

bool lower_unify(lowerer *l, lower_mix mix, const char *what, base_location at, lower_value *a,
                 lower_value *b) {
    bool literal = a->kind == LOWER_LITERAL || b->kind == LOWER_LITERAL;
    if (a->kind == LOWER_LITERAL && b->kind == LOWER_LITERAL)
        return both_literal(l, a, b, at);
    base_dtype common = BASE_F32;
    bool agree = literal
                     ? unify_literal(mix, lower_dtype(a->kind == LOWER_LITERAL ? *b : *a), &common)
                     : unify_typed(mix, lower_dtype(*a), lower_dtype(*b), &common);
    if (!agree) {
        base_diagnostic *item = lower_report(l, "type-mismatch", at, "%s mixes two types", what);
        item->found = lower_text(l, "%s and %s", lower_describe(l, *a), lower_describe(l, *b));
        item->expected = "one type";
        item->hint = propose_cast(l, mix, lower_dtype(*a), lower_dtype(*b));
        return false;
    }
    ir_value *x = convert(l, *a, common, at);
    ir_value *y = x != NULL ? convert(l, *b, common, at) : NULL;
    if (x == NULL || y == NULL)
        return false;
    *a = lower_typed(x);
    *b = lower_typed(y);
    return true;
}

lower_value lower_to_index(lowerer *l, lower_value value, const char *what, base_location at) {
    if (value.kind == LOWER_POISON)
        return value;
    if (value.kind == LOWER_LITERAL && (value.is_integer || value.open)) {
        ir_value *constant = lower_literal(l, value, BASE_INDEX, at);
        return constant != NULL ? lower_typed(constant) : lower_poison();
    }
    if (value.kind == LOWER_TYPED && base_dtype_is_integer(lower_dtype(value)))
        return lower_typed(lower_cast(l, value.value, BASE_INDEX, at));
    base_diagnostic *item = lower_report(l, "index-type", at, "%s is not an integer", what);
    item->found = lower_describe(l, value);
    item->expected = "an integer or index value";
    return lower_poison();
}

/* ---- one shape for several operands ---- */

bool lower_extent_is_one(const layout_extent *extent) {
    return extent->kind == LAYOUT_EXTENT_CONSTANT && extent->value == 1;
}

bool lower_extent_equal(lowerer *l, const layout_extent *a, const layout_extent *b) {
    return layout_extent_equal(&l->module->extents, a, b) || range_extent_equal(&l->range, a, b);
}

static bool report_ranks(lowerer *l, base_location at, const ir_type *a, const ir_type *b) {
    base_diagnostic *item =
        lower_report(l, "rank-mismatch", at, "tiles of different rank do not broadcast");
    item->found =
        lower_text(l, "%s and %s", lower_describe_shape(l, a), lower_describe_shape(l, b));
    item->expected = "tiles of the same rank, or a scalar";
    item->hint = "add axes with None, such as `t[:, None]` or `t[None, :]`";
    return false;
}

static bool report_extents(lowerer *l, base_location at, const ir_type *a, const ir_type *b,
                           int axis) {
    base_diagnostic *item = lower_report(l, "shape-mismatch", at, "axis %d differs", axis);
    item->found =
        lower_text(l, "%s and %s", lower_describe_shape(l, a), lower_describe_shape(l, b));
    item->expected = "equal extents, or 1";
    item->hint = "sizes that are always equal have one name in the kernel's signature";
    return false;
}

static bool report_domains(lowerer *l, base_location at, int axis) {
    base_diagnostic *item =
        lower_report(l, "domain-mismatch", at, "the tiles reach past their tensors differently");
    item->found = lower_text(l, "different numbers of elements inside on axis %d", axis);
    item->hint = "make one of them full: `pad(t, 0.0)`";
    return false;
}

/* Joins one axis of `other` into `type`. */
static bool combine_axis(lowerer *l, base_location at, ir_type *type, const ir_type *other,
                         int axis) {
    bool equal = lower_extent_equal(l, type->extent[axis], other->extent[axis]);
    bool first_is_one = lower_extent_is_one(type->extent[axis]);
    if (!equal && !first_is_one && !lower_extent_is_one(other->extent[axis]))
        return report_extents(l, at, type, other, axis);
    if (!equal) {
        const ir_type *one = first_is_one ? type : other;
        if (one->domain[axis] != NULL)
            return report_domains(l, at, axis);
        if (first_is_one) {
            type->extent[axis] = other->extent[axis];
            type->domain[axis] = other->domain[axis];
        }
        return true;
    }
    if (type->domain[axis] == NULL)
        type->domain[axis] = other->domain[axis];
    else if (other->domain[axis] != NULL && other->domain[axis] != type->domain[axis])
        return report_domains(l, at, axis);
    return true;
}

bool lower_combine(lowerer *l, base_location at, int count, ir_value *const *operands,
                   ir_type *type) {
    *type = ir_type_scalar(operands[0]->type.dtype);
    for (int i = 0; i < count; i++) {
        const ir_type *other = &operands[i]->type;
        if (other->rank == 0)
            continue;
        if (type->rank == 0) {
            *type = *other;
            continue;
        }
        if (type->rank != other->rank)
            return report_ranks(l, at, type, other);
        for (int axis = 0; axis < type->rank; axis++)
            if (!combine_axis(l, at, type, other, axis))
                return false;
    }
    return true;
}

/* ---- ops ---- */

/* Index arithmetic on sizes alone is a size formula. */
static ir_value *index_arithmetic(lowerer *l, ir_opcode opcode, ir_value *a, ir_value *b) {
    static const struct {
        ir_opcode opcode;
        layout_extent_kind kind;
    } rows[] = {
        {IR_ADD, LAYOUT_EXTENT_ADD},       {IR_SUB, LAYOUT_EXTENT_SUB},
        {IR_MUL, LAYOUT_EXTENT_MUL},       {IR_FLOOR_DIV, LAYOUT_EXTENT_DIV},
        {IR_FLOOR_MOD, LAYOUT_EXTENT_MOD}, {IR_MINIMUM, LAYOUT_EXTENT_MIN},
        {IR_MAXIMUM, LAYOUT_EXTENT_MAX},
    };
    const layout_extent *left = lower_formula(l, a);
    const layout_extent *right = lower_formula(l, b);
    for (size_t i = 0; left != NULL && right != NULL && i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].opcode != opcode)
            continue;
        const layout_extent *formula =
            layout_extent_binary(&l->module->extents, rows[i].kind, left, right);
        if (formula != NULL)
            return lower_index_size(l, formula);
    }
    return lower_index_binary(l, opcode, a, b);
}

lower_value lower_table_op(lowerer *l, ir_opcode opcode, base_location at, int count,
                           ir_value *const *operands, base_dtype dtype) {
    ir_type type;
    if (!lower_combine(l, at, count, operands, &type))
        return lower_poison();
    l->builder.location = at;
    if (count == 2 && type.rank == 0 && dtype == BASE_INDEX)
        return lower_typed(index_arithmetic(l, opcode, operands[0], operands[1]));
    if (type.rank == 0 && !base_dtype_is_float(dtype) &&
        !base_dtype_is_float(operands[count - 1]->type.dtype))
        return lower_typed(lower_shared_op(l, opcode, dtype, count, operands));
    type.dtype = dtype;
    return lower_typed(ir_build_op(&l->builder, opcode, count, operands, 1, &type, 0)->results[0]);
}

ir_value *lower_broadcast(lowerer *l, ir_value *value, const ir_type *shape, base_location at) {
    bool same = value->type.rank == shape->rank;
    for (int i = 0; same && i < shape->rank; i++)
        same = value->type.domain[i] == shape->domain[i] &&
               lower_extent_equal(l, value->type.extent[i], shape->extent[i]);
    if (same)
        return value;
    ir_type type = *shape;
    type.dtype = value->type.dtype;
    type.form = IR_FORM_TILE;
    l->builder.location = at;
    return ir_build_op(&l->builder, IR_BROADCAST, 1, &value, 1, &type, 0)->results[0];
}
