/* The parts of canonicalise that are its own. */
#ifndef PASS_CANONICALISE_INTERNAL_H
#define PASS_CANONICALISE_INTERNAL_H

#include "pass/pass.h"

/* Puts the ops of every region into the canonical order. True when something moved. */
bool pass_canonical_order(ir_module *module);
/* What result `place` of a for or if is sorted by: a hash of where it begins and of what feeds it
 * (hashes[value number]). */
uint64_t pass_canonical_carry_key(const ir_op *op, int place, const uint64_t *hashes);
/* Sorts the results of a for or if, and what belongs to each (initial values, arguments, yields),
 * by their keys. True when something moved. */
bool pass_canonical_carries(ir_module *module, ir_op *op, const uint64_t *hashes);
/* Repeats what an op would need along two axes at once (an outer product of a tile with itself).
 * True when something was repeated; *stuck (else NULL) is an op for which that cannot be done. */
bool pass_canonical_split(ir_module *module, const ir_op **stuck);
/* Makes ranges of gathers by an arange, where the kernel fixes no layout. True when one was made.
 */
bool pass_canonical_ranges(ir_module *module);
/* Gives anchors and makes the names of tiles unique. True when one is new. */
bool pass_canonical_anchors(ir_module *module);

/* Reports the first op that brings two differently fixed owners together, or makes a tile with two
 * owned axes. False: none does. */
bool pass_owners_refuse(ir_module *module, pass_context *context);

#endif
