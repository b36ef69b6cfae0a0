/* A kernel file and its arguments, made into a compile request.
 *
 *     rmsnorm.croft x=randn:4x8 w=w.npy y=- eps=1e-6     x: an array made here, w: a file,
 *                                                        y: printed, eps: a number
 *
 * Arguments are read in two passes: arrays that say their type first, since a type parameter may
 * be bound by them; then generated arrays that take theirs from it. What a name means is the
 * binding's business (text/bind.c), which reports it.
 */
#include "job.h"

#include "answer.h"
#include "generate.h"
#include "npy.h"
#include "output.h"
#include "passes.h"
#include "plan.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const base_location nowhere = {0};

static bool read_refused(base_diagnostics *diagnostics, const char *path, int error) {
    base_diagnostics_add(diagnostics, "file-open", nowhere, "%.400s: cannot read", path)->found =
        base_diagnostics_text(diagnostics, "%s", strerror(error));
    return false;
}

/* Opening a pipe without a writer does not wait; reading one waits for its writer, as usual. */
static int open_text(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int flags = file >= 0 ? fcntl(file, F_GETFL) : -1;
    if (flags >= 0)
        (void)fcntl(file, F_SETFL, flags & ~O_NONBLOCK);
    return file;
}

/* Up to the limit, which no text may have: its reader then says that it is too large. 0 or an
 * errno. */
static int read_text(int file, base_text *text) {
    char block[65536];
    while (text->length < CLI_TEXT_LIMIT) {
        ssize_t got = read(file, block, sizeof block);
        if (got < 0 && errno != EINTR)
            return errno;
        if (got == 0)
            break;
        if (got > 0)
            base_text_append(text, block, (size_t)got);
    }
    return 0;
}

bool cli_read_file(base_arena *arena, const char *path, base_source *source,
                   base_diagnostics *diagnostics) {
    bool standard = strcmp(path, "-") == 0;
    int file = standard ? dup(STDIN_FILENO) : open_text(path);
    if (file < 0)
        return read_refused(diagnostics, path, errno);
    base_text text;
    base_text_init(&text, arena);
    int error = read_text(file, &text);
    close(file);
    if (error != 0)
        return read_refused(diagnostics, path, error);
    *source = (base_source){
        .name = standard ? "<stdin>" : path, .text = text.bytes, .length = (size_t)text.length};
    return true;
}

/* ---- opening ---- */

int cli_machine_unknown(const cli_options *options, const char *name) {
    char hint[CLI_HINT_LIMIT] = "machines are";
    for (int i = 0; machine_at(i) != NULL; i++)
        cli_hint_add(hint, " %s", machine_at(i)->name);
    return cli_refuse(options, CLI_EXIT_USAGE, "unknown-machine", hint, "unknown machine: %.200s",
                      name);
}

/* The machine whose source is written where the options name a target and no machine of it: that of
 * the device, this processor, or the newest of the table. NULL: any machine has its own. */
static const machine *target_machine(const cli_options *options) {
    bool runs = strcmp(options->command, "run") == 0;
    const char *target = options->target != NULL ? options->target : runs ? "cpu" : "";
    if (options->runs_on != NULL)
        return machine_find(options->runs_on);
    if (strcmp(target, machine_host()->target) == 0)
        return machine_host();
    const machine *newest = NULL;
    for (int i = 0; machine_at(i) != NULL; i++)
        if (strcmp(machine_at(i)->target, target) == 0)
            newest = machine_at(i);
    return newest;
}

/* A plan for another kind of machine is written for the registers of this one. */
static int job_machine(cli_job *job) {
    const char *name = job->options->machine;
    const machine *own = target_machine(job->options);
    job->machine = name != NULL ? machine_find(name) : own != NULL ? own : machine_host();
    job->runs_on = job->machine;
    if (job->machine == NULL)
        return cli_machine_unknown(job->options, name);
    if (own != NULL &&
        (job->options->runs_on != NULL || strcmp(job->machine->target, own->target) != 0))
        job->runs_on = own;
    return CLI_EXIT_OK;
}

static bool plan_is_family(const char *plan) {
    return plan == NULL || strcmp(plan, "fallback") == 0 || strcmp(plan, "row") == 0;
}

/* Prints what went wrong; the exit code. */
static int report_compiled(const cli_options *options, const compile_result *result) {
    cli_say_findings(options, &result->diagnostics);
    switch (result->status) {
    case COMPILE_OK:
        return CLI_EXIT_OK;
    case COMPILE_REJECTED:
        return CLI_EXIT_DIAGNOSTICS;
    case COMPILE_OUT_OF_MEMORY:
        return cli_out_of_memory(options);
    }
    return CLI_EXIT_SYSTEM;
}

static int job_open(cli_job *job, const base_source *text) {
    const cli_options *options = job->options;
    int status = job_machine(job);
    if (status != CLI_EXIT_OK)
        return status;
    if (!cli_passes_options(options, &job->stop_after))
        return CLI_EXIT_USAGE;
    if (text != NULL)
        job->source = *text;
    if ((text == NULL &&
         !cli_read_file(&job->arena, options->file, &job->source, &job->diagnostics)) ||
        (!plan_is_family(options->plan) &&
         !cli_read_file(&job->arena, options->plan, &job->plan, &job->diagnostics))) {
        cli_say_findings(job->options, &job->diagnostics);
        return CLI_EXIT_SYSTEM;
    }
    compile_request request = {.source = &job->source,
                               .kernel = options->kernel,
                               .partial = true,
                               .machine = job->machine,
                               .stage = COMPILE_TO_SYNTAX};
    compile_run(&request, &job->syntax);
    return report_compiled(job->options, &job->syntax);
}

int cli_job_open(cli_job *job, const cli_options *options, const base_source *text) {
    memset(job, 0, sizeof *job);
    job->options = options;
    jmp_buf exhausted;
    base_arena_init(&job->arena, base_allocator_default(), &exhausted);
    base_diagnostics_init(&job->diagnostics, &job->arena);
    if (setjmp(exhausted) != 0)
        return cli_out_of_memory(options);
    return job_open(job, text);
}

/* ---- arguments ---- */

static bool find_entry(const cli_job *job, const char *name, text_signature_entry *entry) {
    for (int i = 0; text_kernel_signature(job->syntax.kernel, i, entry); i++)
        if (strcmp(entry->name, name) == 0)
            return true;
    return false;
}

static bool parse_dtype(const char *text, base_dtype *dtype) {
    return base_dtype_from_name(text, strlen(text), dtype);
}

/* Sizes are named beside the parameters. */
static bool is_size(const cli_job *job, const char *name) {
    for (int i = 0; i < job->syntax.bindings.size_count; i++)
        if (strcmp(job->syntax.bindings.size_names[i], name) == 0)
            return true;
    return false;
}

/* Decimal, or hexadecimal after 0x; nothing before or behind it but a minus. */
static bool parse_integer(const char *text, int64_t *value) {
    const char *digits = text[0] == '-' ? text + 1 : text;
    bool hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    if (digits[0] < '0' || digits[0] > '9')
        return false;
    char *end = NULL;
    errno = 0;
    *value = strtoll(text, &end, hexadecimal ? 16 : 10);
    return *end == '\0' && errno == 0;
}

/* A number past the range of double is none, nor is one that would become 0. */
static bool parse_number(const char *text, double *value) {
    errno = 0;
    return base_number_parse(text, strlen(text), value) &&
           !(errno == ERANGE && (*value == 0 || isinf(*value)));
}

/* A layout, a number, a dtype, or nothing that the name can mean. What the kernel does not know is
 * left to the binding, which reports it whatever its value. */
static bool parse_plain(cli_job *job, cli_argument *argument, const char *value) {
    text_argument *text = &argument->text;
    text_signature_entry entry;
    bool known = find_entry(job, text->name, &entry);
    if (known && entry.kind == TEXT_ENTRY_LAYOUT) {
        text->kind = TEXT_ARGUMENT_LAYOUT;
        text->layout = value;
        return true;
    }
    if (parse_dtype(value, &text->dtype)) {
        text->kind = TEXT_ARGUMENT_DTYPE;
        return true;
    }
    text->kind = TEXT_ARGUMENT_NUMBER;
    text->is_integer = parse_integer(value, &text->integer);
    text->number = (double)text->integer;
    if (text->is_integer || parse_number(value, &text->number) ||
        (!is_size(job, text->name) && !known))
        return true;
    base_diagnostic *d =
        base_diagnostics_add(&job->diagnostics, "argument-value", nowhere,
                             "%.200s: not a number or an element type", text->name);
    d->found = value;
    d->expected = "a number such as 4 or 1e-5, or an element type such as f32";
    return false;
}

static void describe_array(cli_argument *argument) {
    text_argument *text = &argument->text;
    text->kind = TEXT_ARGUMENT_TENSOR;
    text->dtype = argument->array.dtype;
    text->rank = argument->array.rank;
    for (int i = 0; i < argument->array.rank; i++)
        text->extent[i] = argument->array.extent[i];
}

/* The dtype that a tensor's dtype parameter has by `T=...` or by an array that was read, else its
 * first choice. */
static base_dtype wanted_dtype(const cli_job *job, const text_signature_entry *entry) {
    for (int i = 0; entry->dtype_name != NULL && i < job->argument_count; i++) {
        const cli_argument *other = &job->arguments[i];
        text_signature_entry found;
        if (strcmp(other->text.name, entry->dtype_name) == 0 &&
            other->text.kind == TEXT_ARGUMENT_DTYPE)
            return other->text.dtype;
        if (other->array.memory != NULL && find_entry(job, other->text.name, &found) &&
            found.dtype_name != NULL && strcmp(found.dtype_name, entry->dtype_name) == 0)
            return other->array.dtype;
    }
    return entry->dtype;
}

/* Splits `in.npy,out.npy` of an inout tensor. */
static const char *split_inout(cli_job *job, cli_argument *argument, const char *value) {
    const char *comma = strrchr(value, ',');
    if (argument->mode != IR_INOUT || comma == NULL)
        return value;
    argument->output_path = comma + 1;
    return base_arena_copy(&job->arena, value, (size_t)(comma - value));
}

static const char input_forms[] = "a .npy file, or an array made here such as randn:4x8";
static const char output_forms[] = "a file to write, or `-` to print";

static bool refuse_array(cli_job *job, const cli_argument *argument, const char *message,
                         const char *found, const char *expected) {
    base_diagnostic *d = base_diagnostics_add(&job->diagnostics, "argument-value", nowhere,
                                              "%.200s: %s", argument->text.name, message);
    d->found = found;
    d->expected = expected;
    return false;
}

static bool read_tensor(cli_job *job, cli_argument *argument, const text_signature_entry *entry,
                        const char *value, bool open_dtypes) {
    if (argument->mode == IR_OUT && cli_generate_is_spec(value))
        return refuse_array(job, argument, "an output is not made, it is written", value,
                            output_forms);
    if (argument->mode == IR_OUT) {
        argument->text.kind = TEXT_ARGUMENT_TENSOR;
        argument->text.dtype_open = argument->text.extent_open = true;
        argument->output_path = value;
        return open_dtypes || value[0] != '\0' ||
               refuse_array(job, argument, "no file is named", NULL, output_forms);
    }
    const char *input = split_inout(job, argument, value);
    if (input[0] == '\0' || (argument->output_path != NULL && argument->output_path[0] == '\0'))
        return open_dtypes || refuse_array(job, argument, "no file is named", NULL,
                                           input[0] ? output_forms : input_forms);
    if (strcmp(input, "-") == 0)
        return refuse_array(job, argument, "`-` prints, it does not read", NULL,
                            argument->mode == IR_IN ? input_forms : "`in.npy,-`");
    if (!cli_generate_is_spec(input)) {
        if (open_dtypes)
            return true;
        bool bf16 = entry->dtype == BASE_BF16 || entry->dtype_name != NULL;
        if (!cli_npy_read(input, bf16, &argument->array, &job->diagnostics))
            return false;
    } else {
        const char *colon = strrchr(input, ':');
        base_dtype written;
        bool has_dtype = colon != NULL && parse_dtype(colon + 1, &written);
        if (has_dtype == open_dtypes)
            return true;
        base_dtype wanted = wanted_dtype(job, entry);
        if (!cli_generate(input, argument->text.name, job->options->seed,
                          has_dtype ? NULL : &wanted, &argument->array, &job->diagnostics))
            return false;
    }
    describe_array(argument);
    return true;
}

/* One pass over the pairs; generated arrays without a type of their own come in the second. */
static bool read_arguments(cli_job *job, bool open_dtypes) {
    bool good = true;
    for (int i = 0; i < job->argument_count; i++) {
        cli_argument *argument = &job->arguments[i];
        text_signature_entry entry;
        bool known = find_entry(job, argument->text.name, &entry);
        argument->is_tensor = known && entry.kind == TEXT_ENTRY_TENSOR;
        if (argument->is_tensor) {
            argument->mode = entry.mode;
            good &= read_tensor(job, argument, &entry, job->options->pairs[i].value, open_dtypes);
        } else if (!open_dtypes) {
            good &= parse_plain(job, argument, job->options->pairs[i].value);
        }
    }
    return good;
}

/* What a file would be replaced by is one output. Devices take any number. */
static bool outputs_differ(cli_job *job) {
    char *resolved[CLI_ARGUMENT_LIMIT] = {NULL};
    for (int i = 0; i < job->argument_count; i++) {
        const char *path = job->arguments[i].output_path;
        char place[PATH_MAX];
        struct stat status;
        if (path == NULL || strcmp(path, "-") == 0 || cli_output_resolve(path, place) != 0 ||
            (stat(place, &status) == 0 && !S_ISREG(status.st_mode)))
            continue;
        resolved[i] = base_arena_copy(&job->arena, place, strlen(place));
        for (int k = 0; k < i; k++) {
            if (resolved[k] == NULL || strcmp(resolved[k], place) != 0)
                continue;
            base_diagnostic *d =
                base_diagnostics_add(&job->diagnostics, "output-repeated", nowhere,
                                     "`%.100s` and `%.100s` go to one file",
                                     job->arguments[k].text.name, job->arguments[i].text.name);
            d->found = resolved[i];
            d->expected = "a file for each output";
            return false;
        }
    }
    return true;
}

/* Files that cannot be read are the system's trouble, everything else the arguments'. */
static int arguments_status(const cli_job *job) {
    for (int i = 0; i < job->diagnostics.count; i++)
        if (strncmp(job->diagnostics.items[i].slug, "file-", 5) == 0 ||
            strcmp(job->diagnostics.items[i].slug, "array-memory") == 0)
            return CLI_EXIT_SYSTEM;
    return CLI_EXIT_DIAGNOSTICS;
}

int cli_job_arguments(cli_job *job) {
    jmp_buf exhausted;
    job->arena.exhausted = &exhausted;
    if (setjmp(exhausted) != 0)
        return cli_out_of_memory(job->options);
    for (int i = 0; i < job->options->pair_count; i++) {
        const cli_pair *pair = &job->options->pairs[i];
        job->arguments[i].text.name =
            base_arena_copy(&job->arena, pair->name, (size_t)pair->name_length);
    }
    job->argument_count = job->options->pair_count;
    if (read_arguments(job, false) && read_arguments(job, true) && outputs_differ(job))
        return CLI_EXIT_OK;
    cli_say_findings(job->options, &job->diagnostics);
    return arguments_status(job);
}

/* ---- compiling ---- */

/* The kinds of conditions that --assume names; false: a word is none. */
static bool read_assume(const char *words, unsigned *kinds) {
    *kinds = 0;
    for (const char *word = words; *word != '\0';) {
        size_t length = strcspn(word, ",");
        unsigned found = strncmp(word, "all", length) == 0 && length == 3 ? COMPILE_ASSUME_ALL : 0;
        bool known = found != 0 || (strncmp(word, "nothing", length) == 0 && length == 7);
        for (int k = 0; k < LAYOUT_CONDITION_COUNT; k++) {
            const char *name = layout_condition_describe((layout_condition_kind)k)->name;
            bool same = strlen(name) == length && strncmp(word, name, length) == 0;
            found |= same ? 1U << k : 0;
            known = known || same;
        }
        if (!known)
            return false;
        *kinds |= found;
        word += length + (word[length] == ',');
    }
    return words[0] != '\0';
}

static int unknown_assume(const cli_options *options) {
    char hint[CLI_HINT_LIMIT] = "conditions are nothing, all";
    for (int k = 0; k < LAYOUT_CONDITION_COUNT; k++)
        cli_hint_add(hint, ", %s", layout_condition_describe((layout_condition_kind)k)->name);
    return cli_refuse(options, CLI_EXIT_USAGE, "unknown-condition", hint,
                      "--assume: unknown condition: %.200s", options->assume);
}

int cli_job_compile(cli_job *job, compile_stage stage, bool partial) {
    for (int i = 0; i < job->argument_count; i++)
        job->texts[i] = job->arguments[i].text;
    unsigned assume = 0;
    if (job->options->assume != NULL && !read_assume(job->options->assume, &assume))
        return unknown_assume(job->options);
    int status = cli_plan_options(job, &job->planning);
    if (status != CLI_EXIT_OK)
        return status;
    bool emits = strcmp(job->options->command, "run") != 0;
    job->tries = job->options->assume != NULL ? assume : COMPILE_ASSUME_ALL;
    const char *plan = job->options->plan;
    planner_family family = plan == NULL                    ? PLANNER_AUTOMATIC
                            : strcmp(plan, "fallback") == 0 ? PLANNER_FALLBACK
                            : strcmp(plan, "row") == 0      ? PLANNER_ROW
                                                            : PLANNER_AUTOMATIC;
    job->print_options = *job->options; /* what is called after a pass takes no constant */
    job->request = (compile_request){.source = &job->source,
                                     .kernel = job->options->kernel,
                                     .arguments = job->texts,
                                     .argument_count = job->argument_count,
                                     .strict = job->options->strict,
                                     .count_faults = job->options->count_faults,
                                     .partial = partial,
                                     .machine = job->machine,
                                     .runs_on = job->runs_on,
                                     .family = family,
                                     .planning = &job->planning,
                                     .plan = plan_is_family(plan) ? NULL : &job->plan,
                                     .stage = stage,
                                     .assume = emits ? assume : 0,
                                     .report = strcmp(job->options->command, "explain") == 0,
                                     .verify_passes = job->options->verify_passes,
                                     .check_passes = job->options->check_passes,
                                     .after_pass = cli_passes_print_after,
                                     .after_state = &job->print_options,
                                     .stop_after = job->stop_after};
    compile_free(&job->compiled);
    compile_run(&job->request, &job->compiled);
    return report_compiled(job->options, &job->compiled);
}

int cli_job_hold_less(cli_job *job) {
    compile_free(&job->compiled);
    compile_run(&job->request, &job->compiled);
    return report_compiled(job->options, &job->compiled);
}

int cli_job_specialise(cli_job *job, const bool *holds) {
    if (compile_specialise(&job->request, &job->compiled, holds) == COMPILE_OK)
        return CLI_EXIT_OK;
    return report_compiled(job->options, &job->compiled);
}

void cli_job_close(cli_job *job) {
    for (int i = 0; i < job->argument_count; i++)
        cli_array_free(&job->arguments[i].array);
    compile_free(&job->compiled);
    compile_free(&job->syntax);
    base_arena_free(&job->arena);
}
