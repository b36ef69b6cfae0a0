/* Parser: statements and blocks.
 *
 *     program b: B, i: N step 64     acc = acc + t     y[b, i] = acc
 *     for k in 0..N step 64 { ... }  if c { ... } else { ... }
 *
 * A statement that cannot be read is reported and skipped. An assignment whose value cannot be read
 * stays, with an ERROR value, so that later uses of the name are not reported too.
 */
#include "text/parse_internal.h"

#include <string.h>

static void push_statement(text_parser *parser, text_block *block, text_statement *statement) {
    BASE_PUSH(parser->arena, block->statements, block->count, block->capacity, statement);
}

static text_statement *make(text_parser *parser, text_statement_kind kind, base_location at) {
    text_statement *statement = BASE_NEW(parser->arena, text_statement);
    statement->kind = kind;
    statement->location = at;
    return statement;
}

/* ---- one kind each; NULL when reported and nothing is left ---- */

static text_statement *parse_program(text_parser *parser) {
    text_statement *statement = make(parser, TEXT_STATEMENT_PROGRAM, parser->token.location);
    text_program_axis axes[IR_MAX_PROGRAMS];
    text_parser_advance(parser);
    do {
        text_program_axis axis = {.location = parser->token.location};
        if (statement->axis_count == IR_MAX_PROGRAMS) {
            base_diagnostics_add(parser->diagnostics, "program-axes", axis.location,
                                 "too many program axes")
                ->expected = "at most 4";
            return NULL;
        }
        axis.name = text_parser_expect_name(parser, "the name of a program axis");
        if (axis.name == NULL)
            return NULL;
        if (!text_parser_accept(parser, TEXT_MARK_COLON)) {
            text_parser_error(parser, "`:` after the name")->hint = "write `program row: R`";
            return NULL;
        }
        axis.extent = text_parse_expression(parser);
        if (text_parser_accept_word(parser, TEXT_WORD_STEP) &&
            axis.extent->kind != TEXT_EXPRESSION_ERROR)
            axis.step = text_parse_expression(parser);
        axes[statement->axis_count++] = axis;
        if (axis.extent->kind == TEXT_EXPRESSION_ERROR ||
            (axis.step != NULL && axis.step->kind == TEXT_EXPRESSION_ERROR))
            break;
    } while (text_parser_accept(parser, TEXT_MARK_COMMA));
    statement->axes = BASE_NEW_ARRAY(parser->arena, text_program_axis, statement->axis_count);
    memcpy(statement->axes, axes, sizeof axes[0] * (size_t)statement->axis_count);
    return statement;
}

static text_statement *parse_for(text_parser *parser) {
    text_statement *statement = make(parser, TEXT_STATEMENT_FOR, parser->token.location);
    text_parser_advance(parser);
    statement->name = text_parser_expect_name(parser, "the name of the loop index");
    if (statement->name == NULL)
        return NULL;
    if (!text_parser_accept_word(parser, TEXT_WORD_IN)) {
        text_parser_error(parser, "`in`")->hint = "write `for k in 0..N step 64 { ... }`";
        return NULL;
    }
    statement->low = text_parse_expression(parser);
    if (statement->low->kind == TEXT_EXPRESSION_ERROR)
        return NULL;
    if (!text_parser_accept(parser, TEXT_MARK_DOTS)) {
        text_parser_error(parser, "`..`")->hint = "write `for k in 0..N step 64 { ... }`";
        return NULL;
    }
    statement->high = text_parse_expression(parser);
    if (statement->high->kind == TEXT_EXPRESSION_ERROR)
        return NULL;
    if (text_parser_accept_word(parser, TEXT_WORD_STEP)) {
        statement->step = text_parse_expression(parser);
        if (statement->step->kind == TEXT_EXPRESSION_ERROR)
            return NULL;
    }
    text_parse_block(parser, &statement->block);
    return statement;
}

static text_statement *parse_if(text_parser *parser) {
    text_statement *statement = make(parser, TEXT_STATEMENT_IF, parser->token.location);
    text_parser_advance(parser);
    statement->value = text_parse_expression(parser);
    if (statement->value->kind == TEXT_EXPRESSION_ERROR)
        return NULL;
    text_parse_block(parser, &statement->block);
    if (parser->token.kind == TEXT_TOKEN_NEWLINE && parser->ahead.kind == TEXT_TOKEN_NAME &&
        parser->ahead.name->id == TEXT_WORD_ELSE)
        text_parser_advance(parser);
    if (!text_parser_accept_word(parser, TEXT_WORD_ELSE))
        return statement;
    if (!text_parser_at_word(parser, TEXT_WORD_IF)) {
        text_parse_block(parser, &statement->else_block);
        return statement;
    }
    if (!text_parser_enter(parser))
        return statement;
    text_statement *nested = parse_if(parser);
    parser->depth--;
    if (nested != NULL)
        push_statement(parser, &statement->else_block, nested);
    return statement;
}

/* NULL: no word of other languages. */
static const char *word_alone_hint(const text_name *word) {
    if (strcmp(word->text, "return") == 0)
        return "a kernel returns nothing: it stores to its `out` parameters";
    if (strcmp(word->text, "pass") == 0 || strcmp(word->text, "continue") == 0 ||
        strcmp(word->text, "break") == 0)
        return "a block may be empty, and a loop runs to its end";
    return NULL;
}

static void reject_expression(text_parser *parser, const text_expression *expression) {
    base_diagnostic *item =
        base_diagnostics_add(parser->diagnostics, "expected-statement", expression->location,
                             "an expression alone is not a statement");
    item->expected = "`name = value` or `tensor[...] = value`";
    if (expression->kind == TEXT_EXPRESSION_NAME)
        item->hint = word_alone_hint(expression->name);
    if (parser->token.kind == TEXT_MARK_EQUAL ||
        (expression->kind == TEXT_EXPRESSION_BINARY && expression->operation == TEXT_OPERATOR_EQ))
        item->hint = "`=` assigns, `==` compares";
}

/* Two names side by side: the first is no statement here. */
static const char *first_word_hint(const text_name *word) {
    if (word_alone_hint(word) != NULL)
        return word_alone_hint(word);
    if (strcmp(word->text, "while") == 0)
        return "the loop is `for k in 0..N { ... }`";
    return "a name is assigned without a declaration: `a = ...`";
}

static text_statement *parse_assignment(text_parser *parser) {
    text_expression *target = text_parse_expression(parser);
    if (target->kind == TEXT_EXPRESSION_ERROR)
        return NULL;
    if (parser->token.kind != TEXT_MARK_ASSIGN) {
        if (parser->token.kind == TEXT_TOKEN_NAME && target->kind == TEXT_EXPRESSION_NAME)
            text_parser_error(parser, "`=` or `[`")->hint = first_word_hint(target->name);
        else
            reject_expression(parser, target);
        return NULL;
    }
    text_statement *statement;
    if (target->kind == TEXT_EXPRESSION_NAME && !target->parenthesised) {
        statement = make(parser, TEXT_STATEMENT_ASSIGN, target->location);
        statement->name = target->name;
    } else if (target->kind == TEXT_EXPRESSION_INDEX && !target->parenthesised &&
               target->left->kind == TEXT_EXPRESSION_NAME) {
        statement = make(parser, TEXT_STATEMENT_STORE, target->location);
        statement->target = target;
    } else {
        base_diagnostics_add(parser->diagnostics, "assignment-target", target->location,
                             "this cannot be assigned to")
            ->expected = "a name, or an indexed tensor such as `y[row, :]`";
        return NULL;
    }
    text_parser_advance(parser);
    statement->value = text_parse_expression(parser);
    return statement;
}

/* ---- blocks ---- */

static bool ends_statement(const text_parser *parser) {
    return parser->token.kind == TEXT_TOKEN_NEWLINE || parser->token.kind == TEXT_TOKEN_END ||
           parser->token.kind == TEXT_MARK_CLOSE_BRACE;
}

static bool words_hint(text_parser *parser, base_diagnostic *item) {
    static const struct {
        const char *word, *hint;
    } rows[] = {
        {"if", "write `where(condition, a, b)`"},
        {"step", "`step` stands after the end of a range: `0..N step 64`"},
    };
    if (parser->token.kind != TEXT_TOKEN_NAME)
        return false;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(parser->token.name->text, rows[i].word) == 0)
            item->hint = rows[i].hint;
    return item->hint != NULL;
}

static text_statement *parse_statement(text_parser *parser) {
    if (text_parser_at_word(parser, TEXT_WORD_PROGRAM))
        return parse_program(parser);
    if (text_parser_at_word(parser, TEXT_WORD_FOR))
        return parse_for(parser);
    if (text_parser_at_word(parser, TEXT_WORD_IF))
        return parse_if(parser);
    if (parser->token.kind == TEXT_TOKEN_NAME && parser->token.name->id >= TEXT_WORD_COUNT)
        return parse_assignment(parser);
    base_diagnostic *item = text_parser_error(parser, "a statement");
    if (text_parser_at_word(parser, TEXT_WORD_ELSE))
        item->hint = "`else` follows the `}` of an `if`";
    else if (parser->token.kind == TEXT_TOKEN_NAME)
        item->hint = base_diagnostics_text(parser->diagnostics, "`%s` is a reserved word",
                                           parser->token.name->text);
    else if (parser->token.kind == TEXT_MARK_FLOOR_DIV)
        item->hint = "a comment starts with `#`";
    else if (parser->token.kind >= TEXT_MARK_PLUS && parser->token.kind <= TEXT_MARK_CARET)
        item->hint = "an expression that goes on in the next line stands in parentheses";
    return NULL;
}

static void parse_and_end_statement(text_parser *parser, text_block *block) {
    int before = parser->diagnostics->count;
    base_location start = parser->token.location;
    text_parser_count(parser, &parser->statements, TEXT_STATEMENT_LIMIT, "statements");
    text_statement *statement = parse_statement(parser);
    if (statement != NULL)
        push_statement(parser, block, statement);
    bool failed = statement == NULL ||
                  (statement->value != NULL && statement->value->kind == TEXT_EXPRESSION_ERROR);
    if (!failed && ends_statement(parser))
        return;
    if (parser->diagnostics->count == before) {
        base_diagnostic *item = text_parser_error(parser, "the end of the line");
        if (item->hint == NULL && !words_hint(parser, item))
            item->hint = "a statement ends at the end of its line, or goes on inside parentheses";
    }
    if (parser->token.location.line == start.line && parser->token.location.column == start.column)
        text_parser_advance(parser);
    text_parser_recover(parser);
    while (parser->token.kind == TEXT_MARK_OPEN_BRACE ||
           text_parser_at_word(parser, TEXT_WORD_ELSE)) { /* of a broken `for` or `if` */
        text_block ignored = {0};
        if (text_parser_accept_word(parser, TEXT_WORD_ELSE))
            text_parser_recover(parser);
        else
            text_parse_block(parser, &ignored);
    }
}

static void report_unclosed(text_parser *parser, base_location open) {
    base_diagnostic *item = text_parser_error(parser, "`}`");
    item->hint = base_diagnostics_text(parser->diagnostics, "the `{` at %d:%d is not closed",
                                       (int)open.line, (int)open.column);
}

void text_parse_block(text_parser *parser, text_block *block) {
    base_location open = parser->token.location;
    if (parser->token.kind != TEXT_MARK_OPEN_BRACE) {
        text_parser_error(parser, "`{` before a block")->hint = "braces stand around every block";
        return;
    }
    text_parser_advance(parser);
    if (!text_parser_enter(parser))
        return;
    text_parser_skip_newlines(parser);
    while (parser->token.kind != TEXT_MARK_CLOSE_BRACE) {
        if (parser->token.kind == TEXT_TOKEN_END || text_parser_at_word(parser, TEXT_WORD_KERNEL)) {
            report_unclosed(parser, open);
            parser->depth--;
            return;
        }
        parse_and_end_statement(parser, block);
        text_parser_skip_newlines(parser);
    }
    parser->depth--;
    text_parser_advance(parser);
}
