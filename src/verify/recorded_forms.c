/* Forms of functions and divisions are those that the plan recorded: recorded-form.
 *
 *     implements { %e = exp %t form=native !exp.0     %q = div %u, %s !div.0 }
 *
 *     level mapped    %e = exp %t form=native !exp.0  as recorded
 *                     %e = exp %t !exp.0              refused: another form
 *     level thread    %e = native_exp %t !exp.0       as recorded
 *                     %q = fma %u, %r, %z !div.0      refused: the division is recorded as exact
 *
 * The record is in the tile program that a module implements: map writes the plan's forms there. A
 * tile program of its own has none. At level thread a portable form is a line of basic operations
 * without an anchor; the op that gives the quotient has the anchor of the division. A module that
 * does not say what it implements is asked only whether its forms exist.
 */
#include "verify/verify_internal.h"

#include <string.h>

static const ir_op *find_anchor(const ir_region *region, const char *anchor) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->anchor != NULL && strcmp(op->anchor, anchor) == 0)
            return op;
        for (int i = 0; i < op->region_count; i++) {
            const ir_op *inner = find_anchor(op->regions[i], anchor);
            if (inner != NULL)
                return inner;
        }
    }
    return NULL;
}

/* The op of the tile program that this one stands for; NULL: there is none. */
static const ir_op *recorded(const verify_state *state, const ir_op *op) {
    const ir_module *program = state->module->implements;
    return program != NULL && op->anchor != NULL ? find_anchor(&program->body, op->anchor) : NULL;
}

static bool form_exists(const ir_module *module, const ir_op *op) {
    ir_math_form form = op->attributes.form;
    if (form == IR_MATH_NATIVE)
        return ir_op_is_math(op->opcode) && ir_native_find(op->opcode) != NULL;
    if (form == IR_MATH_RECIPROCAL)
        return ir_op_shares_divisor(module, op);
    if (form == IR_MATH_FLUSHED)
        return module->level == IR_TILE ? ir_op_may_flush(op) : op->opcode == IR_EXP;
    return form == IR_MATH_PORTABLE;
}

static void check_existence(verify_state *state, const ir_op *op) {
    if (!form_exists(state->module, op))
        verify_report(state, VERIFY_RECORDED_FORM, op,
                      "native of a function that has such a form, reciprocal of a division of "
                      "elements by a number that they share, flushed of exp of a tile less its "
                      "greatest element",
                      "`%s` has no form `%s`", ir_op_describe(op->opcode)->text,
                      ir_math_form_name(op->attributes.form));
}

static void check_tile(verify_state *state, const ir_op *op) {
    if (op->attributes.form != IR_MATH_PORTABLE)
        verify_report(state, VERIFY_RECORDED_FORM, op, "no form: a plan gives it",
                      "a tile program of its own has a form");
}

static void check_mapped(verify_state *state, const ir_op *op) {
    check_existence(state, op);
    if (state->module->implements == NULL || (!ir_op_is_math(op->opcode) && op->opcode != IR_DIV))
        return;
    const ir_op *said = recorded(state, op);
    ir_math_form form = said != NULL ? said->attributes.form : IR_MATH_PORTABLE;
    if (form != op->attributes.form || (said != NULL && said->opcode != op->opcode))
        verify_report(state, VERIFY_RECORDED_FORM, op, "the form that the plan recorded",
                      "`%s` is computed in another form", ir_op_describe(op->opcode)->text);
}

static void check_thread(verify_state *state, const ir_op *op) {
    const ir_native *native = ir_native_find(op->opcode);
    if (op->attributes.form != IR_MATH_PORTABLE)
        verify_report(state, VERIFY_RECORDED_FORM, op, "an op that computes the form",
                      "a form is said, not computed");
    if (state->module->implements == NULL)
        return;
    const ir_op *said = recorded(state, op);
    if (native != NULL && (said == NULL || said->opcode != native->function ||
                           said->attributes.form != IR_MATH_NATIVE))
        verify_report(state, VERIFY_RECORDED_FORM, op, "the portable form",
                      "`%s` stands for a function that is not recorded as native",
                      ir_op_describe(op->opcode)->text);
    if (said != NULL && said->opcode == IR_DIV && op->opcode != IR_DIV &&
        said->attributes.form != IR_MATH_RECIPROCAL)
        verify_report(state, VERIFY_RECORDED_FORM, op, "a correctly rounded quotient",
                      "a division that is recorded as exact is computed by `%s`",
                      ir_op_describe(op->opcode)->text);
}

static void check_recorded_existence(verify_state *state) {
    verify_state inner = *state;
    inner.module = state->module->implements;
    verify_walk(&inner, &inner.module->body, check_existence);
    state->broken = inner.broken;
}

void verify_recorded_forms(verify_state *state) {
    const ir_region *body = &state->module->body;
    switch (state->module->level) {
    case IR_TILE:
        verify_walk(state, body, check_tile);
        return;
    case IR_MAPPED:
        verify_walk(state, body, check_mapped);
        break;
    case IR_THREAD:
        verify_walk(state, body, check_thread);
        break;
    }
    if (state->module->implements != NULL)
        check_recorded_existence(state);
}
