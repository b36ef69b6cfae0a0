/* Signatures: from which elements a value is computed, whatever the arithmetic.
 *
 *     %t = load %x[3, 66]         { x 201 }                     the cells it comes from
 *     %e = exp %t                 { x 201 }                     a polynomial gives the same
 *     %d = div %e, %s             { x 201, sum of .. }          a reduction is one source
 *     %p = add %acc, %e           sum of (.. and { x 201 })     partial: elements of one reduction
 *
 * Partial results of one monoid add up: elements are counted, in any order, and what is not
 * counted is the identity. Used by anything else, a partial result is one source, named by the
 * monoid and all that has entered. A partial result begins where an element meets the identity, so
 * that no reduction need be recognised: a program that adds in a loop and one that reduces by lanes
 * come to the same. Constants are no sources; as elements of a reduction they count by value.
 *
 * Signatures are numbers of entries of a table, to be asked whether they are the same. What may
 * depend on who computes it (a function of constants, a path that was not followed) is
 * SIGNATURE_UNKNOWN, and is compared with nothing.
 */
#ifndef VERIFY_SIGNATURE_TABLE_INTERNAL_H
#define VERIFY_SIGNATURE_TABLE_INTERNAL_H

#include "ir/module.h"

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef uint32_t signature;

enum {
    SIGNATURE_UNKNOWN,  /* absorbs whatever it meets */
    SIGNATURE_CONSTANT, /* of constants, its value unknown */
    SIGNATURE_OUTSIDE,  /* where no element stands; a source like others */
};

typedef struct signature_table signature_table;

signature_table *signature_table_create(base_arena *arena);
/* Forgets all signatures but those above. */
void signature_table_clear(signature_table *table);

/* Whether a constant of unknown value that enters a reduction is an element as others are. Where
 * such a constant may be known to others, it must not be: the result is unknown. */
void signature_table_count_constants(signature_table *table, bool counts);

/* Constants: known integers (bool: 0 and 1), literals. */
signature signature_number(signature_table *table, int64_t number);
signature signature_literal(signature_table *table, const ir_constant *constant);

/* One source, named by words. */
signature signature_source(signature_table *table, const uint64_t *words, int count);

/* The same of three words, of which the first two are often those of the call before. */
signature signature_element_source(signature_table *table, const uint64_t words[3]);

/* Computed from both. */
signature signature_union(signature_table *table, signature a, signature b);
/* What is loaded, by indices from `sources`: by constants it is what was stored, a partial result
 * too. */
signature signature_indexed(signature_table *table, signature stored, signature sources);
/* Computed from both by an op of the op table, which may be one that joins; `dtype` is that of the
 * result. */
signature signature_joined(signature_table *table, ir_opcode opcode, base_dtype dtype, signature a,
                           signature b);
/* Signatures of many positions; step 0: one for all. */
typedef struct signature_row {
    const signature *items;
    int step;
} signature_row;

/* The same at `count` positions. */
void signature_join_rows(signature_table *table, ir_opcode opcode, base_dtype dtype,
                         signature_row a, signature_row b, signature *result, int64_t count);
/* All of them joined, one after the other. */
signature signature_join_all(signature_table *table, ir_opcode opcode, base_dtype dtype,
                             const signature *items, int64_t count);
/* Whether any is a partial result or comes from constants alone. */
bool signature_row_is_special(const signature_table *table, const signature *items, int64_t count);
/* Whether the op joins elements to a reduction in values of the dtype. */
bool signature_joins(const signature_table *table, ir_opcode opcode, base_dtype dtype);
/* A partial result as the one source that it is to others; anything else as it is. */
signature signature_settled(signature_table *table, signature a);
/* A partial result that is made at once: begun with zeros, elements of `opcode` added in any order.
 */
typedef struct signature_sum {
    uint64_t sum;
    signature only; /* the one element */
    int64_t count;
    bool unknown;
} signature_sum;

void signature_sum_add(signature_table *table, signature_sum *sum, ir_opcode opcode,
                       base_dtype dtype, signature element);
/* `identity` where nothing was added. */
signature signature_sum_mark(signature_table *table, const signature_sum *sum, ir_opcode opcode,
                             signature identity);
/* ---- orders ---- */
/* Of elements joined in the order, one of those that are no tree of the plan's. */
uint64_t signature_ordered_shape(signature_table *table, ir_opcode opcode, base_dtype dtype,
                                 ir_order order, const signature *elements, int64_t count);
/* The partial result, joined by a tree of that shape. */
signature signature_ordered_mark(signature_table *table, signature sum, uint64_t shape);
/* Notes a reduction of the tile program, and whether its order is known. From then on partial
 * results of the same elements must have been joined so, when they are used. */
void signature_order_note(signature_table *table, signature sum, bool ordered);
bool signature_table_has_orders(const signature_table *table);
/* Whether one was not. */
bool signature_is_reordered(const signature_table *table);

bool signature_is_partial(const signature_table *table, signature a);
/* Whether it comes from constants alone. */
bool signature_is_constant(const signature_table *table, signature a);
/* The value of a constant; false where it is none, or its value is not known. */
bool signature_literal_value(const signature_table *table, signature a, double *value);
/* 64 bits that stand for it, settled. */
uint64_t signature_hash(signature_table *table, signature a);
bool signature_is_same(const signature_table *table, signature a, signature b);

/* Whether both may be the same, settled. */
bool signature_agrees(signature_table *table, signature a, signature b);

#endif
