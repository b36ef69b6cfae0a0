/* Tokens of scratch arrays: token-linear, token-state, token-end.
 *
 *     %s, %f = scratch 8 : scratch f32[8], token free
 *     %w = put %s[subgroup*1], %m, %f : token written %s          uses %f up
 *     %p = sync group %w : token published %s                     uses %w up
 *     %a = get %s[slot*1], %p : f32(8)                            looks at %p
 *     %r = sync group %p : token free %s                          uses %p up
 *
 * A token stands for the one right to go on with its array. Every op that takes it gives the next
 * one, so that used up at most once on every path means: one order of puts, syncs and gets. Between
 * which lanes these syncs stand is not asked here (hazard.c).
 */
#include "verify/verify_internal.h"

#include "ir/print.h"

enum { WORK = 1 << 22 }; /* ops that are looked at for uses of tokens whose arrays others reach */

typedef struct token_walk {
    verify_state *state;
    bool *used;     /* by number: on some path to here */
    int32_t *depth; /* by number: loops around the definition */
    int32_t loops;  /* around the walk */
    int32_t *trail; /* numbers of what was used up, in order */
    int64_t trail_count, trail_capacity;
    int64_t work;
    bool *reached;   /* by number of an array: another block puts to it ... */
    bool *read_from; /* ... or gets from it */
} token_walk;

static bool is_token(const ir_value *value) {
    return value->type.form == IR_FORM_TOKEN;
}

/* ---- used up at most once ---- */
static void use_up(token_walk *w, const ir_op *op, const ir_value *token) {
    if (!is_token(token))
        return;
    if (w->used[token->number])
        verify_report(w->state, VERIFY_TOKEN_LINEAR, op, "the token that the last op gave",
                      "a token is used up that was used up before");
    else if (w->depth[token->number] < w->loops)
        verify_report(w->state, VERIFY_TOKEN_LINEAR, op, "a token that the loop carries",
                      "each iteration uses up one token from outside");
    w->used[token->number] = true;
    BASE_PUSH(w->state->diagnostics->arena, w->trail, w->trail_count, w->trail_capacity,
              token->number);
}

static void look_at(token_walk *w, const ir_op *op, const ir_value *token) {
    if (is_token(token) && w->used[token->number])
        verify_report(w->state, VERIFY_TOKEN_LINEAR, op, "the token that the last op gave",
                      "a token is looked at that was used up before");
}

static bool gives_tokens(ir_opcode opcode) {
    return opcode == IR_SCRATCH || opcode == IR_PUT || opcode == IR_SYNC || opcode == IR_FOR ||
           opcode == IR_IF;
}

static void rule_token_linear(token_walk *w, const ir_op *op) {
    bool carries = op->opcode == IR_FOR || op->opcode == IR_YIELD;
    for (int i = 0; i < op->operand_count; i++) {
        if (op->opcode == IR_GET)
            look_at(w, op, op->operands[i]);
        else if (carries || op->opcode == IR_PUT || op->opcode == IR_SYNC)
            use_up(w, op, op->operands[i]);
        else if (is_token(op->operands[i]))
            verify_report(w->state, VERIFY_TOKEN_LINEAR, op, "put, get, sync, or a carry",
                          "`%s` takes a token", ir_op_describe(op->opcode)->text);
    }
    for (int i = 0; i < op->result_count; i++) {
        w->depth[op->results[i]->number] = w->loops;
        if (is_token(op->results[i]) && !gives_tokens(op->opcode))
            verify_report(w->state, VERIFY_TOKEN_LINEAR, op, "scratch, put, sync, for or if",
                          "`%s` gives a token", ir_op_describe(op->opcode)->text);
    }
}

/* ---- array and state ---- */
static bool is_of(const ir_value *token, const ir_value *array, ir_token_state state) {
    return is_token(token) && token->type.scratch == array && token->type.state == state;
}

static bool same_token_type(const ir_value *a, const ir_value *b) {
    return is_token(a) == is_token(b) && (!is_token(a) || is_of(a, b->type.scratch, b->type.state));
}

/* A free token may go on in any state: that asks for more syncs before the next put, never for
 * fewer, and that no get finds cells which nobody put is the business of hazard-unwritten. */
static bool goes_on_as(const ir_value *from, const ir_value *to) {
    bool weaker = is_token(from) && is_token(to) && from->type.scratch == to->type.scratch &&
                  from->type.state == IR_TOKEN_FREE;
    return weaker || same_token_type(from, to);
}

static bool put_state_holds(verify_state *state, const ir_op *op) {
    const ir_value *array = op->operands[0], *token = ir_op_token(op);
    return is_token(token) && token->type.scratch == array &&
           is_of(op->results[0], array, IR_TOKEN_WRITTEN) && verify_token_again_holds(state, op);
}

static bool sync_state_holds(const ir_op *op) {
    for (int i = 0; i < op->operand_count; i++) {
        const ir_value *token = op->operands[i];
        if (!is_token(token) || token->type.state == IR_TOKEN_FREE ||
            !is_of(op->results[i], token->type.scratch,
                   token->type.state == IR_TOKEN_WRITTEN ? IR_TOKEN_PUBLISHED : IR_TOKEN_FREE))
            return false;
    }
    return true;
}

/* Each way in and out that there is: into the body from before and, unless it runs once, from its
 * end; out of it from its end and, unless it runs for certain, from before. */
static bool looped_state_holds(const ir_op *op) {
    const ir_op *yield = ir_region_yield(op->regions[0]);
    bool once = false, runs = verify_loop_runs(op, &once);
    for (int i = 0; i < op->result_count; i++) {
        const ir_value *before = op->operands[3 + i], *result = op->results[i];
        const ir_value *argument = op->regions[0]->arguments[1 + i];
        if (i >= yield->operand_count || !goes_on_as(yield->operands[i], result) ||
            !goes_on_as(before, argument) || (!runs && !goes_on_as(before, result)) ||
            (!once && !goes_on_as(yield->operands[i], argument)))
            return false;
    }
    return true;
}

static bool merged_state_holds(const ir_op *op) {
    for (int i = 0; i < op->result_count; i++)
        for (int k = 0; k < op->region_count; k++) {
            const ir_op *yield = ir_region_yield(op->regions[k]);
            if (i >= yield->operand_count || !goes_on_as(yield->operands[i], op->results[i]))
                return false;
        }
    return true;
}

/* A put or get of the right array is told the state of the token that it takes. */
static void report_state(verify_state *state, const ir_op *op, const char *expected) {
    const char *name = ir_op_describe(op->opcode)->text;
    bool access = op->opcode == IR_PUT || op->opcode == IR_GET;
    const ir_value *token = access ? ir_op_token(op) : NULL;
    bool own = access && is_token(token) && token->type.scratch == op->operands[0];
    bool given =
        own && (op->opcode == IR_GET || is_of(op->results[0], op->operands[0], IR_TOKEN_WRITTEN));
    if (given)
        verify_report(state, VERIFY_TOKEN_STATE, op, expected, "`%s` takes a token that is %s",
                      name, ir_token_state_name(token->type.state));
    else
        verify_report(state, VERIFY_TOKEN_STATE, op, expected,
                      "a token of `%s` is of another array or state", name);
}

static void rule_token_state(verify_state *state, const ir_op *op) {
    bool holds = true;
    const char *expected = NULL;
    if (op->opcode == IR_SCRATCH) {
        holds = is_of(op->results[1], op->results[0], IR_TOKEN_FREE);
        expected = "a free token of this array";
    } else if (op->opcode == IR_PUT) {
        holds = put_state_holds(state, op);
        expected =
            "a free or written token of the array, given back written; a published one where "
            "each lane puts no cells but those that it alone got";
    } else if (op->opcode == IR_GET) {
        holds = is_of(ir_op_token(op), op->operands[0], IR_TOKEN_PUBLISHED);
        expected = "a published token of the array: what a sync makes of a written one";
    } else if (op->opcode == IR_SYNC) {
        holds = sync_state_holds(op);
        expected = "written tokens, given back published, or published ones, given back free";
    } else if (op->opcode == IR_FOR || op->opcode == IR_IF) {
        holds = op->opcode == IR_FOR ? looped_state_holds(op) : merged_state_holds(op);
        expected = "one state at the beginning, in the region, at its end and after it";
    }
    if (!holds)
        report_state(state, op, expected);
}

/* ---- the end ---- */
/* Every path through the rest of the region uses the token up. */
static bool always_used(token_walk *w, const ir_op *from, const ir_value *token) {
    for (const ir_op *op = from; op != NULL && w->work-- > 0; op = op->next) {
        for (int i = 0; i < op->operand_count; i++)
            if (op->operands[i] == token && op->opcode != IR_GET)
                return true;
        if (op->opcode == IR_IF && always_used(w, op->regions[0]->first, token) &&
            always_used(w, op->regions[1]->first, token))
            return true;
    }
    return false;
}

static void check_end(token_walk *w, const ir_op *op, const ir_value *token, const ir_op *from) {
    if (!is_token(token))
        return;
    const ir_value *array = token->type.scratch;
    bool written = token->type.state == IR_TOKEN_WRITTEN && w->reached[array->number];
    bool read = token->type.state == IR_TOKEN_PUBLISHED && w->read_from[array->number];
    if ((written || read) && !always_used(w, from, token))
        verify_report(w->state, VERIFY_TOKEN_END, op, "a sync that takes the token, on every path",
                      "the kernel may end while another block %s the array",
                      written ? "puts to" : "gets from");
}

static void note_remote(token_walk *w, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        bool access = op->opcode == IR_PUT || op->opcode == IR_GET;
        if (access && op->attributes.access->block > 0)
            (op->opcode == IR_PUT ? w->reached : w->read_from)[op->operands[0]->number] = true;
        for (int k = 0; k < op->region_count; k++)
            note_remote(w, op->regions[k]);
    }
}

/* ---- walk ---- */
static void walk_region(token_walk *w, const ir_op *owner, const ir_region *region);

/* What one branch uses up the other one may use too; after them it is used up. */
static void walk_branches(token_walk *w, const ir_op *op) {
    int64_t start = w->trail_count;
    walk_region(w, op, op->regions[0]);
    int64_t end = w->trail_count;
    for (int64_t i = start; i < end; i++)
        w->used[w->trail[i]] = false;
    walk_region(w, op, op->regions[1]);
    for (int64_t i = start; i < end; i++)
        w->used[w->trail[i]] = true;
}

static void walk_op(token_walk *w, const ir_op *op) {
    rule_token_state(w->state, op);
    rule_token_linear(w, op);
    for (int i = 0; i < op->result_count; i++)
        check_end(w, op, op->results[i], op->next);
    if (op->opcode == IR_IF) {
        walk_branches(w, op);
        return;
    }
    w->loops += op->opcode == IR_FOR;
    for (int k = 0; k < op->region_count; k++)
        walk_region(w, op, op->regions[k]);
    w->loops -= op->opcode == IR_FOR;
}

static void walk_region(token_walk *w, const ir_op *owner, const ir_region *region) {
    for (int i = 0; i < region->argument_count; i++) {
        w->depth[region->arguments[i]->number] = w->loops;
        check_end(w, owner, region->arguments[i], region->first);
    }
    for (const ir_op *op = region->first; op != NULL; op = op->next)
        walk_op(w, op);
}

void verify_tokens(verify_state *state) {
    base_arena *arena = state->diagnostics->arena;
    int64_t values = state->module->next_value + 1;
    token_walk w = {.state = state, .work = WORK};
    if (!verify_region_is_formed(state, &state->module->body))
        return;
    w.used = BASE_NEW_ARRAY(arena, bool, values);
    w.depth = BASE_NEW_ARRAY(arena, int32_t, values);
    w.reached = BASE_NEW_ARRAY(arena, bool, values);
    w.read_from = BASE_NEW_ARRAY(arena, bool, values);
    note_remote(&w, &state->module->body);
    walk_region(&w, NULL, &state->module->body);
}
