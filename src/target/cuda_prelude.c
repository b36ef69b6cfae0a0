/* The prelude of emitted CUDA: what the placeholders of cuda_prelude.def stand for (prelude.c).
 *
 *     $T the type    $U its unsigned integer of the same size    $W as what lanes exchange it
 */
#include "target/cuda_internal.h"
#include "target/prelude_internal.h"

#include <string.h>

static const target_prelude_row rows[] = {
#define DECLARE(name, text)               {name, "", NULL, text},
#define FUNCTION(name, types, head, body) {name, types, head, body},
#include "target/cuda_prelude.def"
#undef DECLARE
#undef FUNCTION
};

static const struct {
    const char *type, *with_unsigned, *travels_as;
} type_rows[] = {
    {"f32", "u32", "f32"}, {"i32", "u32", "i32"}, {"u32", "u32", "u32"},
    {"i64", "u64", "i64"}, {"f16", "u16", "u32"}, {"bf16", "u16", "u32"},
    {"i8", "u8", "i32"},   {"u8", "u8", "u32"},   {"bool", "u8", "u32"},
};

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

static void append_template(base_text *out, const target_prelude *prelude, const char *type,
                            const char *text) {
    (void)prelude;
    while (*text != '\0') {
        size_t plain = strcspn(text, "$");
        base_text_append(out, text, plain);
        text += plain;
        if (*text == '\0')
            break;
        base_text_string(out, word_for(text[1], type));
        text += 2;
    }
}

/* The lines of the body, indented. */
static void append_body(base_text *out, const target_prelude *prelude, const char *type,
                        const target_prelude_row *row) {
    for (const char *body = row->body; *body != '\0';) {
        size_t length = strcspn(body, "\n");
        base_text_string(out, "    ");
        append_template(out, prelude, type, base_arena_copy(prelude->arena, body, length));
        base_text_string(out, "\n");
        body += length + (body[length] == '\n');
    }
}

static target_prelude prelude_of(base_arena *arena) {
    return (target_prelude){.arena = arena,
                            .lanes = 1,
                            .rows = rows,
                            .row_count = sizeof rows / sizeof rows[0],
                            .append = append_template,
                            .append_bodies = append_body};
}

void target_cuda_prelude(base_text *out, target_names *used, target_names *written) {
    target_prelude prelude = prelude_of(out->arena);
    target_prelude_write(out, &prelude, used, written);
}

const char *const *target_cuda_prelude_names(base_arena *arena) {
    target_prelude prelude = prelude_of(arena);
    return target_prelude_names(&prelude);
}
