/* Reads a plan (ir/plan.h). */
#ifndef TEXT_PLAN_PARSE_H
#define TEXT_PLAN_PARSE_H

#include "base/diagnostic.h"
#include "ir/plan.h"

/* NULL with diagnostics. Whether anchors exist is checked where the plan is applied. */
ir_plan *text_plan_parse(base_arena *arena, const base_source *source,
                         base_diagnostics *diagnostics);

#endif
