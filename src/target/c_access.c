/* Loads and stores in C: one vector access per slot where the lanes are neighbours in memory.
 *
 * The address of an element is the sum over dimensions of (base + affine form of lane and slot +
 * vector) * stride; the last stride is 1. What the addresses of a slot look like
 * (`shape`) and which lanes take part (`guard`) choose the function of the prelude:
 *
 *                 all lanes       one condition    the first n             a mask
 *     same        splat(x[i])     c ? .. : fill    load_where              load_where
 *     neighbours  load            c ? .. : fill    load_first              load_where
 *     strided     load_stride     c ? .. : fill    load_stride_first       load_where
 *     scattered   load_at         c ? .. : fill    load_where              load_where
 *
 * and stores likewise, but for the same place and the first n: store_last. Neighbours that all take
 * part are stored past the caches where the policy of the store is `stream`; one thread sees its
 * stores in order all the same, and the entry ends with a fence for the others (c.c).
 *
 * Slots that are neighbours, several of them in every lane, are moved together (c_blocks.c).
 *
 * Lanes that do not take part touch no memory. Where an address may be wild (under a mask) it is
 * computed with wrapping arithmetic, as an index, and becomes a pointer only where it is used. */
#include "target/c_access_internal.h"

#include <string.h>

/* Whether the lanes of a register differ in it. */
static bool moves(const target_c_position *position) {
    return !position->strided || position->stride != 0;
}

/* The part of the address that neither slot nor lane changes; NULL is 0. */
static const char *base_offset(const target_c_access *s, bool wrap) {
    if (s->base != NULL)
        return s->base[0] != '\0' ? s->base : NULL;
    return target_emit_base(s->e, s->op, wrap, s->strides);
}

/* The part that slot and register add: their strides, and with one lane the slot's vectors. */
static const char *slot_offset(const target_c_access *s, bool wrap, int slot) {
    const char *sum = NULL;
    for (int d = 0; d < s->access->rank; d++) {
        const ir_index *index = &s->access->index[d];
        const char *part =
            target_emit_addend(s->e, ir_affine_at(&index->affine, (ir_position){.slot = slot}));
        part = target_emit_sum(s->e, wrap, s->index[d].part, part);
        if (index->vector >= 0 && !s->vector)
            part = target_emit_sum(s->e, wrap, part,
                                   target_emit_name(s->e, s->op->operands[index->vector], slot));
        sum =
            target_emit_sum(s->e, wrap, sum, target_emit_product(s->e, wrap, part, s->strides[d]));
    }
    return sum;
}

const char *target_c_access_offset(const target_c_access *s, bool wrap, int slot) {
    const char *sum = target_emit_sum(s->e, wrap, base_offset(s, wrap), slot_offset(s, wrap, slot));
    return sum != NULL ? sum : "0";
}

/* What one lane adds to the address. */
static const char *lane_stride(const target_c_access *s) {
    const char *sum = NULL;
    for (int d = 0; d < s->access->rank; d++)
        if (s->index[d].strided)
            sum = target_emit_sum(s->e, true, sum,
                                  target_emit_product(s->e, true,
                                                      target_emit_addend(s->e, s->index[d].stride),
                                                      s->strides[d]));
    return sum;
}

static const int64_t *lane_numbers(const target_emitter *e) {
    int64_t *numbers = BASE_NEW_ARRAY(e->arena, int64_t, e->lanes);
    for (int l = 0; l < e->lanes; l++)
        numbers[l] = l;
    return numbers;
}

/* sum + part * stride of a dimension, in vectors. */
static const char *add_vector(const target_c_access *s, const char *sum, const char *part, int d) {
    int lanes = s->e->lanes;
    if (s->strides[d] != NULL)
        part = target_emit_text(s->e, "mul_i64x%d(%s, splat_i64x%d(%s))", lanes, part, lanes,
                                s->strides[d]);
    return target_emit_text(s->e, "add_i64x%d(%s, %s)", lanes, sum, part);
}

/* The addresses of all lanes, as a vector. */
static const char *addresses(const target_c_access *s, int slot) {
    target_emitter *e = s->e;
    int lanes = e->lanes;
    const char *sum =
        target_emit_text(e, "splat_i64x%d(%s)", lanes, target_c_access_offset(s, true, slot));
    const char *stride = lane_stride(s);
    if (stride != NULL) {
        const char *lane = target_c_vector(e, lane_numbers(e), 0);
        if (strcmp(stride, "1") != 0)
            lane =
                target_emit_text(e, "mul_i64x%d(%s, splat_i64x%d(%s))", lanes, lane, lanes, stride);
        sum = target_emit_text(e, "add_i64x%d(%s, %s)", lanes, sum, lane);
    }
    for (int d = 0; d < s->access->rank; d++) {
        const ir_index *index = &s->access->index[d];
        if (!s->index[d].strided) {
            target_c_position apart = s->index[d];
            apart.part = NULL; /* stands in the offset */
            sum = add_vector(s, sum, target_c_position_vector(e, &apart, 0), d);
        }
        if (index->vector >= 0)
            sum = add_vector(s, sum,
                             target_emit_operand(e, s->op->operands[index->vector], slot, true), d);
    }
    return sum;
}

/* ---- guards ---- */

const char *target_c_access_first(const target_c_access *s, int64_t first, bool wrap) {
    const char *number = target_emit_integer(s->e, first);
    if (s->mask.part == NULL)
        return number;
    return first == 0 ? s->mask.part
           : wrap     ? target_emit_text(s->e, "add_i64(%s, %s)", s->mask.part, number)
                      : target_emit_text(s->e, "%s + %s", s->mask.part, number);
}

static target_c_guard guard_of_range(const target_c_access *s, int slot) {
    const ir_access *access = s->access;
    const char *count = target_emit_name(s->e, s->op->operands[access->mask], 0);
    int64_t first = ir_affine_at(&access->mask_affine, (ir_position){.slot = slot});
    if (!s->vector || !moves(&s->mask))
        return (target_c_guard){GUARD_IF, target_emit_text(s->e, "%s > %s", count,
                                                           target_c_access_first(s, first, true))};
    if (s->mask.strided && s->mask.stride == 1 && first >= 0 && s->mask.positive)
        return (target_c_guard){
            GUARD_FIRST,
            target_emit_text(s->e, "left(%s, %s)", count, target_c_access_first(s, first, false))};
    int lanes = s->e->lanes;
    return (target_c_guard){GUARD_LANES,
                            target_emit_text(s->e, "lt_i64x%d(%s, splat_i64x%d(%s))", lanes,
                                             target_c_position_vector(s->e, &s->mask, first), lanes,
                                             count)};
}

static target_c_guard guard_of_mask(const target_c_access *s, int slot) {
    if (s->access->mask_kind == IR_MASK_NONE)
        return (target_c_guard){GUARD_NONE, NULL};
    if (s->access->mask_kind == IR_MASK_RANGE)
        return guard_of_range(s, slot);
    const ir_value *mask = s->op->operands[s->access->mask];
    return (target_c_guard){target_emit_is_vector(s->e, &mask->type) ? GUARD_LANES : GUARD_IF,
                            target_emit_name(s->e, mask, slot)};
}

/* Any guard as a mask of lanes. */
static const char *guard_mask(const target_c_access *s, target_c_guard guard) {
    int lanes = s->e->lanes;
    switch (guard.kind) {
    case GUARD_NONE:
        return target_emit_text(s->e, "splat_i32x%d(-1)", lanes);
    case GUARD_IF:
        return target_emit_text(s->e, "splat_i32x%d(-(%s))", lanes, guard.text);
    case GUARD_FIRST:
        return target_emit_text(s->e, "first_i32x%d(%s)", lanes, guard.text);
    case GUARD_LANES:
        return guard.text;
    }
    return guard.text;
}

/* The guard of a slot: its mask, and inside `when` that mask too. */
static target_c_guard guard_of_slot(const target_c_access *s, int slot) {
    target_c_guard guard = guard_of_mask(s, slot);
    const char *when = s->e->when;
    if (when != NULL && !s->vector)
        return (target_c_guard){GUARD_IF,
                                guard.kind == GUARD_NONE
                                    ? when
                                    : target_emit_text(s->e, "%s && (%s)", when, guard.text)};
    if (when != NULL && guard.kind == GUARD_NONE)
        return (target_c_guard){GUARD_LANES, when};
    if (when != NULL)
        return (target_c_guard){GUARD_LANES,
                                target_emit_text(s->e, "%s & %s", when, guard_mask(s, guard))};
    bool by_count = s->shape == SHAPE_NEIGHBOURS || s->shape == SHAPE_STRIDED;
    if (guard.kind == GUARD_FIRST && !by_count)
        return (target_c_guard){GUARD_LANES, guard_mask(s, guard)};
    return guard;
}

/* ---- what an access looks like ---- */

static target_c_shape shape_of(const target_c_access *s) {
    const ir_access *access = s->access;
    if (!s->vector)
        return SHAPE_SCALAR;
    if (s->scattered)
        return SHAPE_SCATTERED;
    int last = access->rank - 1;
    bool outer_same = true;
    for (int d = 0; d < last; d++)
        outer_same = outer_same && !moves(&s->index[d]);
    if (outer_same && (last < 0 || !moves(&s->index[last])))
        return SHAPE_SAME;
    return outer_same && s->index[last].stride == 1 ? SHAPE_NEIGHBOURS : SHAPE_STRIDED;
}

/* The pointer and strides of a tensor, or of scratch, which is one row. */
static void set_memory(target_c_access *s) {
    const target_emitter *e = s->e;
    const ir_value *memory = s->op->operands[0];
    s->dtype = memory->type.dtype;
    if (memory->type.form == IR_FORM_SCRATCH) {
        s->pointer = target_emit_name(e, memory, 0);
        return;
    }
    const target_parameter *parameter = &e->parameters[ir_module_parameter_of(e->module, memory)];
    s->pointer = parameter->name;
    for (int d = 0; d + 1 < s->access->rank; d++)
        s->strides[d] = parameter->strides[d];
}

static target_c_access access_begin(target_emitter *e, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    target_c_access s = {.e = e, .op = op, .access = access};
    bool lanes_differ = e->when != NULL;
    set_memory(&s);
    s.mask = target_c_position_of(e, &access->mask_affine);
    for (int d = 0; d < access->rank; d++) {
        s.index[d] = target_c_position_of(e, &access->index[d].affine);
        s.scattered = s.scattered || access->index[d].vector >= 0 || !s.index[d].strided;
        lanes_differ = lanes_differ || moves(&s.index[d]);
    }
    const ir_value *stored = ir_op_stored(op);
    s.slots = ir_op_access_slots(op);
    if (stored == NULL)
        s.vector = target_emit_is_vector(e, &op->results[0]->type);
    else
        s.vector = e->dialect->vectors(e) && (lanes_differ || s.slots > 1 || s.scattered ||
                                              stored->type.form == IR_FORM_SLOTS);
    s.shape = shape_of(&s);
    s.type = e->dialect->type(e, target_c_memory_dtype(s.dtype), s.vector);
    return s;
}

/* With several slots the common part of the address becomes a pointer, or under a mask an index, of
 * its own. Scatters, and stores of one address, use the whole address of each lane. */
static void hoist_base(target_c_access *s, const char *wanted, bool writes) {
    bool masked = s->access->mask_kind != IR_MASK_NONE || s->e->when != NULL;
    const char *base = base_offset(s, masked);
    if (s->slots < 2 || s->shape == SHAPE_SCATTERED || (writes && s->shape == SHAPE_SAME) ||
        base == NULL || target_emit_is_word(base))
        return;
    target_emitter *e = s->e;
    const char *name = target_emit_fresh(e, target_emit_text(e, "%.32s_at", wanted));
    if (masked) {
        target_emit_outside(e, "const i64 %s = %s;", name, base);
        s->base = name;
        return;
    }
    const char *element = e->dialect->type(e, target_c_memory_dtype(s->dtype), false);
    target_emit_outside(e, "%s%s *const %s = %s + %s;", writes ? "" : "const ", element, name,
                        s->pointer, base);
    s->pointer = name;
    s->base = "";
}

const char *target_c_access_place(const target_c_access *s, int slot) {
    const char *rest =
        target_emit_sum(s->e, false, base_offset(s, false), slot_offset(s, false, slot));
    return rest == NULL ? s->pointer : target_emit_text(s->e, "%s + %s", s->pointer, rest);
}

static const char *element(const target_c_access *s, int slot) {
    const char *where = target_c_access_place(s, slot);
    if (where == s->pointer)
        return target_emit_text(s->e, "*%s", where);
    return target_emit_text(s->e, "%s[%s]", s->pointer, where + strlen(s->pointer) + 3);
}

/* ---- loads ---- */

/* All lanes of one slot. */
static const char *load_all(const target_c_access *s, int slot) {
    target_emitter *e = s->e;
    switch (s->shape) {
    case SHAPE_SCALAR:
        return element(s, slot);
    case SHAPE_SAME:
        return target_emit_text(e, "splat_%s(%s)", s->type, element(s, slot));
    case SHAPE_NEIGHBOURS:
        return target_emit_text(e, "load_%s(%s)", s->type, target_c_access_place(s, slot));
    case SHAPE_STRIDED:
        return target_emit_text(e, "load_stride_%s(%s, %s)", s->type,
                                target_c_access_place(s, slot), lane_stride(s));
    case SHAPE_SCATTERED:
        return target_emit_text(e, "load_at_%s(%s, %s)", s->type, s->pointer, addresses(s, slot));
    }
    return NULL;
}

const char *target_c_access_fill(const target_c_access *s, int slot) {
    target_emitter *e = s->e;
    if (s->access->fill < 0) {
        const char *zero = s->dtype == BASE_F32 ? "0.0f" : "0";
        return s->vector ? target_emit_text(e, "splat_%s(%s)", s->type, zero) : zero;
    }
    const char *fill = target_emit_operand(e, s->op->operands[s->access->fill], slot, s->vector);
    return target_c_to_memory(e, s->dtype, s->vector, fill);
}

static const char *load_slot(const target_c_access *s, int slot) {
    target_emitter *e = s->e;
    target_c_guard guard = guard_of_slot(s, slot);
    if (guard.kind == GUARD_NONE)
        return load_all(s, slot);
    const char *fill = target_c_access_fill(s, slot);
    if (guard.kind == GUARD_IF)
        return target_emit_text(e, "(%s ? %s : %s)", guard.text, load_all(s, slot), fill);
    if (guard.kind == GUARD_LANES)
        return target_emit_text(e, "load_where_%s(%s, %s, %s, %s)", s->type, s->pointer,
                                addresses(s, slot), guard.text, fill);
    if (s->shape == SHAPE_NEIGHBOURS)
        return target_emit_text(e, "load_first_%s(%s, %s, %s, %s)", s->type, s->pointer,
                                target_c_access_offset(s, true, slot), guard.text, fill);
    return target_emit_text(e, "load_stride_first_%s(%s, %s, %s, %s, %s)", s->type, s->pointer,
                            target_c_access_offset(s, true, slot), lane_stride(s), guard.text,
                            fill);
}

void target_c_load(target_emitter *emitter, const ir_op *op) {
    const ir_value *result = op->results[0];
    target_c_access s = access_begin(emitter, op);
    target_emit_take_names(emitter, result, s.pointer);
    hoist_base(&s, result->name != NULL ? result->name : s.pointer, false);
    target_c_prefetch(&s);
    int block = target_c_block_slots(&s);
    for (int slot = 0; block > 0 && slot < s.slots; slot += block)
        target_c_block_load(&s, slot, block);
    for (int slot = 0; block == 0 && slot < s.slots; slot++)
        target_emit_define(emitter, result, slot,
                           target_c_from_memory(emitter, s.dtype, s.vector, load_slot(&s, slot)));
}

/* ---- stores ---- */

static const char *store_all(const target_c_access *s, int slot, const char *value) {
    target_emitter *e = s->e;
    switch (s->shape) {
    case SHAPE_SCALAR:
        return target_emit_text(e, "%s = %s;", element(s, slot), value);
    case SHAPE_NEIGHBOURS:
        return target_emit_text(e, "%s_%s(%s, %s);", s->streams ? "stream" : "store", s->type,
                                target_c_access_place(s, slot), value);
    case SHAPE_STRIDED:
        return target_emit_text(e, "store_stride_%s(%s, %s, %s);", s->type,
                                target_c_access_place(s, slot), lane_stride(s), value);
    case SHAPE_SAME:
    case SHAPE_SCATTERED:
        return target_emit_text(e, "store_at_%s(%s, %s, %s);", s->type, s->pointer,
                                addresses(s, slot), value);
    }
    return NULL;
}

static const char *store_slot(const target_c_access *s, int slot, const char *value) {
    target_emitter *e = s->e;
    target_c_guard guard = guard_of_mask(s, slot);
    if (guard.kind == GUARD_FIRST && s->shape == SHAPE_SAME && s->e->when == NULL)
        return target_emit_text(e, "store_last_%s(%s, %s, %s, %s);", s->type, s->pointer,
                                target_c_access_offset(s, true, slot), guard.text, value);
    guard = guard_of_slot(s, slot);
    if (guard.kind == GUARD_NONE)
        return store_all(s, slot, value);
    if (guard.kind == GUARD_IF)
        return target_emit_text(e, "if (%s) %s", guard.text, store_all(s, slot, value));
    if (guard.kind == GUARD_LANES)
        return target_emit_text(e, "store_where_%s(%s, %s, %s, %s);", s->type, s->pointer,
                                addresses(s, slot), guard.text, value);
    if (s->shape == SHAPE_NEIGHBOURS)
        return target_emit_text(e, "store_first_%s(%s, %s, %s, %s);", s->type, s->pointer,
                                target_c_access_offset(s, true, slot), guard.text, value);
    return target_emit_text(e, "store_stride_first_%s(%s, %s, %s, %s, %s);", s->type, s->pointer,
                            target_c_access_offset(s, true, slot), lane_stride(s), guard.text,
                            value);
}

/* Whole registers of neighbours. */
static bool goes_past_caches(const target_c_access *s) {
    const ir_op *owner = s->op->parent->owner;
    bool guarded =
        s->access->mask_kind != IR_MASK_NONE || (owner != NULL && owner->opcode == IR_WHEN);
    return s->op->opcode == IR_STORE && s->access->policy == IR_POLICY_STREAM && !guarded &&
           (s->shape == SHAPE_NEIGHBOURS || target_c_block_slots(s) > 0);
}

bool target_c_streams(target_emitter *emitter, const ir_op *op) {
    target_c_access s = access_begin(emitter, op);
    return goes_past_caches(&s);
}

void target_c_store(target_emitter *emitter, const ir_op *op) {
    target_c_access s = access_begin(emitter, op);
    const ir_value *value = ir_op_stored(op);
    hoist_base(&s, s.pointer, true);
    int block = target_c_block_slots(&s);
    s.streams = goes_past_caches(&s);
    emitter->streams = emitter->streams || s.streams;
    for (int slot = 0; block > 0 && slot < s.slots; slot += block)
        target_c_block_store(&s, slot, block);
    for (int slot = 0; block == 0 && slot < s.slots; slot++) {
        const char *operand = target_emit_operand(emitter, value, slot, s.vector);
        operand = target_c_to_memory(emitter, s.dtype, s.vector, operand);
        target_emit_line(emitter, "%s", store_slot(&s, slot, operand));
    }
}
