/* The prelude of a text for threads: what the placeholders of a dialect's table stand for
 * (prelude.c).
 *
 *     $T the type    $U its unsigned integer of the same size    $W as what lanes exchange it
 *     $f, $F the language's f32 with the bits of an i32, a u32    $i, $u these with those of an f32
 */
#include "target/gpu_internal.h"

#include <string.h>

/* First a prelude: its functions get this. */
typedef struct gpu_prelude {
    target_prelude prelude;
    const target_gpu_spelling *spelling;
} gpu_prelude;

static const struct {
    const char *type, *with_unsigned, *travels_as;
} type_rows[] = {
    {"f32", "u32", "f32"}, {"i32", "u32", "i32"}, {"u32", "u32", "u32"},
    {"i64", "u64", "i64"}, {"f16", "u16", "u32"}, {"bf16", "u16", "u32"},
    {"i8", "u8", "i32"},   {"u8", "u8", "u32"},   {"bool", "u8", "u32"},
};

static const char *word_for(const target_gpu_spelling *spelling, char letter, const char *type) {
    if (letter == 'f' || letter == 'F')
        return letter == 'f' ? spelling->f32_from_i32 : spelling->f32_from_u32;
    if (letter == 'i' || letter == 'u')
        return letter == 'i' ? spelling->i32_from_f32 : spelling->u32_from_f32;
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
    const target_gpu_spelling *spelling = ((const gpu_prelude *)(const void *)prelude)->spelling;
    while (*text != '\0') {
        size_t plain = strcspn(text, "$");
        base_text_append(out, text, plain);
        text += plain;
        if (*text == '\0')
            break;
        base_text_string(out, word_for(spelling, text[1], type));
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

static gpu_prelude prelude_of(base_arena *arena, const target_gpu_spelling *spelling) {
    return (gpu_prelude){.prelude = {.arena = arena,
                                     .lanes = 1,
                                     .rows = spelling->prelude,
                                     .row_count = spelling->prelude_rows,
                                     .append = append_template,
                                     .append_bodies = append_body},
                         .spelling = spelling};
}

void target_gpu_prelude(base_text *out, const target_gpu_spelling *spelling, target_names *used,
                        target_names *written) {
    gpu_prelude prelude = prelude_of(out->arena, spelling);
    target_prelude_write(out, &prelude.prelude, used, written);
}

const char *const *target_gpu_prelude_names(base_arena *arena,
                                            const target_gpu_spelling *spelling) {
    gpu_prelude prelude = prelude_of(arena, spelling);
    return target_prelude_names(&prelude.prelude);
}
