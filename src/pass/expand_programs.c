/* Expansion of programs: where each stands in the grid, and in the team.
 *
 *     program row with `group *`               %row = group
 *     program row with `lane 8 | group *`      %row = minimum(group*8 + lane, R-1),
 *                                              stores under `when group*8 + lane < R`
 *     program row with `lane 4 @8 | subgroup 2 | group *`, where elements have 8 lanes
 *                                              .. of group*8 + lane/8 + subgroup*4
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
    for (int i = module->program_count - 1; i >= 0; i--) {
        const layout_extent *count =
            layout_extent_ceil(pool, program_count(state, i), programs_together(state, i));
        ir_value *at = rest;
        b->location = program_location(mapped, i);
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
    if (groups == NULL) {
        expand_fail(state, NULL, "size-overflow", "the grid has more than 2^63 programs");
        groups = layout_extent_constant(pool, 0);
    }
    module->groups = groups;
}
