/* Ranges: small proofs about index values, in terms of sizes.
 *
 *     program i: N step 64;  k in 0..N:   k >= 0,  k < N,  i % 64 < 64,  arange(64) // 8 < 8
 *
 * An index value is a polynomial over atoms (sizes, program and loop indices, elements of tiles,
 * and quotients, remainders, minima of such). To prove p >= 0, atoms are replaced by their bounds
 * until no negative term is left. The search is bounded: it may miss a proof, never invents one.
 * Sizes and indices are taken to stay below 2^63 where a kernel multiplies them.
 */
#ifndef TEXT_RANGE_INTERNAL_H
#define TEXT_RANGE_INTERNAL_H

#include "ir/module.h"

enum { RANGE_TERMS = 12, RANGE_DEGREE = 3, RANGE_BOUNDS = 2 };

typedef struct range_term {
    int64_t factor;
    int32_t degree;
    int32_t atoms[RANGE_DEGREE]; /* ascending */
} range_term;

typedef struct range_poly {
    bool valid; /* false: too large to hold */
    int32_t count;
    range_term terms[RANGE_TERMS]; /* ordered by atoms; factors not 0 */
} range_poly;

typedef enum range_atom_kind {
    RANGE_SYMBOL,  /* number: the symbol */
    RANGE_FORMULA, /* extent: a formula that has no polynomial */
    RANGE_PROGRAM, /* number: the program axis */
    RANGE_VALUE,   /* value (and axes, of a tile): anything else; loop indices too */
    RANGE_ELEMENT, /* number: axis of the tile */
    RANGE_DIV,     /* a // number, number > 0 */
    RANGE_MOD,     /* a % number, number > 0 */
    RANGE_MIN,     /* of a and b */
    RANGE_MAX,
    RANGE_SELECT, /* a or b; value: the select */
} range_atom_kind;

typedef struct range_atom {
    range_atom_kind kind;
    int64_t number;
    const ir_value *value;
    const layout_extent *extent;
    int axes[IR_MAX_RANK];
    range_poly a, b;
    bool not_negative;
    int upper_count, lower_count;
    range_poly upper[RANGE_BOUNDS], lower[RANGE_BOUNDS];
} range_atom;

/* What a size symbol is in a polynomial. */
typedef enum range_sizes {
    RANGE_SIZES_SYMBOLIC,
    RANGE_SIZES_KNOWN, /* the specialised ones are constants */
    RANGE_SIZES_BOUND, /* the bound ones are constants, others 1: for questions about this call */
} range_sizes;

typedef struct range {
    base_arena *arena;
    ir_module *module;
    const int64_t *bound; /* sizes by symbol, -1: not bound */
    range_sizes sizes;
    range_atom **atoms;
    int64_t count, capacity;
    int visits;     /* of values in the running query */
    int steps;      /* of the running proof */
    int64_t effort; /* left for the kernel: then nothing more is proved */
} range;

void range_init(range *r, base_arena *arena, ir_module *module, const int64_t *bound);

range_poly range_constant(int64_t value);
range_poly range_add(range_poly a, range_poly b);
range_poly range_sub(range_poly a, range_poly b);
range_poly range_mul(range_poly a, range_poly b);
range_poly range_scale(range_poly a, int64_t factor);
bool range_is_constant(const range_poly *p, int64_t *value);
range_poly range_of_extent(range *r, const layout_extent *extent);
/* An index scalar, or an element of an index tile: axis i of the tile is element atom i. */
range_poly range_of_value(range *r, const ir_value *value);
bool range_proves_not_negative(range *r, const range_poly *p);

/* ---- for a proof of one's own: begin, make polynomials, prove ---- */
void range_begin(range *r, range_sizes sizes);
range_poly range_element(range *r, const layout_extent *extent, int axis);
range_poly range_quotient(range *r, range_poly a, int64_t divisor);
/* As a formula, NULL when it holds more than sizes. */
const layout_extent *range_to_extent(range *r, const range_poly *p);

/* ---- questions: each begins afresh ---- */
bool range_not_negative(range *r, const ir_value *scalar);
/* 0 <= value < extent, for every element. */
bool range_inside(range *r, const ir_value *value, const layout_extent *extent);
/* start + length <= extent or, where less is left, length is exactly that; start NULL = 0. */
bool range_fits(range *r, const ir_value *start, const layout_extent *length,
                const layout_extent *extent);
/* to - from as a size formula, or NULL. */
const layout_extent *range_distance(range *r, const ir_value *from, const ir_value *to);
/* |value| <= limit in this call (sizes that are not bound count as small). */
bool range_within(range *r, const ir_value *value, int64_t limit);
bool range_extent_equal(range *r, const layout_extent *a, const layout_extent *b);
bool range_extent_not_negative(range *r, const layout_extent *extent);

#endif
