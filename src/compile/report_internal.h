/* What the files of the report share: finding the ops of level thread that a tile op became, and
 * what an integer is at a position. */
#ifndef COMPILE_REPORT_INTERNAL_H
#define COMPILE_REPORT_INTERNAL_H

#include "analysis/axes.h"
#include "compile/report.h"

typedef struct report_state {
    compile_report *report;
    base_arena *arena;
    const ir_module *tile, *mapped, *thread;
    analysis_axes axes; /* of the tile module */
} report_state;

/* Both were written for one place of the kernel's text. */
bool report_same_place(base_location a, base_location b);
bool report_in_loop(const ir_op *op);
/* The axis of the mapped module for a dimension of a tile value; NULL for extent 1. */
const ir_axis *report_axis_of(const report_state *state, const ir_value *value, int dimension);

/* report_place.c: what an integer or bool of level thread is at a position, in program 0 and the
 * first step of every loop. False where data or a runtime size decides. */
bool report_value_at(const ir_module *module, const ir_value *value, ir_position position,
                     int64_t *number);
/* Bytes from the first element that an access of level thread reaches at a position; -1 where its
 * mask leaves the position out. False where that is not known. */
bool report_address_at(const ir_module *module, const ir_op *access, ir_position position,
                       int64_t *bytes);
/* Times that the banks serve the worst access of a subgroup; 0: not known. */
int report_conflicts_of(const ir_module *module, const ir_op *access, const layout_costs *costs);
/* Slots of a thread that an access moves; 0: all threads move the same element. */
int report_access_slots(const ir_op *access);

/* report_moves.c and report_access.c: fill their parts of the report. */
void report_add_arrays(report_state *state);
void report_add_moves(report_state *state);
void report_add_accesses(report_state *state);

#endif
