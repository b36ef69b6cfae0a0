/* Lowering: tiles whose owners the kernel says.
 *
 *     arange(64, L)       ARANGE with the layout of the parameter L
 *     convert(v, bits(1, 0, 2, 3, 4))
 *
 * A layout is no value: it stands only as the second argument of these two. All layouts that a
 * kernel uses have one number of threads, which is that of its group. Which tiles lie together with
 * one, and that no two of them differ, is the business of pass/owners.c.
 */
#include "text/lower_internal.h"

#include <inttypes.h>
#include <string.h>

/* ---- the layout ---- */
static const text_layout *reject_layout(lowerer *l, const text_expression *node) {
    base_diagnostic *item =
        lower_report(l, "layout-expected", node->location, "this is not a layout");
    item->expected = "a layout parameter, or a layout such as `bits(3, 4, 5, 0, 1, 2)`";
    int index =
        node->kind == TEXT_EXPRESSION_NAME ? text_kernel_find_parameter(l->kernel, node->name) : -1;
    if (node->kind == TEXT_EXPRESSION_NAME && index < 0)
        item->hint = lower_text(l, "declare it in the list: `%s: layout = identity(1024, slots=4)`",
                                node->name->text);
    else if (node->kind == TEXT_EXPRESSION_CALL)
        item->hint = "layouts begin with bits, identity, blocked_cyclic, digits or gf2";
    return NULL;
}

/* The smallest identity of so many threads that holds so many elements; NULL: none that a kernel
 * may have. */
static const char *identity_of(lowerer *l, int64_t threads, int64_t elements) {
    for (int64_t slots = 1; slots <= 32; slots *= 2)
        if (threads * slots >= elements && (threads & (threads - 1)) == 0)
            return lower_text(l, "identity(%" PRId64 ", slots=%" PRId64 ")", threads * slots,
                              slots);
    return NULL;
}

/* All layouts of a kernel are of one group. */
static const text_layout *with_threads(lowerer *l, const text_layout *layout, base_location at) {
    if (l->layout == NULL)
        l->layout = layout;
    if (l->layout->threads == layout->threads)
        return layout;
    base_diagnostic *item = lower_report(
        l, "threads-differ", at,
        "the layouts of a kernel have one number of threads, these have %" PRId64 " and %" PRId64,
        l->layout->threads, layout->threads);
    item->found =
        lower_text(l, "`%.200s` with %" PRId64 " threads", layout->spelling, layout->threads);
    item->expected =
        lower_text(l, "%" PRId64 " threads, as `%.200s`", l->layout->threads, l->layout->spelling);
    const char *legal = identity_of(l, l->layout->threads, layout->size);
    item->hint = legal == NULL ? "slots may differ, threads may not"
                               : lower_text(l,
                                            "slots may differ, threads may not: legal is, for "
                                            "one, `%s`",
                                            legal);
    return NULL;
}

/* NULL: reported. */
static const text_layout *layout_argument(lowerer *l, const text_expression *node) {
    if (node->kind == TEXT_EXPRESSION_ERROR)
        return NULL;
    if (node->kind == TEXT_EXPRESSION_LAYOUT) {
        const base_source *source = l->kernel->file->source;
        text_layout *layout = BASE_NEW(l->arena, text_layout);
        text_layout_read(l->arena, l->kernel, l->bindings->consts, source,
                         (size_t)(node->layout - source->text), (size_t)node->count, layout,
                         l->diagnostics);
        return layout->known ? with_threads(l, layout, node->location) : NULL;
    }
    int index =
        node->kind == TEXT_EXPRESSION_NAME ? text_kernel_find_parameter(l->kernel, node->name) : -1;
    if (index >= 0 && l->kernel->parameters[index].kind == TEXT_PARAMETER_BROKEN)
        return NULL;
    if (index < 0 || l->kernel->parameters[index].kind != TEXT_PARAMETER_LAYOUT ||
        l->names[node->name->id].kind != LOWER_UNBOUND)
        return reject_layout(l, node);
    const text_layout *layout = &l->bindings->layouts[l->kernel->parameters[index].ordinal];
    return layout->known ? with_threads(l, layout, node->location) : NULL;
}

/* ---- the tile ---- */
static bool holds_tile(lowerer *l, const text_layout *layout, const layout_extent *extent,
                       base_location at) {
    int64_t elements = 0;
    base_diagnostic *item = NULL;
    if (!layout_extent_known(&l->module->extents, extent, &elements)) {
        item = lower_report(l, "layout-size", at, "a layout needs a tile of a known size");
        item->found = lower_text(l, "%s elements", lower_describe_extent(l, extent));
        item->expected = "a number, a const, or a size that the arguments give and that is not "
                         "dynamic";
        return false;
    }
    bool exact = layout->axis.exclusive_or != 0;
    if (elements == 0) {
        lower_report(l, "layout-size", at, "a layout for a tile without elements")->expected =
            "at least one element";
        return false;
    }
    if (elements <= layout->size && (!exact || elements == layout->size))
        return true;
    item = lower_report(l, "layout-size", at,
                        "a layout of %" PRId64 " elements for a tile of %" PRId64, layout->size,
                        elements);
    item->found = lower_text(l, "`%.200s`", layout->spelling);
    item->expected = exact ? "as many elements: with `xor` none is left over"
                           : lower_text(l, "at least %" PRId64 " elements", elements);
    const char *larger = identity_of(l, layout->threads, elements);
    if (larger != NULL)
        item->hint = lower_text(l, "`%s` has enough", larger);
    return false;
}

static void fix_layout(lowerer *l, ir_op *op, const text_layout *layout) {
    layout_axis *axis = BASE_NEW(l->arena, layout_axis);
    *axis = layout->axis;
    op->attributes.layout = axis;
}

lower_value lower_fix_owner(lowerer *l, lower_value tile, const text_expression *node) {
    const text_layout *layout = layout_argument(l, node);
    if (layout == NULL || tile.kind == LOWER_POISON)
        return lower_poison();
    if (!holds_tile(l, layout, tile.value->type.extent[0], node->location))
        return lower_poison();
    fix_layout(l, tile.value->definer, layout);
    return tile;
}

lower_value lower_convert(lowerer *l, const text_expression *node, lower_value value) {
    const text_expression *target = node->arguments[1].value;
    const text_layout *layout = layout_argument(l, target);
    if (layout == NULL || value.kind == LOWER_POISON)
        return lower_poison();
    if (!lower_is_tile(value)) {
        base_diagnostic *item = lower_report(l, "convert-scalar", node->arguments[0].location,
                                             "a scalar has no owner to convert");
        item->found = lower_describe(l, value);
        item->expected = "a tile";
        item->hint = "every thread of its program has a scalar already";
        return lower_poison();
    }
    ir_type type = value.value->type;
    if (type.rank != 1) {
        base_diagnostic *item =
            lower_report(l, "unsupported-layout", node->arguments[0].location,
                         "a tile of %d axes cannot be converted yet", type.rank);
        item->found = lower_describe(l, value);
        item->expected = "a tile of one axis";
        item->hint = "index it by one `arange`: `x[i // 8, i % 8]`";
        return lower_poison();
    }
    if (!holds_tile(l, layout, type.extent[0], target->location))
        return lower_poison();
    l->builder.location = node->location;
    ir_op *op = ir_build_op(&l->builder, IR_CONVERT, 1, &value.value, 1, &type, 0);
    fix_layout(l, op, layout);
    return lower_typed(op->results[0]);
}
