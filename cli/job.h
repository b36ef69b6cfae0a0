/* A kernel file and its arguments, from the command line to a compile request.
 *
 *     cli_job_open      reads FILE, finds the kernel and its signature
 *     cli_job_arguments name=value pairs -> arrays and text_argument
 *     cli_job_compile   compile_run with the options' machine, plan and stage
 *     cli_job_specialise  the variant whose conditions the arrays meet
 *     cli_job_close
 *
 * Every failure has been said (answer.h) when a function answers something else than CLI_EXIT_OK.
 */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include "array.h"
#include "compile/compile.h"
#include "options.h"

typedef struct cli_argument {
    text_argument text;
    bool is_tensor;
    ir_access_mode mode;
    cli_array array;         /* in and inout: the input; out: made after binding */
    const char *output_path; /* out and inout: where it goes, "-" = print, NULL = nowhere */
} cli_argument;

typedef struct cli_job {
    const cli_options *options;
    base_arena arena;
    base_diagnostics diagnostics; /* of the command itself: files and values */
    base_source source;
    base_source plan;
    const machine *machine;     /* that is planned for */
    const machine *runs_on;     /* that source is written for */
    const pass_row *stop_after; /* of --stop-after */
    compile_result syntax;      /* signature */
    cli_argument arguments[CLI_ARGUMENT_LIMIT];
    int argument_count;
    text_argument texts[CLI_ARGUMENT_LIMIT]; /* of the arguments, for the request */
    cli_options print_options;
    planner_options planning; /* of --set and the like */
    compile_request request;  /* that `compiled` comes from */
    unsigned tries; /* kinds of conditions that a run may try, as compile_request.assume */
    compile_result compiled;
    int64_t faults; /* that a run with --count-faults has counted */
} cli_job;

/* `text`: what the file holds, when it has been read already; it outlives the job. NULL: read it.
 */
int cli_job_open(cli_job *job, const cli_options *options, const base_source *text);
/* Reads and generates the arrays that are given; what is missing is the binding's business. */
int cli_job_arguments(cli_job *job);
int cli_job_compile(cli_job *job, compile_stage stage, bool partial);
/* For a program whose registers spill: compiled anew with fewer values in them. */
int cli_job_hold_less(cli_job *job);
/* `compiled` becomes the variant under its conditions i with holds[i]. */
int cli_job_specialise(cli_job *job, const bool *holds);
void cli_job_close(cli_job *job);

/* Says that there is no such machine, and which there are; CLI_EXIT_USAGE. */
int cli_machine_unknown(const cli_options *options, const char *name);

/* Prints an array's type and its elements, a row a line, at most CLI_VALUES_LIMIT; with --json
 * nothing: they stand in the answer. */
void cli_print_array(const cli_options *options, const char *name, const cli_array *array);
enum { CLI_TEXT_LIMIT = 1 << 21 };
/* Reads a text file into the arena; one that has CLI_TEXT_LIMIT bytes then was cut off, which is
 * more than any reader of ours takes. False with a finding. `-` is standard input. A pipe is read
 * to its end; one that nobody writes to is empty. */
bool cli_read_file(base_arena *arena, const char *path, base_source *source,
                   base_diagnostics *diagnostics);

#endif
