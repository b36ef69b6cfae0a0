/* Lowering: operators, and expressions as such.
 *
 *     a > b      LT(b, a)        a / b     DIV in f32        -t      NEG in t's own type
 *     ~mask      NOT             x // 0    an error
 */
#include "base/nearest.h"
#include "text/lower_internal.h"

#include <string.h>

/* ---- unary ---- */

static lower_value negate(lowerer *l, lower_value a, base_location at) {
    base_dtype dtype = lower_dtype(a);
    bool keeps = dtype == BASE_F16 || dtype == BASE_BF16;
    bool narrow = dtype == BASE_I8 || dtype == BASE_U8;
    ir_value *operand = keeps ? a.value : lower_cast(l, a.value, lower_compute_dtype(dtype), at);
    lower_value result = lower_table_op(l, IR_NEG, at, 1, &operand, operand->type.dtype);
    if (narrow && result.kind == LOWER_TYPED) /* a tile keeps its type through negation */
        return lower_typed(lower_cast(l, result.value, dtype, at));
    return result;
}

static lower_value unary_expression(lowerer *l, const text_expression *node) {
    lower_value a = lower_expression(l, node->left);
    if (a.kind == LOWER_POISON)
        return a;
    if (a.kind == LOWER_LITERAL)
        return lower_fold_unary(l, node->operation, a, node->location);
    if (node->operation == TEXT_OPERATOR_NEG)
        return negate(l, a, node->location);
    base_dtype dtype = lower_dtype(a);
    if (base_dtype_is_float(dtype)) {
        lower_report(l, "type-mismatch", node->location, "`~` needs an integer or bool")->found =
            lower_describe(l, a);
        return lower_poison();
    }
    base_dtype computed = dtype == BASE_BOOL ? dtype : lower_compute_dtype(dtype);
    ir_value *operand = lower_cast(l, a.value, computed, node->location);
    return lower_table_op(l, IR_NOT, node->location, 1, &operand, computed);
}

/* ---- binary ---- */

static lower_mix mix_of(text_operator operation) {
    switch (operation) {
    case TEXT_OPERATOR_AND:
    case TEXT_OPERATOR_OR:
    case TEXT_OPERATOR_XOR:
        return LOWER_MIX_BITS;
    case TEXT_OPERATOR_LT:
    case TEXT_OPERATOR_LE:
    case TEXT_OPERATOR_GT:
    case TEXT_OPERATOR_GE:
    case TEXT_OPERATOR_EQ:
    case TEXT_OPERATOR_NE:
        return LOWER_MIX_COMPARE;
    case TEXT_OPERATOR_MUL:
    case TEXT_OPERATOR_DIV:
    case TEXT_OPERATOR_FLOOR_DIV:
    case TEXT_OPERATOR_FLOOR_MOD:
    case TEXT_OPERATOR_ADD:
    case TEXT_OPERATOR_SUB:
    case TEXT_OPERATOR_SHL:
    case TEXT_OPERATOR_SHR:
    case TEXT_OPERATOR_NEG:
    case TEXT_OPERATOR_NOT:
    case TEXT_OPERATOR_COUNT:
        return LOWER_MIX_COMPUTE;
    }
    return LOWER_MIX_COMPUTE;
}

static bool needs_integers(text_operator operation) {
    return operation == TEXT_OPERATOR_FLOOR_DIV || operation == TEXT_OPERATOR_FLOOR_MOD ||
           operation == TEXT_OPERATOR_SHL || operation == TEXT_OPERATOR_SHR ||
           mix_of(operation) == LOWER_MIX_BITS;
}

static bool is_order(text_operator operation) {
    return operation >= TEXT_OPERATOR_LT && operation <= TEXT_OPERATOR_GE;
}

/* A divisor that is zero whatever the sizes. */
static bool is_zero(lower_value b) {
    if (b.kind == LOWER_LITERAL)
        return !b.open && b.real == 0;
    if (b.kind != LOWER_TYPED || b.value->definer == NULL ||
        b.value->definer->opcode != IR_CONSTANT)
        return false;
    return base_dtype_is_integer(lower_dtype(b)) &&
           b.value->definer->attributes.constant.integer == 0;
}

/* What `/` does with one operand: floats and literals divide; an index beside a float converts. */
static bool divides_in_floats(lower_value operand, lower_value other) {
    if (operand.kind == LOWER_LITERAL || base_dtype_is_float(lower_dtype(operand)))
        return true;
    if (other.kind == LOWER_LITERAL)
        return lower_dtype(operand) == BASE_INDEX && !other.is_integer;
    return base_dtype_is_float(lower_dtype(other)); /* of the rest only index will unify */
}

/* `/` computes in f32; a real literal beside an index is f32 already. */
static bool prepare_division(lowerer *l, lower_value *a, lower_value *b, base_location at) {
    if (!divides_in_floats(*a, *b) || !divides_in_floats(*b, *a)) {
        base_diagnostic *item = lower_report(l, "type-mismatch", at, "`/` needs floats");
        item->found = lower_text(l, "%s and %s", lower_describe(l, *a), lower_describe(l, *b));
        item->hint = "write `//` for integer division, or `f32(...)` around an operand";
        return false;
    }
    lower_value *literal = a->kind == LOWER_LITERAL ? a : b;
    const lower_value *other = a->kind == LOWER_LITERAL ? b : a;
    if (literal->kind != LOWER_LITERAL || lower_dtype(*other) != BASE_INDEX)
        return true;
    ir_value *constant = lower_literal(l, *literal, BASE_F32, at);
    if (constant != NULL)
        *literal = lower_typed(constant);
    return constant != NULL;
}

static bool check_integers(lowerer *l, text_operator operation, lower_value a, lower_value b,
                           base_location at) {
    bool bits = mix_of(operation) == LOWER_MIX_BITS;
    for (int i = 0; i < 2; i++) {
        lower_value operand = i == 0 ? a : b;
        if (operand.kind != LOWER_TYPED || !base_dtype_is_float(lower_dtype(operand)))
            continue;
        base_diagnostic *item =
            lower_report(l, "type-mismatch", at, "`%s` needs %s", text_operator_spelling(operation),
                         bits ? "integers or bool" : "integers");
        item->found = lower_describe(l, operand);
        item->expected = bits ? "integers or bool" : "integers";
        item->hint = bits ? "comparisons bind looser than `&`, `|` and `^`: "
                            "write `(a > 0) & (b > 0)`"
                          : NULL;
        return false;
    }
    return true;
}

lower_value lower_operation(lowerer *l, text_operator operation, lower_value a, lower_value b,
                            base_location at) {
    if (a.kind == LOWER_POISON || b.kind == LOWER_POISON)
        return lower_poison();
    bool divides = operation == TEXT_OPERATOR_FLOOR_DIV || operation == TEXT_OPERATOR_FLOOR_MOD;
    if (divides && is_zero(b)) {
        base_diagnostic *item = lower_report(l, "zero-divisor", at, "division by zero");
        item->found = lower_describe(l, b);
        item->expected = "a divisor that is not 0";
        item->hint = "a divisor that is only known at run time may be 0: the result is then 0";
        return lower_poison();
    }
    if (needs_integers(operation) && !check_integers(l, operation, a, b, at))
        return lower_poison();
    if (a.kind == LOWER_LITERAL && b.kind == LOWER_LITERAL)
        return lower_fold_binary(l, operation, a, b, at);
    if (operation == TEXT_OPERATOR_DIV && !prepare_division(l, &a, &b, at))
        return lower_poison();
    lower_mix mix = mix_of(operation);
    if (is_order(operation) && a.kind == LOWER_TYPED && b.kind == LOWER_TYPED &&
        lower_dtype(a) == BASE_BOOL && lower_dtype(b) == BASE_BOOL)
        mix = LOWER_MIX_COMPUTE; /* order of bool is that of 0 and 1 */
    const char *what = lower_text(l, "`%s`", text_operator_spelling(operation));
    if (!lower_unify(l, mix, what, at, &a, &b))
        return lower_poison();
    bool swap = operation == TEXT_OPERATOR_GT || operation == TEXT_OPERATOR_GE;
    ir_value *operands[2] = {swap ? b.value : a.value, swap ? a.value : b.value};
    bool compares = mix_of(operation) == LOWER_MIX_COMPARE;
    return lower_table_op(l, text_operator_opcode(operation), at, 2, operands,
                          compares ? BASE_BOOL : operands[0]->type.dtype);
}

static lower_value binary_expression(lowerer *l, const text_expression *node) {
    lower_value a = lower_expression(l, node->left);
    lower_value b = lower_expression(l, node->right);
    return lower_operation(l, node->operation, a, b, node->location);
}

/* ---- names ---- */

static const char *nearest(lowerer *l, const char *name) {
    int64_t count = 0;
    int64_t limit = 200;
    const char **names = BASE_NEW_ARRAY(l->arena, const char *,
                                        l->kernel->parameter_count + l->kernel->size_count + limit);
    for (int64_t i = 0; i < l->kernel->parameter_count; i++)
        names[count++] = l->kernel->parameters[i].name->text;
    for (int64_t i = 0; i < l->kernel->size_count; i++)
        names[count++] = l->kernel->sizes[i].name->text;
    for (int64_t i = l->undo_count - 1; i >= 0 && l->undo_count - i <= limit; i--)
        names[count++] = l->undo[i].name->text;
    return base_nearest_name(name, names, count);
}

static lower_value report_unknown(lowerer *l, const text_expression *node,
                                  lower_binding_kind kind) {
    const char *name = node->name->text;
    base_diagnostic *item;
    if (kind == LOWER_LEFT_LOOP || kind == LOWER_LEFT_IF) {
        bool loop = kind == LOWER_LEFT_LOOP;
        item = lower_report(l, "undefined-name", node->location,
                            loop ? "`%s` exists only inside the loop"
                                 : "`%s` is assigned in one branch only",
                            name);
        item->hint = loop ? lower_text(l, "give `%s` a value before the loop", name)
                          : lower_text(l, "assign `%s` before the `if`, or in both branches", name);
        return lower_poison();
    }
    item = lower_report(l, "unknown-name", node->location, "unknown name `%s`", name);
    item->found = name;
    item->expected = "a parameter, a size or a name assigned above";
    const char *near = nearest(l, name);
    if (near != NULL)
        item->hint = lower_text(l, "did you mean `%s`?", near);
    else if (lower_is_function(node->name))
        item->hint = lower_text(l, "a function is called: `%s(...)`", name);
    else
        item->hint = lower_text(l,
                                l->module->program_count > 0
                                    ? "assign it first: `%s = ...`"
                                    : "assign it, or let it count programs: `program %s: N`",
                                name);
    return lower_poison();
}

static lower_value lower_parameter_name(lowerer *l, const text_expression *node,
                                        const text_parameter *parameter) {
    switch (parameter->kind) {
    case TEXT_PARAMETER_BROKEN:
        return lower_poison();
    case TEXT_PARAMETER_SCALAR:
        return lower_typed(lower_parameter(l, parameter->ordinal));
    case TEXT_PARAMETER_CONST:
        return lower_integer(l->bindings->consts[parameter->ordinal]);
    case TEXT_PARAMETER_DTYPE:
        lower_report(l, "type-as-value", node->location, "`%s` is an element type",
                     node->name->text)
            ->hint = lower_text(l, "a cast is written `%s(value)`", node->name->text);
        return lower_poison();
    case TEXT_PARAMETER_LAYOUT:
        lower_report(l, "layout-as-value", node->location, "`%s` is a layout, not a value",
                     node->name->text)
            ->hint =
            lower_text(l, "a layout says who owns a tile: `convert(t, %s)`, `arange(n, %s)`",
                       node->name->text, node->name->text);
        return lower_poison();
    case TEXT_PARAMETER_TENSOR:
        lower_report(l, "tensor-as-value", node->location, "`%s` is a tensor, not a tile",
                     node->name->text)
            ->hint =
            lower_text(l, "read from it with indices, such as `%s[row, :]`", node->name->text);
        return lower_poison();
    }
    return lower_poison();
}

static lower_value lower_name(lowerer *l, const text_expression *node) {
    const lower_binding *binding = &l->names[node->name->id];
    if (binding->kind == LOWER_BOUND || binding->kind == LOWER_FIXED)
        return binding->value;
    int index = text_kernel_find_parameter(l->kernel, node->name);
    if (index >= 0)
        return lower_parameter_name(l, node, &l->kernel->parameters[index]);
    int size = text_kernel_find_size(l->kernel, node->name);
    if (size < 0)
        return report_unknown(l, node, binding->kind);
    return lower_typed(lower_index_size(l, layout_extent_symbol(&l->module->extents, size)));
}

/* ---- expressions ---- */

static bool spend(lowerer *l, base_location at) {
    if (l->budget-- > 0)
        return true;
    if (!l->budget_reported)
        base_diagnostics_add(l->findings, "kernel-too-large", at, "the kernel is too large")
            ->expected = "fewer operations, or fewer loops inside loops whose carries start as "
                         "literals";
    l->budget_reported = true;
    return false;
}

static lower_value lower_number(const text_expression *node) {
    lower_value value = node->kind == TEXT_EXPRESSION_INTEGER ? lower_integer(node->integer)
                                                              : lower_real(node->real);
    value.location = node->location;
    return value;
}

lower_value lower_expression(lowerer *l, const text_expression *node) {
    if (!spend(l, node->location))
        return lower_poison();
    l->builder.location = node->location;
    switch (node->kind) {
    case TEXT_EXPRESSION_ERROR:
        return lower_poison();
    case TEXT_EXPRESSION_NAME:
        return lower_name(l, node);
    case TEXT_EXPRESSION_INTEGER:
    case TEXT_EXPRESSION_REAL:
        return lower_number(node);
    case TEXT_EXPRESSION_BOOL:
        return lower_typed(ir_build_constant(
            &l->builder, (ir_constant){.dtype = BASE_BOOL, .integer = node->boolean}));
    case TEXT_EXPRESSION_UNARY:
        return unary_expression(l, node);
    case TEXT_EXPRESSION_BINARY:
        return binary_expression(l, node);
    case TEXT_EXPRESSION_CALL:
        return lower_call(l, node);
    case TEXT_EXPRESSION_INDEX:
        return lower_index(l, node);
    case TEXT_EXPRESSION_LAYOUT:
        lower_report(l, "layout-as-value", node->location, "a layout is not a value")->hint =
            "a layout says who owns a tile: `convert(t, bits(...))`, `arange(n, bits(...))`";
        return lower_poison();
    }
    return lower_poison();
}
