/* Ranges: a gather by 0, 1, 2, ... is a range.
 *
 *     %i = arange 64
 *     %t = load %x[%row, gather %i inside]      ->      %t = load %x[%row, : 64 inside]
 *
 * So a kernel that names its index tile, as one that says who owns its rows does, reads memory as
 * well as one that does not, where the layouts are erased. Only a proved index becomes a range: it
 * ends inside the tensor, so that the tile is full. Where the kernel fixes layouts nothing is done:
 * the index tile tells who owns what is read.
 */
#include "pass/canonicalise_internal.h"
#include "pass/simplify.h"

/* The one gather of an access, by an arange of the first dimension; -1: there is none. */
static int plain_gather(const ir_op *op) {
    const ir_access *access = op->attributes.access;
    int gather = -1;
    if (access->fill >= 0)
        return -1;
    for (int i = 0; i < access->rank; i++) {
        const ir_index *index = &access->index[i];
        if (index->kind == IR_INDEX_POINT)
            continue;
        if (index->kind != IR_INDEX_GATHER || gather >= 0)
            return -1;
        gather = i;
    }
    if (gather < 0 || !access->index[gather].inside)
        return -1;
    const ir_op *definer = op->operands[access->index[gather].operand]->definer;
    return definer != NULL && definer->opcode == IR_ARANGE ? gather : -1;
}

/* Operands behind the one that goes move up. */
static void move_up(int *operand, int gone) {
    *operand -= *operand > gone;
}

static void drop_operand(ir_op *op, int gone) {
    ir_access *access = op->attributes.access;
    for (int i = gone; i + 1 < op->operand_count; i++)
        op->operands[i] = op->operands[i + 1];
    op->operand_count--;
    for (int i = 0; i < access->rank; i++) {
        move_up(&access->index[i].operand, gone);
        move_up(&access->index[i].vector, gone);
    }
    move_up(&access->fill, gone);
    move_up(&access->mask, gone);
    move_up(&access->block, gone);
}

static void make_range(ir_op *op, int gather) {
    ir_index *index = &op->attributes.access->index[gather];
    int operand = index->operand;
    const layout_extent *length = op->operands[operand]->type.extent[0];
    drop_operand(op, operand);
    *index = (ir_index){
        .kind = IR_INDEX_RANGE, .operand = -1, .vector = -1, .length = length, .inside = true};
}

static bool visit_op(void *pointer, ir_op *op) {
    if (op->opcode != IR_LOAD && op->opcode != IR_STORE)
        return true;
    int gather = plain_gather(op);
    if (gather < 0)
        return true;
    make_range(op, gather);
    *(bool *)pointer = true;
    return true;
}

bool pass_canonical_ranges(ir_module *module) {
    bool changed = false;
    if (pass_owners_find(module) == NULL)
        ir_region_walk(&module->body, visit_op, &changed);
    return changed;
}
