/* What one launch needs besides the arrays of the user: the artifact, packed arguments, the
 * workspace of several launches. */
#ifndef CLI_LAUNCH_ROOM_H
#define CLI_LAUNCH_ROOM_H

#include "launch.h"
#include "simulate.h"
#include "workspace.h"

/* What stands behind the artifact and the launch. */
typedef struct cli_launch_room {
    machine_flags flags;
    void *pointers[CLI_ARGUMENT_LIMIT];
    void *addresses[CLI_ARGUMENT_LIMIT]; /* where pointers are handles */
    void *const *places;                 /* the one or the other, which conditions are about */
    int64_t words[CLI_WORDS_LIMIT], word_count;
    runtime_report report;
    runtime_artifact artifact;
    runtime_launch launch;
    runtime_entry *entries; /* of the launches behind the first */
    runtime_size *sizes;
    cli_workspace workspace;
} cli_launch_room;

/* NULL where something is missing, which has been printed. From here on the launch has the arrays
 * of the workspace too. */
cli_launch_room *cli_launch_room_make(cli_launch *launch);
void cli_launch_room_free(cli_launch_room *room); /* NULL is allowed */

/* Once all pointers are there: the artifact of the variant that may run with them. The exit code.
 */
int cli_launch_choose(const cli_launch *launch, cli_launch_room *room);

/* What the workspace says after launches that ended with `status`: the faults that were counted,
 * and, where the run is checked, whether nobody wrote around it. The exit code. */
int cli_launch_workspace_status(const cli_launch *launch, const cli_launch_room *room, int status);

/* Says what the device's report says. The exit code. */
int cli_launch_failed(const cli_options *options, const runtime_report *report);

/* ---- launch_facts.c ---- */
/* What the device's compiler says of each launch of a loaded program: into the answer, and with
 * --check as lines of text. */
void cli_launch_say_facts(const cli_options *options, const runtime_device *device,
                          const runtime_module *module);

#endif
