/* The structured emitter: walks a level-thread module and writes statements of a C-like language.
 *
 * Every value becomes a constant variable per slot, in the order of the ops; constants become
 * literals where they are used; carries and results of branches become variables that are assigned.
 * Ops that no effect depends on are left out. For
 *
 *     %m = for %c = 0 .. %n step 1 carry(%a = %z) { ... yield %b }
 *
 * it writes
 *
 *     f32x8 m_0 = z;
 *     for (i64 c = 0; c < n; c++) {
 *         ...
 *         m_0 = b_0;
 *     }
 *
 * Types, memory, lanes and everything around the body are the dialect's (emitter_internal.h). The
 * emitter checks nothing: its input passed the verifier. */
#include "target/emitter_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- text ---- */

static const char *format_text(base_arena *arena, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = base_arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

const char *target_emit_text(const target_emitter *emitter, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_text(emitter->arena, format, arguments);
    va_end(arguments);
    return text;
}

static void append_line(target_emitter *e, const char *text) {
    for (int i = 0; i < e->depth; i++)
        base_text_string(&e->body, "    ");
    base_text_string(&e->body, text);
    base_text_string(&e->body, "\n");
}

enum { COMMENT_COLUMNS = 90 };

/* Source text for a `//` comment: one line, printable, without a `#` comment of its own, and never
 * ending in something that continues the line. */
static const char *comment_text(const target_emitter *emitter, const char *text, size_t length) {
    char clean[COMMENT_COLUMNS + 4];
    size_t written = 0;
    while (length > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        length--;
    }
    for (size_t i = 0; i < length && text[i] != '#' && text[i] != '\n'; i++) {
        if (written == COMMENT_COLUMNS) {
            memcpy(clean + written, "...", 3);
            written += 3;
            break;
        }
        bool printable = text[i] >= 0x20 && text[i] < 0x7f && text[i] != '\\' && text[i] != '?';
        clean[written++] = text[i] == '\t' ? ' ' : printable ? text[i] : '.';
    }
    while (written > 0 && clean[written - 1] == ' ')
        written--;
    return base_arena_copy(emitter->arena, clean, written);
}

static void find_lines(target_emitter *e, const base_source *source) {
    const char *text = source->text, *end = text + source->length;
    e->lines_of = source;
    e->line_count = 0;
    while (text != NULL && text < end) {
        BASE_PUSH(e->arena, e->lines, e->line_count, e->line_capacity, text);
        text = memchr(text, '\n', (size_t)(end - text));
        text = text != NULL ? text + 1 : NULL;
    }
}

/* The source line of the ops that follow, once, before the first line that they write. */
static void append_comment(target_emitter *e) {
    base_location location = e->pending;
    e->pending.line = 0;
    if (location.source == NULL || location.line <= 0 || location.line == e->comment_line)
        return;
    e->comment_line = location.line;
    if (e->lines_of != location.source)
        find_lines(e, location.source);
    const char *end = location.source->text + location.source->length;
    const char *text = location.line <= e->line_count ? e->lines[location.line - 1] : end;
    const char *name = location.source->name;
    append_line(e,
                target_emit_text(e, "// %s:%d   %s", comment_text(e, name, strlen(name)),
                                 (int)location.line, comment_text(e, text, (size_t)(end - text))));
}

void target_emit_line(target_emitter *emitter, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_text(emitter->arena, format, arguments);
    va_end(arguments);
    append_comment(emitter);
    append_line(emitter, text);
}

/* ---- values ---- */

bool target_emit_is_vector(const target_emitter *emitter, const ir_type *type) {
    return type->form == IR_FORM_SLOTS && emitter->dialect->vectors(emitter);
}

int target_emit_slots(const ir_type *type) {
    return type->form == IR_FORM_SLOTS ? type->slots : 1;
}

static target_variable *variable_create(const target_emitter *e, const ir_value *value) {
    target_variable *variable = &e->variables[value->number];
    variable->count = target_emit_slots(&value->type);
    variable->slots = BASE_NEW_ARRAY(e->arena, const char *, variable->count);
    return variable;
}

const char *target_emit_fresh(target_emitter *emitter, const char *wanted) {
    return target_names_take(&emitter->names, wanted, 1);
}

void target_emit_take_names(target_emitter *emitter, const ir_value *value, const char *fallback) {
    target_variable *variable = variable_create(emitter, value);
    const char *wanted = value->name != NULL ? value->name : fallback != NULL ? fallback : "v";
    const char *base = target_names_take(&emitter->names, wanted, variable->count);
    for (int s = 0; s < variable->count; s++)
        variable->slots[s] =
            variable->count == 1 ? base : target_emit_text(emitter, "%s_%d", base, s);
}

void target_emit_alias(target_emitter *emitter, const ir_value *value, const char *name) {
    target_variable *variable = variable_create(emitter, value);
    for (int s = 0; s < variable->count; s++)
        variable->slots[s] = name;
}

const char *target_emit_name(const target_emitter *emitter, const ir_value *value, int slot) {
    const target_variable *variable = &emitter->variables[value->number];
    return variable->slots[slot < variable->count ? slot : 0];
}

const char *target_emit_operand(target_emitter *emitter, const ir_value *value, int slot,
                                bool vector) {
    const char *name = target_emit_name(emitter, value, slot);
    if (vector && value->type.form != IR_FORM_SLOTS)
        return emitter->dialect->splat(emitter, value->type.dtype, name);
    return name;
}

static const char *type_of(const target_emitter *e, const ir_value *value) {
    return e->dialect->type(e, value->type.dtype, target_emit_is_vector(e, &value->type));
}

void target_emit_define(target_emitter *emitter, const ir_value *value, int slot,
                        const char *expression) {
    target_emit_line(emitter, "const %s %s = %s;", type_of(emitter, value),
                     target_emit_name(emitter, value, slot), expression);
}

/* ---- arithmetic ---- */

/* How an op on one to three values is spelled: an operator where the type has one, else a helper
 * `helper_TYPE(a, b)`. Signed integers wrap, which the operators + - * do not promise. */
typedef struct spelling {
    const char *infix;
    const char *helper;
    bool wraps;
} spelling;

static const spelling spellings[IR_OPCODE_COUNT] = {
    [IR_ADD] = {" + ", "add", true},
    [IR_SUB] = {" - ", "sub", true},
    [IR_MUL] = {" * ", "mul", true},
    [IR_DIV] = {" / ", NULL, false},
    [IR_FLOOR_DIV] = {NULL, "floor_div", false},
    [IR_FLOOR_MOD] = {NULL, "floor_mod", false},
    [IR_NEG] = {"-", "neg", true},
    [IR_ABS] = {NULL, "abs", false},
    [IR_FMA] = {NULL, "fma", false},
    [IR_MAXIMUM] = {NULL, "maximum", false},
    [IR_MINIMUM] = {NULL, "minimum", false},
    [IR_MAXNUM] = {NULL, "maxnum", false},
    [IR_MINNUM] = {NULL, "minnum", false},
    [IR_SQRT] = {NULL, "sqrt", false},
    [IR_LT] = {" < ", "lt", false},
    [IR_LE] = {" <= ", "le", false},
    [IR_EQ] = {" == ", "eq", false},
    [IR_NE] = {" != ", "ne", false},
    [IR_SELECT] = {NULL, "select", false},
    [IR_AND] = {" & ", "and", false},
    [IR_OR] = {" | ", "or", false},
    [IR_XOR] = {" ^ ", "xor", false},
    [IR_NOT] = {"~", "not", false},
    [IR_SHL] = {NULL, "shl", false},
    [IR_SHR] = {NULL, "shr", false},
};

static bool spelled_by_operator(const target_emitter *e, ir_opcode opcode, base_dtype dtype,
                                bool vector) {
    const spelling *row = &spellings[opcode];
    bool signed_integer = base_dtype_kind_of(dtype) == BASE_KIND_SIGNED;
    return row->infix != NULL && e->dialect->operators(dtype, vector) &&
           !(row->wraps && signed_integer);
}

static const char *emit_unary(target_emitter *e, ir_opcode opcode, base_dtype dtype, bool vector,
                              const char *a) {
    if (opcode == IR_NOT && dtype == BASE_BOOL && !vector)
        return target_emit_text(e, "!%s", a);
    if (spelled_by_operator(e, opcode, dtype, vector))
        return target_emit_text(e, "%s%s", spellings[opcode].infix, a);
    return target_emit_text(e, "%s_%s(%s)", spellings[opcode].helper,
                            e->dialect->type(e, dtype, vector), a);
}

const char *target_emit_binary(target_emitter *emitter, ir_opcode opcode, base_dtype dtype,
                               bool vector, const char *a, const char *b) {
    if (spelled_by_operator(emitter, opcode, dtype, vector))
        return target_emit_text(emitter, "%s%s%s", a, spellings[opcode].infix, b);
    return target_emit_text(emitter, "%s_%s(%s, %s)", spellings[opcode].helper,
                            emitter->dialect->type(emitter, dtype, vector), a, b);
}

ir_opcode target_emit_combine_opcode(const ir_op *op) {
    const ir_monoid_info *monoid = ir_monoid_describe(op->attributes.monoid);
    return op->attributes.nan == IR_NAN_IGNORE ? monoid->combine_ignoring_nan : monoid->combine;
}

/* The same value, or equal constants. */
static bool same_value(const ir_value *a, const ir_value *b) {
    if (a == b)
        return true;
    if (a->definer == NULL || b->definer == NULL || a->definer->opcode != IR_CONSTANT ||
        b->definer->opcode != IR_CONSTANT)
        return false;
    const ir_constant *x = &a->definer->attributes.constant;
    const ir_constant *y = &b->definer->attributes.constant;
    return x->dtype == y->dtype && x->integer == y->integer &&
           memcmp(&x->real, &y->real, sizeof x->real) == 0;
}

/* select(lt(p, q), p, q) and select(lt(p, q), q, p) on f32 are one instruction on most machines:
 * `lesser(p, q)` is p < q ? p : q and `greater(q, p)` is q > p ? q : p. NULL when op is neither. */
static const char *extreme_of_select(const ir_op *op) {
    if (op->opcode != IR_SELECT || op->results[0]->type.dtype != BASE_F32)
        return NULL;
    const ir_op *less = op->operands[0]->definer;
    if (less == NULL || less->opcode != IR_LT)
        return NULL;
    const ir_value *p = less->operands[0], *q = less->operands[1];
    if (same_value(p, op->operands[1]) && same_value(q, op->operands[2]))
        return "lesser";
    if (same_value(q, op->operands[1]) && same_value(p, op->operands[2]))
        return "greater";
    return NULL;
}

static const char *emit_select(target_emitter *e, const ir_op *op, int slot, bool vector) {
    base_dtype dtype = op->results[0]->type.dtype;
    const char *type = e->dialect->type(e, dtype, vector);
    const char *a = target_emit_operand(e, op->operands[1], slot, vector);
    const char *b = target_emit_operand(e, op->operands[2], slot, vector);
    const char *extreme = extreme_of_select(op);
    if (extreme != NULL)
        return target_emit_text(e, "%s_%s(%s, %s)", extreme, type, a, b);
    const char *condition = target_emit_name(e, op->operands[0], slot);
    if (!target_emit_is_vector(e, &op->operands[0]->type))
        return target_emit_text(e, "%s ? %s : %s", condition, a, b);
    return target_emit_text(e, "select_%s(%s, %s, %s)", type, condition, a, b);
}

/* Floor division by a power of two is a shift, its remainder a mask, for negative numbers too. NULL
 * when the op is neither. */
static const char *emit_division_by_power(target_emitter *e, const ir_op *op, const char *a,
                                          bool vector) {
    int64_t divisor;
    if ((op->opcode != IR_FLOOR_DIV && op->opcode != IR_FLOOR_MOD) ||
        !target_emit_is_integer(op->operands[1], &divisor) || divisor <= 0 ||
        (divisor & (divisor - 1)) != 0)
        return NULL;
    bool quotient = op->opcode == IR_FLOOR_DIV;
    base_dtype dtype = op->results[0]->type.dtype;
    ir_constant constant = {.dtype = dtype,
                            .integer = quotient ? __builtin_ctzll((uint64_t)divisor) : divisor - 1};
    const char *b = target_emit_literal(e, constant);
    return target_emit_binary(e, quotient ? IR_SHR : IR_AND, dtype, vector, a,
                              vector ? e->dialect->splat(e, dtype, b) : b);
}

/* One slot of the result of a table op. */
static const char *emit_expression(target_emitter *e, const ir_op *op, int slot) {
    bool vector = target_emit_is_vector(e, &op->results[0]->type);
    const ir_value *first = op->operands[0];
    base_dtype dtype = first->type.dtype;
    if (op->opcode == IR_SELECT)
        return emit_select(e, op, slot, vector);
    const char *a = target_emit_operand(e, first, slot, vector);
    if (op->opcode == IR_CAST)
        return e->dialect->cast(e, op, a, vector);
    if (op->opcode == IR_BITCAST)
        return e->dialect->bitcast(e, op, a, vector);
    if (op->operand_count == 1)
        return emit_unary(e, op->opcode, dtype, vector, a);
    const char *power = emit_division_by_power(e, op, a, vector);
    if (power != NULL)
        return power;
    const char *b = target_emit_operand(e, op->operands[1], slot, vector);
    if (op->operand_count == 2)
        return target_emit_binary(e, op->opcode, dtype, vector, a, b);
    const char *c = target_emit_operand(e, op->operands[2], slot, vector);
    return target_emit_text(e, "%s_%s(%s, %s, %s)", spellings[op->opcode].helper,
                            e->dialect->type(e, dtype, vector), a, b, c);
}

static void emit_table_op(target_emitter *e, const ir_op *op) {
    const ir_value *result = op->results[0];
    target_emit_take_names(e, result, NULL);
    for (int s = 0; s < target_emit_slots(&result->type); s++)
        target_emit_define(e, result, s, emit_expression(e, op, s));
}

static void emit_fold(target_emitter *e, const ir_op *op) {
    const ir_value *operand = op->operands[0];
    const ir_value *result = op->results[0];
    ir_opcode opcode = target_emit_combine_opcode(op);
    bool vector = target_emit_is_vector(e, &operand->type);
    int count = target_emit_slots(&operand->type);
    const char **parts = BASE_NEW_ARRAY(e->arena, const char *, count);
    for (int s = 0; s < count; s++)
        parts[s] = target_emit_name(e, operand, s);
    target_emit_take_names(e, result, ir_monoid_describe(op->attributes.monoid)->text);
    const char *name = target_emit_name(e, result, 0);
    for (int half = count / 2; half > 0; half /= 2) {
        for (int s = 0; s < half; s++) {
            const char *whole = target_emit_binary(e, opcode, operand->type.dtype, vector, parts[s],
                                                   parts[s + half]);
            parts[s] =
                half == 1 ? whole : target_emit_fresh(e, target_emit_text(e, "%s_%d", name, s));
            if (half > 1)
                target_emit_line(e, "const %s %s = %s;", type_of(e, result), parts[s], whole);
        }
    }
    target_emit_define(e, result, 0, parts[0]);
}

static void emit_broadcast(target_emitter *e, const ir_op *op) {
    const ir_value *result = op->results[0];
    const ir_value *operand = op->operands[0];
    if (target_emit_slots(&result->type) == target_emit_slots(&operand->type) &&
        operand->type.form == IR_FORM_SLOTS) {
        e->variables[result->number] = e->variables[operand->number];
        return;
    }
    bool vector = target_emit_is_vector(e, &result->type);
    if (!vector) {
        target_emit_alias(e, result, target_emit_name(e, operand, 0));
        return;
    }
    const char *name = target_emit_fresh(e, result->name != NULL ? result->name : "v");
    target_emit_line(e, "const %s %s = %s;", type_of(e, result), name,
                     target_emit_operand(e, operand, 0, true));
    target_emit_alias(e, result, name);
}

/* ---- leaves ---- */

static void emit_constant(target_emitter *e, const ir_op *op) {
    target_emit_alias(e, op->results[0], target_emit_literal(e, op->attributes.constant));
}

static void emit_size(target_emitter *e, const ir_op *op) {
    const layout_extent *extent = op->attributes.extent;
    const char *text = target_emit_extent(e, extent);
    int64_t known;
    if (extent->kind == LAYOUT_EXTENT_SYMBOL ||
        layout_extent_known(&e->module->extents, extent, &known)) {
        target_emit_alias(e, op->results[0], text);
        return;
    }
    target_emit_take_names(e, op->results[0], NULL);
    target_emit_define(e, op->results[0], 0, text);
}

static void emit_parameter(target_emitter *e, const ir_op *op) {
    target_emit_alias(e, op->results[0], e->parameters[op->attributes.parameter].name);
}

static void emit_group(target_emitter *e, const ir_op *op) {
    target_emit_alias(e, op->results[0], e->group);
}

/* ---- regions ---- */

static void emit_region(target_emitter *e, const ir_region *region);

/* An assignment, slot by slot. */
static void emit_assign(target_emitter *e, const ir_value *place, const ir_value *source) {
    bool vector = target_emit_is_vector(e, &place->type);
    for (int s = 0; s < target_emit_slots(&place->type); s++) {
        const char *left = target_emit_name(e, place, s);
        const char *right = target_emit_operand(e, source, s, vector);
        if (strcmp(left, right) != 0)
            target_emit_line(e, "%s = %s;", left, right);
    }
}

static void emit_declare(target_emitter *e, const ir_value *value, const ir_value *initial) {
    bool vector = target_emit_is_vector(e, &value->type);
    for (int s = 0; s < target_emit_slots(&value->type); s++) {
        const char *name = target_emit_name(e, value, s);
        if (initial == NULL)
            target_emit_line(e, "%s %s;", type_of(e, value), name);
        else
            target_emit_line(e, "%s %s = %s;", type_of(e, value), name,
                             target_emit_operand(e, initial, s, vector));
    }
}

/* The position among the carries of a loop's region, -1 for anything else. */
static int carry_index(const ir_region *region, const ir_value *value) {
    for (int i = 1; i < region->argument_count; i++)
        if (region->arguments[i] == value)
            return i - 1;
    return -1;
}

/* A copy of a carry, slot by slot, taken before it is assigned. */
static const char **emit_copy(target_emitter *e, const ir_value *carry) {
    int slots = target_emit_slots(&carry->type);
    const char **copies = BASE_NEW_ARRAY(e->arena, const char *, slots);
    for (int s = 0; s < slots; s++) {
        const char *name = target_emit_name(e, carry, s);
        copies[s] = target_emit_fresh(e, target_emit_text(e, "%s_before", name));
        target_emit_line(e, "const %s %s = %s;", type_of(e, carry), copies[s], name);
    }
    return copies;
}

/* All carries take their next values at once: one that reads a carry assigned before it reads a
 * copy. */
static void emit_next_carries(target_emitter *e, const ir_region *region, const ir_op *yield) {
    int count = yield->operand_count;
    const char ***copies = BASE_NEW_ARRAY(e->arena, const char **, count + 1);
    for (int i = 0; i < count; i++) {
        int read = carry_index(region, yield->operands[i]);
        if (read >= 0 && read < i && copies[read] == NULL &&
            carry_index(region, yield->operands[read]) != read)
            copies[read] = emit_copy(e, region->arguments[read + 1]);
    }
    for (int i = 0; i < count; i++) {
        const ir_value *carry = region->arguments[i + 1];
        int read = carry_index(region, yield->operands[i]);
        if (read < 0 || read >= i || copies[read] == NULL) {
            emit_assign(e, carry, yield->operands[i]);
            continue;
        }
        for (int s = 0; s < target_emit_slots(&carry->type); s++)
            target_emit_line(e, "%s = %s;", target_emit_name(e, carry, s), copies[read][s]);
    }
}

/* The head of a loop. `k += step` past hi could overflow for a step above 1, so such a loop counts
 * its iterations. */
static void emit_for_head(target_emitter *e, const ir_op *op, const char *index) {
    const char *low = target_emit_name(e, op->operands[0], 0);
    const char *high = target_emit_name(e, op->operands[1], 0);
    const char *step = target_emit_name(e, op->operands[2], 0);
    int64_t step_value, high_value, last;
    bool constant = target_emit_is_integer(op->operands[2], &step_value);
    bool bounded = constant && target_emit_is_integer(op->operands[1], &high_value) &&
                   !__builtin_add_overflow(high_value, step_value, &last);
    if (constant && step_value == 1) {
        target_emit_line(e, "for (i64 %s = %s; %s < %s; %s++) {", index, low, index, high, index);
    } else if (bounded) {
        target_emit_line(e, "for (i64 %s = %s; %s < %s; %s += %s) {", index, low, index, high,
                         index, step);
    } else {
        const char *left = target_emit_fresh(e, target_emit_text(e, "%s_left", index));
        target_emit_line(e, "i64 %s = %s;", index, low);
        target_emit_line(e,
                         "for (u64 %s = trips(%s, %s, %s); %s > 0; %s--, %s = add_i64(%s, %s)) {",
                         left, low, high, step, left, left, index, index, step);
    }
}

static void emit_for(target_emitter *e, const ir_op *op) {
    const ir_region *region = op->regions[0];
    target_emit_take_names(e, region->arguments[0], "k");
    for (int i = 0; i < op->result_count; i++) {
        ir_value *carry = region->arguments[i + 1];
        const char *name = op->results[i]->name;
        target_emit_take_names(e, carry, name != NULL ? name : "carry");
        e->variables[op->results[i]->number] = e->variables[carry->number];
        emit_declare(e, carry, op->operands[i + 3]);
    }
    emit_for_head(e, op, target_emit_name(e, region->arguments[0], 0));
    e->depth++;
    emit_region(e, region);
    e->depth--;
    target_emit_line(e, "}");
}

static bool region_is_empty(const ir_region *region) {
    return region->first == NULL ||
           (region->first->opcode == IR_YIELD && region->first->operand_count == 0);
}

static void emit_if(target_emitter *e, const ir_op *op) {
    for (int i = 0; i < op->result_count; i++) {
        target_emit_take_names(e, op->results[i], NULL);
        emit_declare(e, op->results[i], NULL);
    }
    target_emit_line(e, "if (%s) {", target_emit_name(e, op->operands[0], 0));
    e->depth++;
    emit_region(e, op->regions[0]);
    e->depth--;
    if (op->region_count > 1 && !region_is_empty(op->regions[1])) {
        target_emit_line(e, "} else {");
        e->depth++;
        emit_region(e, op->regions[1]);
        e->depth--;
    }
    target_emit_line(e, "}");
}

static void emit_when(target_emitter *e, const ir_op *op) {
    const char *mask = target_emit_name(e, op->operands[0], 0);
    if (target_emit_is_vector(e, &op->operands[0]->type)) {
        const char *outer = e->when;
        e->when = outer == NULL ? mask : target_emit_text(e, "(%s & %s)", outer, mask);
        emit_region(e, op->regions[0]);
        e->when = outer;
        return;
    }
    target_emit_line(e, "if (%s) {", mask);
    e->depth++;
    emit_region(e, op->regions[0]);
    e->depth--;
    target_emit_line(e, "}");
}

static void emit_yield(target_emitter *e, const ir_op *op) {
    const ir_op *owner = op->parent->owner;
    if (owner != NULL && owner->opcode == IR_FOR)
        emit_next_carries(e, op->parent, op);
    for (int i = 0; owner != NULL && owner->opcode == IR_IF && i < op->operand_count; i++)
        emit_assign(e, owner->results[i], op->operands[i]);
}

/* ---- the walk ---- */

static void emit_iota(target_emitter *e, const ir_op *op) {
    e->dialect->iota(e, op);
}

static void emit_combine(target_emitter *e, const ir_op *op) {
    e->dialect->combine(e, op);
}

static void emit_load(target_emitter *e, const ir_op *op) {
    e->dialect->load(e, op);
}

static void emit_store(target_emitter *e, const ir_op *op) {
    e->dialect->store(e, op);
}

static void emit_pull(target_emitter *e, const ir_op *op) {
    e->dialect->pull(e, op);
}

static void emit_push(target_emitter *e, const ir_op *op) {
    e->dialect->push(e, op);
}

static void emit_nothing(target_emitter *e, const ir_op *op) {
    (void)e;
    (void)op;
}

/* Ops that have a spelling are table ops; these have statements of their own. */
static void (*const statements[IR_OPCODE_COUNT])(target_emitter *emitter, const ir_op *op) = {
    [IR_CONSTANT] = emit_constant, [IR_SIZE] = emit_size,       [IR_PARAMETER] = emit_parameter,
    [IR_GROUP] = emit_group,       [IR_IOTA] = emit_iota,       [IR_BROADCAST] = emit_broadcast,
    [IR_FOLD] = emit_fold,         [IR_COMBINE] = emit_combine, [IR_LOAD] = emit_load,
    [IR_STORE] = emit_store,       [IR_PULL] = emit_pull,       [IR_PUSH] = emit_push,
    [IR_PRIVATE] = emit_nothing,   [IR_FOR] = emit_for,         [IR_IF] = emit_if,
    [IR_WHEN] = emit_when,         [IR_YIELD] = emit_yield,
};

static void emit_region(target_emitter *e, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->result_count == 1 && !e->needed[op->results[0]->number])
            continue;
        bool silent = op->opcode == IR_CONSTANT || op->opcode == IR_PARAMETER ||
                      op->opcode == IR_GROUP || op->opcode == IR_YIELD;
        if (!silent)
            e->pending = op->location;
        if (statements[op->opcode] != NULL)
            statements[op->opcode](e, op);
        else
            emit_table_op(e, op);
    }
}

/* ---- what is needed ---- */

typedef struct need {
    target_emitter *emitter;
    const ir_value **stack;
    int64_t count, capacity;
} need;

static void need_value(need *n, const ir_value *value) {
    if (n->emitter->needed[value->number])
        return;
    n->emitter->needed[value->number] = true;
    BASE_PUSH(n->emitter->arena, n->stack, n->count, n->capacity, value);
}

static void need_operands(need *n, const ir_op *op) {
    int first = extreme_of_select(op) != NULL ? 1 : 0;
    for (int i = first; i < op->operand_count; i++)
        need_value(n, op->operands[i]);
}

/* Ops with an effect are needed, with everything that they read; loops and branches are taken as
 * having one. */
static bool need_effects(void *state, ir_op *op) {
    need *n = state;
    bool removable =
        ir_op_describe(op->opcode)->pure || op->opcode == IR_LOAD || op->opcode == IR_PULL;
    if (!removable) {
        need_operands(n, op);
        for (int i = 0; i < op->result_count; i++)
            need_value(n, op->results[i]);
    }
    while (n->count > 0) {
        const ir_value *value = n->stack[--n->count];
        if (value->definer != NULL)
            need_operands(n, value->definer);
    }
    return true;
}

/* ---- names that are taken from the start ---- */

static const char *const language_words[] = {
    "auto",   "break",    "case",   "char",     "const",    "continue", "default", "do",
    "double", "else",     "enum",   "extern",   "float",    "for",      "goto",    "if",
    "inline", "int",      "long",   "register", "restrict", "return",   "short",   "signed",
    "sizeof", "static",   "struct", "switch",   "typedef",  "typeof",   "union",   "unsigned",
    "void",   "volatile", "while",  "asm",      "linux",    "unix",     "i386",    NULL,
};

static void reserve(target_emitter *e, const char *const *words) {
    for (; *words != NULL; words++)
        target_names_add(&e->names, *words, strlen(*words));
}

static void name_parameters(target_emitter *e) {
    const ir_module *m = e->module;
    e->symbols = BASE_NEW_ARRAY(e->arena, const char *, m->extents.symbol_count + 1);
    for (int64_t i = 0; i < m->extents.symbol_count; i++)
        e->symbols[i] = target_emit_fresh(e, m->extents.symbols[i].name);
    e->parameters = BASE_NEW_ARRAY(e->arena, target_parameter, m->parameter_count + 1);
    for (int i = 0; i < m->parameter_count; i++) {
        const ir_parameter *parameter = &m->parameters[i];
        target_parameter *named = &e->parameters[i];
        named->name = target_emit_fresh(e, parameter->name);
        int rank = parameter->is_tensor ? parameter->value->type.rank : 0;
        for (int d = 0; d < rank; d++)
            named->strides[d] =
                target_emit_fresh(e, target_emit_text(e, "%.30s_stride%d", parameter->name, d));
        if (parameter->is_tensor)
            target_emit_alias(e, parameter->value, named->name);
    }
    e->group = target_emit_fresh(e, "group");
}

void target_emit_begin(target_emitter *emitter, const char *const *reserved,
                       const char *const *also_reserved) {
    const ir_module *module = emitter->module;
    target_names_init(&emitter->names, emitter->arena);
    base_text_init(&emitter->body, emitter->arena);
    emitter->variables = BASE_NEW_ARRAY(emitter->arena, target_variable, module->next_value + 1);
    emitter->needed = BASE_NEW_ARRAY(emitter->arena, bool, module->next_value + 1);
    reserve(emitter, language_words);
    reserve(emitter, reserved);
    reserve(emitter, also_reserved);
    name_parameters(emitter);
    need state = {.emitter = emitter};
    ir_region_walk((ir_region *)&module->body, need_effects, &state);
}

void target_emit_body(target_emitter *emitter, int depth) {
    emitter->depth = depth;
    emit_region(emitter, &emitter->module->body);
}
