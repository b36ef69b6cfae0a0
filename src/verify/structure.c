/* Structure: what stands where, at all levels.
 *
 *     op-level operand-count result-count region-arguments yield-last dominance type-form
 *     domain-form attribute-range
 *
 * Dominance keeps, while it walks, the value of each number that is defined at this place; leaving
 * a region takes its values away again.
 */
#include "verify/verify_internal.h"

#include <string.h>

enum { ANY_COUNT = IR_OPERANDS_ANY };

/* ---- counts ---- */
/* Ops whose shape does not say how many operands and results there are. */
typedef struct op_counts {
    bool own; /* this row counts, not the shape */
    int operands, results, regions;
} op_counts;

static const op_counts own_counts[IR_OPCODE_COUNT] = {
    [IR_EXPAND] = {true, 1, 1, 0},
    [IR_DROP] = {true, 1, 1, 0},
    [IR_BROADCAST] = {true, 1, 1, 0},
    [IR_PAD] = {true, 2, 1, 0},
    [IR_CONVERT] = {true, 1, 1, 0},
    [IR_REDUCE] = {true, 1, 1, 0},
    [IR_FOLD] = {true, 1, 1, 0},
    [IR_COMBINE] = {true, 1, 1, 0},
    [IR_PULL] = {true, 2, 1, 0},
    [IR_PUSH] = {true, 3, 0, 0},
    [IR_IF] = {true, 1, ANY_COUNT, 2},
    [IR_WHEN] = {true, 1, 0, 1},
    [IR_LOAD] = {true, ANY_COUNT, 1, 0},
    [IR_SWEEP] = {true, 0, ANY_COUNT, 1},
    [IR_STORE] = {true, ANY_COUNT, 0, 0},
    [IR_YIELD] = {true, ANY_COUNT, 0, 0},
    [IR_FOR] = {true, ANY_COUNT, ANY_COUNT, 1},
    [IR_UNIFORM] = {true, 1, 1, 0},
    [IR_SHUFFLE] = {true, 1, 1, 0},
    [IR_RENAME] = {true, 1, 1, 0},
    [IR_XORSLOT] = {true, 1, 1, 0},
    [IR_SCRATCH] = {true, 0, 2, 0},
    [IR_PUT] = {true, ANY_COUNT, 1, 0},
    [IR_GET] = {true, ANY_COUNT, 1, 0},
    [IR_SYNC] = {true, ANY_COUNT, ANY_COUNT, 0},
};

static void expected_counts(ir_opcode opcode, int *operands, int *results, int *regions) {
    const op_counts *own = &own_counts[opcode];
    *operands = own->own ? own->operands : ir_op_operand_count(opcode);
    *results = own->own ? own->results : 1;
    *regions = own->regions;
}

bool verify_operand_count_holds(const ir_op *op) {
    int operands, results, regions;
    expected_counts(op->opcode, &operands, &results, &regions);
    if (op->opcode == IR_FOR)
        return op->operand_count >= 3;
    if (op->opcode == IR_STORE)
        return op->operand_count >= 2;
    if (op->opcode == IR_PUT)
        return op->operand_count >= 3;
    if (op->opcode == IR_GET)
        return op->operand_count >= 2;
    if (op->opcode == IR_LOAD)
        return op->operand_count >= 1;
    return operands == ANY_COUNT || op->operand_count == operands;
}

bool verify_result_count_holds(const ir_op *op) {
    int operands, results, regions;
    expected_counts(op->opcode, &operands, &results, &regions);
    if (op->opcode == IR_FOR)
        return op->result_count == op->operand_count - 3;
    if (op->opcode == IR_SYNC)
        return op->result_count == op->operand_count;
    return results == ANY_COUNT || op->result_count == results;
}

bool verify_region_arguments_hold(const ir_op *op) {
    int operands, results, regions;
    expected_counts(op->opcode, &operands, &results, &regions);
    if (op->region_count != regions)
        return false;
    for (int i = 0; i < regions; i++)
        if (op->regions[i]->argument_count != (op->opcode == IR_FOR ? op->operand_count - 2 : 0))
            return false;
    return true;
}

static bool region_yields(const ir_op *owner) {
    return owner != NULL && owner->opcode != IR_WHEN;
}

static bool ends_with_yields(const ir_op *op) {
    for (int i = 0; i < op->region_count; i++)
        if (region_yields(op) != (ir_region_yield(op->regions[i]) != NULL))
            return false;
    return true;
}

bool verify_op_is_formed(const verify_state *state, const ir_op *op) {
    if (!verify_operand_count_holds(op) || !verify_result_count_holds(op) ||
        !verify_region_arguments_hold(op) || !ends_with_yields(op))
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i] == NULL || !verify_type_is_formed(state, &op->operands[i]->type))
            return false;
    for (int i = 0; i < op->result_count; i++)
        if (!verify_type_is_formed(state, &op->results[i]->type))
            return false;
    return ir_op_describe(op->opcode)->shape != IR_SHAPE_ACCESS ||
           verify_access_is_formed(state, op);
}

bool verify_region_is_formed(const verify_state *state, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (!verify_op_is_formed(state, op))
            return false;
        for (int k = 0; k < op->region_count; k++)
            if (!verify_region_is_formed(state, op->regions[k]))
                return false;
    }
    return true;
}

static void rule_op_level(verify_state *state, const ir_op *op) {
    static const int bits[] = {
        [IR_TILE] = IR_LEVEL_BIT_T, [IR_MAPPED] = IR_LEVEL_BIT_M, [IR_THREAD] = IR_LEVEL_BIT_R};
    if ((ir_op_describe(op->opcode)->levels & bits[state->module->level]) == 0)
        verify_report(state, VERIFY_OP_LEVEL, op, "an op of this level",
                      "`%s` does not exist at level %s", ir_op_describe(op->opcode)->text,
                      ir_level_name(state->module->level));
}

static void rule_operand_count(verify_state *state, const ir_op *op) {
    if (!verify_operand_count_holds(op))
        verify_report(state, VERIFY_OPERAND_COUNT, op, ir_op_describe(op->opcode)->doc,
                      "`%s` does not take %d operands", ir_op_describe(op->opcode)->text,
                      op->operand_count);
}

static void rule_result_count(verify_state *state, const ir_op *op) {
    if (verify_operand_count_holds(op) && !verify_result_count_holds(op))
        verify_report(state, VERIFY_RESULT_COUNT, op, ir_op_describe(op->opcode)->doc,
                      "`%s` does not give %d results here", ir_op_describe(op->opcode)->text,
                      op->result_count);
}

static void rule_region_arguments(verify_state *state, const ir_op *op) {
    if (verify_operand_count_holds(op) && !verify_region_arguments_hold(op))
        verify_report(state, VERIFY_REGION_ARGUMENTS, op,
                      "a for has its index and carries; other regions have no arguments",
                      "the regions of `%s` do not fit it", ir_op_describe(op->opcode)->text);
}

static void rule_yield_last(verify_state *state, const ir_op *op) {
    if (!ends_with_yields(op))
        verify_report(state, VERIFY_YIELD_LAST, op,
                      "for, if and sweep end with a yield; when does not",
                      "a region of `%s` does not end as it must", ir_op_describe(op->opcode)->text);
    if (op->opcode == IR_YIELD &&
        (op->next != NULL || op->parent == NULL || op->parent->owner == NULL))
        verify_report(state, VERIFY_YIELD_LAST, op, "a yield at the end of a region",
                      "a yield that ends no region");
}

/* ---- types ---- */
static bool dtype_is_of_level(const verify_state *state, base_dtype dtype) {
    return dtype != BASE_F64 && !(state->module->level == IR_THREAD && dtype == BASE_INDEX);
}

static bool extent_is_formed(const verify_state *state, const layout_extent *extent) {
    int64_t value = 0;
    return extent != NULL &&
           (!layout_extent_known(&state->module->extents, extent, &value) || value >= 0);
}

/* Of a constant number of cells, at least one. */
static bool scratch_is_formed(const verify_state *state, const layout_extent *extent) {
    int64_t cells = 0;
    return extent != NULL && layout_extent_known(&state->module->extents, extent, &cells) &&
           cells >= 1 && cells <= INT32_MAX;
}

bool verify_type_is_formed(const verify_state *state, const ir_type *type) {
    bool thread = state->module->level == IR_THREAD;
    if (!dtype_is_of_level(state, type->dtype))
        return false;
    switch (type->form) {
    case IR_FORM_TILE:
    case IR_FORM_TENSOR:
        if ((type->form == IR_FORM_TILE && thread) || type->rank < 0 || type->rank > IR_MAX_RANK)
            return false;
        for (int i = 0; i < type->rank; i++)
            if (!extent_is_formed(state, type->extent[i]))
                return false;
        return true;
    case IR_FORM_UNIFORM:
        return thread;
    case IR_FORM_SLOTS:
        return thread && type->slots >= 1;
    case IR_FORM_PRIVATE:
        return thread && type->slots >= 0 && extent_is_formed(state, type->extent[0]);
    case IR_FORM_SCRATCH:
        return thread && type->rank == 1 && scratch_is_formed(state, type->extent[0]);
    case IR_FORM_TOKEN:
        return thread && type->scratch != NULL && type->scratch->type.form == IR_FORM_SCRATCH;
    }
    return false;
}

static void rule_type_form(verify_state *state, const ir_op *op, const ir_value *value) {
    bool private_op = op->opcode == IR_PRIVATE, tensor = value->type.form == IR_FORM_TENSOR;
    bool private_type = value->type.form == IR_FORM_PRIVATE;
    bool scratch_type = value->type.form == IR_FORM_SCRATCH;
    bool scratch = op->opcode == IR_SCRATCH && op->result_count > 0 && op->results[0] == value;
    if (!verify_type_is_formed(state, &value->type) || tensor || private_op != private_type ||
        scratch != scratch_type)
        verify_report(state, VERIFY_TYPE_FORM, op, "a type of this level",
                      "a value of a type that does not exist here");
}

static void rule_domain_form(verify_state *state, const ir_op *op, const ir_value *value) {
    if (value->type.form != IR_FORM_TILE || value->type.rank > IR_MAX_RANK)
        return;
    for (int i = 0; i < value->type.rank; i++) {
        const ir_value *domain = value->type.domain[i];
        if (domain != NULL && (!verify_is_scalar(domain) || domain->type.dtype != BASE_INDEX))
            verify_report(state, VERIFY_DOMAIN_FORM, op, "an index scalar",
                          "the domain of axis %d is no index scalar", i);
    }
}

/* ---- dominance ---- */
static bool is_visible(const verify_state *state, const ir_value *value) {
    return value != NULL && value->number >= 0 && value->number < state->module->next_value &&
           state->visible[value->number] == value;
}

static void check_use(verify_state *state, const ir_op *op, const ir_value *value) {
    if (!is_visible(state, value))
        verify_report(state, VERIFY_DOMINANCE, op, "a value defined above, here or around",
                      "a value is used where it is not defined");
}

static void check_domains(verify_state *state, const ir_op *op, const ir_value *value) {
    bool own = op != NULL && op->opcode == IR_SCRATCH; /* its token is of its own array */
    if (value->type.form == IR_FORM_TOKEN && value->type.scratch != NULL && !own)
        check_use(state, op, value->type.scratch);
    if (value->type.form != IR_FORM_TILE)
        return;
    for (int i = 0; i < value->type.rank && i < IR_MAX_RANK; i++)
        if (value->type.domain[i] != NULL)
            check_use(state, op, value->type.domain[i]);
}

static void define(verify_state *state, const ir_op *op, const ir_value *value) {
    if (value->number < 0 || value->number >= state->module->next_value ||
        state->visible[value->number] != NULL) {
        verify_report(state, VERIFY_DOMINANCE, op, "a number of its own below next_value",
                      "two values have the number %d", (int)value->number);
        return;
    }
    state->visible[value->number] = value;
}

static void undefine(verify_state *state, const ir_value *value) {
    if (is_visible(state, value))
        state->visible[value->number] = NULL;
}

static void check_value(verify_state *state, const ir_op *op, const ir_value *value) {
    check_domains(state, op, value);
    rule_type_form(state, op, value);
    rule_domain_form(state, op, value);
}

static void rule_dominance(verify_state *state, const ir_region *region, const ir_op *owner) {
    for (int i = 0; i < region->argument_count; i++) {
        check_value(state, owner, region->arguments[i]);
        define(state, owner, region->arguments[i]);
    }
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->operand_count; i++)
            check_use(state, op, op->operands[i]);
        for (int i = 0; i < op->result_count; i++)
            check_value(state, op, op->results[i]);
        for (int i = 0; i < op->region_count; i++)
            rule_dominance(state, op->regions[i], op);
        for (int i = 0; i < op->result_count; i++)
            define(state, op, op->results[i]);
    }
    for (int i = 0; i < region->argument_count; i++)
        undefine(state, region->arguments[i]);
    for (const ir_op *op = region->first; op != NULL && owner != NULL; op = op->next)
        for (int i = 0; i < op->result_count; i++)
            undefine(state, op->results[i]);
}

/* ---- attributes ---- */
static bool axis_attribute_holds(const verify_state *state, const ir_op *op) {
    int axis = op->attributes.axis;
    if (op->opcode == IR_PROGRAM)
        return axis >= 0 && axis < state->module->program_count;
    if (op->operand_count < 1 || op->operands[0] == NULL)
        return true;
    int rank = op->operands[0]->type.form == IR_FORM_TILE ? op->operands[0]->type.rank : 0;
    return axis >= 0 && axis < (op->opcode == IR_EXPAND ? rank + 1 : rank);
}

static bool sweep_axes_hold(const verify_state *state, const ir_op *op) {
    const ir_attributes *attributes = &op->attributes;
    if (attributes->axis_count < 0 || attributes->axis_count > IR_MAX_RANK)
        return false;
    for (int i = 0; i < attributes->axis_count; i++) {
        if (attributes->axes[i] < 0 || attributes->axes[i] >= state->module->axis_count)
            return false;
        for (int k = 0; k < i; k++)
            if (attributes->axes[k] == attributes->axes[i])
                return false;
    }
    return true;
}

static bool parameter_attribute_holds(const verify_state *state, const ir_op *op) {
    int parameter = op->attributes.parameter;
    return parameter >= 0 && parameter < state->module->parameter_count &&
           !state->module->parameters[parameter].is_tensor;
}

bool verify_stride_is_formed(const verify_state *state, const ir_op *op) {
    int parameter = op->attributes.parameter, axis = op->attributes.axis;
    return parameter >= 0 && parameter < state->module->parameter_count &&
           state->module->parameters[parameter].is_tensor && axis >= 0 &&
           axis < state->module->parameters[parameter].value->type.rank;
}

static void rule_attribute_range(verify_state *state, const ir_op *op) {
    bool holds = true;
    if (op->opcode == IR_PROGRAM || op->opcode == IR_REDUCE || op->opcode == IR_EXPAND ||
        op->opcode == IR_DROP)
        holds = axis_attribute_holds(state, op);
    else if (op->opcode == IR_SWEEP)
        holds = sweep_axes_hold(state, op);
    else if (op->opcode == IR_PARAMETER)
        holds = parameter_attribute_holds(state, op);
    else if (op->opcode == IR_STRIDE)
        holds = verify_stride_is_formed(state, op);
    else if (op->opcode == IR_SIZE || op->opcode == IR_ARANGE || op->opcode == IR_PRIVATE ||
             op->opcode == IR_SCRATCH)
        holds = op->attributes.extent != NULL;
    else if (op->opcode == IR_CONVERT)
        holds = op->attributes.layout != NULL;
    if (!holds)
        verify_report(state, VERIFY_ATTRIBUTE_RANGE, op, ir_op_describe(op->opcode)->doc,
                      "an attribute of `%s` names what is not there",
                      ir_op_describe(op->opcode)->text);
}

static void check_op(verify_state *state, const ir_op *op) {
    rule_op_level(state, op);
    rule_operand_count(state, op);
    rule_result_count(state, op);
    rule_region_arguments(state, op);
    rule_yield_last(state, op);
    rule_attribute_range(state, op);
}

void verify_structure(verify_state *state) {
    verify_walk(state, &state->module->body, check_op);
    for (int i = 0; i < state->module->parameter_count; i++) {
        const ir_parameter *parameter = &state->module->parameters[i];
        if (!parameter->is_tensor || parameter->value == NULL)
            continue;
        define(state, NULL, parameter->value);
        if (!verify_type_is_formed(state, &parameter->value->type) ||
            parameter->value->type.form != IR_FORM_TENSOR)
            verify_report(state, VERIFY_TYPE_FORM, NULL, "a tensor",
                          "parameter %s has no type of a tensor", parameter->name);
    }
    rule_dominance(state, &state->module->body, NULL);
}
