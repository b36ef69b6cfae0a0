/* Ranges: what index values are, as polynomials, and the questions that lowering asks.
 *
 *     i = arange(64):   i // 8      the atom DIV(element 0, 8), at most 7
 *     k in lo..hi step s            an atom with lo <= k <= hi - 1 (hi - s where s divides hi - lo)
 *
 * Arithmetic narrower than 64 bits may wrap: of it only what cannot is looked through. Whatever is
 * loaded is an atom that is bounded by its type alone.
 */
#include "text/range_internal.h"

#include "base/checked.h"

#include <string.h>

enum { VISIT_LIMIT = 400, VISIT_DEPTH = 60 };

static range_poly invalid_poly(void) {
    return (range_poly){.valid = false};
}

/* ---- atoms ---- */

static bool poly_equal(const range_poly *a, const range_poly *b) {
    return a->valid == b->valid && a->count == b->count &&
           memcmp(a->terms, b->terms, sizeof a->terms[0] * (size_t)a->count) == 0;
}

static bool atom_equal(const range_atom *a, const range_atom *b) {
    return a->kind == b->kind && a->number == b->number && a->value == b->value &&
           a->extent == b->extent && memcmp(a->axes, b->axes, sizeof a->axes) == 0 &&
           poly_equal(&a->a, &b->a) && poly_equal(&a->b, &b->b);
}

/* The polynomial that is the atom alone; *made when it is new and its bounds are to be set. */
static range_poly atom_poly(range *r, const range_atom *wanted, range_atom **made) {
    int64_t id = 0;
    while (id < r->count && !atom_equal(r->atoms[id], wanted))
        id++;
    *made = NULL;
    if (id == r->count) {
        if (r->count == r->capacity) {
            range_atom *fresh = BASE_NEW(r->arena, range_atom);
            int64_t count = r->count;
            BASE_PUSH(r->arena, r->atoms, count, r->capacity, fresh);
            for (int64_t i = count; i < r->capacity; i++)
                r->atoms[i] = BASE_NEW(r->arena, range_atom);
        }
        *r->atoms[id] = *wanted;
        *made = r->atoms[id];
        r->count++;
    }
    range_poly p = {.valid = true, .count = 1};
    p.terms[0] = (range_term){.factor = 1, .degree = 1, .atoms = {(int32_t)id}};
    return p;
}

/* A proof inside the making of an atom: the running one's steps are kept. */
static bool proves(range *r, range_poly p) {
    int steps = r->steps;
    bool proved = range_proves_not_negative(r, &p);
    r->steps = steps;
    return proved;
}

static void add_upper(range_atom *atom, range_poly p) {
    if (atom->upper_count < RANGE_BOUNDS && p.valid)
        atom->upper[atom->upper_count++] = p;
}

static void add_lower(range_atom *atom, range_poly p) {
    if (atom->lower_count < RANGE_BOUNDS && p.valid)
        atom->lower[atom->lower_count++] = p;
}

/* 0, step, 2*step, ... below limit: the largest is at most limit - 1, and limit - step where that
 * is in it. */
static void add_stepped_upper(range_atom *atom, range_poly low, range_poly high, int64_t step) {
    range_poly distance = range_sub(high, low);
    int64_t span = 0;
    if (range_is_constant(&distance, &span) && span > 0) {
        add_upper(atom, range_add(low, range_constant(base_floor_div(span - 1, step) * step)));
        return;
    }
    bool divides = distance.valid;
    for (int32_t t = 0; t < distance.count; t++)
        divides = divides && distance.terms[t].factor % step == 0;
    add_upper(atom, range_sub(high, range_constant(divides ? step : 1)));
}

/* ---- division, minimum, maximum ---- */

/* p = multiple of c + rest. */
static range_poly split_multiples(const range_poly *p, int64_t c, range_poly *quotient) {
    range_poly rest = {.valid = p->valid};
    *quotient = (range_poly){.valid = p->valid};
    for (int32_t t = 0; t < p->count; t++) {
        range_term term = p->terms[t];
        int64_t whole = base_floor_div(term.factor, c);
        bool divisible = term.factor % c == 0;
        if (term.degree == 0 || divisible) {
            range_term part = term;
            part.factor = whole;
            range_poly one = {.valid = true, .count = whole != 0 ? 1 : 0};
            one.terms[0] = part;
            *quotient = range_add(*quotient, one);
            term.factor -= whole * c;
        }
        if (term.factor != 0)
            rest.terms[rest.count++] = term;
    }
    return rest;
}

/* A constant that p never exceeds. */
static bool constant_upper(const range *r, const range_poly *p, int64_t *limit) {
    *limit = 0;
    for (int32_t t = 0; t < p->count; t++) {
        const range_term *term = &p->terms[t];
        int64_t most = term->factor > 0 ? term->factor : term->degree > 0 ? 0 : term->factor;
        for (int32_t i = 0; i < term->degree; i++) {
            const range_atom *atom = r->atoms[term->atoms[i]];
            int64_t bound = 0;
            bool bounded = term->factor < 0;
            for (int u = 0; !bounded && u < atom->upper_count; u++)
                bounded = range_is_constant(&atom->upper[u], &bound);
            if (!atom->not_negative || !bounded ||
                (term->factor > 0 && !base_checked_mul(most, bound, &most)))
                return false;
        }
        if (!base_checked_add(*limit, most, limit))
            return false;
    }
    return true;
}

static range_poly make_division(range *r, range_poly a, int64_t c, bool modulo) {
    range_poly quotient;
    range_poly rest = split_multiples(&a, c, &quotient);
    if (!rest.valid)
        return invalid_poly();
    if (proves(r, rest) && proves(r, range_sub(range_constant(c - 1), rest)))
        return modulo ? rest : quotient;
    if (!modulo && quotient.count == 0 && a.count == 1 && a.terms[0].degree == 1 &&
        a.terms[0].factor == 1) { /* (x // m) // c = x // (m * c) */
        const range_atom *inner = r->atoms[a.terms[0].atoms[0]];
        int64_t product = 0;
        if (inner->kind == RANGE_DIV && base_checked_mul(inner->number, c, &product))
            return make_division(r, inner->a, product, false);
    }
    range_atom wanted = {.kind = modulo ? RANGE_MOD : RANGE_DIV, .number = c, .a = rest};
    range_atom *made;
    range_poly p = atom_poly(r, &wanted, &made);
    if (made != NULL) {
        bool not_negative = proves(r, rest);
        made->not_negative = modulo || not_negative;
        if (modulo)
            add_upper(made, range_constant(c - 1));
        if (not_negative)
            add_upper(made, rest);
        int64_t limit = 0;
        if (!modulo && constant_upper(r, &rest, &limit)) {
            made->upper_count = 0;
            add_upper(made, range_constant(base_floor_div(limit, c)));
        }
    }
    return modulo ? p : range_add(quotient, p);
}

range_poly range_quotient(range *r, range_poly a, int64_t divisor) {
    return make_division(r, a, divisor, false);
}

static range_poly make_extreme(range *r, range_atom_kind kind, range_poly a, range_poly b) {
    if (!a.valid || !b.valid)
        return invalid_poly();
    if (proves(r, range_sub(a, b)))
        return kind == RANGE_MAX ? a : b;
    if (proves(r, range_sub(b, a)))
        return kind == RANGE_MAX ? b : a;
    range_atom wanted = {.kind = kind, .a = a, .b = b};
    range_atom *made;
    range_poly p = atom_poly(r, &wanted, &made);
    if (made == NULL)
        return p;
    bool first = proves(r, a);
    bool second = proves(r, b);
    made->not_negative = kind == RANGE_MAX ? first || second : first && second;
    for (int i = 0; i < 2; i++) {
        if (kind == RANGE_MAX)
            add_lower(made, i == 0 ? a : b);
        else
            add_upper(made, i == 0 ? a : b);
    }
    return p;
}

/* ---- formulas ---- */

static range_poly symbol_poly(range *r, int64_t symbol) {
    const layout_symbol *entry = &r->module->extents.symbols[symbol];
    if (r->sizes == RANGE_SIZES_KNOWN && entry->known)
        return range_constant(entry->value);
    if (r->sizes == RANGE_SIZES_BOUND)
        return range_constant(r->bound[symbol] >= 0 ? r->bound[symbol] : 1);
    range_atom wanted = {.kind = RANGE_SYMBOL, .number = symbol, .not_negative = true};
    range_atom *made;
    return atom_poly(r, &wanted, &made);
}

static range_poly formula_atom(range *r, const layout_extent *extent) {
    range_atom wanted = {.kind = RANGE_FORMULA, .extent = extent};
    range_poly left = range_of_extent(r, extent->left);
    range_poly right = range_of_extent(r, extent->right);
    wanted.not_negative = proves(r, left) && proves(r, right);
    range_atom *made;
    range_poly p = atom_poly(r, &wanted, &made);
    if (made != NULL && wanted.not_negative)
        add_upper(made, left); /* x // n and x % n of x >= 0 are at most x, for n = 0 too */
    return p;
}

range_poly range_of_extent(range *r, const layout_extent *extent) {
    if (extent->kind == LAYOUT_EXTENT_CONSTANT)
        return range_constant(extent->value);
    if (extent->kind == LAYOUT_EXTENT_SYMBOL)
        return symbol_poly(r, extent->value);
    if (r->visits-- <= 0)
        return invalid_poly();
    range_poly left = range_of_extent(r, extent->left);
    range_poly right = range_of_extent(r, extent->right);
    int64_t divisor = 0;
    switch (extent->kind) {
    case LAYOUT_EXTENT_ADD:
        return range_add(left, right);
    case LAYOUT_EXTENT_SUB:
        return range_sub(left, right);
    case LAYOUT_EXTENT_MUL:
        return range_mul(left, right);
    case LAYOUT_EXTENT_DIV:
    case LAYOUT_EXTENT_MOD:
        if (range_is_constant(&right, &divisor) && divisor == 0)
            return range_constant(0);
        if (range_is_constant(&right, &divisor) && divisor > 0)
            return make_division(r, left, divisor, extent->kind == LAYOUT_EXTENT_MOD);
        return formula_atom(r, extent);
    case LAYOUT_EXTENT_MIN:
        return make_extreme(r, RANGE_MIN, left, right);
    case LAYOUT_EXTENT_MAX:
        return make_extreme(r, RANGE_MAX, left, right);
    case LAYOUT_EXTENT_CONSTANT:
    case LAYOUT_EXTENT_SYMBOL:
        break;
    }
    return invalid_poly();
}

/* ---- values ---- */

/* Which axis of the shape each axis of the value is; -1: extent 1, position 0. */
typedef struct axis_map {
    int axis[IR_MAX_RANK];
} axis_map;

static range_poly value_poly(range *r, const ir_value *value, axis_map map, int depth);

static bool is_loop_index(const ir_value *value) {
    return value->definer == NULL && value->region != NULL && value->region->owner != NULL &&
           value->region->owner->opcode == IR_FOR && value->region->arguments[0] == value;
}

static range_poly opaque_poly(range *r, const ir_value *value, axis_map map, int depth) {
    range_atom wanted = {.kind = RANGE_VALUE, .value = value};
    for (int i = 0; i < value->type.rank; i++)
        wanted.axes[i] = map.axis[i];
    range_atom *made;
    range_poly p = atom_poly(r, &wanted, &made);
    if (made == NULL)
        return p;
    base_dtype dtype = value->type.dtype;
    if (is_loop_index(value)) {
        ir_value *const *bounds = value->region->owner->operands;
        range_poly low = value_poly(r, bounds[0], map, depth + 1);
        range_poly high = value_poly(r, bounds[1], map, depth + 1);
        range_poly step = value_poly(r, bounds[2], map, depth + 1);
        int64_t step_value = 1;
        if (!range_is_constant(&step, &step_value) || step_value < 1)
            step_value = 1;
        bool not_negative = proves(r, low);
        made->not_negative = not_negative;
        add_lower(made, low);
        add_stepped_upper(made, low, high, step_value);
    } else if (base_dtype_holds(dtype, 0) && base_dtype_size(dtype) < 8) {
        made->not_negative = base_dtype_least(dtype) >= 0;
        add_lower(made, range_constant(base_dtype_least(dtype)));
        add_upper(made, range_constant(base_dtype_greatest(dtype)));
    }
    return p;
}

static range_poly program_poly(range *r, int axis) {
    range_atom wanted = {.kind = RANGE_PROGRAM, .number = axis, .not_negative = true};
    range_atom *made;
    range_poly p = atom_poly(r, &wanted, &made);
    if (made == NULL)
        return p;
    const ir_program *program = &r->module->programs[axis];
    range_poly extent = range_of_extent(r, program->extent);
    add_stepped_upper(made, range_constant(0), extent, program->step);
    return p;
}

range_poly range_element(range *r, const layout_extent *extent, int axis) {
    int64_t one = 0;
    if (axis < 0 || (extent->kind == LAYOUT_EXTENT_CONSTANT && extent->value == 1))
        return range_constant(0);
    range_atom wanted = {.kind = RANGE_ELEMENT, .number = axis, .not_negative = true};
    range_atom *made;
    range_poly p = atom_poly(r, &wanted, &made);
    if (made == NULL)
        return p;
    range_poly last = range_sub(range_of_extent(r, extent), range_constant(1));
    if (range_is_constant(&last, &one) && one < 0)
        last = range_constant(0); /* no element at all: every claim about it holds */
    add_upper(made, last);
    return p;
}

/* The operand's axes, for ops that change the rank. */
static axis_map map_for_operand(const ir_op *op, const ir_type *operand, axis_map map) {
    axis_map result = {{-1, -1, -1, -1}};
    for (int i = 0; i < operand->rank; i++) {
        int from = i;
        if (op->opcode == IR_EXPAND && i >= op->attributes.axis)
            from = i + 1;
        else if (op->opcode == IR_DROP && i == op->attributes.axis)
            from = -1;
        else if (op->opcode == IR_DROP && i > op->attributes.axis)
            from = i - 1;
        bool one =
            operand->extent[i]->kind == LAYOUT_EXTENT_CONSTANT && operand->extent[i]->value == 1;
        result.axis[i] = from < 0 || one ? -1 : map.axis[from];
    }
    return result;
}

static bool wraps(base_dtype dtype) {
    return dtype != BASE_INDEX && dtype != BASE_I64;
}

static range_poly select_poly(range *r, const ir_value *value, range_poly a, range_poly b,
                              axis_map map) {
    range_atom wanted = {.kind = RANGE_SELECT, .value = value, .a = a, .b = b};
    for (int i = 0; i < value->type.rank; i++)
        wanted.axes[i] = map.axis[i];
    wanted.not_negative = proves(r, a) && proves(r, b);
    range_atom *made;
    return atom_poly(r, &wanted, &made);
}

/* Ops of two operands that are numbers of the value's own type; invalid where nothing is known. */
static range_poly binary_poly(range *r, const ir_value *value, range_poly a, range_poly b) {
    int64_t c = 0;
    bool constant = range_is_constant(&b, &c);
    switch ((int)value->definer->opcode) {
    case IR_ADD:
        return wraps(value->type.dtype) ? invalid_poly() : range_add(a, b);
    case IR_SUB:
        return wraps(value->type.dtype) ? invalid_poly() : range_sub(a, b);
    case IR_MUL:
        return wraps(value->type.dtype) ? invalid_poly() : range_mul(a, b);
    case IR_FLOOR_DIV:
    case IR_FLOOR_MOD:
        return constant && c > 0 ? make_division(r, a, c, value->definer->opcode == IR_FLOOR_MOD)
                                 : invalid_poly();
    case IR_SHR:
        return constant && c >= 0 && c < 31 ? make_division(r, a, INT64_C(1) << c, false)
                                            : invalid_poly();
    case IR_SHL:
        return constant && c >= 0 && c < 31 && !wraps(value->type.dtype)
                   ? range_scale(a, INT64_C(1) << c)
                   : invalid_poly();
    case IR_AND:
        return constant && c >= 0 && c < INT32_MAX && (c & (c + 1)) == 0
                   ? make_division(r, a, c + 1, true)
                   : invalid_poly();
    case IR_MAXIMUM:
        return make_extreme(r, RANGE_MAX, a, b);
    case IR_MINIMUM:
        return make_extreme(r, RANGE_MIN, a, b);
    default:
        return invalid_poly();
    }
}

static range_poly op_poly(range *r, const ir_value *value, axis_map map, int depth) {
    const ir_op *op = value->definer;
    range_poly operand[3];
    if (!base_dtype_is_integer(value->type.dtype) || op->region_count > 0)
        return invalid_poly();
    switch ((int)op->opcode) {
    case IR_CONSTANT:
        return range_constant(op->attributes.constant.integer);
    case IR_SIZE:
        return range_of_extent(r, op->attributes.extent);
    case IR_PROGRAM:
        return program_poly(r, op->attributes.axis);
    case IR_ARANGE:
        return range_element(r, value->type.extent[0], map.axis[0]);
    case IR_EXPAND:
    case IR_DROP:
    case IR_BROADCAST:
    case IR_CONVERT:
    case IR_CAST:
        if (op->opcode == IR_CAST && !base_dtype_is_integer(op->operands[0]->type.dtype))
            return invalid_poly();
        if (op->opcode == IR_CAST && wraps(value->type.dtype) &&
            base_dtype_size(op->operands[0]->type.dtype) >= base_dtype_size(value->type.dtype))
            return invalid_poly();
        return value_poly(r, op->operands[0], map_for_operand(op, &op->operands[0]->type, map),
                          depth + 1);
    default:
        break;
    }
    if (op->operand_count < 2 || op->operand_count > 3)
        return invalid_poly();
    bool select = op->opcode == IR_SELECT;
    if (ir_op_describe(op->opcode)->shape != IR_SHAPE_BINARY && !select)
        return invalid_poly();
    for (int i = select ? 1 : 0; i < op->operand_count; i++)
        operand[i] = value_poly(r, op->operands[i],
                                map_for_operand(op, &op->operands[i]->type, map), depth + 1);
    return select ? select_poly(r, value, operand[1], operand[2], map)
                  : binary_poly(r, value, operand[0], operand[1]);
}

static range_poly value_poly(range *r, const ir_value *value, axis_map map, int depth) {
    range_poly p = invalid_poly();
    bool leaf = value->definer != NULL && value->definer->operand_count == 0;
    if (leaf || (value->definer != NULL && depth < VISIT_DEPTH && r->visits-- > 0))
        p = op_poly(r, value, map, depth);
    return p.valid ? p : opaque_poly(r, value, map, depth);
}

range_poly range_of_value(range *r, const ir_value *value) {
    axis_map map = {{-1, -1, -1, -1}};
    for (int i = 0; i < value->type.rank; i++) {
        bool one = value->type.extent[i]->kind == LAYOUT_EXTENT_CONSTANT &&
                   value->type.extent[i]->value == 1;
        map.axis[i] = one ? -1 : i;
    }
    return value_poly(r, value, map, 0);
}

/* ---- questions ---- */

void range_begin(range *r, range_sizes sizes) {
    r->count = 0;
    r->effort -= VISIT_LIMIT - r->visits;
    r->visits = r->effort > 0 ? VISIT_LIMIT : 0;
    r->sizes = sizes;
}

bool range_not_negative(range *r, const ir_value *scalar) {
    range_begin(r, RANGE_SIZES_KNOWN);
    range_poly p = range_of_value(r, scalar);
    return range_proves_not_negative(r, &p);
}

bool range_inside(range *r, const ir_value *value, const layout_extent *extent) {
    range_begin(r, RANGE_SIZES_KNOWN);
    range_poly p = range_of_value(r, value);
    range_poly last = range_sub(range_of_extent(r, extent), range_constant(1));
    range_poly left = range_sub(last, p);
    return range_proves_not_negative(r, &p) && range_proves_not_negative(r, &left);
}

bool range_fits(range *r, const ir_value *start, const layout_extent *length,
                const layout_extent *extent) {
    range_begin(r, RANGE_SIZES_KNOWN);
    range_poly from = start != NULL ? range_of_value(r, start) : range_constant(0);
    range_poly inside = range_sub(range_of_extent(r, extent), from);
    range_poly count = range_of_extent(r, length);
    range_poly left = range_sub(inside, count);
    if (range_proves_not_negative(r, &left))
        return true;
    left = range_sub(make_extreme(r, RANGE_MAX, inside, range_constant(0)), count);
    return range_proves_not_negative(r, &left);
}

bool range_extent_not_negative(range *r, const layout_extent *extent) {
    range_begin(r, RANGE_SIZES_KNOWN);
    range_poly p = range_of_extent(r, extent);
    return range_proves_not_negative(r, &p);
}

bool range_extent_equal(range *r, const layout_extent *a, const layout_extent *b) {
    range_begin(r, RANGE_SIZES_KNOWN);
    int64_t difference = 1;
    range_poly left = range_of_extent(r, a), right = range_of_extent(r, b);
    range_poly p = range_sub(left, right);
    return range_is_constant(&p, &difference) && difference == 0;
}

bool range_within(range *r, const ir_value *value, int64_t limit) {
    range_begin(r, RANGE_SIZES_BOUND);
    range_poly p = range_of_value(r, value);
    range_poly above = range_sub(range_constant(limit), p);
    range_poly below = range_add(range_constant(limit), p);
    return range_proves_not_negative(r, &above) && range_proves_not_negative(r, &below);
}

/* ---- back to formulas ---- */

static const layout_extent *atom_extent(range *r, const range_atom *atom) {
    static const struct {
        range_atom_kind from;
        layout_extent_kind to;
    } rows[] = {{RANGE_DIV, LAYOUT_EXTENT_DIV},
                {RANGE_MOD, LAYOUT_EXTENT_MOD},
                {RANGE_MIN, LAYOUT_EXTENT_MIN},
                {RANGE_MAX, LAYOUT_EXTENT_MAX}};
    if (atom->kind == RANGE_SYMBOL)
        return layout_extent_symbol(&r->module->extents, atom->number);
    if (atom->kind == RANGE_FORMULA)
        return atom->extent;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].from != atom->kind)
            continue;
        bool divides = atom->kind == RANGE_DIV || atom->kind == RANGE_MOD;
        const layout_extent *a = range_to_extent(r, &atom->a);
        const layout_extent *b = divides ? layout_extent_constant(&r->module->extents, atom->number)
                                         : range_to_extent(r, &atom->b);
        return layout_extent_binary(&r->module->extents, rows[i].to, a, b);
    }
    return NULL;
}

/* One term with the sign removed. */
static const layout_extent *term_extent(range *r, const range_term *term) {
    layout_extents *pool = &r->module->extents;
    if (term->factor == INT64_MIN)
        return NULL;
    const layout_extent *product =
        layout_extent_constant(pool, term->factor < 0 ? -term->factor : term->factor);
    for (int32_t i = 0; i < term->degree && product != NULL; i++)
        product = layout_extent_binary(pool, LAYOUT_EXTENT_MUL, product,
                                       atom_extent(r, r->atoms[term->atoms[i]]));
    return product;
}

const layout_extent *range_to_extent(range *r, const range_poly *p) {
    layout_extents *pool = &r->module->extents;
    const layout_extent *sum = layout_extent_constant(pool, 0);
    if (!p->valid)
        return NULL;
    for (int sign = 1; sign >= -1; sign -= 2)
        for (int32_t t = p->count - 1; t >= 0; t--)
            if ((p->terms[t].factor > 0) == (sign > 0) && sum != NULL)
                sum = layout_extent_binary(pool, sign > 0 ? LAYOUT_EXTENT_ADD : LAYOUT_EXTENT_SUB,
                                           sum, term_extent(r, &p->terms[t]));
    return sum;
}

const layout_extent *range_distance(range *r, const ir_value *from, const ir_value *to) {
    range_begin(r, RANGE_SIZES_SYMBOLIC);
    range_poly a = range_of_value(r, from);
    range_poly b = range_of_value(r, to);
    range_poly distance = range_sub(b, a);
    return range_to_extent(r, &distance);
}
