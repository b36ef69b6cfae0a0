/* Facts of tile and mapped accesses: index-inside, range-inside, range-whole, store-injective.
 *
 *     load %x[%row inside, %k : +64 inside] : f32<64 below %d>
 *         0 <= %row < R;  0 <= %k;  %k + i < N for every i below %d;  %d is 64 or %k + %d is N
 *
 * Each is searched for a counterexample (explore_internal.h).
 */
#include "verify/explore_internal.h"

#include "base/checked.h"

#include <string.h>

enum { CORNERS = 6, WRITES = 512, PROGRAMS = 4 };

static const ir_value *accessed_value(const ir_op *op) {
    return op->opcode == IR_STORE ? op->operands[op->operand_count - 1] : op->results[0];
}

/* Elements along each axis of what is accessed that are inside; false when that is not known. The
 * shape comes from ranges and index tiles, the domain from the value and the index tiles. */
static bool inside_counts(const explore_place *place, const ir_op *op, int *rank,
                          int64_t counts[IR_MAX_RANK]) {
    static const int64_t nowhere[IR_MAX_RANK] = {0};
    const ir_access *access = op->attributes.access;
    const ir_value *value = accessed_value(op);
    *rank = 0;
    for (int i = 0; i < access->rank; i++) {
        const ir_index *index = &access->index[i];
        if (index->kind == IR_INDEX_RANGE) {
            explore_number length = explore_extent(place, index->length);
            if (!length.known)
                return false;
            counts[(*rank)++] = length.value;
        } else if (index->kind == IR_INDEX_GATHER) {
            const ir_type *tile = &op->operands[index->operand]->type;
            for (int d = 0; d < tile->rank; d++) {
                explore_number extent = explore_extent(place, tile->extent[d]);
                if (!extent.known)
                    return false;
                counts[d] = d < *rank && extent.value == 1 ? counts[d] : extent.value;
            }
            *rank = tile->rank;
        }
    }
    for (int d = 0; value->type.form == IR_FORM_TILE && value->type.rank == *rank && d < *rank;
         d++) {
        explore_number extent = explore_extent(place, value->type.extent[d]);
        if (value->type.domain[d] == NULL || !extent.known || extent.value != counts[d])
            continue; /* full, or spreads */
        explore_number domain = explore_value(place, value->type.domain[d], nowhere);
        if (!domain.known)
            return false;
        counts[d] = domain.value < counts[d] ? domain.value : counts[d];
    }
    return true;
}

/* The index of dimension i for one element; unknown where it cannot be computed. */
static explore_number index_of(const explore_place *place, const ir_op *op, int i,
                               const int64_t element[IR_MAX_RANK]) {
    const ir_access *access = op->attributes.access;
    const ir_index *index = &access->index[i];
    explore_number value = {.known = true};
    int64_t inner[IR_MAX_RANK] = {0};
    int dimension = 0;
    for (int k = 0; k < i; k++)
        dimension += access->index[k].kind == IR_INDEX_RANGE;
    const ir_type *type = index->operand >= 0 ? &op->operands[index->operand]->type : NULL;
    for (int d = 0; index->kind == IR_INDEX_GATHER && d < type->rank; d++) {
        explore_number extent = explore_extent(place, type->extent[d]);
        inner[d] = extent.known && extent.value == 1 ? 0 : element[d];
    }
    if (index->operand >= 0)
        value = explore_value(place, op->operands[index->operand], inner);
    if (index->kind == IR_INDEX_RANGE)
        value.value = (int64_t)((uint64_t)value.value + (uint64_t)element[dimension]);
    return value;
}

static void report(explore_place *place, verify_rule rule, const ir_op *op, int dimension,
                   int64_t index, int64_t extent) {
    *place->work = 0; /* one counterexample is enough */
    verify_report(
        place->state, rule, op,
        base_diagnostics_text(place->state->diagnostics, "0 <= index < %lld", (long long)extent),
        "index %d can be %lld, where the tensor has %lld", dimension, (long long)index,
        (long long)extent);
}

static void check_index(explore_place *place, const ir_op *op, int i,
                        const int64_t element[IR_MAX_RANK]) {
    const ir_index *index = &op->attributes.access->index[i];
    bool range = index->kind == IR_INDEX_RANGE;
    if (!range && !index->inside)
        return;
    explore_number value = index_of(place, op, i, element);
    explore_number extent = explore_extent(place, op->operands[0]->type.extent[i]);
    if (value.known && extent.known && (value.value < 0 || value.value >= extent.value))
        report(place, range ? VERIFY_RANGE_INSIDE : VERIFY_INDEX_INSIDE, op, i, value.value,
               extent.value);
}

static void choose_element(const int64_t counts[IR_MAX_RANK], int rank, int round,
                           int64_t element[IR_MAX_RANK]) {
    for (int d = 0; d < IR_MAX_RANK; d++)
        element[d] = d < rank ? explore_pick(counts[d], (round >> d) % 3) : 0;
}

static bool is_empty(const int64_t counts[IR_MAX_RANK], int rank) {
    for (int d = 0; d < rank; d++)
        if (counts[d] < 1)
            return true;
    return false;
}

/* The domain of a range does not stop before the range and the tensor do. */
static void check_whole(explore_place *place, const ir_op *op, const int64_t counts[IR_MAX_RANK]) {
    static const int64_t first[IR_MAX_RANK] = {0};
    int dimension = 0;
    for (int i = 0; i < op->attributes.access->rank; i++) {
        const ir_index *index = &op->attributes.access->index[i];
        if (index->kind != IR_INDEX_RANGE)
            continue;
        int64_t count = counts[dimension++], rest = 0;
        explore_number start = index_of(place, op, i, first);
        explore_number extent = explore_extent(place, op->operands[0]->type.extent[i]);
        explore_number length = explore_extent(place, index->length);
        if (!start.known || !extent.known || !length.known || start.value < 0 ||
            !base_checked_sub(extent.value, start.value, &rest) || count >= length.value ||
            count >= rest)
            continue;
        *place->work = 0;
        verify_report(place->state, VERIFY_RANGE_WHOLE, op, "all that is inside the tensor",
                      "the domain of axis %d can be %lld, where %lld elements are inside",
                      dimension - 1, (long long)count,
                      (long long)(rest < length.value ? rest : length.value));
        return;
    }
}

static void check_insides(explore_place *place, const ir_op *op) {
    int rank = 0;
    int64_t counts[IR_MAX_RANK] = {0}, element[IR_MAX_RANK];
    if (!inside_counts(place, op, &rank, counts))
        return;
    check_whole(place, op, counts);
    if (is_empty(counts, rank))
        return;
    for (int round = 0; round < (rank == 0 ? 1 : CORNERS); round++) {
        choose_element(counts, rank, round, element);
        for (int i = 0; i<op->attributes.access->rank && * place->work> 0; i++)
            check_index(place, op, i, element);
    }
}

/* ---- scatters ---- */
typedef struct write_log {
    int64_t cells[WRITES][IR_MAX_RANK];
    int16_t places[2 * WRITES]; /* by hash: 1 + the number of the cell; 0: empty */
    int count;
} write_log;

/* The cell that an element is written to; false when it is unknown or dropped. */
static bool written_cell(const explore_place *place, const ir_op *op,
                         const int64_t element[IR_MAX_RANK], int64_t cell[IR_MAX_RANK]) {
    memset(cell, 0, sizeof(int64_t) * IR_MAX_RANK);
    for (int i = 0; i < op->attributes.access->rank; i++) {
        explore_number value = index_of(place, op, i, element);
        explore_number extent = explore_extent(place, op->operands[0]->type.extent[i]);
        if (!value.known || !extent.known || value.value < 0 || value.value >= extent.value)
            return false;
        cell[i] = value.value;
    }
    return true;
}

static bool log_write(write_log *log, const int64_t cell[IR_MAX_RANK]) {
    uint64_t at = 0;
    for (int i = 0; i < IR_MAX_RANK; i++)
        at = (at + (uint64_t)cell[i]) * UINT64_C(0x9e3779b97f4a7c15);
    at >>= 32;
    while (log->places[at % (2 * WRITES)] != 0) {
        int before = log->places[at++ % (2 * WRITES)] - 1;
        if (memcmp(log->cells[before], cell, sizeof log->cells[0]) == 0)
            return false;
    }
    if (log->count == WRITES)
        return true;
    memcpy(log->cells[log->count++], cell, sizeof log->cells[0]);
    log->places[at % (2 * WRITES)] = (int16_t)log->count;
    return true;
}

/* All elements in order, as many as the log takes; false when two write one cell. */
static bool log_elements(const explore_place *place, const ir_op *op, write_log *log) {
    int rank = 0;
    int64_t counts[IR_MAX_RANK] = {0}, element[IR_MAX_RANK] = {0}, cell[IR_MAX_RANK];
    if (!inside_counts(place, op, &rank, counts) || is_empty(counts, rank))
        return true;
    int limit = log->count + WRITES / PROGRAMS;
    while (log->count<limit && * place->work> 0) {
        if (written_cell(place, op, element, cell) && !log_write(log, cell))
            return false;
        int d = rank - 1;
        while (d >= 0 && ++element[d] == counts[d])
            element[d--] = 0;
        if (d < 0)
            return true;
    }
    return true;
}

/* The program with this number, in mixed radix of the first few of each axis. */
static bool set_program(explore_place *place, int number) {
    const ir_module *module = place->state->module;
    for (int i = module->program_count - 1; i >= 0; i--) {
        explore_number extent = explore_extent(place, module->programs[i].extent);
        if (!extent.known || extent.value < 1)
            return false;
        int64_t count = (extent.value - 1) / module->programs[i].step + 1;
        int radix = count < 2 ? 1 : 2;
        place->programs[i] = number % radix * module->programs[i].step;
        number /= radix;
    }
    return number == 0;
}

/* Loops around are at their first iteration in every program. */
static void set_loops(explore_place *place) {
    static const int64_t nowhere[IR_MAX_RANK] = {0};
    for (int i = 0; i < place->loop_count; i++)
        place->index[i] = explore_value(place, place->loops[i]->operands[0], nowhere).value;
}

static void check_injective(explore_place *place, const ir_op *op) {
    explore_place other = *place;
    write_log *log = BASE_NEW(place->state->diagnostics->arena, write_log);
    for (int number = 0; number < PROGRAMS && set_program(&other, number); number++) {
        set_loops(&other);
        if (log_elements(&other, op, log))
            continue;
        *place->work = 0;
        verify_report(place->state, VERIFY_STORE_INJECTIVE, op,
                      "every cell written by one element of one program",
                      "two elements or programs write one cell");
        return;
    }
}

static void visit(explore_place *place, const ir_op *op) {
    if (ir_op_describe(op->opcode)->shape != IR_SHAPE_ACCESS)
        return;
    check_insides(place, op);
    bool first = true;
    for (int i = 0; i < place->loop_count; i++)
        first = first && place->index[i] == explore_value(place, place->loops[i]->operands[0],
                                                          (const int64_t[IR_MAX_RANK]){0})
                                                .value;
    if (op->opcode == IR_STORE && op->attributes.access->injective && first)
        check_injective(place, op);
}

void verify_facts(verify_state *state) {
    explore_module(state, visit);
}
