/* Searching for counterexamples: values are computed at chosen places, a place being sizes, a
 * program or group, one iteration of every loop around, a lane and a slot.
 *
 * A fact is refused only where a place that the kernel reaches breaks it: what depends on floats,
 * on carries or on conditions that are not known is passed over. Integers that are loaded may be
 * anything, so that every place tries one value for them. */
#ifndef VERIFY_EXPLORE_INTERNAL_H
#define VERIFY_EXPLORE_INTERNAL_H

#include "verify/verify_internal.h"

enum { EXPLORE_LOOPS = 8 };

typedef struct explore_number {
    bool known;
    int64_t value;
} explore_number;

typedef struct explore_place {
    verify_state *state;
    int64_t *sizes;                    /* by symbol */
    int64_t programs[IR_MAX_PROGRAMS]; /* indices, steps included */
    int64_t group, lane, slot;         /* thread */
    int64_t loaded;                    /* what integer loads give */
    const ir_op *loops[EXPLORE_LOOPS]; /* around, outermost first ... */
    int64_t index[EXPLORE_LOOPS];      /* ... and the index of each */
    int loop_count;
    const ir_value *when; /* bool(1) that must be true in a lane; NULL: none */
    int64_t *work;        /* values that may still be computed */
} explore_place;

/* The element of a tile at these coordinates; a scalar; the lane and slot of a slot vector. */
explore_number explore_value(const explore_place *place, const ir_value *value,
                             const int64_t element[IR_MAX_RANK]);
explore_number explore_extent(const explore_place *place, const layout_extent *extent);

/* The affine form at the lane (of the team) and slot of the place, as 64 bits hold it. */
int64_t explore_position(const explore_place *place, const ir_affine *affine);

/* Exact arithmetic of integers and bools; b is 0 where the op has one operand. The result is still
 * to be wrapped. NULL: the op has none. */
typedef int64_t (*explore_function)(base_dtype dtype, int64_t a, int64_t b);
explore_function explore_integer_function(ir_opcode opcode);
/* The value as the dtype holds it. */
int64_t explore_wrapped(base_dtype dtype, int64_t value);

/* What a cast between integers makes of a number. */
int64_t explore_converted(const ir_op *cast, int64_t value);

/* Calls visit for the ops of the module at places of several sizes until the work is used up. */
void explore_module(verify_state *state, void (*visit)(explore_place *place, const ir_op *op));

/* The round'th choice in [0, count): the first, the last, then some between. */
int64_t explore_pick(int64_t count, int round);

#endif
