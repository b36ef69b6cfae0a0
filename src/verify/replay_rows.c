/* Replay of indices: all positions of an access at once.
 *
 *     %x[%row, lane*1 + slot*32]     slots: 0 32 64 ..    lanes: 0 1 2 ..    the sums are the cells
 *
 * A term of an affine form counts slots or lanes, never both, so that a form is evaluated once for
 * each slot and once for each lane.
 */
#include "verify/replay_internal.h"

#include <string.h>

void replay_add_affine(replay *r, const ir_affine *affine, int positions, int slots,
                       int64_t *numbers) {
    uint64_t *of_slot = r->of_slot;
    if (affine->count == 0)
        return;
    for (int s = 0; s < slots && s < positions; s++)
        of_slot[s] = (uint64_t)ir_affine_at(affine, (ir_position){.slot = s});
    for (int first = 0, thread = 0; first < positions; first += slots, thread++) {
        ir_position at = ir_module_position(r->state->module, thread, 0);
        uint64_t of_thread = (uint64_t)ir_affine_at(affine, at);
        for (int s = 0; s < slots && first + s < positions; s++)
            numbers[first + s] = (int64_t)((uint64_t)numbers[first + s] + of_thread + of_slot[s]);
    }
}

static void add_value(const replay_value *value, int positions, int64_t *numbers) {
    for (int p = 0; p < positions; p++)
        numbers[p] = (int64_t)((uint64_t)numbers[p] + (uint64_t)replay_number(value, p));
}

/* False: a part of the index has no exact number. */
static bool read_index(replay *r, const ir_op *op, const ir_index *index, int positions, int slots,
                       int64_t *numbers) {
    const int operands[2] = {index->operand, index->vector};
    memset(numbers, 0, sizeof *numbers * (size_t)positions);
    for (int i = 0; i < 2; i++) {
        if (operands[i] < 0)
            continue;
        const replay_value *value = replay_of(r, op->operands[operands[i]]);
        if (!value->known)
            return false;
        add_value(value, positions, numbers);
    }
    replay_add_affine(r, &index->affine, positions, slots, numbers);
    return true;
}

const int64_t *replay_cells(replay *r, const ir_op *op, const replay_tensor *tensor, int positions,
                            int slots) {
    const ir_access *access = op->attributes.access;
    int64_t *cells = r->cells, *numbers = r->indices;
    memset(cells, 0, sizeof *cells * (size_t)positions);
    for (int d = 0; d < access->rank; d++) {
        const int64_t extent = tensor->extent[d];
        if (!read_index(r, op, &access->index[d], positions, slots, numbers))
            return NULL;
        for (int p = 0; p < positions; p++) {
            bool inside = cells[p] >= 0 && numbers[p] >= 0 && numbers[p] < extent;
            cells[p] = inside ? cells[p] * extent + numbers[p] : -1;
        }
    }
    return cells;
}

bool replay_index_is_constant(const replay *r, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    for (int d = 0; d < access->rank; d++) {
        const int operands[2] = {access->index[d].operand, access->index[d].vector};
        for (int i = 0; i < 2; i++) {
            const replay_value *value =
                operands[i] >= 0 ? replay_of(r, op->operands[operands[i]]) : NULL;
            if (value != NULL && (!value->known || value->marks != NULL))
                return false;
        }
    }
    return true;
}

void replay_rows_begin(replay *r) {
    r->cells = BASE_NEW_ARRAY(r->arena, int64_t, r->positions + 1);
    r->indices = BASE_NEW_ARRAY(r->arena, int64_t, r->positions + 1);
    r->of_slot = BASE_NEW_ARRAY(r->arena, uint64_t, r->positions + 1);
}
