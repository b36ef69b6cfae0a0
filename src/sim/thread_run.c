/* The simulator's entry, values and control.
 *
 *     for each team:  all threads active; run the body
 *     run a region:   each op for all threads, then the next
 *
 * A condition or bound that is the same in all active lanes leads all of them one way. Where it
 * differs both ways are gone one after the other, each with the lanes that go there active, and a
 * loop goes on with those that have iterations left; what the ways yield is merged lane by lane.
 */
#include "sim/thread_internal.h"

#include "base/checked.h"
#include "ir/portable_math.h"

#include <string.h>

/* ---- values ---- */

void sim_fill(void *to, const void *element, int64_t size, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        memcpy((char *)to + i * size, element, (size_t)size);
}

static int64_t size_of(const ir_value *value) {
    return base_dtype_size(value->type.dtype);
}

sim_lanes *sim_lanes_begin(sim_team *team, const ir_value *value, bool wide) {
    sim_lanes *lanes = &team->values[value->number];
    if (lanes->data == NULL) {
        lanes->slots = ir_type_slot_count(&value->type);
        lanes->data = base_arena_alloc(team->arena, (size_t)lanes->slots *
                                                        (size_t)(team->threads * size_of(value)));
    }
    lanes->wide = wide;
    return lanes;
}

void sim_lanes_widen(sim_team *team, const ir_value *value) {
    sim_lanes *lanes = &team->values[value->number];
    if (lanes->wide)
        return;
    uint64_t element = 0;
    memcpy(&element, lanes->data, (size_t)size_of(value));
    sim_fill(lanes->data, &element, size_of(value), lanes->slots * team->threads);
    lanes->wide = true;
}

void sim_lanes_assign(sim_team *team, const ir_value *to, const sim_lanes *from, bool partial) {
    sim_lanes *lanes = sim_lanes_begin(team, to, team->values[to->number].wide);
    int64_t size = size_of(to), count = lanes->slots * team->threads;
    if (!partial) {
        lanes->wide = from->wide;
        memcpy(lanes->data, from->data, (size_t)((from->wide ? count : 1) * size));
        return;
    }
    sim_lanes_widen(team, to);
    for (int64_t i = 0; i < count; i++)
        if (team->active[i % team->threads])
            memcpy((char *)lanes->data + i * size,
                   (const char *)from->data + (from->wide ? i : 0) * size, (size_t)size);
}

const void *sim_lanes_row(sim_team *team, const ir_value *value, int slot, int room) {
    const sim_lanes *lanes = sim_lanes_of(team, value);
    int64_t size = size_of(value);
    if (lanes->wide)
        return (const char *)lanes->data + (lanes->slots == 1 ? 0 : slot) * team->threads * size;
    sim_fill(team->room[room], lanes->data, size, team->threads);
    return team->room[room];
}

int64_t sim_lanes_integer(const sim_team *team, const ir_value *value, int slot, int64_t thread) {
    const sim_lanes *lanes = sim_lanes_of(team, value);
    return ((const int64_t *)lanes->data)[lanes->wide ? slot * team->threads + thread : 0];
}

int64_t sim_lanes_number(const sim_team *team, const ir_value *value, int64_t i) {
    const void *data = sim_lanes_of(team, value)->data;
    switch (value->type.dtype) {
    case BASE_I64:
    case BASE_INDEX:
        return ((const int64_t *)data)[i];
    case BASE_I32:
        return ((const int32_t *)data)[i];
    case BASE_U32:
        return ((const uint32_t *)data)[i];
    case BASE_I8:
        return ((const int8_t *)data)[i];
    case BASE_U8:
    case BASE_BOOL:
        return ((const uint8_t *)data)[i];
    case BASE_F32:
    case BASE_F16:
    case BASE_BF16:
    case BASE_F64:
        break;
    }
    return 0;
}

/* ---- leaves ---- */

static void put_constant(void *to, const ir_constant *constant) {
    float real = (float)constant->real;
    uint16_t half = constant->dtype == BASE_F16 ? base_f16_from_double(constant->real)
                                                : base_bf16_from_double(constant->real);
    switch (constant->dtype) {
    case BASE_F32:
        memcpy(to, &real, sizeof real);
        return;
    case BASE_F16:
    case BASE_BF16:
        memcpy(to, &half, sizeof half);
        return;
    case BASE_I64:
    case BASE_INDEX:
    case BASE_I32:
    case BASE_U32:
    case BASE_I8:
    case BASE_U8:
    case BASE_BOOL: /* the low bytes come first on every machine that this runs on */
        memcpy(to, &constant->integer, (size_t)base_dtype_size(constant->dtype));
        return;
    case BASE_F64:
        return;
    }
}

static void do_constant(sim_team *team, const ir_op *op) {
    put_constant(sim_lanes_begin(team, op->results[0], false)->data, &op->attributes.constant);
}

static void do_size(sim_team *team, const ir_op *op) {
    int64_t *to = sim_lanes_begin(team, op->results[0], false)->data;
    layout_extent_evaluate(op->attributes.extent, team->words, to);
}

static void do_parameter(sim_team *team, const ir_op *op) {
    const ir_value *result = op->results[0];
    sim_lanes *to = sim_lanes_begin(team, result, false);
    int64_t word = team->scalars[op->attributes.parameter];
    if (result->type.dtype == BASE_BOOL)
        word = (word & 255) != 0;
    memcpy(to->data, &word, (size_t)size_of(result));
}

static void do_stride(sim_team *team, const ir_op *op) {
    int64_t *to = sim_lanes_begin(team, op->results[0], false)->data;
    *to = team->parameters[op->attributes.parameter].stride[op->attributes.axis];
}

static void number_blocks(sim_team *team, const ir_op *op, int64_t first, int64_t modulus) {
    bool wide = team->blocks > 1;
    int64_t *to = sim_lanes_begin(team, op->results[0], wide)->data;
    for (int64_t t = 0; t < (wide ? team->threads : 1); t++)
        to[t] = (first + t / team->lanes) % modulus;
}

static void do_group(sim_team *team, const ir_op *op) {
    number_blocks(team, op, team->first_group, INT64_MAX);
}

static void do_block(sim_team *team, const ir_op *op) {
    number_blocks(team, op, 0, team->cluster);
}

/* ---- control ---- */

/* An op or an iteration; past the limit nothing goes on. */
static void count_step(sim_team *team) {
    if (++team->ops > team->options->limit && team->options->limit > 0)
        longjmp(team->stopped, 1);
}

static void run_region(sim_team *team, const ir_region *region);

/* Keeps who is active, for the way back. */
static uint8_t *save_active(sim_team *team) {
    if (team->mask_depth == team->mask_count) {
        uint8_t *made = BASE_NEW_ARRAY(team->arena, uint8_t, team->threads);
        BASE_PUSH(team->arena, team->masks, team->mask_count, team->mask_capacity, made);
    }
    uint8_t *saved = team->masks[team->mask_depth++];
    memcpy(saved, team->active, (size_t)team->threads);
    return saved;
}

static void restore_active(sim_team *team, const uint8_t *saved, int64_t count) {
    memcpy(team->active, saved, (size_t)team->threads);
    team->active_count = count;
    team->mask_depth--;
}

/* Of the saved lanes those whose condition is `wanted`. */
static void activate(sim_team *team, const uint8_t *saved, const uint8_t *condition, bool wanted) {
    team->active_count = 0;
    for (int64_t t = 0; t < team->threads; t++) {
        team->active[t] = saved[t] && (condition[t] != 0) == wanted;
        team->active_count += team->active[t];
    }
}

static bool has_elements(const ir_value *value) {
    return value->type.form != IR_FORM_TOKEN;
}

static void run_way(sim_team *team, const ir_op *op, int way, bool partial) {
    if (way >= op->region_count || team->active_count == 0)
        return;
    run_region(team, op->regions[way]);
    const ir_op *yield = ir_region_yield(op->regions[way]);
    for (int i = 0; i < op->result_count; i++)
        if (has_elements(op->results[i]))
            sim_lanes_assign(team, op->results[i], sim_lanes_of(team, yield->operands[i]), partial);
}

static void do_if(sim_team *team, const ir_op *op) {
    const sim_lanes *condition = sim_lanes_of(team, op->operands[0]);
    const uint8_t *bits = condition->data;
    if (!condition->wide) {
        run_way(team, op, bits[0] != 0 ? 0 : 1, false);
        return;
    }
    int64_t count = team->active_count;
    uint8_t *saved = save_active(team);
    activate(team, saved, bits, true);
    bool partial = team->active_count != 0 && team->active_count != count;
    run_way(team, op, 0, partial);
    activate(team, saved, bits, false);
    run_way(team, op, 1, partial);
    restore_active(team, saved, count);
}

static void do_when(sim_team *team, const ir_op *op) {
    team->when_depth++;
    do_if(team, op);
    team->when_depth--;
}

/* All carries take their next values at once. */
static void next_carries(sim_team *team, const ir_op *op, bool partial) {
    const ir_region *region = op->regions[0];
    const ir_op *yield = ir_region_yield(region);
    for (int i = 0; i < op->result_count; i++)
        if (has_elements(op->results[i]))
            sim_lanes_assign(team, op->results[i], sim_lanes_of(team, yield->operands[i]), partial);
    for (int i = 0; i < op->result_count; i++)
        if (has_elements(op->results[i]))
            sim_lanes_assign(team, region->arguments[1 + i], sim_lanes_of(team, op->results[i]),
                             false);
}

static int64_t trips(int64_t low, int64_t high, int64_t step) {
    if (low >= high || step <= 0)
        return 0;
    uint64_t count = ((uint64_t)high - (uint64_t)low - 1) / (uint64_t)step + 1;
    return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

static int64_t trips_of(sim_team *team, const ir_op *op, int64_t thread) {
    int64_t low = sim_lanes_integer(team, op->operands[0], 0, thread);
    int64_t high = sim_lanes_integer(team, op->operands[1], 0, thread);
    int64_t step = sim_lanes_integer(team, op->operands[2], 0, thread);
    if (low < high && step <= 0 && team->active[thread] && sim_is_news(team, SIM_STEP, op))
        sim_report(team, SIM_STEP, op, thread, -1, NULL,
                   "a loop from %lld to %lld has a step of %lld", (long long)low, (long long)high,
                   (long long)step);
    return trips(low, high, step);
}

static void run_uniform_loop(sim_team *team, const ir_op *op) {
    const ir_value *index = op->regions[0]->arguments[0];
    int64_t thread = 0;
    while (thread < team->threads - 1 && !team->active[thread])
        thread++;
    int64_t count = trips_of(team, op, thread);
    int64_t number = sim_lanes_integer(team, op->operands[0], 0, 0);
    int64_t step = sim_lanes_integer(team, op->operands[2], 0, 0);
    for (int64_t i = 0; i < count; i++) {
        count_step(team);
        *(int64_t *)sim_lanes_begin(team, index, false)->data = number;
        run_region(team, op->regions[0]);
        next_carries(team, op, false);
        number = (int64_t)((uint64_t)number + (uint64_t)step);
    }
}

/* Lanes whose iterations are over wait for the others. */
static void run_divergent_loop(sim_team *team, const ir_op *op) {
    const ir_value *index = op->regions[0]->arguments[0];
    int64_t all = team->active_count;
    uint8_t *saved = save_active(team);
    sim_array *room = &team->arrays[index->number]; /* a loop does not run within itself */
    if (room->data == NULL)
        room->data = BASE_NEW_ARRAY(team->arena, int64_t, 2 * team->threads);
    int64_t *left = room->data, *next = left + team->threads;
    for (int64_t t = 0; t < team->threads; t++) {
        left[t] = trips_of(team, op, t);
        next[t] = sim_lanes_integer(team, op->operands[0], 0, t);
    }
    for (;;) {
        team->active_count = 0;
        for (int64_t t = 0; t < team->threads; t++) {
            team->active[t] = saved[t] && left[t] > 0;
            team->active_count += team->active[t];
        }
        if (team->active_count == 0)
            break;
        count_step(team);
        int64_t *numbers = sim_lanes_begin(team, index, true)->data;
        memcpy(numbers, next, (size_t)team->threads * sizeof *numbers);
        run_region(team, op->regions[0]);
        next_carries(team, op, team->active_count < all);
        for (int64_t t = 0; t < team->threads; t++) {
            uint64_t step = (uint64_t)sim_lanes_integer(team, op->operands[2], 0, t);
            left[t] -= left[t] > 0;
            next[t] = (int64_t)((uint64_t)next[t] + step);
        }
    }
    restore_active(team, saved, all);
}

static void do_for(sim_team *team, const ir_op *op) {
    const ir_region *region = op->regions[0];
    bool differs = false;
    for (int i = 0; i < 3; i++)
        differs |= sim_lanes_of(team, op->operands[i])->wide;
    for (int i = 0; i < op->result_count; i++) {
        if (!has_elements(op->results[i]))
            continue;
        const sim_lanes *initial = sim_lanes_of(team, op->operands[3 + i]);
        sim_lanes_assign(team, op->results[i], initial, false);
        sim_lanes_assign(team, region->arguments[1 + i], initial, false);
    }
    if (team->active_count == 0)
        return;
    if (differs)
        run_divergent_loop(team, op);
    else
        run_uniform_loop(team, op);
}

static void do_nothing(sim_team *team, const ir_op *op) {
    (void)team;
    (void)op;
}

/* ---- the walk ---- */

/* The others are table ops. */
static sim_operation_of_team *const operations[IR_OPCODE_COUNT] = {
    [IR_CONSTANT] = do_constant,
    [IR_SIZE] = do_size,
    [IR_PARAMETER] = do_parameter,
    [IR_STRIDE] = do_stride,
    [IR_GROUP] = do_group,
    [IR_BLOCK] = do_block,
    [IR_CAST] = sim_do_cast,
    [IR_BITCAST] = sim_do_bitcast,
    [IR_BROADCAST] = sim_do_broadcast,
    [IR_IOTA] = sim_do_iota,
    [IR_UNIFORM] = sim_do_uniform,
    [IR_FOLD] = sim_do_fold,
    [IR_COMBINE] = sim_do_combine,
    [IR_SHUFFLE] = sim_do_shuffle,
    [IR_RENAME] = sim_do_rename,
    [IR_XORSLOT] = sim_do_xorslot,
    [IR_LOAD] = sim_do_load,
    [IR_STORE] = sim_do_store,
    [IR_SCRATCH] = sim_do_scratch,
    [IR_PUT] = sim_do_put,
    [IR_GET] = sim_do_get,
    [IR_SYNC] = sim_do_sync,
    [IR_PRIVATE] = sim_do_private,
    [IR_PULL] = sim_do_pull,
    [IR_PUSH] = sim_do_push,
    [IR_FOR] = do_for,
    [IR_IF] = do_if,
    [IR_WHEN] = do_when,
    [IR_YIELD] = do_nothing,
};

static void run_region(sim_team *team, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        count_step(team);
        (operations[op->opcode] != NULL ? operations[op->opcode] : sim_do_compute)(team, op);
        sim_check_facts(team, op);
    }
}

/* ---- the run ---- */

int64_t sim_thread_groups(const ir_module *module, const int64_t *sizes) {
    int64_t groups = 1;
    if (module->groups != NULL && !layout_extent_evaluate(module->groups, sizes, &groups))
        return -1;
    return groups < 0 ? 0 : groups;
}

/* Shapes, strides and places of the tensors; the words of the scalars. */
static void bind_parameters(sim_team *team, void *const *pointers) {
    const ir_module *module = team->module;
    int64_t word = module->extents.symbol_count;
    int pointer = 0;
    team->parameters = BASE_NEW_ARRAY(team->arena, sim_parameter, module->parameter_count + 1);
    team->parameter_of = BASE_NEW_ARRAY(team->arena, int, module->next_value + 1);
    int64_t *scalars = BASE_NEW_ARRAY(team->arena, int64_t, module->parameter_count + 1);
    for (int32_t i = 0; i <= module->next_value; i++)
        team->parameter_of[i] = -1;
    for (int i = 0; i < module->parameter_count; i++) {
        const ir_parameter *parameter = &module->parameters[i];
        sim_parameter *bound = &team->parameters[i];
        bound->parameter = parameter;
        if (!parameter->is_tensor)
            continue;
        int64_t cells = 1;
        bound->data = pointers[pointer++];
        team->parameter_of[parameter->value->number] = i;
        for (int d = 0; d < parameter->value->type.rank; d++) {
            if (!layout_extent_evaluate(parameter->value->type.extent[d], team->words,
                                        &bound->extent[d]) ||
                !base_checked_mul(cells, bound->extent[d], &cells))
                sim_refuse(team, NULL, "the size of `%s` leaves 64 bits", parameter->name);
            bound->stride[d] = team->words[word++];
        }
        bound->page_count = team->refused || parameter->mode == IR_IN || !team->options->watch
                                ? 0
                                : cells / SIM_PAGE + 1;
        bound->pages = BASE_NEW_ARRAY(team->arena, sim_cell *, bound->page_count);
    }
    for (int i = 0; i < module->parameter_count; i++)
        if (!module->parameters[i].is_tensor)
            scalars[i] = team->words[word++];
    team->scalars = scalars;
}

static bool has_grid_sync(const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == IR_SYNC && op->attributes.scope == IR_SCOPE_GRID)
            return true;
        for (int i = 0; i < op->region_count; i++)
            if (has_grid_sync(op->regions[i]))
                return true;
    }
    return false;
}

enum { MAX_THREADS = 1 << 18 };

/* How many groups run together. */
static void choose_blocks(sim_team *team) {
    const ir_module *module = team->module;
    team->groups = sim_thread_groups(module, team->words);
    team->cluster = module->cluster > 1 ? module->cluster : 1;
    int64_t blocks = has_grid_sync(&module->body) ? team->groups : team->cluster;
    if (team->groups < 0)
        sim_refuse(team, NULL, "the number of groups leaves 64 bits");
    else if (team->groups % team->cluster != 0)
        sim_refuse(team, NULL, "%lld groups are not whole clusters of %d", (long long)team->groups,
                   team->cluster);
    else if (blocks > MAX_THREADS / module->lanes)
        sim_refuse(team, NULL, "%lld groups of %d lanes are too many to run together",
                   (long long)blocks, module->lanes);
    team->blocks = team->refused || blocks < 1 ? 1 : (int)blocks;
}

static void make_room(sim_team *team) {
    team->threads = (int64_t)team->blocks * team->lanes;
    team->values = BASE_NEW_ARRAY(team->arena, sim_lanes, team->module->next_value + 1);
    team->arrays = BASE_NEW_ARRAY(team->arena, sim_array, team->module->next_value + 1);
    team->active = BASE_NEW_ARRAY(team->arena, uint8_t, team->threads);
    team->on = BASE_NEW_ARRAY(team->arena, uint8_t, team->threads);
    team->began = BASE_NEW_ARRAY(team->arena, uint8_t, team->threads);
    team->offsets = BASE_NEW_ARRAY(team->arena, int64_t, team->threads);
    team->flats = BASE_NEW_ARRAY(team->arena, int64_t, team->threads);
    for (int i = 0; i < 4; i++)
        team->room[i] = BASE_NEW_ARRAY(team->arena, int64_t, team->threads);
}

static void run_team(sim_team *team, int64_t first) {
    team->first_group = first;
    memset(team->active, 1, (size_t)team->threads);
    team->active_count = team->threads;
    sim_shadow_start(team);
    run_region(team, &team->module->body);
    sim_shadow_end(team);
}

static void run_teams(sim_team *team) {
    int64_t last = team->options->last_group;
    if (last < 0 || last > team->groups)
        last = team->groups;
    int64_t first = team->options->first_group;
    for (first -= first % team->blocks; first < last; first += team->blocks)
        run_team(team, first);
}

sim_status sim_thread_run(base_arena *arena, const ir_module *module, void *const *pointers,
                          const int64_t *words, const sim_options *options,
                          base_diagnostics *diagnostics) {
    sim_team state = {.arena = arena,
                      .module = module,
                      .words = words,
                      .options = options,
                      .diagnostics = diagnostics,
                      .lanes = module->lanes,
                      .subgroup_lanes = ir_module_subgroup_lanes(module)};
    sim_team *team = &state;
    bind_parameters(team, pointers);
    if (team->refused || !sim_thread_check(team))
        return SIM_REFUSED;
    team->module = ir_portable_module(arena, module);
    if (team->module != module)
        bind_parameters(team, pointers);
    choose_blocks(team);
    if (team->refused)
        return SIM_REFUSED;
    make_room(team);
    sim_forms_build(team);
    sim_shadow_begin(team);
    if (setjmp(team->stopped) != 0) {
        sim_refuse(team, NULL, "more than %lld ops would run", (long long)options->limit);
        return SIM_REFUSED;
    }
    run_teams(team);
    return team->seen_count > 0 ? SIM_FOUND : SIM_OK;
}
