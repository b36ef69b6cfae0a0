/* Layouts: who owns each logical index.
 *
 * A layout lists, per axis and least significant first, digits (radix, holder): the logical index
 * of an axis is the mixed-radix number of its digits, so the map is a bijection onto [0, product of
 * radices) and an extent that is not the product is a prefix: valid iff index < extent.
 *
 *     lane 8 | slot 4 | step *      index = lane + 8 * slot + 32 * step     (a vector row program)
 *     step *                        every element in one lane               (the fallback)
 *     group *                       one program per group
 *     lane 8 | group *              eight programs in the lanes of a group
 *
 * Only the most significant digit of an axis may have a runtime radix, printed `*`. Holders:
 *     slot      a register of the lane            step   an iteration of a sweep
 *     lane      a lane of the subgroup            block  a group of the cluster
 *     subgroup  a subgroup of the team            group  a position in the grid
 *
 * A holder may have several digits: `slot 4 | lane 32 | slot 2` gives slot 4 + s the elements from
 * 128 on. `lane 4 @8` (stride 8) says that the digit counts in eights of the lane number. This room
 * knows nothing of the IR.
 */
#ifndef LAYOUT_LAYOUT_H
#define LAYOUT_LAYOUT_H

#include "base/arena.h"
#include "base/text.h"

#include <stdbool.h>

enum { LAYOUT_MAX_RANK = 4, LAYOUT_MAX_DIGITS = 12 };

typedef enum layout_holder {
    LAYOUT_SLOT,
    LAYOUT_STEP,
    LAYOUT_LANE,
    LAYOUT_SUBGROUP,
    LAYOUT_BLOCK,
    LAYOUT_GROUP,
    LAYOUT_HOLDER_COUNT
} layout_holder;

typedef struct layout_digit {
    layout_holder holder;
    int64_t radix;  /* 0 = runtime (`*`), most significant digit only */
    int64_t stride; /* weight of the digit inside the holder's own number; 0 = in the order written:
                       the product of the radices of the holder's digits before it */
} layout_digit;

/* The digits of one axis, least significant first. No digits: extent 1. */
typedef struct layout_axis {
    int count;
    layout_digit digits[LAYOUT_MAX_DIGITS];
} layout_axis;

const char *layout_holder_name(layout_holder holder);

/* Product of the radices held by `holder` (1 when there is none); a runtime radix counts as 0. */
int64_t layout_axis_radix(const layout_axis *axis, layout_holder holder);
/* Weight in the logical index of the (first) digit held by `holder`; 0 when there is none. */
int64_t layout_axis_weight(const layout_axis *axis, layout_holder holder);
/* Product of all radices but those of steps and groups: the elements of one step. */
int64_t layout_axis_chunk(const layout_axis *axis);
bool layout_axis_has(const layout_axis *axis, layout_holder holder);
bool layout_axis_equal(const layout_axis *a, const layout_axis *b);

/* index = sum of digit * weight. `position[holder]` is the number in each holder (each holder has
 * at most one digit per axis). Inverse: layout_axis_owner. */
int64_t layout_axis_logical(const layout_axis *axis, const int64_t position[LAYOUT_HOLDER_COUNT]);
void layout_axis_owner(const layout_axis *axis, int64_t index,
                       int64_t position[LAYOUT_HOLDER_COUNT]);

/* NULL when the axis is well formed: radices at least 1, runtime radix only last, one digit per
 * holder, step and group digits above slot and lane digits; else the reason (static text). */
const char *layout_axis_check(const layout_axis *axis);

/* `lane 8 | slot 4 | step *`; `none` for no digits. Reading: true on success, *used bytes consumed;
 * else *reason is a static text and *used the position of the fault. */
void layout_axis_print(base_text *out, const layout_axis *axis);
bool layout_axis_parse(const char *text, size_t length, layout_axis *axis, size_t *used,
                       const char **reason);

#endif
