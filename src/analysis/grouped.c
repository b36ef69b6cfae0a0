/* Grouped accesses: each load and store of slots counts as slots / width groups where slots in a
 * row of a lane are neighbours, and as one group for each slot where lanes are. */
#include "analysis/grouped.h"

static analysis_grouped_row *row_of(analysis_grouped *grouped, int width) {
    int at = 0;
    while (at < grouped->count && grouped->rows[at].width < width)
        at++;
    if (at < grouped->count && grouped->rows[at].width == width)
        return &grouped->rows[at];
    if (grouped->count == ANALYSIS_GROUPED_ROWS)
        return NULL;
    for (int i = grouped->count++; i > at; i--)
        grouped->rows[i] = grouped->rows[i - 1];
    grouped->rows[at] = (analysis_grouped_row){.width = width};
    return &grouped->rows[at];
}

/* The next slot is the next cell. */
static bool slots_are_neighbours(const ir_access *access) {
    const ir_affine *last = &access->index[access->rank - 1].affine;
    return ir_affine_at(last, (ir_position){.slot = 1}) -
               ir_affine_at(last, (ir_position){.slot = 0}) ==
           1;
}

static bool count_op(void *pointer, ir_op *op) {
    analysis_grouped *grouped = pointer;
    if (op->opcode != IR_LOAD && op->opcode != IR_STORE)
        return true;
    const ir_access *access = op->attributes.access;
    bool loads = op->opcode == IR_LOAD;
    const ir_value *value = loads ? op->results[0] : ir_op_stored(op);
    int64_t slots = ir_type_slot_count(&value->type);
    analysis_grouped_row *row =
        access->width > 1 && access->rank > 0 ? row_of(grouped, access->width) : NULL;
    if (row == NULL) {
        *(loads ? &grouped->single_loads : &grouped->single_stores) += slots;
        return true;
    }
    int64_t groups = slots_are_neighbours(access) ? slots / access->width : slots;
    *(loads ? &row->loads : &row->stores) += groups;
    return true;
}

analysis_grouped analysis_grouped_count(const ir_module *module) {
    analysis_grouped grouped = {0};
    ir_region *body = (ir_region *)&module->body; /* the visitor changes nothing */
    ir_region_walk(body, count_op, &grouped);
    return grouped;
}
