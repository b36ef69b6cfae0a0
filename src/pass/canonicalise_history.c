/* Histories: every op gets a hash of all that it comes from, without names: opcode, attributes,
 * hashes of its operands, the stores that a load may see.
 *
 *     %t = load %x[%row, :]     load, point and range, %x's place, history of %row, x as it began
 *     %m = reduce max %t        reduce, max, history of %t
 *
 * A loop's history holds its bounds, its effects in any order, and for each carry where it begins
 * and what feeds it. In the first walk (sorts_carries) no place of a carry enters a hash.
 */
#include "pass/canonicalise_order_internal.h"
#include "pass/simplify.h"

#include "base/hash.h"

static uint64_t hash_type(const order_state *state, uint64_t hash, const ir_type *type) {
    hash = pass_hash_word(hash, (int64_t)type->dtype);
    hash = pass_hash_word(hash, type->rank);
    for (int i = 0; i < type->rank; i++) {
        const ir_value *domain = type->domain[i];
        hash = pass_hash_extent(hash, type->extent[i]);
        hash = pass_hash_word(hash, domain == NULL ? 0 : (int64_t)state->hashes[domain->number]);
    }
    return hash;
}

int canonicalise_order_parameter_of(const order_state *state, const ir_op *access) {
    return state->parameter_of[access->operands[0]->number];
}

void canonicalise_order_each_access(order_region_state *r, ir_op *op, int64_t node,
                                    void (*visit)(order_region_state *, ir_op *, int64_t)) {
    if (op->opcode == IR_LOAD || op->opcode == IR_STORE)
        visit(r, op, node);
    for (int i = 0; i < op->region_count; i++)
        for (ir_op *inner = op->regions[i]->first; inner != NULL; inner = inner->next)
            canonicalise_order_each_access(r, inner, node, visit);
}

/* What later loads of the tensors stored below see. */
static void change_memory(order_region_state *r, ir_op *op, int64_t node) {
    uint64_t *memory = &r->state->memory[canonicalise_order_parameter_of(r->state, op)];
    if (op->opcode == IR_STORE)
        *memory = pass_hash_word(*memory, node < 0 ? 0 : (int64_t)r->nodes[node].hash);
}

/* The index of a loop and its carries: by their place, or (to sort them) by where they begin. */
static void hash_arguments(order_state *state, const ir_op *op, const ir_region *region,
                           int depth) {
    for (int i = 0; i < region->argument_count; i++) {
        bool sorts = state->sorts_carries && i > 0;
        int64_t which = sorts ? (int64_t)state->hashes[op->operands[2 + i]->number] : i;
        uint64_t hash = pass_hash_word(pass_hash_word(BASE_HASH_START, depth), which);
        state->hashes[region->arguments[i]->number] =
            hash_type(state, hash, &region->arguments[i]->type);
    }
}

static uint64_t hash_regions(order_region_state *r, uint64_t hash, ir_op *op, int depth) {
    order_state *state = r->state;
    int64_t tensors = state->module->parameter_count;
    uint64_t *before = BASE_NEW_ARRAY(state->module->arena, uint64_t, tensors + 1);
    if (op->opcode == IR_FOR) /* a trip sees the stores of earlier ones */
        canonicalise_order_each_access(r, op, -1, change_memory);
    for (int64_t i = 0; i < tensors; i++)
        before[i] = state->memory[i];
    for (int k = 0; k < op->region_count; k++) {
        for (int64_t i = 0; i < tensors; i++)
            state->memory[i] = before[i];
        hash_arguments(state, op, op->regions[k], depth);
        hash = pass_hash_word(hash,
                              (int64_t)canonicalise_order_region(state, op->regions[k], depth + 1));
    }
    for (int64_t i = 0; i < tensors; i++)
        state->memory[i] = before[i];
    return hash;
}

/* A for or if: hash of all but the results; the results from it and their keys. */
static uint64_t hash_control(order_region_state *r, ir_op *op, int depth) {
    order_state *state = r->state;
    uint64_t hash = pass_attributes_hash(BASE_HASH_START, op);
    int bounds = op->opcode == IR_FOR ? 3 : 1;
    for (int i = 0; i < bounds; i++)
        hash = pass_hash_word(hash, (int64_t)state->hashes[op->operands[i]->number]);
    hash = hash_regions(r, hash, op, depth);
    if (state->sorts_carries)
        state->changed |= pass_canonical_carries(state->module, op, state->hashes);
    for (int i = 0; i < op->result_count; i++) {
        uint64_t key = pass_canonical_carry_key(op, i, state->hashes);
        hash = hash_type(state, pass_hash_word(hash, (int64_t)key), &op->results[i]->type);
        state->hashes[op->results[i]->number] = key;
    }
    for (int i = 0; i < op->result_count; i++) {
        uint64_t *result = &state->hashes[op->results[i]->number];
        *result = pass_hash_word(hash, (int64_t)*result);
    }
    return hash;
}

static uint64_t hash_plain(order_region_state *r, const ir_op *op) {
    order_state *state = r->state;
    uint64_t hash = pass_attributes_hash(BASE_HASH_START, op);
    for (int i = 0; i < op->operand_count; i++)
        hash = pass_hash_word(hash, (int64_t)state->hashes[op->operands[i]->number]);
    if (op->opcode == IR_LOAD || op->opcode == IR_STORE)
        hash = pass_hash_word(hash,
                              (int64_t)state->memory[canonicalise_order_parameter_of(state, op)]);
    for (int i = 0; i < op->result_count; i++)
        hash = pass_owners_hash(state->owners, hash_type(state, hash, &op->results[i]->type),
                                op->results[i]);
    for (int i = 0; i < op->result_count; i++)
        state->hashes[op->results[i]->number] = pass_hash_word(hash, i);
    return hash;
}

void canonicalise_order_hash_node(order_region_state *r, int64_t node, int depth) {
    ir_op *op = r->nodes[node].op;
    bool control = op->region_count > 0;
    r->nodes[node].hash = control ? hash_control(r, op, depth) : hash_plain(r, op);
    for (int i = 0; i < op->result_count; i++)
        r->state->node_of[op->results[i]->number] = node;
    canonicalise_order_each_access(r, op, node, change_memory);
}
