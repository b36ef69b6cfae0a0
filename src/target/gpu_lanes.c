/* Lanes that are threads: values that go from one to another, and synchronisation.
 *
 *     %b = combine max %a lanes=(2)     const f32 other = shuffle_xor_f32(a, warp, 2);
 *                                       const f32 b = (lane & 2) != 0 ? maximum_f32(other, a)
 *                                                                     : maximum_f32(a, other);
 *
 * A subgroup of threads in lock step exchanges registers, any other goes through scratch. The lower
 * lane stands left where the order shows in the bits; sums and products do not show it. Slots of
 * less than 32 bits that come from the same lane travel together. */
#include "target/gpu_internal.h"

#include "ir/print.h"

#include <string.h>

/* ---- numbers ---- */

void target_gpu_block(target_emitter *emitter, const ir_op *op) {
    bool cluster = emitter->module->cluster > 1;
    target_emit_alias(emitter, op->results[0],
                      cluster ? target_gpu_spelling_of(emitter)->block_number(emitter) : "0");
}

void target_gpu_iota(target_emitter *emitter, const ir_op *op) {
    const ir_value *result = op->results[0];
    target_gpu_position position = target_gpu_position_of(emitter, &op->attributes.affine);
    target_emit_take_names(emitter, result, NULL);
    for (int s = 0; s < ir_type_slot_count(&result->type); s++) {
        int64_t offset = ir_affine_at(&op->attributes.affine, (ir_position){.slot = s});
        const char *number = target_emit_integer(emitter, offset);
        if (position.name != NULL && offset == 0)
            number = position.name;
        else if (position.name != NULL)
            number = target_emit_text(emitter, "add_i64(%s, %s)", position.name, number);
        target_emit_define(emitter, result, s, number);
    }
}

/* ---- moves ---- */

/* From which lane of its subgroup a thread takes: its own number with bits turned over, or any. */
typedef struct lane_source {
    int64_t turned;     /* where `number` is NULL */
    const char *number; /* of the lane */
} lane_source;

static bool is_in_lock_step(const target_emitter *e) {
    return ir_module_subgroup_lanes(e->module) <= target_gpu_spelling_of(e)->lock_step;
}

/* Whether nobody reads any more what the next piece has held. So it is where the exchange before,
 * which waited since, stands in the same region and went through the other piece; or where there
 * was none. */
static bool next_piece_is_free(const target_gpu *gpu, const ir_region *region) {
    bool first = gpu->exchanged == NULL && region->owner == NULL;
    return gpu->spelling->exchanges > 1 && (first || gpu->exchanged == region);
}

/* The value of another lane, as an expression: through scratch after lines that bring it there. */
static const char *value_of_lane(target_emitter *e, const ir_op *op, base_dtype dtype,
                                 const char *value, lane_source source) {
    target_gpu *gpu = target_gpu_of(e);
    if (is_in_lock_step(e))
        return gpu->spelling->shuffle(e, dtype, value, source.turned, source.number);
    const char *piece = gpu->exchange[gpu->exchange_count++ % gpu->spelling->exchanges];
    const char *cells = target_emit_text(e, "((%s%s *)%s)", gpu->spelling->scratch_space,
                                         target_gpu_type(dtype), piece);
    if (!next_piece_is_free(gpu, op->parent))
        gpu->spelling->wait(e, IR_SCOPE_GROUP);
    gpu->exchanged = op->parent;
    target_emit_line(e, "%s[%s] = %s;", cells, gpu->spelling->own, value);
    gpu->spelling->wait(e, IR_SCOPE_GROUP);
    if (source.number == NULL)
        return target_emit_text(e, "%s[%s ^ %lld]", cells, gpu->spelling->own,
                                (long long)source.turned);
    const char *first =
        gpu->subgroup == gpu->lanes ? "" : target_emit_text(e, "subgroup * %d + ", gpu->subgroup);
    return target_emit_text(e, "%s[%s(%s)]", cells, first, source.number);
}

/* A variable with the value of another lane. */
static const char *variable_of_lane(target_emitter *e, const ir_op *op, base_dtype dtype,
                                    const char *value, lane_source source, const char *wanted) {
    const char *expression = value_of_lane(e, op, dtype, value, source);
    const char *name = target_emit_fresh(e, wanted);
    target_emit_line(e, "const %s %s = %s;", e->dialect->type(e, dtype, false), name, expression);
    return name;
}

/* ---- combine ---- */

/* Whether a op b and b op a have the same bits: the greater of 0 and -0 is the one that stands
 * right. */
static bool shows_order(ir_opcode opcode, base_dtype dtype) {
    return base_dtype_is_float(dtype) && !ir_op_describe(opcode)->commutes;
}

static int64_t top_of(int64_t mask) {
    int64_t top = 1;
    while (top * 2 <= mask)
        top *= 2;
    return top;
}

/* v[l] = combine(v[l & ~top], v[l & ~top ^ mask]). For a mask of one bit one of the two is the
 * lane's own value. */
static const char *combine_mask(target_emitter *e, const ir_op *op, const char *value,
                                const char *wanted, int64_t mask) {
    base_dtype dtype = op->operands[0]->type.dtype;
    ir_opcode opcode = target_emit_combine_opcode(op);
    int64_t top = top_of(mask);
    const char *left = value, *right;
    if (mask == top) {
        right = variable_of_lane(e, op, dtype, value, (lane_source){.turned = mask},
                                 target_emit_text(e, "%s_other%lld", wanted, (long long)mask));
    } else {
        const char *low = target_emit_text(e, "lane & ~%lld", (long long)top);
        const char *high =
            target_emit_text(e, "(lane & ~%lld) ^ %lld", (long long)top, (long long)mask);
        left = variable_of_lane(e, op, dtype, value, (lane_source){.number = low},
                                target_emit_text(e, "%s_left%lld", wanted, (long long)mask));
        right = variable_of_lane(e, op, dtype, value, (lane_source){.number = high},
                                 target_emit_text(e, "%s_right%lld", wanted, (long long)mask));
    }
    const char *sum = target_emit_binary(e, opcode, dtype, false, left, right);
    if (mask == top && shows_order(opcode, dtype))
        sum = target_emit_text(e, "(lane & %lld) != 0 ? %s : %s", (long long)mask,
                               target_emit_binary(e, opcode, dtype, false, right, left), sum);
    const char *name =
        target_emit_fresh(e, target_emit_text(e, "%s_lanes%lld", wanted, (long long)mask));
    target_emit_line(e, "const %s %s = %s;", e->dialect->type(e, dtype, false), name, sum);
    return name;
}

/* Without a list of masks all lanes, halving. */
static ir_list masks_of(const target_emitter *e, const ir_op *op) {
    if (op->attributes.lanes.count > 0)
        return op->attributes.lanes;
    int64_t *masks = BASE_NEW_ARRAY(e->arena, int64_t, 64);
    ir_list list = {.items = masks};
    for (int h = ir_module_subgroup_lanes(e->module) / 2; h > 0; h /= 2)
        masks[list.count++] = h;
    return list;
}

/* The masks are the bits of the numbers of all threads in lock step: they all get the same. */
static bool joins_all(const target_emitter *e, const ir_list *masks) {
    int64_t all = 0;
    for (int m = 0; m < masks->count; m++)
        all += masks->items[m] == top_of(masks->items[m]) && (all & masks->items[m]) == 0
                   ? masks->items[m]
                   : 0;
    return all == target_gpu_spelling_of(e)->lock_step - 1;
}

static const char *together_of(const target_emitter *e, const ir_op *op, const ir_list *masks,
                               const char *value) {
    const target_gpu_spelling *spelling = target_gpu_spelling_of(e);
    if (spelling->together == NULL || !joins_all(e, masks))
        return NULL;
    return spelling->together(e, target_emit_combine_opcode(op), op->operands[0]->type.dtype,
                              value);
}

void target_gpu_combine(target_emitter *emitter, const ir_op *op) {
    const ir_value *result = op->results[0];
    ir_list masks = masks_of(emitter, op);
    target_emit_take_names(emitter, result, ir_monoid_describe(op->attributes.monoid)->text);
    for (int s = 0; s < ir_type_slot_count(&result->type); s++) {
        const char *value = target_emit_name(emitter, op->operands[0], s);
        const char *together = together_of(emitter, op, &masks, value);
        for (int m = 0; together == NULL && m < masks.count; m++)
            value = combine_mask(emitter, op, value, target_emit_variable(emitter, result, s),
                                 masks.items[m]);
        target_emit_define(emitter, result, s, together != NULL ? together : value);
    }
}

/* ---- shuffle ---- */

static bool is_identity(const ir_list *columns) {
    for (int b = 0; b < columns->count; b++)
        if (columns->items[b] != INT64_C(1) << b)
            return false;
    return true;
}

static int64_t constant_of(const ir_op *op, int slot) {
    const ir_list *constants = &op->attributes.slots;
    return slot < constants->count ? constants->items[slot] : 0;
}

static lane_source source_of(target_emitter *e, const ir_op *op, int64_t constant) {
    if (is_identity(&op->attributes.lanes))
        return (lane_source){.turned = constant};
    const char *columns = target_gpu_columns(e, &op->attributes.lanes);
    const char *number =
        strcmp(columns, "0") == 0 ? NULL : target_gpu_number_of(e, "i32", "source", columns);
    if (number == NULL)
        number = target_emit_integer(e, constant);
    else if (constant != 0)
        number = target_emit_text(e, "%s ^ %lld", number, (long long)constant);
    return (lane_source){.number = number};
}

/* Slots from `slot` on that come from the same lane and that 32 bits hold; they are done. */
static int take_companions(const ir_op *op, bool *done, int slot, int slots[4]) {
    int64_t size = base_dtype_size(op->results[0]->type.dtype);
    int count = 0;
    for (int s = slot; s < op->results[0]->type.slots && (count == 0 || (count + 1) * size <= 4);
         s++) {
        if (done[s] || constant_of(op, s) != constant_of(op, slot))
            continue;
        slots[count++] = s;
        done[s] = true;
    }
    return count;
}

/* The slots as parts of one number of 32 bits, and the parts again. */
static void move_together(target_emitter *e, const ir_op *op, const int *slots, int count) {
    const ir_value *result = op->results[0];
    const char *type = e->dialect->type(e, result->type.dtype, false);
    const char *bits_type = base_dtype_size(result->type.dtype) == 1 ? "u8" : "u16";
    int width = 8 * (int)base_dtype_size(result->type.dtype);
    const char *sum = NULL;
    for (int i = 0; i < count; i++) {
        const char *part = target_emit_text(e, "(u32)(%s)%s", bits_type,
                                            target_emit_name(e, op->operands[0], slots[i]));
        if (i > 0)
            part = target_emit_text(e, "%s << %d", part, i * width);
        sum = sum == NULL ? part : target_emit_text(e, "%s | %s", sum, part);
    }
    const char *packed = target_emit_fresh(e, "packed");
    target_emit_line(e, "const u32 %s = %s;", packed, sum);
    lane_source source = source_of(e, op, constant_of(op, slots[0]));
    const char *other = variable_of_lane(e, op, BASE_U32, packed, source, "packed");
    for (int i = 0; i < count; i++) {
        const char *part = i == 0 ? other : target_emit_text(e, "(%s >> %d)", other, i * width);
        part = target_emit_text(e, "(%s)%s", bits_type, part);
        if (strcmp(type, bits_type) != 0)
            part = target_emit_text(e, "(%s)%s", type, part);
        target_emit_define(e, result, slots[i], part);
    }
}

void target_gpu_shuffle(target_emitter *emitter, const ir_op *op) {
    const ir_value *result = op->results[0];
    int count = ir_type_slot_count(&result->type), slots[4];
    bool *done = BASE_NEW_ARRAY(emitter->arena, bool, count);
    target_emit_take_names(emitter, result, NULL);
    for (int s = 0; s < count; s++) {
        if (done[s])
            continue;
        const char *value = target_emit_name(emitter, op->operands[0], s);
        lane_source source = source_of(emitter, op, constant_of(op, s));
        if (source.number == NULL && source.turned == 0) {
            target_emit_define(emitter, result, s, value);
            continue;
        }
        int together = take_companions(op, done, s, slots);
        if (together > 1)
            move_together(emitter, op, slots, together);
        else
            target_emit_define(emitter, result, s,
                               value_of_lane(emitter, op, result->type.dtype, value, source));
    }
}

/* ---- xorslot ---- */

/* Whether an odd number of these bits of the lane's number are set. */
static const char *parity(target_emitter *e, int64_t bits) {
    const char *text = target_emit_text(e, "lane & %lld", (long long)bits);
    text = target_gpu_is_power(bits) ? target_emit_text(e, "(%s) != 0", text)
                                     : target_emit_text(e, "(%s(%s) & 1) != 0",
                                                        target_gpu_spelling_of(e)->popcount, text);
    return target_gpu_number_of(e, "bool", "turns", text);
}

/* Slot s ^ M*l, one bit of the slot's number after the other. */
void target_gpu_xorslot(target_emitter *emitter, const ir_op *op) {
    target_emitter *e = emitter;
    const ir_value *result = op->results[0];
    const ir_list *columns = &op->attributes.lanes;
    int slots = ir_type_slot_count(&result->type);
    const char **names = BASE_NEW_ARRAY(e->arena, const char *, slots);
    const char **next = BASE_NEW_ARRAY(e->arena, const char *, slots);
    target_emit_take_names(e, result, NULL);
    for (int s = 0; s < slots; s++)
        names[s] = target_emit_name(e, op->operands[0], s);
    for (int bit = 1; bit < slots; bit *= 2) {
        int64_t lanes = 0;
        for (int b = 0; b < columns->count; b++)
            lanes |= (columns->items[b] & bit) != 0 ? INT64_C(1) << b : 0;
        if (lanes == 0)
            continue;
        const char *turns = parity(e, lanes);
        for (int s = 0; s < slots; s++) {
            next[s] = target_emit_fresh(
                e, target_emit_text(e, "%s_turn%d", target_emit_variable(e, result, s), bit));
            target_emit_line(e, "const %s %s = %s ? %s : %s;", target_emit_type(e, result), next[s],
                             turns, names[s ^ bit], names[s]);
        }
        memcpy(names, next, sizeof *names * (size_t)slots);
    }
    for (int s = 0; s < slots; s++)
        target_emit_define(e, result, s, names[s]);
}

/* All lanes hold it: each takes its own. */
void target_gpu_uniform(target_emitter *emitter, const ir_op *op) {
    const char *name = target_emit_name(emitter, op->operands[0], 0);
    target_emit_take_names(emitter, op->results[0], NULL);
    target_emit_define(emitter, op->results[0], 0, name);
}

void target_gpu_sync(target_emitter *emitter, const ir_op *op) {
    target_gpu_spelling_of(emitter)->wait(emitter, op->attributes.scope);
}
