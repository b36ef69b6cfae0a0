/* Candidates of the planner, for the commands that show them: their order by price, their numbers
 * and refusals as words, and all that is known of one as JSON.
 *
 *       launch 0.53 + fill 0.50 + cache 2.58               causes of a price
 *       116  slots          128 to 4096 slots of a worker: at most 64
 *
 * Which lines stand where is for each command to say. */
#include "candidates.h"

#include "ir/print.h"
#include "planner/launches.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- in their order ---- */

/* By price, then as the search came to them; what has no price last. */
static int compare_ranks(const void *left, const void *right) {
    const cli_ranked *a = left, *b = right;
    if (a->candidate->priced != b->candidate->priced)
        return a->candidate->priced ? -1 : 1;
    if (a->candidate->price != b->candidate->price)
        return a->candidate->price < b->candidate->price ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

cli_ranked *cli_candidates_order(base_arena *arena, const planner_search *search) {
    cli_ranked *order = BASE_NEW_ARRAY(arena, cli_ranked, search->count);
    for (int64_t i = 0; i < search->count; i++)
        order[i] = (cli_ranked){.candidate = &search->candidates[i], .number = i};
    qsort(order, (size_t)search->count, sizeof *order, compare_ranks);
    return order;
}

int64_t cli_candidates_legal(const planner_search *search) {
    int64_t legal = 0;
    for (int64_t i = 0; i < search->count; i++)
        legal += search->candidates[i].refusal == PLANNER_LEGAL;
    return legal;
}

/* ---- text ---- */

bool cli_candidates_taken(base_text *out, const planner_program *program, const char *before) {
    const layout_extents *pool = &program->state->module->extents;
    bool taken = false;
    for (int64_t i = 0; i < pool->symbol_count; i++) {
        if (pool->symbols[i].known)
            continue;
        base_text_format(out, "%s%s = %lld", before, pool->symbols[i].name,
                         (long long)program->sizes[i].value);
        before = ", ";
        taken = true;
    }
    return taken;
}

void cli_candidates_amount(base_text *out, double amount, int width) {
    char digits[40];
    double limited = amount < 1e12 ? amount : 1e12;
    int64_t hundredths = (int64_t)(limited * 100 + 0.5);
    snprintf(digits, sizeof digits, "%lld.%02lld", (long long)(hundredths / 100),
             (long long)(hundredths % 100));
    base_text_format(out, "%*s", width, digits);
}

void cli_candidates_estimate(base_text *out, const cost_estimate *estimate) {
    for (int i = 0; i < estimate->cause_count; i++) {
        base_text_format(out, "%s%s ", i > 0 ? " + " : "", estimate->causes[i].name);
        cli_candidates_amount(out, estimate->causes[i].amount, 0);
    }
}

bool cli_candidates_refusal(base_text *out, const planner_search *search, planner_refusal reason) {
    int64_t count = 0, least = INT64_MAX, most = 0, limit = 0;
    for (int64_t i = 0; i < search->count; i++) {
        const planner_candidate *c = &search->candidates[i];
        if (c->refusal != reason)
            continue;
        count++;
        least = c->found < least ? c->found : least;
        most = c->found > most ? c->found : most;
        limit = c->limit > limit ? c->limit : limit;
    }
    if (count == 0)
        return false;
    const planner_refusal_row *row = planner_refusal_describe(reason);
    base_text_format(out, "%6lld  %-14s %lld", (long long)count, row->slug, (long long)least);
    if (most != least)
        base_text_format(out, " to %lld", (long long)most);
    base_text_format(out, " %s: %s", row->what, row->expected);
    if (limit > 0)
        base_text_format(out, " %lld", (long long)limit);
    return true;
}

/* ---- json ---- */

static void json_estimate(base_json *json, const char *model, const cost_estimate *estimate) {
    base_json_object(json, model);
    if (!estimate->available) {
        base_json_string(json, "missing", estimate->missing);
    } else {
        base_json_real(json, "total", estimate->total);
        base_json_bool(json, "is_time", estimate->is_time);
        base_json_array(json, "causes");
        for (int i = 0; i < estimate->cause_count; i++) {
            base_json_object(json, NULL);
            base_json_string(json, "name", estimate->causes[i].name);
            base_json_real(json, "amount", estimate->causes[i].amount);
            base_json_close(json);
        }
        base_json_close(json);
    }
    base_json_close(json);
}

static void json_features(base_json *json, const char *label, const cost_facts *facts) {
    const char *name;
    int64_t value;
    base_json_object(json, label);
    for (int i = 0; planner_fact_at(facts, i, &name, &value); i++)
        base_json_integer(json, name, value);
    base_json_array(json, "domains");
    for (int i = 0; i < facts->domain_count; i++) {
        base_json_object(json, NULL);
        base_json_integer(json, "elements", facts->domains[i].elements);
        base_json_integer(json, "times", facts->domains[i].times);
        base_json_close(json);
    }
    base_json_close(json);
    base_json_close(json);
}

/* Of rows in parts those of each launch. */
static void json_facts(base_json *json, const planner_report *report, const planner_candidate *c) {
    cost_facts facts;
    if (c->parts > 1) {
        base_json_array(json, "launches");
        for (int i = 0; planner_launch_facts(c, i, &facts); i++)
            json_features(json, NULL, &facts);
        base_json_close(json);
    } else {
        planner_facts_find(report->program, c, &facts);
        json_features(json, "features", &facts);
    }
    base_json_object(json, "prices");
    for (int i = 0; cost_model_name((cost_model)i) != NULL; i++) {
        cost_estimate estimate =
            planner_price(report->program, c, (cost_model)i, report->coefficients);
        json_estimate(json, cost_model_name((cost_model)i), &estimate);
    }
    base_json_close(json);
}

static void json_storages(base_json *json, base_arena *arena, const planner_report *report,
                          const planner_candidate *c) {
    const analysis_sweeps *sweeps = &report->program->state->sweeps;
    base_json_array(json, "storage");
    for (int64_t i = 0; i < sweeps->crossing_count; i++) {
        base_json_object(json, NULL);
        base_json_string(json, "value", analysis_value_anchor(arena, sweeps->crossings[i]));
        base_json_string(json, "kept", ir_storage_name(c->storages->storage[i]));
        if (c->storages->outputs[i] != NULL)
            base_json_string(json, "of", c->storages->outputs[i]->anchor);
        base_json_close(json);
    }
    base_json_close(json);
}

void cli_candidates_json(base_json *json, base_arena *arena, const planner_report *report,
                         const planner_candidate *c, bool chosen) {
    base_json_object(json, NULL);
    base_json_integer(json, "w", planner_candidate_workers(c));
    base_json_integer(json, "s", c->subgroups);
    base_json_integer(json, "v", c->vector);
    base_json_integer(json, "u", c->unroll);
    base_json_integer(json, "p", c->packed);
    base_json_integer(json, "b", c->blocks);
    base_json_integer(json, "g", c->parts);
    base_json_string(json, "chunk", c->stepped ? "step" : "slot");
    base_json_string(json, "shift", c->shifted ? "yes" : "no");
    base_json_string(json, "keep", planner_keeping_name(c->keeping));
    if (c->refusal != PLANNER_LEGAL) {
        const planner_refusal_row *row = planner_refusal_describe(c->refusal);
        base_json_object(json, "refused");
        base_json_string(json, "slug", row->slug);
        base_json_integer(json, "found", c->found);
        base_json_string(json, "what", row->what);
        base_json_string(json, "expected", row->expected);
        if (c->limit > 0)
            base_json_integer(json, "limit", c->limit);
        base_json_close(json);
    } else {
        base_json_bool(json, "chosen", chosen);
        json_storages(json, arena, report, c);
        json_facts(json, report, c);
    }
    base_json_close(json);
}
