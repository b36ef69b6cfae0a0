/* Sweeps: in how many passes over the elements a tile module runs, and what stands in each.
 *
 * A sweep computes element by element over its axes. Ops share one when they have the same axes and
 * none needs a finished reduction of it: independent reductions over one axis are one pass.
 *
 *     %t = load %x[%row, :]      sweep 0     reads; maximum
 *     %m = reduce max %t         sweep 0
 *     %d = sub %t, %m            sweep 1     needs %m: %t crosses from 0 to 1
 *     %e = exp %d                sweep 1
 *     %s = reduce sum %e         sweep 1
 *     %q = div %e, %s            sweep 2     %e crosses from 1 to 2
 *     store %y[%row, :], %q      sweep 2
 *
 * A tile op is one with a tile (rank at least 1) among its results or operands, except for, if,
 * yield and convert, which take whole tiles. Every tile op stands in exactly one sweep of its own
 * region, at its first use. What its uses are: a user in the same sweep reads the element; a
 * reduction's result, and a value used in any other sweep or by a for, if, yield or convert,
 * *crosses*: it is kept, reloaded or recomputed as the plan says. An op may stand in a sweep over
 * more axes than its own only when it is *light* (see below), such as the weight in t * w[None, :].
 *
 * It keeps the order of memory: no load or store of a tensor passes a store to the same tensor; in
 * one sweep a store stands after loads of the same elements. Different tensors are taken to be
 * disjoint. It chooses no storage. */
#ifndef ANALYSIS_SWEEPS_H
#define ANALYSIS_SWEEPS_H

#include "analysis/axes.h"

typedef struct analysis_sweep {
    const ir_region *region; /* whose list holds the ops */
    int axis_count;          /* 0: all its tiles have one element */
    int axes[IR_MAX_RANK]; /* outermost first: kept axes in dimension order, the reduced one last */
    int reduced;           /* the axis that every reduction here folds, -1 when there is none */
    ir_op **ops;           /* in an order in which they can run, stores last */
    int64_t op_count, op_capacity;
    int64_t level; /* sweeps of one region and level are independent of one another */
} analysis_sweep;

/* What runs next in a region: a sweep, or one op (scalar, for, if, yield). */
typedef struct analysis_item {
    ir_op *op; /* NULL: a sweep; else a scalar op, for, if, yield or convert */
    int sweep; /* index into sweeps, -1 for an op */
} analysis_item;

typedef struct analysis_schedule {
    const ir_region *region;
    analysis_item *items; /* in execution order: another topological order of the region's ops */
    int64_t count, capacity;
} analysis_schedule;

typedef struct analysis_sweeps {
    analysis_sweep *sweeps; /* by region in walk order, then in execution order */
    int64_t count, capacity;
    analysis_schedule *schedules; /* body first, then the regions in walk order */
    int64_t schedule_count, schedule_capacity;
    int *of_value; /* [value number] -> the sweep whose op defines it (a reduction's result too);
                      -1: scalar op, region argument, result of for or if, parameter */
    ir_value **crossings; /* tile values (rank at least 1) of any definer that cross, in canonical
                             order, with what light ones among them are made from: the values
                             whose storage map asks the plan for */
    int64_t crossing_count, crossing_capacity;
    const ir_module *module;
    const analysis_axes *axes;
} analysis_sweeps;

/* For canonical modules of level tile. Everything lives in the arena. */
analysis_sweeps analysis_sweeps_find(base_arena *arena, const ir_module *module,
                                     const analysis_axes *axes);
const analysis_schedule *analysis_sweeps_schedule(const analysis_sweeps *sweeps,
                                                  const ir_region *region);

/* Light: cheap enough to repeat where it is used. A load, arange, expand, drop or broadcast, and
 * ops of one instruction at most 2 deep on those and on scalars. */
bool analysis_value_is_light(const ir_value *value);

/* The load may be repeated in this later sweep, before the stores of the sweep: no store to its
 * tensor can run between; a store in that sweep writes the same elements. */
bool analysis_load_repeatable(const analysis_sweeps *sweeps, const ir_op *load, int sweep);

/* By what name a keep line speaks of a tile value: its source name (unique after canonicalise), the
 * anchor of the op that defines it, or `for.0.1` (result or carry 1 of for.0; if alike). NULL when
 * the module was not canonicalised. */
const char *analysis_value_anchor(base_arena *arena, const ir_value *value);

#endif
