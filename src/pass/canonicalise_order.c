/* The canonical order: of each region a topological order that follows from what the ops compute.
 *
 * Effects are sorted by the tensor they write, then by the hash of their history
 * (canonicalise_history.c); each is preceded by what it needs, depth first in operand order:
 *
 *     y[row, :] = e / s          %t, %m, %d, %e, %s, %q, store %y
 *     loss[row] = l              then what is still missing for %l, store %loss
 *
 * Two ops with one hash compute the same; it does not matter which comes first.
 */
#include "pass/canonicalise_order_internal.h"
#include "pass/simplify.h"

#include "base/hash.h"

#include <stdlib.h>

/* ---- what a node needs ---- */
static void need(order_region_state *r, int64_t node, int64_t needed) {
    order_node *n = &r->nodes[node];
    if (needed >= 0 && needed != node)
        BASE_PUSH(r->state->module->arena, n->needs, n->need_count, n->need_capacity, needed);
}

static void need_value(order_region_state *r, int64_t node, const ir_value *value) {
    if (value != NULL && value->definer != NULL && value->definer->parent == r->region)
        need(r, node, r->state->node_of[value->number]);
}

static void need_operands(order_region_state *r, int64_t node, const ir_op *op) {
    for (int i = 0; i < op->operand_count; i++)
        need_value(r, node, op->operands[i]);
    for (int i = 0; i < op->result_count; i++)
        for (int d = 0; d < IR_MAX_RANK; d++)
            need_value(r, node, op->results[i]->type.domain[d]);
    for (int k = 0; k < op->region_count; k++)
        for (const ir_op *inner = op->regions[k]->first; inner != NULL; inner = inner->next)
            need_operands(r, node, inner);
}

static int compare_hashes(const void *left, const void *right) {
    const order_node *a = *(order_node *const *)left, *b = *(order_node *const *)right;
    if (a->stored != b->stored)
        return a->stored < b->stored ? -1 : 1;
    return a->hash < b->hash ? -1 : a->hash > b->hash;
}

/* A store comes after all loads and stores before it, a load after the last store. */
static void need_memory(order_region_state *r, ir_op *op, int64_t node) {
    order_memory *memory = &r->memory[canonicalise_order_parameter_of(r->state, op)];
    need(r, node, memory->store);
    if (op->opcode == IR_LOAD)
        return;
    order_node **loads = BASE_NEW_ARRAY(r->state->module->arena, order_node *, memory->count);
    for (int64_t i = 0; i < memory->count; i++)
        loads[i] = &r->nodes[memory->loads[i]];
    qsort(loads, (size_t)memory->count, sizeof *loads, compare_hashes);
    for (int64_t i = 0; i < memory->count; i++)
        need(r, node, loads[i] - r->nodes);
}

static void note_load(order_region_state *r, ir_op *op, int64_t node) {
    order_memory *memory = &r->memory[canonicalise_order_parameter_of(r->state, op)];
    if (op->opcode == IR_LOAD)
        BASE_PUSH(r->state->module->arena, memory->loads, memory->count, memory->capacity, node);
}

static void note_store(order_region_state *r, ir_op *op, int64_t node) {
    int parameter = canonicalise_order_parameter_of(r->state, op);
    if (op->opcode != IR_STORE)
        return;
    order_node *n = &r->nodes[node];
    n->stored = n->stored < 0 || parameter < n->stored ? parameter : n->stored;
    r->memory[parameter].store = node;
    r->memory[parameter].count = 0;
}

/* ---- placing ---- */
/* Appends the node after what it needs. A stack of its own: chains may be long. */
static void place_node(order_region_state *r, int64_t root, int64_t *stack, int64_t *at) {
    int64_t depth = 0;
    if (r->nodes[root].placed)
        return;
    r->nodes[root].placed = true;
    stack[depth++] = root;
    while (depth > 0) {
        order_node *node = &r->nodes[stack[depth - 1]];
        int64_t *next = &at[stack[depth - 1]];
        while (*next < node->need_count && r->nodes[node->needs[*next]].placed)
            (*next)++;
        if (*next == node->need_count) {
            ir_op_append(r->region, node->op);
            depth--;
            continue;
        }
        int64_t needed = node->needs[(*next)++];
        r->nodes[needed].placed = true;
        stack[depth++] = needed;
    }
}

static void place_nodes(order_region_state *r) {
    base_arena *arena = r->state->module->arena;
    order_node **roots = BASE_NEW_ARRAY(arena, order_node *, r->count);
    int64_t *stack = BASE_NEW_ARRAY(arena, int64_t, r->count);
    int64_t *at = BASE_NEW_ARRAY(arena, int64_t, r->count);
    int64_t count = 0, i = 0;
    for (int64_t n = 0; n < r->count; n++)
        if (r->nodes[n].stored >= 0)
            roots[count++] = &r->nodes[n];
    qsort(roots, (size_t)count, sizeof *roots, compare_hashes);
    r->region->first = r->region->last = NULL;
    for (int64_t n = 0; n < count; n++)
        place_node(r, roots[n] - r->nodes, stack, at);
    order_node *last = r->count > 0 ? &r->nodes[r->count - 1] : NULL;
    for (int64_t k = 0; last != NULL && k < last->need_count; k++) /* what is yielded */
        place_node(r, last->needs[k], stack, at);
    for (int64_t n = 0; n + 1 < r->count; n++) /* nothing is left, unless it is dead */
        place_node(r, r->count - 2 - n, stack, at);
    if (last != NULL) /* the yield */
        place_node(r, r->count - 1, stack, at);
    for (ir_op *op = r->region->first; op != NULL; op = op->next)
        r->state->changed |= op != r->nodes[i++].op;
}

static void find_needs(order_region_state *r) {
    for (int64_t n = 0; n < r->count; n++) {
        ir_op *op = r->nodes[n].op;
        need_operands(r, n, op);
        canonicalise_order_each_access(r, op, n, need_memory);
        canonicalise_order_each_access(r, op, n, note_load);
        canonicalise_order_each_access(r, op, n, note_store);
    }
}

/* The hash of what the region does: its effects, in any order. What it yields is the owner's. */
static uint64_t hash_region(order_region_state *r) {
    order_node **effects = BASE_NEW_ARRAY(r->state->module->arena, order_node *, r->count);
    int64_t count = 0;
    for (int64_t n = 0; n < r->count; n++)
        if (r->nodes[n].stored >= 0)
            effects[count++] = &r->nodes[n];
    qsort(effects, (size_t)count, sizeof *effects, compare_hashes);
    uint64_t hash = BASE_HASH_START;
    for (int64_t n = 0; n < count; n++)
        hash = pass_hash_word(hash, (int64_t)effects[n]->hash);
    return hash;
}

uint64_t canonicalise_order_region(order_state *state, ir_region *region, int depth) {
    order_region_state r = {.state = state, .region = region};
    base_arena *arena = state->module->arena;
    for (const ir_op *op = region->first; op != NULL; op = op->next)
        r.count++;
    r.nodes = BASE_NEW_ARRAY(arena, order_node, r.count);
    r.memory = BASE_NEW_ARRAY(arena, order_memory, state->module->parameter_count + 1);
    for (int i = 0; i < state->module->parameter_count; i++)
        r.memory[i].store = -1;
    int64_t n = 0;
    for (ir_op *op = region->first; op != NULL; op = op->next, n++) {
        r.nodes[n].op = op;
        r.nodes[n].stored = -1;
        canonicalise_order_hash_node(&r, n, depth);
    }
    find_needs(&r);
    if (!state->sorts_carries)
        place_nodes(&r);
    return hash_region(&r);
}

/* Two walks: the first sorts the carries, the second knows them by their place. */
bool pass_canonical_order(ir_module *module) {
    order_state state = {.module = module, .owners = pass_owners_find(module)};
    state.hashes = BASE_NEW_ARRAY(module->arena, uint64_t, module->next_value + 1);
    state.node_of = BASE_NEW_ARRAY(module->arena, int64_t, module->next_value + 1);
    state.parameter_of = BASE_NEW_ARRAY(module->arena, int, module->next_value + 1);
    for (int i = 0; i < module->parameter_count; i++) {
        if (!module->parameters[i].is_tensor)
            continue;
        int32_t number = module->parameters[i].value->number;
        state.parameter_of[number] = i;
        state.hashes[number] = pass_hash_word(BASE_HASH_START, i);
    }
    for (int walk = 0; walk < 2; walk++) {
        state.sorts_carries = walk == 0;
        state.memory = BASE_NEW_ARRAY(module->arena, uint64_t, module->parameter_count + 1);
        canonicalise_order_region(&state, &module->body, 0);
    }
    return state.changed;
}
