/* What a cuda machine can run: everything of level thread, within the sizes of the machine.
 *
 *     team 64  subgroup 64        a subgroup may be two warps
 *     team 48  subgroup 16        the threads that fill the last warp leave at once
 *     cluster 4                   from sm_90 on */
#include "target/cuda_internal.h"

#include <stdlib.h>
#include <string.h>

enum { SUBGROUP_MAX = 64, CLUSTER_MAX = 8, CLUSTER_FROM = 90, ARGUMENT_WORDS_MAX = 500 };

/* The number behind `sm_`. */
static long capability_of(const machine *on) {
    return strncmp(on->name, "sm_", 3) == 0 ? strtol(on->name + 3, NULL, 10) : 0;
}

static int argument_words(const ir_module *module) {
    int64_t words = module->extents.symbol_count;
    for (int i = 0; i < module->parameter_count; i++)
        words += module->parameters[i].is_tensor ? 1 + module->parameters[i].value->type.rank : 1;
    return words > ARGUMENT_WORDS_MAX ? ARGUMENT_WORDS_MAX + 1 : (int)words;
}

static const char *supports_team(const ir_module *module, const machine *on) {
    int subgroup = ir_module_subgroup_lanes(module);
    if (module->lanes < 1 || module->lanes > on->lanes_limit)
        return "a team has more lanes than a group of the machine";
    if (!target_cuda_is_power(subgroup) && module->lanes > CUDA_WARP)
        return "a subgroup must have a power of two of lanes";
    if (subgroup > SUBGROUP_MAX && subgroup != module->lanes)
        return "a subgroup has more than 64 lanes";
    if (module->lanes % subgroup != 0)
        return "a team must be whole subgroups";
    if (module->cluster > 1 && capability_of(on) < CLUSTER_FROM)
        return "the machine has no clusters";
    if (module->cluster > CLUSTER_MAX)
        return "a cluster has more than 8 groups";
    if (argument_words(module) > ARGUMENT_WORDS_MAX)
        return "the kernel has more sizes, strides and parameters than a launch passes";
    return NULL;
}

static const char *supports_array(const ir_module *module, const ir_op *op, const machine *on) {
    bool fits = true;
    if (op->opcode == IR_PRIVATE)
        target_cuda_workspace(module, &fits);
    if (!fits)
        return "the private arrays of a group leave 64 bits";
    if (op->opcode != IR_SCRATCH)
        return NULL;
    int64_t bytes = target_cuda_scratch_bytes(module);
    if (bytes < 0 || bytes > on->scratch_bytes)
        return "the scratch of a group is more than the machine has";
    return NULL;
}

const char *target_cuda_supports(const ir_module *module, const ir_op *op, const machine *on) {
    if (strcmp(on->target, "cuda") != 0)
        return "the machine is not one of cuda";
    const char *reason = supports_team(module, on);
    if (reason == NULL)
        reason = supports_array(module, op, on);
    if (reason != NULL)
        return reason;
    return target_supports_op(op, module->cluster > 1,
                              "groups of a grid do not wait for each other");
}
