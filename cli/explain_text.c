/* The report of `croft explain` as text: a line or two for each thing that was decided.
 *
 *     softmax  N=1009, R at run time, on sm_90                       plan 7ba465d145ed6178
 *       group       64 threads in 2 subgroups; R groups
 *       owners      blocked_cyclic(1009, workers=64, vector=4): 64 threads x 16 slots
 *                     t kept in slots, e kept in slots
 *
 * A label stands once, before the first of its lines. What a kernel has not is left out.
 */
#include "explain.h"

#include "ir/print.h"

#include <string.h>

enum { LABEL = 12, PLAN_COLUMN = 72, VALUES_WIDTH = 72, LONG_LAYOUT = 44 };

typedef struct page {
    base_text *out;
    const compile_report *report;
    const char *label; /* of the next line; NULL: it has been written */
} page;

static void begin_line(page *p, int indent) {
    const char *label = p->label != NULL ? p->label : "";
    base_text_format(p->out, "  %-*s", LABEL, label);
    for (int i = 0; i < indent; i++)
        base_text_string(p->out, " ");
    p->label = NULL;
}

static void end_line(const page *p) {
    base_text_string(p->out, "\n");
}

static const char *plural(int64_t count) {
    return count == 1 ? "" : "s";
}

/* Lanes of a cpu are no threads. */
static const char *worker(const page *p) {
    return p->report->by_team ? "lane" : "thread";
}

/* To a tenth. */
static void write_cycles(base_text *out, double cycles) {
    long long tenths = cycles < 1e15 ? (long long)(cycles * 10 + 0.5) : (long long)1e16;
    base_text_format(out, "%lld", tenths / 10);
    if (tenths % 10 != 0)
        base_text_format(out, ".%lld", tenths % 10);
}

/* ---- the head ---- */

static void write_head(page *p) {
    const compile_report *report = p->report;
    const layout_extents *extents = &report->module->extents;
    base_text head;
    base_text_init(&head, p->out->arena);
    base_text_format(&head, "%s  ", report->kernel);
    for (int i = 0; i < extents->symbol_count; i++)
        if (extents->symbols[i].known)
            base_text_format(&head, "%s=%lld, ", extents->symbols[i].name,
                             (long long)extents->symbols[i].value);
    for (int i = 0; i < extents->symbol_count; i++)
        if (!extents->symbols[i].known)
            base_text_format(&head, "%s at run time, ", extents->symbols[i].name);
    base_text_format(&head, "on %s", report->machine->name);
    if (head.length > PLAN_COLUMN) {
        base_text_format(p->out, "%s\n", head.bytes);
        head.bytes[0] = '\0';
    }
    base_text_format(p->out, "%-*s  plan %016llx\n", PLAN_COLUMN - 2, head.bytes,
                     (unsigned long long)report->plan_hash);
    p->label = "program";
    begin_line(p, 0);
    base_text_format(p->out, "canonical %016llx", (unsigned long long)report->canonical_hash);
    const ir_plan_list *axes = &report->plan->of[IR_PLAN_AXIS];
    for (int64_t i = 0; i < axes->count; i++) {
        const ir_plan_line *axis = &axes->lines[i];
        if (i >= report->module->axis_count || !report->module->axes[i].is_program)
            continue;
        base_text_format(p->out, "; %s: ", axis->anchor);
        layout_axis_print(p->out, &axis->digits);
    }
    end_line(p);
    p->label = "group";
    begin_line(p, 0);
    base_text_format(p->out, "%lld %s%s in %lld subgroup%s; %s group%s\n",
                     (long long)report->threads, worker(p), plural(report->threads),
                     (long long)report->subgroups, plural(report->subgroups), report->groups,
                     strcmp(report->groups, "1") == 0 ? "" : "s");
}

static void write_erased(page *p) {
    int64_t erased = p->report->log->erased;
    if (erased == 0)
        return;
    p->label = "erased";
    begin_line(p, 0);
    base_text_format(p->out,
                     "explicit layouts are erased on %s: %lld of the kernel's text; the plan "
                     "chooses\n",
                     p->report->machine->name, (long long)erased);
}

/* ---- owners ---- */

static bool is_fixed(const compile_report *report, const char *layout) {
    for (int64_t i = 0; i < report->value_count; i++)
        if (report->values[i].fixed && strcmp(report->values[i].layout, layout) == 0)
            return true;
    return false;
}

static void write_geometry(page *p, const compile_report_value *value) {
    begin_line(p, 0);
    base_text_format(p->out, "%s:", value->layout);
    if (strlen(value->layout) > LONG_LAYOUT) {
        end_line(p);
        begin_line(p, 1);
    }
    base_text_format(p->out, " %lld %s%s x %lld slot%s", (long long)value->threads, worker(p),
                     plural(value->threads), (long long)value->slots, plural(value->slots));
    if (value->steps == 0)
        base_text_string(p->out, ", in steps");
    else if (value->steps > 1)
        base_text_format(p->out, ", %lld steps", (long long)value->steps);
    if (value->replication > 1)
        base_text_format(p->out, ", %lld copies", (long long)value->replication);
    base_text_string(p->out, is_fixed(p->report, value->layout) ? ", by the kernel\n" : "\n");
}

static void write_word(page *p, int64_t *column, const char *word) {
    int64_t length = (int64_t)strlen(word);
    if (*column > 0 && *column + length + 2 > VALUES_WIDTH) {
        base_text_string(p->out, ",\n");
        begin_line(p, 2);
        *column = 0;
    } else if (*column > 0) {
        base_text_string(p->out, ", ");
    }
    base_text_string(p->out, word);
    *column += length + 2;
}

static bool is_told(const compile_report_value *value) {
    return value->named || value->access != NULL || strcmp(value->storage, "sweep") != 0;
}

/* The values that lie as the first one does. */
static void write_values(page *p, int64_t first) {
    const compile_report *report = p->report;
    int64_t column = 0, others = 0;
    base_text word;
    base_text_init(&word, p->out->arena);
    begin_line(p, 2);
    for (int64_t i = first; i < report->value_count; i++) {
        const compile_report_value *value = &report->values[i];
        if (strcmp(value->layout, report->values[first].layout) != 0)
            continue;
        if (!is_told(value)) {
            others++;
            continue;
        }
        word.length = 0;
        base_text_string(&word, value->anchor);
        if (strcmp(value->storage, "registers") == 0)
            base_text_string(&word, " kept in slots");
        else if (strcmp(value->storage, "sweep") != 0)
            base_text_format(&word, " by %s", value->storage);
        write_word(p, &column, word.bytes);
    }
    word.length = 0;
    base_text_format(&word, "%lld unnamed", (long long)others);
    if (others > 0)
        write_word(p, &column, word.bytes);
    end_line(p);
}

static void write_owners(page *p) {
    const compile_report *report = p->report;
    p->label = "owners";
    for (int64_t i = 0; i < report->value_count; i++) {
        bool seen = false;
        for (int64_t k = 0; k < i && !seen; k++)
            seen = strcmp(report->values[k].layout, report->values[i].layout) == 0;
        if (seen)
            continue;
        write_geometry(p, &report->values[i]);
        write_values(p, i);
    }
}

/* ---- conversions ---- */

static void write_conflicts(base_text *out, int put, int get) {
    if (put == 1 && get == 1)
        base_text_string(out, ", no bank conflicts");
    else if (put > 0 && get > 0)
        base_text_format(out, ", conflicts %d and %d", put, get);
}

static void write_count(base_text *out, int64_t count, const char *word, int width) {
    base_text_format(out, "%lld %s%s", (long long)count, word, plural(count));
    if (width > 1)
        base_text_format(out, " of %d", width);
}

static void write_mechanism(page *p, const compile_report_conversion *row) {
    base_text *out = p->out;
    begin_line(p, 2);
    base_text_format(out, "by %s: ", layout_class_name(row->mechanism));
    if (row->mechanism == LAYOUT_FORWARD || row->mechanism == LAYOUT_RENAME) {
        base_text_string(out, row->mechanism == LAYOUT_FORWARD
                                  ? "the same slots of the same threads, nothing moves\n"
                                  : "other slots of the same threads, nothing moves\n");
        return;
    }
    if (row->mechanism == LAYOUT_SHUFFLE) {
        write_count(out, row->shuffles, "shuffle", 1);
        base_text_string(out, " and ");
        write_count(out, row->selects, "select", 1);
        base_text_string(out, " a thread");
    } else {
        base_text_format(out, "%lld bytes, ", (long long)row->scratch_bytes);
        write_count(out, row->puts, "put", row->put_width);
        base_text_string(out, " and ");
        write_count(out, row->gets, "get", row->get_width);
        base_text_string(out, " a thread");
        write_conflicts(out, row->put_conflicts, row->get_conflicts);
        base_text_string(out, ", ");
        write_count(out, row->barriers, "barrier", 1);
    }
    end_line(p);
    if (row->price < 0)
        return;
    begin_line(p, 2);
    base_text_string(out, "estimated ");
    write_cycles(out, row->price);
    base_text_format(out, ", by %s ", layout_class_name(row->alternative));
    if (row->alternative_price >= 0)
        write_cycles(out, row->alternative_price);
    else
        base_text_string(out, "not possible");
    base_text_string(out, ", in cycles of a subgroup\n");
}

static void write_conversions(page *p) {
    p->label = "convert";
    for (int64_t i = 0; i < p->report->conversion_count; i++) {
        const compile_report_conversion *row = &p->report->conversions[i];
        begin_line(p, 0);
        base_text_format(p->out, "%s -> %s, %s: %s", row->source, row->result,
                         base_dtype_name(row->dtype), row->source_layout);
        if (strlen(row->source_layout) + strlen(row->result_layout) > LONG_LAYOUT + 8) {
            end_line(p);
            begin_line(p, 1);
        }
        base_text_format(p->out, " -> %s\n", row->result_layout);
        write_mechanism(p, row);
    }
}

const char *cli_explain_proof(const pass_conversion *removed) {
    switch (removed->kind) {
    case PASS_CONVERSION_SAME:
        return "its operand is fixed to the same owners";
    case PASS_CONVERSION_INVERSE:
        return "the first value is fixed to the same owners";
    case PASS_CONVERSION_CHAIN:
        return "owner maps compose";
    case PASS_CONVERSION_KIND_COUNT:
        break;
    }
    return "";
}

static void write_fixed(base_text *out, const layout_axis *owners) {
    if (owners != NULL)
        layout_axis_spell(out, owners);
    else
        base_text_string(out, "free");
}

static void write_rewritten(page *p) {
    static const char *const deeds[] = {
        [PASS_CONVERSION_SAME] = "a conversion that changes nothing is gone",
        [PASS_CONVERSION_INVERSE] = "a conversion that undoes those before it is gone",
        [PASS_CONVERSION_CHAIN] = "one conversion does the work of several"};
    const pass_log *log = p->report->log;
    p->label = "rewritten";
    for (int64_t i = 0; i < log->conversion_count; i++) {
        const pass_conversion *row = &log->conversions[i];
        begin_line(p, 0);
        base_text_format(p->out, "line %d: %s\n", row->location.line, deeds[row->kind]);
        begin_line(p, 2);
        base_text_format(p->out, "proof: %s, ", cli_explain_proof(row));
        write_fixed(p->out, row->source);
        if (row->kind == PASS_CONVERSION_CHAIN) {
            base_text_string(p->out, " -> ");
            write_fixed(p->out, row->destination);
        }
        end_line(p);
    }
}

/* ---- reductions ---- */

static void write_reductions(page *p) {
    p->label = "reduce";
    for (int64_t i = 0; i < p->report->reduction_count; i++) {
        const compile_report_reduction *row = &p->report->reductions[i];
        begin_line(p, 0);
        base_text_format(p->out, "%s over %s in %s: %lld %s%s x %lld slot%s", row->anchor,
                         row->axis, base_dtype_name(row->state), (long long)row->threads, worker(p),
                         plural(row->threads), (long long)row->slots, plural(row->slots));
        if (row->steps != 1)
            base_text_string(p->out, ", in steps");
        if (row->partials > 0) {
            base_text_format(p->out, "; %lld partials, %lld bytes, ", (long long)row->partials,
                             (long long)row->scratch_bytes);
            write_count(p->out, row->barriers, "barrier", 1);
        } else if (row->threads > 1) {
            base_text_string(p->out, "; inside a subgroup, no barrier");
        }
        end_line(p);
    }
}

/* ---- memory ---- */

/* A line of its own below the access. */
static void write_policy(page *p, const compile_report_access *row) {
    if (row->policy == IR_POLICY_DEFAULT)
        return;
    begin_line(p, 2);
    base_text_format(p->out, "policy %s ", ir_policy_name(row->policy));
    if (row->ignored == NULL)
        base_text_string(p->out, "obeyed");
    else if (row->obeyed == 0)
        base_text_format(p->out, "ignored: %s", row->ignored);
    else
        base_text_format(p->out, "obeyed by %lld: %s", (long long)row->obeyed, row->ignored);
    end_line(p);
}

/* Another: whose row comes while this one is worked on. */
static void write_prefetch(page *p, const compile_report_access *row) {
    if (row->prefetch == 0)
        return;
    begin_line(p, 2);
    base_text_format(p->out, "prefetch of %d ", row->prefetch);
    base_text_format(p->out, "program%s on, in sweep %d of those that read, beside %lld",
                     row->prefetch == 1 ? "" : "s", row->prefetch_sweep,
                     (long long)row->prefetching);
    end_line(p);
}

static void write_accesses(page *p) {
    const compile_report *report = p->report;
    int width = 0;
    for (int64_t i = 0; i < report->access_count; i++) {
        int length = (int)strlen(report->accesses[i].anchor);
        width = length > width ? length : width;
    }
    p->label = "memory";
    for (int64_t i = 0; i < report->access_count; i++) {
        const compile_report_access *row = &report->accesses[i];
        begin_line(p, 0);
        base_text_format(p->out, "%-*s  %-5s  ", width, row->anchor,
                         row->is_store ? "store" : "load");
        if (row->groups > 0)
            write_count(p->out, row->groups, "group", row->width);
        if (row->groups > 0 && row->elements > 0)
            base_text_string(p->out, " and ");
        if (row->elements > 0 || row->groups == 0)
            write_count(p->out, row->elements, "single", 1);
        base_text_format(p->out, ", %s, a %s", base_dtype_name(row->dtype),
                         report->by_team ? "team" : "thread");
        if (row->uniform)
            base_text_string(p->out, ", the same in all");
        if (row->guarded > 0)
            base_text_format(p->out, ", %lld guarded", (long long)row->guarded);
        if (row->looped > 0)
            base_text_format(p->out, ", %lld in loops", (long long)row->looped);
        if (row->waits)
            base_text_format(p->out, ", waiting in %s", row->tensor);
        end_line(p);
        write_policy(p, row);
        write_prefetch(p, row);
    }
}

/* Those that serve the same accesses stand together. */
static bool same_accesses(const compile_report_condition *a, const compile_report_condition *b) {
    bool same = a->access_count == b->access_count && a->ragged == b->ragged;
    for (int64_t i = 0; same && i < a->access_count; i++)
        same = strcmp(a->accesses[i], b->accesses[i]) == 0;
    return same;
}

static void write_conditions(page *p) {
    const compile_report *report = p->report;
    p->label = "conditions";
    for (int64_t i = 0; i < report->condition_count; i++) {
        const compile_report_condition *row = &report->conditions[i];
        int64_t column = 0;
        bool said = false;
        for (int64_t k = 0; k < i; k++)
            said = said || same_accesses(&report->conditions[k], row);
        if (said)
            continue;
        begin_line(p, 0);
        for (int64_t k = i; k < report->condition_count; k++)
            if (same_accesses(&report->conditions[k], row))
                base_text_format(p->out, "%s%s", k > i ? ", " : "", report->conditions[k].text);
        base_text_string(p->out, " would serve ");
        for (int64_t k = 0; k < row->access_count; k++)
            write_word(p, &column, row->accesses[k]);
        end_line(p);
    }
}

const char *cli_explain_part(const compile_report_index *index) {
    static const char *const names[] = {[COMPILE_REPORT_BASE] = "base",
                                        [COMPILE_REPORT_LANES] = "lanes",
                                        [COMPILE_REPORT_VECTOR] = "vector"};
    return names[index->part];
}

static void write_index(page *p, int bits, const char *head) {
    int64_t column = 0;
    base_text word;
    base_text_init(&word, p->out->arena);
    for (int64_t i = 0; i < p->report->index_count; i++) {
        const compile_report_index *row = &p->report->indices[i];
        if (row->bits != bits || row->part == COMPILE_REPORT_BASE)
            continue;
        bool first = column == 0;
        if (first) {
            begin_line(p, 0);
            base_text_string(p->out, head);
            column = (int64_t)strlen(head);
        }
        word.length = 0;
        base_text_format(&word, "%s[%d]", row->anchor, row->dimension);
        if (row->ranged)
            base_text_format(&word, " in [%lld, %lld]", (long long)row->low, (long long)row->high);
        if (first) {
            base_text_string(p->out, word.bytes);
            column += word.length + 2;
        } else {
            write_word(p, &column, word.bytes);
        }
    }
    if (column > 0)
        end_line(p);
}

static void write_indices(page *p) {
    p->label = "index";
    write_index(p, 32, "fits 32 bits by proof: ");
    write_index(p, 64, "64 bits: ");
    if (p->report->index_count > 0) {
        begin_line(p, 0);
        base_text_string(p->out, "bases of programs and loops: 64 bits\n");
    }
}

/* ---- barriers and arrays ---- */

static void write_owners_of_arrays(page *p, int64_t *column, const char *verb, const char **owners,
                                   int count) {
    for (int i = 0; i < count; i++) {
        base_text word;
        base_text_init(&word, p->out->arena);
        base_text_format(&word, "%s%s", i == 0 ? verb : "", owners[i]);
        write_word(p, column, word.bytes);
    }
}

static void write_barriers(page *p) {
    const compile_report *report = p->report;
    p->label = "barriers";
    for (int64_t i = 0; i < report->barrier_count; i++) {
        const compile_report_barrier *row = &report->barriers[i];
        int64_t column = 0;
        begin_line(p, 0);
        base_text_format(p->out, "line %d: ", row->location.line);
        write_owners_of_arrays(p, &column, "publishes ", row->publishes, row->publish_count);
        write_owners_of_arrays(p, &column, "releases ", row->releases, row->release_count);
        if (row->publish_count + row->release_count == 0)
            base_text_string(p->out, "before all threads store alike what they read");
        if (row->scope == IR_SCOPE_SUBGROUP)
            base_text_string(p->out, ", each subgroup for itself");
        base_text_string(p->out, row->looped ? ", in a loop\n" : "\n");
    }
    if (report->barrier_count == 0) {
        begin_line(p, 0);
        base_text_string(p->out, "none\n");
    }
}

static void write_arrays(page *p) {
    const compile_report *report = p->report;
    p->label = "arrays";
    for (int64_t i = 0; i < report->allocation_count; i++) {
        const compile_report_allocation *row = &report->allocations[i];
        begin_line(p, 0);
        base_text_format(p->out, "%s: %s cells of %s in %s", row->owner, row->cells,
                         base_dtype_name(row->dtype),
                         row->is_private ? "the workspace" : "scratch");
        if (row->bytes >= 0)
            base_text_format(p->out, ", %lld bytes", (long long)row->bytes);
        end_line(p);
    }
    begin_line(p, 0);
    base_text_format(p->out, "scratch %lld of %lld bytes a group, workspace ",
                     (long long)report->scratch_bytes, (long long)report->machine->scratch_bytes);
    if (report->workspace_bytes >= 0)
        base_text_format(p->out, "%lld bytes\n", (long long)report->workspace_bytes);
    else
        base_text_string(p->out, "by the run's sizes\n");
}

void cli_explain_text(base_text *out, const compile_report *report) {
    page p = {.out = out, .report = report};
    write_head(&p);
    write_erased(&p);
    if (report->planning != NULL)
        cli_explain_choice_text(out, report->planning);
    write_owners(&p);
    write_conversions(&p);
    write_rewritten(&p);
    write_reductions(&p);
    write_accesses(&p);
    write_conditions(&p);
    write_indices(&p);
    write_barriers(&p);
    write_arrays(&p);
    if (report->planning != NULL)
        cli_explain_prices_text(out, report->planning);
}
