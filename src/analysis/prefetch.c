/* What may be prefetched: see the header. Every index must be inside the tensor for every program,
 * so that the row of each program that there is can be fetched; then nothing else ever is. */
#include "analysis/prefetch.h"

static bool is_program(const ir_op *op, const ir_index *index) {
    const ir_op *definer = index->operand >= 0 ? op->operands[index->operand]->definer : NULL;
    return index->kind == IR_INDEX_POINT && index->inside && definer != NULL &&
           definer->opcode == IR_PROGRAM;
}

const char *analysis_prefetch_obstacle(const ir_module *module, const ir_op *op) {
    if (op->opcode != IR_LOAD)
        return "a load: lines that are stored to are not waited for";
    int parameter = ir_module_parameter_of(module, op->operands[0]);
    if (parameter < 0 || module->parameters[parameter].mode != IR_IN)
        return "a load of a tensor that nothing writes";
    const ir_access *access = op->attributes.access;
    int rows = 0;
    for (int d = 0; d + 1 < access->rank; d++)
        rows += is_program(op, &access->index[d]);
    bool last = access->rank > 0 && is_program(op, &access->index[access->rank - 1]);
    if (module->program_count != 1 || module->programs[0].step != 1 || rows != 1 || last)
        return "a load of a row that the kernel's one axis of programs numbers";
    return NULL;
}
