/* The printers of `croft explain`, each of a report into a text. */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include "base/json.h"
#include "base/text.h"
#include "compile/report.h"
#include "planner/planner.h"

void cli_explain_text(base_text *out, const compile_report *report);
/* The keys are documented in docs/explain.md. */
void cli_explain_json(base_text *out, const compile_report *report);
/* Who owns each element of a value, with the sectors that its access needs: a picture, or a page
 * around it. */
void cli_explain_picture(base_text *out, const compile_report *report,
                         const compile_report_value *value, bool html);

/* The whole report as a page of one file: text, a picture for each way in which tiles are owned,
 * the plan, the kernel's file. */
void cli_explain_page(base_text *out, const compile_report *report);

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
