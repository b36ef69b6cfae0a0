/* What conditions make known of accesses at level thread.
 *
 *     condition x aligned 16
 *     condition N % 4 == 0
 *     %t = load %x[%row, %c + lane*4 + slot*1] mask=lane*4 + slot*1 < %rest width=4 : f32(4)
 *         %c a multiple of 4, so every group of four begins at a multiple of 16 bytes (align=16)
 *         %rest = N - %c too, so the mask takes a group or leaves it (whole)
 *
 * Known by powers of two that divide every value; a value of unknown make is divided by 1. */
#ifndef ANALYSIS_ALIGNMENT_H
#define ANALYSIS_ALIGNMENT_H

#include "ir/module.h"

typedef struct analysis_alignment {
    int bytes;  /* as ir_access.align */
    bool whole; /* as ir_access.whole; only where bytes > 0 */
} analysis_alignment;

/* For searches on one module; lives in the arena. */
typedef struct analysis_alignments {
    const ir_module *module;
    const layout_condition *conditions;
    int64_t condition_count;
    int64_t *factors; /* by value number; 0: not looked at yet */
    int depth;
} analysis_alignments;

/* Under other conditions than the module's. */
analysis_alignments analysis_alignments_begin(base_arena *arena, const ir_module *module,
                                              const layout_condition *conditions, int64_t count);
/* Of a load or store of several slots; {0} for any other. */
analysis_alignment analysis_alignment_find(analysis_alignments *search, const ir_op *op);

/* Of the conditions those that some access needs, with the least amounts that serve; the rest is
 * taken out. The new count. */
int64_t analysis_conditions_prune(base_arena *arena, const ir_module *module,
                                  layout_condition *conditions, int64_t count);
/* The conditions that would make something known of some access. Tensors whose rows begin at
 * different places have two ways: rows that are aligned all the same, or such as follow each other
 * without gaps; no arguments meet both, and all conditions of both are in the list. */
int64_t analysis_conditions_find(base_arena *arena, const ir_module *module,
                                 layout_condition **conditions);

#endif
