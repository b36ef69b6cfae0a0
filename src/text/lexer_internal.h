/* Tokens of the kernel language: names, numbers, marks and line ends, made one at a time.
 *
 *     t = x[row, :]      NAME t, `=`, NAME x, `[`, NAME row, `,`, `:`, `]`, NEWLINE
 *
 * A run of line ends is one NEWLINE; inside parentheses and brackets there is none. Names are
 * interned: equal names are one pointer, and the reserved words have the lowest numbers.
 */
#ifndef TEXT_LEXER_INTERNAL_H
#define TEXT_LEXER_INTERNAL_H

#include "base/diagnostic.h"

/* Words with a meaning of their own; no parameter or value may have such a name. */
#define TEXT_WORDS(X)                                                                              \
    X(KERNEL, "kernel")                                                                            \
    X(PROGRAM, "program")                                                                          \
    X(FOR, "for")                                                                                  \
    X(IN, "in")                                                                                    \
    X(STEP, "step")                                                                                \
    X(IF, "if")                                                                                    \
    X(ELSE, "else")                                                                                \
    X(CONST, "const")                                                                              \
    X(LAYOUT, "layout")                                                                            \
    X(DYNAMIC, "dynamic")                                                                          \
    X(UNIQUE, "unique")                                                                            \
    X(NONE, "None")                                                                                \
    X(TRUE, "true")                                                                                \
    X(FALSE, "false")                                                                              \
    X(INF, "inf")                                                                                  \
    X(NAN, "nan")

typedef enum text_word {
#define X(id, text) TEXT_WORD_##id,
    TEXT_WORDS(X)
#undef X
        TEXT_WORD_COUNT
} text_word;

typedef struct text_name {
    const char *text; /* NUL-terminated */
    int32_t length;
    int32_t id; /* dense; below TEXT_WORD_COUNT: a reserved word */
} text_name;

/* Longest first: the lexer takes the first that matches. */
#define TEXT_MARKS(X)                                                                              \
    X(FLOOR_DIV, "//")                                                                             \
    X(SHIFT_LEFT, "<<")                                                                            \
    X(SHIFT_RIGHT, ">>")                                                                           \
    X(LESS_EQUAL, "<=")                                                                            \
    X(GREATER_EQUAL, ">=")                                                                         \
    X(EQUAL, "==")                                                                                 \
    X(NOT_EQUAL, "!=")                                                                             \
    X(DOTS, "..")                                                                                  \
    X(OPEN_PARENTHESIS, "(")                                                                       \
    X(CLOSE_PARENTHESIS, ")")                                                                      \
    X(OPEN_BRACKET, "[")                                                                           \
    X(CLOSE_BRACKET, "]")                                                                          \
    X(OPEN_BRACE, "{")                                                                             \
    X(CLOSE_BRACE, "}")                                                                            \
    X(COMMA, ",")                                                                                  \
    X(COLON, ":")                                                                                  \
    X(ASSIGN, "=")                                                                                 \
    X(PLUS, "+")                                                                                   \
    X(MINUS, "-")                                                                                  \
    X(STAR, "*")                                                                                   \
    X(SLASH, "/")                                                                                  \
    X(PERCENT, "%")                                                                                \
    X(AMPERSAND, "&")                                                                              \
    X(BAR, "|")                                                                                    \
    X(CARET, "^")                                                                                  \
    X(TILDE, "~")                                                                                  \
    X(LESS, "<")                                                                                   \
    X(GREATER, ">")

typedef enum text_token_kind {
    TEXT_TOKEN_END,
    TEXT_TOKEN_NEWLINE,
    TEXT_TOKEN_NAME,
    TEXT_TOKEN_INTEGER,
    TEXT_TOKEN_REAL,
#define X(id, text) TEXT_MARK_##id,
    TEXT_MARKS(X)
#undef X
        TEXT_TOKEN_KIND_COUNT
} text_token_kind;

typedef struct text_token {
    text_token_kind kind;
    base_location location;
    size_t offset;         /* of its first byte in the source */
    bool starts_line;      /* nothing but blanks before it on its line */
    const text_name *name; /* NAME */
    uint64_t integer;      /* INTEGER: at most 2^63 */
    double real;           /* REAL: finite */
} text_token;

typedef struct text_lexer {
    base_arena *arena;
    const base_source *source;
    base_diagnostics *diagnostics;
    size_t at;
    size_t line_start;
    int32_t line;
    int32_t depth; /* open parentheses and brackets; the parser sets it to 0 to recover */
    bool at_line_start;
    text_name **names; /* open-addressing table of the interner */
    int64_t name_capacity;
    int32_t name_count;
} text_lexer;

/* Reports NUL bytes and invalid UTF-8 (once each) and a text that is too large. */
void text_lexer_init(text_lexer *lexer, base_arena *arena, const base_source *source,
                     base_diagnostics *diagnostics);

/* The next token; END for ever at the end of the text, and once the limit of findings is reached.
 */
text_token text_lexer_next(text_lexer *lexer);

/* "`)`", "a name", "the end of the line": for messages. Static string. */
const char *text_token_describe(text_token_kind kind);

#endif
