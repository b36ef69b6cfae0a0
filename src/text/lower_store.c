/* Lowering: stores.
 *
 *     y[row, :] = t        the value is cast to the tensor's type where that is allowed, broadcast
 *                          to the shape of the indices, and narrowed to what is inside the tensor
 */
#include "text/lower_internal.h"

/* ---- the value in the tensor's type ---- */

static bool converts_at_store(base_dtype from, base_dtype to) {
    static const struct {
        base_dtype from, to;
    } rows[] = {{BASE_F32, BASE_F16}, {BASE_F32, BASE_BF16}, {BASE_F32, BASE_I8},
                {BASE_F32, BASE_U8},  {BASE_I32, BASE_I8},   {BASE_I32, BASE_U8}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].from == from && rows[i].to == to)
            return true;
    return from == to;
}

static ir_value *store_typed(lowerer *l, lower_value value, base_dtype dtype, base_location at) {
    if (value.kind == LOWER_LITERAL)
        return lower_literal(l, value, dtype, at);
    base_dtype from = lower_dtype(value);
    if (!converts_at_store(from, dtype)) {
        base_diagnostic *item =
            lower_report(l, "type-mismatch", at, "the value does not have the tensor's type");
        item->found = lower_describe(l, value);
        item->expected = base_dtype_name(dtype);
        item->hint = lower_text(l, "write `%s(...)` around the value", base_dtype_name(dtype));
        return NULL;
    }
    if (from == dtype)
        return value.value;
    l->builder.location = at;
    return ir_build_cast(&l->builder, value.value, dtype, IR_ROUND_EVEN);
}

/* ---- the value in the shape of the indices ---- */

static bool fits_shape(lowerer *l, const ir_type *value, const ir_type *shape, base_location at) {
    bool fine = value->rank == 0 || value->rank == shape->rank;
    for (int i = 0; fine && i < value->rank; i++)
        fine = lower_extent_equal(l, value->extent[i], shape->extent[i]) ||
               (lower_extent_is_one(value->extent[i]) && value->domain[i] == NULL);
    if (!fine) {
        base_diagnostic *item = lower_report(l, "shape-mismatch", at,
                                             "the value does not have the shape of the indices");
        item->found = lower_describe_shape(l, value);
        item->expected = lower_describe_shape(l, shape);
        if (value->rank != 0 && value->rank != shape->rank)
            item->hint = "`None` adds an axis to a tile, `0` takes one of extent 1 away";
        return false;
    }
    for (int i = 0; i < value->rank; i++) {
        if (value->domain[i] == NULL || value->domain[i] == shape->domain[i])
            continue;
        base_diagnostic *item =
            lower_report(l, "domain-mismatch", at, "the value and the indices end differently");
        item->found = lower_text(l, "different numbers of elements inside on axis %d", i);
        item->hint = "make the value full: `pad(t, 0.0)`";
        return false;
    }
    return true;
}

/* ---- the statement ---- */

static bool check_target(lowerer *l, const text_expression *target, int parameter) {
    const text_name *name = target->left->name;
    if (parameter < 0) {
        int index = text_kernel_find_parameter(l->kernel, name);
        if (index >= 0 && l->kernel->parameters[index].kind == TEXT_PARAMETER_BROKEN)
            return false;
        base_diagnostic *item =
            lower_report(l, "store-target", target->location, "`%s` is not a tensor", name->text);
        item->expected = "an `out` or `inout` parameter";
        if (l->names[name->id].kind == LOWER_BOUND)
            item->hint = "a tile is a value: compute a new one, such as `where(condition, a, b)`";
        return false;
    }
    if (lower_mode(l, name) == IR_IN) {
        base_diagnostic *item =
            lower_report(l, "store-to-in", target->location, "`%s` is only read", name->text);
        item->found = "a store to a tensor declared `in`";
        item->expected = "a tensor declared `out` or `inout`";
        item->hint = lower_text(l, "declare `%s` `inout` to change it", name->text);
        return false;
    }
    if (target->right != NULL) {
        lower_report(l, "fill-store", target->right->location, "a store has no fill")->hint =
            "a store outside the tensor is dropped";
        return false;
    }
    for (int i = 0; i < target->count; i++) {
        if (target->items[i].kind == TEXT_ITEM_NONE) {
            lower_report(l, "none-store", target->items[i].location,
                         "`None` adds no axis to a tensor");
            return false;
        }
    }
    return true;
}

void lower_store(lowerer *l, const text_statement *statement) {
    const text_expression *target = statement->target;
    int parameter = lower_tensor(l, target->left->name);
    lower_access access;
    lower_value value = lower_expression(l, statement->value);
    if (parameter >= 0)
        l->stored[parameter] = true;
    bool dropped = l->dropped;
    l->dropped = true;
    if (!check_target(l, target, parameter) || !lower_access_build(l, target, parameter, &access) ||
        value.kind == LOWER_POISON)
        return;
    base_location at = statement->value->location;
    ir_value *stored = store_typed(l, value, l->module->parameters[parameter].dtype, at);
    if (stored == NULL || !fits_shape(l, &stored->type, &access.shape, at) ||
        !lower_owner_check_store(l, target, parameter, &access))
        return;
    access.operands[access.operand_count++] =
        lower_broadcast(l, stored, &access.shape, statement->location);
    l->builder.location = statement->location;
    ir_op *op =
        ir_build_op(&l->builder, IR_STORE, access.operand_count, access.operands, 0, NULL, 0);
    op->attributes.access = access.access;
    l->dropped = dropped;
}
