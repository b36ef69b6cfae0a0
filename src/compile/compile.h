/* The one screen of calls from text to artifact. Used by the command, the library, the bench and
 * the tests.
 *
 * Owns the arena and the point that exhausted memory unwinds to; every failure is a status plus
 * diagnostics. */
#ifndef COMPILE_COMPILE_H
#define COMPILE_COMPILE_H

#include "base/diagnostic.h"
#include "compile/report.h"
#include "ir/module.h"
#include "ir/plan.h"
#include "machine/machine.h"
#include "pass/pass.h"
#include "planner/planner.h"
#include "text/kernel.h"

typedef enum compile_status {
    COMPILE_OK,
    COMPILE_REJECTED, /* diagnostics say why */
    COMPILE_OUT_OF_MEMORY,
} compile_status;

/* How far to go. */
typedef enum compile_stage {
    COMPILE_TO_SYNTAX, /* file and kernel; nothing is bound */
    COMPILE_TO_TILE,
    COMPILE_TO_PLAN,
    COMPILE_TO_MAPPED,
    COMPILE_TO_THREAD,
    COMPILE_TO_SOURCE,
} compile_stage;

typedef struct compile_request {
    base_allocator allocator; /* zero: the default */
    const base_source *source;
    const char *kernel; /* NULL: the only one */
    const text_argument *arguments;
    int argument_count;
    bool
        strict; /* one result on every target and for every plan: portable math, exact division, and
                    an order for each reduction that needs one; a plan that says else is refused */
    bool count_faults;      /* the program also counts its faulty gathers (pass/count_faults.h) */
    bool partial;           /* arguments may be missing (check, emit, plan) */
    const machine *machine; /* that is planned for */
    const machine *runs_on; /* that source is written for; NULL: the same. Any target that supports
                               the ops runs the plans of any machine */
    planner_family family;
    const planner_options *planning; /* NULL: nothing is asked for. `sizes` are those of the
                                        arguments, whatever it says */
    const base_source *plan;         /* a plan's text to be obeyed, or NULL */
    compile_stage stage;
    unsigned assume; /* from COMPILE_TO_THREAD on: the kinds of conditions, a bit each, that may be
                        taken for granted where they help; 0: the program is valid for all */
    bool report;     /* from COMPILE_TO_THREAD on: result->report */
    bool verify_passes; /* the verifier after every pass, not only at the borders of levels */
    bool check_passes;  /* every question of pass/runner.h that needs no inputs */
    /* Called after each pass. */
    void (*after_pass)(void *state, const pass_row *pass, const ir_module *module);
    void *after_state;
    const pass_row *stop_after; /* the compilation ends after this pass */
} compile_request;

/* A launch of the sequence that a dispatch is. One that is alone has the fields of the result. */
typedef struct compile_code {
    ir_module *tile; /* that it computes */
    ir_plan *plan;
    ir_module *module;  /* mapped or thread, by stage */
    ir_module *general; /* as in the result */
    compile_report *report;
    const char *entry;
    int threads; /* this and the next two as in target_source */
    int64_t scratch_bytes;
    const layout_extent *workspace;
} compile_code;

typedef struct compile_result {
    base_arena arena; /* owns everything below */
    compile_status status;
    base_diagnostics diagnostics;
    const text_kernel *kernel;
    text_bindings bindings;
    ir_module *tile;    /* canonical; kept for the reference */
    int own_parameters; /* of the kernel: the first ones of every module */
    int faults;   /* the parameter of `tile` that has the faults of each program; -1: there is none,
                   since they were not to be counted or no gather can be one */
    pass_log log; /* log.erased > 0: the machine's target has no use for the kernel's layouts */
    ir_plan *plan;
    planner_report planning; /* of a plan that was made, not read */
    ir_module *module;       /* mapped or thread, by stage */
    ir_module
        *general; /* level thread: valid without conditions; `module`, or what it is made of */
    /* The conditions that would help, where the target has a use for them. */
    layout_condition *conditions;
    int64_t condition_count;
    compile_report *report;
    bool stopped; /* after request->stop_after: `module` is what it left, of any level */
    const char *source_text;
    const char *entry;
    int threads;                    /* as in target_source */
    bool overlaps;                  /* as in target_source; of all launches alike */
    int64_t scratch_bytes;          /* as in target_source */
    const layout_extent *workspace; /* as in target_source */
    /* From COMPILE_TO_MAPPED on: the launches, in the order in which they run, each after the one
     * before has ended. The modules of several have more parameters than `tile`: behind those, the
     * tensors of the workspace that they hand on, which the caller provides (their types say how
     * large) and which need no zeros. `source_text` has all their entries; `module`,
     * `general` and `entry` are those of the first, and conditions those of all. */
    compile_code *launches;
    int launch_count;
} compile_result;

/* How much a launch is, for devices that start groups of threads. */
typedef struct compile_launch {
    int64_t groups;
    int64_t workspace_bytes; /* of each running group */
} compile_launch;

/* For a program whose registers spill: options for another plan, with at most seven eighths of the
 * values at once that the plan of the result was taken to have. False where nothing would change:
 * the plan was given, or holds hardly any. */
bool compile_with_less(const compile_result *result, planner_options *options);

/* The result must be freed with compile_free, whatever the status. */
void compile_run(const compile_request *request, compile_result *result);
void compile_free(compile_result *result);
enum { COMPILE_ASSUME_ALL = (1 << LAYOUT_CONDITION_COUNT) - 1 };

/* Another variant of what was compiled to COMPILE_TO_THREAD or COMPILE_TO_SOURCE with this request:
 * valid where result->conditions[i] holds for each i with holds[i], and no more general than that
 * needs. Module and source become those of the variant; again as often as wanted. The status. */
compile_status compile_specialise(const compile_request *request, compile_result *result,
                                  const bool *holds);
/* After COMPILE_TO_SOURCE, of launch number `launch`: from all sizes in the module's order. False:
 * a formula leaves 64 bits. */
bool compile_launch_of(const compile_result *result, int launch, const int64_t *sizes,
                       compile_launch *size);

#endif
