/* Expansion of the kernel's own loops and branches.
 *
 *     %s = for %k .. carry(%acc: f32<N> in private)
 *
 * Scalars and tiles in registers stay carries. A tile in a private array is one array for argument
 * and result: copied from the initial value before the loop and from what the body yields at its
 * end, through copies where one carry feeds another. A branch likewise writes its yield into the
 * array of the result.
 */
#include "pass/expand_internal.h"

/* A carried or merged value: the thread value that stands for the mapped `value` where `into` is
 * meant. */
static ir_value *carried(expand_state *state, const ir_value *value, const ir_value *into) {
    return expand_splat(state, state->value[value->number], expand_slots_of(state, into));
}

static ir_type carried_type(const expand_state *state, const ir_value *value) {
    int slots = expand_slots_of(state, value);
    base_dtype dtype = ir_build_dtype(&state->builder, value->type.dtype);
    return slots > 0 ? ir_type_slots(dtype, slots) : ir_type_uniform(dtype);
}

/* The end of a loop body: arrays of tile carries are refilled, through copies where a carry feeds
 * another. */
static void expand_yield_arrays(expand_state *state, const ir_op *op, const ir_op *yield) {
    const ir_region *body = op->regions[0];
    ir_value **from = BASE_NEW_ARRAY(state->module->arena, ir_value *, yield->operand_count);
    for (int i = 0; i < yield->operand_count; i++) {
        from[i] = state->array[yield->operands[i]->number];
        if (from[i] != NULL && yield->operands[i]->region == body) {
            ir_value *copy = expand_declare_array(state, yield->operands[i]);
            expand_copy_array(state, copy, from[i]);
            from[i] = copy;
        }
    }
    for (int i = 0; i < yield->operand_count; i++)
        if (from[i] != NULL)
            expand_copy_array(state, state->array[op->results[i]->number], from[i]);
}

/* ---- loops ---- */

static void set_bounds(expand_state *state, const ir_op *op, ir_value **bounds) {
    for (int i = 0; i < 3; i++) {
        bounds[i] = state->value[op->operands[i]->number];
        if (bounds[i]->type.dtype != BASE_I64)
            bounds[i] = ir_build_cast(&state->builder, bounds[i], BASE_I64, IR_ROUND_ZERO);
        if (bounds[i]->type.form != IR_FORM_UNIFORM)
            expand_fail(state, op, "divergent-loop",
                        "a loop bound differs between programs of a team");
    }
}

/* What goes in: tiles into their arrays; of the others values and types. Returns how many. */
static int begin_carries(expand_state *state, const ir_op *op, ir_value **values, ir_type *types) {
    int live = 0;
    for (int i = 0; i < op->result_count; i++) {
        const ir_value *argument = op->regions[0]->arguments[1 + i], *first = op->operands[3 + i];
        if (argument->storage == IR_STORAGE_PRIVATE) {
            ir_value *array = expand_declare_array(state, argument);
            expand_copy_array(state, array, state->array[first->number]);
            state->array[argument->number] = state->array[op->results[i]->number] = array;
        } else {
            values[live] = carried(state, first, argument);
            types[live++] = carried_type(state, argument);
        }
    }
    return live;
}

static void add_argument(expand_state *state, const ir_value *argument, ir_type type) {
    state->value[argument->number] =
        ir_region_add_argument(state->module, state->builder.region, type, argument->name);
}

/* The loop's index, and the carries that stay such. */
static void add_arguments(expand_state *state, const ir_op *op, const ir_type *types) {
    ir_value *const *arguments = op->regions[0]->arguments;
    add_argument(state, arguments[0], ir_type_uniform(BASE_I64));
    for (int i = 0, k = 0; i < op->result_count; i++)
        if (state->array[arguments[1 + i]->number] == NULL)
            add_argument(state, arguments[1 + i], types[k++]);
}

/* At the end of the body: what goes round, and what comes out of the loop. */
static void end_carries(expand_state *state, const ir_op *op, const ir_op *loop, ir_value **next) {
    const ir_op *yield = ir_region_yield(op->regions[0]);
    expand_yield_arrays(state, op, yield);
    for (int i = 0, k = 0; i < op->result_count; i++) {
        if (state->array[op->results[i]->number] != NULL)
            continue;
        next[k] = carried(state, yield->operands[i], op->results[i]);
        state->value[op->results[i]->number] = loop->results[k++];
    }
}

void expand_for(expand_state *state, ir_op *op) {
    ir_builder *b = &state->builder;
    base_arena *arena = state->module->arena;
    expand_range tokens = expand_scratch_inside(state, op), around = state->released;
    int token_count = tokens.last - tokens.first, most = op->result_count + token_count;
    ir_value **operands = BASE_NEW_ARRAY(arena, ir_value *, 3 + most);
    ir_value **next = BASE_NEW_ARRAY(arena, ir_value *, most);
    ir_type *types = BASE_NEW_ARRAY(arena, ir_type, most);
    set_bounds(state, op, operands);
    int live = begin_carries(state, op, operands + 3, types);
    expand_tokens_before(state, tokens, true, operands + 3 + live, types + live);
    int carries = live + token_count;
    ir_op *loop = ir_build_op(b, IR_FOR, 3 + carries, operands, carries, types, 1);
    ir_region *outer = b->region;
    b->region = loop->regions[0];
    add_arguments(state, op, types);
    expand_tokens_enter(state, tokens, b->region);
    expand_region(state, op->regions[0]);
    end_carries(state, op, loop, next);
    expand_tokens_leave(state, tokens, types + live, next + live);
    ir_build_yield(b, carries, next);
    b->region = outer;
    state->released = around;
    expand_tokens_after(state, tokens, loop);
}

/* ---- branches ---- */

/* The end of a side: tiles into the arrays of their results; the other values. */
static void end_side(expand_state *state, const ir_op *op, int side, ir_value **values) {
    const ir_op *yield = ir_region_yield(op->regions[side]);
    for (int i = 0, k = 0; i < op->result_count; i++) {
        if (op->results[i]->storage == IR_STORAGE_PRIVATE)
            expand_copy_array(state, state->array[op->results[i]->number],
                              state->array[yield->operands[i]->number]);
        else
            values[k++] = carried(state, yield->operands[i], op->results[i]);
    }
}

void expand_if(expand_state *state, ir_op *op) {
    ir_builder *b = &state->builder;
    ir_value *condition = state->value[op->operands[0]->number];
    if (condition->type.form != IR_FORM_UNIFORM)
        expand_fail(state, op, "divergent-branch",
                    "a condition differs between programs of a team");
    expand_range tokens = expand_scratch_inside(state, op), around = state->released;
    int token_count = tokens.last - tokens.first;
    ir_value **begin = BASE_NEW_ARRAY(state->module->arena, ir_value *, token_count);
    ir_type *types = BASE_NEW_ARRAY(state->module->arena, ir_type, op->result_count + token_count);
    int live = 0;
    for (int i = 0; i < op->result_count; i++) {
        if (op->results[i]->storage == IR_STORAGE_PRIVATE)
            state->array[op->results[i]->number] = expand_declare_array(state, op->results[i]);
        else
            types[live++] = carried_type(state, op->results[i]);
    }
    expand_tokens_before(state, tokens, false, NULL, types + live);
    ir_op *branch = ir_build_op(b, IR_IF, 1, &condition, live + token_count, types, 2);
    ir_region *outer = b->region;
    expand_tokens_branch(state, tokens, begin, true);
    for (int side = 0; side < 2; side++) {
        b->region = branch->regions[side];
        expand_tokens_branch(state, tokens, begin, false);
        expand_region(state, op->regions[side]);
        ir_value **values = BASE_NEW_ARRAY(state->module->arena, ir_value *, live + token_count);
        end_side(state, op, side, values);
        expand_tokens_leave(state, tokens, types + live, values + live);
        ir_build_yield(b, live + token_count, values);
    }
    b->region = outer;
    state->released = around;
    expand_tokens_after(state, tokens, branch);
    for (int i = 0, k = 0; i < op->result_count; i++)
        if (op->results[i]->storage != IR_STORAGE_PRIVATE)
            state->value[op->results[i]->number] = branch->results[k++];
}
