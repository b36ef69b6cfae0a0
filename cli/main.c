/* croft: the command. Chooses a command by its name; each stands in a file of its own. */
#include "croft.h"
#include "options.h"
#include "simulate.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static int command_version(const cli_options *options) {
    (void)options;
    printf("croft %s\n", croft_version());
    return CLI_EXIT_OK;
}

static int command_help(const cli_options *options) {
    (void)options;
    cli_options_usage(stdout);
    return CLI_EXIT_OK;
}

typedef struct command_row {
    const char *name;
    int (*run)(const cli_options *options);
    bool needs_file, kernels_only;
} command_row;

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

static int command_dispatch(const cli_options *options) {
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(options->command, commands[i].name) != 0)
            continue;
        if (commands[i].needs_file && options->file == NULL) {
            fprintf(stderr, "croft: %s needs a %s\n", options->command,
                    strcmp(options->command, "cache") == 0 ? "verb: ls, verify or gc" : "file");
            return CLI_EXIT_USAGE;
        }
        if (commands[i].kernels_only && cli_is_ir_text(options->file)) {
            fprintf(stderr,
                    "croft: %s takes kernels; IR text is for `croft check`, `croft opt` and "
                    "`croft run --target sim`\n",
                    options->command);
            return CLI_EXIT_USAGE;
        }
        return commands[i].run(options);
    }
    fprintf(stderr, "croft: unknown command: %.200s\n(`croft --help` lists them)\n",
            options->command);
    return CLI_EXIT_USAGE;
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

int main(int argc, char **argv) {
    cli_options options;
    secure_process();
    if (!cli_options_parse(argc, argv, &options))
        return CLI_EXIT_USAGE;
    int status = CLI_EXIT_OK;
    if (options.version && !options.help) {
        status = command_version(&options);
    } else if (options.help || options.command == NULL) {
        cli_options_usage(options.help ? stdout : stderr);
        status = options.help ? CLI_EXIT_OK : CLI_EXIT_USAGE;
    } else {
        status = command_dispatch(&options);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("croft: cannot write to standard output\n", stderr);
        return status == CLI_EXIT_OK ? CLI_EXIT_SYSTEM : status;
    }
    return status;
}
