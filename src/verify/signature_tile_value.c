/* The run of a tile or mapped module: what ops make of tiles, element by element.
 *
 *     %d = sub %t, %m : f32<70>     element i of %d from element i of %t and the one of %m
 */
#include "verify/signature_tile_internal.h"

#include <string.h>

/* How far the element of an operand moves per axis of the result. */
static void strides_of(const ir_op *op, const signature_tile *result, const signature_tile *operand,
                       int64_t strides[IR_MAX_RANK]) {
    int64_t stride = 1;
    for (int d = 0; d < IR_MAX_RANK; d++)
        strides[d] = 0;
    for (int i = operand->rank - 1; i >= 0; i--) {
        int axis = op->attributes.axis, d = i;
        if (op->opcode == IR_EXPAND)
            d = i < axis ? i : i + 1;
        else if (op->opcode == IR_DROP)
            d = i < axis ? i : i - 1;
        bool gone = op->opcode == IR_DROP && i == axis;
        if (!gone && d >= 0 && d < result->rank && operand->extent[i] != 1)
            strides[d] = stride;
        stride *= operand->extent[i];
    }
}

static int64_t element_of(const signature_walk *walk, const int64_t strides[IR_MAX_RANK]) {
    int64_t element = 0;
    for (int d = 0; d < walk->rank; d++)
        element += walk->at[d] * strides[d];
    return element;
}

static signature_walk walk_of(const signature_tile *tile) {
    signature_walk walk = {.rank = tile->rank};
    for (int d = 0; d < tile->rank; d++)
        walk.extent[d] = tile->extent[d];
    return walk;
}

/* ---- leaves ---- */
/* A size that all calls share may be written as a literal. */
static signature_value size_value(const signature_tile_run *run, const layout_extent *extent) {
    int64_t size = 0;
    if (!layout_extent_evaluate(extent, run->setting->sizes, &size))
        return signature_nothing(SIGNATURE_UNKNOWN);
    signature_value value = signature_of_number(run->setting, size);
    value.literal = layout_extent_known(&run->module->extents, extent, &size);
    return value;
}

static signature_value leaf_value(signature_tile_run *run, const ir_op *op, int64_t element,
                                  int64_t extent) {
    if (op->opcode == IR_CONSTANT)
        return signature_of_literal(run->setting, &op->attributes.constant);
    if (op->opcode == IR_SIZE)
        return size_value(run, op->attributes.extent);
    if (op->opcode == IR_PARAMETER)
        return signature_parameter(run->setting, op->attributes.parameter,
                                   op->results[0]->type.dtype);
    if (op->opcode == IR_PROGRAM)
        return signature_of_number(run->setting, run->programs[op->attributes.axis]);
    if (op->opcode == IR_ARANGE && extent == 1) /* a number or a literal */
        return signature_of_number(run->setting, 0);
    if (op->opcode == IR_ARANGE)
        return signature_of_number(run->setting, element);
    return signature_nothing(SIGNATURE_UNKNOWN);
}

static void compute_leaf(signature_tile_run *run, const ir_op *op, signature_tile *result) {
    for (int64_t i = 0; i < result->count; i++)
        result->items[i] = leaf_value(run, op, i, result->count);
}

/* ---- the op table ---- */
enum { OPERANDS = 3, AT_ONCE = 256 };

/* Elements of an operand in the order of the result. */
typedef struct operand_walk {
    const signature_tile *tile;
    int64_t strides[IR_MAX_RANK];
    int step; /* from one element of the result to the next; -1: it varies */
} operand_walk;

static operand_walk walk_operand(const signature_tile_run *run, const ir_op *op, int i,
                                 const signature_tile *result) {
    operand_walk walk = {.tile = &run->tiles[op->operands[i]->number]};
    strides_of(op, result, walk.tile, walk.strides);
    bool none = true, all = true;
    int64_t stride = 1;
    for (int d = result->rank - 1; d >= 0; d--) {
        none = none && (walk.strides[d] == 0 || result->extent[d] == 1);
        all = all && (walk.strides[d] == stride || result->extent[d] == 1);
        stride *= result->extent[d];
    }
    walk.step = none ? 0 : all ? 1 : -1;
    return walk;
}

/* The marks of operands from element `first` on; false where that does not say all of them. */
static bool read_marks(const operand_walk *walk, int64_t first, int64_t count, signature *marks,
                       bool *numberless) {
    bool known = false, numbers = false;
    const signature_value *item = &walk->tile->items[walk->step * first];
    for (int64_t i = 0; i < (walk->step == 0 ? 1 : count); i++) {
        known = known || item[i].known;
        numbers = numbers || item[i].modelled;
        marks[i] = item[i].mark;
    }
    *numberless = *numberless || !(known || numbers);
    return !known;
}

/* Elements of floats at once, those from `first` on. False: one by one. */
static bool compute_marks(signature_tile_run *run, const ir_op *op, const operand_walk *operands,
                          signature_tile *result, int64_t first, int64_t count) {
    signature marks[OPERANDS][AT_ONCE], made[AT_ONCE];
    signature_row rows[OPERANDS];
    bool numberless = false;
    for (int i = 0; i < op->operand_count; i++) {
        if (operands[i].step < 0 || !read_marks(&operands[i], first, count, marks[i], &numberless))
            return false;
        rows[i] = (signature_row){.items = marks[i], .step = operands[i].step};
    }
    if (!numberless)
        return false;
    signature_compute_rows(run->setting, op, rows, op->operand_count, made, count);
    for (int64_t i = 0; i < count; i++)
        result->items[first + i] = signature_nothing(made[i]);
    return true;
}

static bool hands_on(const ir_op *op) {
    return op->opcode == IR_EXPAND || op->opcode == IR_DROP || op->opcode == IR_BROADCAST ||
           op->opcode == IR_CONVERT;
}

static void compute_elements(signature_tile_run *run, const ir_op *op, signature_tile *result) {
    operand_walk operand[OPERANDS];
    signature_value values[OPERANDS];
    int count = op->operand_count < OPERANDS ? op->operand_count : OPERANDS;
    for (int i = 0; i < count; i++)
        operand[i] = walk_operand(run, op, i, result);
    if (hands_on(op) && operand[0].step >= 0) {
        for (int64_t k = 0; k < result->count; k++)
            result->items[k] = operand[0].tile->items[operand[0].step * k];
        return;
    }
    bool rows = !hands_on(op) && signature_has_rows(run->setting, op);
    int64_t done = 0;
    while (rows && done < result->count) {
        int64_t next = result->count - done < AT_ONCE ? result->count - done : AT_ONCE;
        rows = compute_marks(run, op, operand, result, done, next);
        done += rows ? next : 0;
    }
    if (done == result->count)
        return;
    signature_walk walk = walk_of(result);
    for (int64_t k = 0; k < result->count; k++) {
        for (int i = 0; i < count; i++)
            values[i] = operand[i].tile->items[element_of(&walk, operand[i].strides)];
        result->items[k] = signature_computed(run->setting, op, values, count);
        signature_walk_next(&walk);
    }
}

static void compute_pad(signature_tile_run *run, const ir_op *op, signature_tile *result) {
    const signature_tile *from = signature_tile_of(run, op->operands[0]);
    const signature_value outside = signature_tile_of(run, op->operands[1])->items[0];
    signature_walk walk = walk_of(result);
    for (int64_t k = 0; k < result->count; k++) {
        bool inside = true;
        for (int d = 0; d < walk.rank; d++)
            inside = inside && walk.at[d] < from->domain[d];
        result->items[k] = inside ? from->items[k] : outside;
        signature_walk_next(&walk);
    }
}

/* ---- reductions ---- */
/* Integers that are known are joined as numbers, in whatever order; beside elements that leaves no
 * name. */
static void forget_mixtures(const signature_tile_run *run, const signature_tile *from,
                            signature_tile *result) {
    bool constants = false, others = false;
    for (int64_t i = 0; i < from->count; i++) {
        bool constant = signature_is_constant(run->setting->table, from->items[i].mark);
        constants = constants || constant;
        others = others || !constant;
    }
    for (int64_t i = 0; i < result->count && constants && others; i++)
        result->items[i].mark = SIGNATURE_UNKNOWN;
}

/* How far the result's element moves per axis of what is reduced. */
static void reduced_strides(const signature_tile *from, int axis, int64_t strides[IR_MAX_RANK]) {
    int64_t stride = 1;
    for (int d = from->rank - 1; d >= 0; d--) {
        strides[d] = d == axis ? 0 : stride;
        stride *= d == axis ? 1 : from->extent[d];
    }
}

static void reduce_numbers(signature_tile_run *run, const ir_op *op, signature_tile *result) {
    const signature_tile *from = signature_tile_of(run, op->operands[0]);
    const ir_attributes *attributes = &op->attributes;
    base_dtype dtype = ir_monoid_state(attributes->monoid, op->operands[0]->type.dtype);
    ir_opcode opcode = signature_joining_opcode(attributes->monoid, attributes->nan, dtype);
    int64_t strides[IR_MAX_RANK] = {0};
    signature_walk walk = walk_of(from);
    reduced_strides(from, attributes->axis, strides);
    for (int64_t k = 0; k < from->count; k++) {
        signature_value *state = &result->items[element_of(&walk, strides)];
        if (walk.at[attributes->axis] < from->domain[attributes->axis])
            *state = signature_combined(run->setting, opcode, dtype, *state, from->items[k]);
        signature_walk_next(&walk);
    }
    forget_mixtures(run, from, result);
}

/* max and min that tell the zeros apart join integers: what ignores NaN there is the identity. */
static ir_opcode joining_opcode(const ir_attributes *attributes, base_dtype dtype) {
    ir_nan nan = attributes->zero == IR_ZERO_STRICT ? IR_NAN_PROPAGATE : attributes->nan;
    return signature_joining_opcode(attributes->monoid, nan, dtype);
}

static bool is_nan(const signature_tile_run *run, signature element) {
    double value = 0;
    return signature_literal_value(run->setting->table, element, &value) && value != value;
}

/* max and min that tell the zeros apart end as what a key becomes: one source, no partial result
 * that another max or min goes on with. */
static bool has_keys(const ir_attributes *attributes) {
    return attributes->zero == IR_ZERO_STRICT &&
           (attributes->monoid == IR_MONOID_MAX || attributes->monoid == IR_MONOID_MIN);
}

/* A sum that ignores NaN compares each element with itself on the way: a partial result that it
 * meets is one source, and a literal NaN is the identity. */
static signature met_by_reduction(const signature_tile_run *run, const ir_op *op,
                                  signature element) {
    const ir_attributes *attributes = &op->attributes;
    const ir_monoid_info *info = ir_monoid_describe(attributes->monoid);
    bool ignores = attributes->nan == IR_NAN_IGNORE;
    bool compares = (ignores && info->combine_ignoring_nan == info->combine) ||
                    attributes->zero == IR_ZERO_STRICT;
    ir_constant identity = ir_monoid_identity(attributes->monoid, op->operands[0]->type.dtype);
    if (compares && ignores && is_nan(run, element))
        return signature_of_literal(run->setting, &identity).mark;
    if (has_keys(attributes) && signature_is_constant(run->setting->table, element))
        return SIGNATURE_CONSTANT; /* its key */
    return compares ? signature_settled(run->setting->table, element) : element;
}

/* The numbers of the model, joined in order; NULL: there is no model. */
static signature_value *joined_numbers(signature_tile_run *run, const ir_op *op, ir_opcode opcode,
                                       const signature_tile *result,
                                       const int64_t strides[IR_MAX_RANK]) {
    const signature_tile *from = signature_tile_of(run, op->operands[0]);
    base_dtype dtype = ir_monoid_state(op->attributes.monoid, op->operands[0]->type.dtype);
    int axis = op->attributes.axis;
    if (!run->setting->models)
        return NULL;
    signature_value *states = BASE_NEW_ARRAY(run->arena, signature_value, result->count + 1);
    memcpy(states, result->items, sizeof *states * (size_t)result->count);
    signature_walk walk = walk_of(from);
    for (int64_t k = 0; k < from->count; k++) {
        signature_value *state = &states[element_of(&walk, strides)];
        const signature_value both[] = {*state, from->items[k]};
        if (walk.at[axis] < from->domain[axis])
            *state = signature_model_op(run->setting, NULL, opcode, dtype, both, 2,
                                        signature_nothing(both[1].mark));
        signature_walk_next(&walk);
    }
    return states;
}

/* The elements of result `i`, in their order. */
static int64_t list_line(const signature_tile_run *run, const ir_op *op, const signature_tile *from,
                         const int64_t strides[IR_MAX_RANK], int64_t i, signature *line) {
    int axis = op->attributes.axis;
    int64_t count = 0;
    signature_walk walk = walk_of(from);
    for (int64_t k = 0; k < from->count; k++) {
        if (walk.at[axis] < from->domain[axis] && element_of(&walk, strides) == i)
            line[count++] = met_by_reduction(run, op, from->items[k].mark);
        signature_walk_next(&walk);
    }
    return count;
}

/* Results of a reduction in an order get the shape of its tree. */
static void order_results(signature_tile_run *run, const ir_op *op, ir_opcode opcode,
                          base_dtype dtype, signature_tile *result,
                          const int64_t strides[IR_MAX_RANK]) {
    const signature_tile *from = signature_tile_of(run, op->operands[0]);
    const ir_order order = op->attributes.order;
    signature *line = BASE_NEW_ARRAY(run->arena, signature, from->count + 1);
    for (int64_t i = 0; i < result->count; i++) {
        signature *mark = &result->items[i].mark;
        if (order != IR_ORDER_TREE) {
            int64_t count = list_line(run, op, from, strides, i, line);
            run->work -= from->count;
            *mark = signature_ordered_mark(
                run->setting->table, *mark,
                signature_ordered_shape(run->setting->table, opcode, dtype, order, line, count));
        }
        if (run->notes)
            signature_order_note(run->setting->table, *mark, order != IR_ORDER_TREE);
    }
}

static void reduce_floats(signature_tile_run *run, const ir_op *op, signature_tile *result) {
    const signature_tile *from = signature_tile_of(run, op->operands[0]);
    const ir_attributes *attributes = &op->attributes;
    base_dtype dtype = ir_monoid_state(attributes->monoid, op->operands[0]->type.dtype);
    ir_opcode opcode = joining_opcode(attributes, dtype);
    int64_t strides[IR_MAX_RANK] = {0};
    signature_walk walk = walk_of(from);
    reduced_strides(from, attributes->axis, strides);
    signature_value *numbers = joined_numbers(run, op, opcode, result, strides);
    signature_sum *sums = BASE_NEW_ARRAY(run->arena, signature_sum, result->count + 1);
    for (int64_t k = 0; k < from->count; k++) {
        if (walk.at[attributes->axis] < from->domain[attributes->axis])
            signature_sum_add(run->setting->table, &sums[element_of(&walk, strides)], opcode, dtype,
                              met_by_reduction(run, op, from->items[k].mark));
        signature_walk_next(&walk);
    }
    for (int64_t i = 0; i < result->count; i++) {
        signature identity = result->items[i].mark;
        result->items[i] = numbers != NULL ? numbers[i] : signature_nothing(identity);
        result->items[i].mark = signature_sum_mark(run->setting->table, &sums[i], opcode, identity);
        if (has_keys(attributes))
            result->items[i].mark = signature_settled(run->setting->table, result->items[i].mark);
    }
    if (run->orders)
        order_results(run, op, opcode, dtype, result, strides);
}

/* An axis that has one element by its type is no reduction: the element goes on as it is, unless
 * it is compared with itself on the way. */
static void pass_on(signature_tile_run *run, const ir_op *op, signature_tile *result) {
    const signature_tile *from = signature_tile_of(run, op->operands[0]);
    bool compared =
        op->attributes.nan == IR_NAN_IGNORE && base_dtype_is_float(op->operands[0]->type.dtype);
    for (int64_t i = 0; i < result->count && from->domain[op->attributes.axis] > 0; i++) {
        if (compared && is_nan(run, from->items[i].mark))
            continue;
        result->items[i] = from->items[i];
        if (compared)
            result->items[i].mark = signature_settled(run->setting->table, from->items[i].mark);
    }
}

static void compute_reduce(signature_tile_run *run, const ir_op *op, signature_tile *result) {
    base_dtype dtype = op->operands[0]->type.dtype;
    const layout_extent *extent = op->operands[0]->type.extent[op->attributes.axis];
    ir_constant identity = ir_monoid_identity(op->attributes.monoid, dtype);
    for (int64_t i = 0; i < result->count; i++)
        result->items[i] = signature_of_literal(run->setting, &identity);
    if (layout_extent_is(&run->module->extents, extent, 1))
        pass_on(run, op, result);
    else if (base_dtype_is_float(dtype))
        reduce_floats(run, op, result);
    else
        reduce_numbers(run, op, result);
}

bool signature_tile_compute(signature_tile_run *run, const ir_op *op) {
    if (op->result_count != 1 || !signature_tile_shape(run, op->results[0]))
        return false;
    signature_tile *result = signature_tile_of(run, op->results[0]);
    if (ir_op_describe(op->opcode)->shape == IR_SHAPE_LEAF) {
        compute_leaf(run, op, result);
    } else if (op->opcode == IR_REDUCE) {
        run->work -= signature_tile_of(run, op->operands[0])->count;
        compute_reduce(run, op, result);
    } else if (op->opcode == IR_PAD) {
        compute_pad(run, op, result);
    } else {
        compute_elements(run, op, result);
    }
    return run->work > 0;
}
