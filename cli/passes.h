/* Passes on the command line: names, the printed table, and what --print-after prints. */
#ifndef CLI_PASSES_H
#define CLI_PASSES_H

#include "options.h"

#include "pass/pass.h"

/* Says which passes there are, their levels and the pipeline. */
void cli_passes_answer(const cli_options *options);

/* For `expected`: `canonicalise, map, ...`. */
const char *cli_passes_names(base_diagnostics *diagnostics);

/* The pass of --stop-after, NULL without one. False, with a finding, when --stop-after or
 * --print-after names no pass. */
bool cli_passes_options(const cli_options *options, const pass_row **stop_after);

/* To be called after each pass: prints the complete text to stderr, below `# after NAME`, when
 * --print-after asks for that pass; with --json it is one of the list `printed` instead. `state` is
 * the cli_options. */
void cli_passes_print_after(void *state, const pass_row *pass, const ir_module *module);

#endif
