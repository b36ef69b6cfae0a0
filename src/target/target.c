/* The table of targets, and what each of them can run. */
#include "target/emitter_internal.h"

#include <string.h>

enum { LANES_MAX = 32 };

static const char *cpu_supports(const ir_module *module, const ir_op *op, const machine *on) {
    if (strcmp(on->target, "cpu") != 0)
        return "the machine is not a cpu";
    if (module->lanes < 1 || module->lanes > LANES_MAX ||
        (module->lanes & (module->lanes - 1)) != 0)
        return "a team must have 1, 2, 4, 8, 16 or 32 lanes";
    if ((ir_op_describe(op->opcode)->levels & IR_LEVEL_BIT_R) == 0)
        return "the op does not stand at level thread";
    for (int i = 0; i < op->result_count; i++)
        if (op->results[i]->type.dtype == BASE_F64)
            return "f64 exists only in reference results";
    return NULL;
}

static const target targets[] = {
    {.name = "cpu", .supports = cpu_supports, .emit = target_c_emit},
};

enum { TARGET_COUNT = sizeof targets / sizeof targets[0] };

const target *target_at(int index) {
    return index >= 0 && index < TARGET_COUNT ? &targets[index] : NULL;
}

const target *target_find(const char *name) {
    for (int i = 0; i < TARGET_COUNT; i++)
        if (strcmp(targets[i].name, name) == 0)
            return &targets[i];
    return NULL;
}
