/* Files for embedders: what their two halves share.
 *
 *     c_embed.c          the code: a section for each version, and what chooses between them
 *     c_embed_public.c   what a caller sees: prototypes, the functions behind them, comments
 */
#ifndef TARGET_C_EMBED_INTERNAL_H
#define TARGET_C_EMBED_INTERNAL_H

#include "target/emitter_internal.h"

/* What the function answers. */
typedef enum target_embed_status {
    TARGET_EMBED_OK,
    TARGET_EMBED_UNSUPPORTED,
    TARGET_EMBED_SIZE,
    TARGET_EMBED_RANGE,
    TARGET_EMBED_STRIDE,
    TARGET_EMBED_ALIGNMENT,
    TARGET_EMBED_WORKSPACE,
    TARGET_EMBED_STATUS_COUNT,
} target_embed_status;

typedef struct target_embed_state {
    base_arena *arena;
    const target_embedding *embedding;
    const ir_module *kernel;
    const char *name, *upper; /* of the kernel, as it is and in capital letters */
    target_parameter
        *parameters;      /* as the caller sees them; a dimension that is last has no name */
    const char **symbols; /* sizes that are arguments; NULL: they are known */
    int64_t grain;        /* ranges of programs begin and end at multiples of it */
    bool workspace;       /* some version may need some */
    bool processors;      /* some version is not for every processor */
} target_embed_state;

/* ---- c_embed_public.c ---- */
/* Gives names to what the caller sees. */
void target_embed_names(target_embed_state *state);
/* What both files say of themselves, without the marks of a comment's ends. */
void target_embed_describe(const target_embed_state *state, base_text *out);
/* Prototypes, each with `end` behind it. */
void target_embed_prototypes(const target_embed_state *state, base_text *out);
/* The functions behind the prototypes. They call NAME_choose, NAME_rows and, of each version,
 * NAME_VERSION_run and NAME_VERSION_bytes. */
void target_embed_functions(const target_embed_state *state, base_text *out);
const char *target_embed_header(const target_embed_state *state);
/* A text that may stand in a comment: printable, and with no end of one. */
const char *target_embed_comment(base_arena *arena, const char *text);

#endif
