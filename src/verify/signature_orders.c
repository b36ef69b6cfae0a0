/* Orders of reductions: a hash table from elements to the shapes of trees.
 *
 *     sum(t, order=left) of x 0 .. x 2     elements x 0 + x 1 + x 2, shape ((x 0, x 1), x 2)
 *     sum(t) of the same                   the elements may be joined anyhow: nothing is compared
 */
#include "verify/signature_orders_internal.h"

#include <string.h>

enum { FIRST_PLACES = 64 };

typedef struct noted {
    uint64_t elements; /* their sum and the op; 0 = empty */
    uint64_t shape;    /* 0: any */
} noted;

struct signature_orders {
    base_arena *arena;
    noted *places; /* a power of two of them; all of the same elements follow each other */
    int64_t capacity, count;
    bool failed;
};

signature_orders *signature_orders_create(base_arena *arena) {
    signature_orders *orders = BASE_NEW(arena, signature_orders);
    *orders = (signature_orders){.arena = arena, .capacity = FIRST_PLACES};
    orders->places = BASE_NEW_ARRAY(arena, noted, orders->capacity);
    return orders;
}

void signature_orders_clear(signature_orders *orders) {
    if (orders->count > 0)
        memset(orders->places, 0, sizeof(noted) * (size_t)orders->capacity);
    orders->count = 0;
    orders->failed = false;
}

static uint64_t elements_of(ir_opcode joined, uint64_t sum) {
    uint64_t elements = (sum ^ (uint64_t)joined) * UINT64_C(0x9e3779b97f4a7c15);
    elements ^= elements >> 32;
    return elements == 0 ? 1 : elements;
}

static void insert(signature_orders *orders, noted content) {
    uint64_t mask = (uint64_t)orders->capacity - 1, at = content.elements & mask;
    while (orders->places[at].elements != 0) {
        if (memcmp(&orders->places[at], &content, sizeof content) == 0)
            return;
        at = (at + 1) & mask;
    }
    orders->places[at] = content;
    orders->count++;
}

static void grow(signature_orders *orders) {
    const noted *old = orders->places;
    int64_t capacity = orders->capacity;
    orders->capacity *= 4;
    orders->count = 0;
    orders->places = BASE_NEW_ARRAY(orders->arena, noted, orders->capacity);
    for (int64_t i = 0; i < capacity; i++)
        if (old[i].elements != 0)
            insert(orders, old[i]);
}

void signature_orders_note(signature_orders *orders, ir_opcode joined, uint64_t sum, uint64_t shape,
                           bool ordered) {
    if ((orders->count + 1) * 2 > orders->capacity)
        grow(orders);
    insert(orders, (noted){elements_of(joined, sum), ordered ? shape : 0});
}

void signature_orders_look(signature_orders *orders, ir_opcode joined, uint64_t sum,
                           uint64_t shape) {
    if (orders->count == 0)
        return;
    uint64_t elements = elements_of(joined, sum), mask = (uint64_t)orders->capacity - 1;
    bool met = false;
    for (uint64_t at = elements & mask; orders->places[at].elements != 0; at = (at + 1) & mask) {
        if (orders->places[at].elements != elements)
            continue;
        if (orders->places[at].shape == 0 || orders->places[at].shape == shape)
            return;
        met = true;
    }
    orders->failed = orders->failed || met;
}

bool signature_orders_any(const signature_orders *orders) {
    return orders->count > 0;
}

bool signature_orders_failed(const signature_orders *orders) {
    return orders->failed;
}
