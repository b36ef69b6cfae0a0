/* The dialect of the opencl target, for the table of targets (target.c). */
#ifndef TARGET_OPENCL_INTERNAL_H
#define TARGET_OPENCL_INTERNAL_H

#include "target/gpu_internal.h"

extern const target target_opencl;

#endif
