/* clean: level thread to level thread. What expansion wrote without looking is made lean.
 *
 *     %a = add %base, 0      gone
 *     for .. { %c = mul %row, %stride; .. }     %c before the loop
 *     %p = private f32(4)[%steps], never pulled from: gone with its pushes
 *
 * It repeats its four steps until none changes anything. It moves no memory op and changes no bit.
 */
#include "pass/pass.h"
#include "pass/simplify.h"

pass_result pass_clean(ir_module *module, pass_context *context) {
    (void)context;
    bool changed = false, again = true;
    while (again) {
        again = pass_fold(module);
        again |= pass_hoist(module);
        again |= pass_merge(module, false);
        again |= pass_remove_dead(module);
        changed |= again;
    }
    return changed ? PASS_CHANGED : PASS_SAME;
}
