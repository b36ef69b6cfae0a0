/* Blocks: a lane's slots are neighbours in memory, and lanes follow each other.
 *
 *     %t = load %x[lane*4 + slot*1] : f32(4)        memory of lane 0: slots 0 1 2 3, of lane 1: ...
 *
 * The block of a register is read in whole vectors, and even and odd elements are parted until each
 * vector is a slot; a store mixes them again and writes whole vectors:
 *
 *     a b c d (contiguous)  ->  even(a b) even(c d), odd(a b) odd(c d)  ->  slots 0 2, 1 3
 *
 * A mask by the same form is a number of elements of the block. Other masks, and lanes that lie
 * further apart, are the business of c_access.c. */
#include "target/c_access_internal.h"

enum { BLOCK_MAX = 16 };

/* ---- what is a block ---- */

/* Slots that count on by one within each `count`, in memory or in a mask. */
static bool counts_on(const target_c_access *s, const ir_affine *affine, int count) {
    for (int slot = 0; slot < s->slots; slot++) {
        ir_position here = {.slot = slot}, start = {.slot = slot - slot % count};
        if (ir_affine_at(affine, here) != ir_affine_at(affine, start) + slot % count)
            return false;
    }
    return true;
}

static bool stays(const target_c_access *s, const ir_affine *affine, int count) {
    for (int slot = 0; slot < s->slots; slot++)
        if (ir_affine_at(affine, (ir_position){.slot = slot}) !=
            ir_affine_at(affine, (ir_position){.slot = slot - slot % count}))
            return false;
    return true;
}

/* No mask, or one that lets through the first elements of the block. */
static bool mask_is_prefix(const target_c_access *s, int count) {
    const ir_access *access = s->access;
    if (access->mask_kind == IR_MASK_NONE)
        return true;
    bool filled = access->fill >= 0 && s->op->operands[access->fill]->type.form == IR_FORM_SLOTS;
    return access->mask_kind == IR_MASK_RANGE && !filled && s->mask.strided &&
           s->mask.stride == count && s->mask.positive &&
           counts_on(s, &access->mask_affine, count) &&
           ir_affine_at(&access->mask_affine, (ir_position){0}) >= 0;
}

int target_c_block_slots(const target_c_access *access) {
    const target_c_access *s = access;
    int last = s->access->rank - 1;
    if (!s->vector || s->shape != SHAPE_STRIDED || s->e->when != NULL)
        return 0;
    int64_t stride = s->index[last].stride;
    if (stride < 2 || stride > BLOCK_MAX || (stride & (stride - 1)) != 0 || s->slots % stride != 0)
        return 0;
    int count = (int)stride;
    for (int d = 0; d < last; d++)
        if (s->index[d].stride != 0 || !stays(s, &s->access->index[d].affine, count))
            return 0;
    bool block = counts_on(s, &s->access->index[last].affine, count) && mask_is_prefix(s, count);
    return block ? count : 0;
}

/* ---- parting and mixing ---- */

/* A variable with element from[l] of two vectors, one behind the other, in lane l. */
static const char *take(const target_c_access *s, const char *a, const char *b,
                        const int64_t *from) {
    target_emitter *e = s->e;
    const char *name = target_emit_fresh(e, "block");
    const char *sources[] = {a, b};
    target_emit_line(e, "const %s %s = %s;", s->type, name,
                     target_c_gather(e, target_c_memory_dtype(s->dtype), sources, 2, from));
    return name;
}

/* From `count` vectors in a row: vector i with the elements i, i + count, ... */
static void part(const target_c_access *s, const char **vectors, int count) {
    const char *halves[2][BLOCK_MAX / 2];
    int lanes = s->e->lanes;
    int64_t *from = BASE_NEW_ARRAY(s->e->arena, int64_t, lanes);
    if (count == 1)
        return;
    for (int odd = 0; odd < 2; odd++) {
        for (int l = 0; l < lanes; l++)
            from[l] = 2 * l + odd;
        for (int i = 0; i < count / 2; i++)
            halves[odd][i] = take(s, vectors[2 * i], vectors[2 * i + 1], from);
    }
    for (int odd = 0; odd < 2; odd++) {
        part(s, halves[odd], count / 2);
        for (int i = 0; i < count / 2; i++)
            vectors[2 * i + odd] = halves[odd][i];
    }
}

/* The other way. */
static void mix(const target_c_access *s, const char **vectors, int count) {
    const char *halves[2][BLOCK_MAX / 2];
    int lanes = s->e->lanes;
    int64_t *from = BASE_NEW_ARRAY(s->e->arena, int64_t, lanes);
    if (count == 1)
        return;
    for (int odd = 0; odd < 2; odd++) {
        for (int i = 0; i < count / 2; i++)
            halves[odd][i] = vectors[2 * i + odd];
        mix(s, halves[odd], count / 2);
    }
    for (int high = 0; high < 2; high++) {
        for (int l = 0; l < lanes; l++)
            from[l] = (high * lanes + l) / 2 + (l % 2 != 0 ? lanes : 0);
        for (int i = 0; i < count / 2; i++)
            vectors[2 * i + high] = take(s, halves[0][i], halves[1][i], from);
    }
}

/* ---- memory ---- */

/* The arguments behind the pointer's name that say where and how many: vector i of a block whose
 * first slot is `first`, under a mask. */
static const char *masked_place(const target_c_access *s, int first, int i) {
    target_emitter *e = s->e;
    int64_t behind = (int64_t)i * e->lanes;
    const char *at = target_c_access_offset(s, true, first);
    if (behind > 0)
        at = target_emit_text(e, "add_i64(%s, %lld)", at, (long long)behind);
    int64_t number = ir_affine_at(&s->access->mask_affine, (ir_position){.slot = first}) + behind;
    return target_emit_text(e, "%s, left(%s, %s)", at,
                            target_emit_name(e, s->op->operands[s->access->mask], 0),
                            target_c_access_first(s, number, false));
}

static const char *plain_place(const target_c_access *s, int first, int i) {
    const char *where = target_c_access_place(s, first);
    return i == 0 ? where : target_emit_text(s->e, "%s + %d", where, i * s->e->lanes);
}

void target_c_block_load(const target_c_access *access, int first, int count) {
    const target_c_access *s = access;
    target_emitter *e = s->e;
    const char *vectors[BLOCK_MAX];
    for (int i = 0; i < count; i++) {
        vectors[i] = target_emit_fresh(e, "block");
        const char *loaded =
            s->access->mask_kind == IR_MASK_NONE
                ? target_emit_text(e, "load_%s(%s)", s->type, plain_place(s, first, i))
                : target_emit_text(e, "load_first_%s(%s, %s, %s)", s->type, s->pointer,
                                   masked_place(s, first, i), target_c_access_fill(s, first));
        target_emit_line(e, "const %s %s = %s;", s->type, vectors[i], loaded);
    }
    part(s, vectors, count);
    for (int i = 0; i < count; i++)
        target_emit_define(e, s->op->results[0], first + i,
                           target_c_from_memory(e, s->dtype, true, vectors[i]));
}

void target_c_block_store(const target_c_access *access, int first, int count) {
    const target_c_access *s = access;
    target_emitter *e = s->e;
    const char *vectors[BLOCK_MAX];
    for (int i = 0; i < count; i++) {
        const char *value = target_emit_operand(e, ir_op_stored(s->op), first + i, true);
        vectors[i] = target_emit_fresh(e, "block");
        target_emit_line(e, "const %s %s = %s;", s->type, vectors[i],
                         target_c_to_memory(e, s->dtype, true, value));
    }
    mix(s, vectors, count);
    for (int i = 0; i < count; i++) {
        if (s->access->mask_kind == IR_MASK_NONE)
            target_emit_line(e, "%s_%s(%s, %s);", s->streams ? "stream" : "store", s->type,
                             plain_place(s, first, i), vectors[i]);
        else
            target_emit_line(e, "store_first_%s(%s, %s, %s);", s->type, s->pointer,
                             masked_place(s, first, i), vectors[i]);
    }
}
