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
 * Which iterations of a loop meet is not asked: a base that changes from one to the next may be
 * any.
 */
#include "verify/hazard_internal.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_ACCESSES = 1 << 12,
    JUDGED = 1 << 10, /* accesses whose pairs are remembered */
    STEPS = 1 << 26,  /* pairs that are looked at */
    STALE = 4         /* beside the order: made in an earlier iteration than its base now */
};

/* What holds at a place of the program. */
typedef struct hazard_state {
    uint8_t *pending;  /* by access: hazard_order, STALE */
    uint64_t *written; /* by array, block and cell: certainly written */
    struct hazard_state *next;
} hazard_state;

typedef struct flow {
    hazards h;
    hazard_state *spare;
    int64_t *first_word; /* by array, in `written` */
    int64_t words;       /* of `written` */
    int64_t steps;       /* that may still be taken */
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
static const char *array_name(const flow *f, int array) {
    const char *name = f->h.arrays[array].value->name;
    return name != NULL ? name : "a scratch array";
}

static void report_race(flow *f, const hazard_access *before, const hazard_access *now,
                        int64_t cell) {
    char where[40] = "";
    if (cell >= 0)
        snprintf(where, sizeof where, " (cell %lld)", (long long)cell);
    verify_report(f->h.state, VERIFY_HAZARD_RACE, now->op,
                  "on every path a sync between, of a scope that holds both lanes",
                  "this %s and the %s of line %d touch %s%s from different lanes",
                  ir_op_describe(now->op->opcode)->text, ir_op_describe(before->op->opcode)->text,
                  before->op->location.line, array_name(f, now->array), where);
}

/* ---- accesses ---- */
/* Each pair is judged once for each way that it can come about. */
static void check_pair(flow *f, int before, int now, uint8_t pending) {
    hazards *h = &f->h;
    int64_t cell = -1, n = h->access_count;
    int8_t *judged = NULL;
    if (h->judged != NULL) {
        judged = &h->judged[(before * n + now) * 8 + pending];
        if (*judged != 0)
            return;
        *judged = 1;
    }
    const hazard_access *a = &h->accesses[before], *b = &h->accesses[now];
    if (!hazard_accesses_meet(h, a, b, (hazard_order)(pending & 3), (pending & STALE) != 0, &cell))
        return;
    for (int k = 0; judged != NULL && k < 8; k++) /* one finding for the two */
        h->judged[(before * n + now) * 8 + k] = 1;
    report_race(f, a, b, cell);
}

static void check_pending(flow *f, const hazard_state *s, int now) {
    f->steps -= f->h.access_count;
    for (int i = 0; i < f->h.access_count && f->steps >= 0; i++)
        if (s->pending[i] != HAZARD_ORDERED)
            check_pair(f, i, now, s->pending[i]);
}

static bool bit_of(const hazard_state *s, int64_t first, int64_t bit) {
    return (s->written[first + bit / 64] >> (bit % 64) & 1) != 0;
}

/* The first cell of those that may be read which is not certainly written; -1: none. An access that
 * may read any cell asks for all. */
static int64_t unwritten_cell(const flow *f, const hazard_state *s, const hazard_access *access) {
    const hazard_array *array = &f->h.arrays[access->array];
    int64_t first = f->first_word[access->array];
    bool known = access->cells_known && access->base == NULL;
    for (int block = 0; block < f->h.blocks; block++)
        for (int64_t c = 0; c < array->cells; c++) {
            int64_t at = access->targets_known ? block * array->cells + c : c;
            bool read = !known || access->owner[at].crowd != HAZARD_NOBODY;
            if (read && !bit_of(s, first, block * array->cells + c))
                return c;
        }
    return -1;
}

static void mark_written(const flow *f, hazard_state *s, const hazard_access *access) {
    int64_t first = f->first_word[access->array];
    if (!access->certain || !access->cells_known || access->base != NULL || !access->targets_known)
        return;
    int64_t bits = f->h.blocks * f->h.arrays[access->array].cells;
    for (int64_t bit = 0; bit < bits; bit++)
        if (access->owner[bit].crowd != HAZARD_NOBODY)
            s->written[first + bit / 64] |= UINT64_C(1) << (bit % 64);
}

static bool is_followed(const flow *f, const hazard_access *access) {
    return f->h.arrays[access->array].cells <= HAZARD_MAX_CELLS;
}

static void flow_access(flow *f, const ir_op *op, hazard_state *s) {
    int now = f->h.access_of[op->operands[0]->number] - 1;
    while (now >= 0 && f->h.accesses[now].op != op)
        now = f->h.accesses[now].next_of_array;
    if (now < 0)
        return;
    const hazard_access *access = &f->h.accesses[now];
    check_pending(f, s, now);
    if (access->writes) {
        if (is_followed(f, access))
            mark_written(f, s, access);
    } else {
        int64_t cell = is_followed(f, access) ? unwritten_cell(f, s, access) : 0;
        if (cell >= 0 && !f->h.reported[now])
            verify_report(f->h.state, VERIFY_HAZARD_UNWRITTEN, op,
                          "a put before it, on every path, of each cell that it may read",
                          "cell %lld of %s may be read before anything is put there",
                          (long long)cell, array_name(f, access->array));
        f->h.reported[now] = f->h.reported[now] || cell >= 0;
    }
    s->pending[now] = HAZARD_UNORDERED | (s->pending[now] & STALE);
}

/* ---- ops ---- */
static void flow_sync(const flow *f, const ir_op *op, hazard_state *s) {
    ir_scope scope = op->attributes.scope;
    uint8_t order = scope == IR_SCOPE_SUBGROUP                   ? HAZARD_BY_SUBGROUP
                    : scope == IR_SCOPE_GROUP && f->h.blocks > 1 ? HAZARD_BY_GROUP
                                                                 : HAZARD_ORDERED;
    for (int i = 0; i < f->h.access_count; i++)
        if ((s->pending[i] & 3) > order)
            s->pending[i] = order == HAZARD_ORDERED ? 0 : order | (s->pending[i] & STALE);
}

/* New contents in the same memory. */
static void flow_scratch(const flow *f, const ir_op *op, hazard_state *s) {
    int array = f->h.array_of[op->results[0]->number] - 1;
    if (array < 0)
        return;
    int64_t end = array + 1 < f->h.array_count ? f->first_word[array + 1] : f->words;
    for (int64_t w = f->first_word[array]; w < end; w++)
        s->written[w] = 0;
}

static void flow_region(flow *f, const ir_region *region, hazard_state *s);

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

/* A bound that is a constant. */
static bool constant_of(flow *f, const ir_value *value, int64_t *number) {
    hazard_table table = hazard_value(&f->h, value);
    bool one = table.known && table.base == NULL && table.blocks == 1 && table.threads == 1;
    *number = one ? table.number[0] : 0;
    return one;
}

static void flow_for(flow *f, const ir_op *op, hazard_state *s) {
    int64_t lo = 0, hi = 0, step = 0;
    bool known = constant_of(f, op->operands[0], &lo) && constant_of(f, op->operands[1], &hi);
    bool once = known && constant_of(f, op->operands[2], &step) && step >= 1 && hi > lo &&
                (uint64_t)hi - (uint64_t)lo <= (uint64_t)step;
    if (known && lo >= hi)
        return;
    hazard_state *head = state_clone(f, s), *body = state_take(f), *turned = state_take(f);
    for (bool changed = true; changed && f->steps >= 0;) {
        state_copy(f, body, head);
        flow_region(f, op->regions[0], body);
        state_copy(f, turned, body);
        turn_stale(f, op->regions[0], turned);
        changed = !once && state_join(f, head, turned);
    }
    if (known)
        state_copy(f, s, body);
    else
        state_join(f, s, body);
    state_give(f, head);
    state_give(f, body);
    state_give(f, turned);
}

static void flow_if(flow *f, const ir_op *op, hazard_state *s) {
    hazard_state *other = state_clone(f, s);
    flow_region(f, op->regions[0], s);
    flow_region(f, op->regions[1], other);
    state_join(f, s, other);
    state_give(f, other);
}

static void flow_op(flow *f, const ir_op *op, hazard_state *s) {
    if (op->opcode == IR_PUT || op->opcode == IR_GET)
        flow_access(f, op, s);
    else if (op->opcode == IR_SYNC)
        flow_sync(f, op, s);
    else if (op->opcode == IR_SCRATCH)
        flow_scratch(f, op, s);
    else if (op->opcode == IR_FOR)
        flow_for(f, op, s);
    else if (op->opcode == IR_IF)
        flow_if(f, op, s);
    else if (op->opcode == IR_WHEN)
        flow_region(f, op->regions[0], s);
}

static void flow_region(flow *f, const ir_region *region, hazard_state *s) {
    for (const ir_op *op = region->first; op != NULL && f->steps-- >= 0; op = op->next)
        flow_op(f, op, s);
}

/* ---- single ops ---- */
static void rule_hazard_writers(flow *f) {
    int64_t cell = -1;
    for (int i = 0; i < f->h.access_count; i++) {
        const hazard_access *access = &f->h.accesses[i];
        if (hazard_accesses_meet(&f->h, access, access, HAZARD_UNORDERED, false, &cell))
            verify_report(f->h.state, VERIFY_HAZARD_WRITERS, access->op,
                          "one lane for each cell: another index, or a mask",
                          "several lanes put to one cell of %s at once",
                          array_name(f, access->array));
    }
}

/* Of closed indices every position is looked at; of others thread_memory.c tries some. */
static void rule_access_inside(flow *f) {
    for (int i = 0; i < f->h.access_count; i++) {
        const hazard_access *access = &f->h.accesses[i];
        if (access->outside)
            verify_report(f->h.state, VERIFY_ACCESS_INSIDE, access->op,
                          "a cell of the array and a block of the cluster, or a mask",
                          "a cell of %s or a block that is not there",
                          array_name(f, access->array));
    }
}

static void rule_hazard_exit(flow *f, const hazard_state *s) {
    for (int i = 0; i < f->h.access_count; i++)
        if (f->h.accesses[i].remote && s->pending[i] != HAZARD_ORDERED)
            verify_report(f->h.state, VERIFY_HAZARD_EXIT, f->h.accesses[i].op,
                          "a `sync cluster` after it on every path",
                          "a group may end while this %s is under way",
                          ir_op_describe(f->h.accesses[i].op->opcode)->text);
}

/* ---- setting up ---- */
static bool count(flow *f, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (!verify_op_is_formed(f->h.state, op))
            return false;
        f->h.array_count += op->opcode == IR_SCRATCH;
        f->h.access_count += op->opcode == IR_PUT || op->opcode == IR_GET;
        for (int k = 0; k < op->region_count; k++)
            if (!count(f, op->regions[k]))
                return false;
    }
    return true;
}

static void add_array(flow *f, const ir_value *value) {
    hazards *h = &f->h;
    hazard_array *array = &h->arrays[h->array_count];
    array->value = value;
    layout_extent_known(&h->state->module->extents, value->type.extent[0], &array->cells);
    f->first_word[h->array_count] = f->words;
    if (array->cells <= HAZARD_MAX_CELLS)
        f->words += (array->cells * h->blocks + 63) / 64;
    h->array_of[value->number] = ++h->array_count;
}

static void add_access(flow *f, const ir_op *op) {
    hazards *h = &f->h;
    int *last = &h->access_of[op->operands[0]->number];
    hazard_access_make(h, op, &h->accesses[h->access_count]);
    h->accesses[h->access_count].next_of_array = *last - 1;
    *last = ++h->access_count;
}

static void collect(flow *f, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == IR_SCRATCH)
            add_array(f, op->results[0]);
        if ((op->opcode == IR_PUT || op->opcode == IR_GET) &&
            f->h.array_of[op->operands[0]->number] > 0)
            add_access(f, op);
        for (int k = 0; k < op->region_count; k++)
            collect(f, op->regions[k]);
    }
}

static void make_room(flow *f) {
    hazards *h = &f->h;
    int64_t values = h->state->module->next_value + 1, accesses = h->access_count + 1;
    h->array_of = BASE_NEW_ARRAY(h->arena, int, values);
    h->access_of = BASE_NEW_ARRAY(h->arena, int, values);
    h->arrays = BASE_NEW_ARRAY(h->arena, hazard_array, h->array_count + 1);
    f->first_word = BASE_NEW_ARRAY(h->arena, int64_t, h->array_count + 1);
    h->accesses = BASE_NEW_ARRAY(h->arena, hazard_access, accesses);
    h->reported = BASE_NEW_ARRAY(h->arena, bool, accesses);
    if (accesses <= JUDGED)
        h->judged = BASE_NEW_ARRAY(h->arena, int8_t, accesses * accesses * 8);
    h->array_count = h->access_count = 0;
}

void verify_hazards(verify_state *state) {
    flow f = {.steps = STEPS};
    if (!hazard_begin(&f.h, state) || !count(&f, &state->module->body) || f.h.array_count == 0)
        return;
    if (f.h.access_count > MAX_ACCESSES) {
        verify_report(state, VERIFY_HAZARD_RACE, NULL, "at most 4096", "%d puts and gets",
                      f.h.access_count);
        return;
    }
    make_room(&f);
    collect(&f, &state->module->body);
    hazard_state *s = state_take(&f);
    flow_region(&f, &state->module->body, s);
    rule_hazard_writers(&f);
    rule_hazard_exit(&f, s);
    rule_access_inside(&f);
    if (f.steps < 0)
        verify_report(state, VERIFY_HAZARD_RACE, NULL, "fewer loops around puts and gets",
                      "too much to follow");
}
