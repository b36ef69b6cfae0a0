/* erase: level tile. Layouts of the kernel's text, gone where the machine has no threads to own
 * anything.
 *
 *     %o = arange 64 layout lane 32 | slot 2     %o = arange 64
 *     %v = convert %t layout slot 2 | lane 32 -> (%t)
 *
 * Owners change no result but the order of a reduction, which the plan records; lanes of a cpu are
 * parts of one register, and it is the planner who knows how they are best used. Only where the
 * machine's target is cpu: a plan for another machine keeps its layouts, whatever runs it.
 */
#include "pass/pass.h"
#include "pass/simplify.h"

static bool erase_region(ir_module *module, ir_region *region, pass_log *log) {
    bool changed = false;
    for (ir_op *op = region->first, *next; op != NULL; op = next) {
        next = op->next;
        for (int i = 0; i < op->region_count; i++)
            changed |= erase_region(module, op->regions[i], log);
        if (op->attributes.layout == NULL)
            continue;
        changed = true;
        log->erased++;
        if (op->opcode == IR_CONVERT)
            pass_replace(module, op, op->operands[0]);
        else
            op->attributes.layout = NULL;
    }
    return changed;
}

pass_result pass_erase(ir_module *module, pass_context *context) {
    pass_log unread = {0};
    pass_log *log = context->log != NULL ? context->log : &unread;
    if (context->machine == NULL || context->machine->lanes_are_threads ||
        !erase_region(module, &module->body, log))
        return PASS_SAME;
    return pass_canonicalise(module, context) == PASS_FAILED ? PASS_FAILED : PASS_CHANGED;
}
