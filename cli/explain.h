/* The printers of `croft explain`, each of a report into a text. */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include "base/text.h"
#include "compile/report.h"

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

/* Words that the printers share. */
const char *cli_explain_part(const compile_report_index *index); /* base, lanes, vector */
/* Why a conversion was not needed. */
const char *cli_explain_proof(const pass_conversion *removed);

#endif
