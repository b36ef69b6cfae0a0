/* Storage: which ways a tile value may take to its uses in later sweeps.
 *
 *     registers   no loop stands between: every axis of its sweep lies on lanes and slots
 *     private     always; of what a for, if, yield or convert takes as a whole, where registers
 *                 are not
 *     reload      a load that no store can have overtaken
 *     recompute   a few cheap ops on what is reloaded and on scalars
 *     output      in the cells of an output that wait for their store (analysis/output.h)
 *
 * The planner chooses among them; map refuses the others. */
#ifndef ANALYSIS_STORAGE_H
#define ANALYSIS_STORAGE_H

#include "analysis/axes.h"
#include "analysis/sweeps.h"

typedef struct analysis_storage {
    const ir_module *module;
    const analysis_axes *axes;
    const analysis_sweeps *sweeps;
    const bool *stepped; /* by axis: the plan gives it a step digit */
    bool *whole;         /* by value number: a for, if, yield or convert takes it as a whole */
} analysis_storage;

/* Looks at the module once. `stepped` is read by every question. */
analysis_storage analysis_storage_begin(base_arena *arena, const ir_module *module,
                                        const analysis_axes *axes, const analysis_sweeps *sweeps,
                                        const bool *stepped);

/* A tile value made by a for, if or convert, or taken as a whole by one or by a yield: it and the
 * carry that it goes into have one storage. */
bool analysis_storage_is_whole(const analysis_storage *storage, const ir_value *value);

/* Whether the crossing value may have this storage. OUTPUT: in some output. */
bool analysis_storage_allows(const analysis_storage *storage, const ir_value *value,
                             ir_storage wanted);

#endif
