/* Ranges of integer scalars and index tiles, in terms of sizes: the proofs behind dropped bounds
 * checks. */
#ifndef ANALYSIS_RANGE_H
#define ANALYSIS_RANGE_H

#include "ir/module.h"

/* value >= 0 for every element and every program. */
bool analysis_range_not_negative(const ir_module *module, const ir_value *value);
/* 0 <= value < extent for every element and every program. */
bool analysis_range_inside(ir_module *module, const ir_value *value, const layout_extent *extent);

#endif
