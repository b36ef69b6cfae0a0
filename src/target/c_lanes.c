/* Lanes in C: numbers of lanes, and values that go from lane to lane.
 *
 * A subgroup lies in `parts` registers, so a map of its lanes is, for each register, a choice of
 * elements from registers (`gather`): nothing where whole registers change their names, one
 * __builtin_shufflevector where one or two take part, a chain of them else.
 *
 *     combine max, lanes 32 in registers of 8, mask 16:      m[g] = max(t[g], t[g + 2])
 *                                              mask 4:       m[g] = max(low(t[g]), high(t[g]))
 *
 * i64 vectors are two halves, which are the registers of a gather there. */
#include "target/emitter_internal.h"

#include "ir/print.h"

#include <string.h>

/* ---- numbers ---- */

void target_c_iota(target_emitter *emitter, const ir_op *op) {
    target_emitter *e = emitter;
    const ir_value *result = op->results[0];
    target_c_position position = target_c_position_of(e, &op->attributes.affine);
    target_emit_take_names(e, result, NULL);
    for (int s = 0; s < ir_type_slot_count(&result->type); s++) {
        int64_t offset = ir_affine_at(&op->attributes.affine, (ir_position){.slot = s});
        const char *number = target_emit_integer(e, offset);
        if (target_emit_is_vector(e, &result->type))
            number = target_c_position_vector(e, &position, offset);
        else if (position.part != NULL)
            number = target_emit_text(e, "add_i64(%s, %s)", position.part, number);
        target_emit_define(e, result, s, number);
    }
}

/* ---- gathers ---- */

static bool is_split(const target_emitter *e, base_dtype dtype) {
    return e->lanes > 1 && target_c_register_dtype(dtype) == BASE_I64;
}

/* `sum` with what the result takes from one unit more; without a sum, what it takes from two. */
static const char *gather_more(const target_emitter *e, const char *const *units, int width,
                               const int64_t *from, const char *sum, int64_t first,
                               int64_t second) {
    bool same = sum == NULL;
    base_text list;
    base_text_init(&list, e->arena);
    for (int i = 0; i < width; i++) {
        int64_t unit = from[i] / width, lane = from[i] % width;
        int64_t index = unit == second ? width + lane : sum == NULL && unit == first ? lane : i;
        same = same && unit == first && lane == i;
        base_text_format(&list, ", %lld", (long long)(sum == NULL && unit == first ? lane : index));
    }
    if (same)
        return units[first];
    return target_emit_text(e, "__builtin_shufflevector(%s, %s%s)",
                            sum != NULL ? sum : units[first], units[second], list.bytes);
}

/* Element j of the result is element from[j] of `units`, vectors of `width` in a row. */
static const char *gather_units(const target_emitter *e, const char *const *units, int width,
                                const int64_t *from) {
    int64_t first = from[0] / width, second = first;
    for (int i = width - 1; i > 0; i--)
        if (from[i] / width != first)
            second = from[i] / width;
    const char *sum = gather_more(e, units, width, from, NULL, first, second);
    for (int i = 0; i < width; i++) {
        int64_t unit = from[i] / width;
        bool before = unit == first || unit == second;
        for (int j = 0; j < i; j++)
            before = before || from[j] / width == unit;
        if (!before)
            sum = gather_more(e, units, width, from, sum, first, unit);
    }
    return sum;
}

const char *target_c_gather(const target_emitter *emitter, base_dtype dtype,
                            const char *const *sources, int count, const int64_t *from) {
    const target_emitter *e = emitter;
    if (e->lanes == 1)
        return sources[from[0]];
    bool whole = from[0] % e->lanes == 0;
    for (int l = 0; l < e->lanes; l++)
        whole = whole && from[l] == from[0] + l;
    if (whole)
        return sources[from[0] / e->lanes];
    if (!is_split(e, dtype))
        return gather_units(e, sources, e->lanes, from);
    int half = e->lanes / 2;
    const char **units = BASE_NEW_ARRAY(e->arena, const char *, 2 * (int64_t)count);
    for (int i = 0; i < count; i++) {
        units[2 * i] = target_emit_text(e, "%s.low", sources[i]);
        units[2 * i + 1] = target_emit_text(e, "%s.high", sources[i]);
    }
    return target_emit_text(e, "(i64x%d){%s, %s}", e->lanes, gather_units(e, units, half, from),
                            gather_units(e, units, half, from + half));
}

/* Register `part` of a subgroup in which lane l has what lane from[l] has in `sources`. */
static const char *gather(const target_emitter *e, base_dtype dtype, const char *const *sources,
                          const int64_t *from, int part) {
    return target_c_gather(e, dtype, sources, e->parts, from + (int64_t)part * e->lanes);
}

/* ---- a loop over subgroups ---- */

/* How the registers of a subgroup are called: `parts` expressions in the number of a register. */
static const char **subgroups_open(target_emitter *e) {
    const char **parts = BASE_NEW_ARRAY(e->arena, const char *, e->parts);
    bool loops = e->registers > e->parts;
    for (int p = 0; p < e->parts; p++)
        parts[p] = !loops   ? target_emit_integer(e, p)
                   : p == 0 ? e->part
                            : target_emit_text(e, "%s + %d", e->part, p);
    if (loops) {
        const char *next =
            target_emit_text(e, e->parts > 1 ? "%s += %d" : "%s++", e->part, e->parts);
        target_emit_line(e, "for (i64 %s = 0; %s < %d; %s) {", e->part, e->part, e->registers,
                         next);
        e->depth++;
    }
    return parts;
}

static void subgroups_close(target_emitter *e) {
    if (e->registers == e->parts)
        return;
    e->depth--;
    target_emit_line(e, "}");
}

/* The registers of a subgroup, of one slot. */
static const char **names_of(const target_emitter *e, const ir_value *value, int slot,
                             const char *const *parts) {
    const char **names = BASE_NEW_ARRAY(e->arena, const char *, e->parts);
    for (int p = 0; p < e->parts; p++)
        names[p] = target_emit_part_name(e, value, slot, parts[p]);
    return names;
}

/* A result: one variable, or the arrays that the loops fill. */
static void declare_result(target_emitter *e, const ir_value *result, const char *fallback) {
    target_emit_take_names(e, result, fallback);
    for (int s = 0; e->registers > 1 && s < ir_type_slot_count(&result->type); s++)
        target_emit_declare(e, result, s);
}

static void define_result(target_emitter *e, const ir_value *result, int slot, const char *part,
                          const char *expression) {
    if (e->registers == 1)
        target_emit_define(e, result, slot, expression);
    else
        target_emit_line(e, "%s = %s;", target_emit_part_name(e, result, slot, part), expression);
}

/* ---- combine ---- */

/* The value of the first lane of a register. */
static const char *first_lane(const target_emitter *e, base_dtype dtype, const char *name) {
    if (e->lanes == 1)
        return name;
    const char *first = target_emit_text(e, is_split(e, dtype) ? "%s.low[0]" : "%s[0]", name);
    return dtype == BASE_BOOL ? target_emit_text(e, "%s != 0", first) : first;
}

/* Halving: register r takes register r + h, then lane l lane l + h, for h = half .. 1; lane 0 is
 * the result. */
static void combine_to_uniform(target_emitter *e, const ir_op *op) {
    const ir_value *operand = op->operands[0], *result = op->results[0];
    base_dtype dtype = operand->type.dtype;
    ir_opcode opcode = target_emit_combine_opcode(op);
    bool vector = e->lanes > 1;
    if (e->registers * e->lanes == 1) {
        target_emit_alias(e, result, target_emit_name(e, operand, 0));
        return;
    }
    const char *type = e->dialect->type(e, dtype, vector);
    target_emit_take_names(e, result, ir_monoid_describe(op->attributes.monoid)->text);
    const char *base = target_emit_variable(e, result, 0);
    const char **names = BASE_NEW_ARRAY(e->arena, const char *, e->registers);
    for (int r = 0; r < e->registers; r++)
        names[r] = target_emit_part_name(e, operand, 0, target_emit_integer(e, r));
    for (int h = e->registers / 2; h > 0; h /= 2)
        for (int r = 0; r < h; r++) {
            const char *next =
                target_emit_fresh(e, target_emit_text(e, "%s_lanes%d", base, h * e->lanes));
            target_emit_line(e, "const %s %s = %s;", type, next,
                             target_emit_binary(e, opcode, dtype, vector, names[r], names[r + h]));
            names[r] = next;
        }
    for (int h = e->lanes / 2; h > 0; h /= 2) {
        const char *next = target_emit_fresh(e, target_emit_text(e, "%s_lanes%d", base, h));
        bool swaps = is_split(e, dtype) && h == e->lanes / 2;
        const char *down = swaps ? "swap" : target_emit_text(e, "down%d", h);
        const char *moved = target_emit_text(e, "%s_%s(%s)", down, type, names[0]);
        target_emit_line(e, "const %s %s = %s;", type, next,
                         target_emit_binary(e, opcode, dtype, true, names[0], moved));
        names[0] = next;
    }
    target_emit_define(e, result, 0, first_lane(e, dtype, names[0]));
}

/* The lanes that stand left and right of a pair, for every lane. */
static void pairs_of(const target_emitter *e, int64_t mask, int64_t *left, int64_t *right) {
    int64_t top = 1;
    while (top * 2 <= mask)
        top *= 2;
    for (int64_t l = 0; l < (int64_t)e->parts * e->lanes; l++) {
        left[l] = l & ~top;
        right[l] = left[l] ^ mask;
    }
}

/* The masks of a combine; without a list all lanes, halving. */
static ir_list masks_of(const target_emitter *e, const ir_op *op) {
    if (op->attributes.lanes.count > 0)
        return op->attributes.lanes;
    int64_t *masks = BASE_NEW_ARRAY(e->arena, int64_t, 64);
    ir_list list = {.items = masks};
    for (int h = e->parts * e->lanes / 2; h > 0; h /= 2)
        masks[list.count++] = h;
    return list;
}

/* What the registers of a subgroup hold after a mask; equal registers are one variable. */
static void combine_mask(target_emitter *e, const ir_op *op, int slot, int64_t mask,
                         const char **names) {
    const ir_value *result = op->results[0];
    base_dtype dtype = result->type.dtype;
    ir_opcode opcode = target_emit_combine_opcode(op);
    const char *wanted =
        target_emit_text(e, "%s_lanes%lld", target_emit_variable(e, result, slot), (long long)mask);
    const char **sums = BASE_NEW_ARRAY(e->arena, const char *, e->parts);
    const char **next = BASE_NEW_ARRAY(e->arena, const char *, e->parts);
    int64_t *left = BASE_NEW_ARRAY(e->arena, int64_t, (int64_t)e->parts * e->lanes);
    int64_t *right = BASE_NEW_ARRAY(e->arena, int64_t, (int64_t)e->parts * e->lanes);
    pairs_of(e, mask, left, right);
    for (int p = 0; p < e->parts; p++) {
        sums[p] =
            target_emit_binary(e, opcode, dtype, e->lanes > 1, gather(e, dtype, names, left, p),
                               gather(e, dtype, names, right, p));
        int same = 0;
        while (strcmp(sums[same], sums[p]) != 0)
            same++;
        next[p] = same < p ? next[same] : target_emit_fresh(e, wanted);
        if (same == p)
            target_emit_line(e, "const %s %s = %s;", target_emit_type(e, result), next[p], sums[p]);
    }
    memcpy(names, next, sizeof *names * (size_t)e->parts);
}

/* One slot: after each mask every lane has the value of its pair. */
static void combine_slot(target_emitter *e, const ir_op *op, int slot, const char *const *parts) {
    ir_list masks = masks_of(e, op);
    const char **names = names_of(e, op->operands[0], slot, parts);
    for (int m = 0; m < masks.count; m++)
        combine_mask(e, op, slot, masks.items[m], names);
    for (int p = 0; p < e->parts; p++)
        define_result(e, op->results[0], slot, parts[p], names[p]);
}

void target_c_combine(target_emitter *emitter, const ir_op *op) {
    if (op->results[0]->type.form == IR_FORM_UNIFORM) {
        combine_to_uniform(emitter, op);
        return;
    }
    declare_result(emitter, op->results[0], ir_monoid_describe(op->attributes.monoid)->text);
    const char **parts = subgroups_open(emitter);
    for (int s = 0; s < ir_type_slot_count(&op->results[0]->type); s++)
        combine_slot(emitter, op, s, parts);
    subgroups_close(emitter);
}

/* ---- shuffle, xorslot, uniform ---- */

static int64_t linear_map(const ir_list *columns, int64_t number) {
    int64_t sum = 0;
    for (int b = 0; b < columns->count; b++)
        if ((number >> b & 1) != 0)
            sum ^= columns->items[b];
    return sum;
}

void target_c_shuffle(target_emitter *emitter, const ir_op *op) {
    target_emitter *e = emitter;
    const ir_value *result = op->results[0];
    const ir_list *constants = &op->attributes.slots;
    int64_t lanes = (int64_t)e->parts * e->lanes;
    int64_t *from = BASE_NEW_ARRAY(e->arena, int64_t, lanes);
    declare_result(e, result, NULL);
    const char **parts = subgroups_open(e);
    for (int s = 0; s < ir_type_slot_count(&result->type); s++) {
        int64_t constant = s < constants->count ? constants->items[s] : 0;
        for (int64_t l = 0; l < lanes; l++)
            from[l] = (linear_map(&op->attributes.lanes, l) ^ constant) & (lanes - 1);
        const char **names = names_of(e, op->operands[0], s, parts);
        for (int p = 0; p < e->parts; p++)
            define_result(e, result, s, parts[p], gather(e, result->type.dtype, names, from, p));
    }
    subgroups_close(e);
}

/* `a` in the lanes that have a bit of their number, `b` in the others. */
static const char *choose_by_bit(const target_emitter *e, base_dtype dtype, int bit, const char *a,
                                 const char *b) {
    int inside = __builtin_ctz((unsigned)e->lanes);
    if (bit >= inside)
        return target_emit_text(e, "(%s >> %d & 1) != 0 ? %s : %s", e->part, bit - inside, a, b);
    base_text mask;
    base_text_init(&mask, e->arena);
    for (int l = 0; l < e->lanes; l++)
        base_text_format(&mask, "%s%d", l > 0 ? ", " : "", -(l >> bit & 1));
    return target_emit_text(e, "select_%s((i32x%d){%s}, %s, %s)", e->dialect->type(e, dtype, true),
                            e->lanes, mask.bytes, a, b);
}

/* Slot s ^ M*l, one bit of the lane's number after the other. */
void target_c_xorslot(target_emitter *emitter, const ir_op *op) {
    target_emitter *e = emitter;
    const ir_value *result = op->results[0];
    const ir_list *columns = &op->attributes.lanes;
    int slots = ir_type_slot_count(&result->type);
    const char **names = BASE_NEW_ARRAY(e->arena, const char *, slots);
    const char **next = BASE_NEW_ARRAY(e->arena, const char *, slots);
    target_emit_take_names(e, result, NULL);
    for (int s = 0; s < slots; s++)
        names[s] = target_emit_name(e, op->operands[0], s);
    for (int b = 0; b < columns->count && (1 << b) < e->parts * e->lanes; b++) {
        if (columns->items[b] == 0)
            continue;
        for (int s = 0; s < slots; s++) {
            int64_t other = (s ^ columns->items[b]) % slots;
            next[s] = target_emit_fresh(
                e, target_emit_text(e, "%s_bit%d", target_emit_variable(e, result, s), b));
            target_emit_line(e, "const %s %s = %s;", target_emit_type(e, result), next[s],
                             choose_by_bit(e, result->type.dtype, b, names[other], names[s]));
        }
        memcpy(names, next, sizeof *names * (size_t)slots);
    }
    for (int s = 0; s < slots; s++)
        target_emit_define(e, result, s, names[s]);
}

void target_c_uniform(target_emitter *emitter, const ir_op *op) {
    const ir_value *operand = op->operands[0], *result = op->results[0];
    const char *name = target_emit_part_name(emitter, operand, 0, "0");
    target_emit_take_names(emitter, result, NULL);
    target_emit_define(emitter, result, 0, first_lane(emitter, operand->type.dtype, name));
}

/* Every lane is here once an op is over in all registers. */
void target_c_sync(target_emitter *emitter, const ir_op *op) {
    target_emit_line(emitter, "// sync %s: the lanes are in step",
                     ir_scope_name(op->attributes.scope));
}
