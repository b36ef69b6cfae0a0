/* What a machine whose lanes are threads can run: everything of level thread, within the sizes of
 * the machine and what its dialect refuses.
 *
 *     team 64  subgroup 64        a subgroup may be more than the threads that run in lock step
 *     team 48  subgroup 16        threads past the team leave at once
 */
#include "target/gpu_internal.h"

enum { SUBGROUP_MAX = 64, ARGUMENT_WORDS_MAX = 500 };

static int argument_words(const ir_module *module) {
    int64_t words = module->extents.symbol_count;
    for (int i = 0; i < module->parameter_count; i++)
        words += module->parameters[i].is_tensor ? 1 + module->parameters[i].value->type.rank : 1;
    return words > ARGUMENT_WORDS_MAX ? ARGUMENT_WORDS_MAX + 1 : (int)words;
}

static const char *supports_team(const ir_module *module, const machine *on,
                                 const target_gpu_spelling *spelling) {
    int subgroup = ir_module_subgroup_lanes(module);
    if (module->lanes < 1 || module->lanes > on->lanes_limit)
        return "a team has more lanes than a group of the machine";
    if (!target_gpu_is_power(subgroup) && module->lanes > spelling->lock_step)
        return "a subgroup must have a power of two of lanes";
    if (subgroup > SUBGROUP_MAX && subgroup != module->lanes)
        return "a subgroup has more than 64 lanes";
    if (module->lanes % subgroup != 0)
        return "a team must be whole subgroups";
    if (argument_words(module) > ARGUMENT_WORDS_MAX)
        return "the kernel has more sizes, strides and parameters than a launch passes";
    return NULL;
}

static const char *supports_array(const ir_module *module, const ir_op *op, const machine *on,
                                  const target_gpu_spelling *spelling) {
    bool fits = true;
    if (op->opcode == IR_PRIVATE)
        target_gpu_workspace(module, &fits);
    if (!fits)
        return "the private arrays of a group leave 64 bits";
    if (op->opcode != IR_SCRATCH)
        return NULL;
    int64_t bytes = target_gpu_scratch_bytes(module, spelling);
    if (bytes < 0 || bytes > on->scratch_bytes)
        return "the scratch of a group is more than the machine has";
    return NULL;
}

/* All lanes of a team come to where they meet: what stands around it goes by uniforms. (The
 * verifier sees to it; a barrier that some do not come to would stop the group for ever.) */
static const char *supports_meeting(const ir_op *op) {
    bool meets = op->opcode == IR_SYNC || op->opcode == IR_COMBINE || op->opcode == IR_SHUFFLE;
    const ir_op *around = meets ? op->parent->owner : NULL;
    for (; around != NULL; around = around->parent->owner) {
        int controls = around->opcode == IR_FOR ? 3 : around->opcode == IR_IF ? 1 : 0;
        bool alike = around->opcode != IR_WHEN;
        for (int i = 0; i < controls && i < around->operand_count; i++)
            alike = alike && around->operands[i]->type.form == IR_FORM_UNIFORM;
        if (!alike)
            return "lanes meet under a condition that is not known to be alike in all of them";
    }
    return NULL;
}

const char *target_gpu_supports(const ir_module *module, const ir_op *op, const machine *on,
                                const target_gpu_spelling *spelling) {
    const char *reason = spelling->refuses(module, op, on);
    if (reason == NULL)
        reason = supports_team(module, on, spelling);
    if (reason == NULL)
        reason = supports_array(module, op, on, spelling);
    if (reason == NULL)
        reason = supports_meeting(op);
    if (reason != NULL)
        return reason;
    return target_supports_op(op, module->cluster > 1,
                              "groups of a grid do not wait for each other");
}
