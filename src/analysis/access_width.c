/* Groups of an access, dimension by dimension: the index form over digits is looked at for all
 * numbers of the holder. Of an index without a form, only one that no lane or slot changes is
 * known to be the same. */
#include "analysis/access_width.h"

#include "analysis/index_digits.h"

enum { MOST_NUMBERS = 1024 };

typedef struct width_search {
    const ir_module *module;
    const analysis_axes *axes;
    const layout_axis *const *digits;
    const ir_op *op;
    ir_affine dimension[IR_MAX_RANK]; /* the part of each index that positions change */
} width_search;

static bool is_spread(const layout_axis *digits) {
    return layout_axis_has(digits, LAYOUT_SLOT) || layout_axis_has(digits, LAYOUT_LANE) ||
           layout_axis_has(digits, LAYOUT_SUBGROUP);
}

/* The axis of what is accessed that lanes or slots hold; -1: none. */
static int spread_axis(const width_search *search) {
    int space[IR_MAX_RANK];
    int count = analysis_axes_space(search->axes, search->op, space);
    for (int i = 0; i < count; i++)
        if (is_spread(search->digits[space[i]]))
            return space[i];
    return -1;
}

static bool is_spread_tile(const width_search *search, const ir_value *tile) {
    for (int i = 0; i < tile->type.rank; i++) {
        int axis = search->axes->of_value[tile->number][i];
        if (axis >= 0 && is_spread(search->digits[axis]))
            return true;
    }
    return false;
}

/* The axis of a dimension of what is accessed; -1 for one element. */
static int axis_of_dimension(const width_search *search, int dimension) {
    if (search->op->opcode == IR_STORE) {
        const analysis_store_axes *store = analysis_axes_of_store(search->axes, search->op);
        return store == NULL ? -1 : store->axis[dimension];
    }
    return search->axes->of_value[search->op->results[0]->number][dimension];
}

static bool find_dimension(width_search *search, int d, int dimension) {
    static const int64_t unknown[LAYOUT_HOLDER_COUNT] = {0};
    const ir_index *index = &search->op->attributes.access->index[d];
    analysis_index_form form = {0};
    if (index->kind == IR_INDEX_RANGE) {
        form = analysis_index_form_of_axis(search->module, axis_of_dimension(search, dimension),
                                           index->length);
    } else if (index->kind == IR_INDEX_GATHER) {
        const ir_value *tile = search->op->operands[index->operand];
        if (!analysis_index_form_find(search->module, search->axes->of_value, tile, &form))
            return !is_spread_tile(search, tile);
    }
    analysis_index_digits found;
    if (!analysis_index_digits_find(&form, search->digits, unknown, &found))
        return false;
    search->dimension[d] = found.affine;
    return true;
}

/* Runs of `width` numbers of the holder stay at one index, or in the last dimension count on. */
static bool has_runs(const width_search *search, layout_holder holder, int64_t count, int width) {
    int rank = search->op->attributes.access->rank;
    for (int d = 0; d < rank; d++)
        for (int64_t i = 0; i < count; i++) {
            ir_position here = {0}, first = {0};
            *(holder == LAYOUT_SLOT ? &here.slot : &here.lane) = i;
            *(holder == LAYOUT_SLOT ? &first.slot : &first.lane) = i - i % width;
            uint64_t apart = (uint64_t)ir_affine_at(&search->dimension[d], here) -
                             (uint64_t)ir_affine_at(&search->dimension[d], first);
            if (apart != (d == rank - 1 ? (uint64_t)(i % width) : 0))
                return false;
        }
    return true;
}

static int longest_run(const width_search *search, layout_holder holder, int64_t count) {
    int width = 1;
    while (count <= MOST_NUMBERS && count % (2 * width) == 0 &&
           has_runs(search, holder, count, 2 * width))
        width *= 2;
    return width;
}

/* Numbers of the holder that the digits of any axis count. */
static int64_t numbers_of(const width_search *search, layout_holder holder) {
    int64_t most = 1;
    for (int axis = 0; axis < search->axes->count; axis++) {
        const layout_axis *digits = search->digits[axis];
        for (int k = 0; k < digits->count; k++) {
            int64_t end = layout_axis_digit_stride(digits, k) * digits->digits[k].radix;
            if (digits->digits[k].holder == holder && end > most)
                most = end;
        }
    }
    return most;
}

analysis_access_width analysis_access_width_find(const ir_module *module, const analysis_axes *axes,
                                                 const layout_axis *const *digits,
                                                 const ir_op *op) {
    width_search search = {.module = module, .axes = axes, .digits = digits, .op = op};
    analysis_access_width width = {1, 1};
    const ir_access *access = op->attributes.access;
    int spread = spread_axis(&search), dimension = 0;
    if (spread < 0 || access->rank == 0 || axes->axes[spread].is_program)
        return width;
    for (int d = 0; d < access->rank; d++) {
        if (!find_dimension(&search, d, dimension))
            return width;
        dimension += access->index[d].kind == IR_INDEX_RANGE;
    }
    width.slots = longest_run(&search, LAYOUT_SLOT, layout_axis_radix(digits[spread], LAYOUT_SLOT));
    width.lanes = longest_run(&search, LAYOUT_LANE, numbers_of(&search, LAYOUT_LANE));
    return width;
}

int analysis_access_width_on(const machine *device, const ir_module *module,
                             const analysis_axes *axes, const layout_axis *const *digits,
                             const ir_op *op) {
    analysis_access_width most = analysis_access_width_find(module, axes, digits, op);
    const ir_access *access = op->attributes.access;
    bool range = access->rank > 0 && access->index[access->rank - 1].kind == IR_INDEX_RANGE;
    if (device == NULL || !device->lanes_are_threads)
        return most.lanes > 1 || !range ? most.lanes : most.slots;
    int64_t bytes = base_dtype_size(op->operands[0]->type.dtype);
    while (most.slots > 1 && most.slots * bytes > MACHINE_ACCESS_BYTES)
        most.slots /= 2;
    return most.slots;
}
