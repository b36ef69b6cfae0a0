/* The service model: a whole launch in microseconds, from what programs ask of a GPU.
 *
 *     local = rounds * R + reductions * S * K + private bytes * Pv
 *     waves = max(1, groups * S * P / C)
 *     time  = D + local * waves + bytes of all programs * G + bytes of the busiest worker * Wb
 *
 * Its six nonnegative coefficients and the capacity C were fitted elsewhere; a file of coefficients
 * can bring others. Bytes are those of logical accesses, caches are not seen: a weight counts for
 * every program that reads it, a value for every sweep.
 */
#include "planner/cost/cost_internal.h"

#include <math.h>

cost_estimate cost_service(const cost_facts *facts, const cost_machine *device,
                           const cost_coefficients *coefficients) {
    static const cost_need needs[] = {
        COST_NEED(programs, 0),      COST_NEED(reductions, 0),   COST_NEED(subgroup, 1),
        COST_NEED(workers, 1),       COST_NEED(vector, 1),       COST_NEED(packed, 1),
        COST_NEED(private_bytes, 0), COST_NEED(read_bytes, 0),   COST_NEED(reread_bytes, 0),
        COST_NEED(write_bytes, 0),   COST_NEED(worker_bytes, 0), COST_NEED(shared_read_bytes, 0),
    };
    (void)device;
    cost_estimate estimate = {.is_time = true};
    if (!cost_knows(&estimate, facts, needs, sizeof needs / sizeof needs[0]))
        return estimate;
    const double *c = coefficients->value;
    double subgroups = cost_subgroups(facts);
    double groups = ceil((double)facts->programs / (double)facts->packed);
    double waves = groups * subgroups * (double)facts->packed / c[COST_SERVICE_CAPACITY];
    waves = waves > 1 ? waves : 1;
    double bytes = (double)facts->read_bytes + (double)facts->reread_bytes +
                   (double)facts->shared_read_bytes + (double)facts->write_bytes;
    cost_add(&estimate, "launch", c[COST_SERVICE_DISPATCH]);
    cost_add(&estimate, "rounds", c[COST_SERVICE_ROUND] * cost_rounds(facts) * waves);
    cost_add(&estimate, "exchange",
             c[COST_SERVICE_REDUCTION] * (double)facts->reductions * subgroups * waves);
    cost_add(&estimate, "private", c[COST_SERVICE_PRIVATE] * (double)facts->private_bytes * waves);
    cost_add(&estimate, "memory", c[COST_SERVICE_GLOBAL] * bytes * (double)facts->programs);
    cost_add(&estimate, "worker", c[COST_SERVICE_WORKER] * (double)facts->worker_bytes);
    return estimate;
}
