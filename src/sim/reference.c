/* The FP64 reference: runs a module of level tile or mapped, program after program.
 *
 *     for each program (row = 0, 1, ...)
 *         for each op of the body: operations[opcode](machine, op)
 *
 * A region is its list of ops; `for` runs its region once an index, `if` the chosen one, and a
 * sweep its region once, since an op here computes a whole tile. What an `if` decides within an
 * error of its edge is run both ways: the stores of both are loose, the results are either.
 */
#include "sim/reference_internal.h"
#include "sim/tensor.h"

#include "base/checked.h"

static void run_region(sim_machine *machine, const ir_region *region);

/* ---- leaves and views ---- */

static double rounded_real(base_dtype dtype, double value) {
    return sim_float_format_of(dtype)->round(value);
}

static void fill_scalar(sim_machine *machine, const ir_op *op, ir_constant constant) {
    sim_tile *to = sim_tile_begin(machine, op->results[0]);
    if (sim_tile_is_float(to))
        sim_tile_set_number(to, 0, (sim_number){rounded_real(to->dtype, constant.real), 0.0});
    else
        sim_tile_set_integer(to, 0, (sim_integer){constant.integer, 0.0});
}

static void run_constant(sim_machine *machine, const ir_op *op) {
    fill_scalar(machine, op, op->attributes.constant);
}

static void run_parameter(sim_machine *machine, const ir_op *op) {
    fill_scalar(machine, op, machine->scalars[op->attributes.parameter]);
}

static void run_size(sim_machine *machine, const ir_op *op) {
    int64_t value = 0;
    if (!layout_extent_evaluate(op->attributes.extent, machine->sizes, &value))
        value = INT64_MAX;
    fill_scalar(machine, op, (ir_constant){.integer = value});
}

static void run_program(sim_machine *machine, const ir_op *op) {
    fill_scalar(machine, op, (ir_constant){.integer = machine->program[op->attributes.axis]});
}

static void run_arange(sim_machine *machine, const ir_op *op) {
    sim_tile *to = sim_tile_begin(machine, op->results[0]);
    for (int64_t i = 0; i < to->count; i++)
        sim_tile_set_integer(to, i, (sim_integer){i, 0.0});
}

/* expand, drop and convert: the same elements in the same order. */
static void run_view(sim_machine *machine, const ir_op *op) {
    sim_tile_view(machine, op->results[0], sim_tile_of(machine, op->operands[0]));
}

/* ---- control ---- */

static void assign_values(sim_machine *machine, int count, ir_value *const *to,
                          ir_value *const *from) {
    for (int i = 0; i < count; i++)
        sim_tile_assign(machine, sim_tile_begin(machine, to[i]), sim_tile_of(machine, from[i]));
}

/* The results hold one branch's values; now either these or those of `other`. */
static void merge_either(sim_machine *machine, const ir_op *op, ir_value *const *taken) {
    for (int k = 0; k < op->result_count; k++) {
        sim_tile *to = sim_tile_of(machine, op->results[k]);
        sim_operand of = sim_operand_of(machine, sim_tile_of(machine, taken[k]), to, 0);
        for (int64_t i = 0; i < to->count; i++) {
            sim_operand other = {to->value, to->integer, to->error, 1};
            if (sim_tile_is_float(to))
                sim_tile_set_number(
                    to, i,
                    sim_number_either(sim_operand_number(&of, i), sim_operand_number(&other, i)));
            else
                sim_tile_set_integer(to, i,
                                     sim_integer_either(sim_operand_integer(&of, i),
                                                        sim_operand_integer(&other, i)));
        }
    }
}

static void run_if(sim_machine *machine, const ir_op *op) {
    const sim_tile *condition = sim_tile_of(machine, op->operands[0]);
    int taken = condition->integer[0] != 0 ? 0 : 1;
    bool open = condition->error[0] > 0.0;
    machine->open_branches += open;
    for (int pass = open ? 0 : 1; pass < 2; pass++) {
        const ir_region *region = op->regions[pass == 1 ? taken : 1 - taken];
        run_region(machine, region);
        const ir_op *yield = ir_region_yield(region);
        if (yield == NULL)
            continue;
        if (open && pass == 1)
            merge_either(machine, op, yield->operands);
        else
            assign_values(machine, op->result_count, op->results, yield->operands);
    }
    machine->open_branches -= open;
}

/* Operands: lo, hi, step, then the first carries. The results hold the current carries. */
static void run_for(sim_machine *machine, const ir_op *op) {
    const sim_tile *bounds[3];
    bool open = false;
    for (int k = 0; k < 3; k++) {
        bounds[k] = sim_tile_of(machine, op->operands[k]);
        open |= bounds[k]->error[0] > 0.0;
    }
    int64_t index = bounds[0]->integer[0], high = bounds[1]->integer[0];
    int64_t step = bounds[2]->integer[0];
    const ir_region *region = op->regions[0];
    const ir_op *yield = ir_region_yield(region);
    machine->open_branches += open;
    assign_values(machine, op->result_count, op->results, op->operands + 3);
    while (step > 0 && index < high) {
        sim_tile *argument = sim_tile_begin(machine, region->arguments[0]);
        sim_tile_set_integer(argument, 0, (sim_integer){index, open ? (double)INFINITY : 0.0});
        assign_values(machine, op->result_count, region->arguments + 1, op->results);
        run_region(machine, region);
        if (yield != NULL)
            assign_values(machine, op->result_count, op->results, yield->operands);
        if (!base_checked_add(index, step, &index))
            break;
    }
    machine->open_branches -= open;
    for (int k = 0; k < op->result_count && open; k++)
        sim_tile_loosen(sim_tile_of(machine, op->results[k]));
}

static void run_sweep(sim_machine *machine, const ir_op *op) {
    run_region(machine, op->regions[0]);
    const ir_op *yield = ir_region_yield(op->regions[0]);
    if (yield != NULL)
        assign_values(machine, op->result_count, op->results, yield->operands);
}

/* Ops that only level thread has stay NULL; the verifier refuses them. */
static sim_operation *const operations[IR_OPCODE_COUNT] = {
    [IR_CONSTANT] = run_constant,
    [IR_SIZE] = run_size,
    [IR_PARAMETER] = run_parameter,
    [IR_PROGRAM] = run_program,
    [IR_ARANGE] = run_arange,
    [IR_ADD] = sim_run_binary,
    [IR_SUB] = sim_run_binary,
    [IR_MUL] = sim_run_binary,
    [IR_DIV] = sim_run_binary,
    [IR_FLOOR_DIV] = sim_run_binary,
    [IR_FLOOR_MOD] = sim_run_binary,
    [IR_MAXIMUM] = sim_run_binary,
    [IR_MINIMUM] = sim_run_binary,
    [IR_AND] = sim_run_binary,
    [IR_OR] = sim_run_binary,
    [IR_XOR] = sim_run_binary,
    [IR_SHL] = sim_run_binary,
    [IR_SHR] = sim_run_binary,
    [IR_NEG] = sim_run_unary,
    [IR_ABS] = sim_run_unary,
    [IR_NOT] = sim_run_unary,
    [IR_FMA] = sim_run_fma,
    [IR_SQRT] = sim_run_math,
    [IR_EXP] = sim_run_math,
    [IR_EXP2] = sim_run_math,
    [IR_LOG] = sim_run_math,
    [IR_LOG2] = sim_run_math,
    [IR_RSQRT] = sim_run_math,
    [IR_TANH] = sim_run_math,
    [IR_SIGMOID] = sim_run_math,
    [IR_ERF] = sim_run_math,
    [IR_LT] = sim_run_compare,
    [IR_LE] = sim_run_compare,
    [IR_EQ] = sim_run_compare,
    [IR_NE] = sim_run_compare,
    [IR_SELECT] = sim_run_select,
    [IR_CAST] = sim_run_cast,
    [IR_EXPAND] = run_view,
    [IR_DROP] = run_view,
    [IR_BROADCAST] = sim_run_broadcast,
    [IR_PAD] = sim_run_pad,
    [IR_CONVERT] = run_view,
    [IR_REDUCE] = sim_run_reduce,
    [IR_LOAD] = sim_run_load,
    [IR_STORE] = sim_run_store,
    [IR_FOR] = run_for,
    [IR_IF] = run_if,
    [IR_SWEEP] = run_sweep,
};

static void round_result(sim_machine *machine, const ir_value *value) {
    sim_tile *tile = sim_tile_of(machine, value);
    bool is_float = sim_tile_is_float(tile);
    for (int64_t i = 0; i < tile->count; i++) {
        if (is_float)
            tile->value[i] = rounded_real(tile->dtype, tile->value[i]);
        tile->error[i] = 0.0;
    }
    tile->domain_open = false;
}

static void run_region(sim_machine *machine, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        sim_operation *operation = operations[op->opcode];
        if (operation == NULL)
            continue;
        operation(machine, op);
        for (int i = 0; i < op->result_count && machine->rounded; i++)
            round_result(machine, op->results[i]);
    }
}

/* ---- a run ---- */

/* Outputs start as given; without data they start as poison. */
static void shadow_create(const sim_machine *machine, const sim_tensor *tensor,
                          sim_reference_tensor *shadow) {
    base_arena *arena = machine->arena;
    int64_t count = sim_tensor_count(tensor);
    shadow->count = count;
    bool is_float = base_dtype_is_float(tensor->dtype);
    if (is_float)
        shadow->value = sim_array(arena, count, sizeof(double));
    else
        shadow->integer = sim_array(arena, count, sizeof(int64_t));
    shadow->error = sim_array(arena, count, sizeof(double));
    shadow->loose = sim_array(arena, count, sizeof(bool));
    shadow->written = sim_array(arena, count, sizeof(bool));
    if (machine->rounded)
        shadow->toucher = sim_array(arena, count, sizeof(int64_t));
    for (int64_t i = 0; i < count; i++) {
        int64_t offset = tensor->data == NULL ? 0 : sim_tensor_offset(tensor, i);
        if (is_float)
            shadow->value[i] =
                tensor->data == NULL ? (double)NAN : sim_tensor_float(tensor, offset);
        else
            shadow->integer[i] =
                tensor->data == NULL ? sim_poison_integer : sim_tensor_integer(tensor, offset);
    }
}

static void machine_init(sim_machine *machine) {
    const ir_module *module = machine->module;
    machine->tiles = sim_array(machine->arena, module->next_value, sizeof(sim_tile));
    machine->parameter_of = sim_array(machine->arena, module->next_value, sizeof(int));
    machine->result->tensors =
        sim_array(machine->arena, module->parameter_count, sizeof(sim_reference_tensor));
    for (int i = 0; i < module->next_value; i++)
        machine->parameter_of[i] = -1;
    for (int i = 0; i < module->parameter_count; i++) {
        const ir_parameter *parameter = &module->parameters[i];
        if (!parameter->is_tensor)
            continue;
        machine->parameter_of[parameter->value->number] = i;
        if (parameter->mode != IR_IN)
            shadow_create(machine, &machine->tensors[i], &machine->result->tensors[i]);
    }
}

/* All programs of the axes from `axis` on, the last one fastest. */
static void run_programs(sim_machine *machine, int axis) {
    if (axis == machine->module->program_count) {
        machine->programs_begun++;
        run_region(machine, &machine->module->body);
        return;
    }
    const ir_program *program = &machine->module->programs[axis];
    int64_t extent = 0;
    if (!layout_extent_evaluate(program->extent, machine->sizes, &extent) || extent < 1)
        return;
    int64_t step = program->step < 1 ? extent : program->step, last = (extent - 1) / step;
    for (int64_t i = 0; i <= last; i++) {
        machine->program[axis] = i * step;
        run_programs(machine, axis + 1);
    }
}

static void mark_loose(sim_reference_tensor *shadow) {
    for (int64_t i = 0; i < shadow->count; i++)
        shadow->loose[i] =
            shadow->value != NULL ? sim_is_loose(shadow->error[i]) : shadow->error[i] > 0.0;
}

static void run(sim_machine *machine, const int64_t *sizes, const sim_tensor *tensors,
                const ir_constant *scalars, sim_reference *result) {
    *result = (sim_reference){0};
    machine->sizes = sizes;
    machine->tensors = tensors;
    machine->scalars = scalars;
    machine->result = result;
    machine_init(machine);
    run_programs(machine, 0);
    for (int i = 0; i < machine->module->parameter_count; i++)
        mark_loose(&result->tensors[i]);
}

void sim_reference_run(base_arena *arena, const ir_module *module, const ir_plan *plan,
                       const int64_t *sizes, const sim_tensor *tensors, const ir_constant *scalars,
                       sim_reference *result) {
    sim_machine *machine = BASE_NEW(arena, sim_machine);
    *machine = (sim_machine){.arena = arena, .module = module, .plan = plan};
    run(machine, sizes, tensors, scalars, result);
}

void sim_reference_run_rounded(base_arena *arena, const ir_module *module, const int64_t *sizes,
                               const sim_tensor *tensors, const ir_constant *scalars,
                               sim_reference *result) {
    sim_machine *machine = BASE_NEW(arena, sim_machine);
    *machine = (sim_machine){.arena = arena, .module = module, .rounded = true};
    run(machine, sizes, tensors, scalars, result);
}
