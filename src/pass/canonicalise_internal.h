/* The parts of canonicalise that are its own. */
#ifndef PASS_CANONICALISE_INTERNAL_H
#define PASS_CANONICALISE_INTERNAL_H

#include "ir/module.h"

/* Puts the ops of every region into the canonical order. True when something moved. */
bool pass_canonical_order(ir_module *module);
/* Repeats what an op would need along two axes at once (an outer product of a tile with itself).
 * True when something was repeated; *stuck (else NULL) is an op for which that cannot be done. */
bool pass_canonical_split(ir_module *module, const ir_op **stuck);
/* Gives anchors and makes the names of tiles unique. True when one is new. */
bool pass_canonical_anchors(ir_module *module);

#endif
