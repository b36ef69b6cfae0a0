/* Tokens of IR and plan text: words, numbers, labels of values, strings, punctuation, ends of
 * lines. `#` starts a comment. Any bytes are accepted: what is no token is UNKNOWN. */
#ifndef TEXT_IR_LEXER_H
#define TEXT_IR_LEXER_H

#include "base/diagnostic.h"

#include <stdbool.h>

typedef enum text_ir_token_kind {
    TEXT_IR_END,
    TEXT_IR_NEWLINE,
    TEXT_IR_WORD,   /* letter or _, then letters, digits, _ and dots: `load`, `max.0` */
    TEXT_IR_NUMBER, /* digit, then letters, digits, dots, and signs of an exponent */
    TEXT_IR_LABEL,  /* `%t.3`: text is what follows the % */
    TEXT_IR_STRING, /* "...": text is what stands between the quotes, escapes and all */
    TEXT_IR_SIGN,   /* one character, `//` or `==` */
    TEXT_IR_UNKNOWN,
} text_ir_token_kind;

typedef struct text_ir_token {
    text_ir_token_kind kind;
    const char *text; /* into the source, not terminated */
    size_t length;
    base_location location;
} text_ir_token;

typedef struct text_ir_lexer {
    const base_source *source;
    size_t at, line_start;
    int32_t line;
    text_ir_token token;       /* the current one */
    text_ir_token_kind before; /* kind of the one before it ... */
    char before_sign;          /* ... and its first character when it was a SIGN */
} text_ir_lexer;

/* Stands on the first token afterwards. */
void text_ir_lexer_init(text_ir_lexer *lexer, const base_source *source);
void text_ir_lexer_next(text_ir_lexer *lexer);

/* The current token is this word or sign. */
bool text_ir_lexer_is(const text_ir_lexer *lexer, const char *text);
/* Steps over it if it is. */
bool text_ir_lexer_accept(text_ir_lexer *lexer, const char *text);

/* 0..15, or -1. Lower case only, as printed. */
int text_ir_hex_value(char c);
/* The current token is 16 hexadecimal digits; it is not stepped over. */
bool text_ir_lexer_hash(const text_ir_lexer *lexer, uint64_t *hash);

/* The rest of the line from the current token on, without comment and trailing blanks; and a step
 * to a position in it, for readers of their own. */
size_t text_ir_lexer_rest(const text_ir_lexer *lexer);
void text_ir_lexer_skip(text_ir_lexer *lexer, size_t length);

/* For `found`: the current token's text, clipped; `end of line`, `end of text`. */
const char *text_ir_lexer_found(const text_ir_lexer *lexer, base_diagnostics *diagnostics);

#endif
