/* Closed forms of index tiles, from the ops that make them.
 *
 *     floor((c*Q + H*s + L) / c) = Q + floor(H / (c/s))    where s divides c and 0 <= L < s
 *     (c*Q + H*s + L) mod c      = (H mod (c/s))*s + L
 *
 * H is one term without its stride, ((index / d) % m): its quotient by n is (index / (d*n)) % (m/n)
 * and its remainder (index / d) % n, where n divides m or there is no m. */
#include "analysis/index_form.h"

#include "base/checked.h"

/* Extents up to this are taken at their word; larger ones count as 32 bits, or as any. */
enum { EXACT_EXTENT = 1 << 18, MOST_VISITS = 256, MOST_OPENED = 8 };

typedef struct form_search {
    const ir_module *module;
    analysis_axis_table axes;
    int visits; /* of values: what is shared is looked at each time */
} form_search;

static bool find(form_search *search, const ir_value *value, analysis_index_form *form);

/* ---- sums ---- */
static int64_t wrapped(int64_t sum, int64_t a, int64_t b) {
    return (int64_t)((uint64_t)sum + (uint64_t)a * (uint64_t)b);
}

static bool add_scalar(analysis_index_form *sum, const ir_value *value, int64_t weight) {
    int at = 0;
    while (at < sum->scalar_count && sum->scalars[at].value != value)
        at++;
    if (at == ANALYSIS_INDEX_SCALARS)
        return false;
    if (at == sum->scalar_count)
        sum->scalars[sum->scalar_count++] = (analysis_index_scalar){.value = value};
    sum->scalars[at].weight = wrapped(sum->scalars[at].weight, weight, 1);
    if (sum->scalars[at].weight == 0)
        sum->scalars[at] = sum->scalars[--sum->scalar_count];
    return true;
}

static bool add_term(analysis_index_form *sum, analysis_index_term term) {
    int at = 0;
    while (at < sum->term_count &&
           (sum->terms[at].axis != term.axis || sum->terms[at].divide != term.divide ||
            sum->terms[at].modulus != term.modulus))
        at++;
    if (at == ANALYSIS_INDEX_TERMS)
        return false;
    if (at < sum->term_count)
        term.stride = wrapped(sum->terms[at].stride, term.stride, 1);
    sum->term_count += at == sum->term_count;
    sum->terms[at] = term;
    if (term.stride == 0)
        sum->terms[at] = sum->terms[--sum->term_count];
    return true;
}

bool analysis_index_form_add(analysis_index_form *sum, const analysis_index_form *form,
                             int64_t weight) {
    bool fits = true;
    sum->constant = wrapped(sum->constant, form->constant, weight);
    for (int i = 0; fits && i < form->scalar_count; i++)
        fits = add_scalar(sum, form->scalars[i].value, wrapped(0, form->scalars[i].weight, weight));
    for (int i = 0; fits && i < form->term_count; i++) {
        analysis_index_term term = form->terms[i];
        term.stride = wrapped(0, term.stride, weight);
        fits = add_term(sum, term);
    }
    return fits;
}

static bool is_constant(const analysis_index_form *form) {
    return form->term_count == 0 && form->scalar_count == 0;
}

/* ---- bounds ---- */
/* The greatest number of a term before its stride. */
static int64_t term_greatest(const analysis_index_term *term) {
    int64_t greatest = term->limit / term->divide;
    return term->modulus != 0 && greatest >= term->modulus ? term->modulus - 1 : greatest;
}

static void scalar_bounds(const form_search *search, const ir_value *value, int64_t *low,
                          int64_t *high) {
    const ir_op *op = value->definer;
    *low = base_dtype_least(value->type.dtype);
    *high = base_dtype_greatest(value->type.dtype);
    if (op != NULL && op->opcode == IR_SIZE) {
        *low = 0;
        layout_extent_known(&search->module->extents, op->attributes.extent, high);
    } else if (op != NULL && op->opcode == IR_PROGRAM) {
        const ir_program *program = &search->module->programs[op->attributes.axis];
        *low = 0;
        if (layout_extent_known(&search->module->extents, program->extent, high))
            *high = *high > 0 ? *high - 1 : 0;
    }
}

/* False past 64 bits. */
static bool add_bounds(int64_t *low, int64_t *high, int64_t least, int64_t greatest,
                       int64_t weight) {
    int64_t a, b;
    return base_checked_mul(least, weight, &a) && base_checked_mul(greatest, weight, &b) &&
           base_checked_add(*low, a < b ? a : b, low) &&
           base_checked_add(*high, a < b ? b : a, high);
}

static bool form_bounds(const form_search *search, const analysis_index_form *form, int64_t *low,
                        int64_t *high) {
    bool bounded = true;
    *low = *high = form->constant;
    for (int i = 0; bounded && i < form->term_count; i++)
        bounded = add_bounds(low, high, 0, term_greatest(&form->terms[i]), form->terms[i].stride);
    for (int i = 0; bounded && i < form->scalar_count; i++) {
        int64_t least, greatest;
        scalar_bounds(search, form->scalars[i].value, &least, &greatest);
        bounded = add_bounds(low, high, least, greatest, form->scalars[i].weight);
    }
    return bounded;
}

/* No position leaves [low, high], and no sum 64 bits. */
static bool stays_within(const form_search *search, const analysis_index_form *form, int64_t low,
                         int64_t high) {
    int64_t least, greatest;
    return form_bounds(search, form, &least, &greatest) && least >= low && greatest <= high;
}

static bool fits_dtype(const form_search *search, const analysis_index_form *form,
                       base_dtype dtype) {
    return stays_within(search, form, base_dtype_least(dtype), base_dtype_greatest(dtype));
}

static bool is_wide(base_dtype dtype) {
    return dtype == BASE_I64 || dtype == BASE_INDEX;
}

/* ---- quotients ---- */
typedef struct form_split {
    analysis_index_form whole; /* multiples of the divisor, divided */
    analysis_index_term high;  /* H and its stride; 0: none */
    analysis_index_form low;   /* L */
} form_split;

/* Chooses as H the term of the greatest stride that leaves an L below it. */
static bool choose_high(const form_search *search, form_split *split, int64_t divisor) {
    if (stays_within(search, &split->low, 0, divisor - 1))
        return true;
    for (int i = 0; i < split->low.term_count; i++) {
        analysis_index_term high = split->low.terms[i];
        form_split rest = *split;
        if (high.stride < 1 || divisor % high.stride != 0)
            continue;
        rest.high = high;
        rest.low.terms[i] = rest.low.terms[--rest.low.term_count];
        int64_t parts = divisor / high.stride;
        bool falls_apart = high.modulus == 0 || high.modulus % parts == 0 || high.modulus <= parts;
        if (!falls_apart || !stays_within(search, &rest.low, 0, high.stride - 1))
            continue;
        *split = rest;
        return true;
    }
    return false;
}

/* c*whole + high*stride + low, with 0 <= low < stride, or below c without a high. */
static bool split_form(const form_search *search, const analysis_index_form *form, int64_t divisor,
                       form_split *split) {
    *split = (form_split){.whole.constant = base_floor_div(form->constant, divisor),
                          .low.constant = base_floor_mod(form->constant, divisor)};
    for (int i = 0; i < form->scalar_count; i++) {
        if (form->scalars[i].weight % divisor != 0)
            return false;
        add_scalar(&split->whole, form->scalars[i].value, form->scalars[i].weight / divisor);
    }
    for (int i = 0; i < form->term_count; i++) {
        analysis_index_term term = form->terms[i];
        bool multiple = term.stride % divisor == 0;
        term.stride = multiple ? term.stride / divisor : term.stride;
        add_term(multiple ? &split->whole : &split->low, term);
    }
    return choose_high(search, split, divisor);
}

/* Of a constant, and of a size that is known. */
static bool known_scalar(const form_search *search, const ir_value *value, int64_t *known) {
    const ir_op *op = value->definer;
    if (op != NULL && op->opcode == IR_SIZE)
        return layout_extent_known(&search->module->extents, op->attributes.extent, known);
    if (op == NULL || op->opcode != IR_CONSTANT)
        return false;
    *known = op->attributes.constant.integer;
    return true;
}

/* A sum, difference or multiple of scalars, taken apart. */
static bool open_scalar(const form_search *search, const ir_value *value,
                        analysis_index_form *parts) {
    const ir_op *op = value->definer;
    *parts = (analysis_index_form){0};
    if (op == NULL || !is_wide(value->type.dtype) || op->operand_count != 2)
        return false;
    analysis_index_form side[2] = {{0}, {0}};
    for (int i = 0; i < 2; i++)
        if (!known_scalar(search, op->operands[i], &side[i].constant))
            add_scalar(&side[i], op->operands[i], 1);
    if (op->opcode == IR_ADD || op->opcode == IR_SUB)
        return analysis_index_form_add(parts, &side[0], 1) &&
               analysis_index_form_add(parts, &side[1], op->opcode == IR_ADD ? 1 : -1);
    int number = is_constant(&side[0]) ? 0 : 1;
    return op->opcode == IR_MUL && is_constant(&side[number]) &&
           analysis_index_form_add(parts, &side[1 - number], side[number].constant);
}

/* Opens scalars whose weight the divisor does not divide. */
static void open_scalars(const form_search *search, analysis_index_form *form, int64_t divisor) {
    int opened = 0;
    for (int i = 0; i < form->scalar_count && opened < MOST_OPENED; i++) {
        analysis_index_form parts, rest = *form;
        analysis_index_scalar scalar = form->scalars[i];
        if (scalar.weight % divisor == 0 || !open_scalar(search, scalar.value, &parts))
            continue;
        rest.scalars[i] = rest.scalars[--rest.scalar_count];
        if (!analysis_index_form_add(&rest, &parts, scalar.weight))
            continue;
        *form = rest;
        opened++;
        i = -1;
    }
}

static bool floor_divide(const form_search *search, const analysis_index_form *sum, int64_t divisor,
                         analysis_index_form *quotient) {
    form_split split;
    analysis_index_form opened = *sum, *form = &opened;
    if (divisor < 1)
        return false;
    open_scalars(search, form, divisor);
    if (!fits_dtype(search, form, BASE_I64) || !split_form(search, form, divisor, &split))
        return false;
    *quotient = split.whole;
    analysis_index_term term = split.high;
    int64_t parts = term.stride != 0 ? divisor / term.stride : 0;
    if (term.stride == 0 || (term.modulus != 0 && term.modulus <= parts && parts > 1))
        return true;
    if (!base_checked_mul(term.divide, parts, &term.divide))
        return false;
    term.modulus /= parts;
    term.stride = 1;
    return term.modulus == 1 || add_term(quotient, term);
}

static bool is_power_of_two(int64_t n) {
    return n > 0 && (n & (n - 1)) == 0;
}

/* A power of two divides 2^64: it does not matter there whether the sum has wrapped. */
static bool floor_modulo(const form_search *search, const analysis_index_form *sum, int64_t divisor,
                         analysis_index_form *remainder) {
    form_split split;
    analysis_index_form opened = *sum, *form = &opened;
    if (divisor < 1)
        return false;
    open_scalars(search, form, divisor);
    if (!(is_power_of_two(divisor) || fits_dtype(search, form, BASE_I64)) ||
        !split_form(search, form, divisor, &split))
        return false;
    *remainder = split.low;
    analysis_index_term term = split.high;
    if (term.stride == 0)
        return true;
    int64_t parts = divisor / term.stride;
    if (parts == 1)
        return true;
    if (term.modulus == 0 || term.modulus > parts)
        term.modulus = parts;
    return add_term(remainder, term);
}

/* ---- ops ---- */
static bool find_shift(const form_search *search, ir_opcode opcode, const analysis_index_form *a,
                       int64_t count, analysis_index_form *form) {
    int64_t factor = count >= 0 && count < 31 ? (int64_t)1 << count : 0;
    if (factor == 0)
        return false;
    return opcode == IR_SHL ? analysis_index_form_add(form, a, factor)
                            : floor_divide(search, a, factor, form);
}

static bool find_binary(form_search *search, const ir_op *op, analysis_index_form *form) {
    analysis_index_form a, b;
    if (!find(search, op->operands[0], &a) || !find(search, op->operands[1], &b))
        return false;
    ir_opcode opcode = op->opcode;
    *form = (analysis_index_form){0};
    if (opcode == IR_ADD || opcode == IR_SUB)
        return analysis_index_form_add(form, &a, 1) &&
               analysis_index_form_add(form, &b, opcode == IR_ADD ? 1 : -1);
    if (opcode == IR_MUL && is_constant(&a))
        return analysis_index_form_add(form, &b, a.constant);
    int64_t c = b.constant;
    if (!is_constant(&b))
        return false;
    if (opcode == IR_MUL)
        return analysis_index_form_add(form, &a, c);
    if (opcode == IR_FLOOR_DIV)
        return floor_divide(search, &a, c, form);
    if (opcode == IR_FLOOR_MOD)
        return floor_modulo(search, &a, c, form);
    if (opcode == IR_SHL || opcode == IR_SHR)
        return find_shift(search, opcode, &a, c, form);
    return opcode == IR_AND && c >= 0 && c < INT32_MAX && is_power_of_two(c + 1) &&
           floor_modulo(search, &a, c + 1, form);
}

static bool find_moved(form_search *search, const ir_op *op, analysis_index_form *form) {
    ir_opcode opcode = op->opcode;
    if (opcode == IR_CAST || opcode == IR_EXPAND || opcode == IR_DROP || opcode == IR_BROADCAST)
        return find(search, op->operands[0], form);
    analysis_index_form positive;
    *form = (analysis_index_form){0};
    return opcode == IR_NEG && find(search, op->operands[0], &positive) &&
           analysis_index_form_add(form, &positive, -1);
}

static int axis_of(const form_search *search, const ir_value *value) {
    return search->axes != NULL ? search->axes[value->number][0] : value->layout.axis[0];
}

analysis_index_form analysis_index_form_of_axis(const ir_module *module, int axis,
                                                const layout_extent *extent) {
    analysis_index_form form = {0};
    int64_t known = INT64_MAX, limit = INT64_MAX;
    if (axis < 0)
        return form;
    if (extent != NULL && layout_extent_known(&module->extents, extent, &known))
        limit = known <= EXACT_EXTENT ? (known > 0 ? known - 1 : 0)
                : known <= INT32_MAX  ? INT32_MAX
                                      : INT64_MAX;
    add_term(&form, (analysis_index_term){.axis = axis, .divide = 1, .stride = 1, .limit = limit});
    return form;
}

/* A converted tile has the same elements, on another axis. */
static bool find_converted(form_search *search, const ir_op *op, analysis_index_form *form) {
    if (!find(search, op->operands[0], form))
        return false;
    int axis = axis_of(search, op->results[0]);
    for (int i = 0; i < form->term_count; i++)
        form->terms[i].axis = axis;
    return axis >= 0 || form->term_count == 0;
}

static bool find_of_op(form_search *search, const ir_value *value, analysis_index_form *form) {
    const ir_op *op = value->definer;
    switch (ir_op_describe(op->opcode)->shape) {
    case IR_SHAPE_LEAF:
        if (op->opcode != IR_ARANGE)
            return false;
        *form = analysis_index_form_of_axis(search->module, axis_of(search, value),
                                            op->attributes.extent);
        return true;
    case IR_SHAPE_BINARY:
        return find_binary(search, op, form);
    case IR_SHAPE_UNARY:
    case IR_SHAPE_CONVERT:
        return find_moved(search, op, form);
    case IR_SHAPE_OTHER:
        return op->opcode == IR_CONVERT ? find_converted(search, op, form)
                                        : find_moved(search, op, form);
    case IR_SHAPE_REGION:
        if (op->opcode == IR_SWEEP) {
            const ir_op *yield = ir_region_yield(op->regions[0]);
            for (int i = 0; i < op->result_count; i++)
                if (op->results[i] == value)
                    return find(search, yield->operands[i], form);
        }
        return false;
    case IR_SHAPE_COMPARE:
    case IR_SHAPE_SELECT:
    case IR_SHAPE_TERNARY:
    case IR_SHAPE_ACCESS:
        return false;
    }
    return false;
}

static bool find_scalar(form_search *search, const ir_value *value, analysis_index_form *form) {
    *form = (analysis_index_form){0};
    if (!known_scalar(search, value, &form->constant))
        add_scalar(form, value, 1);
    return true;
}

/* Narrow integers are followed only where they do not wrap. */
static bool find(form_search *search, const ir_value *value, analysis_index_form *form) {
    if (value->type.form != IR_FORM_TILE || !base_dtype_is_integer(value->type.dtype))
        return false;
    if (value->type.rank == 0)
        return find_scalar(search, value, form);
    if (value->definer == NULL || search->visits++ == MOST_VISITS)
        return false;
    return find_of_op(search, value, form) &&
           (is_wide(value->type.dtype) || fits_dtype(search, form, value->type.dtype));
}

bool analysis_index_form_find(const ir_module *module, analysis_axis_table axes,
                              const ir_value *value, analysis_index_form *form) {
    form_search search = {.module = module, .axes = axes};
    return find(&search, value, form);
}
