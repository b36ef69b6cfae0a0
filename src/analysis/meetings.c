/* Meetings: every pair of accesses of a tensor that is stored to.
 *
 *     same elements in the same order            one lane has both
 *     ranges that do not meet                    : N // 2 and N // 2 : N
 *     a loop that moves on by what it stores     for k in 0..N step 8 { y[row, k : +8] = .. }
 *
 * Everything else counts as a meeting, and so does the last of more accesses of a tensor than are
 * looked at.
 */
#include "analysis/meetings.h"

#include "base/checked.h"

enum { ACCESSES = 512, INDEX_DEPTH = 16 };

typedef struct access_list {
    base_arena *arena;
    const ir_module *module;
    const analysis_axes *axes;
    const bool *copied; /* by axis; NULL: none */
    const ir_value *tensor;
    const ir_op **ops; /* that access it */
    int64_t count, capacity;
} access_list;

static bool collect_access(void *pointer, ir_op *op) {
    access_list *list = pointer;
    bool access = op->opcode == IR_LOAD || op->opcode == IR_STORE;
    if (access && op->operands[0] == list->tensor)
        BASE_PUSH(list->arena, list->ops, list->count, list->capacity, op);
    return true;
}

static const ir_value *index_value(const ir_op *op, int dimension) {
    int operand = op->attributes.access->index[dimension].operand;
    return operand < 0 ? NULL : op->operands[operand];
}

/* ---- lanes ---- */
static bool have_same_lanes(const access_list *list, const ir_op *a, const ir_op *b) {
    int left[IR_MAX_RANK], right[IR_MAX_RANK];
    int count = analysis_axes_space(list->axes, a, left);
    bool same = count == analysis_axes_space(list->axes, b, right);
    bool reads = a->opcode == IR_LOAD || b->opcode == IR_LOAD;
    for (int i = 0; same && i < count && reads && list->copied != NULL; i++)
        same = !list->copied[left[i]];
    for (int d = 0; same && d < a->attributes.access->rank; d++) {
        const ir_index *x = &a->attributes.access->index[d], *y = &b->attributes.access->index[d];
        same =
            x->kind == y->kind && x->length == y->length && index_value(a, d) == index_value(b, d);
    }
    for (int i = 0; same && i < count; i++)
        same = left[i] == right[i];
    return same;
}

/* ---- ranges ---- */
static bool constant_of(const ir_value *value, int64_t *number) {
    if (value == NULL || value->definer == NULL || value->definer->opcode != IR_CONSTANT)
        return false;
    *number = value->definer->attributes.constant.integer;
    return true;
}

static const layout_extent *size_of(const ir_value *value) {
    bool size = value != NULL && value->definer != NULL && value->definer->opcode == IR_SIZE;
    return size ? value->definer->attributes.extent : NULL;
}

static bool start_of(const access_list *list, const ir_value *value, int64_t *start) {
    const layout_extent *size = size_of(value);
    *start = 0;
    return value == NULL || constant_of(value, start) ||
           (size != NULL && layout_extent_known(&list->module->extents, size, start));
}

static bool length_of(const access_list *list, const ir_index *index, int64_t *length) {
    *length = 1;
    return index->kind == IR_INDEX_POINT ||
           (index->kind == IR_INDEX_RANGE &&
            layout_extent_known(&list->module->extents, index->length, length));
}

/* All elements of a's index stand before those of b's. */
static bool ends_before(const access_list *list, const ir_op *a, const ir_op *b, int dimension) {
    const ir_index *index = &a->attributes.access->index[dimension];
    const ir_value *first = index_value(a, dimension), *next = index_value(b, dimension);
    int64_t start, length, end, limit;
    if (index->kind == IR_INDEX_GATHER ||
        b->attributes.access->index[dimension].kind == IR_INDEX_GATHER ||
        !start_of(list, first, &start))
        return false;
    if (index->kind == IR_INDEX_RANGE && start == 0 && size_of(next) != NULL &&
        layout_extent_equal(&list->module->extents, index->length, size_of(next)))
        return true;
    return start_of(list, next, &limit) && length_of(list, index, &length) &&
           base_checked_add(start, length, &end) && end <= limit;
}

static bool are_apart(const access_list *list, const ir_op *a, const ir_op *b) {
    for (int d = 0; d < a->attributes.access->rank; d++)
        if (ends_before(list, a, b, d) || ends_before(list, b, a, d))
            return true;
    return false;
}

/* ---- loops ---- */
static bool is_inside(const ir_region *region, const ir_op *loop) {
    for (; region != NULL; region = region->owner == NULL ? NULL : region->owner->parent)
        if (region->owner == loop)
            return true;
    return false;
}

static bool is_made_in(const ir_value *value, const ir_op *loop) {
    return is_inside(value->definer != NULL ? value->definer->parent : value->region, loop);
}

/* How far a value moves from one iteration of the loop to the next, all other loops left where they
 * are; false when that is not known. */
static bool advance_of(const ir_value *value, const ir_op *loop, int depth, int64_t *by) {
    *by = 0;
    if (value == NULL || !is_made_in(value, loop))
        return true;
    const ir_op *op = value->definer;
    if (op == NULL) {
        const ir_op *own = value->region->owner;
        bool counts = own->opcode == IR_FOR && value == own->regions[0]->arguments[0];
        if (own == loop)
            return counts && constant_of(loop->operands[2], by);
        return counts && !is_made_in(own->operands[0], loop) && !is_made_in(own->operands[2], loop);
    }
    int64_t left, right, factor;
    if (depth == 0)
        return false;
    if (op->opcode == IR_CAST)
        return advance_of(op->operands[0], loop, depth - 1, by);
    if (op->opcode == IR_ADD)
        return advance_of(op->operands[0], loop, depth - 1, &left) &&
               advance_of(op->operands[1], loop, depth - 1, &right) &&
               base_checked_add(left, right, by);
    if (op->opcode != IR_MUL)
        return false;
    int moves = constant_of(op->operands[0], &factor) ? 1 : 0;
    return constant_of(op->operands[1 - moves], &factor) &&
           advance_of(op->operands[moves], loop, depth - 1, &left) &&
           base_checked_mul(left, factor, by);
}

static bool stands_still(const ir_op *op, int dimension, const ir_op *loop) {
    int64_t by;
    return advance_of(index_value(op, dimension), loop, INDEX_DEPTH, &by) && by == 0;
}

/* In this dimension the iterations of the loop have elements of their own, and no other loop moves
 * it. */
static bool moves_on(const access_list *list, const ir_op *op, int dimension, const ir_op *loop) {
    int64_t by, length;
    if (!length_of(list, &op->attributes.access->index[dimension], &length) ||
        !advance_of(index_value(op, dimension), loop, INDEX_DEPTH, &by) || by <= 0 || by < length)
        return false;
    for (const ir_op *other = op->parent->owner; other != NULL; other = other->parent->owner)
        if (other->opcode == IR_FOR && other != loop && !stands_still(op, dimension, other))
            return false;
    return true;
}

/* The iterations of the loop touch the same cells again, or all different ones. */
static bool loop_keeps_lanes(const access_list *list, const ir_op *op, const ir_op *loop) {
    bool still = true;
    for (int d = 0; d < op->attributes.access->rank; d++) {
        if (moves_on(list, op, d, loop))
            return true;
        still = still && stands_still(op, d, loop);
    }
    return still;
}

static bool loops_keep_lanes(const access_list *list, const ir_op *a, const ir_op *b) {
    for (const ir_op *loop = a->parent->owner; loop != NULL; loop = loop->parent->owner)
        if (loop->opcode == IR_FOR && is_inside(b->parent, loop) &&
            !loop_keeps_lanes(list, a, loop))
            return false;
    return true;
}

/* ---- pairs ---- */
static bool meet(const access_list *list, const ir_op *a, const ir_op *b) {
    if (a->opcode != IR_STORE && b->opcode != IR_STORE)
        return false;
    return !are_apart(list, a, b) &&
           (!have_same_lanes(list, a, b) || !loops_keep_lanes(list, a, b));
}

static bool find_pair(access_list *list, const ir_op **first, const ir_op **second) {
    list->count = 0;
    ir_region_walk((ir_region *)&list->module->body, collect_access, list); /* changes nothing */
    for (int64_t i = 0; i < list->count; i++) {
        *second = list->ops[i];
        for (int64_t k = 0; k <= i; k++) {
            *first = list->ops[k];
            if (i == ACCESSES || meet(list, *first, *second))
                return true;
        }
    }
    *first = *second = NULL;
    return false;
}

bool analysis_meetings_find(base_arena *arena, const ir_module *module, const analysis_axes *axes,
                            const bool *copied, const ir_op **first, const ir_op **second) {
    access_list list = {.arena = arena, .module = module, .axes = axes, .copied = copied};
    *first = *second = NULL;
    for (int i = 0; i < module->parameter_count; i++) {
        const ir_parameter *parameter = &module->parameters[i];
        list.tensor = parameter->value;
        if (parameter->is_tensor && parameter->mode != IR_IN && find_pair(&list, first, second))
            return true;
    }
    return false;
}
