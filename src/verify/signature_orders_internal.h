/* The orders in which the tile program joins the elements of its reductions, and whether another
 * program joined the same elements otherwise. Used by the signature table alone. */
#ifndef VERIFY_SIGNATURE_ORDERS_INTERNAL_H
#define VERIFY_SIGNATURE_ORDERS_INTERNAL_H

#include "base/arena.h"
#include "ir/ops.h"

typedef struct signature_orders signature_orders;

signature_orders *signature_orders_create(base_arena *arena);
void signature_orders_clear(signature_orders *orders);
/* A reduction of these elements (their sum) by a tree of that shape; not ordered: by any. */
void signature_orders_note(signature_orders *orders, ir_opcode joined, uint64_t sum, uint64_t shape,
                           bool ordered);
/* A reduction that is used: it fails where all that were noted of these elements have an order, and
 * none has this shape. */
void signature_orders_look(signature_orders *orders, ir_opcode joined, uint64_t sum,
                           uint64_t shape);
bool signature_orders_any(const signature_orders *orders);
bool signature_orders_failed(const signature_orders *orders);

#endif
