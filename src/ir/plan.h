/* Plans as plain data: every decision of a mapping, by anchors on the canonical tile IR.
 *
 *     plan softmax canon 5d1e8c0a91b2f733 machine cpu-avx2 for N = 4096
 *     axis row      group *
 *     axis N        lane 8 | slot 4 | step 128         or: .. | step * shift x.0
 *     keep e        private
 *     reduce max.0  tree
 *     access x.0    width 8
 *     math exp.0    portable
 *
 * A plan is complete: one line per axis, per kept tile, per reduction, access, conversion and math
 * op, in the order of the canonical IR. text/plan_parse.h reads it; planner/ makes it; pass/map.c
 * applies it and refuses a missing or unknown anchor. Lines that were read know where they stand,
 * for findings.
 */
#ifndef IR_PLAN_H
#define IR_PLAN_H

#include "ir/module.h"

typedef enum ir_math_form { IR_MATH_PORTABLE } ir_math_form;

typedef struct ir_plan_axis {
    const char *anchor;
    layout_axis digits;
    base_location location;
} ir_plan_axis;

/* How a tile value that a later sweep needs gets there. */
typedef struct ir_plan_keep {
    const char *anchor;
    ir_storage storage; /* REGISTERS, PRIVATE, RELOAD (loads), RECOMPUTE, OUTPUT */
    const char *access; /* OUTPUT: the anchor of the store, such as y.0; NULL else */
    base_location location;
} ir_plan_keep;

typedef struct ir_plan_anchor {
    const char *anchor;
    base_location location;
} ir_plan_anchor;

typedef struct ir_plan_access {
    const char *anchor;
    int width;
    base_location location;
} ir_plan_access;

/* How a converted tile gets from owner to owner: a mechanism that the layouts allow. */
typedef struct ir_plan_convert {
    const char *anchor;
    layout_class mechanism;
    const char *array; /* SCRATCH: the conversion whose array is used again; NULL: its own */
    base_location location;
} ir_plan_convert;

typedef struct ir_plan_math {
    const char *anchor;
    ir_math_form form;
    base_location location;
} ir_plan_math;

typedef struct ir_plan_condition {
    const char *symbol; /* a size ... */
    int64_t value;      /* ... that the plan was made for */
    base_location location;
} ir_plan_condition;

typedef struct ir_plan {
    base_location location; /* of the first line; zero for a plan that was made, not read */
    const char *kernel;
    uint64_t canonical_hash;
    const char *machine;
    ir_plan_condition *conditions;
    int condition_count;
    ir_plan_axis *axes;
    int axis_count;
    ir_plan_keep *keeps;
    int keep_count;
    ir_plan_anchor *reduces; /* order tree */
    int reduce_count;
    ir_plan_access *accesses;
    int access_count;
    ir_plan_convert *converts;
    int convert_count;
    ir_plan_math *maths;
    int math_count;
} ir_plan;

const char *ir_math_form_name(ir_math_form form);

/* Canonical text: one line per decision, decisions in one column. */
void ir_plan_print(base_text *out, const ir_plan *plan);
/* Of the decisions in their order, without any name: renaming changes nothing. */
uint64_t ir_plan_hash(const ir_plan *plan);

#endif
