/* The steps that canonicalise (level tile) and clean (level thread) share. Each changes a module in
 * place, keeps its meaning bit for bit, and says whether it changed anything. */
#ifndef PASS_SIMPLIFY_H
#define PASS_SIMPLIFY_H

#include "ir/module.h"

/* The value of a pure op on constants, in the exact arithmetic of its dtype; false when an operand
 * is no constant, the op has no exact rule here (functions), or the result is a NaN. */
bool pass_fold_constant(const ir_op *op, ir_constant *result);

/* Replaces ops on constants by constants, known sizes by numbers, arithmetic on sizes by size
 * formulas, and ops that give back an operand (x + 0, select(c, x, x), -(-x)) by it. */
bool pass_fold(ir_module *module);

/* Makes equal pure ops one, also with ops of the regions around; with `loads` also loads of the
 * same elements between which no store to their tensor can run. A name survives if one of them has
 * one. */
bool pass_merge(ir_module *module, bool loads);

/* Moves pure ops out of loops in which nothing they use changes; out of branches only what has no
 * operands. */
bool pass_hoist(ir_module *module);

/* Removes ops that no effect needs. */
bool pass_remove_dead(ir_module *module);

/* Attributes of pure ops and loads agree (not their operands and types). */
bool pass_attributes_equal(const ir_op *a, const ir_op *b);
/* What the attributes say, without names and value numbers. */
uint64_t pass_attributes_hash(uint64_t hash, const ir_op *op);
uint64_t pass_hash_word(uint64_t hash, int64_t word);
uint64_t pass_hash_extent(uint64_t hash, const layout_extent *extent);

#endif
