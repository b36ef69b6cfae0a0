/* The dialect of the cuda target, for the table of targets (target.c). */
#ifndef TARGET_CUDA_INTERNAL_H
#define TARGET_CUDA_INTERNAL_H

#include "target/gpu_internal.h"

extern const target target_cuda;

#endif
