/* Plans for programs: one line by line, and all that it was chosen from.
 *
 *     "lines": {"axis": [{"anchor": "N", "decision": "slot 4 | lane 32 | step *",
 *                         "digits": [{"holder": "slot", "radix": 4, "stride": null}, ...],
 *                         "exclusive_or": 0, "shift": null}], ...}
 *
 * The decision of a line is what the plan's text says behind the anchor; what else a line holds is
 * the same, taken apart. docs/schemas/plan.json and plan-all.json.
 */
#include "plan_json.h"

#include "candidates.h"

#include "ir/print.h"

#include <string.h>

/* ---- a plan ---- */

/* 0 is a radix that the run decides, or a stride in the order of the digits. */
static void write_positive(base_json *json, const char *key, int64_t number) {
    if (number > 0)
        base_json_integer(json, key, number);
    else
        base_json_null(json, key);
}

static void write_digits(base_json *json, const ir_plan_line *line) {
    base_json_array(json, "digits");
    for (int i = 0; i < line->digits.count; i++) {
        const layout_digit *digit = &line->digits.digits[i];
        base_json_object(json, NULL);
        base_json_string(json, "holder", layout_holder_name(digit->holder));
        write_positive(json, "radix", digit->radix);
        write_positive(json, "stride", digit->stride);
        base_json_close(json);
    }
    base_json_close(json);
    base_json_integer(json, "exclusive_or", line->digits.exclusive_or);
    base_json_string(json, "shift", line->digits.shift);
}

/* What the kinds have beside the decision as a text. */
static void write_parts(base_json *json, ir_plan_kind kind, const ir_plan_line *line) {
    switch (kind) {
    case IR_PLAN_AXIS:
        write_digits(json, line);
        return;
    case IR_PLAN_KEEP:
        base_json_string(json, "storage", ir_storage_name(line->storage));
        base_json_string(json, "of", line->of);
        return;
    case IR_PLAN_REDUCE:
        base_json_string(json, "order", ir_order_name(line->order));
        return;
    case IR_PLAN_ACCESS:
        base_json_integer(json, "width", line->width);
        base_json_string(json, "policy", ir_policy_name(line->policy));
        return;
    case IR_PLAN_CONVERT:
        base_json_string(json, "mechanism", layout_class_name(line->mechanism));
        base_json_string(json, "of", line->of);
        return;
    case IR_PLAN_MATH:
    case IR_PLAN_DIV:
        base_json_string(json, "form", ir_math_form_name(line->form));
        return;
    case IR_PLAN_KIND_COUNT:
        return;
    }
}

static void write_line(base_json *json, ir_plan_kind kind, const ir_plan_line *line) {
    base_text decision;
    base_text_init(&decision, json->out->arena);
    ir_plan_decision_print(&decision, kind, line);
    base_json_object(json, NULL);
    base_json_string(json, "anchor", line->anchor);
    base_json_string(json, "decision", decision.bytes);
    write_parts(json, kind, line);
    base_json_close(json);
}

void cli_plan_identity_json(base_json *json, const ir_plan *plan) {
    base_text text;
    base_text_init(&text, json->out->arena);
    ir_plan_print(&text, plan);
    base_json_object(json, "plan");
    base_json_hash(json, "hash", ir_plan_hash(json->out->arena, plan));
    base_json_hash(json, "canonical", plan->canonical_hash);
    base_json_string(json, "machine", plan->machine);
    base_json_string(json, "text", text.bytes);
    base_json_close(json);
}

/* null: the plan was given. */
static void write_planned(base_json *json, const cli_job *job) {
    static const char *const kinds[] = {[PLANNER_BY_SEARCH] = "search",
                                        [PLANNER_BY_TEXT] = "text",
                                        [PLANNER_BY_REQUEST] = "request",
                                        [PLANNER_BY_OBSTACLE] = "obstacle"};
    const planner_report *report = &job->compiled.planning;
    bool given = job->plan.text != NULL, blocked = report->kind == PLANNER_BY_OBSTACLE;
    const planner_obstacle_row *row =
        blocked && !given ? planner_obstacle_describe(report->admission.row) : NULL;
    base_json_string(json, "planned_by", given ? NULL : kinds[report->kind]);
    base_json_string(json, "obstacle", row != NULL ? row->slug : NULL);
}

void cli_plan_json(base_json *json, const void *state) {
    const cli_job *job = state;
    const ir_plan *plan = job->compiled.plan;
    base_json_string(json, "kernel", plan->kernel);
    base_json_string(json, "machine", job->machine->name);
    cli_plan_identity_json(json, plan);
    write_planned(json, job);
    base_json_integer(json, "erased_layouts", job->compiled.log.erased);
    base_json_array(json, "made_for");
    for (int i = 0; i < plan->condition_count; i++) {
        base_json_object(json, NULL);
        base_json_string(json, "size", plan->conditions[i].symbol);
        base_json_integer(json, "value", plan->conditions[i].value);
        base_json_close(json);
    }
    base_json_close(json);
    base_json_object(json, "lines");
    for (int kind = 0; kind < IR_PLAN_KIND_COUNT; kind++) {
        base_json_array(json, ir_plan_kind_name((ir_plan_kind)kind));
        for (int64_t i = 0; i < plan->of[kind].count; i++)
            write_line(json, (ir_plan_kind)kind, &plan->of[kind].lines[i]);
        base_json_close(json);
    }
    base_json_close(json);
}

/* ---- all candidates ---- */

static void json_sizes(base_json *json, const planner_program *program) {
    const layout_extents *pool = &program->state->module->extents;
    base_json_array(json, "sizes");
    for (int64_t i = 0; i < pool->symbol_count; i++) {
        base_json_object(json, NULL);
        base_json_string(json, "name", pool->symbols[i].name);
        base_json_integer(json, "value", program->sizes[i].value);
        base_json_bool(json, "taken", !pool->symbols[i].known);
        base_json_close(json);
    }
    base_json_close(json);
}

static void json_admission(base_json *json, const planner_admission *found) {
    base_json_object(json, "admission");
    base_json_integer(json, "widths", found->widths);
    base_json_integer(json, "reductions", found->reductions);
    base_json_integer(json, "loads", found->loads);
    base_json_integer(json, "stores", found->stores);
    base_json_integer(json, "gathers", found->gathers);
    base_json_integer(json, "broadcasts", found->broadcasts);
    base_json_integer(json, "kept", found->kept);
    base_json_integer(json, "apart", found->apart);
    base_json_string(
        json, "row",
        found->row == PLANNER_NO_OBSTACLE ? NULL : planner_obstacle_describe(found->row)->slug);
    base_json_string(json, "packing",
                     found->packing == PLANNER_NO_OBSTACLE
                         ? NULL
                         : planner_obstacle_describe(found->packing)->slug);
    base_json_close(json);
}

void cli_plan_all_json(base_json *json, const void *state) {
    const cli_job *job = state;
    const planner_report *report = &job->compiled.planning;
    const planner_search *search = report->search;
    base_json_string(json, "kernel", job->compiled.plan->kernel);
    base_json_string(json, "machine", job->machine->name);
    base_json_string(json, "model", cost_model_name(report->model));
    json_sizes(json, report->program);
    json_admission(json, &report->admission);
    base_json_array(json, "candidates");
    for (int64_t i = 0; i < search->count; i++)
        cli_candidates_json(json, json->out->arena, report, &search->candidates[i],
                            i == search->best);
    base_json_close(json);
}
