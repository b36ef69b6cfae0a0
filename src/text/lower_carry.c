/* Lowering: loops, what they carry, and the types that literals take there.
 *
 *     best = -inf
 *     for k in 0..N step 64 { best = maximum(best, max(x[row, k : +64])) }
 *
 * A name that is defined before the loop and assigned in it is a carry. Where it starts as a
 * literal, the body is lowered once for nothing but the type that the name has at its end (and
 * again while that settles the next name), then for good with a constant of that type.
 */
#include "text/lower_internal.h"

typedef struct carry {
    const text_name *name;
    base_location location;
    lower_value initial;
    bool typed; /* its type is known */
    ir_type type;
} carry;

typedef struct loop_state {
    const text_statement *statement;
    ir_value *bounds[3]; /* low, high, step */
    carry *carries;
    int count;
} loop_state;

ir_value *lower_convert_to(lowerer *l, lower_value value, const ir_type *type, const char *what,
                           base_location at) {
    if (value.kind == LOWER_POISON)
        return NULL;
    if (value.kind == LOWER_LITERAL) {
        ir_value *constant = lower_literal(l, value, type->dtype, at);
        return constant != NULL ? lower_broadcast(l, constant, type, at) : NULL;
    }
    const ir_type *have = &value.value->type;
    bool shape = have->rank == type->rank;
    for (int i = 0; shape && i < type->rank; i++)
        shape = lower_extent_equal(l, have->extent[i], type->extent[i]);
    if (have->dtype != type->dtype || !shape) {
        base_diagnostic *item = lower_report(l, "type-mismatch", at, "%s changes its type", what);
        item->found = lower_describe(l, value);
        item->expected = lower_text(l, "%s%s", base_dtype_name(type->dtype),
                                    type->rank > 0 ? lower_describe_shape(l, type) : "");
        if (shape)
            item->hint = lower_text(l, "write `%s(...)` around one of the values",
                                    base_dtype_name(have->dtype));
        return NULL;
    }
    for (int i = 0; i < type->rank; i++) {
        if (have->domain[i] == type->domain[i])
            continue;
        lower_report(l, "domain-mismatch", at, "%s ends differently on axis %d", what, i)->hint =
            "make the value full: `pad(t, 0.0)`";
        return NULL;
    }
    return value.value;
}

/* ---- bounds ---- */

static ir_value *loop_bound(lowerer *l, const text_expression *node, const char *what) {
    lower_value value = lower_to_index(l, lower_expression(l, node), what, node->location);
    if (value.kind == LOWER_POISON)
        return NULL;
    if (!lower_is_tile(value))
        return value.value;
    lower_report(l, "loop-bound", node->location, "%s is not a scalar", what)->found =
        lower_describe(l, value);
    return NULL;
}

static bool loop_bounds(lowerer *l, loop_state *loop) {
    const text_statement *statement = loop->statement;
    loop->bounds[0] = loop_bound(l, statement->low, "the start of a loop");
    loop->bounds[1] = loop_bound(l, statement->high, "the end of a loop");
    loop->bounds[2] = statement->step != NULL ? loop_bound(l, statement->step, "the step of a loop")
                                              : lower_index_constant(l, 1);
    if (loop->bounds[0] == NULL || loop->bounds[1] == NULL || loop->bounds[2] == NULL)
        return false;
    range_begin(&l->range, RANGE_SIZES_KNOWN);
    range_poly above = range_sub(range_of_value(&l->range, loop->bounds[2]), range_constant(1));
    if (range_proves_not_negative(&l->range, &above))
        return true;
    base_diagnostic *item = lower_report(l, "step-positive", statement->step->location,
                                         "the step of a loop is not proved to be positive");
    item->expected = "a step of 1 or more";
    item->hint = "`maximum(s, 1)` proves it";
    return false;
}

/* ---- one lowering of the body ---- */

/* Opens the loop: an unlinked FOR with its index and an argument for each carry of known type. */
static ir_op *open_loop(lowerer *l, loop_state *loop, lower_scope *scope, int initial_count,
                        ir_value **operands) {
    const text_statement *statement = loop->statement;
    ir_type *types = BASE_NEW_ARRAY(l->arena, ir_type, loop->count + 1);
    for (int i = 0; i < initial_count; i++)
        types[i] = operands[3 + i]->type;
    ir_op *op = ir_op_create(l->module, IR_FOR, statement->location, 3 + initial_count, operands,
                             initial_count, types, 1);
    ir_value *index = ir_region_add_argument(l->module, op->regions[0], ir_type_scalar(BASE_INDEX),
                                             statement->name->text);
    lower_scope_enter(l, scope, op->regions[0]);
    for (int i = 0; i < loop->count; i++) {
        carry *c = &loop->carries[i];
        lower_value value = c->initial;
        if (c->typed)
            value = lower_typed(
                ir_region_add_argument(l->module, op->regions[0], c->type, c->name->text));
        else if (value.kind == LOWER_LITERAL)
            value.open = true;
        lower_bind(l, c->name, (lower_binding){LOWER_BOUND, value, c->location});
    }
    lower_bind(l, statement->name,
               (lower_binding){LOWER_FIXED, lower_typed(index), statement->location});
    return op;
}

/* The type that a carry has at the end of the body; its domain only where it exists before. */
static bool learn_type(lowerer *l, carry *c, lower_value end) {
    if (end.kind == LOWER_POISON) /* what is wrong there will be reported for good */
        return false;
    if (end.kind == LOWER_LITERAL) {
        c->initial.is_integer = c->initial.is_integer && end.is_integer;
        return false;
    }
    c->typed = true;
    c->type = end.value->type;
    for (int i = 0; i < c->type.rank; i++)
        if (c->type.domain[i] != NULL && !lower_exists_here(l, c->type.domain[i]))
            c->type.domain[i] = NULL;
    return true;
}

/* Lowers the body for nothing but types; true when it settled one. */
static bool speculate(lowerer *l, loop_state *loop) {
    base_diagnostics *diagnostics = l->diagnostics;
    bool speculating = l->speculating;
    bool dropped = l->dropped;
    l->diagnostics = BASE_NEW(l->arena, base_diagnostics);
    base_diagnostics_init(l->diagnostics, l->arena);
    l->speculating = true;
    lower_scope scope;
    lower_value *ends = BASE_NEW_ARRAY(l->arena, lower_value, loop->count + 1);
    open_loop(l, loop, &scope, 0, loop->bounds);
    lower_block(l, &loop->statement->block);
    for (int i = 0; i < loop->count; i++)
        ends[i] = l->names[loop->carries[i].name->id].value;
    lower_scope_leave(l);
    lower_scope_restore(l, &scope);
    l->diagnostics = diagnostics;
    l->speculating = speculating;
    l->dropped = dropped;
    bool progress = false;
    for (int i = 0; i < loop->count; i++)
        if (!loop->carries[i].typed && loop->carries[i].initial.kind == LOWER_LITERAL)
            progress = learn_type(l, &loop->carries[i], ends[i]) || progress;
    return progress;
}

static bool has_open(const loop_state *loop) {
    for (int i = 0; i < loop->count; i++)
        if (!loop->carries[i].typed && loop->carries[i].initial.kind == LOWER_LITERAL)
            return true;
    return false;
}

static void settle_types(lowerer *l, loop_state *loop) {
    while (has_open(loop) && l->budget > 0)
        if (!speculate(l, loop))
            break;
    for (int i = 0; i < loop->count; i++) {
        carry *c = &loop->carries[i];
        if (c->typed || c->initial.kind != LOWER_LITERAL)
            continue;
        c->typed = true;
        c->type = ir_type_scalar(lower_literal_default(c->initial));
    }
}

/* ---- the loop ---- */

static void find_carries(lowerer *l, loop_state *loop) {
    lower_names names = lower_assigned(l, &loop->statement->block);
    loop->carries = BASE_NEW_ARRAY(l->arena, carry, names.count + 1);
    for (int64_t i = 0; i < names.count; i++) {
        const lower_binding *binding = &l->names[names.items[i]->id];
        if (binding->kind != LOWER_BOUND)
            continue;
        carry *c = &loop->carries[loop->count++];
        *c = (carry){.name = names.items[i],
                     .location = binding->location,
                     .initial = binding->value,
                     .typed = binding->value.kind == LOWER_TYPED};
        if (c->typed)
            c->type = binding->value.value->type;
    }
}

/* Lowers the body for good. NULL when something in it was reported. */
static ir_op *build_loop(lowerer *l, loop_state *loop) {
    int count = 0;
    bool fine = true;
    ir_value **operands = BASE_NEW_ARRAY(l->arena, ir_value *, loop->count + 3);
    for (int i = 0; i < 3; i++)
        operands[i] = loop->bounds[i];
    for (int i = 0; i < loop->count; i++) {
        carry *c = &loop->carries[i];
        if (!c->typed)
            continue;
        const char *what = lower_text(l, "`%s`", c->name->text);
        operands[3 + count] = lower_convert_to(l, c->initial, &c->type, what, c->location);
        if (operands[3 + count] == NULL) {
            c->typed = false;
            c->initial = lower_poison();
        } else {
            count++;
        }
    }
    lower_scope scope;
    ir_op *op = open_loop(l, loop, &scope, count, operands);
    lower_block(l, &loop->statement->block);
    ir_value **yields = BASE_NEW_ARRAY(l->arena, ir_value *, loop->count + 1);
    count = 0;
    for (int i = 0; i < loop->count; i++) {
        carry *c = &loop->carries[i];
        lower_binding end = l->names[c->name->id];
        fine = fine && c->typed;
        if (!c->typed)
            continue;
        const char *what = lower_text(l, "`%s`, which the loop carries,", c->name->text);
        yields[count] = lower_convert_to(l, end.value, &c->type, what, end.location);
        fine = fine && yields[count] != NULL;
        count++;
    }
    if (fine)
        ir_build_yield(&l->builder, count, yields);
    lower_scope_leave(l);
    lower_scope_restore(l, &scope);
    return fine ? op : NULL;
}

void lower_for(lowerer *l, const text_statement *statement) {
    loop_state loop = {.statement = statement};
    bool fine = loop_bounds(l, &loop);
    lower_names names = lower_assigned(l, &statement->block);
    ir_op *op = NULL;
    find_carries(l, &loop);
    if (!fine) /* the body is still looked at */
        for (int i = 0; i < 3; i++)
            loop.bounds[i] = lower_index_constant(l, 1);
    settle_types(l, &loop);
    op = build_loop(l, &loop);
    if (op != NULL)
        ir_op_append(l->scope->region, op);
    else
        l->dropped = true;
    for (int i = 0, result = 0; i < loop.count; i++) {
        lower_value value = lower_poison();
        if (op != NULL) {
            op->results[result]->name = loop.carries[i].name->text;
            value = lower_typed(op->results[result++]);
        }
        lower_bind(l, loop.carries[i].name,
                   (lower_binding){LOWER_BOUND, value, loop.carries[i].location});
    }
    for (int64_t i = 0; i < names.count; i++)
        if (l->names[names.items[i]->id].kind == LOWER_UNBOUND ||
            l->names[names.items[i]->id].kind == LOWER_LEFT_IF)
            lower_bind(l, names.items[i], (lower_binding){.kind = LOWER_LEFT_LOOP});
}
