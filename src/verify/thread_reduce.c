/* Reductions of level thread: reduce-begin. Also finds the ops in which an element joins a carry.
 *
 *     %i = constant -inf : f32                     the identity of max
 *     %b = broadcast %i : f32(4)
 *     %r = for .., %b (%k: i64, %c: f32(4)) {      begins with it
 *         %n = maximum %c, %t                      %t joins %c by the op of max
 *         yield %n
 *     }
 *     %f = fold max %r
 *
 * From what is folded, or combined without a fold, every way back through joins, loops and branches
 * ends at the identity; so does every way through scratch or a private array: what is put there is
 * a partial result.
 * Reductions that need neither are not known as such here.
 */
#include "verify/verify_internal.h"

enum { NEST = 16, WORK = 4000 };

typedef struct chain {
    const verify_state *state;
    const ir_op *end;              /* the fold or combine */
    int8_t *carry;                 /* by number of a joining op's result: 1 + its carry operand */
    const ir_region *around[NEST]; /* bodies of loops that are being followed */
    const ir_value *arrays[NEST];  /* private arrays, likewise */
    int depth, array_count, work;
    const ir_value *entering; /* what joined last */
} chain;

static ir_opcode joining_opcode(const ir_op *end) {
    const ir_monoid_info *info = ir_monoid_describe(end->attributes.monoid);
    bool ignore =
        end->attributes.nan == IR_NAN_IGNORE && base_dtype_is_float(end->operands[0]->type.dtype);
    return ignore ? info->combine_ignoring_nan : info->combine;
}

/* What an element was before it was converted to the state: i8 and u8 reduce in i32. A constant may
 * have been either. */
static bool may_be_of(const ir_value *entering, base_dtype dtype) {
    const ir_op *op = entering != NULL ? entering->definer : NULL;
    for (int i = 0; i < NEST && op != NULL; i++) {
        if (op->opcode == IR_CONSTANT)
            return true;
        if (op->opcode == IR_CAST && op->operand_count == 1)
            return op->operands[0]->type.dtype == dtype;
        bool select = op->opcode == IR_SELECT && op->operand_count == 3;
        bool broadcast = op->opcode == IR_BROADCAST && op->operand_count == 1;
        if (!select && !broadcast)
            return false;
        op = op->operands[select ? 1 : 0]->definer;
    }
    return entering == NULL;
}

/* Keys of floats are reduced as i32; a constant may be one. */
static bool may_be_key(const ir_value *entering) {
    const ir_op *op = entering != NULL ? entering->definer : NULL;
    for (int i = 0; i < NEST && op != NULL && op->opcode != IR_CONSTANT; i++) {
        bool select = op->opcode == IR_SELECT && op->operand_count == 3;
        bool broadcast = op->opcode == IR_BROADCAST && op->operand_count == 1;
        if (!select && !broadcast)
            return op->opcode == IR_XOR;
        op = op->operands[select ? 1 : 0]->definer;
    }
    return true;
}

bool verify_is_identity(ir_monoid monoid, const ir_constant *constant, const ir_value *entering) {
    const base_dtype elements[] = {constant->dtype, BASE_I8, BASE_U8};
    bool extreme = monoid == IR_MONOID_MAX || monoid == IR_MONOID_MIN;
    if (extreme && constant->dtype == BASE_I32 &&
        constant->integer == ir_zero_key_identity(monoid).integer && may_be_key(entering))
        return true;
    for (int i = 0; i < 3; i++) {
        ir_constant identity = ir_monoid_identity(monoid, elements[i]);
        if (identity.dtype != constant->dtype || (i > 0 && !may_be_of(entering, elements[i])))
            continue;
        if (base_dtype_is_float(constant->dtype) ? constant->real == identity.real
                                                 : constant->integer == identity.integer)
            return true;
    }
    return false;
}

static bool is_identity(const chain *c, const ir_value *value) {
    const ir_op *op = value->definer;
    if (op != NULL && op->opcode == IR_BROADCAST && verify_op_is_formed(c->state, op))
        op = op->operands[0]->definer;
    return op != NULL && op->opcode == IR_CONSTANT &&
           verify_is_identity(c->end->attributes.monoid, &op->attributes.constant, c->entering);
}

static bool begins_well(chain *c, const ir_value *value);

static int position_of(ir_value *const *values, int count, const ir_value *value) {
    for (int i = 0; i < count; i++)
        if (values[i] == value)
            return i;
    return -1;
}

static bool is_followed(const chain *c, const ir_value *argument) {
    for (int i = 0; i < c->depth; i++)
        if (c->around[i] == argument->region)
            return true;
    return false;
}

static bool loop_begins_well(chain *c, const ir_op *loop, const ir_value *result) {
    int i = position_of(loop->results, loop->result_count, result);
    const ir_op *yield = ir_region_yield(loop->regions[0]);
    if (i < 0 || i >= yield->operand_count || c->depth == NEST)
        return false;
    c->around[c->depth++] = loop->regions[0];
    bool body = begins_well(c, yield->operands[i]);
    c->depth--;
    return body && begins_well(c, loop->operands[3 + i]);
}

static bool branch_begins_well(chain *c, const ir_op *branch, const ir_value *result) {
    int i = position_of(branch->results, branch->result_count, result);
    for (int k = 0; i >= 0 && k < branch->region_count; k++) {
        const ir_op *yield = ir_region_yield(branch->regions[k]);
        if (i >= yield->operand_count || !begins_well(c, yield->operands[i]))
            return false;
    }
    return i >= 0;
}

/* What is put or pushed to the array. */
static bool puts_begin_well(chain *c, const ir_region *region, const ir_value *array) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        bool writes = (op->opcode == IR_PUT || op->opcode == IR_PUSH) &&
                      verify_op_is_formed(c->state, op) && op->operands[0] == array;
        if (writes && !begins_well(c, op->opcode == IR_PUSH ? op->operands[2] : ir_op_stored(op)))
            return false;
        for (int i = 0; i < op->region_count; i++)
            if (!puts_begin_well(c, op->regions[i], array))
                return false;
    }
    return true;
}

/* The puts that a token stands for, back to where the array was free; where a loop or a branch gave
 * the token, all puts to the array. */
static bool puts_behind_begin_well(chain *c, const ir_value *token, const ir_value *scratch) {
    while (token != NULL && token->definer != NULL && --c->work >= 0) {
        const ir_op *op = token->definer;
        if (!verify_op_is_formed(c->state, op))
            return true;
        if (op->opcode == IR_SYNC) {
            token = op->operands[position_of(op->results, op->result_count, token)];
            continue;
        }
        if (op->opcode != IR_PUT)
            break;
        if (!begins_well(c, ir_op_stored(op)))
            return false;
        token = ir_op_token(op);
        if (token->type.state == IR_TOKEN_FREE)
            return true;
    }
    return puts_begin_well(c, &c->state->module->body, scratch);
}

/* Partial results from scratch: all that is put there, and what stands for cells behind a mask. */
static bool get_begins_well(chain *c, const ir_op *get) {
    const ir_access *access = get->attributes.access;
    bool filled = access->mask_kind == IR_MASK_NONE ||
                  (access->fill >= 0 && is_identity(c, get->operands[access->fill]));
    return filled && puts_behind_begin_well(c, ir_op_token(get), get->operands[0]);
}

/* Elements that wait in a private array begin a reduction each. */
static bool pull_begins_well(chain *c, const ir_value *array) {
    for (int i = 0; i < c->array_count; i++)
        if (c->arrays[i] == array)
            return true;
    if (c->array_count == NEST)
        return false;
    c->arrays[c->array_count++] = array;
    bool well = puts_begin_well(c, &c->state->module->body, array);
    c->array_count--;
    return well;
}

/* The same reduction, further in: its own chain is looked at where it stands. */
static bool is_partial(const chain *c, const ir_op *op) {
    return (op->opcode == IR_FOLD || op->opcode == IR_COMBINE) &&
           op->attributes.monoid == c->end->attributes.monoid &&
           op->attributes.nan == c->end->attributes.nan;
}

static bool begins_well(chain *c, const ir_value *value) {
    if (--c->work < 0)
        return true; /* too long to say */
    if (is_identity(c, value))
        return true;
    const ir_op *op = value->definer;
    if (op == NULL)
        return value->region != NULL && is_followed(c, value);
    if (!verify_op_is_formed(c->state, op))
        return true;
    if (op->opcode == IR_FOR)
        return loop_begins_well(c, op, value);
    if (op->opcode == IR_IF)
        return branch_begins_well(c, op, value);
    if (op->opcode == IR_GET)
        return get_begins_well(c, op);
    if (op->opcode == IR_PULL)
        return pull_begins_well(c, op->operands[0]);
    if (op->opcode == IR_RENAME || op->opcode == IR_BROADCAST)
        return begins_well(c, op->operands[0]);
    if (is_partial(c, op))
        return true;
    if (op->opcode != joining_opcode(c->end))
        return false;
    for (int i = 0; i < 2; i++) {
        c->entering = op->operands[1 - i];
        if (!begins_well(c, op->operands[i]))
            continue;
        c->carry[value->number] = (int8_t)(1 + i);
        return true;
    }
    return false;
}

static void rule_reduce_begin(verify_state *state, const ir_op *op) {
    if ((op->opcode != IR_FOLD && op->opcode != IR_COMBINE) || !verify_op_is_formed(state, op))
        return;
    const ir_op *inner = op->operands[0]->definer;
    if (op->opcode == IR_COMBINE && inner != NULL && inner->opcode == IR_FOLD) {
        if (inner->attributes.monoid != op->attributes.monoid ||
            inner->attributes.nan != op->attributes.nan)
            verify_report(state, VERIFY_REDUCE_BEGIN, op, "the monoid of the fold",
                          "slots and lanes are reduced by different monoids");
        return;
    }
    chain c = {.state = state, .end = op, .carry = state->carry, .work = WORK};
    if (!begins_well(&c, op->operands[0]))
        verify_report(state, VERIFY_REDUCE_BEGIN, op,
                      "a carry that begins with the identity and is joined by the monoid's op",
                      "what is reduced did not begin as a reduction by `%s`",
                      ir_monoid_describe(op->attributes.monoid)->text);
}

void verify_reductions(verify_state *state) {
    state->carry = BASE_NEW_ARRAY(state->diagnostics->arena, int8_t, state->module->next_value);
    verify_walk(state, &state->module->body, rule_reduce_begin);
}
