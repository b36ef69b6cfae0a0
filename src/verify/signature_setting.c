/* What both runs agree on: elements of tensors, constants, and what ops make of one position.
 *
 *     an f32 element    {x 201}            a mark; its number is not known
 *     an i64 element    {label 3}, 0       a mark and a chosen number, another one each round
 *     constants         number 4           folded as the op folds them: add of 4 and 3 is 7
 *
 * The tile run and the thread run call the same functions for an op, so what is wrong here is wrong
 * in both; only which elements meet, and in which cells they end, is compared.
 */
#include "verify/signature_internal.h"

#include <math.h>
#include <string.h>

enum { NAME_ELEMENT = 1, NAME_ELEMENT_AT, NAME_PARAMETER, NAME_NUMBER, NAME_FILL };

/* Integers that come from outside differ between elements, so that conditions and indices do: they
 * lie around 0 and around a size, in turn. */
static int64_t chosen_number(const signature_setting *setting, uint64_t choice) {
    const int64_t near[] = {0, -1, 1, setting->loaded};
    enum { NEAR = sizeof near / sizeof near[0] };
    uint64_t sizes = 2 * (uint64_t)setting->size_count;
    uint64_t at = (choice + 2 * (uint64_t)setting->round) % (NEAR + sizes);
    return at == 0      ? 0
           : at > sizes ? near[at - sizes]
                        : setting->sizes[(at - 1) / 2] - (int64_t)(at % 2);
}

/* The same at random: at the edges of what may be an index, inside, or small. */
static int64_t random_number(const signature_setting *setting, signature_value value) {
    enum { EDGES = 4, ENDS = 4, INSIDE = 4, KINDS = 16, SMALL = 9, APART = 5 };
    uint64_t name = signature_hash(setting->table, value.mark) / KINDS;
    uint64_t random = (uint64_t)signature_model_named(signature_hash(setting->table, value.mark) +
                                                      (uint64_t)setting->round);
    uint64_t kind = (name + APART * (uint64_t)setting->round) % KINDS; /* each, in so many rounds */
    const int64_t edges[EDGES] = {-1, -1, 1, setting->loaded};
    random /= KINDS;
    if (kind < EDGES)
        return edges[kind];
    if (kind >= EDGES + ENDS + INSIDE || setting->extent_count == 0)
        return 2 + (int64_t)(random % SMALL);
    int64_t extent = setting->extents[random % (uint64_t)setting->extent_count];
    random /= (uint64_t)setting->extent_count;
    return kind < EDGES + ENDS ? extent - (int64_t)(kind % 2)
           : extent > 0        ? (int64_t)(random % (uint64_t)extent)
                               : 0;
}

static int64_t random_bit(const signature_setting *setting, signature_value value) {
    uint64_t hash = signature_hash(setting->table, value.mark);
    if (setting->models)
        hash = (uint64_t)signature_model_named(hash + (uint64_t)setting->round);
    return (int64_t)(hash >> 9 & 1);
}

static signature_value named(const signature_setting *setting, const uint64_t *words, int count,
                             base_dtype dtype) {
    uint64_t choice = words[count - 1];
    signature_value value = {.mark = signature_source(setting->table, words, count)};
    value.known = !base_dtype_is_float(dtype);
    value.modelled = value.known || setting->models;
    value.number = !value.modelled ? 0
                   : !value.known
                       ? signature_model_element(signature_hash(setting->table, value.mark) +
                                                 (uint64_t)setting->round)
                   : dtype == BASE_BOOL
                       ? random_bit(setting, value)
                       : explore_wrapped(dtype, setting->models ? random_number(setting, value)
                                                                : chosen_number(setting, choice));
    return value;
}

signature_value signature_element(const signature_setting *setting, int tensor, base_dtype dtype,
                                  int64_t cell) {
    const uint64_t words[] = {NAME_ELEMENT, (uint64_t)tensor, (uint64_t)cell};
    if (base_dtype_is_float(dtype) && !setting->models)
        return signature_nothing(signature_element_source(setting->table, words));
    return named(setting, words, 3, dtype);
}

signature_value signature_element_at(const signature_setting *setting, int tensor,
                                     const signature_value *index, int rank) {
    uint64_t words[2 + 2 * IR_MAX_RANK] = {NAME_ELEMENT_AT, (uint64_t)tensor};
    for (int i = 0; i < rank; i++) {
        if (!index[i].known && signature_is_constant(setting->table, index[i].mark))
            return signature_nothing(SIGNATURE_UNKNOWN);
        words[2 + 2 * i] = index[i].known;
        words[3 + 2 * i] = index[i].known ? (uint64_t)index[i].number
                                          : signature_hash(setting->table, index[i].mark);
    }
    return signature_nothing(signature_source(setting->table, words, 2 + 2 * rank));
}

signature_value signature_parameter(const signature_setting *setting, int parameter,
                                    base_dtype dtype) {
    const uint64_t words[] = {NAME_PARAMETER, (uint64_t)parameter};
    return named(setting, words, 2, dtype);
}

signature_value signature_of_number(const signature_setting *setting, int64_t number) {
    return (signature_value){
        .mark = signature_number(setting->table, number),
        .known = true,
        .number = number,
        .literal = number == 0, /* an axis of one element has no other, x - x no other */
    };
}

signature_value signature_of_literal(const signature_setting *setting,
                                     const ir_constant *constant) {
    if (base_dtype_is_float(constant->dtype)) {
        signature_value real = signature_nothing(signature_literal(setting->table, constant));
        real.modelled = signature_model_literal(constant, &real.number);
        return real;
    }
    signature_value value = signature_of_number(setting, constant->integer);
    value.literal = true;
    return value;
}

signature_value signature_filled(const signature_setting *setting, signature_value fill) {
    double value = 0;
    uint64_t words[] = {NAME_FILL, 0};
    if (!signature_literal_value(setting->table, fill.mark, &value))
        return fill;
    memcpy(&words[1], &value, sizeof value);
    fill.mark = signature_source(setting->table, words, 2);
    return fill;
}

/* Known numbers of constants alone are constants themselves. */
static signature_value numbered(const signature_setting *setting, signature mark, int64_t number,
                                bool literal) {
    if (!signature_is_constant(setting->table, mark))
        return (signature_value){.mark = mark, .known = true, .number = number};
    signature_value value = signature_of_number(setting, number);
    value.literal = value.literal || literal;
    return value;
}

/* ---- ops ---- */
/* The sources of a choice from these: what chose is one. */
static signature sources_of_choice(const signature_setting *setting, signature_value condition,
                                   signature_value a, signature_value b, signature chosen) {
    signature all = signature_union(setting->table, chosen, condition.mark);
    bool numbers = a.known && b.known;
    if (signature_is_same(setting->table, a.mark, b.mark) && all != chosen && !numbers)
        return SIGNATURE_UNKNOWN; /* one value, a pass may have seen, or two */
    return all;
}

signature_value signature_either(const signature_setting *setting, signature_value condition,
                                 signature_value a, signature_value b) {
    signature_value chosen = condition.number != 0 ? a : b;
    bool decided = signature_is_constant(setting->table, condition.mark) || !setting->models;
    if (condition.known && decided)
        return chosen;
    bool same = a.known && b.known && a.number == b.number;
    if (same && signature_is_same(setting->table, a.mark, b.mark))
        return a; /* a pass may have seen that too */
    bool constants = signature_is_constant(setting->table, a.mark) &&
                     signature_is_constant(setting->table, b.mark);
    if (!condition.known && signature_is_constant(setting->table, condition.mark) && !constants)
        return signature_nothing(SIGNATURE_UNKNOWN); /* .. which side it is */
    if (condition.known) {
        signature settled = signature_settled(setting->table, chosen.mark);
        chosen.mark = sources_of_choice(setting, condition, a, b, settled);
        return chosen;
    }
    signature both = signature_union(setting->table, a.mark, b.mark);
    signature all = sources_of_choice(setting, condition, a, b, both);
    return signature_model_either(condition, a, b, signature_nothing(all));
}

/* Sizes, programs and positions that enter arithmetic are sources by their number; 0 is not, as it
 * may be written as a literal where an axis has one element. Of a literal it is not known which. */
static signature_value number_as_float(const signature_setting *setting, signature_value a) {
    const uint64_t words[] = {NAME_NUMBER, (uint64_t)a.number};
    return signature_nothing(a.number == 0 ? signature_number(setting->table, 0)
                             : a.literal   ? (signature)SIGNATURE_UNKNOWN
                                           : signature_source(setting->table, words, 2));
}

/* A literal that is rounded is another literal. */
static signature_value rounded(const signature_setting *setting, base_dtype to, signature_value a) {
    double value = 0;
    if (!signature_literal_value(setting->table, a.mark, &value))
        return a;
    ir_constant result = {.dtype = to, .real = base_float_round(to, value)};
    return result.real == value ? a : signature_nothing(signature_literal(setting->table, &result));
}

static signature_value converted(const signature_setting *setting, const ir_op *op,
                                 signature_value a) {
    base_dtype to = op->results[0]->type.dtype, from = op->operands[0]->type.dtype;
    bool constant = signature_is_constant(setting->table, a.mark);
    if (base_dtype_is_float(to) && constant && a.known && from != BASE_BOOL)
        return number_as_float(setting, a);
    if (base_dtype_is_float(to) && base_dtype_is_float(from))
        return rounded(setting, to, a);
    if (base_dtype_is_float(to) || !a.known)
        return signature_nothing(constant && base_dtype_is_float(from) && !base_dtype_is_float(to)
                                     ? (signature)SIGNATURE_CONSTANT
                                     : a.mark);
    return numbered(setting, a.mark, explore_converted(op, a.number), a.literal);
}

/* false and anything, true or anything. */
static bool decides(ir_opcode opcode, signature_value known) {
    return (opcode == IR_AND && known.number == 0) || (opcode == IR_OR && known.number != 0);
}

/* Of constants. What a comparison says, and what is made of that, is no literal: `true` that a mask
 * begins with does not begin a reduction by `all`. */
static signature_value decided(const signature_setting *setting, ir_opcode opcode,
                               signature_value a, signature_value b, int64_t number) {
    bool compared = ir_op_describe(opcode)->shape == IR_SHAPE_COMPARE;
    if (compared || a.mark == SIGNATURE_CONSTANT || b.mark == SIGNATURE_CONSTANT)
        return (signature_value){.mark = SIGNATURE_CONSTANT, .known = true, .number = number};
    signature_value value = signature_of_number(setting, number);
    value.literal = value.literal || (a.literal && b.literal);
    return value;
}

/* Of two literals, as a pass may have done; floats have no numbers. */
static bool compared(const signature_setting *setting, ir_opcode opcode, signature_value a,
                     signature_value b, signature_value *result) {
    double x = 0, y = 0;
    if (ir_op_describe(opcode)->shape != IR_SHAPE_COMPARE ||
        !signature_literal_value(setting->table, a.mark, &x) ||
        !signature_literal_value(setting->table, b.mark, &y))
        return false;
    bool holds = opcode == IR_LT   ? x < y
                 : opcode == IR_LE ? x <= y
                 : opcode == IR_EQ ? x == y
                                   : x != y;
    *result = (signature_value){.mark = SIGNATURE_CONSTANT, .known = true, .number = holds};
    return true;
}

static signature_value combined(const signature_setting *setting, ir_opcode opcode,
                                base_dtype dtype, signature_value a, signature_value b) {
    signature_value result;
    if (!(a.known && b.known) && compared(setting, opcode, a, b, &result))
        return result;
    explore_function function = explore_integer_function(opcode);
    if (a.known && b.known && function != NULL && signature_is_constant(setting->table, a.mark) &&
        signature_is_constant(setting->table, b.mark))
        return decided(setting, opcode, a, b,
                       explore_wrapped(dtype, function(dtype, a.number, b.number)));
    signature mark = signature_joined(setting->table, opcode, dtype, a.mark, b.mark);
    if (dtype == BASE_BOOL && a.known != b.known && decides(opcode, a.known ? a : b))
        return (signature_value){.mark = mark, .known = true, .number = opcode == IR_OR};
    if (!a.known || !b.known || function == NULL)
        return signature_nothing(mark);
    return numbered(setting, mark, explore_wrapped(dtype, function(dtype, a.number, b.number)),
                    a.literal && b.literal);
}

signature_value signature_combined(const signature_setting *setting, ir_opcode opcode,
                                   base_dtype dtype, signature_value a, signature_value b) {
    const signature_value operands[] = {a, b};
    return signature_model_op(setting, NULL, opcode, dtype, operands, 2,
                              combined(setting, opcode, dtype, a, b));
}

/* A function of a constant may be computed before the kernel runs; as the identity it would begin a
 * reduction. */
static bool may_be_neutral(const signature_setting *setting, const ir_op *op, signature_value a) {
    static const struct {
        ir_opcode opcode;
        double (*function)(double);
    } functions[] = {{IR_EXP, exp},   {IR_EXP2, exp2}, {IR_LOG, log},
                     {IR_LOG2, log2}, {IR_TANH, tanh}, {IR_ERF, erf}};
    double value = 0;
    ir_opcode opcode = op->opcode;
    if (!ir_op_is_math(opcode)) /* native forms among them: no pass computes those */
        return false;
    if (!signature_literal_value(setting->table, a.mark, &value))
        return true;
    double result = opcode == IR_RSQRT ? 1 / sqrt(value) : 1 / (1 + exp(-value));
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        if (functions[i].opcode == opcode)
            result = functions[i].function(value);
    return !(fabs(result) > 1e-30 && fabs(result) < 1e30 && fabs(result - 1) > 1e-5);
}

static signature_value unary(const signature_setting *setting, const ir_op *op, signature_value a) {
    explore_function function = explore_integer_function(op->opcode);
    base_dtype dtype = op->results[0]->type.dtype;
    if (a.known && function != NULL)
        return numbered(setting, a.mark, explore_wrapped(dtype, function(dtype, a.number, 0)),
                        a.literal);
    if (!signature_is_constant(setting->table, a.mark))
        return signature_nothing(signature_settled(setting->table, a.mark));
    return signature_nothing(may_be_neutral(setting, op, a) ? SIGNATURE_UNKNOWN
                                                            : SIGNATURE_CONSTANT);
}

signature_value signature_computed(const signature_setting *setting, const ir_op *op,
                                   const signature_value *operands, int count) {
    base_dtype dtype = op->results[0]->type.dtype;
    if (op->opcode == IR_EXPAND || op->opcode == IR_DROP || op->opcode == IR_BROADCAST ||
        op->opcode == IR_CONVERT)
        return operands[0];
    if (op->opcode == IR_SELECT)
        return signature_either(setting, operands[0], operands[1], operands[2]);
    if (count == 2)
        return signature_combined(setting, op->opcode, dtype, operands[0], operands[1]);
    signature_value value = {0};
    if (op->opcode == IR_CAST) {
        value = converted(setting, op, operands[0]);
    } else if (count == 1) {
        value = unary(setting, op, operands[0]);
    } else {
        value.mark = signature_union(setting->table, operands[0].mark, operands[1].mark);
        value.mark = signature_union(setting->table, value.mark, operands[2].mark);
    }
    return signature_model_op(setting, op, op->opcode, dtype, operands, count, value);
}

/* ---- many positions ---- */
bool signature_has_rows(const signature_setting *setting, const ir_op *op) {
    bool real = base_dtype_is_float(op->results[0]->type.dtype);
    for (int i = 0; i < op->operand_count; i++)
        real = real && base_dtype_is_float(op->operands[i]->type.dtype);
    return real && !setting->models && op->operand_count > 0 && op->operand_count <= 3;
}

static signature mark_of_one(const signature_setting *setting, const ir_op *op, signature a) {
    signature_value value = signature_nothing(a);
    value = op->opcode == IR_CAST ? rounded(setting, op->results[0]->type.dtype, value)
                                  : unary(setting, op, value);
    return value.mark;
}

void signature_compute_rows(const signature_setting *setting, const ir_op *op,
                            const signature_row *operands, int count, signature *result,
                            int64_t positions) {
    signature_row a = operands[0];
    if (count == 2) {
        signature_join_rows(setting->table, op->opcode, op->results[0]->type.dtype, a, operands[1],
                            result, positions);
        return;
    }
    for (int64_t i = 0; i < positions && count == 1; i++)
        result[i] = i > 0 && a.items[i * a.step] == a.items[(i - 1) * a.step]
                        ? result[i - 1]
                        : mark_of_one(setting, op, a.items[i * a.step]);
    for (int64_t i = 0; i < positions && count == 3; i++) {
        result[i] = signature_union(setting->table, a.items[i * a.step],
                                    operands[1].items[i * operands[1].step]);
        result[i] =
            signature_union(setting->table, result[i], operands[2].items[i * operands[2].step]);
    }
}

bool signature_side(const signature_setting *setting, signature_value condition, bool *side) {
    *side = condition.known ? condition.number != 0
                            : (signature_hash(setting->table, condition.mark) >> 9 & 1) != 0;
    return condition.known || (condition.mark != SIGNATURE_UNKNOWN &&
                               !signature_is_constant(setting->table, condition.mark));
}

ir_opcode signature_joining_opcode(ir_monoid monoid, ir_nan nan, base_dtype dtype) {
    const ir_monoid_info *info = ir_monoid_describe(monoid);
    bool ignore = nan == IR_NAN_IGNORE && base_dtype_is_float(dtype);
    return ignore ? info->combine_ignoring_nan : info->combine;
}
