/* The analytic score: rounds of a worker, meetings of subgroups, groups to set up.
 *
 *     score = rounds + 2 * reductions * S + 16 / P
 *
 *     softmax 128x1024, V = 1, S = 4 subgroups, P = 1: four sweeps and two reductions
 *     4 * slots(1024, 128, 1) + 2 * 2 * 4 + 16 = 32 + 16 + 16 = 64
 *
 * It is a score of one program and has no unit. It knows no memory: a value that is kept costs the
 * sweep that copies it, and what it saves is not seen. Whole launches are no part of it; a factor
 * for them would be the same for all candidates of a case.
 */
#include "planner/cost/cost_internal.h"

cost_estimate cost_analytic(const cost_facts *facts, const cost_machine *device,
                            const cost_coefficients *coefficients) {
    static const cost_need needs[] = {
        COST_NEED(reductions, 0), COST_NEED(subgroup, 1), COST_NEED(workers, 1),
        COST_NEED(vector, 1),     COST_NEED(packed, 1),
    };
    (void)device;
    cost_estimate estimate = {0};
    if (!cost_knows(&estimate, facts, needs, sizeof needs / sizeof needs[0]))
        return estimate;
    const double *c = coefficients->value;
    cost_add(&estimate, "rounds", c[COST_ANALYTIC_ROUND] * cost_rounds(facts));
    cost_add(&estimate, "exchange",
             c[COST_ANALYTIC_REDUCTION] * (double)facts->reductions * cost_subgroups(facts));
    cost_add(&estimate, "setup", c[COST_ANALYTIC_SETUP] / (double)facts->packed);
    return estimate;
}
