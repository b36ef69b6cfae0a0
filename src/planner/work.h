/* What a program does, whoever does it: passes over elements, their accesses and arithmetic.
 *
 *     softmax, t and e kept        pass N   load x, max         reads 4N bytes
 *                                  pass N   exp, sum
 *                                  pass N   div, store y        writes 4N bytes
 *     the same, t reloaded         .. pass 2 loads x again: 4N bytes that were read before
 *
 * It follows from the sweeps and from one storage for each value that crosses them; who owns what
 * is added by facts.c. Sizes that only the call knows are taken at a value that stands for a class,
 * which planner_size says. Nothing is expanded: the work of a row of any length takes the same
 * time. */
#ifndef PLANNER_WORK_H
#define PLANNER_WORK_H

#include "base/checked.h"
#include "planner/admit.h"
#include "planner/cost/cost.h"
#include "planner/planner_internal.h"

/* A size that was not known, and what was taken for it. */
typedef struct planner_size {
    int64_t value;
    bool taken;
} planner_size;

/* One load or store of the text, as often as it runs. */
typedef struct planner_access {
    const ir_op *op;
    int64_t bytes;     /* of an element */
    int64_t others;    /* elements at one place of the lane axis, in one run of its sweep */
    bool row;          /* runs over the lane axis */
    bool shared;       /* the same cells for all programs */
    bool asks;         /* an index is not known to be inside */
    bool follows;      /* its rows begin as those do that may shift the axis */
    int run;           /* neighbours of a worker that come to neighbouring cells */
    int64_t length;    /* elements of the tensor's rows, whose beginnings decide how accesses are
                          aligned; 0: one row, which begins where the tensor does */
    int64_t footprint; /* elements that one program can reach by it */
} planner_access;

/* An access within a pass. */
typedef struct planner_visit {
    const planner_access *access;
    bool store; /* of a value that waits in an output: a store here, a load there */
} planner_visit;

typedef struct planner_pass {
    bool sweep;       /* else what stands between sweeps */
    bool row;         /* runs over the lane axis; else one worker does all, or every one the same */
    bool limited;     /* to a part of that axis that is known when the program runs */
    int64_t elements; /* of the lane axis; 1 without it */
    int64_t times;    /* for one program: other axes, and trips of loops around */
    int64_t reductions; /* of the lane axis; each ends `ends` times for one program */
    int64_t ends;
    int64_t exps, divisions, square_roots, others; /* ops at each element */
    int64_t first, count;                          /* visits */
    int64_t passing;       /* row loads whose values are not kept in registers */
    int64_t partial_bytes; /* of the states of those reductions, once each */
    int64_t ordered_bytes; /* of those of them that are in the canonical order */
    int64_t arrays;        /* reads and writes of private arrays, at each element */
    int64_t kept_bytes;    /* read and written of what is kept, at each element */
} planner_pass;

/* A value that is kept past its sweep by the workers that own it. */
typedef struct planner_kept {
    bool row;
    int64_t others; /* elements at one place of the lane axis */
    int64_t bytes;  /* of an element */
    bool registers;
    int64_t from, to; /* passes: kept from the end of the one to within the other */
} planner_kept;

typedef struct planner_work {
    planner_pass *passes;
    int64_t pass_count, pass_capacity;
    planner_visit *visits;
    int64_t visit_count, visit_capacity;
    planner_kept *kept;
    int64_t kept_count, kept_capacity;
    /* bytes for one program */
    int64_t array_bytes, read_bytes, reread_bytes, shared_read_bytes, write_bytes;
} planner_work;

/* What is known of a value where it is an index or a bound. */
typedef struct planner_scalar {
    bool varies;   /* from program to program */
    bool moves;    /* from trip to trip of a loop */
    bool constant; /* by the sizes */
    int64_t value;
} planner_scalar;

/* A module looked at for all its candidates. */
typedef struct planner_program {
    planner_state *state;
    planner_size *sizes;      /* by symbol */
    int64_t *values;          /* the same, as layout_extent_evaluate takes them */
    int64_t programs;         /* of the class: a power of two, or as many as fill any machine */
    bool trips_taken;         /* a loop whose bounds only the data knows counts once */
    planner_obstacle packing; /* why programs may not share a group */
    int64_t live_most;        /* as in planner_options */
    bool shares_rows;         /* groups of a cluster may share a program */
    bool canonical;           /* a reduction of the lane axis has the canonical order */
    const ir_op *shift;       /* an access whose rows may shift the lane axis; NULL: none */
    cost_machine device;
    bool known;              /* the row has a known length: chunks may lie in slots */
    int64_t extent;          /* of the lane axis; 1 when there is none */
    planner_scalar *scalars; /* by value number */
    planner_access **accesses;
    int64_t access_count, access_capacity;
    int *crossing;         /* by value number: into sweeps.crossings, -1 none */
    const int64_t *beside; /* by axis: lanes that go through it side by side; NULL: one each */
} planner_program;

/* `sizes`: by symbol, -1 where the call is not known; NULL: nothing is. After state->lane_axis. */
planner_program *planner_program_begin(planner_state *state, const int64_t *sizes);
/* Whether the call has said all sizes, so that nothing was taken for one. */
bool planner_sizes_are_known(const planner_program *program);

/* storage[i], outputs[i]: of sweeps.crossings[i]. */
planner_work *planner_work_find(planner_program *program, const ir_storage *storage,
                                const ir_op *const *outputs);

/* Products and sums of sizes end at PLANNER_FAR: so far past everything that is compared that it
 * does not matter. */
#define PLANNER_FAR ((int64_t)1 << 56)

static inline int64_t planner_times(int64_t a, int64_t b) {
    int64_t product;
    return base_checked_mul(a, b, &product) && product < PLANNER_FAR ? product : PLANNER_FAR;
}

static inline int64_t planner_plus(int64_t a, int64_t b) {
    return a < PLANNER_FAR - b ? a + b : PLANNER_FAR;
}

#endif
