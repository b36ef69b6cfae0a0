/* The dialect of the metal target, for the table of targets (target.c). */
#ifndef TARGET_METAL_INTERNAL_H
#define TARGET_METAL_INTERNAL_H

#include "target/gpu_internal.h"

extern const target target_metal;

#endif
