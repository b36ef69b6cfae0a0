/* A launch's tile program while it is built: what split_build.c and split_parts.c share. */
#ifndef PASS_SPLIT_BUILD_INTERNAL_H
#define PASS_SPLIT_BUILD_INTERNAL_H

#include "pass/split_internal.h"

typedef struct split_build_state {
    split_state *split;
    split_launch launch;
    ir_module *module;
    ir_builder builder;
    const layout_extent *length, *parts; /* elements of a part, parts */
    ir_value *start, *left;              /* of a part; left NULL: all of them */
    ir_value *programs[IR_MAX_PROGRAMS]; /* numbers of programs along each axis of the kernel */
    ir_value *part;
    ir_value **workspace; /* by partial result */
} split_build_state;

/* split_parts.c: the copy of an op becomes what it is of one part. `old`: the kernel's op. */
void split_op_into_parts(split_build_state *b, const ir_op *old, ir_op *op);

#endif
