/* compile: text to artifact on one screen.
 *
 *     parse -> bind -> lower -> [tile passes] -> plan -> [passes to mapped and thread] -> emit
 *                                                              conditions -> align -> emit
 *
 * with the verifier at every border between levels. Memory comes from one arena; where it runs out,
 * everything unwinds to here.
 */
#include "compile/compile.h"

#include "analysis/alignment.h"
#include "ir/clone.h"
#include "pass/count_faults.h"
#include "pass/runner.h"
#include "pass/split.h"
#include "target/target.h"
#include "text/plan_parse.h"

#include <string.h>

static pass_runner compile_runner(const compile_request *request, compile_result *result) {
    return (pass_runner){.diagnostics = &result->diagnostics,
                         .plan = result->plan,
                         .machine = request->machine,
                         .strict = request->strict,
                         .log = &result->log,
                         .checks = request->check_passes    ? PASS_CHECK_ALL
                                   : request->verify_passes ? PASS_CHECK_VERIFY
                                                            : 0,
                         .after = request->after_pass,
                         .state = request->after_state,
                         .stop_after = request->stop_after};
}

/* Gathers are counted as the canonical program has them: without those that nothing needs, and
 * equal ones once. */
static bool count_faults(pass_runner *runner, compile_result *result) {
    result->faults = pass_count_faults(result->tile);
    return result->faults < 0 || (pass_runner_verify(runner, "the count of faults", result->tile) &&
                                  pass_runner_pipeline(runner, result->tile, IR_TILE, IR_TILE));
}

/* Level tile, canonical. */
static bool compile_tile(const compile_request *request, compile_result *result) {
    pass_runner runner = compile_runner(request, result);
    result->tile =
        text_kernel_lower(&result->arena, result->kernel, &result->bindings, &result->diagnostics);
    bool good = result->tile != NULL && result->diagnostics.count == 0 &&
                (runner.checks == 0 ||
                 pass_runner_verify(&runner, "the kernel's lowering", result->tile)) &&
                pass_runner_pipeline(&runner, result->tile, IR_TILE, IR_TILE);
    if (good) {
        result->own_parameters = result->tile->parameter_count;
        if (request->count_faults && !runner.stopped)
            good = count_faults(&runner, result);
    }
    result->stopped = runner.stopped;
    result->module = runner.stopped ? result->tile : NULL;
    return good;
}

static bool compile_plan(const compile_request *request, compile_result *result) {
    planner_options options = request->planning != NULL ? *request->planning : (planner_options){0};
    options.sizes = result->bindings.sizes;
    options.strict = request->strict;
    options.portable =
        options.portable || (request->runs_on != NULL && !request->runs_on->native_math);
    if (request->plan != NULL)
        result->plan = text_plan_parse(&result->arena, request->plan, &result->diagnostics);
    else
        result->plan =
            planner_choose(&result->arena, result->tile, request->machine, request->family,
                           &options, &result->diagnostics, &result->planning);
    if (result->plan == NULL)
        return false;
    if (strcmp(result->plan->machine, request->machine->name) != 0) {
        base_diagnostic *d =
            base_diagnostics_add(&result->diagnostics, "plan-machine", result->plan->location,
                                 "the plan was made for another machine");
        d->found = result->plan->machine;
        d->expected = request->machine->name;
        d->hint = base_diagnostics_text(&result->diagnostics, "`--machine %s` plans for that one",
                                        result->plan->machine);
        return false;
    }
    return true;
}

/* The launches at level tile: the kernel itself, or what the plan splits it into. */
static bool compile_launches(const compile_request *request, compile_result *result) {
    if (!pass_split_is_asked(result->tile, result->plan)) {
        result->launches = BASE_NEW(&result->arena, compile_code);
        result->launches[0] = (compile_code){.tile = result->tile, .plan = result->plan};
        result->launch_count = 1;
        return true;
    }
    pass_launches split;
    pass_runner runner = compile_runner(request, result);
    if (!pass_split(&result->arena, result->tile, result->plan, &result->diagnostics, &split))
        return false;
    const ir_module **modules = BASE_NEW_ARRAY(&result->arena, const ir_module *, split.count);
    result->launches = BASE_NEW_ARRAY(&result->arena, compile_code, split.count);
    result->launch_count = split.count;
    for (int i = 0; i < split.count; i++) {
        modules[i] = split.items[i].module;
        result->launches[i] =
            (compile_code){.tile = split.items[i].module, .plan = split.items[i].plan};
    }
    return pass_runner_verify_launches(&runner, "the split", result->tile, modules, split.count);
}

/* Passes change modules in place, and the reference needs the tile level: a copy is mapped. */
static bool compile_levels(const compile_request *request, compile_result *result,
                           compile_code *code) {
    ir_level level = request->stage == COMPILE_TO_MAPPED ? IR_MAPPED : IR_THREAD;
    pass_runner runner = compile_runner(request, result);
    runner.plan = code->plan;
    code->module = ir_module_clone(&result->arena, code->tile);
    bool good = pass_runner_pipeline(&runner, code->module, IR_MAPPED, IR_MAPPED);
    bool report = request->report && level == IR_THREAD && good && !runner.stopped;
    const ir_module *mapped = report ? ir_module_clone(&result->arena, code->module) : NULL;
    if (good && level == IR_THREAD && !runner.stopped)
        good = pass_runner_pipeline(&runner, code->module, IR_THREAD, level);
    result->stopped = runner.stopped;
    if (report && good && !runner.stopped)
        code->report = compile_report_make(&result->arena, request->machine, code->plan,
                                           &result->log, code->tile, mapped, code->module);
    if (code->report != NULL && request->plan == NULL)
        code->report->planning = &result->planning;
    return good;
}

static bool compile_all_levels(const compile_request *request, compile_result *result) {
    if (!compile_launches(request, result))
        return false;
    for (int i = 0; i < result->launch_count; i++)
        if (!compile_levels(request, result, &result->launches[i]))
            return false;
    result->module = result->launches[0].module;
    result->report = result->launches[0].report;
    return true;
}

typedef struct support_state {
    const target *target;
    const ir_module *module;
    base_diagnostics *diagnostics;
    const machine *machine;
    const char *said; /* a reason is given at the first op that it stands in the way of */
} support_state;

static bool check_support(void *pointer, ir_op *op) {
    support_state *state = pointer;
    const char *reason = state->target->supports(state->module, op, state->machine);
    bool again = reason != NULL && state->said != NULL && strcmp(reason, state->said) == 0;
    if (reason != NULL && !again)
        base_diagnostics_add(state->diagnostics, "not-supported", op->location,
                             "target %s cannot run this on %s: %s", state->target->name,
                             state->machine->name, reason);
    state->said = reason != NULL ? reason : state->said;
    return true;
}

/* The machine table knows more machines than a build has targets. */
static bool refuse_target(const compile_request *request, compile_result *result) {
    base_diagnostic *d = base_diagnostics_add(
        &result->diagnostics, "not-supported", (base_location){.source = request->source},
        "machine %s needs the target %s, which this build does not have", request->machine->name,
        request->machine->target);
    const char *built = target_at(0)->name;
    for (int i = 1; target_at(i) != NULL; i++)
        built = base_diagnostics_text(&result->diagnostics, "%s, %s", built, target_at(i)->name);
    d->found = request->machine->target;
    d->expected =
        base_diagnostics_text(&result->diagnostics, "a machine of a built target: %s", built);
    d->hint = "plan, emit with --level, and run with --target cpu or sim work for every machine";
    return false;
}

static bool compile_source(const compile_request *request, compile_result *result) {
    const machine *runs_on = request->runs_on != NULL ? request->runs_on : request->machine;
    int count = result->launch_count;
    support_state state = {.target = target_find(runs_on->target),
                           .diagnostics = &result->diagnostics,
                           .machine = runs_on};
    if (state.target == NULL)
        return refuse_target(request, result);
    const ir_module **modules = BASE_NEW_ARRAY(&result->arena, const ir_module *, count);
    target_source *sources = BASE_NEW_ARRAY(&result->arena, target_source, count);
    for (int i = 0; i < count; i++) {
        state.module = modules[i] = result->launches[i].module;
        ir_region_walk(&result->launches[i].module->body, check_support, &state);
    }
    if (result->diagnostics.count > 0)
        return false;
    state.target->emit(&result->arena, modules, count, runs_on, sources);
    for (int i = 0; i < count; i++) {
        result->launches[i].entry = sources[i].entry;
        result->launches[i].threads = sources[i].threads;
        result->launches[i].scratch_bytes = sources[i].scratch_bytes;
        result->launches[i].workspace = sources[i].workspace;
    }
    result->source_text = sources[0].text;
    result->entry = sources[0].entry;
    result->threads = sources[0].threads;
    result->overlaps = sources[0].overlaps;
    result->scratch_bytes = sources[0].scratch_bytes;
    result->workspace = sources[0].workspace;
    return true;
}

/* ---- variants ---- */

/* A condition that several launches ask for is one, by the most that is asked. */
static void add_condition(compile_result *result, layout_condition condition, int64_t *capacity) {
    for (int64_t i = 0; i < result->condition_count; i++) {
        layout_condition *other = &result->conditions[i];
        if (result->launch_count == 1 || other->kind != condition.kind ||
            other->subject != condition.subject)
            continue;
        other->amount = condition.amount > other->amount ? condition.amount : other->amount;
        return;
    }
    BASE_PUSH(&result->arena, result->conditions, result->condition_count, *capacity, condition);
}

static void find_conditions(const compile_request *request, compile_result *result) {
    const machine *runs_on = request->runs_on != NULL ? request->runs_on : request->machine;
    const target *emitter = target_find(runs_on->target);
    int64_t capacity = 0;
    for (int i = 0; i < result->launch_count; i++) {
        compile_code *code = &result->launches[i];
        layout_condition *own = NULL;
        int64_t count = 0;
        code->general = code->module;
        if (emitter != NULL && emitter->uses_conditions)
            count = analysis_conditions_find(&result->arena, code->module, &own);
        for (int64_t k = 0; k < count; k++)
            add_condition(result, own[k], &capacity);
        if (code->report != NULL)
            compile_report_add_conditions(&result->arena, code->report, own, count);
    }
    result->general = result->launches[0].general;
}

/* The launch's general module under the conditions that hold and that something in it depends on.
 */
static bool make_launch(const compile_request *request, compile_result *result, compile_code *code,
                        const bool *holds) {
    layout_condition *kept =
        BASE_NEW_ARRAY(&result->arena, layout_condition, result->condition_count + 1);
    int64_t count = 0;
    for (int64_t i = 0; i < result->condition_count; i++)
        if (holds[i])
            kept[count++] = result->conditions[i];
    count = analysis_conditions_prune(&result->arena, code->general, kept, count);
    code->module = code->general;
    if (count == 0)
        return true;
    pass_runner runner = compile_runner(request, result);
    code->module = ir_module_clone(&result->arena, code->general);
    code->module->conditions = kept;
    code->module->condition_count = code->module->condition_capacity = count;
    const pass_row *align = pass_find("align", strlen("align"));
    return pass_runner_run(&runner, code->module, align, NULL) &&
           pass_runner_verify(&runner, "pass align", code->module);
}

/* *changed: some launch is another module than before. */
static bool make_variant(const compile_request *request, compile_result *result, const bool *holds,
                         bool *changed) {
    *changed = false;
    for (int i = 0; i < result->launch_count; i++) {
        const ir_module *before = result->launches[i].module;
        if (!make_launch(request, result, &result->launches[i], holds))
            return false;
        *changed = *changed || result->launches[i].module != before;
    }
    result->module = result->launches[0].module;
    return true;
}

static bool assume(const compile_request *request, compile_result *result) {
    bool *holds = BASE_NEW_ARRAY(&result->arena, bool, result->condition_count + 1);
    for (int64_t i = 0; i < result->condition_count; i++)
        holds[i] = (request->assume >> result->conditions[i].kind & 1) != 0;
    bool changed;
    return request->assume == 0 || make_variant(request, result, holds, &changed);
}

static bool compile_stages(const compile_request *request, compile_result *result) {
    text_file *file = text_file_parse(&result->arena, request->source, &result->diagnostics);
    if (result->diagnostics.count > 0)
        return false;
    result->kernel = text_file_find(file, request->kernel, &result->diagnostics);
    if (result->kernel == NULL || request->stage == COMPILE_TO_SYNTAX)
        return result->kernel != NULL;
    if (!text_kernel_bind(&result->arena, result->kernel, request->arguments,
                          request->argument_count, request->partial, &result->bindings,
                          &result->diagnostics))
        return false;
    if (!compile_tile(request, result))
        return false;
    if (request->stage == COMPILE_TO_TILE || result->stopped)
        return true;
    if (!compile_plan(request, result))
        return false;
    if (request->stage == COMPILE_TO_PLAN)
        return true;
    if (!compile_all_levels(request, result))
        return false;
    if (request->stage >= COMPILE_TO_THREAD && !result->stopped) {
        find_conditions(request, result);
        if (!assume(request, result))
            return false;
    }
    return request->stage < COMPILE_TO_SOURCE || result->stopped || compile_source(request, result);
}

void compile_run(const compile_request *request, compile_result *result) {
    memset(result, 0, sizeof *result);
    result->faults = -1;
    base_allocator allocator =
        request->allocator.resize != NULL ? request->allocator : base_allocator_default();
    jmp_buf exhausted;
    base_arena_init(&result->arena, allocator, &exhausted);
    base_diagnostics_init(&result->diagnostics, &result->arena);
    if (setjmp(exhausted) != 0) {
        result->status = COMPILE_OUT_OF_MEMORY;
        result->arena.exhausted = NULL;
        return;
    }
    result->status = compile_stages(request, result) ? COMPILE_OK : COMPILE_REJECTED;
    result->arena.exhausted = NULL;
}

compile_status compile_specialise(const compile_request *request, compile_result *result,
                                  const bool *holds) {
    jmp_buf exhausted;
    result->arena.exhausted = &exhausted;
    if (setjmp(exhausted) != 0) {
        result->arena.exhausted = NULL;
        return result->status = COMPILE_OUT_OF_MEMORY;
    }
    bool changed;
    bool good = make_variant(request, result, holds, &changed) &&
                (request->stage < COMPILE_TO_SOURCE || !changed || compile_source(request, result));
    result->arena.exhausted = NULL;
    return result->status = good ? COMPILE_OK : COMPILE_REJECTED;
}

bool compile_launch_of(const compile_result *result, int launch, const int64_t *sizes,
                       compile_launch *size) {
    const compile_code *code = &result->launches[launch];
    *size = (compile_launch){0};
    return layout_extent_evaluate(code->module->groups, sizes, &size->groups) &&
           (code->workspace == NULL ||
            layout_extent_evaluate(code->workspace, sizes, &size->workspace_bytes));
}

enum { LEAST_LIVE = 8 };

bool compile_with_less(const compile_result *result, planner_options *options) {
    const planner_report *planning = &result->planning;
    int64_t live = planning->chosen.live_slots;
    if (planning->program == NULL || planning->kind != PLANNER_BY_SEARCH || options->set != NULL ||
        live < LEAST_LIVE)
        return false;
    options->live_most = live * 7 / 8;
    return true;
}

void compile_free(compile_result *result) {
    base_arena_free(&result->arena);
}
