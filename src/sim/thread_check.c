/* Whether the simulator can run a module: structure only.
 *
 * Operands are there, defined before their use, and have forms and dtypes that the loops can read;
 * sizes fit 64 bits. Whether the program is right is not asked here: a branch on a condition that
 * differs between lanes, or a token in the wrong state, is run.
 */
#include "sim/thread_internal.h"

#include "ir/print.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct structure {
    sim_team *team;
    bool *defined; /* by number of the value */
} structure;

void sim_refuse(sim_team *team, const ir_op *op, const char *format, ...) {
    char message[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    team->refused = true;
    base_location location = {.source = team->module->source};
    base_diagnostic *added = base_diagnostics_add(
        team->diagnostics, "sim-refused",
        op != NULL && op->location.line > 0 ? op->location : location, "%s", message);
    if (op == NULL)
        return;
    base_text line;
    base_text_init(&line, team->diagnostics->arena);
    ir_op_print(&line, team->module, op);
    added->found = line.bytes;
}

/* ---- forms ---- */

static bool is_number(const ir_value *value) {
    return value->type.form == IR_FORM_UNIFORM ||
           (value->type.form == IR_FORM_SLOTS && value->type.slots >= 1);
}

static bool is_i64(const ir_value *value) {
    return value->type.dtype == BASE_I64 || value->type.dtype == BASE_INDEX;
}

/* A uniform, or as many slots. */
static bool fits(const ir_value *value, int slots) {
    return is_number(value) && (value->type.form == IR_FORM_UNIFORM || value->type.slots == slots);
}

static bool is_index(const ir_value *value, int slots) {
    return is_i64(value) && fits(value, slots);
}

/* ---- table ops ---- */

static bool conversion_is_known(const ir_op *op) {
    base_dtype to = op->results[0]->type.dtype, from = op->operands[0]->type.dtype;
    if (op->opcode == IR_CAST)
        return to != BASE_F64 && from != BASE_F64;
    return base_dtype_size(to) == 4 && base_dtype_size(from) == 4;
}

static const char *check_table(const ir_op *op) {
    const ir_op_info *info = ir_op_describe(op->opcode);
    if (op->operand_count != ir_op_operand_count(op->opcode) || op->result_count != 1 ||
        !is_number(op->results[0]))
        return "it has not the operands and the result of its row";
    base_dtype last = op->operands[op->operand_count - 1]->type.dtype;
    base_dtype result = op->results[0]->type.dtype;
    for (int i = 0; i < op->operand_count; i++) {
        base_dtype own = op->operands[i]->type.dtype;
        bool condition = info->shape == IR_SHAPE_SELECT && i == 0;
        if (!fits(op->operands[i], ir_type_slot_count(&op->results[0]->type)))
            return "an operand has other slots than the result";
        if (own != (condition ? BASE_BOOL : last))
            return "its operands differ in dtype";
    }
    if (info->shape == IR_SHAPE_CONVERT)
        return conversion_is_known(op) ? NULL : "there is no such conversion";
    if (result != (info->shape == IR_SHAPE_COMPARE ? BASE_BOOL : last))
        return "its result has another dtype";
    bool is_native = ir_native_find(op->opcode) != NULL; /* is run in its portable form */
    if (is_native)
        return last == BASE_F32 ? NULL : "it does not compute in that dtype";
    return sim_kernel_of(op->opcode, last) != NULL ? NULL : "it does not compute in that dtype";
}

/* ---- lanes ---- */

static const char one_value[] = "it takes one value and gives one of that dtype";
static const char other_slots[] = "the operand has other slots than the result";

static bool is_of_one_value(const ir_op *op) {
    return op->operand_count == 1 && op->result_count == 1 && is_number(op->operands[0]) &&
           is_number(op->results[0]) && op->operands[0]->type.dtype == op->results[0]->type.dtype;
}

/* Of an op of one value. */
static int slots_taken(const ir_op *op) {
    return ir_type_slot_count(&op->operands[0]->type);
}

static int slots_given(const ir_op *op) {
    return ir_type_slot_count(&op->results[0]->type);
}

static const char *check_broadcast(const ir_op *op) {
    if (!is_of_one_value(op))
        return one_value;
    return fits(op->operands[0], slots_given(op)) ? NULL : "the operand has other slots";
}

static const char *check_uniform(const ir_op *op) {
    if (!is_of_one_value(op))
        return one_value;
    return slots_taken(op) == 1 && slots_given(op) == 1 ? NULL : "it takes one slot";
}

static const char *check_rename(const ir_op *op) {
    if (!is_of_one_value(op))
        return one_value;
    const ir_list *slots = &op->attributes.slots;
    if (slots->count != slots_given(op))
        return "it says a slot for each slot of the result";
    for (int i = 0; i < slots->count; i++)
        if (slots->items[i] < 0 || slots->items[i] >= slots_taken(op))
            return "it takes a slot that does not exist";
    return NULL;
}

static const char *check_move(const ir_op *op) {
    if (!is_of_one_value(op))
        return one_value;
    return slots_taken(op) == slots_given(op) ? NULL : other_slots;
}

static const char *check_reduction(const ir_op *op) {
    const ir_monoid_info *monoid = ir_monoid_describe(op->attributes.monoid);
    if (!is_of_one_value(op))
        return one_value;
    int from = slots_taken(op), to = slots_given(op);
    base_dtype dtype = op->operands[0]->type.dtype;
    if (sim_kernel_of(monoid->combine, dtype) == NULL)
        return "its monoid does not compute in that dtype";
    if (op->attributes.nan == IR_NAN_IGNORE &&
        sim_kernel_of(monoid->combine_ignoring_nan, dtype) == NULL)
        return "its monoid does not ignore NaN in that dtype";
    if (op->opcode == IR_COMBINE)
        return from == to ? NULL : other_slots;
    return to == 1 ? NULL : "it folds slots to one";
}

/* ---- memory ---- */

static bool operand_in_range(const ir_op *op, int operand) {
    return operand > 0 && operand < op->operand_count;
}

static const char *check_indices(const ir_op *op, int rank) {
    const ir_access *access = op->attributes.access;
    int slots = ir_op_access_slots(op);
    if (access == NULL || access->rank != rank)
        return "it has not one index for each dimension";
    for (int d = 0; d < rank; d++) {
        const ir_index *index = &access->index[d];
        if (index->kind != IR_INDEX_AFFINE)
            return "an index is not affine";
        const int named[2] = {index->operand, index->vector};
        for (int i = 0; i < 2; i++)
            if (named[i] >= 0 &&
                (!operand_in_range(op, named[i]) || !is_index(op->operands[named[i]], slots)))
                return "an index is not an i64 of the slots of the access";
    }
    if (access->block > 0 &&
        (!operand_in_range(op, access->block) || !is_index(op->operands[access->block], 1)))
        return "the block is not an i64";
    if (access->mask_kind == IR_MASK_NONE)
        return NULL;
    if (!operand_in_range(op, access->mask) || !fits(op->operands[access->mask], slots))
        return "the mask has other slots than the access";
    const ir_value *mask = op->operands[access->mask];
    bool good = access->mask_kind == IR_MASK_BITS ? mask->type.dtype == BASE_BOOL : is_i64(mask);
    return good ? NULL : "the mask is neither bool nor a count";
}

static const char *check_access(sim_team *team, const ir_op *op) {
    bool shared = op->opcode == IR_PUT || op->opcode == IR_GET;
    bool reads = op->opcode == IR_LOAD || op->opcode == IR_GET;
    if (op->operand_count < 1 ||
        op->operands[0]->type.form != (shared ? IR_FORM_SCRATCH : IR_FORM_TENSOR))
        return shared ? "it names no scratch array" : "it names no tensor";
    const ir_value *array = op->operands[0];
    if (!shared && team->parameter_of[array->number] < 0)
        return "its tensor is no parameter";
    if (reads && (op->result_count != 1 || !is_number(op->results[0]) ||
                  op->results[0]->type.dtype != array->type.dtype))
        return "its result has another dtype than the cells";
    const char *reason = check_indices(op, shared ? 1 : array->type.rank);
    if (reason != NULL)
        return reason;
    int slots = ir_op_access_slots(op), fill = op->attributes.access->fill;
    if (fill >= 0 && (!operand_in_range(op, fill) || !fits(op->operands[fill], slots) ||
                      op->operands[fill]->type.dtype != array->type.dtype))
        return "the fill is not an element";
    const ir_value *stored = ir_op_stored(op);
    if (!reads &&
        (stored == NULL || !fits(stored, slots) || stored->type.dtype != array->type.dtype))
        return "what it writes is not an element";
    bool writes_input =
        op->opcode == IR_STORE &&
        team->parameters[team->parameter_of[array->number]].parameter->mode == IR_IN;
    return writes_input ? "it stores to an input" : NULL;
}

static const char *check_array(sim_team *team, const ir_op *op) {
    int64_t cells = 0;
    if (op->result_count < 1 || op->results[0]->type.dtype == BASE_F64 ||
        !layout_extent_evaluate(op->results[0]->type.extent[0], team->words, &cells) || cells < 0 ||
        cells > INT32_MAX)
        return "its cells cannot be counted";
    if (op->results[0]->type.form != (op->opcode == IR_SCRATCH ? IR_FORM_SCRATCH : IR_FORM_PRIVATE))
        return "its result is no array";
    return NULL;
}

static const char *check_private(const ir_op *op) {
    bool pull = op->opcode == IR_PULL;
    if (op->operand_count != (pull ? 2 : 3) || op->result_count != (pull ? 1 : 0) ||
        op->operands[0]->type.form != IR_FORM_PRIVATE || !is_index(op->operands[1], 1))
        return "it takes a private array and a cell";
    const ir_type *array = &op->operands[0]->type;
    const ir_value *value = pull ? op->results[0] : op->operands[2];
    int slots = array->slots > 0 ? array->slots : 1;
    bool same = is_number(value) && value->type.dtype == array->dtype &&
                (pull ? ir_type_slot_count(&value->type) == slots : fits(value, slots));
    return same ? NULL : "the cells are of another type";
}

/* ---- control ---- */

static bool same_form(const ir_value *a, const ir_value *b) {
    if (a->type.form == IR_FORM_TOKEN || b->type.form == IR_FORM_TOKEN)
        return a->type.form == b->type.form;
    return is_number(a) && is_number(b) && a->type.dtype == b->type.dtype &&
           a->type.form == b->type.form &&
           ir_type_slot_count(&a->type) == ir_type_slot_count(&b->type);
}

static const char *check_yield(const ir_op *op, const ir_region *region) {
    const ir_op *yield = ir_region_yield(region);
    int count = yield == NULL ? 0 : yield->operand_count;
    if (count != op->result_count)
        return "a region does not yield what the op gives";
    for (int i = 0; i < count; i++)
        if (!same_form(yield->operands[i], op->results[i]))
            return "a region yields another type than the op gives";
    return NULL;
}

static const char *check_for(const ir_op *op) {
    const ir_region *region = op->region_count == 1 ? op->regions[0] : NULL;
    if (region == NULL || op->operand_count != 3 + op->result_count ||
        region->argument_count != 1 + op->result_count)
        return "its operands, arguments and results do not belong together";
    for (int i = 0; i < 3; i++)
        if (!is_index(op->operands[i], 1))
            return "a bound is not an i64";
    if (!is_index(region->arguments[0], 1))
        return "its index is not an i64";
    for (int i = 0; i < op->result_count; i++)
        if (!same_form(op->operands[3 + i], op->results[i]) ||
            !same_form(region->arguments[1 + i], op->results[i]))
            return "a carry changes its type";
    return check_yield(op, region);
}

static const char *check_choice(const ir_op *op) {
    int regions = op->opcode == IR_WHEN ? 1 : 2;
    if (op->operand_count != 1 || op->region_count < 1 || op->region_count > regions ||
        !fits(op->operands[0], 1) || op->operands[0]->type.dtype != BASE_BOOL)
        return "it takes one bool";
    if (op->region_count == 1 && op->result_count > 0)
        return "only one region gives its results";
    const char *reason = NULL;
    for (int i = 0; i < op->region_count && reason == NULL; i++)
        reason = check_yield(op, op->regions[i]);
    return reason;
}

static const char *check_leaf(sim_team *team, const ir_op *op) {
    int64_t value = 0;
    if (op->result_count != 1 || !is_number(op->results[0]))
        return "it gives one number";
    base_dtype dtype = op->results[0]->type.dtype;
    bool counts = op->opcode == IR_SIZE || op->opcode == IR_GROUP || op->opcode == IR_BLOCK ||
                  op->opcode == IR_IOTA || op->opcode == IR_STRIDE;
    if (dtype == BASE_F64 || (counts && !is_i64(op->results[0])))
        return "it does not give that dtype";
    if (op->opcode == IR_CONSTANT && op->attributes.constant.dtype != dtype)
        return "its literal has another dtype";
    if (op->opcode == IR_SIZE &&
        !layout_extent_evaluate(op->attributes.extent, team->words, &value))
        return "its size leaves 64 bits";
    int parameter = op->attributes.parameter;
    if (op->opcode == IR_PARAMETER &&
        (parameter < 0 || parameter >= team->module->parameter_count ||
         team->module->parameters[parameter].is_tensor ||
         team->module->parameters[parameter].dtype != dtype))
        return "it names no scalar of that dtype";
    int axis = op->attributes.axis;
    if (op->opcode == IR_STRIDE && (parameter < 0 || parameter >= team->module->parameter_count ||
                                    !team->module->parameters[parameter].is_tensor || axis < 0 ||
                                    axis >= team->module->parameters[parameter].value->type.rank))
        return "it names no dimension of a tensor";
    return NULL;
}

/* ---- the walk ---- */

/* Ops that compute nothing give tokens at most. */
static const char *check_results(const ir_op *op, int first) {
    for (int i = first; i < op->result_count; i++)
        if (op->results[i]->type.form != IR_FORM_TOKEN)
            return "it gives a value that it does not compute";
    return NULL;
}

typedef enum op_check {
    CHECK_TABLE, /* an op of the table, or one that does not stand at level thread */
    CHECK_LEAF,
    CHECK_BROADCAST,
    CHECK_UNIFORM,
    CHECK_RENAME,
    CHECK_MOVE,
    CHECK_REDUCTION,
    CHECK_READ,
    CHECK_WRITE,
    CHECK_ARRAY,
    CHECK_PRIVATE,
    CHECK_FOR,
    CHECK_CHOICE,
    CHECK_SYNC,
    CHECK_YIELD,
} op_check;

static const op_check op_checks[IR_OPCODE_COUNT] = {
    [IR_CONSTANT] = CHECK_LEAF,   [IR_SIZE] = CHECK_LEAF,
    [IR_PARAMETER] = CHECK_LEAF,  [IR_STRIDE] = CHECK_LEAF,
    [IR_GROUP] = CHECK_LEAF,      [IR_BLOCK] = CHECK_LEAF,
    [IR_IOTA] = CHECK_LEAF,       [IR_BROADCAST] = CHECK_BROADCAST,
    [IR_UNIFORM] = CHECK_UNIFORM, [IR_RENAME] = CHECK_RENAME,
    [IR_SHUFFLE] = CHECK_MOVE,    [IR_XORSLOT] = CHECK_MOVE,
    [IR_FOLD] = CHECK_REDUCTION,  [IR_COMBINE] = CHECK_REDUCTION,
    [IR_LOAD] = CHECK_READ,       [IR_GET] = CHECK_READ,
    [IR_STORE] = CHECK_WRITE,     [IR_PUT] = CHECK_WRITE,
    [IR_SCRATCH] = CHECK_ARRAY,   [IR_PRIVATE] = CHECK_ARRAY,
    [IR_PULL] = CHECK_PRIVATE,    [IR_PUSH] = CHECK_PRIVATE,
    [IR_FOR] = CHECK_FOR,         [IR_IF] = CHECK_CHOICE,
    [IR_WHEN] = CHECK_CHOICE,     [IR_SYNC] = CHECK_SYNC,
    [IR_YIELD] = CHECK_YIELD,
};

/* Why the op cannot be run, or NULL. */
static const char *check_op(sim_team *team, const ir_op *op) {
    const char *reason = NULL;
    switch (op_checks[op->opcode]) {
    case CHECK_TABLE:
        return (ir_op_describe(op->opcode)->levels & IR_LEVEL_BIT_R) != 0
                   ? check_table(op)
                   : "it does not stand at level thread";
    case CHECK_LEAF:
        return check_leaf(team, op);
    case CHECK_BROADCAST:
        return check_broadcast(op);
    case CHECK_UNIFORM:
        return check_uniform(op);
    case CHECK_RENAME:
        return check_rename(op);
    case CHECK_MOVE:
        return check_move(op);
    case CHECK_REDUCTION:
        return check_reduction(op);
    case CHECK_READ:
        return check_access(team, op);
    case CHECK_WRITE:
        reason = check_access(team, op);
        return reason != NULL ? reason : check_results(op, 0);
    case CHECK_ARRAY:
        reason = check_array(team, op);
        return reason != NULL ? reason : check_results(op, 1);
    case CHECK_PRIVATE:
        return check_private(op);
    case CHECK_FOR:
        return check_for(op);
    case CHECK_CHOICE:
        return check_choice(op);
    case CHECK_SYNC:
        return op->attributes.scope == IR_SCOPE_NONE ? "it has no scope" : check_results(op, 0);
    case CHECK_YIELD:
        return check_results(op, 0);
    }
    return reason;
}

static bool walk(structure *s, const ir_region *region) {
    for (int i = 0; i < region->argument_count; i++)
        s->defined[region->arguments[i]->number] = true;
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->operand_count; i++)
            if (!s->defined[op->operands[i]->number]) {
                sim_refuse(s->team, op, "an operand is not defined here");
                return false;
            }
        const char *reason = check_op(s->team, op);
        if (reason != NULL) {
            sim_refuse(s->team, op, "`%s` cannot be run: %s", ir_op_describe(op->opcode)->text,
                       reason);
            return false;
        }
        for (int i = 0; i < op->region_count; i++)
            if (!walk(s, op->regions[i]))
                return false;
        for (int i = 0; i < op->result_count; i++)
            s->defined[op->results[i]->number] = true;
    }
    for (const ir_op *op = region->first; op != NULL && region->owner != NULL; op = op->next)
        for (int i = 0; i < op->result_count; i++)
            s->defined[op->results[i]->number] = false;
    for (int i = 0; i < region->argument_count; i++)
        s->defined[region->arguments[i]->number] = false;
    return true;
}

static bool check_team(sim_team *team) {
    const ir_module *module = team->module;
    if (module->level != IR_THREAD)
        sim_refuse(team, NULL, "only level thread has lanes");
    else if (module->lanes < 1 || module->lanes > SIM_MAX_LANES)
        sim_refuse(team, NULL, "a team of %d lanes; 1 to %d can be run", module->lanes,
                   SIM_MAX_LANES);
    else if (module->subgroup < 0 ||
             (module->subgroup > 0 && module->lanes % module->subgroup != 0))
        sim_refuse(team, NULL, "a team of %d lanes is not whole subgroups of %d", module->lanes,
                   module->subgroup);
    return !team->refused;
}

bool sim_thread_check(sim_team *team) {
    if (!check_team(team))
        return false;
    structure s = {.team = team,
                   .defined = BASE_NEW_ARRAY(team->arena, bool, team->module->next_value + 1)};
    for (int i = 0; i < team->module->parameter_count; i++)
        if (team->module->parameters[i].is_tensor)
            s.defined[team->module->parameters[i].value->number] = true;
    return walk(&s, &team->module->body);
}
