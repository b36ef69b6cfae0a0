/* What the families of rules share: the state, the report, the walk, and silent questions.
 *
 * Rules assume nothing: any of them may run on a module that breaks every other. An op is looked at
 * by deeper rules only when it is formed (verify_op_is_formed). */
#ifndef VERIFY_INTERNAL_H
#define VERIFY_INTERNAL_H

#include "verify/verify.h"

typedef enum verify_rule {
#define RULE(ID, slug, levels, doc) VERIFY_##ID,
#include "verify/rules.def"
#undef RULE
    VERIFY_RULE_COUNT
} verify_rule;

typedef struct verify_state {
    const ir_module *module;
    const char *disabled; /* slug, or NULL */
    verify_effort effort;
    base_diagnostics *diagnostics;
    int64_t broken;
    const ir_value **visible; /* by number: the value that is defined here, or NULL */
    int8_t *carry; /* thread, by number: 1 + the carry operand of an op that joins an element to the
                      carry of a reduction, else 0 */
} verify_state;

const char *verify_rule_slug(verify_rule rule);

/* Reports that the op breaks the rule (NULL: the module does): `found` is the op's line. */
void verify_report(verify_state *state, verify_rule rule, const ir_op *op, const char *expected,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Calls check for each op, outer before inner, in order. */
void verify_walk(verify_state *state, const ir_region *region,
                 void (*check)(verify_state *state, const ir_op *op));

/* ---- silent questions ---- */
/* Counts of operands, results, regions and arguments are those of the op, its regions end as they
 * must, and its access is formed. */
bool verify_op_is_formed(const verify_state *state, const ir_op *op);
bool verify_region_is_formed(const verify_state *state,
                             const ir_region *region); /* each op in it */
bool verify_operand_count_holds(const ir_op *op);
bool verify_result_count_holds(const ir_op *op);
bool verify_region_arguments_hold(const ir_op *op);
bool verify_stride_is_formed(const verify_state *state, const ir_op *op);
bool verify_access_is_formed(const verify_state *state, const ir_op *op);
/* The extents that the indices of a formed access give at tile and mapped; false when its index
 * tiles do not broadcast. */
bool verify_access_shape(const verify_state *state, const ir_op *op, ir_type *shape);
bool verify_type_is_formed(const verify_state *state, const ir_type *type);
bool verify_is_scalar(const ir_value *value); /* rank-0 tile, or uniform */
bool verify_is_tile(const ir_value *value);   /* tile of rank 1 and more */
bool verify_extent_is_one(const verify_state *state, const layout_extent *extent);
bool verify_extent_equal(const verify_state *state, const layout_extent *a, const layout_extent *b);
/* One value, or two that are made alike from alike values: equal wherever both are defined. */
bool verify_same_value(const verify_state *state, const ir_value *a, const ir_value *b);
/* The same with loads as functions of their indices: equal where no store comes between. */
bool verify_same_or_loaded_alike(const verify_state *state, const ir_value *a, const ir_value *b);
bool verify_types_agree(const verify_state *state, const ir_type *a, const ir_type *b);

/* ---- families ---- */
void verify_structure(verify_state *state);
void verify_access_forms(verify_state *state);
void verify_types(verify_state *state);
void verify_shape_change(verify_state *state, const ir_op *op);  /* formed, of shape OTHER */
void verify_table_domains(verify_state *state, const ir_op *op); /* formed, of the op table */
void verify_access_domains(verify_state *state, const ir_op *op);
void verify_recorded_forms(verify_state *state); /* formed, and so is what it implements */
void verify_axes(verify_state *state);           /* mapped and thread */
void verify_mapped(verify_state *state);
void verify_owners(verify_state *state); /* tile and mapped */
void verify_loads(verify_state *state);  /* tile and mapped */
void verify_facts(verify_state *state);  /* tile and mapped */
void verify_thread(verify_state *state);
void verify_conditions(verify_state *state); /* and what accesses say by them */
void verify_thread_memory(verify_state *state);
/* Whether the constant is the identity of the monoid for the element type of what is reduced:
 * `entering` is an element on its way to the carry, already of the dtype of the state; NULL:
 * unknown. */
bool verify_is_identity(ir_monoid monoid, const ir_constant *constant, const ir_value *entering);
/* Forms of what lanes do together, then what follows from them. */
void verify_team(verify_state *state);
void verify_thread_forms(verify_state *state);
void verify_tokens(verify_state *state);
/* No lane puts a cell that another one got since it was published, as far as the put's token goes
 * back. */
bool verify_token_again_holds(verify_state *state, const ir_op *put);
/* The loop runs at least once, and once only: by constants that stand as its bounds. */
bool verify_loop_runs(const ir_op *loop, bool *once);
void verify_hazards(verify_state *state); /* looks at no token */
void verify_lane_facts(verify_state *state);
void verify_value_ranges(verify_state *state);
void verify_reductions(verify_state *state);   /* thread; sets carry */
void verify_replay(verify_state *state);       /* thread, after verify_reductions */
void verify_same_program(verify_state *state); /* mapped: compared with the tile program */

/* mapped_width.c: groups of the access's width are neighbours in memory wherever they stand. */
bool verify_mapped_width_holds(const verify_state *state, const ir_op *op);

#endif
