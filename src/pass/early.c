/* early: level thread. Loads that the plan calls early are issued before anything waits, and the
 * loads of a shifted row, which is in pieces with guards between them, before one of them waits.
 *
 *     %t = load %x[%row, lane*4 + slot*1] : f32(4)        %t = load %x[..] : f32(4)
 *     %u = mul %t, %t : f32(4)                            %w = load %w[lane*4 + slot*1] early : ..
 *     %f = fold sum %u                                ->  %u = mul %t, %t : f32(4)
 *     %s = combine sum %f                                 %f = fold sum %u
 *     %w = load %w[lane*4 + slot*1] early : f32(4)        %s = combine sum %f
 *
 * All of them go, with the arithmetic of their indices and masks, to just before the first op that
 * uses what a load found; loads that stand before the first exchange of lanes go there too. Those
 * whose place is known by numbers alone stand first, then those that one load leads to, as a label
 * does to its element, then those behind two. Each such rank waits for the one before, when all of
 * that is on its way.
 *
 * Only pure ops and loads of tensors that nothing writes move, so that no order of memory changes,
 * and all of them stand in the body of the kernel, which runs once. What cannot go stays. */
#include "pass/pass.h"

typedef struct early_state {
    ir_module *module;
    ir_region *body;
    int *rank;    /* by value number: loads one behind the other on the way to it; < 0: it waits */
    bool *needed; /* by value number: by an op that moves */
    ir_op *use;   /* the first op that uses what a load found; ops move before it */
    int most;     /* the highest rank of a load that moves */
    ir_op **moving;
    int64_t count, capacity; /* of those of one rank, last one first */
    bool changed;
} early_state;

enum { WAITS = -1 };

static bool is_only_read(const ir_module *module, const ir_value *tensor) {
    int parameter = ir_module_parameter_of(module, tensor);
    return parameter >= 0 && module->parameters[parameter].mode == IR_IN;
}

/* Lanes meet, or control divides. */
static bool is_exchange(const ir_op *op) {
    return op->opcode == IR_COMBINE || op->opcode == IR_SHUFFLE || op->opcode == IR_PUT ||
           op->opcode == IR_GET || op->opcode == IR_SYNC || op->region_count > 0;
}

static bool may_move(const early_state *s, const ir_op *op) {
    if (op->opcode == IR_LOAD)
        return is_only_read(s->module, op->operands[0]);
    return ir_op_describe(op->opcode)->pure && !is_exchange(op);
}

/* ---- ranks ---- */

/* Of what the op uses: the highest rank. */
static int rank_of_operands(const early_state *s, const ir_op *op) {
    int most = 0;
    for (int i = 0; i < op->operand_count; i++) {
        int rank = s->rank[op->operands[i]->number];
        if (rank < 0)
            return WAITS;
        most = rank > most ? rank : most;
    }
    return most;
}

static bool uses_load(const early_state *s, const ir_op *op) {
    for (int i = 0; i < op->operand_count; i++)
        if (s->rank[op->operands[i]->number] > 0)
            return true;
    return op->region_count > 0;
}

/* Loads that go have their rank, other results WAITS or the rank of what they are made of. */
static void rank_body(early_state *s) {
    bool before = true;
    for (ir_op *op = s->body->first; op != NULL; op = op->next) {
        before = before && !is_exchange(op);
        if (s->use == NULL && uses_load(s, op))
            s->use = op;
        int rank = may_move(s, op) ? rank_of_operands(s, op) : WAITS;
        bool goes = op->opcode != IR_LOAD || before || op->attributes.access->early;
        if (op->opcode == IR_LOAD && rank >= 0)
            rank = goes ? rank + 1 : WAITS;
        if (op->opcode == IR_LOAD)
            s->most = rank > s->most ? rank : s->most;
        for (int i = 0; i < op->result_count; i++)
            s->rank[op->results[i]->number] = rank;
    }
}

/* ---- moving ---- */

static bool is_needed(const early_state *s, const ir_op *op) {
    for (int i = 0; i < op->result_count; i++)
        if (s->needed[op->results[i]->number])
            return true;
    return false;
}

/* From the first use on: loads of the rank, and what they need. */
static void collect(early_state *s, int rank) {
    s->count = 0;
    for (ir_op *op = s->body->last;; op = op->previous) {
        bool load = op->opcode == IR_LOAD && s->rank[op->results[0]->number] == rank;
        if (load || is_needed(s, op)) {
            for (int i = 0; i < op->operand_count; i++)
                s->needed[op->operands[i]->number] = true;
            BASE_PUSH(s->module->arena, s->moving, s->count, s->capacity, op);
        }
        if (op == s->use)
            return;
    }
}

static void move(early_state *s, int rank) {
    collect(s, rank);
    int64_t left = s->count;
    while (left > 0 && s->use == s->moving[left - 1]) { /* they stand here already */
        s->use = s->use->next;
        left--;
    }
    while (left > 0) {
        ir_op *op = s->moving[--left];
        ir_op_remove(op);
        ir_op_insert_before(s->use, op);
        s->changed = true;
    }
}

/* ---- what is asked for ---- */

static bool find_early(void *pointer, ir_op *op) {
    bool *some = pointer;
    *some = *some || (op->opcode == IR_LOAD && op->attributes.access->early);
    return true;
}

pass_result pass_early(ir_module *module, pass_context *context) {
    (void)context;
    bool some = false;
    for (int i = 0; i < module->axis_count; i++)
        some = some || module->axes[i].digits.shift != NULL;
    ir_region_walk(&module->body, find_early, &some);
    if (!some)
        return PASS_SAME;
    early_state state = {.module = module, .body = &module->body};
    state.rank = BASE_NEW_ARRAY(module->arena, int, module->next_value);
    state.needed = BASE_NEW_ARRAY(module->arena, bool, module->next_value);
    rank_body(&state);
    for (int rank = 1; rank <= state.most && state.use != NULL; rank++)
        move(&state, rank);
    return state.changed ? PASS_CHANGED : PASS_SAME;
}
