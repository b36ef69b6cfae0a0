/* Sizes of a round of the replay, chosen around the elements of one step:
 *
 *     N on lane 8 | slot 4 | step *      35 + .. (two steps, one guarded), 5 + .. (less than one),
 *                                        33, 64, 1, 95
 *     R on lane 8 | group *              10 (the last group is not full), 17, 2, 3, 1, 24
 *     R on group *                       13, 3, 2, 300, 1, 100
 */
#include "verify/replay_internal.h"

#include "base/checked.h"

#include <string.h>

enum { CELLS = 1 << 18 }; /* of a tensor that is followed */

static bool formula_uses(const layout_extent *extent, int64_t symbol) {
    if (extent == NULL)
        return false;
    if (extent->kind == LAYOUT_EXTENT_SYMBOL)
        return extent->value == symbol;
    return formula_uses(extent->left, symbol) || formula_uses(extent->right, symbol);
}

/* Elements of one step, and whether only programs are counted by the symbol. */
static int64_t step_of(const ir_module *module, int64_t symbol, bool *programs) {
    int64_t chunk = 1, lanes = 1;
    bool elements = false;
    *programs = false;
    for (int i = 0; i < module->axis_count; i++) {
        const ir_axis *axis = &module->axes[i];
        bool uses = formula_uses(axis->extent, symbol);
        int64_t own = layout_axis_chunk(&axis->digits), known = 0;
        if (axis->is_program) {
            *programs = *programs || uses;
            lanes = uses && own > lanes ? own : lanes;
            continue;
        }
        elements = elements || uses;
        chunk = own > chunk ? own : chunk;
        if (layout_extent_known(&module->extents, axis->extent, &known) && known < 2048)
            chunk = known > chunk ? known : chunk; /* a block of a longer axis */
    }
    *programs = *programs && !elements;
    return *programs ? lanes : chunk;
}

static int64_t chosen_size(const ir_module *module, int64_t symbol, int round) {
    bool programs = false;
    int64_t step = step_of(module, symbol, &programs);
    const int64_t of_groups[REPLAY_ROUNDS] = {13, 3, 2, 300, 1, 100};
    const int64_t of_lanes[REPLAY_ROUNDS] = {step + 2, 2 * step + 1, 2, 3, 1, 3 * step};
    const int64_t of_elements[REPLAY_ROUNDS] = {
        step + 3 + 2 * symbol, 5 + symbol, step + 1, 2 * step, 1, 3 * step - 1};
    return !programs ? of_elements[round] : step > 1 ? of_lanes[round] : of_groups[round];
}

/* False when no call has the sizes. */
static bool start_tensor(replay *r, const ir_parameter *parameter, replay_tensor *tensor) {
    *tensor = (replay_tensor){.value = parameter->value, .mode = parameter->mode, .cells = 1};
    for (int d = 0; d < parameter->value->type.rank; d++) {
        if (!layout_extent_evaluate(parameter->value->type.extent[d], r->sizes,
                                    &tensor->extent[d]) ||
            tensor->extent[d] < 0)
            return false;
        if (!base_checked_mul(tensor->cells, tensor->extent[d], &tensor->cells))
            return false;
    }
    if (tensor->cells > CELLS)
        tensor->cells = -1;
    return true;
}

void replay_choose_sizes(replay *r, int round) {
    const ir_module *module = r->state->module;
    for (int64_t i = 0; i < module->extents.symbol_count; i++)
        r->sizes[i] = module->extents.symbols[i].known ? module->extents.symbols[i].value
                                                       : chosen_size(module, i, round);
}

bool replay_start_round(replay *r, int round) {
    static const int64_t loaded[REPLAY_ROUNDS] = {1, 0, 3, 1, 2, 4};
    const ir_module *module = r->state->module;
    r->loaded = loaded[round];
    memset(r->writes, 0, sizeof(uint64_t) * REPLAY_WRITES);
    r->write_count = 0;
    r->run = 0;
    for (int i = 0; i < module->parameter_count; i++)
        if (module->parameters[i].is_tensor && module->parameters[i].value != NULL &&
            !start_tensor(r, &module->parameters[i], &r->tensors[i]))
            return false;
    return true;
}
