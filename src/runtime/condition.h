/* Conditions of a program against the arguments of a launch.
 *
 *     x aligned 16      x begins at 0x7f..04           does not hold: it begins 4 bytes past a
 *                                                      multiple of 16
 *     x aligned 16      rows lie 4036 bytes apart      does not hold: dimension 0
 *
 * A program that was compiled under conditions (layout/condition.h) is started only where all of
 * them hold; who keeps several programs of one kernel takes the first such one. Nothing here looks
 * at the number of rows. */
#ifndef RUNTIME_CONDITION_H
#define RUNTIME_CONDITION_H

#include "base/text.h"
#include "layout/condition.h"
#include "layout/extent.h"
#include "layout/layout.h"

/* A tensor as the device sees it. */
typedef struct runtime_tensor {
    uint64_t space; /* of which it is an address; 0: that of the process */
    uint64_t address;
    int rank;
    int64_t element_bytes;
    int64_t extents[LAYOUT_MAX_RANK], strides[LAYOUT_MAX_RANK]; /* in elements */
} runtime_tensor;

typedef struct runtime_arguments {
    const runtime_tensor *tensors; /* by parameter number; those of scalars are not looked at */
    const int64_t *sizes;          /* by size symbol */
} runtime_arguments;

/* What stands against a condition. */
typedef struct runtime_obstacle {
    enum { RUNTIME_OBSTACLE_ADDRESS, RUNTIME_OBSTACLE_STRIDE, RUNTIME_OBSTACLE_SIZE } kind;
    int dimension;  /* of a stride */
    int64_t number; /* bytes past a multiple; bytes from one index to the next; the size */
} runtime_obstacle;

/* Whether it holds; else *obstacle, which may be NULL, says why not. */
bool runtime_condition_holds(const layout_condition *condition, const runtime_arguments *arguments,
                             runtime_obstacle *obstacle);

/* `x begins 4 bytes past a multiple of 16`; `subject`: the name of the tensor or size. */
void runtime_obstacle_print(base_text *out, const layout_condition *condition, const char *subject,
                            const runtime_obstacle *obstacle);

#endif
