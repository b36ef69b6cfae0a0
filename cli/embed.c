/* C for embedders: a kernel as one C file and a header, for programs that know nothing of Croft.
 *
 *     croft emit softmax.croft N=1009 --target cpu -o softmax.c          softmax.c and softmax.h
 *     ... --isa baseline,avx2,avx512                                      three versions in it
 *
 * Each version is a compilation of its own, for the machine cpu-NAME; without --isa there is one,
 * for the machine of the other options. Text of a target alone, as it is compiled by `croft run`,
 * comes from `croft emit` without such a name. The two files are staged before the first is in its
 * place (output.h). */
#include "embed.h"

#include "answer.h"
#include "croft.h"
#include "emit_json.h"
#include "job.h"
#include "output.h"

#include "target/target.h"

#include <stdlib.h>
#include <string.h>

/* In the order in which they stand in the file: each asks for more. */
static const char *const isas[] = {"baseline", "avx2", "avx512"};
enum { ISA_COUNT = sizeof isas / sizeof isas[0] };

static const char machine_prefix[] = "cpu-";

typedef struct embed_state {
    const cli_options *options;
    cli_options own[ISA_COUNT]; /* of each version */
    cli_job *jobs;
    int count;  /* of versions */
    int opened; /* jobs that are to be closed */
    base_arena arena;
    base_diagnostics diagnostics;
} embed_state;

static bool is_c_file(const char *path) {
    const char *dot = path != NULL ? strrchr(path, '.') : NULL;
    return dot != NULL && strcmp(dot, ".c") == 0;
}

bool cli_embed_is_asked(const cli_options *options) {
    if (options->isa != NULL)
        return true;
    const machine *on = options->machine != NULL ? machine_find(options->machine) : machine_host();
    const char *name = options->target != NULL ? options->target : on != NULL ? on->target : "";
    return is_c_file(options->output) && options->level == NULL && options->stop_after == NULL &&
           strcmp(name, "cpu") == 0;
}

/* ---- which versions ---- */

static int refuse_isa(const cli_options *options, const char *why) {
    char hint[CLI_HINT_LIMIT] = "versions are";
    for (int i = 0; i < ISA_COUNT; i++)
        cli_hint_add(hint, "%s %s", i > 0 ? "," : "", isas[i]);
    return cli_refuse(options, CLI_EXIT_USAGE, "option-value", hint, "--isa: %s", why);
}

/* Which of `isas` the list names; each once. */
static int read_isas(const cli_options *options, bool named[ISA_COUNT]) {
    for (const char *at = options->isa;;) {
        size_t length = strcspn(at, ",");
        int found = 0;
        while (found < ISA_COUNT &&
               (strlen(isas[found]) != length || memcmp(isas[found], at, length) != 0))
            found++;
        if (found == ISA_COUNT)
            return refuse_isa(options, length == 0 ? "a name is missing" : "a name is not known");
        if (named[found])
            return refuse_isa(options, "a name stands twice");
        named[found] = true;
        if (at[length] == '\0')
            return CLI_EXIT_OK;
        at += length + 1;
    }
}

static int check_isa(const cli_options *options) {
    if (!is_c_file(options->output))
        return refuse_isa(options, "the versions go into a C file: -o NAME.c");
    if (options->level != NULL || options->stop_after != NULL)
        return refuse_isa(options, "there are versions of C, and none of IR");
    if (options->target != NULL && strcmp(options->target, "cpu") != 0)
        return refuse_isa(options, "the versions are for the target cpu");
    if (options->machine != NULL)
        return refuse_isa(options, "the versions are for machines of their own, not for --machine");
    return CLI_EXIT_OK;
}

static int find_versions(embed_state *state) {
    bool named[ISA_COUNT] = {false};
    if (state->options->isa == NULL) {
        state->own[state->count++] = *state->options;
        return CLI_EXIT_OK;
    }
    int status = check_isa(state->options);
    if (status == CLI_EXIT_OK)
        status = read_isas(state->options, named);
    for (int i = 0; i < ISA_COUNT && status == CLI_EXIT_OK; i++) {
        if (!named[i])
            continue;
        base_text name;
        base_text_init(&name, &state->arena);
        base_text_format(&name, "%s%s", machine_prefix, isas[i]);
        cli_options *own = &state->own[state->count++];
        *own = *state->options;
        own->machine = name.bytes;
    }
    return status;
}

/* ---- compiling ---- */

/* The file is read once: it may be standard input. */
static int compile_version(embed_state *state, int i) {
    cli_job *job = &state->jobs[i];
    int status = cli_job_open(job, &state->own[i], i > 0 ? &state->jobs[0].source : NULL);
    state->opened = i + 1;
    if (status == CLI_EXIT_OK)
        status = cli_job_arguments(job);
    return status == CLI_EXIT_OK ? cli_job_compile(job, COMPILE_TO_SOURCE, true) : status;
}

/* `avx2` of cpu-avx2. */
static const char *version_name(const machine *on) {
    size_t prefix = strlen(machine_prefix);
    return strncmp(on->name, machine_prefix, prefix) == 0 ? on->name + prefix : on->name;
}

static target_version describe_version(embed_state *state, cli_job *job) {
    compile_result *compiled = &job->compiled;
    compiled->arena.exhausted = state->arena.exhausted;
    const ir_module **modules =
        BASE_NEW_ARRAY(&state->arena, const ir_module *, compiled->launch_count);
    base_text plan;
    base_text_init(&plan, &state->arena);
    ir_plan_print(&plan, compiled->plan);
    for (int k = 0; k < compiled->launch_count; k++)
        modules[k] = compiled->launches[k].module;
    return (target_version){.name = version_name(job->runs_on),
                            .machine = job->runs_on,
                            .modules = modules,
                            .count = compiled->launch_count,
                            .plan = plan.bytes};
}

/* ---- files ---- */

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static int write_files(embed_state *state, const target_embedded *made, const char *header) {
    cli_output source_file = {0}, header_file = {0};
    cli_output_part source_part = {made->source, (int64_t)strlen(made->source)};
    cli_output_part header_part = {made->header, (int64_t)strlen(made->header)};
    base_diagnostics *diagnostics = &state->diagnostics;
    bool good =
        cli_output_stage(&source_file, state->options->output, &source_part, 1, diagnostics) &&
        cli_output_stage(&header_file, header, &header_part, 1, diagnostics) &&
        cli_output_commit(&header_file, diagnostics) &&
        cli_output_commit(&source_file, diagnostics);
    cli_output_discard(&source_file);
    cli_output_discard(&header_file);
    cli_emitted emitted = {.job = &state->jobs[0],
                           .level = "source",
                           .files = {state->options->output, header},
                           .file_count = 2,
                           .versions = state->jobs,
                           .version_count = state->count};
    if (good)
        cli_say_emitted(state->options, &emitted);
    if (good)
        return CLI_EXIT_OK;
    cli_say_findings(state->options, diagnostics);
    return CLI_EXIT_SYSTEM;
}

static int write_embedded(embed_state *state) {
    target_version versions[ISA_COUNT];
    const char *output = state->options->output;
    char *header = base_arena_copy(&state->arena, output, strlen(output));
    header[strlen(header) - 1] = 'h';
    for (int i = 0; i < state->count; i++)
        versions[i] = describe_version(state, &state->jobs[i]);
    target_embedding embedding = {.kernel = state->jobs[0].compiled.tile,
                                  .versions = versions,
                                  .count = state->count,
                                  .source = file_name(output),
                                  .header = file_name(header),
                                  .origin = state->jobs[0].source.name,
                                  .croft = croft_version()};
    target_embedded made;
    const char *reason = target_embed(&state->arena, &embedding, &made);
    if (reason == NULL)
        return write_files(state, &made, header);
    base_diagnostics_add(&state->diagnostics, "not-supported",
                         (base_location){.source = &state->jobs[0].source},
                         "there is no C for embedders of this: %s", reason);
    cli_say_findings(state->options, &state->diagnostics);
    return CLI_EXIT_DIAGNOSTICS;
}

static int embed(embed_state *state) {
    int status = find_versions(state);
    if (status != CLI_EXIT_OK)
        return status;
    state->jobs = calloc((size_t)state->count, sizeof *state->jobs);
    if (state->jobs == NULL)
        return cli_out_of_memory(state->options);
    for (int i = 0; i < state->count && status == CLI_EXIT_OK; i++)
        status = compile_version(state, i);
    return status == CLI_EXIT_OK ? write_embedded(state) : status;
}

int cli_embed(const cli_options *options) {
    static const embed_state empty;
    embed_state *state = malloc(sizeof *state);
    jmp_buf exhausted;
    int status = CLI_EXIT_SYSTEM;
    if (state == NULL)
        return cli_out_of_memory(options);
    *state = empty;
    state->options = options;
    base_arena_init(&state->arena, base_allocator_default(), &exhausted);
    base_diagnostics_init(&state->diagnostics, &state->arena);
    if (setjmp(exhausted) == 0)
        status = embed(state);
    else
        status = cli_out_of_memory(options);
    for (int i = state->opened - 1; i >= 0; i--)
        cli_job_close(&state->jobs[i]);
    free(state->jobs);
    base_arena_free(&state->arena);
    free(state);
    return status;
}
