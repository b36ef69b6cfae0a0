/* Replay of what computes: numbers where they are exact, and which positions hold elements. */
#include "verify/replay_internal.h"

#include <string.h>

replay_value *replay_of(const replay *r, const ir_value *value) {
    return &r->values[value->number];
}

uint64_t replay_word(const replay_value *value, replay_plane plane, int word) {
    if (value->positions == 1)
        return (value->plane[plane][0] & 1) != 0 ? ~UINT64_C(0) : 0;
    return word < value->words ? value->plane[plane][word] : 0;
}

int64_t replay_number(const replay_value *value, int position) {
    if (value->positions == 1)
        return value->number[0];
    return position < value->positions ? value->number[position] : 0;
}

void replay_clear(replay *r, replay_value *value) {
    memset(value->plane[0], 0, sizeof(uint64_t) * (size_t)(value->words * REPLAY_PLANES));
    value->known = value->partly = value->modelled = false;
    value->literal = value->standin = NULL;
    replay_share_marks(r, value, NULL);
}

int64_t *replay_numbers(replay *r, replay_value *value) {
    if (value->number == NULL)
        value->number = BASE_NEW_ARRAY(r->arena, int64_t, value->positions);
    value->known = true;
    value->partly = value->modelled = false;
    r->work -= value->positions;
    return value->number;
}

void replay_copy(replay *r, replay_value *to, const replay_value *from) {
    for (int plane = 0; plane < REPLAY_PLANES; plane++)
        for (int w = 0; w < to->words; w++)
            to->plane[plane][w] = replay_word(from, (replay_plane)plane, w);
    to->literal = from->literal;
    to->standin = from->standin;
    to->known = to->partly = to->modelled = false;
    replay_share_marks(r, to, from->marks);
    if (!from->known && !from->modelled)
        return;
    int64_t *numbers = replay_numbers(r, to);
    for (int p = 0; p < to->positions; p++)
        numbers[p] = replay_number(from, p);
    to->known = from->known;
    to->partly = from->partly;
    to->modelled = from->modelled;
}

/* ---- leaves ---- */
static void set_number(replay *r, replay_value *value, int64_t number) {
    int64_t *numbers = replay_numbers(r, value);
    for (int p = 0; p < value->positions; p++)
        numbers[p] = number;
}

static void replay_iota(replay *r, const ir_op *op, replay_value *result) {
    int64_t *numbers = replay_numbers(r, result);
    memset(numbers, 0, sizeof *numbers * (size_t)result->positions);
    replay_add_affine(r, &op->attributes.affine, result->positions, op->results[0]->type.slots,
                      numbers);
}

/* Rows that lie a little apart, at an odd distance: each begins elsewhere between two borders of
 * vectors. */
static int64_t stride_of(const replay *r, const ir_op *op) {
    const replay_tensor *tensor = &r->tensors[op->attributes.parameter];
    uint64_t stride = 1;
    for (int d = op->attributes.axis + 1; d < tensor->value->type.rank; d++)
        stride *= (uint64_t)tensor->extent[d];
    return (int64_t)(stride | 1);
}

static void replay_leaf(replay *r, const ir_op *op, replay_value *result) {
    int64_t size = 0;
    replay_clear(r, result);
    if (op->opcode == IR_CONSTANT) {
        result->literal = &op->attributes.constant;
        if (!base_dtype_is_float(op->attributes.constant.dtype))
            set_number(r, result, op->attributes.constant.integer);
    } else if (op->opcode == IR_SIZE) {
        if (layout_extent_evaluate(op->attributes.extent, r->sizes, &size))
            set_number(r, result, size);
    } else if (op->opcode == IR_STRIDE) {
        if (verify_stride_is_formed(r->state, op))
            set_number(r, result, stride_of(r, op));
    } else if (op->opcode == IR_GROUP) {
        set_number(r, result, r->group);
    } else if (op->opcode == IR_BLOCK) {
        int cluster = r->state->module->cluster;
        set_number(r, result, r->group % (cluster > 1 ? cluster : 1));
    } else if (op->opcode == IR_IOTA) {
        replay_iota(r, op, result);
    } else if (op->opcode == IR_PARAMETER && r->signing) {
        replay_set_begin(r, result);
        replay_set(
            r, result, 0,
            signature_parameter(&r->setting, op->attributes.parameter, op->results[0]->type.dtype));
        replay_set_end(r, result);
    }
}

/* ---- the op table ---- */
static void compute_numbers(replay *r, const ir_op *op, replay_value *result) {
    const replay_value *a = replay_of(r, op->operands[0]);
    const replay_value *b = op->operand_count > 1 ? replay_of(r, op->operands[1]) : NULL;
    base_dtype dtype = op->results[0]->type.dtype;
    explore_function function = explore_integer_function(op->opcode);
    bool same = op->opcode == IR_BROADCAST || op->opcode == IR_CAST;
    if (base_dtype_is_float(dtype) || !a->known || (b != NULL && !b->known) ||
        op->operand_count > 2 || (function == NULL && !same))
        return;
    int64_t *numbers = replay_numbers(r, result);
    for (int p = 0; p < result->positions; p++) {
        int64_t x = replay_number(a, p);
        numbers[p] =
            op->opcode == IR_CAST ? explore_converted(op, x)
            : same
                ? x
                : explore_wrapped(dtype, function(dtype, x, b != NULL ? replay_number(b, p) : 0));
    }
}

/* ---- reductions ---- */
static bool joins_identity(const ir_op *op, const ir_constant *constant, int carry) {
    for (int i = 0; i < IR_MONOID_COUNT; i++) {
        const ir_monoid_info *info = ir_monoid_describe((ir_monoid)i);
        bool logical = info->dtypes == IR_DTYPES_B;
        if ((info->combine == op->opcode || info->combine_ignoring_nan == op->opcode) &&
            logical == (constant->dtype == BASE_BOOL) &&
            verify_is_identity((ir_monoid)i, constant, op->operands[1 - carry]))
            return true;
    }
    return false;
}

typedef struct partials {
    const replay *r;
    ir_opcode opcode;
    const ir_value *array; /* private, that is looked into: what it holds may be joined there */
} partials;

static bool is_partial(const partials *p, const ir_value *value, int depth);

/* Whether all that is pushed to the array is. */
static bool holds_partials(const partials *p, const ir_region *region, int depth) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == IR_PUSH && op->operands[0] == p->array &&
            !is_partial(p, op->operands[2], depth))
            return false;
        for (int k = 0; k < op->region_count; k++)
            if (!holds_partials(p, op->regions[k], depth))
                return false;
    }
    return true;
}

/* A partial result of the op: what the identity began, through other names of slots and one private
 * array. */
static bool is_partial(const partials *p, const ir_value *value, int depth) {
    const ir_op *op = value->definer;
    if (op == NULL || depth == 0)
        return false;
    if (op->opcode == IR_RENAME)
        return is_partial(p, op->operands[0], depth - 1);
    if (op->opcode == IR_PULL && p->array != NULL)
        return op->operands[0] == p->array;
    if (op->opcode == IR_PULL) {
        const partials inside = {p->r, p->opcode, op->operands[0]};
        return holds_partials(&inside, &p->r->state->module->body, depth - 1);
    }
    if (op->opcode != p->opcode || op->operand_count != 2)
        return false;
    for (int i = 0; i < 2; i++) {
        const ir_constant *literal = replay_of(p->r, op->operands[i])->literal;
        if ((literal != NULL && joins_identity(op, literal, 1 - i)) ||
            is_partial(p, op->operands[i], depth - 1))
            return true;
    }
    return false;
}

/* Whether operand `i`, where a constant stands in for it, leaves the other one as it is: trees over
 * slots and subgroups need no fold or combine, which chains of carries are found from. */
static bool stands_in_well(const replay *r, const ir_op *op, int i) {
    enum { DEPTH = 8 };
    const replay_value *operand = replay_of(r, op->operands[i]);
    if (op->operand_count != 2 || operand->standin == NULL ||
        !joins_identity(op, operand->standin, 1 - i))
        return false;
    const replay_value *other = replay_of(r, op->operands[1 - i]);
    if (other->standin != NULL && !joins_identity(op, other->standin, i))
        return false;
    const partials p = {.r = r, .opcode = op->opcode};
    return (other->literal != NULL && joins_identity(op, other->literal, i)) ||
           is_partial(&p, op->operands[1 - i], DEPTH);
}

/* Where one operand is no element, the result is none: a stand-in serves reductions only. */
static void combine_planes(const replay *r, const ir_op *op, replay_value *result) {
    for (int i = 0; i < op->operand_count; i++) {
        const replay_value *operand = replay_of(r, op->operands[i]);
        bool well = stands_in_well(r, op, i);
        for (int w = 0; w < result->words; w++) {
            result->plane[REPLAY_OUTSIDE][w] |=
                replay_word(operand, REPLAY_OUTSIDE, w) |
                (well ? 0 : replay_word(operand, REPLAY_STANDIN, w));
            result->plane[REPLAY_UNSET][w] |= replay_word(operand, REPLAY_UNSET, w);
        }
    }
}

/* What enters a reduction is an element or the identity. The finding made, the carry goes on. */
static void replay_join(replay *r, const ir_op *op, int carry) {
    replay_value *result = replay_of(r, op->results[0]);
    const replay_value *kept = replay_of(r, op->operands[carry]);
    const replay_value *entering = replay_of(r, op->operands[1 - carry]);
    bool neutral = entering->standin != NULL && joins_identity(op, entering->standin, carry);
    replay_clear(r, result);
    for (int w = 0; w < result->words; w++) {
        uint64_t standin = neutral ? 0 : replay_word(entering, REPLAY_STANDIN, w);
        uint64_t faulty = replay_word(entering, REPLAY_OUTSIDE, w) | standin;
        result->plane[REPLAY_OUTSIDE][w] = replay_word(kept, REPLAY_OUTSIDE, w);
        result->plane[REPLAY_UNSET][w] =
            replay_word(kept, REPLAY_UNSET, w) | replay_word(entering, REPLAY_UNSET, w);
        if (faulty != 0 && replay_is_news(r, op))
            verify_report(r->state, VERIFY_REDUCE_IDENTITY, op,
                          "a select of the identity where there is no element",
                          standin != 0 ? "what stands in for a missing element is not the identity"
                                       : "a lane without an element takes part in a reduction");
    }
}

void replay_compute(replay *r, const ir_op *op) {
    replay_value *result = replay_of(r, op->results[0]);
    r->work -= 2 + result->words;
    if (ir_op_describe(op->opcode)->shape == IR_SHAPE_LEAF) {
        replay_leaf(r, op, result);
        return;
    }
    if (replay_is_collective(op)) {
        replay_collective(r, op);
        return;
    }
    if (op->opcode == IR_BROADCAST) {
        replay_copy(r, result, replay_of(r, op->operands[0]));
        return;
    }
    int carry = r->carry[op->results[0]->number];
    if (carry != 0) {
        replay_join(r, op, carry - 1);
    } else {
        replay_clear(r, result);
        combine_planes(r, op, result);
        compute_numbers(r, op, result);
    }
    if (r->signing)
        replay_marks_compute(r, op);
}
