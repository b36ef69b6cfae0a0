/* fold: any level. What is known before the kernel runs.
 *
 *     %a = size N                 constant 4096       when N is known
 *     %b = floordiv %n, 2         size N // 2         when it is not
 *     %c = mul %x, 1              %x
 *     %d = select %k, %x, %x      %x
 *     for 3, 4, 1 (%i) {..}       its body, with 3 for %i
 *     for 3, 3, 1 (%i) {..}       nothing
 *
 * One walk in program order; uses are rewritten on the way. On floats only what keeps every bit:
 * x * 1 and x / 1, never x + 0 or x * 0. It reassociates nothing. A tile of one constant counts as
 * the constant.
 */
#include "pass/pass.h"
#include "pass/simplify.h"

typedef struct fold_state {
    ir_module *module;
    ir_value **forward; /* [value number]: what stands for the value now, NULL = itself */
    int64_t forward_count;
    bool changed;
} fold_state;

static ir_value *resolve(const fold_state *state, ir_value *value) {
    while (value != NULL && value->number < state->forward_count &&
           state->forward[value->number] != NULL)
        value = state->forward[value->number];
    return value;
}

static void resolve_use(fold_state *state, ir_value **use) {
    ir_value *value = resolve(state, *use);
    state->changed |= value != *use;
    *use = value;
}

static void resolve_type(fold_state *state, ir_type *type) {
    for (int i = 0; i < IR_MAX_RANK; i++)
        resolve_use(state, &type->domain[i]);
}

static bool is_number(const ir_value *value, int64_t number) {
    const ir_constant *constant = pass_constant_of(value);
    if (constant == NULL)
        return false;
    if (base_dtype_is_float(constant->dtype))
        return constant->dtype == BASE_F32 && constant->real == (double)number;
    return constant->integer == number;
}

/* ---- identities ---- */
/* An op with a neutral operand on the right (and on the left, when it commutes). */
static const struct {
    ir_opcode opcode;
    int64_t neutral;
    bool left, floats, bools_only;
} neutrals[] = {
    {IR_ADD, 0, true, false, false},        {IR_SUB, 0, false, false, false},
    {IR_MUL, 1, true, true, false},         {IR_DIV, 1, false, true, false},
    {IR_OR, 0, true, false, false},         {IR_XOR, 0, true, false, false},
    {IR_FLOOR_DIV, 1, false, false, false}, {IR_SHL, 0, false, false, false},
    {IR_SHR, 0, false, false, false},       {IR_AND, 1, true, false, true},
};

static ir_value *neutral_operand(const ir_op *op, ir_level level) {
    const base_dtype dtype = op->results[0]->type.dtype;
    bool begins = level == IR_THREAD && base_dtype_is_float(dtype); /* 1.0 * x: a product's first */
    for (size_t i = 0; i < sizeof neutrals / sizeof neutrals[0]; i++) {
        if (neutrals[i].opcode != op->opcode ||
            (base_dtype_is_float(dtype) && !neutrals[i].floats) ||
            (dtype != BASE_BOOL && neutrals[i].bools_only))
            continue;
        if (is_number(op->operands[1], neutrals[i].neutral))
            return op->operands[0];
        if (neutrals[i].left && !begins && is_number(op->operands[0], neutrals[i].neutral))
            return op->operands[1];
    }
    return NULL;
}

/* Idempotent ops on one value. */
static ir_value *same_operands(const ir_op *op) {
    bool idempotent = op->opcode == IR_AND || op->opcode == IR_OR || op->opcode == IR_MAXIMUM ||
                      op->opcode == IR_MINIMUM;
    return idempotent && op->operands[0] == op->operands[1] ? op->operands[0] : NULL;
}

/* Every value of the narrow type, there and back. */
static bool widens_exactly(base_dtype from, base_dtype to) {
    if (from == BASE_F16 || from == BASE_BF16)
        return to == BASE_F32;
    if (from == BASE_I8 || from == BASE_U8)
        return to == BASE_I32 || to == BASE_I64 || to == BASE_INDEX;
    return (from == BASE_I32 || from == BASE_U32) && (to == BASE_I64 || to == BASE_INDEX);
}

static ir_value *cast_source(const ir_op *op) {
    ir_value *operand = op->operands[0];
    base_dtype to = op->results[0]->type.dtype;
    if (operand->type.dtype == to)
        return operand;
    const ir_op *inner = operand->definer;
    if (inner == NULL || inner->opcode != IR_CAST)
        return NULL;
    base_dtype from = inner->operands[0]->type.dtype;
    return from == to && widens_exactly(from, operand->type.dtype) ? inner->operands[0] : NULL;
}

static ir_value *undone(const ir_op *op) {
    const ir_op *inner = op->operands[0]->definer;
    return inner != NULL && inner->opcode == op->opcode ? inner->operands[0] : NULL;
}

/* The operand that the op gives back, or NULL. */
static ir_value *identity_operand(const fold_state *state, const ir_op *op) {
    ir_value *same = NULL;
    if (op->opcode == IR_CAST)
        same = cast_source(op);
    else if (op->opcode == IR_NEG || op->opcode == IR_NOT)
        same = undone(op);
    else if (op->opcode == IR_SELECT && pass_constant_of(op->operands[0]) != NULL)
        same = op->operands[is_number(op->operands[0], 0) ? 2 : 1];
    else if (op->opcode == IR_SELECT && op->operands[1] == op->operands[2])
        same = op->operands[1];
    else if (op->operand_count == 2 && op->result_count == 1) {
        same = neutral_operand(op, state->module->level);
        same = same == NULL ? same_operands(op) : same;
    } else if (op->opcode == IR_BROADCAST || op->opcode == IR_BITCAST) {
        same = op->operands[0];
    }
    bool fits = same != NULL && ir_type_equal(state->module, &same->type, &op->results[0]->type);
    return fits ? same : NULL;
}

/* ---- the walk ---- */
static ir_op *insert_leaf(fold_state *state, ir_op *before, ir_opcode opcode) {
    ir_type type = before->results[0]->type;
    ir_op *op = ir_op_create(state->module, opcode, before->location, 0, NULL, 1, &type, 0);
    op->results[0]->name = before->results[0]->name;
    ir_op_insert_before(before, op);
    return op;
}

/* A tile of one constant, by what operands hold. */
static ir_value *constant_tile(fold_state *state, ir_op *op) {
    ir_type type = op->results[0]->type;
    ir_constant constant = {.dtype = type.dtype};
    bool bounded = false;
    for (int i = 0; i < type.rank; i++)
        bounded = bounded || type.domain[i] != NULL;
    if (type.form != IR_FORM_TILE || type.rank == 0 || state->module->level != IR_TILE || bounded ||
        !pass_fold_constant(op, &constant))
        return NULL;
    ir_type scalar = {.form = IR_FORM_TILE, .dtype = type.dtype};
    ir_op *leaf = ir_op_create(state->module, IR_CONSTANT, op->location, 0, NULL, 1, &scalar, 0);
    leaf->attributes.constant = constant;
    ir_op_insert_before(op, leaf);
    ir_op *tile =
        ir_op_create(state->module, IR_BROADCAST, op->location, 1, leaf->results, 1, &type, 0);
    tile->results[0]->name = op->results[0]->name;
    tile->anchor = op->anchor;
    ir_op_insert_before(op, tile);
    return tile->results[0];
}

/* What the op's result is, made before it; NULL when nothing simpler is known. */
static ir_value *simpler(fold_state *state, ir_op *op) {
    const layout_extents *pool = &state->module->extents;
    ir_constant constant = {.dtype = op->results[0]->type.dtype};
    bool known = op->opcode == IR_SIZE &&
                 layout_extent_known(pool, op->attributes.extent, &constant.integer);
    bool scalar = op->results[0]->type.rank == 0 && op->results[0]->type.form != IR_FORM_SLOTS;
    if (known || (scalar && pass_fold_constant(op, &constant))) {
        ir_op *leaf = insert_leaf(state, op, IR_CONSTANT);
        leaf->attributes.constant = constant;
        return leaf->results[0];
    }
    const layout_extent *formula = scalar ? pass_fold_size(state->module, op) : NULL;
    if (formula != NULL) {
        ir_op *leaf = insert_leaf(state, op, IR_SIZE);
        leaf->attributes.extent = formula;
        return leaf->results[0];
    }
    ir_value *tile = constant_tile(state, op);
    return tile != NULL ? tile : identity_operand(state, op);
}

/* A carry that the body hands on as it got it is what it began with; dead from here on. */
static void fold_carries(fold_state *state, ir_op *op) {
    const ir_region *body = op->regions[0];
    const ir_op *yield = ir_region_yield(body);
    for (int i = 0; i < op->result_count; i++) {
        ir_value *argument = body->arguments[1 + i], *start = op->operands[3 + i];
        ir_value *next = resolve(state, yield->operands[i]);
        if ((next != argument && next != start) ||
            !ir_type_equal(state->module, &start->type, &argument->type) ||
            state->forward[argument->number] != NULL)
            continue;
        state->forward[argument->number] = state->forward[op->results[i]->number] = start;
    }
}

/* ---- loops ---- */
/* Values can go on in place of one another all the way through the loop. */
static bool passes_through(const fold_state *state, const ir_op *op) {
    const ir_region *body = op->regions[0];
    const ir_op *yield = ir_region_yield(body);
    bool equal = ir_type_equal(state->module, &op->operands[0]->type, &body->arguments[0]->type);
    for (int i = 0; i < op->result_count && equal; i++) {
        const ir_type *type = &op->results[i]->type;
        equal = ir_type_equal(state->module, &op->operands[3 + i]->type, type) &&
                ir_type_equal(state->module, &body->arguments[1 + i]->type, type) &&
                ir_type_equal(state->module, &resolve(state, yield->operands[i])->type, type);
    }
    return equal;
}

/* Whether an array may be pushed to here alone: a pull behind it needs a push before, whether or
 * not its value matters. */
static bool pushes(const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == IR_PUSH)
            return true;
        for (int i = 0; i < op->region_count; i++)
            if (pushes(op->regions[i]))
                return true;
    }
    return false;
}

static void fold_region(fold_state *state, ir_region *region);

/* A loop that runs once is its body, and one that never runs is gone, unless it pushes; true when
 * the op is gone. At level mapped carries have storage of their own, and loops stay. */
static bool fold_loop(fold_state *state, ir_op *op) {
    pass_trips count = pass_loop_trips(op);
    bool known = count == PASS_TRIPS_NONE || count == PASS_TRIPS_ONE;
    ir_region *body = op->regions[0];
    if (!known || state->module->level == IR_MAPPED || !passes_through(state, op) ||
        (count == PASS_TRIPS_NONE && pushes(body)))
        return false;
    for (int i = 0; i < body->argument_count && count == PASS_TRIPS_ONE; i++)
        state->forward[body->arguments[i]->number] = op->operands[i == 0 ? 0 : 2 + i];
    if (count == PASS_TRIPS_ONE)
        fold_region(state, body);
    const ir_op *yield = ir_region_yield(body);
    for (int i = 0; i < op->result_count; i++)
        state->forward[op->results[i]->number] =
            count == PASS_TRIPS_ONE ? yield->operands[i] : op->operands[3 + i];
    for (ir_op *inner = body->first, *next; inner != yield && count == PASS_TRIPS_ONE;
         inner = next) {
        next = inner->next;
        ir_op_remove(inner);
        ir_op_insert_before(op, inner);
    }
    ir_op_remove(op);
    state->changed = true;
    return true;
}

static void fold_region(fold_state *state, ir_region *region) {
    for (int i = 0; i < region->argument_count; i++)
        resolve_type(state, &region->arguments[i]->type);
    for (ir_op *op = region->first, *next; op != NULL; op = next) {
        next = op->next;
        for (int i = 0; i < op->operand_count; i++)
            resolve_use(state, &op->operands[i]);
        for (int i = 0; i < op->result_count; i++)
            resolve_type(state, &op->results[i]->type);
        if (op->opcode == IR_FOR && fold_loop(state, op))
            continue;
        if (op->opcode == IR_FOR)
            fold_carries(state, op);
        for (int i = 0; i < op->region_count; i++)
            fold_region(state, op->regions[i]);
        if (!ir_op_describe(op->opcode)->pure || op->result_count != 1)
            continue;
        ir_value *result = simpler(state, op);
        if (result == NULL)
            continue;
        if (result->name == NULL)
            result->name = op->results[0]->name;
        state->forward[op->results[0]->number] = result;
        ir_op_remove(op);
        state->changed = true;
    }
}

pass_result pass_fold(ir_module *module, pass_context *context) {
    (void)context;
    fold_state state = {.module = module, .forward_count = module->next_value};
    state.forward = BASE_NEW_ARRAY(module->arena, ir_value *, module->next_value + 1);
    fold_region(&state, &module->body);
    return state.changed ? PASS_CHANGED : PASS_SAME;
}
