/* Does a module compute the same after a pass as before it, on the inputs of a fixture?
 *
 *     level tile, mapped      op by op on whole tiles, each result rounded to its type
 *
 * Both runs must give the same numbers; NaN is NaN, and -0 is 0 (a sum may begin with either).
 */
#include "pass/runner_internal.h"

#include <math.h>

static bool same_number(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

static const char *element_text(base_arena *arena, const sim_reference_tensor *tensor, int64_t i) {
    base_text text;
    base_text_init(&text, arena);
    if (!tensor->written[i])
        base_text_string(&text, "not written");
    else if (tensor->value != NULL)
        base_text_double(&text, tensor->value[i]);
    else
        base_text_format(&text, "%lld", (long long)tensor->integer[i]);
    return text.bytes;
}

static bool same_element(const sim_reference_tensor *a, const sim_reference_tensor *b, int64_t i) {
    if (a->written[i] != b->written[i])
        return false;
    return a->value != NULL ? same_number(a->value[i], b->value[i])
                            : a->integer[i] == b->integer[i];
}

bool runner_check_meaning(pass_runner *runner, const pass_row *pass, const runner_before *before,
                          const ir_module *module) {
    const pass_fixture *inputs = runner->fixture;
    if (module->level == IR_THREAD)
        return true;
    base_arena *arena = module->arena;
    sim_reference expected, got;
    sim_reference_run_rounded(arena, before->module, inputs->sizes, inputs->tensors,
                              inputs->scalars, &expected);
    sim_reference_run_rounded(arena, module, inputs->sizes, inputs->tensors, inputs->scalars, &got);
    for (int p = 0; p < module->parameter_count; p++) {
        const sim_reference_tensor *a = &expected.tensors[p], *b = &got.tensors[p];
        for (int64_t i = 0; i < a->count; i++) {
            if (same_element(a, b, i))
                continue;
            base_diagnostic *d = runner_bug(runner, pass, "pass-meaning", (base_location){0},
                                            "changes what the kernel computes");
            base_arena *out = runner->diagnostics->arena;
            d->found = base_diagnostics_text(runner->diagnostics, "%s element %lld: %s",
                                             module->parameters[p].name, (long long)i,
                                             element_text(out, b, i));
            d->expected = element_text(out, a, i);
            return false;
        }
    }
    return true;
}
