/* compile: text to artifact on one screen.
 *
 *     parse -> bind -> lower -> [tile passes] -> plan -> [passes to mapped and thread] -> emit
 *
 * with the verifier at every border between levels. Memory comes from one arena; where it runs out,
 * everything unwinds to here.
 */
#include "compile/compile.h"

#include "pass/pass.h"
#include "target/target.h"
#include "text/plan_parse.h"
#include "verify/verify.h"

#include <string.h>

/* What the verifier finds in our own output is our bug: it is reported as such, never shown as the
 * user's. */
static bool verify_border(compile_result *result, const ir_module *module) {
    int before = result->diagnostics.count;
    if (verify_module(module, NULL, &result->diagnostics))
        return true;
    for (int i = before; i < result->diagnostics.count; i++)
        result->diagnostics.items[i].hint = base_diagnostics_text(
            &result->diagnostics, "CROFT_BUG: level %s is not legal; please report the kernel",
            ir_level_name(module->level));
    return false;
}

/* The passes that bring a module on to a level; to level tile, those that stay there. The verifier
 * runs where the module is handed on, and after every pass when that is asked for. */
static bool run_passes(const compile_request *request, compile_result *result, ir_module *module,
                       ir_level level) {
    pass_context context = {.plan = result->plan, .diagnostics = &result->diagnostics};
    const pass_row *pass;
    for (int i = 0; (pass = pass_at(i)) != NULL && pass->to <= level; i++) {
        if (pass->to == IR_TILE && level != IR_TILE) /* has run */
            continue;
        const pass_row *next = pass_at(i + 1);
        bool border = next == NULL || next->to != pass->to || request->verify_passes;
        if (pass->run(module, &context) == PASS_FAILED ||
            (border && !verify_border(result, module)))
            return false;
    }
    return true;
}

/* Level tile, canonical. */
static ir_module *compile_tile(const compile_request *request, compile_result *result) {
    ir_module *module =
        text_kernel_lower(&result->arena, result->kernel, &result->bindings, &result->diagnostics);
    if (module == NULL || result->diagnostics.count > 0 ||
        (request->verify_passes && !verify_border(result, module)) ||
        !run_passes(request, result, module, IR_TILE))
        return NULL;
    return module;
}

static bool compile_plan(const compile_request *request, compile_result *result) {
    if (request->plan != NULL)
        result->plan = text_plan_parse(&result->arena, request->plan, &result->diagnostics);
    else
        result->plan = planner_plan(&result->arena, result->tile, request->machine, request->family,
                                    &result->diagnostics);
    if (result->plan == NULL)
        return false;
    if (strcmp(result->plan->machine, request->machine->name) != 0) {
        base_diagnostic *d =
            base_diagnostics_add(&result->diagnostics, "plan-machine", result->plan->location,
                                 "the plan was made for another machine");
        d->found = result->plan->machine;
        d->expected = request->machine->name;
        return false;
    }
    return true;
}

/* Passes change modules in place, and the reference needs the tile level: lowering is repeated for
 * the module that is mapped. */
static bool compile_levels(const compile_request *request, compile_result *result) {
    ir_level level = request->stage == COMPILE_TO_MAPPED ? IR_MAPPED : IR_THREAD;
    result->module = compile_tile(request, result);
    return result->module != NULL && run_passes(request, result, result->module, level);
}

typedef struct support_state {
    const target *target;
    compile_result *result;
    const machine *machine;
    const char *said; /* a reason is given at the first op that it stands in the way of */
} support_state;

static bool check_support(void *pointer, ir_op *op) {
    support_state *state = pointer;
    const char *reason = state->target->supports(state->result->module, op, state->machine);
    bool again = reason != NULL && state->said != NULL && strcmp(reason, state->said) == 0;
    if (reason != NULL && !again)
        base_diagnostics_add(&state->result->diagnostics, "not-supported", op->location,
                             "target %s cannot run this on %s: %s", state->target->name,
                             state->machine->name, reason);
    state->said = reason != NULL ? reason : state->said;
    return true;
}

static bool compile_source(const compile_request *request, compile_result *result) {
    support_state state = {.target = target_find(request->machine->target),
                           .result = result,
                           .machine = request->machine};
    ir_region_walk(&result->module->body, check_support, &state);
    if (result->diagnostics.count > 0)
        return false;
    target_source source = state.target->emit(&result->arena, result->module, request->machine);
    result->source_text = source.text;
    result->entry = source.entry;
    return true;
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
    result->tile = compile_tile(request, result);
    if (result->tile == NULL)
        return false;
    if (request->stage == COMPILE_TO_TILE)
        return true;
    if (!compile_plan(request, result))
        return false;
    if (request->stage == COMPILE_TO_PLAN)
        return true;
    if (!compile_levels(request, result))
        return false;
    return request->stage < COMPILE_TO_SOURCE || compile_source(request, result);
}

void compile_run(const compile_request *request, compile_result *result) {
    memset(result, 0, sizeof *result);
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

void compile_free(compile_result *result) {
    base_arena_free(&result->arena);
}
