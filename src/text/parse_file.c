/* Parser: files, kernels and their parameters.
 *
 *     kernel f(x: in T[R, N], eps: f32 = 1e-5, B: const = 64, T: f32 | f16) { ... }
 *
 * The parameter list is read without knowing what its names mean (a type may be declared after its
 * use); signature.c resolves them.
 */
#include "text/parse_internal.h"

#include <string.h>

/* ---- the parser's state ---- */

void text_parser_advance(text_parser *parser) {
    parser->token = parser->ahead;
    parser->ahead = text_lexer_next(&parser->lexer);
}

bool text_parser_at_word(const text_parser *parser, text_word word) {
    return parser->token.kind == TEXT_TOKEN_NAME && parser->token.name->id == (int32_t)word;
}

bool text_parser_accept(text_parser *parser, text_token_kind kind) {
    if (parser->token.kind != kind)
        return false;
    text_parser_advance(parser);
    return true;
}

bool text_parser_accept_word(text_parser *parser, text_word word) {
    if (!text_parser_at_word(parser, word))
        return false;
    text_parser_advance(parser);
    return true;
}

/* What the current token is, for `found`. */
static const char *describe_token(text_parser *parser) {
    base_location at = parser->token.location;
    bool has_text =
        parser->token.kind != TEXT_TOKEN_END && parser->token.kind != TEXT_TOKEN_NEWLINE;
    if (!has_text)
        return text_token_describe(parser->token.kind);
    return base_diagnostics_text(
        parser->diagnostics, "`%.*s`%s", at.length < 60 ? (int)at.length : 60,
        parser->lexer.source->text + parser->token.offset, at.length > 60 ? "..." : "");
}

/* What is written in other languages where an operator or a statement stands. */
static const char *foreign_hint(const text_token *token) {
    static const struct {
        const char *word, *hint;
    } rows[] = {
        {"and", "write `&`, with parentheses around comparisons"},
        {"or", "write `|`, with parentheses around comparisons"},
        {"not", "write `~`"},
        {"elif", "write `else if`"},
    };
    for (size_t i = 0; token->kind == TEXT_TOKEN_NAME && i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(token->name->text, rows[i].word) == 0)
            return rows[i].hint;
    return NULL;
}

base_diagnostic *text_parser_error(text_parser *parser, const char *expected) {
    if (parser->stopped)
        return BASE_NEW(parser->arena, base_diagnostic);
    const char *found = describe_token(parser);
    base_diagnostic *item = base_diagnostics_add(parser->diagnostics, "syntax",
                                                 parser->token.location, "expected %s", expected);
    item->found = found;
    item->expected = expected;
    item->hint = foreign_hint(&parser->token);
    return item;
}

bool text_parser_expect(text_parser *parser, text_token_kind kind, const char *where) {
    if (text_parser_accept(parser, kind))
        return true;
    text_parser_error(parser, base_diagnostics_text(parser->diagnostics, "%s %s",
                                                    text_token_describe(kind), where));
    return false;
}

const text_name *text_parser_expect_name(text_parser *parser, const char *what) {
    base_dtype dtype;
    if (parser->token.kind != TEXT_TOKEN_NAME) {
        text_parser_error(parser, what);
        return NULL;
    }
    const text_name *name = parser->token.name;
    bool is_type = base_dtype_from_name(name->text, (size_t)name->length, &dtype) &&
                   dtype != BASE_INDEX && dtype != BASE_F64; /* no tensor has those */
    if (name->id < TEXT_WORD_COUNT || is_type) {
        base_diagnostics_add(parser->diagnostics, "reserved-name", parser->token.location,
                             "`%s` is a reserved word", name->text)
            ->expected = what;
        return NULL;
    }
    text_parser_advance(parser);
    return name;
}

/* What follows a limit cannot be read sensibly. */
static void stop_reading(text_parser *parser) {
    parser->stopped = true;
    parser->lexer.at = parser->lexer.source->length;
    parser->ahead = parser->token = text_lexer_next(&parser->lexer);
    parser->lexer.depth = 0;
}

void text_parser_count(text_parser *parser, int64_t *count, int64_t limit, const char *what) {
    if (++*count <= limit || parser->stopped)
        return;
    base_diagnostic *item = base_diagnostics_add(parser->diagnostics, "kernel-too-large",
                                                 parser->token.location, "the kernel is too large");
    item->expected =
        base_diagnostics_text(parser->diagnostics, "at most %lld %s", (long long)limit, what);
    stop_reading(parser);
}

bool text_parser_enter(text_parser *parser) {
    if (++parser->depth <= TEXT_DEPTH_LIMIT)
        return true;
    parser->depth--;
    base_diagnostic *item = base_diagnostics_add(parser->diagnostics, "nesting-limit",
                                                 parser->token.location, "nested too deeply");
    item->expected =
        base_diagnostics_text(parser->diagnostics, "at most %d levels", TEXT_DEPTH_LIMIT);
    stop_reading(parser);
    return false;
}

void text_parser_recover(text_parser *parser) {
    parser->lexer.depth = 0;
    while (parser->token.kind != TEXT_TOKEN_NEWLINE && parser->token.kind != TEXT_TOKEN_END &&
           parser->token.kind != TEXT_MARK_OPEN_BRACE &&
           parser->token.kind != TEXT_MARK_CLOSE_BRACE && !parser->token.starts_line)
        text_parser_advance(parser);
}

void text_parser_skip_newlines(text_parser *parser) {
    while (parser->token.kind == TEXT_TOKEN_NEWLINE)
        text_parser_advance(parser);
}

/* ---- parameters ---- */

static bool parse_dimension(text_parser *parser, text_parameter *parameter) {
    if (parameter->rank == IR_MAX_RANK) {
        base_diagnostics_add(parser->diagnostics, "rank-limit", parser->token.location,
                             "too many dimensions")
            ->expected = "at most 4";
        return false;
    }
    text_dimension *dimension = &parameter->dimensions[parameter->rank++];
    dimension->size = -1;
    dimension->location = parser->token.location;
    dimension->dynamic = text_parser_accept_word(parser, TEXT_WORD_DYNAMIC);
    dimension->formula = text_parse_expression(parser);
    return dimension->formula->kind != TEXT_EXPRESSION_ERROR;
}

static bool parse_tensor(text_parser *parser, text_parameter *parameter) {
    parameter->kind = TEXT_PARAMETER_TENSOR;
    parameter->type_location = parser->token.location;
    if (parser->token.kind != TEXT_TOKEN_NAME) {
        text_parser_error(parser, "an element type");
        return false;
    }
    parameter->type_name = parser->token.name;
    text_parser_advance(parser);
    if (!text_parser_expect(parser, TEXT_MARK_OPEN_BRACKET, "before the dimensions"))
        return false;
    while (parser->token.kind != TEXT_MARK_CLOSE_BRACKET) {
        if (!parse_dimension(parser, parameter))
            return false;
        if (!text_parser_accept(parser, TEXT_MARK_COMMA))
            break;
    }
    if (!text_parser_expect(parser, TEXT_MARK_CLOSE_BRACKET, "after the dimensions"))
        return false;
    if (parser->token.kind != TEXT_MARK_ASSIGN)
        return true;
    text_parser_error(parser, "`,` or `)`")->hint = "a tensor has no default";
    return false;
}

static bool parse_initial(text_parser *parser, text_parameter *parameter) {
    if (!text_parser_accept(parser, TEXT_MARK_ASSIGN))
        return true;
    parameter->initial = text_parse_expression(parser);
    text_expression_kind kind = parameter->initial->kind;
    if (kind == TEXT_EXPRESSION_ERROR)
        return false;
    if (kind == TEXT_EXPRESSION_INTEGER || kind == TEXT_EXPRESSION_REAL ||
        kind == TEXT_EXPRESSION_BOOL)
        return true;
    base_diagnostics_add(parser->diagnostics, "default-value", parameter->initial->location,
                         "the default of `%s` is not a literal", parameter->name->text)
        ->expected = "a number, true or false";
    parameter->initial = NULL;
    return false;
}

/* `layout = bits(3, 4, 5, 0, 1, 2)`, from the `=` on. */
static bool parse_layout_initial(text_parser *parser, text_parameter *parameter) {
    parameter->kind = TEXT_PARAMETER_LAYOUT;
    if (!text_parser_accept(parser, TEXT_MARK_ASSIGN))
        return true;
    parameter->initial = text_parse_expression(parser);
    text_expression_kind kind = parameter->initial->kind;
    if (kind == TEXT_EXPRESSION_LAYOUT || kind == TEXT_EXPRESSION_ERROR)
        return kind == TEXT_EXPRESSION_LAYOUT;
    base_diagnostics_add(parser->diagnostics, "default-value", parameter->initial->location,
                         "the default of `%s` is not a layout", parameter->name->text)
        ->expected = "a layout such as `bits(3, 4, 5, 0, 1, 2)` or `identity(1024, slots=4)`";
    return false;
}

/* `f32 | f16 | bf16` after the first name; or a scalar. */
static bool parse_scalar_or_choices(text_parser *parser, text_parameter *parameter) {
    parameter->type_location = parser->token.location;
    parameter->type_name = parser->token.name;
    text_parser_advance(parser);
    if (parser->token.kind == TEXT_MARK_OPEN_BRACKET) {
        text_parser_error(parser, "`,` or `)`")->hint = base_diagnostics_text(
            parser->diagnostics, "a tensor says how it is used: `%s: in %s[...]`, out or inout",
            parameter->name->text, parameter->type_name->text);
        return false;
    }
    if (parser->token.kind != TEXT_MARK_BAR) {
        parameter->kind = TEXT_PARAMETER_SCALAR;
        return parse_initial(parser, parameter);
    }
    parameter->kind = TEXT_PARAMETER_DTYPE;
    const text_name *name = parameter->type_name;
    base_location at = parameter->type_location;
    for (;;) {
        base_dtype dtype;
        if (!base_dtype_from_name(name->text, (size_t)name->length, &dtype) ||
            dtype == BASE_INDEX || dtype == BASE_F64) {
            base_diagnostics_add(parser->diagnostics, "unknown-type", at,
                                 "`%s` is not an element type", name->text)
                ->expected = "f32, f16, bf16, i64, i32, u32, i8, u8 or bool";
            return false;
        }
        for (int i = 0; i < parameter->choice_count; i++) {
            if (parameter->choices[i] == dtype) {
                base_diagnostics_add(parser->diagnostics, "repeated-type", at,
                                     "`%s` is listed twice", name->text);
                return false;
            }
        }
        parameter->choices[parameter->choice_count++] = dtype;
        if (!text_parser_accept(parser, TEXT_MARK_BAR))
            return true;
        if (parser->token.kind != TEXT_TOKEN_NAME) {
            text_parser_error(parser, "an element type");
            return false;
        }
        name = parser->token.name;
        at = parser->token.location;
        text_parser_advance(parser);
    }
}

static bool name_is(const text_token *token, const char *text) {
    return token->kind == TEXT_TOKEN_NAME && strcmp(token->name->text, text) == 0;
}

/* What stands after `name:`. */
static bool parse_parameter_type(text_parser *parser, text_parameter *parameter) {
    bool in = text_parser_at_word(parser, TEXT_WORD_IN);
    bool out = name_is(&parser->token, "out") && parser->ahead.kind == TEXT_TOKEN_NAME;
    bool inout = name_is(&parser->token, "inout") && parser->ahead.kind == TEXT_TOKEN_NAME;
    if (in || out || inout) {
        parameter->mode = in ? IR_IN : out ? IR_OUT : IR_INOUT;
        text_parser_advance(parser);
        return parse_tensor(parser, parameter);
    }
    if (text_parser_accept_word(parser, TEXT_WORD_CONST)) {
        parameter->kind = TEXT_PARAMETER_CONST;
        return parse_initial(parser, parameter);
    }
    if (text_parser_accept_word(parser, TEXT_WORD_LAYOUT))
        return parse_layout_initial(parser, parameter);
    if (parser->token.kind == TEXT_TOKEN_NAME)
        return parse_scalar_or_choices(parser, parameter);
    text_parser_error(parser, "in, out, inout, an element type, const or layout");
    return false;
}

/* After an error: to the next `,` or `)` of the list. */
static void recover_parameter(text_parser *parser) {
    int depth = 0;
    for (;; text_parser_advance(parser)) {
        text_token_kind kind = parser->token.kind;
        if (kind == TEXT_TOKEN_END || kind == TEXT_MARK_OPEN_BRACE || kind == TEXT_MARK_CLOSE_BRACE)
            return;
        if (depth == 0 && (kind == TEXT_MARK_COMMA || kind == TEXT_MARK_CLOSE_PARENTHESIS))
            return;
        if (kind == TEXT_MARK_OPEN_BRACKET || kind == TEXT_MARK_OPEN_PARENTHESIS)
            depth++;
        else if ((kind == TEXT_MARK_CLOSE_BRACKET || kind == TEXT_MARK_CLOSE_PARENTHESIS) &&
                 depth > 0)
            depth--;
    }
}

static void parse_parameter(text_parser *parser, text_kernel *kernel) {
    text_parameter parameter = {
        .kind = TEXT_PARAMETER_BROKEN, .location = parser->token.location, .dtype_parameter = -1};
    parameter.name = text_parser_expect_name(parser, "a parameter's name");
    bool fine = parameter.name != NULL &&
                text_parser_expect(parser, TEXT_MARK_COLON, "after a parameter's name") &&
                parse_parameter_type(parser, &parameter);
    if (fine && parser->token.kind != TEXT_MARK_COMMA &&
        parser->token.kind != TEXT_MARK_CLOSE_PARENTHESIS) {
        text_parser_error(parser, "`,` or `)` after a parameter");
        fine = false;
    }
    if (!fine) {
        parameter.kind = TEXT_PARAMETER_BROKEN;
        recover_parameter(parser);
    }
    if (parameter.name != NULL)
        BASE_PUSH(parser->arena, kernel->parameters, kernel->parameter_count,
                  kernel->parameter_capacity, parameter);
}

/* ---- kernels and files ---- */

enum { PARAMETER_LIMIT = 128, KERNEL_LIMIT = 256 };

static void parse_kernel(text_parser *parser, text_file *file) {
    int64_t before = parser->diagnostics->count + parser->diagnostics->dropped;
    text_kernel *kernel = BASE_NEW(parser->arena, text_kernel);
    kernel->file = file;
    parser->statements = parser->nodes = 0;
    text_parser_advance(parser);
    kernel->location = parser->token.location;
    kernel->name = text_parser_expect_name(parser, "the kernel's name");
    if (kernel->name == NULL ||
        !text_parser_expect(parser, TEXT_MARK_OPEN_PARENTHESIS, "before the parameters"))
        return;
    while (parser->token.kind == TEXT_TOKEN_NAME) {
        if (kernel->parameter_count == PARAMETER_LIMIT) {
            base_diagnostics_add(parser->diagnostics, "parameter-limit", parser->token.location,
                                 "too many parameters")
                ->expected = "at most 128";
            return;
        }
        parse_parameter(parser, kernel);
        if (!text_parser_accept(parser, TEXT_MARK_COMMA))
            break;
    }
    if (!text_parser_expect(parser, TEXT_MARK_CLOSE_PARENTHESIS, "after the parameters"))
        return;
    text_parser_skip_newlines(parser);
    text_signature_resolve(parser->arena, kernel, parser->diagnostics);
    text_parse_block(parser, &kernel->body);
    kernel->broken = parser->diagnostics->count + parser->diagnostics->dropped > before;
    for (int64_t i = 0; i < file->kernel_count; i++) {
        if (file->kernels[i]->name == kernel->name) {
            base_diagnostic *item =
                base_diagnostics_add(parser->diagnostics, "repeated-kernel", kernel->location,
                                     "a second kernel `%s`", kernel->name->text);
            item->hint = base_diagnostics_text(parser->diagnostics, "the first is at %d:%d",
                                               (int)file->kernels[i]->location.line,
                                               (int)file->kernels[i]->location.column);
            kernel->broken = true;
        }
    }
    BASE_PUSH(parser->arena, file->kernels, file->kernel_count, file->kernel_capacity, kernel);
}

/* To the next line that begins with `kernel`. */
static void skip_to_kernel(text_parser *parser) {
    bool line_begins = false;
    parser->lexer.depth = 0;
    while (parser->token.kind != TEXT_TOKEN_END &&
           !(line_begins && text_parser_at_word(parser, TEXT_WORD_KERNEL))) {
        line_begins = parser->token.kind == TEXT_TOKEN_NEWLINE;
        text_parser_advance(parser);
    }
}

text_file *text_file_parse(base_arena *arena, const base_source *source,
                           base_diagnostics *diagnostics) {
    text_parser *parser = BASE_NEW(arena, text_parser);
    text_file *file = BASE_NEW(arena, text_file);
    file->source = source;
    parser->arena = arena;
    parser->diagnostics = diagnostics;
    int before = diagnostics->count;
    text_lexer_init(&parser->lexer, arena, source, diagnostics);
    text_parser_advance(parser);
    text_parser_advance(parser);
    for (;;) {
        text_parser_skip_newlines(parser);
        if (parser->token.kind == TEXT_TOKEN_END)
            break;
        if (file->kernel_count == KERNEL_LIMIT) {
            base_diagnostics_add(diagnostics, "kernel-limit", parser->token.location,
                                 "too many kernels in a file")
                ->expected = "at most 256";
            break;
        }
        if (text_parser_at_word(parser, TEXT_WORD_KERNEL)) {
            parse_kernel(parser, file);
            parser->depth = 0;
            continue;
        }
        if (diagnostics->count == before || file->kernel_count > 0)
            text_parser_error(parser, "`kernel`")->hint =
                parser->token.kind == TEXT_MARK_FLOOR_DIV || parser->token.kind == TEXT_MARK_SLASH
                    ? "a comment starts with `#`"
                    : "a kernel is written `kernel name(x: in f32[N], ...) { ... }`";
        skip_to_kernel(parser);
    }
    if (file->kernel_count == 0 && diagnostics->count == before)
        base_diagnostics_add(diagnostics, "no-kernel", (base_location){source, 1, 1, 0},
                             "the file holds no kernel");
    file->name_count = parser->lexer.name_count;
    return file;
}

int text_file_count(const text_file *file) {
    return (int)file->kernel_count;
}

const text_kernel *text_file_at(const text_file *file, int index) {
    return file->kernels[index];
}

const char *text_kernel_name(const text_kernel *kernel) {
    return kernel->name->text;
}

static const char *list_kernels(const text_file *file, base_diagnostics *diagnostics) {
    base_text names;
    base_text_init(&names, diagnostics->arena);
    for (int64_t i = 0; i < file->kernel_count && i < 20; i++)
        base_text_format(&names, "%s%s", i > 0 ? ", " : "", file->kernels[i]->name->text);
    return names.bytes;
}

const text_kernel *text_file_find(const text_file *file, const char *name,
                                  base_diagnostics *diagnostics) {
    base_location at = {file->source, 0, 0, 0};
    if (name == NULL && file->kernel_count == 1)
        return file->kernels[0];
    if (file->kernel_count == 0) {
        if (diagnostics->count == 0)
            base_diagnostics_add(diagnostics, "no-kernel", at, "the file holds no kernel");
        return NULL;
    }
    if (name == NULL) {
        base_diagnostic *item =
            base_diagnostics_add(diagnostics, "which-kernel", at, "the file holds several kernels");
        item->found = list_kernels(file, diagnostics);
        item->hint = "choose one with --kernel NAME";
        return NULL;
    }
    for (int64_t i = 0; i < file->kernel_count; i++)
        if (strcmp(file->kernels[i]->name->text, name) == 0)
            return file->kernels[i];
    base_diagnostic *item =
        base_diagnostics_add(diagnostics, "unknown-kernel", at, "there is no kernel `%s`", name);
    item->expected = list_kernels(file, diagnostics);
    return NULL;
}
