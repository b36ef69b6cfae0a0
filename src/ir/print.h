/* Prints a module as canonical text: text_ir_parse(ir_module_print(m)) prints the same bytes.
 * With `facts` the locations, anchors, proofs, storage, layouts, plan hash and machine are included
 * (the complete form); without, they are left out (for reading). docs/ir.md has the grammar. */
#ifndef IR_PRINT_H
#define IR_PRINT_H

#include "ir/module.h"

void ir_module_print(base_text *out, const ir_module *module, bool facts);
/* One op on one line as ir_module_print writes it, without its regions and its location, which a
 * finding tells beside it: for findings. */
void ir_op_print(base_text *out, const ir_module *module, const ir_op *op);

/* ---- words of the text form, for its reader ---- */
const char *ir_storage_name(ir_storage storage); /* `none`, `registers`, ... */
const char *ir_scope_name(ir_scope scope);       /* `lane`, `group`, ... */
const char *ir_order_name(ir_order order);       /* `tree`, `left`, ... */
const char *ir_policy_name(ir_policy policy);    /* `default`, `stream`, `evict_last` */
const char *ir_token_state_name(ir_token_state state);

/* What an op carries in text (attributes.def). */
typedef enum ir_attribute {
    IR_ATTRIBUTE_LITERAL,
    IR_ATTRIBUTE_EXTENT,
    IR_ATTRIBUTE_PARAMETER,
    IR_ATTRIBUTE_PROGRAM,
    IR_ATTRIBUTE_MONOID,
    IR_ATTRIBUTE_AFFINE,
    IR_ATTRIBUTE_SCOPE,
    IR_ATTRIBUTE_ROUNDING, /* from here on `word=value`, after the operands */
    IR_ATTRIBUTE_NAN,
    IR_ATTRIBUTE_ORDER, /* left out where it is a tree */
    IR_ATTRIBUTE_ZERO,  /* left out where it is relaxed */
    IR_ATTRIBUTE_AXIS,
    IR_ATTRIBUTE_AXES,
    IR_ATTRIBUTE_LANES,
    IR_ATTRIBUTE_SLOTS,
    IR_ATTRIBUTE_XOR,
    IR_ATTRIBUTE_LAYOUT,    /* `layout lane 8 | slot 4`; left out where there is none */
    IR_ATTRIBUTE_MECHANISM, /* `by=shuffle`; left out where none is chosen */
    IR_ATTRIBUTE_ARRAY,     /* `of=convert.0`; left out where it has its own */
    IR_ATTRIBUTE_FORM,      /* `form=native`; left out where nothing is said */
    IR_ATTRIBUTE_COUNT
} ir_attribute;

/* The list that the attribute stands for; NULL for other attributes. An empty one has no text. */
ir_list *ir_attribute_list(ir_attributes *attributes, ir_attribute attribute);
bool ir_attribute_leads(ir_attribute attribute); /* stands before the operands */
const char *ir_attribute_word(ir_attribute attribute);
/* Bit ir_attribute of the result is set for each row of the op; text order is enum order. */
unsigned ir_op_attributes(ir_opcode opcode);

#endif
