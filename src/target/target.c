/* The table of targets, and what the cpu can run (gpu_supports.c: what devices of threads can).
 *
 *     put %s block=%b              refused: groups of a cpu run one by one
 *     sync grid                    refused likewise
 *     native_exp %t                refused: only the portable form is the same on every cpu
 *     subgroup 24                  refused: the registers of a vector are powers of two
 *
 * Whatever passes here, the emitter writes without a further look.
 */
#include "target/cuda_internal.h"
#include "target/metal_internal.h"
#include "target/opencl_internal.h"

#include <string.h>

enum { LANES_MAX = 1024 };

const char *target_supports_op(const ir_op *op, bool clusters, const char *no_grid_sync) {
    if ((ir_op_describe(op->opcode)->levels & IR_LEVEL_BIT_R) == 0)
        return "the op does not stand at level thread";
    if (op->attributes.access != NULL && op->attributes.access->block != 0 && !clusters)
        return "no other group's scratch can be reached";
    if (op->opcode == IR_SYNC && op->attributes.scope > IR_SCOPE_CLUSTER)
        return no_grid_sync;
    for (int i = 0; i < op->result_count; i++)
        if (op->results[i]->type.dtype == BASE_F64)
            return "f64 exists only in reference results";
    return NULL;
}

/* The lanes of a subgroup fill registers, or a power-of-two part of one. */
static const char *cpu_supports_team(const ir_module *module) {
    int subgroup = ir_module_subgroup_lanes(module);
    if (module->lanes < 1 || module->lanes > LANES_MAX)
        return "a team must have 1 to 1024 lanes";
    if (subgroup < 1 || (subgroup & (subgroup - 1)) != 0)
        return "a subgroup must have a power of two of lanes";
    if (module->lanes % subgroup != 0)
        return "a team must be whole subgroups";
    if (module->cluster > 1)
        return "groups of a cpu run on their own: there are no clusters";
    return NULL;
}

static const char *cpu_supports(const ir_module *module, const ir_op *op, const machine *on) {
    if (strcmp(on->target, "cpu") != 0)
        return "the machine is not a cpu";
    const char *reason = cpu_supports_team(module);
    if (reason != NULL)
        return reason;
    if (ir_native_find(op->opcode) != NULL)
        return "a cpu has no native forms of functions: its plans say `portable`";
    return target_supports_op(op, false, "groups of a cpu do not wait for each other");
}

static const target target_cpu = {.name = "cpu",
                                  .supports = cpu_supports,
                                  .ignores_policy = target_c_ignores_policy,
                                  .emit = target_c_emit};

static const target *const targets[] = {
    &target_cpu,
    &target_cuda,
    &target_opencl,
    &target_metal,
};

enum { TARGET_COUNT = sizeof targets / sizeof targets[0] };

const target *target_at(int index) {
    return index >= 0 && index < TARGET_COUNT ? targets[index] : NULL;
}

const target *target_find(const char *name) {
    for (int i = 0; i < TARGET_COUNT; i++)
        if (strcmp(targets[i]->name, name) == 0)
            return targets[i];
    return NULL;
}

target_source target_emit(const target *emitter, base_arena *arena, const ir_module *module,
                          const machine *on) {
    target_source source;
    emitter->emit(arena, &module, 1, on, &source);
    return source;
}
