/* Signatures: what the parameters of a kernel mean.
 *
 *     x: in T[R, 2 * N], y: out f32[R, N], T: f32 | f16
 *         T is a dtype parameter; sizes R, N in this order; 2 * N is a formula that is checked
 *
 * A bare name in a dimension that is no const binds a size; a formula only uses sizes. It does not
 * look at arguments (bind.c) nor at the body.
 */
#include "text/ast_internal.h"

#include <string.h>

int text_kernel_find_parameter(const text_kernel *kernel, const text_name *name) {
    for (int64_t i = 0; i < kernel->parameter_count; i++)
        if (kernel->parameters[i].name == name)
            return (int)i;
    return -1;
}

int text_kernel_find_size(const text_kernel *kernel, const text_name *name) {
    for (int64_t i = 0; i < kernel->size_count; i++)
        if (kernel->sizes[i].name == name)
            return (int)i;
    return -1;
}

/* ---- types ---- */

static const text_parameter *find_typed(const text_kernel *kernel, const text_name *name) {
    int index = text_kernel_find_parameter(kernel, name);
    return index >= 0 ? &kernel->parameters[index] : NULL;
}

/* The type that a name of another language means, or NULL. */
static const char *foreign_type(const char *name) {
    static const struct {
        const char *name, *type;
    } rows[] = {
        {"float", "f32"},   {"float32", "f32"}, {"fp32", "f32"},      {"half", "f16"},
        {"float16", "f16"}, {"fp16", "f16"},    {"bfloat16", "bf16"}, {"int", "i32"},
        {"int32", "i32"},   {"long", "i64"},    {"int64", "i64"},     {"uint32", "u32"},
        {"int8", "i8"},     {"uint8", "u8"},    {"bool_", "bool"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].type;
    return NULL;
}

static void resolve_type(text_kernel *kernel, text_parameter *parameter,
                         base_diagnostics *diagnostics) {
    const text_name *name = parameter->type_name;
    const char *meant = foreign_type(name->text);
    const text_parameter *declared = find_typed(kernel, name);
    if (declared != NULL && declared->kind == TEXT_PARAMETER_DTYPE) {
        parameter->dtype_parameter = declared->ordinal;
        return;
    }
    if (declared != NULL && declared->kind == TEXT_PARAMETER_BROKEN) {
        parameter->kind = TEXT_PARAMETER_BROKEN;
        return;
    }
    if (base_dtype_from_name(name->text, (size_t)name->length, &parameter->dtype) &&
        parameter->dtype != BASE_INDEX && parameter->dtype != BASE_F64)
        return;
    base_diagnostic *item =
        base_diagnostics_add(diagnostics, "unknown-type", parameter->type_location,
                             "`%s` is not an element type", name->text);
    item->expected = "f32, f16, bf16, i64, i32, u32, i8, u8, bool or a type parameter";
    base_dtype dtype;
    bool exists = base_dtype_from_name(name->text, (size_t)name->length, &dtype);
    item->hint =
        meant != NULL ? base_diagnostics_text(diagnostics, "write `%s`", meant)
        : exists
            ? "no tensor has elements of that type; arrays are converted by who makes them"
            : base_diagnostics_text(diagnostics,
                                    "declare a type parameter in the list: `%s: f32 | f16 | bf16`",
                                    name->text);
    parameter->kind = TEXT_PARAMETER_BROKEN;
}

/* ---- sizes ---- */

static int add_size(base_arena *arena, text_kernel *kernel, const text_expression *at) {
    int index = text_kernel_find_size(kernel, at->name);
    if (index >= 0)
        return index;
    text_size size = {.name = at->name, .location = at->location};
    BASE_PUSH(arena, kernel->sizes, kernel->size_count, kernel->size_capacity, size);
    return (int)kernel->size_count - 1;
}

/* The names of a formula become sizes, unless they are parameters. */
static void collect_sizes(base_arena *arena, text_kernel *kernel, const text_expression *node) {
    if (node == NULL)
        return;
    if (node->kind == TEXT_EXPRESSION_NAME) {
        if (text_kernel_find_parameter(kernel, node->name) < 0)
            add_size(arena, kernel, node);
    } else if (node->kind == TEXT_EXPRESSION_BINARY) {
        collect_sizes(arena, kernel, node->left);
        collect_sizes(arena, kernel, node->right);
    } else if (node->kind == TEXT_EXPRESSION_CALL) {
        for (int i = 0; i < node->count; i++)
            collect_sizes(arena, kernel, node->arguments[i].value);
    }
}

static void resolve_dimension(base_arena *arena, text_kernel *kernel, text_dimension *dimension,
                              base_diagnostics *diagnostics) {
    const text_expression *formula = dimension->formula;
    bool is_size = formula->kind == TEXT_EXPRESSION_NAME &&
                   text_kernel_find_parameter(kernel, formula->name) < 0;
    if (dimension->dynamic && !is_size) {
        base_diagnostics_add(diagnostics, "dynamic-size", dimension->location,
                             "`dynamic` declares a size")
            ->expected = "a bare name, such as `dynamic N`";
    }
    if (!is_size) {
        collect_sizes(arena, kernel, formula);
        return;
    }
    dimension->size = add_size(arena, kernel, formula);
    kernel->sizes[dimension->size].bound_by_name = true;
    kernel->sizes[dimension->size].dynamic |= dimension->dynamic;
}

static void check_sizes(text_kernel *kernel, base_diagnostics *diagnostics) {
    for (int64_t i = 0; i < kernel->size_count; i++) {
        const text_size *size = &kernel->sizes[i];
        if (size->bound_by_name)
            continue;
        base_diagnostics_add(diagnostics, "unbound-size", size->location,
                             "no dimension binds the size `%s`", size->name->text)
            ->hint = "a size is bound where it stands alone as a dimension, such as `x: in f32[N]`";
    }
}

static void check_repeated(text_kernel *kernel, base_diagnostics *diagnostics) {
    for (int64_t i = 0; i < kernel->parameter_count; i++) {
        const text_parameter *parameter = &kernel->parameters[i];
        int first = text_kernel_find_parameter(kernel, parameter->name);
        if (first == (int)i)
            continue;
        base_diagnostic *item =
            base_diagnostics_add(diagnostics, "repeated-parameter", parameter->location,
                                 "a second parameter `%s`", parameter->name->text);
        item->hint = base_diagnostics_text(diagnostics, "the first is at %d:%d",
                                           (int)kernel->parameters[first].location.line,
                                           (int)kernel->parameters[first].location.column);
    }
}

void text_signature_resolve(base_arena *arena, text_kernel *kernel, base_diagnostics *diagnostics) {
    check_repeated(kernel, diagnostics);
    for (int64_t i = 0; i < kernel->parameter_count; i++) {
        text_parameter *parameter = &kernel->parameters[i];
        if (parameter->kind == TEXT_PARAMETER_DTYPE)
            parameter->ordinal = kernel->dtype_count++;
        else if (parameter->kind == TEXT_PARAMETER_CONST)
            parameter->ordinal = kernel->const_count++;
        else if (parameter->kind == TEXT_PARAMETER_LAYOUT)
            parameter->ordinal = kernel->layout_count++;
    }
    for (int64_t i = 0; i < kernel->parameter_count; i++) {
        text_parameter *parameter = &kernel->parameters[i];
        if (parameter->kind == TEXT_PARAMETER_TENSOR || parameter->kind == TEXT_PARAMETER_SCALAR)
            resolve_type(kernel, parameter, diagnostics);
        if (parameter->kind != TEXT_PARAMETER_TENSOR && parameter->kind != TEXT_PARAMETER_SCALAR)
            continue;
        parameter->ordinal = kernel->module_count++;
        for (int d = 0; d < parameter->rank; d++)
            resolve_dimension(arena, kernel, &parameter->dimensions[d], diagnostics);
    }
    check_sizes(kernel, diagnostics);
}

/* ---- formulas ---- */

static const struct {
    text_operator operation;
    layout_extent_kind kind;
} formula_rows[] = {
    {TEXT_OPERATOR_ADD, LAYOUT_EXTENT_ADD},       {TEXT_OPERATOR_SUB, LAYOUT_EXTENT_SUB},
    {TEXT_OPERATOR_MUL, LAYOUT_EXTENT_MUL},       {TEXT_OPERATOR_FLOOR_DIV, LAYOUT_EXTENT_DIV},
    {TEXT_OPERATOR_FLOOR_MOD, LAYOUT_EXTENT_MOD},
};

typedef struct formula {
    layout_extents *pool;
    const text_kernel *kernel;
    const int64_t *consts;
    base_diagnostics *diagnostics;
} formula;

static const layout_extent *reject_formula(formula *f, const text_expression *node) {
    base_diagnostic *item = base_diagnostics_add(f->diagnostics, "size-formula", node->location,
                                                 "this is not a size formula");
    item->expected = "sizes, consts and integers joined by + - * // % minimum maximum";
    return NULL;
}

static const layout_extent *build_binary(formula *f, const text_expression *node,
                                         layout_extent_kind kind, const layout_extent *left,
                                         const layout_extent *right) {
    bool divides = kind == LAYOUT_EXTENT_DIV || kind == LAYOUT_EXTENT_MOD;
    if (divides && right->kind == LAYOUT_EXTENT_CONSTANT && right->value == 0) {
        base_diagnostic *item = base_diagnostics_add(f->diagnostics, "zero-divisor", node->location,
                                                     "division by zero");
        item->found = "the literal 0";
        item->expected = "a divisor that is not 0";
        return NULL;
    }
    const layout_extent *result = layout_extent_binary(f->pool, kind, left, right);
    if (result == NULL)
        base_diagnostics_add(f->diagnostics, "size-overflow", node->location,
                             "the size formula overflows 64 bits");
    return result;
}

static const layout_extent *build(formula *f, const text_expression *node);

static const layout_extent *build_call(formula *f, const text_expression *node) {
    bool least = strcmp(node->name->text, "minimum") == 0 || strcmp(node->name->text, "min") == 0;
    bool most = strcmp(node->name->text, "maximum") == 0 || strcmp(node->name->text, "max") == 0;
    if ((!least && !most) || node->count != 2 || node->arguments[0].keyword != NULL ||
        node->arguments[1].keyword != NULL)
        return reject_formula(f, node);
    const layout_extent *left = build(f, node->arguments[0].value);
    const layout_extent *right = build(f, node->arguments[1].value);
    if (left == NULL || right == NULL)
        return NULL;
    return build_binary(f, node, least ? LAYOUT_EXTENT_MIN : LAYOUT_EXTENT_MAX, left, right);
}

static const layout_extent *build_name(formula *f, const text_expression *node) {
    int size = text_kernel_find_size(f->kernel, node->name);
    if (size >= 0)
        return layout_extent_symbol(f->pool, size);
    int index = text_kernel_find_parameter(f->kernel, node->name);
    if (index >= 0 && f->kernel->parameters[index].kind == TEXT_PARAMETER_CONST)
        return layout_extent_constant(f->pool, f->consts[f->kernel->parameters[index].ordinal]);
    base_diagnostic *item = base_diagnostics_add(f->diagnostics, "unknown-size", node->location,
                                                 "`%s` is not a size", node->name->text);
    item->expected = "a size or a const parameter";
    if (index >= 0 && f->kernel->parameters[index].kind == TEXT_PARAMETER_LAYOUT)
        item->found = "a layout";
    else if (index >= 0)
        item->found = "a parameter whose value is known only at run time";
    return NULL;
}

static const layout_extent *build(formula *f, const text_expression *node) {
    switch (node->kind) {
    case TEXT_EXPRESSION_NAME:
        return build_name(f, node);
    case TEXT_EXPRESSION_INTEGER:
        return layout_extent_constant(f->pool, node->integer);
    case TEXT_EXPRESSION_CALL:
        return build_call(f, node);
    case TEXT_EXPRESSION_BINARY:
        for (size_t i = 0; i < sizeof formula_rows / sizeof formula_rows[0]; i++) {
            if (formula_rows[i].operation != node->operation)
                continue;
            const layout_extent *left = build(f, node->left);
            const layout_extent *right = build(f, node->right);
            if (left == NULL || right == NULL)
                return NULL;
            return build_binary(f, node, formula_rows[i].kind, left, right);
        }
        return reject_formula(f, node);
    case TEXT_EXPRESSION_ERROR:
        return NULL;
    case TEXT_EXPRESSION_REAL:
    case TEXT_EXPRESSION_BOOL:
    case TEXT_EXPRESSION_UNARY:
    case TEXT_EXPRESSION_INDEX:
    case TEXT_EXPRESSION_LAYOUT:
        return reject_formula(f, node);
    }
    return NULL;
}

const layout_extent *text_formula_build(layout_extents *pool, const text_kernel *kernel,
                                        const int64_t *consts, const text_expression *node,
                                        base_diagnostics *diagnostics) {
    formula f = {pool, kernel, consts, diagnostics};
    return build(&f, node);
}

bool text_kernel_signature(const text_kernel *kernel, int index, text_signature_entry *entry) {
    if (index < 0 || index >= kernel->parameter_count)
        return false;
    const text_parameter *parameter = &kernel->parameters[index];
    *entry = (text_signature_entry){.name = parameter->name->text,
                                    .mode = parameter->mode,
                                    .dtype = parameter->dtype,
                                    .has_default = parameter->initial != NULL};
    switch (parameter->kind) {
    case TEXT_PARAMETER_TENSOR:
        entry->kind = TEXT_ENTRY_TENSOR;
        entry->rank = parameter->rank;
        entry->first_size = parameter->rank > 0 ? parameter->dimensions[0].size : -1;
        break;
    case TEXT_PARAMETER_SCALAR:
    case TEXT_PARAMETER_BROKEN:
        entry->kind = TEXT_ENTRY_SCALAR;
        break;
    case TEXT_PARAMETER_DTYPE:
        entry->kind = TEXT_ENTRY_DTYPE;
        entry->dtype = parameter->choices[0];
        break;
    case TEXT_PARAMETER_CONST:
        entry->kind = TEXT_ENTRY_CONST;
        break;
    case TEXT_PARAMETER_LAYOUT:
        entry->kind = TEXT_ENTRY_LAYOUT;
        break;
    }
    for (int64_t i = 0; parameter->dtype_parameter >= 0 && i < kernel->parameter_count; i++) {
        const text_parameter *other = &kernel->parameters[i];
        if (other->kind == TEXT_PARAMETER_DTYPE && other->ordinal == parameter->dtype_parameter) {
            entry->dtype_name = other->name->text;
            entry->dtype = other->choices[0];
        }
    }
    return true;
}
