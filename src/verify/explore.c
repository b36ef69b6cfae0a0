/* Exploring a module: sizes in rounds, then programs, then the iterations of loops.
 *
 * Runtime sizes take small numbers, around the widths of vectors and with no common factor; known
 * sizes are what they are. Of each loop the first, the last and one iteration between are entered;
 * a loop whose bounds, or a branch whose condition, cannot be computed is passed over.
 */
#include "verify/explore_internal.h"

#include "base/checked.h"
#include "base/hash.h"

enum { ROUNDS = 10, WORK = 60000, ITERATIONS = 3, DEEP = 3 };

static int64_t mixed(int64_t a, int64_t b) {
    const int64_t words[2] = {a, b};
    return (int64_t)(base_hash_bytes(BASE_HASH_START, words, sizeof words) >> 8);
}

int64_t explore_pick(int64_t count, int round) {
    if (round == 0)
        return 0;
    return round == 1 ? count - 1 : base_floor_mod(mixed(count, round), count);
}

static void explore_region(explore_place *place, const ir_region *region,
                           void (*visit)(explore_place *place, const ir_op *op));

static const int64_t nowhere[IR_MAX_RANK] = {0};

static void explore_for(explore_place *place, const ir_op *op,
                        void (*visit)(explore_place *place, const ir_op *op)) {
    explore_number lo = explore_value(place, op->operands[0], nowhere);
    explore_number hi = explore_value(place, op->operands[1], nowhere);
    explore_number step = explore_value(place, op->operands[2], nowhere);
    int64_t span = 0;
    if (lo.known && hi.known && step.known && lo.value < hi.value && step.value < 1) {
        *place->work = 0;
        verify_report(place->state, VERIFY_LOOP_STEP, op, "a step above 0", "the step can be %lld",
                      (long long)step.value);
    }
    if (!lo.known || !hi.known || !step.known || step.value < 1 || lo.value >= hi.value ||
        place->loop_count == EXPLORE_LOOPS || !base_checked_sub(hi.value, lo.value, &span))
        return;
    int64_t trips = (span - 1) / step.value + 1;
    int64_t iterations = place->loop_count >= DEEP ? 1 : ITERATIONS;
    place->loops[place->loop_count++] = op;
    for (int i = 0; i < iterations && i < trips; i++) {
        place->index[place->loop_count - 1] = lo.value + explore_pick(trips, i) * step.value;
        explore_region(place, op->regions[0], visit);
    }
    place->loop_count--;
}

static void explore_op(explore_place *place, const ir_op *op,
                       void (*visit)(explore_place *place, const ir_op *op)) {
    visit(place, op);
    if (op->opcode == IR_FOR) {
        explore_for(place, op, visit);
    } else if (op->opcode == IR_IF) {
        explore_number condition = explore_value(place, op->operands[0], nowhere);
        if (condition.known)
            explore_region(place, op->regions[condition.value != 0 ? 0 : 1], visit);
    } else if (op->opcode == IR_WHEN) {
        place->when = op->operands[0];
        explore_region(place, op->regions[0], visit);
        place->when = NULL;
    } else if (op->opcode == IR_SWEEP) {
        explore_region(place, op->regions[0], visit);
    }
}

static void explore_region(explore_place *place, const ir_region *region,
                           void (*visit)(explore_place *place, const ir_op *op)) {
    for (const ir_op *op = region->first; op != NULL && *place->work > 0; op = op->next)
        if (verify_op_is_formed(place->state, op))
            explore_op(place, op, visit);
}

/* False when no call has these sizes. */
static bool choose_sizes(explore_place *place, int round) {
    static const int64_t choices[] = {1, 8, 33, 2, 64, 7, 0, 257, 31, 5};
    enum { CHOICES = sizeof choices / sizeof choices[0] };
    const ir_module *module = place->state->module;
    for (int64_t i = 0; i < module->extents.symbol_count; i++) {
        const layout_symbol *symbol = &module->extents.symbols[i];
        int64_t choice = round == 0 ? i + 2 : base_floor_mod(mixed(i, round), CHOICES);
        place->sizes[i] = symbol->known ? symbol->value : choices[choice % CHOICES];
    }
    for (int i = 0; i < module->parameter_count; i++) {
        const ir_parameter *parameter = &module->parameters[i];
        for (int d = 0; parameter->is_tensor && d < parameter->value->type.rank; d++) {
            explore_number extent = explore_extent(place, parameter->value->type.extent[d]);
            if (!extent.known || extent.value < 0)
                return false;
        }
    }
    return true;
}

/* False when there is no program, or no group, to choose. */
static bool choose_program(explore_place *place, int round) {
    const ir_module *module = place->state->module;
    for (int i = 0; i < module->program_count; i++) {
        const ir_program *program = &module->programs[i];
        explore_number extent = explore_extent(place, program->extent);
        if (!extent.known || extent.value < 1 || program->step < 1)
            return false;
        int64_t count = (extent.value - 1) / program->step + 1;
        place->programs[i] = explore_pick(count, (round + i) % 3) * program->step;
    }
    if (module->level != IR_THREAD || module->groups == NULL)
        return true;
    explore_number groups = explore_extent(place, module->groups);
    place->group = groups.known && groups.value > 0 ? explore_pick(groups.value, round % 3) : 0;
    return groups.known && groups.value > 0;
}

void explore_module(verify_state *state, void (*visit)(explore_place *place, const ir_op *op)) {
    static const int64_t loaded[] = {0, 1, -1, 3, INT32_MAX, 40, INT32_MIN, 2};
    int64_t work = WORK;
    explore_place place = {.state = state, .work = &work};
    place.sizes =
        BASE_NEW_ARRAY(state->diagnostics->arena, int64_t, state->module->extents.symbol_count);
    for (int round = 0; round < ROUNDS && work > 0; round++) {
        place.loaded = loaded[round % 8];
        if (choose_sizes(&place, round) && choose_program(&place, round))
            explore_region(&place, &state->module->body, visit);
    }
}
