/* Alignment of accesses: powers of two that divide addresses.
 *
 *     N - c*1024       4 where N is a multiple of 4
 *     lane*4 + slot    4 at the first slot of each group of four
 *
 * The address of a group is base + row * stride + index * size. Its tensor's condition divides base
 * and stride, whatever the row; the index of the last dimension is looked at here. The conditions
 * that would help are found by taking all that are possible and leaving out, one by one, what no
 * access misses. Wrapping arithmetic keeps powers of two. */
#include "analysis/alignment.h"

#include "machine/machine.h"

#include <string.h>

enum { MOST = 4096, DEPTH = 200, FORM_DEPTH = 12 };

/* ---- what divides a number ---- */

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t factor_of_integer(int64_t value) {
    int64_t factor = (int64_t)((uint64_t)value & -(uint64_t)value);
    return factor <= 0 || factor > MOST ? MOST : factor;
}

static int64_t product(int64_t a, int64_t b) {
    return a * b > MOST ? MOST : a * b;
}

static int64_t factor_of_extent(const analysis_alignments *s, const layout_extent *extent) {
    int64_t value, divisor;
    bool halved;
    if (layout_extent_known(&s->module->extents, extent, &value))
        return factor_of_integer(value);
    switch (extent->kind) {
    case LAYOUT_EXTENT_CONSTANT:
        return factor_of_integer(extent->value);
    case LAYOUT_EXTENT_SYMBOL:
        return least(layout_conditions_amount(s->conditions, s->condition_count,
                                              LAYOUT_CONDITION_MULTIPLE, extent->value),
                     MOST);
    case LAYOUT_EXTENT_MUL:
        return product(factor_of_extent(s, extent->left), factor_of_extent(s, extent->right));
    case LAYOUT_EXTENT_DIV:
        halved = layout_extent_known(&s->module->extents, extent->right, &divisor) && divisor == 2;
        return halved ? (factor_of_extent(s, extent->left) + 1) / 2 : 1;
    case LAYOUT_EXTENT_ADD:
    case LAYOUT_EXTENT_SUB:
    case LAYOUT_EXTENT_MOD:
    case LAYOUT_EXTENT_MIN:
    case LAYOUT_EXTENT_MAX:
        return least(factor_of_extent(s, extent->left), factor_of_extent(s, extent->right));
    }
    return 1;
}

static int64_t factor_of(analysis_alignments *s, const ir_value *value);

/* The index of a loop: lo, lo + step, ... */
static int64_t factor_of_argument(analysis_alignments *s, const ir_value *value) {
    const ir_op *loop = value->region != NULL ? value->region->owner : NULL;
    if (loop == NULL || loop->opcode != IR_FOR || value->region->arguments[0] != value)
        return 1;
    return least(factor_of(s, loop->operands[0]), factor_of(s, loop->operands[2]));
}

/* Elements from one index to the next. */
static int64_t factor_of_stride(const analysis_alignments *s, const ir_op *op) {
    int parameter = op->attributes.parameter;
    const ir_parameter *tensor = &s->module->parameters[parameter];
    bool last = op->attributes.axis + 1 >= tensor->value->type.rank;
    int64_t bytes = layout_conditions_amount(s->conditions, s->condition_count,
                                             LAYOUT_CONDITION_ALIGNED, parameter);
    int64_t factor = last ? 1 : bytes / base_dtype_size(tensor->dtype);
    return factor < 1 ? 1 : least(factor, MOST);
}

static int64_t factor_of_op(analysis_alignments *s, const ir_op *op) {
    const ir_value *const *in = (const ir_value *const *)op->operands;
    if (op->opcode == IR_STRIDE)
        return factor_of_stride(s, op);
    if (op->opcode == IR_CONSTANT)
        return factor_of_integer(op->attributes.constant.integer);
    if (op->opcode == IR_SIZE)
        return factor_of_extent(s, op->attributes.extent);
    if (op->opcode == IR_MUL)
        return product(factor_of(s, in[0]), factor_of(s, in[1]));
    if (op->opcode == IR_ADD || op->opcode == IR_SUB || op->opcode == IR_FLOOR_MOD ||
        op->opcode == IR_MAXIMUM || op->opcode == IR_MINIMUM)
        return least(factor_of(s, in[0]), factor_of(s, in[1]));
    if (op->opcode == IR_SELECT)
        return least(factor_of(s, in[1]), factor_of(s, in[2]));
    bool keeps = op->opcode == IR_NEG || op->opcode == IR_BROADCAST || op->opcode == IR_UNIFORM ||
                 (op->opcode == IR_CAST && op->attributes.rounding == IR_ROUND_ZERO);
    return keeps ? factor_of(s, in[0]) : 1;
}

static bool is_whole_number(const ir_value *value) {
    base_dtype dtype = value->type.dtype;
    return dtype == BASE_I64 || dtype == BASE_I32 || dtype == BASE_U32;
}

static int64_t factor_of(analysis_alignments *s, const ir_value *value) {
    int64_t *known = &s->factors[value->number];
    if (*known != 0)
        return *known;
    int64_t factor = 1;
    if (is_whole_number(value) && s->depth < DEPTH) {
        s->depth++;
        factor =
            value->definer != NULL ? factor_of_op(s, value->definer) : factor_of_argument(s, value);
        s->depth--;
    }
    return *known = factor;
}

/* ---- what an address is, modulo a group ---- */

enum { MOST_TERMS = 3 };

/* constant + sum of coefficient * value, modulo a power of two. */
typedef struct linear_form {
    bool known;
    int64_t constant;
    int count;
    struct {
        const ir_value *value;
        int64_t coefficient;
    } terms[MOST_TERMS];
} linear_form;

static linear_form constant_form(int64_t constant) {
    return (linear_form){.known = true, .constant = constant};
}

static int64_t wrapped(int64_t a, int64_t b, int64_t factor) {
    return (int64_t)((uint64_t)a + (uint64_t)b * (uint64_t)factor);
}

/* a + b * factor. */
static linear_form form_add(linear_form a, const linear_form *b, int64_t factor) {
    a.known = a.known && b->known;
    a.constant = wrapped(a.constant, b->constant, factor);
    for (int i = 0; i < b->count && a.known; i++) {
        int at = 0;
        while (at < a.count && a.terms[at].value != b->terms[i].value)
            at++;
        a.known = at < MOST_TERMS;
        if (!a.known)
            break;
        if (at == a.count) {
            a.terms[a.count].coefficient = 0;
            a.terms[a.count++].value = b->terms[i].value;
        }
        a.terms[at].coefficient = wrapped(a.terms[at].coefficient, b->terms[i].coefficient, factor);
    }
    return a;
}

/* The elements from one index of a dimension to the next, modulo `group` elements, by conditions.
 */
static bool stride_modulo(const analysis_alignments *s, int parameter, int dimension, int64_t group,
                          int64_t *stride) {
    const ir_parameter *tensor = &s->module->parameters[parameter];
    int64_t bytes = group * base_dtype_size(tensor->dtype), extent;
    *stride = 0;
    if (layout_conditions_amount(s->conditions, s->condition_count, LAYOUT_CONDITION_ALIGNED,
                                 parameter) >= bytes)
        return true;
    *stride = 1;
    for (int d = dimension + 1; d < tensor->value->type.rank; d++) {
        if (!layout_extent_known(&s->module->extents, tensor->value->type.extent[d], &extent))
            return false;
        *stride = (int64_t)((uint64_t)*stride * (uint64_t)extent % (uint64_t)group);
    }
    return layout_conditions_amount(s->conditions, s->condition_count, LAYOUT_CONDITION_SPACED,
                                    parameter) >= bytes;
}

static linear_form form_of(analysis_alignments *s, const ir_value *value, int64_t group);

static linear_form form_of_product(analysis_alignments *s, const ir_op *op, int64_t group) {
    linear_form a = form_of(s, op->operands[0], group), b = form_of(s, op->operands[1], group);
    if (b.known && b.count == 0)
        return form_add(constant_form(0), &a, b.constant);
    if (a.known && a.count == 0)
        return form_add(constant_form(0), &b, a.constant);
    return (linear_form){0};
}

/* The remainder by a multiple of the group is as good as the number. */
static linear_form form_of_remainder(analysis_alignments *s, const ir_op *op, int64_t group) {
    const ir_op *by = op->operands[1]->definer;
    int64_t divisor = by != NULL && by->opcode == IR_CONSTANT ? by->attributes.constant.integer : 0;
    if (divisor > 0 && divisor % group == 0)
        return form_of(s, op->operands[0], group);
    return (linear_form){0};
}

static linear_form form_of_op(analysis_alignments *s, const ir_op *op, int64_t group) {
    int64_t stride;
    if (op->opcode == IR_CONSTANT)
        return constant_form(op->attributes.constant.integer);
    if (op->opcode == IR_STRIDE &&
        stride_modulo(s, op->attributes.parameter, op->attributes.axis, group, &stride))
        return constant_form(stride);
    if (op->opcode == IR_ADD || op->opcode == IR_SUB) {
        linear_form b = form_of(s, op->operands[1], group);
        return form_add(form_of(s, op->operands[0], group), &b, op->opcode == IR_ADD ? 1 : -1);
    }
    if (op->opcode == IR_MUL)
        return form_of_product(s, op, group);
    return op->opcode == IR_FLOOR_MOD ? form_of_remainder(s, op, group) : (linear_form){0};
}

static bool is_sum_or_product(const ir_op *op) {
    return op->opcode == IR_ADD || op->opcode == IR_SUB || op->opcode == IR_MUL;
}

/* What is no sum or product stands for itself; of products of unknown numbers nothing is known. */
static linear_form form_of(analysis_alignments *s, const ir_value *value, int64_t group) {
    linear_form form = {0};
    const ir_op *op = value->type.dtype == BASE_I64 ? value->definer : NULL;
    if (s->depth == FORM_DEPTH)
        return form;
    if (op != NULL) {
        s->depth++;
        form = form_of_op(s, op, group);
        s->depth--;
    }
    if (form.known || (op != NULL && is_sum_or_product(op)))
        return form;
    form = (linear_form){.known = true, .count = 1};
    form.terms[0].value = value;
    form.terms[0].coefficient = 1;
    return form;
}

/* The elements from the tensor's first to a group's first, but for what lanes and slots add, come
 * to a multiple of the group, whatever each stride is. */
static bool base_is_multiple(analysis_alignments *s, const ir_op *op, int parameter,
                             int64_t group) {
    const ir_access *access = op->attributes.access;
    linear_form sum = constant_form(0);
    int64_t stride = 1;
    for (int d = access->rank - 1; d >= 0; d--) {
        const ir_index *index = &access->index[d];
        bool last = d + 1 == access->rank;
        if (index->vector >= 0 || (!last && index->affine.count > 0) ||
            (!last && !stride_modulo(s, parameter, d, group, &stride)))
            return false;
        if (index->operand < 0)
            continue;
        linear_form part = form_of(s, op->operands[index->operand], group);
        sum = form_add(sum, &part, stride);
    }
    for (int i = 0; i < sum.count; i++)
        if (sum.terms[i].coefficient % group != 0)
            return false;
    return sum.known && sum.constant % group == 0;
}

/* At the first slot of every group, in every lane and subgroup. */
static int64_t factor_of_affine(const ir_module *module, const ir_affine *affine, int64_t slots,
                                int width) {
    int64_t factor = MOST;
    for (int64_t i = 0; i < slots; i += width)
        factor = least(factor, factor_of_integer(ir_affine_at(affine, (ir_position){.slot = i})));
    for (int64_t i = 0; i < ir_module_subgroup_lanes(module); i++)
        factor = least(factor, factor_of_integer(ir_affine_at(affine, (ir_position){.lane = i})));
    for (int64_t i = 0; i < ir_module_subgroups(module); i++)
        factor =
            least(factor, factor_of_integer(ir_affine_at(affine, (ir_position){.subgroup = i})));
    return factor;
}

/* ---- accesses ---- */

analysis_alignments analysis_alignments_begin(base_arena *arena, const ir_module *module,
                                              const layout_condition *conditions, int64_t count) {
    return (analysis_alignments){.module = module,
                                 .conditions = conditions,
                                 .condition_count = count,
                                 .factors = BASE_NEW_ARRAY(arena, int64_t, module->next_value + 1)};
}

/* Slots of a group go by `step` from one to the next. */
static bool slots_go_by(const ir_affine *affine, int64_t slots, int width, int step) {
    for (int64_t slot = 0; slot < slots; slot++) {
        ir_position here = {.slot = slot}, first = {.slot = slot - slot % width};
        if (ir_affine_at(affine, here) != ir_affine_at(affine, first) + slot % width * step)
            return false;
    }
    return true;
}

/* Groups of neighbours that one lane has, as many bytes as one access of a thread moves at most; 0:
 * none. */
static int64_t group_bytes(const ir_op *op, int64_t slots) {
    const ir_access *access = op->attributes.access;
    int width = access->width, last = access->rank - 1;
    if (width < 2 || (width & (width - 1)) != 0 || last < 0 || slots % width != 0)
        return 0;
    for (int d = 0; d <= last; d++)
        if ((access->index[d].vector >= 0 &&
             (d == last || !ir_value_repeats(op->operands[access->index[d].vector]))) ||
            !slots_go_by(&access->index[d].affine, slots, width, d == last))
            return 0;
    return least(width * base_dtype_size(op->operands[0]->type.dtype), MACHINE_ACCESS_BYTES);
}

static bool is_whole(analysis_alignments *s, const ir_op *op, int64_t slots) {
    const ir_access *access = op->attributes.access;
    return access->mask_kind == IR_MASK_RANGE && access->width <= MACHINE_ACCESS_BYTES &&
           slots_go_by(&access->mask_affine, slots, access->width, 1) &&
           factor_of_affine(s->module, &access->mask_affine, slots, access->width) >=
               access->width &&
           factor_of(s, op->operands[access->mask]) >= access->width;
}

static int64_t tensor_begins(const analysis_alignments *s, int parameter) {
    int64_t aligned = layout_conditions_amount(s->conditions, s->condition_count,
                                               LAYOUT_CONDITION_ALIGNED, parameter);
    int64_t begins = layout_conditions_amount(s->conditions, s->condition_count,
                                              LAYOUT_CONDITION_BEGINS, parameter);
    return begins > aligned ? begins : aligned;
}

analysis_alignment analysis_alignment_find(analysis_alignments *search, const ir_op *op) {
    analysis_alignment found = {0};
    if (op->opcode != IR_LOAD && op->opcode != IR_STORE)
        return found;
    const ir_access *access = op->attributes.access;
    const ir_value *value = op->opcode == IR_LOAD ? op->results[0] : ir_op_stored(op);
    int64_t slots = ir_type_slot_count(&value->type), bytes = group_bytes(op, slots);
    int parameter = ir_module_parameter_of(search->module, op->operands[0]);
    if (bytes == 0 || parameter < 0 || tensor_begins(search, parameter) < bytes)
        return found;
    const ir_index *index = &access->index[access->rank - 1];
    int64_t group = bytes / base_dtype_size(op->operands[0]->type.dtype);
    int64_t aligned = layout_conditions_amount(search->conditions, search->condition_count,
                                               LAYOUT_CONDITION_ALIGNED, parameter);
    if (factor_of_affine(search->module, &index->affine, slots, access->width) < group)
        return found;
    bool known = aligned >= bytes &&
                 (index->operand < 0 || factor_of(search, op->operands[index->operand]) >= group);
    if (!known && !base_is_multiple(search, op, parameter, group))
        return found;
    found.bytes = (int)bytes;
    found.whole = is_whole(search, op, slots);
    return found;
}

/* ---- conditions ---- */

typedef struct condition_list {
    base_arena *arena;
    layout_condition *items;
    int64_t count, capacity;
} condition_list;

typedef struct condition_search {
    const ir_module *module;
    layout_condition *conditions;
    int64_t count;
    analysis_alignments under; /* the conditions at hand */
    analysis_alignment *all;   /* by access, under all conditions */
    int64_t access_count, at;
    bool same;
} condition_search;

static bool count_access(void *pointer, ir_op *op) {
    (void)op;
    ++*(int64_t *)pointer;
    return true;
}

static bool record_access(void *pointer, ir_op *op) {
    condition_search *search = pointer;
    search->all[search->at++] = analysis_alignment_find(&search->under, op);
    return true;
}

static bool compare_access(void *pointer, ir_op *op) {
    condition_search *search = pointer;
    analysis_alignment now = analysis_alignment_find(&search->under, op);
    const analysis_alignment *all = &search->all[search->at++];
    search->same = search->same && now.bytes == all->bytes && now.whole == all->whole;
    return true;
}

/* The factors are those of other conditions. */
static void walk_under(condition_search *search, int64_t count,
                       bool (*visit)(void *state, ir_op *op)) {
    search->under.conditions = search->conditions;
    search->under.condition_count = count;
    memset(search->under.factors, 0, sizeof(int64_t) * (size_t)(search->module->next_value + 1));
    search->at = 0;
    search->same = true;
    ir_region_walk((ir_region *)&search->module->body, visit, search);
}

/* Whether nothing is lost under the conditions with an amount changed. */
static bool serves(condition_search *search, int64_t count, int64_t which, int64_t amount) {
    int64_t before = search->conditions[which].amount;
    search->conditions[which].amount = amount;
    walk_under(search, count, compare_access);
    search->conditions[which].amount = before;
    return search->same;
}

int64_t analysis_conditions_prune(base_arena *arena, const ir_module *module,
                                  layout_condition *conditions, int64_t count) {
    condition_search search = {.module = module, .conditions = conditions};
    int64_t kept = 0;
    search.under = analysis_alignments_begin(arena, module, conditions, count);
    ir_region_walk((ir_region *)&module->body, count_access, &search.access_count);
    search.all = BASE_NEW_ARRAY(arena, analysis_alignment, search.access_count + 1);
    walk_under(&search, count, record_access);
    for (int64_t i = 0; i < count; i++) {
        while (conditions[i].amount > 1 && serves(&search, count, i, conditions[i].amount / 2))
            conditions[i].amount /= 2;
    }
    for (int64_t i = 0; i < count; i++)
        if (conditions[i].amount > 1)
            conditions[kept++] = conditions[i];
    return kept;
}

static bool extent_uses(const layout_extent *extent, int64_t symbol) {
    if (extent == NULL)
        return false;
    if (extent->kind == LAYOUT_EXTENT_SYMBOL)
        return extent->value == symbol;
    return extent->kind != LAYOUT_EXTENT_CONSTANT &&
           (extent_uses(extent->left, symbol) || extent_uses(extent->right, symbol));
}

static bool counts_programs(const ir_module *module, int64_t symbol) {
    bool counts = false;
    for (int i = 0; i < module->program_count; i++)
        counts = counts || extent_uses(module->programs[i].extent, symbol);
    return counts;
}

/* An array without gaps has rows that are not all aligned, as far as that is known. */
static bool has_ragged_rows(const ir_module *module, const ir_parameter *tensor) {
    int64_t bytes = base_dtype_size(tensor->dtype), extent;
    bool ragged = false;
    for (int d = tensor->value->type.rank - 1; d > 0; d--) {
        if (!layout_extent_known(&module->extents, tensor->value->type.extent[d], &extent))
            return false;
        bytes = (int64_t)((uint64_t)bytes * (uint64_t)extent % MACHINE_ACCESS_BYTES);
        ragged = ragged || bytes != 0;
    }
    return ragged;
}

static void add_condition(condition_list *list, layout_condition_kind kind, int64_t subject) {
    layout_condition condition = {kind, (int)subject, MACHINE_ACCESS_BYTES};
    BASE_PUSH(list->arena, list->items, list->count, list->capacity, condition);
}

/* Tensors whose rows are all aligned; or such as lie without gaps, which says where rows begin that
 * are not. */
static condition_list candidates(base_arena *arena, const ir_module *module, bool ragged) {
    condition_list list = {.arena = arena};
    for (int k = 0; k < LAYOUT_CONDITION_COUNT; k++) {
        layout_condition_kind kind = (layout_condition_kind)k;
        bool sizes = layout_condition_describe(kind)->subject == LAYOUT_CONDITION_SIZE;
        bool wanted = (kind == LAYOUT_CONDITION_ALIGNED) != ragged;
        for (int i = 0; !sizes && wanted && i < module->parameter_count; i++)
            if (module->parameters[i].is_tensor &&
                (!ragged || has_ragged_rows(module, &module->parameters[i])))
                add_condition(&list, kind, i);
        for (int64_t i = 0; sizes && !ragged && i < module->extents.symbol_count; i++)
            if (!module->extents.symbols[i].known && !counts_programs(module, i))
                add_condition(&list, kind, i);
    }
    list.count = analysis_conditions_prune(arena, module, list.items, list.count);
    return list;
}

int64_t analysis_conditions_find(base_arena *arena, const ir_module *module,
                                 layout_condition **conditions) {
    condition_list all = candidates(arena, module, false);
    condition_list ragged = candidates(arena, module, true);
    for (int64_t i = 0; i < ragged.count; i++)
        BASE_PUSH(arena, all.items, all.count, all.capacity, ragged.items[i]);
    *conditions = all.items;
    return all.count;
}
