/* Storage: how each tile value that crosses sweeps gets to its later uses, of the ways that
 * analysis/storage.h allows.
 *
 *              loads                 cheap                 dear
 *     mixed    registers, reload     recompute, registers  registers, output
 *     again    reload, registers     recompute, registers  registers, output
 *     nothing  reload, registers     recompute, registers  recompute, registers
 *
 * A rule names ways in the order in which they are tried; in the end everything may lie in a
 * private array. A row of softmax in steps, by `mixed`: `keep t reload`, `keep e output y.0`: the
 * row streams to memory while it is computed, and comes back from cache.
 */
#include "planner/candidate.h"

#include "analysis/output.h"
#include "analysis/storage.h"

#include <string.h>

enum { MOST_WAYS = 4 };

/* What is cheap: a few ops of one instruction on loads and scalars. */
typedef enum value_kind { VALUE_LOAD, VALUE_CHEAP, VALUE_DEAR, VALUE_KIND_COUNT } value_kind;

#define REGISTERS IR_STORAGE_REGISTERS
#define RELOAD    IR_STORAGE_RELOAD
#define RECOMPUTE IR_STORAGE_RECOMPUTE
#define OUTPUT    IR_STORAGE_OUTPUT
#define PRIVATE   IR_STORAGE_PRIVATE
static const ir_storage ways[PLANNER_KEEPING_COUNT][VALUE_KIND_COUNT][MOST_WAYS] = {
    [PLANNER_KEEP_MIXED] = {{REGISTERS, RELOAD, OUTPUT},
                            {RECOMPUTE, REGISTERS, OUTPUT},
                            {REGISTERS, OUTPUT}},
    [PLANNER_KEEP_REGISTERS] = {{REGISTERS, RELOAD, OUTPUT},
                                {REGISTERS, RECOMPUTE, OUTPUT},
                                {REGISTERS, OUTPUT}},
    [PLANNER_KEEP_AGAIN] = {{RELOAD, REGISTERS, OUTPUT},
                            {RECOMPUTE, REGISTERS, OUTPUT},
                            {REGISTERS, OUTPUT}},
    [PLANNER_KEEP_OUTPUT] = {{RELOAD, REGISTERS, OUTPUT},
                             {RECOMPUTE, REGISTERS, OUTPUT},
                             {OUTPUT, REGISTERS}},
    [PLANNER_KEEP_PRIVATE] = {{PRIVATE}, {RECOMPUTE, PRIVATE}, {PRIVATE}},
    [PLANNER_KEEP_NOTHING] = {{RELOAD, REGISTERS, OUTPUT},
                              {RECOMPUTE, REGISTERS, OUTPUT},
                              {RECOMPUTE, REGISTERS, OUTPUT}},
};
#undef REGISTERS
#undef RELOAD
#undef RECOMPUTE
#undef OUTPUT
#undef PRIVATE

typedef struct keep_state {
    const planner_state *state;
    analysis_storage storage;
    planner_keeping keeping;
    planner_storages *found;
} keep_state;

/* One value waits in an output. */
static const ir_op *free_output(const keep_state *s, const ir_value *value, int64_t before) {
    const planner_state *state = s->state;
    const ir_op *store = state->lane_axis < 0 ? NULL
                                              : analysis_output_store(state->module, &state->axes,
                                                                      &state->sweeps, value);
    for (int64_t i = 0; i < before; i++)
        if (s->found->outputs[i] == store)
            return NULL;
    return store;
}

static void choose(const keep_state *s, const ir_value *value, int64_t number) {
    ir_storage *storage = &s->found->storage[number];
    bool whole = analysis_storage_is_whole(&s->storage, value);
    value_kind kind = whole                               ? VALUE_DEAR
                      : value->definer->opcode == IR_LOAD ? VALUE_LOAD
                      : analysis_value_is_light(value)    ? VALUE_CHEAP
                                                          : VALUE_DEAR;
    *storage = IR_STORAGE_PRIVATE;
    if (whole) {
        if (analysis_storage_allows(&s->storage, value, IR_STORAGE_REGISTERS))
            *storage = IR_STORAGE_REGISTERS;
        return;
    }
    for (int i = 0; i < MOST_WAYS; i++) {
        ir_storage way = ways[s->keeping][kind][i];
        if (way == IR_STORAGE_NONE || !analysis_storage_allows(&s->storage, value, way) ||
            (way == IR_STORAGE_OUTPUT && s->state->streams))
            continue;
        const ir_op *store = way == IR_STORAGE_OUTPUT ? free_output(s, value, number) : NULL;
        if (way == IR_STORAGE_OUTPUT && store == NULL)
            continue;
        s->found->outputs[number] = store;
        *storage = way;
        return;
    }
}

/* By axis: whether the digits have steps. The lane axis is not among those of the plan. */
static bool *stepped_axes(const planner_state *state, bool lane_axis_stepped) {
    bool *stepped = BASE_NEW_ARRAY(state->arena, bool, state->axes.count);
    for (int i = 0; i < state->axes.count; i++)
        stepped[i] =
            !state->axes.axes[i].is_program && (i != state->lane_axis || lane_axis_stepped);
    return stepped;
}

static planner_storages *find_storages(const planner_state *state, planner_keeping keeping,
                                       const bool *stepped) {
    int64_t count = state->sweeps.crossing_count;
    keep_state s = {.state = state, .keeping = keeping};
    s.found = BASE_NEW(state->arena, planner_storages);
    s.found->storage = BASE_NEW_ARRAY(state->arena, ir_storage, count);
    s.found->outputs = BASE_NEW_ARRAY(state->arena, const ir_op *, count);
    s.storage =
        analysis_storage_begin(state->arena, state->module, &state->axes, &state->sweeps, stepped);
    for (int64_t i = 0; i < count; i++)
        choose(&s, state->sweeps.crossings[i], i);
    return s.found;
}

planner_storages *planner_storages_find(planner_program *program, planner_keeping keeping,
                                        bool stepped) {
    planner_state *state = program->state;
    planner_storages *found = find_storages(state, keeping, stepped_axes(state, stepped));
    found->totals =
        planner_totals_find(program, planner_work_find(program, found->storage, found->outputs));
    return found;
}

planner_storages *planner_storages_of_parts(planner_program *program) {
    const planner_state *state = program->state;
    planner_storages *found = find_storages(state, PLANNER_KEEP_NOTHING, stepped_axes(state, true));
    for (int64_t i = 0; i < state->sweeps.crossing_count; i++) {
        const ir_value *value = state->sweeps.crossings[i];
        bool on_row = false;
        for (int d = 0; d < value->type.rank; d++)
            on_row = on_row || state->axes.of_value[value->number][d] == state->lane_axis;
        if (!on_row || value->definer == NULL || value->definer->region_count > 0)
            continue;
        bool load = value->definer->opcode == IR_LOAD;
        found->storage[i] = load ? IR_STORAGE_RELOAD : IR_STORAGE_RECOMPUTE;
        found->outputs[i] = NULL;
    }
    found->totals =
        planner_totals_find(program, planner_work_find(program, found->storage, found->outputs));
    return found;
}

/* A carry and the result that it becomes share one line. */
static bool has_line(const ir_plan *plan, const ir_value *value, const char *anchor) {
    bool shares = value->definer == NULL || value->definer->region_count > 0;
    return shares && ir_plan_find(plan, IR_PLAN_KEEP, anchor) != NULL;
}

void planner_keep(planner_state *state, const planner_storages *chosen) {
    ir_plan *plan = state->plan;
    if (chosen == NULL) {
        bool *stepped = BASE_NEW_ARRAY(state->arena, bool, state->axes.count);
        for (int i = 0; i < state->axes.count; i++)
            stepped[i] = layout_axis_has(&plan->of[IR_PLAN_AXIS].lines[i].digits, LAYOUT_STEP);
        chosen = find_storages(state, PLANNER_KEEP_MIXED, stepped);
    }
    for (int64_t i = 0; i < state->sweeps.crossing_count; i++) {
        const ir_value *value = state->sweeps.crossings[i];
        const char *anchor = analysis_value_anchor(state->arena, value);
        if (has_line(plan, value, anchor))
            continue;
        ir_plan_line *line = ir_plan_add(state->arena, plan, IR_PLAN_KEEP, anchor);
        line->storage = chosen->storage[i];
        line->of = chosen->outputs[i] != NULL ? chosen->outputs[i]->anchor : NULL;
    }
}
