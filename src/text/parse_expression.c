/* Parser: expressions, by precedence climbing.
 *
 *     a + b * c        ADD(a, MUL(b, c))
 *     x[k : +64]       INDEX(x; range from k, length 64)
 *
 * Loosest to tightest: comparisons (which do not chain) | ^ & shifts + - * / // % unary - ~ calls
 * and indexing, as in Python. Trees have a bounded height, so that whoever reads them may recurse.
 */
#include "text/parse_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { PRECEDENCE_COMPARE = 1 };

static const struct {
    text_token_kind token;
    text_operator operation;
    int precedence;
} binary_rows[] = {
    {TEXT_MARK_LESS, TEXT_OPERATOR_LT, PRECEDENCE_COMPARE},
    {TEXT_MARK_LESS_EQUAL, TEXT_OPERATOR_LE, PRECEDENCE_COMPARE},
    {TEXT_MARK_GREATER, TEXT_OPERATOR_GT, PRECEDENCE_COMPARE},
    {TEXT_MARK_GREATER_EQUAL, TEXT_OPERATOR_GE, PRECEDENCE_COMPARE},
    {TEXT_MARK_EQUAL, TEXT_OPERATOR_EQ, PRECEDENCE_COMPARE},
    {TEXT_MARK_NOT_EQUAL, TEXT_OPERATOR_NE, PRECEDENCE_COMPARE},
    {TEXT_MARK_BAR, TEXT_OPERATOR_OR, 2},
    {TEXT_MARK_CARET, TEXT_OPERATOR_XOR, 3},
    {TEXT_MARK_AMPERSAND, TEXT_OPERATOR_AND, 4},
    {TEXT_MARK_SHIFT_LEFT, TEXT_OPERATOR_SHL, 5},
    {TEXT_MARK_SHIFT_RIGHT, TEXT_OPERATOR_SHR, 5},
    {TEXT_MARK_PLUS, TEXT_OPERATOR_ADD, 6},
    {TEXT_MARK_MINUS, TEXT_OPERATOR_SUB, 6},
    {TEXT_MARK_STAR, TEXT_OPERATOR_MUL, 7},
    {TEXT_MARK_SLASH, TEXT_OPERATOR_DIV, 7},
    {TEXT_MARK_FLOOR_DIV, TEXT_OPERATOR_FLOOR_DIV, 7},
    {TEXT_MARK_PERCENT, TEXT_OPERATOR_FLOOR_MOD, 7},
};
enum { BINARY_ROWS = sizeof binary_rows / sizeof binary_rows[0] };

static text_expression *parse_binary(text_parser *parser, int lowest);

const char *text_operator_spelling(text_operator operation) {
    static const char *const spellings[] = {
#define X(id, spelling, opcode) spelling,
        TEXT_OPERATORS(X)
#undef X
    };
    return spellings[operation];
}

ir_opcode text_operator_opcode(text_operator operation) {
    static const ir_opcode opcodes[] = {
#define X(id, spelling, opcode) opcode,
        TEXT_OPERATORS(X)
#undef X
    };
    return opcodes[operation];
}

static text_expression *make(text_parser *parser, text_expression_kind kind, base_location at) {
    text_expression *node = BASE_NEW(parser->arena, text_expression);
    text_parser_count(parser, &parser->nodes, TEXT_NODE_LIMIT, "names, literals and operations");
    node->kind = kind;
    node->location = at;
    node->height = 1;
    return node;
}

static text_expression *reported_expression(text_parser *parser, base_location at) {
    return make(parser, TEXT_EXPRESSION_ERROR, at);
}

/* Raises the height of `node` above that of its part; an ERROR node past the limit. */
static text_expression *grow_over(text_parser *parser, text_expression *node,
                                  const text_expression *part) {
    if (part == NULL || node->height > part->height)
        return node;
    node->height = part->height + 1;
    if (node->height <= TEXT_HEIGHT_LIMIT)
        return node;
    base_diagnostic *item = base_diagnostics_add(parser->diagnostics, "nesting-limit",
                                                 node->location, "the expression is too long");
    item->expected = base_diagnostics_text(parser->diagnostics, "at most %d operations in a chain",
                                           TEXT_HEIGHT_LIMIT);
    item->hint = "name a part of it on a line of its own";
    return reported_expression(parser, node->location);
}

/* ---- calls and indexing ---- */

static bool at_keyword_argument(const text_parser *parser) {
    return parser->token.kind == TEXT_TOKEN_NAME && parser->ahead.kind == TEXT_MARK_ASSIGN;
}

static text_expression *parse_call(text_parser *parser, text_expression *callee) {
    text_expression *call = make(parser, TEXT_EXPRESSION_CALL, callee->location);
    call->name = callee->name;
    int64_t count = 0;
    int64_t capacity = 0;
    text_call_argument *arguments = NULL;
    if (!text_parser_enter(parser))
        return reported_expression(parser, callee->location);
    while (parser->token.kind != TEXT_MARK_CLOSE_PARENTHESIS) {
        text_call_argument argument = {.location = parser->token.location};
        if (at_keyword_argument(parser)) {
            argument.keyword = parser->token.name;
            text_parser_advance(parser);
            text_parser_advance(parser);
        }
        argument.value = text_parse_expression(parser);
        call = grow_over(parser, call, argument.value);
        if (argument.value->kind == TEXT_EXPRESSION_ERROR || call->kind == TEXT_EXPRESSION_ERROR) {
            parser->depth--;
            return reported_expression(parser, callee->location);
        }
        BASE_PUSH(parser->arena, arguments, count, capacity, argument);
        if (!text_parser_accept(parser, TEXT_MARK_COMMA))
            break;
    }
    parser->depth--;
    if (!text_parser_expect(parser, TEXT_MARK_CLOSE_PARENTHESIS, "after the arguments"))
        return reported_expression(parser, callee->location);
    call->arguments = arguments;
    call->count = (int32_t)count;
    return call;
}

static bool at_item_end(const text_parser *parser) {
    return parser->token.kind == TEXT_MARK_COMMA || parser->token.kind == TEXT_MARK_CLOSE_BRACKET;
}

/* One index; false when reported. */
static bool parse_item(text_parser *parser, text_index_item *item) {
    item->location = parser->token.location;
    if (text_parser_accept_word(parser, TEXT_WORD_NONE)) {
        item->kind = TEXT_ITEM_NONE;
        return true;
    }
    if (parser->token.kind != TEXT_MARK_COLON)
        item->first = text_parse_expression(parser);
    if (item->first != NULL && item->first->kind == TEXT_EXPRESSION_ERROR)
        return false;
    if (parser->token.kind != TEXT_MARK_COLON)
        return true;
    item->kind = TEXT_ITEM_RANGE;
    if (item->first == NULL)
        item->location = parser->token.location;
    text_parser_advance(parser);
    if (at_item_end(parser))
        return true;
    bool length = text_parser_accept(parser, TEXT_MARK_PLUS);
    text_expression *end = text_parse_expression(parser);
    *(length ? &item->length : &item->last) = end;
    if (end->kind == TEXT_EXPRESSION_ERROR)
        return false;
    if (parser->token.kind == TEXT_MARK_COLON) {
        text_parser_error(parser, "`,` or `]`")->hint =
            "ranges have no step: use an index tile such as `arange(n) * 2`";
        return false;
    }
    return true;
}

/* `fill=v` or `unique` into the index; true when it was one of them. *failed: reported. */
static bool parse_modifier(text_parser *parser, text_expression *index, bool *failed) {
    if (parser->token.kind != TEXT_TOKEN_NAME)
        return false;
    if (text_parser_accept_word(parser, TEXT_WORD_UNIQUE)) {
        index->unique = true;
        return true;
    }
    if (!at_keyword_argument(parser))
        return false;
    const text_name *name = parser->token.name;
    base_location at = parser->token.location;
    text_parser_advance(parser);
    text_parser_advance(parser);
    index->right = text_parse_expression(parser);
    *failed = index->right->kind == TEXT_EXPRESSION_ERROR;
    if (strcmp(name->text, "fill") == 0 || *failed)
        return true;
    base_diagnostic *item = base_diagnostics_add(parser->diagnostics, "unknown-keyword", at,
                                                 "an index has no keyword `%s`", name->text);
    item->expected = "`fill=value` or `unique`";
    *failed = true;
    return true;
}

static text_expression *parse_index(text_parser *parser, text_expression *base) {
    text_expression *index = make(parser, TEXT_EXPRESSION_INDEX, base->location);
    index->left = base;
    index = grow_over(parser, index, base);
    int64_t count = 0;
    int64_t capacity = 0;
    text_index_item *items = NULL;
    bool failed = index->kind == TEXT_EXPRESSION_ERROR || !text_parser_enter(parser);
    if (failed)
        return reported_expression(parser, base->location);
    while (!failed && parser->token.kind != TEXT_MARK_CLOSE_BRACKET) {
        if (!parse_modifier(parser, index, &failed)) {
            text_index_item item = {.kind = TEXT_ITEM_VALUE};
            failed = !parse_item(parser, &item);
            BASE_PUSH(parser->arena, items, count, capacity, item);
            const text_expression *parts[] = {item.first, item.last, item.length};
            for (int i = 0; i < 3 && index->kind != TEXT_EXPRESSION_ERROR; i++)
                index = grow_over(parser, index, parts[i]);
        }
        failed = failed || index->kind == TEXT_EXPRESSION_ERROR;
        if (failed || !text_parser_accept(parser, TEXT_MARK_COMMA))
            break;
    }
    parser->depth--;
    if (failed || !text_parser_expect(parser, TEXT_MARK_CLOSE_BRACKET, "after the indices"))
        return reported_expression(parser, base->location);
    index->items = items;
    index->count = (int32_t)count;
    return grow_over(parser, index, index->right);
}

static text_expression *parse_postfix(text_parser *parser, text_expression *node) {
    while (node->kind != TEXT_EXPRESSION_ERROR) {
        if (parser->token.kind == TEXT_MARK_OPEN_BRACKET) {
            text_parser_advance(parser);
            node = parse_index(parser, node);
        } else if (parser->token.kind == TEXT_MARK_OPEN_PARENTHESIS &&
                   node->kind == TEXT_EXPRESSION_NAME && !node->parenthesised) {
            text_parser_advance(parser);
            node = parse_call(parser, node);
        } else {
            break;
        }
    }
    return node;
}

/* ---- primaries ---- */

static text_expression *parse_word(text_parser *parser) {
    base_location at = parser->token.location;
    text_expression *node;
    if (text_parser_at_word(parser, TEXT_WORD_TRUE) ||
        text_parser_at_word(parser, TEXT_WORD_FALSE)) {
        node = make(parser, TEXT_EXPRESSION_BOOL, at);
        node->boolean = text_parser_at_word(parser, TEXT_WORD_TRUE);
    } else if (text_parser_at_word(parser, TEXT_WORD_INF) ||
               text_parser_at_word(parser, TEXT_WORD_NAN)) {
        node = make(parser, TEXT_EXPRESSION_REAL, at);
        node->real = text_parser_at_word(parser, TEXT_WORD_INF) ? (double)INFINITY : (double)NAN;
    } else if (parser->token.name->id < TEXT_WORD_COUNT) {
        base_diagnostic *item = text_parser_error(parser, "a value");
        if (text_parser_at_word(parser, TEXT_WORD_IF))
            item->hint = "write `where(condition, a, b)`";
        else if (text_parser_at_word(parser, TEXT_WORD_NONE))
            item->hint = "`None` adds an axis inside an index: `t[:, None]`";
        return reported_expression(parser, at);
    } else {
        node = make(parser, TEXT_EXPRESSION_NAME, at);
        node->name = parser->token.name;
    }
    text_parser_advance(parser);
    return node;
}

static text_expression *integer_node(text_parser *parser, bool negative) {
    text_expression *node = make(parser, TEXT_EXPRESSION_INTEGER, parser->token.location);
    uint64_t magnitude = parser->token.integer;
    if (!negative && magnitude > INT64_MAX) {
        base_diagnostic *item = base_diagnostics_add(parser->diagnostics, "literal-range",
                                                     node->location, "the integer is too large");
        item->found = base_diagnostics_text(parser->diagnostics, "%" PRIu64, magnitude);
        item->expected = "at most 9223372036854775807";
        item->hint = "a number with a point, such as 1e20, is a float";
        magnitude = 0;
    }
    node->integer = (int64_t)(negative ? 0 - magnitude : magnitude);
    text_parser_advance(parser);
    return node;
}

/* ---- layouts ---- */

static bool at_layout(const text_parser *parser) {
    return parser->token.kind == TEXT_TOKEN_NAME &&
           parser->ahead.kind == TEXT_MARK_OPEN_PARENTHESIS &&
           text_layout_is_form(parser->token.name);
}

/* A layout has words and signs of its own: it is taken as it is written, up to its `)`. */
static text_expression *parse_layout(text_parser *parser) {
    text_expression *node = make(parser, TEXT_EXPRESSION_LAYOUT, parser->token.location);
    text_lexer *lexer = &parser->lexer;
    size_t start = parser->token.offset;
    node->layout = lexer->source->text + start;
    for (int depth = 1; depth > 0; lexer->at++) {
        char c = lexer->at < lexer->source->length ? lexer->source->text[lexer->at] : '\0';
        if (c == '\0' || c == '{' || c == '}' || c == '#') {
            text_parser_error(parser, "a layout that ends with `)`");
            lexer->depth--;
            text_parser_advance(parser);
            text_parser_advance(parser);
            return reported_expression(parser, node->location);
        }
        depth += c == '(' ? 1 : c == ')' ? -1 : 0;
        if (c == '\n') {
            lexer->line++;
            lexer->line_start = lexer->at + 1;
        }
    }
    lexer->depth--;
    node->count = (int32_t)(lexer->at - start);
    if (lexer->line == node->location.line)
        node->location.length = node->count;
    text_parser_advance(parser);
    text_parser_advance(parser);
    return node;
}

static text_expression *parse_primary(text_parser *parser) {
    base_location at = parser->token.location;
    text_expression *node;
    if (at_layout(parser))
        return parse_layout(parser);
    switch ((int)parser->token.kind) {
    case TEXT_TOKEN_INTEGER:
        node = integer_node(parser, false);
        break;
    case TEXT_TOKEN_REAL:
        node = make(parser, TEXT_EXPRESSION_REAL, at);
        node->real = parser->token.real;
        text_parser_advance(parser);
        break;
    case TEXT_TOKEN_NAME:
        node = parse_word(parser);
        break;
    case TEXT_MARK_OPEN_PARENTHESIS:
        text_parser_advance(parser);
        if (!text_parser_enter(parser))
            return reported_expression(parser, at);
        node = text_parse_expression(parser);
        parser->depth--;
        if (node->kind == TEXT_EXPRESSION_ERROR)
            return node;
        node->parenthesised = true;
        if (parser->token.kind == TEXT_MARK_COMMA) {
            text_parser_error(parser, "`)`")->hint =
                "there are no tuples; layouts in a kernel begin with bits, identity, "
                "blocked_cyclic, digits or gf2";
            return reported_expression(parser, at);
        }
        if (!text_parser_expect(parser, TEXT_MARK_CLOSE_PARENTHESIS, "after the expression"))
            return reported_expression(parser, at);
        break;
    case TEXT_MARK_PLUS:
        text_parser_error(parser, "a value")->hint = "there is no unary `+`";
        return reported_expression(parser, at);
    default:
        text_parser_error(parser, "a value");
        return reported_expression(parser, at);
    }
    return parse_postfix(parser, node);
}

static text_expression *parse_unary(text_parser *parser) {
    base_location at = parser->token.location;
    bool minus = parser->token.kind == TEXT_MARK_MINUS;
    if (!minus && parser->token.kind != TEXT_MARK_TILDE)
        return parse_primary(parser);
    text_parser_advance(parser);
    if (minus && parser->token.kind == TEXT_TOKEN_INTEGER) {
        text_expression *node = integer_node(parser, true);
        node->location.column = at.column;
        node->location.line = at.line;
        node->location.length += node->location.line == at.line ? 1 : 0;
        return node;
    }
    if (!text_parser_enter(parser))
        return reported_expression(parser, at);
    text_expression *operand = parse_unary(parser);
    parser->depth--;
    if (operand->kind == TEXT_EXPRESSION_ERROR)
        return operand;
    if (minus && operand->kind == TEXT_EXPRESSION_REAL && !operand->parenthesised) {
        operand->real = -operand->real;
        return operand;
    }
    text_expression *node = make(parser, TEXT_EXPRESSION_UNARY, at);
    node->operation = minus ? TEXT_OPERATOR_NEG : TEXT_OPERATOR_NOT;
    node->left = operand;
    return grow_over(parser, node, operand);
}

/* ---- operators ---- */

static int find_binary(const text_parser *parser) {
    for (int i = 0; i < BINARY_ROWS; i++)
        if (binary_rows[i].token == parser->token.kind)
            return i;
    return -1;
}

static text_expression *reject_chain(text_parser *parser) {
    base_location at = parser->token.location;
    base_diagnostic *item = base_diagnostics_add(parser->diagnostics, "comparison-chain", at,
                                                 "comparisons do not chain");
    item->hint = "write `(a < b) & (b < c)`; `&`, `|` and `^` bind tighter than comparisons";
    return reported_expression(parser, at);
}

static text_expression *parse_binary(text_parser *parser, int lowest) {
    text_expression *left = parse_unary(parser);
    for (int row = find_binary(parser); row >= 0 && binary_rows[row].precedence >= lowest;
         row = find_binary(parser)) {
        if (left->kind == TEXT_EXPRESSION_ERROR)
            return left;
        base_location at = parser->token.location;
        int precedence = binary_rows[row].precedence;
        if (precedence == PRECEDENCE_COMPARE && left->kind == TEXT_EXPRESSION_BINARY &&
            !left->parenthesised && left->operation >= TEXT_OPERATOR_LT &&
            left->operation <= TEXT_OPERATOR_NE)
            return reject_chain(parser);
        text_parser_advance(parser);
        text_expression *right = parse_binary(parser, precedence + 1);
        if (right->kind == TEXT_EXPRESSION_ERROR)
            return right;
        text_expression *node = make(parser, TEXT_EXPRESSION_BINARY, at);
        node->operation = binary_rows[row].operation;
        node->left = left;
        node->right = right;
        left = grow_over(parser, node, left);
        if (left->kind != TEXT_EXPRESSION_ERROR)
            left = grow_over(parser, left, right);
    }
    return left;
}

text_expression *text_parse_expression(text_parser *parser) {
    return parse_binary(parser, PRECEDENCE_COMPARE);
}
