/* What loads find: repeated-load, output-load. Levels tile and mapped.
 *
 *     sweep { %a = load %x[%row, : N] !x.0 .. }     sweep { .. store %y[%row, : N], %e }
 *     sweep { store %x[%row, : N], %z }             sweep { %e.1 = load %y[%row, : N] .. }
 *     sweep { %b = load %x[%row, : N] !x.0 .. }     what waits in an output
 *             %b is not %a: refused
 *
 * A load repeats another when it has its anchor, or has none and reads the same elements. Anchors
 * are believed: two loads of the kernel are two anchors.
 */
#include "verify/verify_internal.h"

#include <string.h>

enum { NESTED_ROUNDS = 6 };

static bool is_formed(const verify_state *state, const ir_op *op, ir_opcode opcode) {
    return op->opcode == opcode && verify_op_is_formed(state, op);
}

/* ---- the same elements ---- */
static const ir_value *operand_of(const ir_op *op, int operand) {
    return operand >= 0 ? op->operands[operand] : NULL;
}

static bool same_index(const verify_state *state, const ir_op *a, const ir_op *b, int i) {
    const ir_index *x = &a->attributes.access->index[i], *y = &b->attributes.access->index[i];
    bool length = x->kind != IR_INDEX_RANGE || verify_extent_equal(state, x->length, y->length);
    return x->kind == y->kind && length &&
           verify_same_or_loaded_alike(state, operand_of(a, x->operand), operand_of(b, y->operand));
}

static bool same_indices(const verify_state *state, const ir_op *a, const ir_op *b) {
    if (a->operands[0] != b->operands[0])
        return false;
    for (int i = 0; i < a->attributes.access->rank; i++)
        if (!same_index(state, a, b, i))
            return false;
    return true;
}

static bool same_load(const verify_state *state, const ir_op *a, const ir_op *b) {
    return same_indices(state, a, b) &&
           verify_same_or_loaded_alike(state, operand_of(a, a->attributes.access->fill),
                                       operand_of(b, b->attributes.access->fill)) &&
           verify_types_agree(state, &a->results[0]->type, &b->results[0]->type);
}

static bool tensor_is_out(const verify_state *state, const ir_value *tensor) {
    for (int i = 0; i < state->module->parameter_count; i++)
        if (state->module->parameters[i].value == tensor)
            return state->module->parameters[i].mode == IR_OUT;
    return false;
}

/* ---- loads that are repeated ---- */
typedef struct load_record {
    const ir_op *original; /* the first load of its anchor */
    bool stale;            /* its tensor has been stored to since it ran */
} load_record;

typedef struct load_records {
    load_record *items;
    int64_t count, capacity;
} load_records;

static load_record *find_record(const verify_state *state, load_records *records,
                                const ir_op *load) {
    for (int64_t i = 0; i < records->count; i++) {
        const ir_op *original = records->items[i].original;
        bool anchors = load->anchor != NULL && original->anchor != NULL;
        if (anchors ? strcmp(original->anchor, load->anchor) == 0
                    : same_load(state, original, load))
            return &records->items[i];
    }
    return NULL;
}

static void visit_load(verify_state *state, load_records *records, const ir_op *load) {
    if (tensor_is_out(state, load->operands[0]))
        return; /* output-load */
    load_record *record = find_record(state, records, load);
    if (record == NULL) {
        load_record fresh = {.original = load};
        BASE_PUSH(state->diagnostics->arena, records->items, records->count, records->capacity,
                  fresh);
    } else if (record->original == load) {
        record->stale = false;
    } else if (record->stale) {
        record->stale = false; /* one finding for it */
        verify_report(state, VERIFY_REPEATED_LOAD, load, "no store to the tensor in between",
                      "a load is repeated after its tensor was stored to");
    } else if (!same_load(state, record->original, load)) {
        verify_report(state, VERIFY_REPEATED_LOAD, load,
                      "the tensor, indices and type of the first",
                      "two loads of anchor %s read different elements", load->anchor);
    }
}

/* A loop is walked twice, so that its second round sees the stores of the first; not more than
 * NESTED_ROUNDS loops deep. */
static void rule_repeated_load(verify_state *state, load_records *records, const ir_region *region,
                               int depth) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (is_formed(state, op, IR_LOAD))
            visit_load(state, records, op);
        for (int64_t i = 0; is_formed(state, op, IR_STORE) && i < records->count; i++)
            if (records->items[i].original->operands[0] == op->operands[0])
                records->items[i].stale = true;
        bool loop = op->opcode == IR_FOR;
        for (int round = 0; round < (loop && depth < NESTED_ROUNDS ? 2 : 1); round++)
            for (int i = 0; i < op->region_count; i++)
                rule_repeated_load(state, records, op->regions[i], depth + loop);
    }
}

/* ---- outputs that are read ---- */
/* The store writes every cell that the load reads, each by the lane that reads it. */
static bool store_serves(const verify_state *state, const ir_op *store, const ir_op *load) {
    const ir_value *read = load->results[0];
    if (!is_formed(state, store, IR_STORE))
        return false;
    const ir_value *stored = store->operands[store->operand_count - 1];
    if (!same_indices(state, store, load) || !verify_types_agree(state, &stored->type, &read->type))
        return false;
    for (int i = 0; i < load->attributes.access->rank; i++)
        if (load->attributes.access->index[i].kind == IR_INDEX_GATHER)
            return false;
    for (int i = 0; i < read->type.rank; i++)
        if (stored->layout.axis[i] != read->layout.axis[i])
            return false;
    return true;
}

/* A store that serves stands before the op, in its region or in a sweep of it. */
static bool served_before(const verify_state *state, const ir_op *op, const ir_op *load) {
    for (const ir_op *before = op->previous; before != NULL; before = before->previous) {
        if (store_serves(state, before, load))
            return true;
        if (!is_formed(state, before, IR_SWEEP))
            continue;
        for (const ir_op *inner = before->regions[0]->first; inner != NULL; inner = inner->next)
            if (store_serves(state, inner, load))
                return true;
    }
    return false;
}

static void rule_output_load(verify_state *state, const ir_op *op) {
    if (!is_formed(state, op, IR_LOAD) || !tensor_is_out(state, op->operands[0]))
        return;
    const ir_op *owner = op->parent != NULL ? op->parent->owner : NULL;
    bool served = state->module->level == IR_MAPPED &&
                  (served_before(state, op, op) ||
                   (owner != NULL && owner->opcode == IR_SWEEP && served_before(state, owner, op)));
    if (!served)
        verify_report(state, VERIFY_OUTPUT_LOAD, op,
                      "level mapped, and a store of these elements from this layout before",
                      "an out tensor is read where nothing has stored");
}

void verify_loads(verify_state *state) {
    load_records records = {0};
    if (state->module->level == IR_MAPPED)
        rule_repeated_load(state, &records, &state->module->body, 0);
    verify_walk(state, &state->module->body, rule_output_load);
}
