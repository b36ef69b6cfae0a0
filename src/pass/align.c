/* align: level thread. What the module's conditions make known of its accesses is recorded.
 *
 *     condition x aligned 16
 *     %t = load %x[%row, lane*4 + slot*1] width=4 : f32(4)
 *     ->  %t = load %x[%row, lane*4 + slot*1] width=4 align=16 : f32(4)
 *
 * A target then needs not look at the address when it moves a group. Without conditions nothing is
 * known, and nothing changes. Which conditions a module has is not decided here. */
#include "pass/pass.h"

#include "analysis/alignment.h"

typedef struct align_state {
    analysis_alignments search;
    bool changed;
} align_state;

static bool align_op(void *pointer, ir_op *op) {
    align_state *state = pointer;
    ir_access *access = op->attributes.access;
    if (op->opcode != IR_LOAD && op->opcode != IR_STORE)
        return true;
    analysis_alignment found = analysis_alignment_find(&state->search, op);
    bool gains = found.bytes > access->align || (found.whole && !access->whole);
    if (!gains)
        return true;
    access->align = found.bytes > access->align ? found.bytes : access->align;
    access->whole = access->whole || found.whole;
    state->changed = true;
    return true;
}

pass_result pass_align(ir_module *module, pass_context *context) {
    (void)context;
    if (module->condition_count == 0)
        return PASS_SAME;
    align_state state = {.search = analysis_alignments_begin(
                             module->arena, module, module->conditions, module->condition_count)};
    ir_region_walk(&module->body, align_op, &state);
    return state.changed ? PASS_CHANGED : PASS_SAME;
}
