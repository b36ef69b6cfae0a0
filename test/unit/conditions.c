/* Conditions: against arguments; which of them help a kernel; and that nothing is said of an access
 * that does not follow from them: of the variants of every example each condition is taken away or
 * weakened, and each fact about an access strengthened, and the verifier refuses the module. */
#include "arena_fixture.h"
#include "example_files.h"

#include "compile/compile.h"
#include "ir/clone.h"
#include "ir/plan.h"
#include "ir/print.h"
#include "runtime/condition.h"
#include "text/ir_parse.h"
#include "verify/verify.h"

#include <stdio.h>
#include <string.h>

/* ---- against arguments ---- */

static const struct {
    layout_condition_kind kind;
    int64_t amount;
    uint64_t address;
    int rank;
    int64_t element_bytes, strides[3], size;
    const char *obstacle; /* NULL: it holds */
} examined[] = {
    {LAYOUT_CONDITION_ALIGNED, 16, 0x1000, 2, 4, {4096, 1}, 0, NULL},
    {LAYOUT_CONDITION_ALIGNED, 16, 0x1010, 2, 4, {4, 1}, 0, NULL},
    {LAYOUT_CONDITION_ALIGNED, 16, 0xfffffffffffffff0u, 1, 4, {1}, 0, NULL},
    {LAYOUT_CONDITION_ALIGNED, 16, 0x1000, 0, 4, {0}, 0, NULL},
    {LAYOUT_CONDITION_ALIGNED, 16, 0x1000, 2, 4, {0, 1}, 0, NULL},    /* one row again and again */
    {LAYOUT_CONDITION_ALIGNED, 16, 0x1000, 2, 4, {-400, 1}, 0, NULL}, /* from the last one on */
    {LAYOUT_CONDITION_ALIGNED, 16, 0x1000, 2, 2, {1032, 1}, 0, NULL},
    {LAYOUT_CONDITION_ALIGNED, 16, 0x1000, 3, 4, {8, 4, 1}, 0, NULL},
    {LAYOUT_CONDITION_ALIGNED,
     16,
     0x1004,
     2,
     4,
     {4096, 1},
     0,
     "x begins 4 bytes past a multiple of 16"},
    {LAYOUT_CONDITION_ALIGNED, 16, 0x1002, 1, 2, {1}, 0, "x begins 2 bytes past a multiple of 16"},
    {LAYOUT_CONDITION_ALIGNED,
     16,
     0x1000,
     2,
     4,
     {1009, 1},
     0,
     "x has 4036 bytes from one index of dimension 0 to the next"},
    {LAYOUT_CONDITION_ALIGNED,
     16,
     0x1000,
     2,
     4,
     {-2, 1},
     0,
     "x has -8 bytes from one index of dimension 0 to the next"},
    {LAYOUT_CONDITION_ALIGNED,
     16,
     0x1000,
     3,
     4,
     {8, 2, 1},
     0,
     "x has 8 bytes from one index of dimension 1 to the next"},
    {LAYOUT_CONDITION_ALIGNED,
     16,
     0x1000,
     2,
     2,
     {1028, 1},
     0,
     "x has 2056 bytes from one index of dimension 0 to the next"},
    {LAYOUT_CONDITION_ALIGNED, 8, 0x1000, 2, 2, {1028, 1}, 0, NULL},
    {LAYOUT_CONDITION_BEGINS, 16, 0x1010, 2, 4, {1009, 1}, 0, NULL},
    {LAYOUT_CONDITION_BEGINS,
     16,
     0x1008,
     2,
     4,
     {4, 1},
     0,
     "x begins 8 bytes past a multiple of 16"},
    /* extents are 2, 3, 5 */
    {LAYOUT_CONDITION_SPACED, 16, 0x1004, 3, 4, {15, 5, 1}, 0, NULL},
    {LAYOUT_CONDITION_SPACED, 16, 0x1004, 3, 4, {15, 9, 1}, 0, NULL},
    {LAYOUT_CONDITION_SPACED, 16, 0x1004, 3, 4, {-17, 5, 1}, 0, NULL},
    {LAYOUT_CONDITION_SPACED,
     16,
     0x1004,
     3,
     4,
     {15, 6, 1},
     0,
     "x has 24 bytes from one index of dimension 1 to the next"},
    {LAYOUT_CONDITION_SPACED,
     16,
     0x1004,
     3,
     4,
     {16, 5, 1},
     0,
     "x has 64 bytes from one index of dimension 0 to the next"},
    {LAYOUT_CONDITION_MULTIPLE, 4, 0, 0, 0, {0}, 4096, NULL},
    {LAYOUT_CONDITION_MULTIPLE, 4, 0, 0, 0, {0}, 0, NULL},
    {LAYOUT_CONDITION_MULTIPLE, 4, 0, 0, 0, {0}, 1009, "x is 1009"},
    {LAYOUT_CONDITION_MULTIPLE, 8, 0, 0, 0, {0}, 4, "x is 4"},
};

static void conditions_are_examined_against_arguments(void **state) {
    fixture *f = *state;
    for (size_t i = 0; i < sizeof examined / sizeof examined[0]; i++) {
        layout_condition condition = {examined[i].kind, 1, examined[i].amount};
        runtime_tensor tensors[2] = {{.address = 1},
                                     {.address = examined[i].address,
                                      .rank = examined[i].rank,
                                      .element_bytes = examined[i].element_bytes}};
        static const int64_t extents[] = {2, 3, 5};
        memcpy(tensors[1].strides, examined[i].strides, sizeof examined[i].strides);
        memcpy(tensors[1].extents, extents, sizeof extents);
        int64_t sizes[2] = {1, examined[i].size};
        runtime_arguments arguments = {.tensors = tensors, .sizes = sizes};
        runtime_obstacle obstacle;
        bool holds = runtime_condition_holds(&condition, &arguments, &obstacle);
        assert_int_equal(holds, runtime_condition_holds(&condition, &arguments, NULL));
        assert_int_equal(holds, examined[i].obstacle == NULL);
        if (holds)
            continue;
        base_text text;
        base_text_init(&text, &f->arena);
        runtime_obstacle_print(&text, &condition, "x", &obstacle);
        assert_string_equal(text.bytes, examined[i].obstacle);
    }
}

/* ---- variants of a kernel ---- */

static const char softmax[] = "kernel k(x: in f32[R, N], w: in f16[N], y: out f32[R, N]) {\n"
                              "    program row: R\n"
                              "    t = x[row, :] * f32(w[:])\n"
                              "    y[row, :] = t / sum(t)\n"
                              "}\n";

/* By the standard row plan, whose accesses are as wide as they can be; by the fallback where there
 * is none. */
static void compile(const char *name, const char *text, int64_t width, const char *machine_name,
                    compile_request *request, compile_result *result) {
    static text_argument arguments[1];
    static base_source source;
    source = (base_source){.name = name, .text = text, .length = strlen(text)};
    arguments[0] = (text_argument){.name = "N",
                                   .kind = TEXT_ARGUMENT_NUMBER,
                                   .is_integer = true,
                                   .integer = width,
                                   .number = (double)width};
    bool open = strstr(text, ", N]") != NULL && strstr(text, "N: const") == NULL;
    *request = (compile_request){.source = &source,
                                 .arguments = arguments,
                                 .argument_count = width > 0 && open,
                                 .partial = true,
                                 .machine = machine_find(machine_name),
                                 .family = PLANNER_ROW,
                                 .stage = COMPILE_TO_SOURCE};
    compile_run(request, result);
    if (result->status == COMPILE_REJECTED) {
        compile_free(result);
        request->family = PLANNER_AUTOMATIC;
        compile_run(request, result);
    }
    if (result->status != COMPILE_OK)
        fail_msg("%s: %s", name, result->diagnostics.items[0].message);
}

/* `x aligned 16, N % 4 == 0` */
static const char *conditions_text(base_arena *arena, const ir_module *module,
                                   const layout_condition *conditions, int64_t count) {
    base_text text;
    base_text_init(&text, arena);
    base_text_string(&text, "");
    for (int64_t i = 0; i < count; i++) {
        base_text_string(&text, i > 0 ? ", " : "");
        layout_condition_print(&text, &conditions[i], ir_condition_subject(module, &conditions[i]));
    }
    return text.bytes != NULL ? text.bytes : "";
}

static const struct {
    int64_t width;
    const char *machine, *conditions;
} wanted[] = {
    {0, "sm_90", "x aligned 16, w aligned 8, y aligned 16, N % 4 == 0"},
    {4096, "sm_90", "x aligned 16, w aligned 8, y aligned 16"},
    {1009, "sm_80", "x aligned 16, w aligned 8, y aligned 16"},
    {4096, "cpu-avx2", ""}, /* a cpu takes vectors from any address */
};

static void what_would_help_a_kernel_is_found(void **state) {
    fixture *f = *state;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        compile_request request;
        compile_result result;
        compile("k", softmax, wanted[i].width, wanted[i].machine, &request, &result);
        assert_string_equal(
            conditions_text(&f->arena, result.module, result.conditions, result.condition_count),
            wanted[i].conditions);
        assert_int_equal(result.module->condition_count, 0);
        compile_free(&result);
    }
}

static void only_what_holds_and_serves_is_assumed(void **state) {
    fixture *f = *state;
    static const struct {
        bool holds[4]; /* x, w, y, N */
        const char *conditions;
    } rows[] = {
        {{true, true, true, true}, "x aligned 16, w aligned 8, y aligned 16, N % 4 == 0"},
        {{true, true, true, false}, "x aligned 16, w aligned 8, y aligned 16"},
        {{false, true, true, true}, "w aligned 8, y aligned 16, N % 4 == 0"},
        {{false, false, false, true}, ""}, /* alone a width serves nothing */
        {{false, false, false, false}, ""},
        {{true, false, false, false}, "x aligned 16"},
    };
    compile_request request;
    compile_result result;
    compile("k", softmax, 0, "sm_90", &request, &result);
    assert_int_equal(result.condition_count, 4);
    const char *general = result.source_text;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(compile_specialise(&request, &result, rows[i].holds), COMPILE_OK);
        const char *text = conditions_text(&f->arena, result.module, result.module->conditions,
                                           result.module->condition_count);
        assert_string_equal(text, rows[i].conditions);
        bool same = strcmp(result.source_text, general) == 0;
        assert_int_equal(same, text[0] == '\0');
        if (!same)
            assert_non_null(strstr(result.source_text, text));
    }
    compile_free(&result);
}

static int64_t count_of(const char *text, const char *word) {
    int64_t count = 0;
    for (; (text = strstr(text, word)) != NULL; text++)
        count++;
    return count;
}

static void no_address_is_looked_at_under_conditions(void **state) {
    (void)state;
    compile_request request;
    compile_result result;
    compile("k", softmax, 0, "sm_90", &request, &result);
    assert_true(count_of(result.source_text, "is_aligned(") > 0);
    int64_t elements = count_of(result.source_text, " ? x[");
    assert_true(elements > 0);
    bool all[4] = {true, true, true, true};
    assert_int_equal(compile_specialise(&request, &result, all), COMPILE_OK);
    assert_int_equal(count_of(result.source_text, "is_aligned("), 0);
    assert_int_equal(count_of(result.source_text, " ? x["), 0);
    all[3] = false; /* the guarded step goes element by element again where the row ends */
    assert_int_equal(compile_specialise(&request, &result, all), COMPILE_OK);
    assert_int_equal(count_of(result.source_text, "is_aligned("), 0);
    assert_int_equal(count_of(result.source_text, " ? x["), elements);
    compile_free(&result);
}

/* ---- rows that begin anywhere ---- */

static const char shifted_kernel[] = "kernel k(x: in f32[R, N], y: out f32[R, N]) {\n"
                                     "    program row: R\n"
                                     "    y[row, :] = x[row, :] * 2.0\n"
                                     "}\n";

/* The kernel by a plan whose rows are shifted, of a width that no group divides. */
static void compile_shifted(compile_request *request, compile_result *result, base_arena *arena) {
    static base_source plan;
    compile_result planned;
    compile("k", shifted_kernel, 1009, "sm_90", request, &planned);
    base_text text, line;
    base_text_init(&text, arena);
    base_text_init(&line, arena);
    ir_plan_print(&line, planned.plan);
    const char *axis = strstr(line.bytes, "axis N "), *rest = strchr(axis, '\n');
    base_text_append(&text, line.bytes, (size_t)(axis - line.bytes));
    base_text_string(&text, "axis N  slot 4 | lane 32 | step 8 shift x.0");
    base_text_string(&text, rest);
    compile_free(&planned);
    plan = (base_source){.name = "k.plan", .text = text.bytes, .length = (size_t)text.length};
    request->plan = &plan;
    compile_run(request, result);
    if (result->status != COMPILE_OK)
        fail_msg("%s", result->diagnostics.items[0].message);
}

static void rows_that_begin_anywhere_need_no_alignment(void **state) {
    fixture *f = *state;
    compile_request request;
    compile_result result;
    compile_shifted(&request, &result, &f->arena);
    assert_string_equal(
        conditions_text(&f->arena, result.module, result.conditions, result.condition_count),
        "x aligned 16, y aligned 16, x begins 16, y begins 16, x spaced 16, "
        "y spaced 16");
    bool holds[6] = {false, false, true, true, true, true};
    assert_true(count_of(result.source_text, "is_aligned(") > 0);
    assert_int_equal(compile_specialise(&request, &result, holds), COMPILE_OK);
    assert_int_equal(result.module->condition_count, 4);
    assert_int_equal(count_of(result.source_text, "is_aligned("), 0);
    holds[2] = false; /* x begins anywhere: the spacing of y is that of x all the same */
    assert_int_equal(compile_specialise(&request, &result, holds), COMPILE_OK);
    assert_string_equal(conditions_text(&f->arena, result.module, result.module->conditions,
                                        result.module->condition_count),
                        "y begins 16, x spaced 16, y spaced 16");
    holds[4] = false;
    assert_int_equal(compile_specialise(&request, &result, holds), COMPILE_OK);
    assert_ptr_equal(result.module, result.general);
    compile_free(&result);
}

/* ---- mutants ---- */

typedef struct mutants {
    fixture *f;
    const char *name;
    ir_module *module;
    int killed;
} mutants;

static void refused(mutants *m, const char *what) {
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &m->f->arena);
    if (verify_module(m->module, NULL, &diagnostics))
        fail_msg("%s: %s, and the verifier accepts it", m->name, what);
    for (int i = 0; i < diagnostics.count; i++)
        assert_string_equal(diagnostics.items[i].slug, "access-align");
    m->killed++;
}

static void accepted(mutants *m, const char *what) {
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &m->f->arena);
    if (!verify_module(m->module, NULL, &diagnostics))
        fail_msg("%s: %s:\n%s", m->name, what, render(m->f, &diagnostics));
}

static ir_value *made_before(ir_module *module, ir_op *where, ir_opcode opcode, int count,
                             ir_value *const *operands) {
    ir_type type = ir_type_uniform(BASE_I64);
    ir_op *op = ir_op_create(module, opcode, where->location, count, operands, 1, &type, 0);
    ir_op_insert_before(where, op);
    return op->results[0];
}

/* The base of the last index is half a group less: groups begin elsewhere. */
static void move_base(mutants *m, ir_op *op) {
    ir_access *access = op->attributes.access;
    ir_index *last = &access->index[access->rank - 1], kept = *last;
    ir_value *base = op->operands[last->operand];
    ir_value *half = made_before(m->module, op, IR_CONSTANT, 0, NULL);
    half->definer->attributes.constant =
        (ir_constant){.dtype = BASE_I64, .integer = access->width / 2};
    ir_value *operands[] = {base, half};
    ir_value *moved = made_before(m->module, op, IR_SUB, 2, operands);
    op->operands[last->operand] = moved;
    last->inside = false;
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &m->f->arena);
    assert_false(verify_module(m->module, NULL, &diagnostics));
    bool seen = false;
    for (int i = 0; i < diagnostics.count; i++)
        seen = seen || strcmp(diagnostics.items[i].slug, "access-align") == 0;
    assert_true(seen);
    op->operands[last->operand] = base;
    *last = kept;
    ir_op_remove(moved->definer);
    ir_op_remove(half->definer);
    m->killed++;
}

static bool strengthen(void *pointer, ir_op *op) {
    mutants *m = pointer;
    ir_access *access = op->attributes.access;
    if ((op->opcode != IR_LOAD && op->opcode != IR_STORE) || access->width == 1)
        return true;
    ir_access kept = *access;
    access->align = kept.align > 0 ? 2 * kept.align : 16;
    refused(m, "twice the alignment");
    *access = kept;
    if (access->mask_kind == IR_MASK_RANGE && !access->whole) {
        access->whole = true;
        refused(m, "a mask that takes whole groups");
        *access = kept;
    }
    if (kept.align > 0 && access->index[access->rank - 1].operand >= 0)
        move_base(m, op);
    return true;
}

static void mutate_conditions(mutants *m) {
    layout_condition *conditions = m->module->conditions;
    int64_t count = m->module->condition_count;
    for (int64_t i = 0; i < count; i++) {
        layout_condition kept = conditions[i], last = conditions[count - 1];
        conditions[i] = last;
        m->module->condition_count = count - 1;
        refused(m, "a condition is taken away");
        m->module->condition_count = count;
        conditions[count - 1] = last;
        conditions[i] = kept;
        if (kept.amount > 2) {
            conditions[i].amount /= 2;
            refused(m, "a condition is weaker");
        }
        conditions[i].amount = 2 * kept.amount;
        accepted(m, "a condition is stronger");
        conditions[i] = kept;
    }
}

/* What is printed and read again is the same module. */
static void check_text(mutants *m) {
    base_text first, second;
    base_text_init(&first, &m->f->arena);
    base_text_init(&second, &m->f->arena);
    ir_module_print(&first, m->module, true);
    base_source source = {m->name, first.bytes, (size_t)first.length};
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &m->f->arena);
    ir_module *read = text_ir_parse(&m->f->arena, &source, &diagnostics);
    if (read == NULL)
        fail_msg("%s: %s", m->name, render(m->f, &diagnostics));
    ir_module_print(&second, read, true);
    assert_string_equal(first.bytes, second.bytes);
    assert_true(strstr(first.bytes, "  condition ") != NULL &&
                strstr(first.bytes, " align=") != NULL);
}

static bool counts_rows(const ir_module *module) {
    for (int64_t i = 0; i < module->condition_count; i++)
        for (int k = 0; k < module->program_count; k++) {
            const layout_extent *extent = module->programs[k].extent;
            if (module->conditions[i].kind == LAYOUT_CONDITION_MULTIPLE &&
                extent->kind == LAYOUT_EXTENT_SYMBOL &&
                extent->value == module->conditions[i].subject)
                return true;
        }
    return false;
}

static int check_example(fixture *f, const char *name, const char *text, int64_t width) {
    compile_request request;
    compile_result result;
    bool holds[64];
    memset(holds, 1, sizeof holds);
    compile(name, text, width, "sm_90", &request, &result);
    assert_true(result.condition_count <= 64);
    assert_int_equal(compile_specialise(&request, &result, holds), COMPILE_OK);
    mutants m = {.f = f, .name = name};
    bool helped = result.module->condition_count > 0;
    m.module = ir_module_clone(&f->arena, result.module);
    compile_free(&result);
    if (!helped)
        return 0;
    assert_false(counts_rows(m.module));
    accepted(&m, "the variant itself");
    check_text(&m);
    mutate_conditions(&m);
    ir_region_walk(&m.module->body, strengthen, &m);
    accepted(&m, "everything is as before");
    return m.killed;
}

static void mutants_of_shifted_rows_are_refused(void **state) {
    fixture *f = *state;
    compile_request request;
    compile_result result;
    compile_shifted(&request, &result, &f->arena);
    const bool holds[6] = {false, false, true, true, true, true};
    assert_int_equal(compile_specialise(&request, &result, holds), COMPILE_OK);
    mutants m = {.f = f, .name = "shifted"};
    m.module = ir_module_clone(&f->arena, result.module);
    compile_free(&result);
    accepted(&m, "the variant itself");
    check_text(&m);
    mutate_conditions(&m);
    ir_region_walk(&m.module->body, strengthen, &m);
    assert_true(m.killed >= 16);
}

static void mutants_of_the_variants_of_examples_are_refused(void **state) {
    static example_files files;
    static const int64_t widths[] = {0, 1009, 4096};
    int killed = 0, examples = 0;
    example_files_open(&files);
    while (example_files_next(&files)) {
        killed += check_example(*state, files.name, files.text, widths[examples++ % 3]);
    }
    example_files_close(&files);
    assert_true(killed >= 150);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(conditions_are_examined_against_arguments, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_would_help_a_kernel_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_what_holds_and_serves_is_assumed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_address_is_looked_at_under_conditions, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(rows_that_begin_anywhere_need_no_alignment, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(mutants_of_shifted_rows_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mutants_of_the_variants_of_examples_are_refused, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
