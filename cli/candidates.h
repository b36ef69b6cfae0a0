/* What `croft plan --all` and `croft explain` share: the planner's candidates as text and JSON. */
#ifndef CLI_CANDIDATES_H
#define CLI_CANDIDATES_H

#include "base/json.h"
#include "base/text.h"
#include "planner/planner.h"

typedef struct cli_ranked {
    const planner_candidate *candidate;
    int64_t number; /* in the search */
} cli_ranked;

/* All of the search by price, then as it came to them; what has no price last. */
cli_ranked *cli_candidates_order(base_arena *arena, const planner_search *search);
/* How many are legal. */
int64_t cli_candidates_legal(const planner_search *search);

/* `with R = 8192, N = 4096`: what stands for sizes that the plan is not made for (that of a class,
 * where the call is known), `before` in front. False: there are none, and nothing is written. */
bool cli_candidates_taken(base_text *out, const planner_program *program, const char *before);

/* Two digits behind the point, at least `width` columns. */
void cli_candidates_amount(base_text *out, double amount, int width);
/* `launch 0.53 + memory 62.52`, of an estimate that is available. */
void cli_candidates_estimate(base_text *out, const cost_estimate *estimate);
/* What was refused for this reason: how many, and the range of what was found. False: none was. */
bool cli_candidates_refusal(base_text *out, const planner_search *search, planner_refusal reason);
/* An object: the choice, and its features and prices or why it is refused. */
void cli_candidates_json(base_json *json, base_arena *arena, const planner_report *report,
                         const planner_candidate *candidate, bool chosen);

#endif
