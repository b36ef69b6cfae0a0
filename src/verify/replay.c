/* Replay: control. All iterations of short loops and some of long ones; where signatures are
 * compared, all of all loops.
 *
 * What is passed over (the middle of a long loop, a branch whose condition depends on data) may
 * have pushed and stored anything.
 */
#include "verify/replay_internal.h"

#include "base/checked.h"
#include "base/hash.h"

#include <string.h>

enum {
    SHORT = 128, /* iterations of a loop that is replayed whole; else these at its ends: */
    FIRST = 3,
    LAST = 2,
    WRITES = 1 << 13,      /* twice as many as are remembered, .. */
    MORE_WRITES = 1 << 17, /* .. and where there is time: all groups of long rows */
    MOST_BLOCKS = 16,
    ARRAY_WORDS = 1 << 16, /* of an array that is followed */
    HELD = 1 << 18         /* positions of one whose signatures are followed */
};

bool replay_is_news(replay *r, const ir_op *op) {
    for (int i = 0; i < r->reported_count; i++)
        if (r->reported[i] == op)
            return false;
    if (r->reported_count == BASE_DIAGNOSTIC_LIMIT)
        return false;
    r->reported[r->reported_count++] = op;
    return true;
}

void replay_turn(replay *r, int block) {
    r->values = r->own_values[block];
    r->arrays = r->own_arrays[block];
    r->group = r->first_group + block;
    r->run = r->first_run + block;
}

/* ---- control ---- */

/* Nothing is known of what the region pushes and stores. */
static void pass_over(replay *r, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == IR_PUSH || op->opcode == IR_PUT)
            replay_array_of(r, op->operands[0])->maybe = true;
        replay_tensor *tensor =
            op->opcode == IR_STORE ? replay_tensor_of(r, op->operands[0]) : NULL;
        if (tensor != NULL)
            tensor->maybe = true;
        if (tensor != NULL)
            replay_open(r, tensor);
        for (int k = 0; k < op->region_count; k++)
            pass_over(r, op->regions[k]);
    }
}

static void forget_results(replay *r, const ir_op *op) {
    for (int b = r->last; b >= r->first; b--) {
        replay_turn(r, b);
        for (int i = 0; i < op->result_count; i++) {
            replay_clear(r, replay_of(r, op->results[i]));
            replay_forget(r, replay_of(r, op->results[i]));
        }
        for (int k = 0; k < op->region_count; k++)
            pass_over(r, op->regions[k]);
    }
}

/* In all groups. */
static void copy_values(replay *r, ir_value *const *to, ir_value *const *from, int count) {
    for (int b = r->last; b >= r->first; b--) {
        replay_turn(r, b);
        for (int i = 0; i < count; i++)
            replay_copy(r, replay_of(r, to[i]), replay_of(r, from[i]));
    }
}

static void replay_op(replay *r, const ir_op *op);

static void replay_iteration(replay *r, const ir_op *op, int64_t index) {
    const ir_region *body = op->regions[0];
    const ir_op *yield = ir_region_yield(body);
    for (int b = r->first; b <= r->last; b++) {
        replay_turn(r, b);
        replay_value *counter = replay_of(r, body->arguments[0]);
        replay_clear(r, counter);
        replay_numbers(r, counter)[0] = index;
    }
    copy_values(r, body->arguments + 1, op->results, op->result_count);
    const uint64_t outer = r->iteration, words[2] = {outer, (uint64_t)index};
    r->iteration = base_hash_bytes(BASE_HASH_START, words, sizeof words);
    replay_region(r, body);
    r->iteration = outer;
    int count = op->result_count < yield->operand_count ? op->result_count : yield->operand_count;
    copy_values(r, op->results, yield->operands, count);
}

/* Known whatever the data. */
static bool is_certain(const replay *r, const ir_value *value) {
    signature_value at = replay_at(r, replay_of(r, value), 0);
    return r->signing && at.known && signature_is_constant(r->setting.table, at.mark);
}

/* One block after the other: their control is not alike, so that they do not wait for each other
 * inside. */
static void replay_apart(replay *r, const ir_op *op) {
    const int first = r->first, last = r->last;
    for (int b = first; b <= last; b++) {
        r->first = r->last = b;
        replay_op(r, op);
    }
    r->first = first;
    r->last = last;
}

/* The bounds of a loop; false where they are not known. *alike: they are, or not, in all groups,
 * and the same. */
static bool read_bounds(replay *r, const ir_op *op, int64_t bound[3], bool *alike) {
    bool before = true;
    *alike = true;
    for (int b = r->last; b >= r->first; b--) {
        bool known = true;
        replay_turn(r, b);
        for (int i = 0; i < 3; i++) {
            const replay_value *value = replay_of(r, op->operands[i]);
            signature_value at = replay_at(r, value, 0);
            known = known && (r->signing ? signature_is_modelled(&at) : value->known);
            *alike = *alike && (b == r->last || at.number == bound[i]);
            bound[i] = at.number;
        }
        *alike = *alike && (b == r->last || known == before);
        before = known;
    }
    return before;
}

static void replay_for(replay *r, const ir_op *op) {
    int64_t bound[3] = {0}, span = 0;
    bool alike, known = read_bounds(r, op, bound, &alike);
    if (!alike) {
        replay_apart(r, op);
        return;
    }
    const int64_t lo = bound[0], hi = bound[1], step = bound[2];
    /* kernels prove their steps to be positive whatever the data: so are they in the model */
    bool certain = r->signing && (r->setting.models || is_certain(r, op->operands[2]));
    if (known && step < 1 && hi > lo && certain && replay_is_news(r, op))
        verify_report(r->state, VERIFY_LOOP_STEP, op, "a step above 0", "the step can be %lld",
                      (long long)step);
    bool none = known && hi <= lo; /* whatever the step */
    if (!none && (!known || step < 1 || !base_checked_sub(hi, lo, &span))) {
        forget_results(r, op);
        return;
    }
    copy_values(r, op->results, op->operands + 3, op->result_count);
    int64_t trips = span > 0 ? (span - 1) / step + 1 : 0;
    bool whole = r->signing || trips <= SHORT;
    for (int b = r->last; b >= r->first && !whole; b--) {
        replay_turn(r, b);
        pass_over(r, op->regions[0]);
    }
    for (int64_t i = 0; i < trips && r->work > 0; i++) {
        if (!whole && i == FIRST)
            i = trips - LAST;
        replay_iteration(r, op, lo + i * step);
    }
}

/* The side of a branch; false where it is not known. *alike: as of bounds. */
static bool read_side(replay *r, const ir_op *op, bool *first, bool *alike) {
    bool before = false, taken = false;
    *alike = true;
    for (int b = r->last; b >= r->first; b--) {
        replay_turn(r, b);
        const replay_value *condition = replay_of(r, op->operands[0]);
        *first = condition->known && replay_number(condition, 0) != 0;
        bool chosen =
            condition->known ||
            (r->signing && signature_side(&r->setting, replay_at(r, condition, 0), first));
        *alike = *alike && (b == r->last || (chosen == before && *first == taken));
        before = chosen;
        taken = *first;
    }
    return before;
}

static void replay_if(replay *r, const ir_op *op) {
    bool first = false, alike, chosen = read_side(r, op, &first, &alike);
    if (!alike) {
        replay_apart(r, op);
        return;
    }
    if (!chosen) {
        forget_results(r, op);
        return;
    }
    const ir_region *side = op->regions[first ? 0 : 1];
    replay_region(r, side);
    const ir_op *yield = ir_region_yield(side);
    int count = op->result_count < yield->operand_count ? op->result_count : yield->operand_count;
    copy_values(r, op->results, yield->operands, count);
}

static void start_held(replay *r, const ir_op *op, replay_array *array) {
    int slots = op->results[0]->type.slots, positions = slots > 0 ? r->lanes * slots : 1;
    if (!r->signing || array->cells > HELD / positions) {
        array->held = NULL;
    } else if (array->held == NULL || array->cells * positions > array->held_capacity) {
        array->held_capacity = array->cells * positions;
        array->held = BASE_NEW_ARRAY(r->arena, signature_value, array->held_capacity + 1);
    }
    array->positions = positions;
}

static void start_array(replay *r, const ir_op *op) {
    replay_array *array = replay_array_of(r, op->results[0]);
    int64_t cells = 0;
    int words =
        op->results[0]->type.slots > 0 ? (r->lanes * op->results[0]->type.slots + 63) / 64 : 1;
    array->maybe = false;
    array->words = 0;
    if (!layout_extent_evaluate(op->results[0]->type.extent[0], r->sizes, &cells) || cells < 0 ||
        cells > ARRAY_WORDS / words)
        return;
    if (array->unset == NULL || array->cells != cells)
        array->unset = BASE_NEW_ARRAY(r->arena, uint64_t, cells * words);
    array->cells = cells;
    array->words = words;
    memset(array->unset, 0xff, sizeof(uint64_t) * (size_t)(cells * words));
    start_held(r, op, array);
}

static void replay_plain(replay *r, const ir_op *op) {
    if (op->opcode == IR_LOAD)
        replay_load(r, op);
    else if (op->opcode == IR_STORE)
        replay_store(r, op);
    else if (op->opcode == IR_PULL)
        replay_pull(r, op);
    else if (op->opcode == IR_PUSH)
        replay_push(r, op);
    else if (op->opcode == IR_PUT)
        replay_put(r, op);
    else if (op->opcode == IR_GET)
        replay_get(r, op);
    else if (op->opcode == IR_SCRATCH)
        replay_start_scratch(r, op);
    else if (op->opcode == IR_PRIVATE)
        start_array(r, op);
    else if (op->opcode == IR_SELECT)
        replay_select(r, op);
    else if (op->result_count == 1)
        replay_compute(r, op);
}

static void replay_op(replay *r, const ir_op *op) {
    if (op->opcode == IR_FOR)
        replay_for(r, op);
    else if (op->opcode == IR_IF)
        replay_if(r, op);
    for (int b = r->last; b >= r->first && op->region_count == 0; b--) {
        replay_turn(r, b);
        replay_plain(r, op);
    }
}

void replay_region(replay *r, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL && r->work > 0; op = op->next) {
        if (op->opcode != IR_WHEN) {
            replay_op(r, op);
            continue;
        }
        const ir_value *outer = r->when;
        r->when = op->operands[0];
        replay_region(r, op->regions[0]);
        r->when = outer;
    }
}

/* ---- setting up ---- */
static bool module_is_formed(const verify_state *state, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (!verify_op_is_formed(state, op))
            return false;
        for (int k = 0; k < op->region_count; k++)
            if (!module_is_formed(state, op->regions[k]))
                return false;
    }
    return true;
}

static bool start_value(replay *r, const ir_value *value) {
    replay_value *v = replay_of(r, value);
    int64_t positions =
        value->type.form == IR_FORM_SLOTS ? (int64_t)r->lanes * value->type.slots : 1;
    if (positions > REPLAY_POSITIONS || positions < 1)
        return false;
    v->positions = (int)positions;
    r->positions = positions > r->positions ? positions : r->positions;
    v->words = (v->positions + 63) / 64;
    v->plane[0] = BASE_NEW_ARRAY(r->arena, uint64_t, v->words * REPLAY_PLANES);
    for (int plane = 1; plane < REPLAY_PLANES; plane++)
        v->plane[plane] = v->plane[0] + plane * v->words;
    return true;
}

/* Values and arrays of every group of a cluster. False when a lane has more slots than are
 * followed. */
static bool start_values(replay *r, const ir_region *region);

static bool start_blocks(replay *r) {
    const ir_module *module = r->state->module;
    r->blocks = module->cluster > 1 ? module->cluster : 1;
    r->last = r->blocks - 1;
    r->own_values = BASE_NEW_ARRAY(r->arena, replay_value *, r->blocks);
    r->own_arrays = BASE_NEW_ARRAY(r->arena, replay_array *, r->blocks);
    for (int b = r->blocks - 1; b >= 0; b--) {
        r->own_values[b] = BASE_NEW_ARRAY(r->arena, replay_value, module->next_value);
        r->own_arrays[b] = BASE_NEW_ARRAY(r->arena, replay_array, module->next_value);
        replay_turn(r, b);
        if (!start_values(r, &module->body))
            return false;
    }
    return true;
}

static bool start_values(replay *r, const ir_region *region) {
    for (int i = 0; i < region->argument_count; i++)
        if (!start_value(r, region->arguments[i]))
            return false;
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            if (!start_value(r, op->results[i]))
                return false;
        for (int k = 0; k < op->region_count; k++)
            if (!start_values(r, op->regions[k]))
                return false;
    }
    return true;
}

void verify_replay(verify_state *state) {
    const ir_module *module = state->module;
    replay r = {.state = state,
                .arena = state->diagnostics->arena,
                .lanes = module->lanes,
                .carry = state->carry};
    if (!module_is_formed(state, &module->body))
        return;
    r.tensors = BASE_NEW_ARRAY(r.arena, replay_tensor, module->parameter_count + 1);
    r.owners = BASE_NEW_ARRAY(r.arena, replay_owner_room, module->parameter_count + 1);
    r.sizes = BASE_NEW_ARRAY(r.arena, int64_t, module->extents.symbol_count + 1);
    r.write_capacity = state->effort == VERIFY_USUAL ? WRITES : MORE_WRITES;
    r.writes = BASE_NEW_ARRAY(r.arena, uint64_t, r.write_capacity);
    if (module->lanes < 1 || module->cluster > MOST_BLOCKS || !start_blocks(&r))
        return;
    replay_rows_begin(&r);
    r.setting = (signature_setting){.table = signature_table_create(r.arena),
                                    .sizes = r.sizes,
                                    .size_count = module->extents.symbol_count};
    replay_rounds(&r);
}
