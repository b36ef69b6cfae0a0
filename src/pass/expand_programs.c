/* Expansion of programs: where each stands in the grid, and in the team.
 *
 *     program row with `group *`               %row = group
 *     program row with `lane 8 | group *`      %row = minimum(group*8 + lane, R-1),
 *                                              stores under `when group*8 + lane < R`
 *     program row with `lane 4 @8 | subgroup 2 | group *`, where elements have 8 lanes
 *                                              .. of group*8 + lane/8 + subgroup*4
 *
 *     program row, elements on `block 4`       %row = group // 4
 *     program row with `subgroup 2 | group 264 | step *`
 *                                              for %at = group .. (R + 1) // 2 step 264 { %row = ..
 *
 * A group that has more programs than are left works on the last one again, with all lanes: control
 * is uniform, everybody takes part in what lanes do together, and only stores are left out.
 */
#include "pass/expand_internal.h"

static const layout_extent *program_count(expand_state *state, int program) {
    const ir_program *p = &state->module->programs[program];
    return layout_extent_ceil(&state->module->extents, p->extent, p->step);
}

static const expand_axis *axis_of_program(const expand_state *state, int program) {
    for (int i = 0; i < state->module->axis_count; i++)
        if (state->module->axes[i].is_program && state->module->axes[i].program == program)
            return &state->axis[i];
    return NULL;
}

/* Programs of the axis in one group. */
static int64_t programs_together(const expand_state *state, int program) {
    const expand_axis *axis = axis_of_program(state, program);
    return axis != NULL ? axis->chunk : 1;
}

/* Lanes with a program of their own: of every axis. */
static void add_active(expand_state *state, ir_value *inside) {
    state->active = state->active == NULL
                        ? inside
                        : ir_build_binary(&state->builder, IR_AND, state->active, inside);
}

/* One program axis from its position `at` in the grid: where several share the team the last valid
 * one is replayed past the end. */
static ir_value *program_index(expand_state *state, int program, ir_value *at) {
    ir_builder *b = &state->builder;
    int64_t together = programs_together(state, program);
    int64_t step = state->module->programs[program].step;
    if (together > 1) {
        ir_value *iota = expand_iota(state, &axis_of_program(state, program)->affine, 1);
        ir_value *base = ir_build_binary(b, IR_MUL, at, ir_build_integer(b, BASE_I64, together));
        ir_value *index = ir_build_binary(b, IR_ADD, base, iota);
        ir_value *count = ir_build_size(b, program_count(state, program));
        ir_value *last = ir_build_binary(b, IR_SUB, count, ir_build_integer(b, BASE_I64, 1));
        add_active(state, ir_build_binary(b, IR_LT, index, count));
        at = ir_build_binary(b, IR_MINIMUM, index, last);
    }
    return step == 1 ? at : ir_build_binary(b, IR_MUL, at, ir_build_integer(b, BASE_I64, step));
}

typedef struct program_search {
    int program;
    base_location location;
} program_search;

static bool visit_program(void *pointer, ir_op *op) {
    program_search *search = pointer;
    bool found = op->opcode == IR_PROGRAM && op->attributes.axis == search->program;
    if (found)
        search->location = op->location;
    return !found;
}

/* Where the kernel names a program axis; one that it does not use has the place of its first op. */
static base_location program_location(ir_region *mapped, int program) {
    program_search search = {.program = program};
    if (mapped->first != NULL)
        search.location = mapped->first->location;
    ir_region_walk(mapped, visit_program, &search);
    return search.location;
}

void expand_check_programs(expand_state *state) {
    ir_module *module = state->module;
    for (int program = 0; program < module->program_count; program++) {
        int found = 0;
        for (int i = 0; i < module->axis_count; i++)
            found += module->axes[i].is_program && module->axes[i].program == program &&
                     layout_extent_equal(&module->extents, module->axes[i].extent,
                                         program_count(state, program));
        if (found != 1)
            expand_fail(state, NULL, "program-axis",
                        "a program has no axis of its own with the extent of its range");
    }
}

/* Groups that walk over the programs; 0: each has its place in the grid, and no other. */
static int64_t walking_groups(const expand_state *state) {
    for (int i = 0; i < state->module->axis_count; i++)
        if (state->module->axes[i].is_program &&
            layout_axis_has(&state->module->axes[i].digits, LAYOUT_STEP))
            return layout_axis_radix(&state->module->axes[i].digits, LAYOUT_GROUP);
    return 0;
}

static expand_range all_scratch(const expand_state *state) {
    return (expand_range){0, state->scratch_count};
}

/* The rest of the body stands in a loop over places of the grid, from the group's own one on: as
 * many trips as there are programs for, the same for all lanes. */
static ir_value *begin_walk(expand_state *state, ir_value *group, const layout_extent *places,
                            int64_t groups) {
    ir_builder *b = &state->builder;
    expand_range tokens = all_scratch(state);
    int count = tokens.last - tokens.first;
    ir_value **operands = BASE_NEW_ARRAY(state->module->arena, ir_value *, 3 + count);
    state->walk_types = BASE_NEW_ARRAY(state->module->arena, ir_type, count + 1);
    operands[0] = group;
    operands[1] = ir_build_size(b, places);
    operands[2] = ir_build_integer(b, BASE_I64, groups);
    expand_tokens_before(state, tokens, true, operands + 3, state->walk_types);
    state->walk = ir_build_op(b, IR_FOR, 3 + count, operands, count, state->walk_types, 1);
    b->region = state->walk->regions[0];
    ir_value *at =
        ir_region_add_argument(state->module, b->region, ir_type_uniform(BASE_I64), NULL);
    expand_tokens_enter(state, tokens, b->region);
    return at;
}

void expand_programs_end(expand_state *state) {
    if (state->walk == NULL || state->failed)
        return;
    expand_range tokens = all_scratch(state);
    ir_value **yields =
        BASE_NEW_ARRAY(state->module->arena, ir_value *, tokens.last - tokens.first + 1);
    expand_tokens_leave(state, tokens, state->walk_types, yields);
    ir_build_yield(&state->builder, tokens.last - tokens.first, yields);
    state->builder.region = &state->module->body;
    expand_tokens_after(state, tokens, state->walk);
}

void expand_programs(expand_state *state, ir_region *mapped) {
    ir_module *module = state->module;
    ir_builder *b = &state->builder;
    layout_extents *pool = &module->extents;
    const layout_extent *groups = layout_extent_constant(pool, 1);
    ir_type type = ir_type_uniform(BASE_I64);
    ir_value *rest = NULL;
    b->location = program_location(mapped, module->program_count - 1);
    if (module->program_count > 0)
        rest = ir_build_op(b, IR_GROUP, 0, NULL, 1, &type, 0)->results[0];
    if (rest != NULL && module->cluster > 1)
        rest =
            ir_build_binary(b, IR_FLOOR_DIV, rest, ir_build_integer(b, BASE_I64, module->cluster));
    for (int i = module->program_count - 1; i >= 0; i--) {
        const layout_extent *count =
            layout_extent_ceil(pool, program_count(state, i), programs_together(state, i));
        const int64_t walking = walking_groups(state);
        ir_value *at = rest;
        b->location = program_location(mapped, i);
        if (walking > 0 && count != NULL) { /* there is one axis */
            at = begin_walk(state, rest, count, walking);
            count = layout_extent_binary(pool, LAYOUT_EXTENT_MIN, count,
                                         layout_extent_constant(pool, walking));
        }
        if (i > 0) {
            ir_value *radix = ir_build_size(b, count);
            at = ir_build_binary(b, IR_FLOOR_MOD, rest, radix);
            rest = ir_build_binary(b, IR_FLOOR_DIV, rest, radix);
        }
        state->program[i] = program_index(state, i, at);
        state->program[i]->name = module->programs[i].name;
        groups =
            groups == NULL ? NULL : layout_extent_binary(pool, LAYOUT_EXTENT_MUL, groups, count);
    }
    if (groups != NULL && module->cluster > 1)
        groups = layout_extent_binary(pool, LAYOUT_EXTENT_MUL, groups,
                                      layout_extent_constant(pool, module->cluster));
    if (groups == NULL) {
        expand_fail(state, NULL, "size-overflow", "the grid has more than 2^63 programs");
        groups = layout_extent_constant(pool, 0);
    }
    module->groups = groups;
}
