/* Loads, stores, puts and gets by threads: each addresses its own elements.
 *
 *     %t = load %x[%row, lane*1 + slot*32] mask=lane*1 + slot*32 < %n : f32(2)
 *
 *     const i64 x_at = mul_i64(row, x_stride0);          what all threads have, in 64 bits
 *     const i32 t_end = clamp_i32(n, 0, 64);             a count, as far as positions reach
 *     const f32 t_0 = thread < t_end ? x[x_at + thread] : 0.0f;
 *     const f32 t_1 = thread + 32 < t_end ? x[x_at + thread + 32] : 0.0f;
 *
 * An address is base + lane + slot, in this order: the base has 64 bits, what a lane adds 32 where
 * all its values fit (gpu_numbers.c). Under a mask an address may be wild: the base is computed
 * with arithmetic that wraps, and the element is only named where the mask holds.
 *
 * What all threads store alike to one place is written by the first, unless some load may read it
 * back without a synchronisation. Neighbours that move together are in gpu_packs.c. */
#include "target/gpu_internal.h"

#include <string.h>

/* ---- the parts of an address ---- */

bool target_gpu_vector_is_alike(const target_gpu_access *access, int dimension) {
    int operand = access->access->index[dimension].vector;
    return operand >= 0 && ir_value_repeats(access->op->operands[operand]);
}

/* What all slots of a thread add: the row of its own program, say. */
static const char *vector_of_lane(const target_gpu_access *s, int d) {
    return target_gpu_vector_is_alike(s, d)
               ? target_emit_name(s->e, s->op->operands[s->access->index[d].vector], 0)
               : NULL;
}

static const char *lane_of(const target_gpu_access *s) {
    const char *sum = NULL;
    for (int d = 0; d < s->access->rank; d++) {
        const char *part = target_emit_sum(s->e, s->wild, vector_of_lane(s, d), s->lanes[d].name);
        sum = target_emit_sum(s->e, s->wild, sum,
                              target_emit_product(s->e, s->wild, part, s->strides[d]));
    }
    return sum;
}

static const char *slot_of(const target_gpu_access *s, int slot) {
    const char *sum = NULL;
    for (int d = 0; d < s->access->rank; d++) {
        const ir_index *index = &s->access->index[d];
        const char *part =
            target_emit_addend(s->e, ir_affine_at(&index->affine, (ir_position){.slot = slot}));
        if (index->vector >= 0 && !target_gpu_vector_is_alike(s, d))
            part = target_emit_sum(
                s->e, s->wild, target_emit_name(s->e, s->op->operands[index->vector], slot), part);
        sum = target_emit_sum(s->e, s->wild, sum,
                              target_emit_product(s->e, s->wild, part, s->strides[d]));
    }
    return sum;
}

/* A sum that several slots use is a variable. */
static const char *hoist(target_gpu_access *s, const char *sum, const char *wanted) {
    if (s->slots < 2 || sum == NULL || target_emit_is_word(sum))
        return sum;
    const char *name =
        target_emit_fresh(s->e, target_emit_text(s->e, "%.32s_%s", s->pointer, wanted));
    target_emit_line(s->e, "const i64 %s = %s;", name, sum);
    return name;
}

const char *target_gpu_offset(const target_gpu_access *access, int slot) {
    const target_gpu_access *s = access;
    const char *sum = target_emit_sum(s->e, false, target_emit_sum(s->e, false, s->base, s->lane),
                                      slot_of(s, slot));
    return sum != NULL ? sum : "0";
}

const char *target_gpu_element(const target_gpu_access *access, int slot) {
    return target_emit_text(access->e, "%s[%s]", access->pointer, target_gpu_offset(access, slot));
}

/* ---- guards ---- */

/* The count of a range mask within the reach of the positions, where 32 bits hold that. */
static void set_limit(target_gpu_access *s) {
    const ir_access *access = s->access;
    s->mask = target_gpu_position_of(s->e, &access->mask_affine);
    if (access->mask_kind != IR_MASK_RANGE || s->mask.name == NULL || s->mask.wide)
        return;
    int64_t least = 0, greatest = 0;
    for (int slot = 0; slot < s->slots; slot++) {
        int64_t first = ir_affine_at(&access->mask_affine, (ir_position){.slot = slot});
        if (first < INT32_MIN || first > INT32_MAX)
            return;
        least = slot == 0 || first < least ? first : least;
        greatest = slot == 0 || first > greatest ? first : greatest;
    }
    least += s->mask.least;
    greatest += s->mask.greatest;
    if (least < INT32_MIN || greatest >= INT32_MAX)
        return;
    int64_t count;
    if (target_emit_is_integer(s->op->operands[access->mask], &count)) {
        count = count < least ? least : count > greatest ? greatest + 1 : count;
        s->limit = target_emit_integer(s->e, count);
        return;
    }
    s->limit = target_emit_fresh(s->e, target_emit_text(s->e, "%.32s_end", s->pointer));
    target_emit_line(s->e, "const i32 %s = clamp_i32(%s, %s, %s);", s->limit,
                     target_emit_name(s->e, s->op->operands[access->mask], 0),
                     target_emit_integer(s->e, least), target_emit_integer(s->e, greatest + 1));
}

const char *target_gpu_guard(const target_gpu_access *access, int slot) {
    const target_gpu_access *s = access;
    target_emitter *e = s->e;
    if (s->access->mask_kind == IR_MASK_NONE)
        return NULL;
    const ir_value *mask = s->op->operands[s->access->mask];
    if (s->access->mask_kind == IR_MASK_BITS)
        return target_emit_name(e, mask, slot);
    int64_t first = ir_affine_at(&s->access->mask_affine, (ir_position){.slot = slot});
    const char *position = target_emit_integer(e, first);
    if (s->mask.name != NULL && first == 0)
        position = s->mask.name;
    else if (s->mask.name != NULL)
        position = target_emit_text(e, s->limit != NULL ? "%s + %s" : "add_i64(%s, %s)",
                                    s->mask.name, position);
    return target_emit_text(e, "%s < %s", position,
                            s->limit != NULL ? s->limit : target_emit_name(e, mask, 0));
}

/* ---- what an access looks like ---- */

/* The scratch of another group of the cluster. */
static const char *scratch_of_block(target_gpu_access *s) {
    target_emitter *e = s->e;
    const char *own = target_emit_name(e, s->op->operands[0], 0);
    if (s->access->block == 0)
        return own;
    const char *type = target_gpu_memory_type(s->dtype);
    const char *name = target_emit_fresh(e, target_emit_text(e, "%.32s_far", own));
    const char *block = target_emit_name(e, s->op->operands[s->access->block], 0);
    target_emit_line(e, "%s *const %s = (%s *)%s;", type, name, type,
                     target_gpu_spelling_of(e)->far_scratch(e, own, block));
    return name;
}

static target_gpu_access access_begin(target_emitter *e, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    const ir_value *memory = op->operands[0];
    target_gpu_access s = {.e = e, .op = op, .access = access, .dtype = memory->type.dtype};
    s.slots = ir_op_access_slots(op);
    s.scratch = memory->type.form == IR_FORM_SCRATCH;
    s.wild = access->mask_kind != IR_MASK_NONE || target_gpu_is_guarded(op);
    if (s.scratch) {
        s.pointer = scratch_of_block(&s);
    } else {
        const target_parameter *parameter =
            &e->parameters[ir_module_parameter_of(e->module, memory)];
        s.pointer = parameter->name;
        for (int d = 0; d + 1 < access->rank; d++)
            s.strides[d] = parameter->strides[d];
    }
    for (int d = 0; d < access->rank; d++)
        s.lanes[d] = target_gpu_position_of(e, &access->index[d].affine);
    s.base = hoist(&s, target_emit_base(e, op, s.wild, s.strides), "at");
    s.lane = hoist(&s, lane_of(&s), "lane");
    set_limit(&s);
    return s;
}

/* ---- loads ---- */

const char *target_gpu_fill(const target_gpu_access *access, int slot) {
    const target_gpu_access *s = access;
    if (s->access->fill >= 0)
        return target_emit_name(s->e, s->op->operands[s->access->fill], slot);
    return s->dtype == BASE_F32 ? "0.0f" : s->dtype == BASE_BOOL ? "false" : "0";
}

const char *target_gpu_policy(const target_gpu_access *access) {
    if (!target_gpu_spelling_of(access->e)->policies)
        return NULL;
    switch (access->access->policy) {
    case IR_POLICY_STREAM:
        return "once";
    case IR_POLICY_EVICT_LAST:
        return access->op->opcode == IR_LOAD ? "last" : NULL;
    case IR_POLICY_DEFAULT:
    case IR_POLICY_COUNT:
        break;
    }
    return NULL;
}

/* `load_once_f32(x + (at))`, `store_once_f32(y + (at), value)`; `value` NULL: a load. */
static const char *by_policy(const target_gpu_access *s, int slot, const char *value) {
    const char *type = target_gpu_memory_type(s->dtype), *at = target_gpu_offset(s, slot);
    const char *policy = target_gpu_policy(s);
    return value == NULL
               ? target_emit_text(s->e, "load_%s_%s(%s + (%s))", policy, type, s->pointer, at)
               : target_emit_text(s->e, "store_%s_%s(%s + (%s), %s)", policy, type, s->pointer, at,
                                  value);
}

const char *target_gpu_loaded(const target_gpu_access *access, int slot) {
    const target_gpu_access *s = access;
    const char *element =
        target_gpu_policy(s) != NULL ? by_policy(s, slot, NULL) : target_gpu_element(s, slot);
    const char *guard = target_gpu_guard(s, slot);
    if (s->dtype == BASE_BOOL)
        element = target_emit_text(s->e, "%s != 0", element);
    if (guard == NULL)
        return element;
    return target_emit_text(s->e, "%s ? %s : %s", guard, element, target_gpu_fill(s, slot));
}

void target_gpu_load(target_emitter *emitter, const ir_op *op) {
    const ir_value *result = op->results[0];
    target_gpu_access s = access_begin(emitter, op);
    target_emit_take_names(emitter, result, s.pointer);
    int pack = target_gpu_pack(&s);
    if (pack > 1) {
        target_gpu_load_packs(&s, pack);
        return;
    }
    for (int slot = 0; slot < s.slots; slot++)
        target_emit_define(emitter, result, slot, target_gpu_loaded(&s, slot));
}

/* ---- stores ---- */

const char *target_gpu_storing(const target_gpu_access *access, int slot) {
    const target_gpu_access *s = access;
    const char *guard = target_gpu_guard(s, slot);
    const char *value = target_emit_name(s->e, ir_op_stored(s->op), slot);
    const char *storing =
        target_gpu_policy(s) != NULL
            ? by_policy(s, slot, value)
            : target_emit_text(s->e, "%s = %s", target_gpu_element(s, slot), value);
    return guard == NULL ? target_emit_text(s->e, "%s;", storing)
                         : target_emit_text(s->e, "if (%s) %s;", guard, storing);
}

static bool is_alike(const ir_value *value) {
    return value->type.form != IR_FORM_SLOTS || value->scope >= IR_SCOPE_GROUP;
}

/* All threads would write the same, what and where. */
static bool is_written_alike(const target_gpu_access *s) {
    const ir_op *op = s->op;
    bool alike = target_gpu_of(s->e)->lanes > 1 && !target_gpu_is_guarded(op);
    for (int d = 0; d < s->access->rank; d++)
        alike = alike && s->lanes[d].name == NULL;
    for (int i = 1; i < op->operand_count; i++)
        alike = alike && is_alike(op->operands[i]);
    return alike;
}

static bool is_loaded(const target_gpu_access *s) {
    return !s->scratch && target_gpu_of(s->e)->loaded[s->op->operands[0]->number];
}

/* All threads write other values to one place: the last of them stands there, where a plan for one
 * thread says so. */
static bool is_written_in_turn(const target_gpu_access *s) {
    const target_gpu *gpu = target_gpu_of(s->e);
    bool turns = gpu->one_thread && gpu->lanes > 1 && !target_gpu_is_guarded(s->op) &&
                 !is_alike(ir_op_stored(s->op));
    for (int d = 0; d < s->access->rank; d++)
        turns = turns && s->lanes[d].name == NULL && s->access->index[d].vector < 0;
    return turns;
}

/* A slot of all lanes before the next one. */
static void store_in_turn(const target_gpu_access *s) {
    target_emitter *e = s->e;
    for (int slot = 0; slot < s->slots; slot++) {
        const char *turn = target_emit_fresh(e, "turn");
        target_emit_line(e, "for (i32 %s = 0; %s < %d; %s++) {", turn, turn,
                         target_gpu_of(e)->lanes, turn);
        e->depth++;
        target_emit_line(e, "if (%s == %s) {", target_gpu_spelling_of(e)->own, turn);
        e->depth++;
        target_emit_line(e, "%s", target_gpu_storing(s, slot));
        e->depth--;
        target_emit_line(e, "}");
        target_gpu_spelling_of(e)->wait(e, IR_SCOPE_GROUP);
        e->depth--;
        target_emit_line(e, "}");
    }
}

void target_gpu_store(target_emitter *emitter, const ir_op *op) {
    target_gpu_access s = access_begin(emitter, op);
    if (is_written_in_turn(&s)) {
        store_in_turn(&s);
        return;
    }
    bool alike = is_written_alike(&s), once = alike && s.mask.name == NULL && !is_loaded(&s);
    if (once) {
        target_emit_line(emitter, "if (%s == 0) {", target_gpu_spelling_of(emitter)->own);
        emitter->depth++;
    }
    int pack = target_gpu_pack(&s);
    if (pack > 1)
        target_gpu_store_packs(&s, pack);
    for (int slot = 0; pack == 1 && slot < s.slots; slot++)
        target_emit_line(emitter, "%s", target_gpu_storing(&s, slot));
    if (once) {
        emitter->depth--;
        target_emit_line(emitter, "}");
    } else if (alike && is_loaded(&s) && target_gpu_spelling_of(emitter)->lock_step == 1) {
        /* each lane reads what it has written itself, and a late one would write meanwhile */
        target_gpu_spelling_of(emitter)->wait(emitter, IR_SCOPE_GROUP);
    }
}
