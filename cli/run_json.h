/* What a run has to say besides its outputs: comparisons with the reference, and its answer. */
#ifndef CLI_RUN_JSON_H
#define CLI_RUN_JSON_H

#include "array.h"
#include "job.h"

#include "base/json.h"
#include "sim/reference.h"

/* How an output compares, what else of it changed, and whether the memory around it is whole. */
typedef struct cli_run_check {
    const char *name;
    const cli_array *array; /* whose shape it has */
    sim_comparison result;
    int64_t touched, first_touched; /* elements that the kernel does not store and that changed */
    bool guards, good;
} cli_run_check;

/* The line that --check prints, and what is wrong; in an answer one of the list `checks`. */
void cli_say_check(const cli_options *options, const cli_run_check *check);

typedef struct cli_run_report {
    const cli_options *options;
    const char *target, *device;      /* the device's own name, NULL: none */
    const machine *machine, *runs_on; /* NULL: of an IR text, the simulator's own */
    const ir_plan *plan;              /* NULL: of an IR text */
    const ir_module *module;          /* that has the parameters and the sizes */
    const int64_t *sizes;
    int parameter_count; /* of the kernel; behind them stand those of the workspace */
    int64_t faults;      /* of gathers, counted by the program; -1: not */
    int64_t erased;      /* layouts of the text that the machine has no use for */
    const cli_array *arrays[CLI_ARGUMENT_LIMIT]; /* by parameter; NULL for scalars */
    const char *paths[CLI_ARGUMENT_LIMIT];       /* of outputs; NULL: nowhere, "-": printed */
} cli_run_report;

/* The lists of the answer, empty. */
void cli_run_open_lists(const cli_options *options);
/* The rest of the answer: everything that ran, with hashes, and values of what is printed. */
void cli_say_run(const cli_run_report *report);

#endif
