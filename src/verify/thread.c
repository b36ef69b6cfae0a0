/* Level thread: collective-form, private-form, when-effects, affine-digits, access-width,
 * grid-cover.
 *
 *     %w = combine max %f : f32          %f = fold max %t : f32(1), %t: f32(4)
 *     %a = private N : private f32(4)[N]     push %a, %i, %t
 *     when %on { store ... }
 *     axis N ... lane 8 | slot 4 | step *     load %x[%b + lane*1 + slot*8]
 */
#include "layout/bits.h"

#include "base/checked.h"
#include "verify/verify_internal.h"

enum { MOST_POSITIONS = 1 << 20 }; /* no lane has more slots, no team more lanes */

static bool is_state(base_dtype dtype) {
    return dtype == BASE_F32 || dtype == BASE_I32 || dtype == BASE_U32 || dtype == BASE_I64 ||
           dtype == BASE_BOOL;
}

static bool monoid_joins(ir_monoid monoid, base_dtype dtype) {
    int allowed = ir_monoid_describe(monoid)->dtypes;
    int kind = dtype == BASE_F32 ? IR_DTYPES_F : dtype == BASE_BOOL ? IR_DTYPES_B : IR_DTYPES_I;
    return is_state(dtype) && (allowed & kind) != 0;
}

/* T(k) to T(k), or without masks and with one subgroup T(1) to a uniform; masks of lanes of a
 * subgroup, each independent of those before. */
static bool combine_form_holds(const verify_state *state, const ir_op *op) {
    const ir_type *from = &op->operands[0]->type, *to = &op->results[0]->type;
    const ir_list *masks = &op->attributes.lanes;
    int lanes = ir_module_subgroup_lanes(state->module);
    uint32_t space[LAYOUT_MAX_BITS];
    if (lanes < 1 || (lanes & (lanes - 1)) != 0 || masks->count > LAYOUT_MAX_BITS)
        return false;
    for (int i = 0; i < masks->count; i++) {
        if (masks->items[i] < 1 || masks->items[i] >= lanes)
            return false;
        space[i] = (uint32_t)masks->items[i];
    }
    if (to->form == IR_FORM_UNIFORM)
        return from->slots == 1 && masks->count == 0 && ir_module_subgroups(state->module) == 1;
    return to->form == IR_FORM_SLOTS && to->slots == from->slots &&
           layout_space_reduce(space, masks->count) == masks->count;
}

static void rule_collective_form(verify_state *state, const ir_op *op) {
    const ir_type *from = &op->operands[0]->type, *to = &op->results[0]->type;
    bool fold = op->opcode == IR_FOLD;
    bool shape = from->form == IR_FORM_SLOTS && (fold ? to->form == IR_FORM_SLOTS && to->slots == 1
                                                      : combine_form_holds(state, op));
    if (!shape)
        verify_report(state, VERIFY_COLLECTIVE_FORM, op, ir_op_describe(op->opcode)->doc,
                      "`%s` does not take this to that", ir_op_describe(op->opcode)->text);
    if (from->dtype != to->dtype || !monoid_joins(op->attributes.monoid, from->dtype))
        verify_report(state, VERIFY_COLLECTIVE_FORM, op, "a state of the monoid, unchanged",
                      "`%s` of %s in %s", ir_monoid_describe(op->attributes.monoid)->text,
                      base_dtype_name(from->dtype), base_dtype_name(to->dtype));
}

static void rule_private_form(verify_state *state, const ir_op *op) {
    const ir_type *array = &op->operands[0]->type, *cell = &op->operands[1]->type;
    const ir_type *value = op->opcode == IR_PUSH ? &op->operands[2]->type : &op->results[0]->type;
    bool holds = array->form == IR_FORM_PRIVATE && cell->form == IR_FORM_UNIFORM &&
                 cell->dtype == BASE_I64 && value->dtype == array->dtype &&
                 (array->slots == 0 ? value->form == IR_FORM_UNIFORM
                                    : value->form == IR_FORM_SLOTS && value->slots == array->slots);
    if (!holds)
        verify_report(state, VERIFY_PRIVATE_FORM, op, ir_op_describe(op->opcode)->doc,
                      "the cell, or the value, has another type");
}

static void rule_when_effects(verify_state *state, const ir_op *op) {
    const ir_type *condition = &op->operands[0]->type;
    if (condition->form != IR_FORM_SLOTS || condition->slots != 1 || condition->dtype != BASE_BOOL)
        verify_report(state, VERIFY_WHEN_EFFECTS, op, "bool(1)", "the condition is no bool(1)");
    for (const ir_op *inner = op->regions[0]->first; inner != NULL; inner = inner->next)
        if (inner->opcode != IR_STORE && inner->opcode != IR_PUSH)
            verify_report(state, VERIFY_WHEN_EFFECTS, inner, "stores and pushes",
                          "`%s` stands in a when", ir_op_describe(inner->opcode)->text);
}

/* ---- strides ---- */
/* The affine form is the logical index of the axis at every position of the first slots, but for a
 * constant: looked at holder by holder, as both are sums over the holders. */
static bool is_along(const verify_state *state, const ir_affine *affine, const ir_axis *axis,
                     int64_t slots) {
    const ir_module *module = state->module;
    int64_t radix = layout_axis_radix(&axis->digits, LAYOUT_SLOT);
    const struct {
        layout_holder holder;
        int64_t count;
    } holders[] = {{LAYOUT_LANE, ir_module_subgroup_lanes(module)},
                   {LAYOUT_SUBGROUP, ir_module_subgroups(module)},
                   {LAYOUT_SLOT, slots < radix ? slots : radix}};
    const int64_t origin[LAYOUT_HOLDER_COUNT] = {0};
    int64_t constant = layout_axis_logical(&axis->digits, origin);
    for (int h = 0; h < 3; h++) {
        if (holders[h].count > MOST_POSITIONS)
            return false;
        for (int64_t i = 0; i < holders[h].count; i++) {
            int64_t numbers[LAYOUT_HOLDER_COUNT] = {0};
            numbers[holders[h].holder] = i;
            ir_position position = {.slot = numbers[LAYOUT_SLOT],
                                    .lane = numbers[LAYOUT_LANE],
                                    .subgroup = numbers[LAYOUT_SUBGROUP]};
            if (ir_affine_at(affine, position) !=
                layout_axis_logical(&axis->digits, numbers) - constant)
                return false;
        }
    }
    return true;
}

/* The axis of elements that the form walks along, or NULL. */
static const ir_axis *axis_along(const verify_state *state, const ir_affine *affine,
                                 int64_t slots) {
    for (int i = 0; i < state->module->axis_count; i++)
        if (!state->module->axes[i].is_program &&
            is_along(state, affine, &state->module->axes[i], slots))
            return &state->module->axes[i];
    return NULL;
}

/* Runs of `width` numbers of the holder stand at one index of a dimension, or in neighbouring cells
 * of the last one. */
static bool has_runs(const ir_affine *affine, layout_holder holder, int64_t count, int64_t width,
                     bool last) {
    for (int64_t i = 0; i < count; i++) {
        int64_t first = i / width * width;
        ir_position at = {.slot = holder == LAYOUT_SLOT ? i : 0,
                          .lane = holder == LAYOUT_LANE ? i : 0};
        ir_position start = {.slot = holder == LAYOUT_SLOT ? first : 0,
                             .lane = holder == LAYOUT_LANE ? first : 0};
        if (ir_affine_at(affine, at) - ir_affine_at(affine, start) != (last ? i - first : 0))
            return false;
    }
    return count % width == 0;
}

/* All slots of a lane hold what one of them does. */
static bool is_alike_in_slots(const ir_value *value) {
    const ir_op *op = value->definer;
    if (value->type.form == IR_FORM_SLOTS && value->type.slots == 1)
        return true;
    for (int i = 0; op != NULL && op->opcode == IR_RENAME && i < op->attributes.slots.count; i++)
        if (op->attributes.slots.items[i] != op->attributes.slots.items[0])
            return false;
    return op != NULL && op->opcode == IR_RENAME;
}

/* Of a vector nothing is known but that it may be the same for all slots of a lane. */
static bool access_has_runs(const ir_op *op, layout_holder holder, int64_t count) {
    const ir_access *access = op->attributes.access;
    for (int i = 0; i < access->rank; i++) {
        int vector = access->index[i].vector;
        if (vector >= 0 && (holder != LAYOUT_SLOT || !is_alike_in_slots(op->operands[vector])))
            return false;
        if (!has_runs(&access->index[i].affine, holder, count, access->width,
                      i == access->rank - 1))
            return false;
    }
    return access->rank > 0;
}

/* Slots in a row of one lane, or lanes in a row, come to neighbouring cells. */
static void rule_access_width(verify_state *state, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    const ir_value *value = op->opcode == IR_STORE ? ir_op_stored(op) : op->results[0];
    int64_t slots = ir_type_slot_count(&value->type);
    if (access->width > 1 && !access_has_runs(op, LAYOUT_SLOT, slots) &&
        !access_has_runs(op, LAYOUT_LANE, ir_module_subgroup_lanes(state->module)))
        verify_report(state, VERIFY_ACCESS_WIDTH, op, "runs of slots, or of lanes, in a row",
                      "%d elements of this access are not neighbours", access->width);
}

static void rule_scratch_width(verify_state *state, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    const ir_value *value = op->opcode == IR_PUT ? ir_op_stored(op) : op->results[0];
    int64_t slots = ir_type_slot_count(&value->type);
    if (access->width > 1 && !access_has_runs(op, LAYOUT_SLOT, slots) &&
        !access_has_runs(op, LAYOUT_LANE, ir_module_subgroup_lanes(state->module)))
        verify_report(state, VERIFY_ACCESS_WIDTH, op, "runs of slots, or of lanes, in a row",
                      "%d cells of this access are not neighbours", access->width);
}

/* The term is a digit of an axis, or a part of one that both borders cut whole. */
static bool is_digit_part(const ir_axis *axis, const ir_term *term) {
    for (int k = 0; k < axis->digits.count; k++) {
        int64_t radix = axis->digits.digits[k].radix;
        int64_t stride = layout_axis_digit_stride(&axis->digits, k);
        if (axis->digits.digits[k].holder != term->holder || stride < 1 ||
            term->divide % stride != 0 || term->divide / stride >= radix ||
            radix % (term->divide / stride) != 0)
            continue;
        int64_t rest = radix / (term->divide / stride);
        if (term->modulus == 0 || (rest % term->modulus == 0 && term->modulus <= rest))
            return true;
    }
    return false;
}

static bool counts_digits(const ir_module *module, const ir_affine *affine, bool programs) {
    for (int i = 0; i < affine->count; i++) {
        bool found = false;
        for (int a = 0; a < module->axis_count && !found; a++)
            found = (programs || !module->axes[a].is_program) &&
                    is_digit_part(&module->axes[a], &affine->terms[i]);
        if (!found)
            return false;
    }
    return true;
}

/* One of the indices that walk along an axis, where any does. */
static bool mask_is_along(const verify_state *state, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    bool walks = false;
    for (int i = 0; i < access->rank; i++) {
        const ir_index *index = &access->index[i];
        if (index->affine.count != 0 && ir_affine_equal(&index->affine, &access->mask_affine))
            return true;
        walks = walks || index->affine.count != 0;
    }
    return !walks && axis_along(state, &access->mask_affine, ir_op_access_slots(op)) != NULL;
}

static void rule_affine_digits(verify_state *state, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    for (int i = 0; i < access->rank; i++) {
        const ir_index *index = &access->index[i];
        if (!counts_digits(state->module, &index->affine, false))
            verify_report(state, VERIFY_AFFINE_DIGITS, op, "digits of an axis, or parts of them",
                          "index %d counts what is no digit", i);
    }
    if (access->mask_kind == IR_MASK_RANGE && !mask_is_along(state, op))
        verify_report(state, VERIFY_AFFINE_DIGITS, op, "the strides of the index",
                      "the mask does not count along the index");
}

static bool fixes_owners(const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->attributes.layout != NULL)
            return true;
        for (int i = 0; i < op->region_count; i++)
            if (fixes_owners(op->regions[i]))
                return true;
    }
    return false;
}

/* The lanes of programs count as an axis here. Where the program fixes owners there are also
 * addresses in scratch and numbers of copies, as in teams of several subgroups. */
static void rule_iota_digits(verify_state *state, const ir_op *op) {
    const ir_module *program = state->module->implements;
    if (!counts_digits(state->module, &op->attributes.affine, true) &&
        (program == NULL || !fixes_owners(&program->body)))
        verify_report(state, VERIFY_AFFINE_DIGITS, op, "digits of an axis, or parts of them",
                      "an iota counts what is no digit");
}

static void check_op(verify_state *state, const ir_op *op) {
    if (!verify_op_is_formed(state, op))
        return;
    if (op->opcode == IR_IOTA && state->module->subgroup == 0)
        rule_iota_digits(state, op);
    if (op->opcode == IR_FOLD || op->opcode == IR_COMBINE)
        rule_collective_form(state, op);
    if (op->opcode == IR_PULL || op->opcode == IR_PUSH)
        rule_private_form(state, op);
    if (op->opcode == IR_WHEN)
        rule_when_effects(state, op);
    if (op->opcode == IR_PUT || op->opcode == IR_GET)
        rule_scratch_width(state, op);
    if (op->opcode == IR_LOAD || op->opcode == IR_STORE) {
        rule_affine_digits(state, op);
        rule_access_width(state, op);
    }
}

/* ---- the grid ---- */
/* Groups of one axis of programs: its programs, spread over its lanes. All groups of a cluster work
 * on one program. */
static bool groups_of(const ir_axis *axis, const int64_t *sizes, int64_t *groups) {
    int64_t programs = 0, lanes = layout_axis_radix(&axis->digits, LAYOUT_LANE) *
                                  layout_axis_radix(&axis->digits, LAYOUT_SUBGROUP);
    if (axis->extent == NULL || lanes < 1 ||
        !layout_extent_evaluate(axis->extent, sizes, &programs))
        return false;
    int64_t walking = layout_axis_radix(&axis->digits, LAYOUT_GROUP);
    *groups = programs / lanes + (programs % lanes != 0);
    if (walking > 0 && *groups > walking) /* each of them walks over several */
        *groups = walking;
    return true;
}

static bool grid_covers(const verify_state *state, const int64_t *sizes) {
    int64_t groups = 0, needed = state->module->cluster > 1 ? state->module->cluster : 1, own = 0;
    for (int i = 0; i < state->module->axis_count; i++)
        if (state->module->axes[i].is_program &&
            (!groups_of(&state->module->axes[i], sizes, &own) ||
             !base_checked_mul(needed, own, &needed)))
            return true;
    return state->module->groups == NULL ||
           !layout_extent_evaluate(state->module->groups, sizes, &groups) || groups == needed;
}

/* More programs than all groups have at once that walk over them. */
static int64_t past_one_walk(const ir_module *module) {
    int64_t most = 1, past = 1;
    for (int i = 0; i < module->axis_count; i++) {
        const layout_axis *digits = &module->axes[i].digits;
        int64_t all = 0;
        if (module->axes[i].is_program && layout_axis_has(digits, LAYOUT_STEP) &&
            base_checked_mul(layout_axis_chunk(digits), layout_axis_radix(digits, LAYOUT_GROUP),
                             &all) &&
            all > most)
            most = all;
    }
    return base_checked_mul(2, most, &past) && base_checked_add(past, 1, &past) ? past : 1;
}

/* Tried at a few sizes. */
static void rule_grid_cover(verify_state *state) {
    static const int64_t choices[] = {1, 8, 33, 2, 64, 7, 0, 257, 31, 5};
    enum { CHOICES = sizeof choices / sizeof choices[0] };
    const layout_extents *extents = &state->module->extents;
    int64_t *sizes = BASE_NEW_ARRAY(state->diagnostics->arena, int64_t, extents->symbol_count + 1);
    bool covers = true;
    for (int round = 0; round <= CHOICES && covers; round++) {
        for (int64_t i = 0; i < extents->symbol_count; i++)
            sizes[i] = extents->symbols[i].known ? extents->symbols[i].value
                       : round == CHOICES        ? past_one_walk(state->module)
                                                 : choices[(round * (2 * i + 1) + i) % CHOICES];
        covers = grid_covers(state, sizes);
    }
    if (!covers)
        verify_report(state, VERIFY_GRID_COVER, NULL,
                      "for each axis of programs as many groups as its lanes need",
                      "the grid has other groups than the programs");
}

void verify_thread(verify_state *state) {
    rule_grid_cover(state);
    verify_walk(state, &state->module->body, check_op);
}
