/* Constants and sizes in the emitted text: exact, and the same in every locale.
 *
 *     0.5   0.5f        1e-5 (as f32)   0x1.4f8b58p-17f        -0.0   (-0.0f)
 *     N // 1024         floor_div_i64(N, 1024)
 *
 * Negative numbers stand in parentheses, so that they may follow any operator. */
#include "target/emitter_internal.h"

#include <stdio.h>
#include <string.h>

const char *target_emit_integer(const target_emitter *emitter, int64_t value) {
    if (value == INT64_MIN)
        return "(-9223372036854775807 - 1)";
    if (value == INT32_MIN)
        return "(-2147483647 - 1)";
    return target_emit_text(emitter, value < 0 ? "(%lld)" : "%lld", (long long)value);
}

/* A short decimal where it is exact, else hexadecimal: 0.5f, 0x1.715476p+0f. */
static const char *float_literal(const target_emitter *e, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (value != value)
        return e->dialect->nan;
    const char *form = bits >> 63 != 0 ? "(-%s)" : "%s";
    bits &= ~(UINT64_C(1) << 63);
    if (bits == UINT64_C(0x7ff) << 52)
        return target_emit_text(e, form[0] == '(' ? "(-%s)" : "%s", e->dialect->infinity);
    char number[40];
    double magnitude;
    memcpy(&magnitude, &bits, sizeof magnitude);
    base_number_print(number, magnitude);
    if (strlen(number) > 8) { /* every f32 is a normal double */
        int exponent = (int)(bits >> 52) - 1023;
        uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
        int digits = 13;
        while (digits > 0 && (fraction & 15) == 0) {
            fraction >>= 4;
            digits--;
        }
        if (digits == 0)
            snprintf(number, sizeof number, "0x1p%+d", exponent);
        else
            snprintf(number, sizeof number, "0x1.%0*llxp%+d", digits, (unsigned long long)fraction,
                     exponent);
    }
    const char *text = target_emit_text(e, "%sf", number);
    return form[0] == '(' ? target_emit_text(e, "(-%s)", text) : text;
}

const char *target_emit_literal(const target_emitter *emitter, ir_constant constant) {
    switch (constant.dtype) {
    case BASE_F32:
    case BASE_F64:
        return float_literal(emitter, constant.real);
    case BASE_F16:
        return target_emit_text(emitter, "0x%04x", base_f16_from_double(constant.real));
    case BASE_BF16:
        return target_emit_text(emitter, "0x%04x", base_bf16_from_double(constant.real));
    case BASE_U32:
        return target_emit_text(emitter, "%uu", (unsigned)(uint32_t)constant.integer);
    case BASE_I64:
    case BASE_INDEX:
    case BASE_I32:
    case BASE_I8:
    case BASE_U8:
        return target_emit_integer(emitter, constant.integer);
    case BASE_BOOL:
        return constant.integer != 0 ? "1" : "0";
    }
    return "0";
}

bool target_emit_is_integer(const ir_value *value, int64_t *integer) {
    if (value->definer == NULL || value->definer->opcode != IR_CONSTANT)
        return false;
    *integer = value->definer->attributes.constant.integer;
    return base_dtype_is_integer(value->type.dtype);
}

/* ---- sizes ---- */

static const struct {
    const char *before, *between, *after;
} extent_spellings[] = {
    [LAYOUT_EXTENT_ADD] = {"(", " + ", ")"},
    [LAYOUT_EXTENT_SUB] = {"(", " - ", ")"},
    [LAYOUT_EXTENT_MUL] = {"", " * ", ""},
    [LAYOUT_EXTENT_DIV] = {"floor_div_i64(", ", ", ")"},
    [LAYOUT_EXTENT_MOD] = {"floor_mod_i64(", ", ", ")"},
    [LAYOUT_EXTENT_MIN] = {"minimum_i64(", ", ", ")"},
    [LAYOUT_EXTENT_MAX] = {"maximum_i64(", ", ", ")"},
};

const char *target_emit_extent(target_emitter *emitter, const layout_extent *extent) {
    int64_t known;
    if (layout_extent_known(&emitter->module->extents, extent, &known))
        return target_emit_integer(emitter, known);
    if (extent->kind == LAYOUT_EXTENT_CONSTANT)
        return target_emit_integer(emitter, extent->value);
    if (extent->kind == LAYOUT_EXTENT_SYMBOL)
        return emitter->symbols[extent->value];
    const char *left = target_emit_extent(emitter, extent->left);
    const char *right = target_emit_extent(emitter, extent->right);
    return target_emit_text(emitter, "%s%s%s%s%s", extent_spellings[extent->kind].before, left,
                            extent_spellings[extent->kind].between, right,
                            extent_spellings[extent->kind].after);
}
