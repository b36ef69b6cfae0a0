/* Expansion of loads and stores: tile indices become affine indices of lane and slot, with a mask.
 *
 *     load %x[%row, :]               at step %c of N (lane 8 | slot 4 | step *)
 *     load %x[%row, %c*32 + lane + slot*8] width 8        a full step
 *     ... mask range(%count; 1, 8)                        the guarded step
 *
 * An index that is not proved inside its tensor is compared with the extent, and joins the mask.
 * Lanes without a program of their own stand at the last one: what its lane stores they do not
 * load.
 */
#include "pass/expand_internal.h"

typedef struct access_parts {
    ir_access access;
    ir_value *operands[3 + 2 * IR_MAX_RANK];
    int count;
    ir_value *bits; /* mask found so far; NULL: none */
    bool vector;    /* some index differs between lanes or slots */
    int slots;      /* the most of an operand or form */
} access_parts;

static int parts_add(access_parts *parts, ir_value *value) {
    if (value->type.form == IR_FORM_SLOTS && value->type.slots > parts->slots)
        parts->slots = value->type.slots;
    parts->operands[parts->count] = value;
    return parts->count++;
}

static void parts_reach(access_parts *parts, int slots) {
    parts->slots = slots > parts->slots ? slots : parts->slots;
}

static void parts_mask(expand_state *state, access_parts *parts, ir_value *bits) {
    ir_value *both[2] = {parts->bits, bits};
    if (parts->bits != NULL)
        expand_level(state, both, 2);
    parts->bits =
        parts->bits == NULL ? bits : ir_build_binary(&state->builder, IR_AND, both[0], both[1]);
}

/* An index value as base (uniform) or vector. */
static void parts_set_index(access_parts *parts, ir_index *index, ir_value *value) {
    if (value->type.form == IR_FORM_UNIFORM) {
        index->operand = parts_add(parts, value);
    } else {
        index->vector = parts_add(parts, value);
        parts->vector = true;
    }
}

/* POINT and GATHER: a value per element, checked unless it was proved inside. */
static void access_add_value(expand_state *state, access_parts *parts, ir_index *index,
                             ir_value *value, bool inside, const layout_extent *extent) {
    ir_builder *b = &state->builder;
    if (value->type.dtype != BASE_I64)
        value = ir_build_cast(b, value, BASE_I64, IR_ROUND_ZERO);
    parts_set_index(parts, index, value);
    if (inside)
        return;
    ir_value *zero = ir_build_integer(b, BASE_I64, 0);
    parts_mask(state, parts, ir_build_binary(b, IR_LE, zero, value));
    parts_mask(state, parts, ir_build_binary(b, IR_LT, value, ir_build_size(b, extent)));
}

/* GATHER in closed form: a base and an affine form. */
static void access_add_closed(expand_state *state, const expand_place *place, access_parts *parts,
                              ir_index *index, ir_value *base, const layout_extent *extent) {
    ir_builder *b = &state->builder;
    if (base != NULL)
        index->operand = parts_add(parts, base);
    parts->vector |= index->affine.count > 0;
    if (index->affine.count > 0)
        parts_reach(parts, state->axis[place->spread].slots);
    if (index->inside)
        return;
    ir_value *zero = ir_build_integer(b, BASE_I64, 0), *value = base != NULL ? base : zero;
    if (index->affine.count > 0) {
        ir_value *element = expand_iota(state, &index->affine, state->axis[place->spread].slots);
        value = base != NULL ? ir_build_binary(b, IR_ADD, base, element) : element;
    }
    parts_mask(state, parts, ir_build_binary(b, IR_LE, zero, value));
    parts_mask(state, parts, ir_build_binary(b, IR_LT, value, ir_build_size(b, extent)));
}

/* RANGE: start + step * chunk, affine in lane and slot on the vector axis. */
static void access_add_range(expand_state *state, expand_place *place, access_parts *parts,
                             ir_index *index, ir_value *start, int axis) {
    ir_builder *b = &state->builder;
    ir_value *base = NULL;
    if (axis >= 0) {
        const expand_axis *held = &state->axis[axis];
        base = held->spread ? expand_axis_base(state, place, axis) : place->step[axis];
        if (held->spread) {
            index->affine = held->affine;
            parts_reach(parts, held->slots);
        }
        parts->vector |= held->spread;
    }
    if (start != NULL && start->type.form != IR_FORM_UNIFORM) {
        index->vector = parts_add(parts, start);
        parts->vector = true;
    } else if (start != NULL) {
        base = base == NULL ? start : ir_build_binary(b, IR_ADD, base, start);
    }
    if (base != NULL)
        index->operand = parts_add(parts, base);
}

/* The axis's own index stands in some dimension, or none of them moves but by a vector. */
static bool counts_along(const access_parts *parts, const ir_affine *affine) {
    bool moves = false;
    for (int i = 0; i < parts->access.rank; i++) {
        const ir_affine *index = &parts->access.index[i].affine;
        if (index->count > 0 && ir_affine_equal(index, affine))
            return true;
        moves = moves || index->count > 0;
    }
    return !moves;
}

/* The mask of the tile's domain: a range when only the guarded step limits it, and an index counts
 * along, else bits. */
static void access_add_domain(expand_state *state, expand_place *place, access_parts *parts,
                              const ir_value *tile) {
    if (place == NULL)
        return;
    ir_value *bits = expand_inside_domains(state, place, tile);
    if (bits != NULL)
        parts_mask(state, parts, bits);
    if (!expand_is_guarded(place, tile))
        return;
    const expand_axis *held = &state->axis[place->spread];
    if (parts->bits != NULL || place->first != NULL || held->constant != 0 ||
        !counts_along(parts, &held->affine)) {
        parts_mask(state, parts, expand_count_bits(state, place));
        return;
    }
    parts->access.mask_kind = IR_MASK_RANGE;
    parts->access.mask = parts_add(parts, place->count);
    parts->access.mask_affine = held->affine;
    parts_reach(parts, held->slots);
    parts->vector = true; /* though all elements may be read at one place */
}

/* Of the lanes that own one element, or that have what a program stores once, one stores it. */
static void access_add_copies(expand_state *state, const expand_place *place, const ir_value *tile,
                              access_parts *parts) {
    int spread = place != NULL ? place->spread : -1;
    ir_value *stores = expand_cluster_first(state, tile);
    if (stores != NULL)
        parts_mask(state, parts, stores);
    if (!(spread >= 0 ? parts->vector : state->packed))
        return;
    ir_value *first = expand_first_copy(state, spread);
    if (first != NULL)
        parts_mask(state, parts,
                   spread < 0 ? first : expand_splat_lane(state, first, state->axis[spread].slots));
}

static bool is_stored_to(const ir_module *module, const ir_value *tensor) {
    for (int i = 0; i < module->parameter_count; i++)
        if (module->parameters[i].value == tensor)
            return module->parameters[i].mode != IR_IN;
    return false;
}

/* Indices and mask of an access; `tile` is what is read or written. */
static void access_build(expand_state *state, expand_place *place, ir_op *op, ir_value *tile,
                         access_parts *parts) {
    const ir_access *from = op->attributes.access;
    const ir_type *tensor = &op->operands[0]->type;
    *parts = (access_parts){.access = *from};
    parts->access.fill = parts->access.mask = -1;
    parts_add(parts, op->operands[0]);
    int dimension = 0;
    for (int i = 0; i < from->rank; i++) {
        const ir_index *old = &from->index[i];
        ir_index *index = &parts->access.index[i];
        *index =
            (ir_index){.kind = IR_INDEX_AFFINE, .operand = -1, .vector = -1, .inside = old->inside};
        ir_value *base = NULL;
        if (old->kind == IR_INDEX_GATHER &&
            expand_closed_index(state, place, op, op->operands[old->operand], &base,
                                &index->affine)) {
            access_add_closed(state, place, parts, index, base, tensor->extent[i]);
            continue;
        }
        ir_value *value =
            old->operand >= 0 ? expand_use(state, place, op->operands[old->operand]) : NULL;
        if (old->kind == IR_INDEX_RANGE)
            access_add_range(state, place, parts, index, value, tile->layout.axis[dimension++]);
        else
            access_add_value(state, parts, index, value, old->inside, tensor->extent[i]);
    }
    if (op->opcode == IR_STORE)
        access_add_copies(state, place, tile, parts);
    if (op->opcode == IR_LOAD && state->active != NULL &&
        is_stored_to(state->module, op->operands[0]))
        parts_mask(state, parts, state->active);
    access_add_domain(state, place, parts, tile);
    if (parts->bits != NULL) {
        parts->access.mask_kind = IR_MASK_BITS;
        parts->access.mask = parts_add(parts, parts->bits);
        parts->vector |= parts->bits->type.form == IR_FORM_SLOTS;
    }
}

/* Runs of `width` slots come to neighbours by the forms alone. */
static bool counts_on(const ir_access *access, int slots) {
    for (int d = 0; d < access->rank; d++)
        for (int slot = 0; slot < slots; slot++) {
            ir_position here = {.slot = slot}, first = {.slot = slot - slot % access->width};
            if (ir_affine_at(&access->index[d].affine, here) -
                    ir_affine_at(&access->index[d].affine, first) !=
                (d + 1 == access->rank ? slot % access->width : 0))
                return false;
        }
    return slots % access->width == 0;
}

/* Indices, mask and fill of one lane are those of all its slots. Nothing is known of the neighbours
 * of an index that differs from slot to slot. */
static ir_access *access_finish(expand_state *state, const expand_place *place, access_parts *parts,
                                int slots) {
    ir_access *access = BASE_NEW(state->module->arena, ir_access);
    *access = parts->access;
    bool differs = slots == 0, vector = false;
    for (int i = 0; i < access->rank; i++) {
        int operand = access->index[i].vector;
        vector = vector || operand >= 0;
        differs = differs || (operand >= 0 && parts->operands[operand]->type.slots > 1);
    }
    if (access->mask_kind != IR_MASK_NONE)
        access->prefetch = 0; /* the row's end alone is not worth it */
    if (access->width > 1 && (differs || (vector && !counts_on(access, slots))))
        access->width = 1;
    if (place != NULL)
        expand_piece_width(state, place->spread, access, slots);
    for (int i = 1; i < parts->count; i++)
        if (parts->operands[i]->type.form == IR_FORM_SLOTS)
            parts->operands[i] = expand_splat(state, parts->operands[i], slots);
    return access;
}

void expand_load(expand_state *state, expand_place *place, ir_op *op) {
    access_parts parts;
    access_build(state, place, op, op->results[0], &parts);
    const ir_access *from = op->attributes.access;
    if (from->fill >= 0 && parts.access.mask_kind != IR_MASK_NONE)
        parts.access.fill = parts_add(&parts, expand_use(state, place, op->operands[from->fill]));
    parts.vector = parts.vector || parts.slots > 0;
    int slots = parts.vector ? parts.slots : 0;
    ir_access *access = access_finish(state, place, &parts, slots);
    base_dtype dtype = op->results[0]->type.dtype;
    ir_type type = slots > 0 ? ir_type_slots(dtype, slots) : ir_type_uniform(dtype);
    ir_op *load = ir_build_op(&state->builder, IR_LOAD, parts.count, parts.operands, 1, &type, 0);
    load->attributes.access = access;
    state->value[op->results[0]->number] = load->results[0];
}

void expand_store(expand_state *state, expand_place *place, ir_op *op) {
    ir_builder *b = &state->builder;
    ir_value *tile = op->operands[op->operand_count - 1];
    access_parts parts;
    access_build(state, place, op, tile, &parts);
    ir_value *value = expand_use(state, place, tile);
    if (value->type.form == IR_FORM_SLOTS)
        parts_reach(&parts, value->type.slots);
    int slots = parts.vector || value->type.form == IR_FORM_SLOTS ? parts.slots : 0;
    parts_add(&parts, expand_splat(state, value, slots));
    ir_access *access = access_finish(state, place, &parts, slots);
    ir_region *outer = b->region;
    if (state->active != NULL) {
        ir_op *when = ir_build_op(b, IR_WHEN, 1, &state->active, 0, NULL, 1);
        b->region = when->regions[0];
    }
    ir_op *store = ir_build_op(b, IR_STORE, parts.count, parts.operands, 0, NULL, 0);
    store->attributes.access = access;
    b->region = outer;
}
