/* Output files: written beside their place first, then renamed into it, whole or not at all.
 *
 *     stage:   DIR/.croft-PID-N.tmp written, synced      commit: renamed to DIR/out.npy
 *
 * So the disk's refusal comes before any output is replaced, and several outputs can be staged
 * before the first is committed. A device or pipe is written directly, at commit. Diagnostics:
 * file-write (the system's word).
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "base/diagnostic.h"

#include <limits.h>

enum { CLI_OUTPUT_PARTS = 2 };

typedef struct cli_output_part {
    const void *bytes;
    int64_t length;
} cli_output_part;

/* A file written but not yet in its place. The texts live in the diagnostics' arena. */
typedef struct cli_output {
    const char *path;      /* where it goes; links are followed */
    const char *temporary; /* beside it; NULL when the bytes go directly to a device or pipe */
    cli_output_part parts[CLI_OUTPUT_PARTS];
    int part_count;
} cli_output;

/* The file that writing to `path` will make or replace, with links followed, those that lead to no
 * file yet too. 0, or an errno: no such directory, or links in a ring. */
int cli_output_resolve(const char *path, char resolved[PATH_MAX]);

/* Writes everything beside `path`. The parts are read again by commit only for a device or pipe. On
 * failure no file is left and a finding is added. */
bool cli_output_stage(cli_output *output, const char *path, const cli_output_part *parts,
                      int part_count, base_diagnostics *diagnostics);

/* Puts the file in its place. On failure nothing temporary is left and what was at `path` is
 * untouched. */
bool cli_output_commit(cli_output *output, base_diagnostics *diagnostics);

/* Text into a file, staged and committed, or to standard output when `path` is NULL or `-`. */
bool cli_output_text(const char *path, const char *text, base_diagnostics *diagnostics);

/* Removes what was staged; after commit, or of a zeroed output, does nothing. */
void cli_output_discard(cli_output *output);

#endif
