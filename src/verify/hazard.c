/* Hazards: hazard-race, hazard-writers, hazard-unwritten, hazard-exit, sync-control.
 *
 *     for .. (%k) {
 *       %w = put %s[subgroup*1] ..          may overwrite what the get of the iteration before
 * reads %p = sync group %w                  orders the put before the get, and the get before it %a
 * = get %s[slot*1], %p             .. but nothing orders the get before the next put: found
 *     }
 *
 * Along every path of the structured program, what is pending is carried: each access, with the
 * least synchronisation that stands behind it, and the cells that are certainly written. Branches
 * join, loops run until nothing changes, and a loop may run no time. Tokens are not looked at.
 * Which iterations of a loop that is not written out meet is not asked: a base that changes from
 * one to the next may be any.
 */
#include "verify/hazard_internal.h"

#include <stdio.h>
#include <string.h>

enum {
    JUDGED = 1 << 10, /* accesses whose pairs are remembered */
    STEPS = 1 << 24,  /* pairs that are looked at, and sixteens of their cells */
    SAID = 64,        /* findings that are not made twice */
    STALE = 4         /* beside the order: made in an earlier iteration than its base now */
};

/* What holds at a place of the program. */
typedef struct hazard_state {
    uint8_t *pending;  /* by access: hazard_order, STALE */
    uint64_t *written; /* by array, block and cell: certainly written */
    struct hazard_state *next;
} hazard_state;

typedef struct finding {
    verify_rule rule;
    const ir_op *op, *other;
} finding;

typedef struct flow {
    hazards h;
    int8_t *judged; /* [a][b][pending]: they have been compared */
    hazard_state *spare;
    int64_t *first_word; /* by array, in `written` */
    int64_t words;       /* of `written` */
    int64_t steps;       /* that may still be taken */
    finding said[SAID];
    int said_count;
} flow;

/* ---- states ---- */
static hazard_state *state_take(flow *f) {
    hazard_state *s = f->spare;
    if (s != NULL) {
        f->spare = s->next;
        return s;
    }
    s = BASE_NEW(f->h.arena, hazard_state);
    s->pending = BASE_NEW_ARRAY(f->h.arena, uint8_t, f->h.access_count + 1);
    s->written = BASE_NEW_ARRAY(f->h.arena, uint64_t, f->words + 1);
    return s;
}

static void state_give(flow *f, hazard_state *s) {
    s->next = f->spare;
    f->spare = s;
}

static void state_copy(const flow *f, hazard_state *to, const hazard_state *from) {
    memcpy(to->pending, from->pending, (size_t)f->h.access_count);
    memcpy(to->written, from->written, sizeof(uint64_t) * (size_t)f->words);
}

static hazard_state *state_clone(flow *f, const hazard_state *from) {
    hazard_state *s = state_take(f);
    state_copy(f, s, from);
    return s;
}

/* Both paths lead here; true when `into` changes. */
static bool state_join(const flow *f, hazard_state *into, const hazard_state *from) {
    bool changed = false;
    for (int i = 0; i < f->h.access_count; i++) {
        uint8_t a = into->pending[i], b = from->pending[i];
        uint8_t order = (a & 3) > (b & 3) ? a & 3 : b & 3;
        uint8_t both = order == HAZARD_ORDERED ? 0 : order | ((a | b) & STALE);
        changed = changed || both != a;
        into->pending[i] = both;
    }
    for (int64_t w = 0; w < f->words; w++) {
        changed = changed || (into->written[w] & ~from->written[w]) != 0;
        into->written[w] &= from->written[w];
    }
    return changed;
}

/* ---- findings ---- */
/* False when this was said before: of the same ops, in another iteration. */
static bool is_news(flow *f, verify_rule rule, const ir_op *op, const ir_op *other) {
    for (int i = 0; i < f->said_count; i++)
        if (f->said[i].rule == rule && f->said[i].op == op && f->said[i].other == other)
            return false;
    if (f->said_count == SAID)
        return false; /* there is more than enough */
    f->said[f->said_count++] = (finding){rule, op, other};
    return true;
}

static const char *array_name(const flow *f, int array) {
    const char *name = f->h.arrays[array].value->name;
    return name != NULL ? name : "a scratch array";
}

static void report_race(flow *f, const hazard_access *before, const hazard_access *now,
                        int64_t cell) {
    char where[40] = "";
    if (!is_news(f, VERIFY_HAZARD_RACE, now->op, before->op))
        return;
    if (cell >= 0)
        snprintf(where, sizeof where, " (cell %lld)", (long long)cell);
    const char *expected = "on every path a sync between, of a scope that holds both lanes";
    if (now->op == before->op)
        verify_report(f->h.state, VERIFY_HAZARD_RACE, now->op, expected,
                      "two times that this %s runs touch %s%s from different lanes",
                      ir_op_describe(now->op->opcode)->text, array_name(f, now->array), where);
    else
        verify_report(f->h.state, VERIFY_HAZARD_RACE, now->op, expected,
                      "this %s and the %s of line %d touch %s%s from different lanes",
                      ir_op_describe(now->op->opcode)->text,
                      ir_op_describe(before->op->opcode)->text, before->op->location.line,
                      array_name(f, now->array), where);
}

/* ---- accesses ---- */
/* Each pair is judged once for each way that it can come about. */
static void check_pair(flow *f, int before, int now, uint8_t pending) {
    const hazards *h = &f->h;
    int64_t cell = -1;
    if (f->judged != NULL) {
        int8_t *judged = &f->judged[(before * h->access_count + now) * 8 + pending];
        if (*judged != 0)
            return;
        *judged = 1;
    }
    const hazard_access *a = &h->accesses[before], *b = &h->accesses[now];
    f->steps -= h->blocks * (a->span < b->span ? a->span : b->span) / 16;
    if (hazard_accesses_meet(h, a, b, (hazard_order)(pending & 3), (pending & STALE) != 0, &cell))
        report_race(f, a, b, cell);
}

static void check_pending(flow *f, const hazard_state *s, int now) {
    f->steps -= f->h.access_count;
    for (int i = 0; i < f->h.access_count && f->steps >= 0; i++)
        if (s->pending[i] != HAZARD_ORDERED)
            check_pair(f, i, now, s->pending[i]);
}

static bool is_followed(const flow *f, const hazard_access *access) {
    return f->h.arrays[access->array].cells <= HAZARD_MAX_CELLS;
}

static bool has_cells(const hazard_access *access) {
    return access->cells_known && access->base == NULL;
}

/* The access may touch the cell of the block. */
static bool may_touch(const hazard_access *access, int block, int64_t cell) {
    int64_t at = cell - access->low;
    if (!has_cells(access))
        return true;
    if (at < 0 || at >= access->span)
        return false;
    return access->owner[(access->targets_known ? block : 0) * access->span + at].crowd !=
           HAZARD_NOBODY;
}

/* The first cell of those that may be read which is not certainly written; -1: none. An access that
 * may read any cell asks for all. */
static int64_t unwritten_cell(const flow *f, const hazard_state *s, const hazard_access *access) {
    const hazard_array *array = &f->h.arrays[access->array];
    int64_t from = has_cells(access) ? access->low : 0;
    int64_t end = has_cells(access) ? access->low + access->span : array->cells;
    for (int block = 0; block < f->h.blocks; block++)
        for (int64_t c = from; c < end; c++) {
            int64_t bit = block * array->cells + c;
            uint64_t word = s->written[f->first_word[access->array] + bit / 64];
            if (may_touch(access, block, c) && (word >> (bit % 64) & 1) == 0)
                return c;
        }
    return -1;
}

static void mark_written(const flow *f, hazard_state *s, const hazard_access *access) {
    if (!access->certain || !has_cells(access) || !access->targets_known)
        return;
    for (int block = 0; block < f->h.blocks; block++)
        for (int64_t c = access->low; c < access->low + access->span; c++) {
            int64_t bit = block * f->h.arrays[access->array].cells + c;
            if (may_touch(access, block, c))
                s->written[f->first_word[access->array] + bit / 64] |= UINT64_C(1) << (bit % 64);
        }
}

static void check_written(flow *f, const hazard_state *s, const hazard_access *access) {
    int64_t cell = is_followed(f, access) ? unwritten_cell(f, s, access) : 0;
    if (cell >= 0 && is_news(f, VERIFY_HAZARD_UNWRITTEN, access->op, NULL))
        verify_report(f->h.state, VERIFY_HAZARD_UNWRITTEN, access->op,
                      "a put before it, on every path, of each cell that it may read",
                      "cell %lld of %s may be read before anything is put there", (long long)cell,
                      array_name(f, access->array));
}

static void flow_access(flow *f, int now, hazard_state *s) {
    const hazard_access *access = &f->h.accesses[now];
    f->steps -= f->h.blocks * f->h.arrays[access->array].cells / 64;
    check_pending(f, s, now);
    if (!access->tensor && !access->writes)
        check_written(f, s, access);
    else if (!access->tensor && is_followed(f, access))
        mark_written(f, s, access);
    s->pending[now] = HAZARD_UNORDERED | (s->pending[now] & STALE);
}

/* ---- steps ---- */
static void flow_sync(const flow *f, ir_scope scope, hazard_state *s) {
    uint8_t order = scope == IR_SCOPE_SUBGROUP                   ? HAZARD_BY_SUBGROUP
                    : scope == IR_SCOPE_GROUP && f->h.blocks > 1 ? HAZARD_BY_GROUP
                                                                 : HAZARD_ORDERED;
    for (int i = 0; i < f->h.access_count; i++)
        if ((s->pending[i] & 3) > order)
            s->pending[i] = order == HAZARD_ORDERED ? 0 : order | (s->pending[i] & STALE);
}

/* New contents in the same memory. */
static void flow_scratch(const flow *f, int array, hazard_state *s) {
    int64_t end = array + 1 < f->h.array_count ? f->first_word[array + 1] : f->words;
    for (int64_t w = f->first_word[array]; w < end; w++)
        s->written[w] = 0;
}

static void flow_steps(flow *f, const hazard_step *steps, hazard_state *s);

static bool is_within(const ir_value *value, const ir_region *region) {
    const ir_region *at = value->definer != NULL ? value->definer->parent : value->region;
    while (at != NULL && at != region)
        at = at->owner != NULL ? at->owner->parent : NULL;
    return at == region;
}

/* Around the back edge: what the region defines is something else from now on. */
static void turn_stale(const flow *f, const ir_region *region, hazard_state *s) {
    for (int i = 0; i < f->h.access_count; i++) {
        const ir_value *base = f->h.accesses[i].base;
        if (s->pending[i] != 0 && base != NULL && is_within(base, region))
            s->pending[i] |= STALE;
    }
}

static void flow_loop(flow *f, const hazard_step *loop, hazard_state *s) {
    hazard_state *head = state_clone(f, s), *body = state_take(f), *turned = state_take(f);
    for (bool changed = true; changed && f->steps >= 0;) {
        state_copy(f, body, head);
        flow_steps(f, loop->inside[0], body);
        state_copy(f, turned, body);
        turn_stale(f, loop->region, turned);
        changed = !loop->once && state_join(f, head, turned);
    }
    if (loop->runs)
        state_copy(f, s, body);
    else
        state_join(f, s, body);
    state_give(f, head);
    state_give(f, body);
    state_give(f, turned);
}

static void flow_branch(flow *f, const hazard_step *branch, hazard_state *s) {
    hazard_state *other = state_clone(f, s);
    flow_steps(f, branch->inside[0], s);
    flow_steps(f, branch->inside[1], other);
    state_join(f, s, other);
    state_give(f, other);
}

static void flow_steps(flow *f, const hazard_step *steps, hazard_state *s) {
    for (const hazard_step *step = steps; step != NULL && f->steps-- >= 0; step = step->next)
        switch (step->kind) {
        case HAZARD_ACCESS:
            flow_access(f, step->access, s);
            break;
        case HAZARD_SYNC:
            flow_sync(f, step->scope, s);
            break;
        case HAZARD_SCRATCH:
            flow_scratch(f, step->array, s);
            break;
        case HAZARD_LOOP:
            flow_loop(f, step, s);
            break;
        case HAZARD_BRANCH:
            flow_branch(f, step, s);
            break;
        }
}

/* ---- single ops ---- */
static void rule_hazard_writers(flow *f, const hazard_access *access) {
    int64_t cell = -1;
    if (!access->tensor &&
        hazard_accesses_meet(&f->h, access, access, HAZARD_UNORDERED, false, &cell) &&
        is_news(f, VERIFY_HAZARD_WRITERS, access->op, NULL))
        verify_report(f->h.state, VERIFY_HAZARD_WRITERS, access->op,
                      "one lane for each cell: another index, or a mask",
                      "several lanes put to one cell of %s at once", array_name(f, access->array));
}

/* Of closed indices every position is looked at; of others thread_memory.c tries some. */
static void rule_access_inside(flow *f, const hazard_access *access) {
    if (access->outside && is_news(f, VERIFY_ACCESS_INSIDE, access->op, NULL))
        verify_report(f->h.state, VERIFY_ACCESS_INSIDE, access->op,
                      "a cell of the array and a block of the cluster, or a mask",
                      "a cell of %s or a block that is not there", array_name(f, access->array));
}

static void rule_hazard_exit(flow *f, const hazard_access *access, uint8_t pending) {
    if (access->remote && pending != HAZARD_ORDERED &&
        is_news(f, VERIFY_HAZARD_EXIT, access->op, NULL))
        verify_report(
            f->h.state, VERIFY_HAZARD_EXIT, access->op, "a `sync cluster` after it on every path",
            "a group may end while this %s is under way", ir_op_describe(access->op->opcode)->text);
}

/* ---- setting up ---- */
static void make_room(flow *f) {
    hazards *h = &f->h;
    f->first_word = BASE_NEW_ARRAY(h->arena, int64_t, h->array_count + 1);
    for (int i = 0; i < h->array_count; i++) {
        f->first_word[i] = f->words;
        if (h->arrays[i].cells <= HAZARD_MAX_CELLS)
            f->words += (h->arrays[i].cells * h->blocks + 63) / 64;
    }
    if (h->access_count <= JUDGED)
        f->judged = BASE_NEW_ARRAY(h->arena, int8_t, h->access_count * h->access_count * 8 + 1);
}

void verify_hazards(verify_state *state) {
    flow f = {.steps = STEPS};
    if (!hazard_begin(&f.h, state))
        return;
    const hazard_step *steps = hazard_steps_make(&f.h);
    if (steps == NULL)
        return;
    make_room(&f);
    hazard_state *end = state_take(&f);
    flow_steps(&f, steps, end);
    for (int i = 0; i < f.h.access_count; i++) {
        rule_hazard_writers(&f, &f.h.accesses[i]);
        rule_access_inside(&f, &f.h.accesses[i]);
        rule_hazard_exit(&f, &f.h.accesses[i], end->pending[i]);
    }
    if (f.steps < 0)
        verify_report(state, VERIFY_HAZARD_RACE, NULL, "fewer loops around puts and gets",
                      "too much to follow");
}
