/* Lowering: statements.
 *
 *     program row: R        a program axis and its index        t = exp(t)      a name for a value
 *     if c { a = 1.0 } else { a = t }    IF whose result is a; the literal takes t's type and shape
 */
#include "text/lower_internal.h"

#include "base/checked.h"

/* ---- names ---- */

/* True when the name may be assigned; reports otherwise. */
static bool check_assignable(lowerer *l, const text_name *name, base_location at) {
    const char *what = NULL;
    if (text_kernel_find_parameter(l->kernel, name) >= 0)
        what = "a parameter";
    else if (text_kernel_find_size(l->kernel, name) >= 0)
        what = "a size";
    else if (name->id < TEXT_WORD_COUNT)
        what = "a reserved word";
    else if (lower_is_function(name))
        what = "a function";
    else if (l->names[name->id].kind == LOWER_FIXED)
        what = "a loop or program index";
    if (what == NULL)
        return true;
    lower_report(l, "name-taken", at, "`%s` is %s", name->text, what)->expected = "another name";
    return false;
}

static void lower_assign(lowerer *l, const text_statement *statement) {
    lower_value value = lower_expression(l, statement->value);
    l->dropped = l->dropped || value.kind == LOWER_POISON;
    if (!check_assignable(l, statement->name, statement->location))
        return;
    if (value.kind == LOWER_TYPED && value.value->name == NULL && value.value->definer != NULL &&
        value.value->definer->opcode != IR_SIZE && value.value->definer->opcode != IR_CONSTANT)
        value.value->name = statement->name->text;
    lower_bind(l, statement->name, (lower_binding){LOWER_BOUND, value, statement->location});
}

static void collect_assigned(lowerer *l, const text_block *block, bool *seen, lower_names *names) {
    for (int64_t i = 0; i < block->count; i++) {
        const text_statement *statement = block->statements[i];
        if (statement->kind == TEXT_STATEMENT_ASSIGN && !seen[statement->name->id]) {
            seen[statement->name->id] = true;
            BASE_PUSH(l->arena, names->items, names->count, names->capacity, statement->name);
        }
        collect_assigned(l, &statement->block, seen, names);
        collect_assigned(l, &statement->else_block, seen, names);
    }
}

lower_names lower_assigned(lowerer *l, const text_block *block) {
    lower_names names = {0};
    collect_assigned(l, block, l->seen, &names);
    for (int64_t i = 0; i < names.count; i++)
        l->seen[names.items[i]->id] = false;
    return names;
}

/* ---- program ---- */

static bool build_program(lowerer *l, const text_program_axis *axis, ir_program *program) {
    layout_extents *pool = &l->module->extents;
    program->name = axis->name->text;
    program->step = 1;
    program->extent = layout_extent_constant(pool, 0);
    const layout_extent *extent =
        text_formula_build(pool, l->kernel, l->bindings->consts, axis->extent, l->diagnostics);
    if (extent == NULL)
        return false;
    if (!range_extent_not_negative(&l->range, extent))
        extent =
            layout_extent_binary(pool, LAYOUT_EXTENT_MAX, extent, layout_extent_constant(pool, 0));
    if (!lower_check_extent(l, extent, axis->extent->location))
        return false;
    program->extent = extent;
    if (axis->step == NULL)
        return true;
    const layout_extent *step =
        text_formula_build(pool, l->kernel, l->bindings->consts, axis->step, l->diagnostics);
    if (step == NULL)
        return false;
    if (step->kind == LAYOUT_EXTENT_CONSTANT && step->value > 0) {
        program->step = step->value;
        return true;
    }
    base_diagnostic *item = lower_report(l, "step-positive", axis->step->location,
                                         "the step of a program axis is not a positive constant");
    item->found = lower_describe_extent(l, step);
    return false;
}

/* All axes together: a grid is counted in 64 bits. */
static void check_grid(lowerer *l, base_location at) {
    int64_t count, total = 1;
    for (int i = 0; i < l->module->program_count; i++) {
        const layout_extent *extent = l->module->programs[i].extent;
        if (!layout_extent_known(&l->module->extents, extent, &count) || count == 0 ||
            base_checked_mul(total, count, &total))
            continue;
        lower_report(l, "size-overflow", at, "there are too many programs")->expected =
            "at most 2^63 - 1";
        return;
    }
}

static void lower_program(lowerer *l, const text_statement *statement) {
    if (l->scope->outer != NULL || l->module->program_count > 0 || l->module->body.first != NULL) {
        lower_report(l, "program-place", statement->location,
                     "`program` is not the first statement of the kernel")
            ->hint = "one statement names all axes: `program b: B, row: R`";
        return;
    }
    l->module->program_count = statement->axis_count;
    for (int i = 0; i < statement->axis_count; i++) {
        const text_program_axis *axis = &statement->axes[i];
        bool fine = build_program(l, axis, &l->module->programs[i]);
        if (!check_assignable(l, axis->name, axis->location))
            continue;
        lower_value value = lower_poison();
        if (fine) {
            ir_type type = ir_type_scalar(BASE_INDEX);
            l->builder.location = axis->location;
            ir_op *op = ir_build_op(&l->builder, IR_PROGRAM, 0, NULL, 1, &type, 0);
            op->attributes.axis = i;
            op->results[0]->name = axis->name->text;
            value = lower_typed(op->results[0]);
        }
        lower_bind(l, axis->name, (lower_binding){LOWER_FIXED, value, axis->location});
    }
    check_grid(l, statement->location);
}

/* ---- if ---- */

typedef struct merge {
    const text_name *name;
    lower_binding side[2];
    bool is_result;
    ir_type type;
} merge;

/* The type of a name after the `if`; false when it needs no result (or was reported). */
static bool merge_type(lowerer *l, merge *m, lower_value *without) {
    lower_value a = m->side[0].value;
    lower_value b = m->side[1].value;
    *without = lower_poison();
    if (a.kind == LOWER_POISON || b.kind == LOWER_POISON)
        return false;
    if (a.kind == LOWER_TYPED && b.kind == LOWER_TYPED && a.value == b.value) {
        *without = a;
        return false;
    }
    if (a.kind == LOWER_LITERAL && b.kind == LOWER_LITERAL) {
        if (a.open || b.open) {
            *without = lower_open(a, b);
            return false;
        }
        if (a.is_integer == b.is_integer && a.real == b.real && a.integer == b.integer) {
            *without = a;
            return false;
        }
        base_dtype first = lower_literal_default(a);
        base_dtype second = lower_literal_default(b);
        bool real = first == BASE_F32 || second == BASE_F32;
        m->type = ir_type_scalar(first == second ? first : real ? BASE_F32 : BASE_I64);
        return true;
    }
    m->type = a.kind == LOWER_TYPED ? a.value->type : b.value->type;
    for (int i = 0; i < m->type.rank; i++) {
        if (m->type.domain[i] == NULL || lower_exists_here(l, m->type.domain[i]))
            continue;
        lower_report(l, "domain-mismatch", m->side[0].location,
                     "`%s` ends where only the branch knows", m->name->text)
            ->hint = "make it full in the branch: `pad(t, 0.0)`";
        return false;
    }
    return true;
}

/* Lowers one branch; fills what it gives to each merged name. */
static void lower_branch(lowerer *l, ir_region *region, const text_block *block, merge *merges,
                         int64_t count, int side) {
    lower_scope scope;
    lower_scope_enter(l, &scope, region);
    lower_block(l, block);
    for (int64_t i = 0; i < count; i++)
        merges[i].side[side] = l->names[merges[i].name->id];
    lower_scope_leave(l);
    lower_scope_restore(l, &scope);
}

/* Ends a branch with the yield; false when a value does not fit. */
static bool yield_branch(lowerer *l, ir_region *region, merge *merges, int64_t count, int side) {
    ir_value **values = BASE_NEW_ARRAY(l->arena, ir_value *, count + 1);
    int results = 0;
    bool fine = true;
    lower_scope scope;
    lower_scope_enter(l, &scope, region);
    for (int64_t i = 0; i < count; i++) {
        if (!merges[i].is_result)
            continue;
        const char *what = lower_text(l, "`%s` in the two branches", merges[i].name->text);
        values[results] = lower_convert_to(l, merges[i].side[side].value, &merges[i].type, what,
                                           merges[i].side[side].location);
        fine = fine && values[results] != NULL;
        results++;
    }
    if (fine)
        ir_build_yield(&l->builder, results, values);
    lower_scope_leave(l);
    return fine;
}

/* The IF with its results, in place of one that was made to hold the regions. */
static ir_op *finish_if(lowerer *l, ir_op *holder, merge *merges, int64_t count) {
    ir_type *types = BASE_NEW_ARRAY(l->arena, ir_type, count + 1);
    int results = 0;
    for (int64_t i = 0; i < count; i++)
        if (merges[i].is_result)
            types[results++] = merges[i].type;
    ir_op *op =
        ir_op_create(l->module, IR_IF, holder->location, 1, holder->operands, results, types, 2);
    for (int i = 0; i < 2; i++) {
        op->regions[i] = holder->regions[i];
        op->regions[i]->owner = op;
    }
    ir_op_append(l->scope->region, op);
    return op;
}

static void bind_merged(lowerer *l, ir_op *op, merge *merges, int64_t count,
                        const lower_value *without) {
    int results = 0;
    for (int64_t i = 0; i < count; i++) {
        merge *m = &merges[i];
        lower_binding binding = {LOWER_BOUND, without[i], m->side[0].location};
        if (m->side[0].kind != LOWER_BOUND || m->side[1].kind != LOWER_BOUND) {
            if (l->names[m->name->id].kind != LOWER_FIXED)
                lower_bind(l, m->name, (lower_binding){.kind = LOWER_LEFT_IF});
            continue;
        }
        if (m->is_result && op != NULL) {
            ir_value *value = op->results[results++];
            value->name = m->name->text;
            binding.value = lower_typed(value);
        }
        lower_bind(l, m->name, binding);
    }
}

static bool check_condition(lowerer *l, const text_statement *statement, lower_value condition) {
    if (condition.kind == LOWER_POISON)
        return false;
    bool is_bool = condition.kind == LOWER_TYPED && lower_dtype(condition) == BASE_BOOL;
    if (is_bool && !lower_is_tile(condition))
        return true;
    base_diagnostic *item = lower_report(l, "condition-type", statement->value->location,
                                         "the condition of `if` is not one bool");
    item->found = lower_describe(l, condition);
    item->expected = "one bool that is the same for the whole program";
    item->hint = is_bool ? "choose per element with `where(condition, a, b)`, or reduce with any "
                           "or all"
                         : "compare it: `x != 0`";
    return false;
}

void lower_if(lowerer *l, const text_statement *statement) {
    lower_value condition = lower_expression(l, statement->value);
    bool fine = check_condition(l, statement, condition);
    ir_value *operand = condition.value;
    text_statement both = {.block = statement->block, .else_block = statement->else_block};
    text_statement *list[1] = {&both};
    lower_names names = lower_assigned(l, &(text_block){.statements = list, .count = 1});
    merge *merges = BASE_NEW_ARRAY(l->arena, merge, names.count + 1);
    lower_value *without = BASE_NEW_ARRAY(l->arena, lower_value, names.count + 1);
    ir_op *holder =
        ir_op_create(l->module, IR_IF, statement->location, fine ? 1 : 0, &operand, 0, NULL, 2);
    for (int64_t i = 0; i < names.count; i++)
        merges[i].name = names.items[i];
    lower_branch(l, holder->regions[0], &statement->block, merges, names.count, 0);
    lower_branch(l, holder->regions[1], &statement->else_block, merges, names.count, 1);
    for (int64_t i = 0; i < names.count; i++)
        if (merges[i].side[0].kind == LOWER_BOUND && merges[i].side[1].kind == LOWER_BOUND)
            merges[i].is_result = merge_type(l, &merges[i], &without[i]);
    bool first = yield_branch(l, holder->regions[0], merges, names.count, 0);
    bool second = yield_branch(l, holder->regions[1], merges, names.count, 1);
    ir_op *op = fine && first && second ? finish_if(l, holder, merges, names.count) : NULL;
    l->dropped = l->dropped || op == NULL;
    bind_merged(l, op, merges, names.count, without);
}

/* ---- all ---- */

static void lower_statement(lowerer *l, const text_statement *statement) {
    switch (statement->kind) {
    case TEXT_STATEMENT_PROGRAM:
        lower_program(l, statement);
        break;
    case TEXT_STATEMENT_ASSIGN:
        lower_assign(l, statement);
        break;
    case TEXT_STATEMENT_STORE:
        lower_store(l, statement);
        break;
    case TEXT_STATEMENT_FOR:
        if (check_assignable(l, statement->name, statement->location))
            lower_for(l, statement);
        break;
    case TEXT_STATEMENT_IF:
        lower_if(l, statement);
        break;
    }
}

void lower_block(lowerer *l, const text_block *block) {
    for (int64_t i = 0; i < block->count; i++)
        lower_statement(l, block->statements[i]);
}
