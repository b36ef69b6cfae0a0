/* Whether two thread modules compute the same: by the simulator, on eight inputs. */
#ifndef MUTATE_JUDGE_H
#define MUTATE_JUDGE_H

#include "ir/module.h"

typedef struct judge judge;

/* Runs the module as it is; NULL when the simulator finds something wrong with it. */
judge *judge_create(base_arena *arena, const ir_module *module, uint64_t seed);
/* The same outputs on every input, and no finding. Memory for the runs is the judge's own. */
bool judge_says_same(judge *j, const ir_module *changed);

#endif
