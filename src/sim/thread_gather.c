/* Checked mode: a load outside its tensor where the kernel declares no fill. (A store there is
 * dropped, which is what the language says.)
 *
 * At level thread such an access stands behind a mask that compares the index with the extent:
 *
 *     mask = and(lt(iota, count), and(le(0, v), lt(v, N)))        v is the index
 *
 * An element is meant when the parts of the mask that do not compare this index let it through. If
 * it is outside all the same, the kernel asked for something that is not there.
 */
#include "sim/thread_internal.h"

/* The index that is asked about, and the extent it is compared with. */
typedef struct question {
    const ir_value *index;
    const layout_extent *extent;
    int64_t size;
} question;

static bool is_constant(const ir_value *value) {
    return value->definer != NULL && value->definer->opcode == IR_CONSTANT;
}

static bool is_size(const sim_team *team, const ir_value *value, const question *asked) {
    const ir_op *op = value->definer;
    if (op != NULL && op->opcode == IR_SIZE)
        return layout_extent_equal(&team->module->extents, op->attributes.extent, asked->extent);
    return is_constant(value) && op->attributes.constant.integer == asked->size &&
           !is_constant(asked->index);
}

/* `le 0, v` and `lt v, size` compare the index: they do not say whether the element is meant. */
static bool compares(const sim_team *team, const ir_op *part, const question *asked) {
    if (part->opcode == IR_LE)
        return part->operands[1] == asked->index && is_constant(part->operands[0]) &&
               part->operands[0]->definer->attributes.constant.integer == 0;
    return part->opcode == IR_LT && part->operands[0] == asked->index &&
           is_size(team, part->operands[1], asked);
}

static bool is_set(const sim_team *team, const ir_value *value, int slot, int64_t thread) {
    const sim_lanes *lanes = sim_lanes_of(team, value);
    int64_t row = lanes->slots > 1 ? slot * team->threads : 0;
    return ((const uint8_t *)lanes->data)[lanes->wide ? row + thread : 0] != 0;
}

static bool lets_through(const sim_team *team, const ir_value *mask, const question *asked,
                         int slot, int64_t thread) {
    const ir_op *op = mask->definer;
    if (op != NULL && op->opcode == IR_AND)
        return lets_through(team, op->operands[0], asked, slot, thread) &&
               lets_through(team, op->operands[1], asked, slot, thread);
    if (op != NULL && compares(team, op, asked))
        return true;
    return is_set(team, mask, slot, thread);
}

void sim_watch_gather(sim_team *team, const ir_op *op, int dimension, int slot, int64_t thread,
                      int64_t position, int64_t extent) {
    const ir_access *access = op->attributes.access;
    const ir_index *index = &access->index[dimension];
    if (op->opcode != IR_LOAD || index->inside || access->fill_declared ||
        access->mask_kind != IR_MASK_BITS || !team->active[thread])
        return;
    int named = index->vector >= 0 ? index->vector : index->operand;
    if (named < 0)
        return;
    question asked = {op->operands[named], op->operands[0]->type.extent[dimension], extent};
    if (!lets_through(team, op->operands[access->mask], &asked, slot, thread) ||
        !sim_is_news(team, SIM_GATHER, op))
        return;
    sim_report(team, SIM_GATHER, op, thread, slot, NULL,
               "index %lld of dimension %d of %s is outside [0, %lld), and no fill is declared",
               (long long)position, dimension, sim_label(team, op->operands[0]), (long long)extent);
}
