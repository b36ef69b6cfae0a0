/* What may be split, and when each value is there.
 *
 *     %t = load %x[%row, :]      phase 0
 *     %m = reduce max %t         phase 1     partial results of launch 0
 *     %e = exp (sub %t, %m)      phase 1
 *     %s = reduce sum %e         phase 2     partial results of launch 1
 *
 * An axis is split where it is walked at the top of the kernel: from its first to its last element,
 * in no loop and under no condition, in no order but the plan's tree, by accesses that take the
 * whole of a dimension, an arange or gathers. Everything that a launch computes again must then
 * come out the same: no tensor is both loaded and stored. Partial results are a row's scalars.
 */
#include "ir/print.h"
#include "pass/split_internal.h"

#include <string.h>

static const char *anchor_of(const split_state *state) {
    return base_diagnostics_text(state->diagnostics, "axis %.100s", state->line->anchor);
}

static void refuse(split_state *state, const ir_op *op, const char *expected, const char *message) {
    split_fail(state, op->location, anchor_of(state), expected, message);
}

/* ---- phases ---- */
static int phase_of_type(const split_state *state, const ir_type *type) {
    int phase = 0;
    for (int i = 0; i < type->rank; i++)
        if (type->domain[i] != NULL && state->phase[type->domain[i]->number] > phase)
            phase = state->phase[type->domain[i]->number];
    return phase;
}

int split_phase_of(const split_state *state, const ir_op *op) {
    int phase = 0;
    for (int i = 0; i < op->operand_count; i++) {
        int operand = state->phase[op->operands[i]->number];
        phase = operand > phase ? operand : phase;
    }
    for (int i = 0; i < op->result_count; i++) {
        int bound = phase_of_type(state, &op->results[i]->type);
        phase = bound > phase ? bound : phase;
    }
    for (int r = 0; r < op->region_count; r++)
        for (const ir_op *inner = op->regions[r]->first; inner != NULL; inner = inner->next) {
            int within = split_phase_of(state, inner);
            phase = within > phase ? within : phase;
        }
    return phase;
}

static bool is_taken(const split_state *state, const char *name) {
    const ir_module *module = state->tile;
    bool taken = false;
    for (int i = 0; i < module->parameter_count; i++)
        taken = taken || strcmp(module->parameters[i].name, name) == 0;
    for (int i = 0; i < module->program_count; i++)
        taken = taken || strcmp(module->programs[i].name, name) == 0;
    for (int64_t i = 0; i < module->extents.symbol_count; i++)
        taken = taken || strcmp(module->extents.symbols[i].name, name) == 0;
    for (int64_t i = 0; i < state->partial_count; i++)
        taken = taken || strcmp(state->partials[i].name, name) == 0;
    return taken;
}

/* `max.0` and `_parts` to max_0_parts, with as many `_` behind it as nobody else's name has. */
static const char *free_name(const split_state *state, const char *anchor, const char *end) {
    base_text name;
    base_text_init(&name, state->arena);
    base_text_format(&name, "%s%s", anchor, end);
    for (int64_t i = 0; i < name.length; i++)
        if (name.bytes[i] == '.')
            name.bytes[i] = '_';
    while (is_taken(state, name.bytes))
        base_text_string(&name, "_");
    return name.bytes;
}

static void set_phases(split_state *state) {
    for (const ir_op *op = state->tile->body.first; op != NULL; op = op->next) {
        int phase = split_phase_of(state, op);
        if (split_is_partial(state, op)) {
            split_partial partial = {.reduce = op, .phase = ++phase};
            partial.name = free_name(state, op->anchor, "_parts");
            BASE_PUSH(state->arena, state->partials, state->partial_count, state->partial_capacity,
                      partial);
        }
        for (int i = 0; i < op->result_count; i++)
            state->phase[op->results[i]->number] = phase;
    }
    state->part_name = free_name(state, "part", "");
}

/* ---- what is refused ---- */
static bool touches_axis(const split_state *state, const ir_op *op) {
    bool touches = op->opcode == IR_STORE && split_store_dimension(state, op) >= 0;
    for (int i = 0; i < op->operand_count; i++)
        touches = touches || split_is_on_axis(state, op->operands[i]);
    for (int i = 0; i < op->result_count; i++)
        touches = touches || split_is_on_axis(state, op->results[i]);
    for (int r = 0; r < op->region_count; r++) {
        for (int i = 0; i < op->regions[r]->argument_count; i++)
            touches = touches || split_is_on_axis(state, op->regions[r]->arguments[i]);
        for (const ir_op *inner = op->regions[r]->first; inner != NULL; inner = inner->next)
            touches = touches || touches_axis(state, inner);
    }
    return touches;
}

/* Which axis the ranges of the access run over: that of dimension i of the tile. */
static int axis_of_range(const split_state *state, const ir_op *op, int i) {
    if (op->opcode == IR_LOAD)
        return state->axes.of_value[op->results[0]->number][i];
    const analysis_store_axes *store = analysis_axes_of_store(&state->axes, op);
    return store != NULL ? store->axis[i] : -1;
}

static void check_access(split_state *state, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    const ir_type *tensor = &op->operands[0]->type;
    for (int d = 0, next = 0; d < access->rank; d++) {
        const ir_index *index = &access->index[d];
        if (index->kind != IR_INDEX_RANGE || axis_of_range(state, op, next++) != state->axis)
            continue;
        if (index->operand >= 0 ||
            !layout_extent_equal(&state->tile->extents, index->length, tensor->extent[d]))
            refuse(state, op, "`:`, the whole of a dimension",
                   "a slice of a tensor cannot be split over launches");
    }
}

static bool has_domain(const split_state *state, const ir_value *value) {
    for (int i = 0; i < value->type.rank; i++)
        if (state->axes.of_value[value->number][i] == state->axis && value->type.domain[i] != NULL)
            return true;
    return false;
}

static void check_partial(split_state *state, const ir_op *op) {
    const ir_type *result = &op->results[0]->type;
    const ir_plan_line *line = ir_plan_find(state->plan, IR_PLAN_REDUCE, op->anchor);
    ir_order order = line != NULL ? line->order : op->attributes.order;
    if (order != IR_ORDER_TREE && ir_reduce_needs_order(op))
        split_fail(state, line != NULL ? line->location : op->location, ir_order_name(order),
                   "order tree",
                   "a reduction in an order of its own cannot be split over launches");
    else if (result->rank > 0)
        refuse(state, op, "a reduction to a scalar of the program",
               "a reduction that leaves a tile cannot be split over launches");
    else if (ir_monoid_result(op->attributes.monoid, result->dtype) != result->dtype)
        refuse(state, op, "partial results of the type of the whole",
               "partial results of this reduction cannot be combined as elements");
}

static void check_op(split_state *state, const ir_op *op) {
    if (!touches_axis(state, op))
        return;
    if (op->region_count > 0)
        refuse(state, op, "an axis that is walked at the top of the kernel",
               "an axis that stands in a loop or under a condition cannot be split over launches");
    else if (op->opcode == IR_CONVERT || op->opcode == IR_PAD)
        refuse(state, op, "an axis that is neither converted nor padded",
               "a tile that is taken as a whole cannot be split over launches");
    else if (op->attributes.access != NULL)
        check_access(state, op);
    else if (split_is_partial(state, op))
        check_partial(state, op);
    for (int i = 0; i < op->result_count; i++)
        if (has_domain(state, op->results[i]))
            refuse(state, op, "an axis that ends where its tiles do",
                   "a tile that ends before its axis cannot be split over launches");
}

typedef struct tensor_uses {
    const ir_value *tensor;
    const ir_op *load, *store;
} tensor_uses;

static bool visit_use(void *pointer, ir_op *op) {
    tensor_uses *uses = pointer;
    if (op->opcode == IR_LOAD && op->operands[0] == uses->tensor)
        uses->load = op;
    if (op->opcode == IR_STORE && op->operands[0] == uses->tensor)
        uses->store = op;
    return true;
}

/* Whether a launch would read what another one, or another part, has written. */
static void check_tensors(split_state *state) {
    ir_region body = state->tile->body;
    for (int i = 0; i < state->tile->parameter_count; i++) {
        tensor_uses uses = {.tensor = state->tile->parameters[i].value};
        if (!state->tile->parameters[i].is_tensor)
            continue;
        ir_region_walk(&body, visit_use, &uses);
        if (uses.load != NULL && uses.store != NULL)
            split_fail(state, uses.store->location, state->tile->parameters[i].name,
                       "tensors that are only read, or only written",
                       "a tensor is read and written: parts of a row would see each other's");
    }
}

void split_check(split_state *state) {
    state->phase = BASE_NEW_ARRAY(state->arena, int, state->tile->next_value);
    if (state->axes.axes[state->axis].fixed != NULL)
        split_fail(state, state->line->location, state->line->anchor, "an axis without a layout",
                   "the kernel's text fixes the layout of the axis");
    if (state->tile->program_count == IR_MAX_PROGRAMS)
        split_fail(state, state->line->location, state->line->anchor,
                   "at most three program axes, with the parts as the fourth",
                   "the kernel has too many program axes to be split");
    check_tensors(state);
    for (const ir_op *op = state->tile->body.first; op != NULL && !state->failed; op = op->next)
        check_op(state, op);
    if (!state->failed)
        set_phases(state);
}
