/* Lowering: who writes a cell.
 *
 * A store is fine when its indices tell all programs apart, and, inside a program, all elements.
 * Each index is a polynomial over program indices, loop indices and elements; an unknown v is
 * found from an index  known + c * v + rest  when 0 <= rest < c. A remainder y % m and the quotient
 * y // m together find y.
 *
 *     y[row, :]                     index 0 finds row, index 1 the element
 *     dest[b, o % 8, o // 8]        b; o % 8 and o // 8 find o = arange(64), and so the element
 *     y[i : +64], program step 64   i + e with 0 <= e < 64 finds i, then e
 *
 * Whatever another program may hold differently (loop indices, loaded values) is an unknown where
 * programs are told apart.
 *
 * Any two accesses of one tensor must divide it among the programs alike: where they come to one
 * cell, an index of one form in both, offset + strides * programs + rest with 0 <= rest < stride,
 * makes a program of the one the same program of the other; then that one may stand in the next.
 *
 *     z[:, row]     z[row, row]     dimension 1 finds row in both
 *     z[row, i]     z[row, i + 1]   row is found, i is not: refused
 */
#include "text/lower_internal.h"

enum { EQUATION_LIMIT = 16, SOLVED_LIMIT = 64 };

typedef struct solver {
    range *range;
    bool elements; /* the question: elements of one program, else programs */
    range_poly equations[EQUATION_LIMIT];
    int count;
    int dimensions; /* the first equations are the tensor's indices */
    int32_t solved[SOLVED_LIMIT];
    int solved_count;
} solver;

/* ---- what is known ---- */

static bool poly_known(const solver *s, const range_poly *p, bool at_start);

static bool atom_known(const solver *s, int32_t id, bool at_start) {
    const range_atom *atom = s->range->atoms[id];
    for (int i = 0; !at_start && i < s->solved_count; i++)
        if (s->solved[i] == id)
            return true;
    switch (atom->kind) {
    case RANGE_SYMBOL:
    case RANGE_FORMULA:
        return true;
    case RANGE_PROGRAM:
        return s->elements;
    case RANGE_VALUE:
    case RANGE_SELECT:
        if (atom->value->type.rank > 0)
            return false;
        return s->elements ||
               (atom->value->definer != NULL && atom->value->definer->opcode == IR_PARAMETER);
    case RANGE_ELEMENT:
        return false;
    case RANGE_DIV:
    case RANGE_MOD:
        return poly_known(s, &atom->a, at_start);
    case RANGE_MIN:
    case RANGE_MAX:
        return poly_known(s, &atom->a, at_start) && poly_known(s, &atom->b, at_start);
    }
    return false;
}

static bool term_known(const solver *s, const range_term *term, bool at_start) {
    for (int32_t i = 0; i < term->degree; i++)
        if (!atom_known(s, term->atoms[i], at_start))
            return false;
    return true;
}

static bool poly_known(const solver *s, const range_poly *p, bool at_start) {
    for (int32_t t = 0; t < p->count; t++)
        if (!term_known(s, &p->terms[t], at_start))
            return false;
    return p->valid;
}

/* ---- finding unknowns ---- */

static void push_term(range_poly *p, range_term term) {
    range_poly one = {.valid = true, .count = 1};
    one.terms[0] = term;
    *p = range_add(*p, one);
}

/* Splits p = known + factor * v + rest. False when v does not stand alone with known factors. */
static bool split(const solver *s, const range_poly *p, int32_t v, range_poly *factor,
                  range_poly *rest) {
    *factor = range_constant(0);
    *rest = range_constant(0);
    for (int32_t t = 0; t < p->count; t++) {
        const range_term *term = &p->terms[t];
        range_term without = {.factor = term->factor};
        int occurrences = 0;
        for (int32_t i = 0; i < term->degree; i++) {
            if (term->atoms[i] == v)
                occurrences++;
            else
                without.atoms[without.degree++] = term->atoms[i];
        }
        if (occurrences == 1 && term_known(s, &without, false))
            push_term(factor, without);
        else if (occurrences > 0)
            return false;
        else if (!term_known(s, term, false))
            push_term(rest, *term);
    }
    return factor->valid && rest->valid;
}

static int64_t unit_of(const solver *s, const range_atom *atom) {
    return atom->kind == RANGE_PROGRAM ? s->range->module->programs[atom->number].step : 1;
}

static bool positive(const solver *s, range_poly p) {
    range_poly less = range_sub(p, range_constant(1));
    return range_proves_not_negative(s->range, &less);
}

/* 0 <= rest < stride; or nothing but v is unknown and its factor is not 0. */
static bool finds(const solver *s, range_poly stride, range_poly rest) {
    if (rest.count == 0 && (positive(s, stride) || positive(s, range_scale(stride, -1))))
        return true;
    range_poly room = range_sub(range_sub(stride, range_constant(1)), rest);
    return range_proves_not_negative(s->range, &rest) && range_proves_not_negative(s->range, &room);
}

/* One more unknown from one equation. */
static bool solve_equation(solver *s, int equation) {
    const range_poly *p = &s->equations[equation];
    for (int32_t t = 0; p->valid && t < p->count; t++) {
        for (int32_t i = 0; i < p->terms[t].degree; i++) {
            int32_t v = p->terms[t].atoms[i];
            range_poly factor, rest;
            if (atom_known(s, v, false) || s->solved_count == SOLVED_LIMIT ||
                !split(s, p, v, &factor, &rest))
                continue;
            const range_atom *atom = s->range->atoms[v];
            range_poly stride = range_scale(factor, unit_of(s, atom));
            if (!finds(s, stride, rest))
                continue;
            s->solved[s->solved_count++] = v;
            return true;
        }
    }
    return false;
}

/* y % m is found; where y // m is known too, y is one more equation. */
static bool join_quotient(solver *s, int32_t id, bool *joined) {
    const range_atom *atom = s->range->atoms[id];
    if (atom->kind != RANGE_MOD || *joined || s->count == EQUATION_LIMIT ||
        poly_known(s, &atom->a, false))
        return false;
    range_poly numerator = atom->a;
    range_poly quotient = range_quotient(s->range, numerator, atom->number);
    if (!quotient.valid || !poly_known(s, &quotient, false))
        return false;
    s->equations[s->count++] = numerator;
    *joined = true;
    return true;
}

static void solve(solver *s) {
    bool joined[SOLVED_LIMIT] = {false};
    for (bool progress = true; progress;) {
        progress = false;
        for (int e = 0; e < s->count; e++)
            while (solve_equation(s, e))
                progress = true;
        for (int i = 0; i < s->solved_count; i++)
            progress = join_quotient(s, s->solved[i], &joined[i]) || progress;
    }
}

/* ---- an access as equations ---- */

static void begin(lowerer *l, solver *s, bool elements, const lower_access *access) {
    *s = (solver){.range = &l->range, .elements = elements, .dimensions = access->access->rank};
    range_begin(&l->range, RANGE_SIZES_KNOWN);
    int axis = 0;
    for (int d = 0; d < access->access->rank; d++) {
        const ir_index *index = &access->access->index[d];
        range_poly p = index->operand >= 0
                           ? range_of_value(&l->range, access->operands[index->operand])
                           : range_constant(0);
        if (index->kind == IR_INDEX_RANGE)
            p = range_add(p, range_element(&l->range, index->length, axis++));
        s->equations[s->count++] = p;
    }
}

static bool is_one(const layout_extent *extent) {
    return extent->kind == LAYOUT_EXTENT_CONSTANT && extent->value <= 1;
}

/* The first program axis that is not found, or -1. */
static int find_lost_program(lowerer *l, solver *s) {
    for (int i = 0; i < l->module->program_count; i++) {
        if (is_one(l->module->programs[i].extent))
            continue;
        bool found = false;
        for (int k = 0; k < s->solved_count; k++) {
            const range_atom *atom = l->range.atoms[s->solved[k]];
            found = found || (atom->kind == RANGE_PROGRAM && atom->number == i);
        }
        if (!found)
            return i;
    }
    return -1;
}

static int find_lost_axis(lowerer *l, solver *s, const ir_type *shape) {
    for (int i = 0; i < shape->rank; i++) {
        if (is_one(shape->extent[i]))
            continue;
        range_poly element = range_element(&l->range, shape->extent[i], i);
        if (!poly_known(s, &element, false))
            return i;
    }
    return -1;
}

/* ---- the two questions ---- */

/* Takes one program out of a term: its number, -1 when there is none. */
static int take_program(const solver *s, range_term *term) {
    for (int32_t i = 0; i < term->degree; i++) {
        const range_atom *atom = s->range->atoms[term->atoms[i]];
        if (atom->kind != RANGE_PROGRAM)
            continue;
        for (int32_t j = i + 1; j < term->degree; j++)
            term->atoms[j - 1] = term->atoms[j];
        term->degree--;
        return (int)atom->number;
    }
    return -1;
}

/* An index as offset + strides * programs + rest, where the rest is what programs may hold
 * differently. */
static void note_division(lowerer *l, const solver *s, const range_poly *p,
                          lower_division *division) {
    range_poly offset = range_constant(0), rest = range_constant(0);
    range_poly stride[IR_MAX_PROGRAMS];
    int programs = l->module->program_count;
    for (int i = 0; i < programs; i++)
        stride[i] = range_constant(0);
    for (int32_t t = 0; t < p->count; t++) {
        range_term term = p->terms[t];
        int program = take_program(s, &term);
        if (!term_known(s, &term, true))
            push_term(&rest, p->terms[t]);
        else
            push_term(program < 0 ? &offset : &stride[program], term);
    }
    division->offset =
        p->valid && offset.valid && rest.valid ? range_to_extent(s->range, &offset) : NULL;
    for (int i = 0; i < programs; i++) {
        range_poly unit = range_scale(stride[i], l->module->programs[i].step);
        division->stride[i] = unit.valid ? range_to_extent(s->range, &unit) : NULL;
        division->finds[i] = unit.valid && unit.count > 0 && finds(s, unit, rest);
    }
}

/* The same index in two accesses finds the program, should the `same` ones be the same. */
static bool both_find(const lowerer *l, const lower_division *a, const lower_division *b,
                      int program, const bool *same) {
    if (!a->finds[program] || !b->finds[program] || a->offset == NULL || a->offset != b->offset)
        return false;
    for (int i = 0; i < l->module->program_count; i++) {
        if (a->stride[i] == NULL || a->stride[i] != b->stride[i])
            return false;
        if (i != program && !same[i] && !layout_extent_is(&l->module->extents, a->stride[i], 0))
            return false;
    }
    return true;
}

static bool divide_alike(const lowerer *l, const lower_owner *a, const lower_owner *b) {
    int programs = l->module->program_count, count = 0;
    bool same[IR_MAX_PROGRAMS] = {false};
    for (int i = 0; i < programs; i++) {
        same[i] = is_one(l->module->programs[i].extent); /* one program: nothing to divide */
        count += same[i];
    }
    for (bool progress = true; progress && count < programs;) {
        progress = false;
        for (int d = 0; d < a->rank; d++)
            for (int i = 0; i < programs; i++)
                if (!same[i] && both_find(l, &a->division[d], &b->division[d], i, same)) {
                    same[i] = progress = true;
                    count++;
                }
    }
    return count == programs;
}

/* The tensor is divided as by its other accesses. */
static bool check_owner(lowerer *l, const text_expression *node, int parameter, const solver *s) {
    if (l->speculating)
        return true;
    lower_owner *owner = BASE_NEW(l->arena, lower_owner);
    owner->location = node->location;
    owner->rank = s->dimensions;
    for (int d = 0; d < s->dimensions; d++)
        note_division(l, s, &s->equations[d], &owner->division[d]);
    const lower_owner *other = l->owners[parameter];
    while (other != NULL && divide_alike(l, other, owner))
        other = other->next;
    owner->next = l->owners[parameter];
    l->owners[parameter] = owner;
    if (other == NULL)
        return true;
    base_diagnostic *item = lower_report(
        l, "program-overlap", node->location,
        "two accesses of `%s` divide it differently among the programs", node->left->name->text);
    item->found = lower_text(l, "the other one is at %d:%d", (int)other->location.line,
                             (int)other->location.column);
    item->hint = "programs run in any order: let each touch cells of its own only";
    return false;
}

static bool mentions_program(const solver *s, int program) {
    for (int64_t i = 0; i < s->range->count; i++)
        if (s->range->atoms[i]->kind == RANGE_VALUE ||
            (s->range->atoms[i]->kind == RANGE_PROGRAM && s->range->atoms[i]->number == program))
            return true;
    return false;
}

static bool report_programs(lowerer *l, const text_expression *node, const solver *s, int program) {
    const char *name = l->module->programs[program].name;
    base_diagnostic *item =
        lower_report(l, "store-overlap", node->location, "two programs may write one cell of `%s`",
                     node->left->name->text);
    item->found = lower_text(l, "%s = 0 and %s = %lld%s", name, name,
                             (long long)l->module->programs[program].step,
                             mentions_program(s, program) ? ", should their indices be equal" : "");
    item->expected = "indices that are different for any two programs";
    item->hint =
        lower_text(l, "index with `%s`, or write `unique` if the indices never repeat", name);
    return false;
}

/* "[0, 1]": the element that is 1 along the axis. */
static const char *name_element(lowerer *l, int rank, int axis) {
    base_text text;
    base_text_init(&text, l->arena);
    for (int i = 0; i < rank; i++)
        base_text_format(&text, "%s%d", i > 0 ? ", " : "[", i == axis);
    base_text_string(&text, "]");
    return text.bytes;
}

static bool report_elements(lowerer *l, const text_expression *node, int rank, int axis,
                            const char *witness) {
    base_diagnostic *item =
        lower_report(l, "store-overlap", node->location, "two elements may write one cell of `%s`",
                     node->left->name->text);
    item->found = witness != NULL
                      ? witness
                      : lower_text(l, "elements %s and %s, should their indices be equal",
                                   name_element(l, rank, -1), name_element(l, rank, axis));
    item->expected = "indices that are different for any two elements";
    item->hint = "write `unique` if the indices never repeat: `y[i, unique] = v`";
    return false;
}

bool lower_owner_check_store(lowerer *l, const text_expression *node, int parameter,
                             lower_access *access) {
    if (access->access->unique)
        return true;
    solver *s = BASE_NEW(l->arena, solver);
    begin(l, s, true, access);
    solve(s);
    int axis = find_lost_axis(l, s, &access->shape);
    const char *witness = NULL;
    if (axis >= 0 && lower_enumerate(l, access, &witness) != LOWER_ENUMERATION_INJECTIVE)
        return report_elements(l, node, access->shape.rank, axis, witness);
    begin(l, s, false, access);
    solve(s);
    int program = find_lost_program(l, s);
    if (program >= 0)
        return report_programs(l, node, s, program);
    if (!check_owner(l, node, parameter, s))
        return false;
    access->access->injective = true;
    return true;
}

void lower_owner_check_load(lowerer *l, const text_expression *node, int parameter,
                            lower_access *access) {
    if (l->module->parameters[parameter].mode != IR_INOUT)
        return;
    solver *s = BASE_NEW(l->arena, solver);
    begin(l, s, false, access);
    solve(s);
    int program = find_lost_program(l, s);
    if (program < 0) {
        check_owner(l, node, parameter, s);
        return;
    }
    base_diagnostic *item = lower_report(l, "program-overlap", node->location,
                                         "a program may read cells of `%s` that another one writes",
                                         node->left->name->text);
    item->found = lower_text(l, "the indices do not tell programs of different `%s` apart",
                             l->module->programs[program].name);
    item->hint = "programs run in any order: let each touch cells of its own only";
}
