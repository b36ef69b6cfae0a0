/* Conditions and what is recorded by them: condition-form, access-align.
 *
 *     condition x aligned 16
 *     %t = load %x[%row, %c + lane*4 + slot*1] width=4 align=16 : f32(4)
 *         the remainders of %c, lane*4 and slot*1 by 4, at the first slot of each group, are 0
 *
 * A number is known by the set of its remainders by the size of a group: bit r of a mask is set
 * where r may be one. Sums, differences and products of sets are computed member by member; what
 * is not followed may be any.
 *
 *     condition x begins 16          condition x spaced 16, of rows of 1009 elements
 *     load %x[%row, %k*32 - %row*1009 % 4 + lane*4 + slot*1] width=4 align=16
 *
 * Where rows begin anywhere it is the sum over all dimensions that comes to multiples: what is not
 * followed (%row) is given every remainder in turn, and each sum is computed. */
#include "verify/verify_internal.h"

enum { MOST_MODULUS = 32, DEPTH = 4000, TRIAL_DEPTH = 24 };

typedef uint32_t remainders; /* bit r: may be r, modulo the modulus */

typedef struct alignment {
    verify_state *state;
    int modulus;       /* a power of two up to MOST_MODULUS */
    remainders *known; /* by value number; 0: not computed */
    int depth;
} alignment;

/* ---- condition-form ---- */

static bool is_power(int64_t value) {
    return value > 0 && (value & (value - 1)) == 0;
}

static bool mentions(const layout_extent *extent, int64_t symbol) {
    if (extent == NULL || extent->kind == LAYOUT_EXTENT_CONSTANT)
        return false;
    if (extent->kind == LAYOUT_EXTENT_SYMBOL)
        return extent->value == symbol;
    return mentions(extent->left, symbol) || mentions(extent->right, symbol);
}

static bool subject_is_there(const ir_module *module, const layout_condition *condition) {
    if (condition->subject < 0)
        return false;
    if (layout_condition_describe(condition->kind)->subject == LAYOUT_CONDITION_TENSOR)
        return condition->subject < module->parameter_count &&
               module->parameters[condition->subject].is_tensor;
    bool counts = false;
    for (int i = 0; i < module->program_count; i++)
        counts = counts || mentions(module->programs[i].extent, condition->subject);
    return condition->subject < module->extents.symbol_count && !counts;
}

static void rule_condition_form(verify_state *state) {
    const ir_module *module = state->module;
    for (int64_t i = 0; i < module->condition_count; i++) {
        const layout_condition *condition = &module->conditions[i];
        bool again = false;
        for (int64_t k = 0; k < i; k++)
            again = again || (module->conditions[k].kind == condition->kind &&
                              module->conditions[k].subject == condition->subject);
        if (!subject_is_there(module, condition))
            verify_report(state, VERIFY_CONDITION_FORM, NULL,
                          "a tensor, or a size that no program axis counts",
                          "condition %lld has no such subject", (long long)i);
        else if (again || condition->amount < 2 || !is_power(condition->amount))
            verify_report(state, VERIFY_CONDITION_FORM, NULL,
                          "one condition of a kind for a subject, by a power of two from 2 up",
                          "condition %lld of `%s` is by %lld, or a second one", (long long)i,
                          ir_condition_subject(module, condition), (long long)condition->amount);
    }
}

/* ---- remainders ---- */

static remainders any(const alignment *a) {
    return a->modulus == 32 ? UINT32_MAX : ((remainders)1 << a->modulus) - 1;
}

static remainders exactly(const alignment *a, int64_t value) {
    return (remainders)1 << ((uint64_t)value & (uint64_t)(a->modulus - 1));
}

static int64_t apply(ir_opcode opcode, int64_t x, int64_t y) {
    return opcode == IR_ADD ? x + y : opcode == IR_SUB ? x - y : x * y;
}

/* Of sums, differences, products, which the remainders of the operands decide, wrapped or not. */
static remainders joined(const alignment *a, ir_opcode opcode, remainders x, remainders y) {
    remainders out = 0;
    for (int i = 0; i < a->modulus; i++)
        for (int k = 0; k < a->modulus; k++)
            if ((x >> i & 1) != 0 && (y >> k & 1) != 0)
                out |= exactly(a, apply(opcode, i, k));
    return out;
}

/* Multiples of an amount. */
static remainders multiples(const alignment *a, int64_t amount) {
    remainders out = 0;
    for (int64_t r = 0; r < a->modulus; r += amount)
        out |= exactly(a, r);
    return out;
}

static remainders of_extent(const alignment *a, const layout_extent *extent);

/* Of x // d: x = q * d + r; known where all multiples are told apart. */
static remainders of_quotient(const alignment *a, const layout_extent *extent) {
    int64_t divisor = 0;
    const layout_extents *pool = &a->state->module->extents;
    if (!layout_extent_known(pool, extent->right, &divisor) || !is_power(divisor) ||
        divisor * a->modulus > MOST_MODULUS)
        return any(a);
    alignment wide = *a;
    wide.modulus = (int)divisor * a->modulus;
    remainders from = of_extent(&wide, extent->left), out = 0;
    for (int r = 0; r < wide.modulus; r++)
        if ((from >> r & 1) != 0)
            out |= exactly(a, r / divisor);
    return out;
}

static remainders of_symbol(const alignment *a, int64_t symbol) {
    const ir_module *module = a->state->module;
    if (module->extents.symbols[symbol].known)
        return exactly(a, module->extents.symbols[symbol].value);
    for (int64_t i = 0; i < module->condition_count; i++)
        if (module->conditions[i].kind == LAYOUT_CONDITION_MULTIPLE &&
            module->conditions[i].subject == symbol && is_power(module->conditions[i].amount))
            return multiples(a, module->conditions[i].amount);
    return any(a);
}

static remainders of_extent(const alignment *a, const layout_extent *extent) {
    int64_t value;
    if (layout_extent_known(&a->state->module->extents, extent, &value))
        return exactly(a, value);
    switch (extent->kind) {
    case LAYOUT_EXTENT_CONSTANT:
        return exactly(a, extent->value);
    case LAYOUT_EXTENT_SYMBOL:
        return of_symbol(a, extent->value);
    case LAYOUT_EXTENT_ADD:
        return joined(a, IR_ADD, of_extent(a, extent->left), of_extent(a, extent->right));
    case LAYOUT_EXTENT_SUB:
        return joined(a, IR_SUB, of_extent(a, extent->left), of_extent(a, extent->right));
    case LAYOUT_EXTENT_MUL:
        return joined(a, IR_MUL, of_extent(a, extent->left), of_extent(a, extent->right));
    case LAYOUT_EXTENT_DIV:
        return of_quotient(a, extent);
    case LAYOUT_EXTENT_MOD: { /* x - d * (x // d), and 0 by 0 */
        remainders divisor = of_extent(a, extent->right);
        return joined(a, IR_SUB, of_extent(a, extent->left), joined(a, IR_MUL, divisor, any(a))) |
               exactly(a, 0);
    }
    case LAYOUT_EXTENT_MIN:
    case LAYOUT_EXTENT_MAX:
        return of_extent(a, extent->left) | of_extent(a, extent->right);
    }
    return any(a);
}

/* The amount that a condition of the kind states of a tensor; 0: none does. */
static int64_t given_bytes(const ir_module *module, const ir_value *tensor,
                           layout_condition_kind kind) {
    int64_t given = 0;
    for (int64_t i = 0; i < module->condition_count; i++) {
        const layout_condition *condition = &module->conditions[i];
        if (condition->kind == kind && subject_is_there(module, condition) &&
            is_power(condition->amount) && module->parameters[condition->subject].value == tensor)
            given = condition->amount;
    }
    return given;
}

/* Strides but the last are multiples, in bytes. */
static remainders of_stride(const alignment *a, const ir_op *op) {
    const ir_parameter *tensor = &a->state->module->parameters[op->attributes.parameter];
    int64_t elements = given_bytes(a->state->module, tensor->value, LAYOUT_CONDITION_ALIGNED) /
                       base_dtype_size(tensor->dtype);
    bool last = op->attributes.axis + 1 >= tensor->value->type.rank;
    return last || elements < 1 ? any(a) : multiples(a, elements);
}

static remainders of_value(alignment *a, const ir_value *value);

/* lo, lo + step, lo + 2 * step, ...: nothing new after as many steps as there are remainders. */
static remainders of_index(alignment *a, const ir_value *value) {
    const ir_op *loop = value->region != NULL ? value->region->owner : NULL;
    if (loop == NULL || loop->opcode != IR_FOR || value->region->arguments[0] != value)
        return any(a);
    remainders step = of_value(a, loop->operands[2]), all = of_value(a, loop->operands[0]);
    for (int i = 0; i < a->modulus; i++)
        all |= joined(a, IR_ADD, all, step);
    return all;
}

static remainders of_op(alignment *a, const ir_op *op) {
    ir_value *const *in = op->operands;
    if (!verify_op_is_formed(a->state, op))
        return any(a);
    if (op->opcode == IR_CONSTANT)
        return exactly(a, op->attributes.constant.integer);
    if (op->opcode == IR_SIZE)
        return of_extent(a, op->attributes.extent);
    if (op->opcode == IR_STRIDE)
        return verify_stride_is_formed(a->state, op) ? of_stride(a, op) : any(a);
    if (op->opcode == IR_ADD || op->opcode == IR_SUB || op->opcode == IR_MUL)
        return joined(a, op->opcode, of_value(a, in[0]), of_value(a, in[1]));
    if (op->opcode == IR_NEG)
        return joined(a, IR_SUB, exactly(a, 0), of_value(a, in[0]));
    if (op->opcode == IR_MAXIMUM || op->opcode == IR_MINIMUM)
        return of_value(a, in[0]) | of_value(a, in[1]);
    if (op->opcode == IR_SELECT)
        return of_value(a, in[1]) | of_value(a, in[2]);
    if (op->opcode == IR_FLOOR_MOD)
        return joined(a, IR_SUB, of_value(a, in[0]),
                      joined(a, IR_MUL, of_value(a, in[1]), any(a))) |
               exactly(a, 0);
    bool keeps = op->opcode == IR_BROADCAST || op->opcode == IR_UNIFORM ||
                 (op->opcode == IR_CAST && op->attributes.rounding == IR_ROUND_ZERO);
    return keeps ? of_value(a, in[0]) : any(a);
}

static remainders of_value(alignment *a, const ir_value *value) {
    base_dtype dtype = value->type.dtype;
    if (dtype != BASE_I64 && dtype != BASE_I32 && dtype != BASE_U32)
        return any(a);
    if (a->known[value->number] != 0)
        return a->known[value->number];
    if (a->depth > DEPTH)
        return any(a);
    a->depth++;
    remainders found = value->definer != NULL ? of_op(a, value->definer) : of_index(a, value);
    a->depth--;
    return a->known[value->number] = found;
}

/* ---- access-align ---- */

/* At the first slot of each group, whatever lane and subgroup, a multiple of the modulus. */
static bool starts_at_multiples(const alignment *a, const ir_affine *affine, int64_t slots,
                                int width) {
    const ir_module *module = a->state->module;
    for (int64_t thread = 0; thread < module->lanes; thread++)
        for (int64_t slot = 0; slot < slots; slot += width) {
            ir_position position = ir_module_position(module, thread, slot);
            if (ir_affine_at(affine, position) % a->modulus != 0)
                return false;
        }
    return true;
}

static bool is_aligned(alignment *a, const ir_op *op, int64_t slots) {
    const ir_access *access = op->attributes.access;
    const ir_module *module = a->state->module;
    const ir_index *last = &access->index[access->rank - 1];
    return given_bytes(module, op->operands[0], LAYOUT_CONDITION_ALIGNED) >= access->align &&
           last->vector < 0 &&
           (last->operand < 0 || of_value(a, op->operands[last->operand]) == exactly(a, 0)) &&
           starts_at_multiples(a, &last->affine, slots, access->width);
}

/* ---- rows that begin anywhere ---- */

enum { MOST_LEAVES = 4 };

/* Values that are not followed, and the remainder that each has this time. */
typedef struct trial {
    const alignment *a;
    int count;
    bool full; /* there are more of them */
    const ir_value *leaves[MOST_LEAVES];
    int64_t remainder[MOST_LEAVES];
    int depth;
} trial;

/* What a stride is, modulo the group: 0 by `aligned`, that of an array without gaps by `spaced`. */
static bool stride_is_known(const alignment *a, const ir_value *tensor, int dimension,
                            int64_t *stride) {
    const ir_module *module = a->state->module;
    int64_t bytes = a->modulus * (int64_t)base_dtype_size(tensor->type.dtype), extent;
    *stride = 0;
    if (given_bytes(module, tensor, LAYOUT_CONDITION_ALIGNED) >= bytes)
        return true;
    uint64_t product = 1;
    for (int d = tensor->type.rank - 1; d > dimension; d--) {
        if (!layout_extent_known(&module->extents, tensor->type.extent[d], &extent))
            return false;
        product *= (uint64_t)extent;
    }
    *stride = (int64_t)(product & (uint64_t)(a->modulus - 1));
    return given_bytes(module, tensor, LAYOUT_CONDITION_SPACED) >= bytes;
}

static int64_t leaf_remainder(trial *t, const ir_value *value) {
    for (int i = 0; i < t->count; i++)
        if (t->leaves[i] == value)
            return t->remainder[i];
    t->full = t->full || t->count == MOST_LEAVES;
    if (!t->full)
        t->leaves[t->count++] = value;
    return 0;
}

static int64_t tried(trial *t, const ir_value *value);

static int64_t tried_op(trial *t, const ir_op *op, const ir_value *value) {
    const ir_module *module = t->a->state->module;
    if (op->opcode == IR_CONSTANT)
        return op->attributes.constant.integer;
    if (op->opcode == IR_ADD || op->opcode == IR_SUB || op->opcode == IR_MUL) {
        uint64_t x = (uint64_t)tried(t, op->operands[0]), y = (uint64_t)tried(t, op->operands[1]);
        return (int64_t)(op->opcode == IR_ADD ? x + y : op->opcode == IR_SUB ? x - y : x * y);
    }
    if (op->opcode == IR_FLOOR_MOD) {
        const ir_op *by = op->operands[1]->definer;
        int64_t divisor =
            by != NULL && by->opcode == IR_CONSTANT ? by->attributes.constant.integer : 0;
        if (divisor > 0 && divisor % t->a->modulus == 0)
            return tried(t, op->operands[0]);
    }
    int64_t stride;
    if (op->opcode == IR_STRIDE && verify_stride_is_formed(t->a->state, op) &&
        stride_is_known(t->a, module->parameters[op->attributes.parameter].value,
                        op->attributes.axis, &stride))
        return stride;
    return leaf_remainder(t, value);
}

/* The number's remainder, this time. */
static int64_t tried(trial *t, const ir_value *value) {
    bool follows = value->type.dtype == BASE_I64 && value->definer != NULL &&
                   verify_op_is_formed(t->a->state, value->definer) && t->depth < TRIAL_DEPTH;
    if (!follows)
        return leaf_remainder(t, value);
    t->depth++;
    int64_t number = tried_op(t, value->definer, value);
    t->depth--;
    return number & (t->a->modulus - 1);
}

/* The sum of the bases, times their strides. */
static int64_t tried_base(trial *t, const ir_op *op, const int64_t *strides) {
    const ir_access *access = op->attributes.access;
    uint64_t sum = 0;
    for (int d = 0; d < access->rank; d++)
        if (access->index[d].operand >= 0)
            sum +=
                (uint64_t)tried(t, op->operands[access->index[d].operand]) * (uint64_t)strides[d];
    return (int64_t)(sum & (uint64_t)(t->a->modulus - 1));
}

/* The next of all combinations of remainders; false after the last. */
static bool next_trial(trial *t) {
    for (int i = 0; i < t->count; i++) {
        if (++t->remainder[i] < t->a->modulus)
            return true;
        t->remainder[i] = 0;
    }
    return false;
}

/* The whole address comes to multiples of the group. */
static bool sum_is_aligned(const alignment *a, const ir_op *op, int64_t slots) {
    const ir_access *access = op->attributes.access;
    const ir_module *module = a->state->module;
    int64_t strides[IR_MAX_RANK], aligned, begins;
    aligned = given_bytes(module, op->operands[0], LAYOUT_CONDITION_ALIGNED);
    begins = given_bytes(module, op->operands[0], LAYOUT_CONDITION_BEGINS);
    if (aligned < access->align && begins < access->align)
        return false;
    for (int d = 0; d < access->rank; d++) {
        strides[d] = 1;
        bool last = d + 1 == access->rank;
        if (access->index[d].vector >= 0 || (!last && access->index[d].affine.count > 0) ||
            (!last && !stride_is_known(a, op->operands[0], d, &strides[d])))
            return false;
    }
    if (!starts_at_multiples(a, &access->index[access->rank - 1].affine, slots, access->width))
        return false;
    trial t = {.a = a};
    (void)tried_base(&t, op, strides);
    do {
        if (t.full || tried_base(&t, op, strides) != 0)
            return false;
    } while (next_trial(&t));
    return true;
}

static bool counts_within_groups(const ir_affine *affine, int64_t slots, int width) {
    for (int64_t slot = 0; slot < slots; slot++)
        if (ir_affine_at(affine, (ir_position){.slot = slot}) -
                ir_affine_at(affine, (ir_position){.slot = slot / width * width}) !=
            slot % width)
            return false;
    return true;
}

/* The mask's count and the first position of each group are multiples of the group's size. */
static bool is_whole(alignment *a, const ir_op *op, int64_t slots) {
    const ir_access *access = op->attributes.access;
    return access->mask_kind == IR_MASK_RANGE && is_power(access->width) &&
           access->width <= MOST_MODULUS && slots % access->width == 0 &&
           counts_within_groups(&access->mask_affine, slots, access->width) &&
           starts_at_multiples(a, &access->mask_affine, slots, access->width) &&
           of_value(a, op->operands[access->mask]) == exactly(a, 0);
}

static alignment begin(verify_state *state, int64_t modulus) {
    return (alignment){.state = state,
                       .modulus = (int)modulus,
                       .known = BASE_NEW_ARRAY(state->diagnostics->arena, remainders,
                                               state->module->next_value + 1)};
}

static void check_op(verify_state *state, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    if (access == NULL || (access->align == 0 && !access->whole) || !verify_op_is_formed(state, op))
        return;
    bool moves = op->opcode == IR_LOAD || op->opcode == IR_STORE;
    const ir_value *value = op->result_count > 0 ? op->results[0] : ir_op_stored(op);
    int64_t size = base_dtype_size(op->operands[0]->type.dtype);
    int64_t elements = access->align / size, slots = ir_type_slot_count(&value->type);
    bool formed =
        moves && state->module->level == IR_THREAD && access->rank > 0 && is_power(access->align) &&
        access->align % size == 0 && elements <= MOST_MODULUS && access->width > 1 &&
        elements <= access->width &&
        counts_within_groups(&access->index[access->rank - 1].affine, slots, access->width);
    alignment index = begin(state, formed ? elements : 1);
    if (!formed || (!is_aligned(&index, op, slots) && !sum_is_aligned(&index, op, slots)))
        verify_report(state, VERIFY_ACCESS_ALIGN, op,
                      "groups whose addresses are multiples by the conditions of the module",
                      "nothing says that groups begin at multiples of %d bytes", access->align);
    if (!access->whole || !formed)
        return;
    alignment mask = begin(state, access->width <= MOST_MODULUS ? access->width : 1);
    if (!is_whole(&mask, op, slots))
        verify_report(state, VERIFY_ACCESS_ALIGN, op,
                      "a count that is a multiple of the width by the conditions of the module",
                      "nothing says that the mask takes a group or leaves it");
}

void verify_conditions(verify_state *state) {
    rule_condition_form(state);
    if (state->broken == 0)
        verify_walk(state, &state->module->body, check_op);
}
