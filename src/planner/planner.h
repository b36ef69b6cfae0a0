/* The planner: proposes plans for a canonical tile module. Two families exist: the fallback, legal
 * for every program, and the row plan (element axis on SIMD lanes with 4 accumulators in slots and
 * the rest on step; programs on group). */
#ifndef PLANNER_PLANNER_H
#define PLANNER_PLANNER_H

#include "base/diagnostic.h"
#include "ir/plan.h"
#include "layout/memory.h"
#include "machine/machine.h"

typedef enum planner_family { PLANNER_AUTOMATIC, PLANNER_FALLBACK, PLANNER_ROW } planner_family;

/* Never NULL for AUTOMATIC and FALLBACK; NULL with a diagnostic when ROW is asked for and refused
 * (slug and reason). `strict`: each reduction that needs an order has one, functions have their
 * portable form, quotients are exact. */
ir_plan *planner_plan(base_arena *arena, const ir_module *module, const machine *machine,
                      planner_family family, bool strict, base_diagnostics *diagnostics);

/* What moving values between lanes costs as conversions are expanded: in scratch each slot is put
 * and got alone, without conflicts, with one barrier between. */
layout_costs planner_costs(const machine *device);

#endif
