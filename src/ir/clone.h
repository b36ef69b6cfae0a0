/* A copy of a module that shares nothing with it but the kernel's source. */
#ifndef IR_CLONE_H
#define IR_CLONE_H

#include "ir/module.h"

/* Copies a module of any level into the arena: ops, regions, values, types, size formulas, axes,
 * texts; locations, anchors and facts included. Values keep their numbers. Printing both gives the
 * same bytes, and the copy outlives the arena of the original. A broken module is copied as it is:
 * a value that is used but not defined in it is copied without a definition. */
ir_module *ir_module_clone(base_arena *arena, const ir_module *module);

#endif
