/* Extents: interning, simplification, evaluation and printing of size formulas.
 *
 * A node is looked up by (kind, value, left, right) in an open hash table of the pool; operands are
 * interned already, so that equality of formulas is equality of pointers. The order of commutative
 * operands compares structure and never ids or pointers: `N + 1` and `1 + N` are one node, and
 * which of two pools built it first does not show.
 *
 *     layout_extent_binary(pool, LAYOUT_EXTENT_ADD, one, n)     prints `N + 1`
 *
 * It distributes nothing and knows no identity of div and mod beyond //1 and %1.
 */
#include "layout/extent.h"

#include "base/checked.h"
#include "base/hash.h"

#include <inttypes.h>

void layout_extents_init(layout_extents *pool, base_arena *arena) {
    *pool = (layout_extents){.arena = arena};
}

int64_t layout_extents_declare(layout_extents *pool, const char *name) {
    layout_symbol symbol = {.name = name};
    BASE_PUSH(pool->arena, pool->symbols, pool->symbol_count, pool->symbol_capacity, symbol);
    return pool->symbol_count - 1;
}

/* ---- interning ---- */
static uint64_t node_hash(const layout_extent *node) {
    int64_t key[4] = {(int64_t)node->kind, node->value, node->left == NULL ? -1 : node->left->id,
                      node->right == NULL ? -1 : node->right->id};
    return base_hash_bytes(BASE_HASH_START, key, sizeof key);
}

static bool node_same(const layout_extent *a, const layout_extent *b) {
    return a->kind == b->kind && a->value == b->value && a->left == b->left && a->right == b->right;
}

/* The bucket that holds the node or the empty one where it belongs. */
static int32_t *pool_bucket(const layout_extents *pool, const layout_extent *node) {
    uint64_t at = node_hash(node);
    for (;; at++) {
        int32_t *bucket = &pool->buckets[at & (uint64_t)(pool->bucket_count - 1)];
        if (*bucket == 0 || node_same(pool->nodes[*bucket - 1], node))
            return bucket;
    }
}

static void pool_rehash(layout_extents *pool) {
    pool->bucket_count = pool->bucket_count == 0 ? 64 : pool->bucket_count * 2;
    pool->buckets = BASE_NEW_ARRAY(pool->arena, int32_t, pool->bucket_count);
    for (int64_t i = 0; i < pool->count; i++)
        *pool_bucket(pool, pool->nodes[i]) = (int32_t)(i + 1);
}

static const layout_extent *pool_intern(layout_extents *pool, layout_extent node) {
    if (2 * (pool->count + 1) > pool->bucket_count)
        pool_rehash(pool);
    int32_t *bucket = pool_bucket(pool, &node);
    if (*bucket != 0)
        return pool->nodes[*bucket - 1];
    layout_extent *made = BASE_NEW(pool->arena, layout_extent);
    *made = node;
    made->id = (int32_t)pool->count;
    BASE_PUSH(pool->arena, pool->nodes, pool->count, pool->capacity, made);
    *bucket = made->id + 1;
    return made;
}

const layout_extent *layout_extent_constant(layout_extents *pool, int64_t value) {
    return pool_intern(
        pool, (layout_extent){.kind = LAYOUT_EXTENT_CONSTANT, .value = value, .leaves = 1});
}

const layout_extent *layout_extent_symbol(layout_extents *pool, int64_t symbol) {
    return pool_intern(pool,
                       (layout_extent){.kind = LAYOUT_EXTENT_SYMBOL, .value = symbol, .leaves = 1});
}

/* ---- simplification ---- */
/* Order of commutative operands: compound formulas, then symbols, then constants. */
static int node_rank(const layout_extent *node) {
    if (node->kind == LAYOUT_EXTENT_CONSTANT)
        return 2;
    return node->kind == LAYOUT_EXTENT_SYMBOL ? 1 : 0;
}

static int node_compare(const layout_extent *a, const layout_extent *b) {
    while (a != b) {
        if (node_rank(a) != node_rank(b))
            return node_rank(a) - node_rank(b);
        if (node_rank(a) != 0)
            return a->value < b->value ? -1 : 1;
        if (a->kind != b->kind)
            return (int)a->kind - (int)b->kind;
        bool left_same = a->left == b->left;
        a = left_same ? a->right : a->left;
        b = left_same ? b->right : b->left;
    }
    return 0;
}

static bool kind_commutes(layout_extent_kind kind) {
    return kind == LAYOUT_EXTENT_ADD || kind == LAYOUT_EXTENT_MUL || kind == LAYOUT_EXTENT_MIN ||
           kind == LAYOUT_EXTENT_MAX;
}

static bool node_is(const layout_extent *node, int64_t value) {
    return node->kind == LAYOUT_EXTENT_CONSTANT && node->value == value;
}

static bool combine(layout_extent_kind kind, int64_t a, int64_t b, int64_t *value) {
    switch (kind) {
    case LAYOUT_EXTENT_ADD:
        return base_checked_add(a, b, value);
    case LAYOUT_EXTENT_SUB:
        return base_checked_sub(a, b, value);
    case LAYOUT_EXTENT_MUL:
        return base_checked_mul(a, b, value);
    case LAYOUT_EXTENT_DIV:
        if (a == INT64_MIN && b == -1)
            return false;
        *value = base_floor_div(a, b);
        return true;
    case LAYOUT_EXTENT_MOD:
        *value = base_floor_mod(a, b);
        return true;
    case LAYOUT_EXTENT_MIN:
        *value = a < b ? a : b;
        return true;
    case LAYOUT_EXTENT_MAX:
        *value = a > b ? a : b;
        return true;
    case LAYOUT_EXTENT_CONSTANT:
    case LAYOUT_EXTENT_SYMBOL:
        return false;
    }
    return false;
}

/* The simpler formula that `left kind right` equals, or NULL. Commutative operands are ordered:
 * a constant stands right. */
static const layout_extent *simplified(layout_extents *pool, layout_extent_kind kind,
                                       const layout_extent *left, const layout_extent *right) {
    switch (kind) {
    case LAYOUT_EXTENT_ADD:
        return node_is(right, 0) ? left : NULL;
    case LAYOUT_EXTENT_SUB:
        if (left == right)
            return layout_extent_constant(pool, 0);
        return node_is(right, 0) ? left : NULL;
    case LAYOUT_EXTENT_MUL:
        if (node_is(right, 0))
            return right;
        return node_is(right, 1) ? left : NULL;
    case LAYOUT_EXTENT_DIV:
        if (node_is(right, 0) || node_is(left, 0))
            return layout_extent_constant(pool, 0);
        return node_is(right, 1) ? left : NULL;
    case LAYOUT_EXTENT_MOD:
        if (left == right || node_is(left, 0) || node_is(right, 0) || node_is(right, 1))
            return layout_extent_constant(pool, 0);
        return NULL;
    case LAYOUT_EXTENT_MIN:
    case LAYOUT_EXTENT_MAX:
        return left == right ? left : NULL;
    case LAYOUT_EXTENT_CONSTANT:
    case LAYOUT_EXTENT_SYMBOL:
        return NULL;
    }
    return NULL;
}

const layout_extent *layout_extent_binary(layout_extents *pool, layout_extent_kind kind,
                                          const layout_extent *left, const layout_extent *right) {
    if (left == NULL || right == NULL)
        return NULL;
    if (left->kind == LAYOUT_EXTENT_CONSTANT && right->kind == LAYOUT_EXTENT_CONSTANT) {
        int64_t value = 0;
        bool fits = combine(kind, left->value, right->value, &value);
        return fits ? layout_extent_constant(pool, value) : NULL;
    }
    if (kind_commutes(kind) && node_compare(left, right) > 0) {
        const layout_extent *swap = left;
        left = right;
        right = swap;
    }
    const layout_extent *simple = simplified(pool, kind, left, right);
    if (simple != NULL)
        return simple;
    int32_t leaves = left->leaves + right->leaves;
    if (leaves > LAYOUT_EXTENT_LEAVES)
        return NULL;
    return pool_intern(
        pool, (layout_extent){.kind = kind, .left = left, .right = right, .leaves = leaves});
}

const layout_extent *layout_extent_ceil(layout_extents *pool, const layout_extent *extent,
                                        int64_t divisor) {
    const layout_extent *sum = layout_extent_binary(pool, LAYOUT_EXTENT_ADD, extent,
                                                    layout_extent_constant(pool, divisor - 1));
    return layout_extent_binary(pool, LAYOUT_EXTENT_DIV, sum,
                                layout_extent_constant(pool, divisor));
}

/* ---- values ---- */
bool layout_extent_known(const layout_extents *pool, const layout_extent *extent, int64_t *value) {
    if (extent->kind == LAYOUT_EXTENT_CONSTANT) {
        *value = extent->value;
        return true;
    }
    if (extent->kind == LAYOUT_EXTENT_SYMBOL) {
        const layout_symbol *symbol = &pool->symbols[extent->value];
        if (symbol->known)
            *value = symbol->value;
        return symbol->known;
    }
    int64_t left = 0, right = 0;
    bool left_known = layout_extent_known(pool, extent->left, &left);
    bool right_known = layout_extent_known(pool, extent->right, &right);
    bool nothing = (left_known && left == 0) || (right_known && right == 0);
    if (extent->kind == LAYOUT_EXTENT_MUL && nothing) {
        *value = 0;
        return true;
    }
    return left_known && right_known && combine(extent->kind, left, right, value);
}

bool layout_extent_is(const layout_extents *pool, const layout_extent *extent, int64_t value) {
    int64_t got = 0;
    return layout_extent_known(pool, extent, &got) && got == value;
}

bool layout_extent_equal(const layout_extents *pool, const layout_extent *a,
                         const layout_extent *b) {
    int64_t value = 0;
    return a == b || (layout_extent_known(pool, a, &value) && layout_extent_is(pool, b, value));
}

bool layout_extent_evaluate(const layout_extent *extent, const int64_t *sizes, int64_t *value) {
    if (extent->kind == LAYOUT_EXTENT_CONSTANT) {
        *value = extent->value;
        return true;
    }
    if (extent->kind == LAYOUT_EXTENT_SYMBOL) {
        *value = sizes[extent->value];
        return true;
    }
    int64_t left = 0, right = 0;
    return layout_extent_evaluate(extent->left, sizes, &left) &&
           layout_extent_evaluate(extent->right, sizes, &right) &&
           combine(extent->kind, left, right, value);
}

/* ---- printing ---- */
enum { BIND_SUM = 1, BIND_PRODUCT = 2, BIND_ATOM = 3 };

static const struct {
    int binds; /* how tightly; BIND_ATOM prints as a call */
    const char *text;
} spelling[] = {
    [LAYOUT_EXTENT_CONSTANT] = {BIND_ATOM, ""},  [LAYOUT_EXTENT_SYMBOL] = {BIND_ATOM, ""},
    [LAYOUT_EXTENT_ADD] = {BIND_SUM, " + "},     [LAYOUT_EXTENT_SUB] = {BIND_SUM, " - "},
    [LAYOUT_EXTENT_MUL] = {BIND_PRODUCT, " * "}, [LAYOUT_EXTENT_DIV] = {BIND_PRODUCT, " // "},
    [LAYOUT_EXTENT_MOD] = {BIND_PRODUCT, " % "}, [LAYOUT_EXTENT_MIN] = {BIND_ATOM, "min("},
    [LAYOUT_EXTENT_MAX] = {BIND_ATOM, "max("},
};

static void print_operand(base_text *out, const layout_extents *pool, const layout_extent *extent,
                          bool parentheses) {
    if (parentheses)
        base_text_string(out, "(");
    layout_extent_print(out, pool, extent);
    if (parentheses)
        base_text_string(out, ")");
}

void layout_extent_print(base_text *out, const layout_extents *pool, const layout_extent *extent) {
    if (extent->kind == LAYOUT_EXTENT_CONSTANT) {
        base_text_format(out, "%" PRId64, extent->value);
        return;
    }
    if (extent->kind == LAYOUT_EXTENT_SYMBOL) {
        base_text_string(out, pool->symbols[extent->value].name);
        return;
    }
    int binds = spelling[extent->kind].binds;
    if (binds == BIND_ATOM) {
        base_text_string(out, spelling[extent->kind].text);
        layout_extent_print(out, pool, extent->left);
        base_text_string(out, ", ");
        layout_extent_print(out, pool, extent->right);
        base_text_string(out, ")");
        return;
    }
    print_operand(out, pool, extent->left, spelling[extent->left->kind].binds < binds);
    base_text_string(out, spelling[extent->kind].text);
    print_operand(out, pool, extent->right, spelling[extent->right->kind].binds <= binds);
}
