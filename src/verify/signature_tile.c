/* The run of a tile or mapped module: control, and the shapes of tiles.
 *
 * Loops run whole; a branch takes its side. Where a bound or condition is not known, nothing is
 * known of what the region gives and stores.
 */
#include "verify/signature_tile_internal.h"

#include "base/checked.h"
#include "base/hash.h"

enum { ELEMENTS = 1 << 20 /* of a tile */ };

/* ---- shapes ---- */
static bool domain_of(signature_tile_run *run, const ir_value *value, int axis, int64_t *domain) {
    const ir_value *bound = value->type.domain[axis];
    if (bound == NULL)
        return true;
    const signature_tile *tile = signature_tile_of(run, bound);
    if (tile->count != 1 || !tile->items[0].known)
        return false;
    int64_t number = tile->items[0].number;
    *domain = number < 0 ? 0 : number < *domain ? number : *domain;
    return true;
}

bool signature_tile_shape(signature_tile_run *run, const ir_value *value) {
    signature_tile *tile = signature_tile_of(run, value);
    tile->rank = value->type.rank;
    tile->count = 1;
    for (int i = 0; i < tile->rank; i++) {
        int64_t extent = 0;
        if (!layout_extent_evaluate(value->type.extent[i], run->setting->sizes, &extent) ||
            extent < 0 || !base_checked_mul(tile->count, extent, &tile->count) ||
            tile->count > ELEMENTS)
            return false;
        tile->extent[i] = tile->domain[i] = extent;
        if (!domain_of(run, value, i, &tile->domain[i]))
            return false;
    }
    if (tile->count > tile->capacity || tile->items == NULL) {
        tile->items = BASE_NEW_ARRAY(run->arena, signature_value, tile->count + 1);
        tile->capacity = tile->count;
    }
    run->work -= tile->count + 2;
    return run->work > 0;
}

/* ---- what is not known ---- */
static bool forget(signature_tile_run *run, const ir_value *value) {
    if (!signature_tile_shape(run, value))
        return false;
    signature_tile *tile = signature_tile_of(run, value);
    for (int64_t i = 0; i < tile->count; i++)
        tile->items[i] = signature_nothing(SIGNATURE_UNKNOWN);
    return true;
}

static void open_tensors(signature_tile_run *run, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; op->opcode == IR_STORE && i < run->module->parameter_count; i++)
            if (run->module->parameters[i].value == op->operands[0])
                run->memory->open[i] = true;
        for (int k = 0; k < op->region_count; k++)
            open_tensors(run, op->regions[k]);
    }
}

static bool pass_over(signature_tile_run *run, const ir_op *op) {
    for (int k = 0; k < op->region_count; k++)
        open_tensors(run, op->regions[k]);
    for (int i = 0; i < op->result_count; i++)
        if (!forget(run, op->results[i]))
            return false;
    return true;
}

/* ---- control ---- */
static bool run_region(signature_tile_run *run, const ir_region *region);

/* Copies through a buffer of its own where one value feeds another would be needed only for carries
 * that change places: those are copied twice. */
static bool copy_tile(signature_tile_run *run, const ir_value *to, const signature_tile *from) {
    signature_tile *tile = signature_tile_of(run, to);
    if (tile == from)
        return true;
    if (!signature_tile_shape(run, to) || tile->count != from->count)
        return false;
    for (int64_t i = 0; i < tile->count; i++)
        tile->items[i] = from->items[i];
    return true;
}

static signature_tile copied(signature_tile_run *run, const signature_tile *from) {
    signature_tile copy = *from;
    copy.items = BASE_NEW_ARRAY(run->arena, signature_value, from->count + 1);
    for (int64_t i = 0; i < from->count; i++)
        copy.items[i] = from->items[i];
    return copy;
}

/* All of `from` become all of `to` at once. */
static bool hand_on(signature_tile_run *run, int count, ir_value *const *to,
                    ir_value *const *from) {
    signature_tile *copies = BASE_NEW_ARRAY(run->arena, signature_tile, count);
    for (int i = 0; i < count; i++)
        copies[i] = copied(run, signature_tile_of(run, from[i]));
    for (int i = 0; i < count; i++)
        if (!copy_tile(run, to[i], &copies[i]))
            return false;
    return true;
}

static bool bound_of(signature_tile_run *run, const ir_value *value, int64_t *number) {
    const signature_tile *tile = signature_tile_of(run, value);
    *number = tile->count == 1 ? tile->items[0].number : 0;
    return tile->count == 1 && signature_is_modelled(&tile->items[0]);
}

static bool run_iteration(signature_tile_run *run, const ir_op *op, int64_t index) {
    const ir_region *body = op->regions[0];
    const ir_op *yield = ir_region_yield(body);
    const uint64_t outer = run->instance, words[] = {outer, (uint64_t)index};
    if (!signature_tile_shape(run, body->arguments[0]) ||
        !hand_on(run, op->result_count, body->arguments + 1, op->results))
        return false;
    signature_tile_of(run, body->arguments[0])->items[0] = signature_of_number(run->setting, index);
    run->instance = base_hash_bytes(BASE_HASH_START, words, sizeof words);
    bool whole =
        run_region(run, body) && hand_on(run, op->result_count, op->results, yield->operands);
    run->instance = outer;
    return whole;
}

static bool run_for(signature_tile_run *run, const ir_op *op) {
    int64_t lo = 0, hi = 0, step = 0;
    if (!bound_of(run, op->operands[0], &lo) || !bound_of(run, op->operands[1], &hi) ||
        !bound_of(run, op->operands[2], &step) || step < 1)
        return pass_over(run, op);
    if (!hand_on(run, op->result_count, op->results, op->operands + 3))
        return false;
    for (int64_t i = lo; i < hi;) {
        if (!run_iteration(run, op, i))
            return false;
        if (!base_checked_add(i, step, &i))
            break;
    }
    return true;
}

static bool run_side(signature_tile_run *run, const ir_op *op, const ir_region *side) {
    const ir_op *yield = ir_region_yield(side);
    return run_region(run, side) && hand_on(run, op->result_count, op->results, yield->operands);
}

static bool run_if(signature_tile_run *run, const ir_op *op) {
    const signature_tile *condition = signature_tile_of(run, op->operands[0]);
    bool first = false;
    if (condition->count != 1 || !signature_side(run->setting, condition->items[0], &first))
        return pass_over(run, op);
    return run_side(run, op, op->regions[first ? 0 : 1]);
}

static bool run_op(signature_tile_run *run, const ir_op *op) {
    if (op->opcode == IR_FOR)
        return run_for(run, op);
    if (op->opcode == IR_SWEEP)
        return run_side(run, op, op->regions[0]);
    if (op->opcode == IR_IF)
        return run_if(run, op);
    if (op->opcode == IR_LOAD)
        return signature_tile_load(run, op);
    if (op->opcode == IR_STORE)
        return signature_tile_store(run, op);
    return op->opcode == IR_YIELD || signature_tile_compute(run, op);
}

static bool run_region(signature_tile_run *run, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next)
        if (!run_op(run, op))
            return false;
    return true;
}

/* ---- programs ---- */
static bool has_order(const ir_region *region) {
    bool found = false;
    for (const ir_op *op = region->first; op != NULL && !found; op = op->next) {
        found = op->opcode == IR_REDUCE && op->attributes.order != IR_ORDER_TREE;
        for (int k = 0; k < op->region_count; k++)
            found = found || has_order(op->regions[k]);
    }
    return found;
}

signature_tile_run *signature_tile_create(verify_state *state, const ir_module *module,
                                          const signature_setting *setting,
                                          signature_memory *memory) {
    signature_tile_run *run = BASE_NEW(state->diagnostics->arena, signature_tile_run);
    *run = (signature_tile_run){.state = state,
                                .module = module,
                                .setting = setting,
                                .memory = memory,
                                .arena = state->diagnostics->arena};
    run->tiles = BASE_NEW_ARRAY(run->arena, signature_tile, module->next_value);
    run->notes = module == state->module->implements;
    run->orders = has_order(&module->body);
    return run;
}

int64_t *signature_tile_work(signature_tile_run *run) {
    return &run->work;
}

void signature_tile_chain(signature_tile_run *run, int parameters) {
    run->chained = parameters;
}

bool signature_tile_program(signature_tile_run *run, const int64_t programs[IR_MAX_PROGRAMS],
                            int32_t writer) {
    run->programs = programs;
    run->writer = writer;
    run->instance = (uint64_t)writer;
    return run_region(run, &run->module->body);
}
