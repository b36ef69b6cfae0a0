/* Ops that move elements between slots and lanes: iota, broadcast, uniform, fold, combine, shuffle,
 * rename, xorslot.
 *
 *     combine add over 4 lanes, masks 2, 1:   a b c d -> a+c b+d a+c b+d -> (a+c)+(b+d) in all
 *
 * Collectives of a subgroup report the lanes that do not reach them. A lane or slot that does not
 * exist gives 0 and is reported.
 */
#include "sim/thread_internal.h"

#include <string.h>

static void *element_of(const sim_team *team, const sim_lanes *lanes, int64_t size, int64_t slot,
                        int64_t thread) {
    return (char *)lanes->data + (lanes->wide ? slot * team->threads + thread : 0) * size;
}

void sim_do_broadcast(sim_team *team, const ir_op *op) {
    const sim_lanes *from = sim_lanes_of(team, op->operands[0]);
    sim_lanes *to = sim_lanes_begin(team, op->results[0], from->wide);
    int64_t size = base_dtype_size(op->results[0]->type.dtype);
    if (!from->wide) {
        memcpy(to->data, from->data, (size_t)size);
        return;
    }
    for (int s = 0; s < to->slots; s++)
        memcpy((char *)to->data + s * team->threads * size,
               sim_lanes_row(team, op->operands[0], s, 0), (size_t)(team->threads * size));
}

void sim_do_iota(sim_team *team, const ir_op *op) {
    sim_lanes *to = sim_lanes_begin(team, op->results[0], true);
    int64_t *numbers = to->data;
    for (int s = 0; s < to->slots; s++)
        for (int64_t t = 0; t < team->threads; t++)
            numbers[s * team->threads + t] = ir_affine_at(
                &op->attributes.affine, ir_module_position(team->module, t % team->lanes, s));
}

/* Every block takes the element of its lowest active lane. */
void sim_do_uniform(sim_team *team, const ir_op *op) {
    const sim_lanes *from = sim_lanes_of(team, op->operands[0]);
    bool wide = from->wide && team->blocks > 1;
    sim_lanes *to = sim_lanes_begin(team, op->results[0], wide);
    int64_t size = base_dtype_size(op->results[0]->type.dtype);
    if (!from->wide) {
        memcpy(to->data, from->data, (size_t)size);
        return;
    }
    for (int64_t b = 0; b < team->blocks; b++) {
        int64_t first = -1;
        for (int64_t t = b * team->lanes; t < (b + 1) * team->lanes; t++) {
            if (!team->active[t])
                continue;
            if (first < 0)
                first = t;
            else if (memcmp(element_of(team, from, size, 0, first),
                            element_of(team, from, size, 0, t), (size_t)size) != 0 &&
                     sim_is_news(team, SIM_NOT_UNIFORM, op))
                sim_report(team, SIM_NOT_UNIFORM, op, t, 0, NULL,
                           "%s differs from that of lane %lld of subgroup %lld, which is taken",
                           sim_label(team, op->operands[0]),
                           (long long)(first % team->lanes % team->subgroup_lanes),
                           (long long)(first % team->lanes / team->subgroup_lanes));
        }
        const void *taken = element_of(team, from, size, 0, first < 0 ? b * team->lanes : first);
        if (wide)
            sim_fill(element_of(team, to, size, 0, b * team->lanes), taken, size, team->lanes);
        else
            memcpy(to->data, taken, (size_t)size);
    }
}

/* ---- reductions ---- */

static sim_kernel *combine_kernel(const ir_op *op) {
    const ir_monoid_info *monoid = ir_monoid_describe(op->attributes.monoid);
    ir_opcode opcode =
        op->attributes.nan == IR_NAN_IGNORE ? monoid->combine_ignoring_nan : monoid->combine;
    return sim_kernel_of(opcode, op->operands[0]->type.dtype);
}

void sim_do_fold(sim_team *team, const ir_op *op) {
    const ir_value *operand = op->operands[0];
    sim_kernel *kernel = combine_kernel(op);
    bool wide = sim_lanes_of(team, operand)->wide;
    sim_lanes *to = sim_lanes_begin(team, op->results[0], wide);
    const sim_lanes *from = sim_lanes_of(team, operand);
    int64_t count = wide ? team->threads : 1, size = base_dtype_size(operand->type.dtype);
    int slots = from->slots;
    if (slots == 1) {
        memcpy(to->data, from->data, (size_t)(count * size));
        return;
    }
    sim_array *work = &team->arrays[op->results[0]->number];
    if (work->data == NULL)
        work->data = base_arena_alloc(team->arena, (size_t)(slots * count * size));
    char *state = work->data;
    const char *source = from->data;
    if (!wide) { /* one element for all slots */
        sim_fill(state, from->data, size, slots);
        source = state;
    }
    int half = 1, left = slots;
    while (half * 2 < slots)
        half *= 2;
    for (; half > 0; half /= 2) {
        int pairs = left - half < half ? left - half : half;
        kernel(pairs * count, state, source, source + half * count * size, NULL);
        if (source != state && pairs < half)
            memcpy(state + pairs * count * size, source + pairs * count * size,
                   (size_t)((half - pairs) * count * size));
        source = state;
        left = half;
    }
    memcpy(to->data, state, (size_t)(count * size));
}

/* v[l] = combine(v[l & ~top], v[(l & ~top) ^ m]) for all lanes of all subgroups. */
static void combine_step(sim_team *team, const ir_op *op, sim_kernel *kernel, int64_t mask,
                         void *state) {
    int64_t size = base_dtype_size(op->operands[0]->type.dtype);
    char *left = team->room[0], *right = team->room[1];
    int64_t top = mask > 0 ? (int64_t)1 << (63 - __builtin_clzll((uint64_t)mask)) : 0;
    for (int64_t t = 0; t < team->threads; t++) {
        int64_t lane = t % team->subgroup_lanes, first = t - lane;
        int64_t low = lane & ~top, high = low ^ mask;
        memcpy(left + t * size, (char *)state + (first + low) * size, (size_t)size);
        if (high >= 0 && high < team->subgroup_lanes) {
            memcpy(right + t * size, (char *)state + (first + high) * size, (size_t)size);
            continue;
        }
        memset(right + t * size, 0, (size_t)size);
        if (team->active[t] && sim_is_news(team, SIM_OUTSIDE, op))
            sim_report(team, SIM_OUTSIDE, op, t, -1, NULL,
                       "lane %lld, which mask %lld leads to, does not exist", (long long)high,
                       (long long)mask);
    }
    kernel(team->threads, state, left, right, NULL);
}

static void combine_slot(sim_team *team, const ir_op *op, sim_kernel *kernel, void *state) {
    const ir_list *masks = &op->attributes.lanes;
    for (int i = 0; i < masks->count; i++)
        combine_step(team, op, kernel, masks->items[i], state);
    if (masks->count > 0)
        return;
    int64_t half = 1;
    while (half * 2 < team->subgroup_lanes)
        half *= 2;
    for (half = team->subgroup_lanes > 1 ? half : 0; half > 0; half /= 2)
        combine_step(team, op, kernel, half, state);
}

void sim_do_combine(sim_team *team, const ir_op *op) {
    const ir_value *result = op->results[0];
    sim_check_converged(team, op, IR_SCOPE_SUBGROUP);
    bool single = team->blocks == 1 && team->subgroup_lanes == team->lanes &&
                  result->type.form == IR_FORM_UNIFORM && op->attributes.lanes.count == 0;
    sim_lanes *to = sim_lanes_begin(team, result, true);
    sim_kernel *kernel = combine_kernel(op);
    int64_t size = base_dtype_size(result->type.dtype), row = team->threads * size;
    for (int s = 0; s < to->slots; s++) {
        char *state = (char *)to->data + s * row;
        memcpy(state, sim_lanes_row(team, op->operands[0], s, 0), (size_t)row);
        combine_slot(team, op, kernel, state);
    }
    to->wide = !single; /* lane 0 holds what all lanes hold */
}

/* ---- moves ---- */

/* The sum over GF(2) of the columns of the set bits. */
static int64_t columns_at(const ir_list *columns, int64_t bits) {
    int64_t sum = 0;
    for (int i = 0; i < columns->count && i < 63; i++)
        sum ^= (bits >> i & 1) != 0 ? columns->items[i] : 0;
    return sum;
}

static void shuffle_slot(sim_team *team, const ir_op *op, int slot, char *to, const char *from) {
    int64_t size = base_dtype_size(op->results[0]->type.dtype);
    const ir_list *constants = &op->attributes.slots;
    int64_t constant = slot < constants->count ? constants->items[slot] : 0;
    for (int64_t t = 0; t < team->threads; t++) {
        int64_t lane = t % team->subgroup_lanes;
        int64_t source = columns_at(&op->attributes.lanes, lane) ^ constant;
        if (source >= 0 && source < team->subgroup_lanes) {
            memcpy(to + t * size, from + (t - lane + source) * size, (size_t)size);
            continue;
        }
        memset(to + t * size, 0, (size_t)size);
        if (team->active[t] && sim_is_news(team, SIM_OUTSIDE, op))
            sim_report(team, SIM_OUTSIDE, op, t, slot, NULL,
                       "lane %lld, which this one reads, does not exist", (long long)source);
    }
}

void sim_do_shuffle(sim_team *team, const ir_op *op) {
    sim_check_converged(team, op, IR_SCOPE_SUBGROUP);
    sim_lanes *to = sim_lanes_begin(team, op->results[0], true);
    int64_t row = team->threads * base_dtype_size(op->results[0]->type.dtype);
    for (int s = 0; s < to->slots; s++)
        shuffle_slot(team, op, s, (char *)to->data + s * row,
                     sim_lanes_row(team, op->operands[0], s, 0));
}

void sim_do_rename(sim_team *team, const ir_op *op) {
    const sim_lanes *from = sim_lanes_of(team, op->operands[0]);
    sim_lanes *to = sim_lanes_begin(team, op->results[0], from->wide);
    int64_t row = (from->wide ? team->threads : 1) * base_dtype_size(op->results[0]->type.dtype);
    for (int s = 0; s < (to->wide ? to->slots : 1); s++)
        memcpy((char *)to->data + s * row,
               sim_lanes_row(team, op->operands[0], (int)op->attributes.slots.items[s], 0),
               (size_t)row);
}

void sim_do_xorslot(sim_team *team, const ir_op *op) {
    const sim_lanes *from = sim_lanes_of(team, op->operands[0]);
    sim_lanes *to = sim_lanes_begin(team, op->results[0], true);
    int64_t size = base_dtype_size(op->results[0]->type.dtype);
    for (int s = 0; s < to->slots; s++) {
        for (int64_t t = 0; t < team->threads; t++) {
            int64_t lane = t % team->subgroup_lanes;
            int64_t source = s ^ columns_at(&op->attributes.lanes, lane);
            void *place = element_of(team, to, size, s, t);
            if (source >= 0 && source < from->slots) {
                memcpy(place, element_of(team, from, size, source, t), (size_t)size);
                continue;
            }
            memset(place, 0, (size_t)size);
            if (team->active[t] && sim_is_news(team, SIM_OUTSIDE, op))
                sim_report(team, SIM_OUTSIDE, op, t, s, NULL,
                           "slot %lld, which is taken, does not exist", (long long)source);
        }
    }
}
