/* count_faults: level tile. The number of faulty gathers of each program (count_faults.h).
 *
 *     %t = load x[%row, %i]         -> the same, and behind it %c, its faults: an i64 scalar
 *     for { .. load .. }            -> a carry that adds those of its iterations
 *     if { .. load .. } else { }    -> a result: those of the branch that runs, 0 of the other
 *
 * Behind the body the sum is stored into the program's element of one more tensor.
 */
#include "pass/count_faults.h"

#include "ir/builder.h"

#include <string.h>

static ir_value *count_region(ir_module *module, ir_region *region);

/* ---- places ---- */
/* Ops that are built in a region of their own, and then stand before `where`, or last in `region`.
 */
static void splice(ir_region *region, ir_op *where, ir_region *built) {
    for (ir_op *op = built->first, *next; op != NULL; op = next) {
        next = op->next;
        if (where != NULL)
            ir_op_insert_before(where, op);
        else
            ir_op_append(region, op);
    }
}

static ir_value *integer(ir_builder *builder, int64_t value) {
    return ir_build_integer(builder, BASE_I64, value);
}

/* ---- one load ---- */
/* Whether the index is outside its dimension, of the shape of the index. */
static ir_value *outside(ir_builder *builder, ir_value *index, const layout_extent *extent) {
    if (index->type.dtype != BASE_INDEX)
        index = ir_build_cast(builder, index, BASE_INDEX, IR_ROUND_ZERO);
    ir_value *zero = ir_build_integer(builder, BASE_INDEX, 0);
    ir_value *end = ir_build_size(builder, extent);
    return ir_build_binary(builder, IR_OR, ir_build_binary(builder, IR_LT, index, zero),
                           ir_build_binary(builder, IR_LE, end, index));
}

/* Whether an index of the kind that is not proved inside is outside; NULL: there is none. */
static ir_value *outside_of_kind(ir_builder *builder, const ir_op *load, ir_index_kind kind) {
    const ir_access *access = load->attributes.access;
    ir_value *any = NULL;
    for (int d = 0; d < access->rank; d++) {
        if (access->index[d].kind != kind || access->index[d].inside)
            continue;
        ir_value *one = outside(builder, load->operands[access->index[d].operand],
                                load->operands[0]->type.extent[d]);
        any = any == NULL ? one : ir_build_binary(builder, IR_OR, any, one);
    }
    return any;
}

/* The sum over the first axis, which goes: the last one leaves a scalar. */
static ir_value *sum_first_axis(ir_builder *builder, ir_value *tile) {
    int last = tile->type.rank - 1;
    ir_type type = last == 0 ? ir_type_scalar(BASE_I64) : tile->type;
    if (last > 0) {
        type.extent[0] = layout_extent_constant(&builder->module->extents, 1);
        type.domain[0] = NULL;
    }
    ir_op *reduce = ir_build_op(builder, IR_REDUCE, 1, &tile, 1, &type, 0);
    reduce->attributes.monoid = IR_MONOID_SUM;
    if (last == 0)
        return reduce->results[0];
    for (int d = 0; d < last; d++) {
        type.extent[d] = type.extent[d + 1];
        type.domain[d] = type.domain[d + 1];
    }
    type.extent[last] = NULL;
    type.domain[last] = NULL;
    type.rank = last;
    return ir_build_op(builder, IR_DROP, 1, reduce->results, 1, &type, 0)->results[0];
}

/* How many elements of a tile of truths are true, in the shape and domain of the load. */
static ir_value *count_elements(ir_builder *builder, ir_value *truths, const ir_type *shape) {
    ir_type type = *shape;
    type.dtype = BASE_BOOL;
    if (!ir_type_equal(builder->module, &truths->type, &type))
        truths = ir_build_op(builder, IR_BROADCAST, 1, &truths, 1, &type, 0)->results[0];
    ir_value *count = ir_build_select(builder, truths, integer(builder, 1), integer(builder, 0));
    while (count->type.rank > 0)
        count = sum_first_axis(builder, count);
    return count;
}

/* A load of no elements reads nothing. NULL: it is known to have some. */
static ir_value *has_elements(ir_builder *builder, const ir_type *type) {
    ir_value *all = NULL;
    for (int d = 0; d < type->rank; d++) {
        int64_t known = 0;
        ir_value *end = type->domain[d];
        if (end == NULL &&
            layout_extent_known(&builder->module->extents, type->extent[d], &known) && known > 0)
            continue;
        if (end == NULL)
            end = ir_build_size(builder, type->extent[d]);
        ir_value *some =
            ir_build_binary(builder, IR_LT, ir_build_integer(builder, BASE_INDEX, 0), end);
        all = all == NULL ? some : ir_build_binary(builder, IR_AND, all, some);
    }
    return all;
}

static bool may_fault(const ir_op *op) {
    const ir_access *access = op->attributes.access;
    bool open = false;
    for (int d = 0; op->opcode == IR_LOAD && d < access->rank; d++)
        open = open || (access->index[d].kind != IR_INDEX_RANGE && !access->index[d].inside);
    return open && !access->fill_declared;
}

/* Where a scalar index is outside, the whole load is one fault. */
static ir_value *count_load(ir_builder *builder, const ir_op *load) {
    const ir_type *type = &load->results[0]->type;
    ir_value *elements = outside_of_kind(builder, load, IR_INDEX_GATHER);
    ir_value *whole = outside_of_kind(builder, load, IR_INDEX_POINT);
    ir_value *count =
        elements == NULL ? integer(builder, 0) : count_elements(builder, elements, type);
    if (whole == NULL)
        return count;
    ir_value *some = has_elements(builder, type);
    ir_value *one = integer(builder, 1);
    if (some != NULL)
        one = ir_build_select(builder, some, one, integer(builder, 0));
    return ir_build_select(builder, whole, one, count);
}

/* ---- loops and branches ---- */
static void push_operand(ir_module *module, ir_op *op, ir_value *value) {
    ir_value **operands = BASE_NEW_ARRAY(module->arena, ir_value *, op->operand_count + 1);
    for (int i = 0; i < op->operand_count; i++)
        operands[i] = op->operands[i];
    operands[op->operand_count++] = value;
    op->operands = operands;
}

static ir_value *push_result(ir_module *module, ir_op *op) {
    ir_value **results = BASE_NEW_ARRAY(module->arena, ir_value *, op->result_count + 1);
    for (int i = 0; i < op->result_count; i++)
        results[i] = op->results[i];
    ir_value *result = ir_value_create(module, ir_type_scalar(BASE_I64), NULL);
    result->definer = op;
    results[op->result_count++] = result;
    op->results = results;
    return result;
}

/* The region yields one value more: `count`, 0 where it is NULL, on top of `before`, if any. */
static void push_yield(ir_module *module, ir_region *region, ir_value *before, ir_value *count) {
    ir_op *yield = ir_region_yield(region);
    ir_region built = {0};
    ir_builder builder = {.module = module, .region = &built, .location = yield->location};
    if (count == NULL)
        count = integer(&builder, 0);
    if (before != NULL)
        count = ir_build_binary(&builder, IR_ADD, before, count);
    splice(region, yield, &built);
    push_operand(module, yield, count);
}

static ir_value *count_loop(ir_module *module, ir_op *loop) {
    ir_value *count = count_region(module, loop->regions[0]);
    if (count == NULL)
        return NULL;
    ir_region built = {0};
    ir_builder builder = {.module = module, .region = &built, .location = loop->location};
    push_operand(module, loop, integer(&builder, 0));
    splice(loop->parent, loop, &built);
    ir_value *before =
        ir_region_add_argument(module, loop->regions[0], ir_type_scalar(BASE_I64), NULL);
    push_yield(module, loop->regions[0], before, count);
    return push_result(module, loop);
}

static ir_value *count_branches(ir_module *module, ir_op *branch) {
    ir_value *counts[2];
    for (int i = 0; i < 2; i++)
        counts[i] = count_region(module, branch->regions[i]);
    if (counts[0] == NULL && counts[1] == NULL)
        return NULL;
    for (int i = 0; i < 2; i++)
        push_yield(module, branch->regions[i], NULL, counts[i]);
    return push_result(module, branch);
}

static ir_value *count_op(ir_module *module, ir_builder *builder, ir_op *op) {
    if (op->opcode == IR_FOR)
        return count_loop(module, op);
    if (op->opcode == IR_IF)
        return count_branches(module, op);
    return may_fault(op) ? count_load(builder, op) : NULL;
}

/* All of a region; NULL: nothing in it can be a fault. */
static ir_value *count_region(ir_module *module, ir_region *region) {
    ir_value *total = NULL;
    for (ir_op *op = region->first, *next; op != NULL; op = next) {
        next = op->next;
        ir_region built = {0};
        ir_builder builder = {.module = module, .region = &built, .location = op->location};
        ir_value *count = count_op(module, &builder, op);
        if (count == NULL)
            continue;
        total = total == NULL ? count : ir_build_binary(&builder, IR_ADD, total, count);
        splice(region, next, &built);
    }
    return total;
}

/* ---- the tensor ---- */
static bool name_is_taken(const ir_module *module, const char *name) {
    bool taken = false;
    for (int i = 0; i < module->parameter_count; i++)
        taken = taken || strcmp(module->parameters[i].name, name) == 0;
    for (int64_t i = 0; i < module->extents.symbol_count; i++)
        taken = taken || strcmp(module->extents.symbols[i].name, name) == 0;
    for (int i = 0; i < module->program_count; i++)
        taken = taken || strcmp(module->programs[i].name, name) == 0;
    return taken;
}

static const char *free_name(const ir_module *module) {
    base_text name;
    base_text_init(&name, module->arena);
    base_text_string(&name, "gather_faults");
    for (int i = 2; name_is_taken(module, name.bytes); i++) {
        base_text_init(&name, module->arena);
        base_text_format(&name, "gather_faults_%d", i);
    }
    return name.bytes;
}

static ir_value *add_tensor(ir_module *module) {
    ir_type type = {.form = IR_FORM_TENSOR, .dtype = BASE_I64};
    for (int i = 0; i < module->program_count; i++)
        type.extent[type.rank++] = layout_extent_ceil(&module->extents, module->programs[i].extent,
                                                      module->programs[i].step);
    const char *name = free_name(module);
    const ir_parameter *own = module->parameters;
    module->parameters = BASE_NEW_ARRAY(module->arena, ir_parameter, module->parameter_count + 1);
    for (int i = 0; i < module->parameter_count; i++)
        module->parameters[i] = own[i];
    ir_value *tensor = ir_value_create(module, type, name);
    module->parameters[module->parameter_count++] =
        (ir_parameter){.name = name,
                       .location = module->body.first->location,
                       .is_tensor = true,
                       .mode = IR_OUT,
                       .value = tensor,
                       .dtype = BASE_I64};
    return tensor;
}

/* The number of the program along the axis. */
static ir_value *program_number(ir_builder *builder, int axis) {
    const ir_program *program = &builder->module->programs[axis];
    ir_type type = ir_type_scalar(BASE_INDEX);
    ir_op *op = ir_build_op(builder, IR_PROGRAM, 0, NULL, 1, &type, 0);
    op->attributes.axis = axis;
    op->results[0]->name = program->name;
    if (program->step == 1)
        return op->results[0];
    return ir_build_binary(builder, IR_FLOOR_DIV, op->results[0],
                           ir_build_integer(builder, BASE_INDEX, program->step));
}

static void store_count(ir_module *module, ir_value *count) {
    ir_builder builder = {
        .module = module, .region = &module->body, .location = module->body.last->location};
    ir_value *operands[IR_MAX_RANK + 2] = {add_tensor(module)};
    int operand_count = 1;
    ir_access *access = BASE_NEW(module->arena, ir_access);
    *access = (ir_access){
        .rank = module->program_count, .fill = -1, .mask = -1, .width = 1, .injective = true};
    for (int i = 0; i < access->rank; i++) {
        access->index[i] = (ir_index){
            .kind = IR_INDEX_POINT, .operand = operand_count, .inside = true, .vector = -1};
        operands[operand_count++] = program_number(&builder, i);
    }
    operands[operand_count++] = count;
    ir_build_op(&builder, IR_STORE, operand_count, operands, 0, NULL, 0)->attributes.access =
        access;
}

int pass_count_faults(ir_module *module) {
    ir_value *count = count_region(module, &module->body);
    if (count == NULL)
        return -1;
    store_count(module, count);
    return module->parameter_count - 1;
}
