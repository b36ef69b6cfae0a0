/* The FP64 reference: evaluates level tile in double precision and carries a first-order error
 * bound. Level mapped runs too: a sweep is its region, on the same logical values, wherever they
 * are kept.
 *
 * Every element is (value, error). error is the bound E of what an implementation that computes in
 * the op's own type, with the reduction depths of the plan, may differ by:
 *
 *     load             0; so has every sum and product of exact numbers that the type holds exactly
 *     v = f(a, b)      |df/da| E(a) + |df/db| E(b) + k u |v| + tiny; k: 1, or the ulps of math.def;
 *                      of native.def where the plan says native, 1.5 where it says reciprocal
 *     sum              the sum of the E plus d u sum|a|, d: depth of the plan's tree
 *     prod             likewise in relative terms
 *     max, min         the largest E of what may be taken
 *     select           the E of what is taken; a condition within E of its edge adds |a - b|
 *
 * u is the unit roundoff and tiny the least subnormal of the type the op computes in. Range is
 * emulated: what rounds past the largest finite number of the type becomes inf, under half the
 * least subnormal 0. Integers are exact. Where a comparison, an index or a rounding to an integer
 * lies within E of its edge either outcome passes; where E is not finite every outcome does. Such
 * an element is `loose`, and counted. (A choice between two close floats is not loose: E tells how
 * far apart they are.)
 */
#ifndef SIM_REFERENCE_H
#define SIM_REFERENCE_H

#include "base/diagnostic.h"
#include "ir/module.h"
#include "ir/plan.h"

/* An array of the caller; strides in elements. */
typedef struct sim_tensor {
    base_dtype dtype;
    int rank;
    int64_t extent[IR_MAX_RANK];
    int64_t stride[IR_MAX_RANK];
    void *data;
} sim_tensor;

/* The reference's copy of one tensor, C order, `count` elements. Written says which elements the
 * kernel stored. */
typedef struct sim_reference_tensor {
    int64_t count;
    double *value;    /* floats: unrounded; else NULL */
    int64_t *integer; /* integers and bool; else NULL */
    double *error;    /* E; for integers how far off they may be, 0 but for choices at their edge */
    bool *loose;      /* floats: E is not finite; integers: E is not 0 */
    bool *written;
    int64_t *toucher; /* run_rounded: 1 + the program that touched it, 0 none, -1 several */
} sim_reference_tensor;

/* Gathers outside their tensor without a declared fill: of one index, or of several that follow
 * each other in one program. */
typedef struct sim_fault {
    const char *tensor;
    base_location location;
    int dimension;
    int64_t index, last, extent; /* index <= last */
    int64_t program[IR_MAX_PROGRAMS];
} sim_fault;

typedef struct sim_reference {
    sim_reference_tensor *tensors; /* one per module parameter; set for `out` and `inout` */
    sim_fault faults[BASE_DIAGNOSTIC_LIMIT];
    int fault_count;
    int64_t fault_total; /* gathers, listed or not */
    bool programs_meet;  /* run_rounded: one program stored a cell that another touched */
} sim_reference;

/* Runs a tile or mapped module on all programs. tensors[i] is the i-th parameter of the module
 * (ignored for scalars), scalars[i] its value, sizes[s] the value of symbol s. plan gives the depth
 * of each reduction (NULL: as if sequential, depth = extent). Inputs are read only; outputs start
 * as given (data NULL: as NaN). Memory comes from the arena: the outputs and the tiles of one
 * program. */
void sim_reference_run(base_arena *arena, const ir_module *module, const ir_plan *plan,
                       const int64_t *sizes, const sim_tensor *tensors, const ir_constant *scalars,
                       sim_reference *result);

/* The same, but every op rounds its result to its type, and nothing has an error: what a machine
 * would give that sums in double precision and is right to the last bit elsewhere. Two modules that
 * compute the same op by op (before and after a pass) give the same numbers. It also sees whether
 * programs touch each other's cells: then another order of them may give other results. */
void sim_reference_run_rounded(base_arena *arena, const ir_module *module, const int64_t *sizes,
                               const sim_tensor *tensors, const ir_constant *scalars,
                               sim_reference *result);

/* How an output compares with the reference. An element passes if |got - value| <= 4 E + one
 * rounding to its dtype; NaN passes NaN, an infinity its own sign, -0 passes +0; loose elements
 * pass and are counted. */
typedef struct sim_comparison {
    int64_t elements, failed, loose; /* of the elements that the reference wrote */
    int64_t unwritten;               /* the others: not compared */
    double largest_error;            /* |got - value| where that is largest relative to its bound */
    double its_bound;
    int64_t worst; /* flat index of that element; -1: nothing was compared */
    double worst_got, worst_expected;
} sim_comparison;

/* tighten > 0: an absolute tolerance that may only lower the bound of floats. */
sim_comparison sim_compare(const sim_reference_tensor *expected, const sim_tensor *got,
                           double tighten);

/* Counts the elements that the reference did not write and whose bytes changed from `before` to
 * `got` (of one shape and dtype; strides of 0 make one element the whole of a prefilled `before`).
 * *first (may be NULL): the flat index of the first one, when there is one. */
int64_t sim_compare_untouched(const sim_reference_tensor *expected, const sim_tensor *before,
                              const sim_tensor *got, int64_t *first);

#endif
