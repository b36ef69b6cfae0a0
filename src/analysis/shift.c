/* Rows that say by how much an axis is shifted. Alignment of the tensor itself, and of its rows, is
 * nobody's question here: amounts from 0 to V - 1 are all right, one of them makes vectors aligned.
 */
#include "analysis/shift.h"

#include <string.h>

enum { DEEPEST = 16 };

typedef struct access_search {
    const char *anchor;
    const ir_op *found;
} access_search;

static bool visit(void *state, ir_op *op) {
    access_search *search = state;
    bool access = op->opcode == IR_LOAD || op->opcode == IR_STORE;
    if (access && op->anchor != NULL && strcmp(op->anchor, search->anchor) == 0)
        search->found = op;
    return search->found == NULL;
}

const ir_op *analysis_shift_access(const ir_module *module, const char *anchor) {
    access_search search = {.anchor = anchor};
    ir_region *body = (ir_region *)&module->body; /* the visitor changes nothing */
    ir_region_walk(body, visit, &search);
    return search.found;
}

/* Computed from programs, sizes and constants. */
static bool is_of_programs(const ir_value *value, int depth) {
    const ir_op *op = value->definer;
    if (op == NULL || depth == DEEPEST || value->type.dtype != BASE_INDEX || value->type.rank > 0)
        return false;
    if (op->opcode == IR_PROGRAM || op->opcode == IR_SIZE || op->opcode == IR_CONSTANT)
        return true;
    if (op->opcode != IR_ADD && op->opcode != IR_SUB && op->opcode != IR_MUL &&
        op->opcode != IR_FLOOR_DIV && op->opcode != IR_FLOOR_MOD)
        return false;
    return is_of_programs(op->operands[0], depth + 1) && is_of_programs(op->operands[1], depth + 1);
}

const char *analysis_shift_refusal(const ir_op *op) {
    const ir_access *access = op->attributes.access;
    if (access->rank < 2)
        return "rows of a tensor of several dimensions";
    const ir_index *last = &access->index[access->rank - 1];
    if (last->kind != IR_INDEX_RANGE || last->operand >= 0)
        return "an access of rows from their beginning on";
    for (int d = 0; d + 1 < access->rank; d++)
        if (access->index[d].kind != IR_INDEX_POINT ||
            !is_of_programs(op->operands[access->index[d].operand], 0))
            return "one row a program, numbered by programs, sizes and constants";
    return NULL;
}
