/* Plans as plain data: every decision of a mapping, by anchors on the canonical tile IR.
 *
 *     plan softmax canon 5d1e8c0a91b2f733 machine cpu-avx2 for N = 4096
 *     axis row      group *
 *     axis N        lane 8 | slot 4 | step 128         or: .. | step * shift x.0
 *     keep e        private
 *     reduce max.0  tree
 *     access x.0    width 8 policy default
 *     math exp.0    portable
 *     div div.0     reciprocal
 *
 * A plan is complete: one line for each thing that a row of plan_kinds.def speaks of, in the order
 * of the canonical IR. text/plan_parse.h reads it; planner/ makes it; pass/map.c applies it and
 * refuses a missing or unknown anchor. Lines that were read know where they stand, for findings.
 */
#ifndef IR_PLAN_H
#define IR_PLAN_H

#include "ir/module.h"

typedef enum ir_plan_kind {
#define PLAN_KIND(id, word, of, decision) IR_PLAN_##id,
#include "ir/plan_kinds.def"
#undef PLAN_KIND
    IR_PLAN_KIND_COUNT
} ir_plan_kind;

/* One decision. Fields of other kinds are zero. */
typedef struct ir_plan_line {
    const char *anchor;
    base_location location;
    layout_axis digits;     /* AXIS */
    ir_storage storage;     /* KEEP: REGISTERS, PRIVATE, RELOAD (loads), RECOMPUTE, OUTPUT */
    int width;              /* ACCESS */
    ir_policy policy;       /* ACCESS */
    bool early;             /* ACCESS: a load that is issued before anything waits */
    int prefetch;           /* ACCESS: a load that has the cache fetch what it will read so many
                               programs later; 0: it does not */
    int prefetch_sweep;     /* .. in this one of the sweeps that read it; the first one is 0 */
    layout_class mechanism; /* CONVERT: how a tile gets from owner to owner, as the layouts allow */
    ir_math_form form;      /* MATH: PORTABLE or NATIVE. DIV: EXACT or RECIPROCAL */
    ir_order order;         /* REDUCE */
    const char *of; /* KEEP in an output: the anchor of its store, such as y.0. CONVERT by scratch:
                       the conversion whose array is used again. NULL: none */
} ir_plan_line;

typedef struct ir_plan_list {
    ir_plan_line *lines;
    int64_t count, capacity;
} ir_plan_list;

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
    ir_plan_list of[IR_PLAN_KIND_COUNT];
} ir_plan;

/* `axis`, `keep`, ... */
const char *ir_plan_kind_name(ir_plan_kind kind);

/* Appends a line and returns it, to be filled before the next one is added. */
ir_plan_line *ir_plan_add(base_arena *arena, ir_plan *plan, ir_plan_kind kind, const char *anchor);
/* The line for the anchor; NULL when there is none, and for an anchor NULL. */
ir_plan_line *ir_plan_find(const ir_plan *plan, ir_plan_kind kind, const char *anchor);

/* Canonical text: one line per decision, decisions in one column. */
void ir_plan_print(base_text *out, const ir_plan *plan);
/* What the text says of a line behind its anchor. */
void ir_plan_decision_print(base_text *out, ir_plan_kind kind, const ir_plan_line *line);
/* Of the decisions in their order, without any name: renaming changes nothing. Works in the arena.
 */
uint64_t ir_plan_hash(base_arena *arena, const ir_plan *plan);

#endif
