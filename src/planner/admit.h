/* Admission: whether a program is one of rows, by its body alone, and what was found on the way.
 *
 *     layernorm      admitted: 1 width, 2 reductions, 4 tensors, 2 tiles used in several passes;
 *                    y must lie apart from x, w, b
 *     y[row] = 1.0   refused, no-element-axis
 *
 * No annotation asks for it and none can force it. What only some mappings need is asked beside:
 * whether several programs may share a group. */
#ifndef PLANNER_ADMIT_H
#define PLANNER_ADMIT_H

#include "planner/planner_internal.h"

typedef enum planner_obstacle {
    PLANNER_NO_OBSTACLE,
    PLANNER_NO_ELEMENTS,     /* scalars only */
    PLANNER_LANES_MEET,      /* two lanes may come to one cell, and nothing orders them */
    PLANNER_ORDERED,         /* a reduction asks for one worker a row, on every axis */
    PLANNER_CONTROL_DIFFERS, /* a bound, condition or domain differs between programs */
    PLANNER_ONE_PROGRAM,     /* nothing to share a group with */
    PLANNER_IN_PLACE,        /* a program that is replayed would read what it has written */
    PLANNER_OBSTACLE_COUNT
} planner_obstacle;

typedef struct planner_obstacle_row {
    const char *slug, *reason, *expected;
} planner_obstacle_row;

const planner_obstacle_row *planner_obstacle_describe(planner_obstacle obstacle);

typedef struct planner_admission {
    planner_obstacle row;     /* why it is no row program on this machine */
    planner_obstacle packing; /* why programs may not share a group */
    bool shares_rows;         /* groups of a cluster may share a program */
    const ir_op *first,
        *second;        /* LANES_MEET: the accesses; else first, the op that is in the way */
    const char *tensor; /* IN_PLACE: which */
    int64_t widths;     /* axes of elements */
    int64_t reductions;
    int64_t loads, stores, gathers; /* gathers and scatters among them */
    int64_t broadcasts;             /* a program's scalar beside a tile */
    int64_t kept;                   /* tiles used in several passes */
    int64_t apart;                  /* pairs of tensors that must not overlap, one being stored */
} planner_admission;

/* After the axes and sweeps of the state are found. */
planner_admission planner_admit(const planner_state *state);

#endif
