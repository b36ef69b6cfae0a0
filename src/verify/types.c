/* Types of results and operands: what the op table says of dtypes, and the broadcast rule.
 *
 *     operand-dtype result-dtype broadcast leaf-type literal-range control-type carry-type
 *
 *     %d = sub %t, %m : f32<N below %k>      %t: f32<N below %k>, %m: f32      holds
 */
#include "verify/verify_internal.h"

#include <math.h>

/* ---- dtypes ---- */
static int dtype_bits(const verify_state *state, base_dtype dtype) {
    bool storage = state->module->level != IR_THREAD;
    switch (dtype) {
    case BASE_F32:
        return IR_DTYPES_F;
    case BASE_F16:
    case BASE_BF16:
    case BASE_I8:
    case BASE_U8:
        return storage ? IR_DTYPES_H : 0;
    case BASE_I64:
    case BASE_I32:
    case BASE_U32:
    case BASE_INDEX:
        return IR_DTYPES_I;
    case BASE_BOOL:
        return IR_DTYPES_B;
    case BASE_F64:
        return 0;
    }
    return 0;
}

/* A word of the op table: H stands for every storage type that keeps its type. */
static bool dtype_is_allowed(const verify_state *state, int allowed, base_dtype dtype) {
    return (allowed & IR_DTYPES_ANY) != 0 || (allowed & dtype_bits(state, dtype)) != 0;
}

static bool is_computable(const ir_value *value) {
    return value->type.form == IR_FORM_TILE || value->type.form == IR_FORM_UNIFORM ||
           value->type.form == IR_FORM_SLOTS;
}

static bool operands_are_computable(const ir_op *op) {
    for (int i = 0; i < op->operand_count; i++)
        if (!is_computable(op->operands[i]))
            return false;
    return true;
}

/* Operands of one dtype; a select's condition apart. */
static void rule_operand_dtype(verify_state *state, const ir_op *op, const ir_op_info *info) {
    int first = info->shape == IR_SHAPE_SELECT ? 1 : 0;
    if (first == 1 && op->operands[0]->type.dtype != BASE_BOOL)
        verify_report(state, VERIFY_OPERAND_DTYPE, op, "bool", "the condition is %s",
                      base_dtype_name(op->operands[0]->type.dtype));
    base_dtype dtype = op->operands[first]->type.dtype;
    if (!dtype_is_allowed(state, info->dtypes, dtype))
        verify_report(state, VERIFY_OPERAND_DTYPE, op, "a dtype of the op table",
                      "`%s` does not compute in %s", info->text, base_dtype_name(dtype));
    for (int i = first + 1; i < op->operand_count; i++)
        if (op->operands[i]->type.dtype != dtype)
            verify_report(state, VERIFY_OPERAND_DTYPE, op, base_dtype_name(dtype),
                          "operand %d is %s", i, base_dtype_name(op->operands[i]->type.dtype));
}

static void rule_result_dtype(verify_state *state, const ir_op *op, base_dtype expected) {
    if (op->results[0]->type.dtype != expected)
        verify_report(state, VERIFY_RESULT_DTYPE, op, base_dtype_name(expected), "the result is %s",
                      base_dtype_name(op->results[0]->type.dtype));
}

static bool is_word(base_dtype dtype) {
    return dtype == BASE_F32 || dtype == BASE_I32 || dtype == BASE_U32;
}

static void rule_bitcast_dtype(verify_state *state, const ir_op *op) {
    if (!is_word(op->operands[0]->type.dtype))
        verify_report(state, VERIFY_OPERAND_DTYPE, op, "f32, i32 or u32", "a bitcast of %s",
                      base_dtype_name(op->operands[0]->type.dtype));
    if (!is_word(op->results[0]->type.dtype))
        verify_report(state, VERIFY_RESULT_DTYPE, op, "f32, i32 or u32", "a bitcast to %s",
                      base_dtype_name(op->results[0]->type.dtype));
}

/* ---- shapes ---- */
static bool operand_broadcasts(const verify_state *state, const ir_type *operand,
                               const ir_type *result) {
    if (operand->form == IR_FORM_UNIFORM)
        return true;
    if (operand->form == IR_FORM_SLOTS)
        return result->form == IR_FORM_SLOTS && result->slots == operand->slots;
    if (operand->form != IR_FORM_TILE || result->form != IR_FORM_TILE)
        return false;
    if (operand->rank == 0)
        return true;
    if (operand->rank != result->rank)
        return false;
    for (int i = 0; i < operand->rank; i++)
        if (!verify_extent_is_one(state, operand->extent[i]) &&
            !verify_extent_equal(state, operand->extent[i], result->extent[i]))
            return false;
    return true;
}

/* Something of the operands gives the result each of its axes, or its slots. */
static bool result_is_given(const verify_state *state, const ir_op *op) {
    const ir_type *result = &op->results[0]->type;
    int axes = result->form == IR_FORM_TILE ? result->rank : result->form == IR_FORM_SLOTS ? 1 : 0;
    for (int i = 0; i < axes; i++) {
        bool given = false;
        for (int k = 0; k < op->operand_count && !given; k++) {
            const ir_type *type = &op->operands[k]->type;
            given = type->form == result->form && type->rank == result->rank &&
                    (type->form == IR_FORM_SLOTS ||
                     verify_extent_equal(state, type->extent[i], result->extent[i]));
        }
        if (!given)
            return false;
    }
    return true;
}

static void rule_broadcast(verify_state *state, const ir_op *op) {
    const ir_type *result = &op->results[0]->type;
    for (int i = 0; i < op->operand_count; i++)
        if (!operand_broadcasts(state, &op->operands[i]->type, result))
            verify_report(state, VERIFY_BROADCAST, op,
                          "a scalar, or the rank of the result with extents equal or 1",
                          "operand %d does not broadcast to the result", i);
    if (!result_is_given(state, op))
        verify_report(state, VERIFY_BROADCAST, op, "the shape that the operands broadcast to",
                      "the result has a shape that no operand gives");
}

static void check_table_op(verify_state *state, const ir_op *op) {
    const ir_op_info *info = ir_op_describe(op->opcode);
    if (!operands_are_computable(op)) {
        verify_report(state, VERIFY_OPERAND_DTYPE, op, "values that can be computed with",
                      "an operand is a tensor or a private array");
        return;
    }
    if (info->shape == IR_SHAPE_CONVERT) {
        if (op->opcode == IR_BITCAST)
            rule_bitcast_dtype(state, op);
    } else {
        bool compare = info->shape == IR_SHAPE_COMPARE;
        rule_operand_dtype(state, op, info);
        rule_result_dtype(state, op,
                          compare ? BASE_BOOL : op->operands[op->operand_count - 1]->type.dtype);
    }
    rule_broadcast(state, op);
    verify_table_domains(state, op);
}

/* ---- leaves ---- */
static base_dtype index_dtype(const verify_state *state) {
    return state->module->level == IR_THREAD ? BASE_I64 : BASE_INDEX;
}

static bool is_scalar_of(const ir_value *value, base_dtype dtype) {
    return verify_is_scalar(value) && value->type.dtype == dtype;
}

static bool parameter_type_holds(const verify_state *state, const ir_op *op) {
    if (op->attributes.parameter < 0 || op->attributes.parameter >= state->module->parameter_count)
        return true; /* attribute-range */
    base_dtype dtype = state->module->parameters[op->attributes.parameter].dtype;
    return is_scalar_of(op->results[0], dtype == BASE_INDEX ? index_dtype(state) : dtype);
}

static bool arange_type_holds(const verify_state *state, const ir_op *op) {
    const ir_type *type = &op->results[0]->type;
    return type->form == IR_FORM_TILE && type->rank == 1 && type->dtype == BASE_INDEX &&
           type->domain[0] == NULL &&
           verify_extent_equal(state, type->extent[0], op->attributes.extent);
}

static bool leaf_type_holds(const verify_state *state, const ir_op *op) {
    const ir_value *result = op->results[0];
    if (op->opcode == IR_CONSTANT)
        return is_scalar_of(result, op->attributes.constant.dtype);
    if (op->opcode == IR_SIZE || op->opcode == IR_PROGRAM)
        return is_scalar_of(result, index_dtype(state));
    if (op->opcode == IR_PARAMETER)
        return parameter_type_holds(state, op);
    if (op->opcode == IR_ARANGE)
        return arange_type_holds(state, op);
    if (op->opcode == IR_GROUP || op->opcode == IR_BLOCK || op->opcode == IR_STRIDE)
        return is_scalar_of(result, BASE_I64);
    if (op->opcode == IR_IOTA)
        return result->type.form == IR_FORM_SLOTS && result->type.dtype == BASE_I64;
    return op->opcode != IR_PRIVATE ||
           verify_extent_equal(state, result->type.extent[0], op->attributes.extent);
}

static bool integer_is_of(base_dtype dtype, int64_t value) {
    if (dtype == BASE_BOOL)
        return value == 0 || value == 1;
    int64_t bits = 8 * base_dtype_size(dtype);
    if (bits == 64)
        return true;
    if (base_dtype_kind_of(dtype) == BASE_KIND_UNSIGNED)
        return value >= 0 && value < INT64_C(1) << bits;
    return value >= -(INT64_C(1) << (bits - 1)) && value < INT64_C(1) << (bits - 1);
}

static bool real_is_of(base_dtype dtype, double value) {
    if (isnan(value))
        return true;
    if (dtype == BASE_F16)
        return base_f16_to_double(base_f16_from_double(value)) == value;
    if (dtype == BASE_BF16)
        return base_bf16_to_double(base_bf16_from_double(value)) == value;
    return dtype != BASE_F32 || isinf(value) ||
           (fabs(value) <= 0x1.fffffep127 && (double)(float)value == value);
}

static void check_leaf(verify_state *state, const ir_op *op) {
    if (!leaf_type_holds(state, op))
        verify_report(state, VERIFY_LEAF_TYPE, op, ir_op_describe(op->opcode)->doc,
                      "the result of `%s` has another type", ir_op_describe(op->opcode)->text);
    if (op->opcode != IR_CONSTANT)
        return;
    ir_constant constant = op->attributes.constant;
    bool real = base_dtype_is_float(constant.dtype);
    if (real ? !real_is_of(constant.dtype, constant.real)
             : !integer_is_of(constant.dtype, constant.integer))
        verify_report(state, VERIFY_LITERAL_RANGE, op, "a value that the dtype holds exactly",
                      "not a value of %s", base_dtype_name(constant.dtype));
}

/* ---- control ---- */
static bool is_bound(const verify_state *state, const ir_value *value) {
    return verify_is_scalar(value) && base_dtype_is_integer(value->type.dtype) &&
           (state->module->level != IR_THREAD || value->type.dtype == BASE_I64);
}

static void rule_control_type(verify_state *state, const ir_op *op) {
    if (op->opcode == IR_IF &&
        (!verify_is_scalar(op->operands[0]) || op->operands[0]->type.dtype != BASE_BOOL))
        verify_report(state, VERIFY_CONTROL_TYPE, op, "a bool scalar", "the condition is no bool");
    if (op->opcode != IR_FOR)
        return;
    for (int i = 0; i < 3; i++)
        if (!is_bound(state, op->operands[i]))
            verify_report(state, VERIFY_CONTROL_TYPE, op, "an integer scalar (thread: i64)",
                          "bound %d is no integer scalar", i);
    if (!is_bound(state, op->regions[0]->arguments[0]))
        verify_report(state, VERIFY_CONTROL_TYPE, op, "an integer scalar (thread: i64)",
                      "the index of the loop is no integer scalar");
}

static void check_carried(verify_state *state, const ir_op *op, const char *what, int position,
                          const ir_value *value) {
    const ir_value *result = op->results[position];
    if (!verify_types_agree(state, &value->type, &result->type))
        verify_report(state, VERIFY_CARRY_TYPE, op, "the type of the result",
                      "the %s of result %d has another type", what, position);
}

static void rule_carry_type(verify_state *state, const ir_op *op) {
    for (int k = 0; k < op->region_count && op->opcode != IR_WHEN; k++) {
        const ir_op *yield = ir_region_yield(op->regions[k]);
        if (yield->operand_count != op->result_count) {
            verify_report(state, VERIFY_CARRY_TYPE, yield, "one value for each result",
                          "%d values are yielded for %d results", yield->operand_count,
                          op->result_count);
            continue;
        }
        for (int i = 0; i < op->result_count; i++)
            check_carried(state, op, "yield", i, yield->operands[i]);
    }
    for (int i = 0; i < op->result_count && op->opcode == IR_FOR; i++) {
        check_carried(state, op, "initial value", i, op->operands[3 + i]);
        check_carried(state, op, "argument", i, op->regions[0]->arguments[1 + i]);
    }
}

static void check_op(verify_state *state, const ir_op *op) {
    if (!verify_op_is_formed(state, op))
        return;
    switch (ir_op_describe(op->opcode)->shape) {
    case IR_SHAPE_UNARY:
    case IR_SHAPE_BINARY:
    case IR_SHAPE_COMPARE:
    case IR_SHAPE_SELECT:
    case IR_SHAPE_TERNARY:
    case IR_SHAPE_CONVERT:
        check_table_op(state, op);
        return;
    case IR_SHAPE_LEAF:
        check_leaf(state, op);
        return;
    case IR_SHAPE_REGION:
        rule_control_type(state, op);
        rule_carry_type(state, op);
        return;
    case IR_SHAPE_OTHER:
        verify_shape_change(state, op);
        return;
    case IR_SHAPE_ACCESS:
        return;
    }
}

void verify_types(verify_state *state) {
    verify_walk(state, &state->module->body, check_op);
}
