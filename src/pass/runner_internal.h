/* The questions that the runner asks of a pass: what was before, and each check. */
#ifndef PASS_RUNNER_INTERNAL_H
#define PASS_RUNNER_INTERNAL_H

#include "pass/runner.h"
#include "sim/thread.h"

/* What a check knows of an op before the pass. */
typedef struct runner_record {
    const ir_op *op;
    base_location location;
    const char *anchor;
    bool has_access, injective, whole;
    int align;
    bool inside[IR_MAX_RANK];
} runner_record;

typedef struct runner_before {
    ir_level level;
    ir_module *module; /* a copy; NULL where no check needs it */
    const char *text;  /* complete */
    bool located;      /* there are ops, and every one has a location */
    /* by op and by anchor */
    runner_record *records;
    int64_t count, capacity;
    int64_t *by_op, *by_anchor; /* open addressing: position + 1, 0 = free */
    int64_t bucket_count;
    bool implements; /* the module says which tile program it implements */
    const layout_condition *conditions;
    int64_t condition_count;
    int32_t value_count;
    const ir_value **values; /* [number]: where it is, and what it was */
    ir_value *copies;
} runner_before;

/* A finding that begins with `CROFT_BUG: pass NAME`. */
base_diagnostic *runner_bug(pass_runner *runner, const pass_row *pass, const char *slug,
                            base_location location, const char *what);
const char *runner_complete_text(base_arena *arena, const ir_module *module);

/* runner_facts.c */
void runner_facts_record(runner_before *before, ir_module *module);
bool runner_check_facts(pass_runner *runner, const pass_row *pass, const runner_before *before,
                        ir_module *module);
/* runner_text.c */
bool runner_check_result(pass_runner *runner, const pass_row *pass, const runner_before *before,
                         const ir_module *module, pass_result result);
bool runner_check_text(pass_runner *runner, const pass_row *pass, const ir_module *module);
/* runner_launch.c: outputs[parameter] are what the run left, in memory of the arena (inputs: the
 * caller's own). */
sim_status runner_launch(base_arena *arena, const ir_module *module, const pass_fixture *inputs,
                         sim_tensor *outputs, base_diagnostics *findings);
/* What an output holds before the run. */
sim_tensor runner_output_start(base_arena *arena, const sim_tensor *from);
#endif
