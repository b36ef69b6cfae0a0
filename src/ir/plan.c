/* Plans as text, and their hash.
 *
 *     plan softmax canon 5d1e8c0a91b2f733 machine cpu-avx2 for N = 4096
 *     axis N        lane 8 | slot 4 | step 128
 *     keep e        private
 *     reduce max.0  tree
 *
 * The hash is taken over the same decisions with every name left out: a line counts by its place
 * among the lines of its kind. Lines stand in the order of the canonical IR, which names do not
 * change; so renaming a kernel, a size or a value, and naming a subexpression (which turns the
 * anchor `exp.0` of a kept value into `e`), leave the hash as it was, and the canonical hash inside
 * it says what each place means. Whoever applies a plan sees to that order.
 */
#include "ir/plan.h"

#include "base/hash.h"
#include "ir/print.h"

#include <inttypes.h>
#include <string.h>

/* Columns that the longest anchor may push the decisions to. */
enum { WIDEST_COLUMN = 40 };

static const char *const kind_names[] = {
#define PLAN_KIND(id, word, of, decision) [IR_PLAN_##id] = (word),
#include "ir/plan_kinds.def"
#undef PLAN_KIND
};

const char *ir_plan_kind_name(ir_plan_kind kind) {
    return kind_names[kind];
}

/* ---- lines ---- */
ir_plan_line *ir_plan_add(base_arena *arena, ir_plan *plan, ir_plan_kind kind, const char *anchor) {
    ir_plan_list *list = &plan->of[kind];
    BASE_PUSH(arena, list->lines, list->count, list->capacity, (ir_plan_line){.anchor = anchor});
    return &list->lines[list->count - 1];
}

static int64_t line_number(const ir_plan *plan, ir_plan_kind kind, const char *anchor) {
    const ir_plan_list *list = &plan->of[kind];
    for (int64_t i = 0; anchor != NULL && i < list->count; i++)
        if (strcmp(list->lines[i].anchor, anchor) == 0)
            return i;
    return -1;
}

ir_plan_line *ir_plan_find(const ir_plan *plan, ir_plan_kind kind, const char *anchor) {
    int64_t number = line_number(plan, kind, anchor);
    return number < 0 ? NULL : &plan->of[kind].lines[number];
}

/* ---- text ---- */
/* Who is named by a decision: by the anchor, or by the number of its line. */
typedef struct plan_text {
    base_text *out;
    const ir_plan *plan;
    bool numbered;
} plan_text;

static void print_other(const plan_text *p, const char *word, ir_plan_kind kind,
                        const char *anchor) {
    if (anchor == NULL)
        return;
    if (p->numbered)
        base_text_format(p->out, "%s%" PRId64, word, line_number(p->plan, kind, anchor));
    else
        base_text_format(p->out, "%s%s", word, anchor);
}

static void print_decision(const plan_text *p, ir_plan_kind kind, const ir_plan_line *line) {
    layout_axis digits = line->digits;
    switch (kind) {
    case IR_PLAN_AXIS:
        digits.shift = NULL;
        layout_axis_print(p->out, &digits);
        print_other(p, " shift ", IR_PLAN_ACCESS, line->digits.shift);
        break;
    case IR_PLAN_KEEP:
        base_text_string(p->out, ir_storage_name(line->storage));
        print_other(p, " ", IR_PLAN_ACCESS, line->of);
        break;
    case IR_PLAN_REDUCE:
        base_text_string(p->out, ir_order_name(line->order));
        break;
    case IR_PLAN_ACCESS:
        base_text_format(p->out, "width %d policy %s%s", line->width, ir_policy_name(line->policy),
                         line->early ? " early" : "");
        if (line->prefetch > 0)
            base_text_format(p->out, " prefetch %d in %d", line->prefetch, line->prefetch_sweep);
        break;
    case IR_PLAN_CONVERT:
        base_text_string(p->out, layout_class_name(line->mechanism));
        print_other(p, " of ", IR_PLAN_CONVERT, line->of);
        break;
    case IR_PLAN_MATH:
    case IR_PLAN_DIV:
        base_text_string(p->out, ir_math_form_name(line->form));
        break;
    case IR_PLAN_KIND_COUNT:
        break;
    }
}

void ir_plan_decision_print(base_text *out, ir_plan_kind kind, const ir_plan_line *line) {
    print_decision(&(plan_text){.out = out}, kind, line);
}

static int64_t decision_column(const ir_plan *plan) {
    int64_t column = 0;
    for (int kind = 0; kind < IR_PLAN_KIND_COUNT; kind++) {
        for (int64_t i = 0; i < plan->of[kind].count; i++) {
            int64_t width = (int64_t)(strlen(kind_names[kind]) + 1 +
                                      strlen(plan->of[kind].lines[i].anchor) + 2);
            if (width > column && width <= WIDEST_COLUMN)
                column = width;
        }
    }
    return column;
}

/* Up to the decision: `axis N        `. */
static void print_line_start(base_text *out, const char *kind, const char *anchor, int64_t column) {
    int64_t start = out->length;
    base_text_format(out, "%s %s", kind, anchor);
    do {
        base_text_string(out, " ");
    } while (out->length - start < column);
}

static void print_first_line(base_text *out, const ir_plan *plan) {
    base_text_format(out, "plan %s canon %016" PRIx64 " machine %s", plan->kernel,
                     plan->canonical_hash, plan->machine);
    for (int i = 0; i < plan->condition_count; i++)
        base_text_format(out, "%s%s = %" PRId64, i == 0 ? " for " : ", ",
                         plan->conditions[i].symbol, plan->conditions[i].value);
    base_text_string(out, "\n");
}

void ir_plan_print(base_text *out, const ir_plan *plan) {
    int64_t column = decision_column(plan);
    plan_text text = {.out = out, .plan = plan};
    print_first_line(out, plan);
    for (int kind = 0; kind < IR_PLAN_KIND_COUNT; kind++) {
        for (int64_t i = 0; i < plan->of[kind].count; i++) {
            const ir_plan_line *line = &plan->of[kind].lines[i];
            print_line_start(out, kind_names[kind], line->anchor, column);
            print_decision(&text, (ir_plan_kind)kind, line);
            base_text_string(out, "\n");
        }
    }
}

uint64_t ir_plan_hash(base_arena *arena, const ir_plan *plan) {
    base_text out;
    base_text_init(&out, arena);
    plan_text text = {.out = &out, .plan = plan, .numbered = true};
    base_text_format(&out, "canon %016" PRIx64 " machine %s", plan->canonical_hash, plan->machine);
    for (int i = 0; i < plan->condition_count; i++)
        base_text_format(&out, " = %" PRId64, plan->conditions[i].value);
    for (int kind = 0; kind < IR_PLAN_KIND_COUNT; kind++) {
        for (int64_t i = 0; i < plan->of[kind].count; i++) {
            base_text_format(&out, "\n%s ", kind_names[kind]);
            print_decision(&text, (ir_plan_kind)kind, &plan->of[kind].lines[i]);
            base_text_string(&out, "\n");
        }
    }
    return base_hash_bytes(BASE_HASH_START, out.bytes, (size_t)out.length);
}
