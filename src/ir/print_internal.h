/* Labels of values, shared by the printing functions: which name or number a value has in the text
 * of its module. */
#ifndef IR_PRINT_INTERNAL_H
#define IR_PRINT_INTERNAL_H

#include "ir/module.h"

typedef struct ir_label {
    const char *name; /* NULL: by number */
    int64_t position; /* of the definition in text order; -1: not in the module */
    bool shared;      /* another value has the name: `name.position` */
} ir_label;

typedef struct ir_labels {
    ir_label *items; /* by value number */
    int64_t count;
} ir_labels;

/* The table lives in `arena`. */
ir_labels ir_labels_find(base_arena *arena, const ir_module *module);
void ir_label_print(base_text *out, const ir_labels *labels, const ir_value *value);

#endif
