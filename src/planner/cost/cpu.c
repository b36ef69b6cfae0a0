/* A launch on a cpu in microseconds: what one core does for a group of programs, how often, and
 * what all cores ask of memory together.
 *
 *     time = call + groups of the busiest core * group, or more if memory is slower
 *
 *     a group's demands on its core; the longest one counts, and a share of the others (the first
 *     two are one)
 *       arithmetic  operations of all lanes, of those that idle beside them too
 *       accesses    loads and stores of vectors, masks, and what finds no register
 *       chain       steps of a reduction that wait for the one before: few slots, long waits
 *       cache       bytes from where they are: a row read again is in the nearest cache that holds
 *                   the rows of the group
 *       memory      bytes of the whole launch that no cache keeps, over the bandwidth of all cores
 *
 * A launch that one core does in less than the team costs runs on that one. Lines that are stored
 * to are fetched first, so a byte written costs memory two, and one where it is stored past the
 * caches. It does not see pages, or other work on the machine. docs/cost-models.md has
 * the formulas.
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
    double steps;        /* of the longest sweep */
    double sweeps;       /* over the row, of one program */
    double groups;       /* of the launch */
    double memory_bytes; /* of the launch */
    bool is_kept;        /* the last level keeps its arrays */
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
    for (int i = 0; i < f->domain_count; i++)
        if ((double)f->domains[i].elements == longest)
            w->sweeps = (double)f->domains[i].times;
    double lanes = (double)f->workers * (double)f->packed;
    w->groups = ceil((double)f->programs / (double)f->packed);
    w->vectors = ceil(lanes / (double)f->subgroup);
    w->lanes = w->vectors * (double)f->subgroup;
    double pack = (double)f->workers * (double)f->vector;
    w->steps = ceil(longest / ((double)f->workers * (double)f->step_slots));
    w->idle = ceil(longest / pack) * pack / longest * w->lanes / lanes;
}

/* ---- demands of one group on its core, in seconds ---- */

/* Operations of all lanes of the group, in cycles of one lane. */
static double operations(const core_work *w) {
    const cost_facts *f = w->facts;
    const double *c = w->c;
    double each =
        (double)f->exps * c[f->native_math ? COST_CPU_EXP_NATIVE : COST_CPU_EXP] +
        (double)f->divisions * c[f->reciprocals ? COST_CPU_RECIPROCAL : COST_CPU_DIVISION] +
        (double)f->square_roots * c[COST_CPU_ROOT] + (double)f->other_ops * c[COST_CPU_OPERATION];
    return each * (double)f->packed * w->idle;
}

static double arithmetic_seconds(const core_work *w) {
    const double *c = w->c;
    double cycles = operations(w) / (double)w->machine->lanes +
                    (double)w->facts->shuffles * w->vectors * c[COST_CPU_SHUFFLE] +
                    w->steps * w->sweeps * c[COST_CPU_STEP] + c[COST_CPU_PROGRAM];
    return cycles / w->machine->clock;
}

/* Each reduction carries a value for each slot of a step; the next step waits for the one before.
 * What stands behind in the program begins meanwhile, as far as the core looks ahead. */
static double chain_seconds(const core_work *w) {
    double waited = larger(w->steps - w->c[COST_CPU_AHEAD], 0);
    return (double)w->facts->reductions * waited * w->c[COST_CPU_CHAIN] / w->machine->clock;
}

/* The part of values that wait in memory because a step has more of them side by side than there
 * are registers: each operation runs over all slots before the next one does. */
static double spilled_part(const core_work *w) {
    const cost_facts *f = w->facts;
    double each = f->exps > 0 ? w->c[COST_CPU_EXP_VALUES] : 1;
    double values = (double)f->step_slots * w->vectors * each;
    double registers = (double)w->machine->registers / (double)f->subgroup;
    double free = larger(registers - w->c[COST_CPU_CONSTANTS], 1);
    return larger(1 - free / values, 0);
}

/* Of a step that the row's end cuts short one pack is under a mask; those behind it are constants,
 * which compilers drop. */
static double access_seconds(const core_work *w) {
    const cost_facts *f = w->facts;
    const double *c = w->c;
    double guard = w->machine->masks_lanes ? c[COST_CPU_GUARD_MASKED]
                                           : c[COST_CPU_GUARD] * (double)f->subgroup;
    double cycles = (double)f->accesses * w->vectors * c[COST_CPU_ACCESS] +
                    (double)f->guarded_accesses * w->vectors * guard +
                    operations(w) / (double)f->subgroup * spilled_part(w) * c[COST_CPU_SPILL];
    return cycles / w->machine->clock;
}

/* ---- bytes ---- */

/* Seconds in which one core reads or writes so many bytes of what this much memory holds; what the
 * nearest cache holds is as fast as the accesses themselves, which are counted. */
static double move_seconds(const core_work *w, double bytes, double held, double cores) {
    const cost_machine *m = w->machine;
    if (held <= (double)m->near_cache_bytes)
        return 0;
    if (held <= (double)m->private_cache_bytes)
        return bytes / m->private_bandwidth;
    double all = held * cores <= (double)m->cache_bytes ? m->cache_bandwidth : m->memory_bandwidth;
    return bytes * (double)m->processors / all;
}

/* Of one group: first from where the launch's arrays are, when a cache holds them all, then from
 * where the group's own rows are. Arrays of its own are written before they are read. */
static double cache_seconds(const core_work *w, double cores) {
    const cost_facts *f = w->facts;
    double packed = (double)f->packed, shared = (double)f->shared_read_bytes;
    double first = (double)f->read_bytes + (double)f->write_bytes,
           array = (double)f->array_bytes / 2;
    double again = (double)f->reread_bytes + array * (1 + w->c[COST_CPU_WRITE]);
    double row = packed * (first + array) + shared;
    double seconds = move_seconds(w, packed * again + shared, row, cores);
    if (w->is_kept) {
        double arrays = (double)f->programs * first + shared;
        seconds += move_seconds(w, packed * first, arrays / cores, cores);
    }
    return seconds;
}

/* Of the whole launch. While the last level keeps its arrays from call to call, only what is stored
 * past it counts: it goes out and comes back for whoever reads it next, as it does in launches that
 * are not much larger than that level. */
static void set_memory_bytes(core_work *w) {
    const cost_facts *f = w->facts;
    double programs = (double)f->programs, write = w->c[COST_CPU_WRITE];
    double reads = programs * (double)f->read_bytes + (double)f->shared_read_bytes;
    double writes = programs * (double)f->write_bytes;
    double streamed = programs * larger((double)f->streamed_bytes, 0);
    double level = (double)w->machine->cache_bytes;
    w->is_kept = reads + writes <= level * w->c[COST_CPU_WARM_SHARE];
    w->memory_bytes = w->is_kept ? write * streamed : reads + write * writes;
    if (reads + writes > level * w->c[COST_CPU_STREAM_SHARE])
        w->memory_bytes -= (write - 1) * streamed;
}

static double memory_seconds(const core_work *w, double cores) {
    double share = cores < (double)w->machine->processors ? w->c[COST_CPU_CORE_MEMORY] : 1;
    return w->memory_bytes / (w->machine->memory_bandwidth * share);
}

/* ---- the launch ---- */

/* Arithmetic and accesses take turns on the same core: they count as one demand. */
enum { ARITHMETIC, ACCESSES, CHAIN, CACHE, MEMORY, DEMANDS };

typedef struct core_demands {
    double seconds[DEMANDS]; /* of the whole launch */
    double shares[DEMANDS];  /* of them that are not hidden under others */
    double total;
} core_demands;

/* The part of a demand that is not hidden under the longest. A row that the program before asked
 * for comes while that computes: memory is hidden as other demands are, and hides more of them. */
static double exposed_share(const core_work *w, int demand, int longest) {
    const cost_facts *f = w->facts;
    double read = (double)f->read_bytes, fetched = larger((double)f->prefetch_bytes, 0);
    double part = fetched > 0 ? smaller(fetched / larger(read, 1), 1) : 0;
    cost_coefficient waits = demand == MEMORY ? COST_CPU_OVERLAP_MEMORY : COST_CPU_OVERLAP;
    cost_coefficient comes = longest == MEMORY ? COST_CPU_OVERLAP_PREFETCH : COST_CPU_OVERLAP;
    return (1 - part) * w->c[waits] + part * w->c[comes];
}

static void add_shares(const core_work *w, core_demands *d, int longest) {
    d->total = 0;
    for (int i = 0; i < DEMANDS; i++) {
        bool full = i == longest || (i == ACCESSES && longest == ARITHMETIC);
        d->shares[i] = full ? 1 : exposed_share(w, i, longest);
        d->total += d->seconds[i] * d->shares[i];
    }
}

/* On so many cores. Memory that is hardly the longest is hidden no better than one that is not:
 * else less of it could cost more. */
static core_demands demands_on(const core_work *w, double cores) {
    double rounds = ceil(w->groups / cores);
    core_demands d = {.seconds = {[ARITHMETIC] = rounds * arithmetic_seconds(w),
                                  [ACCESSES] = rounds * access_seconds(w),
                                  [CHAIN] = rounds * chain_seconds(w),
                                  [CACHE] = rounds * cache_seconds(w, cores),
                                  [MEMORY] = memory_seconds(w, cores)}};
    double most = d.seconds[ARITHMETIC] + d.seconds[ACCESSES];
    int longest = ARITHMETIC;
    for (int i = CHAIN; i < DEMANDS; i++) {
        if (d.seconds[i] > most) {
            most = d.seconds[i];
            longest = i;
        }
    }
    add_shares(w, &d, longest);
    core_demands other = d;
    add_shares(w, &other, ARITHMETIC);
    return other.total > d.total ? other : d;
}

static void add_demands(cost_estimate *estimate, const core_demands *d) {
    static const char *const names[DEMANDS] = {"arithmetic", "accesses", "chain", "cache",
                                               "memory"};
    for (int i = 0; i < DEMANDS; i++)
        cost_add(estimate, names[i], d->seconds[i] * d->shares[i] * 1e6);
}

static bool knows(cost_estimate *estimate, const cost_facts *facts, const cost_machine *device) {
    static const cost_need needs[] = {
        COST_NEED(programs, 0),     COST_NEED(reductions, 0),    COST_NEED(subgroup, 1),
        COST_NEED(workers, 1),      COST_NEED(vector, 1),        COST_NEED(packed, 1),
        COST_NEED(array_bytes, 0),  COST_NEED(private_slots, 0), COST_NEED(shuffles, 0),
        COST_NEED(read_bytes, 0),   COST_NEED(reread_bytes, 0),  COST_NEED(shared_read_bytes, 0),
        COST_NEED(write_bytes, 0),  COST_NEED(step_slots, 1),    COST_NEED(accesses, 0),
        COST_NEED(exps, 0),         COST_NEED(divisions, 0),     COST_NEED(guarded_accesses, 0),
        COST_NEED(square_roots, 0), COST_NEED(other_ops, 0),
    };
    static const cost_machine_need of_machine[] = {
        COST_MACHINE_NEED(processors),
        COST_MACHINE_NEED(lanes),
        COST_MACHINE_NEED(near_cache_bytes),
        COST_MACHINE_NEED(private_bandwidth),
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
    set_memory_bytes(&w);
    double cores = larger(1, smaller(w.groups, (double)device->processors));
    core_demands alone = demands_on(&w, 1), together = demands_on(&w, cores);
    bool serial = alone.total * 1e6 < w.c[COST_CPU_SERIAL] ||
                  alone.total <= together.total + w.c[COST_CPU_TEAM] * 1e-6;
    cost_add(&estimate, "call", w.c[COST_CPU_CALL]);
    if (facts->array_bytes > 0 && facts->private_slots > 0)
        cost_add(&estimate, "workspace", w.c[COST_CPU_WORKSPACE]);
    if (!serial)
        cost_add(&estimate, "team", w.c[COST_CPU_TEAM]);
    add_demands(&estimate, serial ? &alone : &together);
    return estimate;
}
