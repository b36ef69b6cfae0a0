/* What the passes that simplify share: the value of an op on constants, and when two ops say the
 * same. */
#ifndef PASS_SIMPLIFY_H
#define PASS_SIMPLIFY_H

#include "analysis/axes.h"
#include "ir/module.h"

/* The constant that the value is, or that all elements of the tile are; NULL: it is none. */
const ir_constant *pass_constant_of(const ir_value *value);

/* The value of a pure op on constants, in the exact arithmetic of its dtype; false when an operand
 * is none, the op has no exact rule here (functions), or the result is a NaN. */
bool pass_fold_constant(const ir_op *op, ir_constant *result);

/* The same of an op on integers and bools alone, for any numbers in place of its operands. */
bool pass_fold_integers(const ir_op *op, const int64_t v[3], int64_t *result);

/* The formula of an op on two sizes or constants; NULL when there is none. */
const layout_extent *pass_fold_size(ir_module *module, const ir_op *op);

/* SOME: at least one. */
typedef enum pass_trips {
    PASS_TRIPS_ANY,
    PASS_TRIPS_NONE,
    PASS_TRIPS_ONE,
    PASS_TRIPS_SOME
} pass_trips;
pass_trips pass_loop_trips(const ir_op *loop);

/* Attributes of pure ops and loads agree (not their operands and types). */
bool pass_attributes_equal(const ir_op *a, const ir_op *b);
/* What the attributes say, without names and value numbers. */
uint64_t pass_attributes_hash(uint64_t hash, const ir_op *op);
uint64_t pass_hash_word(uint64_t hash, int64_t word);
uint64_t pass_hash_layout(uint64_t hash, const layout_axis *layout); /* NULL: none */
uint64_t pass_hash_extent(uint64_t hash, const layout_extent *extent);

/* Puts `value` wherever the only result of the op is used, which takes the op's name if it has
 * none; removes the op. */
void pass_replace(ir_module *module, ir_op *op, ir_value *value);

/* The classes of a module of level tile that fixes layouts; NULL for others. */
const analysis_axes *pass_owners_find(const ir_module *module);
/* Two tiles lie along classes that are fixed alike; true where owners is NULL. */
bool pass_owners_same(const analysis_axes *owners, const ir_value *a, const ir_value *b);
uint64_t pass_owners_hash(const analysis_axes *owners, uint64_t hash, const ir_value *value);

#endif
