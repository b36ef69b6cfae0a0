/* Answers of `croft emit`. */
#ifndef CLI_EMIT_JSON_H
#define CLI_EMIT_JSON_H

#include "job.h"

typedef struct cli_emitted {
    const cli_job *job; /* compiled; of several versions the first */
    const char *level;  /* source, tile, mapped or thread */
    const char *text;   /* NULL: it stands in the files */
    const char *files[2];
    int file_count;
    /* of C for other programs: its versions; NULL: what a target compiles, or IR */
    const cli_job *versions;
    int version_count;
} cli_emitted;

void cli_say_emitted(const cli_options *options, const cli_emitted *emitted);

#endif
