/* Settings: the numbers and words of `--set`, which fix parts of a plan and leave the rest free.
 *
 *     v=4,w=256,chunk=slot,keep=again   vector 4, workers 256, stepped 0, PLANNER_KEEP_AGAIN
 *     (nothing)                         everything is free
 */
#ifndef PLANNER_SETTING_H
#define PLANNER_SETTING_H

#include "base/diagnostic.h"
#include "planner/candidate.h"

typedef struct planner_setting {
    int64_t workers, subgroups, vector, unroll, packed, blocks, parts; /* 0: free */
    int stepped;      /* 1: chunks of the row are walked in steps, 0: they lie in slots, -1: free */
    int shifted;      /* 1: rows are shifted, 0: they are not, -1: free */
    int keeping;      /* a planner_keeping, -1: free */
    ir_policy policy; /* of all accesses; the search does not vary it, as no model prices it */
} planner_setting;

/* Reads a list with commas, keys and words in any case; NULL and "" fix nothing. False: the text is
 * wrong, and the diagnostics have a finding. */
bool planner_setting_parse(const char *text, planner_setting *setting,
                           base_diagnostics *diagnostics);
/* Whether nothing that the search varies is fixed. */
bool planner_setting_is_free(const planner_setting *setting);

#endif
