/* Running passes: one, or the pipeline.
 *
 *     canonicalise | map | expand | fold hoist merge dead, again while one changes something
 *
 * Around a pass stands what pass_runner.checks asks for: first the module is recorded, then, in the
 * order of the list in runner.h, each question is a function of its own (runner_text.c,
 * runner_facts.c, runner_meaning.c). The first check that fails ends it, since the others would say
 * the same in other words.
 */
#include "pass/runner.h"

#include "ir/clone.h"
#include "ir/print.h"
#include "pass/runner_internal.h"
#include "verify/verify.h"

base_diagnostic *runner_bug(pass_runner *runner, const pass_row *pass, const char *slug,
                            base_location location, const char *what) {
    return base_diagnostics_add(runner->diagnostics, slug, location, "CROFT_BUG: pass %s %s",
                                pass->name, what);
}

const char *runner_complete_text(base_arena *arena, const ir_module *module) {
    base_text text;
    base_text_init(&text, arena);
    ir_module_print(&text, module, true);
    return text.bytes;
}

/* The findings from `before` on are ours. */
static bool blame(pass_runner *runner, const char *producer, ir_level level, int before) {
    for (int i = before; i < runner->diagnostics->count; i++)
        runner->diagnostics->items[i].hint = base_diagnostics_text(
            runner->diagnostics,
            "CROFT_BUG: level %s is not legal after %s; please report the kernel",
            ir_level_name(level), producer);
    return false;
}

static bool verify_with(pass_runner *runner, const char *producer, const ir_module *module,
                        verify_effort effort) {
    int before = runner->diagnostics->count;
    return verify_module_with(module, NULL, effort, runner->diagnostics) ||
           blame(runner, producer, module->level, before);
}

bool pass_runner_verify(pass_runner *runner, const char *producer, const ir_module *module) {
    return verify_with(runner, producer, module, VERIFY_USUAL);
}

static verify_effort effort_of(const pass_runner *runner) {
    return (runner->checks & PASS_CHECK_VERIFY) != 0 ? VERIFY_THOROUGH : VERIFY_USUAL;
}

bool pass_runner_verify_launches(pass_runner *runner, const char *producer, const ir_module *kernel,
                                 const ir_module *const *launches, int count) {
    int before = runner->diagnostics->count;
    for (int i = 0; i < count; i++)
        if (!verify_with(runner, producer, launches[i], effort_of(runner)))
            return false;
    return verify_sequence(kernel, launches, count, effort_of(runner), runner->diagnostics) ||
           blame(runner, producer, IR_TILE, before);
}

static bool verify_pass(pass_runner *runner, const pass_row *pass, const ir_module *module) {
    return pass_runner_verify(
        runner, base_diagnostics_text(runner->diagnostics, "pass %s", pass->name), module);
}

/* Where the module goes on to the next level: with more effort where passes are verified. */
static bool verify_border(pass_runner *runner, const pass_row *pass, const ir_module *module) {
    return verify_with(runner, base_diagnostics_text(runner->diagnostics, "pass %s", pass->name),
                       module, effort_of(runner));
}

/* ---- before ---- */
static bool may_run(pass_runner *runner, const ir_module *module, const pass_row *pass) {
    if ((pass->from >> module->level & 1) != 0)
        return true;
    base_diagnostic *d = base_diagnostics_add(runner->diagnostics, "pass-level", (base_location){0},
                                              "pass %s does not run at level %s", pass->name,
                                              ir_level_name(module->level));
    base_text levels;
    base_text_init(&levels, runner->diagnostics->arena);
    base_text_string(&levels, "level ");
    for (int level = IR_TILE, some = 0; level <= IR_THREAD; level++)
        if ((pass->from >> level & 1) != 0)
            base_text_format(&levels, "%s%s", some++ > 0 ? " or " : "",
                             ir_level_name((ir_level)level));
    d->expected = levels.bytes;
    return false;
}

static bool find_plan(pass_runner *runner, ir_module *module, const pass_row *pass,
                      pass_context *context) {
    bool applies = module->level == IR_TILE && pass->to == IR_MAPPED;
    if (applies && !pass_is_anchored(module)) {
        base_diagnostics_add(runner->diagnostics, "not-canonical", (base_location){0},
                             "pass %s applies a plan, and ops lack the anchors that it speaks of",
                             pass->name)
            ->hint = "`canonicalise` gives them, before it";
        return false;
    }
    if (applies && context->plan == NULL && runner->make_plan != NULL)
        context->plan = runner->make_plan(runner->state, module);
    if (!applies || context->plan != NULL)
        return true;
    if (runner->make_plan == NULL)
        base_diagnostics_add(runner->diagnostics, "plan-missing", (base_location){0},
                             "pass %s applies a plan, and none is given", pass->name);
    return false;
}

static runner_before record(const pass_runner *runner, ir_module *module) {
    runner_before before = {.level = module->level};
    if ((runner->checks & PASS_CHECK_RESULT) != 0)
        before.text = runner_complete_text(module->arena, module);
    if ((runner->checks & (PASS_CHECK_LOCATION | PASS_CHECK_FACTS)) != 0)
        runner_facts_record(&before, module);
    if ((runner->checks & PASS_CHECK_MEANING) != 0 && runner->meaning != NULL)
        before.module = ir_module_clone(module->arena, module);
    return before;
}

/* ---- after ---- */
static bool check_failure(pass_runner *runner, const pass_row *pass, int64_t findings) {
    if (runner->diagnostics->count + runner->diagnostics->dropped == findings)
        runner_bug(runner, pass, "pass-result", (base_location){0}, "fails and does not say why");
    return false;
}

static bool check_level(pass_runner *runner, const pass_row *pass, const runner_before *before,
                        const ir_module *module) {
    ir_level expected = pass->to == PASS_STAYS ? before->level : (ir_level)pass->to;
    if (module->level == expected)
        return true;
    base_diagnostic *d = runner_bug(runner, pass, "pass-level", (base_location){0},
                                    "leads to another level than its row says");
    d->found = ir_level_name(module->level);
    d->expected = ir_level_name(expected);
    return false;
}

static bool check(pass_runner *runner, const pass_row *pass, const runner_before *before,
                  ir_module *module, pass_result result) {
    int checks = runner->checks;
    return (!(checks & PASS_CHECK_RESULT) ||
            (check_level(runner, pass, before, module) &&
             runner_check_result(runner, pass, before, module, result))) &&
           (!(checks & PASS_CHECK_VERIFY) || verify_pass(runner, pass, module)) &&
           (!(checks & PASS_CHECK_TEXT) || runner_check_text(runner, pass, module)) &&
           runner_check_facts(runner, pass, before, module) &&
           (before->module == NULL || runner->meaning(runner, pass, before, module));
}

bool pass_runner_run(pass_runner *runner, ir_module *module, const pass_row *pass,
                     pass_result *result) {
    pass_context context = {.plan = runner->plan,
                            .diagnostics = runner->diagnostics,
                            .machine = runner->machine,
                            .strict = runner->strict,
                            .log = runner->log};
    if (!may_run(runner, module, pass) || !find_plan(runner, module, pass, &context))
        return false;
    runner_before before = record(runner, module);
    int64_t findings = runner->diagnostics->count + runner->diagnostics->dropped;
    pass_result said = pass->run(module, &context);
    if (result != NULL)
        *result = said;
    if (said == PASS_FAILED)
        return check_failure(runner, pass, findings);
    if (!check(runner, pass, &before, module, said))
        return false;
    if (runner->after != NULL)
        runner->after(runner->state, pass, module);
    return true;
}

/* ---- the pipeline ---- */

/* From a step on those that repeat together; *end is the first step after them. */
static bool run_again(pass_runner *runner, ir_module *module, int start, int *end) {
    pass_step step;
    bool again = true;
    while (again && !runner->stopped) {
        again = false;
        for (*end = start; pass_pipeline_at(*end, &step) && step.again; (*end)++) {
            pass_result result = PASS_SAME;
            if (!pass_runner_run(runner, module, step.pass, &result))
                return false;
            again |= result == PASS_CHANGED;
            runner->stopped = step.pass == runner->stop_after;
            if (runner->stopped)
                break;
        }
    }
    return true;
}

bool pass_runner_pipeline(pass_runner *runner, ir_module *module, ir_level first, ir_level last) {
    pass_step step, next;
    for (int i = 0, end; pass_pipeline_at(i, &step) && !runner->stopped; i = end) {
        end = i + 1;
        if (step.to < first || step.to > last || (step.pass->from >> module->level & 1) == 0)
            continue;
        if (step.again) {
            if (!run_again(runner, module, i, &end))
                return false;
        } else {
            if (!pass_runner_run(runner, module, step.pass, NULL))
                return false;
            runner->stopped = step.pass == runner->stop_after;
        }
        bool border = !pass_pipeline_at(end, &next) || next.to != step.to || runner->stopped;
        if (border && !verify_border(runner, step.pass, module))
            return false;
    }
    return true;
}
