/* Printing modules: the one text form of all three levels, one op on one line.
 *
 *     kernel @sum[R, N = 4096](%x: in f32[R, N], %y: out f32[R]) level tile
 *       source "sum.croft"
 *       program row: R
 *     {
 *       %row = program row : index
 *       %t = load %x[%row inside, : N inside] : f32<N> !t @3:9+10
 *       %3 = reduce sum %t nan=propagate axis=0 : f32 !sum.0 @4:14+6
 *       store %y[%row inside], %3 injective !y.0 @4:5+15
 *     }
 *
 * What an op has beside operands, types and regions comes from attributes.def, so that a new row of
 * ops.def prints without an edit here. The printer asserts nothing: a broken module prints too.
 */
#include "ir/print.h"

#include "ir/print_internal.h"

#include <inttypes.h>
#include <string.h>

typedef struct printer {
    base_text *out;
    const ir_module *module;
    ir_labels labels;
    bool facts, unlocated;
} printer;

static printer printer_for(base_text *out, const ir_module *module, bool facts) {
    return (printer){
        .out = out, .module = module, .labels = ir_labels_find(out->arena, module), .facts = facts};
}

/* ---- words ---- */
static const char *const storage_names[] = {
    [IR_STORAGE_NONE] = "none",           [IR_STORAGE_REGISTERS] = "registers",
    [IR_STORAGE_PRIVATE] = "private",     [IR_STORAGE_RELOAD] = "reload",
    [IR_STORAGE_RECOMPUTE] = "recompute", [IR_STORAGE_OUTPUT] = "output",
};

const char *ir_storage_name(ir_storage storage) {
    return storage_names[storage];
}

static const char *const scope_names[IR_SCOPE_COUNT] = {
    [IR_SCOPE_NONE] = "none",         [IR_SCOPE_LANE] = "lane",   [IR_SCOPE_PROGRAM] = "program",
    [IR_SCOPE_SUBGROUP] = "subgroup", [IR_SCOPE_GROUP] = "group", [IR_SCOPE_CLUSTER] = "cluster",
    [IR_SCOPE_GRID] = "grid",
};

const char *ir_scope_name(ir_scope scope) {
    return scope_names[scope];
}

static const char *const token_names[IR_TOKEN_STATE_COUNT] = {
    [IR_TOKEN_FREE] = "free",
    [IR_TOKEN_WRITTEN] = "written",
    [IR_TOKEN_PUBLISHED] = "published",
};

static const char *const order_names[IR_ORDER_COUNT] = {
    [IR_ORDER_TREE] = "tree",
    [IR_ORDER_LEFT] = "left",
    [IR_ORDER_RIGHT] = "right",
    [IR_ORDER_CANONICAL] = "canonical",
};

const char *ir_order_name(ir_order order) {
    return order_names[order];
}

static const char *const policy_names[IR_POLICY_COUNT] = {
    [IR_POLICY_DEFAULT] = "default",
    [IR_POLICY_STREAM] = "stream",
    [IR_POLICY_EVICT_LAST] = "evict_last",
};

const char *ir_policy_name(ir_policy policy) {
    return policy_names[policy];
}

const char *ir_token_state_name(ir_token_state state) {
    return token_names[state];
}

static const char *const attribute_words[IR_ATTRIBUTE_COUNT] = {
    [IR_ATTRIBUTE_LITERAL] = "literal",
    [IR_ATTRIBUTE_EXTENT] = "extent",
    [IR_ATTRIBUTE_PARAMETER] = "parameter",
    [IR_ATTRIBUTE_PROGRAM] = "program",
    [IR_ATTRIBUTE_MONOID] = "monoid",
    [IR_ATTRIBUTE_ROUNDING] = "rounding",
    [IR_ATTRIBUTE_NAN] = "nan",
    [IR_ATTRIBUTE_ORDER] = "order",
    [IR_ATTRIBUTE_ZERO] = "zero",
    [IR_ATTRIBUTE_AXIS] = "axis",
    [IR_ATTRIBUTE_AXES] = "axes",
    [IR_ATTRIBUTE_AFFINE] = "affine",
    [IR_ATTRIBUTE_SCOPE] = "scope",
    [IR_ATTRIBUTE_LANES] = "lanes",
    [IR_ATTRIBUTE_SLOTS] = "slots",
    [IR_ATTRIBUTE_XOR] = "xor",
    [IR_ATTRIBUTE_LAYOUT] = "layout",
    [IR_ATTRIBUTE_MECHANISM] = "by",
    [IR_ATTRIBUTE_ARRAY] = "of",
    [IR_ATTRIBUTE_FORM] = "form",
};

const char *ir_attribute_word(ir_attribute attribute) {
    return attribute_words[attribute];
}

ir_list *ir_attribute_list(ir_attributes *attributes, ir_attribute attribute) {
    if (attribute == IR_ATTRIBUTE_LANES)
        return &attributes->lanes;
    return attribute == IR_ATTRIBUTE_SLOTS || attribute == IR_ATTRIBUTE_XOR ? &attributes->slots
                                                                            : NULL;
}

bool ir_attribute_leads(ir_attribute attribute) {
    return attribute < IR_ATTRIBUTE_ROUNDING;
}

unsigned ir_op_attributes(ir_opcode opcode) {
    static const struct {
        ir_opcode opcode;
        ir_attribute attribute;
    } rows[] = {
#define ATTRIBUTE(ID, FIELD) {IR_##ID, IR_ATTRIBUTE_##FIELD},
#include "ir/attributes.def"
#undef ATTRIBUTE
    };
    unsigned set = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].opcode == opcode)
            set |= 1u << rows[i].attribute;
    return set;
}

/* ---- pieces ---- */
static void print_string(base_text *out, const char *text) {
    base_text_string(out, "\"");
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            base_text_format(out, "\\%c", *c);
        else if (*c < 0x20 || *c >= 0x7f)
            base_text_format(out, "\\x%02x", *c);
        else
            base_text_format(out, "%c", *c);
    }
    base_text_string(out, "\"");
}

static void print_value(const printer *p, const ir_value *value) {
    ir_label_print(p->out, &p->labels, value);
}

static void print_extent(const printer *p, const layout_extent *extent) {
    if (extent == NULL)
        base_text_string(p->out, "?");
    else
        layout_extent_print(p->out, &p->module->extents, extent);
}

static void print_location(const printer *p, base_location location) {
    if (p->facts && !p->unlocated && location.line != 0)
        base_text_format(p->out, " @%" PRId32 ":%" PRId32 "+%" PRId32, location.line,
                         location.column, location.length);
}

static void print_constant(const printer *p, ir_constant constant) {
    if (base_dtype_is_float(constant.dtype))
        base_text_double(p->out, constant.real);
    else if (constant.dtype == BASE_BOOL && (constant.integer == 0 || constant.integer == 1))
        base_text_string(p->out, constant.integer == 1 ? "true" : "false");
    else
        base_text_format(p->out, "%" PRId64, constant.integer);
}

/* Axes and programs: by name, or by number when the name is none or stands for another. */
static void print_axis_name(const printer *p, int axis) {
    const ir_axis *axes = p->module->axes;
    bool clear = axis >= 0 && axis < p->module->axis_count && axes[axis].anchor != NULL;
    for (int i = 0; clear && i < axis; i++)
        clear = axes[i].anchor == NULL || strcmp(axes[i].anchor, axes[axis].anchor) != 0;
    if (clear)
        base_text_string(p->out, axes[axis].anchor);
    else if (axis < 0)
        base_text_string(p->out, "-");
    else
        base_text_format(p->out, "%d", axis);
}

static void print_program_name(const printer *p, int program) {
    if (program >= 0 && program < p->module->program_count)
        base_text_string(p->out, p->module->programs[program].name);
    else
        base_text_format(p->out, "%d", program);
}

static void print_parameter_name(const printer *p, int parameter) {
    if (parameter >= 0 && parameter < p->module->parameter_count)
        base_text_string(p->out, p->module->parameters[parameter].name);
    else
        base_text_format(p->out, "%d", parameter);
}

/* ---- types ---- */
static void print_shape(const printer *p, const ir_type *type, const char *open,
                        const char *close) {
    base_text_string(p->out, open);
    for (int i = 0; i < type->rank && i < IR_MAX_RANK; i++) {
        if (i > 0)
            base_text_string(p->out, ", ");
        print_extent(p, type->extent[i]);
        if (type->domain[i] != NULL) {
            base_text_string(p->out, " below ");
            print_value(p, type->domain[i]);
        }
    }
    base_text_string(p->out, close);
}

/* A bare dtype is a rank-0 tile at tile and mapped, a uniform at thread; the other is spelled out.
 * `own`: the array that the op itself makes, whose token does not name it.
 */
static void print_type(const printer *p, const ir_type *type, const ir_value *own) {
    bool thread = p->module->level == IR_THREAD;
    const char *dtype = base_dtype_name(type->dtype);
    switch (type->form) {
    case IR_FORM_TILE:
        base_text_string(p->out, dtype);
        if (type->rank > 0 || thread)
            print_shape(p, type, "<", ">");
        return;
    case IR_FORM_UNIFORM:
        base_text_format(p->out, "%s%s", thread ? "" : "uniform ", dtype);
        return;
    case IR_FORM_SLOTS:
        base_text_format(p->out, "%s(%d)", dtype, type->slots);
        return;
    case IR_FORM_TENSOR:
        base_text_string(p->out, dtype);
        print_shape(p, type, "[", "]");
        return;
    case IR_FORM_PRIVATE:
        base_text_format(p->out, "private %s", dtype);
        if (type->slots != 0)
            base_text_format(p->out, "(%d)", type->slots);
        base_text_string(p->out, "[");
        print_extent(p, type->extent[0]);
        base_text_string(p->out, "]");
        return;
    case IR_FORM_SCRATCH:
        base_text_format(p->out, "scratch %s[", dtype);
        print_extent(p, type->extent[0]);
        base_text_string(p->out, "]");
        return;
    case IR_FORM_TOKEN:
        base_text_format(p->out, "token %s", ir_token_state_name(type->state));
        if (type->scratch != NULL && type->scratch != own) {
            base_text_string(p->out, " ");
            print_value(p, type->scratch);
        }
        return;
    }
}

/* Type, layout and storage of a result or argument: `f32<R, N> on (row, N) in private`. */
static void print_declaration(const printer *p, const ir_value *value) {
    bool fresh = value->definer != NULL && value->definer->opcode == IR_SCRATCH;
    print_type(p, &value->type, fresh ? value->definer->results[0] : NULL);
    if (!p->facts)
        return;
    bool mapped = false;
    for (int i = 0; i < value->type.rank && i < IR_MAX_RANK; i++)
        mapped = mapped || value->layout.axis[i] != -1;
    if (mapped) {
        for (int i = 0; i < value->type.rank && i < IR_MAX_RANK; i++) {
            base_text_string(p->out, i == 0 ? " on (" : ", ");
            print_axis_name(p, value->layout.axis[i]);
        }
        base_text_string(p->out, ")");
    }
    if (value->storage != IR_STORAGE_NONE)
        base_text_format(p->out, " in %s", ir_storage_name(value->storage));
    if (value->scope != IR_SCOPE_NONE)
        base_text_format(p->out, " uniform %s", ir_scope_name(value->scope));
    if (value->ranged)
        base_text_format(p->out, " range [%" PRId64 ", %" PRId64 "]", value->low, value->high);
}

/* ---- accesses ---- */
static void print_operand(const printer *p, const ir_op *op, int operand) {
    print_value(p, operand >= 0 && operand < op->operand_count ? op->operands[operand] : NULL);
}

/* Terms joined by ` + `: `lane*1`, `slot/4 % 2*8`. */
static void print_terms(const printer *p, bool *first, const ir_affine *affine) {
    for (int i = 0; i < affine->count && i < IR_MAX_TERMS; i++) {
        const ir_term *term = &affine->terms[i];
        base_text_format(p->out, "%s%s", *first ? "" : " + ", layout_holder_name(term->holder));
        if (term->divide != 1)
            base_text_format(p->out, "/%" PRId64, term->divide);
        if (term->modulus != 0)
            base_text_format(p->out, " %% %" PRId64, term->modulus);
        base_text_format(p->out, "*%" PRId64, term->stride);
        *first = false;
    }
}

static void print_affine(const printer *p, const ir_op *op, const ir_index *index) {
    bool first = true;
    if (p->module->level != IR_THREAD)
        base_text_string(p->out, "affine ");
    if (index->operand != -1) {
        print_operand(p, op, index->operand);
        first = false;
    }
    print_terms(p, &first, &index->affine);
    if (index->vector != -1) {
        base_text_string(p->out, first ? "vector " : " + vector ");
        print_operand(p, op, index->vector);
        first = false;
    }
    if (first)
        base_text_string(p->out, "0");
}

static void print_index(const printer *p, const ir_op *op, const ir_index *index) {
    switch (index->kind) {
    case IR_INDEX_POINT:
        if (p->module->level == IR_THREAD)
            base_text_string(p->out, "point ");
        print_operand(p, op, index->operand);
        break;
    case IR_INDEX_RANGE:
        if (index->operand != -1) {
            print_operand(p, op, index->operand);
            base_text_string(p->out, " : +");
        } else {
            base_text_string(p->out, ": ");
        }
        print_extent(p, index->length);
        break;
    case IR_INDEX_GATHER:
        base_text_string(p->out, "gather ");
        print_operand(p, op, index->operand);
        break;
    case IR_INDEX_AFFINE:
        print_affine(p, op, index);
        break;
    }
    if (p->facts && index->inside)
        base_text_string(p->out, " inside");
}

static void print_mask(const printer *p, const ir_op *op, const ir_access *access) {
    bool first = true;
    switch (access->mask_kind) {
    case IR_MASK_NONE:
        return;
    case IR_MASK_BITS:
        base_text_string(p->out, " mask=");
        print_operand(p, op, access->mask);
        return;
    case IR_MASK_RANGE:
        base_text_string(p->out, " mask=");
        print_terms(p, &first, &access->mask_affine);
        base_text_string(p->out, first ? "0 < " : " < ");
        print_operand(p, op, access->mask);
        return;
    }
}

static void print_access(const printer *p, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    base_text_string(p->out, " ");
    print_operand(p, op, 0);
    base_text_string(p->out, "[");
    for (int i = 0; access != NULL && i < access->rank && i < IR_MAX_RANK; i++) {
        if (i > 0)
            base_text_string(p->out, ", ");
        print_index(p, op, &access->index[i]);
    }
    base_text_string(p->out, access == NULL ? "?]" : "]");
    if (op->opcode == IR_STORE || op->opcode == IR_PUT) {
        base_text_string(p->out, ", ");
        print_value(p, ir_op_stored(op));
    }
    if (op->opcode == IR_PUT || op->opcode == IR_GET) {
        base_text_string(p->out, ", ");
        print_value(p, ir_op_token(op));
    }
    if (access == NULL)
        return;
    if (access->fill != -1) {
        base_text_string(p->out, " fill=");
        print_operand(p, op, access->fill);
    }
    base_text_string(p->out, access->fill_declared ? " declared" : "");
    base_text_string(p->out, access->unique ? " unique" : "");
    base_text_string(p->out, access->injective && p->facts ? " injective" : "");
    print_mask(p, op, access);
    if (access->block != 0) {
        base_text_string(p->out, " block=");
        print_operand(p, op, access->block);
    }
    if (access->width > 1)
        base_text_format(p->out, " width=%d", access->width);
    if (access->align > 0 && p->facts)
        base_text_format(p->out, " align=%d", access->align);
    base_text_string(p->out, access->whole && p->facts ? " whole" : "");
    if (access->policy != IR_POLICY_DEFAULT)
        base_text_format(p->out, " policy=%s", ir_policy_name(access->policy));
    base_text_string(p->out, access->early ? " early" : "");
    if (access->prefetch > 0)
        base_text_format(p->out, " prefetch=%d", access->prefetch);
}

/* ---- ops ---- */
static void print_literal(const printer *p, const ir_op *op) {
    ir_constant constant = op->attributes.constant;
    if (op->result_count == 0 || op->results[0]->type.dtype != constant.dtype)
        base_text_format(p->out, "%s ", base_dtype_name(constant.dtype));
    print_constant(p, constant);
}

static void print_axes(const printer *p, const ir_attributes *attributes) {
    base_text_string(p->out, "(");
    for (int i = 0; i < attributes->axis_count && i < IR_MAX_RANK; i++) {
        base_text_string(p->out, i == 0 ? "" : ", ");
        print_axis_name(p, attributes->axes[i]);
    }
    base_text_string(p->out, ")");
}

static void print_list(const printer *p, const ir_list *list) {
    for (int i = 0; i < list->count; i++)
        base_text_format(p->out, "%s%" PRId64, i == 0 ? "(" : ", ", list->items[i]);
    base_text_string(p->out, ")");
}

static void print_affine_form(const printer *p, const ir_affine *affine) {
    bool first = true;
    print_terms(p, &first, affine);
    base_text_string(p->out, first ? "0" : "");
}

/* Nothing to say: an empty list, or what an op has that says nothing. */
static bool is_left_out(const ir_attributes *attributes, ir_attribute attribute) {
    const ir_list *list = ir_attribute_list((ir_attributes *)attributes, attribute);
    return (list != NULL && list->count == 0) ||
           (attribute == IR_ATTRIBUTE_LAYOUT && attributes->layout == NULL) ||
           (attribute == IR_ATTRIBUTE_MECHANISM && attributes->mechanism == LAYOUT_UNDECIDED) ||
           (attribute == IR_ATTRIBUTE_ARRAY && attributes->array == NULL) ||
           (attribute == IR_ATTRIBUTE_ORDER && attributes->order == IR_ORDER_TREE) ||
           (attribute == IR_ATTRIBUTE_ZERO && attributes->zero == IR_ZERO_RELAXED) ||
           (attribute == IR_ATTRIBUTE_FORM && attributes->form == IR_MATH_PORTABLE);
}

static void print_attribute(const printer *p, const ir_op *op, ir_attribute attribute) {
    const ir_attributes *attributes = &op->attributes;
    const ir_list *list = ir_attribute_list((ir_attributes *)attributes, attribute);
    if (is_left_out(attributes, attribute))
        return;
    base_text_string(p->out, " ");
    if (!ir_attribute_leads(attribute))
        base_text_format(p->out, "%s%s", ir_attribute_word(attribute),
                         attribute == IR_ATTRIBUTE_LAYOUT ? " " : "=");
    switch (attribute) {
    case IR_ATTRIBUTE_LITERAL:
        print_literal(p, op);
        return;
    case IR_ATTRIBUTE_EXTENT:
        print_extent(p, attributes->extent);
        return;
    case IR_ATTRIBUTE_PARAMETER:
        print_parameter_name(p, attributes->parameter);
        return;
    case IR_ATTRIBUTE_PROGRAM:
        print_program_name(p, attributes->axis);
        return;
    case IR_ATTRIBUTE_MONOID:
        base_text_string(p->out, ir_monoid_describe(attributes->monoid)->text);
        return;
    case IR_ATTRIBUTE_ROUNDING:
        base_text_string(p->out, attributes->rounding == IR_ROUND_EVEN ? "even" : "zero");
        return;
    case IR_ATTRIBUTE_NAN:
        base_text_string(p->out, attributes->nan == IR_NAN_IGNORE ? "ignore" : "propagate");
        return;
    case IR_ATTRIBUTE_ORDER:
        base_text_string(p->out, ir_order_name(attributes->order));
        return;
    case IR_ATTRIBUTE_ZERO:
        base_text_string(p->out, attributes->zero == IR_ZERO_STRICT ? "strict" : "relaxed");
        return;
    case IR_ATTRIBUTE_AXIS:
        base_text_format(p->out, "%d", attributes->axis);
        return;
    case IR_ATTRIBUTE_AXES:
        print_axes(p, attributes);
        return;
    case IR_ATTRIBUTE_AFFINE:
        print_affine_form(p, &attributes->affine);
        return;
    case IR_ATTRIBUTE_SCOPE:
        base_text_string(p->out, ir_scope_name(attributes->scope));
        return;
    case IR_ATTRIBUTE_LANES:
    case IR_ATTRIBUTE_SLOTS:
    case IR_ATTRIBUTE_XOR:
        print_list(p, list);
        return;
    case IR_ATTRIBUTE_LAYOUT:
        layout_axis_print(p->out, attributes->layout);
        return;
    case IR_ATTRIBUTE_MECHANISM:
        base_text_string(p->out, layout_class_name(attributes->mechanism));
        return;
    case IR_ATTRIBUTE_ARRAY:
        base_text_string(p->out, attributes->array);
        return;
    case IR_ATTRIBUTE_FORM:
        base_text_string(p->out, ir_math_form_name(attributes->form));
        return;
    case IR_ATTRIBUTE_COUNT:
        return;
    }
}

static void print_attributes(const printer *p, const ir_op *op, bool leading) {
    unsigned set = ir_op_attributes(op->opcode);
    for (int i = 0; i < IR_ATTRIBUTE_COUNT; i++)
        if (((set >> i) & 1) != 0 && ir_attribute_leads((ir_attribute)i) == leading)
            print_attribute(p, op, (ir_attribute)i);
}

/* The op without its regions and without the end of the line. */
static void print_op(const printer *p, const ir_op *op) {
    const ir_op_info *info = ir_op_describe(op->opcode);
    for (int i = 0; i < op->result_count; i++) {
        base_text_string(p->out, i == 0 ? "" : ", ");
        print_value(p, op->results[i]);
    }
    base_text_format(p->out, "%s%s", op->result_count > 0 ? " = " : "", info->text);
    print_attributes(p, op, true);
    if (info->shape == IR_SHAPE_ACCESS) {
        print_access(p, op);
    } else {
        for (int i = 0; i < op->operand_count; i++) {
            base_text_string(p->out, i == 0 ? " " : ", ");
            print_operand(p, op, i);
        }
    }
    print_attributes(p, op, false);
    for (int i = 0; i < op->result_count; i++) {
        base_text_string(p->out, i == 0 ? " : " : ", ");
        print_declaration(p, op->results[i]);
    }
    if (p->facts && op->anchor != NULL)
        base_text_format(p->out, " !%s", op->anchor);
    print_location(p, op->location);
}

static void indent(base_text *out, int depth) {
    for (int i = 0; i < depth; i++)
        base_text_string(out, "  ");
}

static void print_arguments(const printer *p, const ir_region *region) {
    for (int i = 0; i < region->argument_count; i++) {
        base_text_string(p->out, i == 0 ? " (" : ", ");
        print_value(p, region->arguments[i]);
        base_text_string(p->out, ": ");
        print_declaration(p, region->arguments[i]);
    }
    base_text_string(p->out, region->argument_count > 0 ? ")" : "");
}

static void print_region(const printer *p, const ir_region *region, int depth) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        indent(p->out, depth);
        print_op(p, op);
        for (int i = 0; i < op->region_count; i++) {
            if (i > 0) {
                indent(p->out, depth);
                base_text_string(p->out, "} else");
            }
            print_arguments(p, op->regions[i]);
            base_text_string(p->out, " {\n");
            print_region(p, op->regions[i], depth + 1);
        }
        if (op->region_count > 0) {
            indent(p->out, depth);
            base_text_string(p->out, "}");
        }
        base_text_string(p->out, "\n");
    }
}

/* ---- the head of a module ---- */
static void print_sizes(const printer *p) {
    const layout_extents *pool = &p->module->extents;
    for (int64_t i = 0; i < pool->symbol_count; i++) {
        base_text_format(p->out, "%s%s", i == 0 ? "[" : ", ", pool->symbols[i].name);
        if (pool->symbols[i].known)
            base_text_format(p->out, " = %" PRId64, pool->symbols[i].value);
    }
    base_text_string(p->out, pool->symbol_count > 0 ? "]" : "");
}

static void print_parameter(const printer *p, const ir_parameter *parameter) {
    static const char *const modes[] = {[IR_IN] = "in", [IR_OUT] = "out", [IR_INOUT] = "inout"};
    if (parameter->is_tensor) {
        print_value(p, parameter->value);
        base_text_format(p->out, ": %s ", modes[parameter->mode]);
        print_type(p, &parameter->value->type, NULL);
    } else {
        base_text_format(p->out, "%s: %s", parameter->name, base_dtype_name(parameter->dtype));
        if (parameter->has_default) {
            base_text_string(p->out, " = ");
            print_constant(p, parameter->initial);
        }
    }
    print_location(p, parameter->location);
}

static void print_axis(const printer *p, const ir_axis *axis) {
    base_text_format(p->out, "  axis %s ", axis->anchor != NULL ? axis->anchor : "-");
    if (axis->is_program) {
        base_text_string(p->out, "program ");
        print_program_name(p, axis->program);
        base_text_string(p->out, " ");
    }
    base_text_string(p->out, "extent ");
    print_extent(p, axis->extent);
    base_text_string(p->out, " digits ");
    layout_axis_print(p->out, &axis->digits);
    base_text_string(p->out, "\n");
}

static void print_conditions(const printer *p) {
    const ir_module *module = p->module;
    for (int64_t i = 0; i < module->condition_count; i++) {
        base_text_string(p->out, "  condition ");
        layout_condition_print(p->out, &module->conditions[i],
                               ir_condition_subject(module, &module->conditions[i]));
        base_text_string(p->out, "\n");
    }
}

static void print_target(const printer *p) {
    const ir_module *module = p->module;
    if (module->level != IR_TILE || module->lanes != 1)
        base_text_format(p->out, "  team %d\n", module->lanes);
    if (module->subgroup != 0)
        base_text_format(p->out, "  subgroup %d\n", module->subgroup);
    if (module->cluster != 0)
        base_text_format(p->out, "  cluster %d\n", module->cluster);
    if (p->facts && module->machine != NULL) {
        base_text_string(p->out, "  machine ");
        print_string(p->out, module->machine);
        base_text_string(p->out, "\n");
    }
    if (p->facts && module->plan_hash != 0)
        base_text_format(p->out, "  plan %016" PRIx64 "\n", module->plan_hash);
    for (int i = 0; i < module->axis_count; i++)
        print_axis(p, &module->axes[i]);
    if (module->groups != NULL) {
        base_text_string(p->out, "  groups ");
        print_extent(p, module->groups);
        base_text_string(p->out, "\n");
    }
    if (p->facts && module->implements != NULL) {
        printer inner = printer_for(p->out, module->implements, true);
        base_text_string(p->out, "  implements {\n");
        print_region(&inner, &module->implements->body, 2);
        base_text_string(p->out, "  }\n");
    }
}

static void print_head(const printer *p) {
    const ir_module *module = p->module;
    for (int i = 0; i < module->program_count; i++) {
        base_text_format(p->out, "  program %s: ", module->programs[i].name);
        print_extent(p, module->programs[i].extent);
        if (module->programs[i].step != 1)
            base_text_format(p->out, " step %" PRId64, module->programs[i].step);
        base_text_string(p->out, "\n");
    }
    for (int64_t i = 0; i < module->check_count; i++) {
        base_text_string(p->out, "  check ");
        print_parameter_name(p, module->checks[i].parameter);
        base_text_format(p->out, "[%d] == ", module->checks[i].dimension);
        print_extent(p, module->checks[i].expected);
        base_text_string(p->out, "\n");
    }
    if (p->facts)
        print_conditions(p);
    print_target(p);
}

void ir_module_print(base_text *out, const ir_module *module, bool facts) {
    printer p = printer_for(out, module, facts);
    base_text_format(out, "kernel @%s", module->name);
    print_sizes(&p);
    base_text_string(out, "(");
    for (int i = 0; i < module->parameter_count; i++) {
        base_text_string(out, i == 0 ? "" : ", ");
        print_parameter(&p, &module->parameters[i]);
    }
    base_text_format(out, ") level %s\n", ir_level_name(module->level));
    if (facts) {
        base_text_string(out, "  source ");
        if (module->source != NULL)
            print_string(out, module->source->name);
        else
            base_text_string(out, "none");
        base_text_string(out, "\n");
    }
    print_head(&p);
    base_text_string(out, "{\n");
    print_region(&p, &module->body, 1);
    base_text_string(out, "}\n");
}

void ir_op_print(base_text *out, const ir_module *module, const ir_op *op) {
    printer p = printer_for(out, module, true);
    p.unlocated = true;
    print_op(&p, op);
}
