/* explain: what was decided for a kernel on a machine, and what the thread module holds.
 *
 *     croft explain softmax.croft N=1009 --machine sm_90            one screen
 *     croft explain softmax.croft N=1009 --machine sm_90 --json     the same for programs
 *     croft explain softmax.croft N=1009 --html -o softmax.html     a page with pictures
 *     croft explain transpose8.croft --value v --svg -o v.svg       who owns each element of v
 *
 * It compiles to level thread, runs nothing, and prints the report of compile/report.h.
 */
#include "explain.h"

#include "answer.h"
#include "job.h"
#include "output.h"

#include <string.h>

static int refuse_value(const cli_options *options, const compile_report *report) {
    char hint[CLI_HINT_LIMIT] = "its tiles are";
    for (int64_t i = 0; i < report->value_count; i++)
        cli_hint_add(hint, "%s %s", i > 0 ? "," : "", report->values[i].anchor);
    cli_hint_add(hint, "%s", report->value_count == 0 ? " none" : "");
    return cli_refuse(options, CLI_EXIT_USAGE, "unknown-tile", hint,
                      "kernel %s has no tile named %.200s", report->kernel, options->value);
}

/* CLI_EXIT_OK with the tile of --value, or NULL where the whole report is wanted. */
static int find_value(const cli_options *options, const compile_report *report,
                      const compile_report_value **value) {
    *value = NULL;
    if (options->value == NULL)
        return CLI_EXIT_OK;
    *value = compile_report_find(report, options->value);
    if (*value == NULL)
        return refuse_value(options, report);
    if ((*value)->tile.rank > 0)
        return CLI_EXIT_OK;
    return cli_refuse(
        options, CLI_EXIT_USAGE, "tile-not-drawn", NULL,
        "%.200s: a tile whose axes share lanes or slots, or are shifted, is not drawn",
        options->value);
}

/* The launch that has the tile of --value; without one the first. */
static const compile_report *choose_report(const cli_job *job) {
    const compile_result *compiled = &job->compiled;
    for (int i = 0; job->options->value != NULL && i < compiled->launch_count; i++)
        if (compile_report_find(compiled->launches[i].report, job->options->value) != NULL)
            return compiled->launches[i].report;
    return compiled->report;
}

/* Of a split kernel the planner's reasons are those of all launches together. */
static cli_explain_launches find_launches(base_arena *arena, const cli_job *job) {
    const compile_result *compiled = &job->compiled;
    cli_explain_launches launches = {.kernel = compiled->tile->name,
                                     .plan = compiled->plan,
                                     .planning = compiled->report->planning,
                                     .count = compiled->launch_count,
                                     .own_parameters = compiled->tile->parameter_count};
    bool split = cli_explain_is_split(&launches);
    launches.reports = BASE_NEW_ARRAY(arena, compile_report *, launches.count);
    for (int i = 0; i < launches.count; i++) {
        launches.reports[i] = BASE_NEW(arena, compile_report);
        *launches.reports[i] = *compiled->launches[i].report;
        if (split && (i > 0 || !job->options->json))
            launches.reports[i]->planning = NULL;
    }
    return launches;
}

/* Texts behind each other. */
static void write_reports(base_text *out, const cli_job *job) {
    cli_explain_launches launches = find_launches(out->arena, job);
    bool split = cli_explain_is_split(&launches);
    if (job->options->html) {
        cli_explain_page(out, &launches);
        return;
    }
    if (split)
        cli_explain_launches_text(out, &launches);
    for (int i = 0; i < launches.count; i++) {
        base_text_string(out, split ? "\n" : "");
        cli_explain_text(out, launches.reports[i]);
    }
}

/* Of several launches a list, of which the first has the planner's reasons. */
static void write_json(base_json *json, const void *state) {
    const cli_explain_launches launches = find_launches(json->out->arena, state);
    if (!cli_explain_is_split(&launches)) {
        cli_explain_json(json, launches.reports[0]);
        return;
    }
    base_json_array(json, "launches");
    for (int i = 0; i < launches.count; i++) {
        base_json_object(json, NULL);
        cli_explain_json(json, launches.reports[i]);
        base_json_close(json);
    }
    base_json_close(json);
}

static int print_report(cli_job *job) {
    jmp_buf exhausted;
    job->compiled.arena.exhausted = job->arena.exhausted = &exhausted;
    if (setjmp(exhausted) != 0)
        return cli_out_of_memory(job->options);
    const compile_report *report = choose_report(job);
    const compile_report_value *value;
    int status = find_value(job->options, report, &value);
    if (status != CLI_EXIT_OK)
        return status;
    if (job->options->json) {
        cli_answer_write(job->options, write_json, job);
        return CLI_EXIT_OK;
    }
    base_text text;
    base_text_init(&text, &job->compiled.arena);
    if (value != NULL)
        cli_explain_picture(&text, report, value, job->options->html);
    else
        write_reports(&text, job);
    if (cli_output_text(job->options->output, text.bytes, &job->diagnostics))
        return CLI_EXIT_OK;
    cli_say_findings(job->options, &job->diagnostics);
    return CLI_EXIT_SYSTEM;
}

static int usage(const cli_options *options, const char *message) {
    return cli_refuse(options, CLI_EXIT_USAGE, "option-use", "`croft --help` lists the options",
                      "explain: %s", message);
}

int cli_explain(const cli_options *options) {
    if (options->value == NULL && options->svg)
        return usage(options, "--svg draws the tile of --value NAME");
    if (options->html && options->json)
        return usage(options, "a page has no --json");
    if (options->value != NULL && options->svg == options->html)
        return usage(options, "--value NAME is drawn with --svg or with --html");
    if (options->value != NULL && options->json)
        return usage(options, "a picture has no --json");
    cli_job job;
    int status = cli_job_open(&job, options, NULL);
    if (status == CLI_EXIT_OK)
        status = cli_job_arguments(&job);
    if (status == CLI_EXIT_OK)
        status = cli_job_compile(&job, COMPILE_TO_THREAD, true);
    if (status == CLI_EXIT_OK)
        status = print_report(&job);
    cli_job_close(&job);
    return status;
}
