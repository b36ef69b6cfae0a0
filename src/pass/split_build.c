/* The tile program of a launch: the kernel's own, changed where the axis is in parts.
 *
 *     %m = reduce max %t            launch 0    store %max_0_parts[%row, %part], %m
 *                                   later       %p = load %max_0_parts[%row, : 16]
 *                                               %m = reduce max %p
 *     %t = load %x[%row, : N]       %t = load %x[%row, %start : +C]   : f32<C below %left>
 *     %i = arange N                 %i = add arange C, %start, cut to what is left
 *
 * where part p begins at %start = p * C, and %left = clamp(N - %start, 0, C) elements of it are
 * there. Everything else is copied as it is, anchors too, and what no store of the launch needs is
 * dropped. Partial results enter their combination as the elements of one more reduction; one that
 * ignores NaN has none among them, but a sum may have become one, which stays.
 */
#include "ir/clone.h"
#include "pass/pass.h"
#include "pass/split_build_internal.h"

/* ---- the beginning: programs, the part, the workspace ---- */
static ir_op *find_program(const ir_module *module, int axis) {
    for (ir_op *op = module->body.first; op != NULL; op = op->next)
        if (op->opcode == IR_PROGRAM && op->attributes.axis == axis)
            return op;
    return NULL;
}

/* The program's index, in the list that comes before everything. */
static ir_value *build_index(split_build_state *b, int axis) {
    ir_op *op = find_program(b->module, axis);
    ir_type type = ir_type_scalar(BASE_INDEX);
    if (op != NULL) {
        ir_op_remove(op);
        ir_op_append(b->builder.region, op);
    } else {
        op = ir_build_op(&b->builder, IR_PROGRAM, 0, NULL, 1, &type, 0);
        op->attributes.axis = axis;
        op->results[0]->name = b->module->programs[axis].name;
    }
    return op->results[0];
}

static void build_programs(split_build_state *b) {
    for (int i = 0; i < b->split->tile->program_count; i++) {
        int64_t step = b->module->programs[i].step;
        b->programs[i] = build_index(b, i);
        if (step > 1)
            b->programs[i] = ir_build_binary(&b->builder, IR_FLOOR_DIV, b->programs[i],
                                             ir_build_integer(&b->builder, BASE_INDEX, step));
    }
}

/* Elements of a part: a number, or ceil(N / (parts * chunk)) * chunk. */
static const layout_extent *part_length(split_build_state *b) {
    layout_extents *pool = &b->module->extents;
    const split_state *s = b->split;
    const layout_extent *extent = pool->nodes[s->axes.axes[s->axis].extent->id];
    if (s->length > 0)
        return layout_extent_constant(pool, s->length);
    const layout_extent *steps = layout_extent_ceil(pool, extent, s->parts * s->chunk);
    return steps == NULL ? NULL
                         : layout_extent_binary(pool, LAYOUT_EXTENT_MUL, steps,
                                                layout_extent_constant(pool, s->chunk));
}

static void build_part(split_build_state *b) {
    const split_state *s = b->split;
    ir_builder *builder = &b->builder;
    b->module->programs[b->module->program_count++] =
        (ir_program){.name = s->part_name, .extent = b->parts, .step = 1};
    b->part = build_index(b, b->module->program_count - 1);
    ir_value *length = ir_build_size(builder, b->length);
    b->start = ir_build_binary(builder, IR_MUL, b->part, length);
    if (s->even)
        return;
    const layout_extent *extent = b->module->extents.nodes[s->axes.axes[s->axis].extent->id];
    ir_value *rest = ir_build_binary(builder, IR_SUB, ir_build_size(builder, extent), b->start);
    ir_value *none = ir_build_integer(builder, BASE_INDEX, 0);
    rest = ir_build_binary(builder, IR_MAXIMUM, rest, none);
    b->left = ir_build_binary(builder, IR_MINIMUM, rest, length);
}

/* A tensor [programs.., parts] behind the kernel's parameters. */
static void add_workspace(split_build_state *b, int64_t i) {
    ir_module *module = b->module;
    const split_partial *partial = &b->split->partials[i];
    ir_type type = {.form = IR_FORM_TENSOR, .dtype = partial->reduce->results[0]->type.dtype};
    for (int p = 0; p < b->split->tile->program_count; p++)
        type.extent[type.rank++] = layout_extent_ceil(&module->extents, module->programs[p].extent,
                                                      module->programs[p].step);
    type.extent[type.rank++] = b->parts;
    bool stored = b->launch.parts && partial->phase == b->launch.phase + 1;
    b->workspace[i] = ir_value_create(module, type, partial->name);
    module->parameters[module->parameter_count++] =
        (ir_parameter){.name = partial->name,
                       .location = partial->reduce->location,
                       .is_tensor = true,
                       .mode = stored ? IR_OUT : IR_IN,
                       .value = b->workspace[i],
                       .dtype = type.dtype};
}

static void add_workspaces(split_build_state *b) {
    ir_module *module = b->module;
    int64_t count = b->split->partial_count;
    const ir_parameter *own = module->parameters;
    module->parameters =
        BASE_NEW_ARRAY(module->arena, ir_parameter, module->parameter_count + count);
    for (int i = 0; i < module->parameter_count; i++)
        module->parameters[i] = own[i];
    b->workspace = BASE_NEW_ARRAY(module->arena, ir_value *, count);
    for (int64_t i = 0; i < count; i++)
        add_workspace(b, i);
}

static void build_beginning(split_build_state *b, base_location location) {
    ir_region beginning = {0};
    b->builder = (ir_builder){.module = b->module, .region = &beginning, .location = location};
    build_programs(b);
    if (b->launch.parts)
        build_part(b);
    ir_op *first = b->module->body.first;
    for (ir_op *op = beginning.first, *next; op != NULL; op = next) {
        next = op->next;
        ir_op_insert_before(first, op);
    }
}

/* ---- partial results ---- */
/* [programs.., part], or [programs.., :] where `part` is NULL. */
static ir_access *partial_access(split_build_state *b, ir_value *tensor, ir_value **operands,
                                 int *operand_count) {
    ir_access *access = BASE_NEW(b->module->arena, ir_access);
    *access = (ir_access){.rank = tensor->type.rank, .fill = -1, .mask = -1};
    operands[(*operand_count)++] = tensor;
    for (int i = 0; i + 1 < access->rank; i++) {
        access->index[i] = (ir_index){
            .kind = IR_INDEX_POINT, .operand = *operand_count, .inside = true, .vector = -1};
        operands[(*operand_count)++] = b->programs[i];
    }
    access->index[access->rank - 1] = (ir_index){
        .kind = IR_INDEX_RANGE, .operand = -1, .length = b->parts, .inside = true, .vector = -1};
    return access;
}

static const char *partial_anchor(const split_build_state *b, int64_t i) {
    base_text text;
    base_text_init(&text, b->module->arena);
    base_text_format(&text, "%s.0", b->split->partials[i].name);
    return text.bytes;
}

static void link_before(split_build_state *b, ir_op *where, ir_op *op, int64_t partial) {
    op->anchor = partial_anchor(b, partial);
    ir_op_insert_before(where, op);
}

/* The reduction becomes that of all partial results. */
static void combine_partials(split_build_state *b, ir_op *reduce, int64_t i) {
    ir_value *operands[IR_MAX_RANK + 2];
    int count = 0;
    ir_access *access = partial_access(b, b->workspace[i], operands, &count);
    ir_type type = {.form = IR_FORM_TILE,
                    .dtype = b->workspace[i]->type.dtype,
                    .rank = 1,
                    .extent = {b->parts}};
    ir_op *load = ir_op_create(b->module, IR_LOAD, reduce->location, count, operands, 1, &type, 0);
    load->attributes.access = access;
    link_before(b, reduce, load, i);
    reduce->operands[0] = load->results[0];
    reduce->attributes.axis = 0;
    if (reduce->attributes.monoid == IR_MONOID_SUM || reduce->attributes.monoid == IR_MONOID_PROD)
        reduce->attributes.nan = IR_NAN_PROPAGATE;
}

static void store_partial(split_build_state *b, ir_op *reduce, int64_t i) {
    ir_value *operands[IR_MAX_RANK + 3];
    int count = 0;
    ir_access *access = partial_access(b, b->workspace[i], operands, &count);
    access->index[access->rank - 1] =
        (ir_index){.kind = IR_INDEX_POINT, .operand = count, .inside = true, .vector = -1};
    access->injective = true;
    operands[count++] = b->part;
    operands[count++] = reduce->results[0];
    ir_op *store = ir_op_create(b->module, IR_STORE, reduce->location, count, operands, 0, NULL, 0);
    store->attributes.access = access;
    store->anchor = partial_anchor(b, i);
    if (reduce->next != NULL)
        ir_op_insert_before(reduce->next, store);
    else
        ir_op_append(reduce->parent, store);
}

static void change_reduce(split_build_state *b, const ir_op *old, ir_op *op) {
    for (int64_t i = 0; i < b->split->partial_count; i++) {
        const split_partial *partial = &b->split->partials[i];
        if (partial->reduce != old)
            continue;
        if (partial->phase <= b->launch.phase)
            combine_partials(b, op, i);
        else if (b->launch.parts && partial->phase == b->launch.phase + 1)
            store_partial(b, op, i);
    }
}

/* ---- the body ---- */
static void strip_stores(ir_region *region) {
    for (ir_op *op = region->first, *next; op != NULL; op = next) {
        next = op->next;
        for (int i = 0; i < op->region_count; i++)
            strip_stores(op->regions[i]);
        if (op->opcode == IR_STORE)
            ir_op_remove(op);
    }
}

static bool stays(const split_build_state *b, const ir_op *store) {
    if (split_store_dimension(b->split, store) < 0)
        return b->launch.rows;
    return b->launch.parts && split_phase_of(b->split, store) == b->launch.phase;
}

static void change_op(split_build_state *b, const ir_op *old, ir_op *op) {
    if (op->opcode == IR_STORE && !stays(b, old)) {
        ir_op_remove(op);
        return;
    }
    if (op->opcode == IR_REDUCE)
        change_reduce(b, old, op);
    for (int i = 0; i < op->region_count && !b->launch.rows; i++)
        strip_stores(op->regions[i]);
    if (b->launch.parts)
        split_op_into_parts(b, old, op);
}

/* The kernel's op that the copy is of: both bodies hold the same ops in the same order. */
static void change_body(split_build_state *b, ir_op **copies) {
    int64_t i = 0;
    for (const ir_op *old = b->split->tile->body.first; old != NULL; old = old->next)
        change_op(b, old, copies[i++]);
}

static ir_op **list_body(split_build_state *b) {
    int64_t count = 0;
    for (const ir_op *op = b->module->body.first; op != NULL; op = op->next)
        count++;
    ir_op **copies = BASE_NEW_ARRAY(b->module->arena, ir_op *, count + 1);
    count = 0;
    for (ir_op *op = b->module->body.first; op != NULL; op = op->next)
        copies[count++] = op;
    return copies;
}

ir_module *split_build(split_state *state, split_launch launch, int number) {
    split_build_state b = {
        .split = state, .launch = launch, .module = ir_module_clone(state->arena, state->tile)};
    pass_context context = {.diagnostics = state->diagnostics};
    base_text name;
    base_text_init(&name, state->arena);
    base_text_format(&name, "%s_%d", state->tile->name, number);
    b.module->name = name.bytes;
    b.parts = layout_extent_constant(&b.module->extents, state->parts);
    b.length = part_length(&b);
    ir_op **copies = list_body(&b);
    add_workspaces(&b);
    build_beginning(&b, state->tile->body.first->location);
    change_body(&b, copies);
    pass_dead(b.module, &context);
    return b.module;
}
