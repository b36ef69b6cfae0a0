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
 * Only the most significant digit of an axis may have a runtime radix, printed `*`; and the steps
 * of an axis in parts, `step * | group 16`, whose number the extent makes: positions are asked of
 * the axis of one part only. Holders:
 *     slot      a register of the lane            step   an iteration of a sweep
 *     lane      a lane of the subgroup            block  a group of the cluster
 *     subgroup  a subgroup of the team            group  a position in the grid
 *
 * A holder may have several digits: `slot 4 | lane 32 | slot 2` gives slot 4 + s the elements from
 * 128 on. `lane 4 @8` (stride 8) says that the digit counts in eights of the lane number; the
 * digits of one holder never overlap, and over all axes of a value they fill its range without a
 * gap. `lane 32 | slot 2 xor 5` exclusive-ors the index with a constant; all radices are then
 * powers of two.
 *
 * `slot 4 | lane 32 | step * shift x.0`: positions run from 0 to extent + s, the index of one is
 * position - s, valid iff 0 <= index < extent. s is from 0 up to the radix of the first digit, so
 * that a row that begins s elements past a border of vectors has its vectors between such borders.
 * What a name such as x.0 stands for, the IR says. What a plan or a level of the IR restricts
 * further stands in pass/ and verify/: this room knows nothing of the IR.
 */
#ifndef LAYOUT_LAYOUT_H
#define LAYOUT_LAYOUT_H

#include "base/arena.h"
#include "base/text.h"

#include <stdbool.h>

enum { LAYOUT_MAX_RANK = 4, LAYOUT_MAX_DIGITS = 16 };

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
    int64_t exclusive_or; /* of the index, below the product of the radices; 0: none */
    const char *shift;    /* what an amount s comes from that is known when the program runs: digits
                             count positions, index = position - s. NULL: s = 0 */
} layout_axis;

const char *layout_holder_name(layout_holder holder);

/* Product of the radices held by `holder` (1 when there is none); a runtime radix counts as 0. */
int64_t layout_axis_radix(const layout_axis *axis, layout_holder holder);
/* Where the numbers of the holder end that the digits count: the greatest stride * radix; 1: none.
 */
int64_t layout_axis_range(const layout_axis *axis, layout_holder holder);
/* Weight in the logical index of the first digit held by `holder`; 0 when there is none. */
int64_t layout_axis_weight(const layout_axis *axis, layout_holder holder);
/* Weight in the logical index of digit number `digit`: the product of the radices before it. */
int64_t layout_axis_digit_weight(const layout_axis *axis, int digit);
/* Its weight in the number of its holder, the default filled in. */
int64_t layout_axis_digit_stride(const layout_axis *axis, int digit);
/* What it is where none is written. */
int64_t layout_axis_default_stride(const layout_axis *axis, int digit);
/* Product of all radices but those of steps and groups: the elements of one step. */
int64_t layout_axis_chunk(const layout_axis *axis);
/* The amounts by which the axis may be shifted end here: 1 where it is not, else the radix of its
 * first digit (0 where there is none, or it is not known). */
int64_t layout_axis_shifts(const layout_axis *axis);
bool layout_axis_has(const layout_axis *axis, layout_holder holder);
/* The same digits in the same order, however their strides are written. */
bool layout_axis_equal(const layout_axis *a, const layout_axis *b);

/* index = (sum of digit * weight) ^ exclusive_or, where a digit is number / stride % radix of
 * position[holder], the number in its holder. Inverse (what other axes put into a holder left out):
 * layout_axis_owner. */
int64_t layout_axis_logical(const layout_axis *axis, const int64_t position[LAYOUT_HOLDER_COUNT]);
void layout_axis_owner(const layout_axis *axis, int64_t index,
                       int64_t position[LAYOUT_HOLDER_COUNT]);

/* NULL when the axis is well formed: radices and strides at least 1, a runtime radix only last and
 * only of steps or groups, digits of one holder that do not overlap; else the reason (static text).
 */
const char *layout_axis_check(const layout_axis *axis);
/* Replaces default strides by numbers, in the order written: over all the axes of a value, the last
 * of which may be digits without an axis. */
void layout_axes_resolve(layout_axis *axes, int count);
/* NULL when the resolved strides of each holder, over all axes, partition its range: the least is
 * 1, each next one the product of stride and radix before. Else the reason and the digit. */
const char *layout_axes_partition(const layout_axis *axes, int count, int *axis, int *digit);

/* `lane 8 | slot 4 | step *`, `lane 4 @8` for a stride that is not the default; `none` for no
 * digits; `slot 4 | lane 32 shift x.0`. Reading leaves a shift to the caller: true on success,
 * *used bytes consumed; else *reason is a static text and *used the position of the fault. */
void layout_axis_print(base_text *out, const layout_axis *axis);
bool layout_axis_parse(const char *text, size_t length, layout_axis *axis, size_t *used,
                       const char **reason);
/* The same for one of several axes, whose default strides go on from the axes before: strides are
 * left to layout_axes_partition. at[i]: the byte where digit i begins. */
bool layout_axis_read(const char *text, size_t length, layout_axis *axis, size_t *used,
                      size_t at[LAYOUT_MAX_DIGITS], const char **reason);

#endif
