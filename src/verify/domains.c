/* Domains of tiles: domain-agree. What an op does along an axis, it does on one prefix of it.
 *
 *     %d = sub %t, %u : f32<N below %k>     %t: f32<N below %k>, %u: f32<N>        holds
 *     %d = mul %t, %u : f32<N>              %t: f32<1 below %k>, %u: f32<N>        an element that
 *                                           may not be there spreads over the axis
 *     load %x[gather %i, gather %j]         the domains of %i and %j agree, and the tile has them
 *
 * That the domain of a range is the prefix inside the tensor is a matter of numbers: facts.c.
 */
#include "verify/verify_internal.h"

/* The tiles whose axes meet, and the one domain that is found along an axis. */
typedef struct meeting {
    const ir_type *tiles[IR_MAX_RANK + 1];
    int count;
    const ir_type *shape; /* that they have together */
} meeting;

static void meet(meeting *m, const ir_value *value) {
    if (value->type.form == IR_FORM_TILE && value->type.rank == m->shape->rank &&
        m->count <= IR_MAX_RANK)
        m->tiles[m->count++] = &value->type;
}

/* False when two tiles have different domains along the axis. */
static bool common_domain(const verify_state *state, const meeting *m, int axis,
                          const ir_value **common) {
    *common = NULL;
    for (int k = 0; k < m->count; k++) {
        const ir_type *type = m->tiles[k];
        if (!verify_extent_equal(state, type->extent[axis], m->shape->extent[axis]) ||
            type->domain[axis] == NULL)
            continue;
        if (*common != NULL && !verify_same_value(state, *common, type->domain[axis]))
            return false;
        *common = type->domain[axis];
    }
    return true;
}

static bool spreads_partly(const verify_state *state, const meeting *m, int axis) {
    for (int k = 0; k < m->count; k++)
        if (m->tiles[k]->domain[axis] != NULL &&
            !verify_extent_equal(state, m->tiles[k]->extent[axis], m->shape->extent[axis]))
            return true;
    return false;
}

/* `result`: what has the domain that is found; NULL: nothing. */
static void check_meeting(verify_state *state, const ir_op *op, const meeting *m,
                          const ir_value *result) {
    for (int i = 0; i < m->shape->rank; i++) {
        const ir_value *common = NULL;
        if (spreads_partly(state, m, i))
            verify_report(state, VERIFY_DOMAIN_AGREE, op, "a full axis",
                          "an element with a domain spreads along axis %d", i);
        else if (!common_domain(state, m, i, &common))
            verify_report(state, VERIFY_DOMAIN_AGREE, op, "one domain, or a full one",
                          "operands have two domains along axis %d", i);
        else if (result != NULL && !verify_same_value(state, common, result->type.domain[i]))
            verify_report(state, VERIFY_DOMAIN_AGREE, op, "the domain of the operands",
                          "the result has another domain along axis %d", i);
    }
}

void verify_table_domains(verify_state *state, const ir_op *op) {
    meeting m = {.shape = &op->results[0]->type};
    for (int i = 0; i < op->operand_count; i++)
        meet(&m, op->operands[i]);
    if (m.shape->form == IR_FORM_TILE)
        check_meeting(state, op, &m, op->results[0]);
}

void verify_access_domains(verify_state *state, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    ir_type shape;
    meeting m = {.shape = &shape};
    if (!verify_access_shape(state, op, &shape))
        return;
    bool gathers = false;
    for (int i = 0; i < access->rank; i++) {
        if (access->index[i].kind != IR_INDEX_GATHER)
            continue;
        gathers = true;
        meet(&m, op->operands[access->index[i].operand]);
    }
    if (op->opcode == IR_STORE)
        meet(&m, op->operands[op->operand_count - 1]);
    bool gives = op->opcode == IR_LOAD && gathers && op->results[0]->type.rank == shape.rank;
    check_meeting(state, op, &m, gives ? op->results[0] : NULL);
}
