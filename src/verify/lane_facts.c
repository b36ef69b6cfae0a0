/* How widely values are the same: value-scope, sync-control.
 *
 *     %l = iota lane*1 : i64(1)                    depends on all lane bits
 *     %q = shr %l, %three : i64(1) uniform lane    .. still, as this page sees it
 *     %m = combine max %x lanes=(16, 8, 4, 2, 1)   on no lane bit: uniform subgroup
 *     %a = get %s[slot*1] : f32(8)                 on slots only: uniform group
 *     push %p, %i, %a   %b = pull %p, %j           %b on all that %i, %j and %a depend on
 *     %u = uniform %f                              needs an operand that is uniform group
 *
 * Of each value: the bits of lane and subgroup number, the block and the cluster that it may depend
 * on. A value is the same over a scope when it depends on nothing that differs within it.
 */
#include "verify/verify_internal.h"

typedef uint64_t depends;

enum {
    BITS = 16,     /* of a lane, and of a subgroup */
    WORK = 1 << 22 /* ops that are visited */
};
static const depends LANES = 0xffff, SUBGROUPS = 0xffff0000, BLOCK = UINT64_C(1) << 32,
                     CLUSTER = UINT64_C(1) << 33;

typedef struct facts {
    verify_state *state;
    depends *of;     /* by number */
    depends team;    /* bits that lane and subgroup numbers have */
    depends program; /* what tells programs apart within a team */
    bool changed;
    int64_t work; /* that is left; 0: everything may depend on everything */
} facts;

/* ---- affine forms ---- */
static int floor_log2(int64_t n) {
    int bits = 0;
    while (n > 1) {
        n /= 2;
        bits++;
    }
    return bits;
}

static bool is_power_of_two(int64_t n) {
    return n > 0 && (n & (n - 1)) == 0;
}

/* Bits of a number n that n / divide % modulus depends on; modulus 0: none is taken. */
static depends bits_of(int64_t divide, int64_t modulus) {
    int low = is_power_of_two(divide) ? floor_log2(divide) : 0, high = BITS;
    if (is_power_of_two(divide) && is_power_of_two(modulus))
        high = low + floor_log2(modulus) < BITS ? low + floor_log2(modulus) : BITS;
    return low >= high ? 0 : LANES >> (BITS - (high - low)) << low;
}

static depends of_affine(const ir_affine *affine) {
    depends sum = 0;
    for (int i = 0; i < affine->count; i++) {
        const ir_term *term = &affine->terms[i];
        depends bits = bits_of(term->divide, term->modulus);
        if (term->holder == LAYOUT_LANE)
            sum |= bits;
        if (term->holder == LAYOUT_SUBGROUP)
            sum |= bits << BITS;
    }
    return sum;
}

/* ---- ops ---- */
static depends of_operands(const facts *f, const ir_op *op) {
    depends sum = 0;
    for (int i = 0; i < op->operand_count; i++)
        sum |= f->of[op->operands[i]->number];
    return sum;
}

static depends of_access(const facts *f, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    depends sum = of_operands(f, op);
    for (int i = 0; i < access->rank; i++)
        sum |= of_affine(&access->index[i].affine);
    if (access->mask_kind == IR_MASK_RANGE)
        sum |= of_affine(&access->mask_affine);
    if (op->opcode == IR_GET)
        sum |= access->block > 0 ? CLUSTER : CLUSTER | BLOCK;
    return sum;
}

/* A lane bit of the source is a sum of lane bits. */
static depends of_shuffle(const facts *f, const ir_op *op) {
    depends from = of_operands(f, op), sum = from & ~LANES;
    const ir_list *columns = &op->attributes.lanes;
    for (int i = 0; i < columns->count && i < BITS; i++)
        if (((depends)columns->items[i] & from & LANES) != 0)
            sum |= UINT64_C(1) << i;
    return sum;
}

static depends of_xorslot(const facts *f, const ir_op *op) {
    depends sum = of_operands(f, op);
    for (int i = 0; i < op->attributes.lanes.count && i < BITS; i++)
        if (op->attributes.lanes.items[i] != 0)
            sum |= UINT64_C(1) << i;
    return sum;
}

/* Both lanes of a pair get one value: the leading bit of each mask is depended on no more. */
static depends of_combine(const facts *f, const ir_op *op) {
    depends sum = of_operands(f, op);
    const ir_list *masks = &op->attributes.lanes;
    for (int i = 0; i < masks->count; i++)
        sum &= ~(UINT64_C(1) << floor_log2(masks->items[i]));
    return masks->count == 0 ? sum & ~LANES : sum;
}

/* The groups of a cluster are neighbours in the grid: the number of one, divided. */
static bool is_cluster_number(const facts *f, const ir_op *op) {
    const ir_op *number = op->operands[0]->definer, *by = op->operands[1]->definer;
    int64_t cluster = f->state->module->cluster;
    return number != NULL && by != NULL && number->opcode == IR_GROUP && cluster > 1 &&
           by->opcode == IR_CONSTANT && by->attributes.constant.integer > 0 &&
           by->attributes.constant.integer % cluster == 0;
}

static depends of_op(const facts *f, const ir_op *op) {
    switch (op->opcode) {
    case IR_IOTA:
        return of_affine(&op->attributes.affine);
    case IR_BLOCK:
        return BLOCK;
    case IR_GROUP:
        return BLOCK | CLUSTER;
    case IR_FLOOR_DIV:
        return is_cluster_number(f, op) ? CLUSTER : of_operands(f, op);
    case IR_LOAD:
    case IR_GET:
        return of_access(f, op);
    case IR_PULL: /* of its index, and of what was pushed: conditions are those of the group */
        return of_operands(f, op) | BLOCK | CLUSTER;
    case IR_SHUFFLE:
        return of_shuffle(f, op);
    case IR_XORSLOT:
        return of_xorslot(f, op);
    case IR_COMBINE:
        return of_combine(f, op);
    default:
        return of_operands(f, op);
    }
}

/* ---- the walk ---- */
static void set(facts *f, const ir_value *value, depends on) {
    bool by_lane = value->type.form == IR_FORM_SLOTS || value->type.form == IR_FORM_PRIVATE;
    on &= by_lane ? f->team | BLOCK | CLUSTER : BLOCK | CLUSTER;
    f->changed = f->changed || (on & ~f->of[value->number]) != 0;
    f->of[value->number] |= on;
}

static void walk_region(facts *f, const ir_region *region);

static void join_yield(facts *f, const ir_op *op, const ir_region *region, depends control) {
    const ir_op *yield = ir_region_yield(region);
    for (int i = 0; i < op->result_count && i < yield->operand_count; i++)
        set(f, op->results[i], f->of[yield->operands[i]->number] | control);
}

/* Carries begin with what the first iteration has and take in what the others bring. */
static void walk_for(facts *f, const ir_op *op) {
    depends bounds = f->of[op->operands[0]->number] | f->of[op->operands[1]->number] |
                     f->of[op->operands[2]->number];
    const ir_region *body = op->regions[0];
    set(f, body->arguments[0], bounds);
    for (int i = 0; i < op->result_count; i++)
        set(f, op->results[i], f->of[op->operands[3 + i]->number] | bounds);
    bool outer = f->changed;
    do {
        f->changed = false;
        for (int i = 0; i < op->result_count; i++)
            set(f, body->arguments[1 + i], f->of[op->results[i]->number]);
        walk_region(f, body);
        join_yield(f, op, body, bounds);
        outer = outer || f->changed;
    } while (f->changed && f->work > 0);
    f->changed = outer;
}

static void walk_region(facts *f, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL && f->work-- > 0; op = op->next) {
        if (op->opcode == IR_FOR) {
            walk_for(f, op);
            continue;
        }
        for (int k = 0; k < op->region_count; k++)
            walk_region(f, op->regions[k]);
        for (int k = 0; k < op->region_count && op->opcode == IR_IF; k++)
            join_yield(f, op, op->regions[k], f->of[op->operands[0]->number]);
        for (int i = 0; i < op->result_count && op->opcode != IR_IF; i++)
            set(f, op->results[i], of_op(f, op));
        if (op->opcode == IR_PUSH)
            set(f, op->operands[0], of_operands(f, op));
    }
}

/* ---- rules ---- */
/* What differs within the scope. */
static depends within(const facts *f, ir_scope scope) {
    switch (scope) {
    case IR_SCOPE_PROGRAM:
        return (LANES | SUBGROUPS) & ~f->program;
    case IR_SCOPE_SUBGROUP:
        return LANES;
    case IR_SCOPE_GROUP:
        return LANES | SUBGROUPS;
    case IR_SCOPE_CLUSTER:
        return LANES | SUBGROUPS | BLOCK;
    case IR_SCOPE_GRID:
        return LANES | SUBGROUPS | BLOCK | CLUSTER;
    case IR_SCOPE_NONE:
    case IR_SCOPE_LANE:
    case IR_SCOPE_COUNT:
        return 0;
    }
    return 0;
}

static void rule_value_scope(const facts *f, const ir_op *op, const ir_value *value) {
    if ((f->of[value->number] & within(f, value->scope)) != 0)
        verify_report(f->state, VERIFY_VALUE_SCOPE, op,
                      "a value that depends on nothing that differs within the scope",
                      "a value is not the same over the scope that is recorded");
}

static void rule_uniform_operand(const facts *f, const ir_op *op) {
    const ir_value *from = op->operands[0];
    if (from->scope < IR_SCOPE_GROUP)
        verify_report(f->state, VERIFY_VALUE_SCOPE, op, "an operand that is `uniform group`",
                      "it is not recorded that all lanes hold this value alike");
}

/* control: what the conditions and bounds around depend on. */
static void check_region(const facts *f, const ir_op *owner, const ir_region *region,
                         depends control) {
    for (int i = 0; i < region->argument_count; i++)
        rule_value_scope(f, owner, region->arguments[i]);
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            rule_value_scope(f, op, op->results[i]);
        if (op->opcode == IR_UNIFORM)
            rule_uniform_operand(f, op);
        if (op->opcode == IR_SYNC && (control & within(f, op->attributes.scope)) != 0)
            verify_report(f->state, VERIFY_SYNC_CONTROL, op,
                          "conditions and bounds that the whole scope shares",
                          "not all lanes of the scope may reach this sync");
        depends inner = control;
        int conditions = op->opcode == IR_FOR ? 3 : op->opcode == IR_IF ? 1 : 0;
        for (int i = 0; i < conditions; i++)
            inner |= f->of[op->operands[i]->number];
        for (int k = 0; k < op->region_count; k++)
            check_region(f, op, op->regions[k], inner);
    }
}

/* ---- setting up ---- */
static depends program_bits(const ir_module *module) {
    depends sum = 0;
    for (int i = 0; i < module->axis_count; i++) {
        const layout_axis *axis = &module->axes[i].digits;
        for (int d = 0; d < axis->count && module->axes[i].is_program; d++) {
            const layout_digit *digit = &axis->digits[d];
            depends bits = bits_of(layout_axis_digit_stride(axis, d), digit->radix);
            if (digit->holder == LAYOUT_LANE)
                sum |= bits;
            if (digit->holder == LAYOUT_SUBGROUP)
                sum |= bits << BITS;
        }
    }
    return sum;
}

/* Bits of the numbers below count. */
static depends bits_below(int64_t count) {
    return count > 1 ? bits_of(1, INT64_C(2) << floor_log2(count - 1)) : 0;
}

void verify_lane_facts(verify_state *state) {
    const ir_module *module = state->module;
    facts f = {.state = state, .program = program_bits(module), .work = WORK};
    f.team = bits_below(ir_module_subgroup_lanes(module)) | bits_below(ir_module_subgroups(module))
                                                                << BITS;
    if (!verify_region_is_formed(state, &module->body))
        return;
    f.of = BASE_NEW_ARRAY(state->diagnostics->arena, depends, module->next_value + 1);
    walk_region(&f, &module->body);
    for (int64_t i = 0; i < module->next_value && f.work <= 0; i++)
        f.of[i] = LANES | SUBGROUPS | BLOCK | CLUSTER;
    check_region(&f, NULL, &module->body, 0);
}
