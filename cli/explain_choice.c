/* Why the plan is what it is: the planner's reasons in the report of `croft explain`.
 *
 *       planned     row program, admitted: 1 width, 2 reductions, 2 tiles used in several passes
 *       predicted   71.36 us by cuda, with R = 8192
 *                   = launch 0.53 + memory 62.52 + ..
 *       next best   71.39 us  w=128 v=2 u=1 p=1 slot, again
 *       refused     24  slots          128 to 4096 slots of a worker: at most 64
 *
 * Prices are of a whole launch; what only the call knows is taken at a value, which is said. What
 * is next best may be cheaper than the choice, where that is the standard plan.
 */
#include "explain.h"

#include "candidates.h"

#include <string.h>

enum { LABEL_WIDTH = 12, NEXT_BEST = 3, PAGE_CANDIDATES = 24, BAR_PIXELS = 200 };

static void write_label(base_text *out, const char *label) {
    base_text_format(out, "  %-*s", LABEL_WIDTH, label);
}

/* ---- what the search found ---- */

/* Of all candidates, where the planner took the standard plan without looking at others. */
static const planner_search *search_of(const planner_report *planning) {
    planner_setting all;
    base_diagnostics *nothing = NULL;
    if (planning->search != NULL)
        return planning->search;
    planner_setting_parse(NULL, &all, nothing);
    return planner_search_run(planning->program, &all, planning->model, planning->coefficients);
}

static bool is_chosen(const planner_report *planning, const planner_candidate *candidate) {
    const planner_candidate *chosen = &planning->chosen;
    return candidate->lanes == chosen->lanes && candidate->subgroups == chosen->subgroups &&
           candidate->vector == chosen->vector && candidate->unroll == chosen->unroll &&
           candidate->packed == chosen->packed && candidate->parts == chosen->parts &&
           candidate->blocks == chosen->blocks && candidate->stepped == chosen->stepped &&
           candidate->shifted == chosen->shifted && candidate->keeping == chosen->keeping;
}

static void write_choice(base_text *out, const planner_candidate *c) {
    base_text_format(out, "w=%lld v=%lld u=%lld p=%lld", (long long)planner_candidate_workers(c),
                     (long long)c->vector, (long long)c->unroll, (long long)c->packed);
    if (c->blocks > 1)
        base_text_format(out, " b=%lld", (long long)c->blocks);
    if (c->parts > 1)
        base_text_format(out, " g=%lld", (long long)c->parts);
    base_text_format(out, " %s, %s%s", c->stepped ? "step" : "slot",
                     planner_keeping_name(c->keeping), c->shifted ? ", shifted" : "");
}

/* A time, or a score without a unit. */
static void write_price(base_text *out, double price, bool is_time) {
    cli_candidates_amount(out, price, 0);
    base_text_string(out, is_time ? " us" : "");
}

/* The cheapest that are not the choice, from order[*next] on; NULL behind the last one. */
static const planner_candidate *next_best(const planner_report *planning,
                                          const planner_search *search, const cli_ranked *order,
                                          int64_t *next) {
    while (*next < search->count) {
        const planner_candidate *c = order[(*next)++].candidate;
        if (c->refusal == PLANNER_LEGAL && c->priced && !is_chosen(planning, c))
            return c;
    }
    return NULL;
}

/* ---- text ---- */

static void write_count(base_text *out, int64_t count, const char *what) {
    if (count > 0)
        base_text_format(out, "%s%lld %s%s", out->length > 0 ? ", " : "", (long long)count, what,
                         count == 1 ? "" : "s");
}

static void write_admitted(base_text *out, const planner_report *planning) {
    const planner_admission *found = &planning->admission;
    base_text counts;
    base_text_init(&counts, out->arena);
    write_count(&counts, found->widths, "width");
    write_count(&counts, found->reductions, "reduction");
    write_count(&counts, found->loads, "load");
    write_count(&counts, found->stores, "store");
    write_count(&counts, found->gathers, "gather");
    if (found->kept > 0)
        base_text_format(&counts, ", %lld tile%s used in several passes", (long long)found->kept,
                         found->kept == 1 ? "" : "s");
    write_label(out, "planned");
    base_text_format(out, "row program, admitted: %s\n", counts.bytes);
    if (found->packing == PLANNER_NO_OBSTACLE)
        return;
    write_label(out, "");
    base_text_format(out, "its programs cannot share a group: %s\n",
                     planner_obstacle_describe(found->packing)->reason);
}

/* What makes a hundredth of the price or more, and the rest together. */
static void write_causes(base_text *out, const cost_estimate *estimate) {
    double rest = estimate->total;
    const char *before = "= ";
    for (int i = 0; i < estimate->cause_count; i++) {
        const cost_cause *cause = &estimate->causes[i];
        if (cause->amount < estimate->total / 100)
            continue;
        base_text_format(out, "%s%s ", before, cause->name);
        cli_candidates_amount(out, cause->amount, 0);
        before = " + ";
        rest -= cause->amount;
    }
    if (rest >= 0.005) {
        base_text_format(out, "%sothers ", before);
        cli_candidates_amount(out, rest, 0);
    }
    base_text_string(out, "\n");
}

static void write_predicted(base_text *out, const planner_report *planning) {
    cost_estimate estimate = planner_price(planning->program, &planning->chosen, planning->model,
                                           planning->coefficients);
    write_label(out, "predicted");
    if (!estimate.available) {
        base_text_format(out, "nothing: %s is not known\n", estimate.missing);
        return;
    }
    write_price(out, estimate.total, estimate.is_time);
    base_text_format(out, " by %s", cost_model_name(planning->model));
    cli_candidates_taken(out, planning->program, ", with ");
    base_text_string(out, "\n");
    write_label(out, "");
    write_causes(out, &estimate);
}

static void write_others(base_text *out, const planner_report *planning,
                         const planner_search *search) {
    const cli_ranked *order = cli_candidates_order(out->arena, search);
    const planner_candidate *c;
    const char *label = "next best";
    int64_t next = 0;
    for (int i = 0; i < NEXT_BEST && (c = next_best(planning, search, order, &next)) != NULL; i++) {
        write_label(out, label);
        write_price(out, c->price, search->is_time);
        base_text_string(out, "  ");
        write_choice(out, c);
        base_text_string(out, "\n");
        label = "";
    }
    label = "refused";
    for (int reason = PLANNER_LEGAL + 1; reason < PLANNER_REFUSAL_COUNT; reason++) {
        base_text line;
        base_text_init(&line, out->arena);
        if (!cli_candidates_refusal(&line, search, (planner_refusal)reason))
            continue;
        write_label(out, label);
        base_text_format(out, "%s\n", line.bytes + strspn(line.bytes, " "));
        label = "";
    }
}

void cli_explain_choice_text(base_text *out, const planner_report *planning) {
    switch (planning->kind) {
    case PLANNER_BY_SEARCH:
        write_admitted(out, planning);
        return;
    case PLANNER_BY_OBSTACLE:
        write_label(out, "planned");
        base_text_format(out, "programs side by side; no row plan: %s [%s]\n",
                         planner_obstacle_describe(planning->admission.row)->reason,
                         planner_obstacle_describe(planning->admission.row)->slug);
        return;
    case PLANNER_BY_TEXT:
        write_label(out, "planned");
        base_text_string(out, "as the kernel's text fixes who owns what\n");
        return;
    case PLANNER_BY_REQUEST:
        write_label(out, "planned");
        base_text_string(out, "programs side by side, as was asked for\n");
        return;
    }
}

void cli_explain_prices_text(base_text *out, const planner_report *planning) {
    if (planning->kind != PLANNER_BY_SEARCH)
        return;
    write_predicted(out, planning);
    write_others(out, planning, search_of(planning));
}

/* ---- json ---- */

void cli_explain_choice_json(base_json *json, const planner_report *planning) {
    static const char *const kinds[] = {[PLANNER_BY_SEARCH] = "search",
                                        [PLANNER_BY_TEXT] = "text",
                                        [PLANNER_BY_REQUEST] = "request",
                                        [PLANNER_BY_OBSTACLE] = "obstacle"};
    base_arena *arena = json->out->arena;
    base_json_object(json, "planned");
    base_json_string(json, "by", kinds[planning->kind]);
    base_json_string(json, "obstacle",
                     planning->kind == PLANNER_BY_OBSTACLE
                         ? planner_obstacle_describe(planning->admission.row)->slug
                         : NULL);
    if (planning->kind == PLANNER_BY_SEARCH) {
        const planner_search *search = search_of(planning);
        const cli_ranked *order = cli_candidates_order(arena, search);
        base_json_string(json, "model", cost_model_name(planning->model));
        base_json_array(json, "chosen");
        cli_candidates_json(json, arena, planning, &planning->chosen, true);
        base_json_close(json);
        base_json_array(json, "next_best");
        const planner_candidate *c;
        int64_t next = 0, legal = cli_candidates_legal(search);
        for (int i = 0; i < NEXT_BEST && (c = next_best(planning, search, order, &next)) != NULL;
             i++)
            cli_candidates_json(json, arena, planning, c, false);
        base_json_close(json);
        base_json_integer(json, "candidates", legal);
        base_json_integer(json, "refused", search->count - legal);
    }
    base_json_close(json);
}

/* ---- the table of a page ---- */

static void write_row(base_text *out, const planner_report *planning, const planner_candidate *c,
                      double most) {
    cost_estimate estimate =
        planner_price(planning->program, c, planning->model, planning->coefficients);
    base_text_string(out, is_chosen(planning, c) ? "<tr><th>chosen</th><td>" : "<tr><td></td><td>");
    write_price(out, c->price, estimate.is_time);
    base_text_format(out, "</td><td><div style=\"width:%dpx;height:.7em;background:#4a7ebb\">",
                     most > 0 ? (int)(c->price / most * BAR_PIXELS) : 0);
    base_text_string(out, "</div></td><td>");
    write_choice(out, c);
    base_text_string(out, "</td><td>");
    cli_candidates_estimate(out, &estimate);
    base_text_string(out, "</td></tr>\n");
}

/* The first of the order, and what was chosen wherever it stands. */
static bool is_shown(const planner_report *planning, const cli_ranked *order, int64_t i) {
    const planner_candidate *c = order[i].candidate;
    return c->refusal == PLANNER_LEGAL && c->priced &&
           (i < PAGE_CANDIDATES || is_chosen(planning, c));
}

void cli_explain_choice_table(base_text *out, const planner_report *planning) {
    if (planning->kind != PLANNER_BY_SEARCH)
        return;
    const planner_search *search = search_of(planning);
    const cli_ranked *order = cli_candidates_order(out->arena, search);
    double most = 0;
    int64_t shown = 0;
    for (int64_t i = 0; i < search->count; i++)
        if (is_shown(planning, order, i) && order[i].candidate->price > most)
            most = order[i].candidate->price;
    base_text_string(out, "<h2>Candidates</h2>\n<table>\n<tr><th></th><th>price</th><th></th>"
                          "<th>plan</th><th>because</th></tr>\n");
    for (int64_t i = 0; i < search->count; i++)
        if (is_shown(planning, order, i)) {
            write_row(out, planning, order[i].candidate, most);
            shown++;
        }
    base_text_format(out, "</table>\n<p>%lld of %lld</p>\n", (long long)shown,
                     (long long)cli_candidates_legal(search));
}
