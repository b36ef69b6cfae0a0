/* canonicalise: level tile to level tile. One form for all ways to write the same kernel.
 *
 *     a = x[row, :]              %t = load %x[%row, :]            x.0
 *     n = N / 1              ->  %m = reduce max %t               max.0
 *     m = max(x[row, :])         ...
 *
 * Constants are folded, gathers by an arange become ranges (canonicalise_ranges.c), invariant ops
 * leave loops, equal ops and loads become one, dead ops go (the passes fold, hoist, merge and
 * dead); then each region is put into an order that neither names nor
 * the order of independent statements change (canonicalise_order.c), and what a plan may speak of
 * gets its anchor (canonicalise_anchor.c). Merging looks at the canonical order, so that its
 * outcome does not depend on the written one either. No bit of any result changes.
 */
#include "pass/canonicalise_internal.h"
#include "pass/pass.h"

#include "base/hash.h"
#include "ir/print.h"

static pass_result refuse(pass_context *context, const ir_op *op) {
    base_diagnostic *diagnostic =
        base_diagnostics_add(context->diagnostics, "axis-twice", op->location,
                             "a tile would lie along two axes of one operation");
    diagnostic->found = "one tile, which comes out of a loop or branch, in two directions";
    diagnostic->expected = "two tiles";
    diagnostic->hint = "carry two tiles, or load one of them again after the loop";
    return PASS_FAILED;
}

static uint64_t text_hash(const ir_module *module) {
    base_text text;
    base_text_init(&text, module->arena);
    ir_module_print(&text, module, true);
    return base_hash_bytes(BASE_HASH_START, text.bytes, (size_t)text.length);
}

pass_result pass_canonicalise(ir_module *module, pass_context *context) {
    if (pass_owners_refuse(module, context))
        return PASS_FAILED;
    uint64_t before = text_hash(module);
    bool changed = false, again = true;
    while (again) {
        again = pass_fold(module, context) == PASS_CHANGED;
        again |= pass_canonical_ranges(module);
        again |= pass_hoist(module, context) == PASS_CHANGED;
        again |= pass_dead(module, context) == PASS_CHANGED;
        changed |= pass_canonical_order(module);
        again |= pass_merge(module, context) == PASS_CHANGED;
        changed |= again;
    }
    const ir_op *stuck = NULL;
    if (pass_canonical_split(module, &stuck)) {
        pass_dead(module, context);
        pass_canonical_order(module);
        changed = true;
    }
    if (stuck != NULL)
        return refuse(context, stuck);
    changed |= pass_canonical_anchors(module);
    /* What is split is merged by the next run before it is split again. */
    return changed && text_hash(module) != before ? PASS_CHANGED : PASS_SAME;
}
