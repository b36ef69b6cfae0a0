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

/* Copies a kept tile cell by cell. */
static void copy_array(expand_state *state, ir_value *to, ir_value *from) {
    ir_builder *b = &state->builder;
    ir_value *first = ir_build_integer(b, BASE_I64, 0);
    ir_value *end = ir_build_size(b, to->type.extent[0]);
    ir_value *step = ir_build_integer(b, BASE_I64, 1);
    ir_value *bounds[3] = {first, end, step};
    ir_op *loop = ir_build_op(b, IR_FOR, 3, bounds, 0, NULL, 1);
    ir_region *outer = b->region;
    b->region = loop->regions[0];
    ir_value *cell =
        ir_region_add_argument(state->module, b->region, ir_type_uniform(BASE_I64), NULL);
    ir_type type = to->type.slots > 0 ? ir_type_slots(to->type.dtype, to->type.slots)
                                      : ir_type_uniform(to->type.dtype);
    ir_value *value =
        ir_build_op(b, IR_PULL, 2, (ir_value *[]){from, cell}, 1, &type, 0)->results[0];
    ir_build_op(b, IR_PUSH, 3, (ir_value *[]){to, cell, value}, 0, NULL, 0);
    ir_build_yield(b, 0, NULL);
    b->region = outer;
}

/* A carried or merged value: the thread value that stands for the mapped `value` where `into` is
 * meant. */
static ir_value *carried(expand_state *state, const ir_value *value, const ir_value *into) {
    return expand_splat(state, state->value[value->number], expand_slots_of(state, into));
}

static ir_type carried_type(const expand_state *state, const ir_value *value) {
    int slots = expand_slots_of(state, value);
    base_dtype dtype = value->type.dtype == BASE_INDEX ? BASE_I64 : value->type.dtype;
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
            copy_array(state, copy, from[i]);
            from[i] = copy;
        }
    }
    for (int i = 0; i < yield->operand_count; i++)
        if (from[i] != NULL)
            copy_array(state, state->array[op->results[i]->number], from[i]);
}

void expand_for(expand_state *state, ir_op *op) {
    ir_builder *b = &state->builder;
    int carries = op->result_count, live = 0;
    expand_range tokens = expand_scratch_inside(state, op);
    int token_count = tokens.last - tokens.first;
    ir_value **operands =
        BASE_NEW_ARRAY(state->module->arena, ir_value *, op->operand_count + token_count);
    ir_type *types = BASE_NEW_ARRAY(state->module->arena, ir_type, carries + token_count);
    for (int i = 0; i < 3; i++) {
        operands[i] = state->value[op->operands[i]->number];
        if (operands[i]->type.dtype != BASE_I64)
            operands[i] = ir_build_cast(b, operands[i], BASE_I64, IR_ROUND_ZERO);
        if (operands[i]->type.form != IR_FORM_UNIFORM)
            expand_fail(state, op, "divergent-loop",
                        "a loop bound differs between programs of a team");
    }
    for (int i = 0; i < carries; i++) {
        ir_value *argument = op->regions[0]->arguments[1 + i];
        if (argument->storage == IR_STORAGE_PRIVATE) {
            ir_value *array = expand_declare_array(state, argument);
            copy_array(state, array, state->array[op->operands[3 + i]->number]);
            state->array[argument->number] = state->array[op->results[i]->number] = array;
        } else {
            operands[3 + live] = carried(state, op->operands[3 + i], argument);
            types[live++] = carried_type(state, argument);
        }
    }
    expand_tokens_before(state, tokens, true, operands + 3 + live, types + live);
    ir_op *loop =
        ir_build_op(b, IR_FOR, 3 + live + token_count, operands, live + token_count, types, 1);
    ir_region *outer = b->region;
    b->region = loop->regions[0];
    ir_value *index = ir_region_add_argument(state->module, b->region, ir_type_uniform(BASE_I64),
                                             op->regions[0]->arguments[0]->name);
    state->value[op->regions[0]->arguments[0]->number] = index;
    for (int i = 0, k = 0; i < carries; i++) {
        ir_value *argument = op->regions[0]->arguments[1 + i];
        if (state->array[argument->number] == NULL)
            state->value[argument->number] =
                ir_region_add_argument(state->module, b->region, types[k++], argument->name);
    }
    expand_range around = state->released;
    expand_tokens_enter(state, tokens, b->region);
    expand_region(state, op->regions[0]);
    const ir_op *yield = ir_region_yield(op->regions[0]);
    expand_yield_arrays(state, op, yield);
    ir_value **next = BASE_NEW_ARRAY(state->module->arena, ir_value *, carries + token_count);
    for (int i = 0, k = 0; i < carries; i++) {
        if (state->array[op->results[i]->number] != NULL)
            continue;
        next[k] = carried(state, yield->operands[i], op->results[i]);
        state->value[op->results[i]->number] = loop->results[k++];
    }
    expand_tokens_leave(state, tokens, types + live, next + live);
    ir_build_yield(b, live + token_count, next);
    b->region = outer;
    state->released = around;
    expand_tokens_after(state, tokens, loop);
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
        const ir_op *yield = ir_region_yield(op->regions[side]);
        ir_value **values = BASE_NEW_ARRAY(state->module->arena, ir_value *, live + token_count);
        for (int i = 0, k = 0; i < op->result_count; i++) {
            if (op->results[i]->storage == IR_STORAGE_PRIVATE)
                copy_array(state, state->array[op->results[i]->number],
                           state->array[yield->operands[i]->number]);
            else
                values[k++] = carried(state, yield->operands[i], op->results[i]);
        }
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
