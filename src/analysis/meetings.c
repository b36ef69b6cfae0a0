/* Meetings: every pair of accesses of a tensor that is stored to, compared index by index. */
#include "analysis/meetings.h"

typedef struct access_list {
    base_arena *arena;
    const ir_op **ops;
    int64_t count, capacity;
} access_list;

static bool collect_access(void *pointer, ir_op *op) {
    access_list *list = pointer;
    if (op->opcode == IR_LOAD || op->opcode == IR_STORE)
        BASE_PUSH(list->arena, list->ops, list->count, list->capacity, op);
    return true;
}

/* The axes along which the access walks, by dimension of its tile; rank of that tile. */
static int access_axes(const analysis_axes *axes, const ir_op *op, int out[IR_MAX_RANK]) {
    const analysis_store_axes *store =
        op->opcode == IR_STORE ? analysis_axes_of_store(axes, op) : NULL;
    int rank = store != NULL ? store->rank : 0;
    if (op->opcode == IR_LOAD)
        rank = op->results[0]->type.rank;
    for (int i = 0; i < rank; i++)
        out[i] = store != NULL ? store->axis[i] : axes->of_value[op->results[0]->number][i];
    return rank;
}

static const ir_value *index_value(const ir_op *op, const ir_index *index) {
    return index->operand >= 0 ? op->operands[index->operand] : NULL;
}

static bool same_indices(const ir_module *module, const ir_op *a, const ir_op *b) {
    const ir_access *x = a->attributes.access, *y = b->attributes.access;
    bool same = x->rank == y->rank;
    for (int i = 0; same && i < x->rank; i++) {
        const ir_index *p = &x->index[i], *q = &y->index[i];
        same = p->kind == q->kind && index_value(a, p) == index_value(b, q) &&
               (p->kind != IR_INDEX_RANGE ||
                layout_extent_equal(&module->extents, p->length, q->length));
    }
    return same;
}

static bool by_one_lane(const ir_module *module, const analysis_axes *axes, const ir_op *a,
                        const ir_op *b) {
    int left[IR_MAX_RANK], right[IR_MAX_RANK], rank = access_axes(axes, a, left);
    bool same = rank == access_axes(axes, b, right) && same_indices(module, a, b);
    for (int i = 0; same && i < rank; i++)
        same = left[i] == right[i];
    return same;
}

bool analysis_meetings_find(base_arena *arena, const ir_module *module, const analysis_axes *axes,
                            const ir_op **first, const ir_op **second) {
    access_list list = {.arena = arena};
    ir_region_walk((ir_region *)&module->body, collect_access, &list); /* changes nothing */
    for (int64_t i = 0; i < list.count; i++) {
        for (int64_t k = i + 1; k < list.count; k++) {
            const ir_op *a = list.ops[i], *b = list.ops[k];
            bool stores = a->opcode == IR_STORE || b->opcode == IR_STORE;
            if (!stores || a->operands[0] != b->operands[0] || by_one_lane(module, axes, a, b))
                continue;
            *first = a;
            *second = b;
            return true;
        }
    }
    return false;
}
