/* Replay of scratch arrays: what each cell holds.
 *
 *     put %s[subgroup*1], %m mask=lane*1 < 1      lane 0 of subgroup g writes cell g
 *     %w = get %s[slot*1]                         every lane reads cells 0 .. k-1
 *
 * Lanes are replayed in step, so that what is put is there when it is got: whether they wait for
 * each other, and whether a cell was put before, is asked elsewhere.
 */
#include "verify/replay_internal.h"

#include <string.h>

enum { SCRATCH_CELLS = 1 << 16 };

void replay_start_scratch(replay *r, const ir_op *op) {
    replay_array *array = replay_array_of(r, op->results[0]);
    int64_t cells = 0;
    array->maybe = false;
    array->words = 0;
    if (!layout_extent_evaluate(op->results[0]->type.extent[0], r->sizes, &cells) || cells < 0 ||
        cells > SCRATCH_CELLS)
        return;
    if (array->held == NULL || array->cells != cells) {
        array->unset = BASE_NEW_ARRAY(r->arena, uint64_t, cells / 64 + 1);
        array->held = BASE_NEW_ARRAY(r->arena, signature_value, cells + 1);
    }
    array->cells = cells;
    array->words = 1;
    memset(array->unset, 0xff, sizeof(uint64_t) * (size_t)(cells / 64 + 1));
}

/* The cells of an access; NULL where they are not known, or not all of this group. */
static const int64_t *cells_of(replay *r, const ir_op *op, const replay_array *array, int positions,
                               int slots) {
    const ir_access *access = op->attributes.access;
    const replay_tensor cells = {.extent = {array->cells}};
    bool followed = access->rank == 1 && array->words > 0 && !array->maybe;
    return followed ? replay_cells(r, op, &cells, positions, slots) : NULL;
}

/* The array of the access, in its own group or in another one; NULL: nothing says in which, and it
 * may be any. */
static replay_array *array_of(replay *r, const ir_op *op) {
    const ir_value *array = op->operands[0];
    int operand = op->attributes.access->block;
    if (operand <= 0)
        return replay_array_of(r, array);
    const replay_value *block = replay_of(r, op->operands[operand]);
    int64_t number = block->known ? replay_number(block, 0) : -1;
    return number >= 0 && number < r->blocks ? &r->own_arrays[number][array->number] : NULL;
}

/* A finding, where an index is known. */
static void report_outside(replay *r, const ir_op *op, const replay_array *array, int position,
                           int slots) {
    const replay_tensor cells = {.extent = {array->cells}};
    int64_t cell = 0;
    replay_cell(r, op, &cells, position, slots, &cell);
}

void replay_put(replay *r, const ir_op *op) {
    replay_array *array = array_of(r, op);
    const ir_value *stored = ir_op_stored(op);
    const replay_value *value = replay_of(r, stored);
    int slots = ir_type_slot_count(&stored->type);
    uint64_t active[REPLAY_WORDS];
    r->work -= 4 + 2 * value->positions;
    for (int b = 0; b < r->blocks && array == NULL; b++)
        r->own_arrays[b][op->operands[0]->number].maybe = true;
    if (array == NULL)
        return;
    if (array->words == 0 || !replay_active(r, op, value->positions, active)) {
        array->maybe = true;
        return;
    }
    const int64_t *cells = cells_of(r, op, array, value->positions, slots);
    for (int p = 0; p < value->positions; p++) {
        int64_t cell = cells != NULL ? cells[p] : -1;
        if (!replay_bit(active, p))
            continue;
        if (cell < 0) {
            if (cells != NULL)
                report_outside(r, op, array, p, slots);
            array->maybe = true;
            return;
        }
        bool outside = replay_bit(value->plane[REPLAY_OUTSIDE], p) ||
                       replay_bit(value->plane[REPLAY_UNSET], p);
        uint64_t bit = UINT64_C(1) << (cell % 64);
        uint64_t *unset = &array->unset[cell / 64];
        *unset = outside ? *unset | bit : *unset & ~bit;
        array->held[cell] = replay_at(r, value, p);
    }
}

static signature_value fill_of(const replay *r, const ir_op *op, int position) {
    const ir_access *access = op->attributes.access;
    return access->fill < 0 ? signature_of_number(&r->setting, 0)
                            : replay_at(r, replay_of(r, op->operands[access->fill]), position);
}

void replay_get(replay *r, const ir_op *op) {
    replay_array *array = array_of(r, op);
    replay_value *result = replay_of(r, op->results[0]);
    int slots = ir_type_slot_count(&op->results[0]->type);
    uint64_t active[REPLAY_WORDS];
    replay_clear(r, result);
    r->work -= 4 + 2 * result->positions;
    if (array == NULL) {
        replay_forget(r, result);
        return;
    }
    bool decided = replay_active(r, op, result->positions, active);
    bool real = base_dtype_is_float(op->results[0]->type.dtype), followed = decided;
    const int64_t *cells = cells_of(r, op, array, result->positions, slots);
    replay_set_begin(r, result);
    for (int p = 0; p < result->positions && followed; p++) {
        int64_t cell = cells != NULL ? cells[p] : -1;
        signature_value value = signature_nothing(SIGNATURE_OUTSIDE);
        if (!replay_bit(active, p)) {
            value = fill_of(r, op, p);
        } else if (cell < 0) {
            if (cells != NULL)
                report_outside(r, op, array, p, slots);
            followed = false;
        } else if (!replay_bit(array->unset, cell)) {
            value = array->held[cell];
        }
        value.known = value.known && !real;
        replay_set(r, result, p, value);
    }
    replay_set_end(r, result);
    if (!followed) {
        replay_clear(r, result);
        replay_forget(r, result);
    }
    if (!r->signing)
        replay_share_marks(r, result, NULL);
}
