/* Affine forms in C: what a lane's number adds to an index, in each register of the team.
 *
 * With 8 lanes in a register and subgroups of 32, lane*4 + subgroup*1024 is
 *
 *     g % 4 * 32 + g / 4 * 1024         by the number g of the register: `part`
 *     {0, 4, 8, 12, 16, 20, 24, 28}     by the lane of the register: `lanes`
 *
 * The form is not taken apart by its terms: its values at all positions are looked at. A part that
 * is no product of g or of g % 4 and g / 4 comes from a table, and so does a form that is no such
 * sum, such as lane % 3 (`table`: a vector for every register). */
#include "target/emitter_internal.h"

enum { STRIDE_MAX = 1 << 30 };

static int64_t value_at(const target_emitter *e, const ir_affine *affine, int64_t thread) {
    return ir_affine_at(affine, ir_module_position(e->module, thread, 0));
}

static int64_t difference(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* The numbers at the first lanes of the registers as an expression, where they are one. */
static const char *part_formula(const target_emitter *e, const int64_t *parts) {
    int64_t inner = e->parts > 1 ? parts[1] : 0;
    int64_t outer = e->registers > e->parts ? parts[e->parts] : 0;
    if (inner <= -STRIDE_MAX || inner >= STRIDE_MAX || outer <= -STRIDE_MAX || outer >= STRIDE_MAX)
        return NULL;
    for (int r = 0; r < e->registers; r++)
        if (parts[r] != r % e->parts * inner + r / e->parts * outer)
            return NULL;
    const char *g = e->part;
    if (e->registers == e->parts || e->parts == 1 || outer == inner * e->parts) {
        int64_t stride = e->parts > 1 ? inner : outer;
        return stride == 1 ? g : target_emit_text(e, "%s * %s", g, target_emit_integer(e, stride));
    }
    const char *low =
        target_emit_text(e, "%s %% %d * %s", g, e->parts, target_emit_integer(e, inner));
    const char *high =
        target_emit_text(e, "%s / %d * %s", g, e->parts, target_emit_integer(e, outer));
    return inner == 0 ? high : outer == 0 ? low : target_emit_text(e, "%s + %s", low, high);
}

/* A table of numbers before the loop. */
static const char *table_of(target_emitter *e, const int64_t *numbers, int64_t count) {
    base_text out;
    base_text_init(&out, e->arena);
    for (int64_t i = 0; i < count; i++)
        base_text_format(&out, "%s%s", i > 0 ? ", " : "", target_emit_integer(e, numbers[i]));
    const char *name = target_emit_fresh(e, "at");
    target_emit_outside(e, "static const i64 %s[%lld] = {%s};", name, (long long)count, out.bytes);
    return name;
}

target_c_position target_c_position_of(target_emitter *emitter, const ir_affine *affine) {
    target_emitter *e = emitter;
    int64_t count = (int64_t)e->registers * e->lanes;
    int64_t *all = BASE_NEW_ARRAY(e->arena, int64_t, count);
    int64_t *parts = BASE_NEW_ARRAY(e->arena, int64_t, e->registers);
    target_c_position position = {.positive = true, .strided = true, .lanes = all};
    bool sum = true, moves = false;
    for (int64_t i = 0; i < count; i++) {
        int64_t r = i / e->lanes, l = i % e->lanes;
        all[i] = value_at(e, affine, i);
        if (l == 0)
            parts[r] = all[i];
        moves = moves || parts[r] != 0;
        position.positive = position.positive && parts[r] >= 0;
        sum = sum && difference(all[i], parts[r]) == all[l];
    }
    position.stride = e->lanes > 1 ? all[1] : 0;
    for (int l = 0; l < e->lanes; l++)
        position.strided =
            position.strided && (uint64_t)all[l] == (uint64_t)l * (uint64_t)position.stride;
    if (!sum) {
        position = (target_c_position){.table = table_of(e, all, count)};
    } else if (moves) {
        position.part = part_formula(e, parts);
        if (position.part == NULL)
            position.part =
                target_emit_text(e, "%s[%s]", table_of(e, parts, e->registers), e->part);
    }
    return position;
}

const char *target_c_vector(const target_emitter *emitter, const int64_t *lanes, int64_t offset) {
    base_text out;
    base_text_init(&out, emitter->arena);
    base_text_format(&out, "(i64x%d){{", emitter->lanes);
    for (int l = 0; l < emitter->lanes; l++) {
        uint64_t value = (uint64_t)lanes[l] + (uint64_t)offset;
        base_text_string(&out, l == emitter->lanes / 2 ? "}, {" : l > 0 ? ", " : "");
        base_text_string(&out, target_emit_integer(emitter, (int64_t)value));
    }
    base_text_string(&out, "}}");
    return out.bytes;
}

const char *target_c_position_vector(target_emitter *emitter, const target_c_position *position,
                                     int64_t offset) {
    target_emitter *e = emitter;
    const char *part = position->part, *lanes;
    if (position->table == NULL) {
        lanes = target_c_vector(e, position->lanes, offset);
    } else {
        lanes = target_emit_text(e, "load_i64x%d(%s + %s * %d)", e->lanes, position->table, e->part,
                                 e->lanes);
        part = offset != 0 ? target_emit_integer(e, offset) : NULL;
    }
    if (part == NULL)
        return lanes;
    return target_emit_text(e, "add_i64x%d(splat_i64x%d(%s), %s)", e->lanes, e->lanes, part, lanes);
}
