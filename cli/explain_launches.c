/* A kernel of several launches: what they are together, before the report of each.
 *
 *     softmax  3 launches, one behind the other, on sm_90                    plan 1acb647137fb354c
 *       planned     row program, admitted: 1 width, 2 reductions, ..
 *       launches    softmax_1: R * 128 groups of 128 threads; hands on max_0_parts
 *                   softmax_2: R * 128 groups of 128 threads; takes max_0_parts, hands on ..
 *       handed on   max_0_parts f32[R, 128], sum_0_parts f32[R, 128]
 *       predicted   5.64 us by cuda, ..
 */
#include "explain.h"

#include <string.h>

enum { LABEL = 12, PLAN_COLUMN = 72 };

static const ir_parameter *handed_on(const cli_explain_launches *launches, int i) {
    const ir_module *first = launches->reports[0]->module;
    int at = launches->own_parameters + i;
    return at < first->parameter_count ? &first->parameters[at] : NULL;
}

static bool accesses(const compile_report *report, const char *tensor, bool stores) {
    for (int64_t i = 0; i < report->access_count; i++)
        if (report->accesses[i].is_store == stores &&
            strcmp(report->accesses[i].tensor, tensor) == 0)
            return true;
    return false;
}

static void write_tensors(base_text *out, const cli_explain_launches *launches,
                          const compile_report *report, bool stores) {
    const char *before = stores ? "; hands on " : "; takes ";
    const ir_parameter *tensor;
    for (int i = 0; (tensor = handed_on(launches, i)) != NULL; i++) {
        if (!accesses(report, tensor->name, stores))
            continue;
        base_text_format(out, "%s%s", before, tensor->name);
        before = ", ";
    }
}

static void write_launches(base_text *out, const cli_explain_launches *launches) {
    for (int i = 0; i < launches->count; i++) {
        const compile_report *report = launches->reports[i];
        base_text_format(out, "  %-*s%s: %s group%s of %lld %s%s", LABEL, i == 0 ? "launches" : "",
                         report->kernel, report->groups,
                         strcmp(report->groups, "1") == 0 ? "" : "s", (long long)report->threads,
                         report->by_team ? "lane" : "thread", report->threads == 1 ? "" : "s");
        write_tensors(out, launches, report, false);
        write_tensors(out, launches, report, true);
        base_text_string(out, "\n");
    }
}

static void write_handed_on(base_text *out, const cli_explain_launches *launches) {
    const ir_module *first = launches->reports[0]->module;
    const ir_parameter *tensor;
    for (int i = 0; (tensor = handed_on(launches, i)) != NULL; i++) {
        const ir_type *type = &tensor->value->type;
        if (i == 0)
            base_text_format(out, "  %-*s", LABEL, "handed on");
        base_text_format(out, "%s%s %s[", i > 0 ? ", " : "", tensor->name,
                         base_dtype_name(tensor->dtype));
        for (int d = 0; d < type->rank; d++) {
            base_text_string(out, d > 0 ? ", " : "");
            layout_extent_print(out, &first->extents, type->extent[d]);
        }
        base_text_string(out, "]");
    }
    base_text_string(out, handed_on(launches, 0) != NULL ? "\n" : "");
}

bool cli_explain_is_split(const cli_explain_launches *launches) {
    return launches->count > 1;
}

void cli_explain_launches_text(base_text *out, const cli_explain_launches *launches) {
    base_text head;
    base_text_init(&head, out->arena);
    base_text_format(&head, "%s  %d launches, one behind the other, on %s", launches->kernel,
                     launches->count, launches->reports[0]->machine->name);
    base_text_format(out, "%-*s  plan %016llx\n", PLAN_COLUMN - 2, head.bytes,
                     (unsigned long long)ir_plan_hash(out->arena, launches->plan));
    if (launches->planning != NULL)
        cli_explain_choice_text(out, launches->planning);
    write_launches(out, launches);
    write_handed_on(out, launches);
    if (launches->planning != NULL)
        cli_explain_prices_text(out, launches->planning);
}
