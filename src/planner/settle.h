/* The last step of a search whose prices are times: see settle.c for the rules. */
#ifndef PLANNER_SETTLE_H
#define PLANNER_SETTLE_H

#include "planner/search.h"

/* Sets search->best, which is a priced candidate already. */
void planner_settle(planner_search *search, const planner_program *program,
                    const planner_setting *setting, const cost_coefficients *coefficients);

#endif
