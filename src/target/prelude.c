/* Preludes: of the rows of a dialect's table, those that a text names.
 *
 * Rows are instantiated per type into one list, in the order of the table. Going through it from
 * the end, a row whose name occurs in what has been taken so far is taken too, with the words of
 * its own text: so needs are found without being listed. The taken rows are then written in order:
 *
 *     {"maximum_$T", "f32 i32", "$T maximum_$T($T a, $T b)", "return a > b || a != a ? a : b;"}
 *
 *     INLINE f32 maximum_f32(f32 a, f32 b) {
 *         return a > b || a != a ? a : b;
 *     }
 *
 * What the placeholders of a row stand for, and the bodies of functions, are the dialect's.
 */
#include "target/prelude_internal.h"

#include <string.h>

enum { TYPES_MAX = 16 };

/* A row for one of its types. */
typedef struct instance {
    const target_prelude_row *row;
    const char *type, *name;
    const char *text; /* NULL: not taken */
} instance;

typedef struct instances {
    instance *list;
    int64_t count;
} instances;

static const char *name_of(const target_prelude *prelude, const char *type, const char *name) {
    base_text out;
    base_text_init(&out, prelude->arena);
    prelude->append(&out, prelude, type, name);
    return out.bytes;
}

/* All rows for all their types, in order. */
static instances instances_of(const target_prelude *prelude) {
    instances all = {.list =
                         BASE_NEW_ARRAY(prelude->arena, instance, prelude->row_count * TYPES_MAX)};
    for (int64_t i = 0; i < prelude->row_count; i++) {
        const target_prelude_row *row = &prelude->rows[i];
        const char *types = row->types;
        if (prelude->has_row != NULL && !prelude->has_row(prelude, row))
            continue;
        do {
            size_t length = strcspn(types, " ");
            const char *type = base_arena_copy(prelude->arena, types, length);
            all.list[all.count++] =
                (instance){.row = row, .type = type, .name = name_of(prelude, type, row->name)};
            types += length;
            types += strspn(types, " ");
        } while (*types != '\0');
    }
    return all;
}

static const char *text_of(const target_prelude *prelude, const instance *taken) {
    base_text out;
    base_text_init(&out, prelude->arena);
    if (taken->row->head == NULL) {
        prelude->append(&out, prelude, taken->type, taken->row->body);
        base_text_string(&out, "\n");
        return out.bytes;
    }
    base_text_string(&out, "INLINE ");
    prelude->append(&out, prelude, taken->type, taken->row->head);
    base_text_string(&out, " {\n");
    prelude->append_bodies(&out, prelude, taken->type, taken->row);
    base_text_string(&out, "}\n");
    return out.bytes;
}

void target_prelude_write(base_text *out, const target_prelude *prelude, target_names *used,
                          target_names *written) {
    instances all = instances_of(prelude);
    for (int64_t i = all.count - 1; i >= 0; i--) {
        instance *one = &all.list[i];
        if (!target_names_has(used, one->name, strlen(one->name)))
            continue;
        one->text = text_of(prelude, one);
        target_names_scan(used, one->text);
    }
    bool functions = false;
    for (int64_t i = 0; i < all.count; i++) {
        const instance *one = &all.list[i];
        size_t length = strlen(one->name);
        if (one->text == NULL || target_names_has(written, one->name, length))
            continue;
        target_names_add(written, one->name, length);
        base_text_string(out, one->row->head != NULL && !functions ? "\n" : "");
        functions = one->row->head != NULL;
        base_text_string(out, one->text);
    }
}

const char *const *target_prelude_names(const target_prelude *prelude) {
    instances all = instances_of(prelude);
    const char **names = BASE_NEW_ARRAY(prelude->arena, const char *, all.count + 1);
    for (int64_t i = 0; i < all.count; i++)
        names[i] = all.list[i].name;
    return names;
}
