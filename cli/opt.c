/* opt: passes on IR text of any level; check of such a text.
 *
 *     croft opt -p fold,dead k.ir                     the module after the two passes
 *     croft opt k.ir --machine cpu-avx2               the rest of the pipeline, planned
 *     croft opt -p map k.ir --plan k.plan             by a plan, obeyed exactly
 *     croft opt -p canonicalise k.ir x=randn:4x9 --check-passes
 *
 * The text is read twice: first with every op located in the text itself, so that findings point at
 * its lines; then with the locations that it gives. Both the text and what every pass leaves are
 * verified.
 */
#include "answer.h"
#include "inputs.h"
#include "job.h"
#include "output.h"
#include "passes.h"

#include "base/hash.h"
#include "ir/print.h"
#include "text/ir_parse.h"
#include "text/plan_parse.h"
#include "verify/verify.h"

#include <stdlib.h>
#include <string.h>

enum { PASS_LIMIT = 256 };

typedef struct opt_job {
    const cli_options *options;
    base_arena arena;
    base_diagnostics diagnostics;
    base_source source, plan;
    bool plan_is_file;
    const machine *machine; /* NULL: --machine was not given */
    ir_module *module;
    const pass_row *passes[PASS_LIMIT]; /* of -p */
    int pass_count;
    const pass_row *stop_after;
    cli_inputs inputs;
    const char *name; /* of the kernel of the text, as soon as it is known; else NULL */
    ir_level level;
    uint64_t text_hash; /* of what the last pass left, where the answer says what changed */
    const char *output; /* the text */
} opt_job;

/* ---- what is read ---- */
static void check_length(opt_job *job) {
    if (job->source.length < CLI_TEXT_LIMIT)
        return;
    base_diagnostic *d = base_diagnostics_add(&job->diagnostics, "source-too-large",
                                              (base_location){.source = &job->source},
                                              "the IR text is too large, its end was not read");
    d->expected = base_diagnostics_text(&job->diagnostics, "less than %d bytes", CLI_TEXT_LIMIT);
}

/* A kernel in the place of IR text is told at its first line. */
static void hint_kernel_text(opt_job *job, int first) {
    const char *end = strrchr(job->options->file, '.');
    if (end != NULL && strcmp(end, ".croft") == 0 && job->diagnostics.count > first)
        job->diagnostics.items[first].hint =
            "a kernel becomes IR text by `croft emit --level tile FILE.croft -o k.ir`";
}

static bool read_module(opt_job *job) {
    int before = job->diagnostics.count;
    check_length(job);
    ir_module *written = text_ir_parse_in_place(&job->arena, &job->source, &job->diagnostics);
    if (written == NULL) {
        hint_kernel_text(job, before);
        return false;
    }
    job->name = written->name;
    job->level = written->level;
    /* whose text it is knows no other judge: with the effort of passes that are verified */
    if (job->diagnostics.count > before ||
        !verify_module_with(written, NULL, VERIFY_THOROUGH, &job->diagnostics))
        return false;
    job->module = text_ir_parse(&job->arena, &job->source, &job->diagnostics);
    return job->module != NULL;
}

static bool add_pass(opt_job *job, const char *name, size_t length) {
    const pass_row *pass = pass_find(name, length);
    if (pass != NULL && job->pass_count < PASS_LIMIT) {
        job->passes[job->pass_count++] = pass;
        return true;
    }
    base_diagnostic *d =
        base_diagnostics_add(&job->diagnostics, pass != NULL ? "pass-limit" : "unknown-pass",
                             (base_location){0}, "pass `%.*s` %s", length > 60 ? 60 : (int)length,
                             name, pass != NULL ? "is one too many" : "does not exist");
    d->expected = pass != NULL ? "at most 256 passes" : cli_passes_names(&job->diagnostics);
    return false;
}

static bool read_passes(opt_job *job) {
    const char *at = job->options->passes;
    bool good = true;
    while (at != NULL) {
        size_t length = strcspn(at, ",");
        good &= add_pass(job, at, length);
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return good;
}

/* Whether each pass of the list may run where the ones before it lead. */
static bool check_levels(opt_job *job) {
    int level = (int)job->module->level;
    bool good = true;
    for (int i = 0; i < job->pass_count; i++) {
        const pass_row *pass = job->passes[i];
        if ((pass->from >> level & 1) == 0) {
            base_diagnostic *d =
                base_diagnostics_add(&job->diagnostics, "pass-level", (base_location){0},
                                     "pass %d, %s, does not run at level %s", i + 1, pass->name,
                                     ir_level_name((ir_level)level));
            d->hint = "`croft opt --list` prints the levels of every pass";
            good = false;
        }
        level = pass->to == PASS_STAYS ? level : pass->to;
    }
    return good;
}

/* ---- plans ---- */
static const machine *plan_machine(opt_job *job, const ir_plan *plan) {
    const machine *of_plan = machine_find(plan->machine);
    if (of_plan != NULL && (job->machine == NULL || job->machine == of_plan))
        return of_plan;
    base_diagnostic *d =
        base_diagnostics_add(&job->diagnostics, "plan-machine", plan->location,
                             of_plan == NULL ? "the plan was made for an unknown machine"
                                             : "the plan was made for another machine");
    d->found = plan->machine;
    d->expected = job->machine != NULL ? job->machine->name : "a machine that croft knows";
    return NULL;
}

static const ir_plan *make_plan(void *state, const ir_module *module) {
    opt_job *job = state;
    const char *plan = job->options->plan;
    if (job->plan_is_file) {
        const ir_plan *read = text_plan_parse(&job->arena, &job->plan, &job->diagnostics);
        return read != NULL && plan_machine(job, read) != NULL ? read : NULL;
    }
    planner_family family = plan == NULL                    ? PLANNER_AUTOMATIC
                            : strcmp(plan, "fallback") == 0 ? PLANNER_FALLBACK
                                                            : PLANNER_ROW;
    return planner_plan(&job->arena, module, job->machine != NULL ? job->machine : machine_host(),
                        family, job->options->strict, &job->diagnostics);
}

/* ---- running ---- */
static bool run_list(opt_job *job, pass_runner *runner) {
    for (int i = 0; i < job->pass_count && !runner->stopped; i++) {
        if (!pass_runner_run(runner, job->module, job->passes[i], NULL))
            return false;
        runner->stopped = job->passes[i] == job->stop_after;
    }
    return true;
}

/* ---- what each pass did ---- */

typedef struct pass_ran {
    const char *pass, *level;
    bool changed;
    int64_t ops;
} pass_ran;

static void write_ran(base_json *json, const void *state) {
    const pass_ran *ran = state;
    base_json_object(json, NULL);
    base_json_string(json, "pass", ran->pass);
    base_json_bool(json, "changed", ran->changed);
    base_json_string(json, "level", ran->level);
    base_json_integer(json, "ops", ran->ops);
    base_json_close(json);
}

static int64_t count_ops(const ir_region *region) {
    int64_t count = 0;
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        count++;
        for (int i = 0; i < op->region_count; i++)
            count += count_ops(op->regions[i]);
    }
    return count;
}

static uint64_t hash_module(const ir_module *module) {
    base_text text;
    base_text_init(&text, module->arena);
    ir_module_print(&text, module, true);
    return base_hash_bytes(BASE_HASH_START, text.bytes, (size_t)text.length);
}

static void print_after(void *state, const pass_row *pass, const ir_module *module) {
    opt_job *job = state;
    cli_options options = *job->options;
    cli_passes_print_after(&options, pass, module);
    if (!options.json)
        return;
    uint64_t hash = hash_module(module);
    pass_ran ran = {.pass = pass->name,
                    .level = ir_level_name(module->level),
                    .changed = hash != job->text_hash,
                    .ops = count_ops(&module->body)};
    cli_answer_add(job->options, "passes", write_ran, &ran);
    job->text_hash = hash;
}

static bool output_is_file(const opt_job *job) {
    const char *path = job->options->output;
    return path != NULL && strcmp(path, "-") != 0;
}

static void write_answer(base_json *json, const void *state) {
    const opt_job *job = state;
    base_json_string(json, "kernel", job->module->name);
    base_json_string(json, "level", ir_level_name(job->module->level));
    base_json_string(json, "file", output_is_file(job) ? job->options->output : NULL);
    base_json_string(json, "text", output_is_file(job) ? NULL : job->output);
}

static bool run_passes(opt_job *job) {
    bool honest = job->options->check_passes;
    cli_answer_add(job->options, "passes", NULL, NULL);
    job->text_hash = job->options->json ? hash_module(job->module) : 0;
    pass_runner runner = {.diagnostics = &job->diagnostics,
                          .machine = job->machine != NULL || job->plan_is_file ? job->machine
                                                                               : machine_host(),
                          .strict = job->options->strict,
                          .make_plan = make_plan,
                          .checks = honest ? PASS_CHECK_ALL : PASS_CHECK_VERIFY,
                          .after = print_after,
                          .state = job,
                          .stop_after = job->stop_after};
    if (job->options->pair_count > 0)
        pass_runner_interpret(&runner, &job->inputs.fixture);
    bool listed = job->options->passes != NULL;
    bool good = listed ? run_list(job, &runner)
                       : pass_runner_pipeline(&runner, job->module, job->module->level, IR_THREAD);
    if (!good || job->stop_after == NULL || runner.stopped)
        return good;
    base_diagnostics_add(&job->diagnostics, "pass-missing", (base_location){0},
                         "--stop-after %s: the pass is not among those that run",
                         job->stop_after->name);
    return false;
}

static int opt_run(opt_job *job) {
    base_diagnostics *diagnostics = &job->diagnostics;
    const cli_options *options = job->options;
    const char *plan = options->plan;
    job->plan_is_file = plan != NULL && strcmp(plan, "fallback") != 0 && strcmp(plan, "row") != 0;
    if (!cli_read_file(&job->arena, options->file, &job->source, diagnostics) ||
        (job->plan_is_file && !cli_read_file(&job->arena, plan, &job->plan, diagnostics)))
        return CLI_EXIT_SYSTEM;
    bool named = read_passes(job);
    if (!read_module(job) || !named || !check_levels(job) ||
        (options->pair_count > 0 &&
         !cli_inputs_read(&job->inputs, job->module, options, diagnostics)) ||
        !run_passes(job))
        return CLI_EXIT_DIAGNOSTICS;
    base_text text;
    base_text_init(&text, &job->arena);
    ir_module_print(&text, job->module, true);
    job->output = text.bytes;
    if ((!options->json || output_is_file(job)) &&
        !cli_output_text(options->output, text.bytes, diagnostics))
        return CLI_EXIT_SYSTEM;
    cli_answer_write(options, write_answer, job);
    return CLI_EXIT_OK;
}

static int opt_usage(const cli_options *options, opt_job *job) {
    if (options->file == NULL)
        return cli_refuse(options, CLI_EXIT_USAGE, "file-missing", NULL, "opt needs a file");
    job->machine = options->machine != NULL ? machine_find(options->machine) : NULL;
    if (options->machine != NULL && job->machine == NULL)
        return cli_machine_unknown(options, options->machine);
    if (options->pair_count > 0 && !options->check_passes)
        return cli_refuse(options, CLI_EXIT_USAGE, "option-use", NULL,
                          "opt takes inputs with --check-passes only");
    return cli_passes_options(options, &job->stop_after) ? CLI_EXIT_OK : CLI_EXIT_USAGE;
}

static int check_usage(const cli_options *options, opt_job *job) {
    (void)job;
    if (options->pair_count == 0 && !options->check_passes && options->kernel == NULL)
        return CLI_EXIT_OK;
    return cli_refuse(options, CLI_EXIT_USAGE, "option-use", NULL,
                      "an IR text is checked as it stands: no values and no other kernel");
}

static int check_run(opt_job *job) {
    if (!cli_read_file(&job->arena, job->options->file, &job->source, &job->diagnostics))
        return CLI_EXIT_SYSTEM;
    if (!read_module(job))
        return CLI_EXIT_DIAGNOSTICS;
    if (!job->options->json)
        printf("%s: kernel %s of level %s is fine\n", job->options->file, job->module->name,
               ir_level_name(job->module->level));
    return CLI_EXIT_OK;
}

static int run_job(const cli_options *options, int (*usage)(const cli_options *, opt_job *),
                   int (*run)(opt_job *job)) {
    opt_job *job = calloc(1, sizeof *job); /* what setjmp would not restore stands outside */
    if (job == NULL)
        return cli_out_of_memory(options);
    job->options = options;
    int status = usage(options, job);
    jmp_buf exhausted;
    base_arena_init(&job->arena, base_allocator_default(), &exhausted);
    base_diagnostics_init(&job->diagnostics, &job->arena);
    if (setjmp(exhausted) != 0) {
        status = cli_out_of_memory(options);
    } else if (status == CLI_EXIT_OK) {
        status = run(job);
        cli_say_findings(options, &job->diagnostics);
        if (strcmp(options->command, "check") == 0)
            cli_say_checked(options, job->name, ir_level_name(job->level), status, 0);
    }
    cli_inputs_free(&job->inputs);
    base_arena_free(&job->arena);
    free(job);
    return status;
}

int cli_opt(const cli_options *options) {
    if (!options->list)
        return run_job(options, opt_usage, opt_run);
    cli_passes_answer(options);
    return CLI_EXIT_OK;
}

int cli_check_ir(const cli_options *options) {
    return run_job(options, check_usage, check_run);
}
