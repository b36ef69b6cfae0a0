/* See the header. A store that goes past the caches saves the fetch of its lines and costs whoever
 * reads them next. Only launches that outgrow the caches by far gain by it in the model; there it
 * gains more than that says, so little is asked (docs/performance.md).
 *
 *     softmax 16384x4096     keep e  output y.0  4.9 ms     keep e  private, stream  4.3 ms: taken
 */
#include "planner/stream.h"

#include "planner/search.h"

static const double SAVES = 0.97; /* of the price without */

/* Tensors that are read too would have to come back from memory. */
static bool is_read_as_well(const ir_module *module) {
    for (int i = 0; i < module->parameter_count; i++)
        if (module->parameters[i].is_tensor && module->parameters[i].mode == IR_INOUT)
            return true;
    return false;
}

void planner_stream_choose(planner_program *program, planner_candidate *candidate, cost_model model,
                           const cost_coefficients *coefficients) {
    planner_state *state = program->state;
    if (state->machine->lanes_are_threads || candidate->parts > 1 || state->lane_axis < 0 ||
        !planner_sizes_are_known(program) || is_read_as_well(state->module))
        return;
    cost_estimate without = planner_price(program, candidate, model, coefficients);
    planner_candidate trial = *candidate;
    trial.streams = true;
    state->streams = true;
    planner_candidate_keep(program, &trial,
                           planner_storages_find(program, trial.keeping, trial.stepped));
    state->streams = false;
    cost_estimate with = planner_price(program, &trial, model, coefficients);
    if (without.available && with.available && with.total <= SAVES * without.total) {
        *candidate = trial;
        candidate->price = with.total;
    }
}
