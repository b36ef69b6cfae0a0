/* Sizes of a round of the replay, chosen around the elements of one step:
 *
 *     N on lane 8 | slot 4 | step *      35 + .. (two steps, one guarded), 5 + .. (less than one),
 *                                        33, 64, 1, 95
 *     R on lane 8 | group *              10 (the last group is not full), 17, 2, 3, 1, 24
 *     R on group *                       13, 3, 2, 300, 1, 100
 *     R on group 264 | step *          266, 529, 2, 3, 1, 792
 */
#include "verify/replay_internal.h"

#include "base/checked.h"
#include "base/hash.h"

#include <string.h>

enum { CELLS = 1 << 18 }; /* of a tensor that is followed */

static bool formula_uses(const layout_extent *extent, int64_t symbol) {
    if (extent == NULL)
        return false;
    if (extent->kind == LAYOUT_EXTENT_SYMBOL)
        return extent->value == symbol;
    return formula_uses(extent->left, symbol) || formula_uses(extent->right, symbol);
}

/* Programs that all groups of an axis run at once that walk over it. */
static int64_t all_together(const layout_axis *digits) {
    int64_t chunk = layout_axis_chunk(digits), all = 0;
    bool fits = base_checked_mul(chunk, layout_axis_radix(digits, LAYOUT_GROUP), &all);
    return fits && all > 0 ? all : chunk;
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
            if (layout_axis_has(&axis->digits, LAYOUT_STEP)) /* all groups walk on at once */
                own = all_together(&axis->digits);
            if (own > 1 && axis->program >= 0 &&
                axis->program < module->program_count) /* lanes have programs */
                own *= module->programs[axis->program].step;
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

/* An axis that is counted by the symbol has no two whole steps and a part, and twice the size would
 * make it longer. */
static bool is_short(replay *r, int64_t symbol, int64_t step) {
    const ir_module *module = r->state->module;
    for (int i = 0; i < module->axis_count; i++) {
        const layout_extent *extent = module->axes[i].extent;
        int64_t now = 0, then = 0;
        if (module->axes[i].is_program || !formula_uses(extent, symbol) ||
            !layout_extent_evaluate(extent, r->sizes, &now) || now > 2 * step)
            continue;
        r->sizes[symbol] *= 2;
        bool longer = layout_extent_evaluate(extent, r->sizes, &then) && then > now;
        r->sizes[symbol] /= 2;
        if (longer)
            return true;
    }
    return false;
}

/* The n-th known extent of a tensor; 0: none. */
static int64_t known_extent(const ir_module *module, int64_t n) {
    int64_t extents[REPLAY_EXTENTS], count = 0;
    for (int i = 0; i < module->parameter_count; i++) {
        const ir_parameter *parameter = &module->parameters[i];
        for (int d = 0; parameter->is_tensor && d < parameter->value->type.rank; d++) {
            int64_t known = 0;
            bool is_new =
                layout_extent_known(&module->extents, parameter->value->type.extent[d], &known) &&
                known > 1 && count < REPLAY_EXTENTS;
            for (int64_t k = 0; k < count; k++)
                is_new = is_new && extents[k] != known;
            if (is_new)
                extents[count++] = known;
        }
    }
    return count > 0 ? extents[n % count] : 0;
}

/* A few, or as many as a tensor has of known extent, or one less: sizes may be indices, too. */
static int64_t small_size(const ir_module *module, uint64_t random) {
    enum { FEW = 4, KINDS = 8, MOST = 64 };
    int64_t few = 2 + (int64_t)(random % FEW), kind = (int64_t)(random / FEW % KINDS);
    int64_t known = known_extent(module, (int64_t)(random / (FEW * KINDS) % REPLAY_EXTENTS));
    return kind > 1 || known < 2 || known > MOST ? few : known - kind;
}

/* The most elements of an axis that one subgroup, or group of a cluster, has of a step; 0: a team
 * is one subgroup. */
static int64_t elements_of_subgroup(const ir_module *module) {
    int64_t most = 0;
    for (int i = 0; i < module->axis_count; i++) {
        const layout_axis *digits = &module->axes[i].digits;
        for (int k = 0; k < digits->count && !module->axes[i].is_program; k++) {
            int64_t weight = layout_axis_digit_weight(digits, k);
            layout_holder holder = digits->digits[k].holder;
            if ((holder == LAYOUT_SUBGROUP || holder == LAYOUT_BLOCK) && weight > most)
                most = weight;
        }
    }
    return most;
}

/* The most elements of an axis that a team has in one register or vector of each lane, where a step
 * has several of those: a sweep's pieces behind the last whole step; 0: a step has one. */
static int64_t elements_of_piece(const ir_module *module) {
    int64_t most = 0;
    for (int i = 0; i < module->axis_count; i++) {
        const layout_axis *digits = &module->axes[i].digits;
        int k = digits->count;
        while (k > 0 && !module->axes[i].is_program &&
               (digits->digits[k - 1].holder == LAYOUT_STEP ||
                digits->digits[k - 1].holder == LAYOUT_SLOT))
            k--;
        bool several = k < digits->count && digits->digits[k].holder == LAYOUT_SLOT;
        int64_t weight = several ? layout_axis_digit_weight(digits, k) : 0;
        most = weight > most ? weight : most;
    }
    return most;
}

/* Whole steps of a long axis: halves of which are halved again, where the tile program does so. */
static int64_t long_steps(const ir_region *region) {
    enum { USUAL = 2, HALVED = 5 };
    int64_t steps = USUAL;
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == IR_REDUCE && op->attributes.order == IR_ORDER_CANONICAL)
            return HALVED;
        for (int k = 0; k < op->region_count; k++) {
            int64_t inner = long_steps(op->regions[k]);
            steps = inner > steps ? inner : steps;
        }
    }
    return steps;
}

static uint64_t random_of(int round, int64_t symbol) {
    const uint64_t words[2] = {(uint64_t)round, (uint64_t)symbol};
    return base_hash_bytes(BASE_HASH_START, words, sizeof words) >> 8;
}

/* One symbol in turn is large, two or more whole steps of its axis and a part, every other time
 * with two pieces between; the others are small. Once all are as long as some loops of kernels that
 * count in steps, every other time so long that a second subgroup has elements of each, or, on one
 * subgroup, that a register more is whole (where the piece behind a step begins is told apart from
 * where the next one does), or two pieces and a part without a whole step before. */
static void vary_sizes(replay *r, int round) {
    enum { DOUBLED = 3, LARGE = 34, MORE = 7, PART = 3, PARTS = 4, KINDS = 3 };
    const ir_module *module = r->state->module;
    int64_t count = module->extents.symbol_count, turn = (round - REPLAY_ROUNDS) % (count + 1);
    int64_t cycle = (round - REPLAY_ROUNDS) / (count + 1);
    int64_t longer = elements_of_subgroup(module) > 0 ? elements_of_subgroup(module) : MORE;
    int64_t pieces = 2 * elements_of_piece(module);
    int64_t large = pieces > 0 && cycle % KINDS == KINDS - 1 ? pieces + PART
                    : cycle % 2 == 0                         ? LARGE + longer
                                                             : LARGE;
    for (int64_t i = 0; i < count; i++)
        if (!module->extents.symbols[i].known)
            r->sizes[i] = turn == count ? large + i : small_size(module, random_of(round, i));
    if (turn == count || module->extents.symbols[turn].known)
        return;
    bool programs = false;
    int64_t step = step_of(module, turn, &programs);
    int64_t known = known_extent(module, cycle); /* so that programs come to its end, and beyond */
    int64_t steps = module->implements != NULL ? long_steps(&module->implements->body) : 2;
    int64_t elements = steps * step + (cycle % 2 == 0 ? pieces : 0) + PART + round % PARTS;
    r->sizes[turn] = !programs ? elements : known > 0 ? known + 1 : step + 4;
    for (int doubled = 0; doubled < DOUBLED && is_short(r, turn, step); doubled++)
        r->sizes[turn] *= 2; /* half of it, for one, may be the extent */
}

static void add_extent(replay *r, int64_t extent) {
    for (int i = 0; i < r->extent_count; i++)
        if (r->extents[i] == extent)
            return;
    if (r->extent_count < REPLAY_EXTENTS)
        r->extents[r->extent_count++] = extent;
}

/* False when no call has the sizes. */
static bool start_tensor(replay *r, const ir_parameter *parameter, replay_tensor *tensor) {
    *tensor = (replay_tensor){.value = parameter->value, .mode = parameter->mode, .cells = 1};
    for (int d = 0; d < parameter->value->type.rank; d++) {
        if (!layout_extent_evaluate(parameter->value->type.extent[d], r->sizes,
                                    &tensor->extent[d]) ||
            tensor->extent[d] < 0)
            return false;
        add_extent(r, tensor->extent[d]);
        if (!base_checked_mul(tensor->cells, tensor->extent[d], &tensor->cells))
            return false;
    }
    if (tensor->cells > CELLS)
        tensor->cells = -1;
    return true;
}

void replay_choose_sizes(replay *r, int round) {
    const ir_module *module = r->state->module;
    int chosen = round % REPLAY_ROUNDS;
    for (int64_t i = 0; i < module->extents.symbol_count; i++)
        r->sizes[i] = module->extents.symbols[i].known ? module->extents.symbols[i].value
                                                       : chosen_size(module, i, chosen);
    if (round >= REPLAY_ROUNDS)
        vary_sizes(r, round);
}

bool replay_start_round(replay *r, int round) {
    static const int64_t loaded[REPLAY_ROUNDS] = {1, 0, 3, 1, 2, 4};
    const ir_module *module = r->state->module;
    r->loaded = loaded[round % REPLAY_ROUNDS];
    r->extent_count = 0;
    if (r->writes != NULL)
        memset(r->writes, 0, sizeof(uint64_t) * (size_t)r->write_capacity);
    r->write_count = 0;
    r->run = 0;
    for (int i = 0; i < module->parameter_count; i++)
        if (module->parameters[i].is_tensor && module->parameters[i].value != NULL &&
            !start_tensor(r, &module->parameters[i], &r->tensors[i]))
            return false;
    r->setting.extents = r->extents;
    r->setting.extent_count = r->extent_count;
    return true;
}
