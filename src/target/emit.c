/* The structured emitter: walks a level-thread module and writes statements of a C-like language.
 *
 * Every value becomes a constant variable per slot, in the order of the ops; constants become
 * literals where they are used; carries and results of branches become variables that are assigned.
 * Ops that no effect depends on are left out. For
 *
 *     %m = for %c = 0 .. %n step 1 carry(%a = %z) { ... yield %b }
 *
 * it writes
 *
 *     f32x8 m_0 = z;
 *     for (i64 c = 0; c < n; c++) {
 *         ...
 *         m_0 = b_0;
 *     }
 *
 * Types, memory, lanes and everything around the body are the dialect's (emitter_internal.h). The
 * emitter checks nothing: its input passed the verifier. */
#include "target/emitter_internal.h"

#include "base/checked.h"

#include <string.h>

/* ---- leaves and names ---- */

/* Slots of slots are the same variables; a uniform in all lanes is one for all slots and registers.
 */
static void emit_broadcast(target_emitter *e, const ir_op *op) {
    const ir_value *result = op->results[0];
    const ir_value *operand = op->operands[0];
    if (operand->type.form == IR_FORM_SLOTS) {
        target_emit_rename(e, result, operand, NULL);
        return;
    }
    if (!target_emit_is_vector(e, &result->type)) {
        target_emit_alias(e, result, target_emit_name(e, operand, 0));
        return;
    }
    const char *name = target_emit_fresh(e, result->name != NULL ? result->name : "v");
    target_emit_outside(e, "const %s %s = %s;", target_emit_type(e, result), name,
                        target_emit_operand(e, operand, 0, true));
    target_emit_alias(e, result, name);
}

static void emit_rename(target_emitter *e, const ir_op *op) {
    target_emit_rename(e, op->results[0], op->operands[0], op->attributes.slots.items);
}

static void emit_constant(target_emitter *e, const ir_op *op) {
    target_emit_alias(e, op->results[0], target_emit_literal(e, op->attributes.constant));
}

static void emit_size(target_emitter *e, const ir_op *op) {
    const layout_extent *extent = op->attributes.extent;
    const char *text = target_emit_extent(e, extent);
    int64_t known;
    if (extent->kind == LAYOUT_EXTENT_SYMBOL ||
        layout_extent_known(&e->module->extents, extent, &known)) {
        target_emit_alias(e, op->results[0], text);
        return;
    }
    target_emit_take_names(e, op->results[0], NULL);
    target_emit_define(e, op->results[0], 0, text);
}

static void emit_parameter(target_emitter *e, const ir_op *op) {
    target_emit_alias(e, op->results[0], e->parameters[op->attributes.parameter].name);
}

static void emit_stride(target_emitter *e, const ir_op *op) {
    const ir_attributes *a = &op->attributes;
    target_emit_alias(e, op->results[0], e->parameters[a->parameter].strides[a->axis]);
}

static void emit_group(target_emitter *e, const ir_op *op) {
    target_emit_alias(e, op->results[0], e->group);
}

/* ---- regions ---- */

static void emit_region(target_emitter *e, const ir_region *region);

/* A region with its runs, one level deeper. */
static void emit_block_of(target_emitter *e, const ir_region *region) {
    e->depth++;
    emit_region(e, region);
    target_emit_run_close(e);
    e->depth--;
}

/* Tokens are nothing at run time. */
static bool has_variables(const ir_value *value) {
    return value->type.form != IR_FORM_TOKEN;
}

/* An assignment, slot by slot; from the copies that there are. */
static void emit_assign(target_emitter *e, const ir_value *place, const ir_value *source,
                        const char *const *copies) {
    bool vector = target_emit_is_vector(e, &place->type);
    for (int s = 0; s < ir_type_slot_count(&place->type); s++) {
        const char *left = target_emit_name(e, place, s);
        const char *right = target_emit_operand(e, source, s, vector);
        if (copies != NULL && copies[s] != NULL)
            right = copies[s];
        if (strcmp(left, right) != 0)
            target_emit_line(e, "%s = %s;", left, right);
    }
}

/* A variable, with or without a first value. */
static void emit_declare(target_emitter *e, const ir_value *value, const ir_value *initial) {
    bool vector = target_emit_is_vector(e, &value->type);
    for (int s = 0; has_variables(value) && s < ir_type_slot_count(&value->type); s++) {
        const char *name = target_emit_name(e, value, s);
        if (initial == NULL) {
            target_emit_declare(e, value, s);
            continue;
        }
        const char *first = target_emit_operand(e, initial, s, vector);
        if (!target_emit_is_spread(e, value)) {
            target_emit_outside(e, "%s %s = %s;", target_emit_type(e, value), name, first);
            continue;
        }
        target_emit_run_open(e);
        target_emit_declare(e, value, s);
        target_emit_line(e, "%s = %s;", name, first);
    }
}

/* The variable of a slot, whatever the register. */
static const char *variable_of(const target_emitter *e, const ir_value *value, int slot) {
    const target_variable *variable = &e->variables[value->number];
    return variable->slots[slot < variable->count ? slot : 0];
}

/* The carries of a loop that are assigned together: those that are spread over registers, or the
 * others. */
typedef struct next_carries {
    target_emitter *e;
    const ir_region *region;
    const ir_op *yield;
    bool spread;
} next_carries;

static const ir_value *carry_at(const next_carries *next, int i) {
    const ir_value *carry = next->region->arguments[i + 1];
    bool together = has_variables(carry) && target_emit_is_spread(next->e, carry) == next->spread;
    return together ? carry : NULL;
}

/* Whether a slot of a carry gets another value before slot `slot` of carry `i` gets `name`. Values
 * may have the names of a carry: renamed, in all slots, or the carry itself. */
static bool is_lost_before(const next_carries *next, int i, int slot, const char *name) {
    for (int j = 0; j <= i; j++) {
        const ir_value *carry = carry_at(next, j);
        int slots = carry == NULL ? 0 : j < i ? ir_type_slot_count(&carry->type) : slot;
        for (int s = 0; s < slots; s++)
            if (strcmp(variable_of(next->e, carry, s), name) == 0 &&
                strcmp(variable_of(next->e, next->yield->operands[j], s), name) != 0)
                return true;
    }
    return false;
}

/* Carries take their next values at once: what is assigned before it is read is copied. */
static void emit_next_carries(target_emitter *e, const ir_region *region, const ir_op *yield,
                              bool spread) {
    next_carries next = {e, region, yield, spread};
    int count = yield->operand_count;
    const char ***copies = BASE_NEW_ARRAY(e->arena, const char **, count + 1);
    for (int i = 0; i < count; i++) {
        const ir_value *carry = carry_at(&next, i), *source = yield->operands[i];
        int slots = carry != NULL ? ir_type_slot_count(&carry->type) : 0;
        copies[i] = BASE_NEW_ARRAY(e->arena, const char *, slots + 1);
        for (int s = 0; s < slots; s++) {
            const char *name = variable_of(e, source, s);
            if (!is_lost_before(&next, i, s, name))
                continue;
            copies[i][s] = target_emit_fresh(e, target_emit_text(e, "%s_before", name));
            target_emit_line(e, "const %s %s = %s;", target_emit_type(e, carry), copies[i][s],
                             target_emit_name(e, source, s));
        }
    }
    for (int i = 0; i < count; i++) {
        const ir_value *carry = carry_at(&next, i);
        if (carry != NULL)
            emit_assign(e, carry, yield->operands[i], copies[i]);
    }
}

/* The head of a loop. `k += step` past hi could overflow for a step above 1, so such a loop counts
 * its iterations. */
static void emit_for_head(target_emitter *e, const ir_op *op, const char *index) {
    const char *low = target_emit_name(e, op->operands[0], 0);
    const char *high = target_emit_name(e, op->operands[1], 0);
    const char *step = target_emit_name(e, op->operands[2], 0);
    int64_t step_value, high_value, last;
    bool constant = target_emit_is_integer(op->operands[2], &step_value);
    bool bounded = constant && target_emit_is_integer(op->operands[1], &high_value) &&
                   base_checked_add(high_value, step_value, &last);
    if (constant && step_value == 1) {
        target_emit_line(e, "for (i64 %s = %s; %s < %s; %s++) {", index, low, index, high, index);
    } else if (bounded) {
        target_emit_line(e, "for (i64 %s = %s; %s < %s; %s += %s) {", index, low, index, high,
                         index, step);
    } else {
        const char *left = target_emit_fresh(e, target_emit_text(e, "%s_left", index));
        target_emit_line(e, "i64 %s = %s;", index, low);
        target_emit_line(e,
                         "for (u64 %s = trips(%s, %s, %s); %s > 0; %s--, %s = add_i64(%s, %s)) {",
                         left, low, high, step, left, left, index, index, step);
    }
}

static void emit_for(target_emitter *e, const ir_op *op) {
    const ir_region *region = op->regions[0];
    target_emit_take_names(e, region->arguments[0], "k");
    for (int i = 0; i < op->result_count; i++) {
        ir_value *carry = region->arguments[i + 1];
        const char *name = op->results[i]->name;
        if (has_variables(carry))
            target_emit_take_names(e, carry, name != NULL ? name : "carry");
        e->variables[op->results[i]->number] = e->variables[carry->number];
        emit_declare(e, carry, op->operands[i + 3]);
    }
    target_emit_run_close(e);
    emit_for_head(e, op, target_emit_name(e, region->arguments[0], 0));
    emit_block_of(e, region);
    target_emit_line(e, "}");
}

static bool region_is_empty(const ir_region *region) {
    return region->first == NULL ||
           (region->first->opcode == IR_YIELD && region->first->operand_count == 0);
}

static void emit_if(target_emitter *e, const ir_op *op) {
    for (int i = 0; i < op->result_count; i++) {
        if (has_variables(op->results[i]))
            target_emit_take_names(e, op->results[i], NULL);
        emit_declare(e, op->results[i], NULL);
    }
    target_emit_line(e, "if (%s) {", target_emit_name(e, op->operands[0], 0));
    emit_block_of(e, op->regions[0]);
    if (op->region_count > 1 && !region_is_empty(op->regions[1])) {
        target_emit_line(e, "} else {");
        emit_block_of(e, op->regions[1]);
    }
    target_emit_line(e, "}");
}

static void emit_when(target_emitter *e, const ir_op *op) {
    const char *mask = target_emit_name(e, op->operands[0], 0);
    bool slots = op->operands[0]->type.form == IR_FORM_SLOTS;
    if (slots && (e->registers > 1 || target_emit_is_vector(e, &op->operands[0]->type))) {
        const char *outer = e->when;
        e->when = outer == NULL ? mask : target_emit_text(e, "(%s & %s)", outer, mask);
        emit_region(e, op->regions[0]);
        e->when = outer;
        return;
    }
    target_emit_line(e, "if (%s) {", mask);
    emit_block_of(e, op->regions[0]);
    target_emit_line(e, "}");
}

static void emit_yield(target_emitter *e, const ir_op *op) {
    const ir_op *owner = op->parent->owner;
    for (int spread = e->registers > 1; owner != NULL && spread >= 0; spread--) {
        if (spread == 0)
            target_emit_run_close(e);
        if (owner->opcode == IR_FOR)
            emit_next_carries(e, op->parent, op, spread == 1);
        for (int i = 0; owner->opcode == IR_IF && i < op->operand_count; i++)
            if (has_variables(op->operands[i]) &&
                target_emit_is_spread(e, owner->results[i]) == (spread == 1))
                emit_assign(e, owner->results[i], op->operands[i], NULL);
    }
}

/* ---- the walk ---- */

#define BY_DIALECT(name)                                                                           \
    static void emit_##name(target_emitter *e, const ir_op *op) {                                  \
        e->dialect->name(e, op);                                                                   \
    }
BY_DIALECT(block)
BY_DIALECT(iota)
BY_DIALECT(combine)
BY_DIALECT(shuffle)
BY_DIALECT(xorslot)
BY_DIALECT(uniform)
BY_DIALECT(load)
BY_DIALECT(store)
BY_DIALECT(pull)
BY_DIALECT(push)
BY_DIALECT(sync)
#undef BY_DIALECT

/* Arrays are declared around the body. */
static void emit_nothing(target_emitter *e, const ir_op *op) {
    (void)e;
    (void)op;
}

/* Ops that have a spelling are table ops; these have statements of their own. */
static void (*const statements[IR_OPCODE_COUNT])(target_emitter *emitter, const ir_op *op) = {
    [IR_CONSTANT] = emit_constant,
    [IR_SIZE] = emit_size,
    [IR_PARAMETER] = emit_parameter,
    [IR_STRIDE] = emit_stride,
    [IR_GROUP] = emit_group,
    [IR_BLOCK] = emit_block,
    [IR_IOTA] = emit_iota,
    [IR_BROADCAST] = emit_broadcast,
    [IR_RENAME] = emit_rename,
    [IR_FOLD] = target_emit_fold,
    [IR_COMBINE] = emit_combine,
    [IR_SHUFFLE] = emit_shuffle,
    [IR_XORSLOT] = emit_xorslot,
    [IR_UNIFORM] = emit_uniform,
    [IR_LOAD] = emit_load,
    [IR_STORE] = emit_store,
    [IR_GET] = emit_load,
    [IR_PUT] = emit_store,
    [IR_PULL] = emit_pull,
    [IR_PUSH] = emit_push,
    [IR_SYNC] = emit_sync,
    [IR_PRIVATE] = emit_nothing,
    [IR_SCRATCH] = emit_nothing,
    [IR_FOR] = emit_for,
    [IR_IF] = emit_if,
    [IR_WHEN] = emit_when,
    [IR_YIELD] = emit_yield,
};

/* Opens or ends the run that the op joins or ends. */
static void emit_place(target_emitter *e, const ir_op *op) {
    if (e->registers == 1)
        return;
    e->run.outside = false;
    switch (target_emit_place(e, op)) {
    case TARGET_JOINS_RUN:
        if (target_emit_is_apart(e, op))
            target_emit_run_close(e);
        target_emit_run_open(e);
        target_emit_touch(e, op);
        break;
    case TARGET_ENDS_RUN:
        target_emit_run_close(e);
        break;
    case TARGET_OUTSIDE_RUNS:
        e->run.outside = true;
        break;
    }
}

static void emit_region(target_emitter *e, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (!target_emit_is_needed(e, op))
            continue;
        bool silent = op->opcode == IR_CONSTANT || op->opcode == IR_PARAMETER ||
                      op->opcode == IR_STRIDE || op->opcode == IR_GROUP || op->opcode == IR_YIELD;
        emit_place(e, op);
        if (!silent)
            e->pending = op->location;
        if (e->dialect->before != NULL)
            e->dialect->before(e, op);
        if (statements[op->opcode] != NULL)
            statements[op->opcode](e, op);
        else
            target_emit_arithmetic(e, op);
    }
}

/* ---- names that are taken from the start ---- */

static void reserve(target_emitter *e, const char *const *words) {
    for (; *words != NULL; words++)
        target_names_add(&e->names, *words, strlen(*words));
}

static void name_parameters(target_emitter *e) {
    const ir_module *m = e->module;
    e->symbols = BASE_NEW_ARRAY(e->arena, const char *, m->extents.symbol_count + 1);
    for (int64_t i = 0; i < m->extents.symbol_count; i++)
        e->symbols[i] = target_emit_fresh(e, m->extents.symbols[i].name);
    e->parameters = BASE_NEW_ARRAY(e->arena, target_parameter, m->parameter_count + 1);
    for (int i = 0; i < m->parameter_count; i++) {
        const ir_parameter *parameter = &m->parameters[i];
        target_parameter *named = &e->parameters[i];
        named->name = target_emit_fresh(e, parameter->name);
        int rank = parameter->is_tensor ? parameter->value->type.rank : 0;
        for (int d = 0; d < rank; d++)
            named->strides[d] =
                target_emit_fresh(e, target_emit_text(e, "%.30s_stride%d", parameter->name, d));
        if (parameter->is_tensor)
            target_emit_alias(e, parameter->value, named->name);
    }
    e->group = target_emit_fresh(e, "group");
}

void target_emit_begin(target_emitter *emitter, const char *const *prelude) {
    const ir_module *module = emitter->module;
    target_names_init(&emitter->names, emitter->arena);
    emitter->names.is_reserved = emitter->dialect->is_reserved;
    base_text_init(&emitter->body, emitter->arena);
    emitter->variables = BASE_NEW_ARRAY(emitter->arena, target_variable, module->next_value + 1);
    reserve(emitter, emitter->dialect->words);
    if (emitter->dialect->language != NULL)
        reserve(emitter, emitter->dialect->language);
    reserve(emitter, prelude);
    name_parameters(emitter);
    target_emit_find_needs(emitter);
    target_emit_find_runs(emitter);
}

void target_emit_body(target_emitter *emitter, int depth) {
    emitter->depth = depth;
    emit_region(emitter, &emitter->module->body);
    target_emit_run_close(emitter);
}
