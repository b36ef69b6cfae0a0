/* Early loads: a search of what a load depends on; the header says what for.
 *
 * The load and all that it depends on stand in the body of the kernel, so that they run once, and
 * are loads of tensors that nothing writes, or pure ops but reductions and conversions of owners.
 * A home of an output counts as written: its mode is inout.
 */
#include "analysis/early.h"

typedef struct early_search {
    base_arena *arena;
    const analysis_sweeps *sweeps;
    const bool *stepped;
    bool *seen; /* by value number */
    const ir_value **queue;
    int64_t count, capacity;
} early_search;

static bool is_only_read(const ir_module *module, const ir_value *tensor) {
    int parameter = ir_module_parameter_of(module, tensor);
    return parameter >= 0 && module->parameters[parameter].mode == IR_IN;
}

/* An op of a sweep with steps runs in a loop. */
static bool is_in_steps(const early_search *s, const ir_value *value) {
    int number = s->sweeps->of_value[value->number];
    if (number < 0)
        return false;
    const analysis_sweep *sweep = &s->sweeps->sweeps[number];
    for (int i = 0; i < sweep->axis_count; i++)
        if (s->stepped[sweep->axes[i]])
            return true;
    return false;
}

static void push(early_search *s, const ir_value *value) {
    if (value == NULL || s->seen[value->number] || value->type.form == IR_FORM_TENSOR)
        return;
    s->seen[value->number] = true;
    BASE_PUSH(s->arena, s->queue, s->count, s->capacity, value);
}

static void push_needed(early_search *s, const ir_op *op) {
    for (int i = 0; i < op->operand_count; i++)
        push(s, op->operands[i]);
    for (int i = 0; i < op->result_count; i++)
        for (int d = 0; d < op->results[i]->type.rank; d++)
            push(s, op->results[i]->type.domain[d]);
}

static const char *obstacle_of(const early_search *s, const ir_op *op) {
    if (op == NULL || op->parent->owner != NULL)
        return "a load that depends on no loop or branch, and stands in none";
    if (op->opcode == IR_REDUCE || op->opcode == IR_CONVERT)
        return "a load that depends on no reduction and no conversion";
    if (op->opcode == IR_LOAD && !is_only_read(s->sweeps->module, op->operands[0]))
        return "a load of a tensor that nothing writes";
    if (op->opcode != IR_LOAD && !ir_op_describe(op->opcode)->pure)
        return "a load that depends on no loop or branch, and stands in none";
    if (op->opcode == IR_LOAD && is_in_steps(s, op->results[0]))
        return "a load of a tile that is walked in no steps";
    return NULL;
}

const char *analysis_early_obstacle(base_arena *arena, const analysis_sweeps *sweeps,
                                    const bool *stepped, const ir_op *op) {
    early_search search = {.arena = arena, .sweeps = sweeps, .stepped = stepped};
    if (op->opcode != IR_LOAD)
        return "a load: a store waits for what it stores";
    search.seen = BASE_NEW_ARRAY(arena, bool, sweeps->module->next_value);
    const char *obstacle = obstacle_of(&search, op);
    push_needed(&search, op);
    for (int64_t i = 0; i < search.count && obstacle == NULL; i++) {
        obstacle = obstacle_of(&search, search.queue[i]->definer);
        if (obstacle == NULL)
            push_needed(&search, search.queue[i]->definer);
    }
    return obstacle;
}
