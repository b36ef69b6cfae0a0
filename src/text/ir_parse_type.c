/* Reading what stands inside a line of IR text: names, numbers, size formulas, types.
 *
 *     f32<N, 64 below %d> on (N, axis.0) in private
 *     private f32(4)[(N + 31) // 32]
 */
#include "text/ir_parse_internal.h"

#include "base/checked.h"
#include "ir/print.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- reports ---- */
bool text_ir_fail(text_ir_parser *parser, const char *slug, const char *expected,
                  const char *format, ...) {
    if (parser->diagnostics->count == BASE_DIAGNOSTIC_LIMIT) {
        parser->diagnostics->dropped++;
        parser->lexer.at = parser->lexer.source->length;
        text_ir_lexer_next(&parser->lexer); /* to the end: nothing more would be shown */
        return false;
    }
    char message[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    base_diagnostic *finding = base_diagnostics_add(parser->diagnostics, slug,
                                                    parser->lexer.token.location, "%s", message);
    finding->found = text_ir_lexer_found(&parser->lexer, parser->diagnostics);
    finding->expected = expected;
    return false;
}

bool text_ir_expect(text_ir_parser *parser, const char *text) {
    if (text_ir_lexer_accept(&parser->lexer, text))
        return true;
    return text_ir_fail(parser, "ir-syntax",
                        base_diagnostics_text(parser->diagnostics, "`%s`", text),
                        "the line does not go on as IR text does");
}

char *text_ir_copy(text_ir_parser *parser, const text_ir_token *token) {
    return base_arena_copy(parser->arena, token->text, token->length);
}

/* ---- values ---- */
/* What a failed line may have defined: neither made by an op nor an argument. */
static bool is_placeholder(const ir_value *value) {
    return value->definer == NULL && value->region == NULL && value->type.form == IR_FORM_TILE;
}

bool text_ir_define(text_ir_parser *parser, const text_ir_token *token, ir_value *value) {
    int64_t known = text_ir_names_find(&parser->labels, token->text, token->length);
    if (known >= 0 && is_placeholder(parser->values[known])) {
        parser->values[known] = value;
        return true;
    }
    if (!text_ir_names_add(parser->arena, &parser->labels, token->text, token->length,
                           parser->value_count)) {
        base_diagnostics_add(parser->diagnostics, "duplicate-value", token->location,
                             "`%%%.*s` is defined twice",
                             token->length > 60 ? 60 : (int)token->length, token->text);
        return false;
    }
    BASE_PUSH(parser->arena, parser->values, parser->value_count, parser->value_capacity, value);
    return true;
}

/* The line below that defines the label of the current token; 0 when none does. Looked for only
 * when it is missed. */
static int32_t line_of_definition(const text_ir_parser *parser) {
    text_ir_lexer ahead = parser->lexer;
    const text_ir_token wanted = ahead.token;
    bool results = false; /* in `%a, %b =` */
    while (ahead.token.kind != TEXT_IR_END) {
        text_ir_token token = ahead.token;
        results = token.kind == TEXT_IR_LABEL || text_ir_lexer_is(&ahead, ",")
                      ? results || ahead.before == TEXT_IR_NEWLINE
                      : false;
        text_ir_lexer_next(&ahead);
        bool defines = text_ir_lexer_is(&ahead, "=") || text_ir_lexer_is(&ahead, ":") ||
                       (results && text_ir_lexer_is(&ahead, ","));
        if (token.kind == TEXT_IR_LABEL && token.length == wanted.length &&
            memcmp(token.text, wanted.text, wanted.length) == 0 && defines &&
            token.location.line > wanted.location.line)
            return token.location.line;
    }
    return 0;
}

bool text_ir_read_value(text_ir_parser *parser, ir_value **value) {
    const text_ir_token *token = &parser->lexer.token;
    if (token->kind != TEXT_IR_LABEL)
        return text_ir_fail(parser, "ir-syntax", "a value such as `%t`", "a value is missing");
    int64_t item = text_ir_names_find(&parser->labels, token->text, token->length);
    if (item < 0) {
        int32_t below = line_of_definition(parser);
        return text_ir_fail(parser, "unknown-value", "a value that is defined above",
                            below > 0 ? "the value is defined below, on line %d" : "no such value",
                            (int)below);
    }
    *value = parser->values[item];
    text_ir_lexer_next(&parser->lexer);
    return true;
}

/* ---- numbers ---- */
bool text_ir_read_integer(text_ir_parser *parser, int64_t least, int64_t greatest, int64_t *value) {
    text_ir_lexer start = parser->lexer;
    bool negative = text_ir_lexer_accept(&parser->lexer, "-");
    const text_ir_token *token = &parser->lexer.token;
    bool ok = token->kind == TEXT_IR_NUMBER;
    int64_t number = 0;
    for (size_t i = 0; ok && i < token->length; i++) {
        int digit = token->text[i] - '0';
        ok = digit >= 0 && digit <= 9 && base_checked_mul(number, 10, &number) &&
             (negative ? base_checked_sub(number, digit, &number)
                       : base_checked_add(number, digit, &number));
    }
    if (!ok || number < least || number > greatest) {
        parser->lexer = start;
        return text_ir_fail(parser, "ir-number",
                            base_diagnostics_text(parser->diagnostics,
                                                  "an integer from %lld to %lld", (long long)least,
                                                  (long long)greatest),
                            "not a number that may stand here");
    }
    *value = number;
    text_ir_lexer_next(&parser->lexer);
    return true;
}

static bool read_real(text_ir_parser *parser, double *value) {
    text_ir_lexer start = parser->lexer;
    bool negative = text_ir_lexer_accept(&parser->lexer, "-");
    const text_ir_token *token = &parser->lexer.token;
    bool word = text_ir_lexer_is(&parser->lexer, "inf") || text_ir_lexer_is(&parser->lexer, "nan");
    if ((token->kind != TEXT_IR_NUMBER && !word) ||
        !base_number_parse(token->text, token->length, value)) {
        parser->lexer = start;
        return text_ir_fail(parser, "ir-number", "a number, inf or nan", "not a number");
    }
    *value = negative ? -*value : *value;
    text_ir_lexer_next(&parser->lexer);
    return true;
}

bool text_ir_read_constant(text_ir_parser *parser, base_dtype dtype, ir_constant *constant) {
    *constant = (ir_constant){.dtype = dtype};
    if (base_dtype_is_float(dtype))
        return read_real(parser, &constant->real);
    if (dtype == BASE_BOOL &&
        (text_ir_lexer_is(&parser->lexer, "true") || text_ir_lexer_is(&parser->lexer, "false"))) {
        constant->integer = text_ir_lexer_is(&parser->lexer, "true") ? 1 : 0;
        text_ir_lexer_next(&parser->lexer);
        return true;
    }
    return text_ir_read_integer(parser, INT64_MIN, INT64_MAX, &constant->integer);
}

/* ---- size formulas ---- */
static bool read_sum(text_ir_parser *parser, const layout_extent **extent);

static bool join(text_ir_parser *parser, layout_extent_kind kind, const layout_extent **left,
                 const layout_extent *right) {
    *left = layout_extent_binary(&parser->module->extents, kind, *left, right);
    if (*left == NULL)
        return text_ir_fail(parser, "ir-number", "a formula of 64-bit numbers",
                            "a size formula that is too large");
    return true;
}

static bool read_call(text_ir_parser *parser, layout_extent_kind kind,
                      const layout_extent **extent) {
    const layout_extent *right = NULL;
    return text_ir_expect(parser, "(") && read_sum(parser, extent) && text_ir_expect(parser, ",") &&
           read_sum(parser, &right) && text_ir_expect(parser, ")") &&
           join(parser, kind, extent, right);
}

static bool read_symbol(text_ir_parser *parser, const layout_extent **extent) {
    const text_ir_token *token = &parser->lexer.token;
    int64_t symbol = text_ir_names_find(&parser->sizes, token->text, token->length);
    if (symbol < 0)
        return text_ir_fail(parser, "unknown-name", "a size that the kernel line lists",
                            "no such size");
    *extent = layout_extent_symbol(&parser->module->extents, symbol);
    text_ir_lexer_next(&parser->lexer);
    return true;
}

static bool read_atom(text_ir_parser *parser, const layout_extent **extent) {
    text_ir_lexer *lexer = &parser->lexer;
    text_ir_lexer start = *lexer;
    if (lexer->token.kind == TEXT_IR_WORD) {
        bool least = text_ir_lexer_is(lexer, "min"), greatest = text_ir_lexer_is(lexer, "max");
        text_ir_lexer_next(lexer);
        if ((least || greatest) && text_ir_lexer_is(lexer, "("))
            return read_call(parser, least ? LAYOUT_EXTENT_MIN : LAYOUT_EXTENT_MAX, extent);
        *lexer = start;
        return read_symbol(parser, extent);
    }
    if (text_ir_lexer_accept(lexer, "("))
        return read_sum(parser, extent) && text_ir_expect(parser, ")");
    int64_t value = 0;
    if (lexer->token.kind != TEXT_IR_NUMBER && !text_ir_lexer_is(lexer, "-"))
        return text_ir_fail(parser, "ir-syntax", "a size: a number, a name or a formula",
                            "a size is missing");
    if (!text_ir_read_integer(parser, INT64_MIN, INT64_MAX, &value))
        return false;
    *extent = layout_extent_constant(&parser->module->extents, value);
    return true;
}

static bool read_product(text_ir_parser *parser, const layout_extent **extent) {
    static const struct {
        const char *sign;
        layout_extent_kind kind;
    } signs[] = {{"*", LAYOUT_EXTENT_MUL}, {"//", LAYOUT_EXTENT_DIV}, {"%", LAYOUT_EXTENT_MOD}};
    if (!read_atom(parser, extent))
        return false;
    for (int i = 0; i < 3; i++) {
        const layout_extent *right = NULL;
        if (!text_ir_lexer_accept(&parser->lexer, signs[i].sign))
            continue;
        if (!read_atom(parser, &right) || !join(parser, signs[i].kind, extent, right))
            return false;
        i = -1;
    }
    return true;
}

static bool read_terms(text_ir_parser *parser, const layout_extent **extent) {
    if (!read_product(parser, extent))
        return false;
    for (;;) {
        const layout_extent *right = NULL;
        bool plus = text_ir_lexer_accept(&parser->lexer, "+");
        if (!plus && !text_ir_lexer_accept(&parser->lexer, "-"))
            return true;
        if (!read_product(parser, &right) ||
            !join(parser, plus ? LAYOUT_EXTENT_ADD : LAYOUT_EXTENT_SUB, extent, right))
            return false;
    }
}

static bool read_sum(text_ir_parser *parser, const layout_extent **extent) {
    if (parser->depth >= TEXT_IR_NESTING)
        return text_ir_fail(parser, "nesting", "at most 64 levels", "parentheses nest too deeply");
    parser->depth++;
    bool ok = read_terms(parser, extent);
    parser->depth--;
    return ok;
}

bool text_ir_read_extent(text_ir_parser *parser, const layout_extent **extent) {
    return read_sum(parser, extent);
}

/* ---- types ---- */
bool text_ir_read_dtype(text_ir_parser *parser, base_dtype *dtype) {
    const text_ir_token *token = &parser->lexer.token;
    if (token->kind != TEXT_IR_WORD || !base_dtype_from_name(token->text, token->length, dtype))
        return text_ir_fail(parser, "unknown-type", "an element type such as f32", "no such type");
    text_ir_lexer_next(&parser->lexer);
    return true;
}

/* The extents up to the closing sign; domains in tiles only. */
static bool read_shape(text_ir_parser *parser, const char *close, ir_type *type) {
    while (!text_ir_lexer_accept(&parser->lexer, close)) {
        if (type->rank == IR_MAX_RANK)
            return text_ir_fail(parser, "ir-rank", "at most 4 axes", "too many axes");
        if (type->rank > 0 && !text_ir_expect(parser, ","))
            return false;
        if (!text_ir_read_extent(parser, &type->extent[type->rank]))
            return false;
        if (type->form == IR_FORM_TILE && text_ir_lexer_accept(&parser->lexer, "below") &&
            !text_ir_read_value(parser, &type->domain[type->rank]))
            return false;
        type->rank++;
    }
    return true;
}

bool text_ir_read_tensor_type(text_ir_parser *parser, ir_type *type) {
    *type = (ir_type){.form = IR_FORM_TENSOR};
    return text_ir_read_dtype(parser, &type->dtype) && text_ir_expect(parser, "[") &&
           read_shape(parser, "]", type);
}

/* `(4)`, when it is there: a parenthesis with anything but a number belongs to what follows. */
static bool read_slots(text_ir_parser *parser, int *slots) {
    text_ir_lexer start = parser->lexer;
    *slots = 0;
    if (!text_ir_lexer_accept(&parser->lexer, "("))
        return true;
    if (parser->lexer.token.kind != TEXT_IR_NUMBER) {
        parser->lexer = start;
        return true;
    }
    int64_t value = 0;
    if (!text_ir_read_integer(parser, 1, 1 << 20, &value) || !text_ir_expect(parser, ")"))
        return false;
    *slots = (int)value;
    return true;
}

static bool read_private_type(text_ir_parser *parser, ir_type *type) {
    type->form = IR_FORM_PRIVATE;
    return text_ir_read_dtype(parser, &type->dtype) && read_slots(parser, &type->slots) &&
           text_ir_expect(parser, "[") && text_ir_read_extent(parser, &type->extent[0]) &&
           text_ir_expect(parser, "]");
}

static bool read_scratch_type(text_ir_parser *parser, ir_type *type) {
    type->form = IR_FORM_SCRATCH;
    type->rank = 1;
    return text_ir_read_dtype(parser, &type->dtype) && text_ir_expect(parser, "[") &&
           text_ir_read_extent(parser, &type->extent[0]) && text_ir_expect(parser, "]");
}

static bool read_token_type(text_ir_parser *parser, ir_type *type) {
    type->form = IR_FORM_TOKEN;
    for (int i = 0; i < IR_TOKEN_STATE_COUNT; i++) {
        type->state = (ir_token_state)i;
        if (text_ir_lexer_accept(&parser->lexer, ir_token_state_name(type->state)))
            return parser->lexer.token.kind != TEXT_IR_LABEL || /* its own array: scratch */
                   text_ir_read_value(parser, &type->scratch);
    }
    return text_ir_fail(parser, "unknown-name", "free, written or published",
                        "no such state of a token");
}

static bool read_type(text_ir_parser *parser, ir_type *type) {
    bool thread = parser->module->level == IR_THREAD;
    *type = (ir_type){.form = thread ? IR_FORM_UNIFORM : IR_FORM_TILE};
    if (text_ir_lexer_accept(&parser->lexer, "private"))
        return read_private_type(parser, type);
    if (text_ir_lexer_accept(&parser->lexer, "scratch"))
        return read_scratch_type(parser, type);
    if (text_ir_lexer_accept(&parser->lexer, "token"))
        return read_token_type(parser, type);
    if (text_ir_lexer_accept(&parser->lexer, "uniform")) {
        type->form = IR_FORM_UNIFORM;
        return text_ir_read_dtype(parser, &type->dtype);
    }
    if (!text_ir_read_dtype(parser, &type->dtype))
        return false;
    if (text_ir_lexer_accept(&parser->lexer, "<")) {
        type->form = IR_FORM_TILE;
        return read_shape(parser, ">", type);
    }
    if (!read_slots(parser, &type->slots))
        return false;
    if (type->slots > 0)
        type->form = IR_FORM_SLOTS;
    return true;
}

bool text_ir_read_name(text_ir_parser *parser, const text_ir_names *names, const char *noun,
                       int count, int *item) {
    const text_ir_token *token = &parser->lexer.token;
    if (token->kind != TEXT_IR_NUMBER) {
        int64_t found = token->kind == TEXT_IR_WORD
                            ? text_ir_names_find(names, token->text, token->length)
                            : -1;
        if (found < 0)
            return text_ir_fail(parser, "unknown-name",
                                base_diagnostics_text(parser->diagnostics, "the name of %s", noun),
                                "no such name");
        *item = (int)found;
        text_ir_lexer_next(&parser->lexer);
        return true;
    }
    int64_t value = 0;
    if (!text_ir_read_integer(parser, 0, count - 1, &value))
        return false;
    *item = (int)value;
    return true;
}

bool text_ir_read_axis_name(text_ir_parser *parser, int *axis) {
    *axis = -1;
    return text_ir_lexer_accept(&parser->lexer, "-") ||
           text_ir_read_name(parser, &parser->axes, "an axis", parser->module->axis_count, axis);
}

static bool read_layout(text_ir_parser *parser, const ir_type *type, ir_value_layout *layout) {
    if (!text_ir_expect(parser, "("))
        return false;
    for (int i = 0; i < type->rank; i++) {
        if (i > 0 && !text_ir_expect(parser, ","))
            return false;
        if (!text_ir_read_axis_name(parser, &layout->axis[i]))
            return false;
    }
    return text_ir_expect(parser, ")");
}

static bool read_storage(text_ir_parser *parser, ir_storage *storage) {
    for (int i = IR_STORAGE_NONE; i <= IR_STORAGE_RECOMPUTE; i++) {
        if (text_ir_lexer_accept(&parser->lexer, ir_storage_name((ir_storage)i))) {
            *storage = (ir_storage)i;
            return true;
        }
    }
    return text_ir_fail(parser, "unknown-name", "registers, private, reload or recompute",
                        "no such storage");
}

bool text_ir_read_scope(text_ir_parser *parser, ir_scope *scope) {
    for (int i = IR_SCOPE_LANE; i < IR_SCOPE_COUNT; i++) {
        *scope = (ir_scope)i;
        if (text_ir_lexer_accept(&parser->lexer, ir_scope_name(*scope)))
            return true;
    }
    return text_ir_fail(parser, "unknown-name", "lane, program, subgroup, group, cluster or grid",
                        "no such scope");
}

static bool read_range(text_ir_parser *parser, text_ir_declaration *declaration) {
    return text_ir_expect(parser, "[") &&
           text_ir_read_integer(parser, INT64_MIN, INT64_MAX, &declaration->low) &&
           text_ir_expect(parser, ",") &&
           text_ir_read_integer(parser, INT64_MIN, INT64_MAX, &declaration->high) &&
           text_ir_expect(parser, "]");
}

bool text_ir_read_declaration(text_ir_parser *parser, text_ir_declaration *declaration) {
    *declaration = (text_ir_declaration){0};
    for (int i = 0; i < IR_MAX_RANK; i++)
        declaration->layout.axis[i] = -1;
    if (!read_type(parser, &declaration->type))
        return false;
    if (text_ir_lexer_accept(&parser->lexer, "on") &&
        !read_layout(parser, &declaration->type, &declaration->layout))
        return false;
    if (text_ir_lexer_accept(&parser->lexer, "in") && !read_storage(parser, &declaration->storage))
        return false;
    if (text_ir_lexer_accept(&parser->lexer, "uniform") &&
        !text_ir_read_scope(parser, &declaration->scope))
        return false;
    declaration->ranged = text_ir_lexer_accept(&parser->lexer, "range");
    return !declaration->ranged || read_range(parser, declaration);
}

/* ---- locations ---- */
bool text_ir_read_location(text_ir_parser *parser, base_location *location) {
    int64_t line = 0, column = 0, length = 0;
    if (!text_ir_lexer_accept(&parser->lexer, "@"))
        return true;
    if (!text_ir_read_integer(parser, 1, INT32_MAX, &line) || !text_ir_expect(parser, ":") ||
        !text_ir_read_integer(parser, 0, INT32_MAX, &column) || !text_ir_expect(parser, "+") ||
        !text_ir_read_integer(parser, 0, INT32_MAX, &length))
        return false;
    if (parser->in_place)
        return true;
    *location = (base_location){.source = parser->module->source,
                                .line = (int32_t)line,
                                .column = (int32_t)column,
                                .length = (int32_t)length};
    return true;
}
