/* The command line as data: one command, one file, options, and name=value pairs. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Exit codes of the command. */
enum {
    CLI_EXIT_OK = 0,
    CLI_EXIT_CHECK_FAILED = 1,
    CLI_EXIT_USAGE = 2,
    CLI_EXIT_DIAGNOSTICS = 3, /* the kernel, its arguments or the plan are refused */
    CLI_EXIT_SYSTEM = 4,      /* a file, the compiler, a device or memory */
};

enum { CLI_ARGUMENT_LIMIT = 128, CLI_WORD_LIMIT = 3 };

typedef struct cli_pair {
    const char *name; /* not NUL-terminated */
    int name_length;
    const char *value;
} cli_pair;

typedef struct cli_answer cli_answer; /* answer.h */

typedef struct cli_options {
    cli_answer *answer; /* what the command says goes there */
    const char *command;
    const char *file; /* of `cache`: the verb */
    cli_pair pairs[CLI_ARGUMENT_LIMIT];
    int pair_count;
    const char *kernel;     /* --kernel NAME */
    const char *target;     /* --target cpu|cuda|opencl|sim|reference; NULL: that of the machine */
    const char *machine;    /* --machine NAME; NULL: this one */
    const char *runs_on;    /* no option: the machine of the device that was opened; NULL: none */
    const char *plan;       /* --plan fallback|row|FILE */
    const char *set;        /* --set w=256,v=4 */
    const char *model;      /* --model NAME */
    const char *cost_model; /* --cost-model FILE */
    bool all;               /* --all */
    const char *level;      /* --level tile|mapped|thread */
    const char *isa;        /* --isa baseline,avx2,avx512 */
    const char *output;     /* -o FILE */
    const char *compiler;   /* --compiler PATH */
    const char *opencl_library; /* --opencl-library PATH */
    bool no_cache;              /* --no-cache */
    uint64_t seed;              /* --seed N */
    int threads;                /* --threads N; 0: all processors */
    const char *assume;         /* --assume CONDITIONS; NULL: not given */
    int offset;                 /* --offset N */
    bool check;                 /* --check */
    bool strict;                /* --strict */
    bool count_faults;          /* --count-faults */
    bool hash;                  /* --hash */
    int repeat;                 /* --repeat N; 0: not given */
    bool verify_passes;         /* --verify-passes */
    bool check_passes;          /* --check-passes */
    const char *passes;         /* -p PASS,... */
    const char *print_after;    /* --print-after PASS|all */
    const char *stop_after;     /* --stop-after PASS */
    bool list;                  /* --list */
    /* of `layout`: the verb and its layouts, instead of a file */
    const char *words[CLI_WORD_LIMIT];
    int word_count;
    const char *element; /* --element T */
    const char *format;  /* --format text|json|svg|html */
    bool json;           /* --json, or --format json */
    const char *value;   /* --value NAME */
    bool svg, html;      /* --svg, --html */
    int width;           /* --width N; 0: not given */
    double tolerance;    /* --tol X; 0: none */
    bool help, version;
} cli_options;

/* Whether one of the words asks for JSON, wherever it stands: what is wrong with the words is then
 * said so. */
bool cli_options_ask_json(int argc, char **argv);
/* False, with a finding, when the words are off. */
bool cli_options_parse(int argc, char **argv, cli_answer *answer, cli_options *options);
/* All commands and options, as text. */
const char *const *cli_options_help(void);
/* Of option i its words; NULL past the end. */
typedef struct cli_option_facts {
    const char *word, *value;    /* what it takes: text, number, count, seed, real; NULL: nothing */
    const char *const *commands; /* of which it is; the first NULL: others let it pass */
    int command_count;
} cli_option_facts;
bool cli_options_at(int index, cli_option_facts *facts);

/* What each command does with the options; the exit code. */
int cli_run(const cli_options *options);
int cli_check(const cli_options *options);
int cli_emit(const cli_options *options);
int cli_plan(const cli_options *options);
int cli_explain(const cli_options *options);
int cli_show(const cli_options *options);
int cli_opt(const cli_options *options);
int cli_check_ir(const cli_options *options); /* `check` of FILE.ir */
int cli_layout(const cli_options *options);
int cli_devices(const cli_options *options);
int cli_cache(const cli_options *options);

#endif
