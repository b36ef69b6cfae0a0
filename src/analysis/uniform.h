/* Uniformity of scalars at level tile: what is the same for all programs (grid), and what depends
 * on the program. */
#ifndef ANALYSIS_UNIFORM_H
#define ANALYSIS_UNIFORM_H

#include "ir/module.h"

/* True when a for bound, an if condition or a domain in the module depends on the program (its
 * index, or anything loaded or reduced): then programs cannot share a team. */
bool analysis_control_depends_on_program(const ir_module *module);

#endif
