/* What the two halves of the canonical order share: histories (canonicalise_history.c) and placing
 * (canonicalise_order.c). */
#ifndef PASS_CANONICALISE_ORDER_INTERNAL_H
#define PASS_CANONICALISE_ORDER_INTERNAL_H

#include "pass/canonicalise_internal.h"

#include "analysis/axes.h"

typedef struct order_node {
    ir_op *op;
    uint64_t hash;
    int stored;     /* the first tensor parameter that it writes, -1 = no effect */
    int64_t *needs; /* nodes of the region, in canonical order of their use */
    int64_t need_count, need_capacity;
    bool placed;
} order_node;

/* Memory of one tensor, in one region. */
typedef struct order_memory {
    int64_t store;  /* node of the last store, -1 */
    int64_t *loads; /* nodes since then */
    int64_t count, capacity;
} order_memory;

typedef struct order_state {
    ir_module *module;
    const analysis_axes *owners; /* NULL: the kernel fixes none */
    uint64_t *hashes;            /* [value number] */
    int64_t *node_of;            /* [value number]: node in the region of its definer */
    uint64_t *memory;            /* [parameter]: hash of what a load sees */
    int *parameter_of;           /* [value number of a tensor] */
    bool sorts_carries;          /* the first walk: carries are told apart by where they begin */
    bool changed;
} order_state;

typedef struct order_region_state {
    order_state *state;
    ir_region *region;
    order_node *nodes;
    int64_t count;
    order_memory *memory; /* [parameter] */
} order_region_state;

/* Hashes of what the ops of a region do; orders it (but in the walk that sorts carries). */
uint64_t canonicalise_order_region(order_state *state, ir_region *region, int depth);
/* The hash of a node, and of its results; what its stores leave in memory. */
void canonicalise_order_hash_node(order_region_state *r, int64_t node, int depth);
/* The parameter that a load or store accesses. */
int canonicalise_order_parameter_of(const order_state *state, const ir_op *access);
/* Calls visit for every load and store at and below the op. */
void canonicalise_order_each_access(order_region_state *r, ir_op *op, int64_t node,
                                    void (*visit)(order_region_state *, ir_op *, int64_t));

#endif
