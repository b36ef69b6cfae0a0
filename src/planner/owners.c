/* Plans of kernels whose text fixes owners: it says which lanes there are, and free axes follow.
 *
 *     i = arange(64)                 free: lane 32 | subgroup 2, striped over the kernel's threads
 *     v = convert(t, L)              fixed: the digits of L
 *     x[row, :] of 1009 elements     free: lane 32 | subgroup 2 | slot 16
 *
 * Of the axes of one sweep one lies on lanes: a fixed one, else a free one that is converted, else
 * the one that stands on the last dimension of most accesses; the others are walked in steps. What
 * does not fit 64 slots, or has a runtime extent, is walked in steps too. A conversion takes the
 * cheaper of what moves inside subgroups and what goes through scratch. Conversions have arrays of
 * their own, without a second barrier, while 16 groups have room for them; then those of one type
 * use one again.
 */
#include "planner/planner.h"
#include "planner/planner_internal.h"

#include "layout/conversion.h"

enum {
    MOST_SLOTS = 64,
    SCRATCH_GROUPS = 16 /* that share the scratch of a processor before arrays are used again */
};

bool planner_owners_are_fixed(const planner_state *state) {
    for (int i = 0; i < state->axes.count; i++)
        if (state->axes.axes[i].fixed != NULL)
            return true;
    return false;
}

/* Lanes and subgroups of the team. */
static void find_team(planner_state *state) {
    state->lanes = state->subgroups = 1;
    for (int i = 0; i < state->axes.count; i++) {
        const layout_axis *fixed = state->axes.axes[i].fixed;
        int64_t lanes = fixed == NULL ? 1 : layout_axis_range(fixed, LAYOUT_LANE);
        int64_t subgroups = fixed == NULL ? 1 : layout_axis_range(fixed, LAYOUT_SUBGROUP);
        state->lanes = lanes > state->lanes ? lanes : state->lanes;
        state->subgroups = subgroups > state->subgroups ? subgroups : state->subgroups;
    }
}

static void push_digit(layout_axis *digits, layout_holder holder, int64_t radix) {
    if (radix != 1)
        digits->digits[digits->count++] = (layout_digit){.holder = holder, .radix = radix};
}

static layout_axis striped_digits(const planner_state *state, const layout_extent *extent) {
    layout_axis digits = {0};
    int64_t known = 0, slots = 1, threads = state->lanes * state->subgroups;
    bool is_known = layout_extent_known(&state->module->extents, extent, &known);
    push_digit(&digits, LAYOUT_LANE, state->lanes);
    push_digit(&digits, LAYOUT_SUBGROUP, state->subgroups);
    while (is_known && slots < MOST_SLOTS && threads * slots < known)
        slots *= 2;
    push_digit(&digits, LAYOUT_SLOT, slots);
    int64_t elements = threads * slots;
    if (!is_known || elements < known)
        digits.digits[digits.count++] = (layout_digit){
            .holder = LAYOUT_STEP, .radix = is_known ? (known + elements - 1) / elements : 0};
    return digits;
}

/* A sweep over this axis has another one on lanes. */
static bool is_beside(const planner_state *state, int axis, const bool *spread) {
    for (int64_t s = 0; s < state->sweeps.count; s++) {
        const analysis_sweep *sweep = &state->sweeps.sweeps[s];
        bool has = false, other = false;
        for (int i = 0; i < sweep->axis_count; i++) {
            has = has || sweep->axes[i] == axis;
            other = other || (sweep->axes[i] != axis && spread[sweep->axes[i]]);
        }
        if (has && other)
            return true;
    }
    return false;
}

typedef struct source_list {
    const analysis_axes *axes;
    bool *has; /* by axis */
} source_list;

static bool note_source(void *pointer, ir_op *op) {
    source_list *list = pointer;
    int axis = op->opcode == IR_CONVERT ? list->axes->of_value[op->operands[0]->number][0] : -1;
    if (axis >= 0)
        list->has[axis] = true;
    return true;
}

/* Axes of tiles that are converted: from slots, not from steps. */
static const bool *find_sources(const planner_state *state) {
    source_list list = {.axes = &state->axes,
                        .has = BASE_NEW_ARRAY(state->arena, bool, state->axes.count)};
    ir_region_walk((ir_region *)&state->module->body, note_source, &list);
    return list.has;
}

void planner_owners_axes(planner_state *state, const int64_t *weights) {
    const bool *converted = find_sources(state);
    bool *spread = BASE_NEW_ARRAY(state->arena, bool, state->axes.count);
    bool *settled = BASE_NEW_ARRAY(state->arena, bool, state->axes.count);
    find_team(state);
    for (int i = 0; i < state->axes.count; i++) {
        spread[i] = state->axes.axes[i].fixed != NULL;
        settled[i] = spread[i] || state->axes.axes[i].is_program;
        if (spread[i])
            state->plan->of[IR_PLAN_AXIS].lines[i].digits = *state->axes.axes[i].fixed;
        else if (state->axes.axes[i].is_program)
            push_digit(&state->plan->of[IR_PLAN_AXIS].lines[i].digits, LAYOUT_GROUP, 0);
    }
    for (;;) {
        int best = -1;
        for (int i = 0; i < state->axes.count; i++)
            if (!settled[i] && (best < 0 || converted[i] > converted[best] ||
                                (converted[i] == converted[best] && weights[i] > weights[best])))
                best = i;
        if (best < 0)
            return;
        settled[best] = true;
        spread[best] = !is_beside(state, best, spread);
        state->plan->of[IR_PLAN_AXIS].lines[best].digits =
            spread[best] ? striped_digits(state, state->axes.axes[best].extent)
                         : planner_step_digits(state, state->axes.axes[best].extent);
    }
}

/* ---- conversions ---- */
bool planner_conversion(const planner_state *state, const ir_op *op, layout_conversion *conversion,
                        layout_fault *fault) {
    int from = state->axes.of_value[op->operands[0]->number][0];
    int to = state->axes.of_value[op->results[0]->number][0];
    int64_t size = 0;
    *conversion = (layout_conversion){.class_ = LAYOUT_FORWARD};
    if (from < 0 || to < 0)
        return true;
    layout_extent_known(&state->module->extents, op->results[0]->type.extent[0], &size);
    return layout_convert_axes(state->arena, &state->plan->of[IR_PLAN_AXIS].lines[from].digits,
                               &state->plan->of[IR_PLAN_AXIS].lines[to].digits, size, state->lanes,
                               state->subgroups, conversion, fault);
}

layout_costs planner_costs(const machine *device) {
    layout_costs costs = device->costs;
    costs.banks = 1;
    costs.barrier /= 2;
    return costs;
}

layout_class planner_mechanism(const planner_state *state, const ir_op *op) {
    layout_conversion conversion;
    layout_fault fault;
    if (!planner_conversion(state, op, &conversion, &fault) || conversion.class_ != LAYOUT_SHUFFLE)
        return conversion.class_ <= LAYOUT_RENAME ? conversion.class_ : LAYOUT_SCRATCH;
    layout_costs costs = planner_costs(state->machine);
    layout_price price = layout_price_of_bits(
        &conversion, base_dtype_size(op->results[0]->type.dtype), &costs, NULL);
    return price.shuffles <= price.scratch || price.scratch < 0 ? LAYOUT_SHUFFLE : LAYOUT_SCRATCH;
}

/* ---- scratch ---- */
typedef struct scratch_use {
    planner_state *state;
    int64_t bytes;     /* of all arrays so far */
    const ir_op **ops; /* of the plan's lines */
    int64_t *sizes;
    int count;
} scratch_use;

static bool list_convert(void *pointer, ir_op *op) {
    scratch_use *use = pointer;
    if (op->opcode != IR_CONVERT)
        return true;
    layout_conversion conversion;
    layout_fault fault;
    int64_t elements = 0;
    layout_extent_known(&use->state->module->extents, op->results[0]->type.extent[0], &elements);
    if (planner_conversion(use->state, op, &conversion, &fault) && conversion.linear)
        elements = (int64_t)1 << conversion.swizzle.index_bits;
    use->ops[use->count] = op;
    use->sizes[use->count++] = elements * base_dtype_size(op->results[0]->type.dtype);
    return true;
}

/* The first array of the region and type. */
static int find_array(const scratch_use *use, int user) {
    const ir_plan_line *converts = use->state->plan->of[IR_PLAN_CONVERT].lines;
    for (int i = 0; i < user; i++)
        if (converts[i].mechanism == LAYOUT_SCRATCH && converts[i].of == NULL &&
            use->ops[i]->parent == use->ops[user]->parent &&
            use->ops[i]->results[0]->type.dtype == use->ops[user]->results[0]->type.dtype)
            return i;
    return -1;
}

void planner_share_scratch(planner_state *state) {
    ir_plan_list *converts = &state->plan->of[IR_PLAN_CONVERT];
    scratch_use use = {.state = state,
                       .ops = BASE_NEW_ARRAY(state->arena, const ir_op *, converts->count),
                       .sizes = BASE_NEW_ARRAY(state->arena, int64_t, converts->count)};
    ir_region_walk((ir_region *)&state->module->body, list_convert, &use);
    for (int i = 0; i < converts->count; i++) {
        if (converts->lines[i].mechanism != LAYOUT_SCRATCH)
            continue;
        int array = find_array(&use, i);
        bool fits = use.bytes + use.sizes[i] <= state->machine->scratch_bytes / SCRATCH_GROUPS;
        if (array < 0 || fits)
            use.bytes += use.sizes[i];
        else
            converts->lines[i].of = converts->lines[array].anchor;
    }
}
