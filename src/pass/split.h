/* Splitting a kernel at its reductions: a canonical tile program and a plan whose axis has a group
 * digit become a sequence of tile programs, each with a plan of its own.
 *
 *     axis N        slot 4 | lane 32 | subgroup 8 | step * | group 16
 *
 *     softmax_1     program row, part     max of a part of the row       -> max_0_parts[row, part]
 *     softmax_2     program row, part     max of all parts, sum of exp   -> sum_0_parts[row, part]
 *     softmax_3     program row, part     both, then the part of y
 *
 * A launch has the kernel's parameters and, behind them, one tensor for each reduction that is
 * split: the workspace, which whoever launches allocates once, which needs no zeros, and of which
 * every cell is stored by one launch and read by later ones only. Partial results are combined by
 * their numbers: one after the other, or on lanes where there are as many as those.
 *
 * It is no row of passes.def: those lead from a module to a module. What it gives are modules like
 * any other, which the same pipeline takes from level tile to a target. docs/decisions/launches.md.
 */
#ifndef PASS_SPLIT_H
#define PASS_SPLIT_H

#include "base/diagnostic.h"
#include "ir/module.h"
#include "ir/plan.h"

typedef struct pass_launch {
    ir_module *module; /* level tile */
    ir_plan *plan;
    int axis; /* of the module's (analysis_axes): that of a part; -1: it has none */
} pass_launch;

typedef struct pass_launches {
    pass_launch *items; /* in the order in which they run */
    int count;
    int own_parameters; /* those of the kernel; tensors of the workspace stand behind them */
} pass_launches;

/* Whether an axis of elements has a group digit. Else the kernel is one launch: itself. */
bool pass_split_is_asked(const ir_module *module, const ir_plan *plan);

/* Everything lives in the arena; the module is left as it is. False with findings: the plan does
 * not fit the module, or the kernel cannot be split so. */
bool pass_split(base_arena *arena, const ir_module *module, const ir_plan *plan,
                base_diagnostics *diagnostics, pass_launches *launches);

#endif
