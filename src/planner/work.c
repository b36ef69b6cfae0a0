/* Work: the sweeps walked once for each choice of storage; the header says what comes out.
 *
 *     an op of a sweep       its arithmetic at each element
 *     a value of another     kept: read where it is kept       reload: the load once more
 *                            recompute: the ops once more, and what they need
 *
 * First reads of a tensor are as many bytes as one program can reach; what is read beyond was read
 * before. Tile values have the full extent of their axes: a domain that cuts them short is not
 * looked at.
 */
#include "planner/work.h"

#include "planner/shift.h"

#include "analysis/access_width.h"
#include "analysis/orders.h"

#include <string.h>

enum {
    MOST_OF_CLASS = 1 << 20, /* more are alike: every machine is full many times */
    CLASS_PROGRAMS = 1 << 13,
    CLASS_LENGTH = 4096, /* of a size that only the call knows */
    TRIAL_SLOTS = 8      /* the longest runs that accesses are asked for */
};

/* ---- sizes ---- */

static int64_t evaluate(const planner_program *program, const layout_extent *extent) {
    int64_t value = 0;
    return layout_extent_evaluate(extent, program->values, &value) && value >= 0 ? value : 1;
}

/* Elements of an axis that each lane goes through; the lane axis is not asked for. */
static int64_t length_of(const planner_program *program, int axis) {
    int64_t extent = evaluate(program, program->state->axes.axes[axis].extent);
    int64_t lanes = program->beside != NULL ? program->beside[axis] : 1;
    return extent / lanes + (extent % lanes != 0);
}

static void mark_symbols(const layout_extent *extent, bool *marked) {
    if (extent->kind == LAYOUT_EXTENT_SYMBOL)
        marked[extent->value] = true;
    if (extent->left != NULL)
        mark_symbols(extent->left, marked);
    if (extent->right != NULL)
        mark_symbols(extent->right, marked);
}

/* The greatest power of two that is not above. */
static int64_t class_of(int64_t size) {
    int64_t power = 1;
    while (power * 2 <= size && power < MOST_OF_CLASS)
        power *= 2;
    return power;
}

static void set_sizes(planner_program *program, const int64_t *sizes) {
    const ir_module *module = program->state->module;
    const layout_extents *pool = &module->extents;
    bool *counts = BASE_NEW_ARRAY(program->state->arena, bool, pool->symbol_count);
    program->sizes = BASE_NEW_ARRAY(program->state->arena, planner_size, pool->symbol_count);
    program->values = BASE_NEW_ARRAY(program->state->arena, int64_t, pool->symbol_count);
    for (int i = 0; i < module->program_count; i++)
        mark_symbols(module->programs[i].extent, counts);
    for (int64_t i = 0; i < pool->symbol_count; i++) {
        planner_size *size = &program->sizes[i];
        size->value = counts[i] ? CLASS_PROGRAMS : CLASS_LENGTH;
        size->taken = !pool->symbols[i].known && (sizes == NULL || sizes[i] < 0);
        if (pool->symbols[i].known)
            size->value = pool->symbols[i].value;
        else if (!size->taken)
            size->value = class_of(sizes[i]);
        program->values[i] = size->value;
    }
    int64_t programs = 1;
    for (int i = 0; i < module->program_count; i++) {
        int64_t extent = evaluate(program, module->programs[i].extent);
        int64_t step = module->programs[i].step;
        programs = planner_times(programs, extent / step + (extent % step != 0));
    }
    program->programs = class_of(programs);
}

/* ---- loops ---- */

/* Of a scalar made from sizes and constants. */
static bool find_constant(const planner_program *program, const ir_op *op, int64_t *result) {
    if (op->opcode == IR_CONSTANT)
        *result = op->attributes.constant.integer;
    if (op->opcode == IR_SIZE)
        *result = evaluate(program, op->attributes.extent);
    if (op->opcode == IR_CONSTANT || op->opcode == IR_SIZE)
        return true;
    const planner_scalar *a =
        op->operand_count > 0 ? &program->scalars[op->operands[0]->number] : NULL;
    const planner_scalar *b =
        op->operand_count == 2 ? &program->scalars[op->operands[1]->number] : a;
    if (a == NULL || !a->constant || !b->constant || op->operand_count > 2)
        return false;
    int64_t x = a->value, y = b->value;
    if (op->opcode == IR_CAST)
        *result = x;
    else if (op->opcode == IR_FLOOR_DIV)
        *result = base_floor_div(x, y);
    else if (op->opcode == IR_FLOOR_MOD)
        *result = base_floor_mod(x, y);
    else if (op->opcode == IR_MAXIMUM || op->opcode == IR_MINIMUM)
        *result = (op->opcode == IR_MAXIMUM) == (x > y) ? x : y;
    else
        return op->opcode == IR_ADD   ? base_checked_add(x, y, result)
               : op->opcode == IR_SUB ? base_checked_sub(x, y, result)
               : op->opcode == IR_MUL ? base_checked_mul(x, y, result)
                                      : false;
    return true;
}

/* What comes round in a loop is not looked at: a carry differs between programs where what goes
 * in does. */
static bool note_scalar(void *pointer, ir_op *op) {
    planner_program *program = pointer;
    planner_scalar found = {.varies = op->opcode == IR_PROGRAM};
    for (int i = 0; i < op->operand_count; i++) {
        found.varies = found.varies || program->scalars[op->operands[i]->number].varies;
        found.moves = found.moves || program->scalars[op->operands[i]->number].moves;
    }
    bool scalar = op->result_count == 1 && !ir_value_is_tile(op->results[0]);
    found.constant = scalar && find_constant(program, op, &found.value);
    for (int i = 0; i < op->result_count; i++)
        program->scalars[op->results[i]->number] = found;
    for (int r = 0; op->opcode == IR_FOR && r < op->region_count; r++)
        for (int i = 0; i < op->regions[r]->argument_count; i++)
            program->scalars[op->regions[r]->arguments[i]->number] =
                (planner_scalar){.varies = found.varies, .moves = true};
    return true;
}

static int64_t trips_of(planner_program *program, const ir_op *loop) {
    int64_t bound[3];
    for (int i = 0; i < 3; i++) {
        if (program->scalars[loop->operands[i]->number].constant) {
            bound[i] = program->scalars[loop->operands[i]->number].value;
        } else {
            program->trips_taken = true;
            return 1;
        }
    }
    int64_t distance = 0;
    if (bound[2] <= 0 || bound[0] >= bound[1] || !base_checked_sub(bound[1], bound[0], &distance))
        return 0;
    return (distance - 1) / bound[2] + 1;
}

/* How often what stands in the region runs for one program. Both ways of a branch count. */
static int64_t loops_around(planner_program *program, const ir_region *region) {
    int64_t loops = 1;
    for (const ir_op *owner = region->owner; owner != NULL;
         owner = owner->parent != NULL ? owner->parent->owner : NULL)
        if (owner->opcode == IR_FOR)
            loops = planner_times(loops, trips_of(program, owner));
    return loops;
}

/* ---- accesses ---- */

/* Elements of one dimension that one program can reach. */
static int64_t reach_of(const planner_program *program, const ir_op *op, int dimension) {
    const ir_index *index = &op->attributes.access->index[dimension];
    int64_t all = evaluate(program, op->operands[0]->type.extent[dimension]);
    bool fixed =
        index->operand < 0 || !program->scalars[op->operands[index->operand]->number].moves;
    if (index->kind == IR_INDEX_POINT && fixed)
        return 1;
    int64_t length = index->kind == IR_INDEX_RANGE ? evaluate(program, index->length) : all;
    return fixed && length < all ? length : all;
}

/* The runs of slots, or of lanes where those are one register, that the access has. */
static int run_of(const planner_program *program, const ir_op *op) {
    const planner_state *state = program->state;
    bool threads = state->machine->lanes_are_threads;
    layout_axis trial[] = {
        {.count = 1, .digits = {{.holder = LAYOUT_STEP}}},
        {.count = 3,
         .digits = {{.holder = threads ? LAYOUT_SLOT : LAYOUT_LANE,
                     .radix = threads ? TRIAL_SLOTS : state->machine->subgroup},
                    {.holder = threads ? LAYOUT_LANE : LAYOUT_SLOT,
                     .radix = threads ? state->machine->subgroup : 4},
                    {.holder = LAYOUT_STEP}}},
        {.count = 1, .digits = {{.holder = LAYOUT_GROUP}}},
    };
    const layout_axis **digits =
        BASE_NEW_ARRAY(state->arena, const layout_axis *, state->axes.count);
    for (int i = 0; i < state->axes.count; i++)
        digits[i] = &trial[state->axes.axes[i].is_program ? 2 : i == state->lane_axis];
    analysis_access_width width =
        analysis_access_width_find(state->module, &state->axes, digits, op);
    return threads ? width.slots : width.lanes;
}

static planner_access *access_make(planner_program *program, const ir_op *op) {
    const planner_state *state = program->state;
    const ir_access *form = op->attributes.access;
    const ir_value *tensor = op->operands[0];
    planner_access *access = BASE_NEW(state->arena, planner_access);
    int space[IR_MAX_RANK], count = analysis_axes_space(&state->axes, op, space);
    *access = (planner_access){.op = op,
                               .bytes = base_dtype_size(tensor->type.dtype),
                               .others = 1,
                               .shared = true,
                               .run = 1,
                               .footprint = 1};
    for (int i = 0; i < count; i++) {
        access->row = access->row || space[i] == state->lane_axis;
        if (space[i] != state->lane_axis)
            access->others = planner_times(access->others, length_of(program, space[i]));
    }
    for (int d = 0; d < form->rank; d++) {
        access->footprint = planner_times(access->footprint, reach_of(program, op, d));
        int operand = form->index[d].operand;
        access->shared = access->shared &&
                         (operand < 0 || !program->scalars[op->operands[operand]->number].varies);
        access->asks = access->asks || !form->index[d].inside;
    }
    if (access->row)
        access->run = run_of(program, op);
    access->follows = program->shift != NULL && planner_shift_aligns(state, program->shift, op);
    if (form->rank > 1)
        access->length = evaluate(program, tensor->type.extent[form->rank - 1]);
    return access;
}

static const planner_access *access_of(planner_program *program, const ir_op *op) {
    for (int64_t i = 0; i < program->access_count; i++)
        if (program->accesses[i]->op == op)
            return program->accesses[i];
    planner_access *access = access_make(program, op);
    BASE_PUSH(program->state->arena, program->accesses, program->access_count,
              program->access_capacity, access);
    return access;
}

/* ---- one pass ---- */

typedef struct work_state {
    planner_program *program;
    planner_work *work;
    const ir_storage *storage;
    const ir_op *const *outputs;
    int sweep;      /* at work */
    int *last;      /* by crossing: the last sweep that reads it where it is kept */
    int *done;      /* by value number: the last sweep that has it, + 1 */
    int64_t *reads; /* by parameter: bytes for one program */
    int64_t *reach; /* by parameter: the most that one access reaches, in bytes */
} work_state;

static planner_pass *last_pass(work_state *s) {
    return &s->work->passes[s->work->pass_count - 1];
}

/* What an op costs at each element; those that are not named are one instruction. */
enum { OP_OTHER, OP_EXP, OP_DIVISION, OP_SQUARE_ROOT, OP_FREE };

static const unsigned char op_classes[IR_OPCODE_COUNT] = {
    [IR_EXP] = OP_EXP,
    [IR_EXP2] = OP_EXP,
    [IR_LOG] = OP_EXP,
    [IR_LOG2] = OP_EXP,
    [IR_TANH] = OP_EXP,
    [IR_SIGMOID] = OP_EXP,
    [IR_ERF] = OP_EXP,
    [IR_DIV] = OP_DIVISION,
    [IR_FLOOR_DIV] = OP_DIVISION,
    [IR_FLOOR_MOD] = OP_DIVISION,
    [IR_SQRT] = OP_SQUARE_ROOT,
    [IR_RSQRT] = OP_SQUARE_ROOT,
    [IR_CONSTANT] = OP_FREE,
    [IR_SIZE] = OP_FREE,
    [IR_PARAMETER] = OP_FREE,
    [IR_PROGRAM] = OP_FREE,
    [IR_ARANGE] = OP_FREE,
    [IR_EXPAND] = OP_FREE,
    [IR_DROP] = OP_FREE,
    [IR_BROADCAST] = OP_FREE,
    [IR_LOAD] = OP_FREE,
    [IR_STORE] = OP_FREE,
    [IR_FOR] = OP_FREE,
    [IR_IF] = OP_FREE,
    [IR_YIELD] = OP_FREE,
};

static void count_op(planner_pass *pass, const ir_op *op) {
    unsigned char kind = op_classes[op->opcode];
    pass->exps += kind == OP_EXP;
    pass->divisions += kind == OP_DIVISION;
    pass->square_roots += kind == OP_SQUARE_ROOT;
    pass->others += kind == OP_OTHER;
}

/* `waits`: of a value that waits in an output, in its cells or back. */
static void visit(work_state *s, const ir_op *op, bool store, bool waits) {
    planner_program *program = s->program;
    const planner_access *access = access_of(program, op);
    const planner_pass *pass = last_pass(s);
    planner_visit row = {.access = access, .store = store};
    BASE_PUSH(program->state->arena, s->work->visits, s->work->visit_count, s->work->visit_capacity,
              row);
    last_pass(s)->count++;
    last_pass(s)->passing += access->row && !store;
    int64_t elements = planner_times(pass->times, access->row ? pass->elements : 1);
    int64_t bytes = planner_times(elements, access->bytes);
    int parameter = ir_module_parameter_of(program->state->module, op->operands[0]);
    if (waits) {
        s->work->array_bytes = planner_plus(s->work->array_bytes, bytes);
    } else if (store) {
        s->work->write_bytes = planner_plus(s->work->write_bytes, bytes);
    } else if (access->shared) {
        s->work->shared_read_bytes = planner_plus(s->work->shared_read_bytes, bytes);
    } else {
        int64_t reach = planner_times(access->footprint, access->bytes);
        s->reads[parameter] = planner_plus(s->reads[parameter], bytes);
        s->reach[parameter] = reach > s->reach[parameter] ? reach : s->reach[parameter];
    }
}

/* A value in registers or arrays is written or read. */
static void keep(work_state *s, const ir_value *value, ir_storage storage) {
    planner_pass *pass = last_pass(s);
    int64_t size = base_dtype_size(value->type.dtype);
    pass->kept_bytes += size;
    if (storage != IR_STORAGE_PRIVATE)
        return;
    pass->arrays++;
    int64_t elements = planner_times(pass->times, pass->elements);
    s->work->array_bytes = planner_plus(s->work->array_bytes, planner_times(elements, size));
}

static void need(work_state *s, const ir_value *value);

static void need_operands(work_state *s, const ir_op *op) {
    for (int i = 0; i < op->operand_count; i++)
        if (ir_value_is_tile(op->operands[i]))
            need(s, op->operands[i]);
}

/* A tile that this sweep uses: made here, or had from where it is kept. */
static void need(work_state *s, const ir_value *value) {
    const planner_state *state = s->program->state;
    if (state->sweeps.of_value[value->number] == s->sweep || s->done[value->number] == s->sweep + 1)
        return;
    s->done[value->number] = s->sweep + 1;
    int crossing = s->program->crossing[value->number];
    if (crossing < 0)
        return;
    switch (s->storage[crossing]) {
    case IR_STORAGE_REGISTERS:
    case IR_STORAGE_PRIVATE:
        keep(s, value, s->storage[crossing]);
        s->last[crossing] = s->sweep > s->last[crossing] ? s->sweep : s->last[crossing];
        break;
    case IR_STORAGE_RELOAD:
        need_operands(s, value->definer);
        visit(s, value->definer, false, false);
        break;
    case IR_STORAGE_RECOMPUTE:
        need_operands(s, value->definer);
        count_op(last_pass(s), value->definer);
        break;
    case IR_STORAGE_OUTPUT:
        visit(s, s->outputs[crossing], false, true);
        break;
    case IR_STORAGE_NONE:
        break;
    }
}

static void keep_result(work_state *s, const ir_value *value) {
    int crossing = s->program->crossing[value->number];
    if (crossing < 0)
        return;
    ir_storage storage = s->storage[crossing];
    if (storage == IR_STORAGE_REGISTERS && value->definer->opcode == IR_LOAD)
        last_pass(s)->passing--;
    if (storage == IR_STORAGE_REGISTERS || storage == IR_STORAGE_PRIVATE)
        keep(s, value, storage);
    if (storage == IR_STORAGE_OUTPUT)
        visit(s, s->outputs[crossing], true, true);
}

static void begin_pass(work_state *s, const analysis_sweep *sweep) {
    planner_program *program = s->program;
    const planner_state *state = program->state;
    planner_pass pass = {.sweep = true,
                         .elements = 1,
                         .times = loops_around(program, sweep->region),
                         .first = s->work->visit_count};
    pass.ends = pass.times;
    for (int i = 0; i < sweep->axis_count; i++) {
        if (sweep->axes[i] == state->lane_axis) {
            pass.row = true;
            pass.elements = program->extent;
            continue;
        }
        int64_t extent = length_of(program, sweep->axes[i]);
        pass.times = planner_times(pass.times, extent);
        if (sweep->axes[i] != sweep->reduced)
            pass.ends = planner_times(pass.ends, extent);
    }
    BASE_PUSH(state->arena, s->work->passes, s->work->pass_count, s->work->pass_capacity, pass);
}

/* What is observed ends where a value says, on the lane axis. */
static bool is_limited(const planner_state *state, const ir_op *op) {
    if (op->opcode != IR_STORE && op->opcode != IR_REDUCE)
        return false;
    const ir_value *value = op->operands[op->operand_count - 1];
    for (int i = 0; i < value->type.rank; i++)
        if (state->lane_axis >= 0 && value->type.domain[i] != NULL &&
            state->axes.of_value[value->number][i] == state->lane_axis)
            return true;
    return false;
}

static bool folds_lanes(const planner_state *state, const ir_op *op) {
    return op->opcode == IR_REDUCE && state->lane_axis >= 0 &&
           state->axes.of_value[op->operands[0]->number][op->attributes.axis] == state->lane_axis;
}

static void add_sweep(work_state *s, int number) {
    const planner_state *state = s->program->state;
    const analysis_sweep *sweep = &state->sweeps.sweeps[number];
    s->sweep = number;
    begin_pass(s, sweep);
    for (int64_t i = 0; i < sweep->op_count; i++) {
        const ir_op *op = sweep->ops[i];
        need_operands(s, op);
        count_op(last_pass(s), op);
        last_pass(s)->limited = last_pass(s)->limited || is_limited(state, op);
        if (folds_lanes(state, op)) {
            base_dtype dtype = op->operands[0]->type.dtype;
            last_pass(s)->reductions++;
            int64_t bytes = base_dtype_size(ir_monoid_state(op->attributes.monoid, dtype));
            last_pass(s)->partial_bytes += bytes;
            if (analysis_order_planned(op, state->strict) == IR_ORDER_CANONICAL)
                last_pass(s)->ordered_bytes += bytes;
        }
        if (op->opcode == IR_LOAD || op->opcode == IR_STORE)
            visit(s, op, op->opcode == IR_STORE, false);
        for (int k = 0; k < op->result_count; k++)
            keep_result(s, op->results[k]);
    }
}

/* ---- what stands between sweeps ---- */

static void add_scalars(work_state *s, const analysis_schedule *schedule) {
    planner_program *program = s->program;
    planner_pass pass = {.elements = 1, .first = s->work->visit_count};
    pass.times = pass.ends = loops_around(program, schedule->region);
    BASE_PUSH(program->state->arena, s->work->passes, s->work->pass_count, s->work->pass_capacity,
              pass);
    for (int64_t i = 0; i < schedule->count; i++) {
        const ir_op *op = schedule->items[i].op;
        if (op == NULL || op->region_count > 0)
            continue;
        count_op(last_pass(s), op);
        if (op->opcode == IR_LOAD || op->opcode == IR_STORE)
            visit(s, op, op->opcode == IR_STORE, false);
    }
}

/* ---- kept values ---- */

static void add_kept(work_state *s, int crossing) {
    const planner_state *state = s->program->state;
    const ir_value *value = state->sweeps.crossings[crossing];
    ir_storage storage = s->storage[crossing];
    if (storage != IR_STORAGE_REGISTERS && storage != IR_STORAGE_PRIVATE)
        return;
    int home = state->sweeps.of_value[value->number];
    bool whole = home < 0; /* a loop's carry is kept all the time */
    planner_kept kept = {.others = 1,
                         .from = whole ? 0 : home,
                         .to = whole ? state->sweeps.count : s->last[crossing],
                         .bytes = base_dtype_size(value->type.dtype),
                         .registers = storage == IR_STORAGE_REGISTERS};
    for (int i = 0; i < value->type.rank; i++) {
        int axis = state->axes.of_value[value->number][i];
        kept.row = kept.row || (axis >= 0 && axis == state->lane_axis);
        if (axis >= 0 && axis != state->lane_axis)
            kept.others = planner_times(kept.others, length_of(s->program, axis));
    }
    BASE_PUSH(state->arena, s->work->kept, s->work->kept_count, s->work->kept_capacity, kept);
}

planner_work *planner_work_find(planner_program *program, const ir_storage *storage,
                                const ir_op *const *outputs) {
    const planner_state *state = program->state;
    const ir_module *module = state->module;
    base_arena *arena = state->arena;
    work_state s = {.program = program,
                    .work = BASE_NEW(arena, planner_work),
                    .storage = storage,
                    .outputs = outputs,
                    .last = BASE_NEW_ARRAY(arena, int, state->sweeps.crossing_count),
                    .done = BASE_NEW_ARRAY(arena, int, module->next_value),
                    .reads = BASE_NEW_ARRAY(arena, int64_t, module->parameter_count),
                    .reach = BASE_NEW_ARRAY(arena, int64_t, module->parameter_count)};
    for (int i = 0; i < (int)state->sweeps.count; i++)
        add_sweep(&s, i);
    for (int64_t i = 0; i < state->sweeps.schedule_count; i++)
        add_scalars(&s, &state->sweeps.schedules[i]);
    for (int i = 0; i < (int)state->sweeps.crossing_count; i++)
        add_kept(&s, i);
    for (int i = 0; i < module->parameter_count; i++) {
        int64_t first = s.reads[i] < s.reach[i] ? s.reads[i] : s.reach[i];
        s.work->read_bytes = planner_plus(s.work->read_bytes, first);
        s.work->reread_bytes = planner_plus(s.work->reread_bytes, s.reads[i] - first);
    }
    return s.work;
}

bool planner_sizes_are_known(const planner_program *program) {
    for (int64_t i = 0; i < program->state->module->extents.symbol_count; i++)
        if (program->sizes[i].taken)
            return false;
    return true;
}

planner_program *planner_program_begin(planner_state *state, const int64_t *sizes) {
    planner_program *program = BASE_NEW(state->arena, planner_program);
    int64_t known = 0;
    *program = (planner_program){
        .state = state, .extent = 1, .device = cost_machine_of(state->machine, 0)};
    program->scalars = BASE_NEW_ARRAY(state->arena, planner_scalar, state->module->next_value);
    program->crossing = BASE_NEW_ARRAY(state->arena, int, state->module->next_value);
    for (int32_t i = 0; i < state->module->next_value; i++)
        program->crossing[i] = -1;
    for (int64_t i = 0; i < state->sweeps.crossing_count; i++)
        program->crossing[state->sweeps.crossings[i]->number] = (int)i;
    set_sizes(program, sizes);
    ir_region_walk((ir_region *)&state->module->body, note_scalar, program);
    if (state->lane_axis >= 0) {
        const layout_extent *extent = state->axes.axes[state->lane_axis].extent;
        program->known = layout_extent_known(&state->module->extents, extent, &known);
        layout_axis odd = {.count = 1, .digits = {{.holder = LAYOUT_LANE, .radix = 3}}};
        program->canonical = analysis_order_conflict(state->module, &state->axes, state->lane_axis,
                                                     &odd, state->strict) != NULL;
        program->extent = program->known ? known : evaluate(program, extent);
        program->shift = planner_shift_find(state, program->canonical);
    }
    return program;
}
