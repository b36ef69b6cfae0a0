/* Modules: the tables as data, creation and editing of ops, regions and values. */
#include "ir/module.h"

#include <math.h>
#include <string.h>

/* ---- tables: the words that the .def files use, as bits ---- */
enum {
    T_M_R = IR_LEVEL_BIT_T | IR_LEVEL_BIT_M | IR_LEVEL_BIT_R,
    T_M = IR_LEVEL_BIT_T | IR_LEVEL_BIT_M,
    M = IR_LEVEL_BIT_M,
    R = IR_LEVEL_BIT_R
};
enum {
    NONE = 0,
    F = IR_DTYPES_F,
    B = IR_DTYPES_B,
    I = IR_DTYPES_I,
    ANY = IR_DTYPES_ANY,
    F_I = IR_DTYPES_F | IR_DTYPES_I,
    H_I = IR_DTYPES_F | IR_DTYPES_H | IR_DTYPES_I,
    I_B = IR_DTYPES_I | IR_DTYPES_B,
    F_I_B = IR_DTYPES_F | IR_DTYPES_I | IR_DTYPES_B
};
enum { PURE = 1, PURE_COMMUTES = 3 };

static const ir_op_info op_table[] = {
#define OP(ID, text_, levels_, shape_, dtypes_, traits_, doc_)                                     \
    [IR_##ID] = {.text = text_,                                                                    \
                 .levels = levels_,                                                                \
                 .shape = IR_SHAPE_##shape_,                                                       \
                 .dtypes = dtypes_,                                                                \
                 .pure = ((traits_)&1) != 0,                                                       \
                 .commutes = ((traits_)&2) != 0,                                                   \
                 .doc = doc_},
#include "ir/ops.def"
#undef OP
};

static const ir_monoid_info monoid_table[] = {
#define MONOID(ID, text_, dtypes_, combine_, ignoring_, doc_)                                      \
    [IR_MONOID_##ID] = {.text = text_,                                                             \
                        .dtypes = dtypes_,                                                         \
                        .combine = IR_##combine_,                                                  \
                        .combine_ignoring_nan = IR_##ignoring_,                                    \
                        .doc = doc_},
#include "ir/monoids.def"
#undef MONOID
};

const ir_op_info *ir_op_describe(ir_opcode opcode) {
    return &op_table[opcode];
}

ir_opcode ir_op_find(const char *text, size_t length) {
    for (int i = 0; i < IR_OPCODE_COUNT; i++)
        if (strlen(op_table[i].text) == length && memcmp(op_table[i].text, text, length) == 0)
            return (ir_opcode)i;
    return IR_OPCODE_COUNT;
}

const char *ir_level_name(ir_level level) {
    static const char *const names[] = {"tile", "mapped", "thread"};
    return names[level];
}

const ir_monoid_info *ir_monoid_describe(ir_monoid monoid) {
    return &monoid_table[monoid];
}

ir_monoid ir_monoid_find(const char *text, size_t length) {
    for (int i = 0; i < IR_MONOID_COUNT; i++)
        if (strlen(monoid_table[i].text) == length &&
            memcmp(monoid_table[i].text, text, length) == 0)
            return (ir_monoid)i;
    return IR_MONOID_COUNT;
}

/* ---- monoids ---- */

ir_constant ir_monoid_identity(ir_monoid monoid, base_dtype dtype) {
    ir_constant identity = {.dtype = ir_monoid_state(monoid, dtype)};
    switch (monoid) {
    case IR_MONOID_SUM:
    case IR_MONOID_ANY:
        return identity;
    case IR_MONOID_PROD:
    case IR_MONOID_ALL:
        identity.integer = 1;
        identity.real = 1.0;
        return identity;
    case IR_MONOID_MAX:
        identity.integer = base_dtype_least(dtype);
        identity.real = -(double)INFINITY;
        return identity;
    case IR_MONOID_MIN:
        identity.integer = base_dtype_greatest(dtype);
        identity.real = (double)INFINITY;
        return identity;
    case IR_MONOID_COUNT:
        break;
    }
    return identity;
}

base_dtype ir_monoid_state(ir_monoid monoid, base_dtype dtype) {
    if (dtype == BASE_F16 || dtype == BASE_BF16)
        return BASE_F32;
    bool narrow = dtype == BASE_I8 || dtype == BASE_U8;
    bool counted = dtype == BASE_BOOL && (monoid == IR_MONOID_SUM || monoid == IR_MONOID_PROD);
    return narrow || counted ? BASE_I32 : dtype;
}

base_dtype ir_monoid_result(ir_monoid monoid, base_dtype dtype) {
    bool keeps = monoid == IR_MONOID_MAX || monoid == IR_MONOID_MIN;
    return keeps ? dtype : ir_monoid_state(monoid, dtype);
}

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
    if (a->dtype != b->dtype || !ir_type_same_shape(module, a, b))
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
