/* A launch on a GPU in microseconds: what its groups ask of the device, and how long one of them
 * takes.
 *
 *     time = launch + fill + the longest of the demands + shares of the others + again
 *
 *     demands      each as if nothing else were asked, of all groups together
 *       starts     groups are started one after the other on each multiprocessor
 *       memory     first reads, weights once, rereads that miss the last level, writes
 *       cache      bytes that pass the last level: also rereads, and a part of the weights of every
 *                  program, where the nearest cache does not hold them
 *       sectors    32 bytes each at the nearest cache
 *       issue      instructions of all lanes, of those that idle beside them too
 *       special    native exponentials, roots and reciprocals: one unit for eight lanes
 *       waiting    waves times what one group takes: the latency of memory, its own bytes, barriers
 *                  and shuffles, instructions one after the other
 *
 * fill is what the first group waits before anything flows; again are rereads while no other group
 * loads: those that began together read again together. What a group waits at, others hide: one
 * that waits long is no loss while many are resident, and many fit when threads, registers and
 * scratch are few. A reread hits the last level while all rows that are read at once, the live
 * footprint, fit there. The waits of a worker are its bytes over those that it has under way at
 * once, which is Little's law: few bytes under way and few threads, and the rate falls.
 *
 * It does not see banks, clocks that fall, the order of groups, or how reads and writes meet in
 * memory. docs/cost-models.md has the formulas and where each number is from.
 */
#include "planner/cost/cost_internal.h"

#include <math.h>

/* How a launch lies on the machine. Numbers are double: none is exact beyond its size. */
typedef struct launch {
    const cost_facts *facts;
    const cost_machine *machine;
    const double *c;     /* coefficients */
    double groups;       /* of the launch */
    double subgroups;    /* of one group */
    double threads;      /* of one group */
    double resident;     /* groups of one processor at once, at most */
    double units;        /* parts of one processor that do not wait for each other */
    double beside;       /* groups that run at once on the device */
    double waves;        /* of groups after one another, the last one in part */
    double uneven;       /* work of the busiest processor over the mean */
    double drift;        /* the same, where launches one behind the other meet */
    double idle;         /* lanes and slots that compute over those that have elements */
    double spilled;      /* values of one worker that no register holds */
    double live_bytes;   /* of rows that are read at once */
    double memory_bytes; /* weighed: a write costs more than a read */
    double cache_bytes;  /* that pass the last level */
    double again_bytes;  /* of them rereads and weights */
    /* seconds of one group: until its first read is there, for all its reads, at barriers and
     * shuffles, for the instructions of a worker one after the other */
    double latency, wait, exchange, work;
    double transfer; /* for its own bytes, were it alone on its processor */
} launch;

enum { MOST_REGISTERS = 255, REGISTER_STEP = 8, RESERVED_SCRATCH = 1024 };

static double at_least(double value, double least) {
    return value > least ? value : least;
}

static double at_most(double value, double most) {
    return value < most ? value : most;
}

/* ---- how groups lie on the machine ---- */

/* While it computes, or where all partial results of a reduction meet what is kept: each subgroup
 * loads those of all subgroups at once. What passes beside kept values need not all be there, and
 * is as wide as in memory; of what all programs read, compilers fetch a part before kept values are
 * at their last use. */
double cost_cuda_registers(const cost_facts *f, const cost_coefficients *coefficients) {
    const double *c = coefficients->value;
    double width = (double)f->element_bytes / (double)sizeof(float), kept = (double)f->kept_slots;
    double passing = at_least((double)f->live_slots - kept, 0) * width;
    double shared = (double)f->shared_read_bytes / (double)f->element_bytes / (double)f->workers;
    double computing = c[COST_CUDA_REGISTERS] + kept + c[COST_CUDA_REGISTERS_PASSING] * passing +
                       c[COST_CUDA_REGISTERS_VECTOR] * (double)f->vector;
    if (f->kept_slots > 0)
        computing += c[COST_CUDA_REGISTERS_SHARED] * shared;
    double meeting = c[COST_CUDA_REGISTERS_MEETING] + (double)f->kept_slots + cost_subgroups(f);
    return f->barriers > 0 ? at_least(computing, meeting) : computing;
}

/* The next launch begins in the room that this one leaves. Where that is for more than one launch
 * and less than two, the rest of it follows where groups end first, and those processors have more
 * of it than others. */
static double drift_of(const launch *l) {
    double mean = l->groups / (double)l->machine->processors;
    if (mean <= 1 || l->resident <= ceil(mean) || l->resident >= floor(2 * mean))
        return 1;
    return 1 + l->c[COST_CUDA_DRIFT] * (l->resident / mean - 1);
}

/* That a thread may have, in steps of how they are given. */
static double most_registers(const launch *l) {
    double most = floor((double)l->machine->registers / l->threads / REGISTER_STEP);
    return at_least(at_most(most * REGISTER_STEP, MOST_REGISTERS), REGISTER_STEP);
}

/* Groups of one processor at once, at most, if a thread takes so many registers. */
static double resident_of(const launch *l, double registers) {
    const cost_facts *f = l->facts;
    const cost_machine *m = l->machine;
    double steps = at_least(ceil(registers / REGISTER_STEP), 1);
    registers = at_most(steps * REGISTER_STEP, most_registers(l));
    double fit = at_most((double)m->groups_limit, floor((double)m->threads_limit / l->threads));
    fit = at_most(fit, floor((double)m->registers / (registers * l->threads)));
    if (f->scratch_bytes > 0)
        fit = at_most(
            fit, floor((double)m->scratch_bytes / ((double)f->scratch_bytes + RESERVED_SCRATCH)));
    return at_least(fit, 1);
}

static void place_groups(launch *l, const cost_coefficients *coefficients) {
    const cost_facts *f = l->facts;
    l->groups = ceil((double)f->programs / (double)f->packed);
    l->subgroups = ceil((double)f->workers * (double)f->packed / (double)f->subgroup);
    l->threads = l->subgroups * (double)f->subgroup;
    double registers = cost_cuda_registers(f, coefficients);
    double spread = l->c[COST_CUDA_REGISTERS_SPREAD] * registers;
    double most = most_registers(l);
    l->spilled = at_least(registers - most, 0);
    /* groups are whole, registers an estimate: the mean of the waves that it may be */
    double waves = 1 / resident_of(l, registers - spread) + 2 / resident_of(l, registers) +
                   1 / resident_of(l, registers + spread);
    l->resident = 4 / waves;
    double processors = (double)l->machine->processors;
    l->units = at_most(l->resident, ceil(l->groups / processors));
    if (f->barriers == 0)
        l->units *= l->subgroups;
    l->beside = at_most(l->groups, processors * l->resident);
    waves = l->groups / (processors * l->resident);
    l->waves = waves <= 1 ? 1 : waves + l->c[COST_CUDA_TAIL] * (ceil(waves) - waves);
    l->uneven = ceil(l->groups / processors) * processors / l->groups;
    l->drift = drift_of(l);
}

/* Lanes and slots that compute, over the elements of the longest sweep. Packs that lie past the end
 * of the row for all lanes are constants, which compilers drop. */
static double idle_factor(const launch *l) {
    const cost_facts *f = l->facts;
    double longest = 1;
    for (int i = 0; i < f->domain_count; i++)
        longest = at_least(longest, (double)f->domains[i].elements);
    double threads = l->threads / (double)f->packed;
    double pack = (double)f->workers * (double)f->vector;
    return ceil(longest / pack) * (double)f->vector * threads / longest;
}

/* ---- bytes ---- */

/* The part of rereads that a cache serves: all while what is live fits in its room, none from twice
 * that on. */
static double part_within(double live, double room) {
    return at_least(at_most(2 - live / room, 1), 0);
}

/* By the last level, with the rows of all groups. */
static double served_part(const launch *l) {
    return part_within(l->live_bytes,
                       l->c[COST_CUDA_CACHE_SHARE] * (double)l->machine->cache_bytes);
}

/* By the nearest one, with what the groups of one processor read; scratch is taken from it. */
static double near_part(const launch *l) {
    const cost_facts *f = l->facts;
    double groups = at_most(l->resident, ceil(l->groups / (double)l->machine->processors));
    double rows = groups * (double)f->packed * (double)f->read_bytes + (double)f->shared_read_bytes;
    double left = (double)l->machine->near_cache_bytes - groups * (double)f->scratch_bytes;
    double room = l->c[COST_CUDA_NEAR_SHARE] * left;
    return room > 0 ? part_within(rows, room) : 0;
}

static void count_bytes(launch *l) {
    const cost_facts *f = l->facts;
    double programs = (double)f->programs;
    double reads = programs * (double)f->read_bytes + (double)f->shared_read_bytes;
    double writes = programs * (double)f->write_bytes, torn = programs * (double)f->torn_bytes;
    double arrays = programs * (double)f->array_bytes; /* written before they are read */
    double again = programs * (double)f->reread_bytes + arrays;
    double row = (double)f->read_bytes + (double)f->array_bytes / 2;
    l->live_bytes = l->beside * (double)f->packed * row;
    double written = writes + l->c[COST_CUDA_TORN] * torn;
    l->memory_bytes = reads + l->c[COST_CUDA_WRITE] * written + again * (1 - served_part(l));
    if (reads + writes <= l->c[COST_CUDA_WARM_SHARE] * (double)l->machine->cache_bytes)
        l->memory_bytes = 0;
    double spills = 2 * (double)sizeof(float) * l->spilled * (double)f->workers * programs;
    double shared = l->c[COST_CUDA_SHARED] * (double)f->shared_read_bytes;
    l->again_bytes = programs * ((double)f->reread_bytes + shared) * (1 - near_part(l));
    l->cache_bytes = programs * ((double)f->read_bytes + (double)f->write_bytes) + torn + arrays +
                     spills + l->again_bytes;
}

/* ---- one group ---- */

/* Instructions of the accesses of one lane. */
static double access_instructions(const launch *l) {
    const cost_facts *f = l->facts;
    return (double)f->accesses * l->c[COST_CUDA_ACCESS] +
           (double)f->guarded_accesses * l->c[COST_CUDA_GUARD];
}

/* Instructions of one lane for each element of the program, of all kinds, as if none idled. */
static double instructions(const launch *l) {
    const cost_facts *f = l->facts;
    const double *c = l->c;
    double exponential = f->native_math ? c[COST_CUDA_EXP_NATIVE] : c[COST_CUDA_EXP];
    double root = f->native_math ? c[COST_CUDA_ROOT_NATIVE] : c[COST_CUDA_ROOT];
    double division = f->reciprocals ? c[COST_CUDA_RECIPROCAL] : c[COST_CUDA_DIVISION];
    return (double)f->exps * exponential + (double)f->divisions * division +
           (double)f->square_roots * root + (double)f->other_ops;
}

/* Reads of the busiest worker over what it has under way at once; a sweep that depends on another
 * one waits at least once more. */
static double memory_waits(const cost_facts *f) {
    double reads = (double)f->read_bytes + (double)f->reread_bytes + (double)f->shared_read_bytes;
    double all = reads + (double)f->write_bytes;
    double worker_reads = all > 0 ? (double)f->worker_bytes * reads / all : 0;
    double once = reads > 0 ? 1 : 0;
    if (f->reread_bytes > 0 && f->read_bytes > 0)
        once += (double)f->reread_bytes / (double)f->read_bytes;
    return at_least(worker_reads / (double)f->bytes_in_flight, once);
}

static void wait_of_group(launch *l) {
    const cost_facts *f = l->facts;
    double cycle = 1 / l->machine->clock;
    double reads = (double)f->read_bytes + (double)f->reread_bytes;
    double near = reads > 0 ? (double)f->reread_bytes * served_part(l) / reads : 0;
    if (l->memory_bytes <= 0)
        near = 1;
    l->latency = l->machine->latency_seconds * (1 - near * (1 - l->c[COST_CUDA_CACHE_LATENCY]));
    l->wait = memory_waits(f) * l->latency;
    double barrier = l->c[COST_CUDA_BARRIER] + l->c[COST_CUDA_BARRIER_SUBGROUP] * cost_subgroups(f);
    double cluster = l->c[COST_CUDA_CLUSTER] + l->c[COST_CUDA_CLUSTER_BLOCK] * (double)f->blocks;
    l->exchange = ((double)f->barriers * barrier + (double)f->cluster_waits * cluster +
                   (double)f->shuffles * l->c[COST_CUDA_SHUFFLE_LATENCY]) *
                  cycle;
    double each = instructions(l) * l->idle / (l->threads / (double)f->packed);
    /* accesses do not wait for one another */
    l->work = (each * l->c[COST_CUDA_DEPENDENT] + access_instructions(l)) * cycle;
    double rate = l->memory_bytes > 0 ? l->c[COST_CUDA_OWN_BYTES] : l->c[COST_CUDA_PROCESSOR_BYTES];
    double bytes = (double)f->packed * ((double)f->read_bytes + (double)f->write_bytes);
    l->transfer = bytes / rate * cycle;
}

/* ---- demands, in seconds ---- */

static double issue_seconds(const launch *l) {
    const cost_facts *f = l->facts;
    const double *c = l->c;
    double partials = (double)f->barriers * cost_subgroups(f);
    double accesses = access_instructions(l) + (double)f->shuffles * c[COST_CUDA_SHUFFLE] +
                      partials * c[COST_CUDA_PARTIAL] + c[COST_CUDA_PROGRAM];
    double lanes = instructions(l) * l->idle + accesses * l->threads / (double)f->packed;
    double rate = (double)l->machine->processors * (double)l->machine->lanes * l->machine->clock *
                  c[COST_CUDA_ISSUE_SHARE];
    return l->groups * (double)f->packed * lanes * l->uneven / rate;
}

static double special_seconds(const launch *l) {
    const cost_facts *f = l->facts;
    double calls = (f->native_math ? (double)f->exps + (double)f->square_roots : 0) +
                   (double)(f->reciprocals ? 0 : f->divisions);
    double rate = (double)l->machine->processors * (double)l->machine->lanes * l->machine->clock /
                  l->c[COST_CUDA_SPECIAL];
    return (double)f->programs * calls * l->idle * l->uneven / rate;
}

static double memory_seconds(const launch *l) {
    return l->memory_bytes / l->machine->memory_bandwidth;
}

/* Of all processors together, and of the busiest one, which has a limit of its own. */
static double cache_seconds(const launch *l, double bytes) {
    double all = bytes / l->machine->cache_bandwidth;
    double own = l->c[COST_CUDA_PROCESSOR_BYTES] * l->machine->clock;
    double busiest = bytes / (double)l->machine->processors * l->uneven / own;
    return at_least(all, busiest) * l->drift;
}

/* The nearest cache looks up a line at a time, whatever part of it an access wants. */
static double sector_seconds(const launch *l) {
    const cost_facts *f = l->facts;
    double run = (double)f->workers * (double)f->vector * (double)f->element_bytes;
    double lines = at_least(l->c[COST_CUDA_NEAR_BYTES] / run, 1);
    double bytes = 32.0 * (double)f->sectors * (double)f->programs * lines;
    double rate = l->c[COST_CUDA_NEAR_BYTES] * l->machine->clock * (double)l->machine->processors;
    return bytes * l->uneven / rate;
}

static double start_seconds(const launch *l) {
    return l->c[COST_CUDA_START] * 1e-9 * ceil(l->groups / (double)l->machine->processors);
}

/* ---- the sum ---- */

/* What moves bytes stands first, then what keeps lanes. */
enum { MEMORY, CACHE, SECTORS, ISSUE, SPECIAL, STARTS, WAITING, DEMANDS };

static int longest_of(const double demands[DEMANDS], int first, int end) {
    int longest = first;
    for (int i = first + 1; i < end; i++)
        if (demands[i] > demands[longest])
            longest = i;
    return longest;
}

/* The longest demand counts in full. Bytes and lanes are a pipeline of as many pieces as there are
 * units and waves: of the shorter one the first or last piece shows, all of it for one group alone,
 * which first loads and then computes. No piece of lanes is shorter than the work of a group.
 * Groups that begin together do not drift apart at once: a part of a wave shows anyway. */
static void add_demands(cost_estimate *estimate, const launch *l, const double demands[DEMANDS]) {
    static const char *const names[DEMANDS] = {
        "memory", "cache", "sectors", "issue", "special", "starts", "waiting",
    };
    int bytes = longest_of(demands, MEMORY, ISSUE), lanes = longest_of(demands, ISSUE, DEMANDS);
    int longest = demands[bytes] > demands[lanes] ? bytes : lanes;
    double overlap = l->c[COST_CUDA_OVERLAP];
    double pieces = at_most((1 / l->units + l->c[COST_CUDA_TOGETHER]) / l->waves, 1);
    double alone = overlap + at_least(1 - overlap, 0) * pieces;
    double least = at_most(l->work / at_least(memory_waits(l->facts), 1), demands[lanes]);
    double exchanged = l->exchange / (l->wait + l->exchange + l->work + l->transfer);
    for (int i = 0; i < DEMANDS; i++) {
        double share = i == longest ? 1 : i == bytes || i == lanes ? alone : overlap;
        double part = demands[i] * share * 1e6;
        if (i == lanes && i != longest)
            part = at_least(part, least * 1e6);
        cost_add(estimate, names[i], i == WAITING ? part * (1 - exchanged) : part);
        if (i == WAITING)
            cost_add(estimate, "exchange", part * exchanged);
    }
    if (longest != CACHE)
        cost_add(estimate, "again", cache_seconds(l, l->again_bytes) / l->waves * 1e6);
}

static bool knows(cost_estimate *estimate, const cost_facts *facts, const cost_machine *device) {
    static const cost_need needs[] = {
        COST_NEED(programs, 0),
        COST_NEED(element_bytes, 1),
        COST_NEED(subgroup, 1),
        COST_NEED(workers, 1),
        COST_NEED(vector, 1),
        COST_NEED(packed, 1),
        COST_NEED(kept_slots, 0),
        COST_NEED(live_slots, 0),
        COST_NEED(scratch_bytes, 0),
        COST_NEED(barriers, 0),
        COST_NEED(shuffles, 0),
        COST_NEED(read_bytes, 0),
        COST_NEED(reread_bytes, 0),
        COST_NEED(array_bytes, 0),

        COST_NEED(shared_read_bytes, 0),
        COST_NEED(write_bytes, 0),
        COST_NEED(torn_bytes, 0),
        COST_NEED(worker_bytes, 0),
        COST_NEED(accesses, 0),
        COST_NEED(guarded_accesses, 0),
        COST_NEED(sectors, 0),
        COST_NEED(bytes_in_flight, 0),
        COST_NEED(exps, 0),
        COST_NEED(divisions, 0),
        COST_NEED(square_roots, 0),
        COST_NEED(other_ops, 0),
    };
    static const cost_machine_need of_machine[] = {
        COST_MACHINE_NEED(processors),
        COST_MACHINE_NEED(lanes),
        COST_MACHINE_NEED(threads_limit),
        COST_MACHINE_NEED(groups_limit),
        COST_MACHINE_NEED(registers),
        COST_MACHINE_NEED(scratch_bytes),
        COST_MACHINE_NEED(near_cache_bytes),
        COST_MACHINE_NEED(cache_bytes),
        COST_MACHINE_NEED(cache_bandwidth),
        COST_MACHINE_NEED(memory_bandwidth),
        COST_MACHINE_NEED(clock),
        COST_MACHINE_NEED(latency_seconds),
    };
    return cost_knows(estimate, facts, needs, sizeof needs / sizeof needs[0]) &&
           cost_knows_machine(estimate, device, of_machine,
                              sizeof of_machine / sizeof of_machine[0]);
}

/* The groups of a cluster are programs of so many parts of a row each; what all programs read, each
 * of them reads in part. */
static cost_facts of_one_block(const cost_facts *facts) {
    cost_facts own = *facts;
    int64_t *const shares[] = {&own.read_bytes,  &own.reread_bytes, &own.shared_read_bytes,
                               &own.write_bytes, &own.array_bytes,  &own.sectors,
                               &own.exps,        &own.divisions,    &own.square_roots,
                               &own.other_ops};
    if (own.blocks <= 1)
        return own;
    own.programs *= own.blocks;
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
        *shares[i] = (*shares[i] + own.blocks - 1) / own.blocks;
    for (int i = 0; i < own.domain_count; i++)
        own.domains[i].elements = (own.domains[i].elements + own.blocks - 1) / own.blocks;
    return own;
}

int64_t cost_cuda_resident(const cost_facts *facts, const cost_machine *device,
                           const cost_coefficients *coefficients) {
    cost_estimate estimate = {0};
    if (!knows(&estimate, facts, device) || facts->programs == 0)
        return 0;
    const cost_facts own = of_one_block(facts);
    launch l = {.facts = &own, .machine = device, .c = coefficients->value};
    place_groups(&l, coefficients);
    double resident = resident_of(&l, cost_cuda_registers(&own, coefficients));
    return (int64_t)at_most(resident, ceil(l.groups / (double)device->processors));
}

cost_estimate cost_cuda(const cost_facts *facts, const cost_machine *device,
                        const cost_coefficients *coefficients) {
    cost_estimate estimate = {.is_time = true};
    if (!knows(&estimate, facts, device))
        return estimate;
    const cost_facts own = of_one_block(facts);
    launch l = {.facts = &own, .machine = device, .c = coefficients->value};
    cost_add(&estimate, "launch", l.c[COST_CUDA_LAUNCH]);
    if (facts->programs == 0)
        return estimate;
    place_groups(&l, coefficients);
    l.idle = idle_factor(&l);
    count_bytes(&l);
    wait_of_group(&l);
    double fill = l.latency + l.exchange;
    double demands[DEMANDS] = {
        [MEMORY] = memory_seconds(&l),
        [CACHE] = cache_seconds(&l, l.cache_bytes),
        [SECTORS] = sector_seconds(&l),
        [ISSUE] = issue_seconds(&l),
        [SPECIAL] = special_seconds(&l),
        [STARTS] = start_seconds(&l),
        [WAITING] = at_least(l.waves * (l.wait + l.exchange + l.work + l.transfer) - fill, 0),
    };
    cost_add(&estimate, "fill", fill * 1e6);
    add_demands(&estimate, &l, demands);
    return estimate;
}
