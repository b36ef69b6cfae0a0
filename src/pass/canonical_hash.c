/* The canonical hash: what a tile module computes, with every name replaced by its number.
 *
 * Values are numbered in the order of the canonical module, tensors and scalars by their place in
 * the signature, sizes by their declaration. Renaming changes nothing; a changed dtype, extent,
 * known size, constant, operand or attribute does.
 */
#include "pass/pass.h"
#include "pass/simplify.h"

#include "base/hash.h"

typedef struct hash_state {
    const ir_module *module;
    int64_t *numbers; /* [value number] -> canonical number, from 1 */
    int64_t next;
    uint64_t hash;
} hash_state;

static void add(hash_state *state, int64_t word) {
    state->hash = pass_hash_word(state->hash, word);
}

static void add_type(hash_state *state, const ir_type *type) {
    add(state, (int64_t)type->form);
    add(state, (int64_t)type->dtype);
    add(state, type->rank);
    for (int i = 0; i < type->rank; i++) {
        state->hash = pass_hash_extent(state->hash, type->extent[i]);
        add(state, type->domain[i] == NULL ? 0 : state->numbers[type->domain[i]->number]);
    }
}

static void define(hash_state *state, const ir_value *value) {
    state->numbers[value->number] = state->next++;
    add_type(state, &value->type);
}

static void add_region(hash_state *state, const ir_region *region) {
    add(state, region->argument_count);
    for (int i = 0; i < region->argument_count; i++)
        define(state, region->arguments[i]);
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        state->hash = pass_attributes_hash(state->hash, op);
        add(state, op->operand_count);
        for (int i = 0; i < op->operand_count; i++)
            add(state, state->numbers[op->operands[i]->number]);
        for (int i = 0; i < op->region_count; i++)
            add_region(state, op->regions[i]);
        for (int i = 0; i < op->result_count; i++)
            define(state, op->results[i]);
    }
    add(state, -1);
}

static void add_signature(hash_state *state) {
    const ir_module *module = state->module;
    for (int64_t i = 0; i < module->extents.symbol_count; i++) {
        const layout_symbol *symbol = &module->extents.symbols[i];
        add(state, symbol->known);
        add(state, symbol->known ? symbol->value : 0);
    }
    for (int i = 0; i < module->parameter_count; i++) {
        const ir_parameter *parameter = &module->parameters[i];
        add(state, parameter->is_tensor);
        add(state, (int64_t)parameter->mode);
        add(state, (int64_t)parameter->dtype);
        if (parameter->is_tensor)
            define(state, parameter->value);
    }
    for (int i = 0; i < module->program_count; i++) {
        state->hash = pass_hash_extent(state->hash, module->programs[i].extent);
        add(state, module->programs[i].step);
    }
    for (int64_t i = 0; i < module->check_count; i++) {
        add(state, module->checks[i].parameter);
        add(state, module->checks[i].dimension);
        state->hash = pass_hash_extent(state->hash, module->checks[i].expected);
    }
}

uint64_t pass_canonical_hash(const ir_module *module) {
    hash_state state = {.module = module, .next = 1, .hash = BASE_HASH_START};
    state.numbers = BASE_NEW_ARRAY(module->arena, int64_t, module->next_value + 1);
    add_signature(&state);
    add_region(&state, &module->body);
    return state.hash;
}
