/* The lexer of IR and plan text: one pass over bytes, one token at a time, no memory of its own.
 *
 *     %m = reduce max %t axis=0 : f32   # a comment
 *     LABEL SIGN WORD WORD LABEL WORD SIGN NUMBER SIGN WORD NEWLINE
 */
#include "text/ir_lexer.h"

#include <string.h>

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static char byte_at(const text_ir_lexer *lexer, size_t at) {
    return at < lexer->source->length ? lexer->source->text[at] : '\0';
}

static void skip_blanks(text_ir_lexer *lexer) {
    while (byte_at(lexer, lexer->at) == ' ' || byte_at(lexer, lexer->at) == '\t' ||
           byte_at(lexer, lexer->at) == '\r')
        lexer->at++;
    if (byte_at(lexer, lexer->at) == '#')
        while (lexer->at < lexer->source->length && lexer->source->text[lexer->at] != '\n')
            lexer->at++;
}

static size_t word_end(const text_ir_lexer *lexer, size_t at) {
    while (is_letter(byte_at(lexer, at)) || is_digit(byte_at(lexer, at)) ||
           byte_at(lexer, at) == '.')
        at++;
    return at;
}

static size_t number_end(const text_ir_lexer *lexer, size_t at) {
    size_t start = at;
    bool hexadecimal = byte_at(lexer, at) == '0' && (byte_at(lexer, at + 1) | 0x20) == 'x';
    for (;;) {
        char c = byte_at(lexer, at), last = at > start ? byte_at(lexer, at - 1) : '\0';
        bool exponent = hexadecimal ? (last | 0x20) == 'p' : (last | 0x20) == 'e';
        if (!is_letter(c) && !is_digit(c) && c != '.' && !(exponent && (c == '+' || c == '-')))
            return at;
        at++;
    }
}

/* The end of a string whose opening quote stands at `at`; `at` itself when it is not closed. */
static size_t string_end(const text_ir_lexer *lexer, size_t at) {
    for (size_t i = at + 1; i < lexer->source->length && lexer->source->text[i] != '\n'; i++) {
        if (lexer->source->text[i] == '"')
            return i + 1;
        if (lexer->source->text[i] == '\\')
            i++;
    }
    return at;
}

/* Kind of the token that starts at lexer->at; *end is set behind it. */
static text_ir_token_kind classify(const text_ir_lexer *lexer, size_t *end) {
    static const char signs[] = "()[]{}<>=:,+-*/%@!|";
    size_t at = lexer->at;
    char c = byte_at(lexer, at), next = byte_at(lexer, at + 1);
    *end = at + 1;
    if (at >= lexer->source->length) {
        *end = at;
        return TEXT_IR_END;
    }
    if (c == '\n')
        return TEXT_IR_NEWLINE;
    if (is_letter(c)) {
        *end = word_end(lexer, at);
        return TEXT_IR_WORD;
    }
    if (is_digit(c)) {
        *end = number_end(lexer, at);
        return TEXT_IR_NUMBER;
    }
    if (c == '%' && (is_letter(next) || is_digit(next))) {
        *end = word_end(lexer, at + 1);
        return TEXT_IR_LABEL;
    }
    if (c == '"') {
        *end = string_end(lexer, at);
        if (*end > at)
            return TEXT_IR_STRING;
        *end = at + 1;
        return TEXT_IR_UNKNOWN;
    }
    if ((c == '/' || c == '=') && next == c)
        *end = at + 2;
    return c != '\0' && strchr(signs, c) != NULL ? TEXT_IR_SIGN : TEXT_IR_UNKNOWN;
}

void text_ir_lexer_init(text_ir_lexer *lexer, const base_source *source) {
    *lexer = (text_ir_lexer){.source = source, .line = 1};
    lexer->token.kind = TEXT_IR_NEWLINE;
    lexer->token.text = source->text;
    text_ir_lexer_next(lexer);
}

static void set_token(text_ir_lexer *lexer, text_ir_token_kind kind, size_t end) {
    size_t inset = kind == TEXT_IR_LABEL || kind == TEXT_IR_STRING ? 1 : 0;
    size_t tail = kind == TEXT_IR_STRING ? 1 : 0;
    lexer->token = (text_ir_token){
        .kind = kind,
        .text = lexer->source->text + lexer->at + inset,
        .length = end - lexer->at - inset - tail,
        .location = {.source = lexer->source,
                     .line = lexer->line,
                     .column = (int32_t)(lexer->at - lexer->line_start) + 1,
                     .length = (int32_t)(end - lexer->at)},
    };
    lexer->at = end;
}

void text_ir_lexer_next(text_ir_lexer *lexer) {
    lexer->before = lexer->token.kind;
    lexer->before_sign = lexer->token.kind == TEXT_IR_SIGN ? lexer->token.text[0] : '\0';
    if (lexer->token.kind == TEXT_IR_NEWLINE && lexer->at > 0) {
        lexer->line++;
        lexer->line_start = lexer->at;
    }
    skip_blanks(lexer);
    size_t end = 0;
    text_ir_token_kind kind = classify(lexer, &end);
    set_token(lexer, kind, end);
}

bool text_ir_lexer_is(const text_ir_lexer *lexer, const char *text) {
    const text_ir_token *token = &lexer->token;
    return (token->kind == TEXT_IR_WORD || token->kind == TEXT_IR_SIGN) &&
           strlen(text) == token->length && memcmp(text, token->text, token->length) == 0;
}

bool text_ir_lexer_accept(text_ir_lexer *lexer, const char *text) {
    bool is = text_ir_lexer_is(lexer, text);
    if (is)
        text_ir_lexer_next(lexer);
    return is;
}

int text_ir_hex_value(char c) {
    if (is_digit(c))
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool text_ir_lexer_hash(const text_ir_lexer *lexer, uint64_t *hash) {
    const text_ir_token *token = &lexer->token;
    uint64_t value = 0;
    if ((token->kind != TEXT_IR_WORD && token->kind != TEXT_IR_NUMBER) || token->length != 16)
        return false;
    for (size_t i = 0; i < token->length; i++) {
        if (text_ir_hex_value(token->text[i]) < 0)
            return false;
        value = value << 4 | (uint64_t)text_ir_hex_value(token->text[i]);
    }
    *hash = value;
    return true;
}

size_t text_ir_lexer_rest(const text_ir_lexer *lexer) {
    const char *start = lexer->token.text;
    size_t left = lexer->source->length - (size_t)(start - lexer->source->text);
    size_t length = 0;
    while (length < left && start[length] != '\n' && start[length] != '#')
        length++;
    while (length > 0 &&
           (start[length - 1] == ' ' || start[length - 1] == '\t' || start[length - 1] == '\r'))
        length--;
    return length;
}

void text_ir_lexer_skip(text_ir_lexer *lexer, size_t length) {
    lexer->at = (size_t)(lexer->token.text - lexer->source->text) + length;
    lexer->token.kind = TEXT_IR_UNKNOWN;
    text_ir_lexer_next(lexer);
}

const char *text_ir_lexer_found(const text_ir_lexer *lexer, base_diagnostics *diagnostics) {
    const text_ir_token *token = &lexer->token;
    if (token->kind == TEXT_IR_END)
        return "end of text";
    if (token->kind == TEXT_IR_NEWLINE)
        return "end of line";
    const char *start = lexer->source->text + lexer->at - token->location.length;
    int length = token->location.length > 60 ? 60 : (int)token->location.length;
    if (token->kind == TEXT_IR_UNKNOWN && ((unsigned char)*start < 0x20 || *start == 0x7f))
        return base_diagnostics_text(diagnostics, "the byte 0x%02x", (unsigned char)*start);
    return base_diagnostics_text(diagnostics, "`%.*s`", length, start);
}
