/* Lowering: names, regions, and index arithmetic that is built once.
 *
 * A scope is a region that is being filled. Its op (for, if) joins the outer region only when the
 * scope is closed, so that index arithmetic which a loop body needs, but which does not depend on
 * the loop, can be appended to the outer region meanwhile. Equal index arithmetic is one value:
 * domains are compared as values.
 *
 *     for k in 0..N step 64 { a = x[row, :64]; b = w[:64] }    one domain, built before the loop
 */
#include "text/lower_internal.h"

#include <inttypes.h>

#include "base/hash.h"

/* ---- names ---- */

void lower_bind(lowerer *l, const text_name *name, lower_binding binding) {
    lower_undo undo = {name, l->names[name->id]};
    BASE_PUSH(l->arena, l->undo, l->undo_count, l->undo_capacity, undo);
    l->names[name->id] = binding;
}

void lower_scope_enter(lowerer *l, lower_scope *scope, ir_region *region) {
    *scope = (lower_scope){.region = region,
                           .outer = l->scope,
                           .depth = l->scope != NULL ? l->scope->depth + 1 : 0,
                           .undo_start = l->undo_count,
                           .shared_start = l->shared_count};
    l->scope = scope;
    l->builder.region = region;
}

void lower_scope_leave(lowerer *l) {
    lower_scope *scope = l->scope;
    for (int64_t i = scope->shared_start; i < l->shared_count; i++)
        if (l->shared[i].op != NULL && l->shared[i].op->parent == scope->region)
            l->shared[i].op = NULL;
    l->scope = scope->outer;
    l->builder.region = scope->outer != NULL ? scope->outer->region : NULL;
}

void lower_scope_restore(lowerer *l, const lower_scope *scope) {
    while (l->undo_count > scope->undo_start) {
        lower_undo undo = l->undo[--l->undo_count];
        l->names[undo.name->id] = undo.before;
    }
}

/* ---- where values live ---- */

static const ir_region *region_of(const ir_value *value) {
    return value->definer != NULL ? value->definer->parent : value->region;
}

bool lower_exists_here(const lowerer *l, const ir_value *value) {
    const ir_region *region = region_of(value);
    for (const lower_scope *s = l->scope; s != NULL; s = s->outer)
        if (s->region == region)
            return true;
    return region == NULL;
}

/* The outermost open scope in which all operands exist. */
static lower_scope *home_of(lowerer *l, int count, ir_value *const *operands) {
    lower_scope *home = l->scope;
    while (home->outer != NULL) {
        for (int i = 0; i < count; i++)
            if (region_of(operands[i]) == home->region)
                return home;
        home = home->outer;
    }
    return home;
}

/* ---- shared ops ---- */

typedef struct shared_key {
    ir_opcode opcode;
    base_dtype dtype;
    int64_t number; /* constant, parameter */
    const layout_extent *extent;
    int count;
    ir_value *operands[LOWER_SHARED_OPERANDS];
} shared_key;

static uint64_t key_hash(const shared_key *key) {
    int64_t words[5 + LOWER_SHARED_OPERANDS] = {key->opcode, key->dtype, key->number,
                                                key->extent != NULL ? key->extent->id : -1,
                                                key->count};
    for (int i = 0; i < key->count; i++)
        words[5 + i] = key->operands[i]->number;
    return base_hash_bytes(BASE_HASH_START, words, sizeof words);
}

static bool key_matches(const shared_key *key, const ir_op *op) {
    if (op->opcode != key->opcode || op->results[0]->type.dtype != key->dtype ||
        op->attributes.extent != key->extent || op->operand_count != key->count)
        return false;
    if (op->opcode == IR_CONSTANT && op->attributes.constant.integer != key->number)
        return false;
    if (op->opcode == IR_PARAMETER && op->attributes.parameter != (int)key->number)
        return false;
    for (int i = 0; i < key->count; i++)
        if (op->operands[i] != key->operands[i])
            return false;
    return true;
}

static ir_value *build_shared(lowerer *l, const shared_key *key) {
    uint64_t bucket = key_hash(key) % LOWER_SHARED_BUCKETS;
    for (int64_t i = l->shared_bucket[bucket]; i > 0; i = l->shared[i - 1].next)
        if (l->shared[i - 1].op != NULL && key_matches(key, l->shared[i - 1].op))
            return l->shared[i - 1].op->results[0];
    ir_type type = ir_type_scalar(key->dtype);
    l->builder.region = home_of(l, key->count, key->operands)->region;
    ir_op *op = ir_build_op(&l->builder, key->opcode, key->count, key->operands, 1, &type, 0);
    l->builder.region = l->scope->region;
    op->attributes.extent = key->extent;
    if (key->opcode == IR_CONSTANT)
        op->attributes.constant = (ir_constant){.dtype = key->dtype, .integer = key->number};
    else if (key->opcode == IR_PARAMETER)
        op->attributes.parameter = (int)key->number;
    lower_shared entry = {op, l->shared_bucket[bucket]};
    BASE_PUSH(l->arena, l->shared, l->shared_count, l->shared_capacity, entry);
    l->shared_bucket[bucket] = l->shared_count;
    return op->results[0];
}

ir_value *lower_shared_constant(lowerer *l, base_dtype dtype, int64_t value) {
    return build_shared(l, &(shared_key){.opcode = IR_CONSTANT, .dtype = dtype, .number = value});
}

ir_value *lower_index_constant(lowerer *l, int64_t value) {
    return lower_shared_constant(l, BASE_INDEX, value);
}

ir_value *lower_index_size(lowerer *l, const layout_extent *extent) {
    if (extent->kind == LAYOUT_EXTENT_CONSTANT)
        return lower_index_constant(l, extent->value);
    return build_shared(l, &(shared_key){.opcode = IR_SIZE, .dtype = BASE_INDEX, .extent = extent});
}

ir_value *lower_shared_op(lowerer *l, ir_opcode opcode, base_dtype dtype, int count,
                          ir_value *const *operands) {
    shared_key key = {.opcode = opcode, .dtype = dtype, .count = count};
    for (int i = 0; i < count; i++)
        key.operands[i] = operands[i];
    return build_shared(l, &key);
}

ir_value *lower_index_binary(lowerer *l, ir_opcode opcode, ir_value *a, ir_value *b) {
    return lower_shared_op(l, opcode, BASE_INDEX, 2, (ir_value *[]){a, b});
}

ir_value *lower_parameter(lowerer *l, int parameter) {
    const ir_parameter *p = &l->module->parameters[parameter];
    ir_value *value = build_shared(
        l, &(shared_key){.opcode = IR_PARAMETER, .dtype = p->dtype, .number = parameter});
    value->name = p->name;
    return value;
}

const layout_extent *lower_formula(lowerer *l, const ir_value *value) {
    if (value->definer == NULL || value->type.rank != 0 || value->type.dtype != BASE_INDEX)
        return NULL;
    if (value->definer->opcode == IR_SIZE)
        return value->definer->attributes.extent;
    if (value->definer->opcode == IR_CONSTANT)
        return layout_extent_constant(&l->module->extents,
                                      value->definer->attributes.constant.integer);
    return NULL;
}

/* ---- widths ---- */

static void note_symbols(lowerer *l, const layout_extent *extent) {
    if (extent->kind == LAYOUT_EXTENT_SYMBOL) {
        l->is_width[extent->value] = true;
    } else if (extent->kind != LAYOUT_EXTENT_CONSTANT) {
        note_symbols(l, extent->left);
        note_symbols(l, extent->right);
    }
}

const layout_extent *lower_extent(lowerer *l, const layout_extent *extent) {
    note_symbols(l, extent);
    return extent;
}

/* Every size in the formula was given, also those that are not specialised. */
static bool is_bound(const lowerer *l, const layout_extent *extent) {
    if (extent->kind == LAYOUT_EXTENT_CONSTANT)
        return true;
    if (extent->kind == LAYOUT_EXTENT_SYMBOL)
        return l->bindings->sizes[extent->value] >= 0;
    return is_bound(l, extent->left) && is_bound(l, extent->right);
}

bool lower_check_extent(lowerer *l, const layout_extent *extent, base_location at) {
    int64_t count = 0;
    if (!is_bound(l, extent))
        return true;
    bool fits = layout_extent_evaluate(extent, l->bindings->sizes, &count);
    if (fits && count <= LOWER_AXIS_LIMIT)
        return true;
    base_diagnostic *item = lower_report(l, "size-overflow", at, "the axis is too long");
    item->found = fits ? lower_text(l, "%" PRId64, count) : "a formula that overflows 64 bits";
    item->expected = "at most 2^62";
    return false;
}
