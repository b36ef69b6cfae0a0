/* Passes: each one legal-to-legal step, a row of passes.def, a file of the same name. A pass has no
 * globals, prints nothing, asks no clock or environment, and gives the same output for the same
 * input. */
#ifndef PASS_PASS_H
#define PASS_PASS_H

#include "base/diagnostic.h"
#include "ir/module.h"
#include "ir/plan.h"

typedef enum pass_result { PASS_SAME, PASS_CHANGED, PASS_FAILED } pass_result;

typedef struct pass_context {
    const ir_plan *plan; /* for passes that apply it; NULL else */
    base_diagnostics *diagnostics;
} pass_context;

/* canonicalise: tile -> tile. Folds constants, merges equal pure ops, drops dead ones, puts ops
 * into the canonical order (IR.md, The plan) and gives anchors. */
pass_result pass_canonicalise(ir_module *module, pass_context *context);
/* The name-free hash of a canonical tile module: every name replaced by its number in canonical
 * order. */
uint64_t pass_canonical_hash(const ir_module *module);

/* map: tile -> mapped. Applies the plan: forms sweeps, gives layouts and storage, repeats what is
 * reloaded or recomputed. */
pass_result pass_map(ir_module *module, pass_context *context);
/* expand: mapped -> thread. Sweeps become loops over slot vectors with full and guarded steps,
 * reductions become carries, folds and combines, accesses get affine indices and masks, functions
 * their portable form. */
pass_result pass_expand(ir_module *module, pass_context *context);
/* clean: thread -> thread. Folds constants, merges equal pure ops, hoists what is invariant, drops
 * the dead. */
pass_result pass_clean(ir_module *module, pass_context *context);

#endif
