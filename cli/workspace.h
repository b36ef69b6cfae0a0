/* The arrays of a dispatch: those of the kernel, and behind them the faults of each program, where
 * they are counted, and the tensors that its launches hand on to each other. */
#ifndef CLI_WORKSPACE_H
#define CLI_WORKSPACE_H

#include "array.h"
#include "job.h"

#include "sim/reference.h"

typedef struct cli_workspace {
    const ir_module *module; /* whose parameters `arrays` are by */
    cli_array *arrays[CLI_ARGUMENT_LIMIT];
    cli_array made[CLI_ARGUMENT_LIMIT]; /* those of the workspace */
    int count;                          /* of parameters */
} cli_workspace;

/* `arrays`: of the kernel, by parameter, NULL for scalars. The workspace is made, between guards
 * and with every bit set, so that what nobody stores is seen. The exit code; a failure has been
 * said. Closed whatever it is. */
int cli_workspace_open(cli_workspace *workspace, cli_job *job, cli_array *const *arrays);
/* Whether nobody has written around the workspace; where somebody has, it is said. */
bool cli_workspace_is_intact(const cli_options *options, const cli_workspace *workspace);
/* With --count-faults, after the launches: job->faults becomes the sum over all programs. */
void cli_workspace_add_faults(const cli_workspace *workspace, cli_job *job);
void cli_workspace_close(cli_workspace *workspace);

/* The tensor of the faults without its memory; there is one. */
sim_tensor cli_workspace_shape(const cli_job *job);

#endif
