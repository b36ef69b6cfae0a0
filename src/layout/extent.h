/* Extents: symbolic sizes.
 *
 * An extent is a formula over size symbols (R, N, ...): constants, symbols, + - * // % min max.
 * Formulas are interned in a pool, so that equal formulas are one pointer, and simplified on
 * construction (constant folding, x+0, x*1, x*0, x-x, x//1, x%1, min(x, x); operands of commutative
 * nodes in an order of structure: compound, symbols by index, constants). Building a formula from
 * its printed text in any pool with the same symbols prints the same text.
 * A symbol may be *known*: the size was specialised to a constant. Types keep the symbol, so that
 * names survive specialisation; layout_extent_known folds it.
 *
 * Every formula is a non-negative number of elements or programs wherever it is used as an extent.
 */
#ifndef LAYOUT_EXTENT_H
#define LAYOUT_EXTENT_H

#include "base/arena.h"
#include "base/text.h"

#include <stdbool.h>

/* Leaves that one formula may have, written out as a tree: bounds recursion and printed size. */
enum { LAYOUT_EXTENT_LEAVES = 1000 };

typedef enum layout_extent_kind {
    LAYOUT_EXTENT_CONSTANT,
    LAYOUT_EXTENT_SYMBOL,
    LAYOUT_EXTENT_ADD,
    LAYOUT_EXTENT_SUB,
    LAYOUT_EXTENT_MUL,
    LAYOUT_EXTENT_DIV, /* floor; x // 0 = 0 */
    LAYOUT_EXTENT_MOD, /* floor; x % 0 = 0 */
    LAYOUT_EXTENT_MIN,
    LAYOUT_EXTENT_MAX,
} layout_extent_kind;

typedef struct layout_extent {
    layout_extent_kind kind;
    int32_t id; /* position in the pool */
    int32_t leaves;
    int64_t value; /* CONSTANT: the number. SYMBOL: its index */
    const struct layout_extent *left;
    const struct layout_extent *right;
} layout_extent;

typedef struct layout_symbol {
    const char *name;
    bool known;
    int64_t value; /* when known */
} layout_symbol;

typedef struct layout_extents {
    base_arena *arena;
    layout_extent **nodes;
    int64_t count, capacity;
    int32_t *buckets; /* hash table of ids + 1, 0 = empty; a power of two of them */
    int64_t bucket_count;
    layout_symbol *symbols;
    int64_t symbol_count, symbol_capacity;
} layout_extents;

void layout_extents_init(layout_extents *pool, base_arena *arena);

/* Declares a symbol; its index is the old symbol_count. */
int64_t layout_extents_declare(layout_extents *pool, const char *name);

const layout_extent *layout_extent_constant(layout_extents *pool, int64_t value);
const layout_extent *layout_extent_symbol(layout_extents *pool, int64_t symbol);
/* NULL when folding constants overflows 64 bits, or past LAYOUT_EXTENT_LEAVES. */
const layout_extent *layout_extent_binary(layout_extents *pool, layout_extent_kind kind,
                                          const layout_extent *left, const layout_extent *right);
/* ceil(a / b) as (a + b - 1) // b. */
const layout_extent *layout_extent_ceil(layout_extents *pool, const layout_extent *extent,
                                        int64_t divisor);

/* True when every symbol in the formula is known (and nothing overflows), or a factor of a product
 * is 0: *value is set. */
bool layout_extent_known(const layout_extents *pool, const layout_extent *extent, int64_t *value);
/* Known and equal to `value`. */
bool layout_extent_is(const layout_extents *pool, const layout_extent *extent, int64_t value);
/* Same formula, or both known and equal. */
bool layout_extent_equal(const layout_extents *pool, const layout_extent *a,
                         const layout_extent *b);
/* Value under sizes[symbol]; false on overflow. */
bool layout_extent_evaluate(const layout_extent *extent, const int64_t *sizes, int64_t *value);

/* `N`, `N // 2 + 1`: with the fewest parentheses, operators as in the kernel language,
 * `min(a, b)`, `max(a, b)`. */
void layout_extent_print(base_text *out, const layout_extents *pool, const layout_extent *extent);

#endif
