/* Expansion of conversions: a tile from the slots of its owners to those of its new ones.
 *
 *     by=forward   the same value
 *     by=rename    rename: other slots of the same lane
 *     by=shuffle   xorslot; rename; shuffle; xorslot, of which those that do nothing are left out
 *     by=scratch   put %s[address of what the lane owned]; sync; get %s[address of what it owns]
 *
 * Bit layouts stand in scratch as layout/conversion.h swizzles them: an address is an exclusive or
 * of affine forms, most often of one or two. Other layouts stand there in the order of the tile.
 * All lanes take part, whatever their elements are worth; copies do not put.
 */
#include "pass/expand_internal.h"

static ir_list list_of(expand_state *state, int count) {
    return (ir_list){.count = count, .items = BASE_NEW_ARRAY(state->module->arena, int64_t, count)};
}

static void set(ir_list *list, int at, int64_t item) {
    ((int64_t *)list->items)[at] = item;
}

static ir_op *build_moved(expand_state *state, ir_opcode opcode, ir_value *value, int slots) {
    ir_type type = ir_type_slots(value->type.dtype, slots);
    return ir_build_op(&state->builder, opcode, 1, &value, 1, &type, 0);
}

/* ---- inside subgroups ---- */
static ir_value *build_xorslot(expand_state *state, const layout_shuffle *shuffle,
                               const uint32_t *columns, ir_value *value) {
    ir_list lanes = list_of(state, shuffle->lane_bits);
    uint32_t any = 0;
    for (int bit = 0; bit < shuffle->lane_bits; bit++) {
        set(&lanes, bit, columns[bit]);
        any |= columns[bit];
    }
    if (any == 0)
        return value;
    ir_op *op = build_moved(state, IR_XORSLOT, value, value->type.slots);
    op->attributes.lanes = lanes;
    return op->results[0];
}

static ir_value *build_rename(expand_state *state, const layout_conversion *conversion, int count,
                              ir_value *value) {
    bool same = count == value->type.slots;
    ir_list slots = list_of(state, count);
    for (int s = 0; s < count; s++) {
        int64_t from = conversion->linear
                           ? (int64_t)layout_shuffle_rename(&conversion->shuffle, (uint32_t)s)
                           : conversion->renames[s];
        set(&slots, s, from);
        same = same && from == s;
    }
    if (same)
        return value;
    ir_op *op = build_moved(state, IR_RENAME, value, count);
    op->attributes.slots = slots;
    return op->results[0];
}

static ir_value *build_shuffle(expand_state *state, const layout_shuffle *shuffle,
                               ir_value *value) {
    int count = 1 << shuffle->slot_bits;
    uint32_t moved = 0, below = (1u << shuffle->lane_bits) - 1;
    ir_list lanes = list_of(state, shuffle->lane_bits), offsets = list_of(state, count);
    for (int bit = 0; bit < shuffle->lane_bits; bit++) {
        set(&lanes, bit, shuffle->linear[bit] & below);
        moved |= shuffle->linear[bit] ^ 1u << bit;
    }
    for (int s = 0; s < count; s++) {
        uint32_t offset = layout_shuffle_offset(shuffle, (uint32_t)s) & below;
        set(&offsets, s, offset);
        moved |= offset;
    }
    if (moved == 0)
        return value;
    ir_op *op = build_moved(state, IR_SHUFFLE, value, count);
    op->attributes.lanes = lanes;
    op->attributes.slots = offsets;
    return op->results[0];
}

static ir_value *convert_inside(expand_state *state, const layout_conversion *conversion, int slots,
                                ir_value *value) {
    const layout_shuffle *shuffle = &conversion->shuffle;
    if (!conversion->linear)
        return build_rename(state, conversion, slots, value);
    value = build_xorslot(state, shuffle, shuffle->before, value);
    value = build_rename(state, conversion, 1 << shuffle->slot_bits, value);
    value = build_shuffle(state, shuffle, value);
    return build_xorslot(state, shuffle, shuffle->after, value);
}

/* ---- addresses in scratch ---- */
enum { MOST_FORMS = LAYOUT_MAX_BITS };

/* Affine forms whose exclusive or is the address; those of one form share no bit. */
typedef struct address_forms {
    ir_affine form[MOST_FORMS];
    uint32_t used[MOST_FORMS];
    int count;
} address_forms;

static void add_form(address_forms *forms, ir_term term, uint32_t bits) {
    int at = 0;
    while (at < forms->count &&
           ((forms->used[at] & bits) != 0 || forms->form[at].count == IR_MAX_TERMS))
        at++;
    forms->count = at == forms->count ? at + 1 : forms->count;
    forms->used[at] |= bits;
    ir_affine_add(&forms->form[at], term);
}

/* The bits [first, end) of a holder's number. */
static void add_holder(address_forms *forms, const layout_swizzle *swizzle, const layout_bits *bits,
                       layout_holder holder, int first, int end) {
    for (int bit = first; bit < end;) {
        uint32_t column = layout_swizzle_address(swizzle, bits->column[bit]), all = column;
        int run = 1;
        while (bit + run < end && column != 0 &&
               layout_swizzle_address(swizzle, bits->column[bit + run]) == column << run &&
               (all & column << run) == 0)
            all |= column << run++;
        if (column != 0)
            add_form(forms,
                     (ir_term){.holder = holder,
                               .divide = (int64_t)1 << (bit - first),
                               .modulus = bit + run == end ? 0 : (int64_t)1 << run,
                               .stride = column},
                     all);
        bit += run;
    }
}

static ir_value *swizzled(expand_state *state, const layout_swizzle *swizzle,
                          const layout_bits *bits) {
    ir_builder *b = &state->builder;
    address_forms forms = {.count = 0};
    int subgroups = bits->lane_bits + bits->subgroup_bits, slots = layout_bits_threads(bits);
    add_holder(&forms, swizzle, bits, LAYOUT_LANE, 0, bits->lane_bits);
    add_holder(&forms, swizzle, bits, LAYOUT_SUBGROUP, bits->lane_bits, subgroups);
    add_holder(&forms, swizzle, bits, LAYOUT_SLOT, slots, slots + bits->slot_bits);
    uint32_t constant = layout_swizzle_address(swizzle, bits->constant);
    ir_value *address = expand_iota(state, &forms.form[0], 1 << bits->slot_bits);
    for (int i = 1; i < forms.count; i++)
        address = ir_build_binary(b, IR_XOR, address,
                                  expand_iota(state, &forms.form[i], 1 << bits->slot_bits));
    if (constant != 0)
        address = ir_build_binary(b, IR_XOR, address, ir_build_integer(b, BASE_I64, constant));
    return address;
}

/* ---- the op ---- */
static bool find_conversion(expand_state *state, const ir_op *op, layout_conversion *conversion) {
    const ir_module *module = state->module;
    const ir_axis *from = &module->axes[op->operands[0]->layout.axis[0]];
    const ir_axis *to = &module->axes[op->results[0]->layout.axis[0]];
    layout_fault fault;
    int64_t size = 0;
    layout_extent_known(&module->extents, to->extent, &size);
    return layout_convert_axes(module->arena, &from->digits, &to->digits, size,
                               ir_module_subgroup_lanes(module), ir_module_subgroups(module),
                               conversion, &fault);
}

int64_t expand_convert_cells(expand_state *state, const ir_op *op) {
    layout_conversion conversion;
    int from = op->operands[0]->layout.axis[0], to = op->results[0]->layout.axis[0];
    if (op->attributes.mechanism != LAYOUT_SCRATCH || from < 0 || to < 0 ||
        !find_conversion(state, op, &conversion))
        return 0;
    int64_t size = 0;
    if (conversion.linear)
        return (int64_t)1 << conversion.swizzle.index_bits;
    layout_extent_known(&state->module->extents, state->module->axes[to].extent, &size);
    return size;
}

/* Elements of the tile, where the box is larger. */
static ir_value *inside_tile(expand_state *state, int axis, ir_value *element) {
    int64_t size = 0;
    layout_extent_known(&state->module->extents, state->module->axes[axis].extent, &size);
    if (size == state->axis[axis].chunk)
        return NULL;
    return ir_build_binary(&state->builder, IR_LT, element,
                           ir_build_integer(&state->builder, BASE_I64, size));
}

static ir_value *convert_through(expand_state *state, const ir_op *op,
                                 const layout_conversion *conversion, ir_value *value) {
    int from = op->operands[0]->layout.axis[0], to = op->results[0]->layout.axis[0];
    expand_exchange exchange = {.user = op, .value = value, .slots = state->axis[to].slots};
    if (conversion->linear) {
        exchange.put = swizzled(state, &conversion->swizzle, &conversion->source);
        exchange.get = swizzled(state, &conversion->swizzle, &conversion->destination);
    } else {
        exchange.put = expand_element(state, from);
        exchange.get = expand_element(state, to);
        exchange.put_inside = inside_tile(state, from, exchange.put);
        exchange.get_inside = inside_tile(state, to, exchange.get);
    }
    ir_value *first = expand_first_copy(state, from);
    if (first != NULL)
        first = expand_splat_lane(state, first, exchange.put->type.slots);
    if (first != NULL && exchange.put_inside != NULL)
        first = ir_build_binary(&state->builder, IR_AND, exchange.put_inside, first);
    exchange.put_inside = first != NULL ? first : exchange.put_inside;
    return expand_scratch_exchange(state, &exchange);
}

void expand_convert(expand_state *state, ir_op *op) {
    state->builder.location = op->location;
    ir_value *value = state->value[op->operands[0]->number];
    int from = op->operands[0]->layout.axis[0], to = op->results[0]->layout.axis[0];
    layout_conversion conversion;
    if (state->array[op->operands[0]->number] != NULL ||
        state->array[op->results[0]->number] != NULL) {
        expand_fail(state, op, "convert-steps", "a converted tile lies in steps, not in slots");
        return;
    }
    layout_class by = from < 0 || to < 0 ? LAYOUT_FORWARD : op->attributes.mechanism;
    if (by != LAYOUT_FORWARD && !find_conversion(state, op, &conversion)) {
        expand_fail(state, op, "convert-layouts", "the layouts cannot be converted");
        return;
    }
    value = from >= 0 ? expand_splat(state, value, state->axis[from].slots) : value;
    if (by == LAYOUT_RENAME || by == LAYOUT_SHUFFLE)
        value = convert_inside(state, &conversion, state->axis[to].slots, value);
    else if (by != LAYOUT_FORWARD)
        value = convert_through(state, op, &conversion, value);
    if (value->name == NULL)
        value->name = op->results[0]->name;
    state->value[op->results[0]->number] = value;
}
