/* Loads and stores of the FP64 reference.
 *
 * An access is walked row by row: a row is the last axis of the tile. Without a gather a row is a
 * run of one tensor dimension at a fixed stride; with one each element looks up its indices.
 *
 *     load x[%row, :]                one run of N elements from offset row * stride
 *     load logits[%row, %label]      one element; %label outside: the fill, and a fault unless the
 *                                    fill was declared
 *
 * `in` tensors are read where the caller keeps them. The others have a shadow (value, error,
 * written), which loads see too. A stored float that was just narrowed to the tensor's type is kept
 * as it was before: that rounding is the one which the comparison grants. No index leaves a tensor:
 * beyond it a slice is outside its domain, a store is dropped.
 */
#include "sim/reference_internal.h"
#include "sim/tensor.h"

#include "base/checked.h"

#include <string.h>

/* One access of one program. Rank of the tensor: op->attributes.access->rank. */
typedef struct place {
    const ir_op *op;
    int parameter;
    const sim_tensor *tensor;
    sim_reference_tensor *shadow;   /* NULL: an `in` tensor */
    int64_t stride[IR_MAX_RANK];    /* of the array that is accessed, in elements */
    int axis[IR_MAX_RANK];          /* RANGE: its axis of the tile, else -1 */
    int64_t start[IR_MAX_RANK];     /* POINT, RANGE */
    sim_operand index[IR_MAX_RANK]; /* GATHER */
    bool gathers;
    bool open; /* an index of the whole access is not certain */
} place;

/* ---- faults ---- */

/* The index follows the one that was listed last, in the same program and access. */
static bool continues_fault(const sim_machine *machine, const place *at, int dimension,
                            int64_t index) {
    const sim_reference *result = machine->result;
    if (result->fault_count == 0)
        return false;
    const sim_fault *fault = &result->faults[result->fault_count - 1];
    return index > fault->last && index - 1 == fault->last && fault->dimension == dimension &&
           strcmp(fault->tensor, machine->module->parameters[at->parameter].name) == 0 &&
           fault->location.line == at->op->location.line &&
           fault->location.column == at->op->location.column &&
           memcmp(fault->program, machine->program, sizeof fault->program) == 0;
}

static void record_fault(sim_machine *machine, const place *at, int dimension, int64_t index) {
    sim_reference *result = machine->result;
    if (machine->open_branches > 0 || at->op->attributes.access->fill_declared)
        return;
    result->fault_total++;
    if (continues_fault(machine, at, dimension, index)) {
        result->faults[result->fault_count - 1].last = index;
    } else if (result->fault_count < BASE_DIAGNOSTIC_LIMIT) {
        sim_fault *fault = &result->faults[result->fault_count++];
        fault->tensor = machine->module->parameters[at->parameter].name;
        fault->location = at->op->location;
        fault->dimension = dimension;
        fault->index = fault->last = index;
        fault->extent = at->tensor->extent[dimension];
        memcpy(fault->program, machine->program, sizeof fault->program);
    }
}

/* ---- where ---- */

static void place_strides(place *at) {
    int64_t weight = 1;
    for (int d = at->tensor->rank - 1; d >= 0; d--) {
        at->stride[d] = at->shadow != NULL ? weight : at->tensor->stride[d];
        weight *= at->tensor->extent[d];
    }
}

/* Far outside any tensor, but sums with positions stay in range. */
static int64_t clamp_start(int64_t start) {
    const int64_t far = INT64_C(1) << 61;
    return start < -far ? -far : start > far ? far : start;
}

static place place_of(sim_machine *machine, const ir_op *op, const sim_tile *shape) {
    const ir_access *access = op->attributes.access;
    place at = {.op = op, .parameter = machine->parameter_of[op->operands[0]->number]};
    at.tensor = &machine->tensors[at.parameter];
    if (machine->module->parameters[at.parameter].mode != IR_IN)
        at.shadow = &machine->result->tensors[at.parameter];
    place_strides(&at);
    int ranges = 0;
    for (int d = 0; d < access->rank; d++) {
        const ir_index *index = &access->index[d];
        at.axis[d] = index->kind == IR_INDEX_RANGE ? ranges++ : -1;
        if (index->operand < 0)
            continue;
        const sim_tile *tile = sim_tile_of(machine, op->operands[index->operand]);
        if (index->kind == IR_INDEX_GATHER) {
            at.gathers = true;
            at.index[d] = sim_operand_of(machine, tile, shape, d);
        } else {
            at.start[d] = clamp_start(tile->integer[0]);
            at.open |= tile->error[0] > 0.0;
        }
    }
    return at;
}

/* An element of the tensor, or the dimension whose index is outside. */
typedef struct cell {
    int64_t offset;
    int outside; /* -1: inside */
    int64_t index;
    bool open;
} cell;

/* The cell of element `flat` of the tile; the position of every RANGE axis counts. */
static cell cell_of(const place *at, int64_t flat, const int64_t position[IR_MAX_RANK]) {
    cell found = {.outside = -1, .open = at->open};
    for (int d = 0; d < at->tensor->rank; d++) {
        int64_t index = at->start[d];
        if (at->axis[d] >= 0)
            index += position[at->axis[d]];
        if (at->op->attributes.access->index[d].kind == IR_INDEX_GATHER) {
            sim_integer gathered = sim_operand_integer(&at->index[d], flat);
            index = gathered.value;
            found.open |= gathered.error > 0.0;
        }
        if (index < 0 || index >= at->tensor->extent[d]) {
            if (found.outside < 0) {
                found.outside = d;
                found.index = index;
            }
            continue;
        }
        found.offset += index * at->stride[d];
    }
    return found;
}

/* ---- programs that meet ---- */

/* Before the cell is marked as written. */
static void touch(sim_machine *machine, sim_reference_tensor *shadow, int64_t offset, bool stores) {
    if (shadow == NULL || shadow->toucher == NULL)
        return;
    int64_t *toucher = &shadow->toucher[offset];
    if (*toucher == machine->programs_begun)
        return;
    if (*toucher != 0 && (stores || shadow->written[offset]))
        machine->result->programs_meet = true;
    *toucher = *toucher == 0 ? machine->programs_begun : -1;
}

/* ---- reading ---- */

static void read_element(sim_machine *machine, const place *at, int64_t offset, sim_tile *to,
                         int64_t i) {
    touch(machine, at->shadow, offset, false);
    const sim_reference_tensor *shadow = at->shadow;
    if (!sim_tile_is_float(to)) {
        int64_t value =
            shadow != NULL ? shadow->integer[offset] : sim_tensor_integer(at->tensor, offset);
        sim_tile_set_integer(to, i,
                             (sim_integer){value, shadow != NULL ? shadow->error[offset] : 0.0});
    } else if (shadow == NULL) {
        sim_tile_set_number(to, i, (sim_number){sim_tensor_float(at->tensor, offset), 0.0});
    } else { /* what was stored is kept before its rounding */
        sim_number a = {shadow->value[offset], shadow->error[offset]};
        if (to->dtype != BASE_F32)
            a = sim_number_narrow(sim_float_format_of(to->dtype), a);
        sim_tile_set_number(to, i, a);
    }
}

/* An index outside the tensor: the fill, 0 when there is none. */
static void read_fill(sim_machine *machine, const ir_op *op, sim_tile *to, int64_t i) {
    const ir_access *access = op->attributes.access;
    const sim_tile *fill =
        access->fill < 0 ? NULL : sim_tile_of(machine, op->operands[access->fill]);
    if (sim_tile_is_float(to))
        to->value[i] = fill == NULL ? 0.0 : fill->value[0];
    else
        to->integer[i] = fill == NULL ? 0 : fill->integer[0];
    to->error[i] = fill == NULL ? 0.0 : fill->error[0];
}

/* One element of a load, inside the domain of the tile. */
static void load_element(sim_machine *machine, const place *at, sim_tile *to, int64_t i,
                         const int64_t position[IR_MAX_RANK]) {
    cell from = cell_of(at, i, position);
    if (from.outside >= 0 && at->axis[from.outside] >= 0) {
        sim_tile_poison(to, i, 1); /* the domain says less than the tensor: cannot be */
        return;
    }
    if (from.outside >= 0) {
        if (!from.open)
            record_fault(machine, at, from.outside, from.index);
        read_fill(machine, at->op, to, i);
    } else {
        read_element(machine, at, from.offset, to, i);
    }
    if (from.open)
        to->error[i] = (double)INFINITY;
}

/* ---- rows ---- */

/* The tensor dimension that runs along the last axis of the tile; -1: none. */
static int run_dimension(const place *at, const sim_tile *tile) {
    for (int d = 0; d < at->tensor->rank; d++)
        if (at->axis[d] >= 0 && at->axis[d] == tile->rank - 1)
            return d;
    return -1;
}

/* The elements [low, high) of a row that are inside tensor and domain; `offset` is the cell of
 * position 0, perhaps outside the tensor itself. */
typedef struct row_part {
    int64_t offset, low, high;
} row_part;

/* Of a row without gather. False: the row's other indices are outside. */
static bool row_inside(const place *at, const sim_tile *tile, const int64_t position[IR_MAX_RANK],
                       int dimension, row_part *part) {
    int64_t start = at->start[dimension], extent = at->tensor->extent[dimension];
    int64_t inside = tile->domain[tile->rank - 1];
    *part = (row_part){.low = start < 0 ? -start : 0};
    part->high = start >= extent ? 0 : extent - start < inside ? extent - start : inside;
    if (part->low >= part->high) {
        part->low = part->high;
        return true;
    }
    part->offset = start * at->stride[dimension];
    for (int d = 0; d < at->tensor->rank; d++) {
        if (d == dimension)
            continue;
        int64_t index = at->start[d] + (at->axis[d] >= 0 ? position[at->axis[d]] : 0);
        if (index < 0 || index >= at->tensor->extent[d])
            return false;
        part->offset += index * at->stride[d];
    }
    return true;
}

static int64_t row_length(const sim_tile *tile) {
    return tile->rank == 0 ? 1 : tile->extent[tile->rank - 1];
}

/* ---- load ---- */

static void load_part(sim_machine *machine, const place *at, sim_tile *to, int64_t first,
                      int dimension, const row_part *part) {
    sim_tile_poison(to, first, part->low);
    for (int64_t j = part->low; j < part->high; j++)
        read_element(machine, at, part->offset + j * at->stride[dimension], to, first + j);
    sim_tile_poison(to, first + part->high, row_length(to) - part->high);
}

static void load_row(sim_machine *machine, const place *at, sim_tile *to, int64_t first) {
    int64_t position[IR_MAX_RANK] = {0}, length = row_length(to);
    sim_tile_position(to, first, position);
    if (!sim_tile_inside(to, position, to->rank > 0 ? to->rank - 1 : 0)) {
        sim_tile_poison(to, first, length);
        return;
    }
    int dimension = at->gathers ? -1 : run_dimension(at, to);
    row_part part;
    if (dimension >= 0 && !at->open && row_inside(at, to, position, dimension, &part)) {
        load_part(machine, at, to, first, dimension, &part);
        return;
    }
    for (int64_t j = 0; j < length; j++) {
        if (to->rank > 0)
            position[to->rank - 1] = j;
        if (sim_tile_inside(to, position, to->rank))
            load_element(machine, at, to, first + j, position);
        else
            sim_tile_poison(to, first + j, 1);
    }
}

/* A single index that is outside the tensor takes the whole tile with it: one fault. */
static bool load_outside(sim_machine *machine, const place *at, sim_tile *to) {
    int64_t position[IR_MAX_RANK] = {0};
    for (int d = 0; d < at->tensor->rank; d++) {
        bool point = at->op->attributes.access->index[d].kind == IR_INDEX_POINT;
        if (!point || (at->start[d] >= 0 && at->start[d] < at->tensor->extent[d]))
            continue;
        if (!at->open && to->count > 0 && sim_tile_inside(to, position, to->rank))
            record_fault(machine, at, d, at->start[d]);
        for (int64_t i = 0; i < to->count; i++) {
            sim_tile_position(to, i, position);
            if (sim_tile_inside(to, position, to->rank))
                read_fill(machine, at->op, to, i);
            else
                sim_tile_poison(to, i, 1);
        }
        return true;
    }
    return false;
}

void sim_run_load(sim_machine *machine, const ir_op *op) {
    sim_tile *to = sim_tile_begin(machine, op->results[0]);
    place at = place_of(machine, op, to);
    if (load_outside(machine, &at, to)) {
        if (at.open || to->domain_open)
            sim_tile_loosen(to);
        return;
    }
    int64_t length = row_length(to);
    for (int64_t first = 0; first < to->count; first += length)
        load_row(machine, &at, to, first);
    if (to->domain_open)
        sim_tile_loosen(to);
}

/* ---- store ---- */

/* The value as it was before its last narrowing, which the comparison grants. */
static const sim_tile *stored_tile(sim_machine *machine, const ir_value *value) {
    const ir_op *definer = value->definer;
    bool narrows = !machine->rounded && definer != NULL && definer->opcode == IR_CAST &&
                   base_dtype_is_float(value->type.dtype) &&
                   base_dtype_is_float(definer->operands[0]->type.dtype);
    return sim_tile_of(machine, narrows ? definer->operands[0] : value);
}

/* The range of the tensor's type: past it by more than its error, a value is stored as an infinity.
 */
static double stored_range(base_dtype dtype, double value, double error) {
    const sim_float_format *format = sim_float_format_of(dtype);
    return fabs(value) - 4.0 * error >= format->overflow ? copysign((double)INFINITY, value)
                                                         : value;
}

static void write_element(sim_machine *machine, const place *at, int64_t offset,
                          const sim_operand *value, int64_t i, bool open) {
    sim_reference_tensor *shadow = at->shadow;
    touch(machine, shadow, offset, true);
    int64_t from = i * value->stride;
    if (shadow->value != NULL)
        shadow->value[offset] =
            stored_range(at->tensor->dtype, value->value[from], value->error[from]);
    else
        shadow->integer[offset] = value->integer[from];
    bool loose = open || machine->open_branches > 0;
    shadow->error[offset] = loose ? (double)INFINITY : value->error[from];
    shadow->written[offset] = true;
}

/* A store whose place is not certain may have gone anywhere. */
static void loosen_tensor(sim_reference_tensor *shadow) {
    for (int64_t i = 0; i < shadow->count; i++) {
        shadow->error[i] = (double)INFINITY;
        shadow->written[i] = true;
    }
}

/* False: the place of an element is not certain. */
static bool store_row(sim_machine *machine, const place *at, const sim_tile *tile,
                      const sim_operand *value, int64_t first) {
    int64_t position[IR_MAX_RANK] = {0}, length = row_length(tile);
    sim_tile_position(tile, first, position);
    if (!sim_tile_inside(tile, position, tile->rank > 0 ? tile->rank - 1 : 0))
        return true;
    int dimension = at->gathers ? -1 : run_dimension(at, tile);
    row_part part;
    if (dimension >= 0) {
        if (row_inside(at, tile, position, dimension, &part))
            for (int64_t j = part.low; j < part.high; j++)
                write_element(machine, at, part.offset + j * at->stride[dimension], value,
                              first + j, tile->domain_open);
        return !at->open;
    }
    bool certain = true;
    for (int64_t j = 0; j < length; j++) {
        if (tile->rank > 0)
            position[tile->rank - 1] = j;
        if (!sim_tile_inside(tile, position, tile->rank))
            continue;
        cell to = cell_of(at, first + j, position);
        certain &= !to.open;
        if (to.outside < 0)
            write_element(machine, at, to.offset, value, first + j, tile->domain_open);
    }
    return certain;
}

void sim_run_store(sim_machine *machine, const ir_op *op) {
    const ir_value *value = op->operands[op->operand_count - 1];
    const sim_tile *tile = sim_tile_of(machine, value);
    place at = place_of(machine, op, tile);
    if (at.shadow == NULL)
        return; /* an `in` tensor: the verifier refuses it */
    sim_operand stored =
        sim_operand_of(machine, stored_tile(machine, value), tile, SIM_SCRATCH_TILES - 1);
    int64_t length = row_length(tile);
    bool certain = true;
    for (int64_t first = 0; first < tile->count; first += length)
        certain &= store_row(machine, &at, tile, &stored, first);
    if (!certain)
        loosen_tensor(at.shadow);
}
