/* The order of carries: by where they begin and what feeds them, not by how the kernel names or
 * lists them.
 *
 *     for .. carry(%s = 0.0, %m = -inf)     for .. carry(%m = -inf, %s = 0.0)
 *
 * are one loop. The key of a carry is the hash of its initial value with the hash of what the body
 * yields for it; of a result of an if, the hashes of what its branches yield. Two carries with one
 * key keep their order.
 */
#include "pass/canonicalise_internal.h"
#include "pass/simplify.h"

#include "base/hash.h"

#include <stdlib.h>

typedef struct carry {
    uint64_t key;
    int place; /* before sorting */
} carry;

static int compare_carries(const void *left, const void *right) {
    const carry *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->place - b->place;
}

uint64_t pass_canonical_carry_key(const ir_op *op, int place, const uint64_t *hashes) {
    uint64_t key = BASE_HASH_START;
    if (op->opcode == IR_FOR)
        key = pass_hash_word(key, (int64_t)hashes[op->operands[3 + place]->number]);
    for (int r = 0; r < op->region_count; r++) {
        const ir_op *yield = ir_region_yield(op->regions[r]);
        if (yield == NULL)
            continue;
        key = pass_hash_word(key, (int64_t)hashes[yield->operands[place]->number]);
    }
    return key;
}

static void permute(ir_module *module, ir_value **values, const carry *order, int count) {
    ir_value **old = BASE_NEW_ARRAY(module->arena, ir_value *, count);
    for (int i = 0; i < count; i++)
        old[i] = values[i];
    for (int i = 0; i < count; i++)
        values[i] = old[order[i].place];
}

bool pass_canonical_carries(ir_module *module, ir_op *op, const uint64_t *hashes) {
    int count = op->result_count;
    carry *order = BASE_NEW_ARRAY(module->arena, carry, count);
    for (int i = 0; i < count; i++)
        order[i] = (carry){.key = pass_canonical_carry_key(op, i, hashes), .place = i};
    qsort(order, (size_t)count, sizeof *order, compare_carries);
    bool moved = false;
    for (int i = 0; i < count; i++)
        moved |= order[i].place != i;
    if (!moved)
        return false;
    permute(module, op->results, order, count);
    for (int r = 0; r < op->region_count; r++)
        permute(module, ir_region_yield(op->regions[r])->operands, order, count);
    if (op->opcode == IR_FOR) {
        permute(module, op->operands + 3, order, count);
        permute(module, op->regions[0]->arguments + 1, order, count);
    }
    return true;
}
