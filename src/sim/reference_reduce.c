/* Reductions of the FP64 reference, over exactly the domain.
 *
 * A sum is computed with compensation, so that the reference itself errs by about one unit of
 * double, and gets the error of a tree of the plan's depth:
 *
 *     sum of n elements:  E = sum E(a) + d u sum|a|     d = min(depth, n - 1): adding to the
 *                                                       identity is exact
 *
 * Where another order could overflow on the way and this one does not, the sum is loose: with P the
 * sum of the positive and M of the negative elements, no order overflows if both are in range, all
 * do if the whole is past the threshold and the other sign is in range. max and min take the error
 * of the elements that may be the largest. A certain NaN wins under nan=propagate and is left out
 * under nan=ignore; all left out: the identity.
 *
 * Depth: of left and right n - 1, of canonical ceil(log2 n); of a tree by the plan's axis that has
 * the name of the axis' extent, and without one by the deepest of the plan's element axes.
 */
#include "sim/reference_internal.h"

#include "base/checked.h"

#include <string.h>

/* One line of elements along the reduced axis. */
typedef struct line {
    const double *value;
    const int64_t *integer;
    const double *error;
    int64_t stride, count;
    int64_t depth;
    ir_nan nan;
    ir_zero zero;
} line;

static sim_number line_number(const line *of, int64_t i) {
    return (sim_number){of->value[i * of->stride], of->error[i * of->stride]};
}

/* ---- depth ---- */

static int64_t ceil_log2(int64_t n) {
    int64_t bits = 0;
    while (n > 1 && bits < 62 && (INT64_C(1) << bits) < n)
        bits++;
    return bits;
}

/* Steps one after the other, then trees over slots and lanes, then parts one after the other. */
static int64_t axis_depth(const layout_axis *digits, int64_t count) {
    int64_t chunk = 1, depth = 0;
    for (int i = 0; i < digits->count; i++) {
        layout_digit digit = digits->digits[i];
        if (digit.holder == LAYOUT_GROUP && digit.radix < 1)
            return -1; /* a program axis */
        if (digit.holder == LAYOUT_GROUP)
            depth += digit.radix;
        if (digit.holder == LAYOUT_STEP || digit.radix < 1)
            continue;
        chunk *= digit.radix;
        depth += digit.holder == LAYOUT_GROUP ? 0 : ceil_log2(digit.radix);
    }
    int64_t positions = count + layout_axis_shifts(digits) - 1;
    return depth + (positions / chunk + (positions % chunk != 0));
}

/* `N` names axes `N`, `N.1`, ... */
static bool anchor_names(const char *anchor, const char *name) {
    size_t length = strlen(name);
    return strncmp(anchor, name, length) == 0 && (anchor[length] == '\0' || anchor[length] == '.');
}

static bool anchor_is_program(const ir_module *module, const char *anchor) {
    for (int i = 0; i < module->program_count; i++)
        if (module->programs[i].name != NULL && strcmp(module->programs[i].name, anchor) == 0)
            return true;
    return false;
}

/* The deepest of the element axes with that name (NULL: of all); -1 when there is none. */
static int64_t deepest_axis(const sim_machine *machine, const char *name, int64_t count) {
    int64_t deepest = -1;
    const ir_plan_list *axes = &machine->plan->of[IR_PLAN_AXIS];
    for (int64_t i = 0; i < axes->count; i++) {
        const ir_plan_line *axis = &axes->lines[i];
        if (anchor_is_program(machine->module, axis->anchor))
            continue;
        if (name != NULL && !anchor_names(axis->anchor, name))
            continue;
        int64_t depth = axis_depth(&axis->digits, count);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest;
}

/* The order that the plan gives the reduction, where it is one of the plan's. */
static ir_order planned_order(const sim_machine *machine, const ir_op *op) {
    const ir_plan_line *planned =
        machine->plan != NULL ? ir_plan_find(machine->plan, IR_PLAN_REDUCE, op->anchor) : NULL;
    return planned != NULL ? planned->order : op->attributes.order;
}

static int64_t reduction_depth(const sim_machine *machine, const ir_op *op, int64_t count) {
    const layout_extent *extent = op->operands[0]->type.extent[op->attributes.axis];
    const ir_order order = planned_order(machine, op);
    int64_t depth = -1;
    if (order == IR_ORDER_CANONICAL)
        return ceil_log2(count);
    if (order != IR_ORDER_TREE)
        return count > 0 ? count - 1 : 0;
    if (machine->plan != NULL && extent->kind == LAYOUT_EXTENT_SYMBOL)
        depth = deepest_axis(machine, machine->module->extents.symbols[extent->value].name, count);
    if (machine->plan != NULL && depth < 0)
        depth = deepest_axis(machine, NULL, count);
    if (depth < 0 || depth > count - 1)
        depth = count - 1;
    return depth < 0 ? 0 : depth;
}

/* ---- sums ---- */
typedef struct float_sums {
    double total, magnitude, error;
} float_sums;

static float_sums sums_of(const line *of) {
    bool skip = of->nan == IR_NAN_IGNORE;
    double total = 0.0, lost = 0.0, magnitude = 0.0, error = 0.0;
    for (int64_t i = 0; i < of->count; i++) {
        sim_number a = line_number(of, i);
        if (skip && sim_is_certain_nan(a))
            continue;
        double next = total + a.value, from_a = next - total;
        lost += (total - (next - from_a)) + (a.value - from_a);
        total = next;
        magnitude += fabs(a.value);
        error += a.error;
    }
    return (float_sums){total + lost, magnitude, error};
}

/* Integers whose partial sums the type holds add without error in any order. */
static bool sums_are_whole(const sim_float_format *format, const line *of, float_sums sums) {
    if (sums.error != 0.0 || sums.magnitude > 1.0 / format->unit ||
        sums.magnitude != rint(sums.magnitude))
        return false;
    for (int64_t i = 0; i < of->count; i++) {
        double a = of->value[i * of->stride];
        if (a != rint(a) && !isnan(a)) /* a NaN was left out */
            return false;
    }
    return true;
}

/* Partial sums may overflow: with one sign only, or with enough room, every order agrees. */
static sim_number settle_large_sum(const sim_float_format *format, float_sums sums, double error) {
    double positive = (sums.magnitude + sums.total) / 2, negative = sums.magnitude - positive;
    double larger = positive > negative ? positive : negative;
    double smaller = sums.magnitude - larger;
    if (larger + error < format->overflow)
        return (sim_number){sums.total, error};
    bool certain =
        fabs(sums.total) - error >= format->overflow && smaller + error < format->overflow;
    return (sim_number){copysign((double)INFINITY, sums.total), certain ? 0.0 : (double)INFINITY};
}

/* An element is inf, NaN or loose. */
static sim_number settle_special_sum(const sim_float_format *format, const line *of) {
    bool loose = false, infinite[2] = {false, false};
    double part[2] = {0.0, 0.0}, error = 0.0; /* finite elements by sign */
    for (int64_t i = 0; i < of->count; i++) {
        sim_number a = line_number(of, i);
        if (sim_is_certain_nan(a)) {
            if (of->nan == IR_NAN_IGNORE)
                continue;
            return (sim_number){(double)NAN, 0.0};
        }
        if (sim_is_loose(a.error))
            loose = true;
        else if (isinf(a.value))
            infinite[a.value < 0.0] = true;
        else {
            part[a.value < 0.0] += fabs(a.value);
            error += a.error;
        }
    }
    if (loose)
        return (sim_number){(double)NAN, (double)INFINITY};
    if (infinite[0] && infinite[1])
        return (sim_number){(double)NAN, 0.0};
    double against = part[infinite[0] ? 1 : 0];
    error += (double)of->depth * format->unit * against;
    bool certain = against + error < format->overflow;
    return (sim_number){infinite[0] ? (double)INFINITY : -(double)INFINITY,
                        certain ? 0.0 : (double)INFINITY};
}

/* Nothing but -0.0, which a sum with a strict zero begins with. */
static bool is_negative_zero(const line *of) {
    for (int64_t i = 0; i < of->count; i++) {
        sim_number a = line_number(of, i);
        bool skipped = of->nan == IR_NAN_IGNORE && sim_is_certain_nan(a);
        if (!skipped && (a.value != 0.0 || a.error != 0.0 || !signbit(a.value)))
            return false;
    }
    return of->zero == IR_ZERO_STRICT;
}

static sim_number reduce_sum(const sim_float_format *format, const line *of) {
    float_sums sums = sums_of(of);
    if (is_negative_zero(of))
        return (sim_number){-0.0, 0.0};
    if (!isfinite(sums.magnitude) || !isfinite(sums.error))
        return settle_special_sum(format, of);
    if (sums_are_whole(format, of, sums))
        return (sim_number){sums.total, 0.0};
    double error = sums.error + (double)of->depth * format->unit * sums.magnitude;
    if (sums.magnitude + error >= format->overflow)
        return settle_large_sum(format, sums, error);
    return sim_number_settle(format, sums.total, error, 0.0);
}

/* ---- products ---- */

/* A product of many numbers as mantissa * 2^exponent, so that double never leaves its range. */
typedef struct scaled {
    double mantissa;
    int64_t exponent;
} scaled;

static void scaled_multiply(scaled *product, double a) {
    int exponent = 0;
    product->mantissa = frexp(product->mantissa * a, &exponent);
    product->exponent += exponent;
}

static double scaled_value(scaled a) {
    int64_t exponent = a.exponent > 4000 ? 4000 : a.exponent < -4000 ? -4000 : a.exponent;
    return ldexp(a.mantissa, (int)exponent);
}

typedef struct float_products {
    scaled total;  /* of all */
    double above;  /* of the |a| + E above 1: no partial product is larger */
    double below;  /* of the |a| - E below 1: none is smaller */
    double growth; /* product of (1 + E / |a|) over the elements that cannot be 0 */
    double reach;  /* the largest |product| when an element may be 0, else 0 */
    bool nan, loose, infinite, zero, maybe_zero, negative;
} float_products;

static void products_take(float_products *products, scaled *above, scaled *below, sim_number a) {
    products->loose |= sim_is_loose(a.error);
    products->infinite |= isinf(a.value);
    products->negative ^= signbit(a.value) != 0;
    products->zero |= a.value == 0.0 && a.error == 0.0;
    double magnitude = fabs(a.value);
    products->maybe_zero |= a.error > 0.0 && magnitude <= a.error;
    if (products->loose || products->infinite)
        return;
    scaled_multiply(&products->total, a.value);
    if (magnitude + a.error > 1.0)
        scaled_multiply(above, magnitude + a.error);
    if (magnitude - a.error < 1.0 && magnitude > a.error)
        scaled_multiply(below, magnitude - a.error);
    if (magnitude > a.error)
        products->growth *= 1.0 + a.error / magnitude;
}

static float_products products_of(const line *of) {
    float_products products = {.total = {1.0, 0}, .growth = 1.0};
    scaled above = {1.0, 0}, below = {1.0, 0}, reach = {1.0, 0};
    for (int64_t i = 0; i < of->count; i++) {
        sim_number a = line_number(of, i);
        if (sim_is_certain_nan(a)) {
            products.nan |= of->nan == IR_NAN_PROPAGATE;
            continue;
        }
        products_take(&products, &above, &below, a);
        if (isfinite(a.value) && !sim_is_loose(a.error))
            scaled_multiply(&reach, fabs(a.value) + a.error);
    }
    products.above = scaled_value(above);
    products.below = scaled_value(below);
    products.reach = products.maybe_zero ? scaled_value(reach) : 0.0;
    return products;
}

/* The threshold under which a partial product loses relative accuracy. */
static double least_normal(const sim_float_format *format) {
    return format->tiny / format->unit / 2;
}

static sim_number reduce_prod(const sim_float_format *format, const line *of) {
    float_products products = products_of(of);
    double value = scaled_value(products.total);
    if (products.nan)
        return (sim_number){(double)NAN, 0.0};
    if (products.loose || (products.infinite && products.maybe_zero))
        return (sim_number){value, (double)INFINITY};
    bool may_vanish = products.below < least_normal(format);
    bool may_overflow = products.above >= format->overflow;
    if (products.infinite) {
        bool certain = products.zero || !may_vanish;
        double limit = products.negative ? -(double)INFINITY : (double)INFINITY;
        return (sim_number){products.zero ? (double)NAN : limit, certain ? 0.0 : (double)INFINITY};
    }
    if (may_overflow) {
        double least = fabs(value) / products.growth;
        bool certain = !products.zero && !products.maybe_zero && !may_vanish &&
                       least * (1.0 - (double)of->depth * format->unit) >= format->overflow;
        return (sim_number){certain ? copysign((double)INFINITY, value) : value,
                            certain ? 0.0 : (double)INFINITY};
    }
    if (products.zero)
        return (sim_number){products.negative ? -0.0 : 0.0, 0.0};
    double relative = products.growth - 1.0 + (double)of->depth * format->unit * products.growth;
    double lost = may_vanish ? (double)of->depth * format->tiny * products.above : 0.0;
    double error = fabs(value) * relative + products.reach + lost;
    return sim_number_settle(format, value, error, of->depth > 0 ? format->tiny : 0.0);
}

/* ---- max and min ---- */

/* sign 1: the largest; -1: the least, as the largest of the negated. */
static sim_number reduce_extreme(const line *of, double sign) {
    double best = -(double)INFINITY, sure = -(double)INFINITY, error = 0.0;
    bool loose = false;
    for (int64_t i = 0; i < of->count; i++) {
        sim_number a = line_number(of, i);
        if (isnan(a.value) && !sim_is_loose(a.error)) {
            if (of->nan == IR_NAN_IGNORE)
                continue;
            return (sim_number){(double)NAN, 0.0};
        }
        double value = sign * a.value;
        loose |= sim_is_loose(a.error);
        bool larger_zero = value == 0.0 && best == 0.0 && signbit(best) && !signbit(value);
        best = value > best || larger_zero ? value : best;
        sure = value - a.error > sure ? value - a.error : sure;
        error = a.error > error ? a.error : error;
    }
    if (loose)
        return (sim_number){sign * best, (double)INFINITY};
    if (error > 0.0) { /* only of those that may be the largest */
        error = 0.0;
        for (int64_t i = 0; i < of->count; i++) {
            sim_number a = line_number(of, i);
            if (sign * a.value + a.error >= sure && a.error > error)
                error = a.error;
        }
    }
    return (sim_number){sign * best, error};
}

static sim_number reduce_floats(ir_monoid monoid, base_dtype state, const line *of) {
    const sim_float_format *format = sim_float_format_of(state);
    switch (monoid) {
    case IR_MONOID_SUM:
        return reduce_sum(format, of);
    case IR_MONOID_PROD:
        return reduce_prod(format, of);
    case IR_MONOID_MAX:
        return reduce_extreme(of, 1.0);
    case IR_MONOID_MIN:
        return reduce_extreme(of, -1.0);
    case IR_MONOID_ANY:
    case IR_MONOID_ALL:
    case IR_MONOID_COUNT:
        break;
    }
    return (sim_number){(double)NAN, 0.0};
}

/* ---- integers and bool: exact, by the op that the monoid combines with ---- */

static sim_integer reduce_integers(ir_monoid monoid, base_dtype dtype, const line *of) {
    ir_opcode combine = ir_monoid_describe(monoid)->combine;
    base_dtype state = ir_monoid_state(monoid, dtype);
    sim_integer total = {ir_monoid_identity(monoid, dtype).integer, 0.0};
    for (int64_t i = 0; i < of->count; i++) {
        sim_integer a = {of->integer[i * of->stride], of->error[i * of->stride]};
        total = sim_integer_binary(combine, state, total, a);
    }
    return total;
}

/* ---- the op ---- */

/* The line of `from` that ends in element `to` of the result. */
static line line_of(const ir_op *op, const sim_tile *from, const int64_t position[IR_MAX_RANK],
                    int64_t depth) {
    int axis = op->attributes.axis;
    int64_t offset = 0, weight = 1, stride = 1;
    for (int a = from->rank - 1; a >= 0; a--) {
        if (a == axis)
            stride = weight;
        else
            offset += position[a] * weight;
        weight *= from->extent[a];
    }
    return (line){from->value == NULL ? NULL : from->value + offset,
                  from->integer == NULL ? NULL : from->integer + offset,
                  from->error + offset,
                  stride,
                  from->domain[axis],
                  depth,
                  op->attributes.nan,
                  op->attributes.zero};
}

void sim_run_reduce(sim_machine *machine, const ir_op *op) {
    const ir_value *operand = op->operands[0];
    const sim_tile *from = sim_tile_of(machine, operand);
    sim_tile *to = sim_tile_begin(machine, op->results[0]);
    int axis = op->attributes.axis;
    ir_monoid monoid = op->attributes.monoid;
    base_dtype state = ir_monoid_state(monoid, from->dtype);
    int64_t depth = reduction_depth(machine, op, from->domain[axis]);
    for (int64_t i = 0; i < to->count; i++) {
        int64_t position[IR_MAX_RANK] = {0};
        sim_tile_position(to, i, position);
        position[axis] = 0;
        if (from->domain[axis] > 0 && !sim_tile_inside(from, position, from->rank)) {
            sim_tile_poison(to, i, 1);
            continue;
        }
        line of = line_of(op, from, position, depth);
        if (sim_tile_is_float(from))
            sim_tile_set_number(to, i, reduce_floats(monoid, state, &of));
        else
            sim_tile_set_integer(to, i, reduce_integers(monoid, from->dtype, &of));
    }
    if (from->domain_open)
        sim_tile_loosen(to);
}
