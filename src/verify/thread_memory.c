/* Memory of level thread: access-inside, cell-inside, private-order.
 *
 *     load %x[%row, %c + lane*1 + slot*8] mask=lane*1 + slot*8 < %rest
 *         inside the tensor for every lane and slot whose mask is true
 *     push %a, %k, %v ... pull %a, %k
 *         inside the array; the push comes first
 *
 * The first two are searched for a counterexample (explore_internal.h).
 */
#include "verify/explore_internal.h"

/* Lanes and slots that are tried of one access; more where a mask chooses among them. */
enum { POSITIONS = 4, MOST_POSITIONS = 32, SCANNED = 4096 };

static const int64_t nowhere[IR_MAX_RANK] = {0};

static bool spread(const ir_op *op) {
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i]->type.form == IR_FORM_SLOTS)
            return true;
    return op->result_count > 0 && op->results[0]->type.form == IR_FORM_SLOTS;
}

static int slots_of(const ir_op *op) {
    bool stores = op->opcode == IR_STORE || op->opcode == IR_PUT;
    const ir_value *value = stores ? ir_op_stored(op) : op->results[0];
    return ir_type_slot_count(&value->type);
}

/* The access happens at the lane and slot of the place, for certain. */
static bool happens(const explore_place *place, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    if (place->when != NULL) {
        explore_number when = explore_value(place, place->when, nowhere);
        if (!when.known || when.value == 0)
            return false;
    }
    if (access->mask_kind == IR_MASK_NONE)
        return true;
    explore_number mask = explore_value(place, op->operands[access->mask], nowhere);
    if (access->mask_kind == IR_MASK_BITS)
        return mask.known && mask.value != 0;
    return mask.known && explore_position(place, &access->mask_affine) < mask.value;
}

static explore_number affine_index(const explore_place *place, const ir_op *op,
                                   const ir_index *index) {
    explore_number sum = {.known = true};
    if (index->operand >= 0)
        sum = explore_value(place, op->operands[index->operand], nowhere);
    if (index->vector >= 0) {
        explore_number vector = explore_value(place, op->operands[index->vector], nowhere);
        sum.known = sum.known && vector.known;
        sum.value = (int64_t)((uint64_t)sum.value + (uint64_t)vector.value);
    }
    int64_t position = explore_position(place, &index->affine);
    sum.value = (int64_t)((uint64_t)sum.value + (uint64_t)position);
    return sum;
}

static void check_access(explore_place *place, const ir_op *op) {
    if (!happens(place, op))
        return;
    for (int i = 0; i<op->attributes.access->rank && * place->work> 0; i++) {
        explore_number value = affine_index(place, op, &op->attributes.access->index[i]);
        explore_number extent = explore_extent(place, op->operands[0]->type.extent[i]);
        if (!value.known || !extent.known || (value.value >= 0 && value.value < extent.value))
            continue;
        *place->work = 0;
        verify_report(place->state, VERIFY_ACCESS_INSIDE, op, "an index inside, or a mask",
                      "index %d can be %lld, where the tensor has %lld", i, (long long)value.value,
                      (long long)extent.value);
    }
}

static void check_cell(explore_place *place, const ir_op *op) {
    explore_number cell = explore_value(place, op->operands[1], nowhere);
    explore_number cells = explore_extent(place, op->operands[0]->type.extent[0]);
    if (place->when != NULL || !cell.known || !cells.known ||
        (cell.value >= 0 && cell.value < cells.value))
        return;
    *place->work = 0;
    verify_report(place->state, VERIFY_CELL_INSIDE, op, "a cell of the array",
                  "cell %lld of an array of %lld", (long long)cell.value, (long long)cells.value);
}

static void check_position(explore_place *place, const ir_op *op, int64_t position, int slots) {
    place->lane = position / slots;
    place->slot = position % slots;
    check_access(place, op);
}

/* The last position that a range mask lets through: the one to leave the tensor if any does. */
static int64_t last_masked(explore_place *place, const ir_op *op, int64_t positions, int slots) {
    const ir_access *access = op->attributes.access;
    explore_number count = explore_value(place, op->operands[access->mask], nowhere);
    int64_t last = 0, greatest = INT64_MIN;
    for (int64_t i = 0; i < positions && i < SCANNED && count.known; i++) {
        place->lane = i / slots;
        place->slot = i % slots;
        int64_t element = explore_position(place, &access->mask_affine);
        if (element < count.value && element > greatest) {
            greatest = element;
            last = i;
        }
    }
    return last;
}

static void visit_access(explore_place *place, const ir_op *op) {
    int slots = slots_of(op);
    bool many = spread(op) || place->when != NULL;
    int64_t positions = many ? (int64_t)place->state->module->lanes * slots : 1;
    bool bits = op->attributes.access->mask_kind == IR_MASK_BITS || place->when != NULL;
    int64_t chosen = bits ? MOST_POSITIONS : POSITIONS;
    for (int64_t i = 0; i < chosen && i<positions && * place->work> 0; i++) {
        bool all = positions <= chosen;
        check_position(place, op, all ? i : explore_pick(positions, (int)i), slots);
    }
    if (op->attributes.access->mask_kind == IR_MASK_RANGE && *place->work > 0)
        check_position(place, op, last_masked(place, op, positions, slots), slots);
    place->lane = place->slot = 0;
}

static void visit(explore_place *place, const ir_op *op) {
    if (op->opcode == IR_PULL || op->opcode == IR_PUSH)
        check_cell(place, op);
    if (ir_op_describe(op->opcode)->shape == IR_SHAPE_ACCESS)
        visit_access(place, op);
}

/* ---- private arrays ---- */
/* In text order, which is the order in which things first run. An array without cells is free. */
static void rule_private_order(verify_state *state, const ir_region *region, bool *pushed) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == IR_PUSH && verify_op_is_formed(state, op))
            pushed[op->operands[0]->number] = true;
        if (op->opcode == IR_PULL && verify_op_is_formed(state, op) &&
            !pushed[op->operands[0]->number] &&
            !layout_extent_is(&state->module->extents, op->operands[0]->type.extent[0], 0))
            verify_report(state, VERIFY_PRIVATE_ORDER, op, "a push into the array before it",
                          "a cell is pulled before any is pushed");
        for (int i = 0; i < op->region_count; i++)
            rule_private_order(state, op->regions[i], pushed);
    }
}

void verify_thread_memory(verify_state *state) {
    bool *pushed = BASE_NEW_ARRAY(state->diagnostics->arena, bool, state->module->next_value);
    rule_private_order(state, &state->module->body, pushed);
    explore_module(state, visit);
}
