/* The recursive-descent parser's state and its three files: parse_expression.c, parse_statement.c,
 * parse_file.c.
 *
 * Errors: a function that cannot read what it should reports once and returns NULL (or an ERROR
 * node); the statement's caller then skips to the end of the statement, so that the next one is
 * read afresh.
 */
#ifndef TEXT_PARSE_INTERNAL_H
#define TEXT_PARSE_INTERNAL_H

#include "text/ast_internal.h"

enum {
    TEXT_DEPTH_LIMIT = 200,      /* open parentheses, brackets, blocks, unary operators */
    TEXT_HEIGHT_LIMIT = 1000,    /* of an expression tree: terms of `a + b + c + ...` */
    TEXT_STATEMENT_LIMIT = 4096, /* of a kernel */
    TEXT_NODE_LIMIT = 32768,     /* names, literals and operations of a kernel */
};

typedef struct text_parser {
    base_arena *arena;
    base_diagnostics *diagnostics;
    text_lexer lexer;
    text_token token; /* the current one */
    text_token ahead;
    int depth;
    int64_t statements, nodes; /* of the kernel being read */
    bool stopped;              /* at a limit: nothing more is read or reported */
    text_kernel *kernel;       /* being read */
} text_parser;

void text_parser_advance(text_parser *parser);
bool text_parser_at_word(const text_parser *parser, text_word word);
/* Takes the token if it is of that kind. */
bool text_parser_accept(text_parser *parser, text_token_kind kind);
bool text_parser_accept_word(text_parser *parser, text_word word);
/* Takes it or reports "expected <kind> <where>". */
bool text_parser_expect(text_parser *parser, text_token_kind kind, const char *where);
/* A name that is not reserved; NULL when reported. */
const text_name *text_parser_expect_name(text_parser *parser, const char *what);
/* "expected <expected>" at the current token; the finding, for a hint. */
base_diagnostic *text_parser_error(text_parser *parser, const char *expected);
/* Goes one level deeper; false when reported. Pair with parser->depth--. */
bool text_parser_enter(text_parser *parser);
/* One more statement, or node, of the kernel; past the limit it is reported and reading stops. */
void text_parser_count(text_parser *parser, int64_t *count, int64_t limit, const char *what);
/* Skips to the end of the statement. */
void text_parser_recover(text_parser *parser);
void text_parser_skip_newlines(text_parser *parser);

/* Never NULL; kind ERROR when reported. */
text_expression *text_parse_expression(text_parser *parser);

/* `{ ... }`; the statements that could be read. */
void text_parse_block(text_parser *parser, text_block *block);

#endif
