/* Every path of the program with the syncs that are chosen: which accesses have no sync, or only
 * one of the subgroup, behind them, and in which state each token is.
 *
 *     put A        open: put A                 A written
 *     sync         open: -                     A published: a get comes next
 *     get A        open: get A
 *     put A        open has a get that needs a sync before this put: this choice does not do.
 *                  Where it needs none, the put may take the published token.
 *
 * A sync takes a token only where it is wide enough for what comes next: the token waits for the
 * sync that serves its array.
 */
#include "pass/syncs_internal.h"

#include <string.h>

static void set_copy(const syncs *s, uint64_t *to, const uint64_t *from) {
    memcpy(to, from, sizeof *to * (size_t)s->words);
}

static void point_copy(const syncs *s, syncs_point *to, const syncs_point *from) {
    set_copy(s, to->open, from->open);
    set_copy(s, to->near, from->near);
    set_copy(s, to->since, from->since);
    memcpy(to->state, from->state, (size_t)s->array_count);
}

/* Both paths lead here. False when a token has no state that both can go on in. */
static bool point_join(const syncs *s, syncs_point *into, const syncs_point *from, bool *changed) {
    for (int64_t w = 0; w < s->words; w++) {
        uint64_t more = (from->open[w] & ~into->open[w]) | (from->near[w] & ~into->near[w]) |
                        (from->since[w] & ~into->since[w]);
        *changed = *changed || more != 0;
        into->open[w] |= from->open[w];
        into->near[w] |= from->near[w];
        into->since[w] |= from->since[w];
    }
    for (int i = 0; i < s->array_count; i++) {
        uint8_t a = into->state[i], b = from->state[i];
        if (a == b || b == IR_TOKEN_FREE)
            continue;
        if (a != IR_TOKEN_FREE)
            return false;
        into->state[i] = b;
        *changed = true;
    }
    return true;
}

static bool meet(const syncs *s, const uint64_t *a, const uint64_t *b) {
    for (int64_t w = 0; w < s->words; w++)
        if ((a[w] & b[w]) != 0)
            return true;
    return false;
}

/* ---- accesses ---- */
static void forget_since(const syncs *s, syncs_point *p, int array) {
    for (int64_t w = 0; w < s->words; w++)
        p->since[w] &= ~s->of_array[array][w];
}

static bool flow_access(const syncs *s, int number, syncs_point *p) {
    const syncs_access *access = &s->accesses[number];
    uint8_t *state = &p->state[access->array];
    if (meet(s, p->open, s->any[number]) || meet(s, p->near, s->group[number]))
        return false;
    if (!access->tensor && !access->writes && *state != IR_TOKEN_PUBLISHED)
        return false;
    if (!access->tensor && access->writes) {
        bool again = *state == IR_TOKEN_PUBLISHED;
        if (again && meet(s, p->since, s->any[number]))
            return false;
        if (*state != IR_TOKEN_WRITTEN)
            forget_since(s, p, access->array);
        *state = IR_TOKEN_WRITTEN;
    }
    syncs_add(p->open, number);
    syncs_add(p->since, number);
    return true;
}

/* ---- syncs ---- */
/* The widest sync that accesses of the array since its token's last change need before those that
 * come next and write or read. */
static ir_scope need_of(const syncs *s, const syncs_step *place, const syncs_point *p, int array,
                        bool writes, bool *comes) {
    ir_scope need = IR_SCOPE_NONE;
    *comes = false;
    for (int64_t b = 0; b < s->access_count; b++) {
        const syncs_access *access = &s->accesses[b];
        if (access->array != array || access->writes != writes || !syncs_has(place->next, b))
            continue;
        *comes = true;
        if (meet(s, p->since, s->group[b]))
            return IR_SCOPE_GROUP;
        need = meet(s, p->since, s->any[b]) ? IR_SCOPE_SUBGROUP : need;
    }
    return need;
}

/* The token's state after this sync. */
static uint8_t state_after(const syncs *s, const syncs_step *place, const syncs_point *p,
                           int array) {
    uint8_t state = p->state[array];
    bool gets = false, puts = false;
    if (state == IR_TOKEN_FREE)
        return state;
    ir_scope of_gets = need_of(s, place, p, array, false, &gets);
    if (state == IR_TOKEN_WRITTEN)
        return gets && of_gets <= place->scope ? IR_TOKEN_PUBLISHED : state;
    ir_scope of_puts = need_of(s, place, p, array, true, &puts);
    bool asked = !gets && puts && of_puts != IR_SCOPE_NONE;
    return asked && of_puts <= place->scope ? IR_TOKEN_FREE : state;
}

static void flow_sync(const syncs *s, syncs_step *place, syncs_point *p) {
    memset(place->taken, 0, (size_t)s->array_count);
    if (place->scope == IR_SCOPE_NONE)
        return;
    for (int i = 0; i < s->array_count; i++) {
        uint8_t after = state_after(s, place, p, i);
        if (after == p->state[i])
            continue;
        place->taken[i] = (uint8_t)(1 + p->state[i]);
        p->state[i] = after;
        forget_since(s, p, i);
    }
    for (int64_t w = 0; w < s->words; w++) {
        p->near[w] = place->scope == IR_SCOPE_GROUP ? 0 : p->near[w] | p->open[w];
        p->open[w] = 0;
    }
}

/* ---- steps ---- */
static bool flow_steps(const syncs *s, syncs_step *steps, syncs_point *p);

static bool flow_loop(const syncs *s, syncs_step *loop, syncs_point *p) {
    syncs_point *head = &loop->point[0], *body = &loop->point[1];
    bool changed, joined;
    point_copy(s, head, p);
    do {
        point_copy(s, body, head);
        changed = false;
        if (!flow_steps(s, loop->inside[0], body))
            return false;
        joined = loop->once || point_join(s, head, body, &changed);
    } while (changed && joined);
    memcpy(loop->head, head->state, (size_t)s->array_count);
    if (loop->runs)
        point_copy(s, p, body);
    else
        joined = joined && point_join(s, p, body, &changed);
    memcpy(loop->after, p->state, (size_t)s->array_count);
    return joined;
}

static bool flow_branch(const syncs *s, syncs_step *branch, syncs_point *p) {
    syncs_point *other = &branch->point[0];
    bool changed = false;
    point_copy(s, other, p);
    if (!flow_steps(s, branch->inside[0], p) || !flow_steps(s, branch->inside[1], other) ||
        !point_join(s, p, other, &changed))
        return false;
    memcpy(branch->after, p->state, (size_t)s->array_count);
    return true;
}

static bool flow_steps(const syncs *s, syncs_step *steps, syncs_point *p) {
    bool holds = true;
    for (syncs_step *step = steps; step != NULL && holds; step = step->following)
        switch (step->kind) {
        case SYNCS_ACCESS:
            holds = flow_access(s, step->access, p);
            break;
        case SYNCS_PLACE:
            flow_sync(s, step, p);
            break;
        case SYNCS_LOOP:
            holds = flow_loop(s, step, p);
            break;
        case SYNCS_BRANCH:
            holds = flow_branch(s, step, p);
            break;
        }
    return holds;
}

bool syncs_flow(syncs *s) {
    syncs_point start = {
        .open = BASE_NEW_ARRAY(s->arena, uint64_t, s->words),
        .near = BASE_NEW_ARRAY(s->arena, uint64_t, s->words),
        .since = BASE_NEW_ARRAY(s->arena, uint64_t, s->words),
        .state = BASE_NEW_ARRAY(s->arena, uint8_t, s->array_count),
    };
    return flow_steps(s, s->first, &start);
}
