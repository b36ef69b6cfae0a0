/* Totals: one walk over the passes and kept values of a program's work; the header says what they
 * are for.
 *
 * A pass over the row has as many elements as the row, any other one has one: sums over passes have
 * two parts. Sectors are rounded up for each access, so accesses are counted by kinds.
 */
#include "planner/totals.h"

static void add(int64_t *sum, int64_t amount) {
    *sum = planner_plus(*sum, amount);
}

static void add_line(planner_line *line, bool row, int64_t amount) {
    add(row ? &line->row : &line->others, amount);
}

/* ---- accesses ---- */

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
    add(&facts->domains[i].times, times);
}

static bool are_alike(const planner_access *a, const planner_access *b) {
    return a->bytes == b->bytes && a->run == b->run && a->length == b->length &&
           a->asks == b->asks && a->op->opcode == b->op->opcode;
}

static void add_row_access(base_arena *arena, planner_totals *totals, const planner_pass *pass,
                           const planner_access *access) {
    cost_facts *facts = &totals->facts;
    facts->element_bytes =
        facts->element_bytes > access->bytes ? facts->element_bytes : access->bytes;
    for (int64_t i = 0; i < totals->access_count; i++) {
        planner_access_total *other = &totals->accesses[i];
        if (are_alike(access, other->access) && other->elements == pass->elements &&
            other->times == pass->times && other->limited == pass->limited) {
            other->count++;
            return;
        }
    }
    planner_access_total one = {.access = access,
                                .elements = pass->elements,
                                .times = pass->times,
                                .limited = pass->limited,
                                .count = 1};
    BASE_PUSH(arena, totals->accesses, totals->access_count, totals->access_capacity, one);
}

static void add_other_access(cost_facts *facts, const planner_pass *pass,
                             const planner_access *access) {
    add(&facts->accesses, pass->times);
    add(&facts->guarded_accesses, access->asks ? pass->times : 0);
    add(&facts->worker_bytes, planner_times(pass->times, access->bytes));
    add(&facts->sectors, pass->times);
}

static void add_accesses(base_arena *arena, planner_totals *totals, const planner_work *work,
                         const planner_pass *pass) {
    int64_t asked = 0;
    for (int64_t i = pass->first; i < pass->first + pass->count; i++) {
        const planner_visit *visit = &work->visits[i];
        if (visit->access->row)
            add_row_access(arena, totals, pass, visit->access);
        else
            add_other_access(&totals->facts, pass, visit->access);
        if (!visit->store)
            asked += visit->access->bytes;
    }
    if (pass->row && totals->asked_row == 0)
        totals->asked_first = asked;
    int64_t *most = pass->row ? &totals->asked_row : &totals->asked_other;
    *most = asked > *most ? asked : *most;
}

/* ---- passes ---- */

static void add_pass(base_arena *arena, planner_totals *totals, const planner_work *work,
                     const planner_pass *pass) {
    cost_facts *facts = &totals->facts;
    int64_t points = planner_times(pass->elements, pass->times);
    int64_t exchanges = planner_times(pass->reductions, pass->ends);
    /* what stands between sweeps is work where it touches memory */
    add_domain(facts, pass->elements,
               pass->sweep ? pass->times : planner_times(pass->times, pass->count));
    add(&facts->reductions, exchanges);
    add(&facts->exps, planner_times(pass->exps, points));
    add(&facts->divisions, planner_times(pass->divisions, points));
    add(&facts->square_roots, planner_times(pass->square_roots, points));
    add(&facts->other_ops, planner_times(pass->others, points));
    add(&totals->exchanges, exchanges);
    if (pass->reductions > 0)
        add(&totals->meetings, pass->ends);
    add(&totals->partial_bytes, pass->partial_bytes);
    add(&totals->ordered_bytes, pass->ordered_bytes);
    add_line(&totals->arrays, pass->row, planner_times(pass->arrays, pass->times));
    add_line(&totals->kept_bytes, pass->row, planner_times(pass->kept_bytes, pass->times));
    add_accesses(arena, totals, work, pass);
}

/* ---- registers ---- */

static bool same_line(planner_line a, planner_line b) {
    return a.row == b.row && a.others == b.others;
}

static void add_living(base_arena *arena, planner_totals *totals, const planner_work *work,
                       int64_t number) {
    const planner_pass *pass = &work->passes[number];
    planner_living living = {
        .row = pass->row, .loads = pass->row && pass->passing != 0, .reductions = pass->reductions};
    for (int64_t i = 0; i < work->kept_count; i++) {
        const planner_kept *kept = &work->kept[i];
        if (!kept->registers)
            continue;
        if (kept->from < number && number <= kept->to)
            add_line(&living.before, kept->row, kept->others);
        if (kept->from <= number && number < kept->to)
            add_line(&living.behind, kept->row, kept->others);
    }
    for (int64_t i = 0; i < totals->living_count; i++) {
        const planner_living *other = &totals->living[i];
        if (same_line(living.before, other->before) && same_line(living.behind, other->behind) &&
            living.row == other->row && living.loads == other->loads &&
            living.reductions == other->reductions)
            return;
    }
    BASE_PUSH(arena, totals->living, totals->living_count, totals->living_capacity, living);
}

planner_totals *planner_totals_find(const planner_program *program, const planner_work *work) {
    base_arena *arena = program->state->arena;
    planner_totals *totals = BASE_NEW(arena, planner_totals);
    totals->facts = (cost_facts){.programs = program->programs,
                                 .subgroup = program->state->machine->subgroup,
                                 .element_bytes = 1,
                                 .native_math = planner_is_native(program->state),
                                 .reciprocals = planner_has_reciprocals(program->state),
                                 .array_bytes = work->array_bytes,
                                 .read_bytes = work->read_bytes,
                                 .reread_bytes = work->reread_bytes,
                                 .shared_read_bytes = work->shared_read_bytes,
                                 .write_bytes = work->write_bytes};
    for (int64_t i = 0; i < work->pass_count; i++) {
        add_pass(arena, totals, work, &work->passes[i]);
        add_living(arena, totals, work, i);
    }
    for (int64_t i = 0; i < work->kept_count; i++) {
        const planner_kept *kept = &work->kept[i];
        add_line(&totals->kept, kept->row, kept->others);
        if (kept->registers)
            add_line(&totals->registers, kept->row, kept->others);
    }
    return totals;
}
