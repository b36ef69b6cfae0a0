/* What a command says: text as it goes, or with --json one object at its end.
 *
 *     {
 *       "schema": "croft-check/1",      what the rest looks like: docs/schemas/check.json
 *       "exit_code": 3,                 that of the command
 *       "findings": [...],              what is wrong, each as docs/command.md says
 *       "findings_left_out": 0,
 *       ...                             what the command has found; nothing where it gave up
 *     }
 *
 * The functions here say what is wrong, on standard error or among the findings. What else there is
 * to say stands in members, which each command writes once and in a piece, and in lists, to which
 * it adds as it goes. Nothing of it is on standard output before the command is over.
 */
#ifndef CLI_ANSWER_H
#define CLI_ANSWER_H

#include "options.h"

#include "base/diagnostic.h"
#include "base/json.h"

enum { CLI_ANSWER_LISTS = 8, CLI_HINT_LIMIT = 600 };

typedef struct cli_answer_list {
    const char *key;
    base_text text;
    base_json json;
} cli_answer_list;

struct cli_answer {
    bool is_json;
    int unfinished; /* parts whose writer has not come back: memory ran out in it */
    bool is_complete;
    int exit_code;
    base_arena arena;
    base_text member_text;
    base_json members;
    cli_answer_list findings, printed, lists[CLI_ANSWER_LISTS];
    int list_count;
    int64_t finding_count, left_out;
};

void cli_answer_open(cli_answer *answer, bool is_json);
/* With --json prints the answer, or writes it to -o FILE where it is complete. The exit code. */
int cli_answer_close(cli_answer *answer, const cli_options *options, int status);

/* ---- what is wrong ---- */

/* Findings of anything but the command line. */
void cli_say_findings(const cli_options *options, const base_diagnostics *diagnostics);
/* `croft: MESSAGE` and, in a line of its own, a hint or NULL. Returns the status. */
int cli_refuse(const cli_options *options, int status, const char *slug, const char *hint,
               const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The same of what stands in the way of nothing. */
void cli_warn(const cli_options *options, const char *slug, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int cli_out_of_memory(const cli_options *options); /* CLI_EXIT_SYSTEM */
/* Appends to a hint that is made word by word; what has no room is left out. */
void cli_hint_add(char hint[CLI_HINT_LIMIT], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- with --json: what was found ---- */

typedef void cli_answer_writer(base_json *json, const void *state);
/* Members of the object. From then on the answer is complete. */
void cli_answer_write(const cli_options *options, cli_answer_writer *write, const void *state);
/* An element of the list of that key (static); without a writer the list is just there. Lists stand
 * in a complete answer only; but what --print-after asks for, the list `printed`, wherever it has
 * an element. */
void cli_answer_add(const cli_options *options, const char *key, cli_answer_writer *write,
                    const void *state);
/* Of `check`, what has become of a kernel whose findings begin with number `first`, and of the
 * file; returns the status. A kernel without a name is none. */
void cli_say_checked(const cli_options *options, const char *name, const char *level, int status,
                     int64_t first);
int cli_say_verdict(const cli_options *options, int status);
/* Writer of a text; its state is the text. */
void cli_answer_text(base_json *json, const void *text);

#endif
