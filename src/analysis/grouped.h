/* Grouped accesses of a module of level thread, for reports: counts of the groups that are emitted,
 * not of machine instructions.
 *
 *     %t = load %x[%row, lane*4 + slot*1 ...] width=4 : f32(16)      4 loads of width 4
 *     store %y[%row, lane*1 + slot*8], %t width=8    f32(4)          4 stores of width 8 */
#ifndef ANALYSIS_GROUPED_H
#define ANALYSIS_GROUPED_H

#include "ir/module.h"

enum { ANALYSIS_GROUPED_ROWS = 16 };

typedef struct analysis_grouped_row {
    int width;             /* elements of a group, above 1 */
    int64_t loads, stores; /* groups that a lane, or a register of lanes, moves: as often as the ops
                              stand in the text, however often they run */
} analysis_grouped_row;

/* The accesses of tensors, by width, the least first. */
typedef struct analysis_grouped {
    int count;
    analysis_grouped_row rows[ANALYSIS_GROUPED_ROWS];
    int64_t single_loads, single_stores; /* elements that move alone */
} analysis_grouped;

analysis_grouped analysis_grouped_count(const ir_module *module);

#endif
