/* Whether a plan speaks of a module, asked without applying it: its first line, its anchors and
 * their order, digits, widths; not how values are kept. The module is left as it is.
 */
#include "ir/clone.h"
#include "pass/map_internal.h"

bool map_plan_fits(base_arena *arena, const ir_module *module, const ir_plan *plan,
                   base_diagnostics *diagnostics) {
    pass_context context = {.plan = plan, .diagnostics = diagnostics};
    map_state state = {.module = ir_module_clone(arena, module), .context = &context, .sweep = -1};
    state.axes = analysis_axes_find(arena, state.module);
    state.sweeps = analysis_sweeps_find(arena, state.module, &state.axes);
    map_plan_apply(&state);
    return !state.failed;
}
