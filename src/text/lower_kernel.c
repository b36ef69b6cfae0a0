/* Lowering: a kernel with its bindings to a module.
 *
 *     kernel f(x: in f32[R, N], ...)  with R = 4, N = 8      symbols R, N = 8 known, parameters,
 *                                                            checks, programs, body
 *
 * The body is lowered twice: the first time, with its findings thrown away, tells which sizes stand
 * in extents of tiles. Those are widths, which are specialised (unless declared dynamic) before the
 * second.
 */
#include "text/lower_internal.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- findings ---- */

static const char *format_text(lowerer *l, const char *format, va_list arguments) {
    char text[512];
    int length = vsnprintf(text, sizeof text, format, arguments);
    size_t kept = length < 0 ? 0 : (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
    return base_arena_copy(l->arena, text, kept);
}

base_diagnostic *lower_report(lowerer *l, const char *slug, base_location at, const char *format,
                              ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *message = format_text(l, format, arguments);
    va_end(arguments);
    return base_diagnostics_add(l->diagnostics, slug, at, "%s", message);
}

const char *lower_text(lowerer *l, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_text(l, format, arguments);
    va_end(arguments);
    return text;
}

const char *lower_describe_extent(lowerer *l, const layout_extent *extent) {
    base_text text;
    base_text_init(&text, l->arena);
    layout_extent_print(&text, &l->module->extents, extent);
    int64_t value = 0;
    if (extent->kind != LAYOUT_EXTENT_CONSTANT &&
        layout_extent_known(&l->module->extents, extent, &value))
        base_text_format(&text, " = %lld", (long long)value);
    return text.bytes;
}

const char *lower_describe_shape(lowerer *l, const ir_type *type) {
    base_text text;
    base_text_init(&text, l->arena);
    base_text_string(&text, "[");
    for (int i = 0; i < type->rank; i++)
        base_text_format(&text, "%s%s", i > 0 ? ", " : "",
                         lower_describe_extent(l, type->extent[i]));
    base_text_string(&text, "]");
    return text.bytes;
}

const char *lower_describe(lowerer *l, lower_value value) {
    char number[40];
    if (value.kind == LOWER_POISON)
        return "an error";
    if (value.kind == LOWER_TYPED) {
        const ir_type *type = &value.value->type;
        return lower_text(l, "%s%s", base_dtype_name(type->dtype),
                          type->rank > 0 ? lower_describe_shape(l, type) : "");
    }
    if (value.is_integer)
        return lower_text(l, "the literal %lld", (long long)value.integer);
    base_number_print(number, value.real);
    return lower_text(l, "the literal %s", number);
}

/* ---- values ---- */

lower_value lower_poison(void) {
    return (lower_value){.kind = LOWER_POISON};
}

lower_value lower_typed(ir_value *value) {
    return (lower_value){.kind = LOWER_TYPED, .value = value};
}

lower_value lower_integer(int64_t value) {
    return (lower_value){
        .kind = LOWER_LITERAL, .is_integer = true, .integer = value, .real = (double)value};
}

lower_value lower_real(double value) {
    return (lower_value){.kind = LOWER_LITERAL, .real = value};
}

bool lower_is_tile(lower_value value) {
    return value.kind == LOWER_TYPED && value.value->type.rank > 0;
}

base_dtype lower_dtype(lower_value value) {
    return value.value->type.dtype;
}

/* ---- the module around the body ---- */

static void declare_sizes(lowerer *l, const bool *is_width) {
    for (int64_t s = 0; s < l->kernel->size_count; s++) {
        layout_extents_declare(&l->module->extents, l->kernel->sizes[s].name->text);
        layout_symbol *symbol = &l->module->extents.symbols[s];
        symbol->known = is_width[s] && !l->kernel->sizes[s].dynamic && l->bindings->sizes[s] >= 0;
        symbol->value = symbol->known ? l->bindings->sizes[s] : 0;
    }
}

static void declare_tensor(lowerer *l, const text_parameter *from, ir_parameter *to) {
    ir_type type = {.form = IR_FORM_TENSOR, .dtype = to->dtype, .rank = from->rank};
    to->is_tensor = true;
    to->mode = from->mode;
    for (int d = 0; d < from->rank; d++) {
        const text_dimension *dimension = &from->dimensions[d];
        type.extent[d] = text_formula_build(&l->module->extents, l->kernel, l->bindings->consts,
                                            dimension->formula, l->diagnostics);
        if (type.extent[d] == NULL) { /* reported */
            type.extent[d] = layout_extent_constant(&l->module->extents, 0);
            continue;
        }
        ir_shape_check check = {from->ordinal, d, type.extent[d]};
        if (dimension->size < 0)
            BASE_PUSH(l->arena, l->module->checks, l->module->check_count,
                      l->module->check_capacity, check);
    }
    to->value = ir_value_create(l->module, type, to->name);
}

static void declare_scalar(lowerer *l, const text_parameter *from, ir_parameter *to) {
    if (from->initial == NULL)
        return;
    const text_expression *node = from->initial;
    to->has_default = true;
    if (node->kind == TEXT_EXPRESSION_BOOL && to->dtype == BASE_BOOL) {
        to->initial = (ir_constant){.dtype = BASE_BOOL, .integer = node->boolean};
        return;
    }
    lower_value literal = node->kind == TEXT_EXPRESSION_INTEGER ? lower_integer(node->integer)
                          : node->kind == TEXT_EXPRESSION_REAL  ? lower_real(node->real)
                                                                : lower_integer(node->boolean);
    if (node->kind == TEXT_EXPRESSION_BOOL) {
        lower_report(l, "default-value", node->location, "the default of `%s` is not a number",
                     to->name)
            ->expected = base_dtype_name(to->dtype);
        return;
    }
    ir_region aside = {0}; /* the constant is only looked at */
    lower_scope scope;
    lower_scope_enter(l, &scope, &aside);
    ir_value *constant = lower_literal(l, literal, to->dtype, node->location);
    lower_scope_leave(l);
    if (constant != NULL)
        to->initial = constant->definer->attributes.constant;
}

static void declare_parameters(lowerer *l) {
    const text_kernel *kernel = l->kernel;
    l->module->parameters = BASE_NEW_ARRAY(l->arena, ir_parameter, kernel->module_count + 1);
    l->module->parameter_count = kernel->module_count;
    for (int64_t i = 0; i < kernel->parameter_count; i++) {
        const text_parameter *from = &kernel->parameters[i];
        if (from->kind != TEXT_PARAMETER_TENSOR && from->kind != TEXT_PARAMETER_SCALAR)
            continue;
        ir_parameter *to = &l->module->parameters[from->ordinal];
        to->name = from->name->text;
        to->location = from->location;
        to->dtype = l->bindings->arguments[from->ordinal].dtype;
        if (from->kind == TEXT_PARAMETER_TENSOR)
            declare_tensor(l, from, to);
        else
            declare_scalar(l, from, to);
    }
}

static void check_outputs(lowerer *l) {
    for (int i = 0; i < l->module->parameter_count; i++) {
        const ir_parameter *parameter = &l->module->parameters[i];
        if (parameter->is_tensor && parameter->mode == IR_OUT && !l->stored[l->home[i]])
            lower_report(l, "unwritten-output", parameter->location, "`%s` is never written",
                         parameter->name);
    }
}

/* One lowering with these widths specialised; notes the widths that it meets in l->is_width. */
static ir_module *lower_once(base_arena *arena, const text_kernel *kernel,
                             const text_bindings *bindings, base_diagnostics *diagnostics,
                             const bool *known, bool *is_width) {
    lowerer *l = BASE_NEW(arena, lowerer);
    l->arena = arena;
    l->kernel = kernel;
    l->bindings = bindings;
    l->diagnostics = l->findings = diagnostics;
    l->budget = LOWER_BUDGET;
    l->is_width = is_width;
    l->names = BASE_NEW_ARRAY(arena, lower_binding, kernel->file->name_count + 1);
    l->seen = BASE_NEW_ARRAY(arena, bool, kernel->file->name_count + 1);
    l->stored = BASE_NEW_ARRAY(arena, bool, kernel->module_count + 1);
    l->home = BASE_NEW_ARRAY(arena, int, kernel->module_count + 1);
    l->owners = BASE_NEW_ARRAY(arena, const lower_owner *, kernel->module_count + 1);
    l->module = ir_module_create(arena, kernel->name->text, kernel->file->source);
    l->builder = (ir_builder){l->module, &l->module->body, kernel->location};
    range_init(&l->range, arena, l->module, bindings->sizes);
    declare_sizes(l, known);
    declare_parameters(l);
    lower_homes_find(l);
    lower_scope scope;
    lower_scope_enter(l, &scope, &l->module->body);
    lower_block(l, &kernel->body);
    lower_scope_leave(l);
    check_outputs(l);
    lower_homes_check(l);
    if (l->dropped && diagnostics->count == 0)
        lower_report(l, "croft-bug", kernel->location,
                     "CROFT_BUG: a statement was left out without a finding")
            ->hint = "please report the kernel";
    return l->module;
}

static void copy_findings(base_diagnostics *to, const base_diagnostics *from) {
    for (int i = 0; i < from->count; i++) {
        const base_diagnostic *item = &from->items[i];
        *base_diagnostics_add(to, item->slug, item->location, "%s", item->message) = *item;
    }
    to->dropped += from->dropped;
}

ir_module *text_kernel_lower(base_arena *arena, const text_kernel *kernel,
                             const text_bindings *bindings, base_diagnostics *diagnostics) {
    bool *known = BASE_NEW_ARRAY(arena, bool, kernel->size_count + 1);
    ir_module *module = NULL;
    base_diagnostics *findings = BASE_NEW(arena, base_diagnostics);
    if (kernel->broken)
        return NULL;
    for (bool settled = false; !settled;) { /* each round but the last finds a width */
        bool *met = BASE_NEW_ARRAY(arena, bool, kernel->size_count + 1);
        base_diagnostics_init(findings, arena);
        module = lower_once(arena, kernel, bindings, findings, known, met);
        settled = true;
        for (int64_t s = 0; s < kernel->size_count; s++) {
            settled = settled && (known[s] || !met[s]);
            known[s] = known[s] || met[s];
        }
    }
    copy_findings(diagnostics, findings);
    return findings->count == 0 ? module : NULL;
}
