/* Axis classes: which axes of which tiles must be mapped alike.
 *
 * Elementwise ops, select, store, load, carries and yields equate the axes of their tiles (an axis
 * of extent 1 beside a larger one is free). Classes with one extent formula are merged unless one
 * tile would then hold the class twice. A class is named by its extent when that is a single symbol
 * (`N`; `N.1` for a second class of that extent), else `axis.<n>` in canonical order. Program axes
 * stand first, named as in the kernel. */
#ifndef ANALYSIS_AXES_H
#define ANALYSIS_AXES_H

#include "ir/module.h"

typedef struct analysis_axis {
    const char *anchor;
    const layout_extent *extent;
    bool is_program;
    int program;
} analysis_axis;

typedef struct analysis_axes {
    analysis_axis *axes;
    int count;
    int (
        *of_value)[IR_MAX_RANK]; /* [value number][dimension] -> axis, -1 for extent 1 or scalars */
} analysis_axes;

analysis_axes analysis_axes_find(base_arena *arena, const ir_module *module);

#endif
