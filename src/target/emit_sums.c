/* Sums of an address as text, in which what is not there is NULL.
 *
 *     row * x_stride0 + at            mul_i64(row, x_stride0), where it may wrap
 */
#include "target/emitter_internal.h"

#include <string.h>

const char *target_emit_sum(const target_emitter *emitter, bool wrap, const char *a,
                            const char *b) {
    if (a == NULL || b == NULL)
        return a == NULL ? b : a;
    return target_emit_text(emitter, wrap ? "add_i64(%s, %s)" : "%s + %s", a, b);
}

const char *target_emit_product(const target_emitter *emitter, bool wrap, const char *a,
                                const char *stride) {
    if (a == NULL || stride == NULL)
        return a;
    if (strcmp(a, "1") == 0)
        return stride;
    if (wrap)
        return target_emit_text(emitter, "mul_i64(%s, %s)", a, stride);
    return target_emit_text(emitter, strpbrk(a, "+-") != NULL ? "(%s) * %s" : "%s * %s", a, stride);
}

const char *target_emit_addend(const target_emitter *emitter, int64_t value) {
    return value == 0 ? NULL : target_emit_integer(emitter, value);
}

const char *target_emit_base(const target_emitter *emitter, const ir_op *op, bool wrap,
                             const char *const strides[IR_MAX_RANK]) {
    const ir_access *access = op->attributes.access;
    const char *sum = NULL;
    for (int d = 0; d < access->rank; d++) {
        int operand = access->index[d].operand;
        const char *name = operand < 0 ? NULL : target_emit_name(emitter, op->operands[operand], 0);
        if (name != NULL && strcmp(name, "0") == 0)
            name = NULL;
        sum = target_emit_sum(emitter, wrap, sum,
                              target_emit_product(emitter, wrap, name, strides[d]));
    }
    return sum;
}

bool target_emit_is_word(const char *text) {
    return strpbrk(text, " (") == NULL;
}
