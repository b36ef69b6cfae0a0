/* Conditions that would help, each with the accesses that need it: those of which less is known
 * when it is left out of all of them.
 *
 *     x aligned 16      x.0
 *     N % 4 == 0        x.0, y.0
 *
 * No arguments meet both ways of a tensor (aligned rows, or rows without gaps that begin anywhere):
 * what one needs is found without the other.
 */
#include "analysis/alignment.h"
#include "compile/report_internal.h"

#include <string.h>

typedef struct condition_scan {
    base_arena *arena;
    const compile_report *report;
    analysis_alignments all, without;
    compile_report_condition *row;
} condition_scan;

static const char *anchor_of(const compile_report *report, const ir_op *op) {
    for (int64_t i = 0; i < report->access_count; i++) {
        const compile_report_access *access = &report->accesses[i];
        if (access->is_store == (op->opcode == IR_STORE) &&
            report_same_place(access->location, op->location))
            return access->anchor;
    }
    return NULL;
}

static bool is_listed(const compile_report_condition *row, const char *anchor) {
    for (int64_t i = 0; i < row->access_count; i++)
        if (strcmp(row->accesses[i], anchor) == 0)
            return true;
    return false;
}

static bool scan_op(void *pointer, ir_op *op) {
    condition_scan *scan = pointer;
    compile_report_condition *row = scan->row;
    if (op->opcode != IR_LOAD && op->opcode != IR_STORE)
        return true;
    analysis_alignment all = analysis_alignment_find(&scan->all, op);
    analysis_alignment without = analysis_alignment_find(&scan->without, op);
    const char *anchor = anchor_of(scan->report, op);
    bool loses = all.bytes != without.bytes || all.whole != without.whole;
    if (loses && anchor != NULL && !is_listed(row, anchor))
        BASE_PUSH(scan->arena, row->accesses, row->access_count, row->access_capacity, anchor);
    return true;
}

static bool is_of_ragged_rows(layout_condition_kind kind) {
    return kind == LAYOUT_CONDITION_BEGINS || kind == LAYOUT_CONDITION_SPACED;
}

/* The conditions of the same way as one of them, with or without it. */
static int64_t same_way(const layout_condition *conditions, int64_t count, int64_t which, bool with,
                        layout_condition *out) {
    int64_t kept = 0;
    bool ragged = is_of_ragged_rows(conditions[which].kind);
    for (int64_t i = 0; i < count; i++)
        if (is_of_ragged_rows(conditions[i].kind) == ragged && (with || i != which))
            out[kept++] = conditions[i];
    return kept;
}

void compile_report_add_conditions(base_arena *arena, compile_report *report,
                                   const layout_condition *conditions, int64_t count) {
    const ir_module *module = report->module;
    for (int64_t i = 0; i < count; i++) {
        layout_condition *all = BASE_NEW_ARRAY(arena, layout_condition, count);
        layout_condition *others = BASE_NEW_ARRAY(arena, layout_condition, count);
        int64_t all_count = same_way(conditions, count, i, true, all);
        int64_t other_count = same_way(conditions, count, i, false, others);
        base_text text;
        base_text_init(&text, arena);
        const char *subject = ir_condition_subject(module, &conditions[i]);
        layout_condition_print(&text, &conditions[i], subject);
        compile_report_condition row = {.condition = conditions[i],
                                        .text = text.bytes,
                                        .subject = subject,
                                        .ragged = is_of_ragged_rows(conditions[i].kind)};
        condition_scan scan = {.arena = arena,
                               .report = report,
                               .all = analysis_alignments_begin(arena, module, all, all_count),
                               .without =
                                   analysis_alignments_begin(arena, module, others, other_count),
                               .row = &row};
        ir_region_walk((ir_region *)&module->body, scan_op, &scan);
        BASE_PUSH(arena, report->conditions, report->condition_count, report->condition_capacity,
                  row);
    }
}
