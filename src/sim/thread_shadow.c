/* What the simulator remembers of memory: order between lanes, races, and who writes what.
 *
 * Two accesses of a scratch cell are ordered when one lane made both, or when between them a sync
 * of a scope that holds both lanes was reached by all lanes of that scope. For each scope and each
 * of its sets of lanes the time of the latest sync is kept, so that
 *
 *     ordered(a, t)  =  some scope s: class(s, a.thread) == class(s, t)
 *                                     and synced(s, class) > a.time
 *
 * is exact: a chain of syncs from one lane to another has a link that holds both, since scopes are
 * nested. Lanes of a subgroup are not in lock step here. Of a cell the latest write is kept, and of
 * the reads since then the latest two by different lanes for each set of lanes that all syncs treat
 * alike: of the others either these are as bad, or none is.
 *
 * A cell of a tensor has writers in one group only, ordered among each other, and is read by the
 * lane that stored it or behind a sync. What all lanes of a group store alike counts as one writer.
 */
#include "sim/thread_internal.h"

#include "machine/machine.h"

#include <stdio.h>
#include <string.h>

/* ---- scopes ---- */

static bool uses_programs(const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == IR_SYNC && op->attributes.scope == IR_SCOPE_PROGRAM)
            return true;
        for (int i = 0; i < op->result_count; i++)
            if (op->results[i]->scope == IR_SCOPE_PROGRAM)
                return true;
        for (int i = 0; i < op->region_count; i++)
            if (uses_programs(op->regions[i]))
                return true;
    }
    return false;
}

/* Which programs of its group the lane works on: equal numbers, equal programs. */
static int64_t program_of(const sim_team *team, int64_t thread) {
    int64_t own = thread % team->lanes, number = 0;
    for (int i = 0; i < team->module->axis_count; i++) {
        const ir_axis *axis = &team->module->axes[i];
        if (!axis->is_program)
            continue;
        int64_t position[LAYOUT_HOLDER_COUNT] = {0};
        position[LAYOUT_LANE] = own % team->subgroup_lanes;
        position[LAYOUT_SUBGROUP] = own / team->subgroup_lanes;
        number = number * SIM_MAX_LANES + layout_axis_logical(&axis->digits, position);
    }
    return number;
}

/* Lanes of a group that work on one program have the number of the first of them. */
static void number_programs(sim_team *team, int32_t *classes) {
    for (int64_t t = 0; t < team->threads; t++) {
        int64_t first = t - t % team->lanes;
        while (program_of(team, first) != program_of(team, t))
            first++;
        classes[t] = (int32_t)first;
    }
}

/* The set that all lanes of a block are in, or -1. */
static void number_blocks(sim_team *team) {
    for (int scope = 0; scope < IR_SCOPE_COUNT; scope++) {
        const int32_t *classes = team->class_of[scope];
        team->every_class[scope] = BASE_NEW_ARRAY(team->arena, int64_t, team->blocks);
        for (int b = 0; b < team->blocks; b++)
            team->every_class[scope][b] = classes[(int64_t)b * team->lanes];
        for (int64_t t = 0; t < team->threads; t++)
            if (classes[t] != classes[t - t % team->lanes])
                team->every_class[scope][t / team->lanes] = -1;
    }
}

void sim_shadow_begin(sim_team *team) {
    for (int scope = 0; scope < IR_SCOPE_COUNT; scope++) {
        team->class_of[scope] = BASE_NEW_ARRAY(team->arena, int32_t, team->threads);
        team->synced[scope] = BASE_NEW_ARRAY(team->arena, int64_t, team->threads);
    }
    for (int64_t t = 0; t < team->threads; t++) {
        team->class_of[IR_SCOPE_LANE][t] = (int32_t)t;
        team->class_of[IR_SCOPE_SUBGROUP][t] = (int32_t)(t / team->subgroup_lanes);
        team->class_of[IR_SCOPE_GROUP][t] = (int32_t)(t / team->lanes);
        team->class_of[IR_SCOPE_CLUSTER][t] = (int32_t)(t / team->lanes / team->cluster);
    }
    team->atom_of = team->class_of[IR_SCOPE_SUBGROUP];
    if (uses_programs(&team->module->body)) {
        number_programs(team, team->class_of[IR_SCOPE_PROGRAM]);
        team->atom_of = team->class_of[IR_SCOPE_LANE];
    }
    number_blocks(team);
    team->one_thread = machine_runs_in_step(team->module->machine);
    team->firsts = BASE_NEW_ARRAY(team->arena, int64_t, team->threads);
    team->absent = BASE_NEW_ARRAY(team->arena, bool, team->threads);
    team->remote = BASE_NEW_ARRAY(team->arena, sim_moment, team->blocks);
    /* number 0 is none */
    BASE_PUSH(team->arena, team->readers, team->reader_count, team->reader_capacity,
              (sim_readers){0});
}

void sim_shadow_start(sim_team *team) {
    team->started = ++team->now;
    for (int b = 0; b < team->blocks; b++)
        team->remote[b] = (sim_moment){0};
}

/* The set of lanes that a thread belongs to, -1 when every lane of a block is meant and they are in
 * several. */
static int64_t class_of(const sim_team *team, int scope, int64_t thread) {
    return thread >= 0 ? team->class_of[scope][thread] : team->every_class[scope][-1 - thread];
}

/* False: nothing stands between that moment and what the thread does now. */
static bool is_ordered(const sim_team *team, const sim_moment *before, int64_t thread) {
    if (before->time < team->started || before->thread == thread)
        return true;
    for (int scope = IR_SCOPE_PROGRAM; scope < IR_SCOPE_COUNT; scope++) {
        int64_t own = class_of(team, scope, thread);
        if (own >= 0 && own == class_of(team, scope, before->thread) &&
            team->synced[scope][own] > before->time)
            return true;
    }
    return false;
}

/* ---- syncs ---- */

/* Marks the sets of lanes that have an inactive lane; -1, or such a lane where others of its set
 * are active. */
static int64_t find_absent(sim_team *team, ir_scope scope, int64_t *reaches) {
    const int32_t *classes = team->class_of[scope];
    memset(team->absent, 0, (size_t)team->threads * sizeof *team->absent);
    int64_t found = -1;
    if (team->active_count == team->threads)
        return found;
    for (int64_t t = 0; t < team->threads; t++)
        if (!team->active[t])
            team->absent[classes[t]] = true;
    for (int64_t t = 0; t < team->threads && found < 0; t++) {
        if (!team->active[t] || !team->absent[classes[t]])
            continue;
        *reaches = t;
        for (int64_t u = 0; u < team->threads && found < 0; u++)
            found = !team->active[u] && classes[u] == classes[t] ? u : -1;
    }
    return found;
}

void sim_check_converged(sim_team *team, const ir_op *op, ir_scope scope) {
    int64_t reaches = 0, absent = find_absent(team, scope, &reaches);
    if (absent < 0 || !sim_is_news(team, SIM_DIVERGENT, op))
        return;
    int64_t own = reaches % team->lanes;
    sim_report(team, SIM_DIVERGENT, op, absent, -1, NULL,
               "a lane does not reach this, which lane %lld of subgroup %lld of group %lld does",
               (long long)(own % team->subgroup_lanes), (long long)(own / team->subgroup_lanes),
               (long long)(team->first_group + reaches / team->lanes));
}

void sim_do_sync(sim_team *team, const ir_op *op) {
    ir_scope scope = op->attributes.scope;
    if (scope <= IR_SCOPE_LANE)
        return;
    sim_check_converged(team, op, scope);
    int64_t time = ++team->now;
    const int32_t *classes = team->class_of[scope];
    for (int64_t t = 0; t < team->threads; t++)
        if (!team->absent[classes[t]]) /* who is not there is not waited for */
            team->synced[scope][classes[t]] = time;
    team->now++;
}

void sim_shadow_end(sim_team *team) {
    for (int b = 0; b < team->blocks && team->options->watch; b++) {
        const sim_moment *last = &team->remote[b];
        bool ends = last->time >= team->started && !is_ordered(team, last, -1 - (int64_t)b);
        if (ends && sim_is_news(team, SIM_EXIT, last->op))
            sim_report(team, SIM_EXIT, last->op, last->thread, last->slot, NULL,
                       "group %lld may have ended when this reaches its scratch",
                       (long long)(team->first_group + b));
    }
}

/* ---- scratch ---- */

static int64_t only_lane(const sim_team *team, int64_t thread) {
    return team->lanes == 1 && thread < 0 ? -1 - thread : thread;
}

static sim_moment moment_of(const sim_team *team, const ir_op *op, int64_t thread, int slot) {
    int64_t block = thread < 0 ? -1 - thread : thread / team->lanes;
    return (sim_moment){.time = team->now,
                        .group = team->first_group + block,
                        .op = op,
                        .thread = (int32_t)thread,
                        .slot = slot};
}

static void note_remote(sim_team *team, int64_t block, const sim_moment *moment) {
    int64_t own = moment->group - team->first_group;
    if (own != block)
        team->remote[block] = *moment;
}

static const char *block_text(sim_team *team, int64_t block) {
    if (team->blocks == 1)
        return "";
    char text[60];
    int length =
        snprintf(text, sizeof text, " of group %lld", (long long)(team->first_group + block));
    return base_arena_copy(team->arena, text, (size_t)length);
}

static void report_race(sim_team *team, const ir_op *op, int64_t block, int64_t cell,
                        const sim_moment *now, const sim_moment *before, const char *what) {
    if (sim_is_news(team, SIM_RACE, op))
        sim_report(team, SIM_RACE, op, now->thread, now->slot, before,
                   "cell %lld of %s%s is %s with no sync between", (long long)cell,
                   sim_label(team, op->operands[0]), block_text(team, block), what);
}

/* Readers older than the team are nobody; they are taken off. */
static void drop_readers(sim_team *team, sim_cell *state) {
    while (state->readers != 0) {
        sim_readers *readers = &team->readers[state->readers];
        int64_t next = readers->next;
        readers->next = team->reader_free;
        team->reader_free = state->readers;
        state->readers = next;
    }
}

void sim_watch_put(sim_team *team, const ir_op *op, sim_array *array, int64_t block, int64_t cell,
                   int64_t thread, int slot) {
    thread = only_lane(team, thread);
    sim_cell *state = &array->shadow[block * array->cells + cell];
    sim_moment now = moment_of(team, op, thread, slot);
    if (!is_ordered(team, &state->write, thread))
        report_race(team, op, block, cell, &now, &state->write,
                    "written, and has been written by another lane,");
    for (int64_t at = state->readers; at != 0; at = team->readers[at].next)
        for (int i = 0; i < 2; i++)
            if (!is_ordered(team, &team->readers[at].last[i], thread))
                report_race(team, op, block, cell, &now, &team->readers[at].last[i],
                            "written, and has been read by another lane,");
    drop_readers(team, state);
    state->write = now;
    note_remote(team, block, &now);
}

static sim_readers *readers_of(sim_team *team, sim_cell *state, int32_t atom) {
    for (int64_t at = state->readers; at != 0; at = team->readers[at].next)
        if (team->readers[at].atom == atom)
            return &team->readers[at];
    int64_t made = team->reader_free;
    if (made != 0) {
        team->reader_free = team->readers[made].next;
    } else {
        made = team->reader_count;
        BASE_PUSH(team->arena, team->readers, team->reader_count, team->reader_capacity,
                  (sim_readers){0});
    }
    team->readers[made] = (sim_readers){.next = state->readers, .atom = atom};
    state->readers = made;
    return &team->readers[made];
}

static void add_reader(sim_team *team, sim_cell *state, const sim_moment *now) {
    int32_t atom = now->thread < 0 ? now->thread : team->atom_of[now->thread];
    sim_readers *readers = readers_of(team, state, atom);
    if (readers->last[0].thread != now->thread || readers->last[0].group != now->group)
        readers->last[1] = readers->last[0];
    readers->last[0] = *now;
}

void sim_watch_get(sim_team *team, const ir_op *op, sim_array *array, int64_t block, int64_t cell,
                   int64_t thread, int slot) {
    thread = only_lane(team, thread);
    sim_cell *state = &array->shadow[block * array->cells + cell];
    sim_moment now = moment_of(team, op, thread, slot);
    if (state->write.time < array->born) {
        if (sim_is_news(team, SIM_UNWRITTEN, op))
            sim_report(team, SIM_UNWRITTEN, op, thread, slot, NULL,
                       "cell %lld of %s%s is read, and nobody has written it", (long long)cell,
                       sim_label(team, op->operands[0]), block_text(team, block));
    } else if (!is_ordered(team, &state->write, thread)) {
        report_race(team, op, block, cell, &now, &state->write,
                    "read, and has been written by another lane,");
    }
    add_reader(team, state, &now);
    note_remote(team, block, &now);
}

/* ---- tensors ---- */

static sim_cell *tensor_cell(sim_team *team, sim_parameter *tensor, int64_t flat) {
    sim_cell **page = &tensor->pages[flat / SIM_PAGE];
    if (*page == NULL)
        *page = BASE_NEW_ARRAY(team->arena, sim_cell, SIM_PAGE);
    return &(*page)[flat % SIM_PAGE];
}

/* An access comes after another one: by the same lane, behind a sync, or on a machine whose team is
 * one thread, where op follows op. */
static bool is_behind(const sim_team *team, const sim_moment *before, const sim_moment *now) {
    return before->time == 0 || (before->group == now->group &&
                                 (team->one_thread || is_ordered(team, before, now->thread)));
}

/* The same of what all lanes do: each does it in its own time, and only a sync orders all of one
 * access before all of another. */
static bool is_settled(const sim_team *team, const sim_moment *before, const sim_moment *now) {
    if (before->time < team->started || before->thread >= 0 || now->thread >= 0 ||
        before->group != now->group || team->one_thread)
        return is_behind(team, before, now);
    for (int scope = IR_SCOPE_PROGRAM; scope < IR_SCOPE_COUNT; scope++) {
        int64_t all = class_of(team, scope, now->thread);
        if (all >= 0 && team->synced[scope][all] > before->time)
            return true;
    }
    return false;
}

static void report_tensor(sim_team *team, const sim_parameter *tensor, int64_t flat,
                          const sim_moment *now, const sim_moment *before, const char *what) {
    if (sim_is_news(team, SIM_TWO_WRITERS, now->op))
        sim_report(team, SIM_TWO_WRITERS, now->op, now->thread, now->slot, before, "%s is %s",
                   sim_cell_name(team, tensor, flat), what);
}

void sim_watch_store(sim_team *team, const ir_op *op, sim_parameter *tensor, int64_t flat,
                     int64_t thread, int slot) {
    thread = only_lane(team, thread);
    sim_cell *cell = tensor_cell(team, tensor, flat);
    sim_moment now = moment_of(team, op, thread, slot);
    bool twice =
        cell->write.time == now.time && (cell->write.thread != thread || cell->write.slot != slot);
    if (twice || !is_behind(team, &cell->write, &now))
        report_tensor(team, tensor, flat, &now, &cell->write, "stored a second time");
    for (int64_t at = cell->readers; at != 0; at = team->readers[at].next)
        for (int i = 0; i < 2; i++)
            if (!is_settled(team, &team->readers[at].last[i], &now))
                report_tensor(team, tensor, flat, &now, &team->readers[at].last[i],
                              "stored, and another lane or group has read it");
    drop_readers(team, cell);
    cell->torn = !is_settled(team, &cell->write, &now);
    cell->write = now;
}

void sim_watch_load(sim_team *team, const ir_op *op, sim_parameter *tensor, int64_t flat,
                    int64_t thread, int slot) {
    if (tensor->parameter->mode == IR_IN)
        return;
    thread = only_lane(team, thread);
    sim_cell *cell = tensor_cell(team, tensor, flat);
    const sim_moment *stored = &cell->write;
    sim_moment now = moment_of(team, op, thread, slot);
    bool own = tensor->parameter->mode == IR_INOUT
                   ? is_behind(team, stored, &now)
                   : stored->group == now.group && is_ordered(team, stored, thread);
    own |= stored->group == now.group && stored->thread < 0;
    if (stored->time != 0 && !own)
        report_tensor(team, tensor, flat, &now, stored, "read by another lane than stored it");
    else if (cell->torn && !is_settled(team, stored, &now))
        report_tensor(team, tensor, flat, &now, stored,
                      "read, while a lane may still store what all stored before");
    else if (stored->time == 0 && tensor->parameter->mode == IR_OUT &&
             sim_is_news(team, SIM_UNWRITTEN, op))
        sim_report(team, SIM_UNWRITTEN, op, thread, slot, NULL,
                   "%s is read, and nobody has stored it", sim_cell_name(team, tensor, flat));
    add_reader(team, cell, &now);
}
