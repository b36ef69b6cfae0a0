/* What a module records of a value, looked at where it is computed.
 *
 *     %w = get %s[slot*1], %p : f32(8) uniform group      all lanes of the group hold the same bits
 *     %j = iota lane*1 : i64(1) range [0, 31]             every element is in the range
 *     load %x[.., slot*1] width=4 align=16                the address of slots 0, 4, .. in memory
 *
 * Passes decide by these facts, so a wrong one is a fault even where this run's outputs do not show
 * it. Only active lanes are asked.
 */
#include "sim/thread_internal.h"

#include <string.h>

/* By class, the thread that was seen first; -1: none yet. */
static void check_scope(sim_team *team, const ir_op *op, const ir_value *value) {
    const sim_lanes *lanes = sim_lanes_of(team, value);
    const int32_t *classes = team->class_of[value->scope];
    int64_t size = base_dtype_size(value->type.dtype);
    for (int s = 0; s < lanes->slots; s++) {
        const char *row = (const char *)lanes->data + s * team->threads * size;
        memset(team->firsts, 0xff, (size_t)team->threads * sizeof *team->firsts);
        for (int64_t t = 0; t < team->threads; t++) {
            int64_t *first = &team->firsts[classes[t]];
            if (!team->active[t])
                continue;
            if (*first < 0)
                *first = t;
            if (memcmp(row + *first * size, row + t * size, (size_t)size) == 0)
                continue;
            if (sim_is_news(team, SIM_FACT, op))
                sim_report(team, SIM_FACT, op, t, s, NULL,
                           "%s is not the same in all lanes of its scope: lane %lld of subgroup "
                           "%lld holds something else",
                           sim_label(team, value),
                           (long long)(*first % team->lanes % team->subgroup_lanes),
                           (long long)(*first % team->lanes / team->subgroup_lanes));
            return;
        }
    }
}

static void check_range(sim_team *team, const ir_op *op, const ir_value *value) {
    const sim_lanes *lanes = sim_lanes_of(team, value);
    int64_t count = lanes->wide ? lanes->slots * team->threads : 1;
    for (int64_t i = 0; i < count; i++) {
        int64_t number = sim_lanes_number(team, value, i), thread = i % team->threads;
        if ((number >= value->low && number <= value->high) ||
            (lanes->wide && !team->active[thread]))
            continue;
        if (sim_is_news(team, SIM_FACT, op))
            sim_report(team, SIM_FACT, op, lanes->wide ? thread : -1, (int)(i / team->threads),
                       NULL, "%s is %lld, outside its range [%lld, %lld]", sim_label(team, value),
                       (long long)number, (long long)value->low, (long long)value->high);
        return;
    }
}

void sim_check_facts(sim_team *team, const ir_op *op) {
    for (int i = 0; i < op->result_count; i++) {
        const ir_value *value = op->results[i];
        bool number = value->type.form == IR_FORM_UNIFORM || value->type.form == IR_FORM_SLOTS;
        if (!number || !team->options->watch || team->values[value->number].data == NULL)
            continue;
        if (value->scope > IR_SCOPE_LANE && sim_lanes_of(team, value)->wide)
            check_scope(team, op, value);
        if (value->ranged && base_dtype_is_integer(value->type.dtype))
            check_range(team, op, value);
    }
}

void sim_check_groups(sim_team *team, const ir_op *op, const void *memory, int64_t size, int slot,
                      int64_t count) {
    const ir_access *access = op->attributes.access;
    if (!team->options->watch || access->align == 0 || access->width < 1)
        return;
    bool first = slot % access->width == 0;
    for (int64_t t = 0; t < count; t++) {
        uint64_t address = (uint64_t)(uintptr_t)memory + (uint64_t)(team->offsets[t] * size);
        bool off = first && team->on[t] && address % (uint64_t)access->align != 0;
        bool cut = !first && access->whole && team->on[t] != team->began[t];
        if ((off || cut) && sim_is_news(team, SIM_FACT, op))
            sim_report(team, SIM_FACT, op, t, slot, NULL,
                       off ? "a group of %s does not begin at a multiple of %d bytes"
                           : "a group of %s ends within its mask, at width %d",
                       sim_label(team, op->operands[0]), off ? access->align : access->width);
    }
    if (first)
        memcpy(team->began, team->on, (size_t)count);
}
