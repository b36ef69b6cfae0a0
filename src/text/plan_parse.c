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
    int64_t condition_capacity, axis_capacity, keep_capacity, reduce_capacity, access_capacity,
        convert_capacity, math_capacity;
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

/* ---- decisions ---- */
static bool read_anchor(parser *p, const char **anchor) {
    return read_word(p, "an anchor such as max.0", anchor);
}

static bool read_axis(parser *p) {
    ir_plan_axis axis = {.location = p->lexer.token.location};
    int64_t count = p->plan->axis_count;
    if (!read_anchor(p, &axis.anchor))
        return false;
    size_t used = 0;
    const char *reason = NULL;
    bool ok = layout_axis_parse(p->lexer.token.text, text_ir_lexer_rest(&p->lexer), &axis.digits,
                                &used, &reason);
    text_ir_lexer_skip(&p->lexer, used);
    if (!ok)
        return fail(p, "plan-digits", NULL, reason);
    if (text_ir_lexer_accept(&p->lexer, "shift") &&
        !read_word(p, "the anchor of an access, such as x.0", &axis.digits.shift))
        return false;
    BASE_PUSH(p->arena, p->plan->axes, count, p->axis_capacity, axis);
    p->plan->axis_count = (int)count;
    return true;
}

static bool read_keep(parser *p) {
    ir_plan_keep keep = {.location = p->lexer.token.location};
    int64_t count = p->plan->keep_count;
    if (!read_anchor(p, &keep.anchor))
        return false;
    for (int i = IR_STORAGE_REGISTERS; i <= IR_STORAGE_OUTPUT; i++) {
        if (text_ir_lexer_accept(&p->lexer, ir_storage_name((ir_storage)i))) {
            keep.storage = (ir_storage)i;
            if (keep.storage == IR_STORAGE_OUTPUT && !read_anchor(p, &keep.access))
                return false;
            BASE_PUSH(p->arena, p->plan->keeps, count, p->keep_capacity, keep);
            p->plan->keep_count = (int)count;
            return true;
        }
    }
    return fail(p, "plan-choice", "registers, private, reload, recompute or output",
                "no such storage");
}

static bool read_reduce(parser *p) {
    ir_plan_anchor reduce = {.location = p->lexer.token.location};
    int64_t count = p->plan->reduce_count;
    if (!read_anchor(p, &reduce.anchor))
        return false;
    if (!text_ir_lexer_accept(&p->lexer, "tree"))
        return fail(p, "plan-choice", "tree", "no such order");
    BASE_PUSH(p->arena, p->plan->reduces, count, p->reduce_capacity, reduce);
    p->plan->reduce_count = (int)count;
    return true;
}

static bool read_access(parser *p) {
    ir_plan_access access = {.location = p->lexer.token.location};
    int64_t count = p->plan->access_count, width = 0;
    if (!read_anchor(p, &access.anchor) || !expect(p, "width") ||
        !read_integer(p, 1, 1 << 20, &width))
        return false;
    access.width = (int)width;
    BASE_PUSH(p->arena, p->plan->accesses, count, p->access_capacity, access);
    p->plan->access_count = (int)count;
    return true;
}

static bool read_convert(parser *p) {
    ir_plan_convert convert = {.location = p->lexer.token.location};
    int64_t count = p->plan->convert_count;
    if (!read_anchor(p, &convert.anchor))
        return false;
    for (int i = LAYOUT_FORWARD; i <= LAYOUT_SCRATCH; i++) {
        if (text_ir_lexer_accept(&p->lexer, layout_class_name((layout_class)i))) {
            convert.mechanism = (layout_class)i;
            if (text_ir_lexer_accept(&p->lexer, "of") && !read_anchor(p, &convert.array))
                return false;
            BASE_PUSH(p->arena, p->plan->converts, count, p->convert_capacity, convert);
            p->plan->convert_count = (int)count;
            return true;
        }
    }
    return fail(p, "plan-choice", "forward, rename, shuffle or scratch", "no such mechanism");
}

static bool read_math(parser *p) {
    ir_plan_math math = {.form = IR_MATH_PORTABLE, .location = p->lexer.token.location};
    int64_t count = p->plan->math_count;
    if (!read_anchor(p, &math.anchor))
        return false;
    if (!text_ir_lexer_accept(&p->lexer, ir_math_form_name(math.form)))
        return fail(p, "plan-choice", ir_math_form_name(math.form), "no such form");
    BASE_PUSH(p->arena, p->plan->maths, count, p->math_capacity, math);
    p->plan->math_count = (int)count;
    return true;
}

static const struct {
    const char *kind;
    bool (*read)(parser *p);
} decisions[] = {
    {"axis", read_axis},     {"keep", read_keep},       {"reduce", read_reduce},
    {"access", read_access}, {"convert", read_convert}, {"math", read_math},
};
enum { DECISION_KINDS = sizeof decisions / sizeof decisions[0] };

/* One line; a second decision for an anchor is reported at the anchor. */
static bool read_decision(parser *p, text_ir_names seen[DECISION_KINDS]) {
    for (int i = 0; i < DECISION_KINDS; i++) {
        if (!text_ir_lexer_accept(&p->lexer, decisions[i].kind))
            continue;
        text_ir_token anchor = p->lexer.token;
        if (anchor.kind == TEXT_IR_WORD &&
            !text_ir_names_add(p->arena, &seen[i], anchor.text, anchor.length, 0))
            return fail(p, "plan-repeats", "one line for each anchor", "decided already");
        return decisions[i].read(p);
    }
    return fail(p, "plan-syntax", "axis, keep, reduce, access, convert or math", "not a decision");
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
    text_ir_names seen[DECISION_KINDS] = {{0}};
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
