/* `croft plan --json`: members of its answers. The state of each writer is a compiled cli_job. */
#ifndef CLI_PLAN_JSON_H
#define CLI_PLAN_JSON_H

#include "job.h"

#include "base/json.h"

void cli_plan_json(base_json *json, const void *job);
void cli_plan_all_json(base_json *json, const void *job);
/* The member `plan`: hashes, machine and text, for whoever names a plan. */
void cli_plan_identity_json(base_json *json, const ir_plan *plan);

#endif
