/* Facts of a candidate: the totals of the program's work, as its workers do it.
 *
 *     1000 elements, W = 64, V = 4, chunks in slots: 4 chunks, slots 16 of a worker
 *         load x, neighbours in memory      4 accesses of 4 elements, the last one guarded
 *         load x of rows of 1001 elements   16 of one, the last four guarded: rows begin where no
 *                                           access of 4 may
 *     the same in steps, U = 1              3 steps whole and one guarded
 *
 * What is counted of accesses: a step that the end of the row cuts short as a whole; of guards:
 * those that the lowering writes, in the one chunk that is there in part, of the slots that some
 * worker has (pass/expand_pieces.c). Sectors: an access of a subgroup touches each sector between
 * its lanes' pieces once, so pieces that leave gaps below a sector's size touch it again and again.
 * Stores of 16 bytes with such gaps (V = 8 of 4 bytes) write each sector in two parts.
 */
#include "planner/facts.h"

#include <stddef.h>

enum {
    SECTOR_BYTES = 32,
    GUARDED_UNDER_WAY = 16 /* loads under masks of their own that are asked for at once */
};

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* What the candidate says of all accesses. */
typedef struct facts_state {
    const planner_program *program;
    const planner_candidate *candidate;
    cost_facts *facts;
    int64_t workers;
    int64_t slots;     /* of a worker in a step of the lane axis */
    int64_t positions; /* of a row */
    int64_t owned;     /* of the row, by the busiest worker */
    int64_t steps;
    bool guarded; /* the last step is cut short */
    int64_t rest; /* slots of the chunk that is there in part; 0: there is none */
} facts_state;

/* ---- accesses ---- */

/* Elements of one access of a worker. */
static int64_t width_of(const facts_state *s, const planner_access *access) {
    bool threads = s->program->state->machine->lanes_are_threads;
    return threads ? planner_candidate_width(s->candidate, access) : 1;
}

/* On a cpu one access moves a register of lanes, where those are neighbours in memory. */
static int64_t each_lane(const facts_state *s, const planner_access *access) {
    bool registers = !s->program->state->machine->lanes_are_threads;
    return registers && access->run < s->candidate->lanes ? s->candidate->lanes / access->run : 1;
}

static int64_t sectors_of(const facts_state *s, const planner_access *access, int64_t elements,
                          int64_t width) {
    int64_t piece = width * access->bytes, apart = s->candidate->vector * access->bytes;
    if (access->run == 1 && s->candidate->vector > 1)
        apart = SECTOR_BYTES; /* nothing is known of where the lanes go */
    int64_t touched = larger(piece, apart < SECTOR_BYTES ? apart : SECTOR_BYTES);
    int64_t bytes = planner_times((elements + width - 1) / width, touched);
    return (bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
}

/* Chunks of a shifted row in which it may begin or end. */
static int64_t guarded_chunks(const facts_state *s) {
    int64_t chunk = planner_times(s->workers, s->candidate->vector);
    int64_t filled = s->program->extent / chunk, all = (s->positions + chunk - 1) / chunk;
    return filled > 0 ? 1 + all - filled : all;
}

/* Slots of the chunk that the end of the row cuts short, halved while the upper half is nobody's.
 * One worker has no such chunk: each of its elements is one. */
static int64_t rest_slots(const facts_state *s) {
    int64_t slots = s->candidate->vector;
    if (s->candidate->shifted)
        return planner_times(slots, guarded_chunks(s));
    int64_t rest = s->program->extent % planner_times(s->workers, slots);
    bool known = s->program->known;
    if (s->workers == 1 || (known && rest == 0))
        return 0;
    while (known && slots % 2 == 0 && slots / 2 >= rest)
        slots /= 2;
    return slots;
}

/* Accesses of that chunk, which have the width that its slots allow. */
static int64_t guarded_of(const facts_state *s, const planner_access_total *total, int64_t width) {
    int64_t slots = total->limited && s->workers > 1 ? s->candidate->vector : s->rest;
    return slots > width ? slots / width : slots > 0 ? 1 : 0;
}

static void add_row_accesses(const facts_state *s, const planner_access_total *total) {
    cost_facts *facts = s->facts;
    const planner_access *access = total->access;
    int64_t width = width_of(s, access), lanes = each_lane(s, access);
    int64_t step = s->slots / width * lanes;
    int64_t times = planner_times(total->count, total->times);
    int64_t guarded = guarded_of(s, total, width) * lanes;
    facts->accesses += planner_times(times, planner_times(s->steps, step));
    facts->guarded_accesses +=
        planner_times(times, access->asks ? planner_times(s->steps, step) : guarded);
    facts->worker_bytes += planner_times(times, s->owned * access->bytes);
    int64_t elements = planner_times(total->times, total->elements);
    facts->sectors += planner_times(total->count, sectors_of(s, access, elements, width));
    if (s->candidate->streams && access->op->opcode == IR_STORE && lanes == 1)
        facts->streamed_bytes +=
            planner_times(total->count, planner_times(elements, access->bytes));
    int64_t gap = (s->candidate->vector - width) * access->bytes;
    if (access->op->opcode == IR_STORE && width > 1 && gap > 0 &&
        width * access->bytes < SECTOR_BYTES)
        facts->torn_bytes += planner_times(total->count, planner_times(elements, access->bytes));
}

static int64_t bytes_in_flight(const facts_state *s, const planner_totals *totals) {
    int64_t slots = s->slots < s->owned ? s->slots : s->owned;
    if (s->guarded && !s->candidate->stepped && slots > GUARDED_UNDER_WAY)
        slots = GUARDED_UNDER_WAY;
    int64_t first = totals->asked_first * slots + s->candidate->early_bytes;
    return larger(larger(totals->asked_row * slots, first), totals->asked_other);
}

/* ---- exchange ---- */

static int64_t bits_of(int64_t lanes) {
    int64_t bits = 0;
    while (((int64_t)1 << bits) < lanes)
        bits++;
    return bits;
}

static void set_exchange(const facts_state *s, const planner_totals *totals) {
    cost_facts *facts = s->facts;
    const planner_candidate *c = s->candidate;
    facts->shuffles = planner_times(totals->exchanges, bits_of(c->lanes));
    facts->scratch_bytes = planner_candidate_scratch(c);
    facts->cluster_waits = c->blocks > 1 ? totals->meetings : 0;
    facts->barriers = c->subgroups > 1 ? totals->meetings : 0;
}

void planner_facts_find(const planner_program *program, const planner_candidate *candidate,
                        cost_facts *facts) {
    const planner_totals *totals = candidate->storages->totals;
    facts_state s = {.program = program,
                     .candidate = candidate,
                     .facts = facts,
                     .workers = planner_candidate_owners(candidate),
                     .slots = planner_candidate_slots(program, candidate),
                     .positions = planner_candidate_positions(program, candidate)};
    int64_t step = planner_times(s.workers, s.slots);
    s.owned = cost_slots(s.positions, s.workers, candidate->vector);
    s.steps = s.positions / step + (s.positions % step != 0);
    s.guarded = !program->known || s.positions % step != 0;
    s.rest = rest_slots(&s);
    *facts = totals->facts;
    for (int i = 0; i < facts->domain_count; i++)
        if (facts->domains[i].elements == program->extent)
            facts->domains[i].elements = s.positions;
    facts->workers = planner_candidate_workers(candidate);
    facts->blocks = candidate->blocks;
    facts->vector = candidate->vector;
    facts->unroll = candidate->unroll;
    facts->packed = candidate->packed;
    /* what lies past the row is left out */
    facts->step_slots = s.owned > 0 && s.owned < s.slots ? s.owned : s.slots;
    facts->accesses += planner_line_at(totals->arrays, planner_times(s.steps, s.slots));
    facts->private_bytes = planner_line_at(totals->kept_bytes, s.owned);
    facts->private_slots = planner_line_at(totals->kept, s.owned);
    facts->kept_slots = candidate->kept_slots;
    facts->live_slots = candidate->live_slots;
    facts->prefetch_bytes = candidate->prefetch_bytes;
    facts->bytes_in_flight = bytes_in_flight(&s, totals);
    set_exchange(&s, totals);
    for (int64_t i = 0; i < totals->access_count; i++)
        add_row_accesses(&s, &totals->accesses[i]);
}

/* ---- by name ---- */

static const struct {
    const char *name;
    size_t offset;
} fact_rows[] = {
#define FACT(name)                                                                                 \
    { #name, offsetof(cost_facts, name) }
    FACT(programs),       FACT(reductions),
    FACT(element_bytes),  FACT(workers),
    FACT(vector),         FACT(unroll),
    FACT(step_slots),     FACT(packed),
    FACT(private_slots),  FACT(private_bytes),
    FACT(array_bytes),    FACT(live_slots),
    FACT(scratch_bytes),  FACT(barriers),
    FACT(shuffles),       FACT(read_bytes),
    FACT(reread_bytes),   FACT(shared_read_bytes),
    FACT(write_bytes),    FACT(worker_bytes),
    FACT(accesses),       FACT(guarded_accesses),
    FACT(sectors),        FACT(bytes_in_flight),
    FACT(exps),           FACT(divisions),
    FACT(square_roots),   FACT(other_ops),
    FACT(streamed_bytes), FACT(kept_slots),
    FACT(torn_bytes),     FACT(prefetch_bytes),
#undef FACT
};

bool planner_fact_at(const cost_facts *facts, int index, const char **name, int64_t *value) {
    if (index < 0 || (size_t)index >= sizeof fact_rows / sizeof fact_rows[0])
        return false;
    *name = fact_rows[index].name;
    *value = *(const int64_t *)(const void *)((const char *)facts + fact_rows[index].offset);
    return true;
}
