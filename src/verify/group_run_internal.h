/* What stands at the elements of a group of neighbours: numbers that differ by known offsets.
 *
 *     128*u + k + (0, 1, 2, 3)     u: the step of the group's axis, of which nothing is known
 *                                  k: an index of another axis, from 0 to 3
 *
 * The part before the offsets is one number for all elements: a sum of parts, each a multiple of
 * its unit, between two bounds where these are known. Parts are taken for independent. Offsets
 * count for the elements that are there (`live`); those of others may be anything. */
#ifndef VERIFY_GROUP_RUN_INTERNAL_H
#define VERIFY_GROUP_RUN_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

enum { GROUP_WIDTH = 64, GROUP_PARTS = 6 };

typedef struct group_part {
    int64_t unit; /* at least 1 */
    bool bounded;
    int64_t low, high; /* of the part, when bounded */
} group_part;

typedef struct group_run {
    int part_count; /* 0: the offsets are the numbers */
    group_part parts[GROUP_PARTS];
    int64_t offset[GROUP_WIDTH];
} group_run;

/* Bit j: the group has an element j, and it is there. */
typedef uint64_t group_live;

/* One number, one that is not known, one between bounds. */
group_run group_run_number(int64_t number);
group_run group_run_unknown(void);
group_run group_run_between(int64_t low, int64_t high);
/* Adds a multiple of the unit that is not known. */
void group_run_add_unknown(group_run *run, int64_t unit);

/* All elements have the same; it is the offset of the first one that is there, and no more. */
bool group_run_is_common(const group_run *run, group_live live);
bool group_run_is_number(const group_run *run, group_live live, int64_t *number);
/* Every element is between the bounds. */
bool group_run_is_between(const group_run *run, group_live live, int64_t low, int64_t high);

/* What an op makes of runs. False where that is no run, or past 64 bits. */
bool group_run_add(const group_run *a, const group_run *b, bool minus, group_live live,
                   group_run *sum);
bool group_run_scale(const group_run *a, int64_t factor, group_live live, group_run *product);
/* Floor quotient by a divisor, or the rest. */
bool group_run_divide(const group_run *a, int64_t divisor, bool rest, group_live live,
                      group_run *result);

#endif
