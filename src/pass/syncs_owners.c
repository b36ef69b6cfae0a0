/* Who touches which cell of a scratch array, and which sync two accesses need between them.
 *
 *     put %s[lane*1 + subgroup*32]       cell 33: thread 33 .. thread 33
 *     get %s[slot*32]                    cell 32: thread 0 .. thread 63: another subgroup is among
 *                                        them, so the group has to wait
 *
 * Two sets of threads hold a pair of different ones unless both are one thread, and a pair of
 * different subgroups unless all are of one: the least and the greatest of both say so. Indices and
 * masks that depend on more than lane, subgroup and slot may be any.
 *
 * What all lanes store alike to a tensor each of them may read, which needs no sync; but before the
 * store all have to be done with what stood there.
 */
#include "pass/syncs_internal.h"

#include "pass/simplify.h"

enum { MOST_CELLS = 1 << 18, MOST_NUMBERS = 1 << 16, DEPTH = 200 };

static const syncs_numbers unknown = {.known = false};

static int64_t number_at(const syncs_numbers *numbers, int thread, int slot) {
    int64_t row = numbers->threads > 1 ? thread : 0;
    return numbers->at[row * numbers->slots + (numbers->slots > 1 ? slot : 0)];
}

static syncs_numbers room_for(syncs *s, int threads, int slots) {
    if ((int64_t)threads * slots > MOST_NUMBERS)
        return unknown;
    return (syncs_numbers){.known = true,
                           .threads = threads,
                           .slots = slots,
                           .at = BASE_NEW_ARRAY(s->arena, int64_t, (int64_t)threads * slots)};
}

/* ---- numbers ---- */
static syncs_numbers affine_numbers(syncs *s, const ir_affine *affine, int slots) {
    syncs_numbers numbers = room_for(s, s->lanes, slots);
    if (!numbers.known)
        return numbers;
    int64_t *of_slot = BASE_NEW_ARRAY(s->arena, int64_t, slots);
    for (int slot = 0; slot < slots; slot++)
        of_slot[slot] = ir_affine_at(affine, (ir_position){.slot = slot});
    for (int t = 0; t < s->lanes; t++) {
        uint64_t of_thread = (uint64_t)ir_affine_at(affine, ir_module_position(s->module, t, 0));
        for (int slot = 0; slot < slots; slot++)
            numbers.at[(int64_t)t * slots + slot] = (int64_t)(of_thread + (uint64_t)of_slot[slot]);
    }
    return numbers;
}

static syncs_numbers one_number(syncs *s, int64_t number) {
    syncs_numbers numbers = room_for(s, 1, 1);
    numbers.at[0] = number;
    return numbers;
}

static syncs_numbers numbers_of(syncs *s, const ir_value *value, int depth);

static syncs_numbers computed_numbers(syncs *s, const ir_op *op, int depth) {
    syncs_numbers in[3], out;
    int threads = 1, slots = 1;
    int64_t v[3] = {0};
    if (op->operand_count < 1 || op->operand_count > 3 ||
        !pass_fold_integers(op, (const int64_t[3]){1, 1, 1}, &v[0]))
        return unknown;
    for (int i = 0; i < op->operand_count; i++) {
        in[i] = numbers_of(s, op->operands[i], depth + 1);
        if (!in[i].known)
            return unknown;
        threads = in[i].threads > threads ? in[i].threads : threads;
        slots = in[i].slots > slots ? in[i].slots : slots;
    }
    out = room_for(s, threads, slots);
    for (int t = 0; out.known && t < threads; t++)
        for (int slot = 0; slot < slots; slot++) {
            for (int i = 0; i < op->operand_count; i++)
                v[i] = number_at(&in[i], t, slot);
            if (op->opcode == IR_XOR) /* most of them, of addresses */
                out.at[(int64_t)t * slots + slot] = v[0] ^ v[1];
            else
                pass_fold_integers(op, v, &out.at[(int64_t)t * slots + slot]);
        }
    return out;
}

static syncs_numbers numbers_by_op(syncs *s, const ir_op *op, int depth) {
    int64_t size = 0;
    if (op->opcode == IR_CONSTANT)
        return one_number(s, op->attributes.constant.integer);
    if (op->opcode == IR_SIZE)
        return layout_extent_known(&s->module->extents, op->attributes.extent, &size)
                   ? one_number(s, size)
                   : unknown;
    if (op->opcode == IR_IOTA)
        return affine_numbers(s, &op->attributes.affine, op->results[0]->type.slots);
    if (op->opcode == IR_BROADCAST)
        return numbers_of(s, op->operands[0], depth + 1);
    return computed_numbers(s, op, depth);
}

static syncs_numbers numbers_of(syncs *s, const ir_value *value, int depth) {
    if (s->looked[value->number])
        return s->numbers[value->number];
    s->looked[value->number] = true;
    bool is_integer = !base_dtype_is_float(value->type.dtype);
    if (is_integer && value->definer != NULL && value->definer->result_count == 1 && depth < DEPTH)
        s->numbers[value->number] = numbers_by_op(s, value->definer, depth);
    return s->numbers[value->number];
}

/* ---- one access ---- */
/* The sum of an index: base, affine form and vector; the last two may be missing. */
static bool cells_of(syncs *s, const ir_op *op, int slots, syncs_numbers part[3]) {
    const ir_index *index = &op->attributes.access->index[0];
    part[0] = affine_numbers(s, &index->affine, slots);
    part[1] =
        index->operand >= 0 ? numbers_of(s, op->operands[index->operand], 0) : one_number(s, 0);
    part[2] = index->vector >= 0 ? numbers_of(s, op->operands[index->vector], 0) : one_number(s, 0);
    return part[0].known && part[1].known && part[2].known;
}

/* What decides whether a position takes part: a bool, or a number that is compared to a count. */
typedef struct mask {
    bool is_range;
    syncs_numbers count, bits; /* not known: every position may */
} mask;

static mask mask_of(syncs *s, const ir_op *op, int slots) {
    const ir_access *access = op->attributes.access;
    mask m = {.is_range = access->mask_kind == IR_MASK_RANGE};
    if (access->mask_kind == IR_MASK_NONE)
        return m;
    m.bits = numbers_of(s, op->operands[access->mask], 0);
    if (m.is_range)
        m.count = affine_numbers(s, &access->mask_affine, slots);
    m.bits.known = m.bits.known && (!m.is_range || m.count.known);
    return m;
}

static bool takes_part(const mask *m, int thread, int slot) {
    if (!m->bits.known)
        return true;
    int64_t bits = number_at(&m->bits, thread, slot);
    return m->is_range ? number_at(&m->count, thread, slot) < bits : bits != 0;
}

static void touch(syncs_access *access, int64_t cell, int thread) {
    if (access->first[cell] < 0)
        access->first[cell] = thread;
    access->last[cell] = thread;
}

void syncs_access_make(syncs *s, const ir_op *op, syncs_access *access) {
    if (op->opcode == IR_LOAD || op->opcode == IR_STORE) {
        *access = (syncs_access){.op = op,
                                 .array = s->array_of[op->operands[0]->number] - 1,
                                 .writes = op->opcode == IR_STORE,
                                 .tensor = true};
        return;
    }
    const ir_value *value = op->opcode == IR_PUT ? ir_op_stored(op) : op->results[0];
    int slots = ir_type_slot_count(&value->type), array = s->array_of[op->operands[0]->number] - 1;
    int64_t cells = s->cells[array];
    syncs_numbers part[3];
    *access = (syncs_access){.op = op, .array = array, .writes = op->opcode == IR_PUT};
    access->known = cells <= MOST_CELLS && cells_of(s, op, slots, part);
    if (!access->known)
        return;
    mask m = mask_of(s, op, slots);
    access->first = BASE_NEW_ARRAY(s->arena, int32_t, cells);
    access->last = BASE_NEW_ARRAY(s->arena, int32_t, cells);
    for (int64_t c = 0; c < cells; c++)
        access->first[c] = -1;
    for (int t = 0; t < s->lanes; t++)
        for (int slot = 0; slot < slots; slot++) {
            uint64_t cell = 0;
            for (int i = 0; i < 3; i++)
                cell += (uint64_t)number_at(&part[i], t, slot);
            if (cell < (uint64_t)cells && takes_part(&m, t, slot))
                touch(access, (int64_t)cell, t);
        }
}

/* ---- two of them ---- */
ir_scope syncs_need(const syncs *s, const syncs_access *before, const syncs_access *now) {
    if (before->array != now->array || (!before->writes && !now->writes))
        return IR_SCOPE_NONE;
    if (now->tensor && !now->writes) /* each lane reads what it has stored, as all have */
        return IR_SCOPE_NONE;
    if (!before->known || !now->known)
        return s->lanes > s->subgroup ? IR_SCOPE_GROUP : IR_SCOPE_SUBGROUP;
    ir_scope need = IR_SCOPE_NONE;
    for (int64_t c = 0; c < s->cells[before->array] && need != IR_SCOPE_GROUP; c++) {
        if (before->first[c] < 0 || now->first[c] < 0)
            continue;
        int32_t low = before->first[c] < now->first[c] ? before->first[c] : now->first[c];
        int32_t high = before->last[c] > now->last[c] ? before->last[c] : now->last[c];
        if (low / s->subgroup != high / s->subgroup)
            need = IR_SCOPE_GROUP;
        else if (low != high)
            need = IR_SCOPE_SUBGROUP;
    }
    return need;
}
