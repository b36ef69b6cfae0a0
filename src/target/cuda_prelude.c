/* The prelude of emitted CUDA: finds the rows of cuda_prelude.def that a text names, and writes
 * them.
 *
 * Rows are instantiated per type into one list, in the order of the table. Going through it from
 * the end, a row whose name occurs in what has been taken so far is taken too, with the words of
 * its own text: so needs are found without being listed. The taken rows are then written in order:
 *
 *     INLINE f32 maximum_f32(f32 a, f32 b) {
 *         return a > b || a != a ? a : b;
 *     } */
#include "target/cuda_internal.h"

#include <string.h>

typedef struct prelude_row {
    const char *name, *types;
    const char *head; /* NULL: a declaration, whose text is the body */
    const char *body;
} prelude_row;

static const prelude_row rows[] = {
#define DECLARE(name, text)               {name, "", NULL, text},
#define FUNCTION(name, types, head, body) {name, types, head, body},
#include "target/cuda_prelude.def"
#undef DECLARE
#undef FUNCTION
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0], TYPES_MAX = 16 };

static const struct {
    const char *type, *with_unsigned, *travels_as;
} type_rows[] = {
    {"f32", "u32", "f32"}, {"i32", "u32", "i32"}, {"u32", "u32", "u32"},
    {"i64", "u64", "i64"}, {"f16", "u16", "u32"}, {"bf16", "u16", "u32"},
    {"i8", "u8", "i32"},   {"u8", "u8", "u32"},   {"bool", "u8", "u32"},
};

/* ---- templates ---- */

static const char *word_for(char letter, const char *type) {
    for (size_t i = 0; i < sizeof type_rows / sizeof type_rows[0]; i++) {
        if (strcmp(type_rows[i].type, type) != 0)
            continue;
        return letter == 'U'   ? type_rows[i].with_unsigned
               : letter == 'W' ? type_rows[i].travels_as
                               : type;
    }
    return type;
}

static const char *template_text(base_arena *arena, const char *type, const char *text) {
    base_text out;
    base_text_init(&out, arena);
    while (*text != '\0') {
        size_t plain = strcspn(text, "$");
        base_text_append(&out, text, plain);
        text += plain;
        if (*text == '\0')
            break;
        base_text_string(&out, word_for(text[1], type));
        text += 2;
    }
    return out.length > 0 ? out.bytes : "";
}

/* The lines of a body, indented. */
static void append_body(base_text *out, const char *body) {
    while (*body != '\0') {
        size_t length = strcspn(body, "\n");
        base_text_string(out, "    ");
        base_text_append(out, body, length);
        base_text_string(out, "\n");
        body += length + (body[length] == '\n');
    }
}

/* ---- instances ---- */

typedef struct instance {
    const prelude_row *row;
    const char *type, *name, *text;
} instance;

static const char *instance_text(base_arena *arena, const instance *taken) {
    base_text out;
    base_text_init(&out, arena);
    const char *body = template_text(arena, taken->type, taken->row->body);
    if (taken->row->head == NULL) {
        base_text_format(&out, "%s\n", body);
        return out.bytes;
    }
    base_text_format(&out, "INLINE %s {\n", template_text(arena, taken->type, taken->row->head));
    append_body(&out, body);
    base_text_string(&out, "}\n");
    return out.bytes;
}

/* All rows for all their types, in order. */
static int instances_list(base_arena *arena, instance out[ROW_COUNT * TYPES_MAX]) {
    int count = 0;
    for (int i = 0; i < ROW_COUNT; i++) {
        const char *types = rows[i].types;
        do {
            size_t length = strcspn(types, " ");
            const char *type = base_arena_copy(arena, types, length);
            out[count++] =
                (instance){&rows[i], type, template_text(arena, type, rows[i].name), NULL};
            types += length;
            types += strspn(types, " ");
        } while (*types != '\0');
    }
    return count;
}

void target_cuda_prelude(base_text *out, target_names *used) {
    base_arena *arena = out->arena;
    instance *list = BASE_NEW_ARRAY(arena, instance, ROW_COUNT * TYPES_MAX);
    int count = instances_list(arena, list);
    for (int i = count - 1; i >= 0; i--) {
        if (!target_names_has(used, list[i].name, strlen(list[i].name)))
            continue;
        list[i].text = instance_text(arena, &list[i]);
        target_names_scan(used, list[i].text);
    }
    bool functions = false;
    for (int i = 0; i < count; i++) {
        if (list[i].text == NULL)
            continue;
        base_text_string(out, list[i].row->head != NULL && !functions ? "\n" : "");
        functions = list[i].row->head != NULL;
        base_text_string(out, list[i].text);
    }
}

const char *const *target_cuda_prelude_names(base_arena *arena) {
    instance *list = BASE_NEW_ARRAY(arena, instance, ROW_COUNT * TYPES_MAX);
    int count = instances_list(arena, list);
    const char **names = BASE_NEW_ARRAY(arena, const char *, count + 1);
    for (int i = 0; i < count; i++)
        names[i] = list[i].name;
    return names;
}
