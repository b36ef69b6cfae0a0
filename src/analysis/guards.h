/* Guards: how often a worker (a lane) asks whether elements of an access are there.
 *
 *     load %x[lane*4 + slot*1] width=4 : f32(4)                             0
 *     load %x[lane*4 + slot*1] mask=lane*4 + slot*1 < %n : f32(4)           2: a pack of 4 elements
 *                                                                           is there, or part of it
 *     the same, where 4 divides %n; load ... mask=lane*1 < %n : f32(1)      1
 *     load %x[..] mask=%b : f32(4)                                          4: each on its own
 *     load .. mask=(group*8 + lane/4 < %R in all slots) : f32(4)            0
 *
 * A pack is a run of slots whose positions in the mask count on by one. Whether a lane has a
 * program of its own, or is the one of several that stores, is asked of the lane, as `when` does:
 * of positions and sizes, alike for all slots. That is no guard of an element. */
#ifndef ANALYSIS_GUARDS_H
#define ANALYSIS_GUARDS_H

#include "ir/module.h"

/* Slots of a pack of a range mask: a power of two; 1: each slot is alone. `slots` of the access. */
int analysis_guard_pack(const ir_access *access, int slots);
/* Under a range mask, where every pack begins at a multiple of it: elements that are left behind
 * the last whole pack (0: the mask takes a pack or leaves it). -1: that is not known. */
int64_t analysis_guard_rest(const ir_op *op, int pack);
/* Guards of an access of level thread, each time that it is made. */
int64_t analysis_guards(const ir_op *op);

#endif
