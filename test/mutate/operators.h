/* Mutations of a thread module: one small change at one place.
 *
 *     store or push deleted    it is gone            bound +1           a loop runs further
 *     mask -1       one position more is let by      sides of select    are exchanged
 *
 * An operator is asked for its site number n; it counts the places where it applies and changes the
 * n-th. What is changed may be any recorded fact, map, mask, identity, bound, access or list. The
 * arithmetic of elements is left alone: which elements enter it is the verifier's business, what
 * becomes of them that of the checks of values. */
#ifndef MUTATE_OPERATORS_H
#define MUTATE_OPERATORS_H

#include "ir/module.h"

typedef struct mutation {
    ir_module *module;
    int64_t left;   /* sites before the one that is meant */
    int64_t amount; /* by which the operator shifts a number */
    bool done;
} mutation;

/* NULL past the end. */
const char *mutate_operator_name(int number);
/* Changes site `site` of the module by the operator. False: it has no such site. */
bool mutate_apply(int number, ir_module *module, int64_t site);

#endif
