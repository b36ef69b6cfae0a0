/* Facts of a candidate: each pass of the program's work, as its workers run it.
 *
 *     1000 elements, W = 64, V = 4, chunks in slots: 4 chunks, slots 16 of a worker
 *         load x, neighbours in memory      4 accesses of 4 elements, all guarded: 1000 < 1024
 *         load x of rows of 1001 elements   16 of one: rows begin where no access of 4 may
 *     the same in steps, U = 1              3 steps whole and one guarded
 *
 * What is counted of accesses is what the lowering writes today: a step that the end of the row
 * cuts short is guarded as a whole. Sectors: an access of a subgroup touches each sector between
 * its lanes' pieces once, so pieces that leave gaps below a sector's size touch it again and again.
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

/* What all passes share. */
typedef struct facts_state {
    const planner_program *program;
    const planner_candidate *candidate;
    cost_facts *facts;
    int64_t workers;
    int64_t slots; /* of a worker in a step of the lane axis */
    int64_t steps;
    bool guarded; /* the last step is cut short */
} facts_state;

static void add_domain(cost_facts *facts, int64_t elements, int64_t times) {
    if (times == 0)
        return;
    int i = 0;
    while (i < facts->domain_count && facts->domains[i].elements != elements)
        i++;
    if (i == COST_MAX_DOMAINS)
        return;
    if (i == facts->domain_count)
        facts->domains[facts->domain_count++] = (cost_domain){.elements = elements};
    facts->domains[i].times += times;
}

/* ---- accesses ---- */

/* Elements of one access of a worker. */
static int64_t width_of(const facts_state *s, const planner_access *access) {
    int64_t width = 1;
    if (s->program->state->machine->row_subgroups == 1)
        return 1;
    while (width * 2 <= access->run && width * 2 <= s->candidate->vector &&
           width * 2 * access->bytes <= MACHINE_ACCESS_BYTES)
        width *= 2;
    return access->length % width == 0 ? width : 1;
}

/* On a cpu one access moves a register of lanes, where those are neighbours in memory. */
static int64_t each_lane(const facts_state *s, const planner_access *access) {
    bool registers = s->program->state->machine->row_subgroups == 1;
    return registers && access->run < s->candidate->lanes ? s->candidate->lanes / access->run : 1;
}

static void add_sectors(const facts_state *s, const planner_access *access, int64_t elements,
                        int64_t width) {
    cost_facts *facts = s->facts;
    int64_t piece = width * access->bytes, apart = s->candidate->vector * access->bytes;
    if (access->run == 1 && s->candidate->vector > 1)
        apart = SECTOR_BYTES; /* nothing is known of where the lanes go */
    int64_t touched = larger(piece, apart < SECTOR_BYTES ? apart : SECTOR_BYTES);
    int64_t bytes = planner_times((elements + width - 1) / width, touched);
    facts->sectors += (bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
}

static void add_row_access(const facts_state *s, const planner_pass *pass,
                           const planner_access *access) {
    cost_facts *facts = s->facts;
    int64_t width = width_of(s, access), lanes = each_lane(s, access);
    int64_t step = s->slots / width * lanes;
    int64_t owned = cost_slots(pass->elements, s->workers, s->candidate->vector);
    facts->accesses += planner_times(pass->times, planner_times(s->steps, step));
    if (s->guarded)
        facts->guarded_accesses += planner_times(pass->times, step);
    facts->worker_bytes += planner_times(pass->times, owned * access->bytes);
    facts->element_bytes = larger(facts->element_bytes, access->bytes);
    add_sectors(s, access, planner_times(pass->times, pass->elements), width);
}

static void add_other_access(const facts_state *s, const planner_pass *pass,
                             const planner_access *access) {
    cost_facts *facts = s->facts;
    facts->accesses += pass->times;
    facts->worker_bytes += planner_times(pass->times, access->bytes);
    facts->sectors += pass->times;
}

static void add_accesses(const facts_state *s, const planner_pass *pass) {
    const planner_work *work = s->candidate->storages->work;
    int64_t asked = 0;
    for (int64_t i = pass->first; i < pass->first + pass->count; i++) {
        const planner_visit *visit = &work->visits[i];
        if (visit->access->row)
            add_row_access(s, pass, visit->access);
        else
            add_other_access(s, pass, visit->access);
        if (!visit->store)
            asked += visit->access->bytes;
    }
    int64_t owned = cost_slots(pass->elements, s->workers, s->candidate->vector);
    int64_t slots = !pass->row ? 1 : s->slots < owned ? s->slots : owned;
    if (s->guarded && !s->candidate->stepped && slots > GUARDED_UNDER_WAY)
        slots = GUARDED_UNDER_WAY;
    s->facts->bytes_in_flight = larger(s->facts->bytes_in_flight, asked * slots);
}

/* ---- passes ---- */

static int64_t bits_of(int64_t lanes) {
    int64_t bits = 0;
    while (((int64_t)1 << bits) < lanes)
        bits++;
    return bits;
}

static void add_pass(const facts_state *s, const planner_pass *pass) {
    cost_facts *facts = s->facts;
    const planner_candidate *c = s->candidate;
    int64_t points = planner_times(pass->elements, pass->times), reductions = pass->reductions;
    /* what stands between sweeps is work where it touches memory */
    add_domain(facts, pass->elements, pass->sweep ? pass->times : pass->times * pass->count);
    facts->reductions += planner_times(reductions, pass->ends);
    facts->shuffles += planner_times(reductions * bits_of(c->lanes), pass->ends);
    if (c->subgroups > 1 && reductions > 0)
        facts->barriers += pass->ends;
    if (c->subgroups > 1)
        facts->scratch_bytes += pass->partial_bytes * c->subgroups * c->packed;
    facts->exps += planner_times(pass->exps, points);
    facts->divisions += planner_times(pass->divisions, points);
    facts->square_roots += planner_times(pass->square_roots, points);
    facts->other_ops += planner_times(pass->others, points);
    add_accesses(s, pass);
    facts->accesses += planner_times(
        pass->arrays, planner_times(pass->row ? s->steps * s->slots : 1, pass->times));
    int64_t owned = pass->row ? cost_slots(pass->elements, s->workers, c->vector) : 1;
    facts->private_bytes += planner_times(pass->kept_bytes, planner_times(owned, pass->times));
}

static void add_kept(const facts_state *s) {
    const planner_work *work = s->candidate->storages->work;
    for (int64_t i = 0; i < work->kept_count; i++) {
        const planner_kept *kept = &work->kept[i];
        int64_t slots =
            kept->row ? cost_slots(s->program->extent, s->workers, s->candidate->vector) : 1;
        s->facts->private_slots += planner_times(slots, kept->others);
    }
}

/* Slots of a step that the busiest worker has elements in: what lies past the row is left out. */
static int64_t used_slots(const planner_program *program, const planner_candidate *candidate) {
    int64_t slots = planner_candidate_slots(program, candidate);
    int64_t owned =
        cost_slots(program->extent, planner_candidate_workers(candidate), candidate->vector);
    return owned > 0 && owned < slots ? owned : slots;
}

void planner_facts_find(const planner_program *program, const planner_candidate *candidate,
                        cost_facts *facts) {
    const planner_work *work = candidate->storages->work;
    *facts = (cost_facts){.programs = program->programs,
                          .subgroup = program->state->machine->subgroup,
                          .workers = planner_candidate_workers(candidate),
                          .vector = candidate->vector,
                          .unroll = candidate->unroll,
                          .step_slots = used_slots(program, candidate),
                          .packed = candidate->packed,
                          .element_bytes = 1,
                          .native_math = planner_is_native(program->state),
                          .reciprocals = planner_has_reciprocals(program->state),
                          .array_bytes = work->array_bytes,
                          .read_bytes = work->read_bytes,
                          .reread_bytes = work->reread_bytes,
                          .shared_read_bytes = work->shared_read_bytes,
                          .write_bytes = work->write_bytes};
    facts_state s = {.program = program,
                     .candidate = candidate,
                     .facts = facts,
                     .workers = facts->workers,
                     .slots = planner_candidate_slots(program, candidate)};
    int64_t step = planner_times(s.workers, s.slots);
    s.steps = program->extent / step + (program->extent % step != 0);
    s.guarded = !program->known || program->extent % step != 0;
    for (int64_t i = 0; i < work->pass_count; i++)
        add_pass(&s, &work->passes[i]);
    add_kept(&s);
    facts->live_slots = planner_live_slots(program, candidate);
}

/* ---- by name ---- */

static const struct {
    const char *name;
    size_t offset;
} fact_rows[] = {
#define FACT(name)                                                                                 \
    { #name, offsetof(cost_facts, name) }
    FACT(programs),      FACT(reductions),
    FACT(element_bytes), FACT(workers),
    FACT(vector),        FACT(unroll),
    FACT(step_slots),    FACT(packed),
    FACT(private_slots), FACT(private_bytes),
    FACT(array_bytes),   FACT(live_slots),
    FACT(scratch_bytes), FACT(barriers),
    FACT(shuffles),      FACT(read_bytes),
    FACT(reread_bytes),  FACT(shared_read_bytes),
    FACT(write_bytes),   FACT(worker_bytes),
    FACT(accesses),      FACT(guarded_accesses),
    FACT(sectors),       FACT(bytes_in_flight),
    FACT(exps),          FACT(divisions),
    FACT(square_roots),  FACT(other_ops),
#undef FACT
};

bool planner_fact_at(const cost_facts *facts, int index, const char **name, int64_t *value) {
    if (index < 0 || (size_t)index >= sizeof fact_rows / sizeof fact_rows[0])
        return false;
    *name = fact_rows[index].name;
    *value = *(const int64_t *)(const void *)((const char *)facts + fact_rows[index].offset);
    return true;
}
