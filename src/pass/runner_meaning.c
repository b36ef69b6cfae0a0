/* Does a module compute the same after a pass as before it, on the inputs of a fixture?
 *
 *     tile or mapped to the same    op by op on whole tiles, each result rounded to its type: the
 *                                   same numbers. NaN is NaN; -0 is 0 (a sum may begin with either)
 *     mapped to thread              the simulator's results lie within the bound of the reference
 *     thread to thread              the simulator gives the same bits
 *
 * What the simulator finds wrong with a program (a race, an access outside) is the pass's fault
 * too.
 */
#include "pass/runner_internal.h"

#include "sim/tensor.h"

#include <math.h>
#include <string.h>

static bool differs(pass_runner *runner, const pass_row *pass, const char *tensor, int64_t element,
                    const char *found, const char *expected) {
    base_diagnostic *d = runner_bug(runner, pass, "pass-meaning", (base_location){0},
                                    "changes what the kernel computes");
    d->found = base_diagnostics_text(runner->diagnostics, "%s element %lld: %s", tensor,
                                     (long long)element, found);
    d->expected = expected;
    return false;
}

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

/* Programs that touch each other's cells: nothing can be said of lanes that run several at once. */
static bool programs_meet(base_arena *arena, const ir_module *module, const pass_fixture *inputs) {
    sim_reference result;
    sim_reference_run_rounded(arena, module, inputs->sizes, inputs->tensors, inputs->scalars,
                              &result);
    return result.programs_meet;
}

/* Tile and mapped on both sides. */
static bool same_tiles(pass_runner *runner, const pass_row *pass, const runner_before *before,
                       const ir_module *module) {
    const pass_fixture *inputs = runner->fixture;
    base_arena *arena = module->arena, *out = runner->diagnostics->arena;
    sim_reference expected, got;
    sim_reference_run_rounded(arena, before->module, inputs->sizes, inputs->tensors,
                              inputs->scalars, &expected);
    sim_reference_run_rounded(arena, module, inputs->sizes, inputs->tensors, inputs->scalars, &got);
    for (int p = 0; p < module->parameter_count; p++) {
        const sim_reference_tensor *a = &expected.tensors[p], *b = &got.tensors[p];
        for (int64_t i = 0; i < a->count; i++)
            if (!same_element(a, b, i))
                return differs(runner, pass, module->parameters[p].name, i, element_text(out, b, i),
                               element_text(out, a, i));
    }
    return true;
}

/* ---- level thread ---- */

/* Not the pass's fault: programs that touch each other's cells (programs_meet), and cells outside a
 * domain that are read before anybody wrote them, of which nothing may be observed. */
static bool is_excused(const base_diagnostic *finding) {
    return strcmp(finding->slug, "sim-two-writers") == 0 ||
           strcmp(finding->slug, "sim-unwritten") == 0;
}

/* What the simulator finds wrong with the program itself. */
static bool is_sound(pass_runner *runner, const pass_row *pass, const base_diagnostics *findings) {
    for (int i = 0; i < findings->count; i++) {
        const base_diagnostic *finding = &findings->items[i];
        if (is_excused(finding))
            continue;
        base_diagnostic *d = runner_bug(runner, pass, "pass-meaning", finding->location,
                                        "leaves a program that the simulator finds fault with");
        d->found =
            base_diagnostics_text(runner->diagnostics, "%s [%s]", finding->message, finding->slug);
        return false;
    }
    return true;
}

static const char *tensor_text(base_arena *arena, const sim_tensor *tensor, int64_t i) {
    base_text text;
    base_text_init(&text, arena);
    int64_t offset = sim_tensor_offset(tensor, i);
    if (base_dtype_is_float(tensor->dtype))
        base_text_double(&text, sim_tensor_float(tensor, offset));
    else
        base_text_format(&text, "%lld", (long long)sim_tensor_integer(tensor, offset));
    return text.bytes;
}

static bool same_bits(const sim_tensor *a, const sim_tensor *b, int64_t i) {
    int64_t size = base_dtype_size(a->dtype);
    int64_t left = sim_tensor_offset(a, i), right = sim_tensor_offset(b, i);
    if (memcmp((const char *)a->data + left * size, (const char *)b->data + right * size,
               (size_t)size) == 0)
        return true;
    return base_dtype_is_float(a->dtype) && isnan(sim_tensor_float(a, left)) &&
           isnan(sim_tensor_float(b, right));
}

/* Thread on both sides: bit for bit. */
static bool same_threads(pass_runner *runner, const pass_row *pass, const runner_before *before,
                         const ir_module *module) {
    base_arena *arena = module->arena, *out = runner->diagnostics->arena;
    sim_tensor *expected = BASE_NEW_ARRAY(arena, sim_tensor, module->parameter_count);
    sim_tensor *got = BASE_NEW_ARRAY(arena, sim_tensor, module->parameter_count);
    base_diagnostics old, new;
    base_diagnostics_init(&old, arena);
    base_diagnostics_init(&new, arena);
    sim_status was = runner_launch(arena, before->module, runner->fixture, expected, &old);
    sim_status is = runner_launch(arena, module, runner->fixture, got, &new);
    if (was == SIM_REFUSED || is == SIM_REFUSED)
        return true; /* too large a team, or sizes past 64 bits: nothing was computed */
    for (int p = 0; p < module->parameter_count; p++)
        for (int64_t i = 0; module->parameters[p].is_tensor && i < sim_tensor_count(&got[p]); i++)
            if (!same_bits(&expected[p], &got[p], i))
                return differs(runner, pass, module->parameters[p].name, i,
                               tensor_text(out, &got[p], i), tensor_text(out, &expected[p], i));
    return was == SIM_FOUND || is_sound(runner, pass, &new);
}

/* From mapped to thread: within the bound of the reference, and nothing stored that was not. */
static bool within_bounds(pass_runner *runner, const pass_row *pass, const runner_before *before,
                          const ir_module *module) {
    const pass_fixture *inputs = runner->fixture;
    base_arena *arena = module->arena, *out = runner->diagnostics->arena;
    sim_tensor *got = BASE_NEW_ARRAY(arena, sim_tensor, module->parameter_count);
    base_diagnostics findings;
    base_diagnostics_init(&findings, arena);
    sim_status status = runner_launch(arena, module, inputs, got, &findings);
    if (status == SIM_REFUSED)
        return true;
    bool excused = programs_meet(arena, before->module, inputs);
    sim_reference expected;
    sim_reference_run(arena, before->module, runner->plan, inputs->sizes, inputs->tensors,
                      inputs->scalars, &expected);
    for (int p = 0; p < module->parameter_count; p++) {
        const sim_reference_tensor *reference = &expected.tensors[p];
        if (!module->parameters[p].is_tensor || module->parameters[p].mode == IR_IN)
            continue;
        sim_comparison comparison = sim_compare(reference, &got[p], 0.0);
        if (comparison.failed > 0)
            return excused || differs(runner, pass, module->parameters[p].name, comparison.worst,
                                      tensor_text(out, &got[p], comparison.worst),
                                      element_text(out, reference, comparison.worst));
        sim_tensor start = runner_output_start(arena, &inputs->tensors[p]);
        int64_t first = 0;
        if (sim_compare_untouched(reference, &start, &got[p], &first) > 0)
            return excused || differs(runner, pass, module->parameters[p].name, first,
                                      tensor_text(out, &got[p], first), "not written");
    }
    return excused || is_sound(runner, pass, &findings);
}

static bool check_meaning(pass_runner *runner, const pass_row *pass, const runner_before *before,
                          const ir_module *module) {
    if (module->level != IR_THREAD)
        return same_tiles(runner, pass, before, module);
    return before->level == IR_THREAD ? same_threads(runner, pass, before, module)
                                      : within_bounds(runner, pass, before, module);
}

void pass_runner_interpret(pass_runner *runner, const pass_fixture *fixture) {
    runner->fixture = fixture;
    runner->meaning = check_meaning;
}
