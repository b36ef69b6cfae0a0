/* A launch on a cpu in microseconds: what one core does for a group of programs, how often, and
 * what all cores ask of memory together.
 *
 *     time = call + groups of the busiest core * group, or more if memory is slower
 *
 *     a group's demands on its core; the longest one counts, and a share of the others
 *       arithmetic  operations of all lanes, of those that idle beside them too
 *       chain       steps of a reduction that wait for the one before: few accumulators, long waits
 *       accesses    loads and stores of vectors; under a mask of their own element by element
 *       cache       bytes from where they are: a row read again is in the nearest cache that holds
 *                   the rows of the group
 *       memory      bytes of the whole launch that no cache keeps, over the bandwidth of all cores
 *
 * A launch that one core does in less than the team costs runs on that one. Lines that are stored
 * to are fetched first, so a byte written costs memory two. It does not see store kinds, prefetch,
 * pages, or other work on the machine. docs/cost-models.md has the formulas.
 */
#include "planner/cost/cost_internal.h"

#include <math.h>

typedef struct core_work {
    const cost_facts *facts;
    const cost_machine *machine;
    const double *c;     /* coefficients */
    double vectors;      /* registers that hold the lanes of a group */
    double lanes;        /* of those registers */
    double idle;         /* lanes and slots that compute over those that have elements */
    double packs;        /* steps of the longest sweep */
    double groups;       /* of the launch */
    double memory_bytes; /* of the launch */
} core_work;

static double larger(double a, double b) {
    return a > b ? a : b;
}

static double smaller(double a, double b) {
    return a < b ? a : b;
}

static void place(core_work *w) {
    const cost_facts *f = w->facts;
    double longest = 1;
    for (int i = 0; i < f->domain_count; i++)
        longest = larger(longest, (double)f->domains[i].elements);
    double lanes = (double)f->workers * (double)f->packed;
    w->groups = ceil((double)f->programs / (double)f->packed);
    w->vectors = ceil(lanes / (double)f->subgroup);
    w->lanes = w->vectors * (double)f->subgroup;
    double pack = (double)f->workers * (double)f->vector;
    w->packs = ceil(longest / pack);
    w->idle = w->packs * pack / longest * w->lanes / lanes;
}

/* ---- demands of one group on its core, in seconds ---- */

static double arithmetic_seconds(const core_work *w) {
    const cost_facts *f = w->facts;
    const double *c = w->c;
    double operations =
        (double)f->exps * c[f->native_math ? COST_CPU_EXP_NATIVE : COST_CPU_EXP] +
        (double)f->divisions * c[f->reciprocals ? COST_CPU_RECIPROCAL : COST_CPU_DIVISION] +
        (double)f->square_roots * c[COST_CPU_ROOT] + (double)f->other_ops * c[COST_CPU_OPERATION];
    double cycles = operations * (double)f->packed * w->idle / (double)w->machine->lanes +
                    (double)f->shuffles * c[COST_CPU_SHUFFLE] + c[COST_CPU_PROGRAM];
    return cycles / w->machine->clock;
}

/* Each reduction carries one value for each slot and register of the team; the next step waits for
 * the one before. */
static double chain_seconds(const core_work *w) {
    return (double)w->facts->reductions * w->packs * w->c[COST_CPU_CHAIN] / w->machine->clock;
}

/* What no register holds is stored and loaded again in each sweep. */
static double access_seconds(const core_work *w) {
    const cost_facts *f = w->facts;
    double live = (double)f->live_slots * w->lanes;
    double spilled = larger(live - (double)w->machine->registers, 0) / (double)f->subgroup;
    double accesses = (double)f->accesses * w->vectors + 2 * spilled * (double)(f->reductions + 1);
    double cycles = accesses * w->c[COST_CPU_ACCESS] +
                    (double)f->guarded_accesses * w->lanes * w->c[COST_CPU_GUARD];
    return cycles / w->machine->clock;
}

/* ---- bytes ---- */

/* Bytes a second at which one core reads again what this many bytes hold. */
static double bandwidth_of(const cost_machine *m, double bytes, double cores) {
    if (bytes <= (double)m->near_cache_bytes)
        return m->near_bandwidth;
    if (m->private_cache_bytes > 0 && bytes <= (double)m->private_cache_bytes)
        return m->private_bandwidth;
    if (bytes * cores <= (double)m->cache_bytes)
        return m->cache_bandwidth / (double)m->processors;
    return m->memory_bandwidth / (double)m->processors;
}

/* Of one group: first from where the launch's arrays are, when a cache holds them all, then from
 * where the group's own rows are. */
static double cache_seconds(const core_work *w, double cores) {
    const cost_facts *f = w->facts;
    double packed = (double)f->packed, shared = (double)f->shared_read_bytes;
    double first = (double)(f->read_bytes + f->write_bytes - f->rewrite_bytes);
    double again = packed * (double)(f->reread_bytes + f->rewrite_bytes + f->array_bytes) + shared;
    double row = packed * (first + (double)f->array_bytes / 2) + shared;
    double seconds = again / bandwidth_of(w->machine, row, cores);
    if (w->memory_bytes <= 0) {
        double arrays = (double)f->programs * first + shared;
        seconds += packed * first / bandwidth_of(w->machine, arrays / cores, cores);
    }
    return seconds;
}

/* Of the whole launch; 0 while the last level keeps its arrays from call to call. */
static double memory_bytes(const core_work *w) {
    const cost_facts *f = w->facts;
    double programs = (double)f->programs;
    double reads = programs * (double)f->read_bytes + (double)f->shared_read_bytes;
    double writes = programs * (double)(f->write_bytes - f->rewrite_bytes);
    if (reads + writes <= (double)w->machine->cache_bytes * w->c[COST_CPU_WARM_SHARE])
        return 0;
    return reads + w->c[COST_CPU_WRITE] * writes;
}

static double memory_seconds(const core_work *w, double cores) {
    double share = cores < (double)w->machine->processors ? w->c[COST_CPU_CORE_MEMORY] : 1;
    return w->memory_bytes / (w->machine->memory_bandwidth * share);
}

/* ---- the launch ---- */

enum { ARITHMETIC, CHAIN, ACCESSES, CACHE, MEMORY, DEMANDS };

/* Demands of the whole launch on so many cores. */
static double demand(const core_work *w, double cores, double demands[DEMANDS]) {
    double rounds = ceil(w->groups / cores);
    demands[ARITHMETIC] = rounds * arithmetic_seconds(w);
    demands[CHAIN] = rounds * chain_seconds(w);
    demands[ACCESSES] = rounds * access_seconds(w);
    demands[CACHE] = rounds * cache_seconds(w, cores);
    demands[MEMORY] = memory_seconds(w, cores);
    double all = 0, longest = 0;
    for (int i = 0; i < DEMANDS; i++) {
        all += demands[i];
        longest = larger(longest, demands[i]);
    }
    return longest + w->c[COST_CPU_OVERLAP] * (all - longest);
}

static void add_demands(cost_estimate *estimate, const core_work *w,
                        const double demands[DEMANDS]) {
    static const char *const names[DEMANDS] = {"arithmetic", "chain", "accesses", "cache",
                                               "memory"};
    int longest = 0;
    for (int i = 1; i < DEMANDS; i++)
        if (demands[i] > demands[longest])
            longest = i;
    for (int i = 0; i < DEMANDS; i++)
        cost_add(estimate, names[i],
                 demands[i] * 1e6 * (i == longest ? 1 : w->c[COST_CPU_OVERLAP]));
}

static bool knows(cost_estimate *estimate, const cost_facts *facts, const cost_machine *device) {
    static const cost_need needs[] = {
        COST_NEED(programs, 0),     COST_NEED(reductions, 0),    COST_NEED(subgroup, 1),
        COST_NEED(workers, 1),      COST_NEED(vector, 1),        COST_NEED(packed, 1),
        COST_NEED(live_slots, 0),   COST_NEED(array_bytes, 0),   COST_NEED(shuffles, 0),
        COST_NEED(read_bytes, 0),   COST_NEED(reread_bytes, 0),  COST_NEED(shared_read_bytes, 0),
        COST_NEED(write_bytes, 0),  COST_NEED(rewrite_bytes, 0), COST_NEED(accesses, 0),
        COST_NEED(exps, 0),         COST_NEED(divisions, 0),     COST_NEED(guarded_accesses, 0),
        COST_NEED(square_roots, 0), COST_NEED(other_ops, 0),
    };
    static const cost_machine_need of_machine[] = {
        COST_MACHINE_NEED(processors),
        COST_MACHINE_NEED(lanes),
        COST_MACHINE_NEED(near_cache_bytes),
        COST_MACHINE_NEED(near_bandwidth),
        COST_MACHINE_NEED(cache_bytes),
        COST_MACHINE_NEED(cache_bandwidth),
        COST_MACHINE_NEED(memory_bandwidth),
        COST_MACHINE_NEED(registers),
        COST_MACHINE_NEED(clock),
    };
    return cost_knows(estimate, facts, needs, sizeof needs / sizeof needs[0]) &&
           cost_knows_machine(estimate, device, of_machine,
                              sizeof of_machine / sizeof of_machine[0]);
}

cost_estimate cost_cpu(const cost_facts *facts, const cost_machine *device,
                       const cost_coefficients *coefficients) {
    cost_estimate estimate = {.is_time = true};
    if (!knows(&estimate, facts, device))
        return estimate;
    core_work w = {.facts = facts, .machine = device, .c = coefficients->value};
    place(&w);
    w.memory_bytes = memory_bytes(&w);
    double one[DEMANDS], all[DEMANDS];
    double alone = demand(&w, 1, one);
    double cores = larger(1, smaller(w.groups, (double)device->processors));
    double together = demand(&w, cores, all) + w.c[COST_CPU_TEAM] * 1e-6;
    bool serial = alone * 1e6 < w.c[COST_CPU_SERIAL] || alone <= together;
    cost_add(&estimate, "call", w.c[COST_CPU_CALL]);
    if (!serial)
        cost_add(&estimate, "team", w.c[COST_CPU_TEAM]);
    add_demands(&estimate, &w, serial ? one : all);
    return estimate;
}
