/* Lexer: bytes of a kernel file to tokens.
 *
 *     1_000 -> INTEGER 1000     0x1.8p3 -> REAL 12.0     0..N -> INTEGER 0, `..`, NAME N
 *
 * Whatever is not a token is reported and skipped (or replaced by what was probably meant, such as
 * `&` for `&&`), so that the parser always goes on. Comments run from `#` to the end of the line.
 */
#include "text/lexer_internal.h"

#include "base/hash.h"

#include <math.h>
#include <string.h>

enum { NAME_LIMIT = 255, NUMBER_LIMIT = 255, SOURCE_LIMIT = 1 << 20 };

static const struct {
    const char *text;
    text_token_kind kind;
} mark_rows[] = {
#define X(id, text) {text, TEXT_MARK_##id},
    TEXT_MARKS(X)
#undef X
};

/* What other languages write, longest first: reported with the hint, read as `kind`. */
static const struct {
    const char *text;
    text_token_kind kind; /* END: read as nothing */
    const char *hint;
} foreign_rows[] = {
    {"**", TEXT_MARK_STAR, "there is no power operator: write `x * x`, or exp and log"},
    {"&&", TEXT_MARK_AMPERSAND, "write `&`, with parentheses around comparisons"},
    {"||", TEXT_MARK_BAR, "write `|`, with parentheses around comparisons"},
    {"++", TEXT_MARK_PLUS, "write `i = i + 1`"},
    {"+=", TEXT_MARK_ASSIGN, "write `a = a + b`"},
    {"-=", TEXT_MARK_ASSIGN, "write `a = a - b`"},
    {"*=", TEXT_MARK_ASSIGN, "write `a = a * b`"},
    {"/=", TEXT_MARK_ASSIGN, "write `a = a / b`"},
    {"->", TEXT_TOKEN_END, "a kernel returns nothing: it stores to its `out` parameters"},
    {"!", TEXT_MARK_TILDE, "write `~` for not"},
    {"?", TEXT_TOKEN_END, "write `where(condition, a, b)`"},
    {"@", TEXT_TOKEN_END, "there is no matrix product operator"},
    {";", TEXT_TOKEN_NEWLINE, "the end of the line ends a statement"},
    {".", TEXT_TOKEN_END, "values have no attributes; a range of a loop is `a..b`"},
    {"\"", TEXT_TOKEN_END, "the language has no strings; a comment starts with `#`"},
    {"'", TEXT_TOKEN_END, "the language has no strings; a comment starts with `#`"},
};

const char *text_token_describe(text_token_kind kind) {
    static const char *const names[TEXT_TOKEN_KIND_COUNT] = {
        [TEXT_TOKEN_END] = "the end of the file",
        [TEXT_TOKEN_NEWLINE] = "the end of the line",
        [TEXT_TOKEN_NAME] = "a name",
        [TEXT_TOKEN_INTEGER] = "an integer",
        [TEXT_TOKEN_REAL] = "a number",
#define X(id, text) [TEXT_MARK_##id] = "`" text "`",
        TEXT_MARKS(X)
#undef X
    };
    return names[kind];
}

/* ---- names ---- */

static void names_grow(text_lexer *lexer) {
    int64_t capacity = lexer->name_capacity > 0 ? lexer->name_capacity * 2 : 128;
    text_name **larger = BASE_NEW_ARRAY(lexer->arena, text_name *, capacity);
    for (int64_t i = 0; i < lexer->name_capacity; i++) {
        text_name *name = lexer->names[i];
        if (name == NULL)
            continue;
        uint64_t slot = base_hash_bytes(BASE_HASH_START, name->text, (size_t)name->length);
        while (larger[slot & (uint64_t)(capacity - 1)] != NULL)
            slot++;
        larger[slot & (uint64_t)(capacity - 1)] = name;
    }
    lexer->names = larger;
    lexer->name_capacity = capacity;
}

static const text_name *intern(text_lexer *lexer, const char *text, size_t length) {
    if (((int64_t)lexer->name_count + 1) * 2 > lexer->name_capacity)
        names_grow(lexer);
    uint64_t slot = base_hash_bytes(BASE_HASH_START, text, length);
    for (;; slot++) {
        text_name **place = &lexer->names[slot & (uint64_t)(lexer->name_capacity - 1)];
        if (*place == NULL) {
            text_name *name = BASE_NEW(lexer->arena, text_name);
            name->text = base_arena_copy(lexer->arena, text, length);
            name->length = (int32_t)length;
            name->id = lexer->name_count++;
            *place = name;
            return name;
        }
        if ((size_t)(*place)->length == length && memcmp((*place)->text, text, length) == 0)
            return *place;
    }
}

/* ---- the text as a whole ---- */

static bool is_continuation(unsigned char byte) {
    return (byte & 0xc0) == 0x80;
}

/* Bytes of the valid UTF-8 sequence at `at`, or 0. */
static size_t sequence_length(const base_source *source, size_t at) {
    const unsigned char *p = (const unsigned char *)source->text + at;
    size_t left = source->length - at;
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        return left >= 2 && is_continuation(p[1]) ? 2 : 0;
    if (p[0] >= 0xe0 && p[0] <= 0xef) {
        if (left < 3 || !is_continuation(p[1]) || !is_continuation(p[2]))
            return 0;
        bool overlong = p[0] == 0xe0 && p[1] < 0xa0;
        bool surrogate = p[0] == 0xed && p[1] > 0x9f;
        return overlong || surrogate ? 0 : 3;
    }
    if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        if (left < 4 || !is_continuation(p[1]) || !is_continuation(p[2]) || !is_continuation(p[3]))
            return 0;
        bool overlong = p[0] == 0xf0 && p[1] < 0x90;
        bool too_large = p[0] == 0xf4 && p[1] > 0x8f;
        return overlong || too_large ? 0 : 4;
    }
    return 0;
}

/* The line and column of a byte, counted from the start: for findings about the whole text. */
static base_location location_of(const base_source *source, size_t at) {
    int32_t line = 1;
    size_t start = 0;
    for (size_t i = 0; i < at; i++) {
        if (source->text[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
    return (base_location){source, line, (int32_t)(at - start) + 1, 1};
}

static void check_bytes(text_lexer *lexer) {
    const base_source *source = lexer->source;
    bool nul = false;
    bool invalid = false;
    for (size_t i = 0; i < source->length && !(nul && invalid);) {
        size_t length = sequence_length(source, i);
        if (source->text[i] == '\0' && !nul) {
            base_diagnostic *item =
                base_diagnostics_add(lexer->diagnostics, "nul-byte", location_of(source, i),
                                     "the file holds a NUL byte");
            item->hint = "a kernel file is plain UTF-8 text";
            nul = true;
        }
        if (length == 0 && !invalid) {
            base_diagnostic *item =
                base_diagnostics_add(lexer->diagnostics, "invalid-utf8", location_of(source, i),
                                     "the file is not valid UTF-8");
            item->found = base_diagnostics_text(lexer->diagnostics, "byte 0x%02x",
                                                (unsigned char)source->text[i]);
            item->hint = "a kernel file is plain UTF-8 text";
            invalid = true;
        }
        i += length > 0 ? length : 1;
    }
}

void text_lexer_init(text_lexer *lexer, base_arena *arena, const base_source *source,
                     base_diagnostics *diagnostics) {
    static const char *const words[] = {
#define X(id, text) text,
        TEXT_WORDS(X)
#undef X
    };
    *lexer = (text_lexer){.arena = arena,
                          .source = source,
                          .diagnostics = diagnostics,
                          .line = 1,
                          .at_line_start = true};
    for (int i = 0; i < TEXT_WORD_COUNT; i++)
        intern(lexer, words[i], strlen(words[i]));
    if (source->length > SOURCE_LIMIT) {
        base_diagnostic *item =
            base_diagnostics_add(diagnostics, "source-too-large", location_of(source, SOURCE_LIMIT),
                                 "the kernel file is too large");
        item->found = base_diagnostics_text(diagnostics, "more than %d bytes", SOURCE_LIMIT);
        item->expected = base_diagnostics_text(diagnostics, "at most %d bytes", SOURCE_LIMIT);
        lexer->at = source->length;
        return;
    }
    check_bytes(lexer);
    if (source->length >= 3 && memcmp(source->text, "\xef\xbb\xbf", 3) == 0)
        lexer->at = lexer->line_start = 3;
}

/* ---- tokens ---- */

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static char peek(const text_lexer *lexer, size_t ahead) {
    size_t at = lexer->at + ahead;
    return at < lexer->source->length ? lexer->source->text[at] : '\0';
}

static base_location location_from(const text_lexer *lexer, size_t start) {
    return (base_location){lexer->source, lexer->line, (int32_t)(start - lexer->line_start) + 1,
                           (int32_t)(lexer->at - start)};
}

/* Digits, each underscore between two of them, appended without it. False: misplaced underscore. */
static bool take_digits(text_lexer *lexer, bool (*accepts)(char), char *out, size_t *length) {
    bool well_formed = true;
    bool after_digit = false;
    for (char c = peek(lexer, 0); accepts(c) || c == '_'; c = peek(lexer, 0)) {
        if (c == '_')
            well_formed = well_formed && after_digit && accepts(peek(lexer, 1));
        else if (*length < NUMBER_LIMIT)
            out[(*length)++] = c;
        after_digit = c != '_';
        lexer->at++;
    }
    return well_formed;
}

static void take_byte(text_lexer *lexer, char *out, size_t *length) {
    if (*length < NUMBER_LIMIT)
        out[(*length)++] = peek(lexer, 0);
    lexer->at++;
}

static bool parse_integer(const char *text, size_t length, bool hex, uint64_t *value) {
    uint64_t limit = UINT64_C(1) << 63;
    *value = 0;
    for (size_t i = hex ? 2 : 0; i < length; i++) {
        char c = text[i];
        uint64_t digit = (uint64_t)(is_digit(c) ? c - '0' : (c >= 'a' ? c - 'a' : c - 'A') + 10);
        uint64_t base = hex ? 16 : 10;
        if (*value > (limit - digit) / base)
            return false;
        *value = *value * base + digit;
    }
    return true;
}

static base_diagnostic *number_error(text_lexer *lexer, const char *slug, size_t start,
                                     const char *message) {
    base_location at = location_from(lexer, start);
    base_diagnostic *item = base_diagnostics_add(lexer->diagnostics, slug, at, "%s", message);
    item->found =
        base_diagnostics_text(lexer->diagnostics, "%.*s%s", at.length < 60 ? (int)at.length : 60,
                              lexer->source->text + start, at.length > 60 ? "..." : "");
    return item;
}

static text_token lex_number(text_lexer *lexer) {
    char digits[NUMBER_LIMIT + 1];
    size_t length = 0;
    size_t start = lexer->at;
    bool hex = peek(lexer, 0) == '0' && (peek(lexer, 1) == 'x' || peek(lexer, 1) == 'X');
    bool (*accepts)(char) = hex ? is_hex : is_digit;
    if (hex) {
        take_byte(lexer, digits, &length);
        take_byte(lexer, digits, &length);
    }
    size_t whole = lexer->at;
    bool well_formed = peek(lexer, 0) == '.' || take_digits(lexer, accepts, digits, &length);
    bool real = false;
    if (peek(lexer, 0) == '.' && peek(lexer, 1) != '.') {
        real = true;
        take_byte(lexer, digits, &length);
        if (accepts(peek(lexer, 0)))
            well_formed = take_digits(lexer, accepts, digits, &length) && well_formed;
    }
    well_formed = well_formed && lexer->at > whole + (real ? 1 : 0);
    char exponent = (char)(peek(lexer, 0) | 0x20);
    if (exponent == (hex ? 'p' : 'e')) {
        real = true;
        take_byte(lexer, digits, &length);
        if (peek(lexer, 0) == '+' || peek(lexer, 0) == '-')
            take_byte(lexer, digits, &length);
        well_formed = is_digit(peek(lexer, 0)) && well_formed;
        well_formed = take_digits(lexer, is_digit, digits, &length) && well_formed;
    }
    while (is_letter(peek(lexer, 0)) || is_digit(peek(lexer, 0))) {
        well_formed = false;
        lexer->at++;
    }
    text_token token = {.kind = real ? TEXT_TOKEN_REAL : TEXT_TOKEN_INTEGER,
                        .location = location_from(lexer, start)};
    if (!well_formed || length >= NUMBER_LIMIT) {
        base_diagnostic *item =
            number_error(lexer, "malformed-number", start, "this is not a number");
        item->expected = "such as 64, 1_000, 0x1f, 0.5, 1e-5 or 0x1.8p3";
    } else if (real) {
        bool parsed = base_number_parse(digits, length, &token.real);
        if (!parsed || isinf(token.real)) {
            token.real = 0;
            number_error(lexer, "literal-range", start, "the number is too large")->hint =
                "write `inf` for infinity";
        }
    } else if (!parse_integer(digits, length, hex, &token.integer)) {
        token.integer = 0;
        base_diagnostic *item =
            number_error(lexer, "literal-range", start, "the integer is too large");
        item->expected = "at most 9223372036854775807";
        item->hint = "a number with a point, such as 1e20, is a float";
    }
    return token;
}

static text_token lex_name(text_lexer *lexer) {
    size_t start = lexer->at;
    while (is_letter(peek(lexer, 0)) || is_digit(peek(lexer, 0)))
        lexer->at++;
    size_t length = lexer->at - start;
    text_token token = {.kind = TEXT_TOKEN_NAME, .location = location_from(lexer, start)};
    if (length > NAME_LIMIT) {
        base_diagnostic *item = base_diagnostics_add(lexer->diagnostics, "name-too-long",
                                                     token.location, "a name is too long");
        item->found = base_diagnostics_text(lexer->diagnostics, "%zu characters: %.40s...", length,
                                            lexer->source->text + start);
        item->expected =
            base_diagnostics_text(lexer->diagnostics, "at most %d characters", NAME_LIMIT);
        length = NAME_LIMIT;
    }
    token.name = intern(lexer, lexer->source->text + start, length);
    return token;
}

static bool matches(const text_lexer *lexer, const char *text) {
    size_t length = strlen(text);
    return lexer->source->length - lexer->at >= length &&
           memcmp(lexer->source->text + lexer->at, text, length) == 0;
}

/* Reports what no token starts with; true when *token stands for it. */
static bool lex_foreign(text_lexer *lexer, text_token *token) {
    size_t start = lexer->at;
    for (size_t i = 0; i < sizeof foreign_rows / sizeof foreign_rows[0]; i++) {
        if (!matches(lexer, foreign_rows[i].text))
            continue;
        lexer->at += strlen(foreign_rows[i].text);
        token->kind = foreign_rows[i].kind;
        token->location = location_from(lexer, start);
        base_diagnostics_add(lexer->diagnostics, "unexpected-character", token->location,
                             "`%s` is not part of the language", foreign_rows[i].text)
            ->hint = foreign_rows[i].hint;
        return token->kind != TEXT_TOKEN_END;
    }
    size_t length = sequence_length(lexer->source, lexer->at);
    bool known_already = length == 0 || peek(lexer, 0) == '\0';
    lexer->at += length > 0 ? length : 1;
    while (lexer->at < lexer->source->length && (unsigned char)peek(lexer, 0) >= 0x80)
        lexer->at++;
    if (known_already) /* check_bytes has reported it */
        return false;
    base_location at = location_from(lexer, start);
    base_diagnostic *item = base_diagnostics_add(lexer->diagnostics, "unexpected-character", at,
                                                 "a character that is not part of the language");
    item->found =
        base_diagnostics_text(lexer->diagnostics, "%.*s", at.length < 40 ? (int)at.length : 4,
                              lexer->source->text + start);
    return false;
}

static bool foreign_first(const text_lexer *lexer) {
    static const char *const pairs[] = {"**", "&&", "||", "++", "+=", "-=", "*=", "->"};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (matches(lexer, pairs[i]))
            return true;
    return matches(lexer, "/=") || (matches(lexer, "!") && !matches(lexer, "!="));
}

/* A mark, or what stands for one; false when it was only reported. */
static bool lex_mark(text_lexer *lexer, text_token *token) {
    size_t start = lexer->at;
    if (foreign_first(lexer))
        return lex_foreign(lexer, token);
    for (size_t i = 0; i < sizeof mark_rows / sizeof mark_rows[0]; i++) {
        if (!matches(lexer, mark_rows[i].text))
            continue;
        lexer->at += strlen(mark_rows[i].text);
        token->kind = mark_rows[i].kind;
        token->location = location_from(lexer, start);
        return true;
    }
    return lex_foreign(lexer, token);
}

static void track_depth(text_lexer *lexer, text_token_kind kind) {
    if (kind == TEXT_MARK_OPEN_PARENTHESIS || kind == TEXT_MARK_OPEN_BRACKET)
        lexer->depth++;
    else if (kind == TEXT_MARK_CLOSE_PARENTHESIS || kind == TEXT_MARK_CLOSE_BRACKET)
        lexer->depth -= lexer->depth > 0;
    else if (kind == TEXT_MARK_OPEN_BRACE || kind == TEXT_MARK_CLOSE_BRACE)
        lexer->depth = 0;
}

/* Blanks, comments and line ends. True when a line end counts; *newline is where. */
static bool skip_blanks(text_lexer *lexer, base_location *newline) {
    bool found = false;
    while (lexer->at < lexer->source->length) {
        char c = peek(lexer, 0);
        if (c == '#') {
            while (lexer->at < lexer->source->length && peek(lexer, 0) != '\n')
                lexer->at++;
        } else if (c == '\n') {
            if (!found)
                *newline = location_from(lexer, lexer->at);
            found = true;
            lexer->at++;
            lexer->line++;
            lexer->line_start = lexer->at;
            lexer->at_line_start = true;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            lexer->at++;
        } else {
            break;
        }
    }
    return found && lexer->depth == 0;
}

text_token text_lexer_next(text_lexer *lexer) {
    text_token token = {.kind = TEXT_TOKEN_END};
    bool made = false;
    while (!made) {
        token = (text_token){.kind = TEXT_TOKEN_END};
        if (lexer->diagnostics->count >= BASE_DIAGNOSTIC_LIMIT)
            lexer->at = lexer->source->length;
        if (skip_blanks(lexer, &token.location)) {
            token.kind = TEXT_TOKEN_NEWLINE;
            return token;
        }
        bool starts_line = lexer->at_line_start;
        lexer->at_line_start = false;
        size_t start = lexer->at;
        if (lexer->at >= lexer->source->length) {
            token.location = location_from(lexer, lexer->at);
            made = true;
        } else if (is_letter(peek(lexer, 0))) {
            token = lex_name(lexer);
            made = true;
        } else if (is_digit(peek(lexer, 0)) ||
                   (peek(lexer, 0) == '.' && is_digit(peek(lexer, 1)))) {
            token = lex_number(lexer);
            made = true;
        } else {
            made = lex_mark(lexer, &token);
        }
        token.starts_line = starts_line;
        token.offset = start;
    }
    track_depth(lexer, token.kind);
    return token;
}
