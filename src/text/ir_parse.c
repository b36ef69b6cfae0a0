/* Reading a module: the kernel line, the lines of its head, the body.
 *
 *     kernel @sum[R, N = 4096](%x: in f32[R, N], %y: out f32[R], eps: f32 = 1e-05) level mapped
 *       source "sum.croft"
 *       program row: R step 4
 *       check x[1] == N // 2
 *       condition x aligned 16
 *       team 8
 *       machine "cpu-avx2"
 *       plan 5d1e8c0a91b2f733
 *       axis N extent N digits lane 8 | slot 4 | step *
 *       axis row program row extent R digits group *
 *       groups R
 *     {
 *       ...
 *     }
 *
 * Values are numbered as they come, which is the order of the printer. A fault in the kernel line
 * ends the reading, since everything below would be unknown; one in any other line ends that line.
 */
#include "text/ir_parse.h"

#include "text/ir_parse_internal.h"

#include <string.h>

/* In passing, `%name:` binds names that the failed line would have: they are no second finding. */
bool text_ir_skip_line(text_ir_parser *parser) {
    text_ir_lexer *lexer = &parser->lexer;
    while (lexer->token.kind != TEXT_IR_NEWLINE && lexer->token.kind != TEXT_IR_END) {
        text_ir_token token = lexer->token;
        text_ir_lexer_next(lexer);
        if (token.kind == TEXT_IR_LABEL && text_ir_lexer_is(lexer, ":") &&
            text_ir_names_find(&parser->labels, token.text, token.length) < 0)
            text_ir_define(parser, &token,
                           ir_value_create(parser->module, ir_type_scalar(BASE_F32), NULL));
    }
    return lexer->before == TEXT_IR_SIGN && lexer->before_sign == '{';
}

static bool read_word(text_ir_parser *parser, const char *noun, text_ir_token *word) {
    *word = parser->lexer.token;
    if (word->kind != TEXT_IR_WORD)
        return text_ir_fail(parser, "ir-syntax", noun, "a name is missing");
    text_ir_lexer_next(&parser->lexer);
    return true;
}

static bool add_name(text_ir_parser *parser, text_ir_names *names, const text_ir_token *word,
                     int64_t item) {
    if (text_ir_names_add(parser->arena, names, word->text, word->length, item))
        return true;
    return text_ir_fail(parser, "duplicate-name", "a name of its own", "`%.*s` is there already",
                        word->length > 60 ? 60 : (int)word->length, word->text);
}

/* ---- the kernel line ---- */
static bool read_size(text_ir_parser *parser) {
    text_ir_token word;
    if (!read_word(parser, "the name of a size", &word))
        return false;
    int64_t symbol = layout_extents_declare(&parser->module->extents, text_ir_copy(parser, &word));
    if (!add_name(parser, &parser->sizes, &word, symbol))
        return false;
    if (!text_ir_lexer_accept(&parser->lexer, "="))
        return true;
    layout_symbol *made = &parser->module->extents.symbols[symbol];
    made->known = true;
    return text_ir_read_integer(parser, INT64_MIN, INT64_MAX, &made->value);
}

static bool read_sizes(text_ir_parser *parser) {
    if (!text_ir_lexer_accept(&parser->lexer, "["))
        return true;
    do {
        if (!read_size(parser))
            return false;
    } while (text_ir_lexer_accept(&parser->lexer, ","));
    return text_ir_expect(parser, "]");
}

static bool read_tensor(text_ir_parser *parser, ir_parameter *parameter, text_ir_token *label) {
    static const char *const modes[] = {[IR_IN] = "in", [IR_OUT] = "out", [IR_INOUT] = "inout"};
    ir_type type = {0};
    bool found = false;
    text_ir_lexer_next(&parser->lexer);
    if (!text_ir_expect(parser, ":"))
        return false;
    for (int i = 0; i < 3 && !found; i++) {
        found = text_ir_lexer_accept(&parser->lexer, modes[i]);
        parameter->mode = (ir_access_mode)i;
    }
    if (!found)
        return text_ir_fail(parser, "ir-syntax", "in, out or inout", "a tensor without a mode");
    if (!text_ir_read_tensor_type(parser, &type))
        return false;
    const char *dot = memchr(label->text, '.', label->length);
    label->length = dot == NULL ? label->length : (size_t)(dot - label->text);
    parameter->is_tensor = true;
    parameter->name = text_ir_copy(parser, label);
    parameter->dtype = type.dtype;
    parameter->value = ir_value_create(parser->module, type, parameter->name);
    return true;
}

static bool read_scalar(text_ir_parser *parser, ir_parameter *parameter) {
    text_ir_token word;
    if (!read_word(parser, "a parameter: `%x: in f32[N]` or `eps: f32`", &word) ||
        !text_ir_expect(parser, ":") || !text_ir_read_dtype(parser, &parameter->dtype))
        return false;
    parameter->name = text_ir_copy(parser, &word);
    parameter->has_default = text_ir_lexer_accept(&parser->lexer, "=");
    return !parameter->has_default ||
           text_ir_read_constant(parser, parameter->dtype, &parameter->initial);
}

static bool read_parameters(text_ir_parser *parser) {
    ir_module *module = parser->module;
    int64_t count = 0, capacity = 0;
    if (!text_ir_expect(parser, "("))
        return false;
    while (!text_ir_lexer_accept(&parser->lexer, ")")) {
        ir_parameter parameter = {.initial.dtype = BASE_F32};
        if (count > 0 && !text_ir_expect(parser, ","))
            return false;
        text_ir_token token = parser->lexer.token, name = token;
        bool tensor = token.kind == TEXT_IR_LABEL;
        if (!(tensor ? read_tensor(parser, &parameter, &name) : read_scalar(parser, &parameter)) ||
            !add_name(parser, &parser->parameters, &name, count) ||
            (tensor && !text_ir_define(parser, &token, parameter.value)))
            return false;
        if (!text_ir_read_location(parser, &parameter.location))
            return false;
        BASE_PUSH(parser->arena, module->parameters, count, capacity, parameter);
        module->parameter_count = (int)count;
    }
    return true;
}

static bool read_level(text_ir_parser *parser) {
    if (!text_ir_expect(parser, "level"))
        return false;
    for (int i = IR_TILE; i <= IR_THREAD; i++) {
        if (text_ir_lexer_accept(&parser->lexer, ir_level_name((ir_level)i))) {
            parser->module->level = (ir_level)i;
            return true;
        }
    }
    return text_ir_fail(parser, "unknown-name", "tile, mapped or thread", "no such level");
}

static bool read_kernel_line(text_ir_parser *parser) {
    while (parser->lexer.token.kind == TEXT_IR_NEWLINE)
        text_ir_lexer_next(&parser->lexer);
    text_ir_token name;
    if (!text_ir_expect(parser, "kernel") || !text_ir_expect(parser, "@") ||
        !read_word(parser, "the name of the kernel", &name))
        return false;
    parser->module->name = text_ir_copy(parser, &name);
    return read_sizes(parser) && read_parameters(parser) && read_level(parser);
}

/* ---- the lines of the head ---- */
static bool read_string(text_ir_parser *parser, char **text) {
    const text_ir_token *token = &parser->lexer.token;
    if (token->kind != TEXT_IR_STRING)
        return text_ir_fail(parser, "ir-syntax", "a text in quotes", "a text is missing");
    char *out = base_arena_alloc(parser->arena, token->length + 1);
    size_t length = 0;
    for (size_t i = 0; i < token->length; i++) {
        char c = token->text[i];
        if (c == '\\' && i + 3 < token->length && token->text[i + 1] == 'x' &&
            text_ir_hex_value(token->text[i + 2]) >= 0 &&
            text_ir_hex_value(token->text[i + 3]) >= 0) {
            c = (char)(text_ir_hex_value(token->text[i + 2]) * 16 +
                       text_ir_hex_value(token->text[i + 3]));
            i += 3;
        } else if (c == '\\' && i + 1 < token->length) {
            c = token->text[++i];
        }
        if (c != '\0')
            out[length++] = c;
    }
    *text = out;
    text_ir_lexer_next(&parser->lexer);
    return true;
}

static bool read_source(text_ir_parser *parser) {
    char *name = NULL;
    if (parser->in_place)
        return text_ir_lexer_accept(&parser->lexer, "none") || read_string(parser, &name);
    parser->module->source = NULL;
    if (!text_ir_lexer_accept(&parser->lexer, "none")) {
        if (!read_string(parser, &name))
            return false;
        base_source *source = BASE_NEW(parser->arena, base_source);
        *source = (base_source){.name = name, .text = ""};
        parser->module->source = source;
    }
    for (int i = 0; i < parser->module->parameter_count; i++)
        if (parser->module->parameters[i].location.line != 0)
            parser->module->parameters[i].location.source = parser->module->source;
    parser->located = true;
    return true;
}

static bool read_program(text_ir_parser *parser) {
    ir_module *module = parser->module;
    ir_program program = {.step = 1};
    text_ir_token word;
    if (module->program_count == IR_MAX_PROGRAMS)
        return text_ir_fail(parser, "ir-rank", "at most 4 program axes", "too many program axes");
    if (!read_word(parser, "the name of the program axis", &word) || !text_ir_expect(parser, ":") ||
        !text_ir_read_extent(parser, &program.extent) ||
        (text_ir_lexer_accept(&parser->lexer, "step") &&
         !text_ir_read_integer(parser, INT64_MIN, INT64_MAX, &program.step)) ||
        !add_name(parser, &parser->programs, &word, module->program_count))
        return false;
    program.name = text_ir_copy(parser, &word);
    module->programs[module->program_count++] = program;
    return true;
}

static bool read_check(text_ir_parser *parser) {
    ir_module *module = parser->module;
    ir_shape_check check = {0};
    int64_t dimension = 0;
    if (!text_ir_read_name(parser, &parser->parameters, "a parameter", module->parameter_count,
                           &check.parameter) ||
        !text_ir_expect(parser, "[") ||
        !text_ir_read_integer(parser, 0, IR_MAX_RANK - 1, &dimension) ||
        !text_ir_expect(parser, "]") || !text_ir_expect(parser, "==") ||
        !text_ir_read_extent(parser, &check.expected))
        return false;
    check.dimension = (int)dimension;
    BASE_PUSH(parser->arena, module->checks, module->check_count, module->check_capacity, check);
    return true;
}

/* `x aligned 16`, `N % 4 == 0`: a row of layout/conditions.def. */
static bool read_condition(text_ir_parser *parser) {
    ir_module *module = parser->module;
    text_ir_lexer *lexer = &parser->lexer;
    text_ir_token word;
    layout_condition condition = {0};
    int64_t amount = 0, zero = 0;
    if (!read_word(parser, "a tensor or a size", &word))
        return false;
    for (int k = 0; k < LAYOUT_CONDITION_COUNT; k++) {
        const layout_condition_info *info = layout_condition_describe((layout_condition_kind)k);
        if (!text_ir_lexer_accept(lexer, info->word))
            continue;
        const text_ir_names *names =
            info->subject == LAYOUT_CONDITION_SIZE ? &parser->sizes : &parser->parameters;
        int64_t subject = text_ir_names_find(names, word.text, word.length);
        if (subject < 0)
            return text_ir_fail(parser, "unknown-name", info->doc, "no such tensor or size");
        if (!text_ir_read_integer(parser, INT64_MIN, INT64_MAX, &amount) ||
            (info->tail[0] != '\0' &&
             (!text_ir_expect(parser, "==") || !text_ir_read_integer(parser, 0, 0, &zero))))
            return false;
        condition = (layout_condition){(layout_condition_kind)k, (int)subject, amount};
        BASE_PUSH(parser->arena, module->conditions, module->condition_count,
                  module->condition_capacity, condition);
        return true;
    }
    return text_ir_fail(parser, "ir-syntax", "`x aligned 16` or `N % 4 == 0`", "not a condition");
}

bool text_ir_read_digits(text_ir_parser *parser, layout_axis *digits) {
    size_t used = 0;
    const char *reason = NULL;
    const char *start = parser->lexer.token.text;
    bool ok = layout_axis_parse(start, text_ir_lexer_rest(&parser->lexer), digits, &used, &reason);
    text_ir_lexer_skip(&parser->lexer, used);
    return ok || text_ir_fail(parser, "ir-digits", NULL, "%s", reason);
}

static bool read_axis(text_ir_parser *parser, int64_t *capacity) {
    ir_module *module = parser->module;
    ir_axis axis = {0};
    text_ir_token word = parser->lexer.token;
    if (!text_ir_lexer_accept(&parser->lexer, "-")) {
        if (!read_word(parser, "the anchor of an axis", &word))
            return false;
        axis.anchor = text_ir_copy(parser, &word);
    }
    if (text_ir_lexer_accept(&parser->lexer, "program")) {
        axis.is_program = true;
        if (!text_ir_read_name(parser, &parser->programs, "a program axis", module->program_count,
                               &axis.program))
            return false;
    }
    if (!text_ir_expect(parser, "extent") || !text_ir_read_extent(parser, &axis.extent) ||
        !text_ir_expect(parser, "digits") || !text_ir_read_digits(parser, &axis.digits))
        return false;
    if (text_ir_lexer_accept(&parser->lexer, "shift")) {
        text_ir_token access = parser->lexer.token;
        if (!read_word(parser, "the anchor of an access", &access))
            return false;
        axis.digits.shift = text_ir_copy(parser, &access);
    }
    if (axis.anchor != NULL) /* a second axis of that name goes by its number */
        text_ir_names_add(parser->arena, &parser->axes, word.text, word.length, module->axis_count);
    int64_t count = module->axis_count;
    BASE_PUSH(parser->arena, module->axes, count, *capacity, axis);
    module->axis_count = (int)count;
    return true;
}

static bool read_lanes(text_ir_parser *parser, int *count) {
    int64_t lanes = 0;
    bool ok = text_ir_read_integer(parser, INT32_MIN, INT32_MAX, &lanes);
    *count = (int)lanes;
    return ok;
}

static bool read_machine(text_ir_parser *parser) {
    char *name = NULL;
    bool ok = read_string(parser, &name);
    parser->module->machine = name;
    return ok;
}

static bool read_plan(text_ir_parser *parser) {
    if (!text_ir_lexer_hash(&parser->lexer, &parser->module->plan_hash))
        return text_ir_fail(parser, "ir-number", "16 hexadecimal digits", "not a hash");
    text_ir_lexer_next(&parser->lexer);
    return true;
}

/* A label under which ops name a parameter: the name, or what the printer writes where that is
 * taken. */
static void define_parameter(text_ir_parser *parser, const char *text, ir_value *value) {
    text_ir_token token = {.kind = TEXT_IR_LABEL, .text = text, .length = strlen(text)};
    if (text_ir_names_find(&parser->labels, token.text, token.length) < 0)
        text_ir_define(parser, &token, value);
}

static void define_parameters(text_ir_parser *parser, ir_module *inner) {
    ir_module *outer = parser->module;
    inner->parameters = BASE_NEW_ARRAY(parser->arena, ir_parameter, outer->parameter_count);
    inner->parameter_count = outer->parameter_count;
    parser->module = inner;
    for (int i = 0, position = 0; i < outer->parameter_count; i++) {
        ir_parameter *parameter = &inner->parameters[i];
        *parameter = outer->parameters[i];
        if (!parameter->is_tensor)
            continue;
        parameter->value = ir_value_create(inner, parameter->value->type, parameter->name);
        define_parameter(parser, parameter->name, parameter->value);
        define_parameter(
            parser, base_diagnostics_text(parser->diagnostics, "%s.%d", parameter->name, position),
            parameter->value);
        define_parameter(parser, base_diagnostics_text(parser->diagnostics, "%d", position++),
                         parameter->value);
    }
}

/* The tile program that a module maps, over the same sizes, parameters and programs. */
static bool read_implements(text_ir_parser *parser) {
    text_ir_parser saved = *parser;
    ir_module *outer = parser->module;
    if (outer->level == IR_TILE || outer->implements != NULL)
        return text_ir_fail(parser, "ir-syntax", "one such block, at level mapped or thread",
                            "a block that cannot stand here");
    ir_module *inner = ir_module_create(parser->arena, outer->name, outer->source);
    inner->extents = outer->extents;
    inner->checks = outer->checks;
    inner->check_count = outer->check_count;
    memcpy(inner->programs, outer->programs, sizeof inner->programs);
    inner->program_count = outer->program_count;
    parser->labels = (text_ir_names){0};
    define_parameters(parser, inner);
    bool ok = text_ir_expect(parser, "{") && text_ir_read_region(parser, &inner->body);
    outer->extents = inner->extents;
    outer->implements = inner;
    parser->module = outer;
    parser->labels = saved.labels;
    if (ok)
        text_ir_lexer_next(&parser->lexer); /* the `}` */
    return ok;
}

static bool read_head_line(text_ir_parser *parser, int64_t *axis_capacity) {
    text_ir_lexer *lexer = &parser->lexer;
    if (text_ir_lexer_accept(lexer, "source"))
        return read_source(parser);
    if (text_ir_lexer_accept(lexer, "program"))
        return read_program(parser);
    if (text_ir_lexer_accept(lexer, "check"))
        return read_check(parser);
    if (text_ir_lexer_accept(lexer, "condition"))
        return read_condition(parser);
    if (text_ir_lexer_accept(lexer, "team"))
        return read_lanes(parser, &parser->module->lanes);
    if (text_ir_lexer_accept(lexer, "subgroup"))
        return read_lanes(parser, &parser->module->subgroup);
    if (text_ir_lexer_accept(lexer, "cluster"))
        return read_lanes(parser, &parser->module->cluster);
    if (text_ir_lexer_accept(lexer, "implements"))
        return read_implements(parser);
    if (text_ir_lexer_accept(lexer, "machine"))
        return read_machine(parser);
    if (text_ir_lexer_accept(lexer, "plan"))
        return read_plan(parser);
    if (text_ir_lexer_accept(lexer, "axis"))
        return read_axis(parser, axis_capacity);
    if (text_ir_lexer_accept(lexer, "groups"))
        return text_ir_read_extent(parser, &parser->module->groups);
    return text_ir_fail(
        parser, "ir-syntax",
        "source, program, check, condition, team, subgroup, cluster, machine, plan, axis, groups, "
        "implements or `{`",
        "not a line of the head");
}

static void expect_line_end(text_ir_parser *parser) {
    if (parser->lexer.token.kind != TEXT_IR_NEWLINE && parser->lexer.token.kind != TEXT_IR_END)
        text_ir_fail(parser, "ir-syntax", "the end of the line", "text after the end of a line");
}

/* Up to the `{` of the body, or the end. */
static void read_head(text_ir_parser *parser) {
    int64_t axis_capacity = 0;
    for (;;) {
        while (parser->lexer.token.kind == TEXT_IR_NEWLINE)
            text_ir_lexer_next(&parser->lexer);
        if (parser->lexer.token.kind == TEXT_IR_END || text_ir_lexer_is(&parser->lexer, "{"))
            return;
        if (read_head_line(parser, &axis_capacity))
            expect_line_end(parser);
        text_ir_skip_line(parser);
    }
}

static void read_body(text_ir_parser *parser) {
    if (!text_ir_expect(parser, "{") || !text_ir_read_region(parser, &parser->module->body))
        return;
    text_ir_lexer_next(&parser->lexer); /* the `}` */
    while (parser->lexer.token.kind == TEXT_IR_NEWLINE)
        text_ir_lexer_next(&parser->lexer);
    if (parser->lexer.token.kind != TEXT_IR_END)
        text_ir_fail(parser, "ir-syntax", "the end of the text", "text after the module");
}

static ir_module *read_module(base_arena *arena, const base_source *source, bool in_place,
                              base_diagnostics *diagnostics) {
    text_ir_parser parser = {.arena = arena, .diagnostics = diagnostics, .in_place = in_place};
    int64_t before = diagnostics->count + diagnostics->dropped;
    parser.module = ir_module_create(arena, "", source);
    text_ir_lexer_init(&parser.lexer, source);
    if (read_kernel_line(&parser)) {
        expect_line_end(&parser);
        text_ir_skip_line(&parser);
        read_head(&parser);
        read_body(&parser);
    }
    return diagnostics->count + diagnostics->dropped == before ? parser.module : NULL;
}

ir_module *text_ir_parse(base_arena *arena, const base_source *source,
                         base_diagnostics *diagnostics) {
    return read_module(arena, source, false, diagnostics);
}

ir_module *text_ir_parse_in_place(base_arena *arena, const base_source *source,
                                  base_diagnostics *diagnostics) {
    return read_module(arena, source, true, diagnostics);
}
