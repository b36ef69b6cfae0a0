/* Expansion of reductions in an order that no plan changes: elements that wait in a private array,
 * a cell for each step of the axis, joined with the identity, so that to join another identity to
 * them changes nothing.
 *
 *     right      for c: %a = add %s[count - 1 - c], %a
 *     canonical  for h = 2^.., .. 2, 1: for j: %s[j] = add %s[j], %s[j + h]
 *
 * by which the most significant bits of the element's number are halved first; those that lanes and
 * slots hold are the business of expand_order.c. A piece of a step (expand_pieces.c) fills its
 * slots of the step's cell:
 *
 *     slots 8..11 of 16      push %s[c], add (pull %s[c]),
 *                                select(8 <= slot and slot < 12, rename %t, identity)
 */
#include "pass/expand_internal.h"

enum { MOST_LEVELS = 48 };

static bool is_walked(const expand_state *state, const ir_op *reduce) {
    int axis = expand_reduce_axis(reduce);
    return axis >= 0 && layout_axis_has(&state->module->axes[axis].digits, LAYOUT_STEP);
}

bool expand_order_keeps(const expand_state *state, const ir_op *reduce) {
    return (reduce->attributes.order == IR_ORDER_RIGHT ||
            reduce->attributes.order == IR_ORDER_CANONICAL) &&
           is_walked(state, reduce);
}

/* Slots of a whole step, also where a piece is expanded. */
static int whole_slots(const expand_state *state, int axis) {
    return (int)layout_axis_radix(&state->module->axes[axis].digits, LAYOUT_SLOT);
}

static ir_value *integer(expand_state *state, int64_t value) {
    return ir_build_integer(&state->builder, BASE_I64, value);
}

static ir_value *binary(expand_state *state, ir_opcode opcode, ir_value *a, ir_value *b) {
    return ir_build_binary(&state->builder, opcode, a, b);
}

/* ---- the array ---- */
void expand_order_begin(expand_state *state, const ir_op *reduce) {
    ir_value **array = &state->array[reduce->results[0]->number];
    int slots = expand_slots_of(state, reduce->operands[0]); /* those of a piece of another axis */
    if (!expand_order_keeps(state, reduce) || (*array != NULL && (*array)->type.slots == slots))
        return;
    const layout_extent *cells = expand_axis_steps(state, expand_reduce_axis(reduce));
    base_dtype dtype = ir_monoid_state(reduce->attributes.monoid, reduce->operands[0]->type.dtype);
    if (expand_zero_has_keys(reduce))
        dtype = BASE_I32;
    *array = expand_declare_cells(state, ir_build_dtype(&state->builder, dtype), slots, cells,
                                  reduce->results[0]->name);
}

/* ---- pieces of a step ---- */

/* The piece that is expanded; NULL: a whole step. *parts: pieces of its kind in a step. */
static const expand_piece *piece_of(const expand_state *state, const expand_place *place,
                                    const ir_op *reduce, int64_t *parts) {
    int number = expand_reduce_axis(reduce);
    const expand_axis *axis = &state->axis[number];
    if (axis->digits == NULL || axis->piece_count == 0)
        return NULL;
    const expand_piece *piece = &axis->pieces[place->piece];
    *parts = layout_axis_chunk(&state->module->axes[number].digits) / piece->chunk;
    return *parts > 1 || piece->slots < whole_slots(state, number) ? piece : NULL;
}

ir_value *expand_order_piece(expand_state *state, const expand_place *place, const ir_op *reduce,
                             ir_value *value) {
    ir_builder *b = &state->builder;
    int64_t parts = 1;
    const expand_piece *piece = piece_of(state, place, reduce, &parts);
    if (piece == NULL)
        return value;
    int whole = whole_slots(state, expand_reduce_axis(reduce));
    bool anywhere = place->count != NULL && piece->rest == 0; /* behind what the run has in full */
    int64_t first = anywhere ? 0 : piece->first % parts * (whole / parts);
    int64_t *from = BASE_NEW_ARRAY(state->module->arena, int64_t, whole);
    for (int i = 0; i < whole; i++)
        from[i] = anywhere                                 ? i % piece->slots
                  : i >= first && i < first + piece->slots ? i - first
                                                           : 0;
    value = expand_splat(state, value, piece->slots);
    ir_type type = ir_type_slots(value->type.dtype, whole);
    ir_op *op = ir_build_op(b, IR_RENAME, 1, &value, 1, &type, 0);
    op->attributes.slots = (ir_list){.count = whole, .items = from};
    ir_affine slots = ir_affine_of(0, 1);
    ir_value *slot = expand_iota(state, &slots, whole), *begin = integer(state, first);
    ir_value *end = integer(state, first + piece->slots);
    if (anywhere) {
        begin = binary(state, IR_MUL, place->cells_from, end);
        end = binary(state, IR_ADD, begin, end);
    }
    ir_value *own = binary(state, IR_LT, slot, end);
    if (anywhere || first > 0)
        own = binary(state, IR_AND, own, binary(state, IR_LE, begin, slot));
    return ir_build_select(b, own, op->results[0], expand_reduce_identity(state, reduce));
}

/* The cell is that of the whole step; what an earlier piece of it left there is joined. */
void expand_order_keep(expand_state *state, const expand_place *place, const ir_op *reduce,
                       ir_value *value) {
    int number = expand_reduce_axis(reduce);
    ir_value *array = state->array[reduce->results[0]->number];
    ir_value *cell = place->step[number];
    ir_value *other = expand_splat(state, expand_reduce_identity(state, reduce), array->type.slots);
    int64_t parts = 1;
    const expand_piece *piece = piece_of(state, place, reduce, &parts);
    if (piece != NULL)
        cell = integer(state, piece->first / parts);
    if (piece != NULL && place->piece > 0 &&
        piece[-1].chunk < layout_axis_chunk(&state->module->axes[number].digits))
        other = expand_pull(state, array, cell);
    expand_push(state, array, cell, expand_reduce_join(state, reduce, other, value));
}

/* ---- loops over the array ---- */
typedef struct array_loop {
    ir_op *op;
    ir_region *outer;
} array_loop;

/* A loop from 0 to `end`; *index and *carry (NULL: none) become those of its body. */
static array_loop open_loop(expand_state *state, ir_value *end, ir_value **index,
                            ir_value **carry) {
    ir_value *operands[4] = {integer(state, 0), end, integer(state, 1)};
    int carries = carry != NULL;
    if (carries)
        operands[3] = *carry;
    ir_op *op = ir_build_op(&state->builder, IR_FOR, 3 + carries, operands, carries,
                            carries ? &operands[3]->type : NULL, 1);
    array_loop loop = {.op = op, .outer = state->builder.region};
    state->builder.region = op->regions[0];
    *index = ir_region_add_argument(state->module, op->regions[0], ir_type_uniform(BASE_I64), NULL);
    if (carries)
        *carry = ir_region_add_argument(state->module, op->regions[0], (*carry)->type, NULL);
    return loop;
}

static ir_value *close_loop(expand_state *state, array_loop loop, ir_value *carry) {
    ir_build_yield(&state->builder, carry != NULL, &carry);
    state->builder.region = loop.outer;
    return carry != NULL ? loop.op->results[0] : NULL;
}

/* How many cells have been filled: the steps of the sweep. */
static ir_value *count_cells(expand_state *state, const ir_op *reduce) {
    int axis = expand_reduce_axis(reduce);
    bool found = false;
    ir_value *domain = expand_common_domain(reduce->parent->owner, axis, &found);
    ir_value *bound = domain != NULL
                          ? state->value[domain->number]
                          : ir_build_size(&state->builder, state->module->axes[axis].extent);
    int64_t chunk = state->axis[axis].chunk;
    if (chunk == 1)
        return bound;
    ir_value *divisor = integer(state, chunk);
    ir_value *sum = binary(state, IR_ADD, bound, integer(state, chunk - 1));
    return binary(state, IR_FLOOR_DIV, sum, divisor);
}

/* The least l with 2^l >= the steps of the axis. Of an extent that is known when the kernel runs:
 * as many as memory has room for; levels above the array's join nothing. */
static int64_t count_levels(expand_state *state, const ir_op *reduce) {
    int64_t steps = 0, levels = 0;
    if (!layout_extent_known(&state->module->extents,
                             expand_axis_steps(state, expand_reduce_axis(reduce)), &steps))
        return MOST_LEVELS;
    while (levels < MOST_LEVELS && (INT64_C(1) << levels) < steps)
        levels++;
    return levels;
}

static void halve_array(expand_state *state, const ir_op *reduce, ir_value *array,
                        ir_value *count) {
    int64_t levels = count_levels(state, reduce);
    ir_value *level = NULL, *cell = NULL;
    array_loop outer = open_loop(state, integer(state, levels), &level, NULL);
    ir_value *bits = binary(state, IR_SUB, integer(state, levels - 1), level);
    ir_value *half = binary(state, IR_SHL, integer(state, 1), bits);
    ir_value *pairs = binary(state, IR_MINIMUM, half, binary(state, IR_SUB, count, half));
    array_loop inner = open_loop(state, pairs, &cell, NULL);
    ir_value *lower = expand_pull(state, array, cell);
    ir_value *upper = expand_pull(state, array, binary(state, IR_ADD, cell, half));
    expand_push(state, array, cell, expand_reduce_join(state, reduce, lower, upper));
    close_loop(state, inner, NULL);
    close_loop(state, outer, NULL);
}

/* The state of all cells; the identity where there is none. */
ir_value *expand_order_array(expand_state *state, const ir_op *reduce, ir_value *carry) {
    ir_value *array = state->array[reduce->results[0]->number];
    ir_value *count = count_cells(state, reduce), *index = NULL;
    bool backwards = reduce->attributes.order == IR_ORDER_RIGHT;
    if (!backwards)
        halve_array(state, reduce, array, count);
    ir_value *one = integer(state, 1);
    array_loop loop =
        open_loop(state, backwards ? count : binary(state, IR_MINIMUM, count, one), &index, &carry);
    if (backwards) {
        ir_value *last = binary(state, IR_SUB, count, one);
        ir_value *element = expand_pull(state, array, binary(state, IR_SUB, last, index));
        carry = expand_reduce_join(state, reduce, element, carry);
    } else {
        carry = expand_pull(state, array, index);
    }
    return close_loop(state, loop, carry);
}
