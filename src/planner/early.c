/* Early loads of a candidate: which, and what they keep and ask for. See early.h.
 *
 * A load counts if it runs once, may be early, and is used behind the first reduction of the row,
 * or leads to one that is (a label to its element). Loads are taken in the order of the text, so
 * that a candidate's early loads are the first so many. Each is held in registers from before the
 * first reduction on, but one of a scalar, which stands in front of the row anyway; whether that is
 * worth it is asked of the price, of each number of loads.
 */
#include "planner/early.h"

#include "analysis/early.h"
#include "planner/facts.h"
#include "planner/search.h"

/* Factor of the price, below which registers are spent: models see no finer. */
static const double SAVES = 0.99;

typedef struct early_walk {
    planner_program *program;
    const bool *stepped;
    const planner_candidate *candidate;
    planner_early *found;
} early_walk;

/* The first reduction that lanes take part in; the number of its sweep, -1: there is none. */
static int first_reduction(const planner_state *state) {
    for (int i = 0; i < (int)state->sweeps.count; i++)
        if (state->sweeps.sweeps[i].reduced == state->lane_axis)
            return i;
    return -1;
}

/* Kept to be read again in each sweep that uses it. */
static bool is_read_again(const early_walk *w, const ir_value *value) {
    int crossing = w->program->crossing[value->number];
    if (crossing < 0)
        return false;
    ir_storage storage = w->candidate->storages->storage[crossing];
    return storage != IR_STORAGE_REGISTERS;
}

static bool add_load(void *pointer, ir_op *op) {
    early_walk *w = pointer;
    planner_state *state = w->program->state;
    int first = first_reduction(state);
    if (op->opcode != IR_LOAD || first < 0)
        return true;
    int sweep = state->sweeps.of_value[op->results[0]->number];
    bool late = sweep < 0 || sweep > first;
    if (!late || is_read_again(w, op->results[0]) ||
        analysis_early_obstacle(state->arena, &state->sweeps, w->stepped, op) != NULL)
        return true;
    planner_early_load load = {.op = op, .bytes = base_dtype_size(op->results[0]->type.dtype)};
    const ir_type *type = &op->results[0]->type;
    for (int i = 0; i < type->rank; i++)
        load.row = load.row || state->axes.of_value[op->results[0]->number][i] == state->lane_axis;
    BASE_PUSH(state->arena, w->found->loads, w->found->count, w->found->capacity, load);
    return true;
}

static planner_early *find_loads(planner_program *program, const planner_candidate *candidate) {
    planner_state *state = program->state;
    planner_early *found = BASE_NEW(state->arena, planner_early);
    bool *stepped = BASE_NEW_ARRAY(state->arena, bool, state->axes.count + 1);
    for (int i = 0; i < state->axes.count; i++)
        stepped[i] =
            !state->axes.axes[i].is_program && (i != state->lane_axis || candidate->stepped);
    early_walk walk = {
        .program = program, .stepped = stepped, .candidate = candidate, .found = found};
    ir_region body = state->module->body; /* the visitor changes nothing */
    ir_region_walk(&body, add_load, &walk);
    return found;
}

/* With the first `count` loads early: kept beside what every pass has, and under way with its
 * reads. */
static planner_candidate with_loads(const planner_program *program, const planner_candidate *whole,
                                    const planner_early *early, int64_t count) {
    planner_candidate c = *whole;
    int64_t owned = cost_slots(planner_candidate_positions(program, whole),
                               planner_candidate_owners(whole), whole->vector);
    int64_t slots = planner_candidate_slots(program, whole);
    slots = slots < owned ? slots : owned;
    c.early = early;
    c.early_count = count;
    c.early_slots = c.early_bytes = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t held = early->loads[i].row ? slots : 0, asked = held > 0 ? held : 1;
        c.early_slots = planner_plus(c.early_slots, held);
        c.early_bytes = planner_plus(c.early_bytes, planner_times(asked, early->loads[i].bytes));
    }
    c.kept_slots = planner_plus(c.kept_slots, c.early_slots);
    c.live_slots = planner_candidate_live(program, &c);
    return c;
}

/* Whether the trial's price is worth its registers. It has more bytes under way than `best`, and
 * not for fewer groups that have: the caches may make a gain of those, and ptxas a loss. */
static bool is_better(const planner_program *program, const planner_candidate *trial, double price,
                      const planner_candidate *best, double least,
                      const cost_coefficients *coefficients) {
    const cost_machine *device = &program->device;
    cost_facts after, before;
    if (price > least * SAVES)
        return false;
    planner_facts_find(program, trial, &after);
    planner_facts_find(program, best, &before);
    return trial->early_slots == best->early_slots ||
           (after.bytes_in_flight > before.bytes_in_flight &&
            cost_cuda_resident(&after, device, coefficients) >=
                cost_cuda_resident(&before, device, coefficients));
}

void planner_early_choose(planner_program *program, planner_candidate *candidate, cost_model model,
                          const cost_coefficients *coefficients) {
    const machine *device = program->state->machine;
    bool documented = device->lanes_are_threads && device->capacity.registers > 0;
    if (!documented || candidate->parts > 1 || program->state->lane_axis < 0)
        return;
    const planner_early *early = find_loads(program, candidate);
    planner_candidate best = *candidate;
    cost_estimate least = planner_price(program, candidate, model, coefficients);
    for (int64_t count = 1; least.available && count <= early->count; count++) {
        planner_candidate trial = with_loads(program, candidate, early, count);
        if (!planner_candidate_check_storages(program, &trial))
            break;
        cost_estimate price = planner_price(program, &trial, model, coefficients);
        if (!price.available ||
            !is_better(program, &trial, price.total, &best, least.total, coefficients))
            continue;
        least = price;
        best = trial;
        best.price = price.total;
    }
    *candidate = best;
}

bool planner_early_has(const planner_candidate *candidate, const ir_op *op) {
    for (int64_t i = 0; i < candidate->early_count; i++)
        if (candidate->early->loads[i].op == op)
            return true;
    return false;
}
