/* Modules: creation and editing of ops, regions and values.
 *
 *     region  first -> op <-> op <-> op <- last        an op knows its region, a region its owner
 *
 * Ops are made unlinked, with the regions that they hold, and then put into one list. Nothing here
 * looks at what an op means: ir/builder.h computes types, the verifier judges.
 */
#include "ir/module.h"

/* ---- modules, types, values ---- */

ir_module *ir_module_create(base_arena *arena, const char *name, const base_source *source) {
    ir_module *module = BASE_NEW(arena, ir_module);
    module->arena = arena;
    module->name = name;
    module->source = source;
    module->level = IR_TILE;
    module->lanes = 1;
    layout_extents_init(&module->extents, arena);
    return module;
}

ir_type ir_type_scalar(base_dtype dtype) {
    return (ir_type){.form = IR_FORM_TILE, .dtype = dtype};
}

ir_type ir_type_uniform(base_dtype dtype) {
    return (ir_type){.form = IR_FORM_UNIFORM, .dtype = dtype};
}

ir_type ir_type_slots(base_dtype dtype, int slots) {
    return (ir_type){.form = IR_FORM_SLOTS, .dtype = dtype, .slots = slots};
}

int ir_type_slot_count(const ir_type *type) {
    return type->form == IR_FORM_SLOTS ? type->slots : 1;
}

bool ir_type_same_shape(const ir_module *module, const ir_type *a, const ir_type *b) {
    if (a->form != b->form || a->rank != b->rank || a->slots != b->slots)
        return false;
    int extents = a->form == IR_FORM_PRIVATE ? 1 : a->rank;
    for (int i = 0; i < extents; i++)
        if (!layout_extent_equal(&module->extents, a->extent[i], b->extent[i]))
            return false;
    return true;
}

bool ir_type_equal(const ir_module *module, const ir_type *a, const ir_type *b) {
    if (a->dtype != b->dtype || !ir_type_same_shape(module, a, b) || a->scratch != b->scratch ||
        a->state != b->state)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->domain[i] != b->domain[i])
            return false;
    return true;
}

ir_value *ir_value_create(ir_module *module, ir_type type, const char *name) {
    ir_value *value = BASE_NEW(module->arena, ir_value);
    value->type = type;
    value->name = name;
    value->number = module->next_value++;
    for (int i = 0; i < IR_MAX_RANK; i++)
        value->layout.axis[i] = -1;
    return value;
}

ir_value *ir_region_add_argument(ir_module *module, ir_region *region, ir_type type,
                                 const char *name) {
    ir_value *value = ir_value_create(module, type, name);
    value->region = region;
    ir_value **grown = BASE_NEW_ARRAY(module->arena, ir_value *, region->argument_count + 1);
    for (int i = 0; i < region->argument_count; i++)
        grown[i] = region->arguments[i];
    grown[region->argument_count++] = value;
    region->arguments = grown;
    return value;
}

/* ---- ops ---- */

ir_op *ir_op_create(ir_module *module, ir_opcode opcode, base_location location, int operand_count,
                    ir_value *const *operands, int result_count, const ir_type *result_types,
                    int region_count) {
    ir_op *op = BASE_NEW(module->arena, ir_op);
    op->opcode = opcode;
    op->location = location;
    op->operand_count = operand_count;
    op->operands = BASE_NEW_ARRAY(module->arena, ir_value *, operand_count);
    for (int i = 0; i < operand_count; i++)
        op->operands[i] = operands[i];
    op->result_count = result_count;
    op->results = BASE_NEW_ARRAY(module->arena, ir_value *, result_count);
    for (int i = 0; i < result_count; i++) {
        op->results[i] = ir_value_create(module, result_types[i], NULL);
        op->results[i]->definer = op;
    }
    op->region_count = region_count;
    for (int i = 0; i < region_count; i++) {
        op->regions[i] = BASE_NEW(module->arena, ir_region);
        op->regions[i]->owner = op;
    }
    return op;
}

void ir_op_append(ir_region *region, ir_op *op) {
    op->parent = region;
    op->previous = region->last;
    op->next = NULL;
    if (region->last != NULL)
        region->last->next = op;
    else
        region->first = op;
    region->last = op;
}

void ir_op_insert_before(ir_op *where, ir_op *op) {
    op->parent = where->parent;
    op->previous = where->previous;
    op->next = where;
    if (where->previous != NULL)
        where->previous->next = op;
    else
        where->parent->first = op;
    where->previous = op;
}

void ir_op_remove(ir_op *op) {
    if (op->previous != NULL)
        op->previous->next = op->next;
    else
        op->parent->first = op->next;
    if (op->next != NULL)
        op->next->previous = op->previous;
    else
        op->parent->last = op->previous;
    op->previous = op->next = NULL;
    op->parent = NULL;
}

int ir_module_subgroup_lanes(const ir_module *module) {
    return module->subgroup > 0 ? module->subgroup : module->lanes;
}

int ir_module_subgroups(const ir_module *module) {
    return module->subgroup > 0 ? module->lanes / module->subgroup : 1;
}

int ir_module_pointer_count(const ir_module *module) {
    int count = 0;
    for (int i = 0; i < module->parameter_count; i++)
        count += module->parameters[i].is_tensor;
    return count;
}

int64_t ir_module_word_count(const ir_module *module) {
    int64_t count = module->extents.symbol_count;
    for (int i = 0; i < module->parameter_count; i++)
        count += module->parameters[i].is_tensor ? module->parameters[i].value->type.rank : 1;
    return count;
}

ir_position ir_module_position(const ir_module *module, int64_t thread, int64_t slot) {
    int lanes = ir_module_subgroup_lanes(module);
    if (lanes < 1)
        return (ir_position){.slot = slot};
    return (ir_position){.slot = slot, .lane = thread % lanes, .subgroup = thread / lanes};
}

int ir_module_parameter_of(const ir_module *module, const ir_value *tensor) {
    for (int i = 0; i < module->parameter_count; i++)
        if (module->parameters[i].is_tensor && module->parameters[i].value == tensor)
            return i;
    return -1;
}

const char *ir_condition_subject(const ir_module *module, const layout_condition *condition) {
    int subject = condition->subject;
    bool size = layout_condition_describe(condition->kind)->subject == LAYOUT_CONDITION_SIZE;
    if (size && subject >= 0 && subject < module->extents.symbol_count)
        return module->extents.symbols[subject].name;
    return !size && subject >= 0 && subject < module->parameter_count
               ? module->parameters[subject].name
               : "?";
}

bool ir_reduce_needs_order(const ir_op *reduce) {
    ir_monoid monoid = reduce->attributes.monoid;
    bool extreme = monoid == IR_MONOID_MAX || monoid == IR_MONOID_MIN;
    return base_dtype_is_float(ir_monoid_state(monoid, reduce->operands[0]->type.dtype)) &&
           !(extreme && reduce->attributes.zero == IR_ZERO_STRICT);
}

ir_constant ir_reduce_identity(const ir_op *reduce) {
    ir_constant identity =
        ir_monoid_identity(reduce->attributes.monoid, reduce->operands[0]->type.dtype);
    if (reduce->attributes.zero == IR_ZERO_STRICT && base_dtype_is_float(identity.dtype) &&
        reduce->attributes.monoid == IR_MONOID_SUM)
        identity.real = -0.0;
    return identity;
}

ir_constant ir_zero_key_identity(ir_monoid monoid) {
    enum { INFINITY_BITS = 0x7f800000 };
    return (ir_constant){.dtype = BASE_I32,
                         .integer = monoid == IR_MONOID_MAX ? -1 - INFINITY_BITS : INFINITY_BITS};
}

bool ir_op_shares_divisor(const ir_module *module, const ir_op *op) {
    if (op->opcode != IR_DIV)
        return false;
    const ir_type *dividend = &op->operands[0]->type, *divisor = &op->operands[1]->type;
    bool shared = false;
    for (int i = 0; i < dividend->rank && dividend->form == IR_FORM_TILE; i++)
        shared =
            shared ||
            (!layout_extent_is(&module->extents, dividend->extent[i], 1) &&
             (divisor->rank == 0 || layout_extent_is(&module->extents, divisor->extent[i], 1)));
    return shared;
}

/* The greatest or least of all elements of `of`, or of those along an axis beside each of them. */
static bool is_extreme(const ir_value *value, const ir_value *of, ir_monoid monoid) {
    const ir_op *reduce = value->definer;
    return reduce != NULL && reduce->opcode == IR_REDUCE && reduce->attributes.monoid == monoid &&
           reduce->operands[0] == of &&
           (value->type.rank == 0 || value->type.rank == of->type.rank);
}

bool ir_op_may_flush(const ir_op *op) {
    if (op->opcode != IR_EXP)
        return false;
    const ir_op *difference = op->operands[0]->definer;
    if (difference == NULL || difference->opcode != IR_SUB || difference->operand_count != 2)
        return false;
    const ir_value *left = difference->operands[0], *right = difference->operands[1];
    return is_extreme(right, left, IR_MONOID_MAX) || is_extreme(left, right, IR_MONOID_MIN);
}

bool ir_value_is_tile(const ir_value *value) {
    return value->type.form == IR_FORM_TILE && value->type.rank > 0;
}

bool ir_value_repeats(const ir_value *value) {
    const ir_op *op = value->definer;
    bool repeats = op != NULL && op->opcode == IR_RENAME;
    for (int i = 0; repeats && i < op->attributes.slots.count; i++)
        repeats = op->attributes.slots.items[i] == op->attributes.slots.items[0];
    return repeats;
}

ir_value *ir_op_stored(const ir_op *op) {
    int behind = op->opcode == IR_PUT ? 1 : 0;
    bool stores = op->opcode == IR_STORE || op->opcode == IR_PUT;
    return stores && op->operand_count > behind ? op->operands[op->operand_count - 1 - behind]
                                                : NULL;
}

ir_value *ir_op_token(const ir_op *op) {
    bool takes = op->opcode == IR_PUT || op->opcode == IR_GET;
    return takes && op->operand_count > 0 ? op->operands[op->operand_count - 1] : NULL;
}

int ir_op_access_slots(const ir_op *op) {
    if (op->opcode == IR_LOAD || op->opcode == IR_GET)
        return ir_type_slot_count(&op->results[0]->type);
    for (int i = op->operand_count - 1; i > 0; i--)
        if (op->operands[i]->type.form == IR_FORM_SLOTS)
            return op->operands[i]->type.slots;
    return 1;
}

ir_op *ir_region_yield(const ir_region *region) {
    return region->last != NULL && region->last->opcode == IR_YIELD ? region->last : NULL;
}

bool ir_region_walk(ir_region *region, bool (*visit)(void *state, ir_op *op), void *state) {
    for (ir_op *op = region->first, *next; op != NULL; op = next) {
        next = op->next;
        if (!visit(state, op))
            return false;
        for (int i = 0; i < op->region_count; i++)
            if (!ir_region_walk(op->regions[i], visit, state))
                return false;
    }
    return true;
}
