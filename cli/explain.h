/* The printers of `croft explain`, each of a report into a text. */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include "base/json.h"
#include "base/text.h"
#include "compile/report.h"
#include "planner/planner.h"

void cli_explain_text(base_text *out, const compile_report *report);
/* Members of an object; docs/explain.md lists them. */
void cli_explain_json(base_json *json, const compile_report *report);
/* Who owns each element of a value, with the sectors that its access needs: a picture, or a page
 * around it. */
void cli_explain_picture(base_text *out, const compile_report *report,
                         const compile_report_value *value, bool html);

/* A kernel as its launches: one, or those that its plan splits it into. */
typedef struct cli_explain_launches {
    const char *kernel;
    const ir_plan *plan; /* of the kernel */
    const planner_report *planning;
    compile_report **reports; /* of each launch, in their order */
    int count, own_parameters;
} cli_explain_launches;

bool cli_explain_is_split(const cli_explain_launches *launches);
/* What stands before the reports of a split kernel, which then leave out why the plan is so. */
void cli_explain_launches_text(base_text *out, const cli_explain_launches *launches);

/* The whole report as a page of one file: text, a picture for each way in which tiles are owned, of
 * each launch; the plan, the kernel's file. */
void cli_explain_page(base_text *out, const cli_explain_launches *launches);

/* explain_choice.c: why the plan is what it is, in each form; the table is HTML. In the text, what
 * was found of the program stands first, prices last. */
void cli_explain_choice_text(base_text *out, const planner_report *planning);
void cli_explain_prices_text(base_text *out, const planner_report *planning);
void cli_explain_choice_json(base_json *json, const planner_report *planning);
void cli_explain_choice_table(base_text *out, const planner_report *planning);

/* Words that the printers share. */
const char *cli_explain_part(const compile_report_index *index); /* base, lanes, vector */
/* Why a conversion was not needed. */
const char *cli_explain_proof(const pass_conversion *removed);

#endif
