/* Runs passes, and in debug mode asks each of them whether it told the truth.
 *
 *     pass_runner runner = {.diagnostics = &d, .checks = PASS_CHECK_ALL};
 *     pass_runner_interpret(&runner, &inputs);
 *     pass_runner_run(&runner, module, pass_find("fold", 4))
 *
 * A pass that is caught is a finding that begins with CROFT_BUG and names the pass; the run ends
 * there. Nothing aborts. */
#ifndef PASS_RUNNER_H
#define PASS_RUNNER_H

#include "pass/pass.h"
#include "sim/reference.h"

/* The rows of checks.def: PASS_CHECK_RESULT, PASS_CHECK_VERIFY, ..., one bit each. */
enum {
#define CHECK(ID, slug, doc) PASS_CHECK_INDEX_##ID,
#include "pass/checks.def"
#undef CHECK
    PASS_CHECK_COUNT
};
enum {
#define CHECK(ID, slug, doc) PASS_CHECK_##ID = 1 << PASS_CHECK_INDEX_##ID,
#include "pass/checks.def"
#undef CHECK
    PASS_CHECK_ALL = (1 << PASS_CHECK_COUNT) - 1
};

/* Inputs on which a module is interpreted. */
typedef struct pass_fixture {
    const int64_t *sizes;       /* [symbol] */
    const sim_tensor *tensors;  /* [parameter]; without data an output starts as poison */
    const ir_constant *scalars; /* [parameter] */
} pass_fixture;

typedef struct pass_runner pass_runner;
struct runner_before;

/* Does the module compute what the one before the pass did? pass_runner_interpret sets it. */
typedef bool pass_meaning(pass_runner *runner, const pass_row *pass,
                          const struct runner_before *before, const ir_module *module);

struct pass_runner {
    base_diagnostics *diagnostics;
    const ir_plan *plan;    /* for passes that apply one */
    const machine *machine; /* that is compiled for, or NULL */
    bool strict;            /* a plan must give one result whatever it says else */
    pass_log *log;          /* what passes put down, or NULL */
    /* Asked for a plan by a pass from level tile to mapped when `plan` is NULL; NULL: refused, with
     * a finding. */
    const ir_plan *(*make_plan)(void *state, const ir_module *module);
    int checks;                  /* PASS_CHECK_* */
    const pass_fixture *fixture; /* of PASS_CHECK_MEANING: pass_runner_interpret */
    pass_meaning *meaning;
    /* Called after each pass that did not fail. */
    void (*after)(void *state, const pass_row *pass, const ir_module *module);
    void *state;
    const pass_row *stop_after; /* the pipeline ends after this pass */
    bool stopped;               /* set when it has */
};

/* Modules are interpreted on these inputs, where PASS_CHECK_MEANING is asked for. A program that
 * never calls this is linked without the interpreters. */
void pass_runner_interpret(pass_runner *runner, const pass_fixture *fixture);

/* False with findings: the pass refused the module, was caught, or may not run at its level
 * (pass-level). *result may be NULL. */
bool pass_runner_run(pass_runner *runner, ir_module *module, const pass_row *pass,
                     pass_result *result);

/* The steps of the pipeline that end at a level from `first` to `last` and may run at the module's.
 * The verifier runs where the module goes on to the next level, also without PASS_CHECK_VERIFY. */
bool pass_runner_pipeline(pass_runner *runner, ir_module *module, ir_level first, ir_level last);

/* Verifies our own output: findings are CROFT_BUGs of `producer`, such as "pass fold". */
bool pass_runner_verify(pass_runner *runner, const char *producer, const ir_module *module);

/* The same of launches at level tile, each by itself, and together against the kernel that they
 * were split from. */
bool pass_runner_verify_launches(pass_runner *runner, const char *producer, const ir_module *kernel,
                                 const ir_module *const *launches, int count);

#endif
