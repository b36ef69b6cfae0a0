/* Replay of ops by which lanes and slots meet: fold, combine, shuffle, rename, xorslot, uniform.
 *
 *     %f = fold sum %a         a state of slots 0 .. k-1 becomes one per lane
 *     %w = combine sum %f      .. of lanes, one for all
 *     %s = shuffle %a lanes=(2, 1)      lane 1 takes what lane 2 has
 */
#include "verify/replay_internal.h"

#include <string.h>

typedef struct position {
    signature_value value;
    bool plane[REPLAY_PLANES];
} position;

/* All positions of an operand, and what becomes of them. */
typedef struct meeting {
    replay *r;
    const ir_op *op;
    const replay_value *from;
    replay_value *to;
    int slots, subgroup; /* of the operand; lanes of a subgroup */
    ir_opcode opcode;    /* that joins states, of this dtype */
    base_dtype dtype;
    bool numberless; /* no number is known, nor comes of what is joined */
    signature *marks;
    position *at, *next; /* [lane * slots + slot] */
} meeting;

bool replay_is_collective(const ir_op *op) {
    return op->opcode == IR_FOLD || op->opcode == IR_COMBINE || op->opcode == IR_SHUFFLE ||
           op->opcode == IR_RENAME || op->opcode == IR_XORSLOT || op->opcode == IR_UNIFORM;
}

static void read_positions(meeting *m) {
    for (int p = 0; p < m->from->positions; p++) {
        m->at[p].value = replay_at(m->r, m->from, p);
        for (int plane = 0; plane < REPLAY_PLANES; plane++)
            m->at[p].plane[plane] = replay_bit(m->from->plane[plane], p);
    }
}

static void write_positions(meeting *m) {
    replay_set_begin(m->r, m->to);
    for (int p = 0; p < m->to->positions; p++) {
        const position *made = &m->at[p];
        replay_set(m->r, m->to, p, made->value);
        for (int plane = 0; plane < REPLAY_UNNUMBERED; plane++)
            if (made->plane[plane])
                m->to->plane[plane][p / 64] |= UINT64_C(1) << (p % 64);
    }
    replay_set_end(m->r, m->to);
    if (!m->r->signing)
        replay_share_marks(m->r, m->to, NULL);
}

static const position nowhere = {.value = {.mark = SIGNATURE_OUTSIDE}, .plane = {true}};

/* ---- states that are joined ---- */
static void start_joining(meeting *m) {
    const ir_attributes *attributes = &m->op->attributes;
    m->dtype = m->op->results[0]->type.dtype;
    m->opcode = signature_joining_opcode(attributes->monoid, attributes->nan, m->dtype);
    m->numberless = base_dtype_is_float(m->dtype) && !m->r->setting.models;
    for (int p = 0; p < m->from->positions && m->numberless; p++)
        m->numberless = !signature_is_modelled(&m->at[p].value);
}

static position joined(const meeting *m, const position *a, const position *b) {
    const signature_setting *setting = &m->r->setting;
    position result;
    if (m->numberless)
        result.value = signature_nothing(
            signature_joined(setting->table, m->opcode, m->dtype, a->value.mark, b->value.mark));
    else
        result.value = signature_combined(setting, m->opcode, m->dtype, a->value, b->value);
    for (int plane = REPLAY_STANDIN; plane < REPLAY_PLANES; plane++)
        result.plane[plane] = false;
    for (int plane = 0; plane < REPLAY_STANDIN; plane++)
        result.plane[plane] = a->plane[plane] || b->plane[plane];
    return result;
}

/* As a fold does it: where an order is compared. */
static position halved(const meeting *m, position *slots) {
    int half = 1;
    while (half * 2 < m->slots)
        half *= 2;
    for (half = m->slots > 1 ? half : 0; half > 0; half /= 2)
        for (int s = 0; s < half && s + half < m->slots; s++)
            slots[s] = joined(m, &slots[s], &slots[s + half]);
    return slots[0];
}

static position folded(const meeting *m, position *slots) {
    position sum = slots[0];
    if (signature_table_has_orders(m->r->setting.table))
        return halved(m, slots);
    for (int s = 1; s < m->slots && !m->numberless; s++)
        sum = joined(m, &sum, &slots[s]);
    for (int s = 0; s < m->slots && m->numberless; s++) {
        m->marks[s] = slots[s].value.mark;
        for (int plane = 0; plane < REPLAY_STANDIN; plane++)
            sum.plane[plane] = sum.plane[plane] || slots[s].plane[plane];
    }
    if (m->numberless)
        sum.value.mark =
            signature_join_all(m->r->setting.table, m->opcode, m->dtype, m->marks, m->slots);
    for (int plane = REPLAY_STANDIN; plane < REPLAY_PLANES && m->slots > 1; plane++)
        sum.plane[plane] = false;
    return sum;
}

static void fold(meeting *m) {
    start_joining(m);
    for (int lane = 0; lane < m->r->lanes; lane++)
        m->next[lane] = folded(m, &m->at[lane * m->slots]);
    memcpy(m->at, m->next, sizeof(position) * (size_t)m->r->lanes);
}

/* Every lane joins itself, without the top bit of the mask, and the lane across. */
static void combine_across(meeting *m, int64_t mask) {
    int top = 1, positions = m->r->lanes * m->slots;
    while (top * 2 <= mask)
        top *= 2;
    for (int p = 0; p < positions; p++) {
        int lane = p / m->slots % m->subgroup, first = p / m->slots - lane, slot = p % m->slots;
        int left = lane & ~top, right = left ^ (int)mask;
        bool there = mask > 0 && right < m->subgroup;
        if (lane != left && there) /* the lane across, which was before, has joined the same */
            m->next[p] = m->next[(first + left) * m->slots + slot];
        else
            m->next[p] = there ? joined(m, &m->at[(first + left) * m->slots + slot],
                                        &m->at[(first + right) * m->slots + slot])
                               : nowhere;
    }
    memcpy(m->at, m->next, sizeof(position) * (size_t)positions);
}

static void combine(meeting *m) {
    const ir_list *masks = &m->op->attributes.lanes;
    start_joining(m);
    for (int i = 0; i < masks->count; i++)
        combine_across(m, masks->items[i]);
    for (int mask = m->subgroup / 2; masks->count == 0 && mask > 0; mask /= 2)
        combine_across(m, mask);
}

/* ---- positions that move ---- */
/* The product of a matrix over GF(2), by columns, and the bits of a number. */
static int64_t product(const ir_list *columns, int number) {
    int64_t sum = 0;
    for (int i = 0; i < columns->count && i < 31; i++)
        if ((number >> i & 1) != 0)
            sum ^= columns->items[i];
    return sum;
}

/* The position that lands at slot `slot` of a thread; -1: none. */
static int64_t origin_of(const meeting *m, int thread, int slot) {
    const ir_attributes *attributes = &m->op->attributes;
    int lane = thread % m->subgroup;
    int64_t from = lane, chosen = slot;
    if (m->op->opcode == IR_SHUFFLE) {
        from = product(&attributes->lanes, lane);
        from ^= slot < attributes->slots.count ? attributes->slots.items[slot] : 0;
    } else if (m->op->opcode == IR_XORSLOT) {
        chosen = slot ^ product(&attributes->lanes, lane);
    } else if (m->op->opcode == IR_RENAME) {
        chosen = slot < attributes->slots.count ? attributes->slots.items[slot] : -1;
    }
    if (from < 0 || from >= m->subgroup || chosen < 0 || chosen >= m->slots)
        return -1;
    return (thread - lane + from) * m->slots + chosen;
}

static void move(meeting *m) {
    int slots = m->to->positions / m->r->lanes;
    for (int p = 0; p < m->to->positions && slots > 0; p++) {
        int64_t origin = origin_of(m, p / slots, p % slots);
        m->next[p] = origin < 0 ? nowhere : m->at[origin];
    }
    memcpy(m->at, m->next, sizeof(position) * (size_t)m->to->positions);
    m->to->standin = m->from->standin;
}

/* What all lanes hold alike; where they do not, it comes from all of them. */
static void make_uniform(meeting *m) {
    position *all = &m->at[0];
    for (int lane = 1; lane < m->r->lanes; lane++) {
        const position *other = &m->at[lane];
        bool alike =
            other->value.known == all->value.known && other->value.number == all->value.number;
        all->value.modelled =
            signature_is_modelled(&all->value) && alike && signature_is_modelled(&other->value);
        if (!signature_is_same(m->r->setting.table, other->value.mark, all->value.mark))
            all->value.mark =
                signature_union(m->r->setting.table, all->value.mark, other->value.mark);
        all->value.known = all->value.known && alike;
        for (int plane = 0; plane < REPLAY_PLANES; plane++)
            all->plane[plane] = all->plane[plane] || other->plane[plane];
    }
}

void replay_collective(replay *r, const ir_op *op) {
    meeting m = {.r = r,
                 .op = op,
                 .from = replay_of(r, op->operands[0]),
                 .to = replay_of(r, op->results[0]),
                 .subgroup = ir_module_subgroup_lanes(r->state->module)};
    int positions = m.from->positions > m.to->positions ? m.from->positions : m.to->positions;
    positions = positions > r->lanes ? positions : r->lanes;
    m.slots = m.from->positions / r->lanes;
    replay_clear(r, m.to);
    if (m.slots < 1 || m.subgroup < 1)
        return;
    r->work -= 4 * positions;
    if (r->meeting_positions < positions) {
        r->meeting = BASE_NEW_ARRAY(r->arena, position, 2 * positions);
        r->meeting_marks = BASE_NEW_ARRAY(r->arena, signature, positions);
        r->meeting_positions = positions;
    }
    m.at = r->meeting;
    m.next = m.at + r->meeting_positions;
    m.marks = r->meeting_marks;
    read_positions(&m);
    if (op->opcode == IR_FOLD)
        fold(&m);
    else if (op->opcode == IR_COMBINE)
        combine(&m);
    else if (op->opcode == IR_UNIFORM)
        make_uniform(&m);
    else
        move(&m);
    write_positions(&m);
}
