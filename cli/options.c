/* The command line: a table of options; everything else is the command, the file or name=value.
 *
 *     croft run softmax.croft x=in.npy --seed 7 y=-      options may stand anywhere
 *
 * An option is one row: its word, how its value reads, and the field that takes it.
 */
#include "options.h"

#include "answer.h"

#include "base/nearest.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const help_texts[] = {
    "croft: numeric kernels from short texts\n"
    "\n"
    "  croft run FILE.croft [NAME=VALUE ...]   run a kernel on arrays\n"
    "  croft check FILE.croft [NAME=VALUE ...] report what is wrong with it; verify FILE.ir\n"
    "  croft emit FILE.croft [NAME=VALUE ...]  print the source for a target\n"
    "  croft plan FILE.croft [NAME=VALUE ...]  print how it is mapped to the machine\n"
    "  croft explain FILE.croft [NAME=VALUE ...]  who owns what, what moves, and at what "
    "price\n"
    "  croft opt [-p PASS,...] FILE.ir         run passes on IR text of any level\n"
    "  croft layout show LAYOUT                who owns each element, and what an access "
    "costs\n"
    "  croft layout compare A B                are two layouts the same function?\n"
    "  croft layout convert A B                what moves from owner to owner, and its price\n"
    "  croft show FILE.npy                     print an array\n"
    "  croft devices [--json]                  what there is to run on, and why not more\n"
    "  croft cache ls|verify|gc [--json]       compiled programs that are kept on disk\n"
    "  croft version, croft help\n"
    "\n"
    "values\n"
    "  x=in.npy  y=out.npy  z=in.npy,out.npy   arrays of in, out and inout tensors\n"
    "  x=randn:4x8[:DTYPE]  arange:4x8  ones:4x8  zeros:4x8   made here; more forms:\n"
    "                       randint:4:LOW:HIGH  uniform:4:LOW:HIGH  randn:4:MEAN:DEVIATION\n"
    "                       const:4x8:VALUE,VALUE  special:4x8  magnitudes:4x8\n"
    "  y=-                  print the output\n"
    "  eps=1e-6  R=4  T=bf16                   scalars, sizes, element types\n"
    "\n",
    "options\n"
    "  --kernel NAME        of several kernels in a file\n"
    "  --target NAME        cpu; cuda; opencl; metal; reference: double precision, outputs as f64; "
    "sim:\n"
    "                       lane by lane, races and the like found; runs IR text too "
    "(FILE.ir)\n"
    "  --machine NAME       plan for another machine; with --target cpu, cuda or opencl its "
    "plan\n"
    "                       runs here\n"
    "  --plan PLAN          fallback, row, or a file with a plan, obeyed exactly\n"
    "  --set w=256,v=4,...  a row plan that is so: w workers, s subgroups, v neighbours of a\n"
    "                       worker, u chunks of a step, p programs of a group, b groups of a\n"
    "                       cluster for each row, g parts of a row, each a group's, in\n"
    "                       several launches, chunk=slot or step, shift=yes or no,\n"
    "                       keep=mixed, registers, again, output, private or nothing;\n"
    "                       and for any plan\n"
    "                       policy=default or stream, of all accesses\n"
    "  --all                plan: every candidate with its price, or why it is refused;\n"
    "                       cache gc: remove everything\n"
    "  --model MODEL        that prices candidates: analytic, service, cuda or cpu\n"
    "  --cost-model FILE    coefficients of the models, instead of those built in\n"
    "  --level LEVEL        emit: the IR at tile, mapped or thread instead of source\n"
    "  --isa NAME,...       emit -o NAME.c: versions baseline, avx2, avx512; the processor's "
    "last\n"
    "                       one runs\n"
    "  --assume CONDITIONS  emit: what is only valid under them: nothing, aligned, begins,\n"
    "                       spaced, multiple, all; run: those that may be tried, else all\n"
    "  --offset N           run: arrays begin N elements past an aligned address\n"
    "  --check              run: compare with the reference; exit 1 above the bound\n"
    "  --strict             one result on every target and for every plan: portable "
    "functions,\n"
    "                       exact quotients, reductions in the canonical order\n"
    "  --count-faults       run: print how many gathers were faults, counted by the program\n"
    "                       itself; plan: that of such a run\n"
    "  --hash               run: a 64-bit hash of each output, and of all\n"
    "  --repeat N           run on cuda or opencl: launch N times; exit 1 when the bytes "
    "differ\n"
    "  --tol X              with --check: an absolute tolerance, tightens the bound\n"
    "  --verify-passes      the verifier after every pass, not only where levels change\n"
    "  --check-passes       also: does a pass say what it did, carry every fact, and compute\n"
    "                       the same (opt: on the inputs given)\n"
    "  -p PASS,...          opt: these passes instead of the rest of the pipeline\n"
    "  --print-after PASS   the IR after a pass, or after `all`, on standard error\n"
    "  --stop-after PASS    opt and emit: the IR after that pass is the output\n"
    "  --list               opt: what passes there are\n"
    "  --seed N             of generated inputs, 1 when not given\n"
    "  --threads N          at most this many; 0, the default: one a processor\n"
    "  --compiler PATH      instead of the first of cc, gcc, clang\n"
    "  --opencl-library PATH  run and devices: the loader of OpenCL, or a vendor's library\n"
    "  --no-cache           run: compile, and keep nothing\n"
    "  --element T          layout: the elements' type, f32 when not given\n"
    "  --width N            layout: elements of a lane in one access, 1 when not given\n"
    "  --format FORMAT      layout: text, json, svg or html\n"
    "  --json               one JSON object, also of what is wrong (docs/schemas)\n"
    "  --value NAME         explain: draw who owns each element of a tile, with\n"
    "  --svg, --html        the one or the other\n"
    "  -o FILE              emit, plan, explain, opt and layout: into a file. emit for a cpu\n"
    "                       into NAME.c: a function for other programs, with NAME.h\n"
    "\n"
    "machines: cpu-avx512 cpu-avx2 cpu-neon cpu-baseline sm_80 sm_90 opencl m1 m4\n"
    "\n"
    "exit codes: 0 fine, 1 a check failed, 2 usage, 3 kernel, arguments or plan refused,\n"
    "4 file, compiler, device or memory\n",
    NULL};

const char *const *cli_options_help(void) {
    return help_texts;
}

typedef enum option_kind {
    OPTION_TEXT,
    OPTION_FLAG,
    OPTION_INTEGER,
    OPTION_COUNT, /* an integer from 1 */
    OPTION_SEED,
    OPTION_REAL
} option_kind;

enum { COMMANDS_OF_OPTION = 4 };

typedef struct option_row {
    const char *word;
    option_kind kind;
    size_t offset;
    const char *commands[COMMANDS_OF_OPTION]; /* to which it belongs; NULL: others let it pass */
} option_row;

static const option_row option_rows[] = {
    {"--kernel", OPTION_TEXT, offsetof(cli_options, kernel), {NULL}},
    {"--target", OPTION_TEXT, offsetof(cli_options, target), {NULL}},
    {"--machine", OPTION_TEXT, offsetof(cli_options, machine), {NULL}},
    {"--plan", OPTION_TEXT, offsetof(cli_options, plan), {NULL}},
    {"--set", OPTION_TEXT, offsetof(cli_options, set), {NULL}},
    {"--model", OPTION_TEXT, offsetof(cli_options, model), {NULL}},
    {"--cost-model", OPTION_TEXT, offsetof(cli_options, cost_model), {NULL}},
    {"--all", OPTION_FLAG, offsetof(cli_options, all), {"plan", "cache"}},
    {"--level", OPTION_TEXT, offsetof(cli_options, level), {NULL}},
    {"--isa", OPTION_TEXT, offsetof(cli_options, isa), {"emit"}},
    {"--compiler", OPTION_TEXT, offsetof(cli_options, compiler), {NULL}},
    {"--opencl-library", OPTION_TEXT, offsetof(cli_options, opencl_library), {"run", "devices"}},
    {"--no-cache", OPTION_FLAG, offsetof(cli_options, no_cache), {"run"}},
    {"--output", OPTION_TEXT, offsetof(cli_options, output), {NULL}},
    {"-o", OPTION_TEXT, offsetof(cli_options, output), {NULL}},
    {"--seed", OPTION_SEED, offsetof(cli_options, seed), {NULL}},
    {"--threads", OPTION_INTEGER, offsetof(cli_options, threads), {NULL}},
    {"--tol", OPTION_REAL, offsetof(cli_options, tolerance), {NULL}},
    {"--assume", OPTION_TEXT, offsetof(cli_options, assume), {"emit", "run"}},
    {"--offset", OPTION_INTEGER, offsetof(cli_options, offset), {"run"}},
    {"--check", OPTION_FLAG, offsetof(cli_options, check), {NULL}},
    {"--strict", OPTION_FLAG, offsetof(cli_options, strict), {NULL}},
    {"--count-faults", OPTION_FLAG, offsetof(cli_options, count_faults), {"plan", "run"}},
    {"--hash", OPTION_FLAG, offsetof(cli_options, hash), {"run"}},
    {"--repeat", OPTION_COUNT, offsetof(cli_options, repeat), {NULL}},
    {"--verify-passes", OPTION_FLAG, offsetof(cli_options, verify_passes), {NULL}},
    {"--check-passes", OPTION_FLAG, offsetof(cli_options, check_passes), {NULL}},
    {"-p", OPTION_TEXT, offsetof(cli_options, passes), {"opt"}},
    {"--passes", OPTION_TEXT, offsetof(cli_options, passes), {"opt"}},
    {"--print-after", OPTION_TEXT, offsetof(cli_options, print_after), {NULL}},
    {"--stop-after", OPTION_TEXT, offsetof(cli_options, stop_after), {"emit", "opt"}},
    {"--element", OPTION_TEXT, offsetof(cli_options, element), {NULL}},
    {"--format", OPTION_TEXT, offsetof(cli_options, format), {NULL}},
    {"--width", OPTION_COUNT, offsetof(cli_options, width), {NULL}},
    {"--list", OPTION_FLAG, offsetof(cli_options, list), {"opt"}},
    {"--json", OPTION_FLAG, offsetof(cli_options, json), {NULL}},
    {"--value", OPTION_TEXT, offsetof(cli_options, value), {"explain"}},
    {"--svg", OPTION_FLAG, offsetof(cli_options, svg), {"explain"}},
    {"--html", OPTION_FLAG, offsetof(cli_options, html), {"explain"}},
    {"--version", OPTION_FLAG, offsetof(cli_options, version), {NULL}},
    {"--help", OPTION_FLAG, offsetof(cli_options, help), {NULL}},
    {"-h", OPTION_FLAG, offsetof(cli_options, help), {NULL}},
};

static bool usage_error(const cli_options *options, const char *slug, const char *message,
                        const char *word) {
    cli_refuse(options, CLI_EXIT_USAGE, slug, "`croft --help` lists the options", "%s: %.200s",
               message, word);
    return false;
}

static bool option_store(cli_options *options, const option_row *row, const char *value) {
    char *field = (char *)options + row->offset;
    char *end = NULL;
    errno = 0;
    switch (row->kind) {
    case OPTION_TEXT:
        memcpy(field, &value, sizeof value);
        return true;
    case OPTION_FLAG:
        *(bool *)(void *)field = true;
        return true;
    case OPTION_SEED: {
        uint64_t seed = strtoull(value, &end, 0);
        memcpy(field, &seed, sizeof seed);
        return end != value && *end == '\0' && errno == 0 && value[0] != '-';
    }
    case OPTION_INTEGER:
    case OPTION_COUNT: {
        long number = strtol(value, &end, 10), least = row->kind == OPTION_COUNT;
        int small = (int)number;
        memcpy(field, &small, sizeof small);
        return end != value && *end == '\0' && errno == 0 && number >= least && number <= 256;
    }
    case OPTION_REAL: {
        double real = 0;
        bool good = base_number_parse(value, strlen(value), &real) && real > 0;
        memcpy(field, &real, sizeof real);
        return good;
    }
    }
    return false;
}

/* -1. */
static int unknown_option(const cli_options *options, const char *word) {
    enum { ROWS = sizeof option_rows / sizeof option_rows[0] };
    const char *names[ROWS];
    char hint[CLI_HINT_LIMIT] = "", name[40];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    for (int i = 0; i < ROWS; i++)
        names[i] = option_rows[i].word;
    const char *near = name[1] == '-' ? base_nearest_name(name, names, ROWS) : NULL;
    if (near != NULL)
        cli_hint_add(hint, "did you mean `%s`? ", near);
    cli_hint_add(hint, "`croft --help` lists the options");
    cli_refuse(options, CLI_EXIT_USAGE, "unknown-option", hint, "unknown option: %.200s", word);
    return -1;
}

/* An option at argv[i]: the words it took, 0 when it is none, -1 when it is wrong. */
static int option_parse(cli_options *options, int argc, char **argv, int i) {
    const char *word = argv[i];
    if (word[0] != '-' || word[1] == '\0')
        return 0;
    for (size_t k = 0; k < sizeof option_rows / sizeof option_rows[0]; k++) {
        const option_row *row = &option_rows[k];
        size_t length = strlen(row->word);
        bool joined = row->kind != OPTION_FLAG && strncmp(word, row->word, length) == 0 &&
                      word[length] == '=';
        if (!joined && strcmp(word, row->word) != 0)
            continue;
        bool takes_next = row->kind != OPTION_FLAG && !joined;
        if (takes_next && i + 1 >= argc)
            return usage_error(options, "option-value", "the option needs a value", word) - 1;
        const char *value = joined ? word + length + 1 : takes_next ? argv[i + 1] : "";
        if (!option_store(options, row, value))
            return usage_error(options, "option-value", "the option's value is not valid", word) -
                   1;
        return takes_next ? 2 : 1;
    }
    return unknown_option(options, word);
}

/* The words of `layout` are layouts, which may hold `=`. */
static bool word_parse(cli_options *options, const char *word) {
    if (strcmp(options->command, "layout") == 0) {
        if (options->word_count == CLI_WORD_LIMIT)
            return usage_error(options, "argument-form", "one word too many", word);
        options->words[options->word_count++] = word;
        return true;
    }
    const char *equals = strchr(word, '=');
    if (equals == NULL || options->file == NULL) {
        if (options->file != NULL)
            return usage_error(options, "argument-form", "not of the form NAME=VALUE", word);
        options->file = word;
        return true;
    }
    if (equals == word)
        return usage_error(options, "argument-form", "a name is missing before `=`", word);
    if (options->pair_count == CLI_ARGUMENT_LIMIT)
        return usage_error(options, "argument-form", "too many arguments", word);
    options->pairs[options->pair_count++] =
        (cli_pair){.name = word, .name_length = (int)(equals - word), .value = equals + 1};
    return true;
}

/* Not what it is without the option: a field of zeros. */
static bool is_given(const cli_options *options, const option_row *row) {
    static const size_t sizes[] = {
        [OPTION_TEXT] = sizeof(const char *), [OPTION_FLAG] = sizeof(bool),
        [OPTION_INTEGER] = sizeof(int),       [OPTION_COUNT] = sizeof(int),
        [OPTION_SEED] = sizeof(uint64_t),     [OPTION_REAL] = sizeof(double),
    };
    static const char zeros[sizeof(uint64_t)];
    return memcmp((const char *)options + row->offset, zeros, sizes[row->kind]) != 0;
}

static bool belongs_to(const option_row *row, const char *command) {
    bool found = row->commands[0] == NULL;
    for (int i = 0; i < COMMANDS_OF_OPTION && row->commands[i] != NULL; i++)
        found = found || strcmp(row->commands[i], command) == 0;
    return found;
}

static bool refuse_elsewhere(const cli_options *options, const option_row *row) {
    char message[80] = "the option belongs to ";
    for (int i = 0; i < COMMANDS_OF_OPTION && row->commands[i] != NULL; i++) {
        size_t length = strlen(message);
        bool last = i + 1 == COMMANDS_OF_OPTION || row->commands[i + 1] == NULL;
        snprintf(message + length, sizeof message - length, "%s%s",
                 i == 0 ? ""
                 : last ? " and "
                        : ", ",
                 row->commands[i]);
    }
    return usage_error(options, "option-use", message, row->word);
}

/* Options that mean something to some targets. */
static bool check_target(const cli_options *options, bool runs) {
    const char *target = options->target != NULL ? options->target : "";
    bool opencl = strcmp(target, "opencl") == 0,
         device = opencl || strcmp(target, "cuda") == 0 || strcmp(target, "metal") == 0;
    if (options->repeat > 0 && (!runs || !device))
        return usage_error(options, "option-use",
                           "the option belongs to run --target cuda, opencl or metal", "--repeat");
    if (options->offset > 0 && opencl)
        return usage_error(options, "option-use", "buffers of OpenCL have no place for it",
                           "--offset");
    if (options->opencl_library != NULL && runs && !opencl)
        return usage_error(options, "option-use",
                           "the option belongs to run --target opencl and devices",
                           "--opencl-library");
    return true;
}

/* Options that mean nothing to this command, or nothing without another option. */
static bool check_command(const cli_options *options) {
    const char *command = options->command != NULL ? options->command : "";
    for (size_t i = 0; i < sizeof option_rows / sizeof option_rows[0]; i++)
        if (is_given(options, &option_rows[i]) && !belongs_to(&option_rows[i], command))
            return refuse_elsewhere(options, &option_rows[i]);
    bool family = options->plan == NULL || strcmp(options->plan, "row") == 0;
    if (!family && (options->set != NULL || options->all || options->model != NULL))
        return usage_error(options, "option-use", "a plan that is given leaves nothing to choose",
                           "--plan");
    if (options->json && options->format != NULL && strcmp(options->format, "json") != 0)
        return usage_error(options, "option-use", "the option asks for another format than --json",
                           "--format");
    if (options->tolerance > 0 && !options->check)
        return usage_error(options, "option-use", "the option needs --check", "--tol");
    return check_target(options, strcmp(command, "run") == 0);
}

static bool is_json_format(const char *format) {
    return format != NULL && strcmp(format, "json") == 0;
}

bool cli_options_ask_json(int argc, char **argv) {
    bool asked = false;
    for (int i = 1; i < argc; i++)
        asked = asked || strcmp(argv[i], "--json") == 0 || strcmp(argv[i], "--format=json") == 0 ||
                (strcmp(argv[i], "--format") == 0 && is_json_format(argv[i + 1]));
    return asked;
}

bool cli_options_at(int index, cli_option_facts *facts) {
    static const char *const values[] = {
        [OPTION_TEXT] = "text",   [OPTION_FLAG] = NULL,   [OPTION_INTEGER] = "number",
        [OPTION_COUNT] = "count", [OPTION_SEED] = "seed", [OPTION_REAL] = "real",
    };
    if (index < 0 || (size_t)index >= sizeof option_rows / sizeof option_rows[0])
        return false;
    const option_row *row = &option_rows[index];
    *facts = (cli_option_facts){
        .word = row->word, .value = values[row->kind], .commands = row->commands};
    while (facts->command_count < COMMANDS_OF_OPTION && row->commands[facts->command_count] != NULL)
        facts->command_count++;
    return true;
}

bool cli_options_parse(int argc, char **argv, cli_answer *answer, cli_options *options) {
    *options = (cli_options){.seed = 1, .answer = answer};
    for (int i = 1; i < argc;) {
        int taken = option_parse(options, argc, argv, i);
        if (taken < 0)
            return false;
        if (taken == 0) {
            if (options->command == NULL)
                options->command = argv[i];
            else if (!word_parse(options, argv[i]))
                return false;
            taken = 1;
        }
        i += taken;
    }
    if (!check_command(options))
        return false;
    options->json = options->json || is_json_format(options->format);
    return true;
}
