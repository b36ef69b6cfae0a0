/* How often a loop runs, by constants that stand as its bounds.
 *
 *     for 3, 4, 1        once
 *     for 3, 3, 1        never
 *     for 0, %n, 1       any number of times
 */
#include "pass/simplify.h"

pass_trips pass_loop_trips(const ir_op *loop) {
    const ir_constant *bound[3];
    for (int i = 0; i < 3; i++) {
        const ir_op *op = loop->operands[i]->definer;
        bound[i] = op != NULL && op->opcode == IR_CONSTANT ? &op->attributes.constant : NULL;
    }
    if (bound[0] == NULL || bound[1] == NULL)
        return PASS_TRIPS_ANY;
    int64_t lo = bound[0]->integer, hi = bound[1]->integer;
    if (lo >= hi)
        return PASS_TRIPS_NONE;
    bool one = bound[2] != NULL && bound[2]->integer > 0 &&
               (uint64_t)hi - (uint64_t)lo <= (uint64_t)bound[2]->integer;
    return one ? PASS_TRIPS_ONE : PASS_TRIPS_SOME;
}
