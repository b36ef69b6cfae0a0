/* The form of loads and stores: access-form, access-operands, store-mode, access-type,
 * access-policy, access-early, access-prefetch.
 *
 *     %t = load %x[%row, : N]            tile: one axis per range
 *     %u = load %x[%row, gather %i]      tile: the axes of the broadcast index tiles
 *     %v = load %x[%b, lane*1 + slot*8]  thread: slots where any index, mask or fill has them
 *
 * Whether indices stay inside the tensor is another family's question.
 */
#include "verify/verify_internal.h"

#include <string.h>

static bool operand_exists(const ir_op *op, int operand, bool may_be_none) {
    int last = op->opcode == IR_STORE ? op->operand_count - 2 : op->operand_count - 1;
    return (operand == -1 && may_be_none) || (operand >= 1 && operand <= last);
}

static bool index_is_formed(const verify_state *state, const ir_op *op, const ir_index *index) {
    bool thread = state->module->level == IR_THREAD;
    int64_t length = 0;
    switch (index->kind) {
    case IR_INDEX_POINT:
    case IR_INDEX_GATHER:
        return !thread && operand_exists(op, index->operand, false);
    case IR_INDEX_RANGE:
        return !thread && index->length != NULL && operand_exists(op, index->operand, true) &&
               (!layout_extent_known(&state->module->extents, index->length, &length) ||
                length >= 0);
    case IR_INDEX_AFFINE:
        return thread && operand_exists(op, index->operand, true) &&
               operand_exists(op, index->vector, true);
    }
    return false;
}

static bool kinds_go_together(const ir_access *access) {
    bool gather = false, range = false;
    for (int i = 0; i < access->rank; i++) {
        gather = gather || access->index[i].kind == IR_INDEX_GATHER;
        range = range || access->index[i].kind == IR_INDEX_RANGE;
    }
    return !(gather && range);
}

static ir_form memory_form(const ir_op *op) {
    return op->opcode == IR_PUT || op->opcode == IR_GET ? IR_FORM_SCRATCH : IR_FORM_TENSOR;
}

bool verify_access_is_formed(const verify_state *state, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    if (access == NULL || op->operand_count < 1 || op->operands[0] == NULL ||
        op->operands[0]->type.form != memory_form(op) || access->rank < 0 ||
        access->rank > IR_MAX_RANK || access->rank != op->operands[0]->type.rank)
        return false;
    for (int i = 0; i < access->rank; i++)
        if (!index_is_formed(state, op, &access->index[i]))
            return false;
    bool mask = access->mask_kind != IR_MASK_NONE;
    return kinds_go_together(access) && operand_exists(op, access->fill, true) &&
           (!mask ||
            (state->module->level == IR_THREAD && operand_exists(op, access->mask, false))) &&
           (access->block == 0 ||
            (memory_form(op) == IR_FORM_SCRATCH && operand_exists(op, access->block, false))) &&
           access->width >= 0;
}

static void rule_access_form(verify_state *state, const ir_op *op) {
    if (!verify_access_is_formed(state, op))
        verify_report(state, VERIFY_ACCESS_FORM, op,
                      "a tensor and one index of this level for each of its dimensions",
                      "an access that is not well formed");
}

/* ---- operands ---- */
static bool is_integer_scalar(const ir_value *value) {
    return verify_is_scalar(value) && base_dtype_is_integer(value->type.dtype);
}

static bool index_operands_hold(const ir_op *op, const ir_index *index) {
    const ir_value *value = index->operand >= 0 ? op->operands[index->operand] : NULL;
    const ir_value *vector = index->vector >= 0 ? op->operands[index->vector] : NULL;
    switch (index->kind) {
    case IR_INDEX_POINT:
    case IR_INDEX_RANGE:
        return value == NULL || is_integer_scalar(value);
    case IR_INDEX_GATHER:
        return verify_is_tile(value) && base_dtype_is_integer(value->type.dtype);
    case IR_INDEX_AFFINE:
        return (value == NULL || (verify_is_scalar(value) && value->type.dtype == BASE_I64)) &&
               (vector == NULL ||
                (vector->type.form == IR_FORM_SLOTS && vector->type.dtype == BASE_I64));
    }
    return false;
}

static bool mask_operand_holds(const ir_op *op, const ir_access *access) {
    if (access->mask_kind == IR_MASK_NONE)
        return true;
    const ir_value *mask = op->operands[access->mask];
    if (access->mask_kind == IR_MASK_RANGE)
        return verify_is_scalar(mask) && mask->type.dtype == BASE_I64;
    return mask->type.dtype == BASE_BOOL &&
           (verify_is_scalar(mask) || mask->type.form == IR_FORM_SLOTS);
}

static void rule_access_operands(verify_state *state, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    for (int i = 0; i < access->rank; i++)
        if (!index_operands_hold(op, &access->index[i]))
            verify_report(state, VERIFY_ACCESS_OPERANDS, op,
                          "integer scalars, integer index tiles; thread: i64",
                          "index %d has an operand of the wrong form or dtype", i);
    if (!mask_operand_holds(op, access))
        verify_report(state, VERIFY_ACCESS_OPERANDS, op,
                      "a uniform i64 count, or bool slots or uniform",
                      "the mask has an operand of the wrong form or dtype");
    const ir_value *block = access->block > 0 ? op->operands[access->block] : NULL;
    if (block != NULL && (block->type.form != IR_FORM_UNIFORM || block->type.dtype != BASE_I64))
        verify_report(state, VERIFY_ACCESS_OPERANDS, op, "a uniform i64",
                      "the block is no uniform number");
    const ir_value *fill = access->fill >= 0 ? op->operands[access->fill] : NULL;
    bool fill_form = fill == NULL || verify_is_scalar(fill) || fill->type.form == IR_FORM_SLOTS;
    if (!fill_form || (fill != NULL && fill->type.dtype != op->operands[0]->type.dtype))
        verify_report(state, VERIFY_ACCESS_OPERANDS, op, "a scalar of the tensor's dtype",
                      "the fill has the wrong form or dtype");
}

static void rule_store_mode(verify_state *state, const ir_op *op) {
    for (int i = 0; i < state->module->parameter_count; i++) {
        const ir_parameter *parameter = &state->module->parameters[i];
        if (op->opcode == IR_STORE && parameter->is_tensor && parameter->value == op->operands[0] &&
            parameter->mode == IR_IN)
            verify_report(state, VERIFY_STORE_MODE, op, "a tensor that is out or inout",
                          "a store to %s, which is in", parameter->name);
    }
}

/* ---- what is loaded or stored ---- */
bool verify_access_shape(const verify_state *state, const ir_op *op, ir_type *shape) {
    const ir_access *access = op->attributes.access;
    *shape = (ir_type){.form = IR_FORM_TILE};
    for (int i = 0; i < access->rank; i++) {
        const ir_index *index = &access->index[i];
        if (index->kind == IR_INDEX_RANGE)
            shape->extent[shape->rank++] = index->length;
        if (index->kind != IR_INDEX_GATHER)
            continue;
        const ir_type *tile = &op->operands[index->operand]->type;
        if (shape->rank == 0)
            *shape = *tile;
        if (shape->rank != tile->rank)
            return false;
        for (int d = 0; d < tile->rank; d++) {
            if (verify_extent_is_one(state, shape->extent[d]))
                shape->extent[d] = tile->extent[d];
            else if (!verify_extent_is_one(state, tile->extent[d]) &&
                     !verify_extent_equal(state, shape->extent[d], tile->extent[d]))
                return false;
        }
    }
    return true;
}

static bool tile_access_type_holds(const verify_state *state, const ir_op *op,
                                   const ir_value *value) {
    ir_type shape;
    if (value->type.form != IR_FORM_TILE || !verify_access_shape(state, op, &shape))
        return false;
    if (op->opcode == IR_STORE && value->type.rank == 0)
        return true;
    if (value->type.rank != shape.rank)
        return false;
    for (int d = 0; d < shape.rank; d++) {
        bool one = op->opcode == IR_STORE && verify_extent_is_one(state, value->type.extent[d]);
        if (!one && !verify_extent_equal(state, value->type.extent[d], shape.extent[d]))
            return false;
    }
    return true;
}

/* Slots agree: *slots becomes those of the value, or stays when it is uniform. */
static bool slots_agree(const ir_value *value, int *slots) {
    if (value == NULL || value->type.form != IR_FORM_SLOTS)
        return true;
    if (*slots == 0)
        *slots = value->type.slots;
    return *slots == value->type.slots;
}

static bool thread_access_type_holds(const ir_op *op, const ir_value *value) {
    const ir_access *access = op->attributes.access;
    int slots = 0;
    bool agree = true, spread = access->mask_kind == IR_MASK_RANGE;
    for (int i = 0; i < access->rank; i++) {
        const ir_index *index = &access->index[i];
        spread = spread || index->affine.count != 0;
        agree =
            agree && slots_agree(index->vector >= 0 ? op->operands[index->vector] : NULL, &slots);
    }
    if (access->mask_kind == IR_MASK_BITS)
        agree = agree && slots_agree(op->operands[access->mask], &slots);
    if (access->fill >= 0)
        agree = agree && slots_agree(op->operands[access->fill], &slots);
    if (value->type.form == IR_FORM_SLOTS)
        return agree && (slots == 0 || slots == value->type.slots);
    return agree && value->type.form == IR_FORM_UNIFORM && slots == 0 && !spread;
}

static void rule_access_type(verify_state *state, const ir_op *op) {
    bool stores = op->opcode == IR_STORE || op->opcode == IR_PUT;
    const ir_value *value = stores ? ir_op_stored(op) : op->results[0];
    bool shape = state->module->level == IR_THREAD ? thread_access_type_holds(op, value)
                                                   : tile_access_type_holds(state, op, value);
    if (!shape)
        verify_report(state, VERIFY_ACCESS_TYPE, op, "the shape that the indices give",
                      "what is %s has another shape", stores ? "stored" : "loaded");
    if (value->type.dtype != op->operands[0]->type.dtype)
        verify_report(state, VERIFY_ACCESS_TYPE, op, base_dtype_name(op->operands[0]->type.dtype),
                      "what is %s is %s", stores ? "stored" : "loaded",
                      base_dtype_name(value->type.dtype));
}

/* A tile program is planned by nobody yet, and scratch lies behind no cache. */
static void rule_access_policy(verify_state *state, const ir_op *op) {
    bool may = state->module->level != IR_TILE && memory_form(op) == IR_FORM_TENSOR;
    if (!may && op->attributes.access->policy != IR_POLICY_DEFAULT)
        verify_report(state, VERIFY_ACCESS_POLICY, op, "the policy of a planned load or store",
                      "a policy stands where there is no cache to tell");
}

static bool is_only_read(const verify_state *state, const ir_value *tensor) {
    for (int i = 0; i < state->module->parameter_count; i++)
        if (state->module->parameters[i].value == tensor)
            return state->module->parameters[i].mode == IR_IN;
    return false;
}

/* Such a load may be passed by any store. */
static void rule_access_early(verify_state *state, const ir_op *op) {
    bool may = state->module->level != IR_TILE && op->opcode == IR_LOAD &&
               is_only_read(state, op->operands[0]);
    if (!may && op->attributes.access->early)
        verify_report(state, VERIFY_ACCESS_EARLY, op, "a planned load of a tensor of mode in",
                      "what is called early cannot be issued at any time");
}

/* The number of the program, or of the group, alone. */
static bool is_of_program(const verify_state *state, const ir_op *op, const ir_index *index) {
    bool thread = state->module->level == IR_THREAD;
    const ir_op *definer = index->operand >= 0 ? op->operands[index->operand]->definer : NULL;
    return definer != NULL && index->inside &&
           index->kind == (thread ? IR_INDEX_AFFINE : IR_INDEX_POINT) &&
           definer->opcode == (thread ? IR_GROUP : IR_PROGRAM) && index->affine.count == 0 &&
           (!thread || index->vector < 0);
}

/* Every program has one more row than the one before, and each row that there is is inside: nothing
 * else is fetched. */
static void rule_access_prefetch(verify_state *state, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    if (access->prefetch == 0)
        return;
    bool may = state->module->level != IR_TILE && op->opcode == IR_LOAD && access->prefetch > 0 &&
               is_only_read(state, op->operands[0]) && access->mask_kind == IR_MASK_NONE;
    int rows = 0;
    for (int d = 0; may && d < access->rank; d++) {
        bool row = is_of_program(state, op, &access->index[d]);
        may = !row || d + 1 < access->rank;
        rows += row;
    }
    if (!may || rows != 1)
        verify_report(state, VERIFY_ACCESS_PREFETCH, op,
                      "a planned load, without a mask, of a row that the programs number",
                      "what would be fetched is no row of a later program");
}

static void check_op(verify_state *state, const ir_op *op) {
    if (ir_op_describe(op->opcode)->shape != IR_SHAPE_ACCESS)
        return;
    rule_access_form(state, op);
    if (!verify_op_is_formed(state, op))
        return;
    rule_access_operands(state, op);
    rule_store_mode(state, op);
    rule_access_type(state, op);
    rule_access_policy(state, op);
    rule_access_early(state, op);
    rule_access_prefetch(state, op);
    if (state->module->level != IR_THREAD)
        verify_access_domains(state, op);
}

void verify_access_forms(verify_state *state) {
    verify_walk(state, &state->module->body, check_op);
}
