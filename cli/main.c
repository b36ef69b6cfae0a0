/* croft: the command. Chooses a command by its name; each stands in a file of its own. */
#include "answer.h"
#include "croft.h"
#include "options.h"
#include "simulate.h"

#include "base/nearest.h"
#include "machine/machine.h"
#include "target/target.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

typedef struct command_row {
    const char *name;
    int (*run)(const cli_options *options);
    bool needs_file, kernels_only;
} command_row;

static int command_version(const cli_options *options);
static int command_help(const cli_options *options);

static const command_row commands[] = {
    {"run", cli_run, true, false},
    {"check", cli_check, true, false},
    {"emit", cli_emit, true, true},
    {"plan", cli_plan, true, true},
    {"explain", cli_explain, true, true},
    {"show", cli_show, true, false},
    {"opt", cli_opt, false, false},
    {"layout", cli_layout, false, false},
    {"devices", cli_devices, false, false},
    {"cache", cli_cache, true, false},
    {"version", command_version, false, false},
    {"help", command_help, false, false},
};

/* ---- what the command is ---- */

#ifdef __clang__
static const char build_compiler[] = __VERSION__; /* begins with its name */
#else
static const char build_compiler[] = "gcc " __VERSION__;
#endif

static bool is_sanitized(void) {
#if defined(__SANITIZE_ADDRESS__)
    return true;
#elif defined(__has_feature)
    return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
    return false;
#endif
}

static bool is_optimised(void) {
#ifdef __OPTIMIZE__
    return true;
#else
    return false;
#endif
}

static void write_version(base_json *json, const void *state) {
    (void)state;
    base_json_string(json, "version", croft_version());
    base_json_object(json, "build");
    base_json_string(json, "compiler", build_compiler);
    base_json_integer(json, "address_bits", (int64_t)sizeof(void *) * 8);
    base_json_bool(json, "optimised", is_optimised());
    base_json_bool(json, "sanitized", is_sanitized());
    base_json_close(json);
    base_json_string(json, "machine", machine_host()->name);
    base_json_array(json, "machines");
    for (int i = 0; machine_at(i) != NULL; i++)
        base_json_string(json, NULL, machine_at(i)->name);
    base_json_close(json);
    base_json_array(json, "targets");
    for (int i = 0; target_at(i) != NULL; i++)
        base_json_string(json, NULL, target_at(i)->name);
    base_json_close(json);
}

static int command_version(const cli_options *options) {
    if (options->json)
        cli_answer_write(options, write_version, NULL);
    else
        printf("croft %s\n", croft_version());
    return CLI_EXIT_OK;
}

static void write_option(base_json *json, const cli_option_facts *facts) {
    base_json_object(json, NULL);
    base_json_string(json, "option", facts->word);
    base_json_string(json, "value", facts->value);
    base_json_array(json, "commands");
    for (int i = 0; i < facts->command_count; i++)
        base_json_string(json, NULL, facts->commands[i]);
    base_json_close(json);
    base_json_close(json);
}

static void write_help(base_json *json, const void *state) {
    (void)state;
    base_text text;
    base_text_init(&text, json->out->arena);
    for (const char *const *part = cli_options_help(); *part != NULL; part++)
        base_text_string(&text, *part);
    base_json_array(json, "commands");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        base_json_string(json, NULL, commands[i].name);
    base_json_close(json);
    base_json_array(json, "options");
    cli_option_facts facts;
    for (int i = 0; cli_options_at(i, &facts); i++)
        write_option(json, &facts);
    base_json_close(json);
    base_json_string(json, "text", text.bytes);
}

static void print_help(FILE *out) {
    for (const char *const *part = cli_options_help(); *part != NULL; part++)
        fputs(*part, out);
}

static int command_help(const cli_options *options) {
    if (options->json)
        cli_answer_write(options, write_help, NULL);
    else
        print_help(stdout);
    return CLI_EXIT_OK;
}

/* ---- commands ---- */

static int unknown_command(const cli_options *options) {
    enum { COMMANDS = sizeof commands / sizeof commands[0] };
    const char *names[COMMANDS];
    char hint[CLI_HINT_LIMIT] = "";
    for (int i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    const char *near = base_nearest_name(options->command, names, COMMANDS);
    if (near != NULL)
        cli_hint_add(hint, "did you mean `%s`? ", near);
    cli_hint_add(hint, "`croft --help` lists them");
    return cli_refuse(options, CLI_EXIT_USAGE, "unknown-command", hint, "unknown command: %.200s",
                      options->command);
}

static int command_dispatch(const cli_options *options) {
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(options->command, commands[i].name) != 0)
            continue;
        if (commands[i].needs_file && options->file == NULL)
            return cli_refuse(
                options, CLI_EXIT_USAGE, "file-missing", NULL, "%s needs a %s", options->command,
                strcmp(options->command, "cache") == 0 ? "verb: ls, verify or gc" : "file");
        if (commands[i].kernels_only && cli_is_ir_text(options->file))
            return cli_refuse(options, CLI_EXIT_USAGE, "kernel-expected", NULL,
                              "%s takes kernels; IR text is for `croft check`, `croft opt` and "
                              "`croft run --target sim`",
                              options->command);
        return commands[i].run(options);
    }
    return unknown_command(options);
}

/* A file size limit is then a failed write, not a kill. A standard file that is closed would lend
 * its number to the next file that is opened, an output of ours among them; its place is taken by a
 * file that refuses writing, so that the failure is told. */
static void secure_process(void) {
    signal(SIGXFSZ, SIG_IGN);
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
        if (fcntl(file, F_GETFD) < 0)
            (void)!open("/dev/null", O_RDONLY);
}

static int no_command(const cli_options *options) {
    if (options->answer->is_json)
        return cli_refuse(options, CLI_EXIT_USAGE, "unknown-command", "`croft --help` lists them",
                          "a command is missing");
    print_help(stderr);
    return CLI_EXIT_USAGE;
}

static int run(const cli_options *options) {
    if (options->help)
        return command_help(options);
    if (options->version)
        return command_version(options);
    return options->command == NULL ? no_command(options) : command_dispatch(options);
}

int main(int argc, char **argv) {
    cli_options options;
    cli_answer answer;
    secure_process();
    cli_answer_open(&answer, cli_options_ask_json(argc, argv));
    bool parsed = cli_options_parse(argc, argv, &answer, &options);
    if (parsed)
        answer.is_json = options.json; /* a word may have been the value of an option */
    int status = cli_answer_close(&answer, &options, parsed ? run(&options) : CLI_EXIT_USAGE);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("croft: cannot write to standard output\n", stderr);
        return status == CLI_EXIT_OK ? CLI_EXIT_SYSTEM : status;
    }
    return status;
}
