/* Owners that the kernel fixes, as passes of level tile see them before there is a plan.
 *
 *     %i = arange 64                          free
 *     %u = load %x[gather %i]
 *     %v = convert %u layout lane 8 | ...
 *     %k = arange 64                          lies with %v: not the same op as %i
 *     %w = load %z[gather %k]
 *     %s = add %v, %w
 *
 * Equal ops on tiles of differently fixed classes compute the same elements for different owners;
 * one op for both would bring two layouts into one class. Two fixed layouts in one class are the
 * kernel's mistake and reported where they meet, and so is a tile with two owned axes: the threads
 * of a group own the elements along one.
 */
#include "pass/canonicalise_internal.h"
#include "pass/simplify.h"

#include "layout/tile.h"

#include <string.h>

static bool any_fixed(const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->attributes.layout != NULL)
            return true;
        for (int i = 0; i < op->region_count; i++)
            if (any_fixed(op->regions[i]))
                return true;
    }
    return false;
}

const analysis_axes *pass_owners_find(const ir_module *module) {
    if (module->level != IR_TILE || !any_fixed(&module->body))
        return NULL;
    analysis_axes *axes = BASE_NEW(module->arena, analysis_axes);
    *axes = analysis_axes_find(module->arena, module);
    return axes;
}

static const layout_axis *owner_of(const analysis_axes *owners, const ir_value *value, int i) {
    int axis = owners->of_value[value->number][i];
    return axis < 0 ? NULL : owners->axes[axis].fixed;
}

bool pass_owners_same(const analysis_axes *owners, const ir_value *a, const ir_value *b) {
    for (int i = 0; owners != NULL && i < a->type.rank; i++) {
        const layout_axis *x = owner_of(owners, a, i), *y = owner_of(owners, b, i);
        if ((x == NULL) != (y == NULL) || (x != NULL && !layout_axis_equal(x, y)))
            return false;
    }
    return true;
}

uint64_t pass_owners_hash(const analysis_axes *owners, uint64_t hash, const ir_value *value) {
    for (int i = 0; owners != NULL && i < value->type.rank; i++)
        hash = pass_hash_layout(hash, owner_of(owners, value, i));
    return hash;
}

/* ---- replacing ---- */
static void replace_uses(ir_region *region, const ir_value *from, ir_value *to) {
    for (ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->operand_count; i++)
            if (op->operands[i] == from)
                op->operands[i] = to;
        for (int i = 0; i < op->region_count; i++)
            replace_uses(op->regions[i], from, to);
    }
}

void pass_replace(ir_module *module, ir_op *op, ir_value *value) {
    if (value->name == NULL)
        value->name = op->results[0]->name;
    replace_uses(&module->body, op->results[0], value);
    ir_op_remove(op);
}

/* ---- two layouts in one class ---- */
static const char *layout_text(pass_context *context, const ir_value *fixer) {
    base_text text;
    base_text_init(&text, context->diagnostics->arena);
    layout_axis_spell(&text, fixer->definer->attributes.layout);
    return text.bytes;
}

/* "`v`", or where it is computed; `placed`: both, of one of two values with one name. */
static const char *value_text(pass_context *context, const ir_value *value, bool placed) {
    if (placed && value->definer != NULL)
        return base_diagnostics_text(context->diagnostics, "`%.100s` of %d:%d", value->name,
                                     (int)value->definer->location.line,
                                     (int)value->definer->location.column);
    if (value->name != NULL || value->definer == NULL)
        return base_diagnostics_text(context->diagnostics, "`%.100s`",
                                     value->name != NULL ? value->name : "?");
    const ir_op *op = value->definer;
    base_location at = op->location;
    if (op->opcode == IR_LOAD && op->operands[0]->name != NULL)
        return base_diagnostics_text(context->diagnostics, "what is read of `%.100s` at %d:%d",
                                     op->operands[0]->name, (int)at.line, (int)at.column);
    return base_diagnostics_text(context->diagnostics, "the value of %d:%d", (int)at.line,
                                 (int)at.column);
}

static bool refuse_conflict(const ir_module *module, pass_context *context) {
    const ir_value *first = NULL, *second = NULL;
    base_diagnostics *d = context->diagnostics;
    const ir_op *op = analysis_owners_conflict(module->arena, module, &first, &second);
    if (op == NULL)
        return false;
    const ir_value *a = analysis_owners_operand(module->arena, module, op, first);
    const ir_value *b = analysis_owners_operand(module->arena, module, op, second);
    a = a == NULL ? first : a;
    b = b == NULL ? second : b;
    bool alike = a->name != NULL && b->name != NULL && strcmp(a->name, b->name) == 0;
    const char *left = value_text(context, a, alike), *right = value_text(context, b, alike);
    const char *owner = layout_text(context, first);
    base_diagnostic *item = base_diagnostics_add(
        d, "layout-conflict", op->location, "%s and %s belong to different threads", left, right);
    item->found = base_diagnostics_text(d, "%s is owned as `%.200s`, %s as `%.200s`", left, owner,
                                        right, layout_text(context, second));
    item->expected = "one layout for the tiles that meet in an operation";
    item->hint = base_diagnostics_text(d, "`convert(%.100s, %.200s)` gives it the same owners",
                                       b->name != NULL ? b->name : "...", owner);
    return true;
}

/* ---- two layouts in one tile ---- */
typedef struct pair_search {
    const analysis_axes *axes;
    const ir_op *op; /* where there are two */
    const analysis_axis *owned[2];
} pair_search;

static bool has_two(pair_search *search, int rank, const int *axis) {
    int count = 0;
    for (int i = 0; i < rank; i++)
        if (axis[i] >= 0 && search->axes->axes[axis[i]].fixed != NULL && count < 2)
            search->owned[count++] = &search->axes->axes[axis[i]];
    return count == 2;
}

static bool search_pair(void *pointer, ir_op *op) {
    pair_search *search = pointer;
    bool found = false;
    for (int i = 0; i < op->result_count && !found; i++)
        found = op->results[i]->type.form == IR_FORM_TILE &&
                has_two(search, op->results[i]->type.rank,
                        search->axes->of_value[op->results[i]->number]);
    const analysis_store_axes *store =
        op->opcode == IR_STORE ? analysis_axes_of_store(search->axes, op) : NULL;
    if (found || (store != NULL && has_two(search, store->rank, store->axis)))
        search->op = op;
    return search->op == NULL;
}

static bool refuse_pair(ir_module *module, pass_context *context) {
    pair_search search = {.axes = pass_owners_find(module)};
    if (search.axes == NULL)
        return false;
    ir_region_walk(&module->body, search_pair, &search);
    if (search.op == NULL)
        return false;
    base_diagnostics *d = context->diagnostics;
    base_diagnostic *item = base_diagnostics_add(d, "layout-axes", search.op->location,
                                                 "a tile with two axes that layouts own");
    item->found = base_diagnostics_text(d, "%s along one, %s along the other",
                                        layout_text(context, search.owned[0]->fixed_by),
                                        layout_text(context, search.owned[1]->fixed_by));
    item->expected =
        "one axis with a layout: the threads own its elements, and all others of these";
    item->hint = "make the other index tile without a layout";
    return true;
}

bool pass_owners_refuse(ir_module *module, pass_context *context) {
    return refuse_conflict(module, context) || refuse_pair(module, context);
}
