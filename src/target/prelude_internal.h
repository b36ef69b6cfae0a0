/* Preludes: the declarations that emitted text needs, from a table with placeholders.
 *
 *     target_prelude prelude = {.arena = arena, .rows = rows, .row_count = n, .append = ..., ...};
 *     target_prelude_write(&out, &prelude, &used);     those that `used` names, and their needs
 */
#ifndef TARGET_PRELUDE_INTERNAL_H
#define TARGET_PRELUDE_INTERNAL_H

#include "target/names_internal.h"

typedef struct target_prelude_row {
    const char *name;  /* with placeholders, as head and body */
    const char *types; /* an instance for each, parted by spaces; "": one without a type */
    const char *head;  /* NULL: a declaration, whose text is the body */
    const char *body;
} target_prelude_row;

typedef struct target_prelude target_prelude;

struct target_prelude {
    base_arena *arena;
    int lanes;         /* of a vector */
    const char *flags; /* of the compiler, which the text is sure of; NULL: of none */
    const target_prelude_row *rows;
    int64_t row_count;
    /* Appends a text, its placeholders replaced for a type. */
    void (*append)(base_text *out, const target_prelude *prelude, const char *type,
                   const char *text);
    /* Appends what stands between the braces of a function. */
    void (*append_bodies)(base_text *out, const target_prelude *prelude, const char *type,
                          const target_prelude_row *row);
    /* Whether the prelude has the row at all; NULL: it has all. */
    bool (*has_row)(const target_prelude *prelude, const target_prelude_row *row);
};

/* Appends the rows that `used` names, and those that they need, whose words are added to it; but
 * those in `written`, to which their names are added: several preludes stand in one text. */
void target_prelude_write(base_text *out, const target_prelude *prelude, target_names *used,
                          target_names *written);
/* The names of all rows for all types, up to NULL. */
const char *const *target_prelude_names(const target_prelude *prelude);

#endif
