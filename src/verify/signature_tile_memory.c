/* The run of a tile or mapped module: loads and stores.
 *
 *     %t = load %x[%row inside, : N inside]      element i is cell (row, i) of x
 *     %g = load %x[%row inside, gather %i]       .. cell (row, %i[i]), the fill where it is outside
 */
#include "verify/signature_tile_internal.h"

typedef struct access_run {
    const ir_op *op;
    const ir_access *access;
    int tensor; /* parameter */
    int64_t extent[IR_MAX_RANK];
    const signature_tile *index[IR_MAX_RANK];  /* NULL: none */
    int64_t strides[IR_MAX_RANK][IR_MAX_RANK]; /* GATHER: per axis of the tile */
    int axis[IR_MAX_RANK];                     /* RANGE: of the tile */
    bool constant;                             /* all indices are known and none comes from data */
} access_run;

/* The indices of a row of elements: along the last axis of the tile. */
typedef struct access_row {
    struct {
        const signature_value *item; /* NULL: 0 */
        int64_t step, first, add;    /* of items; what is added, at the first and from one on */
    } index[IR_MAX_RANK];
} access_row;

/* What the indices of one element name. */
typedef struct access_cell {
    bool outside; /* of the tensor: known to be */
    bool wrong;   /* .. though it is said to be inside */
    bool known;   /* the cell */
    bool checked; /* an index that is not known may be outside */
    int64_t cell;
    bool modelled, modelled_outside; /* by the numbers of the model, where it is not known */
    int64_t modelled_cell;
    signature sources; /* of all indices */
    signature_value index[IR_MAX_RANK];
} access_cell;

static bool is_constant_tile(const signature_tile_run *run, const signature_tile *tile) {
    for (int64_t i = 0; i < tile->count; i++)
        if (!tile->items[i].known ||
            !signature_is_constant(run->setting->table, tile->items[i].mark))
            return false;
    return true;
}

static bool start_access(signature_tile_run *run, const ir_op *op, const signature_tile *tile,
                         access_run *a) {
    *a = (access_run){.op = op, .access = op->attributes.access, .tensor = -1, .constant = true};
    for (int i = 0; i < run->module->parameter_count; i++)
        if (run->module->parameters[i].is_tensor &&
            run->module->parameters[i].value == op->operands[0])
            a->tensor = i;
    if (a->tensor < 0)
        return false;
    for (int d = 0, next = 0; d < a->access->rank; d++) {
        const ir_index *index = &a->access->index[d];
        if (!layout_extent_evaluate(op->operands[0]->type.extent[d], run->setting->sizes,
                                    &a->extent[d]))
            return false;
        a->axis[d] = index->kind == IR_INDEX_RANGE ? next++ : -1;
        if (index->operand < 0)
            continue;
        a->index[d] = signature_tile_of(run, op->operands[index->operand]);
        a->constant = a->constant && is_constant_tile(run, a->index[d]);
        int64_t stride = 1;
        for (int i = a->index[d]->rank - 1; i >= 0 && i < tile->rank; i--) {
            a->strides[d][i] = a->index[d]->extent[i] == 1 ? 0 : stride;
            stride *= a->index[d]->extent[i];
        }
    }
    return true;
}

static signature_value index_value(const signature_tile_run *run, const access_run *a, int d,
                                   const signature_walk *walk) {
    int64_t element = 0;
    signature_value value = signature_of_number(run->setting, 0);
    if (a->index[d] != NULL) {
        for (int i = 0; i < walk->rank; i++)
            element += walk->at[i] * a->strides[d][i];
        value = a->index[d]->items[element];
    }
    if (a->axis[d] >= 0 && !value.known)
        value.mark = SIGNATURE_UNKNOWN; /* its elements have no names */
    if (a->axis[d] >= 0)
        value.number = (int64_t)((uint64_t)value.number + (uint64_t)walk->at[a->axis[d]]);
    return value;
}

static access_cell cell_of(const signature_tile_run *run, const access_run *a,
                           const signature_walk *walk) {
    access_cell c = {.known = true, .modelled = true, .sources = SIGNATURE_CONSTANT};
    for (int d = 0; d < a->access->rank; d++) {
        signature_value value = index_value(run, a, d, walk);
        c.index[d] = value;
        c.sources = signature_union(run->setting->table, c.sources, value.mark);
        c.modelled = c.modelled && signature_is_modelled(&value);
        if (value.number < 0 || value.number >= a->extent[d])
            c.modelled_outside = true;
        else
            c.modelled_cell = c.modelled_cell * a->extent[d] + value.number;
        if (!value.known) {
            c.known = false;
            c.checked = c.checked || !a->access->index[d].inside;
        } else if (value.number < 0 || value.number >= a->extent[d]) {
            c.outside = true;
            c.wrong = c.wrong || a->access->index[d].inside || a->axis[d] >= 0;
        } else {
            c.cell = c.cell * a->extent[d] + value.number;
        }
    }
    c.known = c.known && !c.outside;
    return c;
}

/* The row that begins at the coordinates. */
static access_row row_of(const access_run *a, const signature_walk *walk) {
    const int last = walk->rank - 1;
    access_row row;
    for (int d = 0; d < a->access->rank; d++) {
        int64_t element = 0;
        for (int i = 0; i < walk->rank && a->index[d] != NULL; i++)
            element += walk->at[i] * a->strides[d][i];
        row.index[d].item = a->index[d] != NULL ? &a->index[d]->items[element] : NULL;
        row.index[d].step = last >= 0 ? a->strides[d][last] : 0;
        row.index[d].first = a->axis[d] >= 0 ? walk->at[a->axis[d]] : 0;
        row.index[d].add = a->axis[d] >= 0 && a->axis[d] == last;
    }
    return row;
}

/* The cell of an element of the row, where no index comes from data; -1 where one is outside. */
static int64_t cell_in_row(const access_run *a, const access_row *row, int64_t element) {
    int64_t cell = 0;
    for (int d = 0; d < a->access->rank; d++) {
        const signature_value *item = row->index[d].item;
        uint64_t number = (uint64_t)(row->index[d].first + element * row->index[d].add);
        if (item != NULL)
            number += (uint64_t)item[element * row->index[d].step].number;
        if ((int64_t)number < 0 || (int64_t)number >= a->extent[d])
            return -1;
        cell = cell * a->extent[d] + (int64_t)number;
    }
    return cell;
}

static bool is_inside(const signature_tile *tile, const signature_walk *walk) {
    for (int d = 0; d < walk->rank; d++)
        if (walk->at[d] >= tile->domain[d])
            return false;
    return true;
}

static signature_walk walk_of(const signature_tile *tile) {
    signature_walk walk = {.rank = tile->rank};
    for (int d = 0; d < tile->rank; d++)
        walk.extent[d] = tile->extent[d];
    return walk;
}

/* ---- loads ---- */
static signature_value content_of(const signature_tile_run *run, const access_run *a, int64_t at) {
    const ir_access_mode mode = run->module->parameters[a->tensor].mode;
    if (mode != IR_IN && run->memory->open[a->tensor])
        return signature_nothing(SIGNATURE_UNKNOWN);
    const bool handed_on = run->chained > 0 && a->tensor >= run->chained;
    const signature_cell *cell =
        mode == IR_IN && !handed_on ? NULL : signature_memory_find(run->memory, a->tensor, at);
    if (cell != NULL)
        return cell->torn || cell->writer != run->writer ? signature_nothing(SIGNATURE_UNKNOWN)
                                                         : cell->value;
    if (handed_on && run->state->broken == 0)
        verify_report(run->state, VERIFY_COVERS, a->op,
                      "cells that a launch before this one stores",
                      "a cell of %.100s is loaded that nobody has stored",
                      run->module->parameters[a->tensor].name);
    if (mode == IR_OUT || handed_on)
        return signature_nothing(SIGNATURE_UNKNOWN);
    return signature_element(run->setting, a->tensor, a->op->results[0]->type.dtype, at);
}

static signature_value stored_value(const signature_tile_run *run, const access_run *a,
                                    const access_cell *c) {
    const ir_parameter *parameter = &run->module->parameters[a->tensor];
    if (c->known)
        return content_of(run, a, c->cell);
    if (parameter->mode != IR_IN)
        return signature_nothing(SIGNATURE_UNKNOWN);
    return signature_element_at(run->setting, a->tensor, c->index, a->access->rank);
}

static signature_value fill_of(signature_tile_run *run, const access_run *a) {
    bool real = base_dtype_is_float(a->op->results[0]->type.dtype);
    signature_value zero = signature_of_number(run->setting, 0);
    zero.known = !real;
    zero.modelled = true;
    if (a->access->fill >= 0)
        zero = signature_tile_of(run, a->op->operands[a->access->fill])->items[0];
    return signature_filled(run->setting, zero);
}

static signature_value loaded_value(signature_tile_run *run, const access_run *a,
                                    const signature_tile *tile, const signature_walk *walk) {
    if (!is_inside(tile, walk))
        return signature_nothing(SIGNATURE_OUTSIDE);
    access_cell c = cell_of(run, a, walk);
    if (c.outside)
        return c.wrong ? signature_nothing(SIGNATURE_UNKNOWN) : fill_of(run, a);
    signature_value value = stored_value(run, a, &c);
    value.mark = signature_indexed(run->setting->table, value.mark, c.sources);
    if (c.checked)
        value.mark = signature_union(run->setting->table, value.mark, fill_of(run, a).mark);
    if (!c.known && c.modelled && run->setting->models) {
        signature_value model =
            c.modelled_outside ? fill_of(run, a) : content_of(run, a, c.modelled_cell);
        value.modelled = signature_is_modelled(&model);
        value.number = model.number;
    }
    return value;
}

bool signature_tile_load(signature_tile_run *run, const ir_op *op) {
    access_run a;
    signature_tile *tile = signature_tile_of(run, op->results[0]);
    if (!signature_tile_shape(run, op->results[0]) || !start_access(run, op, tile, &a))
        return false;
    signature_walk walk = walk_of(tile);
    for (int64_t k = 0; k < tile->count;) {
        const int64_t columns = tile->rank > 0 ? tile->extent[tile->rank - 1] : 1;
        const access_row row = row_of(&a, &walk);
        for (int64_t i = 0; i < columns; i++, k++) {
            int64_t cell = a.constant && is_inside(tile, &walk) ? cell_in_row(&a, &row, i) : -1;
            tile->items[k] =
                cell >= 0 ? content_of(run, &a, cell) : loaded_value(run, &a, tile, &walk);
            signature_walk_next(&walk);
        }
    }
    return true;
}

/* ---- stores ---- */
/* -1: nothing is stored, or it is not known where. */
static int64_t cell_of_store(signature_tile_run *run, const access_run *a,
                             const signature_walk *walk) {
    access_cell c = cell_of(run, a, walk);
    if (!signature_is_constant(run->setting->table, c.sources))
        run->memory->scattered[a->tensor] = true;
    if (!c.known && !c.outside)
        run->memory->open[a->tensor] = true;
    return c.known ? c.cell : -1;
}

bool signature_tile_store(signature_tile_run *run, const ir_op *op) {
    access_run a;
    const signature_tile *tile = signature_tile_of(run, op->operands[op->operand_count - 1]);
    if (!start_access(run, op, tile, &a))
        return false;
    const uint64_t names[] = {(uint64_t)(uintptr_t)op, run->instance};
    signature_cell stored = {.tensor = a.tensor, .writer = run->writer, .op = op};
    stored.instance = names[0] * 31 + names[1];
    signature_walk walk = walk_of(tile);
    run->work -= tile->count + 2;
    signature_memory_reserve(run->memory, tile->count);
    for (int64_t k = 0; k < tile->count;) {
        const int64_t columns = tile->rank > 0 ? tile->extent[tile->rank - 1] : 1;
        const access_row row = row_of(&a, &walk);
        for (int64_t i = 0; i < columns; i++, k++, signature_walk_next(&walk)) {
            if (!is_inside(tile, &walk))
                continue;
            stored.value = tile->items[k];
            stored.cell = a.constant ? cell_in_row(&a, &row, i) : cell_of_store(run, &a, &walk);
            if (stored.cell >= 0)
                signature_memory_store(run->memory, &stored);
        }
    }
    return run->work > 0;
}
