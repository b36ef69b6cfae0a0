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

#include "job.h"
#include "output.h"

#include <string.h>

static int refuse_value(const compile_report *report, const char *wanted) {
    fprintf(stderr, "croft: kernel %s has no tile named %.200s\n  its tiles are", report->kernel,
            wanted);
    for (int64_t i = 0; i < report->value_count; i++)
        fprintf(stderr, "%s %s", i > 0 ? "," : "", report->values[i].anchor);
    fputs(report->value_count == 0 ? " none\n" : "\n", stderr);
    return CLI_EXIT_USAGE;
}

/* CLI_EXIT_OK with the tile of --value, or NULL where the whole report is wanted. */
static int find_value(const cli_options *options, const compile_report *report,
                      const compile_report_value **value) {
    *value = NULL;
    if (options->value == NULL)
        return CLI_EXIT_OK;
    *value = compile_report_find(report, options->value);
    if (*value == NULL)
        return refuse_value(report, options->value);
    if ((*value)->tile.rank > 0)
        return CLI_EXIT_OK;
    fprintf(stderr,
            "croft: %.200s: a tile whose axes share lanes or slots, or are shifted, is "
            "not drawn\n",
            options->value);
    return CLI_EXIT_USAGE;
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
static cli_explain_launches find_launches(base_text *out, const cli_job *job) {
    const compile_result *compiled = &job->compiled;
    cli_explain_launches launches = {.kernel = compiled->tile->name,
                                     .plan = compiled->plan,
                                     .planning = compiled->report->planning,
                                     .count = compiled->launch_count,
                                     .own_parameters = compiled->tile->parameter_count};
    bool split = cli_explain_is_split(&launches);
    launches.reports = BASE_NEW_ARRAY(out->arena, compile_report *, launches.count);
    for (int i = 0; i < launches.count; i++) {
        launches.reports[i] = BASE_NEW(out->arena, compile_report);
        *launches.reports[i] = *compiled->launches[i].report;
        if (split && (i > 0 || !job->options->json))
            launches.reports[i]->planning = NULL;
    }
    return launches;
}

/* Texts behind each other, for programs a list, of which the first has the planner's reasons. */
static void write_reports(base_text *out, const cli_job *job) {
    cli_explain_launches launches = find_launches(out, job);
    bool split = cli_explain_is_split(&launches), json = job->options->json;
    if (job->options->html) {
        cli_explain_page(out, &launches);
        return;
    }
    if (split && !json)
        cli_explain_launches_text(out, &launches);
    base_text_string(out, split && json ? "[" : "");
    for (int i = 0; i < launches.count; i++) {
        base_text_string(out, !split ? "" : !json ? "\n" : i > 0 ? ", " : "");
        if (json)
            cli_explain_json(out, launches.reports[i]);
        else
            cli_explain_text(out, launches.reports[i]);
    }
    base_text_string(out, split && json ? "]\n" : "");
}

static int print_report(cli_job *job) {
    jmp_buf exhausted;
    job->compiled.arena.exhausted = job->arena.exhausted = &exhausted;
    if (setjmp(exhausted) != 0)
        return cli_out_of_memory();
    const compile_report *report = choose_report(job);
    const compile_report_value *value;
    int status = find_value(job->options, report, &value);
    if (status != CLI_EXIT_OK)
        return status;
    base_text text;
    base_text_init(&text, &job->compiled.arena);
    if (value != NULL)
        cli_explain_picture(&text, report, value, job->options->html);
    else
        write_reports(&text, job);
    if (cli_output_text(job->options->output, text.bytes, &job->diagnostics))
        return CLI_EXIT_OK;
    cli_print_diagnostics(&job->diagnostics);
    return CLI_EXIT_SYSTEM;
}

static int usage(const char *message) {
    fprintf(stderr, "croft: explain: %s\n(`croft --help` lists the options)\n", message);
    return CLI_EXIT_USAGE;
}

int cli_explain(const cli_options *options) {
    if (options->value == NULL && options->svg)
        return usage("--svg draws the tile of --value NAME");
    if (options->html && options->json)
        return usage("a page has no --json");
    if (options->value != NULL && options->svg == options->html)
        return usage("--value NAME is drawn with --svg or with --html");
    if (options->value != NULL && options->json)
        return usage("a picture has no --json");
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
