/* Whether the cache may be told, while a program loads, to fetch what the load reads for a later
 * program.
 *
 *     x[row, :]          the row of the next program is a stride further
 *     x[i, j, :]         not so: the program behind the last j has another i
 *     x[label[row], :]   where it goes is not known yet
 *
 * It does not ask whether that pays. */
#ifndef ANALYSIS_PREFETCH_H
#define ANALYSIS_PREFETCH_H

#include "ir/module.h"

/* NULL: it may; else what it would have to be. Of a load or store of a canonical module of level
 * tile. */
const char *analysis_prefetch_obstacle(const ir_module *module, const ir_op *op);

#endif
