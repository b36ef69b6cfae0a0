/* Which access shifts the lane axis: see the header. Of two accesses rows begin alike where both
 * tensors have the same sizes behind the first dimension, and the same points stand there. */
#include "planner/shift.h"

#include "analysis/shift.h"
#include "planner/facts.h"

#include <math.h>

typedef struct shift_search {
    const planner_state *state;
    const ir_op *found;
    bool limited; /* a tile of the lane axis ends where the run says */
} shift_search;

static void look_at_value(shift_search *s, const ir_value *value) {
    for (int i = 0; value->type.form == IR_FORM_TILE && i < value->type.rank; i++)
        s->limited =
            s->limited || (s->state->axes.of_value[value->number][i] == s->state->lane_axis &&
                           value->type.domain[i] != NULL);
}

static bool look_at_op(void *pointer, ir_op *op) {
    shift_search *s = pointer;
    for (int i = 0; i < op->result_count; i++)
        look_at_value(s, op->results[i]);
    bool access = op->opcode == IR_LOAD || op->opcode == IR_STORE;
    if (access && s->found == NULL && op->anchor != NULL &&
        analysis_axes_of_last_index(&s->state->axes, op) == s->state->lane_axis &&
        analysis_shift_refusal(op) == NULL)
        s->found = op;
    return true;
}

const ir_op *planner_shift_find(const planner_state *state, bool canonical) {
    shift_search search = {.state = state};
    int64_t known;
    if (!state->machine->lanes_are_threads || state->lane_axis < 0 || canonical ||
        !layout_extent_known(&state->module->extents, state->axes.axes[state->lane_axis].extent,
                             &known))
        return NULL;
    ir_region_walk((ir_region *)&state->module->body, look_at_op, &search);
    return search.limited ? NULL : search.found;
}

static bool same_size(const ir_module *module, const layout_extent *a, const layout_extent *b) {
    int64_t first, second;
    return layout_extent_known(&module->extents, a, &first) &&
           layout_extent_known(&module->extents, b, &second) && first == second;
}

bool planner_shift_aligns(const planner_state *state, const ir_op *shift, const ir_op *op) {
    const ir_access *a = shift->attributes.access, *b = op->attributes.access;
    const ir_type *first = &shift->operands[0]->type, *second = &op->operands[0]->type;
    if (a->rank != b->rank || analysis_shift_refusal(op) != NULL ||
        analysis_axes_of_last_index(&state->axes, op) != state->lane_axis)
        return false;
    for (int d = 0; d + 1 < a->rank; d++)
        if (shift->operands[a->index[d].operand] != op->operands[b->index[d].operand])
            return false;
    for (int d = 1; d < a->rank; d++)
        if (!same_size(state->module, first->extent[d], second->extent[d]))
            return false;
    return true;
}

/* Bytes of an element, up to which accesses of one element are narrow. On an H200 those of 4 bytes
 * were within 4% of shifted ones where one tensor is read and one written, and up to 25% faster
 * where two are read and kept, for which the guards leave no registers. */
static const int64_t NARROW_BYTES = 2;

/* Cycles of a processor for an access of a subgroup, whatever its width. On an H200 (2026-11-30)
 * 16384 rows of 4095 to 4097 elements and 8192 of 8191 and 8193, of two tensors, in accesses of one
 * element took 7 to 39 us longer in bf16 and 5 to 29 in f32 than rows of a multiple of 8: of some
 * 32000 accesses of each of 132 processors. */
static const double ACCESS_CYCLES = 1;

static int64_t subgroup_accesses(const planner_program *program, const planner_candidate *c) {
    const planner_totals *totals = c->storages->totals;
    int64_t workers = planner_candidate_workers(c), subgroup = program->state->machine->subgroup;
    int64_t owned = cost_slots(planner_candidate_positions(program, c), workers, c->vector);
    int64_t count = 0;
    for (int64_t i = 0; i < totals->access_count; i++) {
        const planner_access_total *total = &totals->accesses[i];
        int64_t width = planner_candidate_width(c, total->access);
        if (total->access->follows && total->access->bytes <= NARROW_BYTES)
            count = planner_plus(count, planner_times(planner_times(total->count, total->times),
                                                      owned / width + (owned % width != 0)));
    }
    return planner_times(count, (workers + subgroup - 1) / subgroup);
}

double planner_shift_saves(const planner_program *program, const planner_candidate *straight,
                           const planner_candidate *shifted) {
    const cost_machine *device = &program->device;
    if (device->clock <= 0 || device->processors <= 0)
        return 0;
    double saved =
        (double)subgroup_accesses(program, straight) - (double)subgroup_accesses(program, shifted);
    double rounds = ceil((double)program->programs / (double)device->processors);
    return saved > 0 ? saved * rounds * ACCESS_CYCLES / device->clock * 1e6 : 0;
}
