/* The planner: proposes plans for a canonical tile module, prices them, picks one and says why.
 * Row plans spread the elements of a row over workers; the fallback is legal for every program. */
#ifndef PLANNER_PLANNER_H
#define PLANNER_PLANNER_H

#include "base/diagnostic.h"
#include "ir/plan.h"
#include "layout/memory.h"
#include "machine/machine.h"
#include "planner/admit.h"
#include "planner/search.h"

/* AUTOMATIC: where a machine runs subgroups side by side the best row plan of the search, else the
 * standard one; the fallback where there is none. ROW: the standard row plan, or a finding. */
typedef enum planner_family { PLANNER_AUTOMATIC, PLANNER_FALLBACK, PLANNER_ROW } planner_family;

typedef struct planner_options {
    const char *set; /* what is fixed (planner_setting_parse); NULL: nothing */
    bool model_given;
    cost_model model;                      /* where given: that prices */
    const cost_coefficients *coefficients; /* NULL: the defaults */
    const int64_t *sizes; /* by symbol, of the call, which enter by class; -1: not known. NULL */
    bool strict;   /* each reduction that needs an order has one, functions have their portable
                             form, quotients are exact */
    bool portable; /* functions have their portable form, as where the plan runs by a target that
                      has no native ones */
    int64_t live_most; /* values that a lane may have at once, at most; 0: what registers hold */
    bool all;          /* the report has every candidate */
} planner_options;

/* Why the plan is what it is. */
typedef enum planner_reason {
    PLANNER_BY_SEARCH,   /* a row plan */
    PLANNER_BY_TEXT,     /* the kernel's text fixes owners */
    PLANNER_BY_REQUEST,  /* the fallback was asked for */
    PLANNER_BY_OBSTACLE, /* the fallback, since there is no row plan: admission.row */
} planner_reason;

/* Lives in the arena of the plan. */
typedef struct planner_report {
    planner_reason kind;
    planner_admission admission; /* not by text or request */
    /* by search */
    planner_program *program;
    planner_candidate chosen;
    cost_model model;
    const cost_coefficients *coefficients;
    const planner_search *search; /* NULL: the standard was taken without one */
} planner_report;

/* NULL with a diagnostic when a row plan, or a setting, is asked for and refused (slug and reason).
 * `options` may be NULL. */
ir_plan *planner_choose(base_arena *arena, const ir_module *module, const machine *machine,
                        planner_family family, const planner_options *options,
                        base_diagnostics *diagnostics, planner_report *report);
/* The same without options and report: never NULL for AUTOMATIC and FALLBACK. */
ir_plan *planner_plan(base_arena *arena, const ir_module *module, const machine *machine,
                      planner_family family, bool strict, base_diagnostics *diagnostics);

/* What moving values between lanes costs as conversions are expanded: in scratch each slot is put
 * and got alone, without conflicts, with one barrier between. */
layout_costs planner_costs(const machine *device);

#endif
