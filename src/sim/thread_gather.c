/* Checked mode: an index outside its tensor where the kernel declares no fill.
 *
 * At level thread such an access stands behind a mask that compares the index with the extent:
 *
 *     mask = and(lt(iota, count), and(le(0, v), lt(v, N)))        v is the index
 *
 * An element is meant when the parts of the mask that do not compare this index let it through. If
 * it is outside all the same, the kernel asked for something that is not there.
 */
#include "sim/thread_internal.h"

/* What the mask's part compares is the index: nothing that says whether the element is meant. */
static bool compares(const ir_op *part, const ir_value *index) {
    return (part->opcode == IR_LE || part->opcode == IR_LT) && part->operand_count == 2 &&
           (part->operands[0] == index || part->operands[1] == index);
}

static bool is_set(const sim_team *team, const ir_value *value, int slot, int64_t thread) {
    const sim_lanes *lanes = sim_lanes_of(team, value);
    int64_t row = lanes->slots > 1 ? slot * team->threads : 0;
    return ((const uint8_t *)lanes->data)[lanes->wide ? row + thread : 0] != 0;
}

static bool lets_through(const sim_team *team, const ir_value *mask, const ir_value *index,
                         int slot, int64_t thread) {
    const ir_op *op = mask->definer;
    if (op != NULL && op->opcode == IR_AND)
        return lets_through(team, op->operands[0], index, slot, thread) &&
               lets_through(team, op->operands[1], index, slot, thread);
    if (op != NULL && compares(op, index))
        return true;
    return is_set(team, mask, slot, thread);
}

void sim_watch_gather(sim_team *team, const ir_op *op, int dimension, int slot, int64_t thread,
                      int64_t position, int64_t extent) {
    const ir_access *access = op->attributes.access;
    const ir_index *index = &access->index[dimension];
    if (index->inside || access->fill_declared || access->mask_kind != IR_MASK_BITS ||
        !team->active[thread])
        return;
    int named = index->vector >= 0 ? index->vector : index->operand;
    if (named < 0 ||
        !lets_through(team, op->operands[access->mask], op->operands[named], slot, thread) ||
        !sim_is_news(team, SIM_GATHER, op))
        return;
    sim_report(team, SIM_GATHER, op, thread, slot, NULL,
               "index %lld of dimension %d of %s is outside [0, %lld), and no fill is declared",
               (long long)position, dimension, sim_label(team, op->operands[0]), (long long)extent);
}
