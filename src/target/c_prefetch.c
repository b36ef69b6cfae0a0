/* Prefetches: beside a load, each line of what it reads some groups later, if this call has that
 * group.
 *
 *     %t = load %x[%group, %c*64 + lane + slot*16] prefetch=1 : f32(4)
 *
 *         const i64 x_ahead = group + 1 < end ? x_stride0 : 0;
 *         __builtin_prefetch(x_at + x_ahead, 0, 2);        a line of 64 bytes is 16 elements
 *         __builtin_prefetch(x_at + x_ahead + 16, 0, 2);   ..
 *
 * For the last groups of a call these are the lines of the load itself, so that no address is
 * outside the tensor. The lines go to the second level (2): in the first one they would push out
 * the row that is being worked on. */
#include "target/c_access_internal.h"

enum { LINE_BYTES = 64 };

/* The dimension that the group numbers: one of them, the verifier says. */
static int row_dimension(const target_c_access *s) {
    for (int d = 0; d + 1 < s->access->rank; d++) {
        const ir_index *index = &s->access->index[d];
        const ir_op *definer =
            index->operand >= 0 ? s->op->operands[index->operand]->definer : NULL;
        if (definer != NULL && definer->opcode == IR_GROUP)
            return d;
    }
    return -1;
}

/* A variable: elements from a row to the one that is fetched. */
static const char *distance(const target_c_access *s, int dimension) {
    target_emitter *e = s->e;
    int rows = s->access->prefetch;
    const char *stride = s->strides[dimension] != NULL ? s->strides[dimension] : "1";
    const char *name = target_emit_fresh(e, "ahead");
    const char *all = rows == 1 ? stride : target_emit_text(e, "%d * %s", rows, stride);
    target_emit_outside(e, "const i64 %s = %s + %d < end ? %s : 0;", name, e->group, rows, all);
    return name;
}

/* The lines of so many elements from the place of a slot on. */
static void fetch(const target_c_access *s, int slot, int64_t elements, const char *ahead) {
    int64_t line = LINE_BYTES / (int64_t)base_dtype_size(s->dtype);
    int64_t first =
        ir_affine_at(&s->access->index[s->access->rank - 1].affine, (ir_position){.slot = slot});
    for (int64_t i = (line - first % line) % line; i < elements; i += line) {
        const char *more = i > 0 ? target_emit_text(s->e, " + %lld", (long long)i) : "";
        target_emit_line(s->e, "__builtin_prefetch(%s + %s%s, 0, 2);",
                         target_c_access_place(s, slot), ahead, more);
    }
}

bool target_c_fetches(const target_c_access *s) {
    return s->access->prefetch > 0 && s->access->mask_kind == IR_MASK_NONE && s->e->when == NULL &&
           (s->shape == SHAPE_NEIGHBOURS || target_c_block_slots(s) > 0) && row_dimension(s) >= 0;
}

void target_c_prefetch(const target_c_access *s) {
    if (!target_c_fetches(s))
        return;
    const char *ahead = distance(s, row_dimension(s));
    int block = target_c_block_slots(s), together = block > 0 ? block : 1;
    for (int slot = 0; slot < s->slots || slot == 0; slot += together)
        fetch(s, slot, (int64_t)s->e->lanes * together, ahead);
}
