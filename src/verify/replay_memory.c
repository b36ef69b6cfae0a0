/* Replay of loads, stores, pulls and pushes: element-observed, store-once, output-load, and what
 * private arrays hold.
 *
 * Of a tensor it is known which cells each store has written in an iteration, and which lane of
 * which group wrote a cell of an output last; of a private array, which lanes have pushed an
 * element to a cell.
 */
#include "verify/replay_internal.h"

replay_array *replay_array_of(replay *r, const ir_value *array) {
    return &r->arrays[array->number];
}

replay_tensor *replay_tensor_of(replay *r, const ir_value *tensor) {
    for (int i = 0; i < r->state->module->parameter_count; i++)
        if (r->tensors[i].value != NULL && r->tensors[i].value == tensor)
            return &r->tensors[i];
    return NULL;
}

/* The lane that an access of this shape acts for: 0 is all of them. */
static int32_t lane_of(int positions, int position, int slots) {
    return positions == 1 ? 0 : 1 + position / slots;
}

void replay_open(replay *r, const replay_tensor *tensor) {
    if (r->signing)
        r->stored.open[tensor - r->tensors] = true;
}

/* ---- loads ---- */
/* The cell was stored before by this group: by this lane, or by all. */
static void check_output(replay *r, const ir_op *op, const replay_tensor *tensor, int64_t cell,
                         int32_t lane) {
    int32_t first = r->run * (r->lanes + 1), owner = tensor->owner[cell] - 1;
    bool stored = owner >= first;
    if ((!stored && tensor->maybe) || (stored && (owner == first || owner == first + lane)) ||
        !replay_is_news(r, op))
        return;
    verify_report(r->state, VERIFY_OUTPUT_LOAD, op, "a store by the same lane before",
                  stored ? "a cell of an out tensor is read by a lane that did not store it"
                         : "a cell of an out tensor is read before it is stored");
}

static void check_outputs(replay *r, const ir_op *op, const replay_tensor *tensor,
                          const uint64_t *active) {
    int slots = ir_type_slot_count(&op->results[0]->type);
    int positions = replay_of(r, op->results[0])->positions;
    int64_t cell = 0;
    r->work -= positions;
    for (int p = 0; p < positions; p++)
        if (replay_bit(active, p) && replay_cell(r, op, tensor, p, slots, &cell))
            check_output(r, op, tensor, cell, lane_of(positions, p, slots));
}

/* Where lanes are not in lock step nothing orders one that loads a cell and one that stores it. */
static void meet_at_cell(replay *r, const ir_op *op, int32_t *own, const int32_t *others,
                         int32_t lane) {
    int32_t first = r->run * (r->lanes + 1), before = *own - 1, other = *others - 1;
    *own = 1 + first + (before < first || before == first + lane ? lane : 0);
    if (other < first || other == first + lane || !replay_is_news(r, op))
        return;
    verify_report(
        r->state, VERIFY_STORE_ONCE, op, "every cell loaded and stored by one lane",
        "a cell is stored by one lane and loaded by another, which nothing orders on this "
        "machine");
}

static void meet_at_cells(replay *r, const ir_op *op, const replay_tensor *tensor, int positions,
                          int slots, const uint64_t *active, bool stores) {
    if (tensor->reader == NULL || positions == 1 || !r->signing || op->attributes.access->unique ||
        !replay_index_is_constant(r, op))
        return;
    const int64_t *cells = replay_cells(r, op, tensor, positions, slots);
    r->work -= positions;
    for (int p = 0; p < positions && cells != NULL; p++) {
        if (!replay_bit(active, p) || cells[p] < 0)
            continue;
        int32_t *loaded = &tensor->reader[cells[p]], *stored = &tensor->writer[cells[p]];
        meet_at_cell(r, op, stores ? stored : loaded, stores ? loaded : stored,
                     lane_of(positions, p, slots));
    }
}

void replay_load(replay *r, const ir_op *op) {
    replay_value *result = replay_of(r, op->results[0]);
    const replay_tensor *tensor = replay_tensor_of(r, op->operands[0]);
    const ir_access *access = op->attributes.access;
    uint64_t active[REPLAY_WORDS];
    replay_clear(r, result);
    bool decided = replay_active(r, op, result->positions, active);
    bool range = access->mask_kind == IR_MASK_RANGE;
    r->work -= 4 + result->words + (range ? result->positions : 0);
    for (int w = 0; w < result->words; w++) {
        uint64_t planes[2], on = decided ? active[w] : ~UINT64_C(0);
        replay_index_planes(r, op, w, planes);
        result->plane[REPLAY_OUTSIDE][w] = (planes[REPLAY_OUTSIDE] & on) | (range ? ~on : 0);
        result->plane[REPLAY_UNSET][w] = planes[REPLAY_UNSET] & on;
    }
    bool out = tensor != NULL && tensor->mode == IR_OUT;
    if (out && decided && tensor->owner != NULL)
        check_outputs(r, op, tensor, active);
    if (tensor != NULL && decided)
        meet_at_cells(r, op, tensor, result->positions, ir_type_slot_count(&op->results[0]->type),
                      active, false);
    if (r->signing) {
        replay_marks_load(r, op, active, decided);
        return;
    }
    if (out || base_dtype_is_float(op->results[0]->type.dtype))
        return;
    int64_t *numbers = replay_numbers(r, result);
    for (int p = 0; p < result->positions; p++)
        numbers[p] = explore_wrapped(op->results[0]->type.dtype, r->loaded);
}

/* ---- stores ---- */
/* What is stored, where, and whether: all of it comes from elements. */
static void check_observed(replay *r, const ir_op *op, const replay_value *value,
                           const uint64_t *active, int words) {
    for (int w = 0; w < words; w++) {
        uint64_t planes[2];
        replay_index_planes(r, op, w, planes);
        uint64_t outside = planes[REPLAY_OUTSIDE] | replay_word(value, REPLAY_OUTSIDE, w) |
                           replay_word(value, REPLAY_STANDIN, w);
        uint64_t unset = planes[REPLAY_UNSET] | replay_word(value, REPLAY_UNSET, w);
        if (((outside | unset) & active[w]) == 0 || !replay_is_news(r, op))
            continue;
        if ((outside & active[w]) != 0)
            verify_report(r->state, VERIFY_ELEMENT_OBSERVED, op, "a mask, or a select before it",
                          "a lane stores where it has no element");
        else
            verify_report(r->state, VERIFY_PRIVATE_ORDER, op,
                          "a push of an element into each cell that is used",
                          "a lane stores what comes from a cell that it has not pushed to");
        return;
    }
}

static uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* False when the store has written the cell in this iteration before, from another lane, slot or
 * group. What loops of the kernel write again is its own affair. */
static bool is_first_write(replay *r, const ir_op *op, int64_t cell) {
    uint64_t key = mixed(mixed((uint64_t)(uintptr_t)op + mixed(r->iteration)) + (uint64_t)cell) | 1;
    if (r->write_count >= r->write_capacity / 2)
        return true;
    for (uint64_t at = key >> 20;; at++) {
        uint64_t *entry = &r->writes[at % (uint64_t)r->write_capacity];
        if (*entry == key)
            return false;
        if (*entry != 0)
            continue;
        *entry = key;
        r->write_count++;
        return true;
    }
}

static void write_cell(replay *r, const ir_op *op, int64_t cell) {
    if (!is_first_write(r, op, cell) && replay_is_news(r, op))
        verify_report(r->state, VERIFY_STORE_ONCE, op,
                      "every cell written by one lane and slot of one group",
                      "a cell is written twice by a store that is said to be injective");
}

/* Where lanes are not in lock step nothing orders two of a group that store to one cell. */
static void own_cell(replay *r, const ir_op *op, replay_tensor *tensor, int64_t cell,
                     int32_t lane) {
    int32_t first = r->run * (r->lanes + 1), before = tensor->owner[cell] - 1;
    tensor->owner[cell] = 1 + first + lane;
    bool promised = op->attributes.access->unique; /* which the sizes here need not keep */
    if (!promised && before >= first && before != first + lane && !replay_in_step(r) &&
        replay_is_news(r, op))
        verify_report(r->state, VERIFY_STORE_ONCE, op, "every cell stored by one lane",
                      "a cell is stored by two lanes, which nothing orders on this machine");
}

static void write_cells(replay *r, const ir_op *op, replay_tensor *tensor, int positions,
                        const uint64_t *active) {
    const ir_access *access = op->attributes.access;
    int slots = ir_type_slot_count(&op->operands[op->operand_count - 1]->type);
    bool once = access->injective && !access->unique;
    const int64_t *cells = replay_cells(r, op, tensor, positions, slots);
    bool constant = replay_index_is_constant(r, op);
    r->work -= 2 * positions;
    for (int p = 0; p < positions; p++) {
        int64_t cell = cells != NULL ? cells[p] : -1;
        if (!replay_bit(active, p))
            continue;
        if (cell < 0 && !replay_cell(r, op, tensor, p, slots, &cell)) {
            replay_open(r, tensor);
            if (r->signing && replay_is_scattered(r, op, p, slots))
                r->stored.doubtful[tensor - r->tensors] = true;
            continue;
        }
        if (r->signing)
            replay_marks_store(r, op, p, cell, constant);
        if (once)
            write_cell(r, op, cell);
        if (tensor->owner != NULL)
            own_cell(r, op, tensor, cell, lane_of(positions, p, slots));
    }
}

void replay_store(replay *r, const ir_op *op) {
    const replay_value *value = replay_of(r, op->operands[op->operand_count - 1]);
    replay_tensor *tensor = replay_tensor_of(r, op->operands[0]);
    uint64_t active[REPLAY_WORDS];
    r->work -= 4 + value->words;
    if (tensor == NULL)
        return;
    if (!replay_active(r, op, value->positions, active)) {
        tensor->maybe = true;
        replay_open(r, tensor);
        if (r->signing)
            r->stored.doubtful[tensor - r->tensors] = true;
        return;
    }
    check_observed(r, op, value, active, value->words);
    meet_at_cells(r, op, tensor, value->positions, ir_type_slot_count(&ir_op_stored(op)->type),
                  active, true);
    write_cells(r, op, tensor, value->positions, active);
}

/* ---- private arrays ---- */
static bool cell_of(replay *r, const ir_op *op, const replay_array *array, int64_t *cell) {
    const replay_value *number = replay_of(r, op->operands[1]);
    if (!number->known || array->words == 0)
        return false;
    *cell = replay_number(number, 0);
    bool inside = *cell >= 0 && *cell < array->cells;
    if (!inside && r->when == NULL && replay_is_news(r, op))
        verify_report(r->state, VERIFY_CELL_INSIDE, op, "a cell of the array",
                      "the cell can be %lld, where the array has %lld", (long long)*cell,
                      (long long)array->cells);
    return inside;
}

static void pull_held(replay *r, const replay_array *array, int64_t cell, replay_value *result) {
    if (array->held == NULL || array->positions != result->positions) {
        replay_forget(r, result);
        return;
    }
    replay_set_begin(r, result);
    for (int p = 0; p < result->positions; p++)
        replay_set(r, result, p,
                   replay_bit(result->plane[REPLAY_UNSET], p)
                       ? (signature_value){.mark = SIGNATURE_OUTSIDE}
                       : array->held[cell * array->positions + p]);
    replay_set_end(r, result);
}

void replay_pull(replay *r, const ir_op *op) {
    replay_array *array = replay_array_of(r, op->operands[0]);
    replay_value *result = replay_of(r, op->results[0]);
    int64_t cell = 0;
    replay_clear(r, result);
    r->work -= 2 + result->words;
    if (array->maybe || !cell_of(r, op, array, &cell)) {
        replay_forget(r, result);
        return;
    }
    for (int w = 0; w < result->words && w < array->words; w++)
        result->plane[REPLAY_UNSET][w] = array->unset[cell * array->words + w];
    if (r->signing)
        pull_held(r, array, cell, result);
}

/* Another sweep may make elements of what is outside in this one (pad): to it, it is unset. */
void replay_push(replay *r, const ir_op *op) {
    replay_array *array = replay_array_of(r, op->operands[0]);
    const replay_value *value = replay_of(r, op->operands[2]);
    uint64_t active[REPLAY_WORDS];
    int64_t cell = 0;
    r->work -= 2 + value->words;
    bool decided = true;
    for (int w = 0; w < value->words || w < array->words; w++)
        active[w] = ~UINT64_C(0);
    if (r->when != NULL) {
        const replay_value *when = replay_of(r, r->when);
        int slots = value->positions > r->lanes ? value->positions / r->lanes : 1;
        decided = when->known;
        for (int p = 0; decided && p < value->positions; p++)
            if (replay_number(when, p / slots) == 0)
                active[p / 64] &= ~(UINT64_C(1) << (p % 64));
    }
    if (!decided || !cell_of(r, op, array, &cell)) {
        array->maybe = true;
        return;
    }
    for (int p = 0; r->signing && p < array->positions && array->held != NULL; p++)
        if (replay_bit(active, p))
            array->held[cell * array->positions + p] = replay_at(r, value, p);
    for (int w = 0; w < array->words; w++) {
        uint64_t *unset = &array->unset[cell * array->words + w];
        uint64_t missing = replay_word(value, REPLAY_OUTSIDE, w) |
                           replay_word(value, REPLAY_UNSET, w) |
                           replay_word(value, REPLAY_STANDIN, w);
        *unset = (*unset & ~active[w]) | (missing & active[w]);
    }
}
