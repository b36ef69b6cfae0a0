/* The report of `croft explain` for programs. docs/explain.md lists the keys; a key stays what it
 * is within one number of the schema. */
#include "explain.h"

#include "base/json.h"
#include "ir/print.h"

static void write_line(base_json *json, base_location location) {
    base_json_integer(json, "line", location.line);
    base_json_integer(json, "column", location.column);
}

/* A price, or null: not possible. */
static void write_price(base_json *json, const char *key, double price) {
    if (price >= 0)
        base_json_real(json, key, price);
    else
        base_json_null(json, key);
}

/* A number, or null where the run decides. */
static void write_known(base_json *json, const char *key, bool known, int64_t number) {
    if (known)
        base_json_integer(json, key, number);
    else
        base_json_null(json, key);
}

static void write_head(base_json *json, const compile_report *report) {
    const layout_extents *extents = &report->module->extents;
    base_json_string(json, "kernel", report->kernel);
    base_json_string(json, "machine", report->machine->name);
    base_json_object(json, "sizes");
    for (int64_t i = 0; i < extents->symbol_count; i++)
        write_known(json, extents->symbols[i].name, extents->symbols[i].known,
                    extents->symbols[i].value);
    base_json_close(json);
    base_text plan;
    base_text_init(&plan, json->out->arena);
    ir_plan_print(&plan, report->plan);
    base_json_object(json, "plan");
    base_json_hash(json, "hash", report->plan_hash);
    base_json_hash(json, "canonical", report->canonical_hash);
    base_json_string(json, "text", plan.bytes);
    base_json_close(json);
    base_json_object(json, "group");
    base_json_integer(json, "threads", report->threads);
    base_json_integer(json, "subgroups", report->subgroups);
    base_json_string(json, "groups", report->groups);
    base_json_string(json, "counted", report->by_team ? "team" : "thread");
    base_json_close(json);
    base_json_integer(json, "erased_layouts", report->log->erased);
}

static void write_values(base_json *json, const compile_report *report) {
    base_json_array(json, "value_layouts");
    for (int64_t i = 0; i < report->value_count; i++) {
        const compile_report_value *row = &report->values[i];
        base_json_object(json, NULL);
        base_json_string(json, "value", row->anchor);
        write_line(json, row->location);
        base_json_string(json, "dtype", base_dtype_name(row->dtype));
        base_json_string(json, "shape", row->shape);
        base_json_string(json, "layout", row->layout);
        base_json_bool(json, "fixed", row->fixed);
        base_json_integer(json, "threads", row->threads);
        base_json_integer(json, "slots", row->slots);
        write_known(json, "steps", row->steps > 0, row->steps);
        base_json_integer(json, "replication", row->replication);
        base_json_string(json, "storage", row->storage);
        base_json_string(json, "access", row->access);
        base_json_close(json);
    }
    base_json_close(json);
}

static void write_conversions(base_json *json, const compile_report *report) {
    base_json_array(json, "layout_conversions");
    for (int64_t i = 0; i < report->conversion_count; i++) {
        const compile_report_conversion *row = &report->conversions[i];
        bool scratch = row->mechanism == LAYOUT_SCRATCH, other = row->needed > LAYOUT_RENAME;
        base_json_object(json, NULL);
        base_json_string(json, "anchor", row->anchor);
        write_line(json, row->location);
        base_json_string(json, "source", row->source);
        base_json_string(json, "result", row->result);
        base_json_string(json, "dtype", base_dtype_name(row->dtype));
        base_json_string(json, "source_layout", row->source_layout);
        base_json_string(json, "result_layout", row->result_layout);
        base_json_string(json, "class", layout_class_name(row->needed));
        base_json_string(json, "mechanism", layout_class_name(row->mechanism));
        base_json_integer(json, "shuffles", row->shuffles);
        base_json_integer(json, "selects", row->selects);
        base_json_integer(json, "scratch_bytes", row->scratch_bytes);
        base_json_integer(json, "puts", row->puts);
        base_json_integer(json, "put_width", row->put_width);
        base_json_integer(json, "gets", row->gets);
        base_json_integer(json, "get_width", row->get_width);
        write_known(json, "put_conflicts", scratch && row->put_conflicts > 0, row->put_conflicts);
        write_known(json, "get_conflicts", scratch && row->get_conflicts > 0, row->get_conflicts);
        base_json_integer(json, "barriers", row->barriers);
        write_price(json, "price", row->price);
        base_json_string(json, "alternative", other ? layout_class_name(row->alternative) : NULL);
        write_price(json, "alternative_price", other ? row->alternative_price : -1);
        base_json_close(json);
    }
    base_json_close(json);
}

/* null: free. */
static void write_owners(base_json *json, const char *key, const layout_axis *owners) {
    base_text text;
    base_text_init(&text, json->out->arena);
    if (owners != NULL)
        layout_axis_spell(&text, owners);
    base_json_string(json, key, owners != NULL ? text.bytes : NULL);
}

static void write_optimizations(base_json *json, const compile_report *report) {
    const pass_log *log = report->log;
    base_json_array(json, "layout_optimizations");
    for (int64_t i = 0; i < log->conversion_count; i++) {
        const pass_conversion *row = &log->conversions[i];
        base_json_object(json, NULL);
        base_json_string(json, "kind", pass_conversion_kind_name(row->kind));
        base_json_string(json, "anchor", row->anchor);
        base_json_string(json, "through", row->through);
        write_line(json, row->location);
        write_owners(json, "source_layout", row->source);
        write_owners(json, "result_layout", row->destination);
        base_json_string(json, "proof", cli_explain_proof(row));
        base_json_close(json);
    }
    base_json_close(json);
}

static void write_reductions(base_json *json, const compile_report *report) {
    base_json_array(json, "register_reductions");
    for (int64_t i = 0; i < report->reduction_count; i++) {
        const compile_report_reduction *row = &report->reductions[i];
        base_json_object(json, NULL);
        base_json_string(json, "anchor", row->anchor);
        write_line(json, row->location);
        base_json_string(json, "operation", ir_monoid_describe(row->monoid)->text);
        base_json_string(json, "axis", row->axis);
        base_json_string(json, "dtype", base_dtype_name(row->dtype));
        base_json_string(json, "state", base_dtype_name(row->state));
        base_json_integer(json, "threads", row->threads);
        base_json_integer(json, "slots", row->slots);
        write_known(json, "steps", row->steps > 0, row->steps);
        base_json_integer(json, "subgroups", row->subgroups);
        base_json_integer(json, "partials", row->partials);
        base_json_integer(json, "scratch_bytes", row->scratch_bytes);
        base_json_integer(json, "barriers", row->barriers);
        base_json_close(json);
    }
    base_json_close(json);
}

static void write_accesses(base_json *json, const compile_report *report, bool stores) {
    base_json_array(json, stores ? "grouped_stores" : "grouped_loads");
    for (int64_t i = 0; i < report->access_count; i++) {
        const compile_report_access *row = &report->accesses[i];
        if (row->is_store != stores)
            continue;
        base_json_object(json, NULL);
        base_json_string(json, "anchor", row->anchor);
        base_json_string(json, "tensor", row->tensor);
        write_line(json, row->location);
        base_json_string(json, "dtype", base_dtype_name(row->dtype));
        base_json_integer(json, "width", row->width);
        base_json_integer(json, "groups", row->groups);
        base_json_integer(json, "singles", row->elements);
        base_json_integer(json, "guarded", row->guarded);
        base_json_integer(json, "guards", row->guards);
        base_json_integer(json, "in_loops", row->looped);
        base_json_bool(json, "uniform", row->uniform);
        base_json_bool(json, "waits", row->waits);
        base_json_string(json, "policy", ir_policy_name(row->policy));
        base_json_integer(json, "obeyed", row->obeyed);
        base_json_string(json, "ignored", row->ignored);
        base_json_integer(json, "prefetch", row->prefetch);
        base_json_integer(json, "prefetch_sweep", row->prefetch_sweep);
        base_json_integer(json, "prefetching", row->prefetching);
        base_json_close(json);
    }
    base_json_close(json);
}

/* All of them together, for one thread or, on a cpu, one register of lanes. */
static void write_widths(base_json *json, const compile_report *report) {
    base_json_array(json, "grouped_widths");
    for (int i = 0; i < report->grouped.count; i++) {
        const analysis_grouped_row *row = &report->grouped.rows[i];
        base_json_object(json, NULL);
        base_json_integer(json, "width", row->width);
        base_json_integer(json, "loads", row->loads);
        base_json_integer(json, "stores", row->stores);
        base_json_close(json);
    }
    base_json_close(json);
}

static void write_indices(base_json *json, const compile_report *report) {
    base_json_array(json, "index_widths");
    for (int64_t i = 0; i < report->index_count; i++) {
        const compile_report_index *row = &report->indices[i];
        base_json_object(json, NULL);
        base_json_string(json, "access", row->anchor);
        base_json_integer(json, "dimension", row->dimension);
        base_json_string(json, "part", cli_explain_part(row));
        base_json_integer(json, "bits", row->bits);
        write_known(json, "low", row->ranged, row->low);
        write_known(json, "high", row->ranged, row->high);
        base_json_close(json);
    }
    base_json_close(json);
}

static void write_names(base_json *json, const char *key, const char **names, int count) {
    base_json_array(json, key);
    for (int i = 0; i < count; i++)
        base_json_string(json, NULL, names[i]);
    base_json_close(json);
}

static void write_barriers(base_json *json, const compile_report *report) {
    base_json_array(json, "barriers");
    for (int64_t i = 0; i < report->barrier_count; i++) {
        const compile_report_barrier *row = &report->barriers[i];
        base_json_object(json, NULL);
        write_line(json, row->location);
        write_names(json, "publishes", row->publishes, row->publish_count);
        write_names(json, "releases", row->releases, row->release_count);
        base_json_bool(json, "in_loop", row->looped);
        base_json_string(json, "scope", ir_scope_name(row->scope));
        base_json_close(json);
    }
    base_json_close(json);
}

static void write_conditions(base_json *json, const compile_report *report) {
    base_json_array(json, "conditions");
    for (int64_t i = 0; i < report->condition_count; i++) {
        const compile_report_condition *row = &report->conditions[i];
        base_json_object(json, NULL);
        base_json_string(json, "condition", row->text);
        base_json_string(json, "kind", layout_condition_describe(row->condition.kind)->name);
        base_json_string(json, "subject", row->subject);
        base_json_integer(json, "amount", row->condition.amount);
        write_names(json, "accesses", row->accesses, (int)row->access_count);
        base_json_close(json);
    }
    base_json_close(json);
}

static void write_allocations(base_json *json, const compile_report *report) {
    base_json_object(json, "allocations");
    base_json_integer(json, "scratch_bytes", report->scratch_bytes);
    base_json_integer(json, "scratch_limit_bytes", report->machine->scratch_bytes);
    write_known(json, "workspace_bytes", report->workspace_bytes >= 0, report->workspace_bytes);
    base_json_array(json, "arrays");
    for (int64_t i = 0; i < report->allocation_count; i++) {
        const compile_report_allocation *row = &report->allocations[i];
        base_json_object(json, NULL);
        base_json_string(json, "owner", row->owner);
        base_json_string(json, "memory", row->is_private ? "workspace" : "scratch");
        base_json_string(json, "dtype", base_dtype_name(row->dtype));
        base_json_string(json, "cells", row->cells);
        write_known(json, "bytes", row->bytes >= 0, row->bytes);
        base_json_close(json);
    }
    base_json_close(json);
    base_json_close(json);
}

void cli_explain_json(base_json *json, const compile_report *report) {
    write_head(json, report);
    if (report->planning != NULL)
        cli_explain_choice_json(json, report->planning);
    else
        base_json_null(json, "planned");
    write_values(json, report);
    write_conversions(json, report);
    write_optimizations(json, report);
    write_reductions(json, report);
    write_accesses(json, report, false);
    write_accesses(json, report, true);
    base_json_integer(json, "guarded_accesses", report->guards);
    write_widths(json, report);
    write_indices(json, report);
    write_barriers(json, report);
    write_conditions(json, report);
    write_allocations(json, report);
    base_json_null(json, "from_ptxas");
}
