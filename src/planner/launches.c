/* Launches of rows in parts: see launches.h.
 *
 * A launch is planned by the same planner state as a kernel, with its own axes and sweeps. Partial
 * results that lie on lanes count by what one lane goes through. What launches hand on is read and
 * written like any tensor; that later ones read what earlier ones have read shows in none of their
 * facts, as their reads are first reads each: caches that hold the arrays make them cheap.
 */
#include "planner/launches.h"

#include "pass/split.h"
#include "planner/facts.h"

enum {
    LEAST_PART = 1024,    /* elements: shorter parts are not looked at by themselves */
    LEAST_WIDE = 1 << 15, /* elements of a row that is split without being asked for */
    PART_THREADS = 256    /* of a group, as most parts have */
};

/* ---- which are looked at ---- */

bool planner_parts_are_wanted(const planner_program *program, cost_model model) {
    return program->device.processors > program->programs && program->known &&
           program->extent >= LEAST_WIDE && cost_knows_sequences(model);
}

int64_t planner_parts_limit(const planner_program *program) {
    const cost_machine *device = &program->device;
    int64_t each = device->threads_limit / PART_THREADS; /* groups of a processor */
    each = each > device->groups_limit ? device->groups_limit : each;
    int64_t room = planner_times(device->processors, each > 1 ? each : 1);
    room /= program->programs > 1 ? program->programs : 1;
    int64_t most = program->extent / LEAST_PART, limit = 1;
    while (limit * 2 <= room && limit * 2 <= most)
        limit *= 2;
    return limit;
}

/* ---- a launch as a program ---- */

/* Lanes on which other axes than the part's lie, by axis. */
static const int64_t *lanes_beside(planner_state *state, const pass_launch *launch) {
    int64_t *lanes = BASE_NEW_ARRAY(state->arena, int64_t, state->axes.count + 1);
    for (int i = 0; i < state->axes.count; i++) {
        const ir_plan_line *line = &launch->plan->of[IR_PLAN_AXIS].lines[i];
        lanes[i] = i == launch->axis || state->axes.axes[i].is_program
                       ? 1
                       : layout_axis_radix(&line->digits, LAYOUT_LANE);
        lanes[i] = lanes[i] > 1 ? lanes[i] : 1;
    }
    return lanes;
}

static planner_program *begin_launch(const planner_program *kernel, const pass_launch *launch) {
    base_arena *arena = kernel->state->arena;
    planner_state *state = BASE_NEW(arena, planner_state);
    int64_t count = kernel->state->module->extents.symbol_count;
    int64_t *sizes = BASE_NEW_ARRAY(arena, int64_t, count + 1);
    for (int64_t i = 0; i < count; i++)
        sizes[i] = kernel->sizes[i].taken ? -1 : kernel->sizes[i].value;
    *state = (planner_state){.arena = arena,
                             .module = launch->module,
                             .machine = kernel->state->machine,
                             .axes = analysis_axes_find(arena, launch->module),
                             .lane_axis = launch->axis,
                             .strict = kernel->state->strict,
                             .portable = kernel->state->portable};
    state->sweeps = analysis_sweeps_find(arena, launch->module, &state->axes);
    planner_program *program = planner_program_begin(state, sizes);
    program->beside = lanes_beside(state, launch);
    program->packing = PLANNER_ONE_PROGRAM;
    return program;
}

static const char *refused_as(base_diagnostics *diagnostics) {
    return diagnostics->count > 0 ? diagnostics->items[0].message : "it cannot be split";
}

const planner_launches *planner_launches_find(planner_program *program,
                                              const planner_candidate *form) {
    base_arena *arena = program->state->arena;
    planner_launches *launches = BASE_NEW(arena, planner_launches);
    base_diagnostics *diagnostics = BASE_NEW(arena, base_diagnostics);
    planner_state state = *program->state; /* of which the plan is written */
    planner_program own = *program;
    pass_launches made;
    own.state = &state;
    base_diagnostics_init(diagnostics, arena);
    *launches = (planner_launches){.parts = form->parts};
    if (!pass_split(arena, state.module, planner_candidate_plan(&own, form), diagnostics, &made)) {
        launches->reason = refused_as(diagnostics);
        launches->expected = diagnostics->count > 0 ? diagnostics->items[0].expected : NULL;
        return launches;
    }
    launches->count = made.count;
    launches->items = BASE_NEW_ARRAY(arena, planner_launch, made.count);
    for (int i = 0; i < made.count; i++)
        launches->items[i].program = begin_launch(program, &made.items[i]);
    return launches;
}

/* ---- facts and price ---- */

/* The candidate as it is for one launch. Without a part of the row a subgroup does all. */
static planner_candidate candidate_of(planner_launch *launch, const planner_candidate *candidate) {
    planner_candidate own = *candidate;
    own.parts = own.blocks = 1;
    own.launches = NULL;
    if (launch->program->state->lane_axis < 0) {
        own.subgroups = own.vector = own.unroll = 1;
        own.stepped = true;
    }
    planner_storages **storages = &launch->storages[own.stepped];
    if (*storages == NULL)
        *storages = planner_storages_find(launch->program, PLANNER_KEEP_NOTHING, own.stepped);
    planner_candidate_keep(launch->program, &own, *storages);
    return own;
}

bool planner_launch_facts(const planner_candidate *candidate, int i, cost_facts *facts) {
    if (candidate->launches == NULL || i >= candidate->launches->count)
        return false;
    planner_launch *launch = &candidate->launches->items[i];
    planner_candidate own = candidate_of(launch, candidate);
    planner_facts_find(launch->program, &own, facts);
    return true;
}

cost_estimate planner_launches_price(const planner_program *program,
                                     const planner_candidate *candidate, cost_model model,
                                     const cost_coefficients *coefficients) {
    cost_estimate sum = cost_sequence_begin(model);
    cost_facts facts;
    for (int i = 0; planner_launch_facts(candidate, i, &facts); i++)
        cost_sequence_add(&sum, model, &facts, &program->device, coefficients);
    return sum;
}
