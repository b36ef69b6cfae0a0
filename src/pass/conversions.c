/* conversions: level tile. Conversions of owners that are not needed.
 *
 *     %o = arange 64 layout A                %v = load %x[gather %o]
 *     %v = load %x[gather %o]           ->   %c = convert %v layout C
 *     %a = convert %v layout A
 *     %b = convert %a layout B
 *     %c = convert %b layout C
 *
 * An identity, whose operand lies in a class that something else fixes alike, is its operand. A
 * conversion of a conversion converts the first value instead; where that is an identity, the two
 * cancel. An intermediate that others use stays, one that nobody uses any more goes. Every
 * conversion stays where it stands, so that none passes a store or load. Whether two layouts are
 * alike is asked of the functions, not of their spellings; what was done and why is put down in the
 * log. Programs without such conversions are left untouched.
 */
#include "pass/pass.h"
#include "pass/simplify.h"

#include "layout/tile.h"

typedef struct conversions_state {
    ir_module *module;
    pass_log *log; /* may be NULL */
    analysis_axes axes;
} conversions_state;

/* Is the class of the value still fixed as `layout` when `without` is gone? */
typedef struct fixer_search {
    const analysis_axes *axes;
    const layout_axis *layout;
    const ir_op *without;
    int axis;
    bool found;
} fixer_search;

static bool search_op(void *pointer, ir_op *op) {
    fixer_search *search = pointer;
    if (op == search->without || op->attributes.layout == NULL || op->result_count != 1)
        return true;
    int axis = search->axes->of_value[op->results[0]->number][0];
    search->found = axis >= 0 && axis == search->axis &&
                    layout_axis_same(op->attributes.layout, search->layout);
    return !search->found;
}

/* The layout that the kernel fixes for the class of a tile, or NULL. */
static const layout_axis *owner_of(const analysis_axes *axes, const ir_value *value) {
    int axis = axes->of_value[value->number][0];
    return axis < 0 ? NULL : axes->axes[axis].fixed;
}

static bool is_identity(const conversions_state *state, const ir_op *op, const ir_value *first) {
    const analysis_axes *axes = &state->axes;
    const layout_axis *owner = owner_of(axes, first);
    if (owner == NULL || !layout_axis_same(owner, op->attributes.layout))
        return false;
    fixer_search search = {
        .axes = axes, .layout = owner, .without = op, .axis = axes->of_value[first->number][0]};
    ir_region_walk(&state->module->body, search_op, &search);
    return search.found;
}

static void put_down(const conversions_state *state, const ir_op *op, const ir_value *first,
                     pass_conversion_kind kind) {
    pass_log *log = state->log;
    if (log == NULL)
        return;
    const ir_op *through = op->operands[0]->definer;
    pass_conversion entry = {.kind = kind,
                             .anchor = op->anchor,
                             .through = first == op->operands[0] ? NULL : through->anchor,
                             .location = op->location,
                             .source = owner_of(&state->axes, first),
                             .destination = op->attributes.layout};
    BASE_PUSH(state->module->arena, log->conversions, log->conversion_count,
              log->conversion_capacity, entry);
}

/* The value that a chain of conversions begins with. */
static ir_value *first_value(ir_value *value) {
    while (value->definer != NULL && value->definer->opcode == IR_CONVERT)
        value = value->definer->operands[0];
    return value;
}

static bool simplify_op(conversions_state *state, ir_op *op) {
    ir_value *first = first_value(op->operands[0]);
    bool chain = first != op->operands[0];
    if (is_identity(state, op, first)) {
        put_down(state, op, first, chain ? PASS_CONVERSION_INVERSE : PASS_CONVERSION_SAME);
        pass_replace(state->module, op, first);
        state->axes = analysis_axes_find(state->module->arena, state->module);
        return true;
    }
    if (chain) { /* the classes stay: a conversion equates nothing */
        put_down(state, op, first, PASS_CONVERSION_CHAIN);
        op->operands[0] = first;
    }
    return chain;
}

static bool simplify_region(conversions_state *state, ir_region *region) {
    bool changed = false;
    for (ir_op *op = region->first, *next; op != NULL; op = next) {
        next = op->next;
        for (int i = 0; i < op->region_count; i++)
            changed |= simplify_region(state, op->regions[i]);
        if (op->opcode == IR_CONVERT)
            changed |= simplify_op(state, op);
    }
    return changed;
}

pass_result pass_conversions(ir_module *module, pass_context *context) {
    conversions_state state = {.module = module, .log = context->log};
    const analysis_axes *axes = pass_owners_find(module);
    if (axes == NULL)
        return PASS_SAME;
    state.axes = *axes;
    if (!simplify_region(&state, &module->body))
        return PASS_SAME;
    return pass_canonicalise(module, context) == PASS_FAILED ? PASS_FAILED : PASS_CHANGED;
}
