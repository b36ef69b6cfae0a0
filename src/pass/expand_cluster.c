/* Expansion of axes that the groups of a cluster share, and of reductions over them.
 *
 *     axis N   slot 4 | lane 32 | subgroup 8 | block 4 | slot 4
 *
 *     %row = floordiv (group), 4                 the groups of a cluster are neighbours in the grid
 *     %part = mul (block), 1024                  the element of a position: part + affine form
 *     ... mask=lane*4 + .. < %rest - %part       the guarded step
 *
 * A part is the same in all slots, so that everything else is as in one group. Elements of other
 * axes each group has for itself; the first one stores them. A reduction ends in each group as it
 * would alone. Then one lane tells all groups, which finish by themselves in the order of blocks:
 *
 *     %a = put %c[%b], %m, %t mask=lane*1 + subgroup*32 < 1 block=0 : token written %c
 *     %d = put %c[%b], %m, %a mask=lane*1 + subgroup*32 < 1 block=1 : token written %c
 *     %p = sync cluster %d : token published %c
 *     %g = get %c[slot*1], %p : f32(2)
 *     %r = uniform (fold max %g) : f32
 *
 * No group reads or writes another's scratch behind that sync, so each may end when it has. Arrays
 * that a loop uses again are released by a sync of the cluster.
 */
#include "pass/expand_internal.h"

void expand_cluster_begin(expand_state *state) {
    ir_builder *b = &state->builder;
    const ir_module *module = state->module;
    ir_type type = ir_type_uniform(BASE_I64);
    if (module->cluster <= 1)
        return;
    state->block = ir_build_op(b, IR_BLOCK, 0, NULL, 1, &type, 0)->results[0];
    state->block->ranged = true;
    state->block->high = module->cluster - 1;
    for (int i = 0; i < module->axis_count; i++) {
        const layout_axis *digits = &module->axes[i].digits;
        for (int k = 0; k < digits->count; k++) {
            if (digits->digits[k].holder != LAYOUT_BLOCK)
                continue;
            int64_t weight = layout_axis_digit_weight(digits, k);
            state->axis[i].part =
                ir_build_binary(b, IR_MUL, state->block, ir_build_integer(b, BASE_I64, weight));
        }
    }
}

ir_value *expand_cluster_count(expand_state *state, int axis, ir_value *count) {
    ir_value *part = state->axis[axis].part;
    return part == NULL ? count : ir_build_binary(&state->builder, IR_SUB, count, part);
}

ir_value *expand_cluster_first(expand_state *state, const ir_value *tile) {
    for (int i = 0; i < tile->type.rank; i++)
        if (tile->layout.axis[i] >= 0 && state->axis[tile->layout.axis[i]].blocks > 1)
            return NULL;
    return state->block == NULL ? NULL
                                : ir_build_binary(&state->builder, IR_LT, state->block,
                                                  ir_build_integer(&state->builder, BASE_I64, 1));
}

bool expand_cluster_meets(const expand_state *state, const ir_op *reduce) {
    int axis = expand_reduce_axis(reduce);
    return axis >= 0 && state->axis[axis].blocks > 1;
}

/* ---- reductions ---- */
static expand_scratch *far_scratch_of(expand_state *state, const ir_op *user) {
    for (int i = 0; i < state->scratch_count; i++)
        if (state->scratch[i].far && state->scratch[i].user == user)
            return &state->scratch[i];
    return NULL;
}

/* The first lane of the group writes its cell in the scratch of a group of the cluster. */
static void build_put(expand_state *state, expand_scratch *scratch, ir_value *value, int64_t to) {
    ir_builder *b = &state->builder;
    ir_value *operands[6] = {scratch->array, state->block, ir_build_integer(b, BASE_I64, 1),
                             ir_build_integer(b, BASE_I64, to)};
    operands[4] = value;
    operands[5] = scratch->token;
    ir_type type = scratch->token->type;
    type.state = IR_TOKEN_WRITTEN;
    ir_op *put = ir_build_op(b, IR_PUT, 6, operands, 1, &type, 0);
    ir_access *access = expand_scratch_access(state);
    access->index[0].operand = 1;
    access->mask_kind = IR_MASK_RANGE;
    access->mask = 2;
    access->mask_affine = ir_affine_of(1, 0);
    if (ir_module_subgroups(state->module) > 1)
        ir_affine_add(&access->mask_affine,
                      (ir_term){LAYOUT_SUBGROUP, 1, 0, ir_module_subgroup_lanes(state->module)});
    access->block = 3;
    put->attributes.access = access;
    scratch->token = put->results[0];
}

/* T(1) of a value that all lanes hold alike. */
static ir_value *value_of_lane(expand_state *state, ir_value *value) {
    const ir_op *op = value->definer;
    return op != NULL && op->opcode == IR_UNIFORM ? op->operands[0] : expand_splat(state, value, 1);
}

/* What all groups told. */
static ir_value *get_told(expand_state *state, const expand_scratch *scratch) {
    ir_affine index = ir_affine_of(0, 1);
    return expand_scratch_get(state, scratch, &index, state->module->cluster, IR_SCOPE_GROUP);
}

/* An iteration before may be reading still. */
static void release_before_puts(expand_state *state, ir_op *const *reduces, int count) {
    bool read = false;
    for (int i = 0; i < count; i++) {
        const expand_scratch *scratch = far_scratch_of(state, reduces[i]);
        read = read || (scratch != NULL && scratch->token->type.state == IR_TOKEN_PUBLISHED);
    }
    if (read)
        expand_scratch_sync(state, state->released, IR_SCOPE_CLUSTER);
}

void expand_cluster_combine(expand_state *state, ir_op *const *reduces, int count,
                            ir_value **values) {
    int used = 0;
    if (state->block == NULL || state->failed)
        return;
    release_before_puts(state, reduces, count);
    for (int i = 0; i < count; i++) {
        expand_scratch *scratch = far_scratch_of(state, reduces[i]);
        if (scratch == NULL)
            continue;
        state->builder.location = reduces[i]->location;
        ir_value *told = value_of_lane(state, values[i]);
        for (int64_t to = 0; to < state->module->cluster; to++)
            build_put(state, scratch, told, to);
        used++;
    }
    if (used == 0)
        return;
    expand_scratch_sync(state, state->released, IR_SCOPE_CLUSTER);
    for (int i = 0; i < count; i++) {
        expand_scratch *scratch = far_scratch_of(state, reduces[i]);
        if (scratch == NULL)
            continue;
        state->builder.location = reduces[i]->location;
        ir_value *folded = expand_reduce_fold(state, reduces[i], get_told(state, scratch));
        folded->scope = IR_SCOPE_GROUP;
        values[i] = expand_uniform(state, folded);
    }
}
