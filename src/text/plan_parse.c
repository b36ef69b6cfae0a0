/* Reading plans: the first line, then one decision a line in any order of kinds.
 *
 *     plan softmax canon 5d1e8c0a91b2f733 machine cpu-avx2 for N = 4096
 *     axis N        lane 8 | slot 4 | step 128     # comments and blanks are free
 *     keep e        private
 *
 * A fault ends its line, not the reading. Whether an anchor exists is the business of who applies
 * the plan; here a second line for one anchor of a kind is refused.
 */
#include "text/plan_parse.h"

#include "base/checked.h"
#include "ir/print.h"
#include "text/ir_lexer.h"
#include "text/ir_names.h"

#include <string.h>

enum { PLAN_LIMIT = 1 << 20 };

typedef struct parser {
    base_arena *arena;
    base_diagnostics *diagnostics;
    text_ir_lexer lexer;
    ir_plan *plan;
    int64_t condition_capacity;
} parser;

/* Reports at the current token; false. Past the limit of findings reading jumps to the end. */
static bool fail(parser *p, const char *slug, const char *expected, const char *message) {
    if (p->diagnostics->count == BASE_DIAGNOSTIC_LIMIT) {
        p->diagnostics->dropped++;
        p->lexer.at = p->lexer.source->length;
        text_ir_lexer_next(&p->lexer);
        return false;
    }
    base_diagnostic *finding =
        base_diagnostics_add(p->diagnostics, slug, p->lexer.token.location, "%s", message);
    finding->found = text_ir_lexer_found(&p->lexer, p->diagnostics);
    finding->expected = expected;
    return false;
}

static bool expect(parser *p, const char *word) {
    return text_ir_lexer_accept(&p->lexer, word) ||
           fail(p, "plan-syntax", base_diagnostics_text(p->diagnostics, "`%s`", word),
                "the line does not go on as a plan does");
}

static bool at_line_end(const parser *p) {
    return p->lexer.token.kind == TEXT_IR_NEWLINE || p->lexer.token.kind == TEXT_IR_END;
}

static bool read_word(parser *p, const char *expected, const char **word) {
    const text_ir_token *token = &p->lexer.token;
    if (token->kind != TEXT_IR_WORD)
        return fail(p, "plan-syntax", expected, "a name is missing");
    *word = base_arena_copy(p->arena, token->text, token->length);
    text_ir_lexer_next(&p->lexer);
    return true;
}

static bool read_integer(parser *p, int64_t least, int64_t greatest, int64_t *value) {
    const text_ir_token *token = &p->lexer.token;
    bool ok = token->kind == TEXT_IR_NUMBER;
    int64_t number = 0;
    for (size_t i = 0; ok && i < token->length; i++) {
        int digit = token->text[i] - '0';
        ok = digit >= 0 && digit <= 9 && base_checked_mul(number, 10, &number) &&
             base_checked_add(number, digit, &number);
    }
    if (!ok || number < least || number > greatest)
        return fail(p, "plan-number",
                    base_diagnostics_text(p->diagnostics, "a number from %lld to %lld",
                                          (long long)least, (long long)greatest),
                    "not a number that may stand here");
    *value = number;
    text_ir_lexer_next(&p->lexer);
    return true;
}

/* ---- the first line ---- */
/* Up to the next blank: `cpu-avx2`, `sm_90`. */
static bool read_machine(parser *p) {
    const char *start = p->lexer.token.text;
    size_t length = 0, rest = text_ir_lexer_rest(&p->lexer);
    while (length < rest && start[length] > ' ')
        length++;
    if (p->lexer.token.kind != TEXT_IR_WORD)
        return fail(p, "plan-syntax", "the name of a machine", "a machine is missing");
    p->plan->machine = base_arena_copy(p->arena, start, length);
    text_ir_lexer_skip(&p->lexer, length);
    return true;
}

static bool read_conditions(parser *p) {
    ir_plan *plan = p->plan;
    if (!text_ir_lexer_accept(&p->lexer, "for"))
        return true;
    int64_t count = 0;
    do {
        ir_plan_condition condition = {.location = p->lexer.token.location};
        if (!read_word(p, "the name of a size", &condition.symbol) || !expect(p, "=") ||
            !read_integer(p, 0, INT64_MAX, &condition.value))
            return false;
        BASE_PUSH(p->arena, plan->conditions, count, p->condition_capacity, condition);
        plan->condition_count = (int)count;
    } while (text_ir_lexer_accept(&p->lexer, ","));
    return true;
}

static bool read_first_line(parser *p) {
    p->plan->location = p->lexer.token.location;
    if (!expect(p, "plan") || !read_word(p, "the name of the kernel", &p->plan->kernel) ||
        !expect(p, "canon"))
        return false;
    if (!text_ir_lexer_hash(&p->lexer, &p->plan->canonical_hash))
        return fail(p, "plan-number", "16 hexadecimal digits", "not a hash");
    text_ir_lexer_next(&p->lexer);
    return expect(p, "machine") && read_machine(p) && read_conditions(p);
}

/* ---- decisions: each reads what follows the anchor ---- */
static bool read_access_anchor(parser *p, const char **anchor) {
    return read_word(p, "the anchor of an access, such as x.0", anchor);
}

static bool read_axis(parser *p, ir_plan_line *line) {
    size_t used = 0;
    const char *reason = NULL;
    bool ok = layout_axis_parse(p->lexer.token.text, text_ir_lexer_rest(&p->lexer), &line->digits,
                                &used, &reason);
    text_ir_lexer_skip(&p->lexer, used);
    if (!ok)
        return fail(p, "plan-digits", NULL, reason);
    return !text_ir_lexer_accept(&p->lexer, "shift") || read_access_anchor(p, &line->digits.shift);
}

static bool read_keep(parser *p, ir_plan_line *line) {
    for (int i = IR_STORAGE_REGISTERS; i <= IR_STORAGE_OUTPUT; i++) {
        if (!text_ir_lexer_accept(&p->lexer, ir_storage_name((ir_storage)i)))
            continue;
        line->storage = (ir_storage)i;
        return line->storage != IR_STORAGE_OUTPUT || read_access_anchor(p, &line->of);
    }
    return fail(p, "plan-choice", "registers, private, reload, recompute or output",
                "no such storage");
}

static bool read_reduce(parser *p, ir_plan_line *line) {
    for (int i = 0; i < IR_ORDER_COUNT; i++) {
        line->order = (ir_order)i;
        if (text_ir_lexer_accept(&p->lexer, ir_order_name(line->order)))
            return true;
    }
    return fail(p, "plan-choice", "tree, left, right or canonical", "no such order");
}

static bool read_policy(parser *p, ir_plan_line *line) {
    if (!text_ir_lexer_accept(&p->lexer, "policy"))
        return true; /* default */
    for (int i = 0; i < IR_POLICY_COUNT; i++) {
        line->policy = (ir_policy)i;
        if (text_ir_lexer_accept(&p->lexer, ir_policy_name(line->policy)))
            return true;
    }
    return fail(p, "plan-choice", "default, stream or evict_last", "no such policy");
}

/* `prefetch 1 in 2`: of the program behind this one, in the third sweep that reads. */
static bool read_prefetch(parser *p, ir_plan_line *line) {
    int64_t ahead = 0, sweep = 0;
    if (!text_ir_lexer_accept(&p->lexer, "prefetch"))
        return true;
    if (!read_integer(p, 1, 1 << 20, &ahead) || !expect(p, "in") ||
        !read_integer(p, 0, 1 << 20, &sweep))
        return false;
    line->prefetch = (int)ahead;
    line->prefetch_sweep = (int)sweep;
    return true;
}

static bool read_access(parser *p, ir_plan_line *line) {
    int64_t width = 0;
    if (!expect(p, "width") || !read_integer(p, 1, 1 << 20, &width))
        return false;
    line->width = (int)width;
    if (!read_policy(p, line))
        return false;
    line->early = text_ir_lexer_accept(&p->lexer, "early");
    return read_prefetch(p, line);
}

static bool read_convert(parser *p, ir_plan_line *line) {
    for (int i = LAYOUT_FORWARD; i <= LAYOUT_SCRATCH; i++) {
        if (!text_ir_lexer_accept(&p->lexer, layout_class_name((layout_class)i)))
            continue;
        line->mechanism = (layout_class)i;
        return !text_ir_lexer_accept(&p->lexer, "of") ||
               read_word(p, "the anchor of a conversion, such as convert.0", &line->of);
    }
    return fail(p, "plan-choice", "forward, rename, shuffle or scratch", "no such mechanism");
}

static bool read_form(parser *p, ir_plan_line *line, ir_math_form first, ir_math_form second) {
    const ir_math_form forms[] = {first, second};
    for (int i = 0; i < 2; i++) {
        line->form = forms[i];
        if (text_ir_lexer_accept(&p->lexer, ir_math_form_name(forms[i])))
            return true;
    }
    return fail(p, "plan-choice",
                base_diagnostics_text(p->diagnostics, "%s or %s", ir_math_form_name(first),
                                      ir_math_form_name(second)),
                "no such form");
}

static bool read_math(parser *p, ir_plan_line *line) {
    line->form = IR_MATH_FLUSHED;
    if (text_ir_lexer_accept(&p->lexer, ir_math_form_name(IR_MATH_FLUSHED)))
        return true;
    return read_form(p, line, IR_MATH_PORTABLE, IR_MATH_NATIVE);
}

static bool read_div(parser *p, ir_plan_line *line) {
    return read_form(p, line, IR_MATH_EXACT, IR_MATH_RECIPROCAL);
}

static bool (*const readers[IR_PLAN_KIND_COUNT])(parser *p, ir_plan_line *line) = {
    [IR_PLAN_AXIS] = read_axis,       [IR_PLAN_KEEP] = read_keep,
    [IR_PLAN_REDUCE] = read_reduce,   [IR_PLAN_ACCESS] = read_access,
    [IR_PLAN_CONVERT] = read_convert, [IR_PLAN_MATH] = read_math,
    [IR_PLAN_DIV] = read_div,
};

/* "axis, keep, reduce, ... or div" */
static const char *all_kinds(parser *p) {
    base_text text;
    base_text_init(&text, p->diagnostics->arena);
    for (int i = 0; i < IR_PLAN_KIND_COUNT; i++)
        base_text_format(&text, "%s%s",
                         i == 0                        ? ""
                         : i + 1 == IR_PLAN_KIND_COUNT ? " or "
                                                       : ", ",
                         ir_plan_kind_name((ir_plan_kind)i));
    return text.bytes;
}

/* One line; a second decision for an anchor is reported at the anchor. */
static bool read_decision(parser *p, text_ir_names seen[IR_PLAN_KIND_COUNT]) {
    for (int i = 0; i < IR_PLAN_KIND_COUNT; i++) {
        if (!text_ir_lexer_accept(&p->lexer, ir_plan_kind_name((ir_plan_kind)i)))
            continue;
        text_ir_token token = p->lexer.token;
        const char *anchor = NULL;
        if (token.kind == TEXT_IR_WORD &&
            !text_ir_names_add(p->arena, &seen[i], token.text, token.length, 0))
            return fail(p, "plan-repeats", "one line for each anchor", "decided already");
        if (!read_word(p, "an anchor such as max.0", &anchor))
            return false;
        ir_plan_line *line = ir_plan_add(p->arena, p->plan, (ir_plan_kind)i, anchor);
        line->location = token.location;
        return readers[i](p, line);
    }
    return fail(p, "plan-syntax", all_kinds(p), "not a decision");
}

static void skip_line(parser *p) {
    while (!at_line_end(p))
        text_ir_lexer_next(&p->lexer);
}

static void skip_empty_lines(parser *p) {
    while (p->lexer.token.kind == TEXT_IR_NEWLINE)
        text_ir_lexer_next(&p->lexer);
}

static bool refuse_size(const base_source *source, base_diagnostics *diagnostics) {
    if (source->length <= PLAN_LIMIT)
        return false;
    base_diagnostic *finding =
        base_diagnostics_add(diagnostics, "source-too-large", (base_location){.source = source},
                             "the plan is too large");
    finding->found = base_diagnostics_text(diagnostics, "more than %d bytes", PLAN_LIMIT);
    finding->expected = base_diagnostics_text(diagnostics, "at most %d bytes", PLAN_LIMIT);
    return true;
}

ir_plan *text_plan_parse(base_arena *arena, const base_source *source,
                         base_diagnostics *diagnostics) {
    if (refuse_size(source, diagnostics))
        return NULL;
    parser p = {.arena = arena, .diagnostics = diagnostics, .plan = BASE_NEW(arena, ir_plan)};
    text_ir_names seen[IR_PLAN_KIND_COUNT] = {{0}};
    int64_t before = diagnostics->count + diagnostics->dropped;
    text_ir_lexer_init(&p.lexer, source);
    skip_empty_lines(&p);
    bool ok = read_first_line(&p);
    for (;;) {
        if (ok && !at_line_end(&p))
            fail(&p, "plan-syntax", "the end of the line", "text after a decision");
        skip_line(&p);
        skip_empty_lines(&p);
        if (p.lexer.token.kind == TEXT_IR_END)
            break;
        ok = read_decision(&p, seen);
    }
    return diagnostics->count + diagnostics->dropped == before ? p.plan : NULL;
}
