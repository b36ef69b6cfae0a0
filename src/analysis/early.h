/* Whether a load may be issued early: before the first reduction of its program waits.
 *
 *     %s = reduce sum %u                 %w depends on no reduction and nobody writes w: its load
 *     %w = load %w[: N]                  may be on its way while the sum is taken
 *     %v = load %v[: N // %k]            not so where %k comes from %s
 *
 * It does not ask whether that pays. */
#ifndef ANALYSIS_EARLY_H
#define ANALYSIS_EARLY_H

#include "analysis/sweeps.h"

/* NULL: it may; else what it would have to be. Of a load or store of a canonical module of level
 * tile. stepped: by axis, whether its digits have steps. */
const char *analysis_early_obstacle(base_arena *arena, const analysis_sweeps *sweeps,
                                    const bool *stepped, const ir_op *op);

#endif
