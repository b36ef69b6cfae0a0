/* Runs: the ops that share a loop over the registers of a team.
 *
 * Where the lanes of a team fill several registers, each register goes through ops that look at no
 * other lane on its own. Such ops, as many as follow each other, are one loop; a value that only
 * this loop reads is a variable in it, any other one is an array with an element per register:
 *
 *     %a = load ..              f32x8 b[32];
 *     %b = mul %a, %a           for (i64 g = 0; g < 32; g++) {
 *     %c = combine max %b           const f32x8 a = load_f32x8(x + g * 8);
 *                                   b[g] = a * a;
 *                               }
 *
 * An op that brings lanes together, waits for them or branches ends a run; uniform ones, and those
 * that give all registers the same, are written before the loop. That registers do not follow each
 * other op by op is seen by nobody: between two synchronisations no lane reads what another one
 * writes. With one register there are no runs. */
#include "target/emitter_internal.h"

/* ---- where an op stands ---- */

static bool is_slots(const ir_value *value) {
    return value->type.form == IR_FORM_SLOTS;
}

static bool any_slots(int count, ir_value *const *values) {
    for (int i = 0; i < count; i++)
        if (is_slots(values[i]))
            return true;
    return false;
}

static bool uses_lanes(const ir_affine *affine) {
    return ir_affine_uses(affine, LAYOUT_LANE) || ir_affine_uses(affine, LAYOUT_SUBGROUP);
}

static bool depends_on_lanes(const ir_access *access) {
    bool depends = uses_lanes(&access->mask_affine);
    for (int d = 0; d < access->rank; d++)
        depends = depends || uses_lanes(&access->index[d].affine);
    return depends;
}

/* The `when` on slots around an op, or NULL. */
static const ir_op *when_around(const ir_op *op) {
    const ir_op *owner = op->parent->owner;
    while (owner != NULL && !(owner->opcode == IR_WHEN && is_slots(owner->operands[0])))
        owner = owner->parent->owner;
    return owner;
}

static const bool ends_runs[IR_OPCODE_COUNT] = {
    [IR_FOR] = true,     [IR_IF] = true,      [IR_COMBINE] = true,
    [IR_SHUFFLE] = true, [IR_UNIFORM] = true, [IR_SYNC] = true,
};
static const bool reads_memory[IR_OPCODE_COUNT] = {
    [IR_LOAD] = true, [IR_GET] = true, [IR_PULL] = true};
static const bool writes_memory[IR_OPCODE_COUNT] = {
    [IR_STORE] = true, [IR_PUT] = true, [IR_PUSH] = true, [IR_WHEN] = true, [IR_YIELD] = true};
static const bool gives_names[IR_OPCODE_COUNT] = {[IR_RENAME] = true, [IR_BROADCAST] = true};

/* Whether all registers get the same from it: it asks for no lane, and all that it reads is so. */
static bool is_alike(const target_emitter *e, const ir_op *op) {
    bool alike = op->opcode == IR_UNIFORM || op->opcode == IR_LOAD || op->opcode == IR_GET ||
                 (op->opcode != IR_XORSLOT && op->opcode != IR_COMBINE &&
                  op->opcode != IR_SHUFFLE && ir_op_describe(op->opcode)->pure);
    for (int i = 0; i < op->operand_count; i++)
        alike = alike && (!is_slots(op->operands[i]) || e->alike[op->operands[i]->number]);
    return alike && !uses_lanes(&op->attributes.affine) &&
           (op->attributes.access == NULL || !depends_on_lanes(op->attributes.access));
}

target_place target_emit_place(const target_emitter *emitter, const ir_op *op) {
    if (gives_names[op->opcode])
        return TARGET_OUTSIDE_RUNS;
    if (is_alike(emitter, op))
        return reads_memory[op->opcode] ? TARGET_ENDS_RUN : TARGET_OUTSIDE_RUNS;
    if (ends_runs[op->opcode])
        return TARGET_ENDS_RUN;
    bool on_lanes = any_slots(op->operand_count, op->operands) ||
                    any_slots(op->result_count, op->results) ||
                    (op->attributes.access != NULL && depends_on_lanes(op->attributes.access));
    if (op->opcode == IR_PUSH)
        on_lanes = op->operands[0]->type.slots > 0;
    if (writes_memory[op->opcode])
        return on_lanes || when_around(op) != NULL ? TARGET_JOINS_RUN : TARGET_ENDS_RUN;
    if (reads_memory[op->opcode])
        return on_lanes ? TARGET_JOINS_RUN : TARGET_ENDS_RUN;
    return on_lanes ? TARGET_JOINS_RUN : TARGET_OUTSIDE_RUNS;
}

/* ---- tensors in a run ---- */

static const ir_value *operand_at(const ir_op *op, int operand) {
    return operand < 0 ? NULL : op->operands[operand];
}

/* Whether each lane touches the same cells in both. */
static bool same_cells(const ir_op *a, const ir_op *b) {
    const ir_access *x = a->attributes.access, *y = b->attributes.access;
    for (int d = 0; d < x->rank; d++) {
        const ir_index *i = &x->index[d], *j = &y->index[d];
        if (operand_at(a, i->operand) != operand_at(b, j->operand) ||
            operand_at(a, i->vector) != operand_at(b, j->vector) ||
            !ir_affine_equal(&i->affine, &j->affine))
            return false;
    }
    return true;
}

bool target_emit_is_apart(const target_emitter *emitter, const ir_op *op) {
    const target_run *run = &emitter->run;
    bool store = op->opcode == IR_STORE;
    for (int64_t i = 0; (store || op->opcode == IR_LOAD) && i < run->count; i++) {
        const ir_op *before = run->tensor_ops[i];
        if (before->operands[0] == op->operands[0] && (store || before->opcode == IR_STORE) &&
            !same_cells(before, op))
            return true;
    }
    return false;
}

void target_emit_touch(target_emitter *emitter, const ir_op *op) {
    target_run *run = &emitter->run;
    if (op->opcode == IR_STORE || op->opcode == IR_LOAD)
        BASE_PUSH(emitter->arena, run->tensor_ops, run->count, run->capacity, op);
}

/* ---- what is read outside its run ---- */

enum { OUTSIDE = -1, NO_RUN = 0 };

typedef struct finder {
    target_emitter *emitter;
    int32_t *run; /* of the op that defines a value, by number */
    int32_t current, last;
    const ir_op **names; /* ops that only give a name, in order */
    int64_t name_count, name_capacity;
} finder;

static void end_run(finder *f) {
    f->current = NO_RUN;
    f->emitter->run.count = 0;
}

static void find_use(finder *f, const ir_value *value) {
    if (is_slots(value) && f->run[value->number] != OUTSIDE &&
        (f->run[value->number] != f->current || f->current == NO_RUN))
        f->emitter->spread[value->number] = true;
}

static void find_definition(finder *f, const ir_value *value) {
    f->run[value->number] = f->current;
    if (f->emitter->alike[value->number])
        f->run[value->number] = OUTSIDE;
    else if (f->current == NO_RUN && is_slots(value))
        f->emitter->spread[value->number] = true;
}

static void find_in_region(finder *f, const ir_region *region);

static void find_in_op(finder *f, const ir_op *op) {
    target_emitter *e = f->emitter;
    target_place place = target_emit_place(e, op);
    for (int i = 0; i < op->result_count; i++)
        e->alike[op->results[i]->number] = is_alike(e, op);
    if (place == TARGET_OUTSIDE_RUNS && gives_names[op->opcode] && !is_alike(e, op)) {
        f->run[op->results[0]->number] = f->run[op->operands[0]->number];
        BASE_PUSH(e->arena, f->names, f->name_count, f->name_capacity, op);
    } else if (place == TARGET_OUTSIDE_RUNS && op->result_count == 1) {
        f->run[op->results[0]->number] = OUTSIDE;
    }
    if (place == TARGET_OUTSIDE_RUNS)
        return;
    if (place == TARGET_ENDS_RUN || target_emit_is_apart(e, op))
        end_run(f);
    if (place == TARGET_JOINS_RUN && f->current == NO_RUN)
        f->current = ++f->last;
    if (place == TARGET_JOINS_RUN)
        target_emit_touch(e, op);
    for (int i = 0; i < op->operand_count; i++)
        find_use(f, op->operands[i]);
    for (const ir_op *when = when_around(op); when != NULL; when = when_around(when))
        find_use(f, when->operands[0]);
    for (int i = 0; i < op->result_count; i++)
        find_definition(f, op->results[i]);
    for (int i = 0; i < op->region_count; i++) {
        for (int a = 0; a < op->regions[i]->argument_count; a++)
            find_definition(f, op->regions[i]->arguments[a]);
        find_in_region(f, op->regions[i]);
        if (place == TARGET_ENDS_RUN)
            end_run(f);
    }
}

static void find_in_region(finder *f, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next)
        if (target_emit_is_needed(f->emitter, op))
            find_in_op(f, op);
}

void target_emit_find_runs(target_emitter *emitter) {
    int64_t values = emitter->module->next_value + 1;
    emitter->spread = BASE_NEW_ARRAY(emitter->arena, bool, values);
    emitter->alike = BASE_NEW_ARRAY(emitter->arena, bool, values);
    if (emitter->registers == 1)
        return;
    finder f = {.emitter = emitter, .run = BASE_NEW_ARRAY(emitter->arena, int32_t, values)};
    find_in_region(&f, &emitter->module->body);
    end_run(&f);
    for (int64_t i = f.name_count - 1; i >= 0; i--)
        if (emitter->spread[f.names[i]->results[0]->number])
            emitter->spread[f.names[i]->operands[0]->number] = true;
    emitter->part = target_emit_fresh(emitter, "g");
}

bool target_emit_is_spread(const target_emitter *emitter, const ir_value *value) {
    return emitter->spread[value->number];
}

/* ---- the loop ---- */

void target_emit_run_open(target_emitter *emitter) {
    target_run *run = &emitter->run;
    if (emitter->registers == 1 || run->open)
        return;
    run->open = true;
    run->outer = emitter->body;
    base_text_init(&run->before, emitter->arena);
    base_text_init(&emitter->body, emitter->arena);
    emitter->depth++;
}

void target_emit_run_close(target_emitter *emitter) {
    target_run *run = &emitter->run;
    if (!run->open)
        return;
    base_text inside = emitter->body;
    run->open = false;
    run->count = 0;
    emitter->body = run->outer;
    emitter->depth--;
    if (run->before.length > 0)
        base_text_string(&emitter->body, run->before.bytes);
    if (inside.length == 0)
        return;
    const char *g = emitter->part;
    target_emit_line(emitter, "for (i64 %s = 0; %s < %d; %s++) {", g, g, emitter->registers, g);
    base_text_string(&emitter->body, inside.bytes);
    target_emit_line(emitter, "}");
}
