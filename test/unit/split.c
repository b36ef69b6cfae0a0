/* Splitting over launches: what is made of a kernel, and that a launch which is damaged is found
 * when the sequence is compared with the kernel.
 *
 * tier: check
 */
#include "kernel_fixture.h"

#include "compile/compile.h"
#include "ir/clone.h"
#include "pass/split.h"
#include "verify/verify.h"

#include <stdio.h>
#include <string.h>

static const char softmax[] = "kernel softmax(x: in f32[R, N], y: out f32[R, N], z: out f32[R]) {\n"
                              "    program row: R\n"
                              "    t = x[row, :]\n"
                              "    e = exp(t - max(t))\n"
                              "    y[row, :] = e / sum(e)\n"
                              "    z[row] = max(t)\n"
                              "}\n";

typedef struct split_fixture {
    compile_result planned;
    pass_launches launches;
    base_diagnostics diagnostics;
} split_fixture;

/* The fallback plan, its row in three parts. */
static void split(split_fixture *f, base_source *source) {
    text_argument size = {
        .name = "N", .kind = TEXT_ARGUMENT_NUMBER, .is_integer = true, .integer = 7, .number = 7};
    compile_request request = {.source = source,
                               .arguments = &size,
                               .argument_count = 1,
                               .partial = true,
                               .machine = machine_find("sm_90"),
                               .family = PLANNER_FALLBACK,
                               .stage = COMPILE_TO_PLAN};
    *source = (base_source){.name = "k.croft", .text = softmax, .length = sizeof softmax - 1};
    compile_run(&request, &f->planned);
    assert_int_equal(f->planned.status, COMPILE_OK);
    base_diagnostics_init(&f->diagnostics, &f->planned.arena);
    ir_plan *plan = f->planned.plan;
    ir_plan_line *axis = ir_plan_find(plan, IR_PLAN_AXIS, "N");
    assert_non_null(axis);
    assert_false(pass_split_is_asked(f->planned.tile, plan));
    axis->digits = (layout_axis){
        .count = 2,
        .digits = {{.holder = LAYOUT_STEP, .radix = 3}, {.holder = LAYOUT_GROUP, .radix = 3}}};
    for (int64_t i = 0; i < plan->of[IR_PLAN_KEEP].count; i++) {
        ir_plan_line *keep = &plan->of[IR_PLAN_KEEP].lines[i];
        keep->storage = strcmp(keep->anchor, "t") == 0 ? IR_STORAGE_RELOAD : IR_STORAGE_RECOMPUTE;
        keep->of = NULL;
    }
    assert_true(pass_split_is_asked(f->planned.tile, plan));
    assert_true(
        pass_split(&f->planned.arena, f->planned.tile, plan, &f->diagnostics, &f->launches));
}

static const ir_op *find(const ir_module *module, ir_opcode opcode, const char *tensor) {
    for (const ir_op *op = module->body.first; op != NULL; op = op->next)
        if (op->opcode == opcode && (tensor == NULL || strcmp(op->operands[0]->name, tensor) == 0))
            return op;
    return NULL;
}

static void a_row_of_softmax_is_four_launches(void **state) {
    (void)state;
    split_fixture f;
    base_source source;
    split(&f, &source);
    assert_int_equal(f.launches.count, 4);
    assert_int_equal(f.launches.own_parameters, 3);
    for (int i = 0; i < 4; i++) {
        const ir_module *module = f.launches.items[i].module;
        assert_int_equal(module->parameter_count, 5);
        assert_int_equal(module->program_count, i < 3 ? 2 : 1);
        assert_int_equal(module->parameters[3].mode, i == 0 ? IR_OUT : IR_IN);
        assert_int_equal(module->parameters[4].mode, i == 1 ? IR_OUT : IR_IN);
        assert_string_equal(f.launches.items[i].plan->kernel, module->name);
        /* the row's scalar has a launch without parts, which loads no row */
        assert_true((find(module, IR_STORE, "z") != NULL) == (i == 3));
        assert_true((find(module, IR_STORE, "y") != NULL) == (i == 2));
        assert_true((find(module, IR_LOAD, "x") != NULL) == (i < 3));
    }
    assert_string_equal(f.launches.items[0].module->parameters[3].name, "max_0_parts");
    compile_free(&f.planned);
}

/* How a launch is damaged. */
static void other_monoid(ir_module *module) {
    ((ir_op *)find(module, IR_REDUCE, NULL))->attributes.monoid = IR_MONOID_MIN;
}

static void overlapping_parts(ir_module *module) {
    ir_op *start = (ir_op *)find(module, IR_MUL, NULL);
    start->opcode = IR_ADD;
}

static void other_parts(ir_module *module) {
    ir_op *load = (ir_op *)find(module, IR_LOAD, "max_0_parts");
    load->operands[0] = module->parameters[4].value;
}

static void no_store(ir_module *module) {
    ir_op_remove((ir_op *)find(module, IR_STORE, NULL));
}

static void damaged_launches_are_found(void **state) {
    (void)state;
    static const struct {
        int launch;
        void (*damage)(ir_module *module);
    } cases[] = {{0, other_monoid},     {0, overlapping_parts}, {1, overlapping_parts},
                 {2, other_parts},      {0, no_store},          {1, no_store},
                 {2, no_store},         {3, no_store},          {3, other_parts},
                 {2, overlapping_parts}};
    split_fixture f;
    base_source source;
    split(&f, &source);
    const ir_module *modules[4];
    for (int i = 0; i < 4; i++)
        modules[i] = f.launches.items[i].module;
    assert_true(verify_sequence(f.planned.tile, modules, 4, VERIFY_USUAL, &f.diagnostics));
    assert_false(verify_sequence(f.planned.tile, modules, 3, VERIFY_USUAL, &f.diagnostics));
    assert_false(verify_sequence(f.planned.tile, modules + 1, 3, VERIFY_USUAL, &f.diagnostics));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ir_module *damaged =
            ir_module_clone(&f.planned.arena, f.launches.items[cases[i].launch].module);
        cases[i].damage(damaged);
        for (int k = 0; k < 4; k++)
            modules[k] = k == cases[i].launch ? damaged : f.launches.items[k].module;
        if (verify_sequence(f.planned.tile, modules, 4, VERIFY_USUAL, &f.diagnostics))
            fail_msg("damage %d is not found", (int)i);
    }
    compile_free(&f.planned);
}

static void one_launch_has_no_workspace(void **state) {
    (void)state;
    compile_result result;
    base_source source = {.name = "k.croft", .text = softmax, .length = sizeof softmax - 1};
    compile_request request = {.source = &source,
                               .partial = true,
                               .machine = machine_find("sm_90"),
                               .stage = COMPILE_TO_SOURCE};
    compile_run(&request, &result);
    assert_int_equal(result.status, COMPILE_OK);
    assert_int_equal(result.launch_count, 1);
    assert_ptr_equal(result.launches[0].module, result.module);
    assert_ptr_equal(result.launches[0].tile, result.tile);
    assert_int_equal(result.module->parameter_count, 3);
    assert_string_equal(result.launches[0].entry, "croft_softmax");
    compile_free(&result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_of_softmax_is_four_launches),
        cmocka_unit_test(damaged_launches_are_found),
        cmocka_unit_test(one_launch_has_no_workspace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
