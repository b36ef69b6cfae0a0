/* Silent questions that several families ask. */
#include "verify/verify_internal.h"

#include <string.h>

enum { SAME_WORK = 1000 }; /* ops that a comparison of two values looks at */

bool verify_is_scalar(const ir_value *value) {
    return value->type.form == IR_FORM_UNIFORM ||
           (value->type.form == IR_FORM_TILE && value->type.rank == 0);
}

bool verify_is_tile(const ir_value *value) {
    return value->type.form == IR_FORM_TILE && value->type.rank > 0;
}

bool verify_extent_is_one(const verify_state *state, const layout_extent *extent) {
    return layout_extent_is(&state->module->extents, extent, 1);
}

bool verify_extent_equal(const verify_state *state, const layout_extent *a,
                         const layout_extent *b) {
    return layout_extent_equal(&state->module->extents, a, b);
}

static bool same_attributes(const verify_state *state, const ir_op *a, const ir_op *b) {
    const ir_attributes *x = &a->attributes, *y = &b->attributes;
    if (a->opcode == IR_CONSTANT)
        return x->constant.dtype == y->constant.dtype &&
               x->constant.integer == y->constant.integer &&
               memcmp(&x->constant.real, &y->constant.real, sizeof x->constant.real) == 0;
    if (a->opcode == IR_SIZE || a->opcode == IR_ARANGE)
        return x->extent != NULL && y->extent != NULL &&
               verify_extent_equal(state, x->extent, y->extent);
    return x->parameter == y->parameter && x->axis == y->axis && x->rounding == y->rounding &&
           ir_affine_equal(&x->affine, &y->affine);
}

static bool same_access(const verify_state *state, const ir_access *a, const ir_access *b) {
    if (a == NULL || b == NULL || a->rank != b->rank || a->fill != b->fill)
        return false;
    for (int i = 0; i < a->rank; i++) {
        const ir_index *x = &a->index[i], *y = &b->index[i];
        if (x->kind != y->kind || x->operand != y->operand ||
            (x->kind == IR_INDEX_RANGE && !verify_extent_equal(state, x->length, y->length)))
            return false;
    }
    return true;
}

/* How far two values are compared: ops that are left, and whether loads count as functions of their
 * indices. */
typedef struct comparison {
    const verify_state *state;
    int work;
    bool loads;
} comparison;

static bool same_op(const comparison *c, const ir_op *x, const ir_op *y) {
    bool table = ir_op_describe(x->opcode)->pure && x->opcode != IR_REDUCE &&
                 x->opcode != IR_FOLD && x->opcode != IR_COMBINE;
    if (x->opcode != y->opcode || x->operand_count != y->operand_count)
        return false;
    if (x->opcode == IR_LOAD)
        return c->loads && same_access(c->state, x->attributes.access, y->attributes.access);
    return table && same_attributes(c->state, x, y);
}

static bool same_value(comparison *c, const ir_value *a, const ir_value *b) {
    if (a == b)
        return true;
    if (a == NULL || b == NULL || a->definer == NULL || b->definer == NULL || --c->work < 0)
        return false;
    const ir_op *x = a->definer, *y = b->definer;
    if (!same_op(c, x, y) || a->type.dtype != b->type.dtype ||
        !ir_type_same_shape(c->state->module, &a->type, &b->type))
        return false;
    for (int i = 0; i < x->operand_count; i++)
        if (!same_value(c, x->operands[i], y->operands[i]))
            return false;
    return true;
}

bool verify_same_value(const verify_state *state, const ir_value *a, const ir_value *b) {
    comparison c = {.state = state, .work = SAME_WORK};
    return same_value(&c, a, b);
}

bool verify_same_or_loaded_alike(const verify_state *state, const ir_value *a, const ir_value *b) {
    comparison c = {.state = state, .work = SAME_WORK, .loads = true};
    return same_value(&c, a, b);
}

bool verify_types_agree(const verify_state *state, const ir_type *a, const ir_type *b) {
    if (a->dtype != b->dtype || !ir_type_same_shape(state->module, a, b))
        return false;
    for (int i = 0; a->form == IR_FORM_TILE && i < a->rank; i++)
        if (!verify_same_value(state, a->domain[i], b->domain[i]))
            return false;
    return true;
}
