/* The dialect of the cpu target: C with vector types of gcc and clang.
 *
 * A lane is a lane of a vector, a slot a variable; with one lane, slots are scalars. The emitted
 * file includes nothing and exports three functions (runtime/cpu.h states their contract):
 *
 *     void croft_NAME(void *const *pointers, const i64 *words, i64 begin, i64 end,
 *                     void *workspace);
 *     i64 croft_NAME_groups(const i64 *words);
 *     i64 croft_NAME_workspace(const i64 *words);
 *
 * In a vector a bool is an i32 mask, 0 or -1; f16 and bf16 are their bits; an i64 vector is a
 * struct of two halves, since twice the width of a register is what compilers handle badly. What
 * is not an operator of the language is a function of the prelude (c_prelude.def). Loads and stores
 * are in c_access.c. */
#include "target/emitter_internal.h"

#include <string.h>

/* ---- types ---- */

static bool c_vectors(const target_emitter *e) {
    return e->module->lanes > 1;
}

static base_dtype c_register_dtype(base_dtype dtype) {
    if (dtype == BASE_BOOL)
        return BASE_I32;
    return dtype == BASE_INDEX ? BASE_I64 : dtype;
}

static const char *c_type(const target_emitter *e, base_dtype dtype, bool vector) {
    const char *name = base_dtype_name(c_register_dtype(dtype));
    return vector ? target_emit_text(e, "%sx%d", name, e->module->lanes) : name;
}

static bool c_operators(base_dtype dtype, bool vector) {
    return !(vector && c_register_dtype(dtype) == BASE_I64);
}

static const char *c_splat(target_emitter *e, base_dtype dtype, const char *scalar) {
    const char *form = dtype == BASE_BOOL ? "splat_%s(-%s)"
                       : scalar[0] == '(' ? "splat_%s%s" /* a negative literal */
                                          : "splat_%s(%s)";
    return target_emit_text(e, form, c_type(e, dtype, true), scalar);
}

base_dtype target_c_memory_dtype(base_dtype dtype) {
    return dtype == BASE_BOOL ? BASE_U8 : c_register_dtype(dtype);
}

const char *target_c_iota(const target_emitter *emitter, int64_t lane_stride, int64_t offset) {
    int lanes = emitter->module->lanes;
    base_text out;
    base_text_init(&out, emitter->arena);
    base_text_format(&out, "(i64x%d){{", lanes);
    for (int l = 0; l < lanes; l++) {
        uint64_t value = (uint64_t)l * (uint64_t)lane_stride + (uint64_t)offset;
        base_text_string(&out, l == lanes / 2 ? "}, {" : l > 0 ? ", " : "");
        base_text_string(&out, target_emit_integer(emitter, (int64_t)value));
    }
    base_text_string(&out, "}}");
    return out.bytes;
}

/* ---- conversion ---- */

/* `to_from_from(expression)` on a vector, or the same on a scalar. */
static const char *c_convert(const target_emitter *e, const char *to, const char *from, bool vector,
                             const char *expression) {
    if (vector)
        return target_emit_text(e, "%s_from_%sx%d(%s)", to, from, e->module->lanes, expression);
    return target_emit_text(e, "%s_from_%s(%s)", to, from, expression);
}

/* The same integers modulo the width of `to`; also the bits of u32 as i32 and back. */
static const char *c_wrap(const target_emitter *e, base_dtype to, base_dtype from, bool vector,
                          const char *expression) {
    int64_t size_to = base_dtype_size(to), size_from = base_dtype_size(from);
    if (to == from)
        return expression;
    if (!vector || size_to == size_from)
        return target_emit_text(e, "(%s)%s", c_type(e, to, vector), expression);
    if (to == BASE_I64)
        return c_convert(e, "i64", base_dtype_name(from), true, expression);
    if (from == BASE_I64) {
        const char *low = c_convert(e, "i32", "i64", true, expression);
        return c_wrap(e, to, BASE_I32, true, low);
    }
    if (size_to == 1) {
        const char *narrow =
            c_convert(e, "i8", "i32", true, c_wrap(e, BASE_I32, from, true, expression));
        return c_wrap(e, to, BASE_I8, true, narrow);
    }
    return c_wrap(e, to, BASE_I32, true,
                  c_convert(e, "i32", base_dtype_name(from), true, expression));
}

/* The nearest value that `to` holds, still of type `from`. */
static const char *c_clamp(target_emitter *e, base_dtype to, base_dtype from, bool vector,
                           const char *expression) {
    const struct {
        ir_opcode opcode;
        int64_t limit;
        bool needed;
    } sides[] = {
        {IR_MAXIMUM, base_dtype_least(to), base_dtype_least(from) < base_dtype_least(to)},
        {IR_MINIMUM, base_dtype_greatest(to), base_dtype_greatest(from) > base_dtype_greatest(to)},
    };
    for (int i = 0; i < 2; i++) {
        if (!sides[i].needed)
            continue;
        ir_constant constant = {.dtype = from, .integer = sides[i].limit};
        const char *limit = target_emit_literal(e, constant);
        expression = target_emit_binary(e, sides[i].opcode, from, vector, expression,
                                        vector ? c_splat(e, from, limit) : limit);
    }
    return expression;
}

static const char *c_integer_from_f32(target_emitter *e, base_dtype to, ir_rounding rounding,
                                      bool vector, const char *expression) {
    if (rounding == IR_ROUND_EVEN)
        expression =
            target_emit_text(e, "round_even_%s(%s)", c_type(e, BASE_F32, vector), expression);
    if (base_dtype_size(to) >= 4)
        return c_convert(e, base_dtype_name(to), "f32", vector, expression);
    expression = c_convert(e, "i32", "f32", vector, expression);
    return c_wrap(e, to, BASE_I32, vector, c_clamp(e, to, BASE_I32, vector, expression));
}

static const char *c_float_from(target_emitter *e, base_dtype to, base_dtype from, bool vector,
                                const char *expression) {
    if (to == BASE_BF16 && from != BASE_F32)
        return c_convert(e, "bf16", "i64", vector,
                         vector ? c_wrap(e, BASE_I64, from, true, expression) : expression);
    if (from != BASE_F32) /* past 2^24, where this rounds, f16 is inf: one rounding */
        expression = vector ? c_convert(e, "f32", base_dtype_name(from), true, expression)
                            : target_emit_text(e, "(f32)%s", expression);
    return to == BASE_F32 ? expression
                          : c_convert(e, base_dtype_name(to), "f32", vector, expression);
}

/* To one of the types that compute: f16 and bf16 to f32, the small integers and bool to i32. */
static base_dtype c_widen(const target_emitter *e, base_dtype from, bool vector,
                          const char **expression) {
    if (from == BASE_F16 || from == BASE_BF16) {
        *expression = c_convert(e, "f32", base_dtype_name(from), vector, *expression);
        return BASE_F32;
    }
    if (from == BASE_BOOL && vector)
        *expression = target_emit_text(e, "(%s & 1)", *expression);
    else if (from == BASE_I8 || from == BASE_U8)
        *expression = c_wrap(e, BASE_I32, from, vector, *expression);
    return base_dtype_size(from) == 1 ? BASE_I32 : from;
}

static const char *c_cast(target_emitter *e, const ir_op *op, const char *operand, bool vector) {
    base_dtype to = op->results[0]->type.dtype, from = op->operands[0]->type.dtype;
    bool narrower = base_dtype_size(to) < base_dtype_size(from);
    bool saturates = op->attributes.rounding == IR_ROUND_EVEN && narrower;
    to = to == BASE_BOOL ? BASE_BOOL : c_register_dtype(to);
    from = from == BASE_BOOL ? BASE_BOOL : c_register_dtype(from);
    if (to == from)
        return operand;
    from = c_widen(e, from, vector, &operand);
    if (to == BASE_BOOL) {
        const char *zero = target_emit_literal(e, (ir_constant){.dtype = from});
        return target_emit_binary(e, IR_NE, from, vector, operand,
                                  vector ? c_splat(e, from, zero) : zero);
    }
    if (base_dtype_is_float(to))
        return c_float_from(e, to, from, vector, operand);
    if (from == BASE_F32)
        return c_integer_from_f32(e, to, op->attributes.rounding, vector, operand);
    if (saturates)
        operand = c_clamp(e, to, from, vector, operand);
    return c_wrap(e, to, from, vector, operand);
}

static const char *c_bitcast(target_emitter *e, const ir_op *op, const char *operand, bool vector) {
    base_dtype to = op->results[0]->type.dtype, from = op->operands[0]->type.dtype;
    if (vector || (to != BASE_F32 && from != BASE_F32))
        return target_emit_text(e, "(%s)%s", c_type(e, to, vector), operand);
    if (to == from)
        return operand;
    return target_emit_text(e, "%s_as_%s(%s)", base_dtype_name(from), base_dtype_name(to), operand);
}

const char *target_c_from_memory(const target_emitter *emitter, base_dtype dtype, bool vector,
                                 const char *expression) {
    if (dtype != BASE_BOOL)
        return expression;
    if (!vector)
        return target_emit_text(emitter, "%s != 0", expression);
    return target_emit_text(emitter, "%s != 0", c_convert(emitter, "i32", "u8", true, expression));
}

const char *target_c_to_memory(const target_emitter *emitter, base_dtype dtype, bool vector,
                               const char *expression) {
    if (dtype != BASE_BOOL)
        return expression;
    if (!vector)
        return target_emit_text(emitter, "(u8)%s", expression);
    return target_emit_text(emitter, "(u8x%d)i8_from_i32x%d(%s & 1)", emitter->module->lanes,
                            emitter->module->lanes, expression);
}

/* ---- lanes ---- */

static void c_iota(target_emitter *e, const ir_op *op) {
    const ir_value *result = op->results[0];
    target_emit_take_names(e, result, NULL);
    for (int s = 0; s < target_emit_slots(&result->type); s++) {
        int64_t offset = ir_affine_at(&op->attributes.affine, (ir_position){.slot = s}), stride = 0;
        ir_affine_stride(&op->attributes.affine, LAYOUT_LANE, &stride);
        target_emit_define(e, result, s,
                           c_vectors(e) ? target_c_iota(e, stride, offset)
                                        : target_emit_integer(e, (int64_t)offset));
    }
}

/* Halving: lane l takes lane l + h, for h = lanes/2 .. 1; lane 0 is the result. */
static void c_combine(target_emitter *e, const ir_op *op) {
    const ir_value *operand = op->operands[0], *result = op->results[0];
    base_dtype dtype = operand->type.dtype;
    ir_opcode opcode = target_emit_combine_opcode(op);
    const char *name = target_emit_name(e, operand, 0);
    int lanes = e->module->lanes;
    if (!target_emit_is_vector(e, &operand->type)) {
        target_emit_alias(e, result, name);
        return;
    }
    bool split = c_register_dtype(dtype) == BASE_I64;
    const char *type = c_type(e, dtype, true);
    target_emit_take_names(e, result, ir_monoid_describe(op->attributes.monoid)->text);
    const char *base = target_emit_name(e, result, 0);
    for (int h = lanes / 2; h > 0; h /= 2) {
        const char *next = target_emit_fresh(e, target_emit_text(e, "%s_lanes%d", base, h));
        const char *down = split && h == lanes / 2 ? "swap" : target_emit_text(e, "down%d", h);
        const char *moved = target_emit_text(e, "%s_%s(%s)", down, type, name);
        target_emit_line(e, "const %s %s = %s;", type, next,
                         target_emit_binary(e, opcode, dtype, true, name, moved));
        name = next;
    }
    const char *first = target_emit_text(e, split ? "%s.low[0]" : "%s[0]", name);
    target_emit_define(e, result, 0,
                       dtype == BASE_BOOL ? target_emit_text(e, "%s != 0", first) : first);
}

/* ---- private arrays ---- */

/* A slot of a cell, as an lvalue. */
static const char *c_cell(const target_emitter *e, const ir_op *op, int slot) {
    const ir_value *array = op->operands[0];
    const char *name = target_emit_name(e, array, 0);
    const char *cell = target_emit_name(e, op->operands[1], 0);
    int slots = array->type.slots;
    int64_t constant;
    if (slots <= 1)
        return target_emit_text(e, "%s[%s]", name, cell);
    if (target_emit_is_integer(op->operands[1], &constant))
        return target_emit_text(e, "%s[%s]", name, target_emit_integer(e, constant * slots + slot));
    return target_emit_text(e, slot > 0 ? "%s[%s * %d + %d]" : "%s[%s * %d]", name, cell, slots,
                            slot);
}

static void c_pull(target_emitter *e, const ir_op *op) {
    const ir_value *result = op->results[0];
    target_emit_take_names(e, result, NULL);
    for (int s = 0; s < target_emit_slots(&result->type); s++)
        target_emit_define(e, result, s, c_cell(e, op, s));
}

static void c_push(target_emitter *e, const ir_op *op) {
    const ir_value *array = op->operands[0], *value = op->operands[2];
    bool vector = array->type.slots > 0 && c_vectors(e);
    int slots = array->type.slots > 0 ? array->type.slots : 1;
    for (int s = 0; s < slots; s++) {
        const char *cell = c_cell(e, op, s);
        const char *next = target_emit_operand(e, value, s, vector);
        if (e->when != NULL && vector)
            next = target_emit_text(e, "select_%s(%s, %s, %s)", c_type(e, array->type.dtype, true),
                                    e->when, next, cell);
        target_emit_line(e, "%s = %s;", cell, next);
    }
}

/* ---- around the body ---- */

static const target_dialect c_dialect = {
    .type = c_type,
    .vectors = c_vectors,
    .operators = c_operators,
    .splat = c_splat,
    .cast = c_cast,
    .bitcast = c_bitcast,
    .iota = c_iota,
    .combine = c_combine,
    .load = target_c_load,
    .store = target_c_store,
    .pull = c_pull,
    .push = c_push,
};

/* The private arrays of a module, in order. */
typedef struct private_list {
    base_arena *arena;
    const ir_op **ops;
    int64_t count, capacity;
} private_list;

static bool private_visit(void *state, ir_op *op) {
    private_list *list = state;
    if (op->opcode == IR_PRIVATE)
        BASE_PUSH(list->arena, list->ops, list->count, list->capacity, op);
    return true;
}

static private_list private_find(target_emitter *e) {
    private_list list = {.arena = e->arena};
    ir_region_walk((ir_region *)&e->module->body, private_visit, &list);
    for (int64_t i = 0; i < list.count; i++) {
        const ir_value *array = list.ops[i]->results[0];
        target_emit_alias(e, array,
                          target_emit_fresh(e, array->name != NULL ? array->name : "cells"));
    }
    return list;
}

int64_t target_c_cell_bytes(const target_emitter *e, const ir_op *array) {
    const ir_type *type = &array->results[0]->type;
    int64_t cell = base_dtype_size(c_register_dtype(type->dtype));
    return type->slots > 0 ? cell * type->slots * e->module->lanes : cell;
}

/* Bytes of an array, up to a multiple of 64; the workspace has been found to fit 64 bits. */
static const char *private_bytes(target_emitter *e, const ir_op *op) {
    return target_emit_text(e, "((i64)%s * %lld + 63) / 64 * 64",
                            target_emit_extent(e, op->results[0]->type.extent[0]),
                            (long long)target_c_cell_bytes(e, op));
}

static void c_declare_privates(target_emitter *e, const private_list *list, base_text *out) {
    for (int64_t i = 0; i < list->count; i++) {
        const ir_value *array = list->ops[i]->results[0];
        const char *type = c_type(e, array->type.dtype, array->type.slots > 0 && c_vectors(e));
        base_text_format(out, "    %s *const %s = (%s *)memory;\n", type,
                         target_emit_name(e, array, 0), type);
        if (i + 1 < list->count)
            base_text_format(out, "    memory += %s;\n", private_bytes(e, list->ops[i]));
    }
}

void target_c_declare_words(const target_emitter *e, const target_names *used, base_text *out) {
    const ir_module *m = e->module;
    int64_t word = m->extents.symbol_count;
    for (int64_t i = 0; i < word; i++)
        if (target_names_has(used, e->symbols[i], strlen(e->symbols[i])))
            base_text_format(out, "    const i64 %s = words[%lld];\n", e->symbols[i], (long long)i);
    for (int i = 0; i < m->parameter_count; i++) {
        int rank = m->parameters[i].is_tensor ? m->parameters[i].value->type.rank : 0;
        for (int d = 0; d < rank; d++, word++) {
            const char *name = e->parameters[i].strides[d];
            if (target_names_has(used, name, strlen(name)))
                base_text_format(out, "    const i64 %s = words[%lld];\n", name, (long long)word);
        }
    }
    for (int i = 0; i < m->parameter_count; i++) {
        if (m->parameters[i].is_tensor)
            continue;
        const char *name = e->parameters[i].name;
        base_dtype dtype = m->parameters[i].dtype;
        const char *form = dtype == BASE_F32    ? "u32_as_f32((u32)words[%lld])"
                           : dtype == BASE_BOOL ? "(words[%lld] & 255) != 0"
                                                : NULL;
        if (form == NULL)
            form = target_emit_text(e, "(%s)words[%%lld]", c_type(e, dtype, false));
        if (target_names_has(used, name, strlen(name))) {
            base_text_format(out, "    const %s %s = ", c_type(e, dtype, false), name);
            base_text_format(out, form, (long long)word);
            base_text_string(out, ";\n");
        }
        word++;
    }
}

static void c_declare_pointers(const target_emitter *e, const target_names *used, base_text *out) {
    const ir_module *m = e->module;
    int pointer = 0;
    for (int i = 0; i < m->parameter_count; i++) {
        if (!m->parameters[i].is_tensor)
            continue;
        const char *name = e->parameters[i].name;
        const char *type = c_type(e, target_c_memory_dtype(m->parameters[i].dtype), false);
        if (target_names_has(used, name, strlen(name)))
            base_text_format(out, "    %s%s *const %s = pointers[%d];\n",
                             m->parameters[i].mode == IR_IN ? "const " : "", type, name, pointer);
        pointer++;
    }
}

static void c_append_entry(target_emitter *e, const char *entry, const private_list *privates,
                           base_text *out) {
    base_text declarations, tail;
    base_text_init(&declarations, e->arena);
    base_text_init(&tail, e->arena);
    c_declare_privates(e, privates, &declarations);
    target_names used;
    target_names_init(&used, e->arena);
    target_names_scan(&used, e->body.bytes);
    target_names_scan(&used, declarations.bytes);
    base_text_format(out,
                     "\nvoid %s(void *const *pointers, const i64 *words, i64 begin, i64 end,\n"
                     "    void *workspace) {\n",
                     entry);
    c_declare_pointers(e, &used, &tail);
    base_text_string(out, tail.length > 0 ? "" : "    (void)pointers;\n");
    base_text_string(out, tail.bytes);
    base_text_init(&tail, e->arena);
    target_c_declare_words(e, &used, &tail);
    base_text_string(out, tail.length > 0 ? "" : "    (void)words;\n");
    base_text_string(out, tail.bytes);
    base_text_string(out, privates->count > 0 ? "    char *memory = workspace;\n"
                                              : "    (void)workspace;\n");
    base_text_string(out, declarations.bytes);
    base_text_format(out, "    for (i64 %s = begin; %s < end; %s++) {\n", e->group, e->group,
                     e->group);
    base_text_string(out, e->body.bytes);
    base_text_string(out, "    }\n}\n");
}

static const char *const c_words[] = {"pointers", "words",    "begin",  "end",    "workspace",
                                      "memory",   "bytes",    "halves", "shorts", "chars",
                                      "va_list",  "__func__", NULL};

/* Vectors are explicit; what gcc's vectoriser of straight lines adds is nothing but its faults (gcc
 * 12 folds
 * `-4 >> (a == 0 ? 0 : 1)` in sixteen lanes to -1). */
static const char c_head[] = "#if defined(__GNUC__) && !defined(__clang__)\n"
                             "#pragma GCC diagnostic ignored \"-Wpsabi\"\n"
                             "#pragma GCC optimize(\"no-tree-slp-vectorize\")\n"
                             "#endif\n"
                             "#if defined(__clang__)\n"
                             "#pragma STDC FP_CONTRACT OFF\n"
                             "#endif\n\n";

static const char *c_entry_name(const target_emitter *e) {
    base_text out;
    base_text_init(&out, e->arena);
    base_text_format(&out, "croft_%s", e->module->name);
    return out.bytes;
}

target_source target_c_emit(base_arena *arena, const ir_module *module, const machine *on) {
    target_emitter emitter = {
        .arena = arena, .module = module, .machine = on, .dialect = &c_dialect};
    target_emitter *e = &emitter;
    const char *entry = c_entry_name(e);
    base_text functions, out;
    base_text_init(&functions, arena);
    base_text_init(&out, arena);

    private_list privates;
    target_emit_begin(e, c_words, target_c_prelude_names(arena, module->lanes));
    privates = private_find(e);
    target_emit_body(e, 2);
    c_append_entry(e, entry, &privates, &functions);
    target_c_groups(e, entry, &functions);
    target_c_workspace(e, entry, privates.ops, privates.count, &functions);

    target_names used;
    target_names_init(&used, arena);
    target_names_scan(&used, functions.bytes);
    base_text_format(
        &out,
        "/* Kernel %s for %s, %d lanes. Includes nothing, starts no thread; groups of\n"
        " * the grid are independent. Compile with -ffp-contract=off%s%s. */\n",
        module->name, on->name, module->lanes, on->compiler_flags[0] != '\0' ? " " : "",
        on->compiler_flags);
    base_text_string(&out, c_head);
    target_c_prelude(&out, &used, module->lanes);
    base_text_string(&out, functions.bytes);
    base_text_format(&out, "\n/* plan %016llx */\n", (unsigned long long)module->plan_hash);
    return (target_source){.text = out.bytes, .entry = entry};
}
