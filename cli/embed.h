/* `croft emit FILE -o NAME.c` for a cpu: C for embedders, with NAME.h. */
#ifndef CLI_EMBED_H
#define CLI_EMBED_H

#include "options.h"

/* Whether the options of `emit` ask for it. */
bool cli_embed_is_asked(const cli_options *options);
/* Both files, or none of them; the exit code. */
int cli_embed(const cli_options *options);

#endif
