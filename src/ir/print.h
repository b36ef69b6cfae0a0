/* Prints a module as canonical text: text_ir_parse(ir_module_print(m)) prints the same bytes.
 * With `facts` the locations, proofs, storage and layouts are included (the complete form);
 * without, they are left out (for reading). */
#ifndef IR_PRINT_H
#define IR_PRINT_H

#include "ir/module.h"

void ir_module_print(base_text *out, const ir_module *module, bool facts);
void ir_type_print(base_text *out, const ir_module *module, const ir_type *type);
/* One op on one line as ir_module_print writes it, without its regions: for verifier findings. */
void ir_op_print(base_text *out, const ir_module *module, const ir_op *op);

#endif
