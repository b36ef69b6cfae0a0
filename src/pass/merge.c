/* merge: any level. Equal ops become one: value numbering over the region tree.
 *
 *     %a = exp %x                      %a = exp %x
 *     for .. { %b = exp %x; .. %b }    for .. { .. %a }
 *
 * An op merges with an equal one that stands before it in its region or in a region around it; a
 * name survives if one of them has one. At level tile so do loads, which carry the version of their
 * tensor's memory: a store starts a new one, and so do the beginning and the end of a loop that
 * stores. Operands of commuting ops compare in either order. Tiles whose owners the kernel fixes
 * merge only with tiles that it fixes alike.
 */
#include "pass/pass.h"
#include "pass/simplify.h"

#include "base/hash.h"

typedef struct merge_entry {
    uint64_t hash;
    ir_op *op;
    int64_t version; /* loads */
    int32_t below;   /* the entry that it hides in its bucket, -1 */
} merge_entry;

typedef struct merge_state {
    ir_module *module;
    const analysis_axes *owners;
    bool loads;
    ir_value **forward; /* [value number], NULL = itself */
    merge_entry *entries;
    int64_t count, capacity;
    int32_t *buckets;
    int64_t bucket_count;
    int64_t *versions; /* [value number of a tensor] */
    int64_t next_version;
    bool changed;
} merge_state;

static ir_value *resolve(const merge_state *state, ir_value *value) {
    if (value == NULL || state->forward[value->number] == NULL)
        return value;
    return state->forward[value->number]; /* what is kept is never merged itself */
}

/* ---- equality ---- */
static int64_t operand_number(const ir_op *op, int i) {
    if (op->operand_count == 2 && ir_op_describe(op->opcode)->commutes) {
        int64_t a = op->operands[0]->number, b = op->operands[1]->number;
        return (i == 0) == (a < b) ? a : b;
    }
    return op->operands[i]->number;
}

static uint64_t hash_op(const ir_op *op, int64_t version) {
    uint64_t hash = pass_attributes_hash(BASE_HASH_START, op);
    hash = pass_hash_word(hash, version);
    for (int i = 0; i < op->operand_count; i++)
        hash = pass_hash_word(hash, operand_number(op, i));
    return pass_hash_word(hash, (int64_t)op->results[0]->type.dtype);
}

/* Level mapped: along which module axes it lies. */
static bool same_layout(const ir_value *a, const ir_value *b) {
    for (int i = 0; i < a->type.rank; i++)
        if (a->layout.axis[i] != b->layout.axis[i])
            return false;
    return true;
}

static bool same_op(const merge_state *state, const merge_entry *entry, const ir_op *op,
                    int64_t version) {
    const ir_op *other = entry->op;
    if (entry->version != version || other->operand_count != op->operand_count ||
        !pass_attributes_equal(other, op) ||
        !ir_type_equal(state->module, &other->results[0]->type, &op->results[0]->type) ||
        !same_layout(other->results[0], op->results[0]) ||
        !pass_owners_same(state->owners, other->results[0], op->results[0]))
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (operand_number(other, i) != operand_number(op, i))
            return false;
    return true;
}

static ir_op *find_or_add(merge_state *state, ir_op *op, int64_t version) {
    uint64_t hash = hash_op(op, version);
    int32_t *bucket = &state->buckets[hash & (uint64_t)(state->bucket_count - 1)];
    for (int32_t e = *bucket; e >= 0; e = state->entries[e].below)
        if (state->entries[e].hash == hash && same_op(state, &state->entries[e], op, version))
            return state->entries[e].op;
    merge_entry entry = {.hash = hash, .op = op, .version = version, .below = *bucket};
    *bucket = (int32_t)state->count;
    BASE_PUSH(state->module->arena, state->entries, state->count, state->capacity, entry);
    return op;
}

static void forget_down_to(merge_state *state, int64_t count) {
    while (state->count > count) {
        const merge_entry *entry = &state->entries[--state->count];
        state->buckets[entry->hash & (uint64_t)(state->bucket_count - 1)] = entry->below;
    }
}

/* ---- memory ---- */
static void renew_stored(merge_state *state, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == IR_STORE)
            state->versions[op->operands[0]->number] = ++state->next_version;
        for (int i = 0; i < op->region_count; i++)
            renew_stored(state, op->regions[i]);
    }
}

/* ---- the walk ---- */
static void merge_region(merge_state *state, ir_region *region);

static void merge_inside(merge_state *state, ir_op *op) {
    if (op->opcode == IR_FOR) /* a later trip sees the stores of earlier ones */
        renew_stored(state, op->regions[0]);
    for (int i = 0; i < op->region_count; i++)
        merge_region(state, op->regions[i]);
    for (int i = 0; i < op->region_count; i++)
        renew_stored(state, op->regions[i]);
}

static void rewrite_op(const merge_state *state, ir_op *op) {
    for (int i = 0; i < op->operand_count; i++)
        op->operands[i] = resolve(state, op->operands[i]);
    for (int i = 0; i < op->result_count; i++)
        for (int d = 0; d < IR_MAX_RANK; d++)
            op->results[i]->type.domain[d] = resolve(state, op->results[i]->type.domain[d]);
}

static void merge_region(merge_state *state, ir_region *region) {
    int64_t mark = state->count;
    for (int i = 0; i < region->argument_count; i++)
        for (int d = 0; d < IR_MAX_RANK; d++)
            region->arguments[i]->type.domain[d] =
                resolve(state, region->arguments[i]->type.domain[d]);
    for (ir_op *op = region->first, *next; op != NULL; op = next) {
        next = op->next;
        rewrite_op(state, op);
        merge_inside(state, op);
        if (op->opcode == IR_STORE)
            state->versions[op->operands[0]->number] = ++state->next_version;
        bool is_load = state->loads && op->opcode == IR_LOAD;
        if (op->result_count != 1 || (!ir_op_describe(op->opcode)->pure && !is_load))
            continue;
        int64_t version = is_load ? state->versions[op->operands[0]->number] : 0;
        ir_op *kept = find_or_add(state, op, version);
        if (kept == op)
            continue;
        if (kept->results[0]->name == NULL)
            kept->results[0]->name = op->results[0]->name;
        state->forward[op->results[0]->number] = kept->results[0];
        ir_op_remove(op);
        state->changed = true;
    }
    forget_down_to(state, mark);
}

pass_result pass_merge(ir_module *module, pass_context *context) {
    (void)context;
    merge_state state = {.module = module, .loads = module->level == IR_TILE};
    state.owners = pass_owners_find(module);
    state.forward = BASE_NEW_ARRAY(module->arena, ir_value *, module->next_value + 1);
    state.versions = BASE_NEW_ARRAY(module->arena, int64_t, module->next_value + 1);
    for (state.bucket_count = 64; state.bucket_count < module->next_value; state.bucket_count *= 2)
        continue;
    state.buckets = BASE_NEW_ARRAY(module->arena, int32_t, state.bucket_count);
    for (int64_t i = 0; i < state.bucket_count; i++)
        state.buckets[i] = -1;
    merge_region(&state, &module->body);
    return state.changed ? PASS_CHANGED : PASS_SAME;
}
