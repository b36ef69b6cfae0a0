/* map: level tile to level mapped, by a plan.
 *
 * Ops that work element by element move into sweeps (analysis/sweeps.h says which), every tile
 * value gets the module axes of its dimensions, and what crosses from one sweep to a later one is
 * yielded and kept, loaded again or computed again, as the plan says:
 *
 *     level tile                       level mapped: `keep t reload`, `keep e private`
 *     %t = load %x[%row, :]            %m = sweep (N) { load %x; reduce max }
 *     %m = reduce max %t
 *     %e = exp (sub %t, %m)            %e, %s = sweep (N) { load %x; sub %m; exp; reduce sum }
 *     %s = reduce sum %e
 *     store %y[%row, :], div %e, %s    sweep (N) { div %e, %s; store %y }
 *
 * It makes no choice. map_plan.c reads the plan, map_storage.c what it says of values that cross.
 */
#include "pass/map_internal.h"

#include "ir/clone.h"

static void map_region(map_state *state, ir_region *from, ir_region *to);

static bool is_kept(ir_storage storage) {
    return storage == IR_STORAGE_REGISTERS || storage == IR_STORAGE_PRIVATE;
}

void map_layout(map_state *state, const ir_value *old_value, ir_value *value) {
    for (int i = 0; i < IR_MAX_RANK; i++)
        value->layout.axis[i] = state->axes.of_value[old_value->number][i];
}

ir_type map_type(map_state *state, const ir_value *old_value) {
    ir_type type = old_value->type;
    for (int i = 0; i < type.rank; i++)
        if (type.domain[i] != NULL)
            type.domain[i] = map_use(state, type.domain[i]);
    return type;
}

void map_bind(map_state *state, ir_value *old_value, ir_value *value) {
    value->name = value->name == NULL ? old_value->name : value->name;
    map_layout(state, old_value, value);
    if (state->sweep >= 0) {
        state->local[old_value->number] = value;
        state->local_sweep[old_value->number] = state->sweep;
    } else {
        state->global[old_value->number] = value;
    }
}

/* ---- ops ---- */

static ir_op *map_copy_op(map_state *state, ir_op *op) {
    ir_value **operands = BASE_NEW_ARRAY(state->module->arena, ir_value *, op->operand_count);
    ir_type *types = BASE_NEW_ARRAY(state->module->arena, ir_type, op->result_count);
    for (int i = 0; i < op->operand_count; i++)
        operands[i] = map_use(state, op->operands[i]);
    for (int i = 0; i < op->result_count; i++)
        types[i] = map_type(state, op->results[i]);
    state->builder.location = op->location;
    if (op->opcode == IR_REDUCE &&
        state->axes.of_value[op->operands[0]->number][op->attributes.axis] < 0) {
        map_single_reduce(state, op);
        return NULL;
    }
    ir_op *copy = ir_build_op(&state->builder, op->opcode, op->operand_count, operands,
                              op->result_count, types, op->region_count);
    copy->attributes = op->attributes;
    copy->anchor = op->anchor;
    if (op->opcode == IR_CONVERT)
        map_set_mechanism(state, op, copy);
    if (op->opcode == IR_REDUCE)
        map_set_order(state, op, copy);
    if (op->attributes.access != NULL) {
        copy->attributes.access = BASE_NEW(state->module->arena, ir_access);
        *copy->attributes.access = *op->attributes.access;
        map_set_access(state, op, copy->attributes.access);
    }
    for (int i = 0; i < op->result_count; i++)
        map_bind(state, op->results[i], copy->results[i]);
    return copy;
}

/* A value that waits in an output: stored there where it is made (its local copy exists), else
 * loaded back. */
static ir_value *map_output_access(map_state *state, ir_value *old_value) {
    int32_t n = old_value->number;
    const ir_op *store = state->output[n];
    bool made_here = state->local_sweep[n] == state->sweep;
    int count = store->operand_count - 1;
    ir_value **operands = BASE_NEW_ARRAY(state->module->arena, ir_value *, count + 1);
    for (int i = 0; i < count; i++)
        operands[i] = map_use(state, store->operands[i]);
    operands[count] = made_here ? state->local[n] : NULL;
    ir_type type = map_type(state, old_value);
    ir_op *op = made_here ? ir_build_op(&state->builder, IR_STORE, count + 1, operands, 0, NULL, 0)
                          : ir_build_op(&state->builder, IR_LOAD, count, operands, 1, &type, 0);
    op->attributes.access = BASE_NEW(state->module->arena, ir_access);
    *op->attributes.access = *store->attributes.access;
    map_set_access(state, store, op->attributes.access);
    op->attributes.access->policy = IR_POLICY_DEFAULT; /* what waits there is read back */
    op->attributes.access->early = false;
    op->attributes.access->prefetch = 0;
    op->attributes.access->injective = made_here;
    if (made_here)
        return state->local[n];
    map_bind(state, old_value, op->results[0]);
    return op->results[0];
}

ir_value *map_use(map_state *state, ir_value *old_value) {
    int32_t n = old_value->number;
    if (old_value->type.form == IR_FORM_TENSOR)
        return old_value;
    if (state->sweep >= 0 && state->local_sweep[n] == state->sweep)
        return state->local[n];
    if (state->global[n] != NULL)
        return state->global[n];
    ir_storage storage = state->storage[n];
    if (state->sweep >= 0 && old_value->definer != NULL &&
        (storage == IR_STORAGE_RELOAD || storage == IR_STORAGE_RECOMPUTE) &&
        (old_value->definer->opcode != IR_LOAD ||
         analysis_load_repeatable(&state->sweeps, old_value->definer, state->sweep))) {
        map_copy_op(state, old_value->definer);
        return state->local[n];
    }
    if (state->sweep >= 0 && storage == IR_STORAGE_OUTPUT)
        return map_output_access(state, old_value);
    if (old_value->definer != NULL &&
        ir_op_describe(old_value->definer->opcode)->shape == IR_SHAPE_LEAF) {
        ir_op *leaf = map_copy_op(state, old_value->definer);
        return leaf->results[0];
    }
    if (!state->failed)
        map_fail(state,
                 old_value->definer != NULL ? old_value->definer->location
                                            : (base_location){.source = state->module->source},
                 "plan-storage", analysis_value_anchor(state->module->arena, old_value),
                 "registers, private or output",
                 "a value that a loop, branch or later sweep needs is not kept");
    return old_value;
}

/* ---- sweeps ---- */

typedef struct yield_list {
    ir_value **inner; /* in the sweep */
    ir_value **old;   /* at level tile */
    int64_t count, inner_capacity, old_capacity;
} yield_list;

static void yield_add(map_state *state, yield_list *list, ir_value *old_value) {
    int64_t count = list->count;
    BASE_PUSH(state->module->arena, list->old, count, list->old_capacity, old_value);
    count = list->count;
    BASE_PUSH(state->module->arena, list->inner, count, list->inner_capacity,
              state->local[old_value->number]);
    list->count = count;
}

/* What leaves a sweep: scalars, and tiles that the plan keeps. */
static bool leaves_sweep(const map_state *state, const ir_value *old_value) {
    return !map_is_tile(old_value) || is_kept(state->storage[old_value->number]);
}

static void map_sweep(map_state *state, int index) {
    const analysis_sweep *sweep = &state->sweeps.sweeps[index];
    ir_builder *b = &state->builder;
    b->location = sweep->ops[0]->location;
    ir_op *op = ir_build_op(b, IR_SWEEP, 0, NULL, 0, NULL, 1);
    op->attributes.axis_count = sweep->axis_count;
    for (int i = 0; i < sweep->axis_count; i++)
        op->attributes.axes[i] = sweep->axes[i];
    ir_region *outer = b->region;
    b->region = op->regions[0];
    state->sweep = index;
    yield_list yields = {0};
    for (int64_t i = 0; i < sweep->op_count; i++) {
        ir_op *old_op = sweep->ops[i];
        map_copy_op(state, old_op);
        for (int k = 0; k < old_op->result_count; k++) {
            if (leaves_sweep(state, old_op->results[k]))
                yield_add(state, &yields, old_op->results[k]);
            else if (state->storage[old_op->results[k]->number] == IR_STORAGE_OUTPUT)
                map_output_access(state, old_op->results[k]);
        }
    }
    ir_build_yield(b, (int)yields.count, yields.inner);
    b->region = outer;
    state->sweep = -1;
    op->result_count = (int)yields.count;
    op->results = BASE_NEW_ARRAY(state->module->arena, ir_value *, yields.count);
    for (int64_t i = 0; i < yields.count; i++) {
        ir_value *old_value = yields.old[i];
        op->results[i] =
            ir_value_create(state->module, map_type(state, old_value), old_value->name);
        op->results[i]->definer = op;
        op->results[i]->storage =
            map_is_tile(old_value) ? state->storage[old_value->number] : IR_STORAGE_NONE;
        map_bind(state, old_value, op->results[i]);
    }
}

/* ---- regions ---- */

static void map_control(map_state *state, ir_op *op) {
    ir_op *copy = map_copy_op(state, op);
    for (int i = 0; i < op->result_count; i++)
        copy->results[i]->storage = state->storage[op->results[i]->number];
    ir_region *outer = state->builder.region;
    for (int k = 0; k < op->region_count; k++) {
        for (int i = 0; i < op->regions[k]->argument_count; i++) {
            ir_value *old_value = op->regions[k]->arguments[i];
            ir_value *value = ir_region_add_argument(state->module, copy->regions[k],
                                                     map_type(state, old_value), old_value->name);
            value->storage = state->storage[old_value->number];
            map_bind(state, old_value, value);
        }
        map_region(state, op->regions[k], copy->regions[k]);
    }
    state->builder.region = outer;
}

static void map_region(map_state *state, ir_region *from, ir_region *to) {
    const analysis_schedule *schedule = analysis_sweeps_schedule(&state->sweeps, from);
    state->builder.region = to;
    for (int64_t i = 0; schedule != NULL && i < schedule->count && !state->failed; i++) {
        const analysis_item *item = &schedule->items[i];
        if (item->op == NULL)
            map_sweep(state, item->sweep);
        else if (item->op->region_count > 0)
            map_control(state, item->op);
        else
            map_copy_op(state, item->op);
    }
}

pass_result pass_map(ir_module *module, pass_context *context) {
    map_state state = {.module = module, .context = context, .sweep = -1};
    ir_module *tile = ir_module_clone(module->arena, module);
    int32_t count = module->next_value;
    state.axes = analysis_axes_find(module->arena, module);
    state.sweeps = analysis_sweeps_find(module->arena, module, &state.axes);
    state.storage = BASE_NEW_ARRAY(module->arena, ir_storage, count);
    state.output = BASE_NEW_ARRAY(module->arena, const ir_op *, count);
    state.global = BASE_NEW_ARRAY(module->arena, ir_value *, count);
    state.local = BASE_NEW_ARRAY(module->arena, ir_value *, count);
    state.local_sweep = BASE_NEW_ARRAY(module->arena, int, count);
    state.copies = BASE_NEW_ARRAY(module->arena, int, count);
    for (int32_t i = 0; i < count; i++)
        state.local_sweep[i] = -1;
    map_plan_apply(&state);
    if (state.failed)
        return PASS_FAILED;
    map_storages(&state);
    if (state.failed)
        return PASS_FAILED;
    map_orders(&state, tile);
    map_set_forms(&state, tile);
    map_set_forms(&state, module);
    module->implements = tile;
    module->level = IR_MAPPED;
    state.builder = (ir_builder){.module = module};
    ir_region *mapped = BASE_NEW(module->arena, ir_region);
    map_region(&state, &module->body, mapped);
    if (!state.failed)
        map_check_prefetch_sweeps(&state, &module->body);
    module->body = *mapped;
    for (ir_op *op = module->body.first; op != NULL; op = op->next)
        op->parent = &module->body;
    return state.failed ? PASS_FAILED : PASS_CHANGED;
}
