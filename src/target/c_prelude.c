/* The prelude of emitted C: what the placeholders of c_prelude.def stand for, and the bodies of its
 * functions (prelude.c does the rest).
 *
 *     INLINE f32x8 fma_f32x8(f32x8 a, f32x8 b, f32x8 c) {
 *     #if defined(__FMA__)
 *         return __builtin_ia32_vfmaddps256(a, b, c);
 *     #else
 *         ...
 *     #endif
 *     }
 *
 * With one lane there are no vectors, and no rows on them.
 */
#include "target/emitter_internal.h"
#include "target/prelude_internal.h"

#include <stdlib.h>
#include <string.h>

static const target_prelude_row rows[] = {
#define DECLARE(name, types, text)        {name, types, NULL, text},
#define FUNCTION(name, types, head, body) {name, types, head, body},
#define FAST(name, lanes, types, condition, body)
#include "target/c_prelude.def"
#undef DECLARE
#undef FUNCTION
#undef FAST
};

typedef struct prelude_fast {
    const char *name;
    int lanes;
    const char *types, *condition, *body;
} prelude_fast;

static const prelude_fast fast_rows[] = {
#define DECLARE(name, types, text)
#define FUNCTION(name, types, head, body)
#define FAST(name, lanes, types, condition, body) {name, lanes, types, condition, body},
#include "target/c_prelude.def"
#undef DECLARE
#undef FUNCTION
#undef FAST
};

enum { FAST_COUNT = sizeof fast_rows / sizeof fast_rows[0] };

/* ---- templates ---- */

/* What the placeholders stand for. */
typedef struct setting {
    const char *type; /* "" when the row has no types */
    int lanes;
} setting;

static const struct {
    const char *type, *with_unsigned, *with_signed;
    int bytes;
} type_rows[] = {
    {"f32", "u32", "i32", 4}, {"i32", "u32", "i32", 4},  {"u32", "u32", "i32", 4},
    {"f16", "u16", "i16", 2}, {"bf16", "u16", "i16", 2}, {"i16", "u16", "i16", 2},
    {"u16", "u16", "i16", 2}, {"i8", "u8", "i8", 1},     {"u8", "u8", "i8", 1},
    {"i64", "u64", "i64", 8}, {"u64", "u64", "i64", 8},  {"", "", "", 0},
};

static int type_row(const char *type) {
    int i = 0;
    while (type_rows[i].type[0] != '\0' && strcmp(type_rows[i].type, type) != 0)
        i++;
    return i;
}

/* A list of lanes: entry i of `count` is start + ((i * factor + shift) % modulus). */
typedef struct lane_list {
    int count, start, factor, shift, modulus;
} lane_list;

static void append_list(base_text *out, lane_list list) {
    for (int i = 0; i < list.count; i++)
        base_text_format(out, "%s%d", i > 0 ? ", " : "",
                         list.start + (i * list.factor + list.shift) % list.modulus);
}

static void append_repeated(base_text *out, int count) {
    for (int i = 0; i < count; i++)
        base_text_string(out, i > 0 ? ", a" : "a");
}

/* A placeholder of lower case, given by its word and the number behind it. */
static void append_word(base_text *out, setting s, const char *word, size_t length, int number) {
    int lanes = s.lanes, half = s.lanes / 2;
    const struct {
        const char *word;
        lane_list list;
    } lists[] = {
        {"iota", {lanes, 0, 1, 0, lanes}},      {"low", {half, 0, 1, 0, lanes}},
        {"high", {half, half, 1, 0, lanes}},    {"even", {lanes, 0, 2, 0, 2 * lanes}},
        {"quads", {lanes, 0, 4, 0, 4 * lanes}}, {"double", {2 * lanes, 0, 1, 0, lanes}},
        {"roll", {lanes, 0, 1, number, lanes}}, {"half", {half, 0, 1, number, half}},
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (strlen(lists[i].word) == length && memcmp(lists[i].word, word, length) == 0)
            append_list(out, lists[i].list);
    if (length == 5 && memcmp(word, "splat", 5) == 0)
        append_repeated(out, lanes);
    if (length == 9 && memcmp(word, "halfsplat", 9) == 0)
        append_repeated(out, half);
}

/* `$get(v)`: returns what follows it. */
static const char *append_get(base_text *out, setting s, const char *at) {
    const char *end = strchr(at, ')');
    int length = (int)(end - at);
    if (strcmp(s.type, "i64") == 0)
        base_text_format(out, "lane_i64x%d(%.*s, l)", s.lanes, length, at);
    else
        base_text_format(out, "%.*s[l]", length, at);
    return end + 1;
}

static void append_letter(base_text *out, setting s, char letter) {
    int row = type_row(s.type);
    const struct {
        char letter;
        const char *text;
        int number;
    } letters[] = {
        {'T', s.type, 0},
        {'U', type_rows[row].with_unsigned, 0},
        {'S', type_rows[row].with_signed, 0},
        {'B', NULL, type_rows[row].bytes},
        {'L', NULL, s.lanes},
        {'H', NULL, s.lanes / 2},
        {'N', NULL, type_rows[row].bytes * s.lanes},
    };
    if (letter == 'V')
        base_text_format(out, "%sx%d", s.type, s.lanes);
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++) {
        if (letters[i].letter == letter && letters[i].text != NULL)
            base_text_string(out, letters[i].text);
        else if (letters[i].letter == letter)
            base_text_format(out, "%d", letters[i].number);
    }
}

static void append_template(base_text *out, setting s, const char *text) {
    while (*text != '\0') {
        size_t plain = strcspn(text, "$");
        base_text_append(out, text, plain);
        text += plain;
        if (*text == '\0')
            return;
        text++;
        if (*text >= 'A' && *text <= 'Z') {
            append_letter(out, s, *text++);
            continue;
        }
        size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyz");
        if (word == 3 && memcmp(text, "get", 3) == 0) {
            text = append_get(out, s, text + 4);
            continue;
        }
        char *end;
        long number = strtol(text + word, &end, 10);
        append_word(out, s, text, word, (int)number);
        text = end;
    }
}

static void append_text(base_text *out, const target_prelude *prelude, const char *type,
                        const char *text) {
    append_template(out, (setting){type, prelude->lanes}, text);
}

/* ---- functions ---- */

static bool types_have(const char *types, const char *type) {
    size_t length = strlen(type);
    for (const char *at = types; *at != '\0';) {
        size_t word = strcspn(at, " ");
        if (word == length && memcmp(at, type, word) == 0)
            return true;
        at += word;
        at += strspn(at, " ");
    }
    return types[0] == '\0';
}

/* `defined(__AVX2__)` is true where -mavx2 is one of the flags; with any there is all before AVX2.
 */
static bool is_sure(const char *flags, const char *term, size_t length) {
    static const char open[] = "defined(__", close[] = "__)";
    char word[32] = "-m";
    size_t taken = strlen(open), rest = strlen(close), used = 2;
    if (flags == NULL || flags[0] == '\0' || length <= taken + rest || length >= sizeof word ||
        memcmp(term, open, taken) != 0 || memcmp(term + length - rest, close, rest) != 0)
        return false;
    for (size_t i = taken; i < length - rest; i++)
        word[used++] = (char)(term[i] >= 'A' && term[i] <= 'Z' ? term[i] - 'A' + 'a' : term[i]);
    if (strcmp(word, "-msse") == 0 || strcmp(word, "-msse2") == 0 || strcmp(word, "-mavx") == 0)
        return true;
    for (const char *at = flags; (at = strstr(at, word)) != NULL; at += used)
        if (at[used] == ' ' || at[used] == '\0')
            return true;
    return false;
}

/* A condition without its terms that are sure: "" = true. */
static const char *open_terms(base_arena *arena, const char *flags, const char *condition) {
    base_text left;
    base_text_init(&left, arena);
    while (*condition != '\0') {
        const char *end = strstr(condition, " && ");
        size_t length = end != NULL ? (size_t)(end - condition) : strlen(condition);
        if (!is_sure(flags, condition, length)) {
            base_text_string(&left, left.length > 0 ? " && " : "");
            base_text_append(&left, condition, length);
        }
        condition += length + (end != NULL ? 4 : 0);
    }
    return left.bytes;
}

/* `#if` and `#elif` without what is sure. */
static const char *open_line(base_arena *arena, const char *flags, const char *line) {
    size_t word = strncmp(line, "#if ", 4) == 0 ? 4 : strncmp(line, "#elif ", 6) == 0 ? 6 : 0;
    if (word == 0 || flags == NULL)
        return line;
    const char *left = open_terms(arena, flags, line + word);
    base_text out;
    base_text_init(&out, arena);
    base_text_append(&out, line, word);
    base_text_string(&out, left[0] != '\0' ? left : "1");
    return out.bytes;
}

/* A body, indented by one level; lines of the preprocessor are not. */
static void append_body(base_text *out, setting s, const char *flags, const char *body) {
    while (*body != '\0') {
        size_t length = strcspn(body, "\n");
        const char *line = open_line(out->arena, flags, base_arena_copy(out->arena, body, length));
        base_text_string(out, line[0] == '#' ? "" : "    ");
        append_template(out, s, line);
        base_text_string(out, "\n");
        body += length + (body[length] == '\n');
    }
}

/* The bodies of a function: `#if` per fast row, then the portable one. */
static void append_bodies(base_text *out, const target_prelude *prelude, const char *type,
                          const target_prelude_row *row) {
    setting s = {type, prelude->lanes};
    const char *body = row->body;
    bool guarded = false;
    for (int i = 0; i < FAST_COUNT; i++) {
        const prelude_fast *fast = &fast_rows[i];
        if (strcmp(fast->name, row->name) != 0 || fast->lanes != s.lanes ||
            !types_have(fast->types, s.type))
            continue;
        const char *condition = open_terms(out->arena, prelude->flags, fast->condition);
        if (condition[0] == '\0') {
            body = fast->body;
            break;
        }
        base_text_format(out, "#%sif %s\n", guarded ? "el" : "", condition);
        append_body(out, s, prelude->flags, fast->body);
        guarded = true;
    }
    base_text_string(out, guarded ? "#else\n" : "");
    append_body(out, s, prelude->flags, body);
    base_text_string(out, guarded ? "#endif\n" : "");
}

/* ---- the prelude ---- */

static bool has_row(const target_prelude *prelude, const target_prelude_row *row) {
    bool on_vectors = strpbrk(row->name, "VLH") != NULL && strchr(row->name, '$') != NULL;
    return prelude->lanes > 1 || !on_vectors;
}

static target_prelude prelude_of(base_arena *arena, int lanes) {
    return (target_prelude){.arena = arena,
                            .lanes = lanes,
                            .rows = rows,
                            .row_count = sizeof rows / sizeof rows[0],
                            .append = append_text,
                            .append_bodies = append_bodies,
                            .has_row = has_row};
}

void target_c_prelude(base_text *out, target_names *used, target_names *written, int lanes,
                      const char *flags) {
    target_prelude prelude = prelude_of(out->arena, lanes);
    prelude.flags = flags;
    target_prelude_write(out, &prelude, used, written);
}

const char *const *target_c_prelude_names(base_arena *arena, int lanes) {
    target_prelude prelude = prelude_of(arena, lanes);
    return target_prelude_names(&prelude);
}
