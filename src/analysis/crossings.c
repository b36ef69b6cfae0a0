/* What crosses from one sweep to another, and what may be repeated instead of being kept.
 *
 *     %t = load %x[%row, :]   sweep 0, used in sweep 1: crosses; light; repeatable in sweep 1
 *     %d = sub %t, %m         light (1 deep): sweep 2 can compute it again from a reloaded %t
 *     %e = exp %d             not light: has to be kept
 *
 * A load is repeatable where no store to its tensor runs between it and the repetition. In an
 * in-place kernel (`x[row, :] = ...` after reading it) the last sweep may still reload the elements
 * that it is about to write.
 */
#include "analysis/sweeps_internal.h"

#include <string.h>

enum { LIGHT_DEPTH = 2, LIGHT_VIEWS = 8, NOT_LIGHT = 100 };

/* ---- light values ---- */
/* How many arithmetic ops an op counts, NOT_LIGHT for what is never repeated. */
static int op_weight(ir_opcode opcode) {
    static const struct {
        ir_opcode opcode;
        int weight;
    } weights[] = {
        {IR_LOAD, 0}, {IR_ARANGE, 0}, {IR_EXPAND, 0}, {IR_DROP, 0},    {IR_BROADCAST, 0},
        {IR_CAST, 1}, {IR_ADD, 1},    {IR_SUB, 1},    {IR_MUL, 1},     {IR_NEG, 1},
        {IR_ABS, 1},  {IR_FMA, 1},    {IR_PAD, 1},    {IR_SELECT, 1},  {IR_LT, 1},
        {IR_LE, 1},   {IR_EQ, 1},     {IR_NE, 1},     {IR_MAXIMUM, 1}, {IR_MINIMUM, 1},
        {IR_AND, 1},  {IR_OR, 1},     {IR_XOR, 1},    {IR_NOT, 1},     {IR_SHL, 1},
        {IR_SHR, 1},
    };
    for (size_t i = 0; i < sizeof weights / sizeof weights[0]; i++)
        if (weights[i].opcode == opcode)
            return weights[i].weight;
    return NOT_LIGHT;
}

static int light_depth(const ir_value *value, int views) {
    if (value->type.form != IR_FORM_TILE || value->type.rank == 0)
        return 0;
    if (value->definer == NULL)
        return NOT_LIGHT;
    const ir_op *op = value->definer;
    int weight = op_weight(op->opcode), deepest = 0;
    if (weight == NOT_LIGHT || views > LIGHT_VIEWS)
        return NOT_LIGHT;
    for (int i = 0; i < op->operand_count && deepest <= LIGHT_DEPTH; i++) {
        int depth = light_depth(op->operands[i], views + 1);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + weight;
}

bool analysis_value_is_light(const ir_value *value) {
    return light_depth(value, 0) <= LIGHT_DEPTH;
}

/* ---- repeating loads ---- */
static bool index_same(const ir_op *a, const ir_index *x, const ir_op *b, const ir_index *y) {
    const ir_value *left = x->operand < 0 ? NULL : a->operands[x->operand];
    const ir_value *right = y->operand < 0 ? NULL : b->operands[y->operand];
    return x->kind == y->kind && left == right && x->length == y->length;
}

bool analysis_access_same_elements(const analysis_axes *axes, const ir_op *load,
                                   const ir_op *store) {
    const ir_access *a = load->attributes.access, *b = store->attributes.access;
    const ir_value *value = load->results[0];
    const analysis_store_axes *shape = analysis_axes_of_store(axes, store);
    if (load->operands[0] != store->operands[0] || shape == NULL || value->type.rank != shape->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (!index_same(load, &a->index[i], store, &b->index[i]))
            return false;
    return memcmp(axes->of_value[value->number], shape->axis, sizeof(int) * (size_t)shape->rank) ==
           0;
}

static bool op_stores(const ir_op *op, const ir_value *tensor) {
    if (op->opcode == IR_STORE && op->operands[0] == tensor)
        return true;
    for (int i = 0; i < op->region_count; i++)
        for (const ir_op *inner = op->regions[i]->first; inner != NULL; inner = inner->next)
            if (op_stores(inner, tensor))
                return true;
    return false;
}

static bool item_stores(const analysis_sweeps *sweeps, const analysis_item *item,
                        const ir_value *tensor) {
    if (item->op != NULL)
        return op_stores(item->op, tensor);
    const analysis_sweep *sweep = &sweeps->sweeps[item->sweep];
    for (int64_t i = 0; i < sweep->op_count; i++)
        if (op_stores(sweep->ops[i], tensor))
            return true;
    return false;
}

/* The value, or something light that may be computed again from it outside `sweep`. */
static bool is_made_from(const analysis_sweeps *sweeps, const ir_value *value,
                         const ir_value *source, int sweep) {
    if (value == source)
        return true;
    const ir_op *op = value->definer;
    if (op == NULL || value->type.form != IR_FORM_TILE || value->type.rank == 0 ||
        sweeps->of_value[value->number] == sweep || !analysis_value_is_light(value))
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (is_made_from(sweeps, op->operands[i], source, sweep))
            return true;
    return false;
}

/* Every store to the load's tensor in the sweep writes the elements that the load reads, and no
 * store after the first needs the load: sweeps store last, so all else comes before. */
static bool sweep_writes_same(const analysis_sweeps *sweeps, int index, const ir_op *load) {
    const analysis_sweep *sweep = &sweeps->sweeps[index];
    bool stored = false;
    for (int64_t i = 0; i < sweep->op_count; i++) {
        const ir_op *op = sweep->ops[i];
        for (int k = 0; k < op->operand_count && stored; k++)
            if (is_made_from(sweeps, op->operands[k], load->results[0], index))
                return false;
        if (!op_stores(op, load->operands[0]))
            continue;
        stored = true;
        if (!analysis_access_same_elements(sweeps->axes, load, op))
            return false;
    }
    return true;
}

/* The item of the schedule that is the sweep or the op that holds it; count when there is none. */
static int64_t item_of_sweep(const analysis_sweeps *sweeps, const analysis_schedule *schedule,
                             int sweep) {
    const ir_op *holder = NULL;
    const ir_region *region = sweeps->sweeps[sweep].region;
    for (; region != schedule->region; region = holder->parent) {
        holder = region->owner;
        if (holder == NULL)
            return schedule->count;
    }
    int64_t i = 0;
    while (i < schedule->count &&
           !(holder == NULL ? schedule->items[i].sweep == sweep : schedule->items[i].op == holder))
        i++;
    return i;
}

bool analysis_load_repeatable(const analysis_sweeps *sweeps, const ir_op *load, int sweep) {
    int home = sweeps->of_value[load->results[0]->number];
    if (sweep == home || sweep < 0 || home < 0)
        return false;
    const ir_value *tensor = load->operands[0];
    const analysis_schedule *schedule = analysis_sweeps_schedule(sweeps, load->parent);
    int64_t from = item_of_sweep(sweeps, schedule, home);
    int64_t to = item_of_sweep(sweeps, schedule, sweep);
    if (to >= schedule->count || from >= to)
        return false;
    for (int64_t i = from; i < to; i++)
        if (item_stores(sweeps, &schedule->items[i], tensor))
            return false;
    const analysis_item *user = &schedule->items[to];
    if (user->op != NULL)
        return !op_stores(user->op, tensor);
    return sweep_writes_same(sweeps, user->sweep, load);
}

/* ---- crossings ---- */
typedef struct crossing_state {
    analysis_sweeps *sweeps;
    bool *crosses; /* [value number] */
} crossing_state;

/* The sweep that stands at `sweep` (-1: none) uses the operands of an op. */
static void note_uses(crossing_state *state, const ir_op *op, int sweep) {
    for (int i = 0; i < op->operand_count; i++) {
        const ir_value *value = op->operands[i];
        bool inside = sweep >= 0 && state->sweeps->of_value[value->number] == sweep &&
                      (value->definer == NULL || value->definer->opcode != IR_REDUCE);
        if (ir_value_is_tile(value) && !inside)
            state->crosses[value->number] = true;
    }
}

static void note_region(crossing_state *state, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->region_count == 0 && op->opcode != IR_YIELD && op->opcode != IR_CONVERT)
            continue;
        note_uses(state, op, -1);
        for (int i = 0; i < op->result_count; i++)
            state->crosses[op->results[i]->number] = op->results[i]->type.rank > 0;
        for (int r = 0; r < op->region_count; r++) {
            for (int i = 0; i < op->regions[r]->argument_count; i++) {
                const ir_value *argument = op->regions[r]->arguments[i];
                state->crosses[argument->number] = argument->type.rank > 0;
            }
            note_region(state, op->regions[r]);
        }
    }
}

/* A light value that is computed again needs what it is made from in the later sweep too. */
static void note_sources(crossing_state *state, const ir_value *value) {
    const ir_op *op = value->definer;
    if (!state->crosses[value->number] || op == NULL || !analysis_value_is_light(value))
        return;
    for (int i = 0; i < op->operand_count; i++) {
        const ir_value *source = op->operands[i];
        if (ir_value_is_tile(source))
            state->crosses[source->number] = true;
    }
}

/* Backwards, so that users come before what they use. */
static void note_light(crossing_state *state, const ir_region *region) {
    for (const ir_op *op = region->last; op != NULL; op = op->previous) {
        for (int i = op->region_count; i > 0; i--)
            note_light(state, op->regions[i - 1]);
        for (int i = 0; i < op->result_count; i++)
            note_sources(state, op->results[i]);
    }
}

static void list_value(base_arena *arena, crossing_state *state, ir_value *value) {
    analysis_sweeps *sweeps = state->sweeps;
    if (state->crosses[value->number])
        BASE_PUSH(arena, sweeps->crossings, sweeps->crossing_count, sweeps->crossing_capacity,
                  value);
}

static void list_region(base_arena *arena, crossing_state *state, const ir_region *region) {
    for (int i = 0; i < region->argument_count; i++)
        list_value(arena, state, region->arguments[i]);
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            list_value(arena, state, op->results[i]);
        for (int i = 0; i < op->region_count; i++)
            list_region(arena, state, op->regions[i]);
    }
}

void analysis_sweeps_find_crossings(base_arena *arena, analysis_sweeps *sweeps) {
    crossing_state state = {.sweeps = sweeps};
    state.crosses = BASE_NEW_ARRAY(arena, bool, sweeps->module->next_value + 1);
    for (int64_t s = 0; s < sweeps->count; s++)
        for (int64_t i = 0; i < sweeps->sweeps[s].op_count; i++)
            note_uses(&state, sweeps->sweeps[s].ops[i], (int)s);
    note_region(&state, &sweeps->module->body);
    note_light(&state, &sweeps->module->body);
    list_region(arena, &state, &sweeps->module->body);
}

/* ---- names ---- */
static const char *anchor_part(base_arena *arena, const ir_op *op, int part) {
    if (op->anchor == NULL)
        return NULL;
    base_text text;
    base_text_init(&text, arena);
    base_text_format(&text, "%s.%d", op->anchor, part);
    return text.bytes;
}

const char *analysis_value_anchor(base_arena *arena, const ir_value *value) {
    const ir_op *op = value->definer;
    if (op == NULL) { /* a carry: spoken of as the result that it becomes */
        op = value->region == NULL ? NULL : value->region->owner;
        for (int i = 1; op != NULL && i < value->region->argument_count; i++)
            if (value->region->arguments[i] == value)
                return analysis_value_anchor(arena, op->results[i - 1]);
        return NULL;
    }
    if (value->name != NULL)
        return value->name;
    for (int i = 0; i < op->result_count && op->region_count > 0; i++)
        if (op->results[i] == value)
            return anchor_part(arena, op, i);
    return op->anchor;
}
