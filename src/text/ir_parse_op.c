/* Reading ops: results, mnemonic, attributes, operands or access, types, regions.
 *
 *     %m = reduce max %t nan=propagate axis=0 : f32 !max.0 @4:13+6
 *     %acc = for %lo, %hi, %step, %zero : f32 (%k: index, %a: f32) {
 *       yield %a
 *     }
 *
 * A line that fails still binds its labels, so that one mistake is one finding; when it opened a
 * region, the region is read and dropped.
 */
#include "text/ir_parse_internal.h"

#include "ir/print.h"

#include <string.h>

enum { TEXT_IR_LIST = 4096 /* numbers in one list */ };

/* An op under construction. */
typedef struct draft {
    text_ir_token *labels;
    int64_t label_count, label_capacity;
    ir_opcode opcode;
    ir_value **operands;
    int64_t operand_count, operand_capacity;
    text_ir_declaration *results;
    int64_t result_count, result_capacity;
    ir_attributes attributes;
    text_ir_lexer literal; /* where the literal of a constant stands */
    bool has_literal;
    const char *anchor;
    base_location location;
} draft;

static bool read_labels(text_ir_parser *parser, draft *d) {
    while (parser->lexer.token.kind == TEXT_IR_LABEL) {
        BASE_PUSH(parser->arena, d->labels, d->label_count, d->label_capacity, parser->lexer.token);
        text_ir_lexer_next(&parser->lexer);
        if (!text_ir_lexer_accept(&parser->lexer, ","))
            return text_ir_expect(parser, "=");
    }
    return d->label_count == 0 ||
           text_ir_fail(parser, "ir-syntax", "a name such as `%t`", "a result has no name");
}

static bool read_mnemonic(text_ir_parser *parser, draft *d) {
    const text_ir_token *token = &parser->lexer.token;
    if (token->kind != TEXT_IR_WORD)
        return text_ir_fail(parser, "ir-syntax", "the name of an op", "not an op");
    d->opcode = ir_op_find(token->text, token->length);
    if (d->opcode == IR_OPCODE_COUNT)
        return text_ir_fail(parser, "unknown-op", "the name of an op", "no such op");
    text_ir_lexer_next(&parser->lexer);
    return true;
}

/* ---- attributes ---- */
static bool read_literal(text_ir_parser *parser, draft *d) {
    d->literal = parser->lexer;
    d->has_literal = true;
    base_dtype dtype;
    const text_ir_token *token = &parser->lexer.token;
    if (token->kind == TEXT_IR_WORD && base_dtype_from_name(token->text, token->length, &dtype))
        text_ir_lexer_next(&parser->lexer);
    text_ir_lexer_accept(&parser->lexer, "-");
    if (token->kind != TEXT_IR_NUMBER && token->kind != TEXT_IR_WORD)
        return text_ir_fail(parser, "ir-number", "a literal", "a literal is missing");
    text_ir_lexer_next(&parser->lexer);
    return true;
}

/* Once the type is known. */
static bool finish_literal(text_ir_parser *parser, draft *d) {
    if (!d->has_literal)
        return true;
    text_ir_lexer after = parser->lexer;
    parser->lexer = d->literal;
    base_dtype dtype;
    const text_ir_token *token = &parser->lexer.token;
    bool given =
        token->kind == TEXT_IR_WORD && base_dtype_from_name(token->text, token->length, &dtype);
    if (given)
        text_ir_lexer_next(&parser->lexer);
    else if (d->result_count > 0)
        dtype = d->results[0].type.dtype;
    else
        return text_ir_fail(parser, "ir-syntax", "`constant f32 1.5`, or a result with a type",
                            "a literal without a type");
    bool ok = text_ir_read_constant(parser, dtype, &d->attributes.constant);
    parser->lexer = after;
    return ok;
}

static bool read_monoid(text_ir_parser *parser, ir_monoid *monoid) {
    const text_ir_token *token = &parser->lexer.token;
    *monoid =
        token->kind == TEXT_IR_WORD ? ir_monoid_find(token->text, token->length) : IR_MONOID_COUNT;
    if (*monoid == IR_MONOID_COUNT)
        return text_ir_fail(parser, "unknown-name", "a monoid such as sum", "no such monoid");
    text_ir_lexer_next(&parser->lexer);
    return true;
}

/* One of two words: 0 or 1. */
static bool read_choice(text_ir_parser *parser, const char *zero, const char *one, int *choice) {
    *choice = text_ir_lexer_is(&parser->lexer, one) ? 1 : 0;
    if (*choice == 0 && !text_ir_lexer_is(&parser->lexer, zero))
        return text_ir_fail(parser, "unknown-name",
                            base_diagnostics_text(parser->diagnostics, "`%s` or `%s`", zero, one),
                            "no such word");
    text_ir_lexer_next(&parser->lexer);
    return true;
}

static bool read_axes(text_ir_parser *parser, ir_attributes *attributes) {
    if (!text_ir_expect(parser, "("))
        return false;
    while (!text_ir_lexer_accept(&parser->lexer, ")")) {
        if (attributes->axis_count == IR_MAX_RANK)
            return text_ir_fail(parser, "ir-rank", "at most 4 axes", "too many axes");
        if (attributes->axis_count > 0 && !text_ir_expect(parser, ","))
            return false;
        if (!text_ir_read_axis_name(parser, &attributes->axes[attributes->axis_count]))
            return false;
        attributes->axis_count++;
    }
    return true;
}

static bool read_list(text_ir_parser *parser, ir_list *list) {
    int64_t *items = NULL, count = 0, capacity = 0, number = 0;
    if (!text_ir_expect(parser, "("))
        return false;
    do {
        if (!text_ir_read_integer(parser, INT64_MIN, INT64_MAX, &number))
            return false;
        if (count == TEXT_IR_LIST)
            return text_ir_fail(parser, "ir-number", "at most 4096 numbers",
                                "a list that is too long");
        BASE_PUSH(parser->arena, items, count, capacity, number);
    } while (text_ir_lexer_accept(&parser->lexer, ","));
    *list = (ir_list){.count = (int)count, .items = items};
    return text_ir_expect(parser, ")");
}

/* `lane/8 % 4*16`; *is_term false: something else stands there. */
static bool read_term(text_ir_parser *parser, ir_affine *affine, bool *is_term) {
    static const layout_holder holders[] = {LAYOUT_LANE, LAYOUT_SUBGROUP, LAYOUT_SLOT};
    ir_term term = {.divide = 1};
    *is_term = false;
    for (int i = 0; i < 3 && !*is_term; i++) {
        term.holder = holders[i];
        *is_term = text_ir_lexer_accept(&parser->lexer, layout_holder_name(term.holder));
    }
    if (!*is_term)
        return true;
    if (text_ir_lexer_accept(&parser->lexer, "/") &&
        !text_ir_read_integer(parser, 1, INT32_MAX, &term.divide))
        return false;
    if (text_ir_lexer_accept(&parser->lexer, "%") &&
        !text_ir_read_integer(parser, 1, INT32_MAX, &term.modulus))
        return false;
    if (!text_ir_expect(parser, "*") ||
        !text_ir_read_integer(parser, INT64_MIN, INT64_MAX, &term.stride))
        return false;
    return ir_affine_add(affine, term) ||
           text_ir_fail(parser, "ir-number", "at most 8 terms", "too many terms");
}

/* Terms joined by `+`, or `0`. */
static bool read_terms(text_ir_parser *parser, ir_affine *affine, const char *expected) {
    int64_t zero = 0;
    if (parser->lexer.token.kind == TEXT_IR_NUMBER)
        return text_ir_read_integer(parser, 0, 0, &zero);
    do {
        bool term = false;
        if (!read_term(parser, affine, &term))
            return false;
        if (!term)
            return text_ir_fail(parser, "ir-syntax", expected,
                                "not a term of lane, subgroup or slot");
    } while (text_ir_lexer_accept(&parser->lexer, "+"));
    return true;
}

static bool read_layout(text_ir_parser *parser, ir_attributes *attributes) {
    layout_axis *digits = BASE_NEW(parser->arena, layout_axis);
    attributes->layout = digits;
    return text_ir_read_digits(parser, digits);
}

static bool read_mechanism(text_ir_parser *parser, layout_class *mechanism) {
    for (int i = LAYOUT_FORWARD; i <= LAYOUT_CLUSTER; i++) {
        *mechanism = (layout_class)i;
        if (text_ir_lexer_accept(&parser->lexer, layout_class_name(*mechanism)))
            return true;
    }
    return text_ir_fail(parser, "ir-syntax", "forward, rename, shuffle or scratch",
                        "no such mechanism");
}

static bool read_order(text_ir_parser *parser, ir_order *order) {
    for (int i = 0; i < IR_ORDER_COUNT; i++) {
        *order = (ir_order)i;
        if (text_ir_lexer_accept(&parser->lexer, ir_order_name(*order)))
            return true;
    }
    return text_ir_fail(parser, "unknown-name", "tree, left, right or canonical", "no such order");
}

static bool read_array(text_ir_parser *parser, const char **array) {
    const text_ir_token *token = &parser->lexer.token;
    if (token->kind != TEXT_IR_WORD)
        return text_ir_fail(parser, "ir-syntax", "an anchor such as convert.0",
                            "the conversion whose array is used is missing");
    *array = base_arena_copy(parser->arena, token->text, token->length);
    text_ir_lexer_next(&parser->lexer);
    return true;
}

static bool read_attribute_value(text_ir_parser *parser, draft *d, ir_attribute attribute) {
    ir_attributes *a = &d->attributes;
    ir_module *module = parser->module;
    int64_t number = 0;
    int choice = 0;
    bool ok = true;
    switch (attribute) {
    case IR_ATTRIBUTE_LITERAL:
        return read_literal(parser, d);
    case IR_ATTRIBUTE_EXTENT:
        return text_ir_read_extent(parser, &a->extent);
    case IR_ATTRIBUTE_PARAMETER:
        return text_ir_read_name(parser, &parser->parameters, "a parameter",
                                 module->parameter_count, &a->parameter);
    case IR_ATTRIBUTE_PROGRAM:
        return text_ir_read_name(parser, &parser->programs, "a program axis", module->program_count,
                                 &a->axis);
    case IR_ATTRIBUTE_MONOID:
        return read_monoid(parser, &a->monoid);
    case IR_ATTRIBUTE_ROUNDING:
        ok = read_choice(parser, "zero", "even", &choice);
        a->rounding = choice == 1 ? IR_ROUND_EVEN : IR_ROUND_ZERO;
        return ok;
    case IR_ATTRIBUTE_NAN:
        ok = read_choice(parser, "propagate", "ignore", &choice);
        a->nan = choice == 1 ? IR_NAN_IGNORE : IR_NAN_PROPAGATE;
        return ok;
    case IR_ATTRIBUTE_ORDER:
        return read_order(parser, &a->order);
    case IR_ATTRIBUTE_ZERO:
        ok = read_choice(parser, "relaxed", "strict", &choice);
        a->zero = choice == 1 ? IR_ZERO_STRICT : IR_ZERO_RELAXED;
        return ok;
    case IR_ATTRIBUTE_AXIS:
        ok = text_ir_read_integer(parser, INT32_MIN, INT32_MAX, &number);
        a->axis = (int)number;
        return ok;
    case IR_ATTRIBUTE_AXES:
        return read_axes(parser, a);
    case IR_ATTRIBUTE_AFFINE:
        return read_terms(parser, &a->affine, "terms such as lane*1 + slot*8");
    case IR_ATTRIBUTE_SCOPE:
        return text_ir_read_scope(parser, &a->scope);
    case IR_ATTRIBUTE_LANES:
    case IR_ATTRIBUTE_SLOTS:
    case IR_ATTRIBUTE_XOR:
        return read_list(parser, ir_attribute_list(a, attribute));
    case IR_ATTRIBUTE_LAYOUT:
        return read_layout(parser, a);
    case IR_ATTRIBUTE_MECHANISM:
        return read_mechanism(parser, &a->mechanism);
    case IR_ATTRIBUTE_ARRAY:
        return read_array(parser, &a->array);
    case IR_ATTRIBUTE_FORM:
        a->form = IR_MATH_FLUSHED;
        if (text_ir_lexer_accept(&parser->lexer, ir_math_form_name(IR_MATH_FLUSHED)))
            return true;
        ok = read_choice(parser, ir_math_form_name(IR_MATH_NATIVE),
                         ir_math_form_name(IR_MATH_RECIPROCAL), &choice);
        a->form = choice == 1 ? IR_MATH_RECIPROCAL : IR_MATH_NATIVE;
        return ok;
    case IR_ATTRIBUTE_COUNT:
        return true;
    }
    return true;
}

static bool read_attributes(text_ir_parser *parser, draft *d, bool leading) {
    unsigned set = ir_op_attributes(d->opcode);
    for (int i = 0; i < IR_ATTRIBUTE_COUNT; i++) {
        ir_attribute attribute = (ir_attribute)i;
        if (((set >> i) & 1) == 0 || ir_attribute_leads(attribute) != leading)
            continue;
        bool optional = ir_attribute_list(&d->attributes, attribute) != NULL ||
                        attribute == IR_ATTRIBUTE_LAYOUT || attribute == IR_ATTRIBUTE_MECHANISM ||
                        attribute == IR_ATTRIBUTE_ARRAY || attribute == IR_ATTRIBUTE_ORDER ||
                        attribute == IR_ATTRIBUTE_ZERO || attribute == IR_ATTRIBUTE_FORM;
        if (optional && !text_ir_lexer_is(&parser->lexer, ir_attribute_word(attribute)))
            continue;
        if (!leading && !text_ir_expect(parser, ir_attribute_word(attribute)))
            return false;
        if (!leading && attribute != IR_ATTRIBUTE_LAYOUT && !text_ir_expect(parser, "="))
            return false;
        if (!read_attribute_value(parser, d, attribute))
            return false;
    }
    return true;
}

/* ---- operands and accesses ---- */
static int add_operand(text_ir_parser *parser, draft *d, ir_value *value) {
    BASE_PUSH(parser->arena, d->operands, d->operand_count, d->operand_capacity, value);
    return (int)d->operand_count - 1;
}

static bool read_operand(text_ir_parser *parser, draft *d, int *operand) {
    ir_value *value = NULL;
    if (!text_ir_read_value(parser, &value))
        return false;
    *operand = add_operand(parser, d, value);
    return true;
}

static bool read_operands(text_ir_parser *parser, draft *d) {
    int operand = 0;
    if (parser->lexer.token.kind != TEXT_IR_LABEL)
        return true;
    do {
        if (!read_operand(parser, d, &operand))
            return false;
    } while (text_ir_lexer_accept(&parser->lexer, ","));
    return true;
}

static bool read_affine(text_ir_parser *parser, draft *d, ir_index *index) {
    index->kind = IR_INDEX_AFFINE;
    if (parser->lexer.token.kind == TEXT_IR_NUMBER) {
        int64_t zero = 0;
        return text_ir_read_integer(parser, 0, 0, &zero);
    }
    do {
        bool term = false, ok = true;
        if (parser->lexer.token.kind == TEXT_IR_LABEL && index->operand == -1)
            ok = read_operand(parser, d, &index->operand);
        else if (text_ir_lexer_accept(&parser->lexer, "vector"))
            ok = read_operand(parser, d, &index->vector);
        else if (read_term(parser, &index->affine, &term) && !term)
            ok = text_ir_fail(parser, "ir-syntax", "a value, lane*n, slot*n or vector %v",
                              "not a term of an affine index");
        else
            ok = term;
        if (!ok)
            return false;
    } while (text_ir_lexer_accept(&parser->lexer, "+"));
    return true;
}

static bool read_labelled_index(text_ir_parser *parser, draft *d, ir_index *index) {
    text_ir_lexer start = parser->lexer;
    text_ir_lexer_next(&parser->lexer);
    bool range = text_ir_lexer_is(&parser->lexer, ":");
    parser->lexer = start;
    if (!range && parser->module->level == IR_THREAD)
        return read_affine(parser, d, index);
    if (!read_operand(parser, d, &index->operand))
        return false;
    index->kind = range ? IR_INDEX_RANGE : IR_INDEX_POINT;
    return !range || (text_ir_expect(parser, ":") && text_ir_expect(parser, "+") &&
                      text_ir_read_extent(parser, &index->length));
}

static bool read_index(text_ir_parser *parser, draft *d, ir_index *index) {
    *index = (ir_index){.operand = -1, .vector = -1};
    bool ok = true;
    if (text_ir_lexer_accept(&parser->lexer, "point")) {
        ok = read_operand(parser, d, &index->operand);
    } else if (text_ir_lexer_accept(&parser->lexer, "gather")) {
        index->kind = IR_INDEX_GATHER;
        ok = read_operand(parser, d, &index->operand);
    } else if (text_ir_lexer_accept(&parser->lexer, ":")) {
        index->kind = IR_INDEX_RANGE;
        ok = text_ir_read_extent(parser, &index->length);
    } else if (parser->lexer.token.kind == TEXT_IR_LABEL) {
        ok = read_labelled_index(parser, d, index);
    } else {
        text_ir_lexer_accept(&parser->lexer, "affine");
        ok = read_affine(parser, d, index);
    }
    index->inside = ok && text_ir_lexer_accept(&parser->lexer, "inside");
    return ok;
}

static bool read_mask(text_ir_parser *parser, draft *d, ir_access *access) {
    if (!text_ir_lexer_accept(&parser->lexer, "mask"))
        return true;
    if (!text_ir_expect(parser, "="))
        return false;
    access->mask_kind = IR_MASK_BITS;
    if (parser->lexer.token.kind == TEXT_IR_LABEL)
        return read_operand(parser, d, &access->mask);
    access->mask_kind = IR_MASK_RANGE;
    return read_terms(parser, &access->mask_affine, "a bool value, or lane*n + slot*n < %c") &&
           text_ir_expect(parser, "<") && read_operand(parser, d, &access->mask);
}

/* `default` is left out. */
static bool read_policy(text_ir_parser *parser, ir_access *access) {
    if (!text_ir_lexer_accept(&parser->lexer, "policy"))
        return true;
    if (!text_ir_expect(parser, "="))
        return false;
    access->policy = IR_POLICY_EVICT_LAST;
    if (text_ir_lexer_accept(&parser->lexer, ir_policy_name(access->policy)))
        return true;
    access->policy = IR_POLICY_STREAM;
    return text_ir_expect(parser, ir_policy_name(access->policy));
}

static bool read_access_attributes(text_ir_parser *parser, draft *d, ir_access *access) {
    int64_t width = 1, align = 0;
    if (text_ir_lexer_accept(&parser->lexer, "fill") &&
        (!text_ir_expect(parser, "=") || !read_operand(parser, d, &access->fill)))
        return false;
    access->fill_declared = text_ir_lexer_accept(&parser->lexer, "declared");
    access->unique = text_ir_lexer_accept(&parser->lexer, "unique");
    access->injective = text_ir_lexer_accept(&parser->lexer, "injective");
    if (!read_mask(parser, d, access))
        return false;
    if (text_ir_lexer_accept(&parser->lexer, "block") &&
        (!text_ir_expect(parser, "=") || !read_operand(parser, d, &access->block)))
        return false;
    if (text_ir_lexer_accept(&parser->lexer, "width") &&
        (!text_ir_expect(parser, "=") || !text_ir_read_integer(parser, 1, 1 << 20, &width)))
        return false;
    access->width = (int)width;
    if (text_ir_lexer_accept(&parser->lexer, "align") &&
        (!text_ir_expect(parser, "=") || !text_ir_read_integer(parser, 1, 1 << 20, &align)))
        return false;
    access->align = (int)align;
    access->whole = text_ir_lexer_accept(&parser->lexer, "whole");
    if (!read_policy(parser, access))
        return false;
    access->early = text_ir_lexer_accept(&parser->lexer, "early");
    int64_t ahead = 0;
    if (text_ir_lexer_accept(&parser->lexer, "prefetch") &&
        (!text_ir_expect(parser, "=") || !text_ir_read_integer(parser, 1, 1 << 20, &ahead)))
        return false;
    access->prefetch = (int)ahead;
    return true;
}

static bool read_access(text_ir_parser *parser, draft *d) {
    ir_access *access = BASE_NEW(parser->arena, ir_access);
    *access = (ir_access){.fill = -1, .mask = -1};
    d->attributes.access = access;
    ir_value *stored = NULL, *token = NULL;
    int tensor = 0;
    if (!read_operand(parser, d, &tensor) || !text_ir_expect(parser, "["))
        return false;
    while (!text_ir_lexer_accept(&parser->lexer, "]")) {
        if (access->rank == IR_MAX_RANK)
            return text_ir_fail(parser, "ir-rank", "at most 4 indices", "too many indices");
        if (access->rank > 0 && !text_ir_expect(parser, ","))
            return false;
        if (!read_index(parser, d, &access->index[access->rank]))
            return false;
        access->rank++;
    }
    bool stores = d->opcode == IR_STORE || d->opcode == IR_PUT;
    bool takes = d->opcode == IR_GET || d->opcode == IR_PUT;
    if (stores && (!text_ir_expect(parser, ",") || !text_ir_read_value(parser, &stored)))
        return false;
    if (takes && (!text_ir_expect(parser, ",") || !text_ir_read_value(parser, &token)))
        return false;
    if (!read_access_attributes(parser, d, access))
        return false;
    if (stored != NULL)
        add_operand(parser, d, stored);
    if (token != NULL)
        add_operand(parser, d, token);
    return true;
}

/* ---- results, then the whole line ---- */
static bool read_results(text_ir_parser *parser, draft *d) {
    if (text_ir_lexer_accept(&parser->lexer, ":")) {
        do {
            text_ir_declaration result;
            if (!text_ir_read_declaration(parser, &result))
                return false;
            BASE_PUSH(parser->arena, d->results, d->result_count, d->result_capacity, result);
        } while (text_ir_lexer_accept(&parser->lexer, ","));
    }
    if (d->result_count != d->label_count)
        return text_ir_fail(parser, "result-count", "one type for each result",
                            "%lld results have %lld types", (long long)d->label_count,
                            (long long)d->result_count);
    return true;
}

static bool read_facts(text_ir_parser *parser, draft *d) {
    if (text_ir_lexer_accept(&parser->lexer, "!")) {
        if (parser->lexer.token.kind != TEXT_IR_WORD)
            return text_ir_fail(parser, "ir-syntax", "an anchor such as max.0",
                                "an anchor is missing");
        d->anchor = text_ir_copy(parser, &parser->lexer.token);
        text_ir_lexer_next(&parser->lexer);
    }
    if (parser->located)
        d->location = (base_location){0};
    return text_ir_read_location(parser, &d->location);
}

static bool read_draft(text_ir_parser *parser, draft *d) {
    d->location = parser->lexer.token.location;
    if (!read_labels(parser, d) || !read_mnemonic(parser, d) || !read_attributes(parser, d, true))
        return false;
    bool access = ir_op_describe(d->opcode)->shape == IR_SHAPE_ACCESS;
    return (access ? read_access(parser, d) : read_operands(parser, d)) &&
           read_attributes(parser, d, false) && read_results(parser, d) && read_facts(parser, d) &&
           finish_literal(parser, d);
}

/* The source name in a label: all of it, or what stands before `.position`; NULL for a number. */
static const char *label_name(text_ir_parser *parser, const text_ir_token *label) {
    if (label->text[0] >= '0' && label->text[0] <= '9')
        return NULL;
    const char *dot = memchr(label->text, '.', label->length);
    size_t length = dot == NULL ? label->length : (size_t)(dot - label->text);
    return base_arena_copy(parser->arena, label->text, length);
}

static void settle(text_ir_parser *parser, const text_ir_token *label,
                   const text_ir_declaration *declaration, ir_value *value) {
    value->name = label_name(parser, label);
    value->layout = declaration->layout;
    value->storage = declaration->storage;
    value->scope = declaration->scope;
    value->ranged = declaration->ranged;
    value->low = declaration->low;
    value->high = declaration->high;
    text_ir_define(parser, label, value);
}

static ir_op *make_op(text_ir_parser *parser, const draft *d, int region_count) {
    ir_type *types = BASE_NEW_ARRAY(parser->arena, ir_type, d->result_count);
    for (int64_t i = 0; i < d->result_count; i++)
        types[i] = d->results[i].type;
    ir_op *op = ir_op_create(parser->module, d->opcode, d->location, (int)d->operand_count,
                             d->operands, (int)d->result_count, types, region_count);
    if (d->opcode == IR_SCRATCH && op->result_count == 2)
        op->results[1]->type.scratch = op->results[0];
    op->attributes = d->attributes;
    op->anchor = d->anchor;
    for (int64_t i = 0; i < d->result_count; i++)
        settle(parser, &d->labels[i], &d->results[i], op->results[i]);
    return op;
}

/* ---- regions ---- */
static bool read_arguments(text_ir_parser *parser, ir_region *region) {
    if (!text_ir_lexer_accept(&parser->lexer, "("))
        return true;
    do {
        text_ir_token label = parser->lexer.token;
        text_ir_declaration declaration;
        if (label.kind != TEXT_IR_LABEL)
            return text_ir_fail(parser, "ir-syntax", "`%name: type`", "not an argument");
        text_ir_lexer_next(&parser->lexer);
        if (!text_ir_expect(parser, ":") || !text_ir_read_declaration(parser, &declaration))
            return false;
        ir_value *value = ir_region_add_argument(parser->module, region, declaration.type, NULL);
        settle(parser, &label, &declaration, value);
    } while (text_ir_lexer_accept(&parser->lexer, ","));
    return text_ir_expect(parser, ")");
}

/* The regions that an op has by its opcode. */
static int region_count(ir_opcode opcode) {
    if (ir_op_describe(opcode)->shape != IR_SHAPE_REGION)
        return 0;
    return opcode == IR_IF ? 2 : 1;
}

/* False when reading cannot go on; *clean false when a line failed that is not left yet. */
static bool read_regions(text_ir_parser *parser, ir_op *op, bool *clean) {
    for (int i = 0; i < op->region_count; i++) {
        *clean = (i == 0 || text_ir_expect(parser, "else")) &&
                 read_arguments(parser, op->regions[i]) && text_ir_expect(parser, "{");
        if (!*clean && !text_ir_skip_line(parser))
            return true;
        if (!text_ir_read_region(parser, op->regions[i]))
            return false;
        *clean = true;
        text_ir_lexer_next(&parser->lexer); /* the `}` */
    }
    return true;
}

/* After a failed line that opened a region: reads the region and what follows it, for findings. */
static bool drop_regions(text_ir_parser *parser) {
    ir_region nowhere = {0};
    do {
        if (!text_ir_read_region(parser, &nowhere))
            return false;
        text_ir_lexer_next(&parser->lexer); /* the `}` */
    } while (text_ir_skip_line(parser));
    return true;
}

static void bind_failed(text_ir_parser *parser, const draft *d) {
    for (int64_t i = 0; i < d->label_count; i++)
        if (text_ir_names_find(&parser->labels, d->labels[i].text, d->labels[i].length) < 0)
            text_ir_define(parser, &d->labels[i],
                           ir_value_create(parser->module, ir_type_scalar(BASE_F32), NULL));
}

static bool read_op(text_ir_parser *parser, ir_region *region) {
    draft d = {0};
    if (!read_draft(parser, &d)) {
        bind_failed(parser, &d);
        return !text_ir_skip_line(parser) || drop_regions(parser);
    }
    ir_op *op = make_op(parser, &d, region_count(d.opcode));
    ir_op_append(region, op);
    bool clean = true;
    if (!read_regions(parser, op, &clean))
        return false;
    text_ir_token_kind kind = parser->lexer.token.kind;
    if (clean && (kind == TEXT_IR_NEWLINE || text_ir_lexer_is(&parser->lexer, "}")))
        return true;
    if (clean)
        text_ir_fail(parser, "ir-syntax", "the end of the line", "text after an op");
    return !text_ir_skip_line(parser) || drop_regions(parser);
}

bool text_ir_read_region(text_ir_parser *parser, ir_region *region) {
    if (parser->depth >= TEXT_IR_NESTING)
        return text_ir_fail(parser, "nesting", "at most 64 levels", "regions nest too deeply");
    parser->depth++;
    bool ok = true;
    while (ok && !text_ir_lexer_is(&parser->lexer, "}")) {
        if (parser->lexer.token.kind == TEXT_IR_END)
            ok = text_ir_fail(parser, "ir-syntax", "`}`", "a region is not closed");
        else if (parser->lexer.token.kind == TEXT_IR_NEWLINE)
            text_ir_lexer_next(&parser->lexer);
        else
            ok = read_op(parser, region);
    }
    parser->depth--;
    return ok;
}
