/* Candidates: digits, and the rules of each dimension.
 *
 *     lanes 32, subgroups 13, V 4, 4103 elements     slot 4 | lane 32 | subgroup 13 | slot 4
 *     .., U 2, in steps                              .. | subgroup 13 | slot 2 | step 2
 *     cpu: lanes 8, U 4, in steps                    lane 8 | slot 4 | step 129
 *
 * The budget of registers: a processor's registers over the threads of as many groups as must be
 * there at once, without 24 that every thread needs for addresses and the like; at most 64. One
 * group must be there, and 512 threads: with fewer nothing hides the latency of memory. Machines
 * whose registers are not documented have the 64, for all tiles together.
 */
#include "planner/candidate.h"

#include "planner/launches.h"

enum {
    MOST_SLOTS = 64,        /* that the lowering takes */
    MOST_VALUES = 64,       /* that a worker keeps */
    LOADS_UNDER_WAY = 16,   /* beside kept values: later ones wait for room */
    THREADS_TOGETHER = 128, /* four subgroups, one in each part of a processor: groups are given */
    REGISTERS_TOGETHER = 8, /* registers for so many threads, so many each */
    OWN_REGISTERS = 24,     /* of a thread, for what is no kept value */
    RESIDENT_THREADS = 512,
    MOST_VECTOR = 8,
    MOST_UNROLL = 16,
    MOST_PARTS = 1024,
    STANDARD_SLOTS = 4, /* accumulators of a cpu row, neighbours of a lane elsewhere */
    STANDARD_CHUNKS = 4,
    SHIFTED_BYTES = 8 /* of an access, at least, that a row is shifted for */
};

const char *planner_keeping_name(planner_keeping keeping) {
    static const char *const names[] = {
        [PLANNER_KEEP_MIXED] = "mixed",     [PLANNER_KEEP_REGISTERS] = "registers",
        [PLANNER_KEEP_AGAIN] = "again",     [PLANNER_KEEP_OUTPUT] = "output",
        [PLANNER_KEEP_PRIVATE] = "private", [PLANNER_KEEP_NOTHING] = "nothing"};
    return (unsigned)keeping < PLANNER_KEEPING_COUNT ? names[keeping] : NULL;
}

static bool lanes_are_threads(const planner_program *program) {
    return program->state->machine->lanes_are_threads;
}

int64_t planner_vector_limit(const machine *device) {
    return device->lanes_are_threads ? MOST_VECTOR : 1;
}

static bool is_power(int64_t value) {
    return value > 0 && (value & (value - 1)) == 0;
}

int64_t planner_candidate_workers(const planner_candidate *candidate) {
    return candidate->lanes * candidate->subgroups;
}

int64_t planner_candidate_owners(const planner_candidate *candidate) {
    return planner_candidate_workers(candidate) * candidate->blocks;
}

/* ---- digits ---- */

static int64_t ceil_of(int64_t a, int64_t b) {
    return a / b + (a % b != 0);
}

int64_t planner_candidate_extent(const planner_program *program,
                                 const planner_candidate *candidate) {
    return candidate->parts > 1 ? ceil_of(program->extent, candidate->parts) : program->extent;
}

int64_t planner_candidate_positions(const planner_program *program,
                                    const planner_candidate *candidate) {
    return program->extent + (candidate->shifted ? candidate->vector - 1 : 0);
}

int64_t planner_candidate_width(const planner_candidate *candidate, const planner_access *access) {
    int64_t width = 1;
    while (width * 2 <= access->run && width * 2 <= candidate->vector &&
           width * 2 * access->bytes <= MACHINE_ACCESS_BYTES)
        width *= 2;
    bool aligned = candidate->shifted ? access->follows : access->length % width == 0;
    return aligned ? width : 1;
}

/* Chunks of a row that lies in slots: a power of two, or where it is shifted as many as there are.
 */
static int64_t chunks_of(const planner_program *program, const planner_candidate *candidate) {
    int64_t chunk = planner_candidate_owners(candidate) * candidate->vector, chunks = 1;
    if (candidate->shifted)
        return ceil_of(planner_candidate_positions(program, candidate), chunk);
    while (chunks < ceil_of(planner_candidate_extent(program, candidate), chunk))
        chunks *= 2;
    return chunks;
}

int64_t planner_candidate_slots(const planner_program *program,
                                const planner_candidate *candidate) {
    int64_t chunks = candidate->stepped ? candidate->unroll : chunks_of(program, candidate);
    return planner_times(candidate->vector, chunks);
}

static void push_digit(layout_axis *digits, layout_holder holder, int64_t radix) {
    if (radix != 1)
        digits->digits[digits->count++] = (layout_digit){.holder = holder, .radix = radix};
}

layout_axis planner_candidate_digits(const planner_program *program,
                                     const planner_candidate *candidate) {
    int64_t slots = planner_candidate_slots(program, candidate);
    int64_t elements = planner_candidate_owners(candidate) * slots;
    layout_axis digits = {0};
    push_digit(&digits, LAYOUT_SLOT, candidate->vector);
    push_digit(&digits, LAYOUT_LANE, candidate->lanes);
    push_digit(&digits, LAYOUT_SUBGROUP, candidate->subgroups);
    push_digit(&digits, LAYOUT_BLOCK, candidate->blocks);
    push_digit(&digits, LAYOUT_SLOT, slots / candidate->vector);
    if (candidate->stepped) {
        int64_t each = planner_times(elements, candidate->parts);
        int64_t positions = planner_candidate_positions(program, candidate);
        push_digit(&digits, LAYOUT_STEP, program->known ? ceil_of(positions, each) : 0);
    }
    push_digit(&digits, LAYOUT_GROUP, candidate->parts);
    if (digits.count == 0)
        digits.digits[digits.count++] = (layout_digit){.holder = LAYOUT_STEP, .radix = 1};
    if (candidate->shifted)
        digits.shift = program->shift->anchor;
    return digits;
}

void planner_candidate_programs(const planner_program *program, const planner_candidate *candidate,
                                layout_axis *digits) {
    int64_t beside = program->state->machine->subgroup / candidate->lanes;
    beside = candidate->subgroups > 1 ? 1 : beside < candidate->packed ? beside : candidate->packed;
    push_digit(digits, LAYOUT_LANE, beside);
    push_digit(digits, LAYOUT_SUBGROUP, candidate->packed / beside);
}

/* ---- the standard ---- */

static planner_candidate standard_team(const planner_program *program, int64_t parts) {
    const machine *device = program->state->machine;
    planner_candidate c = {.lanes = device->subgroup,
                           .subgroups = device->row_subgroups,
                           .vector = STANDARD_SLOTS,
                           .unroll = 1,
                           .packed = 1,
                           .blocks = 1,
                           .parts = parts,
                           .stepped = true};
    int64_t extent = planner_candidate_extent(program, &c), chunks = 1;
    if (!program->known)
        return c;
    while (c.vector > 1 && c.lanes * (c.vector / 2) >= extent)
        c.vector /= 2;
    while (c.subgroups > 1 && c.lanes * c.vector * (c.subgroups / 2) * STANDARD_CHUNKS >= extent)
        c.subgroups /= 2;
    int64_t chunk = c.lanes * c.vector * c.subgroups;
    while (chunks < STANDARD_CHUNKS && chunk * chunks < extent)
        chunks *= 2;
    c.stepped = chunk * chunks < extent;
    return c;
}

static planner_candidate standard_of(const planner_program *program, int64_t parts) {
    if (lanes_are_threads(program))
        return standard_team(program, parts);
    planner_candidate c = {.lanes = program->state->machine->subgroup,
                           .subgroups = 1,
                           .vector = 1,
                           .unroll = STANDARD_SLOTS,
                           .packed = 1,
                           .blocks = 1,
                           .parts = parts,
                           .stepped = true};
    int64_t extent = planner_candidate_extent(program, &c);
    c.stepped = !program->known || c.lanes * STANDARD_SLOTS < extent;
    if (!c.stepped)
        c.unroll = 1;
    return c;
}

planner_candidate planner_candidate_standard(const planner_program *program) {
    return standard_of(program, 1);
}

planner_candidate planner_candidate_standard_part(const planner_program *program, int64_t parts) {
    planner_candidate c = standard_of(program, parts);
    c.keeping = PLANNER_KEEP_NOTHING;
    return c;
}

/* ---- what is kept ---- */

/* Positions of the busiest worker. */
static int64_t owned_of(const planner_program *program, const planner_candidate *c) {
    return cost_slots(planner_candidate_positions(program, c), planner_candidate_owners(c),
                      c->vector);
}

/* What goes through a pass without being kept: where the row lies in slots, loads of it are asked
 * for at once, of all of it where nothing else is there, else of some; accumulators are as many as
 * the slots of a step. */
static int64_t passing_slots(const planner_candidate *c, const planner_living *living,
                             int64_t slots, int64_t kept) {
    if (!living->row)
        return 2 + living->reductions;
    int64_t loads = !living->loads                        ? 0
                    : kept > 0 && slots > LOADS_UNDER_WAY ? LOADS_UNDER_WAY
                                                          : slots;
    int64_t few = 2 * c->vector;
    return (loads > few ? loads : few) + living->reductions * (c->stepped ? slots : 1);
}

/* What dies in a pass makes room for what the pass makes. */
static int64_t kept_of(const planner_living *living, int64_t owned) {
    int64_t before = planner_line_at(living->before, owned);
    int64_t behind = planner_line_at(living->behind, owned);
    return before > behind ? before : behind;
}

/* Where loads were early, those of a later pass need not all be there at once. */
int64_t planner_candidate_live(const planner_program *program, const planner_candidate *c) {
    const planner_totals *totals = c->storages->totals;
    int64_t owned = owned_of(program, c);
    int64_t slots = planner_candidate_slots(program, c), live = 0;
    slots = slots < owned ? slots : owned;
    for (int64_t i = 0; i < totals->living_count; i++) {
        planner_living living = totals->living[i];
        int64_t kept = kept_of(&living, owned);
        int64_t all = kept + passing_slots(c, &living, slots, kept);
        living.loads = false;
        int64_t early = kept + c->early_slots + passing_slots(c, &living, slots, kept);
        all = c->early_slots > 0 && early > all ? early : all;
        live = all > live ? all : live;
    }
    return live;
}

void planner_candidate_keep(const planner_program *program, planner_candidate *c,
                            const planner_storages *storages) {
    const planner_totals *totals = storages->totals;
    int64_t owned = owned_of(program, c), most = 0;
    for (int64_t i = 0; i < totals->living_count; i++) {
        int64_t kept = kept_of(&totals->living[i], owned);
        most = kept > most ? kept : most;
    }
    c->storages = storages;
    c->live_slots = planner_candidate_live(program, c);
    c->kept_slots = program->state->machine->capacity.registers > 0
                        ? most
                        : planner_line_at(totals->registers, owned);
}

int64_t planner_candidate_scratch(const planner_candidate *c) {
    const planner_totals *totals = c->storages->totals;
    int64_t told = c->blocks > 1 ? planner_times(totals->partial_bytes, c->blocks) : 0;
    if (c->subgroups == 1)
        return told;
    int64_t cell = totals->partial_bytes - totals->ordered_bytes +
                   planner_times(totals->ordered_bytes, c->lanes * c->vector);
    return planner_plus(told, planner_times(cell, c->subgroups * c->packed));
}

/* ---- rules ---- */

int64_t planner_budget(const machine *device, int64_t threads) {
    int64_t registers = device->capacity.registers;
    if (registers == 0)
        return MOST_VALUES;
    int64_t groups = threads < RESIDENT_THREADS ? RESIDENT_THREADS / threads : 1;
    int64_t each = registers / (threads * groups) - OWN_REGISTERS;
    each = each < MOST_VALUES ? each : MOST_VALUES;
    return each > 0 ? each : 0;
}

static const planner_refusal_row refusal_rows[] = {
    [PLANNER_LEGAL] = {"", "", ""},
    [PLANNER_REFUSED_LANES] =
        {"lanes", "workers",
         "a power of two up to the subgroup, or whole subgroups; on a cpu one register of lanes"},
    [PLANNER_REFUSED_GROUP] = {"group", "threads of a group", "at most"},
    [PLANNER_REFUSED_VECTOR] = {"vector", "neighbours of a worker", "1, 2, 4 or 8; 1 on a cpu"},
    [PLANNER_REFUSED_UNROLL] = {"unroll", "chunks of a step", "1 to 16"},
    [PLANNER_REFUSED_PACKED] = {"packed", "programs of a group", "a power of two; one on a cpu"},
    [PLANNER_REFUSED_SHARING] = {"sharing", "programs of a group, which cannot share one",
                                 "at most"},
    [PLANNER_REFUSED_RUNTIME] = {"runtime-width", "elements, known at the call alone",
                                 "a width that is known, for chunks in slots"},
    [PLANNER_REFUSED_SLOTS] = {"slots", "slots of a worker", "at most"},
    [PLANNER_REFUSED_STEPS] = {"steps", "chunks to walk", "more than a step holds"},
    [PLANNER_REFUSED_ORDER] = {"order",
                               "subgroups, or chunks of a step, under a canonical reduction",
                               "a power of two"},
    [PLANNER_REFUSED_BLOCKS] = {"blocks", "groups of a cluster",
                                "a power of two, of a row with a chunk for each, at most"},
    [PLANNER_REFUSED_BLOCKS_SHARED] =
        {"blocks-shared", "groups of a cluster, which cannot share a row",
         "order=tree, no tensor stored in place, control that no reduction tells, one program a "
         "group, no parts"},
    [PLANNER_REFUSED_SHIFT] = {"shift", "programs of a group, of rows that are shifted",
                               "1, with V over 1, in one part, of a known width, whose vectors "
                               "would not be aligned otherwise"},
    [PLANNER_REFUSED_PARTS] = {"parts", "parts of a row", "a power of two, at most"},
    [PLANNER_REFUSED_PARTS_ORDER] = {"parts-order",
                                     "parts of a row, whose reductions have an order of their own",
                                     "order=tree, and no --strict, for parts"},
    [PLANNER_REFUSED_PARTS_PACKED] = {"parts-packed", "programs of a group, of rows in parts",
                                      "at most"},
    [PLANNER_REFUSED_PARTS_KEEP] = {"parts-keep",
                                    "parts of a row, whose launches would have to hand on tiles",
                                    "keep=nothing for parts"},
    [PLANNER_REFUSED_PARTS_SPLIT] = {"parts-split", "parts of a row, which is not split so",
                                     "a kernel that can be split over launches"},
    [PLANNER_REFUSED_BUDGET] = {"budget", "values that a worker keeps", "at most"},
    [PLANNER_REFUSED_REGISTERS] = {"registers", "values that a worker has at once", "at most"},
    [PLANNER_REFUSED_SCRATCH] = {"scratch", "bytes of scratch that reductions meet in", "at most"},
};

const planner_refusal_row *planner_refusal_describe(planner_refusal refusal) {
    return &refusal_rows[refusal];
}

/* Each: whether the candidate is refused, with what was found, and the limit if it is a number. */
typedef bool rule_function(const planner_program *program, const planner_candidate *c,
                           int64_t *found, int64_t *limit);

static bool refuse_lanes(const planner_program *program, const planner_candidate *c, int64_t *found,
                         int64_t *limit) {
    int64_t subgroup = program->state->machine->subgroup;
    (void)limit;
    *found = planner_candidate_workers(c);
    if (!lanes_are_threads(program))
        return c->lanes != subgroup || c->subgroups != 1;
    return c->lanes < 1 || c->lanes > subgroup || !is_power(c->lanes) || c->subgroups < 1 ||
           (c->subgroups > 1 && c->lanes != subgroup);
}

static bool refuse_group(const planner_program *program, const planner_candidate *c, int64_t *found,
                         int64_t *limit) {
    *found = planner_candidate_workers(c) * c->packed;
    *limit = program->state->machine->lanes_limit;
    return *found > *limit;
}

static bool refuse_vector(const planner_program *program, const planner_candidate *c,
                          int64_t *found, int64_t *limit) {
    (void)limit;
    *found = c->vector;
    return c->vector > planner_vector_limit(program->state->machine) || !is_power(c->vector);
}

static bool refuse_unroll(const planner_program *program, const planner_candidate *c,
                          int64_t *found, int64_t *limit) {
    (void)program;
    (void)limit;
    *found = c->unroll;
    return c->unroll > MOST_UNROLL || (!c->stepped && c->unroll > 1);
}

/* Programs lie on the lanes that a row leaves of a subgroup, then on subgroups. */
static bool refuse_packed(const planner_program *program, const planner_candidate *c,
                          int64_t *found, int64_t *limit) {
    (void)limit;
    *found = c->packed;
    return !is_power(c->packed) || (c->packed > 1 && !lanes_are_threads(program));
}

static bool refuse_sharing(const planner_program *program, const planner_candidate *c,
                           int64_t *found, int64_t *limit) {
    *found = c->packed;
    *limit = 1;
    return c->packed > 1 && program->packing != PLANNER_NO_OBSTACLE;
}

static bool refuse_runtime(const planner_program *program, const planner_candidate *c,
                           int64_t *found, int64_t *limit) {
    (void)limit;
    *found = 0;
    return !c->stepped && !program->known;
}

static bool refuse_slots(const planner_program *program, const planner_candidate *c, int64_t *found,
                         int64_t *limit) {
    *found = planner_candidate_slots(program, c);
    *limit = MOST_SLOTS;
    return *found > *limit;
}

/* Steps of which there is one are chunks in slots. */
static bool refuse_steps(const planner_program *program, const planner_candidate *c, int64_t *found,
                         int64_t *limit) {
    (void)limit;
    int64_t chunk = planner_candidate_owners(c) * c->vector;
    bool whole = c->parts == 1;
    *found = ceil_of(whole ? planner_candidate_positions(program, c)
                           : planner_candidate_extent(program, c),
                     chunk);
    return c->stepped && program->known && *found <= c->unroll;
}

/* The canonical tree halves the elements: its digits are powers of two. */
static bool refuse_order(const planner_program *program, const planner_candidate *c, int64_t *found,
                         int64_t *limit) {
    (void)limit;
    bool chunks = is_power(c->subgroups) && c->stepped;
    *found = chunks ? c->unroll : c->subgroups;
    return program->canonical && !is_power(*found);
}

static bool refuse_blocks(const planner_program *program, const planner_candidate *c,
                          int64_t *found, int64_t *limit) {
    int64_t chunk = planner_candidate_workers(c) * c->vector;
    int64_t most = program->known ? ceil_of(program->extent, chunk) : INT64_MAX;
    *found = c->blocks;
    *limit = program->state->machine->cluster_limit;
    *limit = *limit > most ? most : *limit;
    *limit = *limit < 1 ? 1 : *limit;
    return c->blocks > 1 && (!is_power(c->blocks) || c->blocks > *limit);
}

static bool refuse_blocks_shared(const planner_program *program, const planner_candidate *c,
                                 int64_t *found, int64_t *limit) {
    (void)limit;
    *found = c->blocks;
    return c->blocks > 1 &&
           (!program->shares_rows || program->canonical || c->packed > 1 || c->parts > 1);
}

/* Whether an access would go one element at a time, and a shift makes it wider. */
static bool shift_widens(const planner_program *program, const planner_candidate *c) {
    planner_candidate straight = *c;
    straight.shifted = false;
    for (int64_t i = 0; i < program->access_count; i++) {
        const planner_access *access = program->accesses[i];
        int64_t width = planner_candidate_width(c, access);
        if (access->follows && planner_candidate_width(&straight, access) < width &&
            width * access->bytes >= SHIFTED_BYTES)
            return true;
    }
    return false;
}

bool planner_candidate_shifts(const planner_program *program, const planner_candidate *c) {
    return program->shift != NULL && c->packed == 1 && c->parts == 1 && c->blocks <= 1 &&
           c->vector > 1 && shift_widens(program, c);
}

static bool refuse_shift(const planner_program *program, const planner_candidate *c, int64_t *found,
                         int64_t *limit) {
    (void)limit;
    *found = c->packed;
    return c->shifted && !planner_candidate_shifts(program, c);
}

/* At least a chunk for each. */
static bool refuse_parts(const planner_program *program, const planner_candidate *c, int64_t *found,
                         int64_t *limit) {
    int64_t chunk = planner_candidate_workers(c) * c->vector * (c->stepped ? c->unroll : 1);
    int64_t chunks = program->known ? ceil_of(program->extent, chunk) : MOST_PARTS;
    *found = c->parts;
    *limit = 1;
    while (*limit * 2 <= chunks && *limit * 2 <= MOST_PARTS)
        *limit *= 2;
    return c->parts > 1 && (!is_power(c->parts) || c->parts > *limit);
}

static bool refuse_parts_order(const planner_program *program, const planner_candidate *c,
                               int64_t *found, int64_t *limit) {
    (void)limit;
    *found = c->parts;
    return c->parts > 1 && program->canonical;
}

static bool refuse_parts_packed(const planner_program *program, const planner_candidate *c,
                                int64_t *found, int64_t *limit) {
    (void)program;
    *found = c->packed;
    *limit = 1;
    return c->parts > 1 && c->packed > 1;
}

static bool refuse_parts_keep(const planner_program *program, const planner_candidate *c,
                              int64_t *found, int64_t *limit) {
    (void)limit;
    *found = c->parts;
    return c->parts > 1 && c->keeping != PLANNER_KEEP_NOTHING &&
           program->state->sweeps.crossing_count > 0;
}

static bool refuse_parts_split(const planner_program *program, const planner_candidate *c,
                               int64_t *found, int64_t *limit) {
    (void)program;
    (void)limit;
    *found = c->parts;
    return c->parts > 1 && c->launches != NULL && c->launches->count == 0;
}

/* Where registers are not documented all tiles count together; else what lives at one time. */
static bool refuse_budget(const planner_program *program, const planner_candidate *c,
                          int64_t *found, int64_t *limit) {
    if (!lanes_are_threads(program))
        return false;
    *limit = planner_budget(program->state->machine, planner_candidate_workers(c) * c->packed);
    *found = c->kept_slots;
    return *found > *limit;
}

/* What does not fit is stored to memory and loaded again by the device's compiler. */
static bool refuse_registers(const planner_program *program, const planner_candidate *c,
                             int64_t *found, int64_t *limit) {
    int64_t registers = program->state->machine->capacity.registers;
    int64_t threads = planner_candidate_workers(c) * c->packed;
    threads = ceil_of(threads, THREADS_TOGETHER) * THREADS_TOGETHER;
    *limit = registers / threads / REGISTERS_TOGETHER * REGISTERS_TOGETHER - OWN_REGISTERS;
    if (program->live_most > 0 && program->live_most < *limit)
        *limit = program->live_most;
    *limit = *limit > 1 ? *limit : 1;
    *found = c->live_slots;
    return lanes_are_threads(program) && registers > 0 && *found > *limit;
}

static bool refuse_scratch(const planner_program *program, const planner_candidate *c,
                           int64_t *found, int64_t *limit) {
    *limit = program->state->machine->scratch_bytes;
    *found = planner_candidate_scratch(c);
    return lanes_are_threads(program) && *found > *limit;
}

static rule_function *const rules[] = {
    [PLANNER_LEGAL] = NULL,
    [PLANNER_REFUSED_LANES] = refuse_lanes,
    [PLANNER_REFUSED_GROUP] = refuse_group,
    [PLANNER_REFUSED_VECTOR] = refuse_vector,
    [PLANNER_REFUSED_UNROLL] = refuse_unroll,
    [PLANNER_REFUSED_PACKED] = refuse_packed,
    [PLANNER_REFUSED_SHARING] = refuse_sharing,
    [PLANNER_REFUSED_RUNTIME] = refuse_runtime,
    [PLANNER_REFUSED_SLOTS] = refuse_slots,
    [PLANNER_REFUSED_STEPS] = refuse_steps,
    [PLANNER_REFUSED_ORDER] = refuse_order,
    [PLANNER_REFUSED_BLOCKS] = refuse_blocks,
    [PLANNER_REFUSED_BLOCKS_SHARED] = refuse_blocks_shared,
    [PLANNER_REFUSED_SHIFT] = refuse_shift,
    [PLANNER_REFUSED_PARTS] = refuse_parts,
    [PLANNER_REFUSED_PARTS_ORDER] = refuse_parts_order,
    [PLANNER_REFUSED_PARTS_PACKED] = refuse_parts_packed,
    [PLANNER_REFUSED_PARTS_KEEP] = refuse_parts_keep,
    [PLANNER_REFUSED_PARTS_SPLIT] = refuse_parts_split,
    [PLANNER_REFUSED_BUDGET] = refuse_budget,
    [PLANNER_REFUSED_REGISTERS] = refuse_registers,
    [PLANNER_REFUSED_SCRATCH] = refuse_scratch,
};

/* Sets the refusal by the first rule of `first` to end - 1 that refuses. */
static bool check_rules(const planner_program *program, planner_candidate *candidate, int first,
                        int end) {
    candidate->refusal = PLANNER_LEGAL;
    for (int i = first; i < end; i++) {
        int64_t found = 0, limit = 0;
        if (!rules[i](program, candidate, &found, &limit))
            continue;
        candidate->refusal = (planner_refusal)i;
        candidate->found = found;
        candidate->limit = limit;
        return false;
    }
    return true;
}

bool planner_candidate_check_form(const planner_program *program, planner_candidate *candidate) {
    return check_rules(program, candidate, PLANNER_LEGAL + 1, PLANNER_REFUSED_BUDGET);
}

bool planner_candidate_check_storages(const planner_program *program,
                                      planner_candidate *candidate) {
    return check_rules(program, candidate, PLANNER_REFUSED_BUDGET, PLANNER_REFUSAL_COUNT);
}
