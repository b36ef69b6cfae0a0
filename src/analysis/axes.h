/* Axis classes: which axes of which tiles must be mapped alike.
 *
 * Elementwise ops, select, store, load, carries and yields equate the axes of their tiles (an axis
 * of extent 1 beside a larger one is free). Classes with one extent formula are merged unless one
 * tile would then hold the class twice. A class is named by its extent when that is a single symbol
 * (`N`; `N.1` for a second class of that extent), else `axis.<n>` in canonical order. Program axes
 * stand first, named as in the kernel.
 *
 * `arange(n, L)` and `convert(v, L)` fix the layout of their class, and convert alone does not
 * equate its operand with its result. A class that is fixed is merged only with one that is fixed
 * alike. Two different layouts in one class are a conflict (analysis_owners_conflict). */
#ifndef ANALYSIS_AXES_H
#define ANALYSIS_AXES_H

#include "ir/module.h"

typedef struct analysis_axis {
    const char *anchor;
    const layout_extent *extent; /* elements; the number of programs for a program axis */
    bool is_program;
    int program;
    const layout_axis *fixed; /* by the kernel's text; NULL: free */
    const ir_value *fixed_by; /* the arange or convert that says so first */
} analysis_axis;

/* The shape that a store writes: its value may be smaller (a scalar, an axis of extent 1). */
typedef struct analysis_store_axes {
    const ir_op *op;
    int rank;
    int axis[IR_MAX_RANK]; /* -1 for extent 1 */
} analysis_store_axes;

typedef struct analysis_axes {
    analysis_axis *axes;
    int count;
    int (
        *of_value)[IR_MAX_RANK]; /* [value number][dimension] -> axis, -1 for extent 1 or scalars */
    analysis_store_axes *stores; /* those that write a tile, in walk order */
    int64_t store_count, store_capacity;
    const ir_value *doubled; /* a tile that holds one axis twice (an outer product of a tile with
                                itself): it has no layout; NULL when there is none. Canonical
                                modules have none */
} analysis_axes;

/* For modules of level tile; looks at nothing but the module, keeps its results in the arena. */
analysis_axes analysis_axes_find(base_arena *arena, const ir_module *module);
/* The first op in walk order whose equations make a tile hold one axis twice; NULL when none does.
 */
const ir_op *analysis_axes_conflict(base_arena *arena, const ir_module *module);
/* The first op in walk order that brings two differently fixed layouts into one class, and the two
 * values that fix them; NULL when none does. */
const ir_op *analysis_owners_conflict(base_arena *arena, const ir_module *module,
                                      const ir_value **first, const ir_value **second);
/* The operand (or yielded value) of that op which was in the class of `fixer` before; NULL when
 * there is none. */
const ir_value *analysis_owners_operand(base_arena *arena, const ir_module *module, const ir_op *op,
                                        const ir_value *fixer);
/* NULL when the store writes one element. */
const analysis_store_axes *analysis_axes_of_store(const analysis_axes *axes, const ir_op *store);
/* The axis along which the last index of a load or store runs over memory: that of a range's tile,
 * or of a gather's index tile; -1 for one element. */
int analysis_axes_of_last_index(const analysis_axes *axes, const ir_op *access);
/* The iteration space of an op: the axes of what it computes for each element, in dimension order
 * and without those of extent 1. A reduction: of its operand. A store: of what it writes. Returns
 * how many; 0 for scalar ops, for, if and yield. */
int analysis_axes_space(const analysis_axes *axes, const ir_op *op, int space[IR_MAX_RANK]);

#endif
