/* Replay of signatures: from which elements each lane and slot computes.
 *
 * A value's signatures are a vector that is shared by all values that have the same: what an op
 * makes of one vector and constants is that vector.
 *
 *     %t = load %x[lane*1]     {x 0} {x 1} {x 2} ..      A
 *     %d = sub %t, %m          {x 0, m} {x 1, m} ..      B, made from A and m
 *     %e = mul %d, %d          the same                  B
 */
#include "verify/replay_internal.h"

#include <string.h>

/* ---- vectors ---- */
static replay_marks *new_marks(replay *r, int count) {
    replay_marks **list = &r->free[count > 1];
    replay_marks *marks = *list;
    while (marks != NULL && marks->count != count) {
        list = &marks->next;
        marks = *list;
    }
    if (marks != NULL) {
        *list = marks->next;
    } else {
        marks = BASE_NEW(r->arena, replay_marks);
        marks->items = BASE_NEW_ARRAY(r->arena, signature, count);
    }
    marks->references = 0;
    marks->count = count;
    marks->special = false;
    return marks;
}

static void drop_marks(replay *r, replay_marks *marks) {
    if (marks == NULL || --marks->references > 0)
        return;
    marks->next = r->free[marks->count > 1];
    r->free[marks->count > 1] = marks;
}

void replay_share_marks(replay *r, replay_value *to, replay_marks *marks) {
    if (marks != NULL)
        marks->references++;
    drop_marks(r, to->marks);
    to->marks = marks;
}

static replay_marks *marks_of_one(replay *r, signature mark) {
    replay_marks *marks = new_marks(r, 1);
    marks->items[0] = mark;
    marks->references = 1; /* its own */
    return marks;
}

void replay_forget(replay *r, replay_value *value) {
    if (r->unknown == NULL)
        r->unknown = marks_of_one(r, SIGNATURE_UNKNOWN);
    value->known = value->partly = value->modelled = false;
    value->literal = NULL;
    replay_share_marks(r, value, r->unknown);
}

/* ---- positions ---- */
static signature mark_at(const replay *r, const replay_value *value, int position, bool known) {
    if (value->marks != NULL)
        return value->marks->items[value->marks->count == 1 ? 0 : position];
    if (known)
        return signature_number(r->setting.table, replay_number(value, position));
    return value->literal != NULL ? signature_literal(r->setting.table, value->literal)
                                  : (signature)SIGNATURE_CONSTANT;
}

signature_value replay_at(const replay *r, const replay_value *value, int position) {
    int own = value->positions == 1 ? 0 : position;
    bool known =
        value->known || (value->partly && !replay_bit(value->plane[REPLAY_UNNUMBERED], own));
    bool modelled = known || (value->modelled && !replay_bit(value->plane[REPLAY_UNMODELLED], own));
    signature_value at = {.mark = mark_at(r, value, own, known),
                          .known = known,
                          .modelled = modelled,
                          .number = modelled ? replay_number(value, own) : 0};
    if (!modelled && value->marks == NULL && value->literal != NULL)
        at.modelled = signature_model_literal(value->literal, &at.number);
    return at;
}

void replay_set_begin(replay *r, replay_value *value) {
    replay_share_marks(r, value, NULL);
    replay_share_marks(r, value, new_marks(r, value->positions));
    value->known = value->partly = value->modelled = false;
    value->literal = NULL;
}

void replay_set(replay *r, replay_value *value, int position, signature_value to) {
    value->marks->items[position] = to.mark;
    value->marks->special = value->marks->special ||
                            signature_is_partial(r->setting.table, to.mark) ||
                            signature_is_constant(r->setting.table, to.mark);
    uint64_t bit = UINT64_C(1) << (position % 64);
    uint64_t *unnumbered = &value->plane[REPLAY_UNNUMBERED][position / 64];
    *unnumbered = to.known ? *unnumbered & ~bit : *unnumbered | bit;
    uint64_t *unmodelled = &value->plane[REPLAY_UNMODELLED][position / 64];
    *unmodelled = signature_is_modelled(&to) ? *unmodelled & ~bit : *unmodelled | bit;
    if (!signature_is_modelled(&to))
        return;
    if (value->number == NULL)
        value->number = BASE_NEW_ARRAY(r->arena, int64_t, value->positions);
    value->number[position] = to.number;
    value->modelled = true;
    value->partly = value->partly || to.known;
}

void replay_set_end(replay *r, replay_value *value) {
    bool all = value->partly;
    for (int p = 0; p < value->positions && all; p++)
        all = !replay_bit(value->plane[REPLAY_UNNUMBERED], p);
    value->known = all;
    value->partly = value->partly && !all;
    r->work -= 2 * value->positions;
}

/* ---- what ops make of them ---- */
/* All that differs comes from one vector, which may be handed on as it is; constants add nothing.
 */
static bool comes_from_one(const replay *r, const ir_op *op, replay_marks **one) {
    *one = NULL;
    for (int i = 0; i < op->operand_count; i++) {
        const replay_value *operand = replay_of(r, op->operands[i]);
        if (operand->marks == NULL)
            continue;
        if (operand->marks->special || (*one != NULL && *one != operand->marks))
            return false;
        *one = operand->marks;
    }
    return *one != NULL;
}

static bool may_share(const replay *r, const ir_op *op) {
    base_dtype dtype = op->results[0]->type.dtype;
    if (!base_dtype_is_float(dtype) || r->setting.models)
        return false;
    if (op->opcode == IR_SELECT)
        return !replay_of(r, op->operands[0])->known && !replay_of(r, op->operands[0])->partly &&
               (replay_of(r, op->operands[1])->marks != NULL ||
                replay_of(r, op->operands[2])->marks != NULL);
    if (!signature_joins(r->setting.table, op->opcode, dtype))
        return true;
    for (int i = 0; i < op->operand_count; i++)
        if (replay_of(r, op->operands[i])->marks == NULL)
            return false; /* the identity may begin a reduction */
    return true;
}

enum { OPERANDS = 3 };

/* The marks of an operand without numbers; `one` has room for that of a constant. False: it has
 * numbers that are exact. */
static bool row_of(const replay *r, const replay_value *operand, signature *one,
                   signature_row *row) {
    if (operand->known || operand->partly)
        return false;
    *one = operand->marks != NULL && operand->marks->count > 1 ? 0 : mark_at(r, operand, 0, false);
    *row = (signature_row){.items = one};
    if (operand->marks != NULL && operand->marks->count > 1)
        *row = (signature_row){.items = operand->marks->items, .step = 1};
    return true;
}

/* Marks are set without numbers, and some by replay_set. */
static void begin_marks(replay *r, replay_value *result) {
    size_t bytes = sizeof(uint64_t) * (size_t)result->words;
    replay_set_begin(r, result);
    memset(result->plane[REPLAY_UNNUMBERED], 0xff, bytes);
    memset(result->plane[REPLAY_UNMODELLED], 0xff, bytes);
}

static void end_marks(replay *r, replay_value *result) {
    result->marks->special =
        signature_row_is_special(r->setting.table, result->marks->items, result->positions);
    replay_set_end(r, result);
}

/* All positions at once. False: one by one. */
static bool compute_rows(replay *r, const ir_op *op) {
    signature one[OPERANDS];
    signature_row rows[OPERANDS];
    bool numberless = false;
    if (!signature_has_rows(&r->setting, op))
        return false;
    for (int i = 0; i < op->operand_count; i++) {
        const replay_value *operand = replay_of(r, op->operands[i]);
        if (!row_of(r, operand, &one[i], &rows[i]))
            return false;
        numberless = numberless || (operand->marks != NULL && !operand->modelled);
    }
    if (!numberless)
        return false;
    replay_value *result = replay_of(r, op->results[0]);
    begin_marks(r, result);
    signature_compute_rows(&r->setting, op, rows, op->operand_count, result->marks->items,
                           result->positions);
    end_marks(r, result);
    return true;
}

static void compute_positions(replay *r, const ir_op *op) {
    replay_value *result = replay_of(r, op->results[0]);
    const replay_value *operand[OPERANDS];
    signature_value values[OPERANDS];
    int count = op->operand_count < OPERANDS ? op->operand_count : OPERANDS;
    for (int i = 0; i < count; i++) {
        operand[i] = replay_of(r, op->operands[i]);
        values[i] = replay_at(r, operand[i], 0);
    }
    replay_set_begin(r, result);
    for (int p = 0; p < result->positions; p++) {
        for (int i = 0; i < count; i++)
            if (operand[i]->positions > 1)
                values[i] = replay_at(r, operand[i], p);
        replay_set(r, result, p, signature_computed(&r->setting, op, values, count));
    }
    replay_set_end(r, result);
}

/* A side of a choice: marks alone, or one value everywhere. */
typedef struct choice_side {
    signature one;
    signature_row row;
    signature_value value; /* of all positions, where there are no marks */
    bool numberless;
} choice_side;

static bool side_of(const replay *r, const replay_value *operand, choice_side *side) {
    if (!row_of(r, operand, &side->one, &side->row))
        return false;
    side->numberless = operand->marks != NULL && !operand->modelled;
    side->value = replay_at(r, operand, 0);
    return side->numberless || operand->marks == NULL || operand->positions == 1;
}

/* Floats that a condition chooses whose numbers are known. False: one by one. */
static bool choose_rows(replay *r, const ir_op *op) {
    replay_value *result = replay_of(r, op->results[0]);
    const replay_value *condition = replay_of(r, op->operands[0]);
    choice_side sides[2]; /* false, true */
    bool real = base_dtype_is_float(op->results[0]->type.dtype);
    if (op->opcode != IR_SELECT || !real || r->setting.models || !condition->known ||
        !side_of(r, replay_of(r, op->operands[2]), &sides[0]) ||
        !side_of(r, replay_of(r, op->operands[1]), &sides[1]))
        return false;
    begin_marks(r, result);
    for (int p = 0; p < result->positions; p++) {
        const choice_side *side = &sides[replay_number(condition, p) != 0];
        if (side->numberless)
            result->marks->items[p] = side->row.items[p * side->row.step];
        else
            replay_set(r, result, p, side->value);
    }
    end_marks(r, result);
    return true;
}

static bool is_constant_everywhere(const replay *r, const ir_op *op) {
    for (int i = 0; i < op->operand_count; i++)
        if (replay_of(r, op->operands[i])->marks != NULL)
            return false;
    return true;
}

/* What a comparison of numbers says is known, but no literal: a mask may begin with it. */
static replay_marks *marks_of_known(replay *r, const ir_op *op) {
    if (ir_op_describe(op->opcode)->shape != IR_SHAPE_COMPARE)
        return NULL;
    if (r->compared == NULL)
        r->compared = marks_of_one(r, SIGNATURE_CONSTANT);
    return r->compared;
}

void replay_marks_compute(replay *r, const ir_op *op) {
    replay_value *result = replay_of(r, op->results[0]);
    replay_marks *one = NULL;
    if (ir_op_describe(op->opcode)->shape == IR_SHAPE_LEAF)
        return;
    if (is_constant_everywhere(r, op) && result->known)
        replay_share_marks(r, result, marks_of_known(r, op));
    else if (may_share(r, op) && comes_from_one(r, op, &one))
        replay_share_marks(r, result, one);
    else if (!compute_rows(r, op) && !choose_rows(r, op))
        compute_positions(r, op);
}

/* ---- memory ---- */
static int parameter_of(const replay *r, const ir_op *op) {
    const ir_module *module = r->state->module;
    for (int i = 0; i < module->parameter_count; i++)
        if (module->parameters[i].is_tensor && module->parameters[i].value == op->operands[0])
            return i;
    return -1;
}

/* One index at one position, and the marks of what it is made from. */
static signature_value index_at(const replay *r, const ir_op *op, const ir_index *index,
                                int position, int slots) {
    const int operands[2] = {index->operand, index->vector};
    signature_value sum = signature_of_number(&r->setting, 0);
    int unknown = 0;
    sum.modelled = true;
    for (int i = 0; i < 2; i++) {
        if (operands[i] < 0)
            continue;
        const replay_value *from = replay_of(r, op->operands[operands[i]]);
        if (from->known && from->marks == NULL) {
            sum.number = (int64_t)((uint64_t)sum.number + (uint64_t)replay_number(from, position));
            continue;
        }
        signature_value part = replay_at(r, from, position);
        sum.mark = signature_union(r->setting.table, sum.mark, part.mark);
        sum.number = (int64_t)((uint64_t)sum.number + (uint64_t)part.number);
        unknown += part.known ? 0 : 1;
        sum.modelled = sum.modelled && signature_is_modelled(&part);
    }
    if (unknown > 0 && (index->affine.count > 0 || (index->operand >= 0 && index->vector >= 0)))
        sum.mark = SIGNATURE_UNKNOWN; /* a part of it has no name */
    ir_position at = ir_module_position(r->state->module, position / slots, position % slots);
    sum.number = (int64_t)((uint64_t)sum.number + (uint64_t)ir_affine_at(&index->affine, at));
    sum.known = unknown == 0;
    return sum;
}

/* The cell and the sources of its indices; false where it is not known. */
static bool cell_at(const replay *r, const ir_op *op, const replay_tensor *tensor, int position,
                    int slots, int64_t *cell, signature_value index[IR_MAX_RANK],
                    signature *sources) {
    const ir_access *access = op->attributes.access;
    bool known = true;
    *cell = 0;
    *sources = SIGNATURE_CONSTANT;
    for (int d = 0; d < access->rank; d++) {
        index[d] = index_at(r, op, &access->index[d], position, slots);
        *sources = signature_union(r->setting.table, *sources, index[d].mark);
        known =
            known && index[d].known && index[d].number >= 0 && index[d].number < tensor->extent[d];
        *cell = known ? *cell * tensor->extent[d] + index[d].number : 0;
    }
    return known;
}

static int32_t writer_of(const replay *r, int positions, int position, int slots) {
    int lane = positions == 1 ? 0 : position / slots;
    return r->run * r->lanes + r->program_of[lane];
}

/* What the cell holds for the position. */
static signature_value content_at(const replay *r, const ir_op *op, int parameter, int position,
                                  int slots, int64_t cell) {
    const replay_tensor *tensor = &r->tensors[parameter];
    if (tensor->mode != IR_IN && r->stored.open[parameter])
        return signature_nothing(SIGNATURE_UNKNOWN);
    const signature_cell *stored =
        tensor->mode == IR_IN ? NULL : signature_memory_find(&r->stored, parameter, cell);
    int positions = replay_of(r, op->results[0])->positions;
    if (stored != NULL && !stored->torn &&
        stored->writer == writer_of(r, positions, position, slots))
        return stored->value;
    if (stored == NULL && tensor->mode != IR_OUT)
        return signature_element(&r->setting, parameter, op->results[0]->type.dtype, cell);
    return signature_nothing(SIGNATURE_UNKNOWN);
}

/* The number that the model has for what is loaded by indices that are not known. */
static void model_load(const replay *r, const ir_op *op, int parameter, int position, int slots,
                       const signature_value index[IR_MAX_RANK], signature_value *value) {
    const replay_tensor *tensor = &r->tensors[parameter];
    int64_t cell = 0;
    for (int d = 0; d < op->attributes.access->rank; d++) {
        if (!signature_is_modelled(&index[d]) || index[d].number < 0 ||
            index[d].number >= tensor->extent[d])
            return;
        cell = cell * tensor->extent[d] + index[d].number;
    }
    signature_value content = content_at(r, op, parameter, position, slots, cell);
    value->modelled = signature_is_modelled(&content);
    value->number = content.number;
}

static signature_value element_at(const replay *r, const ir_op *op, int parameter, int position,
                                  int slots) {
    const replay_tensor *tensor = &r->tensors[parameter];
    signature_value index[IR_MAX_RANK], value = signature_nothing(SIGNATURE_UNKNOWN);
    signature sources = SIGNATURE_CONSTANT;
    int64_t cell = 0;
    bool known = cell_at(r, op, tensor, position, slots, &cell, index, &sources);
    for (int d = 0; d < op->attributes.access->rank; d++)
        if (index[d].known && (index[d].number < 0 || index[d].number >= tensor->extent[d]))
            return signature_nothing(SIGNATURE_OUTSIDE);
    if (known)
        value = content_at(r, op, parameter, position, slots, cell);
    else if (tensor->mode == IR_IN)
        value = signature_element_at(&r->setting, parameter, index, op->attributes.access->rank);
    value.mark = signature_indexed(r->setting.table, value.mark, sources);
    if (!known && r->setting.models)
        model_load(r, op, parameter, position, slots, index, &value);
    return value;
}

static signature_value fill_at(const replay *r, const ir_op *op, int position) {
    const ir_access *access = op->attributes.access;
    signature_value zero = signature_of_number(&r->setting, 0);
    zero.known = !base_dtype_is_float(op->results[0]->type.dtype);
    zero.modelled = true;
    if (access->fill >= 0)
        zero = replay_at(r, replay_of(r, op->operands[access->fill]), position);
    return signature_filled(&r->setting, zero);
}

static bool stands_outside(const replay_value *value, int position) {
    return replay_bit(value->plane[REPLAY_OUTSIDE], position) ||
           replay_bit(value->plane[REPLAY_UNSET], position);
}

/* The access happens outside of the tensor: by an index that is known whatever the data, or by one
 * that nothing but the mask keeps inside. */
static bool goes_outside(const replay *r, const ir_op *op, const replay_tensor *tensor,
                         int position, int slots) {
    const ir_access *access = op->attributes.access;
    bool masked = false;
    if (access->mask_kind == IR_MASK_BITS) {
        signature_value mask = replay_at(r, replay_of(r, op->operands[access->mask]), position);
        masked = signature_is_modelled(&mask);
        if (!masked || mask.number == 0)
            return false;
    }
    for (int d = 0; d < access->rank; d++) {
        signature_value index = index_at(r, op, &access->index[d], position, slots);
        bool certain = index.known && signature_is_constant(r->setting.table, index.mark);
        bool guarded = masked && !access->index[d].inside && signature_is_modelled(&index);
        if ((certain || guarded) && (index.number < 0 || index.number >= tensor->extent[d]))
            return true;
    }
    return false;
}

static void check_inside(replay *r, const ir_op *op, const replay_tensor *tensor, int position,
                         int slots) {
    if (r->setting.models && goes_outside(r, op, tensor, position, slots) && replay_is_news(r, op))
        verify_report(r->state, VERIFY_ACCESS_INSIDE, op, "an index inside, or a mask",
                      "an index is outside of the tensor");
}

/* Where mask and indices are known: the element or the fill. */
static void load_rows(replay *r, const ir_op *op, const uint64_t *active, int parameter, int slots,
                      const int64_t *cells) {
    replay_value *result = replay_of(r, op->results[0]);
    begin_marks(r, result);
    for (int p = 0; p < result->positions; p++) {
        signature_value value = signature_nothing(SIGNATURE_OUTSIDE);
        if (!stands_outside(result, p) && !replay_bit(active, p))
            value = fill_at(r, op, p);
        else if (!stands_outside(result, p) && cells[p] >= 0)
            value = content_at(r, op, parameter, p, slots, cells[p]);
        if (signature_is_modelled(&value))
            replay_set(r, result, p, value);
        else
            result->marks->items[p] = value.mark;
    }
    end_marks(r, result);
}

/* Where the mask is known: the element or the fill. Else either. */
void replay_marks_load(replay *r, const ir_op *op, const uint64_t *active, bool decided) {
    const ir_access *access = op->attributes.access;
    replay_value *result = replay_of(r, op->results[0]);
    int parameter = parameter_of(r, op), slots = ir_type_slot_count(&op->results[0]->type);
    if (parameter < 0 || r->tensors[parameter].cells == 0) {
        replay_forget(r, result);
        return;
    }
    if (decided && !r->setting.models && replay_index_is_constant(r, op)) {
        const int64_t *cells =
            replay_cells(r, op, &r->tensors[parameter], result->positions, slots);
        load_rows(r, op, active, parameter, slots, cells);
        return;
    }
    replay_set_begin(r, result);
    for (int p = 0; p < result->positions; p++) {
        signature_value value = signature_nothing(SIGNATURE_OUTSIDE);
        if (!stands_outside(result, p)) {
            bool on = !decided || replay_bit(active, p);
            if (on && (decided || access->mask_kind == IR_MASK_BITS))
                check_inside(r, op, &r->tensors[parameter], p, slots);
            value = on ? element_at(r, op, parameter, p, slots) : fill_at(r, op, p);
            if (!decided && access->mask >= 0) {
                signature_value mask = replay_at(r, replay_of(r, op->operands[access->mask]), p);
                value = signature_either(&r->setting, mask, value, fill_at(r, op, p));
            }
        }
        replay_set(r, result, p, value);
    }
    replay_set_end(r, result);
}

bool replay_is_scattered(const replay *r, const ir_op *op, int position, int slots) {
    const ir_access *access = op->attributes.access;
    for (int d = 0; d < access->rank; d++) {
        signature mark = index_at(r, op, &access->index[d], position, slots).mark;
        if (mark != SIGNATURE_UNKNOWN && !signature_is_constant(r->setting.table, mark))
            return true;
    }
    return false;
}

void replay_marks_store(replay *r, const ir_op *op, int position, int64_t cell, bool constant) {
    const ir_value *value = ir_op_stored(op);
    int positions = replay_of(r, value)->positions, slots = ir_type_slot_count(&value->type);
    int parameter = parameter_of(r, op);
    if (!constant && replay_is_scattered(r, op, position, slots))
        r->stored.doubtful[parameter] = true;
    signature_cell stored = {.tensor = parameter,
                             .cell = cell,
                             .op = op,
                             .writer = writer_of(r, positions, position, slots),
                             .value = replay_at(r, replay_of(r, value), position)};
    stored.instance = (uint64_t)(uintptr_t)op * 31 + r->iteration + (uint64_t)r->run;
    signature_memory_store(&r->stored, &stored);
}
