/* Memory of the simulator: loads, stores, puts, gets, and private arrays.
 *
 * An access is done row by row: for one slot, the place of each thread is computed, those that the
 * mask or control leaves out are taken off, and so are those outside, which are reported. An access
 * whose indices, mask and value are the same in all lanes is made once for the group.
 *
 *     put %s[subgroup*1], %m mask=lane*1 < %one      by_lane: one thread of each subgroup
 *     store %y[%row], %sum                           once for the group, by every lane
 */
#include "sim/thread_internal.h"

#include "base/hash.h"

#include <string.h>

/* ---- what is known before ---- */

static sim_affine affine_of(sim_team *team, const ir_affine *affine, int slots) {
    if (affine->count == 0)
        return (sim_affine){0};
    int64_t *by_slot = BASE_NEW_ARRAY(team->arena, int64_t, slots);
    int64_t *by_thread = BASE_NEW_ARRAY(team->arena, int64_t, team->threads);
    for (int s = 0; s < slots; s++)
        by_slot[s] = ir_affine_at(affine, (ir_position){.slot = s});
    for (int64_t t = 0; t < team->threads; t++)
        by_thread[t] = ir_affine_at(affine, ir_module_position(team->module, t % team->lanes, 0));
    return (sim_affine){by_slot, by_thread, true};
}

static sim_form *form_at(sim_team *team, const ir_op *op) {
    const void *key = op;
    uint64_t at = base_hash_bytes(BASE_HASH_START, &key, sizeof key);
    while (team->forms[at & (uint64_t)team->form_mask].op != NULL &&
           team->forms[at & (uint64_t)team->form_mask].op != op)
        at++;
    return &team->forms[at & (uint64_t)team->form_mask];
}

static void form_build(sim_team *team, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    sim_form form = {.op = op, .slots = ir_op_access_slots(op)};
    for (int d = 0; d < access->rank; d++) {
        form.index[d] = affine_of(team, &access->index[d].affine, form.slots);
        form.by_lane |= form.index[d].moves;
    }
    if (access->mask_kind == IR_MASK_RANGE)
        form.mask = affine_of(team, &access->mask_affine, form.slots);
    form.by_lane |= form.mask.moves;
    for (int i = 1; i < op->operand_count; i++)
        form.by_lane |= op->operands[i]->type.form == IR_FORM_SLOTS;
    *form_at(team, op) = form;
}

static int64_t count_ops(const ir_region *region) {
    int64_t count = 0;
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        count++;
        for (int i = 0; i < op->region_count; i++)
            count += count_ops(op->regions[i]);
    }
    return count;
}

static void build_region(sim_team *team, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->attributes.access != NULL)
            form_build(team, op);
        for (int i = 0; i < op->region_count; i++)
            build_region(team, op->regions[i]);
    }
}

void sim_forms_build(sim_team *team) {
    int64_t size = 16, ops = count_ops(&team->module->body);
    while (size < 2 * ops)
        size *= 2;
    team->forms = BASE_NEW_ARRAY(team->arena, sim_form, size);
    team->form_mask = size - 1;
    build_region(team, &team->module->body);
}

/* ---- rows ---- */

/* An access that is being made. */
typedef struct sim_access {
    const ir_op *op;
    const ir_access *access;
    const sim_form *form;
    int64_t extent[IR_MAX_RANK], stride[IR_MAX_RANK];
    int64_t count; /* threads of a row: all, or 1 when the access is the same in all of them */
    bool wide;     /* what is read may differ between slots and lanes: also in a team of one lane */
    bool every;    /* made by every lane of a group alike */
} sim_access;

static sim_access access_begin(sim_team *team, const ir_op *op) {
    sim_access a = {.op = op, .access = op->attributes.access, .form = form_at(team, op)};
    bool wide = a.form->by_lane;
    for (int i = 1; i < op->operand_count; i++)
        wide |= op->operands[i]->type.form != IR_FORM_TOKEN &&
                sim_lanes_of(team, op->operands[i])->wide;
    bool alone = team->when_depth > 0 && op->result_count == 0;
    a.wide = wide;
    a.count = wide || alone ? team->threads : 1;
    a.every = !a.form->by_lane && !alone && team->active_count == team->threads;
    team->now++;
    return a;
}

/* Adds an index or a count to what the row has; element 0 stands for all when it is narrow. */
static void add_value(sim_team *team, const sim_access *a, int operand, int slot, int64_t *row) {
    const ir_value *value = a->op->operands[operand];
    const sim_lanes *lanes = sim_lanes_of(team, value);
    const int64_t *numbers = lanes->data;
    if (lanes->wide && lanes->slots > 1)
        numbers += slot * team->threads;
    for (int64_t t = 0; t < a->count; t++)
        row[t] = (int64_t)((uint64_t)row[t] + (uint64_t)numbers[lanes->wide ? t : 0]);
}

static void add_affine(const sim_access *a, const sim_affine *affine, int slot, int64_t *row) {
    if (!affine->moves)
        return;
    uint64_t own = (uint64_t)affine->by_slot[slot];
    for (int64_t t = 0; t < a->count; t++)
        row[t] = (int64_t)((uint64_t)row[t] + own + (uint64_t)affine->by_thread[t]);
}

static void row_mask(sim_team *team, const sim_access *a, int slot) {
    uint8_t *on = team->on;
    if (a->count == 1)
        on[0] = team->active_count > 0;
    else
        memcpy(on, team->active, (size_t)a->count);
    if (a->access->mask_kind == IR_MASK_NONE)
        return;
    const ir_value *mask = a->op->operands[a->access->mask];
    if (a->access->mask_kind == IR_MASK_BITS) {
        const uint8_t *bits = sim_lanes_row(team, mask, slot, 0);
        for (int64_t t = 0; t < a->count; t++)
            on[t] &= bits[t] != 0;
        return;
    }
    int64_t *position = team->room[1];
    const int64_t *counts = sim_lanes_row(team, mask, slot, 0);
    memset(position, 0, (size_t)a->count * sizeof *position);
    add_affine(a, &a->form->mask, slot, position);
    for (int64_t t = 0; t < a->count; t++)
        on[t] &= position[t] < counts[t];
}

static const sim_parameter *tensor_of(const sim_team *team, const ir_value *value) {
    int parameter = team->parameter_of[value->number];
    return parameter < 0 ? NULL : &team->parameters[parameter];
}

static int64_t first_active(const sim_team *team, const sim_access *a, int64_t t) {
    if (a->count > 1)
        return t;
    while (t < team->threads - 1 && !team->active[t])
        t++;
    return t;
}

static void report_outside(sim_team *team, const sim_access *a, int64_t t, int slot, int dimension,
                           int64_t index) {
    if (sim_is_news(team, SIM_OUTSIDE, a->op))
        sim_report(team, SIM_OUTSIDE, a->op,
                   a->every && a->count == 1 ? -1 : first_active(team, a, t), slot, NULL,
                   "index %lld of dimension %d of %s is outside [0, %lld)", (long long)index,
                   dimension, sim_label(team, a->op->operands[0]), (long long)a->extent[dimension]);
}

/* Where each thread goes for a slot: on, offsets, flats. */
static void row_find(sim_team *team, const sim_access *a, int slot) {
    int64_t *index = team->room[2];
    row_mask(team, a, slot);
    memset(team->offsets, 0, (size_t)a->count * sizeof *team->offsets);
    memset(team->flats, 0, (size_t)a->count * sizeof *team->flats);
    for (int d = 0; d < a->access->rank; d++) {
        const ir_index *from = &a->access->index[d];
        memset(index, 0, (size_t)a->count * sizeof *index);
        if (from->operand >= 0)
            add_value(team, a, from->operand, slot, index);
        if (from->vector >= 0)
            add_value(team, a, from->vector, slot, index);
        add_affine(a, &a->form->index[d], slot, index);
        uint64_t extent = (uint64_t)a->extent[d], stride = (uint64_t)a->stride[d];
        for (int64_t t = 0; t < a->count; t++) {
            uint64_t own = (uint64_t)index[t];
            if (own >= extent && !team->on[t] && team->options->checked)
                sim_watch_gather(team, a->op, d, slot, first_active(team, a, t), index[t],
                                 a->extent[d]);
            if (own >= extent && team->on[t]) {
                report_outside(team, a, t, slot, d, index[t]);
                team->on[t] = 0;
            }
            team->offsets[t] = (int64_t)((uint64_t)team->offsets[t] + own * stride);
            team->flats[t] = (int64_t)((uint64_t)team->flats[t] * extent + own);
        }
    }
}

/* The thread that acts in the row, as the shadow has it. */
static int64_t actor(const sim_team *team, const sim_access *a, int64_t t) {
    if (a->every)
        return -1 - t / team->lanes;
    return first_active(team, a, t);
}

#define GATHER(T)                                                                                  \
    do {                                                                                           \
        const T *from = memory, *others = fill;                                                    \
        T *elements = to;                                                                          \
        for (int64_t t = 0; t < count; t++)                                                        \
            elements[t] = team->on[t] ? from[team->offsets[t]] : others[t];                        \
    } while (0)

/* Elements of the row from memory, others from `fill`. */
static void row_read(const sim_team *team, int64_t count, int64_t size, void *to,
                     const void *memory, const void *fill) {
    switch (size) {
    case 1:
        GATHER(uint8_t);
        return;
    case 2:
        GATHER(uint16_t);
        return;
    case 4:
        GATHER(uint32_t);
        return;
    default:
        GATHER(uint64_t);
    }
}

#define SCATTER(T)                                                                                 \
    do {                                                                                           \
        const T *elements = from;                                                                  \
        T *to = memory;                                                                            \
        for (int64_t t = 0; t < count; t++)                                                        \
            if (team->on[t])                                                                       \
                to[team->offsets[t]] = elements[t];                                                \
    } while (0)

static void row_write(const sim_team *team, int64_t count, int64_t size, const void *from,
                      void *memory) {
    switch (size) {
    case 1:
        SCATTER(uint8_t);
        return;
    case 2:
        SCATTER(uint16_t);
        return;
    case 4:
        SCATTER(uint32_t);
        return;
    default:
        SCATTER(uint64_t);
    }
}

/* ---- tensors ---- */

static sim_access tensor_access(sim_team *team, const ir_op *op) {
    sim_access a = access_begin(team, op);
    const sim_parameter *tensor = tensor_of(team, op->operands[0]);
    for (int d = 0; d < a.access->rank; d++) {
        a.extent[d] = tensor->extent[d];
        a.stride[d] = tensor->stride[d];
    }
    return a;
}

/* What is read where a mask is false: a row of the fill, or of zeros. */
static const void *fill_row(sim_team *team, const sim_access *a, int slot, int64_t size) {
    if (a->access->fill >= 0)
        return sim_lanes_row(team, a->op->operands[a->access->fill], slot, 3);
    memset(team->room[3], 0, (size_t)(team->threads * size));
    return team->room[3];
}

static void as_bools(uint8_t *row, int64_t count) {
    for (int64_t t = 0; t < count; t++)
        row[t] = row[t] != 0;
}

void sim_do_load(sim_team *team, const ir_op *op) {
    sim_access a = tensor_access(team, op);
    sim_parameter *tensor = (sim_parameter *)tensor_of(team, op->operands[0]);
    sim_lanes *to = sim_lanes_begin(team, op->results[0], a.wide || a.count > 1);
    base_dtype dtype = tensor->parameter->dtype;
    int64_t size = base_dtype_size(dtype);
    for (int s = 0; s < (to->wide ? to->slots : 1); s++) {
        row_find(team, &a, s);
        sim_check_groups(team, op, tensor->data, size, s, a.count);
        void *row = (char *)to->data + s * team->threads * size;
        row_read(team, a.count, size, row, tensor->data, fill_row(team, &a, s, size));
        if (dtype == BASE_BOOL)
            as_bools(row, a.count);
        for (int64_t t = 0; team->options->watch && t < a.count; t++)
            if (team->on[t])
                sim_watch_load(team, op, tensor, team->flats[t], actor(team, &a, t), s);
    }
}

void sim_do_store(sim_team *team, const ir_op *op) {
    sim_access a = tensor_access(team, op);
    sim_parameter *tensor = (sim_parameter *)tensor_of(team, op->operands[0]);
    const ir_value *value = ir_op_stored(op);
    for (int s = 0; s < a.form->slots; s++) {
        row_find(team, &a, s);
        sim_check_groups(team, op, tensor->data, base_dtype_size(tensor->parameter->dtype), s,
                         a.count);
        row_write(team, a.count, base_dtype_size(tensor->parameter->dtype),
                  sim_lanes_row(team, value, s, 0), tensor->data);
        for (int64_t t = 0; team->options->watch && t < a.count; t++)
            if (team->on[t])
                sim_watch_store(team, op, tensor, team->flats[t], actor(team, &a, t), s);
    }
}

/* ---- scratch ---- */

void sim_do_scratch(sim_team *team, const ir_op *op) {
    const ir_value *value = op->results[0];
    sim_array *array = &team->arrays[value->number];
    if (array->data == NULL) {
        layout_extent_evaluate(value->type.extent[0], team->words, &array->cells);
        int64_t all = array->cells * team->blocks;
        array->data =
            base_arena_alloc(team->arena, (size_t)(all * base_dtype_size(value->type.dtype)));
        array->shadow = BASE_NEW_ARRAY(team->arena, sim_cell, team->options->watch ? all : 0);
    }
    array->born = ++team->now;
}

/* The block whose scratch a thread means, in this team. */
static int64_t block_of(const sim_team *team, const sim_access *a, int64_t thread) {
    int64_t own = thread / team->lanes;
    if (a->access->block <= 0)
        return own;
    int64_t wanted = sim_lanes_integer(team, a->op->operands[a->access->block], 0, thread);
    if (wanted < 0 || wanted >= team->cluster)
        return -1;
    return own - own % team->cluster + wanted;
}

/* Offsets become places in the scratch of all blocks. */
static void row_find_blocks(sim_team *team, const sim_access *a, const sim_array *array, int slot) {
    row_find(team, a, slot);
    for (int64_t t = 0; t < a->count; t++) {
        int64_t block = block_of(team, a, first_active(team, a, t));
        if (block < 0 && team->on[t]) {
            if (sim_is_news(team, SIM_OUTSIDE, a->op))
                sim_report(
                    team, SIM_OUTSIDE, a->op, first_active(team, a, t), slot, NULL,
                    "block %lld does not exist in a cluster of %d",
                    (long long)sim_lanes_integer(team, a->op->operands[a->access->block], 0, t),
                    team->cluster);
            team->on[t] = 0;
        }
        team->offsets[t] += (block < 0 ? 0 : block) * array->cells;
    }
}

static sim_access scratch_access(sim_team *team, const ir_op *op, sim_array **array) {
    sim_access a = access_begin(team, op);
    if (team->blocks > 1) { /* one index, but each block has its own scratch */
        a.count = team->threads;
        a.wide = true;
    }
    *array = &team->arrays[op->operands[0]->number];
    a.extent[0] = (*array)->cells;
    a.stride[0] = 1;
    return a;
}

void sim_do_put(sim_team *team, const ir_op *op) {
    sim_array *array;
    sim_access a = scratch_access(team, op, &array);
    const ir_value *value = ir_op_stored(op);
    for (int s = 0; s < a.form->slots; s++) {
        row_find_blocks(team, &a, array, s);
        row_write(team, a.count, base_dtype_size(value->type.dtype),
                  sim_lanes_row(team, value, s, 0), array->data);
        for (int64_t t = 0; team->options->watch && t < a.count; t++)
            if (team->on[t])
                sim_watch_put(team, op, array, team->offsets[t] / array->cells,
                              team->offsets[t] % array->cells, actor(team, &a, t), s);
    }
}

void sim_do_get(sim_team *team, const ir_op *op) {
    sim_array *array;
    sim_access a = scratch_access(team, op, &array);
    sim_lanes *to = sim_lanes_begin(team, op->results[0], a.wide || a.count > 1);
    int64_t size = base_dtype_size(op->results[0]->type.dtype);
    for (int s = 0; s < (to->wide ? to->slots : 1); s++) {
        row_find_blocks(team, &a, array, s);
        row_read(team, a.count, size, (char *)to->data + s * team->threads * size, array->data,
                 fill_row(team, &a, s, size));
        for (int64_t t = 0; team->options->watch && t < a.count; t++)
            if (team->on[t])
                sim_watch_get(team, op, array, team->offsets[t] / array->cells,
                              team->offsets[t] % array->cells, actor(team, &a, t), s);
    }
}

/* ---- private arrays ---- */

static int private_slots(const ir_type *type) {
    return type->slots > 0 ? type->slots : 1;
}

void sim_do_private(sim_team *team, const ir_op *op) {
    const ir_value *value = op->results[0];
    sim_array *array = &team->arrays[value->number];
    int64_t size = base_dtype_size(value->type.dtype) * private_slots(&value->type);
    if (array->data == NULL) {
        layout_extent_evaluate(value->type.extent[0], team->words, &array->cells);
        int64_t all = array->cells * team->threads;
        array->data = base_arena_alloc(team->arena, (size_t)(all * size) + 1);
    }
    if (team->options->watch)
        memset(array->data, 0xff, (size_t)(array->cells * team->threads * size));
    array->differs = false;
}

/* The cell that a thread means; -1 when it is outside. */
static int64_t private_cell(sim_team *team, const ir_op *op, int64_t thread) {
    const sim_array *array = &team->arrays[op->operands[0]->number];
    int64_t cell = sim_lanes_integer(team, op->operands[1], 0, thread);
    if (cell >= 0 && cell < array->cells)
        return cell;
    if (team->active[thread] && sim_is_news(team, SIM_OUTSIDE, op))
        sim_report(team, SIM_OUTSIDE, op, thread, -1, NULL, "cell %lld of %s is outside [0, %lld)",
                   (long long)cell, sim_label(team, op->operands[0]), (long long)array->cells);
    return -1;
}

static void *private_place(const sim_team *team, const ir_op *op, int64_t cell, int slot) {
    const ir_type *type = &op->operands[0]->type;
    const sim_array *array = &team->arrays[op->operands[0]->number];
    int64_t row = (cell * private_slots(type) + slot) * team->threads;
    return (char *)array->data + row * base_dtype_size(type->dtype);
}

void sim_do_pull(sim_team *team, const ir_op *op) {
    int64_t size = base_dtype_size(op->results[0]->type.dtype);
    bool uniform = op->results[0]->type.form == IR_FORM_UNIFORM;
    bool once = uniform && team->blocks == 1 && !sim_lanes_of(team, op->operands[1])->wide &&
                team->active_count == team->threads &&
                !team->arrays[op->operands[0]->number].differs;
    sim_lanes *to = sim_lanes_begin(team, op->results[0], !once);
    memset(to->data, 0, (size_t)(to->slots * (once ? 1 : team->threads) * size));
    if (!sim_lanes_of(team, op->operands[1])->wide) {
        int64_t cell = private_cell(team, op, first_active(team, &(sim_access){.count = 1}, 0));
        for (int s = 0; s < to->slots && cell >= 0; s++)
            memcpy((char *)to->data + s * team->threads * size, private_place(team, op, cell, s),
                   (size_t)((once ? 1 : team->threads) * size));
        return;
    }
    for (int64_t t = 0; t < team->threads; t++) {
        int64_t cell = private_cell(team, op, t);
        for (int s = 0; s < to->slots && cell >= 0; s++)
            memcpy((char *)to->data + (s * team->threads + t) * size,
                   (char *)private_place(team, op, cell, s) + t * size, (size_t)size);
    }
}

void sim_do_push(sim_team *team, const ir_op *op) {
    const ir_value *value = op->operands[2];
    sim_array *array = &team->arrays[op->operands[0]->number];
    const ir_type *type = &op->operands[0]->type;
    int64_t size = base_dtype_size(type->dtype);
    array->differs |= sim_lanes_of(team, value)->wide || team->active_count < team->threads;
    for (int s = 0; s < private_slots(type); s++) {
        const char *row = sim_lanes_row(team, value, s, 0);
        for (int64_t t = 0; t < team->threads; t++) {
            int64_t cell = team->active[t] ? private_cell(team, op, t) : -1;
            if (cell < 0)
                continue;
            memcpy((char *)private_place(team, op, cell, s) + t * size, row + t * size,
                   (size_t)size);
        }
    }
}
