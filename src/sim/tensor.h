/* Elements of the caller's arrays, by dtype. Offsets and flat numbers are in elements: the flat
 * number counts in C order, the offset follows the strides. */
#ifndef SIM_TENSOR_H
#define SIM_TENSOR_H

#include "sim/reference.h"

int64_t sim_tensor_count(const sim_tensor *tensor);
int64_t sim_tensor_offset(const sim_tensor *tensor, int64_t flat);

/* Floats exactly; 0 for other types. */
double sim_tensor_float(const sim_tensor *tensor, int64_t offset);
/* Integers exactly, bool as 0 or 1; 0 for other types. */
int64_t sim_tensor_integer(const sim_tensor *tensor, int64_t offset);

#endif
