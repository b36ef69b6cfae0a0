/* What the command says of the planner's choice. */
#ifndef CLI_PLAN_H
#define CLI_PLAN_H

#include "job.h"

/* The options --set, --model, --cost-model and --all, for the compilation. The exit code, having
 * said what is wrong. What is read lives in the job's arena. */
int cli_plan_options(cli_job *job, planner_options *options);

#endif
