/* The operators, and the table of them at the end.
 *
 *     bound +1        for %i = 0 .. %n step 8        for %i = 0 .. %n + 1 step 8
 *     mask deleted    load %x[lane*1] mask=..        load %x[lane*1]
 *
 * An operator sees each op in turn. Where it applies it asks is_site, which counts, and changes the
 * op when this is the site that is meant; so every operator numbers its own sites, and an op may
 * have several. What an operator makes need not verify: that it does not is what is tested.
 */
#include "operators.h"

#include "ir/builder.h"

#include <math.h>
#include <string.h>

/* Whether this is the site: counts it. */
static bool is_site(mutation *m) {
    if (m->done || m->left-- > 0)
        return false;
    m->done = true;
    return true;
}

typedef void (*op_mutator)(mutation *m, ir_op *op);

static void each_op(mutation *m, ir_region *region, op_mutator mutate) {
    for (ir_op *op = region->first, *next; op != NULL && !m->done; op = next) {
        next = op->next;
        for (int i = 0; i < op->region_count && !m->done; i++)
            each_op(m, op->regions[i], mutate);
        if (!m->done)
            mutate(m, op);
    }
}

/* ---- making ops ---- */
static ir_value *made_before(mutation *m, ir_op *where, ir_opcode opcode, int count,
                             ir_value *const *operands, ir_type type) {
    ir_op *op = ir_op_create(m->module, opcode, where->location, count, operands, 1, &type, 0);
    ir_op_insert_before(where, op);
    return op->results[0];
}

static ir_value *constant_before(mutation *m, ir_op *where, ir_constant constant) {
    ir_value *value = made_before(m, where, IR_CONSTANT, 0, NULL, ir_type_uniform(constant.dtype));
    value->definer->attributes.constant = constant;
    return value;
}

/* value + m->amount, made before the op. */
static ir_value *shifted(mutation *m, ir_op *where, ir_value *value) {
    ir_constant constant = {.dtype = value->type.dtype, .integer = m->amount};
    ir_value *operands[] = {value, constant_before(m, where, constant)};
    return made_before(m, where, IR_ADD, 2, operands, value->type);
}

static bool is_integer(const ir_value *value) {
    base_dtype dtype = value->type.dtype;
    return dtype == BASE_I64 || dtype == BASE_I32 || dtype == BASE_U32;
}

static void replace_uses(ir_region *region, const ir_value *old, ir_value *with) {
    for (ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->operand_count; i++)
            if (op->operands[i] == old)
                op->operands[i] = with;
        for (int i = 0; i < op->region_count; i++)
            replace_uses(op->regions[i], old, with);
    }
}

/* The op is gone and one of its operands stands for its result. */
static void bypass(mutation *m, ir_op *op, ir_value *with) {
    replace_uses(&m->module->body, op->results[0], with);
    ir_op_remove(op);
}

static bool same_type(const mutation *m, const ir_value *a, const ir_value *b) {
    return ir_type_equal(m->module, &a->type, &b->type);
}

/* ---- loops ---- */
static void shift_operand(mutation *m, ir_op *op, int operand) {
    if (operand >= 0 && is_integer(op->operands[operand]) && is_site(m))
        op->operands[operand] = shifted(m, op, op->operands[operand]);
}

static void bound_shift(mutation *m, ir_op *op) {
    for (int i = 0; op->opcode == IR_FOR && i < 3; i++)
        shift_operand(m, op, i);
}

static void loop_never(mutation *m, ir_op *op) {
    if (op->opcode == IR_FOR && is_site(m))
        op->operands[1] = op->operands[0];
}

static bool is_constant(const ir_value *value) {
    const ir_op *op = value->definer;
    if (op != NULL && op->opcode == IR_BROADCAST)
        op = op->operands[0]->definer;
    return op != NULL && op->opcode == IR_CONSTANT;
}

static void loop_initial(mutation *m, ir_op *op) {
    for (int i = 3; op->opcode == IR_FOR && i < op->operand_count; i++)
        for (int k = 3; k < op->operand_count; k++)
            if (i != k && op->operands[i] != op->operands[k] &&
                !(is_constant(op->operands[i]) && is_constant(op->operands[k])) &&
                same_type(m, op->operands[i], op->operands[k]) && is_site(m))
                op->operands[i] = op->operands[k];
}

static void yield_other(mutation *m, ir_op *op) {
    const ir_op *loop = op->parent->owner;
    if (op->opcode != IR_YIELD || loop == NULL || loop->opcode != IR_FOR)
        return;
    for (int i = 0; i < op->operand_count; i++) {
        ir_value *carry = op->parent->arguments[1 + i];
        if (op->operands[i] != carry && carry->type.form != IR_FORM_TOKEN && is_site(m))
            op->operands[i] = carry;
        for (int k = 0; k < op->operand_count; k++)
            if (i != k && same_type(m, op->operands[i], op->operands[k]) && is_site(m))
                op->operands[i] = op->operands[k];
    }
}

/* ---- accesses ---- */
static bool is_access(const ir_op *op) {
    return op->attributes.access != NULL;
}

static void index_shift(mutation *m, ir_op *op) {
    for (int d = 0; is_access(op) && d < op->attributes.access->rank; d++) {
        shift_operand(m, op, op->attributes.access->index[d].operand);
        shift_operand(m, op, op->attributes.access->index[d].vector);
    }
}

static void index_drop(mutation *m, ir_op *op) {
    for (int d = 0; is_access(op) && d < op->attributes.access->rank; d++) {
        ir_index *index = &op->attributes.access->index[d];
        if (index->operand >= 0 && is_site(m))
            index->operand = -1;
        else if (index->vector >= 0 && is_site(m))
            index->vector = -1;
        else if (index->affine.count > 0 && is_site(m))
            index->affine.count = 0;
    }
}

static void index_swap(mutation *m, ir_op *op) {
    for (int d = 1; is_access(op) && d < op->attributes.access->rank; d++) {
        ir_index *a = &op->attributes.access->index[d - 1], *b = &op->attributes.access->index[d];
        if (!is_site(m))
            continue;
        ir_index kept = *a;
        *a = *b;
        *b = kept;
    }
}

static void change_term(mutation *m, ir_affine *affine) {
    for (int i = 0; i < affine->count; i++) {
        if (is_site(m))
            affine->terms[i].stride *= 2;
        if (is_site(m))
            affine->terms[i].stride += 1;
        if (affine->terms[i].stride > 1 && is_site(m))
            affine->terms[i].stride -= 1;
        if (affine->terms[i].modulus > 0 && is_site(m))
            affine->terms[i].modulus *= 2;
        if (affine->terms[i].divide > 1 && is_site(m))
            affine->terms[i].divide /= 2;
        if (is_site(m)) {
            affine->terms[i] = affine->terms[affine->count - 1];
            affine->count--;
        }
    }
}

static void affine_terms(mutation *m, ir_op *op) {
    if (op->opcode == IR_IOTA)
        change_term(m, &op->attributes.affine);
    for (int d = 0; is_access(op) && d < op->attributes.access->rank; d++)
        change_term(m, &op->attributes.access->index[d].affine);
}

static void mask_terms(mutation *m, ir_op *op) {
    if (is_access(op) && op->attributes.access->mask_kind == IR_MASK_RANGE)
        change_term(m, &op->attributes.access->mask_affine);
}

static void mask_shift(mutation *m, ir_op *op) {
    if (is_access(op) && op->attributes.access->mask_kind == IR_MASK_RANGE)
        shift_operand(m, op, op->attributes.access->mask);
}

static void mask_drop(mutation *m, ir_op *op) {
    if (!is_access(op) || op->attributes.access->mask_kind == IR_MASK_NONE || !is_site(m))
        return;
    op->attributes.access->mask_kind = IR_MASK_NONE;
    op->attributes.access->mask = -1;
    op->attributes.access->mask_affine.count = 0;
}

static void mask_negate(mutation *m, ir_op *op) {
    ir_access *access = op->attributes.access;
    if (access == NULL || access->mask_kind != IR_MASK_BITS || !is_site(m))
        return;
    ir_value *mask = op->operands[access->mask];
    op->operands[access->mask] = made_before(m, op, IR_NOT, 1, &mask, mask->type);
}

static void other_tensor(mutation *m, ir_op *op) {
    if (op->opcode != IR_LOAD && op->opcode != IR_STORE)
        return;
    for (int i = 0; i < m->module->parameter_count; i++) {
        ir_value *tensor = m->module->parameters[i].value;
        if (m->module->parameters[i].is_tensor && tensor != op->operands[0] &&
            tensor->type.rank == op->operands[0]->type.rank &&
            tensor->type.dtype == op->operands[0]->type.dtype && is_site(m))
            op->operands[0] = tensor;
    }
}

static void width_double(mutation *m, ir_op *op) {
    if (is_access(op) && is_site(m))
        op->attributes.access->width *= 2;
}

static void fill_change(mutation *m, ir_op *op) {
    ir_access *access = op->attributes.access;
    bool filled = op->opcode == IR_LOAD && access->mask_kind == IR_MASK_BITS && access->fill >= 0;
    if (!filled || !is_site(m))
        return;
    ir_constant one = {.dtype = op->results[0]->type.dtype, .integer = 1, .real = 1.5};
    op->operands[access->fill] = constant_before(m, op, one);
}

/* ---- effects ---- */
static void delete_effect(mutation *m, ir_op *op) {
    bool effect = op->opcode == IR_STORE || op->opcode == IR_PUSH;
    if (effect && is_site(m))
        ir_op_remove(op);
}

/* A put or a sync hands on the token that it took. */
static void delete_token_op(mutation *m, ir_op *op) {
    if (op->opcode == IR_PUT && is_site(m)) {
        bypass(m, op, ir_op_token(op));
    } else if (op->opcode == IR_SYNC && is_site(m)) {
        for (int i = 0; i < op->result_count; i++)
            replace_uses(&m->module->body, op->results[i], op->operands[i]);
        ir_op_remove(op);
    }
}

/* What was not computed from the same elements. */
static bool is_element(const ir_op *op) {
    return op->opcode == IR_LOAD || op->opcode == IR_PULL || op->opcode == IR_GET ||
           op->opcode == IR_CONSTANT || op->opcode == IR_BROADCAST;
}

static void store_other(mutation *m, ir_op *op) {
    ir_value *stored = ir_op_stored(op);
    int at = 0;
    if (stored == NULL || op->opcode != IR_STORE)
        return;
    while (op->operands[at] != stored)
        at++;
    for (ir_op *before = op->previous; before != NULL; before = before->previous)
        if (before->result_count == 1 && is_element(before) && before->results[0] != stored &&
            same_type(m, before->results[0], stored) && is_site(m)) {
            op->operands[at] = before->results[0];
            return;
        }
}

static void cell_shift(mutation *m, ir_op *op) {
    if (op->opcode == IR_PUSH || op->opcode == IR_PULL)
        shift_operand(m, op, 1);
}

static void other_array(mutation *m, ir_op *op) {
    if (op->opcode != IR_PUSH && op->opcode != IR_PULL)
        return;
    for (ir_op *array = m->module->body.first; array != NULL; array = array->next)
        if (array->opcode == IR_PRIVATE && array->results[0] != op->operands[0] &&
            array->results[0]->type.dtype == op->operands[0]->type.dtype &&
            array->results[0]->type.slots == op->operands[0]->type.slots && is_site(m))
            op->operands[0] = array->results[0];
}

static void extent_shift(mutation *m, ir_op *op) {
    layout_extents *pool = &m->module->extents;
    layout_extent_kind kind = m->amount > 0 ? LAYOUT_EXTENT_ADD : LAYOUT_EXTENT_SUB;
    const layout_extent *old = op->attributes.extent;
    if (old == NULL || !is_site(m))
        return;
    const layout_extent *made =
        layout_extent_binary(pool, kind, old, layout_extent_constant(pool, 1));
    op->attributes.extent = made;
    if (op->opcode == IR_PRIVATE || op->opcode == IR_SCRATCH)
        op->results[0]->type.extent[0] = made;
}

/* ---- values ---- */
/* Made from sizes, programs and positions, not from elements. */
static bool is_of_indices(const ir_value *value, int depth) {
    const ir_op *op = value->definer;
    if (op == NULL || op->opcode == IR_LOAD || base_dtype_is_float(value->type.dtype) || depth > 8)
        return op == NULL && value->region != NULL && !base_dtype_is_float(value->type.dtype);
    for (int i = 0; i < op->operand_count; i++)
        if (!is_of_indices(op->operands[i], depth + 1))
            return false;
    return true;
}

/* Whether some use of the op's result is of indices: control, an access, index arithmetic. */
static bool serves_indices(const ir_region *region, const ir_value *value) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->operand_count; i++)
            if (op->operands[i] == value &&
                (op->result_count != 1 || op->attributes.access != NULL ||
                 is_of_indices(op->results[0], 0)))
                return true;
        for (int i = 0; i < op->region_count; i++)
            if (serves_indices(op->regions[i], value))
                return true;
    }
    return false;
}

static void constant_shift(mutation *m, ir_op *op) {
    if (op->opcode == IR_CONSTANT && op->attributes.constant.dtype == BASE_I64 &&
        serves_indices(&m->module->body, op->results[0]) && is_site(m))
        op->attributes.constant.integer += m->amount;
}

/* The arithmetic of indices and conditions. */
static void other_opcode(mutation *m, ir_op *op) {
    static const ir_opcode pairs[][2] = {
        {IR_ADD, IR_SUB},
        {IR_SUB, IR_ADD},
        {IR_MUL, IR_ADD},
        {IR_LT, IR_LE},
        {IR_LE, IR_LT},
        {IR_MINIMUM, IR_MAXIMUM},
        {IR_AND, IR_OR},
        {IR_FLOOR_DIV, IR_FLOOR_MOD},
        {IR_FLOOR_MOD, IR_FLOOR_DIV},
        {IR_EQ, IR_NE},
    };
    if (op->operand_count != 2 || op->result_count != 1)
        return;
    bool index = is_of_indices(op->results[0], 0) && (op->operands[0]->type.dtype == BASE_I64 ||
                                                      op->operands[0]->type.dtype == BASE_BOOL);
    for (size_t i = 0; index && i < sizeof pairs / sizeof pairs[0]; i++)
        if (pairs[i][0] == op->opcode && is_site(m)) {
            op->opcode = pairs[i][1];
            return;
        }
}

static void select_sides(mutation *m, ir_op *op) {
    if (op->opcode != IR_SELECT || !is_of_indices(op->operands[0], 0))
        return;
    if (is_site(m)) {
        ir_value *kept = op->operands[1];
        op->operands[1] = op->operands[2];
        op->operands[2] = kept;
    } else if (same_type(m, op->operands[1], op->results[0]) && is_site(m)) {
        bypass(m, op, op->operands[1]);
    }
}

/* Whether the value joins a carry of the loop around, or begins one. */
static bool meets_carry(const ir_op *op) {
    for (const ir_op *use = op->next; use != NULL; use = use->next)
        for (int i = 0; i < use->operand_count; i++)
            if (use->operands[i] == op->results[0] &&
                (use->opcode == IR_FOR ||
                 (use->operand_count == 2 && use->operands[1 - (i & 1)]->region == op->parent)))
                return true;
    return false;
}

/* Begins with, or lets in, a constant that is not the identity. */
static void identity_change(mutation *m, ir_op *op) {
    bool begins = op->opcode == IR_BROADCAST || op->opcode == IR_SELECT;
    begins = begins && meets_carry(op);
    for (int i = begins && op->opcode == IR_SELECT ? 1 : 0; begins && i < op->operand_count; i++) {
        const ir_op *from = op->operands[i]->definer;
        if (from == NULL || from->opcode != IR_CONSTANT || op->operands[i]->type.dtype == BASE_BOOL)
            continue;
        ir_constant constant = from->attributes.constant;
        bool identity = base_dtype_is_float(constant.dtype)
                            ? isinf(constant.real) || constant.real == 0 || constant.real == 1
                            : true;
        if (!identity || !is_site(m))
            continue;
        constant.integer += 1;
        constant.real = isinf(constant.real) ? 0 : constant.real == 0 ? -INFINITY : 0;
        op->operands[i] = constant_before(m, op, constant);
    }
}

/* ---- where lanes and slots meet ---- */
static void other_monoid(mutation *m, ir_op *op) {
    bool reduces = op->opcode == IR_FOLD || op->opcode == IR_COMBINE;
    for (int monoid = 0; reduces && monoid < IR_MONOID_COUNT; monoid++)
        if (monoid != (int)op->attributes.monoid &&
            ir_monoid_describe((ir_monoid)monoid)->dtypes ==
                ir_monoid_describe(op->attributes.monoid)->dtypes &&
            is_site(m))
            op->attributes.monoid = (ir_monoid)monoid;
    if (reduces && base_dtype_is_float(op->results[0]->type.dtype) && is_site(m))
        op->attributes.nan = op->attributes.nan == IR_NAN_IGNORE ? IR_NAN_PROPAGATE : IR_NAN_IGNORE;
}

/* The element does not enter, or the carry is lost. */
static void join_side(mutation *m, ir_op *op) {
    const ir_op *loop = op->parent->owner;
    if (op->operand_count != 2 || op->result_count != 1 || loop == NULL || loop->opcode != IR_FOR)
        return;
    for (int i = 0; i < 2; i++)
        if (op->operands[i]->region == op->parent && op->parent->arguments[0] != op->operands[i]) {
            if (same_type(m, op->operands[i], op->results[0]) && is_site(m)) {
                bypass(m, op, op->operands[i]);
                return;
            }
            if (same_type(m, op->operands[1 - i], op->results[0]) && is_site(m)) {
                bypass(m, op, op->operands[1 - i]);
                return;
            }
        }
}

static void skip_meeting(mutation *m, ir_op *op) {
    bool lanes = op->opcode == IR_COMBINE || op->opcode == IR_SHUFFLE || op->opcode == IR_RENAME ||
                 op->opcode == IR_XORSLOT;
    if (lanes && same_type(m, op->operands[0], op->results[0])) {
        if (is_site(m))
            bypass(m, op, op->operands[0]);
    } else if (op->opcode == IR_COMBINE && op->results[0]->type.form == IR_FORM_UNIFORM) {
        if (!is_site(m))
            return;
        op->opcode = IR_UNIFORM;
        op->attributes.lanes.count = 0;
    } else if (op->opcode == IR_FOLD && op->operands[0]->type.slots > 1 && is_site(m)) {
        int64_t *slots = BASE_NEW_ARRAY(m->module->arena, int64_t, 1);
        op->opcode = IR_RENAME;
        op->attributes.slots = (ir_list){.count = 1, .items = slots};
    }
}

static void change_list(mutation *m, ir_list *list) {
    for (int i = 0; i < list->count; i++) {
        for (int kind = 0; kind < 3; kind++) {
            if (!is_site(m))
                continue;
            int64_t *items = BASE_NEW_ARRAY(m->module->arena, int64_t, list->count);
            memcpy(items, list->items, sizeof(int64_t) * (size_t)list->count);
            items[i] = kind == 0 ? items[i] ^ 1 : kind == 1 ? items[i] + 1 : items[i];
            if (kind == 2) {
                memmove(&items[i], &items[i + 1], sizeof(int64_t) * (size_t)(list->count - i - 1));
                list->count--;
            }
            list->items = items;
            return;
        }
    }
}

static void list_entry(mutation *m, ir_op *op) {
    change_list(m, &op->attributes.lanes);
    change_list(m, &op->attributes.slots);
}

/* ---- control ---- */
static void condition_negate(mutation *m, ir_op *op) {
    if ((op->opcode != IR_WHEN && op->opcode != IR_IF) || !is_site(m))
        return;
    ir_value *condition = op->operands[0];
    op->operands[0] = made_before(m, op, IR_NOT, 1, &condition, condition->type);
}

static void condition_true(mutation *m, ir_op *op) {
    if (op->opcode != IR_WHEN || !is_site(m))
        return;
    ir_constant yes = {.dtype = BASE_BOOL, .integer = 1};
    ir_value *constant = constant_before(m, op, yes);
    op->operands[0] = made_before(m, op, IR_BROADCAST, 1, &constant, op->operands[0]->type);
}

/* Another value of its type, defined just before. */
static void operand_other(mutation *m, ir_op *op) {
    for (int i = 0; i < op->operand_count; i++) {
        ir_value *value = op->operands[i];
        bool index = (value->type.dtype == BASE_I64 || value->type.dtype == BASE_BOOL) &&
                     value->type.form != IR_FORM_TENSOR && value != ir_op_stored(op) &&
                     (op->attributes.access != NULL || is_of_indices(value, 0));
        ir_op *before = op->previous;
        while (index && before != NULL &&
               (before->result_count != 1 || before->results[0] == value ||
                !same_type(m, before->results[0], value)))
            before = before->previous;
        if (index && before != NULL && is_site(m))
            op->operands[i] = before->results[0];
    }
}

/* ---- facts ---- */
static void fact_claim(mutation *m, ir_op *op) {
    ir_access *access = op->attributes.access;
    for (int d = 0; access != NULL && d < access->rank; d++)
        if (!access->index[d].inside && is_site(m))
            access->index[d].inside = true;
    if (op->opcode == IR_STORE && !access->injective && is_site(m))
        access->injective = true;
    for (int i = 0; i < op->result_count; i++) {
        ir_value *value = op->results[i];
        if (value->type.form == IR_FORM_SLOTS && value->scope < IR_SCOPE_GROUP && is_site(m))
            value->scope = IR_SCOPE_GROUP;
        if (value->ranged && is_site(m))
            value->high--;
        if (value->ranged && is_site(m))
            value->low++;
    }
}

static void fact_drop(mutation *m, ir_op *op) {
    ir_access *access = op->attributes.access;
    for (int d = 0; access != NULL && d < access->rank; d++)
        if (access->index[d].inside && is_site(m))
            access->index[d].inside = false;
    if (op->opcode == IR_STORE && access->injective && is_site(m))
        access->injective = false;
    for (int i = 0; i < op->result_count; i++) {
        if (op->results[i]->scope != IR_SCOPE_NONE && is_site(m))
            op->results[i]->scope = IR_SCOPE_NONE;
        if (op->results[i]->ranged && is_site(m))
            op->results[i]->ranged = false;
    }
}

static void scope_change(mutation *m, ir_op *op) {
    if (op->opcode != IR_SYNC)
        return;
    if (op->attributes.scope > IR_SCOPE_SUBGROUP && is_site(m))
        op->attributes.scope = IR_SCOPE_SUBGROUP;
}

/* ---- the head ---- */
static void head_groups(mutation *m) {
    layout_extents *pool = &m->module->extents;
    if (m->module->groups == NULL)
        return;
    const layout_extent *one = layout_extent_constant(pool, 1);
    if (is_site(m))
        m->module->groups = layout_extent_binary(pool, LAYOUT_EXTENT_ADD, m->module->groups, one);
    if (is_site(m))
        m->module->groups = layout_extent_binary(pool, LAYOUT_EXTENT_SUB, m->module->groups, one);
}

static void head_digits(mutation *m) {
    for (int i = 0; i < m->module->axis_count; i++) {
        layout_axis *digits = &m->module->axes[i].digits;
        for (int k = 0; k < digits->count; k++) {
            if (digits->digits[k].radix > 0 && is_site(m))
                digits->digits[k].radix *= 2;
            if (digits->digits[k].radix > 1 && is_site(m))
                digits->digits[k].radix -= 1;
            if (k > 0 && is_site(m)) {
                layout_digit kept = digits->digits[k];
                digits->digits[k] = digits->digits[k - 1];
                digits->digits[k - 1] = kept;
            }
        }
    }
}

static void head_lanes(mutation *m) {
    if (is_site(m))
        m->module->lanes *= 2;
    if (m->module->lanes > 1 && is_site(m))
        m->module->lanes /= 2;
    if (m->module->subgroup > 1 && is_site(m))
        m->module->subgroup /= 2;
}

/* ---- the table ---- */
static const struct {
    const char *name;
    op_mutator op; /* or */
    void (*head)(mutation *m);
    int64_t amount; /* by which a number is shifted */
} operators[] = {
    {"bound +1", bound_shift, NULL, 1},
    {"bound -1", bound_shift, NULL, -1},
    {"loop never runs", loop_never, NULL, 0},
    {"loop begins otherwise", loop_initial, NULL, 0},
    {"yield another value", yield_other, NULL, 0},
    {"index +1", index_shift, NULL, 1},
    {"index -1", index_shift, NULL, -1},
    {"index without a part", index_drop, NULL, 0},
    {"indices exchanged", index_swap, NULL, 0},
    {"affine term", affine_terms, NULL, 0},
    {"mask term", mask_terms, NULL, 0},
    {"mask +1", mask_shift, NULL, 1},
    {"mask -1", mask_shift, NULL, -1},
    {"mask deleted", mask_drop, NULL, 0},
    {"mask negated", mask_negate, NULL, 0},
    {"another tensor", other_tensor, NULL, 0},
    {"width doubled", width_double, NULL, 0},
    {"fill changed", fill_change, NULL, 0},
    {"store or push deleted", delete_effect, NULL, 0},
    {"put or sync deleted", delete_token_op, NULL, 0},
    {"another value stored", store_other, NULL, 0},
    {"cell +1", cell_shift, NULL, 1},
    {"another array", other_array, NULL, 0},
    {"size +1", extent_shift, NULL, 1},
    {"size -1", extent_shift, NULL, -1},
    {"integer +1", constant_shift, NULL, 1},
    {"integer -1", constant_shift, NULL, -1},
    {"another op on indices", other_opcode, NULL, 0},
    {"sides of select", select_sides, NULL, 0},
    {"identity changed", identity_change, NULL, 0},
    {"another monoid", other_monoid, NULL, 0},
    {"join dropped", join_side, NULL, 0},
    {"meeting skipped", skip_meeting, NULL, 0},
    {"list entry", list_entry, NULL, 0},
    {"condition negated", condition_negate, NULL, 0},
    {"condition always true", condition_true, NULL, 0},
    {"another index value", operand_other, NULL, 0},
    {"fact claimed", fact_claim, NULL, 0},
    {"fact dropped", fact_drop, NULL, 0},
    {"scope narrowed", scope_change, NULL, 0},
    {"groups", NULL, head_groups, 0},
    {"digits", NULL, head_digits, 0},
    {"lanes", NULL, head_lanes, 0},
};

const char *mutate_operator_name(int number) {
    int count = (int)(sizeof operators / sizeof operators[0]);
    return number < count ? operators[number].name : NULL;
}

bool mutate_apply(int number, ir_module *module, int64_t site) {
    mutation m = {.module = module, .left = site, .amount = operators[number].amount};
    if (operators[number].op != NULL)
        each_op(&m, &module->body, operators[number].op);
    else
        operators[number].head(&m);
    return m.done;
}
