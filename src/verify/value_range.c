/* Ranges of integers: value-range.
 *
 *     %l = iota lane*1 + slot*32 : i64(4) range [0, 127]    every position is computed
 *     for %zero, %n, %one (%k: i64 range [0, 15])           %n: range [0, 16]
 *     %m = floormod %k, %four : i64 range [0, 3]            by the divisor
 *
 * What depends on position only is computed at every one; the rest by intervals. Where an operation
 * may wrap, its dtype says all that is known.
 */
#include "verify/explore_internal.h"

#include "base/checked.h"
#include "verify/hazard_internal.h"

enum { DEPTH = 500 };

typedef struct interval {
    int64_t low, high;
} interval;

typedef struct ranges {
    hazards h;
    interval *of; /* by number */
    int8_t *known;
    int depth;
} ranges;

static interval whole(base_dtype dtype) {
    return (interval){base_dtype_least(dtype), base_dtype_greatest(dtype)};
}

static interval hull(interval a, interval b) {
    return (interval){a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
}

/* ---- sizes ---- */
static interval of_extent(const ranges *r, const layout_extent *extent) {
    int64_t value = 0;
    bool known =
        extent != NULL && layout_extent_known(&r->h.state->module->extents, extent, &value);
    if (known)
        return (interval){value, value};
    bool symbol = extent != NULL && extent->kind == LAYOUT_EXTENT_SYMBOL;
    return symbol ? (interval){0, INT64_MAX} : whole(BASE_I64);
}

/* ---- operations on ends ---- */
/* An op whose results lie between those at the ends of its operands, if none of these wraps. */
static bool ends_of(ir_opcode opcode, interval a, interval b, interval *out) {
    const int64_t x[2] = {a.low, a.high}, y[2] = {b.low, b.high};
    bool first = true;
    for (int i = 0; i < 4; i++) {
        int64_t value = 0, p = x[i / 2], q = y[i % 2];
        bool wraps = opcode == IR_ADD   ? !base_checked_add(p, q, &value)
                     : opcode == IR_SUB ? !base_checked_sub(p, q, &value)
                     : opcode == IR_MUL ? !base_checked_mul(p, q, &value)
                                        : true;
        if (wraps)
            return false;
        *out = first ? (interval){value, value} : hull(*out, (interval){value, value});
        first = false;
    }
    return true;
}

static interval of_division(ir_opcode opcode, base_dtype dtype, interval a, interval b) {
    if (b.low < 1)
        return whole(dtype);
    if (opcode == IR_FLOOR_MOD) {
        interval rest = {0, b.high - 1};
        return a.low >= 0 && a.high < b.low ? a : rest;
    }
    /* toward -inf by a positive divisor: between the quotients by its ends */
    interval by_least = {explore_integer_function(opcode)(dtype, a.low, b.low),
                         explore_integer_function(opcode)(dtype, a.high, b.low)};
    interval by_most = {explore_integer_function(opcode)(dtype, a.low, b.high),
                        explore_integer_function(opcode)(dtype, a.high, b.high)};
    return hull(by_least, by_most);
}

static interval of_shift_right(base_dtype dtype, interval a, interval b) {
    int64_t bits = 8 * base_dtype_size(dtype);
    if (b.low < 0 || b.high >= bits)
        return hull(a, (interval){a.low < 0 ? a.low : 0, a.high < 0 ? -1 : a.high});
    interval ends = {a.low >> (a.low < 0 ? b.low : b.high),
                     a.high >> (a.high < 0 ? b.high : b.low)};
    return ends;
}

static interval of_bits(ir_opcode opcode, base_dtype dtype, interval a, interval b) {
    if (opcode == IR_AND && (a.low >= 0 || b.low >= 0))
        return (interval){0, a.low < 0   ? b.high
                             : b.low < 0 ? a.high
                                         : (a.high < b.high ? a.high : b.high)};
    if (a.low < 0 || b.low < 0)
        return whole(dtype);
    uint64_t top = (uint64_t)(a.high | b.high);
    for (int shift = 1; shift < 64; shift *= 2)
        top |= top >> shift;
    return (interval){0, (int64_t)top};
}

static interval of_binary(ir_opcode opcode, base_dtype dtype, interval a, interval b) {
    interval out = whole(dtype);
    if (opcode == IR_MAXIMUM)
        return (interval){a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
    if (opcode == IR_MINIMUM)
        return (interval){a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
    if (opcode == IR_FLOOR_DIV || opcode == IR_FLOOR_MOD)
        return of_division(opcode, dtype, a, b);
    if (opcode == IR_AND || opcode == IR_OR || opcode == IR_XOR)
        return of_bits(opcode, dtype, a, b);
    if (opcode == IR_SHR)
        return of_shift_right(dtype, a, b);
    return ends_of(opcode, a, b, &out) ? out : whole(dtype);
}

/* ---- values ---- */
static interval range_of(ranges *r, const ir_value *value);

static int position_of(const ir_op *op, const ir_value *result) {
    for (int i = 0; i < op->result_count; i++)
        if (op->results[i] == result)
            return i;
    return -1;
}

static interval of_branches(ranges *r, const ir_op *op, const ir_value *value) {
    int at = position_of(op, value);
    interval sum = whole(value->type.dtype);
    for (int k = 0; k < op->region_count; k++) {
        const ir_op *yield = ir_region_yield(op->regions[k]);
        if (at < 0 || at >= yield->operand_count)
            return whole(value->type.dtype);
        interval own = range_of(r, yield->operands[at]);
        sum = k == 0 ? own : hull(sum, own);
    }
    return sum;
}

static interval of_leaf(const ranges *r, const ir_op *op, base_dtype dtype) {
    if (op->opcode == IR_SIZE)
        return of_extent(r, op->attributes.extent);
    if (op->opcode == IR_GROUP) {
        interval groups = of_extent(r, r->h.state->module->groups);
        return (interval){0, groups.high > 0 ? groups.high - 1 : 0};
    }
    return whole(dtype);
}

static bool keeps_numbers(const ir_op *op) {
    bool extreme = op->attributes.monoid == IR_MONOID_MAX || op->attributes.monoid == IR_MONOID_MIN;
    bool reduction = op->opcode == IR_FOLD || op->opcode == IR_COMBINE;
    return op->opcode == IR_BROADCAST || op->opcode == IR_SHUFFLE || op->opcode == IR_RENAME ||
           op->opcode == IR_XORSLOT || op->opcode == IR_UNIFORM || op->opcode == IR_CAST ||
           (reduction && extreme);
}

static interval of_op(ranges *r, const ir_op *op, const ir_value *value) {
    base_dtype dtype = value->type.dtype;
    ir_op_shape shape = ir_op_describe(op->opcode)->shape;
    if (shape == IR_SHAPE_LEAF)
        return of_leaf(r, op, dtype);
    if (op->opcode == IR_IF)
        return of_branches(r, op, value);
    if (op->opcode == IR_SELECT)
        return hull(range_of(r, op->operands[1]), range_of(r, op->operands[2]));
    if (keeps_numbers(op) && !base_dtype_is_float(op->operands[0]->type.dtype))
        return range_of(r, op->operands[0]);
    if (op->opcode == IR_NEG || op->opcode == IR_ABS) {
        interval a = range_of(r, op->operands[0]), zero = {0, 0};
        interval negated = of_binary(IR_SUB, dtype, zero, a);
        if (op->opcode == IR_NEG || a.low == base_dtype_least(dtype))
            return negated;
        return a.low >= 0 ? a : (interval){0, hull(a, negated).high};
    }
    if (shape == IR_SHAPE_BINARY)
        return of_binary(op->opcode, dtype, range_of(r, op->operands[0]),
                         range_of(r, op->operands[1]));
    return whole(dtype);
}

/* The index of a loop that runs; of others nothing is asked. */
static interval of_argument(ranges *r, const ir_value *value) {
    const ir_region *region = value->region;
    const ir_op *loop = region != NULL ? region->owner : NULL;
    if (loop == NULL || loop->opcode != IR_FOR || region->arguments[0] != value)
        return whole(value->type.dtype);
    interval lo = range_of(r, loop->operands[0]), hi = range_of(r, loop->operands[1]);
    return (interval){lo.low, hi.high > INT64_MIN ? hi.high - 1 : hi.high};
}

static bool closed_range(ranges *r, const ir_value *value, interval *out) {
    hazard_table table = hazard_value(&r->h, value);
    if (!table.known || table.base != NULL)
        return false;
    *out = (interval){table.number[0], table.number[0]};
    int64_t entries = (int64_t)table.blocks * table.threads * table.slots;
    for (int64_t i = 1; i < entries; i++)
        *out = hull(*out, (interval){table.number[i], table.number[i]});
    return true;
}

static interval range_of(ranges *r, const ir_value *value) {
    base_dtype dtype = value->type.dtype;
    interval range = whole(dtype), all = range;
    if (base_dtype_is_float(dtype) || r->depth > DEPTH)
        return range;
    if (r->known[value->number] != 0)
        return r->of[value->number];
    r->depth++;
    if (!closed_range(r, value, &range)) {
        if (value->definer == NULL)
            range = of_argument(r, value);
        else if (verify_op_is_formed(r->h.state, value->definer))
            range = of_op(r, value->definer, value);
    }
    r->depth--;
    if (range.low < all.low || range.high > all.high)
        range = all; /* it may wrap */
    r->known[value->number] = 1;
    r->of[value->number] = range;
    return range;
}

static void rule_value_range(ranges *r, const ir_op *op, const ir_value *value) {
    bool integer = base_dtype_is_integer(value->type.dtype) || value->type.dtype == BASE_BOOL;
    if (!value->ranged)
        return;
    interval range = range_of(r, value);
    if (!integer || range.low < value->low || range.high > value->high)
        verify_report(r->h.state, VERIFY_VALUE_RANGE, op, "an integer that is always inside",
                      "a value may be from %lld to %lld", (long long)range.low,
                      (long long)range.high);
}

static void check_region(ranges *r, const ir_op *owner, const ir_region *region) {
    for (int i = 0; i < region->argument_count; i++)
        rule_value_range(r, owner, region->arguments[i]);
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            rule_value_range(r, op, op->results[i]);
        for (int k = 0; k < op->region_count; k++)
            check_region(r, op, op->regions[k]);
    }
}

void verify_value_ranges(verify_state *state) {
    ranges r = {.depth = 0};
    if (!hazard_begin(&r.h, state))
        return;
    r.of = BASE_NEW_ARRAY(r.h.arena, interval, state->module->next_value + 1);
    r.known = BASE_NEW_ARRAY(r.h.arena, int8_t, state->module->next_value + 1);
    check_region(&r, NULL, &state->module->body);
}
