/* Lowering: indices, ranges, loads, and the axes of tiles.
 *
 *     x[row, k : +64]     LOAD, POINT row, RANGE from k of length 64; domain clamp(N - k, 0, 64)
 *     w[i]                with an index tile i: LOAD, GATHER i; the domain is that of i
 *     t[:, None]          EXPAND at axis 1          s[0, :]     DROP axis 0, of extent 1
 */
#include "text/lower_internal.h"

#include <inttypes.h>

/* ---- size formulas ---- */

/* A literal or size as a formula; NULL when reported. */
static const layout_extent *formula_of(lowerer *l, lower_value value, const char *what,
                                       base_location at) {
    const layout_extent *formula = NULL;
    if (value.kind == LOWER_POISON)
        return NULL;
    if (value.kind == LOWER_LITERAL && value.is_integer && !value.open)
        formula = layout_extent_constant(&l->module->extents, value.integer);
    else if (value.kind == LOWER_TYPED)
        formula = lower_formula(l, value.value);
    if (formula != NULL)
        return formula;
    base_diagnostic *item = lower_report(l, "range-length", at, "%s is not a size formula", what);
    item->found = lower_describe(l, value);
    item->expected = "sizes, consts and integers joined by + - * // % minimum maximum";
    item->hint = "a range of fixed length from a computed start is `a : +n`";
    return NULL;
}

/* A length that may be negative for some sizes is 0 then. */
static const layout_extent *clamp_length(lowerer *l, const layout_extent *length,
                                         base_location at) {
    layout_extents *pool = &l->module->extents;
    if (length->kind == LAYOUT_EXTENT_CONSTANT && length->value < 0) {
        lower_report(l, "negative-size", at, "the range has a negative length")->found =
            lower_text(l, "%" PRId64, length->value);
        return NULL;
    }
    if (!range_extent_not_negative(&l->range, length))
        length =
            layout_extent_binary(pool, LAYOUT_EXTENT_MAX, length, layout_extent_constant(pool, 0));
    return length;
}

/* ---- ranges ---- */

/* The start as an index scalar, NULL for 0; false when reported. */
static bool range_start(lowerer *l, const text_expression *node, ir_value **start) {
    *start = NULL;
    if (node == NULL)
        return true;
    lower_value value =
        lower_to_index(l, lower_expression(l, node), "the start of a range", node->location);
    if (value.kind == LOWER_POISON)
        return false;
    if (lower_is_tile(value)) {
        base_diagnostic *item =
            lower_report(l, "range-start", node->location, "the start of a range is not a scalar");
        item->found = lower_describe(l, value);
        return false;
    }
    const layout_extent *formula = lower_formula(l, value.value);
    if (formula != NULL && formula->kind == LAYOUT_EXTENT_CONSTANT && formula->value == 0)
        return true;
    *start = value.value;
    if (range_not_negative(&l->range, value.value))
        return true;
    base_diagnostic *item =
        lower_report(l, "range-start", node->location, "the start of a range may be negative");
    item->found = "a start that is not proved to be 0 or more";
    item->expected = "a start that is proved to be 0 or more";
    item->hint = "`maximum(s, 0)` proves it";
    return false;
}

static const layout_extent *range_length(lowerer *l, const text_index_item *item, ir_value *start,
                                         const layout_extent *extent) {
    if (item->length != NULL)
        return formula_of(l, lower_expression(l, item->length), "the length of a range",
                          item->length->location);
    if (item->last == NULL && start == NULL)
        return extent;
    if (item->last != NULL && start == NULL)
        return formula_of(l, lower_expression(l, item->last), "the end of a range",
                          item->last->location);
    ir_value *end = NULL;
    base_location at = item->last != NULL ? item->last->location : item->location;
    if (item->last == NULL) {
        end = lower_index_size(l, extent);
    } else {
        lower_value last =
            lower_to_index(l, lower_expression(l, item->last), "the end of a range", at);
        if (last.kind == LOWER_POISON)
            return NULL;
        end = last.value;
    }
    const layout_extent *length =
        end->type.rank == 0 ? range_distance(&l->range, start, end) : NULL;
    if (length != NULL)
        return length;
    base_diagnostic *report =
        lower_report(l, "range-length", at, "the length of the range is not a size formula");
    report->expected = "an end that is the start plus a size formula";
    report->hint = "write the length itself: `a : +n`";
    return NULL;
}

/* clamp(extent - start, 0, length), or NULL when that is the length. */
static ir_value *range_domain(lowerer *l, ir_value *start, const layout_extent *length,
                              const layout_extent *extent) {
    if ((start == NULL && length == extent) || range_fits(&l->range, start, length, extent))
        return NULL;
    ir_value *left = lower_index_size(l, extent);
    if (start != NULL)
        left = lower_index_binary(l, IR_SUB, left, start);
    ir_value *positive = lower_index_binary(l, IR_MAXIMUM, left, lower_index_constant(l, 0));
    return lower_index_binary(l, IR_MINIMUM, positive, lower_index_size(l, length));
}

/* ---- the indices of a tensor ---- */

static int add_operand(lower_access *access, ir_value *value) {
    access->operands[access->operand_count] = value;
    return access->operand_count++;
}

static bool build_range(lowerer *l, const text_index_item *item, const layout_extent *extent,
                        lower_access *access, ir_index *index) {
    ir_value *start;
    if (!range_start(l, item->first, &start))
        return false;
    const layout_extent *length = range_length(l, item, start, extent);
    if (length != NULL)
        length = clamp_length(l, length, item->location);
    if (length == NULL || !lower_check_extent(l, length, item->location))
        return false;
    *index = (ir_index){.kind = IR_INDEX_RANGE, .operand = -1, .vector = -1, .inside = true};
    index->length = lower_extent(l, length);
    if (start != NULL)
        index->operand = add_operand(access, start);
    int axis = access->shape.rank++;
    access->shape.extent[axis] = length;
    access->shape.domain[axis] = range_domain(l, start, length, extent);
    return true;
}

static bool build_value(lowerer *l, const text_index_item *item, const layout_extent *extent,
                        lower_access *access, ir_index *index) {
    lower_value raw = lower_expression(l, item->first);
    if (raw.kind == LOWER_LITERAL && raw.is_integer && raw.integer < 0 && !raw.open) {
        base_diagnostic *report =
            lower_report(l, "negative-index", item->first->location, "a negative index");
        report->found = lower_describe(l, raw);
        report->hint = "indices do not count from the end: write `N - 1`";
        return false;
    }
    lower_value value = lower_to_index(l, raw, "an index", item->first->location);
    if (value.kind == LOWER_POISON)
        return false;
    bool tile = lower_is_tile(value);
    *index = (ir_index){.kind = tile ? IR_INDEX_GATHER : IR_INDEX_POINT, .vector = -1};
    index->operand = add_operand(access, value.value);
    index->inside = range_inside(&l->range, value.value, extent);
    return true;
}

/* With an index tile the elements are those of the tiles together. */
static bool combine_gathers(lowerer *l, const text_expression *node, lower_access *access) {
    ir_value *tiles[IR_MAX_RANK];
    int count = 0;
    for (int d = 0; d < access->access->rank; d++)
        if (access->access->index[d].kind == IR_INDEX_GATHER)
            tiles[count++] = access->operands[access->access->index[d].operand];
    if (count == 0)
        return true;
    if (access->shape.rank > 0 || access->none_count > 0) {
        base_diagnostic *item = lower_report(l, "gather-range", node->location,
                                             "a range or None stands beside an index tile");
        item->expected = "beside an index tile every other index is a scalar or an index tile";
        item->hint = "give the range as a tile too: `x[i[:, None], arange(n)[None, :]]`";
        return false;
    }
    return lower_combine(l, node->location, count, tiles, &access->shape);
}

static bool check_item_count(lowerer *l, const text_expression *node, int rank) {
    int given = 0;
    for (int i = 0; i < node->count; i++)
        given += node->items[i].kind != TEXT_ITEM_NONE;
    if (given == rank)
        return true;
    base_diagnostic *item =
        lower_report(l, "index-count", node->location, "`%s` has %d dimension%s",
                     node->left->name->text, rank, rank == 1 ? "" : "s");
    item->found = lower_text(l, "%d ind%s", given, given == 1 ? "ex" : "ices");
    item->expected = lower_text(l, "%d", rank);
    item->hint = "`:` takes a whole dimension";
    return false;
}

static bool build_fill(lowerer *l, const text_expression *node, base_dtype dtype,
                       lower_access *access) {
    access->access->fill = -1;
    if (node->right == NULL)
        return true;
    base_location at = node->right->location;
    lower_value fill = lower_expression(l, node->right);
    if (fill.kind == LOWER_POISON)
        return false;
    if (fill.kind == LOWER_LITERAL) {
        ir_value *constant = lower_literal(l, fill, dtype, at);
        fill = constant != NULL ? lower_typed(constant) : lower_poison();
    }
    if (fill.kind == LOWER_POISON)
        return false;
    if (lower_is_tile(fill) || lower_dtype(fill) != dtype) {
        base_diagnostic *item = lower_report(l, "type-mismatch", at, "the fill does not fit");
        item->found = lower_describe(l, fill);
        item->expected = lower_text(l, "a literal or a scalar of type %s", base_dtype_name(dtype));
        return false;
    }
    bool partial = false;
    bool outside = false;
    for (int d = 0; d < access->access->rank; d++)
        outside = outside || !access->access->index[d].inside;
    for (int i = 0; i < access->shape.rank; i++)
        partial = partial || access->shape.domain[i] != NULL;
    if (partial && !outside) {
        lower_report(l, "fill-unused", at, "no index of this access can lie outside")->hint =
            "what a range has past its tensor is outside the tile's domain: use `pad(t, value)`";
        return false;
    }
    access->access->fill = add_operand(access, fill.value);
    access->access->fill_declared = true;
    return true;
}

ir_access_mode lower_mode(const lowerer *l, const text_name *name) {
    return l->kernel->parameters[text_kernel_find_parameter(l->kernel, name)].mode;
}

int lower_tensor(const lowerer *l, const text_name *name) {
    int index = text_kernel_find_parameter(l->kernel, name);
    if (index < 0 || l->kernel->parameters[index].kind != TEXT_PARAMETER_TENSOR)
        return -1;
    return l->home[l->kernel->parameters[index].ordinal];
}

bool lower_access_build(lowerer *l, const text_expression *node, int parameter,
                        lower_access *access) {
    ir_value *tensor = l->module->parameters[parameter].value;
    *access = (lower_access){.shape = ir_type_scalar(tensor->type.dtype)};
    access->access = BASE_NEW(l->arena, ir_access);
    access->access->rank = tensor->type.rank;
    access->access->width = 1;
    access->access->mask = -1;
    access->access->unique = node->unique;
    add_operand(access, tensor);
    if (!check_item_count(l, node, tensor->type.rank))
        return false;
    bool fine = true;
    int d = 0;
    for (int i = 0; i < node->count; i++) {
        const text_index_item *item = &node->items[i];
        if (item->kind == TEXT_ITEM_NONE) {
            if (access->none_count < IR_MAX_RANK)
                access->none_axes[access->none_count] = access->shape.rank + access->none_count;
            access->none_count++;
            continue;
        }
        const layout_extent *extent = tensor->type.extent[d];
        ir_index *index = &access->access->index[d++];
        fine = (item->kind == TEXT_ITEM_RANGE ? build_range(l, item, extent, access, index)
                                              : build_value(l, item, extent, access, index)) &&
               fine;
    }
    return fine && combine_gathers(l, node, access) &&
           build_fill(l, node, tensor->type.dtype, access);
}

/* ---- axes of tiles ---- */

static ir_value *expand(lowerer *l, ir_value *value, int axis, base_location at) {
    if (value->type.rank == IR_MAX_RANK) {
        lower_report(l, "rank-limit", at, "too many axes")->expected = "at most 4";
        return NULL;
    }
    ir_type type = value->type;
    for (int i = type.rank++; i > axis; i--) {
        type.extent[i] = type.extent[i - 1];
        type.domain[i] = type.domain[i - 1];
    }
    type.extent[axis] = layout_extent_constant(&l->module->extents, 1);
    type.domain[axis] = NULL;
    l->builder.location = at;
    ir_op *op = ir_build_op(&l->builder, IR_EXPAND, 1, &value, 1, &type, 0);
    op->attributes.axis = axis;
    return op->results[0];
}

static ir_value *drop(lowerer *l, ir_value *value, int axis, base_location at) {
    ir_type type = value->type;
    if (!lower_extent_is_one(type.extent[axis]) || type.domain[axis] != NULL) {
        base_diagnostic *item =
            lower_report(l, "tile-index", at, "`0` takes an axis of extent 1 away");
        item->found = lower_text(l, "extent %s", lower_describe_extent(l, type.extent[axis]));
        item->hint = "a tile has no elements to point at: reduce it, or index the tensor";
        return NULL;
    }
    type.rank--;
    for (int i = axis; i < type.rank; i++) {
        type.extent[i] = type.extent[i + 1];
        type.domain[i] = type.domain[i + 1];
    }
    type.extent[type.rank] = NULL;
    type.domain[type.rank] = NULL;
    l->builder.location = at;
    ir_op *op = ir_build_op(&l->builder, IR_DROP, 1, &value, 1, &type, 0);
    op->attributes.axis = axis;
    return op->results[0];
}

static bool reject_tile_item(lowerer *l, base_location at) {
    base_diagnostic *item =
        lower_report(l, "tile-index", at, "a tile cannot be indexed by values or ranges");
    item->expected = "`:`, `None`, or `0` on an axis of extent 1";
    item->hint = "index the tensor instead";
    return false;
}

/* One item on the tile; *axis moves past what it keeps. */
static bool apply_item(lowerer *l, const text_index_item *item, ir_value **value, int *axis) {
    if (item->kind == TEXT_ITEM_NONE) {
        *value = expand(l, *value, (*axis)++, item->location);
        return *value != NULL;
    }
    if (item->kind == TEXT_ITEM_RANGE) {
        if (item->first != NULL || item->last != NULL || item->length != NULL)
            return reject_tile_item(l, item->location);
        (*axis)++;
        return true;
    }
    lower_value index = lower_expression(l, item->first);
    if (index.kind == LOWER_POISON)
        return false;
    if (index.kind != LOWER_LITERAL || !index.is_integer || index.integer != 0 || index.open)
        return reject_tile_item(l, item->location);
    *value = drop(l, *value, *axis, item->location);
    return *value != NULL;
}

static lower_value index_tile(lowerer *l, const text_expression *node) {
    lower_value base = lower_expression(l, node->left);
    if (base.kind == LOWER_POISON)
        return base;
    if (!lower_is_tile(base)) {
        base_diagnostic *item =
            lower_report(l, "index-scalar", node->location, "this has no axes to index");
        item->found = lower_describe(l, base);
        item->expected = "a tensor or a tile";
        return lower_poison();
    }
    int given = 0;
    for (int i = 0; i < node->count; i++)
        given += node->items[i].kind != TEXT_ITEM_NONE;
    if (given != base.value->type.rank || node->unique || node->right != NULL) {
        base_diagnostic *item =
            lower_report(l, "tile-index", node->location, "the indices do not fit the tile");
        item->found = lower_describe(l, base);
        item->expected =
            lower_text(l, "%d of `:` or `0`, and None for new axes", base.value->type.rank);
        return lower_poison();
    }
    ir_value *value = base.value;
    int axis = 0;
    for (int i = 0; i < node->count; i++)
        if (!apply_item(l, &node->items[i], &value, &axis))
            return lower_poison();
    return lower_typed(value);
}

/* ---- loads ---- */

static lower_value lower_load(lowerer *l, const text_expression *node, int parameter) {
    lower_access access;
    if (lower_mode(l, node->left->name) == IR_OUT) {
        lower_report(l, "read-of-out", node->location, "`%s` is only written",
                     node->left->name->text)
            ->hint = "declare it `inout` to read what the caller put there";
        return lower_poison();
    }
    if (!lower_access_build(l, node, parameter, &access))
        return lower_poison();
    if (node->unique) {
        lower_report(l, "unique-load", node->location, "`unique` says something about a store");
        return lower_poison();
    }
    lower_owner_check_load(l, node, parameter, &access);
    ir_type type = access.shape;
    type.dtype = l->module->parameters[parameter].dtype;
    l->builder.location = node->location;
    ir_op *op =
        ir_build_op(&l->builder, IR_LOAD, access.operand_count, access.operands, 1, &type, 0);
    op->attributes.access = access.access;
    ir_value *value = op->results[0];
    for (int i = 0; i < access.none_count && value != NULL; i++)
        value = expand(l, value, access.none_axes[i], node->location);
    return value != NULL ? lower_typed(value) : lower_poison();
}

lower_value lower_index(lowerer *l, const text_expression *node) {
    if (node->left->kind == TEXT_EXPRESSION_NAME) {
        int parameter = lower_tensor(l, node->left->name);
        if (parameter >= 0)
            return lower_load(l, node, parameter);
    }
    return index_tile(l, node);
}
