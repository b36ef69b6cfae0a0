/* Puts into an array that may have been read since it was published: rule token-state.
 *
 *     %p = sync group %w : token published %s
 *     %a = get %s[lane*4 + slot*1], %p : f32(4)        lane 3 reads cells 12 .. 15
 *     %u = put %s[lane*4 + slot*1], %b, %p             and writes them: it waits for nobody
 *
 * The token goes back, through loops and branches, to the syncs that published the array; the gets
 * that looked at it on the way are those whose cells must not be put by another lane. Where this
 * does not show from lane, subgroup and slot alone, a sync has to give the token back free.
 */
#include "verify/hazard_internal.h"

enum { NOBODY = -1, SEVERAL = -2, MOST_TOKENS = 1 << 12 };

typedef struct again {
    hazards h; /* numbers only */
    verify_state *state;
    bool *visited;   /* by number: a token that comes before the put's */
    bool published;  /* one of them is */
    int64_t left;    /* tokens that may still be visited */
    int32_t *reader; /* by cell: the thread that got it */
    int64_t cells;
} again;

bool verify_loop_runs(const ir_op *loop, bool *once) {
    int64_t bound[3] = {0};
    bool known[3];
    for (int i = 0; i < 3; i++) {
        const ir_op *op = loop->operands[i]->definer;
        known[i] = op != NULL && op->opcode == IR_CONSTANT;
        bound[i] = known[i] ? op->attributes.constant.integer : 0;
    }
    bool runs = known[0] && known[1] && bound[0] < bound[1];
    *once = runs && known[2] && bound[2] > 0 &&
            (uint64_t)bound[1] - (uint64_t)bound[0] <= (uint64_t)bound[2];
    return runs;
}

/* ---- back to where it was published ---- */
static void visit(again *a, const ir_value *token);

static int place_among(ir_value *const *values, int count, const ir_value *value) {
    for (int i = 0; i < count; i++)
        if (values[i] == value)
            return i;
    return -1;
}

static void visit_yield(again *a, const ir_region *region, int at) {
    const ir_op *yield = ir_region_yield(region);
    if (yield != NULL && at >= 0 && at < yield->operand_count)
        visit(a, yield->operands[at]);
}

static void visit_start(again *a, const ir_op *loop, int at) {
    if (at >= 0 && 3 + at < loop->operand_count)
        visit(a, loop->operands[3 + at]);
}

static void visit_argument(again *a, const ir_value *token) {
    const ir_op *loop = token->region != NULL ? token->region->owner : NULL;
    bool once = false;
    if (loop == NULL || loop->opcode != IR_FOR)
        return;
    verify_loop_runs(loop, &once);
    int at = place_among(token->region->arguments, token->region->argument_count, token) - 1;
    visit_start(a, loop, at);
    if (!once)
        visit_yield(a, token->region, at);
}

static void visit(again *a, const ir_value *token) {
    bool once = false;
    if (token->type.form != IR_FORM_TOKEN || token->type.state == IR_TOKEN_FREE ||
        a->visited[token->number] || --a->left < 0)
        return;
    a->visited[token->number] = true;
    a->published = a->published || token->type.state == IR_TOKEN_PUBLISHED;
    const ir_op *op = token->definer;
    if (op == NULL) {
        visit_argument(a, token);
        return;
    }
    int at = place_among(op->results, op->result_count, token);
    if (op->opcode == IR_PUT)
        visit(a, ir_op_token(op));
    for (int k = 0; k < op->region_count; k++)
        visit_yield(a, op->regions[k], at);
    if (op->opcode == IR_FOR && !verify_loop_runs(op, &once))
        visit_start(a, op, at);
}

/* ---- cells ---- */
typedef struct cells {
    hazard_table at, part[2]; /* an affine form, and what stands beside it */
    hazard_table mask, count;
    bool is_range;
    int slots;
} cells;

static bool cells_of(again *a, const ir_op *op, cells *c) {
    const ir_access *access = op->attributes.access;
    const ir_index *index = &access->index[0];
    const ir_value *value = op->opcode == IR_PUT ? ir_op_stored(op) : op->results[0];
    *c = (cells){.slots = ir_type_slot_count(&value->type)};
    const int parts[2] = {index->operand, index->vector};
    c->at = hazard_affine(&a->h, &index->affine, c->slots);
    bool known = c->at.known && access->block <= 0;
    for (int i = 0; i < 2; i++) {
        if (parts[i] < 0)
            continue;
        c->part[i] = hazard_value(&a->h, op->operands[parts[i]]);
        known = known && c->part[i].known && c->part[i].base == NULL;
    }
    if (access->mask_kind != IR_MASK_NONE)
        c->mask = hazard_value(&a->h, op->operands[access->mask]);
    c->is_range = access->mask_kind == IR_MASK_RANGE;
    if (c->is_range)
        c->count = hazard_affine(&a->h, &access->mask_affine, c->slots);
    c->mask.known = c->mask.known && c->mask.base == NULL && (!c->is_range || c->count.known);
    return known;
}

/* The cell of a position; -1 where it takes no part or is outside. */
static int64_t cell_at(const again *a, const cells *c, int thread, int slot) {
    uint64_t cell = (uint64_t)hazard_number(&c->at, 0, thread, slot);
    for (int i = 0; i < 2; i++)
        if (c->part[i].known)
            cell += (uint64_t)hazard_number(&c->part[i], 0, thread, slot);
    if (c->mask.known) {
        int64_t mask = hazard_number(&c->mask, 0, thread, slot);
        if (c->is_range ? hazard_number(&c->count, 0, thread, slot) >= mask : mask == 0)
            return -1;
    }
    return cell < (uint64_t)a->cells ? (int64_t)cell : -1;
}

static bool note_reader(again *a, const ir_op *get) {
    cells c;
    if (!cells_of(a, get, &c))
        return false;
    for (int t = 0; t < a->h.lanes; t++)
        for (int slot = 0; slot < c.slots; slot++) {
            int64_t cell = cell_at(a, &c, t, slot);
            if (cell >= 0)
                a->reader[cell] = a->reader[cell] == NOBODY || a->reader[cell] == t ? t : SEVERAL;
        }
    return true;
}

static bool note_readers(again *a, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == IR_GET && a->visited[ir_op_token(op)->number] && !note_reader(a, op))
            return false;
        for (int k = 0; k < op->region_count; k++)
            if (!note_readers(a, op->regions[k]))
                return false;
    }
    return true;
}

static bool puts_own_cells(again *a, const ir_op *put) {
    cells c;
    if (!cells_of(a, put, &c))
        return false;
    for (int t = 0; t < a->h.lanes; t++)
        for (int slot = 0; slot < c.slots; slot++) {
            int64_t cell = cell_at(a, &c, t, slot);
            if (cell >= 0 && a->reader[cell] != NOBODY && a->reader[cell] != t)
                return false;
        }
    return true;
}

bool verify_token_again_holds(verify_state *state, const ir_op *put) {
    const ir_module *module = state->module;
    again a = {.state = state, .left = MOST_TOKENS};
    const ir_value *array = put->operands[0];
    if (array->type.form != IR_FORM_SCRATCH || ir_op_token(put)->type.state == IR_TOKEN_FREE)
        return true;
    a.visited = BASE_NEW_ARRAY(state->diagnostics->arena, bool, module->next_value + 1);
    visit(&a, ir_op_token(put));
    if (a.left >= 0 && !a.published)
        return true;
    bool known = a.left >= 0 && module->cluster <= 1 && hazard_begin(&a.h, state) &&
                 layout_extent_known(&module->extents, array->type.extent[0], &a.cells) &&
                 a.cells > 0 && a.cells <= HAZARD_MAX_CELLS;
    if (!known)
        return false;
    a.reader = BASE_NEW_ARRAY(state->diagnostics->arena, int32_t, a.cells);
    for (int64_t i = 0; i < a.cells; i++)
        a.reader[i] = NOBODY;
    return note_readers(&a, &module->body) && puts_own_cells(&a, put);
}
