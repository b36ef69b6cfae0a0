/* Packs: neighbours in memory that a thread moves in one access of up to 16 bytes.
 *
 *     %t = load %x[%row, lane*4 + slot*1] width=4 : f32(4)
 *
 *     const bool x_whole = is_aligned(x, x_at, 4, 16);
 *     f32 t_0, t_1, t_2, t_3;
 *     if (x_whole) {
 *         const pack16 pack = *(const pack16 *)(x + (x_at + at));
 *         t_0 = __uint_as_float(pack.a);
 *         ...
 *     } else {
 *         t_0 = x[x_at + at];
 *         ...
 *     }
 *
 * The packed access is made where the address is aligned and every slot takes part; else each slot
 * goes on its own, with its own mask, so that nothing past a ragged end is touched. Where what
 * lanes and slots add is a multiple of the pack, the base alone decides, alike in all threads.
 *
 * Where the module says so of the access (`align=16`, by its conditions) no address is looked at;
 * where it says `whole` too, the mask takes a pack or leaves it, and no slot goes on its own.
 *
 * What is looked at in a branch is waited for there, and the loads behind it with it. A masked pack
 * of elements of which several share a word is therefore only loaded in its branch, and taken apart
 * behind it; slots on their own are put together to a pack:
 *
 *     pack8 pack;
 *     if (last < x_end) {
 *         pack = *(const pack8 *)(x + (x_at + at));
 *     } else {
 *         const bf16 part = first < x_end ? x[x_at + at] : 0;
 *         ...
 *         pack = pack8{(u32)part | (u32)part2 << 16, ...};
 *     }
 *     const bf16 t_0 = (bf16)(pack.a); ... */
#include "target/gpu_internal.h"

#include <string.h>

enum { PACK_BYTES = 16, WORD_BYTES = 4 };

/* ---- which ---- */

/* Slots that count on by one within each pack. */
static bool counts_on(const target_gpu_access *s, const ir_affine *affine, int pack, int step) {
    for (int slot = 0; slot < s->slots; slot++) {
        ir_position here = {.slot = slot}, start = {.slot = slot - slot % pack};
        if (ir_affine_at(affine, here) != ir_affine_at(affine, start) + slot % pack * step)
            return false;
    }
    return true;
}

int target_gpu_pack(const target_gpu_access *access) {
    const target_gpu_access *s = access;
    int size = (int)base_dtype_size(s->dtype), last = s->access->rank - 1;
    int pack = s->access->width & -s->access->width;
    while (pack * size > PACK_BYTES)
        pack /= 2;
    if (last < 0 || pack < 2 || s->slots % pack != 0)
        return 1;
    for (int d = 0; d <= last; d++)
        if ((s->access->index[d].vector >= 0 && !target_gpu_vector_is_alike(s, d)) ||
            !counts_on(s, &s->access->index[d].affine, pack, d == last))
            return 1;
    return pack;
}

/* ---- alignment ---- */

/* Whether the address of every pack differs from the base by a multiple of the pack. */
static bool base_decides(const target_gpu_access *s, int pack) {
    int last = s->access->rank - 1;
    bool decides = s->lanes[last].factor % pack == 0;
    for (int d = 0; d <= last; d++)
        decides =
            decides && (d == last || s->lanes[d].name == NULL) && s->access->index[d].vector < 0;
    for (int slot = 0; slot < s->slots; slot += pack) {
        ir_position start = {.slot = slot};
        for (int d = 0; d < last; d++)
            decides = decides && ir_affine_at(&s->access->index[d].affine, start) == 0;
        decides = decides && ir_affine_at(&s->access->index[last].affine, start) % pack == 0;
    }
    return decides;
}

/* Whether the place is aligned; scratch itself always is. */
static const char *alignment_of(const target_gpu_access *s, const char *place, int pack) {
    int64_t size = base_dtype_size(s->dtype);
    if (s->scratch)
        return target_emit_text(s->e, "((%s) & %d) == 0", place, pack - 1);
    return target_emit_text(s->e, "is_aligned(%s, %s, %lld, %lld)", s->pointer, place,
                            (long long)size, (long long)(size * pack));
}

/* The condition that decides for all packs: "" where each has its own, NULL where it is proved. */
static const char *common_alignment(const target_gpu_access *s, int pack) {
    if (s->access->align >= pack * base_dtype_size(s->dtype))
        return NULL;
    if (!base_decides(s, pack))
        return "";
    if (s->scratch && s->base == NULL)
        return NULL;
    const char *name = target_emit_fresh(s->e, target_emit_text(s->e, "%.32s_whole", s->pointer));
    target_emit_line(s->e, "const bool %s = %s;", name,
                     alignment_of(s, s->base != NULL ? s->base : "0", pack));
    return name;
}

/* All slots of the pack take part; NULL: always. Positions of a range that count on are in front of
 * the last one. */
static const char *mask_of(const target_gpu_access *s, int first, int pack) {
    if (s->access->whole)
        return target_gpu_guard(s, first);
    if (s->access->mask_kind == IR_MASK_RANGE && counts_on(s, &s->access->mask_affine, pack, 1))
        return target_gpu_guard(s, first + pack - 1);
    const char *all = NULL;
    for (int slot = first; slot < first + pack; slot++) {
        const char *guard = target_gpu_guard(s, slot);
        if (all == NULL || slot == first)
            all = guard;
        else if (strcmp(guard, target_gpu_guard(s, first)) != 0)
            all = target_emit_text(s->e, "%s && %s", all, guard);
    }
    return all;
}

static const char *condition_of(const target_gpu_access *s, int first, int pack,
                                const char *common) {
    const char *mask = mask_of(s, first, pack);
    if (common != NULL && common[0] == '\0')
        common = alignment_of(s, target_gpu_offset(s, first), pack);
    if (common == NULL || mask == NULL)
        return common == NULL ? mask : common;
    return target_emit_text(s->e, "%s && %s", common, mask);
}

/* ---- accesses ---- */

/* Where the memory is, before the type of what a pointer points to. */
static const char *space(const target_gpu_access *s) {
    const target_gpu_spelling *spelling = target_gpu_spelling_of(s->e);
    return s->scratch ? spelling->scratch_space : spelling->tensor_space;
}

static const char *loaded_pack(const target_gpu_access *s, int first, const char *type) {
    target_emitter *e = s->e;
    const char *policy = target_gpu_policy(s);
    const char *load = policy != NULL ? target_emit_text(e, "load_%s_%s(", policy, type) : "*";
    return target_emit_text(e, "%s(%sconst %s *)(%s + (%s))%s", load, space(s), type, s->pointer,
                            target_gpu_offset(s, first), policy != NULL ? ")" : "");
}

static void take_apart(const target_gpu_access *s, int first, int pack, const char *name) {
    for (int i = 0; i < pack; i++)
        target_emit_line(s->e, "%s = %s;", target_emit_name(s->e, s->op->results[0], first + i),
                         target_gpu_spelling_of(s->e)->pack_part(s->e, s->dtype, name, pack, i));
}

static void load_pack(const target_gpu_access *s, int first, int pack) {
    target_emitter *e = s->e;
    const char *type = target_gpu_spelling_of(e)->pack_type(e, s->dtype, pack);
    const char *name = target_emit_fresh(e, "pack");
    target_emit_line(e, "const %s %s = %s;", type, name, loaded_pack(s, first, type));
    take_apart(s, first, pack, name);
}

static void load_slots(const target_gpu_access *s, int first, int count) {
    for (int slot = first; slot < first + count; slot++)
        target_emit_line(s->e, "%s = %s;", target_emit_name(s->e, s->op->results[0], slot),
                         s->access->whole ? target_gpu_fill(s, slot) : target_gpu_loaded(s, slot));
}

/* A masked pack that is taken apart behind its branch. */
static void load_masked(const target_gpu_access *s, int first, int pack) {
    target_emitter *e = s->e;
    const target_gpu_spelling *spelling = target_gpu_spelling_of(e);
    const char *type = spelling->pack_type(e, s->dtype, pack), *parts[PACK_BYTES];
    const char *name = target_emit_fresh(e, "pack");
    target_emit_line(e, "%s %s;", type, name);
    target_emit_line(e, "if (%s) {", mask_of(s, first, pack));
    e->depth++;
    target_emit_line(e, "%s = %s;", name, loaded_pack(s, first, type));
    e->depth--;
    target_emit_line(e, "} else {");
    e->depth++;
    for (int i = 0; i < pack; i++) {
        parts[i] = target_emit_fresh(e, "part");
        target_emit_line(e, "const %s %s = %s;", target_emit_type(e, s->op->results[0]), parts[i],
                         s->access->whole ? target_gpu_fill(s, first + i)
                                          : target_gpu_loaded(s, first + i));
    }
    target_emit_line(e, "%s = %s;", name, spelling->pack_of(e, s->dtype, pack, parts));
    e->depth--;
    target_emit_line(e, "}");
    take_apart(s, first, pack, name);
}

static void store_pack(const target_gpu_access *s, int first, int pack) {
    const target_gpu_spelling *spelling = target_gpu_spelling_of(s->e);
    const char *type = spelling->pack_type(s->e, s->dtype, pack), *elements[PACK_BYTES];
    for (int i = 0; i < pack; i++)
        elements[i] = target_emit_name(s->e, ir_op_stored(s->op), first + i);
    const char *whole = spelling->pack_of(s->e, s->dtype, pack, elements);
    const char *place = target_emit_text(s->e, "(%s%s *)(%s + (%s))", space(s), type, s->pointer,
                                         target_gpu_offset(s, first));
    const char *policy = target_gpu_policy(s);
    if (policy != NULL)
        target_emit_line(s->e, "store_%s_%s(%s, %s);", policy, type, place, whole);
    else
        target_emit_line(s->e, "*%s = %s;", place, whole);
}

static void store_slots(const target_gpu_access *s, int first, int count) {
    for (int slot = first; slot < first + count; slot++)
        target_emit_line(s->e, "%s", target_gpu_storing(s, slot));
}

typedef struct pack_writer {
    void (*packed)(const target_gpu_access *access, int first, int pack);
    void (*apart)(const target_gpu_access *access, int first, int count); /* NULL: nothing */
} pack_writer;

/* `count` slots from `first` on: packed where the condition holds. */
static void write_group(const target_gpu_access *s, int pack, int first, int count,
                        const char *condition, pack_writer writer) {
    target_emitter *e = s->e;
    if (condition != NULL)
        target_emit_line(e, "if (%s) {", condition);
    e->depth += condition != NULL;
    for (int slot = first; slot < first + count; slot += pack)
        writer.packed(s, slot, pack);
    e->depth -= condition != NULL;
    if (condition == NULL)
        return;
    if (writer.apart != NULL) {
        target_emit_line(e, "} else {");
        e->depth++;
        writer.apart(s, first, count);
        e->depth--;
    }
    target_emit_line(e, "}");
}

/* Packs that one condition decides are one branch. */
static void write_packs(const target_gpu_access *s, int pack, pack_writer writer) {
    const char *common = common_alignment(s, pack);
    bool each = s->access->mask_kind != IR_MASK_NONE || (common != NULL && common[0] == '\0');
    int count = each ? pack : s->slots;
    for (int first = 0; first < s->slots; first += count)
        write_group(s, pack, first, count, condition_of(s, first, pack, common), writer);
}

void target_gpu_load_packs(const target_gpu_access *access, int pack) {
    const target_gpu_access *s = access;
    const ir_value *result = s->op->results[0];
    base_text names;
    base_text_init(&names, s->e->arena);
    for (int slot = 0; slot < s->slots; slot++)
        base_text_format(&names, "%s%s", slot > 0 ? ", " : "",
                         target_emit_name(s->e, result, slot));
    target_emit_line(s->e, "%s %s;", target_emit_type(s->e, result), names.bytes);
    int64_t size = base_dtype_size(s->dtype);
    bool apart = size < WORD_BYTES && s->dtype != BASE_BOOL &&
                 s->access->mask_kind != IR_MASK_NONE && s->access->align >= pack * size;
    for (int first = 0; apart && first < s->slots; first += pack)
        load_masked(s, first, pack);
    if (apart)
        return;
    write_packs(s, pack, (pack_writer){load_pack, load_slots});
}

void target_gpu_store_packs(const target_gpu_access *access, int pack) {
    write_packs(access, pack,
                (pack_writer){store_pack, access->access->whole ? NULL : store_slots});
}
