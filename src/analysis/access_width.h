/* Groups of an access: how many slots of a lane, or lanes, in a row come to neighbouring cells.
 *
 *     x[row, :]          N on slot 4 | lane 32 | ...      four slots
 *     x[b, i // 8, i % 8]    slot 2 | lane 32             two slots: i // 8 is the same for both
 *     x[row, :]          N on lane 8 | slot 4 | step *    eight lanes
 *
 * In the last dimension their indices count on by one, in all others they are the same, whatever
 * lane, step and program: proved by the closed forms of the indices (analysis/index_form.h). Where
 * a row begins and ends is not asked. */
#ifndef ANALYSIS_ACCESS_WIDTH_H
#define ANALYSIS_ACCESS_WIDTH_H

#include "analysis/axes.h"
#include "machine/machine.h"

typedef struct analysis_access_width {
    int slots, lanes; /* the longest such runs, powers of two; 1: none */
} analysis_access_width;

/* Of a load or store of level tile; digits[axis] are those of each of the axes. */
analysis_access_width analysis_access_width_find(const ir_module *module, const analysis_axes *axes,
                                                 const layout_axis *const *digits, const ir_op *op);
/* The widest group that the machine has a use for. Where lanes are threads: slots, as many as one
 * access of a thread moves. Else lanes, and slots of a range where lanes follow them. */
int analysis_access_width_on(const machine *device, const ir_module *module,
                             const analysis_axes *axes, const layout_axis *const *digits,
                             const ir_op *op);

#endif
