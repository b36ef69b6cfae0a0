/* `croft plan`: the plan, or all that it was chosen from.
 *
 *     croft plan softmax.croft N=4096 --machine sm_90              the plan, which --plan reads
 *     croft plan softmax.croft N=4096 --set v=2,keep=again         the best plan that is so
 *     croft plan softmax.croft N=4096 --all                        candidates by price, refusals
 *     croft plan softmax.croft N=4096 --all --json                 the same with facts
 *
 * A note stands behind the plan as a comment where the planner had no choice.
 */
#include "plan.h"

#include "answer.h"
#include "candidates.h"
#include "output.h"
#include "plan_json.h"

/* ---- options ---- */

static int unknown_model(const cli_options *options) {
    char hint[CLI_HINT_LIMIT] = "models are";
    for (int i = 0; cost_model_name((cost_model)i) != NULL; i++)
        cli_hint_add(hint, " %s", cost_model_name((cost_model)i));
    return cli_refuse(options, CLI_EXIT_USAGE, "unknown-model", hint, "unknown model: %.200s",
                      options->model);
}

int cli_plan_options(cli_job *job, planner_options *options) {
    const cli_options *given = job->options;
    *options = (planner_options){
        .set = given->set, .all = given->all, .model_given = given->model != NULL};
    if (given->model != NULL && !cost_model_find(given->model, &options->model))
        return unknown_model(given);
    if (given->cost_model == NULL)
        return CLI_EXIT_OK;
    jmp_buf exhausted;
    job->arena.exhausted = &exhausted;
    if (setjmp(exhausted) != 0)
        return cli_out_of_memory(job->options);
    base_source *file = BASE_NEW(&job->arena, base_source);
    bool read = cli_read_file(&job->arena, given->cost_model, file, &job->diagnostics);
    if (read)
        options->coefficients = cost_coefficients_parse(&job->arena, file, &job->diagnostics);
    if (options->coefficients != NULL)
        return CLI_EXIT_OK;
    cli_say_findings(job->options, &job->diagnostics);
    return read ? CLI_EXIT_DIAGNOSTICS : CLI_EXIT_SYSTEM;
}

/* ---- text ---- */

static void write_sizes(base_text *out, const planner_program *program) {
    if (cli_candidates_taken(out, program, "# priced for a class of calls: "))
        base_text_string(out, "\n");
    if (program->trips_taken)
        base_text_string(out, "# loops whose bounds only the data knows count once\n");
}

static void write_candidate(base_text *out, const planner_report *report, int64_t rank,
                            const cli_ranked *row) {
    const planner_candidate *c = row->candidate;
    cost_estimate estimate = planner_price(report->program, c, report->model, report->coefficients);
    base_text_format(out, "%c%4lld ", row->number == report->search->best ? '*' : ' ',
                     (long long)rank);
    cli_candidates_amount(out, c->price, 12);
    char workers[48];
    int written =
        snprintf(workers, sizeof workers, "%lld", (long long)planner_candidate_workers(c));
    if (c->blocks > 1)
        snprintf(workers + written, sizeof workers - (size_t)written, "x%lld",
                 (long long)c->blocks);
    base_text_format(out, "%s%6s%4lld%4lld%4lld%5lld  %-5s %-10s %s", c->blocks > 1 ? " " : "",
                     workers, (long long)c->vector, (long long)c->unroll, (long long)c->packed,
                     (long long)c->parts, c->stepped ? "step" : "slot",
                     planner_keeping_name(c->keeping), c->shifted ? "shifted, " : "");
    if (estimate.available)
        cli_candidates_estimate(out, &estimate);
    else
        base_text_format(out, "no price: %s is not known", estimate.missing);
    base_text_string(out, "\n");
}

static void write_all(base_text *out, const cli_job *job) {
    const planner_report *report = &job->compiled.planning;
    const planner_search *search = report->search;
    cli_ranked *order = cli_candidates_order(out->arena, search);
    base_text_format(out, "%s on %s, priced by %s: ", job->compiled.plan->kernel,
                     job->machine->name, cost_model_name(report->model));
    int64_t legal = cli_candidates_legal(search);
    base_text_format(out, "%lld candidates, %lld refused\n", (long long)legal,
                     (long long)(search->count - legal));
    write_sizes(out, report->program);
    base_text_string(out, " rank        price     W   V   U   P    G  chunk keep       because\n");
    for (int64_t i = 0, rank = 0; i < search->count; i++)
        if (order[i].candidate->refusal == PLANNER_LEGAL)
            write_candidate(out, report, ++rank, &order[i]);
    for (int reason = PLANNER_LEGAL + 1; reason < PLANNER_REFUSAL_COUNT; reason++) {
        base_text line;
        base_text_init(&line, out->arena);
        if (cli_candidates_refusal(&line, search, (planner_refusal)reason))
            base_text_format(out, "refused %s\n", line.bytes);
    }
}

static void write_note(base_text *out, const cli_job *job) {
    const planner_report *report = &job->compiled.planning;
    const planner_obstacle_row *row = planner_obstacle_describe(report->admission.row);
    if (report->kind == PLANNER_BY_OBSTACLE)
        base_text_format(out, "# no row plan: %s [%s]\n", row->reason, row->slug);
    if (report->kind == PLANNER_BY_SEARCH && report->search != NULL) {
        cost_estimate estimate =
            planner_price(report->program, &report->chosen, report->model, report->coefficients);
        if (!estimate.available)
            base_text_format(out, "# no price by %s: %s is not known; the standard plan\n",
                             cost_model_name(report->model), estimate.missing);
    }
    if (job->compiled.log.erased > 0)
        base_text_format(out, "# explicit layouts are erased on %s\n", job->machine->name);
}

/* ---- the command ---- */

/* There is nothing to list where the planner had no choice. */
static int no_candidates(const cli_job *job) {
    const planner_report *report = &job->compiled.planning;
    const char *reason = report->kind == PLANNER_BY_TEXT
                             ? "its text fixes who owns what"
                             : planner_obstacle_describe(report->admission.row)->reason;
    return cli_refuse(job->options, CLI_EXIT_DIAGNOSTICS, "plan-candidates", NULL,
                      "plan: --all: kernel %s has no row plans to choose from: %s",
                      job->compiled.plan->kernel, reason);
}

static int print_plan(cli_job *job) {
    const cli_options *options = job->options;
    jmp_buf exhausted;
    job->compiled.arena.exhausted = job->arena.exhausted = &exhausted;
    if (setjmp(exhausted) != 0)
        return cli_out_of_memory(job->options);
    if (options->all && job->compiled.planning.search == NULL)
        return no_candidates(job);
    if (options->json) {
        cli_answer_write(options, options->all ? cli_plan_all_json : cli_plan_json, job);
        return CLI_EXIT_OK;
    }
    base_text text;
    base_text_init(&text, &job->compiled.arena);
    if (options->all) {
        write_all(&text, job);
    } else {
        ir_plan_print(&text, job->compiled.plan);
        write_note(&text, job);
    }
    if (cli_output_text(options->output, text.bytes, &job->diagnostics))
        return CLI_EXIT_OK;
    cli_say_findings(job->options, &job->diagnostics);
    return CLI_EXIT_SYSTEM;
}

int cli_plan(const cli_options *options) {
    cli_job job;
    int status = cli_job_open(&job, options, NULL);
    if (status == CLI_EXIT_OK)
        status = cli_job_arguments(&job);
    /* A plan that was given is obeyed or refused here too, not just read. */
    compile_stage stage = job.plan.text != NULL ? COMPILE_TO_MAPPED : COMPILE_TO_PLAN;
    if (status == CLI_EXIT_OK)
        status = cli_job_compile(&job, stage, true);
    if (status == CLI_EXIT_OK)
        status = print_plan(&job);
    cli_job_close(&job);
    return status;
}
