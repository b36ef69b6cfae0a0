/* The module with the syncs that are chosen, and no others.
 *
 *     for .. (%c: token free %s) {            for .. (%c: token published %s) {
 *       %w = put %s[..], .., %c                 %f = sync group %c : token free %s
 *       %p = sync group %w               ==>    %w = put %s[..], .., %f
 *       %a = get %s[..], %p                     %p = sync group %w : token published %s
 *       %r = sync group %p                      %a = get %s[..], %p
 *       yield %r                                yield %p
 *     }                                       }
 *
 * Each sync takes the tokens that it changes. A loop or branch carries those of the arrays that it
 * puts to, or that a sync in it takes; one that runs for certain gives them back as its body leaves
 * them.
 */
#include "pass/syncs_internal.h"

typedef struct writer {
    syncs *s;
    ir_value **token; /* by array: here */
} writer;

static ir_type token_type(const writer *w, int array, uint8_t state) {
    ir_type type = w->s->arrays[array]->results[1]->type;
    type.state = (ir_token_state)state;
    return type;
}

/* ---- what is carried ---- */
static void note_carried(const syncs *s, const syncs_step *steps, uint8_t *carried) {
    for (const syncs_step *step = steps; step != NULL; step = step->following) {
        if (step->kind == SYNCS_ACCESS && s->accesses[step->access].writes &&
            !s->accesses[step->access].tensor)
            carried[s->accesses[step->access].array] = 1;
        for (int i = 0; step->kind == SYNCS_PLACE && i < s->array_count; i++)
            carried[i] |= step->taken[i] != 0;
        for (int k = 0; k < 2; k++)
            note_carried(s, step->inside[k], carried);
    }
}

/* ---- one op ---- */
static void write_sync(writer *w, const syncs_step *place) {
    syncs *s = w->s;
    int count = 0;
    if (place->scope == IR_SCOPE_NONE)
        return;
    ir_value **tokens = BASE_NEW_ARRAY(s->arena, ir_value *, s->array_count);
    ir_type *types = BASE_NEW_ARRAY(s->arena, ir_type, s->array_count);
    for (int i = 0; i < s->array_count; i++) {
        if (place->taken[i] == 0)
            continue;
        bool written = place->taken[i] - 1 == IR_TOKEN_WRITTEN;
        tokens[count] = w->token[i];
        types[count++] = token_type(w, i, written ? IR_TOKEN_PUBLISHED : IR_TOKEN_FREE);
    }
    ir_op *sync =
        ir_op_create(s->module, IR_SYNC, place->op->location, count, tokens, count, types, 0);
    sync->attributes.scope = place->scope;
    ir_op_insert_before(place->op, sync);
    for (int i = 0, k = 0; i < s->array_count; i++)
        if (place->taken[i] != 0)
            w->token[i] = sync->results[k++];
}

static void write_access(writer *w, ir_op *op) {
    int array = w->s->array_of[op->operands[0]->number] - 1;
    op->operands[op->operand_count - 1] = w->token[array];
    if (op->opcode == IR_PUT)
        w->token[array] = op->results[0];
}

/* ---- loops and branches ---- */
/* The list without its tokens from `from` on, and with room for more. */
static int without_tokens(syncs *s, ir_value ***list, int count, int from) {
    ir_value **kept = BASE_NEW_ARRAY(s->arena, ir_value *, count + s->array_count);
    int length = 0;
    for (int i = 0; i < count; i++)
        if (i < from || (*list)[i]->type.form != IR_FORM_TOKEN)
            kept[length++] = (*list)[i];
    *list = kept;
    return length;
}

static void take_tokens_out(syncs *s, ir_op *op) {
    op->operand_count = without_tokens(s, &op->operands, op->operand_count, 1);
    op->result_count = without_tokens(s, &op->results, op->result_count, 0);
    for (int k = 0; k < op->region_count; k++) {
        ir_region *region = op->regions[k];
        ir_op *yield = ir_region_yield(region);
        region->argument_count = without_tokens(s, &region->arguments, region->argument_count, 0);
        if (yield != NULL)
            yield->operand_count = without_tokens(s, &yield->operands, yield->operand_count, 0);
    }
}

static void write_region(writer *w, ir_region *region, const syncs_step *steps);

static void write_inside(writer *w, const syncs_step *step, const uint8_t *carried) {
    const syncs *s = w->s;
    ir_op *op = step->op;
    ir_value **before = BASE_NEW_ARRAY(s->arena, ir_value *, s->array_count);
    for (int i = 0; i < s->array_count; i++)
        before[i] = w->token[i];
    for (int k = 0; k < op->region_count; k++) {
        for (int i = 0; i < s->array_count; i++)
            w->token[i] = carried[i] && op->opcode == IR_FOR
                              ? ir_region_add_argument(s->module, op->regions[k],
                                                       token_type(w, i, step->head[i]), NULL)
                              : before[i];
        write_region(w, op->regions[k], step->inside[k]);
        ir_op *yield = ir_region_yield(op->regions[k]);
        for (int i = 0; i < s->array_count; i++)
            if (carried[i])
                yield->operands[yield->operand_count++] = w->token[i];
    }
    for (int i = 0; i < s->array_count; i++)
        w->token[i] = before[i];
}

static void write_control(writer *w, const syncs_step *step) {
    syncs *s = w->s;
    ir_op *op = step->op;
    uint8_t *carried = BASE_NEW_ARRAY(s->arena, uint8_t, s->array_count);
    for (int k = 0; k < 2; k++)
        note_carried(s, step->inside[k], carried);
    take_tokens_out(s, op);
    for (int i = 0; i < s->array_count && op->opcode == IR_FOR; i++)
        if (carried[i])
            op->operands[op->operand_count++] = w->token[i];
    write_inside(w, step, carried);
    for (int i = 0; i < s->array_count; i++) {
        if (!carried[i])
            continue;
        ir_value *result = ir_value_create(s->module, token_type(w, i, step->after[i]), NULL);
        result->definer = op;
        op->results[op->result_count++] = w->token[i] = result;
    }
}

static void write_region(writer *w, ir_region *region, const syncs_step *steps) {
    const syncs_step *step = steps;
    for (ir_op *op = region->first, *next; op != NULL; op = next) {
        next = op->next;
        if (op->opcode == IR_SYNC) {
            ir_op_remove(op);
            continue;
        }
        for (; step != NULL && step->op == op; step = step->following) {
            if (step->kind == SYNCS_PLACE)
                write_sync(w, step);
            else if (step->kind != SYNCS_ACCESS)
                write_control(w, step);
            else if (!w->s->accesses[step->access].tensor)
                write_access(w, op);
        }
        if (op->opcode == IR_SCRATCH)
            w->token[w->s->array_of[op->results[0]->number] - 1] = op->results[1];
    }
}

void syncs_tokens_write(syncs *s) {
    writer w = {.s = s, .token = BASE_NEW_ARRAY(s->arena, ir_value *, s->array_count)};
    write_region(&w, &s->module->body, s->first);
}
